"""Elementwise operations.

What has no streaming form raises ``CannotLower``.
"""

from __future__ import annotations

from typing import Final

from stepagents.lower.aten.calls import Call, CannotLower, Results, handles, literal, no_form_of, number
from stepagents.lower.values import Literal, Value
from stepagents.lower.views import broadcast

_FUNCTIONS: Final = """abs acos acosh asin asinh atan atanh ceil cos cosh digamma erf erfc erfinv exp exp2 expm1
    floor frac isfinite isinf isnan lgamma log log10 log1p log2 logical_not neg reciprocal relu rsqrt sigmoid sign sin
    sinc sinh sqrt square tan tanh trunc positive round"""
_BINARY: Final = """atan2 copysign fmod hypot logical_and logical_or logical_xor logaddexp logaddexp2 remainder
    bitwise_and bitwise_or bitwise_xor xlogy fmax fmin"""
_TEMPLATES: Final = {
    "mul": "({0} * {1})",
    "eq": "({0} == {1})", "ne": "({0} != {1})", "lt": "({0} < {1})", "le": "({0} <= {1})", "gt": "({0} > {1})",
    "ge": "({0} >= {1})", "bitwise_not": "(~{0})", "where": "torch.where({0}, {1}, {2})", "silu":
    "torch.nn.functional.silu({0})", "mish": "torch.nn.functional.mish({0})",
    "hardswish": "torch.nn.functional.hardswish({0})",
    "hardsigmoid": "torch.nn.functional.hardsigmoid({0})", "relu6": "torch.nn.functional.relu6({0})",
    "selu": "torch.nn.functional.selu({0})", "softsign": "torch.nn.functional.softsign({0})",
    "logit": "torch.logit({0}, {1})", "prelu": "torch.where({0} > 0, {0}, {0} * {1})",
    "_prelu_kernel": "torch.where({0} > 0, {0}, {0} * {1})", "addcmul": "({0} + {3} * {1} * {2})",
    "addcdiv": "({0} + {3} * {1} / {2})", "lerp": "({0} + {2} * ({1} - {0}))", "threshold":
    "torch.where({0} > {1}, {0}, {2})", "hardtanh": "torch.clamp({0}, {1}, {2})", "leaky_relu":
    "torch.where({0} > 0, {0}, {0} * {1})", "hardshrink": "torch.nn.functional.hardshrink({0}, {1})",
    "softshrink": "torch.nn.functional.softshrink({0}, {1})", "softplus": "torch.nn.functional.softplus({0}, {1}, {2})",
    "masked_fill": "torch.where({1}, {2}, {0})", "celu": "torch.nn.functional.celu({0}, {1})",
    "log_sigmoid_forward": "torch.nn.functional.logsigmoid({0})", "log_sigmoid": "torch.nn.functional.logsigmoid({0})",
    "tanhshrink": "({0} - torch.tanh({0}))", "nan_to_num": "torch.nan_to_num({0})", "signbit": "torch.signbit({0})",
}  # fmt: skip
_TEMPLATES_ALL: Final = {
    **{name: f"torch.{name}({{0}})" for name in _FUNCTIONS.split()},
    **{name: f"torch.{name}({{0}}, {{1}})" for name in _BINARY.split()},
    **_TEMPLATES,
}
_LABELS: Final = {"mul": "multiply", "eq": "equal", "ne": "differs", "lt": "less", "gt": "greater"}
_NEED_TENSOR: Final = frozenset(_BINARY.split())


def _numbers(call: Call) -> list[Value]:
    """Tensors and numbers among the arguments, in order."""
    kinds = ("Tensor", "Optional[Tensor]", "number", "float", "Scalar")
    return [call.tensor(name) for name, kind in call.parameters if kind in kinds and call.raw(name) is not None]


@handles(*_TEMPLATES_ALL)
def elementwise(call: Call) -> Results:
    """Return the operation as it is spelled in torch."""
    args = _numbers(call)
    known = _decided(call.name, args)
    if known is not None:
        return broadcast(known, call.shape)
    if all(isinstance(arg, Literal) for arg in args):
        args[0] = _tensor(args[0])
    if call.name in _NEED_TENSOR:
        args = [_tensor(arg) for arg in args]
    if call.name == "round" and call.raw("decimals"):
        raise CannotLower("rounding to decimals has no element function")
    template = _TEMPLATES_ALL[call.name]
    if call.name in ("hardtanh", "leaky_relu") and args[0].dtype != call.dtype:
        raise no_form_of("an activation that changes the element type")
    found = call.pointwise(template, *args, label=_LABELS.get(call.name, call.name.strip("_")))
    return (found, found) if call.name == "log_sigmoid_forward" else found


def _decided(name: str, args: list[Value]) -> Value | None:
    """Return what a logical operation is where a literal decides it, None where none does."""
    texts = [literal(arg) for arg in args]
    if name == "where" and texts[0] in ("True", "False") and args[1].dtype == args[2].dtype:
        return args[1] if texts[0] == "True" else args[2]
    neutral = {"logical_and": "True", "bitwise_and": "True", "logical_or": "False", "bitwise_or": "False"}.get(name)
    for place, other in ((0, 1), (1, 0)):
        if neutral is not None and texts[place] == neutral and args[other].dtype == "bool":
            return args[other]
    return None


def _tensor(value: Value) -> Value:
    """A number as a tensor, for functions that take nothing else."""
    text = literal(value)
    return (
        value
        if text is None or text.startswith("torch.tensor")
        else Literal(value.shape, value.dtype, f"torch.tensor({text})")
    )


