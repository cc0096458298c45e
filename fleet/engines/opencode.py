"""opencode (measured with 1.18.33).

It has no hooks but plugins in JavaScript. `OPENCODE_CONFIG_CONTENT` holds settings that are laid over all files of
the user's, lists of plugins are added to theirs, and a plugin may be named by a `file://` address; so each process is
given ours (`hooks/opencode_plugin.js`) and no folder is touched. By itself it installs its package for plugins into
the user's settings folder with npm, with or without a plugin; with one it waits for that. npm's `opencode` is the
native binary. `--pure` leaves out plugins: then it does not report.

It asks nothing about folders. What it may do is in its settings (`permission`), and `--auto` answers yes to the rest.
The turn is over at `session.idle`, also after an interrupt and an error; the plugin tells them apart. A turn that is
to go on gets a new prompt from the plugin. Its log is a database; the plugin writes one that can be read
(formats.transcript). Its own word for a conversation is a session id (`ses_…`), which is known with the first prompt.

Its permission dialog has three options side by side, the marked one on a background of its own; Left and Right move,
beyond an end to the other one. "Allow always" asks again and names the patterns; "Reject" of a subagent's wish asks for
a word, a main agent's ends the turn. In a window of fifteen lines it shows seven of a text and does not say that there
are more; Ctrl-F enlarges the window, and cuts what is longer than the screen just so. A larger terminal changes nothing
of it.

A plugin can answer too: `permission.asked` brings the request's id with the whole command, and
`client.postSessionIdPermissionsPermissionId` with `once` or `reject` takes the dialog away (measured;
`permission.replied` follows). `fleet approve` presses keys all the same: it answers what it has shown, and the screen
does not tell by an id which of two open requests that is; the second steps above have none; with `--pure` there is no
plugin; and a process would have to wait in every open question. What it would gain is commands that are longer than
the window.

The placeholder is told apart by its colour and its words alone; text of three lines or more, or a long one, shows as
`[Pasted ~N lines]`. The cursor is the terminal's own.
"""

from __future__ import annotations

import json
import os
import re

from fleet import resources
from fleet.engines.base import Plan, locate
from fleet.engines.screen import Box, Composer, cells, plain, within

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.engines.base import Obstacle, Request

NAME = "opencode"
CONFIG_VARIABLE = "OPENCODE_CONFIG_CONTENT"
PLACEHOLDER = re.compile(r"^(?:Ask anything…|Run a command…)")
_FOOT = re.compile(r"^\s*╹▀{10,}")  #: as wide as the composer: what stands right of it is the side bar
_SIDE = re.compile(r"^(\s*┃)(?=  |$)")  #: a menu above it is indented by one
_DIALOG = re.compile(r"Permission required|Reject permission|⇆ select|↑↓ select|enter submit|esc dismiss")
_MENU = re.compile(r"\S\s{3,}esc$")  #: the head of a menu that lies over everything
_SPINNER = re.compile(r"^\s*[■⬝]{4,}")  #: below the composer; what stands behind it is cut on a narrow screen


class Opencode:
    """The engine."""

    name = NAME
    reports = True
    announces = False

    def plan(self, request: Request) -> Plan:
        """`opencode [--model M] --prompt PROMPT`."""
        options = request.options
        argv = [os.path.realpath(locate(str(options["binary"]), request.env, "opencode"))]
        if request.model:
            argv += ["--model", request.model]
        if options["bypass_permissions"]:
            argv.append("--auto")
        further = [*map(str, options["args"]), *request.command]
        argv += further
        content, reason = config(request.env.get(CONFIG_VARIABLE))
        if "--pure" in further:
            reason = "--pure leaves out plugins"
        if reason:
            return Plan(argv, ["--prompt="], hooks=False, notes=[f"{reason}, so this agent cannot report"])
        return Plan(
            argv=argv,
            prompt_prefix=["--prompt="],
            env={
                CONFIG_VARIABLE: json.dumps(content),
                "FLEET_OPENCODE_HOOK": json.dumps(request.hook_argv),
                "FLEET_OPENCODE_LOG": request.layout.conversation(request.agent_id),
            },
        )

    def resume(self, conversation_id: str) -> list[str] | None:
        """`--session ses_…`."""
        return ["--session", conversation_id]

    def obstacles(self, request: Request) -> list[Obstacle]:
        """It asks nothing before a turn."""
        del request
        return []

    def composer(self, lines: list[str]) -> Composer:
        """What lies between the bar on its left and the rule below it, or the dialog in its place."""
        return composer(lines)


def config(given: str | None) -> tuple[dict[str, Any], str | None]:
    """What is laid over the user's settings: what the caller lays there, and our plugin; or why it cannot be."""
    try:
        content = json.loads(given) if given else {}
    except ValueError:
        content = None
    if not isinstance(content, dict):
        return {}, f"{CONFIG_VARIABLE} is not a JSON object"
    plugins = content.get("plugin")
    ours = "file://" + resources.opencode_plugin()
    kept = [one for one in plugins if one != ours] if isinstance(plugins, list) else []
    return {**content, "plugin": [*kept, ours]}, None


def set_up(env: Mapping[str, str]) -> str | None:
    """What is still to be done by hand before it can be dispatched: nothing that could be seen from outside."""
    del env
    return None


def _end_of_foot(line: str) -> int:
    found = _FOOT.match(line)
    return found.end() if found else len(line)


def composer(lines: list[str]) -> Composer:
    """What a styled screen shows."""
    text = [plain(row) for row in cells(lines)]
    foot = next((i for i in range(len(text) - 1, -1, -1) if _FOOT.match(text[i])), None)
    working = foot is not None and any(_SPINNER.match(line) for line in text[foot + 1 :])
    if any(_MENU.search(line) for line in text):
        return Composer(Box.DIALOG)
    if foot is None:
        asks = any(_DIALOG.search(line) for line in text[-12:])
        return Composer(Box.DIALOG) if asks else Composer(Box.UNKNOWN)
    start = foot
    while start and _SIDE.match(text[start - 1]):
        start -= 1
    side = _SIDE.match(text[start])
    if side is None or foot - start < 3:
        return Composer(Box.UNKNOWN, working=working)
    end = _end_of_foot(text[foot])
    inner = text[start + 1 : foot - 2]  # without a margin above, a margin and the model below
    body = [within(line, end)[side.end() + 2 :] for line in inner]
    typed = "\n".join(line.rstrip() for line in body).strip("\n")
    if PLACEHOLDER.match(typed):
        typed = ""
    return Composer(Box.TEXT if typed else Box.EMPTY, typed, working)
