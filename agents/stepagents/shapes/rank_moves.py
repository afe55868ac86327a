"""Changes of how many dimensions an argument has, after a failure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from stepagents.shapes.natural import (
    GATHERED,
    INTERCEPT,
    JOINING,
    RANKS,
    TERMS,
)
from stepagents.shapes.outcome import TensorOperand
from stepagents.shapes.situation import Situation
from stepagents.shapes.starting import is_weight
from stepagents.shapes.state import State, symbol_of

_HIGHEST_RANK: Final = 6


class RankMoves(Situation):
    """What may be wrong with the number of dimensions."""

    def _ranks(self) -> Iterator[State]:
        seen: set[tuple[str, int]] = set()
        for operand, wanted, cost in self._wanted_ranks():
            for name in sorted(operand.origins, key=self._order):
                if name not in self._state.dims:
                    continue
                now = len(self._state.dims[name])
                rank = wanted if operand.is_argument else now + wanted - len(operand.shape)
                if rank == now or not 0 <= rank <= _HIGHEST_RANK or (name, rank) in seen:
                    continue
                seen.add((name, rank))
                yield from self._together(operand, name, rank, cost)
                own = 6.0 if name in self._told else 0.0
                extra = (0.0 if operand.is_argument else 0.3) + 1.2 * (rank == 0)
                if self._failure.promised and rank < now:  # what the line takes last is the vector: tanh(x @ w) @ v
                    extra += 0.2 * sum(self._order(other) > self._order(name) for other in operand.origins)
                price = cost + own + extra + self._cost("ranks")
                yield self._ranked(self._state, name, rank, price)
                if rank > now and name not in self._told and any(size.constant for size in self._state.dims[name]):
                    yield self._state.with_new_sizes(name, rank, price - 0.1, self._why())  # a number of another place
        if self._failure.promised:  # a text may be old
            doubted = self._state.doubted | {self._failure.promised}
            yield replace(self._state, doubted=doubted, cost=self._state.cost + 3.5)
        elif self._failure.is_unusual:
            names = frozenset(name for item in self._failure.operands for name in item.origins)
            told = 0.2 if names and names <= self._told else 3.0  # one text says nothing of another argument
            yield replace(self._state, tolerant=self._state.tolerant | names, cost=self._state.cost + told)

    def _ranked(self, state: State, name: str, rank: int, cost: float) -> State:
        """Return the state with another number of dimensions; what was found before a comment told it is void."""
        if self._failure.promised and name not in self._told:
            return state.with_new_sizes(name, rank, cost, self._why())
        return state.with_rank(name, rank, cost, self._why(), place=self._failure.place)

    def _together(self, operand: TensorOperand, name: str, rank: int, cost: float) -> Iterator[State]:
        """Let all data that a tensor was computed from have one more dimension, the same number as before."""
        others = [each for each in sorted(operand.origins, key=self._order) if each in self._state.dims]
        ranks = {len(self._state.dims[each]) for each in others}
        plain = not any(is_weight(each) or each in self._told for each in others)
        if name == others[0] and len(others) > 1 and len(ranks) == 1 and plain and rank > ranks.pop():
            state = self._state
            for each in others:
                state = self._ranked(state, each, rank, 0.0)
            yield replace(state, cost=self._state.cost + cost + 0.2 + self._cost("ranks"))

    def _wanted_ranks(self) -> Iterator[tuple[TensorOperand, int, float]]:
        failure, message = self._failure, self._failure.message
        operands = failure.operands
        natural = RANKS.get(failure.name, ())
        for operand, rank in zip(operands, natural, strict=False):
            if rank is not None and rank != len(operand.shape):
                yield operand, rank, 0.5
        if failure.is_unusual:
            if "expected" in message:
                yield from ((item, failure.numbers[0], 0.5) for item in operands if len(operands) == 1)
            return
        equation = re.search(r"equation \((\d+)\).*operand (\d+)", message)
        if equation and int(equation[2]) < len(operands):
            yield operands[int(equation[2])], int(equation[1]), 0.3
            return
        if failure.name in JOINING | GATHERED:  # what was given a dimension for this has now as many as the others
            ranks = [len(item.shape) for item in operands if not item.is_placed]
            yield from ((item, ranks[0], 0.3) for item in operands if item.is_placed and len(set(ranks)) == 1)
        for operand in dict.fromkeys(reversed(operands)):
            yield from ((operand, rank, cost) for rank, cost in self._read_ranks(len(operand.shape)))
            for step, cost in ((1, 1.4), (-1, 2.2), (2, 2.4), (3, 4.0), (-2, 4.0)):
                yield operand, len(operand.shape) + step, cost

    def _read_ranks(self, rank: int) -> Iterator[tuple[int, float]]:
        """Yield numbers of dimensions that the error or its line names, for a tensor of ``rank``."""
        failure, message = self._failure, self._failure.message
        written = [number for number in failure.written if 0 <= number <= _HIGHEST_RANK]
        unpacked = re.search(r"values to unpack \(expected (?:at least )?(\d+)", message)
        axis = re.search(r"but got (-?\d+)\)?", message) if "out of range" in message else None
        lengths = re.search(r"len\(dims\) = (\d+)", message)
        if unpacked and not failure.name:
            yield int(unpacked[1]), 0.3
        elif lengths:
            yield int(lengths[1]), 0.3
        elif axis:
            number = int(axis[1])
            yield number + 1 if number >= 0 else -number, 0.4
        elif "tuple index" in message or "list index" in message:
            yield from ((number + 1, 0.5) for number in written if number + 1 > rank)
        mentioned = {int(number) for number in re.findall(r"(\d)-?D\b", message)}
        if mentioned:
            yield max(mentioned), 0.6
            yield from ((number, 1.2) for number in mentioned)
        if failure.error == "AssertionError" or not failure.name:
            yield from ((number, 1.2) for number in written if number != rank)

    def _intercepts(self) -> Iterator[State]:
        """Let what is added to one number per sample be a number: ``x @ w + b`` with a vector ``w``."""
        operands = self._failure.operands
        if self._failure.name not in TERMS or not any(self._is_per_sample(item) for item in operands):
            return
        for item in operands:
            for name in item.origins if item.is_argument and len(item.shape) == 1 else ():
                if INTERCEPT.match(name) and name in self._state.dims and name not in self._told:
                    yield self._state.with_rank(name, 0, 0.2, self._why())

    def _weights_of_sums(self) -> Iterator[State]:
        """Let a weight be a vector where its product is added to one number per sample: ``x @ w + (x * x).sum(1)``."""
        operands = self._failure.operands
        if self._failure.name not in TERMS or len(operands) != 2:
            return
        large, small = sorted(operands, key=lambda item: -len(item.shape))
        if len(large.shape) != 2 or large.shape[:1] != small.shape or small.is_argument:
            return
        for name in sorted(large.origins - self._told, key=self._order):
            dims = self._state.dims.get(name, ())
            if len(dims) == 2 and is_weight(name) and dims[1].bind(self._state.numbers) == large.shape[1]:
                changed = {**self._state.dims, name: dims[:1]}
                reasons = (*self._state.reasons, (name, self._why()))
                yield replace(self._state, dims=changed, cost=self._state.cost + 0.3, reasons=reasons)

    def _is_per_sample(self, item: TensorOperand) -> bool:
        """Whether a computed vector is of the data's first size: a vector of weights took the others."""
        if item.is_argument or not item.shape or (len(item.shape) > 1 and item.shape[-1] != item.shape[-2]):
            return False
        weights = [name for name in item.origins if is_weight(name)]
        symbol = symbol_of(self._size(item.shape[-1]))
        shapes = {
            name: shape for name, shape in self._state.dims.items() if any(symbol in size.symbols() for size in shape)
        }
        leads = all(
            not is_weight(name) and all(symbol not in size.symbols() for size in shape[1:])
            for name, shape in shapes.items()
        )
        by_vector = any(len(self._state.dims.get(name, ())) == 1 for name in weights)
        return bool(shapes) and leads and (by_vector or len(item.shape) > 1)
