"""JSON text at the price of no import: `loads` and `dumps` with the results of the `json` module, for what agents run.

`import json` costs a hook as much again as the bare interpreter does (CPython 3.11: 9 ms over 8.4), because its Python
half compiles regular expressions; the parser and the encoder are C and lie in `_json`, which loads for 0.1 ms. An
interpreter whose `_json` has another shape gets the `json` module. Indented text, which C writes from 3.15 on only, is
put together here.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

DEEPEST = 200  #: levels of an indented text; no file of fleet's comes near
_SPACE = " \t\n\r"
_WORDS = {None: "null", True: "true", False: "false"}


class _Context:
    """What the C scanner asks its decoder for; `json.loads` gives the same answers."""

    strict = True
    object_hook = None
    object_pairs_hook = None
    parse_float = float
    parse_int = int
    parse_constant = {"-Infinity": float("-inf"), "Infinity": float("inf"), "NaN": float("nan")}.__getitem__


def _unknown(value: object) -> object:
    raise TypeError(f"Object of type {type(value).__name__} is not JSON serializable")


def _from_c() -> tuple[Callable[[str], Any], Callable[..., str], Callable[[str], str]]:
    from _json import encode_basestring, encode_basestring_ascii, make_encoder, make_scanner  # noqa: PLC0415  # may fail

    scan = make_scanner(_Context)  # type: ignore[arg-type]  # C reads these attributes, of whatever object

    def parse(text: str) -> Any:
        try:
            value, end = scan(text, len(text) - len(text.lstrip(_SPACE)))
            if not text[end:].strip(_SPACE):
                return value
        except (StopIteration, ValueError, SystemError):  # up to 3.11 C cannot raise its own error without json loaded
            pass
        import json  # noqa: PLC0415  # only what is broken pays for an exact complaint

        return json.loads(text)

    def write(value: object, *, ascii_only: bool, colon: str, comma: str) -> str:
        string = encode_basestring_ascii if ascii_only else encode_basestring
        # markers, default, encoder, indent, key and item separator, sort_keys, skipkeys, allow_nan
        encode = make_encoder({}, _unknown, string, None, colon, comma, False, False, True)
        return "".join(encode(value, 0))

    sample = '{"a": [1, -0.5, "\\u00e9\\n", null, true]}'
    if write(parse(sample), ascii_only=True, colon=": ", comma=", ") != sample:
        raise ImportError("_json answers otherwise than it did")
    return parse, write, encode_basestring


def _from_python() -> tuple[Callable[[str], Any], Callable[..., str], Callable[[str], str]]:
    import json  # noqa: PLC0415  # what all of this avoids

    def write(value: object, *, ascii_only: bool, colon: str, comma: str) -> str:
        return json.dumps(value, ensure_ascii=ascii_only, separators=(comma, colon))

    return json.loads, write, lambda text: json.dumps(text, ensure_ascii=False)


try:
    _parse, _write, _string = _from_c()
except (ImportError, TypeError, AttributeError, ValueError):
    _parse, _write, _string = _from_python()


def loads(text: str) -> Any:
    """
    The value of a JSON text.

    Raises:
        ValueError: it is none; says where.
        RecursionError: it is nested deeper than the interpreter goes.
    """
    return _parse(text)


def dumps(value: object, *, ascii_only: bool = True, compact: bool = False) -> str:
    """
    One line of JSON. With *compact* without spaces.

    Raises:
        TypeError, ValueError: *value* holds what JSON has no form for.
    """
    return _write(value, ascii_only=ascii_only, colon=":" if compact else ": ", comma="," if compact else ", ")


def pretty(value: object) -> str:
    """The same value over several lines, two spaces a level, nothing escaped that need not be."""
    return _pretty(value, "\n")


def _pretty(value: object, newline: str) -> str:
    inner = newline + "  "
    if len(inner) > 2 * DEEPEST:
        raise ValueError("nested too deeply")
    if isinstance(value, dict) and value:
        lines = [f"{_key(name)}: {_pretty(one, inner)}" for name, one in value.items()]
        return "{" + inner + ("," + inner).join(lines) + newline + "}"
    if isinstance(value, (list, tuple)) and value:
        return "[" + inner + ("," + inner).join(_pretty(one, inner) for one in value) + newline + "]"
    # By far the most values are these; an encoder for each would be most of the work.
    if type(value) is str:
        return _string(value)
    if value is None or value is True or value is False:
        return _WORDS[value]
    return dumps(value, ascii_only=False)


def _key(name: object) -> str:
    if isinstance(name, str):
        return _string(name)
    if name is None or isinstance(name, (bool, int, float)):
        return f'"{dumps(name)}"'
    raise TypeError(f"keys must be str, int, float, bool or None, not {type(name).__name__}")
