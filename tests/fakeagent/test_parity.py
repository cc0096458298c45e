"""The fake agent and Claude Code 2.1.197 behave alike: every test here is put to both."""

import json
import os
import signal

from tests.fakeagent.bench import SGR, alive, fixture, kind, text_of, until


def block(reason):
    return {"decision": "block", "reason": reason}


def context(event, text):
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def check_keys(client, name, *recorded):
    """Every payload of the event has the keys of one of the recorded ones."""
    shapes = [set(fixture(each)) for each in recorded]
    payloads = client.hooks.events(name)
    assert payloads
    for payload in payloads:
        assert set(payload) in shapes


def test_a_plain_turn_fires_prompt_and_stop(client):
    """A turn without tools is UserPromptSubmit and Stop, with the recorded payloads and one prompt id."""
    it = client().ready()
    it.turn("hello there\nSTUB: say=plain answer\nSTUB: usage=50000")
    it.event("MessageDisplay")

    assert ["SessionStart", "UserPromptSubmit", "Stop"] == it.hooks.names()
    prompt, stop = it.hooks.events("UserPromptSubmit")[0], it.hooks.events("Stop")[0]
    assert "hello there\nSTUB: say=plain answer\nSTUB: usage=50000" == prompt["prompt"]
    assert "plain answer" == stop["last_assistant_message"]
    assert prompt["prompt_id"] == stop["prompt_id"]
    check_keys(it, "SessionStart", "SessionStart-startup")
    check_keys(it, "UserPromptSubmit", "UserPromptSubmit-plain")
    check_keys(it, "Stop", "Stop-plain")
    check_keys(it, "MessageDisplay", "MessageDisplay-plain")
    it.pane.shows("● plain answer")


def test_the_transcript_carries_the_usage(client):
    """The last assistant record says how full the context is, split into its three parts."""
    it = client().ready()
    it.turn("count\nSTUB: usage=50000\nSTUB: cache_read=30000\nSTUB: cache_create=5000\nSTUB: output=7")

    usage = it.record(lambda record: record["type"] == "assistant")["message"]["usage"]
    assert (15000, 30000, 5000, 7) == (
        usage["input_tokens"],
        usage["cache_read_input_tokens"],
        usage["cache_creation_input_tokens"],
        usage["output_tokens"],
    )


def test_there_is_no_transcript_before_the_first_prompt(client):
    """SessionStart names a file that does not exist yet."""
    it = client().ready()
    path = it.transcript_path()

    assert not path.exists()
    it.turn("first\nSTUB: say=x")
    until(path.exists, "the transcript")


def test_the_transcript_lags_behind_the_hooks(client):
    """When Stop fires, the answer need not be in the file yet: who reads usage there reads the last but one."""
    it = client().ready()
    path = it.transcript_path()
    it.hooks.said("Stop", f'cp "{path}" copy; mv copy at-stop.jsonl\n', always=True)
    copy = it.hooks.folder / "at-stop.jsonl"

    def lags(number):
        it.turn(f"turn {number}\nSTUB: bash=echo before-{number}; sleep 0.3\nSTUB: say=answer-{number}")
        it.record(lambda record: record["type"] == "assistant" and text_of(record) == f"answer-{number}")
        until(copy.exists, "the copy")
        at_stop = copy.read_text()
        copy.unlink()
        assert f"echo before-{number}" in at_stop
        return f'"text":"answer-{number}"' not in at_stop

    assert any(lags(number) for number in range(10))  # up to 150 ms: a hook that is slow to start may be too late


def test_a_tool_turn_fires_around_the_tool(client):
    """Pre, Post and Batch fire between the prompt and Stop, and the tool really ran."""
    it = client().ready()
    it.turn("use a tool\nSTUB: bash=echo hi-from-tool > made.txt; cat made.txt\nSTUB: say=done")

    between = ["PreToolUse", "PostToolUse", "PostToolBatch"]
    assert ["SessionStart", "UserPromptSubmit", *between, "Stop"] == it.hooks.names()
    assert "hi-from-tool\n" == (it.project / "made.txt").read_text()
    for name in between:
        check_keys(it, name, f"{name}-tool")
    response = it.hooks.events("PostToolUse")[0]["tool_response"]
    assert set(fixture("PostToolUse-tool")["tool_response"]) == set(response)
    assert "hi-from-tool" == response["stdout"]


def test_a_tool_that_fails_fires_failure(client):
    """An exit status other than 0 fires PostToolUseFailure in the place of PostToolUse."""
    it = client().ready()
    it.turn("fail\nSTUB: bash=echo oops >&2; exit 3\nSTUB: say=done")

    assert ["PreToolUse", "PostToolUseFailure", "PostToolBatch", "Stop"] == it.hooks.names()[2:]
    check_keys(it, "PostToolUseFailure", "PostToolUseFailure-toolfail")
    assert "Exit code 3\noops" == it.hooks.events("PostToolUseFailure")[0]["error"]


