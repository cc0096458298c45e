"""Every payload that a real client sent, put to the real hook."""

import glob
import json
import os
import re
import subprocess
import sys

import pytest

from fleet.engines import gemini
from fleet.formats.record import HOOK_FIELDS
from fleet.formats.times import parse

HOOK = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "hooks", "on_event.py")
REAL = os.path.join(os.path.dirname(__file__), os.pardir, "fixtures", "real")
PAYLOADS = sorted(os.path.basename(path)[:-5] for path in glob.glob(os.path.join(REAL, "*-*.json")))
PAYLOADS = [name for name in PAYLOADS if not name.startswith(("StatusLine", "transcript"))]
ENGINES = {"Codex": "codex", "Gemini": "gemini"}

NOT_BLOCKED = {"blocked": False, "blocked_reason": None, "blocked_since": None}
NOTHING_KNOWN = {"context_pct": None, "context_source": None}
FAILED = {"rate_limit": "limit", "authentication_failed": "login"}
BEFORE = {
    "context_pct": 55.25, "context_source": "hook", "last_activity_ts": "2020-01-01T00:00:00Z", "blocked": True,
    "blocked_reason": "dialog", "blocked_since": "2020-01-01T00:00:00Z", "inbox_pending": True,
    "handoff_type": None, "handoff_type_at": None,
}  # fmt: skip


def read(name):
    engine = next((engine for prefix, engine in ENGINES.items() if name.startswith(prefix)), "claude-code")
    with open(os.path.join(REAL, name + ".json"), encoding="utf-8") as f:
        payload = json.load(f)
    event = payload["hook_event_name"]
    return engine, gemini.EVENTS.get(event, event) if engine == "gemini" else event, payload


def changes(event, payload, now):
    """The health fields after *event*, where they differ from those before; times as NOW."""
    fields = {"last_activity_ts": now, "inbox_pending": False}
    if event == "UserPromptSubmit":
        fields |= {"needs_input": False, **NOT_BLOCKED}
    elif event == "Stop":
        fields |= {"needs_input": True, **NOT_BLOCKED, **NOTHING_KNOWN}
    elif event == "StopFailure":
        reason = FAILED.get(payload["error"])
        fields |= {"needs_input": True, **NOT_BLOCKED}
        if reason:
            fields |= {"blocked": True, "blocked_reason": reason, "blocked_since": now}
    elif event == "Interrupt":
        fields |= {"needs_input": True, **NOT_BLOCKED}
    elif event == "PermissionRequest":
        fields |= {"blocked": True, "blocked_reason": "permission", "blocked_since": now}
    elif event == "SessionStart" and payload["source"] != "compact":
        fields |= {"needs_input": True, **NOT_BLOCKED}
        if payload["source"] == "clear":
            fields |= NOTHING_KNOWN
    elif event == "PostCompact":
        fields |= NOTHING_KNOWN
    elif event == "PreCompact" and payload["trigger"] == "auto":
        fields |= {"handoff_type": "precompact", "handoff_type_at": now}
    return fields


def test_there_are_payloads_of_every_event_that_is_registered():
    """What fleet installs its hooks for was measured."""
    from fleet.formats.events import EVENTS

    seen = {read(name)[:2] for name in PAYLOADS}
    assert set() == {(e, event) for e in ("claude-code", "codex") for event in EVENTS[e]} - seen


@pytest.mark.parametrize("name", PAYLOADS)
def test_a_real_payload_leaves_one_event_and_its_agents_health(agent, name):
    """Silence, status 0, one line that says what happened, the health fields as specified, no other field touched."""
    engine, event, payload = read(name)
    expected = changes(event, payload, "NOW")
    agent.set_record(engine=engine, unknown={"to": "us"}, needs_input=not expected.get("needs_input", True), **BEFORE)
    before = agent.record()

    assert agent.hook(event, payload, engine=engine).answer is None

    after = agent.record()
    now = after["last_activity_ts"]
    told = {k: "NOW" if v == now else v for k, v in after.items()}
    assert {**before, **expected} == told
    assert list(before) == list(after)
    assert {k for k in after if after[k] != before[k]} <= set(HOOK_FIELDS)
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", now)
    assert "" == agent.errors()

    line, *acted = agent.events()
    turn = payload.get("prompt_id") or payload.get("turn_id")
    expected_line = ("hook", event, payload["session_id"], turn, payload["transcript_path"])
    found_line = (line["source"], line["event"], line["session_id"], line.get("turn_id"), line["transcript_path"])
    assert expected_line == found_line
    assert 0 <= parse(line["ts"]) - parse(now) < 1
    assert (["HookActed"] if expected.get("handoff_type") else []) == [one["event"] for one in acted]


