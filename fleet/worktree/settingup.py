"""The set-up command of a repository, run in a fresh tree: no terminal, a deadline, its output in a log."""

from __future__ import annotations

import os
import subprocess

from fleet.errors import Refused
from fleet.git.runner import wait

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def run(command: str, folder: str, env: Mapping[str, str], log: str, seconds: float) -> None:
    """
    Run *command* with `sh -c` in *folder*.

    Raises:
        Refused: it failed; says its last words and where the rest is.
        TimedOut: it ran longer than *seconds*; its process group was killed.
    """
    kept = {name: value for name, value in env.items() if not name.startswith("GIT_")}
    fd = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        process = subprocess.Popen(
            ["/bin/sh", "-c", command], cwd=folder, env=kept, stdin=subprocess.DEVNULL, stdout=fd, stderr=fd,
            start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(fd)
    status = wait(process, seconds, "the set-up command")
    if status == 0 and os.path.getsize(log) == 0:
        os.unlink(log)
    if status != 0:
        how = f"signal {-status}" if status < 0 else f"status {status}"
        last = _last_line(log)
        raise Refused(f"the set-up command ended with {how}" + (f": {last}" if last else ""), hint=f"its output: {log}")


def _last_line(path: str) -> str:
    with open(path, "rb") as f:
        f.seek(0, os.SEEK_END)
        f.seek(max(0, f.tell() - 4096))
        lines = f.read().decode("utf-8", "replace").splitlines()
    text = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return "".join(c if c.isprintable() else "?" for c in text)[:200]
