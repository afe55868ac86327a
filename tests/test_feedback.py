"""Loops: values as the literal interpreter gives them, cycles as the literal engine does, and what goes wrong."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import Any

import pytest
import torch
from ruamel.yaml import YAML

import stepcore as step
from oracle.streams import OracleError, dense
from oracle.tasks import OracleTask, run_streams
from programs.loops import random_loop
from stepcore.check.files import check_text
from stepcore.check.programs import Checked
from stepcore.conversion.to_python import task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.cycles.program_network import NotTimed, OrderNotRun
from stepcore.cycles.timed import Timed, time_program
from stepcore.findings.diagnostics import Severity, StepError
from stepcore.findings.errors import SimError
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.ide.analysis import analyze
from stepcore.ide.completion import completions
from stepcore.ide.signature import signature
from stepcore.printing.task import canonical_key, graph_to_impl
from stepcore.sim import loops
from stepcore.sim.functional import Run, Session
from stepcore.timing.hardware import PRESETS
from stepcore.types import StreamType
from test_arrival import in_timed_order
from timing_programs import assert_literal, program_chip, routes_of_run

HEAD = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import B, D, M

WAY = step.Multihot(step.f32, 2)
TILE = step.Tile("fp32", [2, D])


@step.fn(input=step.f32, output=step.f32)
def grow(input):
    return [input[0] * 2 + 1]


@step.fn(input=step.f32, output=WAY)
def way(input):
    return [torch.stack([input[0] < 10, input[0] >= 10]).to(input[0].dtype)]


"""
ANY = '-> Annotated[step.Stream, step.f32, (step.dyn("T"),)]'
ONE = f"def program(E0: Annotated[step.Stream, step.f32, (M,)]) {ANY}:"
TWICE = """\
    loop = step.Feedback(element=step.f32, dims=[M], depth=M)
    E1, E2 = step.EagerMerge().apply([E0, loop.apply()])
    E3, E4 = step.Partition(N=2).apply((step.Map(fn=grow).apply(E1), E2))
    loop.close(E3)
    return E4
"""


def program_of(body: str, head: str = ONE, dims: str = "{M: 5}") -> Checked:
    """Return a program that has no errors."""
    (program,) = check_text(f"{HEAD}@step.program(dims={dims})\n{head}\n{body}", "loop.py").programs
    assert not [item for item in program.diagnostics if item.severity is Severity.ERROR], program.diagnostics
    return program


def task_of(text: str) -> Checked:
    """Return the program of a task that has no errors."""
    (program,) = check_text(text, "loop.step.yaml").programs
    assert not [item for item in program.diagnostics if item.severity is Severity.ERROR], program.diagnostics
    return program


def run_of(program: Checked, **given: torch.Tensor) -> Run:
    """Run a program, on drawn data or on ``given``."""
    data = (lambda dtype: {name: [tensor] for name, tensor in given.items()}) if given else None
    return Session(program.spec, given=data).run(program.typed, keep=True)


def by_oracle(text: str, arrivals: list[tuple[int, ...]] | None = None) -> list[torch.Tensor]:
    """Return the first component of each result, as the literal interpreter has it."""
    task = OracleTask("loop", YAML(typ="safe", pure=True).load(text))
    return [dense(stream)[0] for stream in run_streams(task, arrivals=arrivals)[1]]


@pytest.mark.parametrize("seed", range(16))
def test_values_are_those_of_the_literal_interpreter(seed: int) -> None:
    text = random_loop(Random(seed))
    run = run_of(task_of(text))
    for (result, *_), wanted in zip(run.outputs, by_oracle(text), strict=True):
        torch.testing.assert_close(result, wanted)


@pytest.mark.parametrize("seed", range(40, 52))
def test_text_is_read_back_and_converted(seed: int) -> None:
    text = random_loop(Random(seed))
    program = task_of(text)
    head, _, body = text.partition("impl: |-\n")
    printed = "\n".join(f"  {line}" for line in graph_to_impl(program.typed).split("\n"))
    again = task_of(f"{head}impl: |-\n{printed}\n")
    assert canonical_key(again.typed) == canonical_key(program.typed)
    module = task_to_python(read_task(text, "loop.step.yaml"))
    back = python_to_task(found := read_module(module, "loop.py"), found.programs[0])
    assert canonical_key(task_of(back).typed) == canonical_key(program.typed)
    assert body.count("close(") == printed.count("close(") == back.count("close(")


