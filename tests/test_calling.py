"""How operators are called: the same mistake is told in the same words in the editor and in a script."""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Sequence
from inspect import signature as signature_of
from typing import Any, ClassVar

import pytest

from ide_cases import in_python
from stepagents.llm.prompts import operator_text
from stepcore.check import ImplChecker, check_text
from stepcore.check.trials import same_meaning
from stepcore.cli import reference
from stepcore.conversion.to_python import task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.findings.diagnostics import Severity, StepError
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.ir import Graph
from stepcore.ide.analysis import Analysis
from stepcore.ide.completion import completions
from stepcore.ide.hover import hover
from stepcore.ide.signature import signature
from stepcore.ops import BY_NAME, OPERATORS, add, remove
from stepcore.ops.base import Operand, Operator, Param, ParamKind, TypingContext, need_common
from stepcore.ops.calling import NO_INPUT, NO_OUTPUT, Group, Inputs, Many, One, Outputs
from stepcore.ops.runtime import Data, Runtime
from stepcore.printing.task import canonical_key, graph_to_impl, task_to_yaml
from stepcore.sim.functional import Session
from stepcore.sizes.dim import Dim
from stepcore.types import Scalar, StreamType

EACH = pytest.mark.parametrize("operator", OPERATORS, ids=lambda operator: operator.__name__)
HEAD = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import K, M, N


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]


@step.fn(input=step.f32, output=step.f32, init=[0])
def add(state, input):
    return [state[0] + input[0]]


def helper(stream):
    return stream


