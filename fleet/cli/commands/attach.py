"""Go to an agent's session: switch there inside tmux, attach outside.

An agent that handed off is followed to its successor. Without AGENT: to the first that waits for you, else to the
only one there is. The session takes the size of the client that was used last.

examples:
  fleet attach fix-login
  fleet attach --next          to the one that waits for you, after the one where you are
  fleet attach --previous      inside tmux: back to where you were
"""

from __future__ import annotations

import os
import shlex
import subprocess

from fleet.cli import output
from fleet.errors import EXIT_OK, EnvironmentMissing, NotFound, Refused, UsageError
from fleet.formats.states import Turn
from fleet.formats.tuples import NamedTuple
from fleet.operate.attaching import by_state, next_waiting
from fleet.tmux.client import is_no_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet
    from fleet.model.agent import Agent

_NO_CLIENT = ("no current client", "no clients", "can't find client")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="an id, a unique prefix of one, or a task name")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--next", action="store_true", help="the next that waits for you, round and round")
    where.add_argument("--previous", action="store_true", help="the session where you were before; only inside tmux")
    parser.add_argument("--json", action="store_true", help="print where the session is instead of going there")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Find the living agent and become its tmux client."""
    if args.agent and (args.next or args.previous):
        raise UsageError("AGENT and --next or --previous exclude each other")
    if args.previous:
        return _previous(args, fleet)
    asked = fleet.agents.find(args.agent, archived=True) if args.agent else _choose(fleet, next_only=args.next)
    agent = fleet.agents.successor(asked)
    if agent.id != asked.id:
        output.say(f"fleet: {asked.id} handed off; going to its successor {agent.id}")
    socket = agent.socket or fleet.socket
    snapshot = fleet.looker().snapshot(socket)
    pane = snapshot.of_agent(agent.id, agent.pane_id, agent.server_pid)
    if pane is None and not snapshot.error:
        raise NotFound(f"agent {agent.id} has no session any more", hint=_what_now(fleet, agent))
    if args.json:
        output.data({"id": agent.id, "socket": socket, "tmux_session": pane.session if pane else agent.tmux_session,
                     "pane_id": pane.pane_id if pane else None})  # fmt: skip
        return EXIT_OK
    note = None
    if pane is not None and pane.dead:
        note = f"the engine of {agent.id} has ended; `fleet peek` shows its last screen, `fleet stop` files it away"
    return _go(fleet, pane.session_id if pane is not None else f"={agent.tmux_session}", socket, note)


def _choose(fleet: Fleet, *, next_only: bool) -> Agent:
    look = fleet.looker()
    sights = [look.see(agent) for agent in fleet.agents.living().agents]
    if next_only:
        found = next_waiting(sights, *_session_here(fleet))
        if found is None:
            raise Refused("nobody waits for you", hint="`fleet list` shows all")
        return found.agent
    for sight in by_state(sights):
        if sight.state.turn == Turn.WAITING and sight.pane is not None:
            return sight.agent
    if len(sights) == 1:
        return sights[0].agent
    if not sights:
        raise NotFound("no agent is there", hint="start one with `fleet dispatch TASK`")
    raise UsageError("which agent? nobody waits for you", hint="`fleet list` shows all")


def _what_now(fleet: Fleet, agent: Agent) -> str:
    if os.path.exists(fleet.layout.dead_entry(agent.id)):
        return f"its handoff was given up: `fleet queue retry {agent.id}`"
    if agent.archived_cause:
        return f"it ended ({agent.archived_cause}); `fleet peek {agent.id}` shows its last screen"
    return f"`fleet stop {agent.id}` files it away, `fleet handoff {agent.id}` starts a successor"


def _inside(fleet: Fleet) -> str:
    """The socket of the tmux server we are in; "" outside, and where that server is no more."""
    socket = fleet.environ.get("TMUX", "").rsplit(",", 2)[0]
    if not socket:
        return ""
    answer = fleet.tmux_on(socket).ask("display-message", "-p", "#{pid}")
    return "" if answer.status and is_no_server(answer.error) else socket


def _here(fleet: Fleet, form: str) -> str:
    """What tmux says of the client we are in; "" when it does not know."""
    socket = _inside(fleet)
    if not socket:
        return ""
    pane = fleet.environ.get("TMUX_PANE")
    answer = fleet.tmux_on(socket).ask("display-message", "-p", *(["-t", pane] if pane else []), form)
    return "" if answer.status else answer.out.strip()


def _session_here(fleet: Fleet) -> tuple[int | None, str | None]:
    """The server's pid and the id of the session that we are in."""
    pid, _, session = _here(fleet, "#{pid}|#{session_id}").partition("|")
    return (int(pid), session) if pid.isdigit() else (None, None)


