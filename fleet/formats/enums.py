"""`StrEnum` and `IntEnum` at the price of no import, for what agents run; mypy sees the ones of `enum`.

`import enum` costs a hook 5 ms over a bare interpreter's 8.4 (CPython 3.11), because it loads functools and
collections. What fleet uses of enums is here: members by name, by value, by iteration, and that there are no others.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from enum import IntEnum, StrEnum
    from typing import Any
else:

    class _Members(type):
        """Makes the public attributes of a class body its members; a class with members is closed."""

        def __new__(mcs, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> Any:
            public = {key: value for key, value in body.items() if not key.startswith("_")}
            cls = super().__new__(mcs, name, bases, {k: v for k, v in body.items() if k not in public})
            by_name = {}
            for key, value in public.items():
                member = by_name[key] = bases[0].__new__(cls, value)
                member.name, member.value = key, value
                type.__setattr__(cls, key, member)
            type.__setattr__(cls, "__members__", by_name)
            type.__setattr__(cls, "_by_value", {member.value: member for member in by_name.values()})
            return cls

        def __call__(cls, value: object) -> Any:
            member = cls._by_value.get(value) if value.__hash__ is not None else None
            if member is None:
                raise ValueError(f"{value!r} is not a valid {cls.__name__}")
            return member

        def __iter__(cls) -> Iterator[Any]:
            return iter(cls.__members__.values())

        def __len__(cls) -> int:
            return len(cls.__members__)

        def __contains__(cls, value: object) -> bool:
            return value.__hash__ is not None and value in cls._by_value

        def __setattr__(cls, key: str, value: object) -> None:
            raise AttributeError(f"{cls.__name__} is closed: cannot set {key}")

    class _Member:
        """What members of either kind have in common."""

        def __repr__(self) -> str:
            return f"<{type(self).__name__}.{self.name}: {self.value!r}>"

        def __reduce__(self) -> tuple[type, tuple[Any]]:
            return type(self), (self.value,)

        def __copy__(self) -> Any:
            return self

        def __deepcopy__(self, _: object) -> Any:
            return self

    class StrEnum(str, _Member, metaclass=_Members):  # noqa: SLOT000  # name and value need a place
        """Members are strings, and print as such."""

        __repr__ = _Member.__repr__

    class IntEnum(int, _Member, metaclass=_Members):
        """Members are numbers, and print and compare as such."""

        __repr__ = _Member.__repr__
        __str__ = int.__repr__


__all__ = ["IntEnum", "StrEnum"]
