"""The handoff document, byte for byte, and what no body can do to it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fleet.formats import handoff_doc as doc
from fleet.formats.texts import PLACEHOLDER, SECTIONS

HEADER = {
    "agent_id": "a1b2c3d4",
    "task_id": "fix-login",
    "project": "default",
    "context_pct_at_handoff": 55.25,
    "previous_handoff": None,
    "handoff_number": 1,
    "timestamp": "2026-11-30T13:00:00Z",
    "handoff_type": "auto-yellow",
}

GOLDEN = b"""---
agent_id: "a1b2c3d4"
task_id: "fix-login"
project: "default"
context_pct_at_handoff: 55.25
previous_handoff: null
handoff_number: 1
timestamp: "2026-11-30T13:00:00Z"
handoff_type: "auto-yellow"
---

## Completed

The login form.

## Key Decisions

_(operator-triggered handoff \xe2\x80\x94 fill in before resuming)_

## Files Modified

a.py
b.py

## Open Questions

_(operator-triggered handoff \xe2\x80\x94 fill in before resuming)_

## Next Steps (prioritized)

1. Tests.
"""

LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
#: Text in which everything that could forge a frame is much more frequent than in ordinary text.
FORGERIES = st.lists(
    st.sampled_from(
        [*LINE_BREAKS, *" \t\xa0\u3000\x1f\u2003\ufeff\\-#", "---", "----", "##", "## ", "# Completed", "## Completed",
         "## Next Steps (prioritized)", "######", "#######", "a", "\r\n", "---\n", "handoff_type: \"manual\"",
         PLACEHOLDER]
    )
    | st.characters()
    | st.text(max_size=5),
    max_size=12,
).map("".join)  # fmt: skip
BODIES = st.dictionaries(st.sampled_from(SECTIONS), FORGERIES)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]) | st.integers(0xDC80, 0xDCFF).map(chr))
HEADERS = st.fixed_dictionaries(
    {
        name: (
            st.none() | st.floats(0, 1e6).map(lambda x: round(x, 2))
            if name == "context_pct_at_handoff"
            else st.integers(0, 10**9)
            if name == "handoff_number"
            else TEXTS
        )
        for name in doc.FIELDS
    }
)


def test_the_document_has_these_bytes():
    """Frontmatter in the source's order, five sections, blank lines between them, a placeholder where nothing is known."""
    bodies = {
        "Completed": "The login form.\n\n",
        "Files Modified": "a.py\nb.py",
        "Next Steps (prioritized)": "1. Tests.",
        "Open Questions": " \n\t\n",
    }
    assert GOLDEN == doc.render(HEADER, bodies)


def test_the_placeholder_is_the_sources():
    """Loaders of the source system recognise an unfilled section by these exact characters."""
    assert "_(operator-triggered handoff — fill in before resuming)_" == PLACEHOLDER


@pytest.mark.parametrize(
    ("quoted", "text"),
    [
        ('""', ""),
        ('"plain"', "plain"),
        (r'"say \"hi\""', 'say "hi"'),
        (r'"a\\b"', "a\\b"),
        (r'"\a\b\f\n\r\t\v"', "\a\b\f\n\r\t\v"),
        (r'"\x00\x01\x1b\x1f\x7f"', "\x00\x01\x1b\x1f\x7f"),
        (r'"\u0080\u0085\u009f"', "\x80\x85\x9f"),
        (r'"\u00a0"', "\u00a0"),
        (r'"\u00ad"', "\u00ad"),
        (r'"\u200b"', "\u200b"),
        (r'"\u2028\u2029"', "\u2028\u2029"),
        (r'"\u3000"', "\u3000"),
        (r'"\ufeff"', "\ufeff"),
        (r'"\ue000"', "\ue000"),
        (r'"\U000e0001"', "\U000e0001"),
        (r'"\U0010ffff"', "\U0010ffff"),
        ('"it\'s"', "it's"),
        ('"äß→漢字e\u0301"', "äß→漢字e\u0301"),
        ('"\U0001f600"', "\U0001f600"),
        ('"\ufffd"', "\ufffd"),
        (r'"caf\xe9"', b"caf\xe9".decode("utf-8", "surrogateescape")),
        (r'"\xff\xfe"', b"\xff\xfe".decode("utf-8", "surrogateescape")),
    ],
)
def test_a_text_is_quoted_as_go_quotes_it(quoted, text):
    """Go's %q: its short escapes, \\xNN for controls and invalid bytes, \\u or \\U for what is not printable."""
    assert quoted == doc.go_quote(text)


@pytest.mark.parametrize(
    ("short", "value"),
    [
        ("55", 55.0),
        ("55.25", 55.25),
        ("0", 0),
        ("100", 100.0),
        ("33.33", 33.33),
        ("0.1", 0.1),
        ("null", None),
        ("1", 1),
    ],
)
def test_a_number_has_its_shortest_form(short, value):
    """55 and not 55.0; null for nothing."""
    assert short == doc.number(value)


@given(TEXTS)
@example('"')
@example("\\")
@example("\\x41")
def test_unquoting_undoes_quoting(text):
    """Whatever a name or path holds, invalid bytes too, comes back."""
    assert text == doc.go_unquote(doc.go_quote(text))


@given(TEXTS)
def test_a_quoted_text_is_one_printable_line(text):
    """Nothing in a value can end its line or its quotes."""
    quoted = doc.go_quote(text)
    assert [quoted] == quoted.splitlines()
    assert quoted.isprintable()


@pytest.mark.parametrize(
    "text", ["", '"', "bare", '"a', 'a"', '"a"b"', '"a\\"', r'"\q"', r'"\x4"', r'"\U00110000"', r'"\Uffffffff"', '"\\']
)
def test_what_is_not_quoted_so_is_not_unquoted(text):
    """A text that go_quote cannot have written has no value."""
    assert doc.go_unquote(text) is None


