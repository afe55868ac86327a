"""Sizes of checks follow the work that they make: what is right at small sizes is not refused for large ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from job_records import function

FILE = Path(__file__).parent / "torch_functions" / "transposed.py"


class Owner:
    cancelled = False

    def check(self) -> None: ...

    def progress(self, data: Any) -> None: ...


def found(name: str, **more: Any) -> dict[str, Any]:
    payload = {"path": str(FILE), "text": FILE.read_text(encoding="utf-8"), "selector": name, "trusted": True, **more}
    return function(payload, Owner())


@pytest.mark.parametrize("name", ["Even", "Odd"])
def test_work_that_is_large_at_the_sizes_of_the_trace_is_checked_at_smaller_ones(name: str) -> None:
    result = found(name, solutions=1)
    assert result["solved"], result["reason"]
    assert result["checked_at"]
    assert all(sizes["n"] * sizes["d"] * sizes["s"] ** 2 < 11 * 13 * 17**2 for sizes in result["checked_at"])
    assert any(max(sizes.values()) > 1 for sizes in result["checked_at"])
    assert result["fixed"] == {}
    # No zeros stand between elements; where the stride does not divide the result, the host leaves a little out.
    assert "stuff [" not in result["programs"][0]["text"]
    assert ("take [n, 10, 2*d - 1, 2*s - 1, 2*s - 1]" in result["programs"][0]["text"]) == (name == "Odd")


def test_sizes_that_are_asked_for_are_checked() -> None:
    result = found("Even", solutions=1, dims={"n": 2, "d": 2, "s": 3})
    assert {"n": 2, "d": 2, "s": 3} in result["checked_at"]
    assert "s_value = 3" in result["programs"][0]["text"] or "s: 3" in result["programs"][0]["text"]


def test_what_is_too_large_at_all_sizes_is_refused_with_the_smallest_and_a_way_out() -> None:
    result = found("Wide")
    assert not result["solved"]
    (item,) = result["unsupported"]
    assert "even with n=" in item["message"]
    assert "the smallest sizes that were tried" in item["message"]
    assert "n=11" not in item["message"]
    assert "--dims" in item["advice"]


def test_cheap_functions_are_checked_at_many_sizes(tmp_path: Path) -> None:
    file = tmp_path / "own.py"
    file.write_text("def f(x):  # stepsmith: x[n]\n    return x * 2\n", encoding="utf-8")
    payload = {"path": str(file), "text": file.read_text(encoding="utf-8"), "selector": "f", "trusted": True}
    result = function(payload, Owner())
    assert {sizes["n"] for sizes in result["checked_at"]} >= {1, 3, 5, 7, 11}


def test_a_weight_of_millions_is_no_reason_to_refuse() -> None:
    result = found("Heavy", solutions=1)
    assert result["solved"], result["reason"]
    assert result["notes"] == []
