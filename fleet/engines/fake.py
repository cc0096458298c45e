"""The bundled fake agent: reports, screens and options as Claude Code has them, no account, no network."""

from __future__ import annotations

import os
import sys

from fleet.engines import hook_settings
from fleet.engines.base import Plan
from fleet.engines.ruled import ruled_composer
from fleet.resources import PACKAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.engines.base import Obstacle, Request
    from fleet.engines.screen import Composer

NAME = "fake"
_MAIN = "from fleet.fakeagent.cli import main; sys.exit(main(sys.argv[1:]))"


class Fake:
    """The engine. It draws what Claude Code draws, so it is read by the same reader."""

    name = NAME
    reports = True
    announces = True

    def plan(self, request: Request) -> Plan:
        """`python -m fleet.fakeagent --settings FILE --session-id UUID [--] PROMPT`, from wherever fleet lies."""
        path = request.layout.settings(request.agent_id)
        boot = f"import sys; sys.path.insert(0, {os.path.dirname(PACKAGE)!r}); {_MAIN}"
        argv = [os.path.realpath(sys.executable), "-I", "-S", "-c", boot]
        argv += ["--settings", path, "--session-id", request.conversation_id]
        if request.model:
            argv += ["--model", request.model]
        if request.options["bypass_permissions"]:
            argv.append("--dangerously-skip-permissions")
        elif request.options["permission_mode"]:
            argv += ["--permission-mode", str(request.options["permission_mode"])]
        argv += [*map(str, request.options["args"]), *request.command]
        return Plan(
            argv=argv,
            prompt_prefix=["--"],
            files={path: hook_settings.settings(request, NAME)},
            conversation_id=request.conversation_id,
        )

    def resume(self, conversation_id: str) -> list[str] | None:
        """As Claude Code."""
        return ["--resume", conversation_id]

    def obstacles(self, request: Request) -> list[Obstacle]:
        """Nothing stands in its way."""
        del request
        return []

    def composer(self, lines: list[str]) -> Composer:
        """As Claude Code's."""
        return ruled_composer(lines)
