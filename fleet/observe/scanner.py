"""The pane scanner: what the screens of all agents show, in one or two calls a tmux server.

A tick asks each server for one short line a pane, and captures only the panes that moved since they were last looked
at. tmux tells when a window last had output in whole seconds (3.3a, 3.5a, 3.8 alike), so a pane is looked at again
until that second is over. Codex (0.171.0) shows no sign of work while it streams an answer but in the pane's title, so
the title counts as part of the screen.

A look that failed leaves what was seen before, with the time of that look; it never makes anything "gone". A pane
that the server no longer has loses its entry, and what that means is not judged here.
"""

from __future__ import annotations

import re
from typing import Protocol

from fleet.engines.catalog import engine
from fleet.engines.screen import Box
from fleet.errors import Unreachable
from fleet.formats.states import Reason, Turn
from fleet.formats.tuples import NamedTuple
from fleet.model.screen import Screen
from fleet.tmux.batch import NoServer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from fleet.clock import Clock
    from fleet.engines.rules import Reading, Rules
    from fleet.model.agent import Agent
    from fleet.tmux.batch import Reply

FORMAT = "#{pane_id}|#{window_activity}|#{pane_dead}|#{pane_width}x#{pane_height}|#{pane_title}"
LIST = f"list-panes -a -F '{FORMAT}'"
_PANE = re.compile(r"%\d+")


class Client(Protocol):
    """What the scanner asks of `tmux.batch.Batch`."""

    server_pid: int

    def ask(self, *questions: str) -> list[Reply]:
        """One reply a question, in order. Raises NoServer or Unreachable."""


class Tick(NamedTuple):
    """What one tick did."""

    panes: int = 0  #: of agents, listed
    captured: int = 0
    changed: frozenset[str] = frozenset()  #: the agents whose screen tells something else than before
    errors: tuple[str, ...] = ()  #: servers that could not be asked, and why


class _Seen(NamedTuple):
    """What is remembered of an agent's pane between two ticks."""

    stamp: str  #: activity, size and title as listed
    captured_at: float
    text: str
    engine: str


