"""The one program behind every hook of every engine: `on_event.py <engine> <event> [user]`, payload on stdin.

It writes an event line, its agent's health fields, and, when it is time, a handoff or a message into the turn. It
never fails or delays the agent: every error goes to `logs/hook-errors.log` and the exit status is always 0.
`user` marks hooks in the user's own settings, for agents that fleet did not start: an agent that fleet dispatched is
left to the hooks of its own settings file, whichever of the two sets the client runs first.
"""

from __future__ import annotations

import os
import sys
import time

from fleet.formats import delivery, events, jsontext, messages, queue_entry, record, texts, usage
from fleet.formats.ids import is_id
from fleet.formats.layout import Layout
from fleet.formats.record import HOOK_FIELDS, Held
from fleet.formats.states import HandoffType, Reason
from fleet.formats.times import rfc3339
from fleet.hooks import history, inbox, lag, policy
from fleet.hooks.config import load
from fleet.hooks.identity import speaks_for
from fleet.hooks.kick import kick
from fleet.hooks.payload import Payload, parse
from fleet.hooks.policy import Act

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LOCK_SECONDS = 3.0
ERROR_LOG = "hook-errors.log"
FAILURES = {"authentication_failed": Reason.LOGIN, "rate_limit": Reason.LIMIT}
CLEARED = {"blocked": False, "blocked_reason": None, "blocked_since": None}


def main(argv: list[str]) -> int:
    """Run one hook; always 0."""
    agent_id = os.environ.get("FLEET_AGENT_ID")
    if not agent_id or len(argv) < 2:
        return 0
    home = os.environ.get("FLEET_HOME") or os.path.expanduser("~/.fleet")
    layout = Layout(os.path.abspath(home))
    try:
        if is_id(agent_id) and os.path.exists(layout.record(agent_id)):
            if "user" in argv[2:] and _is_dispatched(layout, agent_id):
                return 0
            call = parse(argv[0], argv[1], sys.stdin.buffer.read())
            hook = Hook(layout, agent_id, call, load(os.environ.get("FLEET_HOOK_CONFIG")), time.time())
            answer = hook.run()
            if answer:
                _print(jsontext.dumps(answer) + "\n")
            if hook.failed is not None:
                log_error(layout, argv, agent_id, hook.failed)
    except BaseException as e:  # noqa: BLE001  # a hook must never fail or block its agent, whatever happens
        log_error(layout, argv, agent_id, e)
    return 0


def _is_dispatched(layout: Layout, agent_id: str) -> bool:
    """Whether fleet started this very agent: then it has hooks of its own, and these are not to count as well."""
    dispatch_id = os.environ.get("FLEET_DISPATCH_ID")
    return bool(dispatch_id) and record.read(layout.record(agent_id))["dispatch_id"] == dispatch_id


def _print(text: str) -> None:
    """Hand the answer over past sys.stdout: what is left in a buffer there would spoil the exit status."""
    if sys.stdout is None:
        raise OSError("the engine closed the hook's standard output")
    view = memoryview(text.encode())
    while view:
        view = view[os.write(1, view) :]


def log_error(layout: Layout, argv: list[str], agent_id: str, error: BaseException) -> None:
    """Write down what a hook could not do; what cannot be written is lost."""
    import traceback  # noqa: PLC0415  # only a failing hook pays for it

    from fleet.formats.redaction import Redactor  # noqa: PLC0415  # paid only where it is used
    from fleet.formats.rotation import append  # noqa: PLC0415  # paid only where it is used

    try:
        os.makedirs(layout.logs, mode=0o700, exist_ok=True)
        text = f"{rfc3339(time.time())} {agent_id} {' '.join(argv)}\n" + "".join(traceback.format_exception(error))
        append(os.path.join(layout.logs, ERROR_LOG), Redactor().text(text.rstrip("\n")).encode("utf-8", "replace"))
    except OSError:
        pass


