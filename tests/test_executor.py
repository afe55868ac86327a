"""The local executor, and the search and its prior as jobs on it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent_tasks import TASKS
from processes import PATIENCE
from stepagents.cli.orders import read_orders
from stepagents.executors.executor import Executor, available_cpus
from stepagents.executors.opening import ExecutorChoice, open_executor
from stepagents.runs import WorkerSampler
from stepagents.sampling import Order
from stepcore.graph.task import task_name
from stepcore.jobdata.kinds import JobKind
from stepcore.jobdata.plain import written
from stepcore.jobdata.writing import Experience, ProposeRequest, SampleResult
from stepcore.jobs import Job, JobCancelled, Pool

EASY = TASKS / "index_score_filter.step.yaml"
HARD = TASKS / "norm_layer_scalars.step.yaml"


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    with open_executor(ExecutorChoice(workers=2)) as opened:
        yield opened


def order(path: Path, samples: int = 200_000, seconds: float = 3600.0) -> Order:
    return Order(task_name(path), str(path), path.read_text(encoding="utf-8"), samples, seconds)


def endless(tmp_path: Path) -> Order:
    """An order whose search ends only when it is stopped, on a time scale of tests."""
    text = HARD.read_text(encoding="utf-8").replace("eps=1e-5)", "eps=1e-5).cos() ** 3")
    path = tmp_path / "endless.step.yaml"
    path.write_text(text, encoding="utf-8")
    return order(path, samples=10_000_000, seconds=3600.0)


def test_the_local_executor_is_the_pool(executor: Executor) -> None:
    assert isinstance(executor, Pool)
    assert executor.command == (sys.executable, "-P", "-m", "stepagents.worker")
    assert executor.size == 2
    with open_executor() as other:
        assert other.size == available_cpus() >= 1


def test_results_tell_what_came_of_each_order(executor: Executor, tmp_path: Path) -> None:
    broken = tmp_path / "broken.step.yaml"
    broken.write_text("inputs: [\n", encoding="utf-8")
    told: list[str] = []
    orders = [order(EASY), order(HARD, samples=5), order(broken)]
    found = {item.task: item for item in WorkerSampler(executor).sample(orders, tell=told.append)}
    easy, hard, unusable = (found[item.task] for item in orders)
    assert (easy.solved, easy.accepted, easy.success_rate) == (True, 1, 1 / easy.answers)
    assert (hard.solved, hard.answers, hard.accepted) == (False, 5, 0)
    assert "budget of 5 candidates" in hard.reason
    assert unusable.problem.startswith(f"{broken}:")
    assert not (easy.problem or hard.problem or unusable.solved)
    assert all(item.proposer == "search" for item in found.values())


def test_a_stop_ends_what_runs_and_what_waits(executor: Executor, tmp_path: Path) -> None:
    stop = threading.Event()
    first = endless(tmp_path)
    orders = [replace(first, path=f"{first.path}.{number}") for number in range(4)]
    found = list(WorkerSampler(executor).sample(orders, stop=stop, tell=lambda _text: stop.set()))
    assert sorted(item.path for item in found) == sorted(item.path for item in orders)
    assert {(item.solved, item.reason) for item in found} == {(False, "interrupted")}
    assert max(item.answers for item in found) > 0


def test_leaving_early_cancels_the_rest(executor: Executor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jobs: list[Job[Any]] = []
    submit = executor.submit

    def watched(*words: Any, **options: Any) -> Job[Any]:
        jobs.append(submit(*words, **options))
        return jobs[-1]

    monkeypatch.setattr(executor, "submit", watched)
    results = WorkerSampler(executor).sample([order(EASY), endless(tmp_path)])
    assert next(results).task == "index_score_filter"
    results.close()  # type: ignore[attr-defined]
    with pytest.raises(JobCancelled):
        if jobs[1].result(PATIENCE).reason == "cancelled":
            raise JobCancelled


def test_demonstrations_become_the_costs_of_the_search(executor: Executor, monkeypatch: pytest.MonkeyPatch) -> None:
    payloads: list[tuple[str, Any]] = []
    submit = executor.submit

    def watched(kind: JobKind[Any, Any, Any], request: Any, **options: Any) -> Job[Any]:
        payloads.append((kind.name, written(request).get("costs")))
        return submit(kind, request, **options)

    monkeypatch.setattr(executor, "submit", watched)
    sampler = WorkerSampler(executor)
    (plain,) = sampler.sample([order(EASY)])
    experience = Experience(plain.task, order(EASY).text, plain.solutions[0], "search", 0.5)
    (taught,) = sampler.sample([order(EASY)], [experience])
    assert plain.solved and taught.solved
    (first, no_costs), (second, _), (third, costs) = payloads
    assert (first, second, third) == ("search", "prior", "search")
    assert no_costs is None
    assert isinstance(costs, dict) and costs["learned"]


def test_the_same_order_gives_the_same_result(executor: Executor) -> None:
    (one,), (two,) = (list(WorkerSampler(executor).sample([order(EASY)])) for _ in range(2))
    assert (one.solutions, one.answers) == (two.solutions, two.answers)


def test_orders_are_read_once_and_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.step.yaml").write_text("x: 1\n")
    (tmp_path / "latin.step.yaml").write_bytes(b"\xff\xfe\xfa")
    (tmp_path / "p.py").write_text("import stepcore\n")
    wanted = read_orders([str(tmp_path), str(tmp_path / "a.step.yaml"), str(tmp_path / "gone")], 7, 2.0, 3)
    assert [(item.task, item.samples, item.seconds, item.seed) for item in wanted.orders] == [("a", 7, 2.0, 3)]
    assert [Path(item.path).name for item in wanted.unusable] == ["latin.step.yaml", "p.py", "gone"]
    assert all(item.problem.startswith(item.path) for item in wanted.unusable)
    assert read_orders([""], 1, 1.0).unusable[0].problem.startswith("'': ")


class AtOnce:
    """An executor whose jobs have ended when they are submitted."""

    size = 1

    def __init__(self) -> None:
        self.paths: list[str] = []

    def submit(self, kind: JobKind[Any, Any, Any], request: ProposeRequest, **_how: Any) -> Job[Any]:
        """Note the job, and end it."""
        self.paths.append(request.path)
        job: Job[Any] = Job(len(self.paths), kind, request, None)
        job.finish(SampleResult(False, "", "nothing left", 10, "", 0.0))
        return job


def test_no_search_begins_before_what_the_last_one_came_to_was_looked_at() -> None:
    executor, stop = AtOnce(), threading.Event()
    orders = [order(EASY), order(HARD)]
    found = []
    for sampled in WorkerSampler(executor).sample(orders, stop=stop):  # type: ignore[arg-type]
        found.append((sampled.path, sampled.reason))
        stop.set()  # the budget is spent
    assert executor.paths == [str(EASY)]
    assert found == [(str(EASY), "nothing left"), (str(HARD), "interrupted")]
