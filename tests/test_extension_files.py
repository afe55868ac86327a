"""What the extension hands to users as text: the starter program and the walkthrough's example."""

from __future__ import annotations

import json
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
