"""Dispatching: the prompt arrives as it was given, once, and the agent is what its record says."""

import json
import os
import random
from pathlib import Path

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
    assert (agent["id"], str(world.fleet_home), "a b;c") == (
        environ["FLEET_AGENT_ID"],
        environ["FLEET_HOME"],
        environ["MARK"],
    )
    assert os.path.realpath(world.project) == agent["cwd"]
    assert "CLAUDECODE" not in environ
    assert [agent["pid"]] == world.engines()


def test_the_same_task_is_not_given_out_twice(world):
    """A second dispatch of a living task is refused, names the first, and leaves nothing behind."""
    agent = world.dispatch("once", "hi\nSTUB: say=ok")
    before = sorted(
        str(p)
        for p in world.fleet_home.rglob("*")
        if p.is_file() and "logs" not in p.parts and ".context." not in p.name
    )

    done = world.run("dispatch", "once", "--engine", world.engine, "--prompt", "again")

    assert 1 == done.returncode
    assert agent["id"] in done.stderr.decode()
    after = sorted(
        str(p)
        for p in world.fleet_home.rglob("*")
        if p.is_file() and "logs" not in p.parts and ".context." not in p.name
    )
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


def test_no_conversation_leaves_the_pane(world):
    """Claude Code's agent view would fork the conversation into a daemon of its own: it is off for our agents."""
    agent = world.dispatch("view", "hi\nSTUB: say=ok")

    assert "for agents" not in world.screen(agent)
    world.keys(agent, "Left")
    world.keys(agent, "Enter")
    world.settle()
    assert [agent["pid"]] == world.engines()


test_no_conversation_leaves_the_pane.engines = ("claude-code",)


def test_a_second_engine_of_the_agent_ends_with_it(world):
    """A client that the agent put into a session of its own carries its marks, and `fleet stop` ends it too."""
    world.rules({"match": "nested", "do": "STUB: hang=60"})
    world.config("engines: {claude-code: {bypass_permissions: true}}\n")
    world.dispatch("kin", "hi\nSTUB: bash=setsid claude -p nested >/dev/null 2>&1 & sleep 1\nSTUB: say=ok")
    world.until(lambda: len(nested(world)) == 1, "the nested client runs")

    world.fleet("stop", "kin")

    assert [] == nested(world)


test_a_second_engine_of_the_agent_ends_with_it.engines = ("claude-code",)


def nested(world):
    """The pids of `claude -p` clients with the world's marks."""
    found = []
    for proc in Path("/proc").glob("[0-9]*"):
        try:
            argv = (proc / "cmdline").read_bytes().split(b"\0")
            if b"-p" in argv[:2] and f"FLEET_HOME={world.fleet_home}".encode() in (proc / "environ").read_bytes():
                found.append(proc.name)
        except OSError:
            continue
    return found


def test_a_fleet_home_of_strange_characters(world):
    """Spaces, umlauts and an emoji in FLEET_HOME reach hooks and flags as they are."""
    world.fleet_home = world.root / "f ü \U0001f600"
    world.env["FLEET_HOME"] = str(world.fleet_home)

    agent = world.dispatch("odd", "hi\nSTUB: say=ok\nSTUB: usage=9000")

    assert ("idle", 1) == (agent["state"], len(world.events(agent["id"], "Stop")))
