"""Published Python runs unchanged: 26 scripts in its spelling, by plain Python, in ``check`` and in ``verify``."""

from __future__ import annotations

import json
import subprocess
import sys
from operator import eq, ne
from pathlib import Path
from typing import Any

import pytest
import sympy  # type: ignore[import-untyped]
import torch

import stepcore as step
from job_records import verify
from published_scripts import FOLDER, TASKS, script
from quiet import Quiet
from stepcore.check import CheckResult, check_text
from stepcore.findings.diagnostics import Severity
from stepcore.ide.analysis import analyze
from stepcore.jobs import JobError
from stepcore.sizes.dim import Dim
from stepcore.sizes.foreign import ForeignSizeError

SCRIPTS = sorted(FOLDER.glob("*.py"))
RUN = """
import json, runpy, sys
found = {}
for path in sys.argv[1:]:
    try:
        runpy.run_path(path, run_name="__main__")
        found[path] = ""
    except BaseException as error:
        found[path] = f"{type(error).__name__}: {error}"
print(json.dumps(found))
"""


def by_python(*paths: Path) -> dict[str, str]:
    """Run scripts one after the other in one plain Python process; what each ended with, empty where all is well."""
    command = [sys.executable, "-c", RUN, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=1200)
    found: dict[str, str] = json.loads(done.stdout.splitlines()[-1])
    return found


def by_check(path: Path) -> CheckResult:
    return check_text(path.read_text(encoding="utf-8"), str(path))


def errors(path: Path) -> list[str]:
    return [item.code for item in by_check(path).diagnostics if item.severity is Severity.ERROR]


def by_verify(path: Path, **more: Any) -> dict[str, Any]:
    payload = {"path": str(path), "text": path.read_text(encoding="utf-8"), "file": str(path.absolute()), **more}
    context: Any = Quiet()
    (row,) = verify(payload, context)
    return row


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / f"{name}.py"
    file.write_text(text, encoding="utf-8")
    return file


def test_there_is_a_script_for_each_task_as_the_generator_writes_it() -> None:
    tasks = sorted(TASKS.glob("*.step.yaml"))
    assert [path.stem for path in SCRIPTS] == [path.name.split(".")[0] for path in tasks]
    assert len(SCRIPTS) == 26
    for file, task in zip(SCRIPTS, tasks, strict=True):
        assert file.read_text(encoding="utf-8") == script(task)


def test_all_run_by_plain_python() -> None:
    found = by_python(*SCRIPTS)
    assert found == dict.fromkeys(map(str, SCRIPTS), "")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_check_and_verify_agree_with_the_run(path: Path) -> None:
    result = by_check(path)
    assert result.diagnostics == []
    assert result.script is not None
    operators = path.read_text(encoding="utf-8").count(").apply(")
    assert len(result.script.graph.nodes) >= operators  # more where a loop or comprehension applies one
    assert all(stream.type is not None for stream in result.script.graph.streams)
    row = by_verify(path)
    assert row["accepted"], row
    assert row["task"] == path.stem


ONE = """
import torch
import stepcore as step
from sympy import symbols

M, N = symbols("M, N", positive=True)
ctx = {M: 3, N: 4}


class Sum(step.Fn):
    def __init__(self, input, output):
        super().__init__("Sum", input, output)

    def getInit(self):
        return [torch.zeros(())]

    def apply(self, state, input):
        return [state[0] + input[0]]


fn_sum = Sum(step.Scalar("float"), step.Scalar("float"))


def prepare():
    E0 = step.Stream("E0", step.Scalar("float"), 1, [M, N])
    E0.ctx = ctx
    E0.data = [torch.randn(4, 3)]
    return E0


def prog(E0):
    return step.Accum(fn=fn_sum, b=1).apply(E0)


def test_sum():
    E0 = prepare()
    S0 = prog(E0)
    assert S0.shape == [N]
    torch.testing.assert_close(S0.data[0], E0.data[0].sum(1))


test_sum()
"""
# What is changed, the code that check gives (none where only a run can tell), and what a run says.
WRONG = {
    "twice": ("S0 = prog(E0)", "S0 = prog(E0)\n    S1 = prog(E0)", "STEP101", "STEP101"),
    "aliased": ("S0 = prog(E0)", "A = E0\n    S0 = prog(E0)\n    S1 = prog(A)", "STEP101", "STEP101"),
    "rank": ("b=1", "b=2", "STEP206", "STEP206"),
    "type": (', step.Scalar("float"))', ', step.Buffer(step.Scalar("float"), [M]))', "", "STEP306"),
    "input": ('= Sum(step.Scalar("float"),', '= Sum(step.Buffer(step.Scalar("float"), [M]),', "STEP208", "STEP208"),
    "stream": ("1, [M, N])", "2, [M, N])", "STEP207", "STEP207"),
    "operator": ("step.Accum", "step.Acum", "STEP201", ""),
    "values": ("sum(1)", "sum(1) * 2", "", "AssertionError"),
    "shape": ("shape == [N]", "shape == [M]", "", "AssertionError"),
    "data": ("torch.randn(4, 3)", "torch.randn(3, 4)", "", "STEP207"),
    "init": ("torch.zeros(())", "torch.zeros(2)", "", ""),
    "two inits": ("[torch.zeros(())]", "[torch.zeros(()), torch.zeros(())]", "STEP305", "STEP305"),
    "init is a number": ("[torch.zeros(())]", "[0]", "STEP306", "STEP306"),
    "init is below 0": ("[torch.zeros(())]", "[-1.0]", "STEP306", "STEP306"),
    "init is nothing": ("[torch.zeros(())]", "(None,)", "STEP306", "STEP306"),
    "fails": ("return [state[0] + input[0]]", "return [state[0] + input[1]]", "STEP308", ""),
}


