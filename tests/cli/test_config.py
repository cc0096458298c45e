"""Settings: which value counts and why, what is refused with file and line, and files that are changed keep their rest."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import jsonschema
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from fleet import config, config_edit, yaml_files
from fleet.errors import UsageError
from fleet.formats.layout import Layout
from tests import memory
from tests.house.test_house import ROOT, SCHEMAS

SCHEMA = json.loads(next(p for p in SCHEMAS if p.stem == "config").read_text())


@pytest.fixture
def places(tmp_path):
    """A layout and a project's folder."""
    layout = Layout(str(tmp_path / "f"))
    layout.make()
    (tmp_path / "p" / "deep").mkdir(parents=True)
    (tmp_path / "p" / ".git").mkdir()
    return layout, tmp_path / "p"


def user(layout, text):
    Path(config.user_file(layout)).write_text(text)


def project(folder, text):
    (folder / ".fleet").mkdir(exist_ok=True)
    (folder / ".fleet" / "config.yaml").write_text(text)
    return str(folder / ".fleet" / "config.yaml")


def test_each_source_outranks_the_one_before(places):
    """Defaults, the user's file, the project's, the environment, the command line; the value knows its source."""
    layout, folder = places
    user(layout, "dispatch: {engine: codex, role: r, project: mine}\nlimits: {max_sessions: 4}\n")
    path = project(folder, "dispatch: {engine: fake, project: shop}\n")
    environ = {"FLEET_MAX_SESSIONS": "5"}

    found = config.load(layout, environ, project=path, given=["dispatch.engine=claude"])

    def both(name):
        return found[name], found.sources[name]

    assert ("execute", "default") == both("dispatch.mode")
    assert ("r", config.user_file(layout)) == both("dispatch.role")
    assert ("shop", path) == both("dispatch.project")
    assert (5, "FLEET_MAX_SESSIONS") == both("limits.max_sessions")
    assert ("claude", "command line") == both("dispatch.engine")


def test_the_projects_file_is_found_from_below_and_not_beyond_its_repository(places, tmp_path):
    """From the working directory up to the root of the repository."""
    _, folder = places
    assert config.project_file(str(folder / "deep")) is None
    project(tmp_path, "")
    assert config.project_file(str(folder / "deep")) is None
    path = project(folder, "")
    assert path == config.project_file(str(folder / "deep"))


@pytest.mark.parametrize("text", ["trust: {write: true}", "limits: {max_sessions: 99}", "tmux: {socket: /x}"])
def test_a_project_grants_itself_nothing(places, text):
    """What comes with a repository sets no permission and no limit."""
    layout, folder = places
    path = project(folder, f"dispatch: {{role: x}}\n{text}\n")
    with pytest.raises(UsageError, match=r"config.yaml:2: a project cannot set"):
        config.load(layout, {}, project=path)


def test_a_project_names_no_program(places):
    """Engine options are the user's alone."""
    layout, folder = places
    path = project(folder, "engines: {claude-code: {binary: ./evil}}\n")
    with pytest.raises(UsageError, match="unknown setting 'engines.claude-code.binary'"):
        config.load(layout, {}, project=path)


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("limits:\n  max_session: 3\n", ":2: unknown setting 'limits.max_session'", "limits.max_sessions"),
        ("thresholds:\n  # more\n  yellow_pct: often\n", ":3: thresholds.yellow_pct cannot be 'often'", None),
        ("limits: 3\n", ":1: unknown setting 'limits'", "it is a group"),
        ("dispatch: {mode: fast}\n", ":1: dispatch.mode cannot be 'fast'", "execute, plan"),
        ("dispatch: {role: null}\n", ":1: dispatch.role cannot be None", None),
        ("\n\nlimits: {max_sessions: -1}\n", ":3: limits.max_sessions cannot be -1", None),
        ("limits: {max_sessions: .inf}\n", ":1: limits.max_sessions cannot be inf", None),
        ("thresholds: {yellow_pct: 200}\n", ":1: thresholds.yellow_pct cannot be 200", None),
        ("thresholds:\n  red_pct: 20\n", ":2: thresholds.yellow_pct is above thresholds.red_pct (50 and 20)", None),
        ("handoff: {max_attempts: 0}\n", ":1: handoff.max_attempts cannot be 0", None),
        ("dispatch: {engine: gpt}\n", ":1: dispatch.engine cannot be 'gpt'", "claude-code"),
        ("limits: {max_sessions: .nan}\n", ":1: limits.max_sessions cannot be nan", None),
        ("engines:\n  codex:\n    args: --x\n", ":3: engines.codex.args cannot be '--x'", None),
        ("engines:\n  codex:\n    bypass_permissions: 1\n", ":3: engines.codex.bypass_permissions cannot be 1", None),
        ("a: [1\nb: 2\n", ":2: not YAML", None),
    ],
)
def test_what_is_wrong_is_said_with_file_and_line(places, text, message, hint):
    """And with what was meant, where that can be guessed."""
    layout, _ = places
    user(layout, text)
    with pytest.raises(UsageError) as e:
        config.load(layout, {})
    assert f"{config.user_file(layout)}{message}" in str(e.value)
    assert (hint or "") in (e.value.hint or "")


