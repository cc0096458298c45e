"""One agent with a record, a log and a configuration, whose hooks run as its engine would run them.

The engine is the test process: the record's pid is ours, so that the hook's parent is the recorded engine.
"""

import json
import os
import subprocess
import sys

import pytest

from fleet.formats import handoff_doc, messages, queue_entry

HOOK = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "hooks", "on_event.py")
ID = "a1b2c3d4"
WINDOW = 200_000


class Outcome:
    """What a hook's process left for its engine."""

    def __init__(self, done):
        self.status = done.returncode
        self.stdout = done.stdout.decode()
        self.stderr = done.stderr.decode()

    @property
    def answer(self):
        """The one JSON object on one line that the hook printed, or None for silence."""
        if not self.stdout:
            return None
        assert 1 == len(self.stdout.splitlines())
        assert self.stdout.endswith("\n")
        return json.loads(self.stdout)

    @property
    def block(self):
        """The text with which the end of the turn was blocked, or None."""
        if self.answer is None:
            return None
        assert {"decision": "block", "reason": self.answer["reason"]} == self.answer
        return self.answer["reason"]

    @property
    def context(self):
        """The text that goes with the prompt, or None."""
        if self.answer is None:
            return None
        inner = self.answer["hookSpecificOutput"]
        assert {"hookSpecificOutput": inner} == self.answer
        assert {"hookEventName": "UserPromptSubmit", "additionalContext": inner["additionalContext"]} == inner
        return inner["additionalContext"]


class Agent:
    """An agent as its hooks see it."""

    def __init__(self, layout, folder, record):
        self.layout = layout
        self.folder = folder
        self.log = str(folder / "transcript.jsonl")
        self.config = {"windows": {"claude-sonnet-4-5": WINDOW}}
        self.set_record(**record)

    # what the engine does

    def hook(self, event, payload=None, *, engine="claude-code", argv=None, raw=None, env=None, **more):
        """Run the real hook for *event*; it must end with 0 and say nothing on stderr."""
        base = {"session_id": "s1", "transcript_path": self.log, "cwd": "/home/dev/project", "prompt_id": "p1"}
        data = {**base, "hook_event_name": event, **more} if payload is None else payload
        with open(self.layout.hook_config, "w", encoding="utf-8") as f:
            json.dump(self.config, f)
        done = subprocess.run(
            argv or [sys.executable, "-I", "-S", HOOK, engine, event],
            input=json.dumps(data).encode() if raw is None else raw,
            env=self.env() if env is None else env,
            capture_output=True,
            cwd=self.folder,
        )
        outcome = Outcome(done)
        assert (0, "") == (outcome.status, outcome.stderr)
        return outcome

    def env(self):
        """The environment that fleet gives an engine and an engine gives its hooks."""
        return {
            "PATH": "/usr/bin:/bin",
            "FLEET_AGENT_ID": ID,
            "FLEET_HOME": self.layout.home,
            "FLEET_HOOK_CONFIG": self.layout.hook_config,
        }

    def prompt(self, text="do it", prompt_id="p1", **more):
        """A prompt is submitted; written to the log after the hook, as the client does."""
        outcome = self.hook("UserPromptSubmit", prompt=text, prompt_id=prompt_id, **more)
        self.write({"type": "user", "promptId": prompt_id, "message": {"role": "user", "content": text}})
        if outcome.answer:
            inner = {"type": "hook_additional_context", "content": [outcome.context]}
            self.write({"type": "attachment", "attachment": inner})
        return outcome

    def stop(self, text="done", tokens=1000, prompt_id="p1", model="claude-sonnet-4-5", **more):
        """The model ends its turn with *text* in a context of *tokens*; a block is written to the log as feedback."""
        self.say(text, tokens, model)
        outcome = self.hook("Stop", last_assistant_message=text, prompt_id=prompt_id, **more)
        if outcome.answer:
            self.write(
                {"type": "user", "message": {"role": "user", "content": "Stop hook feedback:\n" + outcome.block}}
            )
        return outcome

    def say(self, text, tokens=1000, model="claude-sonnet-4-5"):
        """The model says *text*."""
        used = {"input_tokens": 0, "cache_read_input_tokens": tokens, "cache_creation_input_tokens": 0}
        content = [{"type": "text", "text": text}]
        self.write({"type": "assistant", "message": {"model": model, "usage": used, "content": content}})

    def use_a_tool(self):
        """The model calls a tool and gets its result."""
        call = {"type": "tool_use", "id": "t1", "name": "Bash", "input": {"command": "true"}}
        self.write({"type": "assistant", "message": {"model": "claude-sonnet-4-5", "content": [call]}})
        self.write(
            {"type": "user", "message": {"content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}}
        )

    def write(self, line):
        """Append a line to the client's log."""
        with open(self.log, "a", encoding="utf-8") as f:
            f.write(json.dumps(line, separators=(",", ":")) + "\n")

    # what others do

    def set_record(self, **fields):
        """Change the record behind the hook's back, as fleet's other programs do."""
        path = self.layout.record(ID)
        data = {**(self.record() if os.path.exists(path) else {}), **fields}
        with open(path, "w", encoding="utf-8") as f:
            json.dump(data, f, indent=1)

    def send(self, body, number=1):
        """Spool an operator's message."""
        return messages.spool(self.layout, ID, f"{number:016x}", body, 1_796_043_600.0)

    # what is left on disk

    def record(self):
        """The record as it stands, in its order."""
        with open(self.layout.record(ID), encoding="utf-8") as f:
            return json.load(f)

    def events(self):
        """The event lines, oldest first."""
        try:
            with open(self.layout.event_log(ID), encoding="utf-8") as f:
                return [json.loads(line) for line in f]
        except FileNotFoundError:
            return []

    def entry(self):
        """The queue entry, or None."""
        try:
            return queue_entry.read(self.layout.entry(ID))
        except FileNotFoundError:
            return None

    def documents(self):
        """The handoff documents' headers and bodies."""
        found = []
        for name in sorted(os.listdir(self.layout.handoffs)):
            with open(os.path.join(self.layout.handoffs, name), encoding="utf-8") as f:
                found.append(handoff_doc.parse(f.read()))
        return found

    def spool(self):
        """Body and state of the messages that wait."""
        return [(message.body, str(message.state)) for message in messages.pending(self.layout, ID)]

    def filed(self):
        """Body and state of the messages that were filed away."""
        folder = os.path.join(self.layout.inbox_archive, ID)
        found = [messages.read(os.path.join(folder, name)) for name in messages.names(folder)]
        return [(message.body, str(message.state)) for message in found]

    def errors(self):
        """What the hook could not do."""
        try:
            with open(os.path.join(self.layout.logs, "hook-errors.log"), encoding="utf-8") as f:
                return f.read()
        except FileNotFoundError:
            return ""


@pytest.fixture
def agent(layout, tmp_path, agent_record):
    """An agent in execute mode with an empty log and a window of 200,000 tokens."""
    return Agent(layout, tmp_path, agent_record(pid=os.getpid(), context_pct=None, context_source=None))
