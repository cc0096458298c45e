"""How the engines are started, and what is found in the way before they are."""

import json
import os
import tomllib

import pytest

from fleet.engines.base import Request
from fleet.engines.catalog import engine
from fleet.engines.claude import add_trust, hooks_disabled_by, is_trusted
from fleet.engines.codex import hook_flags, native_binary
from fleet.errors import EnvironmentMissing, Refused, UsageError


@pytest.fixture
def request_for(tmp_path, layout):
    """A request for an engine whose program lies on a PATH of its own."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("claude", "codex", "gemini", "opencode"):
        (folder / name).write_text("#!/bin/sh\n")
        (folder / name).chmod(0o755)
    project = tmp_path / "project"
    project.mkdir()

    def make(**other):
        env = {"PATH": str(folder), "HOME": str(tmp_path / "home")}
        options = {
            "binary": other.pop("binary", "claude"),
            "args": [],
            "bypass_permissions": False,
            "permission_mode": None,
        }
        known = {"agent_id": "a1b2c3d4", "layout": layout, "cwd": str(project), "env": {**env, **other.pop("env", {})},
                 "options": {**options, **other.pop("options", {})}, "command": (), "model": None,
                 "hook_argv": ("/py", "-I", "-S", "/on event.py"), "conversation_id": "u-u-i-d", "trust": False}  # fmt: skip
        return Request(**{**known, **other})

    make.project = project
    make.home = tmp_path / "home"
    return make


def state(request_for, **entries):
    """Write Claude Code's state file."""
    data = {"hasCompletedOnboarding": True, **entries}
    (request_for.home / ".claude.json").write_text(json.dumps(data))


def trusted(path):
    return {"projects": {str(path): {"hasTrustDialogAccepted": True, "other": 1}}}


def texts(obstacles):
    return " | ".join(o.text for o in obstacles)


def test_claude_gets_its_hooks_by_a_file_of_its_own(request_for, layout):
    """--settings, --session-id, the model, and `--` before a prompt; the user's settings are not touched."""
    plan = engine("claude").plan(request_for(model="opus"))

    path = layout.settings("a1b2c3d4")
    assert ["--settings", path, "--session-id", "u-u-i-d", "--model", "opus"] == plan.argv[1:]
    assert ["--"] == plan.prompt_prefix
    settings = json.loads(plan.files[path])
    assert "/py -I -S '/on event.py' claude-code Stop" == settings["hooks"]["Stop"][0]["hooks"][0]["command"]
    assert f"Write(/{layout.drafts}/**)" in settings["permissions"]["allow"]
    assert not any("launch/**" in rule for rule in settings["permissions"]["allow"])


def test_bypassed_permissions_stand_in_the_command(request_for):
    """Only where the option says so."""
    assert "--dangerously-skip-permissions" not in engine("claude").plan(request_for()).argv
    assert (
        "--dangerously-skip-permissions"
        in engine("claude").plan(request_for(options={"bypass_permissions": True})).argv
    )


def test_an_engine_that_is_not_installed(request_for):
    """It is said, with what was looked for."""
    with pytest.raises(EnvironmentMissing, match="Claude Code is not installed"):
        engine("claude").plan(request_for(env={"PATH": "/nowhere"}))


def test_a_folder_that_is_not_trusted_is_found_before_the_launch(request_for):
    """With its remedy; so are a missing set-up, an unapproved key and a bypass that was never accepted."""
    state(request_for)
    found = engine("claude").obstacles(request_for())
    assert "does not trust" in texts(found)
    assert "--trust" in found[0].remedy

    (request_for.home / ".claude.json").unlink()
    assert "never set up" in texts(engine("claude").obstacles(request_for()))
    assert "ANTHROPIC_API_KEY" in texts(engine("claude").obstacles(request_for(env={"ANTHROPIC_API_KEY": "sk-new"})))
    assert "bypassing" in texts(engine("claude").obstacles(request_for(options={"bypass_permissions": True})))


@pytest.mark.parametrize("where", ["itself", "parent", "symlink", "worktree"])
def test_what_counts_as_trusted(request_for, where, tmp_path):
    """The folder, one above it, the real one behind a link, the main work tree of a linked one."""
    project = request_for.project
    main = tmp_path / "main"
    (main / ".git" / "worktrees" / "w").mkdir(parents=True)
    (project / ".git").write_text(f"gitdir: {main}/.git/worktrees/w\n")
    link = tmp_path / "link"
    link.symlink_to(project)
    entry, cwd = {"itself": (project, project), "parent": (tmp_path, project), "symlink": (project, link),
                  "worktree": (main, project)}[where]  # fmt: skip

    assert is_trusted(trusted(entry), str(cwd))
    assert not is_trusted({"projects": {str(entry): {"hasTrustDialogAccepted": False}}}, str(cwd))


