"""One tmux server by its socket, asked by plain subprocess calls with a deadline.

Measured on 3.3a, 3.5a and 3.8: exit status 1 means both "no such session" and "could not connect", so the text on
standard error decides; anything unknown is "could not look". A client whose locale is not UTF-8 gets every control
character of a format replaced, so fields are separated by `|` with free text last, and -u is always given. Targets
are ids or `=name:`; a bare name is matched by prefix. `kill-session -t ""` kills some session: never an empty target.
A whole command over 16 kB is refused; text goes by load-buffer on standard input.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import shutil
import stat
import subprocess

from fleet.errors import EnvironmentMissing, Unreachable
from fleet.formats.atomic import ensure_dir
from fleet.formats.states import Existence
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

OLDEST = (3, 2)
SOCKET_PATH_BYTES = 103  #: macOS allows 104 with the closing NUL, Linux 108
TIMEOUT_SECONDS = 10.0

_NO_SESSION = re.compile(r"can't find (?:session|window|pane)|no such session|session not found")
_NO_SERVER = re.compile(
    r"no server running on|error connecting to .*\((?:No such file or directory|Connection refused)\)"
)


def default_socket(environ: dict[str, str]) -> str:
    """The socket of the user's default server."""
    folder = environ.get("TMUX_TMPDIR") or "/tmp"  # noqa: S108  # where tmux itself puts it
    return os.path.join(os.path.realpath(folder), f"tmux-{os.getuid()}", "default")


class Answer(NamedTuple):
    """What one tmux call said."""

    status: int
    out: str
    error: str


class Tmux:
    """The server on one socket."""

    def __init__(self, socket: str, *, binary: str = "tmux", timeout_seconds: float = TIMEOUT_SECONDS) -> None:
        self.socket = socket
        self.binary = binary
        self._timeout = timeout_seconds

    def argv(self, *args: str) -> list[str]:
        """The command line of one call."""
        return [self.binary, "-u", "-S", self.socket, *args]

    def ask(self, *args: str, text: bytes | None = None) -> Answer:
        """
        One call; *text* goes to its standard input.

        Raises:
            EnvironmentMissing: there is no tmux.
            Unreachable: no answer within the deadline.
        """
        try:
            done = subprocess.run(
                self.argv(*args), input=text, stdin=None if text is not None else subprocess.DEVNULL,
                capture_output=True, timeout=self._timeout, check=False, env=environment(),
            )  # fmt: skip
        except FileNotFoundError as e:
            raise missing() from e
        except subprocess.TimeoutExpired as e:
            raise Unreachable(f"tmux did not answer within {self._timeout:g} s ({args[0]})") from e
        return Answer(done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace"))

    def ask_bytes(self, *args: str) -> bytes | None:
        """What one call printed, byte for byte; None when it failed."""
        try:
            done = subprocess.run(
                self.argv(*args), stdin=subprocess.DEVNULL, capture_output=True, timeout=self._timeout, check=False,
                env=environment(),
            )  # fmt: skip
        except (FileNotFoundError, subprocess.TimeoutExpired):
            return None
        return None if done.returncode else done.stdout

    def do(self, *args: str, text: bytes | None = None) -> str:
        """
        One call that must succeed; what it printed.

        Raises:
            Unreachable: it did not.
        """
        answer = self.ask(*args, text=text)
        if answer.status:
            raise Unreachable(f"tmux {args[0]}: {answer.error.strip() or f'exit status {answer.status}'}")
        return answer.out

    def has_session(self, name: str) -> Existence:
        """Whether a session has exactly that name."""
        try:
            answer = self.ask("has-session", "-t", f"={name}")
        except Unreachable:
            return Existence.UNKNOWN
        if answer.status == 0:
            return Existence.ALIVE
        return Existence.GONE if is_absent(answer.error) else Existence.UNKNOWN


def word(text: str) -> str:
    """An argument of a tmux command that means itself: one that ends in `;` would end the command."""
    return text[:-1] + "\\;" if text.endswith(";") else text


def is_absent(error: str) -> bool:
    """Whether *error* says for certain that the session or its server is not there."""
    return bool(_NO_SESSION.search(error) or _NO_SERVER.search(error))


def is_no_server(error: str) -> bool:
    """Whether *error* says for certain that no server runs on the socket."""
    return bool(_NO_SERVER.search(error))


def environment() -> dict[str, str]:
    """What tmux's clients are run with."""
    # Inside tmux a client refuses some commands and prefers $TMUX's server; fleet always names its socket.
    return {k: v for k, v in os.environ.items() if k not in ("TMUX", "TMUX_PANE")}


def missing() -> EnvironmentMissing:
    """The error for a machine without tmux."""
    return EnvironmentMissing("tmux is not installed", hint="install tmux 3.2 or newer with your package manager")


def check_version(binary: str = "tmux", server: str | None = None) -> str:
    """
    tmux's version, "3.3a".

    Args:
        server: what a running server says of itself; without one the binary is asked.

    Raises:
        EnvironmentMissing: there is no tmux, or it is older than 3.2. A version that cannot be read passes.
    """
    return _check(server or _ask_version(binary))


def _check(version: str) -> str:
    found = re.search(r"(\d+)\.(\d+)", version)
    if found and (int(found[1]), int(found[2])) < OLDEST:
        raise EnvironmentMissing(f"tmux {version} is too old", hint="fleet needs tmux 3.2 or newer")
    return version


def _ask_version(binary: str) -> str:
    found = shutil.which(binary)
    if found is None:
        raise missing()
    return _version_of(found, os.stat(found).st_mtime_ns)


@functools.lru_cache(4)
def _version_of(path: str, _changed_at: int) -> str:
    """What one program says of itself, as long as it is that one: a row of dispatches asks once."""
    try:
        done = subprocess.run([path, "-V"], capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as e:
        raise Unreachable(f"tmux -V did not answer: {e}") from e
    return done.stdout.strip().removeprefix("tmux ")


def check_socket(socket: str) -> None:
    """
    Refuse what can be no socket.

    Raises:
        EnvironmentMissing: it is too long, or something else stands there: tmux would put its socket in a file's place.
    """
    if len(os.fsencode(socket)) > SOCKET_PATH_BYTES:
        raise EnvironmentMissing(
            f"the tmux socket path is too long ({len(os.fsencode(socket))} bytes): {socket}",
            hint=f"name one of at most {SOCKET_PATH_BYTES} bytes with FLEET_TMUX_SOCKET",
        )
    try:
        mode = os.stat(socket).st_mode
    except OSError:
        return  # there is none yet, or tmux says what is wrong with it
    if not stat.S_ISSOCK(mode):
        raise EnvironmentMissing(f"no tmux socket: {socket} is something else", hint="name one with FLEET_TMUX_SOCKET")


def make_folder(socket: str) -> Callable[[], None]:
    """
    Make the socket's folder when it is missing; what takes that back, as long as nothing else is there.

    Raises:
        EnvironmentMissing: it cannot be made.
    """
    folder, missing_ones = os.path.dirname(socket), []
    while folder and not os.path.lexists(folder):
        missing_ones.append(folder)
        folder = os.path.dirname(folder)
    try:
        ensure_dir(os.path.dirname(socket))
    except OSError as e:
        raise EnvironmentMissing(f"cannot make the tmux socket's folder {os.path.dirname(socket)}: {e.strerror}") from e

    def take_back() -> None:
        with contextlib.suppress(OSError):
            for one in missing_ones:
                os.rmdir(one)

    return take_back
