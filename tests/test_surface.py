"""Programs that run as plain Python: streams with data, both spellings, and the errors of the checker."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path
from typing import Annotated, Any

import pytest
import torch

import stepcore as step
from stepcore.dims import D, E, K, M, N
from stepcore.sim import eager, pysource
from stepcore.sim.data import TensorData
from stepcore.sizes.dim import Dim
from stepcore.surface.elements import as_element

ROW = step.Buffer(step.f32, [K])


@step.fn(input=step.f32, output=step.f32)
def double(input: Any) -> Any:
    """Twice the input."""
    return [input[0] * 2]


@step.fn(input=step.f32, output=step.f32, init=[0], name="Sum")
def add(state: Any, input: Any) -> Any:
    return [state[0] + input[0]]


@step.fn(input=[step.f32, step.f32], output=step.f32)
def multiply(input: Any) -> Any:
    return [input[0] * input[1]]


class Sum(step.Fn):
    """The published spelling."""

    def __init__(self, input: Any = step.f32, output: Any = step.f32) -> None:
        super().__init__("Sum", input, output)

    def getInit(self) -> list[torch.Tensor]:
        return [torch.zeros(())]

    def apply(self, state: Any, input: Any) -> list[torch.Tensor]:
        return [state[0] + input[0]]


class Scale(step.Fn):
    """The published spelling without a state."""

    def __init__(self) -> None:
        super().__init__("Scale", step.STuple((ROW, step.Scalar("float"))), ROW)

    def apply(self, input: Any) -> list[torch.Tensor]:
        return [input[0] * input[1]]


def filled(*shape: Any, start: int = 0) -> step.Stream:
    """A stream of shape ``shape`` (innermost first) that counts up."""
    sizes = [size if isinstance(size, int) else {"M": 5, "N": 7, "K": 9}[str(size)] for size in reversed(shape)]
    count = torch.Size(sizes).numel()
    return step.Stream.of(torch.arange(start, start + count, dtype=torch.float32).reshape(sizes), step.f32, shape)


def data(stream: step.Stream) -> torch.Tensor:
    assert stream.has_data and len(stream.data) == 1
    return stream.data[0]


def fails(code: str, run: Any, *words: str) -> str:
    with pytest.raises(step.StepError) as caught:
        run()
    assert caught.value.code == code, caught.value
    assert str(caught.value).startswith(f"{code}: ")
    for word in words:
        assert word in caught.value.message
    return caught.value.message


# -- importing -----------------------------------------------------------------------------------------


def test_importing_loads_no_tensor_library() -> None:
    code = "import sys, stepcore; print([m for m in ('torch', 'numpy', 'sympy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_typing_loads_no_tensor_library() -> None:
    code = (
        "import sys, stepcore as step\n"
        "A = step.Stream('A', step.f32, 1, [step.dims.M, step.dims.N])\n"
        "B, C = step.Copy().apply(A)\n"
        "assert str(step.Bufferize(a=1).apply(B).dtype) == 'Buffer(fp32, [M])'\n"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_fn_stays_the_decorator_whatever_is_imported() -> None:
    code = "import stepcore, stepcore.fn.decl, stepcore.fn.allow; assert callable(stepcore.fn), stepcore.fn"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_everything_exported_exists() -> None:
    for name in step.__all__:
        assert getattr(step, name) is not None
    assert step.RepeatLast is step.Repeat
    assert step.Symbol("M") == M
    assert step.f32 == step.Scalar("float") and str(step.bool_) == "bool"


# -- streams -------------------------------------------------------------------------------------------


def test_published_stream() -> None:
    stream = step.Stream("E0", step.Scalar("float"), 1, [M, N])
    assert (stream.name, stream.dtype, stream.rank, stream.shape) == ("E0", step.f32, 1, (M, N))
    assert stream.ctx == {"M": 5, "N": 7, "K": 9, "D": 16}
    assert not stream.has_data
    assert getattr(stream, "data") is None  # noqa: B009  declared as a list
    assert repr(stream) == "Stream E0: [M, N] of fp32, without data"
    stream.ctx = {M: 2, N: 3}
    stream.data = [torch.ones(3, 2)]
    assert stream.values()[0].shape == (3, 2)
    assert repr(stream) == "Stream E0: [M, N] = [2, 3] of fp32: 1, 1, 1, 1, 1, 1 (6 values)"


def test_rank_must_fit_the_shape() -> None:
    text = fails("STEP207", lambda: step.Stream("E0", step.f32, 2, [M, N]))
    assert text == "E0 of rank 2 has 3 sizes, found 2: [M, N]"


def test_unusable_element_types() -> None:
    assert as_element("float") == step.f32
    assert as_element([step.f32, [ROW]]) == step.STuple((step.f32, ROW))
    fails("STEP222", lambda: step.Stream("E0", 3, 0, [M]), "step.f32")  # type: ignore[arg-type]
    fails("STEP222", lambda: as_element("fp31"), "the element type 'fp31' is not known")


def test_data_is_checked_when_it_is_set() -> None:
    def given(value: Any, dtype: Any = step.f32) -> Any:
        return lambda: setattr(step.Stream("A", dtype, 1, [M, N]), "data", value)

    fails("STEP208", given(torch.ones(7, 5)), "data of A is a list of 1 tensor, found a tensor")
    fails("STEP208", given([torch.ones(7, 5)] * 2), "found 2 values")
    fails("STEP208", given([1.0]), "must be tensors, found the number 1.0")
    fails("STEP208", given([torch.ones(7, 5, dtype=torch.int64)]), "torch.float32 for fp32, found torch.int64")
    fails("STEP207", given([torch.ones(5)]), "needs the shape (N, M), found (5)")
    fails("STEP207", given([torch.ones(7, 5)], ROW), "needs the shape (N, M, K)")
    fails("STEP207", given([torch.ones(7, 5)], step.Multihot(step.f32, E)), "needs the shape (N, M, E)")


def test_data_is_checked_against_the_sizes_when_it_is_used() -> None:
    stream = step.Stream("A", step.f32, 1, [M, N])
    stream.data = [torch.ones(5, 7)]
    fails("STEP207", lambda: step.Identity().apply(stream), "needs the shape (N, M) = (7, 5), found (5, 7)")
    stream.ctx = {"M": 7}
    fails("STEP225", lambda: step.Identity().apply(stream), "the size N of A has no value; set ctx[N]")
    stream.ctx[N] = 5
    assert data(step.Identity().apply(stream)).shape == (5, 7)


def test_stream_of_takes_sizes_from_tensors() -> None:
    stream = step.Stream.of([torch.ones(3, 2), torch.ones(3, 2, 4)], [step.f32, ROW], [M, N], name="A")
    assert stream.ctx == {"M": 2, "N": 3, "K": 4}
    assert stream.dtype == step.STuple((step.f32, ROW))
    fails("STEP207", lambda: step.Stream.of(torch.ones(3, 2), step.f32, [M, M]), "found (3, 2)")
    fails("STEP207", lambda: step.Stream.of(torch.ones(3), step.f32, [M], {M: 4}), "= (4), found (3)")
    fails("STEP207", lambda: step.Stream.of(torch.ones(3), step.f32, [2 * M], {M: 2}), "(2*M) = (4)")
    fails("STEP225", lambda: step.Stream.of(torch.ones(3), step.f32, [2 * M]))


def test_sizes_of_two_streams_must_agree() -> None:
    one, other = step.Stream.of(torch.ones(3), step.f32, [M], name="A"), filled(M)
    fails("STEP207", lambda: step.Zip().apply((one, other)), "M is 3 for A but 5 for a stream")


# -- application ---------------------------------------------------------------------------------------


def test_operators_run_at_once() -> None:
    stream = filled(M, N)
    values = data(stream)
    result = step.Accum(fn=add, b=1).apply(stream, name="sums")
    assert (result.shape, result.dtype, result.name) == ((N,), step.f32, "sums")
    assert torch.equal(data(result), values.sum(1))


def test_operators_type_streams_without_data() -> None:
    stream = step.Stream("A", step.f32, 1, [M, N])
    result = step.Repeat(n=K).apply(step.Map(fn=double).apply(stream))
    assert result.shape == (K, M, N) and not result.has_data


def test_map_of_a_tuple_and_of_a_zip_agree() -> None:
    pair = filled(M), filled(M, start=3)
    direct = step.Map(fn=multiply).apply(pair)
    zipped = step.Map(fn=multiply).apply(step.Zip().apply((filled(M), filled(M, start=3))))
    assert torch.equal(data(direct), data(zipped))
    assert torch.equal(data(direct), torch.arange(5.0) * torch.arange(3.0, 8.0))


def test_published_functions() -> None:
    values = torch.randn(7, 5)
    stream = step.Stream("E0", step.Scalar("float"), 1, [M, N])
    stream.data = [values]
    total = step.Accum(fn=Sum(), b=1).apply(stream)
    torch.testing.assert_close(data(total), values.sum(1))
    rows, factors = torch.randn(5, 9), torch.randn(5)
    pair = step.Stream.of([rows, factors], [ROW, step.f32], [M])
    torch.testing.assert_close(data(step.Map(fn=Scale()).apply(pair)), rows * factors[:, None])
    assert Sum().has_state and not Scale().has_state
    assert Sum().func_name == "Sum" and Sum().label == "Sum"


def test_functions_keep_what_they_like_under_any_name() -> None:
    class Twice(step.Fn):
        def __init__(self) -> None:
            super().__init__("twice", step.f32, step.Buffer(step.f32, [2]))
            self.counts = 2  # a function of its own, not step.count

        def apply(self, input: list[torch.Tensor]) -> list[torch.Tensor]:
            return [input[0].repeat(self.counts)]

    found = step.FlatMap(fn=Twice()).apply(filled(M))
    assert torch.equal(data(found), torch.arange(5.0).repeat_interleave(2))


def test_scan_restarts_and_keeps_the_order() -> None:
    @step.fn(input=step.f32, output=step.f32, init=[0])
    def shift(state: Any, input: Any) -> Any:
        return [state[0] * 10 + input[0]]

    stream = step.Stream.of(torch.tensor([[1.0, 2, 3], [4, 5, 6]]), step.f32, [M, N])
    result = data(step.Scan(fn=shift, b=1).apply(stream))
    assert result.tolist() == [[1, 12, 123], [4, 45, 456]]


def test_reshape_then_flatten_gives_the_size_back() -> None:
    split = step.Reshape(S=3, L=[0]).apply(filled(K))
    assert split.shape == (Dim.of(3), K // 3)
    whole = step.Flatten(L=[1]).apply(split)
    pair = step.Zip().apply((whole, filled(K)))
    assert torch.equal(pair.data[0], pair.data[1])


def test_views_read_the_same_values_in_another_way() -> None:
    values = torch.arange(24.0).reshape(4, 6)  # shape [M, N] with M=6, N=4

    def given() -> step.Stream:
        return step.Stream.of(values, step.f32, [M, N])

    assert torch.equal(data(step.Reshape(S=2, L=[0, 1]).apply(given())), values.reshape(2, 2, 3, 2))
    assert torch.equal(data(step.Reshape(S=3, L=[0]).apply(given())), values.reshape(4, 2, 3))
    assert torch.equal(data(step.Promote(b=0).apply(given())), values.reshape(4, 6, 1))
    assert torch.equal(data(step.Promote(b=1).apply(given())), values.reshape(4, 1, 6))
    assert torch.equal(data(step.Promote(b=2).apply(given())), values.reshape(1, 4, 6))
    cube = step.Promote(b=1).apply(given())
    assert torch.equal(data(step.Flatten(L=[1, 2]).apply(cube)), values.reshape(24))
    rows = step.Bufferize(a=1).apply(step.Promote(b=2).apply(given()))
    both = step.Bufferize(a=1).apply(rows)
    assert both.dtype == step.Buffer(step.f32, [M, N]) and both.shape == (Dim.of(1),)
    assert torch.equal(data(both), values.reshape(1, 4, 6))
    out = step.Streamify().apply(both)
    assert out.shape == (M, N, Dim.of(1)) and torch.equal(data(out), values.reshape(1, 4, 6))
    twice = data(step.Repeat(n=2).apply(given()))
    assert torch.equal(twice, values.unsqueeze(-1).expand(4, 6, 2))


def test_running_keeps_the_element_type_beside_the_data() -> None:
    runtime: Any = eager.EagerRuntime({"K": 3})
    cube = TensorData((5, 7, 2), step.f32, [torch.zeros(2, 7, 5)])
    (rows,) = step.Bufferize(a=2).run(runtime, [cube])
    assert rows.element == step.Buffer(step.f32, [5, 7]) and rows.sizes == (2,)
    (out,) = step.Streamify().run(runtime, [rows])
    assert out.element == step.f32 and out.sizes == (5, 7, 2)


def test_divisibility_is_checked_when_a_size_is_only_known_at_run_time() -> None:
    runtime: Any = eager.EagerRuntime({"K": 3})
    row = TensorData((5,), step.f32, [torch.zeros(5)])
    fails("STEP211", lambda: step.Reshape(S=K, L=[0]).run(runtime, [row]), "of dimension 0, but 3 does not divide 5")


def test_routing_by_a_selector_of_two_dimensions() -> None:
    values = torch.arange(12.0).reshape(2, 3, 2)  # shape [K, N, M]
    bits = torch.tensor([[[1.0, 0], [1, 1], [0, 0]], [[0, 1], [0, 0], [1, 0]]])
    chosen, kept = step.Copy().apply(step.Stream.of(bits, step.Multihot(step.f32, 2), [N, M]))
    left, right = step.Partition(N=2).apply((step.Stream.of(values, step.f32, [K, N, M]), chosen))
    assert data(left).tolist() == [[0, 1], [2, 3], [10, 11]] and data(right).tolist() == [[2, 3], [6, 7]]
    merged = step.Merge(fn=add).apply(([left, right], kept))
    assert merged.shape == (K, N, M)
    torch.testing.assert_close(data(merged), values * bits.sum(-1, keepdim=True))


def test_accum_folds_innermost_fastest() -> None:
    @step.fn(input=step.f32, output=step.f32, init=[0])
    def shift(state: Any, input: Any) -> Any:
        return [state[0] * 10 + input[0]]

    stream = step.Stream.of(torch.tensor([[[1.0, 2], [3, 4]], [[5, 6], [7, 8]]]), step.f32, [M, N, K])
    assert data(step.Accum(fn=shift, b=2).apply(stream)).tolist() == [1234, 5678]


def test_merge_folds_ascending_from_the_init() -> None:
    @step.fn(input=step.f32, output=step.f32, init=[-1])
    def shift(state: Any, input: Any) -> Any:
        return [state[0] * 10 + input[0]]

    bits = torch.tensor([[[1.0, 1], [0, 0], [0, 1]]])
    kept = step.Stream.of(bits, step.Multihot(step.f32, 2), [N, M])
    branches = [step.Stream.of(torch.tensor(values), step.f32, [size]) for values, size in (([1.0], 1), ([2.0, 3], 2))]
    merged = step.Merge(fn=shift).apply((branches, kept))
    assert data(merged).tolist() == [[-88, 0, -7]] and merged.shape == (N, M)


def test_routing() -> None:
    bits = torch.tensor([[1.0, 0], [0, 0], [1, 1], [0, 1]])
    selector = step.Stream.of(bits, step.Multihot(step.f32, 2), [M])
    chosen, kept = step.Copy().apply(selector)
    left, right = step.Partition(N=2).apply((step.Stream.of(torch.tensor([1.0, 2, 3, 4]), step.f32, [M]), chosen))
    assert data(left).tolist() == [1, 3] and data(right).tolist() == [3, 4]
    assert left.shape != right.shape
    merged = step.Merge(fn=add).apply(([step.Map(fn=double).apply(left), right], kept))
    assert data(merged).tolist() == [2, 0, 9, 4] and merged.shape == (M,)


def test_an_empty_branch_is_legal() -> None:
    bits = torch.tensor([[1.0, 0], [1, 0]])
    selector, kept = step.Copy().apply(step.Stream.of(bits, step.Multihot(step.f32, 2), [M]))
    left, right = step.Partition(N=2).apply((step.Stream.of(torch.ones(2, 3), step.f32, [K, M]), selector))
    assert data(right).shape == (0, 3)
    right = step.Map(fn=double).apply(right)
    assert data(step.Merge(fn=add).apply(([left, right], kept))).tolist() == [[1, 1, 1], [1, 1, 1]]


def test_a_selector_with_an_empty_inner_dimension() -> None:
    # Two dimensions of which the inner is empty: the outer one cannot be found by division.
    selector = step.Stream.of(torch.ones(3, 0, 2), step.Multihot(step.f32, 2), [K, M])
    chosen, kept = step.Copy().apply(selector)
    branches = step.Partition(N=2).apply((step.Stream.of(torch.ones(3, 0), step.f32, [K, M]), chosen))
    merged = step.Merge(fn=add).apply((branches, kept))
    assert data(merged).shape == (3, 0) and merged.shape == (K, M)


def test_a_branch_of_another_size_is_an_error() -> None:
    bits = step.Stream.of(torch.tensor([[1.0, 1], [1, 0]]), step.Multihot(step.f32, 2), [M])
    branches = [step.Stream.of(torch.ones(2), step.f32, [K]) for _ in range(2)]
    fails("STEP409", lambda: step.Merge(fn=add).apply((branches, bits)), "branch 1")


def test_data_dependent_branches_in_functions() -> None:
    @step.fn(input=step.f32, output=step.f32)
    def clip(input: Any) -> Any:
        return [input[0]] if input[0] > 2 else [torch.zeros(())]

    assert data(step.Map(fn=clip).apply(filled(M))).tolist() == [0, 0, 0, 3, 4]


# -- mistakes ------------------------------------------------------------------------------------------


def test_second_consumption_names_the_first() -> None:
    stream = filled(M)
    step.Identity().apply(stream)
    line = sys._getframe().f_lineno - 1
    text = fails("STEP101", lambda: step.Map(fn=double).apply(stream))
    assert text == (
        "stream is consumed twice, but a stream is drained by its first consumer; "
        f"insert a Copy (first consumed at {__file__}:{line})"
    )


def test_one_stream_twice_in_one_application() -> None:
    stream = filled(M)
    fails("STEP101", lambda: step.Zip().apply((stream, stream)), __file__)
    assert stream.consumed_at is None


def test_a_failed_application_consumes_nothing() -> None:
    stream = filled(M)
    fails("STEP206", lambda: step.Accum(fn=add, b=1).apply(stream), "stream has rank 0")
    assert data(step.Map(fn=double).apply(stream)).tolist() == [0, 2, 4, 6, 8]


def test_messages_name_the_callers_variables() -> None:
    first, others = filled(M, N), [filled(M, K)]
    text = fails("STEP207", lambda: (first, others, step.Zip().apply((first, others[0]))))
    assert text.startswith("Zip needs equal shapes, but others[0] differs from first\n  expected [M, N]")
    fails("STEP206", lambda: step.Accum(fn=add, b=1).apply(filled(M)), "but the input has rank 0")


@pytest.mark.parametrize(
    ("op", "given", "message"),
    [
        (step.Copy(), [], "given is an empty list, and Copy takes one stream; Zip several streams into one first"),
        (step.Copy(), 3, "Copy takes streams, and given is 3; pass a stream"),
        (step.Zip(), step.Copy(), "given is the operator Copy, not applied; apply it: given.apply(...)"),
        (step.Zip(), torch.ones(1), "given is a tensor; make a stream of it with step.Stream.of"),
        (step.Zip(), (), "zip two of them first, and the result with the other"),
    ],
)
def test_wrong_structure_of_inputs(op: Any, given: Any, message: str) -> None:
    assert fails("STEP205", lambda: op.apply(given)).endswith(message)


def test_wrong_structure_of_streams() -> None:
    zipped: Any = step.Zip()
    copied: Any = step.Copy()
    fails("STEP205", lambda: zipped.apply(filled(M)), "filled(M) is one stream, and Zip", "((filled(M), OTHER))")
    fails("STEP205", lambda: copied.apply((filled(M), filled(M))), "(filled(M), filled(M)) is a tuple of two streams")
    fails("STEP205", lambda: step.Map(fn=double).apply((filled(M),)), "(filled(M),) is a tuple of one stream")
    fails("STEP205", lambda: step.Merge(fn=add).apply(([[filled(M)]], filled(M))), "Merge takes")  # type: ignore[list-item]


@pytest.mark.parametrize("shape", [("one", "one"), ([], "one"), "one", (["one"],), (["one"], ["one"])])
def test_merge_takes_branches_and_a_selector(shape: Any) -> None:
    def streams(part: Any) -> Any:
        return filled(M) if part == "one" else type(part)(streams(item) for item in part)

    fails("STEP205", lambda: step.Merge(fn=add).apply(streams(shape)), "write .apply(([", "], SELECTOR))")


def test_inputs_without_a_name_are_told_by_their_place() -> None:
    def zipped() -> object:
        return step.Zip().apply((filled(M), filled(N)))

    assert "but the second input differs from the first input\n" in fails("STEP207", zipped)
    selectors = {"unnamed": step.Stream("", step.Multihot(step.f32, 3), 0, [N])}
    text = fails("STEP210", lambda: step.Merge(fn=add).apply(([filled(M), filled(M)], selectors["unnamed"])))
    assert text.startswith("the selector selects among 3 branches, but there are 2")
    text = fails("STEP208", lambda: step.Map(fn=double).apply(step.Bufferize(a=1).apply(filled(M, N))))
    assert text.startswith("double takes other elements than the input delivers")


def test_data_on_some_inputs_only() -> None:
    bare = step.Stream("A", step.f32, 0, [M])
    text = fails("STEP205", lambda: (bare, step.Zip().apply((bare, filled(M)))))
    assert text.startswith("bare carries no data, but the second input does")


def test_a_size_without_a_value() -> None:
    stream = step.Stream.of(torch.ones(3), step.f32, [M])
    fails("STEP225", lambda: step.Repeat(n=E).apply(stream), "E")
    fails("STEP211", lambda: step.Reshape(S=2, L=[0]).apply(stream), "2 does not divide M = 3")


# -- functions -----------------------------------------------------------------------------------------


def test_decorated_function() -> None:
    assert (double.func_name, double.label, double.has_state) == ("double", "double", False)
    assert (add.func_name, add.label, add.has_state) == ("add", "Sum", True)
    assert double.__doc__ == "Twice the input." and double.__wrapped__ is double.function
    assert multiply.input == step.STuple((step.f32, step.f32)) and multiply.output == step.f32
    assert double([torch.tensor(4.0)]) == [torch.tensor(8.0)]
    assert repr(double) == "<step function double: fp32 -> fp32>"


@pytest.mark.parametrize("constant", [0, 1, -1, float("-inf"), "-inf", "- inf"])
def test_inits(constant: Any) -> None:
    declare = step.fn(input=step.f32, output=ROW, init=[constant])
    fn = declare(lambda state, input: [state[0]])
    stream = step.Stream.of(torch.zeros(2, 3), step.f32, [M, N], {K: 4})
    wanted = float(str(constant).replace(" ", ""))
    assert data(step.Accum(fn=fn, b=1).apply(stream)).tolist() == [[wanted] * 4] * 2


@pytest.mark.parametrize("init", [[2], ["inf"], [float("nan")], [True], [None]])
def test_unusable_inits(init: Any) -> None:
    declare = step.fn(input=step.f32, output=step.f32, init=init)
    fails("STEP309", lambda: declare(lambda state, input: state), "0, 1, -1 or -inf")


def test_one_init_per_component() -> None:
    declare = step.fn(input=step.f32, output=step.f32, init=[0, 1])
    fails("STEP309", lambda: declare(lambda state, input: state), "expected 1, found 2")


def test_results_must_be_exactly_as_declared() -> None:
    def run(result: Any, output: Any = step.f32) -> Any:
        fn = step.fn(input=step.f32, output=output)(lambda input: result(input[0]))
        return lambda: step.Map(fn=fn).apply(filled(K))

    fails("STEP305", run(lambda x: [x, x]), "must be a list of 1 tensor, found 2")
    fails("STEP305", run(lambda x: x), "must be a list of 1 tensor, found a tensor")
    fails("STEP306", run(lambda x: [1.0]), "must hold tensors, found the number 1.0")
    fails("STEP306", run(lambda x: [x.reshape(1)]), "found (1,)")
    fails("STEP306", run(lambda x: [x], ROW), "must have the shape (9,) and torch.float32, found ()")
    fails("STEP306", run(lambda x: [x.double()]), "torch.float64")
    fails("STEP306", run(lambda x: [x], step.i64), "torch.int64")


def test_a_failing_function_keeps_its_own_error() -> None:
    fn = step.fn(input=step.f32, output=step.f32)(lambda input: 1 // 0)
    with pytest.raises(ZeroDivisionError) as caught:
        step.Map(fn=fn).apply(filled(M, N))
    assert caught.value.__notes__ == ["in the element function <lambda>, at stream position [0, 0]"]


def test_a_class_without_apply() -> None:
    class Empty(step.Fn):
        pass

    fails("STEP309", lambda: step.Map(fn=Empty("E", step.f32, step.f32)).apply(filled(M)), "Empty has no apply")


WEIGHT = torch.randn(4, 4)
FACTOR = 1.5
CALLED: list[int] = []


@step.fn(input=step.Buffer(step.f32, [K]), output=step.Buffer(step.f32, [K]))
def dense(input: Any) -> Any:
    hidden = torch.relu(input[0] @ WEIGHT) * FACTOR
    return [hidden if hidden.sum() > 1 else -hidden]


@step.fn(input=step.f32, output=step.f32, init=[-1])
def decay(state: Any, input: Any) -> Any:
    return [state[0] * 0.5 + input[0] * FACTOR]


@step.fn(input=step.f32, output=step.f32)
def counted(input: Any) -> Any:
    CALLED.append(1)
    return [input[0] + 1]


class Decay(Sum):
    def getInit(self) -> list[torch.Tensor]:
        return [torch.tensor(2.5)]

    def apply(self, state: Any, input: Any) -> list[torch.Tensor]:
        return [state[0] * 0.5 + input[0]]


@pytest.mark.parametrize(
    ("op", "tail"),
    [(step.Map(fn=dense), (4,)), (step.Scan(fn=decay, b=1), ()), (step.Accum(fn=Decay(), b=1), ())],
    ids=["map", "scan", "published"],
)
def test_vectorized_calls_give_what_single_calls_give(op: Any, tail: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    values = torch.randn(40, 30, *tail)
    monkeypatch.setattr(eager, "CALLS", 10**9)
    one_by_one = data(op.apply(step.Stream.of(values, op.fn.input, [M, N])))
    monkeypatch.setattr(eager, "CALLS", 0)
    monkeypatch.delattr(eager.PythonFn, "_one")
    at_once = data(op.apply(step.Stream.of(values, op.fn.input, [M, N])))
    torch.testing.assert_close(at_once, one_by_one)


def test_a_function_in_a_program_is_vectorized_with_its_closure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager, "CALLS", 0)
    monkeypatch.delattr(eager.PythonFn, "_one")
    assert scale.verify().accepted and scale_by_class.verify().accepted


def test_a_source_that_changed_is_not_trusted(tmp_path: Path) -> None:
    path = tmp_path / "changing.py"
    head = "import stepcore as step\n\n\n@step.fn(input=step.f32, output=step.f32)\n"
    text = head + "def f(input):\n    return [input[0] + 1]\n"
    path.write_text(text, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("changing", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert pysource.compiled(module.f, {}, torch.float32) is not None
    path.write_text(text.replace("+ 1", "+ 2"), encoding="utf-8")
    os.utime(path, (1, 1))
    assert pysource.compiled(module.f, {}, torch.float32) is None


def test_functions_that_reach_outside_are_called() -> None:
    CALLED.clear()
    assert pysource.compiled(counted, {}, torch.float32) is None
    result = step.Map(fn=counted).apply(step.Stream.of(torch.zeros(300), step.f32, [M]))
    assert torch.equal(data(result), torch.ones(300)) and len(CALLED) == 300


def test_a_failure_in_a_long_stream_is_the_users_own() -> None:
    with pytest.raises(IndexError) as caught:
        step.Map(fn=beyond).apply(step.Stream.of(torch.zeros(300), step.f32, [M]))
    assert "beyond" in caught.value.__notes__[0]


@step.fn(input=step.f32, output=step.f32)
def beyond(input: Any) -> Any:
    return [input[1]]


# -- programs ------------------------------------------------------------------------------------------


def scaled(x: torch.Tensor, W: torch.Tensor) -> torch.Tensor:  # x: (N, K), W: (K, K)
    return x @ W


@step.program(reference=scaled, dims={N: 7, K: 4})
def scale(
    E0: Annotated[step.Stream, ROW, (N,)], *, W: Annotated[step.Param, step.f32, (K, K)]
) -> Annotated[step.Stream, ROW, (N,)]:
    """Multiply each row."""

    @step.fn(input=ROW, output=ROW)
    def times(input: Any) -> Any:
        return [input[0] @ W]

    return step.Map(fn=times).apply(E0)


@step.fn(input=ROW, output=ROW)
def times_global(input: Any) -> Any:
    return [input[0] @ W + input_data["W"][0] * 0 + K_value - K_value]  # type: ignore[name-defined]  # noqa: F821


@step.program(reference=scaled, dims={N: 3, K: 4})
def scale_by_name(
    E0: Annotated[step.Stream, ROW, (N,)], *, W: Annotated[step.Param, step.f32, (K, K)]
) -> Annotated[step.Stream, ROW, (N,)]:
    return step.Map(fn=times_global).apply(E0)


class Times(step.Fn):
    """The published spelling, with a parameter by name."""

    def __init__(self) -> None:
        super().__init__("Times", ROW, ROW)

    def apply(self, input: Any) -> Any:
        return [input[0] @ W]  # type: ignore[name-defined]  # noqa: F821


@step.program(reference=scaled, dims={N: 3, K: 4})
def scale_by_class(
    E0: Annotated[step.Stream, ROW, (N,)], *, W: Annotated[step.Param, step.f32, (K, K)]
) -> Annotated[step.Stream, ROW, (N,)]:
    return step.Map(fn=Times()).apply(E0)


def test_program_is_its_function() -> None:
    assert vars(scale)["__name__"] == scale.name == "scale" and scale.__doc__ == "Multiply each row."
    assert scale.__wrapped__.__name__ == "scale"
    assert repr(scale) == "<step program scale>"
    assert scale.reference is scaled and scale.dims == {"N": 7, "K": 4}
    assert scale.signature.parameters["W"].shape == (K, K)


def test_program_runs_on_streams_and_tensors() -> None:
    x, weights = torch.randn(2, 3), torch.randn(3, 3)
    stream = step.Stream.of(x, ROW, [N])
    torch.testing.assert_close(data(scale(stream, W=weights)), x @ weights)
    torch.testing.assert_close(data(scale(x, W=weights)), x @ weights)
    fails("STEP101", lambda: scale(stream, W=weights), f"{__file__}:")


@pytest.mark.parametrize("program", [scale, scale_by_name, scale_by_class])
def test_program_verifies(program: step.Program) -> None:
    verdict = program.verify()
    assert verdict.accepted
    lines = repr(verdict).splitlines()
    assert lines[0] == "accepted" and lines[1].split() == ["shape", "ok"]
    assert program.verify(seed=1).accepted


def test_program_refuses_other_arguments() -> None:
    x, weights = torch.randn(2, 3), torch.randn(3, 3)
    fails("STEP205", lambda: scale(W=weights), "scale takes 1 stream (E0), found 0")
    fails("STEP203", lambda: scale(x), "scale lacks W; it takes W")
    fails("STEP203", lambda: scale(x, W=weights, V=weights), "scale has no parameter V")
    fails("STEP207", lambda: scale(x, W=torch.ones(3, 4)), "needs the shape (3, 3), found (3, 4)")
    fails("STEP208", lambda: scale(filled(N), W=weights), "input E0 of scale holds other elements than declared")
    fails("STEP207", lambda: scale(step.Stream.of(x, ROW, [D]), W=weights), "has another shape than declared")


def test_program_compares_its_outputs_with_the_declaration() -> None:
    def program(body: Any) -> step.Program:
        def typed(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
            result: step.Stream = body(E0)
            return result

        return step.program(reference=lambda x: x)(typed)

    fails("STEP215", lambda: program(lambda s: step.Promote(b=0).apply(s))(filled(M, N)), "found    [1, M, N]")
    fails("STEP214", lambda: program(lambda s: step.Bufferize(a=1).apply(s))(filled(M, N)), "Buffer(fp32, [M])")
    fails("STEP213", lambda: program(lambda s: step.Copy().apply(s))(filled(M, N)), "its annotation declares 1")
    fails("STEP219", lambda: program(lambda s: None)(filled(M, N)))

    def overused(stream: step.Stream) -> step.Stream:
        step.Identity().apply(stream)
        return stream

    fails("STEP101", lambda: program(overused)(filled(M, N)))
    verdict = program(overused).verify()
    assert not verdict.accepted and verdict.shape.ok and verdict.functional.ok
    assert verdict.affine.count == 1
    verdict = program(lambda s: step.Promote(b=0).apply(s)).verify()
    assert not verdict.shape.ok and not verdict.functional.ok and verdict.affine.ok
    verdict = program(lambda s: step.Accum(fn=add, b=3).apply(s)).verify()
    assert (verdict.functional.code, verdict.shape.ok) == ("STEP206", False)
    verdict = program(lambda s: step.Map(fn=double).apply(s)).verify()
    assert verdict.functional.code == "STEP401" and verdict.mismatch is not None
    assert repr(verdict).startswith("not accepted") and "expected" in repr(verdict)


def test_verify_without_a_usable_reference() -> None:
    def body(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
        return E0

    assert step.program()(body).verify().functional.code == "STEP411"
    assert step.program(reference=lambda x: x.nothing)(body).verify().functional.code == "STEP408"
    assert step.program(reference=lambda x: x)(body).verify().accepted


def test_program_with_two_outputs_and_drawn_selectors() -> None:
    def count(x: torch.Tensor, chosen: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        assert set(chosen.sum(-1).tolist()) <= {1.0}
        return x, chosen

    @step.program(reference=count, dims={E: 3}, name="both", data={"E1": (1, 1), "E0": "torch.ones"})
    def body(
        E0: Annotated[step.Stream, step.f32, (M,)], E1: Annotated[step.Stream, step.Multihot(step.f32, E), (M,)]
    ) -> tuple[Annotated[step.Stream, step.f32, (M,)], Annotated[step.Stream, step.Multihot(step.f32, E), (M,)]]:
        return E0, E1

    assert body.name == "both"
    assert body.verify().accepted


def test_rounding_is_decided_in_fp64() -> None:
    @step.fn(input=step.f32, output=step.f32)
    def there_and_back(input: Any) -> Any:
        return [input[0] + torch.full((), 1e5) - 1e5]

    @step.program(reference=lambda x: x)
    def body(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
        return step.Map(fn=there_and_back).apply(E0)

    verdict = body.verify()
    assert verdict.accepted
    assert verdict.functional.detail.startswith("equal in fp64; in fp32 output 0 differs")
    assert verdict.functional.max_abs_error_fp64 is not None and verdict.functional.max_abs_error is not None
    assert verdict.functional.max_abs_error_fp64 < 1e-9
    assert verdict.functional.max_abs_error > 1e-4
    assert torch.get_default_dtype() == torch.float32


def _bare(E0: step.Stream) -> Any:
    return E0


def _ranked(E0: Annotated[step.Stream, step.f32, 2]) -> Any:
    return E0


def _sized(E0: Annotated[step.Stream, step.f32, (1.5,)]) -> Any:
    return E0


def _weight(E0: Annotated[step.Param, step.f32, (M,)]) -> Any:
    return E0


@pytest.mark.parametrize("body", [_bare, _ranked, _sized, _weight])
def test_unusable_annotations(body: Any) -> None:
    fails("STEP222", lambda: step.program()(body).signature, f"E0 of {body.__name__}")


def test_nothing_declared() -> None:
    signature = step.program()(lambda: None).signature
    assert (signature.inputs, signature.parameters, signature.outputs) == ({}, {}, None)
