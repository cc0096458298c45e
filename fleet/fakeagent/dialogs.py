"""
Questions with numbered answers.

A dialog takes the keyboard: arrows move, a digit chooses, Enter takes the highlighted answer, Escape
refuses. A paste vanishes, but the Enter behind it counts: typing a message blindly into an open
permission dialog approves the tool.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fleet.fakeagent import style
from fleet.fakeagent.clockwork import Wait
from fleet.fakeagent.width import wrap

if TYPE_CHECKING:
    from fleet.fakeagent.keys import Key

REFUSED = -1
TRUST_QUESTION = (
    "Quick safety check: Is this a project you created or one you trust? (Like your own code, a well-known "
    "open source project, or work from your team). If not, take a moment to review what's in this folder "
    "first."
)
TRUST_MEANING = "Claude Code'll be able to read, edit, and execute files here."
BYPASS_WARNING = "In Bypass Permissions mode, Claude Code will not ask before running dangerous commands."
BYPASS_DUTY = "By proceeding, you accept all responsibility for actions taken in this mode."


class Dialog:
    """One open question."""

    def __init__(
        self,
        heading: str,
        body: list[str],
        options: list[str],
        *,
        footer: str,
        default: int = 0,
        colour: int = 153,
    ) -> None:
        self.answer: Wait[int] = Wait()  #: The place of the chosen option, or REFUSED.
        self._heading = heading
        self._body = body
        self._options = options
        self._footer = footer
        self._chosen = default
        self._colour = colour

    def press(self, key: Key) -> None:
        """Take one key."""
        if key.name == "enter":
            self.answer.set(self._chosen)
        elif key.name in ("escape", "ctrl-c"):
            self.answer.set(REFUSED)
        elif key.name in ("up", "down"):
            self._chosen = (self._chosen + (1 if key.name == "down" else -1)) % len(self._options)
        elif key.name == "text":
            for char in key.text:
                if char.isdecimal() and 1 <= int(char) <= len(self._options):
                    self.answer.set(int(char) - 1)

    def rows(self, columns: int) -> tuple[list[str], int]:
        """What the screen shows, and the row of the highlighted option."""
        rows = [style.rule(columns, self._colour), " " + style.bold(style.tone(self._colour, self._heading))]
        for line in self._body:
            rows += [f" {row}" for row in wrap(line, columns - 2)]
        chosen_row = len(rows) + self._chosen
        for place, option in enumerate(self._options):
            number = style.grey(f"{place + 1}.")
            if place == self._chosen:
                rows.append(f" {style.accent(style.PROMPT)} {number} {style.accent(option)}")
            else:
                rows.append(f"   {number} {option}")
        return [*rows, "", " " + style.grey(self._footer)], chosen_row


def trust(cwd: str, default: str) -> Dialog:
    """Asked before anything else in a folder nobody has vouched for; no hook fires while it is open."""
    return Dialog(
        "Accessing workspace:",
        ["", cwd, "", TRUST_QUESTION, "", TRUST_MEANING, "", "Security guide", ""],
        ["Yes, I trust this folder", "No, exit"],
        footer="Enter to confirm · Esc to cancel",
        default=0 if default == "yes" else 1,
        colour=220,
    )


def bypass() -> Dialog:
    """Asked when permissions are bypassed; a blind Enter ends the client."""
    return Dialog(
        "WARNING: Claude Code running in Bypass Permissions mode",
        ["", BYPASS_WARNING, BYPASS_DUTY, ""],
        ["No, exit", "Yes, I accept"],
        footer="Enter to confirm · Esc to cancel",
        colour=211,
    )


def bash_permission(command: str, description: str, folder: str) -> Dialog:
    """May this command run."""
    return Dialog(
        "Bash command",
        ["", f"  {command}", *([f"  {description}"] if description else []), "", "Do you want to proceed?"],
        ["Yes", f"Yes, and always allow access to {folder}/ from this project", "No"],
        footer="Esc to cancel · Tab to amend · ctrl+e to explain",
    )


def file_permission(verb: str, path: str, shown: str, content: str, folder: str) -> Dialog:
    """May this file be written."""
    numbered = [f"{number:2} {line}" for number, line in enumerate(content.split("\n")[:20], 1)]
    return Dialog(
        f"{verb.capitalize()} file",
        [shown, "╌" * 40, *numbered, "╌" * 40, f"Do you want to {verb} {path}?"],
        ["Yes", f"Yes, allow all edits in {folder}/ during this session (shift+tab)", "No"],
        footer="Esc to cancel · Tab to amend",
    )
