"""The loop that carries out handoffs, ends and messages. One per FLEET_HOME; hooks and commands start one when needed.

examples:
  fleet drain             run here until Ctrl-C
  fleet drain --detach    run in its own tmux session
  fleet drain --once      one pass over everything that waits
  fleet drain --recover-on-start    first bring back what a reboot or the end of tmux took
"""

from __future__ import annotations

import os
import signal

from fleet.cli import output
from fleet.clock import wait_until
from fleet.drain.lock import DrainLock
from fleet.errors import EXIT_NO, EXIT_OK, Refused, TimedOut, UsageError
from fleet.formats.states import Existence
from fleet.process.table import read_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from fleet.app import Fleet
    from fleet.drain.loop import Loop

STOP_SECONDS = 30.0
ENDING = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--once", action="store_true", help="one pass over everything that waits, then return")
    what.add_argument("--until-idle", action="store_true", help="return when nothing is left to do")
    what.add_argument("--detach", action="store_true", help="run in a tmux session of its own")
    what.add_argument("--status", action="store_true", help="say whether one runs")
    what.add_argument("--stop", action="store_true", help="end the one that runs")
    parser.add_argument("--recover-on-start", action="store_true", help="first do what `fleet recover` does")
    parser.add_argument("--timeout", type=float, default=600, metavar="S",
                        help="for --once beside a running loop (default: %(default)s)")  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Be the drain, or deal with the one that runs."""
    if args.timeout < 0:
        raise UsageError("--timeout cannot be negative")
    fleet.make_home()
    lock = DrainLock(fleet.layout, fleet.clock)
    if args.status:
        return _status(args, lock)
    if args.stop:
        return _stop(args, fleet, lock)
    if args.detach:
        return _detach(args, fleet, lock)
    while not _take(lock):
        if args.once:
            answer = _ask(args, fleet, lock)
            if answer is not None:
                return _say_report(args, answer)
            continue  # it ended without a word: the pass is this process's to make
        if args.until_idle:
            return EXIT_OK
        holder = lock.holder()
        raise Refused(
            f"a drain runs already (pid {holder['pid'] if holder else 'unknown'})",
            hint="`fleet drain --status` tells more, `fleet drain --stop` ends it",
        )
    from fleet.drain.loop import Loop  # noqa: PLC0415  # paid only where it is used

    try:
        wanted = not (args.once or args.until_idle) and bool(fleet.settings["drain.recover_on_start"])
        loop = Loop(fleet, recover=args.recover_on_start or wanted)
        end_by_signal(loop.stop)
        if not (args.once or args.until_idle):
            output.say(f"fleet: draining {fleet.layout.home}; Ctrl-C ends this")
        loop.run(until=_until(args, loop))
    finally:
        lock.give_back()
    return _report(args, loop) if args.once else EXIT_OK


def _take(lock: DrainLock) -> bool:
    """Take the lock, and then hold back what would end a drain that others see already until it knows how to end."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    taken = False
    try:
        taken = lock.take()
    finally:
        if not taken:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)
    return taken


def end_by_signal(stop: Callable[[], None]) -> None:
    """Call *stop* at a signal to end; one that was ignored from the start (nohup, a job of a shell) stays ignored."""
    for number in ENDING:
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, lambda *_: stop())
    signal.pthread_sigmask(signal.SIG_UNBLOCK, ENDING)


def _until(args: argparse.Namespace, loop: Loop) -> Callable[[], bool] | None:
    if args.once:
        return loop.is_settled
    return loop.is_idle if args.until_idle else None


def _report(args: argparse.Namespace, loop: Loop) -> int:
    return _say_report(args, loop.tally.report())


def _say_report(args: argparse.Namespace, done: dict[str, int]) -> int:
    if args.json:
        output.data(done)
    else:
        words = [f"{count} {name.replace('_', ' ')}" for name, count in done.items() if count]
        print(", ".join(words) or "nothing to do")
    return EXIT_NO if done["dead_letters"] or done["waiting_for_retry"] else EXIT_OK


