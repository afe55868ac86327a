"""What a document depends on outside of itself: configuration files, and the task that an answer belongs to."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from stepcore.graph.task import IMPL_SUFFIX, TASK_SUFFIXES, task_name
from stepcore.settings.config import FILE_NAME, Config, ConfigError, Configs, is_there
from stepserver.documents import Documents, Module

log = logging.getLogger(__name__)

CONFIG_NAMES: Final = (FILE_NAME, "pyproject.toml")
_TASK_ENDINGS: Final = (".step.yaml", ".step.yml", ".yaml", ".yml")


@dataclass(frozen=True, slots=True)
class Project:
    """The configuration of a document; ``problem`` says why it could not be read (defaults hold then)."""

    config: Config
    problem: str = ""
    is_excluded: bool = False


class Projects:
    """Configurations and tasks on disk, each read once until something there changes."""

    def __init__(self, documents: Documents) -> None:
        self._documents = documents
        self._configs = Configs()
        self._projects: dict[tuple[str, bool], Project] = {}  # by path, and whether there is such a file
        self._tasks: dict[Path, tuple[str, str] | None] = {}

    def project(self, module: Module) -> Project:
        """Return the configuration of a module."""
        key = module.path, module.is_file
        found = self._projects.get(key)
        if found is None:
            found = self._projects[key] = self._read(*key)
        return found

    def task(self, module: Module) -> tuple[str, str] | None:
        """Return text and path of the task that ``NAME.impl.yaml`` answers: the open document, else the file."""
        if not module.path.endswith(IMPL_SUFFIX) or not module.is_file:
            return None
        for path in task_candidates(Path(module.path)):
            opened = self._documents.where(lambda other, path=path: other.path == str(path))  # type: ignore[misc]
            if opened:
                return opened[0].source.text, str(path)
            if path not in self._tasks:
                self._tasks[path] = _read_task(path)
            found = self._tasks[path]
            if found is not None:
                return found
        return None

    def close(self, module: Module) -> None:
        """Forget the configuration of a closed module."""
        self._projects.pop((module.path, module.is_file), None)

    def forget(self) -> None:
        """Something on disk changed: read it again when it is needed."""
        self._configs = Configs()
        self._projects.clear()
        self._tasks.clear()

    def reread(self) -> bool:
        """Read everything again, and return whether anything on disk is no longer what it was."""
        projects, tasks = dict(self._projects), dict(self._tasks)
        self.forget()
        self._projects = {key: self._read(*key) for key in projects}
        self._tasks = {path: _read_task(path) for path in tasks}
        return (projects, tasks) != (self._projects, self._tasks)

    def _read(self, name: str, is_file: bool) -> Project:
        if not is_file:
            return Project(Config())
        path = Path(name)
        try:
            config = self._configs.for_file(path)
        except ConfigError as error:
            return Project(Config(), f"the configuration cannot be used: {error}")
        return Project(config, is_excluded=config.excludes(path))


def task_candidates(answer: Path) -> list[Path]:
    """Return where the task of an answer may be: beside it, or one folder up."""
    name = task_name(answer)
    return [folder / (name + ending) for folder in (answer.parent, answer.parent.parent) for ending in _TASK_ENDINGS]


def is_task_path(path: str) -> bool:
    """Return whether a file may be a task that an answer needs."""
    return path.endswith(TASK_SUFFIXES) and not path.endswith(IMPL_SUFFIX)


def _read_task(path: Path) -> tuple[str, str] | None:
    from stepcore.text.files import Unusable, read_file  # only answers need it, and it takes a while to import

    if not is_there(path.is_file):
        return None
    try:
        return read_file(path).text, str(path)
    except Unusable as error:
        log.warning("%s: %s", path, error.message)
        return None
