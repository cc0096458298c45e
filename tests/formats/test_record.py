"""The agent record: what is read, what is refused, and who may change which field."""

import json
import multiprocessing
import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import BadFile, NewerSchema
from fleet.formats import record
from fleet.formats.layout import Layout
from tests import memory

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)  # fmt: skip
HEALTH = st.fixed_dictionaries(
    {},
    optional={
        "context_pct": st.none() | st.floats(0, 200),
        "context_source": st.none() | st.text(max_size=5),
        "last_activity_ts": st.none() | st.text(max_size=20),
        "blocked": st.booleans(),
        "blocked_reason": st.none() | st.text(max_size=10),
        "blocked_since": st.none() | st.text(max_size=10),
        "needs_input": st.booleans(),
        "inbox_pending": st.booleans(),
        "handoff_type": st.none() | st.sampled_from(["auto-yellow", "auto-red"]),
        "handoff_type_at": st.none() | st.text(max_size=10),
    },
)


def load(path):
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def test_the_contracts_record_is_read_as_given(write_record, agent_record):
    """Nothing is lost or changed; fields that it leaves out have their defaults."""
    assert {**agent_record(), "conversation_id": None, "transcript_path": None} == record.read(write_record())


def test_a_record_of_fleet_guards_own_dispatcher_is_read(layout):
    """What the source's records lack has a meaning: claude-code, execute, handoff 1, task and dispatch named by the id."""
    with open(layout.record("a1b2c3d4"), "w", encoding="utf-8") as f:
        json.dump({"schema_version": 1, "id": "a1b2c3d4", "handoff_number": 0, "has_pending_question": True}, f)
    read = record.read(layout.record("a1b2c3d4"))
    expected = {
        "engine": "claude-code", "mode": "execute", "role": "executor", "project": "default", "handoff_number": 1,
        "task_id": "a1b2c3d4", "dispatch_id": "a1b2c3d4", "generation": 1, "tmux_session": "fleet-a1b2c3d4",
        "needs_input": False, "handoff_type": None, "has_pending_question": True,
    }  # fmt: skip
    assert expected == {name: read[name] for name in expected}


def test_the_hooks_own_the_health_fields_and_nothing_else():
    """The list of the source system, field by field."""
    assert (
        "context_pct", "context_source", "last_activity_ts", "blocked", "blocked_reason", "blocked_since",
        "needs_input", "inbox_pending", "handoff_type", "handoff_type_at",
    ) == record.HOOK_FIELDS  # fmt: skip


WRONG = {str: 7, int: "7", float: "7", bool: 0, list: "claude", type(None): []}


@pytest.mark.parametrize("field", sorted(set(record.TYPES) - {"id"}))
def test_a_field_of_the_wrong_type_is_refused_by_file_and_name(write_record, field):
    """A reader may rely on every known field's type."""
    wrong = next(value for value in WRONG.values() if not isinstance(value, record.TYPES[field]))
    with pytest.raises(BadFile, match=rf"a1b2c3d4\.json: {field} is {wrong!r}".replace("[", r"\[").replace("]", r"\]")):
        record.read(write_record(**{field: wrong}))


@pytest.mark.parametrize("field", ["pid", "generation", "handoff_number", "context_pct", "server_pid"])
def test_true_is_no_number(write_record, field):
    """JSON's true is refused where a number belongs, although Python would take it for 1."""
    with pytest.raises(BadFile, match=f"{field} is True"):
        record.read(write_record(**{field: True}))


@pytest.mark.parametrize("field", ["pid", "server_pid"])
@pytest.mark.parametrize("pid", [0, -1, -4711])
def test_a_pid_that_means_many_processes_is_refused(write_record, field, pid):
    """A signal to 0 or to a negative number would reach a whole process group."""
    with pytest.raises(BadFile, match=f"{field} is {pid}"):
        record.read(write_record(**{field: pid}))


def test_a_command_is_a_list_of_texts(write_record):
    """What could not be executed is refused when it is read."""
    with pytest.raises(BadFile, match="command is"):
        record.read(write_record(command=["claude", 7]))


@pytest.mark.parametrize("id_", ["b2c3d4e5", None, 7, ["a1b2c3d4"]])
def test_another_agents_record_is_refused(layout, agent_record, id_):
    """A record must carry the id of its file name."""
    with open(layout.record("a1b2c3d4"), "w", encoding="utf-8") as f:
        json.dump(agent_record(id=id_), f)
    with pytest.raises(BadFile, match="it is the record of"):
        record.read(layout.record("a1b2c3d4"))


def test_an_archived_record_may_carry_a_stamp_in_its_name(layout, agent_record):
    """`<id>-<UTC stamp>.json` is the archive's second name for an id."""
    path = os.path.join(layout.archive, "a1b2c3d4-20261130-130000.json")
    with open(path, "w", encoding="utf-8") as f:
        json.dump(agent_record(), f)
    assert "a1b2c3d4" == record.read(path)["id"]


