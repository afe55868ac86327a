"""``python -m benchmarks [WHAT] [--part PART] [--json-dir DIR]``; ``--help`` lists what there is.

What is saved in the default folder becomes the page of figures (:mod:`benchmarks.page`). ``all`` leaves out ``search``,
``functions``, ``process``, ``sizes``, ``networks``, ``generation2``, ``optimize``, ``optimize-memory``,
``schedules``, ``blocks`` and ``spread``, which take long.
``--part noise`` runs a part of the search, for example, ``--part generation2`` one of the editor, ``--folder FOLDER``
the networks or the sizes of another folder.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Final, Literal, NamedTuple

from rich.console import Console

from benchmarks import page
from benchmarks.harness import BenchReport, save


class MeasuredSuite(NamedTuple):
    """A module of :mod:`benchmarks.suites`, whose ``run`` returns a report or several, and which option it takes.

    One that takes parts has a table of them, ``PARTS``.
    """

    module: str
    takes: Literal["", "parts", "folder"] = ""


GROUPS: Final = {
    "check": MeasuredSuite("check"),
    "verify": MeasuredSuite("verify"),
    "scale": MeasuredSuite("scale"),
    "import": MeasuredSuite("imports"),
    "jobs": MeasuredSuite("jobs"),
    "editor": MeasuredSuite("editor", "parts"),
    "learning": MeasuredSuite("learning"),
    "judge": MeasuredSuite("judge"),
    "timing": MeasuredSuite("timing"),
    "ticks": MeasuredSuite("ticks"),
}
LONG: Final = {
    "search": MeasuredSuite("search", "parts"),
    "functions": MeasuredSuite("functions"),
    "process": MeasuredSuite("process"),
    "sizes": MeasuredSuite("sizes", "folder"),
    "networks": MeasuredSuite("networks", "folder"),
    "generation2": MeasuredSuite("generation2", "parts"),
    "optimize": MeasuredSuite("optimize"),
    "optimize-memory": MeasuredSuite("optimize_memory"),
    "schedules": MeasuredSuite("schedules"),
    "blocks": MeasuredSuite("blocks"),
    "spread": MeasuredSuite("spread"),
}


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
    suite = {**GROUPS, **LONG}[group]
    # Imported here: measuring imports and checks should not load torch.
    module = import_module(f"benchmarks.suites.{suite.module}")
    options: list[object] = []
    if suite.takes == "parts":
        _need_known(group, parts, module.PARTS)
        options.append(parts)
    elif suite.takes == "folder" and folder is not None:
        options.append(folder)
    found: BenchReport | list[BenchReport] = module.run(*options)
    return found if isinstance(found, list) else [found]


def _need_known(group: str, parts: Sequence[str], known: Iterable[str]) -> None:
    unknown = sorted(set(parts) - set(known))
    if unknown:
        raise SystemExit(f"{group} has no part {unknown[0]!r}; parts are {', '.join(known)}")


if __name__ == "__main__":
    main()
