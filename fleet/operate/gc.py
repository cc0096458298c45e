"""Removing what nobody needs any more: one judgement for the plan and, once more just before, for the deed.

What stays, whatever its age: all of a dispatch of which an agent lives, starts, waits or was given up; all of one whose
worktree stands; messages that nobody got; a document that anything kept names; what cannot be read, and all that it may
name. Ages are counted from what a file says of itself or from its last change; one from the future is young.
"""

from __future__ import annotations

import os

from fleet.errors import BadFile, FleetError
from fleet.formats import launch, queue_entry, start_entry
from fleet.formats.atomic import Lock, remove_file, remove_tree
from fleet.formats.enums import StrEnum
from fleet.formats.handoff import whole_draft
from fleet.formats.ids import is_id
from fleet.formats.times import parse
from fleet.formats.tuples import NamedTuple
from fleet.store.trees import TreeStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from fleet.app import Fleet
    from fleet.model.agent import Agent

DAY = 86400.0


class Kind(StrEnum):
    """What is removed together."""

    AGENTS = "agents"  #: everything of a dispatch that is over
    HANDOFFS = "handoffs"  #: documents that no record names
    RESCUES = "rescues"  #: patches
    LOGS = "logs"
    LOCKS = "locks"
    LAUNCH = "launch"  #: files of launches that are over
    WORKTREES = "worktrees"  #: what `fleet worktree prune` would do


class Item(NamedTuple):
    """One thing that may go."""

    kind: Kind
    what: str  #: names it, also to a second judgement
    paths: tuple[str, ...]  #: in the order in which they go; the last one is what it is known by
    why: str
    age_days: float | None = None
    ids: frozenset[str] = frozenset()  #: of a dispatch: itself and all its agents

    def size(self) -> int:
        """Bytes, of all that is there."""
        return sum(_size(path) for path in self.paths)


class Blocked(NamedTuple):
    """A kind of which nothing goes, because something could not be read."""

    kind: Kind
    why: str


class Plan(NamedTuple):
    """What would go, and what could not be judged."""

    items: tuple[Item, ...]
    blocked: tuple[Blocked, ...]


def plan(fleet: Fleet, kinds: Iterable[Kind]) -> Plan:
    """Judge everything of those kinds."""
    items: list[Item] = []
    blocked: list[Blocked] = []
    judges: dict[Kind, Callable[[Fleet], Iterator[Item]]] = {
        Kind.AGENTS: _dispatches, Kind.HANDOFFS: _handoffs, Kind.RESCUES: _rescues, Kind.LOGS: _logs,
        Kind.LAUNCH: _launches, Kind.LOCKS: _locks, Kind.WORKTREES: _worktrees,
    }  # fmt: skip
    for kind in kinds:
        try:
            items += judges[kind](fleet)
        except (FleetError, OSError) as e:
            blocked.append(Blocked(kind, str(e)))
    return Plan(tuple(items), tuple(blocked))


def carry_out(fleet: Fleet, item: Item) -> bool:
    """
    Judge *item* once more and remove it; False when it may not go any more. Safe to repeat.

    Raises:
        FleetError, OSError: it could not be judged or removed.
    """
    if item.ids:  # ended for so long, it can only have come to life again, and then somebody of it is known as living
        waiting = any(_names(fleet.layout.spool(one)) or os.path.exists(fleet.layout.slot(one)) for one in item.ids)
        if waiting or item.ids & _living(fleet):
            return False
        now: Item | None = item
    else:
        again = plan(fleet, [item.kind])
        if again.blocked:
            raise BadFile(fleet.layout.home, again.blocked[0].why)
        now = next((one for one in again.items if one.what == item.what), None)
    if now is None:
        return False
    if item.kind == Kind.WORKTREES:
        from fleet.worktree.removing import Remover  # noqa: PLC0415  # paid only where it is used

        outcome = Remover(fleet).carry_out(item.what)
        return outcome is None or outcome.done
    if item.kind == Kind.LOCKS:
        return Lock(item.what, 0).retire()
    for path in now.paths:
        if os.path.isdir(path) and not os.path.islink(path):
            remove_tree(path)
        else:
            remove_file(path)
    return True


