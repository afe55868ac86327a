"""What the operators with an element function share: the rules about that function, and about folded dimensions."""

from __future__ import annotations

from stepcore.ops.base import FnLike, Operand, RuleError, RuleSubject, TypingContext, element_mismatch
from stepcore.types import Element, same_element


def need_fn(operator: str, fn: FnLike, *, state: bool) -> None:
    """Raise STEP216 unless ``fn`` has a state exactly when ``state`` is True."""
    if fn.has_state == state:
        return
    if state:
        text = f"{operator} needs a function with a state, but {fn.func_name} has no init; give it one, or use Map"
    else:
        text = f"{operator} needs a function without a state, but {fn.func_name} has an init; use Accum or Scan"
    raise RuleError("STEP216", text, RuleSubject.param("fn"))


def need_element(fn: FnLike, element: Element, ctx: TypingContext, what: str) -> None:
    """Raise STEP208 unless ``fn`` takes ``element``, which ``what`` delivers."""
    if same_element(fn.input, element, ctx.facts):
        return
    text = element_mismatch(f"{fn.func_name} takes other elements than {what} delivers", fn.input, element)
    raise RuleError("STEP208", text, RuleSubject.input(0))


def need_folded(operator: str, parameter: str, value: int, operand: Operand) -> None:
    """Raise STEP206 unless ``1 <= value <= R``: at least one dimension is taken and one stays."""
    rank = operand.type.rank
    if 1 <= value <= rank:
        return
    found = f"{operand.name} has rank {rank} (shape [{', '.join(map(str, operand.type.shape))}])"
    if value < 1:
        text = f"{parameter} of {operator} must be at least 1, found {value}"
    elif value == rank + 1:
        text = (
            f"{operator} with {parameter}={value} needs rank {value} or more, because one dimension must stay, "
            f"but {found}; Promote(b={rank + 1}) before it adds an outermost dimension of size 1, which stays"
        )
    else:
        text = f"{operator} with {parameter}={value} needs rank {value} or more, but {found}"
    raise RuleError("STEP206", text, RuleSubject.param(parameter))
