"""The archive of `fleet export`: a gzipped tar of plain files, `manifest.json` first, then the others by name.

    manifest.json                the list below
    home/<path in FLEET_HOME>    the agents' own files: records, events, documents, messages, queue entries, screens
    export/show/<id>.json        `fleet show --json` of each agent     export/versions.json   fleet, tmux, the engines
    export/transcripts/<id>.jsonl  a copy of the engine's log

    {"schema_version": 1, "kind": "fleet-export", "exported_at", "dispatch_id", "task_id", "project", "agents": [ids],
     "redacted": bool, "redactions": {rule: count}, "notes": [text],
     "unread": [{"path", "reason"}], "files": [{"path", "bytes", "sha256", "redactions": {rule: count}}]}

Entries are regular files with mode 0600, no owner and no time. Reading trusts nothing: every name, kind, size and hash
is checked against the manifest, and what is read is counted before it is unpacked.
"""

from __future__ import annotations

import hashlib
import io
import os
import tarfile
import zlib
from typing import IO, cast

from fleet.errors import BadFile
from fleet.formats import jsontext
from fleet.formats.atomic import check_schema, encode
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

SCHEMA_VERSION = 1
KIND = "fleet-export"
MANIFEST = "manifest.json"
MAX_FILES = 20_000
MAX_FILE_BYTES = 128 * 1024 * 1024
MAX_TOTAL_BYTES = 1024 * 1024 * 1024
MAX_MANIFEST_BYTES = 16 * 1024 * 1024
HOME_FOLDERS = (
    "agents",
    "queue",
    "handoffs",
    "drafts",
    "inbox",
    "events",
    "launch",
    "screens",
    "tasks",
    "logs",
    "trees",
    "run",
)
_NAME = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


class Entry(NamedTuple):
    """One file of an archive."""

    path: str
    data: bytes
    redactions: dict[str, int]


