"""Clients on a bench; every tmux server is killed by its own socket when the test ends."""

import os
from pathlib import Path

import pytest

from tests.fakeagent import bench
from tests.stub.server import StubServer

CLIENTS = Path.home() / ".cache/tmux-fleet-tests/clients/node_modules"  # before a test gets a home of its own
INSTALLED = CLIENTS / "@anthropic-ai/claude-code-linux-x64/claude"


def claude_binary():
    """The real client, or why there is none."""
    path = Path(os.environ.get("FLEET_TEST_CLAUDE") or INSTALLED)
    return (str(path), None) if path.exists() else (None, f"no Claude Code at {path}: set FLEET_TEST_CLAUDE")


CLAUDE, REASON = claude_binary()


@pytest.fixture
def started():
    """Clients to close at the end, whatever happens."""
    clients = []
    yield clients
    for client in clients:
        client.pane.close()


def starter(maker, started):
    def start(*words, **options):
        client = maker.start(*words, **options)
        started.append(client)
        return client

    start.client_name = maker.name
    return start


@pytest.fixture
def fake(tmp_path, started):
    """Start the fake agent: `fake("prompt", script={...})`."""
    return starter(bench.Fake(tmp_path), started)


@pytest.fixture(
    params=[
        "fake",
        pytest.param("claude", marks=[pytest.mark.agent, pytest.mark.skipif(CLAUDE is None, reason=str(REASON))]),
    ]
)
def client(request, tmp_path, started):
    """Start either client with the same call."""
    if request.param == "fake":
        yield starter(bench.Fake(tmp_path), started)
        return
    with StubServer() as stub:
        yield starter(bench.Claude(tmp_path, CLAUDE, stub.port), started)
        for each in started:  # before the stub goes, or its last requests fail
            each.pane.close()
