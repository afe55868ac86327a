"""Symbolic sizes: arithmetic that agrees with integers, equality by normal form, and what Reshape asserts."""

from __future__ import annotations

import operator
from collections.abc import Callable

import pytest
import sympy  # type: ignore[import-untyped]
from hypothesis import given
from hypothesis import strategies as st

from stepcore.frontend.typetext import parse_size
from stepcore.sizes.dim import MAX_TERMS, Dim, DimError, Facts, exact_quotient, is_name, product

M, N, K, S = (Dim.symbol(name) for name in "MNKS")
VALUES = st.fixed_dictionaries({name: st.integers(1, 30) for name in "MNKS"})
LEAVES = st.one_of(st.sampled_from([M, N, K, S]), st.integers(-5, 9).map(Dim.of))
OPERATIONS: dict[str, Callable[[Dim, Dim], Dim]] = {"+": operator.add, "-": operator.sub, "*": operator.mul}
Expression = tuple[Dim, Callable[[dict[str, int]], int]]


def _leaf(size: Dim) -> Expression:
    return size, lambda values: values[str(size)] if size.constant is None else size.constant or 0


def _combine(left: Expression, name: str, right: Expression) -> Expression:
    apply = OPERATIONS[name]
    meaning: Callable[[int, int], int] = getattr(operator, apply.__name__)
    return apply(left[0], right[0]), lambda values: meaning(left[1](values), right[1](values))


def _divide(left: Expression, divisor: int) -> Expression:
    return left[0] // divisor, lambda values: left[1](values) // divisor


EXPRESSIONS: st.SearchStrategy[Expression] = st.recursive(
    LEAVES.map(_leaf),
    lambda inner: st.one_of(
        st.builds(_combine, inner, st.sampled_from(sorted(OPERATIONS)), inner),
        st.builds(_divide, inner, st.integers(1, 6)),
    ),
    max_leaves=8,
)


@given(EXPRESSIONS, VALUES)
def test_binding_is_evaluation(expression: Expression, values: dict[str, int]) -> None:
    size, meaning = expression
    assert size.bind(values) == meaning(values)


@given(EXPRESSIONS, VALUES)
def test_what_is_printed_reads_back_as_the_same_size(expression: Expression, values: dict[str, int]) -> None:
    size, meaning = expression
    parsed = parse_size(str(size))
    if size.constant is not None and size.constant <= 0:
        assert parsed.size is None
        return
    if parsed.size is None:  # zero and negative numbers inside are no sizes that a file may hold
        assert parsed.problem is not None
        assert len(str(size)) > 0
        return
    assert parsed.size == size
    assert str(parsed.size) == str(size)
    assert parsed.size.bind(values) == meaning(values)


@given(EXPRESSIONS, EXPRESSIONS)
def test_laws(left: Expression, right: Expression) -> None:
    a, b = left[0], right[0]
    assert a + b == b + a
    assert a * b == b * a
    assert a - a == 0
    assert a * 1 == a
    assert a * 0 == 0
    assert a + 0 == a
    assert a * (b + M) == a * b + a * M
    assert 0 - (0 - a) == a == a.__neg__().__neg__()
    assert hash(a + b) == hash(b + a)


