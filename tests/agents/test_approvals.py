"""A real client's dialog is answered from outside: by label, the very one that was meant, and once."""

import json
import os

import pytest

from fleet.formats import approval
from fleet.formats.atomic import Lock
from fleet.formats.layout import Layout
from tests.agents.conftest import REAL
from tests.cli.test_shapes import check
from tests.screens.stage import versions

ENGINES = REAL[:2]
DATABASES = ('"question":"Which database should the shop use?","header":"Database","options":[{"label":"PostgreSQL",'
             '"description":"a server"},{"label":"SQLite","description":"one file"}]')  # fmt: skip


def only(*engines):
    """For these engines."""

    def mark(test):
        test.engines = engines
        return test

    return mark


def asking(world, *words):
    """What makes the model run commands that need permission, one after the other."""
    if world.engine != "codex":
        return "\n".join(f"STUB: bash=touch {word}" for word in words) + "\nSTUB: say=done"
    calls = [f'STUB: tool=exec_command {{"cmd":"touch {word}","sandbox_permissions":"require_escalated","justification":'
             f'"may I touch {word}"}}' for word in words]  # fmt: skip
    return "\n".join([*calls, "STUB: say=done"])


def asked(world, word, *, but=None):
    """Wait until that is asked, not under the name *but*; its row of `fleet approvals`."""
    return world.until(
        lambda: next(
            (a for a in world.json("approvals") if word in a["text"] and a["dialog"] not in (None, but)), None
        ),
        f"{word} is asked",
    )


def asks_before_everything(world):
    """opencode's own settings, by which it asks before a command."""
    path = world.home / ".config" / "opencode" / "opencode.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"permission": {"edit": "ask", "bash": "ask"}}))


@only("claude-code", "codex", "gemini")
def test_a_permission_is_listed_and_approved_once(world):
    """
    The list has the command's text and the labels.

    Under one name nothing is answered twice: neither another question, nor one that reads alike.
    """
    world.rules({"match": "build", "do": asking(world, "one", "one", "two")})
    agent = world.dispatch("build", "build it", wait="accepted")
    first = asked(world, "touch one")
    check("approvals", [first])
    assert ("permission", True) == (first["reason"], first["answerable"])
    assert first["approve"] in first["options"] and first["deny"] in first["options"]

    assert 4 == world.run("approve", "build", "Perhaps").returncode
    assert (
        4 == world.run("approve", "build", "Yes,x" if world.engine == "claude-code" else first["approve"][0]).returncode
    )
    done = world.json("approve", "build", "--dialog", first["dialog"])
    check("approve", done)
    assert (first["approve"], "went") == (done["option"], done["result"])
    world.until((world.project / "one").exists, "the approved command has run")

    again = asked(world, "touch one", but=first["dialog"])
    assert (first["text"], first["options"]) == (again["text"], again["options"])
    (world.project / "one").unlink()
    stale = world.run("approve", "build", "--dialog", first["dialog"])
    assert (1, True) == (stale.returncode, b"another dialog is open" in stale.stderr)
    world.fleet("approve", "build", "--dialog", again["dialog"])
    world.until((world.project / "one").exists, "the approved command has run")

    second = asked(world, "touch two")
    denied = world.json("deny", "build")
    assert (second["dialog"], second["deny"]) == (denied["dialog"], denied["option"])
    world.until(lambda: world.json("approvals") == [], "it is denied")
    assert not (world.project / "two").exists()
    assert 1 == world.run("approve", "build").returncode

    told = [e for e in world.events(agent["id"], "DialogAnswered") if e["result"] == "went"]
    names = [first["dialog"], again["dialog"], second["dialog"]]
    assert list(zip(("approve", "approve", "deny"), names)) == [(e["verdict"], e["dialog"]) for e in told]
    assert "touch one" in told[0]["text"]
    assert versions()[world.engine] == world.json("explain", "build")["engine_version"]


