"""`verify`, `simulate` and `convert`: what needs the worker, and what goes wrong on the way."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any

import pytest

from cli_inputs import GOOD, ILL_TYPED, PYTHON, TASK, TWICE, WRONG
from processes import PATIENCE, eventually
from stepcore.cli import main
from stepcore.cli import simulate as simulate_module
from stepcore.cli import verify as verify_module
from stepcore.isolation import TEXT, Isolation
from stepcore.jobs import Limits, Pool

BENCHMARKS = Path(__file__).parents[1] / "benchmarks" / "tasks"


@pytest.fixture(scope="module")
def workers() -> Iterator[Pool]:
    with Pool(size=2) as pool:
        yield pool


@pytest.fixture(autouse=True)
def shared(workers: Pool, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Let all commands use the same warm workers: starting one takes seconds. Tests marked `cold` start their own."""
    if "cold" in request.fixturenames:
        return

    def lease(size: int = 2, limits: Limits | None = None) -> AbstractContextManager[Pool]:
        return nullcontext(workers)

    for module in (verify_module, simulate_module):
        monkeypatch.setattr(module, "Pool", lease)
        # Nothing here writes beside a file, and each test has a folder of its own.
        monkeypatch.setattr(module, "isolation_for", lambda p, *_a, **_b: Isolation() if p.suffix == ".py" else TEXT)


