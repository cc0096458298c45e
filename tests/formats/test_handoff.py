"""Producing a handoff: a document, then an entry that names it, once."""

import os
from pathlib import Path

import pytest

from fleet.formats import atomic, handoff, handoff_doc, queue_entry
from fleet.formats.atomic import write_file

WALL = 1_796_043_600.0


def document(path):
    with open(path, encoding="utf-8") as f:
        return handoff_doc.parse(f.read())


def test_the_entry_names_the_document(layout, agent_record):
    """Both are there, private, and the document is complete with what is known."""
    path = handoff.produce(layout, agent_record(), "auto-red", WALL, context_pct=71.5, last_message="Form done.\n")
    assert path == queue_entry.read(layout.entry("a1b2c3d4"))["handoff_doc"]
    header, bodies = document(path)
    assert ("auto-red", 71.5, 1) == (header["handoff_type"], header["context_pct_at_handoff"], header["handoff_number"])
    assert {"Completed": "_[fleet] the agent's last message:_\n\nForm done."} == bodies
    assert 0o600 == os.stat(path).st_mode & 0o777


def test_the_agents_own_draft_goes_before_what_the_machine_knows(layout, agent_record):
    """A section that the agent wrote is taken as it is, the others stay open."""
    write_file(layout.draft("a1b2c3d4"), b"## Completed\nThe form.\n## Open Questions\nWhich colour?\n")
    path = handoff.produce(layout, agent_record(), "auto-yellow", WALL, context_pct=None, last_message="bye")
    assert {"Completed": "The form.", "Open Questions": "Which colour?"} == document(path)[1]


def test_of_a_long_last_message_the_end_is_kept(layout, agent_record):
    """What was said last matters most."""
    path = handoff.produce(layout, agent_record(), "auto-red", WALL, context_pct=1, last_message="x" * 9000 + "END")
    body = document(path)[1]["Completed"]
    assert body.endswith("xEND")
    assert len(body) < 4100


@pytest.mark.timeout(10)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_draft_that_cannot_be_read_is_said_to_have_been_there(layout, agent_record, make):
    """The handoff happens all the same, and nothing is kept of what is no file."""
    make(layout.draft("a1b2c3d4"))
    path = handoff.produce(layout, agent_record(), "auto-red", WALL, context_pct=None)
    said = "_[fleet] draft: the agent before you left one that could not be used: not a regular file_"
    assert {"Open Questions": said} == document(path)[1]
    assert [os.path.basename(path)] == os.listdir(layout.handoffs)


@pytest.mark.parametrize("make", [lambda p: write_file(p, b" \n"), lambda p: None])
def test_a_draft_that_says_nothing_is_no_draft(layout, agent_record, make):
    """Nothing is said of one that is empty or not there."""
    make(layout.draft("a1b2c3d4"))
    path = handoff.produce(layout, agent_record(), "auto-red", WALL, context_pct=None)
    assert {} == document(path)[1]
    assert [os.path.basename(path)] == os.listdir(layout.handoffs)


@pytest.mark.parametrize(
    ("raw", "why"),
    [(b"all in one go \xff\x00", "it has none of the five headings"), (b"x" * 101, "larger than 100 bytes")],
)
def test_a_draft_that_cannot_be_used_is_kept_for_the_successor(layout, agent_record, monkeypatch, raw, why):
    """Without headings, or larger than what is read: the document says so and names a private file with all of it."""
    monkeypatch.setattr(handoff, "read_bytes", lambda path: atomic.read_bytes(path, 100))
    write_file(layout.draft("a1b2c3d4"), raw, mode=0o644)
    path = handoff.produce(layout, agent_record(), "auto-yellow", WALL, context_pct=None)
    whole = handoff.whole_draft(path)
    said = f"_[fleet] draft: the agent before you left one that could not be used: {why}; it is {whole}_"
    assert {"Open Questions": said} == document(path)[1]
    assert raw == Path(whole).read_bytes()
    assert 0o600 == os.stat(whole).st_mode & 0o777


