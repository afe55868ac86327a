"""Reading task files: exact spans, every finding with its place, and nothing that breaks or blocks the reader."""

from __future__ import annotations

import random
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stepcore.findings.diagnostics import Diagnostic, apply_edits
from stepcore.fn.decl import CodeBlock
from stepcore.frontend.typetext import parse_size, parse_type
from stepcore.frontend.yaml.tasks import read_task, too_large
from stepcore.graph.task import TaskFile, find_tasks, impl_path, task_name
from stepcore.sizes.dim import Dim
from stepcore.text.span import SourceFile, Span
from stepcore.types import Buffer, Multihot, Scalar, STuple

BENCHMARKS = sorted((Path(__file__).parent.parent / "benchmarks" / "tasks").glob("*.step.yaml"))
TASK = """\
test_name: scaled rows
global: |
  gelu = torch.nn.GELU()
  E_value = 3
  ctx[E] = E_value
inputs:
- {name: E0, dtype: "Buffer(fp32, [K])", dims: [M, N], data_gen: torch.randn}
- {name: E1, dtype: "Multihot(fp32, E)", dims: [M, N], min: 0, max: 2}
parameters:
- {name: W, dtype: fp32, dims: [K, K], data_gen: torch.rand}
fns:
- name: Sum
  func_name: fn_sum
  init: [0, "-inf"]
  input_dtype: Buffer(fp32, [K])
  output_dtype: [fp32, "Buffer(fp32, [K*2])"]
  apply: |
    y = gelu(input[0])

    return [state[0] + y.sum(), state[1]]
outputs:
- name: S0
  dtype: [fp32, "Buffer(fp32, [K*2])"]
  dims: [N]
  data_transform:
  - |
    x = input_data['E0']
    x.sum(1)
  - x.sum(0)
constraints: free text
impl: |-
  E2 = step.Accum(fn=fn_sum, b=1).apply(E0)
  return E2
"""
INPUT = "- {name: E0, dtype: fp32, dims: [M]}\n"
OUTPUT = "- {name: S0, dtype: fp32, dims: [M]}\n"
FN = "- {name: F, func_name: f, input_dtype: fp32, output_dtype: fp32, apply: 'return [input[0]]'}\n"


def make(inputs: str = INPUT, outputs: str = OUTPUT, fns: str = FN, more: str = "") -> str:
    """A small task of which one part is replaced."""
    return f"{more}inputs:\n{inputs}fns:\n{fns}outputs:\n{outputs}impl: |\n  return E0\n"


def read(text: str) -> TaskFile:
    return read_task(text, "folder/small.step.yaml")


def found(task: TaskFile) -> list[tuple[str, str]]:
    """The findings as pairs of code and underlined text."""
    return [(finding.code, task.source.slice(finding.span)) for finding in task.diagnostics]


def blocks(task: TaskFile) -> list[CodeBlock]:
    assert task.spec is not None
    outputs = task.spec.outputs or ()
    candidates = [task.spec.scope.prelude, task.impl, *(fn.body for fn in task.spec.fns)]
    return [b for b in (*candidates, *(t for out in outputs for t in out.transforms)) if b is not None]


def assert_exact(block: CodeBlock, text: str) -> None:
    """Every line of a block is found at its offset in the file."""
    assert block.source.verbatim
    lines = block.source.text.split("\n")
    assert len(lines) == len(block.source.line_offsets)
    position = 0
    for number, line in enumerate(lines):
        start = block.source.line_offsets[number]
        assert text[start : start + len(line)] == line
        assert block.source.to_outer(position) == min(start, block.source.outer.end)
        position += len(line) + 1


