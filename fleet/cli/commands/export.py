"""An agent's whole history as one archive, for a bug report: all generations of its dispatch, redacted.

In it: records, events, handoff documents, messages, prompts, screens, what waits in the queue, the lines of fleet's
logs about it, a copy of each transcript, versions. Environment values never. Secrets are taken out by their names and
shapes; what has neither is not recognised, so look into the archive before you publish it.

examples:
  fleet export fix-login
  fleet export fix-login --to report.tar.gz --no-transcript
  fleet import report.tar.gz                   how the other side looks at it
"""

from __future__ import annotations

import contextlib
import os

from fleet.cli import output
from fleet.errors import EXIT_OK, FleetError, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet
    from fleet.model.agent import Agent

SHOWN_MISSES = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("agent", metavar="AGENT", help="an id, a unique prefix of one, or a task name; also of an "
                        "ended agent")  # fmt: skip
    parser.add_argument("--to", metavar="FILE", help="default: fleet-TASK-DISPATCH-TIME.tar.gz here")
    parser.add_argument("--no-transcript", action="store_true", help="without the engines' logs")
    parser.add_argument("--no-redact", action="store_true", help="secrets stay in; environment values go all the same")
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Gather and write."""
    from fleet.formats.times import compact, rfc3339  # noqa: PLC0415  # paid only where it is used
    from fleet.operate.exporting import Export, write  # noqa: PLC0415  # paid only where it is used

    agent = fleet.agents.find(args.agent, archived=True)
    now = fleet.clock.wall()
    path = os.path.abspath(args.to or f"fleet-{agent.task_id}-{agent.dispatch_id}-{compact(now)}.tar.gz")
    if args.to == "" or not os.path.isdir(os.path.dirname(path)):
        raise UsageError(f"--to {args.to!r}: there is no such folder", hint="make it first")
    if os.path.lexists(path):
        raise FleetError(f"{path} exists already", hint="name another file with --to")
    export = Export(fleet, redacted=not args.no_redact, transcripts=not args.no_transcript)
    export.gather(agent, _views(fleet, agent), _versions(fleet, agent))
    manifest = {
        "exported_at": rfc3339(now), "dispatch_id": agent.dispatch_id, "task_id": agent.task_id,
        "project": agent.project, "agents": export.agents, "redacted": not args.no_redact,
        "redactions": export.redactions(), "notes": export.notes, "unread": export.unread,
    }  # fmt: skip
    write(path, manifest, export.entries)
    done = {"path": path, "bytes": os.path.getsize(path), **manifest, "files": len(export.entries)}
    if args.json:
        output.data(done)
    else:
        print(path)
        _tell(done, transcripts=not args.no_transcript)
    return EXIT_OK


def _tell(done: dict[str, Any], *, transcripts: bool) -> None:
    taken = ", ".join(f"{count} {rule}" for rule, count in done["redactions"].items()) or "nothing"
    what = "prompts, messages, documents" + (" and transcripts" if transcripts else "")
    output.say(f"{done['files']} files of {len(done['agents'])} generations; taken out: {taken}")
    output.say(f"fleet: note: {what} are in it; environment values are not. Look into it before you publish it")
    if not done["redacted"]:
        output.say("fleet: note: NOT redacted: secrets in it stay readable")
    for one in done["unread"][:SHOWN_MISSES]:
        output.say(f"fleet: note: not in it: {one['path']}: {one['reason']}")
    if len(done["unread"]) > SHOWN_MISSES:
        output.say(f"fleet: note: and {len(done['unread']) - SHOWN_MISSES} more, in its manifest")


def _views(fleet: Fleet, agent: Agent) -> dict[str, dict[str, Any]]:
    """`fleet show --json` of every generation."""
    from fleet.cli.commands.show import view_of  # noqa: PLC0415  # paid only where it is used

    look = fleet.looker()
    found = {}
    for one in sorted({*fleet.agents.of_dispatch(agent.dispatch_id), agent.id}):
        each = fleet.agents.get(one) or fleet.agents.archived(one)
        if each is not None:
            found[one] = view_of(fleet, each, look)
    return found


def _versions(fleet: Fleet, agent: Agent) -> dict[str, Any]:
    import platform  # noqa: PLC0415  # paid only where it is used

    from fleet.cli.main import version  # noqa: PLC0415  # it imports the commands
    from fleet.engines.versions import version as engine_version  # noqa: PLC0415  # paid only where it is used
    from fleet.tmux.client import check_version  # noqa: PLC0415  # paid only where it is used

    tmux = None
    with contextlib.suppress(FleetError):  # an export tells what it can
        tmux = check_version(fleet.tmux_binary)
    program = (
        agent.command[0] if agent.command and agent.engine in ("claude-code", "codex", "gemini", "opencode") else None
    )
    return {
        "fleet": version(), "python": platform.python_version(), "system": f"{platform.system()} {platform.release()}",
        "tmux": tmux, agent.engine: engine_version(program, fleet.environ) if program else None,
    }  # fmt: skip
