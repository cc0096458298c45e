"""Taking secrets out of what fleet writes about itself and of what is sent to somebody: by names, and by shapes.

A name says so when one of its words is `password`, `secret`, `authorization`, `cookie` and the like, or its last one is
`token` or `key` (`api_key`, `authToken`, `X-Api-Key`). `input_tokens: 5`, `tokenizer` and `key_id` stay: numbers under
`token` and `key` are counts. Shapes are those that issuers made recognisable (`sk-ant-…`, `ghp_…`, `AKIA…`, JSON web
tokens, private key blocks), what follows `Bearer`, userinfo in URLs, `NAME_TOKEN=…` and `"api_key": "…"` in texts.
Commit hashes, ids, UUIDs, paths and `git@host` have none of these shapes and stay as they are. What has no shape and
no telling name cannot be recognised. Standard library.
"""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

MARK = "[redacted]"
DEEPEST = 100  #: levels of a value that are looked into; what lies below is taken out whole

_ANYWHERE = frozenset({
    "secret", "secrets", "password", "passwords", "passwd", "passphrase", "authorization", "cookie", "cookies",
    "credential", "credentials",
})  # fmt: skip
_LAST = frozenset({"token", "tokens", "key", "keys", "apikey", "authtoken", "accesstoken", "refreshtoken",
                   "secretkey", "privatekey", "accesskey"})  # fmt: skip
#: Last words behind a secret one that make it a harmless fact about the secret.
_FACTS = frozenset({"id", "ids", "name", "names", "file", "path", "count", "type", "source", "length"})
#: Names of fleet's and of tmux's own that end in `key` and hold none.
_HARMLESS = frozenset(
    {"key", "keys", "prefix_key", "public_key", "foreign_key", "primary_key", "cache_key", "sort_key"}
)
_WORDS = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")

_B, _E = r"(?<![A-Za-z0-9_-])", r"(?![A-Za-z0-9_-])"
_KIND = r"(?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
_SHAPES: tuple[tuple[str, str], ...] = (
    ("private-key", rf"-----BEGIN {_KIND}(?:(?s:.){{0,8000}}?-----END {_KIND}|(?:[A-Za-z0-9+/=\s]|\\[nr])*)"),
    ("jwt", rf"{_B}eyJ[\w-]{{8,}}\.eyJ[\w-]{{8,}}(?:\.[\w-]*)?"),
    ("sk", rf"{_B}sk-(?:ant|proj|svcacct|admin|or|lf|None)-[\w-]{{12,}}|{_B}sk-[A-Za-z0-9]{{20,}}{_E}"),
    ("sk", rf"{_B}sk-(?=[\w-]*\d)(?=[\w-]*[A-Z])[\w-]{{32,}}|{_B}[sr]k_(?:live|test)_[A-Za-z0-9]{{10,}}"),
    ("github", rf"{_B}(?:gh[pousr]_[A-Za-z0-9]{{20,}}|github_pat_\w{{20,}})"),
    ("gitlab", rf"{_B}glpat-[\w-]{{20,}}"),
    ("aws", rf"{_B}(?:AKIA|ASIA)[A-Z0-9]{{16}}(?![A-Z0-9])"),
    ("slack", rf"{_B}xox[abeoprs]-[\w-]{{10,}}"),
    ("google", rf"{_B}AIza[\w-]{{35}}"),
    ("registry", rf"{_B}(?:npm_[A-Za-z0-9]{{36}}|pypi-[\w-]{{50,}}|hf_[A-Za-z0-9]{{30,}})"),
)  # fmt: skip
_SHAPE = re.compile("|".join(f"(?P<g{n}>{pattern})" for n, (_, pattern) in enumerate(_SHAPES)))
#: What must stand in a text for any of the shapes to be there: looking for these is ten times as fast.
_SIGNS = ("PRIVATE KEY", "eyJ", "sk-", "k_live_", "k_test_", "gh", "github_pat_", "glpat-", "AKIA", "ASIA", "xox",
          "AIza", "npm_", "pypi-", "hf_")  # fmt: skip
_BEARER = re.compile(r"\b(bearer\s+)(?=[^\s\"']{0,200}[0-9._~+/=-]|[^\s\"']{20})[A-Za-z0-9._~+/=-]{8,}", re.IGNORECASE)
_BASIC = re.compile(r"\b(authorization[\"']?\s*[:=]\s*[\"']?(?:basic|digest|token)\s+)[^\s\"',]{4,}", re.IGNORECASE)
_COOKIE = re.compile(r"\b((?:set-)?cookie\s*:\s*)[^\s=;\"']{1,80}=[^\r\n\"']+", re.IGNORECASE)
_USERINFO = re.compile(r"(?<![A-Za-z0-9+.-])([A-Za-z][A-Za-z0-9+.-]{1,20}://)([^\s/?#@\"'<>\\]{1,400})@(?=[^\s/?#@])")
_ASSIGNED = re.compile(r"(?<![A-Za-z0-9_])([A-Z][A-Z0-9_]{2,80})=(\"[^\"\r\n]+\"|'[^'\r\n]+'|[^\s\"'$;&|\\]{4,})")
_QUOTED = re.compile(
    r"(?<!\\)(\\{0,8}[\"'])([A-Za-z][\w.-]{1,80})(\1\s*:\s*)(\\{0,8}[\"'])((?:(?!\4)[^\r\n]){1,8000}?)(?=\4)"
)
_OPTION = re.compile(r"(?<![\w-])(--?[A-Za-z][\w-]{1,60})(=|[ ])(\"[^\"\r\n]+\"|'[^'\r\n]+'|[^\s\"'-][^\s\"']{3,})")
_HEADER = re.compile(r"(?im)^((?:x-)?(?:api-key|auth-token|access-token|csrf-token)\s*:\s*)\S{4,}")


