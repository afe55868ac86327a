"""Only what checking finds no fault with is converted or delivered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from stepcore.check.files import compositions_of, repeated_programs, task_fn_diagnostics
from stepcore.check.programs import Checked, ImplChecker
from stepcore.findings import budget
from stepcore.findings.budget import OutOfBudget
from stepcore.findings.codes import Subject, about
from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.fn.check import check_block, check_fn
from stepcore.fn.decl import FnDecl
from stepcore.frontend.python import PyModule
from stepcore.gate.rewriting import ConvertError
from stepcore.graph.task import TaskFile
from stepcore.text.span import SourceFile, Span


class Unclean(ConvertError):
    """Checking finds an error; ``found`` is the first one, in ``source``. Comments that suppress findings do not count.

    A message says where (line and column count from 1), what, and what to do.
    """

    def __init__(self, source: SourceFile, found: Diagnostic) -> None:
        line, column = source.line_col(found.span.start)
        is_no_code = about(found.code).subject is Subject.CODE
        does_not_parse = "code that does not parse cannot be converted: " if is_no_code else ""
        super().__init__(f"{does_not_parse}{line + 1}:{column + 1}: {found.code} {found.message}")
        self.source = source
        self.found = found
        self.line, self.column = line + 1, column + 1


@contextmanager
def within_budget(source: SourceFile) -> Iterator[None]:
    """Let everything inside draw from the budget of ``source``, as checking it does: what converts checks again.

    Raises:
        Unclean: the budget ends inside (STEP912).
    """
    with budget.limited(len(source.text)) as own:
        try:
            yield
        except OutOfBudget as error:
            _raise_first(source, own.report(error, Span(0, 0)))
            raise  # reported inside, where somebody took the finding for none


def require_clean(task: TaskFile) -> None:
    """Check a whole task.

    Raises:
        Unclean: there is an error.
    """
    found = [*task.diagnostics, *task_fn_diagnostics(task)]
    _raise_first(task.source, found)
    if task.impl is not None and task.spec is not None:
        is_empty = not task.impl.source.text.strip() or task.impl.source.text.strip() == "..."
        checked = [] if is_empty else ImplChecker(task).check(task.impl.source).diagnostics
        _raise_first(task.impl_source, [*task.impl_diagnostics, *checked])


def require_clean_program(module: PyModule, checked: Checked) -> None:
    """Check a Python file as far as it was read, one program of it, and its compositions.

    Raises:
        Unclean: there is an error.
    """
    repeated = repeated_programs((program.node.name, program.spec.span) for program in module.programs)
    _raise_first(module.source, [*module.diagnostics, *checked.diagnostics, *repeated])
    _raise_first(module.source, [item for composed in compositions_of(module) for item in composed.diagnostics])


def require_clean_fns(module: PyModule, fns: Iterable[FnDecl]) -> None:
    """Check the functions of a Python file that are converted, and what they use of the module.

    Raises:
        Unclean: there is an error.
    """
    prelude, scope = module.fn_scope.prelude, module.fn_scope
    found = [] if prelude is None else check_block(prelude, scope, "prelude")
    _raise_first(module.source, [*found, *(item for decl in fns for item in check_fn(decl, scope))])


def _raise_first(source: SourceFile, found: Iterable[Diagnostic]) -> None:
    errors = sorted((item for item in found if item.severity is Severity.ERROR), key=lambda item: item.span)
    if errors:
        raise Unclean(source, errors[0])
