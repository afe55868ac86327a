"""The Python form: all its spellings, what programs may declare, and files that are broken somewhere else."""

from __future__ import annotations

import io
import tokenize

import pytest

import server_texts
from stepcore.check import CheckResult, check_text
from stepcore.check.fixing import fix_text
from stepcore.findings.diagnostics import Severity
from stepcore.ide.analysis import analyze
from stepcore.types import StreamType

PAGE = """\
from typing import Annotated
import torch
import stepcore as step
from stepcore.dims import K, M, N

@step.fn(input=step.Buffer(step.f32, [K]), output=step.Buffer(step.f32, [K]), init=[0])
def add(state, input):
    return [state[0] + input[0]]

def rows_sum(x: torch.Tensor) -> torch.Tensor:          # x: (N, M, K)
    return x.sum(1)

@step.program(reference=rows_sum, dims={M: 5, N: 7, K: 9})
def sum_rows(
    E0: Annotated[step.Stream, step.f32, (K, M, N)],
) -> Annotated[step.Stream, step.Buffer(step.f32, [K]), (N,)]:
    E1 = step.Bufferize(a=1).apply(E0)
    return step.Accum(fn=add, b=1).apply(E1)
"""
PUBLISHED = """\
import torch
import stepcore as step
from typing import Annotated
from stepcore.dims import K, M, N

class Sum(step.Fn):
    def __init__(self, input, output):
        super().__init__("Sum", input, output)

    def getInit(self):
        return [torch.tensor(0.0)]

    def apply(self, state, input):
        return [state[0] + input[0]]

class Scale(step.Fn):
    def __init__(self, size=K):
        super().__init__("Scale", step.STuple((step.Buffer(step.Scalar("float"), [size]), step.Scalar("float"))),
                         step.Buffer(step.Scalar("float"), [size]))

    def apply(self, input):
        return [input[0] * input[1]]

fn_sum = Sum(step.Buffer(step.Scalar("float"), [K]), step.Buffer(step.Scalar("float"), [K]))

@step.program()
def program(
    E0: Annotated[step.Stream, step.Buffer(step.Scalar("float"), [K]), (M, N)],
    E1: Annotated[step.Stream, step.Scalar("float"), (M, N)],
) -> Annotated[step.Stream, step.Buffer(step.f32, [K]), (N,)]:
    E2 = step.Zip().apply((E0, E1))
    E3 = step.Map(fn=Scale()).apply(E2)
    E4 = step.Accum(fn=fn_sum, b=1).apply(E3)
    return E4
"""
HEAD = """\
from typing import Annotated
import stepcore as step
from stepcore.dims import D, E, K, M, N
"""


def check(text: str) -> CheckResult:
    return check_text(text, "file.py")


def errors(text: str) -> list[str]:
    return [f"{item.code}: {item.message}" for item in check(text).diagnostics if item.severity is Severity.ERROR]


def returned(text: str) -> list[str]:
    """Check a clean file with one program and return the types of its results."""
    result = check(text)
    assert [item.message for item in result.diagnostics if item.severity is Severity.ERROR] == []
    (checked,) = result.programs
    assert checked.runnable
    types: list[StreamType | None] = [checked.graph.streams[index].type for index in checked.graph.returns]
    return [str(item) for item in types]


def program(signature: str, body: str, before: str = "") -> str:
    lines = "".join(f"    {line}\n" for line in body.split("\n"))
    return f"{HEAD}\n{before}\n@step.program()\ndef program({signature}:\n{lines}"


# -- spellings --------------------------------------------------------------------------------------------


def test_the_example_of_the_language_page() -> None:
    assert returned(PAGE) == ["[N] of Buffer(fp32, [K])"]
    spec = check(PAGE).programs[0].spec
    assert spec.name == "sum_rows"
    assert spec.reference == "rows_sum"
    assert spec.bindings() | {"M": 5, "N": 7, "K": 9} == spec.bindings()
    assert [fn.func_name for fn in spec.fns] == ["add"]


