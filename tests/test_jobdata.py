"""What comes over a pipe is read strictly: one clear error for whatever is no record."""

from __future__ import annotations

import importlib
import json
import pkgutil
from dataclasses import is_dataclass
from typing import Any, Final, get_args

import pytest

from job_records import run_of
from scripts import editor_types
from stepcore import jobdata
from stepcore.jobdata.editor import FaultName
from stepcore.jobdata.failures import Failure
from stepcore.jobdata.kinds import JobKind
from stepcore.jobdata.plain import Mistyped, from_plain, reader_of, to_plain, written
from stepcore.jobdata.programs import (
    SIMULATE,
    VERIFY,
    AnswerFile,
    ComponentRow,
    OperatorsDone,
    QuantityRow,
    SimulateRequest,
    SimulateResult,
    StreamRow,
    VerifyRequest,
)
from stepcore.jobdata.writing import Experience, FunctionRequest, ProposeRequest
from stepcore.jobs import Handler, Job, JobError

COMPONENT = ComponentRow("fp32", (7,), (0.5, "nan"), 0.5, 0.5, None, 1, 0)
RUN = run_of(StreamRow("E0", "input", "f32", ("M",), (7,), QuantityRow("4*M", 28), (COMPONENT,)))


def test_records_come_back_as_they_were() -> None:
    assert from_plain(SimulateResult, json.loads(json.dumps(to_plain(RUN)))) == RUN
    asked = SimulateRequest("a.py", "", program="p", impl=AnswerFile("b", ""), dims={"M": 3}, values=2)
    assert from_plain(SimulateRequest, to_plain(asked)) == asked


def test_what_holds_its_default_is_left_out() -> None:
    assert written(VerifyRequest("a.py", "text")) == {"path": "a.py", "text": "text"}
    read = from_plain(VerifyRequest, {"path": "a.py", "text": "text"})
    assert read == VerifyRequest("a.py", "text")
    assert read.dims is not from_plain(VerifyRequest, {"path": "a.py", "text": "text"}).dims


def changed(place: str, value: Any) -> dict[str, Any]:
    """Return the JSON of a run with another value at ``place``, dots between keys; ``...`` takes the key away."""
    found: Any = json.loads(json.dumps(to_plain(RUN)))
    *path, last = place.split(".")
    part = found
    for key in path:
        part = part[int(key)] if key.isdigit() else part[key]
    if value is ...:
        del part[last]
    else:
        part[last] = value
    assert isinstance(found, dict)
    return found


