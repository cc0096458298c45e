"""The commands in the order of the help, the main job first. Only the module of the one that is run is imported."""

from __future__ import annotations

#: The commands by heading: the name, its module, and what it does.
GROUPS: dict[str, dict[str, tuple[str, str]]] = {
    "the main job": {
        "dispatch": ("dispatch", "start an agent on a task"),
        "list": ("list_agents", "all agents and what they are doing"),
        "attach": ("attach", "go to an agent's session"),
        "peek": ("peek", "an agent's screen, without attaching"),
        "send": ("send", "send a message to agents"),
        "handoff": ("handoff", "replace an agent by a successor with a fresh context"),
        "stop": ("stop", "end an agent"),
    },
    "what agents ask you": {
        "approvals": ("approvals", "every question that agents ask you, with its text and options"),
        "approve": ("approve", "answer an agent's question with yes, or with the option you name"),
        "deny": ("deny", "answer an agent's question with no"),
    },
    "a closer look": {
        "show": ("show", "everything known of one agent"),
        "explain": ("explain", "why fleet thinks what it thinks of an agent"),
        "events": ("events", "what happened to an agent"),
        "logs": ("logs", "fleet's own logs"),
        "digest": ("digest", "the fleet on one page: who waits, what is stuck, what is next"),
        "liveness": ("liveness", "who gets anywhere and who has stalled, measured"),
    },
    "what goes on by itself": {
        "drain": ("drain", "the loop that carries handoffs and messages out"),
        "queue": ("queue", "what waits to be carried out, and what was given up"),
        "hold": ("hold", "what starts and wakes nobody now: limits, lost logins, your own holds"),
        "watch": ("watch", "the watchdog: resume, respawn or report what has stalled"),
        "recover": ("recover", "bring back what ran before a reboot or the end of a tmux server"),
    },
    "their work in git": {
        "worktree": ("worktree", "the git worktrees of agents: who holds what, and what can go"),
        "rescue": ("rescue", "save an agent's uncommitted work as a patch, end it, free its worktree"),
    },
    "in tmux": {
        "keys": ("keys", "a tmux key table for your agents"),
        "status-line": ("status_line", "a short segment for tmux's status-right"),
    },
    "set up and keep in order": {
        "init": ("init", "set fleet up, and put its hooks into your own settings if you ask for it"),
        "config": ("config", "the settings: what is in force and why, and changing them"),
        "doctor": ("doctor", "what is wrong, why it matters and what mends it"),
        "service": ("service", "keep the drain loop running across logins and reboots"),
        "gc": ("gc", "remove what nobody needs any more, by age; dry by default"),
        "completion": ("completion", "the shell's completion of commands, options, agents and tasks"),
        "man": ("man", "the manual pages"),
    },
    "a history for a bug report": {
        "export": ("export", "an agent's whole history as one archive, for a bug report"),
        "import": ("import_history", "look at an exported history"),
    },
    "behind the scenes": {
        "statusline": ("statusline", "wrap the engine's status line and record its context figure"),
        "fake-agent": ("fake_agent", "a scriptable fake coding agent for demonstrations and tests"),
    },
}

COMMANDS = {name: command for group in GROUPS.values() for name, command in group.items()}

#: What tmux, docker, git and the source systems call it: for the hint, nothing more.
KNOWN_AS = {
    "list": ("ls", "ps", "status", "agents", "sessions", "top"),
    "dispatch": ("new", "run", "start", "spawn", "launch", "create", "add"),
    "stop": ("kill", "rm", "remove", "end", "delete"),
    "show": ("info", "inspect", "get"),
    "peek": ("capture", "view", "tail", "cat"),
    "attach": ("open", "enter", "switch", "a"),
    "send": ("message", "msg", "tell", "ask", "inbox", "nudge"),
    "approvals": ("pending", "questions", "permissions"),
    "approve": ("answer", "yes", "accept", "allow"),
    "deny": ("no", "reject"),
    "handoff": ("rotate", "refresh", "restart", "respawn"),
    "hold": ("pause", "freeze", "limits"),
    "digest": ("summary", "report"),
    "watch": ("watchdog", "monitor"),
    "recover": ("resume", "restore", "resurrect"),
    "logs": ("log",),
    "worktree": ("worktrees", "wt"),
    "gc": ("clean", "cleanup", "prune"),
    "drain": ("daemon", "serve", "loop"),
    "keys": ("bind", "bindings"),
    "doctor": ("check", "health", "diagnose"),
    "config": ("settings", "set", "configure"),
    "man": ("help",),
}
