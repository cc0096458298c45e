"""The language of directives, and how a text written in it is chosen."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.fakeagent.directives import (
    Call,
    Playbook,
    Usage,
    fill,
    parse,
    read_defaults,
    read_queue,
    read_rules,
)
from fleet.fakeagent.errors import BadScript


def chosen(playbook, prompt, conversation="", turn=1):
    return playbook.directives(turn, prompt, lambda: conversation)


def test_tools_are_steps_and_the_rest_are_options():
    """Every tool directive is a step; `+=` joins the step before; options hold for the whole turn."""
    read = parse("words\nSTUB: bash=a\n STUB: bash+=b\nSTUB: write=p|c\nSTUB: say= end \nSTUB: usage=9", {})

    assert [[Call("bash", "a"), Call("bash", "b")], [Call("write", "p|c")]] == read.steps
    assert {"say": "end", "usage": "9"} == read.options


def test_the_closing_text_has_real_newlines():
    r"""`\n` in a directive is a newline, because a directive is one line."""
    assert "a\nb" == parse(r"STUB: say=a\nb", {}).said("x")
    assert "x" == parse("", {}).said("x")


def test_a_number_may_have_text_glued_to_it():
    """A client that appends words to the last line of a prompt does not break its numbers."""
    assert 2.5 == parse("STUB: delay=2.5 and more", {}).seconds("delay")


def test_usage_is_split_into_its_parts():
    """usage= is the whole prompt; the cached parts are taken out of it."""
    read = parse("STUB: usage=100\nSTUB: cache_read=60\nSTUB: cache_create=30\nSTUB: output=5", {})

    usage = read.usage(prompt_default=1, output_default=1)
    assert Usage(fresh=10, cache_read=60, cache_create=30, output=5) == usage
    assert 100 == usage.prompt
    assert Usage(7, 0, 0, 3) == parse("", {}).usage(prompt_default=7, output_default=3)


@pytest.mark.parametrize(
    "wrapped", ["<system-reminder>{}</system-reminder>", "<system-reminder>\n{}\n</system-reminder>"]
)
def test_a_reminder_steers_nothing(wrapped):
    """Text that a client puts into a user message as a reminder is not read."""
    read = chosen(Playbook(), "hello\n" + wrapped.format("STUB: say=no"))

    assert {} == read.options


def test_what_a_hook_said_steers():
    """Of a hook prompt only the tags are dropped."""
    read = chosen(Playbook(), '<hook_prompt hook_run_id="stop:1">STUB: say=yes</hook_prompt>')

    assert {"say": "yes"} == read.options


def test_a_prompt_with_directives_uses_up_nothing():
    """Queue and rules are for prompts that hold no directive."""
    playbook = Playbook(read_rules([{"match": "", "do": "STUB: say=rule"}]), read_queue(["STUB: say=queued"]))

    assert "own" == chosen(playbook, "STUB: say=own").options["say"]
    assert ["STUB: say=queued"] == playbook.queue


def test_the_queue_serves_one_turn_each_then_the_rules():
    """An entry serves all steps of its turn; the next turn gets the next one; rules come last."""
    playbook = Playbook(
        read_rules([{"match": "hi", "do": "STUB: say=rule"}]), read_queue(["STUB: say=1", "STUB: say=2"])
    )

    said = [chosen(playbook, "hi", turn=turn).options["say"] for turn in (1, 1, 2, 2, 3)]
    assert ["1", "1", "2", "2", "rule"] == said


def test_the_first_rule_that_fits_is_used():
    """`match` is searched in the prompt, `in` in the whole conversation."""
    rules = [
        {"match": "hand", "in": "/other", "do": "STUB: say=other"},
        {"match": "hand", "in": "/here", "do": "STUB: say=here"},
        {"match": "", "do": "STUB: say=any"},
    ]
    playbook = Playbook(read_rules(rules))

    assert "here" == chosen(playbook, "hand over", "cwd /here", 1).options["say"]
    assert "any" == chosen(playbook, "something", "cwd /here", 2).options["say"]


def test_a_rule_can_be_limited():
    """`times` counts turns and not steps."""
    rules = [{"match": "", "do": "STUB: say=once", "times": 1}, {"match": "", "do": "STUB: say=then"}]
    playbook = Playbook(read_rules(rules))

    assert ["once", "once", "then"] == [chosen(playbook, "x", turn=turn).options["say"] for turn in (1, 1, 2)]


def test_groups_of_the_match_go_into_the_directives():
    r"""\1 and \g<name> are replaced; `\n` and unknown escapes are left for the directive."""
    rule = {
        "match": r"write (?P<what>\w+) to (/\S+)",
        "do": [r"STUB: write=\2|## \g<what>\n\nx\\", "STUB: say=done"],
    }
    playbook = Playbook(read_rules([rule]))

    read = chosen(playbook, "please write Completed to /tmp/a.md")
    assert [[Call("write", r"/tmp/a.md|## Completed\n\nx\\")]] == read.steps


def test_a_group_that_took_no_part_is_empty():
    """An optional group leaves nothing behind."""
    [rule] = read_rules([{"match": "a(b)?", "do": r"STUB: say=[\1]"}])

    assert "STUB: say=[]" == fill(rule.do, rule.match.search("a"))


@given(st.text(alphabet=st.characters(exclude_characters="\\")))
def test_filling_changes_nothing_else(text):
    """A text without references stays as it is."""
    [rule] = read_rules([{"match": "(a)", "do": "x"}])

    assert text == fill(text, rule.match.search("a"))


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({}, "rules: expected a list"),
        (["x"], "rule 1: expected an object"),
        ([{"do": "x"}, {"match": "a", "do": "x", "time": 1}], "rule 2: unknown key 'time'"),
        ([{"match": "a"}], "rule 1: do: expected a string"),
        ([{"match": "(", "do": "x"}], "rule 1: match: "),
        ([{"in": 3, "do": "x"}], "rule 1: in: expected a regular expression"),
        ([{"match": "(a)", "do": r"\2"}], "rule 1: do names group 2"),
        ([{"match": "(a)", "do": r"\g<path>"}], "rule 1: do names group path"),
        ([{"do": "x", "times": 0}], "rule 1: times must be"),
        ([{"do": "x", "times": True}], "rule 1: times must be"),
    ],
)
def test_a_broken_rule_is_named(rules, words):
    """The error says which rule and what is wrong with it."""
    with pytest.raises(BadScript) as caught:
        read_rules(rules)

    assert str(caught.value).startswith(words)


def test_defaults_are_options_only():
    """A default cannot be a tool, and numbers may be written as numbers."""
    assert {"usage": "10"} == read_defaults({"usage": 10})
    with pytest.raises(BadScript, match="unknown key 'bash'"):
        read_defaults({"bash": "ls"})


def test_errors_are_counted_per_key():
    """errors=N fails N times and then no more; without it every request fails."""
    playbook = Playbook()
    twice, always = parse("STUB: error=529\nSTUB: errors=2", {}), parse("STUB: error=400", {})

    assert [529, 529, 0, 0] == [playbook.failure("a", twice) for _ in range(4)]
    assert 529 == playbook.failure("b", twice)
    assert [400, 400] == [playbook.failure("c", always) for _ in range(2)]
    playbook.forgive("a")
    assert 529 == playbook.failure("a", twice)
