"""Types along the graph: what a program is typed as, where findings stand, and that one mistake stays one finding."""

from __future__ import annotations

import pytest

from stepcore.check import CheckResult, check_text
from stepcore.findings.diagnostics import Severity

HEAD = """\
inputs:
- {name: A, dtype: fp32, dims: [M, N], data_gen: torch.randn}
- {name: B, dtype: fp32, dims: [M, N], data_gen: torch.randn}
- {name: C, dtype: "Buffer(fp32, [K, D])", dims: [M, N], data_gen: torch.randn}
- {name: P, dtype: [fp32, "Buffer(fp32, [K])"], dims: [M, N], data_gen: torch.randn}
- {name: S, dtype: "Multihot(fp32, 2)", dims: [N], min: 0, max: 2}
- {name: T, dtype: fp32, dims: [M, N, 6], data_gen: torch.randn}
fns:
- {func_name: f, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] * 2]"}
- {func_name: pair, input_dtype: [fp32, fp32], output_dtype: fp32, apply: "return [input[0] + input[1]]"}
- {func_name: g, init: [0], input_dtype: fp32, output_dtype: fp32, apply: "return [state[0] + input[0]]"}
- func_name: rows
  init: [0]
  input_dtype: Buffer(fp32, [K, D])
  output_dtype: Buffer(fp32, [K, D])
  apply: |
    return [state[0] + input[0]]
"""


def check(body: str, outputs: str = "") -> CheckResult:
    """Check a body; without ``outputs`` the missing key makes nothing comparable, so that only the body counts."""
    lines = "".join(f"  {line}\n" for line in body.split("\n"))
    return check_text(f"{HEAD}{outputs}impl: |\n{lines}", "task.step.yaml")


def errors(body: str, outputs: str = "") -> list[str]:
    found = [item for item in check(body, outputs).diagnostics if item.severity is Severity.ERROR]
    return [item.code for item in found if item.code != "STEP906"]  # outputs are left out on purpose


def result_type(body: str) -> str:
    result = check(body)
    assert errors(body) == [], body
    (checked,) = result.programs
    return " and ".join(str(checked.graph.streams[index].type) for index in checked.graph.returns)


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("return step.Map(fn=f).apply(A)", "[M, N] of fp32"),
        ("return step.Map(fn=pair).apply((A, B))", "[M, N] of fp32"),
        ("return step.Accum(fn=g, b=1).apply(T)", "[N, 6] of fp32"),
        ("return step.Accum(fn=g, b=2).apply(T)", "[6] of fp32"),
        ("return step.Scan(fn=g, b=2).apply(T)", "[M, N, 6] of fp32"),
        ("return step.Zip().apply((P, A))", "[M, N] of [fp32, Buffer(fp32, [K]), fp32]"),
        ("return step.Zip().apply((step.Zip().apply((A, B)), P))", "[M, N] of [fp32, fp32, fp32, Buffer(fp32, [K])]"),
        ("return step.Promote(b=0).apply(A)", "[1, M, N] of fp32"),
        ("return step.Promote(b=1).apply(A)", "[M, 1, N] of fp32"),
        ("return step.Promote(b=2).apply(A)", "[M, N, 1] of fp32"),
        ("return step.Flatten(L=[1]).apply(T)", "[M*N, 6] of fp32"),
        ("return step.Flatten(L=[2]).apply(T)", "[M, 6*N] of fp32"),
        ("return step.Flatten(L=[1, 2]).apply(T)", "[6*M*N] of fp32"),
        ("return step.Reshape(S=3, L=[2]).apply(T)", "[M, N, 3, 2] of fp32"),
        ("return step.Reshape(S=K, L=[0]).apply(step.Repeat(n=K*2).apply(A))", "[K, 2, M, N] of fp32"),
        ("return step.Repeat(n=M*N).apply(A)", "[M*N, M, N] of fp32"),
        ("return step.RepeatLast(n=4).apply(A)", "[4, M, N] of fp32"),
        ("return step.RepeatRef().apply((A, step.Repeat(n=K).apply(B)))", "[K, M, N] of fp32"),
        ("return step.Bufferize(a=1).apply(A)", "[N] of Buffer(fp32, [M])"),
        ("return step.Bufferize(a=1).apply(C)", "[N] of Buffer(fp32, [K, D, M])"),
        ("return step.Bufferize(a=1).apply(step.Promote(b=1).apply(S))", "[1] of Buffer(Multihot(fp32, 2), [N])"),
        ("return step.Streamify().apply(C)", "[K, D, M, N] of fp32"),
        ("X, Y = step.Copy().apply(C)\nreturn X, Y", " and ".join(["[M, N] of Buffer(fp32, [K, D])"] * 2)),
        ("return step.Identity().apply(P)", "[M, N] of [fp32, Buffer(fp32, [K])]"),
        ("X, Y = step.Partition(N=2).apply((A, S))\nreturn X, Y", "[M, #(S, 0)] of fp32 and [M, #(S, 1)] of fp32"),
        (
            "X, Y = step.Copy().apply(S)\nV, W = step.Partition(N=2).apply((C, X))\n"
            "return step.Merge(fn=rows).apply(([V, W], Y))",
            "[M, N] of Buffer(fp32, [K, D])",
        ),
    ],
)
def test_type_of_each_operator(body: str, expected: str) -> None:
    assert result_type(body) == expected


