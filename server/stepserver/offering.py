"""Whether *Make it faster* is offered: what a look at a document tells. Nothing that counts cycles is loaded for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from stepcore.ide import timed
from stepcore.ide.model import ProgramInfo
from stepcore.ide.programs import no_such_program
from stepserver.documents import Module
from stepserver.projects import Projects
from stepserver.workspace import Workspace

if TYPE_CHECKING:
    from stepcore.ide.analysis import Analysis

TITLE: Final = "Make it faster"
_SCRIPT: Final = "this is a script, which runs once: programs (@step.program, tasks) are made faster"


def hindrance_in(
    workspace: Workspace,
    projects: Projects,
    module: Module,
    analysis: Analysis,
    info: ProgramInfo | None,
    named: str | None = None,
) -> str:
    """Return why the text, or its place, lets a program not be made faster; "" where nothing speaks against it.

    ``named`` is what an order calls the program, whether there is such a one or not.
    """
    if not workspace.is_trusted:
        return "this workspace is not trusted: nothing is run in it"
    if module.is_notebook:
        return "programs are made faster in Python and task files: put the cell's program into one"
    if not module.is_file:
        return "programs are made faster in files that are on the disk: save it first"
    if projects.task(module) is not None:
        return "this file answers a task: put the answer into the task's own file, and make that faster"
    if info is None:
        return _SCRIPT if analysis.script is not None else no_such_program(analysis, named)
    untimed = timed.why_untimed(analysis, info)
    return f"{info.name} cannot be timed: {untimed}" if untimed else ""
