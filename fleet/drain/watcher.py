"""File events as a wake-up: what changed under the watched folders since one last asked."""

from __future__ import annotations

import os
import threading

import watchfiles

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

DEBOUNCE_MS, STEP_MS, TIMEOUT_MS = 50, 50, 2000  #: at a step of 20 ms looking costs 0.3% of a core
FILE_STEP_MS = 200  #: for single files, of which nobody waits for a change: a thread that looks less often costs less


class Watcher:
    """Watches folders in a thread of its own, and single files in another."""

    def __init__(self, folders: Sequence[str], files: Sequence[str] = ()) -> None:
        """
        Args:
            files: each is watched by its folder, as it may be replaced or not be there yet.
        """  # noqa: D205  # the class says what it is
        self._folders = [folder for folder in folders if os.path.isdir(folder)]
        self._files = frozenset(files)
        self._stop = threading.Event()
        self._woken = threading.Event()
        self._lock = threading.Lock()
        self._changed: set[str] = set()
        self._threads = [threading.Thread(target=self._run, name="fleet-watcher", daemon=True)]
        if files:
            self._threads.append(threading.Thread(target=self._run_files, name="fleet-file-watcher", daemon=True))

    def __enter__(self) -> Watcher:  # noqa: PYI034  # never subclassed
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(TIMEOUT_MS / 1000)

    def _run(self) -> None:
        self._gather(
            watchfiles.watch(
                *self._folders, watch_filter=None, debounce=DEBOUNCE_MS, step=STEP_MS, stop_event=self._stop,
                rust_timeout=TIMEOUT_MS, yield_on_timeout=True, raise_interrupt=False,
            )
        )  # fmt: skip

    def _run_files(self) -> None:
        folders = {os.path.dirname(path) for path in self._files}
        self._gather(
            watchfiles.watch(
                *filter(os.path.isdir, folders), watch_filter=lambda _, path: path in self._files, recursive=False,
                debounce=2 * FILE_STEP_MS, step=FILE_STEP_MS, stop_event=self._stop, rust_timeout=TIMEOUT_MS,
                yield_on_timeout=True, raise_interrupt=False,
            )
        )  # fmt: skip

    def _gather(self, changes: Iterator[set[tuple[watchfiles.Change, str]]]) -> None:
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
