"""How often the right sizes are proposed for PyTorch functions that nobody described: ``python -m benchmarks sizes``.

That measures the folders of :data:`FOLDER`, one row each; ``python -m benchmarks.suites.sizes FOLDER...`` others, with
a line for each case. The form of a case is described in ``benchmarks/sizes/README.md``. ``--check-answers`` runs each
function at the accepted sizes instead; ``--json-dir`` says where the dated file goes.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from rich.console import Console

from benchmarks.harness import ROOT, BenchReport, save
from stepagents.cli.synth_function import COMMAND
from stepcore.isolation import isolation_for
from stepcore.jobdata.writing import SIZES, ProposedSizes, SizesRequest
from stepcore.jobs import Job, JobError, Limits, Pool
from stepcore.sizes.dim import Dim
from stepcore.sizes.expressions import dim_of

FOLDER = ROOT / "benchmarks" / "sizes"
SECONDS = 120.0  # for one case, imports of PyTorch included
_DTYPES = frozenset({"fp32", "fp16", "bf16", "int32", "int64", "bool"})
Answer = Mapping[str, str]


@dataclass(slots=True)
class Case:
    """One case: its folder, file and function, what its sizes are learnt from, and the right answers."""

    folder: Path
    file: str
    function: str
    evidence: str
    accepted: Sequence[Answer]


@dataclass(slots=True)
class SizesRow:
    """What was proposed for a case: sizes by argument, their sources, and why it does not run."""

    case: Case
    proposed: dict[str, str] = field(default_factory=dict)
    sources: dict[str, str] = field(default_factory=dict)
    problem: str = ""
    settled: bool = False

    @property
    def is_right(self) -> bool:
        """Whether it runs and is one of the accepted answers."""
        return not self.problem and any(is_same(self.proposed, answer) for answer in self.case.accepted)

    def as_json(self) -> dict[str, Any]:
        """Return the figures of the row."""
        return {
            "case": f"{self.case.folder.parent.name}/{self.case.folder.name}",
            "function": self.case.function,
            "evidence": self.case.evidence,
            "right": self.is_right,
            "settled": self.settled,
            "proposed": self.proposed,
            "sources": self.sources,
            "problem": self.problem,
        }


def cases_in(folders: Sequence[Path]) -> list[Case]:
    """Return the cases below folders, in the order of their names.

    Raises:
        SystemExit: an ``answer.json`` is none.
    """
    found = []
    for path in sorted(path for folder in folders for path in folder.rglob("answer.json")):
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
            file, _, function = content["function"].partition("::")
            accepted = [{str(name): str(sizes) for name, sizes in answer.items()} for answer in content["accepted"]]
            found.append(Case(path.parent, file, function, content["evidence"], accepted))
        except (ValueError, KeyError, AttributeError, TypeError) as error:
            raise SystemExit(f"{path} is no answer: {error!r}; benchmarks/sizes/README.md has the form") from error
    return found


def is_same(proposed: Answer, answer: Answer) -> bool:
    """Return whether two answers are equal after names of sizes are exchanged one for one."""
    return proposed.keys() == answer.keys() and _canonical(proposed) == _canonical(answer)


def _canonical(answer: Answer) -> list[tuple[str, tuple[str, ...], str]]:
    """Number the names of sizes as they appear, first those that stand alone: ``a + s`` and ``s + a`` are the same.

    An expression of a name that is nowhere else counts as a name.
    """
    parsed = {name: _parsed(text) for name, text in sorted(answer.items())}
    used = [symbol for sizes, _ in parsed.values() for size in sizes for symbol in size.symbols()]
    names: dict[str, str] = {}

    def number(name: str) -> Dim:
        return Dim.symbol(names.setdefault(name, f"s{len(names)}"))

    for size in (size for sizes, _ in parsed.values() for size in sizes):
        if len(size.symbols()) == 1:
            number(*size.symbols())
    found = []
    for name, (sizes, dtype) in parsed.items():
        texts = []
        for size in sizes:
            symbols = re.findall(r"[A-Za-z_]\w*", str(size))
            free = len(set(symbols)) == 1 and used.count(symbols[0]) == 1
            texts.append(str(number(symbols[0])) if free else str(_renumbered(size, symbols, number)))
        found.append((name, tuple(texts), dtype))
    return found


def _renumbered(size: Dim, symbols: Sequence[str], number: Any) -> Dim:
    for symbol in symbols:
        number(symbol)
    return size.substitute(number)


def _parsed(text: str) -> tuple[list[Dim], str]:
    tokens = text.strip("[] ").replace("]", "").replace(",", " ").split()
    dtype = tokens.pop() if tokens and tokens[-1] in _DTYPES else "fp32"
    return [dim_of(ast.parse(token, mode="eval").body) for token in tokens], dtype


def measure(cases: Sequence[Case], *, answers: bool = False) -> Iterator[SizesRow]:
    """Yield what is proposed for each case; with ``answers`` the accepted ones are checked instead, each a row."""
    wanted = [(case, answer) for case in cases for answer in (case.accepted if answers else [None])]
    with TemporaryDirectory() as scratch, Pool(COMMAND, size=2, limits=Limits(seconds=SECONDS)) as pool:
        folders = {id(case): _copied(case, Path(scratch) / str(number)) for number, case in enumerate(cases)}
        jobs = [(case, _submitted(pool, case, folders[id(case)], answer)) for case, answer in wanted]
        for case, job in jobs:
            yield _row(case, job)


def _copied(case: Case, place: Path) -> Path:
    """Copy the Python files of a case: the answer is not in reach of whoever proposes."""
    shutil.copytree(case.folder, place, ignore=shutil.ignore_patterns("*.json", "__pycache__"))
    return place


def _submitted(pool: Pool, case: Case, folder: Path, answer: Answer | None) -> Job[ProposedSizes]:
    path = folder / case.file
    request = SizesRequest(
        path=str(path),
        text=path.read_text(encoding="utf-8"),
        selector=case.function,
        trusted=True,
        root=str(folder),
        inputs=tuple(f"{name}=[{sizes}]" for name, sizes in (answer or {}).items()),
    )
    return pool.submit(SIZES, request, isolation=isolation_for(path))


def _row(case: Case, job: Job[ProposedSizes]) -> SizesRow:
    row = SizesRow(case)
    try:
        found = job.result()
    except JobError as error:
        row.problem = f"{error.code} {error.message}"
        return row
    row.problem, row.settled = found.problem, found.settled
    row.proposed = {item.name: item.text.strip("[]") for item in found.arguments if item.tensor}
    row.sources = {item.name: item.source for item in found.arguments}
    return row


def report_of(rows: Sequence[SizesRow], name: str) -> BenchReport:
    """Return the report: a line for each kind of evidence, and the sum."""
    report = BenchReport(f"sizes-{name}", f"sizes proposed for functions without a description: {name}", _COLUMNS)
    for evidence in [*dict.fromkeys(sorted(row.case.evidence for row in rows)), "all"]:
        members = [row for row in rows if evidence in {row.case.evidence, "all"}]
        right = [row for row in members if row.is_right]
        missing = ", ".join(row.case.folder.name for row in members if not row.is_right)
        asked = sum(not row.settled for row in members)
        cells = [evidence, str(len(members)), str(len(right)), str(asked), missing if evidence != "all" else ""]
        report.rows.append(cells)
    report.figures = {"right": sum(row.is_right for row in rows), "rows": [row.as_json() for row in rows]}
    return report


_COLUMNS = ("evidence", "functions", "right", "would ask", "not right")


def run(*folders: Path) -> list[BenchReport]:
    """Measure the cases of folders, those of :data:`FOLDER` unless some are given; a line for each case is printed."""
    console = Console()
    reports = []
    for folder in folders or sorted(path for path in FOLDER.iterdir() if path.is_dir()):
        rows = []
        for row in measure(cases_in([folder])):
            rows.append(row)
            shown = ", ".join(f"{name}[{', '.join(sizes.split())}]" for name, sizes in row.proposed.items())
            verdict = "right" if row.is_right else "WRONG"
            problem = f"; {row.problem}" if row.problem else ""
            console.print(f"{verdict}  {row.case.folder.name}: {shown}{problem}", markup=False, highlight=False)
        report = report_of(rows, folder.resolve().name)
        report.goal("right sizes proposed", report.figures["right"], 50 * len(rows) / 60, at_least=True)
        reports.append(report)
    return reports


def _check_answers(folders: Sequence[Path]) -> int:
    """Run the functions at their accepted sizes; returns how many of these are wrong."""
    wrong = 0
    for row in measure(cases_in(folders), answers=True):
        if row.problem:
            wrong += 1
            print(f"{row.case.folder}: {row.case.function}: {row.problem}")
    print(f"{wrong} of the answers are wrong" if wrong else "all answers run")
    return wrong


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suites.sizes", description=__doc__)
    parser.add_argument("folders", nargs="*", type=Path)
    parser.add_argument("--check-answers", action="store_true")
    parser.add_argument("--json-dir", type=Path, default=ROOT / "benchmarks" / "results", metavar="FOLDER")
    options = parser.parse_args()
    if options.check_answers:
        raise SystemExit(1 if _check_answers(options.folders or [FOLDER]) else 0)
    reports = run(*options.folders)
    for report in reports:
        report.show(Console())
    print(f"saved to {save(reports, options.json_dir)}")


if __name__ == "__main__":
    main()
