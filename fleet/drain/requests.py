"""Asking a running drain for a pass: `queue/pass-<nonce>.request`, answered by `queue/pass-<nonce>.done`."""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats.atomic import create_file, encode, read_object, remove_file, write_file
from fleet.formats.ids import is_id, new_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.drain.tally import Tally
    from fleet.formats.layout import Layout

PREFIX, REQUEST, DONE = "pass-", ".request", ".done"


class Requests:
    """The asking and the answering side."""

    def __init__(self, layout: Layout) -> None:
        self._folder = layout.queue

    def _path(self, nonce: str, suffix: str) -> str:
        return os.path.join(self._folder, PREFIX + nonce + suffix)

    def ask(self) -> str:
        """Put a request down; its nonce."""
        nonce = new_id()
        create_file(self._path(nonce, REQUEST), b"")
        return nonce

    def open(self) -> list[str]:
        """The requests that wait for an answer."""
        try:
            names = os.listdir(self._folder)
        except FileNotFoundError:
            return []
        found = (n.removeprefix(PREFIX).removesuffix(REQUEST) for n in names if n.startswith(PREFIX))
        return [nonce for nonce in found if is_id(nonce) and os.path.exists(self._path(nonce, REQUEST))]

    def answer(self, nonces: list[str], tally: Tally) -> None:
        """Say what was done, then take the requests away."""
        for nonce in nonces:
            write_file(self._path(nonce, DONE), encode(tally.report()), sync=False)
            remove_file(self._path(nonce, REQUEST))

    def read_answer(self, nonce: str) -> dict[str, Any] | None:
        """Take the answer, if it is there."""
        try:
            data = read_object(self._path(nonce, DONE))
        except (FileNotFoundError, BadFile):
            return None
        remove_file(self._path(nonce, DONE))
        return data

    def withdraw(self, nonce: str) -> None:
        """Take a request back."""
        remove_file(self._path(nonce, REQUEST))
