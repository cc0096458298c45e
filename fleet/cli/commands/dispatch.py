"""Start an agent on a task, in a tmux session of its own.

examples:
  fleet dispatch fix-login --prompt "Fix the login bug, run the tests"
  fleet dispatch fix-login --engine codex --cwd ~/src/shop --prompt-file task.md
  fleet dispatch fix-login --worktree --prompt-file task.md      in a git worktree of its own, on branch fleet/fix-login
  fleet dispatch watch-logs --engine command -- tail -f /var/log/syslog
  fleet dispatch --from tasks.yaml --max 5

tasks.yaml:
  defaults: {engine: codex, cwd: ~/src/shop}
  tasks:
    - {task: "fix-{{bug}}", prompt: "Fix {{bug}}", matrix: {bug: [login, search]}, priority: 5}
    - {task: review, count: 3, prompt: "Review number {{n}}"}
"""

from __future__ import annotations

from fleet.cli import ordering, output, views
from fleet.cli.confirming import confirming
from fleet.errors import EXIT_NO, EXIT_OK, UsageError
from fleet.formats import start_entry
from fleet.formats.states import Mode

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet

TAKES_COMMAND = True  #: what stands behind `--` goes to the engine


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("task", nargs="?", help="a name for the task: lower-case letters, digits, '-', '_', '.'")
    parser.add_argument("--project", help="the project it belongs to (default: the setting dispatch.project)")
    parser.add_argument("--cwd", help="the working directory (default: this one)")
    parser.add_argument(
        "--engine", help="claude, codex, gemini, opencode, fake or command (default: the setting dispatch.engine)"
    )
    parser.add_argument("--model", help="the engine's model (default: the setting dispatch.model)")
    parser.add_argument("--prompt", help="the first prompt")
    parser.add_argument("--prompt-file", metavar="FILE", help="the first prompt from a file, - for standard input")
    parser.add_argument("--mode", choices=[str(m) for m in Mode],
                        help="only execute hands itself off (default: the setting dispatch.mode)")  # fmt: skip
    parser.add_argument("--role", help="a word for your own use (default: the setting dispatch.role)")
    parser.add_argument("--env", action="append", default=[], metavar="K=V", help="a variable for the engine")
    parser.add_argument("--env-file", metavar="FILE", help="variables for the engine, K=V a line")
    parser.add_argument("--trust", action="store_true", help="write the engine's trust record for the directory")
    parser.add_argument("--worktree", nargs="?", const="", metavar="BRANCH",
                        help="in a git worktree of its own, on BRANCH or a new branch fleet/TASK")  # fmt: skip
    parser.add_argument("--trust-setup", action="store_true",
                        help="confirm the repository's .fleet/worktree.yaml as it is now")  # fmt: skip
    parser.add_argument("--wait", default="started", choices=ordering.WAITS,
                        help="return when the engine is started, has accepted the prompt, is idle again, or has "
                        "exited (default: %(default)s)")  # fmt: skip
    parser.add_argument("--timeout", type=float, default=60, metavar="S", help="for --wait (default: %(default)s)")
    parser.add_argument("--json", action="store_true", help="print the agent as JSON")
    many = parser.add_argument_group("many tasks")
    many.add_argument("--from", dest="source", metavar="FILE", help="tasks from a YAML or JSON Lines file, - for "
                      "standard input; options on the command line win over the file")  # fmt: skip
    many.add_argument("--max", dest="at_most", type=int, metavar="N", help="keep at most N of them alive; the others "
                      "wait in the queue, and the drain starts the next when one is finished")  # fmt: skip
    many.add_argument("--finished", choices=start_entry.FINISHED, default="exit", help="what makes room for the next: "
                      "the end of an agent, or of its turn (default: %(default)s)")  # fmt: skip
    many.add_argument("--if-absent", action="store_true", help="pass over tasks that are alive or wait already")
    many.add_argument("--dry-run", action="store_true", help="check everything, say what would happen, do nothing")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Dispatch, then wait as asked."""
    if args.source is not None:
        from fleet.cli import many  # noqa: PLC0415  # paid only where it is used

        return many.run(args, fleet)
    for name, given in (
        ("--max", args.at_most is not None),
        ("--if-absent", args.if_absent),
        ("--dry-run", args.dry_run),
    ):
        if given:
            raise UsageError(f"{name} goes with --from")
    if args.task is None:
        raise UsageError("which task? fleet dispatch TASK", hint="or many: fleet dispatch --from FILE")
    order = ordering.order_of(args, fleet)
    fleet.make_home()
    from fleet.dispatch.dispatcher import Dispatcher  # noqa: PLC0415  # paid only where it is used
    from fleet.drain.holding import refresh  # noqa: PLC0415  # paid only where it is used

    refresh(fleet)

    done = confirming(lambda order: Dispatcher(fleet).dispatch(order), order)
    for note in (*done.notes, *done.plan.notes):
        output.say(f"fleet: note: {note}")
    sight = ordering.wait(fleet, done, args.wait, args.timeout, prompted=order.prompt is not None)
    if args.json:
        output.data(views.agent_view(sight, fleet.looker()))
    else:
        print(f"{done.agent.id}  {order.task_id}  {views.state_text(views.state_view(sight))}")
        output.say(f"attach with: fleet attach {done.agent.id}")
    if args.wait == "exit":
        return EXIT_OK if sight.state.exit_status == 0 else EXIT_NO
    return EXIT_OK
