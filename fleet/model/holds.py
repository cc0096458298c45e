"""Holds: what keeps an account, an engine, a project or the whole fleet from starting and waking agents. Pure.

A usage limit or a lost login is a state of the account and not of the pane that shows it: seen once, it holds all
agents of that engine and credential. One failed turn counts once, whatever is still to be seen of it when the hold is
over: its mark is kept. A hold goes by its time, by a turn of the account that began after it and ended well, or by
hand. One whose file cannot be read may be on anything: it holds everything, until somebody acts.
"""

from __future__ import annotations

from fleet.formats.enums import StrEnum
from fleet.formats.states import Reason
from fleet.formats.times import rfc3339
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

MOST_MARKS = 200  #: failed turns that are remembered of one account
TEXT_CHARACTERS = 300
UNREADABLE = "unreadable"  #: the reason of a hold whose file tells nothing


class Scope(StrEnum):
    """What a hold is on."""

    ACCOUNT = "account"  #: one engine with one credential
    ENGINE = "engine"
    PROJECT = "project"
    FLEET = "fleet"


class Lift(StrEnum):
    """Why a hold is over."""

    TIME = "time"
    SUCCESS = "success"  #: a turn of that account began after it and ended well
    HAND = "hand"


class Hold(NamedTuple):
    """One hold, or what is remembered of the last one on the same thing. Times are wall seconds."""

    key: str  #: its name in file names and on the command line
    scope: Scope
    reason: str  #: limit, login, operator, or unreadable
    text: str  #: what the engine said, or the operator
    begun_at: float
    until: float | None = None  #: None: until a success or the operator
    estimated: bool = False  #: the engine named no time
    engine: str | None = None  #: of an account or an engine
    account: str | None = None  #: the fingerprint of its credential
    project: str | None = None
    agent_id: str | None = None  #: whose turn told
    marks: tuple[str, ...] = ()  #: the failed turns that have counted
    lifted_at: float | None = None
    lifted_by: Lift | None = None

    def is_on(self, now: float) -> bool:
        """Whether it holds."""
        return self.lifted_at is None and not self.is_due(now)

    def is_due(self, now: float) -> bool:
        """Whether its time is over."""
        return self.until is not None and now >= self.until

    def covers(self, engine: str, account: str | None, project: str) -> bool:
        """Whether it holds what works with that engine and credential on that project."""
        match self.scope:
            case Scope.ACCOUNT:
                return (self.engine, self.account) == (engine, account)
            case Scope.ENGINE:
                return self.engine == engine
            case Scope.PROJECT:
                return self.project == project
            case Scope.FLEET:
                return True


class Failure(NamedTuple):
    """A turn that ended for want of quota or of a login."""

    agent_id: str
    engine: str
    account: str
    reason: Reason  #: LIMIT or LOGIN
    text: str  #: what the engine said
    at: float  #: wall seconds
    mark: str  #: of that turn: the same however often and wherever it is seen
    until: float | None = None  #: when the engine said that it goes on


def unreadable(key: str, text: str, begun_at: float) -> Hold:
    """What stands for a file that cannot be read. *text* names the file and why."""
    return Hold(key, Scope.FLEET, UNREADABLE, text, begun_at)


def account_key(engine: str, account: str) -> str:
    """The key of the hold on an account."""
    return f"{engine}-{account}"


def mark_of(agent_id: str, events: Iterable[Mapping[str, Any]]) -> str:
    """The mark of an agent's latest turn, from its events, newest first."""
    listed = list(events)
    prompts = (e for e in listed if e.get("event") == "UserPromptSubmit")
    began = next(prompts, None) or next((e for e in listed if e.get("event") == "StopFailure"), {})
    return f"{agent_id}@{began.get('ts') or ''}"


def noticed(hold: Hold | None, failure: Failure, *, now: float, estimate_seconds: float) -> Hold | None:
    """
    The hold on the failure's account once that has been seen; *hold* itself when it says nothing new.

    Args:
        estimate_seconds: how long after the failure a limit is taken to last whose end the engine does not name.
    """
    if hold is not None and hold.reason == UNREADABLE:
        return hold  # it holds already, and what its file has may be a newer fleet's
    known = hold is not None and failure.mark in hold.marks
    active = hold is not None and hold.is_on(now)
    if hold is not None and known:
        late = active and hold.estimated and failure.until is not None and failure.until > now
        return hold._replace(until=failure.until, estimated=False, text=_short(failure.text)) if late else hold
    estimated = failure.until is None and failure.reason == Reason.LIMIT
    until = failure.at + estimate_seconds if estimated else failure.until
    if until is not None and until <= now:
        return hold  # it was over before it was seen
    marks = (*(hold.marks if hold is not None else ()), failure.mark)[-MOST_MARKS:]
    if hold is not None and active:
        told = not hold.estimated and hold.until is not None
        if estimated and told:  # the one knew the time, the other does not
            until, estimated = hold.until, False
        return hold._replace(marks=marks, begun_at=max(hold.begun_at, failure.at), until=until, estimated=estimated)
    return Hold(
        key=account_key(failure.engine, failure.account), scope=Scope.ACCOUNT, reason=str(failure.reason),
        text=_short(failure.text), begun_at=failure.at, until=until, estimated=estimated, engine=failure.engine,
        account=failure.account, agent_id=failure.agent_id, marks=marks,
    )  # fmt: skip


def succeeded(hold: Hold, began_at: float | None, ended_at: float | None) -> bool:
    """Whether a turn of the account, with these wall seconds, shows that it works again."""
    if hold.scope != Scope.ACCOUNT or began_at is None or ended_at is None:
        return False
    return hold.begun_at < began_at <= ended_at


def first_of(holds: Iterable[Hold], engine: str, account: str | None, project: str, now: float) -> Hold | None:
    """The hold that lasts longest of those that are on."""
    found = [h for h in holds if h.is_on(now) and h.covers(engine, account, project)]
    return max(found, key=lambda h: float("inf") if h.until is None else h.until, default=None)


def described(hold: Hold) -> str:
    """In words: what it is on, why, and until when."""
    on = {
        Scope.ACCOUNT: f"the account {hold.key}", Scope.ENGINE: f"engine {hold.engine}",
        Scope.PROJECT: f"project {hold.project}", Scope.FLEET: "the whole fleet",
    }[hold.scope]  # fmt: skip
    end = "" if hold.until is None else f" until {rfc3339(hold.until)}"
    guess = ", a guess" if hold.estimated and end else ""
    cure = f"; `fleet hold clear {hold.key}` moves it aside" if hold.reason == UNREADABLE else ""
    said = f": {hold.text}" if hold.text else ""
    return f"{on} is on hold{end} ({hold.reason}{guess}){said}{cure}"


def _short(text: str) -> str:
    return " ".join(text.split())[:TEXT_CHARACTERS]
