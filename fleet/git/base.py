"""What a new branch starts from: the default branch, as its remote has it right now, else as it is here.

`git fetch REMOTE REF` also updates the remote-tracking branches that the configured refspec names. Where that refspec
writes local branches (a mirror clone) an empty --refmap keeps fetch from touching them (git 2.39.5).
"""

from __future__ import annotations

from dataclasses import dataclass, field

from fleet.errors import Refused, TimedOut
from fleet.git.branches import commit_of, is_ancestor, local
from fleet.git.repository import HEADS
from fleet.git.runner import Git, GitFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.clock import Clock

REMOTES = "refs/remotes/"


@dataclass(frozen=True, slots=True)
class Base:
    """Where a new branch starts."""

    commit: str
    name: str  #: `origin/main`, or `main` when the local branch was used
    upstream: str | None = None  #: the remote-tracking ref that the new branch is to follow
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a remote said of itself."""

    default: str | None
    heads: dict[str, str]


def remote_of(git: Git) -> str | None:
    """The remote that counts: origin, the only one, or checkout.defaultRemote."""
    names = git.run("remote").split()
    wanted = git.ask("config", "--get", "checkout.defaultRemote").out.strip()
    for name in (wanted, "origin"):
        if name and name in names:
            return name
    return names[0] if len(names) == 1 else None


def choose(git: Git, branch: str, clock: Clock, seconds: float) -> Base:
    """
    Where *branch*, which is not there yet, starts: at the remote's branch of that name, else at the default branch.

    Args:
        seconds: how long the remote may take to answer, 0 for not asking it.

    Raises:
        Refused: there is no commit to start from.
    """
    remote = remote_of(git)
    if remote is None:
        return _local(git, None, [])
    end = clock.monotonic() + seconds
    try:
        if seconds <= 0:
            return _local(git, remote, [])
        answer = _ask(git, remote, branch, end - clock.monotonic())
        for name in (branch, answer.default):
            if name and name in answer.heads:
                return _fetched(git, remote, name, answer.heads[name], end - clock.monotonic(), follow=name == branch)
    except (GitFailed, TimedOut) as e:
        why = f"{remote} did not answer in time" if isinstance(e, TimedOut) else f"{remote}: {e}"
        return _local(git, remote, [f"{why}; used what is here"])
    return _local(git, remote, [])


def _ask(git: Git, remote: str, branch: str, seconds: float) -> Answer:
    text = git.run("ls-remote", "--symref", "--", remote, "HEAD", HEADS + branch, seconds=seconds, network=True)
    default, heads, head = None, {}, None
    for line in text.splitlines():
        value, _, name = line.partition("\t")
        if name == "HEAD" and value.startswith("ref: " + HEADS):
            default = value.removeprefix("ref: " + HEADS)
        elif name == "HEAD":
            head = value
        elif name.startswith(HEADS):
            heads[name.removeprefix(HEADS)] = value
    if default and head:
        heads.setdefault(default, head)
    return Answer(default, heads)


def _fetched(git: Git, remote: str, name: str, commit: str, seconds: float, *, follow: bool) -> Base:
    tracking = f"{REMOTES}{remote}/{name}"
    if commit_of(git, commit) is None or commit_of(git, tracking) != commit:
        refmap = [] if _tracks(git, remote) else ["--refmap="]
        done = git.ask(
            "fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", *refmap, "--", remote,
            HEADS + name, seconds=seconds, network=True,
        )  # fmt: skip
        # Of two that fetch at the same time one cannot write the ref; it has the commit all the same.
        if done.status != 0 and commit_of(git, commit) is None:
            raise GitFailed("fetch", done)
    now = commit_of(git, commit) or commit_of(git, tracking)
    if now is None:
        raise TimedOut(f"{remote}/{name} moved while it was fetched")
    own = None if follow else commit_of(git, HEADS + name)
    notes = []
    if own is not None and not is_ancestor(git, own, now):
        ahead = git.run("rev-list", "--count", f"{now}..{own}").strip()
        notes.append(f"{ahead} commits of the local {name} are not in {remote}/{name} and not in the new branch")
    upstream = tracking if follow and commit_of(git, tracking) else None
    return Base(now, f"{remote}/{name}", upstream, notes)


def _tracks(git: Git, remote: str) -> bool:
    """Whether a fetch from *remote* writes remote-tracking branches and nothing else."""
    spec = git.ask("config", "--get-all", f"remote.{remote}.fetch").out.split()
    targets = [one.partition(":")[2] for one in spec if not one.startswith("^")]
    return bool(targets) and all(target.startswith(REMOTES) for target in targets)


def default_names(git: Git, remote: str | None) -> list[str]:
    """What the default branch may be called here, the likeliest first."""
    names = []
    if remote is not None:
        head = git.ask("symbolic-ref", "--quiet", f"{REMOTES}{remote}/HEAD").out.strip()
        names.append(head.removeprefix(f"{REMOTES}{remote}/"))
    names.append(git.ask("config", "--get", "init.defaultBranch").out.strip())
    names += ["main", "master", "trunk"]
    # The main checkout's HEAD: that of a linked worktree is the very branch that somebody may be asking about.
    common = git.run("rev-parse", "--path-format=absolute", "--git-common-dir").rstrip("\n")
    names.append(git.ask(f"--git-dir={common}", "symbolic-ref", "--quiet", "HEAD").out.strip().removeprefix(HEADS))
    return list(dict.fromkeys(name for name in names if name))


def here(git: Git) -> Base:
    """The default branch without asking anybody; raises as `choose`."""
    return _local(git, remote_of(git), [])


def _local(git: Git, remote: str | None, notes: list[str]) -> Base:
    known = local(git)
    for name in default_names(git, remote):
        own = known.get(name)
        seen = commit_of(git, f"{REMOTES}{remote}/{name}") if remote else None
        if own is not None and (seen is None or is_ancestor(git, seen, own)):
            return Base(own, name, None, notes)
        if seen is not None:
            return Base(seen, f"{remote}/{name}", None, notes)
    if len(known) == 1:
        ((name, commit),) = known.items()
        return Base(commit, name, None, notes)
    if not known:
        raise Refused("the repository has no commits yet", hint="make the first commit, then dispatch again")
    raise Refused(
        f"which of its {len(known)} branches is the repository's default one cannot be told",
        hint="name it: git config init.defaultBranch NAME",
    )
