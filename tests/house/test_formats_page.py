"""docs/formats.md names every path of the layout and every schema."""

import inspect
import re
from pathlib import Path

import pytest

from fleet.formats import record
from fleet.formats.layout import FOLDERS, Layout

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text()
#: What a parameter's value looks like on the page.
SHOWN = {
    "agent_id": "<id>", "old_id": "<id>", "dispatch_id": "<dispatch>", "nonce": "<nonce>", "project": "<project>",
    "task_id": "<task>", "key": "<key>", "repository": "<repository>", "digest": "<sha256>", "pane_id": "<pane>",
    "time": "<time>",
}  # fmt: skip


def paths():
    """Every path that `Layout` knows, relative to the home, with placeholders for what varies."""
    layout = Layout("/home")
    found = set(FOLDERS) | {value for name, value in vars(layout).items() if name != "home"}
    for name, method in inspect.getmembers(layout, inspect.ismethod):
        parameters = list(inspect.signature(method).parameters)
        if name != "make" and not name.startswith("_"):
            found.add(method(*(SHOWN[one] for one in parameters)))
    return sorted(path.removeprefix("/home/") for path in found)


@pytest.mark.parametrize("path", paths())
def test_every_path_of_the_layout_is_described(path):
    """A file, or a folder with what lies in it, stands in a code span of the page."""
    assert re.search(rf"`{re.escape(path)}(?:`|/)", PAGE), path


@pytest.mark.parametrize("name", sorted(p.name for p in (ROOT / "config" / "schemas").glob("*.json")))
def test_every_schema_is_named(name):
    """The page says what each schema describes."""
    assert f"`{name}`" in PAGE


@pytest.mark.parametrize("name", sorted(record.TYPES))
def test_every_field_of_a_record_is_described(name):
    """The record's table names each field that fleet knows."""
    assert f"`{name}`" in PAGE
