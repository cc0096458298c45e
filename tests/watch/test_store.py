"""What the watchdog remembers comes back as it was, and what cannot be used is named and left alone."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.errors import BadFile, NewerSchema
from fleet.formats.layout import Layout
from fleet.model.watchdog import Action, Intent, Memory, Trouble
from fleet.store.watch import Cpu, Watched, WatchStore

TIME = st.floats(0, 1e10)
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
COUNT = st.integers(0, 1000)
INTENT = st.builds(
    Intent, st.sampled_from(list(Action)), st.sampled_from(list(Trouble)), COUNT, COUNT, TEXT, TIME, TEXT
)
MEMORY = st.builds(
    Memory, TEXT, TEXT, COUNT, COUNT, COUNT, st.none() | TIME, st.none() | TIME, st.booleans(), st.booleans(), TIME,
    st.booleans(), st.booleans(), st.none() | TIME, st.none() | TIME, st.none() | INTENT,
)  # fmt: skip
IDS = st.integers(0, 2**32 - 1).map(lambda n: f"{n:08x}")
WATCHED = st.builds(
    Watched, TIME, TIME, TEXT, TIME, st.dictionaries(IDS, MEMORY, max_size=4), st.lists(TIME, max_size=4).map(tuple),
    st.dictionaries(IDS, st.builds(Cpu, TEXT, TIME, TIME, st.none() | TIME), max_size=3),
)  # fmt: skip


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    layout = Layout(str(tmp_path_factory.mktemp("home")))
    layout.make()
    return WatchStore(layout)


@given(WATCHED)
def test_what_is_written_is_read(store, watched):
    """All of it, whatever it is."""
    store.write(watched)

    assert watched == store.read()


SOUND = {"schema_version": 1, "at": 1, "monotonic": 1, "boot_id": "b", "watched_since": 0, "actions": [], "cpu": {},
         "dispatches": {"a1b2c3d4": {"agent_id": "a1b2c3d4", "resumes": 1}}}  # fmt: skip


@pytest.mark.parametrize(
    "change",
    [
        {"dispatches": []},
        {"dispatches": {"../../x": {}}},
        {"dispatches": {"a1b2c3d4": {"resumes": -1}}},
        {"dispatches": {"a1b2c3d4": {"acted_at": "now"}}},
        {"dispatches": {"a1b2c3d4": {"pending": {"action": "rm", "trouble": "stalled"}}}},
        {"actions": ["x"]},
        {"at": None},
        {"cpu": {"a1b2c3d4": 3}},
    ],
)
def test_a_damaged_file_is_named_and_left(store, change):
    """A ladder that was forgotten would begin again: nothing is guessed, nothing is written over."""
    text = json.dumps({**SOUND, **change})
    Path(store.path).write_text(text)

    with pytest.raises(BadFile, match=r"watch\.json"):
        store.read()
    assert text == Path(store.path).read_text()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema_version": 1, "samples": [-1]}', '{"schema_version": 1}'])
def test_a_damaged_envelope_too(store, text):
    """Neither read nor written over by what is to be added."""
    Path(store.envelope_path).write_text(text)

    for use in (store.samples, lambda: store.add_samples((1.0,))):
        with pytest.raises(BadFile, match=r"watch-envelope\.json"):
            use()
    assert text == Path(store.envelope_path).read_text()


def test_a_newer_one_is_left_to_a_newer_fleet(store):
    """Its version is said."""
    Path(store.path).write_text(json.dumps({**SOUND, "schema_version": 2}))

    with pytest.raises(NewerSchema):
        store.read()


def test_only_the_last_samples_are_kept(layout):
    """Fifty of them."""
    store = WatchStore(layout)
    store.add_samples(tuple(map(float, range(40))))
    store.add_samples(tuple(map(float, range(40))))

    assert (50, 39.0) == (len(store.samples()), store.samples()[-1])