def test_writing_over_an_unseen_file_fires_only_the_batch(client):
    """A tool that is used wrongly fires neither Pre nor Failure."""
    it = client()
    (it.project / "w.txt").write_text("old")
    it.ready()
    it.turn(f"write\nSTUB: write={it.project}/w.txt|new\nSTUB: say=done")

    assert ["UserPromptSubmit", "PostToolBatch", "Stop"] == it.hooks.names()[1:]
    assert "old" == (it.project / "w.txt").read_text()


def test_a_stop_block_becomes_the_next_user_message(client):
    """The reason of a block is fed back exactly, and the next Stop says that a hook is active."""
    it = client().ready()
    it.hooks.says("Stop", block("REASON\nof two lines\nSTUB: say=kept going"))
    it.send("start\nSTUB: say=stopping now")
    it.event("Stop", 2)

    stops = it.hooks.events("Stop")
    assert [False, True] == [stop["stop_hook_active"] for stop in stops]
    assert ["stopping now", "kept going"] == [stop["last_assistant_message"] for stop in stops]
    assert stops[0]["prompt_id"] == stops[1]["prompt_id"]
    check_keys(it, "Stop", "Stop-stopblock")
    feedback = it.record(lambda record: record["type"] == "user" and record.get("isMeta"))
    assert "Stop hook feedback:\nREASON\nof two lines\nSTUB: say=kept going" == feedback["message"]["content"]
    it.pane.shows("Stop hook error: REASON")


def test_a_stop_block_by_status_names_the_command(client):
    """Exit status 2 blocks as well; standard error arrives behind the command in brackets."""
    it = client().ready()
    it.hooks.said("Stop", "echo go on >&2; exit 2\n")
    it.send("start\nSTUB: say=x")
    it.event("Stop", 2)

    feedback = it.record(lambda record: record["type"] == "user" and record.get("isMeta"))
    assert f"Stop hook feedback:\n[{it.hooks.command} Stop]: go on\n" == feedback["message"]["content"]


def test_a_block_with_a_raw_newline_blocks_nothing(client):
    """Broken JSON is plain text, and plain text of a Stop hook is ignored."""
    it = client().ready()
    it.hooks.says("Stop", '{"decision":"block","reason":"a\nb"}')
    it.turn("start\nSTUB: say=x")
    it.idle()

    assert 1 == len(it.hooks.events("Stop"))


def test_the_client_gives_up_on_hooks_that_always_block(client):
    """The cap is the number of blocks that are accepted in a row; one Stop more is the last."""
    it = client(env={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "3"}).ready()
    it.hooks.says("Stop", block("again"), always=True)
    it.send("start\nSTUB: say=x")
    it.pane.shows("A hook blocked the turn from ending 4 consecutive times")
    it.idle()

    assert 4 == len(it.hooks.events("Stop"))


def test_a_slow_stop_hook_is_killed_and_the_turn_ends(client):
    """A hook gets its timeout and not more; no answer is no block."""
    it = client(timeouts={"Stop": 1}).ready()
    it.hooks.said("Stop", "sleep 60\n")
    it.turn("start\nSTUB: say=x")
    it.pane.shows("running stop hook")
    it.idle()

    assert 1 == len(it.hooks.events("Stop"))
    cancelled = it.record(lambda record: kind(record) == "attachment:hook_cancelled")["attachment"]
    assert (True, 1000) == (cancelled["timedOut"], cancelled["timeoutMs"])


def test_context_for_a_prompt_is_attached_to_it(client):
    """additionalContext of UserPromptSubmit hangs below the prompt and before the answer. Not in a conversation's first
    turn: there the answer may be logged before its prompt (2.1.197)."""
    it = client().ready()
    it.turn("first\nSTUB: say=y")
    until(lambda: "assistant" in it.kinds(), it.kinds)
    before = len(it.transcript())
    it.hooks.says("UserPromptSubmit", context("UserPromptSubmit", "the context"))
    it.turn("hello\nSTUB: say=x")

    attached = it.record(lambda record: kind(record) == "attachment:hook_additional_context")
    assert ["the context"] == attached["attachment"]["content"]
    until(lambda: "assistant" in it.kinds()[before:], it.kinds)
    kinds = it.kinds()[before:]
    assert kinds.index("user") < kinds.index("attachment:hook_additional_context") < kinds.index("assistant")


