"""Which keys fleet binds, and the tmux commands behind them, for each version of tmux. Text only, nothing is run.

Every binding starts `fleet keys press …` in the background and silently: what a `run-shell` prints, or a status other
than 0, would put the user's pane into view mode.

A typed text reaches fleet through paste buffers and never through a shell. Measured, with quotes, `;`, `#{…}`, `%1`,
`%%`, backslashes and `$(…)` in it: `%1` in a braced template is exact on 3.5a and 3.8; on 3.3a the text is put in
twice, so that a `%%` or `%2` within it is replaced again, and there `%2` is exact; `%%` doubles single quotes on 3.8.
Both `%1` and `%2` are kept, and the second counts where it was replaced at all. Before 3.3 there are no braced
templates, and `"%%%"` quotes what it puts in.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass

from fleet.tmux.bindings import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

TABLE = "fleet"
ENTER = f"switch-client -T {TABLE}"
MARK = "keys press"
#: Free in tmux's own bindings (3.2 to 3.8), the first for its name.
CANDIDATES = ("F", "g", "u", "y", "a", "A", "G", "Y", "M-f")
SECOND = "%2"  #: what is left of it where tmux replaces it by nothing
#: key, action, note
ACTIONS = (
    ("m", "menu", "agents by state"),
    ("n", "next", "go to the next agent that waits"),
    ("p", "previous", "go back to where you were"),
    ("s", "send", "send a message"),
    ("k", "peek", "look at an agent's screen"),
    ("h", "handoff", "replace an agent by a successor"),
    ("l", "list", "list all agents"),
    ("?", "help", "these keys"),
)


@dataclass(frozen=True, slots=True)
class Binding:
    """One binding of ours."""

    table: str
    key: str
    note: str
    command: str

    @property
    def line(self) -> str:
        """The tmux command that makes it."""
        return f"bind-key -N {quote('fleet: ' + self.note)} -T {self.table} {quote(self.key)} {self.command}"


def number(version: str) -> tuple[int, int]:
    """`3.3a` as (3, 3); a version without a number is newer than all."""
    found = re.search(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (99, 0)


def keymap(prefix: str, argv: Sequence[str]) -> list[Binding]:
    """All bindings: *prefix* in the user's prefix table, the others in a table of their own."""
    ours = [Binding(TABLE, key, note, press(argv, action)) for key, action, note in ACTIONS]
    if prefix not in {key for key, _, _ in ACTIONS}:
        ours.append(Binding(TABLE, prefix, "agents by state", press(argv, "menu")))
    return [*ours, Binding("prefix", prefix, "your agents", ENTER)]


def press(argv: Sequence[str], *words: str) -> str:
    """The tmux command that runs `fleet keys press WORDS` for the client whose key was pressed."""
    return f"run-shell -b {quote(shell(argv, words) + ' #{q:client_name} #{q:session_id}')}"


def shell(argv: Sequence[str], words: Sequence[str] = ()) -> str:
    """A command line for the user's shell, inside a string that tmux expands."""
    return shlex.join([*argv, "keys", "press", *words]).replace("#", "##")


def prompt(version: str, client: str | None, question: str, nonce: str, then: str) -> str:
    """Ask for a text, keep it in the buffers of *nonce*, and run *then*, a tmux command."""
    target = f"-t {quote(client)} " if client else ""
    question = quote(question.replace(",", " "))
    first, second = buffers(nonce)
    if number(version) < (3, 3):
        body = f'set-buffer -b {first} -- "%%%" ; {then}'
        return f"command-prompt {target}-p {question} {quote(body)}"
    # Of the histories that a prompt can keep, the one of `:` stays free of messages.
    body = f"set-buffer -b {first} -- '%1' ; set-buffer -b {second} -- '{SECOND}' ; {then}"
    return f"command-prompt {target}-T search -p {question} {{ {body} }}"


def buffers(nonce: str) -> tuple[str, str]:
    """The two buffers of a prompt."""
    return f"fleet-text-{nonce}", f"fleet-again-{nonce}"


def typed(first: bytes | None, second: bytes | None) -> bytes:
    """What was typed, of what the two buffers hold."""
    return second if second not in (None, SECOND.encode()) else first or b""


def is_ours(line: str) -> bool:
    """Whether a printed binding of our table was made by some fleet."""
    return MARK in line


def enters(line: str) -> bool:
    """Whether a printed binding leads into our table."""
    return line.rstrip().endswith(" " + ENTER)
