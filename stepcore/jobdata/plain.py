"""Records to plain JSON and back. What comes over a pipe is read strictly: whoever wrote it is not trusted.

Fields of a record (:mod:`stepcore.records`) are of the kinds ``bool``, ``int``, ``float`` (finite), ``str``, ``None``,
``Any`` (left as it is), ``Literal``, records, ``tuple[kind, ...]``, ``dict[str, kind]`` and unions of those. A field
with a default is left out of the JSON where it holds that default; all others have to be there, and nothing else may
be. A ``TypedDict`` whose keys may all be missing stays a dictionary.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Any,
    Final,
    Literal,
    TypeAlias,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from stepcore.text.wording import clipped, one_line

T = TypeVar("T")
Reader: TypeAlias = Callable[[Any], Any]
_SHOWN: Final = 40  # characters of a foreign key
_ABSENT: Final = object()
_WORDS: Final = {
    NoneType: "null", bool: "true or false", int: "a whole number", float: "a number", str: "a text",
    list: "a list", dict: "an object",
}  # fmt: skip


class Mistyped(ValueError):
    """Plain data are not of the kind that they should be; the text says where, and what was expected there."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self._place = ""
        self._problem = problem

    def __str__(self) -> str:
        return f"{self._place.removeprefix('.')}: {self._problem}" if self._place else self._problem

    def inside(self, part: str) -> None:
        """Say that the place is inside of ``part``, ``.name`` or ``[number]``."""
        self._place = part + self._place


class Camel:
    """A record whose names are written ``likeThis`` in JSON."""

    __slots__ = ()


def json_name(kind: type, name: str) -> str:
    """Return what a field of the record ``kind`` is called in JSON."""
    if not issubclass(kind, Camel):
        return name
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


# -- to JSON -----------------------------------------------------------------------------------------------------


def to_plain(value: Any) -> Any:
    """Return what ``json.dumps`` takes for a record, or for a tuple or dictionary of records."""
    kind = type(value)
    if kind in _WRITTEN:
        return value
    if kind is tuple or kind is list:
        return [to_plain(item) for item in value]
    if kind is dict:
        return {key: to_plain(item) for key, item in value.items()}
    if not is_dataclass(kind):
        return value  # whoever writes it down says what is wrong with it
    found = {}
    for field, name, default in _fields(kind):
        item = getattr(value, field)
        if default is _ABSENT or item != default:
            found[name] = item if type(item) in _WRITTEN else to_plain(item)
    return found


_WRITTEN: Final = frozenset({str, int, float, bool, NoneType})


@cache
def _fields(kind: type) -> tuple[tuple[str, str, Any], ...]:
    """Return field, name in JSON and default (``_ABSENT``: it is always written) of the fields of a record."""
    return tuple((field.name, json_name(kind, field.name), _default(field)) for field in fields(kind))


def _default(field: Field[Any]) -> Any:
    if field.default_factory is not MISSING:
        return field.default_factory()
    return _ABSENT if field.default is MISSING else field.default


def written(record: Any) -> dict[str, Any]:
    """Return the JSON object of one record."""
    found: dict[str, Any] = to_plain(record)
    return found


def shared(kind: type, record: Any) -> dict[str, Any]:
    """Return the fields of the record ``kind`` as ``record``, which has them, too, holds them."""
    return {each.name: getattr(record, each.name) for each in fields(kind)}


# -- from JSON ---------------------------------------------------------------------------------------------------


def from_plain(kind: type[T], data: Any) -> T:
    """Return the ``kind`` that plain JSON stands for.

    Raises:
        Mistyped: a field is missing, is unknown, or has a value of another kind.
    """
    return cast("T", reader_of(cast("Any", kind))(data))


@cache
def reader_of(kind: Any) -> Reader:
    """Return what reads plain JSON as ``kind``; made once, because looking at types takes longer than reading.

    Raises:
        TypeError: nothing is read as this kind.
    """
    if kind is Any:
        return _anything
    if kind is float:
        return _number
    if kind in _WRITTEN:
        return _exactly(kind)
    if is_dataclass(kind):
        return _record(cast("type", kind))
    if is_typeddict(kind):
        return _dictionary({key: reader_of(part) for key, part in get_type_hints(kind).items()})
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Literal:
        return _one_of(parts)
    if origin is Union or origin is UnionType:
        return _either(parts)
    if origin is tuple and len(parts) == 2 and parts[1] is Ellipsis:
        return _list(reader_of(parts[0]))
    if origin is dict and parts[0] is str:
        return _table(reader_of(parts[1]))
    raise TypeError(f"{kind} is no kind of plain data")


