"""Looking at one pane and typing into it.

Measured (3.3a, 3.5a, 3.8): `send-keys -l` eats a trailing `;` and is limited to 16 kB; a bracketed paste from a
buffer (load-buffer on standard input, paste-buffer -p -r -d) reaches Claude Code and Codex byte for byte. In copy
mode a paste reaches the program and `send-keys Enter` is lost, while a pasted carriage return submits and leaves copy
mode on: so Enter is pasted there.
"""

from __future__ import annotations

import os

from fleet.formats.atomic import Lock

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from fleet.clock import Clock
    from fleet.tmux.client import Tmux

ENTER = b"\r"
LOCK_SECONDS = 5.0


class Keyboard:
    """One pane of one server. Use it as a context manager: it holds the pane's keyboard lock."""

    def __init__(self, tmux: Tmux, pane_id: str, lock_path: str, clock: Clock) -> None:
        self._tmux = tmux
        self._pane = pane_id
        self._clock = clock
        self._lock = Lock(lock_path, LOCK_SECONDS, sleep=clock.sleep, monotonic=clock.monotonic)

    def __enter__(self) -> Self:
        self._lock.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def look(self) -> list[str]:
        """The visible screen with its colours and attributes, a line each."""
        return capture(self._tmux, self._pane, styled=True)

    def paste(self, text: str, *, bracketed: bool = True) -> None:
        """Paste *text*, as a bracketed paste where the program asked for it. Does not submit."""
        self._paste(text.encode("utf-8", "surrogateescape"), bracketed=bracketed)

    def enter(self) -> None:
        """Submit what the composer holds."""
        if self._tmux.do("display-message", "-p", "-t", self._pane, "#{pane_in_mode}").strip() in ("", "0"):
            self._tmux.do("send-keys", "-t", self._pane, "Enter")
        else:
            self._paste(ENTER, bracketed=False)

    def pause(self, seconds: float) -> None:
        """Give the program time to take in what was pasted."""
        self._clock.sleep(seconds)

    def _paste(self, data: bytes, *, bracketed: bool) -> None:
        buffer = f"fleet-{os.getpid()}-{self._pane.lstrip('%')}"
        self._tmux.do("load-buffer", "-b", buffer, "-", text=data)
        flags = ["-p", "-r", "-d"] if bracketed else ["-r", "-d"]
        self._tmux.do("paste-buffer", *flags, "-b", buffer, "-t", self._pane)


def capture(tmux: Tmux, pane_id: str, *, styled: bool = False, history: int = 0) -> list[str]:
    """
    The screen of a pane, top first, without the empty lines at its end.

    Args:
        history: how many lines above the visible screen to add.

    Raises:
        Unreachable: tmux did not answer, or has no such pane.
    """
    flags = ["-e"] if styled else []
    if history:
        flags += ["-S", f"-{history}"]
    lines = tmux.do("capture-pane", "-p", *flags, "-t", pane_id).split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    return lines
