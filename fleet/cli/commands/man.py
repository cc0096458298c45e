"""The manual pages, made from the same text as `--help`.

examples:
  fleet man dispatch                       read one
  fleet man --to ~/.local/share/man/man1   write all; then `man fleet-dispatch` works
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from shutil import which

from fleet.cli import output
from fleet.cli.main import help_text, version
from fleet.cli.parsers import PASS_THROUGH, module_of, parser_of
from fleet.cli.table import COMMANDS
from fleet.errors import EXIT_OK, NotFound
from fleet.formats.atomic import ensure_dir, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("name", nargs="?", metavar="COMMAND", help="whose page (default: that of fleet itself)")
    parser.add_argument("--to", metavar="DIR", help="write all pages there instead")
    parser.add_argument("--json", action="store_true", help="print the pages' names and text as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:  # noqa: ARG001  # all commands have one shape
    """Show one page, or write all."""
    if args.name is not None and args.name not in COMMANDS:
        raise NotFound(f"no command {args.name!r}", hint="`fleet --help` lists them")
    if args.to is None:
        text = page(args.name)
        if args.json:
            output.data({_file(args.name): text})
        elif sys.stdout.isatty() and (viewer := which("man")):
            return subprocess.run([viewer, "-l", "-"], input=text.encode(), check=False).returncode
        else:
            print(text, end="")
        return EXIT_OK
    folder = os.path.abspath(os.path.expanduser(args.to))
    ensure_dir(folder)
    pages = {_file(name): page(name) for name in [None, *COMMANDS]}
    for name, text in pages.items():
        write_file(os.path.join(folder, name), text.encode(), sync=False)
        os.chmod(os.path.join(folder, name), 0o644)
    if args.json:
        output.data(sorted(pages))
    else:
        print(f"{len(pages)} pages in {folder}")
    return EXIT_OK


def _file(name: str | None) -> str:
    return "fleet.1" if name is None else f"fleet-{name}.1"


def page(name: str | None) -> str:
    """A manual page in man(7)'s macros."""
    title = "fleet" if name is None else f"fleet-{name}"
    lines = [f'.TH "{title.upper()}" "1" "" "fleet {version()}" "fleet"']
    if name is None:
        lines += [".SH NAME", "fleet \\- run many coding agents in tmux", ".SH DESCRIPTION", *_verbatim(help_text())]
        lines += [".SH SEE ALSO", ", ".join(f"fleet\\-{_escaped(one)}(1)" for one in COMMANDS)]
        return "\n".join(lines) + "\n"
    lines += [".SH NAME", f"fleet\\-{_escaped(name)} \\- {_escaped(COMMANDS[name][1])}"]
    module = module_of(name)
    about, _, examples = (module.__doc__ or "").strip().partition("\nexamples:\n")
    if name in PASS_THROUGH:
        return "\n".join([*lines, ".SH DESCRIPTION", *_paragraphs(about)]) + "\n"
    parser = parser_of(name, module)
    usage = " ".join(parser.format_usage().removeprefix("usage:").split())
    lines += [".SH SYNOPSIS", _escaped(usage), ".SH DESCRIPTION", *_paragraphs(about), ".SH OPTIONS"]
    formatter = parser._get_formatter()  # noqa: SLF001  # the same words as --help, in another form
    for action in parser._actions:  # noqa: SLF001
        head = formatter._format_action_invocation(action)  # noqa: SLF001
        text = formatter._expand_help(action) if action.help else ""  # noqa: SLF001
        lines += [".TP", f"\\fB{_escaped(head)}\\fR", _escaped(text)]
    if examples:
        lines += [".SH EXAMPLES", *_verbatim(examples)]
    return "\n".join(lines) + "\n"


def _paragraphs(text: str) -> list[str]:
    lines: list[str] = []
    for part in re.split(r"\n\s*\n", text.strip()):
        lines += [".PP", *map(_escaped, part.splitlines())]
    return lines


def _verbatim(text: str) -> list[str]:
    return [".nf", *map(_escaped, text.rstrip("\n").splitlines()), ".fi"]


def _escaped(text: str) -> str:
    """Text that no macro and no escape can hide in."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\\&" + text if text.startswith((".", "'")) else text