def test_ten_thousand_characters_of_context_are_the_limit(client):
    """One character more becomes a file with a preview."""
    it = client().ready()
    it.hooks.says("UserPromptSubmit", context("UserPromptSubmit", "x" * 10_000))
    it.turn("whole\nSTUB: say=x")
    it.hooks.says("UserPromptSubmit", context("UserPromptSubmit", "y" * 10_001))
    it.turn("cut\nSTUB: say=x")

    def contexts():
        records = [record["attachment"] for record in it.transcript() if "hook_add" in kind(record)]
        return [record["content"][0] for record in records]

    until(lambda: len(contexts()) == 2, "both contexts")
    attached = contexts()
    assert "x" * 10_000 == attached[0]
    assert attached[1].startswith("<persisted-output>\nOutput too large (9.8KB). Full output saved to: /")
    assert attached[1].endswith("\n...\n</persisted-output>")
    saved = attached[1].split("saved to: ")[1].split("\n")[0]
    with open(saved) as file:
        assert "y" * 10_001 == file.read()


def test_plain_output_for_a_prompt_is_attached_too(client):
    """What a UserPromptSubmit hook prints without JSON reaches the model as well."""
    it = client().ready()
    it.hooks.says("UserPromptSubmit", "plain words")
    it.turn("hello\nSTUB: say=x")

    attached = it.record(lambda record: kind(record) == "attachment:hook_success")["attachment"]
    assert "plain words" == attached["content"].strip()
    assert "UserPromptSubmit" == attached["hookName"]


def test_a_blocked_prompt_starts_no_turn(client):
    """A block of UserPromptSubmit leaves no user record and no Stop."""
    it = client().ready()
    it.hooks.says("UserPromptSubmit", block("not now"))
    it.send("blocked prompt")
    it.pane.shows("Original prompt: blocked prompt")
    it.idle()

    assert ["SessionStart", "UserPromptSubmit"] == it.hooks.names()
    assert [] == [record for record in it.transcript() if record["type"] == "user"]


def test_compact_by_hand_keeps_the_session(client):
    """/compact fires four events and neither prompt nor Stop; id and file stay."""
    it = client().ready()
    it.turn("one\nSTUB: say=1")
    it.turn("two\nSTUB: say=2\nSTUB: usage=90000")
    before = len(it.hooks.events())
    it.send("/compact keep the plan")
    it.event("PostCompact")
    it.idle()

    names = [name for name in it.hooks.names(before) if name not in ("MessageDisplay",)]
    assert ["PreCompact", "SubagentStop", "SessionStart", "PostCompact"] == names
    assert ("manual", "keep the plan") == tuple(
        it.hooks.events("PreCompact")[0][key] for key in ("trigger", "custom_instructions")
    )
    assert "" == it.hooks.events("SubagentStop")[0]["agent_type"]
    assert 1 == len({event["session_id"] for event in it.hooks.events()})
    check_keys(it, "PreCompact", "PreCompact-compact-manual")
    check_keys(it, "SubagentStop", "SubagentStop-compact-manual")
    check_keys(it, "SessionStart", "SessionStart-startup", "SessionStart-compact-manual")
    check_keys(it, "PostCompact", "PostCompact-compact-manual")
    boundary = it.record(lambda record: kind(record) == "system:compact_boundary")
    assert boundary["parentUuid"] is None
    assert "manual" == boundary["compactMetadata"]["trigger"]
    summary = it.record(lambda record: record.get("isCompactSummary"))
    assert boundary["uuid"] == summary["parentUuid"]


def test_precompact_can_block_a_compaction(client):
    """A block of PreCompact leaves the conversation as it is."""
    it = client().ready()
    it.turn("one\nSTUB: say=1")
    it.turn("two\nSTUB: say=2")
    it.hooks.says("PreCompact", block("no"))
    it.send("/compact")
    it.pane.shows("Compaction blocked by PreCompact hook")

    assert [] == it.hooks.events("PostCompact")


def test_there_must_be_something_to_compact(client):
    """After a single short exchange /compact fires PreCompact and does nothing."""
    it = client().ready()
    it.turn("one\nSTUB: say=1")
    it.send("/compact")
    it.pane.shows("Not enough messages to compact.")

    assert ["PreCompact"] == it.hooks.names()[3:]


def test_a_prompt_that_is_too_long_is_compacted_and_tried_again(client):
    """The reactive compaction happens inside the turn, between prompt and Stop."""
    it = client().ready()
    it.turn("one\nSTUB: say=1")
    it.turn("two\nSTUB: say=2")
    before = len(it.hooks.events())
    too_long = "STUB: error=400\nSTUB: errors=1\nSTUB: errmsg=prompt is too long: 210000 tokens > 200000 maximum"
    it.turn(f"three\n{too_long}\nSTUB: say=done")

    compaction = ["PreCompact", "SubagentStop", "SessionStart", "PostCompact"]
    assert ["UserPromptSubmit", *compaction, "Stop"] == it.hooks.names(before)
    assert "auto" == it.hooks.events("PreCompact")[0]["trigger"]
    assert it.hooks.events("PreCompact")[0]["custom_instructions"] is None


