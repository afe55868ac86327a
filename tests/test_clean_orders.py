"""What a server found clean is not searched again by its worker, and nothing else is sent as clean."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from hostile.corpus import ROOT, load, sample
from server_texts import GOOD, HEAD, IMPL, TASK
from stepcore.check.files import task_faults
from stepcore.frontend.yaml.tasks import read_task
from stepcore.ide.analysis import analyze
from stepcore.jobdata.programs import SimulateRequest, VerifyRequest
from stepcore.jobs import JobError
from stepcore.sim.worker import tasks
from stepserver.simulation import is_clean
from test_faults import OF_FUNCTIONS, OF_GLOBAL
from test_server_provisional import Desk, settled

# The comment stands at the head of the program, whose lines, or whose very text, are those of a function, too.
_HEAD = "return step.Map(fn=fn_f).apply(E0)"
_TASK = {
    "inputs": [{"name": "E0", "dtype": "fp32", "dims": ["M", "N"], "data_gen": "torch.randn"}],
    "fns": [
        {"name": name, "func_name": f"fn_{name}", "input_dtype": "fp32", "output_dtype": "fp32", "apply": body}
        for name, body in (("f", "return [input[0] * 2]"), ("g", "return [torch.load('x')]"))
    ],
    "outputs": [{"name": "S0", "dtype": "fp32", "dims": ["M", "N"], "data_transform": ["input_data['E0'] * 2"]}],
}
OF_COMMENTS = {
    "one line": f'{{"impl": "{_HEAD}  # stepsmith: ignore\\n\\\n  ", {json.dumps(_TASK)[1:]}\n',
    "one text": TASK.replace(
        "  apply: |\n    return [input[0] * 2]", f"  apply: &impl |  # stepsmith: ignore\n    {_HEAD}"
    ).replace("fn_double", "fn_f")
    + "impl: *impl\n",
}
FAULTY = OF_FUNCTIONS | OF_GLOBAL | OF_COMMENTS
OVERUSED = TASK + "impl: |-\n  E1 = step.Zip().apply((E0, E0))\n  return E0\n"


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Have no task of another test, nor leave one."""
    tasks.forget_tasks()
    yield
    tasks.forget_tasks()


def clean(text: str, path: str) -> bool:
    return is_clean(analyze(text, path), text)


def test_what_is_sent_as_clean_has_no_faults() -> None:
    """Of published tasks, of faults where no run looks, and of hostile ones: both search alike."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("tasks*/*.step.yaml")}
    texts |= {f"{name}.step.yaml": text for name, text in FAULTY.items()}
    hostile = [item for item in load() if item.kind == "task" and item.path.stat().st_size < 4_000]
    texts |= {item.path.name: item.path.read_bytes().decode("utf-8", "replace") for item in sample(hostile)}
    found = {name: text for name, text in texts.items() if clean(text, name)}
    assert len(found) > 30 and len(texts) - len(found) > 30
    assert {name for name, text in found.items() if task_faults(read_task(text, name))} == set()


@pytest.mark.parametrize("case", FAULTY)
def test_a_fault_anywhere_makes_a_task_unclean(case: str) -> None:
    assert not clean(FAULTY[case], "case.step.yaml")


def test_neither_another_text_nor_another_kind_is_clean() -> None:
    text = TASK + IMPL
    analysis = analyze(text, "a.step.yaml")
    assert is_clean(analysis, text)
    assert not is_clean(analysis, text + "# later\n")
    assert not is_clean(analyze(HEAD + GOOD, "a.py"), HEAD + GOOD)
    assert not is_clean(analyze(IMPL, "a.impl.yaml", task=(TASK, "a.step.yaml")), IMPL)
    assert not clean(OVERUSED, "a.step.yaml")


@pytest.mark.parametrize("case", FAULTY)
def test_a_task_that_nobody_checked_is_searched_by_its_run(case: str) -> None:
    order = VerifyRequest("case.step.yaml", FAULTY[case])
    for each in (order, VerifyRequest(order.path, order.text, dims={"M": 3}, clean=True)):
        tasks.forget_tasks()
        assert faults_of(each), "an owner checks at the default sizes only"


def faults_of(order: VerifyRequest) -> list[str]:
    try:
        (candidate,) = tasks.candidates(order)
    except JobError as error:
        return [error.code]
    return [fault.code for fault in candidate.faults]


def test_a_clean_task_is_not_searched_and_its_verdict_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROOT / "benchmarks" / "tasks" / "index_score_filter.step.yaml"
    text = path.read_text(encoding="utf-8")
    (searched,) = tasks.candidates(VerifyRequest(str(path), text))
    tasks.forget_tasks()
    monkeypatch.setattr(tasks, "task_faults", lambda _task: pytest.fail("it was searched again"))
    (candidate,) = tasks.candidates(VerifyRequest(str(path), text, clean=True))
    one, other = searched.verify(), candidate.verify()
    assert one.accepted and other.accepted
    assert one.functional == other.functional and one.untested == other.untested


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.step.yaml", TASK + IMPL, True),
        ("a.step.yaml", OVERUSED, False),
        ("a.py", HEAD + GOOD, False),
        ("a.impl.yaml", IMPL, False),
    ],
)
def test_a_save_says_whether_its_text_is_clean(tmp_path: Path, name: str, text: str, expected: bool) -> None:
    (tmp_path / "a.step.yaml").write_text(TASK, encoding="utf-8")

    async def work() -> SimulateRequest:
        desk = Desk(tmp_path, name, text)
        job = await desk.save()
        desk.parts.simulation.cancel()
        await settled()
        desk.parts.analyses.close()
        return job.request

    request = asyncio.run(work())
    assert request.clean is expected
