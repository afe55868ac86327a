"""Definition, references and rename, in Python files and across a task's YAML, impl and functions."""

from __future__ import annotations

import pytest

from ide_marks import HEAD, TASK, marked, program, show, task
from stepcore.findings.diagnostics import apply_edits
from stepcore.ide.analysis import analyze
from stepcore.ide.model import IdeError
from stepcore.ide.names.document import names_of
from stepcore.ide.navigation import definition, highlights, prepare_rename, references, rename
from stepcore.text.span import Span

# «...» are all references of the name at ¦.
REFERENCES = {
    "stream": program("«E¦1», E2 = step.Copy().apply(E0)\nreturn step.Map(fn=double).apply(«E1»)"),
    "input": program("E1 = step.Map(fn=double).apply(¦«E0»)\nreturn E1").replace("(E0: Ann", "(«E0»: Ann"),
    "at the end of the name": program("«E1»¦ = step.Map(fn=double).apply(E0)\nreturn «E1»"),
    "function": HEAD.replace("def double", "def «double»") + "    return step.Map(fn=«dou¦ble»).apply(E0)\n",
    "comprehension hides": program("x = E0\nreturn [«x» for «x¦» in [E0]][0]"),
    "loop variable": program("for «i¦» in range(3):\n    E0 = step.Promote(b=«i»).apply(E0)\nreturn E0"),
    "helper's parameter and keyword": program(
        "def twice(«¦s»):\n    return step.Map(fn=double).apply(«s»)\nreturn twice(«s»=E0)"
    ),
    "keyword of a helper": program("def twice(«s»):\n    return step.Map(fn=double).apply(«s»)\nreturn twice(«s¦»=E0)"),
    "key of data": HEAD.replace("N: 7}", 'N: 7}, data={"«E0»": "binary"}').replace("(E0: A", "(«E0»: A")
    + "    return «E0¦»\n",
    "broken line": program("«E1», E2 = step.Copy().apply(E0)\nE3 = step.Map(fn=double.apply(«E¦1»\nreturn E2"),
    "weights of all programs": HEAD.replace("(N,)]:", "(N,)]:\n    return E0\n\n\n@step.program()\ndef other(")
    + "    E0: Annotated[step.Stream, step.f32, (M,)], *, «W»: Annotated[step.Param, step.f32, (M,)]\n):\n"
    "    return step.Map(fn=weigh).apply(E0)\n\n\n@step.fn(input=step.f32, output=step.f32)\ndef weigh(input):\n"
    "    return [input[0] * «W¦».sum() * input_data['«W»'].sum()]\n",
    "task input": task("return step.Map(fn=fn_scale).apply(«E0¦»)")
    .replace("name: E0", "name: «E0»")
    .replace("['E0']", "['«E0»']"),
    "task function": task("return step.Map(fn=«fn_scale»).apply(E0)").replace(
        "func_name: fn_scale", "func_name: «fn_¦scale»"
    ),
    "task weight": task("return E0").replace("{name: W", "{name: «W¦»").replace("['W']", "['«W»']"),
    "task size": task("return step.Repeat(n=«L»).apply(E0)")
    .replace("[L,", "[«L»,")
    .replace("[L]", "[«L»]")
    .replace("fp32, L)", "fp32, «L»)")
    .replace("L_value", "«L»_value")
    .replace("  L =", "  «L» =")
    .replace('"L"', '"«L»"')
    .replace(".sum() * L\n", ".sum() * «L¦»\n"),
    "task global": task("return E0").replace("gain", "«gain»").replace("«gain» =", "«ga¦in» ="),
    "local of a task function": task("return E0")
    .replace("part = input[0]", "«part¦» = input[0]")
    .replace("return [part", "return [«part»"),
    "local of the references": task("return E0")
    .replace("part = input_data", "«part¦» = input_data")
    .replace("    part.sum(-1)", "    «part».sum(-1)"),
    "impl": task("«E1», E2 = step.Copy().apply(E0)\nreturn step.Map(fn=fn_scale).apply(«E1¦»)"),
    "emoji and CJK before the name": program('# 🙂 流\nx = "🙂流"; «E1¦» = E0\nreturn «E1»'),
}


