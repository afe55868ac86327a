"""Folds in stages against functions that are applied one element after the other."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
import torch
from torch import Tensor

from sim_helpers import F32, data, fn, runtime
from stepcore.findings.errors import SimError
from stepcore.fn.decl import FnDecl
from stepcore.sim.data import TensorData
from stepcore.sim.fnvec import FnRuntimeError, Stages
from stepcore.sim.runtime import RuntimeImpl
from stepcore.types import Buffer, STuple

INF = float("inf")
ROW = Buffer(F32, [4])
TWO = STuple((F32, F32))

RUNNING = fn(  # the states of an online softmax
    "top = torch.maximum(state[0], input[0])\nreturn [top, (input[0] - top).exp(), (state[0] - top).exp()]",
    F32, STuple((F32, F32, F32)), (-INF, 0, 0),
)  # fmt: skip
ATTEND = fn(  # a whole one: maximum, denominator, weighted sum
    "top = torch.maximum(state[0], input[0])\n"
    "old, new = torch.exp(state[0] - top), torch.exp(input[0] - top)\n"
    "return [top, state[1] * old + new, state[2] * old + input[1] * new]",
    STuple((F32, ROW)), STuple((F32, F32, ROW)), (-INF, 0, 0),
)  # fmt: skip
DECAY = fn("return [state[0] * torch.sigmoid(input[0]) + input[0] * input[0]]", F32, F32, (1,))
SWAP = fn("return [state[1], state[0] + input[0]]", F32, TWO, (1, -1))
ROTATE = fn("return [state[1], state[0]]", F32, TWO, (1, 0))
BEFORE = fn("return [input[0], state[0]]", F32, TWO, (-1, 0))  # a delay by one position
KEPT = fn("return [state[0], state[0] + input[0]]", F32, TWO, (1, 0))
SAME = fn("top = torch.maximum(state[0], input[0])\nreturn [top, top]", F32, TWO, (0, 0))
CONSTANT = fn("return [torch.ones(4), state[1] * 0.5 + input[0]]", F32, STuple((ROW, F32)), (0, 0))
EXTREMES = fn(
    "return [torch.minimum(state[0], input[0]), state[1] - input[0], state[2] * input[0], state[2] * state[1]]",
    F32, STuple((F32, F32, F32, F32)), (INF, 0, 1, 0),
)  # fmt: skip
BRANCH = fn("kept = state[0] if input[0] > state[0] else -state[0]\nreturn [kept + input[0] * 2]", F32, F32, (1,))
MATRIX = fn("return [torch.tanh(torch.outer(state[0], input[0]) @ input[0].exp())]", ROW, ROW, (1,))
STAGED = [RUNNING, ATTEND, DECAY, BEFORE, KEPT, SAME, CONSTANT, EXTREMES, BRANCH, MATRIX]
NAMES = ["running", "attend", "decay", "before", "kept", "same", "constant", "extremes", "branch", "matrix"]
WHOLLY_SEQUENTIAL = fn("return [state[0] * 0.5 + input[0]]", F32, F32, (1,))
IN_PLACE = fn("fresh = state[0].clone()\nfresh[0] = input[0][1]\nreturn [fresh * input[0].exp()]", ROW, ROW, (1,))


def stream_for(decl: FnDecl, sizes: Sequence[int], seed: int = 0) -> TensorData:
    """Random elements that ``decl`` takes."""
    items = decl.input.items if isinstance(decl.input, STuple) else (decl.input,)
    parts = [data(sizes, item, (4,) if item == ROW else (), seed + i) for i, item in enumerate(items)]
    return TensorData(tuple(sizes), decl.input, [part.components[0] for part in parts])


def literally(rt: RuntimeImpl, decl: FnDecl, stream: TensorData) -> list[Tensor]:
    """The states after each element of the innermost dimension of a stream with two, one element at a time."""
    compiled = rt.unit(decl).fn
    values = stream.dense()
    rows = []
    for outer in range(stream.sizes[1]):
        state, column = compiled.init(), []
        for inner in range(stream.sizes[0]):
            state = compiled.plain([*state, *(value[outer, inner] for value in values)])
            column.append(state)
        rows.append([torch.stack(component) for component in zip(*column, strict=True)])
    return [torch.stack(component) for component in zip(*rows, strict=True)]


def staged(rt: RuntimeImpl, decl: FnDecl, batch: int = 2) -> Stages | None:
    found: Stages | None = rt.unit(decl).fn.stages(batch)
    return found


@pytest.mark.parametrize("decl", [*STAGED, SWAP, ROTATE], ids=[*NAMES, "swap", "rotate"])
@pytest.mark.parametrize("sizes", [(6, 3), (2, 1), (1, 2)], ids=str)
def test_like_one_element_at_a_time(decl: FnDecl, sizes: Sequence[int]) -> None:
    rt, stream = runtime(), stream_for(decl, sizes)
    wanted = literally(rt, decl, stream)
    for found, every in zip(rt.scan(decl, stream, 1).dense(), wanted, strict=True):
        torch.testing.assert_close(found, every)
    for found, every in zip(rt.fold(decl, stream, 1).dense(), wanted, strict=True):
        torch.testing.assert_close(found, every[:, -1])


@pytest.mark.parametrize("decl", STAGED, ids=NAMES)
def test_repeated_elements(decl: FnDecl) -> None:
    rt = runtime()
    for stream in (stream_for(decl, (3,)).insert_dim(0, 5), stream_for(decl, (5,)).insert_dim(1, 3)):
        wanted = literally(rt, decl, stream)
        for found, every in zip(rt.scan(decl, stream, 1).dense(), wanted, strict=True):
            torch.testing.assert_close(found, every)
        for found, every in zip(rt.fold(decl, stream, 1).dense(), wanted, strict=True):
            torch.testing.assert_close(found, every[:, -1])


@pytest.mark.parametrize("decl", STAGED, ids=NAMES)
def test_these_run_in_stages(decl: FnDecl) -> None:
    assert staged(runtime(), decl) is not None


@pytest.mark.parametrize("decl", [WHOLLY_SEQUENTIAL, ROTATE, IN_PLACE], ids=["sequential", "rotate", "in place"])
def test_these_gain_nothing_or_must_not(decl: FnDecl) -> None:
    rt, stream = runtime(), stream_for(decl, (4, 2))
    assert staged(rt, decl) is None
    for found, every in zip(rt.fold(decl, stream, 1).dense(), literally(rt, decl, stream), strict=True):
        torch.testing.assert_close(found, every[:, -1])


def test_only_what_reads_its_own_state_is_left_in_the_loop() -> None:
    stages = staged(runtime(), ATTEND)
    assert stages is not None
    top, denominator, total = stages.stages
    assert top.kind == "max" and top.loop is None and top.states_read
    assert denominator.loop is not None and [step.tag for step in denominator.loop] == ["mul", "add"]
    assert [step.tag for step in denominator.before].count("exp") == 2
    assert total.loop is not None and [step.tag for step in total.loop] == ["mul", "add"]
    assert "exp" not in [step.tag for step in total.before]


def test_nan_stays() -> None:
    rt, stream = runtime(), stream_for(RUNNING, (4, 2))
    stream.components[0][1, 2] = float("nan")
    for found, every in zip(rt.scan(RUNNING, stream, 1).dense(), literally(rt, RUNNING, stream), strict=True):
        torch.testing.assert_close(found, every, equal_nan=True)
        assert found[1, 2:].isnan().all() and not found[0].isnan().any()


def test_a_step_that_fails_is_reported_for_one_element() -> None:
    decl = fn("picked = input[1][input[0].long()]\nreturn [state[0] * 0.5 + picked]", STuple((F32, ROW)), F32, (0,))
    rt = runtime()
    index, rows = torch.zeros(2, 3), data((3, 2), ROW, (4,))
    good = TensorData((3, 2), decl.input, [index, *rows.components])
    torch.testing.assert_close(rt.fold(decl, good, 1).dense()[0], literally(rt, decl, good)[0][:, -1])
    bad = TensorData((3, 2), decl.input, [index + 9, *rows.components])
    with pytest.raises((SimError, FnRuntimeError), match="out of"):
        rt.fold(decl, bad, 1)


def test_an_element_of_another_shape_is_refused() -> None:
    stream = TensorData((3, 2), ROW, [torch.zeros(2, 3, 5)])
    with pytest.raises(FnRuntimeError) as caught:
        runtime().fold(MATRIX, stream, 1)
    assert caught.value.code == "STEP306"
