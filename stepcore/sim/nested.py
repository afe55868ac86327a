"""Results and references with ragged sizes: nested lists of tensors, and the same as packed values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from stepcore.sim.fnvec.shared import MANY, unfolded
from stepcore.sim.lengths import Lengths, Levels, first_unlike
from stepcore.text.wording import counted, what_is


@dataclass(frozen=True, slots=True)
class Nested:
    """One component of a stream with ragged sizes.

    ``values`` hold all lists of the innermost ragged dimension behind each other, then the regular dimensions inside of
    it and the element; ``levels`` are that dimension and those outside of it, innermost first.
    """

    values: Tensor
    levels: Levels

    def lists(self) -> list[Any]:
        """Return nested lists, outermost first; the innermost ragged dimension is an axis of their tensors."""
        first = self.levels[0]
        assert isinstance(first, Lengths), "the innermost level is ragged"
        found: list[Any] = list(torch.split(self.values, first.values.tolist()))
        for level in self.levels[1:-1]:
            sizes = level.values.tolist() if isinstance(level, Lengths) else [level] * (len(found) // max(level, 1))
            found = _grouped(found, sizes)
        return found

    def to(self, dtype: torch.dtype) -> Nested:
        """Return the same in another dtype."""
        return Nested(self.values.to(dtype), self.levels)


def _grouped(items: list[Any], sizes: Sequence[int]) -> list[Any]:
    rest = iter(items)
    return [[next(rest) for _ in range(size)] for size in sizes]


def values_of(found: Tensor | Nested) -> Tensor:
    """Return a tensor, or of nested lists all elements behind each other."""
    return found if isinstance(found, Tensor) else found.values


def as_lists(tensor: Tensor, depth: int) -> Nested:
    """Return a tensor as nested lists of ``depth`` levels, which it has; all lists of a level are of one length."""
    return Nested(tensor.flatten(0, depth - 1), tuple(reversed(tensor.shape[:depth])))


def packed(value: Any, depth: int) -> Nested | str:
    """Return nested lists of ``depth`` levels, the innermost of them ragged; a text that says why they are none.

    Lists may reach as deep as they like: what they do not reach are axes of their tensors. Where no list has an element
    nothing says what these would be: ``values`` have one axis then.
    """
    if unfolded(value) > MANY:
        return f"a value with more than {MANY:,} items"
    lengths: list[Lengths] = []
    found: list[Any] = [value]
    for _ in range(depth - 1):
        wrong = next((item for item in found if not isinstance(item, list | tuple | Tensor)), None)
        if wrong is not None or any(isinstance(item, Tensor) and not item.dim() for item in found):
            return f"{what_is(found[0] if wrong is None else wrong)} stands where lists of tensors are expected"
        lengths.append(Lengths(torch.tensor([len(item) for item in found], dtype=torch.int64)))
        found = [part for item in found for part in item]
    parts = [_whole(item) for item in found]
    for item, part in zip(found, parts, strict=True):
        if part is None or not part.dim():
            return f"{what_is(item)} stands where a list of equal tensors is expected"
    tensors = [part for part in parts if part is not None]
    lengths.append(Lengths(torch.tensor([len(part) for part in tensors], dtype=torch.int64)))
    full = [part for part in tensors if len(part)]
    shapes = sorted({tuple(part.shape[1:]) for part in full})
    if len(shapes) > 1:
        return f"elements of the shapes {' and '.join(map(str, shapes))} stand in its lists"
    values = torch.cat(full) if full else torch.empty(0)
    outermost, *inner = lengths
    return Nested(values, (*reversed(inner), outermost.total))


def _whole(item: Any) -> Tensor | None:
    """Return lists of equal lists of tensors as one tensor; None where they are not equal."""
    if isinstance(item, Tensor):
        return item
    if isinstance(item, list | tuple) and not item:
        return torch.empty(0)
    inner = [_whole(part) for part in item] if isinstance(item, list | tuple) else []
    shapes = {None if part is None else part.shape for part in inner}
    return torch.stack(inner) if len(shapes) == 1 and None not in shapes else None  # type: ignore[arg-type]


def unlike(result: Nested, reference: object) -> str:
    """Return where the lists of a result are not as long as its reference's, or hold other elements; else nothing."""
    if not isinstance(reference, Nested):
        return "has lists of different lengths, and its reference is one tensor"
    for place in reversed(range(len(result.levels))):
        outer = result.levels[place + 1 :]  # alike already
        if differ := first_unlike(result.levels[place], reference.levels[place], outer):
            at, found, wanted = differ
            where = f"in the list at {at}" if at else "outermost"
            return f"has {counted(found, 'element')} {where}, its reference {wanted}"
    shapes = tuple(result.values.shape[1:]), tuple(reference.values.shape[1:])
    if result.values.numel() and shapes[0] != shapes[1]:
        return f"has elements of the shape {shapes[0]}, its reference {shapes[1]}"
    if result.values.numel() and result.values.dtype != reference.values.dtype:
        return f"has the dtype {result.values.dtype}, its reference {reference.values.dtype}"
    return ""
