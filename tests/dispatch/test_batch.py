"""Files of many tasks: what each of them means, and what is refused with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.dispatch import batch
from fleet.errors import UsageError


def tasks(text):
    """Name to options."""
    return {spec.options["task"]: spec.options for spec in batch.read(text, "f.yaml")}


def test_defaults_are_below_a_tasks_own_options():
    """And everything else is as the task says."""
    found = tasks("defaults: {engine: codex, mode: plan}\ntasks: [{task: a}, {task: b, engine: fake, prompt: hi}]")
    assert {"task": "a", "engine": "codex", "mode": "plan"} == found["a"]
    assert {"task": "b", "engine": "fake", "mode": "plan", "prompt": "hi"} == found["b"]


def test_a_bare_list_is_a_list_of_tasks():
    """Without a word around it."""
    assert ["a", "b"] == list(tasks("- {task: a}\n- {task: b}\n"))


def test_count_makes_numbered_tasks():
    """From one, in the name where nothing else tells them apart, and as {{n}}."""
    found = tasks('tasks: [{task: x, count: 3, prompt: "number {{n}}"}]')
    assert {"x-1": "number 1", "x-2": "number 2", "x-3": "number 3"} == {k: v["prompt"] for k, v in found.items()}


def test_a_matrix_makes_every_combination():
    """Named by its values, in the order of the file."""
    found = tasks('tasks: [{task: t, matrix: {b: [x, Y z], a: [1, 2]}, prompt: "{{a}}{{b}}"}]')
    assert ["t-1-x", "t-1-y-z", "t-2-x", "t-2-y-z"] == list(found)
    assert "1Y z" == found["t-1-y-z"]["prompt"]


def test_a_template_fills_every_text():
    """Task, prompt, worktree, environment, command; values in a name become a part of a name."""
    found = tasks(
        'tasks: [{task: "fix-{{bug}}", matrix: {bug: [Log In]}, prompt: "{{ bug }} of {{task}} in {{project}}", '
        'worktree: "w/{{task}}", env: {BUG: "{{bug}}"}, command: [echo, "{{bug}}"], project: shop}]'
    )
    assert {
        "task": "fix-log-in", "prompt": "Log In of fix-log-in in shop", "worktree": "w/fix-log-in", "project": "shop",
        "env": {"BUG": "Log In"}, "command": ["echo", "Log In"],
    } == found["fix-log-in"]  # fmt: skip


@pytest.mark.parametrize("prompt", ["{x}", "{{", "}}", "{{ a b }}", "${HOME}", "{{1}}", "{% raw %}", "$x `y` \\"])
def test_other_braces_are_text(prompt):
    """Code in a prompt arrives as it is."""
    assert (
        prompt == batch.read(f'{{"task": "t", "prompt": {__import__("json").dumps(prompt)}}}', "f")[0].options["prompt"]
    )


def test_json_lines_hold_a_task_a_line():
    """Empty lines between them do not matter."""
    found = tasks('{"task": "a", "prompt": "x"}\n\n{"task": "b", "count": 2}\n')
    assert ["a", "b-1", "b-2"] == list(found)


def test_priority_is_the_tasks_or_the_defaults():
    """Zero where nobody says anything."""
    specs = batch.read("defaults: {priority: 3}\ntasks: [{task: a}, {task: b, priority: -1}]", "f")
    assert [3, -1] == [spec.priority for spec in specs]
    assert [0] == [spec.priority for spec in batch.read("- {task: a}", "f")]


def test_options_may_be_written_with_a_dash():
    """As on the command line."""
    assert "p.md" == tasks("- {task: a, prompt-file: p.md}")["a"]["prompt_file"]


WRONG = {
    "": "`tasks`",
    "tasks: []": "no task in it",
    "tasks: {a: b}": "`tasks`",
    "hello": "`tasks`",
    "{unclosed": "not YAML",
    "tasks: [1]": "task 1: expected options",
    "jobs: [{task: a}]": "`tasks`",
    "tasks: [{task: a}]\nextra: 1": "unknown key 'extra'",
    "tasks: [{prompt: a}]": "task 1: it has no `task`",
    "tasks: [{task: a, promt: x}]": "task 1: unknown option 'promt'",
    "tasks: [{task: a}, {task: a}]": "task 2 (a): task 'a' is there twice (also f.yaml, task 1 (a))",
    "tasks: [{task: a, count: 0}]": "count cannot be 0",
    "tasks: [{task: a, count: true}]": "count cannot be True",
    "tasks: [{task: a, count: 1001}]": "count cannot be 1001",
    "tasks: [{task: a, count: 900}, {task: b, count: 900}]": "more than 1000",
    "tasks: [{task: a, priority: high}]": "priority cannot be 'high'",
    "tasks: [{task: a, matrix: []}]": "matrix cannot be []",
    "tasks: [{task: a, matrix: {x: []}}]": "matrix cannot be",
    "tasks: [{task: a, matrix: {'x y': [1]}}]": "matrix cannot be",
    "tasks: [{task: a, env: [A=b]}]": "env cannot be",
    "tasks: [{task: a, command: ls}]": "command cannot be 'ls'",
    "tasks: [{task: a, command: []}]": "command cannot be []",
    "tasks: [{task: a, trust: 1}]": "trust cannot be 1",
    "tasks: [{task: a, prompt: [x]}]": "prompt cannot be ['x']",
    "tasks: [{task: a, prompt: null}]": "prompt cannot be None",
    'tasks: [{task: a, prompt: "{{b}}"}]': "nothing is called {{b}}",
    "defaults: {task: a}\ntasks: [{task: b}]": "defaults: a name for all tasks",
    '{"task": "a"}\nnonsense': "line 2: not JSON",
    '{"task": "a"}\n[1]': "f.yaml, line 2: expected options",
}


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_what_is_wrong_is_said_with_its_place(text):
    """In one line."""
    with pytest.raises(UsageError) as e:
        batch.read(text, "f.yaml")
    assert WRONG[text] in str(e.value)


@given(st.text())
def test_any_text_is_tasks_or_an_error(text):
    """Never anything else."""
    try:
        batch.read(text, "f")
    except UsageError:
        pass