def _expected(what: str, found: Any) -> Mistyped:
    return Mistyped(f"{what} was expected, not {_WORDS.get(type(found), 'this')}")


def _anything(data: Any) -> Any:
    return data


def _exactly(kind: type) -> Reader:
    def read(data: Any) -> Any:
        if type(data) is not kind:
            raise _expected(_WORDS[kind], data)
        return data

    return read


def _number(data: Any) -> float:
    if type(data) is float and math.isfinite(data):
        return data
    if type(data) is int:
        try:
            return float(data)
        except OverflowError:
            raise Mistyped("a number was expected, not one of hundreds of digits") from None
    raise _expected("a number", data) if type(data) is not float else Mistyped("a finite number was expected")


def _one_of(values: tuple[Any, ...]) -> Reader:
    def read(data: Any) -> Any:
        for value in values:
            if type(data) is type(value) and data == value:
                return value
        raise Mistyped("one of " + ", ".join(map(repr, values)) + " was expected")

    return read


def _either(kinds: tuple[Any, ...]) -> Reader:
    """Read the first kind that fits; where a single one is no plain value, its complaint is the one that helps."""
    simple = frozenset(kind for kind in kinds if kind in _WRITTEN and kind is not float)
    others = tuple(reader_of(kind) for kind in kinds if kind not in simple)
    words = " or ".join(dict.fromkeys(_WORDS.get(kind, "an object") for kind in kinds))

    def read(data: Any) -> Any:
        if type(data) in simple:
            return data
        if len(others) == 1 and (not simple or simple == {NoneType}):
            return others[0](data)
        for other in others:
            try:
                return other(data)
            except Mistyped:
                continue
        raise _expected(words, data)

    return read


def _list(part: Reader) -> Reader:
    def read(data: Any) -> tuple[Any, ...]:
        if type(data) is not list:
            raise _expected("a list", data)
        found: list[Any] = []
        try:
            found.extend(map(part, data))
        except Mistyped as error:
            error.inside(f"[{len(found)}]")
            raise
        return tuple(found)

    return read


def _table(part: Reader) -> Reader:
    return lambda data: _items(data, lambda _key: part)


def _dictionary(parts: dict[str, Reader]) -> Reader:
    def part_of(key: str) -> Reader:
        if key not in parts:
            raise Mistyped("is unknown here")
        return parts[key]

    return lambda data: _items(data, part_of)


def _items(data: Any, part_of: Callable[[str], Reader]) -> dict[str, Any]:
    if type(data) is not dict:
        raise _expected("an object", data)
    found: dict[str, Any] = {}
    for key, item in data.items():
        try:
            found[key] = part_of(key)(item)
        except Mistyped as error:
            error.inside(f".{_shown(key)}")
            raise
    return found


def _record(kind: type) -> Reader:
    hints = get_type_hints(kind)
    parts = [(name, reader_of(hints[field]), default) for field, name, default in _fields(kind)]
    names = frozenset(name for name, _part, _default in parts)
    keys = [field.name for field in fields(kind)] if any(field.kw_only for field in fields(kind)) else []

    def read(data: Any) -> Any:
        if type(data) is not dict:
            raise _expected("an object", data)
        values: list[Any] = []
        known = 0
        name = ""
        try:
            for name, part, default in parts:
                item = data.get(name, _ABSENT)
                if item is not _ABSENT:
                    known += 1
                    values.append(part(item))
                elif default is not _ABSENT:
                    values.append(dict(default) if type(default) is dict else default)
                else:
                    raise Mistyped("is missing")
        except Mistyped as error:
            error.inside(f".{name}")
            raise
        if known != len(data):
            unknown = Mistyped("is unknown here")
            unknown.inside(f".{_shown(next(key for key in data if key not in names))}")
            raise unknown
        return kind(**dict(zip(keys, values, strict=True))) if keys else kind(*values)

    return read


def _shown(key: str) -> str:
    return one_line(clipped(key, _SHOWN))
