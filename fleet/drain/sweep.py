"""What crashes left behind: starts without a record, records without a start, messages and marks of ended agents.

Every rule acts on what is certainly nobody's: a living owner, a look that failed, or another fleet home on the same
tmux server means hands off.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil

from fleet.drain import settling
from fleet.errors import BadFile, FleetError, Unreachable
from fleet.formats import handoff, launch, messages, queue_entry
from fleet.formats.atomic import remove_file
from fleet.formats.ids import is_id
from fleet.formats.layout import FOLDERS
from fleet.formats.record import Held
from fleet.formats.states import COMMITTED_HANDOFFS, HandoffType, Mode, Origin, Turn
from fleet.formats.texts import MILESTONE
from fleet.store.journal import EXITED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from fleet.app import Fleet
    from fleet.model.agent import Agent
    from fleet.observe.facts import Looker, Sight

TEMPORARY = re.compile(r"\..+\.(\d+)\.[0-9a-f]{8}\.tmp")
LONGEST_WRITE_SECONDS = 3600  #: an older temporary file is nobody's, whoever has its pid now


class Sweep:
    """One pass over everything."""

    def __init__(self, fleet: Fleet, look: Looker) -> None:
        self._fleet = fleet
        self._look = look
        self.sights: list[Sight] = []  #: of every live agent, after `run`
        self._living: Sequence[Agent] = ()

    def run(self) -> int:
        """Mend what can be mended; how many things were. One thing's failure does not stop the others."""
        mended = 0
        successors = self._successors_on_their_way()
        for agent_id in launch.ids(self._fleet.layout):
            mended += self._guarded(agent_id, lambda i=agent_id: self._start(i, successors))
        self._living = self._fleet.agents.living().agents
        with contextlib.suppress(Unreachable):
            self._look.table()  # after the records: in it are all that they name; one pass costs less than 200 looks
        for agent in self._living:
            mended += self._guarded(agent.id, lambda a=agent: self._agent(a))
        mended += self._spools() + self._attempts() + self._events() + self._temporaries() + self._sessions()
        return mended

    def _guarded(self, agent_id: str, rule: Any) -> int:
        try:
            return int(rule())
        except (FleetError, OSError) as e:
            self._fleet.journal.tell(agent_id, "NotMended", error=str(e))
            return 0

    def _successors_on_their_way(self) -> set[str]:
        layout = self._fleet.layout
        found = set()
        for folder in (layout.queue, layout.dead):
            try:
                names = os.listdir(folder)
            except FileNotFoundError:
                continue
            for name in names:
                try:
                    if queue_entry.id_of_name(name):
                        found.add(queue_entry.read(os.path.join(folder, name))["new_agent_id"])
                except (FileNotFoundError, BadFile):
                    continue
        return found

    def _start(self, agent_id: str, successors: set[str]) -> bool:
        """A launch whose starter died: finish it when its record stands, else take it back."""
        fleet = self._fleet
        start = self._look.launch(agent_id)
        if agent_id in successors or fleet.owner_lives(start):
            return False
        released = launch.is_released(fleet.layout, agent_id, start["nonce"])
        if released and os.path.exists(fleet.layout.record(agent_id)):
            return False  # as nearly always
        record = fleet.agents.get(agent_id)
        snapshot = self._look.snapshot(start["socket"])
        if snapshot.error:
            return False
        pane = snapshot.of_agent(agent_id)
        if record is not None:
            if released or pane is None or pane.dead or start["origin"] != Origin.DISPATCH:
                return False
            fleet.starter.release(start)  # the dispatch was committed: its record stands
            return True
        if os.path.exists(fleet.layout.archived(agent_id)):
            return self._rest(agent_id)
        if released and pane is not None and not pane.dead:
            fleet.starter.adopt(start, pane)  # an engine at work is never taken for a leftover
            return True
        if pane is not None:
            fleet.panes_on(start["socket"]).close(pane)
        if start["origin"] == Origin.DISPATCH:
            remove_file(fleet.layout.task(start["dispatch_id"]))
        fleet.journal.tell(agent_id, "TakenBack", origin=start["origin"])
        fleet.journal.archive(agent_id)
        launch.remove(fleet.layout, agent_id)
        if start["origin"] == Origin.DISPATCH:
            self._tree(start)
        return True

    def _tree(self, start: Mapping[str, Any]) -> None:
        """The worktree that was made for a start: who asked about it before the gate had gone has left it."""
        tree = start["extra"].get("worktree")
        if isinstance(tree, dict) and isinstance(tree.get("path"), str):
            from fleet.worktree.removing import remove_one  # noqa: PLC0415  # paid only where it is used

            remove_one(self._fleet, tree["path"])

    def _rest(self, agent_id: str) -> bool:
        """What was left when an agent was filed away."""
        self._fleet.journal.archive(agent_id)
        remove_file(self._fleet.layout.draft(agent_id))
        launch.remove(self._fleet.layout, agent_id)
        return True

    def _agent(self, agent: Agent) -> bool:
        """A live record: its conversation as the engine reports it, and a handoff that a killed hook left undone."""
        sight = self._look.see(agent)
        self.sights.append(sight)
        self.converse(sight)
        self._note_end(sight)
        return self._undone_handoff(sight)

    def _note_end(self, sight: Sight) -> None:
        """Write down that an engine ended by itself: without its pane nothing else tells that from a reboot."""
        state = sight.state
        if state.turn == Turn.EXITED and not any(e["event"] == EXITED for e in sight.facts.events):
            self._fleet.journal.tell(sight.agent.id, EXITED, status=state.exit_status, signal=state.exit_signal)

    def converse(self, sight: Sight) -> None:
        """Take the conversation from the engine's own reports: /clear and resume change it, the agent stays."""
        for event in sight.facts.events:
            if event.get("source") == "hook" and event.get("session_id"):
                new = {"conversation_id": event["session_id"], "transcript_path": event.get("transcript_path")}
                if new["transcript_path"] and any(getattr(sight.agent, k) != v for k, v in new.items()):
                    self._fleet.agents.update(sight.agent.id, **new)
                return

    def _undone_handoff(self, sight: Sight) -> bool:
        fleet, agent = self._fleet, sight.agent
        if agent.mode != Mode.EXECUTE or agent.handoff_type is None or queue_entry.is_queued(fleet.layout, agent.id):
            return False
        if sight.facts.settling or agent.successor_id or os.path.exists(fleet.layout.stop_order(agent.id)):
            return False
        due = agent.handoff_type in COMMITTED_HANDOFFS or (
            agent.handoff_type == HandoffType.YELLOW and _printed_milestone(sight)
        )
        if not due:
            return False
        with Held(fleet.layout, agent.id) as held:
            if held.data is None or held.data["handoff_type"] != agent.handoff_type:
                return False
            document = handoff.produce(
                fleet.layout, held.data, agent.handoff_type, fleet.clock.wall(), context_pct=held.data["context_pct"]
            )
        fleet.journal.tell(agent.id, "HandoffProduced", document=document, type=agent.handoff_type)
        return document is not None

    def _spools(self) -> int:
        """Messages of agents that are no longer live: to the living successor, else back."""
        fleet, count = self._fleet, 0
        for name in os.listdir(fleet.layout.inbox):
            agent_id = name.removesuffix(".md")
            if not is_id(agent_id) or os.path.exists(fleet.layout.record(agent_id)):
                continue
            if not messages.any_undelivered(fleet.layout, agent_id):
                continue
            try:
                agent = fleet.agents.archived(agent_id)
            except BadFile:
                continue
            if agent is None:
                continue
            heir = fleet.agents.successor(agent)
            if heir.id != agent_id and fleet.agents.get(heir.id) is not None:
                count += settling.hand_on(fleet, agent, heir.id)
            else:
                count += settling.give_back(fleet, agent)
        return count

    def _attempts(self) -> int:
        layout, count = self._fleet.layout, 0
        for name in os.listdir(layout.attempts):
            agent_id = name.removesuffix(".json")
            paths = [each(agent_id) for each in (layout.entry, layout.dead_entry, layout.stop_order)]
            paths += [layout.start_entry(agent_id), layout.dead_start(agent_id)]
            if is_id(agent_id) and not any(os.path.exists(path) for path in paths):
                count += remove_file(layout.attempt(agent_id))
        return count

    def _events(self) -> int:
        """Reports of agents that were filed away meanwhile."""
        layout, count = self._fleet.layout, 0
        for name in os.listdir(layout.events):
            agent_id = name.partition(".")[0]
            if not is_id(agent_id) or os.path.exists(layout.record(agent_id)):
                continue
            if os.path.exists(layout.archived(agent_id)):
                self._fleet.journal.archive(agent_id)
                count += 1
        return count

    def _temporaries(self) -> int:
        """What processes that are no more have half written, folders too."""
        layout, count = self._fleet.layout, 0
        by_pid = self._look.table().by_pid
        oldest = self._fleet.clock.wall() - LONGEST_WRITE_SECONDS
        folders = [os.path.join(layout.home, name) for name in FOLDERS]
        for parent in (layout.inbox, os.path.join(layout.inbox, "ops")):
            folders += [entry.path for entry in os.scandir(parent) if is_id(entry.name) and entry.is_dir()]
        for folder in folders:
            for path, pid in _temporaries(folder):
                try:
                    if pid not in by_pid or os.stat(path).st_mtime < oldest:
                        count += _remove(path)
                except FileNotFoundError:
                    continue
        return count

    def _sessions(self) -> int:
        """Sessions of this fleet home whose agent was filed away."""
        fleet, count = self._fleet, 0
        for socket in {agent.socket or fleet.socket for agent in self._living} | {fleet.socket}:
            for pane in self._look.snapshot(socket).panes:
                if pane.home != fleet.layout.home or not is_id(pane.mark) or pane.session != f"fleet-{pane.mark}":
                    continue
                live = os.path.exists(fleet.layout.record(pane.mark)) or os.path.exists(
                    fleet.layout.launch_file(pane.mark)
                )
                if live or not os.path.exists(fleet.layout.archived(pane.mark)):
                    continue
                if not pane.dead and self._look.table().session(pane.pid, None):
                    continue
                try:
                    fleet.panes_on(socket).close(pane)
                    count += 1
                except Unreachable:
                    continue
        return count


def _remove(path: str) -> bool:
    """Remove a file, or a folder as far as it goes: git may still write into one whose fleet was killed."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path, ignore_errors=True)
        return not os.path.lexists(path)
    return remove_file(path)


def _temporaries(folder: str) -> list[tuple[str, int]]:
    """The temporary files in a folder, each with the pid that made it."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return [(os.path.join(folder, name), int(found[1])) for name in names if (found := TEMPORARY.fullmatch(name))]


def _printed_milestone(sight: Sight) -> bool:
    """Whether the last thing that the agent reported was the end of a turn with MILESTONE alone on a line."""
    newest = next((e for e in sight.facts.events if e.get("source") == "hook" and e["event"] != "HookActed"), None)
    if newest is None or newest["event"] != "Stop":
        return False
    return any(line.strip() == MILESTONE for line in str(newest.get("tail", "")).splitlines())
