"""Checking whole files."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from stepcore.check.programs import Checked, ImplChecker, check_program, check_script
from stepcore.check.suppression import suppress
from stepcore.check.trials import PythonTrials, Trials, TrialState
from stepcore.findings import budget
from stepcore.findings.budget import OutOfBudget
from stepcore.findings.codes import Phase, Subject, about, faults
from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.fn.aliases import with_aliases
from stepcore.fn.check import check_block, check_fn, check_references
from stepcore.fn.decl import FnDecl, FnScope
from stepcore.fn.prelude import prelude_names
from stepcore.fn.walk.names import STATES
from stepcore.frontend.syntax import unmarked
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.ir import reference_ports
from stepcore.graph.task import TaskFile, task_name
from stepcore.jobdata.choices import AffineRule
from stepcore.ops import GENERATION_1
from stepcore.ops.dialect import Dialect
from stepcore.system.collector import no_collection
from stepcore.text.span import SourceFile, Span

if TYPE_CHECKING:
    from stepcore.check.compositions import CheckedComposition
    from stepcore.frontend.python import ModuleFacts, PyModule


@dataclass(slots=True)
class CheckResult:
    """All findings of one file, sorted by position. ``task`` or ``module`` is what was read.

    ``script`` are the streams of a Python file without programs that makes its own, as published scripts do.

    ``impl_diagnostics`` belong to ``task.impl_source`` when the answer came from a second file.
    """

    source: SourceFile
    programs: list[Checked] = field(default_factory=list)
    compositions: list[CheckedComposition] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    impl_diagnostics: list[Diagnostic] = field(default_factory=list)
    task: TaskFile | None = None
    module: PyModule | None = None
    script: Checked | None = None

    @property
    def program_source(self) -> SourceFile:
        """The file that the programs stand in: that of the answer where it came from a second one."""
        return self.source if self.task is None else self.task.impl_source


def check_text(
    text: str,
    path: str,
    *,
    affine: AffineRule = "strict",
    impl: tuple[str, str] | None = None,
    with_fixes: bool = True,
    with_names: bool = False,
    dialect: Dialect = GENERATION_1,
) -> CheckResult:
    """Check a Python file (by its suffix ``.py``) or a task file. ``impl`` is the text and path of a second file.

    With ``with_names`` the result keeps what every name stood for, which editors ask for. ``dialect`` says which
    operators the file sees.
    """
    with no_collection(), budget.limited(len(text) + (0 if impl is None else len(impl[0]))):
        if path.endswith((".py", ".pyi", ".ipynb")):
            result = _check_python(text, path, affine, with_fixes, dialect=dialect)
        else:
            result = _check_task(text, path, affine, impl, with_fixes, dialect)
        if not with_names:  # a third of all objects, which the collector would have to look through
            _forget_names(result)
    extents = covered(result)
    if result.task is None:
        result.diagnostics = suppress(result.source, result.diagnostics, extents)
    elif impl is None:
        of_program = {id(item) for program in result.programs for item in program.diagnostics}
        own = [item for item in result.diagnostics if id(item) in of_program]
        beside = [item for item in result.diagnostics if id(item) not in of_program]
        result.diagnostics = suppress(result.source, own, extents, beside)  # as :func:`task_faults` has it
    else:
        result.diagnostics = suppress(result.source, result.diagnostics, [])
        result.impl_diagnostics = suppress(result.task.impl_source, result.impl_diagnostics, extents)
    return result


def _forget_names(result: CheckResult) -> None:
    for program in result.programs:
        program.seen.clear()
    if result.module is not None:
        result.module.seen.clear()


def check_part(
    text: str,
    path: str,
    others: ModuleFacts,
    affine: AffineRule = "strict",
    *,
    with_fixes: bool = True,
    blocks: Sequence[str] | None = None,
    dialect: Dialect = GENERATION_1,
) -> CheckResult:
    """Check a part of a Python file that holds all definitions that it names; ``others`` are the file's programs.

    ``blocks`` are its blocks where they are known (:func:`~stepcore.frontend.python.read_module`).

    Comments that suppress findings are not heeded: whether they are needed only the whole file shows.
    """
    with no_collection(), budget.limited(len(text)):
        return _check_python(text, path, affine, with_fixes, others, dialect, blocks)


def _check_python(
    text: str,
    path: str,
    affine: AffineRule,
    with_fixes: bool,
    others: ModuleFacts | None = None,
    dialect: Dialect = GENERATION_1,
    blocks: Sequence[str] | None = None,
) -> CheckResult:
    from stepcore.frontend.python import read_module  # tasks need it not

    module = read_module(unmarked(text), path, others, blocks=blocks, dialect=dialect)
    result = CheckResult(module.source, diagnostics=list(module.diagnostics), module=module)
    if not module.imports_stepcore:
        # A file that is none of ours gets no findings, not even syntax errors; what a part is, its file tells.
        if others is None:
            result.diagnostics = []
        return result
    if not module.programs and others is None:
        result.script = check_script(task_name(path), module, unmarked(text), affine)
    if result.script is not None:
        # What is no part of programs may stand in a script: only syntax errors of the file itself are kept.
        result.diagnostics = [item for item in result.diagnostics if about(item.code).phase is Phase.SYNTAX]
        _Distinct(result.diagnostics).extend(result.script.diagnostics)
        return result
    found = _Distinct(result.diagnostics)
    try_fix = PythonTrials(text, _state_of_part(path, affine, dialect)) if with_fixes else None
    with _ends_with_the_budget(found):
        _check_module(result, module, found, try_fix, affine)
        if others is None:  # a part does not hold the programs that a composition applies
            _check_compositions(result, module, found)
    return result


def _check_compositions(result: CheckResult, module: PyModule, found: _Distinct) -> None:
    for checked in compositions_of(module):
        result.compositions.append(checked)
        found.extend(checked.diagnostics)


def compositions_of(module: PyModule) -> Iterator[CheckedComposition]:
    """Check the compositions of a Python file against what its programs declare."""
    if not module.compositions:
        return
    # Few files have any, and loading this takes 4 ms.
    from stepcore.check.compositions import applicable, check_composition

    known = {program.node.name: applicable(program) for program in module.programs}
    for composition in module.compositions:
        yield check_composition(composition, known, module.scope)


@contextmanager
def _ends_with_the_budget(found: _Distinct) -> Iterator[None]:
    """Report it where the document's budget ends in here."""
    try:
        yield
    except OutOfBudget as error:
        own = budget.current()
        assert own is not None  # who else would have raised it
        found.extend(own.report(error, Span(0, 0)))


