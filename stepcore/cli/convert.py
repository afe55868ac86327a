"""``stepsmith convert``."""

from __future__ import annotations

from pathlib import Path

from stepcore.check import check_text
from stepcore.cli.targets import FileTarget, no_program, parse_target, read_target
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, EXIT_UNUSABLE, complain, write_program
from stepcore.conversion.to_python import ConvertError, task_to_python
from stepcore.conversion.to_task import python_to_task
from stepcore.frontend.python import read_module
from stepcore.frontend.yaml.tasks import read_task
from stepcore.gate import Unclean
from stepcore.settings.config import Configs
from stepcore.system.scarce import reason_of
from stepcore.text.files import Unusable, write_atomically
from stepcore.text.wording import one_line

_LANGUAGES = {".py": "python", ".yaml": "yaml", ".yml": "yaml"}


def run(text: str, out: str | None, to: str | None) -> int:
    """Convert one program; the result goes to ``out`` (replaced in one step) or to standard output.

    A file in which checking finds an error is not converted (exit code 1), whatever comments suppress.
    """
    target = parse_target(text)
    try:
        converted = _convert(target, _goal(target, out, to))
        if out is not None:
            _write(Path(out), converted)
    except Unusable as error:
        complain(f"{one_line(error.path)}: {error.code} {error.message}")
        return EXIT_UNUSABLE
    except Unclean as error:
        place = f"{one_line(error.source.path)}:{error.line}:{error.column}"
        complain(f"{place}: {error.found.code} {error.found.message}")
        complain("nothing was converted: only a file without errors is; mend it, and look with `stepsmith check`")
        return EXIT_FINDINGS
    if out is None:
        write_program(converted)
    return EXIT_CLEAN


def _goal(target: FileTarget, out: str | None, to: str | None) -> str:
    """Return the language to convert to: as told, as the name of the result says, or the other one."""
    source = _language(target.path)
    named = _LANGUAGES.get(Path(out).suffix) if out is not None else None
    if out is not None and Path(out).exists() and target.path.exists() and Path(out).samefile(target.path):
        raise Unusable(out, "this is the file to convert; name another one for the result", "STEP907")
    if to is not None and named not in (None, to):
        raise Unusable(str(out), f"the name ends like a {named} file, but the result is {to}", "STEP907")
    goal = to or named
    if goal is None:
        goal = "yaml" if source == "python" else "python"
    if goal == source:
        raise Unusable(
            target.path, f"the file is {source} already; convert goes between task YAML and Python", "STEP907"
        )
    return goal


def _language(path: Path) -> str:
    return "python" if path.suffix == ".py" else "yaml"


def _convert(target: FileTarget, goal: str) -> str:
    file, _ = read_target(target, Configs())
    try:
        if goal == "python":
            task = read_task(file.text, str(target.path))
            if target.program not in (None, task.name):
                raise Unusable(target.path, f"there is no program {one_line(target.program)}", "STEP910")
            return task_to_python(task)
        module = read_module(file.text, str(target.path))
        programs = {program.spec.name: program for program in module.programs}
        names = ", ".join(programs)
        composed = [composition.name for composition in module.compositions]
        if not programs:
            raise no_program(target, check_text(file.text, str(target.path)), composed)
        if target.program is None and len(programs) != 1:
            text = f"choose one program with FILE::PROGRAM; this file has: {names}"
            raise Unusable(target.path, f"{text}; {_left_out(composed)}" if composed else text, "STEP910")
        name = target.program if target.program is not None else next(iter(programs))
        if name in composed and name not in programs:
            text = f"{one_line(name)} is a composition, and a task file holds one program"
            way_out = f"convert its programs one by one with FILE::PROGRAM: {names}"
            raise Unusable(target.path, f"{text}; {way_out}", "STEP910")
        if name not in programs:
            raise Unusable(target.path, f"there is no program {one_line(name)}; this file has: {names}", "STEP910")
        converted = python_to_task(module, programs[name])
        if composed and target.program is None:
            complain(f"{one_line(target.path)}: {_left_out(composed)}")
        return converted
    except Unclean:
        raise
    except ConvertError as error:
        raise Unusable(target.path, f"the program cannot be converted: {error}", "STEP907") from error


def _left_out(compositions: list[str]) -> str:
    """Say what becomes of the compositions of a file: nothing that a task file could hold."""
    what = "the composition" if len(compositions) == 1 else "the compositions"
    names = one_line(", ".join(compositions))
    return f"{what} {names} cannot be converted: a task file holds one program"


def _write(path: Path, text: str) -> None:
    try:
        write_atomically(path, text.encode("utf-8"))
    except OSError as error:
        raise Unusable(path, f"the result cannot be written: {reason_of(error)}") from error
