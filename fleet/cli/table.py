"""The commands in the order of the help. Only the module of the one that is run is imported."""

from __future__ import annotations

COMMANDS: dict[str, tuple[str, str]] = {
    "dispatch": ("dispatch", "start an agent on a task"),
    "list": ("list_agents", "all agents and what they are doing"),
    "show": ("show", "everything known of one agent"),
    "peek": ("peek", "an agent's screen, without attaching"),
    "attach": ("attach", "go to an agent's session"),
    "send": ("send", "send a message to agents"),
    "handoff": ("handoff", "replace an agent by a successor with a fresh context"),
    "stop": ("stop", "end an agent"),
    "events": ("events", "what happened to an agent"),
    "queue": ("queue", "handoffs that wait, and those given up"),
    "drain": ("drain", "the loop that carries handoffs and messages out"),
    "fake-agent": ("fake_agent", "a scriptable fake coding agent for demonstrations and tests"),
}