@pytest.fixture
def cold() -> None:
    """Ask for workers of one's own."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(name: str, text: str) -> str:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)
    return name


def verify(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, dict[str, dict[str, Any]], str]:
    code = main(["verify", "--format", "json", *words])
    captured = capsys.readouterr()
    rows = json.loads(captured.out)
    for row in rows:
        assert {"task", "path", "accepted", "shape", "functional", "affine", "seconds"} <= set(row)
        assert {"ok", "detail"} == set(row["shape"])
        assert {"ok", "detail", "max_abs_error"} <= set(row["functional"])
        assert {"ok", "count", "detail"} == set(row["affine"])
    assert "Traceback" not in captured.err
    return code, {row["task"]: row for row in rows}, captured.err


def test_each_verdict(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, impl in (("good", GOOD), ("twice", TWICE), ("wrong", WRONG), ("ill", ILL_TYPED)):
        write(f"{name}.step.yaml", TASK + impl)
    code, rows, _ = verify(capsys, *(f"{name}.step.yaml" for name in ("good", "twice", "wrong", "ill")))
    assert code == 1
    verdicts = {
        name: (row["accepted"], row["shape"]["ok"], row["functional"]["ok"], row["affine"]["ok"])
        for name, row in rows.items()
    }
    assert verdicts == {
        "good": (True, True, True, True),
        "twice": (False, True, True, False),
        "wrong": (False, True, False, True),
        "ill": (False, False, False, True),
    }
    assert rows["twice"]["affine"]["count"] == 1
    assert rows["good"]["functional"]["max_abs_error"] < 1e-4
    assert rows["wrong"]["mismatch"]["index"] == [0]
    assert rows["good"]["seconds"] > 0
    timing = {name: row["timing"] for name, row in rows.items()}
    assert (timing["twice"], timing["ill"]) == (None, None)  # with errors there is nothing to time
    assert (timing["good"]["hw"], timing["good"]["problem"], timing["good"]["stopped"]) == ("default", None, None)
    assert timing["good"]["cycles"] > 0


def test_text_output(cold: None, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + GOOD)
    write("b.step.yaml", TASK + TWICE)
    assert main(["verify", "a.step.yaml"]) == 0
    out = capsys.readouterr().out
    assert "accepted  a" in out
    assert re.search(
        r"\n  cycles:     [0-9,]+ on default, [\d.]+x of the bound \(off-chip bandwidth\), \d+% of them \w+", out
    )
    assert main(["verify", "b.step.yaml", "a.step.yaml"]) == 1
    out = capsys.readouterr().out
    assert "rejected  b" in out
    assert "1 Copy is missing" in out
    assert out.endswith("1 of 2 accepted\n")


def test_answers_in_other_files(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK)
    write("b.step.yaml", TASK + WRONG)
    write("answers/a.impl.yaml", GOOD)
    write("answers/b.impl.yaml", GOOD)
    code, rows, _ = verify(capsys, "a.step.yaml", "--impl", "answers/a.impl.yaml")
    assert (code, rows["a"]["accepted"]) == (0, True)
    code, rows, _ = verify(capsys, "a.step.yaml", "b.step.yaml", "--impl", "answers", "--dims", "M=3")
    assert (code, rows["a"]["accepted"], rows["b"]["accepted"]) == (0, True, True)
    write("stepsmith.toml", "[timing]\nhw = 'paper'\n")
    _, again, _ = verify(capsys, "a.step.yaml", "--impl", "answers", "--dims", "M=30")
    assert rows["a"]["timing"]["cycles"] < again["a"]["timing"]["cycles"]
    assert (rows["a"]["timing"]["hw"], again["a"]["timing"]["hw"]) == ("default", "paper")
    write("stepsmith.toml", "[timing]\nhw = 'papr'\n")
    code, rows, _ = verify(capsys, "a.step.yaml", "--impl", "answers")
    assert (code, rows["a"]["timing"]["cycles"]) == (0, None)
    assert "stepsmith.toml:2: STEP506 no chip is called 'papr': did you mean paper?" in rows["a"]["timing"]["problem"]
    write("stepsmith.toml", "")
    write("c.step.yaml", TASK)
    code, rows, _ = verify(capsys, "a.step.yaml", "c.step.yaml", "--impl", "answers")
    assert (code, rows["a"]["accepted"], rows["c"]["accepted"]) == (2, True, False)
    assert "c.impl.yaml" in rows["c"]["functional"]["detail"]
    code, rows, _ = verify(capsys, "c.step.yaml")
    assert code == 2
    assert "--impl" in rows["c"]["functional"]["detail"]


def test_answers_in_other_files_are_timed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK)
    write("b.step.yaml", TASK + WRONG)
    write("whole.step.yaml", TASK + GOOD)
    for name in "ab":
        write(f"answers/{name}.impl.yaml", GOOD)
    assert main(["time", "a.step.yaml", "b.step.yaml", "--impl", "answers", "--dims", "M=30", "--format", "json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert main(["time", "whole.step.yaml", "--dims", "M=30", "--format", "json"]) == 0
    (whole,) = json.loads(capsys.readouterr().out)
    assert [row["path"] for row in rows] == ["a.step.yaml", "b.step.yaml"]
    assert [row["cycles"] for row in rows] == [whole["cycles"]] * 2
    lines = [[unit["line"] for unit in row["units"]] for row in (*rows, whole)]
    before = TASK.count("\n")  # lines are those of the answer, where the program stands
    assert lines[0] == lines[1] == [None if line is None else line - before for line in lines[2]]
    assert main(["time", "a.step.yaml", "--impl", "answers", "--format", "sarif"]) == 0
    capsys.readouterr()
    write("answers/a.impl.yaml", TWICE)
    assert main(["time", "a.step.yaml", "--impl", "answers"]) == 2
    assert "a has errors: run `stepsmith verify --impl answers`" in capsys.readouterr().err


def test_answers_that_are_none(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK)
    write("other.yaml", "inputs: []\n")
    write("notes.txt", "hello\n")
    write("tab.yaml", "impl: |\n\treturn E0\n")
    Path("binary.yaml").write_bytes(bytes(range(1, 256)))
    Path("empty").mkdir()
    write("b.py", PYTHON)
    for task, impl, message in (
        ("a.step.yaml", "missing.yaml", "missing.yaml: STEP901 the file cannot be read"),
        ("a.step.yaml", "other.yaml", "other.yaml:1:1: STEP906 this file has no key impl"),
        ("a.step.yaml", "notes.txt", "notes.txt:1:1: STEP906 this file has no key impl"),
        ("a.step.yaml", "tab.yaml", "tab.yaml:2:1: STEP903 a tab cannot indent YAML"),
        ("a.step.yaml", "binary.yaml", "binary.yaml: STEP901 the file is no text"),
        ("a.step.yaml", "empty", "STEP411 empty holds no a.impl.yaml"),
        ("a.step.yaml", "", "STEP907 --impl needs a file or a folder"),
        ("b.py", "other.yaml", "STEP907 --impl answers task files"),
    ):
        assert main(["verify", task, "--impl", impl]) == 2
        err = capsys.readouterr().err
        assert message in err
        assert err.count("\n") == 1
        assert main(["time", task, "--impl", impl]) == 2
        err = capsys.readouterr().err
        place, said = re.findall(r"^(?:(\S+?)[:\d]* )?(STEP.*)", message)[0]
        assert said in err and (place or "") in err
        assert err.count("\n") == 1


def test_two_tasks_of_one_name_take_one_answer(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("x/a.step.yaml", TASK)
    write("y/a.step.yaml", TASK + WRONG)
    write("answers/a.impl.yaml", GOOD)
    assert main(["verify", "x", "y", "--impl", "answers"]) == 0
    out = capsys.readouterr().out
    assert "x/a.step.yaml" in out
    assert "y/a.step.yaml" in out


def test_a_wrong_component_reads_as_check_says_it(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK.replace("[input[0] * 2]", "[input[1] * 2]") + GOOD)
    text = "input has 1 component (index 0); there is no input[1]"
    assert main(["check", "a.step.yaml"]) == 1
    assert text in capsys.readouterr().out
    _, rows, _ = verify(capsys, "a.step.yaml")
    functional = rows["a"]["functional"]
    assert functional["code"] == "STEP308"
    assert functional["detail"].startswith(text)


@pytest.mark.parametrize("seed", ["x", "1.5", "9" * 30])
def test_seeds_that_are_none(seed: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + GOOD)
    assert main(["verify", "a.step.yaml", "--seed", seed]) == 2
    assert "--seed" in capsys.readouterr().err


def test_paper_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    returned = GOOD.replace("E5 = step", "E5 = E6 = step").replace("return E5", "return E5")
    write("a.step.yaml", TASK + returned)
    write("b.step.yaml", TASK + TWICE)
    code, rows, _ = verify(capsys, "a.step.yaml", "b.step.yaml", "--affine", "paper")
    assert code == 1
    assert (rows["a"]["affine"]["ok"], rows["b"]["affine"]["count"]) == (True, 1)


def test_dims_and_seed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    fixed = "global: |\n  N_value = 3\n  ctx[N] = N_value\n"
    write("a.step.yaml", TASK + GOOD)
    write("b.step.yaml", fixed + TASK + GOOD)
    code, rows, _ = verify(capsys, "a.step.yaml", "--dims", "M=33, N=1", "--seed", "7")
    assert (code, rows["a"]["accepted"]) == (0, True)
    code, rows, _ = verify(capsys, "a.step.yaml", "b.step.yaml", "--dims", "N=4")
    assert (code, rows["a"]["accepted"], rows["b"]["accepted"]) == (2, True, False)
    assert "binds N = 3" in rows["b"]["functional"]["detail"]
    code, rows, _ = verify(capsys, "a.step.yaml", "--dims", "Q=4")
    assert code == 2
    assert "no size is called so" in rows["a"]["functional"]["detail"]


@pytest.mark.parametrize(
    "dims",
    [
        "M=0",
        "M=-1",
        "M=x",
        "M",
        "M=",
        "=3",
        "M==3",
        "M=1,M=2",
        "M=1.5",
        "M=10**9",
        "M=1e3",
        "M=2147483649",
        "M=" + "9" * 5000,
    ],
)
def test_dims_that_are_none(dims: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + GOOD)
    assert main(["verify", "a.step.yaml", "--dims", dims]) == 2
    err = capsys.readouterr().err
    assert "--dims" in err
    assert len(err) < 500


def test_absurd_dims_are_refused_before_anything_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + GOOD)
    code, rows, _ = verify(capsys, "a.step.yaml", "--dims", "M=1000000,N=1000000")
    assert code == 1
    assert rows["a"]["functional"]["code"] == "STEP406"
    assert rows["a"]["shape"]["ok"]


@pytest.mark.parametrize("words", [["verify"], ["time"], ["optimize"]])
@pytest.mark.parametrize("target", [".::x", "::x"])
def test_a_program_of_a_folder_is_none(
    words: list[str], target: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The name was dropped, and all programs of the folder were run."""
    assert main([*words, target]) == 2
    output = "".join(capsys.readouterr())
    assert f"{target}: STEP901 this is a folder; name the file" in output
    assert output.count("STEP") == 1


