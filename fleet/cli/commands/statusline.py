"""Wrap an engine's status line command: its output is passed through, and the exact context figure is recorded.

Claude Code's `statusLine` setting names a program that is told the context figure after every answer. This one runs
your own command with the same input, untouched, and records the figure of the agent it runs for. Agents that fleet
dispatches get it by themselves; `fleet init --user-hooks --statusline` puts it into your own settings.

examples:
  fleet statusline claude -- ~/.claude/my-status-line.sh
  fleet statusline claude --json -- 'git branch --show-current'
"""

from __future__ import annotations

import os
import sys

from fleet import resources
from fleet.cli import output
from fleet.engines.catalog import canonical
from fleet.errors import EXIT_OK, UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet

TAKES_COMMAND = True


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("engine", metavar="ENGINE", help="claude")
    parser.add_argument("--json", action="store_true", help="print the value for `statusLine` instead of running")
    parser.usage = "fleet statusline claude [--json] [-- COMMAND...]"
    parser.epilog = "One word after -- is a shell command line, more are a program and its arguments."


def run(args: argparse.Namespace, _: Fleet) -> int:  # noqa: RET503  # execv does not return
    """Become the launcher: the client waits for this very process."""
    if canonical(args.engine) != "claude-code":
        raise UsageError(f"{args.engine} has no status line that can be wrapped", hint="only claude has")
    command = list(getattr(args, "command", None) or [])
    if "" in command[:1]:
        raise UsageError("the command after -- is empty")
    python = os.path.realpath(sys.executable)
    own = [python, "-I", "-S", resources.status_launcher(), "claude-code", *(["--", *command] if command else [])]
    if args.json:
        import shlex  # noqa: PLC0415  # paid only where it is used

        output.data({"type": "command", "command": shlex.join(own)})
        return EXIT_OK
    if sys.stdin.isatty():
        raise UsageError("a status line is told the figure on its standard input", hint="Claude Code is to run this")
    os.execv(python, own)  # noqa: S606  # the launcher takes this process's place
