"""The launch file: a start's journal, its gate and its mark."""

import os

import pytest

from fleet.errors import BadFile, NewerSchema
from fleet.formats import launch
from fleet.formats.atomic import encode, write_file

LAUNCH = {
    "schema_version": 1, "id": "a1b2c3d4", "nonce": "n1", "dispatch_id": "0f1e2d3c", "origin": "dispatch",
    "project": "default", "task_id": "fix-login", "engine": "claude-code", "role": "executor", "mode": "execute",
    "cwd": "/home/dev/project", "session": "fleet-a1b2c3d4", "env": {"PATH": "/bin", "X": "caf\udce9"},
    "argv": ["claude", "--", "do it"],
}  # fmt: skip


def test_a_launch_is_read_back(layout):
    """With an environment that is not UTF-8 too; for its user's eyes only."""
    launch.write(layout, LAUNCH)
    assert LAUNCH == launch.read(layout, "a1b2c3d4")
    assert 0o600 == os.stat(layout.launch_file("a1b2c3d4")).st_mode & 0o777


@pytest.mark.parametrize(
    ("field", "value"),
    [("id", "b2c3d4e5"), ("id", None), ("nonce", None), ("cwd", 7), ("session", []), ("env", None), ("env", []),
     ("env", {"X": 1}), ("argv", []), ("argv", "claude"), ("argv", ["claude", None])],
)  # fmt: skip
def test_a_launch_that_could_not_be_executed_is_refused(layout, field, value):
    """By the name of its file."""
    write_file(layout.launch_file("a1b2c3d4"), encode({**LAUNCH, field: value}))
    with pytest.raises(BadFile, match=r"a1b2c3d4\.json: "):
        launch.read(layout, "a1b2c3d4")


def test_a_newer_launch_is_refused(layout):
    """It was journaled by a newer fleet."""
    write_file(layout.launch_file("a1b2c3d4"), encode({**LAUNCH, "schema_version": 2}))
    with pytest.raises(NewerSchema):
        launch.read(layout, "a1b2c3d4")


def test_a_gate_opens_once_and_for_its_own_try(layout):
    """What released an earlier try does not release a later one."""
    assert not launch.is_released(layout, "a1b2c3d4", "n1")
    assert [True, False] == [launch.release(layout, "a1b2c3d4", "n1") for _ in range(2)]
    assert launch.is_released(layout, "a1b2c3d4", "n1")
    assert not launch.is_released(layout, "a1b2c3d4", "n2")
    assert not launch.is_started(layout, "a1b2c3d4", "n1")


def test_only_launch_files_name_launches(layout):
    """Settings, prompts, gates and temporary files are passed over."""
    for name in ("b2c3d4e5.json", "a1b2c3d4.json", "a1b2c3d4.settings.json", "a1b2c3d4.prompt", "a1b2c3d4.n1.open",
                 ".c3d4e5f6.json.1.ab.tmp", "README.json"):  # fmt: skip
        write_file(os.path.join(layout.launch, name), b"")
    assert ["a1b2c3d4", "b2c3d4e5"] == launch.ids(layout)


def test_removing_a_launch_takes_all_of_it_and_nothing_else(layout):
    """Settings, prompt, gate and mark of that agent, the journal last; repeating it does no harm."""
    for name in ("a1b2c3d4.json", "a1b2c3d4.settings.json", "a1b2c3d4.prompt", "a1b2c3d4.n1.open", "b2c3d4e5.json"):
        write_file(os.path.join(layout.launch, name), b"")
    for _ in range(2):
        launch.remove(layout, "a1b2c3d4")
    assert ["b2c3d4e5.json"] == os.listdir(layout.launch)
