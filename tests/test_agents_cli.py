"""``stepsmith synth`` and ``stepsmith bench`` as commands: output, files, exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent_tasks import TASKS, TASKS2
from stepcore.cli import main

EASY = TASKS / "index_score_filter.step.yaml"
MEAN = TASKS2 / "norm_max_abs_buffers.step.yaml"


def test_writes_answers_that_verify_accepts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["synth", str(EASY), str(MEAN), "--output", str(tmp_path / "new")]) == 0
    assert "2 of 2 solved" in capsys.readouterr().out
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "index_score_filter.impl.yaml", "norm_max_abs_buffers.impl.yaml",
    ]  # fmt: skip
    assert main(["verify", str(EASY), str(MEAN), "--impl", str(tmp_path / "new")]) == 0


def test_json_is_as_documented(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["synth", str(EASY), "--format", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)
    assert {"task", "solved", "impl", "proposer", "candidates", "seconds", "tokens"} <= row.keys()
    assert (row["task"], row["solved"], row["proposer"], row["tokens"]) == ("index_score_filter", True, "search", 0)
    assert row["impl"].splitlines()[-1].startswith("return ")


def test_unsolved_and_unusable_have_their_exit_codes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hard = str(TASKS / "norm_layer_scalars.step.yaml")
    assert main(["synth", hard, "--samples", "5"]) == 1
    assert "5 candidates is spent" in capsys.readouterr().out
    broken = tmp_path / "broken.step.yaml"
    broken.write_text("inputs: [\n")
    assert main(["synth", str(broken), str(tmp_path / "missing.step.yaml")]) == 2
    captured = capsys.readouterr()
    assert "broken.step.yaml" in captured.err
    assert "missing.step.yaml" in captured.err
    assert "Traceback" not in captured.err + captured.out
    assert main(["synth", str(EASY), "--proposer", "llm"]) == 2


def test_bench_counts_by_group(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", str(EASY), str(MEAN)]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["group", "solved", "tasks", "candidates", "seconds"]
    assert [line[:3] for line in lines[1:]] == [["index", "1", "1"], ["norm", "1", "1"], ["all", "2", "2"]]
