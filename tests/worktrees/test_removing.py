"""`fleet stop --remove-worktree` and `fleet worktree list|prune`: what is safe goes, everything else stays and says why."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import jsonschema
import pytest

from tests.house.test_house import SCHEMAS, registry
from tests.worktrees.conftest import exists


def check(name, value):
    schema = json.loads(next(p for p in SCHEMAS if p.stem == name).read_text())
    jsonschema.Draft202012Validator(schema, registry=registry()).validate(value)


def test_a_tree_without_work(local):
    """It goes with its branch, its registration and fleet's file of it."""
    agent = local.order()

    local.stop()

    assert not exists(agent["cwd"])
    assert ([], ["main"], []) == (local.trees(), local.branches(), os.listdir(local.fleet_home / "trees"))
    assert [] == os.listdir(local.fleet_home / "worktrees")


def work(ground, name="work"):
    """An agent that committed something; its view and the commit."""
    agent = ground.order()
    return agent, ground.commit(name, at=agent["cwd"])


def embed(ground, cwd):
    """A repository of its own that is committed as a bare link to its commit, without .gitmodules."""
    own = Path(cwd, "own")
    ground.git("init", "-q", str(own), at=cwd)
    ground.commit("work", at=own)
    ground.git("add", "own", at=cwd)
    ground.git("commit", "-qm", "m", at=cwd)


def sub(ground, cwd):
    """A submodule, merged, in whose repository below *cwd* a branch has a commit of its own."""
    lib = ground.root / "lib"
    ground.git("init", "-q", str(lib), at=ground.root)
    ground.commit("lib", at=lib)
    ground.git("submodule", "--quiet", "add", str(lib), "lib", at=cwd)
    ground.git("commit", "-qam", "m", at=cwd)
    ground.git("merge", "-q", "fleet/t")
    ground.git("checkout", "-qb", "own", at=Path(cwd, "lib"))
    ground.commit("work", at=Path(cwd, "lib"))
    ground.git("checkout", "-q", "main", at=Path(cwd, "lib"))


STAYS = {
    "an untracked file": lambda g, cwd: Path(cwd, "new").write_text("x"),
    "a changed file": lambda g, cwd: Path(cwd, ".gitignore").write_text("x"),
    "a deleted file": lambda g, cwd: Path(cwd, ".gitignore").unlink(),
    "a staged file": lambda g, cwd: (Path(cwd, "new").write_text("x"), g.git("add", "new", at=cwd)),
    "a commit": lambda g, cwd: g.commit("work", at=cwd),
    "a commit on a detached head": lambda g, cwd: (g.git("checkout", "-q", "--detach", at=cwd), g.commit("work", at=cwd)),
    "a commit on a branch of its own": lambda g, cwd: (g.git("checkout", "-qb", "mine", at=cwd), g.commit("work", at=cwd)),
    "a commit and its revert": lambda g, cwd: (g.commit("work", at=cwd), g.git("revert", "--no-edit", "HEAD", at=cwd)),
    "a lock": lambda g, cwd: g.git("worktree", "lock", cwd),
    "a bisection": lambda g, cwd: g.git("bisect", "start", at=cwd),
    "a change that git was told not to see": lambda g, cwd: (
        g.git("update-index", "--assume-unchanged", ".gitignore", at=cwd), Path(cwd, ".gitignore").write_text("x")),
    "a change behind skip-worktree": lambda g, cwd: (
        g.git("update-index", "--skip-worktree", ".gitignore", at=cwd), Path(cwd, ".gitignore").write_text("x")),
    "untracked files that the settings hide": lambda g, cwd: (
        g.git("config", "status.showUntrackedFiles", "no"), Path(cwd, "new").write_text("x")),
    "a lying file system monitor": lambda g, cwd: (
        g.git("config", "core.fsmonitor", "true"), Path(cwd, ".gitignore").write_text("x")),
    "another worktree in an ignored folder": lambda g, cwd: g.git("worktree", "add", "-q", "ignored/x", "-b", "x", at=cwd),
    "the place of another worktree that is gone": lambda g, cwd: (
        g.git("worktree", "add", "-q", "ignored/x", "-b", "x", at=cwd), shutil.rmtree(Path(cwd, "ignored"))),
    "a repository in an ignored folder": lambda g, cwd: g.git("init", "-q", "ignored/own", at=cwd),
    "a bare repository in an ignored folder": lambda g, cwd: g.git("init", "-q", "--bare", "ignored/own", at=cwd),
    "a repository that was committed as it is": lambda g, cwd: (embed(g, cwd), g.git("merge", "-q", "fleet/t")),
    "files where git expects a submodule": lambda g, cwd: (
        embed(g, cwd), g.git("merge", "-q", "fleet/t"), shutil.rmtree(Path(cwd, "own", ".git"))),
    "a submodule with a branch, not checked out any more": lambda g, cwd: (
        sub(g, cwd), g.git("submodule", "--quiet", "deinit", "-f", "lib", at=cwd)),
    "a submodule with a branch, removed": lambda g, cwd: (
        sub(g, cwd), g.git("rm", "-q", "lib", at=cwd), g.git("commit", "-qm", "m", at=cwd),
        g.git("merge", "-q", "fleet/t")),
    "a commit that only the reflog knows": lambda g, cwd: (
        g.git("checkout", "-q", "--detach", at=cwd), g.commit("work", at=cwd), g.git("checkout", "-q", "fleet/t", at=cwd)),
    "a commit that only a ref of the tree knows": lambda g, cwd: (
        g.git("checkout", "-q", "--detach", at=cwd), g.git("update-ref", "refs/worktree/x", g.commit("work", at=cwd), at=cwd),
        g.git("checkout", "-q", "fleet/t", at=cwd), g.git("reflog", "expire", "--expire=now", "--all", at=cwd)),
    "another folder in its place": lambda g, cwd: (shutil.rmtree(cwd), os.mkdir(cwd), Path(cwd, "x").write_text("x")),
}  # fmt: skip


