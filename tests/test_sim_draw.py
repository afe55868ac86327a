"""Test data: shapes, order of draws, and selectors."""

from __future__ import annotations

import pytest
import torch

from stepcore.dims import E, K, M, N
from stepcore.findings.errors import SimError
from stepcore.graph.ir import Port
from stepcore.sim.draw import draw
from stepcore.sim.dtypes import torch_dtype
from stepcore.types import Buffer, Multihot, Scalar, StreamType, STuple, as_shape

F32 = Scalar("fp32")
SIZES = {"M": 5, "N": 7, "K": 9, "E": 4}


def test_shape_is_outermost_first() -> None:
    port = Port("E0", StreamType(Buffer(Multihot(F32, E), [K]), as_shape((M, N))), "binary")
    (tensor,) = draw(port, SIZES, torch.float32)
    assert tensor.shape == (7, 5, 9, 4)
    assert tensor.dtype == torch.float32
    assert set(tensor.flatten().tolist()) == {0.0, 1.0}


def test_same_numbers_as_the_published_generator() -> None:
    port = Port("E0", StreamType(STuple((F32, Buffer(F32, [2]))), as_shape((3,))), "torch.randn")
    torch.manual_seed(42)
    first, second = torch.randn(3), torch.randn(3, 2)
    torch.manual_seed(42)
    found = draw(port, {}, torch.float64)
    assert torch.equal(found[0], first.double())
    assert torch.equal(found[1], second.double())


def test_generators() -> None:
    sizes = StreamType(F32, as_shape((200,)))
    assert torch.equal(draw(Port("a", sizes, "torch.ones"), {}, torch.float32)[0], torch.ones(200))
    uniform = draw(Port("a", sizes, "torch.rand"), {}, torch.float32)[0]
    assert 0 <= float(uniform.min()) < float(uniform.max()) < 1
    assert float(draw(Port("a", sizes), {}, torch.float32)[0].min()) < 0


@pytest.mark.parametrize("least, most", [(0, 2), (1, 1), (2, 3), (None, None), (3, None)])
def test_selectors_have_as_many_ones_as_declared(least: int | None, most: int | None) -> None:
    port = Port("E1", StreamType(Multihot(F32, E), as_shape((200,))), None, least, most)
    (tensor,) = draw(port, SIZES, torch.float32)
    counts = set(tensor.sum(-1).long().tolist())
    assert counts == set(range(least or 0, (4 if most is None else most) + 1))
    assert set(tensor.flatten().tolist()) <= {0.0, 1.0}


@pytest.mark.parametrize("name, dtype", [("int32", torch.int32), ("int64", torch.int64), ("bool", torch.bool)])
def test_other_scalars(name: str, dtype: torch.dtype) -> None:
    (tensor,) = draw(Port("a", StreamType(Scalar(name), as_shape((50,)))), {}, torch.float32)
    assert tensor.dtype == dtype
    assert len(set(tensor.tolist())) > 1


def test_fp64_runs_compute_every_float_in_fp64() -> None:
    assert torch_dtype("bf16", torch.float32) == torch.bfloat16
    assert torch_dtype("bf16", torch.float64) == torch.float64
    assert torch_dtype("int32", torch.float64) == torch.int32


def test_unknown_generator() -> None:
    with pytest.raises(SimError) as caught:
        draw(Port("a", StreamType(F32, as_shape((2,))), "torch.load"), {}, torch.float32)
    assert caught.value.code == "STEP907"