def test_clear_begins_another_session(client):
    """SessionEnd carries the old id, SessionStart a new one, and the file is a new one."""
    it = client().ready()
    it.turn("one\nSTUB: say=1")
    old = it.hooks.events()[0]["session_id"]
    it.send("/clear")
    it.event("SessionStart", 2)
    it.turn("two\nSTUB: say=2")

    assert ["SessionEnd", "SessionStart", "UserPromptSubmit", "Stop"] == it.hooks.names()[3:]
    end, start = it.hooks.events("SessionEnd")[0], it.hooks.events("SessionStart")[1]
    assert (old, "clear", "clear") == (end["session_id"], end["reason"], start["source"])
    assert old != start["session_id"]
    check_keys(it, "SessionEnd", "SessionEnd-clear")
    assert set(fixture("SessionStart-clear")) == set(start)
    it.record(lambda record: record["type"] == "user" and text_of(record) == "two\nSTUB: say=2")
    prompts = [text_of(record) for record in it.transcript() if record["type"] == "user"]
    assert not any(prompt.startswith("one") for prompt in prompts)


def test_escape_in_a_stream_fires_nothing(client):
    """Only the file and the screen tell that a stream was interrupted."""
    it = client().ready()
    it.send("stream\nSTUB: say=" + "word " * 60 + "\nSTUB: chunk=0.4")
    it.event("UserPromptSubmit")
    until(lambda: "tokens" in it.pane.capture() or "● word" in it.pane.capture(), "the stream on the screen")
    it.pane.key("Escape")
    it.pane.shows("Interrupted")
    it.idle()

    assert ["SessionStart", "UserPromptSubmit"] == it.hooks.names()
    last = it.record(lambda record: record["type"] == "user" and "Request" in text_of(record))
    assert "[Request interrupted by user]" == text_of(last)
    assert "" == it.composer()


def test_an_early_escape_takes_the_prompt_back(client):
    """Before the first token the prompt returns to the composer; no event, no interrupt record."""
    it = client().ready()
    it.send("early escape\nSTUB: delay=30")
    it.event("UserPromptSubmit")
    it.record(lambda record: record["type"] == "user", "the prompt")
    it.pane.key("Escape")
    until(lambda: it.composer() == "early escape\nSTUB: delay=30", lambda: it.pane.capture())
    it.idle()

    assert ["SessionStart", "UserPromptSubmit"] == it.hooks.names()
    assert not any("interrupted" in json.dumps(record) for record in it.transcript())


def test_escape_in_a_tool_fires_nothing_after_pre(client):
    """The tool is ended, its result says rejected, and no Post or Stop comes."""
    it = client().ready()
    it.send("tool\nSTUB: bash=echo $$ > pid.txt; sleep 60; true")
    pid_file = it.project / "pid.txt"
    pid = int(until(lambda: pid_file.exists() and pid_file.read_text(), "the tool"))
    it.pane.key("Escape")
    it.pane.shows("Interrupted")
    it.record(lambda record: record["type"] == "user" and "for tool use" in text_of(record))

    assert ["SessionStart", "UserPromptSubmit", "PreToolUse"] == it.hooks.names()
    until(lambda: not alive(pid), "the end of the tool")


def test_a_dialog_approves_what_is_typed_into_it(client):
    """A paste and Enter into an open permission dialog runs the tool, and the text is lost."""
    it = client(mode="default").ready()
    it.send("ask\nSTUB: bash=touch made.txt\nSTUB: say=done")
    it.event("PermissionRequest")
    it.pane.shows("Do you want to proceed?")
    it.pane.paste("a message for later")
    it.pane.key("Enter")
    it.event("Stop")

    assert (it.project / "made.txt").exists()
    assert "" == it.composer()
    names = ["PreToolUse", "PermissionRequest", "PostToolUse", "PostToolBatch", "Stop"]
    assert ["SessionStart", "UserPromptSubmit", *names] == it.hooks.names()
    check_keys(it, "PermissionRequest", "PermissionRequest-permission")
    check_keys(it, "PreToolUse", "PreToolUse-permission")


def test_the_dialog_stands_in_the_place_of_the_composer(client):
    """A reader of the screen sees numbered options, the first one chosen, and how to cancel; no composer."""
    it = client(mode="default").ready()
    it.send("ask\nSTUB: bash=touch made.txt\nSTUB: say=done")
    it.pane.shows("Esc to cancel")

    lines = [line.strip() for line in it.pane.capture().splitlines()]
    assert "❯ 1. Yes" in lines
    assert "3. No" in lines
    assert any(line.startswith("2. Yes, and") for line in lines)
    assert it.composer() is None
    assert it.pane.title().startswith("✳")


