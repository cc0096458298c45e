"""Whether the model has seen a message: histories in, verdicts out.

A history is written in the order of the log. A message was offered with prompt p1 (via "prompt") or at its end (via
"stop"); the question is put by an event of an engine, or by a look between events.
"""

import json
import os

import pytest

from fleet.formats import delivery, messages
from fleet.formats.states import MessageState
from fleet.formats.transcript import Said

WALL = 1_796_043_600.0
ID = "00000000000000aa"
BODY = "use the other branch"

PROMPT = Said("prompt", "do it", "p1")
NEXT = Said("prompt", "something else", "p2")
MERGED = Said("prompt", "do it", "p2")
INJECTED = Said("injected", f"[OPERATOR] {BODY}")
FOREIGN = Said("injected", "a user's own hook said: use the other branch")
FEEDBACK = Said("feedback", f"Stop hook feedback:\n[OPERATOR] {BODY}")
ANSWER = Said("assistant", "ok")
TOOL = Said("tool", "Bash {}")
RESULT = Said("result", "done")
ESC = Said("interrupt", "[Request interrupted by user]")


@pytest.fixture
def message(layout):
    """A message that was spooled for the agent."""
    return messages.spool(layout, "a1b2c3d4", ID, BODY, WALL)


def judge(message, via, event, turn_id, history, **more):
    offer = {"via": via, "turn_id": "p1"}
    mark, said = delivery.marks(message), iter(reversed(history))
    return str(delivery.judge(offer, mark, event=event, turn_id=turn_id, said=said, **more))


@pytest.mark.parametrize("event", ["Stop", "StopFailure", "PreToolUse", "PostToolUse", "PermissionRequest"])
@pytest.mark.parametrize(
    ("via", "history"),
    [("prompt", []), ("prompt", [PROMPT, INJECTED]), ("prompt", [ANSWER, PROMPT, INJECTED]), ("stop", []),
     ("stop", [PROMPT, ANSWER, FEEDBACK])],
)  # fmt: skip
def test_what_only_an_answer_leads_to_is_an_answer(message, event, via, history):
    """The carrying turn ended, failed or called a tool: the model had what was injected, in whatever order it is logged."""
    assert "delivered" == judge(message, via, event, "p1", history)


def test_a_turn_that_ends_without_the_message_in_its_log_never_had_it(message):
    """The hook died between its note and its words, so the message is offered again; unless the log is still behind."""
    assert "new" == judge(message, "prompt", "Stop", "p1", [PROMPT, ANSWER])
    assert "offered" == judge(message, "prompt", "Stop", "p1", [PROMPT, ANSWER], current=False)


def test_a_long_log_is_read_no_further_than_needed(message):
    """What was said before the prompt that carried it does not matter and is not looked at."""

    def said():
        yield from (ANSWER, INJECTED, PROMPT)
        raise AssertionError("read on")

    offer = {"via": "prompt", "turn_id": "p1"}
    assert "delivered" == str(delivery.judge(offer, delivery.marks(message), event="Stop", turn_id="p1", said=said()))


