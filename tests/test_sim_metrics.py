"""Costs of programs, by the definitions of the language."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from sim_tasks import ROUTED, TASK, Bed
from stepcore.costs.metrics import Metrics, measure
from stepcore.dims import K, M, N
from stepcore.fn.decl import FnDecl
from stepcore.fn.shapes.inference import FnCost, fn_cost
from stepcore.sizes.dim import Dim

MATRIX = """
inputs:
- {name: E0, dtype: fp32, dims: [K, M], data_gen: torch.randn}
parameters:
- {name: W, dtype: fp32, dims: [N, K], data_gen: torch.randn}
fns:
- name: Layer
  func_name: fn_layer
  input_dtype: "Buffer(fp32, [K])"
  output_dtype: "Buffer(fp32, [N])"
  apply: |
    return [input[0] @ input_data['W']]
outputs:
- name: S0
  dtype: "Buffer(fp32, [N])"
  dims: [M]
  data_transform:
  - |
    input_data['E0'] @ input_data['W']
"""


def metrics(impl: str, text: str = TASK, **dims: int) -> Metrics:
    bed = Bed(text)
    checked = bed.check(impl)
    assert bed.session.verify(checked).shape.ok
    return measure(checked.spec, checked.typed, {**checked.spec.bindings(), **dims})


def test_streams_traffic_and_accumulator() -> None:
    found = metrics("E1 = step.Map(fn=fn_twice).apply(E0)\nreturn step.Accum(fn=fn_sum, b=1).apply(E1)")
    first = found.streams[0]
    assert (first.elements.symbolic, first.elements.value) == (M * N, 35)
    assert (first.element_bytes.value, first.bytes.value) == (4, 140)
    # Input, the parameter of one number, output.
    assert found.off_chip.symbolic == 4 * M * N + 4 + 4 * N
    assert found.off_chip.value == 140 + 4 + 28
    # Load and store keep two elements each, the accumulator one.
    assert [node.on_chip.value for node in found.nodes] == [0, 4]
    assert found.on_chip.value == 8 + 8 + 4
    assert found.streaming_degree == pytest.approx(1 - 4 / (4 * (64 * 64 + 64)))


def test_operations() -> None:
    found = metrics("E1 = step.Map(fn=fn_twice).apply(E0)\nreturn step.Accum(fn=fn_sum, b=1).apply(E1)")
    assert found.nodes[1].flops.symbolic == M * N
    assert found.flops.symbolic is not None
    assert found.flops.value == sum(node.flops.value or 0 for node in found.nodes)
    assert found.intensity == pytest.approx((found.flops.value or 0) / 172)


def test_a_function_that_many_operators_apply_is_looked_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    looked: list[str] = []

    def counted(fn: FnDecl, *more: Any) -> FnCost:
        looked.append(fn.func_name)
        return fn_cost(fn, *more)

    monkeypatch.setattr("stepcore.costs.metrics.fn_cost", counted)
    twice = "E1 = E0\nfor _ in range(3):\n  E1 = step.Map(fn=fn_twice).apply(E1)\n"
    found = metrics(f"{twice}return step.Accum(fn=fn_sum, b=1).apply(E1)")
    assert [node.flops.value for node in found.nodes] == [70, 70, 70, 35]
    assert looked == ["fn_twice", "fn_sum"]


def test_buffers_and_matrix_products() -> None:
    found = metrics("E1 = step.Bufferize(a=1).apply(E0)\nreturn step.Map(fn=fn_layer).apply(E1)", MATRIX)
    bufferize, layer = found.nodes
    assert bufferize.on_chip.symbolic == 4 + 2 * K * 4
    assert layer.on_chip.symbolic == 16 * K * 4 + 4 * K * N
    assert layer.flops.symbolic == 2 * M * K * N


def test_free_sizes_count_at_least_64_for_the_streaming_degree() -> None:
    impl = "E1 = step.Bufferize(a=1).apply(E0)\nreturn step.Map(fn=fn_layer).apply(E1)"
    ends = 4 * 64 * 64 * 2
    assert metrics(impl, MATRIX).streaming_degree == pytest.approx(1 - (4 + 8 * 64) / ends)
    ends = 4 * (100 * 64 + 64 * 64)
    assert metrics(impl, MATRIX, K=100).streaming_degree == pytest.approx(1 - (4 + 8 * 100) / ends)


def test_sizes_that_only_data_decide_stay_open() -> None:
    bed = Bed(ROUTED)
    checked = bed.check(
        "E2, E3 = step.Copy().apply(E1)\n"
        "A, B = step.Partition(N=2).apply((E0, E2))\n"
        "return step.Merge(fn=fn_take).apply(([A, B], E3))"
    )
    found = measure(checked.spec, checked.typed)
    merge = found.nodes[-1]
    assert merge.flops.symbolic == Dim.symbol("#(E1, 0)") + Dim.symbol("#(E1, 1)")
    assert merge.flops.value is None
    assert found.flops.value is None
    assert found.intensity is None
    run = bed.session.run(checked.typed, keep=True)
    after = measure(checked.spec, checked.typed, measured=run.measured_sizes(checked.typed))
    assert after.nodes[-1].flops.value == 5


@pytest.mark.parametrize(
    ("body", "each"),
    [
        ("torch.where(input[0] > 0, input[0], float('-inf'))", 2),
        ("torch.maximum(input[0], torch.full_like(input[0], float('-inf')))", 1),
        ("input[0] / len(input)", 1),
        ("abs(input[0]) * float(2)", 2),
    ],
)
def test_numbers_that_builtins_make_cost_nothing(body: str, each: int) -> None:
    text = MATRIX.replace("input[0] @ input_data['W']", body).replace('output_dtype: "Buffer(fp32, [N])"', "KIND", 1)
    text = text.replace("KIND", 'output_dtype: "Buffer(fp32, [K])"')
    bed = Bed(text)
    checked = bed.check("return step.Map(fn=fn_layer).apply(step.Bufferize(a=1).apply(E0))")
    found = measure(checked.spec, checked.typed, checked.spec.bindings())
    assert found.nodes[1].flops.symbolic == each * M * K
    assert found.nodes[1].on_chip.value == 0
    assert found.on_chip.value is not None


def test_unknown_work_is_not_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepcore.costs.metrics.fn_cost", lambda decl, scope, parameters: FnCost(None, ()))
    found = metrics("return step.Accum(fn=fn_sum, b=1).apply(E0)")
    assert found.nodes[0].flops.symbolic is None
    assert found.flops.value is None
    assert found.intensity is None
    assert found.on_chip.value is None
    assert found.off_chip.value is not None


def test_metrics_and_bounds_need_no_torch() -> None:
    modules = "costs.bounds", "costs.metrics", "costs.policy", "costs.sizes", "findings.errors", "findings.verdict"
    code = f"import sys, {', '.join(f'stepcore.{name}' for name in modules)}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


TWICE = """
inputs:
- {name: E0, dtype: fp32, dims: [N, M], data_gen: torch.randn, layout: "x[M]: read [i0]"}
- {name: E1, dtype: fp32, dims: [N, M], data_gen: torch.randn, layout: "x[M]: read [i0]"}
- {name: E2, dtype: fp32, dims: [N, M], layout: "ones[M, N]"}
fns:
- name: Join
  func_name: fn_join
  input_dtype: [fp32, fp32, fp32]
  output_dtype: fp32
  apply: |
    return [input[0] + input[1] + input[2]]
