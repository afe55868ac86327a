"""README and ARCHITECTURE name the test behind each promise and invariant: the names have to be those of files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
_TEST = re.compile(r"`((?:tests|editor-extension)/[\w/.*-]+)`")
_LINK = re.compile(r"\]\(((?!https?:|#)[^)\s]+)\)")
_TABLES = {
    "README.md": "## What is promised, and the test that keeps it",
    "ARCHITECTURE.md": "## Invariants, and the test that guards each",
}


def rows(document: str, title: str) -> list[str]:
    """The lines of the table under a title, without its head."""
    _, _, after = (ROOT / document).read_text(encoding="utf-8").partition(title)
    assert after, title
    section = after.split("\n## ")[0]
    return [line for line in section.splitlines() if line.startswith("|")][2:]


@pytest.mark.parametrize("document", _TABLES)
def test_each_promise_names_tests_that_exist(document: str) -> None:
    found = rows(document, _TABLES[document])
    assert len(found) > 10
    for row in found:
        named = _TEST.findall(row.rsplit("|", 2)[1])
        assert named, row
        assert [name for name in named if not any(ROOT.glob(name))] == [], row


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        *sorted(str(p.relative_to(ROOT)) for p in ROOT.glob("docs/*.md")),
    ],
)
def test_links_between_documents_lead_to_files(document: str) -> None:
    path = ROOT / document
    targets = [link.partition("#")[0] for link in _LINK.findall(path.read_text(encoding="utf-8"))]
    assert [target for target in targets if not (path.parent / target).exists()] == []


def test_each_decision_has_a_number_of_its_own() -> None:
    numbers = re.findall(r"^(\d+)\. ", (ROOT / "docs" / "decisions.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert len(numbers) > 60
    assert [number for number in numbers if numbers.count(number) > 1] == []
