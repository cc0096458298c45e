"""Gathering an agent's whole history for `fleet export`: every file of its dispatch, of all generations, redacted.

Environment values are never exported: they are taken out of launch files and waiting dispatches by name, and wherever
else one of a telling name occurs. Prompts, messages, documents and transcripts are the point and stay, redacted.
A file is read only when it is a plain one that lies in the home, by no link; one that vanishes meanwhile is listed.
"""

from __future__ import annotations

import json
import os
import re
import stat

from fleet.errors import FleetError, NotFound, Unreachable
from fleet.formats import jsontext
from fleet.formats.atomic import encode
from fleet.formats.redaction import MARK, Redactor, is_secret_name
from fleet.operate import archive, log_files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from fleet.app import Fleet
    from fleet.model.agent import Agent

ENVIRONMENTS = frozenset({"env", "environment", "drain_env"})
MAX_TEXT_BYTES = 64 * 1024 * 1024  #: of a larger file the end is exported


class Export:
    """
    One export.

    Args:
        redacted: also by names and shapes; environment values go in any case.
        transcripts: also a copy of each engine's log.
    """

    def __init__(self, fleet: Fleet, *, redacted: bool, transcripts: bool) -> None:
        self._fleet = fleet
        self._redacted = redacted
        self._transcripts = transcripts
        self._known: list[str] = []
        self.entries: list[archive.Entry] = []
        self.unread: list[dict[str, str]] = []
        self.notes: list[str] = []
        self.agents: list[str] = []

    def gather(self, agent: Agent, views: dict[str, dict[str, Any]], versions: dict[str, Any]) -> None:
        """
        Collect everything.

        Args:
            views: `fleet show --json` of each generation.
            versions: of fleet, tmux and the engines.
        """
        self.agents = list(views)
        self._learn()
        for path in sorted(self._paths(agent.dispatch_id)):
            self._file(path)
        self._screens()
        self._logs(frozenset({*self.agents, agent.dispatch_id}))
        for agent_id, view in views.items():
            self.add(f"export/show/{agent_id}.json", encode(view))
            if self._transcripts and view.get("transcript_path"):
                self._transcript(agent_id, str(view["transcript_path"]))
        self.add("export/versions.json", encode(versions))

    def redactions(self) -> dict[str, int]:
        """How often which rule took something out."""
        total: dict[str, int] = {}
        for entry in self.entries:
            for rule, count in entry.redactions.items():
                total[rule] = total.get(rule, 0) + count
        return dict(sorted(total.items()))

    def add(self, name: str, data: bytes) -> None:
        """Take one file up, redacted."""
        if not archive.is_safe(name):
            self.unread.append({"path": name, "reason": "its name has characters that an archive may not hold"})
            return
        redactor = Redactor(self._known, shapes=self._redacted)
        text = data.decode("utf-8", "surrogateescape")
        if name.endswith((".json", ".jsonl", ".jsonl.1")):
            text = _json(text, redactor, lines=not name.endswith(".json"))
        else:
            text = redactor.text(text)
        self.entries.append(archive.Entry(name, text.encode("utf-8", "surrogateescape"), redactor.counts))

    def _learn(self) -> None:
        """The values of the agents' environments whose names tell: they go wherever they stand."""
        for path in [self._fleet.layout.launch_file(one) for one in self.agents]:
            try:
                data = jsontext.loads(_read(path)[0].decode("utf-8", "replace"))
            except (OSError, ValueError, RecursionError):
                continue
            env = data.get("env") if isinstance(data, dict) else None
            if isinstance(env, dict):
                self._known += [v for k, v in env.items() if isinstance(v, str) and is_secret_name(k)]

    def _paths(self, dispatch_id: str) -> Iterator[str]:
        """Every file of the home that is of the dispatch or of one of its agents, by its name or its folder."""
        home, ids = self._fleet.layout.home, {*self.agents, dispatch_id}
        bodies: set[str] = set()
        for top in archive.HOME_FOLDERS:
            for folder, folders, names in os.walk(os.path.join(home, top), onerror=self._unwalkable):
                folders[:] = sorted(one for one in folders if one not in (".locks", "locks", "keys"))
                for name in names:
                    path = os.path.join(folder, name)
                    mine = os.path.basename(folder) in ids or not ids.isdisjoint(re.split(r"[-.]", name))
                    if top == "inbox" and mine and (found := re.fullmatch(r"\d{8}-([0-9a-f]{16})\.json", name)):
                        bodies.add(found[1])
                    if mine and not name.startswith(".") and not name.endswith(".lock"):
                        yield path
        yield from (p for one in bodies if os.path.lexists(p := os.path.join(self._fleet.layout.bodies, one + ".md")))
        for name in _names(self._fleet.layout.trees):
            path = os.path.join(self._fleet.layout.trees, name)
            try:
                if any(one.encode() in _read(path)[0] for one in self.agents):
                    yield path
            except OSError:
                continue

    def _unwalkable(self, error: OSError) -> None:
        if not isinstance(error, FileNotFoundError):
            self._missed(str(error.filename), error)

    def _missed(self, path: str, error: OSError) -> None:
        name = os.path.relpath(path, self._fleet.layout.home)
        why = "it vanished meanwhile" if isinstance(error, FileNotFoundError) else error.strerror or str(error)
        self.unread.append({"path": name if not name.startswith("..") else path, "reason": why})

    def _file(self, path: str) -> None:
        home = self._fleet.layout.home
        name = os.path.relpath(path, home)
        if os.path.realpath(os.path.dirname(path)) != os.path.join(os.path.realpath(home), os.path.dirname(name)):
            self.unread.append({"path": name, "reason": "a link leads there; links are not followed"})
            return
        self._read_into("home/" + name, path)

    def _read_into(self, name: str, path: str) -> None:
        try:
            data, whole = _read(path)
        except OSError as e:
            self._missed(path, e)
            return
        if not whole:
            self.notes.append(f"{name}: only its last {len(data)} bytes")
        self.add(name, data)

    def _screens(self) -> None:
        """What an agent that lives shows now, where the screen of an ended one is kept."""
        look = self._fleet.looker()
        for agent_id in self.agents:
            agent = self._fleet.agents.get(agent_id)
            name = f"home/screens/{agent_id}.txt"
            if agent is None or any(e.path == name for e in self.entries):
                continue
            try:
                pane = look.snapshot(agent.socket).of_agent(agent.id, agent.pane_id, agent.server_pid)
                if pane is not None:
                    lines = self._fleet.panes_on(agent.socket or self._fleet.socket).capture(pane.pane_id)
                    self.add(name, ("\n".join(lines) + "\n").encode("utf-8", "surrogateescape"))
            except (Unreachable, NotFound) as e:
                self.unread.append({"path": name, "reason": str(e)})

    def _logs(self, ids: frozenset[str]) -> None:
        """The lines of fleet's own logs that are about these agents."""
        for path in log_files.current(self._fleet.layout):
            tail = log_files.Tail(path)
            try:
                lines = [line for line in tail.read() if log_files.concerns(line, ids)]
            except OSError as e:
                self._missed(path, e)
                continue
            finally:
                tail.close()
            text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
            if lines:
                self.add(f"home/logs/{tail.name}.jsonl", text.encode("utf-8", "surrogateescape"))

    def _transcript(self, agent_id: str, path: str) -> None:
        """A log of an engine: a plain file of ours, and nothing else that a record might name."""
        try:
            ours = path.endswith(".jsonl") and os.path.isabs(path) and os.lstat(path).st_uid == os.getuid()
        except OSError as e:
            self._missed(path, e)
            return
        if not ours:
            self.unread.append({"path": path, "reason": "not a log of an engine of yours"})
            return
        self._read_into(f"export/transcripts/{agent_id}.jsonl", path)


