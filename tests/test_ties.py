"""Equal values that ``topk`` or ``argmax`` chooses among are told where a program is not accepted."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from stepagents.jobs import tiled
from stepagents.schedules.deliver import Delivered
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.target import Target, find_target
from stepagents.torchfn.ties import tied_choice
from stepagents.torchfn.trace import trace
from stepagents.traced.graph import TracedFunction
from stepcore.timing.hardware import PRESETS

SOURCE = """\
import torch


def behind_relu(x, w):  # stepsmith: x[M, K], w[K, 8]
    scores = torch.relu(x @ w - 6)
    return scores.gather(1, scores.topk(2, dim=-1)[1]) + 1


def rounded(x):  # stepsmith: x[M, N]
    return x * torch.round(x / 8).argmax(1, keepdim=True)


def apart(x):  # stepsmith: x[M, N]
    return x.topk(2, dim=-1)[0]


def all_of_them(x):  # stepsmith: x[M, 2]
    return torch.relu(x).topk(2, dim=-1)[0]
"""


def found(folder: Path, name: str) -> tuple[Target, TracedFunction]:
    path = folder / "functions.py"
    path.write_text(SOURCE, encoding="utf-8")
    target = find_target(str(path), SOURCE, name)
    comment = SOURCE.split(f"def {name}(")[1].split("\n", maxsplit=1)[0]
    sizes = {symbol: 8 for symbol in "MKN" if symbol in comment}
    return target, trace(target, completed(target, partly(target, [], sizes)))


@pytest.mark.parametrize(
    ("name", "line", "operation"), [("behind_relu", "scores.gather", "topk"), ("rounded", "torch.round", "argmax")]
)
def test_equal_values_are_found(tmp_path: Path, name: str, line: str, operation: str) -> None:
    number = next(at for at, text in enumerate(SOURCE.splitlines(), 1) if line in text)
    assert tied_choice(found(tmp_path, name)[1], 1).startswith(f"line {number}: {operation} chooses among equal values")


@pytest.mark.parametrize("name", ["apart", "all_of_them"])
def test_what_has_none_is_not_blamed(tmp_path: Path, name: str) -> None:
    assert tied_choice(found(tmp_path, name)[1], 1) == ""


@pytest.mark.parametrize(("name", "is_told"), [("rounded", True), ("apart", False)])
def test_a_program_that_is_not_accepted_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, is_told: bool
) -> None:
    def refused(*_given: Any) -> Delivered:
        return Delivered("", (), False, fault="the delivered file is not accepted: other values")

    monkeypatch.setattr(tiled, "delivered", refused)
    target, traced = found(tmp_path, name)
    order = tiled.TiledOrder(traced, target, tmp_path, lambda _stage, _count: None, 1, PRESETS["default"])
    result = tiled.tiled_result(order)
    assert not result.solved and result.reason.startswith("the delivered file is not accepted: other values")
    assert ("argmax chooses among equal values" in result.reason) == is_told
