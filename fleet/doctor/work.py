"""What waits and what was given up, and whether there is a drain to carry it out."""

from __future__ import annotations

import os

from fleet.doctor.findings import Finding, Grade, Mend, problem
from fleet.drain.attempts import Attempts
from fleet.drain.carry import start_background
from fleet.drain.lock import DrainLock
from fleet.errors import BadFile
from fleet.formats import queue_entry, start_entry
from fleet.model.holds import UNREADABLE
from fleet.process.table import read_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.app import Fleet
    from fleet.observe.facts import Looker


def holds(fleet: Fleet, look: Looker) -> Iterator[Finding]:  # noqa: ARG001  # all checks have one shape
    """Holds that cannot be read."""
    for hold in fleet.holds.all().holds:
        if hold.reason == UNREADABLE:
            why = "what it is on is not known: nothing is started or woken, and the watchdog does nothing"
            yield problem("holds", hold.text, why, f"mend the file, or: fleet hold clear {hold.key}")


def queue(fleet: Fleet, look: Looker) -> Iterator[Finding]:  # noqa: ARG001  # all checks have one shape
    """Dead letters, and entries that cannot be read."""
    waiting = 0
    for folder, dead in ((fleet.layout.queue, False), (fleet.layout.dead, True)):
        names = sorted(os.listdir(folder)) if os.path.isdir(folder) else []
        for name in names:
            one = queue_entry.id_of_name(name) or start_entry.id_of_name(name)
            if one is None:
                continue
            path = os.path.join(folder, name)
            try:
                (queue_entry if queue_entry.id_of_name(name) else start_entry).read(path)
            except FileNotFoundError:
                continue
            except BadFile as e:
                yield problem("queue", str(e), "it is not carried out", f"look at it, then move it away: {path}")
                continue
            if not dead:
                waiting += 1
                continue
            why = Attempts(fleet.layout, one, fleet.clock).last_error or "its attempts are used up"
            yield problem(
                "queue",
                f"{name.removesuffix('.json')} was given up: {why}",
                "its task waits for you",
                f"fleet queue retry {one}, or fleet queue drop {one}",
            )
    yield Finding("queue", Grade.OK, f"{waiting} things wait")
    yield from _drain(fleet, waiting)


def _drain(fleet: Fleet, waiting: int) -> Iterator[Finding]:
    """A lock that is held by somebody who is not the one who said so, or by nobody while things wait."""
    if not os.path.isdir(fleet.layout.run):
        return
    lock = DrainLock(fleet.layout, fleet.clock)
    holder = lock.holder()
    if holder is not None:
        process = read_process(int(holder.get("pid", 0)))
        words = f"the drain runs as process {holder.get('pid')} since {holder.get('since')}"
        if process is None or process.start != holder.get("pid_start"):
            yield problem(
                "drain",
                f"the drain lock is held, and process {holder.get('pid')} is not the one",
                "nothing is carried out while somebody else holds it",
                f"fuser -v {fleet.layout.drain_lock}",
            )
        else:
            yield Finding("drain", Grade.OK, words)
    elif lock.is_held():
        yield Finding("drain", Grade.UNKNOWN, "the drain lock is held by a process that has not said who it is")
    elif waiting:
        yield problem(
            "drain",
            f"{waiting} things wait and no drain runs",
            "nothing is carried out",
            "fleet drain --detach, or fleet service install",
            Mend("start a drain that ends when nothing waits", lambda: start_background(fleet)),
        )
    else:
        yield Finding("drain", Grade.NOTE, "no drain runs, and nothing waits")
