"""How notices reach the operator: stand-in programs, a loopback server, a real tmux client; and nothing that hangs."""

import http.server
import json
import os
import pty
import shutil
import socket
import subprocess
import tempfile
import threading
import time

import pytest

from fleet.clock import SystemClock, wait_until
from fleet.drain import channels
from fleet.model.notices import Kind, Notice
from fleet.tmux.client import Tmux

ONE = Notice(Kind.WAITING, "a1b2c3d4", "fix #(touch evil) 95% asks", "Do it? $(touch evil) `x`")
CLOCK = SystemClock()


class Hook(http.server.BaseHTTPRequestHandler):
    got: list = []

    def do_POST(self):
        self.got.append((dict(self.headers), self.rfile.read(int(self.headers["Content-Length"]))))
        self.send_response(self.server.status)
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.fixture
def hook():
    """A webhook on loopback; its address and what it got."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.status, Hook.got = 200, []
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    server.address = f"http://127.0.0.1:{server.server_port}/topic"
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def test_ntfy_gets_the_text_and_a_title(hook):
    """A title beyond ASCII comes as RFC 2047, which ntfy reads; a line break in it makes no header."""
    channels.webhook(hook.address, "ntfy")(ONE._replace(title="fix\r\nX-Evil: 1 — é"))

    ((headers, body),) = Hook.got
    assert ONE.text.encode() == body
    assert headers["Title"].startswith("=?utf-8?") and "X-Evil" not in headers
    assert "waiting" == headers["Tags"]


def test_slack_gets_json(hook):
    """One field, `text`."""
    channels.webhook(hook.address, "slack")(ONE)

    assert {"text": f"*{ONE.title}*\n{ONE.text}"} == json.loads(Hook.got[0][1])


def test_a_refusing_webhook_is_told_of_and_the_next_goes_out(hook):
    """A channel survives whatever its send raises."""
    failed = []
    channel = channels.Channel("webhook", channels.webhook(hook.address, "ntfy"), lambda *told: failed.append(told))
    hook.status = 500
    channel.put(ONE)
    wait_until(lambda: failed, 10, clock=CLOCK, what="the failure is told")
    hook.status = 200
    channel.put(ONE)
    wait_until(lambda: len(Hook.got) == 2, 10, clock=CLOCK, what="the next one came")
    channel.close()

    assert [("webhook", "HTTP Error 500: Internal Server Error")] == failed


def test_a_webhook_that_hangs_delays_nobody():
    """Putting returns at once, what is too much is dropped, and closing waits a moment only."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        channel = channels.Channel("webhook", channels.webhook(url, "ntfy"), lambda *_: None)
        begun = time.monotonic()
        for _ in range(channels.MOST_WAITING * 3):
            channel.put(ONE)
        took = time.monotonic() - begun
        channel.close()

    assert took < 1.0
    assert channel.dropped >= channels.MOST_WAITING
    assert time.monotonic() - begun < channels.END_SECONDS + 2.0


@pytest.mark.parametrize("program", ["notify-send", "osascript"])
def test_the_desktop_gets_the_words_as_they_are(program, tmp_path):
    """As arguments of the program that is there; no shell and no script sees them."""
    stand_in = tmp_path / program
    stand_in.write_text('#!/bin/sh\nfor a; do printf "%s\\n" "$a"; done >"$OUT"\n')
    stand_in.chmod(0o755)
    out = tmp_path / "out"

    channels.desktop({"PATH": str(tmp_path), "OUT": str(out)})(ONE)

    assert [ONE.title, ONE.text] == out.read_text().splitlines()[-2:]


def test_no_program_for_the_desktop(tmp_path):
    """It says so."""
    with pytest.raises(FileNotFoundError, match="neither notify-send nor osascript"):
        channels.desktop({"PATH": str(tmp_path)})(ONE)


@pytest.fixture
def attached():
    """A tmux server with one client in a pseudo-terminal: the server, and what that terminal was sent."""
    folder = tempfile.mkdtemp(prefix="fn", dir="/tmp")
    tmux = Tmux(os.path.join(folder, "s"))
    tmux.do("-f", "/dev/null", "new-session", "-d", "-s", "x", "-x", "120", "-y", "20", "exec cat")
    master, slave = pty.openpty()
    client = subprocess.Popen(
        ["tmux", "-u", "-S", tmux.socket, "attach"], stdin=slave, stdout=slave, stderr=slave, cwd=folder,
        env={"TERM": "xterm-256color", "PATH": os.environ["PATH"], "LANG": "C.UTF-8"}, start_new_session=True,
    )  # fmt: skip
    os.close(slave)
    seen = bytearray()

    def read():
        try:
            while data := os.read(master, 65536):
                seen.extend(data)
        except OSError:
            pass

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    wait_until(lambda: tmux.ask("list-clients").out.strip(), 10, clock=CLOCK, what="a client is there")
    yield tmux, seen, folder
    tmux.ask("kill-server")
    client.wait(10)
    os.close(master)
    reader.join(5)
    shutil.rmtree(folder, ignore_errors=True)


def test_the_status_line_shows_words_and_runs_nothing(attached):
    """tmux expands `#(…)` of a message as a command: not of ours."""
    tmux, seen, folder = attached

    channels.status_line(lambda _: tmux)(ONE)

    wait_until(lambda: b"#(touch evil) 95% asks" in bytes(seen), 10, clock=CLOCK, what="the message is shown")
    assert not os.path.exists(os.path.join(folder, "evil"))


def test_the_bell_rings_in_the_terminal(attached):
    """Of every client."""
    tmux, seen, _ = attached
    before = bytes(seen).count(b"\a")

    channels.bell(lambda _: tmux)(ONE)

    wait_until(lambda: bytes(seen).count(b"\a") == before + 1, 10, clock=CLOCK, what="it rings")


def test_no_server_and_no_client_is_nothing_to_do(tmp_path):
    """Neither is an error."""
    tmux = Tmux(str(tmp_path / "s"))

    channels.status_line(lambda _: tmux)(ONE)
    channels.bell(lambda _: tmux)(ONE)