@only("opencode")
@pytest.mark.full
def test_what_opencode_asks(world):
    """
    Options that lie side by side are chosen by their labels, and what they ask again is a dialog of its own.

    "Allow always" asks which commands; "Reject" of a subagent's wish asks for a word. A command that may be longer than
    the client's window is not answered from here; a change whose lines are numbered is, once it was drawn larger.
    """
    asks_before_everything(world)
    long = "\\n".join(f"echo {n} >> long" for n in range(9))
    delegate = 'STUB: tool=task {"description":"sub","prompt":"be a helper","subagent_type":"general"}'
    write = f"STUB: write={world.project}/notes.txt|" + "\\n".join(f"line {n}" for n in range(12))
    script = ["STUB: bash=touch one", f"STUB: bash={long}", write, delegate, asking(world, "two")]
    world.rules(
        {"match": "be a helper", "do": asking(world, "sub")}, {"match": "build", "do": "\n".join(script)},
    )  # fmt: skip
    world.dispatch("build", "build it", wait="started")
    first = asked(world, "touch one")
    check("approvals", [first])
    assert (["Allow once", "Allow always", "Reject"], True) == (first["options"], first["answerable"])

    done = world.json("approve", "build", "Allow always")
    assert "Always allow" in done["further"]
    always = asked(world, "- touch *")
    assert ("Confirm", "Cancel") == (always["approve"], always["deny"])
    world.fleet("deny", "build", "--dialog", always["dialog"])
    again = asked(world, "touch one", but=first["dialog"])
    assert not (world.project / "one").exists()
    assert 1 == world.run("approve", "build", "--dialog", first["dialog"]).returncode
    world.fleet("approve", "build", "--dialog", again["dialog"])
    world.until((world.project / "one").exists, "the approved command has run")

    long = asked(world, "echo 0")
    assert not long["answerable"]
    for words in (b"drawn larger now", b"cannot be read whole"):
        refused = world.run("approve", "build")
        assert (1, True) == (refused.returncode, words in refused.stderr)
    world.keys(world.agent("build"), "Enter")
    world.until((world.project / "long").exists, "the person's yes counts")

    cut = lambda: [a for a in world.json("approvals") if "Edit notes.txt" in a["text"] and not a["answerable"]]  # noqa: E731
    (edit,) = world.until(cut, "a change is asked about, a part of which has no room")
    assert 1 == world.run("approve", "build").returncode
    larger = asked(world, "line 11", but=edit["dialog"])
    assert larger["answerable"]
    world.fleet("approve", "build", "--dialog", larger["dialog"])
    world.until((world.project / "notes.txt").exists, "the approved change is made")

    asked(world, "touch sub")
    assert "Reject permission" in world.json("deny", "build")["further"]
    world.until(lambda: world.json("approvals")[0]["deny"] == "enter confirm", "it asks for a word")
    world.fleet("deny", "build")
    asked(world, "touch two")
    world.fleet("deny", "build")
    world.until(lambda: world.json("approvals") == [], "it is denied")
    assert not (world.project / "sub").exists()
    assert not (world.project / "two").exists()


def question(world, *, several=False):
    """What makes the model ask a question with a choice of answers, or two at once."""
    tool, more = ("AskUserQuestion", '"multiSelect":false,') if world.engine == "claude-code" else (
        "request_user_input", '"id":"db",')  # fmt: skip
    port = DATABASES.replace("Which database should the shop use?", "Which port?").replace("PostgreSQL", "80")
    second = ",{" + more.replace("db", "port") + port + "}" if several else ""
    return f'STUB: tool={tool} {{"questions":[{{{more}{DATABASES}}}{second}]}}'


