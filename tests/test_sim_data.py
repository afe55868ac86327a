"""Streams as tensors: views, repetition without memory, and the places where it has to be expanded."""

from __future__ import annotations

import pytest
import torch

from sim_helpers import F32, data, one
from stepcore.findings.errors import SimError
from stepcore.sim.data import TensorData
from stepcore.types import Buffer


def test_insert_dim_repeats_without_memory() -> None:
    stream = data((3, 4))
    repeated = stream.insert_dim(1, 1000)
    assert repeated.sizes == (3, 1000, 4)
    assert repeated.components[0].shape == (4, 1, 3)
    assert torch.equal(one(repeated), one(stream).unsqueeze(1).expand(4, 1000, 3))


@pytest.mark.parametrize("position", [0, 1, 2])
def test_insert_dim_of_size_one_at_every_place(position: int) -> None:
    stream = data((3, 4))
    sizes = [3, 4]
    sizes.insert(position, 1)
    promoted = stream.insert_dim(position, 1)
    assert promoted.sizes == tuple(sizes)
    assert one(promoted).shape == tuple(reversed(sizes))


def test_merge_of_full_dims_is_a_view() -> None:
    stream = data((2, 3, 4))
    merged = stream.merge_dims(0, 1)
    assert merged.sizes == (6, 4)
    assert merged.components[0].data_ptr() == stream.components[0].data_ptr()
    assert torch.equal(one(merged), one(stream).reshape(4, 6))


def test_merge_of_repeated_dims_stays_compressed() -> None:
    stream = data((4,)).insert_dim(0, 3).insert_dim(0, 2)
    merged = stream.merge_dims(0, 1)
    assert merged.sizes == (6, 4)
    assert merged.components[0].shape == (4, 1)


def test_merge_of_mixed_dims_expands() -> None:
    stream = data((4,))
    merged = stream.insert_dim(0, 3).merge_dims(0, 1)
    assert merged.sizes == (12,)
    assert torch.equal(one(merged), one(stream).repeat_interleave(3))


def test_merge_of_one_dim_is_the_stream_itself() -> None:
    stream = data((2, 3))
    assert stream.merge_dims(1, 1) is stream


def test_split_is_the_inverse_of_merge() -> None:
    stream = data((2, 3, 4))
    again = stream.merge_dims(1, 2).split_dim(1, (3, 4))
    assert again.sizes == stream.sizes
    assert torch.equal(one(again), one(stream))


def test_split_of_a_repeated_dim_stays_compressed() -> None:
    split = data((4,)).insert_dim(0, 6).split_dim(0, (2, 3))
    assert split.sizes == (2, 3, 4)
    assert split.components[0].shape == (4, 1, 1)


def test_split_of_an_empty_dim() -> None:
    empty = TensorData((0,), F32, [torch.empty(0)])
    split = empty.split_dim(0, (2, 0))
    assert split.sizes == (2, 0)
    assert one(split).shape == (0, 2)


def test_split_into_another_size_is_refused() -> None:
    with pytest.raises(SimError) as caught:
        data((6,)).split_dim(0, (4, 2))
    assert caught.value.code == "STEP211"


def test_into_and_out_of_element() -> None:
    stream = data((2, 3, 4))
    buffers = stream.into_element(2, Buffer(F32, [2, 3]))
    assert buffers.sizes == (4,)
    assert torch.equal(one(buffers), one(stream))
    again = buffers.out_of_element(2, F32)
    assert again.sizes == (2, 3, 4)
    assert torch.equal(one(again), one(stream))


def test_stashed_repetition_comes_out_compressed() -> None:
    # The idiom Repeat, Bufferize, ..., Streamify costs no memory.
    stashed = data((4,)).insert_dim(0, 50).into_element(1, Buffer(F32, [50]))
    assert one(stashed).shape == (4, 50)
    assert stashed.components[0].stride()[1] == 0
    out = stashed.out_of_element(1, F32)
    assert out.sizes == (50, 4)
    assert out.components[0].shape == (4, 1)


def test_buffer_of_buffers_grows_outwards() -> None:
    stream = data((2, 5), Buffer(F32, [3]), (3,))
    bigger = stream.into_element(1, Buffer(F32, [3, 2]))
    assert bigger.sizes == (5,)
    assert one(bigger).shape == (5, 2, 3)
