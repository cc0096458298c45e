"""The spool: order, one file a message, legal moves only, and the one-slot inbox taken in exactly once."""

import json
import os
import tempfile

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from fleet.errors import BadFile, IllegalTransition, NewerSchema
from fleet.formats import messages
from fleet.formats.atomic import encode, write_file
from fleet.formats.layout import Layout
from fleet.formats.states import MESSAGE_MOVES, MessageState
from tests import memory

WALL = 1_796_043_600.0
AGENT = "a1b2c3d4"
pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")


def mid(number):
    return f"{number:016x}"


def spooled(layout):
    return [message.body for message in messages.pending(layout, AGENT)]


def write_slot(layout, text):
    with open(layout.slot(AGENT), "w", encoding="utf-8") as f:
        f.write(text)


def test_a_spooled_message_has_these_bytes(layout):
    """One JSON file, named by its place in the order and its id."""
    messages.spool(layout, AGENT, mid(0xAB), 'say "hé"\n', WALL, op_id="deploy-1")
    expected = """{
  "schema_version": 1,
  "message_id": "00000000000000ab",
  "op_id": "deploy-1",
  "body": "say \\"hé\\"\\n",
  "created_at": "2026-11-30T13:00:00Z",
  "state": "new",
  "offer": null
}
"""
    with open(os.path.join(layout.spool(AGENT), "00000001-00000000000000ab.json"), encoding="utf-8") as f:
        assert expected == f.read()


def test_messages_wait_in_the_order_they_came(layout):
    """Whatever their ids sort like, and beyond nine of them."""
    for number in range(12):
        messages.spool(layout, AGENT, mid(100 - number), f"message {number}", WALL)
    assert [f"message {number}" for number in range(12)] == spooled(layout)


def test_a_place_is_not_given_twice(layout):
    """A message that was filed away keeps its number; the next one comes after it."""
    first = messages.spool(layout, AGENT, mid(1), "first", WALL)
    messages.archive(layout, AGENT, first, MessageState.DELIVERED, WALL, "Stop p1")
    assert 2 == messages.spool(layout, AGENT, mid(2), "second", WALL).sequence


def test_a_body_survives_whatever_it_holds(layout):
    """Line breaks, JSON, terminal codes and bytes that are no UTF-8 (as an argv may hold) come back as they went in."""
    for number, body in enumerate(["a\r\nb\0c", '{"a": "\\"}', "\x1b[31mred", "caf\udce9", "\u2028", ""]):
        messages.spool(layout, AGENT, mid(number), body, WALL)
    assert ["a\r\nb\0c", '{"a": "\\"}', "\x1b[31mred", "caf\udce9", "\u2028", ""] == spooled(layout)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b'{"schema_version": 2}', b"\xff", encode({"schema_version": 1, "message_id": mid(1), "body": 7}),
     encode({"schema_version": 1, "message_id": mid(2), "body": "other id", "state": "new"}),
     encode({"schema_version": 1, "message_id": mid(1), "body": "x", "state": "sent"}),
     encode({"schema_version": 1, "message_id": mid(1), "body": "x", "state": []}),
     encode({"schema_version": 1, "message_id": mid(1), "body": "x", "state": {}}),
     encode({"schema_version": 1, "message_id": mid(1), "body": "x"})],
)  # fmt: skip
def test_an_unreadable_message_is_passed_over_and_stays(layout, content):
    """It does not hold up those behind it, and the operator can still look at it."""
    messages.spool(layout, AGENT, mid(1), "broken", WALL)
    messages.spool(layout, AGENT, mid(2), "behind", WALL)
    path = os.path.join(layout.spool(AGENT), f"00000001-{mid(1)}.json")
    write_file(path, content)
    assert ["behind"] == spooled(layout)
    with pytest.raises(BadFile):
        messages.read(path)
    with open(path, "rb") as f:
        assert content == f.read()


