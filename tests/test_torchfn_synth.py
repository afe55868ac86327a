"""From a function to a file: the job, what it delivers, and the command."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import warm
from job_records import candidates, function
from stepagents.cli import synth_function
from stepagents.cli.synth_function import FunctionOptions, run_functions
from stepcore.isolation import Isolation, isolation_for
from stepcore.jobs import Job, JobCancelled, JobError, Pool

FOLDER = Path(__file__).parent / "torch_functions"
ROOT = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def workers(monkeypatch: pytest.MonkeyPatch) -> None:
    warm.lend(monkeypatch)


class Owner:
    """What a job sees of the process that wants it."""

    def __init__(self, stop_at: str = "") -> None:
        self.stages: list[str] = []
        self.cancelled = False
        self._stop_at = stop_at

    def check(self) -> None:
        if self.cancelled:
            raise JobCancelled

    def progress(self, data: Any) -> None:
        self.stages.append(data.stage)
        self.cancelled = data.stage == self._stop_at


def job(path: Path, name: str, owner: Owner | None = None, **more: Any) -> dict[str, Any]:
    payload = {"path": str(path), "text": path.read_text(encoding="utf-8"), "selector": name, "trusted": True, **more}
    return function(payload, owner or Owner())


def accepted(folder: Path, name: str, text: str) -> bool:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    (candidate,) = candidates({"path": str(file), "text": text})
    return candidate.session.verify(candidate.checked).accepted


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[Path]:
    yield Path(shutil.copy(FOLDER / "plain.py", tmp_path / "plain.py"))


@pytest.mark.parametrize(
    "name", ["affine", "halves", "scaled", "attend", "masked", "square", "Gate", "Gate.raised", "Gate.doubled"]
)
def test_what_is_delivered_verifies_against_the_users_function(plain: Path, name: str) -> None:
    owner = Owner()
    found = job(plain, name, owner)
    assert found["solved"], found["reason"]
    assert list(dict.fromkeys(owner.stages)) == ["trace", "check", "lower", "write"]
    best = found["programs"][0]
    assert accepted(plain.parent, "program.step.py", best["text"])
    assert all(len(line) <= 120 or "return" in line or " = " in line for line in best["text"].splitlines())
    assert best["operators"] == best["impl"].count("step.")
    assert 0 <= best["streaming_degree"] <= 1
    assert best["on_chip_bytes"] >= 0
    assert all(each["off_chip_bytes"] >= each["compulsory_bytes"] > 0 for each in found["programs"])


# Functions that read tensors again and again, in part, shifted, or with padding around them.
READING = {
    "attention": ("rotary", "grouped_query_attention"),
    "broadcasting": ("join_columns", "shifted_difference"),
    "lookups": ("embedding", "select_rows"),
    "norms": ("group_norm",),
    "windows": ("strided_conv2d", "transposed_conv1d", "max_pool2d"),
}


@pytest.mark.parametrize(("family", "name"), [(family, name) for family in READING for name in READING[family]])
def test_no_program_makes_less_than_the_compulsory_traffic(family: str, name: str) -> None:
    found = job(ROOT / "benchmarks" / "functions" / f"{family}.py", name)
    assert found["solved"], found["reason"]
    assert all(each["off_chip_bytes"] >= each["compulsory_bytes"] > 0 for each in found["programs"])


def test_a_change_of_the_function_is_noticed(plain: Path) -> None:
    text = job(plain, "affine")["programs"][0]["text"]
    plain.write_text(plain.read_text(encoding="utf-8").replace("F.relu(x @ w)", "F.relu(x @ w) + 1"), encoding="utf-8")
    assert not accepted(plain.parent, "program.step.py", text)


def test_comments_name_the_lines(plain: Path) -> None:
    text = job(plain, "affine")["programs"][0]["text"]
    number = plain.read_text(encoding="utf-8").splitlines().index("    return F.relu(x @ w)") + 1
    assert f"    # line {number}: return F.relu(x @ w)\n" in text


def test_checks_are_at_several_sizes_with_ones(plain: Path) -> None:
    sizes = job(plain, "affine")["checked_at"]
    assert {"m": 1, "k": 1, "n": 1} in sizes
    assert len(sizes) >= 5
    assert all(size["k"] % 2 == 0 for size in job(plain, "halves")["checked_at"])


def test_a_program_in_another_folder_finds_the_function(plain: Path) -> None:
    other = plain.parent / "programs"
    other.mkdir()
    text = job(plain, "affine", folder=str(other))["programs"][0]["text"]
    assert str(plain.parent) not in text
    assert accepted(other, "program.step.py", text)


def test_a_file_that_cannot_be_named_in_an_import(tmp_path: Path) -> None:
    path = Path(shutil.copy(FOLDER / "plain.py", tmp_path / "1_plain-functions.py"))
    assert accepted(tmp_path, "program.step.py", job(path, "affine")["programs"][0]["text"])


def test_a_task_file_has_the_source_and_the_layouts(plain: Path) -> None:
    from stepcore.frontend.yaml.tasks import read_task

    text = job(plain, "affine", emit="task")["programs"][0]["text"]
    task = read_task(text, "affine.step.yaml")
    assert not [item for item in task.diagnostics if item.severity.value == "error"]
    assert 'source: "plain.py::affine"' in text
    assert task.spec is not None
    assert all(port.layout is not None and port.layout.text().startswith(f"{port.name}[") for port in task.spec.inputs)


def test_an_operation_without_a_lowering_is_said_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text(
        "import torch\ndef f(x):  # stepsmith: x[m, k]\n    y = x + 1\n    return torch.linalg.svdvals(y)\n"
    )
    found = job(path, "f")
    assert not found["solved"]
    (item,) = found["unsupported"]
    assert (item["code"], item["line"], item["path"]) == ("STEP604", 4, str(path))
    assert "svd" in item["operation"]


def test_without_trust_nothing_runs(tmp_path: Path) -> None:
    path = tmp_path / "own.py"
    path.write_text("open('ran', 'w')\ndef f(x):  # stepsmith: x[m]\n    return x\n")
    with pytest.raises(JobError, match="not trusted"):
        job(path, "f", trusted=False)
    assert not (tmp_path / "ran").exists()


def test_a_cancelled_job_ends(plain: Path) -> None:
    with pytest.raises(JobCancelled):
        job(plain, "affine", Owner(stop_at="check"))


def test_the_command_shows_and_writes(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = plain.parent / "out"
    arguments = [f"{plain}::affine", f"{plain}::Gate"]
    assert run_functions(arguments, FunctionOptions(output=output)) == 0
    out, err = capsys.readouterr()
    assert out.splitlines()[-1] == "2 of 2 solved"
    assert "evaluation mode" in err
    assert sorted(file.name for file in output.iterdir()) == ["Gate.step.py", "affine.step.py"]
    assert accepted(output, "affine.step.py", (output / "affine.step.py").read_text(encoding="utf-8"))


def test_the_worker_starts_before_the_command_line_is_read(plain: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[Any] = []

    class Recorded(Pool):
        def start_worker(self, isolation: Isolation | None = None) -> None:
            heard.append(isolation)

        def close(self) -> None:
            heard.append("closed")
            super().close()

        def submit(self, *_given: Any, isolation: Isolation | None = None, **_more: Any) -> Job[Any]:
            heard.append(isolation)
            raise InterruptedError

    monkeypatch.setattr(synth_function, "Pool", Recorded)
    monkeypatch.setattr(synth_function, "isolation_for", isolation_for)
    words = ["--seed", "3", f"{plain}::affine", "--output", "no/such/file.py::matmul"]
    with synth_function.begun(words):
        assert heard == [isolation_for(plain)]
        with pytest.raises(InterruptedError):
            list(synth_function.function_rows([f"{plain}::affine"], FunctionOptions()))
        assert heard == [isolation_for(plain)] * 2 + ["closed"]  # the job may do what the worker was started for
    heard.clear()
    with synth_function.begun(["task.step.yaml", "no/such/file.py::matmul"]):
        assert not heard
    with synth_function.begun([f"{plain}::affine", "--nonsense"]):
        pass
    assert heard == [isolation_for(plain), "closed"]


def test_two_functions_of_one_name_get_two_files(plain: Path) -> None:
    other = Path(shutil.copy(plain, plain.with_name("other.py")))
    output = plain.parent / "out"
    assert run_functions([f"{plain}::square", f"{other}::square"], FunctionOptions(output=output)) == 0
    assert sorted(file.name for file in output.iterdir()) == ["other_square.step.py", "square.step.py"]
    assert "other" in (output / "other_square.step.py").read_text(encoding="utf-8")


def test_the_command_answers_in_json_with_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "own.py"
    path.write_text(
        "import torch\ndef svd(x):  # stepsmith: x[m, k]\n    return torch.linalg.svdvals(x)\n"
        "def free(x):\n    return x + 1\ndef double(x):  # stepsmith: x[m]\n    return x + x\n"
    )
    assert run_functions([f"{path}::svd", f"{path}::double"], FunctionOptions(as_json=True)) == 1
    first, second = json.loads(capsys.readouterr().out)
    assert first["unsupported"][0]["line"] == 3
    assert (first["solved"], second["solved"]) == (False, True)
    assert second["operators"] >= 1
    assert {
        "streaming_degree",
        "on_chip_bytes",
        "off_chip_bytes",
        "impl",
        "proposer",
        "candidates",
        "tokens",
    } <= second.keys()
    assert run_functions([f"{path}::free", f"{tmp_path}/missing.py::f"], FunctionOptions()) == 2
    err = capsys.readouterr().err
    assert "own.py:4:10: STEP602 the shape of x is not known" in err
    assert "missing.py: STEP901" in err
    assert run_functions([f"{path}::free"], FunctionOptions(inputs=["x=a b"], dims={"a": 6}, explain=True)) == 0
    assert "equal to the function at a=" in capsys.readouterr().out


def test_synth_takes_functions_or_tasks(plain: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from stepcore.cli import main

    (plain.parent / "stepsmith.toml").write_text("[timing]\nhw = 'paper'\n", encoding="utf-8")
    assert main(["synth", f"{plain}::scaled", "--dims", "m=6", "--input", "factor=2.0", "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert row["sizes"] == {"m": 6}
    assert (row["timing"]["hw"], row["timing"]["problem"]) == ("paper", None)
    assert "factor=2.0" in row["program"]
    for wrong in (["a.step.yaml"], ["--proposer", "llm"], ["--dims", "m"]):
        assert main(["synth", f"{plain}::scaled", *wrong]) == 2
    assert main(["synth", "a.step.yaml", "--proposer", "lower"]) == 2


def test_our_set_has_sixty_functions_of_all_families() -> None:
    from benchmarks.suites.functions import FOLDER as SET
    from benchmarks.suites.functions import arguments_of

    arguments = arguments_of([SET])
    assert len(arguments) >= 60
    assert len({Path(argument.partition("::")[0]).stem for argument in arguments}) >= 11
