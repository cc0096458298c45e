"""The composers of the real clients, read from recorded screens (tests/engines/record.py)."""

from pathlib import Path

import pytest

from fleet.drain.delivery import is_wake_line
from fleet.engines.catalog import engine
from fleet.engines.screen import Box, cells, typed
from fleet.formats.texts import WAKE_LINE

SCREENS = sorted(Path(__file__).parent.glob("screens/*/*/*.txt"))
THREE = "one\ntwo; three\n  four"
EXPECTED = {
    "idle": (Box.EMPTY, "", False),
    "idle-after-turn": (Box.EMPTY, "", False),
    "interrupted": (Box.EMPTY, "", False),
    "draft": (Box.TEXT, "half typed", False),
    "draft-of-three-lines": (Box.TEXT, THREE, False),
    "wake-line": (Box.TEXT, WAKE_LINE, False),
    "working": (Box.EMPTY, "", True),
    "working-with-tasks": (Box.EMPTY, "", True),
    "working-with-draft": (Box.TEXT, "typed while busy", True),
    "permission": (Box.DIALOG, "", False),
    "permission-narrow": (Box.DIALOG, "", False),
    "model-menu": (Box.DIALOG, "", False),
    "slash-menu": (Box.TEXT, "/", False),
    "shell-mode": (Box.TEXT, "!", False),  # what is pasted there would be a shell command
    "history-search": (Box.UNKNOWN, "", False),  # what is pasted there is searched for
}


def composer(path):
    return engine(path.parts[-3]).composer(path.read_text().split("\n"))


@pytest.mark.parametrize("path", [p for p in SCREENS if p.stem in EXPECTED], ids=lambda p: f"{p.parts[-3]}-{p.stem}")
def test_a_recorded_screen(path):
    """What is typed, whether a dialog is open, and whether a turn runs."""
    found = composer(path)

    assert EXPECTED[path.stem] == (found.box, found.text, found.working)


@pytest.mark.parametrize("path", SCREENS, ids=lambda p: f"{p.parts[-3]}-{p.stem}")
def test_only_our_line_is_our_line(path):
    """However it is wrapped it is recognised, and nothing else is."""
    assert path.stem.startswith("wake-line") == is_wake_line(composer(path))


@pytest.mark.parametrize("name", ["claude-code", "codex", "fake"])
@pytest.mark.parametrize("lines", [[], [""], ["$ "], ["─" * 40], ["─" * 40, "─" * 40], ["\x1b["], ["\x1b]0;t\x07"]])
def test_what_is_no_screen_of_the_engine_is_unknown(name, lines):
    """An empty or foreign screen is not an empty composer."""
    assert Box.UNKNOWN == engine(name).composer(lines).box


def test_prose_with_numbers_is_no_dialog():
    """A list in an answer above an empty composer is an answer."""
    rule = "─" * 60
    lines = [
        "● Do you want to know?",
        "  1. Yes",
        "  2. No",
        "",
        rule,
        "❯\u00a0\x1b[7m \x1b[0m",
        rule,
        "  ? for shortcuts",
    ]

    assert Box.EMPTY == engine("claude-code").composer(lines).box


def test_a_placeholder_is_nothing_typed():
    """Dim text is the client's; the cursor stands on its first letter."""
    rows = cells(['❯\u00a0\x1b[7mT\x1b[0m\x1b[2mry "fix lint errors"\x1b[0m'])

    assert "" == typed(rows, 2)


def test_one_letter_under_the_cursor_is_typed():
    """With nothing dim around it a reversed letter is a person's."""
    assert "x" == typed(cells(["❯\u00a0\x1b[7mx\x1b[0m"]), 2)


def test_attributes_go_on_over_lines_and_colours_do_not_matter():
    """tmux says an attribute once; the parts of a colour are not attributes."""
    first, second = cells(["\x1b[2;38;5;1mdim", "still dim\x1b[0m not"])

    assert all(cell.dim for cell in first)
    assert [True] * 9 + [False] * 4 == [cell.dim for cell in second]
    assert not any(cell.dim or cell.reverse or cell.bold for cell in cells(["\x1b[38;5;2mx\x1b[48;2;1;7;2my"])[0])
