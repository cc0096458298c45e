"""What a command line, or a task of a file, asks to be dispatched, and waiting for what became of it."""

from __future__ import annotations

import os

from fleet.cli import given
from fleet.clock import pause
from fleet.engines.catalog import canonical
from fleet.errors import Refused, TimedOut, UsageError
from fleet.formats import launch
from fleet.formats.ids import check_slug, new_id
from fleet.formats.states import Origin, Turn
from fleet.model.orders import Order, WorktreeWish

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet
    from fleet.dispatch.dispatcher import Dispatched
    from fleet.observe.facts import Sight

BY_SETTING = ("project", "engine", "model", "mode", "role")  #: what a setting dispatch.* says when an option does not
DONE = {"started": "started", "accepted": "accepted its prompt", "idle": "become idle", "exit": "ended"}
WAITS = tuple(DONE)


def order_of(args: argparse.Namespace, fleet: Fleet) -> Order:
    """The order that the command line, or a task of a file, means."""
    try:
        cwd = os.path.abspath(os.path.expanduser(args.cwd if args.cwd is not None else "."))
    except FileNotFoundError as e:
        raise UsageError("the current directory is gone", hint="change to another, or give one with --cwd") from e
    if not os.path.isdir(cwd):
        raise UsageError(f"no such directory: {cwd}", hint="give an existing one with --cwd")
    if args.timeout < 0:
        raise UsageError("--timeout cannot be negative")
    settings = fleet.settings_in(cwd)
    for name in BY_SETTING:
        if getattr(args, name) is None:
            setattr(args, name, settings[f"dispatch.{name}"])
    engine = canonical(args.engine)
    from fleet.dispatch.environment import for_engine  # noqa: PLC0415  # paid only where it is used

    if "\n" in args.role or not args.role:
        raise UsageError(f"--role cannot be {args.role!r}")
    return Order(
        agent_id=new_id(),
        dispatch_id=new_id(),
        generation=1,
        origin=Origin.DISPATCH,
        project=check_slug("project", args.project),
        task_id=check_slug("task", args.task),
        engine=engine,
        role=args.role,
        mode=args.mode,
        cwd=os.path.realpath(cwd),
        socket=fleet.socket,
        env=for_engine(fleet.environ, variables(args)),
        options=fleet.settings.engine(engine),
        model=args.model,
        command=tuple(args.command),
        prompt=prompt_of(args),
        trust=args.trust or bool(fleet.settings["trust.write"]),
        worktree=wish_of(args),
    )


def wish_of(args: argparse.Namespace) -> WorktreeWish | None:
    """The worktree that the command line asks for."""
    if args.worktree is None:
        if args.trust_setup:
            raise UsageError("--trust-setup goes with --worktree")
        return None
    return WorktreeWish(branch=args.worktree or None, trust_setup=args.trust_setup)


def prompt_of(args: argparse.Namespace) -> bytes | None:
    """The first prompt, byte for byte."""
    if args.prompt is not None and args.prompt_file is not None:
        raise UsageError("--prompt and --prompt-file exclude each other")
    if args.prompt is not None:
        prompt = os.fsencode(args.prompt)
    elif args.prompt_file is not None:
        prompt = given.read(args.prompt_file)
    else:
        return None
    if not prompt.strip():
        raise UsageError("the prompt is empty")
    return prompt


def variables(args: argparse.Namespace) -> dict[str, str]:
    """The variables of --env-file and --env, the latter over the former."""
    lines: list[tuple[str, str]] = []
    if args.env_file is not None:
        try:
            stripped = [line.strip() for line in given.read(args.env_file).decode("utf-8").split("\n")]
        except UnicodeDecodeError as e:
            raise UsageError(f"cannot read {args.env_file}: {e}") from e
        lines = [(args.env_file, line) for line in stripped if line and not line.startswith("#")]
    found = {}
    for where, line in [*lines, *(("--env", item) for item in args.env)]:
        name, equals, value = line.partition("=")
        if not equals or not name.replace("_", "a").isalnum() or name[0].isdigit() or "\0" in value:
            raise UsageError(f"{where}: {line.partition('=')[0]!r} is not of the form NAME=VALUE")
        if name.startswith("FLEET_"):
            raise UsageError(f"{where}: {name} is fleet's own", hint="FLEET_ variables of an agent are set by fleet")
        found[name] = value
    return found


def wait(fleet: Fleet, done: Dispatched, until: str, timeout: float, *, prompted: bool) -> Sight:
    """
    Wait until the agent is that far; what was seen of it then.

    Raises:
        TimedOut: it was not within *timeout* seconds.
        Refused: its engine ended instead.
    """
    agent = done.agent
    begun = fleet.clock.monotonic()
    early = fleet.looker()
    if until == "started":
        early.snapshot(agent.socket)  # while the gate's interpreter starts up
    while True:
        alive = early.running(agent)  # before the mark is looked for: only the living make it
        if until == "started" and launch.is_started(fleet.layout, agent.id, done.nonce):
            # A pane that tmux told of before its engine started is as it was for as long as the engine lives.
            return (early if alive else fleet.looker()).see(agent)
        late = fleet.clock.monotonic() - begun >= timeout
        if until != "started" or late or alive is False:
            sight = fleet.looker().see(fleet.agents.get(agent.id) or agent)
            if _is_that_far(fleet, sight, until, prompted=prompted, late=late):
                return sight
        if late:
            raise TimedOut(
                f"agent {agent.id} had not {DONE[until]} within {timeout:g} s; it goes on",
                hint=f"`fleet peek {agent.id}` shows its screen",
            )
        fleet.clock.sleep(pause(fleet.clock.monotonic() - begun))


def _is_that_far(fleet: Fleet, sight: Sight, until: str, *, prompted: bool, late: bool) -> bool:
    """Whether the wait for *until* is over. Raises as `wait`, but for the time."""
    agent, turn = sight.agent, sight.state.turn
    if turn in (Turn.EXITED, Turn.GONE):
        if until != "exit":
            how = f"its engine {sight.state.evidence}" if turn == Turn.EXITED else sight.state.evidence
            raise Refused(f"agent {agent.id}: {how}", hint=f"`fleet peek {agent.id}` shows its screen")
        return late or not sight.facts.pane_dead or sight.facts.how_known
    if until in ("accepted", "idle") and not sight.facts.reports:
        if until == "idle":
            raise UsageError(f"the {agent.engine} engine does not report when it is idle")
        return True
    accepted = fleet.journal.accepted(agent.id) or (not prompted and turn == Turn.IDLE)
    return accepted and (until == "accepted" or (until == "idle" and turn in (Turn.IDLE, Turn.WAITING)))
