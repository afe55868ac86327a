"""The guardian: what it returns is affine and computes the same."""

from __future__ import annotations

import re

import pytest

from agent_tasks import TASKS, load
from stepagents.guardian import guard
from stepcore.check.programs import ImplChecker
from stepcore.sim.functional import Session
from stepcore.text.span import Embedded

PATHS = sorted(TASKS.glob("*.step.yaml"))


def without_copies(text: str) -> str:
    """Take every Copy out of a program: both results become the stream that was copied."""
    lines = text.split("\n")
    while True:
        at = next((i for i, line in enumerate(lines) if ".Copy()" in line), None)
        if at is None:
            return "\n".join(lines)
        match = re.fullmatch(r"(\w+), (\w+) = step\.Copy\(\)\.apply\((\w+)\)", lines.pop(at).strip())
        assert match is not None
        lines = [re.sub(rf"\b({match[1]}|{match[2]})\b", match[3], line) for line in lines]


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.name.split(".")[0])
def test_restores_the_copies_of_a_program(path: object) -> None:
    task = load(path)  # type: ignore[arg-type]
    assert task.spec is not None
    assert task.impl is not None
    checker = ImplChecker(task)
    text = without_copies(task.impl.source.text.strip())
    missing = checker.check(Embedded.whole(text)).affine_count
    guarded = guard(checker, text)
    assert guarded.missing == missing == task.impl.source.text.count(".Copy()")
    assert guarded.checked.affine_count == 0
    assert guarded.changed == (missing > 0)
    assert guarded.text == text or missing
    assert Session(task.spec).verify(guarded.checked).accepted


def test_leaves_alone_what_it_cannot_mend() -> None:
    task = load(PATHS[0])
    guarded = guard(ImplChecker(task), "return step.Nothing().apply(E0")
    assert not guarded.changed
    assert guarded.text == "return step.Nothing().apply(E0"
