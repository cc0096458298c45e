"""
The conversation on disk: one JSON object a line, appended, each with the uuid of the one before it.

The chain of `parentUuid` is what a reader follows; bookkeeping records (mode, title, queue, snapshots)
stand outside it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from fleet.fakeagent import records
from fleet.fakeagent.ids import new_uuid, now
from fleet.fakeagent.session import VERSION, Session

if TYPE_CHECKING:
    from fleet.fakeagent.appending import Appender


class Transcript:
    """The file of the current session."""

    def __init__(self, session: Session, file: Appender) -> None:
        self._session = session
        self._file = file
        self._begun = False
        self._parent: str | None = None
        self._waiting: list[dict[str, Any]] = []
        self.count = 0  #: Records on the chain.
        self.title: str | None = None
        self.last_prompt: str | None = None
        self.slug: str | None = None  #: Carried by every record once the session was compacted.

    def resume(self) -> list[dict[str, Any]]:
        """Read what is there and go on behind it; the records."""
        with open(self._session.transcript_path, encoding="utf-8") as file:
            records = [json.loads(line) for line in file if line.endswith("\n")]
        chained = [record["uuid"] for record in records if "uuid" in record]
        self._parent, self.count = (chained[-1] if chained else None), len(chained)
        self._file.open(self._session.transcript_path)
        self._begun = True
        return records

    @property
    def parent(self) -> str | None:
        """What the next record hangs on."""
        return self._parent

    def entry(self, body: dict[str, Any], *, parent: str | None = "", uuid: str | None = None) -> str:
        """Append a record to the chain and return its uuid; *parent* replaces the one it would hang on."""
        uuid = uuid or new_uuid()
        self._begin()
        record = {
            "parentUuid": self._parent if parent == "" else parent,
            "isSidechain": False,
            **body,
            "uuid": uuid,
            "timestamp": now(),
            "userType": "external",
            "entrypoint": "cli",
            "cwd": self._session.cwd,
            "sessionId": self._session.session_id,
            "version": VERSION,
            "gitBranch": "HEAD",
        }
        if self.slug is not None:
            record["slug"] = self.slug
        self._file.add(record)
        self._parent = uuid
        self.count += 1
        return uuid

    def later(self, body: dict[str, Any]) -> None:
        """A record that waits for the first prompt, because there is no file before it."""
        if self._begun:
            self.entry(body)
        else:
            self._waiting.append(body)

    def note(self, body: dict[str, Any]) -> None:
        """Append a record outside the chain."""
        self._begin()
        self._file.add(body | {"sessionId": self._session.session_id})

    def snapshot(self, message_id: str) -> None:
        """Append the record of the files before a prompt; it alone does not name the session."""
        self._begin()
        self._file.add(records.snapshot(message_id))

    def queue_operation(self, operation: str, content: str | None = None) -> None:
        """A prompt that was typed during a turn is queued, taken from the queue, or absorbed by the turn."""
        said = {} if content is None else {"content": content}
        self.note({"type": "queue-operation", "operation": operation, "timestamp": now()} | said)

    def close(self) -> None:
        """End the file as the client does, with what a list of sessions shows."""
        if not self._begun:
            return
        if self.last_prompt is not None and self._parent is not None:
            shown = " ".join(self.last_prompt.split())
            self.note({"type": "last-prompt", "lastPrompt": shown, "leafUuid": self._parent})
        if self.title is not None:
            self.note({"type": "ai-title", "aiTitle": self.title})
        self._modes()
        self._file.close()
        self._begun = False

    def renew(self) -> None:
        """End the file; the next record begins the one of the session that comes."""
        self.close()
        self._parent, self.count, self._waiting = None, 0, []
        self.title = self.last_prompt = self.slug = None

    def _begin(self) -> None:
        if self._begun:
            return
        self._begun = True
        self._file.open(self._session.transcript_path)
        self._modes()
        waiting, self._waiting = self._waiting, []
        for body in waiting:
            self.entry(body)

    def _modes(self) -> None:
        session_id = self._session.session_id
        self._file.add({"type": "mode", "mode": "normal", "sessionId": session_id})
        mode = self._session.permission_mode
        self._file.add({"type": "permission-mode", "permissionMode": mode, "sessionId": session_id})
