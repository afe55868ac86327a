"""Campaigns with hostile inputs: the corpus as it is, and inputs that are drawn from it."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Collection, Sequence
from pathlib import Path

from hostile.corpus import ANY, Input, load, pending
from hostile.runner import run

from .campaign import Order, Report, numbers
from .drawn import draw

BATCH = 40  # inputs that share a worker


def corpus(order: Order, report: Report) -> None:
    """All inputs, whatever the budget, in an order of the seed's; a pending one that holds is a failure, too."""
    known = pending()
    inputs = load()
    random.Random(order.seed).shuffle(inputs)
    for first in range(0, len(inputs), BATCH):
        _try(inputs[first : first + BATCH], order, report, known)


def drawn(order: Order, report: Report) -> None:
    """Inputs that are drawn: whatever the verdict, nothing foreign runs and no bound is passed."""
    for seed in numbers(order):
        if (seed % 1_000_000) * BATCH >= 1_000_000:
            break
        with tempfile.TemporaryDirectory() as name:
            _try(drawn_inputs(seed, BATCH, Path(name)), order, report)


def drawn_inputs(seed: int, count: int, folder: Path) -> list[Input]:
    """Write ``count`` inputs of a seed into ``folder``."""
    rng = random.Random(seed)
    inputs: list[Input] = []
    for number in range(count):
        kind, suffix, task, data = draw(rng)
        file = folder / kind / f"x_drawn_{seed}_{number:02d}{suffix}"
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(data)
        inputs.append(Input(file, kind, "drawn", ANY, task))
    return inputs


def _try(inputs: Sequence[Input], order: Order, report: Report, known: Collection[str] = ()) -> None:
    for outcome in run(inputs):
        report.tried += 1
        if outcome.input.name in known:
            if outcome.holds:
                report.failures.append(f"{outcome.input.name} holds now; take it out of pending.txt")
        elif not outcome.holds:
            kept = order.keep(outcome.input.name, outcome.input.path.read_bytes())
            report.failures.append(f"{outcome}\n    kept as {kept}")
