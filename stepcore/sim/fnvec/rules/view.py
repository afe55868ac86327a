"""Batching rules of views and of operations that move values within an element."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stepcore.sim.fnvec.errors import NoRule
from stepcore.sim.fnvec.names import Operation
from stepcore.sim.fnvec.record import has_traced
from stepcore.sim.fnvec.rules.join import bind, negative
from stepcore.sim.fnvec.tape import TV, Reg, Tensor
from stepcore.sim.fnvec.trace import Tracer, rule


def reshaped(tr: Tracer, reg: Reg, shape: Sequence[int]) -> Reg:
    """Record the reshaping of every element to ``shape``."""
    batch = tr.batch
    element = tuple(shape)
    return tr.emit(lambda x: x.reshape(*x.shape[:batch], *element), reg)


@rule(
    "reshape", "view", "flatten", "unflatten", "squeeze", "atleast_1d", "atleast_2d", "atleast_3d", "reshape_as",
    "view_as", "alias",
)  # fmt: skip
def reshape(tr: Tracer, _op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """The probe knows the resulting shape, with every -1 worked out."""
    if type(args[0]) is not TV:
        if isinstance(args[0], torch.Tensor) and isinstance(expected, torch.Tensor):
            return args[0].reshape(expected.shape)  # reshape_as of a constant
        raise NoRule
    if not isinstance(expected, torch.Tensor) or expected.dtype != args[0].probe.dtype:
        raise NoRule
    value = args[0]
    if expected.shape == value.probe.shape:
        return value.reg
    if expected.dim() == 1 and value.rank > 1:
        return tr.emit(torch.flatten, value.reg, -value.rank)
    return reshaped(tr, value.reg, expected.shape)


@rule("unsqueeze")
def unsqueeze(tr: Tracer, _op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Insert an element dimension."""
    p = bind(("self", "dim"), args, kwargs)
    return tr.emit(torch.unsqueeze, p["self"].reg, negative(p["dim"], expected.dim()))


