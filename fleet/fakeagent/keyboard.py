"""
What keys do.

Keys typed before the client is ready are not lost on the way, the terminal keeps them; what the client
makes of them differs from start to start. Claude Code mostly leaves the text in the composer and drops
the Enter, and sometimes sends it mangled. Right after the start it may lose an Enter that follows a
paste at once, so that the text stays in the composer and a second Enter sends it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from fleet.fakeagent.keys import ESCAPE_WAIT_SECONDS, Decoder, Key

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.fakeagent.clockwork import Timer
    from fleet.fakeagent.parts import Parts

CTRL_C_SECONDS = 1.0
BREAKS = {"newline": "\n", "enter": "\n"}  #: Before raw mode the terminal makes line feeds of Enters.
EXIT_HINT = "Press Ctrl-C again to exit"


class Actions(NamedTuple):
    """What a key can bring about outside the composer."""

    submit: Callable[[str], None]
    interrupt: Callable[[], bool]  #: Says whether there was anything to interrupt.
    leave: Callable[[], None]


class Keyboard:
    """Takes what was read and acts on it."""

    def __init__(self, parts: Parts, actions: Actions) -> None:
        self._parts = parts
        self._actions = actions
        self._decoder = Decoder()
        self._early: list[Key] | None = []
        self._ready_at: float | None = None
        self._pasted_at: float | None = None
        self._lost_enters = parts.client.swallow_enter
        self._ctrl_c: Timer | None = None
        self._escape: Timer | None = None

    def feed(self, data: bytes) -> None:
        """Take one read."""
        if self._escape is not None:
            self._escape.cancel()
        self._press(self._decoder.feed(data))
        if self._decoder.waits_for_more:
            self._escape = self._parts.loop.later(ESCAPE_WAIT_SECONDS, self._flush)

    def ask(self) -> None:
        """A dialog takes the keys from here on; what was typed blindly before it is lost."""
        self._early = []

    def open(self) -> None:
        """The composer is on the screen: take what was typed before, and every key as it comes."""
        early, self._early = self._early or [], None
        typed = "".join(key.text or BREAKS.get(key.name, "") for key in early)
        text = typed.rstrip("\n")
        policy = self._parts.client.early_keys
        if policy == "left":
            self._parts.display.composer.type(text)
        elif policy == "mangled":
            self._parts.display.composer.type(text[::2])
            if typed != text:
                self._on_key(Key("enter"))

    def ready(self) -> None:
        """The session has begun."""
        self._ready_at = time.monotonic()

    def _flush(self) -> None:
        self._press(self._decoder.flush())

    def _press(self, keys: list[Key]) -> None:
        for key in keys:
            if self._parts.faults.hung:
                return
            dialog = self._parts.display.dialog
            if dialog is not None:
                dialog.press(key)
            elif self._early is not None:
                self._early.append(key)
            else:
                self._on_key(key)

    def _on_key(self, key: Key) -> None:
        composer = self._parts.display.composer
        match key.name:
            case "text":
                composer.type(key.text)
            case "paste":
                composer.paste(key.text)
                self._pasted_at = time.monotonic()
            case "newline":
                composer.type("\n")
            case "backspace" | "ctrl-u" | "ctrl-w":
                composer.erase(key.name)
            case "enter" if not self._is_lost():
                text = composer.take()
                if text:
                    self._actions.submit(text)
            case "escape":
                self._actions.interrupt()
            case "ctrl-c" | "ctrl-d":
                self._on_ctrl_c()
            case _:
                pass

    def _is_lost(self) -> bool:
        """Whether this Enter goes the way of those that come right behind a paste."""
        if self._pasted_at is None:
            return False
        client, now = self._parts.client, time.monotonic()
        fresh = self._ready_at is None or now - self._ready_at < client.swallow_window_seconds
        if fresh and now - self._pasted_at < client.swallow_gap_seconds:
            return True
        if self._lost_enters:
            self._lost_enters -= 1
            return True
        self._pasted_at = None
        return False

    def _on_ctrl_c(self) -> None:
        if self._actions.interrupt():
            return
        if self._ctrl_c is not None:
            self._actions.leave()
            return
        self._parts.display.composer.clear()
        self._parts.display.hint = EXIT_HINT
        self._ctrl_c = self._parts.loop.later(CTRL_C_SECONDS, self._forget_ctrl_c)

    def _forget_ctrl_c(self) -> None:
        self._ctrl_c = self._parts.display.hint = None
