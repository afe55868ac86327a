"""What a file sees of the language follows from its dialect: operators, their parameters, the order of sizes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import ClassVar

import pytest

from source_trees import tree_with
from stepagents.llm import prompts
from stepagents.search.items import SearchStep, SearchStream
from stepagents.search.running import MoveRunner
from stepcore.check import check_text, fix_text
from stepcore.check.files import CheckResult
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.ide.analysis import analyze
from stepcore.ide.features import completions, hover, signature, tokens
from stepcore.ide.model import Kind
from stepcore.ops import BY_NAME, GENERATION_1, OPERATORS, Copy, Promote
from stepcore.ops.base import Operand, Operator, Param, ParamKind, RuleError, TypingContext
from stepcore.ops.dialect import Dialect, SizeOrder, by_names
from stepcore.types import Buffer, Scalar, StreamType

ROOT = Path(__file__).parents[1]
FOLDERS = ("stepcore", "server", "agents", "benchmarks", "scripts")


class Upend(Operator):
    """An operator that generation 1 does not have: the sizes of a stream the other way round, ``times`` over."""

    times: int = 1

    params: ClassVar[tuple[Param, ...]] = (Param("times", ParamKind.INTEGER, "How often."),)
    aliases: ClassVar[tuple[str, ...]] = ("Reverse",)
    summary: ClassVar[str] = "Turns the sizes of a stream round."
    details: ClassVar[str] = "Its data stay."
    rule: ClassVar[str] = "Stream[T, shape] -> Stream[T, shape[::-1]]"
    example: ClassVar[str] = """\
from typing import Annotated

import stepcore as step
from stepcore.dims import M, N


@step.program
def program(E0: Annotated[step.Stream, step.f32, (M, N)]) -> Annotated[step.Stream, step.f32, (N, M)]:
    return step.Upend(times=1).apply(E0)
"""

    def infer(self, operands: Sequence[Operand], ctx: TypingContext) -> tuple[StreamType, ...]:
        (operand,) = operands
        return (StreamType(operand.type.element, operand.type.shape[:: -1 if self.times % 2 else 1]),)


class Turn(Upend):
    """The same, once; it bears the name of the other."""

    params: ClassVar[tuple[Param, ...]] = ()


Turn.__name__ = "Upend"
WITH_UPEND = GENERATION_1.extended("with Upend", [Upend])
OUTWARD = GENERATION_1.extended("outermost first", order=SizeOrder.OUTERMOST_FIRST)
PROGRAM = """\
from typing import Annotated

import stepcore as step
from stepcore.dims import K, M, N


@step.program
def program(E0: Annotated[step.Stream, step.Buffer(step.f32, [K, 2]), (M, N)]) -> Annotated[
    step.Stream, step.Buffer(step.f32, [K, 2]), {outputs}
]:
    if 1 < 2:
        E1 = {expression}
    return E1
"""
TASK = """\
inputs:
- {{name: E0, dtype: "Buffer(fp32, [K, 2])", dims: [M, N], data_gen: torch.rand}}
outputs:
- name: S0
  dtype: "Buffer(fp32, [K, 2])"
  dims: {outputs}
  data_transform:
  - |
    torch.zeros(1)
impl: |
    return {expression}
