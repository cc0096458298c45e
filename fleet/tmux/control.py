"""One lasting control-mode client of a tmux server: many questions in one write, their answers in one read.

A call costs 0.4 ms here and 8 ms as a process of its own; 300 captures of 50 lines take 30 ms here and 1.8 s there.

The client is attached to a small session of ours, `fleet-keeper`, which every fleet on that server shares; the server
removes it with its last client, however that one ends (`destroy-unattached`; kill -9 of the client: 3.3a, 3.5a, 3.8).
It gets no output of any pane and counts for nobody's size. It is not read-only: 3.8 then refuses the `send-keys` of
everybody for whom tmux picks that client ("client is read-only"), which without another client is every script.

The session is made detached and attached to by a second call: an attached `new-session` whose client has died before
the server gets to it, as when the server was frozen, crashes the server (3.3a and 3.5a; 3.8 does not). `-N` keeps a
client from starting a server where there is none.

An answer is `%begin TIME NUMBER FLAGS`, lines, and `%end` or `%error` with the same three words; notifications stand
between answers. The flags are 1 for what this client asked, 0 for what its command line did. A screen may hold any
text, so an answer ends only where its own three words stand.
"""

from __future__ import annotations

import os
import select
import subprocess
from typing import NamedTuple

from fleet.errors import Unreachable
from fleet.tmux.client import Tmux, environment, is_no_server, missing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.clock import Clock

DEADLINE_SECONDS = 5.0
KEEPER = "fleet-keeper"
READ_BYTES = 1 << 20
MOST_BYTES = 1 << 26  #: of one batch of answers; more is no sane screen
FLAGS = "no-output,ignore-size"
PROGRAM = ("sleep", "86400")  #: so that one which was never attached to ends by itself
_END_SECONDS = 1.0
_HELLO = (f"set-option -t ={KEEPER}: destroy-unattached on", "display-message -p '#{pid}'")


class NoServer(Unreachable):
    """No tmux server runs on that socket."""


class _Ended(Unreachable):
    """The client ended, by whomever: a new one may have better luck."""


class Reply(NamedTuple):
    """What one question was answered with."""

    ok: bool
    text: str  #: the lines, or the error


class Control:
    """A client of the server on one socket; connects when it is first asked, and anew after a failure."""

    def __init__(self, tmux: Tmux, clock: Clock, *, seconds: float = DEADLINE_SECONDS) -> None:
        self._keeper = Tmux(tmux.socket, binary=tmux.binary, timeout_seconds=seconds)
        self._clock = clock
        self._seconds = seconds
        self._client: subprocess.Popen[bytes] | None = None
        self._buffer = bytearray()
        self._said = b""  #: the last line outside of an answer
        self.server_pid = 0  #: of the server that is connected

    def ask(self, *questions: str) -> list[Reply]:
        """
        One reply a question, in order. A question is one line of tmux's command language.

        A client that somebody has ended is replaced once.

        Raises:
            NoServer: there is certainly none on the socket.
            Unreachable: no answer to all of them within the deadline; the client was given up.
        """
        end = self._clock.monotonic() + self._seconds
        for last in (False, True):
            try:
                if self._client is None:
                    self._connect(end)
                return self._converse(questions, end)
            except _Ended:
                self.close()
                if last:
                    raise
            except Unreachable:
                self.close()
                raise
        raise AssertionError("the last try returns or raises")

    def close(self) -> None:
        """End the client, and with it our session. Safe to repeat."""
        client, self._client = self._client, None
        self._buffer.clear()
        if client is None:
            return
        assert client.stdin is not None
        assert client.stdout is not None
        client.stdin.close()  # the polite end: a control client leaves when nobody speaks to it any more
        try:
            client.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            client.kill()
            client.wait()
        client.stdout.close()

    def _connect(self, end: float) -> None:
        made = self._keeper.ask("-N", "new-session", "-d", "-s", KEEPER, "-x", "20", "-y", "5", *PROGRAM)
        if made.status and "duplicate session" not in made.error:
            raise NoServer(made.error.strip()) if is_no_server(made.error) else Unreachable(made.error.strip())
        argv = self._keeper.argv("-N", "-C", "attach-session", "-f", FLAGS, "-t", f"={KEEPER}")
        try:
            client = subprocess.Popen(
                argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(),
                start_new_session=True, bufsize=0,
            )  # fmt: skip
        except FileNotFoundError as e:
            raise missing() from e
        self._client = client
        assert client.stdin is not None
        os.set_blocking(client.stdin.fileno(), False)
        *_, pid = [reply.text for reply in self._converse(_HELLO, end)]
        self.server_pid = int(pid) if pid.isdigit() else 0

    def _converse(self, questions: Sequence[str], end: float) -> list[Reply]:
        client = self._client
        assert client is not None
        assert client.stdin is not None
        assert client.stdout is not None
        source, sink = client.stdout.fileno(), client.stdin.fileno()
        unsaid = memoryview("".join(f"{question}\n" for question in questions).encode())
        replies: list[Reply] = []
        while len(replies) < len(questions):
            left = end - self._clock.monotonic()
            if left <= 0:
                raise Unreachable(f"tmux answered {len(replies)} of {len(questions)} questions within its time")
            readable, writable, _ = select.select([source], [sink] if unsaid else [], [], left)
            if writable:
                try:
                    unsaid = unsaid[os.write(sink, unsaid) :]
                except BrokenPipeError:
                    unsaid = unsaid[:0]  # what it said last is still to be read
            if readable:
                data = os.read(source, READ_BYTES)
                if not data:
                    raise self._why_ended()
                self._buffer += data
                if len(self._buffer) > MOST_BYTES:
                    raise Unreachable("tmux answers without an end")
                replies += self._answers()
        return replies

    def _answers(self) -> list[Reply]:
        """Take the whole answers out of what was read."""
        data, at, found = self._buffer, 0, []
        while (line_end := data.find(b"\n", at)) >= 0:
            if not data.startswith(b"%begin ", at):
                self._said = bytes(data[at:line_end])
                at = line_end + 1
                continue
            words = bytes(data[at + len(b"%begin ") : line_end])
            close = data.find(b"\n%end " + words + b"\n", line_end)
            ok = close >= 0
            if not ok:
                close = data.find(b"\n%error " + words + b"\n", line_end)
            if close < 0:
                break
            if words.endswith(b" 1"):
                found.append(Reply(ok, data[line_end + 1 : close].decode("utf-8", "replace")))
            at = close + len(b"\n%end " if ok else b"\n%error ") + len(words) + 1
        del data[:at]
        return found

    def _why_ended(self) -> Unreachable:
        said = (self._said + self._buffer).decode("utf-8", "replace").strip()[-200:]
        return NoServer(said) if is_no_server(said) else _Ended(f"tmux's control client ended: {said}")
