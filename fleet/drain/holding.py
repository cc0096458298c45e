"""What the drain and commands make of turns that failed for a limit or a login: holds begun, prolonged and lifted."""

from __future__ import annotations

from fleet.formats.states import Reason, Turn
from fleet.formats.times import parse
from fleet.formats.tuples import NamedTuple
from fleet.model.holds import UNREADABLE, Failure, Hold, Lift, Scope, account_key, mark_of, noticed, succeeded
from fleet.model.judge import judge

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from fleet.app import Fleet
    from fleet.observe.facts import Sight

BEGAN, LIFTED = "HoldBegan", "HoldLifted"
_LOST = frozenset({Reason.LIMIT, Reason.LOGIN})
#: A dialog that asks for a login and tells of no lost one.
_MERE_QUESTIONS = frozenset({"claude-code/api-key"})


class News(NamedTuple):
    """What happened to a hold."""

    event: str  #: HoldBegan or HoldLifted
    hold: Hold


def failure_of(sight: Sight) -> Failure | None:
    """The turn of that agent which ended for a limit or a login, while that is its state."""
    state = judge(sight.facts._replace(queued=False, dead_letter=False, hold=""))
    reason, screen, events = state.reason, sight.facts.screen, sight.facts.events
    if sight.account is None or state.turn != Turn.WAITING or reason not in _LOST or state.rule in _MERE_QUESTIONS:
        return None
    said = next((e for e in events if e.get("event") == "StopFailure"), None) if state.source == "hook" else None
    texts = [str((said or {}).get("tail") or "")]
    if screen is not None and screen.reason == reason:
        texts += [screen.detail, screen.evidence]
    at = parse(state.since)
    if state.source == "screen" and screen is not None:
        at = screen.since
    if at is None:
        return None
    from fleet.model.reset_times import reset_time  # noqa: PLC0415  # its patterns are paid for only where one failed

    until = next(filter(None, (reset_time(text, at) for text in texts)), None) if reason == Reason.LIMIT else None
    return Failure(
        agent_id=sight.agent.id, engine=sight.agent.engine, account=sight.account, reason=reason,
        text=next((text for text in texts if text.strip()), state.evidence), at=at,
        mark=mark_of(sight.agent.id, events), until=until,
    )  # fmt: skip


def last_turn(sight: Sight) -> tuple[float | None, float | None]:
    """When the agent's last turn that ended well began and ended."""
    ended = None
    for event in sight.facts.events:
        if event.get("event") == "Stop" and ended is None:
            ended = parse(event.get("ts"))
        elif event.get("event") == "UserPromptSubmit" and ended is not None:
            return parse(event.get("ts")), ended
    return None, ended


class Holding:
    """Keeps the holds true to what was seen."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet

    def observe(self, sights: Iterable[Sight], living: Collection[str] | None = None) -> list[News]:
        """
        Take in what was seen of some agents, and lift what is due.

        Args:
            living: the ids of all agents, to forget what is remembered of others only; None: not now.
        """
        fleet = self._fleet
        store, now = fleet.holds, fleet.clock.wall()
        seen = list(sights)
        failures = {s.agent.id: failure for s in seen if (failure := failure_of(s)) is not None}
        known = store.all().holds
        if not failures and not known:
            return []
        news: list[News] = []
        with store.lock():
            for failure in failures.values():
                news += self._failed(failure, now)
            for hold in store.all().holds:
                news += self._looked_after(hold, [s for s in seen if s.agent.id not in failures], now, living)
        for one in news:
            about = one.hold
            if about.agent_id is not None:
                fleet.journal.tell(
                    about.agent_id, one.event, key=about.key, why=about.reason, text=about.text, until=about.until,
                    by=about.lifted_by,
                )  # fmt: skip
        return news

    def _failed(self, failure: Failure, now: float) -> list[News]:
        minutes = self._fleet.settings.number("holds.limit_minutes")
        if not self._fleet.settings["holds.enabled"] or (failure.until is None and not minutes
                                                         and failure.reason == Reason.LIMIT):  # fmt: skip
            return []
        before = self._fleet.holds.get(account_key(failure.engine, failure.account))
        after = noticed(before, failure, now=now, estimate_seconds=minutes * 60)
        if after is None or after is before:
            return []
        self._fleet.holds.put(after)
        is_new = before is None or not before.is_on(now)
        return [News(BEGAN, after)] if is_new else []

    def _looked_after(
        self, hold: Hold, well: list[Sight], now: float, living: Collection[str] | None
    ) -> list[News]:  # fmt: skip
        store = self._fleet.holds
        if hold.lifted_at is not None:
            if living is not None and not any(mark.partition("@")[0] in living for mark in hold.marks):
                store.forget(hold.key)
            return []
        by = None
        if hold.is_due(now):
            by = Lift.TIME
        elif any(
            (s.agent.engine, s.account) == (hold.engine, hold.account) and succeeded(hold, *last_turn(s)) for s in well
        ):
            by = Lift.SUCCESS
        return [] if by is None else [News(LIFTED, lift(self._fleet, hold, by))]


def lift(fleet: Fleet, hold: Hold, by: Lift) -> Hold:
    """End a hold; what is remembered of an account's keeps the same failures from counting again."""
    now = fleet.clock.wall()
    lifted = hold._replace(lifted_at=now, lifted_by=by)
    if hold.reason == UNREADABLE:
        return lifted._replace(text=f"it could not be read, and is kept as {fleet.holds.set_aside(hold.key, now)}")
    if hold.scope == Scope.ACCOUNT:
        fleet.holds.put(lifted)
    else:
        fleet.holds.forget(hold.key)
    return lifted


def refresh(fleet: Fleet) -> list[News]:
    """Take in what hooks have reported while no drain ran."""
    told = {str(reason) for reason in _LOST}
    failed = [a for a in fleet.agents.living().agents if a.blocked_reason in told]
    look = fleet.looker()
    return Holding(fleet).observe([look.see(agent) for agent in failed])
