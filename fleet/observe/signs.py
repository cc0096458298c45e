"""Gathering the signs of life of agents, and having them judged.

What is cheap is looked at first (event lines, the log's time, the scanner's file). Git, the process table's second
look and the tool results are only asked where something hangs on them. An engine's own CPU time is no sign: Claude
Code 2.1.197 takes a tenth of a core for its spinner while it waits for an answer that never comes. What it runs is
one.
"""

from __future__ import annotations

import os

from fleet.errors import FleetError, Unreachable, UsageError
from fleet.formats import jsontext, transcript
from fleet.formats.states import Existence, Turn
from fleet.formats.texts import MILESTONE
from fleet.formats.times import parse
from fleet.formats.tuples import NamedTuple
from fleet.git.freshness import below, last_commit, last_write
from fleet.git.repository import discover
from fleet.git.runner import Git
from fleet.model.liveness import NEVER, Liveness, Reading, Sign, Verdict, before_its_end, liveness, unmeasured
from fleet.model.watchdog import Call, failures
from fleet.process.table import arguments_of
from fleet.store import screens
from fleet.store.watch import Cpu

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from fleet.formats.layout import Layout
    from fleet.model.agent import Agent
    from fleet.model.screen import Screen
    from fleet.observe.facts import Looker, Sight
    from fleet.process.table import ProcessTable

CPU_SECONDS = 1.0  #: between two looks at the process table when there was no earlier one
BUSY_SHARE = 0.05  #: of one core, by what the engine has started
SCREEN_SECONDS = 30.0  #: an older look of the scanner is none: what moved since then it has not seen
SCANS = "`fleet drain --detach` does"
CALLS_BYTES = 1024 * 1024
CALL_CHARACTERS = 200


class Observation(NamedTuple):
    """One agent with what tells whether it gets anywhere."""

    sight: Sight
    readings: Mapping[Sign, Reading]
    liveness: Liveness
    failures: int = 0
    command: str = ""
    progress_at: float | None = None
    cpu: Cpu | None = None  #: to be remembered for the next look

    @property
    def blind(self) -> bool:
        """Whether tmux or the process table could not be asked about it."""
        facts = self.sight.facts
        return facts.pane == Existence.UNKNOWN or (facts.running is None and self.sight.agent.pid is not None)


def _again(table: ProcessTable, pid: int) -> list[int]:
    """Children that are the engine itself: Gemini CLI 0.61.0 starts itself again, its interpreter with other flags."""
    words = arguments_of(pid)[1:]
    children = [process.pid for process in table.by_pid.values() if process.ppid == pid]
    return [child for child in children if words and arguments_of(child)[-len(words) :] == words]


