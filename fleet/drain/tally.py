"""What a run of the drain did."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Tally:
    """What a run of the loop did."""

    handoffs: int = 0
    stops: int = 0
    started: int = 0  #: dispatches that waited
    dead: int = 0
    mended: int = 0
    paused: set[str] = field(default_factory=set)  #: handoffs that wait for a retry

    def report(self) -> dict[str, int]:
        """As JSON, for `fleet drain --once --json`."""
        return {
            "handoffs": self.handoffs,
            "stopped": self.stops,
            "started": self.started,
            "dead_letters": self.dead,
            "mended": self.mended,
            "waiting_for_retry": len(self.paused),
        }
