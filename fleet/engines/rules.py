r"""What a screen shows, by rules that are data: `screen` in config/engines/<engine>.yaml. Pure.

    screen:
      measured_with: "2.1.197"
      composer: {top: '^─{10}', first: '^> ', bottom: '^─{10}', more: '^  '}   # where a person types
      passed_over: ['^✻ \w+ for ']          # paragraphs above the composer that tell nothing
      volatile: ['^[·✢✳] .*…']               # what changes although nothing happens: spinners, clocks, counters
      milestone: '^ *(?:● )?MILESTONE *$'     # a marker that the agent printed
      rules:                                  # the first that fits wins, so waiting stands before working
        - {rule: working, turn: working, composer: true, above: '^[·✢✳] .*…'}
        - {rule: permission, turn: waiting, reason: permission, composer: false, question: '^ ?Do you want to ',
           options: true, last: 'Esc to cancel'}

A rule holds when all that it names is so; every pattern is searched in single lines of the visible screen, never in the
scrollback, so that no screen can cost more than its lines:

    composer   whether the composer stands on the screen: what an agent wrote stands above it, a dialog in its place
    above      a line of the last paragraph above the composer (of the last `paragraphs`)
    below      a line beneath the composer
    last       a line of the last three
    title      the pane's title, where it is known
    lines      one line each, from the top down, anywhere above the end
    question   the line that asks, with what it was wrapped into, beneath the dialog's edge; without it a dialog is
               named by its first line. Where no edge shows, the whole screen is searched: it has to be anchored
    edges      how many edges a dialog has above its rows, when more than one: a plan stands above the question about it
    head       the first line of the dialog, beneath its edge; without an edge in sight, of the screen
    begins     the first line of a dialog that has no such edge; it cannot stand in the text that is asked about
    window     {lines, foot, texts, numbered}: the client shows at most so many lines of a dialog (`view.Window`)
    options    true: rows with the numbers 1 to n stand at the bottom; or the name of one of `forms`
    versions   of the engine, as in ">=2.1, <3"; without a known version all rules are tried, in their order

`forms` says how options stand that are no numbered list (`dialog.Form`):

      forms:
        across:                               # side by side, the marked one by its background
          {line: '^ *┃ +(?P<options>Yes +No) +.*enter confirm(?P<edge>)', marked: background, moves: [Left, Right],
           enlarges: {ctrl+f fullscreen: C-f}}
        keys: {line: '(?P<options>enter confirm {2,}esc cancel)', presses: {enter confirm: Enter, esc cancel: Escape}}

A named group tells more: `background` is a count. What stands in the composer is told too; whether it was typed or is
a placeholder only a styled capture tells.
"""

from __future__ import annotations

import hashlib
import re

from fleet.engines.dialog import LIST, Form, Options, begins_list, options_of, question_from
from fleet.engines.view import Extent, Place, View, Window
from fleet.errors import UsageError
from fleet.formats.states import Reason, Turn
from fleet.formats.tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

EVIDENCE_CHARACTERS = 200
_COMPARISON = re.compile(r"(>=|<=|==|<|>)?\s*(\d+(?:\.\d+)*)")
_PATTERNS = ("above", "below", "last", "title", "question", "head")
_KEYS = frozenset(
    {"rule", "turn", "reason", "versions", "composer", "options", "paragraphs", "edges", "begins", "window", "lines",
     *_PATTERNS}
)  # fmt: skip


class Rule(NamedTuple):
    """One thing that a screen may show."""

    name: str
    turn: Turn
    reason: Reason | None
    versions: str
    composer: bool | None
    above: re.Pattern[str] | None
    below: re.Pattern[str] | None
    last: re.Pattern[str] | None
    title: re.Pattern[str] | None
    question: re.Pattern[str] | None
    head: re.Pattern[str] | None
    lines: tuple[re.Pattern[str], ...]
    options: Form | None
    paragraphs: int
    extent: Extent


class Reading(NamedTuple):
    """What a screen shows."""

    rule: str | None = None  #: None: nothing was recognised
    turn: Turn | None = None
    reason: Reason | None = None
    evidence: str = ""  #: the line that told
    question: str = ""  #: what an open dialog asks
    options: tuple[str, ...] = ()  #: the labels of its rows, top first
    detail: str = ""  #: the lines of the dialog above its rows; of a limit or a lost login, all that was said
    background: int | None = None  #: background work that the screen names
    typed: str = ""  #: what stands in the composer, placeholder or not
    form: Form = LIST  #: how its options stand
    places: Options = Options()  #: where


