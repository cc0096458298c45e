"""Unpacking an exported history into a home of its own, to be looked at and nothing else."""

from __future__ import annotations

import os
import shutil

from fleet.errors import FleetError, UsageError
from fleet.formats.atomic import encode, ensure_dir
from fleet.formats.ids import is_id
from fleet.formats.layout import Layout
from fleet.formats.times import rfc3339
from fleet.operate import archive

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from fleet.app import Fleet

MOST_COPIES = 1000


def unpack(fleet: Fleet, path: str, into: str | None) -> tuple[str, dict[str, Any]]:
    """
    Check an archive and unpack it; where it lies now, and its manifest. All of it appears at once, or nothing.

    Args:
        into: a folder that is not there or empty; None: a new one under `imports/`.

    Raises:
        BadFile, NewerSchema: the archive is not to be trusted; nothing was unpacked.
        UsageError: the folder is in use, or the archive cannot be read.
    """
    files = archive.unpack(path)
    try:
        manifest = archive.manifest_of(path, next(files)[1])
    except OSError as e:
        raise UsageError(f"cannot read {path}: {e.strerror or e}") from e
    target = _free(into) if into is not None else _new(fleet, str(manifest.get("dispatch_id")))
    ensure_dir(os.path.dirname(target))
    staging = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.urandom(4).hex()}.tmp")
    try:
        os.mkdir(staging, 0o700)
        for name, data in files:
            archive.stage(staging, name.removeprefix("home/"), data)
        for folder in ("agents", "events"):
            os.makedirs(os.path.join(staging, folder), mode=0o700, exist_ok=True)
        archive.stage(staging, archive.MANIFEST, encode(manifest))
        note = {"schema_version": 1, "exported_at": manifest.get("exported_at"), "from": os.path.abspath(path),
                "imported_at": rfc3339(fleet.clock.wall())}  # fmt: skip
        archive.stage(staging, os.path.basename(Layout(staging).inspection), encode(note))
        os.rename(staging, target)
    except OSError as e:
        raise FleetError(f"cannot unpack into {target}: {e.strerror}", hint="nothing was unpacked") from e
    finally:
        shutil.rmtree(staging, ignore_errors=True)
    return target, manifest


def _new(fleet: Fleet, dispatch_id: str) -> str:
    name = dispatch_id if is_id(dispatch_id) else "unknown"
    for number in range(1, MOST_COPIES):
        path = os.path.join(fleet.layout.imports, name if number == 1 else f"{name}-{number}")
        if not os.path.lexists(path):
            return path
    raise UsageError(f"{fleet.layout.imports} is full of imports of {name}", hint="remove some, or give --into DIR")


def _free(folder: str) -> str:
    path = os.path.abspath(folder)
    try:
        if os.listdir(path) or os.path.islink(path):
            raise UsageError(f"{folder} is not empty", hint="an import never goes where something is")
    except FileNotFoundError:
        return path
    except OSError as e:
        raise UsageError(f"{folder}: {e.strerror}", hint="name a folder that is not there, or an empty one") from e
    return path
