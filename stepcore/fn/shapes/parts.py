"""What operations that take parts of a tensor, or put its dimensions in another order, give; and arguments that do not
fit its sizes: a run refuses all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from stepcore.fn import allow
from stepcore.fn.shapes.operands import UNASKED
from stepcore.fn.shapes.values import (
    AbstractTensor,
    Comparer,
    Number,
    ShapeMismatch,
    Size,
    Sizes,
    integer,
    numel,
    place_of,
    shape_text,
)
from stepcore.sizes.dim import Dim
from stepcore.text.wording import counted

Kwargs = Mapping[str, Any]
_MOST_PARTS: Final = 64  # of which each is followed
_NORMS: Final = allow.names("layer_norm rms_norm")
_MATRICES: Final = allow.names("triu tril trace det inverse logdet slogdet cholesky matrix_exp")
_WORDS: Final = {
    "approximate": ("none", "tanh"), "reduction": ("none", "mean", "sum"),
}  # fmt: skip
OLD_REDUCTION: Final = frozenset({"size_average", "reduce"})  # which say the same as a reduction, as it was said once
_DIVERGENCES: Final = allow.names("kl_div KLDivLoss")  # which have a reduction of their own


def argument(args: Sequence[Any], kwargs: Kwargs, index: int, name: str, default: Any = None) -> Any:
    """Return an argument that may be given by its place or by its name."""
    return args[index] if len(args) > index else kwargs.get(name, default)


def fits(compare: Comparer, name: str, args: Sequence[Any], kwargs: Kwargs) -> None:
    """Look at what an operation is told about the sizes and dimensions of its tensor.

    Raises:
        ShapeMismatch: the tensor has none such.
    """
    for word, usual in _WORDS.items():
        if word == "reduction" and not OLD_REDUCTION.isdisjoint(kwargs):
            continue  # where one of these is told, nobody reads it
        told = kwargs.get(word)
        known = (*usual, "batchmean") if word == "reduction" and name in _DIVERGENCES else usual
        if isinstance(told, str) and told not in known:
            raise ShapeMismatch(f"{word} is one of {', '.join(map(repr, known))}, and not {told!r}")
    value = args[0] if args else None
    if not isinstance(value, AbstractTensor) or value.shape is None:
        return
    if name in _NORMS:
        _normalized(compare, name, value.shape, args, kwargs)
    elif name in _MATRICES and len(value.shape) < 2:
        raise ShapeMismatch(f"{name} takes a matrix, and this is a tensor of {shape_text(value.shape)}")
    elif name in ("flip", "roll") and not (name in UNASKED and compare.is_empty(value.shape)):
        told = args[1:] if name == "flip" else args[2:]
        _dimensions(told or [kwargs.get("dims")], len(value.shape))
    elif name == "permute":
        _order(args[1:] or [kwargs.get("dims")], len(value.shape))
    elif name in ("expand", "broadcast_to"):
        _expanded(compare, value.shape, args[1:] or [kwargs.get("size")])
    elif name in ("narrow", "select", "unfold"):
        _window(compare, name, value.shape, args, kwargs)
    elif name == "masked_fill":
        _filled(args, kwargs)


def _normalized(compare: Comparer, name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    """Look at the shape that a norm goes over, and at its weights."""
    told = argument(args, kwargs, 1, "normalized_shape")
    if isinstance(told, Dim | Number):
        raise ShapeMismatch(
            f"{name} takes a list of sizes; write [{told}]" if isinstance(told, Dim) else _no_sizes(name)
        )
    if not isinstance(told, list | tuple) or any(not isinstance(size, Dim) for size in told):
        return
    last = shape[len(shape) - len(told) :] if len(told) <= len(shape) else ()
    if len(last) != len(told) or any(map(compare.differ, last, told)):
        text = f"{name} goes over the last dimensions, {shape_text(tuple(told))}, of a tensor of {shape_text(shape)}"
        raise ShapeMismatch(text)
    for place, weight in ((2, "weight"), (3, "bias")) if name == "layer_norm" else ((2, "weight"),):
        given = argument(args, kwargs, place, weight)
        if not isinstance(given, AbstractTensor) or given.shape is None:
            continue
        if len(given.shape) != len(told) or any(map(compare.differ, given.shape, told)):
            text = f"the {weight} of {name} over {shape_text(tuple(told))} is a tensor of {shape_text(given.shape)}"
            raise ShapeMismatch(text)


def _no_sizes(name: str) -> str:
    return f"{name} takes a list of sizes, and this is a fraction"


def _flat(told: Sequence[Any]) -> list[Any]:
    return list(told[0]) if len(told) == 1 and isinstance(told[0], list | tuple) else list(told)


def _dimensions(told: Sequence[Any], rank: int) -> None:
    for each in _flat(told):
        if (number := integer(each)) is not None:
            place_of(number, rank)


def _order(told: Sequence[Any], rank: int) -> None:
    """Look at the dimensions of a permutation: each once."""
    order = [integer(each) for each in _flat(told)]
    numbers = [number for number in order if number is not None]
    if len(numbers) != len(order):
        return
    if len({place_of(number, rank) for number in numbers}) != len(numbers):
        raise ShapeMismatch("permute takes each dimension once")
    if len(numbers) != rank:
        raise ShapeMismatch(f"permute takes {counted(rank, 'dimension')}, and {len(numbers)} are given")


def _expanded(compare: Comparer, shape: Sizes, told: Sequence[Any]) -> None:
    wanted = _flat(told)
    if any(not isinstance(each, Dim) for each in wanted):
        return
    shown = f"{shape_text(shape)} cannot be expanded to {shape_text(tuple(wanted))}"
    if len(wanted) < len(shape):
        raise ShapeMismatch(shown)
    for size, other in zip(shape, wanted[len(wanted) - len(shape) :], strict=True):
        if other.constant != -1 and compare.is_one(size) is False and compare.differ(size, other):
            raise ShapeMismatch(shown)


def _window(compare: Comparer, name: str, shape: Sizes, args: Sequence[Any], kwargs: Kwargs) -> None:
    """Look at the places that are taken of a dimension."""
    dim = integer(argument(args, kwargs, 1, "dimension" if name == "unfold" else "dim"))
    if dim is None:
        return
    size = shape[place_of(dim, len(shape))]
    length = None if size is None else compare.bound(size)
    first = _bound(compare, argument(args, kwargs, 2, {"narrow": "start", "select": "index", "unfold": "size"}[name]))
    if length is None or first is None:
        return
    taken = _bound(compare, argument(args, kwargs, 3, "length")) if name == "narrow" else 0
    if name == "unfold":
        is_right = first <= length
    elif name == "select":
        is_right = -length <= first < length
    else:
        is_right = taken is None or (-length <= first and (first + length if first < 0 else first) + taken <= length)
    if not is_right:
        raise ShapeMismatch(f"{name} goes beyond dimension {dim} of {shape_text(shape)}, which has {size}")


def _bound(compare: Comparer, value: Any) -> int | None:
    return compare.bound(value) if isinstance(value, Dim) else None


def _filled(args: Sequence[Any], kwargs: Kwargs) -> None:
    mask, value = argument(args, kwargs, 1, "mask"), argument(args, kwargs, 2, "value")
    if isinstance(mask, AbstractTensor) and mask.dtype not in (None, "bool"):
        raise ShapeMismatch(f"masked_fill takes truth values first, and this is {mask.dtype}; write x != 0")
    if isinstance(value, AbstractTensor) and value.shape:
        raise ShapeMismatch(f"masked_fill takes one number, and this is a tensor of {shape_text(value.shape)}")


def chunks(compare: Comparer, args: Sequence[Any], kwargs: Kwargs) -> list[AbstractTensor] | None:
    """Return the parts that ``chunk`` gives; None where their number is not known.

    Raises:
        ShapeMismatch: there cannot be so many.
    """
    count = integer(argument(args, kwargs, 1, "chunks"))
    if count is not None and count < 1:
        raise ShapeMismatch(f"chunk gives one part or more, and not {count}")
    found = _along(args, kwargs)
    if found is None or count is None:
        return None
    value, place, size = found
    length = compare.bound(size)
    if length is None or (length % count and size.constant is None):
        return None  # at other sizes there are other parts
    if length % count == 0:
        return [_part(value, place, size // count)] * (min(count, length) if length else count)
    step = -(-length // count)
    return _parts(value, place, [min(step, length - start) for start in range(0, length, step)])


def split(compare: Comparer, args: Sequence[Any], kwargs: Kwargs) -> list[AbstractTensor] | None:
    """Return the parts that ``split`` gives; None where their number is not known.

    Raises:
        ShapeMismatch: the sizes do not add up, or a part has none.
    """
    told = argument(args, kwargs, 1, "split_size", kwargs.get("split_size_or_sections"))
    found = _along(args, kwargs)
    if found is None:
        return None
    value, place, size = found
    if isinstance(told, list | tuple):
        lengths = [each for each in told if isinstance(each, Dim)]
        if len(lengths) != len(told):
            return None
        total = sum(lengths, Dim.of(0))
        if compare.differ(total, size):
            raise ShapeMismatch(f"the parts have {total} together, and the tensor {size}")
        return [_part(value, place, length) for length in lengths]
    step = integer(told)
    if step is not None and step < 1 and size.constant != 0:
        raise ShapeMismatch(f"split gives parts of one or more, and not of {step}")
    length = size.constant
    if step is None or length is None:
        return None
    if not length:
        return _parts(value, place, [0])
    return _parts(value, place, [min(step, length - start) for start in range(0, length, step)])


def unbind(args: Sequence[Any], kwargs: Kwargs) -> list[AbstractTensor] | None:
    """Return the tensors that ``unbind`` gives; None where their number is not known."""
    found = _along(args, kwargs, 1)
    if found is None:
        return None
    value, place, size = found
    if size.constant is None or size.constant > _MOST_PARTS:
        return None
    shape = value.shape or ()
    return [AbstractTensor((*shape[:place], *shape[place + 1 :]), value.dtype)] * size.constant


def _along(args: Sequence[Any], kwargs: Kwargs, index: int = 2) -> tuple[AbstractTensor, int, Dim] | None:
    """Return a tensor, the place of the dimension that an operation goes along, and its size."""
    value, dim = args[0], integer(argument(args, kwargs, index, "dim", Dim.of(0)))
    if not isinstance(value, AbstractTensor) or value.shape is None or dim is None:
        return None
    place = place_of(dim, len(value.shape))
    size = value.shape[place] if value.shape else None
    return None if size is None else (value, place, size)


def _parts(value: AbstractTensor, place: int, lengths: Sequence[int]) -> list[AbstractTensor] | None:
    return [_part(value, place, Dim.of(each)) for each in lengths] if len(lengths) <= _MOST_PARTS else None


def _part(value: AbstractTensor, place: int, size: Size) -> AbstractTensor:
    shape = value.shape or ()
    return AbstractTensor((*shape[:place], size, *shape[place + 1 :]), value.dtype)


def divides(compare: Comparer, shape: Sizes, rest: Sizes, wanted: Sizes) -> None:
    """Look at a shape with one size that follows from the others.

    Raises:
        ShapeMismatch: it is no whole number.
    """
    total, known = numel(shape), numel(rest)
    all_, given = (None if size is None else compare.bound(size) for size in (total, known))
    if all_ is not None and given and all_ % given:
        raise ShapeMismatch(f"{shape_text(shape)} has {total} values and cannot become {shape_text(wanted)}")
