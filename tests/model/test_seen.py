"""What a screen adds to what hooks, log, process and pane told."""

import pytest

from fleet.formats.states import Confidence, Existence, Reason, Turn
from fleet.formats.texts import WAKE_LINE
from fleet.formats.times import rfc3339, rfc3339_ms
from fleet.model.judge import judge
from fleet.model.state import Facts
from fleet.model.screen import Screen

NOW = 1_800_000_000.0
PROMPT = {"event": "UserPromptSubmit", "prompt_head": "fix the parser please"}
STOP = {"event": "Stop", "background": 0}
ASKS = {"event": "PermissionRequest", "tool_name": "Bash"}
STARTUP = {"event": "SessionStart", "session_source": "startup"}
LIMIT = {"event": "StopFailure", "error": "rate_limit"}
COMPACTS = {"event": "PreCompact", "trigger": "auto"}


def facts(*history, screen=None, ago=60.0, looked=0.0, steady=30.0, **other):
    """A running agent: its history (the newest event *ago* seconds old), and its screen as seen *looked* seconds ago."""
    events = [{"source": "hook", "ts": rfc3339_ms(NOW - ago - n), **e} for n, e in enumerate(reversed(history))]
    if screen is not None:
        at = NOW - looked
        screen = Screen(**{"looked_at": at, "since": at - steady, "quiet_since": at - steady, "rule": "x/y", **screen})
    return Facts(**{"pane": Existence.ALIVE, "running": True, "events": events, "screen": screen, **other})


def verdict(known):
    state = judge(known)
    return f"{state.turn} ({state.reason})" if state.reason else str(state.turn)


def shows(turn, reason=None, **more):
    return {"turn": turn, "reason": reason, **more}


@pytest.mark.parametrize(
    ("expected", "history", "screen"),
    [
        ("working", [PROMPT, ASKS], shows("working")),  # a person allowed the tool: no hook tells until its end
        ("idle", [PROMPT, ASKS], shows("idle")),
        ("waiting (permission)", [PROMPT, ASKS], shows("waiting", "permission")),
        ("waiting (question)", [PROMPT, ASKS], shows("waiting", "question")),  # the dialog is a plan or a question
        ("idle (interrupted)", [PROMPT], shows("idle", "interrupted")),
        ("idle (interrupted)", [PROMPT], shows("waiting", "draft", typed="fix the parser please")),  # an early Esc
        ("idle (interrupted)", [PROMPT], shows("waiting", "draft", typed="fix the parser")),
        ("waiting (draft)", [PROMPT], shows("waiting", "draft", typed="something else")),
        ("waiting (draft)", [PROMPT, STOP], shows("waiting", "draft", typed="fix the parser please")),
        ("idle", [PROMPT, STOP], shows("waiting", "draft", typed=WAKE_LINE)),
        ("idle", [PROMPT], shows("idle")),
        ("working", [PROMPT], shows(None)),
        ("working", [PROMPT, STOP], shows("working")),  # a turn that the client started by itself
        ("waiting (dialog)", [PROMPT, STOP], shows("waiting", "dialog")),
        ("waiting (trust)", [], shows("waiting", "trust")),
        ("waiting (login)", [], shows("waiting", "login")),
        ("idle", [], shows("idle")),  # Codex reports nothing before its first prompt
        ("idle", [STARTUP], shows("idle")),
        ("waiting (limit)", [PROMPT, LIMIT], shows("idle")),  # the engine said so; its screen need not repeat it
        ("working", [PROMPT, LIMIT], shows("working")),
        ("compacting", [PROMPT], shows("compacting")),
        ("compacting", [COMPACTS], shows("working")),
        ("idle", [COMPACTS], shows("idle")),
    ],
)
def test_a_settled_screen_is_heard(expected, history, screen):
    """Where hooks are silent by nature the screen decides; where they spoke it agrees or is overruled by none."""
    assert expected == verdict(facts(*history, screen=screen))


def test_a_cancelled_prompt_that_mail_waits_behind_is_a_draft():
    """Nothing is typed over it: the message comes when somebody has sent or removed it, and only the state says so."""
    put_back = shows("waiting", "draft", typed="fix the parser please")

    assert "waiting (draft)" == verdict(facts(PROMPT, screen=put_back, mail=True))
    assert "working" == verdict(facts(PROMPT, screen=put_back, mail=True, steady=1.0))


