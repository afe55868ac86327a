"""Each syntax node is interpreted or refused, never ignored: all node types, all their fields, in each place."""

from __future__ import annotations

import ast
import gc
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from benchmarks.suites.check import generation2_file
from gate_cases import FOREIGN, PLACES, placed, python, task
from node_samples import SAMPLES, Inert, Since
from stepcore.check import check_text
from stepcore.check.programs import ImplChecker
from stepcore.conversion.to_python import task_to_python
from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.fn.decl import FnScope
from stepcore.fn.source import node_span
from stepcore.frontend import closed, syntax
from stepcore.frontend.values import UNKNOWN, ModuleRef, Scope
from stepcore.frontend.yaml.tasks import read_task
from stepcore.text.span import Embedded, Span

_OLD = {"Num", "Str", "Bytes", "NameConstant", "Ellipsis", "Index", "ExtSlice", "Suite", "AugLoad", "AugStore", "Param"}


def _fields() -> set[str]:
    found = [kind for kind in vars(ast).values() if isinstance(kind, type)]
    kinds: list[type[ast.AST]] = [kind for kind in found if issubclass(kind, ast.AST)]
    concrete = [kind for kind in kinds if kind.__name__ not in _OLD and not set(kind.__subclasses__()) & set(kinds)]
    concrete.append(ast.Constant)
    return {f"{kind.__name__}.{field}" for kind in concrete for field in kind._fields}


def _samples(field: str) -> Iterator[str]:
    found = SAMPLES[field]
    if isinstance(found, Inert):
        return
    if isinstance(found, Since):
        if sys.version_info < found.version:
            return
        found = found.samples
    for sample in (found,) if isinstance(found, str) else found:
        for foreign in FOREIGN if "P" in sample.replace("P_", "") else ("",):
            yield sample.replace("'P'", repr(foreign)).replace("P", foreign) if foreign else sample


def _errors(text: str, path: str) -> list[str]:
    found = check_text(text, path, with_fixes=False).diagnostics
    return [f"{item.code} {item.message}" for item in found if item.severity is Severity.ERROR]


def test_every_field_of_every_node_is_decided() -> None:
    missing = _fields() - SAMPLES.keys()
    assert not missing, f"decide what happens to {sorted(missing)}: add samples, and see that they are refused"
    unknown = {field for field in SAMPLES.keys() - _fields() if not isinstance(SAMPLES[field], Since | Inert)}
    assert not unknown


def test_samples_hold_what_they_are_for() -> None:
    """Each sample parses and has a node of its type."""
    for field in SAMPLES:
        for sample in _samples(field):
            tree = ast.parse(f"def outer(scale):\n{indent(sample, '    ')}")
            if not field.startswith(("withitem", "match_case", "ExceptHandler")):
                assert any(type(node).__name__ == field.partition(".")[0] for node in ast.walk(tree)), sample


def test_the_files_are_clean_without_foreign_code() -> None:
    assert _errors(task(), "gated.step.yaml") == []
    assert _errors(python(), "gated.py") == []
    for place in PLACES:
        assert _errors(placed(place, "x = 1"), "gated.step.yaml") == [], place


@pytest.mark.parametrize("place", PLACES)
def test_foreign_text_is_refused(place: str) -> None:
    passed = []
    for field in SAMPLES:
        for sample in _samples(field):
            text = placed(place, sample)
            found = _errors(text, "gated.step.yaml")
            if not found:
                passed.append((field, sample))
            assert all("STEP" in item and item.count(" ") > 1 for item in found)
    assert not [item for item in passed if not _is_harmless(place, item[1])], passed


def _is_harmless(place: str, sample: str) -> bool:
    """What checking lets pass is printed without the foreign text, or holds none and is certified."""
    return "FOREIGN" not in task_to_python(read_task(placed(place, sample), "gated.step.yaml"))


@pytest.mark.parametrize("place", ["apply", "impl"])
def test_bodies_of_python_files_are_read_in_full(place: str) -> None:
    for field in SAMPLES:
        for sample in _samples(field):
            if "FOREIGN" in sample:
                assert _errors(python(**{place: sample}), "gated.py"), (field, sample)


