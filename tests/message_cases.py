"""Reads ``tests/golden/messages``: what people and models write wrongly, and what Stepsmith says to it.

A table holds cases. Each has a title, a section with what was written, whose head says what it is, and a section
``says`` with all that is shown, as ``stepsmith check`` shows it (hints only where there is nothing else). What is
written is a whole file (``task``, ``answer``, ``python``, ``toml``), a body that is run (``run``), a file whose
programs are verified (``verify``), a script that Python runs (``script``), a file whose last function is synthesized
(``function``), or what stands at ``«HERE»`` of a file in ``base``.
"""

from __future__ import annotations

import ast
import re
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from quiet import Quiet
from stepcore.check import CheckResult, ImplChecker, check_text
from stepcore.findings.diagnostics import Severity
from stepcore.frontend.yaml.tasks import read_task
from stepcore.reports.text import FileReport, Paint, render_text
from stepcore.settings.config import ConfigError, read_text

FOLDER = Path(__file__).parent / "golden" / "messages"
HERE = "«HERE»"
_SECTION = re.compile(r"^--- (.*)\n", re.MULTILINE)


@dataclass(frozen=True)
class Case:
    """One mistake: what was written, as what, and all that is said."""

    table: str
    title: str
    kind: str
    written: str
    says: str


def cases(folder: Path = FOLDER) -> Iterator[Case]:
    """Yield the cases of all tables."""
    for path in sorted(folder.glob("*.txt")):
        for text in re.split(r"^=== ", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            title, _, rest = text.partition("\n")
            _, kind, written, _, says = _SECTION.split(rest)
            yield Case(path.name, title, kind, written, says.rstrip("\n") + "\n")


_WHOLE = {"task": "task.step.yaml", "python": "file.py", "answer": "rows.impl.yaml"}


@cache
def checked(case: Case) -> CheckResult | None:
    """Return what checking finds in a case, None where it is about something else."""
    if case.kind in _RUN or case.kind == "toml":
        return None
    if case.kind in _WHOLE:
        return check_text(case.written, _WHOLE[case.kind])
    base = FOLDER / "base" / case.kind
    return check_text(_placed(base.read_text(encoding="utf-8"), case.written), base.name)


def said(case: Case) -> str:
    """Return what Stepsmith says to a case."""
    result = checked(case)
    if result is not None:
        errors = [item for item in result.diagnostics if item.severity is not Severity.HINT]
        report = FileReport(result.source, errors or result.diagnostics)
        return render_text([report], Paint(False)).rstrip("\n") + "\n"
    return _RUN.get(case.kind, _configured)(case.written)


def _placed(base: str, written: str) -> str:
    """Put what was written into its base, each line indented like the mark."""
    line = next(line for line in base.splitlines() if HERE in line)
    indent = line[: line.index(HERE)]
    body = "".join(f"{indent}{text}\n" if text else "\n" for text in written.rstrip("\n").split("\n"))
    return base.replace(f"{line}\n", body)


def _run(body: str) -> str:
    """Return what a run of the base for bodies finds, at one place of the code as ``stepsmith verify`` finds it."""
    from stepcore.sim.functional import Session

    base = (FOLDER / "base" / "body.step.yaml").read_text(encoding="utf-8")
    task = read_task(_placed(base, body), "body.step.yaml")
    assert task.spec is not None and task.impl is not None and not task.diagnostics
    verdict = Session(task.spec).verify(ImplChecker(task).check(task.impl.source))
    return f"{verdict.functional.code} {verdict.functional.detail}\n"


def _verified(text: str) -> str:
    from job_records import verify
    from stepcore.jobs import JobError

    try:
        rows = verify({"path": "file.py", "text": text}, Quiet())
    except JobError as error:
        return f"{error.code} {error.message}\n"
    parts = [row[part] for row in rows for part in ("shape", "functional", "affine") if not row[part]["ok"]]
    return "".join(f"{part.get('code', '')} {part['detail']}".strip() + "\n" for part in parts) or "accepted\n"


def _scripted(text: str) -> str:
    """Return what a script ends with, as Python shows it below the traceback; the line is that of the script."""
    code = compile(text, "script.py", "exec")
    try:
        exec(code, {"__name__": "script"})
    except Exception as error:  # noqa: BLE001  whatever a script raises
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == "script.py"]
        shown = "".join(traceback.format_exception_only(error)).replace("stepcore.findings.diagnostics.", "")
        return f"line {frames[-1].lineno}: {shown}"
    return "nothing\n"


def _synthesized(text: str) -> str:
    """Return what is said of the last function of a file, and the notes about a program that was found."""
    from job_records import function
    from stepcore.jobs import JobError

    name = next(
        node.name for node in reversed(ast.parse(text).body) if isinstance(node, ast.FunctionDef | ast.ClassDef)
    )
    order = {"path": "file.py", "text": text, "selector": name, "trusted": True, "solutions": 1}
    try:
        found = function(order, Quiet())
    except JobError as error:
        place = f"{error.detail.get('line')}:{error.detail.get('column')}"
        return f"{place}: {error.code} {error.message}\n"
    notes = "".join(f"note: {note}\n" for note in found["notes"])
    return notes + ("solved\n" if found["solved"] else f"not solved: {found['reason']}\n")


_RUN: Final[dict[str, Callable[[str], str]]] = {
    "run": _run, "verify": _verified, "script": _scripted, "function": _synthesized,
}  # fmt: skip


def _configured(text: str) -> str:
    try:
        return f"{read_text(text, Path('stepsmith.toml'))}\n"
    except ConfigError as error:
        return f"{error}\n"


def update(folder: Path = FOLDER) -> None:
    """Write what is said now into all tables."""
    for path in sorted(folder.glob("*.txt")):
        head = path.read_text(encoding="utf-8").partition("=== ")[0]
        mine = [case for case in cases(folder) if case.table == path.name]
        texts = [f"=== {c.title}\n--- {c.kind}\n{c.written}--- says\n{said(c)}" for c in mine]
        path.write_text(head + "\n".join(texts), encoding="utf-8")
