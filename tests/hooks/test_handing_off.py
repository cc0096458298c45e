"""From a full context to a document and a queue entry, by the real hook at the real thresholds."""

import json
import os
import time

import pytest

from fleet.formats.atomic import write_file
from fleet.formats.texts import handoff_request
from fleet.formats.times import parse, rfc3339

YELLOW, RED = 100_000, 140_000  # tokens of 200,000


@pytest.fixture
def request_text(agent):
    return handoff_request(agent.layout.draft("a1b2c3d4"))


@pytest.mark.parametrize(("percent", "tokens"), [(0.5, 1_000), (49.9, 99_800), (49.99, 99_980)])
def test_below_yellow_only_the_record_says_so(agent, percent, tokens):
    """The context is measured, the turn ends, and the agent waits for input."""
    assert agent.stop(tokens=tokens).answer is None
    record = agent.record()
    assert (percent, "hook", True, None) == (
        record["context_pct"], record["context_source"], record["needs_input"], record["handoff_type"],
    )  # fmt: skip
    assert agent.entry() is None


@pytest.mark.parametrize(("percent", "tokens"), [(50.0, 100_000), (69.9, 139_800)])
def test_at_yellow_the_agent_is_asked_for_its_handoff(agent, request_text, percent, tokens):
    """The turn goes on with the request, nothing else; the record is stamped; nothing is queued yet."""
    assert request_text == agent.stop(tokens=tokens).block
    record = agent.record()
    assert (percent, "auto-yellow", False) == (record["context_pct"], record["handoff_type"], record["needs_input"])
    assert abs(time.time() - parse(record["handoff_type_at"])) < 10
    assert agent.entry() is None
    assert ["Stop", "HookActed"] == [line["event"] for line in agent.events()]
    assert {"on": "Stop", "block": ["handoff"]}.items() <= agent.events()[-1].items()


def test_the_answer_to_the_engine_is_one_json_object_on_one_line(agent, request_text):
    """Raw line breaks in it would lose the block; this is the whole output."""
    outcome = agent.stop(tokens=YELLOW)
    assert json.dumps({"decision": "block", "reason": request_text}) + "\n" == outcome.stdout


@pytest.mark.parametrize(("percent", "tokens"), [(70.0, 140_000), (95.5, 191_000)])
def test_at_red_the_handoff_is_produced_at_once(agent, percent, tokens):
    """Document and entry, no question asked; the turn ends."""
    assert agent.stop("Half of it is done.", tokens=tokens).answer is None
    record, ((header, bodies),) = agent.record(), agent.documents()
    assert ("auto-red", percent, True) == (record["handoff_type"], record["context_pct"], record["needs_input"])
    assert ("auto-red", percent, "a1b2c3d4") == (
        header["handoff_type"], header["context_pct_at_handoff"], header["agent_id"],
    )  # fmt: skip
    assert "Half of it is done." in bodies["Completed"]
    assert os.path.exists(agent.entry()["handoff_doc"])
    assert agent.entry()["handoff_doc"] == agent.events()[-1]["handoff"]["document"]


@pytest.mark.parametrize(
    ("kind", "config", "tokens"),
    [
        ("auto-yellow", {"yellow_tokens": 20_000}, 20_000),
        ("auto-red", {"yellow_tokens": 10_000, "red_tokens": 20_000}, 20_000),
        ("auto-yellow", {"yellow_tokens": 150_000}, YELLOW),
        (None, {"yellow_pct": 80, "red_pct": 90}, RED),
        ("auto-red", {"yellow_pct": 80, "red_pct": 90}, 180_000),
    ],
)
def test_thresholds_come_from_the_configuration(agent, kind, config, tokens):
    """In percent and in tokens, whichever is reached first."""
    agent.config.update(config)
    agent.stop(tokens=tokens)
    assert kind == agent.record()["handoff_type"]


