"""``python -m benchmarks [WHAT] [--part PART] [--json-dir DIR]``; ``--help`` lists what there is.

What is saved in the default folder becomes the page of figures (:mod:`benchmarks.page`). ``all`` leaves out ``search``,
``functions``, ``process``, ``sizes``, ``networks``, ``generation2``, ``optimize``, ``optimize-memory``,
``schedules`` and ``spread``, which take long.
``--part noise`` runs a part of the search, for example, ``--part generation2`` one of the editor, ``--folder FOLDER``
the networks or the sizes of another folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.console import Console

from benchmarks import page
from benchmarks.harness import BenchReport, save

GROUPS = ("check", "verify", "scale", "import", "jobs", "editor", "learning", "judge", "timing", "ticks")
LONG = (
    "search",
    "functions",
    "process",
    "sizes",
    "networks",
    "generation2",
    "optimize",
    "optimize-memory",
    "schedules",
    "spread",
)


def main() -> None:
    """Run the chosen measurements one after the other, print their tables and save the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure Stepsmith's speed.")
    parser.add_argument("what", nargs="?", default="all", choices=(*GROUPS, *LONG, "all"))
    parser.add_argument(
        "--part", action="append", default=[], help="of search, editor and generation2: tasks, values, ..."
    )
    parser.add_argument("--folder", type=Path, metavar="FOLDER", help="of networks and sizes: where the files are")
    parser.add_argument("--json-dir", type=Path, default=page.RESULTS, metavar="FOLDER")
    options = parser.parse_args()
    console = Console()
    reports: list[BenchReport] = []
    for group in GROUPS if options.what == "all" else (options.what,):
        for report in _measure(group, options.part, options.folder):
            report.show(console)
            reports.append(report)
    console.print(f"saved to {save(reports, options.json_dir)}")
    if options.json_dir.resolve() == page.RESULTS:
        page.write()
        console.print(f"written: {page.PAGE}")


def _measure(group: str, parts: Sequence[str], folder: Path | None) -> list[BenchReport]:
    # Imported here: measuring imports and checks should not load torch.
    if group in LONG:
        return _measure_long(group, parts, folder)
    match group:
        case "check":
            from benchmarks.suites import check

            return [check.run()]
        case "verify":
            from benchmarks.suites import verify

            return [verify.run()]
        case "scale":
            from benchmarks.suites import scale

            return scale.run()
        case "learning":
            from benchmarks.suites import learning

            return learning.run()
        case "judge":
            from benchmarks.suites import judge

            return [judge.run()]
        case "timing":
            from benchmarks.suites import timing

            return timing.run_all()
        case "editor":
            from benchmarks.suites import editor

            _need_known("editor", parts, editor.PARTS)
            return editor.run(parts)
        case "ticks":
            from benchmarks.suites import ticks

            return [ticks.run()]
        case "jobs":
            from benchmarks.suites import jobs

            return [jobs.run()]
        case _:
            from benchmarks.suites import imports

            return [imports.run()]


def _measure_long(group: str, parts: Sequence[str], folder: Path | None) -> list[BenchReport]:
    match group:
        case "search":
            from benchmarks.suites import search

            _need_known("search", parts, search.parts())
            return search.run(parts)
        case "functions":
            from benchmarks.suites import functions

            return [functions.run()]
        case "process":
            from benchmarks.suites import process

            return [process.run()]
        case "schedules":
            from benchmarks.suites import schedules

            return [schedules.run()]
        case "generation2":
            from benchmarks.suites import generation2

            _need_known("generation2", parts, generation2.PARTS)
            return generation2.run(parts)
        case "optimize":
            from benchmarks.suites import optimize

            return optimize.run()
        case "spread":
            from benchmarks.suites import spread

            return [spread.run()]
        case "optimize-memory":
            from benchmarks.suites import optimize_memory

            return [optimize_memory.run()]
        case "networks":
            from benchmarks.suites import networks

            return [networks.run(folder or networks.FOLDER)]
        case _:
            from benchmarks.suites import sizes

            return sizes.run([folder] if folder else [])


def _need_known(group: str, parts: Sequence[str], known: Iterable[str]) -> None:
    unknown = sorted(set(parts) - set(known))
    if unknown:
        raise SystemExit(f"{group} has no part {unknown[0]!r}; parts are {', '.join(known)}")


if __name__ == "__main__":
    main()