@pytest.mark.parametrize(
    ("verdict", "event", "turn_id", "history"),
    [
        # an early Esc: the injection is in the log and the model never saw it
        ("offered", "UserPromptSubmit", "p2", [PROMPT, INJECTED]),
        ("offered", "UserPromptSubmit", "p2", [PROMPT, INJECTED, NEXT]),
        ("offered", "UserPromptSubmit", "p2", [ANSWER, PROMPT, INJECTED]),
        ("new", "Stop", "p2", [PROMPT, INJECTED, NEXT, ANSWER]),
        ("new", "StopFailure", "p2", [PROMPT, INJECTED, NEXT]),
        # prompts that were queued became one turn under the last one's id
        ("delivered", "Stop", "p2", [MERGED, INJECTED, NEXT, ANSWER]),
        ("offered", "UserPromptSubmit", "p2", [MERGED, INJECTED]),
        # the hook died before it printed: nothing is in the log
        ("new", "Stop", "p2", [PROMPT, ANSWER, NEXT, ANSWER]),
        ("offered", "UserPromptSubmit", "p2", [PROMPT, ANSWER]),
        ("offered", "UserPromptSubmit", "p2", []),
        # the model spoke after the injection
        ("delivered", "UserPromptSubmit", "p2", [PROMPT, INJECTED, ANSWER]),
        ("delivered", "UserPromptSubmit", "p2", [PROMPT, INJECTED, TOOL, RESULT]),
        ("delivered", "UserPromptSubmit", "p2", [PROMPT, INJECTED, ANSWER, ESC]),
        ("delivered", "UserPromptSubmit", "p2", [PROMPT, INJECTED, ANSWER, NEXT, ANSWER]),
        ("delivered", "SessionEnd", None, [PROMPT, INJECTED, ANSWER]),
        ("delivered", "", None, [PROMPT, INJECTED, ANSWER]),
        # it was interrupted there, and nobody knows what it had seen
        ("unconfirmed", "UserPromptSubmit", "p2", [PROMPT, INJECTED, ESC]),
        ("unconfirmed", "UserPromptSubmit", "p2", [PROMPT, INJECTED, ESC, ANSWER]),
        ("offered", "", None, [PROMPT, INJECTED, ESC]),
        # an interrupt of something later says nothing about it
        ("offered", "UserPromptSubmit", "p3", [PROMPT, INJECTED, NEXT, ANSWER, ESC]),
        # not decided yet
        ("offered", "UserPromptSubmit", "p1", [PROMPT, INJECTED]),
        ("offered", "Notification", "p1", [PROMPT, INJECTED]),
        ("offered", "SessionStart", None, [PROMPT, INJECTED]),
        ("offered", "PreCompact", "p2", [PROMPT, INJECTED]),
        ("offered", "Stop", None, [PROMPT, INJECTED]),
        ("offered", "", None, [PROMPT, INJECTED]),
        ("offered", "", None, [PROMPT, INJECTED, NEXT, ANSWER]),
        ("offered", "", None, []),
        # the same words in another hook's mouth are not the message
        ("offered", "UserPromptSubmit", "p2", [PROMPT, FOREIGN, ANSWER]),
        ("offered", "UserPromptSubmit", "p2", [PROMPT, INJECTED, NEXT, FOREIGN, ANSWER]),
    ],
)  # fmt: skip
def test_a_message_that_came_with_a_prompt(message, verdict, event, turn_id, history):
    """Only an answer to that very prompt delivers; another turn's end gives it back; an interrupt leaves it open."""
    assert verdict == judge(message, "prompt", event, turn_id, history)


@pytest.mark.parametrize(
    ("verdict", "event", "turn_id", "history"),
    [
        ("delivered", "UserPromptSubmit", "p2", [PROMPT, ANSWER, FEEDBACK, ANSWER]),
        ("delivered", "UserPromptSubmit", "p2", [PROMPT, ANSWER, FEEDBACK, TOOL, ESC]),
        ("offered", "UserPromptSubmit", "p2", [PROMPT, ANSWER, FEEDBACK]),
        ("offered", "UserPromptSubmit", "p2", [PROMPT, ANSWER, FEEDBACK, NEXT, ANSWER]),
        ("offered", "UserPromptSubmit", "p2", [PROMPT, INJECTED, ANSWER]),  # came with a prompt: some other offer
        ("unconfirmed", "UserPromptSubmit", "p2", [PROMPT, ANSWER, FEEDBACK, ESC]),
        ("offered", "Notification", "p1", [PROMPT, ANSWER, FEEDBACK]),
        ("offered", "", None, [PROMPT, ANSWER]),
    ],
)
def test_a_message_that_blocked_a_stop(message, verdict, event, turn_id, history):
    """It is delivered by an answer after the block's own feedback line."""
    assert verdict == judge(message, "stop", event, turn_id, history)


