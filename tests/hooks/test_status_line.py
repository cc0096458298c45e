"""The status line's program: the user's own command as if it ran alone, and the exact figure in the record."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from tests.hooks.conftest import HOOK, ID

PROGRAM = os.path.join(os.path.dirname(HOOK), "status_line.py")
STAMP = "2026-11-30T13:00:%02d.000Z"
SOON = 10


def payload(agent, tokens=150_000, window=200_000, **more):
    """What Claude Code tells its status line; by default the measured figure."""
    with open(
        os.path.join(os.path.dirname(HOOK), "..", "tests", "fixtures", "real", "StatusLine-150k.json"), encoding="utf-8"
    ) as f:
        data = json.load(f)
    used = {"input_tokens": tokens, "output_tokens": 5, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0}
    data["context_window"] = {
        **data["context_window"],
        "context_window_size": window,
        "current_usage": used if tokens else None,
    }
    return {**data, "session_id": "s1", "prompt_id": "p1", "transcript_path": agent.log, **more}


def show(agent, *command, data=None, env=None, raw=None, **more):
    """Run the program as Claude Code does; the finished process."""
    argv = [sys.executable, "-I", "-S", PROGRAM, "claude-code", *(["--", *command] if command else [])]
    body = json.dumps(payload(agent, **more) if data is None else data).encode() if raw is None else raw
    return subprocess.run(argv, input=body, env=agent.env() if env is None else env, capture_output=True, timeout=30)


def figure(agent):
    record = agent.record()
    return record["context_source"], record["context_pct"]


def soon(condition):
    """The recording beside a command is nobody's child: wait for what it writes."""
    end = time.monotonic() + SOON
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_the_exact_figure_is_recorded_and_nothing_is_shown(agent):
    """Without a command of the user's there is no output at all."""
    done = show(agent)

    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert ("statusline", 75) == figure(agent)
    assert "" == agent.errors()


def test_the_users_command_is_passed_through(agent):
    """Its standard input, output, error and status; the figure is recorded beside it."""
    done = show(agent, "cat; echo out; echo err >&2; exit 7")

    assert (7, json.dumps(payload(agent)).encode() + b"out\n", b"err\n") == (done.returncode, done.stdout, done.stderr)
    soon(lambda: ("statusline", 75) == figure(agent))


@pytest.mark.parametrize("known", [True, False], ids=["an agent", "no agent"])
def test_several_words_are_a_program(agent, known):
    """Without a shell between; and one that is not there is 127, as in a shell."""
    env = agent.env() if known else {"PATH": "/usr/bin:/bin"}
    done = show(agent, "printf", "%s|", "a b", "$HOME", env=env)
    assert (0, b"a b|$HOME|") == (done.returncode, done.stdout)

    done = show(agent, "/no/such/program", "x", env=env)
    assert (127, b"") == (done.returncode, done.stdout)
    assert b"/no/such/program" in done.stderr


def test_a_large_input_and_a_command_that_does_not_read(agent):
    """More than a pipe holds goes through whole, and may also be left unread."""
    data = payload(agent, pad="x" * 300_000)
    done = show(agent, "wc -c", data=data)
    assert len(json.dumps(data)) == int(done.stdout)

    begin = time.monotonic()
    assert b"x\n" == show(agent, "echo x", data=data).stdout
    assert time.monotonic() - begin < SOON


def test_a_signal_reaches_the_users_command_itself(agent):
    """The client ends a line that takes too long: no process of it is left."""
    argv = [sys.executable, "-I", "-S", PROGRAM, "claude-code", "--", "echo $$; exec sleep 60"]
    line = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=agent.env())
    line.stdin.write(json.dumps(payload(agent)).encode())
    line.stdin.close()
    assert line.pid == int(line.stdout.readline())
    line.send_signal(signal.SIGTERM)
    assert -signal.SIGTERM == line.wait(timeout=SOON)
    line.stdout.close()


def test_the_output_ends_with_the_command(agent, tmp_path):
    """The recording holds nothing of what the client reads, however long it takes."""
    gate = tmp_path / "gate"
    os.mkfifo(gate)
    root = os.path.dirname(os.path.dirname(os.path.abspath(PROGRAM)))
    code = (f"import sys; sys.path.insert(0, {root!r}); import fleet.hooks.status_line as s; "
            f"s._record = lambda *_: open({str(gate)!r}).read(); s.main(['claude-code', '--', 'echo x'])")  # fmt: skip

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code], input=b"{}", env=agent.env(), capture_output=True, timeout=SOON
    )

    assert b"x\n" == done.stdout
    gate.write_text("go on")


