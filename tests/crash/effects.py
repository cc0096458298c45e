"""One command of fleet, or one hook, with every effect it has on the world named, and a kill at any of them.

    python -m tests.crash.effects PLAN.json ARGUMENTS OF FLEET...

    {"log": "…", "home": "…", "names": {"a1b2c3d4": "OLD"}, "at": "replace agents/OLD.json#1", "when": "after",
     "victim": "drain", "socket": "…", "hook_launcher": "…", "later_seconds": 0,
     "hook_seconds": 10}

The log gets one line for each effect, `looks` included: calls that change nothing, named by the effect they follow so
that polling does not multiply them. An effect is named by what it does, to which file, and for the how manyth time;
never by a number of its own, which would shift with every look. Standard library only: hooks run it as well.
"""

import json
import os
import re
import signal
import sys
import threading

LOOKS = frozenset({
    "list-panes", "has-session", "capture-pane", "display-message", "-V",
    "status", "diff", "log", "rev-parse", "rev-list", "ls-files", "config", "for-each-ref", "symbolic-ref", "reflog",
    "worktree-list",
})  # fmt: skip
TEMPORARY = re.compile(r"(\.\d+\.[0-9a-f]{8}\.tmp)+(?=/|$)")
DOCUMENT = re.compile(r"-\d{8}-\d{6}-[0-9a-f]{4}\.")
SAVED = re.compile(r"-\d{8}-\d{6}\.patch")
OBJECT = re.compile(r"/objects/[0-9a-f]{2}(/[0-9a-f]{38})?$")
NUMBERS = re.compile(r"\b(?:\d{8}-)?(?:[0-9a-f]{64}|[0-9a-f]{16}|[0-9a-f]{8})\b")
WRITES = os.O_WRONLY | os.O_RDWR


