"""JSON documents as people and programs write them: any white space, any nesting, any escapes."""

import json

from hypothesis import strategies as st

EVENTS = ("Stop", "UserPromptSubmit", "PreCompact")
PY, LAUNCHER, OLD = "/usr/bin/python3", "/new place/hooks/on_event.py", "/old/it's/hooks/on_event.py"

plain = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text(max_size=12)
)
values = st.recursive(
    plain,
    lambda v: st.one_of(st.lists(v, max_size=3), st.dictionaries(st.text(max_size=6), v, max_size=3)),
    max_leaves=8,
)
own_hooks = st.fixed_dictionaries(
    {"type": st.just("command"), "command": st.text(max_size=20)}, optional={"timeout": st.integers(1, 99), "x": values}
)
own_groups = st.fixed_dictionaries(
    {"hooks": st.lists(own_hooks, max_size=2)}, optional={"matcher": st.text(max_size=5), "y": values}
)


@st.composite
def settings(draw):
    """A settings object of the user's, with hooks of their own, and perhaps ours from a place where fleet was before."""
    from fleet.settings import tags

    data = draw(
        st.dictionaries(st.text(max_size=8).filter(lambda k: k not in ("hooks", "statusLine")), values, max_size=4)
    )
    if draw(st.booleans()):
        hooks = draw(st.dictionaries(st.one_of(st.sampled_from(EVENTS), st.sampled_from(["PreToolUse", "Später"])),
                                     st.lists(own_groups, max_size=3), max_size=4))  # fmt: skip
        for event in draw(st.lists(st.sampled_from([*EVENTS, "PreToolUse"]), max_size=3)):
            mine = {"type": "command", "command": tags.hook_command("/py", OLD, "claude-code", event), "timeout": 3}
            groups = hooks.setdefault(event, [])
            if groups and draw(st.booleans()):
                groups[draw(st.integers(0, len(groups) - 1))]["hooks"].append(mine)
            else:
                groups.insert(draw(st.integers(0, len(groups))), {"hooks": [mine]})
        data["hooks"] = hooks
    if draw(st.booleans()):
        data["statusLine"] = {
            "type": "command",
            "command": draw(st.text(max_size=10)),
            **draw(st.sampled_from([{}, {"padding": 0}])),
        }
    keys = draw(st.permutations(list(data)))
    return {k: data[k] for k in keys}


@st.composite
def written(draw, value):
    """*value* as text: with one of the usual layouts, or with arbitrary white space everywhere."""
    bom = draw(st.sampled_from(["", "\ufeff"]))
    end = draw(st.sampled_from(["", "\n", "\r\n", "\n\n", "  "]))
    if draw(st.booleans()):
        indent = draw(st.sampled_from([None, 0, 1, 2, 4, "\t", " \t"]))
        text = json.dumps(value, indent=indent, ensure_ascii=draw(st.booleans()))
        text = text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))
    else:
        random = draw(st.randoms(use_true_random=False))
        text = _loose(value, random)
    return bom + text + end


def _loose(value, random):
    def gap():
        return "".join(random.choice(" \t\r\n") for _ in range(random.choice([0, 0, 0, 1, 2])))

    if isinstance(value, dict):
        inner = ",".join(
            gap() + json.dumps(k) + gap() + ":" + gap() + _loose(v, random) + gap() for k, v in value.items()
        )
        return "{" + (inner or gap()) + "}"
    if isinstance(value, list):
        return "[" + (",".join(gap() + _loose(v, random) + gap() for v in value) or gap()) + "]"
    return json.dumps(value, ensure_ascii=random.choice([True, False]))
