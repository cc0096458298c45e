"""What a real client shows of itself while its model does not answer."""

import json
import subprocess

from tests.agents.conftest import REAL

ENGINES = REAL


def test_a_turn_that_hangs_is_a_stall_though_its_spinner_turns(world):
    """Neither what the client computes for its spinner nor its screen is a sign of life; when the model has answered the
    agent is finished."""
    subprocess.run(["git", "init", "-q", world.project], env=world.env, check=True)
    go = world.root / "go"
    world.rules({"match": "hold on", "do": f"STUB: after={go}\nSTUB: say=there"})
    drain = world.start("drain")
    world.dispatch("slow", "hold on", wait="accepted")

    def shown(code):
        done = world.run("liveness", "slow", "--stale", "0.04", "--json")
        return done.returncode == code and done

    stalled = world.until(lambda: shown(1), "a stall is measured")
    assert b'"liveness": "stalled"' in stalled.stdout
    go.touch()
    world.until(lambda: b'"liveness": "finished"' in (shown(0) or stalled).stdout, "it has answered")
    world.fleet("drain", "--stop")
    drain.wait(30)


def test_an_answer_that_streams_is_no_stall(world):
    """Hooks and log come after it: the screen alone tells, and where nobody looks at that nothing is known."""
    subprocess.run(["git", "init", "-q", world.project], env=world.env, check=True)
    world.rules({"match": "tell", "do": f"STUB: chunk=0.25\nSTUB: say={'lorem ipsum ' * 600}"})
    world.dispatch("teller", "tell", wait="accepted")
    window = ("liveness", "teller", "--stale", "0.15", "--json")
    world.until(lambda: world.run(*window).returncode == 2, "nobody looks at its screen")

    drain = world.start("drain")
    world.until(lambda: world.run(*window).returncode == 0, "its screen is looked at")
    seen = [json.loads(world.run(*window).stdout)["agents"][0] for _ in range(6)]

    assert {("working", "fresh", "screen")} == {(s["state"], s["liveness"], s["sign"]) for s in seen}
    world.fleet("stop", "teller", "--grace", "0")
    world.fleet("drain", "--stop")
    drain.wait(30)


test_an_answer_that_streams_is_no_stall.engines = ("claude-code", "codex")
