"""The agents: records and sessions without each other, hooks that never fired, settings that name what is gone."""

from __future__ import annotations

import json
import os

from fleet import resources
from fleet.doctor.findings import Finding, Grade, problem
from fleet.doctor.hook_errors import newest_failure
from fleet.errors import BadFile, Unreachable
from fleet.formats import launch
from fleet.formats.ids import is_id
from fleet.formats.states import Existence
from fleet.formats.times import parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from fleet.app import Fleet
    from fleet.observe.facts import Looker, Sight

SILENT_SECONDS = 60  #: an engine that was started that long ago has fired a hook, if hooks work


def records(fleet: Fleet, look: Looker) -> Iterator[Finding]:
    """Every record with its session, every session of ours with its record."""
    listing = fleet.agents.living()
    for bad in listing.bad:
        yield problem(
            "records",
            str(bad),
            "its agent is shown nowhere and no handoff of it is carried out",
            f"look at it, then move it away: {bad.path}",
        )
    fine = 0
    for agent in listing.agents:
        sight = look.see(agent)
        if sight.facts.pane == Existence.UNKNOWN:
            yield Finding("records", Grade.UNKNOWN, f"{agent.id} ({agent.task_id}): {sight.facts.blindness}")
        elif sight.facts.is_stray:
            yield problem(
                "records",
                f"{agent.id} ({agent.task_id}) has no pane, and its engine (pid {agent.pid}) still runs",
                "it works where nobody sees or reaches it",
                f"fleet stop {agent.id}, or fleet handoff {agent.id}",
            )
        elif sight.facts.pane == Existence.GONE and not sight.facts.queued:
            yield problem(
                "records",
                f"{agent.id} ({agent.task_id}) has a record and no pane",
                "its task counts as taken, and nobody works on it",
                f"fleet recover {agent.id}, or fleet stop {agent.id}",
            )
        else:
            fine += 1
    yield Finding("records", Grade.OK, f"{fine} agents have their panes")
    yield from _strays(fleet, look)


def _strays(fleet: Fleet, look: Looker) -> Iterator[Finding]:
    for pane in look.snapshot(fleet.socket).panes:
        if pane.home != fleet.layout.home or not is_id(pane.mark) or pane.session != f"fleet-{pane.mark}":
            continue
        known = (fleet.layout.record(pane.mark), fleet.layout.launch_file(pane.mark))
        if not any(os.path.exists(path) for path in known):
            yield problem(
                "sessions",
                f"session {pane.session} ({pane.session_id}) has no record",
                "it is fleet's, and nobody looks after it",
                f"tmux -S {fleet.socket} kill-session -t '{pane.session_id}', after a look at it",
            )


def hooks(fleet: Fleet, look: Looker) -> Iterator[Finding]:
    """Whether hooks fire: a settings file that names them proves nothing."""
    for agent in fleet.agents.living().agents:
        sight = look.see(agent)
        if not sight.facts.reports or not sight.facts.running or sight.facts.held:
            continue
        fired = next((e for e in sight.facts.events if e.get("source") == "hook"), None)
        age = fleet.clock.wall() - (parse(agent.spawned_at) or fleet.clock.wall())
        if fired is None and age > SILENT_SECONDS:
            yield problem(
                "hooks",
                f"{agent.id} ({agent.task_id}) has run {age:.0f} s and no hook of it fired",
                "its context is not watched, and no message can be proved delivered",
                f"fleet peek {agent.id}, for a dialog that nobody answered",
            )
        elif fired is not None:
            yield Finding("hooks", Grade.OK, f"{agent.id} ({agent.task_id}): {fired['event']} at {fired['ts']}")
        yield from _drift(fleet, sight)
    failure = newest_failure(fleet.layout)
    if failure is not None:
        yield problem(
            "hooks",
            f"a hook failed: {failure}",
            "what it was to write is missing",
            f"less {os.path.join(fleet.layout.logs, 'hook-errors.log')}; remove it when you are done",
        )


def _drift(fleet: Fleet, sight: Sight) -> Iterator[Finding]:
    """An agent whose settings name a launcher that is gone, or that of another installation."""
    agent = sight.agent
    try:
        start = launch.read(fleet.layout, agent.id)
        with open(fleet.layout.settings(agent.id), encoding="utf-8") as f:
            text = json.dumps(json.load(f))
    except (FileNotFoundError, BadFile):
        text, start = "", {"argv": ()}
    except (OSError, ValueError) as e:
        yield Finding("settings", Grade.UNKNOWN, f"{fleet.layout.settings(agent.id)}: {e}")
        return
    text += json.dumps(list(start["argv"]))
    if "on_event.py" in text and resources.hook_launcher() not in text:
        yield problem(
            "settings",
            f"{agent.id} ({agent.task_id}) runs the hooks of another installation of fleet",
            "they may be gone, or write other formats",
            f"fleet handoff {agent.id}",
        )


def processes(fleet: Fleet, look: Looker) -> Iterator[Finding]:
    """Whether processes can be told at all, and ended agents that nobody filed away."""
    try:
        look.table()
    except Unreachable as e:
        yield Finding("processes", Grade.UNKNOWN, str(e))
        return
    ended = [a for a in fleet.agents.living().agents if (s := look.see(a)).facts.pane_dead and not s.facts.queued]
    if ended:
        names = ", ".join(f"{a.id} ({a.task_id})" for a in ended)
        yield Finding("processes", Grade.NOTE, f"ended, and kept for you to look at: {names}")