def test_loops_that_are_closed_the_other_way_round_are_others() -> None:
    body = """\
    one, two = step.Feedback(element=step.f32, dims=[M]), step.Feedback(element=step.f32, dims=[M])
    E1, E2 = step.EagerMerge().apply([E0, one.apply(), two.apply()])
    E3, E4, E5 = step.Partition(N=3).apply((E1, E2))
    {}.close(E3)
    {}.close(E4)
    return E5
"""
    keys = {canonical_key(program_of(body.format(*names)).typed) for names in (("one", "two"), ("two", "one"))}
    assert len(keys) == 2


# -- cycles -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(16))
def test_cycles_are_those_of_the_literal_engine(seed: int) -> None:
    program = task_of(random_loop(Random(seed)))
    routes = routes_of_run(program)
    for chip in (PRESETS["default"], program_chip(Random(seed))):
        with suppress(OrderNotRun):  # which a run in this order tells
            assert_literal(time_program(program, chip, routes=routes).program.network)


@pytest.mark.parametrize("seed", range(16))
def test_values_come_in_the_order_of_timing(seed: int) -> None:
    text = random_loop(Random(seed))
    program = task_of(text)
    nodes = [node.index for node in program.typed.nodes if node.op.by_arrival()]
    if any(program.typed.nodes[index].op_name != "EagerMerge" for index in nodes):
        return  # the literal interpreter knows no other decisions inside of loops
    found = in_timed_order(program)
    if found is None:
        return
    run, order, _ = found
    expected = by_oracle(text, [order.get(node, ()) for node in nodes])
    for (result, *_), wanted in zip(run.outputs, expected, strict=True):
        torch.testing.assert_close(result, wanted)


def rounds(times: int, latency: int) -> Timed:
    """Time a program whose one element goes round so often."""
    loops = "".join(f"    l{k} = step.Feedback(element=step.f32, dims=[M])\n" for k in range(times))
    taken = ", ".join(["E0", *(f"l{k}.apply()" for k in range(times))])
    body = f"{loops}    A, S = step.EagerMerge().apply([{taken}])\n"
    body += f"    P = step.Partition(N={times + 1}).apply((step.Map(fn=grow).apply(A), S))\n"
    body += "".join(f"    l{k}.close(P[{k}])\n" for k in range(times)) + f"    return P[{times}]\n"
    chip = PRESETS["default"]
    return time_program(program_of(body, dims="{M: 1}"), replace(chip, fifo=replace(chip.fifo, latency=latency)))


@pytest.mark.parametrize("latency", [1, 4])
def test_a_round_takes_the_cycles_that_one_counts_by_hand(latency: int) -> None:
    """EagerMerge takes no cycle, the Map one (``compute.minimum``), Partition one (``unit.switch``); the element is
    seen ``latency`` cycles after it was written by each: three FIFOs, of which the loop is one.
    """
    direct = rounds(0, latency).cycles
    assert direct is not None
    for times in (1, 2, 5):
        assert rounds(times, latency).cycles == direct + times * (1 + 1 + 3 * latency)


def test_a_loop_is_one_fifo_and_its_depth_is_that_of_its_begin_or_of_what_closes_it() -> None:
    for first, second, depth in (
        (", depth=7", "", 7),
        ("", ", depth=6", 6),
        (", depth=7", ", depth=6", 7),
        ("", "", 2),
    ):
        body = TWICE.replace(", depth=M", first).replace("Partition(N=2", f"Partition(N=2{second}")
        program = time_program(program_of(body), PRESETS["default"]).program
        (loop,) = [node for node in program.network.units if node.name == "EagerMerge"]
        assert program.network.channels[loop.reads[1]].depth == depth
        assert {"Feedback", "FeedbackEnd"}.isdisjoint(unit.name for unit in program.network.units)


def test_a_loop_that_is_too_shallow_stops_and_the_depth_that_cures_it_is_told() -> None:
    timed = time_program(program_of(TWICE.replace(", depth=M", ""), dims="{M: 40}"), PRESETS["default"])
    assert timed.cycles is None
    assert timed.cure is not None
    ((channel, depth),) = timed.cure.items()
    assert timed.program.streams[channel] == 1  # what the loop gives
    cured = program_of(TWICE.replace("depth=M", f"depth={depth}"), dims="{M: 40}")
    assert time_program(cured, PRESETS["default"]).cycles is not None