def test_trust_is_written_beside_everything_else_and_can_be_taken_back(request_for):
    """Everything else in the file stays; the undoing leaves it as it was."""
    path = request_for.home / ".claude.json"
    state(request_for, projects={"/other": {"x": 1}}, numberOfThings=3)
    before = json.loads(path.read_text())

    undo = add_trust(str(path), str(request_for.project), str(request_for.home / "lock"))

    now = json.loads(path.read_text())
    assert is_trusted(now, str(request_for.project))
    assert {**before, "projects": None} == {**now, "projects": None}
    undo()
    assert before == json.loads(path.read_text())


@pytest.mark.parametrize("text", ["[1]", "{broken", '{"projects": 7}'])
def test_a_state_file_of_another_shape_is_left_alone(request_for, text):
    """Nothing is written over what is not understood."""
    path = request_for.home / ".claude.json"
    path.write_text(text)

    with pytest.raises(Refused):
        add_trust(str(path), str(request_for.project), str(request_for.home / "lock"))
    assert text == path.read_text()


def test_disabled_hooks_are_found_and_said(request_for):
    """disableAllHooks silences ours too; the nearest settings file decides; the agent then counts as one without."""
    folder = request_for.home / ".claude"
    folder.mkdir()
    (folder / "settings.json").write_text('{"disableAllHooks": true}')
    plan = engine("claude").plan(request_for())
    assert not plan.hooks
    assert "disableAllHooks" in plan.notes[0]

    own = request_for.project / ".claude"
    own.mkdir()
    (own / "settings.json").write_text('{"disableAllHooks": false}')
    assert None is hooks_disabled_by({"HOME": str(request_for.home)}, str(request_for.project))


def test_codex_is_told_everything_by_flags(request_for, layout):
    """Hooks with their trust hashes, no daemon, the drafts writable beside the user's own roots; no file is written."""
    home = request_for.home / ".codex"
    home.mkdir()
    (home / "config.toml").write_text('[sandbox_workspace_write]\nwritable_roots = ["/mine"]\n')

    plan = engine("codex").plan(request_for(binary="codex", trust=True))

    values = tomllib.loads("\n".join(plan.argv[i + 1] for i, a in enumerate(plan.argv) if a == "-c"))
    assert False is values["features"]["daemon_auto_start"]
    assert ["/mine", layout.drafts] == values["sandbox_workspace_write"]["writable_roots"]
    assert "trusted" == values["projects"][str(request_for.project)]["trust_level"]
    assert {"Stop", "UserPromptSubmit", "Interrupt"} < set(values["hooks"])
    assert len(values["hooks"]["state"]) == len(values["hooks"]) - 1
    assert {} == plan.files


def test_the_trust_hash_of_a_codex_hook():
    """As "Trust all and continue" of Codex 0.171.0 writes it; SessionEnd's time-out is cut to 3 s before it is hashed."""
    flags = hook_flags({"Stop": "/bin/true Stop", "SessionEnd": "x"})

    assert any("timeout=3" in flag for flag in flags if "SessionEnd" in flag)
    assert "/<session-flags>/config.toml:session_end:0:0" in flags[-1]


def test_codex_asks_for_trust_only_where_it_has_none(request_for):
    """An untrusted folder is an obstacle; --trust and a record of any kind take it away."""
    assert "does not trust" in texts(engine("codex").obstacles(request_for(binary="codex")))
    assert [] == engine("codex").obstacles(request_for(binary="codex", trust=True))

    home = request_for.home / ".codex"
    home.mkdir()
    (home / "config.toml").write_text(f'[projects."{request_for.project}"]\ntrust_level = "trusted"\n')
    assert [] == engine("codex").obstacles(request_for(binary="codex"))


def test_the_native_codex_behind_npms_wrapper(tmp_path):
    """The platform package's binary is started, wherever npm put it; anything else is left as it is."""
    package = tmp_path / "node_modules" / "@openai" / "codex"
    (package / "bin").mkdir(parents=True)
    wrapper = package / "bin" / "codex.js"
    wrapper.write_text("")
    native = (
        tmp_path
        / "node_modules"
        / "@openai"
        / "codex-linux-x64"
        / "vendor"
        / "x86_64-unknown-linux-musl"
        / "bin"
        / "codex"
    )
    native.parent.mkdir(parents=True)
    native.write_text("")
    native.chmod(0o755)
    link = tmp_path / "codex"
    link.symlink_to(wrapper)

    assert str(native) == native_binary(str(link))
    assert os.path.realpath("/bin/sh") == native_binary("/bin/sh")


def test_a_command_is_run_as_given(request_for):
    """A program by name is looked up on the caller's PATH; without a program there is nothing to run."""
    plan = engine("command").plan(request_for(command=("claude", "{prompt}")))

    assert plan.takes_prompt and not plan.hooks
    assert plan.argv[0].endswith("/bin/claude")
    with pytest.raises(UsageError):
        engine("command").plan(request_for())


def gemini_files(request_for, **files):
    """Write files of the user's `.gemini`."""
    folder = request_for.home / ".gemini"
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / f"{name}.json").write_text(data if isinstance(data, str) else json.dumps(data))
    return folder


