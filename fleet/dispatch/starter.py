"""From an order to a held agent, and from held to started. Dispatch, handoff and every retry go this way.

    plan       how the engine is started (pure)
    journal    launch/<id>.json, then the engine's files: from here on a crash leaves a trace
    hold       the tmux session with the gate in it, then the record
    release    the gate opens; the engine starts

Each step can be repeated. A retry of the same agent is planned and journaled anew, under a new nonce.
"""

from __future__ import annotations

import os
import sys

from fleet import resources
from fleet.dispatch.environment import SESSION_VARIABLES, fleet_variables
from fleet.engines.base import LONGEST_ARGUMENT_BYTES, Request, going_on
from fleet.engines.catalog import engine
from fleet.engines.command import PROMPT, PROMPT_FILE
from fleet.engines.versions import installed
from fleet.errors import Unreachable
from fleet.formats import launch, texts
from fleet.formats.atomic import ensure_dir, ensure_link, write_file
from fleet.formats.ids import new_id, new_uuid, session_name
from fleet.formats.record import SCHEMA_VERSION
from fleet.formats.states import Origin
from fleet.formats.times import rfc3339
from fleet.process.table import boot_id, own_identity, read_process

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from fleet.clock import Clock
    from fleet.engines.base import Plan
    from fleet.formats.layout import Layout
    from fleet.model.orders import Order
    from fleet.model.panes import Pane, Panes
    from fleet.store.agents import AgentStore
    from fleet.store.journal import Journal

GATE_SECONDS = 300


class Starter:
    """Starts agents on this host."""

    def __init__(
        self, layout: Layout, agents: AgentStore, journal: Journal, clock: Clock, panes_on: Callable[[str], Panes]
    ) -> None:
        self.layout = layout
        self._agents = agents
        self._journal = journal
        self._clock = clock
        self._panes_on = panes_on

    def request(self, order: Order) -> Request:
        """What the engine is asked to plan."""
        python = os.path.realpath(sys.executable)
        return Request(
            agent_id=order.agent_id,
            layout=self.layout,
            cwd=order.cwd,
            env=order.env,
            options=order.options,
            command=order.command,
            model=order.model,
            hook_argv=(python, "-I", "-S", resources.hook_launcher()),
            conversation_id=new_uuid(),
            trust=order.trust,
            role=order.role,
        )

    def plan(self, order: Order) -> Plan:
        """How the order's engine is started. Raises EnvironmentMissing when it cannot be."""
        program = engine(order.engine)
        plan = program.plan(self.request(order))
        return plan if order.resume is None else going_on(program, plan, order.resume)

    def journal(self, order: Order, plan: Plan) -> dict[str, Any]:
        """Write everything the start needs, the launch file first: it is how a crash is recognised; returns it."""
        argv, prompt_at = list(plan.argv), None
        path = self.layout.prompt(order.agent_id)
        task = self.layout.task(order.dispatch_id) if order.origin == Origin.DISPATCH else path
        if order.prompt is not None and plan.takes_prompt:
            argv, prompt_at = _with_prompt(argv, plan.prompt_prefix, order.prompt, path, task)
        data: dict[str, Any] = {
            "schema_version": launch.SCHEMA_VERSION,
            "id": order.agent_id,
            "nonce": new_id(),
            "dispatch_id": order.dispatch_id,
            "generation": order.generation,
            "origin": order.origin,
            "predecessor_id": order.predecessor_id,
            "project": order.project,
            "task_id": order.task_id,
            "engine": order.engine,
            "version": self._version(order, plan),
            "role": order.role,
            "mode": order.mode,
            "model": order.model,
            "options": dict(order.options),
            "command": list(order.command),
            "cwd": order.cwd,
            "env": {**order.env, **plan.env, **fleet_variables(order, self.layout.home, self.layout.hook_config)},
            "argv": argv,
            "prompt_at": prompt_at,
            "prompt_joined": prompt_at is not None and _is_joined(plan.prompt_prefix),
            "prompt_file": path if order.prompt is not None else None,
            "prompted": order.prompt is not None,
            "hooks": plan.hooks,
            "trust": order.trust,
            "conversation_id": plan.conversation_id,
            "resume": order.resume,
            "socket": order.socket,
            "session": session_name(order.agent_id),
            "handoff_number": order.handoff_number,
            "last_handoff_path": order.last_handoff_path,
            "extra": dict(order.extra),
            "owner": own_identity(),
            "gate_seconds": GATE_SECONDS,
            "created_at": rfc3339(self._clock.wall()),
        }
        launch.write(self.layout, data)
        if order.prompt is not None:
            for each in {path, task}:
                write_file(each, order.prompt, sync=False)
        for name, content in plan.files.items():
            ensure_dir(os.path.dirname(name))
            write_file(name, content, sync=False)
        for name, target in plan.links.items():
            ensure_link(name, target)
        return data

    def _version(self, order: Order, plan: Plan) -> str | None:
        """Of the engine's own program, where it has one."""
        return installed(plan.argv[0], order.env, self.layout.engine_versions) if "binary" in order.options else None

    def hold(self, start: Mapping[str, Any]) -> None:
        """
        Make the session, held at the gate, and write the record.

        Raises:
            Duplicate: a session with the agent's name is there already.
            Unreachable: tmux refused or did not answer.
        """
        gate = [os.path.realpath(sys.executable), "-I", "-S", resources.gate()]
        gate += [self.layout.launch_file(start["id"]), start["nonce"]]
        environment = {name: start["env"][name] for name in SESSION_VARIABLES}
        panes = self._panes_on(start["socket"])
        self.adopt(start, panes.open(start["id"], gate, cwd=start["cwd"], environment=environment))

    def adopt(self, start: Mapping[str, Any], pane: Pane) -> None:
        """Write the record of the agent held in *pane*, or bring an earlier try's record up to date."""
        process = read_process(pane.pid)
        if process is None:
            raise Unreachable(f"the process of session {start['session']} ended at once")
        place = {
            "pid": pane.pid,
            "pid_start": process.start,
            "tmux_session_id": pane.session_id,
            "window_id": pane.window_id,
            "pane_id": pane.pane_id,
            "server_pid": pane.server_pid,
            "conversation_id": start["conversation_id"],
        }
        if not self._agents.add({**first_record(start, self._clock.wall()), **place}):
            self._agents.update(start["id"], **place)

    def release(self, start: Mapping[str, Any]) -> None:
        """Open the gate of that very try. Safe to repeat."""
        if launch.release(self.layout, start["id"], start["nonce"]):
            self._journal.tell(start["id"], "Released", generation=start["generation"], nonce=start["nonce"])


