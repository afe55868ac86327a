"""Streams with ragged sizes: the runtime beside the oracle, results beside nested references, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from ragged_chains import run_chain
from sim_helpers import F32, data, fn, runtime, selector
from stepcore.findings.errors import SimError
from stepcore.sim.compare import compare
from stepcore.sim.data import TensorData
from stepcore.sim.lengths import Lengths, Levels, place_of, positions
from stepcore.sim.nested import Nested, packed
from stepcore.sim.ragged import RaggedData, arranged
from stepcore.types import Scalar

DOUBLE = fn("return [input[0] * 2]")
SUM = fn("return [state[0] + input[0]]", init=(0,))


def lengths(*values: int) -> Lengths:
    return Lengths(torch.tensor(values, dtype=torch.int64))


def counting(levels: Levels) -> Any:
    """A stream of these sizes whose numbers count from 0."""
    count = positions(levels)
    return arranged(TensorData((count,), F32, [torch.arange(count, dtype=torch.float32)]), levels)


def lists(stream: Any) -> Any:
    """The numbers of a stream of one component as nested Python lists."""
    (found,) = stream.dense()
    return _plain(found.lists() if isinstance(found, Nested) else found)


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, torch.Tensor) else [_plain(item) for item in value]


@pytest.mark.parametrize("first", range(0, 60, 20))
def test_random_chains_give_what_the_oracle_gives(first: int) -> None:
    applied = [step for seed in range(first, first + 20) for step in run_chain(seed)]
    assert len(applied) > 60


def test_a_stream_is_ragged_only_inside_of_something() -> None:
    stream = counting((lengths(2, 0, 3), 3))
    assert isinstance(stream, RaggedData)
    assert lists(stream) == [[0, 1], [], [2, 3, 4]]
    flat = stream.merge_dims(0, 1)
    assert isinstance(flat, TensorData) and flat.sizes == (5,)
    assert isinstance(counting((2, 3)), TensorData)


def test_regular_dimensions_inside_take_the_ways_of_regular_streams() -> None:
    stream = counting((2, lengths(1, 0, 2), 3))
    assert stream.packed.sizes == (2, 3)
    assert lists(stream) == [[[0, 1]], [], [[2, 3], [4, 5]]]
    assert lists(runtime().fold(SUM, stream, 1)) == [[1], [], [5, 9]]
    assert lists(runtime().fold(SUM, stream, 2)) == [1, 0, 14], "folding nothing gives the init"


def test_lists_in_lists() -> None:
    stream = counting((lengths(2, 1, 0, 1), lengths(2, 0, 2), 3))
    assert lists(stream) == [[[0, 1], [2]], [], [[], [3]]]
    assert lists(stream.merge_dims(0, 1)) == [[0, 1, 2], [], [3]]
    assert lists(stream.merge_dims(1, 2)) == [[0, 1], [2], [], [3]]
    assert lists(runtime().scan(SUM, stream, 2)) == [[[0, 1], [3]], [], [[], [3]]]


def test_equal_lengths_are_equal_sizes() -> None:
    assert lengths(1, 2) == lengths(1, 2) != lengths(2, 1)
    assert len({lengths(1, 2), lengths(1, 2), lengths(2, 1)}) == 2
    assert [place_of(number, (lengths(2, 0, 3), 3)) for number in range(5)] == [[0, 0], [0, 1], [2, 0], [2, 1], [2, 2]]


def test_streams_read_in_step_need_the_same_lengths() -> None:
    with pytest.raises(SimError, match=r"lists of 3 and of 2 elements along dimension 0, first at \[1\]") as caught:
        runtime().zip([counting((lengths(2, 3), 2)), counting((lengths(2, 2), 2))])
    assert caught.value.code == "STEP412"


def test_chunks_that_are_folded_together_need_the_same_lengths() -> None:
    rt, bits = runtime(), selector([[1, 1]])
    with pytest.raises(SimError, match="differ in length") as caught:
        rt.merge(SUM, [counting((lengths(2), 1)), counting((lengths(3), 1))], bits)
    assert caught.value.code == "STEP412"
    with pytest.raises(SimError, match="position 1 of the selector names no branch") as caught:
        rt.merge(SUM, [counting((lengths(2), 1))], selector([[1], [0]]))
    assert caught.value.code == "STEP412"
    with pytest.raises(SimError, match="branch 0 has 1 chunk, but the selector asks for it with 2 bits") as caught:
        rt.merge(SUM, [counting((lengths(2), 1))], selector([[1], [1]]))
    assert caught.value.code == "STEP409"


def test_buffers_that_differ_in_size_are_taken_out_again_and_nothing_else() -> None:
    for each in (lengths(2, 3), lengths(2, 2)):
        stream = counting((each, 2))
        buffers = stream.into_element(1, F32)
        assert buffers.sizes == (2,) and lists(buffers.out_of_element(1, F32)) == lists(stream)
        with pytest.raises(SimError, match="only Streamify reads them") as caught:
            runtime().zip([buffers, buffers])
        assert caught.value.code == "STEP412"


def test_onehot_is_held() -> None:
    rt = runtime()
    branches = [counting((2, 1)), counting((2, 1))]
    found = rt.reassemble(branches, selector([[1, 0], [0, 1]]), onehot=True)
    assert found.sizes == (2, 1, 2)
    with pytest.raises(SimError, match="position 0 of the selector names 2 branches") as caught:
        rt.reassemble(branches, selector([[1, 1]]), onehot=True)
    assert caught.value.code == "STEP413"


def test_counting() -> None:
    rt, int64 = runtime(), Scalar("int64")
    assert lists(rt.count_each(TensorData((3,), int64, [torch.tensor([2, 0, 1])]))) == [[0, 1], [], [0]]
    with pytest.raises(SimError, match=r"count is given -1 at \[1\]") as caught:
        rt.count_each(TensorData((2,), int64, [torch.tensor([2, -1])]))
    assert caught.value.code == "STEP413"
    with pytest.raises(SimError) as caught:
        rt.count_each(TensorData((2,), int64, [torch.tensor([1 << 62, 1 << 62])]))
    assert caught.value.code == "STEP406"


def test_padding_of_regular_lists_says_what_is_filling() -> None:
    found, filling = runtime().pad(data((5, 2)), 4, float("-inf"))
    assert found.sizes == filling.sizes == (4, 2, 2)
    assert torch.equal(torch.isinf(found.dense()[0]), filling.dense()[0])
    assert filling.dense()[0].flatten(1).sum(1).tolist() == [3, 3]


class TestReferences:
    def test_lists_reach_as_deep_as_they_like(self) -> None:
        stream = counting((2, lengths(1, 0, 2), 3))
        (result,) = stream.dense()
        for given in (
            result.lists(),
            [[torch.tensor([0.0, 1.0])], [], torch.tensor([[2.0, 3.0], [4.0, 5.0]])],
            [[[torch.tensor(0.0), torch.tensor(1.0)]], torch.empty(0, 2), list(torch.tensor([[2.0, 3.0], [4.0, 5.0]]))],
        ):
            reference = packed(given, 2)
            assert isinstance(reference, Nested)
            assert compare([[result]], [[reference]]).ok

    def test_lists_in_lists(self) -> None:
        (result,) = counting((lengths(2, 1, 0, 1), lengths(2, 0, 2), 3)).dense()
        reference = packed(result.lists(), 3)
        assert isinstance(reference, Nested) and reference.levels == result.levels

    @pytest.mark.parametrize(
        ("given", "text"),
        [
            ([torch.zeros(2), 3.0], "the number 3.0 stands where a list of equal tensors is expected"),
            ([torch.zeros(2), [torch.zeros(1), torch.zeros(2)]], "list of 2 stands where"),
            ([torch.zeros(2, 3), torch.zeros(2, 4)], r"elements of the shapes \(3,\) and \(4,\)"),
            (torch.tensor(1.0), "stands where lists of tensors are expected"),
        ],
    )
    def test_what_is_no_nested_list(self, given: Any, text: str) -> None:
        found = packed(given, 2)
        assert isinstance(found, str)
        with pytest.raises(AssertionError, match=text):
            raise AssertionError(found)

    def test_the_first_list_that_differs(self) -> None:
        (result,) = counting((lengths(2, 0, 3), 3)).dense()
        found = compare([[result]], [[packed([torch.zeros(2), torch.zeros(1), torch.zeros(3)], 2)]])
        assert not found.ok and "has 0 elements in the list at [1], its reference 1" in found.detail
        found = compare([[result]], [[packed([torch.zeros(2)], 2)]])
        assert not found.ok and "has 3 elements outermost, its reference 1" in found.detail
        found = compare([[result]], [[torch.zeros(5)]])
        assert not found.ok and "its reference is one tensor" in found.detail

    def test_the_first_element_that_differs_with_its_outer_indices(self) -> None:
        (result,) = counting((2, lengths(1, 0, 2), 3)).dense()
        given = [tensor.clone() for tensor in result.lists()]
        given[2][1, 0] = 9
        found = compare([[result]], [[packed(given, 2)]])
        assert not found.ok and found.mismatch is not None
        assert found.mismatch.index == (2, 1, 0) and (found.mismatch.expected, found.mismatch.got) == (9, 4)
        assert "differs at [2, 1, 0]: expected 9, found 4 (1 of 6 differ)" in found.detail
