"""What the jobs of the worker share: reading a program, binding its sizes, and a warm cache of tasks."""

from __future__ import annotations

import hashlib
import os
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Final

import torch

from stepcore.check import Checked, CheckResult, ImplChecker, check_text
from stepcore.check.elsewhere import At
from stepcore.check.files import program_faults, task_faults
from stepcore.check.sized import program_at, with_dims
from stepcore.findings.diagnostics import Diagnostic, Severity, StepError
from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Verdict
from stepcore.frontend.yaml.tasks import read_answer, read_task
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.task import TaskFile
from stepcore.jobdata.choices import AffineRule
from stepcore.jobdata.programs import VerifyRequest
from stepcore.jobs import JobError
from stepcore.sim.everywhere import LIMIT, Make, examined_everywhere
from stepcore.sim.functional import Session
from stepcore.sim.opened import Opened
from stepcore.sim.resized import resized
from stepcore.sim.worker.imports import guarded_reference, import_module, programs_of
from stepcore.sim.world import Reference
from stepcore.text.span import SourceFile, Span
from stepcore.text.wording import no_such_program, one_line

_CACHED_TASKS: Final = 32


@dataclass(slots=True)
class Prepared:
    """A task whose sizes are bound: ready to check and run answers."""

    task: TaskFile
    checker: ImplChecker
    session: Session
    faults: list[Diagnostic]


@dataclass(slots=True)
class Candidate:
    """One program ready to be run; ``session`` belongs to its specification.

    ``faults`` are errors outside of the program, in ``declarations``: with any of them it is not run.
    """

    name: str
    source: SourceFile
    checked: Checked
    session: Session
    declarations: SourceFile  # where functions and references stand; differs where impl is a second file
    faults: list[Diagnostic]
    at: At  # the same text at other sizes
    make: Make
    opened: Opened | None = None  # the files that the user's own code read

    def verify(self) -> Verdict:
        """Return the verdict with all that it is worth."""
        return self.examine(self.decide())

    def decide(self) -> Verdict:
        """Return the verdict on the data drawn, which :meth:`examine` may make worse."""
        return self.session.decided(self.checked, self.faults)

    def examine(self, decided: Verdict) -> Verdict:
        """Return what :meth:`decide` gave as it stands in the end (:mod:`stepcore.sim.everywhere`)."""
        return examined_everywhere(self.session, self.checked, self.at, self.make, decided)


THREADS: Final = min(2, os.cpu_count() or 1)
LARGE_BYTES: Final = 4 << 20  # inputs, parameters and outputs together
_cache: OrderedDict[tuple[str, str, tuple[tuple[str, int], ...], int], Prepared] = OrderedDict()


def use_threads(session: Session) -> None:
    """Let torch use two threads for large data only: at the published sizes waking a second one costs more than it
    saves, and far more where another process has the core.
    """
    torch.set_num_threads(THREADS if session.bounds.fixed >= LARGE_BYTES else 1)


def forget_tasks() -> None:
    """Empty the caches."""
    _cache.clear()
    _imported_for.cache_clear()


def prepared_task(request: VerifyRequest) -> Prepared:
    """Return the task of a YAML file, from the cache if it is there.

    Raises:
        JobError: the file is no usable task, or the order's sizes do not suit it.
        SimError: its data cannot be drawn.
    """
    path, text, dims, seed = request.path, request.text, request.dims, request.seed
    key = (path, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest(), tuple(sorted(dims.items())), seed)
    found = _cache.get(key)
    if found is None:
        task = read_task(text, path, given=dims)
        if task.spec is None or any(d.severity is Severity.ERROR for d in task.diagnostics):
            raise unusable(task.source, task.diagnostics, "this file holds no task: inputs and outputs are missing")
        spec = _with_dims(task.spec, dims)
        task = replace(task, spec=spec)
        faults = [] if request.clean and not dims else task_faults(task)  # an owner checks at the default sizes
        found = _prepared(task, spec, seed, faults)
        before = next((_cache[old] for old in reversed(_cache) if old[0] == path and old[2:] == key[2:]), None)
        if before is not None:  # mostly only the program was edited
            found.session.learn(before.session)
        _cache[key] = found
        while len(_cache) > _CACHED_TASKS:
            _cache.popitem(last=False)
    _cache.move_to_end(key)
    return found


