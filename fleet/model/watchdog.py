"""The watchdog's judgement: from what is known of every dispatch, and what was done about it, to what is done next.

The ladder of one dispatch, with the defaults: resume, resume, respawn, resume, resume, orphan, a whole window after
each. A dispatch keeps its place on it through all its agents. A commit, a milestone or a finished turn after an
action takes it back to the first rung. An engine that died in the middle of its work cannot be resumed: it starts at
respawn. One whose session is gone as well was taken away by somebody, or with its server: the operator is told and
nothing is started. So it is with an engine that does not report: nobody knows whether it should be doing anything.

Nothing is done before a whole window was watched: when the wall clock and the monotonic one have parted (the machine
slept, the clock was set), the machine was started anew, or an agent could not be looked at for a while, old stamps
look older than they are, and the window starts over.

An action is first an intent in the memory, with a number of its own, then an act that can be repeated under that
number, then a rung. What a kill leaves between them is finished under the same number, or dropped when it is no
longer called for.
"""

from __future__ import annotations

import math
from enum import StrEnum

from fleet.formats.tuples import NamedTuple
from fleet.model.liveness import Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence

    from fleet.model.liveness import Liveness

SAMPLES_KEPT = 50
SAMPLES_NEEDED = 5
PERCENTILE = 0.9
FACTOR = 1.5
LEAST_MINUTES, MOST_MINUTES = 10, 60
DRIFT_SECONDS = 60.0  #: between what the wall clock and the monotonic one say has passed
GONE_SECONDS = 60.0  #: a server that ends takes its agents one by one: so long they must have been gone
FEW_DEAD = 3  #: fewer dead at once are no sign that something took the fleet down


class Action(StrEnum):
    """What is done about a dispatch."""

    RESUME = "resume"  #: its agent gets a message
    RESPAWN = "respawn"  #: its agent is replaced by the next generation
    ORPHAN = "orphan"  #: the operator is told, and nothing more is done


class Trouble(StrEnum):
    """Why."""

    STALLED = "stalled"
    SPINNING = "spinning"  #: it works, and the same command keeps failing
    DEAD = "dead"
    GONE = "gone"


_ENDED = frozenset({Verdict.DEAD, Verdict.GONE})
_TROUBLE = {Verdict.STALLED: Trouble.STALLED, Verdict.DEAD: Trouble.DEAD, Verdict.GONE: Trouble.GONE}


class Rules(NamedTuple):
    """The settings in force."""

    window_seconds: float  #: learned or configured
    resumes: int = 2  #: before a respawn
    respawns: int = 1  #: before it is orphaned
    spin_failures: int = 5
    max_actions: int = 5  #: resumes and respawns of the whole fleet in one window
    act: bool = True  #: False: only say what would be done


class Look(NamedTuple):
    """What is known of one dispatch now."""

    dispatch_id: str
    agent_id: str  #: the one that works
    task_id: str
    liveness: Liveness
    failures: int = 0  #: of one command inside the window since it last passed
    command: str = ""  #: that command
    progress_at: float | None = None  #: of the newest commit, milestone or end of a turn, wall seconds
    leaving: bool = False  #: its successor or its end is on the way already
    held: bool = False  #: a hold is on it
    reports: bool = True  #: its engine has hooks
    blind: bool = False  #: tmux or the process table could not be asked


class Intent(NamedTuple):
    """An action that was decided."""

    action: Action
    trouble: Trouble
    attempt: int  #: the how manyth of its kind since the last rung below it
    number: int  #: counts the actions of a dispatch: the same number is never acted on twice
    agent_id: str
    at: float  #: wall seconds
    why: str  #: in words


class Memory(NamedTuple):
    """What the watchdog knows of one dispatch from before."""

    agent_id: str = ""
    task_id: str = ""
    resumes: int = 0  #: since the last respawn
    respawns: int = 0
    number: int = 0  #: of the last intent
    acted_at: float | None = None
    told_at: float | None = None  #: when it was last said what would be done
    orphaned: bool = False
    acted_ever: bool = False
    quiet_seconds: float = 0.0  #: the longest quiet stretch between two signs
    unmeasured_told: bool = False
    finished: bool = False  #: its turn was over at the last look
    ended_at: float | None = None  #: since when it has been seen dead or gone
    blind_at: float | None = None  #: when it last could not be looked at
    pending: Intent | None = None


class Step(NamedTuple):
    """What one tick makes of everything."""

    memories: dict[str, Memory]
    intents: dict[str, Intent]  #: by dispatch
    unmeasured: dict[str, str]  #: newly said: dispatch to reason
    held_back: str | None = None  #: why nothing is done though something is called for
    samples: tuple[float, ...] = ()  #: longest quiet stretches of dispatches that ended well, seconds


