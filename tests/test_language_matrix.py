"""Generation 2 is no second-class citizen: each operator and type (rows) in each feature (one test a column).

Rows come from the registry and from :mod:`language_rows`, so a new operator cannot miss a column.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

import pytest

from job_records import simulate
from language_rows import ROWS
from quiet import Quiet
from stepagents.llm import prompts
from stepagents.search.moves import Moves
from stepagents.search.space import Space
from stepagents.task_text import annotated_impl
from stepcore.check.files import CheckResult, check_text
from stepcore.check.fixing import fix_text
from stepcore.check.programs import Checked
from stepcore.conversion.to_python import task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import time_program
from stepcore.findings.diagnostics import Diagnostic, Severity, apply_edits
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.ide.analysis import Analysis, analyze
from stepcore.ide.features import actions, completions, graph, hover, inlay_hints, rename, signature
from stepcore.ide.model import IdeError
from stepcore.ide.names.document import NameSpace, names_of
from stepcore.jobdata.editor import PlainPosition, PlainRange
from stepcore.jobdata.plain import written
from stepcore.ops import BY_NAME
from stepcore.ops.base import Operator, Param, ParamKind
from stepcore.ops.pace import LoopPart
from stepcore.printing.task import canonical_key, graph_to_impl, task_to_yaml
from stepcore.text.span import Span
from stepcore.timing.hardware import PRESETS

EACH = pytest.mark.parametrize("row", ROWS)
PATH: Final = "row.py"


# -- what a row is --------------------------------------------------------------------------------------------------


@cache
def analysis_of(row: str) -> Analysis:
    return analyze(ROWS[row], PATH)


@cache
def result_of(row: str) -> CheckResult:
    return check_text(ROWS[row], PATH)


def program_of(row: str) -> Checked:
    (checked,) = result_of(row).programs
    return checked


@cache
def task_of(row: str) -> str:
    """Return the row as a task file."""
    module = read_module(ROWS[row], PATH)
    return python_to_task(module, module.programs[0])


def checked_task(text: str) -> Checked:
    """Return the program of a task that has no findings."""
    result = check_text(text, "row.step.yaml")
    assert errors(result) == []
    return result.programs[0]


def errors(result: CheckResult) -> list[Diagnostic]:
    return [found for found in result.diagnostics if found.severity is Severity.ERROR]


def body_of(row: str) -> ast.Module:
    return ast.parse(ROWS[row])


def offset(row: str, line: int, column: int) -> int:
    """Return the offset of a place of the syntax tree; rows are ASCII."""
    return sum(len(each) for each in ROWS[row].splitlines(keepends=True)[: line - 1]) + column


def span_of(row: str, node: Any) -> Span:
    return Span(offset(row, node.lineno, node.col_offset), offset(row, node.end_lineno, node.end_col_offset))


def operator_calls(row: str) -> Iterator[tuple[ast.Call, type[Operator]]]:
    """Yield the calls that make operators."""
    for node in ast.walk(body_of(row)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in BY_NAME:
            yield node, BY_NAME[node.func.attr]


def params_given(row: str) -> Iterator[tuple[type[Operator], Param, ast.keyword]]:
    """Yield the parameters that calls of operators give, each once."""
    seen: set[tuple[type[Operator], str]] = set()
    for call, operator in operator_calls(row):
        for keyword in call.keywords:
            given = operator.calling.by_name[keyword.arg or ""]
            if (operator, given.name) not in seen:
                seen.add((operator, given.name))
                yield operator, given, keyword


def changed(row: str, node: Any, text: str) -> str:
    """Return the row with other text in the place of a node."""
    return apply_edits(ROWS[row], [type_edit(span_of(row, node), text)])


def type_edit(span: Span, text: str) -> Any:
    from stepcore.findings.diagnostics import Edit

    return Edit(span, text)


# -- columns: the editor ------------------------------------------------------------------------------------------


@EACH
def test_it_checks_without_errors(row: str) -> None:
    assert errors(result_of(row)) == []
    assert program_of(row).typed.nodes
    used = {type(node.op).__name__ for node in program_of(row).typed.nodes}
    assert row not in BY_NAME or row in used


ORIGIN: Final = re.compile(r"(?:#|len|sum|join|ceil|one)\((.*?)\)`?: ")


@EACH
def test_hovers_show_what_was_written(row: str) -> None:
    """Each stream, operator and function has one, and it names nothing that the file does not have."""
    analysis, text = analysis_of(row), ROWS[row]
    words = {*re.findall(r"\w+", text), *BY_NAME}
    for stream in program_of(row).graph.streams:
        if not stream.name or text[stream.span.start : stream.span.end] != stream.name:
            continue
        shown = hover(analysis, stream.span.start)
        assert shown is not None, stream.name
        assert "type is unknown" not in shown.markdown
        assert "FeedbackEnd" not in shown.markdown
        for said in ORIGIN.findall(shown.markdown):
            assert set(re.findall(r"[A-Za-z_]\w*", said)) - {"len", "sum", "one", "ceil", "join"} <= words, said
    for call, operator in operator_calls(row):
        assert isinstance(call.func, ast.Attribute)
        shown = hover(analysis, span_of(row, call.func).end - 1)
        assert shown is not None and operator.summary in shown.markdown
        for keyword in call.keywords:
            known = hover(analysis, span_of(row, keyword).start)
            assert known is not None and operator.calling.by_name[keyword.arg or ""].doc in known.markdown


@EACH
def test_signature_help_tells_each_call(row: str) -> None:
    analysis = analysis_of(row)
    for call, operator in operator_calls(row):
        shown = signature(analysis, span_of(row, call.func).end + 1)
        assert shown is not None and shown.label.startswith(f"{operator.__name__}(")
        assert [label.partition("=")[0] for label, _ in shown.parameters] == list(operator.calling.by_name)
        for number, keyword in enumerate(call.keywords):
            inside = signature(analysis, span_of(row, call.keywords[number].value).start)
            assert inside is not None
            if not isinstance(keyword.value, ast.Call):
                assert inside.parameters[inside.active or 0][0].partition("=")[0] == keyword.arg
    for node in ast.walk(body_of(row)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in ("apply", "close"):
            shown = signature(analysis, span_of(row, node.func).end + 1)
            assert shown is not None and f".{node.func.attr}(" in shown.label


@EACH
def test_completion_proposes_what_is_there(row: str) -> None:
    """Operators behind `step.`, parameters within the call, and the values that the row gives them."""
    for call, operator in operator_calls(row):
        place = span_of(row, call.func).end
        start = place - len(getattr(call.func, "attr", ""))
        text = f"{ROWS[row][: start + 2]}{ROWS[row][place:]}"
        assert operator.__name__ in labels(text, start + 2)
        inside = Span(place + 1, span_of(row, call).end - 1)
        text = f"{ROWS[row][: inside.start]}{ROWS[row][inside.end :]}"
        found = labels(text, inside.start)
        assert {f"{name}=" for name in operator.calling.by_name} <= {f"{each.partition('=')[0]}=" for each in found}
    for operator, param, keyword in params_given(row):
        value = keyword.value
        if not isinstance(value, ast.Name) and param.kind not in (ParamKind.CHOICE, ParamKind.FLAG):
            continue
        span = span_of(row, value)
        wanted = ROWS[row][span.start : span.end]
        text = f"{ROWS[row][: span.start]}{ROWS[row][span.end :]}"
        assert wanted in labels(text, span.start), f"{operator.__name__}({keyword.arg}=)"


def labels(text: str, at: int) -> list[str]:
    return [item.label for item in completions(analyze(text, PATH), at)]


@EACH
def test_inlays_tell_the_type_of_each_name(row: str) -> None:
    text = ROWS[row]
    hints = {hint.offset: hint for hint in inlay_hints(analysis_of(row), Span(0, len(text)))}
    for stream in program_of(row).graph.streams:
        if stream.producer is None or not stream.name or text[stream.span.start : stream.span.end] != stream.name:
            continue
        hint = hints.get(stream.span.end)
        assert hint is not None and "[" in hint.label and hint.tooltip, stream.name


@EACH
def test_each_name_is_renamed_everywhere(row: str) -> None:
    """Streams, loops, functions, parameters and sizes: the program stays the same, its findings too."""
    text, analysis, names = ROWS[row], analysis_of(row), names_of(analysis_of(row))
    before = [found.code for found in result_of(row).diagnostics]
    key = canonical_key(program_of(row).graph)
    for binding in {item.binding for item in names.within(Span(0, len(text)))}:
        if binding.space is NameSpace.FREE:
            continue
        places = names.of(binding)
        try:
            edits = rename(analysis, places[0].span.start, "fresh_name")
        except IdeError as error:
            assert re.search("is imported|sizes that every task has|belongs to a module", str(error)), str(error)
            continue
        assert len(edits) >= len(places)
        after = check_text(apply_edits(text, edits), PATH)
        assert [found.code for found in after.diagnostics] == before, binding
        ports = {port.name for port in program_of(row).spec.parameters}
        if binding.space is not NameSpace.MODULE and binding.name not in ports:  # which are meant by name
            assert binding.name[0] in "?~_" or canonical_key(after.programs[0].graph) == key, binding


@EACH
def test_the_panel_draws_it(row: str) -> None:
    checked, text = program_of(row), ROWS[row]
    view = graph(analysis_of(row), checked.name)
    assert view is not None and view.note == "" and view.findings == ()
    ids = {node.id for node in view.nodes}
    assert all(edge.source in ids and edge.target in ids and edge.type != "?" for edge in view.edges)
    loops = [node for node in checked.typed.nodes if node.op.looping is LoopPart.BEGINS]
    inputs = sum(len(node.inputs) for node in checked.typed.nodes)
    assert len(view.edges) == inputs + len(checked.graph.returns) + len(loops)
    assert len({edge.id for edge in view.edges}) == len(view.edges)
    for node in view.nodes:
        assert node.kind == "output" or node.label in text
        assert node.span is not None or node.kind == "output"
    told = written(
        view.result(1, (), None, lambda at: PlainRange(PlainPosition(0, at.start), PlainPosition(0, at.end)))
    )
    assert json.loads(json.dumps(told)) == told


# -- columns: texts -----------------------------------------------------------------------------------------------


@EACH
def test_it_is_printed_and_read_back(row: str) -> None:
    task = checked_task(task_of(row))
    text = task_to_yaml(task.spec, graph_to_impl(task.graph), {})
    again = checked_task(text)
    assert canonical_key(again.graph) == canonical_key(task.graph)
    assert graph_to_impl(again.graph) == graph_to_impl(task.graph)


@EACH
def test_it_is_converted_in_both_directions(row: str) -> None:
    task = task_of(row)
    python = task_to_python(read_task(task, "row.step.yaml"))
    result = check_text(python, PATH)
    assert errors(result) == []
    assert canonical_key(result.programs[0].graph) == canonical_key(checked_task(task).graph)
    module = read_module(python, PATH)
    assert python_to_task(module, module.programs[0]) == task


@EACH
def test_a_task_is_an_editors_document_too(row: str) -> None:
    task = checked_task(task_of(row))
    text = task_to_yaml(task.spec, graph_to_impl(task.graph), {})
    analysis = analyze(text, "row.step.yaml")
    names = names_of(analysis)
    checked = analysis.units[0].checked
    assert checked is not None
    key, before = canonical_key(checked.graph), [found.code for found in analysis.diagnostics]
    for binding in {item.binding for item in names.within(Span(0, len(text)))}:
        if binding.space is NameSpace.FREE:
            continue
        try:
            edits = rename(analysis, names.of(binding)[0].span.start, "fresh_name")
        except IdeError as error:
            assert re.search("every task has|what task files call|not defined in this document", str(error)), str(error)
            continue
        after = check_text(apply_edits(text, edits), "row.step.yaml")
        assert [found.code for found in after.diagnostics] == before, binding
        meant = {*(fn.func_name for fn in checked.spec.fns), *(port.name for port in checked.spec.parameters)}
        if binding.name not in meant and binding.space is not NameSpace.SIZE:
            assert canonical_key(after.programs[0].graph) == key, binding
    view = graph(analysis, checked.name)
    assert view is not None and all(node.kind == "output" or node.label in text for node in view.nodes)
    made = [node for node in checked.graph.nodes if node.outputs]
    assert len(inlay_hints(analysis, Span(0, len(text)))) == sum(len(node.outputs) for node in made)


# -- columns: runs ------------------------------------------------------------------------------------------------


@EACH
def test_a_run_is_accepted_and_its_table_says_what_was_written(row: str, tmp_path: Any) -> None:
    path = tmp_path / PATH
    path.write_text(ROWS[row], encoding="utf-8")
    told = simulate({"path": str(path), "text": ROWS[row]}, Quiet())
    assert told["verdict"]["accepted"], told["verdict"]
    assert len(told["operators"]) == len(program_of(row).graph.nodes)
    assert all(each["operator"] in ROWS[row] for each in told["operators"])


@EACH
def test_both_engines_time_it(row: str) -> None:
    chip = PRESETS["default"]
    try:
        exact = time_program(program_of(row), chip)
    except NotTimed as error:
        assert "only a run tells" in str(error)
        return
    fluid = time_program(program_of(row), chip, engine="fluid")
    assert exact.timing.waiting or exact.cycles
    if exact.cycles and exact.cycles > 100:
        assert fluid.timing.cycles == pytest.approx(exact.cycles, rel=0.25)


# -- columns: who writes programs ---------------------------------------------------------------------------------


@EACH
def test_the_search_reads_it(row: str) -> None:
    task = checked_task(task_of(row))
    moves = Moves(task.typed, Space.of(task.spec, task.spec.bindings()))
    made = {node.op_name for node in task.typed.nodes if node.outputs and node.op_name not in ("Copy", "Zip")}
    assert bool(moves.moves) is bool(made)


@EACH
def test_prompts_explain_each_operator_of_a_task(row: str) -> None:
    """A task of generation 2 is told of all that its programs can use, others only of generation 1."""
    text = task_of(row)
    (head, *_) = prompts.proposer_messages(text)
    is_later = bool(prompts.premises_of(text))
    used = {type(node.op) for node in program_of(row).typed.nodes if node.has_class}
    for operator in used:
        assert (f"## `{operator.__name__}`" in head.text) is (is_later or operator.generation == 1)
        assert prompts.operator_example(operator) in prompts.operator_text(operator)


@EACH
def test_answers_tell_the_type_of_each_stream(row: str) -> None:
    """As prompts show them: behind the line that names it."""
    task = read_task(task_of(row), "row.step.yaml")
    assert task.impl is not None
    code = graph_to_impl(checked_task(task_of(row)).graph).split("\n")
    lines = annotated_impl(task, task.impl.source.text).split("\n")
    assert [line.split("  # ")[0] for line in lines] == code
    for line in lines:
        made = re.match(r"[\w, \[\]]+ = ", line) is not None and "= step.Feedback(" not in line
        assert ("  # [" in line) is made, line
        said = re.findall(r"#\(([A-Za-z]\w*)", line.partition("  # ")[2])
        assert set(said) <= set(re.findall(r"\w+", "\n".join(code))), line


@EACH
def test_published_names_are_taken_and_mended(row: str) -> None:
    for call, operator in operator_calls(row):
        for name in operator.published:
            func = span_of(row, call.func)
            place = Span(func.end - len(operator.__name__), func.end)
            text = apply_edits(ROWS[row], [type_edit(place, name)])
            (found,) = [each for each in check_text(text, PATH).diagnostics if each.code == "STEP231"]
            assert found.fix is not None
            assert apply_edits(text, list(found.fix.edits)) == ROWS[row]


# -- columns: mistakes --------------------------------------------------------------------------------------------

WRONG: Final = ("None", "-1", '"x"', "[]", "10**30", "1.5", "{}", "lambda x: x", "step.Copy()", "[1.5]", "nothing")


@EACH
def test_a_wrong_value_is_one_message(row: str) -> None:
    for operator, param, keyword in params_given(row):
        for value in WRONG:
            if param.kind is ParamKind.FILLING and value == "None":
                continue  # that is right, and what takes two results apart is another mistake
            text = changed(row, keyword.value, value)
            found = errors(check_text(text, PATH))
            said = [f"{each.code} {each.message}" for each in found]
            place = f"{operator.__name__}({param.name}={value}): {said}"
            assert len(found) <= 1, place
            for each in found:
                assert 0 <= each.span.start < each.span.end <= len(text), place


@EACH
def test_a_misspelt_name_is_mended(row: str) -> None:
    """Of operators and of parameters: one message, whose fix gives the row back."""
    for call, operator in operator_calls(row):
        func = span_of(row, call.func)
        misspelt = [(Span(func.end - len(operator.__name__), func.end), operator.__name__)]
        for keyword in call.keywords:
            start = span_of(row, keyword).start
            misspelt.append((Span(start, start + len(keyword.arg or "")), keyword.arg or ""))
        for place, name in misspelt:
            if len(name) < 4:
                continue
            text = apply_edits(ROWS[row], [type_edit(place, name[:-2] + name[-1])])
            (found,) = errors(check_text(text, PATH))
            assert found.fix is not None, found.message
            assert apply_edits(text, list(found.fix.edits)) == ROWS[row]


@EACH
def test_a_stream_that_is_read_twice_is_copied(row: str) -> None:
    """Each stream is read once more: the fix leaves no error, and every action that is offered removes its finding."""
    for node in ast.walk(body_of(row)):
        if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "apply"):
            continue
        for argument in node.args:
            leaves = argument.elts if isinstance(argument, ast.Tuple) else [argument]
            for leaf in leaves:
                if not isinstance(leaf, ast.Name) or not is_stream(row, leaf):
                    continue
                text = doubled(row, node, leaf.id)
                found = errors(check_text(text, PATH))
                assert [each.code for each in found] == ["STEP101"], (leaf.id, [each.message for each in found])
                assert found[0].fix is not None, leaf.id
                mended = check_text(fix_text(text, PATH), PATH)
                assert errors(mended) == [], leaf.id
                offered = actions(analyze(text, PATH), found[0].span)
                assert offered
                return  # one of a row: each takes a while


def is_stream(row: str, name: ast.Name) -> bool:
    place = span_of(row, name)
    return any(use.stream >= 0 and ROWS[row][place.start : place.end] for use in program_of(row).uses) and any(
        stream.name == name.id for stream in program_of(row).graph.streams
    )


def doubled(row: str, call: ast.Call, name: str) -> str:
    """Return the row in which the statement of ``call`` is preceded by one that reads ``name``."""
    lines = ROWS[row].splitlines(keepends=True)
    statement = next(
        each
        for each in ast.walk(body_of(row))
        if isinstance(each, ast.Assign | ast.Return | ast.Expr)
        and each.lineno <= call.lineno
        and (each.end_lineno or 0) >= (call.end_lineno or 0)
        and any(isinstance(inner, ast.Call) and ast.dump(inner) == ast.dump(call) for inner in ast.walk(each))
    )
    lines.insert(statement.lineno - 1, f"{' ' * statement.col_offset}_ = step.Identity().apply({name})\n")
    return "".join(lines)