class Gatherer:
    """Gathers for one home. *looker* makes a new look at this host."""

    def __init__(
        self,
        layout: Layout,
        environ: Mapping[str, str],
        looker: Callable[[], Looker],
        wall: Callable[[], float],
        sleep: Callable[[float], None],
    ) -> None:
        self._layout = layout
        self._environ = environ
        self._looker = looker
        self._wall = wall
        self._sleep = sleep
        self._tops: dict[str, str | FleetError | None] = {}

    def gather(
        self,
        agents: Sequence[Agent],
        *,
        stale_seconds: float,
        everybody: Iterable[Agent] = (),
        before: Mapping[str, Cpu] | None = None,
        full: bool = False,
    ) -> list[Observation]:
        """
        Look at *agents* and judge them.

        Args:
            everybody: all living agents, among them those who may share a working tree with one of *agents*.
            before: the CPU times of the last look, by agent.
            full: measure every sign, also where nothing hangs on it.
        """
        look, now = self._looker(), self._wall()
        scanned = screens.read(self._layout)
        sights = [look.see(agent) for agent in agents]
        cheap = {s.agent.id: self._cheap(s, scanned.get(s.agent.id), now) for s in sights}
        asked = [s for s in sights if full or self._hangs_on_more(s, cheap[s.agent.id], now, stale_seconds)]
        needy = [s for s in asked if not (before or {}).get(s.agent.id)]
        earlier = dict(before or {})
        if needy:
            earlier |= {s.agent.id: one for s in needy if (one := self._cpu_now(s.agent, look, now)) is not None}
            self._sleep(CPU_SECONDS)
            look, now = self._looker(), self._wall()
        found = []
        for sight in sights:
            agent, readings, cpu = sight.agent, dict(cheap[sight.agent.id]), None
            others = [o for o in everybody if o.id != agent.id and o.dispatch_id != agent.dispatch_id]
            if sight in asked:
                readings |= self._tree(agent, others, now)
            readings[Sign.CPU], cpu = self._cpu(agent, look, earlier.get(agent.id), now)
            found.append(self._judged(sight, readings, cpu, now, stale_seconds))
        return found

    def _judged(
        self, sight: Sight, readings: dict[Sign, Reading], cpu: Cpu | None, now: float, stale_seconds: float
    ) -> Observation:
        ended = sight.state.turn in (Turn.EXITED, Turn.GONE)
        verdict = liveness(
            sight.state, readings, now=now, stale_seconds=stale_seconds, held=sight.facts.held,
            before=before_its_end(sight.facts, Existence.ALIVE) if ended else None, reports=sight.facts.reports,
        )  # fmt: skip
        count, command = 0, ""
        if verdict.verdict == Verdict.FRESH:
            count, command = failures(calls(sight), since=now - stale_seconds)
        commit = readings.get(Sign.COMMIT, NEVER)
        progress = [at for at in (_end_of_turn(sight), readings[Sign.MILESTONE].at) if at is not None]
        if commit.counts and commit.at is not None:
            progress.append(commit.at)
        return Observation(sight, readings, verdict, count, command, max(progress, default=None), cpu)

    @staticmethod
    def _hangs_on_more(sight: Sight, readings: Mapping[Sign, Reading], now: float, stale_seconds: float) -> bool:
        """Whether the cheap signs of an agent leave it open whether it gets anywhere."""
        verdict = liveness(
            sight.state, readings, now=now, stale_seconds=stale_seconds, held=sight.facts.held,
            reports=sight.facts.reports, before=None,
        ).verdict  # fmt: skip
        return verdict in (Verdict.UNKNOWN, Verdict.STALLED) and sight.state.turn not in (Turn.EXITED, Turn.GONE)

    def _cheap(self, sight: Sight, screen: Screen | None, now: float) -> dict[Sign, Reading]:
        agent = sight.agent
        hook = next((parse(e.get("ts")) for e in sight.facts.events if e.get("source") == "hook"), None)
        marked = [at for e in sight.facts.events if (at := _milestone(e)) is not None]
        if screen is not None and (screen.pane_id, screen.server_pid) != (agent.pane_id, agent.server_pid):
            screen = None
        if screen is not None and screen.milestone_at is not None:
            marked.append(screen.milestone_at)
        return {
            Sign.LAUNCH: Reading(parse(agent.spawned_at)),
            Sign.HOOK: Reading(hook) if sight.facts.reports else Reading(note="its engine does not report"),
            Sign.TRANSCRIPT: _transcript(sight),
            Sign.MILESTONE: Reading(max(marked, default=None)),
            Sign.SCREEN: _screen(screen, now),
        }

    # the working tree

    def _tree(self, agent: Agent, others: Iterable[Agent], now: float) -> dict[Sign, Reading]:
        top = self._top(agent.cwd)
        if isinstance(top, FleetError):
            return dict.fromkeys((Sign.COMMIT, Sign.FILES), unmeasured(str(top)))
        folder = top or agent.cwd
        mate = next((o.id for o in others if self._place(o.cwd) == os.path.realpath(folder)), None)
        try:
            commit, files = self._read_tree(top, agent.cwd, now)
        except FleetError as e:
            commit = files = unmeasured(str(e))
        if mate is None:
            return {Sign.COMMIT: commit, Sign.FILES: files}
        note = f"agent {mate} works there too"
        return {
            Sign.COMMIT: commit._replace(counts=False, note=note),
            Sign.FILES: files._replace(counts=False, note=note),
        }

    def _read_tree(self, top: str | None, cwd: str, now: float) -> tuple[Reading, Reading]:
        if top is None:
            if not os.path.isdir(cwd):
                gone = unmeasured(f"its folder {cwd} is gone")
                return gone, gone
            commit, newest = Reading(note="no repository"), below(cwd, now)
        else:
            git = Git(top, self._environ)
            commit, newest = Reading(last_commit(git)), last_write(git, now)
        if newest.floored:
            return commit, unmeasured("more files than are looked at", newest.at, floored=True)
        return commit, Reading(newest.at)

    def _top(self, cwd: str) -> str | FleetError | None:
        """The work tree that *cwd* lies in; None for no repository, or why that could not be found out."""
        if cwd not in self._tops:
            try:
                self._tops[cwd] = discover(cwd, self._environ).top
            except UsageError:
                self._tops[cwd] = None
            except FleetError as e:
                self._tops[cwd] = e if os.path.isdir(cwd) else None
        return self._tops[cwd]

    def _place(self, cwd: str) -> str:
        top = self._top(cwd)
        return os.path.realpath(top if isinstance(top, str) else cwd)

    # processes

    def _cpu_now(self, agent: Agent, look: Looker, now: float) -> Cpu | None:
        """How much what the engine has started has computed so far; None: could not look."""
        try:
            table = look.table()
        except Unreachable:
            return None
        if agent.pid is None:
            return None
        leaders = [p.pid for p in table.session(agent.pid, agent.pid_start)]
        itself = {agent.pid, *_again(table, agent.pid)}
        started = [p for p in table.tree(leaders) if p.pid not in itself]
        return Cpu(agent.pid_start or "", sum(p.cpu_seconds for p in started), now)

    def _cpu(self, agent: Agent, look: Looker, before: Cpu | None, now: float) -> tuple[Reading, Cpu | None]:
        cpu = self._cpu_now(agent, look, now)
        if cpu is None:
            return unmeasured("its processes could not be looked at"), None
        if before is None or before.pid_start != cpu.pid_start or not before.at < now:
            return unmeasured("it was looked at only once"), cpu
        # What had computed and is gone has ended since then, which is a sign as well.
        used = cpu.seconds - before.seconds
        busy = used < 0 or used / (now - before.at) >= BUSY_SHARE
        cpu = cpu._replace(busy_at=now if busy else before.busy_at)
        return Reading(cpu.busy_at), cpu


