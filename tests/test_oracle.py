"""The oracle itself, on cases small enough to be worked out by hand."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch

from oracle import (
    OPERATORS,
    Buffer,
    Element,
    Fn,
    Multihot,
    OracleError,
    OracleTask,
    Scalar,
    Stream,
    STuple,
    dense,
    literal_stream,
    load_task,
    run_task,
)

F = Scalar()
ADD = Fn(F, F, lambda state, item: [state[0] + item[0]], (0.0,))


def counting(sizes: Sequence[int], element: Element = F, start: int = 0) -> Stream:
    """A stream of one component whose numbers count from `start` in stream order."""
    assert not isinstance(element, STuple)
    shape = tuple(reversed(sizes)) + element.shape
    count = torch.Size(shape).numel()
    return literal_stream([torch.arange(start, start + count).float().reshape(shape)], sizes, element)


def select(rows: Any, sizes: Sequence[int]) -> Stream:
    """A selector stream out of nested lists of bits."""
    bits = torch.tensor(rows, dtype=torch.float32)
    return literal_stream([bits], sizes, Multihot(F, bits.shape[-1]))


def values(stream: Stream) -> Any:
    """The only component as nested lists."""
    (tensor,) = dense(stream)
    return tensor.tolist()


def run(operator: str, inputs: Any, **parameters: Any) -> Any:
    """One operator applied."""
    factory: Any = OPERATORS[operator]
    return factory(**parameters).apply(inputs)


def test_stream_order_is_innermost_fastest() -> None:
    stream = literal_stream([torch.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])], [3, 2], F)
    assert [item[0].item() for item in stream.items] == [1, 2, 3, 4, 5, 6]
    assert stream.sizes == (3, 2)
    assert values(stream) == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("element", "shape"),
    [
        (F, ()),
        (Buffer(F, [2, 3]), (3, 2)),
        (Multihot(F, 4), (4,)),
        (Buffer(Multihot(F, 4), [2, 3]), (3, 2, 4)),
    ],
)
def test_shape_of_an_element(element: Any, shape: tuple[int, ...]) -> None:
    assert element.shape == shape
    assert dense(counting([5, 6], element))[0].shape == (6, 5, *shape)


def test_types_are_structural() -> None:
    assert Buffer(F, [2, 3]) == Buffer(F, (2, 3))
    assert Buffer(F, [2, 3]) != Buffer(F, [3, 2])
    one: Element = STuple((F,))
    assert one != F


def test_map_of_a_tuple_zips_first() -> None:
    fn = Fn(STuple((F, F, F)), STuple((F, F)), lambda item: [item[0] + item[1], item[2]])
    pair = run("Zip", (counting([2]), counting([2], start=10)))
    result = run("Map", (pair, counting([2], start=5)), fn=fn)
    assert [tensor.tolist() for tensor in dense(result)] == [[10, 12], [5, 6]]


def test_accum_folds_the_innermost_dimensions() -> None:
    assert values(run("Accum", counting([2, 3]), fn=ADD, b=1)) == [1, 5, 9]
    assert values(run("Accum", counting([2, 2, 2]), fn=ADD, b=2)) == [6, 22]


def test_accum_folds_in_stream_order() -> None:
    horner = Fn(F, F, lambda state, item: [state[0] * 10 + item[0]], (0.0,))
    assert values(run("Accum", counting([2, 2, 1]), fn=horner, b=2)) == [123]
    assert values(run("Accum", counting([2, 2, 1], start=1), fn=horner, b=2)) == [1234]


def test_accum_takes_its_start_from_init() -> None:
    top = Fn(F, STuple((F, Buffer(F, [2]))), lambda s, x: [torch.maximum(s[0], x[0]), s[1] + x[0]], (-torch.inf, -1.0))
    maximum, buffer = dense(run("Accum", counting([2, 2], start=-9), fn=top, b=1))
    assert maximum.tolist() == [-8, -6]
    assert buffer.tolist() == [[-18, -18], [-14, -14]]


def test_scan_emits_every_state_and_restarts() -> None:
    assert values(run("Scan", counting([3, 2]), fn=ADD, b=1)) == [[0, 1, 3], [3, 7, 12]]
    assert values(run("Scan", counting([2, 2, 2]), fn=ADD, b=2)) == [[[0, 1], [3, 6]], [[4, 9], [15, 22]]]


def test_zip_joins_tuples_flat() -> None:
    ab = run("Zip", (counting([2]), counting([2], Buffer(F, [2]))))
    abc = run("Zip", (ab, counting([2], start=7)))
    assert abc.element == STuple((F, Buffer(F, [2]), F))
    assert [tensor.tolist() for tensor in dense(abc)] == [[0, 1], [[0, 1], [2, 3]], [7, 8]]


@pytest.mark.parametrize(
    ("b", "sizes", "nested"),
    [
        (0, (1, 2, 3), [[[0], [1]], [[2], [3]], [[4], [5]]]),
        (1, (2, 1, 3), [[[0, 1]], [[2, 3]], [[4, 5]]]),
        (2, (2, 3, 1), [[[0, 1], [2, 3], [4, 5]]]),
    ],
)
def test_promote_at_each_position(b: int, sizes: tuple[int, ...], nested: Any) -> None:
    result = run("Promote", counting([2, 3]), b=b)
    assert result.sizes == sizes
    assert values(result) == nested


@pytest.mark.parametrize(
    ("L", "sizes"),
    [([1], (6, 4, 5)), ([2], (2, 12, 5)), ([3], (2, 3, 20)), ([1, 2], (24, 5)), ([2, 3], (2, 60)), ([1, 2, 3], (120,))],
)
def test_flatten_keeps_the_order(L: list[int], sizes: tuple[int, ...]) -> None:
    result = run("Flatten", counting([2, 3, 4, 5]), L=L)
    assert result.sizes == sizes
    assert dense(result)[0].flatten().tolist() == list(range(120))


@pytest.mark.parametrize(
    ("S", "L", "sizes"),
    [(2, [0], (2, 2, 6)), (3, [1], (4, 3, 2)), (2, [0, 1], (2, 2, 2, 3)), (2, [1, 0], (2, 2, 2, 3))],
)
def test_reshape_puts_the_given_size_inside(S: int, L: list[int], sizes: tuple[int, ...]) -> None:
    result = run("Reshape", counting([4, 6]), S=S, L=L)
    assert result.sizes == sizes
    assert dense(result)[0].flatten().tolist() == list(range(24))


@pytest.mark.parametrize("operator", ["Repeat", "RepeatLast"])
def test_repeat_adds_an_innermost_dimension(operator: str) -> None:
    assert values(run(operator, counting([2]), n=3)) == [[0, 0, 0], [1, 1, 1]]


def test_repeat_of_a_selector() -> None:
    assert values(run("Repeat", select([[1, 0]], [1]), n=2)) == [[[1, 0], [1, 0]]]


def test_repeat_ref_takes_sizes_from_the_reference() -> None:
    result = run("RepeatRef", (counting([2, 2]), counting([3, 2, 2], Buffer(F, [1]))))
    assert result.element == F
    assert values(result) == [[[0] * 3, [1] * 3], [[2] * 3, [3] * 3]]


def test_bufferize() -> None:
    result = run("Bufferize", counting([2, 3, 4]), a=2)
    assert (result.sizes, result.element) == ((4,), Buffer(F, [2, 3]))
    assert values(result)[1] == [[6, 7], [8, 9], [10, 11]]


def test_bufferize_of_a_buffer_appends_sizes() -> None:
    result = run("Bufferize", counting([3, 4], Buffer(F, [2])), a=1)
    assert (result.sizes, result.element) == ((4,), Buffer(F, [2, 3]))
    assert values(result)[0] == [[0, 1], [2, 3], [4, 5]]


def test_buffers_of_selectors() -> None:
    stream = select([[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [1, 1, 0]]], [2, 2])
    buffers = run("Bufferize", stream, a=1)
    assert (buffers.sizes, buffers.element) == ((2,), Buffer(Multihot(F, 3), [2]))
    assert values(buffers)[1] == [[0, 0, 1], [1, 1, 0]]
    back = run("Streamify", buffers)
    assert (back.sizes, back.element) == ((2, 2), Multihot(F, 3))
    assert values(back) == values(stream)


def test_streamify_reads_all_sizes_of_a_buffer() -> None:
    result = run("Streamify", counting([4], Buffer(F, [2, 3])))
    assert (result.sizes, result.element) == ((2, 3, 4), F)
    assert dense(result)[0].flatten().tolist() == list(range(24))


def test_copy_and_identity_keep_tuples() -> None:
    pair = run("Zip", (counting([2]), counting([2], start=5)))
    for result in [*run("Copy", pair), run("Identity", pair)]:
        assert result is not pair
        assert (result.sizes, result.element) == (pair.sizes, pair.element)
        assert [tensor.tolist() for tensor in dense(result)] == [[0, 1], [5, 6]]


@pytest.mark.parametrize(
    ("operator", "parameters"), [("Promote", {"b": 1}), ("Flatten", {"L": [1]}), ("Reshape", {"S": 2, "L": [0]})]
)
def test_tuples_pass_through_views(operator: str, parameters: dict[str, Any]) -> None:
    pair = run("Zip", (counting([2, 3]), counting([2, 3], Buffer(F, [2]))))
    first, second = dense(run(operator, pair, **parameters))
    assert first.flatten().tolist() == list(range(6))
    assert second.flatten().tolist() == list(range(12))


def test_partition_with_an_empty_branch() -> None:
    branches = run("Partition", (counting([4]), select([[1, 0, 0], [1, 0, 1], [0, 0, 0], [0, 0, 1]], [4])), N=3)
    assert [branch.sizes for branch in branches] == [(2,), (0,), (2,)]
    assert [values(branch) for branch in branches] == [[0, 1], [], [1, 3]]


def test_partition_of_chunks() -> None:
    zero, one = run("Partition", (counting([2, 3]), select([[1, 0], [0, 1], [1, 0]], [3])), N=2)
    assert (zero.sizes, one.sizes) == ((2, 2), (2, 1))
    assert (values(zero), values(one)) == ([[0, 1], [4, 5]], [[2, 3]])


def test_partition_by_a_selector_of_higher_rank() -> None:
    bits = [[[1, 0], [0, 1]], [[2, 0], [1, -1]]]
    zero, one = run("Partition", (counting([3, 2, 2]), select(bits, [2, 2])), N=2)
    assert values(zero) == [[0, 1, 2], [6, 7, 8], [9, 10, 11]]
    assert values(one) == [[3, 4, 5], [9, 10, 11]]


def test_merge_folds_ascending_and_gives_zeros_for_none() -> None:
    horner = Fn(F, F, lambda state, item: [state[0] * 10 + item[0]], (-1.0,))
    branches = [counting([2], start=1), counting([2], start=5)]
    result = run("Merge", (branches, select([[0, 1], [1, 1], [0, 0], [1, 0]], [4])), fn=horner)
    # -10 + 5; (-10 + 1) * 10 + 6; nothing; -10 + 2
    assert values(result) == [-5, -84, 0, -8]


def test_merge_of_chunks_with_an_empty_branch() -> None:
    empty = literal_stream([torch.zeros(0, 2)], [2, 0], F)
    result = run("Merge", ([counting([2, 2]), empty], select([[1, 0], [0, 0], [1, 0]], [3])), fn=ADD)
    assert result.sizes == (2, 3)
    assert values(result) == [[0, 1], [0, 0], [2, 3]]


def test_merge_of_tuples_by_a_selector_of_rank_one() -> None:
    weigh = Fn(STuple((Buffer(F, [2]), F)), Buffer(F, [2]), lambda s, x: [s[0] + x[0] * x[1]], (0.0,))
    branch = run("Zip", (counting([3], Buffer(F, [2])), counting([3], start=1)))
    other = run("Zip", (counting([1], Buffer(F, [2]), start=10), counting([1], start=-1)))
    result = run("Merge", ([branch, other], select([[[1, 0], [1, 1]], [[0, 0], [1, 0]]], [2, 2])), fn=weigh)
    assert result.sizes == (2, 2)
    assert values(result) == [[[0, 1], [-6, -5]], [[0, 0], [12, 15]]]


def test_an_empty_branch_passes_every_operator() -> None:
    _, empty = run("Partition", (counting([2]), select([[1, 0], [1, 0]], [2])), N=2)
    promoted = run("Promote", empty, b=0)
    assert promoted.sizes == (1, 0)
    buffers = run("Bufferize", promoted, a=1)
    assert (buffers.sizes, values(buffers)) == ((0,), [])
    assert run("Streamify", buffers).sizes == (1, 0)
    assert run("Repeat", empty, n=3).sizes == (3, 0)
    assert values(run("Accum", counting([0, 1]), fn=ADD, b=1)) == [0], "an empty fold gives init"


@pytest.mark.parametrize(
    ("operator", "parameters"),
    [
        ("Accum", {"fn": ADD, "b": 0}),
        ("Accum", {"fn": ADD, "b": 2}),
        ("Scan", {"fn": ADD, "b": 2}),
        ("Map", {"fn": ADD}),
        ("Map", {"fn": Fn(Buffer(F, [1]), F, lambda item: [item[0][0]])}),
        ("Map", {"fn": Fn(F, Buffer(F, [2]), lambda item: [item[0]])}),
        ("Map", {"fn": Fn(F, F, lambda item: [item[0].double()])}),
        ("Promote", {"b": 3}),
        ("Flatten", {"L": [0]}),
        ("Flatten", {"L": [2]}),
        ("Flatten", {"L": []}),
        ("Reshape", {"S": 4, "L": [0]}),
        ("Reshape", {"S": 1, "L": [2]}),
        ("Bufferize", {"a": 0}),
        ("Bufferize", {"a": 2}),
        ("Streamify", {}),
        ("Repeat", {"n": 0}),
    ],
)
def test_broken_rules(operator: str, parameters: dict[str, Any]) -> None:
    with pytest.raises(OracleError):
        run(operator, counting([2, 3]), **parameters)


def test_broken_rules_of_two_inputs() -> None:
    bits = select([[1, 0], [1, 0]], [2])
    wrong: list[tuple[str, Any, dict[str, Any]]] = [
        ("Zip", (counting([2]), counting([3])), {}),
        ("Zip", (counting([2]), counting([2]), counting([2])), {}),
        ("RepeatRef", (counting([2]), counting([2])), {}),
        ("Partition", (counting([2]), bits), {"N": 3}),
        ("Partition", (counting([3]), bits), {"N": 2}),
        ("Partition", (counting([2]), counting([2])), {"N": 2}),
        ("Merge", ([counting([2])], bits), {"fn": ADD}),
        ("Merge", ([counting([1]), counting([1])], bits), {"fn": ADD}),
        ("Merge", ([counting([2]), counting([1])], bits), {"fn": ADD}),
        ("Merge", ([counting([1, 2]), counting([2, 1])], bits), {"fn": ADD}),
    ]
    for operator, inputs, parameters in wrong:
        with pytest.raises(OracleError):
            run(operator, inputs, **parameters)


TASK: dict[str, Any] = {
    "test_name": "doubled",
    "global": "E_value = 3\nctx[E] = E_value\nshift = torch.zeros(2)\n",
    "inputs": [
        {"name": "E0", "dtype": "Buffer(fp32, [E])", "dims": ["M", 1], "data_gen": "torch.randn"},
        {"name": "E1", "dtype": "Multihot(fp32, E)", "dims": ["N*M"], "min": 1, "max": 2},
    ],
    "parameters": [{"name": "W", "dtype": "fp32", "dims": ["E", "K"], "data_gen": "binary"}],
    "fns": [
        {
            "name": "Double",
            "func_name": "fn_double",
            "input_dtype": "Buffer(fp32, [E])",
            "output_dtype": "Buffer(fp32, [E])",
            "apply": "return [input[0] * 2.0]\n",
        }
    ],
    "outputs": [
        {
            "name": "S0",
            "dtype": "Buffer(fp32, [E])",
            "dims": ["M", 1],
            "data_transform": ["x = input_data['E0']\ny = x + x\n"],
        },
        {"name": "S1", "dtype": "Multihot(fp32, E)", "dims": ["M*N"], "data_transform": ["input_data['E1']\n"]},
    ],
    "impl": "return step.Map(fn=fn_double).apply(E0), E1\n",
}


def test_a_task_matches() -> None:
    result = run_task(OracleTask("doubled", TASK))
    assert (result.matches, result.max_error, result.affine) == (True, 0.0, True)
    assert [[tuple(tensor.shape) for tensor in output] for output in result.outputs] == [[(1, 5, 3)], [(35, 3)]]
    counts = result.outputs[1][0].sum(-1)
    assert set(counts.tolist()) == {1.0, 2.0}


def test_dims_bind_what_global_does_not() -> None:
    result = run_task(OracleTask("doubled", TASK), dims={"M": 2, "E": 8})
    assert tuple(result.outputs[0][0].shape) == (1, 2, 3)


def test_fp64_sees_the_same_data() -> None:
    task = OracleTask("doubled", TASK)
    single, double = run_task(task), run_task(task, dtype=torch.float64)
    assert double.matches
    assert double.outputs[0][0].dtype == torch.float64
    assert torch.equal(single.outputs[0][0].double(), double.outputs[0][0])
    assert torch.get_default_dtype() == torch.float32


def test_draws_come_in_the_order_of_the_file() -> None:
    result = run_task(OracleTask("doubled", TASK), seed=3)
    torch.manual_seed(3)
    assert torch.equal(result.outputs[0][0], torch.randn(1, 5, 3) * 2)


@pytest.mark.parametrize(
    ("impl", "affine"),
    [
        ("return step.Map(fn=fn_double).apply(E0), E1", True),
        ("a, b = step.Copy().apply(E0)\nreturn step.Map(fn=fn_double).apply(b), E1", True),
        ("A = E0\nB = step.Identity().apply(E0)\nreturn step.Map(fn=fn_double).apply(A), E1", False),
        ("x = [step.Map(fn=fn_double).apply(E0) for _ in range(2)]\nreturn x[0], E1", False),
        ("step.Identity().apply(E1)\nreturn step.Map(fn=fn_double).apply(E0), E1", False),
    ],
)
def test_affine_use_follows_values(impl: str, affine: bool) -> None:
    result = run_task(OracleTask("doubled", TASK), impl=impl)
    assert (result.matches, result.affine) == (True, affine)


@pytest.mark.parametrize(
    ("impl", "shape_ok"), [("return E0, E1", True), ("return E0", False), ("return E1, E0", False)]
)
def test_wrong_programs_do_not_match(impl: str, shape_ok: bool) -> None:
    result = run_task(OracleTask("doubled", TASK), impl=impl)
    assert (result.matches, result.shape_ok) == (False, shape_ok)
    assert result.max_error > 0


def test_load_task_names_the_task_after_its_file(tmp_path: Path) -> None:
    file = tmp_path / "some.thing.step.yaml"
    file.write_text("test_name: other\ninputs: []\n", encoding="utf-8")
    assert load_task(file) == OracleTask("some", {"test_name": "other", "inputs": []})


def test_partition_then_merge_restores_every_routing_of_two_branches() -> None:
    for bits in itertools.product([[1, 0], [0, 1]], repeat=3):
        selector = select(bits, [3])
        branches = run("Partition", (counting([2, 3], start=1), selector), N=2)
        assert values(run("Merge", (branches, selector), fn=ADD)) == [[1, 2], [3, 4], [5, 6]]
