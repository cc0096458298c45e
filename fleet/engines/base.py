"""What fleet asks of an engine. A module per engine fills these slots; `catalog` names them all."""

from __future__ import annotations

import os
import shutil
from types import MappingProxyType
from typing import Protocol

from fleet.errors import EnvironmentMissing, Refused
from fleet.formats import jsontext
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from fleet.engines.screen import Composer
    from fleet.formats.layout import Layout

#: Linux refuses a longer single argument (MAX_ARG_STRLEN with its closing NUL).
LONGEST_ARGUMENT_BYTES = 131_071


class Request(NamedTuple):
    """What is to be started."""

    agent_id: str
    layout: Layout
    cwd: str
    env: Mapping[str, str]  #: the engine's environment
    options: Mapping[str, Any]  #: config/engines/<engine>.yaml over the user's settings
    command: tuple[str, ...]  #: what stood behind `--`: further arguments, or the whole program
    model: str | None
    hook_argv: tuple[str, ...]  #: interpreter, flags, launcher; the engine's name and the event follow
    conversation_id: str  #: a new UUID, for engines that take one
    trust: bool  #: the operator asked for the engine's trust record to be written
    role: str = "executor"  #: what the agent is for


class Plan(NamedTuple):
    """How it is started."""

    argv: list[str]
    prompt_prefix: Sequence[
        str
    ] = ()  #: arguments between argv and a prompt; one that ends in `=` is one with the prompt
    takes_prompt: bool = True  #: a prompt can be its last argument
    env: Mapping[str, str] = MappingProxyType({})
    files: Mapping[str, bytes] = MappingProxyType({})  #: path to content, written 0600 before the start
    links: Mapping[str, str] = MappingProxyType({})  #: path to what a symbolic link there leads to, made likewise
    hooks: bool = True  #: the engine will report
    conversation_id: str | None = None
    notes: Sequence[str] = ()  #: said to the operator


class Obstacle(NamedTuple):
    """Something that would open a dialog instead of starting the turn."""

    text: str
    remedy: str
    mend: Callable[[], Callable[[], None]] | None = None  #: writes the trust record; returns its undoing


class Engine(Protocol):
    """An agent program."""

    name: str
    reports: bool  #: it has hooks
    announces: bool  #: it reports its start when it stands at its prompt, not with its first turn

    def plan(self, request: Request) -> Plan:
        """How to start it. Raises EnvironmentMissing when it is not installed."""

    def resume(self, conversation_id: str) -> list[str] | None:
        """
        The arguments that go on with that conversation, in the place of those that name a new one; None: it cannot.

        They stand directly behind the options of `plan`; a prompt may follow.
        """

    def obstacles(self, request: Request) -> list[Obstacle]:
        """What stands in the way of an unattended start there."""

    def composer(self, lines: list[str]) -> Composer:
        """What a styled screen of it shows."""


def going_on(program: Engine, plan: Plan, conversation_id: str) -> Plan:
    """
    *plan*, but the engine goes on with that conversation instead of beginning the one that *plan* names.

    Raises:
        Refused: it cannot.
    """
    words = program.resume(conversation_id)
    if words is None:
        raise Refused(f"{program.name} cannot go on with a conversation")
    argv = list(plan.argv)
    if plan.conversation_id is not None and plan.conversation_id in argv:
        at = argv.index(plan.conversation_id)
        del argv[at - 1 : at + 1]
    return plan._replace(argv=[*argv, *words], conversation_id=conversation_id)


def locate(binary: str, env: Mapping[str, str], what: str) -> str:
    """
    The absolute path of *binary* on the PATH of *env*.

    Raises:
        EnvironmentMissing: it is not there.
    """
    found = shutil.which(binary, path=env.get("PATH", os.defpath))
    if found is None:
        raise EnvironmentMissing(
            f"{what} is not installed: no {binary!r} on PATH", hint="install it, or name its path in config.yaml"
        )
    return os.path.abspath(found)


def read_json(path: str) -> dict[str, Any] | None:
    """A JSON object of the user's; None when it is missing or something else."""
    try:
        with open(path, encoding="utf-8") as f:
            data = jsontext.loads(f.read())
    except (OSError, ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def parents(path: str) -> list[str]:
    """*path* and all folders above it."""
    found = [path]
    while os.path.dirname(found[-1]) != found[-1]:
        found.append(os.path.dirname(found[-1]))
    return found


def git_roots(path: str) -> list[str]:
    """The work tree that *path* lies in and, for a linked worktree, the main one."""
    for folder in parents(path):
        git = os.path.join(folder, ".git")
        if os.path.isdir(git):
            return [folder]
        if os.path.isfile(git):
            try:
                with open(git, encoding="utf-8") as f:
                    target = f.read().partition("gitdir: ")[2].strip()
            except (OSError, UnicodeDecodeError):
                return [folder]
            main, marker, _ = os.path.normpath(os.path.join(folder, target)).partition("/.git/worktrees/")
            return [folder, main] if marker else [folder]
    return []
