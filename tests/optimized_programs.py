"""Random programs made faster by the search: what it keeps is right on fresh data and sizes, runs, is not slower."""

from __future__ import annotations

from random import Random
from typing import Final

import torch
from torch import Tensor

from programs import generate, impl_text, task_text
from programs.deviating import deviating_module
from programs.generation2 import generation2_task
from programs.online import online_module
from programs.running import PATH
from programs.tiled import tiled_task
from stepagents.optimize.candidates import STEPS, FasterText, Goal, OptimizeTarget
from stepagents.optimize.record import SearchRecord
from stepagents.optimize.search import Search, SearchLimits, Unimprovable
from stepcore.check import Checked, check_text
from stepcore.conversion.to_task import python_to_task
from stepcore.cycles.timed import time_program
from stepcore.findings.errors import SimError
from stepcore.rewrites import RewriteSubject, subject_of
from stepcore.sim.functional import Session
from stepcore.sim.nested import values_of
from stepcore.timing.hardware import PRESETS

CANDIDATES: Final = 60
_SEEDS: Final = (7, 20_011)


def optimizable_task(seed: int) -> str:
    """Return a random task: of generation 1, over tiles, of all operators of generation 2, or of rows folded twice."""
    rng = Random(seed)
    match seed % 4:
        case 0:
            program = generate(rng, 8)
            return task_text(program, impl_text(program))
        case 1:
            return tiled_task(rng)
        case 2:
            return generation2_task(seed)
        case _:
            module = check_text(
                (deviating_module if seed % 8 == 7 else online_module)(rng).text, "rows.py", with_fixes=False
            ).module
            assert module is not None
            return python_to_task(module, module.programs[0])


def assert_optimized(seed: int) -> int:
    """Search from a random task on a random chip; returns how many programs are on the front beside the old one."""
    rng = Random(f"optimized {seed}")
    old = _subject(optimizable_task(seed))
    goal = rng.choice(list(Goal))
    target = OptimizeTarget(PRESETS[rng.choice(sorted(PRESETS))], rng.choice((4_096, 65_536)), goal=goal)
    search = Search(old, target, SearchRecord(), SearchLimits(CANDIDATES))
    try:
        search.run()
    except Unimprovable:
        return 0
    made = [each for each in search.archive.front if each is not search.old]
    if search.old is not None and search.best is not None:
        assert search.best.figures.cycles <= search.old.figures.cycles
    for candidate in made:
        _assert_right(old, candidate, target)
    return len(made)


def _assert_right(old: RewriteSubject, candidate: FasterText, target: OptimizeTarget) -> None:
    """The candidate takes the cycles that were told, and computes what the old program does."""
    new = _subject(candidate.text)
    timed = time_program(new.checked, target.chip, budget=STEPS)
    assert timed.cycles == candidate.figures.cycles
    for seed, factor in ((seed, factor) for seed in _SEEDS for factor in (1, 2)):
        spec = old.checked.spec
        bound = spec.bindings()
        dims = {name: factor * bound[name] for name in spec.symbols() if name in bound}
        wanted = _returned(old.checked, dims, seed)
        if wanted is None:
            continue
        found = _returned(new.checked, dims, seed)
        assert found is not None, f"it fails at {dims}:\n{candidate.text}"
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == other.shape, candidate.text
            assert torch.allclose(one, other, rtol=1e-9, atol=1e-9, equal_nan=True), candidate.text


def _returned(checked: Checked, dims: dict[str, int], seed: int) -> list[Tensor] | None:
    """Return the numbers of what a program returns, in fp64; None where it does not run at these sizes."""
    try:
        session = Session(checked.spec, dims, seed, dtype=torch.float64)
        streams = session.run(checked.typed, keep=True).streams
    except SimError:
        return None
    data = [streams[index] for index in checked.typed.returns]
    return [values_of(part) for stream in data for part in stream.dense()]


def _subject(text: str) -> RewriteSubject:

    (program,) = check_text(text, PATH, with_fixes=False).programs
    found = subject_of(text, PATH, program.name)
    assert found is not None, [str(each) for each in program.diagnostics]
    return found
