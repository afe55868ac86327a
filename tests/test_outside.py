"""What a body reads from outside: a name that it binds is its own, and no parameter is loaded for it."""

from __future__ import annotations

import pytest

from stepcore.check.files import check_text
from stepcore.costs.metrics import measure
from stepcore.cycles.timed import time_program
from stepcore.timing.hardware import PRESETS

FILE = """\
from typing import Annotated

import stepcore as step
from stepcore.dims import D, M


@step.fn(input=(step.Tile("fp32", [4, D]), step.Tile("fp32", [4, D])), output=step.Tile("fp32", [4, D]))
def plus(input):
    {body}


@step.program(dims={{M: 8, D: 6}})
def program(
    E0: Annotated[step.Stream, step.Tile("fp32", [4, D]), (1,)],
    *,
    x: Annotated[step.Param, step.f32, (D, 4)],
    y: Annotated[step.Param(written=True), step.f32, (D, 4)],
):
    tiles = step.LinearOffChipLoad(tensor=x, tile=[4, D], shape=[1]).apply()
    step.LinearOffChipStore(tensor=y).apply(step.Map(fn=plus).apply((E0, tiles)))
"""
OWN = [
    "x = input[0]\n    return [x + 1]", "y = input[0]\n    return [y + 1]",
    "for x in range(2):\n        z = x\n    return [input[0] + 1]",
    "return [input[0] + sum([x for x in [1]])]",
]  # fmt: skip
READ = [
    "return [input[0] + x]", "return [input[0] + sum([x for x in [1]]) * x]",
    "def twice(x):\n        return 2 * x\n    return [twice(input[0]) + x]",
]  # fmt: skip


@pytest.mark.parametrize("body", OWN)
def test_a_name_of_the_body_is_no_parameter(body: str) -> None:
    assert _cost(body) == _cost("return [input[0] + 1]")


@pytest.mark.parametrize("body", READ)
def test_a_parameter_that_is_read_is_loaded(body: str) -> None:
    moved, _, is_loaded = _cost(body)
    others_moved, _, is_loaded_without = _cost("return [input[0] + 1]")
    assert moved == others_moved + 4 * 4 * 6
    assert is_loaded and not is_loaded_without


def _cost(body: str) -> tuple[int, int | None, bool]:
    """Return bytes that move, cycles, and whether the memory of a parameter is loaded."""
    found = check_text(FILE.format(body=body), "case.step.py")
    assert [item.code for item in found.diagnostics if item.severity.value == "error"] == []
    (program,) = found.programs
    timed = time_program(program, PRESETS["paper"])
    moved = measure(program.spec, program.typed).off_chip.value
    assert moved is not None
    return moved, timed.cycles, any(unit.name == "load x" for unit in timed.timing.units)