def test_unusable_tasks_do_not_stop_the_others(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("good.step.yaml", TASK + GOOD)
    write("broken.step.yaml", "inputs: [\n")
    write("empty.step.yaml", "")
    Path("binary.step.yaml").write_bytes(b"\xff\xfe\x00\x01")
    Path("nothing_here").mkdir()
    names = ["broken.step.yaml", "empty.step.yaml", "binary.step.yaml", "missing.step.yaml", "nothing_here"]
    code, rows, _ = verify(capsys, *names, "good.step.yaml")
    assert code == 2
    assert rows["good"]["accepted"]
    assert [rows[name.split(".")[0]]["accepted"] for name in names] == [False] * 5
    assert main(["verify", *names]) == 2
    lines = capsys.readouterr().err.strip().split("\n")
    assert len(lines) == len(names)
    assert all(line.startswith("stepsmith: ") for line in lines)


def test_python_programs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = PYTHON + PYTHON[PYTHON.index("@step.program") :].replace("sum_inner", "second").replace("b=1", "b=2")
    write("a.py", two)
    code, rows, _ = verify(capsys, "a.py::sum_inner")
    assert (code, list(rows), rows["sum_inner"]["accepted"]) == (0, ["sum_inner"], True)
    code, rows, _ = verify(capsys, "a.py")
    assert (code, rows["sum_inner"]["accepted"], rows["second"]["accepted"]) == (1, True, False)
    code, rows, _ = verify(capsys, "a.py::third")
    assert code == 2


BAD_MODULES = {
    "raises": ("raise ValueError('at import')\n", "line 10: ValueError: at import"),
    "exits": ("import sys; sys.exit(3)\n", "line 10: it ends the process (SystemExit: 3)"),
    "kills": ("import os; os._exit(4)\n", "exit code 4"),
    "crashes": ("import os; os.abort()\n", "SIGABRT"),
    "prints": ("print('{\"type\":\"result\"}'); import os; os.write(1, b'noise\\n')\n", ""),
    "asks": ("input('really? ')\n", "EOFError"),
}


@pytest.mark.parametrize("name", BAD_MODULES)
def test_what_a_user_module_does(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line, message = BAD_MODULES[name]
    write("a.py", PYTHON.replace("from stepcore.dims import M, N\n", f"from stepcore.dims import M, N\n\n{line}"))
    code, rows, _ = verify(capsys, "a.py")
    assert code == (1 if message else 0)
    detail = rows["sum_inner"]["functional"]["detail"]
    assert message in detail
    if message:
        assert detail.startswith("STEP407" if name in ("kills", "crashes") else "STEP408")
        assert rows["sum_inner"]["shape"]["ok"]


@pytest.mark.parametrize("where", ["at import", "in the reference"])
def test_a_user_module_that_never_ends(where: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("stepsmith.toml", "time_limit = 3\n")
    text = PYTHON + "\nwhile True: pass\n"
    if where != "at import":
        text = PYTHON.replace("    return x.sum(-1)", "    while True: pass")
    write("a.py", text)
    write("good.step.yaml", TASK + GOOD)
    code, rows, _ = verify(capsys, "a.py", "good.step.yaml")
    assert code == 1
    assert rows["sum_inner"]["functional"]["code"] == "STEP405"
    assert rows["sum_inner"]["affine"]["ok"]
    assert rows["good"]["accepted"]


def test_a_reference_that_fails_names_the_line(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", PYTHON.replace("x.sum(-1)", "x.sum(5)"))
    code, rows, _ = verify(capsys, "a.py")
    functional = rows["sum_inner"]["functional"]
    assert (code, functional["code"]) == (1, "STEP408")
    assert "line 17: IndexError" in functional["detail"]


def test_a_reference_may_import_when_it_runs(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("helper.py", "def total(x):\n    return x.sum(-1)\n")
    write("late.py", PYTHON.replace("x.sum(-1)", "__import__('helper').total(x)").replace("sum_inner", "late"))
    code, rows, _ = verify(capsys, "late.py")
    assert (code, rows["late"]["accepted"]) == (0, True), rows


def test_a_verdict_waits_for_few_steps_of_timing(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Timing changes no verdict: what takes longer is left to the command that is asked for cycles."""
    monkeypatch.setattr("stepcore.cli.beside.VERDICT_STEPS", 5)
    write("a.step.yaml", TASK + GOOD)
    code, rows, _ = verify(capsys, "a.step.yaml")
    assert (code, rows["a"]["accepted"], rows["a"]["timing"]["cycles"]) == (0, True, None)
    problem = rows["a"]["timing"]["problem"]
    assert "more than 5 steps" in problem and problem.endswith("; `stepsmith time` goes on for longer")


def test_modules_beside_a_program_are_imported(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("one", "two"):
        axis = "-1" if name == "one" else "0"
        write(f"{name}/helper.py", f"def total(x):\n    return x.sum({axis})\n")
        write(f"{name}/{name}.py", PYTHON.replace("import torch\n", "import torch\nfrom helper import total\n").replace(
            "x.sum(-1)", "total(x)").replace("sum_inner", name))  # fmt: skip
    code, rows, _ = verify(capsys, "one", "two", "one/one.py")
    assert code == 1
    assert rows["one"]["accepted"], rows["one"]
    assert (rows["one"]["accepted"], rows["two"]["accepted"]) == (True, False)


def simulate(capsys: pytest.CaptureFixture[str], *words: str, ends_with: int = 0) -> dict[str, Any]:
    assert main(["simulate", "--format", "json", *words]) == ends_with
    result: dict[str, Any] = json.loads(capsys.readouterr().out)
    return result


def test_simulate_json(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + GOOD)
    result = simulate(capsys, "a.step.yaml", "--dims", "M=3", "--values", "2")
    assert "timing" not in result
    timing = simulate(capsys, "a.step.yaml", "--dims", "M=3", "--hw", "paper")["timing"]
    assert main(["time", "a.step.yaml", "--dims", "M=3", "--hw", "paper", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert [found["code"] for found in row.pop("diagnostics")] == ["STEP503"]  # of `time` alone
    assert timing == row
    assert main(["simulate", "a.step.yaml", "--hw", "fast"]) == 2
    assert "no chip is called 'fast'" in capsys.readouterr().err
    streams = {stream["name"]: stream for stream in result["streams"]}
    assert streams["E0"]["shape"] == ["M", "N"]
    assert streams["E0"]["sizes"] == [3, 7]
    assert streams["E0"]["role"] == "input"
    assert streams["E5"]["role"] == "output"
    assert streams["E4"]["bytes"] == {"symbolic": "8*M*N", "bound": 168}
    first, second = streams["E4"]["components"]
    assert [2 * value for value in second["values"]] == pytest.approx(first["values"])
    assert len(first["values"]) == 2
    assert first["shape"] == [7, 3]
    assert first["min"] <= first["mean"] <= first["max"]
    assert [op["operator"] for op in result["operators"]] == ["Copy", "Map", "Zip", "Accum"]
    assert result["operators"][3]["parameters"] == {"fn": "fn_sum", "b": "1"}
    assert all(op["seconds"] > 0 for op in result["operators"])
    assert result["metrics"]["off_chip_traffic"] == {"symbolic": "4*M*N + 4*N", "bound": 112}
    # One load (2 * 4), one store (2 * 4), the accumulator (4).
    assert result["metrics"]["on_chip_requirement"]["bound"] == 20
    assert 0 <= result["metrics"]["streaming_degree"] <= 1


def test_simulate_metrics(capsys: pytest.CaptureFixture[str]) -> None:
    result = simulate(capsys, str(BENCHMARKS / "etoe_top1_of_3.step.yaml"), "--timing")
    assert result["timing"]["routes"] == "run"
    assert "selectors" not in result
    operators = {operator["parameters"].get("fn"): operator for operator in result["operators"]}
    # x @ W with W of D x D: 16 rows of D columns, and the weight.
    expert = operators["fn_expert1"]
    assert expert["on_chip"] == {"symbolic": "64*D + 4*D*D", "bound": 64 * 16 + 4 * 16 * 16}
    # How many tokens are routed to an expert is known once it has run.
    routed = {stream["name"]: stream for stream in result["streams"]}[expert["inputs"][0]]
    assert routed["shape"][0].startswith("#(")
    assert routed["bytes"]["bound"] == routed["sizes"][0] * (16 + 3) * 4
    assert expert["flops"]["bound"] % routed["sizes"][0] == 0
    metrics = result["metrics"]
    assert metrics["flops"]["bound"] == sum(operator["flops"]["bound"] for operator in result["operators"]) > 0
    intensity = metrics["flops"]["bound"] / metrics["off_chip_traffic"]["bound"]
    assert metrics["operational_intensity"] == pytest.approx(intensity)
    assert 0 < metrics["streaming_degree"] <= 1


def test_simulate_text(cold: None, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.py", PYTHON)
    assert main(["simulate", "a.py::sum_inner"]) == 0
    out = capsys.readouterr().out
    for word in (
        "E0",
        "[M, N] = [5, 7]",
        "Accum(fn=add, b=1)",
        "4*M*N + 4*N = 168 bytes",
        "simulated here in",
        "PyTorch",
    ):
        assert word in out


def test_simulate_counts_what_is_not_finite(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK.replace("input[0] * 2]", "input[0] / 0]") + GOOD)
    result = simulate(capsys, "a.step.yaml", ends_with=1)
    assert result["verdict"]["functional"]["code"] == "STEP403"
    part = next(stream for stream in result["streams"] if stream["name"] == "E3")["components"][0]
    assert part["infinite"] == 35
    assert part["mean"] is None
    assert part["values"][0] in ("inf", "-inf")


def test_simulate_refuses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("two.py", PYTHON + PYTHON[PYTHON.index("@step.program") :].replace("sum_inner", "second"))
    write("ill.step.yaml", TASK + ILL_TYPED)
    write("none.step.yaml", TASK)
    for words, message in (
        (["two.py"], "choose one with FILE::PROGRAM: sum_inner, second"),
        (["two.py::third"], "there is no program third"),
        (["ill.step.yaml"], "STEP206"),
        (["none.step.yaml"], "STEP411"),
        (["missing.step.yaml"], "STEP901"),
        (["."], "folder"),
    ):
        assert main(["simulate", *words]) == 2
        err = capsys.readouterr().err
        assert message in err
        assert err.count("\n") == 1 or message == "STEP206"


def test_convert_both_ways(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + GOOD)
    Path("back").mkdir()
    assert main(["convert", "a.step.yaml", "-o", "a.py"]) == 0
    assert main(["convert", "a.py", "-o", "back/a.step.yaml"]) == 0
    assert main(["convert", "back/a.step.yaml", "--to", "python"]) == 0
    assert capsys.readouterr().out == Path("a.py").read_text()
    assert main(["check", "."]) == 0
    capsys.readouterr()
    code, rows, _ = verify(capsys, ".")
    assert (code, [row["accepted"] for row in rows.values()]) == (0, [True] * len(rows))


def test_convert_refuses(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write("a.step.yaml", TASK + GOOD)
    write("broken.step.yaml", "inputs: [\n")
    write("copied.step.yaml", TASK + GOOD.replace("return", "E9 = step.Identity().apply(E0)\n  return"))
    write("two.py", PYTHON + PYTHON[PYTHON.index("@step.program") :].replace("sum_inner", "second"))
    write("nothing.py", "x = 1\n")
    write("torn.py", PYTHON[: PYTHON.index("@step.program")] + "@step.program(dims={M: 3)\ndef p(E0):\n    return E0\n")
    for words, message in (
        (["a.step.yaml", "--to", "yaml"], "the file is yaml already"),
        (["torn.py"], "STEP902 this line cannot be read"),
        (["two.py"], "sum_inner, second"),
        (["nothing.py"], "no STeP program: no function with @step.program"),
        (["a.step.yaml", "--to", "python", "--out", "a.step.yaml"], "this is the file to convert"),
        (["a.step.yaml", "--to", "python", "--out", "b.yaml"], "ends like a yaml file"),
        (["."], "the path is a folder"),
        (["missing.py"], "STEP901"),
        (["a.step.yaml", "-o", "no/such/folder/a.py"], "cannot be written"),
        (["a.step.yaml::other"], "no program other"),
    ):
        assert main(["convert", *words]) == 2
        assert message in capsys.readouterr().err
    for name in ("broken.step.yaml", "copied.step.yaml"):  # findings, as `check` gives them
        assert main(["convert", name, "-o", "never.py"]) == 1
        err = capsys.readouterr().err
        assert f"{name}:" in err
        assert ("STEP903" if name.startswith("broken") else "STEP101") in err
        assert "only a file without errors" in err
        assert not Path("never.py").exists()
    assert main(["convert", "two.py::second"]) == 0


@pytest.mark.skipif(not hasattr(signal, "SIGINT") or sys.platform == "win32", reason="needs POSIX signals")
def test_interrupting_a_run_exits_130(folder: Path) -> None:
    write("a.py", PYTHON + "\nopen('started', 'w').close()\nwhile True: pass\n")
    path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
    # As the installed command does it. Below `python -m` Python ends by the signal itself where that came while a
    # module was executing a text (dataclasses do), though it was caught; a shell tells 130 of both.
    script = "import sys; from stepcore.cli import main; sys.exit(main())"
    command = [sys.executable, "-P", "-c", script, "verify", "a.py"]
    # A shell that runs the tests in the background makes them, and so their children, ignore the signal.
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": path},
        stderr=subprocess.PIPE,
        text=True,
    )
    signal.signal(signal.SIGINT, ignored)
    assert eventually(Path("started").exists)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, "Traceback" in err) == (130, False)


@pytest.mark.slow
def test_all_benchmark_tasks_are_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    code, rows, _ = verify(capsys, str(BENCHMARKS))
    assert (code, len(rows)) == (0, 26)


def test_verify_says_where_a_function_failed_and_how_far_off_a_result_is(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Only a run shows which item that is: what check sees is not run at all.
    failing = TASK.replace("input[0] * 2]", "input[0] * [2][9 + int(input[0] ** 2) // 10**12]]") + GOOD
    line = next(number for number, text in enumerate(failing.splitlines(), 1) if "10**12" in text)
    write("a.step.yaml", failing)
    write("b.step.yaml", TASK.replace("input[0] * 2]", "input[0] * 3]") + GOOD)
    assert main(["verify", "a.step.yaml", "b.step.yaml"]) == 1
    out = capsys.readouterr().out
    assert f"in line {line}, column" in out
    assert "run by Map in line" in out
    assert "largest error" in out
