"""Export and import of experience: nothing is lost, and nothing that is not right gets in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from learning_models import IMPL, OTHER, TASK, experience
from stepagents.executors.opening import open_executor
from stepagents.experience.store import Store
from stepagents.experience.transfer import export_lines, import_lines
from stepagents.experience.verifying import verified
from stepcore.jobdata.writing import Experience


def line(**changes: object) -> str:
    return json.dumps({"stepsmith": 1, **_fields(), "earned": 5.0, **changes})


def _fields() -> dict[str, object]:
    return {
        "task": "scaled_sum", "task_text": TASK, "impl": IMPL, "proposer": "simulated", "success_rate": 0.5,
        "tokens": 10, "cost": 0.1, "seconds": 1.0,
    }  # fmt: skip


def believe(found: Sequence[Experience]) -> Iterable[str]:
    return [""] * len(found)


def test_what_is_exported_is_imported(tmp_path: Path) -> None:
    with Store(tmp_path / "a", "w") as a, Store(tmp_path / "b", "v") as b:
        a.add(replace(experience("ünïcode", rate=0.1), tokens=7), "/home/somebody/a.step.yaml", earned=12.5)
        a.add(experience(impl=OTHER), earned=13.0)
        lines = list(export_lines(a.all()))
        assert not any("somebody" in text or "\n" in text for text in lines)
        done = import_lines(b, lines, believe)
        assert (done.added, done.known, done.refused) == (2, 0, [])
        assert [(i.experience, i.earned) for i in b.all()] == [(i.experience, i.earned) for i in a.all()]
        again = import_lines(b, [*lines, "", "  "], believe)
        assert (again.added, again.known) == (0, 2)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("{", "no JSON"),
        ("[" * 100_000, "no JSON"),
        ("[]", "no experience"),
        ('{"task": "a"}', "no experience"),
        (line(stepsmith=2), "unknown format"),
        (line(impl="return E0"), "wrong program"),
        (line(impl=["a"]), "wrong value"),
        (line(task_text="nothing"), "wrong program"),
        (line(success_rate=0), "wrong value"),
        (line(success_rate=1.5), "wrong value"),
        (line(success_rate=True), "wrong value"),
        (line(tokens=-1), "wrong value"),
        (line(tokens=2**63), "wrong value"),
        (line(cost=float("nan")), "wrong value"),
        (line(earned="today"), "wrong value"),
        (line(proposer="\ud800"), "wrong value"),
        (line(task="a\0b"), "wrong value"),
        ('{"a":"' + "x" * 5_000_000 + '"}', "too long"),
    ],
)
def test_what_is_no_experience_is_refused_with_its_line(tmp_path: Path, text: str, why: str) -> None:
    with Store(tmp_path / "store", "w") as store:
        done = import_lines(store, [line(), text, line(impl=OTHER)], believe)
        assert done.added == 2
        assert [number for number, _ in done.refused] == [2]
        assert list(done.reasons()) == [why]


def test_a_credential_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", "hunter2hunter2")
    with Store(tmp_path / "store", "w") as store:
        done = import_lines(store, [line(proposer="me hunter2hunter2"), line()], believe)
    assert (done.added, list(done.reasons())) == (1, ["credential"])


def test_wrong_programs_are_found_out_by_running_them(tmp_path: Path) -> None:
    """One has the right types and wrong values, one is for a task whose reference fails."""
    wrong = IMPL.replace("fn_double).apply(E0)", "fn_double).apply(E0)\nE1 = step.Map(fn=fn_double).apply(E1)")
    failing = TASK.replace("* 2).sum(1)", "* 2).reshape(-1, 1000003)")
    lines = [line(impl=wrong), line(), line(task_text=failing)]
    with Store(tmp_path / "store", "w") as store, open_executor() as executor:
        done = import_lines(store, lines, lambda found: verified(executor, found))
        assert [item.experience.impl for item in store.all()] == [IMPL]
        assert [number for number, _ in done.refused] == [1, 3]
        assert all(why.startswith("not verified: ") for _, why in done.refused)
        unchecked = import_lines(store, lines, None)
        assert (unchecked.added, unchecked.known, unchecked.refused) == (2, 1, [])
