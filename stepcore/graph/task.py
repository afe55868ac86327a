"""Task files as data: what :func:`stepcore.frontend.yaml.tasks.read_task` delivers, and how tasks are found on disk."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from pathlib import Path
from typing import Final

from stepcore.findings.diagnostics import Diagnostic
from stepcore.fn.decl import CodeBlock
from stepcore.graph.ir import ProgramSpec
from stepcore.ops import GENERATION_1
from stepcore.ops.dialect import Dialect
from stepcore.records import Record
from stepcore.text.span import SourceFile, Span

TASK_SUFFIXES: Final = (".yaml", ".yml")
IMPL_SUFFIX: Final = ".impl.yaml"


class TaskFile(Record):
    """One task as it was read, however broken.

    ``spec`` is None where the file describes no task (a file that holds only ``impl``, or that cannot be
    read at all). ``impl`` points into ``impl_source``, which is ``source`` unless the program came from a second
    file; ``impl_diagnostics`` point there too and stay empty unless there is such a file.

    Names in ``untyped`` (of inputs, parameters, functions by ``func_name``, outputs) have an unreadable type: ``spec``
    holds a placeholder, and whoever checks must treat it as unknown, because it was reported already.
    ``incomplete`` are the top-level keys of which something had to be dropped, so that a name that seems
    unknown may only be lost. ``unbound`` are the symbols in use that neither the file nor a default binds.
    ``answer_may_define_fns``: ``impl`` may define element functions besides those of the task.
    """

    source: SourceFile
    impl_source: SourceFile
    spec: ProgramSpec | None = None
    impl: CodeBlock | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)
    impl_diagnostics: list[Diagnostic] = field(default_factory=list)
    test_name: str = ""
    constraints: str = ""
    untyped: frozenset[str] = frozenset()
    incomplete: frozenset[str] = frozenset()
    unbound: tuple[tuple[str, Span], ...] = ()
    answer_may_define_fns: bool = False
    dialect: Dialect = GENERATION_1

    @property
    def name(self) -> str:
        """The task's name: the file name up to the first dot."""
        return task_name(self.source.path)


def task_name(path: str | Path) -> str:
    """Return the file name of ``path`` up to its first dot (a leading dot is kept)."""
    name = str(path).replace("\\", "/").rsplit("/", 1)[-1]
    return name[:1] + name[1:].split(".", 1)[0]


def find_tasks(paths: Iterable[str | Path]) -> list[Path]:
    """Return the task files among ``paths``: files as given, folders searched for YAML, sorted, each file once.

    Files that hold only an answer (``NAME.impl.yaml``) and hidden folders are left out of folders. A path that does not
    exist is returned as it is, so that reading it reports it.
    """
    found: dict[Path, None] = {}
    for path in map(Path, paths):
        candidates = _task_files(path) if path.is_dir() else [path]
        found.update(dict.fromkeys(candidates))
    return list(found)


def answer_path(task: str | Path, folder: Path) -> Path:
    """Return where the answer to ``task`` belongs in ``folder``: ``NAME.impl.yaml``, which ``verify --impl`` reads."""
    return folder / (task_name(task) + IMPL_SUFFIX)


def impl_path(task: str | Path, impl: str | Path) -> Path | None:
    """Return the answer file of ``task``: ``impl`` itself, or ``NAME.impl.yaml`` in it if it is a folder.

    None when the folder has no answer for this task.
    """
    impl = Path(impl)
    if not impl.is_dir():
        return impl
    answer = answer_path(task, impl)
    return answer if answer.is_file() else None


def _task_files(folder: Path) -> list[Path]:
    files = (path for path in folder.rglob("*") if path.name.endswith(TASK_SUFFIXES) and path.is_file())
    visible = (path for path in files if not any(part.startswith(".") for part in path.relative_to(folder).parts))
    return sorted(path for path in visible if not path.name.endswith(IMPL_SUFFIX))
