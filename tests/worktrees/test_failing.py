"""After a failure nothing is left: no tree, no branch, no registration, no file, no session, no process."""

import json
import os
import shutil
import subprocess
from types import SimpleNamespace

import pytest

from fleet.app import Fleet
from fleet.worktree import undoing
from tests.crash import processes


def twice(ground):
    """A git that is told of each new tree twice, as if somebody made the same one at the same moment."""
    git = shutil.which("git")
    (ground.bin / "git").write_text(
        f'#!/bin/sh\ncase " $* " in *" worktree add "*) {git} "$@" >/dev/null 2>&1 ;; esac\nexec {git} "$@"\n'
    )
    (ground.bin / "git").chmod(0o755)


FAILING = {
    "git without a hook": (twice, 1, "fleet: git worktree add: a branch named 'fleet/t' already exists"),
    "git before its hook": (lambda g: (g.hook("exit 0\n"), twice(g)), 1, "fleet: git worktree add: a branch named 'fleet/t' already exists"),
    "a failing post-checkout hook": (lambda g: g.hook("echo broken hook >&2; exit 3\n"), 1, "post-checkout hook ended with status 3: broken hook"),
    "a hook that never ends": (lambda g: (g.hook("sleep 900\n"), g.config("worktree: {make_seconds: 1}\n")), 6, "`git worktree` took longer than 1 s"),
    "a hook that moves HEAD": (lambda g: g.hook('[ "$PWD" = "%s" ] || git update-ref --no-deref HEAD $(git rev-parse HEAD)\n' % g.repo), 1, "a hook moved it"),
    "a failing set-up command": (lambda g: g.recipe('setup: "echo first; echo no network >&2; exit 4"'), 1, "set-up command ended with status 4: no network"),
    "a set-up command that never ends": (lambda g: (g.recipe('setup: "sleep 901 & sleep 902"'), g.config("worktree: {setup_seconds: 1}\n")), 6, "the set-up command took longer"),
    "a set-up command that commits": (lambda g: g.recipe('setup: "echo x > y; git add y; git commit -qm y; exit 1"'), 1, "status 1"),
    "a set-up command that fails and leaves a process": (lambda g: g.recipe('setup: "setsid sleep 903 & exit 5"'), 1, "status 5"),
}  # fmt: skip


@pytest.mark.parametrize("case", FAILING)
def test_a_failure_leaves_nothing(local, case):
    """One line and a hint; the repository, the fleet home, tmux and the process table are as before."""
    prepare, code, words = FAILING[case]
    prepare(local)
    was = local.before()

    said = local.order("t", "--trust-setup", code=code)

    assert words in said
    assert len([line for line in said.splitlines() if line.startswith("fleet:")]) == 1
    files, *rest = local.before()
    assert was[1:] == tuple(rest)
    assert was[0] == {k: v for k, v in files.items() if not k.startswith("consents/")}
    assert [] == local.sessions()
    assert [] == [p for p in processes.naming(str(local.fleet_home / "worktrees")) if p[0] != os.getpid()]
    assert [] == left_by(local)


def test_a_process_in_the_middle_of_its_exec_is_ended_too(local, monkeypatch):
    """It has no environment for a moment: who looks just then takes it for nobody's, and looks again."""
    fleet = Fleet(local.env)
    tree = SimpleNamespace(path=str(local.home / "t"), mark="the-mark", agent_id="a1b2c3d4")
    child = subprocess.Popen(["sleep", "904"], env={**local.env, undoing.MARK: "the-mark"}, start_new_session=True)
    real, looked = undoing.environment_marks, []

    def in_its_exec(pid):
        if pid == child.pid:
            looked.append(pid)
        return {} if looked == [pid] else real(pid)

    monkeypatch.setattr(undoing, "environment_marks", in_its_exec)
    try:
        undoing.end_processes(fleet, tree)
        assert -9 == child.wait(10)
    finally:
        child.kill()
        child.wait()


def left_by(ground):
    """What git, hooks and set-up commands of that ground left running."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                environ = f.read()
            with open(f"/proc/{pid}/cmdline", "rb") as f:
                argv = f.read().decode().split("\0")
        except OSError:
            continue
        if str(ground.home).encode() in environ and os.path.basename(argv[0]) in ("sleep", "sh", "git"):
            found.append(argv)
    return found


def test_an_engine_that_cannot_be_planned_makes_nothing(local):
    """A missing program is found before git is asked for a tree."""
    was = local.before()

    done = local.run("dispatch", "t", "--worktree", "--engine", "command", "--", "no-such-program-x")

    assert 5 == done.returncode
    assert was == local.before()


def test_an_untrusted_tree_is_taken_back(local):
    """The engine's trust check runs on the tree; without trust nothing of it stays."""
    (local.bin / "claude").write_text("#!/bin/sh\nexit 0\n")
    (local.bin / "claude").chmod(0o755)
    (local.home / ".claude.json").write_text('{"hasCompletedOnboarding": true}')
    was = local.before()

    done = local.run("dispatch", "t", "--worktree", "--prompt", "x")

    assert 1 == done.returncode
    assert b"does not trust" in done.stderr
    assert b"/worktrees/p-" in done.stderr
    assert was == local.before()


