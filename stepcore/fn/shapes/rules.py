"""Shape rules of single operations; a table from names to rules at the end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, TypeAlias

from stepcore.fn import allow
from stepcore.fn.placement import CPU
from stepcore.fn.shapes.parts import argument, chunks, divides, split, unbind
from stepcore.fn.shapes.values import (
    AbstractTensor,
    Comparer,
    LikeItems,
    Number,
    NumberLimits,
    Pair,
    ShapeList,
    ShapeMismatch,
    Size,
    Sizes,
    integer,
    numel,
    place_of,
    shape_text,
)
from stepcore.sizes.dim import Dim

Kwargs = dict[str, Any]
Rule: TypeAlias = "Callable[[Inferring, Sequence[Any], Kwargs], Any]"
CASTS: Final = {
    "float": "fp32", "float32": "fp32", "double": "fp64", "float64": "fp64", "half": "fp16", "float16": "fp16",
    "bfloat16": "bf16", "int": "int32", "int32": "int32", "long": "int64", "int64": "int64", "bool": "bool",
}  # fmt: skip


class Inferring(Protocol):
    """What a rule needs of the inference that applies it."""

    compare: Comparer

    def count(self, operations: Size) -> None:
        """Add operations to the total; None makes the total unknown."""

    def reduce(self, name: str, args: Sequence[Any], kwargs: Kwargs) -> Any:
        """Return what a reduction gives along the dimensions that it is told, or over all."""

    def matmul(self, a: Any, b: Any) -> AbstractTensor | None:
        """Return the result of ``a @ b``."""


def _sizes(values: Sequence[Any]) -> Sizes | None:
    if len(values) == 1 and (values[0] is None or isinstance(values[0], LikeItems)):
        return None  # one size, or a list of some
    if len(values) == 1 and isinstance(values[0], list | tuple):
        values = list(values[0])
    if any(isinstance(value, list | tuple | AbstractTensor) for value in values):
        return None
    return tuple(value if isinstance(value, Dim) else None for value in values)


def _dtypeargument(kwargs: Kwargs, default: str | None) -> str | None:
    if "dtype" not in kwargs:
        return default
    dtype = kwargs["dtype"]
    return dtype if isinstance(dtype, str) else None


def _shape_of(value: Any) -> Sizes | None:
    return value.shape if isinstance(value, AbstractTensor) else None


def _creation(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    shape = _sizes(args or (kwargs["size"],))
    return AbstractTensor(shape, _dtypeargument(kwargs, "fp32"))


def _full(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    return AbstractTensor(_sizes([args[0]]), _dtypeargument(kwargs, None))


def _like(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value = args[0]
    return AbstractTensor(value.shape, _dtypeargument(kwargs, value.dtype))


def _new(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    return AbstractTensor(_sizes(args[1:] or (kwargs["size"],)), _dtypeargument(kwargs, args[0].dtype))


def _arange(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    if any(not isinstance(a, Dim) for a in args) or "step" in kwargs or "end" in kwargs:
        return AbstractTensor((None,), _dtypeargument(kwargs, None))
    start, end = (Dim.of(0), args[0]) if len(args) == 1 else (args[0], args[1])
    step = args[2] if len(args) > 2 else Dim.of(1)
    count = end - start
    if step.constant != 1:
        count = (count + step - 1) // step if (step.constant or 0) > 0 else None
    return AbstractTensor((count,), _dtypeargument(kwargs, "int64"))


def _transpose(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value = args[0]
    a, b = (integer(argument(args, kwargs, i, f"dim{i - 1}")) for i in (1, 2))
    if value.shape is None or a is None or b is None:
        return AbstractTensor(None, value.dtype)
    sizes = list(value.shape)
    i, j = place_of(a, len(sizes)), place_of(b, len(sizes))
    sizes[i], sizes[j] = sizes[j], sizes[i]
    return AbstractTensor(tuple(sizes), value.dtype)


def _t(_s: Inferring, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    return AbstractTensor(tuple(reversed(args[0].shape)), args[0].dtype)


def _permute(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    order = _sizes(args[1:] or (kwargs["dims"],))
    value = args[0]
    numbers = [integer(o) for o in order or ()]
    if any(n is None for n in numbers) or len(numbers) != len(value.shape):
        return AbstractTensor(None, value.dtype)
    places = [place_of(n, len(numbers)) for n in numbers if n is not None]
    return AbstractTensor(tuple(value.shape[p] for p in places), value.dtype)


def _unsqueeze(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value, dim = args[0], integer(argument(args, kwargs, 1, "dim"))
    if dim is None or value.shape is None:
        return AbstractTensor(None, value.dtype)
    place = place_of(dim, len(value.shape) + 1)
    return AbstractTensor((*value.shape[:place], Dim.of(1), *value.shape[place:]), value.dtype)


def _squeeze(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value = args[0]
    dim = argument(args, kwargs, 1, "dim")
    if len(args) > 2 or (dim is None and (len(args) > 1 or kwargs)):
        return AbstractTensor(None, value.dtype)  # several dimensions, or nobody knows which
    ones = [s.compare.is_one(size) for size in value.shape]
    if dim is None:
        if None in ones:
            return AbstractTensor(None, value.dtype)
        return AbstractTensor(tuple(x for x, one in zip(value.shape, ones, strict=True) if not one), value.dtype)
    number = integer(dim)
    if number is None:
        return AbstractTensor(None, value.dtype)
    place = place_of(number, len(value.shape))
    if ones[place] is None:
        return AbstractTensor(None, value.dtype)
    if not ones[place]:
        return value
    return AbstractTensor((*value.shape[:place], *value.shape[place + 1 :]), value.dtype)


def _reshape(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value = args[0]
    told = args[1:] or (kwargs.get("shape", kwargs.get("size")),)
    if len(told) == 1 and not isinstance(told[0], Dim | list | tuple):
        return AbstractTensor(None, None)  # perhaps another element type, in which it is read
    wanted = _sizes(told)
    if wanted is None:
        return AbstractTensor(None, value.dtype)
    total = numel(value.shape)
    holes = [i for i, size in enumerate(wanted) if size is not None and size.constant == -1]
    rest = numel(tuple(size for i, size in enumerate(wanted) if i not in holes))
    if holes:
        others = tuple(size for i, size in enumerate(wanted) if i not in holes)
        if value.shape is not None and len(holes) == 1:
            divides(s.compare, value.shape, others, wanted)
        sizes = list(wanted)
        sizes[holes[0]] = None if total is None or rest is None else total // rest
        return AbstractTensor(tuple(sizes), value.dtype)
    if s.compare.differ(total, rest):
        raise ShapeMismatch(f"{shape_text(value.shape)} has {total} values and cannot become {shape_text(wanted)}")
    return AbstractTensor(wanted, value.dtype)


def _flatten(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value = args[0]
    if value.shape is None:
        return value
    if not value.shape:
        return AbstractTensor((Dim.of(1),), value.dtype)
    rank = len(value.shape)
    start = integer(argument(args, kwargs, 1, "start_dim", Dim.of(0)))
    end = integer(argument(args, kwargs, 2, "end_dim", Dim.of(-1)))
    if start is None or end is None:
        return AbstractTensor(None, value.dtype)
    first, last = place_of(start, rank), place_of(end, rank)
    merged = numel(value.shape[first : last + 1])
    return AbstractTensor((*value.shape[:first], merged, *value.shape[last + 1 :]), value.dtype)


def _expand(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
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


def _repeat(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value, counts = args[0], _sizes(args[1:] or (kwargs["repeats"],))
    if counts is None or value.shape is None or len(counts) < len(value.shape):
        return AbstractTensor(None, value.dtype)
    padded = (*(Dim.of(1),) * (len(counts) - len(value.shape)), *value.shape)
    sizes = tuple(None if a is None or b is None else a * b for a, b in zip(padded, counts, strict=True))
    return AbstractTensor(sizes, value.dtype)


def _stack(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    tensors, dim = args[0], integer(argument(args, kwargs, 1, "dim", Dim.of(0)))
    if isinstance(tensors, LikeItems) and dim is not None and isinstance(tensors.item, AbstractTensor):
        return _of_like(tensors.item, tensors.count, dim, is_new=True)
    if not isinstance(tensors, list | tuple) or dim is None or not all(isinstance(t, AbstractTensor) for t in tensors):
        return AbstractTensor(None)
    shape = tensors[0].shape
    for tensor in tensors:
        if tensor.shape is None:
            return AbstractTensor(None)
        if len(tensor.shape) != len(shape) or any(map(s.compare.differ, tensor.shape, shape)):
            raise ShapeMismatch(f"stack needs equal shapes, got {shape_text(shape)} and {shape_text(tensor.shape)}")
    place = place_of(dim, len(shape) + 1)
    return AbstractTensor((*shape[:place], Dim.of(len(tensors)), *shape[place:]), _common_dtype(tensors))


def _of_like(item: AbstractTensor, count: Size, dim: int, *, is_new: bool) -> AbstractTensor:
    """Return what like tensors are together, along a dimension that is new or one of theirs."""
    if item.shape is None:
        return AbstractTensor(None, item.dtype)
    if is_new:
        place = place_of(dim, len(item.shape) + 1)
        return AbstractTensor((*item.shape[:place], count, *item.shape[place:]), item.dtype)
    if not item.shape:
        raise ShapeMismatch("cat needs tensors with at least one dimension; stack takes numbers")
    place = place_of(dim, len(item.shape))
    size = item.shape[place]
    total = None if size is None or count is None else size * count
    return AbstractTensor((*item.shape[:place], total, *item.shape[place + 1 :]), item.dtype)


def _cat(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    tensors, dim = args[0], integer(argument(args, kwargs, 1, "dim", Dim.of(0)))
    if isinstance(tensors, LikeItems) and dim is not None and isinstance(tensors.item, AbstractTensor):
        return _of_like(tensors.item, tensors.count, dim, is_new=False)
    if not isinstance(tensors, list | tuple) or dim is None or not all(isinstance(t, AbstractTensor) for t in tensors):
        return AbstractTensor(None)
    if not tensors or any(t.shape is None or any(_is_zero(s, size) for size in t.shape) for t in tensors):
        return AbstractTensor(None)  # empty ones fit tensors of more dimensions
    first = tensors[0].shape
    if not first:
        raise ShapeMismatch("cat needs tensors with at least one dimension; stack takes numbers")
    place = place_of(dim, len(first))
    total: Size = Dim.of(0)
    for tensor in tensors:
        others = len(tensor.shape) == len(first) and not any(
            s.compare.differ(a, b) for i, (a, b) in enumerate(zip(tensor.shape, first, strict=True)) if i != place
        )
        if not others:
            raise ShapeMismatch(f"cat along dimension {dim} of {shape_text(first)} and {shape_text(tensor.shape)}")
        total = None if total is None or tensor.shape[place] is None else total + tensor.shape[place]
    return AbstractTensor((*first[:place], total, *first[place + 1 :]), _common_dtype(tensors))


def _is_zero(s: Inferring, size: Size) -> bool:
    return size is not None and s.compare.bound(size) == 0


def _common_dtype(tensors: Sequence[AbstractTensor]) -> str | None:
    dtypes = {tensor.dtype for tensor in tensors}
    return dtypes.pop() if len(dtypes) == 1 else None


def _topk(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value, count = args[0], argument(args, kwargs, 1, "k")
    dim = integer(argument(args, kwargs, 2, "dim", Dim.of(-1)))
    if value.shape is None or dim is None or not value.shape:
        return None
    place = place_of(dim, len(value.shape))
    size = value.shape[place]
    if isinstance(count, Dim) and size is not None:
        k, n = s.compare.bound(count), s.compare.bound(size)
        if k is not None and n is not None and k > n:
            raise ShapeMismatch(f"topk of {count} values out of {size}")
    shape = (*value.shape[:place], count if isinstance(count, Dim) else None, *value.shape[place + 1 :])
    s.count(numel(value.shape))
    return Pair(AbstractTensor(shape, value.dtype), AbstractTensor(shape, "int64"))


def _sort(s: Inferring, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    s.count(numel(args[0].shape))
    return Pair(args[0], AbstractTensor(args[0].shape, "int64"))


def _one_hot(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    count = argument(args, kwargs, 1, "num_classes")
    known = isinstance(count, Dim) and (s.compare.bound(count) or 0) >= 0  # with -1 the data say how many there are
    return AbstractTensor((*args[0].shape, count if known else None), "int64")


def _outer(s: Inferring, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    a, b = _shape_of(args[0]), _shape_of(args[1])
    if a is None or b is None:
        return AbstractTensor(None)
    for shape in (a, b):
        if len(shape) != 1:
            raise ShapeMismatch(f"outer needs two vectors, got {shape_text(a)} and {shape_text(b)}")
    s.count(numel((*a, *b)))
    return AbstractTensor((*a, *b), _common_dtype((args[0], args[1])))


def _dot(s: Inferring, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    a, b = _shape_of(args[0]), _shape_of(args[1])
    if a is not None and b is not None and (len(a) != 1 or len(b) != 1):
        raise ShapeMismatch(f"dot needs two vectors, got {shape_text(a)} and {shape_text(b)}")
    return s.matmul(args[0], args[1])


def _linear(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    weight, bias = argument(args, kwargs, 1, "weight"), argument(args, kwargs, 2, "bias")
    if isinstance(bias, AbstractTensor) and weight.shape is not None and len(weight.shape) == 2 and bias.shape:
        s.compare.broadcast([(weight.shape[0],), bias.shape[-1:]], " in linear")
    if weight.shape is not None and len(weight.shape) == 1:
        return s.matmul(args[0], weight)
    if weight.shape is None or len(weight.shape) != 2:
        return AbstractTensor(None)
    return s.matmul(args[0], AbstractTensor((weight.shape[1], weight.shape[0]), weight.dtype))


def _gather(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    return AbstractTensor(argument(args, kwargs, 2, "index").shape, args[0].dtype)


def _select(_s: Inferring, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    dim = integer(args[1])
    if dim is None or args[0].shape is None:
        return AbstractTensor(None)
    place = place_of(dim, len(args[0].shape))
    return AbstractTensor((*args[0].shape[:place], *args[0].shape[place + 1 :]), args[0].dtype)


def _cast(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    target = args[1] if len(args) > 1 else kwargs.get("dtype")
    if isinstance(target, AbstractTensor):
        return AbstractTensor(args[0].shape, target.dtype)
    if isinstance(target, str) and CPU.fullmatch(target):  # a device, where values are anyway
        if len(args) == 2 and "dtype" not in kwargs:
            return AbstractTensor(args[0].shape, args[0].dtype)
        target = argument(args, kwargs, 2, "dtype")
    return AbstractTensor(args[0].shape, target if isinstance(target, str) else None)


def _cast_to(dtype: str) -> Callable[[Inferring, Sequence[Any], Kwargs], Any]:
    return lambda _s, args, _kwargs: AbstractTensor(args[0].shape, dtype)


def _size(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    shape = args[0].shape
    dim = argument(args, kwargs, 1, "dim")
    if shape is None:
        return None
    number = integer(dim)
    return ShapeList(shape) if dim is None else None if number is None else shape[place_of(number, len(shape))]


def _item(s: Inferring, args: Sequence[Any], _kwargs: Kwargs) -> Any:
    value = args[0]
    total = numel(value.shape)
    s.count(None)
    if s.compare.differ(total, Dim.of(1)):
        raise ShapeMismatch(f"item() takes a tensor of one number, and this is {shape_text(value.shape)}")
    whole = {"bool": "bool", "int32": "int", "int64": "int", None: "number"}
    return Number(whole.get(value.dtype, "float"))


def _pair(s: Inferring, _args: Sequence[Any], _kwargs: Kwargs) -> Any:
    s.count(None)
    return Pair(AbstractTensor(None), AbstractTensor(None))


def _median(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    value = args[0]
    if len(args) > 1 or kwargs:
        return _pair(s, args, kwargs)
    s.count(None)
    return AbstractTensor((), value.dtype)


RULES: Final[dict[str, Rule]] = {
    "zeros": _creation, "ones": _creation, "empty": _creation, "rand": _creation, "randn": _creation, "full": _full,
    "zeros_like": _like, "ones_like": _like, "empty_like": _like, "full_like": _like,
    "new_zeros": _new, "new_ones": _new, "new_empty": _new, "arange": _arange,
    "transpose": _transpose, "swapaxes": _transpose, "swapdims": _transpose, "t": _t, "permute": _permute,
    "unsqueeze": _unsqueeze, "squeeze": _squeeze, "reshape": _reshape, "view": _reshape, "flatten": _flatten,
    "expand": _expand, "broadcast_to": _expand, "repeat": _repeat, "stack": _stack, "cat": _cat, "concat": _cat,
    "concatenate": _cat,
    "chunk": lambda s, a, k: chunks(s.compare, a, k), "split": lambda s, a, k: split(s.compare, a, k),
    "unbind": lambda _s, a, k: unbind(a, k), "topk": _topk, "sort": _sort, "one_hot": _one_hot, "outer": _outer,
    "dot": _dot, "linear": _linear, "gather": _gather, "select": _select, "to": _cast, "type_as": _cast,
    "size": _size, "matmul": lambda s, a, _k: s.matmul(a[0], a[1]), "mm": lambda s, a, _k: s.matmul(a[0], a[1]),
    "mv": lambda s, a, _k: s.matmul(a[0], a[1]), "bmm": lambda s, a, _k: s.matmul(a[0], a[1]),
    "cummax": _sort, "cummin": _sort, "numel": lambda _s, a, _k: numel(a[0].shape),
    "dim": lambda _s, a, _k: Dim.of(len(a[0].shape)), "item": _item,
    "kthvalue": _pair, "mode": _pair, "aminmax": _pair, "median": _median,
    "nanmedian": _median, "finfo": lambda _s, _a, _k: NumberLimits("float"),
    "iinfo": lambda _s, _a, _k: NumberLimits("int"),
}  # fmt: skip
RULES.update({name: _cast_to(dtype) for name, dtype in CASTS.items() if name in allow.TENSOR_METHODS})
