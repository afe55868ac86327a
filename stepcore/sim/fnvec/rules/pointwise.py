"""Batching rules of operations that work element by element, and of those that only look at shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stepcore.fn import allow
from stepcore.sim.fnvec.batch import common_batch
from stepcore.sim.fnvec.contract import Product
from stepcore.sim.fnvec.errors import NoRule
from stepcore.sim.fnvec.names import Operation
from stepcore.sim.fnvec.record import has_traced
from stepcore.sim.fnvec.tape import TV, Reg
from stepcore.sim.fnvec.trace import Tracer, rule

_POINTWISE = allow.names(
    """abs acos acosh add addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctanh asin asinh atan atan2 atanh
    bitwise_and bitwise_not bitwise_or bitwise_xor bitwise_left_shift bitwise_right_shift ceil clamp clamp_max
    clamp_min clone contiguous copysign cos cosh deg2rad detach digamma div eq erf erfc erfinv exp exp2 expm1
    fix float_power floor floor_divide fmax fmin fmod frac ge gt heaviside hypot isclose isfinite isinf isnan
    ldexp le lerp lgamma log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or
    logical_xor logit lt masked_fill maximum minimum nan_to_num ne neg positive pow rad2deg reciprocal relu
    remainder round rsqrt sigmoid sign signbit sin sinc sinh sqrt square sub tan tanh trunc where xlogy bool
    byte cpu double float half bfloat16 int long short to type type_as celu elu gelu hardshrink hardsigmoid hardswish
    hardtanh leaky_relu logsigmoid mish prelu relu6 selu silu softplus softshrink softsign tanhshrink threshold"""
)
_MODULES = allow.names(
    """CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh Identity LeakyReLU LogSigmoid Mish ReLU ReLU6 SELU SiLU
    Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink Threshold"""
)


def highest_rank(values: Sequence[Any]) -> int:
    """Return the largest element rank among tensors."""
    rank = 0
    for value in values:
        if type(value) is TV:
            rank = max(rank, value.rank)
        elif isinstance(value, torch.Tensor):
            rank = max(rank, value.dim())
    return rank


@rule(*_POINTWISE)
def pointwise(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Bring all operands to one element rank; batch dimensions then broadcast by themselves."""
    rank = highest_rank((*args, *kwargs.values()) if kwargs else args)
    operands = [tr.lift(value, rank) for value in args]
    if not kwargs or not has_traced(kwargs.values()):
        return tr.emit(op.plain, *operands, **kwargs)
    names = tuple(kwargs)
    count = len(operands)
    plain = op.plain

    def with_keywords(*values: Any) -> Any:
        return plain(*values[:count], **dict(zip(names, values[count:], strict=True)))

    return tr.emit(with_keywords, *operands, *[tr.lift(value, rank) for value in kwargs.values()])


@rule("mul")
def multiply(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """As any other operation, but remember the factors for a sum that may follow."""
    reg = pointwise(tr, op, args, kwargs, expected)
    if kwargs or len(args) != 2 or not all(isinstance(a, TV | torch.Tensor) for a in args):
        return reg
    value = tr.wrap(reg, expected)
    if type(value) is TV and expected.is_floating_point():
        rank = value.rank
        remember(tr, value, lambda: Product(tr.lift(args[0], rank), tr.lift(args[1], rank), rank))
    return value


def remember(tr: Tracer, value: TV, product: Any) -> None:
    """Attach the factors of ``value``; they are void once anything was changed in place."""
    mutations = tr.mutations
    value.product = lambda: product() if tr.mutations == mutations else None


# A helper object costs several microseconds a call; the function that it stands for does not.
_FUNCTIONS = {
    "nn.ReLU": torch.relu,
    "nn.Sigmoid": torch.sigmoid,
    "nn.Tanh": torch.tanh,
    "nn.SiLU": torch.nn.functional.silu,
}


@rule(*(f"nn.{name}" for name in _MODULES))
def pointwise_module(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Helper objects without dimensions."""
    if len(args) != 1 or kwargs:
        raise NoRule
    module: Any = op.plain
    if op.name == "nn.GELU":
        return tr.emit(torch.nn.functional.gelu, args[0].reg, approximate=module.approximate)
    return tr.emit(_FUNCTIONS.get(op.name, module.forward), args[0].reg)


@rule("zeros_like", "ones_like", "empty_like", "new_zeros", "new_ones", "new_empty", "new_tensor")
def like(_tr: Tracer, _op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """Only the shape of the argument matters: the result is the same at every batch position."""
    if has_traced(args[1:]) or has_traced(kwargs.values()):
        raise NoRule
    return expected


@rule("full_like", "new_full")
def full_like(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """The fill value may be batched."""
    fill = args[-1] if not kwargs else kwargs.get("fill_value", args[-1])
    if type(fill) is not TV:
        return like(tr, op, args, kwargs, expected)
    shape, dtype = tuple(expected.shape), expected.dtype
    reg = tr.lift_reg(fill.reg, fill.rank, len(shape))
    batch = tr.batch
    return tr.emit(lambda x: x.expand(*x.shape[:batch], *shape).to(dtype, copy=True), reg)


@rule("one_hot")
def one_hot(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """A new innermost dimension; its length has to be given."""
    count = kwargs.get("num_classes", args[1] if len(args) > 1 else -1)
    if not isinstance(count, int) or count < 0:
        raise NoRule
    return tr.emit(op.plain, args[0].reg, count)


@rule("tensor", "as_tensor", "scalar_tensor")
def tensor(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """``torch.tensor([...])`` of batched numbers stacks them."""
    values = args[0]
    if not isinstance(values, list | tuple):
        return tr.emit(torch.Tensor.to, values.reg, expected.dtype, copy=True)
    if any(isinstance(v, list | tuple) or (isinstance(v, TV) and v.rank) for v in values):
        raise NoRule
    from stepcore.sim.fnvec.rules.join import batched

    dtype, batch = expected.dtype, tr.batch
    parts = [batched(tr, v if isinstance(v, TV) else torch.as_tensor(v)) for v in values]
    return tr.emit(lambda *ts: torch.stack([t.to(dtype) for t in common_batch(ts, batch)], -1), *parts)
