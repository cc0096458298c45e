"""The rules in config/engines/*.yaml, held against every recorded screen, and against what nobody recorded."""

import functools
import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet import resources
from fleet.engines.catalog import engine
from fleet.engines.dialog import rows
from fleet.engines.rules import Rules, holds
from fleet.engines.screen import Box
from fleet.errors import UsageError
from fleet.formats.states import Reason, Turn
from tests.screens.corpus import recorded

#: Nothing is asked of a screen whose program has ended, and nothing is on it before the first frame.
UNSEEN = ("exited", "starting")
SCREENS = [one for one in recorded() if one.truth["turn"] not in UNSEEN]
DIALOGS = [
    s for s in SCREENS
    if s.truth.get("options") and s.width not in s.truth.get("garbled", ())
]  # fmt: skip
#: What stands in an answer must never be taken for the client's own words.
PROSE = [
    "esc to interrupt", "Do you want to proceed?", "❯ 1. Yes", "  2. No", "1. Yes", "Esc to cancel · Tab to amend",
    "Press enter to confirm or esc to cancel", "› 1. Yes, proceed (y)", "You've hit your limit · resets 5pm",
    "Compacting conversation…", "Would you like to run the following command?", "Enter to select", "MILESTONES",
    "■ Conversation interrupted", "3 background terminals running", "· Do you trust", "", "  ", "a line",
]  # fmt: skip


@functools.cache
def rules(name):
    return Rules(name, yaml.safe_load(Path(resources.config_file("engines", f"{name}.yaml")).read_text())["screen"])


def read(one):
    """The verdict on a recorded screen as the scanner comes to it: the styled screen tells typed from placeholder."""
    found = rules(one.engine).read("\n".join(one.text), title=one.title or "", version=one.version)
    turn, reason = found.turn, found.reason
    if turn == Turn.IDLE and reason is None and found.typed:
        if engine(one.engine).composer(one.lines).box == Box.TEXT:
            turn, reason = Turn.WAITING, Reason.DRAFT
    return found, turn, reason


def squeezed(text):
    return "".join(c for c in text if not c.isspace())


@pytest.mark.parametrize("one", SCREENS, ids=str)
def test_a_recorded_screen_is_told(one):
    """Turn and reason are what was true when it was recorded."""
    found, turn, reason = read(one)

    want = (one.truth["turn"], one.truth["reason"])
    if want == ("idle", "interrupted") and one.truth.get("draft"):
        want = ("waiting", "draft")  # that the draft is the cancelled prompt is the judge's to know, not the screen's
    assert want == (turn, reason), found


@pytest.mark.parametrize("one", DIALOGS, ids=str)
def test_a_recorded_dialog_is_read(one):
    """Its question and the labels of its rows, however they are wrapped."""
    found, _, _ = read(one)

    assert squeezed(one.truth.get("question") or "") in squeezed(found.question)
    labels = [squeezed(label).removesuffix("✔") for label in one.truth["options"]]
    assert labels == [squeezed(label) for label in found.options][: len(labels)]


@pytest.mark.parametrize("one", [s for s in SCREENS if s.truth.get("background")], ids=str)
def test_background_work_is_counted(one):
    """As the screen names it."""
    found, _, _ = read(one)

    assert found.background in (None, one.truth["background"])


