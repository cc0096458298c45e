"""
Which tools may be used without a question.

`bypassPermissions` asks nothing. `default` asks for every write and for every command that is not known
to be harmless; `acceptEdits` lets writes below the working directory pass, and the commands that only
arrange files there. Allow rules open more: `Bash(git:*)`, `Write(//ABSOLUTE/**)`,
`Edit(//ABSOLUTE/**)`, `Read(//ABSOLUTE/**)`; two slashes begin an absolute path, and a redirection of
the shell counts as an edit. A harmless or allowed command that names a path outside the working
directory still asks (all as seen on Claude Code 2.1.197).
"""

from __future__ import annotations

import os
import re
from typing import Any

HARMLESS = frozenset(
    [
        "basename",
        "cat",
        "cd",
        "date",
        "df",
        "dirname",
        "du",
        "echo",
        "env",
        "false",
        "file",
        "grep",
        "head",
        "hostname",
        "id",
        "ls",
        "nl",
        "printf",
        "pwd",
        "readlink",
        "rev",
        "seq",
        "sleep",
        "sort",
        "stat",
        "tail",
        "test",
        "tr",
        "true",
        "type",
        "uname",
        "uniq",
        "wc",
        "whoami",
        "which",
    ]
)
HARMLESS_PREFIXES = ("git status", "git log", "git diff", "git show", "git branch")
ARRANGING = frozenset(["mkdir", "touch", "rm", "rmdir", "mv", "cp", "sed"])
SEPARATORS = re.compile(r"&&|\|\||[;|\n]")
REDIRECTION = re.compile(r"(?:\d|&)?>>?\s*([^\s;&|]+)")
RULE = re.compile(r"(\w+)(?:\((.*)\))?", re.DOTALL)


class Permissions:
    """The rules of one session, and what was allowed during it."""

    def __init__(self, allow: list[str], cwd: str) -> None:
        self._cwd = cwd
        self._folders = [cwd]
        self._any: set[str] = set()
        self._prefixes: list[str] = []
        self._exact: list[str] = []
        self._globs: list[tuple[str, re.Pattern[str]]] = []
        for rule in allow:
            self._learn(rule)

    def allow_folder(self, folder: str) -> None:
        """Paths below *folder* are treated like those below the working directory."""
        self._folders.append(folder)

    def allows(self, tool: str, tool_input: dict[str, Any], mode: str) -> bool:
        """Whether the tool may be used without asking."""
        if mode == "bypassPermissions" or tool in self._any:
            return True
        if tool == "Bash":
            return self._allows_command(str(tool_input.get("command", "")), mode)
        path = self._absolute(str(tool_input.get("file_path", "")))
        if tool == "Read":
            return self._inside(path) or self._matches(("Read",), path)
        if tool in ("Write", "Edit"):
            return (mode == "acceptEdits" and self._inside(path)) or self._matches(("Write", "Edit"), path)
        return True

    def _learn(self, rule: str) -> None:
        found = RULE.fullmatch(rule.strip())
        if found is None:
            return
        tool, pattern = found[1], found[2]
        if not pattern:
            self._any.add(tool)
        elif tool == "Bash" and pattern.endswith(":*"):
            self._prefixes.append(pattern[:-2])
        elif tool == "Bash":
            self._exact.append(pattern)
        else:
            self._globs.append((tool, _glob(self._rooted(pattern))))

    def _rooted(self, pattern: str) -> str:
        if pattern.startswith("~/"):
            return os.path.expanduser(pattern)
        # One slash is the working directory; of two, the second one is left and makes the path absolute.
        return os.path.join(self._cwd, pattern.removeprefix("./").removeprefix("/"))

    def _allows_command(self, command: str, mode: str) -> bool:
        if command in self._exact:
            return True
        targets = [target for target in REDIRECTION.findall(command) if target not in ("/dev/null", "1", "2")]
        for target in targets:
            path = self._absolute(target.strip("\"'"))
            if not self._matches(("Write", "Edit"), path) and not (mode == "acceptEdits" and self._inside(path)):
                return False
        parts = [part.strip() for part in SEPARATORS.split(REDIRECTION.sub("", command))]
        return all(self._allows_part(part, mode) for part in parts if part)

    def _allows_part(self, part: str, mode: str) -> bool:
        words = part.split()
        known = (
            words[0] in HARMLESS
            or part.startswith(HARMLESS_PREFIXES)
            or (mode == "acceptEdits" and words[0] in ARRANGING)
            or any(part == prefix or part.startswith(f"{prefix} ") for prefix in self._prefixes)
        )
        outside = [word for word in words[1:] if word.startswith("/") and not self._inside(os.path.normpath(word))]
        return known and not outside

    def _absolute(self, path: str) -> str:
        return os.path.normpath(os.path.join(self._cwd, path))

    def _inside(self, path: str) -> bool:
        return any(path == folder or path.startswith(folder.rstrip("/") + "/") for folder in self._folders)

    def _matches(self, tools: tuple[str, ...], path: str) -> bool:
        return any(tool in tools and pattern.fullmatch(path) for tool, pattern in self._globs)


def _glob(pattern: str) -> re.Pattern[str]:
    """`**` is anything, `*` is anything within one name."""
    parts = re.split(r"(\*\*|\*|\?)", pattern)
    wild = {"**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile("".join(wild.get(part, re.escape(part)) for part in parts), re.DOTALL)
