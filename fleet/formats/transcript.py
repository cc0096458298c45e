"""What an engine's own log says about the end of a conversation: what was said since a prompt, and by whom.

Claude Code 2.1.197: `user` lines hold prompts (content is a text), tool results (a list of tool_result), Stop hook
feedback and interrupt marks (a list of texts, or a text); `attachment` lines hold what a hook injected. Codex
0.171.0: `response_item` messages by role, `turn_aborted`, and `task_complete`, which alone tells of an API error (no
hook fires then). Both are read backwards. How a tool call ended: Claude Code marks its result `is_error`, also when the
person refused the call, which is no failure of it; Codex only says so in words, `Process exited with code N`, and says
nothing while the command still runs.
"""

from __future__ import annotations

from fleet.formats import jsontext
from fleet.formats.events import json_object, lines_from_end

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LOOK_BACK_BYTES = 4 * 1024 * 1024
INTERRUPTED = "[Request interrupted by user"
FEEDBACK = "Stop hook feedback:"
COMMANDS = ("<command-name>", "<command-message>", "<local-command-")
REFUSED = ("The user doesn't want to", "[Request interrupted")
EXITED = "Process exited with code "
_TELLING = (b'"user"', b'"assistant"', b'"attachment"', b'"local_command"', b'"turn_duration"')


class Said:
    """One thing in a conversation.

    `kind`: prompt, feedback, interrupt, injected, assistant, tool, result, ended (the turn is over), failed (so is it,
    with an error), or command (the client's own, such as /compact, with what it said: no turn of the model).
    """

    __slots__ = ("at", "call_id", "failed", "kind", "text", "turn_id")

    def __init__(
        self,
        kind: str,
        text: str = "",
        turn_id: str | None = None,
        at: str | None = None,
        *,
        call_id: str | None = None,
        failed: bool | None = None,
    ) -> None:
        self.kind = kind
        self.text = text
        self.turn_id = turn_id
        self.at = at  #: the log's own time of it, RFC 3339
        self.call_id = call_id  #: of a tool, and of the result that belongs to it
        self.failed = failed  #: of a result: whether the call failed; None: it does not say


def claude(path: str, limit_bytes: int = LOOK_BACK_BYTES, since: int = 0) -> Iterator[Said]:
    """The conversation of a Claude Code transcript from its end backwards, main chain only."""
    for raw in lines_from_end(path, limit_bytes, since):
        if not any(mark in raw for mark in _TELLING):
            continue
        data = json_object(raw)
        if data is None or data.get("isSidechain") is True:
            continue
        if data.get("type") == "attachment":
            attachment = data.get("attachment")
            if isinstance(attachment, dict) and str(attachment.get("type", "")).startswith("hook_"):
                yield Said("injected", _text(attachment.get("content")))
            continue
        if data.get("type") == "system" and data.get("subtype") == "local_command":
            yield Said("command", _text(data.get("content")))
        if data.get("type") == "system" and data.get("subtype") == "turn_duration":
            yield Said("ended", at=_time(data))
        message = data.get("message")
        if not isinstance(message, dict):
            continue
        if data.get("type") == "assistant":
            if message.get("model") != "<synthetic>":
                yield from reversed(list(_assistant(message.get("content"))))
        elif data.get("type") == "user":
            said = _user(message.get("content"))
            said.turn_id = data.get("promptId") if isinstance(data.get("promptId"), str) else None
            said.at = _time(data)
            yield said


def _assistant(content: object) -> Iterator[Said]:
    if isinstance(content, str):
        yield Said("assistant", content)
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and part.get("type") == "text":
            yield Said("assistant", str(part.get("text", "")))
        elif isinstance(part, dict) and part.get("type") == "tool_use":
            text = f"{part.get('name')} {jsontext.dumps(part.get('input'), ascii_only=False)}"
            yield Said("tool", text, call_id=_word(part.get("id")))


def _user(content: object) -> Said:
    if isinstance(content, list):
        results = [p for p in content if isinstance(p, dict) and p.get("type") == "tool_result"]
        if results:
            text, error = _text(content), results[0].get("is_error")
            failed = None if text.startswith(REFUSED) else error is True
            return Said("result", text, call_id=_word(results[0].get("tool_use_id")), failed=failed)
    text = _text(content)
    if text.startswith(INTERRUPTED):
        return Said("interrupt", text)
    if text.startswith(COMMANDS):
        return Said("command", text)
    return Said("feedback" if text.startswith(FEEDBACK) else "prompt", text)


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = (p.get("text", p.get("content")) if isinstance(p, dict) else p for p in content)
        return "\n".join(_text(p) for p in parts if isinstance(p, (str, list)))
    return ""


