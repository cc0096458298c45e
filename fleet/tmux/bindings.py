"""The key bindings of a running server: looked up, set and given back.

Measured on 3.3a, 3.5a and 3.8: `list-keys -T TABLE KEY` prints the one binding as a command that can be sourced, says
`unknown key` of a key that is not bound, `invalid key` of what is no key and `table … doesn't exist`; a note shows
only with -N. It leaves out a `--` between a command and its arguments, so that a few bindings cannot be read back
(`send-keys -- -x`): whoever takes a binding must have tried whether it can be given back. `source-file -` runs each
command of its standard input, also behind one that failed, and every `bind-key` replaces a binding in one step. The
first of a server prints what tmux found wrong in the user's configuration too.
"""

from __future__ import annotations

from dataclasses import dataclass

from fleet.errors import Refused, Unreachable, UsageError
from fleet.tmux.client import is_no_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.tmux.client import Tmux

TRIAL = "fleet-trial"


@dataclass(frozen=True, slots=True)
class Server:
    """Which server answers: another one on the same socket is another server."""

    pid: int
    started: int  #: its own start time, in seconds since the epoch
    version: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A binding as tmux prints it."""

    line: str
    note: str = ""


def quote(text: str) -> str:
    """*text* as one word of a tmux command."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


class Bindings:
    """The bindings of one server."""

    def __init__(self, tmux: Tmux) -> None:
        self._tmux = tmux

    def server(self) -> Server | None:
        """
        The server; None when certainly none runs.

        Raises:
            Unreachable: it could not be asked.
        """
        answer = self._tmux.ask("display-message", "-p", "#{pid}|#{start_time}|#{version}")
        if answer.status and is_no_server(answer.error):
            return None
        parts = answer.out.strip().split("|")
        if answer.status or len(parts) != 3 or not (parts[0].isdigit() and parts[1].isdigit()):
            raise Unreachable(f"tmux display-message: {answer.error.strip() or 'no answer'}")
        return Server(int(parts[0]), int(parts[1]), parts[2])

    def find(self, table: str, key: str) -> Bound | None:
        """
        What *key* is bound to in *table*.

        Raises:
            UsageError: tmux knows no such key.
        """
        word = key.replace(";", "\\;") if key.endswith(";") else key
        answer = self._tmux.ask("list-keys", "-T", table, "--", word)
        if answer.status == 0 and answer.out.strip():
            noted = self._tmux.ask("list-keys", "-N", "-P", "", "-T", table, "--", word)
            note = noted.out.rstrip("\n").strip().partition(" ")[2].strip() if noted.status == 0 else ""
            return Bound(answer.out.rstrip("\n"), note)
        if "invalid key" in answer.error:
            raise UsageError(f"tmux knows no key {key!r}", hint="as in tmux.conf: F, C-f, M-f, F5, Space")
        if answer.status and "unknown key" not in answer.error and "doesn't exist" not in answer.error:
            raise Unreachable(f"tmux list-keys: {answer.error.strip() or 'no answer'}")
        return None

    def table(self, table: str) -> list[str]:
        """The bindings of a table, a line each."""
        answer = self._tmux.ask("list-keys", "-T", table)
        if answer.status and "doesn't exist" not in answer.error:
            raise Unreachable(f"tmux list-keys: {answer.error.strip()}")
        return answer.out.splitlines() if answer.status == 0 else []

    def can_be_given_back(self, table: str, bound: Bound) -> bool:
        """Whether sourcing what tmux printed makes the very same binding; tried in a table of our own."""
        # One call, so that nothing is left of the trial whoever dies meanwhile.
        lines = (again(bound, table, TRIAL), f"list-keys -T {TRIAL}", f"unbind-key -a -q -T {TRIAL}", "")
        answer = self._tmux.ask("source-file", "-", text="\n".join(lines).encode("utf-8", "surrogateescape"))
        printed = [one for one in answer.out.splitlines() if one.startswith("bind-key")]
        same = [one.replace(f"-T {TRIAL} ", f"-T {table} ", 1) for one in printed]
        return answer.status == 0 and same == [bound.line]

    def run(self, commands: list[str]) -> None:
        """
        Run commands, one a line.

        Raises:
            Refused: tmux did not take one of them; the others were run.
        """
        text = "".join(f"{line}\n" for line in commands).encode("utf-8", "surrogateescape")
        answer = self._tmux.ask("source-file", "-", text=text)
        if answer.status:
            raise Refused(f"tmux refused: {' '.join((answer.error or answer.out).split())}")


def again(bound: Bound, table: str, into: str) -> str:
    """The command that makes *bound*, a binding of *table*, anew in the table *into*."""
    line = bound.line.replace(f"-T {table} ", f"-T {into} ", 1)
    return line.replace("bind-key", f"bind-key -N {quote(bound.note)}", 1) if bound.note else line
