"""The port `model.panes.Panes` on a real tmux server.

Sessions are made by libtmux, in one tmux command: new-session, remain-on-exit, our marks. So there is no moment at
which a session of ours stands without its mark, and a program that ends at once keeps its exit status (remain-on-exit
set by a second call loses it: 3.3a). A user's `destroy-unattached on` would end it with the command that made it.
Several arguments behind `--` are executed as they are: no shell, whatever default-shell is. libtmux 0.62: `Server.cmd`
passes `;` as the separator; its listings raise on panes that vanish meanwhile and come back empty when the server
cannot be asked, so looking is done by plain calls.

A session is as large as the client that was used last, whatever the user's window-size and aggressive-resize are:
220x50 until somebody attaches, then that client's size less its status line, then that of whichever client types;
when the last one detaches its size stays (3.3a, 3.5a, 3.8 alike).

Typing, measured on 3.3a, 3.5a and 3.8: `send-keys -l` eats a trailing `;` and is limited to 16 kB; a bracketed paste
from a buffer (load-buffer on standard input, paste-buffer -p -r -d) reaches Claude Code and Codex byte for byte. In
copy mode a paste reaches the program and `send-keys Enter` is lost, while a pasted carriage return submits and leaves
copy mode on: so Enter is pasted there. `-p` brackets where the program asked for it and the pane is in no mode,
without a word whether it did: `bracket_paste_flag` tells on 3.8, nothing does on 3.3a and 3.5a. 3.8 writes control
characters of a buffer as `^[` unless -S is given, which older versions do not know. A dead pane has no pane_pid on 3.8.
A window keeps the size of the last client that left it.
"""

from __future__ import annotations

import contextlib
import os

from fleet.clock import SystemClock
from fleet.errors import Unreachable
from fleet.formats.ids import id_of_session, session_name
from fleet.model.panes import Duplicate, Pane, Snapshot, Terminal, snapshot_of
from fleet.tmux.client import is_absent, is_no_server, word
from fleet.tmux.tty import terminal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fleet.clock import Clock
    from fleet.formats.states import Existence
    from fleet.tmux.client import Tmux

WIDTH, HEIGHT = 220, 50
LEAST_WIDTH, LEAST_HEIGHT = 80, 24  #: below, an engine's composer may not be recognised
ROOM_FORMAT = "#{session_attached} #{window_width} #{window_height}"
ENTER = b"\r"

#: What a client says that met a server just going away with its last session. Nothing was made then.
_GOING = "server exited unexpectedly"
GOING_TRIES, GOING_SECONDS = 10, 0.05

#: Free text last: a session name and a path may hold anything but a newline.
FORMAT = (
    "#{session_id}|#{window_id}|#{pane_id}|#{pane_pid}|#{pid}|#{pane_dead}|#{pane_dead_status}|#{pane_dead_signal}"
    "|#{pane_in_mode}|#{session_attached}|#{version}|#{@fleet_agent_id}|#{session_name}|#{@fleet_home}"
)


