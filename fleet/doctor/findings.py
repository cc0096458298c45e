"""What a check found."""

from __future__ import annotations

from fleet.formats.enums import StrEnum
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class Grade(StrEnum):
    """How a finding is meant."""

    OK = "ok"  #: as it should be
    NOTE = "note"  #: worth knowing, nothing to do
    UNKNOWN = "unknown"  #: it could not be looked at
    PROBLEM = "problem"  #: something is wrong


class Mend(NamedTuple):
    """What fleet itself can do about a problem. Safe to repeat."""

    words: str
    do: Callable[[], object]


class Finding(NamedTuple):
    """One thing that was looked at."""

    check: str
    grade: Grade
    what: str
    why: str = ""  #: why it matters, of a problem
    cure: str = ""  #: the command that mends it, of a problem
    mend: Mend | None = None  #: what `fleet doctor --fix` does

    def as_data(self) -> dict[str, Any]:
        """As JSON has it."""
        return {**self._asdict(), "grade": str(self.grade), "mend": self.mend.words if self.mend else None}


def problem(check: str, what: str, why: str, cure: str, mend: Mend | None = None) -> Finding:
    """Something is wrong."""
    return Finding(check, Grade.PROBLEM, what, why, cure, mend)
