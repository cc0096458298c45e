"""
The built-in model: a conversation, and an answer that follows its directives.

It is deterministic. The directives are those of the last user message, which is a prompt or what a Stop
hook said; reminders, tool results and prompts absorbed by a running turn are part of the conversation
but steer nothing. Without any directive the answer is `stub reply N`.
"""

from __future__ import annotations

import json
from typing import Any, NamedTuple

from fleet.fakeagent.directives import Call, Directives, Playbook, Usage, unescape
from fleet.fakeagent.ids import new_id

CHARACTERS_PER_TOKEN = 4


class ToolUse(NamedTuple):
    """A tool the model wants to use."""

    id: str
    name: str
    input: dict[str, Any]


class Answer(NamedTuple):
    """One answer: a text that ends the turn, or tools to use."""

    id: str
    text: str
    tools: list[ToolUse]
    usage: Usage
    stop_reason: str
    delay_seconds: float
    after: str  #: A file for which the answer waits; "" for none.
    chunk_seconds: float
    hang_seconds: float
    error: int  #: An HTTP status; the rest does not count then, but for the two fields below.
    error_text: str


class Model:
    """What has been said, and what is said next."""

    def __init__(self, playbook: Playbook, cwd: str) -> None:
        self._playbook = playbook
        self._preamble = f"Working directory: {cwd}"
        self._said: list[str] = []
        self._prompt = ""
        self._turn = 0
        self._step = 0
        self._requests = 0
        self.context_tokens = 0  #: What the last answer reported; 0 after a compaction.
        self.exchanges = 0  #: Answers since the conversation began or was compacted.

    def mark(self) -> int:
        """How much has been said."""
        return len(self._said)

    def ask(self, prompt: str) -> None:
        """A new user message steers from now on."""
        self._said.append(prompt)
        self._prompt, self._step = prompt, 0
        self._turn += 1

    def take_back(self, mark: int) -> None:
        """What was said since *mark* was never sent."""
        del self._said[mark:]

    def hear(self, text: str) -> None:
        """Something that is in the conversation and steers nothing."""
        self._said.append(text)

    def remind(self, texts: list[str]) -> None:
        """As `hear`, in the form of a reminder."""
        self._said += [f"<system-reminder>\n{text}\n</system-reminder>" for text in texts]

    def recall(self, texts: list[str]) -> None:
        """A conversation from a transcript."""
        self._said += texts
        self.exchanges = len(texts)

    def compact(self, summary: str) -> None:
        """Forget everything but the summary and the message that is being answered."""
        self._said = [summary, self._prompt]
        self.context_tokens, self.exchanges = 0, 0

    def forget(self) -> None:
        """Begin anew."""
        self._said, self._prompt = [], ""
        self.context_tokens, self.exchanges = 0, 0

    def summary(self) -> str:
        """What a compaction would keep."""
        self._requests += 1
        text = f"1. Primary Request and Intent: stub summary {self._requests} of {len(self._said)} messages."
        return f"<analysis>stub analysis</analysis>\n<summary>\n{text}\n</summary>"

    def conversation(self) -> str:
        """All of it, as the rules search it."""
        return "\n".join([self._preamble, *self._said])

    def answer(self) -> Answer:
        """The next answer; `accept` is called when it has arrived in full."""
        self._requests += 1
        directives = self._playbook.directives(self._turn, self._prompt, self.conversation)
        text, tools = "", []
        if self._step < len(directives.steps):
            tools = [_tool_use(call) for call in directives.steps[self._step]]
        else:
            text = directives.said(f"stub reply {self._requests}")
        return self._packed(directives, text, tools)

    def accept(self, answer: Answer) -> None:
        """The answer is part of the conversation."""
        self._step += 1
        self.exchanges += 1
        self.context_tokens = answer.usage.prompt
        self._said.append(answer.text or json.dumps([use.input for use in answer.tools]))

    def _packed(self, directives: Directives, text: str, tools: list[ToolUse]) -> Answer:
        size = sum(map(len, self._said)) // CHARACTERS_PER_TOKEN
        spoken = 1 + (len(text) + sum(len(str(use.input)) for use in tools)) // CHARACTERS_PER_TOKEN
        return Answer(
            id=new_id("msg_"),
            text=text,
            tools=tools,
            usage=directives.usage(prompt_default=size, output_default=spoken),
            stop_reason=directives.options.get("stop") or ("tool_use" if tools else "end_turn"),
            delay_seconds=directives.seconds("delay"),
            after=directives.options.get("after", ""),
            chunk_seconds=directives.seconds("chunk"),
            hang_seconds=directives.seconds("hang"),
            error=self._playbook.failure(self._turn, directives),
            error_text=directives.options.get("errmsg", "stub error"),
        )


def _tool_use(call: Call) -> ToolUse:
    use_id = new_id("toolu_")
    if call.name == "tool":
        name, _, rest = call.argument.strip().partition(" ")
        return ToolUse(use_id, name, _object(rest))
    argument = unescape(call.argument)
    if call.name == "bash":
        return ToolUse(use_id, "Bash", {"command": argument, "description": "stub command"})
    if call.name == "write":
        path, _, content = argument.partition("|")
        return ToolUse(use_id, "Write", {"file_path": path, "content": content})
    described = {"description": "stub subagent", "prompt": argument, "subagent_type": "general-purpose"}
    return ToolUse(use_id, "Agent", described)


def _object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {"invalid": text}
    return value if isinstance(value, dict) else {"invalid": text}
