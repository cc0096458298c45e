"""The watchdog is killed between any two effects of what it does: the next tick finishes that once, and loses nothing."""

import json
import os
import signal
import subprocess

import pytest

from fleet.formats import messages
from fleet.formats.states import Turn
from fleet.model.screen import Screen
from fleet.model.watchdog import GONE_SECONDS, Memory
from fleet.store import screens
from fleet.store.watch import WatchStore
from tests.crash.effects import strike
from tests.crash.invariants import Monitor, leftovers, wait_for
from tests.crash.matrix import try_all
from tests.crash.yard import CONFIG, SECONDS

pytestmark = [pytest.mark.crash, pytest.mark.timeout(300)]

WINDOW_SECONDS = 600
#: A drain that is not asked to watches nothing here: its first tick would come after an hour.
WATCH = f"""\
watch: {{mode: act, stale_minutes: {WINDOW_SECONDS // 60}, interval_minutes: 60, learn: false, spin_failures: 0}}
"""
ONCE = ("watch", "--once", "--json")
PAIR, ALONE = ("hung", "dead"), ("gone",)  #: three at once would look like something that took the fleet down
#: What is killed at: a respawn whose rung is not written, a patch half written, what the operator is told.
SAMPLE = [
    (PAIR, "link queue/spawn-fresh-DEAD.json#1", "after"), (("dead",), "popen git apply#1", "after"),
    (ALONE, "write events/GONE.jsonl#1", "after"),
]  # fmt: skip
STEPS = (
    "replace run/watch.json#1", "link rescues/DEAD-TIME.patch#1", "replace handoffs/DEAD-DOC.md#1",
    "link queue/spawn-fresh-DEAD.json#1", "write events/DEAD.jsonl#2",
)  # fmt: skip
SYNC = "fsync "


