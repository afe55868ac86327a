"""Routing side by side, to lanes and by arrival: types, values beside the literal interpreter, what depends on it."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch
from ruamel.yaml import YAML

from oracle.streams import dense
from oracle.tasks import OracleTask, run_streams
from programs.routed import routed_task
from stepcore.check.files import check_text
from stepcore.check.programs import Checked
from stepcore.conversion.to_python import task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.cycles.timed import time_program
from stepcore.findings.diagnostics import Severity
from stepcore.findings.errors import SimError
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.ide.analysis import analyze
from stepcore.ide.completion import completions
from stepcore.ide.hover import hover
from stepcore.sim.functional import Session
from stepcore.timing.hardware import PRESETS


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_that_route_give_what_the_literal_interpreter_gives(seed: int) -> None:
    text = routed_task(Random(seed))
    (program,) = check_text(text, "routed.step.yaml").programs
    assert program.runnable and not [item for item in program.diagnostics if item.severity is Severity.ERROR]
    _, (expected,) = run_streams(OracleTask("routed", YAML(typ="safe", pure=True).load(text)))
    ((found,),) = Session(program.spec).run(program.typed).outputs
    torch.testing.assert_close(found, dense(expected)[0])
    (again,) = check_text(task_to_python(read_task(text, "routed.step.yaml")), "routed.py").programs
    assert [node.op.text() for node in again.typed.nodes] == [node.op.text() for node in program.typed.nodes]


HEAD = """\
from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


@step.fn(input=step.f32, output=step.f32, init=[0])
def last(state, input):
    return [input[0]]


@step.fn(input=step.f32, output=step.f32)
def half(input):
    return [input[0] / 2]