def _with_prompt(
    argv: list[str], prefix: Sequence[str], prompt: bytes, path: str, task: str
) -> tuple[list[str], int | None]:
    """
    The arguments with a place for the prompt, or with words that name a file when it cannot be one.

    Args:
        path: holds the prompt as long as the agent lives.
        task: holds it as long as its dispatch is of interest: what words name may be read again by a successor.
    """
    joined = prefix[-1] if _is_joined(prefix) else ""
    if b"\0" in prompt or len(prompt) + len(joined) > LONGEST_ARGUMENT_BYTES:
        words = texts.prompt_in_file(task)
        if joined:
            return [*argv, *prefix[:-1], joined + words], None
        if PROMPT in argv:
            return [words if a == PROMPT else path if a == PROMPT_FILE else a for a in argv], None
        return [path if a == PROMPT_FILE else a for a in argv] if PROMPT_FILE in argv else [*argv, *prefix, words], None
    argv = [path if a == PROMPT_FILE else a for a in argv] if PROMPT_FILE in argv else argv
    if PROMPT in argv:
        at = argv.index(PROMPT)
        return argv[:at] + argv[at + 1 :], at
    if not prefix:
        return argv, None
    argv = [*argv, *prefix]
    return argv, len(argv)


def _is_joined(prefix: Sequence[str]) -> bool:
    """Whether the prompt stands in one argument with its option: some clients take `-x` behind one for another."""
    return bool(prefix) and prefix[-1].endswith("=")


def first_record(start: Mapping[str, Any], wall: float) -> dict[str, Any]:
    """The record of an agent that is being started, without its place in tmux."""
    now = rfc3339(wall)
    return {
        **start["extra"],
        "schema_version": SCHEMA_VERSION,
        "id": start["id"],
        "pid": None,
        "pid_start": None,
        "tmux_session": start["session"],
        "engine": start["engine"],
        "role": start["role"],
        "mode": start["mode"],
        "task_id": start["task_id"],
        "project": start["project"],
        "review_round": start["extra"].get("review_round"),
        "context_pct": None,
        "context_source": None,
        "last_activity_ts": now,
        "blocked": False,
        "blocked_reason": None,
        "blocked_since": None,
        "needs_input": False,
        "inbox_pending": False,
        "handoff_type": None,
        "handoff_type_at": None,
        "last_handoff_path": start["last_handoff_path"],
        "handoff_number": start["handoff_number"],
        "cwd": start["cwd"],
        "command": start["argv"],
        "spawned_at": now,
        "predecessor_id": start["predecessor_id"],
        "successor_id": None,
        "dispatch_id": start["dispatch_id"],
        "generation": start["generation"],
        "origin": start["origin"],
        "socket": start["socket"],
        "tmux_session_id": None,
        "window_id": None,
        "pane_id": None,
        "server_pid": None,
        "boot_id": boot_id(),
        "host": os.uname().nodename,
        "conversation_id": None,
        "transcript_path": None,
    }
