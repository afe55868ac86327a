"""Builders for simulator tests: element functions, streams with data, and runtimes with tiny thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from stepcore.costs.policy import POLICY
from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.sim.data import TensorData
from stepcore.sim.fnvec import FnEnv
from stepcore.sim.runtime import RuntimeImpl
from stepcore.text.span import Embedded
from stepcore.types import Element, Multihot, Scalar

F32 = Scalar("fp32")
SIZES = {"M": 5, "N": 7, "K": 9, "D": 16}


def fn(
    text: str, input: Element = F32, output: Element = F32, init: Sequence[float] | None = None, name: str = "fn_test"
) -> FnDecl:
    """A function whose body is ``text``."""
    arguments = ("input",) if init is None else ("state", "input")
    body = CodeBlock(Embedded.whole(text), arguments)
    return FnDecl(name, name, input, output, body, None if init is None else tuple(init))


def runtime(dtype: torch.dtype = torch.float32, **sizes: int) -> RuntimeImpl:
    """A runtime without parameters."""
    bindings = {**SIZES, **sizes}
    scope = FnScope(symbols=tuple(bindings))
    return RuntimeImpl(FnEnv(scope, bindings, {}, dtype), bindings)


def data(sizes: Sequence[int], element: Element = F32, shape: Sequence[int] = (), seed: int = 0) -> TensorData:
    """A stream of random numbers; ``shape`` is the tensor shape of one element."""
    generator = torch.Generator().manual_seed(seed)
    tensor = torch.randn(*reversed(sizes), *shape, generator=generator)
    return TensorData(tuple(sizes), element, [tensor])


def selector(rows: Sequence[Sequence[int]], sizes: Sequence[int] | None = None) -> TensorData:
    """A selector with these rows of bits, in stream order."""
    tensor = torch.tensor(rows, dtype=torch.float32)
    found = (len(rows),) if sizes is None else tuple(sizes)
    return TensorData(found, Multihot(F32, len(rows[0])), [tensor.reshape(*reversed(found), len(rows[0]))])


@contextmanager
def policy(**limits: int) -> Iterator[None]:
    """Set thresholds of the simulator for a while."""
    before = {name: getattr(POLICY, name) for name in limits}
    try:
        for name, value in limits.items():
            setattr(POLICY, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(POLICY, name, value)


def one(stream: Any) -> Tensor:
    """The only component of a stream, in full shape."""
    (tensor,) = stream.dense()
    result: Tensor = tensor
    return result
