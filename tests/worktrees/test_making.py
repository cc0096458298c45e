"""`fleet dispatch --worktree`: a tree of its own on a new branch, from the right commit, or a clear refusal."""

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.worktrees.conftest import exists


def test_an_agent_gets_a_tree_of_its_own(local):
    """It works there, on `fleet/<task>`, from the default branch; its record, `show` and the notes say so."""
    agent = local.order("fix-login")

    tree = local.tree(agent)
    assert (agent["cwd"], "fleet/fix-login") == (tree["path"], tree["branch"])
    assert agent["cwd"].startswith(str(local.fleet_home / "worktrees" / "p-"))
    assert agent["cwd"].endswith("/fleet+fix-login")
    assert "fleet/fix-login" == local.git("branch", "--show-current", at=agent["cwd"])
    assert {"path": agent["cwd"], "branch": "fleet/fix-login", "repository": str(local.repo / ".git"), "base": "main",
            "created_branch": True} == tree  # fmt: skip
    assert f"{agent['cwd']} on branch fleet/fix-login, from main" in local.said
    assert f"{agent['cwd']} on fleet/fix-login" in local.fleet("show", "fix-login")


def test_the_engine_really_runs_there(local):
    """The process in the pane has the tree as its working directory."""
    agent = local.order()

    local.state("t", "idle")
    assert agent["cwd"] == os.readlink(f"/proc/{agent['pid']}/cwd")


def test_two_tasks_get_two_trees(local):
    """Each has its own, at the same time."""
    one, two = local.order("one"), local.order("two")

    assert one["cwd"] != two["cwd"]
    assert {one["cwd"], two["cwd"]} == set(local.trees())


def test_another_root(local):
    """worktree.folder names where the trees lie."""
    local.config(f"worktree: {{folder: {local.root}/elsewhere}}\n")

    assert local.order()["cwd"].startswith(f"{local.root}/elsewhere/p-")


def test_a_new_branch_by_name(local):
    """--worktree BRANCH makes that branch."""
    agent = local.order("t", "--worktree", "feature/search")

    assert ("feature/search", True) == (local.tree(agent)["branch"], local.tree(agent)["created_branch"])


def test_a_branch_that_is_there(local):
    """An existing branch is checked out as it is, and is not ours."""
    local.git("branch", "old")
    local.commit("later")

    agent = local.order("t", "--worktree", "old")

    assert not local.tree(agent)["created_branch"]
    assert local.git("rev-parse", "old") == local.git("rev-parse", "HEAD", at=agent["cwd"])


def test_a_branch_that_only_the_remote_has(shared):
    """It is fetched and followed: a push goes back to it."""
    new = shared.push_from_elsewhere("theirs", "theirs")

    agent = shared.order("t", "--worktree", "theirs")

    assert new == shared.git("rev-parse", "HEAD", at=agent["cwd"])
    assert "origin/theirs" == shared.git("rev-parse", "--abbrev-ref", "theirs@{upstream}")
    assert "origin/theirs" == shared.tree(agent)["base"]


def test_a_stale_local_default_branch(shared):
    """The branch starts from what the remote has now, the base is named, and the local branch is left alone."""
    old = shared.git("rev-parse", "main")
    new = shared.push_from_elsewhere()

    agent = shared.order()

    assert new == shared.git("rev-parse", "HEAD", at=agent["cwd"])
    assert "from origin/main" in shared.said
    assert old == shared.git("rev-parse", "main")
    assert "" == shared.git("config", "--get", "branch.fleet/t.merge", code=1), "a plain push must not go to main"


def test_local_commits_that_the_remote_lacks_are_told(shared):
    """The base is the remote's all the same; how many commits are not in it is said."""
    shared.commit("mine")

    shared.order()

    assert "1 commits of the local main are not in origin/main" in shared.said


def test_the_remotes_default_branch_counts(shared):
    """Whatever it is called, and whatever was once cached here."""
    shared.push_from_elsewhere("dev", "develop")
    shared.git("symbolic-ref", "HEAD", "refs/heads/develop", at=shared.up)

    assert "origin/develop" == shared.tree(shared.order())["base"]


def test_offline(shared):
    """A remote that cannot be reached: the local branch is used, and said to be."""
    shared.git("remote", "set-url", "origin", str(shared.root / "gone.git"))
    shared.commit("mine")

    agent = shared.order()

    assert shared.git("rev-parse", "main") == shared.git("rev-parse", "HEAD", at=agent["cwd"])
    assert "used what is here" in shared.said
    assert "from main" in shared.said