@step.program(data={"S": (0, 2)}, dims={M: 5, N: 3})
def program(
    E0: Annotated[step.Stream, step.f32, (M,)],
    E1: Annotated[step.Stream, step.f32, (N,)],
    S: Annotated[step.Stream, step.Multihot(step.f32, 2), (M,)],
):
"""


def program_of(body: str) -> Checked:
    (program,) = check_text(HEAD + "".join(f"    {line}\n" for line in body.splitlines()), "file.py").programs
    assert not [item for item in program.diagnostics if item.severity is Severity.ERROR], program.diagnostics
    return program


def types(program: Checked, name: str) -> list[str]:
    graph = program.typed
    return [str(graph.streams[index].type) for node in graph.nodes if node.written == name for index in node.outputs]


def test_sizes_are_named_by_the_selector_that_made_them() -> None:
    program = program_of(
        "lanes, lane_of = step.Parallelize(N=2).apply(E0)\n"
        "a, b = step.Copy().apply(lane_of)\n"
        "c, d = step.Copy().apply(S)\n"
        "routed = step.Partition(N=2).apply((c, a))\n"
        "both = [step.Zip().apply((x, y)) for x, y in zip(lanes, routed)]\n"
        "return step.Reassemble().apply((both, b))"
    )
    assert types(program, "Parallelize") == [
        "[#(lane_of, 0)] of fp32", "[#(lane_of, 1)] of fp32", "[M] of Multihot(bool, 2)",
    ]  # fmt: skip
    assert types(program, "Partition") == [f"[#(lane_of, {lane})] of Multihot(fp32, 2)" for lane in (0, 1)]
    assert types(program, "Reassemble") == ["[#(lane_of), M] of [fp32, Multihot(fp32, 2)]"]
    merged = program_of("E2, E3 = step.EagerMerge().apply([E0, E1])\nreturn E2, E3")
    assert types(merged, "EagerMerge") == ["[M + N] of fp32", "[M + N] of Multihot(bool, 2)"]


def test_a_result_that_depends_on_arrival_is_told() -> None:
    """STEP414 in the words of a simulation."""
    merged = "E2, E3 = step.EagerMerge().apply([E0, E1])\n"
    for body, said in (
        (f"{merged}return E2", "results depend on the order in which chunks arrive (EagerMerge): in the reverse order"),
        (f"{merged}return step.Accum(fn=add, b=1).apply(step.Promote(b=1).apply(E2))", ""),
        (f"{merged}return step.Accum(fn=last, b=1).apply(step.Promote(b=1).apply(E2))", "output 0 differs at [0]"),
        (f"{merged}return step.Partition(N=2).apply((E2, E3))", ""),
        ('lanes, s = step.Parallelize(N=2, policy="free").apply(E0)\nreturn lanes', "(Parallelize)"),
        ("lanes, s = step.Parallelize(N=2).apply(E0)\nreturn lanes", ""),
        (
            'lanes, s = step.Parallelize(N=2, policy="free").apply(E0)\n'
            "return step.Reassemble(onehot=True).apply((lanes, s))",
            "",
        ),
        (
            "S, T = step.Copy().apply(S)\n"
            "both = step.Partition(N=2).apply((E0, T))\n"
            'return step.Reassemble(order="arrival").apply(([both[0], step.Map(fn=half).apply(both[1])], S))',
            "(Reassemble)",
        ),
    ):
        program = program_of(body)
        session = Session(program.spec, seed=3)
        given = session.run(program.typed).outputs
        found = "; ".join(each.note for each in session.against_arrival(program.typed, given))
        assert (said in found) if said else found == "", (body, found)


def test_onehot_is_held_against_the_selector() -> None:
    program = program_of(
        "S, T = step.Copy().apply(S)\n"
        "return step.Reassemble(onehot=True).apply((step.Partition(N=2).apply((E0, T)), S))"
    )
    with pytest.raises(SimError, match="and onehot=True promises one each") as caught:
        Session(program.spec, seed=3).run(program.typed)
    assert caught.value.code == "STEP413"


def test_lists_are_counted_out() -> None:
    text = HEAD.replace("E0: Annotated[step.Stream, step.f32, (M,)]", "n: Annotated[step.Stream, step.i64, (N, M)]")
    text = text.replace('{"S": (0, 2)}', '{"n": (0, 3)}') + "    return step.FlatMap(fn=step.count).apply(n)\n"
    (program,) = check_text(text, "file.py").programs
    (found,) = types(program, "FlatMap")
    assert found == "[len(count(n)), M] of int64"
    session = Session(program.spec)
    lists: Any = session.run(program.typed).outputs[0][0]
    (given,) = session.world.inputs[0].dense()
    wanted = [[number for count in row for number in range(count)] for row in given.tolist()]
    assert [part.tolist() for part in lists.lists()] == wanted
    outermost = text.replace("(N, M)", "(N,)")
    (program,) = check_text(outermost, "file.py").programs
    assert types(program, "FlatMap") == ["[len(count(n))] of int64"]


MADE = (
    HEAD.partition("@step.fn")[0]
    + """\
T = step.Tile("fp32", [4, 6])


@step.program
def program(E0: Annotated[step.Stream, T, (M, N)], E1: Annotated[step.Stream, T, (M, N)]):
    a, b, c = step.Copy(n=3).apply(E0)
    scores = step.Map(fn=step.fns.matmul_t(T, T)).apply((a, E1))
    top = step.Accum(fn=step.fns.max_acc(step.Tile("fp32", [4, 4])), b=1).apply(scores)
    gate = step.Map(fn=step.fns.mul(T)).apply((b, step.Map(fn=step.fns.silu(T)).apply(c)))
    return step.Map(fn=step.fns.row_sum(T)).apply(step.Accum(fn=step.fns.add_acc(T), b=1).apply(gate)), top