def test_without_a_run_nobody_knows_how_often_something_goes_round() -> None:
    with pytest.raises(NotTimed, match=r"come back by a loop only a run tells: `stepsmith simulate --timing`"):
        time_program(program_of(GROWS), PRESETS["default"])


# -- what a run refuses -------------------------------------------------------------------------------------------

GROWS = """\
    loop = step.Feedback(element=step.f32, dims=[step.dyn("B")])
    E1, _ = step.EagerMerge().apply([E0, loop.apply()])
    E2, E3 = step.Copy().apply(step.Map(fn=grow).apply(E1))
    again, out = step.Partition(N=2).apply((E2, step.Map(fn=way).apply(E3)))
    loop.close(again)
    return out
"""


def failure(program: Checked, **given: torch.Tensor) -> SimError:
    """Return how a run fails."""
    with pytest.raises(SimError) as caught:
        run_of(program, **given)
    assert caught.value.node is not None
    return caught.value


def test_what_never_leaves_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MOST_CHUNKS", 200)
    found = failure(program_of(GROWS), E0=torch.full((5,), -7.0))  # 2 * -7 + 1 is less than -7
    assert (found.code, found.message) == (
        "STEP418",
        "201 chunks came back by this loop, and still it does not end: each time round, some have to leave it",
    )


def test_a_loop_whose_chunks_multiply_ends_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loops, "MOST_CHUNKS", 200)
    body = """\
    loop = step.Feedback(element=step.f32, dims=[step.dyn("B")])
    E1, _ = step.EagerMerge().apply([E0, loop.apply()])
    E2, E3 = step.Copy().apply(E1)
    both = step.Flatten(L=[1]).apply(step.Repeat(n=2).apply(E2))
    loop.close(both)
    return E3
"""
    assert failure(program_of(body)).code == "STEP418"


@pytest.mark.parametrize(
    ("size", "text"),
    [
        (
            "M + 1",
            "this loop brings back 6 chunks by its dims, and only 5 came till nothing moved",
        ),
        ("M - 1", "this loop brings back 4 chunks by its dims, and more close it"),
    ],
)
def test_a_static_loop_gets_as_many_chunks_as_it_says(size: str, text: str) -> None:
    found = failure(program_of(TWICE.replace("dims=[M]", f"dims=[{size}]")))
    assert found.code == "STEP412"
    assert found.message.startswith(text)


def test_lists_that_come_back_have_the_length_that_the_loop_says() -> None:
    head = f"def program(E0: Annotated[step.Stream, step.f32, (M, 2)]) {ANY.replace('(step', '(3, step')}:"
    body = """\
    loop = step.Feedback(element=step.f32, dims=[3, step.dyn("B")])
    _, S = step.Copy().apply(E0)
    E1, E2 = step.EagerMerge().apply([step.Reshape(S=3, L=[0], pad=0).apply(S)[0], loop.apply()])
"""
    program = check_text(f"{HEAD}@step.program(dims={{M: 3}})\n{head}\n{body}    return E1\n", "loop.py").programs[0]
    assert "STEP207" in {item.code for item in program.diagnostics}  # other ranks are told at once


def test_streams_that_are_read_in_step_with_what_goes_round_have_its_length() -> None:
    body = """\
    loop = step.Feedback(element=step.f32, dims=[step.dyn("B")])
    E1, E2 = step.EagerMerge().apply([E0, loop.apply()])
    E3, E4 = step.Partition(N=2).apply((step.Map(fn=grow).apply(E1), E2))
    E5, E6 = step.Partition(N=2).apply((E7, W))
    loop.close(step.Map(fn=step.fns.add(step.f32, step.f32)).apply((E3, E5)))
    return step.EagerMerge().apply([E4, E6])[0]
"""
    head = (
        "def program(E0: Annotated[step.Stream, step.f32, (M,)], E7: Annotated[step.Stream, step.f32, (M,)], "
        f"W: Annotated[step.Stream, WAY, (M,)]) {ANY}:"
    )
    text = f"{HEAD}@step.program(dims={{M: 3}})\n{head}\n{body}"
    (program,) = check_text(text, "loop.py").programs
    assert [item.code for item in program.diagnostics if item.severity is Severity.ERROR] == ["STEP207"]


