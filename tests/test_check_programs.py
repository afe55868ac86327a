"""One program: what it means, what is counted, what can be run, and where a broken rule is shown."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import pytest

from affine_cases import HEAD
from file_cases import (
    DEFINITIONS,
    PATH,
    RETURN_ALL,
    TASK,
    TASK_PATH,
    check,
    impl,
    program,
)
from stepcore.check import check_impl, check_text
from stepcore.check.files import program_extent
from stepcore.check.programs import Checked, ImplChecker
from stepcore.check.trials import same_meaning
from stepcore.check.typing import type_graph
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.ir import Graph, GraphStream, Node
from stepcore.ops.base import Operator, RuleError, RuleSubject, TypingContext
from stepcore.sizes.dim import DimError
from stepcore.text.span import SourceFile, Span
from stepcore.types import StreamType

# -- what a fix must not change ------------------------------------------------------------------------------------

MEANINGS = [
    # two answers, and whether they mean the same
    ("return E0, E1", "return E0, E1", True),
    ("return E0, E1", "return E1, E0", False),
    ("return E0, E1", "return E0", False),
    ("return step.Map(fn=f).apply(E0)", "A, B = step.Copy().apply(E0)\nreturn step.Map(fn=f).apply(A)", True),
    ("return step.Map(fn=f).apply(E0)", "A, B = step.Copy().apply(E0)\nreturn step.Map(fn=f).apply(B)", True),
    ("return step.Map(fn=f).apply(E0)", "A, B = step.Copy().apply(E1)\nreturn step.Map(fn=f).apply(B)", False),
    ("return step.Map(fn=f).apply(E0)", "return step.Map(fn=k).apply(E0)", False),
    ("return step.Map(fn=f).apply(E0)", "return step.Scan(fn=f, b=1).apply(E0)", False),
    ("return step.Repeat(n=2).apply(E0)", "return step.Repeat(n=3).apply(E0)", False),
    ("return step.Repeat(n=2).apply(E0)", "return step.RepeatLast(n=2).apply(E0)", True),
    ("return step.Zip().apply((E0, E1))", "return step.Zip().apply((E1, E0))", False),
    ("return step.Zip().apply((E0, E0))", "return step.Zip().apply(step.Copy().apply(E0))", True),
    (
        "return step.Copy().apply(step.Zip().apply((E0, E1)))",
        "A = step.Zip().apply((E0, E1))\nreturn A, A",
        True,
    ),
    ("return step.Copy().apply((E0, E1))", "return step.Copy().apply((E1, E0))", False),  # no copy of one stream
    (
        "A, B = step.Map(fn=f).apply(E0), step.Map(fn=f).apply(E1)\nreturn A, B",
        "A, B = step.Map(fn=f).apply(E0), step.Map(fn=f).apply(E1)\nreturn B, A",
        False,
    ),
    (
        "A, B = step.Partition(N=2).apply((E0, E1))\nreturn step.Map(fn=f).apply(A)",
        "A, B = step.Partition(N=2).apply((E0, E1))\nreturn step.Map(fn=f).apply(B)",
        False,
    ),
]


@pytest.mark.parametrize(("first", "second", "expected"), MEANINGS)
def test_same_meaning(first: str, second: str, expected: bool) -> None:
    more = '- {func_name: k, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0]]"}\noutputs:'
    checker = ImplChecker(read_task(TASK.replace("outputs:", more), TASK_PATH))
    graphs = [check_impl(checker.task, body).graph for body in (first, second)]
    assert same_meaning(*graphs) is expected


def test_functions_mean_the_same_wherever_they_stand() -> None:
    texts = [DEFINITIONS + program("return step.Map(fn=f).apply(E0)"), "# moved\n" + DEFINITIONS.replace("f(", "k(")]
    texts[1] += program("return step.Map(fn=k).apply(E0)")
    moved = "# moved\n" + texts[0]
    graphs = [check_text(text, PATH).programs[0].graph for text in (*texts, moved)]
    assert same_meaning(graphs[0], graphs[2])
    assert not same_meaning(graphs[0], graphs[1])


# -- one program ---------------------------------------------------------------------------------------------------


def answer(body: str, task: str = TASK, **options: Any) -> Checked:
    return check_impl(read_task(task, TASK_PATH), body, **options)


COUNTS = [
    ("for x in q:\n    A = step.Map(fn=f).apply(E0)\nreturn A", ["STEP102 E0"], 1),
    (
        "for x in q:\n    A = step.Map(fn=f).apply(E1)\n    B = step.Map(fn=f).apply(E0)\n"
        "    C = step.Map(fn=f).apply(E0)\nreturn B, B, B",
        ["STEP102 E1", "STEP102 E0", "STEP101 B"],
        4,
    ),
    ("return E0, E0, E1, E1, E1", ["STEP101 E0", "STEP101 E1"], 3),
]


@pytest.mark.parametrize(("body", "expected", "count"), COUNTS)
def test_a_stream_is_reported_once_and_counted_once(body: str, expected: list[str], count: int) -> None:
    text = DEFINITIONS + "q = open('a')\n" + program(body)
    result = check_text(text, PATH)
    found = [item for item in result.diagnostics if item.code.startswith("STEP10") and item.code != "STEP103"]
    assert [f"{item.code} {result.source.slice(item.span)}" for item in found] == expected
    assert result.programs[0].affine_count == count


@pytest.mark.parametrize(("number", "has_fix"), [(512, True), (513, False)])
def test_hundreds_of_copies_are_no_fix(number: int, has_fix: bool) -> None:
    streams = ", ".join(["E0"] * number)
    found = check(TASK + impl(f"return {streams}"), TASK_PATH)
    assert [line.endswith(" fix") for line in found if line.startswith("STEP101")] == [has_fix]


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (RETURN_ALL, True),
        ("x x\nreturn E0, E1, S", False),  # a line is missing
        ("return E0, E1, S\n)", False),
        ("A = step.Map(fn=f).apply(E0)", False),  # nothing is returned
        ("return step.Zip().apply((E0, step.Bufferize(a=1).apply(E1)))", False),  # no type
        ("A = step.Zip().apply((E0, step.Bufferize(a=1).apply(E1)))\nreturn S", False),  # elsewhere
        ("A = step.Mapp(fn=f).apply(E0)\nreturn S", False),
    ],
)
def test_runnable(body: str, expected: bool) -> None:
    (checked,) = check_text(DEFINITIONS + program(body), PATH).programs
    assert checked.runnable is expected


def test_an_answer_may_name_sizes_and_their_values() -> None:
    repeated = "step.Repeat(n=M_value).apply(E1)"
    body = f"A = step.Repeat(n=ctx[M]).apply(E0)\nA = step.Promote(b=0).apply(A)\nreturn A, {repeated}"
    checked = answer(body, TASK.replace("outputs:\n", "outputs:\n- {name: Q, dtype: fp32, dims: [Q3]}\n"))
    assert [item.code for item in checked.diagnostics] == ["STEP213"]
    sizes = [str(checked.graph.streams[index].type) for index in checked.graph.returns]
    assert sizes == ["[1, 5, M, N] of fp32", "[5, M, N] of fp32"]
    assert answer("return step.Repeat(n=Q3).apply(E0)", TASK.replace("[M, N], data", "[M, Q3], data")).graph.complete


def test_a_task_without_specification_cannot_be_answered() -> None:
    with pytest.raises(ValueError, match=r"t\.step\.yaml describes no task"):
        ImplChecker(read_task("", TASK_PATH))


def test_the_specification_of_a_program() -> None:
    weights = HEAD.replace("    S:", "    *,\n    W: Annotated[step.Param, step.f32, (M,)],\n    V:")
    weights = weights.replace("step.Stream, step.Multihot", "step.Param, step.Multihot")
    text = weights + "    return step.Map(fn=f).apply(E0), E1, W\n\n\n" + program(RETURN_ALL, "other")
    first, second = check_text(text, PATH).programs
    assert (first.spec.scope.parameters, second.spec.scope.parameters) == (("W", "V"), ())
    assert ([fn.func_name for fn in first.spec.fns], second.spec.fns) == (["f"], ())
    # A weight is known, although no stream.
    assert [(item.code, item.message.split(";")[0]) for item in first.diagnostics] == [
        ("STEP205", "a program returns streams, and W is a parameter")
    ]
    source = SourceFile(PATH, text)
    assert [source.slice(program_extent(item)).split("\n")[0] for item in (first, second)] == ["program(", "other("]
    assert [source.slice(program_extent(item)).split("\n")[-1].strip()[:12] for item in (first, second)] == [
        "return step.",
        "return E0, E",
    ]


def test_outputs_that_cannot_be_read_are_not_part_of_the_specification() -> None:
    body = "return E0, E1"
    assert answer(body).spec.outputs is not None
    assert answer(body, TASK.replace("S0, dtype: fp32", "S0, dtype: fp99")).spec.outputs is None
    assert answer(body, TASK + "- {name: \n").spec.outputs is None


# -- where a broken rule is shown ----------------------------------------------------------------------------------


@dataclass
class Broken:
    """Stands for an operator whose rule is broken."""

    error: Exception
    common = Operator.common[:0]
    off_chip = Operator.off_chip

    def infer(self, operands: object, ctx: TypingContext) -> tuple[StreamType, ...]:
        raise self.error


OPERATOR, INPUTS, PARAM = Span(0, 3), (Span(4, 6), Span(7, 9)), Span(10, 12)
SUBJECTS = [
    (RuleError("STEP207", "text"), "STEP207", OPERATOR),
    (RuleError("STEP207", "text", RuleSubject.param("b")), "STEP207", PARAM),
    (RuleError("STEP207", "text", RuleSubject.param("c")), "STEP207", OPERATOR),
    (RuleError("STEP207", "text", RuleSubject.input(0)), "STEP207", INPUTS[0]),
    (RuleError("STEP207", "text", RuleSubject.input(1)), "STEP207", INPUTS[1]),
    (DimError("text"), "STEP211", OPERATOR),
]


@pytest.mark.parametrize(("error", "code", "span"), SUBJECTS)
def test_a_broken_rule_is_shown_where_it_is_broken(error: Exception, code: str, span: Span) -> None:
    task = read_task(TASK, TASK_PATH)
    assert task.spec is not None
    streams = [GraphStream(index, "x", Span(0, 0), type=port.type) for index, port in enumerate(task.spec.inputs)]
    op: Any = Broken(error)
    node = Node(0, "Op", op, (0, 1), (), Span(0, 12), OPERATOR, {"b": PARAM}, INPUTS)
    (found,) = type_graph(Graph("g", streams, [node]), task.spec, TypingContext({}))
    assert (found.code, found.span) == (code, span)


def test_outputs_without_a_name_are_numbered() -> None:
    stream = "Annotated[step.Stream, step.f32, (M, N)]"
    wrong = "step.Promote(b=0).apply({})"
    for declared, returned, expected in (
        (stream, wrong.format("E0"), ["the output has"]),
        (
            f"tuple[{stream}, {stream}, {stream}]",
            f"E0, {wrong.format('E1')}, {wrong.format('S')}",
            ["output 2 has", "output 3"],
        ),
    ):
        text = (HEAD + f"    return {returned}\n").replace("):\n    return", f") -> {declared}:\n    return")
        found = [item for item in check_text(text, PATH).diagnostics if item.code in ("STEP214", "STEP215")]
        assert [item.message[: len(start)] for item, start in zip(found, expected, strict=True)] == expected


def test_a_fix_is_tried_where_an_operator_that_could_hold_a_stream_gets_none() -> None:
    text = """
from typing import Annotated
import stepcore as step
from stepcore.dims import M

def both(n, x):
    step.Promote(b=0).apply(n)
    return step.Zip().apply((x, x))

@step.program(dims={M: 4})
def program(x: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:
    y = step.Identity().apply(x`
    return both(y, x)
"""
    assert "STEP101" in {item.code for item in check_text(text, "file.py").diagnostics}


def test_what_python_warns_of_in_a_script_is_not_printed() -> None:
    text = "import stepcore as step\n\nE0 = step.Map(fn=double).apply(1if True else E1)\n"
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        check_text(text, "script.py")
    assert warned == []
