"""Layouts of inputs and outputs: what is read, what is refused, and that both forms of programs keep them."""

from __future__ import annotations

import pytest
import torch

from stepcore.check import check_text
from stepcore.conversion.to_python import task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.findings.errors import SimError
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.ir import reference_ports
from stepcore.graph.layouts import LayoutError, input_layout, output_layout
from stepcore.sim.functional import Session
from stepcore.sim.layout import generated, laid_out, put_together
from stepcore.sim.layout import read as read_layout
from stepcore.sizes.dim import DimError

SIZES = {"m": 3, "k": 4}
X = torch.arange(12.0).reshape(3, 4)

TASK = """\
test_name: smoothed
global: |
  m = Symbol("m")
  m_value = 5
  ctx[m] = m_value
inputs:
- {name: E0, dtype: fp32, dims: [K, m], data_gen: torch.randn, layout: "x[K, m]: read [i1, i0]"}
- {name: E1, dtype: fp32, dims: [3, K, m], data_gen: torch.randn, layout: "x[K, m]: pad [(1, 1), (0, 0)] with 0; read [i1 + i2, i0]"}
fns:
- name: Sum
  func_name: fn_sum
  init: [0]
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [state[0] + input[0]]
- name: Add
  func_name: fn_add
  input_dtype: [fp32, fp32]
  output_dtype: fp32
  apply: |
    return [input[0] + input[1]]
outputs:
- name: S0
  dtype: fp32
  dims: [K, m]
  layout: "permute [1, 0]; merge [1, 1]"
  data_transform:
  - |
    x = input_data['x']
    padded = torch.nn.functional.pad(x, (0, 0, 1, 1))
    x + padded[2:] + padded[1:-1] + padded[:-2]
impl: |-
  E2 = step.Accum(fn=fn_sum, b=1).apply(E1)
  E3 = step.Map(fn=fn_add).apply((E0, E2))
  return E3
"""  # noqa: E501


def read(text: str, shape: tuple[int, ...]) -> torch.Tensor:
    layout = input_layout(text)
    assert [size.bind(SIZES) for size in layout.sizes] == [3, 4]
    return read_layout(layout, X, shape, SIZES)


def test_permutations_repetitions_and_windows() -> None:
    assert torch.equal(read("x[m, k]", (3, 4)), X)
    assert torch.equal(read("x[m, k]: read [i1, i0]", (4, 3)), X.T)
    assert torch.equal(read("x[m, k]: read [i0, i2]", (3, 2, 4)), X[:, None].expand(3, 2, 4))
    windows = X[:, [0, 2, 1, 3]].reshape(3, 2, 2)
    assert torch.equal(read("x[m, k]: read [i0, i1 + 2*i2]", (3, 2, 2)), windows)
    assert torch.equal(read("x[m, k]: read [2 - i0, k - 1 - i1]", (3, 4)), X.flip(0, 1))
    assert torch.equal(read("x[m, k]: pad [(1, 0), (0, 2)] with -inf; read [i0, i1]", (4, 6))[1:, :4], X)
    assert read("x[m, k]: pad [(1, 0), (0, 2)] with -inf; read [i0, i1]", (4, 6))[0, 0] == float("-inf")
    assert read("x[m, k]: pad [(0, 1), ((k + 1)//2, 0)] with 1; read [i0, i1]", (4, 6))[0].tolist() == [
        1,
        1,
        0,
        1,
        2,
        3,
    ]
    stuffed = read("x[m, k]: stuff [1, 2]; read [i0, i1]", (3, 7))
    assert torch.equal(stuffed[:, ::2], X)
    assert not stuffed[:, 1::2].any()


def test_tensors_that_nobody_provides() -> None:
    positions = input_layout("arange[k]: read [i1]")
    assert positions.is_generated
    assert generated(positions, [4], torch.int64).tolist() == [0, 1, 2, 3]
    constant = input_layout("mask[2, 2]: values [1, 0, 1, 1]; read [i1, i0]")
    assert constant.is_generated
    values = generated(constant, [2, 2], torch.float32)
    assert read_layout(constant, values, (2, 2), {}).tolist() == [[1, 1], [0, 1]]


