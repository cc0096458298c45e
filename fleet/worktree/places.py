"""Where the worktrees of agents lie: `<root>/<repository>-<hash>/<branch>`, every part safe as a file name."""

from __future__ import annotations

import hashlib
import os
import re

from fleet.errors import EnvironmentMissing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fleet.config import Settings
    from fleet.formats.layout import Layout
    from fleet.git.repository import Repository

PLAIN = re.compile(r"[a-z0-9][a-z0-9._-]*(/[a-z0-9][a-z0-9._-]*)*")
LONGEST_NAME = 80


def root_of(layout: Layout, settings: Settings) -> str:
    """
    The folder that holds all worktrees, with symlinks resolved. It need not be there yet.

    Raises:
        EnvironmentMissing: something else has its name.
    """
    root = os.path.realpath(str(settings["worktree.folder"] or layout.worktrees))
    if os.path.lexists(root) and not os.path.isdir(root):
        raise EnvironmentMissing(f"{root} is no folder", hint="name another with worktree.folder in config.yaml")
    return root


def repository_key(common: str) -> str:
    """Eight hex digits for a repository, by the git directory that its worktrees share."""
    return hashlib.sha256(os.fsencode(common)).hexdigest()[:8]


def slug(branch: str) -> str:
    """
    A branch as a file name: `fleet/fix-login` is `fleet+fix-login`.

    Whatever a file system could take for another name, or a person for an option, gets a hash of the branch.
    """
    if PLAIN.fullmatch(branch) and len(branch) <= LONGEST_NAME:
        return branch.replace("/", "+")
    safe = re.sub(r"[^a-z0-9._+-]+", "-", branch.lower().replace("/", "+")).strip("-.+")[:LONGEST_NAME]
    digest = hashlib.sha256(branch.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    return f"{safe}-{digest}" if safe else digest


def path_for(root: str, repository: Repository, branch: str) -> str:
    """Where the worktree of a branch belongs."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", repository.name).strip("-.")[:LONGEST_NAME] or "repository"
    return os.path.join(root, f"{name}-{repository_key(repository.common)}", slug(branch))


def is_inside(root: str, path: str) -> bool:
    """Whether *path*, with symlinks resolved, is two levels below *root*: where a worktree of ours can lie."""
    real = os.path.realpath(path)
    return real == path and os.path.dirname(os.path.dirname(real)) == root
