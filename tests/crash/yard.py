"""A fleet home of its own with a tmux server of its own, fake agents in it, and an end to all of it."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from fleet.app import Fleet
from fleet.drain.lock import DrainLock
from fleet.engines.catalog import engine
from fleet.engines.screen import Box
from fleet.formats import handoff, launch, messages, transcript
from fleet.formats.atomic import write_file
from fleet.formats.record import Held
from fleet.formats.states import HandoffType, Turn
from fleet.drain.sending import send
from tests.crash import processes
from tests.crash.effects import is_server
from tests.crash.invariants import Monitor, leftovers, wait_for

ROOT = Path(__file__).resolve().parents[2]
SHIM = str(Path(__file__).with_name("hook_shim.py"))
HOOK_SECONDS = 1.0
SECONDS = 30  #: the deadline of everything that is waited for

CONFIG = """\
limits: {min_free_memory_mb: 0, min_free_disk_mb: 0, max_sessions: 60}
handoff: {max_attempts: 9, backoff_seconds: 0.05, backoff_cap_seconds: 0.2, grace_seconds: 1, turn_wait_seconds: 5}
messages: {wake_retry_seconds: 1}
"""
RULES = [
    {"match": r"HANDOFF REQUESTED.*?(/\S+\.md)",
     "do": ["STUB: write=\\1|## Completed\\n\\nthe draft of the agent", "STUB: say=MILESTONE", "STUB: usage=110000"]},
    {"match": "^Read the handoff document", "do": ["STUB: delay=0.25", "STUB: say=resumed"]},
]  # fmt: skip


class Yard:
    """Where a crash test happens."""

    def __init__(self):
        self.root = Path(tempfile.mkdtemp(dir="/tmp", prefix="flc"))
        self.home = self.root / "home"
        self.work = self.root / "work"
        self.fake = self.root / "fake"
        for folder in (self.home, self.work, self.fake):
            folder.mkdir()
        self.socket = str(self.root / "s")
        (self.home / "config.yaml").write_text(CONFIG)
        self.script(RULES)
        self.env = {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "HOME": str(self.root), "TERM": "xterm-256color",
            "FLEET_HOME": str(self.home), "FLEET_TMUX_SOCKET": self.socket,
        }  # fmt: skip
        self.fleet = Fleet(self.env)
        self.layout = self.fleet.layout
        self.count = 0
        self.shim = SHIM
        self.old = None  #: the agent that effects call OLD

    def script(self, rules, **client):
        """What the fake agents answer from now on."""
        text = json.dumps({"rules": rules, "client": {"swallow_gap_seconds": 0, **client}})
        write_file(str(self.root / "script.json"), text.encode())

    def close(self):
        """End every process that was started here, by its id."""
        for _ in range(5):
            left = [one for one in processes.naming(str(self.root)) if one[0] not in (os.getpid(), os.getppid())]
            if not left:
                break
            processes.kill_and_wait(left)
        shutil.rmtree(self.root, ignore_errors=True)

    # doing

    def argv(self, args, plan=None):
        """The command line of a command of fleet; with a plan, of one whose effects are named."""
        if plan is None:
            return [sys.executable, "-m", "fleet", *args]
        self.count += 1
        path = self.root / f"plan-{self.count}.json"
        path.write_text(json.dumps(plan))
        return [sys.executable, "-m", "tests.crash.effects", str(path), *args]

    def run(self, *args, plan=None, codes=(0,), seconds=SECONDS):
        """One command of fleet; *codes* it may end with, None for a SIGKILL."""
        done = subprocess.run(
            self.argv(args, plan), env=self.env, cwd=ROOT, capture_output=True, text=True, timeout=seconds
        )
        code = None if done.returncode == -9 else done.returncode
        assert code in codes, f"fleet {' '.join(args)}: status {code}\n{done.stdout}{done.stderr}"
        return done.stdout

    def start(self, *args, plan=None):
        """As `run`, without waiting."""
        return subprocess.Popen(
            self.argv(args, plan), env=self.env, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, start_new_session=True,
        )  # fmt: skip

    def plan(self, **fields):
        """A plan for `tests.crash.effects`; without `at` it only names the effects."""
        self.count += 1
        names = {self.old: "OLD"} if self.old else {}
        return {"log": str(self.root / f"effects-{self.count}.jsonl"), "home": str(self.home), "names": names,
                "socket": self.socket, "victim": "drain", **fields}  # fmt: skip

    def hook_plan(self, event, nth=1, **fields):
        """A plan for the *nth* hook of *event* from now on, of agents that were dispatched with the shim."""
        plan = self.plan(event=event, nth=nth, **fields)
        for name in ("hook-plan.json.calls", "hook-plan.json"):
            (self.root / name).unlink(missing_ok=True)
        new = self.root / "hook-plan.new"
        new.write_text(json.dumps(plan))
        new.rename(self.root / "hook-plan.json")
        return plan

    def effects(self, plan, *, looks=False):
        """The names of the effects that a run with *plan* had, in order."""
        with open(plan["log"], encoding="utf-8") as f:
            lines = [json.loads(line) for line in f]
        return [name for name, look in lines if name != "KILLED" and (looks or not look)]

    def killed(self, plan):
        """How many processes the plan's kill ended; None when it never came to it."""
        if not os.path.exists(plan["log"]):
            return None
        with open(plan["log"], encoding="utf-8") as f:
            return next((count for name, count in map(json.loads, f) if name == "KILLED"), None)

    def dispatch_args(self, task="t", prompt="begin\nSTUB: say=begun\nSTUB: usage=5000", wait="idle"):
        """The command line of a dispatch."""
        return (
            "dispatch", task, "--engine", "fake", "--cwd", str(self.work), "--wait", wait, "--timeout", str(SECONDS),
            "--env", f"FAKE_AGENT_HOME={self.fake}", "--env", f"FAKE_AGENT_SCRIPT={self.root / 'script.json'}",
            "--prompt", prompt,
        )  # fmt: skip

    def dispatch(self, task="t", *, shim=False, **more):
        """Start an agent and wait until it is idle; its id."""
        plan = {"home": str(self.home), "hook_launcher": SHIM} if shim else None
        self.run(*self.dispatch_args(task, **more), plan=plan)
        self.old = self.agent(task).id
        return self.old

    def order(self, agent_id):
        """Queue a handoff as the hook does, without a drain; the document."""
        with Held(self.layout, agent_id) as held:
            path = handoff.produce(
                self.layout, held.data, HandoffType.MANUAL, self.fleet.clock.wall(), context_pct=None
            )
        assert path is not None
        return path

    def spool(self, agent_id, text):
        """A message put down for an agent or its successor, without a drain."""
        return send(self.fleet, self.fleet.agents.get(agent_id) or self.fleet.agents.archived(agent_id), text)

    def settle(self, task="t"):
        """Wait until all drains are over and the task's agent is idle."""
        self.quiet()
        wait_for(
            lambda: self.turn(task) == Turn.IDLE, SECONDS, lambda: f"{task} idle: {self.turn(task)}", poll_seconds=0.05
        )

    def turn(self, task="t"):
        """What fleet says that the task's agent is doing."""
        return self.fleet.looker().see(self.agent(task)).state.turn

    def composer(self, agent_id):
        """What the screen of an agent shows of its composer."""
        agent = self.fleet.agents.get(agent_id)
        return engine("fake").composer(self.fleet.panes_on(self.socket).capture(agent.pane_id, styled=True))

    def is_waiting_for_keys(self, agent_id):
        """Whether its composer is empty and no turn runs, by the screen alone."""
        composer = self.composer(agent_id)
        return composer.box == Box.EMPTY and not composer.working

    def type(self, agent_id, text):
        """Prompt an agent as a person does."""
        panes, pane_id = self.fleet.panes_on(self.socket), self.fleet.agents.get(agent_id).pane_id
        panes.paste(pane_id, text.encode())
        wait_for(lambda: text in " ".join(self.composer(agent_id).text.split()), SECONDS, f"{text} in the composer")
        panes.enter(pane_id)

    def drain(self, *how, codes=(0, 1)):
        """One more pass, by another process than any before."""
        return self.run("drain", *(how or ("--once",)), codes=codes)

    def drain_patiently(self, *how):
        """A pass to which a hook that has not ended within HOOK_SECONDS (as a rule: ten) counts as dead."""
        plan = {"home": str(self.home), "hook_seconds": HOOK_SECONDS}
        return self.run("drain", *how, plan=plan, codes=(0, 1))

    def quiet(self):
        """Wait until no drain runs, as the hooks and commands start some."""
        wait_for(lambda: not DrainLock(self.layout, self.fleet.clock).is_held(), SECONDS, "the end of all drains")

    # looking

    def agent(self, task="t"):
        """The one live agent of a task."""
        found = [a for a in self.fleet.agents.living().agents if a.task_id == task]
        assert len(found) == 1, f"agents of {task}: {found}"
        return found[0]

    def at_work(self, task="t"):
        """The engines of a task, by process."""
        return [p for p in processes.of_home(str(self.home)) if p.task == task and p.kind == "engine"]

    def gates(self):
        """Processes that are held at their gate."""
        return [p for p in processes.of_home(str(self.home)) if p.kind == "gate"]

    def sessions(self):
        """The names of all tmux sessions."""
        done = subprocess.run(
            ["tmux", "-S", self.socket, "list-sessions", "-F", "#{session_name}"], capture_output=True, text=True
        )
        return sorted(done.stdout.split())

    def servers(self):
        """The tmux servers on our socket's path."""
        return [pid for pid in processes.pids() if is_server(pid, self.socket)]

    def transcripts(self):
        """What was said in every conversation, by one engine process each: [(kind, text)], oldest first."""
        found = {}
        for path in sorted(self.fake.glob("projects/*/*.jsonl")):
            said = [(one.kind, one.text) for one in transcript.backwards("fake", str(path))]
            found[path.stem] = said[::-1]
        return found

    def state(self):
        """For failures: what is there."""
        lines = []
        for folder, _, files in os.walk(self.home):
            lines += [os.path.join(os.path.relpath(folder, self.home), name) for name in files]
        for folder in (self.layout.events, os.path.join(self.layout.events, "archive"), self.layout.attempts):
            newest = sorted(os.listdir(folder), key=lambda name: os.stat(os.path.join(folder, name)).st_mtime)
            for name in newest[-1:]:
                path = os.path.join(folder, name)
                if os.path.isfile(path):
                    with open(path, encoding="utf-8") as f:
                        lines.append(f"-- {name}\n{f.read()[-3000:]}")
        return "\n".join([*sorted(lines), str(self.sessions()), str(processes.of_home(str(self.home)))])

    # judging

    def monitor(self, *tasks):
        """Watches from now on; *tasks* must be worked on or be in the queue at any moment."""
        return Monitor(self.layout, tasks or ("t",)).also(processes.of_home(str(self.home)))

    def check_tidy(self, tasks=("t",)):
        """On every task exactly one engine is at work, and nothing is left of anybody else."""
        living = self.fleet.agents.living()
        assert not living.bad
        assert sorted(tasks) == sorted(a.task_id for a in living.agents), [a.id for a in living.agents]
        ids = {a.id for a in living.agents}
        for agent in living.agents:
            working = self.at_work(agent.task_id)
            assert [(agent.pid, agent.id)] == [(p.pid, p.agent) for p in working], working
            start = launch.read(self.layout, agent.id)
            assert launch.is_started(self.layout, agent.id, start["nonce"])
        marks = {f"{p.agent}" for p in processes.of_home(str(self.home)) if p.leader and p.kind in ("engine", "gate")}
        assert ids == marks
        assert [] == self.gates()
        assert sorted("fleet-" + one for one in ids) == self.sessions()
        assert [] == leftovers(self.layout, ids)

    def check_resumed(self, text, *, again=False):
        """One engine process got the prompt that holds *text*, once; several did, each once, when *again*."""
        told = [sum(kind == "prompt" and text in one for kind, one in said) for said in self.transcripts().values()]
        told = [count for count in told if count]
        assert {1} == set(told), told
        assert again or len(told) == 1, told

    def queued(self):
        """What is in the queue."""
        return [name for name in os.listdir(self.layout.queue) if name.endswith(".json")]

    def forget_transcripts(self):
        """Begin anew with what was said."""
        shutil.rmtree(self.fake)
        self.fake.mkdir()

    def spooled(self, agent_id):
        """The files in an agent's spool."""
        return messages.names(self.layout.spool(agent_id))

    def messages(self, tag):
        """The texts with *tag* that engines were handed, in the order they got them."""
        found = []
        for said in self.transcripts().values():
            for kind, text in said:
                if kind in ("injected", "feedback"):
                    found += [word for word in text.split() if word.startswith(tag)]
        return found
