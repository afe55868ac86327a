"""Sizes that are sums: where a lane begins, and what its share is, are products and quotients of the whole sum."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepagents.schedules.deliver import delivered
from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.programs import Tiled
from stepagents.schedules.search import ScheduleOptions, schedule_points, written_point
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.target import find_target
from stepagents.torchfn.trace import trace
from stepagents.traced.graph import TracedFunction
from stepcore.timing.hardware import PRESETS

SOURCE = """\
import torch
import torch.nn.functional as F

def convolved(x, w):  # stepsmith: x[B, K+2, M, M], w[N+2, K+2, 3, 3]
    return F.conv2d(x, w, padding=1)

def depthwise(x, w):  # stepsmith: x[B, K+2, M, M], w[K+2, 1, 3, 3]
    return F.conv2d(x, w, padding=1, groups=x.shape[1]) + x

def swiglu(x, wg, wu, wd):  # stepsmith: x[B, K+2], wg[K+2, N+2], wu[K+2, N+2], wd[N+2, K+2]
    return (F.silu(x @ wg) * (x @ wu)) @ wd
"""
SIZES = {"B": 4, "K": 6, "M": 8, "N": 14}
OPTIONS = ScheduleOptions(PRESETS["paper"])


@pytest.mark.parametrize(
    ("name", "form", "labels"),
    [
        ("convolved", "convolution", ("b", "f")),  # images and the loads of one
        ("convolved", "convolution", ("c",)),
        ("depthwise", "convolution", ("b",)),
        ("swiglu", "chain", ("c",)),
    ],
)
def test_lanes_of_sums_are_right(tmp_path: Path, name: str, form: str, labels: tuple[str, ...]) -> None:
    path = tmp_path / "sums.py"
    path.write_text(SOURCE, encoding="utf-8")
    target = find_target(str(path), SOURCE, name)
    sizes = {symbol: size for symbol, size in SIZES.items() if symbol in ("BKM" if name == "depthwise" else "BKMN")}
    if name == "swiglu":
        del sizes["M"]
    function = trace(target, completed(target, partly(target, [], sizes)))
    programs = dealt(function, form, labels)
    assert programs
    for program in programs[:2]:
        assert not delivered(function, target, program, tmp_path, ".step.py").fault


def dealt(function: TracedFunction, form: str, labels: tuple[str, ...]) -> list[Tiled]:
    """Return programs of a form with lanes of these labels."""
    found = []
    for point in schedule_points(function):
        if point.form != form or not set(labels) <= {lane.label for lane in point.lanes if lane.count > 1}:
            continue
        try:
            found.append(written_point(function, OPTIONS, point))
        except NoSchedule:
            continue
    return found
