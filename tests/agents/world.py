"""One fleet home, one tmux server and one engine, driven by the real command line as an operator would."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from fleet.formats.atomic import write_file

CACHE = Path(os.environ.get("FLEET_TEST_CACHE") or Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
             / "tmux-fleet-tests")  # fmt: skip
CLIENTS = CACHE / "clients" / "node_modules"
PROGRAMS = {
    "claude-code": ("claude", "@anthropic-ai/claude-code-*/claude"),
    "codex": ("codex", "@openai/codex/bin/codex.js"),
    "gemini": ("gemini", "@google/gemini-cli/bundle/gemini.js"),
    "opencode": ("opencode", "opencode-*64/bin/opencode"),
}
PATIENCE_SECONDS = 40  #: at most, for what is waited for; of a real client on a busy machine REAL_PATIENCE_SECONDS
REAL_PATIENCE_SECONDS = 100
START_SECONDS = "150"


def program(engine):
    """The installed real client, or None."""
    found = sorted(CLIENTS.glob(PROGRAMS[engine][1]))
    return found[0] if found else None


class World:
    """Everything of one test lies in one short folder and ends with it."""

    def __init__(self, engine, stub):
        self.engine = engine
        self.stub = stub
        self.patience = PATIENCE_SECONDS if engine == "fake" else REAL_PATIENCE_SECONDS
        self.started = []
        self.root = Path(tempfile.mkdtemp(prefix="fl", dir="/tmp"))
        self.home = self.root / "h"
        self.project = self.root / "p"
        self.fleet_home = self.root / "f"
        self.socket = str(self.root / "s")
        self.bin = self.root / "bin"
        for folder in (self.home, self.project, self.bin, self.fleet_home):
            folder.mkdir(mode=0o700)
        self.env = {
            "HOME": str(self.home), "PATH": f"{self.bin}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "TERM": "xterm-256color", "LANG": "C.UTF-8", "TMPDIR": str(self.root),
            "FLEET_HOME": str(self.fleet_home), "FLEET_TMUX_SOCKET": self.socket,
        }  # fmt: skip
        getattr(self, "_prepare_" + engine.partition("-")[0])()

    def _prepare_claude(self):
        from tests.stub import claude_home

        (self.bin / "claude").symlink_to(program("claude-code"))
        claude_home.seed(self.home, [self.project])
        client = claude_home.environment(self.home, self.stub.port)
        self.env |= {k: v for k, v in client.items() if k not in ("PATH", "HOME")}

    def _prepare_codex(self):
        from tests.stub import codex_home

        (self.bin / "codex").symlink_to(program("codex"))
        client = codex_home.seed(self.home, self.stub.port, [self.project])
        config = self.home / ".codex" / "config.toml"
        text = config.read_text().replace('"never"', '"on-request"').replace("danger-full-access", "workspace-write")
        config.write_text(text)
        self.env |= {k: v for k, v in client.items() if k not in ("PATH", "HOME")}

    def _prepare_gemini(self):
        from tests.stub import gemini_home

        (self.bin / "gemini").symlink_to(program("gemini"))
        client = gemini_home.seed(self.home, self.stub.port, [self.project])
        self.env |= {k: v for k, v in client.items() if k not in ("PATH", "HOME")}

    def _prepare_opencode(self):
        from tests.stub import opencode_home

        (self.bin / "opencode").symlink_to(program("opencode"))
        client = opencode_home.seed(self.home, self.stub.port, packages=CLIENTS.parent / "opencode-config")
        self.env |= {k: v for k, v in client.items() if k not in ("PATH", "HOME")}

    def _prepare_fake(self):
        self.script = self.root / "script.json"
        self.script.write_text("{}")
        self.env |= {"FAKE_AGENT_HOME": str(self.root / "fake"), "FAKE_AGENT_SCRIPT": str(self.script)}

    # the operator's hands

    def run(self, *args, stdin=None, timeout=180):
        """`fleet ARGS`; the finished process."""
        return subprocess.run([sys.executable, "-m", "fleet", *args], env=self.env, cwd=self.project, timeout=timeout,
                              capture_output=True, input=stdin if isinstance(stdin, bytes) or stdin is None else stdin.encode())  # fmt: skip

    def start(self, *args):
        """`fleet ARGS` in the background; what it says is part of the story."""
        with open(self.root / "said", "ab") as said:
            process = subprocess.Popen([sys.executable, "-m", "fleet", *args], env=self.env, cwd=self.project,
                                       stdout=subprocess.DEVNULL, stderr=said, stdin=subprocess.DEVNULL)  # fmt: skip
        self.started.append(process)
        return process

    def fleet(self, *args, stdin=None, code=0, timeout=180):
        """`fleet ARGS` that must end with *code*; what it printed."""
        done = self.run(*args, stdin=stdin, timeout=timeout)
        assert code == done.returncode, (
            args,
            done.returncode,
            done.stdout.decode(),
            done.stderr.decode(),
            self.story(),
        )
        return done.stdout.decode()

    def json(self, *args, stdin=None, code=0):
        """The same with --json."""
        return json.loads(self.fleet(args[0], "--json", *args[1:], stdin=stdin, code=code))

    def dispatch(self, task, prompt, *args, wait="idle"):
        """Start an agent; its view."""
        model = ["--model", "claude-sonnet-4-5"] if self.engine in ("claude-code", "fake") else []
        return self.json("dispatch", task, "--engine", self.engine, "--prompt-file", "-", "--wait", wait, "--timeout",
                         START_SECONDS, *model, *args, stdin=prompt)  # fmt: skip

    def agents(self, task=None):
        """The live agents, those of one task."""
        return [a for a in self.json("list") if task in (None, a["task_id"])]

    def agent(self, task):
        """The only live agent of a task."""
        (found,) = self.agents(task)
        return found

    def events(self, agent_id, name=None):
        """An agent's events, oldest first."""
        found = self.json("events", agent_id)
        return [e for e in found if name in (None, e["event"])]

    def rules(self, *rules):
        """What the model answers from the next turn on: {"match", "do"}."""
        if self.engine == "fake":
            write_file(str(self.script), json.dumps({"rules": list(rules)}).encode())
        else:
            self.stub.stub.rules(list(rules))

    def config(self, text):
        """The user's settings."""
        (self.fleet_home / "config.yaml").write_text(text)

    # the person at the terminal

    def tmux(self, *args, stdin=None):
        """A tmux call on the test's server; what it printed."""
        done = subprocess.run(["tmux", "-u", "-S", self.socket, *args], capture_output=True, input=stdin, timeout=20)
        return done.stdout.decode("utf-8", "replace")

    def screen(self, agent):
        """The visible screen of an agent's pane."""
        return self.tmux("capture-pane", "-p", "-t", agent["pane_id"])

    def type(self, agent, text, *, enter=True):
        """Paste a person's text and press Enter when the composer shows its end."""
        self.tmux("load-buffer", "-b", "t", "-", stdin=text.encode())
        self.tmux("paste-buffer", "-p", "-r", "-d", "-b", "t", "-t", agent["pane_id"])
        tail = "".join(text.split())[-20:]
        self.until(lambda: tail in "".join(self.screen(agent).split()), f"the screen shows {tail!r}")
        if enter:
            self.settle()
            self.keys(agent, "Enter")

    def keys(self, agent, *keys):
        """Press keys by name."""
        self.tmux("send-keys", "-t", agent["pane_id"], *keys)

    @staticmethod
    def settle():
        """The gap that clients need between a paste and Enter (measured: 0.2 s); it cannot be observed."""
        time.sleep(0.25)

    # looking

    def until(self, condition, what, seconds=None):
        """The first true value of *condition*; fails with the whole story when there is none in time."""
        seconds = seconds or self.patience
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            value = condition()
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"not within {seconds} s: {what}\n{self.story()}")

    def state(self, task, state, reason=None):
        """Wait until the task's only agent is in that state; its view."""

        def there():
            found = self.agents(task)
            return found[0] if len(found) == 1 and (found[0]["state"], found[0]["reason"]) == (state, reason) else None

        return self.until(there, f"{task} is {state} ({reason})")

    def model_saw(self, text):
        """How many things in the latest request (or the fake's transcripts) hold *text*."""
        return sum(text in one for one in self.model_texts())

    def model_texts(self):
        """Every text of the latest request that has tools (a turn of the main loop); the fake's transcripts instead."""
        if self.engine == "fake":
            lines = [line for f in (self.root / "fake").rglob("*.jsonl") for line in f.read_text().splitlines()]
            return [
                t for line in lines for t in texts(json.loads(line).get("message", json.loads(line).get("attachment")))
            ]
        bodies = [entry["body"] for entry in self.stub.stub.log() if (entry.get("body") or {}).get("tools")]
        return list(texts(bodies[-1])) if bodies else []

    def engines(self):
        """
        The processes that are engines of ours, by what they run and where.

        A child of one that has not got to its own program yet still shows the engine's: it is none.
        """
        found = {}
        for stat in Path("/proc").glob("[0-9]*"):
            try:
                environ = (stat / "environ").read_bytes()
                argv = (stat / "cmdline").read_bytes().split(b"\0")
                parent = int((stat / "stat").read_bytes().rpartition(b")")[2].split()[1])
            except OSError:
                continue
            if f"FLEET_HOME={self.fleet_home}".encode() in environ and b"FLEET_AGENT_ID=" in environ:
                if b"--session-id" in argv or b"--resume" in argv or any(a.startswith(b"hooks.Stop") for a in argv):
                    found[int(stat.name)] = parent
        return [pid for pid, parent in found.items() if parent not in found]

    def story(self):
        """All there is to know, for a failing test."""
        parts = [self.tmux("list-panes", "-a", "-F", "#{session_name} #{pane_id} dead=#{pane_dead}")]
        for line in self.tmux("list-panes", "-a", "-F", "#{pane_id}").split():
            parts.append(
                f"--- {line}\n"
                + "\n".join(x[:150] for x in self.tmux("capture-pane", "-p", "-t", line).split("\n") if x.strip())[
                    -2500:
                ]
            )
        for path in sorted(self.fleet_home.rglob("*.jsonl")) + sorted(self.fleet_home.glob("logs/*.log")):
            parts.append(
                f"--- {path}\n" + "\n".join(x[:300] for x in path.read_text(errors="replace").splitlines()[-25:])
            )
        for path in sorted(self.fleet_home.glob("queue/**/*.json")):
            parts.append(f"--- {path}\n{path.read_text(errors='replace')}")
        for path in self.root.glob("said"):
            parts.append(f"--- {path}\n{path.read_text(errors='replace')}")
        return "\n".join(parts)

    def close(self):
        """End everything of this test, by id."""
        subprocess.run(
            [sys.executable, "-m", "fleet", "drain", "--stop"], env=self.env, capture_output=True, timeout=60
        )
        self.tmux("kill-server")
        for stat in Path("/proc").glob("[0-9]*"):
            try:
                mine = f"FLEET_HOME={self.fleet_home}".encode() in (stat / "environ").read_bytes()
            except OSError:
                continue
            if mine and int(stat.name) != os.getpid():
                try:
                    os.kill(int(stat.name), signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for process in self.started:
            process.wait(30)  # they have this home, too
        shutil.rmtree(self.root, ignore_errors=True)


def texts(value):
    """Every text in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from texts(one)
    elif isinstance(value, dict):
        for one in value.values():
            yield from texts(one)
