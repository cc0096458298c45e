"""Reading a dialog's options and question from the lines of a screen, however narrow it is.

Most clients number them, one beneath the other. A client wraps a label where it has no room and sets an explanation
beside or beneath it; at 60 columns Claude Code (2.1.197) leaves out the blank behind a number. Other forms are data,
`forms` beside the rules: opencode (1.18.33) sets them side by side and marks the chosen one by its background alone.
"""

from __future__ import annotations

import re
from collections import Counter

from fleet.engines.screen import columns, within
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from fleet.engines.screen import Cell

LONGEST_GAP = 6  #: lines that may belong to one option
LONGEST_QUESTION = 4  #: lines of a wrapped question
_ROW = re.compile(r"^[\s│┃]*[❯›>●○•▶↓↑]?\s*(?P<number>\d{1,2})[.)]\s*(?P<label>\S.*?)[\s│┃]*$")
_MARKED = re.compile(r"^[\s│┃]*[❯›>●▶]\s*\d{1,2}[.)]")  #: the row that Enter would take
_TEXT = re.compile(r"[\s│┃]*[^\s─━╌│┃╭╮╰╯]")
LOWEST_LINES = 8  #: from the bottom, in which options stand that stand side by side
PART_ONLY = "[… the client shows a part only]"  #: put beneath a text that fills the client's window
_FRAME = re.compile(r"^\s*(?:[│┃] ?)+")
_BORDER = re.compile(r"^\s*[╭╰┌└][─━╌]+[╮╯┐┘]?$")
_COLUMN = re.compile(r"\s{2,}")  #: between a label and what explains it
#: What is drawn around a label and is no part of it: a check box, a tick, the key that chooses it.
_BOX = re.compile(r"^\[.\] |\s*✔$|\s*\((?:[a-z]|esc|tab|enter|(?:shift|ctrl|alt)\+\w+)\)$")


class Form(NamedTuple):
    """How the options of a dialog stand, how the one that Enter takes is marked, and which keys choose."""

    #: The line with all of them (group `options`); where it shows, the group `edge` stands where the dialog ends on
    #: the right, beside something else. None: a numbered list.
    line: re.Pattern[str] | None = None
    by_background: bool = False  #: the marked one has a background of its own, and no glyph before its number
    moves: tuple[str, str] = ("Up", "Down")  #: the keys that bring the mark to the one before and the one behind
    presses: tuple[tuple[str, str], ...] = ()  #: label and key, where each has one of its own and none is marked
    enlarges: tuple[str, str] | None = (
        None  #: what stands in that line while it can be drawn larger, and the key for it
    )

    def key_of(self, label: str) -> str | None:
        """The key that takes it; None where it is marked first."""
        return dict(self.presses).get(label)


LIST = Form()


class Option(NamedTuple):
    """One option on a screen."""

    label: str
    line: int
    start: int  #: in characters
    end: int


class Options(NamedTuple):
    """The options of one dialog, the first one first."""

    options: tuple[Option, ...] = ()
    edge: int | None = None  #: the columns of the dialog, where they show; right of it stands what is not its own
    enlarging: str | None = None  #: the key that draws it larger
    mixed: bool = False  #: other rows stand among or above these: which of them the client would take is not known

    @property
    def labels(self) -> tuple[str, ...]:
        """What they say."""
        return tuple(option.label for option in self.options)

    def first(self, lines: Sequence[str]) -> int:
        """The line on which they begin; the end where there are none."""
        return self.options[0].line if self.options else len(lines)


def options_of(form: Form, lines: Sequence[str], begin: int | None = None) -> Options:
    """The options that stand lowest on the screen in that form; of a list the first from *begin*, if that is known."""
    if form.line is None:
        listed, mixed = _listed(lines, begin)
        return Options(tuple(Option(label, at, 0, len(lines[at])) for at, label in listed), mixed=mixed)
    for at in range(len(lines) - 1, max(-1, len(lines) - 1 - LOWEST_LINES), -1):
        found = form.line.search(lines[at])
        if found is not None:
            begin = found.start("options")
            labels = re.finditer(r"\S+(?: \S+)*", found["options"])
            return Options(
                tuple(Option(one[0], at, begin + one.start(), begin + one.end()) for one in labels),
                columns(lines[at][: found.end("edge")]) if found.groupdict().get("edge") is not None else None,
                form.enlarges[1] if form.enlarges is not None and form.enlarges[0] in found[0] else None,
            )
    return Options()


def rows(lines: Sequence[str]) -> tuple[int, tuple[str, ...]]:
    """
    Where the last list with the numbers 1 to n begins, and its labels; no labels when there is none.

    What stands indented beneath a number belongs to it.
    """
    found = options_of(LIST, lines)
    return found.first(lines), found.labels


