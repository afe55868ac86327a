"""Programs as networks, where arrival decides and lists differ in length: by units of routing, and levels of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import ClassVar

import pytest
import torch

from programs.ragged import ragged_task
from programs.routed import routed_task
from stepcore.check.files import check_text
from stepcore.check.programs import Checked
from stepcore.cycles.network_of import network_of
from stepcore.cycles.program_network import NotTimed, ProgramNetwork
from stepcore.cycles.report import TimedFile, picture
from stepcore.cycles.routes import ProgramRoutes, selectors_of
from stepcore.cycles.timed import Timed, time_program
from stepcore.cycles.tokens import SizeLevels
from stepcore.graph.ir import Graph, GraphStream, Node, Port, ProgramSpec
from stepcore.graph.typed import TypedGraph
from stepcore.ops.base import Operator, Param, ParamKind
from stepcore.ops.bufferize import Bufferize
from stepcore.ops.copy import Copy
from stepcore.ops.identity import Identity
from stepcore.ops.pace import Routing
from stepcore.ops.partition import Partition
from stepcore.sim.lengths import Lengths, levels_of
from stepcore.sizes.dim import Dim
from stepcore.text.span import SourceFile, Span
from stepcore.timing.arrival import Order, run_arrival
from stepcore.timing.exact import Timing
from stepcore.timing.hardware import PRESETS
from stepcore.timing.microcode import Times
from stepcore.timing.network import Network
from stepcore.types import Buffer, Element, Multihot, Scalar, Shape, StreamType
from test_ragged_programs import task as written
from timing_programs import assert_literal, program_chip, routes_of_run

F32 = Scalar("fp32")


class Deal(Operator):
    """Parallelize."""

    N: int
    policy: str = "round_robin"
    params: ClassVar[tuple[Param, ...]] = tuple(Param(name, ParamKind.INTEGER, "A test's.") for name in ("N", "policy"))
    routes: ClassVar[Routing] = Routing.DEALS


class Arrive(Operator):
    """EagerMerge."""

    routes: ClassVar[Routing] = Routing.ARRIVES


class Gather(Operator):
    """Reassemble."""

    order: str = "branch"
    params: ClassVar[tuple[Param, ...]] = (Param("order", ParamKind.INTEGER, "A test's."),)
    routes: ClassVar[Routing] = Routing.GATHERS


@dataclass
class Text:
    """A program without a text: operators applied to streams, whose types stand beside them."""

    graph: Graph = field(default_factory=lambda: Graph("p"))
    sizes: dict[str, int] = field(default_factory=dict)

    def input(self, *shape: int | str, element: Element = F32) -> int:
        (stream,) = self._streams(None, (shape, element))
        self.graph.inputs.append(stream)
        return stream

    def apply(self, op: Operator, inputs: list[int], *outputs: tuple[tuple[int | str, ...], Element]) -> list[int]:
        number = len(self.graph.nodes)
        streams = self._streams(number, *outputs)
        name = type(op).__name__
        self.graph.nodes.append(Node(number, name, op, tuple(inputs), tuple(streams), Span(0, 0), Span(0, 0)))
        return streams

    def _streams(self, producer: int | None, *types: tuple[tuple[int | str, ...], Element]) -> list[int]:
        first = len(self.graph.streams)
        for slot, (shape, element) in enumerate(types):
            dims = tuple(Dim.of(size) if isinstance(size, int) else Dim.symbol(size) for size in shape)
            index = first + slot
            kind = StreamType(element, dims)
            self.graph.streams.append(GraphStream(index, f"E{index}", Span(0, 0), producer, slot, kind))
        return list(range(first, len(self.graph.streams)))

    def made(self, routes: ProgramRoutes) -> ProgramNetwork:
        graph = TypedGraph(self.graph)
        ports = [Port(f"E{index}", graph.streams[index].type) for index in graph.inputs]
        return network_of(ProgramSpec("p", tuple(ports)), graph, self.sizes, PRESETS["default"], routes)

    def run(self, routes: ProgramRoutes) -> tuple[Timing, list[ProgramNetwork]]:
        """Run with the order that comes out; the literal engine agrees."""
        programs: list[ProgramNetwork] = []

        def network(order: Order) -> Network:
            arrival = {programs[-1].units[unit]: row for unit, row in order.items()}
            programs.append(self.made(replace(routes, arrival=arrival)))
            return programs[-1].network

        last, timing = run_arrival(network)
        assert assert_literal(last).order == timing.order
        assert timing.waiting == ()
        return timing, programs


def dealt(policy: str) -> Text:
    """Nine chunks of two elements to three lanes, of which the first is slow; then back in order by the selector."""
    text = Text()
    hot = Multihot(Scalar("bool"), 3)
    data = text.input(2, 9)
    *lanes, which = text.apply(
        Deal.made({"N": 3, "policy": policy}), [data], *[((2, f"n{k}"), F32) for k in range(3)], ((9,), hot)
    )
    worked = [text.apply(Identity(), [lane], ((2, f"n{k}"), F32))[0] for k, lane in enumerate(lanes)]
    (slow,) = text.apply(Bufferize(a=1, depth=1), worked[:1], (("n0",), Buffer(F32, (Dim.of(2),))))
    one, other = text.apply(Copy(depth=9), [which], ((9,), hot), ((9,), hot))
    text.apply(Identity(), [one], ((9,), hot))
    rest = [
        text.apply(Bufferize(a=1), [each], ((f"n{k}",), Buffer(F32, (Dim.of(2),))))[0]
        for k, each in ((1, worked[1]), (2, worked[2]))
    ]
    (out,) = text.apply(Gather(), [slow, *rest, other], ((1, 9), Buffer(F32, (Dim.of(2),))))
    text.graph.returns.append(out)
    return text


@pytest.mark.parametrize("policy", ["round_robin", "free"])
def test_lanes_get_what_was_decided(policy: str) -> None:
    timing, programs = dealt(policy).run(ProgramRoutes("none"))
    last = programs[-1]
    given = [last.sizes[f"n{k}"] for k in range(3)]
    assert sum(given) == 9
    if policy == "round_robin":
        assert given == [3, 3, 3]
        assert not timing.order
    else:
        (decided,) = timing.order.values()
        assert given == [decided.count(k) for k in range(3)]
    (unit,) = [u for u in last.network.units if u.name == "Deal"]
    latency = last.network.channels[unit.writes[0]].latency
    assert latency == 1 + (policy == "free")  # such a token switches on its way


def test_what_arrives_first_is_merged_first_and_routed_back() -> None:
    text = Text()
    hot = Multihot(Scalar("bool"), 2)
    first, second = text.input(3), text.input(2, 4)
    (wide,) = text.apply(Bufferize(a=1), [second], ((4,), Buffer(F32, (Dim.of(2),))))
    (narrow,) = text.apply(Identity(), [first], ((3,), Buffer(F32, (Dim.of(2),))))
    merged, which = text.apply(Arrive(), [narrow, wide], ((7,), Buffer(F32, (Dim.of(2),))), ((7,), hot))
    back = text.apply(Partition(N=2), [merged, which], *[((f"b{k}",), Buffer(F32, (Dim.of(2),))) for k in range(2)])
    text.graph.returns += back
    timing, programs = text.run(ProgramRoutes("none"))
    (decided,) = timing.order.values()
    assert sorted(decided) == [0] * 3 + [1] * 4
    assert decided != (0, 0, 0, 1, 1, 1, 1), "which is the order without a run"
    assert [programs[-1].sizes[f"b{k}"] for k in range(2)] == [3, 4]


def test_chunks_side_by_side_are_as_many_as_a_selector_names() -> None:
    text = Text()
    hot = Multihot(Scalar("fp32"), 2)
    data, selector = text.input(4), text.input(4, element=hot)
    one, other = text.apply(Copy(depth=4), [selector], ((4,), hot), ((4,), hot))
    branches = text.apply(Partition(N=2), [data, one], (("b0",), F32), (("b1",), F32))
    (side,) = text.apply(Gather.made({"order": "arrival"}), [*branches, other], (("m", 4), F32))
    (held,) = text.apply(Bufferize(a=1), [side], ((4,), Buffer(F32, (Dim.symbol("m"),))))
    text.graph.returns.append(held)
    rows = [(0,), (0, 1), (), (1,)]
    timing, programs = text.run(ProgramRoutes("run", {one: rows, other: rows}))
    put = {use.name: use.put for use in timing.channels}
    assert put[f"E{side}"] == 5, "four chunks, and a bare stop for none"
    assert put[f"E{held}"] == 4
    assert programs[-1].sizes["m"] == 2


def opened(levels: SizeLevels) -> Timing:
    text = Text(sizes={"~L": 3})
    data = text.input("~L", 3)
    (held,) = text.apply(Bufferize(a=1), [data], ((3,), Buffer(F32, (Dim.symbol("~L"),))))
    text.graph.returns.append(held)
    timing, _ = text.run(ProgramRoutes("run", levels={data: levels}))
    return timing


def test_lists_are_as_long_as_in_the_run() -> None:
    timing = opened([[3, 0, 1], 3])
    assert [use.put for use in timing.channels if use.name == "E0"] == [5]
    assert [use.put for use in timing.channels if use.name == "E1"] == [3]


@pytest.mark.parametrize("levels", [[3], [[1, 1], 3], [[1, 1], [2], 1]])
def test_levels_of_another_stream_are_refused(levels: SizeLevels) -> None:
    with pytest.raises(NotTimed, match="the lengths of E0 are not known"):
        opened(levels)


LENGTHS = [3, 0, 1, 7, 7, 2, 0, 5, 4]


def test_lanes_that_get_other_chunks_than_in_a_run_get_their_lists() -> None:
    """Nine lists of different lengths go to three lanes; each lane folds those that it got, whatever a run dealt it."""
    text = Text(sizes={f"~L{k}": 7 for k in range(3)} | {"~L": 7})
    hot = Multihot(Scalar("bool"), 3)
    data = text.input("~L", 9)
    lanes_of = [((f"~L{k}", f"n{k}"), F32) for k in range(3)]
    *lanes, which = text.apply(Deal.made({"N": 3, "policy": "free"}), [data], *lanes_of, ((9,), hot))
    worked = [text.apply(Identity(), [lane], lanes_of[k])[0] for k, lane in enumerate(lanes)]
    folds = [text.apply(Bufferize(a=1), [each], ((f"n{k}",), F32))[0] for k, each in enumerate(worked)]
    (out,) = text.apply(Gather(), [*folds, which], ((1, 9), F32))
    text.graph.returns.append(out)
    levels: dict[int, SizeLevels] = {data: [LENGTHS, 9]}
    for k, pair in enumerate(zip(lanes, worked, strict=True)):
        levels.update({index: [LENGTHS[k::3], 3] for index in pair})  # a run deals in turn
    timing, programs = text.run(ProgramRoutes("run", levels=levels))
    ((_unit, decided),) = timing.order.items()
    assert decided != tuple(j % 3 for j in range(9))
    put = {use.name: use.put for use in timing.channels}
    for k, index in enumerate(lanes):
        mine = [max(length, 1) for length, lane in zip(LENGTHS, decided, strict=True) if lane == k]
        assert put[f"E{index}"] == put[f"E{worked[k]}"] == sum(mine)
        assert put[f"E{folds[k]}"] == len(mine)
    assert programs[-1].sizes["n0"] == decided.count(0)


def test_lists_that_come_first_stand_first() -> None:
    text = Text(sizes={"~A": 3, "~B": 3, "~C": 3})
    hot = Multihot(Scalar("bool"), 2)
    first, second = text.input("~A", 3), text.input("~B", 2)
    (late,) = text.apply(Identity(), [first], (("~A", 3), F32))
    merged, which = text.apply(Arrive(), [late, second], (("~C", 5), F32), ((5,), hot))
    (held,) = text.apply(Bufferize(a=1), [merged], ((5,), F32))
    text.graph.returns += [held, which]
    one, other = [2, 0, 3], [1, 3]
    levels: dict[int, SizeLevels] = {first: [one, 3], late: [one, 3], second: [other, 2], merged: [[*one, *other], 5]}
    timing, programs = text.run(ProgramRoutes("run", levels=levels))
    (decided,) = timing.order.values()
    assert decided != (0, 0, 0, 1, 1)
    left = [iter(one), iter(other)]
    came = [next(left[place]) for place in decided]
    (unit,) = [u for u in programs[-1].network.units if u.name == "Bufferize"]
    (loop,) = unit.body
    assert isinstance(loop, Times) and isinstance(loop.body[0], Times)
    assert loop.body[0].table == tuple(max(length, 1) for length in came)


RAGGED = """\
sizes: {"~L": {min: 0, max: 8}}
inputs:
- {name: E0, dtype: fp32, dims: ["~L", M], data_gen: torch.randn}
fns:
- {name: Add, func_name: fn_add, init: [0], input_dtype: fp32,
   output_dtype: fp32, apply: "return [state[0] + input[0]]"}
