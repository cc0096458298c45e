"""What an agent is doing: histories in, verdict out."""

import pytest

from fleet.formats.states import Confidence, Existence, Reason, Turn
from fleet.formats.times import rfc3339
from fleet.model.judge import judge
from fleet.model.opinions import changes, opinions
from fleet.model.state import Facts

PROMPT = {"event": "UserPromptSubmit"}
STOP = {"event": "Stop", "background": 0}
BLOCKED = {"event": "HookActed", "on": "Stop", "block": ["message"]}
OFFERED = {"event": "HookActed", "on": "UserPromptSubmit", "offered": ["x"]}
ASKS = {"event": "PermissionRequest", "tool_name": "Bash"}
STARTUP = {"event": "SessionStart", "session_source": "startup"}
CLEAR = {"event": "SessionStart", "session_source": "clear"}
COMPACTED = {"event": "SessionStart", "session_source": "compact"}
ENDED_BY_CLEAR = {"event": "SessionEnd", "reason": "clear"}


def facts(*history, **other):
    """Facts of a running agent with that history, oldest first."""
    events = [{"source": "hook", "ts": str(n), **event} for n, event in enumerate(history)][::-1]
    return Facts(**{"pane": Existence.ALIVE, "running": True, "events": events, **other})


def verdict(known):
    """State and reason as words."""
    state = judge(known)
    return f"{state.turn} ({state.reason})" if state.reason else str(state.turn)


@pytest.mark.parametrize(
    ("expected", "history", "other"),
    [
        ("starting", [], {}),
        ("starting", [STARTUP], {"prompted": True}),
        ("idle", [STARTUP], {}),
        ("working", [STARTUP, PROMPT], {"prompted": True}),
        ("working", [PROMPT, OFFERED], {}),
        ("idle", [PROMPT, STOP], {}),
        ("working", [PROMPT, STOP], {"settling": True}),
        ("working", [PROMPT, STOP, BLOCKED], {}),
        ("idle", [PROMPT, STOP, BLOCKED, STOP], {}),
        ("idle", [PROMPT, STOP, ENDED_BY_CLEAR, CLEAR], {"prompted": True}),
        ("waiting (permission)", [PROMPT, ASKS], {"last_said": "tool"}),
        ("waiting (permission)", [PROMPT, ASKS], {"last_said": "prompt"}),  # a first turn is logged in any order
        ("working", [PROMPT, ASKS], {"last_said": "result"}),
        ("idle (interrupted)", [PROMPT, ASKS], {"last_said": "interrupt"}),
        ("idle (interrupted)", [PROMPT], {"last_said": "interrupt"}),
        ("idle (interrupted)", [PROMPT, STOP, BLOCKED], {"last_said": "interrupt"}),
        ("idle (interrupted)", [PROMPT, {"event": "Interrupt"}], {}),
        ("idle", [PROMPT], {"last_said": "failed"}),
        ("idle", [PROMPT], {"last_said": "ended"}),
        ("idle", [PROMPT, STOP, BLOCKED], {"last_said": "ended"}),
        ("working", [PROMPT], {"last_said": "assistant"}),
        ("idle", [PROMPT, {"event": "StopFailure", "error": "server_error"}], {}),
        ("waiting (login)", [PROMPT, {"event": "StopFailure", "error": "authentication_failed"}], {}),
        ("waiting (limit)", [PROMPT, {"event": "StopFailure", "error": "rate_limit"}], {}),
        ("compacting", [PROMPT, {"event": "PreCompact", "trigger": "auto"}], {}),
        ("compacting", [{"event": "PreCompact", "trigger": "auto"}, COMPACTED], {}),
        ("working", [{"event": "PreCompact", "trigger": "auto"}, {"event": "PostCompact", "trigger": "auto"}], {}),
        ("idle", [{"event": "PreCompact", "trigger": "manual"}, {"event": "PostCompact", "trigger": "manual"}], {}),
        ("idle", [STOP, {"event": "PreCompact", "trigger": "manual"}], {"last_said": "command"}),
        ("idle", [STOP, {"event": "Notification", "notification_type": "idle_prompt"}], {}),
        ("unknown", [STOP, {"event": "SessionEnd", "reason": "other"}], {}),
        ("starting", [], {"held": True}),
        ("unknown", [], {"reports": False}),
        ("exited", [STOP], {"pane_dead": True, "running": False, "exit_status": 3}),
        ("gone", [STOP], {"pane": Existence.GONE, "running": False}),
        ("unknown", [STOP], {"pane": Existence.UNKNOWN, "running": None}),
        ("unknown", [STOP], {"pane": Existence.GONE, "running": None}),
        ("unknown", [PROMPT], {"pane": Existence.GONE, "running": True}),
        ("waiting (handoff)", [PROMPT], {"queued": True, "pane": Existence.GONE, "running": True}),
        ("waiting (handoff)", [STOP], {"queued": True}),
        ("waiting (handoff)", [STOP], {"queued": True, "pane": Existence.GONE, "running": False}),
        ("working", [PROMPT], {"queued": True}),
        ("waiting (dead-letter)", [STOP], {"dead_letter": True}),
        ("waiting (dead-letter)", [STOP], {"dead_letter": True, "pane": Existence.GONE, "running": False}),
    ],
)  # fmt: skip
def test_what_an_agent_is_doing(expected, history, other):
    """The newest telling fact decides; what could not be looked at is unknown."""
    assert expected == verdict(facts(*history, **other))


