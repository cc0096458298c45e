"""Doubles of the ports. `MemoryPanes` keeps sessions in memory and runs their programs for real, in pseudo-terminals."""

import os
import re
import signal
import subprocess
import threading

from fleet.errors import Unreachable
from fleet.formats.ids import session_name
from fleet.formats.states import Existence
from fleet.tmux.tty import terminal
from fleet.model.panes import Duplicate, Pane, Snapshot, snapshot_of

BRACKETED_ON, BRACKETED_OFF = b"\x1b[?2004h", b"\x1b[?2004l"


class _Session:
    def __init__(self, number, agent_id, argv, cwd, environment):
        self.number, self.agent_id, self.home = number, agent_id, environment["FLEET_HOME"]
        master, slave = os.openpty()
        env = {**os.environ, **environment, "TERM": "screen"}
        self.process = subprocess.Popen(argv, cwd=cwd if os.path.isdir(cwd) else "/", env=env, stdin=slave, stdout=slave,
                                        stderr=slave, start_new_session=True,
                                        preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL))  # fmt: skip
        self.terminal = os.ttyname(slave)
        os.close(slave)
        self.master, self.output = master, b""
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self):
        try:
            while data := os.read(self.master, 65536):
                self.output += data
        except OSError:
            pass

    def pane(self):
        status = self.process.poll()
        ended, killed = status is not None, status is not None and status < 0
        return Pane(f"${self.number}", f"@{self.number}", f"%{self.number}", self.process.pid, os.getpid(), ended,
                    status if ended and not killed else None, -status if killed else None, False, 0, "3.4",
                    self.agent_id, session_name(self.agent_id), self.home)  # fmt: skip


class MemoryPanes:
    """The port `Panes` without tmux. `blind` makes every look fail, as a server that does not answer."""

    def __init__(self, socket="memory"):
        self.socket = socket
        self.blind = False
        self._sessions = {}
        self._count = 0

    def _looking(self):
        if self.blind:
            raise Unreachable("the server does not answer")

    def snapshot(self):
        if self.blind:
            return Snapshot(error="the server does not answer")
        return snapshot_of([s.pane() for s in self._sessions.values()])

    def existence(self, session):
        if self.blind:
            return Existence.UNKNOWN
        return Existence.ALIVE if session in self._sessions else Existence.GONE

    def open(self, agent_id, argv, *, cwd, environment):
        self._looking()
        name = session_name(agent_id)
        if name in self._sessions:
            raise Duplicate(f"session {name} is there already")
        self._count += 1
        self._sessions[name] = _Session(self._count, agent_id, list(argv), cwd, environment)
        return self._sessions[name].pane()

    def end(self, agent_id):
        self._looking()
        session = self._sessions.pop(session_name(agent_id), None)
        if session is not None:
            if session.process.poll() is None:
                os.killpg(session.process.pid, 1)
            os.close(session.master)
            session.process.wait(10)

    def close(self, pane):
        self._looking()
        if pane.mark in {s.agent_id for s in self._sessions.values()}:
            self.end(pane.mark)

    def _of(self, pane_id):
        self._looking()
        for session in self._sessions.values():
            if session.pane().pane_id == pane_id:
                return session
        raise Unreachable(f"can't find pane: {pane_id}")

    def collect(self):
        pass

    def capture(self, pane_id, *, styled=False, history=0):
        text = self._of(pane_id).output.decode("utf-8", "replace")
        text = text if styled else re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", text)
        lines = [line.rstrip("\r") for line in text.split("\n")]
        while lines and not lines[-1].strip():
            lines.pop()
        return lines[-(50 + history) :]

    def paste(self, pane_id, data, *, bracketed=True):
        session = self._of(pane_id)
        whole = b"\x1b[200~" + data + b"\x1b[201~" if bracketed and self.bracketed(pane_id) else data
        while whole:
            whole = whole[os.write(session.master, whole) :]

    def bracketed(self, pane_id):
        output = self._of(pane_id).output
        return output.rfind(BRACKETED_ON) > output.rfind(BRACKETED_OFF)

    def terminal(self, pane_id):
        return terminal(self._of(pane_id).terminal)

    def enter(self, pane_id):
        os.write(self._of(pane_id).master, b"\r")

    def press(self, pane_id, key):
        os.write(self._of(pane_id).master, {"Up": b"\x1b[A", "Down": b"\x1b[B"}[key])

    def size(self, pane_id):
        self._of(pane_id)
        return 220, 50

    def make_room(self, pane_id, *, full=False):
        self._of(pane_id)
        return False

    def end_all(self):
        self.blind = False
        for session in list(self._sessions.values()):
            self.end(session.agent_id)
