"""Importing a user's Python file to get the reference functions of its programs.

This executes the user's code, which is why it happens in a worker only. Time and memory are limited from outside.
"""

from __future__ import annotations

import ast
import builtins
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from stepcore.findings.diagnostics import StepError
from stepcore.findings.errors import SimError
from stepcore.jobdata.failures import FailureDetail, Reads
from stepcore.jobs import JobCancelled, JobError
from stepcore.ops.base import RuleError
from stepcore.sim.opened import Opened, noting
from stepcore.sim.torch_functions import ReplacedFunctions
from stepcore.sim.torch_settings import settings_kept
from stepcore.sim.worker.replacing import codes_beside, line_replacing
from stepcore.surface.program import Program
from stepcore.text.raised import is_a, own, told, words
from stepcore.text.wording import class_name


def import_module(
    path: str,
    text: str | ast.Module,
    *,
    as_main: bool = False,
    names: Mapping[str, object] | None = None,
    opened: Opened | None = None,
) -> ModuleType:
    """Return the module of a Python file with the content ``text``.

    It is no ``__main__`` unless it is run ``as_main``, as ``python FILE`` would. It sees the modules beside it, and
    leaves no module of its folder behind: these may have changed at the next import. What it sets in PyTorch ends with
    it, unless it is run ``as_main``. ``text`` may be a tree, which uses ``names``. ``opened`` learns which files were
    read.

    Raises:
        JobError: STEP408, with the user's line in ``detail``, when the module raises or ends the process.
    """
    file = Path(path).absolute()
    module = ModuleType("stepsmith_user_" + re.sub(r"\W", "_", file.stem))
    module.__file__ = str(file)
    sys.modules[module.__name__] = module
    module.__dict__.update(names or {})
    if as_main:
        module.__name__ = "__main__"
    codes: list[CodeType] = []
    try:
        with nullcontext() if as_main else settings_kept(), _beside(file.parent, opened):
            codes.append(code_of(text, str(file)))
            exec(codes[0], module.__dict__)
    except (JobCancelled, MemoryError):
        raise
    except BaseException as error:
        detail: FailureDetail = {"line": line_of(error, str(file), codes), "reads": reads(opened)}
        said = describe(error, str(file), codes)
        raise JobError("STEP408", f"the file cannot be imported: {said}", detail) from error
    return module


def code_of(text: str | ast.Module, path: str) -> CodeType:
    """Return the compiled code of a user's file; raises what Python's compiler does."""
    return compile(text, path, "exec", dont_inherit=True)


@contextmanager
def _beside(folder: Path, opened: Opened | None) -> Iterator[None]:
    """Let modules of ``folder`` be imported, and forget afterwards those that were; ``opened`` notes what is read.

    No bytecode is written meanwhile: Python takes it for that of a file of the same size that changed within a second,
    and a run soon after an edit would be one of the old text.
    """
    before = set(sys.modules)
    own = dict(vars(builtins))
    writes_none, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    sys.path.insert(0, str(folder))
    try:
        with noting(opened):
            yield
    finally:
        sys.dont_write_bytecode = writes_none
        vars(builtins).update(own)  # what a file does to Python's own names ends with it
        for name in vars(builtins).keys() - own.keys():
            del vars(builtins)[name]
        with suppress(ValueError):  # the user's code may have changed sys.path
            sys.path.remove(str(folder))
        _forget(before, folder, opened)


def programs_of(module: ModuleType) -> dict[str, Program]:
    """Return the programs of a module by name."""
    return {value.name: value for value in vars(module).values() if isinstance(value, Program)}


def guarded_reference(reference: Callable[..., Any], path: str, opened: Opened | None = None) -> Callable[..., Any]:
    """Wrap a user's reference function: its errors name the user's line, and it cannot end the worker.

    It may import the modules beside ``path`` when it runs, as the file itself may. ``opened`` learns what it reads.
    """
    file = str(Path(path).absolute())

    def call(*arguments: Any, **parameters: Any) -> Any:
        try:
            with settings_kept(), _beside(Path(file).parent, opened):
                return reference(*arguments, **parameters)
        except (JobCancelled, MemoryError):
            raise
        except BaseException as error:
            said = describe(error, file, codes_beside(reference))
            raise SimError("STEP408", f"the reference failed: {said}") from error

    return call


def describe(error: BaseException, path: str, codes: Iterable[CodeType] = ()) -> str:
    """Return "line 3: ValueError: ..." for an error, with the line that :func:`line_of` tells."""
    line = line_of(error, path, codes)
    place = f"line {line}: " if line is not None else ""
    if is_a(error, SystemExit):
        return f"{place}it ends the process (SystemExit: {words(own(error, SystemExit, 'code'))})"
    if type(error) is ReplacedFunctions:
        return f"{place}{error}"
    if type(error) is StepError or type(error) is RuleError:
        return f"{place}{words(error.message)} ({words(error.code)})"
    if is_a(error, SyntaxError):
        return f"{place}{class_name(error)}: {words(own(error, SyntaxError, 'msg'))}"
    return place + told(error)


def line_of(error: BaseException, path: str, codes: Iterable[CodeType] = ()) -> int | None:
    """Return the line of ``path`` where ``error`` arose, counted from 1: the last that it went through.

    Where functions of PyTorch were replaced, that is where the user's ``codes`` do so first.
    """
    if type(error) is ReplacedFunctions:
        return line_replacing(error.names, codes, path)
    if is_a(error, SyntaxError) and words(own(error, SyntaxError, "filename")) == path:
        line = own(error, SyntaxError, "lineno")
        return line if type(line) is int else None
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    return lines[-1] if lines else None


def _forget(before: set[str], folder: Path, opened: Opened | None) -> None:
    """Forget the modules of ``folder`` that are new; of others that are the user's remember what was imported."""
    root = str(folder) + os.sep
    for name in set(sys.modules) - before:
        origin = getattr(sys.modules[name], "__file__", None)
        if not isinstance(origin, str):
            continue
        if origin.startswith(root) and "site-packages" not in origin:
            del sys.modules[name]
        elif opened is not None and origin in opened.marks:
            _kept_modules()[origin] = opened.marks[origin]


def reads(opened: Opened | None) -> Reads:
    """Return the user's files that a run depends on."""
    kept = _kept_modules()
    return Reads({**kept, **({} if opened is None else opened.marks)}, tuple(kept))


@cache
def _kept_modules() -> dict[str, str]:
    return {}
