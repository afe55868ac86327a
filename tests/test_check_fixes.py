"""Fixes of affine findings one by one: each mends its finding alone, in task files too; which ones have to be tried."""

from __future__ import annotations

import re
from collections import Counter
from textwrap import indent

import pytest

from affine_cases import Case, cases, program, unmarked
from stepcore.check import check_text, fix_text
from stepcore.check.programs import Checked, check_program
from stepcore.check.straighten import with_copies
from stepcore.findings.diagnostics import Diagnostic, Fix, Severity, apply_edits
from stepcore.frontend.python import read_module
from stepcore.graph.ir import Graph

CASES = list(cases())
WRITTEN_OUT = "Write the program out with all missing Copy operators"


def affine(text: str, path: str = "file.py") -> list[Diagnostic]:
    """The findings of the affine rule."""
    return [item for item in check_text(text, path).diagnostics if item.code in ("STEP101", "STEP102")]


def checked(text: str, answer: bool = True) -> tuple[Checked, list[Fix]]:
    """A program checked with an ``answer`` to each fix that has to be tried, and these fixes."""
    tried: list[Fix] = []

    def try_fix(fix: Fix) -> bool:
        tried.append(fix)
        return answer

    module = read_module(text, "file.py")
    return check_program(module.programs[0], module.fn_scope, "strict", try_fix), tried


def only_fix(found: list[Diagnostic]) -> Fix:
    """The fix of the only affine finding."""
    (item,) = (item for item in found if item.code == "STEP101")
    assert item.fix is not None
    return item.fix


# -- one fix alone ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", [case for case in CASES if case.fixed], ids=lambda case: case.name)
def test_each_fix_alone_mends_its_finding(case: Case) -> None:
    text, _ = unmarked(program(case.body))
    found = affine(text)
    for item in found:
        assert item.fix is not None
        fixed = apply_edits(text, list(item.fix.edits))
        assert len(affine(fixed)) < len(found), fixed
        if len(found) == 1:
            assert fixed == program(case.fixed or "")


TASK = """\
inputs:
- {name: E0, dtype: fp32, dims: [M, N], data_gen: torch.randn}
- {name: E1, dtype: fp32, dims: [M, N], data_gen: torch.randn}
- {name: S, dtype: "Multihot(fp32, 2)", dims: [N], min: 0, max: 2}
fns:
- {func_name: f, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] * 2]"}
- {func_name: g, init: [0], input_dtype: fp32, output_dtype: fp32, apply: "return [state[0] + input[0]]"}
outputs: []
"""


def in_task(body: str) -> str:
    """A task file whose answer is ``body``."""
    return TASK + "impl: |\n" + indent(body.strip("\n") + "\n", "  ", lambda line: line != "\n")


# What a task file has not: a value that only a run can tell.
IN_TASKS = [case for case in CASES if "LENGTH" not in case.body]


@pytest.mark.parametrize("case", IN_TASKS, ids=lambda case: case.name)
def test_text_after_all_fixes_in_a_task(case: Case) -> None:
    body, _ = unmarked(case.body)
    assert fix_text(in_task(body), "t.yaml") == in_task(body if case.fixed is None else case.fixed)


def test_the_answers_of_tasks_are_many() -> None:
    assert len(IN_TASKS) > 90


# -- which fixes have to be tried -------------------------------------------------------------------------