@pytest.mark.parametrize("name", ["claude-code", "codex"])
@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(st.sampled_from(PROSE), st.text(st.characters(exclude_categories=["C"]), max_size=40)), max_size=25
    )
)
def test_prose_decides_nothing(name, prose):
    """Whatever an answer says, an idle composer beneath it stays idle."""
    one = next(s for s in SCREENS if (s.engine, s.case, s.width) == (name, "idle-answer", 100))
    lead = "● " if name == "claude-code" else "• "
    start = max(i for i, line in enumerate(one.text) if line.startswith(lead))
    lines = one.text[:start] + [lead + "Well."] + ["  " + line for line in prose] + ["", "", *one.text[-9:]]

    found = rules(name).read("\n".join(lines[-60:]), title=one.title or "")

    assert (Turn.IDLE, None) == (found.turn, found.reason), found


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=3000), st.text(max_size=60))
def test_no_text_breaks_a_rule(text, title):
    """Any screen has a verdict or none; reading never fails."""
    for name in ("claude-code", "codex"):
        rules(name).read(text, title=title)
        assert rules(name).is_same(text, text)
        rules(name).is_same(text, title)
        rules(name).has_milestone(text)


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_a_hostile_screen_costs_no_more_than_its_lines(name):
    """
    Every pattern is searched in single lines.

    A pattern over many lines took minutes for an ordinary screen; so the work is counted, and not timed.
    """
    for rule in rules(name).rules:
        for pattern in (rule.above, rule.below, rule.last, rule.title, rule.question, *rule.lines):
            assert pattern is None or not re.search(r"\\n|\[\\s\\S\]|\(\?s\)", pattern.pattern)
            assert pattern is None or not re.search(r"\([^)]*[*+]\)[*+]", pattern.pattern)


@pytest.mark.parametrize("name", ["claude-code", "codex"])
def test_spinners_are_no_change(name):
    """Two frames of one running turn are the same without what is volatile."""
    (one,) = [s for s in SCREENS if (s.engine, s.case, s.width) == (name, "working", 100)]
    text = "\n".join(one.text)
    other = re.sub(r"^[·✢✳✶✻✽*∗] \S+…", "✽ Zigzagging…", text, flags=re.M)
    other = re.sub(r"^• Working \(0s", "◦ Working (1m 12s", other, flags=re.M)

    assert text != other
    assert rules(name).is_same(text, other)
    assert not rules(name).is_same(text, other.replace("fix the parser", "fix another"))


@pytest.mark.parametrize(("text", "shown"), [
    ("● MILESTONE", True), ("MILESTONE", True), ("  MILESTONE  ", True), ("the MILESTONE", False),
    ("print MILESTONE alone", False), ("MILESTONES", False), ("milestone", False),
])  # fmt: skip
def test_a_marker_stands_alone_on_its_line(text, shown):
    """Prose that speaks of it is none."""
    assert shown == rules("claude-code").has_milestone(f"before\n{text}\nafter")


@pytest.mark.parametrize(("versions", "version", "fits"), [
    ("", "1", True), (">=2.1", "2.1.197", True), (">=2.1, <3", "3.0", False), ("<3", "2.99.9", True),
    ("==2.1.0", "2.1", True), (">2.1", "2.1.0", False), ("nonsense", "1", True),
])  # fmt: skip
def test_rules_hold_for_versions(versions, version, fits):
    """Comparisons by number, with missing parts as zero."""
    assert fits == holds(versions, version)


def test_the_last_list_is_the_dialogs():
    """A list in the plan above it is not."""
    start, labels = rows(["1. Read", "2. Mend", "", "❯ 1. Yes", "  2. No (esc)", "", "Esc to cancel"])

    assert (3, ("Yes", "No")) == (start, labels)


@pytest.mark.parametrize("row", [
    {}, {"rule": "a"}, {"rule": "a", "turn": "nope"}, {"rule": "a", "turn": "waiting"}, "x",
    {"rule": "a", "turn": "idle", "above": "("}, {"rule": "a", "turn": "idle", "abvoe": "x"},
    {"rule": "a", "turn": "waiting", "reason": "boredom"},
])  # fmt: skip
def test_a_wrong_rule_is_named(row):
    """A rule that could not be meant is an error and not ignored."""
    with pytest.raises(UsageError, match="screen rule"):
        Rules("claude-code", {"rules": [row]})


def test_a_persons_status_line_is_not_the_clients_foot():
    """What a status line prints stands where the client's own hints stand; the title tells that no turn runs."""
    screen = "● hello\n\n" + "─" * 40 + "\n❯ \n" + "─" * 40 + "\n  main | esc to interrupt | 12:04"

    assert "claude-code/idle" == rules("claude-code").read(screen, title="✳ Claude Code").rule
    assert "claude-code/working-foot" == rules("claude-code").read(screen, title="vm").rule
    assert Turn.WORKING == rules("claude-code").read(screen, title="⠐ Claude Code").turn
