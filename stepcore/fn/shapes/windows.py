"""Shape rules of what looks at windows of planes: pools, windows as columns and back, convolutions.

A pool counts 1 for each element that a window reads, ``fold`` 1 for each that it adds, a convolution what its product
of windows and weights does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Final

from stepcore.fn.shapes.parts import argument
from stepcore.fn.shapes.rules import Inferring, Kwargs, Rule
from stepcore.fn.shapes.values import AbstractTensor, ShapeMismatch, Sizes, integer, numel, place_of, shape_text
from stepcore.sizes.dim import Dim, product
from stepcore.text.wording import counted

COLUMNS: Final = "im2col"  # as torch calls torch.nn.functional.unfold within, which has the name of another method
_OPTIONS: Final = {"dilation": 1, "padding": 0, "stride": 1}  # and what they are where nothing is said
_POOLS: Final[Mapping[str, Mapping[str, int]]] = {  # at which places they have which options
    "avg_pool": {"stride": 2, "padding": 3, "ceil_mode": 4},
    "max_pool": {"stride": 2, "padding": 3, "dilation": 4, "ceil_mode": 5, "return_indices": 6},
}
_UNFOLD: Final = {"dilation": 2, "padding": 3, "stride": 4}
_CONVOLUTION: Final = {"stride": 3, "padding": 4, "dilation": 5}


def _unfold(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    """Windows of the last two dimensions as columns."""
    value = args[0]
    if len(value.shape) not in (3, 4):
        s.count(None)
        return None
    taps = each_dimension(argument(args, kwargs, 1, "kernel_size"), 2)
    *lead, channels, _height, _width = value.shape
    places = _places(value.shape[-2:], taps, _options(args, kwargs, _UNFOLD, 2))
    return AbstractTensor((*lead, channels * product(taps), numel(places)), value.dtype)


def _along_one(_s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    """Windows of one dimension, each as a row of a new last one (``x.unfold(dimension, size, step)``)."""
    value, dim = args[0], integer(argument(args, kwargs, 1, "dimension"))
    size, step = argument(args, kwargs, 2, "size"), argument(args, kwargs, 3, "step")
    if dim is None or not isinstance(size, Dim) or not isinstance(step, Dim):
        return AbstractTensor(None, value.dtype)
    place = place_of(dim, len(value.shape))
    count = (value.shape[place] - size) // step + 1
    return AbstractTensor((*value.shape[:place], count, *value.shape[place + 1 :], size), value.dtype)


def _fold(s: Inferring, args: Sequence[Any], kwargs: Kwargs) -> Any:
    """Columns as planes, added up where windows meet."""
    value, planes = args[0], each_dimension(argument(args, kwargs, 1, "output_size"), 2)
    taps = each_dimension(argument(args, kwargs, 2, "kernel_size"), 2)
    *lead, rows, _columns = value.shape
    s.count(numel(value.shape))
    return AbstractTensor((*lead, rows // product(taps), *planes), value.dtype)


def _pool(s: Inferring, args: Sequence[Any], kwargs: Kwargs, *, kind: str, rank: int) -> Any:
    """A fold over each window; sizes that are rounded up, and where the elements lie, are not followed."""
    value, options = args[0], _POOLS[kind]
    rounds_up = argument(args, kwargs, options["ceil_mode"], "ceil_mode", default=False)
    of_rank(f"{kind}{rank}d", value.shape, rank)
    gives_both = argument(args, kwargs, options.get("return_indices", len(args)), "return_indices", default=False)
    if gives_both is not False or rounds_up is not False:
        s.count(None)
        return None
    taps = each_dimension(argument(args, kwargs, 1, "kernel_size"), rank)
    given = _options(args, kwargs, options, rank)
    if argument(args, kwargs, options["stride"], "stride", []) == []:
        given["stride"] = taps
    for tap, padding, dilation in zip(taps, given["padding"], given["dilation"], strict=True):
        window, around = s.compare.bound(dilation * (tap - 1) + 1), s.compare.bound(padding)
        if window is not None and around is not None and around * 2 > window:
            raise ShapeMismatch(f"a pool pads by half of its window at most, and {padding} is more than half of {tap}")
    places = _fitting(s, value.shape, taps, given)
    shape = (*value.shape[:-rank], *places)
    s.count(numel((*shape, *taps)))
    return AbstractTensor(shape, value.dtype)


def _convolution(s: Inferring, args: Sequence[Any], kwargs: Kwargs, *, rank: int) -> Any:
    """Sums over the windows of a group of channels."""
    value, weight = args[0], argument(args, kwargs, 1, "weight")
    of_rank(f"conv{rank}d", value.shape, rank)
    if len(weight.shape) != rank + 2:
        text = f"the weight of conv{rank}d has {rank + 2} dimensions, and this one {len(weight.shape)}"
        raise ShapeMismatch(text)
    channels, depth, *taps = weight.shape
    _of_channels(s, value.shape[-rank - 1], weight.shape, argument(args, kwargs, 6, "groups", Dim.of(1)))
    bias = argument(args, kwargs, 2, "bias")
    given = bias.shape if isinstance(bias, AbstractTensor) else None
    if given is not None and (len(given) != 1 or s.compare.differ(given[0], channels)):
        raise ShapeMismatch(f"the bias of {channels} channels is a tensor of {shape_text(given)}")
    places = _fitting(s, value.shape, taps, _options(args, kwargs, _CONVOLUTION, rank))
    shape = (*value.shape[: -rank - 1], channels, *places)
    if s.compare.bound(depth) == 0:
        s.count(None)
        return None  # of no channels torch gives other sizes than of some
    work = numel((*shape, depth, *taps))
    s.count(None if work is None else work * 2)
    return AbstractTensor(shape, value.dtype if value.dtype == weight.dtype else None)


def of_rank(name: str, shape: Sizes, rank: int) -> None:
    """Look at the rank of planes of channels.

    Raises:
        ShapeMismatch: it is neither that of one nor that of several.
    """
    if len(shape) not in (rank + 1, rank + 2):
        wanted = f"{rank + 1} or {rank + 2} dimensions"
        raise ShapeMismatch(f"{name} takes a tensor with {wanted}, and this is {shape_text(shape)}")


def _of_channels(s: Inferring, channels: Any, weight: Sizes, groups: Any) -> None:
    """Look at how many channels a convolution goes over; ``groups`` of them have weights of their own."""
    if isinstance(groups, Dim) and weight[1] is not None and s.compare.differ(channels, weight[1] * groups):
        times = weight[1] * groups
        text = f"a weight of {shape_text(weight)} goes over {times} channels, and the tensor has {channels}"
        raise ShapeMismatch(text)


def _fitting(s: Inferring, shape: Sizes, taps: Sequence[Any], options: Mapping[str, Sequence[Any]]) -> Sizes:
    """Return at how many places windows fit, of which there has to be one."""
    places = _places(shape[len(shape) - len(taps) :], taps, options)
    for place in places:
        number = None if place is None else s.compare.bound(place)
        if number is not None and number < 1:
            raise ShapeMismatch(f"a window of {shape_text(tuple(taps))} does not fit into {shape_text(shape)}")
    return places


def _options(args: Sequence[Any], kwargs: Kwargs, places: Mapping[str, int], rank: int) -> dict[str, Sequence[Any]]:
    """Return the numbers of all options, one for each dimension; ``places`` are those of the arguments."""
    found: dict[str, Sequence[Any]] = {}
    for name, default in _OPTIONS.items():
        given = argument(args, kwargs, places[name], name, []) if name in places else []
        found[name] = each_dimension(Dim.of(default) if given == [] else given, rank)
    return found


def _places(sizes: Sequence[Any], taps: Sequence[Any], options: Mapping[str, Sequence[Any]]) -> Sizes:
    """Return at how many places of each dimension a window fits."""
    given = zip(sizes, taps, options["dilation"], options["padding"], options["stride"], strict=True)
    return tuple(
        (size + padding * 2 - dilation * (tap - 1) - 1) // stride + 1 for size, tap, dilation, padding, stride in given
    )


def each_dimension(given: Any, rank: int) -> Sequence[Any]:
    """Return a number for each dimension, where one may stand for all.

    Raises:
        TypeError: it is neither, so that nothing is known of the result.
        ShapeMismatch: there are more or fewer numbers than dimensions.
    """
    values = list(given) if isinstance(given, list | tuple) else [given]
    if not all(isinstance(value, Dim) for value in values):
        raise TypeError(given)
    if len(values) not in (1, rank):
        raise ShapeMismatch(
            f"windows of {counted(rank, 'dimension')} take as many numbers, and {len(values)} are given"
        )
    return values * rank if len(values) == 1 else values


WORKING: Final = frozenset({"fold"} | {f"{kind}{rank}d" for kind in _POOLS for rank in (1, 2, 3)})
CONVOLUTIONS: Final = frozenset(f"conv{rank}d" for rank in (1, 2, 3))
WINDOWS: Final[Mapping[str, Rule]] = {
    COLUMNS: _unfold, "unfold": _along_one, "fold": _fold,
    **{f"{kind}{rank}d": partial(_pool, kind=kind, rank=rank) for kind in _POOLS for rank in (1, 2, 3)},
    **{f"conv{rank}d": partial(_convolution, rank=rank) for rank in (1, 2, 3)},
}  # fmt: skip
