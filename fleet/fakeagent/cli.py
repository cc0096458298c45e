"""Putting one agent together and running it to its end."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from fleet.fakeagent import options as command_line
from fleet.fakeagent import script as scripts
from fleet.fakeagent import settings as settings_files
from fleet.fakeagent.agent import Agent
from fleet.fakeagent.appending import Appender
from fleet.fakeagent.background import Background
from fleet.fakeagent.children import Children
from fleet.fakeagent.clockwork import Loop
from fleet.fakeagent.display import Display
from fleet.fakeagent.errors import BadUsage, FakeAgentError
from fleet.fakeagent.faults import Faults
from fleet.fakeagent.hooks import Hooks
from fleet.fakeagent.model import Model
from fleet.fakeagent.parts import Parts
from fleet.fakeagent.permissions import Permissions
from fleet.fakeagent.resume import choose_session, recall
from fleet.fakeagent.session import Session
from fleet.fakeagent.terminal import Terminal
from fleet.fakeagent.transcript import Transcript
from fleet.fakeagent.waiting import PromptQueue

if TYPE_CHECKING:
    from fleet.fakeagent.options import Options


def main(argv: list[str]) -> int:
    """Run `fleet fake-agent` and return its exit status."""
    try:
        options = command_line.parse(argv)
        if options.help:
            sys.stdout.write(command_line.USAGE)
            return 0
        return _run(options)
    except FakeAgentError as error:
        sys.stderr.write(f"fake-agent: {error}\n")
        return error.exit_code


def _run(options: Options) -> int:
    home = os.environ.get("FAKE_AGENT_HOME") or os.path.expanduser("~/.fleet-fake-agent")
    home, cwd = os.path.abspath(home), os.getcwd()
    script = scripts.load(options.script)
    settings = settings_files.load(home, options.settings)
    session_id, source = choose_session(options, home, cwd)
    if not (os.isatty(0) and os.isatty(1)):
        raise BadUsage("needs a terminal, such as a tmux pane")
    session = Session(
        home=home,
        cwd=cwd,
        session_id=session_id,
        model=options.model,
        permission_mode=options.permission_mode,
    )
    terminal = Terminal()
    terminal.make_raw()
    try:
        return _serve(options, script, settings, session, source, terminal)
    finally:
        terminal.leave()


def _serve(
    options: Options,
    script: scripts.Script,
    settings: settings_files.Settings,
    session: Session,
    source: str,
    terminal: Terminal,
) -> int:
    loop = Loop()
    children = Children(loop)
    transcript = Transcript(session, Appender(loop, script.client.transcript_lag_seconds))
    queue = PromptQueue(transcript)
    parts = Parts(
        loop=loop,
        display=Display(loop, terminal, session, queue, script.client.placeholder),
        session=session,
        transcript=transcript,
        model=Model(script.playbook, session.cwd),
        hooks=Hooks(settings, session, children),
        children=children,
        permissions=Permissions(settings.allow, session.cwd),
        background=Background(session, children),
        client=script.client,
        faults=Faults(script.client),
        queue=queue,
        known_files=set(),
    )
    if options.name is not None:
        parts.display.title = parts.transcript.title = options.name
    if source == "resume":
        recall(parts)
    agent = Agent(parts, terminal, source=source, prompt=options.prompt)
    agent.start()
    loop.run()
    loop.close()
    return agent.status
