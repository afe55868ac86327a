"""Checking whole files, applying fixes, and suppressions."""

from __future__ import annotations

import gc
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

from stepcore.check.meaning import same_meaning
from stepcore.check.programs import AffineRule, Checked, ImplChecker, check_program
from stepcore.codes import APPLIED
from stepcore.diagnostics import Diagnostic, Edit, Fix, Severity, apply_edits
from stepcore.fn.check import check_block, check_fn
from stepcore.fn.decl import FnDecl, FnScope
from stepcore.fn.prelude import prelude_names
from stepcore.frontend.python import PyModule, read_module
from stepcore.frontend.yaml import read_task
from stepcore.span import SourceFile, Span
from stepcore.task import TaskFile

# Fixes may uncover further ones (nested loops, helpers); each round removes at least one finding.
MAX_ROUNDS = 50
_SUPPRESSION = re.compile(r"#\s*stepsmith:\s*ignore(?:\[([^\]\n]*)\])?")


@dataclass(slots=True)
class CheckResult:
    """All findings of one file, sorted by position. ``task`` or ``module`` is what was read.

    ``impl_diagnostics`` belong to ``task.impl_source`` when the answer came from a second file.
    """

    source: SourceFile
    programs: list[Checked] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    impl_diagnostics: list[Diagnostic] = field(default_factory=list)
    task: TaskFile | None = None
    module: PyModule | None = None


def check_text(
    text: str,
    path: str,
    *,
    affine: AffineRule = "strict",
    impl: tuple[str, str] | None = None,
    with_fixes: bool = True,
) -> CheckResult:
    """Check a Python file (by its suffix ``.py``) or a task file. ``impl`` is the text and path of a second file."""
    with _no_collection():
        if path.endswith((".py", ".pyi", ".ipynb")):
            result = _check_python(text, path, affine, with_fixes)
        else:
            result = _check_task(text, path, affine, impl, with_fixes)
    result.diagnostics = _suppress(result.source, result.diagnostics, result.programs)
    result.diagnostics.sort(key=lambda found: (found.span.start, found.code))
    return result


