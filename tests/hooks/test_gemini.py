"""What a turn of Gemini CLI ended with, which its hook does not say and its log does."""

import json

import pytest

from fleet.hooks.payload import NO_ANSWER, parse


@pytest.fixture
def told(tmp_path):
    """The event and the payload that come of AfterAgent with that answer and that last line of the log."""

    def parse_it(answer, *lines):
        log = tmp_path / "session.jsonl"
        log.write_text("".join(json.dumps({"id": str(i), **line}) + "\n" for i, line in enumerate(lines)))
        payload = {"prompt_response": answer, "transcript_path": str(log)}
        return parse("gemini", "Stop", json.dumps(payload).encode())

    return parse_it


PROMPT = {"type": "user", "content": [{"text": "go on"}]}


def test_a_turn_with_an_answer_is_over(told):
    """Its text stands where other engines have it; nothing is looked up."""
    call = told("done", PROMPT, {"type": "error", "content": "an older one"})

    assert ("Stop", "done") == (call.event, call.text("last_assistant_message"))


@pytest.mark.parametrize(
    ("line", "event", "error"),
    [
        ({"type": "info", "content": "Request cancelled."}, "Interrupt", ""),
        ({"type": "error", "content": "[API Error: overloaded]"}, "StopFailure", "server_error"),
        ({"type": "error", "content": '{"type": "authentication_error"}'}, "StopFailure", "authentication_failed"),
        ({"type": "error", "content": "status: RESOURCE_EXHAUSTED"}, "StopFailure", "rate_limit"),
        ({"type": "gemini", "content": "earlier words"}, "Stop", ""),
    ],
)
def test_a_turn_without_an_answer(told, line, event, error):
    """The log's last word decides; the client's stand-in for an answer is nobody's."""
    call = told(NO_ANSWER, PROMPT, line, {"type": "info", "content": "Press F12 for diagnostics"})

    assert (event, error) == (call.event, call.text("error"))
    assert NO_ANSWER != call.text("last_assistant_message")


def test_a_log_that_is_not_there(tmp_path):
    """Then the turn is over, as the hook says."""
    payload = {"prompt_response": NO_ANSWER, "transcript_path": str(tmp_path / "none")}

    assert "Stop" == parse("gemini", "Stop", json.dumps(payload).encode()).event


def test_a_permission_names_what_is_to_run():
    """By the command, the tool or the title, whichever the client gives."""
    payload = {
        "notification_type": "ToolPermission",
        "details": {"type": "exec", "rootCommand": "rm", "title": "Confirm"},
    }

    assert "rm" == parse("gemini", "PermissionRequest", json.dumps(payload).encode()).text("tool_name")
