"""The dispatch: checks first, then a journal, then effects, and after a failure nothing of it is left."""

from __future__ import annotations

import contextlib

from fleet.dispatch import limits
from fleet.errors import Refused, Unreachable
from fleet.formats import launch
from fleet.formats.atomic import Lock, remove_file
from fleet.formats.states import Existence
from fleet.formats.tuples import NamedTuple
from fleet.process.table import read_process
from fleet.tmux.client import check_socket, check_version, make_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from fleet.app import Fleet
    from fleet.engines.base import Plan
    from fleet.model.agent import Agent
    from fleet.model.orders import Order
    from fleet.model.panes import Snapshot
    from fleet.worktree.making import Made


class Dispatched(NamedTuple):
    """What a dispatch led to."""

    agent: Agent
    nonce: str
    plan: Plan
    notes: tuple[str, ...] = ()  #: what was decided on the way and the operator should know


class Dispatcher:
    """Gives out one task at a time."""

    def __init__(self, fleet: Fleet, sessions: Snapshot | None = None, settled: Collection[str] = ()) -> None:
        """
        Make one.

        Args:
            sessions: a look at the server from before a row of dispatches. Sessions are then counted from it and from
                what was journaled in this home since, which is never fewer, and the server is not asked for each.
            settled: the agents whose start was over before that look: they are in it, or have no session.
        """
        self._fleet = fleet
        self._sessions = sessions
        self._settled = settled

    def dispatch(self, order: Order) -> Dispatched:
        """
        Start the order's agent.

        Raises:
            OnHold: its account, engine or project may start nothing now.
            Refused: the task is alive, or the engine would open a dialog there.
            EnvironmentMissing: tmux, the engine, memory, disk, a session or FLEET_HOME is missing.
            Unreachable: tmux or the process table did not answer.
        """
        fleet = self._fleet
        limits.check_home(fleet.layout.home)
        limits.check_hold(fleet.looker(), order.engine, order.env, order.project)
        check_socket(order.socket)
        limits.check_memory(fleet.settings)
        limits.check_disk(fleet.layout.home, fleet.settings)
        plan = fleet.starter.plan(order)
        with contextlib.ExitStack() as undo:
            made = self._worktree(order, undo)
            if made is not None:
                order = made.order
                plan = fleet.starter.plan(order)
            self._overcome(order, undo)
            with Lock(fleet.layout.task_lock(order.project, order.task_id)):
                self._check_task(order)
                with Lock(fleet.layout.limit_lock):
                    self._check_room(order)
                    undo.callback(launch.remove, fleet.layout, order.agent_id)
                    undo.callback(remove_file, fleet.layout.task(order.dispatch_id))
                    start = fleet.starter.journal(order, plan)
            undo.callback(make_folder(order.socket))
            undo.callback(remove_file, fleet.layout.record(order.agent_id))
            undo.callback(self._end, order)
            fleet.starter.hold(start)
            fleet.compile_hooks()  # while the gate starts up: no hook runs before it opens
            agent = fleet.agents.get(order.agent_id)
            if agent is None or read_process(agent.pid or 0) is None:
                raise Unreachable(f"the session {start['session']} vanished while it was made")
            undo.pop_all()
        if made is not None:
            self._settle(made)
        fleet.journal.tell(order.agent_id, "Dispatched", source="cli", task=order.task_id, engine=order.engine)
        fleet.starter.release(start)
        return Dispatched(agent, start["nonce"], plan, tuple(made.notes) if made is not None else ())

    def _worktree(self, order: Order, undo: contextlib.ExitStack) -> Made | None:
        """The git worktree that the order asks for; None when it asks for none."""
        if order.worktree is None:
            return None
        from fleet.worktree.making import Maker  # noqa: PLC0415  # paid only where it is used

        self._check_task(order)  # said of the task rather than of its tree
        return Maker(self._fleet).make(order, order.worktree, undo)

    def _settle(self, made: Made) -> None:
        from fleet.worktree.making import Maker  # noqa: PLC0415  # paid only where it is used

        Maker(self._fleet).settle(made.tree)

    def _check_room(self, order: Order) -> None:
        """Make sure that there is a tmux that fleet knows, and one more session. The caller holds the limit lock."""
        fleet = self._fleet
        if self._sessions is not None:
            snapshot, coming = self._sessions, set(launch.ids(fleet.layout)).difference(self._settled)
        else:
            coming = limits.coming(fleet)
            snapshot = fleet.looker().snapshot(order.socket)
        check_version(fleet.tmux_binary, next((pane.version for pane in snapshot.panes), None))
        limits.check_sessions(snapshot, fleet.settings, coming)

    def _end(self, order: Order) -> None:
        with contextlib.suppress(Unreachable):
            self._fleet.panes_on(order.socket).end(order.agent_id)

    def _overcome(self, order: Order, undo: contextlib.ExitStack) -> None:
        """Refuse what would open a dialog; write the engine's own trust record when that was asked for."""
        from fleet.engines.catalog import engine  # noqa: PLC0415  # paid only where it is used

        found = engine(order.engine).obstacles(self._fleet.starter.request(order))
        mends: list[Callable[[], Callable[[], None]]] = []
        for obstacle in found:
            if obstacle.mend is None or not order.trust:
                raise Refused(obstacle.text, hint=obstacle.remedy)
            mends.append(obstacle.mend)
        for mend in mends:
            undo.callback(mend())

    def _check_task(self, order: Order) -> None:
        """
        Make sure that nobody works on the task. The caller holds the task's lock.

        Raises:
            Refused: somebody does, or it could not be found out.
        """
        fleet = self._fleet
        look = fleet.looker()
        # Before the records: a start that gets its record now is in one of both.
        coming = list(launch.unrecorded(fleet.layout))
        for agent in fleet.agents.of_task(order.project, order.task_id):
            sight = look.see(agent)
            if sight.facts.queued or sight.facts.dead_letter:
                raise self._taken(order, agent, "it is being handed off")
            if sight.facts.pane == Existence.UNKNOWN or sight.facts.running is None:
                raise self._taken(order, agent, "whether it still works could not be found out")
            if sight.facts.running:
                raise self._taken(order, agent, f"it is {sight.state.turn}")
        for start in coming:
            same = (start["project"], start["task_id"]) == (order.project, order.task_id)
            if same and fleet.owner_lives(start):
                raise Refused(f"task {order.task_id!r} is being started right now as {start['id']}")

    @staticmethod
    def _taken(order: Order, agent: Agent, why: str) -> Refused:
        return Refused(
            f"task {order.task_id!r} of project {order.project!r} is alive as agent {agent.id}: {why}",
            hint=f"`fleet attach {agent.id}`, or `fleet stop {agent.id}` first",
        )
