"""Whose hook it is: only what the recorded engine itself started speaks for the agent."""

import os
import shutil
import subprocess
import sys

import pytest

from fleet.hooks.identity import speaks_for

HOOK = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "hooks", "on_event.py")
RUN = [sys.executable, "-I", "-S", HOOK, "claude-code", "Stop"]
#: A program that is no shell and no engine, and runs what it is given, as `claude -p` runs its own hooks.
OTHER = [
    sys.executable,
    "-I",
    "-S",
    "-c",
    "import os, sys; os.waitpid(os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ), 0)",
]
SHELL = ["/bin/sh", "-c", '"$@"; exit $?', "sh"]


@pytest.mark.parametrize("chain", [[], SHELL, [*SHELL, *SHELL, *SHELL]])
def test_an_engine_may_run_its_hooks_through_shells(agent, chain):
    """As Claude Code and Codex do."""
    agent.hook("Stop", argv=[*chain, *RUN])
    assert ["Stop"] == [line["event"] for line in agent.events()]


@pytest.mark.parametrize("chain", [OTHER, [*SHELL, *OTHER], [*SHELL, *OTHER, *SHELL], [*OTHER, *SHELL]])
def test_a_client_that_the_agent_started_does_not_speak_for_it(agent, chain):
    """`claude -p` in the agent's shell inherits FLEET_AGENT_ID; its hooks change nothing and are told nothing."""
    agent.send("for the agent only")
    before = agent.record()
    assert agent.hook("Stop", argv=[*chain, *RUN]).answer is None
    assert before == agent.record()
    assert [] == agent.events()
    assert [("for the agent only", "new")] == agent.spool()


def test_another_engines_hook_does_not_speak_for_it(agent):
    """The recorded engine is elsewhere."""
    agent.set_record(pid=1)
    agent.hook("Stop")
    assert [] == agent.events()


def test_a_record_without_an_engine_is_taken_at_its_word(agent):
    """Another dispatcher's record names no pid."""
    agent.set_record(pid=None)
    agent.hook("Stop")
    assert ["Stop"] == [line["event"] for line in agent.events()]


def test_a_program_cannot_pass_for_a_shell_by_its_name(agent, tmp_path):
    """A process name may hold blanks and parentheses, and so the whole of another process's line; it is one name."""
    strange = tmp_path / f"sh) S {os.getpid()} ("
    shutil.copy("/bin/sh", strange)
    agent.hook("Stop", argv=[str(strange), *SHELL[1:], *RUN])
    assert [] == agent.events()
    assert "" == agent.errors()


def test_a_dead_parent_speaks_for_nobody():
    """A process that is not there any more has no ancestors."""
    done = subprocess.Popen(["/bin/true"])
    done.wait()
    assert not speaks_for(os.getpid(), done.pid)


def test_the_search_ends():
    """At the top of the process tree, whoever stands there."""
    assert not speaks_for(2**22 + 1, 1)


def test_ps_tells_the_same_as_proc():
    """Where there is no /proc the answer comes from ps(1)."""
    import os

    from fleet.hooks import identity

    assert identity.look_up(os.getpid()) == identity.ask_ps(os.getpid())
    assert None is identity.ask_ps(2**22 + 1)


@pytest.mark.parametrize(("parents", "mine"), [
    ({7: ("codex", 42), 42: ("node", 1)}, True),
    ({7: ("sh", 8), 8: ("codex", 42), 42: ("node", 1)}, True),
    ({7: ("codex", 42), 42: ("claude", 1)}, False),
    ({7: ("claude", 8), 8: ("bash", 42), 42: ("node", 1)}, False),
    ({7: ("claude", 8), 8: ("claude", 42), 42: ("node", 1)}, False),
])  # fmt: skip
def test_a_wrapper_that_was_recorded_speaks_through_its_direct_child(monkeypatch, parents, mine):
    """npm's node wrapper runs the native client as its child; a client behind a shell is another one."""
    from fleet.hooks import identity

    monkeypatch.setattr(identity, "look_up", parents.get)

    assert mine == speaks_for(42, parent=7)