def test_sizes_compare_as_expressions() -> None:
    left = "X = step.Flatten(L=[1]).apply(A)\n"
    right = "Y = step.Accum(fn=g, b=1).apply(step.Repeat(n=4).apply(step.Flatten(L=[1]).apply(B)))\n"
    assert result_type(left + right + "return step.Zip().apply((X, Y))") == "[M*N] of [fp32, fp32]"
    swapped = right.replace("apply(B)", "apply(step.Reshape(S=M, L=[0]).apply(step.Flatten(L=[1]).apply(B)))")
    assert result_type(left + swapped + "return step.Zip().apply((X, Y))") == "[M*N] of [fp32, fp32]"


def test_a_symbol_is_not_its_bound_value() -> None:
    body = "X = step.Repeat(n={}).apply(A)\nY = step.Repeat(n=M).apply(B)\nreturn step.Zip().apply((X, Y))"
    assert errors(body.format("M")) == []
    assert errors(body.format("5")) == ["STEP207"]
    assert errors(body.format("M_value")) == ["STEP207"]


def test_reshape_asserts_that_it_divides() -> None:
    split = "X = step.Flatten(L=[1]).apply(step.Reshape(S={}, L=[0]).apply(A))\nreturn step.Zip().apply((X, B))"
    assert errors(split.format("K")) == ["STEP211"]  # 9 does not divide 5
    assert errors(split.format("5")) == []
    assert errors(split.format("1")) == []


# -- one mistake, one finding -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mistake", "code"),
    [
        ("X = step.Mapp(fn=f).apply(A)", "STEP201"),
        ("X = step.Map(fn=ff).apply(A)", "STEP202"),
        ("X = step.Map().apply(A)", "STEP203"),
        ("X = step.Map(fn=3).apply(A)", "STEP204"),
        ("X = step.Zip().apply(A)", "STEP205"),
        ("X = step.Accum(fn=g, b=5).apply(A)", "STEP206"),
        ("X = step.Map(fn=pair).apply((A, T))", "STEP207"),
        ("X = step.Map(fn=f).apply(C)", "STEP208"),
        ("X = step.Streamify().apply(A)", "STEP209"),
        ("X = step.Partition(N=3).apply((A, S))[0]", "STEP210"),
        ("X = step.Reshape(S=4, L=[2]).apply(T)", "STEP211"),
        ("X = step.Bufferize(a=1).apply(P)", "STEP212"),
        ("X = step.Map(fn=g).apply(A)", "STEP216"),
        ("X = step.Repeat(n=0).apply(A)", "STEP217"),
        ("X = step.Flatten(L=[9]).apply(A)", "STEP218"),
        ("X = [A][1]", "STEP224"),
    ],
)
def test_what_follows_a_mistake_stays_quiet(mistake: str, code: str) -> None:
    after = "Y = step.Flatten(L=[1]).apply(X)\nZ = step.Map(fn=f).apply(Y)\nV = step.Zip().apply((Z, B))\nreturn V"
    outputs = "outputs:\n- {name: O, dtype: int32, dims: [K]}\n"
    assert errors(f"{mistake}\n{after}", outputs) == [code]


def test_two_mistakes_are_two_findings() -> None:
    body = "X = step.Map(fn=g).apply(A)\nY = step.Streamify().apply(B)\nreturn X, Y"
    assert errors(body) == ["STEP216", "STEP209"]


