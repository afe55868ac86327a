"""Groups of names that may be one value, each with the group of what is kept in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Final

from stepcore.frontend.sharing.facts import Key

DEEPEST: Final = 64  # levels of contents that are told apart


class Groups:
    """Union-find, with one group of contents for each group (Steensgaard, POPL 1996)."""

    def __init__(self) -> None:
        self._parents: dict[Key, Key] = {}
        self._contents: dict[Key, Key] = {}
        self._made = 0  # groups of contents

    def find(self, key: Key) -> Key:
        """Return the group of a key."""
        parents = self._parents
        while (parent := parents.get(key, key)) != key:
            parents[key] = parents.get(parent, parent)
            key = parent
        return key

    def kept_in(self, key: Key) -> Key:
        """Return the group of what is kept in the values of a group."""
        group = self.find(key)
        if group not in self._contents:
            self._made += 1
            self._contents[group] = (-2, str(self._made))
        return self.find(self._contents[group])

    def reached(self, key: Key) -> set[Key]:
        """Return the group of a key, that of its contents, and so on."""
        found: set[Key] = set()
        at: Key | None = key
        while at is not None and (group := self.find(at)) not in found:
            found.add(group)
            at = self._contents.get(group)
        return found

    def flatten(self) -> None:
        """Make one group of what is kept more than :data:`DEEPEST` levels inside, and of longer rings of contents.

        Then :meth:`reached` takes few steps for each key: a file of n lines may keep each list in the next one.
        """
        kept = {group: self.find(inner) for group, inner in self._contents.items()}
        holders = Counter(kept.values())
        depths = {group: 0 for group in kept if not holders[group]}
        pending = [*depths]
        for group in pending:  # which grows: whatever all holders of are known
            inner = kept.get(group)
            if inner is None:
                continue
            depths[inner] = max(depths.get(inner, 0), depths[group] + 1)
            holders[inner] -= 1
            if not holders[inner]:
                pending.append(inner)
        for group in pending:
            if depths[group] > DEEPEST and group in kept:
                self.join([group, kept[group]])
        apart = {group for group in kept if holders[group]}
        while apart:
            ring = [first := apart.pop()]
            while (inner := kept[ring[-1]]) != first:
                ring.append(inner)
            apart.difference_update(ring)
            if len(ring) > DEEPEST:
                self.join(ring)

    def join(self, keys: Iterable[Key]) -> None:
        """Make one group of several, and of what is kept in each."""
        several = [*keys]
        pending = [(several[0], other) for other in several[1:]]
        while pending:
            one, other = (self.find(key) for key in pending.pop())
            if one == other:
                continue
            self._parents[other] = one
            kept = self._contents.pop(other, None)
            if kept is not None and one in self._contents:
                pending.append((self._contents[one], kept))
            elif kept is not None:
                self._contents[one] = kept
