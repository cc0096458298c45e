"""Many dispatches at once, on a real tmux: who starts when, what waits, and what survives."""

import json
import os
import signal
import subprocess
import time

import pytest

from tests.agents.world import World
from tests.cli.test_shapes import check


@pytest.fixture
def world():
    """A fleet with the fake agent."""
    one = World("fake", None)
    yield one
    one.close()


def batch(world, *tasks, **defaults):
    """Write tasks.yaml; JSON is YAML."""
    path = world.root / "tasks.yaml"
    path.write_text(json.dumps({"defaults": {"engine": "command", **defaults}, "tasks": list(tasks)}))
    return str(path)


def sleeping(task, **more):
    """A task that goes on until it is stopped."""
    return {"task": task, "command": ["sleep", "1000"], **more}


def alive(world):
    """The tasks whose program runs."""
    return {a["task_id"] for a in world.json("list") if a["state"] not in ("exited", "gone")}


def queued(world):
    """The tasks that wait, in their order."""
    return [row["task_id"] for row in world.json("queue", "list") if row["state"] == "queued"]


def test_all_start_at_once_without_a_limit(world):
    """And each is an agent like any other."""
    rows = json.loads(world.fleet("dispatch", "--from", batch(world, sleeping("a"), sleeping("b")), "--json"))
    check("dispatch-from", rows)
    assert [("a", "started"), ("b", "started")] == [(row["task_id"], row["result"]) for row in rows]
    assert {(r["id"], r["task_id"]) for r in rows} == {(a["id"], a["task_id"]) for a in world.json("list")}


def test_off_a_terminal_there_is_one_json_line_a_task(world):
    """As soon as it is decided, and words on standard error."""
    done = world.run("dispatch", "--from", batch(world, sleeping("a"), sleeping("b")), "--max", "1")
    lines = [json.loads(line) for line in done.stdout.decode().splitlines()]
    check("dispatch-from", lines)
    assert ["started", "queued"] == [line["result"] for line in lines]
    assert b"1 started, 1 queued" in done.stderr


def test_no_more_than_max_are_alive_and_the_next_starts_when_one_ends(world):
    """By priority first, then in the order of the file."""
    tasks = [sleeping(name) for name in ("a", "b", "c")] + [sleeping("urgent", priority=5)]
    world.fleet("dispatch", "--from", batch(world, *tasks), "--max", "2")
    assert {"urgent", "a"} == alive(world)
    assert ["b", "c"] == queued(world)

    world.fleet("stop", "urgent")
    world.until(lambda: queued(world) == ["c"], "the next is started")
    assert {"a", "b"} == alive(world)


def test_what_waits_survives_the_end_of_every_process(world):
    """The queue is on disk: a drain that comes later goes on, whoever queued it."""
    world.fleet("dispatch", "--from", batch(world, sleeping("a"), sleeping("b")), "--max", "1")
    world.run("drain", "--stop")
    world.tmux("kill-server")
    world.until(lambda: not alive(world), "the machine is empty")
    assert ["b"] == queued(world)

    world.fleet("drain", "--once")
    assert {"b"} == alive(world)
    assert [] == queued(world)


def test_an_idle_agent_makes_room_where_that_was_asked_for(world):
    """With --finished idle the end of a turn is enough."""
    path = batch(world, *({"task": f"t{n}", "prompt": "x\nSTUB: say=ok"} for n in range(3)), engine="fake")
    world.fleet("dispatch", "--from", path, "--max", "1", "--finished", "idle")
    world.until(lambda: len(world.json("list")) == 3, "all have been started, one after the other")


def test_without_it_an_idle_agent_keeps_its_place(world):
    """Its work may not be over: only its end makes room."""
    path = batch(world, *({"task": f"t{n}", "prompt": "x\nSTUB: say=ok"} for n in range(2)), engine="fake")
    world.fleet("dispatch", "--from", path, "--max", "1")
    world.state("t0", "idle")
    world.fleet("drain", "--once")
    assert ["t1"] == queued(world)


def test_a_handoff_keeps_the_place_of_its_dispatch(world):
    """Predecessor and successor count once, and the successor still counts."""
    world.rules({"match": "Read the handoff", "do": "STUB: say=resumed\nSTUB: usage=9000"})
    path = batch(world, *({"task": f"t{n}", "prompt": "x\nSTUB: say=ok"} for n in range(2)), engine="fake")
    world.fleet("dispatch", "--from", path, "--max", "1")
    world.state("t0", "idle")
    world.fleet("handoff", "t0")
    assert 2 == world.agent("t0")["generation"]
    world.fleet("drain", "--once")
    assert ["t1"] == queued(world)


