"""One pane under its keyboard lock: look, paste, look, Enter, and nobody of ours types there meanwhile."""

from __future__ import annotations

from fleet.formats.atomic import Lock
from fleet.formats.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

    from fleet.clock import Clock
    from fleet.model.panes import Panes, Terminal

LOCK_SECONDS = 5.0


class Keyboard:
    """A pane to look at and type into, as a context manager."""

    def __init__(self, panes: Panes, pane_id: str, lock_path: str, clock: Clock) -> None:
        self._panes = panes
        self._pane_id = pane_id
        self._clock = clock
        self._lock = Lock(lock_path, LOCK_SECONDS, sleep=clock.sleep, monotonic=clock.monotonic)

    def __enter__(self) -> Self:
        self._lock.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def look(self) -> list[str]:
        """The visible screen with its colours and attributes, a line each."""
        return self._panes.capture(self._pane_id, styled=True)

    def paste(self, text: str) -> None:
        """Paste *text*, its control characters in a visible form: nothing in it is a key. Does not submit."""
        self._panes.paste(self._pane_id, visible(text).encode("utf-8", "surrogateescape"))

    def bracketed(self) -> bool | None:
        """Whether the program takes a paste of several lines as one input; None where that cannot be known."""
        return self._panes.bracketed(self._pane_id)

    def terminal(self) -> Terminal:
        """What becomes of what is typed before the program sees it."""
        return self._panes.terminal(self._pane_id)

    def plain(self) -> str:
        """The visible screen as text."""
        return "\n".join(self._panes.capture(self._pane_id))

    def press(self, key: str) -> None:
        """Press one key that moves a cursor: Up or Down."""
        self._panes.press(self._pane_id, key)

    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        return self._panes.size(self._pane_id)

    def enter(self) -> None:
        """Submit what the composer holds."""
        self._panes.enter(self._pane_id)

    def make_room(self, *, full: bool = False) -> bool:
        """Enlarge the pane's window where nobody looks at it and it is too small to be read; whether it was."""
        return self._panes.make_room(self._pane_id, full=full)

    def pause(self, seconds: float) -> None:
        """Give the program time to take in what was pasted."""
        self._clock.sleep(seconds)
