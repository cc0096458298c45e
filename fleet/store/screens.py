"""What the pane scanner saw last of each agent's screen.

    run/screens.json    {"schema_version", "at", "agents": {"<id>": {"looked_at", "changed_at", "since", "quiet_since",
                         "rule", "turn", "reason", "evidence", "question", "options", "detail", "typed", "background",
                         "milestone_at", "milestone", "pane_id", "server_pid", "steady"}}}

The drain writes it after a tick that saw something new, in one line: indenting 200 agents costs more than looking at
them. Times are wall seconds. An entry tells of the pane that it names, on that server; whoever reads it for another
pane has read of another agent.
"""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats import jsontext
from fleet.formats.atomic import read_object, write_file
from fleet.model.screen import Screen

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.formats.layout import Layout

SCHEMA_VERSION = 1


def path(layout: Layout) -> str:
    """Where the screens lie."""
    return os.path.join(layout.run, "screens.json")


def write(layout: Layout, screens: Mapping[str, Screen], wall: float) -> None:
    """Publish what was seen. Not synced: it is made anew whenever it is missing."""
    agents = {agent_id: dict(zip(Screen._fields, screen, strict=True)) for agent_id, screen in screens.items()}
    text = jsontext.dumps({"schema_version": SCHEMA_VERSION, "at": wall, "agents": agents}, ascii_only=False)
    write_file(path(layout), (text + "\n").encode("utf-8", "backslashreplace"), sync=False)


def read(layout: Layout) -> dict[str, Screen]:
    """What was seen last, by agent id; empty when there is nothing that can be used."""
    try:
        data = read_object(path(layout), schema=SCHEMA_VERSION)
    except (FileNotFoundError, BadFile):
        return {}
    agents = data.get("agents")
    if not isinstance(agents, dict):
        return {}
    found = {}
    for agent_id, row in agents.items():
        screen = _screen(row)
        if screen is not None:
            found[agent_id] = screen
    return found


def _screen(row: Any) -> Screen | None:
    if not isinstance(row, dict) or not isinstance(row.get("looked_at"), (int, float)):
        return None
    known = {name: row[name] for name in Screen._fields if name in row}
    options = known.get("options", ())
    known["options"] = tuple(map(str, options)) if isinstance(options, list) else ()
    return Screen(**known)
