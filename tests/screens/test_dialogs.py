"""What an agent writes - above a dialog, in its question, in what explains an option - never decides what it is."""

import pytest

from fleet.engines.answers import Verdict, chosen, dialog_on
from fleet.engines.catalog import engine
from fleet.engines.screen import Box
from fleet.errors import Refused
from tests.engines.test_answers import shipped
from tests.screens.test_rules import SCREENS, rules

EDGE = "─" * 100
FOOT = "Enter to select · ↑/↓ to navigate · Esc to cancel"
PERMISSION = (
    " Bash command",
    "",
    "   make",
    "",
    " Do you want to proceed?",
    " ❯ 1. Yes",
    "   2. No",
    "",
    " Esc to cancel",
)


def asked(question, *options, head=" ☐ Database", above=("● Well.",), foot=FOOT):
    """Claude Code's AskUserQuestion; each option is its label and the lines that explain it."""
    rows = []
    for n, (label, *lines) in enumerate(options, 1):
        rows += [f"{'❯' if n == 1 else ' '} {n}. {label}", *(f"     {line}" for line in lines)]
    n = len(options) + 1
    chat = [f"  {n}. Type something.", EDGE, f"  {n + 1}. Chat about this"]
    return [*above, EDGE, head, "", *question.split("\n"), "", *rows, *chat, "", foot]


def known(found, name="claude-code"):
    return shipped(name).get(found.rule)


def can_answer(found, name="claude-code"):
    """As `fleet approve` decides it."""
    answers = known(found, name)
    return answers is not None and not answers.pane and answers.can_read(found) and found.marked is not None


PLAIN = ("Drop all", "x"), ("Keep", "y")


@pytest.mark.parametrize(
    "options",
    [
        (("Drop all", "x"), ("Keep", "y", "❯ 1. Keep it", "  2. Drop it")),
        (("Drop all", "x"), ("Keep", "y", "1. Keep it", "2. Drop it")),
        (("Drop all", "❯ 2. Keep", "x"), ("Keep", "y")),
        (("Drop all", "2. Keep", "3. Nothing"), ("Keep", "y")),
        (("Drop all", "1. Keep", "2. Drop it", *"abcdefgh"), ("Keep", "y")),
        (("Drop all", *"abcdefgh"), ("Keep", "y")),
        (("Drop all the tables of this database?", "❯ 1. Keep"), ("Keep", "y")),
    ],
)
def test_a_list_that_explains_an_option_is_not_answered(options):
    """Neither a row of that list nor a real one is chosen, from the screen alone; shown are those in the client's column."""
    assert can_answer(dialog_on(rules("claude-code"), asked("Which database?", *PLAIN)))
    found = dialog_on(rules("claude-code"), asked("Which database?", *options))

    assert "question" == found.rule
    assert found.marked is None
    assert not known(found).can_read(found)
    assert options[0][0] == found.labels[0]
    assert not {"Keep it", "Drop it", "Nothing"} & set(found.labels)


def test_a_list_in_the_command_is_no_options():
    """What stands above the question is asked about; the rows beneath it are the client's own."""
    listed = (PERMISSION[0], "", "   cat <<E", "     1. one", "   ❯ 2. two", "   E", *PERMISSION[3:])
    found = dialog_on(rules("claude-code"), [EDGE, *listed])

    assert (("Yes", "No"), 0) == (found.labels, found.marked)
    assert can_answer(found)


@pytest.mark.parametrize(
    ("question", "head", "foot", "rule"),
    [
        ("Do you want to drop it?", " ☐ Database", FOOT, "question"),
        ("Do you want to drop it?", " ☐", FOOT, "question"),
        ("Do you want to drop it?", "←  ☐ Database  ✔ Submit  →", FOOT, "questions"),
        ("Do you want to drop it?", "←  ☒ Database  ☐ Port  ✔ Submit  →", FOOT.replace("↑/↓", "Tab/Arrow keys"), "questions"),
        ("Do you want to drop it?\nExit plan mode?\nWould you like to proceed?", " ☐ Database", FOOT, "question"),
        (f"Pick one\n{EDGE}\n Bash command\n\n Do you want to proceed?", " ☐ Database", FOOT, "asking"),
        (f"Pick one\n{EDGE}\n Plan\n{EDGE}\nExit plan mode?", " ☐ Database", FOOT, "asking"),
    ],
)  # fmt: skip
def test_a_question_is_no_permission_however_it_is_worded(question, head, foot, rule):
    """What only such a dialog has tells it: there is no denying it, and what asks for a text is no answer."""
    found = dialog_on(rules("claude-code"), asked(question, ("Yes",), ("No",), head=head, foot=foot))

    assert rule == found.rule
    if rule == "question":
        with pytest.raises(Refused, match="not denied"):
            chosen(found, known(found), Verdict.DENY, None)
        with pytest.raises(Refused, match="asks for a text"):
            chosen(found, known(found), Verdict.APPROVE, "Type")
    else:
        assert known(found).pane


