"""Records styled screens of the real clients for test_screens.py: `python -m tests.engines.record`.

Each file is what `capture-pane -e -p` printed in one situation, named <engine>/<version>/<situation>.txt.
"""

import sys
from pathlib import Path

from fleet.formats.texts import WAKE_LINE
from tests.agents.world import World
from tests.stub.server import StubServer

SCREENS = Path(__file__).parent / "screens"
VERSIONS = {"claude-code": "2.1.197", "codex": "0.171.0"}


def record(engine):
    """Every situation of one engine."""
    folder = SCREENS / engine / VERSIONS[engine]
    folder.mkdir(parents=True, exist_ok=True)
    with StubServer() as stub:
        world = World(engine, stub)
        try:
            situations(world, folder)
        finally:
            world.close()


def situations(world, folder):
    def keep(name):
        world.settle()
        text = world.tmux("capture-pane", "-e", "-p", "-t", agent["pane_id"])
        (folder / f"{name}.txt").write_text(text.rstrip("\n") + "\n")

    ask = (
        'STUB: tool=exec_command {"cmd":"touch x","sandbox_permissions":"require_escalated","justification":"why"}'
        if world.engine == "codex"
        else f"STUB: bash=touch {world.project}/x"
    )
    agent = world.dispatch("screens", "hello\nSTUB: say=hi there")
    world.tmux("resize-window", "-t", agent["pane_id"], "-x", "100", "-y", "30")
    keep("idle")
    world.type(agent, "half typed", enter=False)
    keep("draft")
    world.keys(agent, "C-u")
    world.settle()
    world.type(agent, "one\ntwo; three\n  four", enter=False)
    keep("draft-of-three-lines")
    world.keys(agent, "C-u", "C-u", "C-u", "C-u", "C-u", "C-u")
    world.settle()
    world.type(agent, WAKE_LINE, enter=False)
    keep("wake-line")
    world.tmux("resize-window", "-t", agent["pane_id"], "-x", "60", "-y", "30")
    keep("wake-line-wrapped")
    world.tmux("resize-window", "-t", agent["pane_id"], "-x", "100", "-y", "30")
    world.keys(agent, "C-u", "C-u", "C-u")
    world.settle()
    world.type(agent, "slow\nSTUB: delay=4\nSTUB: say=done")
    world.until(lambda: "interrupt" in world.screen(agent), "it works")
    keep("working")
    world.type(agent, "typed while busy", enter=False)
    keep("working-with-draft")
    world.keys(agent, "C-u")
    world.state("screens", "idle")
    keep("idle-after-turn")
    world.type(agent, f"ask\n{ask}\nSTUB: say=over")
    world.until(lambda: "Yes" in world.screen(agent), "it asks")
    keep("permission")
    world.tmux("resize-window", "-t", agent["pane_id"], "-x", "60", "-y", "30")
    keep("permission-narrow")
    world.tmux("resize-window", "-t", agent["pane_id"], "-x", "100", "-y", "30")
    world.keys(agent, "Escape")
    keep("interrupted")
    world.keys(agent, "/")
    keep("slash-menu")
    world.keys(agent, "BSpace")
    world.settle()
    world.keys(agent, "C-r")
    keep("history-search")
    world.keys(agent, "Escape")
    world.settle()
    if world.engine == "claude-code":  # Codex shows no composer there
        world.keys(agent, "!")
        keep("shell-mode")
        world.keys(agent, "BSpace")
        world.settle()
    world.type(agent, "/model")
    keep("model-menu")


if __name__ == "__main__":
    for one in sys.argv[1:] or VERSIONS:
        record(one)
