"""
Answers on the wire, in four protocols.

All of them stream server-sent events in chunks of 40 characters and can pause between two chunks, so
that a test may interrupt a stream; Anthropic, OpenAI responses and chat also answer in one piece when
the client does not stream.
"""

from __future__ import annotations

import json
import time
import uuid
from typing import Any, Protocol

from fleet.fakeagent.directives import Usage

from tests.stub.planning import Plan

PIECE_CHARACTERS = 40


class Wire(Protocol):
    """Where answers go."""

    def reply(self, status: int, value: object) -> None:
        """Answer in one piece."""

    def start_events(self) -> None:
        """Begin a stream."""

    def event(self, name: str | None, value: object) -> None:
        """One event; a string goes out as it is."""

    def end_events(self) -> None:
        """End the stream."""


def pieces(text: str) -> list[str]:
    """A text as a model streams it."""
    return [text[start : start + PIECE_CHARACTERS] for start in range(0, len(text), PIECE_CHARACTERS)] or [""]


def new_id(prefix: str) -> str:
    """An id with the *prefix* its kind has."""
    return prefix + uuid.uuid4().hex[:24]


def anthropic(wire: Wire, body: dict[str, Any], plan: Plan) -> None:
    """`POST /v1/messages`."""
    usage = {
        "input_tokens": plan.usage.fresh,
        "cache_creation_input_tokens": plan.usage.cache_create,
        "cache_read_input_tokens": plan.usage.cache_read,
        "output_tokens": plan.usage.output,
    }
    content: list[dict[str, Any]] = [
        {"type": "tool_use", "id": new_id("toolu_"), "name": call.name, "input": call.input} for call in plan.tools
    ] or [{"type": "text", "text": plan.text}]
    message = {
        "id": new_id("msg_"),
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "stub"),
        "content": content,
        "stop_reason": plan.stop_reason,
        "stop_sequence": None,
        "usage": usage,
    }
    if not body.get("stream"):
        wire.reply(200, message)
        return
    wire.start_events()

    def event(kind: str, **fields: object) -> None:
        wire.event(kind, {"type": kind, **fields})

    opening = message | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    event("message_start", message=opening)
    for index, block in enumerate(content):
        if block["type"] == "text":
            empty = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        else:
            empty = block | {"input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        event("content_block_start", index=index, content_block=empty)
        for delta in deltas:
            event("content_block_delta", index=index, delta=delta)
            time.sleep(plan.chunk_seconds)
        event("content_block_stop", index=index)
    ending = {"stop_reason": plan.stop_reason, "stop_sequence": None}
    event("message_delta", usage=usage, delta=ending)
    event("message_stop")
    wire.end_events()


def responses(wire: Wire, body: dict[str, Any], plan: Plan) -> None:
    """`POST /v1/responses`."""
    base = {
        "id": new_id("resp_"),
        "object": "response",
        "created_at": int(time.time()),
        "model": body.get("model", "stub"),
        "status": "in_progress",
        "output": [],
        "usage": None,
        "error": None,
        "incomplete_details": None,
    }
    output = [_function_call(call.name, call.input) for call in plan.tools] or [_output_message(plan.text)]
    done = base | {"status": "completed", "output": output, "usage": _responses_usage(plan.usage)}
    if not body.get("stream"):
        wire.reply(200, done)
        return
    wire.start_events()
    sequence = 0

    def event(kind: str, **fields: object) -> None:
        nonlocal sequence
        sequence += 1
        wire.event(kind, {"type": kind, "sequence_number": sequence, **fields})

    event("response.created", response=base)
    for index, item in enumerate(output):
        if item["type"] == "message":
            _stream_message(event, index, item, plan)
        else:
            started = item | {"status": "in_progress", "arguments": ""}
            event("response.output_item.added", output_index=index, item=started)
            given = {"item_id": item["id"], "output_index": index, "arguments": item["arguments"]}
            event("response.function_call_arguments.done", **given)
        event("response.output_item.done", output_index=index, item=item)
    event("response.completed", response=done)
    wire.end_events()


def _stream_message(event: Any, index: int, item: dict[str, Any], plan: Plan) -> None:
    where = {"item_id": item["id"], "output_index": index, "content_index": 0}
    text = item["content"][0]["text"]
    event("response.output_item.added", output_index=index, item=item | {"status": "in_progress", "content": []})
    event("response.content_part.added", part={"type": "output_text", "text": "", "annotations": []}, **where)
    for piece in pieces(text):
        event("response.output_text.delta", delta=piece, **where)
        time.sleep(plan.chunk_seconds)
    event("response.output_text.done", text=text, **where)
    event("response.content_part.done", part=item["content"][0], **where)


def _function_call(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    ids = {"id": new_id("fc_"), "call_id": new_id("call_")}
    said = {"name": name, "arguments": json.dumps(arguments), "status": "completed"}
    return {"type": "function_call"} | ids | said


def _output_message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": new_id("msg_"),
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def _responses_usage(usage: Usage) -> dict[str, Any]:
    return {
        "input_tokens": usage.prompt,
        "input_tokens_details": {"cached_tokens": usage.cache_read},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt + usage.output,
    }


def chat(wire: Wire, body: dict[str, Any], plan: Plan) -> None:
    """`POST /v1/chat/completions`."""
    usage = {
        "prompt_tokens": plan.usage.prompt,
        "completion_tokens": plan.usage.output,
        "total_tokens": plan.usage.prompt + plan.usage.output,
        "prompt_tokens_details": {"cached_tokens": plan.usage.cache_read},
    }
    calls = [
        {
            "index": index,
            "id": new_id("call_"),
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.input)},
        }
        for index, call in enumerate(plan.tools)
    ]
    finish = "tool_calls" if calls else {"max_tokens": "length"}.get(plan.stop or "", "stop")
    base = {"id": new_id("chatcmpl-"), "created": int(time.time()), "model": body.get("model", "stub")}
    if not body.get("stream"):
        message = {"role": "assistant", "content": plan.text or None} | ({"tool_calls": calls} if calls else {})
        choice = {"index": 0, "message": message, "finish_reason": finish}
        wire.reply(200, base | {"object": "chat.completion", "usage": usage, "choices": [choice]})
        return
    wire.start_events()
    chunk = base | {"object": "chat.completion.chunk"}

    def event(delta: dict[str, Any], ending: str | None = None) -> None:
        wire.event(None, chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": ending}]})

    event({"role": "assistant", "content": ""})
    for piece in pieces(plan.text) if plan.text else []:
        event({"content": piece})
        time.sleep(plan.chunk_seconds)
    if calls:
        event({"tool_calls": calls})
    event({}, finish)
    wire.event(None, chunk | {"choices": [], "usage": usage})
    wire.event(None, "[DONE]")
    wire.end_events()


def gemini(wire: Wire, plan: Plan, *, stream: bool) -> None:
    """`POST /v1beta/models/<model>:generateContent` and `:streamGenerateContent`."""
    usage = {
        "promptTokenCount": plan.usage.prompt,
        "candidatesTokenCount": plan.usage.output,
        "cachedContentTokenCount": plan.usage.cache_read,
        "totalTokenCount": plan.usage.prompt + plan.usage.output,
    }
    parts: list[dict[str, Any]] = [
        {"functionCall": {"name": call.name, "args": call.input}} for call in plan.tools
    ] or [{"text": plan.text}]

    def answer(said: list[dict[str, Any]], *, last: bool) -> dict[str, Any]:
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": said}, "index": 0}
        if last:
            candidate["finishReason"] = "STOP"
        ids = {"modelVersion": "stub", "responseId": new_id("g")}
        return {"candidates": [candidate], "usageMetadata": usage} | ids

    if not stream:
        wire.reply(200, answer(parts, last=True))
        return
    wire.start_events()
    for place, part in enumerate(parts, 1):
        wire.event(None, answer([part], last=place == len(parts)))
        time.sleep(plan.chunk_seconds)
    wire.end_events()
