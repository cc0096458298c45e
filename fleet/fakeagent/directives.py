r"""
The language that tells a model what to answer, and the rules that choose a text written in it.

A directive is a line `STUB: name=value` anywhere in a text. Tool directives (`bash`, `write`, `agent`,
`tool`) are steps: one answer of the model each, in the order written; `bash+=` joins the step before
it, as a parallel call. All other names are options of the whole turn. The text is, strongest first: the
last user prompt itself, the next entry of a queue, the first rule that fits. Two programs speak this
language, the fake agent's built-in model and the stub model server of the tests, so that one scenario
runs against either.

A client puts reminders of its own into user messages (`<system-reminder>...</system-reminder>`) and
wraps what a hook said (`<hook_prompt ...>`). The first never steers a model; of the second only the
tags are dropped.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from fleet.fakeagent.errors import BadScript

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

DIRECTIVE = re.compile(r"^\s*STUB:\s*([a-z_]+)(\+?)=(.*)$", re.MULTILINE)
REMINDER = re.compile(r"<system-reminder>.*?</system-reminder>|</?hook_prompt[^>]*>", re.DOTALL)
GROUP = re.compile(r"\\g<(\w+)>|\\([1-9])")
TOOL_NAMES = ("bash", "write", "agent", "tool")
OPTION_NAMES = (
    "say",
    "usage",
    "cache_read",
    "cache_create",
    "output",
    "delay",
    "after",
    "chunk",
    "hang",
    "stop",
    "error",
    "errors",
    "errmsg",
)


class Call(NamedTuple):
    """One tool directive."""

    name: str  #: One of TOOL_NAMES.
    argument: str  #: As written; `\n` is not yet a newline.


class Usage(NamedTuple):
    """Token figures of one answer, as a model reports them."""

    fresh: int  #: Prompt tokens outside the cache.
    cache_read: int
    cache_create: int
    output: int

    @property
    def prompt(self) -> int:
        """How full the context is."""
        return self.fresh + self.cache_read + self.cache_create


class Directives(NamedTuple):
    """A text, understood."""

    options: Mapping[str, str]
    steps: list[list[Call]]

    def seconds(self, name: str) -> float:
        """The number at the start of an option (a client may glue other text to it), or 0.0."""
        words = self.options.get(name, "").split()
        return float(words[0]) if words else 0.0

    def count(self, name: str) -> int:
        """As `seconds`, for whole numbers."""
        return int(self.seconds(name))

    def said(self, default: str) -> str:
        """The closing text of the turn."""
        return unescape(self.options.get("say") or default)

    def usage(self, *, prompt_default: int, output_default: int) -> Usage:
        """The figures to report; what is not directed comes from the real sizes."""
        total = self.count("usage") or max(1, prompt_default)
        read, create = self.count("cache_read"), self.count("cache_create")
        return Usage(max(1, total - read - create), read, create, self.count("output") or output_default)


class Rule(NamedTuple):
    """Which text to use for a prompt that holds no directive itself."""

    match: re.Pattern[str]  #: Searched in the last user prompt.
    within: re.Pattern[str]  #: Searched in the whole conversation.
    do: str  #: Directives, with `\1` and `\g<name>` for the groups of `match`.
    times: int | None  #: How many turns may use it; None is any number.


def unescape(text: str) -> str:
    r"""Directives are one line each: `\n` in an argument is a newline."""
    return text.replace("\\n", "\n")


def without_reminders(text: str) -> str:
    """A user message as its author wrote it."""
    return REMINDER.sub("", text)


def holds_directive(text: str) -> bool:
    """Whether *text* steers a turn by itself."""
    return DIRECTIVE.search(text) is not None


def parse(text: str, defaults: Mapping[str, str]) -> Directives:
    """Read every directive of *text*; an option that is not in it comes from *defaults*."""
    options = dict(defaults)
    steps: list[list[Call]] = []
    for name, joins, argument in DIRECTIVE.findall(text):
        if name not in TOOL_NAMES:
            options[name] = argument.strip()
        elif joins and steps:
            steps[-1].append(Call(name, argument))
        else:
            steps.append([Call(name, argument)])
    return Directives(options, steps)


def read_rules(value: object) -> list[Rule]:
    """
    Check and compile rules as they stand in a script file.

    Raises:
        BadScript: Naming the rule by its place in the list, from 1.
    """
    if not isinstance(value, list):
        raise BadScript("rules: expected a list")
    return [_rule(entry, f"rule {place}") for place, entry in enumerate(value, 1)]


def _rule(entry: object, place: str) -> Rule:
    if not isinstance(entry, dict):
        raise BadScript(f"{place}: expected an object")
    unknown = sorted(set(entry) - {"match", "in", "do", "times"})
    if unknown:
        raise BadScript(f"{place}: unknown key {unknown[0]!r}")
    do = lines(entry.get("do"), f"{place}: do")
    match = _pattern(entry.get("match", ""), f"{place}: match", re.DOTALL)
    times = entry.get("times")
    if times is not None and (not isinstance(times, int) or isinstance(times, bool) or times < 1):
        raise BadScript(f"{place}: times must be a whole number above 0")
    for name, number in GROUP.findall(do):
        if (number and int(number) > match.groups) or (name and not _has_group(match, name)):
            raise BadScript(f"{place}: do names group {name or number}, which match does not have")
    return Rule(match, _pattern(entry.get("in", ""), f"{place}: in", 0), do, times)


def _has_group(pattern: re.Pattern[str], name: str) -> bool:
    return int(name) <= pattern.groups if name.isdigit() else name in pattern.groupindex


def _pattern(value: object, place: str, flags: int) -> re.Pattern[str]:
    if not isinstance(value, str):
        raise BadScript(f"{place}: expected a regular expression")
    try:
        return re.compile(value, flags)
    except re.error as error:
        raise BadScript(f"{place}: {error}") from None


def lines(value: object, place: str) -> str:
    """Directives are one string, or a list of lines."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    raise BadScript(f"{place}: expected a string or a list of strings")


