"""What our keys stand upon, one file for each tmux server: `run/keys/<hash of the socket>.json`.

    {"schema_version", "socket", "server": [pid, start time] | null, "prefix", "named", "conf", "before":
     [{"table", "key", "line", "note"}]}

`before` holds what our keys were bound to; a key that is not in it was free. It is written before the first key is
bound and removed after the last is given back, so that a crash in between loses no binding of the user's.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field

from fleet.errors import BadFile
from fleet.formats.atomic import encode, ensure_dir, read_object, remove_file, write_file
from fleet.tmux.bindings import Bound

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.formats.layout import Layout
    from fleet.tmux.bindings import Server

SCHEMA_VERSION = 1


@dataclass(slots=True)
class Journal:
    """The journal of one server."""

    socket: str
    server: tuple[int, int] | None = None  #: pid and start time of the server that has the keys; None: none has
    prefix: str | None = None
    named: bool = False  #: the user named the key, so that it is taken even when it is bound
    conf: str | None = None  #: the tmux.conf with our line
    before: dict[tuple[str, str], Bound] = field(default_factory=dict)

    def is_of(self, server: Server) -> bool:
        """Whether it tells of that very server."""
        return self.server == (server.pid, server.started)


def path(layout: Layout, socket: str) -> str:
    """Where the journal of a server lies."""
    name = hashlib.sha256(os.fsencode(os.path.realpath(socket))).hexdigest()[:16]
    return os.path.join(layout.run, "keys", name + ".json")


def read(layout: Layout, socket: str) -> Journal | None:
    """
    The journal; None when there is none.

    Raises:
        BadFile: it is there and cannot be used.
    """
    name = path(layout, socket)
    try:
        data = read_object(name, schema=SCHEMA_VERSION)
    except FileNotFoundError:
        return None
    try:
        server = data["server"]
        return Journal(
            socket=data["socket"], server=(int(server[0]), int(server[1])) if server else None,
            prefix=data["prefix"], named=bool(data["named"]), conf=data["conf"],
            before={(one["table"], one["key"]): Bound(one["line"], one["note"]) for one in data["before"]},
        )  # fmt: skip
    except (KeyError, TypeError, ValueError, IndexError) as e:
        raise BadFile(name, f"no journal of keys ({e!r})") from e


def write(layout: Layout, journal: Journal) -> None:
    """Write it, and wait until it is on the disk."""
    name = path(layout, journal.socket)
    ensure_dir(os.path.dirname(name))
    before = [{"table": table, "key": key, "line": one.line, "note": one.note}
              for (table, key), one in journal.before.items()]  # fmt: skip
    data = {"schema_version": SCHEMA_VERSION, "socket": journal.socket, "server": journal.server,
            "prefix": journal.prefix, "named": journal.named, "conf": journal.conf, "before": before}  # fmt: skip
    write_file(name, encode(data))


def forget(layout: Layout, socket: str) -> bool:
    """Remove it; whether it was there."""
    return remove_file(path(layout, socket))