class Effects:
    """Names effects as they come, logs them, and kills at the planned one."""

    def __init__(self, plan):
        self._plan = plan
        self._home = plan["home"]
        self._names = plan.get("names", {})
        self._counts = {}
        self._last = "the start"
        self._lock = threading.RLock()
        self._inside = threading.local()
        self._open, self._write, self._kill = os.open, os.write, os.kill
        self._log = self._open(plan["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)

    def target(self, path):
        """A path as it is called in every run."""
        try:
            text = os.fspath(path)
        except TypeError:
            text = self._of_descriptor(path)
        text = os.fsdecode(text)
        if text.startswith(self._home):
            text = text[len(self._home) :].lstrip("/")
        text = DOCUMENT.sub("-DOC.", TEMPORARY.sub(".tmp", text))
        text = SAVED.sub("-TIME.patch", OBJECT.sub("/objects/~", text))
        for name, called in self._names.items():
            text = text.replace(name, called)
        return NUMBERS.sub("~", text)

    @staticmethod
    def _of_descriptor(fd):
        try:
            return os.readlink(f"/proc/self/fd/{fd}").removesuffix(" (deleted)")
        except OSError:
            return f"fd {fd}"

    def _is_ours(self, path):
        text = self._of_descriptor(path) if isinstance(path, int) else os.fsdecode(path)
        return text.startswith(self._home + "/")

    def around(self, kind, target, call, *, look=False):
        """Run *call*, the effect of that name, and be killed before or after it when that is the plan."""
        if getattr(self._inside, "effect", False):
            return call()
        with self._lock:
            key = f"{kind} {target} after {self._last}" if look else f"{kind} {target}"
            count = self._counts[key] = self._counts.get(key, 0) + 1
            if look and count > 1:
                key = None
            else:
                key = key if look else f"{key}#{count}"
                self._write(self._log, (json.dumps([key, look]) + "\n").encode())
            if not look:
                self._last = key
        self._inside.effect = True
        try:
            self._strike(key, "before")
            result = call()
            self._strike(key, "after")
        finally:
            self._inside.effect = False
        return result

    def _strike(self, key, when):
        plan = self._plan
        if key is None or plan.get("at") != key or plan.get("when") != when:
            return
        victim = plan["victim"]
        if victim == "drain":
            self._write(self._log, json.dumps(["KILLED", 1]).encode() + b"\n")
            self._kill(os.getpid(), signal.SIGKILL)
        hit = strike(victim, plan)
        self._write(self._log, json.dumps(["KILLED", hit]).encode() + b"\n")

    def install(self):
        """Stand between the program and the system."""
        real_open = self._open

        def opening(path, flags, *args, **kwargs):
            changes = flags & WRITES and self._is_ours(path) and (flags & os.O_TRUNC or not os.path.exists(path))
            if not changes:
                return real_open(path, flags, *args, **kwargs)
            return self.around("open", self.target(path), lambda: real_open(path, flags, *args, **kwargs))

        os.open = opening
        for name in ("write", "fsync"):
            self._wrap_descriptor(name)
        for name in ("replace", "rename", "link", "unlink", "mkdir", "rmdir", "utime"):
            self._wrap_path(name)
        self._wrap_others()

    def _wrap_descriptor(self, name):
        real = getattr(os, name)

        def wrapped(fd, *args):
            if fd == 1 and sys.flags.isolated:  # what a hook says
                return self.around(name, "stdout", lambda: real(fd, *args))
            if not self._is_ours(fd):
                return real(fd, *args)
            return self.around(name, self.target(fd), lambda: real(fd, *args))

        setattr(os, name, wrapped)

    def _wrap_path(self, name):
        real = getattr(os, name)

        def wrapped(path, *args, **kwargs):
            two = name in ("replace", "rename", "link")
            target = self.target(args[0] if two else path)
            if not os.path.lexists(path) and name != "mkdir":
                return real(path, *args, **kwargs)  # it fails, and that is no effect
            return self.around(name, target, lambda: real(path, *args, **kwargs))

        setattr(os, name, wrapped)

    def _wrap_others(self):
        real_kill = os.kill

        def killing(pid, number):
            name = signal.Signals(number).name if number else "0"
            return self.around("kill", name, lambda: real_kill(pid, number), look=not number)

        os.kill = killing
        real_spawn = os.posix_spawn
        os.posix_spawn = lambda path, argv, env, **more: self.around(
            "spawn", "drain" if "drain" in argv else os.path.basename(path), lambda: real_spawn(path, argv, env, **more)
        )
        import subprocess

        effects, real_run = self, subprocess.run

        class Popen(subprocess.Popen):
            """Started and left alone: the process goes on when its parent is killed."""

            def __init__(self, args, *more, **kwargs):
                name, look = _command(args)
                start = super().__init__
                effects.around("popen", name, lambda: start(args, *more, **kwargs), look=look)

        def run(args, *more, **kwargs):
            name, look = _command(args)
            return effects.around("run", name, lambda: real_run(args, *more, **kwargs), look=look)

        subprocess.Popen, subprocess.run = Popen, run
        if not sys.flags.isolated:  # hooks make no sessions
            self._wrap_session()

    def _wrap_session(self):
        """The making of a session, around the process that libtmux starts for it, which is an effect of its own."""
        from fleet.tmux.panes import TmuxPanes

        real = TmuxPanes.open
        TmuxPanes.open = lambda *args, **kwargs: self.around_outer("make", "session", lambda: real(*args, **kwargs))

    def around_outer(self, kind, target, call):
        """As `around`, but what happens within is named, too."""
        with self._lock:
            count = self._counts[f"{kind} {target}"] = self._counts.get(f"{kind} {target}", 0) + 1
            key = f"{kind} {target}#{count}"
            self._write(self._log, (json.dumps([key, False]) + "\n").encode())
        self._strike(key, "before")
        result = call()
        self._strike(key, "after")
        return result


def _command(args):
    """What a command line is called, and whether it only looks."""
    words = [os.fsdecode(word) for word in args]
    program, rest = os.path.basename(words[0]), words[1:]
    if program == "tmux":
        rest = [word for at, word in enumerate(rest) if not word.startswith("-") and rest[at - 1] != "-S"] or rest
    elif program == "git":
        rest = [word for at, word in enumerate(rest) if word[0] != "-" and rest[at - 1] not in ("-C", "-c")]
        if rest == ["worktree", "list"]:
            rest = ["worktree-list"]
    elif "drain" in rest:
        program, rest = "fleet", ["drain"]
    else:
        rest = []
    verb = rest[0] if rest else ""
    return f"{program} {verb}".strip(), verb in LOOKS


def strike(victim, plan):
    """Kill what the plan names beside the program itself: tmux, or the old or the new agent; how many processes."""
    from tests.crash import processes

    if victim == "nobody":  # somebody else does something at that moment
        import subprocess

        return subprocess.run(plan["command"], check=True, capture_output=True).returncode
    if victim == "tmux":
        found = [pid for pid in processes.pids() if is_server(pid, plan["socket"])]
        return processes.kill_and_wait([(pid, processes.identity(pid)[1]) for pid in found if processes.identity(pid)])
    old = [agent for agent, name in plan["names"].items() if name == "OLD"]
    every = [p for p in processes.of_home(plan["home"]) if p.leader and p.kind in ("engine", "gate")]
    return processes.kill_and_wait([(p.pid, p.start) for p in every if (p.agent in old) == (victim == "old")])


def is_server(pid, socket):
    """Whether a process is the tmux server on that socket."""
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as f:
            words = f.read().split(b"\0")
        with open(f"/proc/{pid}/comm", "rb") as f:
            return f.read().strip() == b"tmux: server" and any(os.fsencode(socket) in word for word in words)
    except OSError:
        return False


def later(seconds):
    """Let the clocks of this process be that much later."""
    if seconds:
        import time

        wall, monotonic = time.time, time.monotonic
        time.time, time.monotonic = lambda: wall() + seconds, lambda: monotonic() + seconds


def main(argv):
    """Run fleet as planned."""
    with open(argv[0], encoding="utf-8") as f:
        plan = json.load(f)
    later(plan.get("later_seconds", 0))
    if plan.get("hook_launcher"):
        from fleet import resources

        resources.hook_launcher = lambda: plan["hook_launcher"]
    if plan.get("hook_seconds"):
        from fleet.drain import delivery
        from fleet.observe import facts

        for module in (delivery, facts):  # and not what engines are told
            assert module.HOOK_SECONDS == 10
            module.HOOK_SECONDS = plan["hook_seconds"]
    if plan.get("log"):
        Effects(plan).install()
    from fleet.cli.main import main as fleet

    return fleet(argv[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