def test_the_schema_for_editors_says_what_the_defaults_say():
    """It is made from them."""
    assert 0 == subprocess.run([sys.executable, ROOT / "scripts" / "config-schema", "--check"]).returncode
    defaults = yaml.safe_load((ROOT / "config" / "defaults.yaml").read_text())
    jsonschema.Draft202012Validator(SCHEMA).validate(defaults)


# fleet config


def test_show_tells_every_value_and_its_source(bare):
    """Engines included."""
    code, out, _ = bare("config", "show", "--json")
    rows = {row["name"]: row for row in json.loads(out)}
    assert 0 == code
    assert {"name": "thresholds.yellow_pct", "value": 50, "source": "default"} == rows["thresholds.yellow_pct"]
    assert "claude" == rows["engines.claude-code.binary"]["value"]
    code, out, _ = bare("-c", "thresholds.yellow_pct=61", "config", "get", "thresholds.yellow_pct")
    assert (0, "61\n") == (code, out)


def test_set_changes_one_value_and_keeps_the_rest(bare):
    """Comments and their column, order, quotes; a link stays a link and the mode stays."""
    bare.home.mkdir()
    real = bare.home.parent / "dotfiles.yaml"
    real.write_text('# mine\nlimits:\n  max_sessions: 9  # enough\n\n# quoted\ndispatch: {role: "r"}\n')
    real.chmod(0o640)
    (bare.home / "config.yaml").symlink_to(real)

    assert 0 == bare("config", "set", "thresholds.yellow_pct", "60")[0]
    assert 0 == bare("config", "set", "limits.max_sessions", "12")[0]

    text = real.read_text()
    assert (
        '# mine\nlimits:\n  max_sessions: 12 # enough\n\n# quoted\ndispatch: {role: "r"}\n'
        == text[: text.index("thresholds")]
    )
    assert 0o640 == real.stat().st_mode & 0o777
    assert (bare.home / "config.yaml").is_symlink()
    assert "60\n" == bare("config", "get", "thresholds.yellow_pct")[1]


def test_unset_gives_the_default_back(bare):
    """And takes an empty group away."""
    bare("config", "set", "thresholds.yellow_pct", "60")
    bare("config", "set", "engines.codex.args", "[--search, -x]")
    assert "[--search, -x]\n" == bare("config", "get", "engines.codex.args")[1]
    bare("config", "unset", "engines.codex.args")
    assert 0 == bare("config", "unset", "thresholds.yellow_pct")[0]
    assert "" == (bare.home / "config.yaml").read_text().strip()


