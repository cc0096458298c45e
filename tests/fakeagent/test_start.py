"""From the start to the first prompt: booting, dialogs, and keys that come too early."""

import time

import pytest

from tests.fakeagent.bench import until


def test_the_session_begins_after_the_boot(fake):
    """There is neither composer nor hook before the boot time is over."""
    started = time.monotonic()
    it = fake(script={"client": {"boot_seconds": 0.5}})
    assert it.composer() is None
    it.ready()

    assert time.monotonic() - started >= 0.5


def test_keys_typed_too_early_are_left_without_their_enter(fake):
    """The text waits in the composer, and a second Enter sends it."""
    it = fake(script={"client": {"boot_seconds": 0.4}})
    it.pane.paste("early\nSTUB: say=x")
    it.pane.key("Enter")
    it.ready()

    assert "early\nSTUB: say=x" == it.composer()
    it.submit()
    assert "early\nSTUB: say=x" == it.event("UserPromptSubmit")["prompt"]


def test_keys_typed_too_early_can_be_swallowed(fake):
    """With `swallowed` nothing is left of them."""
    it = fake(script={"client": {"boot_seconds": 0.4, "early_keys": "swallowed"}})
    it.pane.paste("early")
    it.pane.key("Enter")
    it.ready()

    assert "" == it.composer()


def test_keys_typed_too_early_can_be_mangled(fake):
    """With `mangled` something is sent that nobody wrote."""
    it = fake(script={"client": {"boot_seconds": 0.4, "early_keys": "mangled"}})
    it.pane.paste("early")
    it.pane.key("Enter")

    assert "ery" == it.event("UserPromptSubmit")["prompt"]


def test_an_enter_right_behind_a_paste_is_lost_after_the_start(fake):
    """Within the gap the text stays in the composer; another Enter sends it once."""
    it = fake(script={"client": {"swallow_gap_seconds": 30, "swallow_window_seconds": 30}}).ready()
    it.pane.paste("once\nSTUB: say=x")
    it.pane.key("Enter")
    until(lambda: it.composer() == "once\nSTUB: say=x", it.pane.capture)
    assert [] == it.hooks.events("UserPromptSubmit")


def test_a_number_of_enters_can_be_lost(fake):
    """`swallow_enter` does not depend on the time."""
    it = fake(script={"client": {"swallow_enter": 2}}).ready()
    it.write("thrice")
    it.pane.key("Enter")
    it.pane.key("Enter")
    assert "thrice" == it.composer()
    it.pane.key("Enter")

    assert "thrice" == it.event("UserPromptSubmit")["prompt"]


def test_no_hook_fires_while_trust_is_asked(fake):
    """The dialog comes before SessionStart; its default answer goes on."""
    it = fake("an argv prompt", script={"client": {"trust_dialog": True}})
    it.pane.shows("Enter to confirm · Esc to cancel")
    assert [] == it.hooks.names()
    assert "❯ 1. Yes, I trust this folder" in it.pane.capture()
    assert it.composer() is None
    it.pane.key("Enter")

    assert "an argv prompt" == it.event("UserPromptSubmit")["prompt"]


@pytest.mark.parametrize(
    ("client", "keys"),
    [
        ({"trust_dialog": True}, ["2"]),
        ({"trust_dialog": True}, ["Escape"]),
        ({"trust_dialog": True}, ["Down", "Enter"]),
        ({"trust_dialog": True, "trust_default": "no"}, ["Enter"]),
        ({"bypass_dialog": True}, ["Enter"]),
    ],
)
def test_a_refused_dialog_ends_the_client(fake, client, keys):
    """No hook ever fires then; a blind Enter is enough where the default is no."""
    it = fake(script={"client": client})
    it.pane.shows("Enter to confirm")
    it.pane.key(*keys)

    assert 1 == it.pane.exit_status()
    assert [] == it.hooks.names()


def test_a_paste_into_the_trust_dialog_vanishes(fake):
    """Only its Enter counts."""
    it = fake(script={"client": {"trust_dialog": True}})
    it.pane.shows("Enter to confirm")
    it.pane.paste("2 2 2 a message")
    it.pane.key("Enter")
    it.ready()

    assert "" == it.composer()


def test_the_placeholder_is_dim_and_reads_as_nothing(fake):
    """A plain capture cannot tell it from typed text, a styled one can."""
    it = fake(script={"client": {"placeholder": "Ask me something"}}).ready()

    it.pane.shows("Ask me something")
    assert "" == it.composer()


def test_the_home_is_created_with_the_first_prompt(fake):
    """A client that was never asked anything leaves nothing behind."""
    it = fake().ready()
    assert not it.config.exists()
    it.turn("hello\nSTUB: say=x")

    assert it.transcript_path().is_relative_to(it.config / "projects")


def test_session_start_speaks_to_the_model(fake):
    """Text of a SessionStart hook is in the conversation that rules search."""
    rules = [{"match": "hello", "in": "SessionStart hook additional context: CODE7", "do": "STUB: say=read it"}]
    output = {"hookSpecificOutput": {"hookEventName": "SessionStart", "additionalContext": "CODE7"}}
    script = {"rules": rules, "client": {"transcript_lag_seconds": 0}}
    it = fake(script=script, says={"SessionStart": output}).ready()
    it.write("hello")
    assert not it.transcript_path().exists()  # the attachment waits for the first prompt
    it.submit()

    assert "read it" == it.event("Stop")["last_assistant_message"]
