"""
What can be wrong before the agent has a screen.

Each of these is one line on standard error and an exit status; once the screen is up nothing here is
raised.
"""


class FakeAgentError(Exception):
    """The fake agent cannot start."""

    exit_code = 1


class BadUsage(FakeAgentError):
    """The command line is not understood."""

    exit_code = 2


class BadScript(FakeAgentError):
    """A script or settings file is not what the documentation describes."""

    exit_code = 2


class NoConversation(FakeAgentError):
    """There is nothing to resume under that id."""