def marked(form: Form, options: Options, screen: Sequence[Sequence[Cell]]) -> int | None:
    """Which option Enter would take, from 0; None when that cannot be said of exactly one."""
    if options.mixed:
        return None
    if form.by_background:
        found = _with_own_background(options, screen)
    else:
        texts = ("".join(cell.char for cell in screen[option.line]) for option in options.options)
        found = [n for n, text in enumerate(texts) if _MARKED.match(text)]
    return found[0] if len(found) == 1 else None


def _with_own_background(options: Options, screen: Sequence[Sequence[Cell]]) -> list[int]:
    """Those whose background is not that of the line beside them; all where one has several (a frame half drawn)."""
    found = []
    for n, option in enumerate(options.options):
        row = screen[option.line]
        if options.edge is not None:
            row = row[: len(within("".join(cell.char for cell in row), options.edge))]
        boxed = {
            at for one in options.options for at in range(one.start - 1, one.end + 1)
        }  # a blank belongs to each end
        beside = Counter(cell.back for at, cell in enumerate(row) if at not in boxed).most_common(1)
        own = {cell.back for cell in row[option.start : option.end]}
        if len(own) != 1 or not beside:
            return list(range(len(options.options)))
        if own != {beside[0][0]}:
            found.append(n)
    return found


def unframed(lines: Sequence[str], edge: int | None) -> list[str]:
    """The lines of a dialog without what is drawn around them, and without what stands right of it."""
    found = []
    for line in lines:
        cut = line if edge is None else within(line, edge)
        frame = _FRAME.match(cut)
        text = cut
        if frame is not None:
            text = cut[frame.end() :].rstrip()
            for _ in range(frame[0].count("│")):
                text = text.removesuffix("│").rstrip()
        if not _BORDER.match(text):
            found.append(text.rstrip())
    return found


def has_marked(lines: Sequence[str]) -> bool:
    """Whether a row that is marked stands in those lines."""
    return any(map(_MARKED.match, lines))


def begins_list(lines: Sequence[str]) -> bool:
    """Whether a list begins in those lines, or a row in them is marked."""
    rows_ = filter(None, map(_ROW.match, lines))
    return has_marked(lines) or any(found["number"] == "1" for found in rows_)


def _listed(lines: Sequence[str], begin: int | None) -> tuple[list[tuple[int, str]], bool]:
    """
    The line on which each row of the list begins, and its label; whether another row stands among or beneath them.

    What explains an option may be a list itself. A client sets its numbers in one column, and what explains them not.
    """
    matches = {i: found for i, line in enumerate(lines) if (found := _ROW.match(line))}
    starts = [i for i, found in matches.items() if found["number"] == "1"]
    if not starts:
        return [], False
    width = max(len(line) for line in lines)
    labels: list[str] = []
    places: list[int] = []
    start = starts[-1] if begin is None else next(i for i in starts if i >= begin)
    gap, full, column = 0, False, 0
    left, right = matches[start].span("number")
    own = {i for i, found in matches.items() if found.start("number") == left or found.end("number") == right}
    for i in range(start, len(lines)):
        found = matches.get(i)
        if found is not None and i in own and int(found["number"]) == len(labels) + 1:
            labels.append(_COLUMN.split(found["label"])[0])
            places.append(i)
            gap, full, column = 0, True, found.start("number")
        elif full and _is_beneath(lines[i], column) and _would_not_fit(lines[i - 1], lines[i], width):
            labels[-1] += " " + lines[i].strip(" │┃")
        else:
            gap, full = gap + 1, False
            if gap > LONGEST_GAP:
                break
    mixed = any(i > start and i not in places for i in matches)
    return [(at, " ".join(_BOX.sub("", label).split())) for at, label in zip(places, labels, strict=True)], mixed


def _is_beneath(line: str, column: int) -> bool:
    """Whether its text begins right of a row's number: what begins left of that is the client's own line."""
    found = _TEXT.match(line)
    return found is not None and found.end() - 1 > column


def _would_not_fit(line: str, following: str, width: int) -> bool:
    """Whether *following* can only be the rest of *line*, which had no room for its first word."""
    return len(line) + 1 + len(following.split(maxsplit=1)[0]) > width - 2


def question_from(lines: Sequence[str], pattern: re.Pattern[str]) -> str:
    """The question that begins in the first line, with what it was wrapped into."""
    begin = pattern.search(lines[0])
    found: list[str] = []
    for line in lines[:LONGEST_QUESTION]:
        if not line.strip():
            break
        found.append((line if found or begin is None else line[begin.start() :]).strip(" │┃"))
        if "?" in line or line.rstrip().endswith(":"):
            break
    words = " ".join(found)
    return words[: words.index("?") + 1] if "?" in words else found[0] if found else ""
