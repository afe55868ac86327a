"""Shapes of the operations that bodies use most. An operation without an entry has an unknown result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from stepcore.dim import Dim, DimError
from stepcore.fn import allow
from stepcore.fn.shape_values import (
    AbstractTensor,
    Comparer,
    Number,
    Pair,
    ShapeMismatch,
    Size,
    Sizes,
    numel,
    shape_text,
    tensor_of,
)

Kwargs = dict[str, Any]
_COMPARISONS: Final = frozenset("eq ne lt le gt ge greater greater_equal less less_equal not_equal isnan isinf isfinite".split()) | {
    "logical_and", "logical_or", "logical_not", "logical_xor", "isclose", "signbit",
}  # fmt: skip
_FLOATS: Final = ("fp32", "fp16", "bf16", "fp64")
_CASTS: Final = {
    "float": "fp32", "float32": "fp32", "double": "fp64", "float64": "fp64", "half": "fp16", "float16": "fp16",
    "bfloat16": "bf16", "int": "int32", "int32": "int32", "long": "int64", "int64": "int64", "bool": "bool",
}  # fmt: skip
_REDUCTIONS: Final = frozenset("sum mean prod amax amin logsumexp all any std var argmax argmin norm nansum nanmean".split())
_SAME_SHAPE: Final = frozenset(
    """softmax log_softmax softmin cumsum cumprod logcumsumexp flip roll tril triu normalize scatter scatter_add
    scatter_reduce index_add index_copy index_fill layer_norm rms_norm clone contiguous detach argsort""".split()
)
_ACTIVATIONS: Final = frozenset(
    """celu elu gelu hardshrink hardsigmoid hardswish hardtanh leaky_relu logsigmoid mish relu6 selu silu softplus
    softshrink softsign tanhshrink""".split()
)
_POINTWISE: Final = allow._POINTWISE_BOTH | _ACTIVATIONS | {"masked_fill", "where"}


class Shapes:
    """Result shapes of operations; collects floating-point operations and matrix products on the way."""

    def __init__(self, compare: Comparer) -> None:
        self.compare = compare
        self.flops: Dim | None = Dim.of(0)
        self.matmuls: list[tuple[Dim, Dim]] = []

    def count(self, operations: Size) -> None:
        """Add operations to the total; None makes the total unknown."""
        self.flops = None if operations is None or self.flops is None else self.flops + operations

    def apply(self, name: str, args: Sequence[Any], kwargs: Kwargs) -> Any:
        """Return the result of the operation ``name``, None where unknown.

        Raises:
            ShapeMismatch: the operands certainly do not fit.
        """
        if allow.is_inplace(name):
            return args[0] if isinstance(args[0], AbstractTensor) else None
        if name in ("max", "min") and len(args) > 1 and isinstance(args[1], AbstractTensor):
            return self.pointwise("maximum", args)
        if name in _POINTWISE:
            return self.pointwise(name, [*args, *kwargs.values()])
        if name in _REDUCTIONS or name in ("max", "min"):
            return self._reduce(name, args, kwargs)
        if name in _SAME_SHAPE:
            return self._same(name, args)
        rule = _RULES.get(name)
        if rule is None:
            self.count(None if any(isinstance(a, AbstractTensor) for a in args) else Dim.of(0))
            return None
        try:
            return rule(self, args, kwargs)
        except (DimError, IndexError, KeyError, TypeError, AttributeError):
            return None  # arguments that shape inference does not follow; nothing is known then

    def pointwise(self, name: str, values: Sequence[Any]) -> AbstractTensor | None:
        """Broadcast the operands."""
        tensors = [tensor_of(value) for value in values if not isinstance(value, str | bool)]
        if any(tensor is None for tensor in tensors):
            self.count(None)
            return None
        known = [tensor for tensor in tensors if tensor is not None]
        shape = self.compare.broadcast([tensor.shape for tensor in known])
        if name not in ("clone", "positive"):
            self.count(numel(shape))
        return AbstractTensor(shape, _result_dtype(name, values))

    def _same(self, name: str, args: Sequence[Any]) -> AbstractTensor | None:
        value = args[0]
        if not isinstance(value, AbstractTensor):
            self.count(None)
            return None
        self.count(numel(value.shape))
        return AbstractTensor(value.shape, "int64" if name == "argsort" else value.dtype)

    def _reduce(self, name: str, args: Sequence[Any], kwargs: Kwargs) -> Any:
        value = args[0]
        if not isinstance(value, AbstractTensor):
            self.count(None)
            return None
        self.count(numel(value.shape))
        rest = list(args[2:] if name == "norm" and len(args) > 1 else args[1:])
        dim = kwargs.get("dim", kwargs.get("axis", rest[0] if rest else ()))
        keep = kwargs.get("keepdim", rest[1] if len(rest) > 1 else False)
        dtype = {"argmax": "int64", "argmin": "int64", "all": "bool", "any": "bool"}.get(name, value.dtype)
        if name in ("sum", "prod") and value.dtype in ("bool", "int32"):
            dtype = "int64"
        if "dtype" in kwargs or not isinstance(keep, bool):
            return None
        if dim == () and not rest and "dim" not in kwargs and "axis" not in kwargs:
            return AbstractTensor((), dtype)
        shape = self._without(value.shape, dim, keep)
        if name in ("max", "min"):
            return None if shape is None else Pair(AbstractTensor(shape, dtype), AbstractTensor(shape, "int64"))
        return AbstractTensor(shape, dtype)

    def _without(self, shape: Sizes | None, dim: Any, keep: bool) -> Sizes | None:
        if shape is None:
            return None
        dims = list(dim) if isinstance(dim, list | tuple) else [dim]
        numbers = [_integer(d) for d in dims]
        if any(number is None for number in numbers):
            return None
        places = {_place(number, len(shape)) for number in numbers if number is not None}
        if keep:
            return tuple(Dim.of(1) if i in places else size for i, size in enumerate(shape))
        return tuple(size for i, size in enumerate(shape) if i not in places)

    def matmul(self, a: Any, b: Any) -> AbstractTensor | None:
        """Return the result of ``a @ b``."""
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


_BYTES: Final = {"fp32": 4, "fp16": 2, "bf16": 2, "int32": 4, "int64": 8, "bool": 1, "fp64": 8}


def _result_dtype(name: str, values: Sequence[Any]) -> str | None:
    if name in _COMPARISONS:
        return "bool"
    if name in ("where", "lerp", "addcmul", "addcdiv", "clamp", "clip", "nan_to_num"):
        values = values[1:] if name == "where" else values[:1]
    dtypes = {value.dtype for value in values if isinstance(value, AbstractTensor)}
    numbers = any(isinstance(value, Number) for value in values)
    if len(dtypes) != 1:
        return None
    dtype = dtypes.pop()
    if dtype in _FLOATS:
        return dtype
    integral = name in ("add", "sub", "mul", "neg", "abs", "maximum", "minimum", "bitwise_and", "bitwise_or")
    return dtype if integral and not numbers and dtype in ("int32", "int64") else None


def _integer(value: Any) -> int | None:
    return value.constant if isinstance(value, Dim) else None


def _place(dim: int, rank: int) -> int:
    place = dim + rank if dim < 0 else dim
    if not 0 <= place < rank:
        if rank == 0 and dim in (0, -1):
            return 0
        raise ShapeMismatch(f"there is no dimension {dim} in a tensor with {rank} dimensions")
    return place


def _sizes(values: Sequence[Any]) -> Sizes | None:
    if len(values) == 1 and isinstance(values[0], list | tuple):
        values = list(values[0])
    if any(isinstance(value, list | tuple | AbstractTensor) for value in values):
        return None
    return tuple(value if isinstance(value, Dim) else None for value in values)


def _dtype_argument(kwargs: Kwargs, default: str | None) -> str | None:
    if "dtype" not in kwargs:
        return default
    dtype = kwargs["dtype"]
    return dtype if isinstance(dtype, str) else None


def _argument(args: Sequence[Any], kwargs: Kwargs, index: int, name: str, default: Any = None) -> Any:
    return args[index] if len(args) > index else kwargs.get(name, default)


def _shape_of(value: Any) -> Sizes | None:
    return value.shape if isinstance(value, AbstractTensor) else None


def _creation(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    shape = _sizes(args or (kwargs["size"],))
    return AbstractTensor(shape, _dtype_argument(kwargs, "fp32"))


def _full(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    return AbstractTensor(_sizes([args[0]]), _dtype_argument(kwargs, None))


def _like(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value = args[0]
    return AbstractTensor(value.shape, _dtype_argument(kwargs, value.dtype))


def _new(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    return AbstractTensor(_sizes(args[1:]), _dtype_argument(kwargs, args[0].dtype))


def _arange(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    if any(not isinstance(a, Dim) for a in args) or "step" in kwargs or "end" in kwargs:
        return AbstractTensor((None,), _dtype_argument(kwargs, None))
    start, end = (Dim.of(0), args[0]) if len(args) == 1 else (args[0], args[1])
    step = args[2] if len(args) > 2 else Dim.of(1)
    count = end - start
    if step.constant != 1:
        count = (count + step - 1) // step if (step.constant or 0) > 0 else None
    return AbstractTensor((count,), _dtype_argument(kwargs, "int64"))


def _transpose(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value = args[0]
    a, b = (_integer(_argument(args, kwargs, i, f"dim{i - 1}")) for i in (1, 2))
    if value.shape is None or a is None or b is None:
        return AbstractTensor(None, value.dtype)
    sizes = list(value.shape)
    i, j = _place(a, len(sizes)), _place(b, len(sizes))
    sizes[i], sizes[j] = sizes[j], sizes[i]
    return AbstractTensor(tuple(sizes), value.dtype)


def _t(_s: Shapes, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    return AbstractTensor(tuple(reversed(args[0].shape)), args[0].dtype)


def _permute(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    order = _sizes(args[1:] or (kwargs["dims"],))
    value = args[0]
    numbers = [_integer(o) for o in order or ()]
    if any(n is None for n in numbers) or len(numbers) != len(value.shape):
        return AbstractTensor(None, value.dtype)
    places = [_place(n, len(numbers)) for n in numbers if n is not None]
    return AbstractTensor(tuple(value.shape[p] for p in places), value.dtype)


def _unsqueeze(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value, dim = args[0], _integer(_argument(args, kwargs, 1, "dim"))
    if dim is None or value.shape is None:
        return AbstractTensor(None, value.dtype)
    place = _place(dim, len(value.shape) + 1)
    return AbstractTensor((*value.shape[:place], Dim.of(1), *value.shape[place:]), value.dtype)


def _squeeze(s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value = args[0]
    dim = _argument(args, kwargs, 1, "dim")
    ones = [s.compare.is_one(size) for size in value.shape]
    if dim is None:
        if None in ones:
            return AbstractTensor(None, value.dtype)
        return AbstractTensor(tuple(x for x, one in zip(value.shape, ones, strict=True) if not one), value.dtype)
    number = _integer(dim)
    if number is None:
        return AbstractTensor(None, value.dtype)
    place = _place(number, len(value.shape))
    if ones[place] is None:
        return AbstractTensor(None, value.dtype)
    if not ones[place]:
        return value
    return AbstractTensor((*value.shape[:place], *value.shape[place + 1 :]), value.dtype)


def _reshape(s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value = args[0]
    wanted = _sizes(args[1:] or (kwargs.get("shape", kwargs.get("size")),))
    if wanted is None or (len(args) == 2 and isinstance(args[1], str)):
        return AbstractTensor(None, None)
    total = numel(value.shape)
    holes = [i for i, size in enumerate(wanted) if size is not None and size.constant == -1]
    rest = numel(tuple(size for i, size in enumerate(wanted) if i not in holes))
    if holes:
        sizes = list(wanted)
        sizes[holes[0]] = None if total is None or rest is None else total // rest
        return AbstractTensor(tuple(sizes), value.dtype)
    if s.compare.differ(total, rest):
        raise ShapeMismatch(f"{shape_text(value.shape)} has {total} values and cannot become {shape_text(wanted)}")
    return AbstractTensor(wanted, value.dtype)


def _flatten(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value = args[0]
    if value.shape is None:
        return value
    if not value.shape:
        return AbstractTensor((Dim.of(1),), value.dtype)
    rank = len(value.shape)
    start = _integer(_argument(args, kwargs, 1, "start_dim", Dim.of(0)))
    end = _integer(_argument(args, kwargs, 2, "end_dim", Dim.of(-1)))
    if start is None or end is None:
        return AbstractTensor(None, value.dtype)
    first, last = _place(start, rank), _place(end, rank)
    merged = numel(value.shape[first : last + 1])
    return AbstractTensor((*value.shape[:first], merged, *value.shape[last + 1 :]), value.dtype)


def _expand(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value = args[0]
    wanted = _sizes(args[1:] or (kwargs.get("size"),))
    if wanted is None or value.shape is None:
        return AbstractTensor(None, value.dtype)
    offset = len(wanted) - len(value.shape)
    sizes = tuple(
        value.shape[i - offset] if size is not None and size.constant == -1 and i >= offset else size
        for i, size in enumerate(wanted)
    )
    return AbstractTensor(sizes, value.dtype)


def _repeat(_s: Shapes, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    value, counts = args[0], _sizes(args[1:])
    if counts is None or value.shape is None or len(counts) < len(value.shape):
        return AbstractTensor(None, value.dtype)
    padded = (*(Dim.of(1),) * (len(counts) - len(value.shape)), *value.shape)
    sizes = tuple(None if a is None or b is None else a * b for a, b in zip(padded, counts, strict=True))
    return AbstractTensor(sizes, value.dtype)


def _stack(s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    tensors, dim = args[0], _integer(_argument(args, kwargs, 1, "dim", Dim.of(0)))
    if not isinstance(tensors, list | tuple) or dim is None or not all(isinstance(t, AbstractTensor) for t in tensors):
        return AbstractTensor(None)
    shape = tensors[0].shape
    for tensor in tensors:
        if tensor.shape is None:
            return AbstractTensor(None)
        if len(tensor.shape) != len(shape) or any(map(s.compare.differ, tensor.shape, shape)):
            raise ShapeMismatch(f"stack needs equal shapes, got {shape_text(shape)} and {shape_text(tensor.shape)}")
    place = _place(dim, len(shape) + 1)
    return AbstractTensor((*shape[:place], Dim.of(len(tensors)), *shape[place:]), _common_dtype(tensors))


def _cat(s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    tensors, dim = args[0], _integer(_argument(args, kwargs, 1, "dim", Dim.of(0)))
    if not isinstance(tensors, list | tuple) or dim is None or not all(isinstance(t, AbstractTensor) for t in tensors):
        return AbstractTensor(None)
    if not tensors or any(t.shape is None or any(size == 0 for size in t.shape) for t in tensors):
        return AbstractTensor(None)
    first = tensors[0].shape
    if not first:
        raise ShapeMismatch("cat needs tensors with at least one dimension; stack takes numbers")
    place = _place(dim, len(first))
    total: Size = Dim.of(0)
    for tensor in tensors:
        others = len(tensor.shape) == len(first) and not any(
            s.compare.differ(a, b) for i, (a, b) in enumerate(zip(tensor.shape, first, strict=True)) if i != place
        )
        if not others:
            raise ShapeMismatch(f"cat along dimension {dim} of {shape_text(first)} and {shape_text(tensor.shape)}")
        total = None if total is None or tensor.shape[place] is None else total + tensor.shape[place]
    return AbstractTensor((*first[:place], total, *first[place + 1 :]), _common_dtype(tensors))


def _common_dtype(tensors: Sequence[AbstractTensor]) -> str | None:
    dtypes = {tensor.dtype for tensor in tensors}
    return dtypes.pop() if len(dtypes) == 1 else None


def _chunk(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value, count = args[0], _integer(_argument(args, kwargs, 1, "chunks"))
    dim = _integer(_argument(args, kwargs, 2, "dim", Dim.of(0)))
    if value.shape is None or count is None or dim is None:
        return None
    place = _place(dim, len(value.shape))
    size = value.shape[place]
    constant = None if size is None else _s.compare.bound(size)
    if size is None or constant is None or constant % count:
        return None  # the last chunk is shorter, or there are fewer
    part = AbstractTensor((*value.shape[:place], size // count, *value.shape[place + 1 :]), value.dtype)
    return [part] * count


def _topk(s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value, count = args[0], _argument(args, kwargs, 1, "k")
    dim = _integer(_argument(args, kwargs, 2, "dim", Dim.of(-1)))
    if value.shape is None or dim is None or not value.shape:
        return None
    place = _place(dim, len(value.shape))
    size = value.shape[place]
    if isinstance(count, Dim) and size is not None:
        k, n = s.compare.bound(count), s.compare.bound(size)
        if k is not None and n is not None and k > n:
            raise ShapeMismatch(f"topk of {count} values out of {size}")
    shape = (*value.shape[:place], count if isinstance(count, Dim) else None, *value.shape[place + 1 :])
    s.count(numel(value.shape))
    return Pair(AbstractTensor(shape, value.dtype), AbstractTensor(shape, "int64"))


def _sort(s: Shapes, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    s.count(numel(args[0].shape))
    return Pair(args[0], AbstractTensor(args[0].shape, "int64"))


def _one_hot(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    count = _argument(args, kwargs, 1, "num_classes")
    return AbstractTensor((*args[0].shape, count if isinstance(count, Dim) else None), "int64")


def _outer(s: Shapes, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    a, b = _shape_of(args[0]), _shape_of(args[1])
    if a is None or b is None:
        return AbstractTensor(None)
    for shape in (a, b):
        if len(shape) != 1:
            raise ShapeMismatch(f"outer needs two vectors, got {shape_text(a)} and {shape_text(b)}")
    s.count(numel((*a, *b)))
    return AbstractTensor((*a, *b), _common_dtype((args[0], args[1])))


def _dot(s: Shapes, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    a, b = _shape_of(args[0]), _shape_of(args[1])
    if a is not None and b is not None and (len(a) != 1 or len(b) != 1):
        raise ShapeMismatch(f"dot needs two vectors, got {shape_text(a)} and {shape_text(b)}")
    return s.matmul(args[0], args[1])


def _linear(s: Shapes, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    weight = args[1]
    if weight.shape is None or len(weight.shape) != 2:
        return AbstractTensor(None)
    return s.matmul(args[0], AbstractTensor((weight.shape[1], weight.shape[0]), weight.dtype))


def _gather(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    return AbstractTensor(_argument(args, kwargs, 2, "index").shape, args[0].dtype)


def _select(_s: Shapes, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    dim = _integer(args[1])
    if dim is None or args[0].shape is None:
        return AbstractTensor(None)
    place = _place(dim, len(args[0].shape))
    return AbstractTensor((*args[0].shape[:place], *args[0].shape[place + 1 :]), args[0].dtype)


def _cast(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    target = args[1] if len(args) > 1 else kwargs.get("dtype")
    if isinstance(target, AbstractTensor):
        return AbstractTensor(args[0].shape, target.dtype)
    return AbstractTensor(args[0].shape, target if isinstance(target, str) else None)


def _cast_to(dtype: str) -> Callable[[Shapes, Sequence[Any], Kwargs], Any]:
    return lambda _s, args, _kwargs: AbstractTensor(args[0].shape, dtype)


def _size(_s: Shapes, args: Sequence[Any], kwargs: Kwargs) -> Any:
    shape = args[0].shape
    dim = _argument(args, kwargs, 1, "dim")
    if shape is None:
        return None
    number = _integer(dim)
    return list(shape) if dim is None else None if number is None else shape[_place(number, len(shape))]


_RULES: Final[dict[str, Callable[[Shapes, Sequence[Any], Kwargs], Any]]] = {
    "zeros": _creation, "ones": _creation, "empty": _creation, "rand": _creation, "randn": _creation, "full": _full,
    "zeros_like": _like, "ones_like": _like, "empty_like": _like, "full_like": _like,
    "new_zeros": _new, "new_ones": _new, "new_empty": _new, "arange": _arange,
    "transpose": _transpose, "swapaxes": _transpose, "swapdims": _transpose, "t": _t, "permute": _permute,
    "unsqueeze": _unsqueeze, "squeeze": _squeeze, "reshape": _reshape, "view": _reshape, "flatten": _flatten,
    "expand": _expand, "broadcast_to": _expand, "repeat": _repeat, "stack": _stack, "cat": _cat, "concat": _cat,
    "concatenate": _cat, "chunk": _chunk, "topk": _topk, "sort": _sort, "one_hot": _one_hot, "outer": _outer,
    "dot": _dot, "linear": _linear, "gather": _gather, "select": _select, "to": _cast, "type_as": _cast,
    "size": _size, "matmul": lambda s, a, _k: s.matmul(a[0], a[1]), "mm": lambda s, a, _k: s.matmul(a[0], a[1]),
    "mv": lambda s, a, _k: s.matmul(a[0], a[1]), "bmm": lambda s, a, _k: s.matmul(a[0], a[1]),
    "cummax": _sort, "cummin": _sort, "numel": lambda _s, a, _k: numel(a[0].shape),
    "dim": lambda _s, a, _k: Dim.of(len(a[0].shape)),
}  # fmt: skip
_RULES |= {name: _cast_to(dtype) for name, dtype in _CASTS.items() if name in allow.TENSOR_METHODS}
CASTS: Final = _CASTS
