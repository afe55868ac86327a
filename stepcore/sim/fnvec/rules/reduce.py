"""Batching rules of reductions and of other operations along one dimension."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from stepcore.sim.fnvec.contract import contract
from stepcore.sim.fnvec.errors import NoRule
from stepcore.sim.fnvec.names import Operation
from stepcore.sim.fnvec.record import has_traced
from stepcore.sim.fnvec.rules.join import bind, negative
from stepcore.sim.fnvec.rules.pointwise import pointwise
from stepcore.sim.fnvec.rules.view import reshaped
from stepcore.sim.fnvec.tape import TV, Reg
from stepcore.sim.fnvec.trace import Tracer, rule


@dataclass(frozen=True, slots=True)
class _Reduction:
    """Signature after the tensor; whether several dimensions at once are possible; whether a number stays itself."""

    names: tuple[str, ...]
    several: bool = False
    identity: bool = False


_DIM = ("dim", "keepdim")
_REDUCTIONS = {
    "sum": _Reduction((*_DIM, "dtype"), several=True, identity=True),
    "nansum": _Reduction((*_DIM, "dtype"), several=True),
    "mean": _Reduction((*_DIM, "dtype"), several=True, identity=True),
    "nanmean": _Reduction((*_DIM, "dtype"), several=True),
    "amax": _Reduction(_DIM, several=True, identity=True),
    "amin": _Reduction(_DIM, several=True, identity=True),
    "logsumexp": _Reduction(_DIM, several=True),
    "all": _Reduction(_DIM, several=True),
    "any": _Reduction(_DIM, several=True),
    "count_nonzero": _Reduction(("dim",), several=True),
    "prod": _Reduction((*_DIM, "dtype"), identity=True),
    "argmax": _Reduction(_DIM),
    "argmin": _Reduction(_DIM),
    "linalg.vector_norm": _Reduction(("ord", *_DIM, "dtype"), several=True),
}


@rule(*_REDUCTIONS)
def reduction(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """Reduce over element dimensions only; all of them where none is named."""
    name = op.name.removeprefix("aten.")
    spec = _REDUCTIONS[name]
    value = args[0]
    p = _parameters(spec, args, kwargs)
    if type(value) is not TV or has_traced(p.values()):
        raise NoRule
    dim = p.pop("dim", None)
    rank = value.rank
    if rank == 0:
        if spec.identity and value.probe.dtype == expected.dtype:
            return value.reg
        raise NoRule
    reg = value.reg
    if dim is None or dim in ((), []):
        dims: tuple[int, ...] = tuple(range(-rank, 0))
        if not spec.several and rank > 1:
            reg, dims = reshaped(tr, reg, (value.probe.numel(),)), (-1,)
    else:
        dims = tuple(negative(d, rank) for d in (dim if isinstance(dim, list | tuple) else (dim,)))
    if name == "sum" and not p.get("dtype") and value.product is not None:
        fused = _sum_of_product(tr, value, dims, bool(p.get("keepdim")))
        if fused is not None:
            return fused
    p["dim"] = dims if spec.several else dims[0]
    return tr.emit(_torch(name), reg, **p)


def _torch(name: str) -> Any:
    return torch.linalg.vector_norm if name == "linalg.vector_norm" else getattr(torch, name)


def _parameters(spec: _Reduction, args: Sequence[Any], kwargs: dict[str, Any]) -> dict[str, Any]:
    rest = list(args[1:])
    # x.sum(0, 1) names two dimensions
    if spec.several and len(rest) > 1 and all(type(r) is int for r in rest):
        rest = [tuple(rest)]
    return bind(spec.names, rest, kwargs)


def _sum_of_product(tr: Tracer, value: TV, dims: tuple[int, ...], keepdim: bool) -> Any:
    product = value.product() if value.product is not None else None
    if product is None or product.dims or keepdim:
        return None
    left, right = product.left, product.right
    reg = tr.emit(contract, left, right, dims)
    from stepcore.sim.fnvec.contract import Product
    from stepcore.sim.fnvec.rules.pointwise import remember

    shape = [size for i, size in enumerate(value.probe.shape) if i - value.rank not in dims]
    result = tr.wrap(reg, value.probe.sum(dims))
    if list(result.probe.shape) == shape:
        remember(tr, result, lambda: Product(left, right, product.rank, dims))
    return result


@rule("max", "min")
def extreme(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """Of two tensors, of all values, or along one dimension with indices."""
    name = op.name.removeprefix("aten.")
    second = args[1] if len(args) > 1 else kwargs.get("other")
    if isinstance(second, TV | torch.Tensor):
        return pointwise(tr, op, args, kwargs, expected)
    if isinstance(expected, tuple):
        return along(tr, op, args, kwargs, expected)
    return reduction(tr, Operation(f"a{name}", op.plain), args, kwargs, expected)


@rule("std", "var")
def spread(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Standard deviation and variance, with ``unbiased`` or ``correction``."""
    value = args[0]
    kwargs = dict(kwargs)
    rest = list(args[1:])
    if rest and isinstance(rest[0], bool):
        kwargs["unbiased"] = rest.pop(0)
    p = bind(("dim", "unbiased", "keepdim", "correction"), rest, kwargs)
    if type(value) is not TV or value.rank == 0:
        raise NoRule
    correction = p.get("correction", 1 if p.get("unbiased", True) else 0)
    dim = p.get("dim")
    dims = tuple(range(-value.rank, 0)) if dim is None else dim if isinstance(dim, list | tuple) else (dim,)
    dims = tuple(negative(d, value.rank) for d in dims)
    return tr.emit(_torch(op.name), value.reg, dim=dims, correction=correction, keepdim=bool(p.get("keepdim")))