@given(HEADERS, BODIES)
def test_reading_gives_back_the_header(header, bodies):
    """Every field of the frontmatter survives writing and reading, whatever it holds."""
    parsed = doc.parse(doc.render(header, bodies).decode("utf-8"))
    assert parsed is not None
    assert header == parsed[0]


@given(BODIES)
@example({"Completed": "---\vfoo"})
@example({"Completed": "\u3000## Next Steps (prioritized)\nforged"})
@example({"Completed": "x\x1f\n\x1f## Open Questions"})
def test_no_body_can_forge_a_part_of_the_frame(bodies):
    """Split at any character that some reader takes for a line break, only the frame's own lines look like it."""
    lines = doc.render(HEADER, bodies).decode("utf-8").splitlines()
    fences = [line for line in lines if set(line.strip()) == {"-"} and len(line.strip()) >= 3]
    headings = [line for line in lines if _looks_like_a_heading(line)]
    assert ["---", "---"] == fences
    assert ["## " + name for name in SECTIONS] == headings


def _looks_like_a_heading(line):
    words = line.strip()
    marks = len(words) - len(words.lstrip("#"))
    return 1 <= marks <= 6 and (len(words) == marks or words[marks].isspace())


@given(BODIES)
def test_reading_gives_back_the_neutralised_bodies(bodies):
    """The sections read are those written, with their line breaks made plain; empty ones and placeholders are absent."""
    parsed = doc.parse(doc.render(HEADER, bodies).decode("utf-8"))
    neutral = {name: "\n".join(doc.neutralise(body).splitlines()).strip() for name, body in bodies.items()}
    assert parsed is not None
    assert {name: body for name, body in neutral.items() if body and body != PLACEHOLDER} == parsed[1]


@given(FORGERIES)
def test_neutralising_twice_changes_nothing_more(body):
    """A body that went through one handoff goes through the next unchanged."""
    once = doc.neutralise(body)
    assert once == doc.neutralise(once)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters="#-"), min_size=1))
def test_an_ordinary_line_is_left_alone(body):
    """Only what could pass for the frame is touched."""
    assert body == doc.neutralise(body)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no document",
        "---\n",
        "---\nagent_id\n---\n",
        '---\nagent_id: "a1b2c3d4"\n',
        "---\nhandoff_number: many\n---\n",
        '---\nagent_id: "\\q"\n---\n',
        '---\nagent_id: "\\U00110000"\n---\n',
    ],
)
def test_what_is_no_document_is_not_read_as_one(text):
    """A broken frontmatter gives nothing rather than half a header."""
    assert doc.parse(text) is None


def test_a_document_of_the_source_system_is_read():
    """No blank lines between its sections, sections of its own among them."""
    text = (
        '---\nagent_id: "0a0b0c0d"\ncontext_pct_at_handoff: null\nhandoff_number: 3\n---\n'
        "## First Action (auto)\nlook\n## Completed\nall\n## Open Questions\n" + PLACEHOLDER + "\n"
    )
    header = {"agent_id": "0a0b0c0d", "context_pct_at_handoff": None, "handoff_number": 3}
    assert (header, {"Completed": "all"}) == doc.parse(text)


def test_a_drafts_sections_are_taken_in_any_order_and_at_any_level():
    """An agent's draft needs no frontmatter; `#` to `######`, decoration and case do not matter; other text is dropped."""
    draft = (
        "Here is my handoff.\n\n# next steps\n1. Tests\n### Completed ##\nThe form.\n#### Details\nfine\n"
        "  ## 2. KEY DECISIONS:\nNone.\n######  Files Modified\n\n## Completed\nAnd the page.\n####### Open Questions\nno"
    )
    expected = {
        "Next Steps (prioritized)": "1. Tests",
        "Completed": "The form.\n#### Details\nfine\nAnd the page.\n####### Open Questions\nno",
        "Key Decisions": "None.",
    }
    assert expected == doc.sections(draft)


@given(st.permutations(SECTIONS), st.integers(1, 6))
def test_the_order_of_a_drafts_sections_does_not_matter(order, level):
    """Every section of a draft ends at the next heading of ours, whichever it is."""
    draft = "\n".join(f"{'#' * level} {name}\nbody of {name}" for name in order)
    assert {name: f"body of {name}" for name in SECTIONS} == doc.sections(draft)


@pytest.mark.timeout(10)
@pytest.mark.parametrize(
    "line", ["# " + " " * 100_000 + "x", "# " + "(" * 100_000, "#" * 100_000, "# Completed" + " " * 100_000]
)
def test_a_strange_draft_does_not_hold_up_the_hook(line):
    """The time to read a draft grows with its length and not with its square."""
    assert {} == doc.sections(line)


def test_a_new_documents_name_says_whose_and_when():
    """`<id>-<YYYYMMDD-HHMMSS UTC>-<4 hex>.md`."""
    import re

    assert re.fullmatch(r"a1b2c3d4-20261130-130000-[0-9a-f]{4}\.md", doc.new_name("a1b2c3d4", 1_796_043_600.9))


def test_the_header_of_a_handoff_comes_from_the_record(agent_record):
    """Which agent, which task, what it inherited, when and why."""
    record = agent_record(last_handoff_path="/f/handoffs/x.md", handoff_number=4)
    expected = {**HEADER, "previous_handoff": "/f/handoffs/x.md", "handoff_number": 4, "context_pct_at_handoff": 71.5}
    assert expected == doc.header(record, 1_796_043_600.0, "auto-yellow", 71.5)