def test_a_newer_message_is_told_from_a_broken_one(layout):
    """NewerSchema, so that nobody throws it away."""
    path = os.path.join(layout.inbox, f"00000001-{mid(1)}.json")
    write_file(path, encode({"schema_version": 2, "message_id": mid(1), "body": "x", "state": "new"}))
    with pytest.raises(NewerSchema):
        messages.read(path)


def test_other_files_in_a_spool_are_no_messages(layout):
    """Temporary files, notes and folders are left out."""
    messages.spool(layout, AGENT, mid(1), "real", WALL)
    for name in (f".00000002-{mid(2)}.json.77.ab.tmp", "README", f"2-{mid(2)}.json", f"00000002-{mid(2)}.json.bak"):
        write_file(os.path.join(layout.spool(AGENT), name), b"{}")
    os.mkdir(os.path.join(layout.spool(AGENT), f"00000009-{mid(9)}.json"))
    assert ["real"] == spooled(layout)


def test_an_agent_without_a_spool_has_no_messages(layout):
    """Nothing is made by looking."""
    assert [] == spooled(layout)
    assert not messages.any_undelivered(layout, AGENT)
    assert not os.path.exists(layout.spool(AGENT))


@pytest.mark.parametrize("state", MessageState)
@pytest.mark.parametrize("next_state", MessageState)
def test_only_legal_moves_are_made(layout, state, next_state):
    """An illegal one is a bug of fleet, and the file stays as it was."""
    path = messages.spool(layout, AGENT, mid(1), "x", WALL).path
    data = json.loads(open_text(path))
    write_file(path, encode({**data, "state": str(state)}))
    before = open_text(path)
    if next_state in MESSAGE_MOVES[state]:
        assert next_state == messages.read(messages.move(messages.read(path), next_state).path).state
    else:
        with pytest.raises(IllegalTransition, match=f"{state} cannot become {next_state}"):
            messages.move(messages.read(path), next_state)
        assert before == open_text(path)