def _check_module(
    result: CheckResult, module: PyModule, found: _Distinct, try_fix: Trials | None, affine: AffineRule
) -> None:
    fns: dict[FnDecl, FnScope] = dict.fromkeys(module.fns, module.fn_scope)
    for program in module.programs:
        budget.spend(1)  # nothing more is begun once it is spent
        checked = check_program(program, module.fn_scope, affine, try_fix, everywhere=True)
        result.programs.append(checked)
        found.extend(checked.diagnostics)
        fns.update(dict.fromkeys(checked.spec.fns, module.fn_scope))
    found.extend(repeated_programs((program.node.name, program.spec.span) for program in module.programs))
    if module.fn_scope.prelude is not None:
        found.extend(check_block(module.fn_scope.prelude, module.fn_scope, "prelude"))
    reported = sorted({module.source.line_col(item.span.start)[0] for item in module.diagnostics})
    for decl, scope in fns.items():
        # What cannot be read is missing in the body, and was reported.
        if not _holds_any(module.source, decl.body.source.outer, reported):
            found.extend(check_fn(decl, scope))


def repeated_programs(heads: Iterable[tuple[str, Span]]) -> list[Diagnostic]:
    """Return a finding for each program that a later one of its name replaces; ``heads`` are all names and places."""
    last: dict[str, Span] = {}
    replaced: list[tuple[str, Span]] = []
    for name, span in sorted(heads, key=lambda head: head[1].start):
        if name in last:
            replaced.append((name, last[name]))
        last[name] = span
    text = "another program further down is named {}, too, and replaces this one; rename one of them"
    return [Diagnostic("STEP223", span, text.format(name)) for name, span in replaced]


