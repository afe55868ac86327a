"""What timing finds in programs: golden files of each code, fixes that hold, and comments that ignore a finding."""

from __future__ import annotations

import json
import os
from pathlib import Path
from random import Random
from typing import Final

import pytest

from golden_files import code_of, expected_path, files, place, render_found
from stepcore.check.files import CheckResult, check_text
from stepcore.chips.keys import HardwareError
from stepcore.chips.reader import read_hardware
from stepcore.cli import time
from stepcore.cycles.findings import findings
from stepcore.cycles.timed import Timed, time_program
from stepcore.findings.codes import CODES
from stepcore.findings.diagnostics import Diagnostic, Severity, apply_edits
from stepcore.text.span import SourceFile, Span
from stepcore.timing.deeper import Saving, saving
from stepcore.timing.exact import run
from stepcore.timing.hardware import PRESETS, Hardware
from stepcore.timing.stops import with_depths
from timing_networks import diamond, drawn, drawn_arrival

FOLDER: Final = Path(__file__).parent / "golden" / "time"
SOURCES: Final = sorted(path for path in files(FOLDER) if path.suffix != ".expected")
CHIP: Final = "# chip: "


def chip_of(text: str) -> Hardware:
    """The chip that the first line of a golden program describes, the default one otherwise."""
    first = text.partition("\n")[0]
    return read_hardware(first.removeprefix(CHIP), "golden") if first.startswith(CHIP) else PRESETS["default"]


def timed_of(text: str, path: str, chip: Hardware | None = None) -> tuple[Timed, CheckResult]:
    result = check_text(text, path)
    assert not [item for item in result.diagnostics if item.severity is Severity.ERROR]
    return time_program(result.programs[0], chip or chip_of(text)), result


def found_in(text: str, path: str) -> tuple[list[Diagnostic], SourceFile]:
    """What is found in a golden file: a program that is timed, or the description of a chip."""
    if not path.endswith(".toml"):
        timed, result = timed_of(text, path)
        return findings(timed, result), result.source
    with pytest.raises(HardwareError) as refused:
        read_hardware(text, "golden")
    source = SourceFile(path, text)
    start = source.offset(refused.value.line - 1, 0)
    return [Diagnostic("STEP506", Span(start, source.offset(refused.value.line, 0)), str(refused.value))], source


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_golden(path: Path) -> None:
    """STEP502, STEP503, STEP504, STEP505, STEP506 and STEP507, each as a user sees it."""
    found, source = found_in(path.read_text(encoding="utf-8"), path.name)
    assert [item.code for item in found] == [code_of(path)]
    assert all(item.severity is CODES[item.code].severity for item in found)
    shown = render_found(source, found)
    if os.environ.get("STEPSMITH_UPDATE_GOLDEN") == "1":
        expected_path(path).write_text(shown, encoding="utf-8")
    assert shown == expected_path(path).read_text(encoding="utf-8")


def test_each_code_of_timing_has_a_golden_file() -> None:
    assert {code_of(path) for path in SOURCES} == {code for code, info in CODES.items() if info.timed}
    assert {expected_path(path) for path in SOURCES} | set(SOURCES) == files(FOLDER)


@pytest.mark.parametrize("path", [path for path in SOURCES if path.suffix != ".toml"], ids=lambda path: path.name)
def test_a_fix_does_what_its_title_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    for item in found_in(text, path.name)[0]:
        if item.fix is None:
            continue
        before, after = (timed_of(each, path.name)[0] for each in (text, apply_edits(text, list(item.fix.edits))))
        assert after.cycles is not None
        assert before.cycles is None or after.cycles < before.cycles
        if before.cycles is not None:
            assert f"saves {before.cycles - after.cycles} of {before.cycles} cycles" in item.message
        again = [
            found.message.partition(":")[0] for found in found_in(apply_edits(text, list(item.fix.edits)), path.name)[0]
        ]
        assert item.message.partition(":")[0] not in again  # another FIFO may be worth it then


