"""
What the output of hooks means.

A hook speaks by its exit status and its standard output. Status 2 blocks, with standard error as the
reason; other statuses are errors nobody acts on. Output that is a JSON object is an instruction;
anything else is text, also JSON that is broken: a block with a raw newline in its reason blocks nothing
(`dash`'s echo writes such JSON).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from fleet.fakeagent.children import Finished
    from fleet.fakeagent.settings import Hook

BLOCK_STATUS = 2


class Verdict(NamedTuple):
    """One hook's output, understood."""

    hook: Hook
    finished: Finished
    block: str | None = None  #: The reason, when it blocks.
    block_text: str | None = None  #: The same as the model reads it.
    context: str | None = None
    text: str = ""  #: Plain output.
    message: str | None = None  #: For the screen only.
    stop_reason: str | None = None  #: "continue": false.
    permission: str | None = None  #: allow, deny or ask, from PreToolUse and PermissionRequest.
    permission_reason: str = ""
    instructs: bool = False  #: The output was a JSON object.


def understand(hook: Hook, finished: Finished) -> Verdict:
    """Read what a hook that has ended wanted."""
    verdict = Verdict(hook, finished)
    if finished.timed_out:
        return verdict
    if finished.status == BLOCK_STATUS:
        return verdict._replace(block=finished.stderr, block_text=f"[{hook.command}]: {finished.stderr}")
    if finished.status != 0:
        return verdict
    instruction = _instruction(finished.stdout)
    if instruction is None:
        return verdict._replace(text=finished.stdout.strip())
    return _obey(verdict._replace(instructs=True), instruction)


def _instruction(stdout: str) -> dict[str, Any] | None:
    if not stdout.lstrip().startswith("{"):
        return None
    try:
        value = json.loads(stdout)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _obey(verdict: Verdict, instruction: dict[str, Any]) -> Verdict:
    special = instruction.get("hookSpecificOutput")
    special = special if isinstance(special, dict) else {}
    reason = str(instruction.get("reason") or "")
    if instruction.get("decision") == "block":
        verdict = verdict._replace(block=reason, block_text=reason)
    if instruction.get("continue") is False:
        verdict = verdict._replace(stop_reason=str(instruction.get("stopReason") or ""))
    if isinstance(instruction.get("systemMessage"), str):
        verdict = verdict._replace(message=instruction["systemMessage"])
    if isinstance(special.get("additionalContext"), str):
        verdict = verdict._replace(context=special["additionalContext"])
    decision = special.get("decision")
    if isinstance(decision, dict):
        return verdict._replace(
            permission=decision.get("behavior"), permission_reason=str(decision.get("message") or "")
        )
    if "permissionDecision" in special:
        why = str(special.get("permissionDecisionReason") or "")
        return verdict._replace(permission=special["permissionDecision"], permission_reason=why)
    return verdict
