"""What the lists and dictionaries of a body may hold, by whatever name they go.

Each display, comprehension or call that makes a list stands for one list. What is put into it only adds to what it may
hold, except where it certainly is that list, and the statement runs once: then an item takes the place of another.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from stepcore.findings import budget
from stepcore.fn.ownership.held import (
    NEW,
    OF_GIVEN,
    OWN,
    Held,
    HeldFunction,
    HelperParameter,
    Inside,
    Key,
    Place,
    any_of,
)

MOST_KEYS: Final = 64  # of a list, that are told apart
_MOST_LISTS: Final = 32  # that a value may be, and that are told apart


@dataclass(slots=True)
class Content:
    """What a list holds: ``known`` at keys that are known, ``rest`` at any place; ``length`` where it is known."""

    known: dict[Key, Held] = field(default_factory=dict)
    rest: Held | None = None
    length: int | None = None

    def values(self) -> list[Held]:
        """Return what it may hold, wherever."""
        return [*self.known.values(), *([] if self.rest is None else [self.rest])]

    def at(self, key: Key | None) -> Held:
        """Return what may stand at a key, or anywhere."""
        exact = self.known.get(self._place(key)) if key is not None else None
        if exact is None:
            return any_of(self.values())
        return exact if self.rest is None else exact | self.rest

    def put(self, key: Key | None, held: Held, *, instead: bool) -> bool:
        """Take note that ``held`` was put somewhere, ``instead`` of all that stood there or perhaps not.

        Return whether that is news.
        """
        place = self._place(key) if key is not None else None
        if place is not None and place == self.length and instead:  # one more at the end
            self.length += 1
        elif place is None or (self.length is not None and place not in self.known):
            rest, self.rest = self.rest, held if self.rest is None else self.rest | held
            return rest != self.rest
        stood = self.known.get(place)
        self.known[place] = held if instead or stood is None else stood | held
        return self.known[place] != stood

    def scatter(self) -> bool:
        """Forget at which keys things stand; return whether any did."""
        if not self.known and self.length is None:
            return False
        values = self.values()
        self.known.clear()
        self.rest, self.length = (any_of(values) if values else None), None
        return True

    def _place(self, key: Key) -> Key:
        return key + self.length if isinstance(key, int) and key < 0 and self.length is not None else key


class Heap:
    """The lists of a body, by number, and what was put into what parameters hold."""

    def __init__(self) -> None:
        self._numbers: dict[Hashable, int] = {}
        self._contents: dict[Place, Content] = {}
        self._one_of: dict[Place, int] = {}  # lists that are not told apart any more, and the first of them
        self.version = 0  # of what lists hold

    def __len__(self) -> int:
        return len(self._numbers)

    def make(self, key: Hashable, values: Iterable[Held] = ()) -> Held:
        """Return the list that ``key`` stands for, which may hold ``values`` at any place, too."""
        found = list(values)
        return self.make_known(key, Content(rest=any_of(found) if found else None))

    def reserve(self, key: Hashable) -> Held:
        """Return the list that ``key`` stands for before it is known what it holds."""
        return Held.of(self._numbers.setdefault(key, len(self._numbers)))

    def make_known(self, key: Hashable, content: Content) -> Held:
        """Return the list or dictionary that ``key`` stands for, which may hold this ``content``, too."""
        number = self._numbers.setdefault(key, len(self._numbers))
        before = self.content(number)
        if before is None:
            self._contents[number] = content
            self.version += 1
        elif before.known.keys() == content.known.keys() and before.length == content.length:
            for place, held in content.known.items():
                self.version += before.put(place, held, instead=False)
            if content.rest is not None:
                self.version += before.put(None, content.rest, instead=False)
        else:
            self.version += before.scatter()
            for held in content.values():
                self.version += before.put(None, held, instead=False)
        return Held.of(number)

    def content(self, place: Place) -> Content | None:
        """Return what the list at a place holds; of a parameter, what was put into it."""
        return self._contents.get(self._one_of.get(place, place))

    def few(self, held: Held) -> Held:
        """Return the same with not too many lists: beyond that, those of the body's own are one, with what all hold."""
        if len(held.lists) <= _MOST_LISTS:
            return held
        own = sorted({self._one_of.get(place, place) for place in held.lists if isinstance(place, int)})
        if len(own) > _MOST_LISTS:
            self._unite(own)
            own = own[:1]
        others = frozenset(place for place in held.lists if not isinstance(place, int))
        lists = others.union(own)
        return Held((held.places - held.lists) | lists, lists, held.is_closed)

    def _unite(self, own: list[int]) -> None:
        (first, *others), values = own, [held for place in own for held in self._values(place)]
        united = set(others)
        for place, one in self._one_of.items():
            if one in united:
                self._one_of[place] = first
        self._one_of |= dict.fromkeys([first, *others], first)
        self._contents[first] = content = Content()
        if values:
            content.rest = any_of(values)
            content.rest = self.few(content.rest)

    def _values(self, place: Place) -> list[Held]:
        content = self.content(place)
        return [] if content is None else content.values()

    def at(self, held: Held, key: Key | None = None) -> Held:
        """Return what an item may be, or a part of a tensor: what shares memory with that."""
        tensor = held.places - held.lists
        parts = [self._item(place, Inside.ANY if key is None else key) for place in held.lists]
        if tensor:
            parts.append(Held(tensor, is_closed=True))
        if not parts:
            return NEW if held.is_closed else OWN
        return any_of(parts)

    def item(self, held: Held) -> Held:
        """Return what an item may be where it is a list; a tensor has none."""
        return any_of(self._item(place, Inside.ITEM) for place in held.lists)

    def sequence(self, held: Held) -> list[Held] | None:
        """Return the items in their order of what is one list of the body's own, if all are known."""
        number = _single(held)
        content = None if number is None else self.content(number)
        if content is None or content.length is None or content.rest is not None:
            return None
        return [content.known[place] for place in range(content.length)]

    def make_sequence(self, key: Hashable, items: list[Held]) -> Held:
        """Return the list that ``key`` stands for, with these items."""
        if len(items) > MOST_KEYS:
            return self.make(key, items)
        return self.make_known(key, Content(dict(enumerate(items)), length=len(items)))

    def put(self, base: Held, held: Held, key: Key | None = None, *, once_since: int | None = None) -> None:
        """Take note that ``held`` was put into ``base``.

        ``once_since`` says that the statement runs once for each list from that number on, so that nothing else stands
        there afterwards.
        """
        number = _single(base)
        instead = number is not None and once_since is not None and number >= once_since
        instead = instead and number not in self._one_of  # which stands for several
        budget.spend(len(held.places) + len(base.lists) >> 4)
        for place in base.lists:
            if isinstance(place, int | HelperParameter):
                content = self._contents.setdefault(self._one_of.get(place, place), Content())
                self.version += content.put(key, held, instead=instead)
                if content.rest is not None:
                    content.rest = self.few(content.rest)

    def end(self, base: Held) -> int | None:
        """Return where the next item of a list stands, if that is known: it is one short list, of known length."""
        number = _single(base)
        content = None if number is None else self.content(number)
        return None if content is None or content.length is None or content.length > MOST_KEYS else content.length

    def scatter(self, base: Held) -> None:
        """Take note that the places of what ``base`` holds are not known any more."""
        for place in base.lists:
            if (content := self.content(place)) is not None:
                self.version += content.scatter()

    def reach(self, held: Held) -> Held:
        """Return all that a value may be or hold, lists inside of lists included."""
        places, lists, pending = set(held.places), set[Place](), list(held.lists)
        while pending:
            place = pending.pop()
            if place in lists:
                continue
            lists.add(place)
            for inner in self._inside(place):
                budget.spend(len(inner.places) >> 4)
                places |= inner.places
                pending += inner.lists
        budget.spend(len(lists))
        return held if not held.lists else Held(frozenset(places), frozenset(lists), held.is_closed)

    def reaches_others(self, held: Held) -> bool:
        """Whether a value may be or hold anything but lists of the body's own, functions and what is new."""
        return any(not isinstance(place, int | HeldFunction) for place in self.reach(held).places)

    def _inside(self, place: Place) -> list[Held]:
        """Return what may stand in a list; of a parameter as deep as it is told apart."""
        if isinstance(place, str):
            return [OF_GIVEN[place]]
        found = self._values(place)
        return [*found, Held.of(place.at(Inside.ANY))] if isinstance(place, HelperParameter) else found

    def closure(self, values: Iterable[Held], since: int) -> Mapping[int, Content]:
        """Return the contents of all lists from number ``since`` on that are or stand in what these may be."""
        places = (place for held in values for place in self.reach(held).lists)
        own = (place for place in places if isinstance(place, int) and place >= since)
        return {place: content for place in own if (content := self.content(place)) is not None}

    def _item(self, place: Place, step: Key | Inside) -> Held:
        content = self.content(place)
        if isinstance(place, str):
            return OF_GIVEN[place]
        if isinstance(place, HelperParameter):
            given = Held.of(place.at(step))
            return given if content is None or content.rest is None else given | content.rest
        return OWN if content is None else content.at(None if isinstance(step, Inside) else step)


def _single(held: Held) -> int | None:
    """Return the list of the body's own that a value certainly is, None for anything else."""
    if len(held.places) != 1 or held.lists != held.places:
        return None
    (place,) = held.lists
    return place if isinstance(place, int) else None