@pytest.mark.parametrize("path", [path for path in SOURCES if path.suffix != ".toml"], ids=lambda path: path.name)
def test_comments_silence_a_finding_and_checking_does_not_call_them_needless(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found, source = found_in(text, path.name)
    lines = text.split("\n")
    line, _ = source.line_col(found[0].span.start)
    if lines[line].endswith("("):
        return  # the call goes on below
    lines[line] += f"  # stepsmith: ignore[{code_of(path)}]"
    silenced = "\n".join(lines)
    assert found_in(silenced, path.name)[0] == []
    assert not [item for item in check_text(silenced, path.name).diagnostics if item.code == "STEP909"]


@pytest.mark.parametrize("name", ["norm_layer_scalars", "norm_rms_scalars"])
def test_what_cures_a_stop_leaves_no_warning_of_one(name: str) -> None:
    """The depth is a size of the program: a number would do for its own sizes only, and STEP501 would say so."""
    path = FOLDER.parents[2] / "benchmarks" / "tasks" / f"{name}.step.yaml"
    (stop,), source = found_in(path.read_text(encoding="utf-8"), path.name)
    assert stop.fix is not None
    assert stop.fix.title.startswith("Write depth=D: ")
    mended = check_text(apply_edits(source.text, list(stop.fix.edits)), path.name)
    assert [item.code for item in mended.diagnostics] == []


def test_trials_of_depths_are_bounded_and_may_be_left_out() -> None:
    timed, result = timed_of(*_text("STEP503_a_sum_beside_six_elements.step.yaml"))
    assert findings(timed, result, steps=0) == []
    assert [item.code for item in findings(timed, result, steps=timed.timing.instructions // 2)] == []


def _text(name: str) -> tuple[str, str]:
    return (FOLDER / name).read_text(encoding="utf-8"), name


def test_what_a_program_keeps_on_chip() -> None:
    """A buffer of 600 numbers twice and the one that comes in; two numbers for the load and the store each."""
    timed, _ = timed_of(*_text("STEP504_rows_in_buffers.step.yaml"))
    kept = timed.kept
    assert (list(kept.nodes.values()), kept.ends, kept.parameters, kept.unknown) == ([4 + 2 * 2400, 0], 16, 0, ())
    assert kept.bytes == 4 + 4800 + 16
    assert kept.fifos == 2 * 4 + 2 * 2400 + 2 * 4  # each holds two elements


# -- the fourth micro-case ------------------------------------------------------------------------------------


def test_seven_instead_of_six_save_six_of_79_cycles() -> None:
    network = diamond(6)
    direct, out = (next(f for f, c in enumerate(network.channels) if c.name == name) for name in ("direct", "out"))
    timing = run(network)
    assert timing.cycles == 79
    assert saving(network, timing, range(6), limit=10**6) == Saving(direct, 7, 6)
    assert saving(network, timing, [out], limit=10**6) is None  # what comes out is taken at once
    assert saving(diamond(7), run(diamond(7)), [direct], limit=10**6) is None  # more saves nothing


@pytest.mark.parametrize(("name", "cycles"), [("a.drawn.7", 217), ("b.drawn_arrival.3", 849)])
def test_what_a_depth_saves_is_told_of_that_depth(name: str, cycles: int) -> None:
    """With memory or arrival in between, unlimited depth may save less than some do."""
    network = (drawn_arrival if "arrival" in name else drawn)(Random(name))
    timing = run(network)
    found = saving(network, timing, range(len(network.channels)), limit=10**7)
    assert found is not None
    assert found.cycles == cycles
    assert run(with_depths(network, {found.channel: found.depth})).cycles == timing.cycles - cycles


def test_golden_places() -> None:
    """Positions are those of the file, although the answer of a task is a block in it."""
    found, source = found_in(*_text("STEP502_direct_beside_a_sum.step.yaml"))
    assert place(source, found[0].span).startswith("23:16-")


# -- the command ----------------------------------------------------------------------------------------------


def test_the_command_tells_findings_in_each_format(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    stops, hint = (tmp_path / name for name in ("stops.step.yaml", "hint.step.yaml"))
    stops.write_text(_text("STEP502_direct_beside_a_sum.step.yaml")[0], encoding="utf-8")
    hint.write_text(_text("STEP503_a_sum_beside_six_elements.step.yaml")[0], encoding="utf-8")
    assert time.run([str(hint)], time.TimeOptions("default")) == 0  # a hint makes no command fail
    assert f"{hint}:23:16: hint[STEP503] direct: depth 9 instead of 6 saves 8 of 86 cycles" in capsys.readouterr().out
    assert time.run([str(stops)], time.TimeOptions("default")) == 1
    shown = capsys.readouterr().out
    assert f"{stops}:23:16: error[STEP502] stopped at cycle 25" in shown
    assert shown.count("depth 6 of direct cures it") == 1
    assert time.run([str(stops), str(hint)], time.TimeOptions("default", format="json")) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [[item["code"] for item in row["diagnostics"]] for row in rows] == [["STEP502"], ["STEP503"]]
    assert rows[0]["diagnostics"][0]["fix"]["edits"][0]["newText"] == "depth=6"
    assert rows[1]["on_chip"] == {"bytes": 20, "parameters": 0, "fifos": 4 * (6 + 6 + 2 + 2 + 2 + 2), "capacity": None}
    assert time.run([str(stops), str(hint)], time.TimeOptions("default", format="sarif")) == 1
    (log,) = json.loads(capsys.readouterr().out)["runs"]
    assert [result["ruleId"] for result in log["results"]] == ["STEP502", "STEP503"]


def test_a_configuration_says_how_grave_a_finding_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("hint.step.yaml").write_text(_text("STEP503_a_sum_beside_six_elements.step.yaml")[0], encoding="utf-8")
    Path("stepsmith.toml").write_text('[severity]\nSTEP503 = "error"\n', encoding="utf-8")
    assert time.run(["hint.step.yaml"], time.TimeOptions("default")) == 1
    Path("small.toml").write_text("onchip.capacity = 16\n", encoding="utf-8")
    Path("stepsmith.toml").write_text("ignore = ['STEP503']\n", encoding="utf-8")
    assert time.run(["hint.step.yaml"], time.TimeOptions("small.toml")) == 1
    shown = capsys.readouterr().out
    assert "error[STEP503]" in shown and "hint[STEP503]" not in shown
    assert "warning[STEP504]" in shown
    assert "needs 20 bytes on chip of 16 bytes; most: loads and stores, 16 bytes" in shown
