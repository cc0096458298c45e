"""The operator's messages: handed over at any prompt and at any turn's end, oldest first, and watched until seen."""

import json
import os

import pytest

from fleet.formats.atomic import write_file
from fleet.formats.texts import WAKE_LINE, handoff_request

YELLOW, RED = 100_000, 140_000


def write_slot(agent, text):
    with open(agent.layout.slot("a1b2c3d4"), "w", encoding="utf-8") as f:
        f.write(text)


def test_a_message_comes_with_the_next_prompt(agent):
    """As additional context, with its mark; it is offered and not yet delivered."""
    agent.send("use the other branch")
    assert "[OPERATOR] use the other branch" == agent.prompt("go").context
    assert [("use the other branch", "offered")] == agent.spool()
    assert agent.record()["inbox_pending"] is True


def test_the_answer_to_the_engine_is_one_json_object_on_one_line(agent):
    """This is the whole output."""
    agent.send("line one\nline “two”")
    inner = {"hookEventName": "UserPromptSubmit", "additionalContext": "[OPERATOR] line one\nline “two”"}
    assert json.dumps({"hookSpecificOutput": inner}) + "\n" == agent.prompt().stdout


@pytest.mark.parametrize("text", ["anything", WAKE_LINE, ""])
def test_any_prompt_brings_what_waits(agent, text):
    """The operator's own and our wake line alike."""
    agent.send("hi")
    assert "[OPERATOR] hi" == agent.prompt(text).context


def test_a_message_at_a_turns_end_lets_the_turn_go_on(agent):
    """By a block; an agent that goes on is not waiting for input."""
    agent.send("hi")
    assert "[OPERATOR] hi" == agent.stop().block
    assert (False, True) == (agent.record()["needs_input"], agent.record()["inbox_pending"])


def test_an_answer_delivers(agent):
    """The end of the turn that carried it files it away, and nothing waits any more."""
    agent.send("hi")
    agent.prompt()
    assert agent.stop().answer is None
    assert ([], [("hi", "delivered")]) == (agent.spool(), agent.filed())
    assert agent.record()["inbox_pending"] is False
    assert {"settled": {"0000000000000001": "delivered"}}.items() <= agent.events()[-1].items()


def test_a_block_is_answered_by_the_next_end_of_the_same_turn(agent):
    """Not by the end that it blocked."""
    agent.send("hi")
    agent.stop()
    assert [("hi", "offered")] == agent.spool()
    agent.stop()
    assert [("hi", "delivered")] == agent.filed()


def test_a_cancelled_prompt_gives_its_message_back(agent):
    """An early Esc leaves the injection in the log and fires nothing: the end of the next turn brings it again."""
    agent.send("hi")
    agent.prompt("first", "p1")
    assert agent.prompt("second", "p2").answer is None
    assert "[OPERATOR] hi" == agent.stop(prompt_id="p2").block
    agent.stop(prompt_id="p2")
    assert [("hi", "delivered")] == agent.filed()


def test_an_interrupted_answer_is_not_offered_again(agent):
    """Nobody knows what the model had seen, so the message is filed as unconfirmed."""
    agent.send("hi")
    agent.prompt("first", "p1")
    agent.write({"type": "user", "message": {"content": [{"type": "text", "text": "[Request interrupted by user]"}]}})
    assert agent.prompt("second", "p2").answer is None
    assert [("hi", "unconfirmed")] == agent.filed()


def test_a_failed_turn_had_the_message(agent):
    """It is in the conversation and goes out with the next request."""
    agent.send("hi")
    agent.prompt()
    agent.hook("StopFailure", error="server_error")
    assert [("hi", "delivered")] == agent.filed()


def test_an_interrupt_of_codex_that_logged_nothing_gives_the_message_back(agent):
    """The prompt went back before anything of it was in the rollout."""
    agent.set_record(engine="codex")
    agent.send("hi")
    payload = {"session_id": "s", "turn_id": "t1", "transcript_path": agent.log, "prompt": "go"}
    agent.hook("UserPromptSubmit", payload, engine="codex")
    agent.hook("Interrupt", payload, engine="codex")
    assert [("hi", "new")] == agent.spool()


