"""A person at a terminal: a real tmux client in a pseudo-terminal, its keys as bytes, its screen read back.

The terminal is a pane of another tmux server (the installed one), which is a faithful terminal emulator and no new
dependency: what is pasted there without brackets reaches the client's pseudo-terminal byte for byte.
"""

import os
import shutil
import subprocess
import tempfile
import time

PATIENCE_SECONDS = 20


class Terminal:
    """One terminal with one program in it."""

    def __init__(self, argv, *, env=None, width=100, height=30):
        self.folder = tempfile.mkdtemp(prefix="ft", dir="/tmp")
        self.socket = os.path.join(self.folder, "t")
        clean = {k: v for k, v in os.environ.items() if k not in ("TMUX", "TMUX_PANE")} | {"LANG": "C.UTF-8"}
        self._env = clean
        pairs = [part for k, v in (env or {}).items() for part in ("-e", f"{k}={v}")]
        # a shell between: the terminal's own TMUX and TERM are none of the program's business
        # before the program: one that is resized in its alternate screen may lose what stood on the other (3.3a)
        settings = os.path.join(self.folder, "conf")
        with open(settings, "w", encoding="utf-8") as f:
            f.write("set -g status off\nset -g remain-on-exit on\nset -g escape-time 0\n")
        self("-f", settings, "new-session", "-d", "-x", str(width), "-y", str(height), *pairs, "--",
             "env", "-u", "TMUX", "-u", "TMUX_PANE", "TERM=screen-256color", *(f"{k}={v}" for k, v in (env or {}).items()), *argv)  # fmt: skip
        self("set-option", "-g", "window-size", "manual", ";", "resize-window", "-x", str(width), "-y", str(height))

    def __call__(self, *args, stdin=None):
        done = subprocess.run(
            ["tmux", "-u", "-S", self.socket, *args], env=self._env, input=stdin, capture_output=True, timeout=20
        )
        assert done.returncode == 0, (args, done.stderr)
        return done.stdout.decode("utf-8", "replace")

    def keys(self, data):
        """Type *data* (text or bytes)."""
        raw = data if isinstance(data, bytes) else data.encode()
        self("load-buffer", "-b", "k", "-", stdin=raw)
        self("paste-buffer", "-r", "-d", "-b", "k")

    def resize(self, width, height):
        """Make the terminal another size."""
        self("resize-window", "-x", str(width), "-y", str(height))

    def screen(self):
        """What is to be seen."""
        return self("capture-pane", "-p")

    def dead(self):
        """Whether the program has ended."""
        return self("display-message", "-p", "#{pane_dead}").strip() == "1"

    def mode(self):
        """What a broken terminal would show: alternate screen, hidden cursor, mouse and keypad modes left on."""
        return self(
            "display-message", "-p", "#{alternate_on} #{cursor_flag} #{mouse_any_flag} #{keypad_cursor_flag}"
        ).strip()

    def until(self, condition, what, seconds=PATIENCE_SECONDS):
        """The first true value of *condition*, which gets the screen."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if value := condition(self.screen()):
                return value
            time.sleep(0.03)
        raise AssertionError(f"not within {seconds} s: {what}\n{self.screen()}")

    def shows(self, text, seconds=PATIENCE_SECONDS):
        """Wait until *text* is on the screen; the screen."""
        return self.until(lambda s: s if text in s else None, f"the screen shows {text!r}", seconds)

    def close(self):
        """End the terminal and the client in it."""
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True, timeout=20)
        shutil.rmtree(self.folder, ignore_errors=True)
