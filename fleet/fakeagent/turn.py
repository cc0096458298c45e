"""
One turn: a prompt, answers and tools, and the end.

How a turn is interrupted depends on how far it is. Before the first token the prompt goes back into the
composer and nothing is written: the user record that is there already stays alone. In a stream or a
tool a record says so. No hook fires in either case, so that an orchestrator learns of it only from the
file or the screen.
"""

from __future__ import annotations

import os
import time
from enum import Enum
from typing import TYPE_CHECKING

from fleet.fakeagent import compaction, failure, records, tooluse
from fleet.fakeagent.display import INTERRUPTED
from fleet.fakeagent.ids import new_uuid
from fleet.fakeagent.parts import Interrupted, Parts, Rejected
from fleet.fakeagent.sending import Sending
from fleet.fakeagent.stopping import Stopping
from fleet.fakeagent.tools import Result

if TYPE_CHECKING:
    from fleet.fakeagent.clockwork import Steps
    from fleet.fakeagent.model import Answer, ToolUse
    from fleet.fakeagent.waiting import Waiting

PIECE_CHARACTERS = 40
REJECTED_RESULT = "User rejected tool use"
GO_ON = "Output token limit hit. Resume directly — no apology, no recap of what you were doing."
POLL_SECONDS = 0.02  #: between two looks for a file that an answer waits for


class Phase(Enum):
    """How far a turn is."""

    EARLY = "no token has arrived"
    WAITING = "between two answers"
    STREAMING = "a text is arriving"
    TOOL = "a tool is in use"


