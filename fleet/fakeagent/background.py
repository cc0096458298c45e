"""
Commands that go on while the model does something else.

A turn that ends with some of them running is only paused: when one ends, the client itself starts a
turn, with a notification as the prompt.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, NamedTuple

from fleet.fakeagent.ids import new_id

if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.fakeagent.children import Child, Children, Finished
    from fleet.fakeagent.session import Session


class Task(NamedTuple):
    """One running command."""

    id: str
    tool_use_id: str
    description: str
    command: str
    output: str  #: The file its output goes to.

    def finished(self, status: int) -> str:
        """The prompt that tells of its end."""
        word = "completed" if status == 0 else "failed"
        return (
            f"<task-notification>\n<task-id>{self.id}</task-id>\n<tool-use-id>{self.tool_use_id}</tool-use-id>\n"
            f"<output-file>{self.output}</output-file>\n<status>{word}</status>\n"
            f'<summary>Background command "{self.description}" {word} (exit code {status})</summary>\n'
            "</task-notification>"
        )


class Background:
    """All of them."""

    def __init__(self, session: Session, children: Children) -> None:
        self.notify: Callable[[str], None] = lambda _: None  #: Called with the prompt when one ends.
        self._session = session
        self._children = children
        self._running: dict[str, Task] = {}

    def start(self, tool_use_id: str, tool_input: dict[str, Any]) -> Task:
        """Start a command and do not wait."""
        command = str(tool_input.get("command", ""))
        folder = os.path.join(self._session.folder, "tasks")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        task_id = new_id("b", 8)
        output = os.path.join(folder, f"{task_id}.output")
        task = Task(task_id, tool_use_id, str(tool_input.get("description") or command), command, output)
        self._running[task_id] = task
        child = self._children.start(command, env=self._session.environment())
        child.finished.then(lambda: self._ended(task, child))
        return task

    def listing(self) -> list[dict[str, str]]:
        """What a Stop hook is told."""
        return [
            {
                "id": task.id,
                "type": "shell",
                "status": "running",
                "description": task.description,
                "command": task.command,
            }
            for task in self._running.values()
        ]

    def _ended(self, task: Task, child: Child) -> None:
        finished: Finished = child.finished.value
        with open(task.output, "w", encoding="utf-8", errors="replace") as file:
            file.write(finished.stdout + finished.stderr)
        del self._running[task.id]
        self.notify(task.finished(finished.status))
