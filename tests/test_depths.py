"""The depth rule agrees with units and FIFOs token by token, is said once for each mistake, and its fix mends it."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

import wires
from stepcore.check import check_text, fix_text
from stepcore.check.depths import Demand, Net, net_of, waits
from stepcore.check.fifos import depth_edit
from stepcore.check.programs import ImplChecker
from stepcore.check.rewriting import NoFix
from stepcore.check.trials import same_meaning
from stepcore.cli import main
from stepcore.cycles.findings import findings as timing_findings
from stepcore.cycles.timed import time_program
from stepcore.findings.diagnostics import Diagnostic, Severity, apply_edits
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.ir import Graph
from stepcore.graph.typed import TypedGraph
from stepcore.ops import OPERATORS, Bufferize, Flatten, Partition, Promote, Repeat, RepeatRef, Reshape, Streamify
from stepcore.ops.base import Operator
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded, Span
from stepcore.timing.hardware import PRESETS
from stepcore.types import Multihot, StreamType
from wires import Builder, Drawn

ROOT = Path(__file__).parents[1]
TASKS = sorted((ROOT / "benchmarks" / "tasks").glob("*.step.yaml"))
# Of the 82 programs in benchmarks and examples, those that would stop on hardware.
WAITING = {
    "tasks": ["norm_layer_scalars", "norm_rms_scalars"],
    "tasks2": ["gate_squeeze_excite", "norm_group", "norm_instance", "norm_l2_scalars", "norm_softmax_streamed"],
    "tasks3": ["attn_grouped_streamed", "gate_geglu", "norm_batch", "norm_min_max", "norm_power"],
}


def found(text: str, path: str) -> list[Diagnostic]:
    return [item for item in check_text(text, path).diagnostics if item.code == "STEP501"]


# -- the rule and the simulation -------------------------------------------------------------------------


def fork_join(depth: int) -> tuple[Graph, list[int]]:
    """The fourth micro-case of the timing page: only ``direct`` is deeper than one."""
    built = Builder()
    first, direct = built.copy(built.input(6, 3))
    built.graph.returns = [built.join(direct, built.one(Repeat(n=6), built.fold(first, 1)))]
    return built.graph, [depth if stream.index == direct else 1 for stream in built.graph.streams]


@pytest.mark.parametrize(("depth", "stops"), [(1, True), (5, True), (6, False), (7, False)])
def test_a_direct_path_beside_a_fold_of_six_needs_six(depth: int, stops: bool) -> None:
    graph, depths = fork_join(depth)
    assert wires.stops(graph, depths) is stops
    assert wires.stops_by_rule(graph, depths) is stops


@pytest.mark.parametrize(("depth", "stops"), [(3, True), (4, False)])
def test_a_flatten_and_its_fifo_hold_elements_as_well(depth: int, stops: bool) -> None:
    built = Builder()
    first, direct = built.copy(built.input(6, 3))
    flat, whole = built.one(Flatten(L=[1]), direct), built.one(Flatten(L=[1]), first)
    sums = built.fold(built.one(Reshape(S=6, L=[0]), whole), 1)
    joined = built.join(flat, built.one(Flatten(L=[1]), built.one(Repeat(n=6), sums)))
    built.graph.returns = [joined]
    depths = [depth if stream.index == direct else 1 for stream in built.graph.streams]
    assert wires.stops(built.graph, depths) is stops
    assert wires.stops_by_rule(built.graph, depths) is stops


@pytest.mark.parametrize("seed", range(8))
def test_the_rule_and_the_simulation_agree(seed: int) -> None:
    stopped = [wires.assert_agrees(Random(f"depths.{seed}.{number}")) for number in range(60)]
    assert 5 < sum(stopped) < 55


@pytest.mark.parametrize("seed", range(4))
def test_the_rule_and_the_literal_engine_agree_on_programs_with_depths(seed: int) -> None:
    stopped = [wires.assert_literal_agrees(Random(f"literal.{seed}.{number}")) for number in range(15)]
    assert 1 < sum(stopped) < 12


def test_every_operator_has_a_pace_but_those_that_data_steer() -> None:
    steered = {"Partition", "Merge", "Reassemble", "EagerMerge", "Parallelize", "Feedback"}
    assert {operator.__name__ for operator in OPERATORS if operator.pace is None} == steered


def test_nothing_is_said_of_what_data_decide() -> None:
    """Sums of one branch are read beside the other branch: whether that waits, the selector says."""
    built = Builder()
    first, second = built.copy(built.input(4, 3))
    selector = built.input(3)
    built.graph.streams[selector].type = StreamType(Multihot(wires.F32, 2), built.type(selector).shape)
    branch, other = built.apply(Partition(N=2), first, selector)
    built.graph.returns = [built.one(Repeat(n=4), built.fold(branch, 1)), other, built.fold(second, 1)]
    assert waits(TypedGraph(built.graph)) == []


# -- symbols -----------------------------------------------------------------------------------------------


def beside(fold: Dim | int) -> Graph:
    built = Builder()
    first, second = built.copy(built.input(fold, Dim.symbol("M")))
    built.graph.returns = [built.join(second, built.one(Repeat(n=fold), built.fold(first, 1)))]
    return built.graph


@pytest.mark.parametrize(
    ("size", "bindings", "fixed", "elements"),
    [
        (2, {}, [], ""),
        (3, {}, [], "3"),
        (Dim.symbol("K"), {"K": 2}, [], "K"),  # a run may bind more
        (Dim.symbol("K"), {"K": 2}, ["K"], ""),
        (Dim.symbol("K"), {"K": 9}, ["K"], "K"),
        (Dim.symbol("K") // 4, {"K": 8}, [], "K//4"),
    ],
)
def test_what_a_size_may_be_decides(size: Dim | int, bindings: dict[str, int], fixed: list[str], elements: str) -> None:
    waiting = waits(TypedGraph(beside(size)), bindings, fixed)
    assert [str(item.elements) for item in waiting] == [elements] * bool(elements)
    assert all((item.fifos, str(item.room), item.dims) == (1, "2", 1) for item in waiting)


def test_nothing_is_said_of_a_size_that_only_a_run_knows() -> None:
    assert waits(TypedGraph(repeated_beside(9)))
    assert waits(TypedGraph(repeated_beside(Dim.symbol("?L")))) == []


def repeated_beside(fold: Dim | int) -> Graph:
    built = Builder()
    first, rest = built.copy(built.input(fold, Dim.symbol("M")))
    reference, second = built.copy(rest)
    repeated = built.one(RepeatRef(), built.fold(first, 1), reference)
    built.graph.returns = [built.join(second, repeated)]
    return built.graph


# -- findings ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("folder", WAITING)
def test_what_waits_in_the_tasks_is_known_and_fixes_mend_it(folder: str) -> None:
    waiting = []
    for path in sorted((ROOT / "benchmarks" / folder).glob("*.step.yaml")):
        text = before = path.read_text(encoding="utf-8")
        rounds = 0
        while items := found(text, path.name):
            assert all(item.severity is Severity.WARNING for item in items)
            fix = items[0].fix
            assert fix is not None, path
            text = apply_edits(text, list(fix.edits))
            left = check_text(text, path.name).diagnostics
            assert len(left) == len(items) - 1, path  # one fix, one finding less, and no other in its place
            rounds += 1
        if rounds:
            waiting.append(path.name.removesuffix(".step.yaml"))
            graphs = [check_text(each, path.name).programs[0].graph for each in (before, text)]
            assert same_meaning(*graphs)
            given = [[(node.op_name, node.params.get("depth")) for node in graph.nodes] for graph in graphs]
            assert given[0] != given[1] and len(given[0]) == len(given[1])  # depths, and no further operators
        _assert_runs_with(before, text, path, warned=bool(rounds))
    assert waiting == WAITING[folder]


@pytest.mark.parametrize("path", sorted((ROOT / "examples").glob("*.py")), ids=lambda path: path.name)
def test_examples_run_on_a_chip(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    _assert_runs_with(text, text, path, warned=False)


def _assert_runs_with(before: str, mended: str, path: Path, *, warned: bool) -> None:
    """What is warned of stops on the default chip, says what cures it, and runs with either fix; all else runs."""
    for checked, after in zip(*(check_text(text, path.name).programs for text in (before, mended)), strict=True):
        timed = time_program(checked, PRESETS["default"])
        assert (timed.cycles is None) is warned, path
        assert time_program(after, PRESETS["default"]).cycles is not None, path
        if warned:
            (stop,) = timing_findings(timed, check_text(before, path.name))
            assert stop.code == "STEP502" and "cure" in stop.message and stop.fix is not None, path
            cured = check_text(apply_edits(before, list(stop.fix.edits)), path.name).programs[0]
            assert time_program(cured, PRESETS["default"]).cycles is not None, path


def test_the_warning_fails_no_command_unless_it_is_asked_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "norm.step.yaml"
    path.write_bytes((ROOT / "benchmarks" / "tasks" / "norm_rms_scalars.step.yaml").read_bytes())
    assert main(["check", "norm.step.yaml"]) == 0
    assert "STEP501" in capsys.readouterr().out
    (tmp_path / "stepsmith.toml").write_text('[severity]\nSTEP501 = "error"\n', encoding="utf-8")
    assert main(["check", "norm.step.yaml"]) == 1
    assert "error[STEP501]" in capsys.readouterr().out


FUNCTIONS = """\
from typing import Annotated

