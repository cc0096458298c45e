"""Start an agent on a task, in a tmux session of its own.

examples:
  fleet dispatch fix-login --prompt "Fix the login bug, run the tests"
  fleet dispatch fix-login --engine codex --cwd ~/src/shop --prompt-file task.md
  fleet dispatch watch-logs --engine command -- tail -f /var/log/syslog
"""

from __future__ import annotations

import os
import sys

from fleet.cli import output, views
from fleet.engines.catalog import canonical
from fleet.errors import EXIT_NO, EXIT_OK, Refused, TimedOut, UsageError
from fleet.formats import launch
from fleet.formats.ids import check_slug, new_id
from fleet.formats.states import Mode, Origin, Turn
from fleet.model.orders import Order

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet
    from fleet.dispatch.dispatcher import Dispatched
    from fleet.observe.facts import Sight

TAKES_COMMAND = True  #: what stands behind `--` goes to the engine
WAITS = ("started", "accepted", "idle", "exit")
DONE = {"started": "started", "accepted": "accepted its prompt", "idle": "become idle", "exit": "ended"}
WAIT_POLL_SECONDS = 0.005


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("task", help="a name for the task: lower-case letters, digits, '-', '_', '.'")
    parser.add_argument("--project", default="default", help="the project it belongs to (default: %(default)s)")
    parser.add_argument("--cwd", default=".", help="the working directory (default: this one)")
    parser.add_argument("--engine", default="claude", help="claude, codex, fake or command (default: %(default)s)")
    parser.add_argument("--model", help="the engine's model")
    parser.add_argument("--prompt", help="the first prompt")
    parser.add_argument("--prompt-file", metavar="FILE", help="the first prompt from a file, - for standard input")
    parser.add_argument("--mode", default="execute", choices=[str(m) for m in Mode],
                        help="execute hands itself off, the others do not (default: %(default)s)")  # fmt: skip
    parser.add_argument("--role", default="executor", help="a word for your own use (default: %(default)s)")
    parser.add_argument("--env", action="append", default=[], metavar="K=V", help="a variable for the engine")
    parser.add_argument("--env-file", metavar="FILE", help="variables for the engine, K=V a line")
    parser.add_argument("--trust", action="store_true", help="write the engine's trust record for the directory")
    parser.add_argument("--wait", default="started", choices=WAITS,
                        help="return when the engine is started, has accepted the prompt, is idle again, or has "
                        "exited (default: %(default)s)")  # fmt: skip
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="for --wait (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the agent as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Dispatch, then wait as asked."""
    order = order_of(args, fleet)
    fleet.make_home()
    from fleet.dispatch.dispatcher import Dispatcher  # noqa: PLC0415  # paid only where it is used

    done = Dispatcher(fleet).dispatch(order)
    for note in done.plan.notes:
        output.say(f"fleet: note: {note}")
    sight = wait(fleet, done, args.wait, args.timeout, prompted=order.prompt is not None)
    look = fleet.looker()
    view = views.agent_view(sight or look.see(done.agent), look)
    if args.json:
        output.data(view)
    else:
        print(f"{done.agent.id}  {order.task_id}  {views.state_text(view)}")
        output.say(f"attach with: fleet attach {done.agent.id}")
    if args.wait == "exit":
        return EXIT_OK if view["exit_status"] == 0 else EXIT_NO
    return EXIT_OK


def order_of(args: argparse.Namespace, fleet: Fleet) -> Order:
    """The order that the command line means."""
    cwd = os.path.abspath(os.path.expanduser(args.cwd))
    if not os.path.isdir(cwd):
        raise UsageError(f"no such directory: {cwd}", hint="give an existing one with --cwd")
    if args.timeout < 0:
        raise UsageError("--timeout cannot be negative")
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
    )


def prompt_of(args: argparse.Namespace) -> bytes | None:
    """The first prompt, byte for byte."""
    if args.prompt is not None and args.prompt_file is not None:
        raise UsageError("--prompt and --prompt-file exclude each other")
    if args.prompt is not None:
        prompt = os.fsencode(args.prompt)
    elif args.prompt_file == "-":
        prompt = sys.stdin.buffer.read()
    elif args.prompt_file is not None:
        try:
            with open(args.prompt_file, "rb") as f:
                prompt = f.read()
        except OSError as e:
            raise UsageError(f"cannot read {args.prompt_file}: {e.strerror}") from e
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
            with open(args.env_file, encoding="utf-8") as f:
                stripped = (line.strip() for line in f)
                lines = [(args.env_file, line) for line in stripped if line and not line.startswith("#")]
        except (OSError, UnicodeDecodeError) as e:
            raise UsageError(f"cannot read {args.env_file}: {e}") from e
    found = {}
    for where, line in [*lines, *(("--env", item) for item in args.env)]:
        name, equals, value = line.partition("=")
        if not equals or not name.replace("_", "a").isalnum() or name[0].isdigit() or "\0" in value:
            raise UsageError(f"{where}: {line.partition('=')[0]!r} is not of the form NAME=VALUE")
        if name.startswith("FLEET_"):
            raise UsageError(f"{where}: {name} is fleet's own", hint="FLEET_ variables of an agent are set by fleet")
        found[name] = value
    return found


def wait(fleet: Fleet, done: Dispatched, until: str, timeout: float, *, prompted: bool) -> Sight | None:
    """
    Wait until the agent is that far.

    Raises:
        TimedOut: it was not within *timeout* seconds.
        Refused: its engine ended instead.
    """
    agent = done.agent
    end = fleet.clock.monotonic() + timeout
    while True:
        if until == "started" and launch.is_started(fleet.layout, agent.id, done.nonce):
            return None
        late = fleet.clock.monotonic() >= end
        sight = fleet.looker().see(fleet.agents.get(agent.id) or agent) if until != "started" or late else None
        if sight is not None:
            ended = sight.state.turn in (Turn.EXITED, Turn.GONE)
            if ended and until == "exit":
                if sight.facts.pane_dead and not sight.facts.how_known and not late:
                    fleet.clock.sleep(WAIT_POLL_SECONDS)
                    continue
                return sight
            if ended:
                hint = f"`fleet peek {agent.id}` shows its screen"
                raise Refused(f"agent {agent.id}: its engine {sight.state.evidence}", hint=hint)
            accepted = fleet.journal.accepted(agent.id) or (not prompted and sight.state.turn == Turn.IDLE)
            if not sight.facts.reports and until in ("accepted", "idle"):
                if until == "idle":
                    raise UsageError(f"the {agent.engine} engine does not report when it is idle")
                return sight
            if until == "accepted" and accepted:
                return sight
            if until == "idle" and accepted and sight.state.turn in (Turn.IDLE, Turn.WAITING):
                return sight
        if late:
            raise TimedOut(
                f"agent {agent.id} had not {DONE[until]} within {timeout:g} s; it goes on",
                hint=f"`fleet peek {agent.id}` shows its screen",
            )
        fleet.clock.sleep(WAIT_POLL_SECONDS)