@pytest.mark.parametrize(
    ("name", "facts"),
    [
        ("SessionStart-clear", {"session_source": "clear"}),
        ("SessionStart-startup", {"session_source": "startup", "model": "claude-sonnet-4-5"}),
        ("SessionEnd-exit", {"reason": "prompt_input_exit"}),
        ("UserPromptSubmit-plain", {"prompt_head": "hello there\nSTUB: say=plain answer\nSTUB: usage=50000"}),
        ("UserPromptSubmit-plain", {"prompt_characters": 52}),
        ("Stop-plain", {"tail": "plain answer", "background": 0}),
        ("Stop-stopblock-2", {"stop_hook_active": True}),
        ("Stop-background", {"background": 1}),
        ("StopFailure-err429", {"error": "rate_limit"}),
        ("PreCompact-compact-manual", {"trigger": "manual"}),
        ("Notification-idle", {"notification_type": "idle_prompt"}),
        ("PermissionRequest-permission", {"tool_name": "Bash"}),
        ("CodexInterrupt-esc", {"turn_id": "01a22c39-3c06-7a23-af59-1959be0d3786"}),
    ],
)
def test_an_event_line_says_what_the_drain_needs_to_know(agent, name, facts):
    """Facts of the payload, by names of our own where the engine's are taken."""
    engine, event, payload = read(name)
    agent.hook(event, payload, engine=engine)
    assert facts == {key: agent.events()[0].get(key) for key in facts}


def test_a_long_prompt_is_not_copied_into_the_events(agent):
    """Its head and its length are enough."""
    agent.hook("UserPromptSubmit", prompt="x" * 5000)
    line = agent.events()[0]
    assert (300, 5000) == (len(line["prompt_head"]), line["prompt_characters"])


# Agents of others, and of nobody


def tree(folder):
    """Every file below *folder* with its bytes."""
    found = {}
    for at, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(at, name), "rb") as f:
                found[os.path.join(at, name)] = f.read()
    return found


@pytest.mark.parametrize(
    "env",
    [{"FLEET_AGENT_ID": None}, {"FLEET_AGENT_ID": ""}, {"FLEET_AGENT_ID": "b2c3d4e5"}, {"FLEET_AGENT_ID": "../agents/a1b2c3d4"},
     {"FLEET_AGENT_ID": "A1B2C3D4"}, {"FLEET_HOME": "/nonexistent/fleet"}],
)  # fmt: skip
def test_who_is_not_supervised_is_left_alone(agent, env):
    """Without an agent id, a record or a fleet home the hook says and writes nothing: not even that it ran."""
    agent.send("hi")
    agent.hook("SessionStart")  # writes the configuration too
    before = tree(agent.folder)
    whole = {k: v for k, v in {**agent.env(), **env}.items() if v is not None}
    assert agent.hook("Stop", env=whole).answer is None
    assert before == tree(agent.folder)
    assert not os.path.exists("/nonexistent")


def test_hooks_of_the_users_own_leave_a_dispatched_agent_to_ours(agent):
    """Installed for a person's own sessions, they return at once where fleet's settings file brings its own."""
    agent.send("hi")
    before = tree(agent.layout.events) | tree(agent.layout.agents)
    argv = [sys.executable, "-I", "-S", HOOK]
    env = {**agent.env(), "FLEET_DISPATCH_ID": agent.record()["dispatch_id"]}
    assert agent.hook("Stop", argv=[*argv, "claude-code", "Stop", "user"], env=env).answer is None
    assert before == tree(agent.layout.events) | tree(agent.layout.agents)

    assert "hi" in agent.hook("Stop", env=env).block
    assert 1 == [line["event"] for line in agent.events()].count("Stop")


@pytest.mark.parametrize("dispatch_id", [None, "", "99999999"])
def test_hooks_of_the_users_own_act_for_an_agent_that_fleet_did_not_dispatch(agent, dispatch_id):
    """Its record was made by another dispatcher; a FLEET_DISPATCH_ID that is not this agent's says nothing."""
    agent.send("hi")
    argv = [sys.executable, "-I", "-S", HOOK, "claude-code", "Stop", "user"]
    env = agent.env() if dispatch_id is None else {**agent.env(), "FLEET_DISPATCH_ID": dispatch_id}
    assert "hi" in agent.hook("Stop", argv=argv, env=env).block