def test_a_busy_record_is_left_alone(agent):
    """The figure is not worth waiting for: the next answer brings the next one."""
    import fcntl

    with open(agent.layout.record_lock(ID), "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert b"" == show(agent).stdout
    assert (None, None) == figure(agent)


@pytest.mark.parametrize("env", [{}, {"FLEET_AGENT_ID": "ffffffff"}, {"FLEET_AGENT_ID": "../x"}])
def test_a_session_that_fleet_does_not_know(agent, env, tmp_path):
    """The command runs as if alone, and nothing is written anywhere."""
    before = agent.record(), sorted(os.listdir(agent.layout.run))
    done = show(
        agent, "cat", env={"PATH": "/usr/bin:/bin", "FLEET_HOME": agent.layout.home, **env}, raw=b"anything \xff"
    )

    assert (0, b"anything \xff") == (done.returncode, done.stdout)
    assert before == (agent.record(), sorted(os.listdir(agent.layout.run)))


@pytest.mark.parametrize("raw", [b"", b"[]", b"{", b"\xff", b'{"context_window": 7}', b'{"context_window": {"current_usage": {"input_tokens": true}, "context_window_size": 1}}',
                                 b'{"context_window": {"current_usage": {"input_tokens": 5}, "context_window_size": -1}}', b'{"context_window": null, "session_id": 3}'])  # fmt: skip
def test_no_figure_or_nonsense_changes_nothing(agent, raw):
    """The status is 0 and nothing is shown; what could not be read stands in the log."""
    done = show(agent, raw=raw)

    assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)
    assert (None, None) == figure(agent)


def test_another_client_of_the_agents_has_no_say(agent):
    """A `claude` that the agent itself started is not the engine."""
    agent.set_record(pid=1)
    show(agent)
    assert (None, None) == figure(agent)


def test_a_hook_does_not_overwrite_a_fresher_figure(agent):
    """At Stop the transcript says less than the status line already did, with a window that fleet does not know."""
    show(agent, tokens=60_000, window=120_000)
    agent.stop(tokens=50_000)
    assert ("statusline", 50) == figure(agent)


def test_an_old_figure_does_not_outrank_a_newer_turn(agent):
    """The transcript's tokens count, over the window that the engine named."""
    show(agent, tokens=20_000, window=100_000)
    agent.prompt(prompt_id="p2")
    agent.stop(tokens=50_000, prompt_id="p2")
    assert ("hook", 50) == figure(agent)


@pytest.mark.parametrize(
    ("answered", "wanted"),
    [("2026-11-30T13:00:00.000Z", ("statusline", 30)), ("2999-01-01T00:00:00.000Z", ("hook", 25))],
)
def test_the_later_of_the_two_wins_where_the_log_has_times(agent, answered, wanted):
    """By the time of the answer against the time at which the status line was told."""
    show(agent, tokens=60_000)
    used = {"input_tokens": 50_000, "cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
    agent.write({"type": "assistant", "timestamp": answered, "message": {
        "model": "claude-sonnet-4-5", "usage": used, "content": [{"type": "text", "text": "done"}]}})  # fmt: skip
    agent.hook("Stop", last_assistant_message="done")
    assert wanted == figure(agent)


def test_thresholds_follow_the_exact_figure(agent):
    """A transcript whose model fleet does not know asks for a handoff all the same."""
    show(agent, tokens=55_000, window=100_000, model={"id": "claude-next"})
    outcome = agent.stop(tokens=55_000, model="claude-next")

    assert outcome.block.startswith("HANDOFF REQUESTED")
    assert ("statusline", 55) == figure(agent)


def test_after_a_compaction_the_old_figure_is_void(agent):
    """Claude Code goes on telling it until the next answer; the transcript shows that there was none."""
    agent.say("done", 150_000)
    show(agent)
    agent.write({"type": "system", "subtype": "compact_boundary"})
    agent.hook("PostCompact", trigger="manual")
    assert (None, None) == figure(agent)

    show(agent, prompt_id="p2")
    assert (None, None) == figure(agent)

    agent.say("afterwards", 30_000)
    show(agent, tokens=30_000, prompt_id="p3")
    assert ("statusline", 15) == figure(agent)


def test_after_clear_a_late_figure_of_the_old_conversation_is_void(agent):
    """It has another session; the new one's first figure counts."""
    agent.say("done", 150_000)
    show(agent)
    agent.hook("SessionStart", source="clear", session_id="s2")
    show(agent)
    assert (None, None) == figure(agent)

    show(agent, tokens=10_000, session_id="s2")
    assert ("statusline", 5) == figure(agent)


def test_an_agent_that_was_filed_away_is_not_brought_back(agent):
    """A late figure finds no record and leaves nothing."""
    os.unlink(agent.layout.record(ID))
    show(agent)
    assert not os.path.exists(agent.layout.record(ID))
    assert not os.path.exists(agent.layout.figure(ID))


def test_fields_of_others_survive(agent):
    """Two fields of the hook's ten change, nothing else."""
    agent.set_record(stranger={"x": 1})
    before = agent.record()
    show(agent)
    after = agent.record()
    assert {"context_pct", "context_source"} == {k for k in after if before[k] != after[k]}