# who is still of interest


def _living(fleet: Fleet) -> set[str]:
    """The ids of all agents and dispatches that are not over. Raises BadFile: what may name more is unreadable."""
    layout = fleet.layout
    found = {*fleet.agents.ids(), *launch.ids(layout)}
    listing = fleet.agents.living()
    for error in listing.bad:
        raise error
    for agent in listing.agents:
        found |= {agent.dispatch_id, agent.id, agent.predecessor_id or "", agent.successor_id or ""}
    for agent_id in launch.ids(layout):
        try:
            found.add(launch.read(layout, agent_id)["dispatch_id"])
        except FileNotFoundError:
            continue
    for folder in (layout.queue, layout.dead):
        for name in _names(folder):
            path = os.path.join(folder, name)
            try:
                if queue_entry.id_of_name(name):
                    entry = queue_entry.read(path)
                    found |= {entry["old_agent_id"], entry["new_agent_id"]}
                elif start_entry.id_of_name(name):
                    found.add(start_entry.read(path)["dispatch_id"])
                elif name.startswith("stop-"):
                    found.add(name[5:13])
            except FileNotFoundError:
                continue
    trees, bad = TreeStore(layout).all()
    for error in bad:
        raise error
    return found | {tree.agent_id for tree in trees}


def _archived(fleet: Fleet) -> list[Agent]:
    """Every ended agent. Raises BadFile: a record cannot be read."""
    ids = (name[:8] for name in _names(fleet.layout.archive) if is_id(name[:8]) and name[8:] == ".json")
    return [agent for agent_id in ids if (agent := fleet.agents.archived(agent_id)) is not None]


# judges


def _dispatches(fleet: Fleet) -> Iterator[Item]:
    days = fleet.settings.number("gc.agents_days")
    if not days:
        return
    layout, living = fleet.layout, _living(fleet)
    of: dict[str, list[Agent]] = {}
    for agent in _archived(fleet):
        of.setdefault(agent.dispatch_id, []).append(agent)
    for dispatch_id, agents in sorted(of.items()):
        ended = [parse(agent.archived_at) for agent in agents]
        ids = [agent.id for agent in agents]
        if {dispatch_id, *ids} & living or any(at is None for at in ended):
            continue
        age = _age(fleet, max(at for at in ended if at is not None))
        if age < days or any(_names(layout.spool(i)) or os.path.exists(layout.slot(i)) for i in ids):
            continue
        paths = [os.path.join(layout.inbox, "ops", dispatch_id), layout.task(dispatch_id)]
        for agent_id in ids:
            events = os.path.join(layout.events, "archive", agent_id)
            messages = os.path.join(layout.inbox_archive, agent_id)
            bodies = [os.path.join(layout.bodies, f"{name[9:25]}.md") for name in _names(messages)]
            paths += [*bodies, messages, events + ".jsonl", events + ".jsonl.1", layout.screen(agent_id)]
        paths += [layout.archived(agent_id) for agent_id in ids]
        there = tuple(path for path in paths if os.path.lexists(path))
        yield Item(
            Kind.AGENTS,
            dispatch_id,
            there,
            f"{agents[0].task_id}: ended, {len(ids)} agents",
            age,
            frozenset({dispatch_id, *ids}),
        )


def _handoffs(fleet: Fleet) -> Iterator[Item]:
    days = fleet.settings.number("gc.handoffs_days")
    if not days:
        return
    layout, living = fleet.layout, _living(fleet)
    known = [*_archived(fleet), *fleet.agents.living().agents]
    kept = living | {agent.id for agent in known}
    named = {agent.last_handoff_path for agent in known}
    for folder in (layout.queue, layout.dead):
        for name in _names(folder):
            if queue_entry.id_of_name(name):
                try:
                    named.add(queue_entry.read(os.path.join(folder, name))["handoff_doc"])
                except FileNotFoundError:
                    continue
    named |= {whole_draft(path) for path in named if path}
    for path, age in _aged(fleet, layout.handoffs, days):
        if path.endswith(".md") and os.path.basename(path)[:8] not in kept and path not in named:
            yield Item(Kind.HANDOFFS, path, (path,), "no record names it", age)


