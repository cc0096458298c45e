"""
Prompts on their way to the model.

What has waited during a turn is sent together: UserPromptSubmit fires once for each prompt, each with an
id of its own, but one turn answers them, and all their records and its Stop carry the id of the last one.

An Escape before the first token takes everything back into the composer, if that is still empty. A record
that was written by then stays in the file, alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.fakeagent import records

if TYPE_CHECKING:
    from fleet.fakeagent.clockwork import Steps
    from fleet.fakeagent.hooks import Fired
    from fleet.fakeagent.parts import Parts
    from fleet.fakeagent.waiting import Waiting


class Sending:
    """The prompts of one turn."""

    def __init__(self, parts: Parts, prompts: list[Waiting]) -> None:
        self._parts = parts
        self._prompts = prompts
        self._mark = parts.model.mark()
        self._recorded = False
        for prompt in prompts:
            parts.display.show_prompt(prompt.text)

    def run(self) -> Steps[bool]:
        """Report the prompts to the hooks and record them; whether anything is left to answer."""
        parts = self._parts
        accepted: list[tuple[Waiting, Fired]] = []
        for prompt in self._prompts:
            parts.session.new_prompt()
            fired = yield from parts.hooks.fire("UserPromptSubmit", {"prompt": prompt.text})
            if fired.block is None and fired.stop_reason is None:
                accepted.append((prompt, fired))
            else:
                self._refuse(prompt, fired)
        for prompt, _ in accepted:
            self._record(prompt)
        for prompt, fired in accepted:
            parts.model.ask(prompt.text)
            parts.heed(fired)
        return bool(accepted)

    def take_back(self) -> bool:
        """Undo the sending, as an early Escape does; False when it must be an interrupt instead."""
        composer = self._parts.display.composer
        if not all(prompt.human for prompt in self._prompts) or (self._recorded and composer.shown):
            return False
        self._parts.model.take_back(self._mark)
        self._parts.display.take_back_prompt()
        composer.put_back("\n".join(prompt.text for prompt in self._prompts))
        return True

    def _refuse(self, prompt: Waiting, fired: Fired) -> None:
        reason = fired.block.block_text if fired.block is not None else fired.stop_reason
        text = f"UserPromptSubmit operation blocked by hook:\n{reason}\n\nOriginal prompt: {prompt.text}"
        self._parts.display.take_back_prompt()
        self._parts.display.say(text, colour=220, text_colour=220)
        self._parts.transcript.entry(records.remark(text, prevents=True))
        for other in self._prompts:
            if other is not prompt:
                self._parts.display.show_prompt(other.text)

    def _record(self, prompt: Waiting) -> None:
        session, transcript = self._parts.session, self._parts.transcript
        mode, prompt_id = session.permission_mode, session.prompt_id
        uuid = transcript.entry(records.prompt(prompt_id, prompt.text, mode, human=prompt.human))
        transcript.snapshot(uuid)
        transcript.last_prompt = prompt.text
        self._recorded = True
        if transcript.title is None:
            transcript.title = self._parts.display.title = self._parts.client.title
            transcript.note({"type": "ai-title", "aiTitle": transcript.title})