def test_the_published_spelling() -> None:
    assert returned(PUBLISHED) == ["[N] of Buffer(fp32, [K])"]
    scale, total = check(PUBLISHED).programs[0].spec.fns
    assert (scale.label, scale.has_state) == ("Scale", False)
    assert (total.label, total.has_state) == ("Sum", True)
    assert str(scale.input) == "[Buffer(fp32, [K]), fp32]"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (("import stepcore as step", "step."), ("import stepcore as st", "st.")),
        (("import stepcore as step", "step."), ("import stepcore", "stepcore.")),
        (
            ("import stepcore as step", "step."),
            ("from stepcore import Accum, Bufferize, Buffer, Stream, f32, fn, program", ""),
        ),
        (
            ("import stepcore as step", "step.Accum"),
            ("import stepcore as step\nfrom stepcore import Accum as Fold", "Fold"),
        ),
        (("from stepcore.dims import K, M, N", "zzz"), ("K, M, N = step.dims.K, step.dims.M, step.dims.N", "zzz")),
        (
            ("from stepcore.dims import K, M, N", "zzz"),
            ('K = step.Symbol("K")\nM = step.Symbol("M")\nN = step.Symbol("N")', "zzz"),
        ),
        (("from typing import Annotated", "Annotated["), ("import typing", "typing.Annotated[")),
        (("step.f32", "zzz"), ('step.Scalar("float")', "zzz")),
        (("step.f32", "zzz"), ('step.Scalar("fp32")', "zzz")),
        (("step.f32", "zzz"), ("step.fp32", "zzz")),
        (("step.Bufferize(a=1).apply(E0)", "zzz"), ('step.Bufferize(a=1).apply(E0, name="rows")', "zzz")),
        (("step.Bufferize(a=1).apply(E0)", "zzz"), ("step.Bufferize(a=1).apply(input=E0)", "zzz")),
    ],
)
def test_ways_to_import_and_to_write(old: tuple[str, str], new: tuple[str, str]) -> None:
    text = PAGE.replace(old[0], new[0]).replace(old[1], new[1])
    assert text != PAGE
    assert returned(text) == ["[N] of Buffer(fp32, [K])"]


def test_element_types() -> None:
    text = program(
        "E0: Annotated[step.Stream, (step.f16, step.Buffer(step.bf16, [K, D])), (M,)],\n"
        "    E1: Annotated[step.Stream, step.STuple((step.i32, step.i64)), (M,)],\n"
        "    E2: Annotated[step.Stream, step.Buffer(step.Multihot(step.f32, E), [2 * M]), (M * N // 2, 4)]\n"
        ")",
        "A = step.Zip().apply((E0, E1))\nreturn A, E2",
    )
    assert returned(text) == [
        "[M] of [fp16, Buffer(bf16, [K, D]), int32, int64]",
        "[(M*N)//2, 4] of Buffer(Multihot(fp32, E), [2*M])",
    ]


def test_several_outputs_and_aliases_of_operators() -> None:
    values = "Annotated[step.Stream, step.f32, {}]"
    text = program(
        f"E0: {values.format('(M, N)')}) -> tuple[{values.format('(3, M, N)')}, {values.format('(M, N)')}]",
        "A, B = step.Copy().apply(E0)\nreturn step.RepeatLast(n=3).apply(A), B",
    )
    assert returned(text) == ["[3, M, N] of fp32", "[M, N] of fp32"]
    wrong = text.replace("return step.RepeatLast(n=3).apply(A), B", "return B, step.RepeatLast(n=3).apply(A)")
    assert [item.split(" ")[0] for item in errors(wrong)] == ["STEP215:", "STEP215:"]
    assert errors(wrong)[0].startswith("STEP215: output 1 ")


def test_parameters_and_nested_functions_that_read_them() -> None:
    text = program(
        "E0: Annotated[step.Stream, step.Buffer(step.f32, [K]), (M,)], *, W: Annotated[step.Param, step.f32, (K, D)])",
        "@step.fn(input=step.Buffer(step.f32, [K]), output=step.Buffer(step.f32, [D]))\n"
        "def project(input):\n"
        "    return [W @ input[0]]\n"
        "return step.Map(fn=project).apply(E0)",
    )
    assert returned(text) == ["[M] of Buffer(fp32, [D])"]
    (checked,) = check(text).programs
    assert [port.name for port in checked.spec.parameters] == ["W"]
    assert [str(port.type.shape) for port in checked.spec.inputs] == ["(M,)"]
    assert [fn.func_name for fn in checked.spec.fns] == ["project"]
    (name,) = [item.split(":")[0] for item in errors(text.replace("[W @", "[V @"))]
    assert name == "STEP303"


def test_function_with_other_argument_names() -> None:
    before = "@step.fn(input=step.f32, output=step.f32, init=[1])\ndef times(total, x):\n    return [total[0] * x[0]]\n"
    text = program("E0: Annotated[step.Stream, step.f32, (M, N)])", "return step.Scan(fn=times, b=1).apply(E0)", before)
    assert returned(text) == ["[M, N] of fp32"]


def test_infinite_init() -> None:
    before = "@step.fn(input=step.f32, output=step.f32, init=[INIT])\ndef top(state, input):\n    return [state[0]]\n"
    text = program("E0: Annotated[step.Stream, step.f32, (M, N)])", "return step.Scan(fn=top, b=1).apply(E0)", before)
    for init in ('"-inf"', "-1", "0.0"):
        assert returned(text.replace("INIT", init)) == ["[M, N] of fp32"]
    assert errors(text.replace("INIT", "2"))[0].startswith("STEP309")


