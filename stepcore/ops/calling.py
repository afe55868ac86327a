"""Calling conventions: what parameters an operator takes, how it is given streams, and how it hands out its results.

Each operator has one :class:`Calling`, made of what its class declares. Whoever reads a call (checker, scripts), writes
one (printer, completion) or describes one (documentation, signature help, prompts) asks it; what is said about wrong
calls is in :mod:`stepcore.ops.miscalls`.

Streams stand in *structures*: :class:`One` stream, :class:`Many` in a list, a :class:`Group` of structures in a tuple.
Typing rules, semantics and graphs have the streams of a structure in one flat sequence, from left to right.
"""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, cached_property
from itertools import islice
from operator import attrgetter
from typing import Any, Final, TypeAlias

from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.sizes.foreign import is_foreign
from stepcore.text.wording import few
from stepcore.types import Element

_ORDINALS: Final = ("first", "second", "third")


# -- parameters ----------------------------------------------------------------------------------------------


class ParamKind(Enum):
    """What a parameter accepts."""

    FN = "element function"
    INTEGER = "integer"
    SIZE = "size"  # integer or symbolic
    INDICES = "list of integers"
    MEMORY = "parameter off chip"
    TILE = "pair of sizes (rows and columns)"
    SIZES = "list of sizes"
    OFFSET = "whole number or size"  # 0 and negative ones, too
    OFFSETS = "list of whole numbers and sizes"
    CHOICE = "text"  # one of the parameter's choices
    FLAG = "truth value"
    FILLING = "number to fill with"  # one of the parameter's choices
    ELEMENT = "element type"

    _accepts: Callable[[object], bool]  # of each kind, because each argument of each program asks

    @property
    def article(self) -> str:
        """The kind with its article, for messages."""
        return f"{'an' if self.value[0] in 'aeiou' else 'a'} {self.value}"

    def accepts(self, value: object) -> bool:
        """Return whether ``value`` is of this kind; a symbol is no integer, even where it is bound."""
        return self._accepts(value)

    @property
    def holds_sizes(self) -> bool:
        """Whether its values are sizes or rows of them, which become :class:`Dim`."""
        return self in _OF_SIZES


_OF_SIZES: Final = (ParamKind.TILE, ParamKind.SIZES, ParamKind.OFFSET, ParamKind.OFFSETS)
_LISTS: Final = frozenset({ParamKind.INDICES, ParamKind.TILE, ParamKind.SIZES, ParamKind.OFFSETS})


_of_fn: Final = attrgetter("func_name", "input", "output", "has_state", "is_count")


def _is_fn(value: object) -> bool:
    try:
        _of_fn(value)
    except AttributeError:
        return False
    return True


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_size(value: object) -> bool:
    return isinstance(value, Dim) or _is_integer(value) or is_foreign(value)


def _are_sizes(value: object) -> bool:
    return isinstance(value, (list, tuple)) and len(value) > 0 and all(map(_is_size, value))


def _are_elements(value: object) -> bool:
    parts = value if isinstance(value, (list, tuple)) and value else (value,)
    return all(isinstance(part, Element) for part in parts)


for _kind, _test in {
    ParamKind.FN: _is_fn,
    ParamKind.INTEGER: _is_integer,
    ParamKind.SIZE: _is_size,
    ParamKind.INDICES: lambda value: isinstance(value, (list, tuple, range)) and all(map(_is_integer, value)),
    ParamKind.MEMORY: lambda value: hasattr(value, "is_off_chip"),  # imported with the first program that has one
    ParamKind.TILE: lambda value: isinstance(value, (list, tuple)) and len(value) == 2 and all(map(_is_size, value)),
    ParamKind.SIZES: _are_sizes,
    ParamKind.OFFSET: _is_size,
    ParamKind.OFFSETS: _are_sizes,
    ParamKind.CHOICE: lambda value: isinstance(value, str),
    ParamKind.FLAG: lambda value: isinstance(value, bool),
    ParamKind.FILLING: lambda value: isinstance(value, str) or _is_integer(value),
    ParamKind.ELEMENT: _are_elements,
}.items():
    _kind._accepts = _test