def test_a_question_is_answered_by_naming_the_answer(world):
    """There is no yes to it and no no; several questions at once are answered in the pane."""
    script = [question(world), question(world, several=True), "STUB: say=done"]
    world.rules({"match": "plan the shop", "do": "\n".join(script)})
    if world.engine == "codex":  # it has such questions in its plan mode only
        agent = world.dispatch("build", "hello")
        world.keys(agent, "BTab")
        world.until(lambda: "Plan mode" in world.screen(agent), "it is in plan mode")
        world.type(agent, "plan the shop")
    else:
        agent = world.dispatch("build", "plan the shop", wait="accepted")
    asks = asked(world, "Which database")
    check("approvals", [asks])
    assert ("question", True, True, None) == (asks["reason"], asks["answerable"], asks["choice"], asks["approve"])

    for words, code in ((("approve", "build"), 1), (("deny", "build"), 1), (("approve", "build", "Oracle"), 4)):
        refused = world.run(*words)
        assert (code, True) == (refused.returncode, b"PostgreSQL; SQLite" in refused.stderr)
    if world.engine == "claude-code":
        assert b"asks for a text" in world.run("approve", "build", "Type").stderr
    assert "SQLite" == world.json("approve", "build", "sql", "--dialog", asks["dialog"])["option"]

    drawn = lambda: [a for a in world.json("approvals") if a["dialog"] and not a["answerable"]]  # noqa: E731
    both = world.until(drawn, "it asks two at once, and has drawn that")[0]
    assert 1 == world.run("approve", "build", "SQLite").returncode
    assert both["dialog"] == world.json("approvals")[0]["dialog"]


def test_a_narrow_pane_is_made_wide_or_left_alone(world):
    """Nobody looks: it gets its size back, and whoever has seen a part only looks again. What is chosen is a label,
    wherever the cursor stands."""
    world.rules({"match": "build", "do": asking(world, "one")})
    agent = world.dispatch("build", "build it", wait="accepted")
    asked(world, "touch one")
    world.tmux("resize-window", "-t", agent["pane_id"], "-x", "50", "-y", "24")
    world.keys(agent, "Down")

    option = "yes, proceed" if world.engine == "codex" else "Yes"
    assert b"drawn larger now" in world.run("approve", "build", option).stderr
    asked(world, "touch one")
    world.fleet("approve", "build", option)

    world.until((world.project / "one").exists, "the approved command has run")


@only("claude-code")
def test_a_hook_that_holds_answers_without_a_key(world):
    """Yes and no go to the hook; a person's key still wins, and a hook that was left behind does not take the next answer."""
    world.config("approvals: {hold: true}\n")
    world.rules({"match": "build", "do": asking(world, "one", "two", "three")})
    agent = world.dispatch("build", "build it", wait="accepted")
    asked(world, "touch one")
    folder = world.fleet_home / "run" / "approvals"
    held = lambda: len(list(folder.glob("*.ask")))  # noqa: E731
    world.until(held, "the hook holds the question")
    world.fleet("approve", "build")
    world.until((world.project / "one").exists, "the approved command has run")

    asked(world, "touch two")
    world.keys(agent, "Enter")
    world.until((world.project / "two").exists, "the person's yes counts")

    asked(world, "touch three")
    world.fleet("deny", "build")
    world.until(lambda: world.agent("build")["state"] == "idle", "the turn is over")
    assert not (world.project / "three").exists()
    ways = [e["result"] for e in world.events(agent["id"], "DialogAnswered")]
    assert ["about to let its hook answer", "went"] == ways[:2]


@only("claude-code")
def test_a_hook_of_a_question_that_is_not_shown_gets_no_answer(world):
    """The question of another subagent may wait beneath the one that is shown, whose own hook is not there (yet)."""
    world.rules({"match": "build", "do": asking(world, "one")})
    agent = world.dispatch("build", "build it", wait="accepted")
    asked(world, "touch one")
    at = approval.stem(Layout(str(world.fleet_home)), agent["id"], os.getpid())
    os.makedirs(os.path.dirname(at), exist_ok=True)
    with Lock(at + ".lock"):
        approval.ask(at, {"agent_id": agent["id"], "tool_name": "Bash", "tool_input": {"command": "touch beneath"}})
        world.fleet("approve", "build")

        assert approval.answered(at) is None
    world.until((world.project / "one").exists, "the command that was shown has run")
