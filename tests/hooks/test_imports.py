"""What a hook loads: it runs at every turn of every agent, so its imports are its cost."""

import json
import os
import re
import subprocess
import sys

import pytest

HOOK = os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "hooks", "on_event.py")
#: What every hook may import, with what these load by themselves.
ALLOWED = "__future__ os sys time fcntl errno stat _json"
SELDOM = "re datetime unicodedata"  #: where a document is written, somebody is reminded, or an old stamp is read
FORBIDDEN = {
    "typing", "dataclasses", "pathlib", "subprocess", "logging", "argparse", "tempfile", "hashlib", "uuid", "contextlib",
    "inspect", "asyncio", "shutil", "random", "socket", "threading", "calendar", "traceback", "site", "libtmux", "yaml",
}  # fmt: skip


def loaded(argv, **kwargs):
    """The modules that an interpreter loads, by its own account."""
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "importtime", *argv], capture_output=True, text=True, **kwargs
    )
    assert 0 == done.returncode
    return set(re.findall(r"^import time:.*\|\s*([\w.]+)\s*$", done.stderr, re.MULTILINE))


@pytest.fixture(scope="module")
def free():
    """What the allowed modules load, on this version of Python: at every turn, and at the seldom ones."""
    every = loaded(["-c", "import " + ALLOWED.replace(" ", ", ")])
    return every, every | loaded(["-c", "import " + SELDOM.replace(" ", ", ")])


@pytest.mark.parametrize(
    ("event", "record", "tokens", "text", "seldom"),
    [
        ("SessionStart", {}, None, "", False),
        ("UserPromptSubmit", {}, None, "", False),
        ("PermissionRequest", {}, None, "", False),
        ("Stop", {}, 1_000, "done", False),
        ("Stop", {}, 100_000, "done", False),
        ("Stop", {}, 140_000, "geschafft: äöü", True),
        (
            "Stop",
            {"handoff_type": "auto-yellow", "handoff_type_at": "2026-11-30T13:00:00Z"},
            100_000,
            "MILESTONE",
            True,
        ),
        ("Stop", {"mode": "plan"}, 140_000, "done", True),
        ("PreCompact", {"task_id": "é"}, None, "", True),
    ],
)
def test_a_hook_loads_nothing_that_is_not_free(agent, free, event, record, tokens, text, seldom):
    """Whatever it has to do: fleet's own formats and hooks, and the allowed modules with what they load."""
    agent.set_record(**record)
    for number in range(1, 3):
        agent.send("x" * 9000 * number, number)
    agent.config["drain_argv"] = ["/bin/true"]
    agent.hook("SessionStart")  # writes the configuration
    if tokens:
        agent.say(text, tokens)
    payload = {"session_id": "s", "prompt_id": "p1", "transcript_path": agent.log, "last_assistant_message": text}
    modules = loaded([HOOK, "claude-code", event], input=json.dumps(payload), env=agent.env())
    assert "" == agent.errors()
    assert event in [line["event"] for line in agent.events()[1:]]
    ours = {name for name in modules if name.split(".")[0] == "fleet"}
    assert set() == modules - ours - free[seldom]
    assert set() == modules & FORBIDDEN
    assert {"fleet", "fleet.errors", "fleet.formats", "fleet.hooks"} == {".".join(name.split(".")[:2]) for name in ours}


def test_an_unsupervised_agents_hook_loads_nothing_of_ours(agent):
    """Every session of the user's own pays only for the interpreter."""
    env = {k: v for k, v in agent.env().items() if k != "FLEET_AGENT_ID"}
    modules = loaded([HOOK, "claude-code", "Stop"], input="{}", env=env)
    assert set() == {name for name in modules if name.split(".")[0] in ("fleet", "json", "re", "enum")}