def _names(folder: str) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _read(path: str) -> tuple[bytes, bool]:
    """The bytes of a plain file, of a large one whole lines from its end, and whether that is all. Follows no link."""
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
    with os.fdopen(fd, "rb") as f:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(0, "not a plain file", path)
        if info.st_size <= MAX_TEXT_BYTES:
            return f.read(MAX_TEXT_BYTES), True
        f.seek(info.st_size - MAX_TEXT_BYTES)
        return f.read(MAX_TEXT_BYTES).partition(b"\n")[2], False


def _json(text: str, redactor: Redactor, *, lines: bool) -> str:
    """JSON, or JSON Lines, with its values redacted; what is none is treated as text."""
    if not lines:
        try:
            return encode(redactor.value(_without_environments(jsontext.loads(text), redactor))).decode()
        except (ValueError, RecursionError):
            return redactor.text(text)
    found = []
    for line in text.split("\n"):
        try:
            data = jsontext.loads(line) if line else None
        except (ValueError, RecursionError):
            data = None
        if data is None:
            found.append(redactor.text(line))
        else:
            found.append(json.dumps(redactor.value(_without_environments(data, redactor)), ensure_ascii=False))
    return "\n".join(found)


def _without_environments(value: Any, redactor: Redactor) -> Any:
    """The value with the values of every environment in it taken out."""
    if isinstance(value, dict):
        return {
            k: redactor.environment(v)
            if k in ENVIRONMENTS and isinstance(v, dict)
            else MARK
            if k in ENVIRONMENTS and isinstance(v, str) and "=" in v
            else _without_environments(v, redactor)
            for k, v in value.items()
        }
    return [_without_environments(one, redactor) for one in value] if isinstance(value, list) else value


def write(path: str, manifest: dict[str, Any], entries: list[archive.Entry]) -> None:
    """
    Write an archive, whole or not at all, 0600, over nothing that is there.

    Raises:
        FleetError: there is a file of that name, or it cannot be written.
    """
    temp = os.path.join(os.path.dirname(path), f".{os.path.basename(path)}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
    try:
        fd = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(fd, "wb") as f:
                archive.pack(f, manifest, entries)
                f.flush()
                os.fsync(f.fileno())
            os.link(temp, path)
        finally:
            os.unlink(temp)
    except FileExistsError as e:
        raise FleetError(f"{path} exists already", hint="name another file with --to") from e
    except OSError as e:
        raise FleetError(f"cannot write {path}: {e.strerror}") from e
