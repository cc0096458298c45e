"""The real Claude Code and Codex work against the stub, in a pane and with their hooks."""

import os
from pathlib import Path

import pytest

from tests.fakeagent.bench import Claude, Client, Hooks, until
from tests.stub import codex_home
from tests.stub.server import StubServer

CLIENTS = Path.home() / ".cache/tmux-fleet-tests/clients/node_modules"  # before a test gets a home of its own
CLAUDE = Path(os.environ.get("FLEET_TEST_CLAUDE") or CLIENTS / "@anthropic-ai/claude-code-linux-x64/claude")
CODEX = Path(
    os.environ.get("FLEET_TEST_CODEX") or CLIENTS / "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex"
)
CODEX_EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "PreToolUse",
    "PostToolUse",
    "Stop",
    "SessionEnd",
    "Interrupt",
)

pytestmark = pytest.mark.agent


@pytest.fixture
def stub():
    with StubServer() as server:
        yield server


@pytest.fixture
def claude(tmp_path, stub):
    if not CLAUDE.exists():
        pytest.skip(f"no Claude Code at {CLAUDE}: set FLEET_TEST_CLAUDE")
    it = Claude(tmp_path, str(CLAUDE), stub.port).start()
    yield it.ready()
    it.pane.close()


@pytest.fixture
def codex(tmp_path, stub):
    if not CODEX.exists():
        pytest.skip(f"no Codex at {CODEX}: set FLEET_TEST_CODEX")
    hooks, project = Hooks(tmp_path / "hooks"), tmp_path / "project"
    project.mkdir()
    registered = {
        event: [{"hooks": [{"type": "command", "command": f"{hooks.command} {event}"}]}] for event in CODEX_EVENTS
    }
    env = codex_home.seed(tmp_path / "codex-home", stub.port, [project], hooks={"hooks": registered})
    argv = [str(CODEX), "--dangerously-bypass-hook-trust"]
    it = Client(tmp_path, project, hooks, argv, env, tmp_path / "codex-home" / ".codex")
    yield it
    it.pane.close()


def deliver(it, text):
    """Paste into Codex and press Enter once the text is in its composer."""
    it.pane.paste(text)
    it.pane.shows(text.splitlines()[-1])
    it.pane.key("Enter")


def test_claude_answers_a_rule_with_the_groups_of_its_match(claude, stub):
    """A rule steers a prompt that is not ours: the file the text names is written by the real client."""
    draft = claude.project / "drafts" / "a1.md"
    rule = {
        "match": r"HANDOFF REQUESTED.*?(?P<draft>/\S+\.md)",
        "in": str(claude.project),
        "do": [r"STUB: write=\g<draft>|## Completed\n\nx", "STUB: say=MILESTONE"],
    }
    stub.stub.rules([rule])
    stop = claude.turn(f"HANDOFF REQUESTED: write {draft} please")

    assert "MILESTONE" == stop["last_assistant_message"]
    assert "## Completed\n\nx" == draft.read_text()


def test_claude_subagents_are_steered_by_their_own_prompt(claude):
    """agent= starts a subagent, and the directives in its prompt are for it alone."""
    claude.turn("delegate\nSTUB: agent=look\\nSTUB: bash=echo sub > sub.txt\\nSTUB: say=sub done\nSTUB: say=all done")

    assert "sub\n" == (claude.project / "sub.txt").read_text()
    assert "sub done" == claude.event("SubagentStop")["last_assistant_message"]
    assert "all done" == claude.event("Stop")["last_assistant_message"]


def test_codex_runs_a_turn_with_a_tool(codex):
    """SessionStart comes with the first prompt; the shell tool really runs."""
    codex.pane.shows("Ask Codex to do anything")
    deliver(codex, "work\nSTUB: bash=echo hi > made.txt\nSTUB: say=done by codex")
    stop = codex.event("Stop")

    assert "done by codex" == stop["last_assistant_message"]
    assert "hi\n" == (codex.project / "made.txt").read_text()
    assert ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"] == codex.hooks.names()


def test_codex_writes_a_file_through_its_shell(codex):
    """write= works for a client that has no tool for it."""
    codex.pane.shows("Ask Codex to do anything")
    deliver(codex, "write\nSTUB: write=made.txt|one\\ntwo\nSTUB: say=done")
    codex.event("Stop")

    assert "one\ntwo\n" == (codex.project / "made.txt").read_text()


def test_a_stop_block_of_codex_reaches_the_stub(codex, stub):
    """The reason becomes the next user message, and directives in it steer the answer."""
    codex.pane.shows("Ask Codex to do anything")
    codex.hooks.says("Stop", {"decision": "block", "reason": "go on\nSTUB: say=went on"})
    deliver(codex, "start\nSTUB: say=stopping")
    codex.event("Stop", 2)

    assert ["stopping", "went on"] == [stop["last_assistant_message"] for stop in codex.hooks.events("Stop")]
    until(lambda: any("hook_prompt" in str(entry["body"]) for entry in stub.stub.log()), "the feedback")
