"""What an engine's own log says was said, and by whom."""

import json

import pytest

from fleet.formats import transcript


@pytest.fixture
def log(tmp_path):
    """Writes a log of these lines and returns its path."""

    def write(*lines):
        path = tmp_path / "log.jsonl"
        path.write_bytes(b"".join(json.dumps(line).encode() + b"\n" for line in lines))
        return str(path)

    return write


def kinds(engine, path):
    """What was said, oldest first; the marks that end turns have a test of their own."""
    return [said.kind for said in transcript.backwards(engine, path) if said.kind != "ended"][::-1]


def texts(engine, path, kind):
    return [said.text for said in transcript.backwards(engine, path) if said.kind == kind][::-1]


def user(content, **more):
    return {"type": "user", "message": {"role": "user", "content": content}, **more}


def test_a_real_transcript_with_tools_is_read_in_its_order(real):
    """Prompts, tool calls, results and answers, as the file has them (its first answer stands before its prompt)."""
    expected = [
        "assistant", "prompt", "prompt", "tool", "result", "tool", "result", "assistant", "prompt", "tool", "result",
        "assistant",
    ]  # fmt: skip
    path = real("transcript-multiturn.jsonl")
    assert expected == kinds("claude-code", path)
    assert ["answer one", "answer two", "answer three"] == texts("claude-code", path, "assistant")


def test_a_real_interrupt_is_an_interrupt_and_a_real_error_no_answer(real):
    """The mark that Esc leaves is told from a prompt; the client's own report of an API error is not the model's."""
    expected = ["assistant", "prompt", "prompt", "tool", "result", "interrupt", "prompt", "prompt", "assistant"]
    assert expected == kinds("claude-code", real("transcript-interrupted-and-error.jsonl"))


@pytest.mark.parametrize(
    ("engine", "name", "count"), [("claude-code", "transcript-multiturn.jsonl", 3), ("codex", "codex-rollout.jsonl", 4)]
)
def test_the_end_of_a_turn_stands_in_the_log(real, engine, name, count):
    """Each turn that came to its end left a mark with its time; an interrupted one did not."""
    ends = [said for said in transcript.backwards(engine, real(name)) if said.kind == "ended"]

    assert count == len(ends)
    assert all(said.at.startswith("2026-11-30T1") for said in ends)


def test_a_codex_turn_that_failed_says_so(log):
    """task_complete with an error is all that Codex leaves of an API error: no hook fires."""
    complete = {"type": "task_complete", "turn_id": "t1", "error": {"message": "boom"}}
    line = {"timestamp": "2026-11-30T13:00:00.000Z", "type": "event_msg", "payload": complete}
    (said,) = transcript.codex(log(line))

    assert ("failed", "boom", "t1", "2026-11-30T13:00:00.000Z") == (said.kind, said.text, said.turn_id, said.at)


def test_a_prompt_carries_its_id(real):
    """Claude Code's prompt_id, as its hooks report it."""
    said = next(s for s in transcript.claude(real("transcript-multiturn.jsonl")) if s.kind == "prompt")
    assert "77058f6b" == said.turn_id[:8]


def test_subagents_do_not_speak_in_the_main_log(real, log):
    """Neither in a file of their own nor, as older versions wrote it, in ours."""
    assert ["prompt", "tool", "tool", "result", "result", "assistant"] == kinds(
        "claude-code", real("transcript-subagents.jsonl")
    )
    assert ["prompt"] == kinds("claude-code", log(user("go"), user("sub", isSidechain=True)))


def test_what_a_hook_put_in_is_told_from_what_was_typed(log):
    """Injected context, the feedback of a blocked Stop, a prompt, an interrupt: four different things."""
    attachment = {"type": "hook_additional_context", "content": ["[OPERATOR] hi", "more"]}
    path = log(
        user("go"),
        {"type": "attachment", "attachment": attachment},
        {"type": "attachment", "attachment": {"type": "skill_listing", "content": "skills"}},
        user("Stop hook feedback:\n[OPERATOR] ho"),
        user([{"type": "text", "text": "[Request interrupted by user]"}]),
        user("[Request interrupted by user for tool use]"),
        user([{"type": "tool_result", "content": [{"type": "text", "text": "out"}]}, {"type": "text", "text": "note"}]),
    )
    assert ["prompt", "injected", "feedback", "interrupt", "interrupt", "result"] == kinds("claude-code", path)
    assert ["[OPERATOR] hi\nmore"] == texts("claude-code", path, "injected")


def test_the_parts_of_one_answer_keep_their_order(log):
    """Text, text, call: as spoken."""
    parts = [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}, {"type": "tool_use", "name": "Bash"}]
    path = log({"type": "assistant", "message": {"model": "m", "content": parts}})
    assert ["assistant", "assistant", "tool"] == kinds("claude-code", path)
    assert ["a", "b"] == texts("claude-code", path, "assistant")


def test_a_command_of_the_clients_own_is_no_prompt(real, log):
    """/compact and what it printed are no turn of the model."""
    expected = ["prompt", "assistant", "prompt", "assistant", "prompt", *["command"] * 3, "prompt", "assistant"]
    assert expected == kinds("claude-code", real("transcript-after-compact.jsonl"))
    said = {"type": "system", "subtype": "local_command", "content": "<local-command-stdout>x</local-command-stdout>"}
    assert ["command"] == kinds("claude-code", log(said))


