"""The watchdog's ladder: what is known in, at most one action out."""

import pytest

from fleet.model import watchdog
from fleet.model.liveness import Liveness, Verdict
from fleet.model.watchdog import Action, Call, Look, Memory, Rules, failures, step, watched_since, window_minutes

MINUTE = 60.0
RULES = Rules(window_seconds=20 * MINUTE)
T0 = 1_000_000.0


def look(verdict=Verdict.STALLED, age=9000.0, dispatch="d0000001", **more):
    fields = {"agent_id": "a0000001", "task_id": "t", **more}
    return Look(dispatch, liveness=Liveness(verdict, "why", age_seconds=age), **fields)


def climb(looks, rules=RULES, minutes=10, memory=None):
    """The actions that a history of looks leads to, each done at once: (minute, action)."""
    memories, found = {"d0000001": memory or Memory()}, []
    for number, one in enumerate(looks):
        now = T0 + number * minutes * MINUTE
        result = step(memories, [one], rules, now=now)
        memories = result.memories
        for dispatch, intent in result.intents.items():
            memories[dispatch] = watchdog.done(memories[dispatch], intent, now=now)
            found.append((number * minutes, str(intent.action)))
    return found, memories["d0000001"]


def test_the_ladder():
    """resume, resume, respawn, resume, resume, orphan, a whole window after each, and then nothing more."""
    found, memory = climb([look()] * 30)

    assert [(0, "resume"), (20, "resume"), (40, "respawn"), (60, "resume"), (80, "resume"), (100, "orphan")] == found
    assert memory.orphaned


def test_attempts_and_numbers():
    """An attempt counts within its rung; a number is never given twice."""
    memories, seen = {}, []
    for n in range(6):
        result = step(memories, [look()], RULES, now=T0 + n * 1200)
        (intent,) = result.intents.values()
        seen.append((str(intent.action), intent.attempt, intent.number))
        memories = {"d0000001": watchdog.done(result.memories["d0000001"], intent, now=T0 + n * 1200)}

    assert [("resume", 1, 1), ("resume", 2, 2), ("respawn", 1, 3), ("resume", 1, 4), ("resume", 2, 5),
            ("orphan", 1, 6)] == seen  # fmt: skip


def test_a_recovery_leads_back_to_the_first_rung_and_keeps_the_window():
    """A commit, milestone or finished turn after an action resets the ladder, of an orphan too; the window stays."""
    well = look(Verdict.FRESH, 5.0, progress_at=T0 + 21 * MINUTE)
    worse = look(progress_at=T0 + 21 * MINUTE)
    found, memory = climb([look(), look(), look(), well, worse, worse])

    assert [(0, "resume"), (20, "resume"), (40, "resume")] == found
    assert 1 == memory.resumes
    _, orphan = climb([look()] * 12)
    found, _ = climb([look(progress_at=T0)], memory=orphan._replace(acted_at=T0 - 1200))
    assert [(0, "resume")] == found


def test_progress_before_the_action_is_no_recovery():
    """An old commit resets nothing."""
    found, _ = climb([look(progress_at=T0 - 1)] * 5)

    assert [(0, "resume"), (20, "resume"), (40, "respawn")] == found


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (look(Verdict.DEAD), "respawn"),
        (look(Verdict.GONE), "orphan"),
        (look(Verdict.FRESH, 3.0, failures=5, command="make"), "resume"),
        (look(Verdict.FRESH, 3.0, failures=4), None),
        (look(Verdict.DEAD, 60.0), None),
        (look(Verdict.STALLED, 60.0), None),
        (look(Verdict.UNKNOWN), None),
        (look(Verdict.WAITING), None),
        (look(Verdict.FINISHED), None),
        (look(Verdict.NOT_STARTED), None),
        (look(leaving=True), None),
        (look(held=True), None),
        (look(blind=True), None),
        (look(reports=False), "orphan"),
        (look(Verdict.DEAD, reports=False), "orphan"),
    ],
)
def test_what_is_done_first(one, expected):
    """
    A dead engine cannot be resumed; what somebody took away is not brought back; of what does not report (a log, a
    server, a command that has run) the operator is told; all else is let alone.
    """
    found, _ = climb([one])

    assert [expected] * (expected is not None) == [action for _, action in found]