def _previous(args: argparse.Namespace, fleet: Fleet) -> int:
    socket = _inside(fleet)
    if not socket:
        raise Refused(
            "only inside tmux there is a session to go back to", hint="`fleet attach --next`, or name an agent"
        )
    if args.json:
        typing = _typing(fleet, socket)
        name = typing.last_session if typing is not None else ""
        if not name:
            raise Refused("there is no session to go back to")
        output.data({"id": None, "socket": socket, "tmux_session": name, "pane_id": None})
        return EXIT_OK
    done = _with_our_client(fleet, socket, "switch-client", *_named(_typing(fleet, socket)), "-l")
    if done.returncode:
        raise Refused("there is no session to go back to")
    return EXIT_OK


class _Client(NamedTuple):
    """One that looks at our session."""

    writable: bool
    active_at: int
    name: str
    last_session: str


def _typing(fleet: Fleet, socket: str) -> _Client | None:
    """Who typed the command, of those that look at our session: the one used last, of a read-only one never a key."""
    here = _here(fleet, "#{session_id}")
    form = "#{client_readonly}|#{client_activity}|#{session_id}|#{client_name}|#{client_last_session}"
    rows = (line.split("|", 4) for line in fleet.tmux_on(socket).ask("list-clients", "-F", form).out.splitlines())
    clients = [_Client(row[0] != "1", int(row[1]), row[3], row[4]) for row in rows if row[2] == here]
    return max(clients, default=None)


def _named(client: _Client | None) -> tuple[str, ...]:
    return () if client is None else ("-c", client.name)


def _with_our_client(fleet: Fleet, socket: str, *args: str) -> subprocess.CompletedProcess[str]:
    # With $TMUX in its environment, tmux knows which of several clients asked.
    argv = fleet.tmux_on(socket).argv(*args)
    return subprocess.run(argv, check=False, capture_output=True, text=True, errors="replace", env=fleet.environ)


def _go(fleet: Fleet, target: str, socket: str, note: str | None) -> int:
    inside = _inside(fleet)
    # Without -u: whether the terminal can show UTF-8 is for tmux to find out.
    argv = [word for word in fleet.tmux_on(socket).argv("attach-session", "-t", target) if word != "-u"]
    if inside and os.path.realpath(inside) == os.path.realpath(socket):
        client = _named(_typing(fleet, socket))
        done = _with_our_client(fleet, socket, "switch-client", *client, "-t", target)
        if done.returncode == 0:
            if note:
                _with_our_client(fleet, socket, "display-message", *client, f"fleet: {note}")
            return EXIT_OK
        error = done.stderr.strip()
        if not any(words in error for words in _NO_CLIENT):
            raise Refused(f"tmux switch-client: {error}")
        raise Refused("no client looks at this tmux session, so none can be switched",
                      hint=f"in a terminal: {shlex.join(argv)}")  # fmt: skip
    if inside:
        raise Refused(
            f"that agent lives on another tmux server ({socket}), and tmux in tmux fights over keys",
            hint=f"detach first, or open another terminal, or all the same: env -u TMUX {shlex.join(argv)}",
        )
    if not (os.isatty(0) and os.isatty(1)):
        raise EnvironmentMissing("this is no terminal", hint=shlex.join(argv))
    if note:
        output.say(f"fleet: {note}")
    environ = {name: value for name, value in os.environ.items() if name not in ("TMUX", "TMUX_PANE")}
    return os.execvpe(argv[0], argv, environ)  # noqa: S606  # becoming the client is the point
