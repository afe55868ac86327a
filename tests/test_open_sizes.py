"""Dynamic and ragged sizes: kinds, derived sizes and their names, both file forms, what fits what."""

from __future__ import annotations

from typing import Any

import pytest

from stepcore.check import CheckResult, check_text
from stepcore.conversion.to_python import task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.findings.diagnostics import apply_edits
from stepcore.frontend.yaml.tasks import read_task
from stepcore.ide.analysis import analyze
from stepcore.ide.completion import completions
from stepcore.ide.hover import hover
from stepcore.ide.model import IdeError
from stepcore.ide.navigation import rename
from stepcore.open_types.rules import at_home
from stepcore.ops import Map
from stepcore.printing.task import graph_to_impl, task_to_yaml
from stepcore.sizes.dim import Dim, DimError
from stepcore.sizes.kinds import (
    SizeKind,
    at,
    ceil_div,
    chosen,
    dynamic,
    kind_of,
    length,
    merged,
    one,
    origin_of,
    ragged,
    routed,
    upper,
)
from stepcore.types import Scalar, Shape, StreamType, element_count
from valid_graphs import assert_valid

K, M, N = map(Dim.symbol, "KMN")
L, B, T = ragged("L"), ragged("B"), dynamic("T")
HITS = routed("route", 0, N)


def at_homes(*sizes: Dim) -> Shape:
    return at_home(StreamType(Scalar(), sizes)).shape


