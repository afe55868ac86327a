"""Inlay hints, semantic tokens, outline, folding and the list of programs."""

from __future__ import annotations

from pathlib import Path

import pytest

from ide_marks import HEAD, marked, program, task
from stepcore.ide.analysis import analyze
from stepcore.ide.inlay import inlay_hints
from stepcore.ide.model import Symbol
from stepcore.ide.outline import folding, symbols
from stepcore.ide.programs import fingerprint, programs
from stepcore.ide.tokens import tokens
from stepcore.text.span import Span
from test_ide_navigation import path_of

ROOT = Path(__file__).parents[1]

# The body of a program with «hints» where they are expected.
HINTS = {
    "one": program("E1«: [M, N] of fp32» = step.Map(fn=double).apply(E0)\nreturn E1"),
    "unpacking": program("A«: [M, N] of fp32», B«: [M, N] of fp32» = step.Copy().apply(E0)\nreturn A"),
    "pair in one name": program("AB«: 2 × [M, N] of fp32» = step.Copy().apply(E0)\nreturn AB[0]"),
    "alias": program("A«: [M, N] of fp32» = E0\nreturn A"),
    "unknown type": program("A = step.Promote(b=9).apply(E0)\nB = step.Map(fn=double).apply(A)\nreturn B"),
    "no stream": program("b = 1\nreturn step.Accum(fn=add, b=b).apply(E0)"),
    "loop": program("for i in range(2):\n    E0«: [1, M, N] of fp32 ...» = step.Promote(b=0).apply(E0)\nreturn E0"),
    "different items": program(
        "xs«: ([M, N] of fp32, [1, M, N] of fp32)» = [E0, step.Promote(b=0).apply(E0)]\nreturn xs"
    ),
    "half-typed line": program("A«: [M, N] of fp32» = step.Map(fn=double).apply(E0)\nB = step.Map(fn=\nreturn A"),
    "called helper": program(
        "def f(s):\n    t«: [M, N] of fp32» = step.Map(fn=double).apply(s)\n    return t\nreturn f(E0)"
    ),
    "task": task("E1«: [M, N] of fp32» = step.Map(fn=fn_scale).apply(E0)\nreturn E1"),
    "branches": task(
        "xs«: 3 × [M, #(S1, i)] of Buffer(fp32, [L])» = step.Partition(N=3).apply((E0, S1))\n"
        "y«: [M, #(S1, 1)] of fp32» = step.Map(fn=fn_scale).apply(xs[1])\nreturn y"
    ),
    "CJK and emoji": program('x = "🙂流"; A«: [M, N] of fp32» = E0\nreturn A'),
}


@pytest.mark.parametrize("text", HINTS.values(), ids=HINTS.keys())
def test_inlay_hints(text: str) -> None:
    expected = text
    plain = "".join(part.rsplit("»", 1)[-1] for part in text.split("«"))
    analysis = analyze(plain, path_of(plain))
    hints = inlay_hints(analysis, Span(0, len(plain)))
    shown, position = "", 0
    for hint in hints:
        shown += f"{plain[position : hint.offset]}«{hint.label}»"
        position = hint.offset
        assert hint.tooltip.startswith("Data: `(")
    assert shown + plain[position:] == expected
    for hint in hints:
        assert inlay_hints(analysis, Span(hint.offset, hint.offset)) == [hint]


def roles(text: str, path: str) -> str:
    """Return the last line that has tokens, each name with its role; ``!`` declares, ``†`` is spent."""
    case = marked(text, path)
    start, end = case.spans[0]
    return " ".join(
        f"{case.text[token.span.start : token.span.end]}:{token.kind.value}"
        + "!" * token.is_declaration
        + "†" * token.is_spent
        for token in tokens(case.analysis, Span(start, end))
    )


