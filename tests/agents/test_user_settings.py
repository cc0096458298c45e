"""Fleet beside the user's own settings: hooks, status line and skill, in the real clients."""

import json


ENGINES = ("claude-code", "codex")
ID = "c0ffee00"


def only(*engines):
    """Run a test for these engines alone."""

    def mark(function):
        function.engines = engines
        return function

    return mark


def settings_file(world):
    """The user's own settings file of the engine."""
    folder, name = {"claude-code": (".claude", "settings.json"), "codex": (".codex", "hooks.json")}[world.engine]
    return world.home / folder / name


def users_hooks(world, *events):
    """Give the user hooks of their own; returns where they write the names of their events."""
    log = world.root / "users-own"
    path = settings_file(world)
    data = json.loads(path.read_text()) if path.exists() else {}
    data["hooks"] = {
        e: [{"hooks": [{"type": "command", "command": f"echo {e} >> {log}", "timeout": 5}]}] for e in events
    }
    path.write_text(json.dumps(data, indent=2))
    return log


def by_hand(world, *argv, env=None, name="hand", reviewed=True):
    """Start the client in a pane of its own, as something else than fleet would; *reviewed*: all hooks are."""
    environ = {**world.env, **(env or {})}
    words = [f"{k}={v}" for k, v in environ.items()]
    world.tmux(
        "new-session", "-d", "-s", name, "-x", "140", "-y", "40", "-c", str(world.project), "sh", "-c", "exec sleep 600"
    )
    world.tmux("set-option", "-g", "remain-on-exit", "on")
    program = {"claude-code": "claude", "codex": "codex"}[world.engine]
    bypass = ["--dangerously-bypass-hook-trust"] if reviewed else []
    flags = bypass if world.engine == "codex" else ["--model", "claude-sonnet-4-5"]
    world.tmux("respawn-pane", "-k", "-t", f"={name}:", "env", "-i", *words, program, *flags, *argv)
    return {"pane_id": world.tmux("display-message", "-p", "-t", f"={name}:", "#{pane_id}").strip()}


def foreign_record(world, agent_record, **changes):
    """The record of an agent that another dispatcher started: no pid that fleet knows."""
    from fleet.formats.layout import Layout

    layout = Layout(str(world.fleet_home))
    layout.make()
    record = agent_record(id=ID, pid=None, engine=world.engine, context_pct=None, context_source=None, **changes)
    with open(layout.record(ID), "w", encoding="utf-8") as f:
        json.dump(record, f)
    return layout


def lines(path):
    return path.read_text().split() if path.exists() else []


def count(world, agent_id, event):
    return sum(e["event"] == event for e in world.events(agent_id))


def test_an_event_counts_once_in_a_dispatched_agent(world):
    """With fleet's hooks in the user's settings as well; the user's own fire; no dialog opens."""
    log = users_hooks(world, "UserPromptSubmit", "Stop") if world.engine == "claude-code" else None
    world.fleet("init", "--user-hooks", "--engine", world.engine)

    agent = world.dispatch("once", "one\nSTUB: say=ok")

    assert 1 == count(world, agent["id"], "UserPromptSubmit") == count(world, agent["id"], "Stop")
    world.fleet("send", "once", "two", "--wait", "30")
    world.until(lambda: count(world, agent["id"], "Stop") == 2, "the second turn ends")
    assert 2 == count(world, agent["id"], "UserPromptSubmit")
    if log:
        world.until(lambda: ["UserPromptSubmit", "Stop"] * 2 == lines(log), "the user's own hooks fire")
    assert "" == errors(world)


def errors(world):
    path = world.fleet_home / "logs" / "hook-errors.log"
    return path.read_text() if path.exists() else ""


def test_an_agent_that_fleet_did_not_start_reports_through_the_users_settings(world, agent_record):
    """With a FLEET_AGENT_ID, a record and no dispatch of ours; the user's own hooks fire before and after as well."""
    log = users_hooks(world, "UserPromptSubmit", "Stop")
    original = settings_file(world).read_bytes()
    world.fleet("init", "--user-hooks", "--engine", world.engine)
    foreign_record(world, agent_record)

    by_hand(world, "--", "hello\nSTUB: say=ok", env={"FLEET_AGENT_ID": ID})

    world.until(lambda: count(world, ID, "Stop"), "the foreign agent reports")
    assert 1 == count(world, ID, "UserPromptSubmit") == count(world, ID, "Stop")
    world.until(lambda: ["UserPromptSubmit", "Stop"] == lines(log), "the user's own hooks fire")
    assert "" == errors(world)

    world.fleet("init", "--user-hooks", "--engine", world.engine, "--uninstall")
    assert original == settings_file(world).read_bytes()


