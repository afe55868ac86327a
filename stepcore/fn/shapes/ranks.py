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
from stepcore.fn.shapes.parts import argument
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
        if dim is not None and (not shape or compare.differ(shape[place_of(dim, len(shape))], Dim.of(3))):
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


def _padded(compare: Comparer, _name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    pad, mode = _told(args, kwargs, 1, "pad"), _told(args, kwargs, 2, "mode")
    if isinstance(mode, str) and mode not in _MODES:
        raise ShapeMismatch(f"the mode of pad is one of {', '.join(map(repr, _MODES))}, and not {mode!r}")
    if not isinstance(pad, list | tuple):
        return
    if len(pad) % 2:
        raise ShapeMismatch(f"pad takes two numbers for each dimension, and {len(pad)} are given")
    over = len(pad) // 2
    if over > len(shape):
        raise ShapeMismatch(f"pad goes over {over} dimensions, and this is a tensor of {shape_text(shape)}")
    is_constant = mode is None or mode == "constant"
    if isinstance(mode, str) and not is_constant and len(shape) not in (over + 1, over + 2):
        wanted = f"a tensor with {over + 1} or {over + 2}"
        text = f"pad with mode {mode!r} over {counted(over, 'dimension')} takes {wanted}"
        raise ShapeMismatch(f"{text}, and this is {shape_text(shape)}")
    for place in range(over):
        size = shape[-1 - place]
        length = None if size is None else compare.bound(size)
        sides = [compare.bound(each) if isinstance(each, Dim) else None for each in pad[2 * place : 2 * place + 2]]
        known = [side for side in sides if side is not None]
        if length is None or len(known) != 2:
            continue
        most = {"reflect": length - 1, "circular": length}.get(mode) if isinstance(mode, str) else None
        if length + sum(known) < 0 or (most is not None and max(known) > most):
            raise ShapeMismatch(f"pad by {known[0]} and {known[1]} does not fit a dimension of {size}")


def _halved(compare: Comparer, _name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    dim = integer(args[1] if len(args) > 1 else kwargs.get("dim", Dim.of(-1)))
    size: Size = None if dim is None or not shape else shape[place_of(dim, len(shape))]
    bound = None if size is None else compare.bound(size)
    if bound is not None and bound % 2:
        raise ShapeMismatch(f"glu halves a dimension, and {size} is odd")


def _grouped(compare: Comparer, name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    groups = _told(args, kwargs, 1, "num_groups")
    if len(shape) < 2:
        raise ShapeMismatch(f"{name} takes rows of channels, and this is a tensor of {shape_text(shape)}")
    size = shape[1]
    bound = None if size is None else compare.bound(size)
    number = compare.bound(groups) if isinstance(groups, Dim) else None
    if bound is not None and number and bound % number:
        raise ShapeMismatch(f"{size} channels cannot be put into {groups} groups")


def _shuffled(compare: Comparer, name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    is_up = name == "pixel_shuffle"
    factor = integer(_told(args, kwargs, 1, "upscale_factor" if is_up else "downscale_factor"))
    if len(shape) < 3:
        raise ShapeMismatch(f"{name} takes planes of channels, and this is a tensor of {shape_text(shape)}")
    for size in shape[-3:-2] if is_up else shape[-2:]:
        bound = None if size is None else compare.bound(size)
        if bound is not None and factor and bound % (factor * factor if is_up else factor):
            raise ShapeMismatch(f"{name} by {factor} does not divide {size}")


def _rolled(_compare: Comparer, name: str, _sizes: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    shifts, dims = _told(args, kwargs, 1, "shifts"), _told(args, kwargs, 2, "dims")
    counts = [len(each) if isinstance(each, list | tuple) else 1 for each in (shifts, dims)]
    if (
        counts[1]
        and isinstance(shifts, list | tuple | Dim)
        and isinstance(dims, list | tuple | Dim)
        and counts[0] != counts[1]
    ):
        raise ShapeMismatch(f"{name} takes a dimension for each shift")


def _diagonal(_compare: Comparer, name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    dims = [integer(argument(args, kwargs, place, f"dim{place - 1}", Dim.of(place - 2))) for place in (2, 3)]
    known = [place_of(dim, len(shape)) for dim in dims if dim is not None]
    if len(known) == 2 and known[0] == known[1]:
        raise ShapeMismatch(f"{name} goes along two dimensions, and these are one")


def _attended(compare: Comparer, name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    key, value = _told(args, kwargs, 1, "key"), _told(args, kwargs, 2, "value")
    keys, values = (each.shape if isinstance(each, AbstractTensor) else None for each in (key, value))
    for each in (shape, keys, values):
        if each is not None and len(each) < 2:
            raise ShapeMismatch(f"{name} takes rows of queries, keys and values, and this is {shape_text(each)}")
    if compare.is_empty((*shape, *(values or ()))):
        return  # torch gives zeros then, whatever the keys are
    if keys and shape and compare.differ(shape[-1], keys[-1]):
        raise ShapeMismatch(f"{name}: queries of {shape_text(shape)} meet keys of {shape_text(keys)}")
    if keys and values and len(keys) > 1 and len(values) > 1 and compare.differ(keys[-2], values[-2]):
        raise ShapeMismatch(f"{name}: there are {keys[-2]} keys and {values[-2]} values")
    mask = _told(args, kwargs, 3, "attn_mask")
    if keys and isinstance(mask, AbstractTensor) and mask.shape is not None:
        compare.broadcast([(shape[-2], keys[-2]), mask.shape[-2:]], f": {name} masks keys of each query")


def _looked_up(_compare: Comparer, name: str, _sizes: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    """Look at what has indices first, or second: ``torch.embedding`` begins with its table."""
    told = [*args[:2], *(value for word, value in kwargs.items() if word in ("weight", "indices"))]
    if all(isinstance(each, AbstractTensor) and each.dtype in FLOATS for each in told):
        raise ShapeMismatch(f"{name} takes a tensor of whole numbers, and here are fractions; write .long()")


_Look: TypeAlias = Callable[[Comparer, str, Sizes, Sequence[Any], Kwargs], None]
_LOOKS: Final[Mapping[str, _Look]] = {
    **dict.fromkeys(_DIM_SECOND, _dim), **dict.fromkeys(("gather", "index_select"), _index),
    **dict.fromkeys(_PRODUCTS, _product), **dict.fromkeys(("movedim", "moveaxis"), _moved),
    "unflatten": _unflattened, "repeat": _repeated, "cdist": _distances, "pad": _padded, "glu": _halved,
    "group_norm": _grouped, "roll": _rolled, "diagonal": _diagonal,
    "scaled_dot_product_attention": _attended, **dict.fromkeys(("embedding", "bincount"), _looked_up),
    **dict.fromkeys(("pixel_shuffle", "pixel_unshuffle"), _shuffled),
}  # fmt: skip
