"""A fleet of agents that are only models, a clock that is only a number, and the real judges and the real memory."""

import random

from fleet.errors import Unreachable
from fleet.formats.states import Existence, Turn
from fleet.formats.times import rfc3339_ms
from fleet.model.judge import judge
from fleet.model.state import Facts
from fleet.model.liveness import NEVER, Reading, Sign, Verdict, before_its_end, liveness, unmeasured
from fleet.model.watchdog import Action, Look

MINUTE = 60.0
WINDOW = 20 * MINUTE
TICK = 5 * MINUTE


class Killed(BaseException):
    """The watchdog's process ended here, as by kill -9."""


class DayClock:
    """Wall and monotonic seconds; the second stands still while the machine sleeps. `true` is what really passes."""

    def __init__(self):
        self.now, self.mono, self.true = 1_796_000_000.0, 50_000.0, 0.0

    def wall(self):
        return self.now

    def monotonic(self):
        return self.mono

    def sleep(self, seconds):
        self.pass_by(seconds)

    def pass_by(self, seconds):
        self.now += seconds
        self.mono += seconds
        self.true += seconds

    def suspend(self, seconds):
        self.now += seconds
        self.true += seconds


class Agent:
    """One agent of one dispatch, with the truth about it."""

    def __init__(self, dispatch, number, now, rng):
        self.dispatch, self.id = dispatch, f"{number:08x}"
        self.rng = rng
        self.kind = "working"  #: working, stalled, spinning, idle, waiting, crashed, left, gone
        self.since = self.sign = now  #: of its kind, and of its last sign of life
        self.begun = None  #: what really had passed by the first tick after it became so
        self.progress = None
        self.quiet = (
            0  #: ticks without a sign; a healthy agent has one within three of them, while the machine is awake
        )
        self.spawned = now
        self.leaving_until = None
        self.blurred = rng.random() < 0.05  #: what it writes cannot be measured

    @property
    def newest(self):
        """The newest stamp that it has left, and the time of what became of it."""
        return max(self.since, self.sign, self.spawned, self.progress or 0.0)

    def become(self, kind, now):
        self.kind, self.since, self.begun = kind, now, None
        if kind in ("idle", "waiting", "working", "spinning"):
            self.sign = now
        if kind == "idle":
            self.progress = now

    @property
    def in_trouble(self):
        return self.kind in ("stalled", "spinning", "crashed", "gone")

    def facts(self, blind):
        """What a look at it would find."""
        event = {"source": "hook", "event": "UserPromptSubmit", "ts": rfc3339_ms(self.spawned)}
        if self.kind in ("idle", "left"):
            event = {"source": "hook", "event": "Stop", "ts": rfc3339_ms(self.sign), "background": 0}
        elif self.kind == "waiting":
            event = {"source": "hook", "event": "PermissionRequest", "tool_name": "Bash", "ts": rfc3339_ms(self.sign)}
        if blind:
            return Facts(pane=Existence.UNKNOWN, events=[event])
        if self.kind == "gone":
            return Facts(pane=Existence.GONE, running=False, events=[event])
        if self.kind in ("crashed", "left"):
            status = 1 if self.kind == "crashed" else 0
            return Facts(pane=Existence.ALIVE, pane_dead=True, exit_status=status, running=False, events=[event])
        return Facts(pane=Existence.ALIVE, running=True, events=[event])

    def look(self, now, stale_seconds, blind):
        """Through the real judges."""
        facts = self.facts(blind)
        state = judge(facts)
        readings = {
            Sign.LAUNCH: Reading(self.spawned), Sign.HOOK: Reading(self.sign), Sign.TRANSCRIPT: Reading(self.sign),
            Sign.COMMIT: Reading(self.progress), Sign.CPU: NEVER, Sign.MILESTONE: NEVER, Sign.SCREEN: Reading(self.sign),
            Sign.FILES: unmeasured("more files than are looked at") if self.blurred else NEVER,
        }  # fmt: skip
        ended = before_its_end(facts, Existence.ALIVE) if state.turn in (Turn.EXITED, Turn.GONE) else None
        verdict = liveness(state, readings, now=now, stale_seconds=stale_seconds, before=ended)
        return Look(
            self.dispatch, self.id, f"task-{self.dispatch}", verdict,
            failures=6 if self.kind == "spinning" and verdict.verdict == Verdict.FRESH else 0, command="make test",
            progress_at=self.progress, leaving=self.leaving_until is not None, blind=blind,
        )  # fmt: skip


