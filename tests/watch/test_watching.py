"""The watchdog, liveness and rescue as an operator meets them: real tmux, real git, the fake agent."""

import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace

import pytest

from fleet.app import Fleet
from fleet.drain.scanning import Scanning
from fleet.drain.watch import DrainWatch, RealHands
from fleet.errors import FleetError
from fleet.formats import texts
from fleet.log import open_log
from fleet.store import screens
from fleet.model.watchdog import Action, Intent, Trouble
from fleet.store.trees import TreeStore
from fleet.worktree import rescuing
from tests.cli.test_shapes import check

#: Windows of seconds, so that a whole ladder fits into a test.
FAST = """
watch: {mode: %s, stale_minutes: 0.03, interval_minutes: 1, learn: false, resumes: 1, spin_failures: 3}
handoff: {turn_wait_seconds: 0, grace_seconds: 1}
"""
HANG = "begin\nSTUB: bash=sleep 400"


def watch(ground, *args, code=0):
    """One tick; its events after the first."""
    lines = ground.fleet("watch", "--once", "--json", *args, code=code).splitlines()
    first, *events = map(json.loads, lines)
    for event in (first, *events):
        check("watch-event", event)
    assert "start" == first["event"]
    return events


@pytest.fixture
def scanned():
    """Have the screens of a ground looked at, by nothing that would also act: `scanned(ground)`."""
    running = []

    def start(ground):
        fleet = Fleet(ground.env)
        running.append(Scanning(fleet, open_log(fleet.layout, "test"), lambda: None))
        running[-1].start()
        return running[-1]

    yield start
    for one in running:
        one.stop()


def hang(ground, task="hung", *args):
    return ground.json("dispatch", task, "--engine", "fake", "--prompt", HANG, "--wait", "accepted", *args)


def until_event(ground, name):
    """Tick until there is one of that name; it."""
    return ground.until(
        lambda: next((e for e in watch(ground) if e["event"] == name), None), f"the watchdog says {name}"
    )


def test_an_ending_scanner_leaves_all_that_the_next_one_needs(local, scanned):
    """Also of a screen that it has just seen for the first time, so that a restart of the drain is no sign of life."""
    agent = local.json("dispatch", "t", "--engine", "fake", "--prompt", "x", "--wait", "idle")
    scanning = scanned(local)
    fleet = Fleet(local.env)
    local.until(lambda: agent["id"] in screens.read(fleet.layout), "its screen was looked at")

    scanning.stop()

    assert screens.read(fleet.layout)[agent["id"]].steady


def test_a_hung_agent_is_resumed_then_respawned_and_its_work_goes_on(local, scanned):
    """Stalled: one message, under one op-id; a window later a patch of its work and the next generation of the same
    dispatch in the same tree, which is told why. One engine at every moment; liveness says the same with its exit code."""
    ground = local
    ground.config(FAST % "observe")
    scanned(ground)
    old = hang(ground, "hung", "--cwd", str(ground.repo))
    (ground.repo / "half").write_text("half done\n")
    would = until_event(ground, "resume")
    assert (False, 1, old["id"]) == (would["done"], would["attempt"], would["agent"])
    assert [] == ground.json("show", "hung")["messages"]
    assert 1 == ground.run("liveness", "--stale", "0.01").returncode
    whole = ground.json("liveness", "hung", "--stale", "0.01", code=1)
    check("liveness", whole)
    (shown,) = whole["agents"]
    assert ("stalled", "working") == (shown["liveness"], shown["state"])

    ground.config((FAST % "act").replace("interval_minutes: 1", "interval_minutes: 0.02"))
    resumed = until_event(ground, "resume")
    assert resumed["done"] and "message" in resumed["result"]
    (spooled,) = (ground.fleet_home / "inbox" / old["id"]).glob("*.json")
    message = json.loads(spooled.read_text())
    assert (texts.WATCHDOG_STALLED, "fleet-watchdog-1") == (message["body"], message["op_id"])
    # The drain that `fleet watch` has started knows what it did, and goes on.

    def replaced():
        found = ground.agents("hung")
        return found[0] if len(found) == 1 and found[0]["id"] != old["id"] and found[0]["state"] == "idle" else None

    new = ground.until(replaced, "the successor has taken over and is idle")
    assert ("respawn", 2, old["dispatch_id"], old["id"]) == (
        ground.json("show", new["id"])["origin"], new["generation"], new["dispatch_id"], new["predecessor_id"],
    )  # fmt: skip
    assert (1, new["pid"]) == (len(ground.engines()), ground.engines()[0])
    document = Path(ground.json("show", new["id"])["last_handoff_path"]).read_text()
    assert "was replaced by fleet: stalled" in document and "begin" in document
    (patch,) = (ground.fleet_home / "rescues").glob(f"{old['id']}-*.patch")
    assert "half done" in patch.read_text() and str(patch) in document
    assert "half done\n" == (ground.repo / "half").read_text()
    told = [(e["action"], e["number"]) for e in ground.events(old["id"], "Watchdog")]
    assert [("resume", 1), ("respawn", 2)] == told
    returned = ground.fleet_home / "inbox" / "archive" / old["id"] / spooled.name
    assert "returned" == json.loads(returned.read_text())["state"]
    assert 0 == ground.run("liveness").returncode


