"""A person's tmux configuration that ends sessions or servers nobody looks at."""

import json

import pytest

from tests.agents.world import World
from tests.keys.conftest import Desk


@pytest.fixture
def world():
    """Nothing runs yet: the first dispatch starts the server, with the person's configuration."""
    one = World("fake", None)
    yield one
    one.close()


def test_agents_outlive_destroy_unattached(world):
    """Neither the end of the command that made a session ends it, nor that of whoever looked at it last."""
    (world.home / ".tmux.conf").write_text("set -g destroy-unattached on\n")
    agent = world.dispatch("one", "x\nSTUB: say=ok", "--wait", "idle")
    assert 0 == world.run("drain", "--detach").returncode

    assert "on" == world.tmux("show-options", "-gv", "destroy-unattached").strip()
    assert ["idle"] == [a["state"] for a in world.agents()]
    assert json.loads(world.run("drain", "--status", "--json").stdout)["running"]
    assert agent["id"] == world.agents()[0]["id"]


def test_a_server_that_ends_at_once_is_told_at_once(world):
    """With `exit-unattached on` the session goes before its engine starts; nobody waits for the timeout."""
    (world.home / ".tmux.conf").write_text("set -g exit-unattached on\n")

    done = world.run("dispatch", "one", "--engine", "command", "--timeout", "3600", "--", "sleep", "600", timeout=60)

    assert done.returncode in (1, 5), done.stderr  # told by the wait, or by the dispatch when it goes that soon
    assert 1 == done.stderr.decode().count("fleet: ")
    assert not [a for a in world.agents() if a["state"] not in ("gone", "exited")]


def test_the_doctor_names_exit_unattached():
    """While somebody is attached all goes well; the doctor tells what will happen and what mends it."""
    desk = Desk()
    desk.sit()
    try:
        assert not [one for one in found(desk) if "exit-unattached" in one["what"]]
        desk.tmux("set-option", "-s", "exit-unattached", "on")

        (named,) = [one for one in found(desk) if "exit-unattached" in one["what"]]

        assert ("problem", "tmux") == (named["grade"], named["check"])
        assert "set -s exit-unattached off" in named["cure"]
    finally:
        desk.tmux("set-option", "-s", "exit-unattached", "off")
        desk.close()


def found(desk):
    """What the doctor finds."""
    return json.loads(desk.run("doctor", "--json").stdout)
