"""Many questions to a tmux server in one call, each with its own answer; one that fails harms no other.

The questions go to `source-file -` by standard input. A chain of commands would end at the first that fails, and may
not be longer than 16 kB. 300 captures of 50 lines take 40 ms this way and 1.8 s one by one. Of larger batches the
server makes work that grows faster than they do (300 at once: 68 ms on 3.3a, 347 ms on 3.8), so they go by the hundred.

A lasting control-mode client would be cheaper, 3 ms instead of 8 for a listing of 300 panes. It is never used: it can
crash the server, and every agent goes with that (3.3a and 3.5a, within a second of clients that come and go). A
notification that comes up while such a client still connects is written to one that cannot take any; a session that is
destroyed under one that leaves is looked at once more.
"""

from __future__ import annotations

from fleet.errors import Unreachable
from fleet.formats.ids import new_uuid
from fleet.formats.tuples import NamedTuple
from fleet.tmux.client import is_no_server

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.tmux.client import Tmux

MOST_AT_ONCE = 100


class NoServer(Unreachable):
    """No tmux server runs on that socket."""


class Reply(NamedTuple):
    """What one question was answered with."""

    ok: bool  #: it printed something: nothing that is asked here succeeds without
    text: str  #: the lines; of one that failed, what tmux said of all that did


class Batch:
    """The server on one socket."""

    def __init__(self, tmux: Tmux) -> None:
        self._tmux = tmux
        self.server_pid = 0  #: of the server that answered last

    def ask(self, *questions: str) -> list[Reply]:
        """
        One reply a question, in order. A question is one line of tmux's command language that prints something.

        Raises:
            NoServer: there is certainly none on the socket; none is started.
            Unreachable: no answer to all of them.
        """
        replies: list[Reply] = []
        for at in range(0, len(questions), MOST_AT_ONCE):
            replies += self._ask(questions[at : at + MOST_AT_ONCE])
        return replies

    def _ask(self, questions: Sequence[str]) -> list[Reply]:
        mark = new_uuid()  # a screen may show any text, but not what is made up now
        lines = [f"display-message -p '{mark} #{{pid}}'"]
        for question in questions:
            lines += [question, f"display-message -p {mark}"]
        answer = self._tmux.ask("-N", "source-file", "-", text="".join(f"{line}\n" for line in lines).encode())
        _, *parts = answer.out.split(mark)
        if len(parts) != len(questions) + 1:
            error, told = answer.error.strip(), max(0, len(parts) - 1)
            if error:
                raise NoServer(error) if is_no_server(error) else Unreachable(error)
            raise Unreachable(f"tmux answered {told} of {len(questions)} questions")
        # Behind a mark stands the rest of its line, ` <pid>` or nothing, and then the next answer, whole lines.
        heads, texts = zip(*[part.partition("\n")[::2] for part in parts], strict=True)
        self.server_pid = int(heads[0])
        return [Reply(True, text[:-1]) if text else Reply(False, answer.error.strip()) for text in texts[:-1]]
