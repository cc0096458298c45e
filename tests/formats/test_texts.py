"""The fixed texts that agents are told; other programs and people recognise them."""

from fleet.formats import texts


def test_the_wake_line_is_exactly_this():
    """A busy Claude Code takes the line for a prompt, so it must explain itself."""
    expected = "[fleet] Operator message: its text comes with this prompt, or when this turn ends."
    assert expected == texts.WAKE_LINE


def test_the_handoff_request_says_all_an_agent_must_do():
    """It begins with the words that are searched for, names the draft, the five headings and the token."""
    text = texts.handoff_request("/f/drafts/a1b2c3d4.md")
    assert text.startswith("HANDOFF REQUESTED")
    for part in ("current small step", "/f/drafts/a1b2c3d4.md", "MILESTONE alone on a line"):
        assert part in text
    headings = ["Completed", "Key Decisions", "Files Modified", "Open Questions", "Next Steps (prioritized)"]
    assert ["## " + name for name in headings] == [line for line in text.splitlines() if line.startswith("#")]


def test_the_handoff_request_does_not_answer_itself():
    """An agent that repeats the request has not reached its milestone."""
    assert "MILESTONE" not in [line.strip() for line in texts.handoff_request("/d.md").splitlines()]


def test_an_operator_message_is_marked_as_one():
    """`[OPERATOR] ` and the text, nothing else."""
    assert "[OPERATOR] stop" == texts.operator_message("stop")


def test_a_resume_prompt_names_the_document_and_lets_nobody_wait():
    """The successor reads and goes on."""
    text = texts.resume_prompt("/f/handoffs/d.md")
    assert "/f/handoffs/d.md" in text
    assert "without waiting" in text
