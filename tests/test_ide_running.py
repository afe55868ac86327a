"""A verdict is kept after an edit only if a run of the new text gives it again."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.suites.check import python_file
from job_records import simulate
from server_texts import GOOD, HEAD
from stepcore.findings.errors import SimError
from stepcore.ide.analysis import Analysis, analyze
from stepcore.ide.features import programs
from stepcore.ide.programs import fingerprint
from stepcore.jobs import JobError

SCALE = "\nSCALE = 2.0\n\n\ndef scaled(x: torch.Tensor) -> torch.Tensor:\n    return x * SCALE\n\n"
UNUSED = "\ndef unused(x: torch.Tensor, y: int = 1) -> torch.Tensor:\n    z = x * 3\n    return z\n\n"
TEXT = (
    HEAD.replace("import torch\n", "import math\n\nimport torch\n", 1)
    + SCALE
    + UNUSED
    + GOOD
    + GOOD.replace("good", "other").replace("reference=doubled", "reference=scaled")
)
# Each is put in place of a line, before it, or behind it.
LINES = (
    "raise ValueError('no')",
    "def (",
    "SCALE = 3.0",
    "doubled = quadrupled",
    "def doubled(x):\n    return x * 5",
    "def scaled(x):\n    return x * 2",
    "del math",
    "good = other",
    "step.program = None",
    "unused(torch.ones(1))",
    "    raise ValueError",
    "    break",
    "    nonlocal z",
    "    yield 1",
    "    max(a=1, a=2)",
    "    *z",
    "    z = lambda q, q: 1",
    "    __debug__ = 1",
    "    def inner(q, q): pass",
    "    from math import *",
    "    z = [q async for q in x]",
    "    " + "-" * 5000 + "1",
    "    z = x.nothing",
    "    global doubled; doubled = None",
    "    return",
    "    return x * 2",
    "    x = x * 2",
    "  y = 1",
    "# nothing",
    "",
    "@torch.no_grad()",
    "@unknown",
    "from nowhere import *",
    "import nowhere",
    "import numpy as step",
    "class A:\n    B = doubled(torch.ones(1)).nothing",
    "globals()['scaled'] = None",
    "x = [",
    '"""',
    "SCALE = unused(2)",
    "SCALE = 4 if unused(torch.ones(1)) is None else 2",
    "from __future__ import annotations",
    "return",
)


class Context:
    def check(self) -> None:
        pass

    def progress(self, data: Mapping[str, Any]) -> None:
        pass


def marks(analysis: Analysis) -> dict[str, str]:
    return {info.name: fingerprint(analysis, info) for info in programs(analysis)}


def is_right(text: str, program: str, folder: Path) -> bool:
    path = str(folder / "file.py")
    try:
        found = simulate({"path": path, "file": path, "text": text, "program": program}, Context())
    except (JobError, SimError):
        return False
    return bool(found["verdict"]["accepted"])


def edited(text: str, rng: random.Random) -> str:
    lines = text.split("\n")
    at = rng.randrange(len(lines))
    if rng.random() < 0.2:
        del lines[at : at + rng.choice((1, 1, 2))]
    elif rng.random() < 0.3:
        lines[at] = lines[at].replace("2", rng.choice(("3", "2 ", "2.0", "x"))).replace("z", rng.choice(("q", "y")))
    else:
        lines[at : at + rng.choice((0, 0, 1))] = rng.choice(LINES).split("\n")
    return "\n".join(lines)


@pytest.mark.parametrize("seed", range(3))
def test_what_stays_green_after_an_edit_is_green_when_it_is_run(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    analysis = first = analyze(TEXT, "file.py")
    base = marks(first)
    assert base.keys() == {"good", "other"}
    assert all(is_right(TEXT, name, tmp_path) for name in base)
    kept = 0
    for _ in range(60):
        text = TEXT
        for _ in range(rng.choice((1, 1, 2))):
            text = edited(text, rng)
        analysis = analyze(text, "file.py", previous=analysis)
        for name, mark in marks(analysis).items():
            if mark == base.get(name):
                kept += text != TEXT
                assert is_right(text, name, tmp_path), f"{name} stays green:\n{text}"
    assert kept, "an edit that changes nothing for a program has to leave its verdict alone"


@pytest.mark.parametrize(
    ("old", "new", "outdated"),
    [
        ('"""Programs."""', '"""Programs."""\n# a comment', set()),
        ("    z = x * 3", "    z = x * 4", set()),
        ("return x * SCALE", "return x * SCALE * 1", {"other"}),
        ("SCALE = 2.0", "SCALE = 2.5", {"good", "other"}),
        ("SCALE = 2.0", "raise ValueError\nSCALE = 2.0", {"good", "other"}),
        ("    z = x * 3", "    z = (x * 3", {"good", "other"}),
        ("    z = x * 3", "    nonlocal z", {"good", "other"}),
        ("y: int = 1", "y: int = 2", {"good", "other"}),
        ("import math", "import cmath", {"good", "other"}),
        ("input[0] * 2", "input[0] * 2.0", {"good", "other"}),
        ("    return [input[0] * 2]", "    return [input[0] * 3]", {"good", "other"}),
    ],
)
def test_an_edit_outdates_what_depends_on_it_and_nothing_else(old: str, new: str, outdated: set[str]) -> None:
    before, text = analyze(TEXT, "file.py"), TEXT.replace(old, new, 1)
    after = marks(analyze(text, "file.py", previous=before))
    changed = {name for name, mark in marks(before).items() if after.get(name) != mark}
    assert text != TEXT
    assert changed == outdated


def test_what_a_file_reaches_without_naming_it_outdates_its_programs() -> None:
    text = TEXT + "\nTABLE = {name: f for name, f in globals().items()}\n"
    after = analyze(text.replace("    z = x * 3", "    z = x * 4"), "file.py")
    assert not set(marks(analyze(text, "file.py")).items()) & set(marks(after).items())


def test_one_edit_in_a_long_file_outdates_one_program() -> None:
    text = python_file(100)
    before = marks(analyze(text, "long.py"))
    changed = marks(analyze(text.replace("torch.relu(row) * factor", "torch.tanh(row) * factor", 1), "long.py"))
    assert [name for name in before if changed[name] != before[name]] == ["rows_0"]
