"""When two experiences are the same: equal text of the task (without its answer) and equal program graph. No torch."""

from __future__ import annotations

from hashlib import sha256

from stepagents.task_text import task_text
from stepcore.check.programs import Checked, ImplChecker
from stepcore.findings.diagnostics import Severity
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.task import TaskFile
from stepcore.printing.task import canonical_key
from stepcore.text.span import Embedded


class UnusableProgram(ValueError):
    """A task or program that cannot be experience; the message says why."""


def without_impl(text: str, path: str) -> str:
    """Return the text of a task file without its answer; a text that is no task stays as it is."""
    task = read_task(text.replace("\r\n", "\n"), path)
    return text if task.spec is None else task_text(task)


def task_key(task_text: str) -> str:
    """Return the key of a task: its text up to blank lines and white space at the ends of lines."""
    lines = [line.rstrip() for line in task_text.replace("\r\n", "\n").split("\n")]
    return sha256("\n".join(line for line in lines if line).encode("utf-8")).hexdigest()


def checked_program(task_text: str, name: str, impl: str) -> tuple[TaskFile, Checked]:
    """Parse and check a program against its task.

    Raises:
        UnusableProgram: the text is no task, or the program is incomplete or has errors.
    """
    task = read_task(task_text, name)
    errors = [item for item in task.diagnostics if item.severity is Severity.ERROR]
    if task.spec is None or errors:
        why = f"{errors[0].code} {errors[0].message}" if errors else "inputs and outputs are missing"
        raise UnusableProgram(f"the text is no usable task: {why}")
    try:
        checked = ImplChecker(task).check(Embedded.whole(impl))
    except (RecursionError, MemoryError):
        raise UnusableProgram("the program is nested too deeply to be read") from None
    found = next((item for item in checked.diagnostics if item.severity is Severity.ERROR), None)
    if found is not None:
        raise UnusableProgram(f"the program is wrong: {found.code} {found.message}")
    if not checked.runnable:
        raise UnusableProgram("the program is incomplete")
    return task, checked


def program_key(task_text: str, name: str, impl: str) -> str:
    """Return the key that equal programs share, whatever their names and their order.

    Raises:
        UnusableProgram: as :func:`checked_program`.
    """
    return canonical_key(checked_program(task_text, name, impl)[1].graph)
