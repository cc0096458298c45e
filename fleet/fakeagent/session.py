"""
One session: its ids and where its files lie.

The transcript is `<home>/projects/<cwd, every non-alphanumeric as ->/<session id>.jsonl`; what belongs
to the session besides (tool results, outputs of background work) is in a folder of the same name
without the ending. `/clear` begins a new session in the same process.
"""

from __future__ import annotations

import os
import re
from typing import Any

from fleet.fakeagent.ids import new_uuid

VERSION = "2.1.197"


class Session:
    """What every hook and every record says about where it comes from."""

    def __init__(self, *, home: str, cwd: str, session_id: str, model: str, permission_mode: str) -> None:
        self.home = home
        self.cwd = cwd
        self.session_id = session_id
        self.model = model
        self.permission_mode = permission_mode
        self.prompt_id: str | None = None

    @property
    def project_dir(self) -> str:
        """Where the sessions of this directory are kept."""
        return project_dir(self.home, self.cwd)

    @property
    def transcript_path(self) -> str:
        """The file exists from the first prompt on."""
        return os.path.join(self.project_dir, f"{self.session_id}.jsonl")

    @property
    def folder(self) -> str:
        """Files beside the transcript."""
        return os.path.join(self.project_dir, self.session_id)

    def new_prompt(self) -> str:
        """A new prompt id; it stays until the next prompt, also through what follows the turn."""
        self.prompt_id = new_uuid()
        return self.prompt_id

    def payload(self, event: str, fields: dict[str, Any], *, with_mode: bool) -> dict[str, Any]:
        """What a hook of *event* reads on its standard input."""
        payload: dict[str, Any] = {
            "session_id": self.session_id,
            "transcript_path": self.transcript_path,
            "cwd": self.cwd,
        }
        if self.prompt_id is not None:
            payload["prompt_id"] = self.prompt_id
        if with_mode:
            payload["permission_mode"] = self.permission_mode
        return payload | {"hook_event_name": event} | fields

    def environment(self) -> dict[str, str]:
        """What hooks and tools find in their environment, besides everything the client was started with."""
        return {
            **os.environ,
            "CLAUDECODE": "1",
            "CLAUDE_CODE_CHILD_SESSION": "1",
            "CLAUDE_CODE_ENTRYPOINT": "cli",
            "CLAUDE_CODE_SESSION_ID": self.session_id,
            "CLAUDE_PROJECT_DIR": self.cwd,
        }


def project_dir(home: str, cwd: str) -> str:
    """Where the sessions of *cwd* are kept."""
    return os.path.join(home, "projects", re.sub(r"[^A-Za-z0-9]", "-", cwd))