def calls(function: Callable[[], object]) -> int:
    """Count the calls that ``function`` makes: how much work it is, whatever the machine is doing."""
    count = 0

    def on_event(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(on_event)
    try:
        function()
    finally:
        sys.setprofile(None)
    return count


class TestWholeFile:
    def test_everything_is_read(self) -> None:
        task = read(TASK)
        spec = task.spec
        assert task.diagnostics == []
        assert spec is not None
        assert (task.name, spec.name, task.test_name, task.constraints) == (
            "small",
            "small",
            "scaled rows",
            "free text",
        )
        K, M, N = Dim.symbol("K"), Dim.symbol("M"), Dim.symbol("N")
        first, second = spec.inputs
        assert (first.name, first.type.element, first.type.shape) == ("E0", Buffer(Scalar(), [K]), (M, N))
        assert (first.data_gen, first.minimum, first.maximum) == ("torch.randn", None, None)
        assert second.type.element == Multihot(Scalar(), Dim.symbol("E"))
        assert (second.data_gen, second.minimum, second.maximum) == (None, 0, 2)
        assert [(p.name, p.type.shape, p.data_gen) for p in spec.parameters] == [("W", (K, K), "torch.rand")]
        (fn,) = spec.fns
        assert (fn.func_name, fn.label, fn.init, fn.has_state) == ("fn_sum", "Sum", (0.0, float("-inf")), True)
        assert fn.output == STuple([Scalar(), Buffer(Scalar(), [K * 2])])
        assert fn.body.arguments == ("state", "input")
        assert spec.outputs is not None
        assert [b.source.text for b in spec.outputs[0].transforms] == ["x = input_data['E0']\nx.sum(1)\n", "x.sum(0)"]
        assert dict(spec.fixed) == {"E": 3}
        assert dict(spec.defaults) == {"M": 5, "N": 7, "K": 9}
        assert spec.scope.parameters == ("W",)
        assert spec.scope.tensors == ("E0", "E1")
        assert spec.scope.symbols == ("M", "N", "K", "D", "E")

    def test_spans_point_at_their_text(self) -> None:
        task = read(TASK)
        spec = task.spec
        assert spec is not None
        cut = task.source.slice
        assert [cut(port.span) for port in spec.inputs] == ["E0", "E1"]
        assert [cut(port.type_span) for port in spec.inputs] == ['"Buffer(fp32, [K])"', '"Multihot(fp32, E)"']
        (fn,) = spec.fns
        assert (cut(fn.span), cut(fn.input_span)) == ("fn_sum", "Buffer(fp32, [K])")
        assert cut(fn.output_span) == '[fp32, "Buffer(fp32, [K*2])"]'
        assert fn.init_span is not None
        assert cut(fn.init_span) == '[0, "-inf"]'
        assert spec.outputs is not None
        assert cut(spec.outputs[0].span) == "S0"

    @pytest.mark.parametrize("change", ["plain", "crlf", "bom", "emoji", "cr"])
    def test_code_is_found_at_its_offsets(self, change: str) -> None:
        text = TASK
        if change in {"emoji", "bom"}:
            text = text.replace("free text", "四 🎉 free").replace("y = gelu", "y = '🎉四'; y = gelu")
        text = {"crlf": text.replace("\n", "\r\n"), "cr": text.replace("\n", "\r"), "bom": "\ufeff" + text}.get(
            change, text
        )
        task = read(text)
        assert task.diagnostics == []
        for block in blocks(task):
            plain = block.source.text
            lines = plain.split("\n")
            starts = block.source.line_offsets
            assert [text[s : s + len(line)] for s, line in zip(starts, lines, strict=True)] == lines
        assert task.impl is not None
        at = task.impl.source.text.index("E2", 5)
        assert text[task.impl.source.to_outer(at) :].startswith("E2")

    @pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.name.split(".")[0])
    def test_benchmarks_are_clean_and_exact(self, path: Path) -> None:
        text = path.read_text(encoding="utf-8")
        task = read_task(text, str(path))
        assert task.diagnostics == []
        for block in blocks(task):
            assert_exact(block, text)

    def test_answer_in_a_second_file(self) -> None:
        answer = "impl: |\n    return E1\n"
        task = read_task(TASK, "a.yaml", (answer, "answers/a.impl.yaml"))
        assert task.impl is not None
        assert task.impl.source.text == "return E1\n"
        assert task.impl_source.path == "answers/a.impl.yaml"
        assert_exact(task.impl, answer)
        assert task.impl_diagnostics == []

    def test_a_file_with_only_impl_is_an_answer(self) -> None:
        task = read("impl: |\n  return E0\n")
        assert (task.spec, task.diagnostics) == (None, [])
        assert task.impl is not None
        assert task.impl.source.text == "return E0\n"

    @pytest.mark.parametrize(
        ("answer", "code", "underlined"),
        [
            ("foo: 1\n", "STEP906", "f"),
            ("impl: [1]\n", "STEP907", "[1]"),
            ("impl: 'x\n", "STEP903", "x"),
            ("", "STEP906", ""),
        ],
    )
    def test_findings_of_the_second_file_point_there(self, answer: str, code: str, underlined: str) -> None:
        task = read_task(TASK, "a.yaml", (answer, "b.impl.yaml"))
        (finding,) = task.impl_diagnostics
        assert (finding.code, task.impl_source.slice(finding.span)) == (code, underlined)
        assert task.diagnostics == []
        assert task.impl is None