def window_minutes(samples: Sequence[float], stale_minutes: float, *, learn: bool) -> tuple[float, bool]:
    """
    The window in minutes, and whether it was learned.

    Args:
        samples: seconds; the last SAMPLES_KEPT count.
    """
    kept = sorted(samples[-SAMPLES_KEPT:])
    if not learn or len(kept) < SAMPLES_NEEDED:
        return stale_minutes, False
    at = kept[math.ceil(PERCENTILE * len(kept)) - 1]
    return float(min(max(math.ceil(at * FACTOR / 60), LEAST_MINUTES), MOST_MINUTES)), True


def watched_since(before: Mapping[str, float | str] | None, *, wall: float, monotonic: float, boot_id: str) -> float:
    """
    Since when the fleet has been watched by clocks that went together, wall seconds.

    Args:
        before: `at`, `monotonic`, `boot_id` and `watched_since` of the last tick; None: there was none.
    """
    if before is None or before["boot_id"] != boot_id:
        return wall
    passed = wall - float(before["at"])
    drift = passed - (monotonic - float(before["monotonic"]))
    return wall if abs(drift) > DRIFT_SECONDS else min(float(before["watched_since"]), wall)


def step(
    memories: Mapping[str, Memory],
    looks: Iterable[Look],
    rules: Rules,
    *,
    now: float,
    since: float = 0.0,
    actions: Sequence[float] = (),
    hold: bool = False,
    unreadable: Container[str] = (),
) -> Step:
    """
    One tick over the whole fleet; at most one intent for each dispatch. Intents that a kill left are the caller's.

    Args:
        since: nothing quiet counts from before that time.
        actions: when resumes and respawns were done, wall seconds.
        hold: a hold is on the whole fleet.
        unreadable: agents whose records could not be read: they are not looked at, and not forgotten either.
    """
    seen = {look.dispatch_id: look for look in looks}
    kept: dict[str, Memory] = {}
    wanted: list[tuple[float, str, Intent]] = []
    unmeasured: dict[str, str] = {}
    for dispatch_id, look in seen.items():
        memory, reason = notice(memories.get(dispatch_id, Memory()), look, now=now)
        kept[dispatch_id] = memory
        if reason:
            unmeasured[dispatch_id] = reason
        intent = decide(memory, look, rules, now=now, since=since)
        if intent is not None:
            wanted.append((-(look.liveness.age_seconds or 0.0), dispatch_id, intent))
    unseen = {dispatch_id: m for dispatch_id, m in memories.items() if dispatch_id not in seen}
    kept |= {dispatch_id: m for dispatch_id, m in unseen.items() if m.agent_id in unreadable}
    ended = [m for dispatch_id, m in unseen.items() if dispatch_id not in kept]
    samples = tuple(m.quiet_seconds for m in ended if m.finished and not m.acted_ever and m.quiet_seconds > 0)
    left = rules.max_actions - sum(now - rules.window_seconds < at <= now for at in actions)
    pending = (m.pending.action for m in kept.values() if m.pending is not None)  # they may be done already
    left -= sum(action != Action.ORPHAN for action in pending)
    held_back = breaker(seen.values(), kept, hold=hold) if wanted else None
    intents: dict[str, Intent] = {}
    for _, dispatch_id, intent in sorted(wanted, key=lambda one: one[:2]) if held_back is None else ():
        costs = intent.action != Action.ORPHAN
        if costs and left <= 0:
            held_back = f"{rules.max_actions} actions in one window are enough"
            continue
        left -= costs
        intents[dispatch_id] = intent
    return Step(kept, intents, unmeasured, held_back, samples)


def lost(memories: Mapping[str, Memory], looks: Iterable[Look], unreadable: Container[str]) -> int:
    """How many actions may have been done that nobody can tell of any more: their dispatches have ended meanwhile."""
    seen = {look.dispatch_id for look in looks}
    ended = (m for one, m in memories.items() if one not in seen and m.agent_id not in unreadable)
    return sum(m.pending is not None and m.pending.action != Action.ORPHAN for m in ended)


def breaker(looks: Iterable[Look], memories: Mapping[str, Memory], *, hold: bool) -> str | None:
    """Why nothing at all may be done now; None when something may."""
    if hold:
        return "a hold is on the fleet"
    every = list(looks)
    if any(look.blind for look in every):
        return "tmux or the process table could not be read"
    counted = [look for look in every if not memories[look.dispatch_id].orphaned]
    dead = sum(look.liveness.verdict in _TROUBLE for look in counted)
    if dead >= FEW_DEAD and dead * 3 > len(counted):
        return f"{dead} of {len(counted)} agents look dead at once: that has one cause, and it is not theirs"
    return None


