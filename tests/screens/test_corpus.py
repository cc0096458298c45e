"""The corpus of recorded screens is whole, and what it says of them stands on them."""

import yaml

import pytest

from fleet.engines.catalog import engine
from fleet.engines.screen import Box
from fleet.formats.states import Reason, Turn
from tests.screens.cases import CASES
from tests.screens.corpus import CORPUS, recorded
from tests.screens.stage import HEIGHTS

SCREENS = recorded()


def squeezed(text):
    """Without blanks and frames: clients wrap labels, also in the middle of a path."""
    return "".join(c for c in text if not c.isspace() and c not in "│┃╎")


def test_every_case_is_recorded_at_every_width():
    """And every line of cases.yaml is what the recorder says of it."""
    found = {}
    for one in SCREENS:
        found.setdefault((one.engine, one.case), set()).add(one.width)
    assert {(engine, name): set(HEIGHTS) for engine, cases in CASES.items() for name in cases} == found

    written = yaml.safe_load((CORPUS / "cases.yaml").read_text(encoding="utf-8"))
    assert {
        name: {case: truth for case, (_, truth) in CASES[name.rpartition("-")[0]].items()} for name in written
    } == written


@pytest.mark.parametrize("one", SCREENS, ids=str)
def test_a_screen_is_as_wide_as_it_says_and_holds_what_is_said_of_it(one):
    """Turn and reason are words of fleet; question, options and draft can be read there unless they scrolled away."""
    Turn(one.truth["turn"])
    assert one.truth["reason"] is None or Reason(one.truth["reason"])
    screen = squeezed("".join(one.text))
    if one.width in one.truth.get("garbled", ()):
        return
    for label in (one.truth.get("question"), *one.truth.get("options", ()), one.truth.get("draft")):
        assert squeezed(label or "") in screen, one.text
    assert len(one.text) <= HEIGHTS[one.width] + 1


BOXES = {("idle", None): Box.EMPTY, ("idle", "interrupted"): Box.EMPTY, ("waiting", "draft"): Box.TEXT}
DIALOGS = frozenset({"permission", "question", "trust", "dialog"})


@pytest.mark.parametrize("one", [s for s in SCREENS if s.engine in ("gemini", "opencode")], ids=str)
def test_the_composer_is_read_from_every_screen(one):
    """Empty, the very draft, or a dialog; prose that looks like one is none, and a past prompt is no draft."""
    turn, reason = one.truth["turn"], one.truth["reason"]
    found = engine(one.engine).composer(one.lines)

    expected = Box.DIALOG if reason in DIALOGS else BOXES.get((turn, reason))
    if expected is not None:
        assert expected == found.box
    if one.truth.get("draft"):
        assert squeezed(one.truth["draft"]) == squeezed(found.text)
    if turn == "working":
        assert found.working
    if turn == "idle":
        assert not found.working