def test_name_of_a_program_and_two_programs() -> None:
    first = PAGE.replace("@step.program(", '@step.program(name="rows", ').replace("def sum_rows(", "def first(")
    text = first + PAGE[PAGE.index("@step.program") :]
    assert [checked.name for checked in check(text).programs] == ["rows", "sum_rows"]
    assert errors(text) == []


def test_helpers_of_the_module_are_followed() -> None:
    before = "def both(a, b):\n    return step.Zip().apply((a, b))\n"
    text = program("E0: Annotated[step.Stream, step.f32, (M, N)])", "return both(E0, E0)", before)
    (found,) = [item for item in check(text).diagnostics if item.severity is Severity.ERROR]
    assert found.code == "STEP101"
    assert next(check(text).source.slice(item.span) for item in found.related) == "a"


# -- what is none of our business, and what is ------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["", "x = (\n", "import os\nos.system('x')\n", "# stepcore\nx = = 1\n", '"""stepcore"""\ndef f(:\n', "\0stepcore"],
)
def test_other_files_get_no_findings(text: str) -> None:
    result = check(text)
    assert (result.programs, result.diagnostics) == ([], [])


def test_other_code_in_the_file_gets_no_findings() -> None:
    text = (
        PAGE + "\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return undefined(x)\n\nprint(zzz)\n"
    )
    assert errors(text) == []


@pytest.mark.parametrize(
    ("annotation", "code"),
    [
        ("", "STEP222"),
        (": step.Stream", "STEP222"),
        (": Annotated[step.Stream]", "STEP222"),
        (": Annotated[step.Stream, step.f32]", "STEP222"),
        (": Annotated[step.Param, step.f32, (K, M, N)]", "STEP222"),
        (": Annotated[step.Stream, 3, (K, M, N)]", "STEP222"),
        (": Annotated[step.Stream, step.f32, K]", "STEP222"),
        (": Annotated[step.Stream, step.f32, ()]", "STEP222"),
        (": Annotated[step.Stream, step.f32, (K, M, 'N')]", "STEP222"),
        (": Annotated[step.Stream, step.f32, (K, M, 0)]", "STEP217"),
        (": Annotated[step.Stream, step.Buffer(step.f32), (K, M, N)]", "STEP222"),
        (": Annotated[step.Stream, step.Buffer(step.f32, [0]), (K, M, N)]", "STEP217"),
        (": Annotated[step.Stream, step.f33, (K, M, N)]", "STEP201"),
        (": Annotated[step.Stream, step.f32, (K, M, Q)]", "STEP202"),
    ],
)
def test_an_unusable_annotation_is_the_only_finding(annotation: str, code: str) -> None:
    text = PAGE.replace(": Annotated[step.Stream, step.f32, (K, M, N)]", annotation)
    found = [item for item in check(text).diagnostics if item.severity is Severity.ERROR]
    assert [item.code for item in found] == [code]
    line, _ = check(text).source.line_col(found[0].span.start)
    assert "E0" in text.split("\n")[line]


# -- broken files -----------------------------------------------------------------------------------------

SECOND = (
    PAGE[PAGE.index("@step.program") :]
    .replace("sum_rows", "other")
    .replace("step.Bufferize(a=1).apply(E0)", "step.Bufferize(a=9).apply(E0)")
)


def token_boundaries(text: str) -> list[int]:
    """Return the offsets at which tokens of ``text`` begin and end."""
    lines = [0]
    for line in text.splitlines(keepends=True):
        lines.append(lines[-1] + len(line))
    places = {0}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        for row, column in (token.start, token.end):
            places.add(min(lines[min(row, len(lines)) - 1] + column, len(text)))
    return sorted(places)


def findings_of(result: CheckResult, name: str) -> list[tuple[str, str]]:
    return [
        (item.code, item.message) for checked in result.programs if checked.name == name for item in checked.diagnostics
    ]


@pytest.mark.parametrize("first_is_broken", [True, False])
def test_a_program_cut_at_any_token_leaves_the_other_alone(first_is_broken: bool) -> None:
    head = PAGE[: PAGE.index("@step.program")]
    victim = PAGE[PAGE.index("@step.program") :]
    whole = findings_of(check(head + SECOND), "other")
    assert [code for code, _ in whole] == ["STEP206"]
    for place in token_boundaries(victim):
        cut = victim[:place]
        text = f"{head}{cut}\n\n{SECOND}" if first_is_broken else f"{head}{SECOND}\n\n{cut}"
        result = check(text)
        assert findings_of(result, "other") == whole, f"cut behind {cut!r}"
        assert all(0 <= item.span.start <= item.span.end <= len(text) for item in result.diagnostics)