@given(EXPRESSIONS, st.integers(1, 6), VALUES)
def test_exact_divisions_are_carried_out(expression: Expression, divisor: int, values: dict[str, int]) -> None:
    size = expression[0]
    assert (size * divisor) // divisor == size
    assert (size * K) // K == size
    assert (size // divisor).bind(values) == size.bind(values) // divisor


@given(EXPRESSIONS, VALUES)
def test_substitution_is_binding(expression: Expression, values: dict[str, int]) -> None:
    size = expression[0]
    assert size.substitute(lambda name: Dim.of(values[name])) == size.bind(values)
    assert size.substitute(lambda name: None) == size
    swapped = size.substitute(lambda name: N if name == "M" else M if name == "N" else None)
    assert swapped.substitute(lambda name: N if name == "M" else M if name == "N" else None) == size


@given(EXPRESSIONS)
def test_symbols(expression: Expression) -> None:
    size = expression[0]
    assert size.symbols() <= set("MNKS")
    assert (size.constant is not None) <= (not size.symbols())
    (size + 1).bind(dict.fromkeys(size.symbols(), 1))


def test_a_symbol_stands_alone() -> None:
    assert M.is_symbol
    assert not any(size.is_symbol for size in (M // 2, 2 * M, M * M, M + 1, M // N, Dim.of(1)))


def test_equality_is_structural() -> None:
    assert N * K == K * N
    assert M != 5
    assert M != N
    assert Dim.of(5) == 5
    assert hash(Dim.of(5)) == hash(5)
    assert hash(M + N - N) == hash(sympy.Symbol("M"))  # as published programs' symbols, by which they look sizes up
    assert 2 * (M // 2) != M
    assert (2 * M) // 2 == M
    assert (N * K) // K == N
    assert M // 1 == M
    assert M // M == 1
    assert (M != "M") is True
    assert {N * K: 1}[K * N] == 1


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (Dim.of(0), "0"),
        (Dim.of(-3), "-3"),
        (N * K, "K*N"),
        (N * N, "N*N"),
        (2 * N + 1, "2*N + 1"),
        (1 - N, "-N + 1"),
        (K // 4, "K//4"),
        (2 * (K // 4), "2*(K//4)"),
        ((N + 1) // 2, "(N + 1)//2"),
        (N * K // 4, "(K*N)//4"),
        (7 // M, "7//M"),
        (M - K // 2, "-(K//2) + M"),
        (K - M // 2, "K - M//2"),
    ],
)
def test_text(size: Dim, text: str) -> None:
    assert str(size) == text
    assert repr(size) == text


def test_operations_with_integers_on_the_left() -> None:
    assert (3 + N).bind({"N": 4}) == 7
    assert (3 - N).bind({"N": 4}) == -1
    assert (3 * N).bind({"N": 4}) == 12
    assert (9 // N).bind({"N": 4}) == 2


def test_nothing_is_added_without_work() -> None:
    size = M // 2 * N + 1
    nothing = Dim.of(0)
    assert size + 0 is size and 0 + size is size and nothing + size is size and sum([size], nothing) is size
    assert nothing + nothing == 0 and size - size == 0 and size - 0 is size


def test_errors() -> None:
    with pytest.raises(DimError, match="divides by zero"):
        M // 0
    with pytest.raises(DimError, match="divides by zero"):
        (M // (N - K)).bind({"M": 1, "N": 2, "K": 2})
    with pytest.raises(DimError, match="N has no value"):
        (M + N).bind({"M": 1})
    with pytest.raises(DimError, match="more than"):
        wide = product([M + N + K + S] * 5)
        _ = wide * wide
    assert len(product([M + N + K + S] * 4).terms) < MAX_TERMS
    with pytest.raises(DimError, match="divisions"):
        deep = M
        for _ in range(500):
            deep = (deep + 1) // 2


def test_product() -> None:
    assert product([]) == 1
    assert product([M, N, Dim.of(2)]) == 2 * N * M


def test_exact_quotient() -> None:
    assert exact_quotient(M + 1, M + 1) == 1
    assert exact_quotient(M, M + 1) is None
    half = exact_quotient(M, Dim.of(2))
    assert half is not None
    assert not half.is_integral
    assert half * 2 == M
    assert half.bind({"M": 6}) == 3
    with pytest.raises(DimError, match="whole number"):
        half.bind({"M": 5})


# -- what Reshape asserts ---------------------------------------------------------------------------------


def test_a_split_size_is_whole_again_only_after_the_assertion() -> None:
    facts = Facts()
    assert not facts.equal(S * (K // S), K)
    quotient = facts.assert_divides(S, K)
    assert quotient == K // S
    assert facts.equal(S * (K // S), K)
    assert facts.equal(N * S * (K // S), K * N)
    assert not facts.equal(M * (K // M), K)
    assert not facts.equal(K // S, K)


def test_a_factor_of_a_size_cancels_whatever_it_is_made_of() -> None:
    facts = Facts()
    rows, columns = M // 4, N // 8
    facts.assert_divides(Dim.of(4), M)
    facts.assert_divides(Dim.of(8), N)
    assert facts.assert_divides(columns, rows * columns) == rows


def test_integers_divide_the_size_too() -> None:
    facts = Facts()
    facts.assert_divides(Dim.of(4), K)
    assert facts.equal(4 * (K // 4), K)
    assert facts.equal(2 * (K // 4) + 2 * (K // 4), K)
    assert not facts.equal(2 * (K // 2), K)


def test_a_second_split_of_a_quotient() -> None:
    facts = Facts()
    first = facts.assert_divides(Dim.of(4), K)
    second = facts.assert_divides(Dim.of(2), first)
    assert facts.equal(4 * 2 * second, K)


@pytest.mark.parametrize(("divisor", "size"), [(4, 10), (3, 1), (11, 10)])
def test_indivisible_integers_are_an_error(divisor: int, size: int) -> None:
    with pytest.raises(DimError, match=f"{divisor} does not divide {size}"):
        Facts().assert_divides(Dim.of(divisor), Dim.of(size))
    assert Facts().assert_divides(Dim.of(divisor), Dim.of(divisor * size)) == size


def test_multiples_of_what_is_divided_are_divided_too() -> None:
    facts = Facts()
    facts.assert_divides(Dim.of(2), K)
    for size, same in (((M * K) // 2, M * (K // 2)), ((3 * K * N) // 2, 3 * N * (K // 2))):
        assert size != same
        assert facts.equal(size, same)
    for size, other in (((M * K) // 4, M * (K // 4)), ((N * M) // 2, N * (M // 2)), ((M * K + M) // 2, M * (K // 2))):
        assert not facts.equal(size, other)


def test_facts_can_be_taken_over() -> None:
    known, other = Facts(), Facts()
    known.assert_divides(S, K)
    assert not other.equal(S * (K // S), K)
    other.absorb(known)
    assert other.equal(S * (K // S), K)


@given(VALUES, st.sampled_from([2, 3, 4]))
def test_asserted_facts_hold_for_every_divisible_binding(values: dict[str, int], divisor: int) -> None:
    facts = Facts()
    quotient = facts.assert_divides(Dim.of(divisor), N * K + M)
    values["M"] = divisor * values["M"] - (values["N"] * values["K"]) % divisor
    assert facts.equal(quotient * divisor, N * K + M)
    assert facts.normalise(quotient * divisor).bind(values) == (quotient * divisor).bind(values)


def test_names_are_those_that_python_keeps() -> None:
    assert is_name("size_1")
    assert is_name("größe")
    assert not is_name("\u210b")  # Python reads an H for it
    assert not is_name("ﬁt")
    assert not any(map(is_name, ("1st", "lambda", "__size", "a b", "")))