def path_of(text: str) -> str:
    return "case.step.yaml" if text.startswith("test_name") else "file.py"


@pytest.mark.parametrize("text", REFERENCES.values(), ids=REFERENCES.keys())
def test_references(text: str) -> None:
    case = marked(text, path_of(text))
    for span in case.spans:  # from each of them
        for offset in (span.start, span.end):
            assert show(case.text, references(case.analysis, offset, declaration=True)) == show(case.text, case.spans)
            assert highlights(case.analysis, offset) == case.spans
    uses = references(case.analysis, case.offset, declaration=False)
    assert set(uses) < set(case.spans)


# «...» is the definition of the name at ¦.
DEFINITIONS = {
    "rebound": program("«E0» = step.Map(fn=double).apply(E0)\nE0 = step.Map(fn=double).apply(¦E0)\nreturn E0"),
    "rebound, the last": program(
        "E0 = step.Map(fn=double).apply(E0)\n«E0» = step.Map(fn=double).apply(E0)\nreturn E¦0"
    ),
    "rebound, the input": HEAD.replace("(E0: A", "(«E0»: A")
    + "    E0 = step.Map(fn=double).apply(E¦0)\n    return E0\n",
    "itself": program("«¦E1» = step.Map(fn=double).apply(E0)\nE1 = E1\nreturn E1"),
    "list": program("«xs» = [E0]\nreturn x¦s[0]"),
    "import": HEAD.replace("import stepcore as step", "import stepcore as «step»")
    + "    return st¦ep.Identity().apply(E0)\n",
    "reference": HEAD.replace("def reference", "def «reference»").replace("=reference", "=¦reference")
    + "    return E0\n",
    "argument": HEAD.replace("def double(input)", "def double(«input»)").replace("[input[0] *", "[in¦put[0] *")
    + "    return E0\n",
    "helper": program("def «f»(s):\n    return s\nreturn ¦f(E0)"),
    "task size": task("return step.Repeat(n=¦L).apply(E0)")
    .replace("L = S", "«L» = S")
    .replace("L_value = 3", "«L»_value = 3"),
    "task weight": task("return E0")
    .replace("input_data['W'].sum() * L_", "input_data['¦W'].sum() * L_")
    .replace("{name: W", "{name: «W»"),
    "task function": task("return step.Map(fn=fn_scale¦).apply(E0)").replace(
        "func_name: fn_scale", "func_name: «fn_scale»"
    ),
}


@pytest.mark.parametrize("text", DEFINITIONS.values(), ids=DEFINITIONS.keys())
def test_definition(text: str) -> None:
    case = marked(text, path_of(text))
    assert show(case.text, definition(case.analysis, case.offset)) == show(case.text, case.spans)


@pytest.mark.parametrize("body", ["return step.Ma¦p(fn=double).apply(E0)", "return step.Map(f¦n=double).apply(E0)",
                                  "return ra¦nge(3)", "return E0  # co¦mment"])  # fmt: skip
def test_what_has_no_definition_here(body: str) -> None:
    case = marked(program(body))
    assert definition(case.analysis, case.offset) == []


@pytest.mark.parametrize("text", REFERENCES.values(), ids=REFERENCES.keys())
def test_rename_changes_all_places_and_no_meaning(text: str) -> None:
    case = marked(text, path_of(text))
    before = [item.code for item in case.analysis.diagnostics]
    edits = rename(case.analysis, case.offset, "fresh")
    assert [edit.span for edit in edits] == case.spans
    renamed = apply_edits(case.text, edits)
    assert [item.code for item in analyze(renamed, case.analysis.source.path).diagnostics] == before
    assert {edit.text for edit in edits} == {"fresh"}


