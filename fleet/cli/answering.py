"""What `fleet approve` and `fleet deny` share."""

from __future__ import annotations

from fleet.cli import output
from fleet.cli.width import printable
from fleet.errors import EXIT_OK

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet


def declare(parser: argparse.ArgumentParser) -> None:
    """The options."""
    parser.add_argument("agent", metavar="AGENT", help="an id, a unique prefix of one, or a task name")
    parser.add_argument("option", nargs="?", metavar="OPTION", help="the label of an option, or a unique beginning of "
                        "it (default: the one that simply says so)")  # fmt: skip
    parser.add_argument("--dialog", metavar="FP", help="the name that `fleet approvals` gave it")
    parser.add_argument("--json", action="store_true", help="print JSON")


def give(args: argparse.Namespace, fleet: Fleet, verdict: str) -> int:
    """Answer, and say what was answered."""
    from fleet.engines.answers import Verdict  # noqa: PLC0415  # paid only where it is used
    from fleet.operate.approving import answer  # noqa: PLC0415  # paid only where it is used

    agent = fleet.agents.find(args.agent)
    done = answer(fleet, agent, Verdict(verdict), option=args.option, dialog=args.dialog)
    if args.json:
        output.data({
            "id": agent.id, "task_id": agent.task_id, "verdict": verdict, "dialog": done.name,
            "question": done.dialog.question, "text": done.dialog.detail, "option": done.option, "result": "went",
            "further": done.further.question if done.further is not None else None,
        })  # fmt: skip
    else:
        print(f"{agent.id}  {agent.task_id}  answered {done.option!r} to: {done.dialog.question}")
        if done.further is not None:
            print(f"it asks something else now: {printable(done.further.question)}; see `fleet approvals`")
    return EXIT_OK
