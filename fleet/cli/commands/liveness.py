"""Who gets anywhere, and who does not: measured by every sign of life there is, and what could not be measured.

Signs: reports of hooks, growth of the engine's log, MILESTONE lines, changes of the screen, CPU time of what the engine
runs, commits and file writes in its working tree. An agent that waits or is done is not stalled, however long ago.

examples:
  fleet liveness
  fleet liveness fix-login --stale 45
  fleet liveness --json

exit codes: 0 all fresh or finished; 1 at least one stall was measured, or an engine died; 2 something could not be
measured, and no stall was.
"""

from __future__ import annotations

from fleet.cli import output
from fleet.drain.watch import gatherer
from fleet.errors import EXIT_NO, EXIT_OK, EXIT_USAGE, UsageError
from fleet.model.liveness import Sign, Verdict
from fleet.model.watchdog import window_minutes
from fleet.store.watch import WatchStore

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from typing import Any

    from fleet.app import Fleet
    from fleet.model.liveness import Liveness
    from fleet.observe.signs import Observation

STALLED = frozenset({Verdict.STALLED, Verdict.DEAD, Verdict.GONE})
SHOWN = (Sign.HOOK, Sign.TRANSCRIPT, Sign.SCREEN, Sign.CPU, Sign.COMMIT, Sign.FILES)
HEADINGS = ("ID", "TASK", "LIVENESS", "HOOK", "LOG", "SCREEN", "CPU", "COMMIT", "FILES", "WHY")
#: By what the engine was about when it stalled.
COMMAND = (
    "likely cause: a command that does not end, or one in the background whose notification never comes; look with "
    "`fleet peek {id}`, and `fleet send {id}` it to run that in the foreground (a guess: ask the agent)"
)
MODEL = "likely cause: its model does not answer, as no tool of its runs; look with `fleet peek {id}`"
HINTS = {
    Verdict.STALLED: "look at it: `fleet peek {id}`",
    Verdict.DEAD: "its last screen: `fleet peek {id}`; `fleet handoff {id}` goes on from what is known",
    Verdict.GONE: "somebody, or the end of its tmux server, took its session away; `fleet recover {id}` brings it back",
}  # fmt: skip


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.add_argument("agents", nargs="*", metavar="AGENT", help="an id, a unique prefix of one, or a task name")
    parser.add_argument("--stale", type=float, metavar="MIN",
                        help="minutes without a sign (default: learned, else watch.stale_minutes)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Measure and say."""
    if args.stale is not None and not 0 < args.stale < float("inf"):
        raise UsageError("--stale takes minutes over 0")
    everybody = fleet.agents.living()
    agents = [fleet.agents.find(token) for token in args.agents] or list(everybody.agents)
    minutes = args.stale or window_minutes(
        WatchStore(fleet.layout).samples(), fleet.settings.number("watch.stale_minutes"),
        learn=bool(fleet.settings["watch.learn"]),
    )[0]  # fmt: skip
    found = gatherer(fleet).gather(agents, stale_seconds=minutes * 60, everybody=everybody.agents, full=True)
    now = fleet.clock.wall()
    rows = [view(one, now) for one in found]
    if args.json:
        output.data({"stale_minutes": minutes, "agents": rows, "unreadable": [e.path for e in everybody.bad]})
    else:
        _print(found, rows, minutes)
        for error in everybody.bad:
            output.error(error)
    verdicts = {one.liveness.verdict for one in found}
    if verdicts & STALLED:
        return EXIT_NO
    return EXIT_USAGE if Verdict.UNKNOWN in verdicts or everybody.bad else EXIT_OK


def view(one: Observation, now: float) -> dict[str, Any]:
    """One agent as --json gives it."""
    agent, judged = one.sight.agent, one.liveness
    return {
        "id": agent.id,
        "dispatch_id": agent.dispatch_id,
        "task_id": agent.task_id,
        "state": str(one.sight.state.turn),
        "reason": str(one.sight.state.reason) if one.sight.state.reason else None,
        "liveness": str(judged.verdict),
        "why": judged.why,
        "waits_for": judged.waits_for,
        "age_seconds": None if judged.age_seconds is None else round(judged.age_seconds, 1),
        "sign": None if judged.sign is None else str(judged.sign),
        "unmeasured": list(judged.unmeasured),
        "failures": one.failures,
        "failing_command": one.command or None,
        "signs": {
            str(sign): {
                "age_seconds": None if reading.at is None else round(reading.age(now), 1),
                "measured": reading.measured,
                "counts": reading.counts,
                "floored": reading.floored,
                "note": reading.note or None,
            }
            for sign, reading in one.readings.items()
        },
    }


def hint_of(one: Observation) -> str | None:
    """What can be done about it; None where nothing need be."""
    hint = HINTS.get(one.liveness.verdict)
    if one.liveness.verdict == Verdict.STALLED:
        last_said = one.sight.facts.last_said
        if last_said == "tool" or one.sight.state.background:
            hint = COMMAND
        elif last_said is not None:
            hint = MODEL
    return None if hint is None else hint.format(id=one.sight.agent.id)


def why_of(judged: Liveness) -> str:
    """For whom it waits, or why it is judged so: what has stalled, died or gone waits for nobody."""
    waits = judged.waits_for is not None and judged.verdict not in STALLED
    return f"waits for {judged.waits_for}" if waits else judged.why


def _print(found: list[Observation], rows: list[dict[str, Any]], minutes: float) -> None:
    if not rows:
        output.say("no agents; `fleet dispatch TASK` starts one")
        return
    print(f"liveness (stale after {minutes:g}m)")
    table = []
    for one, row in zip(found, rows, strict=True):
        cells = [_cell(row["signs"].get(str(sign))) for sign in SHOWN]
        table.append([row["id"], row["task_id"], row["liveness"], *cells, why_of(one.liveness)])
    output.table(HEADINGS, table, right=frozenset(HEADINGS[3:9]), shrink=("WHY", "TASK"), drop=("SCREEN", "LOG"))
    for one in found:
        if (hint := hint_of(one)) is not None:
            print(f"  {one.sight.agent.id} -> {hint}")
    for row in rows:
        if row["liveness"] == Verdict.UNKNOWN:
            print(f"liveness was not measured for {row['id']} ({row['task_id']}): {'; '.join(row['unmeasured'])}")


def _cell(sign: dict[str, Any] | None) -> str:
    """`12m`, `12m+` for a floor, `?` for what was not measured, `-` for never, in brackets what does not count."""
    if sign is None:
        return "?"
    age = sign["age_seconds"]
    if age is None:
        return "-" if sign["measured"] else "?"
    text = output.age(age) + ("+" if sign["floored"] else "")
    return text if sign["counts"] else f"({text})"