def _ask(args: argparse.Namespace, fleet: Fleet, lock: DrainLock) -> dict[str, int] | None:
    """
    Let the loop that runs make a pass; what it did, or None when it ended meanwhile.

    Raises:
        TimedOut: it runs on and has not answered.
    """
    from fleet.drain.requests import Requests  # noqa: PLC0415  # paid only where it is used

    requests = Requests(fleet.layout)
    nonce = requests.ask()
    answer: list[dict[str, int]] = []

    def answered() -> bool:
        found = requests.read_answer(nonce)
        if found is not None:
            answer.append(found)
        return bool(answer)

    try:
        wait_until(lambda: answered() or not lock.is_held(), args.timeout, clock=fleet.clock,
                   what="the pass of the running drain")  # fmt: skip
    finally:
        requests.withdraw(nonce)
    return answer[0] if answered() else None


def _status(args: argparse.Namespace, lock: DrainLock) -> int:
    held = lock.is_held()
    holder, suspended = lock.holder() or {}, lock.suspended()
    if args.json:
        output.data({"running": held, "pid": holder.get("pid"), "since": holder.get("since"),
                     "suspended": suspended is not None})  # fmt: skip
    elif held:
        print(f"a drain runs: pid {holder.get('pid', 'unknown')} since {holder.get('since', 'unknown')}")
        if suspended is not None:
            print(f"it was stopped by a signal and does nothing: `kill -CONT {suspended}` lets it go on")
    else:
        print("no drain runs; hooks and commands start one when there is something to do")
    return EXIT_OK if held else EXIT_NO


def _stop(args: argparse.Namespace, fleet: Fleet, lock: DrainLock) -> int:
    holder = lock.holder()
    if holder is None:
        if lock.is_held():
            raise TimedOut("a drain runs and has not said yet which process it is", hint="try again")
        output.say("fleet: no drain runs")
        return EXIT_NO
    process = read_process(int(holder["pid"]))
    if process is None or process.start != holder["pid_start"]:
        raise Refused("the drain's note names a process that is another one by now", hint="see `fleet drain --status`")
    os.kill(process.pid, signal.SIGTERM)
    wait_until(lambda: not lock.is_held(), STOP_SECONDS, clock=fleet.clock, what="the end of the drain")
    if args.json:
        output.data({"stopped": process.pid})
    else:
        print(f"stopped the drain (pid {process.pid})")
    return EXIT_OK


def _detach(args: argparse.Namespace, fleet: Fleet, lock: DrainLock) -> int:
    from fleet.tmux.client import check_socket, check_version, make_folder  # noqa: PLC0415  # paid only where it is used

    check_version(fleet.tmux_binary)
    check_socket(fleet.socket)
    make_folder(fleet.socket)
    if lock.is_held():
        raise Refused("a drain runs already", hint="`fleet drain --status` tells more")
    tmux = fleet.tmux_on(fleet.socket)
    environment = [part for name in ("FLEET_HOME", "FLEET_TMUX_SOCKET", "FLEET_TMUX_BIN", "PATH")
                   if (value := {**fleet.environ, "FLEET_HOME": fleet.layout.home}.get(name))
                   for part in ("-e", f"{name}={value}")]  # fmt: skip
    from fleet.drain.carry import detached_session  # noqa: PLC0415  # paid only where it is used

    session = detached_session(fleet.layout)
    if tmux.has_session(session) != Existence.GONE:
        if "0" in tmux.do("list-panes", "-s", "-t", f"={session}:", "-F", "#{pane_dead}"):
            raise Refused(f"a tmux session {session} is there already", hint=f"end it on {fleet.socket} first")
        tmux.do("kill-session", "-t", f"={session}")  # an earlier drain's, kept by the user's remain-on-exit
    further = ["--recover-on-start"] if args.recover_on_start else []
    tmux.do("new-session", "-d", "-s", session, *environment, "--", *fleet.drain_argv(*further),
            ";", "set-option", "-t", f"={session}:", "destroy-unattached", "off")  # fmt: skip
    wait_until(lambda: lock.holder() is not None, STOP_SECONDS, clock=fleet.clock, what="the start of the drain")
    holder = lock.holder() or {}
    if args.json:
        output.data({"running": True, "pid": holder.get("pid"), "tmux_session": session})
    else:
        print(f"the drain runs in tmux session {session} (pid {holder.get('pid')})")
    return EXIT_OK