def test_a_watch_that_stays_looks_at_the_screens_itself(ground):
    """Where no drain does; without any look at them nothing would be stalled."""
    ground.config((FAST % "act").replace("interval_minutes: 1", "interval_minutes: 0.02"))
    agent = hang(ground)
    assert {"unmeasured"} == {e["event"] for e in ground.until(lambda: watch(ground), "one look alone tells nothing")}

    process = ground.start("watch", "--json")
    ground.until(lambda: ground.events(agent["id"], "Watchdog"), "it finds the stall")

    process.terminate()
    process.communicate(timeout=30)


def test_a_second_try_under_the_same_number_finds_the_first(local):
    """What a kill left between an act and its rung: the message and the queue entry are there once, under the number."""
    ground = local
    agent = hang(ground, "hung", "--cwd", str(ground.repo))
    hands, dispatch = RealHands(Fleet(ground.env)), agent["dispatch_id"]
    resume = Intent(Action.RESUME, Trouble.STALLED, 1, 1, agent["id"], 1_796_000_000.0, "quiet for 21m")
    respawn = resume._replace(action=Action.RESPAWN, number=2)
    assert [None, None] == [hands.was_done(dispatch, one) for one in (resume, respawn)]

    for one in (resume, respawn):
        assert hands.carry_out(dispatch, one) == hands.carry_out(dispatch, one) == hands.was_done(dispatch, one)

    assert 1 == len(list((ground.fleet_home / "inbox" / "archive" / agent["id"]).glob("*.json")))
    assert 1 == len(list((ground.fleet_home / "queue").glob("spawn-fresh-*.json")))
    assert 1 == len(list((ground.fleet_home / "handoffs").glob("*.md")))
    ground.config("handoff: {turn_wait_seconds: 0, grace_seconds: 1}\n")
    ground.fleet("drain", "--once")
    assert 2 == ground.agent("hung")["generation"]
    assert all(hands.was_done(dispatch, one) for one in (resume, respawn))


def test_a_dry_run_remembers_nothing_and_a_damaged_memory_stops_everything(ground, scanned):
    """--dry-run says what would be done and writes no file; watch.json that cannot be read is named, the tick fails with
    1, the file stays and nobody is touched. watch.enabled false ends at once."""
    ground.config(FAST % "act")
    scanned(ground)
    agent = hang(ground)
    would = ground.until(lambda: watch(ground, "--dry-run"), "a dry run finds the stall")
    assert ("resume", False) == (would[0]["event"], would[0]["done"])
    memory = ground.fleet_home / "run" / "watch.json"
    assert not memory.exists()
    memory.write_text("{")

    (error,) = watch(ground, code=1)

    assert ("watch-error", "{") == (error["event"], memory.read_text())
    assert str(memory) in error["message"]
    assert not (ground.fleet_home / "inbox" / agent["id"]).exists()
    ground.config("watch: {enabled: false}\n")
    done = ground.run("watch", "--once", "--json")
    assert (0, b"") == (done.returncode, done.stdout)
    assert "disabled by watch.enabled" in done.stderr.decode()


def test_one_look_names_a_record_that_it_could_not_read(ground):
    """With its path on standard error and exit 1; the others are looked at, and the file is left as it is."""
    ground.dispatch("good", "x\nSTUB: say=ok")
    path = ground.fleet_home / "agents" / "aaaa1111.json"
    path.write_text("{")

    done = ground.run("watch", "--once", "--json")

    assert 1 == done.returncode
    assert str(path) in done.stderr.decode()
    assert "start" == json.loads(done.stdout.splitlines()[0])["event"]
    assert "{" == path.read_text()


