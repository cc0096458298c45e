"""Waiting for the engine's log: Claude Code writes it by a timer, so at Stop the last answer may not be in it yet."""

import types

import pytest

from fleet.hooks import lag
from fleet.hooks.payload import Payload


@pytest.fixture
def call(agent):
    """Makes the Stop of turn p1 that ended with the answer "done"."""

    def make(text="done", engine="claude-code", path=None):
        data = {
            "transcript_path": agent.log if path is None else path,
            "prompt_id": "p1",
            "last_assistant_message": text,
        }
        return Payload(engine, "Stop", data)

    return make


@pytest.fixture
def slept(clock, monkeypatch):
    """Puts the wait on the fake clock; what is in the list is done at its first sleep."""
    todo = []

    def sleep(seconds):
        clock.sleep(seconds)
        while todo:
            todo.pop()()

    monkeypatch.setattr(lag, "time", types.SimpleNamespace(monotonic=clock.monotonic, sleep=sleep))
    return todo


def prompt(agent, prompt_id):
    agent.write({"type": "user", "promptId": prompt_id, "message": {"content": "go"}})


def feedback(agent):
    agent.write({"type": "user", "message": {"content": "Stop hook feedback:\nmore"}})


def test_a_log_that_holds_the_answer_is_not_waited_for(agent, call, slept, clock):
    """The usual case costs nothing."""
    prompt(agent, "p1")
    agent.say("done")
    assert lag.wait(call())
    assert [] == clock.slept


def test_an_answer_that_comes_late_is_waited_for(agent, call, slept, clock):
    """And no longer than until it is there."""
    prompt(agent, "p1")
    slept.append(lambda: agent.say("done"))
    assert lag.wait(call())
    assert 1 == len(clock.slept)


def test_the_wait_ends(agent, call, slept, clock):
    """After less than half a second the hook goes on with what there is."""
    prompt(agent, "p1")
    assert not lag.wait(call())
    assert 0.3 < sum(clock.slept) < 0.5


@pytest.mark.parametrize(
    ("current", "history"),
    [
        (True, [("prompt", "p1"), "done"]),
        (True, [("prompt", "p1"), "first", "done"]),
        (True, [("prompt", "p0"), "done", ("prompt", "p1"), "done"]),
        (True, [("prompt", "p1"), "done", "feedback", "done"]),
        (False, [("prompt", "p1"), "first"]),
        (False, [("prompt", "p0"), "done"]),  # the same words, of the turn before
        (False, [("prompt", "p0"), "done", ("prompt", "p1")]),
        (False, [("prompt", "p1"), "done", "feedback"]),  # of the same turn, before it was blocked
        (False, [("prompt", "p0"), "first", "feedback", "done"]),  # of the turn before, after it was blocked
        (True, [("prompt", "p0"), "first", "feedback", "done", ("prompt", "p1"), "done"]),
        (True, [("prompt", "p1"), "first", "feedback", "done"]),
    ],
)
def test_the_answer_of_this_very_turn_is_meant(agent, call, current, history):
    """Not the same words from before the prompt or the block."""
    for one in history:
        if one == "feedback":
            feedback(agent)
        elif isinstance(one, tuple):
            prompt(agent, one[1])
        else:
            agent.say(one)
    assert current == lag.is_current(call())


@pytest.mark.parametrize(
    ("current", "blocks", "history"),
    [
        (False, 1, ["done"]),  # neither the block nor the answer to it is there yet
        (True, 1, ["done", "feedback", "done"]),
        (False, 2, ["first", "feedback", "done"]),
        (True, 2, ["first", "feedback", "done", "feedback", "done"]),
    ],
)
def test_each_block_of_the_turn_must_be_in_the_log(agent, call, current, blocks, history):
    """An agent that answers two blocks with the same words has not answered the second before that is written."""
    prompt(agent, "p1")
    for one in history:
        feedback(agent) if one == "feedback" else agent.say(one)
    assert current == lag.is_current(call(), blocks)


def test_without_an_answer_or_a_log_there_is_nothing_to_wait_for(call, slept, clock):
    """An engine whose log is not read, a payload without a path or a message."""
    assert lag.wait(call(text=""))
    assert lag.wait(call(engine="command"))
    assert lag.wait(call(path=""))
    assert [] == clock.slept


def test_a_first_answer_that_stands_before_its_prompt(agent, call, slept, clock):
    """Claude Code may write a conversation's first answer before its prompt: with no other prompt it counts."""
    agent.say("done")
    prompt(agent, "p1")
    assert lag.wait(call())
    assert [] == clock.slept


def test_the_same_words_of_an_earlier_turn_do_not_count(agent, call, slept, clock):
    """An answer before the prompt, behind another prompt, is that other prompt's."""
    prompt(agent, "p0")
    agent.say("done")
    prompt(agent, "p1")
    assert not lag.wait(call())
