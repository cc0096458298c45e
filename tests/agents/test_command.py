"""Programs without hooks: started, typed into with evidence, handed off; never taken for what they are not."""

import json
import sys

import pytest

from tests.agents.test_messages import settled

ENGINES = ("fake",)  #: the world is the same for all of them

REPL = """
import os, sys
log = open(os.environ["LOG"], "a", buffering=1)
log.write("ARGV " + repr(sys.argv[1:]) + "\\n")
while True:
    try:
        line = input("> ")
    except EOFError:
        break
    log.write("LINE " + repr(line) + "\\n")
    print("heard", len(line))
"""


@pytest.fixture
def repl(world):
    """Dispatch the little program; `said()` is what it heard."""
    path, log = world.root / "repl.py", world.root / "log"
    path.write_text(REPL)
    import sys

    def dispatch(task, *args, prompt=None):
        given = ["--prompt", prompt] if prompt else []
        return world.json(
            "dispatch",
            task,
            "--engine",
            "command",
            "--env",
            f"LOG={log}",
            *given,
            "--",
            sys.executable,
            "-q",
            str(path),
            *args,
        )

    dispatch.said = lambda: log.read_text().splitlines() if log.exists() else []
    return dispatch


def test_the_prompt_stands_where_the_command_line_says(world, repl):
    """`{prompt}` is the prompt itself, `{prompt_file}` a file that holds it."""
    agent = repl("args", "{prompt}", "--from", "{prompt_file}", prompt="do; it")

    world.until(repl.said, "it has started")
    path = world.fleet_home / "launch" / f"{agent['id']}.prompt"
    assert [f"ARGV {['do; it', '--from', str(path)]!r}"] == repl.said()
    assert "do; it" == path.read_text()


def test_a_message_is_typed_and_seen_to_be_taken(world, repl):
    """Delivered only when the screen showed the text and then an empty prompt again."""
    repl("typed")
    world.until(lambda: ">" in world.screen(world.agent("typed")), "it shows its prompt")

    sent = world.json("send", "typed", "hello; there;", "--wait", "20")

    assert "delivered" == sent["result"]
    assert "LINE '[OPERATOR] hello; there;'" == repl.said()[-1]


def test_control_characters_of_a_message_are_no_keys(world, repl):
    """What would end the paste or the program arrives as visible text, in one input; the message's file keeps the text."""
    repl("keys")
    world.until(lambda: ">" in world.screen(world.agent("keys")), "it shows its prompt")
    text = "a\x1b[201~b\x03c\x7fd\x9be\rf"

    done = world.run("send", "keys", text, "--wait", "20", "--json")

    assert b"control characters in the text become visible" in done.stderr
    sent = json.loads(done.stdout)
    assert "delivered" == sent["result"]
    assert [r"LINE '[OPERATOR] a^[[201~b^Cc^?d\\x9be^Mf'"] == repl.said()[1:]
    (filed,) = (world.fleet_home / "inbox" / "archive" / sent["agent_id"]).iterdir()
    assert text == json.loads(filed.read_text())["body"]


def test_a_newline_at_the_end_is_no_second_input(world, repl):
    """Enter follows the text anyway."""
    repl("newline")
    world.until(lambda: ">" in world.screen(world.agent("newline")), "it shows its prompt")

    sent = world.json("send", "newline", "-", "--wait", "20", stdin="hello\r\n")

    assert "delivered" == sent["result"]
    assert ["LINE '[OPERATOR] hello'"] == repl.said()[1:]


def test_lines_that_arrive_as_inputs_of_their_own_are_not_delivered(world, repl):
    """Without bracketed paste a text of several lines is unconfirmed, and the sender is told why."""
    repl("lines")
    world.until(lambda: ">" in world.screen(world.agent("lines")), "it shows its prompt")

    sent = world.json("send", "lines", "one\ntwo", "--wait", "20", code=6)

    assert "unconfirmed" == sent["result"]
    assert "2 lines" in sent["error"]
    assert ["LINE '[OPERATOR] one'", "LINE 'two'"] == repl.said()[1:]