def test_an_output_is_taken_back() -> None:
    result = torch.arange(24.0).reshape(2, 12)
    layout = output_layout("permute [1, 0, 2]; merge [1, 2]")
    stream = laid_out(layout, result, (3, 2, 4), {})
    assert stream.shape == (3, 2, 4)
    assert torch.equal(stream.permute(1, 0, 2).reshape(2, 12), result)


def test_a_part_of_an_output_is_taken_and_the_rest_is_zero_on_the_way_back() -> None:
    layout = output_layout("permute [1, 0, 2]; merge [1, 2]; take [m - 1, 2*k - 1]")
    stream = torch.arange(24.0).reshape(4, 3, 2)
    whole = stream.permute(1, 0, 2).reshape(3, 8)
    result = put_together(layout, stream, SIZES)
    assert torch.equal(result, whole[:2, :7])
    again = laid_out(layout, result, (4, 3, 2), SIZES)
    assert torch.equal(put_together(layout, again, SIZES), result)
    assert again.sum() == result.sum()
    with pytest.raises(LayoutError, match=r"it takes \[4, 7\] of a tensor of the shape \[3, 8\]"):
        put_together(layout, stream, {"m": 5, "k": 4})
    with pytest.raises(DimError, match="has no value"):
        put_together(layout, stream, {"m": 3})


def test_a_program_computes_more_than_its_result() -> None:
    """The host leaves out the last row, in which the program has zeros."""
    more = TASK.replace(
        'dims: [K, m], data_gen: torch.randn, layout: "x[K, m]: read',
        'dims: [K, m + 1], data_gen: torch.randn, layout: "x[K, m]: pad [(0, 0), (0, 1)] with 0; read',
    )
    more = more.replace("dims: [3, K, m]", "dims: [3, K, m + 1]").replace(
        "pad [(1, 1), (0, 0)]", "pad [(1, 1), (0, 1)]"
    )
    more = more.replace("  dims: [K, m]\n", "  dims: [K, m + 1]\n").replace("merge [1, 1]", "merge [1, 1]; take [K, m]")
    assert accepted(more)
    assert not accepted(more.replace("take [K, m]", "take [K, m + 1]"))  # the reference gives no such row
    assert not accepted(more.replace("(0, 1)] with 0; read [i1, i0]", "(0, 1)] with 1; read [i1, i0]"))


@pytest.mark.parametrize(
    "text",
    [
        "x[m, k]",
        "x[m, 2*k + 1]: read [i1, i0]",
        "ones[m]",
        "mask[2, 2]: values [1, 0.25, -3, inf]; read [i1, i0]",
        "x[m, k]: stuff [1, 2]; pad [(m - 1, 0), (1, 2*k)] with -inf; read [2*i1 - 1*i0 + m - 1, (m - 1)*i2]",
        "x[m, k]: pad [(0, 0), (1, 1)] with 0.1; read [3, 0]",
        "permute [1, 0, 2]; merge [1, 2]",
        "permute [1, 0]; merge [1, 1]; take [m - 1, 2*k - 1]",
    ],
)
def test_a_layout_is_written_as_it_is_read(text: str) -> None:
    if text.startswith("permute"):
        assert output_layout(text).text() == text
    else:
        assert input_layout(text).text() == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "write the sizes"),
        ("x", "write the sizes"),
        ("x[m]: turn [i0]", "no clause"),
        ("x[m]: read [i0, i1]", "needs as many items"),
        ("x[m]: read [i0 ** 2]", "no affine expression"),
        ("x[m]: read [open('f')]", "no affine expression"),
        ("x[m, k]: read [i0 * i1, i1]", "no affine expression"),
        ("x[m]: read [i0 // 2]", "no affine expression"),
        ("x[m]: stuff [m]; read [i0]", "more than integers"),
        ("x[m]: pad [1]; read [i0]", "no pair"),
        ("x[m]: pad [(0, 1)] with none; read [i0]", "no number"),
    ],
)
def test_what_cannot_be_read(text: str, words: str) -> None:
    with pytest.raises(LayoutError, match=words):
        input_layout(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "merge [1]",
        "permute [0, 0]; merge [1, 1]",
        "permute [0]; merge [2]",
        "take [m]",
        "permute [0]; merge [1]; take [m, k]",
        "permute [0]; merge [1]; take [i0]",
        "permute [0]; merge [1]; take [open('f')]",
        "permute [0]; merge [1]; read [i0]",
    ],
)
def test_output_layouts_that_cannot_be_read(text: str) -> None:
    with pytest.raises(LayoutError):
        output_layout(text)


