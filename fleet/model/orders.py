"""An order to start one agent: everything that decides how, before anything is started."""

from __future__ import annotations

from types import MappingProxyType

from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


class WorktreeWish(NamedTuple):
    """That the agent gets a git worktree of its own."""

    branch: str | None = None  #: None: fleet/<task>
    trust_setup: bool = False  #: the repository's set-up file is confirmed, whatever it says
    confirmed: str | None = None  #: the digest of a set-up file that the operator was shown and said yes to


class Order(NamedTuple):
    """What is to be started, for which dispatch and generation."""

    agent_id: str
    dispatch_id: str
    generation: int
    origin: str
    project: str
    task_id: str
    engine: str
    role: str
    mode: str
    cwd: str
    socket: str
    env: Mapping[str, str]  #: the engine's environment, without fleet's own variables
    options: Mapping[str, Any]
    model: str | None = None
    command: tuple[str, ...] = ()
    prompt: bytes | None = None
    trust: bool = False
    predecessor_id: str | None = None
    handoff_number: int = 1
    last_handoff_path: str | None = None
    worktree: WorktreeWish | None = None  #: fulfilled before anything is started: cwd and extra say the result
    extra: Mapping[str, Any] = MappingProxyType({})  #: unknown record fields that go on to a successor
    resume: str | None = None  #: the conversation to go on with; then there is no prompt

    def as_data(self) -> dict[str, Any]:
        """As JSON has it, without the prompt."""
        data = {name: value for name, value in self._asdict().items() if name != "prompt"}
        wish = None if self.worktree is None else self.worktree._asdict()
        return {
            **data,
            "env": dict(self.env),
            "options": dict(self.options),
            "extra": dict(self.extra),
            "worktree": wish,
        }


def from_data(data: Mapping[str, Any], prompt: bytes | None) -> Order:
    """
    The order that `as_data` made.

    Raises:
        TypeError: a field of it is missing.
    """
    known = {name: data[name] for name in Order._fields if name in data}
    wish = data.get("worktree")
    known["worktree"] = None if wish is None else WorktreeWish(**wish)
    return Order(**{**known, "command": tuple(data["command"]), "prompt": prompt})