class TmuxPanes:
    """One tmux server."""

    def __init__(self, tmux: Tmux, clock: Clock | None = None) -> None:
        self.tmux = tmux
        self._clock = clock or SystemClock()
        self.socket = tmux.socket
        self._raw_flag = True  #: this tmux knows `paste-buffer -S`, as far as is known

    def snapshot(self) -> Snapshot:
        """One `list-panes -a`."""
        try:
            answer = self.tmux.ask("list-panes", "-a", "-F", FORMAT)
        except Unreachable as e:
            return Snapshot(error=str(e))
        if answer.status:
            return Snapshot() if is_no_server(answer.error) else Snapshot(error=answer.error.strip() or "tmux failed")
        return snapshot_of(parse(answer.out))

    def existence(self, session: str) -> Existence:
        """One `has-session` with an exact name."""
        return self.tmux.has_session(session)

    def open(self, agent_id: str, argv: Sequence[str], *, cwd: str, environment: Mapping[str, str]) -> Pane:
        """One chained tmux command, sent by libtmux."""
        import libtmux  # noqa: PLC0415  # 80 to 110 ms, paid only where a session is made

        name = session_name(agent_id)
        target = f"={name}:"
        pairs = [part for key, value in environment.items() for part in ("-e", f"{key}={value}")]
        binary = None if self.tmux.binary == "tmux" else self.tmux.binary
        server = libtmux.Server(socket_path=self.socket, tmux_bin=binary)
        command = (
            "new-session", "-d", "-P", "-F", FORMAT, "-s", name, "-x", str(WIDTH), "-y", str(HEIGHT),
            *map(word, ("-c", cwd, *pairs, "--", *argv)),
            ";", "set-option", "-t", target, "destroy-unattached", "off",
            ";", "set-option", "-w", "-t", target, "remain-on-exit", "on",
            ";", "set-option", "-w", "-t", target, "window-size", "latest",
            ";", "set-option", "-t", target, "@fleet_agent_id", agent_id,
            ";", "set-option", "-t", target, "@fleet_home", word(environment["FLEET_HOME"]),
        )  # fmt: skip
        answer = server.cmd(*command)
        for _ in range(GOING_TRIES):
            if not any(_GOING in line for line in answer.stderr):
                break
            self._clock.sleep(GOING_SECONDS)
            answer = server.cmd(*command)
        error = " ".join(answer.stderr)
        if "duplicate session" in error:
            raise Duplicate(f"tmux session {name} is there already")
        made = parse("\n".join(answer.stdout))
        if answer.returncode or not made:
            raise Unreachable(f"tmux new-session: {error or 'no answer'}")
        return made[0]

    def end(self, agent_id: str) -> None:
        """One `kill-session` with an exact name."""
        answer = self.tmux.ask("kill-session", "-t", f"={session_name(agent_id)}")
        if answer.status and not is_absent(answer.error):
            raise Unreachable(f"tmux kill-session: {answer.error.strip()}")

    def close(self, pane: Pane) -> None:
        """`kill-pane`, then the session's marks and name, in one tmux command that ends where the session does."""
        command = ["kill-pane", "-t", pane.pane_id]
        ours = pane.mark or id_of_session(pane.session)  # a pane just opened was looked at before it was marked
        if ours:
            for option in ("@fleet_agent_id", "@fleet_home"):
                command += [";", "set-option", "-u", "-t", pane.session_id, option]
        if ours and pane.session == session_name(ours):
            command += [";", "rename-session", "-t", pane.session_id, f"left-by-{ours}"]
        answer = self.tmux.ask(*command)
        if answer.status and not is_absent(answer.error):
            now = self.snapshot()  # the last pane takes its server along, and the rest of the command finds none
            if now.error or any(p.pane_id == pane.pane_id and p.server_pid == pane.server_pid for p in now.panes):
                raise Unreachable(f"tmux kill-pane: {answer.error.strip()}")

    def collect(self) -> None:
        """
        `run-shell -b`: the end of another child makes the server look at all of them.

        3.3a misses the end of a pane's program in 12 of 60 runs: the pane is dead, shows no "Pane is dead" and has no
        status until another child ends; this mended each of the 12.
        """
        with contextlib.suppress(Unreachable):
            self.tmux.ask("run-shell", "-b", "true")

    def capture(self, pane_id: str, *, styled: bool = False, history: int = 0) -> list[str]:
        """One `capture-pane`."""
        flags = ["-e"] if styled else []
        if history:
            flags += ["-S", f"-{history}"]
        lines = self.tmux.do("capture-pane", "-p", *flags, "-t", pane_id).split("\n")
        while lines and not lines[-1].strip():
            lines.pop()
        return lines

    def paste(self, pane_id: str, data: bytes, *, bracketed: bool = True) -> None:
        """`load-buffer` from standard input, then `paste-buffer`."""
        buffer = f"fleet-{os.getpid()}-{pane_id.lstrip('%')}"
        self.tmux.do("load-buffer", "-b", buffer, "-", text=data)
        flags = ["-p", "-r", "-d"] if bracketed else ["-r", "-d"]
        if self._raw_flag:
            answer = self.tmux.ask("paste-buffer", "-S", *flags, "-b", buffer, "-t", pane_id)
            if answer.status == 0:
                return
            self._raw_flag = "-S" not in answer.error
        self.tmux.do("paste-buffer", *flags, "-b", buffer, "-t", pane_id)

    def bracketed(self, pane_id: str) -> bool | None:
        """One `display-message`; 3.3a and 3.5a have no such format and print nothing."""
        return {"1": True, "0": False}.get(
            self.tmux.do("display-message", "-p", "-t", pane_id, "#{bracket_paste_flag}").strip()
        )

    def terminal(self, pane_id: str) -> Terminal:
        """One `display-message`, and a look at that terminal."""
        return terminal(self.tmux.do("display-message", "-p", "-t", pane_id, "#{pane_tty}").strip())

    def enter(self, pane_id: str) -> None:
        """`send-keys Enter`, or a pasted carriage return in copy mode."""
        if self.tmux.do("display-message", "-p", "-t", pane_id, "#{pane_in_mode}").strip() in ("", "0"):
            self.tmux.do("send-keys", "-t", pane_id, "Enter")
        else:
            self.paste(pane_id, ENTER, bracketed=False)

    def press(self, pane_id: str, key: str) -> None:
        """`send-keys`."""
        self.tmux.do("send-keys", "-t", pane_id, key)

    def size(self, pane_id: str) -> tuple[int, int]:
        """One `display-message`, which says nothing of a pane that is not there."""
        told = self.tmux.do("display-message", "-p", "-t", pane_id, "#{pane_width} #{pane_height}").split()
        if len(told) != 2:
            raise Unreachable(f"can't find pane: {pane_id}")
        return int(told[0]), int(told[1])

    def make_room(self, pane_id: str, *, full: bool = False) -> bool:
        """`resize-window`, which fixes the size, and then `window-size latest` again."""
        told = self.tmux.do("display-message", "-p", "-t", pane_id, ROOM_FORMAT).split()
        attached, width, height = (int(one) for one in told)
        least = (WIDTH, HEIGHT) if full else (LEAST_WIDTH, LEAST_HEIGHT)
        if attached or (width >= least[0] and height >= least[1]):
            return False
        self.tmux.do(
            "resize-window", "-t", pane_id, "-x", str(max(width, WIDTH)), "-y", str(max(height, HEIGHT)),
            ";", "set-option", "-w", "-t", pane_id, "window-size", "latest",
        )  # fmt: skip
        return True


def parse(text: str) -> tuple[Pane, ...]:
    """The panes in what tmux printed; a line that does not fit is passed over."""
    panes = []
    for line in text.splitlines():
        parts = line.split("|", FORMAT.count("|"))
        if len(parts) != FORMAT.count("|") + 1 or not (parts[3].isdigit() or (parts[3], parts[5]) == ("", "1")):
            continue
        panes.append(
            Pane(
                session_id=parts[0],
                window_id=parts[1],
                pane_id=parts[2],
                pid=int(parts[3] or 0),
                server_pid=int(parts[4] or 0),
                dead=parts[5] == "1",
                dead_status=_number(parts[6]),
                dead_signal=_number(parts[7]),
                in_mode=parts[8] not in ("", "0"),
                attached=int(parts[9] or 0),
                version=parts[10],
                mark=parts[11],
                session=parts[12],
                home=parts[13],
            )
        )
    return tuple(panes)


def _number(text: str) -> int | None:
    return int(text) if text.isdigit() else None
