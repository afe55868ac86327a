"""Batching rules of indexing, gathering and scattering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from stepcore.sim.fnvec.batch import common_batch
from stepcore.sim.fnvec.errors import EvaluationRefused, NoRule
from stepcore.sim.fnvec.machine import index_list
from stepcore.sim.fnvec.names import Operation
from stepcore.sim.fnvec.record import has_traced, probe_of
from stepcore.sim.fnvec.rules.join import batched, bind, negative
from stepcore.sim.fnvec.rules.view import reshaped
from stepcore.sim.fnvec.tape import TV, Reg, Tensor
from stepcore.sim.fnvec.trace import INDEXING, Tracer, rule


def _parts(index: Any) -> tuple[Any, ...]:
    parts = index if isinstance(index, tuple) else (index,)
    return tuple(torch.tensor(index_list(p)) if isinstance(p, list) and not has_traced(p) else p for p in parts)


def _is_basic(part: Any) -> bool:
    return part is None or part is Ellipsis or isinstance(part, slice) or type(part) is int


def get_item(tr: Tracer, base: Any, index: Any) -> Any:
    """Return ``base[index]`` where either is batched."""
    parts = _parts(index)
    expected = probe_of(base)[tuple(probe_of(part) for part in parts)]
    if type(base) is TV and all(_is_basic(part) for part in parts):
        if _has_traced_slice(parts):
            raise NoRule
        return tr.wrap(_basic(tr, base, parts), expected)
    if has_traced([part for part in parts if isinstance(part, slice)]):
        raise NoRule
    dim, mark = _single(parts, probe_of(base).dim())
    if type(mark) is not TV:
        if type(base) is not TV or not _contiguous(parts):
            raise NoRule
        prefix = (slice(None),) * tr.batch
        return tr.wrap(tr.emit(lambda x: x[(*prefix, *parts)], base.reg), expected)
    if mark.probe.dtype in (torch.bool, torch.uint8) or mark.probe.is_floating_point():
        raise NoRule
    return tr.wrap(_take(tr, base, mark, dim), expected)


def _has_traced_slice(parts: Sequence[Any]) -> bool:
    return has_traced(part for part in parts if isinstance(part, slice))


def _basic(tr: Tracer, base: TV, parts: tuple[Any, ...]) -> Reg:
    batch = tr.batch
    if len(parts) == 1:
        part = parts[0]
        if type(part) is int:
            return tr.emit(torch.select, base.reg, batch, part)
        if isinstance(part, slice) and part.step in (None, 1):
            start, stop, _ = part.indices(base.probe.shape[0])
            return tr.emit(torch.narrow, base.reg, batch, start, max(stop - start, 0))
    full = (*(slice(None),) * batch, *parts)
    return tr.emit(lambda x: x[full], base.reg)


def _contiguous(parts: tuple[Any, ...]) -> bool:
    """Return whether torch leaves the dimension of tensor indices in place (numbers count as tensors then)."""
    advanced = [i for i, part in enumerate(parts) if type(part) is int or isinstance(part, torch.Tensor)]
    masks = [p for p in parts if isinstance(p, torch.Tensor) and p.dtype == torch.bool]
    known = all(_is_basic(p) or isinstance(p, torch.Tensor) for p in parts)
    return known and not (masks and len(advanced) > 1) and advanced == list(range(advanced[0], advanced[-1] + 1))


def _single(parts: tuple[Any, ...], rank: int) -> tuple[int, Any]:
    """Return dimension and value of the one index that is a tensor; all others must be full slices.

    Where a constant tensor index stands, only that it exists is told: its dimension is not needed.
    """
    tensors = [(i, part) for i, part in enumerate(parts) if isinstance(part, TV | torch.Tensor)]
    if not tensors:
        raise NoRule
    if not any(type(part) is TV for _, part in tensors):
        return 0, tensors[0][1]
    full = slice(None)
    if len(tensors) != 1 or any(p != full for p in parts if not isinstance(p, TV) and p is not Ellipsis):
        raise NoRule
    position, mark = tensors[0]
    if Ellipsis in [p for p in parts if not isinstance(p, TV)]:
        before = next(i for i, p in enumerate(parts) if p is Ellipsis) < position
        return (position - len(parts)) % rank if before else position, mark
    return position, mark


def _take(tr: Tracer, base: Any, mark: TV, dim: int) -> Reg:
    """Record ``base`` indexed by a batched integer tensor in element dimension ``dim`` (from the front)."""
    spread = mark.rank
    if type(base) is not TV:
        table = base.movedim(dim, 0)
        batch = tr.batch

        def look_up(values: Tensor, index: Tensor) -> Tensor:
            found = values[index]  # batch, index dimensions, other dimensions
            if dim == 0:
                return found
            return found.movedim(tuple(range(batch, batch + spread)), tuple(range(batch + dim, batch + dim + spread)))

        return tr.emit(look_up, table, mark.reg)
    batch, rank = tr.batch, base.rank
    size = base.probe.shape[dim]
    axis = dim - rank
    shape = tuple(mark.probe.shape)

    def gather(x: Tensor, index: Tensor) -> Tensor:
        x, index = common_batch((x, index), batch)
        lead, element = x.shape[:batch], list(x.shape[batch:])
        index = torch.where(index < 0, index + size, index).reshape(*lead, -1)
        element[dim] = index.shape[-1]
        ones = [1] * rank
        ones[dim] = index.shape[-1]
        found = torch.gather(x, axis, index.reshape(*lead, *ones).expand(*lead, *element))
        return found.reshape(*lead, *element[:dim], *shape, *element[dim + 1 :])

    return tr.emit(gather, base.reg, mark.reg)


def set_item(tr: Tracer, base: TV, index: Any, value: Any) -> None:
    """Carry out ``base[index] = value`` on a tensor that the body made."""
    parts = _parts(index)
    tr.writable(base)
    plain_base, plain_index, plain_value = base.probe, probe_of(index), probe_of(value)

    def plain() -> None:
        plain_base[plain_index] = plain_value

    if all(_is_basic(part) for part in parts) and not _has_traced_slice(parts):
        view = tr.wrap(_basic(tr, base, parts), base.probe[plain_index])
        tr.write(view, value, plain)
        return
    if len(parts) == 1 and isinstance(parts[0], TV | torch.Tensor) and probe_of(parts[0]).dtype == torch.bool:
        _set_masked(tr, base, parts[0], value, plain)
        return
    _set_at(tr, base, parts, value, plain)


def _set_masked(tr: Tracer, base: TV, where: Any, value: Any, plain: Any) -> None:
    mask_rank = probe_of(where).dim()
    if isinstance(value, TV | torch.Tensor) and probe_of(value).dim():
        raise NoRule
    if probe_of(where).shape != base.probe.shape[:mask_rank]:
        raise EvaluationRefused("the mask has another shape than the tensor")
    shape = (*probe_of(where).shape, *(1,) * (base.rank - mask_rank))
    condition = reshaped(tr, where.reg, shape) if type(where) is TV else where.reshape(shape)
    new = tr.emit(torch.where, condition, tr.lift(value, base.rank), base.reg)
    after = torch.where(probe_of(where).reshape(shape), probe_of(value), base.probe)
    tr.write(base, tr.wrap(new, after.to(base.probe.dtype)), plain)


def _set_at(tr: Tracer, base: TV, parts: tuple[Any, ...], value: Any, plain: Any) -> None:
    dim, mark = _single(parts, base.rank)
    if type(mark) is not TV:
        if not _contiguous(parts) or len(parts) != 1 or mark.dtype == torch.bool or mark.dim() > 1:
            raise NoRule
    elif mark.rank > 1 or mark.probe.is_floating_point() or mark.probe.dtype in (torch.bool, torch.uint8):
        raise NoRule
    batch, rank, size = tr.batch, base.rank, base.probe.shape[dim]
    count = mark.probe.numel() if type(mark) is TV else mark.numel()
    region = list(base.probe.shape)
    region[dim] = count
    squeeze = (mark.rank if type(mark) is TV else mark.dim()) == 0
    value_rank = rank - 1 if squeeze else rank
    lifted = tr.lift(value, value_rank)
    if isinstance(lifted, torch.Tensor) and lifted.dim() > value_rank:
        raise NoRule

    def scatter(x: Tensor, index: Tensor, new: Any) -> Tensor:
        lead = x.shape[:batch]
        if not isinstance(new, torch.Tensor):
            new = torch.full((), new, dtype=x.dtype)
        elif squeeze:
            new = new.unsqueeze(dim - rank)
        index = torch.where(index < 0, index + size, index)
        ones = [1] * rank
        ones[dim] = count
        index = index.expand(*lead, *index.shape[batch:]).reshape(*lead, *ones).expand(*lead, *region)
        return x.scatter(dim - rank, index, new.to(x.dtype).expand(*lead, *region))

    index = mark.reg if type(mark) is TV else batched(tr, mark)
    new = tr.emit(scatter, base.reg, index, lifted)
    after = base.probe.clone()
    after[tuple(probe_of(part) for part in parts)] = probe_of(value)
    tr.write(base, tr.wrap(new, after), plain)


@rule("gather", "take_along_dim")
def gather(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Look up along an element dimension; both operands get the same batch shape."""
    name = op.name.removeprefix("aten.")
    p = bind(("self", "dim", "index") if name == "gather" else ("self", "index", "dim"), args, kwargs)
    rank = expected.dim()
    if p.get("dim") is None or rank == 0 or probe_of(p["self"]).dim() != rank:
        raise NoRule
    return _together(tr, getattr(torch, name), name, p["self"], negative(p["dim"], rank), p["index"])