@pytest.mark.parametrize(
    ("verdict", "event", "turn_id", "history"),
    [
        ("new", "Interrupt", "p1", [PROMPT]),  # not even logged: it will not go out with the next prompt
        ("offered", "Interrupt", "p1", [PROMPT, INJECTED]),
        ("offered", "Interrupt", "p1", [PROMPT, INJECTED, ESC]),
        ("delivered", "Interrupt", "p1", [PROMPT, INJECTED, ANSWER]),
        ("delivered", "Interrupt", "p1", [PROMPT, INJECTED, ANSWER, ESC]),
        ("offered", "Interrupt", "p0", [PROMPT, INJECTED]),
        ("offered", "UserPromptSubmit", "p2", [PROMPT, INJECTED, ESC]),
        ("offered", "UserPromptSubmit", "p2", [PROMPT, INJECTED, ESC, NEXT]),
        ("delivered", "Stop", "p2", [PROMPT, INJECTED, ESC, NEXT, ANSWER]),
        ("offered", "UserPromptSubmit", "p2", [PROMPT, ESC, NEXT]),
    ],
)
def test_what_codex_has_logged_goes_out_with_its_next_request(message, verdict, event, turn_id, history):
    """An interrupt takes nothing out of Codex's conversation: the next answer is an answer to the message too."""
    assert verdict == judge(message, "prompt", event, turn_id, history, keeps=True)


def test_the_explanation_of_an_interrupt_in_codexs_log_is_no_prompt(message, real, tmp_path):
    """An injection into the turn that the real rollout shows interrupted stays offered."""
    from fleet.formats import transcript

    with open(real("codex-rollout.jsonl"), "rb") as f:
        lines = f.readlines()
    item = {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": f"[OPERATOR] {BODY}"}]}
    line = json.dumps({"type": "response_item", "payload": item}).encode() + b"\n"
    path = tmp_path / "rollout.jsonl"
    path.write_bytes(b"".join([*lines[:40], line, *lines[40:44]]))
    offer = {"via": "prompt", "turn_id": "01a22c39-3c06-7a23-af59-1959be0d3786"}
    said = transcript.codex(str(path))
    verdict = delivery.judge(
        offer, delivery.marks(message), event="UserPromptSubmit", turn_id="t2", said=said, keeps=True
    )
    assert "offered" == str(verdict)


def test_a_long_message_is_recognised_by_its_files_name(layout):
    """Its text is not in the log, the name of its file is."""
    long = messages.spool(layout, "a1b2c3d4", ID, "x" * 20_000, WALL)
    said = [PROMPT, Said("injected", f"[OPERATOR] … Read all of it from /f/inbox/bodies/{ID}.md …"), ANSWER]
    assert "delivered" == judge(long, "prompt", "UserPromptSubmit", "p2", said)


def offered(layout, body=BODY, id_=ID, turn_id="p1", via="prompt"):
    message = messages.spool(layout, "a1b2c3d4", id_, body, WALL)
    return messages.move(message, MessageState.OFFERED, offer={"via": via, "turn_id": turn_id})


def settle(layout, record, event, turn_id, path=""):
    whole = {"transcript_path": None, **record}
    return [(id_, str(to)) for id_, to in delivery.settle(layout, whole, event, turn_id, WALL, path)]


def archived(layout):
    folder = os.path.join(layout.inbox_archive, "a1b2c3d4")
    return {m.id: m.data for m in (messages.read(os.path.join(folder, name)) for name in messages.names(folder))}


def test_a_delivered_message_is_filed_with_when_and_how(layout, agent_record):
    """Its spool is empty afterwards."""
    offered(layout)
    assert [(ID, "delivered")] == settle(layout, agent_record(), "Stop", "p1")
    assert [] == messages.names(layout.spool("a1b2c3d4"))
    filed = archived(layout)[ID]
    assert ("delivered", "2026-11-30T13:00:00Z", "Stop p1") == (
        filed["state"], filed["settled_at"], filed["settled_by"],
    )  # fmt: skip


def test_a_message_given_back_is_new_again_in_its_old_place(layout, agent_record):
    """It keeps its turn among the others, and the failed offer is forgotten."""
    offered(layout, id_="00000000000000aa")
    messages.spool(layout, "a1b2c3d4", "00000000000000bb", "later", WALL)
    assert [("00000000000000aa", "new")] == settle(layout, agent_record(), "Stop", "p2")
    waiting = list(messages.pending(layout, "a1b2c3d4"))
    assert ["00000000000000aa", "00000000000000bb"] == [m.id for m in waiting]
    assert ["new", "new"] == [str(m.state) for m in waiting]
    assert {} == waiting[0].offer


def test_the_answer_to_an_older_message_with_the_same_words_is_none(layout, agent_record, tmp_path):
    """Only what the log got after a message was handed over can be its answer, and no answer yet is none."""
    log = tmp_path / "t.jsonl"
    prompt = {"type": "user", "promptId": "p1", "message": {"content": "go"}}
    handed = {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [f"[OPERATOR] {BODY}"]}}
    answer = {"type": "assistant", "message": {"model": "m", "content": [{"type": "text", "text": "ok"}]}}

    def write(*lines):
        with log.open("a") as f:
            f.writelines(json.dumps(line) + "\n" for line in lines)

    write(prompt, handed, answer)
    record = agent_record(transcript_path=str(log))
    message = messages.spool(layout, "a1b2c3d4", ID, BODY, WALL)
    messages.move(message, MessageState.OFFERED, offer={"via": "prompt", "turn_id": "p2", **delivery.place_in(str(log))})

    assert [] == settle(layout, record, "", None)
    assert [] == settle(layout, record, "PreToolUse", "p2"), "the log is known, and nothing stands in it"
    write({**prompt, "promptId": "p2"}, handed)
    assert [] == settle(layout, record, "", None)
    write(answer)
    assert [(ID, "delivered")] == settle(layout, record, "", None)