def test_escape_at_a_dialog_ends_the_turn_silently(client):
    """Nothing fires after PermissionRequest, and the tool does not run."""
    it = client(mode="default").ready()
    it.send("ask\nSTUB: bash=touch made.txt\nSTUB: say=done")
    it.pane.shows("Do you want to proceed?")
    it.event("PermissionRequest")
    it.pane.key("Escape")
    it.pane.shows("Interrupted")
    it.record(lambda record: record["type"] == "user" and "for tool use" in text_of(record))

    assert ["PreToolUse", "PermissionRequest"] == it.hooks.names()[2:]
    assert not (it.project / "made.txt").exists()


def test_a_hook_answers_the_dialog(client):
    """A PermissionRequest hook that allows needs no key."""
    it = client(mode="default").ready()
    allow = {"hookEventName": "PermissionRequest", "decision": {"behavior": "allow"}}
    it.hooks.says("PermissionRequest", {"hookSpecificOutput": allow})
    it.turn("ask\nSTUB: bash=touch made.txt\nSTUB: say=done")

    assert (it.project / "made.txt").exists()


def test_an_allowed_folder_needs_no_dialog(client, tmp_path_factory):
    """Allow rules with two slashes open a folder outside the working directory, for tools and redirections."""
    drafts = os.path.realpath(tmp_path_factory.mktemp("drafts"))
    allow = [f"Edit(/{drafts}/**)", f"Write(/{drafts}/**)"]
    it = client(mode="default", settings={"permissions": {"allow": allow}}).ready()
    it.turn(f"draft\nSTUB: write={drafts}/deep/a.md|text\nSTUB: bash=echo b > {drafts}/b.md\nSTUB: say=done")

    assert [] == it.hooks.events("PermissionRequest")
    with open(f"{drafts}/deep/a.md") as file:
        assert "text" == file.read()


def test_an_allowed_command_needs_no_dialog(client):
    """`Bash(touch:*)` allows touch and nothing that follows it."""
    it = client(mode="default", settings={"permissions": {"allow": ["Bash(touch:*)"]}}).ready()
    it.turn("one\nSTUB: bash=touch made.txt\nSTUB: say=done")
    assert [] == it.hooks.events("PermissionRequest")

    it.send("two\nSTUB: bash=touch other.txt && rm other.txt\nSTUB: say=done")
    it.event("PermissionRequest")


def test_a_bad_request_is_a_stop_failure(client):
    """HTTP 400 ends the turn with StopFailure in the place of Stop, at once."""
    it = client().ready()
    it.send("fail\nSTUB: error=400")
    failure = it.event("StopFailure")
    it.idle()

    assert ["SessionStart", "UserPromptSubmit", "StopFailure"] == it.hooks.names()
    assert ("unknown", "API Error: 400 stub error") == (failure["error"], failure["last_assistant_message"])
    check_keys(it, "StopFailure", "StopFailure-err400")
    synthetic = it.record(lambda record: record["type"] == "assistant")
    assert ("<synthetic>", True) == (synthetic["message"]["model"], synthetic["isApiErrorMessage"])


def test_an_overloaded_server_is_tried_again_first(client):
    """HTTP 529 is retried in silence; only then the turn fails."""
    it = client().ready()
    it.send("fail\nSTUB: error=529")
    it.pane.shows("Retrying in")
    assert ["SessionStart", "UserPromptSubmit"] == it.hooks.names()

    assert "server_error" == it.event("StopFailure")["error"]
    check_keys(it, "StopFailure", "StopFailure-err529")


def test_a_prompt_typed_during_a_turn_becomes_the_next_one(client):
    """Without another tool in the turn, the queued prompt gets a turn of its own."""
    it = client().ready()
    it.send(f"first\nSTUB: after={it.project / 'go'}\nSTUB: say=one")
    it.event("UserPromptSubmit")
    it.send("second\nSTUB: say=two")
    it.record(lambda record: kind(record) == "queue-operation:enqueue")
    (it.project / "go").touch()
    it.event("Stop", 2)

    assert ["UserPromptSubmit", "Stop"] * 2 == it.hooks.names()[1:]
    assert ["one", "two"] == [stop["last_assistant_message"] for stop in it.hooks.events("Stop")]
    it.record(lambda record: kind(record) == "queue-operation:dequeue")


