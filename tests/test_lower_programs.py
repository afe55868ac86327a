"""Programs for functions of all kinds: verified, streaming, elementwise, and right by the slow interpreter too."""

from __future__ import annotations

import ast
from functools import cache
from typing import Any

import pytest
import torch
from ruamel.yaml import YAML

from lower_cases import CASES, run
from lower_trace import data_of, trace
from oracle import OracleTask, dense
from oracle.tasks import _prepared  # runs on data that a test lays out
from stepagents.lower.search import Lowering, VerifiedProgram
from stepcore.sim.layout import laid_out
from stepcore.sim.sources import Sources
from valid_graphs import assert_valid

BY_NAME = {case[0]: case for case in CASES}
# One of each way to lower: all of CASES take too long for every run, see lower_cases.
CHOSEN = [
    "act_relu6", "softmax", "softmax_dim1of3", "mm_ta", "bmm", "mean1", "min1", "argmax1", "sum_all", "var",
    "logsumexp", "batchnorm", "groupnorm", "layernorm1", "maxpool1d", "avgpool2d_nopad", "conv1d_dil",
    "conv2d_group", "convt1d_s", "cumsum_rev", "cumsum_mid", "cross_entropy", "attention_causal", "onehot",
    "adv_index", "topk", "scatter", "cat", "reshape", "flip", "repeat", "upsample", "bilinear_up", "reflect_pad",
    "mlp", "conv_relu_pool", "relu_convt", "linear_layernorm", "int_max", "zeros_out", "identity", "two_out",
    "same_twice", "scalar_in", "half",
]  # fmt: skip
LITERAL = ["softmax", "groupnorm", "conv1d_dil", "conv2d_group", "mlp", "linear_layernorm", "scalar_in"]
# What is not elementwise: none of it belongs into a generated body, where a fold or an index does it.
FORBIDDEN = {
    "sum",
    "mean",
    "matmul",
    "mm",
    "softmax",
    "amax",
    "max_pool2d",
    "conv2d",
    "einsum",
    "gather",
    "cumsum",
    "sort",
}


@cache
def lowered(name: str) -> Lowering:
    return run(BY_NAME[name])


@pytest.mark.parametrize("name", CHOSEN)
def test_a_verified_program_comes_out(name: str) -> None:
    found = lowered(name)
    assert found.candidates, found.unsupported or found.rejected
    assert not found.rejected  # every plan is right: verification is a net, not a filter
    scores = [candidate.score for candidate in found.candidates]
    assert scores == sorted(scores)


@pytest.mark.parametrize("name", CHOSEN)
def test_bodies_are_elementwise_on_small_tiles(name: str) -> None:
    for candidate in lowered(name).candidates:
        for fn in candidate.emitted.spec.fns:
            calls = [
                node.func
                for node in ast.walk(ast.parse(_as_function(fn.body.source.text)))
                if isinstance(node, ast.Call)
            ]
            assert not FORBIDDEN & {call.attr for call in calls if isinstance(call, ast.Attribute)}
        sizes = [part for port in candidate.emitted.spec.inputs for part in _tile(port.type.element)]
        assert all(size <= 16 for size in sizes)


@pytest.mark.parametrize("name", ["softmax", "layernorm1", "attention_causal", "conv_relu_pool", "mlp", "batchnorm"])
def test_little_is_kept_on_the_chip(name: str) -> None:
    degree = lowered(name).candidates[0].metrics.streaming_degree
    assert degree is not None
    assert degree > 0.8


@pytest.mark.parametrize("name", LITERAL)
def test_the_slow_interpreter_agrees(name: str) -> None:
    _, make, inputs = BY_NAME[name]
    args = inputs()
    traced = trace(make(), args, name)
    data = data_of(traced, args)
    for candidate in lowered(name).candidates:
        assert_valid(candidate.checked)
        expected = data.results(data.tensors)
        for layout, stream, result in zip(
            candidate.emitted.outputs, _literally(candidate, data.tensors), expected, strict=True
        ):
            (value,) = dense(stream)
            torch.testing.assert_close(value, laid_out(layout, result, tuple(value.shape), {}))


def test_a_wrong_program_does_not_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    from stepagents.lower.aten import calls as aten
    from stepagents.lower.aten import folds as aten_folds

    def wrong(call: aten.Call) -> aten.Results:
        return aten_folds.unary("({0} + 0.001)", aten_folds.add_up(call), "wrong")  # type: ignore[arg-type]

    monkeypatch.setitem(aten.HANDLERS, "sum", wrong)
    found = run(BY_NAME["sum1"])
    assert not found.candidates
    assert "differs at" in found.rejected[0]


def test_what_cannot_be_lowered_is_said() -> None:
    found = run(BY_NAME["fft"])
    assert not found.candidates
    (item,) = found.unsupported
    assert item.operation == "aten._fft_r2c"
    assert item.advice


def test_a_softmax_is_online_and_its_input_waits_in_a_buffer() -> None:
    shared = [
        candidate
        for candidate in lowered("softmax").candidates
        if candidate.plan is not None and candidate.plan.style.share
    ]
    assert shared
    text = shared[0].emitted.impl
    assert text.count("step.Accum") == 1
    assert "step.Copy()" in text
    assert "step.Bufferize(a=1)" in text
    assert len(shared[0].emitted.inputs) == 1


def test_a_padded_convolution_reads_windows_of_a_padded_tensor() -> None:
    layouts = {layout.source: layout for layout in lowered("conv1d_dil").candidates[0].emitted.inputs}
    assert any("pad" in layout.text() for layout in layouts.values())


def _literally(candidate: VerifiedProgram, tensors: Any) -> list[Any]:
    """Run the program by the oracle on laid-out data."""
    spec = YAML(typ="safe", pure=True).load(candidate.task.source.text)
    run_ = _prepared(OracleTask("lowered", spec), {}, 42, torch.float32)
    given = {name: [tensor] for name, tensor in tensors.items()}
    streams = Sources(candidate.emitted.spec, {}, torch.float32, given).streams
    for port, (data,) in zip(candidate.emitted.spec.inputs, streams, strict=True):
        run_.packed[port.name] = data
    found: list[Any] = run_.program(candidate.emitted.impl, [])
    return found


def _as_function(body: str) -> str:
    return "def f():\n" + "".join(f"    {line}\n" for line in body.split("\n"))


def _tile(element: Any) -> list[int]:
    return [size.constant for size in getattr(element, "shape", ())]
