r"""An open dialog as something to be answered: what names it, which row means what. Pure.

A row is meant by its label, never by its place. Which dialogs are answered at all, and which labels say yes and no
without more, is data: `screen.answers` in config/engines/<engine>.yaml, by rule.

    answers:
      permission: {approve: ['Yes'], deny: ['No'], cut: ['^\[… \d+ lines\]']}
      question: {choice: true, entries: ['Type something.']}     # any label is an answer, and none of them says yes
      questions: {pane: it asks several questions at once}       # why it is answered in its pane

Its fingerprint is of its words. Its name, which people copy from a list, is also of the agent and of the last time that
fleet set out to answer such a dialog there: under one name nothing is pressed twice, whatever reads alike later.
"""

from __future__ import annotations

import hashlib
import re

from fleet.engines.dialog import LIST, PART_ONLY, Form, marked
from fleet.engines.screen import cells, plain
from fleet.engines.view import MOST_LINES
from fleet.errors import Ambiguous, NotFound, Refused
from fleet.formats.enums import StrEnum
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from typing import Any

    from fleet.engines.rules import Rules

LEAST_COLUMNS = 80  #: at 60 Claude Code (2.1.197) draws some dialogs over each other
ANSWERED = "DialogAnswered"  #: the event: before a key is pressed, and again with what came of it
INTENDS = "about to "  #: what the first one's result begins with
UNCONFIRMED = "unconfirmed"  #: the second one's, when the dialog did not go
_SAYS_NOTHING = frozenset({"Notification", "HookActed"})  #: what hooks report while a dialog is open
_DRAWN = re.compile(r"[\s\u2500-\u257f╌]+")


class Verdict(StrEnum):
    """What the operator says."""

    APPROVE = "approve"
    DENY = "deny"


class Answers(NamedTuple):
    """What is known of the dialogs of one rule."""

    approve: tuple[str, ...] = ()  #: labels that mean yes, this once
    deny: tuple[str, ...] = ()  #: labels that mean no
    cut: tuple[str, ...] = ()  #: patterns of the lines by which the client says that it shows a part only
    entries: tuple[str, ...] = ()  #: labels that are no answer: they ask for a text
    choice: bool = False  #: its labels are answers, and none of them means yes or no
    pane: str = ""  #: why it is answered in its pane only

    def default(self, verdict: Verdict, labels: Sequence[str]) -> str | None:
        """The label that says so without more; None when there is none, or more than one."""
        known = {one.casefold() for one in (self.approve if verdict == Verdict.APPROVE else self.deny)}
        found = [label for label in labels if label.casefold() in known]
        return found[0] if len(found) == 1 else None

    def is_entry(self, label: str) -> bool:
        """Whether it asks for a text."""
        return label.casefold() in {one.casefold() for one in self.entries}

    def can_read(self, dialog: Dialog) -> bool:
        """Whether it is whole and hides nothing: nobody says yes to what was not shown."""
        lines = dialog.detail.splitlines()
        cut = (re.escape(PART_ONLY), *self.cut)
        return dialog.is_whole and not any(re.search(pattern, line) for pattern in cut for line in lines)


class Dialog(NamedTuple):
    """A dialog as it stands on a screen."""

    print: str  #: its fingerprint: the same for the same text and rows at one width
    rule: str  #: without the engine
    question: str
    detail: str
    labels: tuple[str, ...]
    marked: int | None = None  #: the row that Enter would take, from 0
    form: Form = LIST  #: how the rows stand
    enlarging: str | None = None  #: the key that gives it more room, where it has one

    @property
    def is_whole(self) -> bool:
        """Whether what it is about stands above its rows, and every row is told apart from every other."""
        about = _squeezed(self.detail).replace(_squeezed(self.question), "")
        return bool(about) and len(self.labels) > 1 and len({one.casefold() for one in self.labels}) == len(self.labels)


def answers_of(screen: Mapping[str, Any]) -> dict[str, Answers]:
    """What config/engines/<engine>.yaml says under `screen.answers`, by rule."""
    data = screen.get("answers")
    return {str(rule): _answers(row) for rule, row in data.items()} if isinstance(data, dict) else {}


def _answers(row: Mapping[str, Any]) -> Answers:
    lists = {key: tuple(map(str, row.get(key) or ())) for key in ("approve", "deny", "cut", "entries")}
    return Answers(**lists, choice=row.get("choice") is True, pane=str(row.get("pane") or ""))


def name_of(agent_id: str, print_: str, newest_first: Iterable[Mapping[str, Any]]) -> str:
    """What the dialog with that fingerprint is called now, after those events of the agent; twelve hex digits."""
    intended = (
        str(event.get("ts")) for event in newest_first
        if event.get("event") == ANSWERED and event.get("fingerprint") == print_
        and str(event.get("result")).startswith(INTENDS)
    )  # fmt: skip
    return fingerprint(agent_id, print_, (next(intended, ""),))


