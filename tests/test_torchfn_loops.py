"""Loops over time: one round with a state, whatever the number of rounds, and a Scan or an Accum of it."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from job_records import function
from stepagents.jobs import function as job
from stepagents.lower.search import lower
from stepagents.torchfn.capture import Capture, capture
from stepagents.torchfn.capture import calls as operations
from stepagents.torchfn.dims import describe
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.loop_ops import END, ITEM, STATE
from stepagents.torchfn.subject import load
from stepagents.torchfn.target import find_target
from stepagents.torchfn.trace import has_loops

FILE = Path(__file__).parent / "torch_functions" / "recurrent.py"
TEXT = FILE.read_text(encoding="utf-8")
# The most operators of the best program, copies included.
FULL = {"delayed": 6, "elman": 18, "written": 6, "Gated": 16, "Both": 52, "Joined": 11, "JoinedBatch": 10}


class Owner:
    cancelled = False

    def check(self) -> None: ...

    def progress(self, data: Any) -> None: ...


@cache
def found(name: str) -> dict[str, Any]:
    payload = {"path": str(FILE), "text": TEXT, "selector": name, "trusted": True, "solutions": 1}
    return function(payload, Owner())


def traced(name: str, rounds: int, *, rolled: bool = True) -> Capture:
    target = find_target(str(FILE), TEXT, name)
    guard = Guard(str(FILE), target.line)
    subject, _ = load(target, describe(target, (), None), guard)
    return capture(subject, {"b": 2, "d": 3, "k": 7, "n": 2, "t": rounds}, guard, rolled=rolled)


def calls(capture: Capture) -> list[Any]:
    return [node.target for node in capture.graph.graph.nodes if node.op == "call_function"]


@pytest.mark.parametrize("name", FULL)
def test_a_loop_over_time_becomes_a_few_operators_for_any_time(name: str) -> None:
    result = found(name)
    assert result["solved"], result["reason"]
    assert not result["notes"]  # none says that the time is a number, or that the loop was written out
    assert "t" in result["sizes"]
    best = result["programs"][0]
    assert best["operators"] <= FULL[name]
    assert "step.Scan(" in best["impl"] or "step.Accum(" in best["impl"]
    assert len({each["t"] for each in result["checked_at"]}) > 2


@pytest.mark.parametrize(
    ("name", "loops", "states", "items"),
    [("decayed", 1, 1, 2), ("linear_system", 1, 1, 1), ("Cells", 1, 3, 1), ("Layers", 2, 4, 2), ("Both", 2, 2, 2)],
)
def test_a_trace_holds_one_round_of_each_loop(name: str, loops: int, states: int, items: int) -> None:
    short, long = (calls(traced(name, rounds)) for rounds in (5, 7))
    assert list(map(str, short)) == list(map(str, long))
    assert [short.count(mark) for mark in (END, STATE, ITEM)] == [loops, states, items]


def test_a_loop_in_python_calls_more_operations_at_more_rounds() -> None:
    target = find_target(str(FILE), TEXT, "decayed")
    guard = Guard(str(FILE), target.line)
    subject, _ = load(target, describe(target, (), None), guard)
    few, wide, many = (operations(subject, {"b": 2, "d": d, "t": t}, guard) for d, t in ((3, 5), (4, 5), (3, 7)))
    assert few == wide < many


def test_rounds_are_written_out_where_a_function_cannot_do_them() -> None:
    result = found("summed")
    assert result["solved"], result["reason"]
    (note,) = result["notes"]
    assert note.startswith("the loop over time is written out round by round")
    assert note.endswith(": a round of the loop makes a running result of its state")
    assert not {END, STATE, ITEM} & set(calls(traced("Recurrent", 5, rolled=False)))


def test_rounds_that_become_layers_are_said_with_the_reason_too(monkeypatch: pytest.MonkeyPatch) -> None:

    def failing(traced: Any, *rest: Any) -> Any:
        if has_loops(traced):
            raise KeyError("round")
        return lower(traced, *rest)

    monkeypatch.setattr(job, "lower", failing)
    payload = {"path": str(FILE), "text": TEXT, "selector": "Joined", "trusted": True, "solutions": 1}
    result = function(payload, Owner())
    assert result["solved"], result["reason"]
    assert result["programs"][0]["layers"] > 1
    said = [note for note in result["notes"] if note.startswith("the loop over time is written out round by round")]
    (note,) = said
    assert note.endswith(": the lowering failed, a defect of Stepsmith: KeyError: 'round'")


def test_equal_steps_without_a_slice_of_their_own_are_no_loop() -> None:
    graph = traced("stacked", 5)
    assert not {END, STATE, ITEM} & set(calls(graph))
