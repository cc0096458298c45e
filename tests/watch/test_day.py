"""A simulated day: 200 agents, the real judges, the real memory, and a watchdog that is killed between any two effects."""

import pytest

from fleet.drain.watchdog import Terms, Watchdog
from fleet.errors import FleetError
from fleet.model.watchdog import Action
from fleet.store.watch import WatchStore
from tests.watch.day import MINUTE, TICK, WINDOW, Day, Killed

TERMS = Terms(act=True, learn=False, max_actions=8)
LATE = 2 * TICK + MINUTE  #: a tick may come just too early, and the next be the one that is killed


class FragileStore(WatchStore):
    """The real store of a process that may die before and after each write."""

    def __init__(self, layout, day):
        super().__init__(layout)
        self._day = day

    def write(self, watched):
        self._day.strike()
        super().write(watched)
        self._day.strike()

    def add_samples(self, new):
        self._day.strike()
        super().add_samples(new)
        self._day.strike()


class Observer:
    """Holds the day against the three laws."""

    def __init__(self, day):
        self.day = day
        self.due = {}  #: agent in trouble to when something must have been done or said
        self.checked = 0
        self.found = 0

    def seen(self, *, quiet):
        """After a tick. *quiet*: for some reason of the whole fleet nothing may be done now; deadlines start over."""
        day, now = self.day, self.day.clock.now
        acted, orphans = {}, set()
        for when, dispatch, _, action, _ in day.acts:
            acted[dispatch] = when
            (orphans.add if action == Action.ORPHAN else orphans.discard)(dispatch)
        present = {}
        for agent in day.troubled():
            if agent.blurred or agent.leaving_until is not None or agent.dispatch in orphans:
                continue  # it cannot be measured, or nothing more is to be done
            agent.begun = day.clock.true - TICK if agent.begun is None else agent.begun
            start = agent.newest
            present[agent.id] = max(self.due.get(agent.id, 0.0), start + WINDOW + LATE)
            if quiet:
                present[agent.id] = max(present[agent.id], now + WINDOW + LATE)
            if acted.get(agent.dispatch, -1.0) >= agent.begun:
                self.found += agent.id in self.due
                present[agent.id] = float("inf")  # found; what follows is the ladder's
            assert now <= present[agent.id], (agent.kind, agent.id, now - start)
            self.checked += 1
        self.due = present

    def settle(self):
        """At the end of the day."""
        numbers = [(dispatch, number) for _, dispatch, number, _, _ in self.day.acts]
        assert len(numbers) == len(set(numbers))
        last = {}
        for when, dispatch, _, action, _ in self.day.acts:
            before = last.get(dispatch)
            if before is not None:
                assert when - before >= WINDOW - 1, (dispatch, when - before, action)
            last[dispatch] = when


def live_a_day(layout, seed, count, kill_chance):
    """24 hours, and how it went."""
    day = Day(seed, count)
    watcher, observer = None, Observer(day)
    kills = 0
    for _ in range(24 * 60 // 5):
        before = day.clock.now
        disturbed = day.disturb()
        day.live(TICK)
        events, over = [], False
        day.kill_chance = kill_chance
        for _ in range(3):  # a killed watchdog is started again at once
            try:
                watcher = watcher or Watchdog(FragileStore(layout, day), day, day.clock)
                events = watcher.tick(TERMS)
                over = True
                break
            except Killed:
                kills += 1
                watcher = None
            except FleetError as e:
                raise AssertionError(e) from e
        day.kill_chance = 0.0
        held_back = watcher is not None and watcher._held_back is not None
        drifted = abs(day.clock.now - before - TICK) > MINUTE
        quiet = disturbed is not None or drifted or held_back or day.blind or day.held() or day.deaf or not over
        observer.seen(quiet=bool(quiet) or any(e["event"] == "watch-error" for e in events))
        budget(day)
    observer.settle()
    return day, observer, kills


def budget(day):
    """Never more than so many actions of the whole fleet in one window."""
    now = day.clock.true
    begin = now - WINDOW + 0.001  # two clocks add up to the same second in different roundings
    recent = [a for a in day.acts[-50:] if a[3] != Action.ORPHAN and begin < a[0] <= now]
    assert len(recent) <= TERMS.max_actions


@pytest.fixture(autouse=True)
def no_disk(monkeypatch):
    """A killed process loses nothing that was not synced; only a power cut would, and none happens here."""
    monkeypatch.setattr("os.fsync", lambda fd: None)


@pytest.mark.parametrize("seed", [1])
def test_a_day_of_200_agents(layout, seed):
    """No healthy agent is touched, every stall is found within its window, and nothing is acted on twice, whenever the
    watchdog is killed."""
    day, observer, kills = live_a_day(layout, seed, 200, kill_chance=0.02)

    assert observer.found > 50
    assert kills > 5
    assert {Action.RESUME, Action.RESPAWN, Action.ORPHAN} == {action for _, _, _, action, _ in day.acts}


@pytest.mark.full
@pytest.mark.parametrize("seed", range(2, 22))
def test_many_days(layout, seed):
    """The same on other days, with deaths more often."""
    _, observer, _ = live_a_day(layout, seed, 200, kill_chance=0.05)

    assert observer.found > 20
