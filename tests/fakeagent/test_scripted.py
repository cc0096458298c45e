"""What a script makes of a client in a pane: rules, compaction by itself, faults."""

import json
import os
import signal

import pytest

from fleet.formats.atomic import write_file
from tests.fakeagent.bench import alive, text_of, until

DRAFT = {
    "match": r"HANDOFF REQUESTED.*?(?P<draft>/\S+\.md)",
    "do": [r"STUB: write=\g<draft>|## Completed\n\nThe parser.\n", "STUB: say=MILESTONE"],
}


def test_a_rule_writes_the_file_that_a_stop_hook_names(fake):
    """A rule answers feedback with its own groups: the draft of a handoff, then MILESTONE."""
    it = fake(script={"rules": [DRAFT]}).ready()
    draft = it.project / "drafts" / "a1.md"
    it.hooks.says("Stop", {"decision": "block", "reason": f"HANDOFF REQUESTED\nWrite your draft to {draft} now."})
    it.send("work\nSTUB: say=working")
    it.event("Stop", 2)

    assert "## Completed\n\nThe parser.\n" == draft.read_text()
    stops = it.hooks.events("Stop")
    assert [("working", False), ("MILESTONE", True)] == [
        (stop["last_assistant_message"], stop["stop_hook_active"]) for stop in stops
    ]


def test_the_rules_of_a_replaced_script_hold_from_the_next_turn_on(fake):
    """A test changes what the model answers while the client runs, with either client in the same way."""
    it = fake(script={"rules": [{"match": "", "do": ["STUB: bash=true", "STUB: say=former"], "times": 1}]}).ready()
    script = str(it.project.parent / "script.json")

    def answers(rules):
        write_file(script, json.dumps({"rules": rules}).encode())
        return it.turn("on")["last_assistant_message"]

    first = it.turn("go")["last_assistant_message"]
    os.remove(script)
    gone = it.turn("on")["last_assistant_message"]
    after = answers([{"match": "", "do": "STUB: say=latter", "times": 1}])

    assert ["former", "stub reply 3", "latter"] == [first, gone, after]


def test_a_tool_between_two_blocks_resets_the_count(fake):
    """Blocks with a tool between them are accepted without end."""
    rules = [{"match": "again", "do": ["STUB: bash=true", "STUB: say=x"]}]
    it = fake(script={"rules": rules}, env={"CLAUDE_CODE_STOP_HOOK_BLOCK_CAP": "1"}).ready()
    it.hooks.says("Stop", {"decision": "block", "reason": "again"}, always=True)
    it.send("go\nSTUB: say=x")
    it.event("Stop", 5)
    it.hooks.stops_saying("Stop")
    it.idle()

    assert "overriding and ending turn" not in it.pane.capture()


def test_defaults_and_queue_serve_turns_without_directives(fake):
    """One queued text a turn, then the defaults."""
    it = fake(script={"queue": ["STUB: say=queued"], "defaults": {"say": "default", "usage": 4321}}).ready()

    assert ["queued", "default"] == [it.turn(text)["last_assistant_message"] for text in ("one", "two")]

    def usage():
        answers = [record["message"] for record in it.transcript() if record["type"] == "assistant"]
        return [answer["usage"]["input_tokens"] for answer in answers]

    until(lambda: usage() == [4321, 4321], usage)


def test_a_full_context_is_compacted_before_the_next_request(fake):
    """When the last usage reached the threshold, the next prompt compacts first."""
    it = fake(script={"client": {"auto_compact_tokens": 1000}}).ready()
    it.turn("one\nSTUB: usage=999\nSTUB: say=1")
    it.turn("two\nSTUB: usage=1000\nSTUB: say=2")
    assert [] == it.hooks.events("PreCompact")
    it.turn("three\nSTUB: usage=10\nSTUB: say=3")
    it.turn("four\nSTUB: say=4")

    compaction = ["PreCompact", "SubagentStop", "SessionStart", "PostCompact"]
    assert ["UserPromptSubmit", *compaction, "Stop", "UserPromptSubmit", "Stop"] == it.hooks.names()[5:]
    assert "auto" == it.hooks.events("PreCompact")[0]["trigger"]


