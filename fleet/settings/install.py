"""Putting fleet's entries into a settings file of the user's, and taking them out again."""

from __future__ import annotations

import codecs
import difflib
import re

from fleet.errors import Refused
from fleet.settings import files, merge
from fleet.settings.files import LEFT_ALONE, Change, SettingsFile
from fleet.settings.scan import Malformed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.settings.merge import Wanted


def install(path: str, wanted: Wanted, *, dry_run: bool = False) -> Change:
    """
    Put our entries into the file at *path*, which is made when it is missing.

    Raises:
        Refused: with file, line and reason; the file was left as it is.
    """
    return files.change(
        path, lambda old, _: _edit(path, old or b"", lambda t: merge.install(t, wanted)), dry_run=dry_run
    )


def uninstall(path: str, engine: str, *, dry_run: bool = False) -> Change:
    """
    Take our entries out: byte for byte what stood there before when nothing else was changed since.

    Raises:
        Refused: with file, line and reason; the file was left as it is.
    """

    def make(old: bytes | None, file: SettingsFile) -> bytes | None:
        if old is None:
            return None
        without = _edit(path, old, lambda t: merge.uninstall(t, engine))
        known, before = file.kept(old)
        if without == old or not known:
            return without
        clean = before is None or _edit(path, before, lambda t: merge.uninstall(t, engine)) == before
        return before if clean else without

    return files.change(path, make, dry_run=dry_run)


def diff(change: Change) -> str:
    """The change as a unified diff; line ends are shown as they are."""
    before, after = (_lines(data) for data in (change.before, change.after))
    name = change.path
    old, new = ("/dev/null" if data is None else name for data in (change.before, change.after))
    lines = difflib.unified_diff(before, after, old, new)
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "replace")
    return [line for line in re.split(r"(?<=\n)", text) if line]


def _edit(path: str, old: bytes, make: Callable[[str], str]) -> bytes:
    """The bytes after an edit of their text; the byte order mark, if there is one, is part of it."""
    try:
        if old.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            raise Refused(f"{path}: it is UTF-16, not UTF-8; {LEFT_ALONE}")
        text = old.decode("utf-8")
    except UnicodeDecodeError as e:
        line = old.count(b"\n", 0, e.start) + 1
        raise Refused(f"{path}:{line}: it is not UTF-8; {LEFT_ALONE}") from e
    try:
        return make(text).encode("utf-8")
    except Malformed as e:
        raise Refused(
            f"{path}:{e.line}:{e.column}: {e.reason}; {LEFT_ALONE}", hint="mend it there, or put the entries in by hand"
        ) from e