import stepcore as step
from stepcore.dims import K, M


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.fn(input=(step.f32, step.f32), output=step.f32)
def divide(input):
    return [input[0] / input[1]]
"""

AFFINE = f"""\
{FUNCTIONS}

@step.program
def share(x: Annotated[step.Stream, step.f32, (K, M)]) -> Annotated[step.Stream, step.f32, (K, M)]:
    parts = [step.Accum(fn=add, b=1).apply(x) for _ in range(1)]
    sums = step.Repeat(n=K).apply(parts[0])
    return step.Map(fn=divide).apply((x, sums))
"""


def test_copies_are_inserted_although_something_has_to_wait_then() -> None:
    assert [item.code for item in check_text(AFFINE, "a.py").diagnostics] == ["STEP101"]
    mended = fix_text(AFFINE, "a.py")
    (waiting,) = check_text(mended, "a.py").diagnostics
    assert waiting.code == "STEP501" and waiting.fix is not None
    assert check_text(apply_edits(mended, list(waiting.fix.edits)), "a.py").diagnostics == []


def test_nothing_waits_in_a_program_with_errors() -> None:
    wrong = fix_text(AFFINE, "a.py").replace("Repeat(n=K)", "Repeat(n=M)")
    assert [item.code for item in check_text(wrong, "a.py").diagnostics] == ["STEP207"]


def test_work_is_bounded() -> None:
    """Each fold waits beside what comes out of the one before: every demand leads through all of the program."""
    built = Builder()
    stream = built.input(Dim.symbol("K"), Dim.symbol("M"))
    for _ in range(150):
        first, second = built.copy(stream)
        stream = built.join(second, built.one(Repeat(n=Dim.symbol("K")), built.fold(first, 1)))
    built.graph.returns = [stream]
    net = net_of(TypedGraph(built.graph), [2] * len(built.graph.streams), lambda size: size.constant or 1 << 20)
    allowed = net.work
    assert allowed < 100 * len(built.graph.nodes)
    assert all(net.ring(start) for start in list(net.firsts())[:3])
    assert 0 < len(waits(TypedGraph(built.graph))) <= 150
    exhausted = net_of(TypedGraph(built.graph), [2] * len(built.graph.streams), lambda size: size.constant or 1 << 20)
    exhausted.work = 3
    assert not exhausted.ring(Demand(1, True, 1 << 20))


def test_streams_that_buffers_only_hold_are_the_same() -> None:
    def graph(*operators: Operator) -> Graph:
        built = Builder()
        stream = built.input(4, 3)
        for operator in operators:
            stream = built.one(operator, stream)
        built.graph.returns = [stream]
        return built.graph

    held = graph(Bufferize(a=1), Streamify())
    whole = graph(Promote(b=2), Bufferize(a=2), Streamify(), Flatten(L=[2]))
    assert same_meaning(graph(), held) and same_meaning(held, whole)
    assert not same_meaning(graph(), graph(Bufferize(a=1)))
    assert not same_meaning(graph(), graph(Promote(b=2), Bufferize(a=2), Streamify()))
    assert not same_meaning(held, graph(Flatten(L=[1])))


def test_a_drawn_program_is_that_of_its_seed() -> None:
    one, other = (Drawn(Random("same")).graph for _ in range(2))
    assert [node.op_name for node in one.nodes] == [node.op_name for node in other.nodes] != []


# -- the edit ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("step.Copy()", "step.Copy(depth=6)"),
        ("step.Copy (  )", "step.Copy (  depth=6)"),
        ("Copy(  # no parameters yet\n)", "Copy(  # no parameters yet\ndepth=6)"),
        ("step.Accum(fn=add, b=1)", "step.Accum(fn=add, b=1, depth=6)"),
        ("step.Accum(fn=(add), b=f(1)[0],)", "step.Accum(fn=(add), b=f(1)[0], depth=6,)"),
        ("step.Repeat(\n    n=2,  # of both (\n)", "step.Repeat(\n    n=2, depth=6,  # of both (\n)"),
        ("step.Copy(depth=2)", "step.Copy(depth=6)"),
        ("step.Copy(depth=(1 + M), )", "step.Copy(depth=(6), )"),
        ("step.Repeat(depth=3, n=')')", "step.Repeat(depth=6, n=')')"),
        ("step.Größe(n=é)", "step.Größe(n=é, depth=6)"),
    ],
)
def test_a_depth_is_written_into_any_call(call: str, after: str) -> None:
    text = f"\u2028 x = {call}.apply(E0)  # (rest)\n"
    start = text.index(call)
    edit = depth_edit(text, Span(start, start + len(call.partition("(")[0].rstrip())), "6")
    assert apply_edits(text, [edit]) == text.replace(call, after)


@pytest.mark.parametrize("call", ["copy.apply(E0)", "step.Copy", "step.Copy((((", "step.Copy(" + "()," * 99 + ")", ""])
def test_what_is_no_call_is_left_alone(call: str) -> None:
    with pytest.raises(NoFix):
        depth_edit(f"{call}\n", Span(0, len(call.partition("(")[0].removesuffix(".apply"))), "6")


RENAMED = FUNCTIONS.replace("import K, M", "import K as WIDTH\nfrom stepcore.dims import M")
NAMELESS = f"""\
{RENAMED}