TOKENS = {
    "application": (
        program("«E1 = step.Map(fn=double).apply(E0)»\nreturn E1"),
        "E1:stream! step:module Map:operator fn:parameter double:function E0:stream†",
    ),
    "after its last consumption": (
        program("E1 = step.Map(fn=double).apply(E0)\n«return E0, E1»"),
        "E0:stream† E1:stream†",
    ),
    "not consumed": (program("E1, E2 = step.Copy().apply(E0)\n«A = E1»\nreturn E2"), "A:stream! E1:stream"),
    "list, partly consumed": (
        program("xs = [*step.Copy().apply(E0)]\n«A = step.Map(fn=double).apply(xs[0])»\nB = xs[1]\nreturn B"),
        "A:stream! step:module Map:operator fn:parameter double:function xs:stream",
    ),
    "list, consumed": (
        program("xs = [*step.Copy().apply(E0)]\nA = step.Map(fn=double).apply(xs[0])\n«return xs[1]»"),
        "xs:stream†",
    ),
    "handed to a helper": (
        program("def f(s):\n    return step.Map(fn=double).apply(s)\n«return f(E0)»"),
        "f:helper E0:stream†",
    ),
    "rebound": (
        program("«E0 = step.Map(fn=double).apply(E0)»\nreturn E0"),
        "E0:stream! step:module Map:operator fn:parameter double:function E0:stream†",
    ),
    "branches may each consume it": (
        program(
            "if E0:\n    A = step.Map(fn=double).apply(E0)\nelse:\n    «A = step.Map(fn=double).apply(E0)»\nreturn A"
        ),
        "A:stream! step:module Map:operator fn:parameter double:function E0:stream†",
    ),
    "broken line": (
        program("«E1 = step.Map(fn=double.apply(E0»\nreturn E0"),
        "E1:variable! step:module Map:operator double:function E0:stream",
    ),
    "decorator": (
        HEAD.replace(
            "@step.program(reference=reference, dims={M: 5, N: 7})", "«@step.program(reference=reference, dims={M: 5})»"
        )
        + "    return E0\n",
        "step:module program:type reference:parameter reference:helper dims:parameter M:size",
    ),
    "head": (
        HEAD.replace(
            "def program(E0: Annotated[step.Stream, step.f32, (M, N)])",
            "«def program(E0: Annotated[step.Stream, ROW, (M, N)])»",
        )
        + "    return E0\n",
        "program:program! E0:stream! Annotated:type step:module Stream:type ROW:type M:size N:size",
    ),
    "input of a task": (
        task("return E0").replace(
            '- {name: E0, dtype: "Buffer(fp32, [L])", dims: [M, N], data_gen: torch.randn}',
            '«- {name: E0, dtype: "Buffer(fp32, [L])", dims: [M, N], data_gen: torch.randn}»',
        ),
        "name:key E0:stream! dtype:key Buffer:type fp32:type L:size dims:key M:size N:size "
        "data_gen:key torch.randn:value",
    ),
    "body in a task": (
        task("return E0").replace(
            "return [part.sum() * input_data['W'].sum() * L_value]",
            "«return [part.sum() * input_data['W'].sum() * L_value]»",
        ),
        "part:variable W:weight L:size",
    ),
    "impl": (
        task("«return step.Map(fn=fn_scale).apply(E0)»"),
        "step:module Map:operator fn:parameter fn_scale:function E0:stream†",
    ),
    "init": (task("return E0").replace("init: [0]", "«init: [0]»"), "init:key 0:value"),
    "output": (task("return E0").replace("- name: R0", "«- name: R0»"), "name:key R0:output!"),
}


@pytest.mark.parametrize(("text", "expected"), TOKENS.values(), ids=TOKENS.keys())
def test_tokens(text: str, expected: str) -> None:
    assert roles(text, path_of(text)) == expected


def test_tokens_follow_an_edit_before_them() -> None:
    text = program("E1 = step.Map(fn=double).apply(E0)\nreturn E1")
    first = analyze(text, "file.py")
    before = tokens(first)
    moved = text.replace("import stepcore as step", "# a comment\nimport stepcore as step")
    after = tokens(analyze(moved, "file.py", previous=first))
    assert [text[t.span.start : t.span.end] for t in before] == [moved[t.span.start : t.span.end] for t in after]
    assert [t.kind for t in before] == [t.kind for t in after] == [t.kind for t in tokens(analyze(moved, "file.py"))]
    assert [text[t.span.start : t.span.end] for t in tokens(first)] == [text[t.span.start : t.span.end] for t in before]


def tree(found: list[Symbol] | tuple[Symbol, ...], text: str, indent: str = "") -> list[str]:
    rows = []
    for symbol in found:
        name = text[symbol.selection.start : symbol.selection.end]
        assert name in (symbol.name, "")
        detail = f" ({symbol.detail})" if symbol.detail else ""
        rows.append(f"{indent}{symbol.kind.value} {symbol.name}{detail}")
        rows += tree(symbol.children, text, indent + "  ")
    return rows