def test_an_archived_agents_late_hook_does_not_bring_it_back(agent):
    """The record is gone, so nothing is written."""
    os.unlink(agent.layout.record("a1b2c3d4"))
    assert agent.hook("Stop").answer is None
    assert {} == tree(agent.layout.agents)
    assert [] == agent.events()


def test_an_event_that_nobody_knows_is_written_down_and_no_more(agent):
    """A newer client's event is a fact too."""
    assert agent.hook("QuantumLeap", far=True).answer is None
    assert ["QuantumLeap"] == [line["event"] for line in agent.events()]
    assert agent.record()["handoff_type"] is None


def test_without_an_engine_and_event_the_hook_does_nothing(agent):
    """A broken installation harms nobody."""
    argv = [sys.executable, "-I", "-S", HOOK]
    assert agent.hook("Stop", argv=argv).answer is None
    assert [] == agent.events()


# Whatever goes wrong


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"null", b'"Stop"', b"\xff\xfe", b"[" * 100_000, b"{}" * 2],
)
def test_a_broken_payload_is_logged_and_harms_nobody(agent, raw):
    """Status 0, silence, a line in the error log; the record stays as it is."""
    before = agent.record()
    assert agent.hook("Stop", raw=raw).answer is None
    assert "a1b2c3d4 claude-code Stop" in agent.errors()
    assert before == agent.record()


def test_a_payload_of_wrong_types_is_taken_as_saying_nothing(agent):
    """A field that should be a text and is none is like a field that is not there."""
    payload = dict.fromkeys(
        ("session_id", "transcript_path", "cwd", "prompt_id", "last_assistant_message", "background_tasks", "source",
         "trigger", "error", "prompt", "tool_name", "model", "stop_hook_active"), [1]
    )  # fmt: skip
    for event in ("SessionStart", "UserPromptSubmit", "Stop", "StopFailure", "PermissionRequest", "PostCompact"):
        assert agent.hook(event, payload).answer is None
    assert "" == agent.errors()


def test_a_payload_with_bytes_that_are_no_utf_8_is_read(agent):
    """Half a character in the model's last message costs that character."""
    agent.hook("Stop", raw=b'{"session_id": "s1", "last_assistant_message": "caf\xe9", "prompt_id": "p1"}')
    assert "caf\ufffd" == agent.events()[0]["tail"]


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"schema_version": 2, "id": "a1b2c3d4"}', b'{"schema_version": 1, "id": "b2c3d4e5"}'],
)
def test_an_unreadable_record_is_logged_and_left_as_it_is(agent, content):
    """Status 0, silence, and the file for the operator to look at."""
    with open(agent.layout.record("a1b2c3d4"), "wb") as f:
        f.write(content)
    assert agent.hook("Stop").answer is None
    assert "a1b2c3d4.json" in agent.errors()
    with open(agent.layout.record("a1b2c3d4"), "rb") as f:
        assert content == f.read()


def test_a_record_that_stays_locked_does_not_hold_up_the_agent(agent, monkeypatch):
    """The hook gives up after its time, but the event is on disk before it even asked."""
    from fleet.formats.atomic import Lock

    with Lock(agent.layout.record_lock("a1b2c3d4")):
        assert agent.hook("Stop").answer is None
    assert ["Stop"] == [line["event"] for line in agent.events()]
    assert "locked by another process for 3 s" in agent.errors()


def test_an_engine_that_has_gone_gets_status_0_all_the_same(agent):
    """Nobody reads the answer any more; the message waits for its verdict."""
    agent.send("hi")
    argv = [sys.executable, "-I", "-S", HOOK, "claude-code", "Stop"]
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "wb") as gone:
        done = subprocess.run(argv, input=b'{"prompt_id": "p1"}', env=agent.env(), stdout=gone, stderr=subprocess.PIPE)
    assert (0, b"") == (done.returncode, done.stderr)
    assert [("hi", "offered")] == agent.spool()


def test_an_engine_with_its_standard_files_closed_harms_no_file(agent):
    """A closed stdout does not make the hook write its answer into one of our files."""
    agent.send("hi")
    script = f'"$0" -I -S {HOOK} claude-code Stop >&- 2>&-; exit $?'
    agent.hook("Stop", argv=["/bin/sh", "-c", script, sys.executable])
    agent.events()
    assert "hi" not in "".join(b.decode() for p, b in tree(agent.layout.home).items() if "/inbox/" not in p)
