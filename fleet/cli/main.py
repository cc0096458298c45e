"""`fleet COMMAND …`: look the command up, import it alone, run it, and turn every failure into one line and a code."""

from __future__ import annotations

import errno
import gc
import os
import sys

from fleet.cli import output
from fleet.cli.parsers import PASS_THROUGH, module_of, parser_of
from fleet.cli.table import COMMANDS, GROUPS, KNOWN_AS
from fleet.errors import (
    EXIT_BUG,
    EXIT_ENVIRONMENT,
    EXIT_INTERRUPTED,
    EXIT_OK,
    EXIT_USAGE,
    FleetError,
    Refused,
    UsageError,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from fleet.app import Fleet

USAGE = "usage: fleet [-c NAME=VALUE]... COMMAND [ARGUMENTS]   (fleet COMMAND --help tells more)"
INSPECTING = frozenset({"list", "show", "events", "peek", "logs"})  #: what works in an imported history
LOOKING = INSPECTING | {"attach"}  #: what goes on with a configuration that cannot be used
#: What checks it first, in any case.
ACTING = frozenset({"dispatch", "send", "handoff", "stop", "queue", "worktree", "hold"})
#: New objects before the first collection. Importing libtmux makes tens of thousands, none of them garbage: looking
#: for some, then and at the end, was a tenth of a dispatch (10 of 110 ms, CPython 3.11).
YOUNG = 50_000
FRESH = frozenset({"init", "dispatch", "import"})  #: what works as well in a home in which nothing is
COMPLETE = "__complete"  #: what the shells' completion asks
#: What a disk or a user's rights refuse: nothing of fleet's doing.
#: Something else stands where a file or folder of fleet's is to be.
IN_THE_WAY = frozenset({errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.ELOOP})
ENVIRONMENT_ERRORS = IN_THE_WAY | {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EMFILE, errno.ENFILE}


def help_text() -> str:
    """What `fleet --help` prints."""
    width = max(len(name) for name in COMMANDS)
    lines = [USAGE, "", "Run many coding agents in tmux."]
    for heading, group in GROUPS.items():
        lines += ["", f"{heading}:", *(f"  {name.ljust(width)}  {about}" for name, (_, about) in group.items())]
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
        given, argv = _settings(argv)
        name = argv[0]
        if name == COMPLETE:
            from fleet.cli import completing  # noqa: PLC0415  # only a shell asks

            return completing.main(argv[1:])
        _check_command(name)
        module = module_of(name)
        if name in PASS_THROUGH:
            return int(module.main(argv[1:]))
        parser = parser_of(name, module)
        own, command = argv[1:], None
        if getattr(module, "TAKES_COMMAND", False):
            at = own.index("--") if "--" in own else len(own)
            own, command = own[:at], own[at + 1 :]
        args = parser.parse_intermixed_args(own)
        if command is not None:
            args.command = command
        from fleet.app import Fleet  # noqa: PLC0415  # paid only where it is used

        fleet = Fleet(os.environ, given=given)
        _check_home(fleet, name)
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


def _check_command(name: str) -> None:
    if name in COMMANDS:
        return
    import difflib  # noqa: PLC0415  # paid only where it is used

    known = [command for command, others in KNOWN_AS.items() if name in others]
    near = known or difflib.get_close_matches(name, COMMANDS, 1)
    raise UsageError(f"no command {name!r}", hint=f"did you mean `fleet {near[0]}`?" if near else USAGE)


def _check_home(fleet: Fleet, name: str) -> None:
    from fleet import config  # noqa: PLC0415  # paid only where it is used

    # Without a file of the user's nothing is wrong in it, and nothing is paid for finding that out.
    if fleet.given or (name in LOOKING | ACTING and os.path.exists(config.user_file(fleet.layout))):
        _check_settings(fleet, name)
    if fleet.is_inspection and name not in INSPECTING:
        raise Refused(
            f"{fleet.layout.home} is an imported history to look at: nothing is done in it",
            hint=f"FLEET_HOME names it; what looks only works there: {', '.join(sorted(INSPECTING))}",
        )


def _check_settings(fleet: Fleet, name: str) -> None:
    """Refuse what is no configuration, whether the command needs a setting or not. What only looks goes on."""
    try:
        fleet.settings  # noqa: B018  # they are read at their first use
    except UsageError as e:
        if name not in LOOKING:
            raise
        fleet.look_on()
        output.say(f"fleet: note: {e}; `fleet {name}` goes on with the defaults, what acts would refuse")


def _settings(argv: list[str]) -> tuple[list[str], list[str]]:
    """The settings before the command, `-c NAME=VALUE` each, and the rest."""
    given = []
    while argv and argv[0] == "-c":
        if len(argv) < 3:
            raise UsageError("-c NAME=VALUE goes before a command", hint=USAGE)
        given.append(argv[1])
        argv = argv[2:]
    return given, argv


def _refused_by_the_system(error: OSError, argv: list[str], fleet: Fleet | None) -> int:
    if isinstance(error, BrokenPipeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    if error.errno not in ENVIRONMENT_ERRORS:
        return _bug(error, argv, fleet)
    output.say(f"fleet: {error.strerror}" + (f": {error.filename}" if error.filename else ""))
    output.say(f"hint: {_cure(error, argv, fleet)}; what was there is as it was")
    return EXIT_ENVIRONMENT


def _cure(error: OSError, argv: list[str], fleet: Fleet | None) -> str:
    """What helps; another home does only where a file of this one is meant and nothing in it is needed."""
    if error.errno in (errno.EMFILE, errno.ENFILE):
        return "too many files are open: end what holds them, or raise the limit (`ulimit -n`)"
    if error.errno in IN_THE_WAY:
        return "something else stands where fleet keeps its own: move it away"
    cure = "make room" if error.errno in (errno.ENOSPC, errno.EDQUOT) else "mend the rights or the mount"
    if fleet is None or not isinstance(error.filename, str) or argv[0] not in FRESH:
        return cure
    path, home = os.path.join(os.path.abspath(error.filename), ""), os.path.join(fleet.layout.home, "")
    ours = path.startswith(home) or home.startswith(path)
    return f"{cure}, or name another folder with FLEET_HOME" if ours else cure


def _bug(error: Exception, argv: list[str], fleet: Fleet | None) -> int:
    import tempfile  # noqa: PLC0415  # paid only where it is used
    import traceback  # noqa: PLC0415  # paid only where it is used

    folder = fleet.layout.logs if fleet and os.path.isdir(fleet.layout.logs) else tempfile.gettempdir()
    from fleet.formats.redaction import Redactor  # noqa: PLC0415  # paid only where it is used

    text = Redactor().text("".join(traceback.format_exception(error)))
    output.say(f"fleet: a bug of fleet: {type(error).__name__}: {' '.join(str(error).split())}")
    try:
        handle, path = tempfile.mkstemp(".log", "fleet-bug-", folder)
        with open(handle, "w", encoding="utf-8") as f:
            f.write(f"fleet {version()}, Python {sys.version}\n{' '.join(argv[:1])}\n{text}")
        output.say(f"hint: please report it with {path}")
    except OSError:
        output.say(f"hint: please report it; its log could not be written in {folder}")
    return EXIT_BUG


def entry() -> NoReturn:
    """The console script."""
    if sys.flags.utf8_mode == 0 and sys.getfilesystemencoding() != "utf-8":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606  # this very program
    output.prepare()
    gc.set_threshold(YOUNG)
    code = main(sys.argv[1:])
    gc.freeze()
    sys.exit(code)
