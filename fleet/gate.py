"""What tmux runs in an agent's pane: hold until released, then become the engine.

Run by hooks/gate.py: `python -I -S gate.py <launch.json> <nonce>`. Of fleet it imports the parser of JSON alone, and of
the standard library only what is C: every start waits for this interpreter (7 ms), `json` and `signal` would
double its time, and `os` would add a fifth (CPython 3.11).

It reads the launch file, goes to the working directory (a missing one is an error, not another directory), waits for
`<id>.<nonce>.open`, makes `<id>.<nonce>.started` with O_EXCL, and execs the engine in the same process, so that the
pane's pid is the engine's. It waits as long as whoever started it lives, and gate_seconds longer: after a crash the
next drain may still adopt it. Python ignores SIGPIPE; an engine must not inherit that.
"""

import _signal as signal  # type: ignore[import-not-found]  # the C half, which loads no enum
import posix
import sys
import time

from fleet.formats import jsontext

POLL_SECONDS, MOST_POLL_SECONDS = 0.01, 0.25  #: the latter behind a hold, which may last for hours
ABANDONED, BAD_LAUNCH, REPEATED, NO_CWD, NO_ENGINE = 75, 78, 76, 77, 127
PASSED_ON = (b"TMUX", b"TMUX_PANE", b"TERM", b"TERM_PROGRAM", b"TERM_PROGRAM_VERSION")


def fail(status: int, text: str) -> "None":
    """Say why on the pane and end."""
    sys.stderr.write("fleet: " + text + "\n")
    sys.exit(status)


def as_bytes(text: str) -> bytes:
    """UTF-8 whatever the locale says; undecodable bytes come back as they were."""
    return text.encode("utf-8", "surrogateescape")


def exists(path: str) -> bool:
    """Whether something that could be looked at is there."""
    try:
        posix.stat(path)
    except OSError:
        return False
    return True


def owner_lives(owner: "dict[str, object]") -> bool:
    """Whether the process that started this launch is still the same process."""
    pid, start = owner.get("pid"), str(owner.get("pid_start", ""))
    try:
        with open(f"/proc/{pid}/stat", "rb") as f:
            return start == "linux-stat:" + f.read().rpartition(b")")[2].split()[19].decode()
    except OSError:
        pass
    if exists("/proc/self") or not isinstance(pid, int):
        return False
    try:
        posix.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True


def hold(folder: str, name: str, spec: "dict[str, object]") -> None:
    """Return when the gate is open."""
    gate = f"{folder}/{name}.open"
    begun = time.monotonic()
    deadline = begun + float(str(spec.get("gate_seconds", 300)))
    owner = spec.get("owner")
    while not exists(gate):
        if time.monotonic() > deadline and not (isinstance(owner, dict) and owner_lives(owner)):
            fail(ABANDONED, "nobody released this agent; it was never started")
        waited = time.monotonic() - begun
        time.sleep(min(max(POLL_SECONDS, waited / 50), MOST_POLL_SECONDS))  # noqa: TID251  # runs without fleet


def main() -> None:
    """Hold, then become the engine."""
    path, nonce = sys.argv[1:3]
    try:
        with open(path, "rb") as f:
            spec = jsontext.loads(f.read().decode("utf-8", "surrogatepass"))
        argv = [as_bytes(a) for a in spec["argv"]]
        if spec.get("prompt_at") is not None:
            with open(spec["prompt_file"], "rb") as f:
                prompt, at = f.read(), spec["prompt_at"]
            if spec.get("prompt_joined"):
                argv[at - 1] += prompt
            else:
                argv.insert(at, prompt)
        env = {as_bytes(k): as_bytes(v) for k, v in spec["env"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as e:
        return fail(BAD_LAUNCH, f"cannot use {path}: {e!r}")
    if spec.get("nonce") != nonce:
        return fail(REPEATED, "this launch was replaced by a later one")
    folder, name = path.rpartition("/")[0], f"{spec['id']}.{nonce}"
    try:
        posix.chdir(spec["cwd"])
    except OSError as e:
        return fail(NO_CWD, f"cannot enter {spec['cwd']}: {e.strerror}")
    hold(folder, name, spec)
    try:
        flags = posix.O_WRONLY | posix.O_CREAT | posix.O_EXCL | posix.O_CLOEXEC
        posix.close(posix.open(f"{folder}/{name}.started", flags, 0o600))
    except FileExistsError:
        return fail(REPEATED, "this launch has been started before")
    env.update((k, posix.environ[k]) for k in PASSED_ON if k in posix.environ)
    env[b"PWD"] = as_bytes(spec["cwd"])
    sys.stdout.write("\033[2J\033[3J\033[H")
    sys.stdout.flush()
    for one in ("SIGPIPE", "SIGXFSZ"):
        if hasattr(signal, one):
            signal.signal(getattr(signal, one), signal.SIG_DFL)
    try:
        posix.execve(argv[0], argv, env)  # becoming the engine is the point
    except OSError as e:
        return fail(NO_ENGINE, f"cannot start {argv[0].decode('utf-8', 'surrogateescape')}: {e.strerror}")
