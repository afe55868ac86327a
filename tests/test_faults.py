"""What check refuses is neither run nor accepted: by ``verify``, ``simulate``, or a judge of answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import warm
from stepagents.judge import Judge
from stepcore.check.files import check_text, program_faults, task_faults
from stepcore.cli import main
from stepcore.findings.errors import SimError
from stepcore.frontend.yaml.tasks import read_task

TASK = """\
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
fns:
- name: F
  func_name: fn_f
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [input[0] * 2]
outputs:
- name: S0
  dtype: fp32
  dims: [M, N]
  data_transform:
  - |
    input_data['E0'] * 2
impl: |-
  return step.Map(fn=fn_f).apply(E0)
"""
# Each of them would run, and give the right numbers: what is wrong stands where nothing looks at run time.
OF_FUNCTIONS = {
    "annotation": TASK.replace("    return [input", "    two: nowhere.at_all() = 2\n    return [input"),
    "dead arm": TASK.replace("    return [input", "    if M_value < 0:\n      return nowhere\n    return [input"),
    "function unused": TASK.replace(
        "outputs:", "- {name: G, func_name: fn_g, input_dtype: fp32, output_dtype: fp32, apply: 'return 1'}\noutputs:"
    ),
    "reference": TASK.replace("    input_data['E0'] * 2\n", "    f = lambda: nowhere\n    input_data['E0'] * 2\n"),
}
OF_GLOBAL = {"global": "global: |\n  def helper(x):\n    return nowhere\n" + TASK}
PYTHON = """\
from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32)
def twice(input):
    return [input[0] * 2]


def reference(x):
    return x * 2


@step.program(reference=reference, dims={M: 5, N: 7})
def double(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=twice).apply(E0)
"""


@pytest.fixture(autouse=True)
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    warm.lend(monkeypatch)


def rows(capsys: pytest.CaptureFixture[str], path: Path) -> list[dict[str, Any]]:
    main(["verify", "--format", "json", str(path)])
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize("case", [*OF_FUNCTIONS, *OF_GLOBAL])
def test_what_check_refuses_of_a_task_is_not_accepted(
    case: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (OF_FUNCTIONS | OF_GLOBAL)[case]
    path = tmp_path / "case.step.yaml"
    path.write_text(text, encoding="utf-8")
    (fault,) = task_faults(read_task(text, str(path)))
    line = read_task(text, str(path)).source.line_col(fault.span.start)[0] + 1
    (row,) = rows(capsys, path)
    assert not row["accepted"]
    assert row["functional"]["code"] == fault.code
    assert fault.message in row["functional"]["detail"]
    assert f"line {line}, column" in row["functional"]["detail"] or f":{line}:" in row["functional"]["detail"]
    assert main(["simulate", str(path)]) != 0
    told = capsys.readouterr().err
    assert f"{path}:{line}:" in told and fault.message in told
    with pytest.raises(SimError) as caught:
        Judge(read_task(text, str(path)))
    assert caught.value.code == fault.code


def test_a_suppressed_finding_is_no_fault() -> None:
    text = OF_FUNCTIONS["dead arm"].replace("return nowhere", "return nowhere  # stepsmith: ignore[STEP303]")
    assert task_faults(read_task(text, "case.step.yaml")) == []


def test_a_task_beyond_its_budget_is_at_fault() -> None:
    """A finding of check that is none of the function language counts, too."""
    body = "".join(f"    a{i} = [[[x + y for x in input] for y in input] for z in input]\n" for i in range(3))
    text = TASK.replace("    return [input", body + "    return [input")
    from stepcore.findings import budget

    with budget.using(budget.Budget(40)):
        assert [item.code for item in task_faults(read_task(text, "case.step.yaml"))] == ["STEP912"]


def test_a_file_with_a_fault_beside_its_programs_is_not_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "case.py"
    path.write_text(PYTHON.replace("N: 7}", "N: 7, **[1]}"), encoding="utf-8")
    assert main(["check", str(path)]) == 1
    capsys.readouterr()
    (row,) = rows(capsys, path)
    assert not row["accepted"]


def test_a_fault_inside_of_one_program_leaves_the_others() -> None:
    head, start, program = PYTHON.partition("@step.program")
    broken = (start + program).replace("def double", "def triple").replace("apply(E0)", "apply(E9)")
    result = check_text(f"{head}{broken}\n\n{start}{program}", "case.py")
    assert [len(program_faults(result, checked)) for checked in result.programs] == [0, 0]
    assert [bool(checked.diagnostics) for checked in result.programs] == [True, False]
    shared = check_text(f"{head}{broken}\n\n{start}{program}".replace("input[0] * 2", "nowhere"), "case.py")
    assert [[item.code for item in program_faults(shared, checked)] for checked in shared.programs] == [["STEP303"]] * 2


def test_a_file_with_two_programs_of_one_name_is_not_converted(tmp_path: Path) -> None:
    path, out = tmp_path / "case.py", tmp_path / "out.step.yaml"
    _, start, program = PYTHON.partition("@step.program")
    path.write_text(f"{PYTHON}\n\n{start}{program}", encoding="utf-8")
    assert main(["check", str(path)]) == 1
    assert main(["convert", str(path), "-o", str(out)]) != 0
    assert not out.exists()