class Param(Record):
    """Documentation of one parameter; ``name`` is the keyword, ``folds`` marks a function that has a state.

    ``otherwise`` says what it is when it is left out, where no value of its own does. ``choices`` are the values that
    one of few may be. ``generation`` is that of the language, in which it came.
    """

    name: str
    kind: ParamKind
    doc: str
    folds: bool = False
    otherwise: str = ""
    choices: tuple[str | int, ...] = ()
    generation: int = 1

    @property
    def hint(self) -> str:
        """The documentation as the end of a message."""
        first, rest = self.doc[:1], self.doc[1:].rstrip(".")
        return first + rest if rest[:1].isupper() else first.lower() + rest  # FLOPs stay what they are


# -- structures of streams -----------------------------------------------------------------------------------


class One(Record):
    """One stream. ``stands`` is what messages write for it; ``selects`` marks a selector, which routes the others."""

    name: str = "input"
    stands: str = "STREAM"
    selects: bool = False


class Many(Record):
    """A list of at least ``least`` streams, from two on a tuple; of outputs, the parameter ``count`` says how many."""

    name: str = "branch"
    least: int = 1
    count: str = ""

    @property
    def kind(self) -> str:
        """What holds them, for messages."""
        return "list" if self.least < 2 else "tuple"


class Group(Record):
    """Structures side by side, in a tuple; an empty group is no stream at all.

    The parts of what an operator gives have the names ``fields`` where it names them: ``routed.selector``.
    """

    parts: tuple[Structure, ...]
    fields: tuple[str, ...] = ()


Structure: TypeAlias = One | Many | Group
NOTHING: Final = Group(())


def flat(value: Any) -> Iterator[Any]:
    """Yield what stands in lists and tuples inside each other, from left to right."""
    if isinstance(value, (list, tuple)):
        for item in value:
            yield from flat(item)
    else:
        yield value


def fits(structure: Structure, value: Any, is_stream: Callable[[Any], bool]) -> bool:
    """Return whether ``value`` has the structure; none has that of nothing, which is not written at all."""
    if isinstance(structure, One):
        return is_stream(value)
    if not isinstance(value, (list, tuple)):
        return False
    if isinstance(structure, Many):
        return len(value) >= structure.least and all(map(is_stream, value))
    if not 0 < len(value) == len(structure.parts):
        return False
    for part, item in zip(structure.parts, value, strict=True):  # no generator: each application asks
        if not (is_stream(item) if isinstance(part, One) else fits(part, item, is_stream)):
            return False
    return True


def _least(structure: Structure) -> int:
    """Return how many streams a structure holds at least."""
    if isinstance(structure, Group):
        return sum(map(_least, structure.parts))
    return 1 if isinstance(structure, One) else structure.least


def _is_open(structure: Structure) -> bool:
    """Return whether a structure may hold more streams than it has to."""
    return isinstance(structure, Many) or (isinstance(structure, Group) and any(map(_is_open, structure.parts)))


def shaped(structure: Structure, items: Sequence[Any]) -> Any:
    """Return flat ``items`` in the structure: one, a list, a tuple (with names where it has some), None for nothing."""
    return None if structure == NOTHING else _shaped(structure, iter(items), len(items) - _least(structure))


def _shaped(structure: Structure, items: Iterator[Any], spare: int) -> Any:
    if isinstance(structure, One):
        return next(items)
    if isinstance(structure, Many):
        found = list(islice(items, structure.least + spare))
        return found if structure.least < 2 else tuple(found)
    parts = tuple(_shaped(part, items, spare) for part in structure.parts)
    return _named(structure.fields)(*parts) if structure.fields else parts


@cache
def _named(fields: tuple[str, ...]) -> Any:
    return namedtuple("Streams", fields)