def _prepared(task: TaskFile, spec: ProgramSpec, seed: int, faults: list[Diagnostic]) -> Prepared:
    block = spec.scope.prelude
    of_global = [item for item in faults if block is not None and _holds(block.source.outer, item.span)]
    if of_global:  # a session runs it when it is made
        raise unusable(task.source, of_global, "")
    return Prepared(task, ImplChecker(task), Session(spec, seed=seed), faults)


def _with_dims(spec: ProgramSpec, dims: Mapping[str, int]) -> ProgramSpec:
    """Return ``spec`` with other default sizes; a size that cannot be set ends the job."""
    try:
        return with_dims(spec, dims)
    except StepError as error:
        raise JobError(error.code, error.message) from error


def candidates(request: VerifyRequest) -> list[Candidate]:
    """Return the programs of an order: the one of a task file, or those of a Python file that are asked for.

    Raises:
        JobError: nothing that can be run is there.
        SimError: data cannot be drawn.
    """
    seed, affine, program = request.seed, request.affine, request.program
    if request.path.endswith(".py"):
        return _python_candidates(request)
    prepared = prepared_task(request)
    task = prepared.task
    if program is not None and program != task.name:
        raise JobError("STEP910", f"there is no program {one_line(program)}; this task is called {one_line(task.name)}")
    impl = request.impl
    if impl is not None:
        answer = read_answer(impl.text, impl.path)
        task = replace(task, impl=answer.impl, impl_source=answer.source, impl_diagnostics=answer.impl_diagnostics)
    if task.impl is None:
        problems = task.impl_diagnostics if impl is not None else []
        raise unusable(task.impl_source, problems, "there is no impl to run; give one with --impl FILE", "STEP411")
    spec, source = prepared.session.spec, task.impl.source
    checked = prepared.checker.check(source, affine)

    def at(sizes: Mapping[str, int]) -> Checked | None:
        try:
            sized = resized(spec, sizes)
        except SimError:
            return None
        return ImplChecker(replace(task, spec=sized.spec)).check(source, affine)

    def make(spec: ProgramSpec) -> Session:
        return Session(spec, seed=seed, limit=LIMIT, examine=False)

    return [Candidate(task.name, task.impl_source, checked, prepared.session, task.source, prepared.faults, at, make)]


def _python_candidates(request: VerifyRequest) -> list[Candidate]:
    text, file, program, affine = request.text, request.place, request.program, request.affine
    dims, seed = request.dims, request.seed
    result = checked_file(text, request.path, affine)
    names = [checked.name for checked in result.programs]
    if program is not None and program not in names:
        raise JobError("STEP910", _no_program(program, set(names), result))
    if not names and result.script is not None:
        text = "this script has no function with @step.program; `stepsmith verify` runs it, and compares by its asserts"
        raise JobError("STEP910", text)
    if not names:
        raise unusable(result.source, result.diagnostics, "no STeP program: no function with @step.program", "STEP910")
    # Of several with one name the last counts, as in Python; the checker complains about the others.
    wanted = list({checked.name: checked for checked in result.programs if program in (None, checked.name)}.values())
    has_reference = any(checked.spec.reference for checked in wanted)
    module, opened = _imported(file, text, request.batch) if has_reference else (None, None)
    programs = programs_of(module) if module is not None else {}
    found: list[Candidate] = []
    for checked in wanted:
        reference = programs[checked.name].reference if checked.name in programs else None
        guarded = guarded_reference(reference, file, opened) if reference is not None else None
        at = _at_sizes(result, checked, dims, affine)
        here = at(dims) if dims and checked.followed is not None else checked
        spec = _with_dims(here.spec, dims)
        faults = program_faults(result, checked)
        bound = replace(here, spec=spec)

        def make(spec: ProgramSpec, reference: Reference | None = guarded) -> Session:
            return Session(spec, seed=seed, reference=reference, limit=LIMIT, examine=False)

        session = Session(spec, seed=seed, reference=guarded)
        found.append(Candidate(checked.name, result.source, bound, session, result.source, faults, at, make, opened))
    return found


