"""One marked line in the user's tmux.conf: put in at the end, taken out again, and nothing else of the file touched.

The mark tells what had to be done to make room, so that taking it out gives the very bytes back:
`# fleet-keys` alone, `:newline` when the last line had no end, `:created` when there was no file.
"""

from __future__ import annotations

import os
import re
import stat

from fleet.errors import BadFile, EnvironmentMissing
from fleet.formats.atomic import ensure_dir, read_bytes, write_file

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

MARK = b"# fleet-keys"
_LINE = re.compile(rb"^run-shell [^\n]*# fleet-keys(:created|(?::newline)*)\r?(?:\n|\Z)", re.MULTILINE)
DEFAULT_MODE = 0o644


def places(environ: Mapping[str, str]) -> list[str]:
    """The user's own configurations that tmux reads, in its order."""
    home = environ.get("HOME") or os.path.expanduser("~")
    xdg = environ.get("XDG_CONFIG_HOME")
    found = [os.path.join(home, ".tmux.conf")]
    for folder in [xdg] * bool(xdg) + [os.path.join(home, ".config")]:
        path = os.path.join(folder or "", "tmux", "tmux.conf")
        if path not in found:
            found.append(path)
    return found


def choose(environ: Mapping[str, str]) -> str:
    """The one to write to: the first that is there, else ~/.tmux.conf."""
    known = places(environ)
    return next((path for path in known if os.path.exists(path)), known[0])


def with_line(text: bytes | None, line: str) -> bytes:
    """*text* with *line* as its last, in place of an earlier line of ours."""
    if text is not None and (found := _LINE.search(text)):
        return text[: found.start()] + _marked(line, found[1]) + b"\n" + text[found.end() :]
    if text is None:
        return _marked(line, b":created") + b"\n"
    if text.endswith(b"\\\n"):  # the last line goes on: one more end, or ours would be a part of it
        return text + b"\n" + _marked(line, b":newline") + b"\n"
    if text and not text.endswith(b"\n"):
        extra = b"\n\n" if text.endswith(b"\\") else b"\n"
        return text + extra + _marked(line, b":newline" * len(extra)) + b"\n"
    return text + _marked(line, b"") + b"\n"


def without_line(text: bytes) -> bytes | None:
    """*text* as it was before `with_line`; None when the file is then to be removed."""
    found = _LINE.search(text)
    if found is None:
        return text
    left, right = text[: found.start()], text[found.end() :]
    if found[1] == b":created" and not left and not right:
        return None
    for _ in range(found[1].count(b":newline")):
        if not right and left.endswith(b"\n"):
            left = left[:-1]
    return left + right


def add(path: str, line: str) -> bool:
    """
    Put *line* into the file at *path*; whether that changed it. A link stays a link, the mode stays.

    Raises:
        EnvironmentMissing: it cannot be read or written; nothing was changed.
    """
    text = _read(path)
    return _replace(path, text, with_line(text, line))


def remove(path: str) -> bool:
    """Take our line out of the file at *path*; whether it was there. As `add`."""
    text = _read(path)
    return text is not None and _replace(path, text, without_line(text))


def holds(path: str) -> bool:
    """Whether our line is in the file at *path*."""
    text = _read(path)
    return text is not None and _LINE.search(text) is not None


def _marked(line: str, room: bytes) -> bytes:
    return line.encode("utf-8", "surrogateescape") + b" " + MARK + room


def _read(path: str) -> bytes | None:
    try:
        return read_bytes(path)
    except FileNotFoundError:
        return None
    except BadFile as e:
        raise EnvironmentMissing(f"cannot read {path}: {e.reason}", hint="name another file with --conf") from e


def _replace(path: str, old: bytes | None, new: bytes | None) -> bool:
    real = os.path.realpath(path)
    _tidy(real)
    if old == new:
        return False
    try:
        if new is None:
            os.unlink(real)
            return True
        mode = DEFAULT_MODE if old is None else stat.S_IMODE(os.stat(real).st_mode)
        ensure_dir(os.path.dirname(real))
        mask = os.umask(0)  # the mode is the file's own, whatever the caller's habits
        try:
            write_file(real, new, mode=mode)
        finally:
            os.umask(mask)
    except OSError as e:
        raise EnvironmentMissing(f"cannot write {path}: {e.strerror}", hint="name another file with --conf") from e
    return True


def _tidy(real: str) -> None:
    """Remove what a killed process of ours left beside the file; the caller holds the lock of the keys."""
    folder, name = os.path.split(real)
    left = re.compile(rf"\.{re.escape(name)}\.\d+\.[0-9a-f]{{8}}\.tmp")
    try:
        for other in os.listdir(folder):
            if left.fullmatch(other):
                os.unlink(os.path.join(folder, other))
    except OSError:
        return  # a folder that cannot be listed is told of when it is written to
