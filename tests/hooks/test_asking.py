"""A hook of Claude Code that holds a permission question: who may answer it, and when it lets go."""

import os
import threading

import pytest

from fleet.clock import SystemClock, wait_until
from fleet.formats import approval
from fleet.hooks import asking
from fleet.hooks.payload import Payload
from tests.hooks.conftest import ID

CLOCK = SystemClock()
PAYLOAD = {"tool_name": "Bash", "tool_input": {"command": "make"}}


def holding(agent, seconds=20, **payload):
    """Run the hook in the background; a way to wait for what it printed."""
    agent.config["approval_hold_seconds"] = seconds
    found = []
    thread = threading.Thread(target=lambda: found.append(agent.hook("PermissionRequest", **{**PAYLOAD, **payload})))
    thread.start()

    def ended():
        thread.join(30)
        return found[0]

    ended.found = found
    return ended


@pytest.mark.parametrize("behavior", ["allow", "deny"])
def test_it_says_what_was_answered_and_leaves_nothing(agent, behavior):
    """The question is there while it waits, with the tool's input; afterwards neither it nor the answer."""
    ended = holding(agent)
    wait_until(lambda: approval.held(agent.layout, ID), 10, clock=CLOCK, what="it holds")
    (at,) = approval.held(agent.layout, ID)
    approval.answer(at, behavior)
    decision = ended().answer["hookSpecificOutput"]["decision"]

    assert behavior == decision["behavior"]
    assert [] == approval.held(agent.layout, ID)
    assert [] == list_of(agent)


def list_of(agent):
    return os.listdir(agent.layout.approvals)


def test_it_lets_go_in_time_and_says_nothing(agent):
    """Then the dialog alone decides."""
    assert holding(agent, seconds=0.3)().answer is None
    assert [] == list_of(agent)


def test_by_default_it_holds_nothing(agent):
    """And so for every other engine, whatever the setting: Codex shows no dialog meanwhile."""
    assert agent.hook("PermissionRequest", **PAYLOAD).answer is None
    agent.config["approval_hold_seconds"] = 20
    assert agent.hook("PermissionRequest", engine="codex", **PAYLOAD).answer is None


def test_a_choice_of_answers_is_not_held(agent):
    """A hook can say yes and no alone: with a yes the client tells the model that the user did not answer."""
    ended = holding(agent, seconds=2, tool_name="AskUserQuestion")
    wait_until(lambda: ended.found or approval.held(agent.layout, ID), 10, clock=CLOCK, what="it ends or holds")

    assert [] == approval.held(agent.layout, ID)
    assert ended().answer is None


def test_what_a_killed_hook_left_is_nobodys_question(agent):
    """Its lock is free: what it left is removed, and an answer goes nowhere."""
    at = approval.stem(agent.layout, ID, 4711)
    approval.ask(at, {"agent_id": ID})

    assert [] == approval.held(agent.layout, ID)
    assert [] == list_of(agent)


def test_a_damaged_answer_is_none(agent):
    """It goes on waiting."""
    at = approval.stem(agent.layout, ID, 4711)
    for text in ("{", '{"schema_version": 1, "behavior": "always"}', '{"schema_version": 9, "behavior": "allow"}'):
        with open(at + ".answer", "w", encoding="utf-8") as f:
            f.write(text)
        assert approval.answered(at) is None


def test_an_answer_to_another_question_is_none(agent):
    """One that came too late for a hook which had the same pid: nobody has said anything to this one."""
    at = approval.stem(agent.layout, ID, os.getpid())
    os.makedirs(agent.layout.approvals, exist_ok=True)
    approval.answer(at, approval.ALLOW)

    assert asking.wait(agent.layout, ID, Payload("claude-code", "PermissionRequest", PAYLOAD), 0.0, 0.5) is None