@pytest.mark.parametrize("screen", [shows("idle"), shows("working"), shows("waiting", "permission")])
def test_a_hook_that_spoke_just_now_is_not_overruled(screen):
    """The screen was looked at before the client drew what the hook told of."""
    assert "working" == verdict(facts(PROMPT, screen=screen, ago=0.4))
    assert "idle" == verdict(facts(PROMPT, STOP, screen=screen, ago=0.4))


def test_one_frame_without_a_spinner_ends_no_turn():
    """Only a screen that has been quiet for a while does."""
    assert "working" == verdict(facts(PROMPT, screen=shows("idle"), steady=1.0))
    assert "idle" == verdict(facts(PROMPT, screen=shows("idle"), steady=3.0))


@pytest.mark.parametrize("screen", [shows("idle"), shows("working"), shows("waiting", "trust")])
@pytest.mark.parametrize(
    ("expected", "other"),
    [
        ("unknown", {"pane": Existence.UNKNOWN}),
        ("gone", {"pane": Existence.GONE, "running": False}),
        ("exited", {"pane_dead": True, "exit_status": 1, "running": False}),
        ("starting", {"held": True}),
        ("waiting (dead-letter)", {"dead_letter": True}),
    ],
)
def test_pane_process_and_queue_outrank_any_screen(expected, other, screen):
    """A screen stays behind when its program is gone."""
    assert expected == verdict(facts(screen=screen, **other))


def test_an_engine_without_hooks_is_told_by_its_screen():
    """Without one it is unknown."""
    assert "unknown" == verdict(facts(reports=False))
    assert "working" == verdict(facts(reports=False, screen=shows("working")))
    assert "idle" == verdict(facts(reports=False, screen=shows("idle")))


@pytest.mark.parametrize(
    ("confidence", "history", "screen"),
    [
        (Confidence.SURE, [PROMPT, STOP], None),
        (Confidence.LIKELY, [PROMPT], None),
        (Confidence.SURE, [PROMPT], shows("working")),
        (Confidence.SURE, [PROMPT, ASKS], shows("waiting", "permission")),
        (Confidence.LIKELY, [PROMPT, STOP], shows("working")),
        (Confidence.LIKELY, [], shows("waiting", "trust")),
        (Confidence.GUESS, [PROMPT], shows("idle")),
    ],
)
def test_confidence(confidence, history, screen):
    """Two that agree are sure, one alone is likely, one against another a guess."""
    assert confidence == judge(facts(*history, screen=screen)).confidence


def test_it_says_what_it_rests_on():
    """Source, rule, evidence and since when."""
    state = judge(facts(PROMPT, ASKS, screen=shows("working", evidence="* Musing…", since=NOW - 7)))

    assert ("screen", "x/y", "* Musing…", rfc3339(NOW - 7)) == (state.source, state.rule, state.evidence, state.since)


def test_an_open_dialog_is_quoted():
    """The question is the evidence, whoever told first."""
    known = facts(PROMPT, ASKS, screen=shows("waiting", "permission", question="Do you want to proceed?"))

    assert ("hook", "Do you want to proceed?") == (judge(known).source, judge(known).evidence)


def test_background_work_that_the_screen_names():
    """Counts when the screen says a number; else what the last Stop said."""
    assert 2 == judge(facts(PROMPT, STOP, screen=shows("idle", background=2))).background
    assert 1 == judge(facts(PROMPT, {"event": "Stop", "background": 1}, screen=shows("idle"))).background


@pytest.mark.parametrize("turn", [*Turn])
@pytest.mark.parametrize("reason", [None, *Reason])
def test_every_screen_has_a_verdict(turn, reason):
    """Whatever stands in the file: waiting always has a reason."""
    for history in ([], [PROMPT], [PROMPT, STOP], [PROMPT, ASKS], [PROMPT, LIMIT]):
        state = judge(facts(*history, screen=shows(str(turn), str(reason) if reason else None)))
        assert state.turn != Turn.WAITING or state.reason or (turn, reason) == (Turn.WAITING, None)


def test_an_answer_by_hand_is_dated_by_the_screen():
    """The log shows only that the turn went on, and the question's own time would lie before the answer."""
    after = facts(PROMPT, ASKS, screen=shows("working", since=NOW - 7), last_said="result")
    older = facts(PROMPT, ASKS, screen=shows("working", since=NOW - 900), last_said="result")

    assert ("working", rfc3339(NOW - 7)) == (verdict(after), judge(after).since)
    assert ("working", rfc3339_ms(NOW - 60)) == (verdict(older), judge(older).since)
    assert rfc3339_ms(NOW - 60) == judge(facts(PROMPT, screen=shows("working", since=NOW - 7))).since