@rule("transpose", "t", "movedim", "permute", "adjoint")
def permute(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Permute element dimensions."""
    value = args[0]
    if type(value) is not TV:
        raise NoRule
    rank = value.rank
    if op.name.removeprefix("aten.") == "t":
        return tr.emit(torch.transpose, value.reg, -1, -2) if rank == 2 else value.reg
    if op.name.removeprefix("aten.") == "transpose":
        dims = [*args[1:], *(kwargs[k] for k in ("dim0", "dim1", "axis0", "axis1") if k in kwargs)]
        first, second = (negative(d, rank) for d in dims)
        return tr.emit(torch.transpose, value.reg, first, second)
    # What happens to the dimensions is read off the sizes of a marker tensor.
    if rank == 0:
        reg: Reg = value.reg
        return reg
    marker = torch.empty([2 + i for i in range(rank)], device="meta")
    moved = op.plain(marker, *args[1:], **kwargs)
    order = tuple(size - 2 - rank for size in moved.shape)

    def apply(x: Tensor) -> Tensor:
        lead = x.dim() - rank
        return x.permute(*range(lead), *(x.dim() + d for d in order))

    return tr.emit(apply, value.reg)


@rule("expand", "expand_as", "broadcast_to")
def expand(tr: Tracer, _op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """Expand elements; sizes of -1 are worked out by the probe."""
    shape = tuple(expected.shape)
    if type(args[0]) is not TV:
        return args[0].expand(shape)
    reg = tr.lift(args[0], len(shape))
    batch = tr.batch
    return tr.emit(lambda x: x.expand(*x.shape[:batch], *shape), reg)


@rule("repeat", "tile")
def repeat(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Repeat elements."""
    counts = args[1] if len(args) == 2 and isinstance(args[1], list | tuple) else args[1:]
    if kwargs:
        counts = next(iter(kwargs.values()))
    if type(args[0]) is not TV or not all(isinstance(count, int) for count in counts):
        raise NoRule
    rank = expected.dim()
    counts = (1,) * (rank - len(counts)) + tuple(counts)
    ones = (1,) * tr.batch
    return tr.emit(torch.Tensor.repeat, tr.lift(args[0], rank), (*ones, *counts))


@rule("repeat_interleave")
def repeat_interleave(tr: Tracer, _op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Repeat along one element dimension, or of the flattened element."""
    p = bind(("self", "repeats", "dim", "output_size"), args, kwargs)
    if type(p["self"]) is not TV or has_traced((p["repeats"],)):
        raise NoRule
    value, dim = p["self"], p.get("dim")
    if dim is None:
        flat = reshaped(tr, value.reg, (value.probe.numel(),))
        return tr.emit(torch.repeat_interleave, flat, p["repeats"], -1)
    return tr.emit(torch.repeat_interleave, value.reg, p["repeats"], negative(dim, value.rank))


@rule("narrow", "select")
def part(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """A slice or one index along a dimension."""
    name = op.name.removeprefix("aten.")
    p = bind(("self", "dim", "start", "length") if name == "narrow" else ("self", "dim", "index"), args, kwargs)
    value = p.pop("self")
    if type(value) is not TV or has_traced(p.values()):
        raise NoRule
    dim = negative(p.pop("dim"), value.rank)
    return tr.emit(getattr(torch, name), value.reg, dim, *p.values())


@rule("flip", "roll")
def turn(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Reverse or rotate along element dimensions."""
    value = args[0]
    if type(value) is not TV or value.rank == 0:
        raise NoRule
    if op.name.removeprefix("aten.") == "flip":
        dims = kwargs.get("dims", args[1] if len(args) == 2 else args[1:])
        dims = dims if isinstance(dims, list | tuple) else (dims,)
        return tr.emit(torch.flip, value.reg, tuple(negative(d, value.rank) for d in dims))
    p = bind(("self", "shifts", "dims"), args, kwargs)
    dims = p.get("dims")
    if dims is None or dims in ((), []):
        flat = reshaped(tr, value.reg, (value.probe.numel(),))
        return reshaped(tr, tr.emit(torch.roll, flat, p["shifts"], -1), expected.shape)
    dims = tuple(negative(d, value.rank) for d in (dims if isinstance(dims, list | tuple) else (dims,)))
    return tr.emit(torch.roll, value.reg, p["shifts"], dims)


@rule("tril", "triu")
def triangle(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Works on the last two dimensions as it is."""
    if type(args[0]) is not TV or has_traced(args[1:]) or args[0].rank < 2:
        raise NoRule
    return tr.emit(op.plain, args[0].reg, *args[1:], **kwargs)


@rule("diagonal", "diag", "diag_embed")
def diagonal(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """The diagonal of a matrix, or a matrix with a given diagonal."""
    value = args[0]
    name = op.name.removeprefix("aten.").removeprefix("linalg.")
    renamed = {("offset" if k == "diagonal" else k): v for k, v in kwargs.items()}
    p = bind(("self", "offset", "dim1", "dim2"), args, renamed)
    if type(value) is not TV:
        raise NoRule
    offset = p.get("offset", 0)
    if "dim1" in p or "dim2" in p:
        raise NoRule
    if name == "diag_embed" or (name == "diag" and value.rank == 1):
        return tr.emit(torch.diag_embed, value.reg, offset)
    if value.rank != 2:
        raise NoRule
    return tr.emit(lambda x: torch.diagonal(x, offset, -2, -1), value.reg)


@rule("diff")
def diff(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Differences of neighbours along an element dimension."""
    p = bind(("self", "n", "dim"), args, kwargs)
    return tr.emit(torch.diff, p["self"].reg, p.get("n", 1), negative(p.get("dim", -1), p["self"].rank))


@rule("pad")
def pad(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Constant padding counts dimensions from the innermost one."""
    p = bind(("self", "pad", "mode", "value"), args, kwargs)
    if type(p["self"]) is not TV or p.get("mode", "constant") != "constant" or has_traced((p.get("value"),)):
        raise NoRule
    return tr.emit(op.plain, p["self"].reg, tuple(p["pad"]), "constant", p.get("value"))
