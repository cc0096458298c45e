"""Reading an agent's event lines, and adding fleet's own."""

from __future__ import annotations

import os

from fleet.formats import events
from fleet.formats.atomic import append_line, ensure_dir, read_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fleet.clock import Clock
    from fleet.formats.layout import Layout

TAIL_BYTES = 128 * 1024

#: What only an engine that has taken its prompt reports.
ACCEPTED = frozenset({"UserPromptSubmit", "Stop", "StopFailure", "PreCompact", "PermissionRequest", "Interrupt"})

#: What the drain writes once it has seen an engine without hooks running.
TAKEN = "Accepted"
#: What the drain writes once it has seen that an engine ended and its pane stayed.
EXITED = "Exited"

#: `how` of it for an engine that went on with a conversation, and stands at its prompt.
RESUMED = "resumed"


class Journal:
    """Event lines under `events/`."""

    def __init__(self, layout: Layout, clock: Clock) -> None:
        self.layout = layout
        self._clock = clock

    def tell(self, agent_id: str, event: str, *, source: str = "drain", **fields: Any) -> None:
        """Append a line about an agent."""
        events.append(self.layout.event_log(agent_id), self._clock.wall(), source, event, fields)

    def newest_first(self, agent_id: str, limit_bytes: int | None = TAIL_BYTES) -> Iterator[dict[str, Any]]:
        """The agent's events, also of an ended agent."""
        path = self.layout.event_log(agent_id)
        if not os.path.exists(path):
            path = os.path.join(self.layout.events, "archive", agent_id + ".jsonl")
        return events.read_from_end(path, limit_bytes)

    def accepted(self, agent_id: str) -> bool:
        """Whether the agent's engine has ever taken a prompt."""
        return any(
            e["event"] == TAKEN if e.get("source") == "drain" else e["event"] in ACCEPTED
            for e in self.newest_first(agent_id, limit_bytes=None)
        )

    def began(self, agent_id: str, conversation_id: str) -> bool:
        """Whether the agent's engine has reported that it goes on with that conversation."""
        return any(
            e["event"] == "SessionStart" and e.get("source") == "hook" and e.get("session_id") == conversation_id
            for e in self.newest_first(agent_id, limit_bytes=None)
        )

    def archive(self, agent_id: str) -> None:
        """Move the agent's event files to the archive, behind what is there of it already. Safe to repeat."""
        folder = os.path.join(self.layout.events, "archive")
        ensure_dir(folder)
        for name in (agent_id + ".jsonl", agent_id + ".jsonl.1"):
            source, target = os.path.join(self.layout.events, name), os.path.join(folder, name)
            try:
                if os.path.exists(target):  # a hook that was still running reported after the agent was filed away
                    append_line(target, read_bytes(source).rstrip(b"\n"))
                    os.unlink(source)
                else:
                    os.replace(source, target)
            except FileNotFoundError:
                continue
