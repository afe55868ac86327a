"""Types of element functions in a Python file: tiles that stand there several times get a name, as people give them.

A tuple of types stands in brackets of its own, and one of many like types is written once: ``(Tile16x6,) * 16``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from typing import Final

from stepcore.fn.decl import FnDecl
from stepcore.sizes.dim import ANY
from stepcore.types import Element, STuple, Tile, components

_OFTEN: Final = 3  # places of a type that gets a name
_MANY: Final = 4  # components that are written as one, so many times
_LONGEST: Final = 24  # characters of a name


class FnTypes:
    """The types of ``fns`` as text; ``written`` writes an element type in full, ``taken`` are names of the file."""

    def __init__(self, fns: Sequence[FnDecl], written: Callable[[Element], str], taken: Collection[str]) -> None:
        self._written = written
        self._names: dict[Element, str] = {}
        places = Counter(tile for fn in fns for element in (fn.input, fn.output) for tile in _tiles(element))
        often = [tile for tile, count in places.items() if count >= _OFTEN]
        proposed = Counter(map(_proposed, often))
        for tile in often:
            name = _proposed(tile)
            if proposed[name] == 1 and name not in taken and len(name) <= _LONGEST:
                self._names[tile] = name

    @property
    def lines(self) -> list[str]:
        """The lines that give names to types."""
        return [f"{name} = {self._written(tile)}" for tile, name in self._names.items()]

    def text(self, element: Element) -> str:
        """Return what a function takes or gives."""
        if not isinstance(element, STuple):
            return self._names.get(element) or self._written(element)
        items = [self.text(item) for item in element.items]
        if len(items) >= _MANY and len(set(items)) == 1:
            return f"({items[0]},) * {len(items)}"
        return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def _tiles(element: Element) -> list[Tile]:
    """Return the tiles that stand in a type: one of many like ones is written once."""
    items = components(element)
    kinds = items[:1] if len(items) >= _MANY and len(set(items)) == 1 else items
    return [each for each in kinds if isinstance(each, Tile)]


def _proposed(tile: Tile) -> str:
    """Return what a tile is called by its sizes: ``Tile16x6``, ``TileRxD`` of any number of rows."""
    sizes = "x".join(re.sub(r"\W+", "_", str(size).removeprefix(ANY)) for size in tile.shape)
    return f"Tile{sizes}" if tile.scalar.dtype == "fp32" else f"Tile{sizes}_{tile.scalar.dtype}"
