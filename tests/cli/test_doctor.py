"""The doctor finds each thing that is wrong on a real fleet, says what mends it, and changes nothing."""

import json
import os
import shutil

import pytest

from tests.cli.conftest import picture
from tests.cli.test_shapes import check


@pytest.fixture
def well(world):
    """A fleet with one healthy agent, and a program called claude that tells a version."""
    for name, words in (("claude", "2.1.197 (Claude Code)"), ("codex", "codex-cli 0.171.0")):
        (world.bin / name).write_text(f"#!/bin/sh\necho '{words}'\n")
        (world.bin / name).chmod(0o755)
    world.dispatch("fine", "x\nSTUB: say=ok")
    return world


def examine(world, code=1):
    """The problems, by check."""
    done = world.run("doctor", "--json")
    found = json.loads(done.stdout)
    check("doctor", found)
    assert code == done.returncode, found
    problems = [one for one in found if one["grade"] == "problem"]
    assert all(one["why"] and one["cure"] for one in problems)
    return {one["check"]: one["what"] for one in problems}


def test_a_healthy_fleet_has_no_problem(well):
    """Exit 0, and the versions that were found."""
    assert {} == examine(well, code=0)
    text = well.fleet("doctor")
    assert "claude-code 2.1.197" in text
    assert "hooks" in text


def test_it_changes_nothing(well):
    """Read-only: not a file, not a session; what it read of YAML is remembered, as by every command."""
    well.run("doctor")
    before = picture(well.fleet_home)
    well.run("doctor")
    assert before == picture(well.fleet_home)


def test_no_engine_and_no_tmux(world):
    """What fleet cannot do without."""
    world.env["PATH"] = str(world.bin)
    found = examine(world)
    assert "tmux" in found
    assert "neither claude nor codex" in found["engines"]


def test_a_server_of_another_version(well):
    """An upgrade of tmux leaves the old server running."""
    real = shutil.which("tmux")
    (well.bin / "tmux").write_text(f'#!/bin/sh\n[ "$1" = -V ] && {{ echo tmux 3.9; exit; }}\nexec {real} "$@"\n')
    (well.bin / "tmux").chmod(0o755)
    assert "is tmux" in examine(well)["tmux"]


def test_a_record_without_its_pane(well):
    """Somebody killed the session."""
    agent = well.agent("fine")
    well.run("drain", "--stop")
    well.tmux("kill-session", "-t", f"=fleet-{agent['id']}")
    assert agent["id"] in examine(well)["records"]


def test_a_record_that_cannot_be_read(well):
    """It is named."""
    path = well.fleet_home / "agents" / "0000aaaa.json"
    path.write_text("{")
    assert str(path) in examine(well)["records"]


def test_a_session_without_its_record(well):
    """Ours by its mark and home."""
    agent = well.agent("fine")
    well.run("drain", "--stop")
    os.unlink(well.fleet_home / "agents" / f"{agent['id']}.json")
    os.unlink(well.fleet_home / "launch" / f"{agent['id']}.json")
    assert f"fleet-{agent['id']}" in examine(well)["sessions"]


def test_a_dead_letter(well):
    """With why it was given up, and how to try again."""
    gone = well.root / "gone"
    gone.mkdir()
    nap = {"engine": "command", "command": ["sleep", "99"]}
    tasks = [{"task": "first", **nap}, {"task": "late", "cwd": str(gone), **nap}]
    well.fleet("dispatch", "--from", "-", "--max", "1", stdin="\n".join(map(json.dumps, tasks)))
    gone.rmdir()
    well.fleet("stop", "first")
    well.until(lambda: any(r["state"] == "dead" for r in well.json("queue", "list")), "it is given up")
    assert "no such directory" in examine(well)["queue"]


def test_hooks_that_never_fired(well):
    """A settings file that names them proves nothing."""
    agent = well.agent("fine")
    well.run("drain", "--stop")
    path = well.fleet_home / "agents" / f"{agent['id']}.json"
    record = json.loads(path.read_text())
    path.write_text(json.dumps(record | {"spawned_at": "2020-01-01T00:00:00Z"}))
    os.unlink(well.fleet_home / "events" / f"{agent['id']}.jsonl")
    assert "no hook of it fired" in examine(well)["hooks"]