def test_a_long_section_is_cut_at_a_line_and_names_the_whole_draft(layout, agent_record):
    """A successor reads the document with its first turn: no section may fill its context. The others stay as they are."""
    lines = [f"{n} did it" for n in range(100_000)]
    raw = ("## Completed\n" + "\n".join(lines) + "\n## Open Questions\nWhich colour?\n").encode()
    write_file(layout.draft("a1b2c3d4"), raw)
    path = handoff.produce(layout, agent_record(), "auto-yellow", WALL, context_pct=None)
    bodies, whole = document(path)[1], handoff.whole_draft(path)
    kept, said = bodies["Completed"].split("\n\n")
    shown = kept.split("\n")
    assert lines[: len(shown)] == shown
    assert handoff.SECTION_CHARACTERS - 20 < len(kept) <= handoff.SECTION_CHARACTERS
    rest = lines[len(shown) :]
    left = f"{len(rest)} more lines ({sum(map(len, rest)) + len(rest) - 1} characters)"
    assert f"_[fleet] draft: {left} of this section are left out here; the whole draft is {whole}_" == said
    assert "Which colour?" == bodies["Open Questions"]
    assert raw == Path(whole).read_bytes()
    assert 0o600 == os.stat(whole).st_mode & 0o777


def test_who_queues_nothing_leaves_no_draft_behind(layout, agent_record, monkeypatch):
    """A race that is lost and a document that cannot be written take the copy of the draft away again."""
    write_file(layout.draft("a1b2c3d4"), b"all in one go")
    monkeypatch.setattr(queue_entry, "enqueue", lambda *_: False)
    assert handoff.produce(layout, agent_record(), "auto-red", WALL, context_pct=None) is None
    monkeypatch.setattr(handoff_doc, "render", lambda *_: os.stat("/nonexistent"))
    with pytest.raises(OSError):
        handoff.produce(layout, agent_record(), "auto-red", WALL, context_pct=None)
    assert [] == os.listdir(layout.handoffs)


@pytest.mark.parametrize("where", ["entry", "dead_entry"])
def test_a_handoff_that_is_queued_or_given_up_is_not_repeated(layout, agent_record, where):
    """The producer does nothing while an entry waits for the drain or for the operator."""
    path = getattr(layout, where)("a1b2c3d4")
    write_file(path, b"{}")
    assert queue_entry.is_queued(layout, "a1b2c3d4")
    assert handoff.produce(layout, agent_record(), "auto-red", WALL, context_pct=None) is None
    assert [] == os.listdir(layout.handoffs)


def test_only_a_queued_handoff_takes_its_agents_messages_along(layout):
    """A given-up one leaves the agent with the operator, who must be able to talk to it."""
    write_file(layout.dead_entry("a1b2c3d4"), b"{}")
    assert not queue_entry.is_leaving(layout, "a1b2c3d4")
    write_file(layout.entry("a1b2c3d4"), b"{}")
    assert queue_entry.is_leaving(layout, "a1b2c3d4")


def test_who_loses_the_race_for_the_entry_leaves_no_document(layout, agent_record, monkeypatch):
    """Another producer queued between the look and the entry: its document is the only one."""
    first = handoff.produce(layout, agent_record(), "manual", WALL, context_pct=None)
    monkeypatch.setattr(queue_entry, "is_queued", lambda *_: False)
    assert handoff.produce(layout, agent_record(), "auto-red", WALL, context_pct=None) is None
    assert [os.path.basename(first)] == os.listdir(layout.handoffs)


def test_a_document_that_cannot_be_written_queues_nothing(layout, agent_record):
    """The entry never points at a document that is not there."""
    os.rmdir(layout.handoffs)
    write_file(layout.handoffs, b"in the way")
    with pytest.raises(OSError):
        handoff.produce(layout, agent_record(), "auto-red", WALL, context_pct=None)
    assert not queue_entry.is_queued(layout, "a1b2c3d4")
