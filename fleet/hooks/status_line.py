"""What Claude Code runs for its status line: `status_line.py ENGINE [user] [-- COMMAND...]`, payload on stdin.

The user's own COMMAND takes this process's place, with the same stdin, so that its output, its status, its signals
and its slowness reach the client as they are; one word is a shell command line, as in Claude Code's settings (2.1.197
runs it by /bin/sh), more are a program with arguments. The figure is recorded beside it, by a process of its own whose
parent is gone at once; without a COMMAND there is nothing to show and the recording is done right here.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import NoReturn

LOCK_SECONDS = 0.2  #: the next answer brings the next figure


def main(argv: list[str]) -> int:
    """Run one status line; never returns when there is a command."""
    own, command = argv, []
    if "--" in argv:
        at = argv.index("--")
        own, command = argv[:at], argv[at + 1 :]
    agent_id = os.environ.get("FLEET_AGENT_ID")
    if agent_id and own and not sys.stdin.isatty():
        raw = sys.stdin.buffer.read()
        if not command:
            _record(own, agent_id, raw)
        else:
            _beside(own, agent_id, raw)
    if command:
        become(command)
    return 0


def become(command: list[str]) -> NoReturn:
    """Let *command* take this process's place; status 127 when it cannot be found."""
    argv = ["/bin/sh", "-c", command[0]] if len(command) == 1 else command
    try:
        os.execvp(argv[0], argv)  # noqa: S606  # the user's command takes this process's place
    except OSError as e:
        sys.stderr.write(f"{argv[0]}: {e.strerror}\n")
        sys.exit(127)


def _beside(own: list[str], agent_id: str, raw: bytes) -> None:
    """Put a pipe that will hold *raw* in the place of stdin, and have it filled and recorded by another process."""
    from fleet.hooks.identity import ancestors  # noqa: PLC0415  # not where no agent is

    parent = os.getppid()
    above = ancestors(parent)  # a quick command is over, and its shell gone, before the record is read
    out, into = os.pipe()
    child = os.fork()
    if child:
        os.close(into)
        os.dup2(out, 0)
        os.close(out)
        os.waitpid(child, 0)
        return
    try:
        if not os.fork():
            os.close(out)
            null = os.open(os.devnull, os.O_RDWR)
            for fd in (0, 1, 2):  # whoever reads the status line waits for the last holder of its pipe
                os.dup2(null, fd)
            try:
                view = memoryview(raw)
                while view:
                    view = view[os.write(into, view) :]
            except OSError:
                pass  # the command did not want to read it
            os.close(into)
            _record(own, agent_id, raw, parent, above)
    finally:
        os._exit(0)


def _record(
    own: list[str],
    agent_id: str,
    raw: bytes,
    parent: int | None = None,
    above: Mapping[int, tuple[str, int] | None] | None = None,
) -> None:
    """Keep the figure, if there is one and this is the agent's own client; every error goes to the hooks' log."""
    import time  # noqa: PLC0415  # the user's command must not wait for it

    from fleet.formats import record  # noqa: PLC0415  # the user's command must not wait for it
    from fleet.formats.ids import is_id  # noqa: PLC0415  # the user's command must not wait for it
    from fleet.formats.layout import Layout  # noqa: PLC0415  # the user's command must not wait for it
    from fleet.hooks import figure  # noqa: PLC0415  # the user's command must not wait for it
    from fleet.hooks.identity import speaks_for  # noqa: PLC0415  # the user's command must not wait for it
    from fleet.hooks.payload import parse  # noqa: PLC0415  # the user's command must not wait for it

    layout = Layout(os.path.abspath(os.environ.get("FLEET_HOME") or os.path.expanduser("~/.fleet")))
    try:
        if not is_id(agent_id) or not os.path.exists(layout.record(agent_id)):
            return
        call = parse(own[0], "StatusLine", raw)
        new = figure.from_payload(call, time.time())
        look = above.get if above is not None else None
        if new is None or not speaks_for(record.read(layout.record(agent_id))["pid"], parent, look):
            return
        with record.Held(layout, agent_id, sync=False, timeout_seconds=LOCK_SECONDS) as held:
            old = figure.read(layout, agent_id)
            if held.data is None or not figure.counts(old, new, call.engine, call.transcript_path):
                return
            figure.write(layout, agent_id, new)
            percent = round(new["tokens"] * 100 / new["window"], 2)
            held.set({"context_pct": percent, "context_source": figure.SOURCE})
    except BaseException as e:  # noqa: BLE001  # a status line must never fail its client, whatever happens
        from fleet.hooks.entry import log_error  # noqa: PLC0415  # only a failing one pays for it

        log_error(layout, [*own, "StatusLine"], agent_id, e)
