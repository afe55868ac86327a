"""An element function made ready for one run: compiled, with the sizes that the runtime decides by."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

from torch import Tensor

from stepcore.sim.fnvec import CompiledFn
from stepcore.types import DTYPE_BYTES, Element, components, dtype_of, element_shape


class FnUnit:
    """A compiled function with its output element and the working set of one application in bytes.

    ``bytes_each`` counts inputs and outputs once each; ``out_bytes`` only the outputs.
    """

    __slots__ = ("_starts", "bytes_each", "decl", "element", "fn", "out_bytes", "outputs")

    def __init__(self, decl: Any, fn: CompiledFn, bindings: Mapping[str, int]) -> None:
        self.decl = decl
        self.fn = fn
        self.element: Element = decl.output
        self.outputs = len(components(decl.output))
        self.out_bytes = bound_bytes(decl.output, bindings)
        self.bytes_each = self.out_bytes + bound_bytes(decl.input, bindings)
        self._starts: dict[int, list[Tensor]] = {}

    def start(self, batch: int) -> list[Tensor]:
        """Return the initial state with ``batch`` stream axes of length 1."""
        found = self._starts.get(batch)
        if found is None:
            found = self._starts[batch] = [t.reshape((1,) * batch + tuple(t.shape)) for t in self.fn.init()]
        return found


def bound_bytes(element: Element, bindings: Mapping[str, int]) -> int:
    """Return the size of one element in bytes with all sizes bound."""
    return sum(
        prod(size.bind(bindings) for size in element_shape(item)) * DTYPE_BYTES[dtype_of(item)]
        for item in components(element)
    )