def test_memory_that_is_stored_is_not_used_inside_of_a_loop() -> None:
    head = (
        "def program(E0: Annotated[step.Stream, step.i64, (M,)], *, X: Annotated[step.Param, step.f32, (D, M)], "
        "Y: Annotated[step.Param(written=True), step.f32, (D, M)]) "
        '-> Annotated[step.Stream, step.i64, (step.dyn("T"),)]:'
    )
    body = """\
    @step.fn(input=(step.bool_, step.i64), output=step.i64)
    def second(input):
        return [input[1]]

    loop = step.Feedback(element=step.i64, dims=[M])
    E1, E2 = step.EagerMerge().apply([E0, loop.apply()])
    E3, E4, E5 = step.Copy(n=3).apply(E1)
    tiles = step.RandomOffChipLoad(tensor=X, tile=[2, D]).apply(E3)
    E6 = step.Map(fn=second).apply((step.RandomOffChipStore(tensor=Y).apply((E4, tiles)), E5))
    again, out = step.Partition(N=2).apply((E6, E2))
    loop.close(again)
    return out
"""
    found = failure(program_of(body, head, "{M: 4, D: 3}, data={'E0': (0, 1)}"))
    assert (found.code, "stores inside of a loop" in found.message) == ("STEP417", True)


# -- programs -----------------------------------------------------------------------------------------------------


def test_requests_go_to_lanes_that_have_given_a_result() -> None:
    """Each result brings its lane back; the last two, for which no request is left, are dropped."""
    head = """\
def program(
    E0: Annotated[step.Stream, step.f32, (B,)],
    free: Annotated[step.Stream, step.Multihot(step.bool_, 2), (2,)],
    keep: Annotated[step.Stream, WAY, (B,)],
) -> Annotated[step.Stream, step.f32, (B,)]:"""
    body = """\
    LANE = step.Multihot(step.bool_, 2)

    @step.fn(input=(step.f32, LANE), output=LANE)
    def second(input):
        return [input[1]]

    loop = step.Feedback(element=LANE, dims=[B - 2])
    lane, _ = step.EagerMerge().apply([free, loop.apply()])
    L1, L2, L3 = step.Copy(n=3).apply(lane)
    one, two = step.Partition(N=2).apply((E0, L1))
    lanes = [step.Map(fn=grow, bw=1).apply(one), step.Map(fn=grow).apply(two)]
    done, out = step.Copy().apply(step.Flatten(L=[1]).apply(step.Reassemble(onehot=True).apply((lanes, L2))))
    again, _ = step.Partition(N=2).apply((step.Map(fn=second).apply((done, L3)), keep))
    loop.close(again)
    return out
"""
    values = torch.arange(9.0)
    kept = (torch.arange(9) < 7).float()
    given = {"E0": values, "free": torch.eye(2, dtype=torch.bool), "keep": torch.stack([kept, 1 - kept], 1)}
    program = program_of(body, head, "{B: 9}")
    assert run_of(program, **given).outputs[0][0].tolist() == [2 * value + 1 for value in range(9)]
    assert failure(program, **{**given, "keep": torch.stack([1 - kept, kept], 1)}).code == "STEP412"


def test_a_loop_in_a_helper_and_in_the_rounds_of_a_for() -> None:
    body = """\
    def twice(one):
        loop = step.Feedback(element=step.f32, dims=[step.dyn("B")])
        E1, E2 = step.EagerMerge().apply([one, loop.apply()])
        E3, E4 = step.Partition(N=2).apply((step.Map(fn=grow).apply(E1), E2))
        loop.close(E3)
        return E4

    for _ in range(2):
        E0 = twice(E0)
    return E0
"""
    found = run_of(program_of(body), E0=torch.arange(5.0))
    assert found.outputs[0][0].tolist() == [16 * value + 15 for value in range(5)]


def test_what_closes_a_loop_is_consumed() -> None:
    body = TWICE.replace("return E4", "return step.EagerMerge().apply([E3, E4])[0]")
    result = check_text(f"{HEAD}@step.program\n{ONE}\n{body}", "loop.py")
    (found,) = [item for item in result.diagnostics if item.severity is Severity.ERROR]
    assert found.code == "STEP101"
    assert found.message.startswith("E3 is consumed twice")
    assert found.fix is not None


# -- scripts ------------------------------------------------------------------------------------------------------


@step.fn(input=step.f32, output=step.f32)
def grow(input: list[torch.Tensor]) -> list[torch.Tensor]:
    return [input[0] * 2 + 1]


@step.fn(input=step.f32, output=step.Multihot(step.f32, 2))
def way(input: list[torch.Tensor]) -> list[torch.Tensor]:
    return [torch.stack([input[0] < 10, input[0] >= 10]).float()]


def stream(count: int = 5) -> step.Stream:
    return step.Stream.of(torch.arange(float(count)))


