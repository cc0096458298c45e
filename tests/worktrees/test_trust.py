"""Trust of worktrees, with the real clients: what fleet says before the launch is what they do."""

import subprocess

import pytest

from tests.agents.world import World, program
from tests.stub.server import StubServer

PROMPT = "hi\nSTUB: say=ok\nSTUB: usage=9000"


@pytest.fixture(scope="module")
def server():
    with StubServer() as stub:
        yield stub


@pytest.fixture(params=[pytest.param(e, marks=pytest.mark.agent) for e in ("claude-code", "codex")])
def world(request, server):
    """A fleet with a real client, whose user trusts the project, a repository."""
    if program(request.param) is None:
        pytest.skip(f"the real {request.param} is not installed: scripts/get-clients")
    server.stub.reset()
    one = World(request.param, server)
    (one.home / ".gitconfig").write_text("[user]\n\tname = n\n\temail = e@x\n[init]\n\tdefaultBranch = main\n")
    begin(one, one.project)
    yield one
    one.close()


def git(world, *args, at):
    subprocess.run(["git", "-C", str(at), *args], env=world.env, check=True, capture_output=True)


def begin(world, place):
    place.mkdir(exist_ok=True)
    git(world, "init", "-q", at=place)
    (place / "f").write_text("x")
    git(world, "add", "f", at=place)
    git(world, "commit", "-qm", "m", at=place)


def test_a_worktree_of_a_trusted_repository_needs_nothing(world):
    """Both clients take the trust of the main checkout for its worktrees: no dialog, no record written."""
    agent = world.dispatch("t", PROMPT, "--worktree")

    assert "idle" == agent["state"]
    assert "/worktrees/p-" in agent["cwd"]


def test_a_worktree_of_a_strange_repository(world):
    """Refused without --trust, and nothing of the tree is left; with it the turn starts at once."""
    strange = world.root / "strange"
    begin(world, strange)

    done = world.run("dispatch", "t", "--engine", world.engine, "--cwd", str(strange), "--worktree", "--prompt", "x")

    assert 1 == done.returncode
    assert b"does not trust" in done.stderr
    assert [] == list((world.fleet_home / "worktrees").iterdir())
    assert "idle" == world.dispatch("t", PROMPT, "--worktree", "--cwd", str(strange), "--trust")["state"]


def test_a_worktree_of_a_bare_repository(world):
    """With --trust no dialog opens there either."""
    bare = world.root / "b.git"
    git(world, "clone", "-q", "--bare", str(world.project), str(bare), at=world.root)

    assert "idle" == world.dispatch("t", PROMPT, "--worktree", "--cwd", str(bare), "--trust")["state"]
