"""Answering an agent's dialog from outside: look, make sure that it is the one that was meant, move, press once, look.

All of it under the pane's keyboard lock. The mark is moved one row at a time, with a look after each press, until the
row with that label is the marked one; only then Enter is pressed, once, after one more look. Nothing goes by a number
or a place: what a screen shows between two looks may be another dialog. Whatever is not recognised is refused. How a
client marks a row and which keys move the mark is data (`dialog.Form`), so every engine is answered in this one way.

Where a hook of the client holds the question (`approvals.hold`), and that is surely the one which is shown, a plain yes
or no goes to that hook and no key is pressed.
"""

from __future__ import annotations

import functools
import os
import pwd

from fleet.engines.answers import (
    ANSWERED,
    INTENDS,
    LEAST_COLUMNS,
    UNCONFIRMED,
    Answers,
    Dialog,
    Verdict,
    answers_of,
    chosen,
    dialog_on,
    is_pending,
    name_of,
    shows_call,
)
from fleet.engines.rules import Rules
from fleet.errors import Refused, TimedOut, Unreachable
from fleet.formats import approval
from fleet.formats.redaction import Redactor
from fleet.formats.states import Existence
from fleet.formats.tuples import NamedTuple
from fleet.tmux.keyboard import Keyboard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fleet.app import Fleet
    from fleet.model.agent import Agent

LOOK_SECONDS = 0.05  #: between two looks
STEADY_LOOKS = 2  #: so many that show the same are believed
REDRAWN_LOOKS = 20  #: where the client may still be drawing, of which nothing tells: after a resize
STEADY_SECONDS = 10.0  #: how long a screen may take until they do
MOVE_SECONDS = 3.0  #: how long a client may take to move its cursor
GONE_SECONDS = 10.0  #: how long it may take to put an answered dialog away


class Answered(NamedTuple):
    """What was answered."""

    agent: Agent
    dialog: Dialog
    name: str  #: of the dialog, under which it was answered
    option: str
    further: Dialog | None = None  #: what it asks now: some answers are to be confirmed


def answer(fleet: Fleet, agent: Agent, verdict: Verdict, *, option: str | None, dialog: str | None) -> Answered:
    """
    Answer the dialog that is open in the agent's pane.

    Args:
        option: a label or a unique beginning of one; None: the engine's plain yes or no.
        dialog: the name of the dialog that is meant; None: whichever is open.

    Raises:
        Refused: none is open, it is another one, or it cannot be read well enough; no answer was given.
        NotFound, Ambiguous: no row with such a label, or several.
        TimedOut: the key was pressed and the dialog is still there.
        Unreachable: tmux did not answer.
    """
    sight = fleet.looker().see(agent)
    if sight.facts.pane == Existence.UNKNOWN:
        raise Unreachable(f"agent {agent.id} could not be looked at: {sight.state.evidence}")
    if sight.pane is None or sight.pane.dead:
        raise Refused(f"agent {agent.id} has no living pane", hint=f"`fleet show {agent.id}` tells more")
    if sight.pane.in_mode:
        raise Refused("somebody scrolls in its pane, which takes the keys", hint="leave copy mode there (q)")
    screen = fleet.settings.screen(agent.engine)
    path = fleet.layout.keyboard_lock(f"{sight.pane.server_pid}-{sight.pane.pane_id.lstrip('%')}")
    panes = fleet.panes_on(agent.socket or fleet.socket)
    with Keyboard(panes, sight.pane.pane_id, path, fleet.clock) as keyboard:
        rules, version = Rules(agent.engine, screen), fleet.versions.of(agent)
        hand = _Hand(fleet, agent, keyboard, rules, version, is_watched=sight.pane.attached > 0)
        return hand.answer(answers_of(screen), verdict, option, dialog)