# Several


def test_several_messages_come_together_oldest_first(agent):
    """Each with its mark, a blank line between."""
    for number, body in enumerate(["first", "second\n\nwith a gap", "third"], 1):
        agent.send(body, number)
    assert "[OPERATOR] first\n\n[OPERATOR] second\n\nwith a gap\n\n[OPERATOR] third" == agent.prompt().context


def test_the_operator_speaks_before_the_handoff_request(agent):
    """One block: the message, a blank line, the request."""
    agent.send("mind the tests")
    request = handoff_request(agent.layout.draft("a1b2c3d4"))
    assert "[OPERATOR] mind the tests\n\n" + request == agent.stop(tokens=YELLOW).block
    assert ["message", "handoff"] == agent.events()[-1]["block"]


def test_what_does_not_fit_waits_for_the_next_chance_in_order(agent):
    """A client would cut what is too long; nothing overtakes."""
    bodies = [letter * 4000 for letter in "abc"] + ["d"]
    for number, body in enumerate(bodies, 1):
        agent.send(body, number)
    assert f"[OPERATOR] {bodies[0]}\n\n[OPERATOR] {bodies[1]}" == agent.prompt().context
    assert ["offered", "offered", "new", "new"] == [state for _, state in agent.spool()]
    assert f"[OPERATOR] {bodies[2]}\n\n[OPERATOR] d" == agent.stop().block


@pytest.mark.parametrize(("inline", "characters"), [(True, 8989), (False, 8990), (False, 200_000)])
def test_a_long_message_becomes_a_file_that_the_injection_names(agent, inline, characters):
    """Over 9,000 characters with its mark a client might cut it."""
    body = "ä" * characters
    agent.send(body)
    text = agent.prompt().context
    path = os.path.join(agent.layout.bodies, "0000000000000001.md")
    assert inline == (text == "[OPERATOR] " + body)
    if not inline:
        assert text.startswith(f"[OPERATOR] The message has {characters} characters. Read all of it from {path}")
        assert len(text) < 500
        with open(path, encoding="utf-8") as f:
            assert body == f.read()
        assert 0o600 == os.stat(path).st_mode & 0o777
    agent.stop()
    assert [(body, "delivered")] == agent.filed()


def test_long_messages_keep_their_place_among_short_ones(agent):
    """The file is named where its text would have stood."""
    for number, body in enumerate(["before", "x" * 20_000, "after"], 1):
        agent.send(body, number)
    first, second, third = agent.prompt().context.split("\n\n")
    assert ("[OPERATOR] before", "[OPERATOR] after") == (first, third)
    assert "0000000000000002.md" in second


def test_everything_that_is_injected_fits(agent):
    """Messages and request together stay under the 10,000 characters from which on clients cut."""
    for number in range(1, 30):
        agent.send("x" * 400, number)
    assert len(agent.stop(tokens=YELLOW).block) < 10_000


@pytest.mark.parametrize("body", ["caf\udce9", "x\udce9" * 6000, "\ud800" * 9000])
def test_a_message_that_is_no_utf_8_is_handed_over(agent, body):
    """Bytes of an argv that are no text do not block the inbox, inline or in a file."""
    agent.send(body)
    assert agent.prompt().context.startswith("[OPERATOR] ")
    assert "" == agent.errors()


def test_an_unreadable_message_does_not_hold_up_the_others(agent):
    """It stays where it is."""
    broken = agent.send("broken", 1).path
    agent.send("fine", 2)
    write_file(broken, b'{"schema_version": 1, "state": []}')
    assert "[OPERATOR] fine" == agent.prompt().context
    assert "" == agent.errors()


# The one-slot inbox