class Kennel:
    """One fleet with a watchdog whose clock is a window later with every case."""

    def __init__(self, yard):
        self.yard = yard
        self.count = 0
        self.agents = {}
        (yard.home / "config.yaml").write_text(CONFIG.replace("turn_wait_seconds: 5", "turn_wait_seconds: 0") + WATCH)
        self.git("init", "-q", "-b", "main")
        self.git("-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "--allow-empty", "-m", "first")
        yard.run(*ONCE)  # since then it has watched

    def git(self, *args, at=None):
        """git in the tree that the agents work in."""
        done = subprocess.run(
            ["git", "-C", str(at or self.yard.work), *args], env=self.yard.env, capture_output=True, text=True
        )
        assert done.returncode == 0, done
        return done.stdout

    def plan(self, **fields):
        """A plan of a tick one window after that of the last case."""
        names = {agent.id: task.upper() for task, agent in self.agents.items()}
        return {**self.yard.plan(**fields), "names": names, "later_seconds": self.count * (WINDOW_SECONDS + 60)}

    def trouble(self, *tasks):
        """What the watchdog is to find: agents that hang, died in the middle of their work, or were taken away."""
        yard = self.yard
        self.count += 1
        (yard.work / "half").write_text(f"half done {self.count}\n")
        (yard.work / "bytes").write_bytes(bytes(range(256)) * self.count)
        started = [yard.start(*yard.dispatch_args(task, "begin\nSTUB: delay=600", wait="accepted")) for task in tasks]
        said = [one.communicate(timeout=SECONDS)[0] for one in started]
        assert [0] * len(tasks) == [one.returncode for one in started], said
        self.agents = {task: yard.agent(task) for task in tasks}
        for task, turn in (("dead", Turn.EXITED), ("gone", Turn.GONE)):
            if task in tasks:
                agent = self.agents[task]
                if task == "gone":
                    subprocess.run(["tmux", "-S", yard.socket, "kill-session", "-t", agent.tmux_session_id], check=True)
                else:
                    os.kill(agent.pid, signal.SIGKILL)
                wait_for(lambda: yard.turn(task) == turn, SECONDS, f"{task} is {turn}")  # noqa: B023
        yard.quiet()
        self.seen()

    def seen(self):
        """As the next tick is to find it: screens that were looked at and stood still, the dead dead for a minute."""
        layout, now = self.yard.layout, self.yard.fleet.clock.wall()
        then = now + self.count * (WINDOW_SECONDS + 60)
        agents = self.agents.values()
        screens.write(
            layout, {a.id: Screen(then, now, pane_id=a.pane_id, server_pid=a.server_pid) for a in agents}, then
        )
        store = WatchStore(layout)
        watched = store.read()
        dead = {a.dispatch_id: Memory(a.id, task, ended_at=then - GONE_SECONDS)
                for task, a in self.agents.items() if task != "hung"}  # fmt: skip
        store.write(watched._replace(memories={**watched.memories, **dead}))

    def over(self):
        """End everybody."""
        self.yard.run("stop", *self.agents, "--grace", "0")
        self.yard.quiet()
        assert [] == leftovers(self.yard.layout, ())
        assert [] == self.yard.at_work() + self.yard.gates()

    def once(self, plan, codes=(0,)):
        """A tick of `fleet watch`."""
        self.yard.run(*ONCE, plan=plan, codes=codes)

    def drain(self, plan, codes=(0,)):
        """A drain that watches, until it has done what is to be done."""
        drain = self.yard.start("drain", plan=plan)
        try:
            wait_for(lambda: drain.poll() is not None or self.acted(), SECONDS, "the drain has acted")
        finally:
            if drain.poll() is None:
                self.yard.run("drain", "--stop", codes=(0, 1))
            said, _ = drain.communicate(timeout=SECONDS)
        assert (None if drain.returncode == -9 else drain.returncode) in codes, said

    def acted(self):
        """Whether the ladder of everybody says that something was done."""
        watched = WatchStore(self.yard.layout).read().memories
        found = [watched.get(agent.dispatch_id) for agent in self.agents.values()]
        return all(one is not None and one.acted_at is not None and one.pending is None for one in found)

    def attempt(self, tasks, at=None, when="after", *, drained=False, by="once"):
        """
        A tick that is killed at an effect, and another one.

        Args:
            drained: what the first one put down is carried out before the second.
            by: who watches, `once` or `drain`.
        """
        yard = self.yard
        self.trouble(*tasks)
        plan = self.plan(at=at, when=when)
        with Monitor(yard.layout, ()) as monitor:
            getattr(self, by)(plan, (0,) if at is None else (0, None))
            if drained:
                yard.drain("--once")
            getattr(self, by)(self.plan())
            yard.drain("--once")
            for task in tasks:
                getattr(self, f"check_{task}")(self.agents[task])
            events = yard.run(*ONCE, plan=self.plan())
            assert ["start"] == [json.loads(line)["event"] for line in events.splitlines()]
        assert [] == monitor.broken
        assert [] == [name for name in os.listdir(yard.layout.rescues) if not name.endswith(".patch")]
        self.over()
        return plan

    # what must have been done, once

    def ladder(self, agent, action):
        """What the memory says of the dispatch, when the action was told of once."""
        memory = WatchStore(self.yard.layout).read().memories[agent.dispatch_id]
        assert None is memory.pending
        told = [
            (e["action"], e["number"])
            for e in self.yard.fleet.journal.newest_first(agent.id)
            if e["event"] == "Watchdog"
        ]
        assert [(action, memory.number)] == told
        return memory

    def check_hung(self, agent):
        """It got one message, and works on."""
        memory = self.ladder(agent, "resume")
        assert (1, 0, False) == (memory.resumes, memory.respawns, memory.orphaned)
        spool = self.yard.layout.spool(agent.id)
        found = [messages.read(os.path.join(spool, name)) for name in messages.names(spool)]
        assert [f"fleet-watchdog-{memory.number}"] == [one.data["op_id"] for one in found]
        assert [agent.pid] == [p.pid for p in self.yard.at_work("hung")]

    def check_dead(self, agent):
        """The next generation does its work; what was not committed is a patch that a clean checkout takes."""
        yard = self.yard
        wait_for(lambda: not yard.queued() and yard.turn("dead") == Turn.IDLE, SECONDS, "dead has a successor")
        memory = self.ladder(agent, "respawn")
        assert (0, 1, False) == (memory.resumes, memory.respawns, memory.orphaned)
        new = yard.agent("dead")
        assert ("respawn", 2, agent.id) == (str(new.origin), new.generation, new.predecessor_id)
        assert [(new.pid, new.id)] == [(p.pid, p.agent) for p in yard.at_work("dead")]
        (name,) = [name for name in os.listdir(yard.layout.rescues) if name.startswith(agent.id)]
        clean = yard.root / f"clean-{self.count}"
        self.git("clone", "-q", ".", str(clean))
        self.git("apply", "--index", os.path.join(yard.layout.rescues, name), at=clean)
        for one in ("half", "bytes"):
            assert (yard.work / one).read_bytes() == (clean / one).read_bytes()
        assert [] == yard.queued()
        documents = [one for one in os.listdir(yard.layout.handoffs) if one.startswith(agent.id)]
        with open(os.path.join(yard.layout.handoffs, new.last_handoff_path), encoding="utf-8") as f:
            assert name in f.read()
        assert os.path.basename(new.last_handoff_path) in documents

    def check_gone(self, agent):
        """The operator was told, and nothing was started."""
        memory = self.ladder(agent, "orphan")
        assert (0, 0, True) == (memory.resumes, memory.respawns, memory.orphaned)
        assert [] == self.yard.at_work("gone")
        assert agent.id == self.yard.agent("gone").id


def each(yards, cases, by="once"):
    """All *cases*, who is in trouble, effect and when; in every other one what was put down is carried out in between."""
    missed = []

    def attempt(bench, case):
        plan = bench.attempt(*case, drained=cases.index(case) % 2 == 1, by=by)
        missed.extend([case] if bench.yard.killed(plan) is None else [])

    try_all(cases, lambda: Kennel(yards()), attempt, state=lambda bench: bench.yard.state())
    assert len(missed) <= len(cases) // 10, f"effects that never came again: {missed}"


def names(yards, tasks):
    """The effects of an undisturbed tick, those that change nothing too."""
    bench = Kennel(yards())
    found = [name for name in bench.yard.effects(bench.attempt(tasks), looks=True) if not name.startswith(SYNC)]
    bench.yard.close()
    return found


def test_a_killed_action_is_finished_once_by_the_next_tick(yards):
    """After a SIGKILL in the middle of a respawn or of what the operator is told, the next tick finishes that and what was
    due beside it: nothing is done twice or forgotten, the patch of the work applies, one engine is there."""
    each(yards, SAMPLE)


@pytest.mark.full
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("when", ["after", "before"])
def test_a_watch_killed_at_any_effect(yards, when):
    """As above, for every effect of all three actions, before and after it."""
    cases = [(PAIR, name, when) for name in names(yards, PAIR)]
    assert 70 < len(cases)
    each(yards, cases + [(ALONE, name, when) for name in names(yards, ALONE)])


@pytest.mark.full
@pytest.mark.timeout(1200)
def test_a_drain_killed_while_its_watchdog_acts(yards):
    """As above, for the watchdog of a drain; not for who hangs: to a scanner that has just begun every screen is new."""
    each(yards, [*SAMPLE[1:], *((("dead",), at, "after") for at in STEPS)], by="drain")
