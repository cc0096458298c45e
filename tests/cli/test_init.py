"""`fleet init` and `fleet statusline` as a person types them."""

import json
import os
import subprocess
import sys

import jsonschema
import pytest

from tests.house.test_house import SCHEMAS, registry


@pytest.fixture
def person(bare, tmp_path, monkeypatch):
    """The command on a home with a Claude Code folder and without any engine on PATH."""
    home = tmp_path / "person"
    (home / ".claude").mkdir(parents=True)

    def run(*argv, **env):
        given = {"HOME": str(home), "PATH": "/usr/bin:/bin", "FLEET_HOME": str(bare.home), **env}
        return subprocess.run([sys.executable, "-m", "fleet", *argv], env=given, capture_output=True, text=True,
                              cwd=os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), stdin=subprocess.DEVNULL)  # fmt: skip

    run.home, run.fleet_home, run.settings = home, bare.home, home / ".claude" / "settings.json"
    return run


def check(name, value):
    schema = json.loads(next(p for p in SCHEMAS if p.stem == name).read_text())
    jsonschema.Draft202012Validator(schema, registry=registry()).validate(value)


def fake_engine(folder, name, version):
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\necho '{version}'\n")
    (folder / name).chmod(0o755)


def test_init_makes_the_home_once_and_says_what_is_there(person, tmp_path):
    """Home, tmux, engines with versions and what is still to be done by hand; a second run changes nothing."""
    fake_engine(tmp_path / "bin", "claude", "2.1.197 (Claude Code)")
    path = f"{tmp_path}/bin:/usr/bin:/bin"
    first = person("init", "--json", PATH=path)
    view = json.loads(first.stdout)
    check("init", view)

    assert (0, "") == (first.returncode, first.stderr)
    assert view["fleet_home"]["made"] and person.fleet_home.is_dir()
    claude, codex = view["engines"]
    assert ("2.1.197", True) == (claude["version"], "once by hand" in claude["remedy"])
    assert (None, None) == (codex["path"], codex["version"])
    assert view["tmux"]["version"]

    (person.home / ".claude.json").write_text('{"hasCompletedOnboarding": true}')
    again = json.loads(person("init", "--json", PATH=path).stdout)
    assert (False, None) == (again["fleet_home"]["made"], again["engines"][0]["remedy"])
    assert "claude-code  2.1.197" in person("init", PATH=path).stdout


def test_an_engine_that_hangs_or_fails_is_told_without_a_version(person, tmp_path):
    """`--version` that fails is no reason to stop."""
    fake_engine(tmp_path / "bin", "claude", "what?")
    view = json.loads(person("init", "--json", PATH=f"{tmp_path}/bin:/usr/bin:/bin").stdout)
    assert (True, None) == (bool(view["engines"][0]["path"]), view["engines"][0]["version"])


def test_without_tmux_it_says_so(person, tmp_path):
    """With what to do; the rest is told all the same."""
    view = json.loads(person("init", "--json", PATH=str(tmp_path)).stdout)
    assert view["tmux"]["version"] is None and view["tmux"]["remedy"]


def test_installing_and_uninstalling(person):
    """The dry run shows a diff, the run a backup, a second run nothing to do, and the way back is exact."""
    person.settings.write_text('{\n\t"model": "opus"\n}')

    dry = person("init", "--user-hooks", "--dry-run")
    assert (0, '{\n\t"model": "opus"\n}', False) == (
        dry.returncode,
        person.settings.read_text(),
        person.fleet_home.exists(),
    )
    assert '+\t"hooks": {' in dry.stdout and "would be installed" in dry.stdout

    done = json.loads(person("init", "--user-hooks", "--statusline", "--json").stdout)
    check("init-user-hooks", done)
    assert [("claude-code", "installed")] == [(one["engine"], one["action"]) for one in done]
    assert os.path.exists(done[0]["backup"])
    assert {"model", "hooks", "statusLine"} == set(json.loads(person.settings.read_text()))
    assert "unchanged" in person("init", "--user-hooks").stdout

    assert "removed" in person("init", "--user-hooks", "--uninstall").stdout
    assert '{\n\t"model": "opus"\n}' == person.settings.read_text()
    assert ["settings.json"] == os.listdir(person.settings.parent)