def test_queued_prompts_share_one_turn(client):
    """Each fires UserPromptSubmit with an id of its own; all records and the one Stop carry the last id."""
    it = client().ready()
    it.send(f"first\nSTUB: after={it.project / 'go'}\nSTUB: say=one")
    it.event("UserPromptSubmit")
    it.send("second\nSTUB: say=two")
    it.send("third\nSTUB: say=three")
    until(lambda: it.kinds().count("queue-operation:enqueue") == 2, it.kinds)
    (it.project / "go").touch()
    it.event("Stop", 2)

    assert ["UserPromptSubmit", "Stop", "UserPromptSubmit", "UserPromptSubmit", "Stop"] == it.hooks.names()[1:]
    ids = [event["prompt_id"] for event in it.hooks.events("UserPromptSubmit")]
    assert 3 == len(set(ids))
    stop = it.hooks.events("Stop")[1]
    assert (ids[2], "three") == (stop["prompt_id"], stop["last_assistant_message"])
    second = it.record(lambda record: record["type"] == "user" and text_of(record).startswith("second"))
    assert ids[2] == second["promptId"]


def test_an_early_escape_does_not_touch_what_was_typed_since(client):
    """With something in the composer, it is an interrupt like any other."""
    it = client().ready()
    it.send("early escape\nSTUB: delay=30")
    it.record(lambda record: record["type"] == "user", "the prompt")
    it.write("typed since")
    it.pane.key("Escape")
    it.pane.shows("Interrupted")
    it.idle()

    assert "typed since" == it.composer()
    it.record(lambda record: record["type"] == "user" and text_of(record) == "[Request interrupted by user]")


def test_an_escape_while_a_prompt_is_reported_leaves_nothing(client):
    """As long as the UserPromptSubmit hook runs, there is not even a record."""
    it = client().ready()
    it.hooks.said("UserPromptSubmit", "sleep 60\n")
    it.send("in hook")
    it.event("UserPromptSubmit")
    it.pane.key("Escape")
    until(lambda: it.composer() == "in hook", lambda: it.pane.capture())
    it.idle()

    assert not any(record["type"] == "user" for record in it.transcript())


def test_an_escape_in_a_stop_hook_cancels_it(client):
    """Stop has fired; the records say that it was cancelled and the request interrupted."""
    it = client().ready()
    it.hooks.said("Stop", "sleep 60\n")
    it.turn("start\nSTUB: say=x")
    it.pane.shows("running stop hook")
    it.pane.key("Escape")
    it.pane.shows("Interrupted")

    cancelled = it.record(lambda record: kind(record) == "attachment:hook_cancelled")["attachment"]
    assert cancelled["timedOut"] is False
    it.record(lambda record: record["type"] == "user" and text_of(record) == "[Request interrupted by user]")


def test_a_path_is_a_prompt_and_an_unknown_command_is_not(client):
    """A slash begins a command only if there is no such path; an unknown one fires nothing."""
    it = client().ready()
    it.send("/foo bar")
    it.pane.shows("Unknown command: /foo")
    assert ["SessionStart"] == it.hooks.names()
    it.send("/tmp")

    assert "/tmp" == it.event("UserPromptSubmit")["prompt"]


def test_a_prompt_typed_before_a_tool_boundary_is_absorbed(client):
    """A turn that goes on takes the prompt in: no hook hears of it, only the queue records do."""
    it = client().ready()
    it.send("first\nSTUB: bash=while [ ! -f go ]; do sleep 0.05; done\nSTUB: say=one")
    it.event("PreToolUse")
    it.send("second")
    it.record(lambda record: kind(record) == "queue-operation:enqueue")
    it.pane.shows("Press up to edit queued messages")
    assert "" == it.composer()
    (it.project / "go").touch()
    it.event("Stop")
    it.idle()

    assert 1 == len(it.hooks.events("UserPromptSubmit"))
    assert 1 == len(it.hooks.events("Stop"))
    absorbed = it.record(lambda record: kind(record) == "attachment:queued_command")
    assert "second" == absorbed["attachment"]["prompt"]
    it.record(lambda record: kind(record) == "queue-operation:remove")


def test_escape_with_a_queued_prompt_goes_on_with_it(client):
    """The turn is interrupted and the queued prompt starts the next one."""
    it = client().ready()
    it.send("first\nSTUB: bash=sleep 60")
    it.event("PreToolUse")
    it.send("second\nSTUB: say=two")
    it.record(lambda record: kind(record) == "queue-operation:enqueue")
    it.pane.key("Escape")

    assert "two" == it.event("Stop")["last_assistant_message"]
    assert ["UserPromptSubmit", "PreToolUse", "UserPromptSubmit", "Stop"] == it.hooks.names()[1:]


def test_sigterm_ends_the_session(client):
    """SIGTERM fires SessionEnd(other) and the status is 143."""
    it = client().ready()
    it.turn("one\nSTUB: say=1")
    it.pane.signal(signal.SIGTERM)

    assert 143 == it.pane.exit_status()
    assert "other" == it.event("SessionEnd")["reason"]
    check_keys(it, "SessionEnd", "SessionEnd-sigsigterm")


