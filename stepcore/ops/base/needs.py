"""What typing rules ask of inputs, sizes and choices; each raises when it is not met."""

from __future__ import annotations

from collections.abc import Sequence

from stepcore.ops.base.context import TypingContext
from stepcore.ops.base.operands import Operand, RuleError, RuleSubject
from stepcore.ops.base.operator import Operator
from stepcore.ops.calling import Param, value_text
from stepcore.sizes.dim import SIZE_RULE, Dim, is_size
from stepcore.text.wording import clipped, whole
from stepcore.types import Element, Tile, element_bytes


def need_inputs(operator: Operator, operands: Sequence[Operand], count: int) -> None:
    """Raise STEP205 unless there are exactly ``count`` inputs."""
    if len(operands) != count:
        name, wanted = type(operator).__name__, operator.inputs.text
        raise RuleError("STEP205", f"{name} takes {wanted}, found {_count(len(operands))}")


def need_size(operator: str, parameter: str, value: Dim | int, ctx: TypingContext, what: str = "") -> None:
    """Raise STEP217 unless ``value``, as far as it is bound, can be a size: the parameter, or ``what`` of it."""
    size = Dim.of(value)
    if size.is_open:
        text = f"{what or parameter} of {operator} is static, and only a run knows {size}"
        raise RuleError("STEP226", text, RuleSubject.param(parameter))
    bound = ctx.bound(size)
    if bound is not None and not is_size(bound):
        text = f"{what or parameter} of {operator} is {whole(bound)}; {SIZE_RULE}"
        raise RuleError("STEP217", text, RuleSubject.param(parameter))


def need_choice(operator: str, param: Param, value: str | int) -> None:
    """Raise STEP206 unless ``value`` is one of the choices of a parameter."""
    if value not in param.choices:
        *choices, last = map(value_text, param.choices)
        found = value_text(clipped(value, 40)) if isinstance(value, str) else whole(value)
        text = f"{param.name} of {operator} is {', '.join(choices)} or {last}, found {found}"
        raise RuleError("STEP206", text, RuleSubject.param(param.name))


def repeated_bytes(element: Element) -> Dim:
    """Return what a unit holds on chip that repeats ``element``: a tile; anything else is none."""
    return element_bytes(element) if isinstance(element, Tile) else Dim.of(0)


def need_common(operator: Operator, ctx: TypingContext) -> None:
    """Raise STEP217 unless each common parameter that was given, as far as it is bound, can be a size."""
    for param in operator.common:
        value = getattr(operator, param.name)
        if value is not None:
            need_size(type(operator).__name__, param.name, value, ctx)


def _count(number: int) -> str:
    return {0: "none", 1: "one stream"}.get(number, f"{number} streams")