def test_liveness_says_what_it_could_not_measure(ground, scanned):
    """Exit 2 and a line with the reason when a sign that is needed was not measured; a stall beside it wins."""
    ground.json("dispatch", "log", "--engine", "command", "--wait", "started", "--", "sleep", "400")

    ground.until(lambda: ground.run("liveness", "--stale", "0.01").returncode == 2, "it cannot be measured")
    assert "liveness was not measured for" in ground.fleet("liveness", "--stale", "0.01", code=2)
    hang(ground)
    assert 2 == ground.run("liveness", "--stale", "0.01").returncode  # nobody has looked at the screens
    scanned(ground)
    ground.until(lambda: ground.run("liveness", "--stale", "0.01").returncode == 1, "the stall wins")
    assert 2 == ground.run("liveness", "--stale", "0").returncode
    assert 4 == ground.run("liveness", "nobody").returncode


def test_rescue_saves_ends_and_frees(local):
    """The work is a patch that a clean checkout takes, the agent is filed away, its tree is gone and its branch stays; an
    unpushed commit is no obstacle. A second rescue finds no tree (2) and names the patch."""
    ground = local
    agent = ground.order("t")
    tree = Path(ground.tree(agent)["path"])
    ground.commit("committed", at=tree)
    (tree / "new.bin").write_bytes(bytes(range(256)))
    (tree / ".gitignore").write_text("changed\n")

    done = ground.json("rescue", "t")

    check("rescue", done)
    assert (2, True, None) == (done["files"], done["worktree_removed"], done["missing"])
    assert ([], [], ["fleet/t", "main"]) == (ground.agents(), ground.trees(), ground.branches())
    again = ground.root / "again"
    ground.git("worktree", "add", "-q", str(again), "fleet/t")
    ground.git("apply", "--index", done["patch"], at=again)
    assert bytes(range(256)) == (again / "new.bin").read_bytes()
    assert "changed\n" == (again / ".gitignore").read_text()
    assert done["patch"] in ground.run("rescue", "t").stderr.decode()
    assert 2 == ground.run("rescue", "t").returncode


def test_a_rescue_whose_agent_does_not_end_in_time_says_what_stands(local):
    """Exit code 6, the patch, and that another rescue frees the tree; that one adds no second patch."""
    ground = local
    stubborn = ("sh", "-c", "trap '' TERM; while :; do sleep 0.1; done")
    started = ("--engine", "command", "--wait", "started", "--worktree", "--cwd", str(ground.repo))
    agent = ground.json("dispatch", "t", *started, "--", *stubborn)
    (Path(ground.tree(agent)["path"]) / "new").write_text("precious\n")

    done = ground.run("rescue", "t", "--grace", "60", "--timeout", "0.5")

    (patch,) = (ground.fleet_home / "rescues").iterdir()
    assert (6, f"rescued t to {patch}\n") == (done.returncode, done.stdout.decode())
    assert f"left in place until `fleet rescue {agent['id']}` runs again" in done.stderr.decode()
    os.kill(agent["pid"], signal.SIGKILL)
    again = ground.json("rescue", agent["id"])
    assert (str(patch), True) == (again["patch"], again["worktree_removed"])
    assert [patch] == list((ground.fleet_home / "rescues").iterdir())


def test_a_rescue_saves_what_was_staged_and_is_nowhere_else(local):
    """`git add`, then the file is removed: the tree is freed with what was staged in a patch, which text and JSON name."""
    ground = local
    tree = Path(ground.tree(ground.order("t"))["path"])
    (tree / "st.txt").write_text("precious\n")
    ground.git("add", "st.txt", at=tree)
    (tree / "st.txt").unlink()

    said = ground.run("rescue", "t")

    assert 0 == said.returncode, said
    (patch,) = (ground.fleet_home / "rescues").iterdir()
    assert f"rescued what t had only staged to {patch}\nworktree removed" in said.stdout.decode()
    assert f"git apply --index {patch}" in said.stderr.decode()
    assert "+precious" in patch.read_text()
    assert [] == ground.trees()
    again = ground.run("rescue", "t")
    assert (2, True) == (again.returncode, str(patch) in again.stderr.decode())


def test_a_later_rescue_names_the_patch_of_the_files(local):
    """Not that of what was only staged, which is written after it and holds the lesser part."""
    ground = local
    tree = Path(ground.tree(ground.order("t"))["path"])
    (tree / "st.txt").write_text("staged\n")
    ground.git("add", "st.txt", at=tree)
    (tree / "st.txt").write_text("precious\n")
    done = ground.json("rescue", "t")
    os.utime(done["staged"], (2e9, 2e9))

    assert f"rescued before is {done['patch']}\n" in ground.run("rescue", "t").stderr.decode()


