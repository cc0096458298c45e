"""
What to answer: directives, translated into the tools that this client offers.

A request of the main conversation is steered by its prompt, the queue, or a rule; a title or a summary
gets a fixed answer. Failures are counted per client and prompt, because a compaction in between changes
everything else of the request; an answer that ends the turn clears the count.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from fleet.fakeagent.directives import Call, Directives, Playbook, Usage, parse, unescape

from tests.stub.reading import Request

CHARACTERS_PER_TOKEN = 4


class ToolCall(NamedTuple):
    """A tool to be called."""

    name: str
    input: dict[str, Any]


class Plan(NamedTuple):
    """One answer."""

    number: int  #: Of the request, from 1.
    step: int  #: Of the turn, from 0.
    text: str
    tools: list[ToolCall]
    usage: Usage
    stop: str | None  #: A directed stop reason.
    delay_seconds: float
    after: str
    chunk_seconds: float
    hang_seconds: float
    error: int
    error_text: str
    is_compaction: bool

    @property
    def stop_reason(self) -> str:
        """Why the answer ends, in Anthropic's words."""
        return self.stop or ("tool_use" if self.tools else "end_turn")


class Planner:
    """Decides answers; not safe for threads by itself."""

    def __init__(self, playbook: Playbook) -> None:
        self.playbook = playbook
        self.requests = 0

    def plan(self, request: Request) -> Plan:
        """Decide the answer to *request*."""
        self.requests += 1
        turn = (request.client, tuple(request.messages[: request.last_user + 1]))
        if request.is_compaction or request.is_aside:
            directives = parse("", self.playbook.defaults)
        else:
            directives = self.playbook.directives(turn, request.prompt, lambda: json.dumps(request.body))
        text, tools = self._content(request, directives)
        key = (request.client, request.prompt)
        error = self.playbook.failure(key, directives)
        if not error and not tools:
            self.playbook.forgive(key)
        words = len(text) + sum(len(str(call)) for call in tools)
        return Plan(
            number=self.requests,
            step=request.step,
            text=text,
            tools=tools,
            usage=directives.usage(
                prompt_default=len(json.dumps(request.body)) // CHARACTERS_PER_TOKEN,
                output_default=1 + words // CHARACTERS_PER_TOKEN,
            ),
            stop=directives.options.get("stop"),
            delay_seconds=directives.seconds("delay"),
            after=directives.options.get("after", ""),
            chunk_seconds=directives.seconds("chunk"),
            hang_seconds=directives.seconds("hang"),
            error=error,
            error_text=directives.options.get("errmsg", "stub error"),
            is_compaction=request.is_compaction,
        )

    def _content(self, request: Request, directives: Directives) -> tuple[str, list[ToolCall]]:
        if request.is_compaction:
            said = f"stub summary {self.requests} of {len(request.messages)} messages."
            analysis = "<analysis>stub analysis</analysis>\n<summary>\n1. Primary Request and Intent: "
            return f"{analysis}{said}\n</summary>", []
        if request.schema is not None:
            return json.dumps(instance(request.schema)), []
        if request.step < len(directives.steps) and request.tools:
            return "", [tool_call(call, request.tools) for call in directives.steps[request.step]]
        return directives.said(f"stub reply {self.requests}"), []


def tool_call(call: Call, offered: list[str]) -> ToolCall:
    """A directive as a call of one of the tools *offered*."""

    def first(*wanted: str) -> str:
        return next((name for name in wanted if name in offered), wanted[0])

    if call.name == "tool":
        name, _, rest = call.argument.strip().partition(" ")
        return ToolCall(name, json.loads(rest or "{}"))
    argument = unescape(call.argument)
    if call.name == "write":
        path, _, content = argument.partition("|")
        name = first("Write", "write", "write_file")
        if name not in offered:  # Codex has no tool that writes files, but a shell
            script = f"cat > {path} <<'STUB_EOF'\\n{content}\\nSTUB_EOF".replace("\n", "\\n")
            return tool_call(Call("bash", script), offered)
        return ToolCall(name, {"filePath" if name == "write" else "file_path": path, "content": content})
    if call.name == "agent":
        name = first("Agent", "Task", "task")
        kind = "general" if name == "task" else "general-purpose"
        return ToolCall(name, {"description": "stub subagent", "prompt": argument, "subagent_type": kind})
    name = first("Bash", "bash", "exec_command", "shell_command", "run_shell_command", "shell")
    special = {"exec_command": {"cmd": argument}, "shell": {"command": ["bash", "-lc", argument]}}
    return ToolCall(name, special.get(name, {"command": argument, "description": "stub command"}))


def instance(schema: dict[str, Any]) -> Any:
    """A small value that satisfies a simple JSON schema."""
    kind = schema.get("type")
    kind = str(kind[0] if isinstance(kind, list) else kind).lower()
    if schema.get("enum"):
        return schema["enum"][0]
    if kind == "object" or "properties" in schema:
        return {name: instance(inner) for name, inner in (schema.get("properties") or {}).items()}
    return {"array": [], "boolean": False, "integer": 1, "number": 1}.get(kind, "Stub")
