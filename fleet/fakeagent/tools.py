"""
What the tools do: Bash, Write and Read for real, anything else not at all.

A result has three forms: the text the model reads, the structured form hooks and the transcript get,
and the lines on the screen. A tool that is used wrongly (writing over a file the model has not seen)
fails before any hook hears of it.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from fleet.fakeagent.children import Finished
    from fleet.fakeagent.clockwork import Steps
    from fleet.fakeagent.model import ToolUse
    from fleet.fakeagent.parts import Parts

BASH_TIMEOUT_SECONDS = 120.0
UP_TO_DATE = "(file state is current in your context — no need to Read it back)"


class Result(NamedTuple):
    """What came of a tool."""

    text: str  #: For the model.
    response: object  #: For hooks and the transcript; a string when it failed.
    shown: str  #: For the screen.
    failed: bool = False
    is_error: bool | None = None  #: As the transcript says it; some tools leave it out.


def failure(text: str) -> Result:
    """A tool that failed."""
    return Result(text, f"Error: {text}", f"Error: {text}", failed=True, is_error=True)


def argument(use: ToolUse) -> str:
    """What the screen shows in the brackets."""
    return str(use.input.get("command") or use.input.get("file_path") or use.input.get("description") or "")


def misuse(parts: Parts, use: ToolUse) -> Result | None:
    """Why the tool cannot even be tried."""
    if use.name not in ("Bash", "Write", "Read"):
        return _tool_use_error(f"Error: No such tool available: {use.name}")
    if use.name == "Bash":
        missing = "command" if not isinstance(use.input.get("command"), str) else ""
    else:
        missing = "file_path" if not isinstance(use.input.get("file_path"), str) else ""
    if missing:
        return _tool_use_error(f"InputValidationError: The required parameter `{missing}` is missing")
    path = _path(parts, use)
    if use.name == "Write" and os.path.exists(path) and path not in parts.known_files:
        return _tool_use_error("File has not been read yet. Read it first before writing to it.")
    return None


def _tool_use_error(text: str) -> Result:
    return failure(f"<tool_use_error>{text}</tool_use_error>")


def run(parts: Parts, use: ToolUse) -> Steps[Result]:
    """Use the tool."""
    if use.name == "Write":
        return _write(parts, use)
    if use.name == "Read":
        return _read(parts, use)
    if use.input.get("run_in_background") is True:
        task = parts.background.start(use.id, use.input)
        text = f"Command running in background with ID: {task.id}. Output is being written to: {task.output}."
        return Result(
            text,
            _bash_response("", "") | {"backgroundTaskId": task.id},
            "Running in the background",
            False,
            False,
        )
    seconds = float(use.input.get("timeout", BASH_TIMEOUT_SECONDS * 1000)) / 1000
    environment = parts.session.environment()
    finished = yield from parts.children.run(use.input["command"], env=environment, timeout_seconds=seconds)
    return _bash(finished)


def _bash(finished: Finished) -> Result:
    stdout, stderr = finished.stdout.rstrip("\n"), finished.stderr.rstrip("\n")
    both = "\n".join(part for part in (stdout, stderr) if part)
    if finished.status != 0:
        status = finished.status if finished.status > 0 else 128 - finished.status
        return failure(f"Exit code {status}\n{both}" if both else f"Exit code {status}")
    text = both or "(Bash completed with no output)"
    return Result(text, _bash_response(stdout, stderr), both or "(No output)", False, False)


def _bash_response(stdout: str, stderr: str) -> dict[str, Any]:
    said = {"stdout": stdout, "stderr": stderr}
    return said | {"interrupted": False, "isImage": False, "noOutputExpected": False}


def _path(parts: Parts, use: ToolUse) -> str:
    return os.path.join(parts.session.cwd, str(use.input.get("file_path", "")))


def _write(parts: Parts, use: ToolUse) -> Result:
    path, content = _path(parts, use), str(use.input.get("content", ""))
    existed = os.path.exists(path)
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(content)
    except OSError as error:
        return failure(f"{error.strerror}: {path}")
    parts.known_files.add(path)
    named = str(use.input["file_path"])
    text = f"The file {named} has been updated successfully." if existed else f"File created successfully at: {named}"
    response: dict[str, Any] = {
        "type": "update" if existed else "create",
        "filePath": named,
        "content": content,
        "structuredPatch": [],
        "originalFile": None,
        "userModified": False,
    }
    count = content.count("\n") + 1
    return Result(f"{text} {UP_TO_DATE}", response, f"Wrote {count} lines to {named}")


def _read(parts: Parts, use: ToolUse) -> Result:
    path = _path(parts, use)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            content = file.read()
    except OSError as error:
        return failure(f"{error.strerror}: {path}")
    parts.known_files.add(path)
    rows = content.splitlines()
    numbered = "\n".join(f"{number}\t{row}" for number, row in enumerate(rows, 1))
    described = {
        "filePath": path,
        "content": content,
        "numLines": len(rows),
        "startLine": 1,
        "totalLines": len(rows),
    }
    return Result(numbered, {"type": "text", "file": described}, f"Read {len(rows)} lines")
