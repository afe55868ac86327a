"""The registry of proposers: one line and one module each; whoever asks for programs finds a new one there."""

from __future__ import annotations

import inspect
import sys
from concurrent.futures import Future
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from job_records import propose, sample
from quiet import Quiet
from stepagents.executors.executor import Executor
from stepagents.proposers import find_proposer
from stepagents.proposers.programs import Programs, Proposed
from stepagents.runs import WorkerSampler
from stepagents.sampling import Order
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.task import TaskFile
from stepcore.jobdata.kinds import JobKind
from stepcore.jobdata.plain import from_plain, to_plain, written
from stepcore.jobdata.writing import Experience, ProposeRequest, WritingProgress
from stepcore.jobs import Context, JobCancelled, JobError
from stepcore.jobs.proposers import AUTO, BY_NAME, FOR_FUNCTIONS, LOWER, PROPOSERS, ProposerEntry

ROOT = Path(__file__).parents[1]
TASK = ROOT / "benchmarks" / "tasks" / "index_score_filter.step.yaml"
ECHO = ProposerEntry("echo", "whoever gives back what a task holds", samples=3)


def echo(
    _task: TaskFile, order: ProposeRequest, context: Context, programs: Programs, *, is_patient: bool = True
) -> Proposed:
    """Add the program that stands in the task."""
    impl = read_task(order.text, order.path).impl
    assert impl is not None
    context.progress(WritingProgress(candidates=1))
    programs.add(impl.source.text)
    return Proposed("", 1, f"asked with {sorted(written(order).keys() - {'path', 'text'})}, {is_patient}")


@pytest.fixture
def echoing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What adding a proposer does: one line in the table, one module."""
    module = ModuleType("stepagents.proposers.echo")
    vars(module)["propose"] = echo
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setitem(BY_NAME, ECHO.name, ECHO)


def payload(**more: Any) -> dict[str, Any]:
    return {"path": str(TASK), "text": TASK.read_text(encoding="utf-8"), **more}


def test_each_line_has_its_module_and_each_module_its_line() -> None:
    folder = ROOT / "agents" / "stepagents" / "proposers"
    assert {path.stem for path in folder.glob("*.py")} - {"__init__", "programs"} == BY_NAME.keys()
    for entry in PROPOSERS:
        parameters = inspect.signature(find_proposer(entry.name)).parameters
        assert list(parameters) == ["task", "order", "context", "programs", "is_patient"]
    assert (AUTO, LOWER, *(entry.name for entry in PROPOSERS)) == FOR_FUNCTIONS


def test_a_new_one_writes_for_editors_and_for_commands(echoing: None) -> None:
    context = cast("Context", Quiet())
    found = propose(payload(proposer="echo"), context)
    assert [item["operators"] for item in found["solutions"]] == [len(found["solutions"][0]["impl"].splitlines()) - 1]
    one = sample("echo", payload(samples=3, seed=1), context)
    assert (one["solved"], one["impl"]) == (True, found["solutions"][0]["impl"])
    assert one["note"] == "asked with ['samples', 'seed', 'solutions'], True"


class Inline:
    """An executor that runs jobs where they are ordered."""

    size = 1

    def submit(self, kind: JobKind[Any, Any, Any], request: Any, **_options: Any) -> Any:
        self.future: Future[Any] = Future()
        self.cancelled = False
        data = to_plain(request)
        self.asked = (kind.name, data)
        self.future.set_result(from_plain(kind.result, sample(kind.name, data, cast("Context", Quiet()))))
        return self

    def result(self, _seconds: float | None = None) -> Any:
        return self.future.result()


def test_a_new_one_is_a_sampler_of_commands_and_gets_experience(echoing: None) -> None:
    executor = Inline()
    sampler = WorkerSampler(cast("Executor", executor), ECHO)
    learned = Experience("t", "inputs: []", "return x", "search", 0.5)
    (found,) = sampler.sample([Order("t", str(TASK), payload()["text"], ECHO.samples, 1.0)], [learned])
    assert (found.proposer, found.solved, found.answers) == ("echo", True, 1)
    kind, data = executor.asked
    assert (kind, data["samples"], data["experiences"][0]["impl"]) == ("echo", 3, "return x")


class Ended(Inline):
    """An executor whose jobs tell of candidates, and are ended then."""

    def __init__(self, failure: Exception) -> None:
        self.failure = failure

    def submit(self, kind: JobKind[Any, Any, Any], request: Any, **options: Any) -> Any:
        self.future: Future[Any] = Future()
        self.cancelled = False
        for candidates in (0, 7):
            options["on_progress"](WritingProgress(candidates=candidates))
        self.future.set_exception(self.failure)
        return self


@pytest.mark.parametrize(
    ("failure", "reason"), [(JobCancelled(), "interrupted"), (JobError("STEP405", "its time was over"), "STEP405")]
)
def test_what_a_job_told_that_was_ended_counts(failure: Exception, reason: str) -> None:
    """Where a search does not end by itself in time its worker is killed, and gives no result."""
    sampler = WorkerSampler(cast("Executor", Ended(failure)), ECHO)
    (found,) = sampler.sample([Order("t", str(TASK), payload()["text"], ECHO.samples, 1.0)])
    assert (found.solved, found.answers) == (False, 7)
    assert reason in found.reason


def test_who_is_no_proposer_is_refused_with_those_that_there_are() -> None:
    with pytest.raises(JobError, match="proposer has to be one of search, model"):
        propose(payload(proposer="nobody"), cast("Context", Quiet()))
