"""A model that the owner of a job provides: as a transport, and through a real worker."""

from __future__ import annotations

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from llm_answers import GOOD, PATH, WRONG_TYPES, fenced
from processes import PATIENCE
from stepagents.executors.executor import worker_command
from stepagents.llm.asking import Ask, AskingTransport
from stepagents.llm.faults import Fault
from stepagents.llm.reading import MAX_TEXT
from stepagents.llm.transport import CompletionOptions, FaultError, Message, ModelCompletion
from stepcore.jobdata.kinds import untyped
from stepcore.jobdata.writing import SampleResult
from stepcore.jobs import Job, JobCancelled, JobError, Limits, Pool
from stepcore.jobs.proposers import MODEL

MESSAGES = [Message("system", "Write STeP."), Message("user", "Now."), Message("assistant", "E0"), Message("user", "?")]


def complete(ask: Ask, timeout: float = PATIENCE, times: int = 1) -> list[ModelCompletion]:
    transport = AskingTransport(ask, timeout=timeout)

    async def run() -> list[ModelCompletion]:
        return list(
            await asyncio.gather(*(transport.complete(MESSAGES, CompletionOptions(0.7, 99)) for _ in range(times)))
        )

    return asyncio.run(run())


def test_the_owner_gets_messages_and_options() -> None:
    asked: list[Any] = []

    def ask(question: Any) -> Any:
        asked.append(question)
        return {"text": "E1", "model": "copilot", "input_tokens": 5, "output_tokens": 2}

    (answer,) = complete(ask)
    assert (answer.text, answer.model, answer.input_tokens, answer.output_tokens) == ("E1", "copilot", 5, 2)
    assert answer.cost is None and answer.counted
    (question,) = asked
    assert question["kind"] == "model"
    assert question["options"] == {"temperature": 0.7, "max_tokens": 99}
    assert [message["role"] for message in question["messages"]] == ["user", "assistant", "user"]
    assert question["messages"][0]["content"] == "Write STeP.\n\nNow."


def test_without_a_count_tokens_are_estimated() -> None:
    (answer,) = complete(lambda _question: {"text": "x" * 40})
    assert (answer.output_tokens, answer.counted) == (10, False)


def raises(error: BaseException) -> Ask:
    def ask(_question: Any) -> Any:
        raise error

    return ask


FAULTS: dict[str, tuple[Ask, Fault]] = {
    "refused": (lambda _q: {"fault": "refused", "message": "no"}, Fault.REFUSED),
    "no permission": (lambda _q: {"fault": "authentication", "message": "not allowed"}, Fault.AUTHENTICATION),
    "unknown fault": (lambda _q: {"fault": ["x"]}, Fault.OTHER),
    "empty": (lambda _q: {"text": "\n"}, Fault.EMPTY),
    "no text": (lambda _q: {"text": 5}, Fault.NOT_JSON),
    "no object": (lambda _q: None, Fault.NOT_JSON),
    "long": (lambda _q: {"text": "x" * (MAX_TEXT + 1)}, Fault.TOO_LONG),
    "owner fails": (raises(JobError("STEP911", "this owner answers no questions")), Fault.OTHER),
    "cancelled": (raises(JobCancelled()), Fault.OTHER),
    "defect": (raises(ZeroDivisionError()), Fault.OTHER),
}


@pytest.mark.parametrize("name", FAULTS)
def test_whatever_the_owner_does_is_a_fault(name: str) -> None:
    ask, fault = FAULTS[name]
    with pytest.raises(FaultError) as caught:
        complete(ask)
    assert caught.value.fault is fault
    assert caught.value.message


def test_an_owner_that_never_answers_costs_the_timeout() -> None:
    never = threading.Event()
    with pytest.raises(FaultError) as caught:
        complete(lambda _question: never.wait(), timeout=0.1)
    assert caught.value.fault is Fault.TIMEOUT
    never.set()


def test_several_questions_are_open_at_once() -> None:
    barrier = threading.Barrier(4, timeout=PATIENCE)

    def ask(_question: Any) -> Any:
        barrier.wait()
        return {"text": "all four came"}

    assert len(complete(ask, times=4)) == 4