def test_symbols_of_a_python_file() -> None:
    text = program("A, B = step.Copy().apply(E0)\nreturn A")
    assert tree(symbols(analyze(text, "file.py")), text) == [
        "type ROW (Buffer(fp32, [D]))",
        "function double (fp32 -> fp32)",
        "function add (fp32 -> fp32)",
        "helper reference",
        "program program (program)",
        "  stream E0 ([M, N] of fp32)",
        "  stream A ([M, N] of fp32)",
        "  stream B ([M, N] of fp32)",
    ]


def test_symbols_of_a_task() -> None:
    text = task("E1 = step.Map(fn=fn_scale).apply(E0)\nreturn E1")
    assert tree(symbols(analyze(text, "file.yaml")), text) == [
        "key test_name",
        "key global",
        "key inputs",
        "  stream E0 (Buffer(fp32, [L]))",
        "  stream S1 (Multihot(fp32, L))",
        "key parameters",
        "  weight W (fp32)",
        "key fns",
        "  function fn_scale (Buffer(fp32, [L]) -> fp32)",
        "  function fn_add (fp32 -> fp32)",
        "key outputs",
        "  output R0 (fp32)",
        "program impl",
        "  stream E1 ([M, N] of fp32)",
    ]


def folded(text: str, path: str) -> list[str]:
    """Return the first and last line of each region."""
    lines = text.split("\n")
    found = folding(analyze(text, path))
    assert all(item.start < item.end < len(lines) for item in found)
    return [f"{lines[item.start].strip()} ... {lines[item.end].strip()}" for item in found]


def test_folding_of_a_python_file() -> None:
    text = "# one\n# two\n" + program("E1 = step.Map(\n    fn=double,\n).apply(E0)\nfor i in []:\n    pass\nreturn E1")
    assert folded(text, "file.py") == [
        "# one ... # two",
        "from typing import Annotated ... from stepcore.dims import D, K, M, N",
        "@step.fn(input=step.f32, output=step.f32) ... return [input[0] * 2]",
        "@step.fn(input=step.f32, output=step.f32, init=[0]) ... return [state[0] + input[0]]",
        "def reference(x): ... return x.sum(-1)",
        "@step.program(reference=reference, dims={M: 5, N: 7}) ... return E1",
        "E1 = step.Map( ... ).apply(E0)",
        "for i in []: ... pass",
    ]


def test_folding_of_a_task() -> None:
    found = folded(task("E1 = step.Map(\n  fn=fn_scale,\n).apply(E0)\nreturn E1"), "file.yaml")
    assert "impl: | ... return E1" in found
    assert "E1 = step.Map( ... ).apply(E0)" in found
    assert "- func_name: fn_add ... return [state[0] + input[0]]" in found
    assert "global: | ... gain = 2.0" in found


def test_programs() -> None:
    text = program("return step.Accum(fn=add, b=1).apply(E0)") + (
        "\n\n@step.program(name='second')\ndef other(E0: Annotated[step.Stream, step.f32, (M,)]):\n"
        "    return step.Promote(b=7).apply(E0)\n"
    )
    analysis = analyze(text, "folder/file.py")
    first, second = programs(analysis)
    assert (first.name, first.target) == ("program", "folder/file.py::program")
    assert (first.has_reference, first.is_runnable) == (True, True)
    assert text[first.head.start : first.head.end] == "@step.program(reference=reference, dims={M: 5, N: 7})"
    assert text[first.span.start : first.span.end].endswith("apply(E0)")
    assert (second.name, second.has_reference, second.is_runnable) == ("second", False, False)
    assert fingerprint(analysis, first) != fingerprint(analysis, second)


def test_the_program_of_a_task() -> None:
    text = task("E1 = step.Map(fn=fn_scale).apply(E0)\nreturn step.Accum(fn=fn_add, b=1).apply(E1)")
    (info,) = programs(analyze(text, "folder/sums.step.yaml"))
    assert (info.name, info.target) == ("sums", "folder/sums.step.yaml::sums")
    assert (info.has_reference, info.is_runnable) == (True, True)
    assert text[info.head.start : info.head.end] == "impl"
    affine = text.replace("apply(E1)", "apply(E1), E1")
    assert programs(analyze(affine, "sums.step.yaml"))[0].is_runnable is False  # two outputs instead of one
    twice = text.replace("apply(E0)\n", "apply(E0)\n  E2 = step.Map(fn=fn_scale).apply(E0)\n")
    assert programs(analyze(twice, "sums.step.yaml"))[0].is_runnable is True  # affine findings do not stop a run


def test_a_task_without_impl_has_no_program() -> None:
    text = task("return E0").replace("impl: |\n  return E0\n", "")
    assert programs(analyze(text, "sums.step.yaml")) == []