@pytest.mark.parametrize(
    ("argv", "word"),
    [
        (("set", "limits.max_session", "3"), "limits.max_sessions"),
        (("set", "limits.max_sessions", "many"), "cannot be 'many'"),
        (("set", "limits.max_sessions"), "NAME VALUE"),
        (("set",), "NAME VALUE"),
        (("get",), "NAME"),
        (("get", "no.such"), "unknown setting"),
        (("show", "x"), "no name"),
        (("unset", "no.such"), "unknown setting"),
        (("set", "tmux.socket", "relative"), "absolute"),
        (("set", "engines.codex.args", "[x"), "no list"),
        (("set", "--project", "trust.write", "true"), "a project cannot set"),
        (("frobnicate",), "frobnicate"),
    ],
)
def test_wrong_input_changes_nothing(bare, argv, word):
    """One line, exit 2, and the file is as it was."""
    bare.home.mkdir()
    (bare.home / "config.yaml").write_text("limits: {max_sessions: 9}\n")
    code, out, err = bare("config", *argv)
    assert (2, "") == (code, out)
    assert word in err
    assert "limits: {max_sessions: 9}\n" == (bare.home / "config.yaml").read_text()
    assert not (bare.home.parent / ".fleet").exists()


def test_a_broken_file_is_not_written_over(bare):
    """Mend it first."""
    bare.home.mkdir()
    (bare.home / "config.yaml").write_text("a: [1\n")
    code, _, err = bare("config", "set", "limits.max_sessions", "3")
    assert 2 == code
    assert "not YAML" in err
    assert "a: [1\n" == (bare.home / "config.yaml").read_text()


def test_edit_counts_once_it_is_right(world):
    """The editor works on a copy; a new file tells editors its schema."""
    ed = world.root / "ed"
    ed.write_text('#!/bin/sh\nprintf "limits: {max_sessions: 7}\\n" >>"$1"\n')
    ed.chmod(0o755)
    world.env["VISUAL"] = str(ed)
    world.fleet("config", "edit")
    text = (world.fleet_home / "config.yaml").read_text()
    assert text.startswith("# yaml-language-server: $schema=/")
    assert "7\n" == world.fleet("config", "get", "limits.max_sessions")

    ed.write_text('#!/bin/sh\nprintf "limits: {max_sessions: x}\\n" >"$1"\n')
    done = world.run("config", "edit")
    assert 2 == done.returncode
    assert b"your text is in" in done.stderr
    assert text == (world.fleet_home / "config.yaml").read_text()


def test_a_running_drain_takes_a_change_up(world):
    """Hooks of running agents get new thresholds without a restart of anything."""
    world.config("drain: {poll_seconds: 600}\n")
    drain = world.start("drain")
    world.until(lambda: (world.fleet_home / "run" / "hook-config.json").exists(), "the drain runs")
    world.fleet("config", "set", "thresholds.yellow_pct", "44")
    compiled = world.fleet_home / "run" / "hook-config.json"
    world.until(lambda: json.loads(compiled.read_text())["yellow_pct"] == 44, "it is compiled anew")
    world.fleet("drain", "--stop")
    assert 0 == drain.wait(20)


def test_line_ends_stay(bare):
    """A file from Windows stays one."""
    bare.home.mkdir()
    path = bare.home / "config.yaml"
    path.write_bytes(b"# mine\r\nlimits:\r\n  max_sessions: 3  # few\r\n")
    assert 0 == bare("config", "set", "limits.max_sessions", "4")[0]
    assert b"# mine\r\nlimits:\r\n  max_sessions: 4  # few\r\n" == path.read_bytes()


def test_a_name_that_stands_twice_is_refused(bare):
    """With file and line, at any depth: YAML itself would take the last in silence."""
    bare.home.mkdir()
    path = bare.home / "config.yaml"
    path.write_text("limits:\n  max_sessions: 3\n  min_free_mb: 1\n  max_sessions: 4\n")
    code, _, err = bare("config", "show")
    assert 2 == code
    assert f"{path}:4: not YAML: 'max_sessions' is there twice, first in line 2" in err


def test_a_merged_name_is_no_second_one(bare):
    """`<<` brings in what the group may change."""
    bare.home.mkdir()
    text = "thresholds: &a {yellow_pct: 40, red_pct: 60}\nlimits: {max_sessions: 3}\n"
    (bare.home / "config.yaml").write_text(text + "engines: {}\n")
    assert {"b": 2, "a": 1} == yaml_files.load("x: &x {a: 1, b: 1}\ny: {<<: *x, b: 2}")["y"]
    assert "40\n" == bare("config", "get", "thresholds.yellow_pct")[1]