@pytest.fixture(scope="module")
def pool() -> Any:
    with Pool(worker_command(), size=1, limits=Limits(seconds=120)) as opened:
        yield opened


def payload(**more: Any) -> dict[str, Any]:
    return {"path": str(PATH), "text": PATH.read_text(encoding="utf-8"), "samples": 3, **more}


def submitted(pool: Pool, order: dict[str, Any], **more: Any) -> Job[SampleResult]:
    """Submit an order for a model; its options are those of the proposer, which commands do not use."""
    return pool.submit(replace(untyped(MODEL.name), result=SampleResult), order, **more)


def test_the_job_model_asks_its_owner(pool: Pool) -> None:
    answers = iter([fenced(WRONG_TYPES), fenced(GOOD)])
    questions: list[Any] = []
    told: list[Any] = []

    def answer(question: Any) -> Any:
        questions.append(question)
        return {"text": next(answers), "model": "copilot"}

    job = submitted(pool, payload(at_once=1), on_ask=answer, on_progress=told.append)
    found = job.result(PATIENCE)
    assert found.solved
    assert found.impl == GOOD
    assert found.details["outcomes"] == {"types": 1, "accepted": 1}
    assert len(questions) == 2
    assert "STEP2" in questions[1]["messages"][-1]["content"]
    assert told[0] == {"text": "asking editor"}
    tokens = found.details["input_tokens"] + found.details["output_tokens"]
    text = f"gemm_easy_buffer_sum: 2 answers, 1 right, about {tokens:,} tokens, cost not known"
    assert [news["text"] for news in told[2:]] == [text, text]
    assert [news["answer"].keys() >= {"section"} for news in told[1:]] == [True, True, False]
    assert "## 1. answer: types" in told[1]["answer"]["section"]
    assert "## 2. correction 1: accepted" in told[2]["answer"]["section"]
    assert (found.details["cost"], found.details["spent"]) == (None, f"about {tokens:,} tokens, cost not known")


def test_the_job_model_stops_a_model_that_writes_no_programs_and_counts_the_cost(pool: Pool) -> None:
    answer = {"text": "I cannot.", "input_tokens": 1_000_000, "output_tokens": 500_000}
    options = payload(samples=16, price=[2.0, 10.0], answers_without_program=3, model="tiny")
    questions: list[Any] = []
    told: list[Any] = []

    def ask(question: Any) -> Any:
        questions.append(question)
        return answer

    found = submitted(pool, options, on_ask=ask, on_progress=told.append).result(PATIENCE)
    assert len(questions) == 3
    assert "answers_without_program = 3" in found.reason
    assert found.details["cost"] == 3 * (2.0 + 5.0)
    assert told[-1]["text"] == "gemm_easy_buffer_sum: 3 answers, 0 right, 4,500,000 tokens, $21.00"
    assert "answers_without_program = 3" in told[-1]["answer"]["closing"]
    wrong = submitted(pool, payload(price=[1, "x"]), on_ask=ask)
    with pytest.raises(JobError, match="price: expected US dollars"):
        wrong.result(PATIENCE)


def test_the_job_model_tells_what_is_wrong_with_model_or_task(pool: Pool) -> None:
    refuses = submitted(pool, payload(), on_ask=lambda _q: {"fault": "authentication", "message": "not allowed"})
    found = refuses.result(PATIENCE)
    assert (found.solved, found.reason) == (False, "not allowed")
    broken = submitted(pool, {"path": str(Path("t.step.yaml")), "text": "inputs: ["})
    with pytest.raises(JobError) as caught:
        broken.result(PATIENCE)
    assert caught.value.code == "STEP903"


def test_the_job_model_can_be_cancelled(pool: Pool) -> None:
    asked, release = threading.Event(), threading.Event()

    def answer(_question: Any) -> Any:
        asked.set()
        release.wait(PATIENCE)

    job = submitted(pool, payload(), on_ask=answer)
    assert asked.wait(PATIENCE)
    job.cancel()
    with pytest.raises(JobCancelled):
        job.result(PATIENCE)
    release.set()
