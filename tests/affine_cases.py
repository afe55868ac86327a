"""Reads the tables of ``tests/golden/affine``: program bodies with marked findings, and the bodies after all fixes.

``«x»`` marks a STEP101, ``⟪x⟫`` a STEP102, ``‹x›`` a related place. A case without ``--- fixed`` has no fix.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from stepcore.check import CheckResult

FOLDER = Path(__file__).parent / "golden" / "affine"
HEAD = """from typing import Annotated

import stepcore as step
from stepcore.dims import M, N

LENGTH = open("length.txt").read()


@step.fn(input=step.f32, output=step.f32)
def f(input):
    return [input[0] * 2]


@step.fn(input=step.f32, output=step.f32, init=[0])
def g(state, input):
    return [state[0] + input[0]]


@step.program()
def program(
    E0: Annotated[step.Stream, step.f32, (M, N)],
    E1: Annotated[step.Stream, step.f32, (M, N)],
    S: Annotated[step.Stream, step.Multihot(step.f32, 2), (N,)],
):
"""
_OPENING = {"‹": "related", "«": "STEP101", "⟪": "STEP102"}
_CLOSING = "›»⟫"

# What is found, and where: (code or "related", start, end).
Marks = set[tuple[str, int, int]]


@dataclass(frozen=True)
class Case:
    """One body with marks, and the body after all fixes (None: no fix is offered)."""

    name: str
    body: str
    fixed: str | None


def cases() -> Iterator[Case]:
    """Yield the cases of all tables."""
    for path in sorted(FOLDER.glob("*.txt")):
        for section in path.read_text(encoding="utf-8").split("=== ")[1:]:
            name, _, rest = section.partition("\n")
            body, _, fixed = rest.partition("--- fixed\n")
            yield Case(f"{path.stem}: {name}", body, fixed or None)


def program(body: str) -> str:
    """Return a whole file with ``body`` as its program."""
    return HEAD + "".join(f"    {line}\n" if line else "\n" for line in body.strip("\n").split("\n"))


def unmarked(text: str) -> tuple[str, Marks]:
    """Return ``text`` without its marks, and what they mark."""
    kept: list[str] = []
    opened: list[tuple[str, int]] = []
    marks: Marks = set()
    for character in text:
        if character in _OPENING:
            opened.append((_OPENING[character], len(kept)))
        elif character in _CLOSING:
            kind, start = opened.pop()
            marks.add((kind, start, len(kept)))
        else:
            kept.append(character)
    return "".join(kept), marks


def found(result: CheckResult) -> Marks:
    """Return what the errors of a result mark."""
    errors = [item for item in result.diagnostics if item.severity.value == "error"]
    places = {(item.code, item.span.start, item.span.end) for item in errors}
    return places | {("related", r.span.start, r.span.end) for item in errors for r in item.related}
