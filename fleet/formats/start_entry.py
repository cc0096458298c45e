"""A dispatch that waits for its turn: `queue/dispatch-<dispatch_id>.json`.

    {"schema_version": 1, "dispatch_id": "0f1e2d3c", "batch": "aabbccdd", "place": 7, "priority": 0, "at_most": 5,
     "finished": "exit", "enqueued_at": "2026-11-30T13:00:00Z", "prompt": "…", "order": {…}}

`order` holds the fields of `model.orders.Order`; `prompt` is null or the first prompt, a byte that is no UTF-8 as a
lone surrogate. The entry is removed once an agent of that dispatch has
its record: that is the commit point of its start.
"""

from __future__ import annotations

import os

from fleet.errors import BadFile
from fleet.formats.atomic import create_file, encode, read_object
from fleet.formats.ids import is_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fleet.formats.layout import Layout

SCHEMA_VERSION = 1
PREFIX, SUFFIX = "dispatch-", ".json"
FINISHED = ("exit", "idle")  #: what frees an agent's place: its end, or the end of its turn
_TEXTS = ("agent_id", "dispatch_id", "origin", "project", "task_id", "engine", "role", "mode", "cwd", "socket")


def write(layout: Layout, data: Mapping[str, Any]) -> bool:
    """Queue one; False when that dispatch waits already."""
    return create_file(layout.start_entry(data["dispatch_id"]), encode({**data, "schema_version": SCHEMA_VERSION}))


def id_of_name(name: str) -> str | None:
    """The dispatch id in the name of an entry, None for any other name."""
    middle = name.removeprefix(PREFIX).removesuffix(SUFFIX)
    return middle if is_id(middle) and name == f"{PREFIX}{middle}{SUFFIX}" else None


def ids(folder: str) -> list[str]:
    """The dispatches that wait in a folder of the queue."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return []
    return sorted(found for name in names if (found := id_of_name(name)))


def read(path: str) -> dict[str, Any]:
    """
    One entry, checked.

    Raises:
        FileNotFoundError: there is none.
        BadFile: it is there and is none.
    """
    data = read_object(path, schema=SCHEMA_VERSION)
    order = data.get("order")
    if not isinstance(order, dict) or not all(isinstance(order.get(name), str) for name in _TEXTS):
        raise BadFile(path, "no order in it")
    if not all(is_id(one) for one in (data.get("dispatch_id"), data.get("batch"), order["agent_id"])):
        raise BadFile(path, "an id is none")
    if id_of_name(os.path.basename(path)) != data["dispatch_id"]:
        raise BadFile(path, f"it is of dispatch {data['dispatch_id']}")
    for name in ("place", "priority"):
        if isinstance(data.get(name), bool) or not isinstance(data.get(name), int):
            raise BadFile(path, f"{name} is {data.get(name)!r}")
    most = data.get("at_most")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 1):
        raise BadFile(path, f"at_most is {most!r}")
    if data.get("finished") not in FINISHED:
        raise BadFile(path, f"finished is {data.get('finished')!r}")
    return data
