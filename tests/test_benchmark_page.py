"""The page of figures and the README say what the newest committed results say, and nothing else is kept of these."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import page


def saved(folder: Path, name: str, date: str, *kinds: str) -> Path:
    reports = [
        {"name": kind, "title": f"{kind} of {date}", "columns": ["what", "ms"], "rows": [["a|b", "1"]], "goals": []}
        for kind in kinds
    ]
    path = folder / f"{name}.json"
    path.write_text(json.dumps({"date": date, "reports": reports}), encoding="utf-8")
    return path


def test_page_and_readme_are_written_from_the_newest_results() -> None:
    results = page.newest()
    assert len(results) > 15
    fresh = page.page(results, page.TEMPLATE.read_text(encoding="utf-8"))
    assert page.PAGE.read_text(encoding="utf-8") == fresh, "run python -m benchmarks.page"
    text = page.README.read_text(encoding="utf-8")
    assert page.readme(results, text) == text, "run python -m benchmarks.page"
    assert page.headlines(results).count("\n") == 2 + 5
    assert "## Others" not in fresh, "say in benchmarks/page.md what a new kind of result is"


def test_of_each_kind_only_the_newest_result_is_kept() -> None:
    assert page.outdated() == []


def test_what_is_newer_takes_the_place_of_what_is_older(tmp_path: Path) -> None:
    old = saved(tmp_path, "b-old", "2026-01-01", "check")
    both = saved(tmp_path, "c-both", "2026-01-02", "check", "verify")
    new = saved(tmp_path, "a-new", "2026-01-03", "check")
    assert page.outdated(tmp_path) == [old]
    assert {kind: found.date for kind, found in page.newest(tmp_path).items()} == {
        "check": "2026-01-03",
        "verify": "2026-01-02",
    }
    assert both.exists() and new.exists()
    text = page.page(page.newest(tmp_path), "# Page\n\n<!-- result: check -->\n<!-- result: never -->\n")
    assert "check of 2026-01-03" in text and "a\\|b" in text
    assert text.index("## Others") < text.index("verify of 2026-01-02")


def test_a_readme_without_marks_is_refused() -> None:
    with pytest.raises(ValueError, match="lacks the lines"):
        page.readme(page.newest(), "# Stepsmith\n")