class TestFindings:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            # keys
            (make(more="inputs: []\n").replace("inputs: []\n", "", 1) + "inputs: []\n", [("STEP904", "inputs")]),
            (make("- {name: E0, name: E1, dtype: fp32, dims: [M]}\n"), [("STEP904", "name")]),
            (make(more="test_nam: x\n"), [("STEP905", "test_nam")]),
            (make("- {nam: E0, dtype: fp32, dims: [M]}\n"), [("STEP905", "nam")]),
            (make("- {name: E0, dtype: fp32}\n"), [("STEP906", "{name: E0, dtype: fp32}")]),
            (make("- name: E0\n  dtype: fp32\n"), [("STEP906", "name")]),
            ("inputs:\n" + INPUT, [("STEP906", "inputs")]),
            (make(outputs="- {name: S0, dtype: fp32, dims: [M], layout: [1, 0]}\n", more="source: a.py\n"), []),
            # kinds
            (make("  E0\n"), [("STEP907", "E0")]),
            (make("- E0\n"), [("STEP907", "E0")]),
            (make("- {name: E0, dtype: fp32, dims: M}\n"), [("STEP907", "M")]),
            (make("- {name: E0, dtype: fp32, dims: [[M]]}\n"), [("STEP907", "[M]")]),
            (make("- {name: E0, dtype: fp32, dims: []}\n"), [("STEP907", "[]")]),
            (make("- {name: 0E, dtype: fp32, dims: [M]}\n"), [("STEP907", "0E")]),
            (make("- {name: lambda, dtype: fp32, dims: [M]}\n"), [("STEP907", "lambda")]),
            (make("- {name: step, dtype: fp32, dims: [M]}\n"), [("STEP907", "step")]),
            (make("- {name: E0, dtype: fp32, dims: [M], data_gen: torch.rand2}\n"), [("STEP907", "torch.rand2")]),
            (make("- {name: E0, dtype: fp32, dims: [M], min: 1}\n"), [("STEP907", "1")]),
            (make('- {name: E0, dtype: "Multihot(fp32, 3)", dims: [M], min: -1}\n'), [("STEP907", "-1")]),
            (make('- {name: E0, dtype: "Multihot(fp32, 3)", dims: [M], min: 2, max: 1}\n'), [("STEP907", "1")]),
            (make('- {name: E0, dtype: "Multihot(fp32, 3)", dims: [M], max: many}\n'), [("STEP907", "many")]),
            (make(outputs="- {name: S0, dtype: fp32, dims: [M], data_transform: [a, b]}\n"), [("STEP907", "[a, b]")]),
            (make(outputs="- {name: S0, dtype: fp32, dims: [M], data_transform: a}\n"), [("STEP907", "a")]),
            (make(fns="- {func_name: f, input_dtype: fp32, output_dtype: fp32, apply: [1]}\n"), [("STEP907", "[1]")]),
            ("inputs:\noutputs:\n" + OUTPUT, [("STEP907", "inputs")]),
            ("inputs: []\noutputs:\n" + OUTPUT, [("STEP907", "[]")]),
            # types and sizes
            (make("- {name: E0, dtype: fp31, dims: [M]}\n"), [("STEP222", "fp31")]),
            (make("- {name: E0, dtype: 'Buffer(fp31, [K])', dims: [M]}\n"), [("STEP222", "fp31")]),
            (make("- {name: E0, dtype: 'Buffer(fp32, [K)', dims: [M]}\n"), [("STEP222", ")")]),
            (make("- {name: E0, dtype: fp32, dims: [M/2]}\n"), [("STEP222", "/")]),
            (make("- {name: E0, dtype: [], dims: [M]}\n"), [("STEP222", "[]")]),
            (make("- {name: E0, dtype: [fp32, [fp32]], dims: [M]}\n"), [("STEP222", "[fp32]")]),
            (make("- {name: E0, dtype: Multihot(fp32, K), dims: [M]}\n"), [("STEP222", "Multihot(fp32, K)")]),
            (make("- {name: E0, dtype: fp32, dims: [0]}\n"), [("STEP217", "0")]),
            (make("- {name: E0, dtype: fp32, dims: [M, -3]}\n"), [("STEP217", "-3")]),
            (make("- {name: E0, dtype: fp32, dims: [M, 2147483649]}\n"), [("STEP217", "2147483649")]),
            (make("- {name: E0, dtype: 'Buffer(fp32, [K//0])', dims: [M]}\n"), [("STEP217", "//")]),
            (make(more="global: |\n  ctx[M] = 0\n"), [("STEP217", "ctx[M]")]),
            (make(more="global: |\n  K_value = 'a'\n  ctx[K] = K_value\n"), [("STEP217", "ctx[K]")]),
            (make(more="global: |\n  Q = Symbol('Q')\n  ctx[Q] = -3\n"), [("STEP217", "ctx[Q]")]),
            (make("- {name: E0, dtype: fp32, dims: [M, Q, Q]}\n"), [("STEP225", "Q")]),
            # misspelt keys are read as what they mean
            ("inptus:\n" + INPUT + "outputs:\n" + OUTPUT, [("STEP905", "inptus")]),
            ("fns: []\ninput:\n" + INPUT + "outptus:\n" + OUTPUT, [("STEP905", "input"), ("STEP905", "outptus")]),
            (make("- {name: E0, dtype: fp32, shape: [M]}\n"), [("STEP905", "shape")]),
            (make("- {nmae: E0, type: fp32, dmis: [0]}\n"), [
                ("STEP905", "nmae"), ("STEP905", "type"), ("STEP905", "dmis"), ("STEP217", "0")]),
            (make(fns=FN.replace("func_name", "funcname")), [("STEP905", "funcname")]),
            (make("- {name: E0, dtype: 'Multihot(fp32, E)', dims: [M]}\n"), [("STEP225", "E")]),
            (make("- {name: E0, dtype: fp32, dims: [Q]}\n", more="global: |\n  Q = Symbol('Q')\n  ctx[Q] = 4\n"), []),
            # names
            (make(INPUT + INPUT), [("STEP223", "E0")]),
            (make(fns=FN + FN), [("STEP223", "f")]),
            (make(fns=FN.replace("func_name: f", "func_name: E0")), [("STEP223", "E0")]),
            (make(outputs=OUTPUT + OUTPUT), [("STEP223", "S0")]),
            (make(outputs=OUTPUT.replace("S0", "E0")), []),
            # init
            (make(fns=FN.replace("apply:", "init: [2], apply:")), [("STEP309", "2")]),
            (make(fns=FN.replace("apply:", "init: ['1'], apply:")), [("STEP309", "'1'")]),
            (make(fns=FN.replace("apply:", "init: [0, 1], apply:")), [("STEP309", "[0, 1]")]),
            (make(fns=FN.replace("apply:", "init: [], apply:")), [("STEP309", "[]")]),
            (make(fns=FN.replace("apply:", "init: 0, apply:")), [("STEP907", "0")]),
            (make(fns=FN.replace("apply:", "init: [-inf], apply:")), []),
            # files
            ("", [("STEP910", "")]),
            ("\ufeff \n", [("STEP910", "\ufeff")]),
            ("just text\n", [("STEP910", "j")]),
            ("services: {web: 1}\n", [("STEP910", "s")]),
            ("PK\0\1", [("STEP901", "\0")]),
        ],
    )  # fmt: skip
    def test_one_mistake_one_message(self, text: str, expected: list[tuple[str, str]]) -> None:
        assert found(read(text)) == expected

    @pytest.mark.parametrize(
        ("text", "underlined", "word"),
        [
            ("inputs:\n\t- a\n", "\t", "tab"),
            ("test_name: 'abc\ninputs: []\n", "c", "quote"),
            ("test_name: 'a'b'c'd\ninputs: []\n", "b", "belong"),
            ("inputs: [1, 2\noutputs: []\n", "[", "closed"),
            ("test_name: a: b\n", ":", "quote the value"),
            ("inputs:\n  - a\n - b\n", "-", "indentation"),
            ("impl: |x\n  a\n", "x", "next line"),
            ("test_name: @x\n", "@", "quotes"),
            ('test_name: "\\q"\n', "q", "escape"),
            ('test_name: "\\UFFFFFFFF"\n', "F", "not YAML"),
            ("test_name: *nobody\n", "*nobody", "anchor"),
            ("test_name: &a [*a]\n", "*a", "itself"),
            ("test_name: a\n---\nb: 1\n", "---", "one YAML document"),
            ("test_name: \x07\n", "\x07", "U+0007"),
            ("test_name: " + "[" * 200 + "\n", "[", "nested"),
            ("inputs:\n- {name: E0, dtype: Buffer(fp32, [K]), dims: [M]}\n", "Buffer(fp32, [K])", "quotes"),
        ],
    )
    def test_syntax_errors_have_a_place(self, text: str, underlined: str, word: str) -> None:
        task = read(text)
        broken = [finding for finding in task.diagnostics if finding.code == "STEP903"]
        assert [task.source.slice(finding.span) for finding in broken] == [underlined]
        assert word in broken[0].message

    def test_the_rest_of_a_broken_file_is_read(self) -> None:
        broken = TASK.replace('dtype: "Buffer(fp32, [K])", dims: [M, N]', "dtype: 'fp32, dims: [M, N', [N", 1)
        text = broken.replace("init: [0", "init: [7")
        task = read(text)
        assert ("STEP309", "7") in found(task)
        assert [code for code, _ in found(task)].count("STEP903") == 1
        assert task.incomplete == {"inputs"}
        assert task.spec is not None
        assert [port.name for port in task.spec.inputs] == ["E1"]
        for block in blocks(task):
            assert_exact(block, text)

    def test_unreadable_types_are_named(self) -> None:
        task = read(
            make("- {name: E0, dtype: fp31, dims: [M]}\n", fns=FN.replace("output_dtype: fp32", "output_dtype: x"))
        )
        assert task.untyped == {"E0", "f"}

    def test_unquoted_types_are_mended(self) -> None:
        text = make(
            "- {name: E0, dtype: Multihot(fp32, 3), dims: [M]}\n- {name: E1, dtype: Buffer(fp32, [K]), dims: [M]}\n"
        )
        for _ in range(2):
            fixes = [finding.fix for finding in read(text).diagnostics if finding.fix]
            text = apply_edits(text, list(fixes[0].edits)) if fixes else text
        assert read(text).diagnostics == []

    def test_unknown_keys_are_renamed(self) -> None:
        text = make().replace("outputs:", "ouputs:")
        (finding,) = read(text).diagnostics
        assert finding.fix is not None
        assert apply_edits(text, list(finding.fix.edits)) == make()

    def test_given_sizes_need_no_value(self) -> None:
        text = make("- {name: E0, dtype: 'Multihot(fp32, E)', dims: [Q]}\n")
        assert read_task(text, "a.yaml", given={"E": 3, "Q": 4}).diagnostics == []
        assert [name for name, _ in read(text).unbound] == ["E", "Q"]

    def test_anchors_and_merge_keys(self) -> None:
        text = make(
            "- &first {name: E0, dtype: fp32, dims: &dims [M, N]}\n- {<<: *first, name: E1}\n"
            "- {name: E2, dtype: fp32, dims: *dims}\n"
        )
        task = read(text)
        assert task.diagnostics == []
        assert task.spec is not None
        assert [(port.name, len(port.type.shape)) for port in task.spec.inputs] == [("E0", 2), ("E1", 2), ("E2", 2)]

    def test_half_typed_impl_points_after_the_colon(self) -> None:
        text = make().split("impl:")[0] + "impl:\n"
        task = read(text)
        assert task.impl is not None
        assert task.impl.source.to_outer(0) == len(text) - 1


