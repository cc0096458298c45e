"""
The command line, a subset of Claude Code's.

It is read by hand, because a parser library would double the time to the composer.
`--name VALUE` and `--name=VALUE` are the same; the first word that is no option is the prompt, and
behind `--` every word is. Options this program does not have are refused, so that a test notices when
it relies on one.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from fleet.fakeagent.errors import BadUsage
from fleet.fakeagent.ids import is_uuid

USAGE = """\
usage: fleet fake-agent [options] [--] [PROMPT]

A terminal program that behaves like a coding agent and answers as it is told.

  --script FILE             what to answer and how to behave (default: $FAKE_AGENT_SCRIPT)
  --settings FILE|JSON      hooks and permissions, as Claude Code reads them
  --session-id UUID         the id of the new session
  --resume ID               go on with a session
  --continue                go on with the last session of this directory
  --model MODEL             the name to report (default: claude-sonnet-4-5)
  --name NAME               the title of the session
  --permission-mode MODE    default, acceptEdits or bypassPermissions
  --dangerously-skip-permissions

State is kept in $FAKE_AGENT_HOME (default: ~/.fleet-fake-agent).
"""
MODES = ("default", "acceptEdits", "bypassPermissions")
WITH_VALUE = {
    "--script": "script",
    "--settings": "settings",
    "--session-id": "session_id",
    "--resume": "resume",
    "-r": "resume",
    "--model": "model",
    "--name": "name",
    "-n": "name",
    "--permission-mode": "permission_mode",
}
FLAGS = ("--dangerously-skip-permissions", "--continue", "-c", "--help", "-h")


class Options(NamedTuple):
    """What the caller asked for."""

    prompt: str | None = None
    script: str | None = None
    settings: str | None = None
    session_id: str | None = None
    resume: str | None = None
    continue_last: bool = False
    model: str = "claude-sonnet-4-5"
    name: str | None = None
    permission_mode: str = "default"
    help: bool = False


def parse(argv: list[str]) -> Options:
    """
    Read *argv*, without the program's name.

    Raises:
        BadUsage: Naming the word that is wrong.
    """
    values: dict[str, str | bool] = {}
    prompt: list[str] = []
    words = list(argv)
    while words:
        word = words.pop(0)
        if word == "--":
            prompt += words
            break
        name, joined, value = word.partition("=")
        if not word.startswith("-") or word == "-":
            prompt.append(word)
        elif name in WITH_VALUE:
            if not joined and not words:
                raise BadUsage(f"option {name} needs a value")
            values[WITH_VALUE[name]] = value if joined else words.pop(0)
        elif word in FLAGS:
            values.update(_flag(word))
        else:
            raise BadUsage(f"unknown option {name!r}")
    if len(prompt) > 1:
        raise BadUsage(f"one prompt at most, and {prompt[1]!r} is a second")
    if prompt:
        values["prompt"] = prompt[0]
    values.setdefault("script", os.environ.get("FAKE_AGENT_SCRIPT", ""))
    return _checked(Options(**{name: value for name, value in values.items() if value != ""}))  # type: ignore[arg-type]


def _flag(word: str) -> dict[str, str | bool]:
    if word == "--dangerously-skip-permissions":
        return {"permission_mode": "bypassPermissions"}
    return {"continue_last": True} if word in ("--continue", "-c") else {"help": True}


def _checked(options: Options) -> Options:
    if options.permission_mode not in MODES:
        raise BadUsage(f"permission mode {options.permission_mode!r} is not one of {', '.join(MODES)}")
    if options.session_id is not None and not is_uuid(options.session_id):
        raise BadUsage("invalid session id: it must be a UUID")
    if options.session_id is not None and (options.resume or options.continue_last):
        raise BadUsage("--session-id names a new session and cannot be used with --resume or --continue")
    return options