# A reference gets the weights of its programs by name, at the function or at a keyword of another call of it.
WEIGHED = (
    HEAD.replace("(x):", "(x, W):")
    .replace("x.sum(-1)", "x.sum(-1) * W")
    .replace("(M, N)]) ->", "(M, N)], *, W: Annotated[step.Param, step.f32, ()]) ->")
    + "    return step.Map(fn=double).apply(E0)\n\n\nprint(reference(ROW, W=2), reference(ROW, 3))\n"
)


@pytest.mark.parametrize("at", ["W: Anno", "W):", "W\n", "W=2"])
def test_rename_of_a_weight_reaches_the_reference(at: str) -> None:
    before = analyze(WEIGHED, "file.py")
    renamed = apply_edits(WEIGHED, rename(before, WEIGHED.index(at), "gain"))
    assert renamed == WEIGHED.replace("W:", "gain:").replace("W)", "gain)").replace("* W", "* gain").replace(
        "W=2", "gain=2"
    )
    assert [item.code for item in analyze(renamed, "file.py").diagnostics] == [item.code for item in before.diagnostics]


@pytest.mark.parametrize(
    "text",
    [
        WEIGHED.replace("(x, W):", "(x, **weights):").replace("* W", "* weights['W']"),
        WEIGHED.replace("reference=reference", "reference=torch.mul").replace(
            "import step", "import torch\nimport step"
        ),
        WEIGHED.replace("reference=reference", "reference=lambda x, W: x * W"),
    ],
)
def test_a_weight_keeps_its_name_where_nothing_says_how_the_reference_takes_it(text: str) -> None:
    with pytest.raises(IdeError, match="the reference of program is given W by this name"):
        rename(analyze(text, "file.py"), text.index("W: Anno"), "gain")
    without = text.replace("reference=torch.mul", "reference=None")
    if without != text:
        assert rename(analyze(without, "file.py"), without.index("W: Anno"), "gain")


def test_a_weight_gets_no_name_that_its_reference_has() -> None:
    with pytest.raises(IdeError, match="x is taken here: it is a name of reference"):
        rename(analyze(WEIGHED, "file.py"), WEIGHED.index("W: Anno"), "x")


def test_rename_to_the_same_name_does_nothing() -> None:
    case = marked(program("E¦1 = E0\nreturn E1"))
    assert rename(case.analysis, case.offset, "E1") == []


IMPOSSIBLE = [
    (program("E¦1 = E0\nreturn E1"), "1E", "is no name"),
    (program("E¦1 = E0\nreturn E1"), "E 1", "is no name"),
    (program("E¦1 = E0\nreturn E1"), "for", "is a keyword of Python"),
    (program("E¦1 = E0\nreturn E1"), "E0", "E0 is taken here: it is a name of program"),
    (
        program("E¦1 = step.Map(fn=double).apply(E0)\nreturn E1"),
        "double",
        "double is taken here: it is a name of this file",
    ),
    (program("E¦1 = E0\nreturn [E1 for i in range(3)]"), "range", "range means something else here"),
    (program("E¦1 = E0\nreturn [E1 for i in range(3)]"), "i", "i is taken: a comprehension uses that name"),
    (program("return E0").replace("RO¦W", "ROW").replace("ROW = ", "RO¦W = "), "double", "is taken here"),
    (
        program("return st¦ep.Copy().apply(E0)")
        .replace("import stepcore as step", "import stepcore")
        .replace("step.", "stepcore.")
        .replace("st¦ep", "st¦epcore"),
        "x",
        "imported",
    ),
    (program("return step.Co¦py().apply(E0)"), "x", "belongs to a module"),
    (program("return step.Repeat(n=¦M).apply(E0)"), "x", "M is imported"),
    (program("return ra¦nge(3)"), "x", "not defined in this document"),
    (program("return E0  # co¦mment"), "x", "there is no name here"),
    (task("return E¦0"), "S1", "S1 is taken: the task declares it"),
    (task("return E¦0"), "step", "has a meaning of its own in task files"),
    (task("return E¦0"), "L_value", "L_value is taken: it is a size of this task"),
    (task("return E0").replace("dims: [N]", "dims: [¦N]"), "X", "one of the sizes that every task has"),
    (task("return E0").replace("[state[0]", "[sta¦te[0]"), "X", "what task files call the argument of a function"),
    (task("return E0").replace("part = input[0]", "pa¦rt = input[0]"), "gain", "gain is taken here"),
    (
        task("return E0").replace("{name: W", "{name: ¦W").replace("data['W'].sum() * L_", "data[f'{1}'].sum() * L_"),
        "V",
        "input_data[f'{1}'] may mean W",
    ),
    (program("return step.Map(fn=dou¦ble).apply(E0)") + "\n\ndef f(:\n" + "  double(]\n" * 30, "x", "cannot be read"),
]