@handles("add", "sub", "rsub")
def add(call: Call) -> Results:
    """Sums and differences, the second operand scaled by ``alpha``."""
    left, right, alpha = call.tensor("self"), call.tensor("other"), call.scalar("alpha")
    if call.name == "rsub":
        left, right = right, left
    sign = "+" if call.name == "add" else "-"
    scaled = "{1}" if alpha in ("1", "1.0") else f"{alpha} * {{1}}"
    if call.dtype == "bool":
        return call.pointwise("({0} | {1})", left, right, label="or")
    return call.pointwise(f"({{0}} {sign} {scaled})", left, right, label="add" if sign == "+" else "subtract")


@handles("div", "floor_divide")
def divide(call: Call) -> Results:
    """Quotients, rounded where asked for."""
    mode = "floor" if call.name == "floor_divide" else call.raw("rounding_mode")
    left, right = call.tensor("self"), call.tensor("other")
    if mode is None:
        return call.pointwise("({0} / {1})", left, right, label="divide")
    return call.pointwise(f"torch.div({{0}}, {{1}}, rounding_mode='{mode}')", left, right, label="divide")


@handles("pow")
def power(call: Call) -> Results:
    """Powers; small whole ones are spelled as people do."""
    base, exponent = call.tensor("self"), call.tensor("exponent")
    if literal(exponent) in ("2", "2.0") and base.dtype == call.dtype:
        return call.pointwise("torch.square({0})", base, label="square")
    if literal(exponent) == "0.5":
        return call.pointwise("torch.sqrt({0})", base, label="sqrt")
    return call.pointwise("torch.pow({0}, {1})", base, exponent, label="power")


@handles("maximum", "minimum")
def extreme(call: Call) -> Results:
    """The larger or smaller of two."""
    left, right = call.tensor("self"), call.tensor("other")
    for number_, other in ((left, right), (right, left)):
        text = literal(number_)
        if text is not None:
            bound = "min" if call.name == "maximum" else "max"
            return call.pointwise(f"torch.clamp({{0}}, {bound}={text})", other)
    return call.pointwise(f"torch.{call.name}({{0}}, {{1}})", left, right)


@handles("clamp", "clamp_min", "clamp_max")
def clamp(call: Call) -> Results:
    """Limits, either of which may be missing; numbers or tensors."""
    args = [call.tensor("self")]
    text = "{0}"
    for name, function in (("min", "maximum"), ("max", "minimum")):
        limit = call.optional(name) if any(name == known for known, _ in call.parameters) else None
        if limit is None:
            continue
        if (bound := literal(limit)) is not None:
            text = f"torch.clamp({text}, {name}={bound})"
        else:
            args.append(limit)
            text = f"torch.{function}({text}, {{{len(args) - 1}}})"
    return call.pointwise(text, *args, label="clamp")


@handles("gelu")
def gelu(call: Call) -> Results:
    """Exact, or by the hyperbolic tangent."""
    form = call.raw("approximate")
    option = "" if form == "none" else f", approximate='{form}'"
    return call.pointwise(f"torch.nn.functional.gelu({{0}}{option})", call.tensor("self"))


@handles("elu")
def elu(call: Call) -> Results:
    """Exponential linear unit with its three scales."""
    alpha, scale, inner = (call.scalar(name) for name in ("alpha", "scale", "input_scale"))
    body = f"torch.where({{0}} > 0, {{0}}, {alpha} * torch.expm1({{0}} * {inner}))"
    return call.pointwise(body if scale in ("1", "1.0") else f"({scale} * {body})", call.tensor("self"))


@handles("_to_copy", "to", "type_as")
def converted(call: Call) -> Results:
    """Another element type."""
    value = call.tensor("self")
    if value.dtype == call.dtype:
        return value
    target = {"fp32": "float", "fp16": "half", "bf16": "bfloat16", "int64": "long", "int32": "int", "bool": "bool"}
    return call.pointwise(f"{{0}}.{target[call.dtype]}()", _tensor(value), label="convert")


@handles("clone", "alias", "detach", "lift_fresh_copy", "contiguous", "detach_", "lift")
def same(call: Call) -> Results:
    """What changes no number."""
    return call.tensor("self")


@handles("dropout", "native_dropout")
def dropout(call: Call) -> Results:
    """Nothing where it does not train."""
    if call.raw("train") and call.raw("p") != 0:
        raise CannotLower("dropout draws random numbers while training", "put the module into evaluation mode: .eval()")
    found = call.tensor("input")
    return (found, found) if call.name == "native_dropout" else found


@handles("full", "zeros", "ones", "empty", "empty_permuted", "scalar_tensor", "full_like", "zeros_like", "ones_like",
         "empty_like", "new_zeros", "new_full", "new_ones", "new_empty")  # fmt: skip
def filled(call: Call) -> Results:
    """The same number everywhere."""
    if "full" in call.name:
        text = call.scalar("fill_value")
    elif call.name == "scalar_tensor":
        text = call.scalar("s")
    else:
        text = "1" if "ones" in call.name else "0"
    if call.dtype == "bool":
        text = "True" if text in ("True", "1", "1.0") else "False"
    elif call.dtype.startswith("int"):
        text = _whole(text)
    elif text in ("0", "1", "True", "False"):
        text = number(float({"True": 1, "False": 0}.get(text, text)))
    return Literal(call.shape, call.dtype, text)


def _whole(text: str) -> str:
    """Return a number as a whole one; an expression of sizes is one already."""
    if text in ("True", "False"):
        return str(int(text == "True"))
    return text if text.startswith("(") else str(int(float(text)))


@handles("fill")
def fill(call: Call) -> Results:
    """The same number everywhere, in place of a tensor."""
    return broadcast(call.tensor("value"), call.shape)