def test_nothing_quiet_counts_from_before_the_clocks_parted():
    """After a suspend, a jump of the clock or a boot the window starts over."""
    before = {"at": T0, "monotonic": 500.0, "boot_id": "b", "watched_since": 7.0}

    def since(wall, monotonic, boot="b"):
        return watched_since(before, wall=wall, monotonic=monotonic, boot_id=boot)

    assert 7.0 == since(T0 + 300, 800.0)
    assert T0 + 9000 == since(T0 + 9000, 800.0)  # it slept
    assert T0 - 500 == since(T0 - 500, 800.0)  # the clock was set back
    assert T0 + 300 == since(T0 + 300, 800.0, "other")
    assert T0 == watched_since(None, wall=T0, monotonic=1.0, boot_id="b")  # the first look of all
    assert {} == step({}, [look()], RULES, now=T0, since=T0 - 1199).intents
    assert step({}, [look()], RULES, now=T0, since=T0 - 1200).intents


def test_nothing_quiet_counts_from_while_an_agent_could_not_be_looked_at():
    """A server that was frozen shows at first what it showed before: a whole window is watched after that."""
    blind, still = look(Verdict.UNKNOWN, blind=True), look(age=1900.0)
    memories = step({}, [blind], RULES, now=T0, since=T0 - 9000).memories

    assert {} == step(memories, [still], RULES, now=T0 + 1199, since=T0 - 9000).intents
    assert step(memories, [still], RULES, now=T0 + 1200, since=T0 - 9000).intents


@pytest.mark.parametrize("verdict", [Verdict.GONE, Verdict.DEAD])
def test_who_goes_is_given_a_minute(verdict):
    """A server that ends takes its agents one by one: the first look does not see how many they are."""
    ended = look(verdict)
    first = step({}, [ended], RULES, now=T0, since=T0 - 9000)
    well = step(first.memories, [look(Verdict.FRESH, 1.0)], RULES, now=T0 + 30, since=T0 - 9000)

    assert {} == first.intents == step(first.memories, [ended], RULES, now=T0 + 59, since=T0 - 9000).intents
    assert step(first.memories, [ended], RULES, now=T0 + 60, since=T0 - 9000).intents
    assert {} == step(well.memories, [ended], RULES, now=T0 + 60, since=T0 - 9000).intents  # it had come back


def fleet(dead, alive):
    return [look(dispatch=f"{n:08x}") for n in range(dead)] + [
        look(Verdict.FRESH, 1.0, dispatch=f"{n:08x}") for n in range(100, 100 + alive)
    ]


@pytest.mark.parametrize(("dead", "alive", "acts"), [(2, 0, True), (3, 5, False), (3, 6, True), (60, 100, False)])
def test_too_many_at_once_have_one_cause(dead, alive, acts):
    """When more than a third of the fleet looks dead at once, nothing is done, and that is said."""
    result = step({}, fleet(dead, alive), RULES._replace(max_actions=100), now=T0)

    assert (acts, not acts) == (bool(result.intents), result.held_back is not None)


def test_nobody_is_touched_while_tmux_cannot_be_read_or_a_hold_is_on():
    """One blind look stops the whole tick; so does a hold on the fleet."""
    blind = [look(), look(Verdict.UNKNOWN, dispatch="d0000002", blind=True)]

    assert "tmux" in step({}, blind, RULES, now=T0).held_back
    assert {} == step({}, blind, RULES, now=T0).intents
    assert "hold" in step({}, [look()], RULES, now=T0, hold=True).held_back


def test_a_budget_for_the_whole_fleet():
    """At most max_actions in one window, those that a kill left unfinished among them; the quietest come first; telling
    the operator costs nothing."""
    rules = RULES._replace(max_actions=2)
    looks = [look(age=2000.0 + n, dispatch=f"{n:08x}") for n in range(2)]
    looks += [look(Verdict.FRESH, 1.0, dispatch=f"{n:08x}") for n in range(50, 60)]
    looks.append(look(Verdict.GONE, 1500.0, dispatch="d0000009"))

    result = step({}, looks, rules, now=T0, actions=[T0 - 1300, T0 - 60])

    assert {"00000001", "d0000009"} == set(result.intents)
    assert "enough" in result.held_back
    pending = Memory(pending=next(iter(result.intents.values())))
    again = step({"00000001": pending}, looks, rules, now=T0, actions=[T0 - 60])
    assert {"d0000009"} == set(again.intents)