@pytest.mark.parametrize("case", STAYS)
def test_what_would_lose_something_stays(local, case):
    """The agent is stopped, the tree stays, exit 1, the reason and the command to look; prune judges alike."""
    agent = local.order()
    STAYS[case](local, agent["cwd"])
    before = sorted(os.listdir(agent["cwd"]))

    said = local.stop(code=1)

    assert [] == local.agents()
    assert f"git -C {agent['cwd']} " + ("worktree unlock ." if case == "a lock" else "status") in said
    assert before == sorted(os.listdir(agent["cwd"]))
    assert "fleet/t" in local.branches()
    row = local.row("fleet/t", "prune", "--apply")
    assert ("keep", False) == (row["next"], row["done"])
    assert before == sorted(os.listdir(agent["cwd"]))


def test_merged_work(local):
    """Merged into the local default branch: tree and branch go."""
    agent, _ = work(local)
    local.git("merge", "-q", "--no-ff", "-m", "merge", "fleet/t")

    assert "branch fleet/t deleted" in local.stop()
    assert not exists(agent["cwd"])
    assert ["main"] == local.branches()


def test_pushed_work(shared):
    """Pushed: the tree goes; the branch is not merged and stays."""
    agent, _ = work(shared)
    shared.git("push", "-q", "origin", "fleet/t", at=agent["cwd"])

    assert "stays at" in shared.stop()
    assert not exists(agent["cwd"])
    assert "fleet/t" in shared.branches()


def test_work_merged_on_the_remote(shared):
    """Merged there and fetched: tree and branch go."""
    agent, _ = work(shared)
    shared.git("push", "-q", "origin", "HEAD:main", at=agent["cwd"])
    shared.git("fetch", "-q")

    shared.stop()

    assert ["main"] == shared.branches()


def test_squashed_work(local):
    """The tree goes; the branch, whose commits are nowhere else, stays, and that is said."""
    agent, _ = work(local)
    local.commit("second", at=agent["cwd"])
    local.git("merge", "-q", "--squash", "fleet/t")
    local.git("commit", "-qm", "squashed")
    local.commit("later")

    said = local.stop()

    assert "merged by a squash; branch fleet/t stays" in said
    assert not exists(agent["cwd"])


def test_a_squash_that_was_reverted_is_no_merge(local):
    """What the default branch no longer has stays."""
    agent, _ = work(local)
    local.git("merge", "-q", "--squash", "fleet/t")
    local.git("commit", "-qm", "squashed")
    local.git("revert", "--no-edit", "HEAD")

    assert "1 commit neither pushed nor merged" in local.stop(code=1)
    assert exists(agent["cwd"])


