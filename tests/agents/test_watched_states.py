"""Every state of the real clients as `fleet list --json` tells it while a drain watches their screens."""

import os
import signal
import subprocess

import pytest

ENGINES = ("claude-code", "codex")
ESCALATE = 'STUB: tool=exec_command {{"cmd":"{}","sandbox_permissions":"require_escalated","justification":"why"}}'


@pytest.fixture
def watched(world):
    """The world with a drain that goes on, and one idle agent."""
    world.env["CLAUDE_CODE_MAX_RETRIES"] = "2"  # the client's own patience is many minutes
    drain = world.start("drain")
    world.one = world.dispatch("t", "hello\nSTUB: say=hi")
    yield world
    drain.terminate()
    drain.wait(30)


def tool(world, command):
    """What makes the client ask for permission to run *command*."""
    return ESCALATE.format(command) if world.engine == "codex" else f"STUB: bash={command}"


def told(world, state, reason=None, **more):
    """Wait until the list says so, with these fields; the agent."""

    def there():
        agent = world.agent("t")
        wanted = {"state": state, "reason": reason, **more}
        return agent if wanted == {name: agent[name] for name in wanted} else None

    return world.until(there, f"t is {state} ({reason}) {more}")


def test_what_no_hook_tells(watched):
    """A dialog, a tool that a person allowed, a menu that a person opened, a half-typed draft, and each one's end."""
    agent = watched.one
    watched.type(agent, f"ask\n{tool(watched, 'sleep 4; touch x')}\nSTUB: say=over")
    told(watched, "waiting", "permission", state_confidence="sure")
    watched.until(lambda: "?" in watched.agent("t")["state_evidence"], "the dialog's question is quoted")
    watched.keys(agent, "y" if watched.engine == "codex" else "1")
    told(watched, "working", state_source="screen")
    told(watched, "idle", state_source="hook")

    watched.type(agent, "/model")
    told(watched, "waiting", "dialog", state_source="screen")
    watched.keys(agent, "Escape")
    told(watched, "idle")

    watched.type(agent, "half typed", enter=False)
    told(watched, "waiting", "draft")
    watched.keys(agent, *["BSpace"] * 12)
    told(watched, "idle")


def test_an_interrupted_agent_is_idle(watched):
    """Esc before the first word, and in a running tool: Claude Code fires no hook for either."""
    agent = watched.one
    watched.type(agent, "slow\nSTUB: delay=60\nSTUB: say=x")
    told(watched, "working", state_confidence="sure")
    watched.keys(agent, "Escape")
    told(watched, "idle", "interrupted")
    if watched.engine == "claude-code":
        watched.keys(agent, "C-c")  # the prompt is back in the composer
        watched.until(lambda: "slow" not in watched.screen(agent).split("❯")[-1], "the composer is empty")

    watched.type(agent, f"ask\n{tool(watched, 'sleep 60; touch x')}\nSTUB: say=over")
    told(watched, "waiting", "permission")
    watched.keys(agent, "Escape")
    told(watched, "idle", "interrupted")


def test_a_suspended_agent_waits(watched):
    """A client that Ctrl-Z took off its terminal waits for somebody: no shell is there to bring it back, SIGCONT does."""
    agent = watched.one
    watched.keys(agent, "C-z")
    told(watched, "waiting", "dialog", state_source="screen")
    said = watched.fleet("explain", "t")
    assert "has been suspended" in said
    assert "kill -CONT PID" in said
    os.kill(agent["pid"], signal.SIGCONT)
    told(watched, "idle")


test_a_suspended_agent_waits.engines = ("claude-code",)


def test_a_prompt_typed_into_a_running_turn(watched):
    """It is one turn or two, as the client has it: working throughout, then idle."""
    agent = watched.one
    go = watched.root / "go"
    watched.type(agent, f"slow\nSTUB: after={go}\nSTUB: say=x")
    told(watched, "working")
    watched.type(agent, "and another thing")

    told(watched, "working")
    go.touch()
    told(watched, "idle")
    assert watched.until(lambda: watched.model_saw("and another thing"), "the model saw it")


def test_an_overloaded_model_is_work_and_a_limit_is_not(watched):
    """Retries are silent in the hooks: the screen names them. A usage limit waits for the operator."""
    agent = watched.one
    limit = "STUB: error=429\nSTUB: errors=40\nSTUB: errmsg=This would exceed your account's rate limit."
    watched.rules(
        {"match": "storm", "do": "STUB: error=529\nSTUB: errors=2\nSTUB: say=over"}, {"match": "much", "do": limit}
    )
    watched.type(agent, "storm")
    told(watched, "working", state_confidence="sure")
    told(watched, "idle")

    watched.type(agent, "much")
    told(watched, "waiting", "limit")


