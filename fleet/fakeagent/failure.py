"""
Requests that fail.

Claude Code retries 401, 429 and server errors by itself and is silent meanwhile; then StopFailure fires
in the place of Stop. A prompt that is too long is answered by a compaction and one more try.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

from fleet.fakeagent import records

if TYPE_CHECKING:
    from fleet.fakeagent.clockwork import Steps
    from fleet.fakeagent.parts import Parts

GATEWAY = "127.0.0.1"
TOO_LONG = "prompt is too long"
DEFAULT_RETRIES = 2


class Failure(NamedTuple):
    """How a failed turn is reported."""

    kind: str  #: The hook's `error`.
    text: str  #: What the model seems to have said.
    status: int
    details: str | None = None
    shown: str | None = None  #: On the screen, where it differs from the text.


def is_too_long(status: int, text: str) -> bool:
    """Whether a compaction may help."""
    return status == 400 and text.startswith(TOO_LONG)


def is_temporary(status: int) -> bool:
    """Whether the client tries again by itself."""
    return status in (0, 401, 408, 409, 429) or status >= 500


def retries(parts: Parts) -> int:
    """How often it does."""
    if parts.client.api_retries >= 0:
        return parts.client.api_retries
    setting = os.environ.get("CLAUDE_CODE_MAX_RETRIES", "")
    return int(setting) if setting.isdecimal() else DEFAULT_RETRIES


def describe(status: int, text: str) -> Failure:
    """The report for an HTTP status; 0 is a connection that broke."""
    if is_too_long(status, text):
        details = f'400 {{"type":"error","error":{{"type":"invalid_request_error","message":"{text}"}}}}'
        shown = "Context limit reached · /compact or /clear to continue"
        return Failure("invalid_request", "Prompt is too long", status, details, shown)
    if status == 401:
        return Failure("authentication_failed", f"Please run /login · API Error: 401 {text}", status)
    if status == 429:
        return Failure("rate_limit", f"API Error: Request rejected (429) · {text}", status)
    if status == 0:
        return Failure("server_error", "API Error: Connection error.", status)
    if status >= 500:
        advice = (
            "This is a server-side issue, usually temporary — try again in a moment. If it persists, check "
            f"your inference gateway ({GATEWAY})."
        )
        return Failure("server_error", f"API Error: {status} {text}. {advice}", status)
    return Failure("unknown", f"API Error: {status} {text}", status)


def scripted(parts: Parts) -> Failure | None:
    """The failure of every prompt that the script asks for."""
    if parts.client.login_required:
        return Failure("authentication_failed", "Not logged in · Please run /login", 401)
    if parts.client.rate_limited:
        return Failure("rate_limit", "You've hit your limit · resets 3pm (UTC)", 429)
    return None


def report(parts: Parts, failure: Failure) -> Steps[None]:
    """Tell the transcript, the screen and the hooks."""
    parts.transcript.entry(records.api_error(failure.text, failure.kind, failure.status))
    if failure.shown is None:
        parts.display.say(failure.text, colour=211)
    else:
        parts.display.say_result(failure.shown)
    fields = {"error": failure.kind, "last_assistant_message": failure.text}
    if failure.details is not None:
        fields["error_details"] = failure.details
    yield from parts.hooks.fire("StopFailure", fields, subject=failure.kind)