def test_the_session_limit_lets_the_rest_wait(world):
    """No room on this host is no failure."""
    world.env["FLEET_MAX_SESSIONS"] = "2"
    rows = json.loads(world.fleet("dispatch", "--from", batch(world, sleeping("x", count=4)), "--json"))
    assert ["started", "started", "queued", "queued"] == [row["result"] for row in rows]
    assert "2 are allowed" in rows[2]["error"]


def test_a_task_that_is_there_is_refused_or_passed_over(world):
    """Alive or waiting; the others go on."""
    path = batch(world, sleeping("a"), sleeping("b"))
    world.fleet("dispatch", "--from", path, "--max", "1")
    path = batch(world, sleeping("a"), sleeping("b"), sleeping("c"))
    again = json.loads(world.fleet("dispatch", "--from", path, "--json", code=1))
    assert ["refused", "refused", "started"] == [row["result"] for row in again]
    third = json.loads(world.fleet("dispatch", "--from", path, "--json", "--if-absent"))
    assert ["exists", "exists", "exists"] == [row["result"] for row in third]


def test_a_plan_changes_nothing(world):
    """--dry-run checks everything and tells the order of the starts."""
    path = batch(world, sleeping("a"), sleeping("b", priority=1))
    rows = json.loads(world.fleet("dispatch", "--from", path, "--dry-run", "--json"))
    check("dispatch-from", rows)
    assert [("b", "would start"), ("a", "would start")] == [(row["task_id"], row["result"]) for row in rows]
    assert {None} == {row[name] for row in rows for name in ("id", "dispatch_id")}, "the real ones will be others"
    assert [] == world.json("list")
    assert [] == queued(world)


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"task": "Bad Name"}, "cannot be a task name"),
        ({"task": "x", "cwd": "/no/such"}, "no such directory"),
        ({"task": "x", "engine": "gpt"}, "unknown engine"),
        ({"task": "x", "mode": "fast"}, "no mode 'fast'"),
        ({"task": "x", "prompt_file": "-"}, "standard input"),
        ({"task": "x", "prompt_file": "none.md"}, "cannot read"),
        ({"task": "x", "env": {"FLEET_X": "1"}}, "fleet's own"),
        ({"task": "x", "command": ["no-such-program-x"]}, "not installed"),
    ],
)
def test_one_wrong_task_and_nothing_is_started(world, bad, words):
    """The whole file is checked before the first start."""
    done = world.run("dispatch", "--from", batch(world, sleeping("good"), {"command": ["sleep", "9"], **bad}))
    assert done.returncode in (2, 5)
    assert words in done.stderr.decode()
    assert b"" == done.stdout
    assert not (world.fleet_home / "queue").exists() or [] == queued(world)


def test_what_cannot_be_started_any_more_is_given_up_and_shown(world):
    """A directory that is gone when its turn comes; after the cure it is tried again."""
    gone = world.root / "gone"
    gone.mkdir()
    path = batch(world, sleeping("a"), sleeping("b", cwd=str(gone)))
    world.fleet("dispatch", "--from", path, "--max", "1")
    gone.rmdir()
    world.fleet("stop", "a")
    row = world.until(
        lambda: next((r for r in world.json("queue", "list") if r["state"] == "dead"), None), "it is given up"
    )
    check("queue", [row])
    assert ("b", "dispatch") == (row["task_id"], row["kind"])
    assert "no such directory" in row["last_error"]

    gone.mkdir()
    world.fleet("queue", "retry", "b")
    world.until(lambda: "b" in alive(world), "the retry works")


def test_what_waits_can_be_dropped(world):
    """By the name of its task."""
    world.fleet("dispatch", "--from", batch(world, sleeping("a"), sleeping("b")), "--max", "1")
    world.fleet("queue", "drop", "b")
    assert [] == queued(world)
    assert {"a"} == alive(world)


def test_options_of_the_command_line_win_over_the_file(world):
    """So that a file can be tried with another engine or in another project."""
    path = batch(world, {"task": "a", "prompt": "x\nSTUB: say=ok"}, engine="claude", project="shop")
    world.fleet("dispatch", "--from", path, "--engine", "fake", "--project", "trial")
    assert ("fake", "trial") == (world.agent("a")["engine"], world.agent("a")["project"])


def test_tasks_may_come_from_standard_input(world):
    """As JSON Lines or YAML; paths are then relative to where one stands."""
    text = '{"task": "a", "engine": "command", "command": ["sleep", "1000"]}\n'
    rows = json.loads(world.fleet("dispatch", "--from", "-", "--json", stdin=text))
    assert ["started"] == [row["result"] for row in rows]
    assert str(world.project.resolve()) == world.agent("a")["cwd"]


