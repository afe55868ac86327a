"""Ranks, dimensions and sizes that functions of torch ask for: of matrices (``torch.linalg``), of what moves or repeats
dimensions, and of products with a sum. A run refuses all else.

Only what the text says is looked at: an argument that is not followed, or not given by its place, is left to the run.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, Final, TypeAlias

from stepcore.fn import allow
from stepcore.fn.shapes.operands import FLOATS
from stepcore.fn.shapes.values import (
    AbstractTensor,
    Comparer,
    ShapeMismatch,
    Size,
    Sizes,
    integer,
    place_of,
    shape_text,
)
from stepcore.sizes.dim import Dim
from stepcore.text.wording import counted

Kwargs: TypeAlias = Mapping[str, Any]
LINALG: Final = "torch.linalg"
_SQUARE: Final = allow.names("inv det cholesky cholesky_ex inv_ex slogdet eigh eigvalsh matrix_power matrix_exp solve")
_MATRICES: Final = _SQUARE | allow.names("svd svdvals qr pinv matrix_rank cond matrix_norm lstsq lu lu_factor")
_NORMS: Final = allow.names("norm vector_norm matrix_norm")
_ORDERS: Final = ("fro", "nuc")
_DIM_SECOND: Final = {"diff": (2, "dim"), "take_along_dim": (2, "dim"), "rot90": (2, "dims")}
_PRODUCTS: Final = {"addmm": (2, 2), "addmv": (2, 1), "addbmm": (3, 3), "baddbmm": (3, 3), "addr": (1, 1)}
_BY_INDEX: Final = {"gather": (2, "index"), "index_select": (2, "index"), "take_along_dim": (1, "indices")}
_MODES: Final = ("constant", "reflect", "replicate", "circular")


def matrices(compare: Comparer, name: str, args: Sequence[Any], kwargs: Kwargs) -> None:
    """Look at a call of ``torch.linalg``.

    Raises:
        ShapeMismatch: torch takes no such tensor or dimension.
    """
    shape = _shape(args, 0)
    if shape is None:
        return
    if name in _MATRICES and len(shape) < 2:
        raise ShapeMismatch(f"{name} takes a matrix, and this is a tensor of {shape_text(shape)}")
    if name in _SQUARE and compare.differ(shape[-2], shape[-1]):
        raise ShapeMismatch(f"{name} takes a square matrix, and this is a tensor of {shape_text(shape)}")
    if name in _NORMS:
        order = _told(args, kwargs, 1, "ord")
        if isinstance(order, str) and order not in _ORDERS:
            raise ShapeMismatch(f"the order of a norm is a number, 'fro' or 'nuc', and not {order!r}")
        _places(_told(args, kwargs, 2, "dim"), len(shape))
    elif name == "vecdot":
        _places(kwargs.get("dim"), len(shape))
    elif name == "cross":
        dim = integer(kwargs.get("dim", Dim.of(-1)))
        if dim is not None and compare.differ(shape[place_of(dim, len(shape))], Dim.of(3)):
            raise ShapeMismatch(f"cross goes along a dimension of 3, and this is a tensor of {shape_text(shape)}")


def ranks(compare: Comparer, name: str, args: Sequence[Any], kwargs: Kwargs) -> None:
    """Look at ranks and dimensions of a call of torch or a method of a tensor.

    Raises:
        ShapeMismatch: torch takes no such tensor or dimension.
    """
    look = _LOOKS.get(name)
    shape = None if look is None else _shape(args, 0)
    if look is not None and shape is not None:
        look(compare, name, shape, args, kwargs)


def _shape(args: Sequence[Any], place: int) -> Sizes | None:
    value = args[place] if len(args) > place else None
    return value.shape if isinstance(value, AbstractTensor) else None


def _told(args: Sequence[Any], kwargs: Kwargs, place: int, name: str) -> Any:
    return args[place] if len(args) > place else kwargs.get(name)


def _places(told: Any, rank: int) -> list[int] | None:
    """Return the places of one or several dimensions, None where they are not known."""
    each = list(told) if isinstance(told, list | tuple) else [told]
    numbers = [integer(value) for value in each]
    known = [number for number in numbers if number is not None]
    return [place_of(number, rank) for number in known] if len(known) == len(numbers) else None


def _dim(_compare: Comparer, name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    place, word = _DIM_SECOND[name]
    _places(_told(args, kwargs, place, word), len(shape))
    if name == "take_along_dim":
        _index(_compare, name, shape, args, kwargs)


def _index(_compare: Comparer, name: str, _sizes: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    place, word = _BY_INDEX[name]
    value = _told(args, kwargs, place, word)
    if isinstance(value, AbstractTensor) and value.dtype in FLOATS:
        raise ShapeMismatch(f"{name} takes whole numbers as indices, and this is {value.dtype}; write .long()")


def _unflattened(compare: Comparer, _name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    dim, sizes = integer(_told(args, kwargs, 1, "dim")), _told(args, kwargs, 2, "sizes")
    if dim is None:
        return
    size = shape[place_of(dim, len(shape))]
    if not isinstance(sizes, list | tuple) or any(not isinstance(each, Dim) for each in sizes):
        return
    rest = [each for each in sizes if each.constant != -1]
    if len(sizes) - len(rest) > 1:
        raise ShapeMismatch("unflatten finds one size that is -1, and here are several")
    bound = [compare.bound(each) for each in rest]
    whole = None if size is None else compare.bound(size)
    if whole is None or any(each is None for each in bound):
        return
    given = prod(each for each in bound if each is not None)
    if (given == 0 or whole % given) if len(rest) < len(sizes) else whole != given:
        raise ShapeMismatch(f"{size} cannot be taken apart into {shape_text(tuple(sizes))}")


def _moved(_compare: Comparer, name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    source = _places(_told(args, kwargs, 1, "source"), len(shape))
    to = _places(_told(args, kwargs, 2, "destination"), len(shape))
    if source is None or to is None:
        return
    if len(source) != len(to):
        raise ShapeMismatch(f"{name} moves {counted(len(source), 'dimension')} to {counted(len(to), 'place')}")
    if len(set(source)) < len(source) or len(set(to)) < len(to):
        raise ShapeMismatch(f"{name} takes each dimension once")


def _repeated(_compare: Comparer, name: str, shape: Sizes, args: Sequence[Any], _kwargs: Kwargs) -> None:
    told = list(args[1]) if len(args) == 2 and isinstance(args[1], list | tuple) else list(args[1:])
    if told and len(told) < len(shape) and all(isinstance(each, Dim) for each in told):
        times = counted(len(told), "number")
        raise ShapeMismatch(f"{name} takes a number for each dimension, and {shape_text(shape)} has more than {times}")


def _product(compare: Comparer, name: str, _sizes: Sizes, args: Sequence[Any], _kwargs: Kwargs) -> None:
    left, right, wanted = _shape(args, 1), _shape(args, 2), _PRODUCTS[name]
    if left is None or right is None:
        return
    if (len(left), len(right)) != wanted:
        numbers = f"{wanted[0]} and {wanted[1]}"
        text = f"{name} multiplies tensors with {numbers} dimensions"
        raise ShapeMismatch(f"{text}, and these are {shape_text(left)} and {shape_text(right)}")
    if name != "addr" and compare.differ(left[-1], right[0 if len(right) < 3 else 1]):
        raise ShapeMismatch(f"{shape_text(left)} and {shape_text(right)} cannot be multiplied")


def _distances(compare: Comparer, name: str, shape: Sizes, args: Sequence[Any], _kwargs: Kwargs) -> None:
    other = _shape(args, 1)
    for each in (shape, other):
        if each is not None and len(each) < 2:
            raise ShapeMismatch(f"{name} takes rows of points, and this is a tensor of {shape_text(each)}")
    if other is not None and compare.differ(shape[-1], other[-1]):
        raise ShapeMismatch(f"points of {shape_text(shape)} and {shape_text(other)} have different lengths")


def _padded(_compare: Comparer, _name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    pad, mode = _told(args, kwargs, 1, "pad"), _told(args, kwargs, 2, "mode")
    if isinstance(mode, str) and mode not in _MODES:
        raise ShapeMismatch(f"the mode of pad is one of {', '.join(map(repr, _MODES))}, and not {mode!r}")
    if not isinstance(pad, list | tuple):
        return
    if len(pad) % 2:
        raise ShapeMismatch(f"pad takes two numbers for each dimension, and {len(pad)} are given")
    if len(pad) > 2 * len(shape):
        raise ShapeMismatch(f"pad goes over {len(pad) // 2} dimensions, and this is a tensor of {shape_text(shape)}")


def _halved(compare: Comparer, _name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    dim = integer(args[1] if len(args) > 1 else kwargs.get("dim", Dim.of(-1)))
    size: Size = None if dim is None or not shape else shape[place_of(dim, len(shape))]
    bound = None if size is None else compare.bound(size)
    if bound is not None and bound % 2:
        raise ShapeMismatch(f"glu halves a dimension, and {size} is odd")


_Look: TypeAlias = Callable[[Comparer, str, Sizes, Sequence[Any], Kwargs], None]
_LOOKS: Final[Mapping[str, _Look]] = {
    **dict.fromkeys(_DIM_SECOND, _dim), **dict.fromkeys(("gather", "index_select"), _index),
    **dict.fromkeys(_PRODUCTS, _product), **dict.fromkeys(("movedim", "moveaxis"), _moved),
    "unflatten": _unflattened, "repeat": _repeated, "cdist": _distances, "pad": _padded, "glu": _halved,
}  # fmt: skip