HELPER = "def once(x):\n    return step.Map(fn=f).apply(x)\n\n"
LOOP = "A = []\nfor i in range(2):\n    A.append(step.Map(fn=f).apply(E0))\n"
DIRECT = {
    "names": "return E0, E0",
    "arguments": "return step.Zip().apply((E0, E0))",
    "items": "xs = [E0, E1]\nA = step.Zip().apply((xs[0], xs[1]))\nreturn A, E0",
    "beside a helper": HELPER + "A = once(E1)\nreturn A, step.Zip().apply((E0, E0))",
    "behind a branch": "if LENGTH:\n    A = E1\nelse:\n    A = E1\nreturn A, E0, E0",
}
TRIED = {
    "a helper": HELPER + "return once(E0), E0",
    "a helper, later": HELPER + "A = step.Map(fn=f).apply(E0)\nreturn A, once(E0)",
    "inside a helper": "def pair(x):\n    return step.Zip().apply((x, x))\n\nreturn pair(E0)",
    "a loop": LOOP + "return A",
    "a round of a loop": "for i in range(1):\n    A = step.Zip().apply((E0, E0))\nreturn A",
    "a comprehension": "return [step.Map(fn=f).apply(E0) for i in range(2)]",
    "a round of a comprehension": "return [step.Zip().apply((x, x)) for x in [E0]]",
    "an expression that does more": "xs = [E0, E1]\nreturn E0, xs.pop(0), xs[0]",
    "an expression that does more, later": ("xs = [E0, E1]\nA = step.Map(fn=f).apply(E0)\nreturn A, xs.pop(0), xs[0]"),
    "before a branch": "if LENGTH:\n    A = step.Map(fn=f).apply(E0)\nelse:\n    A = E1\nreturn A, E0",
    "before a binding": "return [[X := E1][0], E0, E0]",
    "before a call that may do more": "A = []\nA.append(step.Zip().apply((E0, E0)))\nreturn A",
}


@pytest.mark.parametrize("body", DIRECT.values(), ids=DIRECT)
def test_a_fix_that_only_names_copies_needs_no_trial(body: str) -> None:
    result, tried = checked(program(body), answer=False)
    assert only_fix(result.diagnostics).title != WRITTEN_OUT
    assert tried == []


@pytest.mark.parametrize("body", TRIED.values(), ids=TRIED)
def test_a_fix_that_rewrites_more_is_offered_only_after_a_trial(body: str) -> None:
    result, tried = checked(program(body), answer=False)
    assert all(item.fix is None for item in result.diagnostics)
    assert tried
    result, tried = checked(program(body))
    assert tried == [only_fix(result.diagnostics)]


# Copies that cannot be put in place: nothing of the kind is even tried.
NOT_IN_PLACE = {
    "a closure": "def scaled():\n    return step.Map(fn=f).apply(E0)\n\nreturn scaled(), scaled()",
    "a lambda": "pair = lambda x: step.Zip().apply((x, x))\nreturn pair(E0)",
    "a while loop": "i = 0\nA = []\nwhile i < 2:\n    i += 1\n    A.append(step.Map(fn=f).apply(E0))\nreturn A",
    "some rounds": "return [step.Map(fn=f).apply(E0) for i in range(3) if i != 1]",
    "rounds of other lengths": (
        "A = []\nfor i in range(2):\n    A.append(step.Zip().apply((E0, E0)))\n"
        "    if i == 1:\n        A.append(step.Map(fn=f).apply(E0))\nreturn A"
    ),
    "one more in the last round": (
        "A = []\nfor i in range(2):\n    A.append(step.Map(fn=f).apply(E0))\n"
        "    if i == 1:\n        A.append(step.Map(fn=f).apply(E0))\nreturn A"
    ),
    "an impure index": "xs = [0]\nreturn [E0][xs.pop()], E0",
    "an impure list": "xs = [E0, E1]\nreturn [xs.pop(0)][0], E0",
    "an impure tuple": "def both(x):\n    return x, E1\n\nreturn E0, both(E0)",
}


@pytest.mark.parametrize("body", NOT_IN_PLACE.values(), ids=NOT_IN_PLACE)
def test_what_cannot_be_mended_in_place_is_written_out(body: str) -> None:
    result, tried = checked(program(body))
    assert {fix.title for fix in tried} == {WRITTEN_OUT}
    assert {item.fix.title for item in result.diagnostics if item.fix is not None} == {WRITTEN_OUT}


def test_titles_count_the_copies() -> None:
    for body, title in {
        "return E0, E0": "Insert Copy for E0",
        "return E0, E0, E0": "Insert 2 Copy operators for E0",
        "pair = [step.Map(fn=f).apply(E0)]\nreturn pair, pair": "Insert Copy for pair[0]",
        "take = lambda: E0\nreturn take(), take()": WRITTEN_OUT,
    }.items():
        assert only_fix(checked(program(body))[0].diagnostics).title == title


# -- texts in which nothing can be inserted ---------------------------------------------------------------

FOLDED = {
    "quotes": '"A = step.Map(fn=f).apply(E0)\\nreturn A, E0"',
    "folded": ">\n  A = step.Map(fn=f).apply(E0)\n\n  return A, E0",
    "quotes, an item": '"xs = [E0]\\nreturn xs, E0"',
    "quotes, written out": '"take = lambda: E0\\nreturn take(), take()"',
}


