"""Completion puts first what fits and is free; signature help knows the call around the cursor."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ide_cases import in_python, in_task
from server_texts import GOOD, HEAD
from stepcore.findings.diagnostics import apply_edits
from stepcore.ide.analysis import Analysis, analyze
from stepcore.ide.completion import completions
from stepcore.ide.model import Completion, Kind
from stepcore.ide.signature import signature

ROOT = Path(__file__).parents[1]


def complete(body: str, *, snippets: bool = False, task: bool = False) -> list[Completion]:
    analysis, offset = (in_task if task else in_python)(body)
    found = completions(analysis, offset, snippets=snippets)
    assert [item.sort_text for item in found] == sorted(item.sort_text for item in found)
    return found


@pytest.mark.parametrize(
    ("body", "first"),
    [
        ("c = step.Accum(fn=, b=).apply(|)", ["a", "b"]),
        ("c = step.Accum(fn=, b=1).apply(|\nreturn c", ["a", "b"]),
        ("c = step.Zip().apply((, |))", ["a", "b"]),
        ("c = step.Zip().apply((|, ))", ["a", "b"]),
        ("c = step.Map(fn=|).apply()", ["double", "keep"]),
        ("c = step.Map(fn=double).apply(|)\nreturn c", ["a", "b"]),
        ("c = step.Map(fn=keep).apply(|)\nreturn c", ["b", "a"]),
        ("c = step.Map(fn=keep).apply(|\nreturn c", ["b", "a"]),
        ("c, d = step.Copy().apply(a)\ne = step.Map(fn=double).apply(|)", ["c", "d"]),
        ("c = step.Zip().apply((a, |))", ["b"]),
        ("c = step.Zip().apply((a, |", ["b"]),
        ("c = step.Map(fn=|).apply(a)\nreturn c", ["double"]),
        ("c = step.Map(fn=|).apply(b)\nreturn c", ["keep"]),
        ("c = step.Accum(fn=|, b=1).apply(a)\nreturn c", ["add"]),
        ("c = step.Accum(|)", ["fn=", "b="]),
        ("c = step.Accum(fn=add, |)", ["b="]),
        ("c = step.Map(fn=double).|", ["apply"]),
        ("c = step.Map(fn=double).apply(a)\nreturn |", ["c", "b"]),
        ("c = step.Repeat(n=|).apply(a)", ["D", "M", "N"]),
        ("for s in [a]:\n    c = step.Map(fn=double).apply(|)", ["s", "a"]),
    ],
)
def test_the_likeliest_come_first(body: str, first: list[str]) -> None:
    assert [item.label for item in complete(body)][: len(first)] == first


def test_programs_of_a_broken_file_come_in_one_order() -> None:
    # Sixteen names in a set come in the order of a process's hashes: one in 16! of these is that of the alphabet.
    names = [f"program_{number:02}" for number in range(16)]
    text = f"import stepcore as step\n{HEAD[HEAD.index('@') :]}\n]\n"
    text += "".join(GOOD.replace("good", name) for name in names)
    labels = [item.label for item in completions(analyze(text, "x.py"), 0, snippets=False)]
    assert [label for label in labels if label in names] == names


def test_a_consumed_stream_comes_last_and_says_so() -> None:
    found = {item.label: item for item in complete("c = step.Map(fn=double).apply(a)\nd = step.Copy().apply(|)")}
    assert not found["c"].is_spent
    assert found["a"].is_spent
    assert "consumed already" in found["a"].detail
    assert found["c"].sort_text < found["b"].sort_text < found["a"].sort_text or not found["b"].is_spent


def test_the_stream_that_is_being_assigned_is_not_offered() -> None:
    assert "c" not in [item.label for item in complete("c = step.Map(fn=double).apply(|)")]


def test_operators_after_the_module() -> None:
    found = {item.label: item for item in complete("c = step.|", snippets=True)}
    assert found["Accum"].kind is Kind.OPERATOR
    assert found["Accum"].is_snippet
    assert found["Accum"].edit.text == "Accum(fn=${1:add}, b=${2:1}).apply($0)"
    assert found["Map"].edit.text == "Map(fn=${1|double,keep|}).apply($0)"
    assert found["Repeat"].edit.text == "Repeat(n=${1|D,M,N|}).apply($0)"
    assert found["Zip"].edit.text == "Zip().apply(($1, $2))"
    assert found["Zip"].asks and not found["Map"].asks  # choices open by themselves
    assert {item.label for item in complete("c = step.|")} == set(found)
    assert found["Zip"].documentation and found["Zip"].detail


def test_the_typed_word_is_replaced() -> None:
    analysis, offset = in_python("c = step.Acc|um")
    item = next(item for item in completions(analysis, offset) if item.label == "Accum")
    assert apply_edits(analysis.source.text, [item.edit]).count("step.Accum") == 1


def test_task_files_know_their_inputs_and_functions() -> None:
    found = complete("E2 = step.Map(fn=|).apply(E0)\nreturn E2", task=True)
    assert found[0].label == "double"
    labels = [item.label for item in complete("return step.Map(fn=double).apply(|)", task=True)]
    assert labels[:2] == ["E0", "E1"]


def body_of_function(text: str, old: str, new: str) -> list[str]:
    before = text.index(old) + new.index("|")
    changed = text.replace(old, new.replace("|", ""), 1)
    return [item.label for item in completions(analyze(changed, "case.py"), before)]


def test_function_bodies_offer_their_arguments_and_the_closed_language() -> None:
    analysis, _ = in_python("return a|")
    text = analysis.source.text
    assert {"state", "input"} <= set(body_of_function(text, "top = state[0] + input[0]", "top = |")[:2])
    assert "maximum" in body_of_function(text, "top = state[0] + input[0]", "top = torch.|")
    assert "Zip" not in body_of_function(text, "top = state[0] + input[0]", "top = torch.|")
    assert "sum" in body_of_function(text, "top = state[0] + input[0]", "top = input[0].|")


def test_decorators_and_imports() -> None:
    analysis, _ = in_python("return a|")
    text = analysis.source.text
    assert body_of_function(text, "@step.program(", "@step.p|(")[:2] == ["program", "fn"]
    assert "reference=" in body_of_function(text, "@step.program(reference=reference, ", "@step.program(|, ")
    assert "init=" in body_of_function(text, "@step.fn(input=ROW, ", "@step.fn(input=ROW, |, ")
    assert body_of_function(text, "import D, M, N", "import |") == ["M", "N", "K", "D", "E"]


# Half-typed declarations at the end of a file, as one writes them, and what comes first.
DECLARED = [
    ("@|", ["step.program", "step.fn"]),
    ("@step.|", ["program", "fn"]),
    ("@step.|\n\nSIZE = 3\n", ["program", "fn"]),
    ("@step.fn(|", ["input=", "output=", "init=", "name="]),
    ("@step.fn(|)", ["input=", "output=", "init=", "name="]),
    ("@step.fn(input=ROW, |)", ["output=", "init=", "name="]),
    ("@step.fn(input=|)", ["ROW", "step.f32", "step.Buffer"]),
    ("@step.fn(input=|)\ndef f(input):\n    return input\n", ["ROW", "step.f32"]),
    ("@step.fn(input=ROW, output=ROW, init=|)", ["[0]", "[1]", "[-1]", '["-inf"]']),
    ("@step.program(|", ["reference=", "dims=", "name="]),
    ("@step.program(\n    |\n)\n", ["reference=", "dims=", "name="]),
    ("@step.program(reference=|", ["reference"]),
    ("@step.program(reference=reference, dims={|", ["D", "M", "N"]),
    ("@step.program(reference=reference, dims={M: 5, |})", ["D", "N"]),
    ("@step.program()\ndef p(x: |", ["Annotated[step.Stream, ...]", "Annotated[step.Param, ...]"]),
    ("@step.program()\ndef p(x: Annotated[|", ["step.Stream", "step.Param"]),
    ("@step.program()\ndef p(x: Annotated[step.|])", ["Stream", "Param", "f32"]),
    ("@step.program()\ndef p(x: Annotated[step.Stream, |", ["ROW", "step.f32"]),
    ("@step.program()\ndef p(x: Annotated[step.Stream, step.|", ["f32", "Buffer", "Multihot"]),
    ("@step.program()\ndef p(x: Annotated[step.Stream, step.f32, (|", ["D", "M", "N"]),
    ("@step.program()\ndef p(x) -> |:\n    return x\n", ["Annotated[step.Stream, ...]"]),
    ("COLUMN = step.|", ["f32", "Buffer", "Multihot", "STuple"]),
    ("COLUMN = step.Buffer(|", ["step.f32"]),
    ("COLUMN = step.Buffer(step.f32, [|", ["D", "M", "N"]),
    ("PAIR = step.STuple((step.f32, |))", ["ROW", "step.f32"]),
]


def declared(text: str) -> tuple[Analysis, int]:
    head = in_python("return a|")[0].source.text + "\n\n"
    before, after = text.split("|")
    return analyze(head + before + after, "case.py"), len(head) + len(before)


@pytest.mark.parametrize(("text", "first"), DECLARED)
def test_declarations(text: str, first: list[str]) -> None:
    found = completions(*declared(text), snippets=True)
    assert [item.label for item in found][: len(first)] == first


# A program over tiles whose last line, or what stands behind it, is half typed.
TILED = """\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import D, F, M