def test_a_newer_record_is_refused_and_left_untouched(layout, write_record):
    """A record of a newer fleet is neither understood nor rewritten."""
    path = write_record(schema_version=2)
    before = Path(path).read_bytes()
    with pytest.raises(NewerSchema, match=r"a1b2c3d4\.json: schema_version 2 is newer than 1"):
        record.merge(layout, "a1b2c3d4", lambda _: {"needs_input": True})
    assert before == Path(path).read_bytes()


def test_an_unreadable_record_is_left_untouched_and_its_lock_given_back(layout):
    """A torn record stops a writer, and the next one does not find it locked."""
    path = layout.record("a1b2c3d4")
    with open(path, "wb") as f:
        f.write(b'{"schema_version": 1, "id": "a1b2')
    for _ in range(2):
        with pytest.raises(BadFile, match="not JSON"), record.Held(layout, "a1b2c3d4", timeout_seconds=0):
            pass
    assert b'{"schema_version": 1, "id": "a1b2' == Path(path).read_bytes()


def test_a_missing_record_is_never_created(layout):
    """A late writer does not bring an archived agent back."""
    asked = []
    assert record.merge(layout, "a1b2c3d4", lambda data: asked.append(data) or {"needs_input": True}) is None
    with record.Held(layout, "a1b2c3d4") as held:
        held.set({"needs_input": True})
        assert held.data is None
    assert [] == asked
    assert not os.path.exists(layout.record("a1b2c3d4"))


@given(st.dictionaries(st.text(), JSON), HEALTH, st.randoms(use_true_random=False))
def test_unknown_fields_and_the_order_of_keys_survive_any_write(agent_record, unknown, fields, random):
    """A write changes the values it names and leaves all others, known or not, as and where they were."""
    items = [*{**unknown, **agent_record()}.items()]
    random.shuffle(items)
    with tempfile.TemporaryDirectory(dir=memory.FOLDER) as home:
        layout = Layout(home)
        os.mkdir(layout.agents)
        path = layout.record("a1b2c3d4")
        with open(path, "w", encoding="utf-8") as f:
            json.dump(dict(items), f)
        record.merge(layout, "a1b2c3d4", lambda _: fields)
        assert [*{**dict(items), **fields}.items()] == [*load(path).items()]


def test_a_default_is_not_written_back(layout):
    """A write to a short record of the source system adds nothing but what it says."""
    path = layout.record("a1b2c3d4")
    with open(path, "w", encoding="utf-8") as f:
        json.dump({"schema_version": 1, "id": "a1b2c3d4"}, f)
    record.merge(layout, "a1b2c3d4", lambda _: {"needs_input": True})
    assert {"schema_version": 1, "id": "a1b2c3d4", "needs_input": True} == load(path)


def test_a_write_that_changes_nothing_does_not_touch_the_file(layout, write_record):
    """The file stays the same file, so watchers are not woken."""
    path = write_record(needs_input=True)
    before = os.stat(path)
    record.merge(layout, "a1b2c3d4", lambda _: {"needs_input": True})
    after = os.stat(path)
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_number_that_becomes_true_is_a_change(layout, write_record):
    """1 and true are different values, although Python calls them equal."""
    path = write_record(extra=1)
    record.merge(layout, "a1b2c3d4", lambda _: {"extra": True})
    assert load(path)["extra"] is True


def test_a_record_is_private(layout, write_record):
    """A record that fleet writes is its user's alone."""
    path = write_record()
    record.merge(layout, "a1b2c3d4", lambda _: {"needs_input": True})
    assert 0o600 == os.stat(path).st_mode & 0o777


def _count_up(layout, field, times):
    for _ in range(times):
        record.merge(
            layout, "a1b2c3d4", lambda data: {field: data.get(field, 0) + 1, "all": data.get("all", 0) + 1}, sync=False
        )


def test_no_update_of_eight_writers_is_lost(layout, write_record):
    """Eight processes that each add one to a shared field and to their own, again and again, are all counted."""
    path = write_record()
    fork = multiprocessing.get_context("fork")
    writers = [fork.Process(target=_count_up, args=(layout, f"writer_{n}", 25)) for n in range(8)]
    for one in writers:
        one.start()
    for one in writers:
        one.join()
    counted = load(path)
    assert 200 == counted["all"]
    assert [25] * 8 == [counted[f"writer_{n}"] for n in range(8)]
    assert ["a1b2c3d4.json", "archive"] == sorted(set(os.listdir(layout.agents)) - {".locks"})


def test_a_lone_surrogate_in_a_record_can_be_read_again(layout, write_record):
    """A working directory that is not UTF-8 does not make its agent's record unreadable."""
    cwd = b"/home/dev/caf\xe9".decode("utf-8", "surrogateescape")
    path = write_record()
    record.merge(layout, "a1b2c3d4", lambda _: {"cwd": cwd})
    assert cwd == record.read(path)["cwd"]
