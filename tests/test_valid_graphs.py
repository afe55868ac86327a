"""After every pass a graph is valid; what is no valid graph becomes no typed one, and the specification notices it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from agent_tasks import TASKS, load, named
from stepagents.guardian import guard
from stepagents.search import emit
from stepagents.search.proposer import SearchOptions, synthesize
from stepcore.check import Checked, check_text, fix_text
from stepcore.check.programs import ImplChecker
from stepcore.check.straighten import with_copies
from stepcore.conversion.to_python import task_to_python
from stepcore.graph.evaluate import evaluate
from stepcore.graph.ir import Graph
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.ops.repeat import Repeat
from stepcore.printing.task import graph_to_impl
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded
from stepcore.types import StreamType
from test_agents_guardian import without_copies
from valid_graphs import assert_built, assert_valid, consumption, operators, types

PATHS = sorted(TASKS.glob("*.step.yaml"))


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name.split(".")[0])
def test_every_pass_leaves_a_valid_graph(path: object) -> None:
    task = load(path)  # type: ignore[arg-type]
    assert task.impl is not None
    checker = ImplChecker(task)
    text = task.impl.source.text.strip()
    elaborated = checker.check(Embedded.whole(text))
    bare = checker.check(Embedded.whole(without_copies(text)))
    straightened = with_copies(bare.graph, bare.uses)
    assert_built(straightened)
    assert list(consumption(straightened)) == []
    guarded = guard(checker, without_copies(text)).checked
    printed = checker.check(Embedded.whole(graph_to_impl(straightened)))
    converted = check_text(task_to_python(task), "file.py").programs[0]
    for checked in (elaborated, bare, guarded, printed, converted):
        assert_valid(checked)
        assert checked.runnable
    assert guarded.affine_count == printed.affine_count == 0


REWRITTEN = """\
from typing import Annotated
import torch
import stepcore as step
from stepcore.dims import M, N

@step.fn(input=step.f32, output=step.f32)
def f(input):
    return [input[0] * 2]

@step.program(dims={M: 5, N: 7})
def program(E0: Annotated[step.Stream, step.f32, (M, N)]):
    A, B = [step.Map(fn=f).apply(E0) for _ in range(2)]
    again = lambda: E0
    return step.Zip().apply((A, step.Zip().apply((B, again()))))
"""


def test_fixes_that_rewrite_loops_leave_valid_graphs() -> None:
    before = check_text(REWRITTEN, "file.py").programs[0]
    after = check_text(fix_text(REWRITTEN, "file.py"), "file.py").programs[0]
    assert_valid(before)
    assert_valid(after)
    assert (before.affine_count > 0, after.affine_count) == (True, 0)


def test_what_the_search_writes_down_is_a_valid_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Graph] = []

    def noted(graph: Graph) -> str:
        made.append(graph)
        return graph_to_impl(graph)

    monkeypatch.setattr(emit, "graph_to_impl", noted)
    assert synthesize(named("gemm_easy_buffer_sum"), SearchOptions(seconds=600.0, candidates=4000)).solved
    for graph in made:
        assert_built(graph)
    assert made


# -- the specification would notice ------------------------------------------------------------------------


def answer(impl: str) -> Checked:
    return ImplChecker(named("norm_rms_scalars")).check(Embedded.whole(impl))


RUNS = "A, B = step.Copy().apply(E0)\nC = step.RepeatLast(n=2).apply(A)\nD = step.Flatten(L=[1]).apply(B)\nreturn C, D"
BREAKS: list[tuple[str, Callable[[Graph], None]]] = [
    ("could not be built", lambda graph: setattr(graph, "complete", False)),
    ("returns nothing", lambda graph: graph.returns.clear()),
    ("Repeat could not be built", lambda graph: graph.nodes.append(replace(graph.nodes[1], op=None, alias=""))),
    ("type of stream 4 is unknown", lambda graph: setattr(graph.streams[-1], "type", None)),
    ("Copy is the name of a Repeat", lambda graph: setattr(graph.nodes[1], "op_name", "Copy")),
    ("takes what was not made before", lambda graph: setattr(graph.nodes[0], "inputs", (3,))),
    ("an input is made by a node", lambda graph: graph.inputs.append(1)),
    ("not the result 0 of Flatten alone", lambda graph: setattr(graph.nodes[2], "outputs", (3,))),
    ("returned that was not made", lambda graph: graph.returns.append(77)),
    ("streams that nobody makes", lambda graph: graph.streams.append(replace(graph.streams[0], index=5))),
    ("itself for number 9", lambda graph: setattr(graph.streams[0], "index", 9)),
    ("node 0 takes itself for number 3", lambda graph: setattr(graph.nodes[0], "index", 3)),
]


@pytest.mark.parametrize(("why", "spoil"), BREAKS, ids=[why for why, _ in BREAKS])
def test_no_other_graph_becomes_a_typed_one(why: str, spoil: Callable[[Graph], None]) -> None:
    checked = answer(RUNS)
    assert checked.typed.nodes[1].written == "RepeatLast"
    spoil(checked.graph)
    with pytest.raises(ValueError, match=f"no typed graph: .*{why}"):
        TypedGraph(checked.graph)


def test_the_specification_notices_what_a_constructor_does_not_compute() -> None:
    checked = answer(RUNS)
    typed = checked.typed
    wrong = typed.streams[3].type
    typed.streams[3].type = StreamType(wrong.element, (Dim.of(3), *wrong.shape[1:]))
    assert len(list(types(typed, checked.spec.bindings()))) == 1
    typed.nodes[1].op = Repeat(n=3)
    assert len(list(operators(typed))) == 1  # beside the parameters that the program has
    assert list(consumption(answer("return E0, E0").typed)) == ["stream 0 is consumed 2 times"]


# -- one way to run a graph --------------------------------------------------------------------------------


def test_whatever_can_apply_an_operator_can_run_a_graph() -> None:
    """As a machine that counts cycles will: it sees every operator, Copy too, and no data of the simulator."""

    class Depth:
        def apply(self, node: TypedNode, inputs: Sequence[int]) -> list[int]:
            return [max(inputs) + 1] * len(node.outputs)

    seen: list[tuple[str, list[int]]] = []
    graph = answer(RUNS).typed
    found = evaluate(graph, Depth(), [10], lambda node, results: seen.append((node.op_name, list(results))))
    assert found == [10, 11, 11, 12, 12]
    assert seen == [("Copy", [11, 11]), ("Repeat", [12]), ("Flatten", [12])]
