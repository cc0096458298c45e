"""The ways on which a notice reaches the operator. Each is off by default, and only the webhook leaves this machine.

They run in threads of their own behind a short queue: a channel that hangs delays neither the drain nor another, and
what does not fit into its queue is dropped and counted.
"""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import threading

from fleet.errors import FleetError
from fleet.formats.segment import plain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from fleet.model.notices import Notice
    from fleet.tmux.client import Tmux

    Send = Callable[[Notice], None]

MOST_WAITING = 20  #: notices in the queue of one channel
PROGRAM_SECONDS = 5.0
WEBHOOK_SECONDS = 5.0
SHOWN_MS = 8000
END_SECONDS = 1.0  #: how long the drain waits at its end for what is on its way


class Channel:
    """One way, with its queue and its thread."""

    def __init__(self, name: str, send: Send, failed: Callable[[str, str], None]) -> None:
        self.name = name
        self.dropped = 0
        self._send = send
        self._failed = failed
        self._waiting: queue.Queue[Notice | None] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name=f"fleet-notify-{name}", daemon=True)
        self._thread.start()

    def put(self, notice: Notice) -> None:
        """Have it sent; never waits."""
        try:
            self._waiting.put_nowait(notice)
        except queue.Full:
            self.dropped += 1

    def close(self) -> None:
        """Let it send what waits, for a moment."""
        try:
            self._waiting.put_nowait(None)
        except queue.Full:
            return
        self._thread.join(END_SECONDS)

    def _run(self) -> None:
        while (notice := self._waiting.get()) is not None:
            try:
                self._send(notice)
            except Exception as e:  # noqa: BLE001  # the drain's outer edge: no channel may end the others or itself
                self._failed(self.name, str(e) or type(e).__name__)


def desktop(env: Mapping[str, str]) -> Send:
    """`notify-send`, or `osascript` on macOS."""

    def send(notice: Notice) -> None:
        path = env.get("PATH", os.defpath)
        if program := shutil.which("notify-send", path=path):
            argv = [program, "--app-name=fleet", "--", notice.title, notice.text]
        elif program := shutil.which("osascript", path=path):
            script = "display notification (item 2 of argv) with title (item 1 of argv)"
            argv = [program, "-e", "on run argv", "-e", script, "-e", "end run", notice.title, notice.text]
        else:
            raise FileNotFoundError("neither notify-send nor osascript is on PATH")
        subprocess.run(
            argv, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            timeout=PROGRAM_SECONDS, check=True,
        )  # fmt: skip

    return send


def status_line(tmux_of: Callable[[str | None], Tmux]) -> Send:
    """A message on the status line of every client of the agent's tmux server."""

    def send(notice: Notice) -> None:
        tmux = tmux_of(notice.socket)
        words = plain(f"fleet: {notice.title}: {notice.text}").replace("%", "%%")
        for client, _ in _clients(tmux):
            tmux.ask("display-message", "-c", client, "-d", str(SHOWN_MS), words)

    return send


def bell(tmux_of: Callable[[str | None], Tmux]) -> Send:
    """A bell in the terminal of every client of the agent's tmux server."""

    def send(notice: Notice) -> None:
        for _, tty in _clients(tmux_of(notice.socket)):
            fd = os.open(tty, os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
            try:
                os.write(fd, b"\a")
            finally:
                os.close(fd)

    return send


def webhook(url: str, form: str) -> Send:
    """One POST: `ntfy` (the text, the title in a header) or `slack` (JSON with `text`, as Slack takes it)."""

    def send(notice: Notice) -> None:
        import urllib.request  # noqa: PLC0415  # paid only where there is a webhook

        if form == "slack":
            body = json.dumps({"text": f"*{notice.title}*\n{notice.text}"}).encode()
            headers = {"Content-Type": "application/json"}
        else:
            body = (notice.text or notice.title).encode("utf-8", "replace")
            headers = {"Content-Type": "text/plain; charset=utf-8", "Title": _header(notice.title),
                       "Tags": str(notice.kind)}  # fmt: skip
        request = urllib.request.Request(url, data=body, headers=headers, method="POST")  # noqa: S310  # http by `config`
        with urllib.request.urlopen(request, timeout=WEBHOOK_SECONDS) as answer:  # noqa: S310
            answer.read(1)

    return send


def _header(text: str) -> str:
    """A text as a header holds it: RFC 2047 where it is not ASCII."""
    from email.header import Header  # noqa: PLC0415  # paid only where there is a webhook

    clean = "".join(c if c.isprintable() else " " for c in text)
    return clean if clean.isascii() else Header(clean, "utf-8", maxlinelen=10_000).encode()


def _clients(tmux: Tmux) -> list[tuple[str, str]]:
    """Name and terminal of every attached client; none when the server cannot be asked."""
    try:
        answer = tmux.ask("list-clients", "-F", "#{client_name}|#{client_tty}|#{client_control_mode}")
    except FleetError:
        return []
    rows = [line.rsplit("|", 2) for line in answer.out.splitlines()] if answer.status == 0 else []
    return [(row[0], row[1]) for row in rows if len(row) == 3 and row[2] in ("", "0") and row[1]]