@pytest.mark.parametrize("argv", [["list"], ["peek", "t"], ["show", "t"], ["events", "t"], ["logs"], ["attach", "t"]])
def test_what_only_looks_goes_on_with_a_configuration_that_cannot_be_used(bare, argv):
    """And says so."""
    bare.home.mkdir()
    (bare.home / "config.yaml").write_text("limits: {max_sesions: 3}\n")
    code, _, err = bare(*argv)
    assert code in ((0,) if len(argv) == 1 else (4,))
    assert f"config.yaml:1: unknown setting 'limits.max_sesions'; `fleet {argv[0]}` goes on with the defaults" in err


@pytest.mark.parametrize("argv", [["dispatch", "t"], ["send", "t", "x"], ["stop", "t"], ["handoff", "t"], ["queue", "list"], ["worktree", "prune"]])  # fmt: skip
def test_what_acts_refuses_a_configuration_that_cannot_be_used(bare, argv):
    """Before anything else."""
    bare.home.mkdir()
    (bare.home / "config.yaml").write_text("limits: {max_sesions: 3}\n")
    code, out, err = bare(*argv)
    assert (2, "") == (code, out)
    assert "config.yaml:1: unknown setting 'limits.max_sesions'\n" in err


def test_a_projects_file_decides_what_a_dispatch_is(world):
    """Where no option does."""
    folder = world.project / ".fleet"
    folder.mkdir()
    (folder / "config.yaml").write_text("dispatch: {project: shop, engine: fake, role: tester}\n")
    world.fleet("dispatch", "one", "--prompt", "x\nSTUB: say=ok")
    agent = world.agent("one")
    assert ("shop", "fake", "tester") == (agent["project"], agent["engine"], agent["role"])
    world.fleet("dispatch", "two", "--role", "r2", "--prompt", "x\nSTUB: say=ok")
    assert "r2" == world.agent("two")["role"]


NAMES = st.lists(st.sampled_from(["a", "b", "c"]), min_size=1, max_size=3).map(".".join)


@given(st.lists(st.tuples(NAMES, st.integers(0, 9)), max_size=6), NAMES)
def test_set_then_unset_leaves_what_was_there(pairs, name):
    """Whatever the file holds: only the named value comes and goes."""
    with tempfile.TemporaryDirectory(dir=memory.FOLDER) as folder:
        path = f"{folder}/c.yaml"
        for one, value in pairs:
            Path(path).write_bytes(config_edit.change(path, one, value))
        before = yaml.safe_load(Path(path).read_text()) if os.path.exists(path) else None
        Path(path).write_bytes(config_edit.change(path, f"new.{name}", 5))
        assert 5 == _at(yaml.safe_load(Path(path).read_text()), f"new.{name}")
        Path(path).write_bytes(config_edit.change(path, f"new.{name}", None, remove=True))
        assert (before or None) == (yaml.safe_load(Path(path).read_text()) or None)


def _at(data, name):
    for part in name.split("."):
        data = data[part]
    return data


@pytest.mark.parametrize("word", ["x", "no.such=1", "limits.max_sessions=many"])
def test_a_setting_on_the_command_line_is_checked_for_every_command(bare, word):
    """Also for one that needs no setting."""
    assert 2 == bare("-c", word, "list")[0]


def test_unset_mends_a_file_with_an_unknown_setting(bare):
    """Which every other command refuses to read."""
    bare.home.mkdir()
    (bare.home / "config.yaml").write_text("limits: {max_sesions: 3}\ndispatch: {role: r}\n")
    assert 2 == bare("config", "show")[0]
    assert 0 == bare("config", "unset", "limits.max_sesions")[0]
    assert "r\n" == bare("config", "get", "dispatch.role")[1]
    assert 2 == bare("config", "unset", "limits.max_sesions")[0]
