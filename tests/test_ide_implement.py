"""Putting a program into a task file changes nothing else, and what is read back is that program."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from stepcore.findings.diagnostics import apply_edits
from stepcore.frontend.yaml.tasks import read_task
from stepcore.ide.implement import impl_edit

ROOT = Path(__file__).parents[1]
TASKS = sorted((ROOT / "benchmarks" / "tasks").glob("*.step.yaml"))
IMPL = "E1 = step.Map(fn=f).apply(E0)\n\nreturn E1"


def with_impl(text: str, impl: str) -> str:
    return apply_edits(text, [impl_edit(text, impl)])


@pytest.mark.parametrize("path", TASKS, ids=lambda path: path.name.split(".")[0])
def test_the_program_is_replaced_and_the_rest_stays(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    after = with_impl(text, IMPL)
    task, old = read_task(after, str(path)), read_task(text, str(path))
    assert task.impl is not None
    assert task.impl.source.text.strip("\n") == IMPL
    assert task.spec is not None and old.spec is not None and old.impl is not None
    assert replace(task.spec, defaults=old.spec.defaults) == old.spec  # a default may be in use by the program alone
    assert with_impl(after, old.impl.source.text) == with_impl(text, old.impl.source.text)
    kept = text[: text.index("\nimpl:") + 1]
    assert after.startswith(kept)


def test_a_program_is_added_where_there_is_none() -> None:
    assert with_impl("inputs: []", "return E0") == "inputs: []\nimpl: |-\n  return E0\n"
    assert with_impl("", "return E0") == "impl: |-\n  return E0\n"


def test_what_follows_stays_with_its_comment() -> None:
    text = "# first\nimpl: |-\n  old\n# about fns\nfns: []\n"
    assert with_impl(text, "new") == "# first\nimpl: |-\n  new\n# about fns\nfns: []\n"
    assert with_impl("impl: old\nfns: []", "new") == "impl: |-\n  new\nfns: []"
    assert with_impl("impl:\nfns: []", "new") == "impl: |-\n  new\nfns: []"


@pytest.mark.parametrize("text", ["{inputs: []}", "- a\n- b\n", "just text"])
def test_a_file_of_another_kind_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no task file"):
        impl_edit(text, "return E0")
