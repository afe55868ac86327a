"""Programs that were found are ranked by their cycles, and shown with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from cli_inputs import GOOD, ILL_TYPED, TASK
from stepagents.cli.cycles import ranked, timed_text
from stepagents.cli.synth_function import FunctionOptions, FunctionRow, _explain, _rank
from stepcore.cli.beside import Beside
from stepcore.jobdata.writing import FunctionResult, Solution

SLOW = """\
impl: |-
  E1, E2 = step.Copy().apply(E0)
  E3 = step.Map(fn=fn_double).apply(step.Identity().apply(step.Identity().apply(E1)))
  E4 = step.Zip().apply((step.Identity().apply(E3), E2))
  return step.Accum(fn=fn_sum, b=1).apply(E4)
"""


def test_the_fastest_come_first_and_what_is_not_timed_last(tmp_path: Path) -> None:
    def timing(impl: str) -> Beside:
        return timed_text(TASK, "double_rows.step.yaml", tmp_path / "a", impl)

    pairs = ranked([ILL_TYPED, SLOW, GOOD], timing)
    assert [impl for impl, _ in pairs] == [GOOD, SLOW, ILL_TYPED]
    assert pairs[2][1].problem == "checking finds errors in it"
    fast, slow = (found.cycles for _, found in pairs[:2])
    assert fast is not None and slow is not None and fast < slow
    assert ranked([SLOW, SLOW + " "], timing)[0][0] == SLOW, "of equally fast ones the order stays"


def test_a_file_of_several_programs_has_no_figure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (Path(__file__).parents[1] / "examples" / "sum_rows.py").read_text(encoding="utf-8")
    again = text + text[text.index("@step.program") :].replace("sum_rows", "again")
    timed = timed_text(text, "a.py", tmp_path / "a")
    assert timed.cycles == 362
    assert timed.memory.startswith("off chip: 1,536 bytes, 0.4% of the memory's bandwidth; on chip: ")
    with monkeypatch.context() as patch:
        patch.delattr("stepcore.cli.beside.time_program")  # a network may have many
        assert "stepsmith time" in timed_text(again, "a.py", tmp_path / "a").line
    (tmp_path / "stepsmith.toml").write_text("[timing]\nhw = 'decode'\n", encoding="utf-8")
    assert " on decode, " in timed_text(text, "a.py", tmp_path / "a").line


def test_functions_say_what_rules(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    text = (Path(__file__).parents[1] / "examples" / "sum_rows.py").read_text(encoding="utf-8")
    slow = text.replace("step.Bufferize(a=1).apply(E0)", "step.Bufferize(a=1).apply(step.Identity().apply(E0))")
    programs = [Solution("", 2, 1, 2, None, 3, None, {}, each, "as it is") for each in (slow, text)]
    row = FunctionRow(f"{tmp_path}/a.py::f", str(tmp_path / "a.py"))
    row.found = FunctionResult(
        "f", row.path, 1, True, tuple(programs), (), (), {}, None, {}, "", 2, (), 0.1, "", None, 0.0
    )
    _rank(row, FunctionOptions())
    assert row.best is not None
    assert row.best.text == text
    assert row.as_json()["timing"]["cycles"] == 362
    _explain(row.found, row.timings)
    shown = capsys.readouterr().out
    assert "of right programs, those with fewer cycles come first" in shown
    assert "    cycles: 362 on default, 181x of the bound (off-chip bandwidth)" in shown
