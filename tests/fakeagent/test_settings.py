"""Settings, permissions, and what the output of hooks means."""

import json

import pytest

from fleet.fakeagent import settings
from fleet.fakeagent.children import Finished
from fleet.fakeagent.errors import BadScript
from fleet.fakeagent.outcome import understand
from fleet.fakeagent.permissions import Permissions


def hooks(command, event="Stop", **group):
    return {"hooks": {event: [{"hooks": [{"type": "command", "command": command}], **group}]}}


def write(folder, value):
    (folder / "settings.json").write_text(json.dumps(value))


def test_given_hooks_run_beside_the_users(tmp_path):
    """Both files count, the user's first."""
    write(tmp_path, hooks("mine"))
    loaded = settings.load(str(tmp_path), json.dumps(hooks("theirs")))

    assert ["mine", "theirs"] == [hook.command for hook in loaded.hooks_for("Stop", "")]


@pytest.mark.parametrize(
    ("user", "given", "count"),
    [(True, None, 0), (None, True, 0), (True, False, 2), (False, True, 0), (None, None, 2)],
)
def test_the_given_file_decides_about_disabled_hooks(tmp_path, user, given, count):
    """disableAllHooks silences both files; the given file's word outranks the user's."""
    write(tmp_path, hooks("mine") | ({} if user is None else {"disableAllHooks": user}))
    value = hooks("theirs") | ({} if given is None else {"disableAllHooks": given})

    assert count == len(settings.load(str(tmp_path), json.dumps(value)).hooks_for("Stop", ""))


def test_a_command_runs_once_for_an_event(tmp_path):
    """The same command in both files is one hook."""
    write(tmp_path, hooks("same"))

    assert 1 == len(settings.load(str(tmp_path), json.dumps(hooks("same"))).hooks_for("Stop", ""))


@pytest.mark.parametrize(
    ("matcher", "tool", "runs"),
    [
        ("", "Bash", 1),
        ("*", "Bash", 1),
        ("Bash", "Bash", 1),
        ("Edit|Write", "Write", 1),
        ("Bash", "BashOutput", 0),
    ],
)
def test_a_matcher_must_match_in_full(tmp_path, matcher, tool, runs):
    """Matchers are patterns for the tool's whole name."""
    loaded = settings.load(str(tmp_path), json.dumps(hooks("x", "PreToolUse", matcher=matcher)))

    assert runs == len(loaded.hooks_for("PreToolUse", tool))


@pytest.mark.parametrize(
    "value", [{"hooks": []}, {"hooks": {"Stop": {}}}, {"hooks": {"Stop": ["x"]}}, {"permissions": 1}]
)
def test_broken_settings_are_refused(tmp_path, value):
    """A wrong shape is an error and not silence."""
    with pytest.raises(BadScript):
        settings.load(str(tmp_path), json.dumps(value))


CWD = "/home/dev/project"


@pytest.mark.parametrize(
    ("rule", "tool", "given", "allowed"),
    [
        ("Bash(git:*)", "Bash", "git push", True),
        ("Bash(git:*)", "Bash", "gitk", False),
        ("Bash(git:*)", "Bash", "git push && rm x", False),
        ("Bash(make test)", "Bash", "make test", True),
        ("Bash(make test)", "Bash", "make test2", False),
        ("Bash", "Bash", "rm -rf x", True),
        ("Bash(touch:*)", "Bash", "touch /elsewhere/x", False),
        ("Write(//drafts/**)", "Write", "/drafts/a/b.md", True),
        ("Edit(//drafts/**)", "Write", "/drafts/b.md", True),
        ("Write(//drafts/*)", "Write", "/drafts/a/b.md", False),
        ("Write(//drafts/**)", "Write", "/drafts/../etc/passwd", False),
        ("Write(//drafts/**)", "Bash", "echo a > /drafts/b.md", True),
        ("Write(//drafts/**)", "Bash", "echo a > /other/b.md", False),
        ("Write(/drafts/**)", "Write", f"{CWD}/drafts/b.md", True),
        ("Write(/drafts/**)", "Write", "/drafts/b.md", False),
        ("Read(//docs/**)", "Read", "/docs/a.md", True),
        ("Read(//docs/**)", "Write", "/docs/a.md", False),
        ("nonsense(", "Bash", "rm x", False),
    ],
)
def test_allow_rules(rule, tool, given, allowed):
    """Two slashes are an absolute path, `:*` is any arguments, and a redirection is an edit."""
    permissions = Permissions([rule], CWD)
    tool_input = {"command": given} if tool == "Bash" else {"file_path": given}

    assert allowed == permissions.allows(tool, tool_input, "default")


