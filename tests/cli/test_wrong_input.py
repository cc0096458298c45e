"""Wrong input: one clear line, a hint, the right exit code, and nothing changed."""

import errno
import os
import shutil

import pytest

from tests.cli.conftest import picture

WRONG = [
    ((), 2, "usage"),
    (("nothing",), 2, "no command 'nothing'"),
    (("lst",), 2, "fleet list"),
    (("status",), 2, "fleet list"),
    (("kill", "x"), 2, "fleet stop"),
    (("dispatch",), 2, "task"),
    (("dispatch", "Upper"), 2, "task name"),
    (("dispatch", "-x"), 2, "-x"),
    (("dispatch", "--from", "/no/such"), 2, "cannot read"),
    (("dispatch", "t", "--from", "/dev/null"), 2, "from the file alone"),
    (("dispatch", "--from", "/dev/null"), 2, "tasks"),
    (("dispatch", "--from", "/dev/null", "--max", "0"), 2, "--max"),
    (("dispatch", "--from", "/dev/null", "--max", "many"), 2, "many"),
    (("dispatch", "--from", "/dev/null", "--finished", "soon"), 2, "soon"),
    (("dispatch", "t", "--max", "3"), 2, "--from"),
    (("dispatch", "t", "--if-absent"), 2, "--from"),
    (("dispatch", "t", "--dry-run"), 2, "--from"),
    (("dispatch", ".."), 2, "task name"),
    (("dispatch", "a/b"), 2, "task name"),
    (("dispatch", "x" * 65), 2, "task name"),
    (("dispatch", "0123abcd"), 2, "agent id"),
    (("dispatch", "t", "--project", "--foo"), 2, "--project"),
    (("dispatch", "t", "--project", "A"), 2, "project name"),
    (("dispatch", "t", "--cwd", "/no/such"), 2, "no such directory"),
    (("dispatch", "t", "--engine", "gpt"), 2, "unknown engine"),
    (("dispatch", "t", "--mode", "fast"), 2, "fast"),
    (("dispatch", "t", "--prompt", ""), 2, "empty"),
    (("dispatch", "t", "--prompt", "x", "--prompt-file", "y"), 2, "exclude"),
    (("dispatch", "t", "--prompt-file", "/no/such"), 2, "cannot read"),
    (("dispatch", "t", "--env", "NOVALUE"), 2, "NAME=VALUE"),
    (("dispatch", "t", "--env", "FLEET_HOME=/x"), 2, "fleet's own"),
    (("dispatch", "t", "--env", "1A=x"), 2, "NAME=VALUE"),
    (("dispatch", "t", "--env-file", "/no/such"), 2, "cannot read"),
    (("dispatch", "t", "--timeout", "-1"), 2, "negative"),
    (("dispatch", "t", "--timeout", "soon"), 2, "soon"),
    (("dispatch", "t", "--timeout", "nan"), 2, "nan"),
    (("dispatch", "t", "--env-file", "/dev/zero"), 2, "larger than"),
    (("dispatch", "t", "--prompt-file", "/dev/zero"), 2, "larger than"),
    (("dispatch", "t", "--wait", "done"), 2, "done"),
    (("dispatch", "t", "--engine", "command"), 2, "needs a program"),
    (("dispatch", "t", "--engine", "command", "--", "no-such-program-x"), 5, "not installed"),
    (("list", "--nope"), 2, "--nope"),
    (("show", "nobody"), 4, "no agent 'nobody'"),
    (("peek", "nobody"), 4, "nobody"),
    (("peek", "x", "-n", "0"), 2, "at least 1"),
    (("events", "nobody"), 4, "nobody"),
    (("attach", "nobody"), 4, "nobody"),
    (("attach",), 4, "no agent"),
    (("stop",), 2, "AGENT"),
    (("stop", "nobody"), 4, "nobody"),
    (("handoff", "nobody"), 4, "nobody"),
    (("send",), 2, "agent is missing"),
    (("send", "nobody", "x"), 4, "nobody"),
    (("send", "--all", "x"), 1, "no agent"),
    (("send", "--wait", "-1", "a", "b"), 2, "negative"),
    (("queue", "eat"), 2, "eat"),
    (("queue", "retry"), 2, "queue retry ID"),
    (("queue", "retry", "aaaa1111"), 4, "aaaa1111"),
    (("queue", "drop", "aaaa1111"), 4, "aaaa1111"),
    (("drain", "--once", "--detach"), 2, "--detach"),
    (("drain", "--stop"), 1, "no drain runs"),
    (("drain", "--timeout", "-1"), 2, "negative"),
]  # fmt: skip


