"""What the keys do. Each press is a short process in the background that answers on the client's screen.

Menus, prompts and popups are put up by commands on `source-file -`, inside `if-shell -b true {…}`: so no process
waits while they are open, nothing goes through an argument of 16 kB, and their texts are parsed by tmux alone. A menu
that is larger than its client is not shown at all (3.3a to 3.8), so it is cut to fit.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import dataclass

from fleet.drain.carry import start_background
from fleet.drain.sending import send
from fleet.errors import FleetError, NotFound, Refused
from fleet.formats.ids import new_id
from fleet.formats.segment import plain
from fleet.formats.states import Turn
from fleet.operate import keys
from fleet.operate.attaching import by_state, is_in, next_waiting
from fleet.operate.handing import order
from fleet.tmux import keymap
from fleet.tmux.bindings import quote

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.app import Fleet
    from fleet.model.agent import Agent
    from fleet.observe.facts import Sight

CHOICES = "123456789abcdefimnoprstuvwxyz"  #: without what moves in a menu (g G h j k l q)
MENU_MARGIN = (14, 5)  #: columns and lines of a menu that are not text
STATE_COLUMNS = 27  #: of a line of the menu: the state and the context, with what is between
LEAST_NAME = 8
SAY_MS = 4000
#: How many words each action takes.
ARGUMENTS = {
    "menu": (0,), "next": (0,), "previous": (0,), "help": (0,), "list": (0,), "go": (1,), "send": (0, 1),
    "peek": (0, 1), "handoff": (0, 1), "typed": (2,), "confirmed": (1,),
}  # fmt: skip
COLOURS = {Turn.WAITING: "yellow", Turn.WORKING: "green", Turn.EXITED: "red", Turn.GONE: "red"}
QUESTIONS = {"go": "go to", "send": "send to", "peek": "look at", "handoff": "hand off"}


@dataclass(frozen=True, slots=True)
class Client:
    """Who pressed the key."""

    name: str
    session_id: str
    width: int
    height: int
    server_pid: int | None


class Press:
    """One key press of one client of the server on *socket*."""

    def __init__(self, fleet: Fleet, socket: str, client: str, session_id: str) -> None:
        self._fleet = fleet
        self._tmux = fleet.tmux_on(socket)
        self.socket = socket
        form = "#{client_width}|#{client_height}|#{version}|#{pid}"
        answer = self._tmux.ask("display-message", "-p", "-c", client, form)
        parts = answer.out.strip().split("|")
        width, height = (int(p) if p.isdigit() else 0 for p in (*parts, "", "")[:2])
        self._version = parts[2] if len(parts) > 2 else ""
        server_pid = int(parts[3]) if len(parts) > 3 and parts[3].isdigit() else None
        self.client = Client(client, session_id, width or 80, height or 24, server_pid)

    def act(self, action: str, words: list[str]) -> None:
        """
        Do what the key means.

        Args:
            words: of a menu's choice the agent's id, of a prompt also the nonce of its buffers.
        """
        try:
            self._actions()[action](*words)
        except FleetError as e:
            self.say(" ".join(str(e).split()) + (f" ({e.hint})" if e.hint else ""))

    def _actions(self) -> dict[str, Callable[..., None]]:
        return {
            "menu": lambda: self._menu("go", self._sights()),
            "next": self._next,
            "previous": self._previous,
            "help": self._help,
            "list": lambda: self._popup("view", "list"),
            "go": self._go,
            "send": lambda agent_id=None: self._with("send", agent_id),
            "peek": lambda agent_id=None: self._with("peek", agent_id),
            "handoff": lambda agent_id=None: self._with("handoff", agent_id),
            "typed": self._typed,
            "confirmed": self._confirmed,
        }

    def say(self, text: str) -> None:
        """A word to the one who pressed."""
        self._tmux.ask("display-message", "-c", self.client.name, "-d", str(SAY_MS), f"fleet: {plain(text)}")

    def _issue(self, command: str) -> None:
        self._tmux.do("source-file", "-", text=f"if-shell -b true {{\n{command}\n}}\n".encode("utf-8", "replace"))

    def _sights(self) -> list[Sight]:
        look = self._fleet.looker()
        return by_state(look.see(agent) for agent in self._fleet.agents.living().agents)

    def _press(self, *words: str) -> str:
        return keymap.press(keys.argv(self._fleet), *words)

    # going

    def _next(self) -> None:
        sight = next_waiting(self._sights(), self.client.server_pid, self.client.session_id)
        if sight is None:
            raise Refused("nobody waits for you")
        self._go(sight.agent.id)

    def _previous(self) -> None:
        answer = self._tmux.ask("switch-client", "-c", self.client.name, "-l")
        if answer.status:
            raise Refused("there is no session to go back to")

    def _go(self, agent_id: str) -> None:
        agent = self._fleet.agents.successor(self._agent(agent_id))
        socket = agent.socket or self._fleet.socket
        snapshot = self._fleet.looker().snapshot(socket)
        pane = snapshot.of_agent(agent.id, agent.pane_id, agent.server_pid)
        if pane is None:
            raise NotFound(snapshot.error or f"{agent.task_id} has no session any more")
        if os.path.realpath(socket) != os.path.realpath(self.socket):
            tmux = [
                "env",
                "-u",
                "TMUX",
                "-u",
                "TMUX_PANE",
                *self._fleet.tmux_on(socket).argv("attach", "-t", pane.session_id),
            ]
            self._issue(self._open_popup(shlex.join(tmux), "100%"))
            return
        self._tmux.do("switch-client", "-c", self.client.name, "-t", pane.session_id)
        if pane.dead:
            self.say(f"the engine of {agent.task_id} has ended; `fleet stop {agent.id}` files it away")

    # choosing an agent, then doing something with it

    def _agent(self, agent_id: str) -> Agent:
        return self._fleet.agents.find(agent_id, archived=True)

    def _with(self, action: str, agent_id: str | None) -> None:
        """Do *action* with that agent, else with the one in whose session we are, else ask which."""
        if agent_id is None:
            sights = self._sights()
            here = [s for s in sights if is_in(s, self.client.server_pid, self.client.session_id)]
            if len(here) != 1:
                self._menu(action, sights)
                return
            agent = here[0].agent
        else:
            agent = self._agent(agent_id)
        {"send": self._ask_text, "peek": self._peek, "handoff": self._ask_handoff}[action](agent)

    def _menu(self, action: str, sights: list[Sight]) -> None:
        if not sights:
            raise Refused("no agents", hint="start one with: fleet dispatch TASK --prompt TEXT")
        room = max(1, self.client.height - MENU_MARGIN[1])
        width = max(8, self.client.width - MENU_MARGIN[0])
        shown = sights if len(sights) <= room else sights[: max(1, room - 1)]
        longest = min(max(len(s.agent.task_id) for s in shown), max(LEAST_NAME, width - STATE_COLUMNS))
        items = []
        for at, sight in enumerate(shown):
            colour = COLOURS.get(sight.state.turn)
            text = plain(describe(sight, longest)[:width])
            name = f"#[fg={colour}]{text}" if colour else text
            items += [name, CHOICES[at] if at < len(CHOICES) else "", self._press(action, sight.agent.id)]
        if len(shown) < len(sights):
            items += [f"… and {len(sights) - len(shown)} more", "l", self._press("list")]
        title = f" fleet: {QUESTIONS[action]} "[: width + 4]
        self._put_menu(title, items)

    def _put_menu(self, title: str, items: list[str]) -> None:
        words = " ".join(quote(item) for item in items)
        self._issue(f"display-menu -c {quote(self.client.name)} -T {quote(plain(title))} -x C -y C {words}")

    def _help(self) -> None:
        items = []
        for key, action, note in keymap.ACTIONS:
            if action != "help":
                items += [plain(note)[: max(8, self.client.width - MENU_MARGIN[0])], key, self._press(action)]
        self._put_menu(" fleet ", items)

    def _ask_text(self, agent: Agent) -> None:
        nonce = new_id()
        then = self._press("typed", agent.id, nonce)
        self._issue(keymap.prompt(self._version, self.client.name, plain(f"message to {agent.task_id}: "), nonce, then))

    def _typed(self, agent_id: str, nonce: str) -> None:
        found: list[bytes | None] = []
        for buffer in keymap.buffers(nonce):
            found.append(self._tmux.ask_bytes("save-buffer", "-b", buffer, "-"))
            self._tmux.ask("delete-buffer", "-b", buffer)
        body = keymap.typed(*found)
        if not body.strip():
            raise Refused("nothing was sent")
        agent = self._agent(agent_id)
        sent = send(self._fleet, agent, body.decode("utf-8", "surrogateescape"))
        start_background(self._fleet)
        self.say(f"queued for {agent.task_id} ({sent.message_id})")

    def _ask_handoff(self, agent: Agent) -> None:
        used = "" if agent.context_pct is None else f" ({agent.context_pct:.0f}% of its context used)"
        question = plain(f"replace {agent.task_id}{used} by a successor? (y/n) ")
        then = self._press("confirmed", agent.id)
        self._issue(f"confirm-before -t {quote(self.client.name)} -p {quote(question)} {quote(then)}")

    def _confirmed(self, agent_id: str) -> None:
        agent = self._fleet.agents.find(agent_id)
        order(self._fleet, agent)
        start_background(self._fleet)
        self.say(f"the handoff of {agent.task_id} is on its way")

    # popups

    def _peek(self, agent: Agent) -> None:
        self._popup("view", agent.id)

    def _popup(self, *words: str) -> None:
        self._issue(self._open_popup(shlex.join([*keys.argv(self._fleet), "keys", "press", *words]), "90%"))

    def _open_popup(self, command: str, size: str) -> str:
        client = quote(self.client.name)
        return f"display-popup -c {client} -E -w {size} -h {size} {quote(command)}"


def describe(sight: Sight, width: int) -> str:
    """`fix-login  waiting (permission)  31%`."""
    state = str(sight.state.turn) + (f" ({sight.state.reason})" if sight.state.reason else "")
    context = "" if sight.agent.context_pct is None else f"{sight.agent.context_pct:3.0f}%"
    return f"{shortened(sight.agent.task_id, width).ljust(width)}  {state.ljust(20)} {context}".rstrip()


def shortened(name: str, width: int) -> str:
    """A name that is too long without its middle: what tells one from the next stands at either end."""
    if len(name) <= width:
        return name
    tail = (width - 1) // 2
    return name[: width - 1 - tail] + "…" + name[len(name) - tail :]