def test_a_branch_that_was_there_stays(local):
    """fleet deletes only branches that it made."""
    local.git("branch", "old")
    local.order("t", "--worktree", "old")

    assert "branch old stays: fleet did not make it" in local.stop()
    assert ["main", "old"] == local.branches()


def test_somebody_is_in_it(local):
    """A shell that stands in the tree keeps it."""
    agent = local.order()
    shell = subprocess.Popen(["sleep", "600"], cwd=agent["cwd"])
    try:
        assert f"process {shell.pid} (sleep)" in local.stop(code=1)
    finally:
        shell.kill()
        shell.wait()
    assert "remove" == local.row("fleet/t")["next"]


def test_another_agent_works_in_it(local):
    """A second agent that was started there by --cwd keeps it."""
    agent = local.order()
    other = json.loads(
        local.fleet("dispatch", "guest", "--engine", "fake", "--prompt", "x", "--cwd", agent["cwd"], "--json")
    )

    said = local.stop("guest", code=1)
    assert f"hint: it works in the worktree of agent {agent['id']}: `fleet stop {other['id']}`" in said
    assert f"then `fleet stop {agent['id']} --remove-worktree`" in said
    said = local.stop(code=1)
    assert f"agent {other['id']} has it" in said
    assert f"hint: `fleet stop {other['id']}`, then `fleet worktree prune --apply`" in said
    said = local.stop("guest", code=1)
    assert f"hint: `fleet stop {other['id']}`, then `fleet worktree prune --apply` removes {agent['cwd']}" in said


def test_an_agent_without_a_tree(local):
    """The option is refused before anything is stopped."""
    local.fleet("dispatch", "t", "--engine", "fake", "--prompt", "x")

    assert "has no git worktree of its own; nothing was stopped" in local.stop(code=1)
    assert 1 == len(local.agents())


def test_stop_without_the_option_keeps_the_tree(local):
    """It is listed as free, and prune takes it."""
    agent = local.order()
    local.fleet("stop", "t")

    assert ("remove", None) == (local.row("fleet/t")["next"], local.row("fleet/t")["holder"])
    dry = local.row("fleet/t", "prune")
    assert ("remove", False) == (dry["next"], dry["done"])
    assert exists(agent["cwd"])
    assert local.row("fleet/t", "prune", "--apply")["done"]
    assert ([], ["main"]) == (local.trees(), local.branches())


def test_the_tree_of_a_living_agent_is_never_pruned(local):
    """However clean it is."""
    agent = local.order()

    row = local.row("fleet/t", "prune", "--apply")

    assert ("keep", agent["id"]) == (row["next"], row["holder"])
    assert exists(agent["cwd"])


def test_an_agent_that_ended_by_itself_still_has_its_tree(local):
    """Until it is stopped: it may be looked at, and its record says it is there."""
    agent = local.order("t")
    local.state("t", "idle")
    os.kill(agent["pid"], 9)
    local.until(lambda: local.agent("t")["state"] in ("exited", "gone"), "the engine is gone")

    assert "keep" == local.row("fleet/t", "prune", "--apply")["next"]


def test_what_fleet_did_not_make_is_never_removed(local):
    """Folders and trees of others at our place are shown as unknown and kept."""
    agent = local.order()
    place = Path(agent["cwd"]).parent
    (place / "folder").mkdir()
    local.git("worktree", "add", "-q", "-b", "theirs", str(place / "theirs"))

    rows = local.json("worktree", "prune", "--apply")

    assert {"folder", "theirs"} == {os.path.basename(r["path"]) for r in rows if r["why"].startswith("unknown")}
    assert exists(place / "folder")
    assert exists(place / "theirs" / ".gitignore")


def test_a_lost_folder(local):
    """Registered but gone: registration, file and the unused branch go."""
    agent = local.order()
    local.fleet("stop", "t")
    shutil.rmtree(agent["cwd"])

    row = local.row("fleet/t")
    assert ("forget", True) == (row["next"], row["lost"])
    local.json("worktree", "prune", "--apply")
    assert ([], ["main"], []) == (local.trees(), local.branches(), os.listdir(local.fleet_home / "trees"))


