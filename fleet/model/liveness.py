"""From the signs of life of an agent to whether it gets anywhere: one pure function, ages in, verdict out.

A sign is one of four: seen at some time, measured and never there (a repository without a commit, an engine that does
not report), not measured (git did not answer, a walk was cut short), or not to be told apart (another agent works in
the same tree, so a write there says nothing of this one). Any sign inside the window makes an agent fresh. A stall is
a measured negative: every sign that must be measured was, and none lies inside the window. A sign that was not
measured leaves it `unknown`, and one that was looked for a while ago is as old as it was then: since then nobody knows.
Age alone never makes an agent dead, and what waits for somebody is not stalled.
"""

from __future__ import annotations

from enum import StrEnum

from fleet.formats.states import Reason, Turn
from fleet.formats.tuples import NamedTuple
from fleet.model.judge import judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

    from fleet.formats.states import Existence
    from fleet.model.state import Facts, State

#: A stamp this far ahead of the clock was not made by something that happens now.
FUTURE_SECONDS = 60.0


class Sign(StrEnum):
    """What tells that an agent gets somewhere."""

    LAUNCH = "launch"  #: its start: nothing is stalled before a whole window has passed since then
    HOOK = "hook"  #: the engine reported something
    TRANSCRIPT = "transcript"  #: its log, or that of a subagent, grew
    MILESTONE = "milestone"  #: a MILESTONE line
    SCREEN = "screen"  #: its screen changed, spinners and counters left out
    CPU = "cpu"  #: what it runs computes
    COMMIT = "commit"  #: the newest commit of its working tree
    FILES = "files"  #: the newest write to a changed or new file there that git does not ignore


class Reading(NamedTuple):
    """One sign, looked at."""

    at: float | None = None  #: wall seconds; None: there was never one
    measured: bool = True
    note: str = ""  #: why it was not measured, or does not count
    floored: bool = False  #: the walk was cut short: it is at least as new as that
    counts: bool = True  #: False: it cannot be told whose it is
    until: float | None = None  #: it was looked for up to then, wall seconds; None: up to now

    def age(self, now: float) -> float:
        """Seconds since it was seen, as far as it was looked for; infinite when it never was."""
        until = now if self.until is None else min(now, self.until)
        return float("inf") if self.at is None else max(0.0, until - self.at)


NEVER = Reading()


def unmeasured(note: str, at: float | None = None, *, floored: bool = False) -> Reading:
    """A sign that could not be looked at, or not to its end."""
    return Reading(at, measured=False, note=note, floored=floored)


class Verdict(StrEnum):
    """Whether an agent gets anywhere."""

    FRESH = "fresh"  #: some sign lies inside the window
    FINISHED = "finished"  #: its turn is over, or its engine ended well: it waits for whatever comes next
    WAITING = "waiting"  #: nothing goes on until somebody acts
    NOT_STARTED = "not-started"  #: nothing of it has been seen yet, and its time to start is not over
    STALLED = "stalled"  #: measured: no sign inside the window
    DEAD = "dead"  #: its engine ended in the middle of its work, by itself
    GONE = "gone"  #: neither engine nor session is left: somebody or something took both away
    UNKNOWN = "unknown"  #: what would tell could not be measured


class Liveness(NamedTuple):
    """The judgement, and what it rests on."""

    verdict: Verdict
    why: str  #: in words
    waits_for: str | None = None  #: who must act, and about what
    age_seconds: float | None = None  #: of the newest sign that counts
    sign: Sign | None = None  #: that sign
    unmeasured: tuple[str, ...] = ()  #: the signs that were needed and not measured, each with the reason


#: For whom an agent waits.
_WAITS_FOR = {
    Reason.HANDOFF: "its successor",
    Reason.LIMIT: "the limit to be lifted",
    Reason.HOLD: "the hold to be lifted",
    Reason.DEAD_LETTER: "you (its handoff was given up)",
}
_STALLABLE = frozenset({Turn.STARTING, Turn.WORKING, Turn.COMPACTING, Turn.UNKNOWN})


def required(*, reports: bool) -> frozenset[Sign]:
    """The signs without which a stall of such an agent is not measured."""
    # Of an answer that streams, the screen alone tells until it is whole: hooks and log come after it.
    own = {Sign.HOOK, Sign.TRANSCRIPT} if reports else set()
    return frozenset({Sign.COMMIT, Sign.FILES, Sign.CPU, Sign.SCREEN} | own)


def before_its_end(facts: Facts, alive: Existence) -> State:
    """What an agent was doing when its engine ended."""
    return judge(facts._replace(pane=alive, pane_dead=False, running=True, queued=False, dead_letter=False))


