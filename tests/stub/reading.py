"""
What a client asked for, whatever protocol it speaks.

Four protocols carry the same few things: messages with a role, tools on offer, sometimes a schema for
the answer. Claude Code merges neighbouring user messages (after an error or an interrupt) into one, so
that only the last text block of a message is the prompt; clients send requests of their own (titles, routing,
summaries) that must not use up what a test prepared for the turn.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from fleet.fakeagent.directives import holds_directive, without_reminders

COMPACTION = re.compile(
    "create a detailed summary of the conversation|CONTEXT CHECKPOINT COMPACTION|<state_snapshot>"
    "|Your task is to create a detailed summary|summary of the conversation so far"
)
TOOL_RESULTS = ("tool_result", "function_call_output")


class Message(NamedTuple):
    """One message of a conversation."""

    role: str  #: user, assistant or tool.
    text: str


class Request(NamedTuple):
    """A request, read."""

    kind: str  #: anthropic, responses, chat or gemini.
    body: dict[str, Any]
    messages: list[Message]
    tools: list[str]
    schema: dict[str, Any] | None  #: What a structured answer must look like.

    @property
    def last_user(self) -> int:
        """The place of the last user message, -1 without one."""
        return max((place for place, message in enumerate(self.messages) if message.role == "user"), default=-1)

    @property
    def prompt(self) -> str:
        """The last user message."""
        return self.messages[self.last_user].text if self.last_user >= 0 else ""

    @property
    def step(self) -> int:
        """How many answers of ours follow it; a protocol may split one answer into several items."""
        roles = [message.role for message in self.messages[self.last_user + 1 :]]
        return sum(role == "assistant" and before != "assistant" for before, role in zip(["", *roles], roles))

    @property
    def is_compaction(self) -> bool:
        """Whether a summary is wanted."""
        return COMPACTION.search(self.prompt) is not None

    @property
    def is_aside(self) -> bool:
        """Whether this is not the main conversation (a title, a routing decision)."""
        first = (self.body.get("messages") or [{}])[0]
        titled = first.get("role") == "system" and "title" in str(first)[:400]
        return not self.tools and (self.schema is not None or titled)

    @property
    def client(self) -> tuple[str, str]:
        """What tells apart clients with the same history."""
        return str(self.body.get("metadata")), str(self.body.get("prompt_cache_key"))


def read(kind: str, body: dict[str, Any]) -> Request:
    """Read the *body* of a request."""
    return Request(kind, body, _messages(kind, body), _tools(kind, body), _schema(body))


def _messages(kind: str, body: dict[str, Any]) -> list[Message]:
    read_one = {"responses": _responses, "gemini": _gemini}.get(kind, _chat)
    return [message for message in read_one(body) if message.role in ("user", "assistant", "tool")]


def _responses(body: dict[str, Any]) -> list[Message]:
    items = body.get("input") or []
    messages = []
    for item in [{"role": "user", "content": items}] if isinstance(items, str) else items:
        kind = item.get("type", "message")
        if kind.endswith("_call_output"):
            messages.append(Message("tool", ""))
        elif kind.endswith("_call"):
            messages.append(Message("assistant", ""))
        elif kind == "message":
            messages.append(Message(str(item.get("role")), "\n".join(_texts(item.get("content")))))
    return messages


def _gemini(body: dict[str, Any]) -> list[Message]:
    messages = []
    for item in body.get("contents") or []:
        text = "\n".join(_texts(item.get("parts")))
        role = "assistant" if item.get("role") == "model" else "user"
        only_results = _has_result(item.get("parts")) and not text.strip()
        messages.append(Message("tool" if only_results else role, text))
    return messages


def _chat(body: dict[str, Any]) -> list[Message]:
    messages = []
    for item in body.get("messages") or []:
        text, role = (_texts(item.get("content")) or [""])[-1], str(item.get("role"))
        steers = holds_directive(text) or COMPACTION.search(text)
        if role == "user" and (not text.strip() or (_has_result(item.get("content")) and not steers)):
            role = "tool"
        messages.append(Message(role, text))
    return messages


def _texts(content: object) -> list[str]:
    """The text blocks that are not only reminders."""
    if isinstance(content, str):
        return [without_reminders(content)]
    parts = [part for part in content if isinstance(part, dict)] if isinstance(content, list) else []
    texts = [
        without_reminders(part["text"])
        for part in parts
        if isinstance(part.get("text"), str) and part.get("type") not in TOOL_RESULTS
    ]
    return [text for text in texts if text.strip()]


def _has_result(content: object) -> bool:
    if not isinstance(content, list):
        return False
    parts = [part for part in content if isinstance(part, dict)]
    return any(part.get("type") in TOOL_RESULTS or "functionResponse" in part for part in parts)


def _tools(kind: str, body: dict[str, Any]) -> list[str]:
    tools = body.get("tools") or []
    if kind == "gemini":
        return [str(each.get("name")) for tool in tools for each in tool.get("functionDeclarations") or []]
    return [str((tool.get("function") or tool).get("name") or tool.get("type")) for tool in tools]


def _schema(body: dict[str, Any]) -> dict[str, Any] | None:
    for place in (
        (body.get("output_config") or {}).get("format"),
        (body.get("text") or {}).get("format"),
        (body.get("response_format") or {}).get("json_schema"),
    ):
        if isinstance(place, dict) and isinstance(place.get("schema"), dict):
            return place["schema"]
    generation = body.get("generationConfig") or {}
    return generation.get("responseJsonSchema") or generation.get("responseSchema")
