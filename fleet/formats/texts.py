"""Every fixed text that an agent is told. Short and exact: tests and people recognise them by their beginnings."""

from __future__ import annotations

HANDOFF_REQUESTED = "HANDOFF REQUESTED"
MILESTONE = "MILESTONE"
OPERATOR_PREFIX = "[OPERATOR] "
WAKE_LINE = "[fleet] Operator message: its text comes with this prompt, or when this turn ends."
PLACEHOLDER = "_(operator-triggered handoff — fill in before resuming)_"

SECTIONS = ("Completed", "Key Decisions", "Files Modified", "Open Questions", "Next Steps (prioritized)")


def handoff_request(draft: str) -> str:
    """What an agent over the yellow threshold is asked to do."""
    headings = "\n".join("## " + name for name in SECTIONS)
    return (
        f"{HANDOFF_REQUESTED}: your context is filling up and a fresh agent will continue this task.\n"
        "1. Finish the current small step and start nothing new.\n"
        f"2. Write your handoff to {draft} with exactly these headings, each with what your successor must know:\n"
        f"{headings}\n"
        f"3. Then print {MILESTONE} alone on a line."
    )


def mode_reminder(mode: str, fill: str) -> str:
    """What an agent in a thinking mode is told, once per threshold, instead of being handed off."""
    return (
        f"[fleet] Context is at {fill}. In {mode} mode fleet does not hand off by itself: "
        "when you reach a good point, tell the operator, who can run `fleet handoff`."
    )


def operator_message(body: str) -> str:
    """One operator message as it is injected."""
    return OPERATOR_PREFIX + body


def operator_file(path: str, characters: int) -> str:
    """The injection that stands for a body too long to inject."""
    return OPERATOR_PREFIX + f"The message has {characters} characters. Read all of it from {path} and act on it."


def resume_prompt(document: str) -> str:
    """A successor's first prompt."""
    return f"Read the handoff document at {document} and continue the work it describes without waiting for input."


def prompt_in_file(path: str) -> str:
    """The first prompt that stands for one too long for an argv."""
    return f"Read your task in full from {path} and carry it out."
