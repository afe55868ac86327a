"""Verifying a script without ``@step.program``: it is run as ``python FILE`` would, and its own checks decide.

Afterwards the functions that a test runner would call (``test...()``) are called, unless the script did. Types and the
affine rule are the checker's; what only a run shows (a stream that is consumed in a way that no text tells) joins them.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter
from types import CodeType

import stepcore
from stepcore.check import Checked
from stepcore.findings.diagnostics import StepError
from stepcore.findings.verdict import FunctionalPart, as_row, raised, static
from stepcore.frontend.python import imports_published
from stepcore.frontend.script import tests_of, with_marks
from stepcore.jobdata.programs import VerdictRow, VerifyRequest
from stepcore.jobs import JobCancelled, JobError
from stepcore.ops.base import RuleError
from stepcore.sim.torch_functions import ReplacedFunctions
from stepcore.sim.torch_settings import settings_kept
from stepcore.sim.worker.imports import code_of, describe, import_module
from stepcore.sim.worker.tasks import checked_file
from stepcore.surface.consuming import FINDINGS
from stepcore.text.raised import is_a, own

_NO_CHECK = "no check of the script was reached: it has to run an assert, or torch.testing.assert_close"
_MARK = "__stepsmith_checked__"


def script_of(request: VerifyRequest) -> Checked | None:
    """Return the checked script of an order; None where the file is a task, or has programs of its own."""
    if not request.path.endswith(".py"):
        return None
    result = checked_file(request.text, request.path, request.affine)
    return None if result.programs else result.script


def script_row(request: VerifyRequest, script: Checked) -> VerdictRow:
    """Return the verdict on a script.

    Raises:
        JobError: STEP910 for another program of the file, STEP907 for ``dims``, which a script binds itself.
    """
    if request.program not in (None, script.name):
        raise JobError("STEP910", f"there is no program {request.program}; this script is called {script.name}")
    if request.dims:
        raise JobError("STEP907", "--dims sets sizes of programs, and this is a script: it binds its own")
    start = perf_counter()
    findings: list[StepError] = []
    reached: list[bool] = []
    problem = _run(request, findings, reached)
    if problem is not None:
        findings.append(StepError(*problem))
    known = raised(findings, static(script.diagnostics, script.affine_count))
    code, detail = problem or ("", "")
    ok = problem is None and known.shape.ok
    if ok and not reached:
        ok, code, detail = False, "STEP411", _NO_CHECK
    functional = FunctionalPart(ok, detail if ok or detail else "the types are wrong", code=code)
    verdict = known.ran(functional, start)
    return as_row(script.name, request.path, verdict)


def _run(request: VerifyRequest, findings: list[StepError], reached: list[bool]) -> tuple[str, str] | None:
    """Run the script and its tests; return code and text of what went wrong.

    Overuse is noted in ``findings``, and each check that was passed in ``reached``.
    """

    def mark(value: object) -> object:
        reached.append(True)
        return value

    path, text = request.place, request.text
    token = FINDINGS.set(findings)
    try:
        with _published_name(text), settings_kept():
            tree = with_marks(text, _MARK)
            module = import_module(path, tree, as_main=True, names={_MARK: mark})
            for name in tests_of(ast.parse(text)):
                function = getattr(module, name, None)
                if callable(function):
                    _call(function)
    except JobError as error:
        return _problem(error.__cause__ or error, path)
    except _Failed as error:
        return _problem(error.__cause__ or error, path)
    except ReplacedFunctions as error:
        return _problem(error, path, [code_of(text, path)])
    finally:
        FINDINGS.reset(token)
    return None


class _Failed(Exception):
    """A test of the script raised; the cause says what."""


def _call(function: Callable[[], object]) -> None:
    try:
        function()
    except (JobCancelled, MemoryError):
        raise
    except BaseException as error:
        raise _Failed from error


def _problem(error: BaseException, path: str, codes: Iterable[CodeType] = ()) -> tuple[str, str] | None:
    """Return the code and text of what ended a script; None where it ended itself without a complaint."""
    status = own(error, SystemExit, "code") if is_a(error, SystemExit) else error
    if status is None or (type(status) is int and status == 0):
        return None
    if type(error) is StepError or type(error) is RuleError:
        return error.code, error.message
    code = "STEP401" if is_a(error, AssertionError) else "STEP404"
    return code, f"the script failed: {describe(error, path, codes)}"


@contextmanager
def _published_name(text: str) -> Iterator[None]:
    """Let ``import step`` mean stepcore in a script that says so, unless there is a module of that name already."""
    if not imports_published(text) or "step" in sys.modules:
        yield
        return
    sys.modules["step"] = stepcore
    try:
        yield
    finally:
        sys.modules.pop("step", None)
