"""What an agent is doing: histories in, verdict out."""

import pytest

from fleet.formats.states import Existence
from fleet.model.judge import Facts, judge

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
