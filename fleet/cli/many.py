"""`fleet dispatch --from`: queue all tasks of a file, start those that have room, say of each what became of it."""

from __future__ import annotations

import argparse
import hashlib
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from fleet.cli import given, ordering, output
from fleet.dispatch import batch
from fleet.drain.carry import start_background
from fleet.drain.starts import LOCK_SECONDS, Result, Starts
from fleet.errors import EXIT_NO, EXIT_OK, EnvironmentMissing, FleetError, Refused, UsageError
from fleet.formats import start_entry
from fleet.formats.atomic import Lock
from fleet.formats.ids import new_id
from fleet.formats.states import Mode, Turn
from fleet.formats.times import rfc3339_ms

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.app import Fleet
    from fleet.drain.starts import Outcome
    from fleet.git.repository import Repository
    from fleet.model.orders import Order

#: What a task may leave to the command line, which also wins over the file.
SHARED = ("project", "cwd", "engine", "model", "prompt", "prompt_file", "mode", "role", "env_file", "worktree")
WRITERS = 8  #: at once: a disk takes as long for eight syncs as for one
BAR_CHARACTERS = 24
PROMPT_CHARACTERS = 200
REAL = ("started", "queued", "failed")  #: results of orders that exist: the ids of the others will never be seen again


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Queue, start, report; 1 when a task could not be started."""
    _check(args)
    planned = _planned(args, fleet)
    report = _Report(as_json=args.json, total=len(planned))
    if args.dry_run:
        present = _present(fleet, Starts(fleet))
        for spec, order in sorted(planned, key=lambda one: -one[0].priority):
            there = (order.project, order.task_id) in present
            foreseen = "would start" if not there else "exists" if args.if_absent else "refused"
            report.add(_view(order, foreseen, priority=spec.priority, **_shown(order)))
        return report.end()
    fleet.make_home()
    starts = Starts(fleet)
    mine = _queue(args, fleet, planned, starts, report)
    if mine:
        started = {}
        for one in starts.advance(lambda o: _told(o, mine, report)):
            if one.entry["dispatch_id"] in mine and one.done is not None:
                started[one.entry["dispatch_id"]] = one
        _missed(fleet, mine, report)
        if starts.waiting():
            start_background(fleet)
        _wait(args, fleet, started)
    return report.end()


def _check(args: argparse.Namespace) -> None:
    if args.task is not None or args.command:
        raise UsageError("--from takes the tasks and their commands from the file alone")
    if args.at_most is not None and args.at_most < 1:
        raise UsageError(f"--max cannot be {args.at_most}")
    if args.timeout < 0:
        raise UsageError("--timeout cannot be negative")


def _planned(args: argparse.Namespace, fleet: Fleet) -> list[tuple[batch.Spec, Order]]:
    """Every task of the file as a checked order: whatever is wrong is found before anything is queued."""
    text, folder = _text(args.source)
    name = "standard input" if args.source == "-" else args.source
    found = []
    known: set[tuple[str, str]] = set()
    for spec in batch.read(text, name):
        try:
            order = ordering.order_of(_namespace(args, spec, folder), fleet)
        except FleetError as e:
            raise type(e)(f"{spec.where}: {e}", hint=e.hint) from e
        if (order.project, order.task_id) in known:
            raise UsageError(f"{spec.where}: task {order.task_id!r} is there twice")
        known.add((order.project, order.task_id))
        found.append((spec, order))
    _check_engines(fleet, [order for _, order in found])
    _check_worktrees(fleet, found)
    return found


def _check_worktrees(fleet: Fleet, found: list[tuple[batch.Spec, Order]]) -> None:
    """Refuse branches that cannot be, or that two tasks would want in one repository."""
    from fleet.git import branches  # noqa: PLC0415  # paid only where it is used
    from fleet.git.repository import discover  # noqa: PLC0415  # paid only where it is used
    from fleet.git.runner import Git  # noqa: PLC0415  # paid only where it is used

    repositories: dict[str, Repository] = {}
    taken: dict[str, dict[str, str]] = {}  # by repository: branch and its task
    for spec, order in found:
        if order.worktree is None:
            continue
        branch = order.worktree.branch or f"fleet/{order.task_id}"
        try:
            if order.cwd not in repositories:
                repositories[order.cwd] = discover(order.cwd, fleet.environ)
            repository = repositories[order.cwd]
            branches.check_name(Git(repository.place, fleet.environ), branch)
            known = taken.setdefault(repository.common, {})
            if branch in known:
                raise UsageError(
                    f"its worktree branch {branch!r} is that of task {known[branch]!r} as well",
                    hint="one tree has one agent: give each task a branch of its own",
                )
            branches.check_collisions(branch, known)
            known[branch] = order.task_id
        except EnvironmentMissing:
            raise
        except FleetError as e:
            raise UsageError(f"{spec.where}: task {order.task_id!r}: {e}", hint=e.hint) from e


def _check_engines(fleet: Fleet, orders: list[Order]) -> None:
    """Refuse what no start could get over, once for each engine and directory."""
    from fleet.engines.catalog import engine  # noqa: PLC0415  # paid only where it is used

    for order in {(o.engine, o.cwd, o.trust, o.command): o for o in orders}.values():
        request = fleet.starter.request(order)
        engine(order.engine).plan(request)
        for obstacle in engine(order.engine).obstacles(request):
            if obstacle.mend is None or not order.trust:
                raise Refused(obstacle.text, hint=obstacle.remedy)


def _text(source: str) -> tuple[str, str]:
    """What the file says, and the folder that its relative paths start from."""
    try:
        text = given.read(source).decode()
    except UnicodeDecodeError as e:
        raise UsageError(f"{source}: not UTF-8") from e
    return text, os.getcwd() if source == "-" else os.path.dirname(os.path.abspath(source))


def _namespace(args: argparse.Namespace, spec: batch.Spec, folder: str) -> argparse.Namespace:
    """The task as if it had been typed."""
    merged = argparse.Namespace(**vars(args))
    options = dict(spec.options)
    if options.get("prompt_file") == "-":
        raise UsageError(f"{spec.where}: the prompts of many tasks cannot all come from standard input")
    for name in ("cwd", "prompt_file", "env_file"):
        if name in options:
            options[name] = os.path.join(folder, os.path.expanduser(options[name]))
    for name in SHARED:
        if getattr(args, name, None) is None and name in options:
            setattr(merged, name, options[name])
    if args.prompt is not None or args.prompt_file is not None:
        merged.prompt, merged.prompt_file = args.prompt, args.prompt_file
    if merged.mode is not None and merged.mode not in list(Mode):
        raise UsageError(f"{spec.where}: no mode {merged.mode!r}", hint=f"known: {', '.join(Mode)}")
    if merged.prompt_file == "-" and args.source == "-":
        raise UsageError("the tasks and their prompt cannot both come from standard input")
    merged.task, merged.command = options["task"], tuple(options.get("command", ()))
    if isinstance(merged.worktree, bool):
        merged.worktree = "" if merged.worktree else None
    merged.trust_setup = args.trust_setup and merged.worktree is not None
    merged.env = [*(f"{k}={v}" for k, v in options.get("env", {}).items()), *args.env]
    merged.trust = args.trust or options.get("trust", False)
    return merged


def _shown(order: Order) -> dict[str, Any]:
    """What a plan tells of an order beyond its result."""
    prompt = None if order.prompt is None else order.prompt.decode("utf-8", "replace")[:PROMPT_CHARACTERS]
    return {"mode": order.mode, "role": order.role, "model": order.model, "prompt": prompt, "command": order.command}


def _present(fleet: Fleet, starts: Starts) -> set[tuple[str, str]]:
    """The tasks that are alive or wait already."""
    look = fleet.looker()
    over = (Turn.EXITED, Turn.GONE)
    alive = {
        (a.project, a.task_id)
        for a in fleet.agents.living().agents
        if look.see(a).state.turn not in over or look.see(a).facts.queued
    }
    return alive | {(e["order"]["project"], e["order"]["task_id"]) for e in starts.entries()}


def _queue(
    args: argparse.Namespace, fleet: Fleet, planned: list[tuple[batch.Spec, Order]], starts: Starts, report: _Report
) -> dict[str, Order]:
    """Put the tasks into the queue, all of them before the first is started; those that are new, by dispatch id."""
    batch_id, mine, entries = _batch(args.source), {}, []
    with Lock(fleet.layout.starts_lock, LOCK_SECONDS):
        present = _present(fleet, starts)
        for place, (spec, order) in enumerate(planned):
            if (order.project, order.task_id) in present:
                why = None if args.if_absent else Refused(f"task {order.task_id!r} is alive or waits already")
                report.add(_view(order, "exists" if args.if_absent else "refused", why))
                continue
            order = order._replace(extra={**order.extra, "batch": batch_id, "priority": spec.priority})  # noqa: PLW2901
            entry = {
                "dispatch_id": order.dispatch_id, "batch": batch_id, "place": place, "priority": spec.priority,
                "at_most": args.at_most, "finished": args.finished, "enqueued_at": rfc3339_ms(fleet.clock.wall()),
                "prompt": None if order.prompt is None else order.prompt.decode("utf-8", "surrogateescape"),
                "order": order.as_data(),
            }  # fmt: skip
            entries.append(entry)
            mine[order.dispatch_id] = order
        with ThreadPoolExecutor(WRITERS) as pool:
            for _ in pool.map(lambda entry: start_entry.write(fleet.layout, entry), entries):
                pass  # what could not be written is raised here
    return mine


def _batch(source: str) -> str:
    """The same for every call with the same file, so that --max holds for all of them together."""
    if source == "-":
        return new_id()
    return hashlib.sha256(os.fsencode(os.path.realpath(source))).hexdigest()[:8]


def _told(outcome: Outcome, mine: dict[str, Order], report: _Report) -> None:
    order = mine.get(outcome.entry["dispatch_id"])
    if order is not None and order.dispatch_id not in report.seen:
        where: dict[str, Any] = {}
        if outcome.done is not None:  # a worktree moves it
            where = {"cwd": outcome.done.agent.cwd, "notes": [*outcome.done.notes, *outcome.done.plan.notes]}
        report.add(_view(order, _WORDS[outcome.result], outcome.why, **where))


_WORDS = {Result.STARTED: "started", Result.WAITING: "queued", Result.FAILED: "failed"}


def _missed(fleet: Fleet, mine: dict[str, Order], report: _Report) -> None:
    """What a drain that runs has taken meanwhile."""
    for dispatch_id, order in mine.items():
        if dispatch_id not in report.seen:
            failed = os.path.exists(fleet.layout.dead_start(dispatch_id))
            why = Refused("`fleet queue list` says why") if failed else None
            report.add(_view(order, "failed" if failed else "started", why))


def _wait(args: argparse.Namespace, fleet: Fleet, started: dict[str, Outcome]) -> None:
    """Wait for those that this command has started, as asked."""
    if args.wait == "started":
        return
    end = fleet.clock.monotonic() + args.timeout
    for one in started.values():
        if one.done is not None:
            left = max(0.0, end - fleet.clock.monotonic())
            ordering.wait(fleet, one.done, args.wait, left, prompted=one.entry["prompt"] is not None)


def _view(order: Order, result: str, why: FleetError | None = None, **more: Any) -> dict[str, Any]:
    return {
        "task_id": order.task_id,
        "project": order.project,
        "engine": order.engine,
        "result": result,
        "id": order.agent_id if result in REAL else None,
        "dispatch_id": order.dispatch_id if result in REAL else None,
        "cwd": order.cwd,
        "error": None if why is None else " ".join(str(why).split()),
        "hint": None if why is None else why.hint,
        **more,
    }


class _Report:
    """One line a task as it is decided, with a bar on a terminal; or all of it as one JSON array."""

    def __init__(self, *, as_json: bool, total: int) -> None:
        self._json = as_json
        self._total = total
        self._bar = not as_json and sys.stderr.isatty() and sys.stdout.isatty()
        self._rows: list[dict[str, Any]] = []
        self.seen: set[str] = set()

    def add(self, row: dict[str, Any]) -> None:
        """One more is decided."""
        self._rows.append(row)
        if row["dispatch_id"] is not None:
            self.seen.add(row["dispatch_id"])
        if self._bar:
            done = len(self._rows)
            filled = BAR_CHARACTERS * done // self._total
            sys.stderr.write(f"\r[{'#' * filled}{' ' * (BAR_CHARACTERS - filled)}] {done}/{self._total} ")
            sys.stderr.flush()
        elif not self._json:
            output.line(row)

    def end(self) -> int:
        """The last words; the exit code."""
        if self._json:
            output.data(self._rows)
        if self._bar:
            sys.stderr.write("\r\x1b[K")
            output.table(("ID", "PROJECT", "TASK", "RESULT"), [_cells(row) for row in self._rows])
        results = [row["result"] for row in self._rows]
        counts = {word: results.count(word) for word in dict.fromkeys(results)}
        output.say(", ".join(f"{count} {word}" for word, count in counts.items()))
        if counts.get("queued"):
            output.say("what waits is started by the drain when there is room: `fleet queue list`")
        return EXIT_NO if any(r["result"] in ("failed", "refused") for r in self._rows) else EXIT_OK


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    words = f"{row['result']}: {row['error']}" if row["error"] else row["result"]
    shown = row["id"] if row["result"] in ("started", "queued") else "-"
    return (shown, row["project"], row["task_id"], words)
