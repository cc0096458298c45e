"""Send a message to an agent, or to many. Delivered once and in order; what cannot be proved is not called delivered.

examples:
  fleet send fix-login "use the new API"
  fleet send a1b2 --file notes.md --wait 60
  fleet send --all "stop after the current step"

results: delivered, queued (exit 0), refused (exit 1), unconfirmed (exit 6).
Into an engine without hooks the text is typed: its control characters become visible (^[), and several lines are
delivered only where tmux says that the program takes them as one paste (3.8), else unconfirmed. A line longer than its
terminal lets through is refused, and nothing is typed.
"""

from __future__ import annotations

from fleet.cli import given, output
from fleet.clock import pause
from fleet.drain.carry import outlook, start_background
from fleet.drain.sending import Result, Sent, note, result, send
from fleet.errors import EXIT_NO, EXIT_OK, EXIT_UNCONFIRMED, Refused, UsageError
from fleet.formats.states import Turn
from fleet.formats.visible import visible

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet
    from fleet.model.agent import Agent
    from fleet.observe.facts import Looker

TAKES_TEXT = "fleet send AGENT -- TEXT"
#: What the drain found at its last try, by its Wake event.
WOKEN = {
    "draft": "somebody's text stands at its prompt",
    "dialog": "a dialog is open in its pane",
    "unclear": "its screen shows no prompt to type at",
    "hidden": "its prompt does not show what is typed, as one for a password",
}
SETTLED = (Result.DELIVERED, Result.UNCONFIRMED, Result.REFUSED)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("words", nargs="*", metavar="AGENT TEXT", help="the agent, and the text (-: standard input)")
    parser.add_argument("--file", metavar="F", help="the text from a file")
    parser.add_argument("--all", action="store_true", help="to every agent")
    parser.add_argument("--project", help="to every agent of a project")
    parser.add_argument("--op-id", metavar="ID", help="the same id never delivers twice")
    parser.add_argument("--wait", type=float, default=0, metavar="S", help="wait up to that long for the delivery")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Spool, start a drain when none runs, wait as asked."""
    if args.wait < 0:
        raise UsageError("--wait cannot be negative")
    words = list(args.words)
    many = args.all or args.project is not None
    targets = _many(args, fleet) if many else [fleet.agents.find(_take(words, "an agent"), archived=True)]
    body = _body(args, words)
    if words:
        raise UsageError(f"{words[0]!r} is one argument too many", hint="put the text in quotes")
    rows, sent = [], []
    for agent in targets:
        try:
            one = send(fleet, agent, body, args.op_id)
        except Refused as e:
            if not many:
                if args.json:
                    output.data({"message_id": None, "agent_id": agent.id, "result": "refused", "error": str(e)})
                raise
            rows.append({"message_id": None, "agent_id": agent.id, "result": "refused", "error": str(e)})
            continue
        sent.append(one)
    if sent:
        start_background(fleet)
    look = fleet.looker()
    for one in sent:
        _tell(fleet, look, one, body)
    found = _wait(fleet, sent, args.wait)
    look = fleet.looker()
    rows += [_row(fleet, look, one, found[one.message_id], args.wait) for one in sent]
    _print(rows, many=many, as_json=args.json)
    return _code([str(row["result"]) for row in rows])


def _tell(fleet: Fleet, look: Looker, sent: Sent, body: str) -> None:
    """Say what the sender cannot know of the agent, and whether its engine has ended: then nothing delivers to it."""
    agent = fleet.agents.get(sent.agent_id)
    if agent is None:
        return
    sight = look.see(agent)
    if not sight.facts.reports and visible(body) != body.replace("\r\n", "\n"):
        output.say(f"fleet: note: what {agent.id} gets is typed; control characters in the text become visible (^X)")
    if sight.state.turn in (Turn.EXITED, Turn.GONE):
        output.say(f"fleet: note: the engine of {agent.id} has ended; the message waits")
        output.say(f"hint: `fleet handoff {agent.id}` starts a successor, which gets it")


def _hindrance(fleet: Fleet, look: Looker, agent_id: str) -> str | None:
    """Why a message of that agent still waits; None where nothing but time is missing."""
    agent = fleet.agents.get(agent_id)
    if agent is None:
        return None
    sight = look.see(agent)
    state, told = sight.state, (e for e in sight.facts.events if e.get("source") == "hook" or e.get("event") == "Wake")
    if state.turn in (Turn.EXITED, Turn.GONE):
        return "its engine has ended"
    if state.turn == Turn.WAITING:
        return f"it is waiting ({state.reason})"
    if state.turn == Turn.WORKING:
        return "its turn is not over"
    return WOKEN.get(str(next(told, {}).get("result")))  # a report of the engine since then outdates it


def _take(words: list[str], what: str) -> str:
    if not words:
        raise UsageError(f"{what} is missing", hint="fleet send AGENT TEXT")
    return words.pop(0)


def _many(args: argparse.Namespace, fleet: Fleet) -> list[Agent]:
    found = [a for a in fleet.agents.living().agents if args.project in (None, a.project) and not a.successor_id]
    if not found:
        raise Refused("no agent is there to send to", hint="`fleet list` shows who is alive")
    return found


def _body(args: argparse.Namespace, words: list[str]) -> str:
    """The text, byte for byte (what is no UTF-8 is kept by surrogate escapes)."""
    if args.file is not None:
        raw = given.read(args.file)
    else:
        text = _take(words, "the text")
        raw = given.read(text) if text == "-" else text.encode("utf-8", "surrogateescape")
    if not raw.strip():
        raise UsageError("the message is empty")
    if b"\0" in raw:
        raise UsageError("the message holds a NUL byte")
    return raw.decode("utf-8", "surrogateescape")


def _wait(fleet: Fleet, sent: list[Sent], seconds: float) -> dict[str, Result]:
    begun = fleet.clock.monotonic()
    found = {one.message_id: result(fleet, one) for one in sent}
    while any(value not in SETTLED for value in found.values()) and fleet.clock.monotonic() - begun < seconds:
        fleet.clock.sleep(pause(fleet.clock.monotonic() - begun))
        found = {
            one.message_id: found[one.message_id] if found[one.message_id] in SETTLED else result(fleet, one)
            for one in sent
        }
    return found


def _row(fleet: Fleet, look: Looker, one: Sent, found: Result, waited: float) -> dict[str, Any]:
    row = {"message_id": one.message_id, "agent_id": one.agent_id, "dispatch_id": one.dispatch_id,
           "result": found.value}  # fmt: skip
    if found == Result.QUEUED and waited:
        why = _hindrance(fleet, look, one.agent_id) or outlook(fleet)
        row["error"] = f"not delivered within {waited:g} s; {why}"
    added = note(fleet, one) if found in (Result.UNCONFIRMED, Result.REFUSED) else None
    if added is not None:
        row["error"] = added
    return row


def _print(rows: list[dict[str, Any]], *, many: bool, as_json: bool) -> None:
    if as_json:
        output.data(rows if many else rows[0])
        return
    for row in rows:
        print(f"{row['result']}  {row['agent_id']}  {row['message_id'] or '-'}")
        if row.get("error"):
            output.say(f"fleet: {row['agent_id']}: {row['error']}")


def _code(results: list[str]) -> int:
    if "refused" in results:
        return EXIT_NO
    return EXIT_UNCONFIRMED if "unconfirmed" in results else EXIT_OK