def like(value: Any, items: list[Any]) -> Any:
    """Return ``items`` as a list or tuple as ``value`` is one, with its names."""
    if isinstance(value, list):
        return items
    return type(value)(*items) if hasattr(value, "_fields") else tuple(items)


def written(value: Any) -> str:
    """Return nested lists and tuples of texts as a program writes them, in brackets of their own."""
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))}{',' if len(value) == 1 else ''})"
    return f"[{', '.join(map(written, value))}]" if isinstance(value, list) else str(value)


def value_text(value: Any) -> str:
    """Return the value of a parameter as a program writes it: functions by their names, texts in quotes."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(value_text, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(getattr(value, "func_name", value))


def _described(structure: Structure) -> str:
    if isinstance(structure, One):
        return "one stream"
    if isinstance(structure, Many):
        return f"a {structure.kind} of streams"
    if all(isinstance(part, One) for part in structure.parts):
        return f"a tuple of {few(len(structure.parts), 'stream')}"
    return ", and ".join(f"a {part.name}" if isinstance(part, One) else _described(part) for part in structure.parts)


def _sketched(structure: Structure, lone: str) -> Any:
    """Return names in the structure; a stream that stands alone is called ``lone``."""
    if isinstance(structure, One):
        return lone or structure.name
    if isinstance(structure, Many):
        return [structure.name, "..."] if structure.least < 2 else (structure.name, "...")
    return tuple(_sketched(part, "") for part in structure.parts)


class Inputs(Record):
    """How ``.apply(...)`` takes its streams: in one of several structures, the first of which is the usual one.

    ``chains`` says that more streams than these can be taken two by two, a result with the next.
    """

    ways: tuple[Structure, ...]
    chains: bool = False

    @cached_property
    def text(self) -> str:
        """What it takes, in words."""
        return ", or ".join("no stream" if way == NOTHING else _described(way) for way in self.ways)

    def sketch(self, lone: str = "input") -> str:
        """Return what stands in the brackets of ``.apply``, by names; one stream alone is called ``lone``."""
        way = self.ways[0]
        return "" if way == NOTHING else written(_sketched(way, lone))

    def fits(self, value: Any, is_stream: Callable[[Any], bool]) -> bool:
        """Return whether ``value`` is structured as one of the ways."""
        ways = self.ways
        return fits(ways[0], value, is_stream) or any(fits(way, value, is_stream) for way in ways[1:])

    def write(self, texts: Sequence[str]) -> str:
        """Return what stands in the brackets of ``.apply`` for flat ``texts`` of streams.

        Raises:
            ValueError: the operator does not take so many.
        """
        for way in self.ways:
            if len(texts) == _least(way) or (len(texts) > _least(way) and _is_open(way)):
                found = shaped(way, texts)
                return "" if found is None else written(tuple(found) if isinstance(way, Many) else found)
        raise ValueError(f"this operator takes {self.text}, found {few(len(texts), 'stream')}")

    def fields(self, first: int, lone: str) -> str:
        """Return the brackets of ``.apply`` as a snippet with tab stops from ``first`` on; ``lone`` is that of one."""
        way = self.ways[0]
        if isinstance(way, Group):
            stops = ", ".join(f"${number}" for number, _ in enumerate(way.parts, first))
            return f"(({stops}))" if stops else "()"
        return f"({lone})"

    @property
    def parts(self) -> tuple[Structure, ...]:
        """What stands side by side in the usual way."""
        return self.ways[0].parts if isinstance(self.ways[0], Group) else self.ways[:1]

    @property
    def selector(self) -> int | None:
        """Which of :attr:`parts` selects; None where nothing is routed."""
        return next((at for at, part in enumerate(self.parts) if isinstance(part, One) and part.selects), None)

    @cached_property
    def takes_one(self) -> bool:
        """Whether one of the ways is a stream alone."""
        return self.takes(One)

    def takes(self, kind: type[Structure]) -> bool:
        """Return whether one of the ways is a structure of this kind."""
        return any(isinstance(way, kind) for way in self.ways)

    def ordinal(self, index: int, count: int) -> str:
        """Return what messages call input ``index`` of ``count`` (flat) when it has no name."""
        if count == 1:
            return "the input"
        if any(isinstance(part, Many) for part in self.parts) and len(self.parts) > 1:
            part = next(part for part in reversed(self.parts) if isinstance(part, One))
            return f"the {part.name}" if index == count - 1 else f"number {index}"
        return f"the {_ORDINALS[index]} input" if index < len(_ORDINALS) else f"input {index + 1}"


class Outputs(Record):
    """What ``.apply(...)`` returns. ``more`` is the way out for a program that wants more streams than there are.

    Where the parameter ``given`` has a value, it returns ``instead``.
    """

    structure: Structure
    more: str = ""
    given: str = ""
    instead: Outputs | None = None

    def of(self, params: Mapping[str, Any]) -> Outputs:
        """Return what comes of a call with these parameters."""
        return self if self.instead is None or params.get(self.given) is None else self.instead

    @cached_property
    def text(self) -> str:
        """What it gives, in words."""
        found = "nothing" if self.structure == NOTHING else _described(self.structure)
        return found if self.instead is None else f"{found}; with {self.given}, {self.instead.text}"

    @property
    def names(self) -> tuple[str, ...]:
        """The names of what stands side by side, where it has some."""
        return self.structure.fields if isinstance(self.structure, Group) else ()

    @cached_property
    def counted_by(self) -> str:
        """The parameter that says how many streams there are; an empty text where that is always the same."""
        return next((part.count for part in _parts(self.structure) if isinstance(part, Many)), "")

    def count(self, number: int = 0) -> int:
        """Return how many streams there are (flat), ``number`` being the value of :attr:`counted_by`."""
        return number * self._lists + self._alone

    def shape(self, items: Sequence[Any]) -> Any:
        """Return the flat ``items`` as the program gets them."""
        if isinstance(self.structure, One):
            return items[0]
        if isinstance(self.structure, Many):
            return list(items) if self.structure.least < 2 else tuple(items)
        return tuple(items) if self._is_plain else shaped(self.structure, items)

    # What the structure comes to, because each application asks.

    @cached_property
    def _lists(self) -> int:
        return sum(isinstance(part, Many) for part in _parts(self.structure))

    @cached_property
    def _alone(self) -> int:
        return sum(isinstance(part, One) for part in _parts(self.structure))

    @cached_property
    def _is_plain(self) -> bool:
        """Whether it is a tuple of streams without names."""
        group = self.structure
        return (
            isinstance(group, Group)
            and group.parts != ()
            and not group.fields
            and all(isinstance(part, One) for part in group.parts)
        )

    def write(self, texts: Sequence[str]) -> str:
        """Return the left side of an assignment for flat ``texts``, as flat as it can be; empty where nothing comes."""
        if isinstance(self.structure, Many) and len(texts) == 1:
            return f"[{texts[0]}]"
        found = self.shape(texts)
        return ", ".join(map(written, found)) if isinstance(found, (list, tuple)) else found or ""


def _parts(structure: Structure) -> Iterator[One | Many]:
    if isinstance(structure, Group):
        for part in structure.parts:
            yield from _parts(part)
    else:
        yield structure


def pair(second: str, *, selects: bool = False, chains: bool = False) -> Inputs:
    """Return the convention of two streams, of which messages write ``second`` for the second."""
    return Inputs((Group((One("first", "DATA"), One("second", second, selects))),), chains)


NO_INPUT: Final = Inputs((NOTHING,))
ONE_INPUT: Final = Inputs((One(),))
ONE_OR_TUPLE: Final = Inputs((One(), Many("input", 2)))
BRANCHES_AND_SELECTOR: Final = Inputs((Group((Many(), One("selector", "SELECTOR", selects=True))),))
NO_OUTPUT: Final = Outputs(NOTHING)
ONE_OUTPUT: Final = Outputs(One("result"))


# -- the whole -----------------------------------------------------------------------------------------------


class Calling(Record):
    """How one operator is called. ``defaults`` are the values of the parameters that may be left out.

    What it computes depends on ``own``; ``common`` are parameters that it shares with others and that change no result.
    """

    name: str
    own: tuple[Param, ...]
    defaults: Mapping[str, Any]
    inputs: Inputs
    outputs: Outputs
    instead: str = ""  # the way out for who gives parameters to an operator without any
    common: tuple[Param, ...] = ()

    @cached_property
    def params(self) -> tuple[Param, ...]:
        """All parameters, its own first."""
        return (*self.own, *self.common)

    def work_out(self) -> None:
        """Find out at once what is worked out when it is asked for, and kept."""
        for part in (self, self.inputs, self.outputs):
            for name, value in vars(type(part)).items():
                if isinstance(value, cached_property):
                    getattr(part, name)

    def computing(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Return those of ``params`` on which a result depends."""
        return {name: value for name, value in params.items() if name not in self._shared}

    @cached_property
    def _shared(self) -> frozenset[str]:
        return frozenset(param.name for param in self.common)

    @cached_property
    def by_name(self) -> dict[str, Param]:
        """The parameters by their keywords."""
        return {param.name: param for param in self.params}

    @cached_property
    def holds(self) -> frozenset[str]:
        """The parameters that are memory off chip."""
        return frozenset(param.name for param in self.params if param.kind is ParamKind.MEMORY)

    @cached_property
    def required(self) -> tuple[str, ...]:
        """The parameters without a default."""
        return tuple(param.name for param in self.params if param.name not in self.defaults)

    @cached_property
    def lists(self) -> tuple[str, ...]:
        """The parameters that are lists: operators hold tuples of them, whatever was given."""
        return tuple(param.name for param in self.params if param.kind in _LISTS)

    def binds(self, given: Mapping[str, Any]) -> bool:
        """Return whether ``given`` are parameters of the right kinds, and all that are required."""
        for name, value in given.items():
            param = self.by_name.get(name)
            if param is None or not (param.kind.accepts(value) or self.is_default(name, value)):
                return False
        return all(map(given.__contains__, self.required))

    def is_default(self, name: str, value: Any) -> bool:
        """Return whether ``value`` is what the parameter is when it is left out."""
        return name in self.defaults and type(value) is type(self.defaults[name]) and value == self.defaults[name]

    def head(self, written_name: str = "") -> str:
        """Return the operator with its required parameters to be filled in: ``Accum(fn=..., b=...)``."""
        return f"{written_name or self.name}({', '.join(f'{name}=...' for name in self.required)})"

    def line(self, name: str, params: Mapping[str, str], inputs: Sequence[str], outputs: Sequence[str]) -> str:
        """Return the assignment that applies the operator, written as ``name``, to flat ``inputs``, all given as texts.

        Raises:
            ValueError: the operator does not take so many inputs.
        """
        targets = self.outputs.of(params).write(outputs)
        given = ", ".join(f"{key}={value}" for key, value in params.items())
        return f"{targets}{' = ' if targets else ''}{name}({given}).apply({self.inputs.write(inputs)})"

    def label(self, param: Param) -> str:
        """Return how a parameter is shown: ``b=...``, with its value when it is left out."""
        value = self.defaults.get(param.name)
        return f"{param.name}={'...' if value is None else value_text(value)}"

    def kind_text(self, param: Param) -> str:
        """Return what a parameter accepts, in words."""
        is_optional = param.name in self.defaults
        otherwise = param.otherwise or str(self.defaults.get(param.name))
        return f"{param.kind.value}, {otherwise} unless given" if is_optional else param.kind.value
