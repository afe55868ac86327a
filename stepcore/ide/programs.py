"""The programs of a document, for code lenses, the Testing view and simulation."""

from __future__ import annotations

from typing import cast

from stepcore.check.programs import Checked
from stepcore.findings.codes import faults
from stepcore.frontend.python import PyProgram
from stepcore.frontend.syntax import node_span
from stepcore.ide.analysis import Analysis, DocumentUnit
from stepcore.ide.model import ProgramInfo
from stepcore.ide.running import run_marks
from stepcore.ide.tasks.tree import task_tree
from stepcore.text import wording
from stepcore.text.span import Span


def programs(analysis: Analysis) -> list[ProgramInfo]:
    """Return the programs in the order of the document.

    ``target`` is what ``stepsmith simulate`` takes, ``FILE::PROGRAM``; for an answer in a file of its own it names the
    task, and the answer goes to ``--impl``. ``head`` is the decorator (or the key ``impl``), so that a code lens stands
    above it.
    """
    found = analysis.memo.get("programs")
    if found is None:
        infos = (info for unit in analysis.units for info in _of_unit(analysis, unit))
        found = analysis.memo["programs"] = sorted(infos, key=lambda info: info.head)
    return list(found)


def no_such_program(analysis: Analysis, named: str | None) -> str:
    """Return what to tell who asked for a program that there is not, by its name or (None) by where the cursor is."""
    if named is None:
        return "there is no program here: put the cursor into one"
    return wording.no_such_program(named, (info.name for info in programs(analysis)))


def drawn_programs(analysis: Analysis) -> list[ProgramInfo]:
    """Return what has a picture and can be timed: the programs, and a script as one.

    The ``head`` of a script is where it makes its first stream. It is runnable where all is known that becomes of its
    streams.
    """
    unit = analysis.script
    if unit is None or unit.checked is None or not unit.checked.graph.inputs:
        return programs(analysis)
    script = unit.checked
    head = script.graph.streams[script.graph.inputs[0]].span
    return [ProgramInfo(script.name, analysis.source.path, head, unit.focus, False, script.runnable)]


def fingerprint(analysis: Analysis, program: ProgramInfo) -> str:
    """Return a text that changes with anything in the file that a run of one of its programs depends on.

    All are worked out at the first question, for half of what the analysis of an edit takes; without runs nobody asks.
    """
    found: dict[Span, str] | None = analysis.memo.get("fingerprints")
    if found is None:
        marked = zip(analysis.units, run_marks(analysis), strict=True)
        found = {info.head: mark for unit, mark in marked for info in _of_unit(analysis, unit)}
        analysis.memo["fingerprints"] = found
    return found[program.head]


def _of_unit(analysis: Analysis, unit: DocumentUnit) -> list[ProgramInfo]:
    module = unit.result.module
    if module is not None:
        start, found = unit.checking.memo.get("programs") or (unit.focus.start, None)
        if found is None:
            pairs = zip(unit.result.programs, module.programs, strict=False)
            infos = (_python(analysis, unit, checked, program) for checked, program in pairs)
            found = [info for info in infos if info is not None]
        elif start != unit.focus.start:  # the program was moved by an edit before it
            found = [_moved(info, unit.focus.start - start) for info in found]
        unit.checking.memo["programs"] = unit.focus.start, found
        return cast("list[ProgramInfo]", found)
    return [_task(analysis, unit, checked) for checked in unit.result.programs]


def _moved(info: ProgramInfo, by: int) -> ProgramInfo:
    (start, end), (first, last) = info.head, info.span
    head, span = Span(start + by, end + by), Span(first + by, last + by)
    return ProgramInfo(info.name, info.target, head, span, info.has_reference, info.is_runnable)


def _python(analysis: Analysis, unit: DocumentUnit, checked: Checked, program: PyProgram) -> ProgramInfo | None:
    node = node_span(program.code, program.node)
    decorators = [node_span(program.code, decorator) for decorator in program.node.decorator_list]
    first = min([node, *decorators])
    start = unit.result.source.text.rfind("\n", 0, first.start) + 1  # the @ in front of a decorator
    head = unit.to_document(Span(start, first.end))
    span = unit.to_document(Span(start, node.end))
    if head is None or span is None:
        return None
    target = f"{analysis.source.path}::{checked.name}"
    reference = checked.spec.reference is not None
    return ProgramInfo(checked.name, target, head, span, reference, _is_runnable(unit, checked))


def _task(analysis: Analysis, unit: DocumentUnit, checked: Checked) -> ProgramInfo:
    task = unit.result.task
    assert task is not None
    entry = task_tree(analysis.source.text).entry("impl")
    head = Span(checked.span.start, checked.span.start) if entry is None else entry.key_span
    outputs = [] if task.spec is None else list(task.spec.outputs or ())
    reference = bool(outputs) and all(output.transforms for output in outputs)
    target = f"{task.source.path}::{task.name}"
    span = head.cover(checked.span)
    return ProgramInfo(checked.name, target, head, span, reference, _is_runnable(unit, checked))


def _is_runnable(unit: DocumentUnit, checked: Checked) -> bool:
    """Return whether the simulator would take it: it runs programs with affine findings, and no others."""
    return checked.runnable and not faults([*unit.result.diagnostics, *unit.result.impl_diagnostics])
