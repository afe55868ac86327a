"""Smallest programs for mistakes that the property tests have found, each of them mended since."""

from __future__ import annotations

import pytest

from programs.running import (
    PATH,
    assert_same_types,
    assert_same_values,
    check,
    errors,
    run_library,
    run_oracle,
    tiny_limits,
)
from stepcore.check import fix_text

TASK = """\
test_name: found
global: |
  M_value = 8
  ctx[M] = M_value
inputs:
- {{name: E0, dtype: fp32, dims: [M], data_gen: torch.randn}}
- {{name: E1, dtype: fp32, dims: [M], data_gen: torch.randn}}
fns:
- name: halve
  func_name: halve
  input_dtype: fp32
  output_dtype: fp32
  apply: return [input[0] / 2]
- name: step_up
  func_name: step_up
  input_dtype: fp32
  output_dtype: fp32
  apply: return [input[0] + torch.where(input[0] > 0, 0.1, 0.2)]
- name: subtract
  func_name: subtract
  input_dtype: [fp32, fp32]
  output_dtype: fp32
  apply: return [input[0] - input[1]]
outputs:
- {{name: S0, dtype: {dtype}, dims: {dims}, data_transform: [torch.zeros(1)]}}
impl: |
{impl}
"""


def task(impl: str, dims: str = "[M]", dtype: str = "fp32") -> str:
    """A task file around a body."""
    return TASK.format(impl="".join(f"  {line}\n" for line in impl.splitlines()), dims=dims, dtype=dtype)


def assert_agrees(text: str) -> None:
    """The checker accepts it, the simulator agrees with the oracle."""
    used = run_oracle(text).used
    result, checked = check(text)
    assert errors(result.diagnostics) == []
    assert_same_types(checked, used)
    assert_same_values(run_library(checked), used)
    with tiny_limits():
        assert_same_values(run_library(checked), used)


def assert_mended(body: str) -> None:
    """All fixes together leave no finding, and the results as they were."""
    text = task(body)
    fixed = fix_text(text, PATH)
    assert fixed != text
    assert errors(check(fixed)[0].diagnostics) == [], fixed
    assert_same_values([run_library(check(fixed)[1])[-1]], run_oracle(text).used[-1:])


def test_a_quotient_of_a_quotient_equals_itself_as_declared() -> None:
    impl = """\
E2 = step.Flatten(L=[1]).apply(step.Repeat(n=M).apply(E0))
E3 = step.Reshape(S=2, L=[0]).apply(E2)
E4 = step.Reshape(S=2, L=[1]).apply(E3)
return E4"""
    assert_agrees(task(impl, "[2, 2, ((M*M)//2)//2]"))


def test_a_stream_zipped_with_its_copy_keeps_both_components() -> None:
    impl = """\
E2 = step.Map(fn=halve).apply(E0)
E3, E4 = step.Copy().apply(E2)
E5, E6 = step.Copy().apply(step.Zip().apply((E3, E4)))
E7 = step.Map(fn=subtract).apply(E5)
step.Identity().apply(E6)
return E7"""
    assert_agrees(task(impl))
    # The zip alone, after its input was computed.
    impl = "E3, E4 = step.Copy().apply(E0)\nE5 = step.Zip().apply((E3, E4))\nreturn step.Identity().apply(E5)"
    assert_agrees(task(impl, dtype="[fp32, fp32]").replace("[torch.zeros(1)]", "[torch.zeros(1), torch.zeros(1)]"))


def test_constants_in_a_where_have_the_precision_of_the_run() -> None:
    # Twice, because a function is recorded at its first call and replayed at the second.
    assert_agrees(task("return step.Map(fn=step_up).apply(step.Map(fn=step_up).apply(E0))"))


@pytest.mark.parametrize(
    "body",
    [
        # Rewriting the helper's body for the call with one stream twice would break the other call.
        """\
def helper(a, b):
    return step.Map(fn=subtract).apply((a, b))
E2 = helper(E0, E0)
E3 = helper(E2, E1)
return E3""",
        # The loop is widened and a clause goes behind it, both at the same place in the text.
        """\
L = [step.Map(fn=f).apply(E0) for i in range(2) for f in [halve, halve]]
return L[3]""",
    ],
)
def test_a_fix_keeps_what_the_program_computes(body: str) -> None:
    assert_mended(body)