def test_a_real_rollout_of_codex_is_read_in_its_order(real):
    """Injected instructions, prompts, tools, answers, the prompt of a blocked Stop, an interrupt with its explanation."""
    expected = [
        "injected", "injected", "prompt", "tool", "result", "assistant",  # a turn with a tool
        "prompt", "assistant", "feedback", "assistant",  # its Stop was blocked
        "prompt", "interrupt", "interrupt",  # Esc
        "prompt", "tool", "result", "prompt", "assistant",  # one that was queued meanwhile
        "assistant",  # the summary of a compaction
    ]  # fmt: skip
    assert expected == kinds("codex", real("codex-rollout.jsonl"))


def test_what_a_codex_turn_said_carries_its_turn_id(real):
    """As its hooks report it."""
    turns = {said.turn_id for said in transcript.codex(real("codex-rollout.jsonl")) if said.kind == "feedback"}
    assert {"01a22c39-0a92-7692-a6ba-593b0b83c217"} == turns


@pytest.mark.parametrize("engine", ["claude-code", "codex", "fake"])
def test_lines_of_strange_shapes_are_passed_over(log, engine):
    """A field of another type than expected is not the end of reading."""
    strange = [
        None, 1, "user", [], {"type": "user"}, {"type": "user", "message": 7}, user(None), user([None, 7, [[]]]),
        {"type": "assistant", "message": {"content": {"type": "text"}}}, {"type": "attachment", "attachment": []},
        {"type": "attachment", "attachment": {"type": 7, "content": 7}}, {"payload": 7},
        {"type": "response_item", "payload": {"type": "message", "content": 7, "role": []}},
        {"type": "response_item", "payload": {"type": 7}}, {"type": "event_msg", "payload": {"type": "turn_aborted"}},
        {"type": "assistant", "message": {"content": [{"type": "text"}, {"type": "tool_use"}, 7]}},
    ]  # fmt: skip
    kinds(engine, log(*strange))


def test_an_engine_whose_log_is_not_read_has_said_nothing(real):
    """Nor has one without a path."""
    assert [] == kinds("gemini", real("transcript-multiturn.jsonl"))
    assert [] == kinds("claude-code", None)
    assert [] == kinds("claude-code", "")


def calls(engine, path):
    """(tool, whether it failed) of every call whose end the log has, oldest first."""
    ends, found = {}, []
    for said in transcript.backwards(engine, path):
        if said.kind == "result":
            ends[said.call_id] = said.failed
        elif said.kind == "tool" and said.call_id in ends:
            found.append((said.text.partition(" ")[0], ends[said.call_id]))
    return found[::-1]


def test_a_result_belongs_to_its_call_and_says_whether_it_failed(real):
    """In real logs: `false` by Bash failed and all else passed; what a person refused did not fail."""
    multi = calls("claude-code", real("transcript-multiturn.jsonl"))
    refused = calls("claude-code", real("transcript-interrupted-and-error.jsonl"))

    assert ("Bash", True) == multi[-1]
    assert [False, False] == [failed for _, failed in multi[:-1]]
    assert [None] == [failed for _, failed in refused]
    assert {("exec_command", False)} == set(calls("codex", real("codex-rollout.jsonl")))


@pytest.mark.parametrize(
    ("output", "failed"),
    [
        ("Wall time: 0.1 seconds\nProcess exited with code 2\nOutput:\nProcess exited with code 0\n", True),
        ("Process exited with code 0\nOutput:\nProcess exited with code 1\n", False),
        ("Process running with session ID 4\nOutput:\n", None),
        ("", None),
    ],
)
def test_codex_says_it_in_words_above_the_output(log, output, failed):
    """What a command printed itself is no verdict on it."""
    path = log({"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c", "output": output}})

    assert [failed] == [said.failed for said in transcript.backwards("codex", path)]


def test_a_real_gemini_log(real):
    """Prompts, answers, tool calls and interrupts; tool results and the client's own context are no prompts."""
    said = list(transcript.backwards("gemini", real("gemini-session.jsonl")))

    kinds = [one.kind for one in reversed(said)]
    assert {"prompt", "assistant", "tool", "result"} <= set(kinds)
    assert "prompt" == kinds[0]
    assert not any(one.text.startswith("<session_context>") for one in said)


@pytest.mark.parametrize(
    ("line", "kinds"),
    [
        ({"type": "info", "content": "Request cancelled."}, ["interrupt"]),
        ({"type": "info", "content": "Update available"}, []),
        ({"type": "error", "content": "[API Error: overloaded]"}, ["failed"]),
        ({"type": "user", "content": [{"functionResponse": {}}]}, ["result"]),
        (
            {"type": "user", "content": [{"text": "wake"}, {"text": "<hook_context>body</hook_context>"}]},
            ["injected", "prompt"],
        ),
    ],
)
def test_a_line_of_a_gemini_log(tmp_path, line, kinds):
    """Newest first: what a hook added comes after the prompt that it was added to."""
    log = tmp_path / "log.jsonl"
    log.write_text(json.dumps({"id": "1", **line}) + "\n")

    assert kinds == [one.kind for one in transcript.backwards("gemini", str(log))]


def test_what_our_plugin_writes_for_opencode(tmp_path):
    """One thing said a line; a kind that nobody knows is nothing said."""
    log = tmp_path / "log.jsonl"
    lines = [{"kind": "prompt", "text": "x", "turn_id": "m"}, {"kind": "later", "text": "y"}, {"kind": "ended"}]
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))

    assert [("ended", None), ("prompt", "m")] == [
        (one.kind, one.turn_id) for one in transcript.backwards("opencode", str(log))
    ]