"""
STREAMS = {
    "E0": "step.f32, (M, N)", "E1": "step.f32, (M, N)", "E2": "step.f32, (M, N)",
    "S": "step.Multihot(step.f32, 3), (N,)", "B": "step.Buffer(step.f32, [K]), (N,)", "O": "step.f32, (1, N)",
    "T": 'step.Tile("fp32", [1, K]), (M, N)', "I": "step.i64, (M, N)",
}  # fmt: skip
ARGUMENTS = ", ".join(f"{name}: Annotated[step.Stream, {type_}]" for name, type_ in STREAMS.items())
ARGUMENTS += ", *, W: Annotated[step.Param(written=True), step.f32, (K, M * N)]"
MADE = "".join(
    f"{name} = step.Stream('{name}', {element}, {sizes.strip('),').count(',')}, [{sizes.strip('),')}])\n"
    for name, (element, _, sizes) in ((name, text.rpartition(", (")) for name, text in STREAMS.items())
)
# A right call of each operator: the values of its parameters, and what it is applied to.
RIGHT: dict[str, tuple[dict[str, str], str]] = {
    "Map": ({"fn": "double"}, "E0"), "Accum": ({"fn": "add", "b": "1"}, "E0"), "Scan": ({"fn": "add", "b": "1"}, "E0"),
    "Zip": ({}, "(E0, E1)"), "Promote": ({"b": "1"}, "E0"), "Flatten": ({"L": "[1]"}, "E0"),
    "Reshape": ({"S": "1", "L": "[0]"}, "E0"), "Repeat": ({"n": "K"}, "E0"), "RepeatRef": ({}, "(O, E0)"),
    "Bufferize": ({"a": "1"}, "E0"), "Streamify": ({}, "B"), "Copy": ({"n": "2"}, "E0"),
    "Partition": ({"N": "3"}, "(E0, S)"), "FlatMap": ({"fn": "double"}, "E0"),
    "Reassemble": ({"order": '"branch"', "onehot": "True"}, "([E0, E1, E2], S)"), "EagerMerge": ({}, "[E0, E1]"),
    "Parallelize": ({"N": "3", "policy": '"free"'}, "E0"),
    "Feedback": ({"element": "step.f32", "dims": "[M]"}, ""),
    "Merge": ({"fn": "add"}, "([E0, E1, E2], S)"), "Identity": ({}, "E0"),
    "LinearOffChipLoad": (
        {"tensor": "W", "tile": "[1, K]", "shape": "[M]", "stride": "[1]", "base": "0"}, "E0",
    ),
    "LinearOffChipStore": ({"tensor": "W", "base": "0"}, "T"), "Retile": ({"axis": "0"}, "T"),
    "RetileStreamify": ({"axis": "0"}, "T"), "Expand": ({"b": "1"}, "(O, E0)"),
    "RandomOffChipLoad": ({"tensor": "W", "tile": "[1, K]"}, "I"), "RandomOffChipStore": ({"tensor": "W"}, "(I, T)"),
}  # fmt: skip
VALUES = (
    "1.5", "2.0", '"1"', '"x"', '"double"', "None", "True", "E0", "K", "M * N", "[1]", "[]", "[1.5, 2]", "(E0, E1)",
    "lambda x: x", "helper", "double", "torch.relu", "len", "step.Copy", "step.Copy()", "step.f32", "{}", "-3 % 2.5",
)  # fmt: skip
INPUTS = (
    "", "E0", "(E0,)", "[E0]", "(E0, E1)", "[E0, E1]", "(E0, E1, E2)", "E0, E1", "E0, E1, E2", "((E0, E1), E2)", "S",
    "([E0, E1], S)", "(E0, [S])", "[]", "()", "([], S)", "([E0], [S])", "3", "(E0, 3)", '"E0"', '(E0, "x")', "None",
    "double", "add", "helper", "step.Copy", "step.Copy()", "{}", "K", "torch.relu", "step.Copy().apply(E0)",
    "step.Partition(N=3).apply((E0, S))", "a=E0", "a=E0, b=E1", "E0, a=E1", "E0, fn=double", "fn=double", "E0, b=1",
    "input=E0, a=3", "a=3", "input=(E0, 3)", "[[E0, E1], S]", "([E0, E1, E2], S, B)",
)  # fmt: skip
CALLS = ("STEP203", "STEP204", "STEP205", "STEP224", "STEP902")
NAMES = ("A,", "A, B", "A, B, C", "A, B, C, D", "[A, B]", "A, *C, D, F, G")


def mistakes(operator: type[Operator]) -> Iterator[str]:
    """Yield lines that call ``operator``, most of them wrongly."""
    name = f"step.{operator.__name__}"
    params, inputs = RIGHT[operator.__name__]
    given = [f"{key}={value}" for key, value in params.items()]
    right = f"{name}({', '.join(given)})"
    for extra in (
        "colour=1", "fnn=double", "dim=1", "init=[0]", "size=2", "axis=0, keepdim=True", "dept=2", "fifo=2",
        "capacity=K",
    ):  # fmt: skip
        yield f"{name}({', '.join([*given, extra])})"
    for key in params:
        others = [item for item in given if not item.startswith(f"{key}=")]
        yield f"{name}({', '.join(others)})"
        yield f"{name}({', '.join([*others, f'{key}_s={params[key]}'])})"
        yield f"{name}({', '.join([params[key], *others])})"
        yield f"{name}({', '.join([*given, f'{key}={params[key]}'])})"
        yield from (f"{name}({', '.join([*others, f'{key}={value}'])})" for value in VALUES)
    yield from (f"{name}({', '.join([*given, f'depth={value}'])})" for value in VALUES)
    yield from (f"{name}({text})" for text in ("1", "E0", "double, 1", "[1], M", "helper"))
    yield from (f"A = {right}.apply({text})" for text in INPUTS)
    yield f"A = {name}.apply({inputs})"
    if operator.outputs is not NO_OUTPUT:
        yield from (f"{names} = {right}.apply({inputs})" for names in NAMES)


def checked(line: str) -> list[tuple[str, str]]:
    """Return what the checker says to a program with ``line``, in the order of the text."""
    text = f"{HEAD}@step.program\ndef program({ARGUMENTS}):\n    {line}\n    return O\n"
    found = [item for item in check_text(text, "file.py").diagnostics if item.severity is Severity.ERROR]
    of_calls = [item for item in found if item.code in CALLS]
    return [(item.code, item.message) for item in sorted(of_calls, key=lambda item: item.span)]


def run(line: str, *, with_text: bool = True) -> tuple[str, str] | None:
    """Return what a script with ``line`` raises."""
    text = f"{HEAD}{MADE}W = torch.zeros(35, 9)\n{line}\n"
    file = "<script with text>" if with_text else "<script without>"
    if with_text:
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    names: dict[str, Any] = {"__name__": "script"}
    try:
        exec(compile(text, file, "exec", dont_inherit=True), names)
    except SyntaxError as error:
        return "STEP902", f"{error.msg}; write it once"  # Python itself says the first half
    except StepError as error:
        return error.code, error.message
    finally:
        linecache.cache.pop(file, None)
    return None


@EACH
def test_a_mistake_is_told_alike_in_the_editor_and_in_a_script(operator: type[Operator]) -> None:
    count = 0
    for line in mistakes(operator):
        said = run(line)
        if said is not None and said[0] not in CALLS:  # streams that do not fit
            continue
        found = checked(line)
        assert said == (found[0] if found else None), line
        nameless = run(line, with_text=False)  # Python does not know the line: it is written anew
        assert (nameless is None) == (said is None) and (nameless or ("",))[0] == (said or ("",))[0], line
        count += said is not None
    assert count > 25


@pytest.mark.parametrize("with_text", [True, False])
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("x = []; x.append(x); step.Copy().apply(x)", "is a list of one item; pass a stream"),
        ("x = {}; x[0] = x; step.Promote(b=x)", "is a dictionary; b: index of the new dimension"),
        ("step.Zip().apply([[0] * 10**6, E0])", "Zip takes streams, and "),
        ("step.Promote(b='x' * 10**6)", "Promote needs an integer as b, and "),
        ("step.Copy().apply(eval('(' * 50 + 'E0,' + ')' * 50))", "Copy takes one stream"),
    ],
)
def test_values_without_end_are_told(given: str, says: str, with_text: bool) -> None:
    said = run(given, with_text=with_text)
    assert said is not None and says in said[1] and len(said[1]) < 1000


# -- an operator of a new shape ------------------------------------------------------------------------------


class Deal(Operator):
    """Count from 0 on for several lanes at once, and number the lanes."""

    length: Dim | int
    lanes: int = 2

    summary: ClassVar[str] = "Counts from 0 on for several lanes, and numbers these."
    rule: ClassVar[str] = "-> ([lanes streams, each [length] of int64], [lanes] of int64)"
    details: ClassVar[str] = "All lanes hold the same numbers."
    example: ClassVar[str] = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import N


@step.fn(input=step.STuple((step.f32, step.i64, step.i64)), output=step.f32)
def weigh(input):
    return [input[0] * input[1] + input[2]]


def weighed(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:  # x: (N,)
    return (x + 1) * torch.arange(x.shape[0]), torch.arange(2)


@step.program(reference=weighed, dims={N: 4})
def weigh_all(
    E0: Annotated[step.Stream, step.f32, (N,)],
) -> tuple[Annotated[step.Stream, step.f32, (N,)], Annotated[step.Stream, step.i64, (2,)]]:
    E1 = step.Deal(length=N).apply()
    E2, E3 = E1.lanes
    E4 = step.Map(fn=weigh).apply((E0, E3, E2))
    return E4, E1.numbers
"""
    params: ClassVar[tuple[Param, ...]] = (
        Param("length", ParamKind.SIZE, "How many numbers each lane gets."),
        Param("lanes", ParamKind.INTEGER, "The number of lanes."),
    )
    inputs: ClassVar[Inputs] = NO_INPUT
    outputs: ClassVar[Outputs] = Outputs(Group((Many("lane", count="lanes"), One("number")), ("lanes", "numbers")))

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        """Return the lanes' types and that of their numbers."""
        lane = StreamType(Scalar("int64"), (Dim.of(self.length),))
        return (*(lane for _ in range(self.lanes)), StreamType(Scalar("int64"), (Dim.of(self.lanes),)))

    def run(self, rt: Runtime, inputs: Sequence[Data]) -> Sequence[Data]:
        """Count."""
        return (*(rt.count(rt.size(self.length)) for _ in range(self.lanes)), rt.count(self.lanes))

    def apply(self, *, name: str = "") -> Any:
        """Return the lanes, and their numbers."""
        return Operator.execute(self, (), name)


