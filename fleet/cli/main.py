"""`fleet COMMAND …`: look the command up, import it alone, run it, and turn every failure into one line and a code."""

from __future__ import annotations

import argparse
import errno
import importlib
import os
import sys

from fleet.cli import output
from fleet.cli.table import COMMANDS
from fleet.errors import (
    EXIT_BUG,
    EXIT_ENVIRONMENT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    FleetError,
    UsageError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from fleet.app import Fleet

USAGE = "usage: fleet COMMAND [ARGUMENTS]   (fleet COMMAND --help tells more)"
#: What a disk or a user's rights refuse: nothing of fleet's doing.
ENVIRONMENT_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE, errno.ENFILE})
#: Commands whose arguments belong to another program.
PASS_THROUGH = frozenset({"fake-agent"})


class Parser(argparse.ArgumentParser):
    """Says wrong usage in one line, in fleet's own words."""

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting."""
        raise UsageError(message, hint=f"`{self.prog} --help` shows what there is")


def help_text() -> str:
    """What `fleet --help` prints."""
    width = max(len(name) for name in COMMANDS)
    lines = [USAGE, "", "Run many coding agents in tmux.", ""]
    lines += [f"  {name.ljust(width)}  {about}" for name, (_, about) in COMMANDS.items()]
    return "\n".join([*lines, "", "State lives in FLEET_HOME (default ~/.fleet)."])


def version() -> str:
    """The installed version."""
    from importlib import metadata  # noqa: PLC0415  # 38 ms, paid only here

    try:
        return metadata.version("tmux-fleet")
    except metadata.PackageNotFoundError:
        return "0 (not installed)"


def main(argv: list[str]) -> int:
    """Run one command; its exit code."""
    if not argv or argv[0] in ("-h", "--help", "help"):
        print(help_text())
        return EXIT_OK if argv else EXIT_USAGE
    if argv[0] in ("-V", "--version"):
        print(f"fleet {version()}")
        return EXIT_OK
    fleet = None
    try:
        name = argv[0]
        if name not in COMMANDS:
            import difflib  # noqa: PLC0415  # paid only where it is used

            near = difflib.get_close_matches(name, COMMANDS, 1)
            raise UsageError(f"no command {name!r}", hint=f"did you mean `fleet {near[0]}`?" if near else USAGE)
        module = importlib.import_module(f"fleet.cli.commands.{COMMANDS[name][0]}")
        if name in PASS_THROUGH:
            return int(module.main(argv[1:]))
        parser = Parser(prog=f"fleet {name}", description=module.__doc__, allow_abbrev=False,
                        formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
        module.add_arguments(parser)
        own, command = argv[1:], None
        if getattr(module, "TAKES_COMMAND", False):
            at = own.index("--") if "--" in own else len(own)
            own, command = own[:at], own[at + 1 :]
        args = parser.parse_args(own)
        if command is not None:
            args.command = command
        from fleet.app import Fleet  # noqa: PLC0415  # paid only where it is used

        fleet = Fleet(os.environ)
        return int(module.run(args, fleet))
    except FleetError as e:
        output.error(e)
        return e.exit_code
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except OSError as e:
        return _refused_by_the_system(e, argv, fleet)
    except Exception as e:  # noqa: BLE001  # the outermost edge: a bug is reported, never shown as a traceback
        return _bug(e, argv, fleet)


def _refused_by_the_system(error: OSError, argv: list[str], fleet: Fleet | None) -> int:
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    if error.errno not in ENVIRONMENT_ERRORS:
        return _bug(error, argv, fleet)
    output.say(f"fleet: {error.strerror}" + (f": {error.filename}" if error.filename else ""))
    output.say("hint: make room, or name another folder with FLEET_HOME; what was there is as it was")
    return EXIT_ENVIRONMENT


def _bug(error: Exception, argv: list[str], fleet: Fleet | None) -> int:
    import tempfile  # noqa: PLC0415  # paid only where it is used
    import traceback  # noqa: PLC0415  # paid only where it is used

    folder = fleet.layout.logs if fleet and os.path.isdir(fleet.layout.logs) else tempfile.gettempdir()
    path = os.path.join(folder, f"fleet-bug-{os.getpid()}.log")
    text = "".join(traceback.format_exception(error))
    output.say(f"fleet: a bug of fleet: {type(error).__name__}: {' '.join(str(error).split())}")
    try:
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"fleet {version()}, Python {sys.version}\n{' '.join(argv[:1])}\n{text}")
        output.say(f"hint: please report it with {path}")
    except OSError:
        output.say(f"hint: please report it; the log {path} could not be written")
    return EXIT_BUG


def entry() -> NoReturn:
    """The console script."""
    sys.exit(main(sys.argv[1:]))
