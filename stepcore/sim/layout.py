"""Applying layouts to tensors; what they say is in :mod:`stepcore.graph.layouts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

import torch
from torch import Tensor

from stepcore.graph.layouts import InputLayout, LayoutError, OutputLayout


def read(layout: InputLayout, tensor: Tensor, shape: Sequence[int], bindings: Mapping[str, int]) -> Tensor:
    """Return the tensor of the stream, of ``shape``.

    Raises:
        LayoutError: a place lies outside of the padded tensor.
    """
    if layout.places is None:
        return tensor.reshape(tuple(shape))
    padded = _padded(layout, tensor, bindings)
    strides = [0] * len(shape)
    offset = 0
    for axis, (place, stride) in enumerate(zip(layout.places, padded.stride(), strict=True)):
        first = last = place.offset.bind(bindings)
        offset += first * stride
        for counter, factor in place.factors:
            number = factor.bind(bindings)
            strides[counter] += number * stride
            reach = number * (shape[counter] - 1)
            first, last = first + min(reach, 0), last + max(reach, 0)
        if first < 0 or last >= padded.shape[axis]:
            text = f"the layout of {layout.source} reads dimension {axis} from {first} to {last}"
            raise LayoutError(f"{text}; it has {padded.shape[axis]} elements with its padding")
    # A view cannot go backwards: such counters start at their end and are turned around.
    backwards = [counter for counter, stride in enumerate(strides) if stride < 0]
    offset += sum(strides[counter] * (shape[counter] - 1) for counter in backwards)
    found = padded.as_strided(tuple(shape), [abs(stride) for stride in strides], offset)
    return found.flip(backwards) if backwards else found


def generated(layout: InputLayout, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Return the tensor that the layout itself describes."""
    if layout.values is not None:
        return torch.tensor(layout.values, dtype=torch.float64).reshape(tuple(shape)).to(dtype)
    return torch.arange(shape[0]).to(dtype) if layout.source == "arange" else torch.ones(tuple(shape), dtype=dtype)


def put_together(layout: OutputLayout, tensor: Tensor, bindings: Mapping[str, int]) -> Tensor:
    """Return the result that the host makes of the tensor of a stream.

    Raises:
        LayoutError: it takes more than there is.
        DimError: a size that it takes has no value.
    """
    permuted = tensor.permute(layout.order)
    whole = permuted.reshape(_merged(layout.groups, permuted.shape))
    if layout.sizes is None:
        return whole
    sizes = [size.bind(bindings) for size in layout.sizes]
    if any(not 0 < size <= most for size, most in zip(sizes, whole.shape, strict=True)):
        raise LayoutError(f"it takes {sizes} of a tensor of the shape {list(whole.shape)}")
    return whole[tuple(slice(size) for size in sizes)]


def _merged(groups: Sequence[int], permuted: Sequence[int]) -> list[int]:
    """Return the sizes of the dimensions that a permuted tensor of these sizes is merged to, by ``groups``."""
    spare = len(permuted) - sum(groups)  # placeholders of one round come first
    sizes: list[int] = []
    for count in groups:
        sizes.append(prod(permuted[spare : spare + count]))
        spare += count
    return sizes


def laid_out(layout: OutputLayout, result: Tensor, shape: Sequence[int], bindings: Mapping[str, int]) -> Tensor:
    """Return ``result`` as the tensor of its stream, which has ``shape``: the way back. What a result lacks is zero.

    Raises:
        LayoutError: the result has other sizes than those that are taken.
        DimError: a size that is taken has no value.
    """
    if layout.sizes is not None:
        sizes = [size.bind(bindings) for size in layout.sizes]
        if list(result.shape) != sizes:
            raise LayoutError(f"it takes {sizes}, and the result has the shape {list(result.shape)}")
    return taken_apart(result, layout.order, layout.groups, shape, grows=layout.sizes is not None)


def taken_apart(
    result: Tensor, order: Sequence[int], groups: Sequence[int], shape: Sequence[int], *, grows: bool
) -> Tensor:
    """Return ``result`` as a tensor of ``shape``: its dimensions split into those of ``groups``, then in their places.

    ``order`` is the permutation that led to ``groups``; with ``grows`` there are zeros behind what the result has.
    """
    split = [shape[place] for place in order]
    whole = _grown(result, _merged(groups, split)) if grows else result
    return whole.reshape(split).permute([order.index(place) for place in range(len(order))])


def _grown(result: Tensor, sizes: Sequence[int]) -> Tensor:
    """Return ``result`` with zeros behind it up to ``sizes``."""
    whole = result.new_zeros(tuple(sizes))
    whole[tuple(slice(size) for size in result.shape)] = result
    return whole


def _padded(layout: InputLayout, tensor: Tensor, bindings: Mapping[str, int]) -> Tensor:
    ends = [(low.bind(bindings), high.bind(bindings)) for low, high in layout.padding]
    stuffed = [(size - 1) * step + 1 for size, step in zip(tensor.shape, layout.steps, strict=True)]
    sizes = [low + size + high for size, (low, high) in zip(stuffed, ends, strict=True)]
    padded = torch.full(sizes, layout.fill).to(tensor.dtype)
    inner = padded[tuple(slice(low, low + size) for size, (low, _) in zip(stuffed, ends, strict=True))]
    inner.zero_()
    inner[tuple(slice(None, None, step) for step in layout.steps)] = tensor
    return padded
