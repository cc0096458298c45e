"""Any program, without hooks: it is running or it is not.

`{prompt}` and `{prompt_file}` as arguments of their own stand for the first prompt and for a file that holds it;
FLEET_PROMPT_FILE names that file in any case.
"""

from __future__ import annotations

import os

from fleet.engines.base import Plan, locate
from fleet.engines.screen import Box, Composer, cells, plain
from fleet.errors import UsageError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.engines.base import Obstacle, Request

NAME = "command"
PROMPT, PROMPT_FILE = "{prompt}", "{prompt_file}"


def _located(program: str, request: Request) -> str:
    """A path as it is meant from the working directory, or what PATH has for a name."""
    where = os.path.join(request.cwd, program) if "/" in program else program
    return locate(where, request.env, program)


class Command:
    """The engine."""

    name = NAME
    reports = False
    announces = False

    def plan(self, request: Request) -> Plan:
        """The program as given."""
        if not request.command:
            raise UsageError(
                "the command engine needs a program", hint="fleet dispatch TASK --engine command -- PROGRAM ARGS"
            )
        program, *rest = request.command
        return Plan(
            argv=[_located(program, request), *rest],
            takes_prompt=PROMPT in rest or PROMPT_FILE in rest,
            env={"FLEET_PROMPT_FILE": request.layout.prompt(request.agent_id)},
            hooks=False,
        )

    def resume(self, conversation_id: str) -> list[str] | None:
        """Nothing is known of its conversations."""
        del conversation_id
        return None

    def obstacles(self, request: Request) -> list[Obstacle]:
        """Nothing is known of it."""
        del request
        return []

    def composer(self, lines: list[str]) -> Composer:
        """Only whether the last line with something on it ends as prompts do; anything else is not known."""
        text = [plain(row) for row in cells(lines)]
        last = next((line for line in reversed(text) if line.strip()), "")
        return Composer(Box.EMPTY if last.rstrip().endswith((">", "$", "%", "#", "›", "❯", ":")) else Box.UNKNOWN)