class Rules:
    """The rules of one engine."""

    def __init__(self, engine: str, data: Mapping[str, Any]) -> None:
        """Raises UsageError: a rule is not what it should be; names it."""
        self._engine = engine
        self.measured_with = str(data.get("measured_with") or "")
        place = data.get("composer")
        self._composer = self._place(place) if isinstance(place, dict) else None
        self._passed_over = self._any("passed_over", data)
        self._volatile = self._any("volatile", data)
        self._by_version: dict[str | None, tuple[Rule, ...]] = {}
        self._milestone = self._compiled("milestone", data.get("milestone"))
        self._forms = {"true": LIST} | {str(k): self._form(k, v) for k, v in (data.get("forms") or {}).items()}
        self.rules = tuple(self._rule(row) for row in data.get("rules") or ())

    def _place(self, data: Mapping[str, Any]) -> Place:
        first = self._compiled("composer", data.get("first"))
        if first is None:
            raise self._wrong("composer", "it needs `first`")
        below = data.get("below")
        return Place(
            first, self._compiled("composer", data.get("top")), self._compiled("composer", data.get("bottom")),
            self._compiled("composer", data.get("more")), below if isinstance(below, int) else None,
        )  # fmt: skip

    def _form(self, name: str, data: Mapping[str, Any]) -> Form:
        line = self._needed(name, data.get("line"))
        if "options" not in line.groupindex:
            raise self._wrong(name, "its line needs a group `options`")
        before, behind = data.get("moves") or ("", "")
        presses = tuple((str(label), str(key)) for label, key in (data.get("presses") or {}).items())
        enlarges = next(((str(hint), str(key)) for hint, key in (data.get("enlarges") or {}).items()), None)
        return Form(line, data.get("marked") == "background", (str(before), str(behind)), presses, enlarges)

    def _extent(self, name: str, row: Mapping[str, Any]) -> Extent:
        window = row.get("window")
        room = window and Window(
            int(window["lines"]), int(window["foot"]), self._compiled(name, window.get("texts")),
            self._compiled(name, window.get("numbered")),
        )  # fmt: skip
        return Extent(int(row.get("edges") or 1), self._compiled(name, row.get("begins")), room)

    def _rule(self, row: Any) -> Rule:
        if not isinstance(row, dict) or not {"rule", "turn"} <= set(row) <= _KEYS:
            raise self._wrong(str(row), f"it needs rule and turn, and may have {', '.join(sorted(_KEYS))}")
        name = str(row["rule"])
        try:
            turn, reason = Turn(row["turn"]), Reason(row["reason"]) if row.get("reason") else None
        except ValueError as e:
            raise self._wrong(name, str(e)) from e
        if turn == Turn.WAITING and reason is None:
            raise self._wrong(name, "waiting needs a reason")
        lines = tuple(self._needed(name, one) for one in row.get("lines") or ())
        form = "true" if row.get("options") is True else str(row.get("options") or "")
        if form and form not in self._forms:
            raise self._wrong(name, f"there is no form {form!r}")
        above, below, last, title, question, head = (self._compiled(name, row.get(key)) for key in _PATTERNS)
        return Rule(
            name, turn, reason, str(row.get("versions") or ""), row.get("composer"), above, below, last, title,
            question, head, lines, self._forms.get(form), int(row.get("paragraphs") or 1), self._extent(name, row),
        )  # fmt: skip

    def _any(self, key: str, data: Mapping[str, Any]) -> re.Pattern[str] | None:
        texts = [str(one) for one in data.get(key) or ()]
        return self._compiled(key, "|".join(f"(?:{one})" for one in texts)) if texts else None

    def _needed(self, name: str, text: object) -> re.Pattern[str]:
        found = self._compiled(name, text)
        if found is None:
            raise self._wrong(name, "a pattern is empty")
        return found

    def _compiled(self, name: str, text: object) -> re.Pattern[str] | None:
        try:
            return re.compile(str(text), re.MULTILINE) if text else None
        except re.error as e:
            raise self._wrong(name, str(e)) from e

    def _wrong(self, name: str, why: str) -> UsageError:
        return UsageError(f"config/engines/{self._engine}.yaml: screen rule {name}: {why}")

    def for_version(self, version: str | None) -> tuple[Rule, ...]:
        """The rules that hold for that version; all of them for one that is not known."""
        if version not in self._by_version:
            known = (rule for rule in self.rules if version is None or holds(rule.versions, version))
            self._by_version[version] = tuple(known)
        return self._by_version[version]

    def read(self, text: str, *, title: str = "", version: str | None = None) -> Reading:
        """What *text*, the plain visible lines, and the pane's *title* show."""
        screen = View(text, title, self._composer, self._passed_over)
        for rule in self.for_version(version):
            reading = self._fits(rule, screen)
            if reading is not None:
                return reading
        return Reading()

    def _fits(self, rule: Rule, screen: View) -> Reading | None:
        if rule.composer is not None and rule.composer != (screen.start is not None):
            return None
        if (told := _told(rule, screen)) is None:
            return None
        form = rule.options
        options = screen.options(form) if form is not None else Options()
        if form is not None and not options.options:
            return None
        first = options.first(screen.lines)
        tops = screen.tops(first, rule.extent)
        question, detail = screen.heading(first) if told or options.options else "", ""
        begin = tops[0] if tops else 0
        if rule.head is not None and not rule.head.search(next(filter(None, screen.lines[begin:]), "")):
            return None
        if rule.question is not None:
            at = next((i for i in range(first - 1, begin - 1, -1) if rule.question.search(screen.lines[i])), None)
            if at is None:
                return None
            question = question_from(screen.lines[at:first], rule.question)
            if form == LIST and begins_list(screen.lines[at + 1 : first]):
                options = options_of(form, screen.lines, at + 1)._replace(mixed=True)
            if not options.mixed:  # without what it is about nobody can answer it but in its pane
                detail = screen.dialog(at, options, rule.question, rule.extent)
        elif rule.above is not None and rule.reason in (Reason.LIMIT, Reason.LOGIN):
            detail = "\n".join(screen.above(rule.paragraphs))  # when it goes on may stand in a wrapped line
        shown = told[0].string if told else question
        count = next((m["background"] for m in told if "background" in m.groupdict() and m["background"]), "")
        return Reading(
            rule=f"{self._engine}/{rule.name}",
            turn=rule.turn,
            reason=rule.reason,
            evidence=" ".join(shown.split())[:EVIDENCE_CHARACTERS],
            question=question,
            options=options.labels,
            detail=detail,
            background=int(count) if count.isdigit() else None,
            typed=screen.typed(),
            form=form or LIST,
            places=options,
        )

    def is_same(self, text: str, other: str) -> bool:
        """Whether two screens show the same but for what changes although nothing happens."""
        lines, others = text.split("\n"), other.split("\n")
        if len(lines) != len(others):
            return False  # its window was made larger or smaller
        return all(a == b or self._steady(a) == self._steady(b) for a, b in zip(lines, others, strict=True))

    def digest(self, text: str) -> str:
        """The same for two screens that are the same; for those that are not together in memory."""
        steady = "\n".join(self._steady(line) for line in text.split("\n"))
        return hashlib.sha256(steady.encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def _steady(self, line: str) -> str:
        return line if self._volatile is None else self._volatile.sub("", line)

    def has_milestone(self, text: str) -> bool:
        """Whether the agent's marker stands on the screen."""
        return self._milestone is not None and "MILESTONE" in text and self._milestone.search(text) is not None


def _told(rule: Rule, screen: View) -> list[re.Match[str]] | None:
    """What its patterns found around the composer, in the title and from the top down; None when one found nothing."""
    told: list[re.Match[str]] = []
    for pattern, lines in (
        (rule.above, screen.above(rule.paragraphs) if rule.above else ()),
        (rule.below, screen.below()),
        (rule.last, screen.last()),
        (rule.title, (screen.title,)),
    ):
        if pattern is not None:
            found = next((match for line in lines if (match := pattern.search(line))), None)
            if found is None:
                return None
            told.append(found)
    return None if rule.lines and not _in_order(rule.lines, screen.lines, told) else told


def _in_order(patterns: Sequence[re.Pattern[str]], lines: Sequence[str], told: list[re.Match[str]]) -> bool:
    """Whether each pattern is found in a line below that of the one before; the matches are put on *told*."""
    at = 0
    for pattern in patterns:
        while at < len(lines) and (found := pattern.search(lines[at])) is None:
            at += 1
        if at == len(lines) or found is None:
            return False
        told.append(found)
        at += 1
    return True


def holds(versions: str, version: str) -> bool:
    """Whether *version* ("2.1.197") fits comparisons like ">=2.1, <3"; an empty text always fits."""
    own = _numbers(version)
    for one in filter(None, (part.strip() for part in versions.split(","))):
        found = _COMPARISON.fullmatch(one)
        if found is None:
            continue
        other = _numbers(found[2])
        width = max(len(own), len(other))
        left, right = own + (0,) * (width - len(own)), other + (0,) * (width - len(other))
        fits = {">=": left >= right, "<=": left <= right, "<": left < right, ">": left > right}
        if not fits.get(found[1] or "==", left == right):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(one) for one in re.findall(r"\d+", version))
