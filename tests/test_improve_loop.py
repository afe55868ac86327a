"""The loop's dynamics, with a simulated model of known skill."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from threading import Event

import pytest
from hypothesis import given
from hypothesis import strategies as st

from learning_models import Killed, Simulated, Skill, experience, order
from stepagents.experience.journal import Journal, RunStart
from stepagents.experience.store import Store
from stepagents.experience.strata import Selection, selections, strata
from stepagents.improve import Ended, Improvement, InMemory, LoopOptions, StageBegun, TaskSampled
from stepagents.sampling import Order, Sampled
from stepcore.jobdata.writing import Experience


def fixed(chances: dict[str, float]) -> Skill:
    return lambda item, _demonstrations: chances[item.task]


def confused(item: Order, demonstrations: Sequence[Experience]) -> float:
    """A model that needs the idea of a hard program, and is distracted by many easy ones."""
    if item.task.startswith("easy"):
        return 0.9
    if item.task.startswith("middle"):
        return 0.1
    has_idea = any(d.task.startswith("middle") for d in demonstrations)
    distractors = sum(d.task.startswith("easy") for d in demonstrations)
    return 0.3 * 0.3**distractors if has_idea else 0.0


def run(loop: Improvement) -> list[StageBegun | TaskSampled]:
    return list(loop.run())


NAMES = [*(f"easy{i}" for i in range(8)), *(f"middle{i}" for i in range(4)), "hard0", "hard1"]
CONFUSING = [order(name) for name in NAMES]


def solved(selection: Selection, seed: int) -> int:
    loop = Improvement(CONFUSING, [], Simulated(confused, seed), LoopOptions(selection=selection))
    run(loop)
    return sum(standing.earned is not None for standing in loop.standings if standing.order.task.startswith("hard"))


def test_few_hard_earned_demonstrations_beat_all_and_none() -> None:
    totals = {selection: sum(solved(selection, seed) for seed in range(20)) for selection in Selection}
    assert totals[Selection.NONE] == 0
    assert totals[Selection.ADAPTIVE] >= 30
    assert totals[Selection.ALL] <= totals[Selection.ADAPTIVE] / 3


def test_hard_tasks_get_more_samples() -> None:
    total: Counter[str] = Counter()
    for seed in range(20):
        model = Simulated(fixed({"a": 1.0, "b": 0.2, "c": 0.03}), seed)
        run(Improvement([order("a"), order("b"), order("c")], [], model))
        total += model.sampled
    assert total["a"] == 20 * 8
    assert total["a"] * 1.2 < total["b"] * 1.2 < total["c"]


def test_restarts_with_the_hardest_after_a_success() -> None:
    known = [experience("x", 0.1), experience("y", 0.5), experience("z", 0.9)]

    def skill(item: Order, demonstrations: Sequence[Experience]) -> float:
        return float(len(demonstrations) >= 2 if item.task == "first" else len(demonstrations) == 4)

    model = Simulated(skill)
    loop = Improvement([order("first"), order("second")], known, model)
    events = run(loop)
    assert [demonstrations for _, demonstrations in model.calls] == [
        ["x"], ["x", "y"], ["x"], ["x", "first", "y"], ["x", "first", "y", "z"],
    ]  # fmt: skip
    assert [tasks for tasks, _ in model.calls] == [["first", "second"]] * 2 + [["second"]] * 3
    stages = [(event.round, event.stage, event.stages) for event in events if isinstance(event, StageBegun)]
    assert stages == [(0, 0, 3), (0, 1, 3), (1, 0, 3), (1, 1, 3), (1, 2, 3)]
    assert loop.ended is Ended.SOLVED


def test_ends_when_all_experience_was_used_in_vain() -> None:
    model = Simulated(fixed({"never": 0.0}))
    loop = Improvement([order("never")], [experience(n) for n in "abcd"], model, LoopOptions(granularity=2))
    run(loop)
    assert loop.ended is Ended.NOTHING_NEW
    assert [len(demonstrations) for _, demonstrations in model.calls] == [2, 4]
    empty = Improvement([order("never")], [], Simulated(fixed({"never": 0.0})))
    assert [type(event) for event in run(empty)] == [StageBegun, TaskSampled]


def test_ends_at_once_without_tasks_and_at_the_limit_of_rounds() -> None:
    nothing = Improvement([], [], Simulated(fixed({})))
    assert run(nothing) == []
    assert nothing.ended is Ended.SOLVED
    limited = Improvement([order("a"), order("b")], [], Simulated(fixed({"a": 1.0, "b": 0.0})), LoopOptions(rounds=1))
    run(limited)
    assert limited.ended is Ended.ROUNDS


def test_success_rate_and_cost_are_those_of_all_stages() -> None:
    def skill(_item: Order, demonstrations: Sequence[Experience]) -> float:
        return float(len(demonstrations) == 2)

    earned: list[Experience] = []
    known = [experience("x"), experience("y")]
    loop = Improvement([order("a")], known, Simulated(skill), earned=lambda e, _order: earned.append(e))
    run(loop)
    assert [(e.task, e.success_rate, e.tokens, e.cost, e.seconds) for e in earned] == [("a", 0.5, 2020, 0.02, 2.0)]


@pytest.mark.parametrize(
    "limited", [LoopOptions(most_answers=16), LoopOptions(most_cost=0.02), LoopOptions(most_tokens=2020)]
)
def test_a_spent_budget_ends_the_run_and_more_of_it_continues(limited: LoopOptions) -> None:
    tasks = [order(name) for name in "abc"]
    kept = InMemory()
    model = Simulated(fixed(dict.fromkeys("abc", 0.0)))
    loop = Improvement(tasks, [], model, limited, kept)
    run(loop)
    assert (loop.ended, sorted(model.sampled)) == (Ended.BUDGET, ["a", "b"])
    again = Improvement(tasks, [], model, LoopOptions(), kept)
    run(again)
    assert again.ended is Ended.NOTHING_NEW
    assert model.sampled == {"a": 8, "b": 8, "c": 8}


def test_an_interruption_keeps_what_was_earned() -> None:
    earned: list[str] = []
    stop = Event()

    def keep(found: Experience, _order: Order) -> None:
        earned.append(found.task)
        stop.set()

    model = Simulated(fixed({"a": 1.0, "b": 1.0}))
    loop = Improvement([order("a"), order("b")], [], model, earned=keep, stop=stop)
    run(loop)
    assert (loop.ended, earned) == (Ended.INTERRUPTED, ["a"])


@pytest.mark.parametrize("kill_after", [0, 1, 5, 9, 14])
def test_a_killed_run_ends_as_an_undisturbed_one_and_pays_nothing_twice(tmp_path: Path, kill_after: int) -> None:
    known = [experience("easy98", 0.9), experience("middle99", 0.2)]
    whole = Improvement(CONFUSING, known, undisturbed := Simulated(confused, 5))
    run(whole)
    with Store(tmp_path / "store", "w") as store:
        journal = Journal.begin(store, "print", RunStart(tuple(CONFUSING), tuple(known)))
        first = Simulated(confused, 5, dies_after=kill_after)
        with pytest.raises(Killed):
            run(Improvement(CONFUSING, known, first, results=journal))
    with Store(tmp_path / "store", "w") as store:
        (info,) = Journal.runs(store, "print")
        journal = Journal(store, info.number)
        start = journal.start()
        second = Simulated(confused, 5)
        resumed = Improvement(start.tasks, start.demonstrations, second, results=journal)
        run(resumed)
    assert [asdict(s) for s in resumed.standings] == [asdict(s) for s in whole.standings]
    assert resumed.demonstrations == whole.demonstrations
    assert resumed.ended == whole.ended
    assert first.sampled + second.sampled == undisturbed.sampled


@pytest.mark.parametrize(("fault", "ended"), [("budget", Ended.BUDGET), ("authentication", Ended.REFUSED)])
def test_a_model_that_can_be_asked_no_more_ends_the_run_which_can_go_on(fault: str, ended: Ended) -> None:
    class Exhausted(Simulated):
        def _one(self, item: Order, demonstrations: Sequence[Experience]) -> Sampled:
            if item.task == "a":
                return super()._one(item, demonstrations)
            return Sampled(item.task, item.path, self.name, outcomes=Counter({fault: 8}), reason="no more")

    kept, chances = InMemory(), fixed({"a": 0.0, "b": 1.0, "c": 1.0})
    tasks = [order(name) for name in "abc"]
    loop = Improvement(tasks, [], Exhausted(chances), results=kept)
    run(loop)
    assert (loop.ended, list(kept.results(0))) == (ended, [loop.standings[0].key])
    again = Improvement(tasks, [], model := Simulated(chances), results=kept)
    run(again)
    assert [standing.earned is not None for standing in again.standings] == [False, True, True]
    assert model.calls[0] == (["b", "c"], [])


def test_a_partial_result_is_sampled_again() -> None:
    kept, stop = InMemory(), Event()

    class Stopped(Simulated):
        def _one(self, item: Order, demonstrations: Sequence[Experience]) -> Sampled:
            stop.set()
            return super()._one(item, demonstrations)

    model = Stopped(fixed({"a": 0.0, "b": 0.0}))
    loop = Improvement([order("a"), order("b")], [], model, results=kept, stop=stop)
    events = run(loop)
    assert isinstance(events[-1], TaskSampled)
    assert events[-1].partial
    assert (loop.ended, kept.results(0), dict(model.sampled)) == (Ended.INTERRUPTED, {}, {"a": 8})


def test_equal_tasks_are_sampled_once_and_broken_ones_never_again() -> None:
    class Broken(Simulated):
        def _one(self, item: Order, demonstrations: Sequence[Experience]) -> Sampled:
            found = super()._one(item, demonstrations)
            return replace(found, problem="no task") if item.task == "bad" else found

    copy = replace(order("a"), path="elsewhere/a.step.yaml")
    model = Broken(fixed({"a": 0.0, "bad": 0.0}))
    loop = Improvement([order("a"), copy, order("bad")], [experience(n) for n in "xyz"], model)
    run(loop)
    assert [tasks for tasks, _ in model.calls] == [["a", "bad"], ["a"], ["a"]]
    assert [standing.problem for standing in loop.standings] == ["", "no task"]


RATES = st.lists(st.sampled_from([0.01, 0.1, 0.5, 0.5, 1.0]), max_size=12)


@given(RATES, st.integers(1, 6))
def test_strata_are_even_ordered_and_complete(rates: list[float], granularity: int) -> None:
    known = [experience(f"t{i}", rate) for i, rate in enumerate(rates)]
    parts = strata(known, granularity)
    assert len(parts) == min(granularity, len(known))
    assert sorted(e.task for part in parts for e in part) == sorted(e.task for e in known)
    assert all(parts)
    sizes = [len(part) for part in parts] or [0]
    assert max(sizes) - min(sizes) <= 1
    flat = [e.success_rate for part in parts for e in part]
    assert flat == sorted(flat)
    chosen = selections(known, granularity, Selection.ADAPTIVE)
    assert [len(c) for c in chosen] == ([sum(sizes[: i + 1]) for i in range(len(parts))] if known else [0])
    assert selections(known, granularity, Selection.NONE) == [[]]
    assert [len(c) for c in selections(known, granularity, Selection.ALL)] == [len(known)]


def test_strata_need_a_number() -> None:
    with pytest.raises(ValueError, match="at least one"):
        strata([], 0)
