"""What is old and of no use goes; what lives, waits, is named or cannot be read stays, with and without --apply."""

import json
import os
import subprocess
import threading
import time

import pytest

from fleet.app import Fleet
from fleet.formats.atomic import Lock, write_file
from fleet.formats.handoff import whole_draft
from fleet.operate import gc
from tests.cli.conftest import picture
from tests.cli.test_shapes import check

DAY = 86400
OLD = "2020-01-01T00:00:00Z"


def age(path, days=400):
    """Let a file be as old as that."""
    then = time.time() - days * DAY
    os.utime(path, (then, then), follow_symlinks=False)


def collect(world, *options, code=0):
    found = json.loads(world.fleet("gc", "--json", *options, code=code))
    check("gc", found)
    return found


def ended(world, task, at=OLD):
    """A dispatch of two generations that ended then; the ids of its agents."""
    world.rules({"match": "Read the handoff", "do": "STUB: say=resumed"})
    first = world.dispatch(task, "x\nSTUB: say=ok")
    world.fleet("send", task, "hello", "--wait", "20")
    world.fleet("handoff", task)
    second = world.state(task, "idle")
    world.fleet("stop", task)
    for agent in (first, second):
        path = world.fleet_home / "agents" / "archive" / f"{agent['id']}.json"
        path.write_text(json.dumps({**json.loads(path.read_text()), "archived_at": at}))
    return first["id"], second["id"], first["dispatch_id"]


def test_everything_of_an_old_dispatch_goes_and_nothing_of_a_young_or_living_one(world):
    """Records, events, messages and prompts, then its documents and locks; the dry run lists the same and changes nothing."""
    old = ended(world, "old")
    young = ended(world, "young", at="2999-01-01T00:00:00Z")
    live = world.dispatch("live", "x\nSTUB: say=ok")
    for folder in ("handoffs", "agents/.locks", "run/locks", "launch", "logs"):
        for path in (world.fleet_home / folder).iterdir():
            age(path)
    before = picture(world.fleet_home)

    dry = collect(world)

    assert before == picture(world.fleet_home)
    assert old[2] in [one["what"] for one in dry if one["kind"] == "agents"]
    done = collect(world, "--apply")
    assert {one["what"] for one in dry} == {one["what"] for one in done if one["done"]}
    left = "\n".join(str(path) for path in world.fleet_home.rglob("*") if not {"logs", "handoffs"} & {*path.parts})
    assert not [one for one in (old[0], old[2]) if f"/{one}" in left]
    assert all(f"archive/{one}.json" in left for one in young[:2])
    assert f"agents/.locks/{live['id']}.lock" in left
    assert f"launch/{live['id']}.json" in left
    assert "idle" == world.agent("live")["state"]
    collect(world, "--apply")  # the documents of a dispatch go once no record of it is left
    handoffs = [path.name[:8] for path in (world.fleet_home / "handoffs").iterdir()]
    assert [young[0]] == handoffs
    world.fleet("send", "live", "still there?", "--wait", "20")
    assert [] == collect(world)


def test_a_whole_draft_goes_when_its_document_goes(layout, write_record):
    """One whose document a record names stays, also when no record of its own agent is left."""
    named = f"{layout.handoffs}/bbbb2222-20200101-000000-aaaa.md"
    lost = f"{layout.handoffs}/cccc3333-20200101-000000-aaaa.md"
    for document in (named, lost):
        for path in (document, whole_draft(document)):
            write_file(path, b"x")
            age(path)
    write_record(last_handoff_path=named)

    found = gc.plan(Fleet({"FLEET_HOME": layout.home}), [gc.Kind.HANDOFFS])

    assert ([lost, whole_draft(lost)], ()) == (sorted([one.what for one in found.items], key=len), found.blocked)


def test_what_cannot_be_read_keeps_its_whole_kind(world):
    """A broken record may name anything: nothing goes, and exit 2 says so."""
    agents = ended(world, "old")
    (world.fleet_home / "agents" / "aaaaaaaa.json").write_text("{")

    done = world.run("gc", "--kinds", "agents", "--apply")

    assert 2 == done.returncode
    assert b"nothing goes" in done.stderr
    assert (world.fleet_home / "agents" / "archive" / f"{agents[0]}.json").exists()


def test_dirty_worktrees_and_patches_stay(world):
    """A tree with work in it is kept by the survey's own gates, a patch for ever by default."""
    git = ["git", "-c", "user.name=n", "-c", "user.email=e@x", "-C", str(world.project)]
    for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *words], check=True)
    trees = {}
    for task in ("dirty", "clean"):
        agent = world.dispatch(task, "x\nSTUB: say=ok", "--worktree")
        record = json.loads((world.fleet_home / "agents" / f"{agent['id']}.json").read_text())
        trees[task] = record["worktree"]["path"]
    with open(os.path.join(trees["dirty"], "work"), "w") as f:
        f.write("w")
    for task in ("dirty", "clean"):
        world.fleet("stop", task)
    patch = world.fleet_home / "rescues" / "a1b2c3d4-20200101-000000.patch"
    patch.write_text("p")
    age(patch)

    (gone,) = collect(world, "--apply")

    assert ("worktrees", trees["clean"], True) == (gone["kind"], gone["what"], gone["done"])
    assert os.path.isdir(trees["dirty"])
    assert patch.exists()
    world.config("gc: {rescues_days: 30}\n")
    assert [str(patch)] == [one["what"] for one in collect(world, "--kinds", "rescues", "--apply")]


def test_a_word_that_is_no_kind_is_refused(bare):
    """Exit 2, and the hint lists the kinds."""
    code, _, err = bare("gc", "--kinds", "logs,everything")
    assert 2 == code
    assert "worktrees" in err


def test_a_retired_lock_never_lets_two_in(tmp_path):
    """Whoever waited on a lock file that was removed begins again with the new one."""
    path = str(tmp_path / "x.lock")
    inside, most, lock = [], [], threading.Lock()

    def work():
        for _ in range(200):
            with Lock(path, 20):
                with lock:
                    inside.append(1)
                    most.append(len(inside))
                with lock:
                    inside.pop()
            Lock(path, 0).retire()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert 1 == max(most)
    held = Lock(path)
    with held:
        assert not Lock(path).retire()
    assert Lock(path).retire()
    with pytest.raises(FileNotFoundError):
        os.stat(path)
