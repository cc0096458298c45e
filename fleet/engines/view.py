"""A plain screen taken apart, once for all rules: composer, paragraphs above it, dialog in its place. Pure."""

from __future__ import annotations

import re

from fleet.engines.dialog import PART_ONLY, has_marked, options_of, unframed
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from fleet.engines.dialog import Form, Options

LAST_LINES = 3
MOST_LINES = 300  #: of a screen, from the bottom; a longer one is nobody's terminal
TEXT_FROM = 3  #: the line of such a dialog in which its text begins: it asks, says of what, leaves one blank
_NUMBERED = re.compile(r"^\s*\d+ ")
LONGEST_PARAGRAPH = 26  #: lines of one that are looked at: a spinner stands above its list of tasks


class Place(NamedTuple):
    """How the place where a person types is found."""

    first: re.Pattern[str]
    top: re.Pattern[str] | None
    bottom: re.Pattern[str] | None
    more: re.Pattern[str] | None  #: how each further line of what is typed begins
    below: int | None  #: at most so many lines with text stand beneath it


class Window(NamedTuple):
    """The room that a client gives a dialog; a text that has more lines is cut without a word."""

    lines: int  #: from the line that asks to the options
    foot: int  #: blank lines above the options that are always there
    texts: re.Pattern[str] | None  #: the dialog's second line where a text belongs beneath it, which may come later
    numbered: re.Pattern[str] | None  #: the same where the client numbers its lines, and always fills the window

    def shows_part(self, lines: Sequence[str]) -> bool:
        """Whether there may be more: behind the window's end, where a blank line may be one of the text, or not yet."""
        heading = lines[1] if len(lines) > 1 else ""
        shown = "\n".join(lines).rstrip("\n").split("\n")
        text = shown[TEXT_FROM:]
        if self.numbered is not None and self.numbered.search(heading):
            counted = bool(text) and all(_NUMBERED.match(line) for line in text)
            return len(lines) < self.lines or not counted or len(lines) - len(shown) <= self.foot
        return len(lines) >= self.lines or (self.texts is not None and bool(self.texts.search(heading)) and not text)


class Extent(NamedTuple):
    """How far a dialog reaches."""

    edges: int = 1  #: that it has above its options
    begins: re.Pattern[str] | None = None  #: its first line, where it has no such edge
    window: Window | None = None  #: in which it may show a part only