def _no_program(program: str, names: set[str], result: CheckResult) -> str:
    """Say which programs there are instead of one that is none, or is a composition of several."""
    if any(composition.name == program for composition in result.compositions):
        what = f"{one_line(program)} is a composition, which runs as a whole by `stepsmith verify`; here"
        return f"{what} one of its programs is needed: {_listed(names)}"
    return no_such_program(program, sorted(names))


def composition_named(request: VerifyRequest) -> bool:
    """Whether the program that an order asks for is a composition of its Python file."""
    name = request.program
    if name is None:
        return False
    result = checked_file(request.text, request.path, request.affine)
    programs = {checked.name for checked in result.programs}
    return name not in programs and any(composition.name == name for composition in result.compositions)


def _at_sizes(
    result: CheckResult, first: Checked, dims: Mapping[str, int], affine: AffineRule
) -> Callable[[Mapping[str, int]], Checked]:
    """Return what checks a program of a Python file anew; its specification then has the sizes as its defaults."""

    def at(sizes: Mapping[str, int]) -> Checked:
        try:
            return program_at(result, first, {**dims, **sizes}, affine)
        except StepError as error:
            raise JobError(error.code, error.message) from error

    return at


@lru_cache(maxsize=1)  # an editor runs the programs of a saved file one after the other
def checked_file(text: str, path: str, affine: AffineRule) -> CheckResult:
    """Return what checking a Python file finds; the last one is remembered."""
    return check_text(text, path, affine=affine, with_fixes=False)


def imported_module(request: VerifyRequest) -> ModuleType:
    """Return the module of an order's Python file: the one that its programs' references are from.

    Raises:
        JobError: it cannot be imported.
    """
    return _imported(request.place, request.text, request.batch)[0]


def _imported(file: str, text: str, batch: str | None) -> tuple[ModuleType, Opened]:
    """Return the user's module and what it reads: the same for all jobs of one batch, one after the other."""
    if batch is not None:
        return _imported_for(file, text, batch)
    opened = Opened(Path(file).absolute().parent)
    return import_module(file, text, opened=opened), opened


@lru_cache(maxsize=1)
def _imported_for(file: str, text: str, _batch: str) -> tuple[ModuleType, Opened]:
    return _imported(file, text, None)


def unusable(source: SourceFile, found: list[Diagnostic], otherwise: str, code: str = "STEP910") -> JobError:
    """Return the error for a file with these findings: the first error in full, the number of the others."""
    errors = [item for item in found if item.severity is Severity.ERROR]
    if not errors:
        return JobError(code, otherwise)
    more = f" (and {len(errors) - 1} more: run `stepsmith check`)" if len(errors) > 1 else ""
    place = position(source, errors[0].span)
    text = f"{errors[0].message}{more}"
    return JobError(errors[0].code, text, {"path": source.path, "line": place[0], "column": place[1]})


def _holds(outer: Span, inner: Span) -> bool:
    return outer.start <= inner.start <= outer.end


def position(source: SourceFile, span: Span) -> tuple[int, int]:
    """Return line and column of a span for people, counted from 1."""
    line, column = source.line_col(span.start)
    return line + 1, column + 1


def _listed(names: set[str]) -> str:
    return ", ".join(sorted(names)) or "none"
