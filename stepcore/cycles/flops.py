"""What a call of an element function costs on a chip, in FLOPs: the table of the timing chapter.

Arithmetic, comparisons, minimum, maximum and ``where`` count 1 for each element of the result, a reduction 1 for each
element that it reads; functions of a chip's special units count more. A matrix product of ``(m, k)`` and ``(k, n)``
counts ``2mkn``, an addition of its result included. Views, casts, indexing and joining count nothing. Of arms of which
one runs the dearest counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stepcore.chips.prices import COUNTED, PRICES
from stepcore.fn.decl import FnDecl, FnScope
from stepcore.fn.shapes.inference import fn_cost
from stepcore.fn.shapes.operations import Shapes
from stepcore.fn.shapes.values import AbstractTensor, Comparer, Size, Sizes, numel
from stepcore.sizes.dim import Dim, DimError


@dataclass(frozen=True, slots=True)
class CallCost:
    """FLOPs of one call, None where nobody knows the cost of a part; names of what counted 1 per element."""

    flops: int | None
    unknown: tuple[str, ...]


def call_cost(
    decl: FnDecl,
    scope: FnScope,
    parameters: Mapping[str, Sizes],
    bindings: Mapping[str, int],
    prices: Mapping[str, int],
) -> CallCost:
    """Return what a call of ``decl`` costs at sizes ``bindings``; ``prices`` of a chip win over the common table."""
    made: list[_Priced] = []

    def shapes(compare: Comparer) -> Shapes:
        made.append(_Priced(compare, {**PRICES, **prices}, bindings))
        return made[0]

    cost = fn_cost(decl, scope, parameters, shapes)
    try:
        flops = None if cost.flops is None else cost.flops.bind(bindings)
    except (DimError, KeyError):
        flops = None
    return CallCost(flops, tuple(dict.fromkeys(made[0].unknown)))


@dataclass
class _Products:
    """Results of matrix products, to which something may be added for nothing, once."""

    fresh: list[AbstractTensor] = field(default_factory=list)

    def added(self, values: Sequence[Any]) -> bool:
        for value in values:
            for number, product in enumerate(self.fresh):
                if value is product:
                    del self.fresh[number]
                    return True
        return False


class _Priced(Shapes):
    """Counts by prices."""

    def __init__(self, compare: Comparer, prices: Mapping[str, int], bindings: Mapping[str, int]) -> None:
        super().__init__(compare)
        self.unknown: list[str] = []
        self._prices = prices
        self._bindings = bindings
        self._products = _Products()

    def either(self, before: Size, arms: Sequence[Size]) -> Size:
        """Return the operations after the dearest arm."""
        try:
            dearest = max((arm for arm in arms if arm is not None), key=lambda arm: arm.bind(self._bindings))
        except (DimError, KeyError, ValueError):
            return None
        return None if before is None or None in arms else before + dearest

    def pointwise(self, name: str, values: Sequence[Any]) -> AbstractTensor | None:
        """Broadcast the operands; an addition to a product that was just made is part of it."""
        before = self.flops
        result = super().pointwise(name, values)
        free = name in ("add", "sub", "subtract") and self._products.added(values)
        self._reprice(before, 0 if free else self._prices.get(name, 1))
        return result

    def matmul(self, a: Any, b: Any) -> AbstractTensor | None:
        """Count the product, and remember its result."""
        result = super().matmul(a, b)
        if result is not None:
            self._products.fresh.append(result)
        return result

    def _same(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> AbstractTensor | None:
        before = self.flops
        result = super()._same(name, args, kwargs)
        self._reprice(before, self._prices.get(name, 1))
        return result

    def reduce(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        before = self.flops
        result = super().reduce(name, args, kwargs)
        self._reprice(before, self._prices.get(name, 1))
        return result

    def apply(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Return the result; what nobody counts has its price, or 1, for each element of its first operand."""
        before = self.flops
        result = super().apply(name, args, kwargs)
        if name in COUNTED:
            self._reprice(before, self._prices.get(name, 1))
        if before is not None and self.flops is None:
            tensors = [value for value in args if isinstance(value, AbstractTensor)]
            sizes = [numel(value.shape) for value in tensors]
            if sizes and sizes[0] is not None:
                if name not in self._prices:
                    self.unknown.append(name)
                self.flops = before + sizes[0] * Dim.of(self._prices.get(name, 1))
        return result

    def _reprice(self, before: Size, price: int) -> None:
        if before is not None and self.flops is not None:
            self.flops = before + (self.flops - before) * Dim.of(price)
