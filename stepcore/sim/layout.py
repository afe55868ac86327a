"""Applying layouts to tensors; what they say is in :mod:`stepcore.layouts`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from stepcore.layouts import InputLayout, LayoutError, OutputLayout


def read(layout: InputLayout, tensor: Tensor, shape: Sequence[int], bindings: Mapping[str, int]) -> Tensor:
    """Return the tensor of the stream, of ``shape``.

    Raises:
        LayoutError: a place lies outside of the padded tensor.
    """
    if layout.places is None:
        return tensor.reshape(tuple(shape))
    padded = _padded(layout, tensor, bindings)
    places = torch.zeros(tuple(shape), dtype=torch.int64)
    for axis, (place, stride) in enumerate(zip(layout.places, padded.stride(), strict=True)):
        index = torch.full((1,) * len(shape), place.offset.bind(bindings))
        for counter, factor in place.factors:
            counts = torch.arange(shape[counter]) * factor.bind(bindings)
            index = index + counts.reshape([-1 if loop == counter else 1 for loop in range(len(shape))])
        if int(index.min()) < 0 or int(index.max()) >= padded.shape[axis]:
            text = f"the layout of {layout.source} reads dimension {axis} from {int(index.min())} to {int(index.max())}"
            raise LayoutError(f"{text}; it has {padded.shape[axis]} elements with its padding")
        places = places + index * stride
    return padded.reshape(-1)[places]


def generated(layout: InputLayout, shape: Sequence[int], dtype: torch.dtype) -> Tensor:
    """Return the tensor that the layout itself describes."""
    if layout.values is not None:
        return torch.tensor(layout.values, dtype=torch.float64).reshape(tuple(shape)).to(dtype)
    return torch.arange(shape[0]).to(dtype) if layout.source == "arange" else torch.ones(tuple(shape), dtype=dtype)


def laid_out(layout: OutputLayout, result: Tensor, shape: Sequence[int]) -> Tensor:
    """Return ``result`` as the tensor of its stream, which has ``shape``: the way back."""
    split = [shape[place] for place in layout.order]
    return result.reshape(split).permute([layout.order.index(place) for place in range(len(layout.order))])


def _padded(layout: InputLayout, tensor: Tensor, bindings: Mapping[str, int]) -> Tensor:
    ends = [(low.bind(bindings), high.bind(bindings)) for low, high in layout.padding]
    stuffed = [(size - 1) * step + 1 for size, step in zip(tensor.shape, layout.steps, strict=True)]
    sizes = [low + size + high for size, (low, high) in zip(stuffed, ends, strict=True)]
    padded = torch.full(sizes, layout.fill).to(tensor.dtype)
    inner = padded[tuple(slice(low, low + size) for size, (low, _) in zip(stuffed, ends, strict=True))]
    inner.zero_()
    inner[tuple(slice(None, None, step) for step in layout.steps)] = tensor
    return padded
