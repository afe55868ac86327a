"""What ``verify``, ``time`` and others are told to work on: files, ``FILE::PROGRAM``, folders, answers to tasks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from stepcore.cli.files import find_programs
from stepcore.findings.diagnostics import Severity
from stepcore.graph.task import impl_path, task_name
from stepcore.jobdata.programs import AnswerFile
from stepcore.records import Record
from stepcore.settings.config import Config, ConfigError, Configs
from stepcore.text.files import TextFile, Unusable, read_file
from stepcore.text.wording import no_such_program, one_line

if TYPE_CHECKING:
    from stepcore.check import CheckResult


class FileTarget(Record):
    """One file, and the program in it that is meant (None: all of them)."""

    path: Path
    program: str | None = None


def parse_target(text: str) -> FileTarget:
    """Read ``FILE`` or ``FILE::PROGRAM``."""
    if "::" in text and not Path(text).exists():
        file, _, program = text.rpartition("::")
        return FileTarget(Path(file), program)
    return FileTarget(Path(text))


def no_program(target: FileTarget, result: CheckResult, names: Sequence[str]) -> Unusable:
    """Return why a file has no program, or not the one that is meant; ``names`` are those there are."""
    if target.program is not None and names:
        return Unusable(target.path, no_such_program(target.program, names), "STEP910")
    findings = [(target.path, result.source, each) for each in result.diagnostics]
    if result.task is not None:
        answer = result.task.impl_source
        findings += [(Path(answer.path), answer, each) for each in result.impl_diagnostics]
    errors = [found for found in findings if found[2].severity is Severity.ERROR]
    if errors:
        path, source, error = errors[0]
        line, _column = source.line_col(error.span.start)
        more = f" (and {len(errors) - 1} more: run `stepsmith check`)" if len(errors) > 1 else ""
        return Unusable(f"{path}:{line + 1}", f"{error.message}{more}", error.code)
    if result.task is not None:
        return Unusable(target.path, "this task has no impl; `stepsmith synth` writes one", "STEP910")
    return Unusable(target.path, "no STeP program: no function with @step.program", "STEP910")


def find_targets(texts: Sequence[str]) -> list[FileTarget | Unusable]:
    """Return one target for each file, folders searched, each once."""
    found: list[FileTarget | Unusable] = []
    configs = Configs()
    for text in texts:
        if not text:
            found.append(Unusable("''", "this path is empty; name a file or a folder"))
            continue
        target = parse_target(text)
        if not target.path.is_dir():
            found.append(target)
            continue
        if target.program is not None:
            found.append(Unusable(text, "this is a folder; name the file of the program, FILE::PROGRAM, or all of it"))
            continue
        for file in find_programs([str(target.path)], configs.excluded):
            found.append(file if isinstance(file, Unusable) else FileTarget(file))
    return list(dict.fromkeys(found))


def read_target(target: FileTarget, configs: Configs) -> tuple[TextFile, Config]:
    """Return the file's text and its configuration.

    Raises:
        Unusable: the file or its configuration cannot be used.
    """
    try:
        config = configs.for_file(target.path)
    except ConfigError as error:
        raise Unusable(target.path, f"the configuration cannot be used: {error}", "STEP907") from error
    if target.path.is_dir():
        raise Unusable(target.path, "the path is a folder, but one file is needed")
    return read_file(target.path), config


def answer_to(target: FileTarget, impl: str) -> AnswerFile:
    """Return the answer to a task that ``--impl`` names, by its file or by the folder that holds it.

    Raises:
        Unusable: there is none, or the target is no task.
    """
    if target.path.suffix == ".py":
        raise Unusable(target.path, "--impl answers task files; a Python program is its own answer", "STEP907")
    if not impl:
        raise Unusable("''", "--impl needs a file or a folder", "STEP907")
    answer = impl_path(target.path, impl)
    if answer is None:
        raise Unusable(
            target.path, f"{one_line(impl)} holds no {one_line(task_name(target.path))}.impl.yaml", "STEP411"
        )
    return AnswerFile(str(answer), read_file(answer).text)