def test_a_hook_that_failed(well):
    """The newest failure, in one line."""
    (well.fleet_home / "logs").mkdir(exist_ok=True)
    log = "2026-11-30T13:00:00Z aaaa1111 claude-code Stop\nTraceback\n  x\nOSError: no space\n"
    (well.fleet_home / "logs" / "hook-errors.log").write_text(log)
    assert "a hook failed: 2026-11-30T13:00:00Z aaaa1111 claude-code Stop: OSError: no space" == examine(well)["hooks"]


def test_hooks_of_another_installation(well):
    """A moved or removed fleet leaves its launcher's path behind."""
    path = next((well.fleet_home / "launch").glob("*.settings.json"))
    path.write_text(path.read_text().replace("/hooks/on_event.py", "/elsewhere/hooks/on_event.py"))
    assert "another installation" in examine(well)["settings"]


def test_the_users_own_settings_name_another_installation(well):
    """What a moved fleet left in them; settings without an entry of fleet's are nobody's business."""
    folder = well.home / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text("{}")
    assert {} == examine(well, code=0)
    well.fleet("init", "--user-hooks", "--engine", "claude")
    assert {} == examine(well, code=0)

    text = (folder / "settings.json").read_text()
    (folder / "settings.json").write_text(text.replace("{", '{"disableAllHooks": true, ', 1))
    assert "disableAllHooks" in examine(well)["user-hooks"]
    (folder / "settings.json").write_text(text.replace("/hooks/on_event.py", "/moved/hooks/on_event.py"))
    assert "another installation" in examine(well)["user-hooks"]


def test_a_home_that_is_open_to_others(well):
    """Prompts and environments lie in it."""
    well.fleet_home.chmod(0o755)
    assert "open to others" in examine(well)["home"]


def test_a_configuration_that_is_wrong(well):
    """With file and line; the other checks go on."""
    well.config("limits:\n  max_sesions: 3\n")
    found = examine(well)
    assert "config.yaml:2" in found["home"]


def test_no_room(well):
    """Memory, disk, sessions."""
    well.config("limits: {min_free_memory_mb: 99999999, min_free_disk_mb: 99999999, max_sessions: 1}\n")
    assert {"memory", "disk", "sessions"} <= set(examine(well))


def test_things_that_wait_without_a_drain(well):
    """Nothing would carry them out."""
    well.run("drain", "--stop")
    agent = well.agent("fine")
    entry = {"schema_version": 1, "old_agent_id": agent["id"], "new_agent_id": "bbbb2222", "task_id": "fine",
             "project": "default", "handoff_doc": str(well.root / "x.md"), "enqueued_at": "2026-11-30T13:00:00Z",
             "new_session": "fleet-bbbb2222"}  # fmt: skip
    (well.fleet_home / "queue" / f"spawn-fresh-{agent['id']}.json").write_text(json.dumps(entry))
    found = examine(well)
    assert "no drain runs" in found.get("drain", "") or "queue" in found


def test_what_could_not_be_looked_at_is_no_problem_and_no_health(well):
    """A server that does not answer: exit 2."""
    (well.bin / "tmux").write_text('#!/bin/sh\n[ "$1" = -V ] && { echo tmux 3.3a; exit; }\necho lost >&2; exit 1\n')
    (well.bin / "tmux").chmod(0o755)
    assert {} == examine(well, code=2)


# the service


@pytest.fixture
def systemd(world):
    """A systemctl that keeps a list of what it was asked, and plays a unit that runs once it was started."""
    log = world.root / "systemctl.log"
    (world.bin / "systemctl").write_text(
        f'#!/bin/sh\necho "$*" >>{log}\ncase "$*" in *is-active*) grep -q restart {log} && echo active;; esac\nexit 0\n'
    )
    (world.bin / "systemctl").chmod(0o755)
    world.log = log
    return world


def unit(world):
    return next((world.home / ".config" / "systemd" / "user").glob("fleet-drain*.service"), None)