def test_a_read_outside_of_the_tensor_is_said() -> None:
    with pytest.raises(LayoutError, match=r"dimension 1 from 1 to 4; it has 4 elements"):
        read("x[m, k]: read [i0, i1 + 1]", (3, 4))
    task = read_task(TASK.replace("read [i1 + i2, i0]", "read [i1 + 2*i2, i0]"), "smoothed.step.yaml")
    assert task.spec is not None
    with pytest.raises(SimError, match="dimension 0 from 0 to 12") as caught:
        Session(task.spec)
    assert caught.value.code == "STEP907"


def accepted(text: str) -> bool:
    from stepcore.check import ImplChecker

    task = read_task(text, "smoothed.step.yaml")
    assert task.spec is not None
    assert task.impl is not None
    return Session(task.spec).verify(ImplChecker(task).check(task.impl.source)).accepted


def test_streams_of_one_tensor_read_the_same_data() -> None:
    assert accepted(TASK)
    assert not accepted(TASK.replace("read [i1 + i2, i0]", "read [i1, i0]"))
    assert not accepted(TASK.replace('layout: "x[K, m]: read [i1, i0]"', 'layout: "y[K, m]: read [i1, i0]"'))


def test_layouts_survive_both_ways_of_conversion() -> None:
    python = task_to_python(read_task(TASK, "smoothed.step.yaml"))
    module = read_module(python, "smoothed.py")
    spec = module.programs[0].spec
    assert [port.layout and port.layout.text() for port in spec.inputs] == [
        "x[K, m]: read [i1, i0]",
        "x[K, m]: pad [(1, 1), (0, 0)] with 0; read [i1 + i2, i0]",
    ]
    assert [port.name for port in reference_ports(spec)] == ["x"]
    assert spec.outputs is not None
    assert spec.outputs[0].layout is not None
    assert spec.outputs[0].layout.text() == "permute [1, 0]; merge [1, 1]"
    again = python_to_task(module, module.programs[0])
    assert accepted(again)


def test_a_script_verifies_with_layouts() -> None:
    namespace: dict[str, object] = {}
    python = task_to_python(read_task(TASK, "smoothed.step.yaml"))
    exec(compile(python, "smoothed.py", "exec", dont_inherit=True), namespace)
    program = namespace["smoothed"]
    assert program.verify().accepted  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("was", "now", "code"),
    [
        ("read [i1, i0]", "read [i1 * i0, i0]", "STEP907"),
        ("permute [1, 0]", "permute [1, 1]", "STEP907"),
        ('"E0": "x', '"E9": "x', "STEP905"),
        ('"S0": ', '"S1": ', "STEP905"),
        ('"S0": "permute [1, 0]; merge [1, 1]"', '"S0": 5', "STEP907"),
    ],
)
def test_layouts_of_python_files_are_checked_while_one_types(was: str, now: str, code: str) -> None:
    python = task_to_python(read_task(TASK, "smoothed.step.yaml"))
    assert was in python
    assert not [item for item in check_text(python, "smoothed.py").diagnostics if item.code == code]
    changed = python.replace(was, now, 1)
    (found,) = [item for item in check_text(changed, "smoothed.py").diagnostics if item.code == code]
    line = changed[changed.rfind("\n", 0, found.span.start) : found.span.end]
    assert now.split(":", maxsplit=1)[0].strip('"') in line


def test_layouts_belong_to_streams_of_scalars() -> None:
    tuples = TASK.replace("dtype: fp32", "dtype: [fp32, fp32]", 1)
    (found,) = [item for item in check_text(tuples, "smoothed.step.yaml").diagnostics if item.code == "STEP907"]
    assert "only streams of scalars" in found.message and tuples[found.span.start :].startswith('"x[')
    python = task_to_python(read_task(TASK, "smoothed.step.yaml"))
    lost = python.replace("E0: Annotated[step.Stream, step.f32,", "E0: Annotated[step.Stream, (step.f32, step.f32),", 1)
    assert lost != python
    assert "STEP907" in {item.code for item in check_text(lost, "smoothed.py").diagnostics}
