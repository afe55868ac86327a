"""What a campaign is: seeded cases, tried until its share of processor time is used up."""

from __future__ import annotations

import resource
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias


@dataclass
class Report:
    """What became of a campaign: cases tried, one text for each failure, seconds of processor time."""

    name: str
    tried: int = 0
    failures: list[str] = field(default_factory=list)
    seconds: float = 0.0


@dataclass(frozen=True)
class Order:
    """``seed`` decides all cases; ``budget`` is in seconds of processor time; what fails is kept in ``folder``."""

    seed: int
    budget: float
    folder: Path

    def keep(self, name: str, text: str | bytes) -> Path:
        """Save the input of a failure."""
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
        return file


Run: TypeAlias = Callable[[Order, Report], None]


def spent() -> float:
    """Return seconds of processor time of this process and of its children that have ended."""
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def numbers(order: Order) -> Iterator[int]:
    """Yield the seeds of the cases, at least one, until the budget is used up."""
    end = spent() + order.budget
    number = 0
    while number == 0 or spent() < end:
        yield order.seed * 1_000_000 + number
        number += 1