@pytest.mark.parametrize("way", ["prompt", "stop"])
def test_the_one_slot_inbox_of_fleet_guard_is_honoured(agent, way):
    """Its text is handed over like any other message and the slot is free again."""
    write_slot(agent, "from the old tool\n")
    outcome = getattr(agent, way)()
    assert "[OPERATOR] from the old tool" == (outcome.context if way == "prompt" else outcome.block)
    assert not os.path.exists(agent.layout.slot("a1b2c3d4"))
    agent.stop()
    assert [("from the old tool", "delivered")] == agent.filed()


def test_the_slot_comes_after_what_was_spooled_before(agent):
    """The order of coming, across both inboxes."""
    agent.send("spooled")
    write_slot(agent, "in the slot")
    assert "[OPERATOR] spooled\n\n[OPERATOR] in the slot" == agent.prompt().context


# Whoever leaves takes no messages


@pytest.mark.parametrize("way", ["prompt", "stop"])
def test_once_a_handoff_is_queued_messages_wait_for_the_successor(agent, way):
    """Neither its spool nor its slot is touched."""
    agent.stop(tokens=RED)
    agent.send("hi")
    write_slot(agent, "ho")
    assert getattr(agent, way)().answer is None
    assert [("hi", "new")] == agent.spool()
    assert os.path.exists(agent.layout.slot("a1b2c3d4"))
    assert agent.record()["inbox_pending"] is True


def test_the_stop_that_hands_off_offers_nothing_more(agent):
    """Red and a waiting message at once: the message goes on to the successor."""
    agent.send("hi")
    assert agent.stop(tokens=RED).answer is None
    assert [("hi", "new")] == agent.spool()


@pytest.mark.parametrize("way", ["prompt", "stop"])
def test_an_agent_whose_handoff_was_given_up_can_be_talked_to(agent, way):
    """It stays, waiting for the operator, and no successor will take its messages."""
    write_file(agent.layout.dead_entry("a1b2c3d4"), b"{}")
    agent.send("hi")
    outcome = getattr(agent, way)()
    assert "[OPERATOR] hi" == (outcome.context if way == "prompt" else outcome.block)


# The budget of blocks


def blocks(agent, number):
    """Send a message and end the turn; whether that was blocked."""
    agent.send(f"message {number}", number)
    return agent.stop().block is not None


def test_a_turn_is_not_kept_from_ending_for_ever(agent):
    """Three blocks for one reason, then the turn ends and the message waits; a client gives up after nine."""
    agent.prompt()
    assert [True, True, True, False, False] == [blocks(agent, number) for number in range(1, 6)]
    assert [("message 4", "new"), ("message 5", "new")] == agent.spool()
    assert agent.record()["needs_input"] is True


def test_a_prompt_gives_new_blocks(agent):
    """The next turn begins with all three, and the prompt itself brings what waited."""
    agent.prompt()
    for number in range(1, 5):
        blocks(agent, number)
    assert "[OPERATOR] message 4" == agent.prompt("go", "p2").context
    assert [True, True, True, False] == [blocks(agent, number) for number in range(5, 9)]


def test_a_tool_call_gives_new_blocks(agent):
    """An agent that works between its blocks is not in a loop; after the call there are three again."""
    agent.prompt()
    assert [True, True, True] == [blocks(agent, number) for number in range(1, 4)]
    agent.use_a_tool()
    assert [True, True, True, False] == [blocks(agent, number) for number in range(4, 8)]


def test_each_reason_has_blocks_of_its_own(agent):
    """Messages do not use up the handoff's."""
    agent.prompt()
    for number in range(1, 5):
        blocks(agent, number)
    assert agent.stop(tokens=YELLOW).block.startswith("HANDOFF REQUESTED")


def test_the_budget_is_configured(agent):
    """One block a turn, if that is wanted."""
    agent.config["stop_blocks_in_a_row"] = 1
    agent.prompt()
    assert [True, False] == [blocks(agent, number) for number in range(1, 3)]


def test_a_request_without_a_block_is_not_stamped(agent):
    """An agent that could not be told is not waited for."""
    agent.config["stop_blocks_in_a_row"] = 0
    assert agent.stop(tokens=YELLOW).answer is None
    assert agent.record()["handoff_type"] is None