@pytest.fixture
def deal() -> Iterator[type[Operator]]:
    """The language with one operator more: several outputs, some in a list, an optional parameter and no input."""
    add(Deal)
    try:
        yield Deal
    finally:
        remove(Deal)


def test_a_new_shape_is_checked_printed_and_converted(deal: type[Operator]) -> None:
    result = check_text(deal.example, "file.py")
    assert not result.diagnostics
    graph = result.programs[0].graph
    printed = graph_to_impl(graph)
    assert "[E1, E2], E3 = step.Deal(length=N).apply()\n" in printed
    module = read_module(deal.example, "file.py")
    text = python_to_task(module, module.programs[0])
    task = read_task(text, "task.step.yaml")
    assert "E1 = step.Deal(length=N).apply()" in text and task.impl is not None
    assert canonical_key(ImplChecker(task).check(task.impl.source).graph) == canonical_key(graph)
    assert task.spec is not None
    again = read_task(task_to_yaml(task.spec, printed, {}), "task.step.yaml")
    assert again.impl is not None and printed in again.impl.source.text
    assert canonical_key(ImplChecker(again).check(again.impl.source).graph) == canonical_key(graph)
    assert "step.Deal(length=N).apply()" in task_to_python(again)
    assert (Deal(length=3, lanes=2).text(), Deal(length=3, lanes=3).text()) == (
        "Deal(length=3)",
        "Deal(length=3, lanes=3)",
    )