def test_sigint_ends_the_session_with_status_0(client):
    """A SIGINT from outside is an end too, and no Ctrl-C."""
    it = client().ready()
    it.pane.signal(signal.SIGINT)

    assert 0 == it.pane.exit_status()
    assert "other" == it.event("SessionEnd")["reason"]


def test_a_tool_in_use_outlives_a_terminated_client(client):
    """SIGTERM ends the client and its background work, but not a running tool; that has a session of its own."""
    it = client().ready()
    behind = {
        "command": "echo $$ > behind.txt; sleep 60; true",
        "description": "b",
        "run_in_background": True,
    }
    wait = "echo $$ > pid.txt; while [ ! -f go ]; do sleep 0.05; done"
    it.send(f"tool\nSTUB: tool=Bash {json.dumps(behind)}\nSTUB: bash={wait}")
    pids = []
    for name in ("behind.txt", "pid.txt"):
        path = it.project / name
        pids.append(int(until(lambda path=path: path.exists() and path.read_text(), name)))
    background, tool = pids
    it.pane.signal(signal.SIGTERM)
    until(it.pane.is_dead, "the end of the client")

    try:
        assert "other" == it.event("SessionEnd")["reason"]
        until(lambda: not alive(background), "the end of the background work")
        assert alive(tool)
        assert tool == os.getsid(tool)
    finally:
        (it.project / "go").touch()
    until(lambda: not alive(tool), "the end of the tool")


def test_sigkill_fires_nothing(client):
    """A killed client says nothing."""
    it = client().ready()
    it.turn("one\nSTUB: say=1")
    names = it.hooks.names()
    it.pane.signal(signal.SIGKILL)
    until(it.pane.is_dead, "the end of the client")

    assert names == it.hooks.names()


def test_ctrl_c_twice_ends_the_client(client):
    """The first one clears the composer and says so, the second one is an exit."""
    it = client().ready()
    it.write("half a thought")
    it.pane.key("C-c")
    it.pane.shows("Press Ctrl-C again to exit")
    assert "" == it.composer()
    it.pane.key("C-c")

    assert 0 == it.pane.exit_status()
    assert "prompt_input_exit" == it.event("SessionEnd")["reason"]
    check_keys(it, "SessionEnd", "SessionEnd-ctrlc")


def test_exit_ends_the_client(client):
    """/exit is a prompt_input_exit and carries a prompt id."""
    it = client().ready()
    it.write("/exit")
    it.pane.key("Enter")

    assert 0 == it.pane.exit_status()
    assert "prompt_input_exit" == it.event("SessionEnd")["reason"]
    check_keys(it, "SessionEnd", "SessionEnd-exit")


def test_session_end_hooks_get_one_and_a_half_seconds(client):
    """A SessionEnd hook cannot hold up the end."""
    it = client().ready()
    it.hooks.said("SessionEnd", "sleep 60\n")
    it.pane.signal(signal.SIGTERM)

    assert 143 == it.pane.exit_status()


def test_an_argv_prompt_is_the_first_turn(client):
    """A prompt on the command line needs no key, and every character of it arrives."""
    text = ' \tfirst line\nsecond "q" $x `y`; 日本 🎉\nSTUB: say=argv ok\n'
    it = client("--", text)
    stop = it.event("Stop")

    assert "argv ok" == stop["last_assistant_message"]
    assert ["SessionStart", "UserPromptSubmit", "Stop"] == it.hooks.names()
    assert text == it.hooks.events("UserPromptSubmit")[0]["prompt"]


def test_a_paste_arrives_as_it_is(client):
    """Tabs become four blanks, and nothing else changes; a long paste is sent and not its chip."""
    lines = [f"line {number} `$x` ; # 日本 🎉 \t end;" for number in range(30)]
    it = client().ready()
    it.pane.paste("  " + "\n".join(lines) + "\n\n")
    it.pane.shows("[Pasted text #1 +31 lines]")
    it.submit()

    prompt = it.event("UserPromptSubmit")["prompt"]
    assert ("  " + "\n".join(lines) + "\n\n").replace("\t", "    ") == prompt


def test_blanks_at_the_end_of_a_short_paste_are_cut(client):
    """What the composer shows is sent without its trailing blanks; those in front stay."""
    it = client().ready()
    it.pane.paste("  short \n\n")
    it.pane.shows("short")
    it.submit()

    assert "  short" == it.event("UserPromptSubmit")["prompt"]


def test_the_composer_reads_as_text_between_rules(client):
    """First row: prompt glyph and U+00A0; further rows are indented; typed text is not dim."""
    it = client().ready()
    until(lambda: it.composer() == "", "an empty composer")
    it.write("typed text\nand more")

    assert "typed text\nand more" == it.composer()
    rows = it.pane.capture(styled=True).splitlines()
    row = next(row for row in rows if "typed text" in row)
    assert SGR.sub("", row).startswith("❯\u00a0typed text")
    assert "2" not in SGR.findall(row)
    assert "0" == it.pane.display("#{alternate_on}")


