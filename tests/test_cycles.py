"""Programs on chips: networks of graphs, what is told of them, and the commands."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from joined_programs import STOPPING
from oracle.timing import run_literally
from programs import generate, impl_text, task_text
from stepcore.check.files import check_text
from stepcore.check.programs import Checked
from stepcore.cli import time as command
from stepcore.cycles.network_of import ProgramNetwork, network_of
from stepcore.timing.exact import run
from stepcore.timing.hardware import PRESETS
from stepcore.timing.stops import cure, with_depths

ROOT = Path(__file__).parents[1]
FILES = sorted((*(ROOT / "benchmarks" / "tasks").glob("*.step.yaml"), *(ROOT / "examples").glob("*.py")))


def programs_of(path: Path) -> Iterator[Checked]:
    yield from check_text(path.read_text(encoding="utf-8"), str(path)).programs


def networked(checked: Checked, chip: str = "default") -> ProgramNetwork:
    return network_of(checked.spec, checked.typed, checked.spec.bindings(), PRESETS[chip])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_published_task_and_example_is_timed(path: Path) -> None:
    for checked in programs_of(path):
        program = networked(checked)
        exact = run(program.network)
        assert bool(exact.waiting) == (checked.name in STOPPING)
        assert exact.waiting or exact.cycles > 0
        assert program.unknown == []
        fluid = run(program.network, fluid=True)
        assert exact.waiting or abs(fluid.cycles / exact.cycles - 1) < 0.08
        if exact.cycles < 1000:
            literal = run_literally(program.network)
            assert (exact.cycles, exact.bursts) == (literal.cycles, literal.bursts)
            assert [(w.unit, w.channel, w.reason) for w in exact.waiting] == literal.waiting


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_stops_is_what_checking_warns_of(path: Path) -> None:
    result = check_text(path.read_text(encoding="utf-8"), str(path))
    warned = any(found.code == "STEP501" for found in result.diagnostics)
    assert warned == any(program.name in STOPPING for program in result.programs)


def test_the_depths_that_are_told_let_it_run() -> None:
    for name in sorted(STOPPING):
        (checked,) = programs_of(ROOT / "benchmarks" / "tasks" / f"{name}.step.yaml")
        network = networked(checked).network
        depths = cure(network, run(network))
        assert not run(with_depths(network, depths)).waiting


@pytest.mark.parametrize("seed", range(25))
def test_random_programs_are_timed_as_the_literal_engine_does(seed: int) -> None:
    program = generate(Random(seed), 8)
    checked = check_text(task_text(program, impl_text(program, Random(seed))), "t.step.yaml").programs[0]
    made = networked(checked, ("default", "validation", "paper", "decode")[seed % 4])
    exact = run(made.network)
    if exact.cycles > 3000:
        pytest.skip("too long for the literal engine")
    literal = run_literally(made.network)
    assert (exact.cycles, exact.bursts) == (literal.cycles, literal.bursts)
    assert [(w.unit, w.channel, w.reason) for w in exact.waiting] == literal.waiting


SUMS = """\
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
fns:
- {name: Add, func_name: fn_add, init: [0], input_dtype: fp32,
   output_dtype: fp32, apply: "return [state[0] + input[0]]"}
outputs:
- {name: S0, dtype: fp32, dims: [N], data_transform: ["return [input_data['E0'].sum(-1)]"]}
impl: |
  return step.Accum(fn=fn_add, b=1).apply(E0)
"""


def test_small_elements_move_in_blocks(tmp_path: Path) -> None:
    """4 x 3 numbers are one block: asked for at 0, back at 20, a number in each cycle, the sums stored from then on."""
    (tmp_path / "sums.step.yaml").write_text(SUMS, encoding="utf-8")
    (checked,) = programs_of(tmp_path / "sums.step.yaml")
    chip = PRESETS["default"]
    chip = replace(chip, fifo=replace(chip.fifo, depth=3))  # so that an element passes in each cycle
    program = network_of(checked.spec, checked.typed, {"M": 4, "N": 3}, chip)
    timing = run(program.network)
    names = {unit.name: unit for unit in timing.units}
    assert names["load E0"].clock == 20
    assert names["elements of E0"].worked == 12
    assert names["Accum"].worked == 12
    assert timing.bursts == 1 + 1
    # The last number is seen at 32 and added; the sum is seen at 34, moves for a cycle, and is stored in 20.
    assert timing.cycles == 34 + 1 + 20


def test_the_command_draws_a_bar_for_each_unit(capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "benchmarks" / "tasks" / "norm_rms_scalars.step.yaml"
    assert command.run([str(path)], "default", {}, "text", fluid=False) == 1
    shown = capsys.readouterr().out
    assert "norm_rms_scalars on default, stopped at cycle 46" in shown
    assert "Accum (line 36)" in shown
    assert "<- bottleneck" in shown
    assert "Copy (line 35): E2 is full (2)" in shown
    assert "depth 13 of E2 would let it run" in shown


def test_the_command_writes_rows(capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "examples" / "matmul.py"
    assert command.run([str(path)], "paper", {"M": 2}, "json", fluid=True) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["program"], row["hw"], row["engine"], row["stopped"]) == ("matmul", "paper", "fluid", None)
    assert row["cycles"] == max(unit["end"] for unit in row["units"])
    assert row["off_chip_bytes"] == row["memory"]["bursts"] * 64
    assert sum(unit["bottleneck"] for unit in row["units"]) == 1


@pytest.mark.parametrize(
    ("hw", "words"),
    [
        ("fast", "name a preset (default, validation, paper, decode) or a .toml file"),
        ("no.toml", "cannot be read"),
        ("bad.toml", "bad.toml:2: fifo.depth is a whole number"),
    ],
)
def test_a_chip_that_is_none(
    hw: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("[fifo]\ndepth = 0\n", encoding="utf-8")
    assert command.run(["x.py"], hw, {}, "text", fluid=False) == 2
    assert command.show(hw, "text") == 2
    assert capsys.readouterr().err.count(words) == 2


def test_chips_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.show(None, "text") == 0
    assert "validation: 256 bytes per cycle off chip\n  fifo.depth = 1\n" in capsys.readouterr().out
    assert command.show("validation", "json") == 0
    assert json.loads(capsys.readouterr().out)[0]["flops"] == {"silu": 1}


def test_what_cannot_be_timed_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sums.step.yaml"
    path.write_text(SUMS.replace("E0)", "E1)"), encoding="utf-8")
    assert command.run([str(path), str(tmp_path / "no.py")], "default", {}, "text", fluid=False) == 2
    shown = capsys.readouterr().err
    assert "has errors: run `stepsmith check`" in shown
    assert "cannot be read" in shown


def test_time_does_not_grow_with_what_repeats() -> None:
    (checked,) = programs_of(ROOT / "examples" / "sum_rows.py")
    sizes = checked.spec.bindings()
    small, large = (
        run(network_of(checked.spec, checked.typed, {**sizes, "N": rows}, PRESETS["default"]).network)
        for rows in (10_000, 1_000_000)
    )
    assert large.channels[0].taken == 100 * small.channels[0].taken
    assert large.instructions < 2 * small.instructions
    assert large.cycles > 99 * small.cycles