def test_a_lost_folder_with_commits(local):
    """The branch has them and stays."""
    agent, _ = work(local)
    local.fleet("stop", "t")
    shutil.rmtree(agent["cwd"])

    local.json("worktree", "prune", "--apply")

    assert ([], ["fleet/t", "main"]) == (local.trees(), local.branches())


GONE = {
    "a commit on a detached head": lambda g, cwd: (g.git("checkout", "-q", "--detach", at=cwd), g.commit("work", at=cwd)),
    "a staged file": lambda g, cwd: (Path(cwd, "new").write_text("x"), g.git("add", "new", at=cwd)),
    "a commit that only the reflog knows": STAYS["a commit that only the reflog knows"],
    "a submodule with a branch": sub,
    "a bisection": STAYS["a bisection"],
}  # fmt: skip


@pytest.mark.parametrize("case", GONE)
def test_a_registration_that_holds_work_stays(local, case):
    """A tree that was moved away with mv: what only git's directory of it holds is not forgotten."""
    agent = local.order()
    GONE[case](local, agent["cwd"])
    local.fleet("stop", "t")
    moved = local.root / "moved"
    os.rename(agent["cwd"], moved)

    row = local.row("fleet/t", "prune", "--apply")

    assert ("keep", True) == (row["next"], row["lost"])
    assert row["why"].startswith("its folder is gone, and its registration holds ")
    assert [agent["cwd"]] == local.trees()
    said = local.order(code=1)
    assert f"{agent['cwd']} is gone, and its registration holds " in said
    assert [agent["cwd"]] == local.trees()
    assert "fleet/t" in local.branches()
    os.rename(moved, agent["cwd"])
    local.git("status", at=agent["cwd"])


def linked(ground):
    """An agent whose tree has a link that git does not ignore, `one`."""
    ground.commit(".gitignore", "*.dir/\n")
    (ground.repo / "one.dir").mkdir()
    ground.recipe("link: [one.dir]\n")
    ground.commit(".keep")
    return ground.order("t", "--trust-setup")


def test_a_link_of_ours_is_no_work(local):
    """As long as it leads where we made it lead."""
    agent = linked(local)

    local.stop()

    assert not exists(agent["cwd"])


@pytest.mark.parametrize("kind", ["file", "another link"])
def test_what_replaced_a_link_of_ours_stays(local, kind):
    """The name alone says nothing."""
    agent = linked(local)
    path = Path(agent["cwd"], "one.dir")
    path.unlink()
    path.write_text("work") if kind == "file" else path.symlink_to("elsewhere")

    assert "1 untracked file" in local.stop(code=1)
    assert exists(path)


def test_a_copy_that_git_does_not_ignore_stays_when_it_was_changed(local):
    """It is an untracked file like any other."""
    (local.repo / "a.env").write_text("x")
    (local.repo / ".git" / "info" / "exclude").write_text("")
    local.commit(".gitignore", "*.env\n")
    local.recipe("copy: [a.env]\n")
    local.commit(".keep")
    agent = local.order("t", "--trust-setup")
    local.commit(".gitignore", "x\n", at=agent["cwd"])
    local.git("rm", "-q", "--cached", "a.env", at=agent["cwd"])
    local.git("commit", "-qm", "m", at=agent["cwd"])
    local.git("merge", "-q", "fleet/t")
    Path(agent["cwd"], "a.env").write_text("work")

    assert "1 untracked file" in local.stop(code=1)
    assert "work" == Path(agent["cwd"], "a.env").read_text()


def test_a_submodule_whose_untracked_files_the_settings_hide(local):
    """Each is looked at by itself."""
    agent = local.order()
    sub(local, agent["cwd"])
    lib = Path(agent["cwd"], "lib")
    local.git("branch", "-qD", "own", at=lib)
    local.git("reflog", "expire", "--expire=now", "--all", at=lib)
    local.git("config", "status.showUntrackedFiles", "no", at=lib)
    (lib / "new").write_text("x")

    assert "submodule lib: 1 untracked file" in local.stop(code=1)


def test_a_lost_registration(local):
    """A folder that git no longer knows may hold work: it stays."""
    agent = local.order()
    local.fleet("stop", "t")
    shutil.rmtree(local.repo / ".git" / "worktrees")

    row = local.row("fleet/t", "prune", "--apply")

    assert ("keep", True) == (row["next"], row["lost"])
    assert exists(agent["cwd"])