def test_a_compacted_conversation_forgets(fake):
    """What was said before a compaction is no longer in the conversation that rules search."""
    it = fake(script={"rules": [{"match": "ask", "in": "PASSWORD", "do": "STUB: say=known"}]}).ready()
    it.turn("the PASSWORD\nSTUB: say=1")
    assert "known" == it.turn("ask")["last_assistant_message"]
    it.send("/compact")
    it.event("PostCompact")

    assert it.turn("ask")["last_assistant_message"].startswith("stub reply")


def test_a_second_refusal_for_length_fails_the_turn(fake):
    """One compaction is tried; StopFailure then says invalid_request and gives the details."""
    it = fake().ready()
    it.send("long\nSTUB: error=400\nSTUB: errmsg=prompt is too long: 9 tokens > 8 maximum")

    failure = it.event("StopFailure")
    assert ("invalid_request", "Prompt is too long") == (failure["error"], failure["last_assistant_message"])
    assert "prompt is too long: 9 tokens" in failure["error_details"]
    assert 1 == len(it.hooks.events("PostCompact"))


@pytest.mark.parametrize(
    ("directives", "kind", "text"),
    [
        ("STUB: error=401", "authentication_failed", "Please run /login · API Error: 401 stub error"),
        ("STUB: error=429", "rate_limit", "API Error: Request rejected (429) · stub error"),
        ("STUB: error=500", "server_error", "API Error: 500 stub error"),
        ("STUB: hang=0.01", "server_error", "API Error: Connection error."),
    ],
)
def test_kinds_of_failures(fake, directives, kind, text):
    """Each failure has the kind and the text of the real client."""
    it = fake(script={"client": {"retry_seconds": 0.01}}).ready()
    it.send(f"fail\n{directives}")

    failure = it.event("StopFailure")
    assert kind == failure["error"]
    assert failure["last_assistant_message"].startswith(text)


def test_a_failure_that_passes_is_not_reported(fake):
    """errors=1 fails once; the retry succeeds and the turn ends with Stop."""
    it = fake(script={"client": {"retry_seconds": 0.01}}).ready()

    assert "done" == it.turn("fail\nSTUB: error=529\nSTUB: errors=1\nSTUB: say=done")["last_assistant_message"]
    assert [] == it.hooks.events("StopFailure")


@pytest.mark.parametrize(("key", "kind"), [("login_required", "authentication_failed"), ("rate_limited", "rate_limit")])
def test_a_client_that_cannot_work_fails_every_prompt(fake, key, kind):
    """Whatever the prompt says."""
    it = fake(script={"client": {key: True}}).ready()
    it.send("hello\nSTUB: say=x")

    assert kind == it.event("StopFailure")["error"]


def test_max_tokens_goes_on_by_itself(fake):
    """The client asks once more, and then the turn ends."""
    it = fake().ready()

    assert it.turn("long\nSTUB: say=part\nSTUB: stop=max_tokens")["last_assistant_message"].startswith("stub reply")


@pytest.mark.parametrize("point", ["boot", "first_prompt", "after_accept", "turn 1"])
def test_a_crash_has_no_last_words(fake, point):
    """At every point the status is the scripted one and SessionEnd does not fire."""
    it = fake("hello", script={"client": {"crash_at": point, "crash_status": 7}})

    assert 7 == it.pane.exit_status()
    seen = {"boot": [], "first_prompt": ["SessionStart"]}.get(point, ["SessionStart", "UserPromptSubmit"])
    assert seen == it.hooks.names()


def test_a_crash_can_wait_for_a_later_turn(fake):
    """Turns before it are served."""
    it = fake(script={"client": {"crash_at": "turn 2", "crash_status": 9}}).ready()
    it.turn("one\nSTUB: say=1")
    it.write("two\nSTUB: say=2")
    it.pane.key("Enter")

    assert 9 == it.pane.exit_status()
    assert 1 == len(it.hooks.events("Stop"))


@pytest.mark.parametrize("point", ["boot", "after_accept"])
def test_a_client_that_hangs_takes_no_key_but_a_signal(fake, point):
    """Ctrl-C does nothing; SIGTERM still ends it."""
    it = fake("hello", script={"client": {"hang_at": point}})
    until(it.pane.is_raw, "raw mode")  # before it, Ctrl-C is a signal
    if point != "boot":
        it.event("UserPromptSubmit")
    it.pane.key("C-c", "C-c", "Escape", "x")
    assert not it.pane.is_dead()
    it.pane.signal(signal.SIGTERM)

    assert 143 == it.pane.exit_status()
    assert [] == it.hooks.events("Stop")


