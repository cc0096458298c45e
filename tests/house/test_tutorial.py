"""docs/tutorial.md can be followed word for word."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
PLACE = "/tmp/fleet-tutorial"  #: where the page puts everything
#: A block that only a person can carry out has a comment before it that says why.
BLOCK = re.compile(r"(?P<hand><!-- by hand: [^\n]+ -->\n)?```shell\n(?P<commands>.*?)```\n", re.DOTALL)
SECONDS = 150


def blocks():
    """The commands of each block that needs no person, in order."""
    return [found["commands"] for found in BLOCK.finditer(PAGE) if not found["hand"]]


@pytest.fixture
def place():
    """A short path, as a tmux socket's has to be; what was started there is ended by its socket."""
    folder = tempfile.mkdtemp(prefix="ft-", dir="/tmp")
    yield Path(folder)
    for socket in Path(folder).rglob("*.sock"):
        subprocess.run(["tmux", "-S", socket, "kill-server"], capture_output=True, check=False)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def environment(place):
    """What a person's shell has, with a home and a default tmux server of its own, and `fleet` from this checkout."""
    for name in ("bin", "home", "tmux"):
        (place / name).mkdir()
    fleet = place / "bin" / "fleet"
    fleet.write_text(f'#!/bin/sh\nPYTHONPATH={ROOT} exec {sys.executable} -m fleet "$@"\n')
    fleet.chmod(0o755)
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("FLEET_", "TMUX", "GIT_"))}
    return kept | {
        "PATH": f"{place / 'bin'}:{kept['PATH']}", "HOME": str(place / "home"), "TMUX_TMPDIR": str(place / "tmux"),
        "PYTHON": sys.executable,
    }  # fmt: skip


@pytest.mark.timeout(SECONDS + 30)
def test_every_command_of_the_tutorial_works(place, environment):
    """The blocks of the fake agent's part, run in order by one shell, exit 0 each; at the end nothing is left."""
    where = str(place / "tutorial")
    lines = ["set -eu", "trap 'echo \"failed: $BASH_COMMAND\" >&2' ERR"]
    for number, commands in enumerate(blocks(), 1):
        lines += [f'echo "-- block {number}"', commands.replace(PLACE, where)]

    done = subprocess.run(
        ["bash", "-c", "\n".join(lines)], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=SECONDS
    )

    assert 0 == done.returncode, done.stdout[-4000:] + done.stderr[-4000:]
    assert not os.path.exists(where)


def test_the_walk_finds_the_blocks():
    """It takes most of the page's blocks, and passes over some."""
    assert len(blocks()) >= 10
    assert len(list(BLOCK.finditer(PAGE))) > len(blocks())


def test_every_block_is_one_or_the_other():
    """No shell block of the page escapes the pattern."""
    assert PAGE.count("```shell") == len(list(BLOCK.finditer(PAGE)))
