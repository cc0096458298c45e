"""A desk: a fleet, a person's tmux server of some version with some configuration, and terminals attached to it."""

import os
import shutil
import subprocess
import time

import pytest

from fleet.formats import events
from tests.agents.world import World
from tests.keys.terminal import Terminal
from tests.tmux.conftest import VERSIONS

#: What has broken other tools; the prefix is C-a, with a second one.
HOSTILE = """
set -g base-index 1
setw -g pane-base-index 1
set -g renumber-windows on
set -g default-shell {shell}
set -g mouse on
set -g status off
set -g prefix C-a
set -g prefix2 C-Space
bind C-a send-prefix
set -g remain-on-exit on
setw -g aggressive-resize on
set -g window-size smallest
set -g detach-on-destroy off
set -g status-keys vi
set -g no-such-option broken
bind -N 'my own note, it'"'"'s' F display-message 'mine; "all" #{{session_name}} \\$HOME'
bind -r g resize-pane -L 5 \\; display-message "two {{ }} %1"
bind -T fleet n display-message "my own table"
bind -T fleet z if-shell -F '#{{mouse}}' {{ display-message yes }} {{ display-message 'n o' }}
"""


class Desk(World):
    """A world whose tmux server is the person's own, and is there from the start."""

    def __init__(self, binary="tmux", config="", prefix=b"\x02"):
        super().__init__("fake", None)
        self.binary, self.prefix = binary, prefix
        self.env |= {"FLEET_TMUX_BIN": binary, "SHELL": "/bin/sh"}
        self.conf = self.root / "tmux.conf"
        self.conf.write_text(config)
        self.terminals = []
        self.boot()

    def boot(self):
        """Start the person's server: one session, `mine`."""
        subprocess.run([self.binary, "-u", "-S", self.socket, "-f", str(self.conf), "new-session", "-d", "-s", "mine",
                        "-x", "100", "-y", "30", "cat"], env=self.env, check=True, capture_output=True, timeout=20)  # fmt: skip

    def tmux(self, *args, stdin=None):
        done = subprocess.run([self.binary, "-u", "-S", self.socket, *args], capture_output=True, input=stdin, timeout=20,
                              env={**os.environ, "LANG": "C.UTF-8"})  # fmt: skip
        return done.stdout.decode("utf-8", "replace")

    def bindings(self):
        """All that is bound, with the notes."""
        return (
            self.tmux("list-keys"),
            self.tmux("list-keys", "-N", "-a", "-T", "prefix"),
            self.tmux("list-keys", "-N", "-T", "fleet"),
        )

    def options(self):
        """Every option that a person could have set."""
        return [
            self.tmux("show-options", *flags)
            for flags in (["-s"], ["-g"], ["-gw"], ["-t", "=mine:"], ["-w", "-t", "=mine:"])
        ]

    def sit(self, *args, width=100, height=30, env=None):
        """A terminal; without arguments a tmux client on `mine`."""
        argv = args or (self.binary, "-u", "-S", self.socket, "attach", "-t", "=mine")
        terminal = Terminal(argv, env={**self.env, **(env or {})}, width=width, height=height)
        self.terminals.append(terminal)
        if not args:
            self.until(lambda: self.tmux("list-clients", "-t", "=mine"), "the client is attached")
        return terminal

    def go(self, agent):
        """Switch the client on `mine` to the agent's session; without a name tmux may take the drain's own client."""
        client = self.tmux("list-clients", "-t", "=mine", "-F", "#{client_name}").strip()
        self.tmux("switch-client", "-c", client, "-t", agent["tmux_session"])

    def press(self, terminal, *keys):
        """Press keys one after the other, as slowly as a fast typist: keys in one read are no key presses to tmux."""
        for key in keys:
            terminal.keys(key)
            time.sleep(0.05)

    def fleet_key(self, terminal, key, behind="F"):
        """Prefix, our key, and one of the table."""
        self.press(terminal, self.prefix, behind, key)

    def agent_of(self, task, *, state=None, context=None):
        """A quick agent that runs `cat` in the place of its engine; *state* as its last report has it."""
        self.fleet("dispatch", task, "--engine", "command", "--", "cat")
        (agent,) = self.agents(task)
        path = self.fleet_home / "launch" / f"{agent['id']}.json"
        path.write_text(path.read_text().replace('"hooks": false', '"hooks": true'))
        if state:
            fields = {
                "waiting": ("StopFailure", {"error": "rate_limit"}),
                "working": ("UserPromptSubmit", {}),
                "idle": ("StopFailure", {"error": "x"}),
            }
            event, more = fields[state]
            events.append(str(self.fleet_home / "events" / f"{agent['id']}.jsonl"), time.time(), "hook", event, more)
        if context is not None:
            import json

            record = self.fleet_home / "agents" / f"{agent['id']}.json"
            record.write_text(json.dumps({**json.loads(record.read_text()), "context_pct": context}))
        return self.agents(task)[0]

    def client_session(self, number=0):
        """The session that a client looks at."""
        names = self.tmux("list-clients", "-F", "#{session_name}").split()
        return names[number] if len(names) > number else None

    def modes(self):
        """Panes that something put into a mode, such as the view mode of `run-shell`."""
        return [line for line in self.tmux("list-panes", "-a", "-F", "#{pane_mode}").splitlines() if line]

    def story(self):
        return "\n".join([*(t.screen() for t in self.terminals if os.path.exists(t.socket)), super().story()])

    def close(self):
        for terminal in self.terminals:
            terminal.close()
        super().close()
        subprocess.run([self.binary, "-S", self.socket, "kill-server"], capture_output=True, timeout=20)


def binary_of(name):
    found = VERSIONS[name]
    if not shutil.which(found):
        pytest.skip(f"tmux {name} is not there: scripts/get-tmux")
    return found


EACH_VERSION = [
    pytest.param("installed"),
    pytest.param("3.5a", marks=pytest.mark.versions(turn=0)),
    pytest.param("3.8", marks=pytest.mark.versions(turn=1)),
]


@pytest.fixture(params=EACH_VERSION)
def desk(request):
    """Each version of tmux, as it comes."""
    one = Desk(binary_of(request.param))
    yield one
    one.close()


@pytest.fixture(params=[
    pytest.param(("installed", "fish")),
    pytest.param(("3.5a", "zsh"), marks=pytest.mark.versions(turn=0)),
    pytest.param(("3.8", "fish"), marks=pytest.mark.versions(turn=1)),
], ids=str)  # fmt: skip
def hostile(request):
    """Each version with a configuration that breaks things, and another shell."""
    version, shell = request.param
    path = shutil.which(shell)
    if not path:
        pytest.skip(f"{shell} is not installed")
    one = Desk(binary_of(version), HOSTILE.format(shell=path), prefix=b"\x01")
    yield one
    one.close()