def test_sigterm_can_be_ignored(fake):
    """Only SIGKILL ends such a client."""
    it = fake(script={"client": {"ignore_sigterm": True}}).ready()
    it.pane.signal(signal.SIGTERM)
    it.turn("still here?\nSTUB: say=yes")
    it.pane.signal(signal.SIGKILL)

    until(it.pane.is_dead, "the end")
    assert [] == it.hooks.events("SessionEnd")


def test_an_exit_can_be_refused(fake):
    """/exit and Ctrl-C do nothing then."""
    it = fake(script={"client": {"refuse_exit": True}}).ready()
    it.send("/exit")
    it.pane.key("C-c", "C-c")

    assert "yes" == it.turn("still here?\nSTUB: say=yes")["last_assistant_message"]


def test_a_closed_pane_is_a_hangup(fake):
    """kill-session fires SessionEnd(other) and leaves no process."""
    it = fake().ready()
    it.turn("one\nSTUB: say=1")
    it.pane.tmux("kill-session", "-t", "a")

    assert "other" == it.event("SessionEnd")["reason"]
    until(lambda: not alive(it.pane.pid), "the end of the client")


def test_notifications_come_when_nobody_answers(fake):
    """One for an open dialog, one for an idle client."""
    quick = {"permission_notice_seconds": 0.05, "idle_notice_seconds": 0.05}
    it = fake(script={"client": quick}, mode="default").ready()
    assert "idle_prompt" == it.event("Notification")["notification_type"]
    it.send("ask\nSTUB: bash=touch x\nSTUB: say=done")

    def kinds():
        return [event["notification_type"] for event in it.hooks.events("Notification")]

    until(lambda: "permission_prompt" in kinds(), kinds)


def test_a_late_hook_does_not_overrule_a_key(fake):
    """Whoever answers the dialog first decides."""
    it = fake(mode="default").ready()
    allow = json.dumps({"hookSpecificOutput": {"decision": {"behavior": "allow"}}})
    it.hooks.said("PermissionRequest", f"while [ ! -f answer ]; do sleep 0.02; done\necho '{allow}'\n")
    it.send("ask\nSTUB: bash=touch made.txt\nSTUB: say=done")
    it.pane.shows("Do you want to proceed?")
    it.pane.key("3")
    it.pane.shows("Interrupted")
    (it.hooks.folder / "answer").touch()
    it.turn("next\nSTUB: say=x")

    assert not (it.project / "made.txt").exists()


@pytest.mark.parametrize("behaviour", ["deny", "ask"])
def test_pre_tool_use_decides(fake, behaviour):
    """deny gives the reason to the model and fires neither Post nor a dialog; ask leaves it to the rules."""
    it = fake().ready()
    decision = {"permissionDecision": behaviour, "permissionDecisionReason": "not this"}
    it.hooks.says("PreToolUse", {"hookSpecificOutput": decision})
    it.turn("tool\nSTUB: bash=touch made.txt\nSTUB: say=done")

    denied = behaviour == "deny"
    assert denied != (it.project / "made.txt").exists()
    assert ("not this" in it.hooks.events("PostToolBatch")[0]["tool_calls"][0]["tool_response"]) == denied
    assert ("PostToolUse" in it.hooks.names()) != denied


def test_always_yes_holds_for_the_session(fake):
    """The second answer of a write dialog turns on acceptEdits for that folder."""
    it = fake(mode="default").ready()
    it.send("one\nSTUB: write=a.txt|x\nSTUB: say=1")
    it.pane.shows("Do you want to create a.txt?")
    it.pane.key("2")
    it.event("Stop")
    stop = it.turn("two\nSTUB: write=b.txt|x\nSTUB: say=2")

    assert "acceptEdits" == stop["permission_mode"]
    assert 1 == len(it.hooks.events("PermissionRequest"))


def test_an_unknown_tool_fails_without_a_hook(fake):
    """The model may ask for anything."""
    it = fake().ready()
    it.turn('tool\nSTUB: tool=Nothing {"a": 1}\nSTUB: say=done')

    assert ["UserPromptSubmit", "PostToolBatch", "Stop"] == it.hooks.names(1)
    assert "No such tool available: Nothing" in it.hooks.events("PostToolBatch")[0]["tool_calls"][0]["tool_response"]