@contextmanager
def _no_collection() -> Iterator[None]:
    """Pause the cyclic garbage collector: a check builds large trees that all live on, and scanning them again
    and again makes the time grow faster than the file.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _check_python(text: str, path: str, affine: AffineRule, with_fixes: bool) -> CheckResult:
    module = read_module(text, path)
    result = CheckResult(module.source, diagnostics=list(module.diagnostics), module=module)
    if not module.imports_stepcore:
        # A file that is none of ours gets no findings, not even syntax errors.
        result.diagnostics = []
        return result
    before: list[CheckResult] = []

    def try_fix(fix: Fix) -> bool:
        if not before:
            before.append(check_text(text, path, affine=affine, with_fixes=False))
        fixed = check_text(apply_edits(text, list(fix.edits)), path, affine=affine, with_fixes=False)
        return _is_better(before[0], fixed)

    fns: dict[FnDecl, FnScope] = dict.fromkeys(module.fns, module.fn_scope)
    for program in module.programs:
        checked = check_program(program, module.fn_scope, affine, try_fix if with_fixes else _reject)
        result.programs.append(checked)
        result.diagnostics.extend(checked.diagnostics)
        fns.update(dict.fromkeys(checked.spec.fns, module.fn_scope))
    if module.fn_scope.prelude is not None:
        result.diagnostics.extend(check_block(module.fn_scope.prelude, module.fn_scope, "prelude"))
    unreadable = [item.span for item in module.diagnostics if item.code == "STEP902"]
    for decl, scope in fns.items():
        body = decl.body.source.outer
        end = text.find("\n", body.end)  # what does not parse is missing at the end of the body
        if any(body.start <= span.start and (span.start < end or end < 0) for span in unreadable):
            continue  # its one mistake is reported already
        result.diagnostics.extend(found for found in check_fn(decl, scope) if found not in result.diagnostics)
    return result


def _check_task(
    text: str, path: str, affine: AffineRule, impl: tuple[str, str] | None, with_fixes: bool
) -> CheckResult:
    task = read_task(text, path, impl)
    result = CheckResult(task.source, diagnostics=list(task.diagnostics), task=task)
    result.impl_diagnostics.extend(task.impl_diagnostics)
    if task.spec is None:
        return result
    result.diagnostics.extend(task_fn_diagnostics(task))
    if task.impl is None:
        return result
    before: list[CheckResult] = []

    def try_fix(fix: Fix) -> bool:
        if not before:
            before.append(check_text(text, path, affine=affine, impl=impl, with_fixes=False))
        if impl is None:
            fixed = check_text(apply_edits(text, list(fix.edits)), path, affine=affine, with_fixes=False)
        else:
            changed = apply_edits(impl[0], list(fix.edits)), impl[1]
            fixed = check_text(text, path, affine=affine, impl=changed, with_fixes=False)
        return _is_better(before[0], fixed)

    checked = ImplChecker(task).check(task.impl.source, affine, try_fix if with_fixes else _reject)
    result.programs.append(checked)
    target = result.diagnostics if impl is None else result.impl_diagnostics
    target.extend(checked.diagnostics)
    return result


def task_fn_diagnostics(task: TaskFile) -> list[Diagnostic]:
    """Return the findings in the functions, the ``global`` block and the references of a task."""
    spec = task.spec
    if spec is None:
        return []
    found: list[Diagnostic] = []
    if spec.scope.prelude is not None:
        found.extend(check_block(spec.scope.prelude, spec.scope, "prelude"))
    for decl in spec.fns:
        if decl.func_name not in task.untyped:
            found.extend(check_fn(decl, spec.scope))
    shared: set[str] = set()  # all references of a file share one scope
    for output in spec.outputs or ():
        for block in output.transforms:
            found.extend(check_block(block, spec.scope, "reference", shared))
            shared |= prelude_names(block)
    if task.incomplete:  # a name that seems unknown may only be lost
        found = [item for item in found if item.code != "STEP303"]
    return found


def _reject(_fix: Fix) -> bool:
    return False


def _errors(found: list[Diagnostic]) -> int:
    return sum(item.severity is Severity.ERROR for item in found)


def _affine(found: list[Diagnostic]) -> int:
    return sum(item.code in ("STEP101", "STEP102", "STEP104") for item in found)


def _is_better(before: CheckResult, after: CheckResult) -> bool:
    """Return whether a fix removes findings, affine ones among them, and every program still computes the same."""
    old = [*before.diagnostics, *before.impl_diagnostics]
    new = [*after.diagnostics, *after.impl_diagnostics]
    if _errors(new) >= _errors(old) or _affine(new) >= _affine(old):
        return False
    pairs = list(zip(before.programs, after.programs, strict=False))
    return len(before.programs) == len(after.programs) and all(same_meaning(a.graph, b.graph) for a, b in pairs)


# -- fixes ---------------------------------------------------------------------------------------------


def fix_text(text: str, path: str, *, affine: AffineRule = "strict", impl: tuple[str, str] | None = None) -> str:
    """Return ``text`` (or the text of ``impl``) with the fixes of all affine findings applied, until none is left."""
    for _ in range(MAX_ROUNDS):
        result = check_text(text, path, affine=affine, impl=impl)
        found = result.diagnostics if impl is None else result.impl_diagnostics
        edits = combine([item.fix for item in found if item.fix is not None and item.code in APPLIED])
        if not edits:
            break
        if impl is None:
            text = apply_edits(text, edits)
        else:
            impl = apply_edits(impl[0], edits), impl[1]
    return text if impl is None else impl[0]


def combine(fixes: list[Fix]) -> list[Edit]:
    """Return the edits of as many fixes as can be applied at once: a fix is taken whole or not at all."""
    taken: list[Edit] = []
    for fix in fixes:
        if not any(_conflict(edit, other) for edit in fix.edits for other in taken if edit != other):
            taken.extend(edit for edit in fix.edits if edit not in taken)
    return taken


def _conflict(first: Edit, second: Edit) -> bool:
    a, b = first.span, second.span
    if a.start == a.end or b.start == b.end:
        return a.start < b.end and b.start < a.end
    return a.start < b.end and b.start < a.end


# -- suppressions ----------------------------------------------------------------------------------------


def _suppress(source: SourceFile, found: list[Diagnostic], programs: list[Checked]) -> list[Diagnostic]:
    """Drop findings that the file asks to ignore, and report requests that ignore nothing."""
    if "stepsmith" not in source.text:
        return found
    by_line: dict[int, list[Diagnostic]] = {}
    for item in found:
        by_line.setdefault(source.line_col(item.span.start)[0], []).append(item)
    unused: list[Diagnostic] = []
    for match in _SUPPRESSION.finditer(source.text):
        line, _ = source.line_col(match.start())
        codes = {code.strip() for code in (match.group(1) or "").split(",") if code.strip()}
        if not _take(by_line, _covered_lines(source, line, programs), codes):
            unused.append(_unused_suppression(source, Span(match.start(), match.end()), codes))
    return [*(item for items in by_line.values() for item in items), *unused]


def _take(by_line: dict[int, list[Diagnostic]], lines: range, codes: set[str]) -> bool:
    """Remove the findings with ``codes`` (all, if empty) on ``lines``; return whether there were any."""
    taken = False
    for line in lines:
        items = by_line.get(line, [])
        kept = [item for item in items if codes and item.code not in codes]
        if len(kept) < len(items):
            taken = True
            by_line[line] = kept
    return taken


def _unused_suppression(source: SourceFile, span: Span, codes: set[str]) -> Diagnostic:
    what = ", ".join(sorted(codes)) or "all findings"
    text = f"this comment suppresses {what}, but there is none here; remove it"
    start = span.start
    while start > 0 and source.text[start - 1] in " \t":
        start -= 1
    fix = Fix("Remove the comment", (Edit(Span(start, span.end), ""),))
    return Diagnostic("STEP909", span, text, Severity.WARNING, fix=fix, unnecessary=True)


def _covered_lines(source: SourceFile, line: int, programs: list[Checked]) -> range:
    """Return the lines a comment covers: the program whose head it stands on, else its own line."""
    for program in programs:
        first, _ = source.line_col(program.span.start)
        if first == line:
            end = max([program.span.end, *(node.span.end for node in program.graph.nodes)])
            last, _ = source.line_col(end)
            return range(first, last + 2)
    return range(line, line + 1)


__all__ = ["CheckResult", "check_text", "combine", "fix_text", "replace", "task_fn_diagnostics"]
