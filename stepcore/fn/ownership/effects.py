"""What a call of a helper function changes, keeps and hands on."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from stepcore.fn.ownership.heap import Content, Heap
from stepcore.fn.ownership.held import OWN, Held, HelperParameter, Inside, Place, any_of

_MOST: Final = 16  # lists that one call hands on and that are told apart


@dataclass(frozen=True, slots=True)
class HelperEffects:
    """What a call of a helper function may change and hand on, by its parameters."""

    parameters: tuple[str, ...]
    changed: Held = OWN  # of what it gets
    sorted: Held = OWN  # what it changes where that is a list
    returned: Held = OWN
    puts: tuple[tuple[Held, Held], ...] = ()  # into what parameters hold, and what it puts there
    lists: Mapping[int, Content] = field(default_factory=dict)  # of its own, that it hands on or puts somewhere
    defaults: Mapping[str, Held] = field(default_factory=dict)  # what parameters hold that a call does not name
    number: int = 0

    @staticmethod
    def unknown(number: int, parameters: Iterable[str]) -> HelperEffects:
        """Return a helper of which nothing is known: it may hand on each argument."""
        names = tuple(parameters)
        return HelperEffects(
            names, returned=any_of(Held.of(HelperParameter(number, name)) for name in names), number=number
        )


class HelperCall:
    """One call of a helper: says what stands there for what the helper's parameters and lists hold."""

    def __init__(self, heap: Heap, node: ast.Call, helper: HelperEffects, given: Mapping[str, Held]) -> None:
        self._heap, self._node, self._helper, self._given = heap, node, helper, given
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
                if step is Inside.ITEM:
                    held = self._heap.item(held)
                else:
                    held = self._heap.at(held, None if isinstance(step, Inside) else step)
            return held if is_list else held.as_tensor()
        if isinstance(place, int) and place in self._helper.lists:
            return self._list(place)
        return Held(frozenset({place}), frozenset({place}) if is_list else frozenset(), not is_list)

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