class _Hand:
    """One answer."""

    def __init__(
        self, fleet: Fleet, agent: Agent, keyboard: Keyboard, rules: Rules, version: str | None, *, is_watched: bool
    ) -> None:
        self._fleet = fleet
        self._agent = agent
        self._keyboard = keyboard
        self._rules = rules
        self._version = version
        self._is_watched = is_watched
        self._name = ""

    def answer(self, known: Mapping[str, Answers], verdict: Verdict, option: str | None, meant: str | None) -> Answered:
        attach = f"answer it there: fleet attach {self._agent.id}"
        if not known:
            raise Refused(f"the dialogs of {self._agent.engine} cannot be answered from here", hint=attach)
        if self._keyboard.size()[0] < LEAST_COLUMNS:
            if not self._keyboard.make_room():
                raise Refused(f"its pane has less than {LEAST_COLUMNS} columns, and somebody looks at it", hint=attach)
            raise _drawn_larger()
        found = self._open(meant, attach)
        answers = self._answerable(found, known, attach)
        row = chosen(found, answers, verdict, option)
        label = found.labels[row]
        hook = self._hook(found)
        behavior = self._behavior(answers, found, label)
        if hook is not None and behavior is not None:
            self._note(found, verdict, label, f"{INTENDS}let its hook answer")
            approval.answer(hook, behavior)
        else:
            self._press(found, row, verdict, attach)
        return self._confirmed(found, verdict, label, attach)

    def _open(self, meant: str | None, attach: str) -> Dialog:
        """The dialog that is open, when it is the one that is meant and no answer to it is on its way."""
        found = self._steady(STEADY_LOOKS)
        if found is not None and found.form.line is not None:  # opencode draws the head of a change before its lines
            found = self._steady(REDRAWN_LOOKS)
        if found is None:
            raise Refused(f"no dialog is open in agent {self._agent.id}", hint="`fleet approvals` lists those that are")
        events = list(self._fleet.journal.newest_first(self._agent.id, None))
        self._name = name_of(self._agent.id, found.print, events)
        if meant is not None and self._name != meant:
            raise Refused(
                f"another dialog is open now: {self._name}, {found.question}", hint="`fleet approvals` shows it"
            )
        if is_pending(found.print, events):
            raise Refused(
                "it was answered before and is still there; its client may not have read that yet", hint=attach
            )
        return found

    def _answerable(self, found: Dialog, known: Mapping[str, Answers], attach: str) -> Answers:
        """What is known of its answers, when it can be answered from here and is seen whole."""
        answers = known.get(found.rule)
        if answers is None:
            raise Refused("this kind of question is not answered from here", hint=attach)
        if answers.pane:
            raise Refused(f"it is answered in its pane: {answers.pane}", hint=attach)
        if not answers.can_read(found) or (found.marked is None and not found.form.presses):
            if self._enlarged(found):
                raise _drawn_larger()
            raise Refused("its dialog cannot be read whole", hint=attach)
        return answers

    def _enlarged(self, found: Dialog) -> bool:
        """Whether there is more room for it now, or will be at the next look, where nobody else looks at it."""
        if self._keyboard.make_room(full=True):
            return True
        if found.enlarging is None or self._is_watched:
            return False
        self._keyboard.press(found.enlarging)
        return self._until(lambda: (now := self._look()) is not None and now.enlarging is None, MOVE_SECONDS)

    def _press(self, found: Dialog, row: int, verdict: Verdict, attach: str) -> None:
        """Bring the mark onto that row, look once more, press once."""
        label = found.labels[row]
        key = found.form.key_of(label)
        if key is None:
            self._move(found, row)
        self._note(found, verdict, label, f"{INTENDS}press {key or 'Enter'}")
        if self._cursor(found) != row and key is None:
            raise Refused("somebody else moves the cursor", hint=attach)
        if key is None:
            self._keyboard.enter()
        else:
            self._keyboard.press(key)

    def _confirmed(self, found: Dialog, verdict: Verdict, label: str, attach: str) -> Answered:
        """Wait until the dialog is no longer there; what is answered, and what stands there then."""
        if not self._until(lambda: not _is_same(self._look(), found), GONE_SECONDS):
            self._note(found, verdict, label, UNCONFIRMED)
            raise TimedOut(f"{label!r} was answered, and the dialog is still there", hint=attach)
        self._note(found, verdict, label, "went")
        try:
            further = self._look()
        except Unreachable:  # the answer is given all the same
            further = None
        return Answered(self._agent, found, self._name, label, further)

    def _hook(self, dialog: Dialog) -> str | None:
        """
        The one hook that holds a question of the agent, when that is surely the one which is shown; else None.

        A subagent's question may lie beneath the one that is shown, whose own hook has run out or has not begun yet.
        """
        held = approval.held(self._fleet.layout, self._agent.id)
        return held[0] if len(held) == 1 and shows_call(dialog, *approval.asked(held[0])) else None

    @staticmethod
    def _behavior(answers: Answers, dialog: Dialog, label: str) -> str | None:
        """What a hook answers for that label; None for one that says more than yes or no."""
        if answers.choice:
            return None
        if label == answers.default(Verdict.APPROVE, dialog.labels):
            return approval.ALLOW
        return approval.DENY if label == answers.default(Verdict.DENY, dialog.labels) else None

    def _look(self) -> Dialog | None:
        return dialog_on(self._rules, self._keyboard.look(), self._version)

    def _steady(self, looks: int) -> Dialog | None:
        """The dialog once so many looks in a row show the same."""
        seen, same = self._look(), 1

        def is_steady() -> bool:
            nonlocal seen, same
            before, seen = seen, self._look()
            same = same + 1 if before == seen else 1
            return same >= looks

        return seen if self._until(is_steady, STEADY_SECONDS) else None

    def _move(self, dialog: Dialog, row: int) -> None:
        """Bring the cursor onto that row; it stands there at the last look."""
        for _ in range(len(dialog.labels)):
            at = self._cursor(dialog)
            if at == row:
                return
            self._keyboard.press(dialog.form.moves[at is None or row > at])
            self._until(functools.partial(self._has_left, dialog, at), MOVE_SECONDS)
        raise Refused(f"the cursor does not get to {dialog.labels[row]!r}", hint="answer it in its pane")

    def _cursor(self, dialog: Dialog) -> int | None:
        """The row on which it stands, in that very dialog; None where every row has its own key."""
        now = self._look()
        if now is None or not _is_same(now, dialog) or (now.marked is None and not now.form.presses):
            raise Refused("the dialog changed before it was answered", hint="`fleet approvals` shows what is open")
        return now.marked

    def _has_left(self, dialog: Dialog, at: int | None) -> bool:
        now = self._look()
        return not _is_same(now, dialog) or (now is not None and now.marked not in (None, at))

    def _until(self, holds: Callable[[], bool], seconds: float) -> bool:
        clock = self._fleet.clock
        end = clock.monotonic() + seconds
        while True:
            clock.sleep(LOOK_SECONDS)
            if holds():
                return True
            if clock.monotonic() >= end:
                return False

    def _note(self, dialog: Dialog, verdict: Verdict, label: str, result: str) -> None:
        """The audit line."""
        clean = Redactor().text
        self._fleet.journal.tell(
            self._agent.id, ANSWERED, source="cli", verdict=str(verdict), option=label, result=result,
            dialog=self._name, fingerprint=dialog.print, question=clean(dialog.question), text=clean(dialog.detail),
            by=_who(),
        )  # fmt: skip


def _drawn_larger() -> Refused:
    """Whoever asked has seen a part only."""
    return Refused("a part of its dialog had no room; it is drawn larger now", hint="`fleet approvals` shows it")


def _is_same(one: Dialog | None, other: Dialog) -> bool:
    return one is not None and one.print == other.print


def _who() -> str:
    """The user who answers, and the agent when an agent does."""
    try:
        name = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        name = str(os.getuid())
    agent = os.environ.get("FLEET_AGENT_ID")
    return f"{name} (agent {agent})" if agent else name