def _together(tr: Tracer, function: Any, name: str, base: Any, dim: int, *others: Any) -> Reg:
    """Record ``function(base, dim, *others)`` after giving all tensors the same batch shape."""
    batch = tr.batch
    tensors = [batched(tr, base), *[batched(tr, o) if isinstance(o, TV | torch.Tensor) else None for o in others]]
    rest = [o for o, t in zip(others, tensors[1:], strict=True) if t is None]
    given = [t for t in tensors if t is not None]

    def run(*values: Tensor) -> Tensor:
        x, *more = common_batch(values, batch)
        if name == "take_along_dim":
            result: Tensor = function(x, *more, dim)
            return result
        result = function(x, dim, *more, *rest)
        return result

    return tr.emit(run, *given)


@rule("scatter", "scatter_add")
def scatter(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Write at indices along an element dimension, from a tensor or one number."""
    renamed = {("src" if k == "value" else k): v for k, v in kwargs.items()}
    p = bind(("self", "dim", "index", "src"), args, renamed)
    rank = expected.dim()
    source = p["src"]
    if rank == 0 or (isinstance(source, TV | torch.Tensor) and probe_of(source).dim() != rank):
        raise NoRule
    function = getattr(torch, op.name.removeprefix("aten."))
    return _together(tr, function, "scatter", p["self"], negative(p["dim"], rank), p["index"], source)


@rule("scatter_reduce")
def scatter_reduce(tr: Tracer, _op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """As ``scatter`` with a reduction of values that meet."""
    p = bind(("self", "dim", "index", "src", "reduce", "include_self"), args, kwargs)
    rank, reduce, include = expected.dim(), p["reduce"], p.get("include_self", True)
    if rank == 0:
        raise NoRule

    def function(x: Tensor, dim: int, index: Tensor, source: Tensor) -> Tensor:
        return torch.scatter_reduce(x, dim, index, source, reduce, include_self=include)

    return _together(tr, function, "scatter", p["self"], negative(p["dim"], rank), p["index"], p["src"])


@rule("index_select")
def index_select(tr: Tracer, _op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Pick along an element dimension."""
    p = bind(("self", "dim", "index"), args, kwargs)
    base, index = p["self"], p["index"]
    rank = probe_of(base).dim()
    if rank == 0 or probe_of(index).dim() != 1:
        raise NoRule
    if type(index) is TV:
        return _take(tr, base, index, negative(p["dim"], rank) + rank)
    return tr.emit(torch.index_select, base.reg, negative(p["dim"], rank), index)


@rule("index_add", "index_copy", "index_fill")
def index_write(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Write at constant indices along an element dimension."""
    renamed = {("source" if k == "value" else k): v for k, v in kwargs.items()}
    p = bind(("self", "dim", "index", "source"), args, renamed)
    rank, index = expected.dim(), p["index"]
    if type(index) is TV or rank == 0 or index.dim() != 1:
        raise NoRule
    dim, batch = negative(p["dim"], rank), tr.batch
    function = getattr(torch, op.name.removeprefix("aten."))
    if not isinstance(p["source"], TV | torch.Tensor):
        return tr.emit(function, batched(tr, p["self"]), dim, index, p["source"])
    if probe_of(p["source"]).dim() != rank:
        raise NoRule

    def run(x: Tensor, source: Tensor) -> Tensor:
        x, source = common_batch((x, source), batch)
        result: Tensor = function(x, dim, index, source)
        return result

    return tr.emit(run, batched(tr, p["self"]), batched(tr, p["source"]))


@rule("embedding")
def embedding(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Rows of a constant table."""
    if len(args) != 2 or kwargs or type(args[0]) is not TV or type(args[1]) is TV:
        raise NoRule
    return tr.emit(op.plain, args[0].reg, args[1])


@rule("take")
def take(tr: Tracer, _op: Operation, args: Sequence[Any], _kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Index into the flattened element."""
    base, index = args
    if type(index) is not TV:
        raise NoRule
    if type(base) is TV:
        flat = reshaped(tr, base.reg, (base.probe.numel(),)) if base.rank != 1 else base.reg
        return _take(tr, TV(flat, base.probe.reshape(-1), base.root), index, 0)
    return _take(tr, base.reshape(-1), index, 0)


@rule("searchsorted", "bucketize")
def search(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Places in a constant sorted vector."""
    first, second = args[0], args[1]
    values, bounds = (second, first) if op.name == "searchsorted" else (first, second)
    if type(bounds) is TV or bounds.dim() != 1 or has_traced(kwargs.values()) or len(args) != 2:
        raise NoRule
    operands = (bounds, values.reg) if op.name == "searchsorted" else (values.reg, bounds)
    return tr.emit(op.plain, *operands, **kwargs)


INDEXING.update({"get": get_item, "set": set_item})
