"""Programs on chips: networks of graphs, what is told of them, and the commands."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from joined_programs import STOPPING
from oracle.timing import run_literally
from stepcore.check.files import check_text
from stepcore.check.programs import Checked
from stepcore.cli import chips
from stepcore.cli import time as command
from stepcore.cycles import timed as timing_of_programs
from stepcore.cycles.network_of import network_of
from stepcore.cycles.program_network import NotTimed, ProgramNetwork
from stepcore.cycles.report import TimedFile, picture
from stepcore.cycles.timed import busy, time_program
from stepcore.ops.parallelize import Parallelize
from stepcore.ops.random_off_chip_load import RandomOffChipLoad
from stepcore.text.span import SourceFile
from stepcore.timing.exact import Timing, run
from stepcore.timing.hardware import PRESETS
from stepcore.timing.stops import cure, with_depths
from timing_programs import assert_literal, drawn_program

ROOT = Path(__file__).parents[1]
FILES = sorted((*(ROOT / "benchmarks" / "tasks").glob("*.step.yaml"), *(ROOT / "examples").glob("*.py")))


def programs_of(path: Path) -> Iterator[Checked]:
    yield from check_text(path.read_text(encoding="utf-8"), str(path)).programs


def networked(checked: Checked, chip: str = "default") -> ProgramNetwork:
    return network_of(checked.spec, checked.typed, checked.spec.bindings(), PRESETS[chip])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_published_task_and_example_is_timed(path: Path) -> None:
    for checked in programs_of(path):
        program = time_program(checked, PRESETS["default"]).program  # in the order of arrival, where that decides
        exact = run(program.network)
        assert bool(exact.waiting) == (checked.name in STOPPING)
        assert exact.waiting or exact.cycles > 0
        assert not program.doubtful
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


SCRIPT = """\
import stepcore as step
from stepcore.dims import M, N

E0 = step.Stream("E0", step.f32, 1, [M, N])
print(step.Promote(b=0).apply(E0).rank)
"""

PUBLISHED_SCRIPTS = sorted((ROOT / "tests" / "published").glob("*.py"))


@pytest.mark.parametrize("path", PUBLISHED_SCRIPTS, ids=lambda path: path.stem)
def test_a_script_takes_the_cycles_of_its_task(path: Path) -> None:
    script = check_text(path.read_text(encoding="utf-8"), str(path)).script
    assert script is not None and script.runnable
    (task,) = programs_of(ROOT / "benchmarks" / "tasks" / f"{path.stem}.step.yaml")
    found, wanted = (time_program(checked, PRESETS["default"]) for checked in (script, task))
    assert found.timing.waiting == wanted.timing.waiting
    is_drawn = any(port.maximum is not None for port in task.spec.inputs)  # a task says how many branches are selected
    assert abs(found.timing.cycles - wanted.timing.cycles) <= 2 * is_drawn
    # Tensors that the functions of a script read have no sizes that anybody could look up.
    assert found.off_chip_bytes <= wanted.off_chip_bytes
    assert task.spec.parameters or found.off_chip_bytes == wanted.off_chip_bytes


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("from plots import plot; plot(E0)", "only a run tells what becomes of its streams"),
        ("plot(E0)", "has errors: run `stepsmith check`"),
        ("from plots import stack; stack([E0])", "only a run tells"),
        ("torch.stack([E0])", "has errors: run `stepsmith check`"),
        ("if E0.data: step.Promote(b=0).apply(E0)", "only a run tells"),
        ("while E0.data: step.Promote(b=0).apply(E0)", "has errors: run `stepsmith check`"),
        ("from plots import plot; step.Promote(b=0).apply(plot())", "only a run tells"),
        ("step.Promote(b=7).apply(E0)", "has errors: run `stepsmith check`"),
        ("a, b = step.Copy().apply(E0); step.Zip().apply((a, a))", "has errors: run `stepsmith check`"),
    ],
)
def test_a_script_that_cannot_be_followed_is_told_why(
    line: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT.rpartition("print")[0] + line + "\n", encoding="utf-8")
    assert command.run([str(script)], command.TimeOptions()) == 2
    assert words in capsys.readouterr().err


def test_a_script_is_timed_as_one_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    assert command.run([str(script)], command.TimeOptions()) == 0
    shown = capsys.readouterr().out
    assert "script.py::script on default, cycles: " in shown
    assert "Promote (line 5)" in shown
    assert command.run([f"{script}::script"], command.TimeOptions(dims={"M": 3})) == 2
    assert "--dims has no effect on a script" in capsys.readouterr().err
    assert command.run([f"{script}::sums"], command.TimeOptions()) == 2
    assert "there is no program sums in this file; there are script" in capsys.readouterr().err
    assert command.run([str(script)], command.TimeOptions(compare=("default", "paper"))) == 0
    assert "script on paper" in capsys.readouterr().out


def test_the_depths_that_are_told_let_it_run() -> None:
    for name in sorted(STOPPING):
        (checked,) = programs_of(ROOT / "benchmarks" / "tasks" / f"{name}.step.yaml")
        network = networked(checked).network
        depths = cure(network, run(network))
        assert not run(with_depths(network, depths)).waiting


STOPPED = {36, 86}  # of the random programs


@pytest.mark.parametrize("seed", [*range(23), *STOPPED])
def test_random_programs_are_timed_as_the_literal_engine_does(seed: int) -> None:
    """A sample of the campaign ``programs`` of ``make soak``."""
    network = drawn_program(seed).network
    timing = assert_literal(network)
    assert bool(timing.waiting) is (seed in STOPPED)
    fluid = run(network, fluid=True)
    assert bottleneck(fluid) == bottleneck(timing)
    assert fluid.waiting == timing.waiting


def bottleneck(timing: Timing) -> int:
    return max(range(len(timing.units)), key=lambda u: busy(timing.units[u]))


SUMS = """\
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
fns:
- {name: Add, func_name: fn_add, init: [0], input_dtype: fp32,
   output_dtype: fp32, apply: "return [state[0] + input[0]]"}
