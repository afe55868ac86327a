"""Tiles and memory off chip: types, what is read and stored, and the cycles of programs with them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
import torch
from ruamel.yaml import YAML

import stepcore as step
from oracle.streams import dense
from oracle.tasks import OracleTask, run_streams
from programs.tiled import tiled_task
from stepcore.check.files import check_text
from stepcore.check.programs import Checked
from stepcore.conversion.to_python import task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.costs.metrics import measure
from stepcore.cycles.network_of import network_of
from stepcore.findings.diagnostics import Severity, StepError
from stepcore.findings.errors import SimError
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.ide.analysis import analyze
from stepcore.ide.completion import completions
from stepcore.ide.hover import hover
from stepcore.ide.rename import rename
from stepcore.sim.functional import Session
from stepcore.sizes.dim import product
from stepcore.timing.exact import Timing, run
from stepcore.timing.hardware import PRESETS, Hardware
from timing_cases import PUBLISHED
from timing_networks import Build, chip
from timing_programs import assert_literal
from timing_properties import EXPERT

HEAD = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, K, M, N


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [2 * input[0]]


@step.fn(input=step.Tile("fp32", [4, D]), output=step.Tile("fp32", [4, D]))
def twice(input):
    return [2 * input[0]]


"""


def checked(text: str, path: str = "file.py") -> Checked:
    (found,) = check_text(text, path).programs
    assert not found.diagnostics, found.diagnostics
    return found


def timed(program: Checked) -> Timing:
    return run(network_of(program.spec, program.typed, program.spec.bindings(), PRESETS["validation"]).network)


# -- the validation graph, from its program ------------------------------------------------------------------


