"""Names for sizes: of the text, of the function's own variables and equations, else those people use. No torch here."""

from __future__ import annotations

import keyword
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from stepagents.shapes.state import State
from stepagents.torchfn.dims import RESERVED
from stepagents.torchfn.target import Target
from stepcore.sizes.dim import Dim

_LETTERS: Final[Mapping[int, tuple[str, ...]]] = {
    1: ("n",), 2: ("m", "k"), 3: ("b", "t", "c"), 4: ("b", "c", "h", "w"), 5: ("b", "c", "d", "h", "w"),
}  # fmt: skip
_OTHERS: Final = ["n", "p", "q", "r", "s", "e", "f", "g", "i", "j", "l", "o", "u", "v", "y", "z", "a", "d", "x"]
_OWN_NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "q": ("s", "d"), "query": ("s", "d"), "k": ("t", "d"), "key": ("t", "d"), "v": ("t", "e"), "value": ("t", "e"),
}  # fmt: skip


def written_out(state: State, *, everywhere: bool = False) -> State:
    """Return the state with multiples in its sizes: ``x[b, 8*c], w[8*c]`` where ``c`` had to be a multiple of 8.

    A size that stands once says as much without the number. A name that a text gives stays, unless the text itself
    divides it (``d // 2``); so does what has to fit an argument, which may be another number. ``everywhere`` leaves no
    multiple unsaid.
    """
    for symbol, multiple in state.multiples.items():
        sizes = [size for shape in state.dims.values() for size in shape if symbol in size.symbols()]
        is_divided = any("//" in str(size) for size in sizes)
        by_argument = any(type(value) is int and value > 1 and multiple % value == 0 for value in state.values.values())
        is_said = len(sizes) > 1 and (is_divided if "'" not in symbol else not by_argument)
        if multiple > 1 and (is_said or everywhere):
            multiples = {name: number for name, number in state.multiples.items() if name != symbol}
            part = Dim.symbol(state.fresh(symbol.partition("'")[0], 0)) * multiple
            state = replace(state, multiples=multiples).with_size(symbol, part, 0.0, ("", ""))
    return state


def renamed(target: Target, state: State, variables: Mapping[str, int]) -> dict[str, tuple[Dim, ...]]:
    """Return the sizes of a solved state with readable names; ``variables`` of the function tell sizes by name."""
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
