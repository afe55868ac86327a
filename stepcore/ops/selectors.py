"""What ``Partition`` and ``Merge`` share: the rules about the selector."""

from __future__ import annotations

from math import gcd

from stepcore.ops.base import Operand, RuleError, RuleSubject, TypingContext
from stepcore.sizes.dim import Dim
from stepcore.text.wording import counted
from stepcore.types import Multihot


def need_selector(
    selector: Operand, branches: int, ctx: TypingContext, index: int, data: Operand | None = None
) -> None:
    """Raise STEP210 unless ``selector``, the input at ``index``, selects among ``branches`` branches.

    ``data`` is what it shall route; where that is the selector, the two changed places.
    """
    element = selector.type.element
    if not isinstance(element, Multihot):
        found = f"expected Multihot elements, found {element}"
        text = f"{selector.name} must select among {counted(branches, 'branch', 'branches')}: {found}"
        if data is not None and isinstance(data.type.element, Multihot):
            text += f"; the selector comes second: write ({selector.name}, {data.name})"
        raise RuleError("STEP210", text, RuleSubject.input(index))
    length = ctx.bound(element.length)
    if branches == length if length is not None else can_be(element.length, branches):
        return
    open_size = element.length.constant is None and length is not None
    shown = f"{element.length} = {length}" if open_size else str(element.length)
    text = f"{selector.name} selects among {shown} branches, but there are {branches}; the two must agree"
    raise RuleError("STEP210", text, RuleSubject.input(index))


def can_be(size: Dim, value: int) -> bool:
    """Return False where no choice of positive sizes makes ``size`` the integer ``value``; True where one may."""
    if not size.is_integral or any(True for _ in size.quotients()):
        return True
    coefficients = [int(coefficient) for monomial, coefficient in size.terms if monomial]
    rest = value - sum(int(coefficient) for monomial, coefficient in size.terms if not monomial)
    if not coefficients:
        return rest == 0
    if rest % gcd(*coefficients):
        return False
    return min(coefficients) < 0 or rest >= sum(coefficients)  # pragma: no mutate: no coefficient is 0
