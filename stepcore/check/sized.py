"""A checked program at sizes that somebody gives: ``--dims`` of every command that runs, measures or times it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from stepcore.check.files import CheckResult
from stepcore.check.programs import Checked, ImplChecker, check_program
from stepcore.findings.diagnostics import StepError
from stepcore.fn.allow import PREDECLARED_SYMBOLS
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.ir import ProgramSpec
from stepcore.jobdata.choices import AffineRule


def with_dims(spec: ProgramSpec, dims: Mapping[str, int]) -> ProgramSpec:
    """Return ``spec`` with other default sizes.

    Raises:
        StepError: STEP907 for a size that the file itself binds, or that nothing in it is called.
    """
    fixed = dict(spec.fixed)
    known = {*fixed, *dict(spec.defaults), *spec.scope.symbols, *PREDECLARED_SYMBOLS, *spec.symbols()}
    for name, value in dims.items():
        if name in fixed:
            text = f"--dims cannot set {name}={value}: the file itself binds {name} = {fixed[name]}"
            raise StepError("STEP907", text)
        if name not in known:
            there = ", ".join(sorted(known)) or "none"
            raise StepError("STEP907", f"--dims sets {name}, but no size is called so; there are {there}")
    return replace(spec, defaults=tuple({**dict(spec.defaults), **dims}.items()))


def program_at(result: CheckResult, first: Checked, dims: Mapping[str, int], affine: AffineRule) -> Checked:
    """Check a program of a Python file anew; its specification then has ``dims`` as its defaults.

    Raises:
        StepError: see :func:`with_dims`.
    """
    module = result.module
    assert module is not None, "it was read as Python"
    (program,) = (program for program in module.programs if program.spec.span == first.span)
    checked = check_program(program, module.fn_scope, affine, dims=dict(dims))
    checked.spec = with_dims(checked.spec, dims)
    return checked


def at_dims(result: CheckResult, first: Checked, dims: Mapping[str, int], affine: AffineRule) -> Checked:
    """Return a program at the sizes ``dims``, with the graph that it has there.

    Raises:
        StepError: see :func:`with_dims`.
    """
    if not dims:
        return first
    if result.task is None:
        if first.followed is not None:
            return program_at(result, first, dims, affine)
        return replace(first, spec=with_dims(first.spec, dims))
    task = read_task(result.source.text, result.source.path, given=dims)
    assert task.spec is not None, "a program of it was checked"
    answer = result.task  # the program may stand in a second file
    task = replace(task, spec=with_dims(task.spec, dims), impl=answer.impl, impl_source=answer.impl_source)
    assert task.impl is not None, "a program of it was checked"
    return ImplChecker(task).check(task.impl.source, affine)