def _rescues(fleet: Fleet) -> Iterator[Item]:
    days = fleet.settings.number("gc.rescues_days")
    if not days:
        return
    living = _living(fleet)
    for path, age in _aged(fleet, fleet.layout.rescues, days):
        if path.endswith(".patch") and os.path.basename(path)[:8] not in living:
            yield Item(Kind.RESCUES, path, (path,), "an old patch", age)


def _logs(fleet: Fleet) -> Iterator[Item]:
    days = fleet.settings.number("gc.logs_days")
    if not days:
        return
    living = _living(fleet)
    for path, age in _aged(fleet, fleet.layout.logs, days):
        name = os.path.basename(path)
        setup = name.removeprefix("worktree-setup-")
        rotated = name[-2:-1] == "." and name[-1:].isdigit()
        if rotated or name.startswith("fleet-bug-") or (setup != name and setup[:8] not in living):
            yield Item(Kind.LOGS, path, (path,), "an old log", age)


def _launches(fleet: Fleet) -> Iterator[Item]:
    days = fleet.settings.number("gc.leftovers_days")
    if not days:
        return
    layout, living = fleet.layout, _living(fleet)
    for path, age in _aged(fleet, layout.launch, days):
        agent_id, dot, _ = os.path.basename(path).partition(".")
        if dot and is_id(agent_id) and agent_id not in living and not os.path.exists(layout.launch_file(agent_id)):
            yield Item(Kind.LAUNCH, path, (path,), "its launch is over", age)


def _locks(fleet: Fleet) -> Iterator[Item]:
    days = fleet.settings.number("gc.leftovers_days")
    if not days:
        return
    layout, living = fleet.layout, _living(fleet)
    for path, age in _aged(fleet, os.path.join(layout.agents, ".locks"), days):
        agent_id = os.path.basename(path)[:8]
        if is_id(agent_id) and path == layout.record_lock(agent_id) and agent_id not in living:
            yield Item(Kind.LOCKS, path, (path,), "its agent has ended", age)
    for path, age in _aged(fleet, os.path.join(layout.run, "locks"), days):
        if os.path.basename(path).startswith(("keyboard-", "task-", "rescue-")):
            yield Item(Kind.LOCKS, path, (path,), "nobody has made it anew", age)


def _worktrees(fleet: Fleet) -> Iterator[Item]:
    from fleet.worktree.survey import Fate, survey  # noqa: PLC0415  # paid only where it is used

    for one in survey(fleet):
        if one.fate in (Fate.REMOVE, Fate.UNDO, Fate.FINISH):
            yield Item(Kind.WORKTREES, one.path, (one.path,), one.reason)


# files


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def _age(fleet: Fleet, at: float) -> float:
    return (fleet.clock.wall() - at) / DAY


def _aged(fleet: Fleet, folder: str, days: float) -> Iterator[tuple[str, float]]:
    """What lies in a folder and was not changed for so long, with its age in days; no link."""
    for name in _names(folder):
        path = os.path.join(folder, name)
        try:
            info = os.lstat(path)
        except FileNotFoundError:
            continue
        age = _age(fleet, info.st_mtime)
        if age >= days and not os.path.islink(path):
            yield path, age


def _size(path: str) -> int:
    try:
        total = os.lstat(path).st_size
    except OSError:
        return 0
    if os.path.isdir(path) and not os.path.islink(path):
        for folder, _, names in os.walk(path):
            for name in names:
                try:
                    total += os.lstat(os.path.join(folder, name)).st_size
                except OSError:
                    continue
    return total