def test_a_remote_that_does_not_answer(shared):
    """It may take so long and no longer."""
    slow = shared.root / "slow"
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    shared.git("config", "remote.origin.uploadpack", str(slow))
    shared.config("worktree: {fetch_seconds: 0.5}\n")

    shared.order()

    assert "origin did not answer in time; used what is here" in shared.said


@pytest.fixture
def hanging(shared):
    """A remote that takes a call and answers when `go` is there; the file `asked` says that it was called."""
    go, asked = shared.root / "go", shared.root / "asked"
    slow = shared.root / "slow"
    slow.write_text(f'#!/bin/sh\n: > {asked}\nwhile [ ! -e {go} ]; do sleep 0.02; done\nexec git-upload-pack "$@"\n')
    slow.chmod(0o755)
    shared.git("config", "remote.origin.uploadpack", str(slow))
    shared.go, shared.asked = go, asked
    return shared


def test_a_remote_is_waited_for_by_the_one_who_needs_it(hanging):
    """It is asked in the background: another tree of the repository is made meanwhile, and the answer is used then."""
    new = hanging.push_from_elsewhere()
    hanging.git("branch", "known")
    first = hanging.start("dispatch", "first", "--engine", "fake", "--prompt", "x", "--worktree")
    hanging.until(hanging.asked.exists, "the remote is asked")

    hanging.order("second", "--worktree", "known")
    waited = first.poll() is None
    hanging.go.touch()

    assert waited
    assert 0 == first.wait(60)
    assert new == hanging.git("rev-parse", "fleet/first")


def test_a_refusal_does_not_wait_for_the_remote(hanging):
    """What is found out meanwhile is said at once, and the question is called off."""
    hanging.config("worktree: {fetch_seconds: 600}\n")
    hanging.git("branch", "known")
    Path(hanging.order("k", "--worktree", "known")["cwd"]).with_name("fleet+old").mkdir()

    said = hanging.order("old", code=1)

    assert "is no worktree of this repository" in said
    assert [] == [p for p in running() if str(hanging.root / "slow") in p]


def test_an_unpushed_remote_branch_that_is_ahead_of_the_local_one(shared):
    """Offline with a stale local branch: what was last fetched is newer and is used."""
    new = shared.push_from_elsewhere()
    shared.git("fetch", "-q")
    shared.config("worktree: {fetch_seconds: 0}\n")

    assert new == shared.git("rev-parse", "HEAD", at=shared.order()["cwd"])


def test_a_mirror_keeps_its_branches(shared):
    """Where a fetch would write local branches, fetching for the base writes none."""
    shared.git("config", "--replace-all", "remote.origin.fetch", "+refs/*:refs/*")
    mine = shared.commit("mine")
    new = shared.push_from_elsewhere()
    shared.git("checkout", "-q", "--detach")

    agent = shared.order()

    assert new == shared.git("rev-parse", "HEAD", at=agent["cwd"])
    assert mine == shared.git("rev-parse", "main")


def test_a_dirty_main_checkout(local):
    """What is not committed there stays there and is no obstacle."""
    (local.repo / "dirty").write_text("x")
    (local.repo / ".gitignore").write_text("changed")

    agent = local.order()

    assert "" == local.git("status", "--porcelain", at=agent["cwd"])
    assert 2 == len(local.git("status", "--porcelain").splitlines())


def test_a_detached_head(local):
    """The default branch is the base, wherever HEAD is."""
    first = local.git("rev-parse", "HEAD")
    second = local.commit("two")
    local.git("checkout", "-q", first)

    assert second == local.git("rev-parse", "HEAD", at=local.order()["cwd"])


def test_a_repository_without_commits(ground):
    """There is nothing to start from: exit 1, and it says what to do."""
    ground.git("init", "-q")

    assert "no commits yet" in ground.order(code=1)
    assert [] == ground.sessions()


def test_no_telling_which_branch_is_the_default(local):
    """Two branches, none of the usual names, a detached HEAD: refused with the way to name it."""
    local.git("branch", "-m", "main", "one")
    local.git("branch", "two")
    local.git("checkout", "-q", "--detach")
    local.git("config", "init.defaultBranch", "nothing")

    assert "git config init.defaultBranch" in local.order(code=1)
    local.git("config", "init.defaultBranch", "two")
    assert "two" == local.tree(local.order())["base"]


