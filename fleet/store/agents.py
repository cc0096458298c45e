"""The agents: live records, archived records, and finding one by what an operator types."""

from __future__ import annotations

import os

from fleet.errors import Ambiguous, BadFile, NotFound
from fleet.formats import record
from fleet.formats.atomic import create_file, encode, ensure_dir, read_bytes, sync_dir
from fleet.formats.ids import is_id
from fleet.formats.record import Held
from fleet.formats.times import rfc3339
from fleet.formats.tuples import NamedTuple
from fleet.model.agent import Agent, from_record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.formats.layout import Layout

OLDEST_PREFIX = 2  #: characters of an id that may stand for it


class Listing(NamedTuple):
    """The live agents that could be read, and what could not."""

    agents: tuple[Agent, ...]
    bad: tuple[BadFile, ...]


class AgentStore:
    """Records under `agents/`."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout

    def ids(self) -> list[str]:
        """The ids of all live agents, readable or not."""
        return _ids(self.layout.agents)

    def living(self) -> Listing:
        """All live agents, oldest first; an unreadable record is named and takes no other down."""
        agents, bad = [], []
        for agent_id in self.ids():
            try:
                agents.append(from_record(record.read(self.layout.record(agent_id))))
            except FileNotFoundError:
                continue
            except BadFile as e:
                bad.append(e)
        agents.sort(key=lambda a: (a.spawned_at or "", a.id))
        return Listing(tuple(agents), tuple(bad))

    def of_task(self, project: str, task_id: str) -> list[Agent]:
        """The live agents of one task; a record without its name is not parsed, an unreadable one is passed over."""
        found = []
        for agent_id in self.ids():
            try:
                if task_id.encode() not in read_bytes(self.layout.record(agent_id)):
                    continue
                agent = self.get(agent_id)
            except (FileNotFoundError, BadFile):
                continue
            if agent is not None and (agent.project, agent.task_id) == (project, task_id):
                found.append(agent)
        return found

    def get(self, agent_id: str) -> Agent | None:
        """
        A live agent.

        Raises:
            BadFile: its record is there and cannot be read.
        """
        try:
            return from_record(record.read(self.layout.record(agent_id)))
        except FileNotFoundError:
            return None

    def archived(self, agent_id: str) -> Agent | None:
        """An ended agent, as `get`."""
        try:
            return from_record(record.read(self.layout.archived(agent_id)))
        except FileNotFoundError:
            return None

    def add(self, data: Mapping[str, Any]) -> bool:
        """Write the first record of an agent; False when it has one."""
        return create_file(self.layout.record(data["id"]), encode(data))

    def update(self, agent_id: str, **changes: Any) -> Agent | None:
        """Set fields that fleet owns; None when the agent is no longer live."""
        data = record.merge(self.layout, agent_id, lambda _: changes)
        return None if data is None else from_record(data)

    def archive(self, agent_id: str, cause: str, wall: float, **changes: Any) -> bool:
        """Set the last fields and move the record to the archive; False when it was not live. Safe to repeat."""
        ensure_dir(self.layout.archive)
        with Held(self.layout, agent_id) as held:
            if held.data is None:
                return False
            held.set({**changes, "archived_cause": cause, "archived_at": rfc3339(wall)})
            os.replace(self.layout.record(agent_id), self.layout.archived(agent_id))
            sync_dir(self.layout.archive)
        return True

    def find(self, token: str, *, archived: bool = False) -> Agent:
        """
        The agent that *token* means: an id, else a dispatch id, else a unique prefix of an id, else a task name.

        Args:
            archived: also look among ended agents, after the live ones.

        Raises:
            NotFound: nothing answers to it, or, without *archived*, one that has ended. The hint lists what does.
            Ambiguous: more than one does.
            BadFile: the record it names cannot be read.
        """
        if is_id(token) and (agent := self.get(token)):
            return agent
        listing = self.living()
        for match in (_by_dispatch, _by_prefix, _by_task):
            found = [a for a in listing.agents if match(a, token)]
            if len(found) == 1:
                return found[0]
            if found:
                newest = _one_dispatch(found)
                if newest is not None:
                    return newest
                raise Ambiguous(f"{token!r} could be any of: {_names(found)}", hint="give more of the id")
        if archived and (agent := self._find_archived(token)):
            return agent
        ended = None if archived else self._ended(token)
        if ended is not None:
            hint = f"`fleet show {ended.id}` shows what is kept of it; {_hint(listing.agents)}"
            raise NotFound(f"agent {ended.id} has ended", hint=hint)
        for error in listing.bad:
            if is_id(token) and error.path == self.layout.record(token):
                raise error
        unread = [f"{error.path} cannot be read, and may be the one you mean" for error in listing.bad[:1]]
        raise NotFound(f"no agent {token!r}", hint="; ".join([*unread, _hint(listing.agents)]))

    def _ended(self, token: str) -> Agent | None:
        """The ended agent that *token* means, where it means one that can be read."""
        try:
            return self._find_archived(token)
        except (Ambiguous, BadFile):
            return None

    def _find_archived(self, token: str) -> Agent | None:
        if is_id(token) and (agent := self.archived(token)):
            return agent
        found = []
        for agent_id in _ids(self.layout.archive):
            try:
                agent = self.archived(agent_id)
            except BadFile:
                continue
            if agent and (_by_dispatch(agent, token) or _by_prefix(agent, token) or _by_task(agent, token)):
                found.append(agent)
        if not found:
            return None
        same = {a.dispatch_id for a in found}
        if len(same) > 1 and not all(a.task_id == token for a in found):
            raise Ambiguous(f"{token!r} could be any of: {_names(found)}", hint="give more of the id")
        return max(found, key=lambda a: (a.archived_at or "", a.generation))

    def of_dispatch(self, dispatch_id: str) -> list[str]:
        """The ids of all agents of a dispatch, newest generation first; unreadable records are passed over."""
        found = [a for a in self.living().agents if a.dispatch_id == dispatch_id]
        for agent_id in _ids(self.layout.archive):
            try:
                agent = self.archived(agent_id)
            except BadFile:
                continue
            if agent is not None and agent.dispatch_id == dispatch_id:
                found.append(agent)
        return list(dict.fromkeys(a.id for a in sorted(found, key=lambda a: -a.generation)))

    def successor(self, agent: Agent) -> Agent:
        """The newest agent that *agent*'s work was handed to; itself when there is none."""
        seen = {agent.id}
        while agent.successor_id and agent.successor_id not in seen:
            seen.add(agent.successor_id)
            following = self.get(agent.successor_id) or self.archived(agent.successor_id)
            if following is None:
                break
            agent = following
        return agent


def _ids(folder: str) -> list[str]:
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(name[:8] for name in names if len(name) == 13 and name.endswith(".json") and is_id(name[:8]))


def _by_dispatch(agent: Agent, token: str) -> bool:
    return agent.dispatch_id == token


def _by_prefix(agent: Agent, token: str) -> bool:
    return len(token) >= OLDEST_PREFIX and agent.id.startswith(token)


def _by_task(agent: Agent, token: str) -> bool:
    return token in (agent.task_id, f"{agent.project}/{agent.task_id}")


def _one_dispatch(found: list[Agent]) -> Agent | None:
    """The oldest living generation when all of them serve one dispatch: it works until its successor takes over."""
    return min(found, key=lambda a: a.generation) if len({a.dispatch_id for a in found}) == 1 else None


def _names(agents: list[Agent]) -> str:
    return ", ".join(f"{a.id} ({a.project}/{a.task_id})" for a in agents)


def _hint(agents: tuple[Agent, ...]) -> str:
    if not agents:
        return "no agent is alive; start one with `fleet dispatch TASK`"
    shown = ", ".join(f"{a.id} ({a.task_id})" for a in agents[:8])
    return f"alive: {shown}" + (f" and {len(agents) - 8} more" if len(agents) > 8 else "")
