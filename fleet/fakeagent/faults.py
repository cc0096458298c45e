"""
Dying or hanging at a point chosen in advance.

The points are where a supervisor's guesses differ: before anything was said (`boot`), with a prompt
sent and not yet reported (`first_prompt`), with the first prompt accepted (`after_accept`), or when a
later turn asks the model (`turn N`). A crash runs no hook and leaves no last words.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from fleet.fakeagent.clockwork import Steps, Wait, hold

if TYPE_CHECKING:
    from fleet.fakeagent.script import Client


class Faults:
    """What shall go wrong."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._turns = 0
        self.hung = False  #: No key is taken any more.

    def reach(self, point: str) -> Steps[None]:
        """The program is at *point* now."""
        if point == self._client.crash_at:
            os._exit(self._client.crash_status)
        if point == self._client.hang_at:
            self.hung = True
            yield from hold(Wait[None]())

    def accepted(self) -> Steps[None]:
        """A prompt was reported and the model is about to be asked."""
        self._turns += 1
        if self._turns == 1:
            yield from self.reach("after_accept")
        yield from self.reach(f"turn {self._turns}")

    def submitted(self) -> Steps[None]:
        """A prompt was sent and nobody knows yet."""
        if self._turns == 0:
            yield from self.reach("first_prompt")