@rule("norm", "linalg.norm")
def norm(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Vector norms; matrix norms other than the Euclidean one have no rule."""
    p = bind(("self", "p" if op.name == "norm" else "ord", "dim", "keepdim", "dtype"), args, kwargs)
    value, order, dim = p["self"], p.get("p", p.get("ord")), p.get("dim")
    if type(value) is not TV or value.rank == 0:
        raise NoRule
    if order in (None, "fro"):
        order = 2
    elif isinstance(order, str) or (op.name == "linalg.norm" and (value.rank > 1 and not isinstance(dim, int))):
        raise NoRule
    dims = tuple(range(-value.rank, 0)) if dim is None else dim if isinstance(dim, list | tuple) else (dim,)
    dims = tuple(negative(d, value.rank) for d in dims)
    return tr.emit(torch.linalg.vector_norm, value.reg, float(order), dims, bool(p.get("keepdim", False)))


_ALONG: dict[str, tuple[tuple[str, ...], Any]] = {
    # name -> (signature after the tensor, default dimension; "all" for the flattened element)
    "max": (("dim", "keepdim"), None), "min": (("dim", "keepdim"), None),
    "softmax": (("dim", "_stacklevel", "dtype"), None), "log_softmax": (("dim", "_stacklevel", "dtype"), None),
    "softmin": (("dim", "_stacklevel", "dtype"), None),
    "cumsum": (("dim", "dtype"), None), "cumprod": (("dim", "dtype"), None), "logcumsumexp": (("dim",), None),
    "cummax": (("dim",), None), "cummin": (("dim",), None), "glu": (("dim",), -1),
    "sort": (("dim", "descending", "stable"), -1), "argsort": (("dim", "descending", "stable"), -1),
    "topk": (("k", "dim", "largest", "sorted"), -1), "kthvalue": (("k", "dim", "keepdim"), -1),
    "median": (("dim", "keepdim"), "all"), "mode": (("dim", "keepdim"), -1),
}  # fmt: skip


@rule(*(name for name in _ALONG if name not in ("max", "min")))
def along(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """Operations along one element dimension."""
    name = op.name.removeprefix("aten.").removeprefix("special.")
    names, default = _ALONG[name]
    value, rest = args[0], list(args[1:])
    if name in ("softmax", "log_softmax") and len(rest) == 2 and isinstance(rest[1], torch.dtype):
        kwargs = {**kwargs, "dtype": rest.pop()}  # torch.softmax(x, dim, dtype)
    if name == "sort" and len(rest) == 1 and isinstance(rest[0], bool):
        raise NoRule
    p = bind(names, rest, kwargs)
    p.pop("_stacklevel", None)
    if type(value) is not TV or value.rank == 0 or has_traced(p.values()):
        raise NoRule
    reg, rank = value.reg, value.rank
    dim = p.pop("dim", default)
    if dim == "all":
        if rank > 1:
            reg, rank = reshaped(tr, reg, (value.probe.numel(),)), 1
        reg_out = tr.emit(lambda x: torch.median(x, -1).values, reg)
        return reg_out
    p["dim"] = negative(dim, rank)
    function = getattr(torch, name) if hasattr(torch, name) else getattr(torch.nn.functional, name)
    if isinstance(expected, torch.Tensor):
        return tr.emit(function, reg, **p)
    return tr.emit_many(function, reg, **p)


@rule("nn.Softmax", "nn.LogSoftmax", "nn.Softmin")
def softmax_module(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """Helper objects with a dimension."""
    module: Any = op.plain
    if module.dim is None or kwargs:
        raise NoRule
    name = {"nn.Softmax": "softmax", "nn.LogSoftmax": "log_softmax", "nn.Softmin": "softmin"}[op.name]
    return along(tr, Operation(name, op.plain), (args[0], module.dim), {}, expected)


@rule("normalize")
def normalize(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """``torch.nn.functional.normalize``: its dimension is 1 unless given."""
    p = bind(("self", "p", "dim", "eps"), args, kwargs)
    value = p.pop("self")
    if type(value) is not TV or has_traced(p.values()):
        raise NoRule
    p["dim"] = negative(p.get("dim", 1), value.rank)
    return tr.emit(op.plain, value.reg, **p)


@rule("cosine_similarity")
def cosine_similarity(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Along dimension 1 unless given."""
    p = bind(("x1", "x2", "dim", "eps"), args, kwargs)
    rank = expected.dim() + 1
    left, right = tr.lift(p["x1"], rank), tr.lift(p["x2"], rank)
    return tr.emit(op.plain, left, right, dim=negative(p.get("dim", 1), rank), eps=p.get("eps", 1e-8))


@rule("layer_norm", "rms_norm")
def trailing_norm(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Normalization over trailing dimensions: batch dimensions in front are no concern of it."""
    if type(args[0]) is not TV or has_traced(args[1:]) or has_traced(kwargs.values()):
        raise NoRule
    return tr.emit(op.plain, args[0].reg, *args[1:], **kwargs)


@rule("nn.LayerNorm", "nn.RMSNorm", "nn.Linear", "nn.Embedding")
def trailing_module(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Helper objects that work on trailing dimensions."""
    if len(args) != 1 or kwargs:
        raise NoRule
    return tr.emit(op.plain, args[0].reg)


@rule("nn.Sequential")
def sequential(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Any:
    """One helper object after the other."""
    value = args[0]
    for module in list(op.plain):  # type: ignore[call-overload]
        value = tr.module(module, (value,), {})
    return value
