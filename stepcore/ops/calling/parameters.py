"""The parameters of operators: of what kind their values are."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from operator import attrgetter
from typing import Final

from stepcore.records import Record
from stepcore.sizes.dim import Dim
from stepcore.sizes.foreign import is_foreign
from stepcore.types import Element


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
LISTS: Final = frozenset({ParamKind.INDICES, ParamKind.TILE, ParamKind.SIZES, ParamKind.OFFSETS})


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