def test_a_compaction(watched):
    """`/compact` is its own state, by hook and screen, and ends in idle."""
    agent = watched.one
    # of one exchange Claude Code sometimes says that it is not enough to compact
    watched.type(agent, "again\nSTUB: say=ok again")
    watched.until(lambda: len(watched.events(agent["id"], "Stop")) == 2, "the second turn ends")
    watched.stub.stub.defaults({"delay": 6})
    watched.type(agent, "/compact")

    told(watched, "compacting")
    watched.stub.stub.reset()
    told(watched, "idle")


def test_a_pane_beside_the_agents_own(watched):
    """Whatever runs in a second pane of its window, and whatever it shows: the agent's own pane is looked at."""
    agent = watched.one
    prose = "printf 'Do you want to proceed?\\n1. Yes\\n2. No\\nEsc to cancel'; exec sleep 600"
    subprocess.run(
        ["tmux", "-S", watched.socket, "split-window", "-t", agent["pane_id"], "sh", "-c", prose], check=True
    )

    go = watched.root / "go"
    watched.type(agent, f"slow\nSTUB: after={go}\nSTUB: say=x")
    told(watched, "working", state_confidence="sure")
    go.touch()
    told(watched, "idle", state_confidence="sure")


def test_a_turn_that_the_client_starts_itself(watched):
    """A background task is counted while it runs; its end starts a turn that nobody asked for."""
    if watched.engine != "claude-code":
        pytest.skip("Codex 0.171 starts no turn by itself")
    start = 'STUB: tool=Bash {"command":"sleep 5","run_in_background":true,"description":"wait"}'
    watched.type(watched.one, f"go\n{start}\nSTUB: say=started")

    told(watched, "idle", background=1)
    told(watched, "idle", background=0)
    prompts = [e for e in watched.events(watched.one["id"]) if e["event"] == "UserPromptSubmit"]
    assert 3 == len(prompts), "the client has told itself of the task's end"


def test_a_question_of_the_model(watched):
    """It is no permission: the question and its options are told."""
    if watched.engine != "claude-code":
        pytest.skip("Codex 0.171 asks in plan mode only: recorded in tests/screens")
    ask = (
        'STUB: tool=AskUserQuestion {"questions":[{"question":"Which database?","header":"Database","multiSelect":false,'
        '"options":[{"label":"PostgreSQL","description":"a server"},{"label":"SQLite","description":"one file"}]}]}'
    )
    watched.rules({"match": "plan", "do": f"{ask}\nSTUB: say=over"})
    watched.type(watched.one, "plan")

    told(watched, "waiting", "question", state_evidence="Which database?")
    assert ["PostgreSQL", "SQLite"] == watched.json("explain", "t")["options"][:2]
    watched.keys(watched.one, "1")
    told(watched, "idle")


def test_a_lost_login(watched):
    """The engine says that it is not logged in."""
    watched.rules({"match": "go", "do": "STUB: error=401\nSTUB: errors=40\nSTUB: errmsg=Incorrect API key provided"})
    watched.type(watched.one, "go")

    told(watched, "waiting", "login")


def test_the_end_of_an_engine_and_of_its_session(watched):
    """An engine that ended keeps its pane and its status; without pane and engine it is gone."""
    os.kill(watched.one["pid"], signal.SIGKILL)
    told(watched, "exited", exit_signal=9)

    watched.tmux("kill-session", "-t", f"={watched.one['tmux_session']}")
    told(watched, "gone")


def test_a_server_that_does_not_answer(watched):
    """Unknown for as long as nobody could look, then what it was: never gone."""
    pid = int(watched.tmux("display-message", "-p", "#{pid}"))
    os.kill(pid, signal.SIGSTOP)
    try:
        assert "unknown" == watched.agent("t")["state"]
    finally:
        os.kill(pid, signal.SIGCONT)

    told(watched, "idle", pid=watched.one["pid"])


def test_a_folder_that_is_trusted_no_more(world):
    """Trust that went between fleet's look and the client's start: the question is told, and answered by its label."""
    if world.engine != "claude-code":
        pytest.skip("Codex gets its trust as an argument; its question is recorded in tests/screens")
    real = (world.bin / "claude").resolve()
    (world.bin / "claude").unlink()
    (world.bin / "claude").write_text(
        f'#!/bin/sh\nsed -i \'s/"hasTrustDialogAccepted": *true/"hasTrustDialogAccepted": false/\' '
        f'{world.home}/.claude.json {world.home}/.claude/.claude.json 2>/dev/null\nexec {real} "$@"\n'
    )
    (world.bin / "claude").chmod(0o755)
    drain = world.start("drain")
    world.fleet(
        "dispatch", "t", "--engine", "claude", "--model", "claude-sonnet-4-5", "--prompt", "hello\nSTUB: say=hi"
    )

    told(world, "waiting", "trust")
    world.fleet("approve", "t", "Yes, I trust this folder")
    told(world, "idle")
    drain.terminate()
    drain.wait(30)