def is_pending(print_: str, newest_first: Iterable[Mapping[str, Any]]) -> bool:
    """
    Whether that dialog was answered before and nothing tells that its client has read the key.

    A client that stands still reads it later: a second key would then answer whatever is open by then.
    """
    for event in newest_first:
        if event.get("source") == "hook" and event.get("event") not in _SAYS_NOTHING:
            return False  # the agent has gone on since
        if event.get("event") == ANSWERED and event.get("fingerprint") == print_:
            return event.get("result") == UNCONFIRMED or str(event.get("result")).startswith(INTENDS)
    return False


def fingerprint(question: str, detail: str, labels: Sequence[str]) -> str:
    """
    Twelve hex digits for what a dialog says, as its lines stand.

    Every blank counts, so that `rm -rf ./x` is not `rm -rf . /x`. Where a client has wrapped a line cannot be undone
    surely (with or without a blank?), so the same dialog at another width is another one: whoever asked looks again.
    """
    lines = ["\n".join(line.rstrip() for line in part.splitlines()) for part in (question, detail, *labels)]
    text = "\0".join(lines)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:12]


def dialog_on(rules: Rules, lines: Sequence[str], version: str | None = None) -> Dialog | None:
    """The dialog that a styled screen shows to that version's rules; None when it shows none with rows."""
    screen = cells(list(lines))[-MOST_LINES:]
    reading = rules.read("\n".join(plain(row) for row in screen), version=version)
    if not reading.options or reading.rule is None:
        return None
    return Dialog(
        fingerprint(reading.question, reading.detail, reading.options), reading.rule.partition("/")[2],
        reading.question, reading.detail, reading.options, marked(reading.form, reading.places, screen), reading.form,
        reading.places.enlarging,
    )  # fmt: skip


def shows_call(dialog: Dialog, tool: str, given: Mapping[str, Any]) -> bool:
    """
    Whether a dialog is surely about that call of a tool: it shows its command or its plan from end to end.

    Claude Code (2.1.197) shows the newest of several questions of its subagents and asks the hooks of all of them. Of
    other calls (an edit, a page to be fetched) it shows a rendering or a part, which two of them may have in common.
    """
    about = dialog.detail.replace(dialog.question, "").strip("\n").splitlines()
    if tool == "Bash":  # its heading, the command as it was wrapped, what the model says about it
        shown = filter(None, (re.escape(line.strip()) for line in about[1:]))
        said = f"{given.get('command') or ''}\n{given.get('description') or ''}"
        return bool(given.get("command")) and re.fullmatch(r"\s*".join(shown), said.strip()) is not None
    plan = _words(str(given.get("plan") or ""))  # its client draws the marks of Markdown as something else
    return tool == "ExitPlanMode" and bool(plan) and _words("".join(about[:-1])).endswith(plan)


def chosen(dialog: Dialog, answers: Answers, verdict: Verdict, wanted: str | None) -> int:
    """
    The row that is meant: by its whole label, by a unique beginning of it, or by what says yes or no without more.

    Raises:
        NotFound: no row has such a label.
        Ambiguous: several begin so.
        Refused: nothing was named, and nothing says so without more; or no answer can be given so.
    """
    shown = "; ".join(label for label in dialog.labels if not answers.is_entry(label))
    if answers.choice and verdict == Verdict.DENY:
        raise Refused("a question with a choice of answers is not denied", hint=f"name one to `fleet approve`: {shown}")
    if wanted is None:
        label = answers.default(verdict, dialog.labels)
        if label is None:
            raise Refused(f"no option of this dialog simply means {verdict}", hint=f"name one: {shown}")
        return dialog.labels.index(label)
    word = " ".join(wanted.split()).casefold()
    same = [n for n, label in enumerate(dialog.labels) if label.casefold() == word]
    found = same or [n for n, label in enumerate(dialog.labels) if word and label.casefold().startswith(word)]
    if not found:
        raise NotFound(f"no option begins with {wanted!r}", hint=shown)
    if len(found) > 1:
        raise Ambiguous(f"several options begin with {wanted!r}", hint=shown)
    if answers.is_entry(dialog.labels[found[0]]):
        raise Refused(f"{dialog.labels[found[0]]!r} asks for a text", hint="write it in its pane, or name an answer")
    return found[0]


def _words(text: str) -> str:
    return "".join(filter(str.isalnum, text))


def _squeezed(text: str) -> str:
    return _DRAWN.sub("", text)