def test_wrong_scripts_are_refused_alike(tmp_path: Path) -> None:
    files = {}
    for name, (old, new, _code, _said) in WRONG.items():
        assert old in ONE
        files[name] = written(tmp_path, name, ONE.replace(old, new, 1))
    right = written(tmp_path, "right", ONE)
    ran = by_python(right, *files.values())
    assert ran[str(right)] == ""
    assert by_verify(right)["accepted"]
    assert errors(right) == []
    for name, (_old, _new, code, said) in WRONG.items():
        file = files[name]
        assert ran[str(file)], name
        assert said in ran[str(file)], name
        assert code in errors(file) if code else errors(file) == [], name
        assert not by_verify(file)["accepted"], name


def test_findings_have_positions(tmp_path: Path) -> None:
    old, new, _, _ = WRONG["twice"]
    text = ONE.replace(old, new, 1)
    (found,) = by_check(written(tmp_path, "twice", text)).diagnostics
    assert text[found.span.start : found.span.end] == "E0"
    assert text.count("\n", 0, found.span.start) == text[: text.index("S1 = ")].count("\n")
    row = by_verify(tmp_path / "twice.py")
    assert row["affine"] == {"ok": False, "count": 1, "detail": found.message}
    assert row["functional"]["ok"]
    assert row["shape"]["ok"]


def test_a_script_that_names_the_published_module(tmp_path: Path) -> None:
    text = ONE.replace("import stepcore as step", "import step")
    assert by_verify(written(tmp_path, "named", text))["accepted"]
    assert "step" not in sys.modules
    wrong = written(tmp_path, "wrong", text.replace("b=1", "b=2"))
    assert errors(wrong) == ["STEP206"]


def test_functions_that_a_test_runner_would_call_are_called(tmp_path: Path) -> None:
    collected = ONE.replace("\n\ntest_sum()\n", "\n")
    assert by_verify(written(tmp_path, "collected", collected))["accepted"]
    row = by_verify(written(tmp_path, "wrong", collected.replace("sum(1)", "sum(1) + 1")))
    assert row["functional"]["code"] == "STEP401"
    assert row["functional"]["detail"].startswith("the script failed: line ")


def test_a_script_without_a_check_of_its_own_is_not_accepted(tmp_path: Path) -> None:
    text = "".join(line for line in ONE.splitlines(keepends=True) if "assert" not in line)
    early = by_verify(written(tmp_path, "early", ONE.replace("\n\ntest_sum()", "\n\nraise SystemExit(0)\ntest_sum()")))
    assert early["functional"]["code"] == "STEP411"
    row = by_verify(written(tmp_path, "silent", text))
    assert not row["accepted"]
    assert row["functional"]["code"] == "STEP411"


@pytest.mark.parametrize(("ending", "accepted"), [("raise SystemExit(0)", True), ("raise SystemExit(3)", False)])
def test_a_script_that_ends_the_process_ends_its_run(tmp_path: Path, ending: str, accepted: bool) -> None:
    assert by_verify(written(tmp_path, "ends", f"{ONE}{ending}\n"))["accepted"] is accepted


def test_sizes_and_names_of_a_script_are_its_own(tmp_path: Path) -> None:
    file = written(tmp_path, "own", ONE)
    with pytest.raises(JobError, match="it binds its own"):
        by_verify(file, dims={"M": 9})
    with pytest.raises(JobError, match="this script is called own"):
        by_verify(file, program="other")


