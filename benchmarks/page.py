"""The page of figures, ``docs/benchmarks.md``, and the headline figures of the README, from the newest results.

``python -m benchmarks.page`` writes both and drops results of which newer ones exist; ``benchmarks/page.md`` holds the
prose, with a line ``<!-- result: KIND -->`` for each kind of result.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

from benchmarks.harness import ROOT
from stepcore.records import Record

RESULTS: Final = ROOT / "benchmarks" / "results"
TEMPLATE: Final = ROOT / "benchmarks" / "page.md"
PAGE: Final = ROOT / "docs" / "benchmarks.md"
README: Final = ROOT / "README.md"
BEGIN: Final = "<!-- figures: written by python -m benchmarks.page -->\n"
END: Final = "<!-- figures: end -->\n"
_PLACE: Final = re.compile(r"^<!-- result: ([\w-]+) -->\n", re.MULTILINE)


class SavedTable(Record):
    """One table of a saved file: ``content`` is that of a report (see :class:`benchmarks.harness.BenchReport`)."""

    kind: str
    date: str
    content: Mapping[str, Any]


def results_in(path: Path) -> list[SavedTable]:
    """Return the results of one file, of a benchmark or of the mutation tester."""
    content = json.loads(path.read_text(encoding="utf-8"))
    date = content["date"]
    if "mutants" in content:
        return [SavedTable("mutation", date, _mutation(content))]
    return [SavedTable(report["name"], date, report) for report in content["reports"]]


def newest(folder: Path = RESULTS) -> dict[str, SavedTable]:
    """Return the newest result of each kind; files of one date are ordered by name."""
    found: dict[str, SavedTable] = {}
    for path in sorted(folder.glob("*.json")):
        for result in results_in(path):
            if result.kind not in found or found[result.kind].date <= result.date:
                found[result.kind] = result
    return found


def outdated(folder: Path = RESULTS) -> list[Path]:
    """Return the files that hold nothing that is the newest of its kind."""
    best = newest(folder)
    paths = sorted(folder.glob("*.json"))
    return [path for path in paths if all(best[item.kind].date > item.date for item in results_in(path))]


def page(results: Mapping[str, SavedTable], template: str) -> str:
    """Return the page: a place whose kind was never measured stays empty, a kind without a place comes last."""
    note = f"<!-- Written by python -m benchmarks.page from {TEMPLATE.name} and the results; change these. -->\n"
    places = _PLACE.findall(template)
    others = [kind for kind in results if kind not in places]
    template += "\n## Others\n\n" * bool(others) + "".join(f"<!-- result: {kind} -->\n" for kind in others)
    filled = _PLACE.sub(lambda match: _section(results.get(match[1])), template)
    return note + re.sub(r"\n{3,}", "\n\n", filled)


def _section(result: SavedTable | None) -> str:
    if result is None:
        return ""
    report = result.content
    goals = "".join(f"- {_aim(goal)}\n" for goal in report["goals"])
    table = _table(report["columns"], report["rows"])
    return f"**{report['title']}** ({result.date[:10]})\n\n{table}\n\n{goals}{chr(10) * bool(goals)}"


def _aim(goal: str) -> str:
    word, _, text = goal.partition(" ")
    return f"aim {word}: {text.strip()}" if word else text.strip()


def _table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [columns, ["---", *["---:"] * (len(columns) - 1)], *rows]
    return "\n".join(f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def _mutation(content: Mapping[str, Any]) -> dict[str, Any]:
    rows = [[name, str(file["mutants"]), str(file["killed"])] for name, file in content["files"].items()]
    rows.append(["all", str(content["mutants"]), str(content["killed"])])
    title = f"{content['sample']} mutants of {', '.join(content['only'])}, drawn at random"
    return {"title": title, "columns": ["file", "mutants", "noticed"], "rows": rows, "goals": []}


def headlines(results: Mapping[str, SavedTable]) -> str:
    """Return the five figures of the README as a table."""

    def figures(kind: str) -> Mapping[str, Any]:
        return results[kind].content["figures"]  # type: ignore[no-any-return]

    texts = {int(key.split()[-1]): value for key, value in figures("check").items() if key.startswith("warm, new text")}
    answer = figures("verify")["median"]["verify"]
    edit = figures("editor")["edit to findings: Stepsmith, pushed"]
    search, functions = figures("search-tasks"), figures("functions")["rows"]
    solved = [row for row in functions if row["solved"]]
    rows = [
        ("checking a file of 1,000 lines, warm", f"{texts[min(texts)] * 1e3:.0f} ms"),
        ("an edit in such a file to its findings, p50 / p95", f"{edit['p50'] * 1e3:.1f} / {edit['p95'] * 1e3:.1f} ms"),
        (
            "verifying one answer to a published task: parse, check, simulate, compare",
            f"{answer * 1e3:.2f} ms",
        ),
        (
            "published tasks solved by the built-in search, offline (best published: 25 of 26, by a language model)",
            f"{search['right']} of {len(search['cpu'])}, {median(search['cpu']):.2f} s each",
        ),
        ("PyTorch functions of our own set that became verified programs", f"{len(solved)} of {len(functions)}"),
    ]
    return _table(("what", "measured"), rows) + "\n"


def readme(results: Mapping[str, SavedTable], text: str) -> str:
    """Return the README with the headline figures of ``results``.

    Raises:
        ValueError: the lines between which they stand are missing.
    """
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{README.name} lacks the lines between which the figures stand")
    return before + begin + headlines(results) + end + after


def write() -> None:
    """Drop outdated results, and write the page and the README."""
    for path in outdated():
        path.unlink()
    results = newest()
    PAGE.write_text(page(results, TEMPLATE.read_text(encoding="utf-8")), encoding="utf-8")
    README.write_text(readme(results, README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    write()
