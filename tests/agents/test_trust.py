"""Trust, for real: an untrusted folder is said before anything starts; with --trust the real client opens no dialog."""

import json
import tomllib

import pytest

from tests.cli.conftest import picture

ENGINES = ("claude-code", "codex")


@pytest.fixture
def strange(world):
    """A folder that the client has never seen."""
    place = world.root / "strange"
    place.mkdir()
    return place


def test_an_untrusted_folder_is_refused_before_the_launch(world, strange):
    """Exit 1, the remedy in the hint, no session, no file."""
    done = world.run("dispatch", "t", "--engine", world.engine, "--cwd", str(strange), "--prompt", "x")

    assert 1 == done.returncode
    assert b"--trust" in done.stderr
    assert {} == picture(world.fleet_home)
    assert "" == world.tmux("list-sessions")


def test_with_trust_the_turn_starts_at_once(world, strange):
    """No dialog opens, and nothing but the trust record of that folder changed in the user's own files."""
    config = world.home / (".claude/.claude.json" if world.engine == "claude-code" else ".codex/config.toml")
    before = config.read_text()

    agent = world.dispatch("t", "hi\nSTUB: say=ok\nSTUB: usage=9000", "--cwd", str(strange), "--trust")

    assert ("idle", str(strange)) == (agent["state"], agent["cwd"])
    if world.engine == "claude-code":
        entry = json.loads(config.read_text())["projects"][str(strange)]
        assert True is entry["hasTrustDialogAccepted"]
        assert str(strange) not in before
    else:
        assert tomllib.loads(before)["projects"] == tomllib.loads(config.read_text())["projects"]


def test_a_successor_finds_the_same_trust(world, strange):
    """A handoff in a folder that was trusted by --trust opens no dialog either."""
    world.rules({"match": "Read the handoff document", "do": "STUB: say=resumed\nSTUB: usage=9000"})
    world.dispatch("t", "hi\nSTUB: say=ok\nSTUB: usage=9000", "--cwd", str(strange), "--trust")

    world.fleet("handoff", "t")

    assert 2 == world.state("t", "idle")["generation"]


def test_trust_for_many_folders_at_once(world):
    """Dispatches at the same time do not undo each other's trust records."""
    places = [world.root / f"d{n}" for n in range(5)]
    for place in places:
        place.mkdir()
    argv = [
        "dispatch",
        "--engine",
        world.engine,
        "--trust",
        "--prompt",
        "x\nSTUB: say=ok\nSTUB: usage=9000",
        "--wait",
        "idle",
    ]

    started = [world.start(*argv, f"t{n}", "--cwd", str(place)) for n, place in enumerate(places)]

    assert [0] * 5 == [one.wait(90) for one in started]
    assert {"idle"} == {a["state"] for a in world.agents()}