def test_an_unknown_model_is_not_measured_and_not_guessed(agent):
    """No percentage and no action, but a line that names the model; a threshold in tokens still works."""
    assert agent.stop(tokens=190_000, model="claude-next").answer is None
    assert (None, None) == (agent.record()["context_pct"], agent.record()["handoff_type"])
    unknown = {"event": "UnknownModel", "model": "claude-next", "tokens": 190_000}
    assert unknown.items() <= agent.events()[-1].items()
    agent.config["red_tokens"] = 150_000
    agent.stop(tokens=190_000, model="claude-next")
    assert agent.documents()[0][0]["context_pct_at_handoff"] is None


def test_codex_is_measured_by_its_own_window(agent, real):
    """Input of the last request over the window in its rollout."""
    with open(real("codex-rollout.jsonl"), "rb") as f:
        write_file(agent.log, b"".join(f.readlines()[:19]))
    agent.set_record(engine="codex")
    agent.config["yellow_pct"] = 38.7
    payload = {"session_id": "s", "turn_id": "t1", "transcript_path": agent.log, "last_assistant_message": "x"}
    assert agent.hook("Stop", payload, engine="codex").block.startswith("HANDOFF REQUESTED")
    assert 38.7 == agent.record()["context_pct"]


# MILESTONE


@pytest.fixture
def asked(agent):
    """An agent that was asked for its handoff just now."""
    agent.prompt()
    assert agent.stop(tokens=YELLOW).block
    return agent


@pytest.mark.parametrize("text", ["MILESTONE", "All written.\n\nMILESTONE", "MILESTONE\nBye.", "  MILESTONE \r\nx"])
@pytest.mark.parametrize("active", [False, True])
def test_milestone_alone_on_a_line_produces_the_handoff(asked, text, active):
    """In the draft's words; normally it comes in a Stop with stop_hook_active."""
    write_file(asked.layout.draft("a1b2c3d4"), b"# Completed\nThe form.\n# Next steps\nTests.\n")
    assert asked.stop(text, tokens=YELLOW, stop_hook_active=active).answer is None
    ((header, bodies),) = asked.documents()
    assert ("auto-yellow", 50.0) == (header["handoff_type"], header["context_pct_at_handoff"])
    assert {"Completed": "The form.", "Next Steps (prioritized)": "Tests."} == bodies
    assert asked.entry() is not None


@pytest.mark.parametrize(
    "text",
    ["", "no", "MILESTONES", "MILESTONE: done", "the MILESTONE", "`MILESTONE`", "milestone", "**MILESTONE**",
     "3. Then print MILESTONE alone on a line."],
)  # fmt: skip
def test_milestone_within_a_line_is_only_a_word(asked, text):
    """The request stands, and is not repeated."""
    assert asked.stop(text, tokens=YELLOW).answer is None
    assert asked.entry() is None
    assert "auto-yellow" == asked.record()["handoff_type"]


def test_milestone_in_an_earlier_text_of_the_turn_counts(asked):
    """The model goes on talking or calls a tool after it; the last message alone would miss it."""
    asked.say("MILESTONE", YELLOW)
    asked.use_a_tool()
    asked.stop("Good bye.", tokens=YELLOW)
    assert asked.entry() is not None


def test_milestone_in_a_turn_between_counts(asked):
    """An operator's question after it does not undo it."""
    asked.say("MILESTONE", YELLOW)
    asked.prompt("how is it going?", "p2")
    asked.stop("Fine.", tokens=YELLOW, prompt_id="p2")
    assert asked.entry() is not None


def test_milestone_before_the_request_does_not_count(agent):
    """Not even in the very message at whose end the request was made."""
    agent.prompt()
    assert agent.stop("MILESTONE", tokens=YELLOW).block
    assert agent.stop("What shall I do?", tokens=YELLOW).answer is None
    assert agent.entry() is None


def test_milestone_of_an_agent_that_was_not_asked_is_nothing(agent):
    """It may be working on a road map."""
    agent.stop("MILESTONE", tokens=1000)
    assert agent.entry() is None


