"""A fleet home with one finished life in it, and the command line as an operator types it."""

import hashlib
import json
import os

import pytest

from tests.agents.world import World


@pytest.fixture
def world():
    """A fleet with the fake agent."""
    one = World("fake", None)
    yield one
    one.close()


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """Run `fleet` in this process, on an empty home, without any tmux server."""
    import io
    import sys

    from fleet.cli.main import main

    home = tmp_path / "fleet"
    monkeypatch.setenv("FLEET_HOME", str(home))
    monkeypatch.setenv("FLEET_TMUX_SOCKET", str(tmp_path / "s"))
    monkeypatch.chdir(tmp_path)

    def run(*argv, stdin=b""):
        out, err = io.StringIO(), io.StringIO()
        monkeypatch.setattr(sys, "stdout", out)
        monkeypatch.setattr(sys, "stderr", err)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main(list(argv))
        monkeypatch.undo()
        monkeypatch.setenv("FLEET_HOME", str(home))
        monkeypatch.setenv("FLEET_TMUX_SOCKET", str(tmp_path / "s"))
        monkeypatch.chdir(tmp_path)
        return code, out.getvalue(), err.getvalue()

    run.home = home
    return run


def picture(folder):
    """Every file below *folder* with a digest of what it holds, logs and locks aside."""
    found = {}
    for path, _, names in os.walk(folder):
        for name in names:
            whole = os.path.join(path, name)
            if "/logs" in path or "/locks" in path or "/.locks" in path or name.startswith("drain"):
                continue
            with open(whole, "rb") as f:
                found[os.path.relpath(whole, folder)] = hashlib.sha256(f.read()).hexdigest()
    return found


def load(path):
    """A JSON file."""
    return json.loads(path.read_text())