@pytest.mark.parametrize(("argv", "code", "word"), WRONG, ids=lambda v: " ".join(v) if isinstance(v, tuple) else None)
def test_wrong_input(bare, argv, code, word):
    """The exit code of the contract, one line that names what is wrong, and no state but the folders of the home."""
    found, out, err = bare(*argv)

    assert code == found, err
    assert word in (out if argv == () else err)
    assert "Traceback" not in err
    assert len(err.splitlines()) <= 2
    assert {} == picture(bare.home)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("limits: {max_session: 3}", "did you mean 'limits.max_sessions'"),
        ("limits: [1]", "limits"),
        ("limits: {max_sessions: many}", "cannot be 'many'"),
        ("- 1", "expected names"),
        ("a: b: c", "not YAML"),
        ("engines: {gpt: {}}", "unknown engine"),
        ("engines: {codex: {binry: x}}", "did you mean 'engines.codex.binary'"),
        ("tmux: {socket: relative}", "absolute"),
    ],
)
def test_a_configuration_that_says_nothing_sensible(bare, text, word):
    """A wrong file is named with what is wrong in it, and nothing is started."""
    bare.home.mkdir()
    (bare.home / "config.yaml").write_text(text)

    code, _, err = bare("dispatch", "t", "--engine", "fake", "--prompt", "x")

    assert 2 == code
    assert word in err
    assert "config.yaml" in err


def test_a_relative_fleet_home(bare, monkeypatch):
    """Hooks would look for it elsewhere."""
    monkeypatch.setenv("FLEET_HOME", "relative")
    from fleet.cli.main import main

    assert 5 == main(["list"])


def test_a_fleet_home_that_cannot_be_made(bare, monkeypatch, capsys):
    """A file in the way of the folder is said, exit 5."""
    bare.home.write_text("in the way")

    code, _, err = bare("dispatch", "t", "--engine", "fake", "--prompt", "x")

    assert 5 == code
    assert "FLEET_HOME" in err


def test_no_tmux(bare, monkeypatch):
    """Without tmux a dispatch says how to get it and leaves nothing."""
    monkeypatch.setenv("FLEET_TMUX_BIN", "/no/such/tmux")

    code, _, err = bare("dispatch", "t", "--engine", "fake", "--prompt", "x")

    assert (5, {}) == (code, picture(bare.home))
    assert "tmux is not installed" in err


def test_a_socket_path_that_is_too_long(bare, monkeypatch, tmp_path):
    """It is named and refused before anything is made."""
    monkeypatch.setenv("FLEET_TMUX_SOCKET", "/tmp/" + "x" * 120)

    code, _, err = bare("dispatch", "t", "--engine", "fake", "--prompt", "x")

    assert (5, {}) == (code, picture(bare.home))
    assert "too long" in err


def test_the_session_limit(world):
    """As many agents as allowed: the next is refused with what to do, exit 5, and nothing of it is left."""
    world.env["FLEET_MAX_SESSIONS"] = "1"
    world.dispatch("first", "x\nSTUB: say=ok")
    before = picture(world.fleet_home)

    done = world.run("dispatch", "second", "--engine", "fake", "--prompt", "x")

    assert 5 == done.returncode
    assert b"FLEET_MAX_SESSIONS" in done.stderr
    assert before.keys() == picture(world.fleet_home).keys()