def test_milestone_in_a_tools_output_is_not_the_agents(asked):
    """Only what the model itself says counts."""
    line = {"tool_use_id": "t1", "type": "tool_result", "content": "MILESTONE"}
    asked.write({"type": "user", "message": {"content": [line]}})
    asked.stop("done", tokens=YELLOW)
    assert asked.entry() is None


# Asking again


@pytest.mark.parametrize("stamp", [None, "garbled", "2026-11-30", rfc3339(0)])
def test_a_request_of_unknown_age_is_repeated(agent, request_text, stamp):
    """A stamp that is missing, garbled or old leads to one more request and a fresh stamp."""
    agent.set_record(handoff_type="auto-yellow", handoff_type_at=stamp)
    assert request_text == agent.stop(tokens=YELLOW).block
    assert abs(time.time() - parse(agent.record()["handoff_type_at"])) < 10


@pytest.mark.parametrize(("again", "age"), [(True, 31 * 60), (True, 30 * 60), (False, 29 * 60), (False, 1)])
def test_a_request_is_repeated_after_half_an_hour(agent, again, age):
    """Not before; the stamp moves only when the agent was asked."""
    stamp = rfc3339(time.time() - age)
    agent.set_record(handoff_type="auto-yellow", handoff_type_at=stamp)
    assert again == (agent.stop(tokens=YELLOW).block is not None)
    assert again == (agent.record()["handoff_type_at"] != stamp)


def test_a_request_is_not_repeated_to_an_emptied_context(agent):
    """After a /compact there is nothing to hand off for."""
    agent.set_record(handoff_type="auto-yellow", handoff_type_at=rfc3339(0))
    assert agent.stop(tokens=1000).answer is None


def test_red_ends_the_waiting(asked):
    """An agent that was asked and filled its context instead is handed off as red."""
    asked.stop("still busy", tokens=RED)
    assert "auto-red" == asked.documents()[0][0]["handoff_type"]
    assert "auto-red" == asked.record()["handoff_type"]


# Thinking modes


@pytest.mark.parametrize("mode", ["plan", "review", "fix"])
def test_a_thinking_agent_is_told_once_a_threshold_and_never_handed_off(agent, mode):
    """One line at yellow, one at red; after /clear or a compaction it begins anew."""
    agent.set_record(mode=mode)
    told = [agent.stop(tokens=tokens).block for tokens in (1000, YELLOW, YELLOW, RED, RED, 199_000)]
    assert [False, True, False, True, False, False] == [text is not None for text in told]
    assert told[1].startswith("[fleet] Context is at 50%.")
    assert told[3].startswith("[fleet] Context is at 70%.")
    assert f"In {mode} mode" in told[1]
    for event, more in (("PostCompact", {}), ("SessionStart", {"source": "clear"})):
        agent.hook(event, **more)
        agent.prompt()
        assert [True, False] == [agent.stop(tokens=YELLOW).block is not None for _ in range(2)]
    agent.hook("SessionStart", source="resume")
    assert agent.stop(tokens=YELLOW).answer is None
    assert agent.entry() is None
    assert [] == agent.documents()
    assert agent.record()["handoff_type"] is None


def test_a_reminder_without_a_percentage_names_the_tokens(agent):
    """An unknown window is not "null%"."""
    agent.set_record(mode="plan")
    agent.config["yellow_tokens"] = 20_000
    assert agent.stop(tokens=30_000, model="claude-next").block.startswith("[fleet] Context is at 30000 tokens.")


@pytest.mark.parametrize("mode", ["plan", "review", "fix"])
def test_a_compaction_of_a_thinking_agent_is_let_be(agent, mode):
    """It keeps its conversation, summarised."""
    agent.set_record(mode=mode)
    assert agent.hook("PreCompact", trigger="auto").answer is None
    assert agent.entry() is None


# Compaction


