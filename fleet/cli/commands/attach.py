"""Go to an agent's session: switch there inside tmux, attach outside.

An agent that handed off is followed to its successor. Without AGENT: to the first that waits for you, else to the
only one there is.
"""

from __future__ import annotations

import os
import subprocess

from fleet.cli import output
from fleet.errors import EXIT_OK, EnvironmentMissing, NotFound, Refused, UsageError
from fleet.formats.states import Turn

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet
    from fleet.model.agent import Agent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("agent", nargs="?", metavar="AGENT", help="an id, a unique prefix of one, or a task name")
    parser.add_argument("--json", action="store_true", help="print where the session is instead of going there")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Find the living agent and become its tmux client."""
    asked = fleet.agents.find(args.agent, archived=True) if args.agent else _choose(fleet)
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
    if pane is not None and pane.dead:
        output.say(f"fleet: the engine of {agent.id} has ended; `fleet stop {agent.id}` files it away")
    return _go(fleet, pane.session_id if pane is not None else f"={agent.tmux_session}", socket)


def _choose(fleet: Fleet) -> Agent:
    look = fleet.looker()
    sights = [look.see(agent) for agent in fleet.agents.living().agents]
    for sight in sights:
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


def _go(fleet: Fleet, target: str, socket: str) -> int:
    tmux = fleet.tmux_on(socket)
    inside = fleet.environ.get("TMUX", "").split(",")[0]
    if inside and os.path.realpath(inside) == os.path.realpath(socket):
        # With $TMUX in its environment, tmux knows which of several clients asked.
        return subprocess.run(tmux.argv("switch-client", "-t", target), check=False).returncode
    if inside:
        raise Refused(
            f"that agent lives on another tmux server ({socket})",
            hint=f"detach first, or open another terminal: tmux -S {socket} attach -t '{target}'",
        )
    if not os.isatty(0):
        raise EnvironmentMissing("this is no terminal", hint=f"tmux -S {socket} attach -t '{target}'")
    argv = tmux.argv("attach-session", "-t", target)
    return os.execvp(argv[0], argv)  # noqa: S606  # becoming the client is the point
