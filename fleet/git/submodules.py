"""Submodules in a linked worktree, which has its own repositories for them (git 2.39.5 keeps them in its git dir).

Only those that the main checkout uses are brought: `git submodule update` without --init does nothing for the others.
They are cloned from the main checkout's copies (hard links, no network) and then given their own remote again; a
commit that is not there is fetched from that remote.
"""

from __future__ import annotations

import os

from fleet.git.runner import GitFailed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.git.runner import Git


def bring_submodules(git: Git, common: str, seconds: float) -> None:
    """
    Check out the submodules of the worktree that *git* stands in, and theirs.

    Raises:
        GitFailed: one could not be had.
        TimedOut: not within *seconds* for a step.
    """
    if not os.path.isfile(os.path.join(git.folder, ".gitmodules")):
        return
    for name, path in _named(git):
        url = git.ask(f"--git-dir={common}", "config", "--get", f"submodule.{name}.url").out.strip()
        if not url:
            continue
        if git.ask("config", "--get", f"submodule.{name}.url").status != 0:  # a submodule's own, cloned just now
            git.run("config", f"submodule.{name}.url", url)
        copy = os.path.join(common, "modules", name)
        done = None
        if os.path.isdir(copy):
            local = ["-c", f"submodule.{name}.url={copy}", "-c", "protocol.file.allow=always"]
            done = git.ask(*local, "submodule", "--quiet", "update", "--", path, seconds=seconds)
            if os.path.lexists(os.path.join(git.folder, path, ".git")):
                git.at(os.path.join(git.folder, path)).run("config", "remote.origin.url", url)
        if done is None or done.status != 0:
            git.run("submodule", "--quiet", "update", "--", path, seconds=seconds, network=True)
        bring_submodules(git.at(os.path.join(git.folder, path)), copy, seconds)


def _named(git: Git) -> list[tuple[str, str]]:
    """Names and paths of the submodules in .gitmodules."""
    done = git.ask("config", "--file", ".gitmodules", "-z", "--get-regexp", r"^submodule\..*\.path$")
    if done.status not in (0, 1):
        raise GitFailed("config", done)
    found = []
    for item in done.out.split("\0"):
        key, _, path = item.partition("\n")
        if path:
            found.append((key.removeprefix("submodule.").removesuffix(".path"), path))
    return found
