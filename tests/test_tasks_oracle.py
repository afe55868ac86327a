"""Every benchmark task against the oracle: its reference `impl` computes its `data_transform`."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
import torch

from oracle import load_task, run_task

TASKS = sorted((Path(__file__).parent.parent / "benchmarks" / "tasks").glob("*.step.yaml"))
GROUP_SIZES = {"attention": 3, "bmm": 3, "gemm_easy": 3, "norm": 3, "rope": 3, "index": 4, "expert": 3, "etoe": 4}
README = Path(__file__).parent.parent / "benchmarks" / "tasks" / "README.md"

each_task = pytest.mark.parametrize("path", TASKS, ids=lambda path: path.name.split(".")[0])


def operators_of(impl: str) -> list[str]:
    """The name of every `step.NAME(...)` that `impl` writes, in no particular order."""
    calls = [node.func for node in ast.walk(ast.parse(impl)) if isinstance(node, ast.Call)]
    return [
        call.attr
        for call in calls
        if isinstance(call, ast.Attribute) and isinstance(call.value, ast.Name) and call.value.id == "step"
    ]


def test_the_benchmark_has_its_26_tasks_in_8_groups() -> None:
    groups = Counter(group for path in TASKS for group in GROUP_SIZES if path.name.startswith(group + "_"))
    assert groups == GROUP_SIZES
    assert len(TASKS) == 26


@each_task
def test_published_sizes(path: Path) -> None:
    result = run_task(load_task(path))
    assert result.shape_ok
    assert result.matches, f"maximum error {result.max_error}"
    assert result.affine


@each_task
@pytest.mark.parametrize("dims", [{"M": 10, "N": 14, "K": 18, "D": 32}, {"M": 3, "N": 4, "K": 5, "D": 6}], ids=str)
def test_other_sizes(path: Path, dims: dict[str, int]) -> None:
    # fp64, because rounding may reorder a top-k or exceed fp32's tolerance where sums are long.
    result = run_task(load_task(path), dims=dims, dtype=torch.float64)
    assert result.matches, f"maximum error {result.max_error}"


@each_task
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_other_data(path: Path, seed: int) -> None:
    assert run_task(load_task(path), seed=seed, dtype=torch.float64).matches


@each_task
def test_number_of_copies(path: Path) -> None:
    assert 0 <= operators_of(load_task(path).spec["impl"]).count("Copy") <= 3


@each_task
def test_the_table_in_the_readme_counts_right(path: Path) -> None:
    task = load_task(path)
    rows = [row.split("|")[1:-1] for row in README.read_text(encoding="utf-8").splitlines() if f"`{task.name}`" in row]
    operators = operators_of(task.spec["impl"])
    assert [[cell.strip() for cell in row[-2:]] for row in rows] == [
        [str(len(operators)), str(operators.count("Copy"))]
    ]
    assert task.spec["test_name"] == task.name
