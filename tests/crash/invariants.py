"""What must hold while anything is killed, and what must be left when one more pass is over."""

import json
import os
import threading
import time

from fleet.formats import handoff_doc
from fleet.formats.texts import SECTIONS
from tests.crash import processes

SECONDS = 0.004  #: between two samples


class Monitor(threading.Thread):
    """
    Looks at processes, queue and documents all the time; `broken` says what it saw that must never be.

    Two engines are proved before they are called two: both still are what they were after the second was seen. A task without engine is proved by two empty looks with no queue entry between them.
    """

    def __init__(self, layout, tasks=()):
        super().__init__(name="invariants", daemon=True)
        self._layout = layout
        self._ignore = frozenset(processes.pids())
        self._over = threading.Event()
        self.broken = []
        self.samples = 0
        self.engines = {}  #: every engine process ever seen: (pid, start) to (task, agent id)
        self.tasks = set(tasks)  #: those that must be worked on, or be in the queue

    def also(self, running):
        """Processes that were there before, and are to be looked at nevertheless."""
        self._ignore -= {one.pid for one in running}
        return self

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        self.join(30)

    def run(self):
        while not self._over.is_set():
            try:
                self.sample()
            except BaseException as e:
                self._say(f"the monitor failed: {e!r}")
                raise
            self._over.wait(SECONDS)

    def _say(self, text):
        if text not in self.broken:
            self.broken.append(text)

    def _at_work(self):
        return [p for p in processes.of_home(self._layout.home, self._ignore) if p.kind == "engine"]

    def sample(self):
        """One look."""
        self.samples += 1
        seen = self._at_work()
        self._two_engines(seen)
        owed = self._owed()
        for entry in owed.values():
            self._document(entry)
        idle = self.tasks - {p.task for p in seen} - {entry["task_id"] for entry in owed.values()}
        if idle:
            idle -= {p.task for p in self._at_work()}
        for task in idle & self.tasks:
            self._say(f"task {task}: no engine, and no queue entry that would start one")
        for one in seen:
            self.engines[one.pid, one.start] = (one.task, one.agent)

    def _two_engines(self, seen):
        by_task = {}
        for one in seen:
            by_task.setdefault(one.task, []).append(one)
        for task, several in by_task.items():
            for first, second in zip(several, several[1:], strict=False):
                if all(processes.look(one.pid, self._layout.home) == one for one in (first, second)):
                    self._say(f"task {task}: two engines at work, {first} and {second}")

    def _owed(self):
        """The handoffs that are queued or given up, by the path of their entry; none of them half-written."""
        found = {}
        for folder in (self._layout.queue, self._layout.dead):
            for name in _names(folder):
                if not name.startswith("spawn-fresh-"):
                    continue
                path = os.path.join(folder, name)
                try:
                    with open(path, "rb") as f:
                        found[path] = json.loads(f.read())
                except FileNotFoundError:
                    continue
                except ValueError:
                    self._say(f"{path} is half-written")
        return found

    def _document(self, entry):
        path = entry["handoff_doc"]
        trouble = document_trouble(path)
        queued = self._layout.entry(entry["old_agent_id"])
        if trouble and os.path.exists(queued):
            self._say(f"{path}: {trouble}")


def _names(folder):
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


def document_trouble(path):
    """What is wrong with a handoff document; empty when it is whole."""
    try:
        with open(path, encoding="utf-8") as f:
            text = f.read()
    except FileNotFoundError:
        return "the handoff document is lost"
    parsed = handoff_doc.parse(text)
    headings = [line[3:] for line in text.split("\n") if line.startswith("## ")]
    if parsed is None or set(parsed[0]) != set(handoff_doc.FIELDS) or headings != list(SECTIONS):
        return "the handoff document is half-written"
    return ""


def leftovers(layout, living):
    """Every file of the fleet home that belongs to nobody when only the agents *living* are there."""
    found = []
    for folder, _, files in os.walk(layout.home):
        inside = os.path.relpath(folder, layout.home)
        for name in files:
            path = os.path.join(inside, name)
            if _is_abandoned(name) if name.endswith(".tmp") else not _belongs(inside, name, living):
                found.append(path)
    return sorted(found)


def _is_abandoned(name):
    """Whether the process that was writing that temporary file is no more."""
    return processes.identity(int(name.split(".")[-3])) is None


def _belongs(folder, name, living):
    agent = name.split(".")[0].split("-")[0]
    match folder.split(os.sep):
        case ["agents"] | ["launch"] | ["events"] | ["drafts"]:
            return agent in living
        case ["queue", *_]:
            return False
        case ["inbox", "archive" | "ops" | "bodies", *_]:
            return True
        case ["inbox", owner]:
            return owner in living
        case ["inbox"]:
            return False
        case ["run"]:
            return name != "drain.json"
        case _:
            return True


def wait_for(condition, seconds, what, *, poll_seconds=0.02):
    """The first true value of *condition*."""
    end = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(poll_seconds)