def test_what_is_not_measured_is_said_once():
    """And again after it could be measured in between."""
    blurred = look(Verdict.UNKNOWN)
    memories, said = {}, []
    for one in (blurred, blurred, look(Verdict.FRESH, 1.0), blurred):
        result = step(memories, [one], RULES, now=T0)
        memories = result.memories
        said.append(bool(result.unmeasured))

    assert [True, False, False, True] == said


def test_observing_repeats_itself_once_in_a_window_and_climbs_nowhere():
    """What would be done is told, and stays the first rung."""
    rules, memories, told = RULES._replace(act=False), {}, []
    for n in range(5):
        now = T0 + n * 600
        result = step(memories, [look()], rules, now=now)
        memories = {k: m._replace(told_at=now) if k in result.intents else m for k, m in result.memories.items()}
        told += [(n, i.attempt) for i in result.intents.values()]

    assert [(0, 1), (2, 1), (4, 1)] == told


@pytest.mark.parametrize(
    ("samples", "learn", "expected"),
    [
        ([], True, (20, False)),
        ([600.0] * 4, True, (20, False)),
        ([600.0] * 5, True, (15, True)),
        ([600.0] * 5, False, (20, False)),
        ([1.0] * 5, True, (10, True)),
        ([9000.0] * 5, True, (60, True)),
        ([60.0 * n for n in range(1, 11)], True, (14, True)),  # nearest rank: the 9th of 10, 9 min x 1.5
        ([9000.0] * 50 + [600.0] * 50, True, (15, True)),  # the last 50 count
    ],
)
def test_the_window_is_learned(samples, learn, expected):
    """p90 by nearest rank, times 1.5, rounded up, 10 to 60 minutes, from 5 samples on."""
    assert expected == window_minutes(samples, 20, learn=learn)


def test_a_dispatch_that_ended_well_teaches_its_longest_quiet_stretch():
    """Only one that was never acted on and whose turn was over when it was seen last."""
    well = Memory(quiet_seconds=500.0, finished=True)
    memories = {"00000001": well, "00000002": well._replace(acted_ever=True), "00000003": well._replace(finished=False)}

    assert (500.0,) == step(memories, [], RULES, now=T0).samples


def test_failures_count_from_the_last_pass():
    """Of each command for itself, inside the window, newest first."""
    calls = [Call("a", failed=True, at=9), Call("b", failed=True, at=8), Call("a", failed=True, at=7),
             Call("b", failed=False, at=6), Call("b", failed=True, at=5), Call("a", failed=True, at=4)]  # fmt: skip

    assert (3, "a") == failures(calls, since=0)
    assert (2, "a") == failures(calls, since=5)
    assert (0, "") == failures([], since=0)


def test_an_agent_whose_record_cannot_be_read_is_not_forgotten():
    """Its ladder stays as it is, and it teaches nothing; nobody is sure that it has ended."""
    memories = {"d0000001": Memory("a0000001", resumes=1, finished=True, quiet_seconds=500.0)}

    result = step(memories, [], RULES, now=T0, unreadable={"a0000001"})

    assert (memories, ()) == (result.memories, result.samples)


def test_an_agent_without_any_usable_stamp_is_watched_for_a_window_first():
    """Nothing says how long it has been quiet, so only what was watched counts."""
    stampless = look(age=None)

    assert [False, False, True] == [
        bool(step({}, [stampless], RULES, now=T0, since=since).intents) for since in (0.0, T0 - 60, T0 - 1200)
    ]


def test_an_action_that_nobody_can_tell_of_any_more_counts_as_done():
    """A kill kept it from being written down, and its dispatch has ended since: it costs the fleet's budget all the same."""
    intent = watchdog.Intent(Action.RESPAWN, watchdog.Trouble.STALLED, 1, 1, "a0000001", 0.0, "why")
    told = intent._replace(action=Action.ORPHAN)
    memories = {"d0000001": Memory(agent_id="a0000001", pending=intent), "d0000002": Memory(pending=told),
                "d0000003": Memory(agent_id="a0000003", pending=intent), "d0000004": Memory()}  # fmt: skip

    assert 2 == watchdog.lost(memories, [], ())
    assert 1 == watchdog.lost(memories, [look(dispatch="d0000001")], ())
    assert 0 == watchdog.lost(memories, [look(dispatch="d0000001")], {"a0000003"})