@pytest.mark.parametrize(("text", "new_name", "message"), IMPOSSIBLE)
def test_rename_says_why_not(text: str, new_name: str, message: str) -> None:
    case = marked(text, path_of(text))
    with pytest.raises(IdeError) as caught:
        rename(case.analysis, case.offset, new_name)
    assert message in str(caught.value)


def test_prepare_rename() -> None:
    case = marked(program("«E¦1» = E0\nreturn E1"))
    assert prepare_rename(case.analysis, case.offset) == case.spans[0]
    assert prepare_rename(case.analysis, len("from typing import Annotated\n")) is None


def test_star_imports_may_give_any_name_of_stepcore() -> None:
    text = HEAD.replace("import stepcore as step", "from stepcore import *\nimport stepcore as step")
    case = marked(text.replace("def program", "def ¦program") + "    return E0\n")
    with pytest.raises(IdeError, match="program is imported"):
        rename(case.analysis, case.offset, "other")


def test_an_answer_file_knows_the_names_of_its_task() -> None:
    impl = "impl: |\n  E1 = step.Map(fn=fn_scale).apply(E0)\n  return E1\n"
    analysis = analyze(impl, "case.impl.yaml", task=(task("return E0"), "case.step.yaml"))
    assert [impl[s.start : s.end] for s in references(analysis, impl.index("fn_scale"), declaration=True)] == [
        "fn_scale"
    ]
    assert definition(analysis, impl.index("fn_scale")) == []
    with pytest.raises(IdeError, match="fn_scale is not defined in this document"):
        rename(analysis, impl.index("fn_scale"), "other")
    assert len(rename(analysis, impl.index("E1"), "E5")) == 2
    with pytest.raises(IdeError, match="fn_add is taken"):
        rename(analysis, impl.index("E1"), "fn_add")


@pytest.mark.parametrize(
    ("text", "seen", "hidden"),
    [
        (program("x = E0\n¦\nreturn x"), {"x", "E0", "double", "ROW", "step"}, {"input"}),
        (program("ys = [y for y in [E0] if ¦y]\nreturn E0"), {"y", "ys", "E0"}, {"state"}),
        (
            program("return E0").replace("    return [input[0] * 2]", "    ¦return [input[0] * 2]"),
            {"input"},
            {"E0", "state"},
        ),
        (task("E1 = E0\n¦\nreturn E1"), {"E0", "E1", "S1", "fn_scale", "L", "M", "W"}, {"gain", "part"}),
        (
            task("return E0").replace("    return [part", "    ¦return [part"),
            {"part", "input", "gain", "L"},
            {"E0", "state"},
        ),
    ],
)
def test_visible_names(text: str, seen: set[str], hidden: set[str]) -> None:
    case = marked(text, path_of(text))
    names = {binding.name for binding in names_of(case.analysis).visible(case.offset)}
    assert seen <= names
    assert not hidden & names


def test_task_template_is_sound() -> None:
    analysis = analyze(
        TASK + "  E1 = step.Map(fn=fn_scale).apply(E0)\n  return step.Accum(fn=fn_add, b=1).apply(E1)\n", "a.yaml"
    )
    assert [item.code for item in analysis.diagnostics] == ["STEP103"]  # the selector is not used
    assert all(0 <= item.span.start < item.span.end for item in names_of(analysis).within(Span(0, len(TASK))))
