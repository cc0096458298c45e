"""Fleet's entries in the user's own JSON: the expected merge, and not a byte of anybody else's."""

import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.settings import edit, merge, tags
from fleet.settings.merge import Wanted
from fleet.settings.scan import Malformed, scan
from tests.settings.documents import EVENTS, LAUNCHER, PY, settings, values, written

pytestmark = pytest.mark.timeout(900)  # the long form makes a thousand documents
ENGINE = "claude-code"
WANTED = Wanted(
    engine=ENGINE, hooks={e: tags.hook_command(PY, LAUNCHER, ENGINE, e) for e in EVENTS},
    timeouts=dict.fromkeys(EVENTS, 10), python=PY,
)  # fmt: skip
WITH_LINE = Wanted(
    engine=ENGINE,
    hooks=WANTED.hooks,
    timeouts=WANTED.timeouts,
    python=PY,
    status_launcher="/new place/hooks/status_line.py",
)


def load(text):
    return json.loads(text.removeprefix("\ufeff"))


def is_ours(hook, event):
    return tags.read_hook(hook.get("command"), ENGINE, event) is not None


def without_ours(data):
    """The user's part alone, with containers gone that held nothing else."""
    data = copy.deepcopy(data)
    for event, groups in list(data.get("hooks", {}).items()):
        touched = False
        for group in list(groups):
            kept = [h for h in group["hooks"] if not is_ours(h, event)]
            if len(kept) != len(group["hooks"]):
                touched = True
                if kept or set(group) - {"hooks", "matcher"}:
                    group["hooks"] = kept
                else:
                    groups.remove(group)
        if touched and not groups:
            del data["hooks"][event]
            if not data["hooks"]:
                del data["hooks"]
    return data


def ours(data):
    """How often each event has an entry of ours, and which commands they are."""
    found = {}
    for event, groups in data.get("hooks", {}).items():
        for group in groups:
            for hook in group["hooks"]:
                if is_ours(hook, event):
                    found.setdefault(event, []).append(hook["command"])
    return found


documents = settings().flatmap(lambda data: st.tuples(st.just(data), written(data)))


@given(documents)
def test_each_event_gets_one_entry_that_is_up_to_date(document):
    """Wherever fleet was before, and whoever had hooks there; nothing else differs."""
    data, text = document

    after = load(merge.install(text, WANTED))

    assert {event: [command] for event, command in WANTED.hooks.items()} == ours(after)
    assert without_ours(data) == without_ours(after) or _empties(data, after)
    mine = [k for k in data if k in after]
    assert mine == [k for k in after if k in data]


def _empties(data, after):
    """A group or an event that the user left empty may come to hold ours and then go with it."""

    def trim(value):
        value = without_ours(value)
        value["hooks"] = {e: g for e, g in value.get("hooks", {}).items() if g}
        return value

    return trim(data) == trim(after)


@given(documents)
def test_installing_twice_is_installing_once(document):
    """A second run finds nothing to do."""
    _, text = document
    once = merge.install(text, WITH_LINE)

    assert once == merge.install(once, WITH_LINE)


@given(documents)
def test_not_a_byte_of_the_users_moves(document):
    """Installing into a file without ours only adds: the old text is what is left when the additions are cut out."""
    data, text = document
    if ours(data):
        text = merge.uninstall(text, ENGINE)

    after = merge.install(text, WANTED)

    assert _subsequence("".join(text.split()), "".join(after.split()))


def _subsequence(small, large):
    rest = iter(large)
    return all(char in rest for char in small)


@given(documents, st.data())
def test_an_addition_is_one_insertion(document, data):
    """At any container: everything before it and everything behind it is as it was, byte for byte."""
    value, text = document
    path = []
    while isinstance(value, (dict, list)) and value and data.draw(st.booleans()):
        step = data.draw(st.sampled_from(list(value) if isinstance(value, dict) else range(len(value))))
        if not isinstance(value[step], (dict, list)):
            break
        path, value = [*path, step], value[step]
    key = "brand new" if isinstance(value, dict) else None
    box = edit.find(scan(text), path)

    after = edit.add(text, path, {"x": [1]}, key)

    at = box.items[-1].end if box.items else box.start + 1
    rest = text[at:] if box.items else text[box.end - 1 :]
    assert after.startswith(text[:at]) and after.endswith(rest)
    assert {"x": [1]} == (load(after) if not path else _at(load(after), path))[key if key else -1]
    assert text == edit.remove(after, path, {len(box.items)}) or not box.items


def _at(value, path):
    for step in path:
        value = value[step]
    return value


@given(documents)
def test_uninstalling_leaves_the_users_part(document):
    """As data, from any state; a status line is the user's own command again."""
    data, text = document

    back = load(merge.uninstall(merge.install(text, WITH_LINE), ENGINE))

    assert without_ours(data) == back or _empties(data, back)


@given(documents)
def test_what_was_added_at_an_end_goes_without_a_trace(document):
    """When the user had hooks for every event, uninstalling is the exact inverse, without any backup."""
    data, _ = document
    data = without_ours(data)
    data["hooks"] = {
        **data.get("hooks", {}),
        **{e: [{"hooks": [{"type": "command", "command": "own"}]}] for e in EVENTS},
    }
    for indent in (None, 2, "\t"):
        text = json.dumps(data, indent=indent)

        assert text == merge.uninstall(merge.install(text, WANTED), ENGINE)


@given(values.flatmap(lambda v: st.tuples(st.just(v), written(v))))
def test_the_scanner_reads_what_json_reads(document):
    """Every value, however it is written; each node's text is the node's value."""
    value, text = document

    def check(node, value):
        if node.kind == "plain" or node.kind == "string":
            assert json.loads(text[node.start : node.end]) == value
        elif node.kind == "array":
            assert len(node.items) == len(value)
            for item, one in zip(node.items, value):
                check(item, one)
        else:
            assert list(node.keys) == list(value)
            for key in value:
                check(node.get(key), value[key])

    check(scan(text), value)