outputs:
- {name: S0, dtype: fp32, dims: [N], data_transform: ["return input_data['E0'].sum(-1)"]}
impl: |
  return step.Accum(fn=fn_add, b=1).apply(E0)
"""


UNROLLED = """\
inputs:
- {name: E0, dtype: fp32, dims: [M], data_gen: torch.randn}
fns:
- {name: Twice, func_name: fn_twice, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] * 2]"}
outputs:
- {name: S0, dtype: fp32, dims: [M], data_transform: ["return input_data['E0'] * 2 ** M_value"]}
impl: |
  E1 = E0
  for i in range(M_value):
      E1 = step.Map(fn=fn_twice).apply(E1)
  return E1
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
    assert command.run([str(path)], command.TimeOptions("default", False, {}, "text")) == 1
    shown = capsys.readouterr().out
    assert "norm_rms_scalars on default, stopped at cycle 46" in shown
    assert "Accum (line 37)" in shown
    assert "<- bottleneck" in shown
    assert "Copy (line 36): E2 is full (2)" in shown
    assert "depth 13 of E2 cures it" in shown


def test_a_trace_has_what_each_unit_did(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [ROOT / "examples" / "matmul.py", ROOT / "benchmarks" / "tasks" / "norm_rms_scalars.step.yaml"]
    out = tmp_path / "out.json"
    options = command.TimeOptions("default", format="json", trace=str(out))
    assert command.run(list(map(str, paths)), options) == 1
    rows = json.loads(capsys.readouterr().out)
    written = json.loads(out.read_text())
    assert [told["program"] for told in written["otherData"]["programs"]] == [row["program"] for row in rows]
    for process, row in enumerate(rows, 1):
        events = [event for event in written["traceEvents"] if event["pid"] == process]
        names = [event["args"]["name"] for event in events if event["name"] == "thread_name"]
        assert len(names) == len(row["units"])
        for thread, unit in enumerate(row["units"], 1):
            spans = [event for event in events if event["ph"] == "X" and event["tid"] == thread]
            for kind, key in (("work", "busy"), ("starved",) * 2, ("blocked",) * 2, ("memory",) * 2):
                assert sum(span["dur"] for span in spans if span["name"] == kind) == unit[key]
            for before, after in pairwise(spans):
                assert before["ts"] + before["dur"] == after["ts"]
        fills: dict[str, int] = {}
        for event in events:
            if event["ph"] == "C" and event["name"].startswith("fill of"):
                fills[event["name"]] = max(fills.get(event["name"], 0), event["args"]["tokens"])
        assert [fills.get(f"fill of {s['name'] or 'stream'} #{n}", 0) for n, s in enumerate(row["streams"])] == [
            stream["fill"] for stream in row["streams"]
        ]
    stopped = [event["args"] for event in written["traceEvents"] if event["name"] == "stopped"]
    assert {"waits for": "E2", "which is": "full"} in stopped


def test_two_programs_or_two_chips_side_by_side(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sums, rows = str(ROOT / "examples" / "sum_rows.py"), str(ROOT / "examples" / "matmul.py")
    chips_ = ("default", "paper")
    assert command.run([sums], command.TimeOptions(compare=chips_)) == 0
    shown = capsys.readouterr().out
    assert "sum_rows on default  sum_rows on paper  ratio" in shown
    assert "busy cycles of" in shown
    assert command.run([sums], command.TimeOptions(compare=chips_, format="json")) == 0
    (pair,) = json.loads(capsys.readouterr().out)
    one, other = pair["programs"]
    assert (one["hw"], other["hw"]) == chips_
    assert pair["ratios"]["cycles"] == round(other["cycles"] / one["cycles"], 4)
    out = tmp_path / "both.json"
    assert command.run([], command.TimeOptions(compare=(sums, rows), trace=str(out))) == 0
    assert [told["program"] for told in json.loads(out.read_text())["otherData"]["programs"]] == ["sum_rows", "matmul"]
    assert "busy cycles of" not in capsys.readouterr().out
    text = Path(sums).read_text()
    old, new = tmp_path / "old.py", tmp_path / "new.py"
    for file in (old, new):
        file.write_text(text)
    assert command.run([], command.TimeOptions(compare=(str(old), str(new)))) == 0
    assert f"{old}::sum_rows on default  {new}::sum_rows on default  ratio" in capsys.readouterr().out
    many = tmp_path / "many.py"
    many.write_text(text + text[text.index("@step.program") :].replace("sum_rows", "again"))
    wrong = [
        ([], command.TimeOptions(), "name the programs"),
        ([], command.TimeOptions(compare=chips_), "name the programs"),
        ([sums], command.TimeOptions(compare=("paper", rows)), "two programs or two chips"),
        ([sums], command.TimeOptions(compare=("paper", "decod")), "decod is neither a preset nor a .toml file"),
        ([sums], command.TimeOptions("paper", compare=chips_), "--compare names both chips: leave --hw out"),
        ([f"{many}::nope"], command.TimeOptions(), "there is no program nope in this file; there are sum_rows"),
        ([], command.TimeOptions(compare=(sums, "no.py")), "cannot be read"),
        ([], command.TimeOptions(compare=(str(many), sums)), f"holds 2 programs; name one of them: {many}::sum_rows"),
        ([sums], command.TimeOptions(compare=("default", "no.toml")), "no.toml: STEP506 the file cannot be read"),
        (["no.py"], command.TimeOptions(compare=chips_), "cannot be read"),
        ([sums], command.TimeOptions(trace="out.py"), "ends with .json"),
        ([sums], command.TimeOptions(trace=str(tmp_path / "no" / "out.json")), "cannot be written"),
        ([sums], command.TimeOptions(trace="a\0.json"), "cannot be written"),
    ]
    for texts, options, words in wrong:
        assert command.run(texts, options) == 2
        told = capsys.readouterr().err
        assert words in told
        assert told.count("\n") == 1


@pytest.mark.parametrize(
    ("task", "source", "words"),
    [
        ("expert_gated_merge", "drawn", "selectors are drawn with a seed"),
        ("etoe_top1_of_3", "every", "every chunk goes to every branch, an upper bound"),
        ("gemm_easy_outer_sum", "none", ""),
    ],
)
def test_the_command_says_where_routes_come_from(
    task: str, source: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(ROOT / "benchmarks" / "tasks" / f"{task}.step.yaml")
    command.run([path], command.TimeOptions(fluid=True))
    shown = capsys.readouterr().out
    assert words in shown
    assert ("selectors are" in shown) is bool(words)
    command.run([path], command.TimeOptions(fluid=True, format="json"))
    assert json.loads(capsys.readouterr().out)[0]["routes"] == source


def test_the_command_says_what_better_chips_would_bring(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    path = str(ROOT / "examples" / "swiglu_tiles.py")
    assert command.run([path], command.TimeOptions("default", format="json", what_if=True)) == 0
    (row,) = json.loads(capsys.readouterr().out)
    changes = {each["change"]: each["cycles"] for each in row["what_if"]}
    assert list(changes.values()) == sorted(changes.values())
    assert len(changes) == 5
    twice = tmp_path / "twice.toml"
    twice.write_text("base = 'default'\nonchip.bandwidth = 128\n", encoding="utf-8")
    assert command.run([path], command.TimeOptions(str(twice), format="json")) == 0
    (better,) = json.loads(capsys.readouterr().out)
    assert "what_if" not in better
    assert next(iter(changes.items())) == ("twice the on-chip bandwidth", better["cycles"])
    assert command.run([path], command.TimeOptions("default", what_if=True)) == 0
    shown = capsys.readouterr().out
    assert re.search(r"  what if:\n    twice the on-chip bandwidth +21,359  -50%\n", shown)
    assert re.search(r"\n    deep FIFOs, where the program says no depth +42,351  -\n", shown)
    assert command.run([path], command.TimeOptions(what_if=True, compare=("default", "paper"))) == 2
    assert "ask one of them" in capsys.readouterr().err
    assert command.run([path], command.TimeOptions(what_if=True, format="sarif")) == 2
    assert "--what-if has no findings" in capsys.readouterr().err
    stops = str(ROOT / "benchmarks" / "tasks" / "norm_rms_scalars.step.yaml")
    assert command.run([stops], command.TimeOptions("default", what_if=True)) == 1
    assert "  what if: nothing is tried on a program that stops\n" in capsys.readouterr().out
    assert command.run([stops], command.TimeOptions("default", what_if=True, format="json")) == 1
    assert json.loads(capsys.readouterr().out)[0]["what_if"] == []


def test_the_command_writes_rows(capsys: pytest.CaptureFixture[str]) -> None:
    path = ROOT / "examples" / "matmul.py"
    assert command.run([str(path)], command.TimeOptions("paper", True, {"M": 2}, "json")) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["program"], row["hw"], row["engine"], row["stopped"]) == ("matmul", "paper", "fluid", None)
    assert row["cycles"] == max(unit["end"] for unit in row["units"])
    assert row["off_chip_bytes"] == row["memory"]["bursts"] * 64
    assert sum(unit["bottleneck"] for unit in row["units"]) == 1
    assert row["flops"] == sum(unit["flops"] for unit in row["units"]) > 0
    assert row["memory"]["peak_bytes_per_cycle"] == 1024
    assert row["on_chip"]["bytes"] > 0
    # Each input and the result once: (7*9 + 16*9 + 7*16) * 2 numbers are 2552 bytes, at 1024 a cycle.
    assert row["bound"] == {"cycles": 3, "rules": "off-chip bandwidth", "ratio": round(row["cycles"] / 3, 4)}


@pytest.mark.parametrize(
    ("hw", "words"),
    [
        ("fast", "name a preset (default, validation, paper, decode) or a .toml file"),
        ("no.toml", "cannot be read"),
        ("bad.toml", "bad.toml:2: STEP506 fifo.depth is a whole number"),
    ],
)
def test_a_chip_that_is_none(
    hw: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad.toml").write_text("[fifo]\ndepth = 0\n", encoding="utf-8")
    assert command.run(["x.py"], command.TimeOptions(hw, False, {}, "text")) == 2
    assert chips.show(hw, "text") == 2
    assert capsys.readouterr().err.count(words) == 2


def test_chips_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert chips.show(None, "text") == 0
    assert "validation: 256 bytes per cycle off chip\n  fifo.depth = 1\n" in capsys.readouterr().out
    assert chips.show("validation", "json") == 0
    assert json.loads(capsys.readouterr().out)[0]["flops"] == {"silu": 1}


def test_the_chip_of_a_project_is_in_force_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.toml").write_text("base = 'paper'\nfifo.depth = 7\n", encoding="utf-8")
    (tmp_path / "stepsmith.toml").write_text("[timing]\nhw = 'mine.toml'\n", encoding="utf-8")
    (tmp_path / "sums.step.yaml").write_text(SUMS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert command.run(["sums.step.yaml"], command.TimeOptions(None, False, {}, "json")) == 0
    assert command.run(["sums.step.yaml"], command.TimeOptions("paper", False, {}, "json")) == 0
    rows = capsys.readouterr().out.split("]\n[")
    assert ['"hw": "mine"' in rows[0], '"hw": "paper"' in rows[1]] == [True, True]
    assert chips.show(None, "text") == 0
    shown = capsys.readouterr().out
    assert shown.count("bytes per cycle off chip") == len(PRESETS) + 1
    assert shown.splitlines()[-1].startswith(
        f"in force here: mine of {tmp_path}/mine.toml, as {tmp_path}/stepsmith.toml"
    )
    assert chips.show(None, "text", "mine.toml") == 0
    shown = capsys.readouterr().out
    assert shown == "mine, like paper: 1,024 bytes per cycle off chip\n  fifo.depth = 7  (instead of 2)\n\n"
    assert chips.show("paper", "text", "mine.toml") == 2
    assert chips.show("paper", "text") == 0
    assert "tokens: what a FIFO between two units holds; a whole number from 1 to 65,536" in capsys.readouterr().out
    assert chips.show(None, "json") == 0
    assert [row["name"] for row in json.loads(capsys.readouterr().out) if row["in_force"]] == ["mine"]
    (tmp_path / "mine.toml").write_text("\nfifo.depth = 0\n", encoding="utf-8")
    assert command.run(["sums.step.yaml"], command.TimeOptions(None, False, {}, "text")) == 2
    assert f"{tmp_path}/mine.toml:2: STEP506 fifo.depth is" in capsys.readouterr().err


def test_what_is_too_much_to_time_says_what_helps(monkeypatch: pytest.MonkeyPatch) -> None:
    (checked,) = programs_of(ROOT / "examples" / "sum_rows.py")
    chip = PRESETS["default"]
    with pytest.raises(NotTimed, match="too long to time: more than 100 steps"):
        time_program(checked, chip, budget=100)
    deep = replace(chip, fifo=replace(chip.fifo, depth=1 << 40))  # deeper than tokens pass costs nothing
    with monkeypatch.context() as patch:
        assert time_program(checked, deep).cycles
        patch.setattr(timing_of_programs, "MOST_SLOTS", 10)
        with pytest.raises(NotTimed, match="tokens together"):
            time_program(checked, deep)
    fast = replace(chip, memory=replace(chip.memory, dispatch=4097))
    with pytest.raises(
        NotTimed, match="dispatches 4,097 bursts a cycle, and 4,096 can be followed; give a smaller disp"
    ):
        time_program(checked, fast)
    slow = replace(chip, memory=replace(chip.memory, startup=1 << 54))
    with pytest.raises(NotTimed, match="cycles: give smaller sizes"):
        time_program(checked, slow)


def test_a_cure_that_would_take_too_long_is_said_to_be_missing() -> None:
    (checked,) = programs_of(ROOT / "benchmarks" / "tasks" / "norm_rms_scalars.step.yaml")
    timed = time_program(checked, PRESETS["default"], budget=2000)
    assert (timed.cycles, timed.cure) == (None, None)
    told = list(picture(TimedFile("a", SourceFile("a", "\n" * 5000), timed)))
    assert told[-1] == "  which depth of a FIFO lets it run would take too long to find; smaller sizes tell"


def test_a_stream_without_a_name_that_is_waited_for_is_called_by_its_operator() -> None:
    (checked,) = programs_of(ROOT / "benchmarks" / "tasks" / "norm_rms_scalars.step.yaml")
    timed = time_program(checked, PRESETS["default"])
    rings = [item.channel for item in timed.ring]
    for channel in rings:
        timed.program.network.channels[channel] = replace(timed.program.network.channels[channel], name="")
    told = "\n".join(picture(TimedFile("a", SourceFile("a", "\n" * 5000), timed)))
    assert len(re.findall(r": the result of \w+ is (?:empty|full)", told)) == len(rings) > 2
    assert re.search(r"depth \d+ of the result of \w+ would let it run", told)


def test_what_cannot_be_timed_says_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "sums.step.yaml"
    path.write_text(SUMS.replace("E0)", "E1)"), encoding="utf-8")
    assert command.run([str(path), str(tmp_path / "no.py")], command.TimeOptions("default", False, {}, "text")) == 2
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


def test_a_program_whose_graph_follows_a_size_is_timed_as_it_is_there(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "unrolled.step.yaml"
    path.write_text(UNROLLED, encoding="utf-8")
    for size in ("2", "3"):
        assert command.run([str(path)], command.TimeOptions("default", True, {"M": int(size)}, "json")) == 0
        (row,) = json.loads(capsys.readouterr().out)
        assert sum(unit["operator"] == "Map" for unit in row["units"]) == int(size)


@pytest.mark.parametrize(("dims", "words"), [({"Q": 3}, "no size is called so"), ({"E": 3}, "the file itself binds E")])
def test_sizes_that_cannot_be_set_are_refused_as_everywhere(
    dims: dict[str, int], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "sums.step.yaml"
    path.write_text("global: |\n  E_value = 2\n  ctx[E] = E_value\n" + SUMS, encoding="utf-8")
    assert command.run([str(path)], command.TimeOptions("default", False, dims, "text")) == 2
    assert words in capsys.readouterr().err


FOLLOWING = """\
@step.fn(input=step.i64, output=step.i64)
def following(input):
    return [input[0] * 1]


@step.program"""


def test_an_address_is_not_what_its_tile_hands_to_memory() -> None:
    """The tile that is loaded goes to memory, a result of this program; the address, 8 bytes, only to the load."""
    text = RandomOffChipLoad.example.replace("@step.program", FOLLOWING)
    text = text.replace(".apply(where)", ".apply(step.Map(fn=following).apply(where))")
    (checked,) = check_text(text, "file.py").programs
    chip = PRESETS["default"]
    narrow = replace(chip, onchip=replace(chip.onchip, bandwidth=1))
    program = network_of(checked.spec, checked.typed, checked.spec.bindings(), narrow)
    (terms,) = program.terms.values()
    assert (terms.given, terms.out) == (8, 0)


def test_elements_do_not_go_to_memory_by_the_selector_of_their_lanes() -> None:
    """What lanes compute goes to memory; what they compute it from does not, though their selector reaches there."""
    text = Parallelize.example.replace(".apply(E0)", ".apply(step.Map(fn=square).apply(E0))", 1)
    (checked,) = check_text(text, "file.py").programs
    chip = PRESETS["default"]
    narrow = replace(chip, onchip=replace(chip.onchip, bandwidth=1))
    program = network_of(checked.spec, checked.typed, checked.spec.bindings(), narrow)
    before, *lanes = (program.terms[index] for index in sorted(program.terms))
    assert (before.given, before.out) == (4, 0)
    assert [(each.given, each.out) for each in lanes] == [(0, 4), (0, 4)]
