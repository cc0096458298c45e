"""Dispatching: the prompt arrives as it was given, once, and the agent is what its record says."""

import json
import os
import random

import pytest

NASTY = "".join(
    [
        "quotes ' \" ` $HOME $(id) \\ backslash;\n",
        "# hash ! bang / slash @ at; \n",
        "emoji \U0001f600 CJK 漢字 combining e\u0301 nbsp\u00a0end\n",
        "    indented, trailing blanks   \n\n\n",
        "a very long line " + "x" * 900 + ";\n",
    ]
)


def prompt_of(size, rng):
    """A prompt of about *size* bytes with everything that ever got lost, and its own answer."""
    text = NASTY
    while len(text.encode()) < size:
        text += "".join(rng.choice(["word ", "; ", "\u00e9", "$x ", "'q' ", "\n", "漢 "]) for _ in range(40))
    return text + "\nSTUB: say=read\nSTUB: usage=20000\nlast line;"


@pytest.mark.parametrize("size", [4_000, 100_000])
def test_a_prompt_arrives_byte_for_byte(world, size):
    """What the model is asked is exactly what the operator gave, whatever characters it holds."""
    prompt = prompt_of(size, random.Random(size))

    agent = world.dispatch("exact", prompt)

    assert "idle" == agent["state"]
    assert prompt in world.model_texts()
    assert 1 == len(world.events(agent["id"], "UserPromptSubmit"))


def test_a_prompt_too_long_for_an_argument_becomes_a_file_that_is_named(world):
    """131,072 bytes cannot be one argument: the prompt lies in a file, and the words name it."""
    prompt = "y" * 131_072

    agent = world.dispatch("long", prompt)

    path = world.fleet_home / "tasks" / f"{agent['dispatch_id']}.md"
    assert prompt == path.read_text()
    assert 1 <= world.model_saw(str(path))


def test_a_prompt_that_begins_with_a_dash_is_no_option(world):
    """`--` stands before it."""
    agent = world.dispatch("dash", "--help me\nSTUB: say=ok")

    assert "idle" == agent["state"]
    assert 1 <= world.model_saw("--help me")


def test_the_panes_process_is_the_engine_and_it_knows_who_it_is(world):
    """The record's pid is the pane's pid, and the engine's environment carries the fleet variables of that record."""
    agent = world.dispatch("who", "hi\nSTUB: say=ok", "--env", "MARK=a b;c")

    pane = world.tmux("list-panes", "-a", "-F", "#{pane_id} #{pane_pid} #{@fleet_agent_id}").split()
    assert [agent["pane_id"], str(agent["pid"]), agent["id"]] == pane
    with open(f"/proc/{agent['pid']}/environ") as f:
        environ = dict(item.partition("=")[::2] for item in f.read().split("\0") if item)
    assert (agent["id"], str(world.fleet_home), "a b;c") == (environ["FLEET_AGENT_ID"], environ["FLEET_HOME"], environ["MARK"])
    assert os.path.realpath(world.project) == agent["cwd"]
    assert "CLAUDECODE" not in environ
    assert [agent["pid"]] == world.engines()


def test_the_same_task_is_not_given_out_twice(world):
    """A second dispatch of a living task is refused, names the first, and leaves nothing behind."""
    agent = world.dispatch("once", "hi\nSTUB: say=ok")
    before = sorted(str(p) for p in world.fleet_home.rglob("*") if p.is_file() and "logs" not in p.parts)

    done = world.run("dispatch", "once", "--engine", world.engine, "--prompt", "again")

    assert 1 == done.returncode
    assert agent["id"] in done.stderr.decode()
    after = sorted(str(p) for p in world.fleet_home.rglob("*") if p.is_file() and "logs" not in p.parts)
    assert before == [p for p in after if "/run/locks/" not in p or p in before]
    assert 1 == len(world.agents())


def test_stop_ends_the_engine_and_frees_the_task(world):
    """After `fleet stop` no process and no session is left, the record is archived, and the task can be given again."""
    agent = world.dispatch("ended", "hi\nSTUB: say=ok")

    world.fleet("stop", "ended")

    assert [] == world.engines()
    assert "" == world.tmux("list-sessions")
    record = json.loads((world.fleet_home / "agents" / "archive" / f"{agent['id']}.json").read_text())
    assert "stopped" == record["archived_cause"]
    assert "idle" == world.dispatch("ended", "hi\nSTUB: say=ok")["state"]


def test_context_is_measured_after_every_turn(world):
    """The figure is that of the turn that has just ended, not of the one before."""
    agent = world.dispatch("figure", "one\nSTUB: say=one\nSTUB: usage=20000")
    first = world.until(lambda: world.agent("figure")["context_pct"], "a first figure")

    world.type(agent, "two\nSTUB: say=two\nSTUB: usage=60000")
    world.until(lambda: len(world.events(agent["id"], "Stop")) == 2, "the second turn ends")
    second = world.until(lambda: (p := world.agent("figure")["context_pct"]) != first and p, "a second figure")

    assert 3 == pytest.approx(second / first, rel=0.01)
