"""``stepsmith experience`` and ``stepsmith improve`` as commands."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import warm
from agent_tasks import TASKS, TASKS2
from fake_model_server import KEY, FakeModelServer, always, says
from learning_models import OTHER, experience
from llm_answers import GOOD, PATH, fenced
from processes import PATIENCE
from stepagents.experience.store import Store
from stepcore.cli import main

EASY = TASKS / "index_score_filter.step.yaml"
MEAN = TASKS2 / "norm_max_abs_buffers.step.yaml"
HARD = TASKS / "norm_layer_scalars.step.yaml"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    warm.lend(monkeypatch)
    path = tmp_path / "store.sqlite3"
    monkeypatch.setenv("STEPSMITH_STORE", str(path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return path


def filled(path: Path) -> None:
    with Store(path) as store:
        store.add(experience("first", rate=0.125), earned=1000.0)
        store.add(experience("second", impl=OTHER))
    with Store(path, "/elsewhere") as store:
        store.add(experience("third"))


def as_json(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    code = main([*words, "--format", "json"])
    out = capsys.readouterr().out
    assert code in {0, 1}, out
    return json.loads(out)


def test_lists_and_shows(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experience", "list"]) == 0
    assert "no experience yet" in capsys.readouterr().out
    filled(path)
    assert main(["experience", "list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:4] for line in lines[1:]] == [
        ["1", "first", "0.125", "simulated"], ["2", "second", "0.5", "simulated"],
    ]  # fmt: skip
    assert [item["task"] for item in as_json(capsys, "experience", "list", "--all-workspaces")] == [
        "first", "second", "third",
    ]  # fmt: skip
    assert [item["number"] for item in as_json(capsys, "experience", "list", "--task", "second")] == [2]
    assert main(["experience", "show", "1"]) == 0
    shown = capsys.readouterr().out
    assert "0.125 of the answers" in shown
    assert "  return E2" in shown
    assert as_json(capsys, "experience", "show", "2")["impl"] == OTHER
    assert main(["experience", "show", "3"]) == 2
    assert "`stepsmith experience list`" in capsys.readouterr().err


def test_exports_imports_and_prunes(path: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    filled(path)
    file, other = tmp_path / "out.jsonl", str(tmp_path / "other.sqlite3")
    assert main(["experience", "export", str(file)]) == 0
    with file.open("a", encoding="utf-8") as opened:
        opened.write("nonsense\n")
    assert main(["experience", "import", str(file), "--store", other]) == 1
    captured = capsys.readouterr()
    assert "2 added, 0 known already, 1 refused (1 no JSON)" in captured.out
    assert "out.jsonl:3: no JSON" in captured.err
    found = as_json(capsys, "experience", "import", str(file), "--no-verify", "--store", other)
    assert (found["added"], found["known"], [item["line"] for item in found["refused"]]) == (0, 2, [3])
    assert main(["experience", "prune"]) == 2
    capsys.readouterr()
    assert main(["experience", "prune", "--older-than", "1", "--dry-run"]) == 0
    assert "1 would be removed" in capsys.readouterr().out
    assert main(["experience", "prune", "--older-than", "1"]) == 0
    assert "1 removed" in capsys.readouterr().out
    assert [item["task"] for item in as_json(capsys, "experience", "list")] == ["second"]


def test_an_unusable_store_is_one_message(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path.write_text("this is a text file and no database" * 40)
    for words in (["experience", "list"], ["improve", str(EASY)], ["experience", "import", str(EASY), "--no-verify"]):
        assert main(words) == 2
        captured = capsys.readouterr()
        assert captured.err.count("\n") == 1
        assert "--store" in captured.err


def test_improve_earns_experience_and_knows_it_later(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = as_json(
        capsys, "improve", str(EASY), str(MEAN), str(HARD), "--samples", "20", "--granularity", "2", "--workers", "1"
    )
    assert [task["solved"] for task in first["tasks"]] == [True, True, False]
    assert first["ended"] == "all experience was used and nothing new was solved"
    hard = first["tasks"][2]
    assert (hard["stages"], hard["answers"]) == (3, 60)
    stored = as_json(capsys, "experience", "list")
    assert sorted(item["task"] for item in stored) == ["index_score_filter", "norm_max_abs_buffers"]
    assert all(0 < item["success_rate"] <= 1 and Path(item["path"]).is_file() for item in stored)
    again = as_json(capsys, "improve", str(EASY), str(MEAN), "--workers", "1")
    assert (again["known"], again["tasks"], again["ended"]) == (2, [], "nothing is left to solve")
    assert main(["improve", str(EASY), "--workers", "1", "--store", str(path.with_name("new"))]) == 0
    out = capsys.readouterr().out
    assert "round 1, stage 1 of 1: 1 tasks, 0 demonstrations" in out
    assert "1 of 1 solved: nothing is left to solve" in out


@pytest.mark.usefixtures("path")
def test_improve_tells_of_unusable_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.step.yaml").write_text("inputs: [\n")
    broken, missing = str(tmp_path / "broken.step.yaml"), str(tmp_path / "missing.step.yaml")
    assert main(["improve", broken, missing, "--workers", "1"]) == 2
    captured = capsys.readouterr()
    assert "broken.step.yaml:1" in captured.err
    assert "missing.step.yaml" in captured.err
    assert "Traceback" not in captured.err + captured.out
    assert main(["improve", str(EASY), "--model", "m"]) == 2


def test_a_run_that_ran_out_of_budget_goes_on(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["improve", str(HARD), str(EASY), "--samples", "10", "--selection", "none", "--workers", "1"]
    small = as_json(capsys, *words, "--budget-answers", "10")
    assert (small["ended"], [task["solved"] for task in small["tasks"]]) == ("the budget is spent", [False, False])
    more = as_json(capsys, *words)
    assert [(task["solved"], task["stages"]) for task in more["tasks"]] == [(False, 2), (True, 1)]
    assert more["run"] == small["run"]
    assert path.exists()
    other = as_json(capsys, *words)
    assert other["run"] != more["run"], "a run that is over does not go on"
    assert (other["known"], [task["solved"] for task in other["tasks"]]) == (1, [False])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_stopped_run_keeps_what_it_earned_and_goes_on(
    path: Path, capsys: pytest.CaptureFixture[str], number: int
) -> None:
    tasks = [str(EASY), str(MEAN), str(HARD)]
    words = ["improve", *tasks, "--samples", "100000", "--workers", "1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "stepcore.cli", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    seen: list[str] = []
    while "solved" not in "".join(seen):
        seen.append(process.stdout.readline())
        assert seen[-1], process.communicate()
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == (130 if number == signal.SIGINT else -number), out + err
    assert "Traceback" not in err
    assert "index_score_filter" in [item["task"] for item in as_json(capsys, "experience", "list")]
    end = as_json(capsys, *words, "--budget-answers", "1")
    easy = end["tasks"][0]
    assert (easy["solved"], easy["stages"], end["ended"]) == (True, 1, "the budget is spent")


def test_a_model_learns_from_what_it_earned_and_is_not_paid_twice(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It can do one of the tasks; the other is asked again, with the program for the first as a demonstration."""
    monkeypatch.setenv("FAKE_KEY", KEY)
    with FakeModelServer(always(says(fenced(GOOD)))) as server:
        model = ["--proposer", "llm", "--model", "m", "--base-url", server.base_url, "--key-variable", "FAKE_KEY"]
        words = ["improve", str(PATH), str(EASY), *model, "--samples", "3", "--workers", "1"]
        short = as_json(capsys, *words, "--budget-answers", "1")
        assert short["ended"] == "the budget is spent"
        found = as_json(capsys, *words)
        paid = len(server.asked)
        assert [(task["solved"], task["stages"]) for task in found["tasks"]] == [(True, 1), (False, 2)]
        assert found["run"] == short["run"]
        assert paid <= 3 + 2 * 3
        with_demonstration = [asked for asked in server.asked if "fn_multiply" in asked.text and asked.text.count("E4")]
        assert with_demonstration
        assert as_json(capsys, *words)["known"] == 1
        assert len(server.asked) > paid, "a new run asks for other answers"
    (stored,) = as_json(capsys, "experience", "list")
    assert (stored["task"], stored["proposer"]) == ("gemm_easy_buffer_sum", "127.0.0.1/m")
    assert all(KEY.encode() not in file.read_bytes() for file in path.parent.rglob("*") if file.is_file())


def test_a_device_is_no_export(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["experience", "import", "/dev/zero"]) == 2
    assert "no regular file" in capsys.readouterr().err
