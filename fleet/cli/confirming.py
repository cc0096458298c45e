"""Asking the operator about a repository's set-up file: shown in full, then y or N, on a terminal only."""

from __future__ import annotations

import sys

from fleet.cli import output
from fleet.errors import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from fleet.dispatch.dispatcher import Dispatched
    from fleet.model.orders import Order


def confirming(dispatch: Callable[[Order], Dispatched], order: Order) -> Dispatched:
    """
    Dispatch; when a set-up file waits for a yes, show it, ask, and dispatch again with exactly that file confirmed.

    Raises:
        Unconfirmed: nobody said yes.
    """
    try:
        return dispatch(order)
    except Refused as refusal:
        found = getattr(refusal, "recipe", None)
        if found is None or order.worktree is None:
            raise
        for line in found.lines():
            output.say(line)
        if not (sys.stdin.isatty() and sys.stderr.isatty()):
            raise
        sys.stderr.write("Do this in every new worktree of the repository, until the file changes? [y/N] ")
        sys.stderr.flush()
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise
        return dispatch(order._replace(worktree=order.worktree._replace(confirmed=found.digest)))