def test_an_exit_keeps_its_status():
    """`exited` carries what the engine ended with."""
    state = judge(facts(STOP, pane_dead=True, running=False, exit_status=7))

    assert (7, "ended with status 7") == (state.exit_status, state.evidence)


def test_background_work_is_counted_beside_the_turn():
    """The number of background tasks is that of the last Stop."""
    assert 2 == judge(facts(PROMPT, {"event": "Stop", "background": 2})).background


def test_foreign_lines_decide_nothing():
    """Only what a hook reported is evidence of a turn."""
    known = facts(PROMPT, STOP)
    noise = {"source": "drain", "event": "UserPromptSubmit"}

    assert "idle" == verdict(facts(PROMPT, STOP, events=[noise, *known.events]))


def test_a_successor_says_whom_it_waits_for():
    """Held at the gate until its predecessor has ended."""
    assert "a1b2c3d4" in judge(facts(held=True, held_for="a1b2c3d4")).evidence
    assert "predecessor" not in judge(facts(held=True)).evidence


@pytest.mark.parametrize(
    ("tool", "reason"), [("Bash", "permission"), ("AskUserQuestion", "question"), ("ExitPlanMode", "question")]
)
def test_a_question_is_no_permission(tool, reason):
    """Claude Code asks its hook for leave to ask and to show a plan; the operator is asked a question."""
    state = judge(facts(PROMPT, {**ASKS, "tool_name": tool}))

    assert ("waiting", reason, f"asks to use {tool}") == (state.turn, state.reason, state.evidence)


def test_an_engine_without_a_pane_is_named():
    """Nobody sees what it does, and what it reported last may be of any age: its process is what is left to look at."""
    known = facts(PROMPT, pane=Existence.GONE, pid=4711)
    state = judge(known)

    assert ("process", "its pane is gone and its engine (pid 4711) still runs") == (state.source, state.evidence)
    assert "fleet stop" in changes(state)
    assert "tmux answers" not in changes(state)


def test_why_tmux_could_not_be_asked_is_said():
    """In tmux's words, or that it did not answer in time."""
    known = facts(STOP, pane=Existence.UNKNOWN, pane_error="tmux did not answer within 10 s (list-panes)")

    assert "tmux could not be asked: tmux did not answer within 10 s (list-panes)" == judge(known).evidence
    assert judge(known).evidence == next(one.evidence for one in opinions(known) if one.source == "pane")


NUDGED = {"event": "Notification", "notification_type": "idle_prompt"}


def test_a_turn_whose_hook_still_decides_is_about_to_end():
    """Its end may be blocked yet: that is what is likely, and it is said."""
    state = judge(facts(PROMPT, STOP, settling=True))

    assert ("its Stop hook is still deciding", Confidence.LIKELY) == (state.evidence, state.confidence)
    assert Confidence.SURE == judge(facts(PROMPT, STOP)).confidence


@pytest.mark.parametrize(
    ("since", "reason", "history", "last_said"),
    [
        ("1", None, [PROMPT, STOP, NUDGED, NUDGED], None),
        ("0", Reason.INTERRUPTED, [PROMPT, NUDGED], "interrupt"),
        ("1", None, [PROMPT, NUDGED, NUDGED], "assistant"),
    ],
)
def test_a_reminder_that_it_idles_begins_no_new_idling(since, reason, history, last_said):
    """Claude Code notifies a minute after the turn's end; only where nothing told of that, idling began then."""
    state = judge(facts(*history, last_said=last_said))

    assert (Turn.IDLE, reason, since) == (state.turn, state.reason, state.since)


def test_what_waits_for_a_hold_does_so_since_both_were_there():
    """The later of the hold's begin and the state's own."""

    def since(at, began):
        stop = {**STOP, "source": "hook", "ts": rfc3339(at)}
        return judge(facts(events=[stop], hold="x", hold_since=began, mail=True)).since

    assert (rfc3339(100.0), rfc3339(200.0)) == (since(50.0, 100.0), since(200.0, 100.0))
    assert rfc3339(100.0) == judge(facts(held=True, hold="x", hold_since=100.0)).since


def test_an_engine_that_said_goodbye_ended_then():
    """Nothing else tells when."""
    dead = {"pane_dead": True, "running": False, "exit_status": 0}

    assert "1" == judge(facts(STOP, {"event": "SessionEnd", "reason": "other"}, **dead)).since
    assert judge(facts(STOP, **dead)).since is None
    assert judge(facts(STOP, ENDED_BY_CLEAR, CLEAR, **dead)).since is None


def test_what_is_not_known_has_no_confidence():
    """There is no verdict that could stand well."""
    assert judge(facts(pane=Existence.UNKNOWN)).confidence is None
    assert judge(facts(reports=False)).confidence is None
