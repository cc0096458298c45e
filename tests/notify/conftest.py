"""A fleet with the fake agent."""

from tests.cli.conftest import world

__all__ = ["world"]
