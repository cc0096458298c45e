"""File events as a wake-up: what changed under the watched folders since one last asked."""

from __future__ import annotations

import os
import threading

import watchfiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

DEBOUNCE_MS, STEP_MS, TIMEOUT_MS = 40, 10, 2000


class Watcher:
    """Watches folders in a thread of its own."""

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = [folder for folder in folders if os.path.isdir(folder)]
        self._stop = threading.Event()
        self._woken = threading.Event()
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._thread = threading.Thread(target=self._run, name="fleet-watcher", daemon=True)

    def __enter__(self) -> Watcher:  # noqa: PYI034  # never subclassed
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(TIMEOUT_MS / 1000)

    def _run(self) -> None:
        changes = watchfiles.watch(
            *self._folders, watch_filter=None, debounce=DEBOUNCE_MS, step=STEP_MS, stop_event=self._stop,
            rust_timeout=TIMEOUT_MS, yield_on_timeout=True, raise_interrupt=False,
        )  # fmt: skip
        try:
            for batch in changes:
                if batch:
                    with self._lock:
                        self._changed.update(path for _, path in batch)
                    self._woken.set()
        except (OSError, RuntimeError):
            return  # no more watches to be had: the slow poll goes on

    def wake(self) -> None:
        """End a wait from another thread or a signal handler."""
        self._woken.set()

    def wait(self, seconds: float) -> set[str]:
        """Sleep until something changes, at most *seconds*; the paths that changed."""
        self._woken.wait(seconds)
        self._woken.clear()
        with self._lock:
            changed, self._changed = self._changed, set()
        return changed