def test_a_sent_prompt_does_not_look_like_the_composer(client):
    """In the conversation the glyph is followed by a blank, on a grey ground."""
    it = client().ready()
    it.turn("was sent\nSTUB: say=x")

    row = next(row for row in it.pane.capture(styled=True).splitlines() if "was sent" in row)
    assert "❯\u00a0" not in row
    assert "48;5;237" in row


def test_the_title_tells_working_from_idle(client):
    """✳ when idle, a braille spinner while working; the footer says how to interrupt."""
    it = client().ready()
    assert it.pane.title().startswith("✳ ")
    it.send("slow\nSTUB: bash=while [ ! -f go ]; do sleep 0.05; done\nSTUB: say=x")
    it.event("PreToolUse")
    until(lambda: it.pane.title()[0] in "⠂⠐", lambda: it.pane.title())
    it.pane.shows("…")
    (it.project / "go").touch()
    it.event("Stop")
    it.idle()

    until(lambda: "esc to interrupt" not in it.pane.capture(), lambda: it.pane.capture())


def test_background_work_pauses_a_turn(client):
    """Stop lists what still runs; its end starts a turn with a notification as the prompt."""
    it = client().ready()
    tool = {
        "command": "while [ ! -f go ]; do sleep 0.05; done",
        "description": "bg",
        "run_in_background": True,
    }
    it.turn(f"start\nSTUB: tool=Bash {json.dumps(tool)}\nSTUB: say=started")
    running = it.hooks.events("Stop")[0]["background_tasks"]
    assert set(fixture("Stop-background")["background_tasks"][0]) == set(running[0])
    (it.project / "go").touch()
    it.event("Stop", 2)

    prompt = it.hooks.events("UserPromptSubmit")[1]["prompt"]
    assert prompt.startswith(f"<task-notification>\n<task-id>{running[0]['id']}</task-id>")
    assert "<status>completed</status>" in prompt
    assert [] == it.hooks.events("Stop")[1]["background_tasks"]


def test_a_hook_that_leaves_its_output_open_holds_up_the_turn(client):
    """A child of a Stop hook that keeps the hook's stdout keeps the turn from ending."""
    it = client().ready()
    it.hooks.said(
        "Stop", f"(n=0; while [ ! -f {it.project}/go ] && [ $n -lt 400 ]; do sleep 0.05; n=$((n+1)); done) &\n"
    )
    it.turn("start\nSTUB: say=x")
    it.pane.shows("running stop hook")
    (it.project / "go").touch()
    it.idle()

    assert 1 == len(it.hooks.events("Stop"))


def test_hooks_know_their_session(client):
    """Session id, project and the pane's own variables are in the environment of every hook."""
    it = client(env={"FLEET_TEST_MARK": "seen"}).ready()
    environment = it.hooks.environment("SessionStart")

    assert it.hooks.events()[0]["session_id"] == environment["CLAUDE_CODE_SESSION_ID"]
    assert str(it.project) == environment["CLAUDE_PROJECT_DIR"]
    assert ("1", "1", "cli", "seen") == tuple(
        environment[name]
        for name in ("CLAUDECODE", "CLAUDE_CODE_CHILD_SESSION", "CLAUDE_CODE_ENTRYPOINT", "FLEET_TEST_MARK")
    )


def test_a_resumed_session_goes_on_in_its_file(client):
    """--resume keeps the id and appends; SessionStart says resume and names no model."""
    it = client("--session-id", "11111111-2222-4333-8444-555555555555").ready()
    it.turn("one\nSTUB: say=1")
    # The real client writes its log after the turn; one that is ended before that has nothing to resume.
    it.record(lambda record: record["type"] == "assistant", "the answer in the log")
    it.pane.signal(signal.SIGTERM)
    it.pane.exit_status()
    argv = [word for word in it.argv if word not in ("--session-id",)]
    argv[argv.index("11111111-2222-4333-8444-555555555555")] = "--resume=11111111-2222-4333-8444-555555555555"
    environment = [f"{name}={value}" for name, value in it.env.items()]
    it.pane.tmux("respawn-pane", "-k", "-t", "a:", "env", "-i", *environment, *argv)
    it.pane.pids.append(int(it.pane.display("#{pane_pid}")))
    start = it.event("SessionStart", 2)
    it.turn("two\nSTUB: say=2")

    assert set(fixture("SessionStart-resume")) == set(start)
    assert ("resume", it.hooks.events()[0]["session_id"]) == (start["source"], start["session_id"])
    it.record(lambda record: record["type"] == "user" and text_of(record) == "two\nSTUB: say=2")
    it.record(lambda record: record["type"] == "user" and text_of(record) == "one\nSTUB: say=1")
