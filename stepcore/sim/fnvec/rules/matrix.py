"""Batching rules of matrix products. Operands keep their compressed batch dimensions, see ``contract``."""

from __future__ import annotations

import string
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import torch

from stepcore.sim.fnvec.batch import common_batch, common_shape
from stepcore.sim.fnvec.contract import Product, contract
from stepcore.sim.fnvec.errors import NoRule
from stepcore.sim.fnvec.names import Operation
from stepcore.sim.fnvec.record import has_traced
from stepcore.sim.fnvec.rules.join import batched, bind
from stepcore.sim.fnvec.rules.pointwise import pointwise, remember
from stepcore.sim.fnvec.tape import TV, Reg, Tensor
from stepcore.sim.fnvec.trace import Tracer, rule


def _rank(value: Any) -> int:
    if type(value) is TV:
        return value.rank
    if isinstance(value, torch.Tensor):
        return value.dim()
    raise NoRule


@rule("matmul", "mm", "mv", "dot", "bmm", "vdot", "inner", "linalg.multi_dot", "chain_matmul")
def matmul(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """Products of vectors and matrices, told apart by the ranks of the elements."""
    if len(args) != 2 or kwargs:
        raise NoRule
    a, b = args
    ranks = (_rank(a), _rank(b))
    if op.name.removeprefix("aten.") == "inner" and ranks != (1, 1):
        raise NoRule
    if max(ranks) > 2:
        return _high(tr, a, b, ranks)
    if 0 in ranks:
        raise NoRule
    product = _aligned(tr, a, b, ranks)
    value = tr.wrap(_direct(tr, a, b, ranks, product), expected)
    remember(tr, value, product)
    return value


def _aligned(tr: Tracer, a: Any, b: Any, ranks: tuple[int, int]) -> Callable[[], Product]:
    """Return the product as factors of equal rank, summed over one dimension."""

    def build() -> Product:
        match ranks:
            case (1, 1):
                return Product(_reg(a), _reg(b), 1, (-1,))
            case (1, 2):  # k, kn -> n
                return Product(_insert(tr, a, -1), _reg(b), 2, (-2,))
            case (2, 1):  # mk, k -> m
                return Product(_reg(a), _insert(tr, b, -2), 2, (-1,))
            case _:  # mk, kn -> mn
                return Product(_insert(tr, a, -1), _insert(tr, b, -3), 3, (-2,))

    return build


def _reg(value: Any) -> Any:
    return value.reg if type(value) is TV else value


def _insert(tr: Tracer, value: Any, dim: int) -> Any:
    return tr.emit(torch.unsqueeze, value.reg, dim) if type(value) is TV else value.unsqueeze(dim)


def _direct(tr: Tracer, a: Any, b: Any, ranks: tuple[int, int], product: Callable[[], Product]) -> Reg:
    batch = tr.batch
    if type(a) is TV and type(b) is TV:
        factors = product()
        dims = factors.dims
        plain = _same_batch_product(ranks)

        def both(x: Tensor, y: Tensor, left: Tensor, right: Tensor) -> Tensor:
            if x.shape[:batch] == y.shape[:batch]:
                return plain(x, y)
            return contract(left, right, dims)

        if ranks == (1, 1):
            return tr.emit(contract, a.reg, b.reg, dims)
        return tr.emit(both, a.reg, b.reg, factors.left, factors.right)
    if type(b) is TV and ranks[1] == 1:
        # W @ x for a constant W: x of every position is a row of one product
        return tr.emit(torch.matmul, b.reg, a.mT if ranks[0] == 2 else a)
    if type(b) is TV and ranks[0] == 1:
        return tr.emit(lambda x, y: torch.matmul(x.unsqueeze(0), y).squeeze(-2), a, b.reg)
    return tr.emit(torch.matmul, _reg(a), _reg(b))


def _same_batch_product(ranks: tuple[int, int]) -> Callable[[Tensor, Tensor], Tensor]:
    match ranks:
        case (1, 2):
            return lambda x, y: torch.matmul(x.unsqueeze(-2), y).squeeze(-2)
        case (2, 1):
            return lambda x, y: torch.matmul(x, y.unsqueeze(-1)).squeeze(-1)
        case _:
            return torch.matmul


def _high(tr: Tracer, a: Any, b: Any, ranks: tuple[int, int]) -> Reg:
    """Elements that hold several matrices; their own batch dimensions broadcast too."""
    if min(ranks) < 2:
        raise NoRule
    rank = max(ranks)

    def widen(value: Any, have: int) -> Any:
        return tr.lift_reg(value.reg, have, rank) if type(value) is TV else value

    return tr.emit(torch.matmul, widen(a, ranks[0]), widen(b, ranks[1]))


@rule("outer", "kron")
def outer(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """Outer product of two vectors."""
    if op.name.removeprefix("aten.") != "outer" or len(args) != 2 or kwargs:
        raise NoRule
    left, right = _insert(tr, args[0], -1), _insert(tr, args[1], -2)
    value = tr.wrap(tr.emit(torch.mul, left, right), expected)
    if expected.is_floating_point():
        remember(tr, value, lambda: Product(left, right, 2))
    return value


@rule("linear")
def linear(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """``x @ W.T + b`` with constant weights; batched weights go through the product of matrices."""
    p = bind(("self", "weight", "bias"), args, kwargs)
    value, weight, bias = p["self"], p["weight"], p.get("bias")
    if type(value) is not TV or has_traced((weight, bias)) or value.rank == 0 or weight.dim() != 2:
        raise NoRule
    return tr.emit(op.plain, value.reg, weight, bias)


@rule("addmm", "addmv", "addr", "baddbmm")
def add_product(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Any:
    """``beta * x + alpha * (a @ b)``."""
    p = bind(("self", "a", "b", "beta", "alpha"), args, {k: v for k, v in kwargs.items() if k in ("beta", "alpha")})
    if len(kwargs) != len([k for k in kwargs if k in ("beta", "alpha")]):
        raise NoRule
    name = "outer" if op.name.removeprefix("aten.") == "addr" else "matmul"
    function = torch.outer if name == "outer" else torch.matmul
    product = tr.call(Operation(name, function), (p["a"], p["b"]), {})
    if p.get("alpha", 1) != 1:
        product = tr.binary("mul", product, p["alpha"])
    if p.get("beta", 1) == 0:
        raise NoRule  # beta = 0 ignores NaN in x
    base = p["self"] if p.get("beta", 1) == 1 else tr.binary("mul", p["self"], p["beta"])
    return pointwise(tr, Operation("add", torch.add), (base, product), {}, expected)


@rule("trace")
def trace(tr: Tracer, _op: Operation, args: Sequence[Any], _kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Sum of a diagonal."""
    return tr.emit(lambda x: torch.diagonal(x, 0, -2, -1).sum(-1), args[0].reg)


@rule("cross")
def cross(tr: Tracer, _op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Cross product of vectors of three."""
    if expected.dim() != 1 or kwargs or len(args) != 2:
        raise NoRule
    return tr.emit(torch.linalg.cross, _reg(args[0]), _reg(args[1]))


@rule("vecdot")
def vecdot(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Inner products along the last dimension."""
    if kwargs or len(args) != 2:
        raise NoRule
    rank = expected.dim() + 1
    return tr.emit(contract, tr.lift(args[0], rank), tr.lift(args[1], rank), (-1,))


@rule("scaled_dot_product_attention")
def attention(tr: Tracer, op: Operation, args: Sequence[Any], kwargs: dict[str, Any], _expected: Any) -> Reg:
    """Leading dimensions are independent of each other."""
    if len(args) != 3 or has_traced(kwargs.values()) or len({_rank(a) for a in args}) != 1:
        raise NoRule
    batch, plain = tr.batch, op.plain
    parts = [batched(tr, a) for a in args]
    return tr.emit(lambda *ts: plain(*common_batch(ts, batch), **kwargs), *parts)


@rule("einsum")
def einsum(tr: Tracer, _op: Operation, args: Sequence[Any], kwargs: dict[str, Any], expected: Any) -> Reg:
    """Extends the equation by the batch dimensions in which an operand is not of size 1."""
    equation = args[0]
    operands = args[1] if len(args) == 2 and isinstance(args[1], list | tuple) else args[1:]
    if not isinstance(equation, str) or "." in equation:
        raise NoRule
    text = equation.replace(" ", "")
    left, arrow, out = text.partition("->")
    terms = left.split(",")
    if not arrow:
        out = "".join(sorted(c for c in set(left) - {","} if left.count(c) == 1))
    free = [c for c in string.ascii_letters if c not in text]
    if len(free) < tr.batch or len(terms) != len(operands):
        raise NoRule
    letters = "".join(free[: tr.batch])
    traced = tuple(type(o) is TV for o in operands)
    batch = tr.batch

    def run(*tensors: Tensor) -> Tensor:
        pairs = zip(tensors, traced, strict=True)
        shapes = tuple(tuple(t.shape[:batch]) if is_batched else None for t, is_batched in pairs)
        full_equation, lead = _extended(tuple(terms), out, letters, shapes)
        squeezed = [_squeeze(t, s) for t, s in zip(tensors, shapes, strict=True)]
        result: Tensor = torch.einsum(full_equation, squeezed)
        return result.reshape(*lead, *result.shape[result.dim() - len(out) :])

    return tr.emit(run, *[_reg(o) for o in operands])


def _squeeze(tensor: Tensor, lead: tuple[int, ...] | None) -> Tensor:
    if lead is None or 1 not in lead:
        return tensor
    return tensor.reshape(*(size for size in lead if size != 1), *tensor.shape[len(lead) :])


@lru_cache(maxsize=1024)
def _extended(
    terms: tuple[str, ...], out: str, letters: str, shapes: tuple[tuple[int, ...] | None, ...]
) -> tuple[str, tuple[int, ...]]:
    lead = common_shape(shape for shape in shapes if shape is not None)
    inputs = []
    for term, shape in zip(terms, shapes, strict=True):
        used = "" if shape is None else "".join(c for c, size in zip(letters, shape, strict=True) if size != 1)
        inputs.append(used + term)
    kept = "".join(c for c, size in zip(letters, lead, strict=True) if size != 1)
    return ",".join(inputs) + "->" + kept + out, lead
