"""What git says of an agent's working tree, for its handoff document: asked beside the drain's own thread.

A tree on a slow disk takes git many seconds, and everything else in the drain would wait. So each question has its own
deadline and its own place in a small pool; the handoff looks again with every tick. What is missing is named.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from fleet.errors import EnvironmentMissing, TimedOut
from fleet.formats.whole_lines import cut
from fleet.git.runner import Git

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from concurrent.futures import Future

SECONDS = 5.0  #: for one answer; a successor waits for it
CHARACTERS = 4000  #: of one answer: the document is read into a fresh context
ASKED = 12  #: questions at once
#: The question, what it is called, and how many of its last lines say the most: a diff stat sums up.
QUESTIONS = (
    (("status", "--short", "--branch"), "git status", 0),
    (("diff", "--stat", "HEAD"), "git diff --stat", 1),
    (("log", "--oneline", "-5"), "git log", 0),
)


class GitFacts:
    """The questions that are on their way."""

    def __init__(self, environ: Mapping[str, str], seconds: float = SECONDS) -> None:
        self._environ = environ
        self._seconds = seconds
        self._pool: ThreadPoolExecutor | None = None
        self._asked: dict[str, list[Future[str]]] = {}

    def of(self, document: str, cwd: str) -> str | None:
        """
        Branch, status, diff stat and last commits of the tree at *cwd*, an indented block; empty when it is none.

        Args:
            document: for which they are asked: once, until they are fetched.

        Returns:
            None while git has not answered and is still in time.
        """
        if document not in self._asked:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(ASKED, thread_name_prefix="fleet-git")
            self._asked[document] = [self._pool.submit(self._answer, cwd, *one) for one in QUESTIONS]
        if not all(one.done() for one in self._asked[document]):
            return None
        answers = [one.result() for one in self._asked.pop(document)]
        lines = "\n\n".join(one for one in answers if one).split("\n")
        return "\n".join(f"    {line}".rstrip() for line in lines).rstrip()

    def _answer(self, cwd: str, args: tuple[str, ...], name: str, last: int) -> str:
        """What git says, or why it says nothing; empty where there is nothing to be said."""
        try:
            done = Git(cwd, self._environ).ask(*args, seconds=self._seconds)
        except EnvironmentMissing:
            return ""
        except TimedOut:
            return f"({name}: not within {self._seconds:g} s)"
        except OSError as e:
            return f"({name}: {os.strerror(e.errno or 0)})"
        text = done.out.encode("utf-8", "replace").decode().rstrip()
        if done.status != 0 or not text:
            return ""
        lines = text.split("\n")
        lines, end = lines[: len(lines) - last], lines[len(lines) - last :]
        head, left, _ = cut("\n".join(lines), CHARACTERS - sum(len(line) + 1 for line in end))
        return "\n".join([head, *([f"({left} more lines)"] if left else []), *end]).lstrip("\n")