@pytest.mark.parametrize("tile", PUBLISHED, ids=str)
def test_the_published_cycles_come_from_the_program(tile: tuple[int, int]) -> None:
    rows, columns = tile
    text = EXPERT.replace("TM, TN = 16, 64", f"TM, TN = {rows}, {columns}")
    assert text != EXPERT or tile == (16, 64)
    program = checked(text)
    timing = timed(program)
    assert timing.cycles == sum(PUBLISHED[tile])
    traffic = (64 // rows) * (512 // columns) * (256 * rows + 768 * columns) * 4 + 65_536
    assert timing.bursts * 64 == traffic == measure(program.spec, program.typed).off_chip.value


def test_the_expert_meets_its_reference_at_other_sizes_and_as_a_task() -> None:
    program = checked(EXPERT)
    task = read_task(python_to_task(module := read_module(EXPERT, "file.py"), module.programs[0]), "expert.step.yaml")
    assert not task.diagnostics and task.spec is not None
    again = checked(task.source.text, "expert.step.yaml")
    assert [s.type for s in again.typed.streams] == [s.type for s in program.typed.streams]
    verdict = Session(again.spec).verify(again)
    assert verdict.accepted, verdict
    back = checked(task_to_python(task))
    assert [node.op.text() for node in back.typed.nodes] == [node.op.text() for node in again.typed.nodes]
    assert timed(again).cycles == timed(back).cycles == sum(PUBLISHED[16, 64])


# -- the small cases of the timing chapter, as programs ------------------------------------------------------


def between_sources_and_sinks(text: str, hardware: Hardware) -> int:
    """Return the cycles of a program whose ends are a token each cycle, and takers at once."""
    program = checked(text)
    made = network_of(program.spec, program.typed, program.spec.bindings(), hardware)
    net = Build(hardware)
    net.channels = made.network.channels
    net.units = [unit for unit, node in zip(made.network.units, made.units, strict=True) if node >= 0]
    read = {channel for unit in net.units for channel in unit.reads}
    given = {channel for unit in net.units for channel in unit.writes}
    graph = program.typed
    tokens = {s.name: product(s.type.shape).bind(program.spec.bindings()) for s in graph.streams}
    for channel, fifo in enumerate(net.channels):  # of ends that are left out nothing comes
        if channel not in given:
            net.source(channel, tokens.get(fifo.name, 0))
        if channel not in read:
            net.sink(channel, tokens.get(fifo.name, 0))
    return run(net).cycles


BUFFERED = f"""{HEAD}@step.program
def program(E0: Annotated[step.Stream, step.f32, (4, 3)]) -> Annotated[step.Stream, step.f32, (4, 2, 3)]:
    E1 = step.Bufferize(a=1).apply(E0)
    return step.Streamify(shape=[4, 2], stride=[1, 0]).apply(E1)
"""
MOVED = f"""{HEAD}@step.program
def program(
    *, x: Annotated[step.Param, step.f32, (16, ROWS)], y: Annotated[step.Param(written=True), step.f32, (16, ROWS)]
) -> None:
    step.LinearOffChipStore(tensor=y).apply(step.LinearOffChipLoad(tensor=x, tile=[TILE, 16]).apply())
"""
ADDED = f"""{HEAD}T = step.Tile("fp32", [64, 16])


@step.fn(input=(T, T), output=T)
def add(input):
    return [input[0] + input[1]]


@step.program
def program(
    *, x: Annotated[step.Param, step.f32, (16, ROWS)], y: Annotated[step.Param, step.f32, (16, ROWS)]
) -> Annotated[step.Stream, T, (1, ROWS // 64)]:
    E0 = step.LinearOffChipLoad(tensor=x, tile=[64, 16]).apply()
    E1 = step.LinearOffChipLoad(tensor=y, tile=[64, 16]).apply()
    return step.Map(fn=add).apply((E0, E1))
"""


def test_tensors_that_are_loaded_and_stored_count_for_the_streaming_degree() -> None:
    program = checked(MOVED.replace("ROWS", "64").replace("TILE", "8"))
    tile, tensor = 4 * 8 * 16, 4 * 64 * 16
    found = measure(program.spec, program.typed)
    assert found.on_chip.value == 2 * tile + 2 * tile
    assert found.streaming_degree == pytest.approx(1 - 4 * tile / (2 * tensor))


@pytest.mark.parametrize(("depth", "cycles"), [(1, 57), (2, 29)])
def test_small_case_5_a_buffer_read_twice(depth: int, cycles: int) -> None:
    assert between_sources_and_sinks(BUFFERED, chip(depth)) == cycles


@pytest.mark.parametrize(
    ("rows", "tile", "triangular", "round_robin"),
    [(1, 1, 41, 41), (16, 16, 49, 47), (64, 64, 73, 71), (256, 64, 232, 227)],
)
def test_small_case_6_from_memory_to_memory(rows: int, tile: int, triangular: int, round_robin: int) -> None:
    text = MOVED.replace("ROWS", str(rows)).replace("TILE", str(tile))
    assert timed(checked(text)).cycles == triangular
    assert between_sources_and_sinks(text, chip(1, preset="validation", interleave="round_robin")) == round_robin


@pytest.mark.parametrize("interleave", ["round_robin", "triangular"])
@pytest.mark.parametrize(("tiles", "cycles"), [(1, 62), (8, 412)])
def test_small_case_7_two_loads_share_the_memory(tiles: int, cycles: int, interleave: str) -> None:
    hardware = chip(1, preset="validation", interleave=interleave)
    hardware = replace(hardware, onchip=replace(hardware.onchip, bandwidth=4096))
    text = ADDED.replace("ROWS", str(64 * tiles)).replace("fn=add)", "fn=add, bw=103)")  # 1024 FLOPs take 10 cycles
    assert between_sources_and_sinks(text, hardware) == cycles


def test_rates_of_units_are_the_programs_own() -> None:
    """One tile of 64 bursts through a port: so many requests leave in a cycle, and come back 20 cycles later."""
    text = MOVED.replace("ROWS", "64").replace("TILE", "64")
    slow = text.replace("tensor=x, ", "tensor=x, dispatch=1, ")
    assert timed(checked(text)).cycles == 73 and timed(checked(slow)).cycles > 73 + 40
    program = checked(ADDED.replace("ROWS", "64").replace("fn=add)", "fn=add, bw=8, depth=3)"))
    assert program.typed.nodes[-1].op.text() == "Map(fn=add, depth=3, bw=8)"
    terms = network_of(program.spec, program.typed, program.spec.bindings(), PRESETS["validation"]).terms
    assert terms[program.typed.nodes[-1].index].compute == 1024 // 8


# -- memory --------------------------------------------------------------------------------------------------

LOADED = f"""{HEAD}def reference(x: torch.Tensor) -> torch.Tensor:
    tiles = x.reshape(4, 2, 3, 5).transpose(1, 2).reshape(12, 2, 5)
    return tiles[WANTED]


@step.program(reference=reference)
def program(*, x: Annotated[step.Param, step.f32, (15, 8)]) -> Annotated[step.Stream, step.Tile("fp32", [2, 5]), SHAPE]:
    return step.LinearOffChipLoad(tensor=x, tile=[2, 5]READ).apply()
"""


@pytest.mark.parametrize(
    ("read", "shape", "wanted"),
    [
        ("", "(3, 4)", "torch.arange(12).reshape(4, 3)"),
        (", shape=[4]", "(4,)", "torch.arange(4)"),
        (", shape=[3, 2], base=6", "(3, 2)", "6 + torch.arange(6).reshape(2, 3)"),
        (", shape=[2, 3], stride=[0, 3]", "(2, 3)", "torch.tensor([[0, 0], [3, 3], [6, 6]])"),
        (", shape=[4, 3], stride=[3, 1]", "(4, 3)", "torch.arange(12).reshape(4, 3).T"),
        (", shape=[12], stride=[-1], base=11", "(12,)", "torch.arange(11, -1, -1)"),
        (", shape=[2, 2], stride=[-1, 5], base=3", "(2, 2)", "torch.tensor([[3, 2], [8, 7]])"),
    ],
)
def test_a_load_reads_the_tiles_of_the_grid(read: str, shape: str, wanted: str) -> None:
    text = LOADED.replace("WANTED", wanted).replace("SHAPE", shape).replace("READ", read)
    names: dict[str, Any] = {"__name__": "script"}
    exec(compile(text, "<loaded>", "exec", dont_inherit=True), names)
    program = names["program"]
    verdict = Session(checked(text).spec, reference=names["reference"]).verify(checked(text))
    assert verdict.accepted, verdict
    assert program.verify().accepted  # as a script


STORED = f"""{HEAD}@step.program(dims={{M: 8, D: 6}})
def program(
    E0: Annotated[step.Stream, step.Tile("fp32", [4, D]), (1,)], *,
    y: Annotated[step.Param(written=True), step.f32, (D, M)],
) -> None:
    LINE
"""


@pytest.mark.parametrize(
    "line",
    [
        "E1 = step.LinearOffChipLoad(tensor=y, tile=[1, 3], shape=[1], stride=[1], base=WHERE).apply(E0)\n"
        "    E2 = step.Retile(axis=0).apply(step.Repeat(n=4).apply(step.Flatten(L=[1]).apply(E1)))\n"
        "    step.LinearOffChipStore(tensor=y).apply(step.Retile(axis=1).apply(step.Repeat(n=2).apply(E2)))",
        "E1, E2 = step.Copy().apply(E0)\n    step.LinearOffChipStore(tensor=y).apply(E1)\n"
        "    step.LinearOffChipStore(tensor=y, base=WHERE // 8).apply(E2)",
    ],
)
def test_what_is_stored_is_neither_read_nor_stored_again(line: str) -> None:
    at_once, apart = (checked(STORED.replace("LINE", line.replace("WHERE", where))) for where in ("7", "8"))
    assert Session(apart.spec).run(apart.typed).outputs[0][0].shape == (8, 6)
    with pytest.raises(SimError) as caught:
        Session(at_once.spec).run(at_once.typed)
    assert caught.value.code == "STEP417" and "nothing orders the two" in caught.value.message


GATHERED = f"""{HEAD}@step.program(dims={{M: 8, D: 6}}, data={{"where": (LEAST, MOST)}})
def program(
    where: Annotated[step.Stream, TYPE, (3, 2)], rows: Annotated[step.Stream, step.Tile("fp32", [1, D]), (6,)], *,
    y: Annotated[step.Param(written=True), step.f32, (D, M)],
) -> RESULT:
    BODY
"""
SCATTER = "flags = step.RandomOffChipStore(tensor=y).apply((where, rows))\n"
ROW_STREAM = "Annotated[step.Stream, step.Tile('fp32', [1, D]), "


def gathered(body: str, result: str, least: int = 0, most: int = 7, kind: str = "step.i64") -> Checked:
    text = GATHERED.replace("BODY", body).replace("RESULT", result).replace("TYPE", kind)
    (found,) = check_text(text.replace("LEAST", str(least)).replace("MOST", str(most)), "file.py").programs
    assert not [item for item in found.diagnostics if item.severity is Severity.ERROR], found.diagnostics
    return found


@pytest.mark.parametrize("kind", ["step.i64", 'step.Tile("int64", [1, 1])'])
def test_addresses_are_tiles_of_the_memory(kind: str) -> None:
    """Error STEP413 names the first one outside, by its position, innermost first."""
    body, result = "return step.RandomOffChipLoad(tensor=y, tile=[1, D]).apply(where)", f"{ROW_STREAM}(3, 2)]"
    program = gathered(body, f"tuple[{result}]", kind=kind)
    session = Session(program.spec)
    (tiles,), (y,) = session.run(program.typed).outputs
    (where,) = session.world.inputs[0].dense()
    assert tiles.equal(y[where.reshape(2, 3)].unsqueeze(2))
    outside = gathered(body, f"tuple[{result}]", 8, 9, kind)
    with pytest.raises(SimError, match=r"at position \[0, 0\], is no tile of y, which has 0 to 7; of an") as caught:
        Session(outside.spec).run(outside.typed)
    assert caught.value.code == "STEP413" and caught.value.node == 0
    stored = gathered(SCATTER, "None", 8, 9, kind)
    with pytest.raises(SimError, match="is no tile of y") as caught:
        Session(stored.spec).run(stored.typed)
    assert caught.value.code == "STEP413"


def test_of_two_tiles_for_one_address_the_later_stays_and_nobody_has_to_read_what_is_acknowledged() -> None:
    program = gathered(SCATTER, "None", 2, 2)
    assert program.diagnostics == []
    session = Session(program.spec)
    ((y,),) = session.run(program.typed).outputs
    (rows,) = session.world.inputs[1].dense()
    assert y[2].equal(rows[5, 0])
    assert y[[0, 1, 3, 4, 5, 6, 7]].equal(session.world.parameters["y"][[0, 1, 3, 4, 5, 6, 7]])


AGAIN = "a, b = step.Copy().apply(where)\n    " + SCATTER.replace("where", "a")
LOADED_AT = "step.RandomOffChipLoad(tensor=y, tile=[1, D])"


@pytest.mark.parametrize(
    ("after", "is_ordered"),
    [
        # Each address is zipped with the acknowledgement of its own tile, and every tile is written once.
        (f"    return {LOADED_AT}.apply(step.Map(fn=first).apply((b, flags)))", True),
        (f"    return {LOADED_AT}.apply(b)", False),
        (f"    return {LOADED_AT}.apply(step.Map(fn=least).apply((b, flags)))", False),  # tile 0 is written at the end
        (f"    return step.Flatten(L=[1]).apply({LOADED_AT}.apply(step.Scan(fn=last, b=1).apply((b, flags))))", True),
        ("    return step.Flatten(L=[1]).apply(step.LinearOffChipLoad(tensor=y, tile=[1, D]).apply(flags))", False),
        (
            "    E = step.Accum(fn=both, b=2).apply(step.Promote(b=2).apply(flags))\n"
            "    return step.Flatten(L=[1]).apply(step.LinearOffChipLoad(tensor=y, tile=[1, D], shape=[3]).apply(E))",
            True,
        ),
    ],
)  # fmt: skip
def test_what_waits_for_the_acknowledgement_of_a_tile_may_read_it(after: str, is_ordered: bool) -> None:
    fns = """@step.fn(input=(step.i64, step.bool_), output=step.i64)
def first(input):
    return [input[0]]


@step.fn(input=(step.i64, step.bool_), output=step.i64)
def least(input):
    return [input[0] * 0]


@step.fn(input=(step.i64, step.bool_), output=step.i64, init=[0])
def last(state, input):
    return [input[0]]


@step.fn(input=step.bool_, output=step.bool_, init=[1])
def both(state, input):
    return [input[0]]


@step.program("""
    text = GATHERED.replace("@step.program(", fns).replace("BODY", AGAIN + after).replace("TYPE", "step.i64")
    text = text.replace("RESULT", "tuple[step.Stream]").replace(" -> tuple[step.Stream]", "")
    (program,) = check_text(text.replace("LEAST, MOST", "0, 7"), "file.py").programs
    session = Session(program.spec)
    where, rows = (data.components[0] for data in session.world.inputs)
    with torch.inference_mode():
        where.copy_(torch.arange(5, -1, -1).reshape(2, 3))
    if not is_ordered:
        with pytest.raises(SimError) as caught:
            session.run(program.typed)
        assert caught.value.code == "STEP417"
        return
    (found,), (y,) = session.run(program.typed).outputs
    assert y[:6].equal(rows.flip(0)[:, 0])
    read = found.reshape(-1, 6)
    assert read.equal(rows[:, 0] if len(read) == 6 else y[:3])


def test_two_stores_to_a_place_need_an_order() -> None:
    again = "a, b = step.Copy().apply(where)\n    c, d = step.Copy().apply(rows)\n"
    first = "    E = step.RandomOffChipStore(tensor=y).apply((a, c))\n"
    program = gathered(f"{again}{first}    step.RandomOffChipStore(tensor=y).apply((b, d))", "None", 3, 3)
    with pytest.raises(SimError) as caught:
        Session(program.spec).run(program.typed)
    assert caught.value.code == "STEP417" and "stored twice" in caught.value.message


def test_random_accesses_are_ports_of_the_memory_and_addresses_are_no_traffic() -> None:
    """A tile of six numbers is a burst; a store gives its flag when the tile is written."""
    program = gathered(SCATTER, "None")
    made = network_of(program.spec, program.typed, program.spec.bindings(), PRESETS["validation"])
    assert_literal(made.network)
    timing = run(made.network)
    assert measure(program.spec, program.typed).off_chip.value == 6 * 8 + 6 * 24 + 6 * 24 + 0
    assert timing.cycles > 6 * 20 and [unit for unit in made.units if unit >= 0] == [0]


def test_other_sizes_of_a_run_are_looked_at_again() -> None:
    program = checked(EXPERT)
    for dims, code in (({"B": 40}, "STEP227"), ({"F": 100}, "STEP227")):
        with pytest.raises(SimError) as caught:
            Session(program.spec, dims).run(program.typed)
        assert caught.value.code in (code, "STEP211")


def test_a_load_in_a_script_takes_a_tensor() -> None:
    held = torch.arange(24.0).reshape(4, 6)
    tiles = step.LinearOffChipLoad(tensor=held, tile=[2, 3]).apply()
    assert str(tiles.type) == "[2, 2] of Tile(fp32, [2, 3])"
    assert tiles.data[0][1, 0].equal(held[2:, :3])
    twice = step.LinearOffChipLoad(tensor=held, tile=[4, 6]).apply(name="twice", input=step.Repeat(n=2).apply(tiles))
    assert (twice.name, str(twice.type)) == ("twice", "[1, 1, 2, 2, 2] of Tile(fp32, [4, 6])")
    tiles = step.LinearOffChipLoad(tensor=held, tile=[2, 3]).apply()
    other = torch.zeros(4, 6)
    step.LinearOffChipStore(tensor=other).apply(tiles)
    assert other.equal(held)
    with pytest.raises(StepError) as caught:
        step.LinearOffChipLoad(tensor=held, tile=[3, 3]).apply()
    assert caught.value.code == "STEP227"


# -- random programs ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_random_programs_of_tiles_give_what_the_literal_interpreter_gives(seed: int) -> None:
    """Types, values and memory; the same after a way through Python, and cycles as the literal engine has them."""
    text = tiled_task(Random(seed))
    (program,) = check_text(text, "tiled.step.yaml").programs
    assert program.runnable and not [item for item in program.diagnostics if item.severity is Severity.ERROR]
    expected = run_memory(text)
    found = Session(program.spec).run(program.typed).outputs
    for (tensor,), wanted in zip(found, expected, strict=True):
        torch.testing.assert_close(tensor, wanted)
    (again,) = check_text(task_to_python(read_task(text, "tiled.step.yaml")), "tiled.py").programs
    assert [node.op.text() for node in again.typed.nodes] == [node.op.text() for node in program.typed.nodes]
    for spec in (program.spec, again.spec):
        assert [port.type for port in spec.returned or ()] == [
            program.typed.streams[i].type for i in program.typed.returns
        ]
        assert [port.memory for port in spec.outputs or () if port.memory] == [
            p.name for p in spec.parameters if p.written
        ]
    assert_literal(network_of(program.spec, program.typed, program.spec.bindings(), PRESETS["validation"]).network)


def run_memory(text: str) -> list[torch.Tensor]:
    """Return the results of a task without references, streams and memory in the order of its outputs."""
    spec = YAML(typ="safe", pure=True).load(text)
    task = OracleTask("tiled", spec)
    _, returned = run_streams(task)
    return [tensor for stream in returned for tensor in dense(stream)]


# -- the editor ----------------------------------------------------------------------------------------------


def test_the_editor_knows_parameters_as_values() -> None:
    before = "E0 = step.LinearOffChipLoad(tensor="
    at = EXPERT.index(before) + len(before)
    asked = completions(analyze(EXPERT.replace(f"{before}x,", f"{before},", 1), "file.py"), at)
    assert [(item.label, item.detail) for item in asked][:2] == [("x", "fp32, [D, B]"), ("wg", "fp32, [F, D]")]
    shown = hover(analyze(EXPERT, "file.py"), at)
    assert shown is not None and "x: [D, B] of fp32" in shown.markdown
    task = python_to_task(module := read_module(EXPERT, "file.py"), module.programs[0])
    edits = rename(analyze(task, "expert.step.yaml"), task.index("tensor=wg") + len("tensor="), "gate")
    assert len(edits) == 3 and {edit.text for edit in edits} == {"gate"}  # declaration, reference and program
