"""
A bench for terminal clients: one pane on a tmux server of its own, and hooks that write down what they are told.

The same bench holds the fake agent and the real Claude Code, so that one test can be put to both.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import termios
import time
from pathlib import Path

from tests.stub import claude_home

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures" / "real"
DEADLINE_SECONDS = 15
SGR = re.compile(r"\x1b\[([0-9;]*)m")
HOOK = """\
#!/bin/sh
cd {folder} || exit 1
payload=$(cat)
if [ -n "$CLAUDE_PROJECT_DIR" ]; then env > "env-$1.$$"; mv "env-$1.$$" "env-$1"; fi  # whole, before the event tells of it
printf '%s\\n' "$payload" >> events.jsonl
if [ -f "once-$1" ]; then mv "once-$1" "used-$1"; . "./used-$1"
elif [ -f "always-$1" ]; then . "./always-$1"
fi
"""


def until(condition, what="the condition", seconds=DEADLINE_SECONDS):
    """The first true value of *condition*; fails loudly when there is none in time."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.01)


def fixture(name):
    """A recorded payload of the real client."""
    return json.loads((FIXTURES / f"{name}.json").read_text())


class Hooks:
    """Hooks that record every payload, and answer what a test prepared: *says* from the first event on."""

    def __init__(self, folder, says=None):
        self.folder = folder
        folder.mkdir()
        self.log = folder / "events.jsonl"
        self.log.touch()
        self.command = folder / "hook.sh"
        self.command.write_text(HOOK.format(folder=folder))
        self.command.chmod(0o755)
        for event, value in (says or {}).items():
            self.says(event, value)

    def settings(self, timeouts=None, **more):
        settings = claude_home.hook_settings(str(self.command)) | more
        for event, seconds in (timeouts or {}).items():
            settings["hooks"][event][0]["hooks"][0]["timeout"] = seconds
        return settings

    def events(self, name=None):
        lines = self.log.read_text().splitlines(keepends=True)
        events = [json.loads(line) for line in lines if line.endswith("\n")]
        return [event for event in events if name in (None, event["hook_event_name"])]

    def names(self, since=0):
        """The sequence of events; MessageDisplay comes in any order with Stop and is left out."""
        names = [event["hook_event_name"] for event in self.events()]
        return [name for name in names[since:] if name != "MessageDisplay"]

    def said(self, event, script, *, always=False):
        """The hook of *event* runs this shell script the next time, or every time."""
        path = self.folder / f"{'always' if always else 'once'}-{event}"
        temporary = self.folder / "new"
        temporary.write_text(script)
        temporary.rename(path)

    def says(self, event, value, *, always=False):
        """The hook of *event* prints this."""
        text = value if isinstance(value, str) else json.dumps(value)
        self.said(event, f"cat <<'END_OF_TEXT'\n{text}\nEND_OF_TEXT\n", always=always)

    def stops_saying(self, event):
        (self.folder / f"always-{event}").unlink()

    def environment(self, event):
        lines = (self.folder / f"env-{event}").read_text().splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)