class TestScalars:
    @pytest.mark.parametrize(
        ("scalar", "value", "verbatim"),
        [
            ("return E0", "return E0", True),
            ("'return E0'", "return E0", True),
            ('"return E0"', "return E0", True),
            ('"return\\tE0"', "return\tE0", False),
            ("'it''s'", "it's", False),
            (">\n  return\n  E0\n", "return E0\n", False),
            ("|\n  a\n\n    b\n  c\n", "a\n\n  b\nc\n", True),
            ("|4\n      a\n    b\n", "  a\nb\n", True),
            ("|+\n  a\n\n\n", "a\n\n\n", True),
            ("|-  # why\n  a\n  b", "a\nb", True),
            ("return\n  E0\n", "return E0", False),
        ],
    )
    def test_every_style(self, scalar: str, value: str, verbatim: bool) -> None:
        text = f"impl: {scalar}"
        task = read(text)
        assert task.impl is not None
        assert (task.impl.source.text, task.impl.source.verbatim) == (value, verbatim)
        if verbatim:
            assert_exact(task.impl, text)
        else:
            assert task.impl.source.span_to_outer(Span(1, 2)) == task.impl.source.outer
            assert text[task.impl.source.outer.start :].startswith(scalar[0])

    def test_indent_is_that_of_the_block(self) -> None:
        task = read("impl: |\n      a\n      b\n")
        assert task.impl is not None
        assert task.impl.source.indent == " " * 6


