"""Rewrites: each has a page with a program before and after, and keeps what random programs compute."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from oracle import dense
from programs import count, generate, impl_text, task_text
from programs.running import PATH, assert_same_values, run_oracle
from programs.tiled import tiled_task
from stepcore.check import check_text
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import time_program
from stepcore.rewrites import REWRITES, RewriteSubject, applied, subject_of
from stepcore.timing.hardware import PRESETS, Hardware

PAGE = (Path(__file__).parents[1] / "docs" / "rewrites.md").read_text(encoding="utf-8")
SECTIONS = re.findall(r"^## (\S+)\n.*?```python before\n(.*?)```.*?```python after\n(.*?)```", PAGE, re.DOTALL | re.M)
CHIPS = [PRESETS[name] for name in ("paper", "validation")]


def subject(text: str, path: str = "page.py", chip: Hardware = CHIPS[0]) -> RewriteSubject:
    """The one program of a file, timed where it can be."""
    (program,) = check_text(text, path, with_fixes=False).programs
    found = subject_of(text, path, program.name)
    assert found is not None, program.diagnostics
    try:
        return replace(found, timed=time_program(found.checked, chip, budget=200_000))
    except NotTimed:
        return found


def test_every_rewrite_has_its_page() -> None:
    assert sorted(name for name, _, _ in SECTIONS) == sorted(rewrite.name for rewrite in REWRITES)
    assert len({rewrite.summary for rewrite in REWRITES}) == len(REWRITES)


@pytest.mark.parametrize(("name", "before", "after"), SECTIONS, ids=[name for name, _, _ in SECTIONS])
def test_the_page_tells_what_a_rewrite_does(name: str, before: str, after: str) -> None:
    (rewrite,) = [rewrite for rewrite in REWRITES if rewrite.name == name]
    olds = [subject(before, chip=chip) for chip in CHIPS]
    made = [applied(old, site) for old in olds for site in rewrite.sites(old)]
    assert after in [each.text for each in made if each is not None]


def mends(text: str, path: str) -> int:
    """Apply each rewrite everywhere in a task; the oracle finds the same results. Gives how many sites there were."""
    old, tried = subject(text, path), 0
    wanted = run_oracle(text)
    for rewrite in REWRITES:
        for site in rewrite.sites(old):
            new = applied(old, site)
            if new is None:
                continue
            tried += 1
            assert site.sentence
            found = run_oracle(new.text)
            assert found.returned == wanted.returned
            last = [dense(stream) for stream in found.used[-found.returned :]] if found.returned else []
            try:
                assert_same_values(last, wanted.used[-wanted.returned :] if wanted.returned else [])
            except AssertionError as error:
                error.add_note(f"{rewrite.name}: {site.sentence}\n{new.text}")
                raise
    return tried


@pytest.mark.parametrize("first", range(0, count(60), 15))
def test_random_programs_compute_the_same(first: int) -> None:
    tried = 0
    for seed in range(first, first + 15):
        program = generate(Random(seed), 8)
        tried += mends(task_text(program, impl_text(program)), PATH)
    assert tried


@pytest.mark.parametrize("first", range(0, count(60), 15))
def test_random_programs_of_tiles_compute_the_same(first: int) -> None:
    tried = 0
    for seed in range(first, first + 15):
        text = tiled_task(Random(seed))
        tried += mends(text, PATH)
    assert tried