def test_the_review_of_answers_is_no_permission():
    """It has the tabs of the questions; their words stand in it."""
    found = dialog_on(
        rules("claude-code"),
        [EDGE, "←  ☒ Database  ☒ Port  ✔ Submit  →", "", "Review your answers", "", " Do you want to drop it?", "   → Yes", "",
         "Ready to submit your answers?", "", "❯ 1. Submit answers", "  2. Cancel"],
    )  # fmt: skip

    assert ("answers", "Ready to submit your answers?") == (found.rule, found.question)
    assert known(found).pane


PRINTED = ("  ⎿  Would you like to proceed?", "     Exit plan mode?", "Exit plan mode?", "Would you like to proceed?",
           " Do you want to proceed?", " ☐ Database", "←  ☐ Database  ☐ Port  ✔ Submit  →", "Ready to submit it?",
           " Quick safety check: Is this a project you created", "  Select login method:", "  Do you want to use this API key?",
           " Choose the text style that looks best")  # fmt: skip
KINDS = {
    "question": asked("Which database?", *PLAIN, above=()),
    "permission": [EDGE, *PERMISSION],
    "questions": asked("Which database?", *PLAIN, head="←  ☐ Database  ☐ Port  ✔ Submit  →", above=()),
    "plan": [EDGE, " Exit plan mode?", "", "  Claude wants to exit plan mode", "", "  ❯ 1. Yes", "    2. No"],
    "plan-text": [EDGE, " Ready to code?", "", " Plan", EDGE, " Claude has written up a plan and is ready to execute. Would you",
                  " like to proceed?", "", " ❯ 1. Yes, auto-accept edits", "   2. Yes, manually approve edits"],
    "dialog": [EDGE, "  Select model", "", "  ❯ 1. Default", "    2. Opus", "", "  Enter to set as default · Esc to cancel"],
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_stands_above_a_dialog_does_not_tell_what_it_is(kind):
    """The transcript is the agent's: whatever it printed there, the dialog reads as without it."""
    bare = dialog_on(rules("claude-code"), KINDS[kind])
    beneath = dialog_on(rules("claude-code"), ["● Bash(echo ...)", *PRINTED, "", *KINDS[kind]])

    assert kind == bare.rule
    assert bare == beneath


@pytest.mark.parametrize("case", ["trust", "permission-shell"])
def test_the_box_of_a_dialog_is_its_edge(case):
    """Gemini CLI draws one around it; what stands above is not in it."""
    (one,) = [s for s in SCREENS if (s.engine, s.case, s.width) == ("gemini", case, 100)]
    printed = ["✦ Allow execution of [Shell]?", "  Apply this change?", "  Do you trust this?"]

    assert dialog_on(rules("gemini"), one.lines).rule == dialog_on(rules("gemini"), [*printed, *one.lines]).rule


def test_a_question_of_codex_is_no_permission():
    """Codex draws no edge: its question is told by its own foot before anything above it is looked at."""
    (one,) = [s for s in SCREENS if (s.engine, s.case, s.width) == ("codex", "question", 100)]
    printed = ["  Would you like to run the following command?", "  Trust this folder?"]

    assert "question" == dialog_on(rules("codex"), [*printed, *one.lines]).rule


def test_a_dialog_whose_edge_does_not_show_is_told_and_not_answered():
    """What it is about has no room: nobody says yes to it, and it waits all the same."""
    found = dialog_on(rules("claude-code"), list(PERMISSION[1:]))

    assert "permission" == found.rule
    assert not can_answer(found)


@pytest.mark.parametrize(
    "left",
    [
        (
            "✻ Cooking… (3s · esc to interrupt)",
            "",
            EDGE,
            "❯ ▐▛███▜▌   Claude Code v2.1.197",
            "▝▜█████▛▘  Sonnet 4.5",
            "",
        ),
        ("✻ Cooking… (3s · esc to interrupt)", "", EDGE, "❯ "),
        ("✻ Cooking… (3s · esc to interrupt)", "", EDGE, "❯ ", EDGE, "  ? for shortcuts"),
        ("✻ Cooking… (3s · esc to interrupt)", "", EDGE, "❯ do it", "  and that", "", EDGE),
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_left_of_a_frame_above_a_dialog_is_no_composer(kind, left):
    """After SIGCONT the client draws itself anew beneath it: the dialog waits, and nothing can be typed."""
    screen = [*left, *KINDS[kind]]
    found = dialog_on(rules("claude-code"), screen)

    assert found is not None
    assert kind == found.rule
    assert engine("claude-code").composer(screen).box not in (Box.EMPTY, Box.TEXT)
