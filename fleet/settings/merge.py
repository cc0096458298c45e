"""What is to stand in a settings file, as edits of its text: pure, from the old text to the new one.

Claude Code's settings.json and Codex's hooks.json hold hooks in the same shape:
{"hooks": {EVENT: [{"matcher"?, "hooks": [{"type": "command", "command", "timeout"?}]}]}}.
Everything that is not ours stays where and as it is. An entry of ours is brought up to date where it stands; what is
ours twice, or for an event that is no longer used, goes. Removing takes containers with it that hold nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass

from fleet.settings import edit, tags
from fleet.settings.scan import Malformed, Node, scan

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

#: The object a file that is missing or empty begins with.
EMPTY = "{}\n"


@dataclass(frozen=True, slots=True)
class Wanted:
    """What fleet wants in one file of one engine."""

    engine: str
    hooks: Mapping[str, str]  #: event to command
    timeouts: Mapping[str, int]  #: event to seconds
    python: str
    status_launcher: str | None = None  #: None: a status line is left alone


@dataclass(frozen=True, slots=True)
class Place:
    """One hook of ours in the text: `hooks.EVENT[group].hooks[index]`."""

    event: str
    group: int
    index: int
    alone: bool  #: its group holds nothing else


def install(text: str, wanted: Wanted) -> str:
    """
    The text with our entries in it, each once.

    Raises:
        Malformed: it is no JSON object of that shape; nothing of it was changed.
    """
    text = text if text.strip("\ufeff \t\r\n") else text.rstrip(" \t\r\n") + EMPTY
    for event, command in wanted.hooks.items():
        places = _places(scan(text), text, wanted.engine, event)
        if not places:
            text = _add_hook(text, event, {"type": "command", "command": command, "timeout": wanted.timeouts[event]})
            continue
        path: list[str | int] = ["hooks", event, places[0].group, "hooks", places[0].index]
        entry = edit.find(scan(text), path)
        if _command(entry) != command:
            text = edit.replace(text, [*path, "command"], command)
    text = _drop(text, wanted.engine, lambda place, first: not first or place.event not in wanted.hooks)
    return _install_status(text, wanted) if wanted.status_launcher else text


def uninstall(text: str, engine: str) -> str:
    """The text without anything of ours. Raises Malformed as `install` does."""
    if not text.strip("\ufeff \t\r\n"):
        return text
    text = _drop(text, engine, lambda _place, _first: True)
    status = _status(scan(text), text)
    found = tags.read_status(_command(status), engine) if status else None
    if found is None:
        return text
    if found.wrapped is not None:
        return edit.replace(text, ["statusLine", "command"], found.wrapped)
    return edit.remove(text, [], {scan(text).keys["statusLine"]})


def _add_hook(text: str, event: str, hook: dict[str, object]) -> str:
    root = scan(text)
    hooks = root.get("hooks")
    if hooks is None:
        return edit.add(text, [], {event: [{"hooks": [hook]}]}, "hooks")
    if hooks.get(event) is None:
        return edit.add(text, ["hooks"], [{"hooks": [hook]}], event)
    return edit.add(text, ["hooks", event], {"hooks": [hook]})


def _install_status(text: str, wanted: Wanted) -> str:
    assert wanted.status_launcher is not None
    status = _status(scan(text), text)
    if status is None:
        own = tags.status_command(wanted.python, wanted.status_launcher, wanted.engine, None)
        return edit.add(text, [], {"type": "command", "command": own}, "statusLine")
    now = _command(status)
    found = tags.read_status(now, wanted.engine)
    new = tags.status_command(
        wanted.python, wanted.status_launcher, wanted.engine, found.wrapped if found is not None else now
    )
    return text if new == now else edit.replace(text, ["statusLine", "command"], new)


def _drop(text: str, engine: str, gone: Callable[[Place, bool], bool]) -> str:
    """Take out every hook of ours for which *gone*(place, it is its event's first) holds, and what it leaves empty."""
    while True:
        root = scan(text)
        doomed = None
        for event in _events(root, text):
            places = _places(root, text, engine, event)
            doomed = next((p for i, p in enumerate(places) if gone(p, i == 0)), doomed)
        if doomed is None:
            return text
        text = _take_out(text, root, doomed)


def _take_out(text: str, root: Node, place: Place) -> str:
    path: list[str | int] = ["hooks", place.event, place.group, "hooks"]
    if not place.alone:
        return edit.remove(text, path, {place.index})
    if len(edit.find(root, path[:2]).items) > 1:
        return edit.remove(text, path[:2], {place.group})
    hooks = edit.find(root, path[:1])
    if len(hooks.items) > 1:
        return edit.remove(text, path[:1], {hooks.keys[place.event]})
    return edit.remove(text, [], {root.keys["hooks"]})


def _events(root: Node, text: str) -> list[str]:
    """The events of the file; Malformed when it has another shape."""
    if root.kind != "object":
        raise Malformed(text, root.start, f"the file holds {_a(root)}, not an object")
    hooks = root.get("hooks")
    if hooks is None:
        return []
    if hooks.kind != "object":
        raise Malformed(text, hooks.start, f"hooks is {_a(hooks)}, not an object")
    for event, at in hooks.keys.items():
        if hooks.items[at].kind != "array":
            raise Malformed(text, hooks.items[at].start, f"hooks.{event} is {_a(hooks.items[at])}, not an array")
    return list(hooks.keys)


def _places(root: Node, text: str, engine: str, event: str) -> list[Place]:
    """Our hooks of *event*, in their order."""
    if event not in _events(root, text):
        return []
    found = []
    for number, group in enumerate(edit.find(root, ["hooks", event]).items):
        inner = group.get("hooks") if group.kind == "object" else None
        if inner is None or inner.kind != "array":
            raise Malformed(text, group.start, f"hooks.{event}[{number}] is not an object with an array of hooks")
        for index, hook in enumerate(inner.items):
            if tags.read_hook(_command(hook), engine, event):
                alone = len(inner.items) == 1 and set(group.keys) <= {"hooks", "matcher"}
                found.append(Place(event, number, index, alone))
    return found


def _status(root: Node, text: str) -> Node | None:
    """The status line's object; Malformed when it is something that cannot be wrapped."""
    status = root.get("statusLine")
    if status is not None and _command(status) is None:
        raise Malformed(text, status.start, "statusLine is not an object with a command")
    return status


def _command(node: Node) -> str | None:
    command = node.get("command") if node.kind == "object" else None
    return command.value if command is not None and command.kind == "string" else None


def _a(node: Node) -> str:
    return {"object": "an object", "array": "an array", "string": "a text"}.get(node.kind, "a plain value")
