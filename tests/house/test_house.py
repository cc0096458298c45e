"""The house: what must stay true of the tree itself."""

import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import jsonschema
import pytest
from referencing import Registry, Resource

from fleet.cli.main import help_text
from fleet.cli.table import COMMANDS, GROUPS

ROOT = Path(__file__).parents[2]
MODULES = sorted(p for p in (ROOT / "fleet").rglob("*.py") if "_data" not in p.parts)
SCHEMAS = sorted((ROOT / "config" / "schemas").glob("*.json"))


def loaded_by(*argv):
    """The modules that `fleet ARGV` loads."""
    code = ("import sys; from fleet.cli.main import main; main(sys.argv[1:]); "
            "sys.stderr.write('\\n'.join(sys.modules))")  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, text=True, cwd=ROOT, timeout=30)
    return set(done.stderr.split())


def test_the_layers_hold():
    """import-linter finds every contract of pyproject.toml kept."""
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-logo"], cwd=ROOT, capture_output=True, text=True
    )

    assert 0 == done.returncode, done.stdout


def test_the_help_has_every_command_once_under_its_heading():
    """The main job comes first, and no heading has more than a screen's glance."""
    lines = help_text().split("\n")

    assert list(COMMANDS) == [line.split()[0] for line in lines if line.startswith("  ")]
    assert list(GROUPS) == [line.rstrip(":") for line in lines if line.endswith(":")]
    assert {"dispatch", "list", "attach", "send", "handoff", "stop"} <= set(next(iter(GROUPS.values())))
    assert max(map(len, GROUPS.values())) <= 7


@pytest.mark.parametrize("name", ["demo"])
def test_a_script_colours_a_terminal_alone(name):
    """What it shows of a command goes into a pipe without an escape."""
    text = (ROOT / "scripts" / name).read_text()
    words = text[text.index("bold=") : text.index("wait_for()")]

    done = subprocess.run(["bash", "-euc", f"{words}\ntell 1. heading; run echo 'a b'"], capture_output=True)

    assert (b"\n1. heading\n$ echo \"a b\"\na b\n", b"") == (done.stdout, done.stderr)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_of_the_table_is_there(name):
    """A command is a module with `add_arguments` and `run`, or one that passes its arguments through."""
    module = importlib.import_module(f"fleet.cli.commands.{COMMANDS[name][0]}")

    assert hasattr(module, "main") or (hasattr(module, "add_arguments") and hasattr(module, "run"))


@pytest.mark.parametrize("name", sorted(set(COMMANDS) - {"fake-agent"}))
def test_every_command_tells_its_arguments(name):
    """`fleet COMMAND --help` prints its purpose and --json on stdout and exits 0."""
    done = subprocess.run([sys.executable, "-m", "fleet", name, "--help"], capture_output=True, text=True, cwd=ROOT)

    assert (0, "") == (done.returncode, done.stderr)
    assert "--json" in done.stdout


def test_every_command_stands_in_the_readme():
    """The README's table names every command."""
    readme = (ROOT / "README.md").read_text()

    assert [] == [name for name in COMMANDS if f"`fleet {name}" not in readme]


@pytest.mark.parametrize("argv", [("queue", "list"), ("events", "x"), ("drain", "--status"), ("--help",)])
def test_commands_without_tmux_load_nothing_costly(argv):
    """They import neither libtmux nor YAML, psutil, structlog or watchfiles."""
    assert not loaded_by(*argv) & {"libtmux", "yaml", "psutil", "structlog", "watchfiles", "asyncio"}


def test_listing_agents_does_not_load_libtmux():
    """`fleet list` makes one plain tmux call."""
    assert not loaded_by("list") & {"libtmux", "psutil", "structlog", "watchfiles", "asyncio", "yaml"}


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda p: p.stem)
def test_the_schemas_are_schemas(path):
    """Each is valid JSON Schema."""
    jsonschema.Draft202012Validator.check_schema(json.loads(path.read_text()))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_module_says_what_it_is_and_stays_readable(path):
    """It has a docstring and no more than 400 lines."""
    text = path.read_text()

    assert text.lstrip().startswith(('"""', 'r"""'))
    assert len(text.splitlines()) <= 400


def test_nothing_sleeps_but_the_clock():
    """`time.sleep` stands in fleet/clock.py and, because they run without fleet, in hooks, locks and the gate."""
    allowed = {"clock.py", "gate.py", "atomic.py", "lag.py", "asking.py"}
    found = {p.name for p in MODULES if "fakeagent" not in p.parts and re.search(r"time\.sleep\b", p.read_text())}

    assert found <= allowed


def test_the_data_folders_travel_in_the_wheel():
    """config, hooks and skills are part of the wheel."""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"]

    assert {"config", "hooks", "skills"} == set(wheel["force-include"])


def registry():
    """The schemas by their file names."""
    return Registry().with_resources([(p.name, Resource.from_contents(json.loads(p.read_text()))) for p in SCHEMAS])


def test_named_tuples_are_the_cheap_ones():
    """Those of `typing` cost three times as much at every start; the fake agent stands for a client and shares nothing."""
    found = [p.name for p in MODULES if "fakeagent" not in p.parts and p.name != "tuples.py"
             and re.search(r"from typing import .*\bNamedTuple\b|typing\.NamedTuple", p.read_text())]  # fmt: skip

    assert [] == found