def test_what_is_staged_after_it_was_saved_keeps_the_tree(local):
    """The second look, of the tree that was moved away, asks for the index as well; the tree is back at its place."""
    ground = local
    agent = ground.order("t")
    tree = Path(ground.tree(agent)["path"])
    ground.fleet("stop", "t", "--grace", "0")
    fleet = Fleet(ground.env)
    record = fleet.agents.archived(agent["id"])
    saved = rescuing.save(fleet, record, "20261130-130000")
    stage = TreeStore(fleet.layout).get(str(tree))
    (tree / "st.txt").write_text("precious\n")
    ground.git("add", "st.txt", at=tree)
    (tree / "st.txt").unlink()

    for look in (rescuing.free, lambda *args: rescuing._remove(args[0], stage, args[1])):
        with pytest.raises(FleetError, match="something was changed in it"):
            look(fleet, saved)

    assert "AD st.txt" == ground.git("status", "--short", at=tree)
    assert [str(tree)] == ground.trees()


def test_of_two_rescues_of_one_agent_the_second_is_refused(local):
    """While one is under way another one does nothing, and says that in one line; when it is over, the next goes on."""
    ground = local
    agent = ground.order("t")
    (Path(ground.tree(agent)["path"]) / "work").write_text("work\n")
    fleet = Fleet(ground.env)

    with rescuing.Alone(fleet, fleet.agents.get(agent["id"])):
        said = ground.run("rescue", "t")

    line = f"fleet: another rescue of agent {agent['id']} is under way; this one did nothing\n"
    assert (1, line) == (said.returncode, said.stderr.decode())
    assert [] == list((ground.fleet_home / "rescues").iterdir())
    assert ground.agents("t")
    assert ground.json("rescue", "t")["worktree_removed"]


def test_a_rescue_says_in_one_sentence_what_no_patch_holds(local):
    """Whether there is a patch beside it or not: no word of a patch that there is none of, nor of a tree without work."""
    ground = local
    agent = ground.order("t")
    tree = Path(ground.tree(agent)["path"])
    ground.git("init", "-q", str(tree / "nested"))

    said = ground.run("rescue", "t")

    assert (1, "no patch was made of t\n") == (said.returncode, said.stdout.decode())
    reason = "working tree left in place: no patch holds another repository below it, nested"
    ended, words = f"fleet: note: agent {agent['id']} has ended\n", f"fleet: {reason}\nhint: it is where it was: {tree}\n"
    assert ended + words == said.stderr.decode()
    (tree / "work").write_text("work\n")
    again = ground.run("rescue", "t")
    assert (1, True) == (again.returncode, again.stdout.decode().startswith("rescued t to "))
    assert words == again.stderr.decode()


@pytest.mark.parametrize("trouble", ["nested", "unsaved"])
def test_a_rescue_that_is_not_whole_removes_nothing(local, trouble):
    """What a patch cannot hold keeps the tree (1); when nothing can be saved, the agent is not even ended."""
    ground = local
    agent = ground.order("t")
    tree = Path(ground.tree(agent)["path"])
    (tree / "work").write_text("work\n")
    if trouble == "nested":
        ground.git("init", "-q", str(tree / "nested"))
    else:
        os.rmdir(ground.fleet_home / "rescues")
        (ground.fleet_home / "rescues").write_text("in the way")

    done = ground.run("rescue", "t", "--json")

    assert done.returncode in ((1,) if trouble == "nested" else (1, 5)), done.stderr
    assert "work\n" == (tree / "work").read_text()
    assert str(tree) in ground.trees()
    assert (trouble == "unsaved") == bool(ground.agents("t"))


def test_a_tree_that_fleet_did_not_make_stays(local):
    """The user's own checkout is saved and left as it is."""
    ground = local
    hang(ground, "mine", "--cwd", str(ground.repo))
    (ground.repo / "work").write_text("work\n")

    said = ground.fleet("rescue", "mine", "--grace", "0")

    assert "working tree stays" in said and "fleet did not make it" in said
    assert "?? work" == ground.git("status", "--short")
    assert [] == ground.agents()


class Asked(dict):
    """Settings that count how often it was asked whether the watchdog is on: once for each tick that was due."""

    ticks = 0

    def __getitem__(self, name):
        self.ticks += name == "watch.enabled"
        return super().__getitem__(name)

    def number(self, name):
        return float(self[name])


def test_an_interval_that_is_changed_holds_at_once(layout, clock):
    """A drain does not wait for the end of the interval that was in force before."""
    settings = Asked({"watch.enabled": False, "watch.mode": "off", "watch.interval_minutes": 60})
    fleet = SimpleNamespace(layout=layout, clock=clock, settings=settings)
    watch = DrainWatch(fleet, None, at_once=True)
    watch.advance()
    clock.advance(120)
    watch.advance()
    assert 1 == settings.ticks

    settings["watch.interval_minutes"] = 1
    watch.advance()
    watch.close()

    assert 2 == settings.ticks