def test_what_accepts_a_kind_accepts_those_before_it() -> None:
    sizes = [
        (K * N // 2, SizeKind.STATIC),
        (T * K, SizeKind.DYNAMIC),
        (HITS + 1, SizeKind.DYNAMIC),
        (L * T, SizeKind.RAGGED),
    ]
    sizes += [(one(T), SizeKind.DYNAMIC), (one(L), SizeKind.RAGGED), (merged((L, N), outermost=True), SizeKind.DYNAMIC)]
    sizes += [(merged((L, N), outermost=False), SizeKind.RAGGED), (chosen("route", 2, N), SizeKind.RAGGED)]
    assert [kind_of(size) for size, _ in sizes] == [kind for _, kind in sizes]
    assert SizeKind.STATIC < SizeKind.DYNAMIC < SizeKind.RAGGED


def test_derived_sizes_are_equal_by_where_they_come_from() -> None:
    assert routed("route", 0, N) == HITS != routed("route", 1, N)
    assert str(HITS) == "#(route, 0)"
    assert origin_of(HITS) == "#(route, 0): how often route names branch 0"
    assert one(HITS) * HITS != HITS  # as products they differ; as one dimension they do not
    assert merged((HITS, one(HITS)), outermost=True) == HITS
    assert merged((2 * HITS, K, one(HITS)), outermost=True) == 2 * HITS * K
    assert one(one(HITS)) == one(HITS)
    assert one(N) == 1
    assert str(ceil_div(L, Dim.of(4))) == "ceil(~L/4)"
    assert ceil_div(4 * HITS, Dim.of(4)) == HITS
    assert ceil_div(N, Dim.of(4)) == (N + 3) // 4
    assert str(length("count(n)", K, N, varies=True)) == "len(count(n))"


def test_a_ragged_size_is_absorbed_by_the_dimensions_outside() -> None:
    inner, outer, last = at_homes(L, N, M)
    total = merged((inner, outer, last), outermost=True)
    assert str(total) == "sum(~L)"
    stepwise = merged((merged((inner, outer), outermost=False), last), outermost=True)
    assert stepwise == total == merged((inner, merged((outer, last), outermost=True)), outermost=True)
    assert str(merged((inner, outer), outermost=False)) == "sum(~L, N)"
    assert element_count((K, inner, outer, last)) == K * total
    assert merged((inner, Dim.of(1)), outermost=False) == inner
    nested = at_homes(L, B, N)
    assert str(merged(nested[:2], outermost=False)) == "sum(~L, ~B)"
    assert merged((merged(nested[:2], outermost=False), N), outermost=True) == merged(nested, outermost=True)
    # Read again for each of 3 positions, there are three times as many.
    assert str(merged((inner, Dim.of(3), N * M), outermost=True)) == "sum(~L, 3*M*N)"


def test_what_a_branch_gets_of_a_ragged_size() -> None:
    inner, outer = at_homes(L, N)
    part = at(inner, "route", 0, outer)
    assert str(part) == "~L@(route, 0)"
    assert str(merged((part, HITS), outermost=True)) == "sum(~L@(route, 0))"
    assert at(ceil_div(K * inner, Dim.of(4)), "route", 0, outer) == ceil_div(K * part, Dim.of(4))
    assert at(one(inner), "route", 0, outer) == one(part)
    assert at(K * T, "route", 0, outer) == K * T


def test_sizes_are_bound_by_runs_and_bounded_by_max() -> None:
    assert (one(T) * 3 + ceil_div(T, Dim.of(4))).bind({"?T": 9}) == 6
    assert one(T).bind({"?T": 0}) == 0
    assert HITS.bind({"#(route, 0)": 3}) == 3
    with pytest.raises(DimError, match=r"#\(route, 0\) has no value"):
        HITS.bind({"N": 3})
    inner, outer = at_homes(L, N)
    most = {"~L": 8, "?T": 64, "N": 5}
    assert upper(HITS * 2 - HITS, most) == 5
    assert upper(merged((at(inner, "route", 0, outer), HITS), outermost=True), most) == 40
    assert upper(ceil_div(T, Dim.of(10)) * one(T), most) == 7
    assert upper(K * N + T, {**most, "K": 2}) == 74


def test_products_of_quotients_are_written_with_both_brackets() -> None:
    assert str((K // 2) * (K // 2)) == "(K//2)*(K//2)"
    assert str(one(T)) == "one(?T)"


TASK = """\
test_name: open
sizes:
  "~L": {min: 0, max: 4}
  "?T": {values: [3]}
inputs:
- {name: E0, dtype: fp32, dims: ["~L", N]}
- {name: E1, dtype: "Multihot(fp32, 2)", dims: [N], min: 0, max: 2}
- {name: E2, dtype: "Tile(fp32, [2, D])", dims: ["?T"]}
fns:
- name: f
  func_name: f
  input_dtype: Tile(fp32, [_R, D])
  output_dtype: Tile(fp32, [D, _R])
  apply: return [input[0].T]
outputs:
- name: S0
  dtype: fp32
  dims: ["~X", "?Y"]
- name: S1
  dtype: fp32
  dims: ["?Z"]
- name: S2
  dtype: Tile(fp32, [2, D])
  dims: ["?T"]
impl: |-
  A, B = step.Partition(N=2).apply((E0, E1))
  E3 = step.Flatten(L=[1]).apply(B)
  return A, E3, E2
"""


def checked(text: str, path: str = "open.step.yaml") -> CheckResult:
    return check_text(text, path)


def messages(text: str, path: str = "open.step.yaml") -> list[str]:
    return [f"{item.code} {item.message}" for item in checked(text, path).diagnostics]


def test_both_file_forms_say_the_same() -> None:
    first = checked(TASK)
    assert first.diagnostics == []
    assert first.task is not None
    assert first.task.spec is not None
    drawn = [(each.name, each.minimum, each.maximum, each.values) for each in first.task.spec.drawn]
    assert drawn == [("~L", 0, 4, None), ("?T", 3, 3, (3,))]
    assert first.task.spec.most({"N": 7}) == {"N": 7, "~L": 4, "?T": 3}
    assert [str(stream.type) for stream in first.programs[0].graph.streams][3:] == [
        "[~L@(E1, 0), #(E1, 0)] of fp32",
        "[~L@(E1, 1), #(E1, 1)] of fp32",
        "[sum(~L@(E1, 1))] of fp32",
    ]
    python = task_to_python(first.task)
    second = checked(python, "open.py")
    assert second.diagnostics == []
    assert second.module is not None
    again = python_to_task(second.module, second.module.programs[0])
    task = read_task(again, "open.step.yaml")
    assert task.spec is not None
    assert task.spec.drawn == first.task.spec.drawn
    assert [port.type for port in task.spec.inputs] == [port.type for port in first.task.spec.inputs]
    assert [port.type for port in task.spec.outputs or ()] == [port.type for port in first.task.spec.outputs or ()]
    printed = task_to_yaml(first.task.spec, graph_to_impl(first.programs[0].graph), {"test_name": "open"})
    assert read_task(printed, "open.step.yaml").spec == task.spec or messages(printed) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('  "~L": {min: 0, max: 4}\n', "", "STEP225 a run does not know how large ~L is; write sizes"),
        ("{values: [3]}", "{values: [3, 4]}", "STEP907 ?T is one size in a run, and has 2 values"),
        ("{values: [3]}", "{min: 4, max: 3}", "STEP907 max of ?T is 3, less than its min, 4"),
        ("{values: [3]}", "{min: 4}", "STEP907 ?T has no largest size; give min and max, or values"),
        ("{values: [3]}", "{max: -1}", "STEP907 ?T is an integer from 0 to 2**31, not -1"),
        ('  "?T"', '  "?W": {max: 3}\n  "?T"', "STEP907 no input has a size ?W; there are ~L, ?T"),
        ('["~L", N]', '[N, "~L"]', "STEP226 ~L: the outermost size of a stream is never ragged"),
        ('["?T"]', '["~L", "?T"]', "STEP226 ~L has N values in E0, one for each position outside, and here ?T"),
        ('[2, D])", dims', '[~L, D])", dims', "STEP226 ~L: a tile may be dynamic"),
        ("fp32, 2", "fp32, ?T", "STEP226 ?T: the length of a selector is static"),
        ('"Tile(fp32, [2, D])", dims: ["?T"]', '"Tile(fp32, [_R, D])", dims: ["?T"]', "STEP226 _R is any size"),
        ("? L", "", ""),
    ],
)  # fmt: skip
def test_what_is_said_of_sizes(old: str, new: str, said: str) -> None:
    found = messages(TASK.replace(old, new))
    assert (found[0].startswith(said) and len(found) == 1) if said else found == [], found


def test_a_declared_name_fits_a_derived_size_consistently() -> None:
    assert messages(TASK.replace('dims: ["?Z"]', 'dims: ["?Y"]'))[0].startswith("STEP215 output S1 has another shape")
    assert messages(TASK.replace('["~X", "?Y"]', '["?X", "?Y"]'))[0].startswith("STEP215")  # ragged is no dynamic size
    assert messages(TASK.replace('dims: ["?Z"]', 'dims: ["?T"]'))[0].startswith("STEP215")  # an input's is itself
    assert messages(TASK.replace('["~X", "?Y"]', '["~X", "~Y"]'))[0].startswith("STEP226")


EXPERTS = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, F, M

TF, R = 64, step.any_size("R")
ROW, T, U = step.Tile("fp32", [1, D]), step.Tile("fp32", [R, D]), step.Tile("fp32", [D, TF])
OUT = step.Tile("fp32", [1, F])


@step.fn(input=(T, U), output=step.Tile("fp32", [R, TF]))
def up(input):
    return [torch.nn.functional.silu(input[0] @ input[1])]


def expert(rows, w):
    tile = step.Retile(axis=0).apply(step.Promote(b=1).apply(rows))
    t0, t1 = step.Copy().apply(tile)
    cols = step.LinearOffChipLoad(tensor=w, tile=[D, TF], shape=[F // TF], stride=[1]).apply(t0)
    y = step.Map(fn=up).apply((step.Repeat(n=F // TF).apply(t1), cols))
    return step.RetileStreamify(axis=0).apply(step.Retile(axis=1).apply(y))


@step.program(dims={M: 64, D: 128, F: 256}, data={"route": "binary"})
def moe(
    x: Annotated[step.Stream, ROW, (M,)], route: Annotated[step.Stream, step.Multihot(step.f32, 2), (M,)], *,
    w0: Annotated[step.Param, step.f32, (F, D)], w1: Annotated[step.Param, step.f32, (F, D)],
) -> tuple[Annotated[step.Stream, OUT, (step.dyn("A"),)], Annotated[step.Stream, OUT, (step.dyn("B"),)]]:
    a, b = [expert(p, w) for p, w in zip(step.Partition(N=2).apply((x, route)), (w0, w1))]
    return a, b
"""


def test_one_function_of_any_size_serves_all_dynamic_tiles() -> None:
    result = checked(EXPERTS, "moe.py")
    assert result.diagnostics == []
    graph = result.programs[0].graph
    used: list[Any] = [node.op.fn for node in graph.nodes if isinstance(node.op, Map)]
    assert [str(fn.output) for fn in used] == ["Tile(fp32, [#(route, 0), 64])", "Tile(fp32, [#(route, 1), 64])"]
    assert [str(fn.output) for fn in result.programs[0].spec.fns] == ["Tile(fp32, [_R, 64])"]
    shapes = [str(graph.streams[index].type) for index in graph.returns]
    assert shapes == [f"[#(route, {i})] of Tile(fp32, [1, 64*(F//64)])" for i in range(2)]
    assert_valid(result.programs[0])


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('[R, TF]))', '[step.any_size("S"), TF]))', "STEP226 nothing says what _S is: the output of up has it"),
        ("(D, M)", "(D, M)", ""),
        ('U = step.Tile("fp32", [1, D]), step.Tile("fp32", [R, D]), step.Tile("fp32", [D, TF])',
         'U = step.Tile("fp32", [1, D]), step.Tile("fp32", [R, D]), step.Tile("fp32", [D, R])',
         "STEP208 up takes other elements"),
    ],
)  # fmt: skip
def test_any_size_is_bound_once(old: str, new: str, said: str) -> None:
    found = messages(EXPERTS.replace(old, new), "moe.py")
    assert all(item.startswith(said) for item in found), found
    assert bool(found) == bool(said)


def edited(text: str, at: str, new: str) -> str:
    analysis = analyze(text, "open.step.yaml")
    return apply_edits(text, rename(analysis, text.index(at) + 1, new))


def test_an_editor_knows_dynamic_and_ragged_sizes() -> None:
    assert edited(TASK, '~L", N', "Rows") == TASK.replace("~L", "~Rows")
    assert edited(TASK, '?T": {', "?Tiles") == TASK.replace("?T", "?Tiles")
    assert edited(TASK, "_R, D", "_S") == TASK.replace("_R", "_S")
    with pytest.raises(IdeError, match="no name"):
        edited(TASK, '~L", N', "?T")
    analysis = analyze(TASK, "open.step.yaml")
    found = [hover(analysis, TASK.index(at) + 1) for at in ('~L", N', '?T": {', "_R, D", "?Y")]
    texts = [item.markdown for item in found if item is not None]
    assert [text.splitlines()[4].partition(":")[0] for text in texts] == [
        "A size that the data decide, ragged", "A size that the data decide, dynamic", "Any size",
        "A size that the data decide, dynamic",
    ]  # fmt: skip
    assert "From 0 to 4." in texts[0] and "Values: (3,)." in texts[1]
    body = TASK.index("E3 = step")
    assert not [item for item in completions(analysis, body) or () if item.label[:1] in "?~"]


MERGED = """\
test_name: merged
sizes: {"~L": {max: 4}}
inputs:
- {name: E0, dtype: fp32, dims: ["~L", N]}
- {name: E1, dtype: "Multihot(fp32, 2)", dims: [N], min: 1, max: 2}
fns:
- {func_name: fn_add, init: [0], input_dtype: fp32, output_dtype: fp32, apply: "return [state[0] + input[0]]"}
outputs:
- {name: S0, dtype: fp32, dims: ["~L", N]}
impl: |-
  E2, E3 = step.Copy().apply(E1)
  A, B = step.Partition(N=2).apply((E0, E2))
  return step.Merge(fn=fn_add).apply(([A, B], E3))
"""


def test_what_a_selector_parted_it_joins_again() -> None:
    assert messages(MERGED) == []
    (crossed,) = messages(MERGED.replace("[A, B]", "[B, A]"))
    assert crossed.startswith("STEP207 branch A differs from B") and "~L@(E1, 0): those values of ~L" in crossed


def test_chunks_side_by_side_have_the_sizes_that_they_had_before() -> None:
    text = MERGED.replace("step.Merge(fn=fn_add)", "step.Reassemble()").replace(
        'dims: ["~L", N]}\nimpl', 'dims: ["~L", "~m", N]}\nimpl'
    )
    assert messages(text) == []
    assert messages(text.replace('"~L", "~m", N', '"~X", "~m", N')) == []
