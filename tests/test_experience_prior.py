"""What the search learns from programs: their moves, traits without names, and costs that prefer what was done."""

from __future__ import annotations

import json
from dataclasses import replace
from math import isfinite
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_tasks import TASKS, TASKS2, named
from benchmarks.disturb import disturbed
from learning_models import IMPL, OTHER, TASK, experience
from programs import generate, impl_text, task_text, tried
from stepagents.experience.identity import UnusableProgram, checked_program, without_impl
from stepagents.prior import MOST, choices, search_costs
from stepagents.search import emit
from stepagents.search.costs import LEAST, CostModel
from stepagents.search.moves import Moves
from stepagents.search.proposer import SearchOptions, synthesize
from stepagents.search.space import Space
from stepagents.search.traits import kind, move_traits
from stepcore.dims import D, K, M
from stepcore.jobdata.writing import Experience
from stepcore.types import Buffer, Multihot, Scalar, StreamType, STuple

ALL = [*sorted(TASKS.glob("*.step.yaml")), *sorted(TASKS2.glob("*.step.yaml"))]


def reference(name: str) -> Experience:
    task = named(name)
    assert task.impl is not None
    return Experience(name, without_impl(task.source.text, name), task.impl.source.text, "reference", 0.5)


def moves_of(found: Experience) -> Moves:
    task, checked = checked_program(found.task_text, found.task, found.impl)
    assert task.spec is not None
    return Moves(checked.typed, Space.of(task.spec, task.spec.bindings()))


def test_copies_and_zips_are_no_moves_and_macros_are_one() -> None:
    assert [move.name for move in moves_of(experience()).moves] == ["Map", "Accum"]
    names = [move.name for move in moves_of(reference("attention_scan_two_accums")).moves]
    assert names == ["Scan", "Accum", "Accum", "Map"]
    stash = "E3 = step.Promote(b=2).apply(E0)\nE4 = step.Accum(fn=fn_sum, b=2).apply(E3)\nreturn E4"
    text = experience().task_text.replace("dims: [N]", "dims: [1]").replace(".sum(1)", ".sum().reshape(1)")
    (one,) = moves_of(experience(impl=stash, text=text)).moves
    assert (one.name, len(one.ops), one.source.made_by) == ("AccumAll", 2, "input")


def test_stash_and_repeat_is_no_move() -> None:
    moves = moves_of(reference("bmm_inner_product"))
    assert {move.name for move in moves.moves} <= {"Map", "Accum", "Bufferize", "FlattenKnown"}
    assert all(move.source.made_by != "broadcast" for move in moves.moves if move.name == "Map")


@pytest.mark.parametrize("name", ["bmm_outer_product", "norm_rms_scalars", "index_top1_softmax", "etoe_score_filtered"])
def test_what_the_search_did_is_what_is_read(name: str) -> None:
    """The moves of a program that the search wrote are those that it counted itself, but for Zip and broadcasts."""
    task = named(name)
    outcome = synthesize(task, SearchOptions(seconds=600.0, candidates=2000))
    assert outcome.solved
    found = moves_of(Experience(name, without_impl(task.source.text, name), outcome.impl, "search", 0.5))
    own = sorted(move for move, _ in outcome.moves if move not in {"Zip", "broadcast"})
    assert sorted(move.name for move in found.moves) == own
    assert emit.moves([]) == []


def test_traits_name_nothing_of_the_task() -> None:
    """Renamed functions give the same traits."""
    task = named("norm_rms_scalars")
    renamed = disturbed(task, seed=5, distractors=0)
    assert task.spec is not None
    assert renamed.spec is not None
    words: list[set[str]] = []
    for spec in (task.spec, renamed.spec):
        space = Space.of(spec, spec.bindings())
        source = spec.inputs[0].type
        results = [StreamType(fn.output, source.shape) for fn in spec.fns]
        words.append({trait for result in results for trait in move_traits(source, "input", result, space)})
    assert words[0] == words[1]
    names = [fn.func_name for fn in task.spec.fns]
    assert not any(name in word for name in names for word in words[0])


def test_kinds_leave_sizes_out() -> None:
    half = Scalar("fp32")
    assert [kind(e) for e in (half, Buffer(half, [K, D]), Multihot(half, M))] == ["s", "b2", "sel"]
    assert kind(STuple((half, Buffer(Multihot(half, 3), [K])))) == "s+b1sel"
    assert kind(STuple((half,) * 4)) == "4 parts"


