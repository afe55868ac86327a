"""Which positions each branch of a selector gets."""

from __future__ import annotations

from torch import Tensor


class Routes:
    """What a selector selects: ``indices[b]`` are the flat positions (ascending) whose bit ``b`` is set.

    ``bits`` are those of the selector as booleans, a row for each position.
    """

    __slots__ = ("_bits", "_nowhere", "_set", "indices", "positions")

    def __init__(self, bits: Tensor) -> None:
        self.positions: int = bits.shape[0]
        # Rows of (branch, position), by branch: one search for all branches.
        found = bits.t().nonzero()
        self.indices: list[Tensor] = list(found[:, 1].split_with_sizes(bits.sum(0).tolist()))
        self._bits = bits
        self._set: int = found.shape[0]
        self._nowhere: Tensor | None = None

    @property
    def nowhere(self) -> Tensor:
        """The positions without a set bit. Only merging asks for them."""
        if self._nowhere is None:
            self._nowhere = self._bits.any(1).logical_not().nonzero().flatten()
        return self._nowhere

    @property
    def disjoint(self) -> bool:
        """Whether no position has two set bits."""
        return self._set + self.nowhere.shape[0] == self.positions
