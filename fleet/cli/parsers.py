"""The parser of each command, for what runs it and for what describes it: help, completion and manual pages."""

from __future__ import annotations

import argparse
import importlib
import math

from fleet.cli.table import COMMANDS
from fleet.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, NoReturn

#: Commands whose arguments belong to another program.
PASS_THROUGH = frozenset({"fake-agent"})


class Parser(argparse.ArgumentParser):
    """Says wrong usage in one line, in fleet's own words."""

    takes_text = ""  #: how a command is written one of whose arguments is a text that may begin with a dash

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.register("type", float, _number)

    def error(self, message: str) -> NoReturn:
        """Raise instead of exiting."""
        hint = f"`{self.prog} --help` shows what there is"
        if message.endswith(": expected one argument"):  # argparse takes a value with a dash for another option
            option = message.removeprefix("argument ").partition(":")[0].rpartition("/")[2]
            hint = f"a value that begins with a dash goes behind `=`: {option}=-VALUE; {hint}"
        if self.takes_text and message.startswith("unrecognized arguments: -"):
            hint = f"a text that begins with a dash goes behind `--`: {self.takes_text}; {hint}"
        raise UsageError(message, hint=hint)


def _number(text: str) -> float:
    """What `float` says of an option's value, but for nan: it is neither too large nor too small for anything."""
    number = float(text)
    if math.isnan(number):
        raise ValueError(text)
    return number


def module_of(name: str) -> ModuleType:
    """The module of a command, imported now."""
    return importlib.import_module(f"fleet.cli.commands.{COMMANDS[name][0]}")


def parser_of(name: str, module: ModuleType) -> Parser:
    """The parser of a command that does not pass its arguments through."""
    parser = Parser(prog=f"fleet {name}", description=module.__doc__, allow_abbrev=False,
                    formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.takes_text = getattr(module, "TAKES_TEXT", "")
    module.add_arguments(parser)
    return parser