def test_of_a_line_that_its_terminal_would_cut_nothing_is_typed(world, repl):
    """A program that leaves editing to its terminal would get the beginning and Enter; the next message goes on."""
    repl("long")
    world.until(lambda: ">" in world.screen(world.agent("long")), "it shows its prompt")

    sent = world.json("send", "long", "-", "--wait", "20", stdin="x" * 5000, code=1)
    after = world.json("send", "long", "after", "--wait", "20")

    assert ("refused", "delivered") == (sent["result"], after["result"])
    assert "not typed" in sent["error"]
    assert ["LINE '[OPERATOR] after'"] == repl.said()[1:]


def test_at_a_password_prompt_nothing_is_typed(world):
    """What is typed there would be the beginning of the password; when it is over the message arrives."""
    log = world.root / "log"
    code = f"import getpass; a = getpass.getpass('Password: '); b = input('> '); open({str(log)!r}, 'w').write(repr((a, b)))"
    agent = world.json("dispatch", "secret", "--engine", "command", "--", sys.executable, "-c", code + "; input('> ')")
    world.until(lambda: "Password" in world.screen(agent), "it asks")

    sent = world.json("send", "secret", "for later", "--wait", "3")
    assert ("queued", True) == (sent["result"], "as one for a password" in sent["error"])
    world.tmux("send-keys", "-t", agent["pane_id"], "hunter2", "Enter")

    assert "delivered" == settled(world, sent["message_id"])
    assert repr(("hunter2", "[OPERATOR] for later")) == world.until(lambda: log.exists() and log.read_text(), "it is read")


def test_what_was_pasted_and_not_seen_is_no_beginning_of_the_next(world):
    """A program that takes every key and shows none: nothing is typed behind a text that may stand in its input."""
    code = "import sys, tty; tty.setraw(0); sys.stdout.write('> '); sys.stdout.flush(); sys.stdin.read()"
    agent = world.json("dispatch", "mute", "--engine", "command", "--", sys.executable, "-c", code)
    world.until(lambda: ">" in world.screen(agent), "it shows its prompt")
    drain = world.start("drain")

    first = world.json("send", "mute", "first", "--wait", "30", code=6)
    second = world.json("send", "mute", "second", "--wait", "4")

    assert "may stand in its program's input" in first["error"]
    assert "queued" == second["result"]
    world.fleet("drain", "--stop")
    drain.wait(30)


def test_a_program_that_shows_no_prompt_gets_nothing(world):
    """Nothing is typed into what is not waiting for input; the message stays queued."""
    world.json("dispatch", "deaf", "--engine", "command", "--", "sh", "-c", "echo busy; sleep 600")
    world.until(lambda: "busy" in world.screen(world.agent("deaf")), "it runs")

    sent = world.json("send", "deaf", "anybody?", "--wait", "3")

    assert "queued" == sent["result"]
    assert "its screen shows no prompt to type at" in sent["error"]
    assert "anybody" not in world.screen(world.agent("deaf"))


def test_an_ended_program_gets_nothing_and_shows_how_it_ended(world):
    """Its pane keeps the last screen and the status; no shell is there that could run a message."""
    done = world.run(
        "dispatch",
        "ended",
        "--engine",
        "command",
        "--wait",
        "exit",
        "--json",
        "--",
        "sh",
        "-c",
        "echo last words; exit 3",
    )

    assert 1 == done.returncode
    agent = json.loads(done.stdout)
    assert ("exited", 3) == (agent["state"], agent["exit_status"])
    for words in (["ended"], ["--all"]):
        said = world.run("send", *words, "rm -rf x", "--wait", "1")
        assert said.stdout.startswith(b"queued")
        assert b"has ended; the message waits" in said.stderr
        assert b"the drain goes on" not in said.stderr
    assert "last words" in world.fleet("peek", "ended")


def test_a_command_hands_off_and_its_queued_messages_go_on(world, repl):
    """`fleet handoff` starts the same program with the resume prompt in its place, the predecessor gone."""
    old = repl("hand", "{prompt}", prompt="start")
    world.until(repl.said, "it has started")

    world.fleet("handoff", "hand")

    new = world.agent("hand")
    assert (old["id"], 2) == (new["predecessor_id"], new["generation"])
    assert any("Read the handoff document at" in line for line in repl.said())
    assert world.fleet_home / "handoffs"
    sent = world.json("send", "hand", "after", "--wait", "20")
    assert "delivered" == settled(world, sent["message_id"])