def test_before_an_automatic_compaction_the_handoff_is_produced(agent):
    """Silently, whatever the percentage; with the last one that was measured."""
    agent.set_record(context_pct=44.5)
    assert agent.hook("PreCompact", trigger="auto").answer is None
    assert ("precompact", 44.5) == tuple(
        agent.documents()[0][0][name] for name in ("handoff_type", "context_pct_at_handoff")
    )
    assert "precompact" == agent.record()["handoff_type"]
    assert agent.entry() is not None


def test_a_manual_compaction_is_the_operators(agent):
    """It does not replace the agent."""
    assert agent.hook("PreCompact", trigger="manual").answer is None
    assert agent.entry() is None
    assert agent.record()["handoff_type"] is None


def test_a_second_compaction_adds_no_second_handoff(agent):
    """What is queued stays as it is."""
    agent.hook("PreCompact", trigger="auto")
    entry = agent.entry()
    agent.hook("PreCompact", trigger="auto")
    agent.stop(tokens=RED)
    assert entry == agent.entry()
    assert 1 == len(agent.documents())


# Failing, and trying again


def block_the_handoffs(agent):
    os.rmdir(agent.layout.handoffs)
    write_file(agent.layout.handoffs, b"in the way")


def clear_the_handoffs(agent):
    os.unlink(agent.layout.handoffs)


@pytest.mark.parametrize(("kind", "stamp"), [(None, None), ("auto-yellow", "2020-01-01T00:00:00Z")])
def test_a_handoff_that_cannot_be_written_is_taken_back(agent, kind, stamp):
    """The stamp is what it was, the reason is in the error log, and the next turn's end tries again."""
    agent.set_record(handoff_type=kind, handoff_type_at=stamp)
    block_the_handoffs(agent)
    assert agent.stop(tokens=RED).answer is None
    assert (kind, stamp) == (agent.record()["handoff_type"], agent.record()["handoff_type_at"])
    assert "a1b2c3d4 claude-code Stop" in agent.errors()
    assert agent.entry() is None
    clear_the_handoffs(agent)
    agent.stop(tokens=RED)
    assert "auto-red" == agent.record()["handoff_type"]
    assert agent.entry() is not None


def test_a_handoff_that_cannot_be_written_hides_nothing_else(agent):
    """The agent's health is still reported and its messages still arrive."""
    agent.send("free some disk")
    block_the_handoffs(agent)
    assert "[OPERATOR] free some disk" == agent.stop(tokens=RED).block
    record = agent.record()
    assert (70.0, False, True) == (record["context_pct"], record["needs_input"], record["inbox_pending"])


def test_a_queue_that_cannot_be_written_leaves_no_stamp(agent):
    """The document alone is no handoff."""
    os.rmdir(agent.layout.dead)
    os.rmdir(agent.layout.attempts)
    os.rmdir(agent.layout.queue)
    write_file(agent.layout.queue, b"in the way")
    agent.stop(tokens=RED)
    assert agent.record()["handoff_type"] is None
    assert agent.errors()


@pytest.mark.parametrize("kind", ["auto-red", "precompact"])
def test_a_committed_handoff_without_its_entry_is_produced_again(agent, kind):
    """The hook was killed between the stamp and the entry."""
    agent.set_record(handoff_type=kind, handoff_type_at="2020-01-01T00:00:00Z")
    agent.stop(tokens=1000)
    assert kind == agent.documents()[0][0]["handoff_type"]
    assert agent.entry() is not None


def test_a_given_up_handoff_is_not_produced_again(agent):
    """It is the operator's turn: no second document, no request."""
    write_file(agent.layout.dead_entry("a1b2c3d4"), b"{}")
    assert [None, None] == [agent.stop(tokens=tokens).answer for tokens in (YELLOW, RED)]
    assert [] == agent.documents()


def test_the_document_carries_on_the_chain(agent):
    """What the agent inherited and the how-manieth it is."""
    agent.set_record(last_handoff_path="/f/handoffs/earlier.md", handoff_number=3)
    agent.stop(tokens=RED)
    header = agent.documents()[0][0]
    assert ("/f/handoffs/earlier.md", 3) == (header["previous_handoff"], header["handoff_number"])
