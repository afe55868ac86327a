"""Elements that hold whole rows: random programs compute the same, the diff is small, what is in the way is said."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from oracle import dense
from programs import count
from programs.rowed import rowed_module
from programs.running import assert_same_values
from rewrite_pages import SECTIONS, as_task, oracle_values, returned, subject
from stepcore.rewrites import RewriteSite, RewriteSubject, applied
from stepcore.rewrites.whole_rows import WholeRows

ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("first", range(0, count(180), 30))
def test_random_programs_compute_the_same_over_whole_rows(first: int) -> None:
    kinds = dict.fromkeys(("kept", "rows", "in a task", "Streamify().apply", "Bufferize(a="), 0)
    for seed in range(first, first + 30):
        text = rowed_module(Random(seed))
        old = as_task(text) if seed % 3 == 0 else subject(text)
        wanted = oracle_values(text)
        for site in WholeRows().sites(old):
            new = applied(old, site)
            assert new is not None, f"{text}\n{site.sentence}"
            try:
                assert_same_values([dense(stream) for stream in returned(new)], wanted)
            except AssertionError as error:
                error.add_note(f"{seed}: {site.sentence}\n{new.text}")
                raise
            kinds[dict(site.params)["ends"]] += 1
            kinds["in a task"] += seed % 3 == 0
            for word in ("Streamify().apply", "Bufferize(a="):
                kinds[word] += new.text.count(word) > old.text.count(word)
    assert min(kinds.values()) > 3, kinds


def after(old: RewriteSubject, dimensions: int, *, ends: str = "rows") -> str:
    """The program with so many dimensions in its elements, the first site of this kind."""
    sites = [site for site in WholeRows().sites(old) if dict(site.params)["dimensions"] == str(dimensions)]
    new = applied(old, next(site for site in sites if dict(site.params)["ends"] == ends))
    assert new is not None
    return new.text


def task(name: str) -> RewriteSubject:
    """A task of the benchmarks."""
    path = ROOT / "benchmarks" / f"{name}.step.yaml"
    return subject(path.read_text(encoding="utf-8"), str(path))


def test_sums_of_products_become_products_of_matrices() -> None:
    text = after(task("tasks/bmm_row_scaling"), 2)
    assert "return [input[0] @ input[1]]" in text
    assert text[text.index("impl:") :].splitlines() == [
        "impl: |-", "  E6 = step.Zip().apply((E0, E1))", "  E7 = step.Map(fn=fn_add_scaled_rows_1).apply(E6)",
        "  return E7",
    ]  # fmt: skip
    matmul = subject((ROOT / "examples" / "matmul.py").read_text(encoding="utf-8"))
    text = after(matmul, 1)
    assert "return [input[0] @ input[1].T]" in text
    assert "columns = b  # all D columns of one batch stay on the chip" in text


def test_what_is_repeated_along_a_row_stands_beside_it() -> None:
    text = after(task("tasks/norm_rms_scalars"), 1)
    lines = text[text.index("impl:") :].splitlines()
    assert lines[1:] == [
        "  E1, E2 = step.Copy().apply(E0)", "  E3 = step.Map(fn=fn_add_square_rows_1).apply(E1)",
        "  E4 = step.Map(fn=fn_inverse_root).apply(E3)", "  E8 = step.Zip().apply((E2, E4))",
        "  E9 = step.Map(fn=fn_multiply).apply(E8)", "  return E9",
    ]  # fmt: skip
    assert '{name: E0, dtype: "Buffer(fp32, [D])", dims: [M, N], data_gen: torch.randn}' in text
    kept = after(task("tasks/norm_rms_scalars"), 1, ends="kept")
    assert "{name: E0, dtype: fp32, dims: [D, M, N], data_gen: torch.randn}" in kept
    assert "return step.Streamify().apply(E9)" in kept


def test_folds_of_more_than_the_row_stay_folds() -> None:
    text = after(task("tasks2/norm_group"), 1)
    assert "return [state[0] + torch.sum(input[0], -1)]" in text
    assert "step.Accum(fn=fn_sum_rows_1, b=1)" in text
    assert "return [torch.sum(input[0], (-1, -2))]" in after(task("tasks2/norm_group"), 2)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("return [state[0] + input[0] * input[0]]", "return [state[0] / 2 + input[0]]", "does not just join its state"),
        ("return [state[0] + input[0] * input[0]]", "return [state[0] + 1.0]", "as often as the row is long"),
        ("return [input[0] * input[1]]", "return [torch.round(input[0] * input[1], decimals=3)]", "calls round"),
        ("    whole, row", "    x = step.Scan(fn=add_square, b=1).apply(x)\n    whole, row", "takes single elements"),
    ],
)
def test_what_stands_in_the_way_of_rows_is_said(old: str, new: str, words: str) -> None:
    (text,) = [before for name, before, _ in SECTIONS if name == "whole-rows"]
    assert list(WholeRows().sites(subject(text)))
    assert old in text
    places = list(WholeRows().places(subject(text.replace(old, new))))
    assert [each for each in places if words in each.sentence], places


SHARED = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2.0]


@step.fn(input=(step.f32, step.f32), output=step.f32)
def both(input):
    return [input[0] + input[1]]


@step.program(dims={K: 6, M: 4}, data={"x": "torch.randn", "y": "torch.randn"})
def shared(
    x: Annotated[step.Stream, step.f32, (K, M)], y: Annotated[step.Stream, step.f32, (M,)]
) -> Annotated[step.Stream, step.f32, (K, M)]:
    rows = step.Map(fn=double).apply(x)
    ends = step.Repeat(n=K).apply(step.Map(fn=double).apply(y))
    return step.Map(fn=both).apply((rows, ends))
"""


def test_a_function_over_rows_and_over_numbers_is_written_twice() -> None:
    text = after(subject(SHARED), 1)
    assert "@step.fn(input=step.f32, output=step.f32)\ndef double(input):" in text
    assert "@step.fn(input=step.Buffer(step.f32, [K]), output=step.Buffer(step.f32, [K]))\ndef double_rows_1" in text
    assert "rows = step.Map(fn=double_rows_1).apply(x)" in text
    assert "ends = step.Map(fn=double).apply(y)" in text


def test_tuples_and_open_sizes_are_left_as_they_are() -> None:
    for name in ("moe_dynamic_tiles", "decode_attention", "mixture_of_experts"):
        old = subject((ROOT / "examples" / f"{name}.py").read_text(encoding="utf-8"))
        assert not [each for each in WholeRows().places(old) if isinstance(each, RewriteSite)]


def test_streams_of_one_dimension_are_told() -> None:
    old = subject((ROOT / "examples" / "swiglu.py").read_text(encoding="utf-8"))
    (place,) = WholeRows().places(old)
    assert place.sentence == "the one dimension of tokens has to stay outside of its elements"
