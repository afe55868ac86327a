"""What ``Partition`` and ``Merge`` share: the rules about the selector."""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd
from typing import Final

from stepcore.ops.base import Operand, RuleError, RuleSubject, TypingContext, element_mismatch, mismatch
from stepcore.sizes.dim import Dim
from stepcore.text.wording import counted
from stepcore.types import Buffer, Element, Multihot, Scalar, Shape, same_element

SELECTED: Final = Scalar("bool")  # what operators make selectors of


def common_of(branches: Sequence[Operand], ctx: TypingContext) -> tuple[Element, Shape]:
    """Return the element type of branches, and their sizes inside of the outermost dimension.

    A ragged size that differs from branch to branch, also of buffers, becomes one of its own: it is what the branches
    have, in turn.

    Raises:
        RuleError: STEP208 where elements differ, STEP207 where sizes do.
    """
    first = branches[0]
    common = list(first.type.shape[:-1])
    for index, branch in enumerate(branches[1:], 1):
        if not _joins(first.type.element, branch.type.element, ctx):
            what = f"branch {branch.name} differs in its elements from {first.name}"
            text = element_mismatch(what, first.type.element, branch.type.element)
            raise RuleError("STEP208", text, RuleSubject.input(index))
        found = branch.type.shape[:-1]
        fits = len(found) == len(common) and all(
            ctx.facts.equal(a, b) or (a.is_ragged and b.is_ragged) for a, b in zip(common, found, strict=True)
        )
        if not fits:
            what = f"branch {branch.name} differs from {first.name} in other than the outermost dimension"
            raise RuleError("STEP207", mismatch(what, tuple(common), found, ctx.facts), RuleSubject.input(index))
    columns = zip(*(branch.type.shape[:-1] for branch in branches), strict=True)
    return _joined_element([branch.type.element for branch in branches]), tuple(map(_joined, columns))


def _joins(one: Element, other: Element, ctx: TypingContext) -> bool:
    """Return whether two elements are equal, but for the outermost size of buffers where it is ragged in both."""
    if same_element(one, other, ctx.facts):
        return True
    if not (isinstance(one, Buffer) and isinstance(other, Buffer) and len(one.shape) == len(other.shape)):
        return False
    (*inner, last), (*others, end) = one.shape, other.shape
    is_ragged = last.is_ragged and end.is_ragged
    return is_ragged and same_element(
        Buffer(one.element, (*inner, end)), Buffer(other.element, (*others, end)), ctx.facts
    )


def _joined_element(elements: Sequence[Element]) -> Element:
    (first, *_), sizes = elements, [each.shape[-1] for each in elements if isinstance(each, Buffer) and each.shape]
    if not isinstance(first, Buffer) or len(sizes) < len(elements):
        return first
    return Buffer(first.element, (*first.shape[:-1], _joined(sizes)))


def _joined(sizes: Sequence[Dim]) -> Dim:
    if len(set(sizes)) == 1 or not sizes[0].is_ragged:
        return sizes[0]
    from stepcore.sizes.kinds import in_turn  # most programs have static sizes

    return in_turn(sizes)


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
