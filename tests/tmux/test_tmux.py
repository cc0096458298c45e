"""What is tmux's alone: copy mode, servers that do not answer, and the user's configuration."""

import shutil
import tempfile

import pytest

from fleet.errors import EnvironmentMissing, Unreachable
from fleet.formats.states import Existence
from fleet.tmux.client import Tmux, check_socket, check_version
from fleet.tmux.panes import TmuxPanes, parse
from tests.tmux.conftest import HOSTILE, Bench, tmux_server

A = "aaaa1111"


@pytest.fixture
def broken(tmp_path):
    """A tmux that answers nothing anybody expects."""
    path = tmp_path / "tmux"
    path.write_text("#!/bin/sh\necho 'protocol version mismatch (client 8, server 7)' >&2\nexit 1\n")
    path.chmod(0o755)
    return TmuxPanes(Tmux(str(tmp_path / "s"), binary=str(path)))


@pytest.fixture
def hung(tmp_path):
    """A tmux that does not answer."""
    path = tmp_path / "tmux"
    path.write_text("#!/bin/sh\nexec sleep 60\n")
    path.chmod(0o755)
    return TmuxPanes(Tmux(str(tmp_path / "s"), binary=str(path), timeout_seconds=0.3))


@pytest.mark.parametrize("name", ["broken", "hung"])
def test_a_server_that_cannot_be_asked_is_unknown(request, name):
    """An unknown error and a deadline mean "could not look": no empty snapshot, no GONE, no silent end."""
    panes = request.getfixturevalue(name)

    assert panes.snapshot().error
    assert Existence.UNKNOWN == panes.existence(f"fleet-{A}")
    with pytest.raises(Unreachable):
        panes.end(A)
    with pytest.raises(Unreachable):
        panes.capture("%1")


@pytest.fixture
def hostile(tmp_path):
    """The installed tmux with a configuration that broke other tools."""
    folder = tempfile.mkdtemp(prefix="ft", dir="/tmp")
    tmux = tmux_server("tmux", folder, HOSTILE.format(shell="/bin/sh"))
    yield Bench(TmuxPanes(tmux), tmp_path)
    tmux.ask("kill-server")
    shutil.rmtree(folder, ignore_errors=True)


def test_the_users_options_are_left_alone(hostile):
    """Opening and ending agents changes no global option and no key."""
    tmux = hostile.panes.tmux

    def look():
        return [tmux.do(*what) for what in (("show-options", "-g"), ("show-options", "-gw"), ("show-options", "-s"),
                                            ("list-keys",), ("show-environment", "-g"))]  # fmt: skip

    before = look()
    hostile.open(A, "sleep", "60")
    assert before == look()
    hostile.panes.end(A)
    assert before == look()


def test_what_a_person_opened_beside_an_agent_stays(hostile):
    """Closing the agent's pane leaves the person's panes, in a session that is not taken for an agent's."""
    tmux = hostile.panes.tmux
    pane = hostile.open(A, "sleep", "60")
    theirs = tmux.do("split-window", "-d", "-P", "-F", "#{pane_id}", "-t", pane.pane_id, "sleep", "60").strip()

    hostile.panes.close(pane)

    (left,) = [p for p in hostile.panes.snapshot().panes if p.pane_id == theirs]
    assert (f"left-by-{A}", "", "") == (left.session, left.mark, left.home)
    assert None is hostile.pane(A)
    assert hostile.open(A, "sleep", "60").pane_id != theirs


@pytest.mark.parametrize(
    "how",
    [
        ("rename-session", "-t", "=fleet-aaaa1111", "mine"),
        ("break-pane", "-d", "-s"),
        ("join-pane", "-d", "-t", "=keeper:", "-s"),
    ],
)
def test_an_agent_is_found_wherever_a_person_moves_it(hostile, how):
    """Renaming its session, breaking its pane out or joining it elsewhere does not lose it; it can be closed there."""
    pane = hostile.open(A, "sleep", "60")
    hostile.panes.tmux.do(*how, *([pane.pane_id] if how[-1] == "-s" else []))

    found = hostile.panes.snapshot().of_agent(A, pane.pane_id, pane.server_pid)
    assert pane.pid == found.pid

    hostile.panes.close(found)
    assert None is hostile.panes.snapshot().of_agent(A, pane.pane_id, pane.server_pid)
    assert Existence.ALIVE == hostile.panes.existence("keeper")


def test_a_window_gets_its_first_size_back(hostile):
    """One that is too small to be read always; one that is smaller at all where it is asked for; then it is enough."""
    tmux = hostile.panes.tmux
    pane = hostile.open(A, "sleep", "60")
    tmux.do("resize-window", "-t", pane.pane_id, "-x", "80", "-y", "24")

    assert not hostile.panes.make_room(pane.pane_id)
    assert (80, 24) == hostile.panes.size(pane.pane_id)
    assert hostile.panes.make_room(pane.pane_id, full=True)
    assert hostile.panes.size(pane.pane_id) >= (220, 49)  # less the person's pane border
    assert not hostile.panes.make_room(pane.pane_id, full=True)


def test_enter_is_not_lost_in_copy_mode(hostile):
    """In copy mode Enter reaches the program, and the reader stays where they are."""
    from tests.tmux.test_contract import READER

    import sys

    out = hostile.folder / "raw"
    pane = hostile.open(A, sys.executable, "-c", READER, str(out))
    hostile.until(lambda: "ready" in "".join(hostile.panes.capture(pane.pane_id)))
    hostile.panes.tmux.do("copy-mode", "-t", pane.pane_id)

    hostile.panes.paste(pane.pane_id, b"x")
    hostile.panes.enter(pane.pane_id)

    hostile.until(lambda: len(out.read_bytes()) >= 2)
    assert b"x\r" == out.read_bytes()
    assert hostile.pane(A).in_mode


def test_a_names_free_text_stands_last():
    """Whatever a session's name or a home's path holds, no field before it moves."""
    line = "$1|@1|%1|42|7|1|3||0|0|3.3a|aaaa1111|odd name|/home/a|b"

    (pane,) = parse(line)
    assert ("odd name", "/home/a|b", 3) == (pane.session, pane.home, pane.dead_status)
    assert "3.3a" == pane.version


def test_lines_that_are_no_panes_are_passed_over():
    """Torn or foreign output takes no pane down."""
    assert () == parse("\nnonsense\n$1|@1|%1|x|7|1|3||0|0|3.3a|m|n|h\n")


@pytest.mark.parametrize(
    ("version", "fine"), [("3.1c", False), ("3.2", True), ("3.3a", True), ("next-3.9", True), ("master", True)]
)
def test_the_oldest_tmux(tmp_path, version, fine):
    """Older than 3.2 is refused; a version that cannot be read passes."""
    path = tmp_path / "tmux"
    path.write_text(f"#!/bin/sh\necho tmux {version}\n")
    path.chmod(0o755)

    if fine:
        assert version == check_version(str(path))
    else:
        with pytest.raises(EnvironmentMissing):
            check_version(str(path))


def test_a_file_is_not_replaced_by_a_socket(tmp_path):
    """tmux would remove it."""
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(EnvironmentMissing, match="something else"):
        check_socket(str(tmp_path / "notes"))


def test_a_socket_path_that_is_too_long(tmp_path):
    """It is refused before tmux says success and makes nothing."""
    with pytest.raises(EnvironmentMissing):
        check_socket("/tmp/" + "x" * 120)
