"""Shapes of the operations that bodies use most. An operation without an entry has an unknown result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from stepcore.fn import allow
from stepcore.fn.shapes.joins import JOINS
from stepcore.fn.shapes.operands import FLOATS, along, named, pointwise
from stepcore.fn.shapes.parts import argument, fits
from stepcore.fn.shapes.planes import PLANES
from stepcore.fn.shapes.ranks import ranks
from stepcore.fn.shapes.rules import RULES
from stepcore.fn.shapes.signatures import typed
from stepcore.fn.shapes.sums import einsum
from stepcore.fn.shapes.values import (
    AbstractTensor,
    Comparer,
    Components,
    ListForTensor,
    Number,
    Pair,
    ShapeMismatch,
    Size,
    Sizes,
    integer,
    numel,
    place_of,
    shape_text,
    tensor_of,
)
from stepcore.fn.shapes.windows import WINDOWS
from stepcore.sizes.dim import Dim, DimError

Kwargs = dict[str, Any]
_RULES: Final = {**RULES, **WINDOWS, **JOINS, **PLANES, "einsum": einsum}
_COMPARISONS: Final = allow.names(
    """eq ne lt le gt ge greater greater_equal less less_equal not_equal isnan isinf isfinite logical_and logical_or
    logical_not logical_xor isclose signbit"""
)
_REDUCTIONS: Final = allow.names("sum mean prod amax amin logsumexp all any std var argmax argmin norm nansum nanmean")
_SAME_SHAPE: Final = allow.names(
    """softmax log_softmax softmin cumsum cumprod logcumsumexp flip roll tril triu normalize scatter scatter_add
    scatter_reduce index_add index_copy index_fill layer_norm rms_norm clone contiguous detach argsort"""
)
_ACTIVATIONS: Final = allow.names(
    """celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus
    softshrink softsign tanhshrink"""
)
_BIASED: Final = allow.names("std var")  # between dimension and keepdim they take whether they are unbiased
_TYPED: Final = allow.names("softmax log_softmax softmin cumsum cumprod")  # whose element type may be asked for
_SUMS: Final = allow.names("sum prod nansum cumsum cumprod")  # of whole numbers these are int64
_WRITES: Final = allow.names("copy_ fill_ fill_diagonal_ zero_")  # elements that were computed before, or nowhere
_POINTWISE: Final = allow.POINTWISE | _ACTIVATIONS | {"masked_fill", "where"}
_LISTS: Final = allow.names("stack cat concat concatenate hstack vstack")
TENSORS_ALONE: Final = (
    _POINTWISE | _REDUCTIONS | _SAME_SHAPE | {"max", "min"} | (_RULES.keys() - _LISTS)
)  # which take no list of tensors anywhere


class Shapes:
    """Result shapes of operations; collects floating-point operations and matrix products on the way."""

    def __init__(self, compare: Comparer) -> None:
        self.compare = compare
        self.flops: Dim | None = Dim.of(0)
        self.matmuls: list[tuple[Dim, Dim]] = []

    def count(self, operations: Size) -> None:
        """Add operations to the total; None makes the total unknown."""
        self.flops = None if operations is None or self.flops is None else self.flops + operations

    def either(self, before: Size, arms: Sequence[Size]) -> Size:
        """Return the operations after arms of which one runs; the metrics count all of them."""
        for arm in arms:
            before = None if before is None or arm is None else before + arm
        return before

    def apply(self, name: str, args: Sequence[Any], kwargs: Kwargs) -> Any:
        """Return the result of the operation ``name``, None where unknown.

        Raises:
            ShapeMismatch: the operands certainly do not fit.
        """
        try:
            return self._apply(name, args, kwargs)
        except (DimError, IndexError, KeyError, TypeError, ValueError, AttributeError):
            # Arguments that shape inference does not follow: nothing is known then.
            self.count(None)
            return None

    def _apply(self, name: str, args: Sequence[Any], kwargs: Kwargs) -> Any:
        if allow.is_inplace(name):
            if name not in _WRITES:  # what is written is computed as by the method that gives a new tensor
                self.apply(name[:-1], args, kwargs)
            return args[0] if isinstance(args[0], AbstractTensor) else None
        if name in TENSORS_ALONE:
            for value in args:
                if isinstance(value, Components):
                    raise ListForTensor(value)
        named(name, args, kwargs)
        along(self.compare, name, args, kwargs)
        fits(self.compare, name, args, kwargs)
        ranks(self.compare, name, args, kwargs)
        if name in ("max", "min") and (other := _other(args, kwargs)) is not None:
            return self.pointwise("maximum", [args[0], other])
        if name == "where" and len(args) + len(kwargs) == 1:
            self.count(None)  # the places of what is true, a tensor for each dimension
            return None
        if name in _POINTWISE:
            return self.pointwise(name, [*args, *kwargs.values()])
        if name in _REDUCTIONS or name in ("max", "min"):
            return self.reduce(name, args, kwargs)
        if name in _SAME_SHAPE:
            return self._same(name, args, kwargs)
        rule = _RULES.get(name)
        if rule is None:
            self.count(None if any(isinstance(a, AbstractTensor) for a in args) else Dim.of(0))
            return None
        return rule(self, args, kwargs)

    def pointwise(self, name: str, values: Sequence[Any]) -> AbstractTensor | None:
        """Broadcast the operands."""
        pointwise(name, values)
        tensors = [tensor_of(value) for value in values if not isinstance(value, str | bool)]
        if any(tensor is None for tensor in tensors) or _ANY in values:
            self.count(None)
            return None
        known = [tensor for tensor in tensors if tensor is not None]
        shape = self.compare.broadcast([tensor.shape for tensor in known])
        if name not in ("clone", "positive"):
            self.count(numel(shape))
        return AbstractTensor(shape, _result_dtype(name, values))

    def _same(self, name: str, args: Sequence[Any], kwargs: Kwargs) -> AbstractTensor | None:
        value = args[0]
        if not isinstance(value, AbstractTensor):
            self.count(None)
            return None
        self.count(numel(value.shape))
        if name == "argsort":
            return AbstractTensor(value.shape, "int64")
        is_typed = name in _TYPED and ("dtype" in kwargs or len(args) > 2)
        return AbstractTensor(value.shape, None if is_typed else _summed_dtype(name, value.dtype))

    def reduce(self, name: str, args: Sequence[Any], kwargs: Kwargs) -> Any:
        """Return what a reduction gives along the dimensions that it is told, or over all."""
        value = args[0]
        if not isinstance(value, AbstractTensor):
            self.count(None)
            return None
        self.count(numel(value.shape))
        rest = list(args[2:] if name == "norm" and len(args) > 1 else args[1:])
        if name in _BIASED:
            rest = [] if rest and isinstance(rest[0], bool) else [*rest[:1], *rest[2:]]
        dim = kwargs.get("dim", kwargs.get("axis", rest[0] if rest else ()))
        keep = kwargs.get("keepdim", kwargs.get("keepdims", rest[1] if len(rest) > 1 else False))
        dtype = {"argmax": "int64", "argmin": "int64", "all": "bool", "any": "bool"}.get(name, value.dtype)
        dtype = _summed_dtype(name, dtype)
        if "dtype" in kwargs or not isinstance(keep, bool):
            return None
        if isinstance(dim, list) and not dim:
            return None  # what no dimensions mean differs between reductions
        if dim == () and not rest and "dim" not in kwargs and "axis" not in kwargs:
            if not keep:
                return AbstractTensor((), dtype)
            return AbstractTensor(None if value.shape is None else (Dim.of(1),) * len(value.shape), dtype)
        shape = self._without(value.shape, dim, keep)
        if name in ("max", "min"):
            return None if shape is None else Pair(AbstractTensor(shape, dtype), AbstractTensor(shape, "int64"))
        return AbstractTensor(shape, dtype)

    def _without(self, shape: Sizes | None, dim: Any, keep: bool) -> Sizes | None:
        if shape is None:
            return None
        dims = list(dim) if isinstance(dim, list | tuple) else [dim]
        numbers = [integer(d) for d in dims]
        if any(number is None for number in numbers):
            return None
        places = {place_of(number, len(shape)) for number in numbers if number is not None}
        if keep:
            return tuple(Dim.of(1) if i in places else size for i, size in enumerate(shape))
        return tuple(size for i, size in enumerate(shape) if i not in places)

    def matmul(self, a: Any, b: Any) -> AbstractTensor | None:
        """Return the result of ``a @ b``.

        Raises:
            ListForTensor: one of them is an argument as a whole.
            ShapeMismatch: their shapes cannot be multiplied.
        """
        for value in (a, b):
            if isinstance(value, Components):
                raise ListForTensor(value)
        if not isinstance(a, AbstractTensor) or not isinstance(b, AbstractTensor) or a.shape is None or b.shape is None:
            self.count(None)
            return None
        left, right = a.shape, b.shape
        if not left or not right:
            raise ShapeMismatch("a matrix product needs tensors with at least one dimension")
        inner = right[-2] if len(right) > 1 else right[-1]
        if self.compare.differ(left[-1], inner):
            text = f"a matrix product of {shape_text(left)} and {shape_text(right)}: {left[-1]} meets {inner}"
            raise ShapeMismatch(text)
        typed(self.compare, "torch", "matmul", (a, b), {})
        lead = self.compare.broadcast([left[:-2], right[:-2]]) if len(left) > 2 or len(right) > 2 else ()
        if lead is None:
            self.count(None)
            return None
        shape = (*lead, *(left[-2:-1] if len(left) > 1 else ()), *(right[-1:] if len(right) > 1 else ()))
        total, depth = numel(shape), left[-1]
        self.count(None if total is None or depth is None else total * depth * 2)
        weight = b if len(right) > 1 else a
        size = numel(weight.shape)
        if depth is not None and size is not None and (len(left) > 1 or len(right) > 1):
            self.matmuls.append((depth, size * _BYTES.get(weight.dtype or "fp32", 4)))
        return AbstractTensor(shape, a.dtype if a.dtype == b.dtype else None)


def _other(args: Sequence[Any], kwargs: Kwargs) -> AbstractTensor | None:
    """Return the second tensor of ``max`` or ``min``, None where there is none."""
    given = argument(args, kwargs, 1, "other", kwargs.get("x2"))
    if isinstance(given, AbstractTensor):
        return given
    return None if kwargs.keys().isdisjoint(("other", "x2")) else AbstractTensor(None)


_ANY: Final = Number("any")
_BYTES: Final = {"fp32": 4, "fp16": 2, "bf16": 2, "int32": 4, "int64": 8, "bool": 1, "fp64": 8}


_BITWISE: Final = frozenset({"bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"})
_INTEGRAL: Final = _BITWISE | {
    "where", "relu", "add", "sub", "mul", "neg", "abs", "maximum", "minimum", "remainder", "floor_divide",
}  # fmt: skip


def _summed_dtype(name: str, dtype: str | None) -> str | None:
    """Return the element type of what sums or multiplies elements of ``dtype``, None where it is not known."""
    if name == "logsumexp" and dtype not in FLOATS:
        return None
    return "int64" if name in _SUMS and dtype in ("bool", "int32") else dtype


def _result_dtype(name: str, values: Sequence[Any]) -> str | None:
    if name == "float_power":
        return None  # fp64, which no stream has
    if name in _COMPARISONS:
        return "bool"
    if name in ("where", "clamp", "clip", "nan_to_num"):
        is_bounded = name in ("clamp", "clip") and any(isinstance(value, AbstractTensor) for value in values[1:])
        values = values[1:] if name == "where" else values if is_bounded else values[:1]
        if name == "where" and len(values) == 2 and all(isinstance(value, Dim) for value in values):
            return "int64"  # which torch makes of whole numbers
    dtypes = {value.dtype for value in values if isinstance(value, AbstractTensor)}
    numbers = any(isinstance(value, Number) and value.kind != "bool" for value in values)
    if len(dtypes) != 1:
        return None
    dtype = dtypes.pop()
    if dtype in FLOATS:
        return dtype
    if dtype == "bool":
        stays = name in _BITWISE and not numbers and not any(isinstance(value, Dim) for value in values)
        return dtype if stays else None
    return dtype if name in _INTEGRAL and not numbers and dtype in ("int32", "int64") else None
