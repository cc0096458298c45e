"""Script files: what is accepted, and how a mistake is told."""

import json
import os
import re
import subprocess
import sys

import pytest

from fleet.fakeagent import script
from fleet.fakeagent.errors import BadScript
from tests.fakeagent.bench import ROOT


def test_everything_has_a_default():
    """No script is the empty script."""
    assert script.load(None).client == script.read({}).client == script.Client()


def test_a_documented_key_is_read():
    """Whole numbers are welcome where seconds are meant."""
    client = script.read({"client": {"boot_seconds": 2, "crash_at": "turn 3", "refuse_exit": True}}).client

    assert (2, "turn 3", True) == (client.boot_seconds, client.crash_at, client.refuse_exit)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ([], "expected an object"),
        ({"rule": []}, "unknown key 'rule'"),
        ({"client": {"boot_second": 1}}, "client: unknown key 'boot_second'"),
        ({"client": {"boot_seconds": "1"}}, "client: boot_seconds must be a number"),
        ({"client": {"boot_seconds": True}}, "client: boot_seconds must be a number"),
        ({"client": {"swallow_enter": 1.5}}, "client: swallow_enter must be a whole number"),
        ({"client": {"trust_dialog": 1}}, "client: trust_dialog must be a boolean"),
        ({"client": {"trust_default": "maybe"}}, "client: trust_default must be one of yes, no"),
        ({"client": {"crash_at": "turn"}}, "client: crash_at must be one of"),
        ({"client": {"hang_at": "turn 0"}}, "client: hang_at must be one of"),
        ({"queue": "x"}, "queue: expected a list"),
        ({"queue": [1]}, "queue entry 1: expected a string"),
    ],
)
def test_a_mistake_is_named(value, words):
    """The error says where it is."""
    with pytest.raises(BadScript) as caught:
        script.read(value)

    assert str(caught.value).startswith(words)


def run(*words, env=None):
    return subprocess.run(
        [sys.executable, "-m", "fleet.fakeagent", *words],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        cwd=ROOT,
        env=env,
    )


@pytest.mark.parametrize("content", ['{"client": {"typo": 1}}', "{", "[]"])
def test_a_broken_script_is_one_line_and_status_2(tmp_path, content):
    """The program does not start with a script it does not understand."""
    path = tmp_path / "script.json"
    path.write_text(content)
    done = run("--script", str(path))

    assert (2, "", 1) == (done.returncode, done.stdout, done.stderr.count("\n"))
    assert done.stderr.startswith(f"fake-agent: {path}: ")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--bogus"], "unknown option '--bogus'"),
        (["--model"], "option --model needs a value"),
        (["a", "b"], "one prompt at most"),
        (["--permission-mode", "plan"], "permission mode 'plan'"),
        (["--session-id", "x"], "invalid session id"),
        (["--script", "/does/not/exist"], "/does/not/exist: No such file"),
        (["--settings", "/does/not/exist"], "/does/not/exist: settings file not found"),
        (["--settings", '{"hooks": {"Stop": [{}]}}'], "hooks: Stop: expected"),
        ([], "needs a terminal"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(words, said):
    """Every mistake on the command line ends before there is a screen."""
    done = run(*words)

    assert (2, "", 1) == (done.returncode, done.stdout, done.stderr.count("\n"))
    assert said in done.stderr


def test_the_script_can_come_from_the_environment(tmp_path):
    """FAKE_AGENT_SCRIPT counts when there is no --script."""
    path = tmp_path / "script.json"
    path.write_text("[]")
    env = {"PATH": os.environ["PATH"], "FAKE_AGENT_SCRIPT": str(path)}

    assert "expected an object" in run(env=env).stderr
    assert "/other" in run("--script", "/other", env=env).stderr


def test_an_unknown_session_cannot_be_resumed():
    """Status 1 and the words of the real client."""
    done = run("--resume", "11111111-1111-1111-1111-111111111111")

    assert 1 == done.returncode
    assert "No conversation found with session ID: 11111111" in done.stderr


def test_help_names_every_option():
    """--help is an answer and no error."""
    done = run("--help")

    assert 0 == done.returncode
    for option in (
        "--script",
        "--settings",
        "--session-id",
        "--resume",
        "--permission-mode",
        "FAKE_AGENT_HOME",
    ):
        assert option in done.stdout


def test_every_key_is_documented():
    """The page names each key of the script, its default, and nothing that does not exist."""
    page = (ROOT / "docs" / "fake-agent.md").read_text()
    rows = dict(re.findall(r"^\| `(\w+)` \| `([^`]*)` \|", page, re.M))

    known = script.Client()._asdict()
    assert set(known) == set(rows)
    for name, default in known.items():
        assert json.dumps(default) == rows[name]


def test_the_documented_examples_work():
    """Each JSON block of the page is a script that can be read."""
    page = (ROOT / "docs" / "fake-agent.md").read_text()
    blocks = re.findall(r"```json\n(.*?)```", page, re.S)

    assert blocks
    for block in blocks:
        script.read(json.loads(block))
