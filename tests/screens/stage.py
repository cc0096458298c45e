"""One real client in one pane of a tmux server of its own, and what stands on its screen. For the recorder only."""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path

from tests.agents.world import CLIENTS
from tests.stub import claude_home, codex_home, gemini_home, opencode_home
from tests.stub.server import StubServer

HEIGHTS = {60: 30, 100: 40, 220: 50}
PATIENCE_SECONDS = 30
PROGRAMS = {
    "claude-code": "@anthropic-ai/claude-code-*/claude",
    "codex": "@openai/codex-*/vendor/*/bin/codex",
    "gemini": "@google/gemini-cli/bundle/gemini.js",
    "opencode": "opencode-*64/bin/opencode",
}


class NotShown(Exception):
    """What a case waits for did not appear."""


class Stage:
    """A fresh home, project and client for every `launch`; `close` ends all of it."""

    def __init__(self, engine, width):
        self.engine, self.width = engine, width
        # a short name that is always the same: it is in the pictures
        self.root = Path(f"/tmp/screens-{engine[:2]}{width:03}")
        shutil.rmtree(self.root, ignore_errors=True)
        self.home, self.project = self.root / "home", self.root / "shop"
        self.socket = str(self.root / "s")
        self._server = StubServer()
        self.model = self._server.__enter__().stub
        self.port = self._server.port
        self.env = {}

    def close(self):
        """End the pane, the server and the folder."""
        self._end()
        self._server.__exit__(None, None, None)
        shutil.rmtree(self.root, ignore_errors=True)

    def _end(self):
        """Kill what runs in the pane, and everything it started: they carry our TMPDIR."""
        mark = f"TMPDIR={self.root}\0".encode()
        for stat in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (stat / "environ").read_bytes() and (stat / "comm").read_text().strip() != "tmux: server":
                    os.kill(int(stat.name), signal.SIGKILL)
            except OSError:
                continue
        self.tmux("kill-server")

    def tmux(self, *args, stdin=None):
        """A tmux call; what it printed."""
        done = subprocess.run(
            ["tmux", "-u", "-f", "/dev/null", "-S", self.socket, *args], env=self.env or None, capture_output=True,
            input=stdin, timeout=20,
        )  # fmt: skip
        return done.stdout.decode("utf-8", "replace")

    # the client

    def fresh(self):
        """An empty project, and a home in which nothing asks anything."""
        self._end()
        for folder in (self.home, self.project):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, mode=0o700)
        (self.project / "parser.py").write_text("def parse(text):\n    return text.split()\n")
        self.model.reset()
        self.env = getattr(self, f"_home_of_{self.engine.partition('-')[0]}")()
        self.env["TMPDIR"] = str(self.root)

    def _home_of_claude(self):
        claude_home.seed(self.home, [self.project])
        return claude_home.environment(self.home, self.port)

    def _home_of_codex(self):
        env = codex_home.seed(self.home, self.port, [self.project])
        config = self.home / ".codex" / "config.toml"
        config.write_text(
            config.read_text().replace('"never"', '"on-request"').replace("danger-full-access", "read-only")
        )
        return env

    def _home_of_gemini(self):
        return gemini_home.seed(self.home, self.port, [self.project])

    def _home_of_opencode(self):
        return opencode_home.seed(self.home, self.port, config={"permission": {"edit": "ask", "bash": "ask"}})

    def edit_json(self, path, **changes):
        """Change a JSON file of the home; a value of None takes a key away."""
        path = self.home / path
        data = json.loads(path.read_text()) if path.exists() else {}
        data = {k: v for k, v in {**data, **changes}.items() if v is not None}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(data))

    def launch(self, *args, env=None, prompt=None):
        """Start the client in the pane; what ended stays on the screen."""
        found = sorted(CLIENTS.glob(PROGRAMS[self.engine]))
        if not found:
            raise NotShown(f"the real {self.engine} is not installed: scripts/get-clients")
        argv = ["node", str(found[0])] if found[0].suffix == ".js" else [str(found[0])]
        self.env |= env or {}
        self.env = {k: v for k, v in self.env.items() if v is not None}
        argv += [*args, *([prompt] if prompt else [])]
        self.tmux("new-session", "-d", "-x", str(self.width), "-y", str(HEIGHTS[self.width]), "-c", str(self.project),
                  "--", *argv, ";", "set-option", "-w", "remain-on-exit", "on")  # fmt: skip

    def answer(self, *rules):
        """What the model answers: (words of the prompt, directives) each."""
        self.model.rules([{"match": re.escape(words), "do": do} for words, do in rules])

    # the person at the terminal

    def keys(self, *keys):
        """Press keys by name, one after the other as a person would."""
        for key in keys:
            self.tmux("send-keys", key)
            time.sleep(0.15)

    def paste(self, text):
        """Paste a text, without Enter."""
        self.tmux("load-buffer", "-b", "t", "-", stdin=text.encode())
        self.tmux("paste-buffer", "-p", "-r", "-d", "-b", "t")
        time.sleep(0.4)

    def type(self, text):
        """Type a text, without Enter."""
        self.tmux("send-keys", "-l", text)
        time.sleep(0.4)

    def say(self, text):
        """A prompt, with Enter."""
        self.paste(text)
        self.keys("Enter")

    # the screen

    def screen(self):
        """The visible screen as plain text."""
        return self.tmux("capture-pane", "-p")

    def styled(self):
        """The visible screen with its attributes, as it is recorded."""
        return self.tmux("capture-pane", "-p", "-e")

    def until(self, pattern, seconds=PATIENCE_SECONDS):
        """Wait until a regular expression is on the screen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if re.search(pattern, self.screen()):
                return
            time.sleep(0.05)
        raise NotShown(f"not within {seconds} s: {pattern!r}\n{self.screen()}")

    def still(self, seconds=0.8):
        """Wait until the screen has not changed for that long."""
        end = time.monotonic() + PATIENCE_SECONDS
        last, since = self.styled(), time.monotonic()
        while time.monotonic() < end:
            time.sleep(0.1)
            now = self.styled()
            if now != last:
                last, since = now, time.monotonic()
            elif time.monotonic() - since >= seconds:
                return
        raise NotShown(f"the screen does not come to rest\n{self.screen()}")

    def ended(self):
        """Wait until the client has ended."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if self.tmux("display-message", "-p", "#{pane_dead}").strip() == "1":
                return
            time.sleep(0.05)
        raise NotShown(f"the client goes on\n{self.screen()}")

    def asked(self, count=1):
        """Wait until the model was asked that often for a turn."""
        end = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < end:
            if sum("plan" in entry for entry in self.model.log()) >= count:
                return
            time.sleep(0.05)
        raise NotShown(f"the model was not asked {count} times\n{self.screen()}")


def versions():
    """The versions of the installed clients, by engine."""
    names = {"claude-code": "@anthropic-ai/claude-code", "codex": "@openai/codex", "opencode": "opencode-ai",
             "gemini": "@google/gemini-cli"}  # fmt: skip
    found = {}
    for engine, name in names.items():
        path = CLIENTS / name / "package.json"
        if os.path.exists(path):
            found[engine] = json.loads(path.read_text())["version"]
    return found
