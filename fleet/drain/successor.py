"""What a successor is started with: everything its predecessor had, one generation on."""

from __future__ import annotations

import os
import stat

from fleet.errors import BadFile, OnHold, Refused, Unreachable
from fleet.formats import launch, queue_entry, texts
from fleet.model.orders import Order

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.app import Fleet
    from fleet.model.agent import Agent


def order_of(fleet: Fleet, entry: Mapping[str, Any], old: Agent | None, resume: str | None) -> Order:
    """
    The order for the successor that the queue *entry* names.

    Args:
        resume: the conversation that it goes on with, instead of reading the handoff document.

    Raises:
        Refused: nothing is known to start it from.
    """
    if old is None:
        raise Refused("the predecessor has no record any more, so nothing is known to start a successor from")
    document = entry["handoff_doc"]
    if not os.path.isfile(document):
        raise Refused(f"the handoff document {document} is gone")
    try:
        start: Mapping[str, Any] = launch.read(fleet.layout, old.id)
    except (FileNotFoundError, BadFile):
        start = _foreign(fleet, old)
    return Order(
        agent_id=str(entry["new_agent_id"]),
        dispatch_id=old.dispatch_id,
        generation=old.generation + 1,
        origin=queue_entry.origin_of(entry),
        project=old.project,
        task_id=old.task_id,
        engine=old.engine,
        role=old.role,
        mode=old.mode,
        cwd=old.cwd,
        socket=start["socket"],
        env={k: v for k, v in start["env"].items() if not k.startswith("FLEET_")},
        options=start["options"],
        model=start["model"],
        command=tuple(start["command"]),
        prompt=None if resume else texts.resume_prompt(document).encode("utf-8", "surrogateescape"),
        trust=start["trust"],
        predecessor_id=old.id,
        handoff_number=old.handoff_number + 1,
        last_handoff_path=document,
        extra=start["extra"],
        resume=resume,
    )


def check(fleet: Fleet, order: Order) -> None:
    """
    Make sure that it would start its turn unattended.

    Raises:
        OnHold: its folder is not there, which may be one of a disk that comes late.
        Unreachable: its folder could not be looked at.
        Refused: something would open a dialog instead.
    """
    from fleet.engines.catalog import engine  # noqa: PLC0415  # paid only where it is used

    there = is_there(order.cwd)
    if there is None:
        raise Unreachable(f"the working directory {order.cwd} could not be looked at")
    if not there:
        raise OnHold(f"the working directory {order.cwd} is not there, and is waited for")
    for obstacle in engine(order.engine).obstacles(fleet.starter.request(order)):
        raise Refused(obstacle.text, hint=obstacle.remedy)


def is_there(folder: str) -> bool | None:
    """Whether an agent could work in *folder*; None: could not look."""
    try:
        return stat.S_ISDIR(os.stat(folder).st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return None


def _foreign(fleet: Fleet, old: Agent) -> dict[str, Any]:
    """What an agent of another dispatcher was started with, as far as its record tells."""
    from fleet.dispatch.environment import for_engine  # noqa: PLC0415  # paid only where it is used

    if not old.cwd:
        raise Refused(f"agent {old.id} has no working directory in its record", hint="`fleet stop` it")
    return {
        "socket": old.socket or fleet.socket,
        "env": for_engine(fleet.environ, {}),
        "options": fleet.settings.engine(old.engine),
        "model": None,
        "command": list(old.command) if old.engine == "command" else [],
        "trust": False,
        "extra": {"worktree": old.worktree} if old.worktree else {},
    }