def test_gemini_gets_a_home_that_leads_to_the_users(request_for, layout):
    """Hooks are added to the user's own settings, all else is linked; a successor finds the same user's home."""
    mine = {"hooks": {"AfterAgent": [{"hooks": [{"type": "command", "command": "mine"}]}]}, "ui": {"theme": "x"}}
    folder = gemini_files(request_for, settings=mine, oauth_creds={}, trustedFolders={"/mine": "TRUST_FOLDER"})

    plan = engine("gemini").plan(request_for(binary="gemini", model="m"))

    assert ["--session-id", "u-u-i-d", "--model", "m"] == plan.argv[1:]
    home = f"{layout.engine_home('a1b2c3d4')}/.gemini"
    assert {f"{home}/oauth_creds.json": f"{folder}/oauth_creds.json", f"{home}/tmp": f"{folder}/tmp"} == plan.links
    settings = json.loads(plan.files[f"{home}/settings.json"])
    first, second = settings["hooks"]["AfterAgent"]
    assert ("mine", "/py -I -S '/on event.py' gemini Stop") == (
        first["hooks"][0]["command"],
        second["hooks"][0]["command"],
    )
    assert {"theme": "x"} == settings["ui"]
    assert "PreCompress" not in settings["hooks"]
    trusted = json.loads(plan.files[f"{home}/trustedFolders.json"])
    assert {"/mine", os.path.realpath(layout.drafts)} < set(trusted)
    assert json.dumps(mine) == (folder / "settings.json").read_text()

    successor = engine("gemini").plan(request_for(binary="gemini", agent_id="b1b2c3d4", env=plan.env))
    assert {target for target in plan.links.values()} == {target for target in successor.links.values()}
    assert [2] == [len(groups) for event, groups in
                   json.loads(successor.files[f"{layout.engine_home('b1b2c3d4')}/.gemini/settings.json"])["hooks"].items()
                   if event == "AfterAgent"]  # fmt: skip


@pytest.mark.parametrize("settings", ["{broken", {"hooksConfig": {"enabled": False}}])
def test_gemini_whose_hooks_would_not_run_is_one_without(request_for, settings):
    """Settings that cannot be read, or that switch hooks off: said, and left as they are."""
    gemini_files(request_for, settings=settings)

    plan = engine("gemini").plan(request_for(binary="gemini"))

    assert not plan.hooks and not plan.files and not plan.links
    assert "cannot report" in plan.notes[0]


def test_what_gemini_would_ask(request_for, tmp_path):
    """Trust of the folder, of one above it or of a neighbour's parent, and how to sign in."""
    asked = texts(engine("gemini").obstacles(request_for(binary="gemini")))
    assert "does not trust" in asked and "sign in" in asked

    key = {"env": {"GEMINI_API_KEY": "k"}}
    assert [] == engine("gemini").obstacles(request_for(binary="gemini", trust=True, **key))
    for record in ({str(tmp_path): "TRUST_FOLDER"}, {str(tmp_path / "other"): "TRUST_PARENT"}):
        gemini_files(request_for, trustedFolders=record)
        assert [] == engine("gemini").obstacles(request_for(binary="gemini", **key))
    gemini_files(request_for, trustedFolders={}, settings={"security": {"folderTrust": {"enabled": False}}})
    assert [] == engine("gemini").obstacles(request_for(binary="gemini", **key))


def test_opencode_is_given_its_plugin_beside_what_the_caller_gives(request_for, layout):
    """In the settings of that one process; no file is written."""
    given = json.dumps({"plugin": ["mine"], "theme": "x"})
    plan = engine("opencode").plan(request_for(binary="opencode", env={"OPENCODE_CONFIG_CONTENT": given}))

    content = json.loads(plan.env["OPENCODE_CONFIG_CONTENT"])
    assert ("mine", "x") == (content["plugin"][0], content["theme"])
    assert os.path.exists(content["plugin"][1].removeprefix("file://"))
    assert layout.conversation("a1b2c3d4") == plan.env["FLEET_OPENCODE_LOG"]
    assert {} == plan.files

    again = engine("opencode").plan(request_for(binary="opencode", env=plan.env))
    assert content == json.loads(again.env["OPENCODE_CONFIG_CONTENT"])


@pytest.mark.parametrize("other", [{"env": {"OPENCODE_CONFIG_CONTENT": "[1]"}}, {"command": ("--pure",)}])
def test_opencode_without_our_plugin_is_one_without_hooks(request_for, other):
    """Said before the start."""
    plan = engine("opencode").plan(request_for(binary="opencode", **other))

    assert not plan.hooks
    assert "cannot report" in plan.notes[0]


@pytest.mark.parametrize(
    ("name", "argv"),
    [
        ("claude", ["--resume", "ID"]),
        ("codex", ["resume", "ID"]),
        ("gemini", ["--resume", "ID"]),
        ("opencode", ["--session", "ID"]),
        ("fake", ["--resume", "ID"]),
        ("command", None),
    ],
)
def test_how_a_conversation_is_gone_on_with(name, argv):
    """By the engine's own words; None where it cannot be."""
    assert argv == engine(name).resume("ID")
