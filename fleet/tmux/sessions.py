"""Making an agent's session, by libtmux.

One tmux command does it all: new-session, remain-on-exit, our mark. So there is no moment at which a session of ours
stands without its mark, and a program that ends at once keeps its exit status (remain-on-exit set by a second call
loses it: 3.3a). Several arguments behind `--` are executed as they are: no shell, whatever default-shell is.
libtmux 0.62: `Server.cmd` passes `;` as the separator; its listings raise on panes that vanish meanwhile, so none is
used here.
"""

from __future__ import annotations

from dataclasses import dataclass

from fleet.errors import Refused, Unreachable
from fleet.formats.ids import session_name
from fleet.tmux.client import is_absent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.tmux.client import Tmux

WIDTH, HEIGHT = 220, 50
_FORMAT = "#{session_id}|#{window_id}|#{pane_id}|#{pane_pid}|#{pid}"


@dataclass(frozen=True, slots=True)
class Made:
    """A session that was just made."""

    session_id: str
    window_id: str
    pane_id: str
    pid: int
    server_pid: int


class Duplicate(Refused):
    """A session with that name is there already."""


def make(tmux: Tmux, agent_id: str, argv: Sequence[str], *, cwd: str, environment: Mapping[str, str]) -> Made:
    """
    Make the detached session of an agent, running *argv* in *cwd*.

    Args:
        environment: the session's environment: what a pane that a person opens beside the agent inherits.

    Raises:
        Duplicate: a session with the agent's name is there.
        Unreachable: tmux refused or did not answer; a session may or may not be there.
    """
    import libtmux  # noqa: PLC0415  # 80 to 110 ms, paid only where a session is made

    name = session_name(agent_id)
    window = f"={name}:"
    pairs = [part for key, value in environment.items() for part in ("-e", f"{key}={value}")]
    server = libtmux.Server(socket_path=tmux.socket, tmux_bin=None if tmux.binary == "tmux" else tmux.binary)
    answer = server.cmd(
        "new-session", "-d", "-P", "-F", _FORMAT, "-s", name, "-x", str(WIDTH), "-y", str(HEIGHT), "-c", cwd,
        *pairs, "--", *argv,
        ";", "set-option", "-w", "-t", window, "remain-on-exit", "on",
        ";", "set-option", "-t", window, "@fleet_agent_id", agent_id,
        ";", "set-option", "-t", window, "@fleet_home", environment["FLEET_HOME"],
    )  # fmt: skip
    error = " ".join(answer.stderr)
    if "duplicate session" in error:
        raise Duplicate(f"tmux session {name} is there already")
    if answer.returncode or not answer.stdout:
        raise Unreachable(f"tmux new-session: {error or 'no answer'}")
    parts = answer.stdout[0].split("|")
    return Made(parts[0], parts[1], parts[2], int(parts[3]), int(parts[4]))


def end(tmux: Tmux, agent_id: str) -> None:
    """
    Kill the agent's session, by exact name. A session that is not there is fine.

    Raises:
        Unreachable: tmux did not answer.
    """
    answer = tmux.ask("kill-session", "-t", f"={session_name(agent_id)}")
    if answer.status and not is_absent(answer.error):
        raise Unreachable(f"tmux kill-session: {answer.error.strip()}")
