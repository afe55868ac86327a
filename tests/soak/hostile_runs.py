"""Campaigns with hostile inputs: the corpus as it is, and inputs that are drawn from it."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

from hostile.corpus import ANY, Input, load, pending
from hostile.runner import run

from .campaign import Order, Report, numbers, spent
from .drawn import draw

BATCH = 40  # inputs that share a worker


def corpus(order: Order, report: Report) -> None:
    """All inputs, in an order of the seed's, in as many batches as the budget allows; pending ones left out."""
    known = pending()
    inputs = [item for item in load() if item.name not in known]
    random.Random(order.seed).shuffle(inputs)
    end = spent() + order.budget
    for first in range(0, len(inputs), BATCH):
        if report.tried and spent() > end:
            break
        _try(inputs[first : first + BATCH], order, report)
    if report.tried < len(inputs):
        print(f"corpus: the budget was enough for {report.tried} of {len(inputs)} inputs")


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


def _try(inputs: Sequence[Input], order: Order, report: Report) -> None:
    for outcome in run(inputs):
        report.tried += 1
        if not outcome.holds:
            kept = order.keep(outcome.input.name, outcome.input.path.read_bytes())
            report.failures.append(f"{outcome}\n    kept as {kept}")