def test_a_new_shape_runs_in_scripts_and_in_the_simulator(deal: type[Operator]) -> None:
    names: dict[str, Any] = {"__name__": "script"}
    exec(deal.example, names)
    assert names["weigh_all"].verify()
    module = read_module(deal.example, "file.py")
    task = read_task(python_to_task(module, module.programs[0]), "task.step.yaml")
    assert task.spec is not None and task.impl is not None
    assert Session(task.spec).verify(ImplChecker(task).check(task.impl.source)).accepted


def test_mistakes_with_a_new_shape_are_told_alike(deal: type[Operator], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(RIGHT, "Deal", ({"length": "N", "lanes": "2"}, ""))
    test_a_mistake_is_told_alike_in_the_editor_and_in_a_script(deal)
    assert run("step.Deal()") == ("STEP203", "Deal lacks length; write step.Deal(length=...)")
    assert run("step.Deal(length=3).apply(E0)") == (
        "STEP205", "E0 is one stream, and Deal takes no stream; write .apply()"
    )  # fmt: skip


def test_a_new_shape_is_completed_documented_and_hovered(deal: type[Operator]) -> None:
    def at(line: str) -> tuple[Analysis, int]:
        return in_python(f"{line}\nreturn a")

    found = {item.label: item for item in completions(*at("c = step.|"), snippets=True)}
    assert found["Deal"].edit.text == "Deal(length=${1|D,M,N|}).apply()"
    assert [item.label for item in completions(*at("c = step.Deal(|)"))][:3] == ["length=", "lanes=", "depth="]
    assert [item.label for item in completions(*at("c = step.Deal(lanes=|)"))] == []
    help_ = signature(*at("c = step.Deal(length=3, lanes=|)"))
    assert help_ is not None and (help_.label, help_.active) == ("Deal(length=..., lanes=2, depth=...)", 1)
    help_ = signature(*at("c = step.Deal(length=3).apply(|)"))
    assert help_ is not None and help_.label == "Deal(...).apply()" and "Consumes no stream" in help_.documentation
    shown = hover(*at("c = step.De|al(length=3).apply()"))
    assert shown is not None and "step.Deal(length=..., lanes=2).apply()" in shown.markdown
    shown = hover(*at("c = step.Deal(length=3, lan|es=2).apply()"))
    assert shown is not None and shown.markdown.startswith("`lanes` (integer, 2 unless given): The number of lanes.")
    assert "`lanes` (integer, 2 unless given)" in operator_text(deal)
    assert "- takes no stream; gives a list of streams, and a number" in operator_text(deal)


def test_a_new_shape_is_shown_on_the_command_line(deal: type[Operator], capsys: pytest.CaptureFixture[str]) -> None:
    assert reference.ops("deal", "text") == 0
    text = capsys.readouterr().out
    assert "step.Deal(length, lanes)" in text and "  takes    no stream\n" in text
    assert "  lanes (integer, 2 unless given): The number of lanes.\n" in text


def test_what_all_operators_take_is_declared_once() -> None:
    class Wide(Operator):
        """Operators whose units are so many words wide."""

        width: Dim | int = 1

        common: ClassVar[tuple[Param, ...]] = (
            *Operator.common, Param("width", ParamKind.SIZE, "Width of its unit in words."),
        )  # fmt: skip

    class Slow(Wide):
        """One with a parameter of its own."""

        b: int

        params: ClassVar[tuple[Param, ...]] = (Param("b", ParamKind.INTEGER, "Anything."),)

    assert [param.name for param in Slow.calling.params] == ["b", "depth", "width"]
    assert list(signature_of(Slow).parameters) == ["b", "depth", "width"] and Slow.calling.required == ("b",)
    assert (Slow(b=1).text(), Slow(b=1, width=8, depth=4).text()) == ("Slow(b=1)", "Slow(b=1, depth=4, width=8)")
    assert Slow.calling.computing({"b": 1, "depth": 4, "width": 8}) == {"b": 1}
    with pytest.raises(StepError, match=r"Slow needs a size as width, and 1\.5 is a float; width: width of its"):
        Slow(b=1, width=1.5)  # type: ignore[arg-type]
    with pytest.raises(StepError, match=r"width of Slow is 0; a size is an integer from 1"):
        need_common(Slow(b=1, width=0), TypingContext())


# -- the depth of FIFOs, which all operators take -------------------------------------------------------------


@EACH
def test_a_depth_goes_wherever_a_program_goes_and_changes_nothing_else(operator: type[Operator]) -> None:
    params, inputs = RIGHT[operator.__name__]
    given = [f"{key}={value}" for key, value in params.items()]
    head = f"{HEAD}@step.program\ndef program({ARGUMENTS}):\n    A = "

    def graph_of(depth: str) -> tuple[str, Graph]:
        call = f"step.{operator.__name__}({', '.join([*given, *([f'depth={depth}'] if depth else [])])})"
        result = check_text(text := f"{head}{call}.apply({inputs})\n    return O\n", "file.py")
        assert not [item for item in result.diagnostics if item.code in (*CALLS, "STEP217")]
        return text, result.programs[0].graph

    text, plain = graph_of("")
    for depth in ("7", "K", "M * N"):
        deep_text, deep = graph_of(depth)
        node, before = deep.nodes[0], plain.nodes[0]
        assert node.op is not None and str(node.op.depth) == depth.replace(" * ", "*")
        assert [stream.type for stream in deep.streams] == [stream.type for stream in plain.streams]
        assert f"depth={node.op.depth}" in node.op.text() and node.op != before.op
        assert canonical_key(deep) == canonical_key(plain) and same_meaning(plain, deep)
        assert f", depth={node.op.depth})" in (printed := graph_to_impl(deep)) or f"(depth={node.op.depth})" in printed
        assert deep_text != text
    calls = [
        f"A = step.{operator.__name__}({', '.join(params)}).apply({inputs})" for params in (given, [*given, "depth=M"])
    ]
    assert run(calls[0]) == run(calls[1])


def test_a_hint_begins_small_but_for_abbreviations() -> None:
    hints = {
        name: Param(name, ParamKind.SIZE, doc).hint for name, doc in (("n", "How often."), ("bw", "FLOPs per cycle."))
    }
    assert hints == {"n": "how often", "bw": "FLOPs per cycle"}


@pytest.mark.parametrize("depth", ["0", "-1", "2**31 + 1", "M - M", "10**30 * 3"])
def test_a_depth_is_a_size(depth: str) -> None:
    for operator in OPERATORS:
        params, inputs = RIGHT[operator.__name__]
        given = ", ".join([*(f"{key}={value}" for key, value in params.items()), f"depth={depth}"])
        line = f"A = step.{operator.__name__}({given}).apply({inputs})"
        text = f"{HEAD}@step.program\ndef program({ARGUMENTS}):\n    {line}\n    return O\n"
        (found,) = [item for item in check_text(text, "file.py").diagnostics if item.code == "STEP217"]
        assert found.code == "STEP217" and found.message.startswith(f"depth of {operator.__name__} is ")
        assert len(found.message) < 200
        said = run(line)
        assert said is not None and said == (found.code, found.message)


def test_a_depth_is_completed_hovered_and_converted() -> None:
    def at(line: str) -> tuple[Analysis, int]:
        return in_python(f"{line}\nreturn a")

    labels = [item.label for item in completions(*at("c = step.Copy(|)"))]
    assert labels[:2] == ["n=", "depth="]
    assert {"M", "N"} <= {item.label for item in completions(*at("c = step.Copy(depth=|)"))}
    help_ = signature(*at("c = step.Copy(depth=|)"))
    assert help_ is not None and (help_.label, help_.active) == ("Copy(n=2, depth=...)", 1)
    shown = hover(*at("c, d = step.Copy(dep|th=3).apply(E0)"))
    assert shown is not None and shown.markdown.startswith("`depth` (size, the chip's own unless given): Elements")
    module = read_module(BY_NAME["Copy"].example.replace("Copy()", "Copy(depth=N)"), "file.py")
    task = read_task(python_to_task(module, module.programs[0]), "task.step.yaml")
    assert task.impl is not None and "step.Copy(depth=N).apply(E0)" in task.impl.source.text
    assert "step.Copy(depth=N).apply(E0)" in task_to_python(task)