def test_the_installed_hook_is_harmless_when_fleet_is_gone(person, tmp_path):
    """The command ends with 0 and in silence: an interpreter without its script would end with 2, which blocks."""
    person("init", "--user-hooks", "--statusline")
    text = person.settings.read_text()
    gone = json.loads(
        text.replace("/hooks/on_event.py", "/hooks/../no/hooks/on_event.py").replace(
            "/hooks/status_line.py", "/no/status_line.py"
        )
    )
    commands = [gone["hooks"]["Stop"][0]["hooks"][0]["command"], gone["statusLine"]["command"]]
    for command in [*commands, *(c.replace(os.path.realpath(sys.executable), "/no/python") for c in commands)]:
        done = subprocess.run(["/bin/sh", "-c", command], env={"PATH": "/usr/bin:/bin", "FLEET_AGENT_ID": "a1b2c3d4"},
                              input=b"{}", capture_output=True)  # fmt: skip
        assert (0, b"", b"") == (done.returncode, done.stdout, done.stderr)


def test_claude_config_dir_and_codex_home_are_honoured(person, tmp_path):
    """The files are where the clients look."""
    (tmp_path / "c").mkdir()
    (tmp_path / "x").mkdir()
    done = person("init", "--user-hooks", CLAUDE_CONFIG_DIR=str(tmp_path / "c"), CODEX_HOME=str(tmp_path / "x"))

    assert (0, True) == (done.returncode, "Codex asks you once to review" in done.stderr)
    assert "on_event.py" in (tmp_path / "c" / "settings.json").read_text()
    assert {"SessionEnd", "Interrupt"} < set(json.loads((tmp_path / "x" / "hooks.json").read_text())["hooks"])
    assert not person.settings.exists()


def test_a_file_that_is_refused_keeps_the_other_engines_from_being_changed(person, tmp_path):
    """All or nothing: the second file is looked at before the first is written."""
    (person.home / ".codex").mkdir()
    (person.home / ".codex" / "hooks.json").write_text('{"hooks": [],\n}')
    done = person("init", "--user-hooks")

    assert (1, False) == (done.returncode, person.settings.exists())
    assert f"{person.home}/.codex/hooks.json:2:1: a comma after" in done.stderr
    assert '{"hooks": [],\n}' == (person.home / ".codex" / "hooks.json").read_text()


@pytest.mark.parametrize(("argv", "code", "words"), [
    (("init", "--dry-run"), 2, "--dry-run belongs to --user-hooks"), (("init", "--uninstall"), 2, "--uninstall belongs"),
    (("init", "--engine", "claude"), 2, "--engine belongs"), (("init", "--statusline"), 2, "--statusline belongs"),
    (("init", "--user-hooks", "--engine", "nope"), 2, "unknown engine 'nope'"), (("init", "--user-hooks", "--engine", ""), 2, "unknown engine ''"),
    (("init", "--user-hooks", "--engine", "fake"), 2, "fake has no settings"), (("init", "--user-hooks", "--engine", "codex"), 1, "no such folder"),
    (("init", "--user-hooks", "--engine", "codex", "--statusline"), 2, "no status line"), (("init", "extra"), 2, "extra"),
    (("init", "--user-hooks", "--uninstall", "--statusline"), 2, "as well"), (("init", "--user"), 2, "--user"),
    (("statusline",), 2, "ENGINE"), (("statusline", "codex"), 2, "codex has no status line"), (("statusline", "nope"), 2, "unknown engine"),
    (("statusline", "claude", "--", ""), 2, "empty"), (("statusline", "claude", "x"), 2, "x"),
])  # fmt: skip
def test_wrong_input_is_said_and_changes_nothing(person, argv, code, words):
    """One line, the exit code of the contract, no file anywhere."""
    done = person(*argv)

    assert (code, "") == (done.returncode, done.stdout)
    assert words in done.stderr
    assert [".claude"] == os.listdir(person.home) and [] == os.listdir(person.home / ".claude")
    assert not person.fleet_home.exists()


def test_statusline_tells_the_setting_and_runs_the_command(person):
    """`--json` prints what to put into the settings; without it, it is that program."""
    told = json.loads(person("statusline", "claude", "--json", "--", "echo 'a b'").stdout)
    check("statusline", told)
    assert (
        "a b\n" == subprocess.run(["/bin/sh", "-c", told["command"]], input="{}", capture_output=True, text=True).stdout
    )
    assert (0, "a b\n") == ((done := person("statusline", "claude", "--", "echo", "a b")).returncode, done.stdout)
    assert 3 == person("statusline", "claude", "--", "exit 3").returncode