def test_reading_a_file_allows_writing_it(fake):
    """Write over a file works once the model has read it."""
    it = fake()
    (it.project / "w.txt").write_text("old")
    it.ready()
    it.turn('both\nSTUB: tool=Read {"file_path": "w.txt"}\nSTUB: write=w.txt|new\nSTUB: say=done')

    assert "new" == (it.project / "w.txt").read_text()


def test_hooks_of_one_event_run_at_the_same_time(fake, tmp_path):
    """Two hooks that wait for each other both end."""
    wait = "touch {0}/{1}; while [ ! -f {0}/{2} ]; do sleep 0.02; done"
    commands = [wait.format(tmp_path, *pair) for pair in ("ab", "ba")]
    pair = [{"hooks": [{"type": "command", "command": command, "timeout": 20} for command in commands]}]
    home = tmp_path / "config"
    home.mkdir()
    (home / "settings.json").write_text(json.dumps({"hooks": {"Stop": pair}}))
    it = fake().ready()
    it.turn("hello\nSTUB: say=x")
    it.idle()

    assert (tmp_path / "a").exists()
    assert (tmp_path / "b").exists()


def test_a_resize_keeps_one_composer(fake):
    """After the pane became narrower everything is painted anew, and long text is wrapped."""
    it = fake().ready()
    it.turn("hello\nSTUB: say=" + "wide " * 30)
    it.write("typed before")
    it.pane.tmux("resize-window", "-t", "a:", "-x", "50", "-y", "20")
    until(lambda: "─" * 50 in it.pane.capture().splitlines(), it.pane.capture)

    assert "typed before" == it.composer()
    assert 1 == it.pane.capture().count("❯\u00a0")


def test_the_terminal_is_left_as_it_was(fake, tmp_path):
    """After the end the pane's shell has echo, line mode and a visible cursor again."""
    it = fake().ready()
    words = " ".join(f"'{word}'" for word in it.argv)
    script = tmp_path / "shell.sh"
    script.write_text(f"stty -a > before\n{words}\nstty -a > after\necho BACK\nread x\n")
    environment = [f"{name}={value}" for name, value in it.env.items()]
    it.pane.tmux("respawn-pane", "-k", "-t", "a:", "env", "-i", *environment, "sh", str(script))
    it.pane.pids.append(int(it.pane.display("#{pane_pid}")))
    it.event("SessionStart", 2)
    it.pane.key("C-c")
    it.pane.shows("Press Ctrl-C again")
    it.pane.key("C-c")
    it.pane.shows("BACK")

    assert (it.project / "before").read_text() == (it.project / "after").read_text()
    assert "1" == it.pane.display("#{cursor_flag}")


@pytest.mark.skipif(not os.path.exists("/proc/self/status"), reason="counts context switches in /proc")
def test_an_idle_client_is_not_woken(fake):
    """No timer runs and nothing is polled while it waits for a prompt."""
    it = fake().ready()
    it.turn("hello\nSTUB: say=x")
    it.idle()

    def wakes():
        with open(f"/proc/{it.pane.pid}/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("voluntary"))

    def rests():
        before = wakes()
        for _ in range(40):  # far longer than a tick of the spinner
            it.pane.capture()
        return before == wakes()

    until(rests, "rest")


def test_a_resumed_conversation_is_remembered(fake):
    """Rules search what was said before the resume."""
    it = fake(script={"rules": [{"match": "ask", "in": "PASSWORD", "do": "STUB: say=known"}]}).ready()
    it.turn("the PASSWORD\nSTUB: say=1\nSTUB: usage=777")
    session_id = it.hooks.events()[0]["session_id"]
    it.pane.signal(signal.SIGTERM)
    it.pane.exit_status()
    environment = [f"{name}={value}" for name, value in it.env.items()]
    it.pane.tmux("respawn-pane", "-k", "-t", "a:", "env", "-i", *environment, *it.argv, "--continue")
    it.pane.pids.append(int(it.pane.display("#{pane_pid}")))
    it.event("SessionStart", 2)

    stop = it.turn("ask")
    assert ("known", session_id) == (stop["last_assistant_message"], stop["session_id"])
    first = [record for record in it.transcript() if record["type"] == "user"][0]
    assert text_of(first).startswith("the PASSWORD")