"""
)


def test_functions_are_made_for_types() -> None:
    (program,) = check_text(MADE, "file.py").programs
    assert program.diagnostics == []
    session = Session(program.spec)
    ((rows,), (top,)) = session.run(program.typed).outputs
    x, y = (data.dense()[0] for data in session.world.inputs)
    torch.testing.assert_close(rows, (x * torch.nn.functional.silu(x)).sum(1).sum(-1, keepdim=True))
    torch.testing.assert_close(top, (x @ y.transpose(-1, -2)).amax(1))
    assert {fn.func_name for fn in program.spec.fns} == {
        "matmul_t_4x6", "max_acc_4x4", "mul_4x6", "silu_4x6", "row_sum_4x6", "add_acc_4x6",
    }  # fmt: skip
    task = python_to_task(module := read_module(MADE.replace(
        "(M, N)]):", "(M, N)]) -> tuple[Annotated[step.Stream, step.Tile('fp32', [4, 1]), (N,)], "
        "Annotated[step.Stream, step.Tile('fp32', [4, 4]), (N,)]]:"), "file.py"), module.programs[0])  # fmt: skip
    (again,) = check_text(task, "task.step.yaml").programs
    assert not [item for item in again.diagnostics if item.severity is Severity.ERROR]
    ((other,), _) = Session(again.spec).run(again.typed).outputs
    assert other.shape == rows.shape


@pytest.mark.parametrize(
    ("call", "code", "said"),
    [
        ("matmul(T, T)", "STEP222", "takes tiles [r, k] and [k, c], found Tile(fp32, [4, 6]), Tile(fp32, [4, 6])"),
        ("matmul(T)", "STEP224", "step.fns.matmul takes two element types, found one argument"),
        ("silu(step.Multihot(step.f32, 3))", "STEP222", "takes numbers, tiles and buffers of them, found Multihot"),
        ("row_sum(step.f32)", "STEP222", "step.fns.row_sum takes tiles, found fp32"),
        ("add(T, step.i64)", "STEP222", "elements of one type, or sizes of 1 in the second"),
        ("matmull(T, T)", "STEP202", "matmul"),
        ("_made(T)", "STEP202", "_made"),
    ],
)
def test_what_no_function_is_made_for_is_said(call: str, code: str, said: str) -> None:
    text = MADE.replace("step.fns.matmul_t(T, T)", f"step.fns.{call}")
    found = [item for item in check_text(text, "file.py").diagnostics if item.severity is Severity.ERROR]
    assert [item.code for item in found] == [code] and said in found[0].message


EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.mark.parametrize(
    ("name", "sizes", "smaller"),
    [
        ("moe_dynamic_tiles", "{M: 64, D: 128, F: 256}", "{M: 6, D: 4, F: 128}"),
        ("decode_attention", "{B: 16, C: 4096, D: 64}", "{B: 5, C: 1152, D: 4}"),
    ],
)
def test_the_programs_of_the_page_are_right_as_tasks_and_have_cycles(name: str, sizes: str, smaller: str) -> None:
    """Dynamic tiles, and requests in free lanes: checked, verified, converted both ways, timed."""
    text = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8")
    assert sizes in text
    module = read_module(text.replace(sizes, smaller), "file.py")
    task = read_task(python_to_task(module, module.programs[0]), "task.step.yaml")
    (program,) = check_text(task.source.text, "task.step.yaml").programs
    assert program.diagnostics == []
    verdict = Session(program.spec).verify(program)
    assert verdict.accepted, verdict
    (again,) = check_text(task_to_python(task), "again.py").programs
    assert [node.op.text() for node in again.typed.nodes] == [node.op.text() for node in program.typed.nodes]
    timed = time_program(program, PRESETS["decode"])
    assert timed.cycles is not None and timed.cycles > 100


def test_the_editor_knows_what_counts_and_what_is_made() -> None:
    text = (EXAMPLES / "decode_attention.py").read_text(encoding="utf-8")
    for written, said in (("fn=step.count", "Makes of a whole number"), ("policy=", "Which lane a chunk goes to")):
        shown = hover(analyze(text, "file.py"), text.index(written) + len(written) - 2)
        assert shown is not None and said in shown.markdown
    at = text.index('policy="free"') + len("policy=")
    asked = completions(analyze(text[:at] + text[at + len('"free"') :], "file.py"), at)
    assert [item.label for item in asked] == ['"round_robin"', '"free"']
