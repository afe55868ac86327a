"""Affine reads of a tensor inside an element, as text: slices, reversals, splits of dimensions, another order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from stepagents.lower.affine import Affine, Axis, BoundSizes, NotAffine
from stepagents.traced.graph import size_text
from stepcore.sizes.dim import Dim


def shape_text(sizes: Iterable[Dim]) -> str:
    """Return what stands between the brackets of a tuple of sizes."""
    texts = [size_text(size) for size in sizes]
    return ", ".join(texts) + ("," if len(texts) == 1 else "")


def read_template(
    sizes: BoundSizes, shape: Sequence[Dim], index: Sequence[Affine], order: Mapping[Axis, int], fill: str = "0"
) -> tuple[str, tuple[Axis, ...]]:
    """Return what reads a tensor ``{0}`` of ``shape`` at ``index``, and its dimensions, sorted by ``order``.

    Places outside of the tensor are ``fill``.

    Raises:
        NotAffine: slices cannot express it.
    """
    spans = [sizes.span(part) for part in index]
    pads = [(sizes.excess(-low), sizes.excess(high - size + 1)) for (low, high), size in zip(spans, shape, strict=True)]
    template = "{0}"
    if any(pad != 0 for pair in pads for pad in pair):
        counts = ", ".join(f"{size_text(low)}, {size_text(high)}" for low, high in reversed(pads))
        template = f"torch.nn.functional.pad({template}, ({counts}), value={fill})"
        shape = [low + size + high for size, (low, high) in zip(shape, pads, strict=True)]
        index = [part + low for part, (low, _) in zip(index, pads, strict=True)]
    found = [_dimension(sizes, size, part) for size, part in zip(shape, index, strict=True)]
    slices = [text for text, _, _ in found]
    while slices and slices[-1] == ":":
        slices.pop()
    template += f"[{', '.join(slices)}]" if slices else ""
    axes = [axis for _, some, _ in found for axis in some]
    if len(set(axes)) < len(axes):
        raise NotAffine("two dimensions of a tensor inside an element run in step")
    if any(len(some) > 1 for _, some, _ in found):
        template = f"torch.reshape({template}, ({shape_text(axis.size for axis in axes)}))"
    turned = [axes.index(some[0]) for _, some, backwards in found if backwards]
    if turned:
        template = f"torch.flip({template}, {turned})"
    ranked = sorted(axes, key=order.__getitem__)
    if ranked != axes:
        template = f"torch.permute({template}, ({', '.join(str(axes.index(axis)) for axis in ranked)}))"
    return template, tuple(ranked)


def expanded(template: str, axes: Sequence[Axis], wanted: Sequence[Axis]) -> str:
    """Return ``template``, whose dimensions are ``axes``, with all of ``wanted``, of which ``axes`` are a part."""
    if tuple(axes) == tuple(wanted):
        return template
    return f"{lined_up(template, axes, wanted)}.expand({shape_text(axis.size for axis in wanted)})"


def lined_up(template: str, axes: Sequence[Axis], wanted: Sequence[Axis]) -> str:
    """Return ``template`` so that it broadcasts to the dimensions ``wanted``, of which ``axes`` are a part."""
    places = [":" if axis in axes else "None" for axis in wanted]
    while places and places[0] == "None":
        places.pop(0)
    return f"{template}[{', '.join(places)}]" if "None" in places else template


def _dimension(sizes: BoundSizes, size: Dim, index: Affine) -> tuple[str, list[Axis], bool]:
    """Return the slice of one dimension, the axes that it runs along, and whether it runs backwards."""
    terms = sorted(index.terms, key=lambda term: -abs(sizes.of(term[1])))
    if not terms:
        return size_text(index.const), [], False
    axes = [axis for axis, _ in terms]
    last = terms[-1][1]
    if len(terms) > 1:
        pairs = pairwise(terms)
        if last != 1 or any(factor != after * axis.size for (_, factor), (axis, after) in pairs):
            raise NotAffine("Stepsmith has no streaming form of a window inside an element")
    backwards = sizes.of(last) < 0
    step = -last if backwards else last
    if step.constant is None:
        raise NotAffine("Stepsmith has no streaming form of a step inside an element that follows a size")
    low, high = sizes.span(index)
    start = "" if low == 0 else size_text(low)
    stop = "" if high == size - 1 else size_text(high + 1)
    text = f"{start}:{stop}" + (f":{step}" if step != 1 else "")
    return text, axes, backwards
