"""The one error tree. A class's docstring is its default message, `exit_code` is what the command exits with.

"Could not look" (`Unreachable`) is deliberately no relative of "is not there" (`NotFound`): a caller that
handles the second must never act on the first. The module imports nothing, so that hooks may use it.
"""

from __future__ import annotations

EXIT_OK = 0
EXIT_NO = 1  #: the answer is no, or something was refused or failed as asked
EXIT_USAGE = 2  #: wrong usage or input
EXIT_NOTHING_GRADED = 3
EXIT_NOT_FOUND = 4  #: no such thing, or ambiguous
EXIT_ENVIRONMENT = 5  #: tmux, engine, memory, limit or FLEET_HOME is missing or unusable
EXIT_UNCONFIRMED = 6  #: timed out or unconfirmed
EXIT_BUG = 70
EXIT_INTERRUPTED = 130


class FleetError(Exception):
    """Something failed as asked."""

    exit_code = EXIT_NO

    def __init__(self, message: str | None = None, *, hint: str | None = None) -> None:
        super().__init__(message or (type(self).__doc__ or "").strip().splitlines()[0])
        self.hint = hint


class UsageError(FleetError):
    """The command line or an input is wrong."""

    exit_code = EXIT_USAGE


class Refused(FleetError):
    """Fleet refuses to do this."""


class OnHold(Refused):
    """Nothing is started there right now."""


class NotFound(FleetError):
    """There is no such thing."""

    exit_code = EXIT_NOT_FOUND


class Ambiguous(NotFound):
    """More than one thing answers to that name."""


class EnvironmentMissing(FleetError):
    """The environment is missing something that fleet needs."""

    exit_code = EXIT_ENVIRONMENT


class NoRoom(EnvironmentMissing):
    """This host has no room for one more agent right now."""


class Unreachable(FleetError):
    """Fleet could not look; nothing is known and nothing was done."""

    exit_code = EXIT_ENVIRONMENT


class TimedOut(FleetError):
    """It did not happen in time."""

    exit_code = EXIT_UNCONFIRMED


class BadFile(FleetError):
    """A file of FLEET_HOME cannot be read. It was left as it is."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}", hint="the file was left as it is; move it away or mend it")
        self.path = path
        self.reason = reason


class NewerSchema(BadFile):
    """A file was written by a newer fleet. It was left as it is."""

    def __init__(self, path: str, found: object, known: int) -> None:
        super().__init__(path, f"schema_version {found} is newer than {known}, the newest this fleet knows")
        self.hint = "upgrade fleet on this host; the file was left as it is"


class IllegalTransition(FleetError):
    """A state was to follow another that it cannot follow: a bug of fleet."""

    exit_code = EXIT_BUG