@pytest.mark.parametrize(
    "annotation",
    ["int", "float", "bool", "str", "list", "list[int]", "dict[str, float]", "tuple[int, ...]", "None", "int | None"],
)
@pytest.mark.parametrize("place", ["apply", "global", "data_transform", "impl"])
def test_plain_types_stay(annotation: str, place: str) -> None:
    code = f"x: {annotation} = 1\ndef h(y: {annotation}) -> {annotation}:\n    return y"
    assert _errors(placed(place, code), "gated.step.yaml") == []
    assert f"x: {annotation} = 1" in task_to_python(read_task(placed(place, code), "gated.step.yaml"))


def test_tensors_and_streams_are_plain_types() -> None:
    assert _errors(placed("apply", "x: list[torch.Tensor] = [input[0]]"), "gated.step.yaml") == []
    assert _errors(placed("impl", "def h(y: step.Stream) -> step.Stream:\n    return y"), "gated.step.yaml") == []


def test_a_body_that_was_clean_before_is_looked_at_again_where_its_names_stand_for_something_else() -> None:
    """The walk over a body that was seen before is left out only while each name is what it was."""
    program = (
        "\n\n@step.program(dims={M: 2})\n"
        "def same(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:\n"
        "    if 1 == 2:\n        return aside(E0)\n    return E0\n"
    )
    head = "from typing import Annotated\nimport stepcore as step\nfrom stepcore.dims import M\n"
    helper = "\n\ndef aside(stream):\n    return stream\n"
    for _ in range(2):
        assert not check_text(head + helper + program, "a.py").diagnostics
        (found,) = check_text(head + "\n" + program, "a.py").diagnostics
        assert (found.code, found.message.split(";")[0]) == ("STEP202", "the name aside is not known")
    (refused,) = check_text(head + "import torch as aside\n" + program, "a.py").diagnostics
    assert refused.code == "STEP220"


def test_what_is_known_of_a_body_ends_with_its_tree() -> None:
    syntax.parse_suite.cache_clear()
    syntax._parse.cache_clear()
    gc.collect()
    known = len(closed._CLEAN)
    for number in range(3):
        program = (
            "from typing import Annotated\nimport stepcore as step\nfrom stepcore.dims import M\n\n\n@step.program()\n"
            f"def same{number}(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:\n"
            f"    one = [E0 for _ in range({number} - {number} + 1)]\n    return one[0]\n"
        )
        assert not check_text(program, "a.py").diagnostics
    assert len(closed._CLEAN) == known + 3
    syntax.parse_suite.cache_clear()
    syntax._parse.cache_clear()
    gc.collect()
    assert len(closed._CLEAN) == known


TASKS = Path(__file__).parents[1] / "benchmarks" / "tasks"
_PIECES = (
    "nothing", "__x", "torch", "E0", "[E0]", "E0[1]", "print", "step", "x=nothing", "1", "a, b", "E0(E0)", "len",
    "E0[nothing:1]", "*E0", "(lambda: nothing)", "(E0 if 1 else nothing)", "(E0 or nothing)", "[E0 for _ in nothing]",
    "step.nothing", "{nothing: E0}", "(x := E0)", "-E0", "E0.nothing", "len(E0)", "M_value", "ctx[nothing]", "'text'",
    "E0, name=nothing", "**nothing", "E0 if nothing else E0", "step.Copy().apply(E0)[0]",
    "zip(nothing, [E0])", "zip([E0], (nothing for _ in [1]))", "enumerate([E0], *[nothing])", "range(1)",
)  # fmt: skip


