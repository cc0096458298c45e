"""`.fleet/worktree.yaml`: confirmed once, brought along, never out of the repository."""

import fcntl
import json
import os
import pty
import subprocess
import sys
import termios
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import UsageError
from fleet.worktree.bringing import translate
from fleet.worktree.recipe import parse
from tests.worktrees.conftest import exists


def ignored(ground, **files):
    """Put ignored files into the checkout."""
    for name, text in files.items():
        path = ground.repo / name.replace("__", "/").replace("DOT", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_it_is_shown_and_refused_until_confirmed(local):
    """Exit 1 with what it asks for and a hint; nothing is made. Once confirmed it is not asked again."""
    local.recipe('copy: [".env"]\nsetup: "echo hi > made.local"')
    ignored(local, DOTenv="secret")
    was = local.before()

    said = local.order(code=1)

    assert "copy: .env" in said
    assert "setup: echo hi > made.local" in said
    assert "--trust-setup" in said
    assert was == local.before()
    one = local.order("one", "--trust-setup")
    two = local.order("two")
    for agent in (one, two):
        assert "secret" == Path(agent["cwd"] + "/.env").read_text()
        assert "hi\n" == Path(agent["cwd"] + "/made.local").read_text()


def test_a_change_asks_again(local):
    """The confirmation is for those bytes."""
    path = local.recipe('setup: "true"')
    local.order("one", "--trust-setup")
    path.write_text('setup: "true "')

    local.order("two", code=1)


def test_another_repository_asks_again(local):
    """The confirmation is for that repository."""
    local.recipe('setup: "true"')
    local.order("one", "--trust-setup")
    other = local.root / "other"
    local.git("init", "-q", str(other))
    local.commit("f", at=other)
    local.recipe('setup: "true"', at=other)

    local.order("two", cwd=other, code=1)


@pytest.mark.parametrize(("answer", "code"), [(b"y\n", 0), (b"n\n", 1), (b"\n", 1), (b"\x04", 1)])
def test_a_person_at_a_terminal_is_asked(local, answer, code):
    """Only y or yes goes on; the file is shown before the question."""
    local.recipe('setup: "echo hi > made.local"')
    main, side = pty.openpty()

    def own_terminal():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    argv = [sys.executable, "-m", "fleet", "dispatch", "t", "--engine", "fake", "--prompt", "x", "--worktree"]
    process = subprocess.Popen(
        argv, stdin=side, stdout=subprocess.PIPE, stderr=side, env=local.env, cwd=local.repo, preexec_fn=own_terminal
    )
    os.close(side)
    seen = b""
    while b"[y/N]" not in seen:
        seen += os.read(main, 4096)
    os.write(main, answer)
    out, _ = process.communicate(timeout=30)
    os.close(main)

    assert code == process.returncode
    assert b"setup: echo hi > made.local" in seen
    assert (1 if code == 0 else 0) == len(local.trees())


def test_links(local):
    """A linked folder is the checkout's own, keeps the tree clean, and is not followed by the removal."""
    local.recipe("link: [ignored]")
    ignored(local, ignored__big="1")

    agent = local.order("t", "--trust-setup")

    assert str(local.repo / "ignored") == os.readlink(agent["cwd"] + "/ignored")
    assert None is local.row("fleet/t")["dirty"]
    local.stop()
    assert not exists(agent["cwd"])
    assert exists(local.repo / "ignored" / "big")


def test_copies(local):
    """Folders with all that is in them, modes and symlinks kept."""
    local.recipe('copy: ["ignored", "conf/*.local", "**/.env"]')
    ignored(
        local, ignored__deep__run="x", conf__a_local="", **{"conf__b.local": "b", "sub__.env": "e", "DOTenv": "top"}
    )
    (local.repo / "ignored" / "deep" / "run").chmod(0o755)
    (local.repo / "ignored" / "link").symlink_to("deep/run")

    cwd = local.order("t", "--trust-setup")["cwd"]

    assert "x" == Path(cwd + "/ignored/link").read_text()
    assert 0o755 == os.stat(cwd + "/ignored/deep/run").st_mode & 0o777
    assert ["b", "e", "top"] == [Path(f"{cwd}/{name}").read_text() for name in ("conf/b.local", "sub/.env", ".env")]
    assert not exists(cwd + "/conf/a_local")


def test_a_file_deep_in_an_ignored_folder(local):
    """It can be named although git names only the folder."""
    local.recipe('copy: ["ignored/deep/*.db"]')
    ignored(local, **{"ignored__deep__a.db": "1", "ignored__deep__b.txt": "2"})

    cwd = local.order("t", "--trust-setup")["cwd"]

    assert ["a.db"] == os.listdir(cwd + "/ignored/deep")


def test_only_ignored_files_are_brought(local):
    """What is untracked and not ignored is work in progress and stays; that nothing matched is said."""
    local.recipe('copy: ["draft"]')
    ignored(local, draft="x")

    agent = local.order("t", "--trust-setup")

    assert not exists(agent["cwd"] + "/draft")
    assert "'draft' matches no ignored file" in local.said


def test_a_symlink_out_of_the_repository(local):
    """It is not brought along, neither as a copy nor as a link."""
    (local.root / "outside").write_text("secret")
    (local.repo / "x.local").symlink_to(local.root / "outside")
    for what in ("copy", "link"):
        local.recipe(f'{what}: ["*.local"]')

        assert "leads out of the repository" in local.order("t", "--trust-setup", code=1)
    assert [] == local.trees()


def test_a_symlink_in_the_branch(local):
    """Nothing is written through a folder that the branch has as a symlink."""
    local.recipe('copy: ["conf/*.local"]')
    ignored(local, **{"conf__a.local": "x"})
    (local.root / "etc").mkdir()
    local.git("checkout", "-q", "-b", "evil")
    os.rename(local.repo / "conf", local.root / "conf")
    (local.repo / "conf").symlink_to(local.root / "etc")
    local.git("add", "conf")
    local.git("commit", "-qm", "evil")
    local.git("checkout", "-q", "main")
    os.rename(local.root / "conf", local.repo / "conf")

    said = local.order("t", "--worktree", "evil", "--trust-setup", code=1)

    assert "symlink or file in the branch" in said
    assert [] == os.listdir(local.root / "etc")


def test_the_file_itself_is_no_symlink(local):
    """A set-up file that leads elsewhere is refused."""
    (local.root / "evil.yaml").write_text('setup: "true"')
    (local.repo / ".fleet").mkdir()
    (local.repo / ".fleet" / "worktree.yaml").symlink_to(local.root / "evil.yaml")

    assert "not a regular file" in local.order("t", "--trust-setup", code=2)


def test_a_nested_root_is_not_copied_into_itself(local):
    """Trees that lie in an ignored folder of the repository do not multiply."""
    local.config(f"worktree: {{folder: {local.repo}/ignored/trees}}\n")
    local.recipe("copy: [ignored]")
    ignored(local, ignored__x="1")

    assert "holds the new tree itself" in local.order("t", "--trust-setup", code=1)


def test_the_command_has_its_place_and_its_variables(local):
    """It runs in the root of the tree, with --env, without a terminal and without the caller's GIT_*."""
    local.commit("sub/x")
    local.recipe("setup: |\n  pwd > out.local\n  env >> out.local\n  read x || echo no input >> out.local")
    local.env["GIT_AUTHOR_NAME"] = "caller"

    agent = local.order("t", "--trust-setup", "--env", "MINE=1", cwd=local.repo / "sub")

    path = local.tree(agent)["path"]
    lines = Path(path + "/out.local").read_text().splitlines()
    assert path == lines[0]
    assert {
        "MINE=1",
        f"FLEET_WORKTREE={path}",
        "FLEET_BRANCH=fleet/t",
        f"FLEET_REPOSITORY={local.repo}",
        "no input",
    } <= set(lines)
    assert not [line for line in lines if line.startswith("GIT_")]


def test_the_marks_do_not_reach_the_engine(local):
    """The engine's environment has none of the set-up's variables."""
    agent = local.order()

    with open(f"/proc/{agent['pid']}/environ", "rb") as f:
        assert b"FLEET_WORKTREE" not in f.read()


WRONG = ["- 1", "copy: x", "copy: [1]", "setup: [a]", "setup: ''", "nope: 1", "{", "copy: ['../x']", "copy: ['/etc/passwd']",
         "copy: ['a/../../x']", "link: ['.git/hooks']", "copy: ['']", "copy: ['/']", 'copy: ["a\\nb"]', 'setup: "a\\0b"',
         "copy: ['..']", "setup: !!python/object/apply:os.system ['true']"]  # fmt: skip


@pytest.mark.parametrize("text", WRONG)
def test_a_file_that_cannot_be(text):
    """It is named, with what is wrong."""
    with pytest.raises(UsageError, match="here"):
        parse(text.encode(), "here")


def test_a_file_that_cannot_be_stops_the_dispatch(local):
    """Exit 2 in one line; nothing is changed."""
    local.recipe("copy: ['../x']")
    was = local.before()

    said = local.order("t", "--trust-setup", code=2)

    assert "does not stay in the repository" in said
    assert was == local.before()


@given(st.binary(max_size=200))
def test_any_bytes(raw):
    """Whatever the file holds, it is a recipe or a usage error."""
    try:
        parse(raw, "here")
    except UsageError:
        pass


NAMES = st.lists(st.text("abx.", min_size=1, max_size=4), min_size=1, max_size=4).map("/".join)


@given(NAMES, st.text("ab*?[]!^/.\\", min_size=1, max_size=10))
def test_any_pattern(name, pattern):
    """Every pattern is a valid expression, and `*` and `?` never cross a slash."""
    import re

    found = re.fullmatch(translate(pattern), name)

    if found and "**" not in pattern:
        assert name.count("/") == pattern.count("/")


@given(NAMES)
def test_a_name_without_wildcards_means_itself(name):
    """And `**/` before it means it too."""
    import re

    assert re.fullmatch(translate(name), name)
    assert re.fullmatch(translate("**/" + name), name)
    assert re.fullmatch(translate("**/" + name), "deep/er/" + name)


def test_the_confirmation_is_kept_in_the_fleet_home(local):
    """With the repository and what it was shown to ask for."""
    local.recipe('setup: "true"')
    local.order("t", "--trust-setup")

    (path,) = (local.fleet_home / "consents").iterdir()
    data = json.loads(path.read_text())
    assert str(local.repo / ".git") == data["repository"]
    assert "  setup: true" in data["asked"]