"""


def python(expression: str, dialect: Dialect = GENERATION_1, outputs: str = "(N, M)") -> CheckResult:
    return check_text(PROGRAM.format(expression=expression, outputs=outputs), "file.py", dialect=dialect)


def codes(result: CheckResult) -> list[str]:
    return [item.code for item in result.diagnostics]


def test_generation_1_is_the_registry() -> None:
    assert (GENERATION_1.operators, GENERATION_1.by_name) == (OPERATORS, BY_NAME)
    assert GENERATION_1.order is SizeOrder.INNERMOST_FIRST


@pytest.mark.parametrize("name", ["Upend", "Reverse"])
def test_an_operator_of_one_dialect_is_known_there_and_nowhere_else(name: str) -> None:
    expression = f"step.{name}(times=3).apply(E0)"
    assert codes(python(expression, WITH_UPEND)) == []
    assert codes(python(expression)) == ["STEP201"]
    assert codes(python(f"step.{name}(times=2).apply(E0)", WITH_UPEND)) == ["STEP215"]
    task = TASK.format(expression=expression, outputs="[N, M]")
    assert codes(check_text(task, "task.step.yaml", dialect=WITH_UPEND)) == []
    assert codes(check_text(task, "task.step.yaml")) == ["STEP201"]


def test_what_is_known_of_a_body_holds_for_one_dialect() -> None:
    text = "step.Upend(times=1).apply(E0)"
    for dialect, found in ((WITH_UPEND, []), (GENERATION_1, ["STEP201"]), (WITH_UPEND, [])):
        assert codes(python(text, dialect)) == found


def test_fixes_are_tried_in_the_dialect_of_the_file() -> None:
    text = PROGRAM.format(expression="step.Upend(times=1).apply(E0)", outputs="(N, M)")
    twice = text.replace("    if 1 < 2:\n", "    E2 = step.Identity().apply(E0)\n    if 1 < 2:\n")
    assert "Copy().apply(E0)" in fix_text(twice, "file.py", dialect=WITH_UPEND)


def test_an_operator_takes_other_parameters_in_another_dialect() -> None:
    plain = GENERATION_1.extended("Upend without times", [Turn])
    assert codes(python("step.Upend().apply(E0)", plain)) == []
    (found,) = python("step.Upend(times=3).apply(E0)", plain).diagnostics
    said = "Upend has no parameters of its own, and this is times"
    assert (found.code, found.message.split(";")[0]) == ("STEP203", said)


def test_a_later_operator_stands_in_the_place_of_the_earlier_one() -> None:
    wider = type("Promote", (Promote,), {"aliases": ("Lift",)})
    dialect = GENERATION_1.extended("wider", [wider])
    assert [operator.__name__ for operator in dialect.operators] == [operator.__name__ for operator in OPERATORS]
    assert dialect.by_name["Promote"] is dialect.by_name["Lift"] is wider
    assert dialect.by_name["Copy"] is Copy
    assert GENERATION_1.by_name["Promote"] is Promote


def names_at(text: str, offset: int, dialect: Dialect) -> set[str]:
    return {item.label for item in completions(analyze(text, "file.py", dialect=dialect), offset)}


def test_an_editor_sees_the_operators_of_the_file() -> None:
    text = PROGRAM.format(expression="step.Upend(times=1).apply(E0)", outputs="(N, M)")
    at = text.index("Upend")
    for dialect, is_known in ((WITH_UPEND, True), (GENERATION_1, False)):
        state = analyze(text, "file.py", dialect=dialect)
        assert [item.code for item in state.diagnostics] == ([] if is_known else ["STEP201"])
        half = text.replace("step.Upend(times=1).apply(E0)", "step.Up")
        assert ("Upend" in names_at(half, half.index("step.Up") + 7, dialect)) is is_known
        shown = hover(state, at)
        assert ("times" in shown.markdown if shown is not None else False) is is_known
        inside = signature(state, at + len("Upend("))
        assert (inside is not None and "times" in str(inside)) is is_known
        assert Kind.OPERATOR in {token.kind for token in tokens(state) if token.span.start == at}
        # An edit keeps the dialect, and what was known in another one is not taken over.
        again = analyze(text + "\n", "file.py", dialect=dialect, previous=analyze(text, "file.py", dialect=OUTWARD))
        assert [item.code for item in again.diagnostics] == ([] if is_known else ["STEP201"])


def test_prompts_tell_the_operators_of_the_task() -> None:
    assert "## `Upend` or `Reverse`" in prompts.system_prompt(dialect=WITH_UPEND)
    assert "Upend" not in prompts.system_prompt()


def test_the_search_makes_no_move_with_an_operator_that_the_task_does_not_see() -> None:
    held = [operator for operator in OPERATORS if operator is not Promote]
    smaller = Dialect("without Promote", held, by_names(held))
    item = SearchStream(0, StreamType(Scalar("fp32"), ()), [], None, 0, 0.0)
    for dialect, refused in ((smaller, True), (GENERATION_1, False)):
        runner = MoveRunner([], {}, dialect)
        step = SearchStep((Promote(b=0),), (item,), "Promote")
        with pytest.raises(RuleError, match="Promote is no operator of this") if refused else nullcontext():
            assert str(runner.apply(step)[0][0].shape[0]) == "1"


def reads_the_registry(path: Path) -> bool:
    """Whether a module names the lists of operators, which a dialect stands for."""
    for node in ast.walk(tree_with(path.read_text(encoding="utf-8"), r"\bops(\.dialect)?\b(?!\.)")):
        if isinstance(node, ast.ImportFrom) and node.module in ("stepcore.ops", "stepcore.ops.dialect"):
            if {alias.name for alias in node.names} & {"OPERATORS", "BY_NAME", "add", "remove", "*"}:
                return True
        elif isinstance(node, ast.Import) and any(alias.name == "stepcore.ops" for alias in node.names):
            return True
    return False


def test_nobody_but_the_dialect_reads_the_registry() -> None:
    """Features of an editor take the dialect of the analysis; only what makes one says which that is by default."""
    modules = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    assert len(modules) > 300
    own = ROOT / "stepcore" / "ops"
    assert [path for path in modules if own not in path.parents and reads_the_registry(path)] == []
    assert reads_the_registry(Path(__file__))
    editor = [path for folder in ("stepcore/ide", "server") for path in (ROOT / folder).rglob("*.py")]
    naming = {path.name for path in editor if "GENERATION_1" in path.read_text(encoding="utf-8")}
    assert naming == {"analysis.py"}


def test_sizes_are_written_in_the_order_of_the_dialect() -> None:
    expression = "step.Promote(b=0).apply(E0)"
    assert codes(python(expression, outputs="(1, M, N)")) == []
    assert codes(python(expression, OUTWARD, outputs="(M, N, 1)")) == []
    assert codes(python(expression, OUTWARD, outputs="(1, M, N)")) == ["STEP215"]


def test_both_forms_give_the_same_types_in_both_orders() -> None:
    for dialect in (GENERATION_1, OUTWARD):
        of_python = read_module(PROGRAM.format(expression="E0", outputs="(M, N)"), "file.py", dialect=dialect)
        of_task = read_task(TASK.format(expression="E0", outputs="[M, N]"), "a.step.yaml", dialect=dialect)
        assert of_task.spec is not None
        types = {str(spec.inputs[0].type) for spec in (of_python.programs[0].spec, of_task.spec)}
        assert len(types) == 1
        element = of_task.spec.inputs[0].type.element
        assert isinstance(element, Buffer)
        shown = ", ".join(map(str, (*of_task.spec.inputs[0].type.shape, *element.shape)))
        assert shown == ("M, N, K, 2" if dialect is GENERATION_1 else "N, M, 2, K")


def test_a_message_about_sizes_names_their_order() -> None:
    for dialect in (GENERATION_1, OUTWARD):
        text = TASK.format(expression="E0", outputs="3")
        (found,) = read_task(text, "a.step.yaml", dialect=dialect).diagnostics
        assert f"sizes in square brackets, {dialect.order.value}, such as [M, N]" in found.message