outputs:
- name: S0
  dtype: fp32
  dims: [N, M]
  data_transform:
  - |
    input_data['x'][:, None] * 2 + torch.ones(M, N)
"""


def test_compulsory_traffic_counts_each_tensor_once() -> None:
    found = metrics("return step.Map(fn=fn_join).apply((E0, E1, E2))", TWICE)
    assert found.off_chip.symbolic == 16 * M * N
    assert found.compulsory.symbolic == 4 * M + 4 * M * N
    assert found.traffic_ratio == pytest.approx(16 * 35 / (4 * 5 + 4 * 35))


def test_of_a_tensor_that_is_read_in_part_the_part_is_compulsory() -> None:
    row = TWICE.replace('"x[M]: read [i0]"', '"x[M, N, 9]: read [i0, i1, 2]"')
    found = metrics("return step.Map(fn=fn_join).apply((E0, E1, E2))", row)
    assert found.compulsory.symbolic == 12 * M * N  # both streams may read other elements
    assert found.traffic_ratio == pytest.approx(16 / 12)


def test_without_layouts_all_traffic_is_compulsory() -> None:
    found = metrics("E1 = step.Map(fn=fn_twice).apply(E0)\nreturn step.Accum(fn=fn_sum, b=1).apply(E1)")
    assert found.compulsory == found.off_chip
    assert found.traffic_ratio == 1.0