def test_a_session_that_fleet_does_not_know_is_left_alone(world):
    """Installed, without FLEET_AGENT_ID: nothing is written anywhere, and nothing is to be seen."""
    log = users_hooks(world, "Stop")
    world.fleet("init", "--user-hooks", "--engine", world.engine)

    pane = by_hand(world, "--", "hello\nSTUB: say=ok")

    world.until(lambda: ["Stop"] == lines(log), "the user's own hook fires")
    assert [] == list(world.fleet_home.glob("events/*.jsonl"))
    assert "hook error" not in world.screen(pane).lower()


@only("codex")
def test_codex_asks_before_it_runs_what_nobody_reviewed(world):
    """Fleet vouches for its own entries in the agents it dispatches, and for nobody else's."""
    world.fleet("init", "--user-hooks", "--engine", "codex")
    agent = world.dispatch("mine", "one\nSTUB: say=ok")
    assert "need review" not in world.screen(agent)

    path = settings_file(world)
    data = json.loads(path.read_text())
    data["hooks"]["Stop"].append({"hooks": [{"type": "command", "command": "true"}]})
    path.write_text(json.dumps(data))
    started = world.start("dispatch", "theirs", "--engine", "codex", "--prompt", "one", "--wait", "started")
    other = world.until(lambda: world.agents("theirs"), "it is started")[0]
    world.until(lambda: "need review" in world.screen(other), "Codex asks about the other one")
    world.fleet("stop", "theirs")
    started.wait(timeout=60)


@only("codex")
def test_a_review_in_codex_is_asked_for_once(world, agent_record):
    """After "Trust all and continue" ours report, in that session and in the next, also when init ran again meanwhile."""
    log = users_hooks(world, "Stop")
    world.fleet("init", "--user-hooks", "--engine", "codex")
    foreign_record(world, agent_record)

    pane = by_hand(world, "--", "hello\nSTUB: say=ok", env={"FLEET_AGENT_ID": ID}, reviewed=False)
    world.until(lambda: "› 1. Review hooks" in world.screen(pane), "Codex asks")
    assert [] == world.events(ID)
    world.keys(pane, "Down")
    world.until(lambda: "› 2. Trust all and continue" in world.screen(pane), "the second row is chosen")
    world.keys(pane, "Enter")

    world.until(lambda: count(world, ID, "Stop") == 1, "the agent reports")
    world.until(lambda: ["Stop"] == lines(log), "the user's own hook fires")
    world.fleet("init", "--user-hooks", "--engine", "codex")
    by_hand(world, "--", "again\nSTUB: say=ok", env={"FLEET_AGENT_ID": ID}, name="next", reviewed=False)
    world.until(lambda: count(world, ID, "Stop") == 2, "the next session reports without a question")
    assert "" == errors(world)


@only("claude-code")
def test_the_status_lines_figure_outranks_the_transcripts(world):
    """Also for a model whose window fleet does not know; nothing is shown, and a newer turn's figure follows."""
    agent = world.dispatch("exact", "one\nSTUB: say=ok\nSTUB: usage=50000")

    world.until(lambda: world.agent("exact")["context_source"] == "statusline", "the exact figure is recorded")
    assert 25 == world.agent("exact")["context_pct"]
    bottom = world.screen(agent).rstrip("\n").split("\n")[-3:]
    assert [True, False, True] == [line.startswith("──") for line in bottom] or "─" in bottom[-2], bottom

    world.type(agent, "two\nSTUB: say=fine\nSTUB: usage=60000")
    world.until(lambda: (world.agent("exact")["context_source"], world.agent("exact")["context_pct"]) == ("statusline", 30),
                "the next turn's figure")  # fmt: skip
    assert "" == errors(world)


@only("claude-code")
def test_a_figure_from_before_a_compaction_is_void(world):
    """Claude Code calls its status line with the old figure after /compact; nothing is known until the next answer."""
    agent = world.dispatch("squeeze", "one\nSTUB: say=ok\nSTUB: usage=40000")
    world.type(agent, "more\nSTUB: say=ok\nSTUB: usage=50000")
    world.until(lambda: (world.agent("squeeze")["context_source"], world.agent("squeeze")["context_pct"])
                == ("statusline", 25), "the exact figure is recorded")  # fmt: skip

    world.type(agent, "/compact")
    world.until(lambda: count(world, agent["id"], "PostCompact"), "it has compacted")
    for _ in range(8):  # the status line is called again within 0.3 s
        assert world.agent("squeeze")["context_pct"] is None
        world.settle()

    world.type(agent, "two\nSTUB: say=fine\nSTUB: usage=20000")
    world.until(lambda: (world.agent("squeeze")["context_source"], world.agent("squeeze")["context_pct"])
                == ("statusline", 10), "the next answer's figure")  # fmt: skip

    world.type(agent, "/clear")
    world.until(lambda: world.agent("squeeze")["context_pct"] is None, "/clear empties the context")
    for _ in range(4):
        assert world.agent("squeeze")["context_pct"] is None
        world.settle()
    assert "" == errors(world)