@given(st.text(alphabet='{}[]",:0 1e-+.tfn\\u\n/*#a', max_size=14))
def test_the_scanner_takes_nothing_that_json_refuses(text):
    """What it reads, json reads as well; what it refuses has a place."""
    try:
        scan(text)
    except Malformed as e:
        assert e.line >= 1 and e.column >= 1 and e.reason
    else:
        json.loads(text)


@pytest.mark.parametrize(("text", "line", "column", "reason"), [
    ("", 1, 1, "end of the file"), ("{", 1, 2, "end of the file"), ('{"a":1,}', 1, 8, "comma after"), ("[1,]", 1, 4, "comma after"),
    ('{\n  // mine\n  "a": 1}', 2, 3, "comment"), ('{"a": 1 /* x */}', 1, 9, "comment"), ('{"a":1,\n"a":2}', 2, 1, "twice"),
    ('{"\\u0061":1,"a":2}', 1, 13, "twice"), ("{'a': 1}", 1, 2, "double quotes"), ('{"a": NaN}', 1, 7, "value"),
    ('{"a": 1} x', 1, 10, "end"), ('{"a": "x\ny"}', 1, 7, "control"), ('{"a" 1}', 1, 6, "':'"), ("[" * 500, 1, 202, "deeper"), ('{"a": 01}', 1, 8, "','"),
])  # fmt: skip
def test_broken_json_is_refused_with_its_place(text, line, column, reason):
    """Line, column and what is wrong there."""
    with pytest.raises(Malformed) as found:
        scan(text)

    assert (line, column) == (found.value.line, found.value.column)
    assert reason in found.value.reason


@pytest.mark.parametrize(("text", "reason"), [
    ("[]", "an array, not an object"), ('"x"', "a text, not"), ('{"hooks": []}', "hooks is an array"), ('{"hooks": null}', "hooks is a plain value"),
    ('{"hooks": {"Stop": {}}}', "hooks.Stop is an object"), ('{"hooks": {"Other": 7}}', "hooks.Other is a plain value"),
    ('{"hooks": {"Stop": ["x"]}}', "hooks.Stop[0]"), ('{"hooks": {"Stop": [{"hooks": {}}]}}', "hooks.Stop[0]"), ('{"hooks": {"Stop": [{}]}}', "hooks.Stop[0]"),
    ('{"statusLine": "x"}', "statusLine"), ('{"statusLine": {"type": "command"}}', "statusLine"),
])  # fmt: skip
def test_an_unexpected_shape_is_refused(text, reason):
    """Fleet does not mend what it does not understand."""
    with pytest.raises(Malformed, match=reason.replace("[", r"\[")):
        merge.install(text, WITH_LINE)


@pytest.mark.parametrize(("text", "wanted"), [
    ("{}", '{\n  "k": [\n    1\n  ]\n}'), ('{"a": 1}', '{"a": 1, "k": [1]}'), ('{"a":1,"b":2}', '{"a":1,"b":2,"k":[1]}'), ('{"a":1}', '{"a":1,"k":[1]}'),
    ('{\n\t"a": 1\n}\n', '{\n\t"a": 1,\n\t"k": [\n\t\t1\n\t]\n}\n'), ('{\r\n    "a": 1\r\n}', '{\r\n    "a": 1,\r\n    "k": [\r\n        1\r\n    ]\r\n}'),
    ('{ "a": 1 , "b": 2 }', '{ "a": 1 , "b": 2, "k": [1] }'),
])  # fmt: skip
def test_an_addition_takes_the_style_of_its_neighbours(text, wanted):
    """Indentation, line ends, or one line."""
    assert wanted == edit.add(text, [], [1], "k")


def test_a_moved_installation_is_updated_where_it_stands():
    """In place, without a second entry, and the user's order and time-out stay."""
    old = tags.hook_command("/old/python", "/old/hooks/on_event.py", ENGINE, "Stop")
    data = {
        "hooks": {
            "Stop": [
                {"hooks": [{"type": "command", "command": old, "timeout": 77}, {"type": "command", "command": "own"}]}
            ]
        }
    }

    after = load(merge.install(json.dumps(data), WANTED))

    assert [
        {"type": "command", "command": WANTED.hooks["Stop"], "timeout": 77},
        {"type": "command", "command": "own"},
    ] == after["hooks"]["Stop"][0]["hooks"]
    assert 1 == len(after["hooks"]["Stop"])


@given(st.text(max_size=30))
def test_a_status_line_is_wrapped_and_unwrapped(command):
    """Whatever the user's command is; wrapping again only updates the place."""
    text = json.dumps({"statusLine": {"padding": 0, "type": "command", "command": command}})
    once = merge.install(text, WITH_LINE)
    found = tags.read_status(load(once)["statusLine"]["command"], ENGINE)

    assert command == found.wrapped
    assert 0 == load(once)["statusLine"]["padding"]
    assert json.loads(text) == load(merge.uninstall(once, ENGINE))


@pytest.mark.parametrize("command", ["", "x", "'", "/a/hooks/on_event.py claude-code Stop", "/py /a/hooks/on_event.py claude-code Stop users",
                                     "/py /a/hooks/on_event.py codex Stop user", "/py /a/on_event.py claude-code Stop user", None, 7])  # fmt: skip
def test_what_is_not_ours_is_not_taken_for_ours(command):
    """A hook of fleet's settings file per agent, of another engine, or of another program."""
    assert tags.read_hook(command, ENGINE, "Stop") is None