def test_a_branch_checked_out_elsewhere(local):
    """The place is named; the main checkout is never given out instead."""
    was = local.before()

    said = local.order("t", "--worktree", "main", code=1)

    assert f"'main' is checked out at {local.repo}" in said
    assert was == local.before()
    assert [] == local.sessions()


def test_a_stale_registration_of_the_branch(local):
    """A tree whose folder is gone no longer holds its branch."""
    place = local.root / "gone"
    local.git("worktree", "add", "-q", "-b", "b", str(place))
    local.git("worktree", "add", "-q", "-b", "other", str(local.root / "unmounted"))
    for path in (place, local.root / "unmounted"):
        remove_folder(path)

    agent = local.order("t", "--worktree", "b")

    assert "b" == local.git("branch", "--show-current", at=agent["cwd"])
    assert str(local.root / "unmounted") in local.trees(), "a stale registration in nobody's way is nobody's business"


def test_a_stale_registration_that_is_locked(local):
    """A lock says that the folder will come back."""
    place = local.root / "disk"
    local.git("worktree", "add", "-q", "--lock", "-b", "b", str(place))
    remove_folder(place)

    assert f"checked out at {place}, which is locked" in local.order("t", "--worktree", "b", code=1)


def test_a_path_that_is_there_and_not_ours(local):
    """It is named and left alone."""
    agent = local.order("a")
    local.stop("a")
    path = Path(agent["cwd"]).parent / "fleet+b"
    path.mkdir(parents=True)
    (path / "precious").write_text("x")
    was = local.before()

    said = local.order("b", code=1)

    assert f"{path} exists and is no worktree" in said
    assert (was, "x") == (local.before(), (path / "precious").read_text())


def test_a_path_that_is_a_symlink(local):
    """A symlink at the tree's place is not followed."""
    agent = local.order("a")
    local.stop("a")
    path = Path(agent["cwd"]).parent / "fleet+b"
    path.parent.mkdir(parents=True, exist_ok=True)
    (local.root / "target").mkdir()
    path.symlink_to(local.root / "target")

    assert "exists" in local.order("b", code=1)
    assert [] == os.listdir(local.root / "target")


def test_a_tree_from_before_is_given_out_again(local):
    """Registered, unlocked, clean and on its branch: the work goes on there."""
    agent = local.order()
    new = local.commit("work", at=agent["cwd"])
    local.fleet("stop", "t")

    again = local.order()

    assert agent["cwd"] == again["cwd"]
    assert new == local.git("rev-parse", "HEAD", at=again["cwd"])
    assert "is there from before" in local.said
    assert local.tree(agent) == local.tree(again)


def test_a_tree_from_before_that_is_dirty(local):
    """It is refused with the command to look at it; nothing in it is touched."""
    agent = local.order()
    Path(agent["cwd"], "half").write_text("x")
    local.fleet("stop", "t")

    said = local.order(code=1)

    assert "not clean: 1 untracked file" in said
    assert f"git -C {agent['cwd']} status" in said
    assert exists(f"{agent['cwd']}/half")


def test_a_tree_from_before_that_is_locked(local):
    """git's lock is respected."""
    agent = local.order()
    local.fleet("stop", "t")
    local.git("worktree", "lock", "--reason", "mine now", agent["cwd"])

    assert "is locked: mine now" in local.order(code=1)


def test_a_tree_from_before_on_another_branch(local):
    """What somebody put there is not switched away."""
    agent = local.order()
    local.git("checkout", "-q", "-b", "mine", at=agent["cwd"])
    local.fleet("stop", "t")

    assert "is on branch 'mine' and not on 'fleet/t'" in local.order(code=1)


def test_a_tree_from_before_with_an_unfinished_merge(local):
    """An operation that waits is not clean."""
    agent = local.order()
    local.commit("f", "mine\n", at=agent["cwd"])
    local.commit("f", "theirs\n")
    local.git("merge", "main", at=agent["cwd"], code=1)
    local.fleet("stop", "t")

    assert "not clean" in local.order(code=1)


def test_the_tree_of_another_living_agent(local):
    """Two agents never share a tree unasked."""
    agent = local.order("one", "--worktree", "b")

    said = local.order("two", "--worktree", "b", code=1)

    assert f"is the worktree of agent {agent['id']}" in said


def test_the_same_task_twice(local):
    """The second is refused for the task, as without a worktree."""
    agent = local.order()

    assert f"is alive as agent {agent['id']}" in local.order(code=1)