@only("claude-code")
def test_the_users_own_status_line_is_shown_as_it_was(world):
    """Wrapped in a dispatched agent, from the project's settings before the user's; the figure is recorded too."""
    own = world.project / ".claude"
    own.mkdir()
    command = "printf 'MY LINE %s\\n' \"$(cat | tr -dc '{}' | head -c 1)\"; exit 0"
    (own / "settings.json").write_text(json.dumps({"statusLine": {"type": "command", "command": command}}))

    agent = world.dispatch("mine", "one\nSTUB: say=ok\nSTUB: usage=50000")

    world.until(lambda: "MY LINE {" in world.screen(agent), "the user's line is shown")
    world.until(lambda: world.agent("mine")["context_source"] == "statusline", "the exact figure is recorded")


@only("claude-code")
def test_the_status_line_in_the_users_settings(world, agent_record):
    """`--statusline` wraps it for agents that fleet did not start; their figure is recorded, their line is shown."""
    path = settings_file(world)
    data = json.loads(path.read_text())
    data["statusLine"] = {"type": "command", "command": 'echo "it\'s MINE"'}
    path.write_text(json.dumps(data))
    world.fleet("init", "--user-hooks", "--engine", "claude", "--statusline")
    layout = foreign_record(world, agent_record)

    pane = by_hand(world, "--", "hello\nSTUB: say=ok\nSTUB: usage=50000", env={"FLEET_AGENT_ID": ID})

    world.until(lambda: "it's MINE" in world.screen(pane), "the user's line is shown")

    def figure():
        with open(layout.record(ID), encoding="utf-8") as f:
            record = json.load(f)
        return record["context_source"], record["context_pct"]

    world.until(lambda: ("statusline", 25) == figure(), "the exact figure is recorded")
    stranger = by_hand(world, "--", "hello\nSTUB: say=ok", name="stranger")
    world.until(lambda: "it's MINE" in world.screen(stranger), "a session without fleet shows it as well")


@only("claude-code")
def test_the_model_is_told_of_fleets_skill(world):
    """It stands among the skills of the request; the user's folder gets none, and no dialog opens."""
    agent = world.dispatch("skilled", "one\nSTUB: say=ok")

    assert 1 == world.model_saw("fleet:fleet-guard: How to work as an agent that fleet supervises")
    assert not (world.home / ".claude" / "skills").exists()
    assert "one" in [e.get("prompt_head", "").split("\n")[0] for e in world.events(agent["id"], "UserPromptSubmit")]


@only("claude-code")
def test_only_a_supervisor_is_told_how_to_supervise(world):
    """By its role; the skill stands beside the other one, and nobody else has it."""
    world.dispatch("worker", "one\nSTUB: say=ok")
    assert 0 == world.model_saw("fleet-supervision")

    world.dispatch("lead", "one\nSTUB: say=ok", "--role", "supervisor")

    assert 1 == world.model_saw(":fleet-supervision: How to supervise agents with fleet")
    assert 1 == world.model_saw("fleet:fleet-guard: How to work")


@only("claude-code")
def test_skill_and_status_line_can_be_switched_off(world):
    """By the engine's options."""
    world.config("engines: {claude-code: {skills: false, statusline: false}}\n")
    agent = world.dispatch("plain", "one\nSTUB: say=ok")

    assert 0 == world.model_saw("fleet:fleet-guard")
    settings = json.loads((world.fleet_home / "launch" / f"{agent['id']}.settings.json").read_text())
    assert "statusLine" not in settings


@only("claude-code", "codex")
def test_init_says_what_it_found(world):
    """The engines with their versions, and whether somebody has set them up."""
    view = world.json("init")

    (one,) = [e for e in view["engines"] if e["name"] == world.engine]
    assert (True, None) == (bool(one["version"]), one["remedy"])
    assert not view["fleet_home"]["made"]
    for path in (
        world.home / ".claude.json",
        world.home / ".claude" / ".claude.json",
        world.home / ".codex" / "config.toml",
    ):
        path.unlink(missing_ok=True)
    (one,) = [e for e in world.json("init")["engines"] if e["name"] == world.engine]
    assert "once by hand" in one["remedy"]
