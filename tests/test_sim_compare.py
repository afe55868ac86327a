"""Comparison of results: the quick path and the exact one agree with ``torch.testing.assert_close``."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from stepcore.sim.compare import compare

INF, NAN = math.inf, math.nan

PAIRS = {
    "equal": (1.0, 1.0),
    "within the absolute tolerance": (0.0, 9e-6),
    "beyond the absolute tolerance": (0.0, 1.1e-5),
    "within the relative tolerance": (1000.0, 1000.001),
    "beyond the relative tolerance": (1000.0, 1000.003),
    "NaN": (NAN, 1.0),
    "NaN expected": (1.0, NAN),
    "both NaN": (NAN, NAN),
    "equal infinities": (INF, INF),
    "opposite infinities": (INF, -INF),
    "infinity": (INF, 1.0),
}


def close(result: Tensor, reference: Tensor) -> bool:
    try:
        torch.testing.assert_close(result, reference)
    except AssertionError:
        return False
    return True


@pytest.mark.parametrize("got, wanted", PAIRS.values(), ids=PAIRS.keys())
def test_agrees_with_assert_close(got: float, wanted: float) -> None:
    result, reference = torch.tensor([[2.0, got]]), torch.tensor([[2.0, wanted]])
    found = compare([[result]], [[reference]])
    assert found.ok == close(result, reference)
    assert (found.mismatch is None) == found.ok


def test_first_mismatch_and_largest_error() -> None:
    reference = torch.zeros(2, 3)
    result = reference.clone()
    result[0, 2], result[1, 0] = 0.5, -2.0
    found = compare([[reference], [reference, result]], [[reference], [reference, reference]])
    assert not found.ok
    assert found.max_abs_error == 2.0
    assert found.mismatch is not None
    place = found.mismatch
    assert (place.output, place.component, place.index, place.expected, place.got) == (1, 1, (0, 2), 0.0, 0.5)
    assert "2 of 6 differ" in found.detail


def test_largest_error_of_what_is_close() -> None:
    found = compare([[torch.tensor([1.0, 2.0])]], [[torch.tensor([1.0, 2.000005])]])
    assert found.ok
    assert found.max_abs_error == pytest.approx(5e-6, rel=0.1)


def test_nan_is_told_apart_from_numbers() -> None:
    both = compare([[torch.tensor([NAN])]], [[torch.tensor([NAN])]])
    assert "both are NaN" in both.detail
    assert both.max_abs_error == INF
    one = compare([[torch.tensor([NAN])]], [[torch.tensor([1.0])]])
    assert "both" not in one.detail


def test_mismatch_before_a_nan_does_not_hide_it() -> None:
    found = compare([[torch.tensor([5.0, NAN])]], [[torch.zeros(2)]])
    assert found.max_abs_error == INF
    assert found.mismatch is not None
    assert found.mismatch.index == (0,)


@pytest.mark.parametrize(
    "result, reference, word",
    [
        (torch.zeros(2), torch.zeros(3), "shape"),
        (torch.zeros(2), torch.zeros(2, 1), "shape"),
        (torch.zeros(2), torch.zeros(2, dtype=torch.float64), "dtype"),
        (torch.zeros(2), torch.zeros(2, dtype=torch.int64), "dtype"),
    ],
)
def test_other_tensors_than_expected(result: Tensor, reference: Tensor, word: str) -> None:
    found = compare([[result]], [[reference]])
    assert not found.ok
    assert word in found.detail
    assert found.max_abs_error == INF
    assert found.mismatch is None


def test_numbers_of_outputs_and_components() -> None:
    value = torch.zeros(1)
    assert not compare([[value]], [[value], [value]]).ok
    assert not compare([[value, value]], [[value]]).ok


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64, torch.bool])
def test_integers_are_exact(dtype: torch.dtype) -> None:
    ones, zeros = torch.ones(2, dtype=dtype), torch.zeros(2, dtype=dtype)
    assert compare([[ones]], [[ones]]).ok
    found = compare([[ones]], [[zeros]])
    assert not found.ok
    assert found.max_abs_error == 1.0


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_small_floats_have_their_tolerance(dtype: torch.dtype) -> None:
    near, far = torch.tensor([1.0005]).to(dtype), torch.tensor([1.1]).to(dtype)
    one = torch.ones(1, dtype=dtype)
    assert compare([[near]], [[one]]).ok == close(near, one)
    assert compare([[far]], [[one]]).ok == close(far, one)


def test_fp64_keeps_the_tolerance_of_fp32() -> None:
    one = torch.ones(1, dtype=torch.float64)
    assert compare([[one + 5e-6]], [[one]]).ok
    assert not compare([[one + 5e-5]], [[one]]).ok


def test_empty_tensors_are_equal() -> None:
    assert compare([[torch.empty(0, 3)]], [[torch.empty(0, 3)]]).ok


def test_broadcast_views_are_compared_in_full() -> None:
    result = torch.ones(1).expand(4)
    reference = torch.tensor([1.0, 1, 1, 2])
    found = compare([[result]], [[reference]])
    assert found.mismatch is not None
    assert found.mismatch.index == (3,)


def test_another_shape_dtype_or_number_has_its_own_code() -> None:
    whole = torch.zeros(2, 3)
    for results in ([[whole[:1]]], [[whole.double()]], [[whole, whole]], []):
        found = compare(results, [[whole]])
        assert not found.ok
        assert found.code == "STEP402"
    assert compare([[whole + 1]], [[whole]]).code == "STEP401"
    assert compare([[whole]], [[whole]]).code == ""
