"""The campaign of storms against the language server."""

from __future__ import annotations

import tempfile
from pathlib import Path

from storm.compare import storm

from .campaign import Order, Report, numbers

STEPS = 400


def storms(order: Order, report: Report) -> None:
    """A server that was stormed shows what a fresh one shows that opens the last texts, and leaves nothing."""
    for seed in numbers(order):
        report.tried += 1
        with tempfile.TemporaryDirectory(prefix="stepsmith-storm-") as folder:
            try:
                failures = storm(Path(folder), seed, STEPS).failures
            except AssertionError as error:
                failures = [str(error)]
        if failures:
            kept = order.keep(f"{report.name}_{seed}.txt", "\n".join(failures))
            report.failures.append(f"seed {seed}: {failures[0][:300]}\n    kept as {kept}")
