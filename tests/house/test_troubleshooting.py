"""docs/troubleshooting.md names every error message of fleet, in the words in which the code has it."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text() if (ROOT / "docs" / "troubleshooting.md").exists() else ""
TREES = {
    path: ast.parse(path.read_text())
    for path in sorted((ROOT / "fleet").rglob("*.py"))
    if not {"fakeagent", "_data"} & set(path.parts)
}
#: Which argument is the message, where it is not the first.
MESSAGE_AT = {"BadFile": 1, "NewerSchema": 1, "Malformed": 2, "_taken": 2, "fail": 1}
#: What is no error and makes one.
MAKERS = {"Obstacle", "_taken", "fail"}
#: Words its own message from a part of it.
OWN_WORDS = {"GitFailed"}


def name_of(node):
    return getattr(node, "id", getattr(node, "attr", ""))


def family():
    """The names of all error classes: FleetError, what derives from it, and what `settings` raises."""
    found, before = {"FleetError", "Malformed"}, set()
    while before != found:
        before = set(found)
        for tree in TREES.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and found & {name_of(base) for base in node.bases}:
                    found.add(node.name)
    return found


FAMILY = family()


def pieces(node):
    """The message as its constant texts, with None for what is only known when it is raised."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.JoinedStr):
        return [part for value in node.values for part in pieces(value)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return pieces(node.left) + pieces(node.right)
    if isinstance(node, ast.Subscript):  # a message that is cut
        return pieces(node.value)
    return [None]


def messages():
    """(place, pieces) of every error message."""
    for path, tree in TREES.items():
        made = [(None, node) for node in tree.body if not isinstance(node, ast.ClassDef)]
        made += [(node.name, node) for node in tree.body if isinstance(node, ast.ClassDef)]
        for owner, top in made:
            for node in ast.walk(top):
                if not isinstance(node, ast.Call):
                    continue
                name = name_of(node.func)
                if name == "__init__" and owner in FAMILY:  # a class that words its own message
                    name = "BadFile" if owner == "NewerSchema" else "FleetError"
                at = MESSAGE_AT.get(name, 0)
                if name in (FAMILY | MAKERS) - OWN_WORDS and len(node.args) > at:
                    found = pieces(node.args[at])
                    if any(part and re.search(r"\w{3}", part) for part in found):
                        yield f"{path.relative_to(ROOT)}:{node.lineno}", found


MESSAGES = list(messages())
#: What a function puts together for several messages, and what has too few words of its own to be told by.
COMPOSED = {"a comment, which JSON does not have", "CHARACTER where WHAT should be", "WHERE: NAME is VALUE"}
#: The page's code spans; two back-ticks stand around one that holds back-ticks itself.
SPANS = [a or b for a, b in re.findall(r"``[ ]?(.+?)[ ]?``|`([^`\n]+)`", PAGE)]


def is_named(found):
    """Whether a code span of the page has these constants in this order, and anything in the gaps."""
    pattern = re.compile("".join(".*" if part is None else re.escape(part) for part in found), re.DOTALL)
    return any(pattern.fullmatch(span) for span in SPANS)


def test_the_walk_finds_what_there_is():
    """It sees far more than a handful: a walk that finds nothing would find nothing missing."""
    assert len(MESSAGES) > 200


@pytest.mark.parametrize(("place", "found"), MESSAGES, ids=[place for place, _ in MESSAGES])
def test_every_error_message_has_its_cause_and_cure(place, found):
    """The page has the message as code, with any word in the place of what varies."""
    shown = "".join("…" if part is None else part for part in found)

    assert is_named(found), f"docs/troubleshooting.md lacks `{shown}` ({place})"


def shown():
    """The messages of the page: the first cell of each row, below the symptoms."""
    errors = PAGE[PAGE.index("## All commands") :]
    rows = re.findall(r"^\| (?:``[ ]?(.+?)[ ]?``|`([^`\n]+)`) \|", errors, re.MULTILINE)
    return sorted({a or b for a, b in rows} - COMPOSED)


@pytest.mark.parametrize("message", shown())
def test_every_message_of_the_page_is_one_of_the_code(message):
    """A message that the code no longer has goes from the page, too."""
    patterns = ("".join(".*" if part is None else re.escape(part) for part in found) for _, found in MESSAGES)

    assert any(re.fullmatch(pattern, message, re.DOTALL) for pattern in patterns)


def test_every_row_has_a_cause_and_a_cure():
    """No cell of a table is empty."""
    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]

    assert [] == [
        row for row in rows if len(cells := re.split(r"(?<!\\)\|", row)[1:-1]) != 3 or not all(c.strip() for c in cells)
    ]
