"""What can be done about findings: their own fixes, all fixes of a program or file, and wraps that mend a shape.

Whatever is offered was tried: applying it removes the finding that it is offered for, and adds no error.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher
from itertools import islice, takewhile
from typing import Final

from stepcore.check.fixing import combine
from stepcore.findings.codes import APPLIED, about
from stepcore.findings.diagnostics import Diagnostic, Edit, Severity, apply_edits
from stepcore.graph.ir import Node
from stepcore.ide.analysis import Analysis, DocumentUnit, analyze
from stepcore.ide.model import Action
from stepcore.text.span import Span

QUICKFIX: Final = "quickfix"
FIX_ALL: Final = "source.fixAll.stepsmith"
# Each round removes a finding; a file that needs more rounds is fixed as far as they go.
MAX_ROUNDS: Final = 50
MAX_TRIALS: Final = 24

Task = tuple[str, str] | None


def actions(analysis: Analysis, span: Span, task: Task = None) -> list[Action]:
    """Return what can be done about the findings that touch ``span``, the most helpful first."""
    touched = [found for found in analysis.diagnostics if _touches(found.span, span)]
    offered = [
        Action(found.fix.title, QUICKFIX, found.fix.edits, (found,), is_preferred=True)
        for found in touched
        if found.fix is not None and _removes(analysis, found, found.fix.edits, task)
    ]
    for found in touched:
        if about(found.code).reshapes:
            offered.extend(_wraps(analysis, found, task))
    if any(found.code in APPLIED and found.fix is not None for found in touched):
        offered.extend(_whole_programs(analysis, span, task))
    return offered


def fix_all(analysis: Analysis, task: Task = None) -> Action | None:
    """Return the action that applies the fixes of all affine findings of the document; None where there is none."""
    return _repeatedly(analysis, "Insert all missing Copy operators", FIX_ALL, None, task)


def _whole_programs(analysis: Analysis, span: Span, task: Task) -> Iterator[Action]:
    unit = analysis.unit_at(span.start)
    if unit is None or unit.checked is None:
        return
    name = unit.checked.name
    own = [found for found in _of_program(analysis, name) if found.code in APPLIED and found.fix is not None]
    if len(own) > 1:
        title = f"Insert all missing Copy operators of {name}"
        action = _repeatedly(analysis, title, QUICKFIX, name, task)
        if action is not None:
            yield action


def _of_program(analysis: Analysis, name: str | None) -> list[Diagnostic]:
    """Return the findings within a program; all of them for None."""
    if name is None:
        return analysis.diagnostics
    unit = analysis.program(name)
    if unit is None:
        return []
    return [found for found in analysis.diagnostics if unit.focus.start <= found.span.start <= unit.focus.end]


def _repeatedly(analysis: Analysis, title: str, kind: str, program: str | None, task: Task) -> Action | None:
    """Apply fixes round after round, because one may uncover the next, and return the difference."""
    state = analysis
    fixed: list[Diagnostic] = []
    for _ in range(MAX_ROUNDS):
        own = [item for item in _of_program(state, program) if item.code in APPLIED and item.fix is not None]
        edits = combine([item.fix for item in own if item.fix is not None])
        if not edits:
            break
        fixed = fixed or own
        state = _after(state, edits, task)
    if not fixed:
        return None
    return Action(title, kind, tuple(difference(analysis.source.text, state.source.text)), tuple(fixed))


def _after(state: Analysis, edits: list[Edit] | tuple[Edit, ...], task: Task) -> Analysis:
    text = apply_edits(state.source.text, list(edits))
    path, dialect = state.source.path, state.dialect
    return analyze(text, path, affine=state.affine, task=task, previous=state, dialect=dialect)


def difference(before: str, after: str) -> list[Edit]:
    """Return edits, line by line, that turn one text into the other."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    starts = [0]
    for line in old:
        starts.append(starts[-1] + len(line))
    # What is equal on both sides is left out: the matcher takes time by the square of lines that occur often.
    head = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(old, new, strict=False)))
    rest = zip(reversed(old[head:]), reversed(new[head:]), strict=False)
    tail = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], rest))
    matcher = SequenceMatcher(None, old[head : len(old) - tail], new[head : len(new) - tail], autojunk=False)
    return [
        Edit(Span(starts[head + a], starts[head + b]), "".join(new[head + c : head + d]))
        for tag, a, b, c, d in matcher.get_opcodes()
        if tag != "equal"
    ]


