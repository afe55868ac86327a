"""Batching rules of operations that join tensors or take them apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stepcore.sim.fnvec.batch import common_batch
from stepcore.sim.fnvec.errors import NoRule
from stepcore.sim.fnvec.names import Operation
from stepcore.sim.fnvec.tape import TV, Reg, Tensor
from stepcore.sim.fnvec.trace import Tracer, rule


def batched(tr: Tracer, value: Any) -> Any:
    """Return an operand with batch dimensions: those of a constant have size 1."""
    if type(value) is TV:
        return value.reg
    if isinstance(value, torch.Tensor):
        return value.reshape((1,) * tr.batch + tuple(value.shape))
    raise NoRule


def negative(dim: Any, rank: int) -> int:
    """Return a dimension counted from the end, so that batch dimensions in front do not matter."""
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise NoRule
    return dim if dim < 0 else dim - rank


def bind(names: Sequence[str], args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return positional and keyword arguments by name."""
    if len(args) > len(names):
        raise NoRule
    bound = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        key = {"axis": "dim", "input": "self"}.get(name, name)
        if key in bound or key not in names:
            raise NoRule
        bound[key] = value
    return bound


@rule("stack")
def stack(tr: Tracer, _op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Stack along a new element dimension."""
    p = bind(("tensors", "dim"), args, kwargs)
    dim = negative(p.get("dim", 0), expected.dim())
    return _join(tr, torch.stack, p["tensors"], dim)


@rule("cat")
def cat(tr: Tracer, _op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Join along an element dimension."""
    p = bind(("tensors", "dim"), args, kwargs)
    return _join(tr, torch.cat, p["tensors"], negative(p.get("dim", 0), expected.dim()))


def _join(tr: Tracer, function: Any, tensors: Sequence[Any], dim: int) -> Reg:
    batch = tr.batch
    parts = [batched(tr, value) for value in tensors]
    return tr.emit(lambda *ts: function(common_batch(ts, batch), dim), *parts)


@rule("hstack", "vstack", "dstack", "column_stack")
def stacks(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Bring vectors to the rank that these functions want, then join."""
    tensors = args[0]
    ranks = {value.rank if type(value) is TV else value.dim() for value in tensors}
    if len(ranks) != 1 or kwargs:
        raise NoRule
    rank = ranks.pop()
    match op.name, rank:
        case "hstack", 1:
            return _join(tr, torch.cat, tensors, -1)
        case (("hstack" | "column_stack"), _) if rank >= 2:
            return _join(tr, torch.cat, tensors, 1 - rank)
        case "column_stack", 1:
            return _join(tr, torch.stack, tensors, -1)
        case "vstack", 1:
            return _join(tr, torch.stack, tensors, -2)
        case "vstack", _ if rank >= 2:
            return _join(tr, torch.cat, tensors, -rank)
    raise NoRule


@rule("chunk", "split", "tensor_split", "unbind")
def apart(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Any:
    """Take apart along an element dimension."""
    if op.name == "unbind":
        p = bind(("self", "dim"), args, kwargs)
        return tr.emit_many(torch.unbind, p["self"].reg, negative(p.get("dim", 0), p["self"].rank))
    sizes = {"chunk": "chunks", "split": "split_size_or_sections", "tensor_split": "indices_or_sections"}[op.name]
    if op.name == "split" and "split_size" in kwargs:
        kwargs = {sizes if k == "split_size" else k: v for k, v in kwargs.items()}
    p = bind(("self", sizes, "dim"), args, kwargs)
    if not isinstance(p[sizes], int | list | tuple):
        raise NoRule
    value = p["self"]
    return tr.emit_many(getattr(torch, op.name), value.reg, p[sizes], negative(p.get("dim", 0), value.rank))


@rule("broadcast_tensors")
def broadcast_tensors(tr: Tracer, _op: Operation, args: Sequence[Any], _kwargs: dict[str, Any], expected: Any) -> Any:
    """Broadcast the elements; batch dimensions stay as they are."""
    shape = tuple(expected[0].shape)
    batch = tr.batch

    def widen(x: Tensor) -> Tensor:
        return x.expand(*x.shape[:batch], *shape)

    return [
        tr.emit(widen, tr.lift(v, len(shape))) if type(v) is TV else v.expand(shape)
        for v in (args[0] if isinstance(args[0], list | tuple) else args)
    ]


@rule("meshgrid")
def meshgrid(tr: Tracer, _op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """Grids of vectors; in ``xy`` order the first two swap."""
    vectors = args[0] if isinstance(args[0], list | tuple) else args
    if kwargs.get("indexing", "ij") != "ij" or any(type(v) is not TV or v.rank != 1 for v in vectors):
        raise NoRule
    count, batch, shape = len(vectors), tr.batch, tuple(expected[0].shape)
    grids = []
    for index, vector in enumerate(vectors):
        element = (1,) * index + (shape[index],) + (1,) * (count - index - 1)

        def grid(x: Tensor, element: tuple[int, ...] = element) -> Tensor:
            lead = x.shape[:batch]
            return x.reshape(*lead, *element).expand(*lead, *shape)

        grids.append(tr.emit(grid, vector.reg))
    return grids