def test_a_log_that_is_another_one_is_read_whole(layout, agent_record, tmp_path):
    """After `/clear` the conversation goes on in a new file, shorter than the old one was."""
    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    old.write_text("x" * 5000)
    said = [{"type": "user", "message": {"content": "go"}},
            {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [f"[OPERATOR] {BODY}"]}},
            {"type": "assistant", "message": {"model": "m", "content": [{"type": "text", "text": "ok"}]}}]  # fmt: skip
    new.write_text("".join(json.dumps(line) + "\n" for line in said))
    message = messages.spool(layout, "a1b2c3d4", ID, BODY, WALL)
    messages.move(message, MessageState.OFFERED, offer={"via": "prompt", "turn_id": "p1", **delivery.place_in(str(old))})

    assert [(ID, "delivered")] == settle(layout, agent_record(transcript_path=str(new)), "", None)


def test_a_message_not_offered_is_not_judged(layout, agent_record):
    """What nobody handed over cannot have arrived."""
    messages.spool(layout, "a1b2c3d4", ID, BODY, WALL)
    assert [] == settle(layout, agent_record(), "Stop", "p1")


def test_the_records_own_log_is_used_when_the_event_names_none(layout, agent_record, tmp_path):
    """The drain's look has no payload; the record's transcript_path is enough."""
    offered(layout)
    lines = [
        {"type": "user", "message": {"content": "go"}},
        {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [f"[OPERATOR] {BODY}"]}},
        {"type": "assistant", "message": {"model": "m", "content": [{"type": "text", "text": "ok"}]}},
    ]
    log = tmp_path / "t.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert [(ID, "delivered")] == settle(layout, agent_record(transcript_path=str(log)), "", None)


@pytest.mark.parametrize(("engine", "state"), [("codex", "offered"), ("claude-code", "new")])
def test_which_engines_keep_what_they_have_logged(layout, agent_record, tmp_path, engine, state):
    """After an early Esc Codex still sends the message with its next request, Claude Code does not."""
    offered(layout)
    content = [{"type": "input_text", "text": f"[OPERATOR] {BODY}"}]
    lines = [
        {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [f"[OPERATOR] {BODY}"]}},
        {"type": "response_item", "payload": {"type": "message", "role": "developer", "content": content}},
    ]
    log = tmp_path / "t.jsonl"
    log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    settle(layout, agent_record(engine=engine), "Stop", "p2", str(log))
    assert [state] == [str(message.state) for message in messages.pending(layout, "a1b2c3d4")]


@pytest.mark.parametrize("state", [MessageState.DELIVERED, MessageState.UNCONFIRMED])
def test_filing_away_that_a_kill_cut_short_is_finished(layout, agent_record, state):
    """A message in its last state does not stay in the spool for ever, where it would count as waiting."""
    messages.move(offered(layout), state)
    assert [] == settle(layout, agent_record(), "Notification", "p1")
    assert not messages.any_undelivered(layout, "a1b2c3d4")
    assert str(state) == archived(layout)[ID]["state"]