class TestTypes:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("fp32", "fp32"),
            (" Buffer( fp32 ,[K,D] ) ", "Buffer(fp32, [K, D])"),
            ("Multihot(fp32, E)", "Multihot(fp32, E)"),
            ("Buffer(Multihot(fp32, E), [M])", "Buffer(Multihot(fp32, E), [M])"),
            ("Buffer(fp32, [N*K, K//4, 2*(M+1)])", "Buffer(fp32, [K*N, K//4, 2*M + 2])"),
            ("float", "fp32"),
        ],
    )
    def test_types(self, text: str, expected: str) -> None:
        parsed = parse_type(text)
        assert parsed.problem is None
        assert str(parsed.element) == expected
        for name, span in parsed.symbols:
            assert text[span.start : span.end] == name

    @pytest.mark.parametrize(
        ("text", "code", "underlined"),
        [
            ("", "STEP222", ""),
            ("fp32 x", "STEP222", "x"),
            ("Buffer", "STEP222", ""),
            ("Buffer(fp32)", "STEP222", ")"),
            ("Buffer(fp32, K)", "STEP222", "K"),
            ("Buffer(fp32, [])", "STEP222", "[]"),
            ("Buffer(Buffer(fp32, [K]), [D])", "STEP222", "Buffer(fp32, [K])"),
            ("Multihot(Multihot(fp32, E), E)", "STEP222", "Multihot(fp32, E)"),
            ("[fp32, fp32]", "STEP222", "["),
            ("Buffer(fp32, [K K])", "STEP222", "K"),
            ("Multihot(fp32, 0)", "STEP217", "0"),
            ("Multihot(fp32, 99999999999999999999)", "STEP217", "99999999999999999999"),
            ("Buffer(fp32, [if])", "STEP222", "if"),
            ("Buffer(fp32, [" + "(" * 60 + "K" + ")" * 60 + "])", "STEP222", "("),
            ("Buffer(fp32, [" + "*".join(f"(A{i}+B{i})" for i in range(30)) + "])", "STEP222", "*"),
            ("x" * 5000, "STEP222", "x" * 1000),
        ],
    )
    def test_problems(self, text: str, code: str, underlined: str) -> None:
        problem = parse_type(text).problem
        assert problem is not None
        assert (problem.code, text[problem.span.start : problem.span.end]) == (code, underlined)

    def test_sizes(self) -> None:
        assert parse_size("K*N").size == Dim.symbol("N") * Dim.symbol("K")
        assert parse_size("-(-3)").size == 3
        assert parse_size("7//2").size == 3