def test_too_many_agents(local):
    """The limit is found after the tree was made; it is taken back."""
    local.order("one")
    local.config("limits: {max_sessions: 1}\n")
    was = local.before()

    assert "1 are allowed" in local.order("two", code=5)
    assert was[1:] == local.before()[1:]


def test_an_existing_branch_survives_a_failure(local):
    """Only what was made is taken back."""
    local.git("branch", "old")
    local.hook("exit 1\n")

    local.order("t", "--worktree", "old", code=1)

    assert ["main", "old"] == local.branches()


def test_a_tree_from_before_survives_a_failure(local):
    """A tree that was only to be given out again is not removed when the start fails."""
    agent = local.order()
    local.commit("work", at=agent["cwd"])
    local.fleet("stop", "t")
    local.config("limits: {max_sessions: 0}\n")
    was = local.before()

    local.order(code=5)

    assert was[1:] == local.before()[1:]
    assert "remove" != local.row("fleet/t")["next"]


def test_the_hook_can_be_left_out(local):
    """worktree.run_hooks: false makes the tree without it."""
    local.hook("exit 1\n")
    local.config("worktree: {run_hooks: false}\n")

    local.order()


def test_a_daemon_of_a_hook_holds_nothing_up(local):
    """A process that the hook leaves behind, with git's own descriptors, is not waited for."""
    local.hook("sleep 60 &\n")

    local.order()
    local.stop("t", code=1)  # it stands in the tree

    assert "has its working directory there" in local.said


def test_git_is_missing(local, tmp_path):
    """Exit 5, and what is missing."""
    for name in ("tmux", "sh", "sleep", "env"):
        (tmp_path / name).symlink_to(f"/usr/bin/{name}")
    local.env["PATH"] = str(tmp_path)

    assert "git is not installed" in local.order(code=5)


def test_nothing_of_the_callers_git_variables(local):
    """GIT_DIR and its kin of the caller lead nowhere."""
    other = local.root / "other"
    local.git("init", "-q", str(other))
    local.env |= {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other), "GIT_INDEX_FILE": "/nowhere", "GIT_EDITOR": "false",
                  "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.bare", "GIT_CONFIG_VALUE_0": "true"}  # fmt: skip

    agent = local.order()

    for name in [n for n in local.env if n.startswith("GIT_")]:
        del local.env[name]
    assert str(local.repo / ".git") == local.tree(agent)["repository"]


def test_nobody_is_asked(shared):
    """A remote that wants a password and an ssh that would ask: no prompt, the local branch is used."""
    ssh = shared.bin / "ssh"
    ssh.write_text(f'#!/bin/sh\necho "$@" > {shared.root}/ssh-args\nexit 255\n')
    ssh.chmod(0o755)
    shared.env["SSH_ASKPASS"] = shared.env["GIT_ASKPASS"] = str(shared.root / "never")
    shared.git("remote", "set-url", "origin", "git@host.invalid:x.git")

    shared.order()

    assert "BatchMode=yes" in (shared.root / "ssh-args").read_text()
    assert "used what is here" in shared.said


def test_the_users_own_ssh_command_is_kept(shared):
    """core.sshCommand with its key goes on to be used."""
    ssh = shared.root / "ssh-mine"
    ssh.write_text(f'#!/bin/sh\necho "$@" > {shared.root}/ssh-args\nexit 255\n')
    ssh.chmod(0o755)
    shared.git("config", "core.sshCommand", f"{ssh} -i key")
    shared.git("remote", "set-url", "origin", "git@host.invalid:x.git")

    shared.order()

    assert "-i key -oBatchMode=yes" in (shared.root / "ssh-args").read_text()


WRONG = [
    (("--worktree=-x",), 2, "cannot be a branch name"), (("--worktree", "a..b"), 2, "cannot be a branch name"),
    (("--worktree", "a b"), 2, "cannot be a branch name"), (("--worktree", "a~1"), 2, "cannot be a branch name"),
    (("--worktree", "@{-1}"), 2, "cannot be a branch name"), (("--worktree", "@"), 2, "cannot be a branch name"),
    (("--worktree", "HEAD"), 2, "cannot be a branch name"), (("--worktree", "x.lock"), 2, "cannot be a branch name"),
    (("--worktree", "/x"), 2, "cannot be a branch name"), (("--worktree", "x/"), 2, "cannot be a branch name"),
    (("--worktree", "a\nb"), 2, "cannot be a branch name"), (("--worktree", "a\x1bb"), 2, "cannot be a branch name"),
    (("--worktree", "../x"), 2, "cannot be a branch name"), (("--worktree", "x" * 300), 2, "cannot be a branch name"),
    (("--worktree", "MAIN"), 1, "differs from the existing 'main' only in case"),
    (("--worktree", "main/x"), 1, "beside the existing 'main'"),
]  # fmt: skip


