"""Tensors that are broadcast along some dimensions that one loop runs over: positions, a number for each channel.

Such a loop is several for their loads, which stay where they are along the dimensions that the tensor does not have.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import gcd, prod

from stepcore.printing.code_lines import factor
from stepcore.records import Record
from stepcore.sizes.dim import Dim


class LoopShares(Record):
    """The dimensions that a loop runs over, outermost first: how many lanes share each, and the rounds of a lane.

    ``blocks`` are the sizes of blocks along each.
    """

    dims: tuple[Dim, ...]
    lanes: tuple[int, ...]
    blocks: tuple[int, ...]
    rounds: tuple[str, ...]

    def text(self, first: int = 0, end: int | None = None) -> str:
        """Return how many rounds a lane has along some of the dimensions together."""
        factors = self.rounds[first:end]
        return factors[0] if len(factors) == 1 else " * ".join(map(factor, factors))


def loop_shares(dims: Sequence[Dim], lanes: int, block: tuple[int, str], bound: Mapping[str, int]) -> LoopShares | None:
    """Return how ``lanes`` share the blocks of a loop, each a run of them; None where they cut a dimension unevenly.

    ``block`` is the size of blocks along the last dimension, and its name.
    """
    size, name = block
    counts: list[int] = []
    for place, dim in enumerate(dims):
        number = dim.bind(bound)
        if place == len(dims) - 1:
            if number % size:
                return None
            number //= size
        counts.append(number)
    own: list[int] = []
    for number in counts:
        is_open = own == counts[: len(own)]  # the dimensions outside are cut into single places
        own.append(gcd(lanes // prod(own), number) if is_open else 1)
    if prod(own) != lanes:
        return None
    blocks = (*(1 for _ in dims[1:]), size)
    names = (*("" for _ in dims[1:]), name)
    rounds = [
        " // ".join([factor(str(dim)), *([str(count)] if count > 1 else []), *([each] if each else [])])
        for dim, count, each in zip(dims, own, names, strict=True)
    ]
    return LoopShares(tuple(dims), tuple(own), blocks, tuple(rounds))


class RepeatedLoad(Record):
    """How a load walks where a loop runs over more: counts and strides, the fastest first.

    ``lanes`` have blocks of their own, ``behind`` lanes with the same ones follow each other, ``run`` is how many tiles
    further the next of them begins.
    """

    steps: tuple[tuple[str, str], ...]
    lanes: int
    behind: int
    run: str

    def base(self, index: str) -> str:
        """Return the number of the first tile of the lane ``index``."""
        place = index if self.behind == 1 else f"{index} // {self.behind}"
        return f"{factor(f'{place} % {self.lanes}')} * {self.run}"


def repeated(shares: LoopShares, covered: Sequence[Dim], stride: str) -> RepeatedLoad | None:
    """Return how a tensor is walked that has some of a loop's dimensions; None where it is not known which.

    ``stride`` is how many tiles further its next block is.
    """
    dims, count = shares.dims, len(covered)
    places = [place for place in range(len(dims)) if dims[place : place + count] == tuple(covered)]
    if len(places) != 1:
        return None
    first, end = places[0], places[0] + count
    steps = [(shares.text(first, end), stride)]
    if end < len(dims):
        steps.insert(0, (shares.text(end), "0"))
    if first > 0:
        steps.append((shares.text(0, first), "0"))
    run = factor(steps[1 if end < len(dims) else 0][0])
    run = run if stride == "1" else f"{run} * {factor(stride)}"
    return RepeatedLoad(tuple(steps), prod(shares.lanes[first:end]), prod(shares.lanes[end:]), run)