def codex(path: str, limit_bytes: int = LOOK_BACK_BYTES, since: int = 0) -> Iterator[Said]:
    """The conversation of a Codex rollout from its end backwards."""
    for raw in lines_from_end(path, limit_bytes, since):
        data = json_object(raw)
        payload = data.get("payload") if data else None
        if data is None or not isinstance(payload, dict):
            continue
        kind = payload.get("type")
        if data.get("type") == "response_item":
            if kind == "message":
                yield _codex_message(payload)
            elif kind in ("function_call", "custom_tool_call", "local_shell_call"):
                text = f"{payload.get('name', kind)} {payload.get('arguments', payload.get('input', ''))}"
                yield Said("tool", text, call_id=_word(payload.get("call_id")))
            elif isinstance(kind, str) and kind.endswith("_output"):
                text = _text(payload.get("output"))
                yield Said("result", text, at=_time(data), call_id=_word(payload.get("call_id")), failed=_exit(text))
        elif data.get("type") == "event_msg" and kind == "turn_aborted":
            yield Said("interrupt", "", payload.get("turn_id"), _time(data))
        elif data.get("type") == "event_msg" and kind == "task_complete":
            error = payload.get("error")
            text = str(error.get("message", error)) if isinstance(error, dict) else str(error or "")
            yield Said("failed" if error else "ended", text, payload.get("turn_id"), _time(data))


def _exit(output: str) -> bool | None:
    """Whether what Codex tells of a command says that it failed; it stands in the lines above the output."""
    head, _, _ = output.partition("\nOutput:")
    _, found, rest = head.partition(EXITED)
    return rest.split("\n")[0].strip() != "0" if found else None


def _codex_message(payload: dict[str, Any]) -> Said:
    text = _text(payload.get("content"))
    about = payload.get("internal_chat_message_metadata_passthrough")
    turn = about.get("turn_id") if isinstance(about, dict) else None
    role = payload.get("role")
    if role == "assistant":
        return Said("assistant", text, turn)
    if role == "developer":
        return Said("injected", text, turn)
    if text.startswith("<hook_prompt"):
        return Said("feedback", text, turn)
    if text.startswith("<turn_aborted"):
        return Said("interrupt", text, turn)
    return Said("injected" if text.startswith("<environment_context") else "prompt", text, turn)


def gemini(path: str, limit_bytes: int = LOOK_BACK_BYTES, since: int = 0) -> Iterator[Said]:
    """
    The conversation of a Gemini CLI log from its end backwards.

    A line with an id that comes again is the same message, later and more complete.
    """
    seen = set()
    for raw in lines_from_end(path, limit_bytes, since):
        data = json_object(raw)
        if data is None or not isinstance(data.get("type"), str) or data.get("id") in seen:
            continue
        seen.add(data.get("id"))
        text, at = _text(data.get("content")), _time(data)
        kind = data["type"]
        if kind == "gemini":
            calls = [call for call in data.get("toolCalls") or () if isinstance(call, dict)]
            for call in reversed(calls):
                yield Said("tool", f"{call.get('name')} {jsontext.dumps(call.get('args'), ascii_only=False)}", at=at)
            if not text and not calls:
                yield Said("tool", at=at)  # an answer without words calls tools, which are added when they have run
            elif text:
                yield Said("assistant", text, at=at)
        elif kind == "info" and "cancelled" in text:
            yield Said("interrupt", text, at=at)
        elif kind == "error":
            yield Said("failed", text, at=at)
        elif kind == "user" and not text and data.get("content"):
            yield Said("result", at=at)
        elif kind == "user" and not text.startswith("<session_context>"):
            prompt, mark, injected = text.partition("<hook_context>")
            if mark:
                yield Said("injected", injected, at=at)
            yield Said("prompt", prompt, at=at)


def opencode(path: str, limit_bytes: int = LOOK_BACK_BYTES, since: int = 0) -> Iterator[Said]:
    """The conversation from its end backwards, in the log that our plugin writes for opencode: one `Said` a line."""
    for raw in lines_from_end(path, limit_bytes, since):
        data = json_object(raw)
        kind = data.get("kind") if data else None
        if data is not None and isinstance(kind, str) and kind in OPENCODE_KINDS:
            turn = data.get("turn_id")
            yield Said(kind, _text(data.get("text")), turn if isinstance(turn, str) else None, _time(data))


OPENCODE_KINDS = frozenset({"prompt", "feedback", "injected", "assistant", "tool", "interrupt", "failed", "ended"})

#: Engines whose next request holds what an interrupted turn had been given (Codex 0.171.0, seen in its requests).
#: Claude Code 2.1.197 drops what an early Esc cancelled.
KEEPS_INTERRUPTED = frozenset({"codex"})

READERS = {"claude-code": claude, "fake": claude, "codex": codex, "gemini": gemini, "opencode": opencode}


def backwards(engine: str, path: object, limit_bytes: int = LOOK_BACK_BYTES, since: int = 0) -> Iterator[Said]:
    """
    What was said, newest first, in the log of *engine*; nothing for an engine whose log is not read.

    Args:
        limit_bytes: how far to look back, about.
        since: only what stands at that offset of the log or behind it.
    """
    reader = READERS.get(engine)
    if reader is not None and isinstance(path, str) and path:
        yield from reader(path, limit_bytes, since)


def _word(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _time(data: dict[str, Any]) -> str | None:
    stamp = data.get("timestamp")
    return stamp if isinstance(stamp, str) else None
