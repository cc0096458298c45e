"""
Slash commands.

They start no turn: UserPromptSubmit and Stop do not fire. `/clear` ends the session and begins another
one in the same process, with another id and another file; whoever maps panes by the first session id
loses the agent there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.fakeagent import compaction, records
from fleet.fakeagent.ids import new_uuid
from fleet.fakeagent.parts import Interrupted, Parts

if TYPE_CHECKING:
    from fleet.fakeagent.clockwork import Steps

EXIT = ("exit", "quit")
CLEAR = ("clear", "reset", "new")
COMPACT = ("compact",)


def run(parts: Parts, name: str, arguments: str) -> Steps[None]:
    """Obey a command other than the exit."""
    parts.session.new_prompt()
    if name in CLEAR:
        yield from _clear(parts, name)
    elif name in COMPACT:
        yield from _compact(parts, name, arguments)
    else:
        parts.display.say(f"Unknown command: /{name}")


def _clear(parts: Parts, name: str) -> Steps[None]:
    yield from parts.hooks.fire("SessionEnd", {"reason": "clear"}, subject="clear")
    parts.transcript.renew()
    parts.session.session_id = new_uuid()
    parts.model.forget()
    parts.known_files.clear()
    parts.display.title = "Claude Code"
    parts.display.wipe()
    parts.display.show_prompt(f"/{name}")
    parts.display.settle()
    _record(parts, name, "")
    parts.transcript.entry(records.command_output(""))
    yield from parts.begin_session("clear")


def _compact(parts: Parts, name: str, arguments: str) -> Steps[None]:
    parts.display.show_prompt(f"/{name} {arguments}".rstrip())
    parts.display.busy()
    try:
        said = yield from compaction.by_hand(parts, arguments)
    except Interrupted:
        said = "Compaction canceled."
    finally:
        parts.display.idle()
    parts.display.say_result(said)
    _record(parts, name, arguments)
    done = said == compaction.DONE
    prompt_id = parts.session.prompt_id
    parts.transcript.entry(records.command_success(prompt_id, said) if done else records.command_output(said))


def _record(parts: Parts, name: str, arguments: str) -> None:
    prompt_id = parts.session.prompt_id
    parts.transcript.entry(records.caveat(prompt_id))
    parts.transcript.entry(records.command(prompt_id, name, arguments))
