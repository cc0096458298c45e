"""
Prompts that wait for their turn.

What is typed while the client works is queued, and the transcript says so: `enqueue`, then `dequeue`
when it becomes a turn of its own, or `remove` when a running turn takes it in. Slash commands and
notifications are never taken in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fleet.fakeagent import commandline
from fleet.fakeagent.ids import now

if TYPE_CHECKING:
    from fleet.fakeagent.transcript import Transcript


class Waiting(NamedTuple):
    """One prompt that is not yet a turn."""

    text: str
    typed_at: str
    human: bool  #: Typed, and not a notification of the client's own.
    announced: bool  #: The transcript knows of it, and the screen shows it.


class PromptQueue:
    """All of them, oldest first."""

    def __init__(self, transcript: Transcript) -> None:
        self._transcript = transcript
        self._waiting: list[Waiting] = []

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, text: str, *, human: bool, announced: bool) -> None:
        """Let a prompt wait; it is *announced* unless it is about to be taken."""
        if announced:
            self._transcript.queue_operation("enqueue", text)
        self._waiting.append(Waiting(text, now(), human, announced))

    def take(self) -> list[Waiting]:
        """The oldest one, to become a turn, and the prompts behind it that go with it."""
        together = 1
        while together < len(self._waiting) and all(map(_is_prompt, self._waiting[: together + 1])):
            together += 1
        taken, self._waiting = self._waiting[:together], self._waiting[together:]
        for each in taken:
            if each.announced:
                self._transcript.queue_operation("dequeue")
        return taken

    def absorb(self) -> list[Waiting]:
        """Those that a running turn takes in."""
        absorbed = [each for each in self._waiting if _is_prompt(each)]
        self._waiting = [each for each in self._waiting if each not in absorbed]
        for _ in absorbed:
            self._transcript.queue_operation("remove")
        return absorbed

    def shown(self) -> list[str]:
        """What the screen shows of it."""
        return [each.text for each in self._waiting if each.announced]


def _is_prompt(waiting: Waiting) -> bool:
    return waiting.human and commandline.split(waiting.text) is None
