"""How many PyTorch functions become verified programs: ``python -m benchmarks functions``.

That measures our own set, by family (a file each); ``python -m benchmarks.suites.functions FILE-OR-FOLDER...``
others. Of a file with ``get_inputs()`` and a class ``Model`` only that class counts, as public collections of operators
write them.
``--json FILE`` saves the rows.
"""

from __future__ import annotations

import argparse
import ast
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from rich.console import Console

from benchmarks.harness import ROOT, BenchReport
from delivered_cycles import Outcome, outcome
from stepagents.cli.synth_function import FunctionOptions, FunctionRow, function_rows

FOLDER = ROOT / "benchmarks" / "functions"
_HELPERS = frozenset({"get_inputs", "get_init_inputs"})


def functions_in(path: Path) -> list[str]:
    """Return the functions of a file that count: public ones at the top level, named lambdas, classes with forward."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found = list(_names(tree))
    has_inputs = any(getattr(node, "name", "") == "get_inputs" for node in tree.body)
    return ["Model"] if has_inputs and "Model" in found else found


def _names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        match node:
            case ast.FunctionDef(name=name) if name not in _HELPERS and not name.startswith("_"):
                yield name
            case ast.ClassDef(name=name, body=body) if any(getattr(item, "name", "") == "forward" for item in body):
                yield name
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Lambda()):
                yield name


def arguments_of(paths: Sequence[Path]) -> list[str]:
    """Return ``FILE.py::NAME`` for all functions of files and folders."""
    files = [file for path in paths for file in (sorted(path.rglob("*.py")) if path.is_dir() else [path])]
    return [f"{file}::{name}" for file in files for name in functions_in(file)]


def report_of(rows: Sequence[FunctionRow]) -> BenchReport:
    """Return the report: one line a family, and the sum."""
    families: dict[str, list[FunctionRow]] = defaultdict(list)
    for row in rows:
        families[Path(row.path).stem].append(row)
    if len(families) > 20:  # a collection with a file for each function
        families = defaultdict(list, {Path(rows[0].path).parent.name: list(rows)})
    columns = [
        "family",
        "functions",
        "solved",
        "over tiles",
        "streaming",
        "traffic",
        "operators",
        "timed",
        "seconds",
        "not solved",
    ]
    report = BenchReport("functions", "PyTorch functions that became verified programs", columns)
    timed = {row.argument: outcome(row.best.text or "", f"{row.argument}.py") for row in rows if row.best is not None}
    for name, members in [*families.items(), ("all", list(rows))]:
        solved = [row.best for row in members if row.best is not None]
        degrees = [best.streaming_degree or 0.0 for best in solved]
        ratios = [best.traffic_ratio or 0.0 for best in solved]
        operators = [best.operators for best in solved]
        missing = ", ".join(row.argument.rpartition("::")[2] for row in members if not row.best)
        report.rows.append(
            [
                name,
                str(len(members)),
                str(len(solved)),
                str(sum(best.form == "tiled" for best in solved)),
                f"{sum(degrees) / len(degrees):.2f}" if degrees else "-",
                f"{median(ratios):.1f}x" if ratios else "-",
                f"{sum(operators) / len(operators):.1f}" if operators else "-",
                _timed([timed[row.argument] for row in members if row.best is not None]),
                f"{max((row.found.seconds for row in members if row.found is not None), default=0.0):.1f} at most",
                missing if name != "all" else "",
            ]
        )
    told = {argument: found._asdict() for argument, found in timed.items()}
    report.figures = {
        "rows": [{**row.as_json(), "path": _shown(row.path), "chip": told.get(row.argument)} for row in rows]
    }
    return report


def _timed(found: Sequence[Outcome]) -> str:
    """Say of how many delivered programs the cycles are known, and how many of these need deeper FIFOs to end."""
    known = [each for each in found if each.cycles is not None]
    cured = sum(each.cured for each in known)
    return f"{len(known)} of {len(found)}" + (f", {cured} cured" if cured else "")


def _shown(path: str) -> str:
    """Return a path without what only this machine knows."""
    place = Path(path).resolve()
    return str(place.relative_to(ROOT)) if place.is_relative_to(ROOT) else place.name


def run(paths: Sequence[Path] = (FOLDER,)) -> BenchReport:
    """Measure the functions of files and folders; tells of each that is not solved why."""
    console = Console()
    rows: list[FunctionRow] = []
    for row in function_rows(arguments_of(paths), FunctionOptions(emit="auto")):
        rows.append(row)
        if not row.best:
            console.print(
                f"{row.argument}: {row.problem or getattr(row.found, 'reason', '')}", markup=False, highlight=False
            )
    return report_of(rows)


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.suites.functions", description=__doc__)
    parser.add_argument("paths", nargs="*", type=Path, default=[FOLDER])
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    report = run(options.paths)
    report.show(Console())
    if options.json is not None:
        options.json.write_text(json.dumps(report.figures["rows"], indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
