"""Holding a permission question of Claude Code until `fleet approve` or `fleet deny` answers it, or a person does."""

from __future__ import annotations

import os
import time

from fleet.formats import approval
from fleet.formats.atomic import Lock
from fleet.formats.times import rfc3339

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.formats.layout import Layout
    from fleet.hooks.payload import Payload

POLL_SECONDS = 0.2
#: Of these the client asks more than yes or no: allowed by a hook, it tells the model that nobody answered (2.1.197).
CHOICES = frozenset({"AskUserQuestion"})


def wait(layout: Layout, agent_id: str, call: Payload, wall: float, seconds: float) -> dict[str, Any] | None:
    """
    What is to be printed; None when nobody answered in time, the engine is gone, or yes and no are no answers to it.

    Holds no lock of the record.
    """
    if call.text("tool_name") in CHOICES:
        return None
    at, parent = approval.stem(layout, agent_id, os.getpid()), os.getppid()
    end = time.monotonic() + seconds
    lock = Lock(at + ".lock")
    if not lock.try_acquire():
        return None
    try:
        question = {"agent_id": agent_id, "tool_name": call.text("tool_name"), "at": rfc3339(wall)}
        approval.void(at)
        approval.ask(at, {**question, "tool_input": call.data.get("tool_input")})
        behavior = None
        while behavior is None and time.monotonic() < end and os.getppid() == parent:
            time.sleep(POLL_SECONDS)  # noqa: TID251  # a hook cannot import fleet.clock
            behavior = approval.answered(at)
    finally:
        approval.forget(at)
        lock.release()
    if behavior is None:
        return None
    decision: dict[str, Any] = {"behavior": behavior}
    if behavior == approval.DENY:
        decision["message"] = "The operator denied this."
    return {"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": decision}}
