"""Rewrites of what is routed: branches in one unit, tiles that are filled up and dynamic ones, and what stays."""

from __future__ import annotations

import ast
from difflib import ndiff
from random import Random

import pytest

from oracle import dense
from programs import count
from programs.filled import FRAMES as FILLED
from programs.filled import TRAPS as MIXED
from programs.filled import filled_module
from programs.running import assert_same_values
from programs.shared import ENDS, FRAMES, TRAPS, shared_module
from rewrite_pages import oracle_values, same_in_a_task, subject
from stepcore.rewrites import RewriteSite, RewriteSubject, applied
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.dynamic_tiles import DynamicTiles
from stepcore.rewrites.functions import WrittenFunction
from stepcore.rewrites.padded_tiles import PaddedTiles
from stepcore.rewrites.row_wise import is_row_wise
from stepcore.rewrites.shared_regions import ShareRegion
from stepcore.text.span import Embedded


def rewritten_once(rewrite: ExplainedRewrite, text: str, refused: str, changed: int) -> RewriteSubject | None:
    """Apply a rewrite at its one place in a file, of which no more lines change; None where that is refused, as it is
    to be. It computes the same, and cannot be rewritten so again."""
    old = subject(text)
    (place,) = rewrite.places(old)
    if refused:
        assert not isinstance(place, RewriteSite), text
        assert place.sentence
        return None
    assert isinstance(place, RewriteSite), (place.sentence, text)
    new = applied(old, place)
    assert new is not None, text
    assert not list(rewrite.sites(subject(new.text)))
    assert_same_values([dense(stream) for stream in oracle_values(new.text)], oracle_values(text))
    kept = [line for line in ndiff(text.splitlines(), new.text.splitlines()) if line.startswith("  ")]
    assert len(kept) >= len(text.splitlines()) - changed, new.text
    return new


def operators(found: RewriteSubject) -> list[str]:
    """The operators of a program."""
    return [node.op_name for node in found.graph.nodes]


def test_random_branches_compute_the_same_in_one_unit() -> None:
    tried = dict.fromkeys((*FRAMES, *TRAPS, *ENDS), 0)
    in_tasks = 0
    for seed in range(count(90)):
        module = shared_module(Random(seed))
        tried[module.refused or module.frame] += 1
        new = rewritten_once(ShareRegion(), module.text, module.refused, 4)
        if new is None:
            continue
        tried[module.end] += 1
        assert operators(new).count("Map") < operators(subject(module.text)).count("Map")
        if seed % 5 == 0:
            in_tasks += same_in_a_task(ShareRegion(), module.text, oracle_values(module.text))
    assert min(tried.values()) > 3, tried
    assert in_tasks > 5


def test_random_tiles_that_are_filled_up_compute_the_same_as_dynamic_ones_and_back() -> None:
    tried = dict.fromkeys((*FILLED, *MIXED, "back", "inside"), 0)
    in_tasks = opened = 0
    for seed in range(count(56)):
        module = filled_module(Random(seed))
        tried[module.refused or module.frame] += 1
        new = rewritten_once(DynamicTiles(), module.text, module.refused, 12)
        if new is None:
            continue
        assert "Reshape" not in operators(new)
        if seed % 6 == 1:
            opened += same_in_a_task(DynamicTiles(), module.text, oracle_values(module.text), changed=14)
        assert not list(PaddedTiles().sites(new)), "seven rows are fewer than a tile has"
        longer = new.text.replace("{M: 7}", "{M: 19}")
        text = _inline(longer) if seed % 2 else longer
        wanted = oracle_values(module.text.replace("{M: 7}", "{M: 19}"))
        for back in PaddedTiles().sites(subject(text)):
            again = applied(subject(text), back)
            assert again is not None, text
            assert_same_values([dense(stream) for stream in oracle_values(again.text)], wanted)
            tried["inside" if text != longer else "back"] += 1
        in_tasks += same_in_a_task(PaddedTiles(), longer, wanted) if seed % 6 == 0 else 0
    assert min(tried.values()) > 2, tried
    assert min(in_tasks, opened) > 2


def _inline(text: str) -> str:
    """Write what is done to tiles that only one function works on as one expression."""
    first = "step.Map(fn=alone).apply(step.Retile(axis=0).apply(step.Promote(b=1).apply(rows)))"
    line = f"tile = {first}\n"
    if "t0, t1" in text or line not in text:
        return text
    return text.replace(line, "pass\n").replace(".apply(tile)", f".apply({first})")


@pytest.mark.parametrize(
    ("body", "is_apart"),
    [
        ("return [input[0] @ input[1] + input[2]]", True),
        ("return [torch.matmul(input[0], input[1].T)]", True),
        ("row = input[0].amax(1, keepdim=True)\nreturn [torch.exp(input[0] - row)]", True),
        ("return [torch.mean(input[0] * 2, dim=-1, keepdim=True).to(torch.float32) / input[0]]", True),
        ("return [torch.where(input[0] > 0.5, input[0], -torch.inf)]", True),
        ("return [input[0] @ (input[1] * 0.5)]", True),
        ("return [input[1] @ input[0]]", False),  # a row of the result sums over rows
        ("return [input[0] @ input[0]]", False),
        ("return [input[0] + input[1]]", False),  # a matrix with as many rows as a tile of a fixed size
        ("return [input[0] - input[0].mean()]", False),
        ("return [input[0].sum(0, keepdim=True) + input[0]]", False),
        ("return [input[0].amax(1)]", False),  # no column: it would be spread over columns
        ("return [input[0] + input[0][:1]]", False),
        ("return [torch.softmax(input[0], dim=0)]", False),
        ("return [torch.clamp(input[0], max=torch.arange(4).reshape(-1, 1))]", False),
        ("return [input[0] * input[0].shape[0]]", False),
        ("return [input[0].T]", False),
        ("return [input[2]]", False),  # the same for all rows, however many there are
        ("return [torch.roll(input[0], 1)]", False),
        ("if input[0].sum() > 0:\n    return [input[0]]\nreturn [input[0] * 2]", False),
        ("input = [input[1]]\nreturn [input[0]]", False),
        ("return [input[0], input[0].sum(0, keepdim=True)]", False),
    ],
)
def test_which_functions_keep_rows_apart(body: str, is_apart: bool) -> None:
    tree = ast.parse(body)
    function = WrittenFunction("f", ("input",), ("T", "W", "B"), "T", None, tuple(tree.body), Embedded.whole(body))
    assert is_row_wise(function, (True, False, False), (False, False, True)) is is_apart
