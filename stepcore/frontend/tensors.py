"""Tensors that scripts make by torch: their dtypes and sizes, as far as the text says them. Nothing is run.

What is not listed here is a tensor of which nothing is known, and is told by a run only.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from stepcore.frontend.values import UNKNOWN, Method, ModuleRef, TensorValue, Value

Values = Sequence[Value]
Sizes = tuple[int, ...]
# Other names of torch for dtypes.
_ALIASES: Final = {
    "float": "float32", "double": "float64", "half": "float16", "int": "int32", "long": "int64", "short": "int16",
}  # fmt: skip
_FLOATING: Final = frozenset({"float16", "bfloat16", "float32", "float64"})
_DTYPES: Final = _FLOATING | {"bool", "uint8", "int8", "int16", "int32", "int64"}
_SIZED: Final = frozenset({"zeros", "ones", "empty", "rand", "randn"})
_LIKE: Final = frozenset({"zeros_like", "ones_like", "empty_like", "rand_like", "randn_like"})
_OF_DATA: Final = frozenset({"tensor", "as_tensor"})
_SAME: Final = frozenset({"clone", "contiguous", "detach", "cpu", "cuda"})
_MOST: Final = 2**40  # as a size; larger numbers are none
_DEEPEST: Final = 16  # lists in each other that are looked into
_MOST_LITERALS: Final = 4096  # items of lists that are looked at
# They change the sizes of a tensor in place, which other names may hold, too.
_RESIZING: Final = frozenset({
    "resize_", "resize_as_", "unsqueeze_", "squeeze_", "t_", "transpose_", "swapaxes_", "swapdims_", "set_",
})  # fmt: skip


def dtype_of(value: Value) -> str | None:
    """Return the name of a dtype of torch, None for anything else."""
    if not isinstance(value, ModuleRef) or not value.name.startswith("torch."):
        return None
    name = value.name.removeprefix("torch.")
    name = _ALIASES.get(name, name)
    return name if name in _DTYPES else None


def is_made(name: str) -> bool:
    """Return whether :func:`made` knows this function of torch."""
    return name in _SIZED or name in _LIKE or name in _OF_DATA or name in _OTHERS


def made(name: str, args: Values, given: Mapping[str, Value], floating: str | None) -> TensorValue | None:
    """Return the tensor that ``torch.NAME`` makes of its arguments; None where it is none of those that are known.

    ``floating`` is the dtype of numbers with a point where none is said, None where only a run can tell.
    """
    sizes: Sizes | None
    own: str | None = floating
    if name in _SIZED:
        sizes = _sizes([given["size"]] if "size" in given and not args else args)
    elif name in _LIKE:
        like = args[0] if args else UNKNOWN
        sizes, own = (like.sizes, like.dtype) if isinstance(like, TensorValue) else (None, None)
    elif name in _OF_DATA:
        data = args[0] if args else given.get("data", UNKNOWN)
        sizes, own = (data.sizes, data.dtype) if isinstance(data, TensorValue) else _literal(data, floating)
    elif name in _OTHERS:
        sizes, own = _OTHERS[name](args, given, floating)
    else:
        return None
    dtype = given.get("dtype")
    return TensorValue(own if dtype is None else dtype_of(dtype), sizes)


def member(tensor: TensorValue, name: str) -> Value:
    """Return an attribute of a tensor: a method that is known, or the tensor turned."""
    if name == "T" and tensor.sizes is not None:
        return TensorValue(tensor.dtype, tensor.sizes[::-1])
    is_known = name in _METHODS or name in _SAME or name in _DTYPES or name in _ALIASES or name.endswith("_")
    return Method(tensor, name) if is_known else UNKNOWN


def called(tensor: TensorValue, name: str, args: Values, given: Mapping[str, Value]) -> TensorValue:
    """Return what a method gives that :func:`member` knows."""
    if name.endswith("_"):
        if name in _RESIZING:
            tensor.sizes = tensor.dtype = None
        return tensor
    if name in _SAME:
        return TensorValue(tensor.dtype, tensor.sizes)
    if name in _DTYPES or name in _ALIASES:
        return TensorValue(_ALIASES.get(name, name), tensor.sizes)
    if name == "to":
        return TensorValue(_converted(tensor, args, given), tensor.sizes)
    known = tensor.sizes is not None and not given
    return TensorValue(tensor.dtype, _METHODS[name](tensor.sizes or (), args) if known else None)


def combined(left: Value, right: Value) -> Value:
    """Return a tensor of floating point that is computed with a number, which changes neither dtype nor sizes."""
    for tensor, other in ((left, right), (right, left)):
        if isinstance(tensor, TensorValue) and tensor.dtype in _FLOATING and isinstance(other, int | float):
            return TensorValue(tensor.dtype, tensor.sizes)
    return UNKNOWN


def _converted(tensor: TensorValue, args: Values, given: Mapping[str, Value]) -> str | None:
    """Return the dtype that ``to`` gives: of a dtype, or of a device, which changes none."""
    wanted = args[0] if args else given.get("dtype", UNKNOWN)
    if isinstance(wanted, str) and len(args) == 1 and not given:
        return tensor.dtype
    return dtype_of(wanted)


def _is_count(value: Value) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST


def _sizes(args: Values) -> Sizes | None:
    """Return the sizes that stand as numbers, or as one list of them."""
    if len(args) == 1 and isinstance(args[0], list | tuple):
        args = args[0]
    return tuple(args) if all(map(_is_count, args)) else None


def _literal(data: Value, floating: str | None) -> tuple[Sizes | None, str | None]:
    """Return sizes and dtype of a number, or of lists of equal lengths in each other."""
    sizes: list[int] = []
    level = [data]
    while any(isinstance(item, list | tuple) for item in level):
        if not all(isinstance(item, list | tuple) for item in level) or len({len(item) for item in level}) > 1:
            return None, None
        if len(level) * len(level[0]) > _MOST_LITERALS or len(sizes) > _DEEPEST:  # lists may hold themselves
            return None, None
        sizes.append(len(level[0]))
        level = [part for item in level for part in item]
    kinds = {type(item) for item in level}
    if not kinds or not kinds <= {bool, int, float}:
        return None, None
    return tuple(sizes), floating if float in kinds else "int64" if int in kinds else "bool"


def _arange(args: Values, given: Mapping[str, Value], floating: str | None) -> tuple[Sizes | None, str | None]:
    bounds = [value for value in args if type(value) in (int, float) and abs(value) <= _MOST]
    if len(bounds) != len(args) or not 1 <= len(bounds) <= 3 or given.keys() & {"start", "end", "step"}:
        return None, None
    start, end, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    if not 0 <= (count := (end - start) / step if step else -1) <= _MOST:
        return None, None
    return (math.ceil(count),), floating if float in map(type, bounds) else "int64"


def _full(args: Values, given: Mapping[str, Value], floating: str | None) -> tuple[Sizes | None, str | None]:
    if len(args) != 2 or not isinstance(args[0], list | tuple):
        return None, None
    return _sizes(args[:1]), _literal(args[1], floating)[1]


def _randint(args: Values, given: Mapping[str, Value], _floating: str | None) -> tuple[Sizes | None, str | None]:
    size = given.get("size", args[-1] if len(args) > 1 else UNKNOWN)
    return _sizes([size]) if isinstance(size, list | tuple) else None, "int64"


def _eye(args: Values, given: Mapping[str, Value], floating: str | None) -> tuple[Sizes | None, str | None]:
    is_known = len(args) in (1, 2) and "m" not in given and all(map(_is_count, args))
    return (args[0], args[-1]) if is_known else None, floating


def _randperm(args: Values, _given: Mapping[str, Value], _floating: str | None) -> tuple[Sizes | None, str | None]:
    return _sizes(args) if len(args) == 1 and _is_count(args[0]) else None, "int64"


def _linspace(args: Values, _given: Mapping[str, Value], floating: str | None) -> tuple[Sizes | None, str | None]:
    return _sizes(args[2:]) if len(args) == 3 and _is_count(args[2]) else None, floating


def _viewed(sizes: Sizes, args: Values) -> Sizes | None:
    wanted = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
    if not wanted or not all(_is_count(size) or size == -1 for size in wanted):
        return None
    count, known = math.prod(sizes), math.prod(size for size in wanted if size != -1)
    if -1 not in wanted:
        return tuple(wanted) if known == count else None
    if wanted.count(-1) > 1 or not known or count % known:
        return None
    return tuple(count // known if size == -1 else size for size in wanted)


def _flattened(sizes: Sizes, args: Values) -> Sizes | None:
    return None if args else (math.prod(sizes),)


def _places(sizes: Sizes, args: Values) -> list[int] | None:
    """Return the axes that are named, counted from the first; None where one is none."""
    rank = len(sizes)
    if not all(isinstance(axis, int) and -rank <= axis < rank for axis in args):
        return None
    return [axis % rank for axis in args]


def _turned(sizes: Sizes, args: Values) -> Sizes | None:
    axes = _places(sizes, args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args)
    if axes is None or sorted(axes) != list(range(len(sizes))):
        return None
    return tuple(sizes[axis] for axis in axes)


def _swapped(sizes: Sizes, args: Values) -> Sizes | None:
    axes = _places(sizes, args)
    if axes is None or len(axes) != 2:
        return None
    order = list(range(len(sizes)))
    order[axes[0]], order[axes[1]] = order[axes[1]], order[axes[0]]
    return tuple(sizes[axis] for axis in order)


def _unsqueezed(sizes: Sizes, args: Values) -> Sizes | None:
    places = _places((*sizes, 1), args)
    return None if places is None or len(places) != 1 else (*sizes[: places[0]], 1, *sizes[places[0] :])


def _expanded(sizes: Sizes, args: Values) -> Sizes | None:
    wanted = args[0] if len(args) == 1 and isinstance(args[0], list | tuple) else args
    if len(wanted) < len(sizes) or not all(_is_count(size) or size == -1 for size in wanted):
        return None
    whole = (*[-1] * (len(wanted) - len(sizes)), *sizes)
    found = tuple(old if new == -1 else new for new, old in zip(wanted, whole, strict=True))
    return None if -1 in found else found


_OTHERS: Final[
    Mapping[str, Callable[[Values, Mapping[str, Value], str | None], tuple[Sizes | None, str | None]]]
] = {
    "arange": _arange, "full": _full, "randint": _randint, "eye": _eye, "randperm": _randperm, "linspace": _linspace,
}  # fmt: skip
_METHODS: Final[Mapping[str, Callable[[Sizes, Any], Sizes | None]]] = {
    "view": _viewed, "reshape": _viewed, "flatten": _flattened, "permute": _turned, "transpose": _swapped,
    "swapaxes": _swapped, "unsqueeze": _unsqueezed, "expand": _expanded, "to": lambda sizes, _args: sizes,
    "t": lambda sizes, args: sizes[::-1] if len(sizes) <= 2 and not args else None,
}  # fmt: skip
