"""One command of fleet that is killed before or after its Nth effect on worktrees and starts.

    python -m tests.worktrees.crashing N before|after ARGUMENTS OF FLEET...

The log (FLEET_CRASH_LOG) gets the name of every effect; a command that has fewer than N goes on to its end.
"""

import os
import shutil
import signal
import sys

LOOKS = ("rev-parse", "worktree list", "for-each-ref", "config", "remote", "symbolic-ref", "check-ref-format", "ls-tree",
         "cat-file", "merge-base", "rev-list", "status", "ls-files", "ls-remote", "check-ignore", "diff", "merge-tree", "reflog exists")  # fmt: skip


class Effects:
    """Counts effects and kills at the planned one."""

    def __init__(self, at, when):
        self.at, self.when, self.count = at, when, 0
        self.log = open(os.environ["FLEET_CRASH_LOG"], "a")  # noqa: SIM115

    def around(self, name, call):
        self.count += 1
        mine = self.count
        self.log.write(f"{mine} {name}\n")
        self.log.flush()
        if (mine, "before") == (self.at, self.when):
            os.kill(os.getpid(), signal.SIGKILL)
        try:
            return call()
        finally:
            if (mine, "after") == (self.at, self.when):
                os.kill(os.getpid(), signal.SIGKILL)

    def wrap(self, owner, name, called=None):
        real = getattr(owner, name)

        def wrapped(*args, **kwargs):
            return self.around(called or name, lambda: real(*args, **kwargs))

        setattr(owner, name, wrapped)

    def install(self):
        from fleet.dispatch.starter import Starter
        from fleet.formats import launch
        from fleet.git.runner import Git
        from fleet.store.agents import AgentStore
        from fleet.store.trees import TreeStore
        from fleet.worktree import settingup
        from fleet.worktree.bringing import Bringer

        for owner, name in ((TreeStore, "put"), (TreeStore, "forget"), (AgentStore, "add"), (AgentStore, "archive"), (Starter, "journal"),
                            (Starter, "hold"), (Starter, "release"), (launch, "remove"), (settingup, "run"), (Bringer, "bring"),
                            (shutil, "rmtree"), (os, "rmdir")):  # fmt: skip
            self.wrap(owner, name, f"{owner.__name__}.{name}")
        real = Git.ask

        def ask(git, *args, **kwargs):
            words = " ".join(a for a in args if not a.startswith("-") and "=" not in a)
            if words.startswith(LOOKS):
                return real(git, *args, **kwargs)
            return self.around(f"git {' '.join(words.split()[:2])}", lambda: real(git, *args, **kwargs))

        Git.ask = ask


if __name__ == "__main__":
    Effects(int(sys.argv[1]), sys.argv[2]).install()
    from fleet.cli.main import main

    sys.exit(main(sys.argv[3:]))