def open_text(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def test_a_delivered_message_never_moves_again():
    """It can neither be sent twice nor be doubted later."""
    assert frozenset() == MESSAGE_MOVES[MessageState.DELIVERED]
    assert MessageState.NEW not in MESSAGE_MOVES[MessageState.UNCONFIRMED]


class Spool(RuleBasedStateMachine):
    """Any sequence of sends, offers, verdicts and slot files: nothing is lost, doubled, reordered or overwritten."""

    waiting = Bundle("waiting")

    def __init__(self):
        super().__init__()
        self._folder = tempfile.TemporaryDirectory(dir=memory.FOLDER)
        self.layout = Layout(self._folder.name)
        self.layout.make()
        self.states = {}  # body to state, in the order of their coming
        self.filed = {}
        self.count = 0

    def teardown(self):
        self._folder.cleanup()

    def _read(self, body):
        return next(message for message in messages.pending(self.layout, AGENT) if message.body == body)

    @rule(target=waiting)
    def send(self):
        self.count += 1
        body = f"message {self.count}"
        messages.spool(self.layout, AGENT, os.urandom(8).hex(), body, WALL)
        self.states[body] = MessageState.NEW
        return body

    @rule(target=waiting)
    def slot(self):
        self.count += 1
        body = f"message {self.count}"
        write_slot(self.layout, body + "\n")
        messages.import_slot(self.layout, AGENT, WALL)
        messages.import_slot(self.layout, AGENT, WALL)
        self.states[body] = MessageState.NEW
        return body

    @rule(target=waiting, body=consumes(waiting), to=st.sampled_from([MessageState.NEW, MessageState.OFFERED]))
    def turn(self, body, to):
        if to in MESSAGE_MOVES[self.states[body]]:
            messages.move(self._read(body), to)
            self.states[body] = to
        else:
            with pytest.raises(IllegalTransition):
                messages.move(self._read(body), to)
        return body

    @rule(
        body=consumes(waiting),
        to=st.sampled_from([MessageState.DELIVERED, MessageState.UNCONFIRMED]),
        cut=st.booleans(),
    )
    def file(self, body, to, cut):
        message = self._read(body)
        if cut:  # the process that moved it died before it filed it
            message = messages.move(message, to)
        messages.archive(self.layout, AGENT, message, to, WALL, "test")
        moved = messages.Message(message.path, message.sequence, {**message.data, "state": to})
        messages.archive(self.layout, AGENT, moved, to, WALL, "again")
        del self.states[body]
        self.filed[body] = to

    @invariant()
    def the_spool_holds_what_waits_in_its_order(self):
        found = [(message.body, message.state) for message in messages.pending(self.layout, AGENT)]
        assert [*self.states.items()] == found

    @invariant()
    def the_archive_holds_the_rest(self):
        folder = os.path.join(self.layout.inbox_archive, AGENT)
        found = [messages.read(os.path.join(folder, name)) for name in messages.names(folder)]
        assert self.filed == {message.body: message.state for message in found}

    @invariant()
    def numbers_are_given_once(self):
        folders = [self.layout.spool(AGENT), os.path.join(self.layout.inbox_archive, AGENT)]
        numbers = [messages.sequence_of(name) for folder in folders for name in messages.names(folder)]
        assert list(range(1, self.count + 1)) == sorted(numbers)


TestSpool = Spool.TestCase


def test_the_slot_of_fleet_guard_becomes_a_message(layout):
    """Its text joins the others in order, and the slot is free again."""
    messages.spool(layout, AGENT, mid(1), "spooled", WALL)
    write_slot(layout, "from another program\n")
    assert messages.any_undelivered(layout, AGENT)
    messages.import_slot(layout, AGENT, WALL)
    assert ["spooled", "from another program"] == spooled(layout)
    assert not os.path.exists(layout.slot(AGENT))


def test_an_import_killed_between_its_two_steps_is_not_doubled(layout):
    """Spooled and not yet removed: the next import removes and does not spool again, delivered meanwhile or not."""
    write_slot(layout, "once")
    for file_it in (False, True):
        pid = os.fork()
        if not pid:
            os.unlink = lambda _: os._exit(77)
            messages.import_slot(layout, AGENT, WALL)
            os._exit(0)
        assert 77 == os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        assert ["once"] == spooled(layout)
        if file_it:
            messages.archive(layout, AGENT, next(messages.pending(layout, AGENT)), MessageState.DELIVERED, WALL, "x")
    messages.import_slot(layout, AGENT, WALL)
    assert [] == spooled(layout)
    assert not os.path.exists(layout.slot(AGENT))


def test_the_same_words_in_the_slot_twice_are_two_messages(layout):
    """An operator who says it again means it."""
    for _ in range(2):
        write_slot(layout, "again")
        messages.import_slot(layout, AGENT, WALL)
    assert ["again", "again"] == spooled(layout)


def test_an_empty_slot_is_removed_without_a_message(layout):
    """Blank text is nobody's order."""
    write_slot(layout, " \n\t\n")
    messages.import_slot(layout, AGENT, WALL)
    assert [] == spooled(layout)
    assert not os.path.exists(layout.slot(AGENT))


@pytest.mark.timeout(10)
@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir])
def test_a_slot_that_is_no_file_is_left_alone(layout, make):
    """It neither blocks the hook nor becomes a message."""
    make(layout.slot(AGENT))
    messages.import_slot(layout, AGENT, WALL)
    assert [] == spooled(layout)
    assert os.path.exists(layout.slot(AGENT))


def test_a_slot_that_is_no_text_is_still_delivered(layout):
    """Invalid bytes are replaced, the rest arrives."""
    with open(layout.slot(AGENT), "wb") as f:
        f.write(b"caf\xe9 now\n")
    messages.import_slot(layout, AGENT, WALL)
    assert ["caf\ufffd now"] == spooled(layout)