def test_a_systemd_unit_is_written_enabled_and_started(systemd):
    """Again and again, if asked; its environment is written into it."""
    for _ in range(2):
        done = systemd.json("service", "install")
        check("service", done)
        assert ("systemd", "running") == (done["kind"], done["state"])
    text = unit(systemd).read_text()
    assert f'Environment="FLEET_HOME={systemd.fleet_home}"' in text
    assert "KillMode=process" in text
    asked = systemd.log.read_text().splitlines()
    assert [f"--user enable {unit(systemd).name}", f"--user restart {unit(systemd).name}"] == [
        line for line in asked if "enable" in line or "restart" in line
    ][:2]
    assert "daemon-reload" in asked[1]


def test_uninstall_takes_it_all_away(systemd):
    """Safe to repeat."""
    systemd.fleet("service", "install")
    for _ in range(2):
        assert "absent" == systemd.json("service", "uninstall")["state"]
    assert unit(systemd) is None
    done = systemd.run("service", "status")
    assert 1 == done.returncode


def test_the_program_of_the_unit_is_the_drain(systemd):
    """The very command line, run as systemd would."""
    import subprocess

    systemd.fleet("service", "install")
    line = next(one for one in unit(systemd).read_text().splitlines() if one.startswith("ExecStart="))
    words = [word.strip('"').replace("%%", "%").replace("$$", "$") for word in line[10:].split('" "')]
    done = subprocess.run([*words, "--once", "--json"], env=systemd.env, capture_output=True, timeout=60)
    assert 0 == done.returncode, done.stderr
    assert "handoffs" in json.loads(done.stdout)


def test_where_there_is_no_manager_it_is_a_tmux_session(world):
    """And says that a reboot ends it."""
    (world.bin / "systemctl").write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2; exit 1\n")
    (world.bin / "systemctl").chmod(0o755)
    done = world.json("service", "install")
    assert ("tmux", "running") == (done["kind"], done["state"])
    assert done["notes"]
    assert "absent" == world.json("service", "uninstall")["state"]
    world.until(lambda: 1 == world.run("service", "status").returncode, "it is gone")


def test_a_drain_on_demand_is_no_service(world):
    """It is nobody's that it runs for now; the service takes its place and stays."""
    drain = world.start("drain")
    world.until(lambda: 0 == world.run("drain", "--status").returncode, "a drain runs")
    (world.bin / "systemctl").write_text("#!/bin/sh\nexit 1\n")
    (world.bin / "systemctl").chmod(0o755)
    assert 1 == world.run("service", "status").returncode
    assert "running" == world.json("service", "install")["state"]
    assert 0 == drain.wait(20)
    assert "fleet-drain-" in world.tmux("list-sessions")
    world.fleet("service", "uninstall")


def test_a_failed_install_leaves_nothing(systemd):
    """And what another manager left is taken away by uninstall."""
    (systemd.bin / "systemctl").write_text("#!/bin/sh\necho 'Failed to connect to bus' >&2; exit 1\n")
    done = systemd.run("service", "install", "--kind", "systemd")
    assert 1 == done.returncode
    assert unit(systemd) is None
    done = systemd.run("service", "install", "--kind", "launchd")
    assert 5 == done.returncode
    assert not (systemd.home / "Library").exists()


def test_a_plan_writes_nothing(systemd):
    """--dry-run prints what would be written."""
    assert "ExecStart=" in systemd.fleet("service", "install", "--dry-run")
    assert unit(systemd) is None


def test_launchd_gets_a_property_list(world):
    """As plutil reads it."""
    import plistlib

    text = world.fleet("service", "install", "--kind", "launchd", "--dry-run")
    data = plistlib.loads(text.partition("\n")[2].encode())
    assert data["RunAtLoad"]
    assert str(world.fleet_home) == data["EnvironmentVariables"]["FLEET_HOME"]


def test_wrong_input(bare):
    """Of the option's values."""
    assert 2 == bare("service", "reinstall")[0]
    assert 2 == bare("service", "--kind", "cron")[0]
    assert 2 == bare("doctor", "--nope")[0]
