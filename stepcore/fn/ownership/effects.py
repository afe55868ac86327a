"""What a call of a helper function changes, keeps and hands on.

What a function of torch gives may be a view of an argument if torch's table says so (``torch_table.VIEWS``, from
schemas and from calls of each function).
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import Final

from stepcore.findings import budget
from stepcore.fn import allow, torch_table
from stepcore.fn.ownership.heap import Content, Heap
from stepcore.fn.ownership.held import (
    NEW,
    OWN,
    Called,
    Held,
    HeldFunction,
    HelperParameter,
    Inside,
    Place,
    TorchFunction,
    any_of,
)

VIEWS: Final[Mapping[str, frozenset[str]]] = {space: allow.names(text) for space, text in torch_table.VIEWS.items()}
DEEPEST_CALLS: Final = 8  # of helpers that were handed on, by each other
_VIEWS_OF_ONE: Final = allow.names(torch_table.VIEWS_OF_ONE)
_MOST: Final = 16  # lists that one call hands on and that are told apart


@dataclass(frozen=True, slots=True, eq=False)
class HelperEffects(HeldFunction):
    """What a call of a helper function may change and hand on, by its parameters."""

    parameters: tuple[str, ...]
    changed: Held = OWN  # of what it gets
    sorted: Held = OWN  # what it changes where that is a list
    returned: Held = OWN
    puts: tuple[tuple[Held, Held], ...] = ()  # into what parameters hold, and what it puts there
    lists: Mapping[int, Content] = field(default_factory=dict)  # of its own, that it hands on or puts somewhere
    defaults: Mapping[str, Held] = field(default_factory=dict)  # what parameters hold that a call does not name
    number: int = 0
    calls: tuple[tuple[Held, Called], ...] = ()  # of what it gets

    @property
    def label(self) -> str:
        """Its number."""
        return str(self.number)

    @staticmethod
    def unknown(number: int, parameters: Iterable[str]) -> HelperEffects:
        """Return a helper of which nothing is known: it may hand on each argument."""
        names = tuple(parameters)
        return HelperEffects(
            names, returned=any_of(Held.of(HelperParameter(number, name)) for name in names), number=number
        )


class HelperCall:
    """One call of a helper: says what stands there for what the helper's parameters and lists hold.

    ``depth`` counts the calls by which helpers that were handed on came to this one.
    """

    def __init__(self, heap: Heap, called: Called, helper: HelperEffects, depth: int = 0) -> None:
        self._heap, self._node, self._helper, self._depth = heap, called.node, helper, depth
        self._given = _given(called, helper)
        self._made: dict[int, Held] = {}

    def here(self, held: Held) -> Held:
        """Return what a value of the helper is in the body that calls it."""
        if not held.places:
            return held
        found = any_of(self._place(place, is_list=place in held.lists) for place in held.places)
        return found.as_tensor() if held.is_closed else found

    def _place(self, place: Place, *, is_list: bool) -> Held:
        if isinstance(place, HelperParameter) and place.helper == self._helper.number:
            held = self._given.get(place.name, OWN)
            for step in place.steps:
                if isinstance(step, Called):
                    held = result(self._heap, held, step.with_each(self.here), self._depth + 1)
                elif step is Inside.ITEM:
                    held = self._heap.item(held)
                else:
                    held = self._heap.at(held, None if isinstance(step, Inside) else step)
            return held if is_list else held.as_tensor()
        if isinstance(place, int) and place in self._helper.lists:
            return self._list(place)
        is_closed = not is_list and not isinstance(place, HeldFunction)
        return Held(frozenset({place}), frozenset({place}) if is_list else frozenset(), is_closed)

    def _list(self, number: int) -> Held:
        """Return the list of this call for one of the helper's; a single one stands for all where there are many."""
        if number in self._made:
            return self._made[number]
        contents = self._helper.lists
        if len(contents) > _MOST:
            made = self._heap.make((self._node, -1))
            self._made |= dict.fromkeys(contents, made)
            for content in contents.values():
                for held in content.values():
                    self._heap.put(made, self.here(held))
            return made
        content = contents[number]
        key = (self._node, number)
        self._made[number] = made = self._heap.reserve(key)
        known = {place: self.here(held) for place, held in content.known.items()}
        rest = None if content.rest is None else self.here(content.rest)
        return self._heap.make_known(key, Content(known, rest, content.length))


def _given(called: Called, helper: HelperEffects) -> dict[str, Held]:
    """Return what a helper's parameters hold in a call."""
    given = dict(helper.defaults)
    if called.is_counted:
        given |= zip(helper.parameters, called.positional, strict=False)
    else:
        given |= zip(helper.parameters, repeat(any_of(called.arguments())), strict=False)
    given |= called.keywords
    return given


def result(heap: Heap, function: Held, called: Called, depth: int = 0) -> Held:
    """Return what a call of what ``function`` may be gives; of what nobody knows it may give any argument."""
    reached = any_of(map(heap.reach, called.arguments()))
    found: list[Held] = []
    for place in function.places:
        if isinstance(place, HelperParameter) and not _is_deep(place, reached):
            found.append(Held.of(place.at(called)))
        elif isinstance(place, HelperEffects) and depth < DEEPEST_CALLS:
            budget.spend(1)
            found.append(HelperCall(heap, called, place, depth).here(place.returned))
        elif isinstance(place, TorchFunction):
            found.append(torch_result(place, called.node, reached))
        else:
            found.append(reached)
            if isinstance(place, int):  # a method of something
                found.append(heap.at(Held.of(place)))
    return any_of(found) if found else reached


def _is_deep(place: HelperParameter, reached: Held) -> bool:
    """Return whether the results of calls are not told apart any more, since there are too many in each other."""
    return place.is_result or any(isinstance(each, HelperParameter) and each.is_result for each in reached.places)


def torch_result(function: TorchFunction, node: ast.Call, reached: Held) -> Held:
    """Return what a function or module of torch may hand on of arguments that reach so far."""
    is_closed = function.space != "torch.ops.aten"  # which gives lists where torch gives tuples
    new = NEW if is_closed else OWN
    if function.name not in VIEWS.get(function.space, ()):
        return new
    operands = [argument for argument in node.args if not isinstance(argument, ast.Constant)]
    if function.name in _VIEWS_OF_ONE and len(operands) > 1:
        return new
    return reached.as_tensor() if is_closed else Held(reached.places)