@pytest.mark.parametrize(
    ("command", "allowed"),
    [
        ("echo hi", True),
        ("sleep 0.1", True),
        ("true", True),
        ("printf x", True),
        ("git status", True),
        ("ls", True),
        ("cat /etc/hostname", False),
        ("echo a > q.txt", False),
        ("touch x", False),
        ("mkdir x", False),
        ("python3 -c 1", False),
        ("echo a; rm b", False),
        ("ls 2>/dev/null | wc -l", True),
    ],
)
def test_harmless_commands_need_no_rule(command, allowed):
    """As seen on the real client in default mode."""
    assert allowed == Permissions([], CWD).allows("Bash", {"command": command}, "default")


@pytest.mark.parametrize(("path", "allowed"), [("a.txt", True), ("/elsewhere/a.txt", False)])
def test_accept_edits_ends_at_the_working_directory(path, allowed):
    """The mode lets writes below the working directory pass."""
    permissions = Permissions([], CWD)

    assert allowed == permissions.allows("Write", {"file_path": path}, "acceptEdits")
    assert not permissions.allows("Write", {"file_path": path}, "default")
    assert permissions.allows("Write", {"file_path": path}, "bypassPermissions")


def ended(stdout="", *, status=0, stderr="", timed_out=False):
    return understand(settings.Hook("hook", 60, ""), Finished(status, stdout, stderr, timed_out, 1))


def test_status_2_blocks_with_standard_error():
    """The model reads the command in front of it."""
    verdict = ended('{"decision": "approve"}', status=2, stderr="E\n")

    assert ("E\n", "[hook]: E\n") == (verdict.block, verdict.block_text)


@pytest.mark.parametrize("status", [1, 3, 127])
def test_other_statuses_do_nothing(status):
    """Neither text nor JSON of a hook that failed counts."""
    verdict = ended('{"decision": "block", "reason": "R"}', status=status)

    assert (None, "") == (verdict.block, verdict.text)


@pytest.mark.parametrize("text", ['{"decision":"block","reason":"a\nb"}', "{", "[1]", '"x"', "plain"])
def test_what_is_no_json_object_is_text(text):
    """Also a block with a raw newline in it."""
    verdict = ended(text)

    assert (None, text) == (verdict.block, verdict.text)


def test_a_hook_that_was_killed_says_nothing():
    """What it wrote before its timeout is not obeyed."""
    assert ended('{"decision":"block","reason":"R"}', timed_out=True).block is None


@pytest.mark.parametrize(
    ("said", "field", "value"),
    [
        ({"decision": "block", "reason": "R"}, "block_text", "R"),
        ({"continue": False, "stopReason": "S"}, "stop_reason", "S"),
        ({"systemMessage": "M"}, "message", "M"),
        ({"hookSpecificOutput": {"additionalContext": "C"}}, "context", "C"),
        ({"hookSpecificOutput": {"permissionDecision": "deny"}}, "permission", "deny"),
        ({"hookSpecificOutput": {"decision": {"behavior": "allow"}}}, "permission", "allow"),
        ({"hookSpecificOutput": 3, "systemMessage": 4}, "message", None),
    ],
)
def test_instructions(said, field, value):
    """Each of them is read from its documented place."""
    assert value == getattr(ended(json.dumps(said)), field)