@pytest.mark.parametrize("impl", FOLDED.values(), ids=FOLDED)
def test_an_answer_that_is_not_written_line_by_line_gets_no_fix(impl: str) -> None:
    (item,) = affine(f"{TASK}impl: {impl}\n", "t.yaml")
    assert item.fix is None


# -- how the operator is called ---------------------------------------------------------------------------

BODY = "    return Zip().apply((E0, E0))\n"
WRITTEN = "    take = lambda: E0\n    return take(), take()\n"
IMPORTS = [
    # imports, body, body after the fix (None: no fix)
    ("import stepcore as sc", BODY, "    E0_1, E0_2 = sc.Copy().apply(E0)\n    return Zip().apply((E0_1, E0_2))\n"),
    ("import stepcore", WRITTEN, "    E2, E3 = stepcore.Copy().apply(E0)\n    return E2, E3\n"),
    ("from stepcore import Copy", BODY, "    E0_1, E0_2 = Copy().apply(E0)\n    return Zip().apply((E0_1, E0_2))\n"),
    (
        "from stepcore import Copy as Two",
        BODY,
        "    E0_1, E0_2 = Two().apply(E0)\n    return Zip().apply((E0_1, E0_2))\n",
    ),
    ("from stepcore import Identity as Copy", BODY, None),
    ("from stepcore import Map", BODY, None),
    ("from stepcore import Copy", WRITTEN, None),
]


@pytest.mark.parametrize(("imports", "body", "fixed"), IMPORTS)
def test_copies_are_called_as_the_file_imports_them(imports: str, body: str, fixed: str | None) -> None:
    head = (
        f"from typing import Annotated\nfrom stepcore import Stream, Zip, f32, program\n{imports}\n"
        "from stepcore.dims import M, N\n\n@program()\n"
        "def p(E0: Annotated[Stream, f32, (M, N)], E1: Annotated[Stream, f32, (M, N)]):\n"
    )
    assert fix_text(head + body, "file.py") == head + (body if fixed is None else fixed)
    (found,) = affine(head + body)
    assert (found.fix is None) == (fixed is None)
    if fixed is None:
        module = read_module(head + body, "file.py")
        result = check_program(module.programs[0], module.fn_scope, "strict", lambda _: True)
        assert all(item.fix is None for item in result.diagnostics)


# -- white space ------------------------------------------------------------------------------------------

DOCUMENTED = '''"""What it does.

And how."""
@step.fn(input=step.f32, output=step.f32)
def h(input):

    return [input[0]]

take = lambda: step.Map(fn=h).apply(E0)  # 流
return take(), take()'''
AFTER = '''"""What it does.

And how."""
@step.fn(input=step.f32, output=step.f32)
def h(input):

    return [input[0]]
# 流
E3, E4 = step.Copy().apply(E0)
E5 = step.Map(fn=h).apply(E3)
E6 = step.Map(fn=h).apply(E4)
return E5, E6'''