class Pane:
    """One program in one pane."""

    def __init__(self, folder, project, argv, env, *, columns=100, rows=40):
        self.socket = folder / "s"
        self.pids = []
        inner = ["env", "-i", *[f"{name}={value}" for name, value in env.items()], *argv]
        keep = ["new-session", "-d", "-s", "keep", "-x", "80", "-y", "24", "sleep 600", ";"]
        stay = ["set-option", "-g", "remain-on-exit", "on", ";"]
        size = ["-x", str(columns), "-y", str(rows)]
        self.tmux(*keep, *stay, "new-session", "-d", "-s", "a", *size, "-c", str(project), *inner)
        self.pid = int(self.display("#{pane_pid}"))
        self.pids.append(self.pid)

    def tmux(self, *words, text=None):
        done = subprocess.run(
            ["tmux", "-f", "/dev/null", "-S", self.socket, *words], input=text, capture_output=True, text=True
        )
        if done.returncode:
            raise AssertionError(f"tmux {words[0]}: {done.stderr}")
        return done.stdout

    def display(self, what):
        return self.tmux("display-message", "-p", "-t", "a:", what).strip()

    def capture(self, *, styled=False):
        return self.tmux("capture-pane", "-p", *(["-e"] if styled else []), "-t", "a:")

    def title(self):
        return self.display("#{pane_title}")

    def is_dead(self):
        return self.display("#{pane_dead}") == "1"

    def is_raw(self):
        """Whether the program takes every key itself."""
        fd = os.open(self.display("#{pane_tty}"), os.O_RDONLY | os.O_NOCTTY)
        try:
            return not termios.tcgetattr(fd)[3] & termios.ICANON
        finally:
            os.close(fd)

    def exit_status(self):
        """How the program ended, once it has."""
        until(self.is_dead, lambda: f"the end of the program; the pane shows:\n{self.capture()}")

        def status():
            # tmux 3.3a can miss the end of a child and shows no status until another one ends: start one.
            self.tmux("run-shell", "true")
            return self.display("#{pane_dead_status}")

        return int(until(status, "the exit status"))

    def key(self, *keys):
        self.tmux("send-keys", "-t", "a:", *keys)

    def type(self, text):
        self.tmux("send-keys", "-t", "a:", "-l", "--", text)

    def paste(self, text):
        self.tmux("load-buffer", "-b", "test", "-", text=text)
        self.tmux("paste-buffer", "-p", "-r", "-d", "-b", "test", "-t", "a:")

    def shows(self, text):
        until(lambda: text in self.capture(), lambda: f"{text!r} in the pane:\n{self.capture()}")

    def signal(self, number=signal.SIGTERM):
        os.kill(self.pid, number)

    def close(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)
        for pid in self.pids:
            try:
                until(lambda pid=pid: not alive(pid), seconds=5)
            except AssertionError:
                os.kill(pid, signal.SIGKILL)


def alive(pid):
    """Whether a process exists that has not ended."""
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True)
    return done.stdout.strip() not in ("",) and not done.stdout.strip().startswith("Z")


class Client:
    """A client in a pane, with recording hooks."""

    def __init__(self, folder, project, hooks, argv, env, config):
        self.hooks = hooks
        self.project = project
        self.config = config  #: The folder that holds `projects/`.
        self.argv = argv
        self.env = env
        self.pane = Pane(folder, project, argv, env)

    def ready(self):
        """Wait until it takes prompts."""
        self.event("SessionStart")
        until(lambda: self.composer() is not None, lambda: f"a composer in:\n{self.pane.capture()}")
        return self

    def event(self, name, count=1, seconds=DEADLINE_SECONDS):
        """The event *name* for the *count*-th time."""

        def seen():
            events = self.hooks.events(name)
            return events[count - 1] if len(events) >= count else None

        return until(
            seen,
            lambda: f"{name} number {count}; there was {self.hooks.names()}\n{self.pane.capture()}",
            seconds,
        )

    def composer(self):
        """What is typed, as a reader of the screen sees it; None when there is no composer."""
        return read_composer(self.pane.capture(styled=True))

    def write(self, text):
        """Paste *text* into the composer and wait until it is there."""
        self.pane.paste(text)
        last = "".join(text.splitlines()[-1].split())[-60:]  # a long line is wrapped where it fits

        def written():
            shown = self.composer() or ""
            return last in "".join(shown.split()) or "[Pasted text #" in shown

        until(written, lambda: f"{last!r} in the composer:\n{self.pane.capture()}")

    def send(self, text):
        """Write a prompt and press Enter until it is gone from the composer (the first may be swallowed)."""
        self.write(text)
        self.submit()

    def submit(self):
        for _ in range(4):
            self.pane.key("Enter")
            try:
                until(lambda: not self.composer(), seconds=1)
                return
            except AssertionError:
                continue
        raise AssertionError(f"the prompt stays in the composer:\n{self.pane.capture()}")

    def turn(self, text):
        """Send a prompt and wait for its Stop."""
        count = len(self.hooks.events("Stop"))
        self.send(text)
        return self.event("Stop", count + 1)

    def idle(self):
        """Wait until no spinner turns."""
        until(lambda: self.pane.title().startswith("✳"), lambda: f"an idle title, not {self.pane.title()!r}")

    def transcript(self, session_id=None):
        """The records of a session, by default of the one of the last event."""
        path = self.transcript_path(session_id)
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        return [json.loads(line) for line in lines if line.endswith("\n")]

    def transcript_path(self, session_id=None):
        last = self.hooks.events()[-1]
        path = Path(last["transcript_path"])
        return path if session_id is None else path.with_name(f"{session_id}.jsonl")

    def record(self, wanted, what="a record"):
        """The first record that *wanted* accepts, once there is one."""
        return until(
            lambda: next((record for record in self.transcript() if wanted(record)), None),
            lambda: f"{what} in {[kind(record) for record in self.transcript()]}",
        )

    def kinds(self):
        return [kind(record) for record in self.transcript()]


