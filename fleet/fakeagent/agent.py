"""
The agent as its pane sees it: scenarios are started, signals obeyed, and the end is orderly.

There is one scenario at a time. What is typed during it waits: a turn that reaches another tool takes
it in, else it becomes a turn of its own behind this one. An Escape with something waiting interrupts
the turn and starts the next.
"""

from __future__ import annotations

import signal
from typing import TYPE_CHECKING

from fleet.fakeagent import commandline, commands, dialogs
from fleet.fakeagent.clockwork import Steps, Task, Timer, hold
from fleet.fakeagent.keyboard import Actions, Keyboard
from fleet.fakeagent.parts import Interrupted, Parts
from fleet.fakeagent.style import dim
from fleet.fakeagent.turn import Turn

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.fakeagent.terminal import Terminal

SESSION_END_SECONDS = 1.5
REFUSED_STATUS = 1
SIGNAL_STATUS = 128


class Agent:
    """One running client."""

    def __init__(self, parts: Parts, terminal: Terminal, *, source: str, prompt: str | None) -> None:
        self.status = 0  #: What the process ends with.
        self._parts = parts
        self._terminal = terminal
        self._source = source
        self._keyboard = Keyboard(parts, Actions(self._typed, self._interrupt, self._exit))
        self._turn: Turn | None = None
        self._task: Task[None] | None = None
        self._ending = False
        self._idle_notice: Timer | None = None
        if prompt is not None:
            parts.queue.add(prompt, human=True, announced=False)
        parts.background.notify = lambda text: self._submit(text, human=False)

    def start(self) -> None:
        """Register everything; the loop does the rest."""
        loop = self._parts.loop
        loop.after_round = self._parts.display.paint
        loop.on_readable(self._terminal.fd_in, self._on_input)
        loop.on_signal(signal.SIGWINCH, self._parts.display.repaint)
        loop.on_signal(signal.SIGHUP, lambda: self._end("other", SIGNAL_STATUS + signal.SIGHUP))
        loop.on_signal(signal.SIGINT, lambda: self._end("other", 0))
        loop.on_signal(signal.SIGTERM, self._on_sigterm)
        self._run(self._boot())

    def _boot(self) -> Steps[None]:
        parts = self._parts
        yield from parts.loop.sleep(parts.client.boot_seconds)
        yield from parts.faults.reach("boot")
        self._terminal.enter()
        parts.display.begin()
        for wanted, dialog, accepted in self._questions():
            if wanted and (yield from self._asked(dialog())) != accepted:
                self._leave([], REFUSED_STATUS)
                return
            parts.display.dialog = None
        parts.display.show_banner()
        self._keyboard.open()
        parts.display.paint()
        yield from parts.begin_session(self._source)
        self._keyboard.ready()

    def _questions(self) -> list[tuple[bool, Callable[[], dialogs.Dialog], int]]:
        """Whether to ask, what, and the answer to go on with."""
        client, session = self._parts.client, self._parts.session
        bypassed = client.bypass_dialog and session.permission_mode == "bypassPermissions"
        return [
            (client.trust_dialog, lambda: dialogs.trust(session.cwd, client.trust_default), 0),
            (bypassed, dialogs.bypass, 1),
        ]

    def _asked(self, dialog: dialogs.Dialog) -> Steps[int]:
        self._keyboard.ask()
        self._parts.display.dialog = dialog
        return (yield from hold(dialog.answer))

    def _run(self, steps: Steps[None]) -> None:
        self._task = Task(steps)
        self._task.finished.then(self._on_done)

    def _on_done(self) -> None:
        if self._ending:
            return
        self._task = self._turn = None
        self._idle_notice = self._parts.loop.later(self._parts.client.idle_notice_seconds, self._notice_idle)
        self._next()

    def _next(self) -> None:
        """Start what waits, if nothing runs."""
        if self._task is not None or not self._parts.queue:
            return
        prompts = self._parts.queue.take()
        if self._idle_notice is not None:
            self._idle_notice.cancel()
        command = commandline.split(prompts[0].text) if prompts[0].human else None
        if command is None:
            self._turn = Turn(self._parts, prompts)
            self._run(self._turn.run())
        elif command[0] in commands.EXIT:
            self._parts.session.new_prompt()
            self._exit()
        else:
            self._run(commands.run(self._parts, *command))

    def _notice_idle(self) -> None:
        told = {"message": "Claude is waiting for your input", "notification_type": "idle_prompt"}
        self._parts.hooks.start("Notification", told, subject="idle_prompt")

    def _on_input(self) -> None:
        data = self._terminal.read()
        if not data:  # the terminal is gone; without a SIGHUP nobody else would tell
            self._parts.loop.forget(self._terminal.fd_in)
            self._end("other", SIGNAL_STATUS + signal.SIGHUP)
        elif not self._ending:
            self._keyboard.feed(data)

    def _typed(self, text: str) -> None:
        self._submit(text, human=True)

    def _submit(self, text: str, *, human: bool) -> None:
        self._parts.queue.add(text, human=human, announced=self._turn is not None)
        self._next()

    def _interrupt(self) -> bool:
        if self._task is None or self._turn is None:
            return False
        self._task.throw(Interrupted())
        return True

    def _on_sigterm(self) -> None:
        if not self._parts.client.ignore_sigterm:
            self._end("other", SIGNAL_STATUS + signal.SIGTERM)

    def _exit(self) -> None:
        if not self._parts.client.refuse_exit:
            self._end("prompt_input_exit", 0)

    def _end(self, reason: str, status: int) -> None:
        if not self._ending:
            self._ending = True
            Task(self._last(reason, status))

    def _last(self, reason: str, status: int) -> Steps[None]:
        parts = self._parts
        fields = {"reason": reason}
        yield from parts.hooks.fire("SessionEnd", fields, subject=reason, limit_seconds=SESSION_END_SECONDS)
        words = [dim("Resume this session with:"), dim(f"claude --resume {parts.session.session_id}")]
        parts.transcript.close()
        self._leave(words if parts.session.prompt_id is not None else [], status)

    def _leave(self, last_words: list[str], status: int) -> None:
        self._ending = True
        self.status = status
        self._parts.children.kill_all()
        self._parts.display.close(last_words)
        self._parts.loop.stopped = True
