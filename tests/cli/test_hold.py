"""`fleet hold`: the operator's own holds, and what is no order for one."""

import json

import pytest

from fleet.app import Fleet
from fleet.drain.watch import RealHands
from tests.cli.test_bad_files import BREAKS
from tests.cli.test_shapes import check


@pytest.mark.parametrize(
    ("argv", "code", "said"),
    [
        (["list", "--reason", "x"], 2, "go with `fleet hold set`"),
        (["set", "--all"], 2, "go with `fleet hold clear`"),
        (["clear"], 2, "which?"),
        (["clear", "x", "--all"], 2, "which?"),
        (["clear", "x"], 4, "no hold 'x' is on"),
        (["set", "--engine", "codex", "--project", "p"], 2, "exclude each other"),
        (["set", "--for", "1h", "--until", "2027-01-01T00:00:00Z"], 2, "exclude each other"),
        (["set", "--for", "soon"], 2, "no length of time"),
        (["set", "--for", "0m"], 2, "not in the future"),
        (["set", "--until", "5pm"], 2, "is no time"),
        (["set", "--engine", "nope"], 2, "unknown engine"),
        (["set", "--project", "No Such"], 2, "cannot be a"),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(bare, argv, code, said):
    """One line, the contract's exit code, no hold."""
    found, _, err = bare("hold", *argv)

    assert (code, True) == (found, said in err.partition("\n")[0])
    assert "[]" == bare("hold", "--json")[1].strip()


def test_set_list_and_clear(bare):
    """A second hold on the same thing changes the first; clearing takes the beginning of a key, or all."""
    for argv in (["--reason", "deploy"], ["--engine", "claude", "--for", "2h"], ["--project", "shop"], ["--for", "1d"]):
        check("hold", json.loads(bare("hold", "set", *argv, "--json")[1]))
    on = {one["key"]: one for one in json.loads(bare("hold", "--json")[1])}

    assert {"operator-fleet", "operator-engine-claude-code", "operator-project-shop"} == set(on)
    assert on["operator-fleet"]["until"] is not None
    assert 4 == bare("hold", "clear", "operator")[0]
    assert 0 == bare("hold", "clear", "operator-f")[0]
    assert "operator-engine-claude-code" in bare("hold", "list")[1]
    assert 0 == bare("hold", "clear", "--all")[0]
    assert "no hold is on" in bare("hold")[2]


def test_a_damaged_file_is_named_and_the_others_are_shown(bare):
    """It is left as it is."""
    bare("hold", "set")
    (bare.home / "holds" / "x.json").write_text("{")

    code, out, err = bare("hold")

    assert (1, True, True) == (code, "operator-fleet" in out, "x.json" in err)
    assert "{" == (bare.home / "holds" / "x.json").read_text()


@pytest.mark.parametrize("how", BREAKS)
def test_a_hold_that_cannot_be_read_holds_everything(bare, how):
    """Its scope is not known: nothing is started, the watchdog does nothing, and whoever looks is told which file."""
    bare("hold", "set", "--engine", "codex", "--for", "1h")
    path = bare.home / "holds" / "operator-engine-codex.json"
    BREAKS[how](path)

    full = ("-c", "limits.min_free_memory_mb=99999999")  # so that nothing is started and left behind where this is red
    code, _, err = bare(*full, "dispatch", "fix", "--engine", "fake", "--prompt", "x")

    assert (1, True, True) == (code, "(unreadable)" in err and str(path) in err, "hold clear operator-engine-c" in err)
    assert RealHands(Fleet({"FLEET_HOME": str(bare.home)})).held()
    for argv, exits in [(["list"], 1), (["list", "--json"], 1), (["digest"], 2), (["doctor"], 1), (["hold"], 1)]:
        found, out, err = bare(*argv)
        assert (exits, True) == (found, str(path) in " ".join((out + err).split())), argv
    for argv in (["list"], ["hold"]):
        assert "fleet hold clear" in bare(*argv)[2]
    page = json.loads(bare("digest", "--json")[1])
    assert (["unreadable"], [str(path)]) == ([one["reason"] for one in page["holds"]], page["unreadable"])
    assert path.exists()


@pytest.mark.parametrize("how", BREAKS)
def test_clearing_one_that_cannot_be_read_keeps_its_file_aside(bare, how):
    """By its key or with all others; a second copy does not replace the first, and `set` makes room in the same way."""
    path = bare.home / "holds" / "operator-fleet.json"
    for order in (["clear", "operator-fleet"], ["clear", "--all"], ["set"]):
        bare("hold", "set")
        BREAKS[how](path)
        code, out, err = bare("hold", *order)
        assert (0, True, True) == (code, "operator-fleet" in out, "operator-fleet.json.aside-" in err)
        assert path.exists() == (order == ["set"])

    assert 3 == len(list(path.parent.glob("operator-fleet.json.aside-*")))
    assert ["operator"] == [one["reason"] for one in json.loads(bare("hold", "--json")[1])]
