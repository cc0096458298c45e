"""The operator's own holds: set on an engine, a project or the whole fleet, and lifted by hand like any other."""

from __future__ import annotations

from fleet.drain.delivery import Deliveries
from fleet.drain.handoffs import Handoffs
from fleet.drain.holding import LIFTED, lift
from fleet.errors import Ambiguous, NotFound, UsageError
from fleet.formats import start_entry
from fleet.model.holds import UNREADABLE, Hold, Lift, Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.app import Fleet

OPERATOR = "operator"


def set_hold(
    fleet: Fleet, *, engine: str | None, project: str | None, until: float | None, text: str
) -> tuple[Hold, Hold | None]:
    """
    Begin a hold on an engine or a project, on the whole fleet without either, or change the one that is there.

    Returns it, and the one in its place that could not be read, lifted.

    Args:
        engine: its canonical name.
        until: wall seconds; None: until it is lifted.

    Raises:
        UsageError: its end is over already.
    """
    now = fleet.clock.wall()
    if until is not None and until <= now:
        raise UsageError("the end of the hold is not in the future")
    scope = Scope.ENGINE if engine else Scope.PROJECT if project else Scope.FLEET
    key = "-".join(filter(None, (OPERATOR, str(scope), engine or project)))
    with fleet.holds.lock():
        before, aside = fleet.holds.get(key), None
        if before is not None and before.reason == UNREADABLE:
            aside = lift(fleet, before, Lift.HAND)
            before = None
        begun = before.begun_at if before is not None and before.is_on(now) else now
        hold = Hold(key, scope, OPERATOR, text, begun, until, engine=engine, project=project)
        fleet.holds.put(hold)
    return hold, aside


def anything_waits(fleet: Fleet) -> bool:
    """Whether something is there that a hold may have kept back."""
    layout = fleet.layout
    return bool(start_entry.ids(layout.queue) or Handoffs(fleet).waiting() or Deliveries(fleet).waiting())


def clear(fleet: Fleet, key: str | None) -> list[Hold]:
    """
    Lift one hold by its key or a unique beginning of it, or all with None; those that were on.

    Raises:
        NotFound: none with that key is on.
        Ambiguous: several begin so.
    """
    now = fleet.clock.wall()
    with fleet.holds.lock():
        on = [hold for hold in fleet.holds.all().holds if hold.is_on(now)]
        chosen = on if key is None else [h for h in on if h.key == key] or [h for h in on if h.key.startswith(key)]
        known = ", ".join(hold.key for hold in on) or "none is on"
        if key is not None and not chosen:
            raise NotFound(f"no hold {key!r} is on", hint=known)
        if key is not None and len(chosen) > 1:
            raise Ambiguous(f"several holds begin with {key!r}", hint=known)
        lifted = [lift(fleet, hold, Lift.HAND) for hold in chosen]
    for hold in lifted:
        if hold.agent_id is not None:
            fleet.journal.tell(hold.agent_id, LIFTED, source="cli", key=hold.key, by=Lift.HAND)
    return lifted