def test_a_tree_whose_file_was_lost_is_adopted_without_its_branch(local):
    """Registered at our place but unknown: used when clean, its branch is not ours to delete."""
    agent = local.order()
    local.fleet("stop", "t")
    for path in (local.fleet_home / "trees").iterdir():
        path.unlink()

    again = local.order()

    assert agent["cwd"] == again["cwd"]
    assert not local.tree(again)["created_branch"]


def test_a_successor_inherits_the_tree(local):
    """After a handoff the next generation works in the same tree and has the field."""
    local.rules({"match": "Read the handoff", "do": "STUB: say=resumed"})
    agent = local.order()
    local.state("t", "idle")

    local.fleet("handoff", "t")

    successor = local.until(lambda: [a for a in local.agents("t") if a["generation"] == 2], "a successor")[0]
    assert agent["cwd"] == successor["cwd"]
    assert local.tree(agent) == local.tree(successor)
    assert successor["id"] == local.row("fleet/t")["holder"]


def test_the_list_keeps_its_shape(local):
    """`fleet list --json` has the same keys with and without a worktree."""
    local.order("with")
    local.fleet("dispatch", "without", "--engine", "fake", "--prompt", "x")

    assert 1 == len({tuple(sorted(a)) for a in json.loads(local.fleet("list", "--json"))})


def test_many_at_once(shared):
    """Dispatches at the same moment do not trip over git's locks or each other's trees."""
    argv = ["dispatch", "--engine", "fake", "--prompt", "x", "--worktree"]

    started = [shared.start(*argv[:1], f"t{n}", *argv[1:]) for n in range(6)]

    assert [0] * 6 == [one.wait(60) for one in started], shared.story()
    assert 6 == len(shared.trees())
    assert {"standing"} == {row["stage"] for row in shared.json("worktree", "list")}


def test_a_worktree_that_another_git_is_registering(local):
    """While its registration is half written git lists none of the trees: asked again, it lists all."""
    asked = local.root / "asked"
    half = local.repo / ".git" / "worktrees" / "half"
    half.mkdir(parents=True)
    (half / "locked").write_text("initializing")
    (half / "gitdir").write_text(f"{local.root}/half/.git\n")
    (half / "commondir").touch()
    wrapper = local.bin / "git"
    wrapper.write_text(
        f'#!/bin/sh\n{shutil.which("git")} "$@" && exit\nstatus=$?\n'
        f'case " $* " in *" worktree list "*) touch {asked};; esac\nexit $status\n'
    )
    wrapper.chmod(0o755)

    started = local.start("dispatch", "t", "--engine", "fake", "--prompt", "x", "--worktree")
    local.until(asked.exists, "git has refused")
    shutil.rmtree(half)

    assert 0 == started.wait(60), local.story()
    assert 1 == len(local.trees())


def test_two_tasks_for_one_branch_at_once(local):
    """One gets the tree, the other a refusal."""
    argv = ["--engine", "fake", "--prompt", "x", "--worktree", "b"]

    started = [local.start("dispatch", f"t{n}", *argv) for n in range(2)]

    assert [0, 1] == sorted(one.wait(60) for one in started)
    assert 1 == len(local.trees())


def test_a_branch_that_another_is_about_to_make(local):
    """Between a task's claim on a branch and git's knowing of it, a second task is refused and the first not hurt."""
    go, asked = local.root / "go", local.root / "asked"
    wrapper = local.bin / "git"
    wrapper.write_text(
        f'#!/bin/sh\ncase " $* " in *" worktree add "*)\n'
        f"  if mkdir {asked} 2>/dev/null; then while [ ! -e {go} ]; do sleep 0.02; done; fi;;\n"
        f'esac\nexec {shutil.which("git")} "$@"\n'
    )
    wrapper.chmod(0o755)
    argv = ["--engine", "fake", "--prompt", "x", "--worktree", "b"]
    first = local.start("dispatch", "first", *argv)
    local.until(asked.exists, "git is asked for the tree")

    second = local.run("dispatch", "second", *argv)
    go.touch()

    assert 1 == second.returncode
    assert b"branch 'b' is taken" in second.stderr
    assert 0 == first.wait(60)
    assert ["b"] == [row["branch"] for row in local.json("worktree", "list")]
    assert {"b", "main"} == set(local.branches())


def remove_folder(path):
    """Remove a folder as a person would, git not asked."""
    shutil.rmtree(path)


def running():
    """The command lines of all processes."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            found.append(path.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found