class TestPaths:
    def test_task_name_ends_at_the_first_dot(self) -> None:
        assert task_name("a/b.c/rope.neox.step.yaml") == "rope"
        assert task_name(Path("x") / "plain") == "plain"

    def test_folders_are_searched(self, tmp_path: Path) -> None:
        for name in ("b.step.yaml", "sub/a.yml", "b.impl.yaml", ".hidden/c.yaml", "notes.txt"):
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("")
        tasks = find_tasks([tmp_path, tmp_path / "b.step.yaml", tmp_path / "missing.yaml"])
        assert [str(path.relative_to(tmp_path)) for path in tasks] == [
            "b.step.yaml",
            str(Path("sub/a.yml")),
            "missing.yaml",
        ]
        assert impl_path(tmp_path / "b.step.yaml", tmp_path) == tmp_path / "b.impl.yaml"
        assert impl_path(tmp_path / "c.step.yaml", tmp_path) is None
        assert impl_path("c.step.yaml", tmp_path / "any.yaml") == tmp_path / "any.yaml"


class TestHostileInput:
    def test_too_large(self) -> None:
        assert not too_large(TASK)
        assert too_large("a" * 5_000_001)
        assert too_large("\n" * 100_001)

    def test_aliases_cannot_explode(self) -> None:
        lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
        lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, 12)]
        task = read("\n".join([*lines, "inputs: *a11", ""]))
        assert any("aliases" in finding.message for finding in task.diagnostics)

    @pytest.mark.parametrize("opening", ["[", "{a: ", "- ", "? ", "!!seq [", "&a [", "{", "'", '"', "|", "a: {", "((("])
    def test_deep_nesting_is_refused_quickly(self, opening: str) -> None:
        assert read("inputs: " + opening * 20_000).diagnostics
        half = calls(lambda: read("inputs: " + opening * 10_000))
        whole = calls(lambda: read("inputs: " + opening * 20_000))
        assert whole < 3 * half + 1000

    def test_time_grows_linearly(self) -> None:
        def work(count: int) -> int:
            text = "inputs:\n" + "".join(f"- {{name: E{i}, dtype: fp32, dims: [M, N]}}\n" for i in range(count))
            return calls(lambda: read(text))

        work(10)
        assert work(4000) < 5 * work(1000)

    def test_truncations_at_every_character(self) -> None:
        for end in range(len(TASK)):
            assert_sane(read(TASK[:end]))

    @pytest.mark.parametrize("seed", range(20))
    def test_random_mutations(self, seed: int) -> None:
        chance = random.Random(seed)
        for _ in range(20):
            characters = list(TASK)
            for _ in range(chance.randrange(1, 6)):
                at = chance.randrange(len(characters))
                kind = chance.randrange(3)
                if kind == 0:
                    del characters[at]
                else:
                    characters.insert(at, chance.choice("[]{}:,-|>&*!%@`'\"\\#\t\n\r ?éπ🎉\0\x07\x85\u2028\ufeff0aE"))
            assert_sane(read("".join(characters)))

    @settings(max_examples=150, deadline=None)
    @given(st.text(max_size=80))
    def test_any_text(self, text: str) -> None:
        assert_sane(read(text))
        assert_sane(
            read(f"inputs: {text}\nimpl: |\n  {text}\noutputs:\n- {{name: S, dtype: '{text}', dims: [{text}]}}\n")
        )
        assert_sane(read_task(TASK, "a.yaml", (text, "b.yaml")))

    @settings(max_examples=150, deadline=None)
    @given(st.text(alphabet="MNK019+-*/()[], Buferp32Multiho_", max_size=40))
    def test_any_type(self, text: str) -> None:
        for parsed in (parse_type(text), parse_size(text)):
            value = getattr(parsed, "element", None) or getattr(parsed, "size", None)
            assert (value is None) == (parsed.problem is not None)
            if parsed.problem is not None:
                assert 0 <= parsed.problem.span.start <= parsed.problem.span.end <= len(text)


