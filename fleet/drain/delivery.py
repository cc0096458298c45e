"""Waking idle agents that have messages. The text itself never goes through the terminal: a hook injects it.

Under the pane's keyboard lock: look, paste the wake line, look again, Enter. Enter is pressed only when the composer
shows exactly our line; a dialog, a person's draft, or anything that is not recognised means no key at all. An agent
whose engine does not report gets the text itself, and `delivered` only on what the screen shows.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from enum import Enum

from fleet.engines.catalog import engine
from fleet.engines.screen import Box, cells, plain
from fleet.errors import FleetError
from fleet.formats import delivery, messages, transcript
from fleet.formats.events import HOOK_SECONDS
from fleet.formats.ids import is_id
from fleet.formats.record import Held
from fleet.formats.states import MessageState, Reason, Turn
from fleet.formats.texts import WAKE_LINE, operator_message
from fleet.formats.visible import visible
from fleet.tmux.keyboard import Keyboard

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.app import Fleet
    from fleet.engines.screen import Composer
    from fleet.model.agent import Agent
    from fleet.model.panes import Terminal
    from fleet.observe.facts import Looker, Sight

QUICK_TRIES = 3  #: presses of Enter that may be swallowed by a client that just started
QUICK_SECONDS = 1.0
IDLE_SECONDS = 3.0  #: between two looks at an agent that nothing can be done for, when nothing stirs
LOOK_SECONDS = 0.05  #: between two looks at a screen that something was pasted into
APPEAR_SECONDS = 5.0  #: how long a program may take to show what was pasted: a busy machine is slow
LOST_PASTE_SECONDS = 30.0  #: a paste that has not shown by then never will; before, a second one would stand beside it
UNSEEN = "pasted, not seen, and so not submitted: it may stand in its program's input"
UNANSWERED_SECONDS = 2.0  #: after this long without an answer the screen is asked whether Esc was pressed


class Woken(Enum):
    """What came of one try."""

    PRESSED = "pressed"  #: Enter went out; the hook's report is awaited
    DELIVERED = "delivered"  #: typed into an engine without hooks, and seen there
    UNCONFIRMED = "unconfirmed"  #: typed into an engine without hooks, and not seen
    REFUSED = "refused"  #: an engine without hooks cannot take it in; nothing was typed
    BUSY = "busy"  #: a turn is running
    DRAFT = "draft"  #: a person's text is in the composer
    DIALOG = "dialog"  #: a question is open
    UNCLEAR = "unclear"  #: the screen was not recognised
    HIDDEN = "hidden"  #: what is typed there is not shown, as at a password prompt


#: A look told that nothing may be typed now.
HINDRANCES = frozenset({Woken.DRAFT, Woken.DIALOG, Woken.UNCLEAR, Woken.HIDDEN})


@dataclass(slots=True)
class Backoff:
    """When an agent may be tried again."""

    due: float = 0.0
    tries: int = 0
    last: Woken | None = None
    first: str | None = None  #: the message that was first in line at that try
    pasted_at: float | None = None  #: our line was pasted then and has not been seen since


class Deliveries:
    """The messages of this host."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._backoffs: dict[str, Backoff] = {}
        self._ended: set[str] = set()  #: agents that were looked at and have no engine any more
        self._unseen: dict[str, list[str]] = {}  #: the screen on which a pasted text never showed
        self._offers: dict[str, dict[tuple[object, ...], float]] = {}  #: when each was first seen unanswered

    def waiting(self) -> list[str]:
        """The agents for which something is spooled."""
        found = set()
        try:
            with os.scandir(self._fleet.layout.inbox) as entries:
                for entry in entries:
                    name = entry.name.removesuffix(".md")
                    if is_id(name) and (not entry.is_dir() or messages.names(entry.path)):
                        found.add(name)
        except FileNotFoundError:
            return []
        self._backoffs = {k: v for k, v in self._backoffs.items() if k in found}
        self._offers = {k: v for k, v in self._offers.items() if k in found}
        self._ended &= found
        return sorted(found)

    def pending(self) -> list[str]:
        """Those of them that a drain waits for: an engine that has ended takes nothing until the operator acts."""
        return [agent_id for agent_id in self.waiting() if agent_id not in self._ended]

    def seconds_left(self, agent_id: str) -> float:
        """How long until the agent may be tried again."""
        backoff = self._backoffs.get(agent_id)
        return 0.0 if backoff is None else max(0.0, backoff.due - self._fleet.clock.monotonic())

    def stirred(self, agent_id: str) -> None:
        """Something happened to the agent: try it again at once, unless Enter was just pressed for that message."""
        backoff = self._backoffs.get(agent_id)
        if backoff is None:
            return
        if backoff.last != Woken.PRESSED:
            backoff.due = 0.0
        elif backoff.first != self._first(agent_id):
            del self._backoffs[agent_id]

    def _first(self, agent_id: str) -> str | None:
        return next(iter(messages.names(self._fleet.layout.spool(agent_id))), None)

    def attend(self, agent_id: str, look: Looker) -> None:
        """Do what can be done for one agent's messages now, and set when to look at it again."""
        backoff = self._backoffs.setdefault(agent_id, Backoff())
        backoff.due = self._fleet.clock.monotonic() + IDLE_SECONDS
        backoff.first = self._first(agent_id)
        self._attend(agent_id, look)

    def _attend(self, agent_id: str, look: Looker) -> None:
        fleet = self._fleet
        if os.path.exists(fleet.layout.entry(agent_id)):
            return
        agent = fleet.agents.get(agent_id)
        if agent is None or os.path.exists(fleet.layout.stop_order(agent_id)):
            return
        sight = look.see(agent)
        if sight.facts.running is False:
            self._ended.add(agent_id)
            return
        self._ended.discard(agent_id)
        waiting = [m for m in self._pending(agent_id) if m.state in (MessageState.NEW, MessageState.OFFERED)]
        if not waiting or sight.pane is None or sight.pane.dead or sight.facts.held or sight.facts.running is None:
            return
        if sight.pane.pid != agent.pid:
            return
        if sight.facts.hold and waiting[0].state == MessageState.NEW:
            return  # it would wake into a limit; a hook of a turn that runs anyway still hands it over
        if not sight.facts.reports:
            self._note(agent_id, self._type(sight, waiting[0]))
            return
        if waiting[0].state == MessageState.OFFERED:
            self._unanswered(sight, waiting[0])
            return
        if sight.state.turn == Turn.IDLE and sight.state.reason != Reason.DRAFT:
            self._note(agent_id, self._wake(sight))

    def _pending(self, agent_id: str) -> list[messages.Message]:
        with Held(self._fleet.layout, agent_id):
            messages.import_slot(self._fleet.layout, agent_id, self._fleet.clock.wall())
            return list(messages.pending(self._fleet.layout, agent_id))

    def _note(self, agent_id: str, woken: Woken) -> None:
        backoff = self._backoffs.setdefault(agent_id, Backoff())
        backoff.tries = backoff.tries + 1 if woken in (Woken.PRESSED, backoff.last) else 1
        if backoff.last != woken:
            self._fleet.journal.tell(agent_id, "Wake", result=woken.value)
        backoff.last = woken
        settled = woken in (Woken.DELIVERED, Woken.REFUSED)
        quick = settled or woken == Woken.BUSY or backoff.tries <= QUICK_TRIES
        pause = QUICK_SECONDS if quick else self._fleet.settings.number("messages.wake_retry_seconds")
        if woken in HINDRANCES:
            pause = min(pause, IDLE_SECONDS)  # a look costs little, and whoever waits for it is glad
        backoff.due = self._fleet.clock.monotonic() + (0.0 if settled else pause)

    def _unanswered(self, sight: Sight, message: messages.Message) -> None:
        """An offered message without an answer: settle it from the log, or find out that its prompt was cancelled."""
        fleet, agent = self._fleet, sight.agent
        path = next((e["transcript_path"] for e in sight.facts.events if e.get("transcript_path")), None)
        with Held(fleet.layout, agent.id) as held:
            if held.data is not None:
                delivery.settle(fleet.layout, held.data, "", None, fleet.clock.wall(), path)
                held.set({"inbox_pending": messages.any_undelivered(fleet.layout, agent.id)})
            unsaid = self._take_back(agent, path or agent.transcript_path)
        if unsaid and not sight.facts.hold:  # whatever that hook reported, the screen says whether the turn goes on
            self._note(agent.id, self._wake(sight))
            return
        backoff = self._backoffs.setdefault(agent.id, Backoff())
        if backoff.last is None and backoff.tries == 0:
            backoff.due = fleet.clock.monotonic() + UNANSWERED_SECONDS
            backoff.tries = 1
            return
        if message.offer.get("via") == "prompt" and sight.state.turn in (Turn.WORKING, Turn.IDLE):
            self._note(agent.id, self._wake(sight, only_enter=True))

    def _take_back(self, agent: Agent, path: str | None) -> int:
        """
        Make messages new again that a hook was about to hand over when it died: none of their words came.

        An engine waits HOOK_SECONDS for a hook; what is not in its log by then will not come any more. That time
        is this drain's own: a wall clock that jumps must not lead to a second delivery. The caller holds the record
        lock.
        """
        fleet, count = self._fleet, 0
        now, seen = fleet.clock.monotonic(), self._offers.setdefault(agent.id, {})
        if agent.engine not in transcript.READERS or path is None or not os.path.exists(path):
            return 0
        for message in messages.pending(fleet.layout, agent.id):
            offer = (message.id, message.offer.get("at"), message.offer.get("turn_id"))
            if message.state != MessageState.OFFERED or now - seen.setdefault(offer, now) < HOOK_SECONDS:
                continue
            marks = delivery.marks(message)
            since = delivery.said_since(message.offer, agent.engine, path)
            if not any(mark in said.text for said in since for mark in marks):
                messages.move(message, MessageState.NEW, offer=None)
                count += 1
        return count

    def _keyboard(self, sight: Sight) -> Keyboard:
        assert sight.pane is not None
        fleet = self._fleet
        path = fleet.layout.keyboard_lock(f"{sight.pane.server_pid}-{sight.pane.pane_id.lstrip('%')}")
        return Keyboard(fleet.panes_on(sight.agent.socket or fleet.socket), sight.pane.pane_id, path, fleet.clock)

    def _wake(self, sight: Sight, *, only_enter: bool = False) -> Woken:
        """Look, paste, look, Enter; only Enter when our line stands there already."""
        program = engine(sight.agent.engine)
        try:
            with self._keyboard(sight) as keyboard:
                first = program.composer(keyboard.look())
                if first.working:
                    return Woken.BUSY
                if not is_wake_line(first):
                    if first.box == Box.UNKNOWN and keyboard.make_room():
                        return Woken.BUSY  # it draws itself anew
                    if first.box != Box.EMPTY or only_enter or self._on_its_way(sight):
                        return _hindrance(first)
                    keyboard.paste(WAKE_LINE)
                    second = self._appeared(sight, keyboard)
                    if not is_wake_line(second):
                        return _hindrance(second)
                keyboard.enter()
                return Woken.PRESSED
        except FleetError as e:
            self._fleet.journal.tell(sight.agent.id, "WakeFailed", error=str(e))
            return Woken.UNCLEAR

    def _on_its_way(self, sight: Sight) -> bool:
        """Whether a line that was pasted may yet come up."""
        at = self._backoffs.setdefault(sight.agent.id, Backoff()).pasted_at
        return at is not None and self._fleet.clock.monotonic() - at < LOST_PASTE_SECONDS

    def _appeared(self, sight: Sight, keyboard: Keyboard) -> Composer:
        """The composer once it shows something, at the earliest after the gap that Enter needs."""
        backoff, clock = self._backoffs.setdefault(sight.agent.id, Backoff()), self._fleet.clock
        backoff.pasted_at = clock.monotonic()
        keyboard.pause(self._gap(sight))
        while True:
            seen = engine(sight.agent.engine).composer(keyboard.look())
            half = seen.box == Box.TEXT and not is_wake_line(seen) and WAKE_LINE.startswith(seen.text)
            if seen.box in (Box.TEXT, Box.DIALOG) and not half:
                backoff.pasted_at = None
                return seen
            if clock.monotonic() - backoff.pasted_at >= APPEAR_SECONDS:
                return seen
            keyboard.pause(LOOK_SECONDS)

    def _gap(self, sight: Sight) -> float:
        options = self._fleet.settings.engine(sight.agent.engine)
        return float(options.get("enter_gap_seconds", 0.2))

    def _shown(self, sight: Sight, keyboard: Keyboard, text: str) -> bool:
        """Whether a pasted text comes up on the screen."""
        end = self._fleet.clock.monotonic() + APPEAR_SECONDS
        keyboard.pause(self._gap(sight))
        while not shows(keyboard.look(), text):
            if self._fleet.clock.monotonic() >= end:
                return False
            keyboard.pause(LOOK_SECONDS)
        return True

    def _type(self, sight: Sight, message: messages.Message) -> Woken:
        """
        The text itself, into an engine that does not report, as somebody could have typed it.

        Control characters are made visible, and a newline at its end is not typed: Enter follows.
        """
        fleet, agent, note = self._fleet, sight.agent, None
        if message.state != MessageState.NEW:
            return Woken.UNCONFIRMED
        text = visible(operator_message(message.body)).rstrip("\n")
        try:
            with self._keyboard(sight) as keyboard:
                screen, terminal = keyboard.look(), keyboard.terminal()
                before = engine(agent.engine).composer(screen)
                if before.box != Box.EMPTY:
                    return _hindrance(before)
                if terminal.hides:
                    return Woken.HIDDEN
                if self._unseen.pop(agent.id, None) == screen:
                    self._unseen[agent.id] = screen
                    return Woken.DRAFT  # our own: what was pasted may stand in its input, and would begin this one
                note = _too_long(text, terminal)
                if note is not None:
                    self._file(agent.id, message, MessageState.RETURNED, note)
                    return Woken.REFUSED
                with Held(fleet.layout, agent.id):
                    message = messages.move(message, MessageState.OFFERED, offer={"via": "keys"})
                note = _torn(text, keyboard)
                keyboard.paste(text)
                pasted = self._shown(sight, keyboard, text)
                if pasted:
                    keyboard.enter()
                else:
                    self._unseen[agent.id] = screen
                    note = note or UNSEEN
                keyboard.pause(self._gap(sight))
                taken = pasted and note is None and engine(agent.engine).composer(keyboard.look()).box == Box.EMPTY
        except FleetError as e:
            fleet.journal.tell(agent.id, "WakeFailed", error=str(e))
            taken = False
        state = MessageState.DELIVERED if taken else MessageState.UNCONFIRMED
        if message.state == MessageState.OFFERED:
            self._file(agent.id, message, state, note)
        return Woken.DELIVERED if taken else Woken.UNCONFIRMED

    def _file(self, agent_id: str, message: messages.Message, state: MessageState, note: str | None) -> None:
        """File away what was typed, or will not be."""
        layout = self._fleet.layout
        with Held(layout, agent_id) as held:
            messages.archive(layout, agent_id, message, state, self._fleet.clock.wall(), "keys", note)
            if held.data is not None:
                held.set({"inbox_pending": messages.any_undelivered(layout, agent_id)})