def test_a_script_runs_what_waits_when_the_loop_is_closed() -> None:
    loop = step.Feedback(element=step.f32, dims=[5])
    merged, which = step.EagerMerge().apply([stream(), loop.apply()])
    again, out = step.Partition(N=2).apply((step.Map(fn=grow).apply(merged), which))
    assert not out.has_data
    loop.close(again)
    assert out.data[0].tolist() == [4 * value + 3 for value in range(5)]
    assert step.Map(fn=grow).apply(out).data[0].tolist() == [8 * value + 7 for value in range(5)]


def test_nested_loops_of_a_script_run_with_the_last_that_is_closed() -> None:
    outer, inner = (step.Feedback(element=step.f32, dims=[step.dyn(name)]) for name in "BC")
    first, _ = step.EagerMerge().apply([stream(2), outer.apply()])
    second, which = step.EagerMerge().apply([first, inner.apply()])
    again, done = step.Partition(N=2).apply((step.Map(fn=grow).apply(second), which))
    inner.close(again)
    assert not done.has_data
    one, other = step.Copy().apply(done)
    back, out = step.Partition(N=2).apply((one, step.Map(fn=way).apply(other)))
    outer.close(back)
    assert sorted(out.data[0].tolist()) == [15.0, 31.0]  # 0, 3, 15 and 1, 7, 31


def test_types_alone_go_round_too() -> None:
    loop = step.Feedback(element=step.f32, dims=[step.dims.M])
    merged, which = step.EagerMerge().apply([step.Stream("x", step.f32, 0, [step.dims.M]), loop.apply()])
    again, out = step.Partition(N=2).apply((merged, which))
    loop.close(again)
    assert isinstance(out.type, StreamType)
    assert not out.has_data


def _closed(loop: Any) -> None:
    merged, which = step.EagerMerge().apply([stream(), loop.apply()])
    again, _ = step.Partition(N=2).apply((merged, which))
    loop.close(again)
    loop.close(stream())


@pytest.mark.parametrize(
    ("code", "words", "use"),
    [
        ("STEP229", "applied twice", lambda loop: (loop.apply(), loop.apply())),
        ("STEP229", "nobody reads what comes back", lambda loop: loop.close(stream())),
        ("STEP229", "does not come from this loop", lambda loop: (loop.apply(), loop.close(stream()))),
        ("STEP229", "waits for ever", lambda loop: loop.close(step.Map(fn=grow).apply(loop.apply()))),
        ("STEP229", "closed twice", _closed),
        ("STEP205", "close takes the stream that comes back", lambda loop: (loop.apply(), loop.close(3))),
        ("STEP208", "closes a loop of other elements", lambda loop: (loop.apply(), loop.close(_flags()))),
    ],
)
def test_a_script_is_told_in_the_words_of_the_checker(code: str, words: str, use: Any) -> None:
    with pytest.raises(StepError) as caught:
        use(step.Feedback(element=step.f32, dims=[5]))
    assert (caught.value.code, words in caught.value.message) == (code, True)


def _flags() -> step.Stream:
    return step.Stream.of(torch.zeros(5, dtype=torch.bool), step.bool_)


def test_a_program_of_a_script_closes_its_loops() -> None:
    @step.program
    def program(x: Any) -> Any:
        return step.EagerMerge().apply([x, step.Feedback(element=step.f32, dims=[5]).apply()])[0]

    program.__wrapped__.__annotations__.clear()
    program.__wrapped__.__annotations__["x"] = __import__("typing").Annotated[step.Stream, step.f32, (5,)]
    with pytest.raises(StepError, match=r"STEP229: a loop of program is never closed"):
        program(stream())


def test_the_literal_interpreter_refuses_loops_that_wait() -> None:
    text = random_loop(Random(0))
    body = (
        text[: text.index("impl:")] + "impl: |-\n  l = step.Feedback(element=step.f32, dims=[2])\n  l.close(l.apply())"
    )
    with pytest.raises(OracleError):
        by_oracle(body)


def test_editors_know_both_calls_of_a_loop() -> None:
    text = f"{HEAD}@step.program\n{ONE}\n{TWICE}"
    offset = text.index("loop.close(") + len("loop.")
    analysis = analyze(text, "loop.py")
    assert [item.label for item in completions(analysis, offset)] == ["apply", "close"]
    found = signature(analysis, offset + len("close("))
    assert found is not None
    assert found.label == "loop.close(input)"