def test_learning_makes_the_moves_of_programs_cheaper() -> None:
    base = CostModel()
    taught = [reference(path.name.split(".")[0]) for path in ALL[::4]]
    costs = search_costs(taught, base)
    assert costs.table == base.table
    made = others = 0.0
    for choice in choices(taught, costs):
        added = [sum(costs.learned.get(key, 0.0) for key in keys) for keys in choice.features]
        rest = [cost for index, cost in enumerate(added) if index not in choice.made]
        made += sum(added[index] for index in choice.made) / len(choice.made)
        others += sum(rest) / max(len(rest), 1)
    assert made < others
    assert search_costs([], base) is base


def test_more_strength_learns_less_and_equal_tasks_share_their_weight() -> None:
    def size(taught: list[Experience], strength: float) -> float:
        return sum(abs(cost) for cost in search_costs(taught, strength=strength).learned.values())

    one = [experience()]
    assert size(one, 0.1) > size(one, 1.0) > size(one, 10.0) > 0.0
    twice = [experience(), replace(experience(), proposer="another")]
    for key, cost in search_costs(one).learned.items():
        assert search_costs(twice).learned[key] == pytest.approx(cost, abs=0.01)
    assert search_costs([experience(), experience(impl=OTHER)]).learned != search_costs(one).learned


def test_a_model_survives_json() -> None:
    costs = search_costs([experience(impl=IMPL)], CostModel().flat())
    again = CostModel.from_json(json.loads(json.dumps(costs.as_json())))
    assert again == costs
    assert again("Map") == costs("Map")
    assert (again.least("Map"), again.least("Map", "Bufferize")) == (again("Map"), LEAST)


def test_wrong_experience_teaches_nothing() -> None:
    broken = [experience(impl="return E0"), experience(text="nothing"), experience(impl="E1 = (")]
    assert search_costs(broken).learned == {}
    assert search_costs([*broken, experience()]).learned == search_costs([experience()]).learned


def test_learned_costs_solve_a_new_task_with_fewer_candidates() -> None:
    """From costs that know nothing, what other families did helps on tasks of a family that was held out."""
    base = CostModel().flat()
    held_out = ["norm_rms_scalars", "norm_l2_scalars", "norm_max_abs_buffers"]
    taught = [reference(p.name.split(".")[0]) for p in ALL if not p.name.startswith("norm")][::2]
    costs = search_costs(taught, base)
    before = [synthesize(named(name), SearchOptions(600.0, 400, costs=base)).candidates for name in held_out]
    after = [synthesize(named(name), SearchOptions(600.0, 400, costs=costs)).candidates for name in held_out]
    assert sum(after) < sum(before) / 2


@pytest.mark.parametrize("path", ALL, ids=lambda path: path.name.split(".")[0])
def test_every_task_can_teach(path: Path) -> None:
    found = list(choices([reference(path.name.split(".")[0])], CostModel()))
    assert found
    for choice in found:
        assert len(choice.costs) == len(choice.features) >= len(choice.made) > 0


@tried(40)
@given(st.randoms(use_true_random=False), st.integers(1, 8))
def test_any_program_can_teach(rng: Random, steps: int) -> None:
    """Whoever wrote it: reading its moves never fails, and no operator is in two of them."""
    program = generate(rng, steps)
    impl = impl_text(program)
    found = Experience("any", task_text(program, impl), impl, "generator", 0.5)
    assert all(isfinite(cost) for cost in search_costs([found]).learned.values())
    try:
        task, checked = checked_program(found.task_text, found.task, found.impl)
    except UnusableProgram:  # such as a Merge of which only a run tells that a branch does not fit
        return
    assert task.spec is not None
    moves = Moves(checked.typed, Space.of(task.spec, task.spec.bindings())).moves
    assert sum(len(move.ops) for move in moves) <= len(checked.graph.nodes)


def test_very_much_experience_is_thinned_out() -> None:
    many = [experience(text=f"{TASK}constraints: {number}\n") for number in range(MOST + 1)]
    assert search_costs(many).learned == search_costs(many[::2]).learned