def kind(record):
    """What sort of record it is: its type, and what tells it apart within."""
    detail = record.get("subtype") or record.get("operation") or (record.get("attachment") or {}).get("type")
    return f"{record['type']}:{detail}" if detail else record["type"]


def text_of(record):
    """The text of a message record."""
    content = record["message"]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def read_composer(capture):
    """The text between the two rules, without placeholder; None when the screen has no composer."""
    lines = capture.rstrip("\n").split("\n")
    rules = [at for at, line in enumerate(lines) if set(SGR.sub("", line).strip()) == {"─"}]
    if len(rules) < 2:
        return None
    box = lines[rules[-2] + 1 : rules[-1]]
    if not box or not SGR.sub("", box[0]).startswith("❯\u00a0"):
        return None
    if any("2" in codes.split(";") for line in box for codes in SGR.findall(line)):
        return ""  # a placeholder is dim
    return "\n".join(SGR.sub("", line)[2:].rstrip() for line in box)


class Fake:
    """How to start the fake agent on the bench."""

    name = "fake"

    def __init__(self, folder):
        self.folder = folder

    def start(self, *words, settings=None, timeouts=None, script=None, env=None, mode="bypassPermissions", says=None):
        """A running client; *words* go to its command line, and *says* is what its hooks answer from the start."""
        hooks = Hooks(self.folder / "hooks", says)
        project = self.folder / "project"
        project.mkdir()
        config = self.folder / "config"
        settings_path, script_path = self.folder / "settings.json", self.folder / "script.json"
        settings_path.write_text(json.dumps(hooks.settings(timeouts, **(settings or {}))))
        script = script or {}
        client = {"swallow_gap_seconds": 0} | script.get("client", {})
        script_path.write_text(json.dumps(script | {"client": client}))
        argv = [sys.executable, "-m", "fleet.fakeagent", "--settings", str(settings_path)]
        argv += ["--script", str(script_path), "--permission-mode", mode, *words]
        base = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "LANG": "C.UTF-8"}
        base |= {"PYTHONPATH": str(ROOT), "FAKE_AGENT_HOME": str(config), "CLAUDE_CODE_MAX_RETRIES": "1"}
        return Client(self.folder, project, hooks, argv, base | (env or {}), config)


class Claude:
    """How to start the real Claude Code on the bench, against the stub at *port*."""

    name = "claude"

    def __init__(self, folder, binary, port):
        self.folder = folder
        self.binary = binary
        self.port = port

    def start(self, *words, settings=None, timeouts=None, script=None, env=None, mode="bypassPermissions", says=None):
        """As `Fake.start`; a script cannot be played to the real client."""
        assert script is None
        hooks = Hooks(self.folder / "hooks", says)
        project = self.folder / "project"
        project.mkdir()
        home = self.folder / "claude-home"
        claude_home.seed(home, [project], settings=hooks.settings(timeouts, **(settings or {})))
        argv = [self.binary, "--model", "claude-sonnet-4-5", "--permission-mode", mode, *words]
        base = claude_home.environment(home, self.port) | {"CLAUDE_CODE_MAX_RETRIES": "1"}
        return Client(self.folder, project, hooks, argv, base | (env or {}), home / ".claude")
