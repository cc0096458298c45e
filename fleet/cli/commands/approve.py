"""Answer an agent's permission, trust or plan question with yes, or any of its questions with the option that you name.

examples:
  fleet approve fix-login
  fleet approve fix-login "Yes, allow all"      an option by its label, or a unique beginning of it
  fleet approve fix-login SQLite                the answer to a question with a choice
  fleet approve fix-login --dialog 1f2e3d4c5b6a    only if it still is the one that `fleet approvals` showed

The answer is given once, to the row with that label, after a last look; events keep who answered what. With --dialog a
second run answers nothing, also when the agent asks the same again.

Exit code 0: it went; 1: no such dialog any more, or it cannot be read; 4: no such agent or option; 6: pressed, and it
is still there.
"""

from __future__ import annotations

from fleet.cli.answering import declare, give

TYPE_CHECKING = False
if TYPE_CHECKING:
    import argparse

    from fleet.app import Fleet


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    declare(parser)


def run(args: argparse.Namespace, fleet: Fleet) -> int:
    """Approve."""
    return give(args, fleet, "approve")