def _transcript(sight: Sight) -> Reading:
    agent = sight.agent
    path = next((e["transcript_path"] for e in sight.facts.events if e.get("transcript_path")), agent.transcript_path)
    if agent.engine not in transcript.READERS or not isinstance(path, str) or not path:
        return Reading(note="it has no log")
    newest = None
    try:
        newest = os.stat(path).st_mtime
        folder = os.path.join(path.removesuffix(".jsonl"), "subagents")  # Claude Code 2.1.197: a file for each
        for entry in os.scandir(folder):
            newest = max(newest, entry.stat().st_mtime)
    except FileNotFoundError:
        pass
    except OSError as e:
        return unmeasured(f"its log cannot be read: {e.strerror}")
    return Reading(newest)


def _screen(screen: Screen | None, now: float) -> Reading:
    if screen is None:
        return unmeasured(f"its screen is not scanned ({SCANS})")
    if now - screen.looked_at > SCREEN_SECONDS:
        return unmeasured(f"its screen is no longer scanned ({SCANS})", screen.changed_at)
    return Reading(screen.changed_at, until=screen.looked_at)


def _milestone(event: Mapping[str, object]) -> float | None:
    if event.get("source") != "hook" or event.get("event") != "Stop":
        return None
    lines = str(event.get("tail", "")).splitlines()
    return parse(event.get("ts")) if any(line.strip() == MILESTONE for line in lines) else None


def _end_of_turn(sight: Sight) -> float | None:
    """When a turn of the agent ended last, other than by a failure or by a person."""
    stop = next((e for e in sight.facts.events if e.get("source") == "hook" and e.get("event") == "Stop"), None)
    return None if stop is None else parse(stop.get("ts"))


def calls(sight: Sight) -> Iterator[Call]:
    """The tool calls in an agent's log whose end is known, newest first."""
    agent = sight.agent
    path = next((e["transcript_path"] for e in sight.facts.events if e.get("transcript_path")), agent.transcript_path)
    ends: dict[str, tuple[bool, float | None]] = {}
    for said in transcript.backwards(agent.engine, path, CALLS_BYTES):
        if said.call_id is None:
            continue
        if said.kind == "result" and said.failed is not None:
            ends[said.call_id] = (said.failed, parse(said.at))
        elif said.kind == "tool" and said.call_id in ends:
            failed, at = ends.pop(said.call_id)
            yield Call(_command(said.text), failed, at)


def _command(text: str) -> str:
    """What tells one call from another: the command of a shell, else all of the input."""
    name, _, rest = text.partition(" ")
    try:
        data = jsontext.loads(rest)
    except (ValueError, RecursionError):
        return text
    command = data.get("command", data.get("cmd")) if isinstance(data, dict) else None
    if isinstance(command, list):
        command = " ".join(map(str, command))
    return command if isinstance(command, str) else f"{name} {rest}"
