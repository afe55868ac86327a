"""The task of a job: read from its text, or refused with the place of what is wrong."""

from __future__ import annotations

from stepcore.check.files import task_faults
from stepcore.findings.diagnostics import Severity
from stepcore.frontend.yaml.tasks import read_task
from stepcore.graph.task import TaskFile
from stepcore.jobdata.failures import FailureDetail
from stepcore.jobs import JobError


def given_task(path: str, text: str) -> TaskFile:
    """Return the task that ``text`` describes; what is wrong with its ``impl`` alone does not count.

    Its functions and its reference are checked, too: no program could be right with one that cannot run.

    Raises:
        JobError: it describes none, or a broken one; ``detail`` has ``path``, ``line`` and ``column``, counted from 1.
    """
    task = read_task(text, path)
    errors = [item for item in task.diagnostics if item.severity is Severity.ERROR]
    if task.spec is not None and not errors:
        errors = task_faults(task)
    if task.spec is not None and not errors:
        return task
    message = errors[0].message if errors else "this file holds no task: inputs and outputs are missing"
    line, column = task.source.line_col(errors[0].span.start) if errors else (0, 0)
    detail: FailureDetail = {"path": path, "line": line + 1, "column": column + 1}
    raise JobError(errors[0].code if errors else "STEP910", message, detail)