@step.program
def share(x: Annotated[step.Stream, step.f32, (WIDTH, M)]) -> Annotated[step.Stream, step.f32, (WIDTH, M)]:
    first, second = step.Copy().apply(x)
    sums = step.Repeat(n=WIDTH).apply(step.Accum(fn=add, b=1).apply(first))
    return step.Map(fn=divide).apply((second, sums))
"""


def test_a_size_that_has_no_name_is_held_in_a_buffer_and_one_that_has_by_a_depth() -> None:
    (waiting,) = check_text(NAMELESS, "a.py").diagnostics
    assert waiting.fix is not None and waiting.fix.title == "Hold second in a buffer"
    named = NAMELESS.replace("K as WIDTH", "K").replace("WIDTH", "K")
    (waiting,) = check_text(named, "a.py").diagnostics
    assert waiting.fix is not None and [edit.text for edit in waiting.fix.edits] == ["depth=K"]
    assert check_text(apply_edits(named, list(waiting.fix.edits)), "a.py").diagnostics == []


def test_a_program_whose_streams_were_looked_at_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names, comments and functions change nothing about FIFOs; a depth does, and so does a size."""
    path = next(path for path in TASKS if path.name.startswith("norm_rms_scalars"))
    text = path.read_text(encoding="utf-8")
    checker = ImplChecker(read_task(text, str(path)))
    assert checker.task.impl is not None
    program = checker.task.impl.source.text
    rings: list[Demand] = []
    ring = Net.ring

    def counted(net: Net, start: Demand) -> list[Demand]:
        rings.append(start)
        return ring(net, start)

    monkeypatch.setattr(Net, "ring", counted)

    def waiting(program: str) -> list[Diagnostic]:
        rings.clear()
        return [item for item in checker.check(Embedded.whole(program)).diagnostics if item.code == "STEP501"]

    (first,) = waiting(program)
    (again,) = waiting(f"{program}\n# other words")
    assert again == first
    assert not rings
    assert waiting(program.replace("Copy()", "Copy(depth=D)")) == []
    assert rings
    assert waiting(program.replace("E5, E6 = step.Copy()", "E5, E6 = step.Copy(depth=2)")) == [first]
    assert rings