@pytest.mark.parametrize("setting", ["min_free_memory_mb", "min_free_disk_mb"])
def test_too_little_room(world, setting):
    """Less memory or disk than asked for: refused, exit 5."""
    world.config(f"limits: {{{setting}: 999999999}}\n")

    done = world.run("dispatch", "big", "--engine", "fake", "--prompt", "x")

    assert 5 == done.returncode
    assert b"MB" in done.stderr
    assert [] == world.agents()


def test_a_current_directory_that_is_gone(world):
    """Nothing is started in another one."""
    import subprocess
    import sys

    script = 'mkdir gone && cd gone && rmdir ../gone && exec "$@"'
    argv = [sys.executable, "-m", "fleet", "dispatch", "t", "--engine", "fake", "--prompt", "x"]
    done = subprocess.run(["sh", "-c", script, "sh", *argv], env=world.env, cwd=world.project, capture_output=True)

    assert (2, []) == (done.returncode, world.agents())
    assert b"the current directory is gone" in done.stderr


def test_what_stands_in_the_way_of_a_folder(world):
    """It is named, and it is no bug: nothing is lost, and when it is moved away everything goes on."""
    world.dispatch("way", "x\nSTUB: say=ok")
    (world.fleet_home / "handoffs").rmdir()
    (world.fleet_home / "handoffs").write_text("mine")

    done = world.run("handoff", "way")

    assert 5 == done.returncode
    assert b"/handoffs\nhint: something else stands where" in done.stderr
    (world.fleet_home / "handoffs").unlink()
    world.fleet("handoff", "way")


@pytest.mark.parametrize("wrong", [("--cwd", "/no/such"), ("--engine", "command", "--", "no-such-program-x")])
def test_a_refused_dispatch_leaves_no_folder_of_a_socket(bare, monkeypatch, tmp_path, wrong):
    """Not the ones above it either."""
    monkeypatch.setenv("FLEET_TMUX_SOCKET", str(tmp_path / "a" / "b" / "s"))

    bare("dispatch", "t", *wrong)

    assert not (tmp_path / "a").exists()


def test_a_dispatch_that_fails_late_takes_the_folder_of_its_socket_back(world):
    """Here its server cannot start."""
    world.env |= {"FLEET_TMUX_SOCKET": str(world.root / "a" / "b" / "s"), "FLEET_TMUX_BIN": str(world.bin / "tmux")}
    (world.bin / "tmux").write_text('#!/bin/sh\n[ "$1" = -V ] && echo tmux 3.3a && exit\necho no >&2; exit 1\n')
    (world.bin / "tmux").chmod(0o755)

    done = world.run("dispatch", "t", "--engine", "fake", "--prompt", "x")

    assert 0 != done.returncode
    assert not (world.root / "a").exists()


def test_a_working_directory_that_vanishes_is_an_error(world):
    """No successor is started anywhere else, nothing is queued, and the agent stays as it is."""
    place = world.root / "gone"
    place.mkdir()
    world.dispatch("gone", "x\nSTUB: say=ok", "--cwd", str(place))
    shutil.rmtree(place)

    done = world.run("handoff", "gone")

    assert 1 == done.returncode
    assert b"is not there" in done.stderr
    (agent,) = world.agents("gone")
    assert "idle" == agent["state"]
    assert [] == world.json("queue")


def test_an_ambiguous_prefix_lists_the_candidates(world):
    """A prefix or a task name that means two agents is an error with both of them."""
    world.dispatch("same", "x\nSTUB: say=ok", "--project", "one")
    world.dispatch("same", "x\nSTUB: say=ok", "--project", "two")

    done = world.run("show", "same")

    assert 4 == done.returncode
    assert all(a["id"].encode() in done.stderr for a in world.agents())
    assert "one" == world.json("show", "one/same")["project"]


