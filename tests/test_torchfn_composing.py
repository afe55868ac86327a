"""Functions as tasks: operations without a lowering by search, better programs by search or a model, experience."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import fake_model_server as fake
import warm
from fake_model_server import KEY, FakeModelServer
from llm_answers import fenced
from lower_cases import CASES, run
from stepagents.experience.store import Store
from stepagents.lower.search import waits
from stepcore.check.programs import ImplChecker
from stepcore.cli import main
from stepcore.frontend.yaml.tasks import read_task
from stepcore.text.span import Embedded
from test_torchfn_synth import Owner, accepted, job

FUNCTIONS = """
import torch


def determinant(x, y):  # stepsmith: x[b, 4, 4], y[b]
    return torch.linalg.det(x) * y


def most_frequent(x):  # stepsmith: x[b, 8]
    return torch.mode(x, -1)[0].relu()


def normalized(x):  # stepsmith: x[m, k]
    return x - x.amax(-1, keepdim=True)


def singular(x):  # stepsmith: x[b, 4, 4]
    return torch.linalg.svdvals(x)


def open_tile(x):  # stepsmith: x[b, n]
    return torch.mode(x, -1)[0]
"""
DETERMINANT = """\
tile = step.Bufferize(a=2).apply(x)
det = step.Map(fn=fn_linalg_det).apply(tile)
return step.Map(fn=fn_mul).apply((det, y))"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "functions.py"
    path.write_text(FUNCTIONS, encoding="utf-8")
    return path


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    warm.lend(monkeypatch)
    monkeypatch.setenv("STEPSMITH_STORE", str(tmp_path / "store.sqlite3"))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.mark.parametrize("name", ["determinant", "most_frequent"])
def test_an_operation_without_a_lowering_is_composed_by_the_search(name: str, source: Path, tmp_path: Path) -> None:
    found = job(source, name)
    (best,) = found["programs"]
    assert (best["proposer"], found["unsupported"], found["reason"]) == ("search", [], "")
    assert accepted(tmp_path, f"{name}.step.py", best["text"])
    task = job(source, name, emit="task")["programs"][0]["text"]
    assert accepted(tmp_path, f"{name}.step.yaml", task)
    read = read_task(found["task"], "question.step.yaml")
    assert read.spec is not None
    assert read.impl is None
    assert not [item for item in read.diagnostics if item.severity.value == "error"]


def test_lower_alone_says_what_it_cannot(source: Path) -> None:
    found = job(source, "determinant", proposer="lower")
    assert not found["solved"]
    (item,) = found["unsupported"]
    assert (item["line"], item["operation"]) == (6, "aten._linalg_det")


@pytest.mark.parametrize(("name", "word"), [("singular", "_linalg_svd"), ("open_tile", "mode")])
def test_what_is_no_task_either_is_said_at_its_line(name: str, word: str, source: Path) -> None:
    found = job(source, name)
    assert not found["solved"]
    assert found["task"] == ""
    assert word in found["unsupported"][0]["operation"]
    assert found["reason"].startswith("line ")  # what stands in the way, and only then why it is no task
    assert found["unsupported"][0]["advice"] in found["reason"]  # a message of an editor has no other place for it
    assert "Stepsmith cannot express this function as a task because" in found["reason"]


def test_answers_are_verified_against_the_function(source: Path) -> None:
    wrong = DETERMINANT.replace("(det, y)", "(y, y)")
    found = job(source, "determinant", proposer="llm", impls=[wrong], writer="m")
    assert not found["solved"]
    found = job(source, "determinant", proposer="llm", impls=[wrong, DETERMINANT, DETERMINANT], writer="m")
    assert [item["proposer"] for item in found["programs"]] == ["m"]


def test_a_model_of_the_jobs_owner_writes(source: Path) -> None:
    questions: list[Any] = []

    class Editor(Owner):
        def ask(self, question: Any) -> Any:
            questions.append(question)
            return {"text": fenced(DETERMINANT)}

        def progress(self, data: Any) -> None:  # a model's progress has no stage
            self.check()

    found = job(source, "determinant", Editor(), proposer="model", model="m", samples=1)
    assert [item["proposer"] for item in found["programs"]] == ["m"]
    assert "fn_linalg_det" in questions[0]["messages"][-1]["content"]


def test_a_program_without_a_needed_buffer_is_no_answer(source: Path) -> None:
    found = job(source, "normalized")
    names = read_task(found["task"], "question.step.yaml")
    assert names.spec is not None
    fold, shift = (fn.func_name for fn in names.spec.fns)
    head = (
        f"a, b = step.Copy().apply(x)\ntop = step.Accum(fn={fold}, b=1).apply(a)\nwide = step.Repeat(n=k).apply(top)\n"
    )
    held = "kept = step.Bufferize(a=1).apply(b)\nb = step.Streamify().apply(kept)\n"
    tail = f"return step.Map(fn={shift}).apply((b, wide))"
    before = len(found["programs"])
    checked = ImplChecker(names)
    assert waits(checked.check(Embedded.whole(head + tail)).typed) == "b"
    assert waits(checked.check(Embedded.whole(head + held + tail)).typed) == ""
    again = job(source, "normalized", impls=[head + tail], writer="m")
    assert len(again["programs"]) == before


@pytest.mark.parametrize(
    "name", ["softmax", "layernorm1", "attention_causal", "mlp", "cross_entropy", "two_out", "var"]
)
def test_lowered_programs_hold_what_has_to_wait(name: str) -> None:
    case = next(case for case in CASES if case[0] == name)
    for candidate in run(case).candidates:
        assert waits(candidate.checked.typed) == ""


def test_successes_become_experience(source: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["synth", f"{source}::determinant", f"{source}::normalized"]) == 0
    with Store(home / "store.sqlite3") as store:
        (item,) = store.all()  # what was lowered taught nothing to whoever composes
    assert (item.experience.task, item.experience.proposer) == ("determinant", "search")
    assert "fn_linalg_det" in item.experience.impl
    capsys.readouterr()
    assert main(["synth", f"{source}::most_frequent", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)[0]["proposer"] == "search"


def test_a_model_writes_for_a_function(
    source: Path, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAKE_KEY", KEY)

    def script(_asked: fake.Asked) -> fake.Behaviour:
        return fake.says(fenced(DETERMINANT))

    with FakeModelServer(script) as server:
        words = ["--proposer", "llm", "--model", "m", "--base-url", server.base_url, "--key-variable", "FAKE_KEY"]
        assert main(["synth", f"{source}::determinant", *words, "--samples", "2", "--format", "json"]) == 0
        (row,) = json.loads(capsys.readouterr().out)
        asked: Any = server.asked[0]
    assert (row["solved"], row["proposer"]) == (True, "127.0.0.1/m")
    assert "fn_linalg_det" in json.dumps(asked.body if hasattr(asked, "body") else asked.text)
    with Store(home / "store.sqlite3") as store:
        assert [item.experience.proposer for item in store.all()] == ["127.0.0.1/m"]
