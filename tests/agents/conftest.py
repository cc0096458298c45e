"""The same tests for the fake agent and, marked `agent`, for the real Claude Code and Codex."""

import pytest

from tests.agents.world import World, program
from tests.stub.server import StubServer

REAL = ("claude-code", "codex", "gemini", "opencode")
HANG_SECONDS = 300  #: opencode alone takes 30 s to start on a busy machine; each wait within has its own end
USUAL = ("fake", "claude-code", "codex")


def pytest_generate_tests(metafunc):
    if "engine" in metafunc.fixturenames:
        wanted = getattr(metafunc.function, "engines", getattr(metafunc.module, "ENGINES", USUAL))
        real = [pytest.mark.agent, pytest.mark.timeout(HANG_SECONDS)]
        metafunc.parametrize("engine", [pytest.param(e, marks=real if e in REAL else []) for e in wanted])


@pytest.fixture(scope="session")
def server():
    """A model server on loopback for the real clients."""
    with StubServer() as stub:
        yield stub


@pytest.fixture
def world(engine, server, request):
    """A fleet with that engine."""
    if engine in REAL and program(engine) is None:
        pytest.skip(f"the real {engine} is not installed: scripts/get-clients")
    server.stub.reset()
    one = World(engine, server)
    yield one
    one.close()
