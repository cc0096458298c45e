"""Completion in the real shells, and manual pages that a real formatter reads without complaint."""

import json
import shutil
import subprocess
import sys

import pytest

from fleet.cli.table import COMMANDS

SHELLS = ("bash", "zsh", "fish")


@pytest.fixture
def lived(world):
    """Two agents to complete."""
    for task in ("fix-login", "fix-search"):
        world.fleet("dispatch", task, "--engine", "command", "--project", "shop", "--", "sleep", "1000")
    return world


def ask(world, *words):
    """The candidates, without their descriptions."""
    done = world.run("__complete", *words)
    assert (0, b"") == (done.returncode, done.stderr)
    return [line.partition("\t")[0] for line in done.stdout.decode().splitlines()]


def test_what_may_stand_where(lived):
    """Commands, options, values of options, agents by task and id, projects, settings, files and folders."""
    world = lived
    ids = {a["id"] for a in world.json("list")}
    assert ["dispatch"] == ask(world, "disp")
    assert set(COMMANDS) == set(ask(world, ""))
    assert ["--engine", "--env", "--env-file"] == ask(world, "dispatch", "--e")
    assert ["claude", "codex", "command"] == ask(world, "dispatch", "--engine", "c")
    assert ["execute"] == ask(world, "dispatch", "t", "--mode", "e")
    assert {"fix-login", "fix-search"} | ids == set(ask(world, "attach", ""))
    assert ["fix-login"] == ask(world, "stop", "fix-search", "fix-l")
    assert ["shop"] == ask(world, "list", "--project", "")
    assert ["thresholds.yellow_pct", "thresholds.yellow_tokens"] == ask(world, "config", "get", "thresholds.y")
    assert ["limits.max_sessions="] == ask(world, "-c", "limits.max_s")
    assert ["list"] == ask(world, "-c", "x=1", "lis")
    assert [":files"] == ask(world, "dispatch", "t", "--prompt-file", "")
    assert [":folders"] == ask(world, "dispatch", "t", "--cwd", "")
    assert [":files"] == ask(world, "dispatch", "t", "--engine", "command", "--", "")


@pytest.mark.parametrize(
    "words", [(), ("nothing", "x"), ("attach", "a", "b"), ("-c",), ("dispatch", "--engine", "zzz")]
)
def test_it_never_fails(world, words):
    """On an empty home, for what does not exist: silence or the shell's own files."""
    ask(world, *words)


def test_a_broken_record_hides_no_other(lived):
    """Completion is no place for a complaint."""
    (lived.fleet_home / "agents" / "0000aaaa.json").write_text("{")
    assert "fix-login" in ask(lived, "attach", "fix-l")


def shell(world, *argv):
    if shutil.which(argv[0]) is None:
        pytest.skip(f"{argv[0]} is not installed")
    done = subprocess.run(argv, env=world.env, capture_output=True, text=True, timeout=60, cwd=world.project)
    assert "" == done.stderr
    return done.stdout.splitlines()


def test_in_bash(lived):
    """Through the function that bash calls."""
    code = """eval "$(fleet completion bash)"
    ask() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _fleet; printf '%s\n' "${COMPREPLY[@]}"; }
    ask fleet dispatch --engine co; ask fleet attach fix-l"""
    assert ["codex", "command", "fix-login"] == shell(lived, "bash", "-c", code)


def test_in_fish(lived):
    """Through fish's own `complete -C`."""
    code = "fleet completion fish | source; complete -C 'fleet dispatch --engine co'; complete -C 'fleet attach fix-l'"
    found = shell(lived, "fish", "-c", code)
    assert ["codex", "command", "fix-login"] == [line.partition("\t")[0] for line in found]


def test_in_zsh(lived):
    """Typed at a real prompt: Tab completes what is unique."""
    if shutil.which("zsh") is None:
        pytest.skip("zsh is not installed")
    (lived.home / ".zshrc").write_text(
        f'PS1="%% "\nPATH={lived.env["PATH"]}\nautoload -Uz compinit && compinit -u\neval "$(fleet completion zsh)"\necho ready\n'
    )
    pane = lived.tmux("new-session", "-d", "-P", "-F", "#{pane_id}", "-x", "120", "-e", f"PATH={lived.env['PATH']}",
                      "-e", f"HOME={lived.home}", "-e", f"FLEET_HOME={lived.fleet_home}", "zsh", "-i").strip()  # fmt: skip
    view = {"pane_id": pane}
    lived.until(lambda: "ready" in lived.screen(view), "zsh is there")
    lived.tmux("send-keys", "-t", pane, "fleet attach fix-l", "Tab")
    lived.until(lambda: "fleet attach fix-login" in lived.screen(view), "Tab completes the task")
    lived.tmux("send-keys", "-t", pane, "C-u", "fleet dispatch t --prompt-fi", "Tab")
    lived.until(lambda: "--prompt-file" in lived.screen(view), "Tab completes the option")


@pytest.mark.parametrize("name", SHELLS)
def test_the_script_is_printed_for_each_shell(bare, name):
    """Or for the shell in use."""
    code, out, _ = bare("completion", name)
    assert 0 == code
    assert json.loads(bare("completion", name, "--json")[1])["script"] == out


def test_an_unknown_shell_is_refused(bare, monkeypatch):
    """With those that are known."""
    monkeypatch.setenv("SHELL", "/bin/tcsh")
    code, _, err = bare("completion")
    assert 2 == code
    assert "bash, zsh, fish" in err


# manual pages


def test_every_command_has_a_page(bare, tmp_path):
    """Written where man looks for them, readable by all."""
    code, _, _ = bare("man", "--to", str(tmp_path / "man1"))
    assert 0 == code
    assert {"fleet.1", *(f"fleet-{name}.1" for name in COMMANDS)} == {p.name for p in (tmp_path / "man1").iterdir()}
    assert {0o644} == {p.stat().st_mode & 0o777 for p in (tmp_path / "man1").iterdir()}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_page_says_what_the_help_says(bare, name):
    """Every option, every example."""
    from fleet.cli.commands.man import page
    from fleet.cli.parsers import PASS_THROUGH, module_of, parser_of

    text = page(name).replace("\\-", "-").replace("\\&", "").replace("\\e", "\\")
    if name in PASS_THROUGH:
        return
    module = module_of(name)
    for action in parser_of(name, module)._actions:
        for option in action.option_strings:
            assert option in text
    for line in (module.__doc__ or "").partition("\nexamples:\n")[2].splitlines():
        assert line in text


def test_an_unknown_page(bare):
    """Is none."""
    assert 4 == bare("man", "nothing")[0]


@pytest.mark.parametrize("name", [c for c in COMMANDS if c != "fake-agent"])
def test_every_help_has_examples(name):
    """Whoever asks wants to see one."""
    done = subprocess.run([sys.executable, "-m", "fleet", name, "--help"], capture_output=True, text=True)
    assert "examples:\n  " in done.stdout