def assert_sane(task: TaskFile) -> None:
    """All spans lie in the file and every block that claims to be verbatim is."""
    for finding in task.diagnostics:
        assert_inside(finding, task.source)
    for finding in task.impl_diagnostics:
        assert_inside(finding, task.impl_source)
    if task.impl is not None and task.impl.source.verbatim:
        lines = task.impl.source.text.split("\n")
        starts = task.impl.source.line_offsets
        text = task.impl_source.text
        assert [text[start : start + len(line)] for start, line in zip(starts, lines, strict=True)] == lines


def assert_inside(finding: Diagnostic, source: SourceFile) -> None:
    assert re.fullmatch(r"STEP\d{3}", finding.code)
    assert finding.message
    assert 0 <= finding.span.start <= finding.span.end <= len(source.text)


def test_sizes_that_global_computes_follow_what_the_run_binds() -> None:
    text = (
        "global: |\n  H_value = D_value // 2\n  H = Symbol('H')\n  ctx[H] = H_value\n"
        "inputs: [{name: E0, dtype: fp32, dims: [H, D]}]\noutputs: [{name: S0, dtype: fp32, dims: [H, D]}]\n"
    )
    by_default, given = read_task(text, "t.yaml").spec, read_task(text, "t.yaml", given={"D": 6}).spec
    assert by_default is not None and given is not None
    assert by_default.bindings()["H"] == 8
    assert given.bindings({"D": 6})["H"] == 3