class Hook:
    """One call for one agent."""

    def __init__(self, layout: Layout, agent_id: str, call: Payload, config: dict[str, Any], wall: float) -> None:
        self.layout = layout
        self.id = agent_id
        self.call = call
        self.config = config
        self.wall = wall
        self.acted: dict[str, Any] = {}
        self.kick = False
        self.failed: Exception | None = None  #: why no handoff could be produced; the rest of the work was done

    def run(self) -> dict[str, Any] | None:
        """Write what happened and return what is to be printed as JSON."""
        if not speaks_for(record.read(self.layout.record(self.id))["pid"]):
            return None
        self._event(self.call.event, self.call.facts())  # before the lock: a busy lock must not lose the evidence
        self.current = self.call.event not in ("Stop", "StopFailure") or self._caught_up()
        with Held(self.layout, self.id, sync=False, timeout_seconds=LOCK_SECONDS) as held:
            if held.data is None:
                return None
            answer = self._handle(held)
            if self.acted:
                self._event(history.ACTED, {"on": self.call.event, "turn_id": self.call.turn_id, **self.acted})
        if self.kick:
            kick(self.layout, self.config, self.wall)
        seconds = float(self.config["approval_hold_seconds"])
        if seconds and self.call.event == "PermissionRequest" and self.call.engine == "claude-code":
            from fleet.hooks import asking  # noqa: PLC0415  # only where a question is held

            answer = asking.wait(self.layout, self.id, self.call, self.wall, seconds)
        return answer

    def _caught_up(self) -> bool:
        """Whether the engine's log holds what this turn ended with; it is waited for a little."""
        late = self.call.engine in ("claude-code", "fake")  # these write it by a timer
        return lag.wait(self.call, history.blocks_of_turn(self.layout, self.id) if late else 0)

    def _event(self, name: str, fields: dict[str, Any]) -> None:
        path = self.layout.event_log(self.id)
        events.append(path, self.wall, "hook", name, fields, int(self.config["max_event_bytes"]))

    def _handle(self, held: Held) -> dict[str, Any] | None:
        assert held.data is not None
        event = self.call.event
        self._settle(held)
        fields: dict[str, Any] = {"last_activity_ts": rfc3339(self.wall)}
        answer = None
        if event == "UserPromptSubmit":
            fields |= {"needs_input": False, **CLEARED}
            answer = self._with_prompt()
        elif event == "Stop":
            fields |= CLEARED
            reasons, text = self._at_stop(held, fields)
            if text:
                self.acted["block"] = reasons
                answer = {"decision": "block", "reason": text}
            fields["needs_input"] = not text
        elif event == "StopFailure":
            fields |= self._failure()
        elif event == "Interrupt":
            fields |= {"needs_input": True, **CLEARED}
        elif event == "PreCompact":
            act, kind = policy.precompact(
                held.data, self.call.text("trigger"), queued=queue_entry.is_queued(self.layout, self.id)
            )
            if act == Act.PRODUCE and kind is not None:
                self._produce(held, kind)
        elif event == "PermissionRequest":
            fields |= self._blocked(Reason.PERMISSION)
        elif event == "SessionStart" and self.call.text("source") != "compact":
            fields |= {"needs_input": True, **CLEARED}
        if event == "PostCompact" or (event == "SessionStart" and self.call.text("source") == "clear"):
            fields |= {"context_pct": None, "context_source": None}
            from fleet.hooks import figure  # noqa: PLC0415  # only where a context was emptied

            figure.void(self.layout, self.call, self.id, self.wall)
        fields["inbox_pending"] = messages.any_undelivered(self.layout, self.id)
        held.set({k: v for k, v in fields.items() if k in HOOK_FIELDS})
        return answer

    def _settle(self, held: Held) -> None:
        assert held.data is not None
        moved = delivery.settle(
            self.layout, held.data, self.call.event, self.call.turn_id, self.wall, self.call.transcript_path,
            current=self.current,
        )  # fmt: skip
        if moved:
            self.acted["settled"] = {message_id: str(state) for message_id, state in moved}

    def _blocked(self, reason: Reason) -> dict[str, Any]:
        return {"blocked": True, "blocked_reason": str(reason), "blocked_since": rfc3339(self.wall)}

    def _failure(self) -> dict[str, Any]:
        reason = FAILURES.get(self.call.text("error"))
        return {"needs_input": True, **(self._blocked(reason) if reason else CLEARED)}

    def _offer(self, via: str) -> str:
        text, ids = inbox.offer(
            self.layout, self.id, via=via, turn_id=self.call.turn_id, session_id=self.call.text("session_id"),
            log=self.call.transcript_path, wall=self.wall, config=self.config,
        )  # fmt: skip
        if ids:
            self.acted["offered"] = ids
        return text

    def _with_prompt(self) -> dict[str, Any] | None:
        if queue_entry.is_leaving(self.layout, self.id):
            return None  # the messages go on to the successor
        text = self._offer("prompt")
        if not text:
            return None
        return {"hookSpecificOutput": {"hookEventName": "UserPromptSubmit", "additionalContext": text}}

    def _at_stop(self, held: Held, fields: dict[str, Any]) -> tuple[list[str], str]:
        """Measure, decide, and return why the turn is to go on and with which text; empty when it may end."""
        assert held.data is not None
        fill = usage.read(self.call.engine, self.call.transcript_path, self.config["windows"])
        source = "hook"
        if os.path.exists(self.layout.figure(self.id)):
            from fleet.hooks import figure  # noqa: PLC0415  # only for an agent with a status line

            fill, source = figure.outrank(fill, figure.read(self.layout, self.id), self.call)
        percent = fill.percent if fill else None
        fields |= {"context_pct": percent, "context_source": source if fill else None}
        if fill and percent is None:
            self._event("UnknownModel", {"model": fill.model, "tokens": fill.tokens})
        at = policy.level(fill, self.config)
        queued = queue_entry.is_queued(self.layout, self.id)
        pending = held.data["handoff_type"] == HandoffType.YELLOW
        act, kind = policy.decide(
            held.data,
            at,
            queued=queued,
            milestone=not queued and pending and history.milestone_reached(self.call),
            reminded=history.reminded(self.layout, self.id) if at and held.data["mode"] != "execute" else at,
            wall=self.wall,
            rerequest_seconds=float(self.config["rerequest_seconds"]),
        )
        if act == Act.PRODUCE and kind is not None:
            held.data["context_pct"] = percent
            self._produce(held, kind)
        if queue_entry.is_leaving(self.layout, self.id):
            self.kick = True
            return [], ""
        return self._injections(held, act, kind, at, fill, fields)

    def _injections(
        self,
        held: Held,
        act: Act,
        kind: HandoffType | None,
        at: policy.Level,
        fill: usage.Usage | None,
        fields: dict[str, Any],
    ) -> tuple[list[str], str]:
        reasons: list[str] = []
        parts: list[str] = []
        waiting = messages.any_undelivered(self.layout, self.id)
        if waiting and self._may_block("message") and (text := self._offer("stop")):
            reasons.append("message")
            parts.append(text)
        if act == Act.REQUEST and self._may_block("handoff"):
            reasons.append("handoff")
            parts.append(texts.handoff_request(self.layout.draft(self.id)))
            fields |= {"handoff_type": str(kind), "handoff_type_at": rfc3339(self.wall)}
        if act == Act.REMIND and self._may_block("reminder") and held.data is not None and fill is not None:
            reasons.append("reminder")
            from fleet.formats.handoff_doc import number  # noqa: PLC0415  # only where somebody is reminded

            known = f"{fill.tokens} tokens" if fill.percent is None else f"{number(fill.percent)}%"
            parts.append(texts.mode_reminder(held.data["mode"], known))
            self.acted["reminded"] = int(at)
        if reasons and history.had_tool_call(self.call):
            self.acted["tool_call"] = True
        return reasons, inbox.SEPARATOR.join(parts)

    def _may_block(self, reason: str) -> bool:
        """Whether the row of blocks for *reason* is still short enough, or was broken by a tool call."""
        if history.had_tool_call(self.call):
            return True
        return history.blocks_in_a_row(self.layout, self.id, reason) < int(self.config["stop_blocks_in_a_row"])

    def _produce(self, held: Held, kind: HandoffType) -> None:
        """Stamp, write document and entry; when that fails take the stamp back and go on with the hook's other work."""
        from fleet.formats import handoff  # noqa: PLC0415  # only where a handoff is produced

        assert held.data is not None
        before = {name: held.data[name] for name in ("handoff_type", "handoff_type_at")}
        held.set({"handoff_type": str(kind), "handoff_type_at": rfc3339(self.wall)})
        try:
            path = handoff.produce(
                self.layout, held.data, kind, self.wall,
                context_pct=held.data["context_pct"], last_message=self.call.text("last_assistant_message"),
            )  # fmt: skip
        except Exception as e:  # noqa: BLE001  # a full disk must not hide the agent's state, nor keep its messages
            held.set(before)
            self.failed = e
            return
        except BaseException:
            held.set(before)
            raise
        self.acted["handoff"] = {"type": str(kind), "document": path}
        self.kick = True