class Scanner:
    """Keeps `screens` true. One tick at a time; not for several threads."""

    def __init__(
        self,
        clock: Clock,
        client_on: Callable[[str], Client],
        rules_of: Callable[[str], Rules],
        socket: Callable[[], str],
        version_of: Callable[[Agent], str | None],
    ) -> None:
        self.screens: dict[str, Screen] = {}
        self._clock = clock
        self._client_on = client_on
        self._rules_of = rules_of
        self._socket = socket
        self._version_of = version_of
        self._clients: dict[str, Client] = {}
        self._rules: dict[str, Rules] = {}
        self._seen: dict[str, _Seen] = {}
        self._left: dict[str, Screen] = {}
        self._blind: set[str] = set()  #: servers that did not answer at the last look

    def resume(self, left: Mapping[str, Screen]) -> None:
        """Go on from what another scanner saw last: a screen that shows the same still did not change meanwhile."""
        self._left = dict(left)

    def note_digests(self, still_seconds: float = 0.0) -> None:
        """
        Make the screens ready for `resume`. Apart from the tick, of which it would be a large part.

        Args:
            still_seconds: leave out what changed more lately; a scanner that goes on from here takes it as changed.
        """
        for agent_id, screen in self.screens.items():
            seen = self._seen.get(agent_id)
            is_still = screen.changed_at is None or screen.looked_at - screen.changed_at >= still_seconds
            if not screen.steady and seen is not None and is_still:
                self.screens[agent_id] = screen._replace(steady=self._rules_for(seen.engine).digest(seen.text))

    def tick(self, agents: Iterable[Agent]) -> Tick:
        """Look at the panes of *agents*."""
        by_socket: dict[str, list[Agent]] = {}
        known = set()
        for agent in agents:
            known.add(agent.id)
            if agent.pane_id and _PANE.fullmatch(agent.pane_id):
                by_socket.setdefault(agent.socket or self._socket(), []).append(agent)
        self._forget(set(self.screens) - known)
        whole = Tick()
        for socket, there in by_socket.items():
            try:
                one = self._server(socket, there)
            except NoServer:
                self._forget({agent.id for agent in there})
                self._blind.discard(socket)
                continue
            except Unreachable as e:
                one = Tick(errors=(f"{socket}: {e}",))
                self._blind.add(socket)
            else:
                self._seen_again(socket, there)
            whole = Tick(
                whole.panes + one.panes, whole.captured + one.captured, whole.changed | one.changed,
                whole.errors + one.errors,
            )  # fmt: skip
        return whole

    def _seen_again(self, socket: str, agents: Iterable[Agent]) -> None:
        """
        Take the screens of a server that answers again as changed now.

        What went on while it could not be asked is not known, and a server that was frozen shows at first what it
        showed before: nobody is to look still by that.
        """
        if socket in self._blind:
            self._blind.discard(socket)
            wall = self._clock.wall()
            for agent in agents:
                if agent.id in self.screens:
                    self.screens[agent.id] = self.screens[agent.id]._replace(changed_at=wall)

    def _forget(self, agent_ids: set[str]) -> None:
        for agent_id in agent_ids:
            self.screens.pop(agent_id, None)
            self._seen.pop(agent_id, None)

    def _server(self, socket: str, agents: Sequence[Agent]) -> Tick:
        if socket not in self._clients:
            self._clients[socket] = self._client_on(socket)
        client = self._clients[socket]
        wall = self._clock.wall()
        (listed,) = client.ask(LIST)
        if not listed.ok:
            raise Unreachable(f"tmux list-panes: {listed.text.strip()}")
        panes = {line.partition("|")[0]: line.partition("|")[2] for line in listed.text.split("\n")}
        moved: list[tuple[Agent, str]] = []
        count = 0
        for agent in agents:
            stamp = panes.get(str(agent.pane_id), "")
            if not stamp or agent.server_pid not in (None, client.server_pid):
                self._forget({agent.id})
                continue
            count += 1
            activity, dead, _ = stamp.split("|", 2)
            before = self._seen.get(agent.id)
            if dead == "1":
                self._forget({agent.id})
            elif before is None or before.stamp != stamp or _second(activity) >= int(before.captured_at):
                moved.append((agent, stamp))
            else:
                self.screens[agent.id] = self.screens[agent.id]._replace(looked_at=wall)
        changed = set()
        replies = client.ask(*[f"capture-pane -p -t {agent.pane_id}" for agent, _ in moved])
        for (agent, stamp), reply in zip(moved, replies, strict=True):
            if reply.ok and self._take(client, agent, stamp, reply.text, wall):
                changed.add(agent.id)
        return Tick(count, len(moved), frozenset(changed))

    def _take(self, client: Client, agent: Agent, stamp: str, text: str, wall: float) -> bool:
        """Take in what a pane shows; whether that tells something new."""
        before, seen = self.screens.get(agent.id), self._seen.get(agent.id)
        if before is not None and seen is not None and seen.text == text and seen.stamp == stamp:
            self._seen[agent.id] = seen._replace(captured_at=wall)
            self.screens[agent.id] = before._replace(looked_at=wall)
            return False
        rules = self._rules_for(agent.engine)
        reading = rules.read(text, title=stamp.split("|", 3)[3], version=self._version_of(agent))
        if reading.turn == Turn.IDLE and reading.typed:
            reading = self._typed(client, agent, reading)
        first = before is None
        if before is None:
            before = self._taken_up(client, agent, rules, text)
            same = before is not None
        else:
            same = seen is not None and rules.is_same(seen.text, text)
        milestone = rules.has_milestone(text)
        new = Screen(
            looked_at=wall,
            changed_at=before.changed_at if before is not None and same else wall,
            since=wall
            if before is None or (before.rule, before.reason) != (reading.rule, _text(reading.reason))
            else before.since,
            quiet_since=_quiet_since(before, reading, wall),
            rule=reading.rule,
            turn=_text(reading.turn),
            reason=_text(reading.reason),
            evidence=reading.evidence,
            question=reading.question,
            options=reading.options,
            detail=reading.detail,
            typed=reading.typed,
            background=reading.background,
            milestone_at=_came_up(before, milestone, wall),
            milestone=milestone,
            pane_id=str(agent.pane_id),
            server_pid=client.server_pid,
            steady=before.steady if before is not None and same else "",
        )
        self._seen[agent.id] = _Seen(stamp, wall, text, agent.engine)
        self.screens[agent.id] = new
        return first or before is None or _telling(before) != _telling(new)

    def _taken_up(self, client: Client, agent: Agent, rules: Rules, text: str) -> Screen | None:
        """What a scanner before this one saw in that pane, when it shows the same."""
        left = self._left.pop(agent.id, None)
        if left is None or (left.pane_id, left.server_pid) != (agent.pane_id, client.server_pid):
            return None
        return left if left.steady and left.steady == rules.digest(text) else None

    def _typed(self, client: Client, agent: Agent, reading: Reading) -> Reading:
        """Whether what stands in a composer was typed or is a placeholder: only a styled capture tells."""
        (reply,) = client.ask(f"capture-pane -p -e -t {agent.pane_id}")
        if not reply.ok:
            return reading
        composer = engine(agent.engine).composer(reply.text.split("\n"))
        if composer.box != Box.TEXT:
            return reading._replace(typed="")
        first = composer.text.splitlines()[0]
        return reading._replace(turn=Turn.WAITING, reason=Reason.DRAFT, typed=composer.text, evidence=first)

    def _rules_for(self, name: str) -> Rules:
        if name not in self._rules:
            self._rules[name] = self._rules_of(name)
        return self._rules[name]


def _came_up(before: Screen | None, milestone: bool, wall: float) -> float | None:  # noqa: FBT001  # a fact
    """When the marker that stands there came up; the last one's time when none does."""
    if milestone and not (before is not None and before.milestone):
        return wall
    return before.milestone_at if before is not None else None


def _quiet_since(before: Screen | None, reading: Reading, wall: float) -> float | None:
    if reading.turn not in (Turn.IDLE, Turn.WAITING):
        return None
    return before.quiet_since if before is not None and before.quiet_since is not None else wall


def _telling(screen: Screen) -> tuple[object, ...]:
    """What of a screen matters to a judgement."""
    return (screen.rule, screen.turn, screen.reason, screen.question, screen.options, screen.background, screen.typed,
            screen.milestone_at)  # fmt: skip


def _text(value: Turn | Reason | None) -> str | None:
    return None if value is None else str(value)


def _second(activity: str) -> int:
    return int(activity) if activity.isdigit() else 0
