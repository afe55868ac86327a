"""Names for sizes: those of the text, of the function's own variables, else the letters people use. No torch here."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from stepagents.shapes.state import State
from stepagents.torchfn.dims import RESERVED
from stepagents.torchfn.target import Target
from stepcore.dim import Dim

_LETTERS: Final[Mapping[int, tuple[str, ...]]] = {
    1: ("n",), 2: ("m", "k"), 3: ("b", "t", "c"), 4: ("b", "c", "h", "w"), 5: ("b", "c", "d", "h", "w"),
}  # fmt: skip
_OTHERS: Final = ["n", "p", "q", "r", "s", "e", "f", "g", "i", "j", "l", "o", "u", "v", "y", "z", "a", "d", "x"]
_OWN_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "q": ("s", "d"), "query": ("s", "d"), "k": ("t", "d"), "key": ("t", "d"), "v": ("t", "e"), "value": ("t", "e"),
}  # fmt: skip


def renamed(target: Target, state: State, variables: Mapping[str, int]) -> dict[str, tuple[Dim, ...]]:
    """Return the sizes of a solved state with readable names."""
    arguments = {item.name for item in target.arguments}
    taken = arguments | RESERVED | {name for name in state.symbols if "'" not in name}
    by_size: dict[int, list[str]] = {}
    for name, size in variables.items():
        if not name.startswith("_") and name not in arguments:
            by_size.setdefault(size, []).append(name)
    names: dict[str, str] = {}
    for symbol, hints in _symbols(state):
        if "'" not in symbol:
            continue
        own = by_size.get(state.numbers[symbol], [])
        names[symbol] = next(name for name in _candidates(own, hints) if name not in taken and name.isidentifier())
        taken.add(names[symbol])

    def put(name: str) -> Dim | None:
        return Dim.symbol(names[name]) if name in names else None

    return {name: tuple(size.substitute(put) for size in shape) for name, shape in state.dims.items()}


def _symbols(state: State) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each symbol once, with the letters of its place in the first argument that has it."""
    seen: set[str] = set()
    for name, shape in state.dims.items():
        letters = _LETTERS.get(len(shape), ())
        own = _OWN_NAMES.get(name.lower(), ())
        for axis, size in enumerate(shape):
            hints = (own[axis - len(shape)],) if axis - len(shape) >= -len(own) and own else ()
            hints = (*hints, *letters[axis : axis + 1])
            for symbol in sorted(size.symbols()):
                if symbol not in seen:
                    seen.add(symbol)
                    yield symbol, hints


def _candidates(own: Iterable[str], hints: Iterable[str]) -> Iterator[str]:
    yield from (name for name in own if not keyword.iskeyword(name))
    yield from hints
    yield from _OTHERS
    yield from (f"n{number}" for number in range(1, 1000))