def test_a_mistake_in_a_loop_is_one_finding() -> None:
    body = "xs = [step.Streamify().apply(x) for x in (A, B)]\nys = [step.Mapp().apply(x) for x in xs]\nreturn ys"
    assert errors(body) == ["STEP209", "STEP201"]


# -- positions --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "marked"),
    [
        ("return step.Accum(fn=g, b=«7»).apply(A)", "STEP206"),
        ("return step.Accum(b=1, fn=«f»).apply(A)", "STEP216"),
        ("return step.Zip().apply((A, «T»))", "STEP207"),
        ("return step.Zip().apply((step.Map(fn=f).apply(A), «step.Promote(b=0).apply(B)»))", "STEP207"),
        ("pair_of = (A, T)\nreturn step.Zip().apply(«pair_of»)", "STEP207"),
        ("return step.Map(fn=pair).apply((A, «T»))", "STEP207"),
        ("return step.«Mapp»(fn=f).apply(A)", "STEP201"),
        ("return step.Flatten(L=«[0]»).apply(A)", "STEP218"),
        ("return «step.Map»().apply(A)", "STEP203"),
        ("return step.Map(«func»=f).apply(A)", "STEP203"),
        ("X, Y = step.Copy().apply(S)\nreturn step.Merge(fn=g).apply(([A, «T»], X)), Y", "STEP207"),
        ("return step.Merge(fn=g).apply(([A, B], «T»))", "STEP210"),
        ("a = (1 +\n     «A.x»)\nreturn A", "STEP224"),
    ],
)
def test_findings_point_at_the_culprit(body: str, marked: str) -> None:
    if "«A.x»" in body:
        body = body.replace("«A.x»", "A.«x»")
    plain = body.replace("«", "").replace("»", "")
    result = check(plain)
    (item,) = [item for item in result.diagnostics if item.severity is Severity.ERROR and item.code != "STEP906"]
    assert item.code == marked
    wanted = body[body.index("«") + 1 : body.index("»")]
    assert result.source.slice(item.span) == wanted
    line, column = result.source.line_col(item.span.start)
    before = body[: body.index("«")]
    assert column == len(before.split("\n")[-1]) + 2
    assert result.source.line_text(line).strip() == plain.split("\n")[before.count("\n")].strip()


# -- declared outputs -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "output", "code"),
    [
        ("return A", "{name: O, dtype: fp32, dims: [M, N]}", None),
        ("return (A,)", "{name: O, dtype: fp32, dims: [M, N]}", None),
        ("return [A]", "{name: O, dtype: fp32, dims: [M, N]}", None),
        ("return A, B", "{name: O, dtype: fp32, dims: [M, N]}", "STEP213"),
        ("return A", "{name: O, dtype: fp32, dims: [N, M]}", "STEP215"),
        ("return A", "{name: O, dtype: fp32, dims: [M]}", "STEP215"),
        ("return A", "{name: O, dtype: fp32, dims: [5, N]}", "STEP215"),
        ("return A", "{name: O, dtype: int32, dims: [M, N]}", "STEP214"),
        ("return A", "{name: O, dtype: [fp32], dims: [M, N]}", "STEP214"),
        ("return C", '{name: O, dtype: "Buffer(fp32, [D, K])", dims: [M, N]}', "STEP214"),
        ("return C", '{name: O, dtype: "Buffer(fp32, [K, D])", dims: [M, N]}', None),
        ("return step.Flatten(L=[1]).apply(A)", "{name: O, dtype: fp32, dims: [N*M]}", None),
        ("return step.Flatten(L=[1]).apply(A)", "{name: O, dtype: fp32, dims: [M*N*1]}", None),
        ("return step.Partition(N=2).apply((A, S))[0]", "{name: O, dtype: fp32, dims: [M, N]}", "STEP215"),
    ],
)
def test_declared_outputs(body: str, output: str, code: str | None) -> None:
    assert errors(body, f"outputs:\n- {output}\n") == ([] if code is None else [code])


def test_shapes_are_shown_below_each_other_with_the_difference_marked() -> None:
    result = check("return step.Promote(b=1).apply(T)", "outputs:\n- {name: O, dtype: fp32, dims: [M, N, 6]}\n")
    (item,) = [item for item in result.diagnostics if item.code == "STEP215"]
    assert item.message.split("\n") == [
        "output O has another shape than declared",
        "  expected [M, N, 6]",
        "  found    [M, 1, N, 6]",
        "               ^ size 1",
    ]
