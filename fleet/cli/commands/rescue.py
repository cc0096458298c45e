"""Save what an agent has not committed as a patch, end the agent, and free its worktree when fleet made it.

Tracked and untracked files, binary ones too; not what git ignores. What was staged and is in no file any more, or in
another version, becomes a second patch. Each is checked against the commit that it builds on before anything ends, and
once more, of the final state, before anything is removed. The branch stays.

examples:
  fleet rescue fix-login
  git apply --index ~/.fleet/rescues/a1b2c3d4-20261130-130000.patch

exit codes: 0 saved (or there was nothing to save) and freed; 1 something failed or fits into no patch, and nothing was
removed; 2 the agent has no git working tree; 6 the agent did not end within --timeout: what was saved stands, its end
goes on, and another `fleet rescue` frees the tree.
"""

from __future__ import annotations

import os

from fleet.cli import output
from fleet.cli.commands.stop import first_of
from fleet.drain import stops
from fleet.drain.carry import carry_out
from fleet.errors import (
    EXIT_NO,
    EXIT_OK,
    EXIT_UNCONFIRMED,
    EXIT_USAGE,
    FleetError,
    NotFound,
    Refused,
    TimedOut,
    UsageError,
)
from fleet.formats.times import compact
from fleet.store.trees import TreeStore
from fleet.worktree import rescuing

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet
    from fleet.model.agent import Agent


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument(
        "agent", metavar="AGENT", help="an id, a unique prefix of one, or a task name; also an ended one"
    )
    parser.add_argument("--grace", type=float, metavar="S", help="seconds between the polite and the firm end")
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="give up waiting (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print what was saved as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Save, end, save again, free."""
    grace = fleet.settings.number("handoff.grace_seconds") if args.grace is None else args.grace
    if grace < 0 or args.timeout < 0:
        raise UsageError("--grace and --timeout cannot be negative")
    agent = first_of(fleet, fleet.agents.find(args.agent, archived=True))
    fleet.make_home()
    with rescuing.Alone(fleet, agent):
        return _rescue(args, fleet, agent, grace)


def _rescue(args: argparse.Namespace, fleet: Fleet, agent: Agent, grace: float) -> int:
    """The same for the only rescue of *agent* that there is."""
    _nobody_else(fleet, agent)
    time = compact(fleet.clock.wall())
    row: dict[str, Any] = {
        "id": agent.id, "task_id": agent.task_id, "dispatch_id": agent.dispatch_id, "patch": None, "staged": None,
        "files": 0, "base": None, "missing": None, "worktree": None, "worktree_removed": False, "worktree_reason": None,
    }  # fmt: skip
    gone = rescuing.go_on(fleet, agent)
    if gone is not None:
        row.update(patch=_earlier(fleet, agent), worktree=gone.path, worktree_removed=True)
        row["worktree_reason"] = f"an earlier removal was finished; branch {gone.branch} is as that left it"
        return _end(args, row, EXIT_OK, None)
    try:
        with output.when_slow(f"saving what is not committed in {agent.cwd}"):
            saved = rescuing.save(fleet, agent, time)
    except NotFound as e:
        patch = _earlier(fleet, agent)
        return _end(args, row, EXIT_USAGE, f"{e}; what was rescued before is {patch}" if patch else str(e))
    except FleetError as e:
        return _end(args, row, EXIT_NO, f"rescue failed, agent and working tree left as they are: {e}")
    if fleet.agents.get(agent.id) is not None:
        stops.order(fleet.layout, agent.id, fleet.clock.wall(), grace)
        try:
            carry_out(
                fleet,
                lambda: not os.path.exists(fleet.layout.stop_order(agent.id)),
                args.timeout,
                f"the end of {agent.id}",
            )
        except TimedOut as e:  # only the end goes on: what the agent does until then is not in the patch
            _note(row, saved)
            row["worktree_reason"] = str(e)
            words = f"{e}; working tree left in place until `fleet rescue {agent.id}` runs again"
            return _end(args, row, EXIT_UNCONFIRMED, words)
        output.say(f"fleet: note: agent {agent.id} has ended")
    try:
        with output.when_slow(f"looking at what {agent.id} did until its end in {agent.cwd}"):
            saved = rescuing.save(fleet, agent, time, saved)
    except FleetError as e:
        return _end(args, row, EXIT_NO, f"rescue failed, working tree left in place: {e}")
    _note(row, saved)
    fleet.journal.tell(
        agent.id, "Rescued", source="cli", patch=saved.patch, staged=saved.staged, files=saved.work.files
    )
    fleet.journal.archive(agent.id)
    if TreeStore(fleet.layout).get(saved.top) is None:
        row["worktree_reason"] = "fleet did not make it"
        if saved.missing is None:
            return _end(args, row, EXIT_OK, None)
        return _end(args, row, EXIT_NO, f"working tree left in place: no patch holds {saved.missing}")
    try:
        with output.when_slow(f"making sure that nothing in {saved.top} is lost, and removing it"):
            row["worktree_reason"] = rescuing.free(fleet, saved)
        row["worktree_removed"] = True
    except FleetError as e:
        row["worktree_reason"] = str(e)
        return _end(args, row, EXIT_NO, f"working tree left in place: {e}")
    return _end(args, row, EXIT_OK, None)


def _note(row: dict[str, Any], saved: rescuing.Saved) -> None:
    work = saved.work
    row.update(patch=saved.patch, staged=saved.staged, files=work.files, base=work.base, missing=saved.missing)
    row["worktree"] = saved.top


def _nobody_else(fleet: Fleet, agent: Agent) -> None:
    """Make sure that an ended agent's tree is not somebody's by now."""
    if fleet.agents.get(agent.id) is not None:
        return
    for other in fleet.agents.living().agents:
        if f"{other.cwd}/".startswith(f"{agent.cwd}/"):
            raise Refused(
                f"agent {agent.id} has ended, and agent {other.id} works in {agent.cwd} now",
                hint=f"`fleet rescue {other.id}` saves what is there",
            )


def _earlier(fleet: Fleet, agent: Agent) -> str | None:
    """The patch of the newest earlier rescue; that of what was only staged when it has no other."""
    folder = fleet.layout.rescues
    found = [os.path.join(folder, name) for name in os.listdir(folder) if name.startswith(f"{agent.id}-")]
    every = [path for path in found if not path.endswith(".staged.patch")] or found
    return max(every, key=lambda path: os.stat(path).st_mtime, default=None)


def _end(args: argparse.Namespace, row: dict[str, Any], code: int, words: str | None) -> int:
    if args.json:
        output.data(row)
    elif row["worktree"] is not None:
        if row["patch"] is not None:
            print(f"rescued {row['task_id']} to {row['patch']}")
        if row["staged"] is not None:
            print(f"rescued what {row['task_id']} had only staged to {row['staged']}")
        if row["patch"] is None and row["staged"] is None:
            print(
                f"no patch was made of {row['task_id']}"
                if row["missing"]
                else f"{row['task_id']} had no uncommitted work"
            )
        if row["worktree_removed"]:
            print(f"worktree removed: {row['worktree']} ({row['worktree_reason']})")
        elif words is None:
            print(f"working tree stays: {row['worktree']} ({row['worktree_reason']})")
    if words is not None:
        output.say(f"fleet: {words}")
    if row["missing"] is not None:
        output.say(f"hint: it is where it was: {row['worktree']}")
    elif (patch := row["patch"] or row["staged"]) is not None and row["worktree"] is not None and not args.json:
        output.say(f"hint: on a clean checkout of {(row['base'] or 'nothing')[:10]}: git apply --index {patch}")
    return code