class Day:
    """The fleet, what happens to it, and the port `Hands` over it."""

    def __init__(self, seed, count):
        self.rng = random.Random(seed)  # noqa: S311
        self.clock = DayClock()
        self.boot = "boot-0"
        self.blind_until = 0.0
        self.hold_until = 0.0
        self.number = 0
        self.agents = {}
        self.messages = {}  #: (dispatch, number) to agent: what the spool would hold
        self.respawns = {}
        self.lines = set()  #: what was told, by dispatch, number and action
        self.acts = []  #: (when, dispatch, number, action, truth)
        self.kill_chance = 0.0
        self.deaf = 0  #: ticks in which git or tmux refuses an act
        for _ in range(count):
            self.dispatch()

    # the port

    def observe(self, stale_seconds, cpu):
        self.strike()
        return [a.look(self.clock.now, stale_seconds, self.blind) for a in self.agents.values()], {}

    def unreadable(self):
        return set()

    def look_again(self, dispatch_id, stale_seconds):
        agent = self.agents.get(dispatch_id)
        if agent is not None and agent.kind in ("stalled", "spinning") and self.rng.random() < 0.05:
            agent.become("working", self.clock.now)  # in this very moment
        return None if agent is None else agent.look(self.clock.now, stale_seconds, self.blind)

    def held(self):
        return self.clock.now < self.hold_until

    def was_done(self, dispatch_id, intent):
        key = (dispatch_id, intent.number)
        if intent.action == Action.RESUME:
            return "message" if key in self.messages else None
        if intent.action == Action.RESPAWN:
            return "successor" if key in self.respawns else None
        return "told" if (*key, intent.action) in self.lines else None

    def carry_out(self, dispatch_id, intent):
        self.strike()
        key, agent = (dispatch_id, intent.number), self.agents[dispatch_id]
        if self.deaf:
            raise Unreachable("tmux did not answer")
        found = self.messages if intent.action == Action.RESUME else self.respawns
        if intent.action != Action.ORPHAN and key not in found:
            found[key] = agent.id
            self.acts.append((self.clock.true, dispatch_id, intent.number, intent.action, agent.kind))
            assert agent.in_trouble, (intent, agent.kind)
            assert agent.id == intent.agent_id
            (self.resumed if intent.action == Action.RESUME else self.respawned)(agent)
        self.strike()
        return "done"

    def tell(self, dispatch_id, intent, event):
        self.strike()
        key = (dispatch_id, intent.number, intent.action)
        if intent.action == Action.ORPHAN and key not in self.lines:
            agent = self.agents[dispatch_id]
            self.acts.append((self.clock.true, dispatch_id, intent.number, intent.action, agent.kind))
            assert agent.in_trouble, (intent, agent.kind)
        self.lines.add(key)
        self.strike()

    def boot_id(self):
        return self.boot

    def strike(self):
        if self.rng.random() < self.kill_chance:
            raise Killed

    @property
    def blind(self):
        return self.clock.now < self.blind_until

    # what acts lead to

    def resumed(self, agent):
        if agent.kind in ("stalled", "spinning") and self.rng.random() < 0.5:
            agent.become("working", self.clock.now + 1)
            agent.progress = self.clock.now + 1

    def respawned(self, agent):
        self.number += 1
        new = Agent(agent.dispatch, self.number, self.clock.now, self.rng)
        if self.rng.random() < 0.4:
            new.become("stalled", self.clock.now)
        self.agents[agent.dispatch] = new

    # what happens by itself

    def dispatch(self):
        self.number += 1
        dispatch = f"{0xA0000000 + self.number:08x}"
        self.agents[dispatch] = Agent(dispatch, self.number, self.clock.now, self.rng)

    def live(self, seconds):
        """Let time pass for every agent."""
        self.clock.pass_by(seconds)
        now, rng = self.clock.now, self.rng
        for agent in list(self.agents.values()):
            agent.quiet += 1
            if agent.kind == "spinning" or (agent.kind == "working" and (rng.random() < 0.85 or agent.quiet > 2)):
                agent.quiet = 0
                agent.sign = now - rng.uniform(0, seconds)  # the newest line, whatever the one before it says
            if agent.leaving_until is not None:
                if now >= agent.leaving_until:
                    self.respawned_by_handoff(agent)
                continue
            self.change(agent, rng.random(), now)

    def change(self, agent, dice, now):
        """At most one thing happens to an agent in a while."""
        if agent.kind == "working":
            for chance, kind in ((0.004, "stalled"), (0.006, "crashed"), (0.008, "spinning"), (0.03, "waiting"),
                                 (0.06, "idle"), (0.061, "gone")):  # fmt: skip
                if dice < chance:
                    return agent.become(kind, now)
            if dice < 0.075:
                agent.leaving_until = now + self.rng.uniform(60, 900)  # a handoff by itself
            elif dice < 0.2:
                agent.progress = now  # a commit
        elif agent.kind in ("idle", "waiting") and dice < 0.3:
            agent.become("working", now)
        elif agent.kind == "idle" and dice < 0.33:
            agent.become("left", now)
        elif (agent.kind in ("left", "gone") and dice < 0.2) or dice < 0.002:
            del self.agents[agent.dispatch]  # `fleet stop`, and another task
            self.dispatch()
        return None

    def respawned_by_handoff(self, agent):
        self.number += 1
        self.agents[agent.dispatch] = Agent(agent.dispatch, self.number, self.clock.now, self.rng)

    def disturb(self):
        """Now and then something hits the whole fleet; whether the window starts over."""
        dice, now = self.rng.random(), self.clock.now
        self.deaf = max(0, self.deaf - 1)
        if dice < 0.01:
            self.blind_until = now + self.rng.uniform(60, 1200)
        elif dice < 0.02:
            self.hold_until = now + self.rng.uniform(60, 3000)
        elif dice < 0.025:
            self.clock.suspend(self.rng.uniform(1800, 30_000))  # the lid was closed
        elif dice < 0.03:
            self.clock.now -= self.rng.uniform(120, 3000)  # the clock was set back: stamps lie in the future
        elif dice < 0.033:
            self.boot = f"boot-{now}"
            for agent in self.agents.values():
                agent.become("gone", now)
        elif dice < 0.036:
            for agent in self.rng.sample(list(self.agents.values()), len(self.agents) // 2):
                if agent.kind == "working":
                    agent.become("stalled", now)  # the model's provider is down
        elif dice < 0.045:
            self.deaf = 2
        if dice < 0.045:
            return dice
        for agent in self.agents.values():
            if agent.kind == "gone" and agent.since < now - 600 and len(self.troubled()) > len(self.agents) // 2:
                agent.become("working", now)  # `fleet recover`
        return None

    def troubled(self):
        return [a for a in self.agents.values() if a.in_trouble]