TM = 16
T, U = step.Tile("fp32", [TM, D]), step.Tile("fp32", [D, F])


@step.fn(input=(T, U), output=step.Tile("fp32", [TM, F]))
def up(input):
    return [input[0] @ input[1]]


def reference(x: torch.Tensor, w: torch.Tensor) -> torch.Tensor:
    return (x @ w).reshape(-1, TM, w.shape[1])


@step.program(reference=reference, dims={M: 64, D: 32, F: 8})
def tiled(
    *, x: Annotated[step.Param, step.f32, (D, M)], w: Annotated[step.Param, step.f32, (F, D)]
) -> Annotated[step.Stream, step.Tile("fp32", [TM, F]), (M // TM,)]:
    rows = step.LinearOffChipLoad(tensor=x, tile=[TM, D], shape=[M // TM], stride=[1]).apply()
"""
IN_TILED = [
    ("    cols = step.LinearOffChipLoad(tensor=|)", ["x", "w"]),
    ("    cols = step.LinearOffChipLoad(tensor=w, tile=[|])", ["D", "F", "M", "TM"]),
    ("    cols = step.LinearOffChipLoad(tensor=w, tile=[D, |", ["D", "F", "M", "TM"]),
    ("    cols = step.LinearOffChipLoad(tensor=w, tile=[D, F], shape=[M // |], stride=[1])", ["D", "F", "M", "TM"]),
    ("    more = step.Repeat(n=M // |).apply(rows)", ["D", "F", "M", "TM"]),
    ("    more = step.Repeat(n=-|).apply(rows)", ["D", "F", "M", "TM"]),
    ("    more = step.Map(fn=up).apply((rows, |))", ["rows"]),
    ("    more = step.Retile(axis=|).apply(rows)", ["0", "1"]),
    ("    more = step.RetileStreamify(axis=|).apply(rows)", ["0", "1"]),
    ("\nMORE = step.Tile(|)", ["step.f32", "step.Scalar", "step.bf16"]),
    ("\nMORE = step.Tile(step.|)", ["f32", "Scalar", "bf16"]),
    ("\nMORE = step.Tile(step.f32, [TM, |])", ["D", "F", "M", "TM"]),
    ("\nMORE = step.Buffer(|)", ["T", "U", "step.f32"]),
]


@pytest.mark.parametrize(("text", "first"), IN_TILED)
def test_programs_over_tiles(text: str, first: list[str]) -> None:
    before, after = (TILED + text).split("|")
    found = completions(analyze(before + after, "case.py"), len(before), snippets=True)
    assert [item.label for item in found][: len(first)] == first


def test_where_a_number_is_wanted_nothing_else_is_proposed() -> None:
    for text in ("\nMORE = step.Tile(step.|)", "    a = step.Repeat(n=M // |).apply(rows)"):
        before, after = (TILED + text).split("|")
        labels = {item.label for item in completions(analyze(before + after, "case.py"), len(before))}
        assert not labels & {"T", "step.Buffer", "Buffer", "Map", "tiled", "torch", "up"}, (text, labels)


def test_types_come_before_operators_where_no_program_is() -> None:
    labels = [item.label for item in completions(*declared("COLUMN = step.|"))]
    assert labels.index("Symbol") < labels.index("Map")


def test_decorators_take_names_only_by_keyword() -> None:
    assert all(item.label.endswith("=") for item in completions(*declared("@step.fn(|)")))


def test_no_snippet_writes_the_name_of_a_parameter_as_its_value() -> None:
    for body in ("c = step.|", "c = step.|\nreturn c"):
        for item in complete(body, snippets=True):
            assert not re.search(r"(\w+)=\$\{\d+:\1\}", item.edit.text), item.edit.text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("inputs:\n  - |", ["name", "dtype", "dims"]),
        ("inputs:\n  - name: E0\n    |", ["dtype", "dims", "data_gen"]),
        ("inputs:\n  - name: E0\n    dtype: |", ["Buffer(fp32, [N])", "Multihot(fp32, E)", "fp32"]),
        ("fns:\n  - func_name: f\n    in|", ["input_dtype", "output_dtype", "apply"]),
        ("inputs:\n  - name: E0\n    dtype: fp32\n    dims: [M]\n    data_gen: |", ["torch.rand", "torch.randn"]),
        ("inputs: []\n|", ["outputs", "test_name", "global"]),
    ],
)
def test_keys_and_values_of_task_files(text: str, expected: list[str]) -> None:
    text += "\noutputs: []\nimpl: |\n  return E0\n" if "inputs: []" not in text else ""
    offset = text.index("|")
    analysis = analyze(text[:offset] + text[offset + 1 :], "case.yaml")
    if analysis.kind == "none":  # with one key only the file is not yet known as a task
        analysis = analyze(text[:offset] + text[offset + 1 :] + "\noutputs: []\n", "case.yaml")
    assert [item.label for item in completions(analysis, offset)][: len(expected)] == expected


@pytest.mark.parametrize(
    ("body", "label", "active"),
    [
        ("c = step.Accum(fn=add, b=|)", "Accum(fn=..., b=..., depth=..., bw=...)", 1),
        ("c = step.Accum(|)", "Accum(fn=..., b=..., depth=..., bw=...)", None),
        ("c = step.Repeat(|", "Repeat(n=..., depth=...)", 0),
        ("c = step.Zip().apply(|", "Zip(...).apply((first, second))", 0),
        ("c = step.Merge(fn=add).apply(([a], |", "Merge(...).apply(([branch, ...], selector))", 0),
    ],
)
def test_signatures(body: str, label: str, active: int | None) -> None:
    analysis, offset = in_python(body)
    found = signature(analysis, offset)
    assert found is not None
    assert (found.label, found.active) == (label, active)
    assert found.documentation


@pytest.mark.parametrize(
    ("text", "label", "active"),
    [
        ("@step.fn(|", "step.fn(input=..., output=..., init=..., name=...)", None),
        ("@step.fn(input=ROW, output=|)", "step.fn(input=..., output=..., init=..., name=...)", 1),
        ("@step.program(reference=reference, dims={|", "step.program(reference=..., dims=...", 1),
        ("COLUMN = step.Buffer(|", "step.Buffer(element, sizes)", 0),
        ("COLUMN = step.Buffer(step.f32, [|])", "step.Buffer(element, sizes)", 1),
        ("@step.fn(input=step.Buffer(step.f32, [|", "step.Buffer(element, sizes)", 1),
        ("SELECTOR = step.Multihot(step.f32, |", "step.Multihot(scalar, length)", 1),
    ],
)
def test_signatures_of_declarations(text: str, label: str, active: int | None) -> None:
    found = signature(*declared(text))
    assert found is not None
    assert found.label.startswith(label)
    assert found.active == active
    assert found.documentation and all(doc for _, doc in found.parameters)


def test_no_signature_outside_of_calls() -> None:
    analysis, offset = in_python("c = |a\nreturn c")
    assert signature(analysis, offset) is None


SOME = [*sorted(ROOT.glob("examples/*.py"))[:3], *sorted(ROOT.glob("benchmarks/tasks/*.yaml"))[:3]]


@pytest.mark.parametrize("path", SOME, ids=lambda path: path.name)
def test_every_place_answers(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    analysis = analyze(text, str(path))
    for offset in range(0, len(text) + 1, 13):
        for item in completions(analysis, offset, snippets=True):
            assert item.label and 0 <= item.edit.span.start <= offset <= item.edit.span.end <= len(text)
        signature(analysis, offset)


def test_the_same_question_has_the_same_answer_and_another_one_its_own() -> None:
    analysis, offset = in_python("c = step.|\nreturn c")
    first = completions(analysis, offset, snippets=True)
    kept = list(first)
    first.clear()  # what somebody does with a list is the own affair
    assert completions(analysis, offset, snippets=True) == kept
    assert not any(item.is_snippet for item in completions(analysis, offset))
    assert completions(analysis, offset - len("step."), snippets=True) != kept
    assert completions(analysis, offset, snippets=True) == kept