# -- trying out ----------------------------------------------------------------------------------------------


def _touches(found: Span, wanted: Span) -> bool:
    return found.start <= wanted.end and wanted.start <= found.end


def _removes(analysis: Analysis, found: Diagnostic, edits: tuple[Edit, ...], task: Task) -> bool:
    """Return whether applying ``edits`` leaves fewer findings of this code and message, or fewer errors in all."""
    after = _after(analysis, edits, task)
    if found.severity is Severity.ERROR and after.kind == "none" != analysis.kind:
        return False
    count = sum(item.code == found.code and item.message == found.message for item in analysis.diagnostics)
    return sum(item.code == found.code and item.message == found.message for item in after.diagnostics) < count


def _mends(analysis: Analysis, found: Diagnostic, edit: Edit, task: Task) -> bool:
    """Return whether a wrap removes a finding and leaves no error on its lines; those below may see more now."""
    after = _after(analysis, [edit], task)
    first = analysis.source.line_col(found.span.start)[0]
    last = analysis.source.line_col(max(found.span.end, edit.span.end))[0]
    lines = (after.source.line_col(item.span.start)[0] for item in after.diagnostics if item.severity is Severity.ERROR)
    return not any(first <= line <= last for line in lines)


# -- wraps -----------------------------------------------------------------------------------------------------


def _wraps(analysis: Analysis, found: Diagnostic, task: Task) -> Iterator[Action]:
    """Yield wraps of an operator's input, or of what is returned, in Promote or Flatten that mend the finding."""
    unit = analysis.unit_at(found.span.start)
    if unit is None or unit.checked is None:
        return
    done = 0
    for target, rank in _targets(unit, found):
        for operator, text in islice(_candidates(unit, rank), MAX_TRIALS - done):
            done += 1
            span = unit.to_document(target)
            if span is None:
                continue
            inner = unit.result.source.slice(target)
            edit = Edit(span, f"{text}.apply({inner})")
            if _mends(analysis, found, edit, task):
                yield Action(f"Wrap {inner} in {operator}", QUICKFIX, (edit,), (found,))
                break


def _targets(unit: DocumentUnit, found: Diagnostic) -> Iterator[tuple[Span, int]]:
    """Return the expressions to wrap, each with the rank of its stream, in the unit's positions."""
    checked = unit.checked
    if checked is None:
        return
    graph = checked.graph
    start = unit.from_document(found.span.start)
    for node in graph.nodes:
        if start is not None and node.span.start <= start <= node.span.end and _is_innermost(graph.nodes, node, start):
            for index, span in zip(node.inputs, node.input_spans, strict=False):
                stream = graph.streams[index]
                if stream.type is not None:
                    yield span, stream.type.rank
    for index, span in zip(graph.returns, graph.return_spans, strict=False):
        stream = graph.streams[index]
        if start is not None and span.start <= start <= span.end and stream.type is not None:
            yield span, stream.type.rank


def _is_innermost(nodes: list[Node], node: Node, start: int) -> bool:
    return not any(
        other is not node
        and node.span.start <= other.span.start <= start <= other.span.end <= node.span.end
        and other.span != node.span
        for other in nodes
    )


def _candidates(unit: DocumentUnit, rank: int) -> Iterator[tuple[str, str]]:
    prefix = _operator_prefix(unit)
    for index in range(rank + 1, -1, -1):  # outermost first: the placeholder that Accum and Bufferize ask for
        yield f"Promote(b={index})", f"{prefix}Promote(b={index})"
    for first in range(1, rank + 1):
        for last in range(first, rank + 1):
            merged = list(range(first, last + 1))
            yield f"Flatten(L={merged})", f"{prefix}Flatten(L={merged})"


def _operator_prefix(unit: DocumentUnit) -> str:
    """Return what the program writes before the name of an operator: ``step.``, or nothing after a direct import."""
    source = unit.result.source
    checked = unit.checked
    for node in checked.graph.nodes if checked is not None else []:
        written = source.slice(node.op_span)
        if node.has_class and node.written in written:
            return written[: written.rindex(node.written)]
    return "step."