@pytest.mark.parametrize("tab", ["    ", "  ", "\t"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_line_ends_and_indentation_stay_in_what_is_written_out(line_end: str, tab: str) -> None:
    before, after = (program(body).replace("    ", tab).replace("\n", line_end) for body in (DOCUMENTED, AFTER))
    assert fix_text(before, "file.py") == after


@pytest.mark.parametrize("some", ["\n", "\n\n"])
def test_carriage_returns_end_lines_too(some: str) -> None:
    before, after = (program(body) for body in (DOCUMENTED, AFTER))
    fixed = fix_text(before.replace(some, "\r" * len(some)), "file.py")
    assert "\r" in fixed
    assert fixed.replace("\r", "\n") == after


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_line_ends_and_indentation_stay_in_what_is_written_out_in_a_task(line_end: str) -> None:
    bodies = DOCUMENTED, AFTER.replace("fn=h", "fn=f")
    before, after = (in_task(body.replace("fn=h", "fn=f")).replace("\n", line_end) for body in bodies)
    assert fix_text(before, "t.yaml") == after


def test_an_expression_on_several_lines_is_copied_on_one() -> None:
    body = "xs = [E0]\nA = step.Map(fn=f).apply(xs[  # the first\n0\n])\nreturn A, E0"
    fixed = "xs = [E0]\nxs_0_1, xs_0_2 = step.Copy().apply(xs[0])\nA = step.Map(fn=f).apply(xs_0_1)\nreturn A, xs_0_2"
    assert fix_text(in_task(body), "t.yaml") == in_task(fixed)
    assert fix_text(in_task(body).replace("\n", "\r\n"), "t.yaml") == in_task(fixed).replace("\n", "\r\n")


# -- what a finding says ----------------------------------------------------------------------------------

MESSAGES = {
    "return E0, E0": "E0 is consumed twice, but a stream is drained by its first consumer; insert a Copy",
    "return E0, E0, E0": (
        "E0 is consumed 3 times, but a stream is drained by its first consumer; insert 2 Copy operators"
    ),
    LOOP + "return A": (
        "E0 is consumed twice here: once in each round, but a stream is drained by its first consumer; insert a Copy"
    ),
    LOOP + "return A, E0": (
        "E0 is consumed 3 times, but a stream is drained by its first consumer; insert 2 Copy operators"
    ),
    "xs = [E0, E0]\nreturn step.Zip().apply(tuple(xs))": (
        "E0 is consumed twice here, but a stream is drained by its first consumer; insert a Copy"
    ),
    "take = lambda x: x\nA = [step.Map(fn=f).apply(E0)]\nreturn A, take(A[0])": (
        "A[0] is consumed twice, but a stream is drained by its first consumer; insert a Copy"
    ),
    "take = lambda x: (x, x)\nreturn take(step.Map(fn=f).apply(E0))": (
        "this stream is consumed twice here, but a stream is drained by its first consumer; insert a Copy"
    ),
    "for name in LENGTH:\n    A = step.Map(fn=f).apply(E0)\nreturn A": (
        "E0 is made outside this loop, whose length is not known, and consumed in every round; "
        "loop over a list of known length, or make the stream inside"
    ),
}


@pytest.mark.parametrize(("body", "message"), MESSAGES.items())
def test_messages(body: str, message: str) -> None:
    assert [item.message for item in affine(program(body))] == [message]


def test_related_places_are_the_first_use_and_at_most_nineteen_others() -> None:
    text = program("return " + ", ".join(["E0"] * 30))
    (item,) = affine(text)
    places = [match.start() for match in re.finditer(r"\bE0\b", text)][1:]
    assert item.span.start == places[1]
    assert [related.span.start for related in item.related] == [places[0], *places[2:21]]
    assert [related.message for related in item.related] == ["E0 is consumed here first"] + ["and here"] * 19


def test_a_helper_that_consumes_is_shown_besides_its_calls() -> None:
    text = program("def once(x):\n    return step.Map(fn=f).apply(x)\n\nreturn once(E0), once(E0), E0")
    (item,) = affine(text)
    messages = ["E0 is consumed here first", "and here", "here the helper consumes it"]
    assert [related.message for related in item.related] == messages


def test_a_stream_that_nobody_consumes_is_a_hint_on_unnecessary_text() -> None:
    text = program("step.Map(fn=f).apply(E1)\nA = step.Identity().apply(S)\nreturn E0")
    found = check_text(text, "file.py").diagnostics
    assert [(item.code, item.severity, item.unnecessary) for item in found] == [("STEP103", Severity.HINT, True)] * 2
    assert [item.message for item in found] == [
        "the result of Map is never consumed; remove it, or return it",
        "A is never consumed; remove it, or return it",
    ]
    (item,) = check_text(program("return E0, S"), "file.py").diagnostics
    assert item.message == "E1 is never consumed; remove it, or return it"


# -- the published rule -----------------------------------------------------------------------------------

PAPER = [
    # body, messages
    ("return step.Zip().apply((E0, E0))", ["E0 is counted twice as an argument of .apply; insert a Copy"]),
    (
        "A = step.Zip().apply((E0, E0))\nreturn A, step.Map(fn=f).apply(E0)",
        ["E0 is counted 3 times as an argument of .apply; insert 2 Copy operators"],
    ),
    (
        "xs = [E0, E1]\nA = []\nfor x in xs:\n    A.append(step.Zip().apply((x, x)))\nreturn A",
        ["xs is counted twice as an argument of .apply; insert a Copy"],
    ),
    ("A = [step.Zip().apply(p) for p in zip([E0], [E1])]\nreturn A", []),
    ("ps = [(E0, E1)]\nA = [step.Zip().apply((x, y)) for x, y in ps]\nreturn A", []),
    ("ps = [(E0, E1)]\nA = []\nfor x, y in ps:\n    A.append(step.Zip().apply((x, y)))\nreturn A", []),
    ("ps = [(E0, E1)]\nA = [step.Zip().apply((x, x)) for i, x in enumerate(ps[0])]\nreturn A", ["x"]),
]


@pytest.mark.parametrize(("body", "messages"), PAPER)
def test_messages_of_the_published_rule(body: str, messages: list[str]) -> None:
    found = [
        item for item in check_text(program(body), "file.py", affine="paper").diagnostics if item.code == "STEP104"
    ]
    assert len(found) == len(messages)
    assert all(item.message.startswith(message) for item, message in zip(found, messages, strict=True))


# -- the graph that is written out ------------------------------------------------------------------------


def graph_of(body: str) -> tuple[Graph, Graph]:
    """The graph of a program, and the same with copies."""
    result, _ = checked(program(body))
    return result.graph, with_copies(result.graph, result.uses)


@pytest.mark.parametrize(
    "body",
    [
        "return E0, E0, E0",
        "A = step.Map(fn=f).apply(E0)\nreturn A, A, step.Zip().apply((A, E1)), E1",
        "A, B = step.Partition(N=2).apply((E0, S))\nreturn step.Merge(fn=g).apply(([A, B], S)), A",
        "A, B = step.Copy().apply(E0)\nreturn A, B, B, E1",
    ],
)
def test_copies_are_added_where_they_lack_and_the_graph_stays_consistent(body: str) -> None:
    before, after = graph_of(body)
    uses = Counter([*(index for node in after.nodes for index in node.inputs), *after.returns])
    assert max(uses.values()) == 1
    assert [stream.index for stream in after.streams] == list(range(len(after.streams)))
    assert [node.index for node in after.nodes] == list(range(len(after.nodes)))
    assert [after.streams[index].name for index in after.inputs] == ["E0", "E1", "S"]
    made = {index: (node.index, slot) for node in after.nodes for slot, index in enumerate(node.outputs)}
    assert {stream.index: (stream.producer, stream.slot) for stream in after.streams} == {
        **dict.fromkeys(after.inputs, (None, 0)),
        **made,
    }
    counts = Counter([*(index for node in before.nodes for index in node.inputs), *before.returns])
    missing = sum(count - 1 for count in counts.values())
    copies = Counter(node.op_name for node in after.nodes)["Copy"] - Counter(n.op_name for n in before.nodes)["Copy"]
    assert copies == missing


def test_fixes_are_tried_where_elaboration_stops_inside_an_application() -> None:
    # The loop ends by its steps, while it consumes what `apply` gets: its last operator has no inputs.
    text = """\
inputs:
- {name: x, dtype: fp32, dims: [1], data_gen: torch.randn}
- {name: s1, dtype: "Multihot(fp32, 1)", dims: [1], min: 0, max: 1}
- {name: s2, dtype: "Multihot(fp32, 2)", dims: [1], min: 0, max: 2}
- {{name: n3, dtype: int64, dims: [1], min: 0, max: 3}
fns:
- {func_name: half, input_dtype: fp32, output_dtype: fp32, apply: "return [input[0] / 2]"}
impl: |-
  E0, E1 = step.Copy().apply(s1)
  branches = step.Partition(N=1).apply((x, E0))
  E2 = step.Reassemble().apply(([branches[0]], E1))
  for k, b in enumerate([b, E3]):
      E3 = step.Accum(fn=total, b=1).apply(E2)
      E3 = step.Accum(fn=total, b=1).apply(E2)
  E4, E5 = step.Copy().apply(s2)
  branches = step.Partition(N=2).apply((E3, E4))
  E8 = step.Flatten(L=[1]).apply(E7)
  while True:
      E9 = step.Promote(b=1).apply(E8)
  E10 = step.Flatten(L=[1]).apply(E9)
"""
    found = check_text(text, "file.step.yaml").diagnostics
    (stopped,) = (item for item in found if item.code == "STEP221")
    assert text[stopped.span.start : stopped.span.end] == "True"