def test_a_lost_repository(local):
    """Nothing can be known of its trees: they stay."""
    agent = local.order()
    local.fleet("stop", "t")
    local.repo.rename(local.root / "moved")

    done = local.fleet
    local.project = local.root
    rows = json.loads(done("worktree", "prune", "--apply", "--json"))

    assert "is gone" in rows[0]["why"]
    assert exists(agent["cwd"])


def test_a_file_of_ours_that_leads_out_of_our_root(local):
    """Whatever a file in the fleet home says, nothing outside of our folders is removed."""
    agent = local.order()
    local.fleet("stop", "t")
    place = local.root / "precious"
    local.git("worktree", "add", "-q", "-b", "precious", str(place))
    (path,) = (local.fleet_home / "trees").iterdir()
    from fleet.store.trees import key_of

    data = json.loads(path.read_text()) | {"path": str(place), "branch": "precious"}
    path.with_name(key_of(str(place)) + ".json").write_text(json.dumps(data))
    path.write_text("{")

    rows = local.json("worktree", "prune", "--apply")

    assert exists(place / ".gitignore")
    assert exists(agent["cwd"])
    assert {"keep"} == {r["next"] for r in rows}


def test_a_tree_that_became_a_symlink(local):
    """It is not followed."""
    agent = local.order()
    local.fleet("stop", "t")
    moved = local.root / "moved"
    os.rename(agent["cwd"], moved)
    os.symlink(moved, agent["cwd"])

    local.json("worktree", "prune", "--apply")

    assert exists(moved / ".gitignore")


def test_an_unreadable_record_keeps_every_tree(local):
    """It may be that of the holder."""
    agent = local.order()
    local.fleet("stop", "t")
    (local.fleet_home / "agents" / "aaaa1111.json").write_text("{")

    assert "could not look" in local.row("fleet/t", "prune", "--apply")["why"]
    assert exists(agent["cwd"])


def test_the_shapes(local):
    """list, prune, show and stop keep their schemas."""
    agent = local.order()
    check("agent", local.json("show", "t"))
    check("worktree", local.json("worktree", "list"))
    check("worktree", local.json("worktree", "prune"))
    check("stop", json.loads(local.fleet("stop", "--json", "t", "--remove-worktree")))
    check("worktree", local.json("worktree", "prune", "--apply"))
    assert not exists(agent["cwd"])


def test_the_texts(local):
    """The table for people, and the lines of prune, name branch, holder, reason and path."""
    agent = local.order()
    table = local.fleet("worktree")
    assert ["BRANCH", "fleet/t"] == [line.split()[0] for line in table.splitlines()]
    assert agent["id"] in table
    local.fleet("stop", "t")
    assert f"remove  {agent['cwd']}  clean and merged" in local.fleet("worktree", "prune")
    assert f"remove: done  {agent['cwd']}" in local.fleet("worktree", "prune", "--apply")


@pytest.mark.parametrize(
    ("args", "word"), [(("--apply",), "--apply goes with prune"), (("eat",), "eat"), (("list", "x"), "x")]
)
def test_wrong_usage(local, args, word):
    """Exit 2 in one line."""
    done = local.run("worktree", *args)

    assert 2 == done.returncode
    assert word in done.stderr.decode()
    assert len(done.stderr.splitlines()) <= 2


def test_a_branch_whose_base_was_taken_back_stays(local):
    """Nothing was added to it, and it is the last to name the commit that it started from."""
    base = local.commit("second")
    agent = local.order()
    local.git("reset", "-q", "--hard", "HEAD~1")

    said = local.stop()

    assert not exists(agent["cwd"])
    assert "no other branch or tag has that commit any more" in said
    assert base == local.git("rev-parse", "fleet/t")


def test_a_locked_tree_is_kept_with_the_way_to_unlock_it(local):
    """The command that is named unlocks it."""
    agent = local.order()
    local.git("worktree", "lock", agent["cwd"])

    (hint,) = [line for line in local.stop(code=1).splitlines() if line.startswith("hint: ")]
    subprocess.run(hint.split("`")[1], shell=True, check=True, env=local.env)  # noqa: S602

    local.fleet("worktree", "prune", "--apply")
    assert not exists(agent["cwd"])