class _Distinct:
    """Adds findings to a list: what several programs or functions share is reported once, wherever it was met first."""

    def __init__(self, target: list[Diagnostic]) -> None:
        self._target = target
        self._known = {(item.code, item.span) for item in target}

    def extend(self, found: list[Diagnostic]) -> None:
        """Add the findings of one program or function."""
        # A helper that is entered often says the same of each stream that it makes.
        new = {(item.code, item.span, item.message): item for item in reversed(found)}
        self._target.extend(item for item in reversed(new.values()) if (item.code, item.span) not in self._known)
        self._known.update((item.code, item.span) for item in found)


def _state_of_part(path: str, affine: AffineRule, dialect: Dialect) -> Callable[[str], TrialState]:
    def check(part: str) -> TrialState:
        result = _check_python(part, path, affine, with_fixes=False, dialect=dialect)
        return TrialState.of((program.graph for program in result.programs), result.diagnostics)

    return check


def _holds_any(source: SourceFile, span: Span, lines: list[int]) -> bool:
    """Return whether one of ``lines``, which are sorted, is a line of ``span``."""
    if not lines:
        return False
    first, last = source.line_col(span.start)[0], source.line_col(span.end)[0]
    at = bisect_left(lines, first)
    return at < len(lines) and lines[at] <= last


def _check_task(
    text: str, path: str, affine: AffineRule, impl: tuple[str, str] | None, with_fixes: bool, dialect: Dialect
) -> CheckResult:
    task = read_task(text, path, impl, dialect=dialect)
    result = CheckResult(task.source, diagnostics=list(task.diagnostics), task=task)
    result.impl_diagnostics.extend(task.impl_diagnostics)
    if task.spec is None:
        return result
    with _ends_with_the_budget(_Distinct(result.diagnostics)):
        for item in _task_fn_findings(task):
            result.diagnostics.append(item)  # one by one: they stay where the budget ends
    if task.impl is None:
        return result

    def state(changed: str) -> TrialState:
        whole, second = (changed, None) if impl is None else (text, (changed, path))
        tried = read_task(whole, path, second, dialect=dialect)
        found = [*tried.diagnostics, *tried.impl_diagnostics]
        if tried.spec is None or tried.impl is None:  # the edits broke the YAML around the answer
            return TrialState.of([], found)
        checked = ImplChecker(tried).check(tried.impl.source, affine, everywhere=True)
        return TrialState.of([checked.graph], [*found, *checked.diagnostics])

    try_fix = Trials(text if impl is None else impl[0], state) if with_fixes else None
    checked = ImplChecker(task).check(task.impl.source, affine, try_fix, everywhere=True)
    result.programs.append(checked)
    target = result.diagnostics if impl is None else result.impl_diagnostics
    target.extend(_without_repeats(task, result.diagnostics, checked))
    return result


def _without_repeats(task: TaskFile, of_task: list[Diagnostic], checked: Checked) -> list[Diagnostic]:
    """Leave out that an operator needs a state where the function's body, which reads one, was told to have none."""
    text = task.source.text
    unknown = (item.span for item in of_task if about(item.code).subject is Subject.NAME)
    read = [span for span in unknown if text[span.start : span.end] in STATES]
    fns = task.spec.fns if read and task.spec is not None else ()
    told = {id(decl) for decl in fns if any(_holds(decl.body.source.outer, span) for span in read)}
    given = ((node.param_spans.get("fn", node.op_span), node.params.get("fn")) for node in checked.graph.nodes)
    needless = {where for where, fn in given if isinstance(fn, FnDecl) and id(fn) in told}
    return [
        item
        for item in checked.diagnostics
        if about(item.code).subject is not Subject.STATE or item.span not in needless
    ]


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start < outer.end


