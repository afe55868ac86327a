"""Numbers of several traces as expressions of the symbols."""

from __future__ import annotations

import math
from itertools import combinations

import pytest

from stepagents.torchfn.fit import fit_scalar, fit_size
from stepagents.torchfn.refusals import Refused, refuse
from stepagents.torchfn.sizing import find_sizing
from stepcore.sizes.dim import Dim

BINDINGS = [{"m": 11, "k": 26, "h": 17}, {"m": 80, "k": 168, "h": 90}, {"m": 105, "k": 214, "h": 63}]
M, K, H = Dim.symbol("m"), Dim.symbol("k"), Dim.symbol("h")


@pytest.mark.parametrize(
    "size",
    [
        Dim.of(7),
        M,
        M * K,
        3 * M,
        K - 1,
        K // 2,
        M + K,
        M * K + 4,
        M * M,
        M * K * H,
        (H - 3) // 2 + 1,
        (H + 1) // 2,
        M - H,
    ],
    ids=str,
)
def test_a_size_is_found_again(size: Dim) -> None:
    values = [size.bind(sizes) for sizes in BINDINGS]
    found = fit_size(values, BINDINGS)
    assert found is not None
    for sizes in (*BINDINGS, {"m": 101, "k": 202, "h": 55}):
        assert found.bind(sizes) == size.bind(sizes)


def test_sizes_of_the_inputs_come_first() -> None:
    window = (H - 3) // 2 + 1
    pooled = (window - 2) // 2 + 1
    values = [pooled.bind(sizes) for sizes in BINDINGS]
    found = fit_size(values, BINDINGS, [M, window], [2])
    assert found is not None
    assert [found.bind({"m": 5, "k": 2, "h": h}) for h in range(9, 40)] == [
        pooled.bind({"m": 5, "k": 2, "h": h}) for h in range(9, 40)
    ]
    product = [(M * window).bind(sizes) for sizes in BINDINGS]
    assert fit_size(product, BINDINGS, [M, window]) == M * window


def test_what_follows_no_expression_is_none() -> None:
    assert fit_size([2, 1_000_003, 7], BINDINGS) is None
    assert fit_scalar([0.1, 0.7, 0.3], BINDINGS) is None


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([1 / math.sqrt(sizes["k"]) for sizes in BINDINGS], "k_value ** -0.5"),
        ([math.sqrt(sizes["k"] // 2) for sizes in BINDINGS], None),
        ([1 / sizes["m"] for sizes in BINDINGS], "1 / m_value"),
        ([3.0 / (sizes["m"] * sizes["k"]) for sizes in BINDINGS], "3 / (k_value*m_value)"),
        ([float(sizes["h"]) for sizes in BINDINGS], "1 * h_value"),
    ],
)
def test_a_number_that_follows_sizes(values: list[float], text: str | None) -> None:
    found = fit_scalar(values, BINDINGS)
    assert found is not None
    if text is not None:
        assert found == text
    for value, sizes in zip(values, BINDINGS, strict=True):
        names = {f"{name}_value": size for name, size in sizes.items()}
        assert eval(found, {}, names) == pytest.approx(value, rel=1e-12)


def needs(*conditions: str) -> object:
    def probe(sizes: dict[str, int]) -> None:
        for condition in conditions:
            if not eval(condition, {}, dict(sizes)):
                raise refuse("STEP603", f"fails with {dict(sizes)}", "f.py")

    return probe


def test_free_sizes_are_distinct_primes() -> None:
    found = find_sizing(["a", "b"], {}, [], needs())  # type: ignore[arg-type]
    assert len(set(found.base.values())) == 2
    assert not found.multiples and not found.numbers


def test_multiples_are_as_small_as_possible() -> None:
    found = find_sizing(["a", "b", "c"], {}, [], needs("a % 4 == 0", "b % 6 == 0"))  # type: ignore[arg-type]
    assert found.multiples == {"a": 4, "b": 6}
    assert all(sizes["a"] % 4 == 0 for sizes in found.variants())
    assert len({sizes["c"] for sizes in found.variants()}) == 4  # its own in two traces of its own, and the first one


def test_further_traces_tell_symbols_and_remainders_apart() -> None:
    names = [f"n{number}" for number in range(8)]
    found = find_sizing(names, {}, [], needs())  # type: ignore[arg-type]
    sizes = [dict(found.base), *found.variants()]
    for left, right in combinations(names, 2):
        assert len({size[left] > size[right] for size in sizes}) == 2
    for name in names:
        taken = {size[name] for size in sizes}
        assert {size % 3 for size in taken} == set(range(3))
        assert {size % 4 for size in taken} == set(range(4))
        alone = [size for size in sizes[1:] if all(size[other] == sizes[0][other] for other in names if other != name)]
        assert any(size[name] != sizes[0][name] for size in alone)


def test_a_size_that_weights_prescribe_is_a_number() -> None:
    found = find_sizing(["a", "b"], {}, [3, 14, 5], needs("b == 14"))  # type: ignore[arg-type]
    assert found.numbers == {"b": 14}
    assert set(found.base) == {"a"}
    assert "b=14" in found.fixed["b"]


def test_what_the_user_asks_for_is_tried() -> None:
    found = find_sizing(["a", "b"], {"a": 50, "b": 7}, [], needs("a == 50"))  # type: ignore[arg-type]
    assert found.numbers == {"a": 50}
    assert set(found.base) == {"b"}


def test_the_first_error_is_told() -> None:
    with pytest.raises(Refused, match="'a': 11"):
        find_sizing(["a"], {}, [], needs("False"))  # type: ignore[arg-type]