def liveness(
    state: State,
    readings: Mapping[Sign, Reading],
    *,
    now: float,
    stale_seconds: float,
    before: State | None = None,
    reports: bool = True,
    held: bool = False,
) -> Liveness:
    """
    Whether the agent gets anywhere.

    Args:
        state: what it is doing.
        readings: its signs; one that is missing was not measured.
        now: wall seconds, as the readings.
        before: what it was doing when its engine ended, where that is so.
        reports: its engine has hooks.
        held: the gate has not let it start.
    """
    sign, age = _newest(readings, now)
    if state.turn == Turn.WAITING:
        return Liveness(Verdict.WAITING, state.evidence or str(state.reason), _waits_for(state), age, sign)
    if state.turn == Turn.IDLE:
        whom = f"its {state.background} background task{'s' * (state.background > 1)}" if state.background else "you"
        return Liveness(Verdict.FINISHED, state.evidence or "its turn is over", whom, age, sign)
    if state.turn == Turn.GONE:
        return Liveness(Verdict.GONE, state.evidence, "you", age, sign)
    if state.turn == Turn.EXITED:
        return _ended(state, before, age, sign)
    if state.turn not in _STALLABLE:
        return Liveness(Verdict.UNKNOWN, f"its state is {state.turn}", None, age, sign, (str(state.turn),))
    if held:
        return Liveness(Verdict.NOT_STARTED, "held at the gate", None, age, sign)
    if state.turn == Turn.UNKNOWN and state.source in ("pane", "process"):
        return Liveness(Verdict.UNKNOWN, state.evidence, None, age, sign, (f"{state.source}: {state.evidence}",))
    return _moving(state, readings, sign, age, stale_seconds, reports=reports)


def _moving(
    state: State,
    readings: Mapping[Sign, Reading],
    sign: Sign | None,
    age: float | None,
    stale_seconds: float,
    *,
    reports: bool,
) -> Liveness:
    """The verdict on an agent that should get somewhere."""
    if age is not None and age <= stale_seconds:
        if sign == Sign.LAUNCH:
            verdict = Verdict.NOT_STARTED if state.turn == Turn.STARTING else Verdict.FRESH
            return Liveness(verdict, f"started {words(age)} ago", None, age, sign)
        return Liveness(Verdict.FRESH, f"{sign} {words(age)} ago", None, age, sign)
    missing = []
    for one in sorted(required(reports=reports)):
        reading = readings.get(one, unmeasured("nobody looked"))
        if reading.counts and not reading.measured:
            missing.append(f"{one}: {reading.note}")
    if missing:
        return Liveness(Verdict.UNKNOWN, "not measured: " + "; ".join(missing), None, age, sign, tuple(missing))
    newest = "no sign at all" if age is None else f"the newest sign is {sign}, {words(age)} ago"
    return Liveness(Verdict.STALLED, newest, None, age, sign)


def _ended(state: State, before: State | None, age: float | None, sign: Sign | None) -> Liveness:
    """An engine that ended and whose pane was kept: well, or in the middle of something."""
    well = state.exit_status == 0 and state.exit_signal is None
    was = before.turn if before is not None else Turn.UNKNOWN
    if was == Turn.IDLE or (well and was in (Turn.UNKNOWN, Turn.STARTING)):
        return Liveness(Verdict.FINISHED, state.evidence, "you", age, sign)
    if state.exit_status is None and state.exit_signal is None:
        return Liveness(Verdict.UNKNOWN, "how it ended is not told yet", None, age, sign, ("pane: its exit status",))
    return Liveness(Verdict.DEAD, f"{state.evidence} while it was {was}", None, age, sign)


def _waits_for(state: State) -> str:
    if state.reason in _WAITS_FOR:
        return _WAITS_FOR[state.reason]
    return f"you ({state.reason})" if state.reason else "you"


def _newest(readings: Mapping[Sign, Reading], now: float) -> tuple[Sign | None, float | None]:
    """The newest sign that counts, and its age; a stamp from the future counts as none."""
    found = [
        (reading.age(now), sign) for sign, reading in readings.items()
        if reading.counts and reading.at is not None and reading.at <= now + FUTURE_SECONDS
    ]  # fmt: skip
    if not found:
        return None, None
    age, sign = min(found, key=lambda pair: (pair[0], pair[1] == Sign.LAUNCH))
    return sign, age


def words(seconds: float) -> str:
    """`45s`, `21m`, `3h 5m`."""
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    minutes = whole // 60
    return f"{minutes}m" if minutes < 120 else f"{minutes // 60}h {minutes % 60}m"
