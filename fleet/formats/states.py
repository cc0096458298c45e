"""The words for what fleet judges, as enums: one sentence a member."""

from __future__ import annotations

from fleet.formats.enums import StrEnum


class Turn(StrEnum):
    """What an agent is doing."""

    STARTING = "starting"  #: held at the gate, or the engine has not reported yet
    WORKING = "working"  #: a turn is running
    WAITING = "waiting"  #: nothing goes on until the operator acts; always has a reason
    IDLE = "idle"  #: the turn is over; a message would start the next one
    COMPACTING = "compacting"  #: the engine is summarising its own context
    EXITED = "exited"  #: the engine ended; its pane keeps the last screen and the exit status
    GONE = "gone"  #: neither the engine nor its session is left
    UNKNOWN = "unknown"  #: could not look, or only a screen could tell


class Reason(StrEnum):
    """Why an agent waits or idles."""

    QUESTION = "question"  #: it asked something
    PERMISSION = "permission"  #: a tool wants to be allowed
    TRUST = "trust"  #: the engine asks whether the folder is trusted
    LOGIN = "login"  #: the engine is not logged in
    LIMIT = "limit"  #: a usage limit is reached
    DIALOG = "dialog"  #: some other dialog is open
    HANDOFF = "handoff"  #: its successor is being started
    DRAFT = "draft"  #: a person's half-typed text is in the composer
    DEAD_LETTER = "dead-letter"  #: its handoff failed as often as allowed
    HOLD = "hold"  #: nothing may be started for its credential, engine, project or fleet
    INTERRUPTED = "interrupted"  #: somebody pressed Esc


class Confidence(StrEnum):
    """How well a judgement of an agent stands."""

    SURE = "sure"  #: two sources agree, or one that cannot be wrong: the pane, the process table, a turn's own end
    LIKELY = "likely"  #: one source says so and none contradicts
    GUESS = "guess"  #: sources contradict each other


class Existence(StrEnum):
    """The answer to "is it there?", which has three values."""

    ALIVE = "alive"
    GONE = "gone"
    UNKNOWN = "unknown"


class HandoffType(StrEnum):
    """What started a handoff."""

    MANUAL = "manual"
    YELLOW = "auto-yellow"
    RED = "auto-red"
    PRECOMPACT = "precompact"


COMMITTED_HANDOFFS = frozenset({HandoffType.RED, HandoffType.PRECOMPACT})


class Mode(StrEnum):
    """What kind of work a task is; only `execute` hands itself off."""

    EXECUTE = "execute"
    PLAN = "plan"
    FIX = "fix"
    REVIEW = "review"


class Origin(StrEnum):
    """How an agent came to be."""

    DISPATCH = "dispatch"
    HANDOFF = "handoff"
    RESPAWN = "respawn"
    RECOVER = "recover"


class MessageState(StrEnum):
    """Where a message is on its way."""

    NEW = "new"  #: spooled
    OFFERED = "offered"  #: handed to the engine; whether the model saw it is not known yet
    DELIVERED = "delivered"  #: the model answered to the very prompt that carried it
    UNCONFIRMED = "unconfirmed"  #: it cannot be decided whether the model saw it; never sent again by itself
    RETURNED = "returned"  #: nobody got it: its agent ended and has no successor, or its program cannot take it


MESSAGE_MOVES = {
    MessageState.NEW: frozenset(
        {MessageState.OFFERED, MessageState.DELIVERED, MessageState.UNCONFIRMED, MessageState.RETURNED}
    ),
    MessageState.OFFERED: frozenset({MessageState.NEW, MessageState.DELIVERED, MessageState.UNCONFIRMED}),
    MessageState.DELIVERED: frozenset(),
    MessageState.UNCONFIRMED: frozenset({MessageState.DELIVERED}),
    MessageState.RETURNED: frozenset(),
}
