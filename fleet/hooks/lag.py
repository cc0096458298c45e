"""Waiting for the engine's log to hold the answer that the hook is called for.

Claude Code 2.1.197 writes its transcript by a timer: at Stop the last answer, and with it the usage, is up to 90 ms
behind (6 of 6 runs; the client goes on writing while its hook runs). Read at once, every figure would be one turn old.
"""

from __future__ import annotations

import os
import time

from fleet.formats import transcript

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.hooks.payload import Payload

LONGEST_SECONDS = 0.4
POLL_SECONDS = 0.01
LOOK_BACK_BYTES = 256 * 1024


def is_current(call: Payload, blocks: int = 0) -> bool:
    """
    Whether the log holds the last assistant message of this very turn.

    The same words may stand there from the turn before, or from before the turn was blocked: they count only behind as
    many blocks as there were, and those behind the turn's own prompt. In a conversation's first turn the answer may
    stand before its prompt (2.1.197); with no other prompt in the log it counts there too.

    Args:
        blocks: how often the turn was kept from ending.
    """
    wanted = call.text("last_assistant_message").strip()
    if not wanted:
        return True
    seen = before = at_prompt = False
    found = 0
    for said in transcript.backwards(call.engine, call.transcript_path, LOOK_BACK_BYTES):
        if said.kind == "assistant" and said.text.strip() == wanted:
            seen, before = seen or not (at_prompt or found), at_prompt
        elif said.kind == "prompt" and not at_prompt and said.turn_id in (None, call.turn_id):
            if seen:
                return found >= blocks
            at_prompt = True
        elif said.kind == "prompt":
            return seen and not at_prompt and said.turn_id is None
        elif said.kind == "feedback":
            if not seen:
                return False
            found += 1
    return (seen or before) and found >= blocks


def wait(call: Payload, blocks: int = 0) -> bool:
    """Wait until the log is current, at most LONGEST_SECONDS; whether it is. No wait for a log that is not read."""
    path = call.transcript_path
    if call.engine not in transcript.READERS or not path:
        return True
    end = time.monotonic() + LONGEST_SECONDS
    size: int | None = None
    while time.monotonic() < end:
        try:
            now = os.stat(path).st_size
        except OSError:
            now = -1
        if now != size:
            size = now
            if is_current(call, blocks):
                return True
        time.sleep(POLL_SECONDS)  # noqa: TID251  # hooks cannot import fleet.clock
    return False
