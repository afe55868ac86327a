"""Where the value of an expression may come from."""

from __future__ import annotations

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final, TypeAlias


class Inside(Enum):
    """Ways into what a parameter holds where no key is known."""

    ANY = "any"  # one of its items, or a part of a tensor
    ITEM = "item"  # an item of it where it is a list; of a tensor nothing


Key: TypeAlias = "int | str"
_DEEPEST: Final = 8  # steps into a parameter that are told apart


class HeldFunction(ABC):
    """What a value may be that is called: a helper function, or one of torch."""

    __slots__ = ()

    @property
    @abstractmethod
    def label(self) -> str:
        """What it is called by, for an order that is the same in each run."""


@dataclass(frozen=True, slots=True)
class TorchFunction(HeldFunction):
    """A function or module of torch."""

    space: str
    name: str

    @property
    def label(self) -> str:
        """Its whole name."""
        return f"{self.space}.{self.name}"


@dataclass(frozen=True, slots=True)
class Called:
    """A call by ``node`` of what it is not known there, with these arguments.

    ``is_counted`` says that each positional one stands for itself, and none for a number of them.
    """

    node: ast.Call
    positional: tuple[Held, ...]
    keywords: tuple[tuple[str, Held], ...] = ()
    is_counted: bool = True

    def arguments(self) -> list[Held]:
        """Return all arguments."""
        return [*self.positional, *(held for _, held in self.keywords)]

    def with_each(self, change: Callable[[Held], Held]) -> Called:
        """Return the same call with other arguments."""
        keywords = tuple((name, change(held)) for name, held in self.keywords)
        return replace(self, positional=tuple(map(change, self.positional)), keywords=keywords)


@dataclass(frozen=True, slots=True)
class HelperParameter:
    """What a helper gets by one of its parameters, or what stands at the end of some steps into that.

    A step by which it is called leads to what that gives.
    """

    helper: int
    name: str
    steps: tuple[Key | Inside | Called, ...] = ()

    def at(self, step: Key | Inside | Called) -> HelperParameter:
        """Return what stands one step further in."""
        return replace(self, steps=(*self.steps, step)) if len(self.steps) < _DEEPEST else self

    @property
    def is_result(self) -> bool:
        """Whether a call leads to it."""
        return any(isinstance(step, Called) for step in self.steps)


# The number of a list or dictionary of the body's own; a parameter; what can be called; or one of those in ``FOREIGN``.
Place: TypeAlias = "int | str | HelperParameter | HeldFunction"
_ANYTHING: Final = ""  # a tensor or list that a body got, or ``global`` made
_TENSORS: Final = "tensors"  # a list of tensors that it got
_NUMBERS: Final = "numbers"  # a dictionary of numbers that it got
FOREIGN: Final = frozenset({_ANYTHING, _TENSORS, _NUMBERS})


@dataclass(frozen=True, slots=True)
class Held:
    """Where a value may come from.

    ``places`` are what it may be or, as a tensor, may share memory with; ``lists`` those of them that it may be as a
    list. ``is_closed`` says that a value certainly is no list and no dictionary: what is put into it is copied (a
    tensor), or nothing is (a number, a tuple of torch).
    """

    places: frozenset[Place] = frozenset()
    lists: frozenset[Place] = frozenset()
    is_closed: bool = False

    def __or__(self, other: Held) -> Held:
        if self == other:
            return self
        return Held(self.places | other.places, self.lists | other.lists, self.is_closed and other.is_closed)

    @staticmethod
    def of(place: Place) -> Held:
        """Return what may be the list at ``place``."""
        places = frozenset({place})
        return Held(places, places)

    @staticmethod
    def function(callee: HeldFunction) -> Held:
        """Return what certainly is a function."""
        return Held(frozenset({callee}))

    @property
    def is_foreign(self) -> bool:
        """Whether it may share memory with what a body must not change."""
        return not FOREIGN.isdisjoint(self.places)

    def as_tensor(self) -> Held:
        """Return the same where it is a tensor, or what shares memory with it then."""
        places = (each for each in self.places if isinstance(each, HelperParameter) or each == _ANYTHING)
        return Held(frozenset(places), is_closed=True)

    def as_list(self) -> Held:
        """Return the same where it is a list."""
        return Held(self.lists, self.lists)

    def of_parameters(self) -> Held:
        """Return the same without what is no parameter of a helper."""
        places = frozenset(each for each in self.places if isinstance(each, HelperParameter))
        return Held(places, self.lists & places)

    def callees(self) -> list[HeldFunction]:
        """Return what it may be that can be called."""
        return sorted((each for each in self.places if isinstance(each, HeldFunction)), key=lambda each: each.label)

    def not_of(self, helper: int) -> Held:
        """Return the same without what are parameters of a helper."""
        others = (each for each in self.places if not isinstance(each, HelperParameter) or each.helper != helper)
        places = frozenset(others)
        return Held(places, self.lists & places, self.is_closed)


OWN: Final = Held()
NEW: Final = Held(is_closed=True)
TENSOR: Final = Held(frozenset({_ANYTHING}), is_closed=True)
GIVEN: Final = Held.of(_ANYTHING)
GIVEN_TENSORS: Final = Held.of(_TENSORS)
GIVEN_NUMBERS: Final = Held.of(_NUMBERS)
OF_GIVEN: Final = {_ANYTHING: GIVEN, _TENSORS: TENSOR, _NUMBERS: NEW}


def any_of(values: Iterable[Held]) -> Held:
    """Return what may be any of these."""
    found: Held | None = None
    for held in values:
        found = held if found is None else found | held
    return OWN if found is None else found


def constant_index(node: ast.expr) -> int | None:
    """Return the integer that an index is, written as such."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() as value)):
            return -value
    return None


def key_of(index: ast.expr) -> Key | None:
    """Return the key that an index is, written as such: an integer or a text."""
    if isinstance(index, ast.Constant) and isinstance(index.value, str):
        return index.value
    return constant_index(index)