def test_broken_standard_output_is_no_error(world):
    """`fleet list | head -0` ends quietly."""
    import subprocess
    import sys

    world.dispatch("any", "x\nSTUB: say=ok")
    read, write = os.pipe()
    os.close(read)
    done = subprocess.run([sys.executable, "-m", "fleet", "list"], env=world.env, stdout=write, stderr=subprocess.PIPE)
    os.close(write)

    assert b"Traceback" not in done.stderr


def test_the_session_limit_holds_at_once(world):
    """Of many dispatches at the same time no more than allowed start; the others exit 5."""
    world.env["FLEET_MAX_SESSIONS"] = "3"

    started = [world.start("dispatch", f"t{n}", "--engine", "command", "--", "sleep", "60") for n in range(8)]

    assert [0, 0, 0, 5, 5, 5, 5, 5] == sorted(one.wait(60) for one in started)
    assert 3 == len(world.tmux("list-sessions").splitlines())


@pytest.mark.parametrize(
    ("argv", "way"), [(("send", "x", "-n"), "fleet send AGENT -- TEXT"),
                      (("config", "set", "watch.mode", "-x"), "fleet config set NAME -- VALUE")],
)  # fmt: skip
def test_a_text_that_begins_with_a_dash_has_a_way(bare, argv, way):
    """It is taken for an option, and the hint says how it is written; of other commands it does not."""
    assert f"behind `--`: {way}" in bare(*argv)[2]
    assert "`--`" not in bare("list", "-n")[2]


@pytest.mark.parametrize(
    ("argv", "number", "path", "cure"),
    [(("dispatch", "t"), errno.ENOSPC, "{home}/queue/x", "make room, or name another folder with FLEET_HOME;"),
     (("dispatch", "t"), errno.EROFS, "{home}", "mend the rights or the mount, or name another folder with FLEET_HOME;"),
     (("dispatch", "t"), errno.ENOSPC, "/elsewhere/x", "make room;"),
     (("send", "x", "y"), errno.ENOSPC, "{home}/inbox/x", "make room;"),
     (("stop", "x"), errno.EACCES, "{home}/queue/x", "mend the rights or the mount;"),
     (("dispatch", "t"), errno.EMFILE, "{home}/queue/x", "too many files are open:")],
)  # fmt: skip
def test_what_the_system_refuses_has_a_cure_that_helps(bare, monkeypatch, argv, number, path, cure):
    """Another home helps only who needs nothing that is in this one, and only where this one is meant."""

    def refused(fleet, _name):
        raise OSError(number, os.strerror(number), path.format(home=fleet.layout.home))

    monkeypatch.setattr("fleet.cli.main._check_home", refused)

    code, _, said = bare(*argv)

    assert 5 == code
    assert f"hint: {cure}" in said


def test_a_full_disk_is_said_in_one_line(bare, monkeypatch):
    """No traceback, exit 5, and what to do."""
    from fleet.formats import atomic

    def full(*_args, **_more):
        raise OSError(errno.ENOSPC, "No space left on device", "/x")

    monkeypatch.setattr(atomic.os, "replace", full)
    from fleet.cli.main import main

    assert 5 == main(["dispatch", "t", "--engine", "fake", "--prompt", "x"])


def test_a_pass_that_the_running_drain_never_makes_is_made_by_whoever_asked(world):
    """The loop ended between the question and its answer."""
    from fleet.app import Fleet
    from fleet.drain.lock import DrainLock

    fleet = Fleet(world.env)
    fleet.make_home()
    lock = DrainLock(fleet.layout, fleet.clock)
    assert lock.take()
    asking = world.start("drain", "--once", "--timeout", "30")
    world.until(lambda: list((world.fleet_home / "queue").glob("*.request")), "it has asked")
    lock.give_back()
    assert 0 == asking.wait(15)
    assert [] == list((world.fleet_home / "queue").glob("pass-*"))