@pytest.mark.parametrize(("args", "code", "words"), WRONG, ids=lambda v: repr(v)[:40] if isinstance(v, tuple) else None)
def test_wrong_branches(local, args, code, words):
    """Refused in one line; nothing is changed."""
    was = local.before()

    said = local.order("t", *args, code=code)

    assert words in said
    assert len(said.splitlines()) <= 2
    assert was == local.before()
    assert [] == local.sessions()


def test_names_that_look_alike_get_places_of_their_own(local):
    """Unicode, upper case and whatever a slug would make alike: every branch has its own folder."""
    names = ["a/b", "a+b", "Größe", "größe2", "日本語", "a-b", "x" * 150]

    found = [local.order(f"t{n}", "--worktree", name)["cwd"] for n, name in enumerate(names)]

    assert len(names) == len({path.lower() for path in found})
    assert all(os.path.basename(path).isascii() for path in found)


def test_unicode_forms_of_one_name(local):
    """A name in another form of its letters is taken for the same."""
    local.git("branch", "gr\u00fcn")

    assert "only in case or form" in local.order("t", "--worktree", "gru\u0308n", code=1)


OUTSIDE = {
    "no repository": (lambda g: g.root, 2, "is in no git repository"),
    "a git directory": (lambda g: g.repo / ".git" / "refs", 2, "lies inside a git directory"),
    "a folder that the branch lacks": (lambda g: g.repo / "new", 1, "there is no folder 'new' in main"),
}


@pytest.mark.parametrize("case", OUTSIDE)
def test_a_cwd_that_cannot_be(local, case):
    """Refused with its reason; nothing is changed."""
    place, code, words = OUTSIDE[case]
    (local.repo / "new").mkdir()
    was = local.before()

    assert words in local.order("t", cwd=place(local), code=code)
    assert was == local.before()


def test_trust_setup_goes_with_worktree(local):
    """Alone it is wrong usage."""
    done = local.run("dispatch", "t", "--engine", "fake", "--trust-setup")

    assert (2, b"--trust-setup goes with --worktree") == (
        done.returncode,
        done.stderr.splitlines()[0].partition(b": ")[2],
    )


def test_a_folder_setting_that_cannot_be(local):
    """worktree.folder must be an absolute path, and a folder."""
    local.config("worktree: {folder: trees}\n")
    assert "absolute path" in local.order(code=2)
    local.config(f"worktree: {{folder: {local.home}/.gitconfig}}\n")
    assert "is no folder" in local.order(code=5)


CLASHES = {
    "a name that git refuses": ({"worktree": "a"}, {"worktree": "a..b"}, "'a..b' cannot be a branch name"),
    "one branch twice": ({"worktree": "a"}, {"worktree": "a"}, "its worktree branch 'a' is that of task 'one' as well"),
    "the branch of another's name": ({"worktree": True}, {"worktree": "fleet/one"}, "is that of task 'one' as well"),
    "a branch below another": ({"worktree": "a"}, {"worktree": "a/b"}, "one is a folder of the other"),
    "no repository": ({"worktree": "a"}, {"worktree": "b", "cwd": "/"}, "/ is in no git repository"),
}  # fmt: skip


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
@pytest.mark.parametrize("case", CLASHES)
def test_worktrees_of_a_file_that_cannot_be(local, case, dry):
    """Found before anything is queued, with the file and the task; exit 2."""
    *tasks, words = CLASHES[case]
    common = {"engine": "command", "command": ["sleep", "1000"], "cwd": str(local.repo)}
    named = zip(("one", "two"), tasks, strict=True)
    path = local.root / "tasks.jsonl"
    path.write_text("".join(json.dumps({**common, "task": name, **task}) + "\n" for name, task in named))
    was = local.before()

    done = local.run("dispatch", "--from", str(path), *dry)

    said = done.stderr.decode().splitlines()
    assert (2, b"") == (done.returncode, done.stdout), said
    assert said[0].startswith(f"fleet: {path}")
    assert "task 'two': " in said[0]
    assert words in said[0]
    assert 2 >= len(said)
    assert was == local.before()


def test_one_branch_name_in_two_repositories(local):
    """It is two branches."""
    other = local.root / "second"
    local.git("init", "-q", str(other))
    local.commit(at=other)
    common = {"engine": "command", "command": ["sleep", "1000"], "worktree": "a"}
    path = local.root / "tasks.jsonl"
    places = (("one", local.repo), ("two", other))
    path.write_text("".join(json.dumps({**common, "task": name, "cwd": str(cwd)}) + "\n" for name, cwd in places))

    rows = json.loads(local.fleet("dispatch", "--from", str(path), "--dry-run", "--json"))

    assert ["would start"] * 2 == [row["result"] for row in rows]
