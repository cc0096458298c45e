"""What the drain makes of agents that stirred, beside carrying things out: holds, and who is to be told."""

from __future__ import annotations

from fleet.drain.holding import LIFTED, Holding
from fleet.drain.notifying import Notifier
from fleet.errors import FleetError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from structlog.stdlib import BoundLogger

    from fleet.app import Fleet
    from fleet.observe.facts import Sight


class Heed:
    """Gets what the sweep and the summary looked at anyway, so that it costs no look of its own."""

    def __init__(self, fleet: Fleet, log: BoundLogger) -> None:
        self._fleet = fleet
        self._log = log
        self._holding = Holding(fleet)
        self.notifier = Notifier(fleet, log)
        self._said: str | None = None

    def whole(self, sights: Sequence[Sight]) -> None:
        """Take in what was seen of every agent."""
        self._observe(sights, {s.agent.id for s in sights})

    def some(self, sights: Sequence[Sight]) -> None:
        """Take in what was seen of agents that stirred."""
        if sights:
            self._observe(sights, None)

    def _observe(self, sights: Sequence[Sight], living: Collection[str] | None) -> None:
        try:
            self.notifier.saw(sights, living)
            news = self._holding.observe(sights, living)
        except (FleetError, OSError) as e:
            if str(e) != self._said:
                self._log.warning("agents not looked after", error=str(e))
            self._said = str(e)
            return
        self._said = None
        for one in news:
            self.notifier.hold(one.hold)
            what = "hold lifted" if one.event == LIFTED else "hold begun"
            self._log.info(what, key=one.hold.key, reason=one.hold.reason, until=one.hold.until, text=one.hold.text)