def is_secret_name(name: str) -> bool:
    """Whether a value of that name is one to keep to oneself."""
    words = [word.lower() for word in _WORDS.findall(name)]
    if not words or "_".join(words) in _HARMLESS:
        return False
    if words[-1] in _FACTS:
        return False
    if not _ANYWHERE.isdisjoint(words) or words == ["auth"]:
        return True
    return words[-1] in _LAST


class Redactor:
    """
    Takes secrets out and counts what it took, by the rule that found it.

    Args:
        known: texts that are secrets whatever they look like; those shorter than 8 characters are left alone.
        shapes: whether names and shapes count; without, only the known texts and environments do.
    """

    def __init__(self, known: Iterable[str] = (), *, shapes: bool = True) -> None:
        self.counts: dict[str, int] = {}
        self._shapes = shapes
        self._known: re.Pattern[str] | None = None
        self.learn(known)

    def learn(self, known: Iterable[str]) -> None:
        """Texts that are secrets from now on, instead of those learnt before."""
        long = sorted({one for one in known if len(one) >= 8}, key=lambda one: (-len(one), one))
        self._known = re.compile("|".join(map(re.escape, long))) if long else None

    def text(self, text: str) -> str:
        """*text* with every secret in it replaced."""
        if self._known is not None:
            text = self._known.sub(lambda _: self._took("environment"), text)
        if not self._shapes or len(text) < 8:
            return text
        if any(sign in text for sign in _SIGNS):
            text = _SHAPE.sub(lambda m: self._took(_SHAPES[int((m.lastgroup or "g0")[1:])][0]), text)
        lower = text.lower()
        if "bearer" in lower or "authorization" in lower:
            text = _BEARER.sub(lambda m: m[1] + self._took("bearer"), text)
            text = _BASIC.sub(lambda m: m[1] + self._took("authorization"), text)
        if "cookie" in lower:
            text = _COOKIE.sub(lambda m: m[1] + self._took("cookie"), text)
        if "key" in lower or "token" in lower:
            text = _HEADER.sub(lambda m: m[1] + self._took("header"), text)
        if "://" in text:
            text = _USERINFO.sub(self._userinfo, text)
        if "=" in text:
            text = _ASSIGNED.sub(lambda m: f"{m[1]}={self._took('name')}" if _new(m[1], m[2]) else m[0], text)
        if ":" in text:
            text = _QUOTED.sub(
                lambda m: f"{m[1]}{m[2]}{m[3]}{m[4]}{self._took('name')}" if _new(m[2], m[5]) else m[0], text
            )
        if "-" in text:
            text = _OPTION.sub(lambda m: f"{m[1]}{m[2]}{self._took('name')}" if _new(m[1], m[3]) else m[0], text)
        return text

    def value(self, value: Any, name: str = "", *, depth: int = 0) -> Any:
        """A JSON value, with texts under telling names and secrets in all other texts replaced; it stays its kind."""
        if depth > DEEPEST:
            return self._took("too deep")
        if self._shapes and name and (is_secret_name(name) or (name.lower() == "key" and _looks_random(value))):
            return self._whole(value, name, depth)
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.text(str(k)): self.value(v, str(k), depth=depth + 1) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return self._items(value, depth)
        return value

    def environment(self, env: dict[str, Any]) -> dict[str, Any]:
        """The names of an environment without its values."""
        return {str(name): self._took("environment") for name in env}

    def _items(self, items: Any, depth: int) -> list[Any]:
        """A list; what follows an option whose name tells goes with it, as in an argv."""
        found, before = [], ""
        for item in items:
            secret = self._shapes and isinstance(item, str) and before.startswith("-") and _new(before, item)
            found.append(self._took("name") if secret else self.value(item, depth=depth + 1))
            before = item if isinstance(item, str) and "=" not in item and " " not in item else ""
        return found

    def _whole(self, value: Any, name: str, depth: int) -> Any:
        if depth > DEEPEST:
            return self._took("too deep")
        if isinstance(value, dict):
            return {self.text(str(k)): self._whole(v, name, depth + 1) for k, v in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._whole(one, name, depth + 1) for one in value]
        if value is None or isinstance(value, bool) or value in ("", MARK):
            return value
        words = {word.lower() for word in _WORDS.findall(name)}
        if isinstance(value, (int, float)) and _ANYWHERE.isdisjoint(words):
            return value
        return self._took("name")

    def _userinfo(self, match: re.Match[str]) -> str:
        web = match[1].lower() in ("http://", "https://", "ws://", "wss://", "ftp://")
        if match[2] == MARK or not (web or ":" in match[2]):
            return match[0]  # ssh://git@host names an account and no secret
        return f"{match[1]}{self._took('url')}@"

    def _took(self, rule: str) -> str:
        self.counts[rule] = self.counts.get(rule, 0) + 1
        return MARK


def _looks_random(value: object) -> bool:
    """Whether what stands under the bare name `key` may be one: letters and digits, long, and no hash or path."""
    return isinstance(value, str) and bool(re.fullmatch(r"(?=.*\d)(?=.*[g-zG-Z])[\w+=.-]{12,}", value))


def _new(name: str, value: str) -> bool:
    """Whether a name tells, and its value has not been taken out before."""
    return MARK not in value and is_secret_name(name)