@pytest.mark.parametrize(
    "text",
    ["import stepcore as step\n", "import step\nstep.go()\n", "import step\nx = y.Stream(1)\n", "import step as"],
)
def test_other_files_stay_alone(text: str) -> None:
    result = check_text(text, "other.py")
    assert result.script is None
    assert result.programs == []


M, N, K = sympy.symbols("M N K")


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (M, "M"),
        (M * N, "M*N"),
        (2 * M + 1, "2*M + 1"),
        (M - 1, "M - 1"),
        (M**2, "M*M"),
        (K // 4, "K//4"),
        (4 * (K // 4) + M, "4*(K//4) + M"),
        ((K + M) // (2 * N), "(K + M)//(2*N)"),
        (sympy.floor(K * M / 3), "K*M//3"),
        (sympy.Integer(7), "7"),
        (M * N / N, "M"),
    ],
)
def test_sizes_of_sympy_are_ours(expression: Any, expected: str) -> None:
    found = Dim.of(expression)
    assert found == eval(expected, {name: Dim.symbol(name) for name in "MNK"})
    assert found == expression
    assert step.Stream("E0", "float", 0, [expression]).shape == [expression]


LONG = sympy.Add(*(M**power for power in range(600)))  # at once: one by one they take a second
NO_SIZES = (M / 2, sympy.sin(M), sympy.sqrt(M), M**1000, M**N, sympy.Symbol("a b"), sympy.pi, M > N, LONG)


@pytest.mark.parametrize("expression", NO_SIZES, ids=lambda expression: str(expression)[:12])
def test_what_is_no_size_is_said(expression: Any) -> None:
    with pytest.raises(ForeignSizeError):
        Dim.of(expression)
    with pytest.raises(step.StepError, match="STEP222"):
        step.Stream("E0", "float", 0, [expression])
    assert step.Stream("E0", "float", 0, [3]).shape != [expression]


def test_shapes_compare_as_the_checker_compares() -> None:
    stream = step.Stream("E0", "float", 1, [N * K, 4])
    assert stream.shape == [K * N, 4]
    assert stream.shape == (N * K, 4)
    for same in ([K * N, 4], (N * K, 4), [N * K, sympy.Integer(4)]):  # tuples have an answer of their own to !=
        assert not ne(stream.shape, same) and not ne(same, stream.shape) and eq(same, stream.shape)
    assert ne([N, K, 4], stream.shape)
    assert stream.shape != [N, K, 4]
    assert stream.shape != [N * K]
    assert stream.shape[0] == K * N
    assert stream.shape != "NK"
    assert hash(stream.shape) == hash(tuple(stream.shape))
    cut = step.Reshape(L=[0], S=M).apply(step.Stream("E1", "float", 0, [sympy.Symbol("L")]))
    merged = step.Flatten(L=[1]).apply(cut)
    assert merged.shape == [sympy.Symbol("L")]  # Reshape asserts that M divides it


def test_operators_take_sizes_of_sympy() -> None:
    stream = step.Stream("E0", "float", 0, [M])
    stream.ctx = {M: 2, K: 3}
    stream.data = [torch.tensor([1.0, 2.0])]
    found = step.Repeat(n=K).apply(stream)
    assert found.shape == [K, M]
    assert found.data[0].tolist() == [[1.0] * 3, [2.0] * 3]
    with pytest.raises(step.StepError, match="n of Repeat is no size"):
        step.Repeat(n=K / 2)


def test_an_init_that_is_no_constant_is_said() -> None:
    class Odd(step.Fn):
        def __init__(self) -> None:
            super().__init__("Odd", step.Buffer(step.f32, [2]), step.Buffer(step.f32, [2]))

        def getInit(self) -> list[torch.Tensor]:
            return [torch.tensor([0.0, 1.0])]

        def apply(self, state: list[torch.Tensor], input: list[torch.Tensor]) -> list[torch.Tensor]:
            return [state[0] + input[0]]

    stream = step.Stream("E0", step.Buffer(step.f32, [2]), 1, [3, 1])
    stream.data = [torch.ones(1, 3, 2)]
    with pytest.raises(step.StepError, match=r"STEP309: getInit of Odd must fill each component with one number"):
        step.Accum(fn=Odd(), b=1).apply(stream)


def test_an_editor_shows_the_findings_of_a_script(tmp_path: Path) -> None:
    old, new, _, _ = WRONG["twice"]
    text = ONE.replace(old, new, 1)
    file = written(tmp_path, "twice", text)
    assert analyze(text, str(file)).diagnostics == by_check(file).diagnostics
    assert [item.code for item in analyze(text, str(file)).diagnostics] == ["STEP101"]
    assert analyze(ONE, str(file)).diagnostics == []
