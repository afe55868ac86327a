"""At which sizes a function is traced: symbols that stay symbols, and sizes that have to be numbers. Loads torch.

A symbol gets a prime that no small constant equals. Where the function needs a multiple (``chunk(2)``, heads) or one
size only (weights of a module), running it on shapes alone finds out, which takes milliseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from typing import Final

from stepagents.torchfn.refusals import Refused
from stepcore.records import Record

_PRIMES: Final = (11, 13, 17, 19, 23, 29, 31, 37, 41, 43, 47, 53)
# Sizes of further traces. In each column the four sizes of a symbol have all remainders modulo 3 and 4, and different
# ones modulo 8, so that (n + 1)//3 does not seem to be n//3; of two columns the larger one is not the same everywhere,
# so that what follows one symbol does not seem to follow another.
_FURTHER: Final = (
    (78, 36, 55, 93, 40, 87, 73, 43, 99, 70, 96, 82),
    (104, 94, 88, 80, 77, 66, 62, 54, 48, 41, 34, 24),
)
_ALONE: Final = (37, 35, 54, 66, 54, 88, 60, 80, 82, 72, 65, 71)  # of a symbol while the others stay
# Where kernels slide over what other kernels and pools left: theirs, and those of all other symbols.
_KERNELS: Final = (5, 3, 7, 2)
_SLID: Final = (53, 59, 61, 67, 71, 73, 79, 83, 89, 97, 101, 103)
# Of symbols that loops run along, round by round: small ones, because a trace writes every round out first.
_FEW_FURTHER: Final = ((6, 10), (8, 9))
_FEW_ALONE: Final = (7, 11)
_MULTIPLES: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
_MOST_PROBES: Final = 300
_MOST_ALONE: Final = 8  # symbols: with more the traces would take seconds
Probe = Callable[[Mapping[str, int]], object]


class Sizing(Record):
    """``base`` are the sizes of the first trace, ``multiples`` divide symbols, ``fixed`` says why a size is a number.

    A size in ``fixed`` is in ``numbers`` and no symbol any more. ``kernels`` are symbols that have to stay small.
    """

    base: Mapping[str, int]
    multiples: Mapping[str, int] = field(default_factory=dict)
    numbers: Mapping[str, int] = field(default_factory=dict)
    fixed: Mapping[str, str] = field(default_factory=dict)
    kernels: frozenset[str] = frozenset()

    def variants(self, rounds: Container[int] = ()) -> Iterator[dict[str, int]]:
        """Yield the sizes of further traces: other ones for all symbols, then for one symbol at a time.

        ``rounds`` are the numbers of rounds of loops at the sizes of ``base``; a symbol that is one of them gets small
        sizes.
        """
        if not self.base:
            return
        slow = [name for name in self.base if self.is_rounds(name, rounds) or name in self.kernels]
        few = {name: place % len(_FEW_ALONE) for place, name in enumerate(slow)}
        count = len(_PRIMES)
        for row, small in zip(_FURTHER, _FEW_FURTHER, strict=True):
            numbers = (row[index % count] + 113 * (index // count) for index in range(len(self.base)))
            named = zip(self.base, numbers, strict=True)
            yield {name: self._size(name, small[few[name]] if name in few else number) for name, number in named}
        if len(self.base) <= _MOST_ALONE:
            for index, name in enumerate(self.base):
                number = _FEW_ALONE[few[name]] if name in few else _ALONE[index % count]
                yield {**self.base, name: self._size(name, number)}

    def is_rounds(self, name: str, rounds: Container[int]) -> bool:
        """Whether a symbol is, at the size of ``base``, a number of rounds or one more."""
        return self.base[name] in rounds or self.base[name] - 1 in rounds

    def _size(self, name: str, factor: int) -> int:
        return self.multiples.get(name, 1) * factor


def find_sizing(
    symbols: Sequence[str],
    asked: Mapping[str, int],
    known: Sequence[int],
    probe: Probe,
    kernels: Sequence[str] = (),
) -> Sizing:
    """Return sizes at which the function runs.

    Args:
        symbols: the symbols of the arguments, in order.
        asked: sizes that the user gave; tried where free ones are impossible.
        known: sizes of weights, which an argument may have to match.
        probe: runs the function on shapes; raises :class:`Refused` where they are impossible.
        kernels: symbols that are sizes of kernels, in order.

    Raises:
        Refused: at no sizes; the error of the sizes that a user would try first.
    """
    free = dict(zip(symbols, _primes(len(symbols)), strict=True))
    first = _attempt(probe, {**free, **_strict(asked, symbols)} if set(asked) >= set(symbols) else free)
    if _attempt(probe, free) is None:
        return Sizing(free)
    falling = dict(zip(free, reversed(free.values()), strict=True))  # kernels come after what they slide over
    if _attempt(probe, falling) is None:
        return Sizing(falling)
    if kernels:
        slid = (_SLID[index % len(_SLID)] + 100 * (index // len(_SLID)) for index in range(len(symbols)))
        small = dict(zip(symbols, slid, strict=False))
        small |= {name: _KERNELS[index % len(_KERNELS)] for index, name in enumerate(kernels)}
        if _attempt(probe, small) is None:
            return Sizing(small, kernels=frozenset(kernels))
    for multiple in (2, 4, 8, 12, 16, 24, 48):
        sizes = {name: size * multiple for name, size in free.items()}
        if _attempt(probe, sizes) is None:
            return _smallest(Sizing(sizes), free, probe)
    for sizes in _guesses(symbols, asked, known, free):
        if _attempt(probe, sizes) is None:
            return _loosened(sizes, free, probe)
    assert first is not None
    raise first


def _strict(asked: Mapping[str, int], symbols: Sequence[str]) -> dict[str, int]:
    return {name: asked[name] for name in symbols if name in asked}


def _primes(count: int) -> list[int]:
    return [_PRIMES[index % len(_PRIMES)] + 53 * (index // len(_PRIMES)) for index in range(count)]


def _attempt(probe: Probe, sizes: Mapping[str, int]) -> Refused | None:
    try:
        probe(sizes)
    except Refused as error:
        if error.is_final:
            raise
        return error
    return None


def _guesses(
    symbols: Sequence[str], asked: Mapping[str, int], known: Sequence[int], free: Mapping[str, int]
) -> Iterator[dict[str, int]]:
    """Yield what the user asked for, then combinations of free sizes and sizes of weights, few of these first."""
    if asked:
        yield {**free, **_strict(asked, symbols)}
    choices = [[free[name], *sorted(set(known))] if name not in asked else [asked[name]] for name in symbols]
    combined = sorted(product(*choices), key=lambda sizes: sum(size in known for size in sizes)) if known else []
    for sizes in combined[:_MOST_PROBES]:
        yield dict(zip(symbols, sizes, strict=True))


def _smallest(found: Sizing, free: Mapping[str, int], probe: Probe) -> Sizing:
    """Give every symbol the smallest multiple with which the function still runs."""
    sizes, multiples = dict(found.base), {}
    for name in sizes:
        for multiple in _MULTIPLES:
            trial = {**sizes, name: free[name] * multiple}
            if trial == sizes or _attempt(probe, trial) is None:
                sizes = trial
                if multiple > 1:
                    multiples[name] = multiple
                break
    return Sizing(sizes, multiples)


def _loosened(found: Mapping[str, int], free: Mapping[str, int], probe: Probe) -> Sizing:
    """Let go of every size that may vary; the others become numbers."""
    sizes, multiples, numbers, fixed = dict(found), {}, {}, {}
    for name, given in found.items():
        for multiple in _MULTIPLES:
            trial = {**sizes, name: free[name] * multiple}
            if _attempt(probe, trial) is None:
                sizes = trial
                if multiple > 1:
                    multiples[name] = multiple
                break
        else:
            numbers[name] = given
            fixed[name] = f"the function runs only with {name}={given}"
    base = {name: size for name, size in sizes.items() if name not in numbers}
    return Sizing(base, multiples, numbers, fixed)
