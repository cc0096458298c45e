"""Asking the remote beside the rest of a dispatch: begun early, waited for where it is needed, or called off."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Self

from fleet.git.base import choose
from fleet.git.runner import Leash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType

    from fleet.clock import Clock
    from fleet.git.base import Base
    from fleet.git.runner import Git


class Fetching:
    """Finds out where a branch starts that is not there yet. A context manager: at its end nothing of it runs on."""

    def __init__(self, git: Git, branch: str, clock: Clock, seconds: float) -> None:
        """Begin. Arguments as of `git.base.choose`; *seconds* count from now."""
        self._leash = Leash()
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="fleet-fetch")
        self._base = self._pool.submit(choose, git.on(self._leash), branch, clock, seconds)

    def base(self) -> Base:
        """Wait for the answer; what `choose` returns and raises."""
        return self._base.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._leash.end()
        self._pool.shutdown(wait=True)
