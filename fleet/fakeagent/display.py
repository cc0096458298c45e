"""
What the pane shows: banner, conversation, and the live part with spinner, composer or dialog.

What has been said stays and scrolls away. A prompt that has no answer yet belongs to the live part,
because an early Escape takes it back. While a dialog is open it stands in the place of the composer, as
in Claude Code.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from fleet.fakeagent import style
from fleet.fakeagent.composer import Composer
from fleet.fakeagent.screen import Live, Screen
from fleet.fakeagent.session import VERSION, Session
from fleet.fakeagent.width import cut, printable, wrap

if TYPE_CHECKING:
    from fleet.fakeagent.clockwork import Loop, Timer
    from fleet.fakeagent.dialogs import Dialog
    from fleet.fakeagent.terminal import Terminal
    from fleet.fakeagent.waiting import PromptQueue

TICK_SECONDS = 0.5
QUEUE_HINT = "Press up to edit queued messages"
INTERRUPTED = "Interrupted · What should Claude do instead?"
VERBS = ("Brewing", "Computing", "Noodling", "Stewing", "Churning")


class Display:
    """The whole pane."""

    def __init__(self, loop: Loop, terminal: Terminal, session: Session, queue: PromptQueue, placeholder: str) -> None:
        self.composer = Composer()
        self.dialog: Dialog | None = None
        self.hint: str | None = None  #: Replaces the footer for a moment.
        self.title = "Claude Code"
        self._loop = loop
        self._terminal = terminal
        self._screen = Screen(terminal)
        self._session = session
        self._queue = queue
        self._placeholder = placeholder
        self._pending: list[str] = []
        self._aside = ""
        self._headline: str | None = None
        self._busy_since: float | None = None
        self._tick: Timer | None = None
        self._ticks = 0
        self._shown_title = ""
        self._ready = False

    def begin(self) -> None:
        """From now on the pane is painted."""
        self._ready = True

    def show_banner(self) -> None:
        """What stands at the top of a session."""
        model = self._session.model.removeprefix("claude-").replace("-", " ").title()
        self.say_plain(
            style.tone(174, " ▐▛███▜▌") + f"   {style.bold('Claude Code')} " + style.grey(f"v{VERSION}"),
            style.tone(174, "▝▜█████▛▘") + "  " + style.grey(f"{model} · fake agent"),
            style.tone(174, "  ▘▘ ▝▝  ") + "  " + style.grey(self._session.cwd),
            "",
        )

    def close(self, last_words: list[str]) -> None:
        """The last frame stays on the screen."""
        if self._tick is not None:
            self._tick.cancel()
        if self._ready:
            self.paint()
            self._screen.close(last_words)

    def say_plain(self, *lines: str) -> None:
        """Add styled lines as they are; they must fit the width."""
        self._screen.keep(list(lines))

    def show_prompt(self, text: str) -> None:
        """A prompt was sent; it may still be taken back."""
        rows = wrap(printable(text), self._columns - 3)
        first = f"\x1b[48;5;237m{style.tone(239, style.PROMPT)} {style.tone(231, rows[0])}\x1b[49m"
        self._pending += ["", first, *(f"\x1b[48;5;237m  {style.tone(231, row)}\x1b[49m" for row in rows[1:])]

    def take_back_prompt(self) -> None:
        """The prompt leaves the screen."""
        self._pending = []

    def settle(self) -> None:
        """The prompt stays: something answered it."""
        self._screen.keep(self._pending)
        self._pending = []

    def say(self, text: str, *, glyph: str = "●", colour: int = 231, text_colour: int | None = None) -> None:
        """Add a paragraph with a bullet."""
        self.settle()
        rows = wrap(printable(text), self._columns - 3)
        shown = [row if text_colour is None else style.tone(text_colour, row) for row in rows]
        self._screen.keep(["", f"{style.tone(colour, glyph)} {shown[0]}", *(f"  {row}" for row in shown[1:])])

    def say_tool(self, name: str, argument: str) -> None:
        """Add the heading of a tool."""
        self.settle()
        shown = cut(printable(argument).replace("\n", " "), self._columns - len(name) - 6)
        self._screen.keep(["", f"{style.tone(114, '●')} {style.bold(name)}({shown})"])

    def say_result(self, text: str) -> None:
        """Add what belongs to the line above."""
        self.settle()
        rows = wrap(printable(text), self._columns - 6)
        self._screen.keep([f"  {style.grey('⎿')} {style.NO_BREAK}{rows[0]}", *(f"     {row}" for row in rows[1:])])

    def stream(self, text: str) -> None:
        """Show a text that is still arriving."""
        self.settle()
        rows = wrap(printable(text), self._columns - 3)
        self._pending = ["", f"{style.tone(231, '●')} {rows[0]}", *(f"  {row}" for row in rows[1:])]

    def unstream(self) -> None:
        """The text has arrived, and whoever shows it for good does so now."""
        self._pending = []

    def wipe(self) -> None:
        """Begin at the top."""
        self._pending = []
        self._screen.wipe()
        self.show_banner()

    def idle(self) -> None:
        """No spinner: the client waits for a prompt."""
        self._busy_since = None
        if self._tick is not None:
            self._tick.cancel()
            self._tick = None

    def busy(self, aside: str = "", *, headline: str | None = None) -> None:
        """A spinner with a verb and an *aside*, or with a *headline* in the place of both."""
        self._aside, self._headline = aside, headline
        if self._busy_since is None:
            self._busy_since = time.monotonic()
            self._tick = self._loop.later(TICK_SECONDS, self._on_tick)

    def _on_tick(self) -> None:
        self._ticks += 1
        self._tick = self._loop.later(TICK_SECONDS, self._on_tick)

    @property
    def _columns(self) -> int:
        return self._terminal.size()[0]

    def paint(self) -> None:
        """Show the present state."""
        if self._ready:
            self._screen.paint(self._live())
            self._set_title()

    def repaint(self) -> None:
        """Show everything again, after the size changed."""
        if self._ready:
            self._screen.repaint(self._live())

    def _set_title(self) -> None:
        busy = self._busy_since is not None and self.dialog is None
        glyph = style.TITLE_BUSY[self._ticks % len(style.TITLE_BUSY)] if busy else style.TITLE_IDLE
        title = f"{glyph} {self.title}"
        if title != self._shown_title:
            self._shown_title = title
            self._terminal.write(f"\x1b]2;{title}\x07")

    def _live(self) -> Live:
        columns, height = self._terminal.size()
        if self.dialog is not None:
            rows, chosen = self.dialog.rows(columns)
            above = self._pending[-max(0, height - len(rows) - 1) :]
            return Live([*above, "", *rows][-height:], len(above) + 1 + chosen, 1)
        above = [*self._pending, *self._spinner(), *self._queue_rows(columns), ""]
        busy = self._busy_since is not None
        placeholder = QUEUE_HINT if self._queue.shown() else "" if busy else self._placeholder
        box, column = self.composer.rows(columns, height - 5, placeholder=placeholder, busy=busy)
        below = [style.rule(columns), self._footer(columns)]
        above = above[-max(0, height - len(box) - 4) :]
        rows = [*above, style.rule(columns), *box, *below]
        return Live(rows, len(above) + len(box), column)

    def _spinner(self) -> list[str]:
        if self._busy_since is None:
            return []
        seconds = int(time.monotonic() - self._busy_since)
        glyph = style.SPINNER_GLYPHS[self._ticks % len(style.SPINNER_GLYPHS)]
        verb = VERBS[int(self._busy_since) % len(VERBS)]
        aside = self._aside or (f"({seconds}s)" if seconds else "")
        return ["", style.tone(174, f"{glyph} {self._headline or f'{verb}… {aside}'}")]

    def _queue_rows(self, columns: int) -> list[str]:
        rows: list[str] = []
        for text in self._queue.shown():
            wrapped = wrap(printable(text), columns - 5)
            rows.append(f"  \x1b[48;5;237m{style.tone(239, style.PROMPT)} {style.tone(231, wrapped[0])}\x1b[49m")
            rows += [f"  \x1b[48;5;237m  {style.tone(231, row)}\x1b[49m" for row in wrapped[1:]]
        return rows

    def _footer(self, columns: int) -> str:
        if self.hint is not None:
            return "  " + style.grey(cut(self.hint, columns - 3))
        modes = {
            "bypassPermissions": ("⏵⏵ bypass permissions on", 211),
            "acceptEdits": ("⏵⏵ accept edits on", 141),
        }
        name, colour = modes.get(self._session.permission_mode, ("? for shortcuts", 246))
        parts = [" (shift+tab to cycle)"] if colour != 246 else []
        if self._busy_since is not None:
            parts.append(" · esc to interrupt")
        shown = cut(name + "".join(parts), columns - 3)
        return "  " + style.tone(colour, shown[: len(name)]) + style.grey(shown[len(name) :])
