"""Making a handoff document better before the successor reads it: what the machine knows, where the agent said nothing.

The agent's own sections stay as they are. A section that is missing, or that the hook could only fill with the last
message, gets labelled facts: git's view of the working tree, the last prompts and tool calls, the last screen.
"""

from __future__ import annotations

import os
import re
from itertools import takewhile

from fleet.errors import BadFile
from fleet.formats import handoff_doc, messages, transcript
from fleet.formats.atomic import read_bytes, write_file
from fleet.formats.handoff import MACHINE, NOTE, machine
from fleet.formats.states import MessageState
from fleet.formats.texts import PLACEHOLDER, SECTIONS, WAKE_LINE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.formats.layout import Layout
    from fleet.model.agent import Agent
    from fleet.process.ending import Stray

SCREEN_LINES = 60
PROMPTS, TOOLS, MESSAGES = 3, 15, 2
OPERATOR = 20
TEXT_CHARACTERS = 2000
TOOL_CHARACTERS = 200
SCREEN_WIDTH = 200
_RULE = re.compile(r"([─━═-])\1{9,}")


def enrich(
    document: str,
    agent: Agent,
    screen: Sequence[str],
    strays: Sequence[Stray] = (),
    *,
    git: str = "",
    task: str | None = None,
    operator: Sequence[str] = (),
) -> None:
    """
    Replace the document by a fuller one, atomically. Safe to repeat.

    Args:
        git: what git says of its working tree, an indented block.
        task: the file with the dispatch's first prompt: a successor of any generation must be able to read it.
        operator: what the operator told the dispatch, oldest first; it stands in every document.

    Raises:
        BadFile: it cannot be read or is no handoff document.
    """
    parsed = handoff_doc.parse(read_bytes(document).decode("utf-8", "replace"))
    if parsed is None:
        raise BadFile(document, "not a handoff document")
    header, bodies = parsed
    if any(name not in header for name in handoff_doc.FIELDS):
        raise BadFile(document, "its frontmatter is not complete")
    own = {name: text for name, body in bodies.items() if (text := _own(body)) and text != PLACEHOLDER}
    said = _said(agent)
    known = {
        "Completed": [
            machine("the agent's last messages", "\n\n".join(said["assistant"])),
            machine("its last tool calls", "\n".join(f"- `{_line(t)}`" for t in said["tool"])),
        ],
        "Files Modified": [machine("git status and diff stat", git)],
        "Key Decisions": [_operator(operator)],
        "Open Questions": [
            machine("processes it left running", "\n".join(f"- {s.name} (pid {s.pid})" for s in strays)),
        ],
        "Next Steps (prioritized)": [
            _task(task),
            machine("the last prompts it was given, newest last", "\n\n".join(_quote(p) for p in said["prompt"])),
            machine("its last screen", _fenced(_screen(screen)[-SCREEN_LINES:])),
        ],
    }
    facts = {name: "\n\n".join(part for part in parts if part) for name, parts in known.items()}
    always = {"Key Decisions": _operator(operator), "Next Steps (prioritized)": _task(task, short=True),
              "Open Questions": facts["Open Questions"]}  # fmt: skip
    whole = {name: facts.get(name, "") for name in SECTIONS}
    whole |= {name: "\n\n".join(part for part in (body, always.get(name)) if part) for name, body in own.items()}
    write_file(document, handoff_doc.render(header, whole))


def messages_of(fleet_layout: Layout, agents: Sequence[str]) -> list[str]:
    """The delivered messages of *agents* (oldest agent first), the newest OPERATOR of them, oldest first."""
    found = []
    for agent_id in agents:
        folder = os.path.join(fleet_layout.inbox_archive, agent_id)
        for name in messages.names(folder):
            try:
                message = messages.read(os.path.join(folder, name))
            except (FileNotFoundError, BadFile):
                continue
            if message.state == MessageState.DELIVERED:
                found.append(message.body)
    return found[-OPERATOR:]


def _operator(bodies: Sequence[str]) -> str:
    quoted = (_quote(body[:TEXT_CHARACTERS]) for body in bodies)
    return machine("what the operator said, oldest first", "\n\n".join(quoted))


def _task(path: str | None, *, short: bool = False) -> str:
    """The task as it was first given: all of it where it is short, always where to read it."""
    if path is None:
        return ""
    try:
        text = read_bytes(path).decode("utf-8", "replace").strip()
    except (FileNotFoundError, BadFile):
        return ""
    shown = "" if short else "\n\n" + _quote(text[:TEXT_CHARACTERS])
    return machine(f"the task as it was first given, {len(text)} characters", f"All of it is in {path}{shown}")


def _own(body: str) -> str:
    """What of a section is the agent's, or said of its draft: all before the first other thing of the machine's."""
    lines = takewhile(lambda line: line.startswith(NOTE) or not line.startswith(MACHINE), body.split("\n"))
    return "\n".join(lines).rstrip()


def _said(agent: Agent) -> dict[str, list[str]]:
    """The last prompts, messages and tool calls, oldest first."""
    limits = {"prompt": PROMPTS, "assistant": MESSAGES, "tool": TOOLS}
    found: dict[str, list[str]] = {kind: [] for kind in limits}
    for said in transcript.backwards(agent.engine, agent.transcript_path):
        if said.text.startswith(WAKE_LINE):
            continue
        if said.kind in limits and len(found[said.kind]) < limits[said.kind] and said.text.strip():
            found[said.kind].append(said.text.strip()[:TEXT_CHARACTERS])
        if all(len(found[kind]) >= limit for kind, limit in limits.items()):
            break
    return {kind: texts[::-1] for kind, texts in found.items()}


def _screen(lines: Sequence[str]) -> list[str]:
    """A screen without tmux's own last words and with runs of empty lines made one."""
    kept = [line for line in lines if not line.startswith("Pane is dead (")]
    return [line for before, line in zip(["", *kept], kept, strict=False) if line.strip() or before.strip()]


def _line(text: str) -> str:
    return " ".join(text.split())[:TOOL_CHARACTERS].replace("`", "'")


def _quote(text: str) -> str:
    return "\n".join("> " + line for line in text.splitlines())


def _fenced(lines: Sequence[str]) -> str:
    """As an indented block; rules and padding that a screen is full of are cut short."""
    body = "\n".join("    " + _RULE.sub(r"\1\1\1\1", line.rstrip())[:SCREEN_WIDTH] for line in lines)
    return body if body.strip() else ""
