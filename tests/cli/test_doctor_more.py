"""What the doctor mends, and what hooks and git say when they are asked."""

import json
import os
import subprocess

import pytest

from tests.cli.test_shapes import check

GIT = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "init.defaultBranch=main"]


def git(folder, *args):
    done = subprocess.run([*GIT, "-C", str(folder), *args], capture_output=True, check=True)
    return done.stdout.decode().strip()


def findings(world, *options):
    """All findings; their shape is checked."""
    done = world.run("doctor", "--json", *options)
    found = json.loads(done.stdout)
    check("doctor", found)
    return done.returncode, found


@pytest.fixture
def engines(world):
    """Programs called claude and codex that tell a version."""
    for name, words in (("claude", "2.1.197 (Claude Code)"), ("codex", "codex-cli 0.171.0")):
        (world.bin / name).write_text(f"#!/bin/sh\necho '{words}'\n")
        (world.bin / name).chmod(0o755)
    return world


def test_fix_shows_its_plan_and_does_nothing_without_a_yes(engines):
    """Without a terminal and --yes it refuses; with it, it mends what it said and looks again."""
    world = engines
    world.dispatch("one", "x\nSTUB: say=ok")
    world.fleet_home.chmod(0o755)

    refused = world.run("doctor", "--fix")
    assert (1, 0o755) == (refused.returncode, world.fleet_home.stat().st_mode & 0o777)
    assert f"chmod 700 {world.fleet_home}" in refused.stderr.decode()

    mended = world.run("doctor", "--fix", "--yes", "--json")
    assert (0, 0o700) == (mended.returncode, world.fleet_home.stat().st_mode & 0o777), mended.stdout
    assert "nothing that fleet can mend" in world.run("doctor", "--fix").stderr.decode()


def test_a_socket_that_others_can_replace_and_a_locale_that_cannot_draw(engines):
    """Both are named with what mends them; no locale at all is worth a note."""
    world = engines
    world.root.chmod(0o777)
    world.env["LC_ALL"] = "de_DE.ISO-8859-1"
    code, found = findings(world)
    problems = {one["check"]: one for one in found if one["grade"] == "problem"}
    assert {"socket", "locale"} == set(problems)
    assert (1, f"chmod 700 {world.root}") == (code, problems["socket"]["mend"])

    del world.env["LC_ALL"], world.env["LANG"]
    world.root.chmod(0o700)
    code, found = findings(world)
    assert (0, ["note"]) == (code, [one["grade"] for one in found if one["check"] == "locale"])


def test_times_from_the_future_and_another_boot(engines):
    """A record from the future is a problem; a boot since then is a note that names the cure."""
    world = engines
    agent = world.dispatch("one", "x\nSTUB: say=ok")
    path = world.fleet_home / "agents" / f"{agent['id']}.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps({**record, "spawned_at": "2999-01-01T00:00:00Z"}))
    assert "in the future" in next(one["what"] for one in findings(world)[1] if one["check"] == "clock")

    path.write_text(json.dumps({**record, "boot_id": "another"}))
    (note,) = [one["what"] for one in findings(world)[1] if one["check"] == "clock"]
    assert "fleet recover" in note


def test_receipts_say_what_fired_and_what_never_did(engines):
    """Per agent and event; an event that is configured and was never reported is named as that."""
    world = engines
    world.dispatch("one", "x\nSTUB: say=ok")

    (row,) = [one for one in findings(world, "--hooks")[1] if one["check"] == "receipts"]

    fired, _, never = row["what"].partition("configured and not fired yet: ")
    assert "UserPromptSubmit" in fired
    assert "Stop" in fired
    assert "PreCompact" in never
    assert not [one for one in findings(world)[1] if one["check"] == "receipts"]


def test_git_says_who_holds_what_and_what_each_branch_contributes(engines):
    """From the branch's own fork point: work, no work, work on another ref, and a branch that is gone."""
    world = engines
    git(world.project, "init", "-q")
    (world.project / "a").write_text("1\n")
    git(world.project, "add", "a")
    git(world.project, "commit", "-qm", "first")
    trees = {}
    for task in ("good", "empty", "astray"):
        view = world.dispatch(task, "x\nSTUB: say=ok", "--worktree")
        record = json.loads((world.fleet_home / "agents" / f"{view['id']}.json").read_text())
        trees[task] = record["worktree"]["path"]
    for task in ("good", "astray"):
        tree = trees[task]
        if task == "astray":
            git(tree, "switch", "-qc", "side-door")
        with open(os.path.join(tree, "new"), "w") as f:
            f.write(task)
        git(tree, "add", "new")
        git(tree, "commit", "-qm", f"work of {task}")
    (world.project / "a").write_text("2\n")
    head = git(world.project, "rev-parse", "HEAD")

    code, found = findings(world, "--git")

    said = [(one["grade"], one["what"]) for one in found if one["check"] == "git"]
    assert 1 == code
    words = "\n".join(f"{grade}: {what}" for grade, what in said)
    assert f"ok: the main checkout {os.path.realpath(world.project)} is on main" in words
    assert f"note: not committed in {os.path.realpath(world.project)}: a" in words
    assert "held by" in words
    assert "ok: fleet/good (good): 1 commits, 1 files since" in words
    assert "problem: fleet/empty (empty) contributes nothing" in words
    assert "new since then: side-door" in words
    assert "problem: the worktree of fleet/astray (astray) is on side-door" in words
    assert head == git(world.project, "rev-parse", "HEAD")
    git(world.project, "checkout", "-q", "--detach")
    assert "is on no branch" in "".join(one["what"] for one in findings(world, "--git")[1])
