"""A fleet with the fake agent and repositories."""

from tests.worktrees.conftest import ground, local

__all__ = ["ground", "local"]
