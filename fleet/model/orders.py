"""An order to start one agent: everything that decides how, before anything is started."""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
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
    extra: Mapping[str, Any] = field(default_factory=dict)  #: unknown record fields that go on to a successor
