"""Gemini CLI (measured with 0.61.0).

Hooks come from settings files alone. The system settings file, whose path an environment variable names, is skipped
when it or any folder above it is not root's, so it is of no use here. What is left without touching the user's folder
is GEMINI_CLI_HOME, the client's own way to another home: each agent gets one, in which everything is a link into the
user's `.gemini` (signing in, extensions, and `tmp` with the conversations) but `settings.json`, which is the user's
with our hooks appended, and the trust record, which is the user's with fleet's folders. What somebody changes in
those two there (`/theme`) ends with the agent. `hooksConfig.enabled: false` silences ours too; that is found before
the launch, said, and not overridden.

Before a turn it may ask whether the folder is trusted (`~/.gemini/trustedFolders.json`; a trusted folder above it is
enough) and how to sign in (no `security.auth.selectedType` and no key). `--skip-trust` trusts for one process. The
program is a node script that starts itself again as its own child, with a larger heap; hooks come from that child,
and both are in the pane's session.

Its hooks have names of their own; they are registered under those and report with fleet's. PreCompress is not among
them: it fires before every request. AfterAgent fires after an early Esc and after an API error too, with "[no
response text]": which of them it was, the log says (hooks/payload.py). After Esc in a tool it does not.
Its dialogs are framed lists with a bullet before the marked row. "No, suggest changes" cancels the whole turn, of which
no hook tells. What has no room on the screen is left out, which it says ("first 7 lines hidden").
`<hook_context>` around an injected text tells the model that it is information and no order; the wake line, which is
the prompt itself, asks for it.
"""

from __future__ import annotations

import json
import os
import re

from fleet.engines.base import Obstacle, Plan, locate, parents, read_json
from fleet.engines.hook_settings import hook_command
from fleet.engines.screen import Box, Composer, cells, plain, typed
from fleet.formats.events import HOOK_SECONDS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.engines.base import Request

NAME = "gemini"
#: The engine's event: fleet's.
EVENTS = {
    "SessionStart": "SessionStart",
    "SessionEnd": "SessionEnd",
    "BeforeAgent": "UserPromptSubmit",
    "AfterAgent": "Stop",
    "Notification": "PermissionRequest",
}
PROMPT_OPTION = "--prompt-interactive="
HOME_VARIABLE = "GEMINI_CLI_HOME"
#: Where the user's own `.gemini` lies, for a successor that finds its predecessor's home in the variable above.
USERS_VARIABLE = "TMUX_FLEET_GEMINI_HOME"
#: The client makes it; without it a link to it would lead nowhere.
CONVERSATIONS = "tmp"
TRUSTED = "trustedFolders.json"
OWN = frozenset({"settings.json", TRUSTED, CONVERSATIONS})
INDENT = "   "
PLACEHOLDER = "Type your message or @path/to/file"
_TYPED = re.compile(r"^ ([>!*])\s")
_CHOICE = re.compile(r"^[\s│┃]*[●>]?\s*\d+\.\s")
_QUESTION = re.compile(r"Allow|Apply this change|Do you trust|authenticate|Enter to select|Esc to (?:close|cancel)")
_WORKING = re.compile(r"\(esc to cancel[,)]")


def users_home(env: Mapping[str, str]) -> str:
    """The folder in which the user's own `.gemini` lies."""
    return env.get(USERS_VARIABLE) or env.get(HOME_VARIABLE) or env.get("HOME", "")


def config_dir(env: Mapping[str, str]) -> str:
    """The folder of the user's settings."""
    return os.path.join(users_home(env), ".gemini")


def set_up(env: Mapping[str, str]) -> str | None:
    """What is still to be done by hand before it can be dispatched; None when nothing is."""
    auth = _map(_map((users_settings(env) or {}).get("security")).get("auth")).get("selectedType")
    known = auth or any(env.get(name) for name in ("GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_API_KEY"))
    return None if known else "run `gemini` once by hand and sign in"


class Gemini:
    """The engine."""

    name = NAME
    reports = True
    announces = True

    def plan(self, request: Request) -> Plan:
        """`gemini --session-id UUID [--model M] -i PROMPT`."""
        options = request.options
        argv = [locate(str(options["binary"]), request.env, "Gemini CLI")]
        argv += ["--session-id", request.conversation_id]
        if request.model:
            argv += ["--model", request.model]
        if options["bypass_permissions"]:
            argv += ["--approval-mode", "yolo"]
        elif options["permission_mode"]:
            argv += ["--approval-mode", str(options["permission_mode"])]
        if request.trust:
            argv.append("--skip-trust")
        argv += [*map(str, options["args"]), *request.command]
        reason = unheard(request.env, request.cwd)
        if reason:
            note = f"{reason}, so this agent cannot report: no context figure, no handoff"
            return Plan(argv, [PROMPT_OPTION], hooks=False, conversation_id=request.conversation_id, notes=[note])
        home = request.layout.engine_home(request.agent_id)
        folder = config_dir(request.env)
        users = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        return Plan(
            argv=argv,
            prompt_prefix=[PROMPT_OPTION],
            env={HOME_VARIABLE: home, USERS_VARIABLE: users_home(request.env)},
            files={
                os.path.join(home, ".gemini", "settings.json"): settings(request),
                os.path.join(home, ".gemini", TRUSTED): trusted(request),
            },
            links={
                os.path.join(home, ".gemini", name): os.path.join(folder, name)
                for name in [*(n for n in users if n not in OWN), CONVERSATIONS]
            },
            conversation_id=request.conversation_id,
        )

    def resume(self, conversation_id: str) -> list[str] | None:
        """`--resume UUID`, in the place of --session-id."""
        return ["--resume", conversation_id]

    def obstacles(self, request: Request) -> list[Obstacle]:
        """Folder trust and signing in."""
        found = []
        if not request.trust and not is_trusted(request.env, request.cwd):
            found.append(
                Obstacle(
                    f"Gemini CLI does not trust {request.cwd} yet",
                    "dispatch with --trust, or run `gemini` there once and answer its question",
                )
            )
        if remedy := set_up(request.env):
            found.append(Obstacle("Gemini CLI would ask how to sign in", remedy))
        return found

    def composer(self, lines: list[str]) -> Composer:
        """The composer between two rules, or the dialog in its place."""
        return composer(lines)


