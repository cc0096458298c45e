"""Gemini CLI and opencode from dispatch to stop: what each of them offers, put to the real client."""

import pytest

ENGINES = ("gemini", "opencode")
#: What the clients write there by themselves: projects seen, and the package for plugins that opencode installs.
REMEMBERED = frozenset({"projects.json", "state.json", "package.json", "package-lock.json"})
FREE = {"gemini": ["--", "--yolo"], "opencode": []}


def only(*engines):
    """For these engines."""

    def mark(test):
        test.engines = engines
        return test

    return mark


def users_settings(world):
    """Every settings file of the user's with its content; not what the client remembers of conversations."""
    folder = world.home / {"gemini": ".gemini", "opencode": ".config/opencode"}[world.engine]
    files = (path for path in folder.glob("*.json") if path.is_file())
    return {path: path.read_bytes() for path in files if path.name not in REMEMBERED}


def test_a_day_with_an_agent(world):
    """A first turn with a tool, a proved message, and its end; nothing of the user's is changed."""
    before = users_settings(world)
    prompt = "- begins with a dash\nSTUB: bash=echo hi\nSTUB: say=hi back\nSTUB: usage=50000"

    agent = world.dispatch("t", prompt, *FREE[world.engine])

    assert {"gemini": 4.77, "opencode": 25.0}[world.engine] == world.state("t", "idle")["context_pct"]
    (prompted,) = world.events(agent["id"], "UserPromptSubmit")
    assert prompted["prompt_head"].startswith("- begins with a dash")
    assert "hi back" == world.events(agent["id"], "Stop")[0]["tail"]

    world.fleet("send", "t", "look at the tests first")
    world.until(lambda: world.model_saw("look at the tests first"), "the model saw the message")
    world.until(lambda: list(world.fleet_home.glob("inbox/archive/*/*")), "the message is proved")

    world.fleet("stop", "t")
    assert not list(world.fleet_home.glob("launch/*"))
    assert before == users_settings(world)


@only("gemini")
def test_yellow_is_asked_for_at_the_end_of_the_turn(world):
    """The request goes on the turn; MILESTONE in its answer hands the agent off."""
    hands_itself_off(world)


@pytest.mark.full
@only("opencode")
def test_yellow_is_asked_for_by_a_new_prompt(world):
    """The same where the turn cannot be held open: the plugin sends the request."""
    hands_itself_off(world)


def hands_itself_off(world):
    """A turn over yellow, the request, MILESTONE, and a successor of the same engine."""
    before = users_settings(world)
    world.config("thresholds: {yellow_pct: 2}\n")
    world.rules(
        {"match": "Read the handoff document", "do": "STUB: say=resumed\nSTUB: usage=900"},
        {"match": "MILESTONE", "do": "STUB: say=done\\n\\nMILESTONE\nSTUB: usage=50000"},
    )

    world.dispatch("t", "hello\nSTUB: say=hi\nSTUB: usage=50000")

    successor = world.until(lambda: [a for a in world.agents("t") if a["generation"] == 2], "it handed itself off")[0]
    assert successor["engine"] == world.engine
    assert before == users_settings(world)
