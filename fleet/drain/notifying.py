"""Telling the operator: which of what was seen is told, and to which channels.

    run/notified.json    {"schema_version", "agents": {"<id>": "waiting/permission"}}    what is told of each agent now

So a drain that ends and comes again does not tell the same twice.
"""

from __future__ import annotations

import datetime as dt
import os
import threading

from fleet.drain import channels
from fleet.errors import BadFile
from fleet.formats import queue_entry
from fleet.formats.atomic import encode, read_object, write_file
from fleet.formats.redaction import Redactor
from fleet.formats.times import rfc3339
from fleet.model.holds import Lift, described
from fleet.model.notices import Kind, Notice, hours, is_quiet, notice, passes, told_as

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping
    from typing import Any

    from structlog.stdlib import BoundLogger

    from fleet.app import Fleet
    from fleet.formats.layout import Layout
    from fleet.model.holds import Hold
    from fleet.observe.facts import Sight
    from fleet.tmux.client import Tmux

SCHEMA_VERSION = 1
_ACTIONS = frozenset({"resume", "respawn", "orphan"})


def path(layout: Layout) -> str:
    """Where it is remembered what is told."""
    return os.path.join(layout.run, "notified.json")


class Notifier:
    """Tells. Costs one look at the settings while every channel is off."""

    def __init__(self, fleet: Fleet, log: BoundLogger) -> None:
        self._fleet = fleet
        self._log = log
        self._told: dict[str, str] | None = None
        self._last: dict[tuple[Kind, str], float] = {}
        self._channels: dict[str, channels.Channel] = {}
        self._made_for: tuple[object, ...] = ()
        self._lock = threading.Lock()  #: the watchdog tells from its own thread
        self._complained: set[tuple[str, str]] = set()

    def saw(self, sights: Iterable[Sight], living: Collection[str] | None = None) -> None:
        """Tell what is new about agents. *living*: the ids of all, when all were looked at."""
        if not self._is_on():
            return
        told = self._remembered()
        before = dict(told)
        for sight in sights:
            name = self._name(sight)
            agent = sight.agent
            if name and told.get(agent.id) != name:
                screen = sight.facts.screen
                question = screen.question if screen is not None and screen.reason == sight.state.reason else ""
                self.tell(notice(name, agent.id, agent.task_id, sight.state, question, agent.socket))
            if name:
                told[agent.id] = name
            else:
                told.pop(agent.id, None)
        if living is not None:
            self._told = told = {agent_id: name for agent_id, name in told.items() if agent_id in living}
        if told != before:
            data = encode({"schema_version": SCHEMA_VERSION, "agents": told})
            try:
                write_file(path(self._fleet.layout), data, sync=False)
            except OSError as e:  # the next drain may tell it once more
                self._failed("memory", e.strerror or "")

    def hold(self, hold: Hold) -> None:
        """A hold has begun or was lifted."""
        if hold.lifted_at is None:
            self.tell(Notice(Kind.HOLD, hold.key, f"{hold.key} is on hold", described(hold)))
            return
        why = {Lift.TIME: "its time is over", Lift.SUCCESS: "a turn ended well", Lift.HAND: "by hand", None: ""}
        text = f"since {rfc3339(hold.begun_at)}; {why[hold.lifted_by]}"
        self.tell(Notice(Kind.HOLD, hold.key + "/lifted", f"{hold.key} goes on", text))

    def watchdog(self, event: Mapping[str, Any]) -> None:
        """The watchdog has done something, or would have."""
        if event.get("event") not in _ACTIONS:
            return
        kind = Kind.WATCHDOG if event.get("done") else Kind.STALL
        needs = event["event"] == "orphan"
        title = f"{event['task']} {'needs you' if needs else 'stalled: ' + str(event['event'])}"
        self.tell(Notice(kind, str(event["agent"]), title, f"{event.get('why')}; {event.get('result')}"))

    def given_up(self, dispatch_id: str, task: str, why: str) -> None:
        """A dispatch that waited was given up."""
        self.tell(Notice(Kind.DEAD_LETTER, dispatch_id, f"{task} could not be started", why))

    def tell(self, one: Notice) -> None:
        """Send a notice to every channel, unless its kind is not wanted, it came a moment ago, or it is quiet."""
        if not self._is_on():
            return
        settings, now = self._fleet.settings, self._fleet.clock.wall()
        if not passes(one, settings["notify.events"], self._last, now, settings.number("notify.debounce_seconds")):
            return
        local = dt.datetime.fromtimestamp(now).astimezone()
        span = hours(settings["notify.quiet_hours"] or "")
        if is_quiet(span, local.hour * 60 + local.minute):
            return
        clean = Redactor().text
        one = one._replace(title=clean(one.title), text=clean(one.text))
        with self._lock:
            self._last[one.kind, one.about] = now
            for channel in self._open().values():
                channel.put(one)

    def close(self) -> None:
        """End the channels."""
        for channel in self._channels.values():
            channel.close()
        self._channels, self._made_for = {}, ()

    def _name(self, sight: Sight) -> str:
        layout, agent = self._fleet.layout, sight.agent
        leaving = (
            agent.successor_id is not None
            or queue_entry.is_leaving(layout, agent.id)
            or os.path.exists(layout.stop_order(agent.id))
        )
        looked_at = sight.pane is not None and sight.pane.attached > 0
        return told_as(
            sight.state, leaving=leaving, looked_at=looked_at, held=bool(self._fleet.settings["holds.enabled"])
        )  # fmt: skip

    def _is_on(self) -> bool:
        settings = self._fleet.settings
        return any(settings[f"notify.{name}"] for name in ("desktop", "bell", "status_line", "webhook"))

    def _remembered(self) -> dict[str, str]:
        if self._told is None:
            try:
                data = read_object(path(self._fleet.layout), schema=SCHEMA_VERSION)["agents"]
                self._told = {str(k): str(v) for k, v in data.items()}
            except (FileNotFoundError, BadFile, KeyError, AttributeError):
                self._told = {}
        return self._told

    def _open(self) -> dict[str, channels.Channel]:
        """The channels as the settings have them now."""
        settings = self._fleet.settings
        wanted = tuple(settings[f"notify.{name}"] for name in ("desktop", "bell", "status_line", "webhook",
                                                                "webhook_form"))  # fmt: skip
        if wanted != self._made_for:
            self.close()
            at_desktop, rings, on_line, url, form = wanted
            sends = {
                "desktop": channels.desktop(self._fleet.environ) if at_desktop else None,
                "bell": channels.bell(self._tmux) if rings else None,
                "status-line": channels.status_line(self._tmux) if on_line else None,
                "webhook": channels.webhook(str(url), str(form)) if url else None,
            }
            self._channels = {
                name: channels.Channel(name, send, self._failed) for name, send in sends.items() if send is not None
            }
            self._made_for = wanted
        return self._channels

    def _tmux(self, socket: str | None) -> Tmux:
        return self._fleet.tmux_on(socket or self._fleet.socket)

    def _failed(self, channel: str, error: str) -> None:
        """Say it once; a webhook's address may hold a secret."""
        error = Redactor().text(error)
        if (channel, error) not in self._complained:
            self._complained.add((channel, error))
            self._log.warning("not notified", channel=channel, error=error)
