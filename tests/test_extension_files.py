"""What the extension hands to users as text: the starter program and the walkthrough's example."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from stepcore.ide.actions import fix_all
from stepcore.ide.analysis import analyze
from stepcore.version import VERSION

EXTENSION = Path(__file__).parents[1] / "editor-extension"
TEMPLATES = EXTENSION / "templates"


def test_the_starter_program_has_no_finding() -> None:
    path = TEMPLATES / "new_program.py"
    assert analyze(path.read_text(encoding="utf-8"), str(path)).diagnostics == []


@pytest.mark.parametrize("path", [TEMPLATES / "affine_error.py", EXTENSION / "e2e" / "fixtures" / "softmax.py"])
def test_the_example_has_one_affine_error_that_one_fix_removes(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    analysis = analyze(text, str(path))
    assert [found.code for found in analysis.diagnostics] == ["STEP101"]
    action = fix_all(analysis)
    assert action is not None
    for edit in sorted(action.edits, key=lambda edit: edit.span.start, reverse=True):
        text = text[: edit.span.start] + edit.text + text[edit.span.end :]
    assert analyze(text, str(path)).diagnostics == []


def test_extension_and_library_have_one_version() -> None:
    manifest = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    assert manifest["version"] == VERSION


def test_the_licence_is_that_of_the_project() -> None:
    ours = EXTENSION.parent / "LICENSE"
    assert (EXTENSION / "LICENSE").read_bytes() == ours.read_bytes()


def headings(path: Path) -> dict[str, list[str]]:
    """The versions of a changelog, each with the kinds of changes under it."""
    parts = re.split(r"^## (.+)$", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    kinds = [re.findall(r"^### (.+)$", text, re.MULTILINE) for text in parts[2::2]]
    return dict(zip(parts[1::2], kinds, strict=True))


def test_both_changelogs_have_the_same_form_and_versions() -> None:
    ours, whole = headings(EXTENSION / "CHANGELOG.md"), headings(EXTENSION.parent / "CHANGELOG.md")
    assert list(ours) == list(whole) and len(whole) > 0
    for version, kinds in ours.items():
        assert kinds == [kind for kind in whole[version] if kind in kinds], "the kinds that both know, in one order"
