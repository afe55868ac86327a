"""What the operators with an element function share: the rules about that function, and about folded dimensions."""

from __future__ import annotations

from collections.abc import Sequence

from stepcore.ops.base import (
    FnLike,
    Operand,
    RuleError,
    RuleSubject,
    TypingContext,
    element_mismatch,
    mismatch,
    shape_bridge,
)
from stepcore.types import Element, join, same_element, same_shape


def need_fn(operator: str, fn: FnLike, *, state: bool) -> None:
    """Raise STEP216 unless ``fn`` has a state exactly when ``state`` is True."""
    if fn.has_state == state:
        return
    if fn.is_count:
        text = f"{fn.func_name} gives lists whose lengths are data, and {operator} takes no such function; use FlatMap"
    elif state:
        text = f"{operator} needs a function with a state, but {fn.func_name} has no init; give it one, or use Map"
    else:
        text = f"{operator} needs a function without a state, but {fn.func_name} has an init; use Accum or Scan"
    raise RuleError("STEP216", text, RuleSubject.param("fn"))


def need_element(fn: FnLike, element: Element, ctx: TypingContext, what: str) -> FnLike:
    """Return ``fn`` as it is used here, any sizes in its types being bound: the very same where there are none.

    Raises:
        RuleError: STEP208 unless it takes ``element``, which ``what`` delivers.
    """
    if same_element(fn.input, element, ctx.facts):
        return fn
    bound = ctx.used(fn, element)
    if bound is not None:
        return bound
    text = element_mismatch(f"{fn.func_name} takes other elements than {what} delivers", fn.input, element)
    raise RuleError("STEP208", text, RuleSubject.input(0))


def need_folded(operator: str, parameter: str, value: int, operand: Operand) -> None:
    """Raise STEP206 unless ``1 <= value <= R``: at least one dimension is taken and one stays.

    ``parameter`` is empty where none says how many are taken.
    """
    rank = operand.type.rank
    if 1 <= value <= rank:
        return
    with_it = f"{operator} with {parameter}={value}" if parameter else operator
    found = f"{operand.name} has rank {rank} (shape [{', '.join(map(str, operand.type.shape))}])"
    if value < 1:
        text = f"{parameter} of {operator} must be at least 1, found {value}"
    elif value == rank + 1:
        text = (
            f"{with_it} needs rank {value} or more, because one dimension must stay, "
            f"but {found}; Promote(b={rank + 1}) before it adds an outermost dimension of size 1, which stays"
        )
    else:
        text = f"{with_it} needs rank {value} or more, but {found}"
    raise RuleError("STEP206", text, RuleSubject.param(parameter) if parameter else RuleSubject.input(0))


def need_zipped(operator: str, fn: FnLike, operands: Sequence[Operand], ctx: TypingContext) -> FnLike:
    """Return ``fn`` as it is used here, see :func:`need_element`.

    Raises:
        RuleError: STEP207 unless all inputs have one shape, STEP208 unless ``fn`` takes their joined elements.
    """
    first = operands[0]
    if len(operands) == 1:
        return need_element(fn, first.type.element, ctx, first.name)
    for index, operand in enumerate(operands[1:], 1):
        if not same_shape(first.type.shape, operand.type.shape, ctx.facts):
            what = f"{operand.name} differs in shape from {first.name}, with which {operator} zips it"
            text = mismatch(what, first.type.shape, operand.type.shape, ctx.facts)
            text += shape_bridge(first.type.shape, operand.type.shape)
            raise RuleError("STEP207", text, RuleSubject.input(index))
    return need_element(fn, join(operand.type.element for operand in operands), ctx, "the zip of the inputs")