def read_queue(value: object) -> list[str]:
    """Check a queue as it stands in a script file."""
    if not isinstance(value, list):
        raise BadScript("queue: expected a list")
    return [lines(entry, f"queue entry {place}") for place, entry in enumerate(value, 1)]


def read_defaults(value: object) -> dict[str, str]:
    """Check the default options as they stand in a script file; numbers may be written as numbers."""
    if not isinstance(value, dict):
        raise BadScript("defaults: expected an object")
    unknown = sorted(set(value) - set(OPTION_NAMES))
    if unknown:
        raise BadScript(f"defaults: unknown key {unknown[0]!r}")
    return {name: str(option) for name, option in value.items()}


class Playbook:
    """Rules, queue and defaults, and what has been used of them."""

    def __init__(
        self,
        rules: list[Rule] | None = None,
        queue: list[str] | None = None,
        defaults: Mapping[str, str] | None = None,
        renewed: Callable[[], list[Rule] | None] = lambda: None,
    ) -> None:
        self.rules = rules or []
        self.queue = queue or []
        self.defaults: Mapping[str, str] = defaults or {}
        self._renewed = renewed  #: asked before each choice; other rules when there are some, or None
        self._scripts: dict[Hashable, str] = {}
        self._used: dict[int, int] = {}
        self._failures: dict[Hashable, int] = {}

    def directives(self, turn: Hashable, prompt: str, conversation: Callable[[], str]) -> Directives:
        """
        What the model shall do in *turn*.

        The choice is made once: every later step of the same turn gets the same directives, however the queue
        and the counters of the rules have moved.
        """
        prompt = without_reminders(prompt)
        if turn not in self._scripts:
            if (rules := self._renewed()) is not None:
                self.follow(rules)
            self._scripts[turn] = prompt if holds_directive(prompt) else self._choose(prompt, conversation)
        return parse(self._scripts[turn], self.defaults)

    def follow(self, rules: list[Rule]) -> None:
        """Go by other rules from the next choice on; what was used of the former ones does not count for these."""
        self.rules, self._used = rules, {}

    def _choose(self, prompt: str, conversation: Callable[[], str]) -> str:
        if self.queue:
            return self.queue.pop(0)
        for place, rule in enumerate(self.rules):
            found = rule.match.search(prompt)
            if found is None or self._used.get(place, 0) == rule.times or not rule.within.search(conversation()):
                continue
            self._used[place] = self._used.get(place, 0) + 1
            return fill(rule.do, found)
        return ""

    def forgive(self, key: Hashable) -> None:
        """Count the failures of *key* from the beginning again."""
        self._failures.pop(key, None)

    def failure(self, key: Hashable, directives: Directives) -> int:
        """The HTTP status to fail with now, or 0; `errors=N` fails only the first N requests of *key*."""
        code = directives.count("error")
        if code and "errors" in directives.options:
            self._failures[key] = seen = self._failures.get(key, 0) + 1
            if seen > directives.count("errors"):
                return 0
        return code


def fill(text: str, found: re.Match[str]) -> str:
    r"""Put the groups of *found* into *text*; unlike `Match.expand` this leaves `\n` alone."""

    def group(reference: re.Match[str]) -> str:
        name: Any = reference[1] or reference[2]
        return found[int(name) if name.isdigit() else name] or ""

    return GROUP.sub(group, text)
