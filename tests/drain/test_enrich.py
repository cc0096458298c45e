"""What the drain adds to a document leaves what is said there of the agent's own draft."""

import pytest

from fleet.drain.enrich import enrich
from fleet.formats import handoff, handoff_doc
from fleet.formats.atomic import write_file
from fleet.process.ending import Stray
from fleet.store.agents import AgentStore


@pytest.mark.parametrize("draft", ["no headings at all", "## Open Questions\n" + "which colour?\n" * 3000])
def test_what_is_said_of_a_draft_stays(layout, write_record, agent_record, draft):
    """Enriched once or twice, the document still names the file with the whole draft, behind what was kept of it."""
    write_file(layout.draft("a1b2c3d4"), draft.encode())
    path = handoff.produce(layout, agent_record(), "auto-yellow", 1_796_043_600.0, context_pct=None)
    with open(path, encoding="utf-8") as f:
        before = handoff_doc.parse(f.read())[1]["Open Questions"]

    write_record()
    agent = AgentStore(layout).get("a1b2c3d4")

    for _ in range(2):
        enrich(path, agent, [], [Stray(7, "server")])

    with open(path, encoding="utf-8") as f:
        after = handoff_doc.parse(f.read())[1]["Open Questions"]
    assert handoff.whole_draft(path) in before
    assert f"{before}\n\n_[fleet] processes it left running:_\n\n- server (pid 7)" == after