class Turn:
    """One turn of one agent."""

    def __init__(self, parts: Parts, prompts: list[Waiting]) -> None:
        self._parts = parts
        self._sending = Sending(parts, prompts)
        self._phase = Phase.EARLY
        self._answer: Answer | None = None
        self._arrived = ""
        self._pending: list[tuple[ToolUse, str]] = []
        self._stopping = Stopping(parts)
        self._started = time.monotonic()
        self._turn_id = new_uuid()

    def run(self) -> Steps[None]:
        """The whole turn; an `Interrupted` may be raised in it at any wait."""
        parts = self._parts
        parts.display.busy()
        try:
            yield from parts.faults.submitted()
            if (yield from self._sending.run()):
                yield from parts.faults.accepted()
                if (yield from self._converse()):
                    self._finish()
        except Interrupted as how:
            self._interrupted(how)
        finally:
            parts.display.idle()

    def _converse(self) -> Steps[bool]:
        """False when the turn failed."""
        parts = self._parts
        while True:
            yield from compaction.if_due(parts)
            answer = yield from self._request()
            if answer is None:
                parts.transcript.entry(records.turn_duration(self._milliseconds(), parts.transcript.count))
                self._brewed()
                return False
            yield from self._stream(answer)
            parts.model.accept(answer)
            if answer.tools:
                yield from self._use_tools(answer)
                self._stopping.tool_used()
            elif answer.stop_reason == "max_tokens":
                parts.model.ask(GO_ON)
                parts.transcript.entry(records.feedback(parts.session.prompt_id, GO_ON))
            elif not (yield from self._stopping.goes_on(answer.text)):
                return True
            self._phase = Phase.WAITING

    def _request(self) -> Steps[Answer | None]:
        parts = self._parts
        tries, compacted = 0, False
        while True:
            answer = parts.model.answer()
            yield from parts.loop.sleep(answer.delay_seconds)
            while answer.after and not os.path.exists(answer.after):
                yield from parts.loop.sleep(POLL_SECONDS)
            given = failure.scripted(parts)
            if given is not None:
                yield from failure.report(parts, given)
                return None
            if answer.hang_seconds and not answer.error:
                yield from parts.loop.sleep(answer.hang_seconds)
            elif not answer.error:
                return answer
            if failure.is_too_long(answer.error, answer.error_text) and not compacted:
                compacted = yield from compaction.by_itself(parts)
                parts.display.busy()
                if compacted:
                    continue
            if not failure.is_temporary(answer.error) or tries >= failure.retries(parts):
                yield from failure.report(parts, failure.describe(answer.error, answer.error_text))
                return None
            tries += 1
            seconds = parts.client.retry_seconds * 2 ** (tries - 1)
            told = f"Retrying in {seconds:.0f}s · attempt {tries}/{failure.retries(parts)}"
            parts.display.busy(headline=f"{answer.error or 'Connection error'} {answer.error_text} · {told}")
            yield from parts.loop.sleep(seconds)
            parts.display.busy()

    def _stream(self, answer: Answer) -> Steps[None]:
        parts = self._parts
        self._answer, self._arrived, self._phase = answer, "", Phase.STREAMING
        parts.display.settle()
        if not answer.text:
            return
        if answer.chunk_seconds:
            for start in range(0, len(answer.text), PIECE_CHARACTERS):
                self._arrived = answer.text[: start + PIECE_CHARACTERS]
                parts.display.stream(self._arrived)
                yield from parts.loop.sleep(answer.chunk_seconds)
        self._write_text(answer.text, answer.stop_reason)
        shown = {
            "turn_id": self._turn_id,
            "message_id": new_uuid(),
            "index": 0,
            "final": True,
            "delta": answer.text,
        }
        parts.hooks.start("MessageDisplay", shown)

    def _write_text(self, text: str, stop_reason: str | None) -> None:
        if self._answer is None or not text:
            return
        content = {"type": "text", "text": text}
        model, answer = self._parts.session.model, self._answer
        self._parts.transcript.entry(records.assistant(answer.id, model, content, answer.usage, stop_reason))
        self._parts.display.unstream()
        self._parts.display.say(text)

    def _use_tools(self, answer: Answer) -> Steps[None]:
        parts = self._parts
        self._phase = Phase.TOOL
        for use in answer.tools:
            content = {"type": "tool_use", "id": use.id, "name": use.name, "input": use.input}
            record = records.assistant(answer.id, parts.session.model, content, answer.usage, answer.stop_reason)
            self._pending.append((use, parts.transcript.entry(record)))
        calls = []
        for use in answer.tools:
            result = yield from tooluse.run(parts, use)
            self._write_result(*self._pending.pop(0), result)
            calls.append(
                {
                    "tool_name": use.name,
                    "tool_input": use.input,
                    "tool_use_id": use.id,
                    "tool_response": result.text,
                }
            )
        yield from parts.hooks.fire("PostToolBatch", {"tool_calls": calls})
        self._absorb()

    def _write_result(self, use: ToolUse, assistant_uuid: str, result: Result) -> None:
        parts = self._parts
        parts.transcript.entry(
            records.tool_result(
                parts.session.prompt_id,
                use.id,
                result.text,
                is_error=result.is_error,
                result=result.response,
                assistant_uuid=assistant_uuid,
            )
        )
        parts.model.hear(result.text)

    def _absorb(self) -> None:
        """What was typed during the turn goes into it, now that there is a tool boundary."""
        parts = self._parts
        for waiting in parts.queue.absorb():
            parts.transcript.entry(records.absorbed(waiting.text, waiting.typed_at))
            parts.model.remind([f"The user sent a new message while you were working:\n{waiting.text}"])
            parts.display.show_prompt(waiting.text)
            parts.display.settle()

    def _interrupted(self, how: Interrupted) -> None:
        parts = self._parts
        if self._phase is Phase.EARLY and self._sending.take_back():
            return
        for use, assistant_uuid in self._pending:
            rejected = Result(records.REJECTION, REJECTED_RESULT, "", failed=True, is_error=True)
            self._write_result(use, assistant_uuid, rejected)
        in_tool = bool(self._pending)
        self._pending.clear()
        if self._phase is Phase.STREAMING:
            self._write_text(self._arrived, None)
        answering = self._phase in (Phase.STREAMING, Phase.TOOL) and not isinstance(how, Rejected)
        message_id = self._answer.id if self._answer is not None and answering else None
        prompt_id = parts.session.prompt_id
        parts.transcript.entry(records.interrupted(prompt_id, in_tool=in_tool, message_id=message_id))
        parts.display.say_result(INTERRUPTED)

    def _finish(self) -> None:
        self._parts.transcript.entry(records.turn_duration(self._milliseconds(), self._parts.transcript.count))
        self._brewed()

    def _brewed(self) -> None:
        running = len(self._parts.background.listing())
        still = f" · {running} shell{'s' if running > 1 else ''} still running" if running else ""
        text = f"Brewed for {int(self._milliseconds() / 1000)}s{still}"
        self._parts.display.say(text, glyph="✻", colour=246, text_colour=246)

    def _milliseconds(self) -> int:
        return round((time.monotonic() - self._started) * 1000)