def users_settings(env: Mapping[str, str]) -> dict[str, Any] | None:
    """The user's settings; empty when there are none, None when they cannot be read (they may have comments)."""
    path = os.path.join(config_dir(env), "settings.json")
    return read_json(path) if os.path.exists(path) else {}


def settings(request: Request) -> bytes:
    """The settings file of one agent: the user's, our hooks behind the user's own, our folders readable."""
    users = users_settings(request.env) or {}
    hooks = dict(_map(users.get("hooks")))
    for event, ours in EVENTS.items():
        own = hooks.get(event)
        entry = {"type": "command", "command": hook_command(request, NAME, ours), "timeout": HOOK_SECONDS * 1000}
        hooks[event] = [*(own if isinstance(own, list) else []), {"hooks": [entry]}]
    context = dict(_map(users.get("context")))
    folders = context.get("includeDirectories")
    context["includeDirectories"] = [*(folders if isinstance(folders, list) else []), *handed(request)]
    return (json.dumps({**users, "hooks": hooks, "context": context}, indent=2) + "\n").encode()


def handed(request: Request) -> list[str]:
    """The folders of ours that the agent reads and writes; outside its workspace the client reaches nothing."""
    layout = request.layout
    return [os.path.realpath(path) for path in (layout.drafts, layout.handoffs, layout.bodies, layout.tasks)]


def trusted(request: Request) -> bytes:
    """The trust record of one agent: the user's, and those folders, about which the client would ask too."""
    users = read_json(trust_file(request.env)) or {}
    return (json.dumps({**users, **dict.fromkeys(handed(request), "TRUST_FOLDER")}, indent=2) + "\n").encode()


def trust_file(env: Mapping[str, str]) -> str:
    """Where the user's own trust record lies."""
    return env.get("GEMINI_CLI_TRUSTED_FOLDERS_PATH") or os.path.join(config_dir(env), TRUSTED)


def unheard(env: Mapping[str, str], cwd: str) -> str | None:
    """Why hooks of ours would not run there; None when they would."""
    users = users_settings(env)
    if users is None:
        return f"{os.path.join(config_dir(env), 'settings.json')} is not plain JSON"
    project = os.path.join(cwd, ".gemini", "settings.json")
    for path, found in ((project, read_json(project) or {}), (config_dir(env) + "/settings.json", users)):
        enabled = _map(found.get("hooksConfig")).get("enabled")
        if enabled is not None:
            return f"{path} sets hooksConfig.enabled to false" if enabled is False else None
    return None


def is_trusted(env: Mapping[str, str], cwd: str) -> bool:
    """Whether the client would ask about *cwd*: its own record, and the switch that turns the question off."""
    if env.get("GEMINI_CLI_TRUST_WORKSPACE") == "true":
        return True
    if _map(_map((users_settings(env) or {}).get("security")).get("folderTrust")).get("enabled") is False:
        return True
    above = parents(os.path.realpath(cwd))
    for path, answer in (read_json(trust_file(env)) or {}).items():
        if answer == "TRUST_PARENT" and os.path.dirname(path) in above:
            return True
        if answer in ("TRUST_FOLDER", "DO_NOT_TRUST") and path in above:  # answered either way: no dialog
            return True
    return False


def _map(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def composer(lines: list[str]) -> Composer:
    """What a styled screen shows."""
    rows = cells(lines)
    text = [plain(row) for row in rows]
    working = any(_WORKING.search(line) for line in text)
    start = next((i for i in range(len(text) - 1, -1, -1) if _TYPED.match(text[i] + " ")), None)
    end = start
    if start is not None:
        below = range(start + 1, len(text))
        end = next((i for i in below if text[i] and not text[i].startswith(INDENT)), len(text))
    if start is None or not any(cell.reverse for row in rows[start:end] for cell in row):  # past prompts have no cursor
        bottom = text[-24:]
        asks = any(_CHOICE.match(line) for line in bottom) and any(_QUESTION.search(line) for line in bottom)
        return Composer(Box.DIALOG) if asks else Composer(Box.UNKNOWN, working=working)
    first = rows[start][len(INDENT) :]
    if first and first[0].reverse and plain(first).strip() == PLACEHOLDER:  # told apart by its colour and the cursor
        return Composer(Box.EMPTY, working=working)
    body = typed(rows[start:end], len(INDENT))
    return Composer(Box.TEXT if body else Box.EMPTY, body, working)
