"""What the fake agent writes down has the recorded shapes."""

import json

from tests.fakeagent.bench import kind, text_of, until
from tests.fakeagent.shapes import measured, shape, sort_of


def context(event, text):
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def every_sort(start):
    """A client that has written a record of every sort."""
    it = start(says={"SessionStart": context("SessionStart", "session context")}).ready()
    it.hooks.says("UserPromptSubmit", context("UserPromptSubmit", "prompt context"))
    tools = f"STUB: bash=echo hi\nSTUB: write={it.project}/a.txt|x\nSTUB: bash=exit 3"
    it.turn(f"one\n{tools}\nSTUB: say=1")
    it.hooks.says("Stop", {"decision": "block", "reason": "R"})
    it.send("two\nSTUB: say=2")
    it.event("Stop", 3)
    it.idle()
    it.hooks.says("Stop", {"systemMessage": "M"})
    it.turn("three\nSTUB: say=3")
    it.idle()
    it.hooks.says("Stop", {"continue": False, "stopReason": "S"})
    it.turn("four\nSTUB: say=4")
    it.idle()
    it.hooks.says("UserPromptSubmit", {"decision": "block", "reason": "no"})
    it.send("five")
    it.pane.shows("Original prompt")
    it.send("six\nSTUB: error=400")
    it.event("StopFailure")
    it.idle()
    it.send("seven\nSTUB: bash=while [ ! -f go ]; do sleep 0.02; done\nSTUB: say=7")
    it.event("PreToolUse", 4)
    it.send("absorbed")
    (it.project / "go").touch()
    it.event("Stop", 6)
    it.send("eight\nSTUB: say=" + "word " * 60 + "\nSTUB: chunk=0.3")
    it.pane.shows("● word")
    it.pane.key("Escape")
    it.pane.shows("Interrupted")
    it.send("nine\nSTUB: bash=sleep 60")
    it.event("PreToolUse", 5)
    it.send("queued\nSTUB: say=10")
    it.pane.key("Escape")
    it.event("Stop", 7)
    it.idle()
    job = {"command": "true", "description": "bg", "run_in_background": True}
    it.turn(f"ten\nSTUB: tool=Bash {json.dumps(job)}\nSTUB: say=started")
    it.event("Stop", 9)
    it.send("/compact keep")
    it.event("PostCompact")
    it.pane.shows("Compacted")
    it.send("/compact again")
    it.pane.shows("Not enough messages")
    it.pane.signal()
    it.pane.exit_status()
    return it


def test_every_record_has_a_recorded_shape(fake):
    """Whatever the fake writes, the real client wrote a record with the same keys."""
    it = every_sort(fake)
    recorded = measured()

    records = it.transcript()
    for record in records:
        sort = sort_of(record)
        assert sort in recorded
        expected, inner = shape(recorded[sort])
        found, found_inner = shape(record)
        optional = {"lastPrompt"} if sort == "last-prompt" else set()
        assert expected == found - optional, sort
        assert inner == found_inner, sort
    assert 30 <= len({sort_of(record) for record in records})


def test_the_chain_has_no_gap(fake):
    """Every parent is a record above; only the first one and a compaction have none."""
    it = every_sort(fake)

    seen, orphans = set(), []
    for record in it.transcript():
        if "uuid" not in record:
            continue
        if record["parentUuid"] is None:
            orphans.append(kind(record))
        else:
            assert record["parentUuid"] in seen
        seen.add(record["uuid"])
    assert 2 == len(orphans)
    assert "system:compact_boundary" == orphans[1]


def test_an_answer_with_two_tools_is_two_records_with_one_usage(fake):
    """Readers must deduplicate by message id before they add up."""
    it = fake().ready()
    it.turn("two\nSTUB: bash=echo a\nSTUB: bash+=echo b\nSTUB: usage=7000\nSTUB: say=x")
    it.record(lambda record: kind(record) == "system:turn_duration")

    answers = [record["message"] for record in it.transcript() if record["type"] == "assistant"]
    assert answers[0]["id"] == answers[1]["id"] != answers[2]["id"]
    assert answers[0]["usage"] == answers[1]["usage"]
    batch = it.hooks.events("PostToolBatch")
    assert [["echo a", "echo b"]] == [[call["tool_input"]["command"] for call in each["tool_calls"]] for each in batch]


def test_a_prompt_taken_back_stays_in_the_file(fake):
    """An early Escape leaves the user record and what hooks injected; the next prompt hangs below it."""
    it = fake().ready()
    it.hooks.says("UserPromptSubmit", context("UserPromptSubmit", "injected"))
    it.send("early\nSTUB: delay=30")
    it.record(lambda record: kind(record) == "attachment:hook_additional_context")
    it.pane.key("Escape")
    until(lambda: it.composer() == "early\nSTUB: delay=30", it.pane.capture)
    it.pane.key("C-c")
    it.turn("later\nSTUB: say=x")

    later = it.record(lambda record: record["type"] == "user" and text_of(record).startswith("later"))
    parent = it.record(lambda record: record.get("uuid") == later["parentUuid"])
    assert ["injected"] == parent["attachment"]["content"]


def test_the_file_is_only_ever_appended_to(fake):
    """What was once in the file stays there byte for byte, also through a compaction."""
    it = fake().ready()
    it.turn("one\nSTUB: say=1")
    it.turn("two\nSTUB: say=2")
    it.record(lambda record: record["type"] == "user" and text_of(record).startswith("two"))
    before = it.transcript_path().read_bytes()
    it.send("/compact")
    it.event("PostCompact")
    it.turn("three\nSTUB: say=3")

    assert it.transcript_path().read_bytes().startswith(before)