def pack(target: IO[bytes], manifest: dict[str, Any], entries: list[Entry]) -> None:
    """Write an archive; the manifest gets its list of files."""
    entries = sorted(entries)
    files = [
        {"path": e.path, "bytes": len(e.data), "sha256": hashlib.sha256(e.data).hexdigest(), "redactions": e.redactions}
        for e in entries
    ]
    head = encode({"schema_version": SCHEMA_VERSION, "kind": KIND, **manifest, "files": files})
    import gzip  # noqa: PLC0415  # tarfile's own gzip mode writes the time and the file's name

    with (
        gzip.GzipFile("", "wb", 6, target, mtime=0) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        for path, data in [(MANIFEST, head), *((e.path, e.data) for e in entries)]:
            info = tarfile.TarInfo(path)
            info.size, info.mode = len(data), 0o600
            tar.addfile(info, io.BytesIO(data))


def is_safe(path: object) -> bool:
    """Whether an entry may have that name: one of those above, of plain characters, going nowhere else."""
    if not isinstance(path, str) or len(path) > 250:
        return False
    parts = path.split("/")
    if not all(part and _NAME.issuperset(part) and part.strip(".") for part in parts):
        return False
    if parts[0] == "home":
        return len(parts) > 2 and parts[1] in HOME_FOLDERS
    return parts[0] == "export" and len(parts) > 1


class _Counted(io.RawIOBase):
    """A stream that ends in an error where it gives more than it may."""

    def __init__(self, path: str, source: IO[bytes]) -> None:
        self._path = path
        self._source = source
        self._left = MAX_TOTAL_BYTES + MAX_FILES * 1024 + MAX_MANIFEST_BYTES

    def readable(self) -> bool:
        """It is."""
        return True

    def read(self, size: int = -1) -> bytes:
        """
        As a file's.

        Raises:
            BadFile: it would be too much.
        """
        if size < 0 or size > MAX_FILE_BYTES + 1024:
            raise BadFile(self._path, "an entry is larger than allowed")
        data = self._source.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise BadFile(self._path, f"more than {MAX_TOTAL_BYTES} bytes in it")
        return data


class _NotPlain(Exception):
    """An entry is a link, a device, a folder, or a header of an extended format: none of which we write."""


class _Plain(tarfile.TarInfo):
    """An entry that is refused before tarfile does anything about what it is."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.type not in (tarfile.REGTYPE, tarfile.AREGTYPE) or self.sparse is not None:
            raise _NotPlain(self.name)
        return cast("tarfile.TarInfo", super()._proc_member(archive))  # type: ignore[misc]  # made to be overridden


def _open(stream: _Counted) -> tarfile.TarFile:
    return tarfile.open(fileobj=cast("IO[bytes]", stream), mode="r|", tarinfo=_Plain)


def unpack(path: str) -> Iterator[tuple[str, bytes]]:
    """
    The manifest's bytes, then every file, each checked; nothing that the manifest does not name, and all that it names.

    Raises:
        BadFile, NewerSchema: it is no archive of ours, not whole, not safe, or not what the manifest says.
        OSError: it cannot be read.
    """
    import gzip  # noqa: PLC0415  # paid only where it is used

    try:
        with gzip.open(path, "rb") as unzipped, _open(_Counted(path, cast("IO[bytes]", unzipped))) as tar:
            expected: dict[str, dict[str, Any]] | None = None
            for member in tar:
                limit = MAX_MANIFEST_BYTES if expected is None else MAX_FILE_BYTES
                if not 0 <= member.size <= limit:
                    raise BadFile(path, f"{member.name!r} is larger than allowed")
                stream = tar.extractfile(member)
                data = stream.read(limit) if stream else b""
                if expected is None:
                    expected = _expected(path, member.name, data)
                else:
                    _check(path, expected.pop(member.name, None), member.name, data)
                yield member.name, data
    except _NotPlain as e:
        raise BadFile(path, f"{str(e)!r} is no plain file") from e
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile, ValueError) as e:
        raise BadFile(path, f"not a whole archive of fleet ({e})") from e
    if expected is None or expected:
        missing = f", among them {next(iter(expected))}" if expected else ""
        raise BadFile(path, f"files are missing{missing}")


def manifest_of(path: str, data: bytes) -> dict[str, Any]:
    """
    A manifest, checked.

    Raises:
        BadFile, NewerSchema: it is none of ours, or names what no archive may hold.
    """
    try:
        found = jsontext.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as e:
        raise BadFile(path, "its manifest is not JSON") from e
    if not isinstance(found, dict) or found.get("kind") != KIND:
        raise BadFile(path, "not an archive that fleet export made")
    check_schema(path, found, SCHEMA_VERSION)
    return found


def _expected(path: str, name: str, data: bytes) -> dict[str, dict[str, Any]]:
    if name != MANIFEST:
        raise BadFile(path, f"its first entry is {name!r} and not {MANIFEST}")
    files = manifest_of(path, data).get("files")
    if not isinstance(files, list) or not all(isinstance(one, dict) for one in files) or len(files) > MAX_FILES:
        raise BadFile(path, f"its manifest lists no files, or more than {MAX_FILES}")
    expected = {str(one.get("path")): one for one in files}
    if len({name.lower() for name in expected}) != len(files):
        raise BadFile(path, "a file is there twice")
    for one in files:
        if not is_safe(one.get("path")):
            raise BadFile(path, f"{one.get('path')!r} is no name of a file in an archive")
    sizes = [one.get("bytes") for one in files]
    if not all(type(n) is int and 0 <= n <= MAX_FILE_BYTES for n in sizes) or sum(sizes) > MAX_TOTAL_BYTES:
        raise BadFile(path, "its files are larger than allowed")
    return expected


def _check(path: str, listed: dict[str, Any] | None, name: str, data: bytes) -> None:
    if listed is None:
        raise BadFile(path, f"{name!r} is not in its manifest, or is there twice")
    if listed["bytes"] != len(data) or listed.get("sha256") != hashlib.sha256(data).hexdigest():
        raise BadFile(path, f"{name!r} is not what its manifest says (sha256)")


def stage(folder: str, name: str, data: bytes) -> None:
    """Write one file of an archive below *folder*, 0400, its folders 0700."""
    place = os.path.join(folder, *name.split("/"))
    os.makedirs(os.path.dirname(place), mode=0o700, exist_ok=True)
    fd = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o400)
    with os.fdopen(fd, "wb") as f:
        f.write(data)