def test_a_half_typed_line_hides_only_itself() -> None:
    text = PAGE.replace("step.Bufferize(a=1).apply(E0)", "step.Bufferize(a=1).apply(E0")
    assert [item.split(":")[0] for item in errors(text)] == ["STEP902"]
    text = program(
        "E0: Annotated[step.Stream, step.f32, (M, N)])", "A = step.\nB = step.Flatten(L=[7]).apply(E0)\nreturn B"
    )
    assert [item.split(":")[0] for item in errors(text)] == ["STEP902", "STEP218"]


def test_a_broken_function_leaves_the_program_alone() -> None:
    text = PAGE.replace("return [state[0] + input[0]]", "return [state[0] + ")
    found = errors(text)
    assert len(found) == 1
    assert found[0].split(":")[0] in {"STEP902", "STEP301"}


@pytest.mark.parametrize("first", ['"""Programs."""\n', "# programs\n", ""])
def test_a_byte_order_mark_changes_no_finding(first: str) -> None:
    text = first + (server_texts.HEAD + server_texts.OVERUSED).removeprefix('"""Programs."""\n')
    (plain,) = check_text(text, "a.py").diagnostics
    (marked,) = check_text("\ufeff" + text, "a.py").diagnostics
    assert (marked.code, marked.message) == (plain.code, plain.message)
    assert (marked.span.start, marked.span.end) == (plain.span.start + 1, plain.span.end + 1)
    assert analyze("\ufeff" + text, "a.py").diagnostics == check_text("\ufeff" + text, "a.py").diagnostics
    assert fix_text("\ufeff" + text, "a.py") == "\ufeff" + fix_text(text, "a.py")


def test_a_default_of_a_helper_sees_the_names_where_the_helper_stands() -> None:
    program = (
        "@step.program()\n"
        "def rows(E0: Annotated[step.Stream, step.f32, (K, M)]) -> Annotated[step.Stream, step.f32, ({shape})]:\n"
        "    b = 7\n"
        "    return merged(E0)\n"
    )
    helper = "b = 1\n\n\ndef merged(x, n=b{more}):\n    return step.Flatten(L=[n]).apply(x)\n\n\n"
    head = PAGE[: PAGE.index("@step.fn")]
    assert errors(head + helper.format(more="") + program.format(shape="K * M,")) == []
    text = head + helper.format(more=" / M") + program.format(shape="K * M,")
    (found,) = [item for item in check(text).diagnostics if item.severity is Severity.ERROR]
    assert text[found.span.start : found.span.end] == "b / M"


@pytest.mark.parametrize(
    ("given", "way_out"),
    [
        ("rows_sum()", "rows_sum() is a call, which lacks x; write reference=rows_sum"),
        ('"rows_sum"', '"rows_sum" is a text; write reference=rows_sum'),
        ("3", "3 is an integer; write the name of a PyTorch function of the input tensors"),
        ("rows_sum(3)", ""),  # may make a function
        ("functools.partial(rows_sum)", ""),
        ("None", ""),
        ("lambda x: x.sum(1)", ""),
    ],
)
def test_a_reference_is_a_function(given: str, way_out: str) -> None:
    text = "import functools\n" + PAGE.replace("reference=rows_sum", f"reference={given}")
    expected = [f"STEP204: step.program needs a function as reference, and {way_out}"] if way_out else []
    assert errors(text) == expected


def test_ways_out_write_operators_as_the_file_imports_them() -> None:
    """Where operators are imported by their names, there is no module to write before them."""
    text = (
        "from typing import Annotated\nfrom stepcore import Map, Stream, f32, fn, program\n"
        "from stepcore.dims import M\n\n\n"
        "@fn(input=f32, output=f32)\ndef double(input):\n    return [input[0] * 2]\n\n\n"
        "@program(dims={M: 3})\ndef p(E0: Annotated[Stream, f32, (M,)]) -> Annotated[Stream, f32, (M,)]:\n"
        "    E1 = E0 + E0\n    E2 = E0.Map\n    E3 = Map(fn=double).apply(double)\n    return double(E0)\n"
    )
    found = [item for item in check_text(text, "p.py").diagnostics if "Map(" in item.message]
    assert len(found) == 4
    assert not [item.message for item in found if ".Map(" in item.message]
    (fix,) = [item.fix for item in found if item.fix is not None]
    assert fix.edits[0].text == "Map(fn=double).apply(E0)"


def test_a_lambda_of_a_module_is_a_helper_of_its_programs() -> None:
    text = """from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M, N


@step.fn(input=step.f32, output=step.f32)
def double(input):
    return [input[0] * 2]


twice = lambda x: step.Map(fn=double).apply(step.Map(fn=double).apply(x))


def reference(x: torch.Tensor) -> torch.Tensor:
    return x * 4


@step.program(reference=reference, dims={M: 3, N: 2})
def quadrupled(x: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return twice(x)
"""
    result = check_text(text, "a.py")
    assert result.diagnostics == []
    assert len(result.programs[0].typed.nodes) == 2