def notice(memory: Memory, look: Look, *, now: float) -> tuple[Memory, str | None]:
    """The memory after a look, without any action, and what is newly not measured."""
    verdict = look.liveness.verdict
    if memory.acted_at is not None and look.progress_at is not None and memory.acted_at < look.progress_at <= now:
        memory = memory._replace(resumes=0, respawns=0, orphaned=False)
    if memory.acted_at is not None and memory.acted_at > now:  # the clock was set back: the window starts over
        memory = memory._replace(acted_at=now)
    if memory.told_at is not None and memory.told_at > now:
        memory = memory._replace(told_at=now)
    quiet = look.liveness.age_seconds or 0.0
    if verdict in (Verdict.FRESH, Verdict.STALLED):
        memory = memory._replace(quiet_seconds=max(memory.quiet_seconds, quiet))
    ended_at = None
    if verdict in _ENDED:
        ended_at = now if memory.ended_at is None else min(memory.ended_at, now)
    blind_at = now if look.blind else memory.blind_at
    reason = None
    if verdict == Verdict.UNKNOWN:
        reason = None if memory.unmeasured_told else look.liveness.why
    memory = memory._replace(
        agent_id=look.agent_id, task_id=look.task_id, finished=verdict == Verdict.FINISHED,
        unmeasured_told=verdict == Verdict.UNKNOWN, ended_at=ended_at,
        blind_at=None if blind_at is None else min(blind_at, now),
    )  # fmt: skip
    return memory, reason


def trouble_of(look: Look, rules: Rules) -> Trouble | None:
    """What the matter is with a dispatch; None when nothing is."""
    if look.leaving or look.held or look.blind:
        return None
    if look.liveness.verdict == Verdict.FRESH and 0 < rules.spin_failures <= look.failures:
        return Trouble.SPINNING
    return _TROUBLE.get(look.liveness.verdict)


def decide(memory: Memory, look: Look, rules: Rules, *, now: float, since: float = 0.0) -> Intent | None:
    """The next rung of the ladder, when it is time for one; nothing while an intent is pending."""
    trouble = trouble_of(look, rules)
    if trouble is None or memory.orphaned or memory.pending is not None:
        return None
    if since > 0 and memory.ended_at is not None and now - memory.ended_at < GONE_SECONDS:
        return None
    since = max(since, memory.blind_at or 0.0)
    if trouble != Trouble.SPINNING and _quiet(look, now, since) < rules.window_seconds:
        return None
    last = max((at for at in (memory.acted_at, None if rules.act else memory.told_at) if at is not None), default=None)
    if last is not None and now - last < rules.window_seconds:
        return None
    action, attempt = _rung(memory, look, trouble, rules)
    return Intent(action, trouble, attempt, memory.number + 1, look.agent_id, now, _why(look, trouble))


def _rung(memory: Memory, look: Look, trouble: Trouble, rules: Rules) -> tuple[Action, int]:
    # What does not report may be a log or a server, which is quiet for days, or a command that has run once.
    if trouble == Trouble.GONE or not look.reports:
        return Action.ORPHAN, 1
    if trouble != Trouble.DEAD and memory.resumes < rules.resumes:
        return Action.RESUME, memory.resumes + 1
    if memory.respawns < rules.respawns:
        return Action.RESPAWN, memory.respawns + 1
    return Action.ORPHAN, 1


def _why(look: Look, trouble: Trouble) -> str:
    if trouble == Trouble.SPINNING:
        return f"`{look.command}` failed {look.failures} times and never passed in between"
    return look.liveness.why


def still_called_for(intent: Intent, look: Look, rules: Rules, *, now: float, since: float = 0.0) -> bool:
    """Whether an intent that was decided before is right now as well: asked just before it is carried out."""
    trouble = trouble_of(look, rules)
    if look.agent_id != intent.agent_id or trouble is None:
        return False
    return trouble == Trouble.SPINNING or _quiet(look, now, since) >= rules.window_seconds


def _quiet(look: Look, now: float, since: float) -> float:
    """Seconds without a sign, as far as they were watched; without any usable stamp only what was watched counts."""
    age = look.liveness.age_seconds
    if age is None:
        return now - since if since > 0 else 0.0
    return min(age, now - since)


def done(memory: Memory, intent: Intent, *, now: float) -> Memory:
    """The memory once the act is done."""
    memory = memory._replace(pending=None, number=max(memory.number, intent.number), acted_at=now, acted_ever=True)
    match intent.action:
        case Action.RESUME:
            return memory._replace(resumes=memory.resumes + 1)
        case Action.RESPAWN:
            return memory._replace(respawns=memory.respawns + 1, resumes=0)
        case Action.ORPHAN:
            return memory._replace(orphaned=True)


def dropped(memory: Memory, intent: Intent) -> Memory:
    """The memory when the act was no longer called for: its number is used up, its rung is not."""
    return memory._replace(pending=None, number=max(memory.number, intent.number))


class Call(NamedTuple):
    """How a tool call ended, newest first in a history."""

    command: str  #: what tells one command from another
    failed: bool
    at: float | None  #: wall seconds


def failures(calls: Iterable[Call], *, since: float) -> tuple[int, str]:
    """
    The most failures of one command since *since* that no pass of it follows, and that command.

    Args:
        calls: newest first.
    """
    counts: dict[str, int] = {}
    passed: set[str] = set()
    for call in calls:
        if call.at is not None and call.at < since:
            break
        if not call.failed:
            passed.add(call.command)
        elif call.command not in passed:
            counts[call.command] = counts.get(call.command, 0) + 1
    most = max(counts, key=lambda command: counts[command], default="")
    return counts.get(most, 0), most