outputs:
- {name: S0, dtype: fp32, dims: [M], data_transform: ["return [input_data['E0'].sum(-1)]"]}
impl: |
  return step.Accum(fn=fn_add, b=1).apply(E0)
"""


def test_sizes_that_only_data_know_are_those_of_the_run_else_as_large_as_they_get() -> None:
    (checked,) = check_text(RAGGED, "t.step.yaml").programs
    timed = time_program(checked, PRESETS["default"])
    assert (timed.program.sizes["~L"], timed.timing.channels[0].put) == (8, 5 * 8)
    assert "as large as they get" in report(timed)
    routes = ProgramRoutes("run", levels={0: [[3, 0, 8, 0, 1], 5]})
    timed = time_program(checked, PRESETS["default"], routes=routes)
    assert timed.timing.channels[0].put == 3 + 8 + 1 + 2
    assert [unit.worked for unit in timed.timing.units if unit.name == "Accum"] == [3 + 8 + 1]
    assert "as large as they get" not in report(timed)
    assert_literal(timed.program.network)


def report(timed: Timed) -> str:
    return "\n".join(picture(TimedFile("t.step.yaml", SourceFile("t.step.yaml", RAGGED), timed)))


def test_levels_of_a_run_are_rows_of_numbers() -> None:
    assert levels_of((2, Lengths(torch.tensor([1, 0])), 2)) == (2, (1, 0), 2)


EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize("name", ["decode_attention", "moe_dynamic_tiles"])
def test_programs_of_the_page_take_the_cycles_of_a_literal_engine_with_the_data_of_a_run(name: str) -> None:
    (checked,) = check_text((EXAMPLES / f"{name}.py").read_text(encoding="utf-8"), f"{name}.py").programs
    routes = routes_of_run(checked)
    timed = time_program(checked, PRESETS["decode"], routes=routes)
    assert assert_literal(timed.program.network).order == timed.timing.order
    assert (timed.timing.waiting, timed.timing.lost) == ((), ())
    counts = {stream: levels for stream, levels in routes.levels.items() if len(levels) > 1}
    if name == "decode_attention":
        ((unit, lanes),) = timed.timing.order.items()
        (free,) = [node for node in timed.graph.nodes if node.op_name == "Parallelize"]
        assert timed.program.units[unit] == free.index
        assert lanes != tuple(place % 4 for place in range(len(lanes)))
        assert counts


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("task", [ragged_task, routed_task])
def test_random_programs_take_the_cycles_of_a_literal_engine(task: Callable[[Random], str], seed: int) -> None:
    """As large as they get, and with the data of a run, which all of these selectors are followed by."""
    (checked,) = check_text(task(Random(seed)), "t.step.yaml").programs
    chip = program_chip(Random(seed))
    assert_literal(time_program(checked, chip).program.network)
    if all(not size.is_ragged for index in selectors_of(checked.typed) for size in shape_of(checked, index)):
        assert_literal(time_program(checked, chip, routes=routes_of_run(checked)).program.network)


def shape_of(checked: Checked, index: int) -> Shape:
    return checked.typed.streams[index].type.shape


@pytest.mark.parametrize(
    ("inputs", "output", "impl"),
    [
        ("E0: fp32 [?T,M]", "fp32 [?T,M]", "return step.Streamify().apply(step.Bufferize(a=1).apply(E0))"),
        ("E0: fp32 [?T,M]\nE1: fp32 [M]", "fp32 [?T,M]", "return step.RepeatRef().apply((E1, E0))"),
        ("E0: fp32 [?T,M]", "fp32 [M]", "return step.Accum(fn=fn_sum, b=1).apply(E0)"),
        ("E0: fp32 [K,?T]", "fp32 [K,?T]", "return step.Streamify().apply(step.Bufferize(a=1).apply(E0))"),
        (
            "E0: Tile(fp32; [1; 4]) [?T]",
            "Tile(fp32; [1; 4]) [?T]",
            "return step.RetileStreamify(axis=0).apply(step.Retile(axis=0).apply(step.Promote(b=1).apply(E0)))",
        ),
    ],
)
def test_empty_lists_of_a_dynamic_size_are_tokens(inputs: str, output: str, impl: str) -> None:
    """A program ended in a division by 0, or stopped although nothing waits."""
    text = written(inputs, f"S0: {output} = 0", impl, '{"?T": {values: [0]}}').replace(";", ",")
    (checked,) = check_text(text, "t.step.yaml").programs
    for seed in range(3):
        timed = time_program(checked, program_chip(Random(seed)), routes=routes_of_run(checked))
        assert assert_literal(timed.program.network).waiting == ()
