"""The engines: which are installed, in which version, and whether fleet has been measured with it."""

from __future__ import annotations

import shutil

from fleet.doctor.findings import Finding, Grade, problem
from fleet.engines.versions import numbers, version
from fleet.errors import FleetError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.app import Fleet
    from fleet.observe.facts import Looker

#: What fleet's knowledge of each engine was measured with.
MEASURED = {"claude-code": (2, 1), "codex": (0, 171), "gemini": (0, 61), "opencode": (1, 18)}
#: Their absence is worth a word.
EXPECTED = frozenset({"claude-code", "codex"})


def engines(fleet: Fleet, look: Looker) -> Iterator[Finding]:  # noqa: ARG001  # all checks have one shape
    """Each engine that is a program of its own."""
    found = 0
    for name, measured in MEASURED.items():
        try:
            binary = str(fleet.settings.engine(name)["binary"])
        except FleetError:
            return
        path = shutil.which(binary, path=fleet.environ.get("PATH"))
        if path is None and name not in EXPECTED:
            continue
        if path is None:
            yield Finding("engines", Grade.NOTE, f"{name}: {binary} is not installed")
            continue
        found += 1
        told = version(path, fleet.environ)
        if told is None:
            yield problem(
                "engines",
                f"{name}: {path} --version says nothing of use",
                "it may not start at all",
                f"{binary} --version",
            )
        elif numbers(told)[:1] != measured[:1] or numbers(told) < measured:
            words = f"{name} {told} in {path}; fleet was measured with {measured[0]}.{measured[1]}"
            yield Finding("engines", Grade.NOTE, words)
        else:
            yield Finding("engines", Grade.OK, f"{name} {told} in {path}")
    if not found:
        yield problem(
            "engines",
            "neither claude nor codex is installed",
            "there is nobody to work",
            "npm install -g @anthropic-ai/claude-code, or npm install -g @openai/codex",
        )