def test_what_was_evaluated_whole_holds_nothing_that_the_walk_would_refuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """The short way past statements finds what the long one does: in our answers, and with each token replaced."""
    bodies = statements = 0
    outside = closed.outside

    def both(body: Any, code: Any, scope: Any, fn_scope: Any, found: Any = (), **how: Any) -> Any:
        nonlocal bodies, statements
        spans = [item.span for item in found]
        clear = [each for each in body if id(each) in how["whole"] and closed._is_public([each], code)]
        clear = [each for each in clear if not any(_meet(span, node_span(code, each)) for span in spans)]
        statements += len(clear)
        bodies += len(clear) == len(body) and not spans
        walk = closed._Walk(clear, scope, fn_scope, how["strict"], how["refused"], how["dialect"])
        walk._bound = {node.id for each in body for node in ast.walk(each) if isinstance(node, ast.Name)}
        walk.visit()
        is_rebound = not isinstance(scope.find("step"), ModuleRef)  # the walk takes a name for what it is in the end
        assert not walk.found or (spans and is_rebound), code.text
        return outside(body, code, scope, fn_scope, found, **how)

    monkeypatch.setattr(closed, "outside", both)
    drawn = random.Random(1)
    for path in sorted(TASKS.glob("*.step.yaml")):
        read = read_task(path.read_text(encoding="utf-8"), str(path))
        assert read.impl is not None
        checker, text = ImplChecker(read), read.impl.source.text
        checker.check(Embedded.whole(text))
        for token in re.finditer(r"[\w.]+", text):
            piece = drawn.choice(_PIECES)
            checker.check(Embedded.whole(f"{text[: token.start()]}{piece}{text[token.end() :]}"))
    # Most replacements are findings; the others show that statements are not refused for nothing.
    assert bodies > 30
    assert statements > 1000
    bodies = 0
    text = generation2_file(28)
    body = text.index("    r0, r1, r2 = ")
    for token in re.finditer(r"[\w.]+", text[body:]):
        at, end = body + token.start(), body + token.end()
        for piece in drawn.sample((*_PIECES, "2", "K", "T", "w", "add_0", "scale_0", "Map", "E9"), 4):
            check_text(f"{text[:at]}{piece}{text[end:]}", "a.py")
    assert bodies > 4


@pytest.mark.parametrize("given", ["[E0], [1]", "[E0], *[[1]]", "[E0], (1 for _ in [1])", "[E0], [1], strict=bool"])
def test_a_call_of_python_is_whole_where_every_argument_is_evaluated(
    given: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is walked through again but what evaluation may have left out."""
    visited: list[list[ast.AST]] = []
    visit = closed._Walk.visit

    def noted(walk: closed._Walk) -> None:
        visited.append(walk._pending[:])
        visit(walk)

    monkeypatch.setattr(closed._Walk, "visit", noted)
    path = sorted(TASKS.glob("*.step.yaml"))[0]
    read = read_task(path.read_text(encoding="utf-8"), str(path))
    text = f"E9 = [step.Copy().apply(x) for x, _ in zip({given})]\nreturn E9"
    found = ImplChecker(read).check(Embedded.whole(text))
    plain = given == "[E0], [1]"
    assert bool(visited) is not plain
    assert any("bool" in item.message for item in found.diagnostics) == ("bool" in given)


class _Searched(str):
    """A text that counts how many of its characters are searched for others."""

    searched = 0

    def __contains__(self, part: object) -> bool:
        self.searched += len(self)
        return super().__contains__(part)  # type: ignore[operator]

    def find(self, part: str, start: Any = None, end: Any = None) -> int:
        first, last, _step = slice(start, end).indices(len(self))
        self.searched += last - first
        return super().find(part, first, last)


def test_a_statement_is_searched_in_its_own_lines_only() -> None:
    """With one finding the whole text was searched for each statement: 40,000 took 24 seconds of the processor."""
    text = _Searched("".join(f"E{n + 1} = step.Map(fn=f).apply(E{n})\n" for n in range(500)) + "return nothing\n")
    body = ast.parse(str(text)).body
    code = Embedded.whole(text)
    found = [Diagnostic("STEP202", Span(text.index("nothing"), len(text)), "nothing is not defined")]
    whole = {id(each) for each in body}
    names: dict[str, Any] = {"step": ModuleRef("stepcore"), "f": UNKNOWN, "E0": UNKNOWN}
    closed.outside(body, code, Scope(names), FnScope(), found, whole=whole)
    assert 0 < text.searched < 3 * len(text)


def _meet(one: Span, other: Span) -> bool:
    return one.start < other.end and other.start < one.end


@pytest.mark.parametrize("items", ["none", "step.Copy(n=2).apply(E0)"])
def test_a_comprehension_without_a_round_is_looked_at(items: str) -> None:
    """Nothing evaluates what it would do for each item; what is in no program is found all the same."""
    program = (
        "from typing import Annotated\nimport stepcore as step\nfrom stepcore.dims import M\n\n\n@step.program()\n"
        "def same(E0: Annotated[step.Stream, step.f32, (M,)]) -> Annotated[step.Stream, step.f32, (M,)]:\n"
        f"    none = [][0:0]\n    some = [nothing for each in {items}]\n    return E0\n"
    )
    found = [item.message for item in check_text(program, "a.py").diagnostics]
    assert any("nothing" in message for message in found), found