class View:
    """A screen taken apart, once for all rules."""

    def __init__(self, text: str, title: str, composer: Place | None, passed_over: re.Pattern[str] | None) -> None:
        self.title = title
        self.lines = [line.rstrip() for line in text.rstrip().split("\n")[-MOST_LINES:]]
        self.start, self.end = _find(self.lines, composer) if composer else (None, None)
        has_top = self.start is not None and composer is not None and composer.top is not None
        self._upto = self.start - 1 if has_top and self.start else self.start
        self._edge = composer.top if composer else None
        self._passed_over = passed_over
        self._paragraphs: list[list[str]] | None = None
        self._rest: Iterator[list[str]] = iter(())
        self._options: dict[Form, Options] = {}

    def options(self, form: Form) -> Options:
        """The options that stand lowest in that form; looked for once, however many rules ask."""
        if form not in self._options:
            self._options[form] = options_of(form, self.lines)
        return self._options[form]

    def above(self, count: int) -> Iterable[str]:
        """The lines of the last *count* paragraphs above the composer, or above the end."""
        if self._paragraphs is None:
            self._paragraphs = []
            self._rest = self._split(self.lines[: self._upto])
        while len(self._paragraphs) < count and (paragraph := next(self._rest, None)) is not None:
            self._paragraphs.append(paragraph)
        return (line for paragraph in self._paragraphs[:count] for line in paragraph[-LONGEST_PARAGRAPH:])

    def _split(self, lines: list[str]) -> Iterator[list[str]]:
        """The paragraphs, last first, without those that tell nothing."""
        found: list[str] = []
        for line in [*reversed(lines), ""]:
            if line:
                found.append(line)
            elif found:
                found.reverse()
                if not (self._passed_over and self._passed_over.search(found[0])):
                    yield found
                found = []

    def below(self) -> Sequence[str]:
        """The lines beneath the composer."""
        return self.lines[self.end :] if self.end is not None else ()

    def last(self) -> Sequence[str]:
        """The last lines."""
        return self.lines[-LAST_LINES:]

    def tops(self, first: int, extent: Extent) -> list[int]:
        """
        Where the dialog whose rows begin at *first* may begin, the nearest first: beneath each edge above them.

        Of one that has no edge its first line; none where nothing tells. What stands above the nearest is never part of
        what asks; above the last of its edges it is the transcript, in which an agent may have printed anything.
        """
        upward = range(first - 1, -1, -1)
        if extent.begins is not None:
            return [i for i in upward if extent.begins.search(self.lines[i])][:1]
        return [i + 1 for i in upward if self._edge and self._edge.search(self.lines[i])][: extent.edges]

    def heading(self, first: int) -> str:
        """The first line of the dialog, or where nothing marks its edge of the paragraph above its rows at *first*."""
        if self.start is not None:
            return ""
        tops = self.tops(first, Extent())
        if tops:
            return next((line.strip() for line in self.lines[tops[0] :] if line.strip()), "")
        paragraph = next(iter(self._split(self.lines[:first])), [])
        return paragraph[0].strip() if paragraph and first < len(self.lines) else ""

    def dialog(self, asks: int, options: Options, question: re.Pattern[str], extent: Extent) -> str:
        """
        The lines of a dialog above its options: from its edge or its first line, or else from the line that asks.

        Where it cannot be known where it begins there are none: its first line or not all of its edges are to be seen,
        or without either another line asks as well, which may stand in the command that is asked about.
        """
        begin: int | None
        if extent.begins is not None or self._edge is not None:
            tops = self.tops(options.first(self.lines), extent)
            begin = tops[-1] if len(tops) == extent.edges else None
        else:
            begin = None if any(question.search(line) for line in self.lines[:asks]) else asks
        if begin is None:
            return ""
        lines = unframed(self.lines[begin : options.first(self.lines)], options.edge)
        part = [PART_ONLY] if extent.window is not None and extent.window.shows_part(lines) else []
        return "\n".join([*"\n".join(lines).strip("\n").split("\n"), *part])

    def typed(self) -> str:
        """What stands in the composer, without its glyph."""
        return "\n".join(self.lines[self.start : self.end])[1:].strip() if self.start is not None else ""


def _find(lines: list[str], composer: Place) -> tuple[int | None, int | None]:
    """
    The first line of the composer and the line after its last.

    Only the lowest place that looks like one is looked at, and it is none with a dialog beneath: what stands further up
    is in the transcript, or a frame that the client left there when it drew itself anew (after SIGCONT).
    """
    top = composer.top
    start = next(
        (
            i for i in range(len(lines) - 1, -1, -1)
            if composer.first.search(lines[i]) and (top is None or (i and top.search(lines[i - 1])))
        ),
        None,
    )  # fmt: skip
    if start is None:
        return None, None
    ends = composer.bottom.search if composer.bottom is not None else _is_blank
    end = next((i for i in range(start + 1, len(lines)) if ends(lines[i])), None)
    if end is None and composer.bottom is None:
        end = len(lines)
    if end is None or (composer.more is not None and not all(map(composer.more.search, lines[start + 1 : end]))):
        return None, None
    beneath = lines[end + 1 :]
    if has_marked(beneath) or (top is not None and any(map(top.search, beneath))):
        return None, None
    if composer.below is not None and sum(bool(line.strip()) for line in lines[end:]) > composer.below:
        return None, None
    return start, end


def _is_blank(line: str) -> bool:
    return not line.strip()
