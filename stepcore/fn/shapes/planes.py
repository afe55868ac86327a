"""Shape rules of what makes planes of other sizes: transposed convolutions, pools undone, samples, planes that grow.

As torch's own, they say what a function asks of ranks, sizes and options, and which sizes it gives.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from stepcore.fn.shapes.parts import argument
from stepcore.fn.shapes.rules import Inferring, Kwargs, Rule
from stepcore.fn.shapes.values import AbstractTensor, Comparer, Number, ShapeMismatch, Size, shape_text
from stepcore.fn.shapes.windows import each_dimension, of_rank
from stepcore.sizes.dim import Dim

_TRANSPOSED: Final = {"stride": (3, 1), "padding": (4, 0), "output_padding": (5, 0), "dilation": (7, 1)}
_FREE_MODES: Final = ("nearest", "nearest-exact", "area")
_RANK_OF: Final = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}  # of the tensors that a mode takes
_SAMPLE_MODES: Final = ("bilinear", "nearest", "bicubic")
_EDGES: Final = ("zeros", "border", "reflection")


def _transposed(s: Inferring, args: Sequence[Any], kwargs: Kwargs, *, rank: int) -> Any:
    """Each element spreads over a window of what is given, times its weights."""
    value, weight, name = args[0], argument(args, kwargs, 1, "weight"), f"conv_transpose{rank}d"
    s.count(None)
    of_rank(name, value.shape, rank)
    if len(weight.shape) != rank + 2:
        raise ShapeMismatch(f"the weight of {name} has {rank + 2} dimensions, and this one {len(weight.shape)}")
    channels, depth, *taps = weight.shape
    if s.compare.differ(value.shape[-rank - 1], channels):
        text = f"a weight of {shape_text(weight.shape)} goes over {channels} channels"
        raise ShapeMismatch(f"{text}, and the tensor has {value.shape[-rank - 1]}")
    if s.compare.is_empty((*value.shape, *weight.shape)):
        return None  # of nothing torch gives other sizes
    groups = argument(args, kwargs, 6, "groups", Dim.of(1))
    outs = depth * groups if isinstance(groups, Dim) and depth is not None else None
    bias = argument(args, kwargs, 2, "bias")
    given = bias.shape if isinstance(bias, AbstractTensor) else None
    if given is not None and (len(given) != 1 or s.compare.differ(given[0], outs)):
        raise ShapeMismatch(f"the bias of {outs} channels is a tensor of {shape_text(given)}")
    told = {
        word: each_dimension(argument(args, kwargs, place, word, Dim.of(usual)), rank)
        for word, (place, usual) in _TRANSPOSED.items()
    }
    sizes: list[Size] = []
    for size, tap, stride, padding, more, dilation in zip(value.shape[-rank:], taps, *told.values(), strict=True):
        _spread(s.compare, name, stride, more, dilation)
        place = (size - 1) * stride - padding * 2 + dilation * (tap - 1) + more + 1
        if (s.compare.bound(place) or 0) < 1:
            return None
        sizes.append(place)
    return AbstractTensor((*value.shape[: -rank - 1], outs, *sizes), value.dtype)


def _spread(compare: Comparer, name: str, stride: Dim, more: Dim, dilation: Dim) -> None:
    """Look at the options of a transposed convolution along one dimension."""
    steps = [compare.bound(each) for each in (stride, more, dilation)]
    step, added, between = (0 if each is None else each for each in steps)
    if steps[0] is not None and step < 1:
        raise ShapeMismatch(f"{name} takes strides of 1 or more, and not {stride}")
    if None not in steps and added >= max(step, between):
        raise ShapeMismatch(f"output_padding is less than stride or dilation, and not {more} beside {stride}")


def _unpooled(s: Inferring, args: Sequence[Any], kwargs: Kwargs, *, rank: int) -> Any:
    """Elements go back to the places that a pool had them from; all others are zeros."""
    value, indices, name = args[0], argument(args, kwargs, 1, "indices"), f"max_unpool{rank}d"
    s.count(None)
    of_rank(name, value.shape, rank)
    if indices.dtype not in (None, "int64"):
        raise ShapeMismatch(f"the indices of {name} are int64, and these are {indices.dtype}")
    if len(indices.shape) != len(value.shape) or any(map(s.compare.differ, indices.shape, value.shape)):
        text = f"{name} takes an index for each element"
        raise ShapeMismatch(f"{text}, and these are {shape_text(value.shape)} and {shape_text(indices.shape)}")
    taps = each_dimension(argument(args, kwargs, 2, "kernel_size"), rank)
    stride = argument(args, kwargs, 3, "stride", [])
    strides = taps if stride == [] else each_dimension(stride, rank)
    paddings = each_dimension(argument(args, kwargs, 4, "padding", Dim.of(0)), rank)
    lead = value.shape[:-rank]
    if len(args) > 5 or "output_size" in kwargs:
        wanted = argument(args, kwargs, 5, "output_size")
        if isinstance(wanted, list | tuple) and len(wanted) not in (rank, rank + 2):
            raise ShapeMismatch(f"the output_size of {name} has {rank} or {rank + 2} numbers, and this {len(wanted)}")
        return AbstractTensor((*lead, *(None,) * rank), value.dtype)
    sizes = zip(value.shape[-rank:], taps, strides, paddings, strict=True)
    return AbstractTensor((*lead, *((a - 1) * step + tap - pad * 2 for a, tap, step, pad in sizes)), value.dtype)


def _sampled(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    """Planes at the places that a grid names."""
    value, grid = args[0], argument(args, kwargs, 1, "grid")
    mode = _one_of("mode", argument(args, kwargs, 2, "mode"), _SAMPLE_MODES)
    _one_of("padding_mode", argument(args, kwargs, 3, "padding_mode"), _EDGES)
    s.count(None)
    if len(value.shape) not in (4, 5) or len(grid.shape) != len(value.shape):
        text = "grid_sample takes two tensors of 4 or two of 5 dimensions"
        raise ShapeMismatch(f"{text}, and these are {shape_text(value.shape)} and {shape_text(grid.shape)}")
    axes = Dim.of(len(value.shape) - 2)
    if s.compare.differ(grid.shape[-1], axes) or s.compare.differ(grid.shape[0], value.shape[0]):
        text = f"the grid of a tensor of {shape_text(value.shape)} begins with {value.shape[0]} and ends with {axes}"
        raise ShapeMismatch(f"{text}, and this is {shape_text(grid.shape)}")
    if mode == "bicubic" and len(value.shape) != 4:
        raise ShapeMismatch(f"grid_sample with 'bicubic' takes 4 dimensions, and this is {shape_text(value.shape)}")
    if s.compare.is_empty(value.shape[2:]):
        raise ShapeMismatch(f"grid_sample takes planes that have elements, and this is {shape_text(value.shape)}")
    return AbstractTensor((*value.shape[:2], *grid.shape[1:-1]), value.dtype)


def _grid(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    """The places of a grid after an affine map of each plane."""
    value, size = args[0], argument(args, kwargs, 1, "size")
    s.count(None)
    if len(value.shape) != 3:
        raise ShapeMismatch(f"affine_grid takes a tensor of 3 dimensions, and this is {shape_text(value.shape)}")
    if not isinstance(size, list | tuple) or any(not isinstance(each, Dim) for each in size):
        return None
    if len(size) not in (4, 5):
        raise ShapeMismatch(f"the size of affine_grid has 4 or 5 numbers, and this has {len(size)}")
    axes = len(size) - 2
    if any(map(s.compare.differ, value.shape, (size[0], Dim.of(axes), Dim.of(axes + 1)))):
        text = f"affine_grid of {shape_text(tuple(size))} takes a tensor of ({size[0]}, {axes}, {axes + 1})"
        raise ShapeMismatch(f"{text}, and this is {shape_text(value.shape)}")
    return AbstractTensor((size[0], *size[2:], Dim.of(axes)), value.dtype)


def _resized(s: Inferring, args: Sequence[Any], kwargs: Kwargs, *, name: str) -> Any:
    """Planes of other sizes, or of sizes times a factor."""
    value, rank = args[0], len(args[0].shape)
    s.count(None)
    if not 3 <= rank <= 5:
        text = f"{name} takes a tensor of 3 to 5 dimensions, channels first, and this is {shape_text(value.shape)}"
        raise ShapeMismatch(text)
    mode = argument(args, kwargs, 3, "mode", "nearest")
    _one_of("mode", mode, (*_FREE_MODES, *_RANK_OF))
    if isinstance(mode, str) and _RANK_OF.get(mode, rank) != rank:
        text = f"{name} with {mode!r} takes {_RANK_OF[mode]} dimensions, and this is {shape_text(value.shape)}"
        raise ShapeMismatch(text)
    _resized_by(name, mode, args, kwargs)
    for place, word in ((1, "size"), (2, "scale_factor")):
        told = argument(args, kwargs, place, word)
        if isinstance(told, list | tuple) and len(told) != rank - 2:
            raise ShapeMismatch(f"{name} of {shape_text(value.shape)} takes {rank - 2} numbers, and not {len(told)}")
    told = argument(args, kwargs, 1, "size")
    if told is None or len(args) > 2 or "scale_factor" in kwargs:
        return AbstractTensor((*value.shape[:2], *(None,) * (rank - 2)), value.dtype)
    return AbstractTensor((*value.shape[:2], *each_dimension(told, rank - 2)), value.dtype)


def _resized_by(name: str, mode: Any, args: Sequence[Any], kwargs: Kwargs) -> None:
    """Look at what planes are resized by, beside the sizes."""
    if argument(args, kwargs, 4, "align_corners") in (True, False) and mode in _FREE_MODES:
        raise ShapeMismatch(f"{name} with {mode!r} has no corners to align; leave align_corners out")
    if name != "interpolate":
        return
    size, factor = argument(args, kwargs, 1, "size"), argument(args, kwargs, 2, "scale_factor")
    if isinstance(size, Dim | list | tuple) and isinstance(factor, Dim | Number | list | tuple):
        raise ShapeMismatch(f"{name} takes size or scale_factor, and not both")
    if isinstance(size, Dim | list | tuple) and argument(args, kwargs, 5, "recompute_scale_factor") is True:
        raise ShapeMismatch("recompute_scale_factor goes with scale_factor, and here is a size")
    if argument(args, kwargs, 6, "antialias") is True and mode in (*_FREE_MODES, "linear", "trilinear"):
        raise ShapeMismatch(f"antialias goes with 'bilinear' and 'bicubic', and not with {mode!r}")


def _one_of(word: str, told: Any, known: Sequence[str]) -> Any:
    """Return an option. Raises ShapeMismatch where it is a text that torch does not know."""
    if isinstance(told, str) and told not in known:
        raise ShapeMismatch(f"{word} is one of {', '.join(map(repr, known))}, and not {told!r}")
    return told


PLANES: Final[Mapping[str, Rule]] = {
    **{f"conv_transpose{rank}d": partial(_transposed, rank=rank) for rank in (1, 2, 3)},
    **{f"max_unpool{rank}d": partial(_unpooled, rank=rank) for rank in (1, 2, 3)},
    "grid_sample": _sampled, "affine_grid": _grid,
    **{name: partial(_resized, name=name) for name in ("interpolate", "upsample")},
}  # fmt: skip