def test_prompts_of_any_bytes_survive_the_queue(world):
    """Bytes that are no UTF-8, NUL, lone quotes: the prompt that waited is the prompt that arrives."""
    raw = bytes(range(256)) * 3
    (world.root / "p.bin").write_bytes(raw)
    tasks = [sleeping("a"), {"task": "b", "prompt_file": "p.bin", "command": ["sleep", "1000"]}]
    world.fleet("dispatch", "--from", batch(world, *tasks), "--max", "1")
    world.fleet("stop", "a")
    world.until(lambda: "b" in alive(world), "it is started")
    dispatch_id = world.agent("b")["dispatch_id"]
    assert raw == (world.fleet_home / "tasks" / f"{dispatch_id}.md").read_bytes()


@pytest.mark.parametrize("turn", range(4))
def test_a_kill_in_the_middle_loses_and_doubles_nothing(world, turn):
    """SIGKILL to the dispatching process after a varying number of starts, and again to the drain that goes on."""
    path = batch(world, sleeping("x", count=8))
    first = world.start("dispatch", "--from", path, "--max", "6")
    world.until(lambda: len(list((world.fleet_home / "agents").glob("*.json"))) >= turn, "some are started")
    first.send_signal(signal.SIGKILL)
    first.wait()
    second = world.start("drain", "--once")
    time.sleep(0.05 * turn)  # noqa: TID251  # where the kill falls does not matter
    second.send_signal(signal.SIGKILL)
    second.wait()
    world.fleet("drain", "--once")
    world.fleet("drain", "--once")

    agents = world.json("list")
    names = [a["task_id"] for a in agents]
    waiting = queued(world)
    assert sorted(names) == sorted(set(names))
    assert len(names) in (0, 6)
    if names:
        assert {f"x-{n}" for n in range(1, 9)} == set(names) | set(waiting)
    sessions = world.tmux("list-sessions", "-F", "#{session_name}").split()
    assert sorted(f"fleet-{a['id']}" for a in agents) == sorted(s for s in sessions if s.startswith("fleet-"))


def test_the_bar_is_for_terminals(world):
    """There it moves on one line, and a table follows."""
    path = batch(world, sleeping("a"), sleeping("b"))
    code = f"import pty,sys; sys.exit(pty.spawn([{os.fspath(__import__('sys').executable)!r},'-m','fleet','dispatch','--from',{path!r}]))"
    done = subprocess.run(
        [__import__("sys").executable, "-c", code], env=world.env, cwd=world.project, capture_output=True, timeout=60
    )
    shown = done.stdout.decode()
    assert "2/2" in shown
    assert "RESULT" in shown
    assert "{" not in shown


def test_each_task_may_have_a_worktree_of_its_own(world):
    """Asked for in the file; what waits is given its tree when its turn comes."""
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(world.project)]
    subprocess.run([*git, "init", "-q", "-b", "main"], check=True)
    subprocess.run([*git, "commit", "-q", "--allow-empty", "-m", "one"], check=True)
    path = batch(world, sleeping("a"), sleeping("b"), worktree=True, cwd=str(world.project))
    (row, _) = json.loads(world.fleet("dispatch", "--from", path, "--max", "1", "--json"))
    assert "fleet/a" in row["notes"][0]
    assert row["cwd"] == world.agent("a")["cwd"] != str(world.project)

    world.fleet("stop", "a")
    world.until(lambda: "b" in alive(world), "the next is started")
    assert world.agent("b")["cwd"].endswith("fleet+b")


def test_the_limit_holds_for_all_calls_with_one_file(world):
    """A repeat adds to the same batch, and the newest --max counts."""
    world.fleet("dispatch", "--from", batch(world, sleeping("a"), sleeping("b")), "--max", "1")
    path = batch(world, sleeping("a"), sleeping("b"), sleeping("c"))
    world.fleet("dispatch", "--from", path, "--max", "1", "--if-absent")
    assert {"a"} == alive(world)
    assert ["b", "c"] == queued(world)

    world.fleet("dispatch", "--from", batch(world, sleeping("a"), sleeping("d")), "--max", "3", "--if-absent")
    world.until(lambda: 3 == len(alive(world)), "the new limit")
    assert 1 == len(queued(world))


def test_agents_that_have_ended_keep_no_place_of_the_hosts(world):
    """Their sessions stay to be looked at, and do not stop the rest."""
    world.env["FLEET_MAX_SESSIONS"] = "2"
    tasks = [{"task": f"t{n}", "command": ["true"]} for n in range(6)]
    world.fleet("dispatch", "--from", batch(world, *tasks), "--max", "2")
    world.until(lambda: not queued(world), "all had their turn")
    assert 6 == len(world.json("list"))