def is_wake_line(composer: Composer) -> bool:
    """Whether the composer holds exactly our line, however it is wrapped."""
    return composer.box == Box.TEXT and "".join(composer.text.split()) == "".join(WAKE_LINE.split())


def shows(screen: list[str], text: str) -> bool:
    """Whether the end of *text* stands on the screen, however it is wrapped."""
    seen = "".join("".join(plain(row).split()) for row in cells(screen))
    return "".join(text.split())[-40:] in seen


def _too_long(text: str, terminal: Terminal) -> str | None:
    """What to say of a text of which the program would get a part only."""
    limit = terminal.line_bytes
    longest = max(len(line.encode("utf-8", "surrogateescape")) for line in text.split("\n"))
    if limit is None or longest <= limit:
        return None
    return f"not typed: its program gets {limit:,} bytes of a line, the longest has {longest:,}; name a file instead"


def _torn(text: str, keyboard: Keyboard) -> str | None:
    """What to say of a text that arrives as several inputs, or may: its first line then says nothing of the others."""
    lines, bracketed = text.count("\n") + 1, keyboard.bracketed()
    if lines == 1 or bracketed:
        return None
    if bracketed is None:
        return f"it has {lines} lines, and this tmux does not tell whether the program took them as one input"
    return f"the paste went in without brackets: each of its {lines} lines was an input of its own"


def _hindrance(composer: Composer) -> Woken:
    match composer.box:
        case Box.TEXT:
            return Woken.DRAFT
        case Box.DIALOG:
            return Woken.DIALOG
        case _:
            return Woken.UNCLEAR
