"""What every scenario works with: the collaborators of one running agent, put together once."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from fleet.fakeagent.background import Background
    from fleet.fakeagent.children import Children
    from fleet.fakeagent.clockwork import Loop, Steps
    from fleet.fakeagent.display import Display
    from fleet.fakeagent.faults import Faults
    from fleet.fakeagent.hooks import Fired, Hooks
    from fleet.fakeagent.model import Model
    from fleet.fakeagent.permissions import Permissions
    from fleet.fakeagent.script import Client
    from fleet.fakeagent.session import Session
    from fleet.fakeagent.transcript import Transcript
    from fleet.fakeagent.waiting import PromptQueue


class Interrupted(Exception):
    """Escape was pressed while a scenario waited."""


class Rejected(Interrupted):
    """A permission dialog was answered with no."""


class Parts(NamedTuple):
    """The collaborators of one running agent."""

    loop: Loop
    display: Display
    session: Session
    transcript: Transcript
    model: Model
    hooks: Hooks
    children: Children
    permissions: Permissions
    background: Background
    client: Client
    faults: Faults
    queue: PromptQueue
    known_files: set[str]  #: Files the model has seen; it may not write over others.

    def heed(self, fired: Fired, *, tool_use_id: str | None = None) -> None:
        """Write what hooks left behind, and let the model hear it."""
        written, reminders = self.hooks.attachments(fired, tool_use_id=tool_use_id)
        for body in written:
            self.transcript.later(body)
        self.model.remind(reminders)
        for verdict in fired:
            if verdict.message is not None:
                self.display.say_result(f"{fired.event} says: {verdict.message}")

    def begin_session(self, source: str) -> Steps[None]:
        """Fire SessionStart; a new or compacted session also names its model."""
        fields = {"source": source}
        if source in ("startup", "compact"):
            fields["model"] = self.session.model
        self.heed((yield from self.hooks.fire("SessionStart", fields, subject=source)))