WRONG: Final = {
    "missing": ("seconds", ..., "seconds: is missing"),
    "missing within": ("streams.0.bytes.bound", ..., "streams[0].bytes.bound: is missing"),
    "unknown": ("more", 1, "more: is unknown here"),
    "unknown within": ("metrics.x\x1b[2J", 1, r"metrics.x\x1b[2J: is unknown here"),
    "a text for a number": ("seconds", "0.1", "seconds: a number was expected, not a text"),
    "true for a number": ("seed", True, "seed: a whole number was expected, not true or false"),
    "a number for a size": ("seed", 1.0, "seed: a whole number was expected, not a number"),
    "no finite number": ("seconds", float("nan"), "seconds: a finite number was expected"),
    "an endless number": ("seconds", 10**400, "seconds: a number was expected, not one of hundreds of digits"),
    "null": ("program", None, "program: a text was expected, not null"),
    "an object for a list": ("warnings", {}, "warnings: a list was expected, not an object"),
    "an item of a list": ("warnings", ["a", 1], "warnings[1]: a text was expected, not a whole number"),
    "a value of a table": ("dims", {"M": "7"}, "dims.M: a whole number was expected, not a text"),
    "no such word": ("streams.0.role", "x", "streams[0].role: one of 'input', 'output', 'stream' was expected"),
    "an unhashable word": ("streams.0.role", [], "streams[0].role: one of 'input', 'output', 'stream' was expected"),
    "neither": ("streams.0.components.0.values", [[]], "streams[0].components[0].values[0]: "
                "a number or a text was expected, not a list"),
    "an optional record": ("verdict", {"task": 1}, "verdict.task: a text was expected, not a whole number"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_record_has_one_error_with_its_place(name: str) -> None:
    place, value, message = WRONG[name]
    with pytest.raises(Mistyped) as caught:
        from_plain(SimulateResult, changed(place, value))
    assert str(caught.value) == message


def test_messages_stay_short_whatever_is_wrong() -> None:
    for found in ({"k" * 10_000_000: 1}, changed("x" * 1_000_000, 1), "x" * 1_000_000, [1] * 1_000_000):
        with pytest.raises(Mistyped) as caught:
            from_plain(SimulateResult, found)
        assert len(str(caught.value)) < 100


def test_what_a_worker_says_of_a_job_is_not_believed() -> None:
    job = Job(1, SIMULATE, SimulateRequest("a.py", ""), None)
    heard: list[Any] = []
    job.on_progress = heard.append
    job.tell({"operator": 1, "of": 2})
    assert heard == [OperatorsDone(1, 2)]
    for say in (job.tell, job.value):
        with pytest.raises(JobError, match="cannot be used") as caught:
            say(["no"])
        assert caught.value.code == "STEP407"
    assert len(heard) == 1


@pytest.mark.parametrize("detail", [{"line": "3"}, {"reads": {"files": {"a": 1}, "kept": []}}, {"what": 1}, 5, ["x"]])
def test_the_detail_of_an_error_is_not_believed(detail: Any) -> None:
    job = Job(1, VERIFY, VerifyRequest("a.py", ""), None)
    event = {"type": "error", "job": job.key, "code": "STEP404", "message": "no", "detail": {"line": 3}, "trace": ""}
    error = job.failure(event)
    assert (error.code, error.message, error.detail) == ("STEP404", "no", {"line": 3})
    with pytest.raises(JobError, match="cannot be used"):
        job.failure({**event, "detail": detail})


def test_a_worker_reads_its_orders_as_strictly() -> None:
    run = Handler(VERIFY, lambda _request, _context: ())
    context: Any = None
    assert run({"path": "a", "text": ""}, context) == []
    with pytest.raises(JobError, match="no order for the job 'verify': text: is missing"):
        run({"path": "a"}, context)


@pytest.mark.parametrize("module", ["stepcore.sim.worker.__main__", "stepagents.worker"])
def test_no_job_of_a_worker_reads_its_order_by_key(module: str) -> None:
    """Each refuses what is no record before it does anything, and what it takes is one."""
    context: Any = None
    handlers: tuple[Handler, ...] = vars(importlib.import_module(module))["_HANDLERS"]
    assert handlers
    for run in handlers:
        with pytest.raises(JobError, match=f"no order for the job '{run.kind.name}'.*") as caught:
            run({"what": [1]}, context)
        assert caught.value.code == "STEP911"
    for kind in (*(each.kind for each in handlers), *kinds().values()):
        assert is_dataclass(kind.request) or kind.request is type(None), kind.name


def test_orders_for_programs_come_back_as_they_were() -> None:
    learned = (Experience("t", "inputs: []", "return x", "search", 0.5),)
    task = ProposeRequest(path="a", text="", seconds=3.0, experiences=learned, costs={"table": []}, price=(1, 2))
    asked = FunctionRequest(path="a", text="", selector="f", trusted=True, dims={"M": 3}, solutions=1, proposer="lower")
    for order in (task, asked):
        assert from_plain(type(order), json.loads(json.dumps(to_plain(order)))) == order
    with pytest.raises(Mistyped, match=r"experiences\[0\].success_rate: a number was expected, not a text"):
        from_plain(ProposeRequest, {**written(task), "experiences": [{**written(learned[0]), "success_rate": "all"}]})


def kinds() -> dict[str, JobKind[Any, Any, Any]]:
    """Return all kinds of jobs by name."""
    modules = (
        importlib.import_module(f"{jobdata.__name__}.{each.name}") for each in pkgutil.iter_modules(jobdata.__path__)
    )
    return {value.name: value for module in modules for value in vars(module).values() if isinstance(value, JobKind)}


def test_the_types_of_the_extension_are_those_of_the_records() -> None:
    """``python scripts/editor_types.py`` writes them."""
    for file, text in editor_types.written().items():
        assert file.read_text(encoding="utf-8") == text, file.name


def test_an_editor_names_faults_of_models_as_the_agents_do() -> None:
    from stepagents.llm.faults import Fault

    assert set(get_args(FaultName)) <= {fault.value for fault in Fault}


def test_every_kind_of_job_can_be_read() -> None:
    found = kinds()
    assert found.keys() >= {"verify", "simulate", "about", "propose", "function", "sizes", "judge"}
    parts: list[Any] = [Failure]
    for kind in found.values():
        parts += [kind.request, kind.progress, kind.result]
    for part in parts:
        reader_of(part)  # raises for a type that no JSON stands for
