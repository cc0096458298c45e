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


#: What the watchdog tells an agent, word for word as the source system does.
WATCHDOG_STALLED = (
    "The fleet watchdog saw no commit and no file change for the stale window. If a command is running in the "
    "background, re-run it in the foreground with an explicit timeout of at least 600000 ms. Then reply with your "
    "current status."
)
WATCHDOG_SPINNING = (
    "The fleet watchdog saw the same command fail repeatedly with no success in between. Stop re-running it unchanged: "
    "read the last failure, state one hypothesis, try a different approach, or report blocked with the failing output."
)


#: What an agent is told that was in the middle of a turn when its machine or its tmux server went.
RECOVERED = (
    "The machine or its tmux server went away in the middle of your turn, and fleet has brought you back. What ran in "
    "your shell has ended. Look at what stands in the working tree, then go on with your task."
)


def recovery_notes(why: str, inherited: str | None) -> str:
    """What a successor is told of an agent that ended with its machine or tmux, where it cannot go on with the talk."""
    lines = [f"The agent before you ended with its machine or its tmux server ({why}); nobody had written a handoff."]
    if inherited is not None:
        lines.append(f"It had itself begun from the handoff document {inherited}: read that one first.")
    lines.append("What it had not committed still stands in the working tree.")
    return "\n".join(lines)


def respawn_notes(why: str, inherited: str | None, patch: str | None) -> str:
    """What a successor that nobody asked for is told of its predecessor, in its handoff document."""
    lines = [
        f"The agent before you was replaced by fleet: {why}.",
        "Doing the same again will end the same way. Run long commands in the foreground, with an explicit timeout.",
    ]
    if inherited is not None:
        lines.append(f"It had itself begun from the handoff document {inherited}: read that one first.")
    if patch is not None:
        lines.append(
            f"What it had not committed still stands in the working tree; {patch} is a copy of it, as a patch."
        )
    return "\n".join(lines)