def task_fn_diagnostics(task: TaskFile) -> list[Diagnostic]:
    """Return the findings in the functions, the ``global`` block and the references of a task."""
    return list(_task_fn_findings(task))


def task_faults(task: TaskFile) -> list[Diagnostic]:
    """Return the errors in what a task gives to every answer: its functions, its ``global`` block and its references.

    These are the errors that ``check`` reports there: comments that suppress them count. While there are any, no answer
    is run or accepted.
    """
    found: list[Diagnostic] = []
    with no_collection(), budget.limited(len(task.source.text)), _ends_with_the_budget(_Distinct(found)):
        for item in _task_fn_findings(task):
            found.append(item)
    return [item for item in suppress(task.source, found, []) if item.severity is Severity.ERROR]


def program_faults(result: CheckResult, program: Checked) -> list[Diagnostic]:
    """Return the errors of a Python file that concern ``program`` and stand outside of it, as ``check`` reports them.

    What stands inside of another program or of a composition is that one's affair, except for the functions of the
    language: the file shares them.
    """
    others = [program_extent(other) for other in result.programs if other.name != program.name]
    others += [composition.extent for composition in result.compositions]
    return _faults(result, others, program.diagnostics)


def composition_faults(result: CheckResult, composition: CheckedComposition) -> list[Diagnostic]:
    """Return the errors of a Python file that concern ``composition`` besides its own, as ``check`` reports them."""
    others = [program_extent(program) for program in result.programs]
    others += [other.extent for other in result.compositions if other is not composition]
    return _faults(result, others, composition.diagnostics)


def _faults(result: CheckResult, others: list[Span], known: list[Diagnostic]) -> list[Diagnostic]:
    """Return the errors that are not ``known`` and stand in none of ``others``, or in a function of the language."""
    own = {(item.code, item.span) for item in known}
    return [
        item
        for item in faults(result.diagnostics)
        if (item.code, item.span) not in own
        and (about(item.code).shared or not any(span.start <= item.span.start < span.end for span in others))
    ]


def _task_fn_findings(task: TaskFile) -> Iterator[Diagnostic]:
    for item in _all_fn_findings(task):
        # In a task that is incomplete a name that seems unknown may only be lost.
        if not task.incomplete or about(item.code).subject is not Subject.NAME:
            yield item


def _all_fn_findings(task: TaskFile) -> Iterator[Diagnostic]:
    spec = task.spec
    if spec is None:
        return
    if spec.scope.prelude is not None:
        yield from check_block(spec.scope.prelude, spec.scope, "prelude")
    for decl in spec.fns:
        if decl.func_name not in task.untyped:
            yield from check_fn(decl, spec.scope)
    shared: set[str] = set()  # all references of a file share one scope
    scope = replace(spec.scope, tensors=tuple(port.name for port in reference_ports(spec)))
    blocks = [block for output in spec.outputs or () for block in output.transforms]
    are_clean = True
    for block in blocks:
        found = check_block(block, scope, "reference", shared)
        yield from found
        are_clean = are_clean and not found
        shared |= prelude_names(block)
        scope = with_aliases(scope, block)
    if are_clean:
        found = check_references(blocks, scope)
        yield from found
        if blocks and not found:
            from stepcore.check.references import reference_shapes  # of tasks alone

            yield from reference_shapes(task, spec, scope)


# -- extents -----------------------------------------------------------------------------------------


def program_extent(program: Checked) -> Span:
    """Return the span from the head of a program to its end, which a comment at its head covers."""
    return Span(program.span.start, program.end)


def composition_extent(composition: CheckedComposition) -> Span:
    """Return the span from the head of a composition to its end, which a comment at its head covers."""
    return Span(composition.span.start, composition.extent.end)


def covered(result: CheckResult) -> list[Span]:
    """Return what comments at the heads of programs and compositions cover."""
    return [*map(program_extent, result.programs), *map(composition_extent, result.compositions)]
