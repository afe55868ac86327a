"""What a proposer gets and gives: one interface for language models and for the search.

Plain data, no torch, no model client: commands, the learning loop and reports stand on this alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event
from typing import Protocol

from stepcore.jobdata.writing import Experience
from stepcore.records import Record


class Order(Record):
    """One task to sample. ``samples`` are answers of a model, or candidates of the search."""

    task: str
    path: str
    text: str
    samples: int
    seconds: float
    seed: int = 0


@dataclass(slots=True)
class Sampled:
    """What came of one order.

    ``solutions`` are distinct accepted programs, shortest first. ``answers`` were judged, ``accepted`` of them were
    right. ``outcomes`` counts how each answer ended: a stage of the judge, or the name of a fault of an endpoint.
    ``reason`` says why nothing was found, ``problem`` why the task could not be tried at all. ``cost`` is in US dollars
    and counts only when ``cost_known``; ``tokens_counted`` is False where an endpoint did not count them, so that they
    are estimates. ``retried`` counts faults that a further attempt overcame. ``note`` says what the verdict on the
    solutions is not worth: inputs on which no result depends.
    """

    task: str
    path: str = ""
    proposer: str = ""
    solutions: list[str] = field(default_factory=list)
    answers: int = 0
    accepted: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    seconds: float = 0.0
    outcomes: Counter[str] = field(default_factory=Counter)
    reason: str = ""
    problem: str = ""
    cost_known: bool = True
    retried: Counter[str] = field(default_factory=Counter)
    note: str = ""
    tokens_counted: bool = True

    @property
    def solved(self) -> bool:
        """Whether a right program was found."""
        return bool(self.solutions)

    @property
    def success_rate(self) -> float:
        """Accepted answers by judged answers, 0 where none was judged."""
        return self.accepted / self.answers if self.answers else 0.0


class Sampler(Protocol):
    """A proposer with its judge: the search (`stepagents.runs`) or a language model (`stepagents.llm`)."""

    @property
    def name(self) -> str:
        """Who writes, as results and experiences name it: ``search``, or provider and model."""

    def sample(
        self,
        orders: Sequence[Order],
        demonstrations: Sequence[Experience] = (),
        *,
        stop: Event | None = None,
        tell: Callable[[str], None] = lambda _text: None,
    ) -> Iterator[Sampled]:
        """Work on all ``orders`` in parallel and yield each result when it is there, in any order.

        Setting ``stop`` ends the work soon; what was earned until then is yielded. Nothing that a task, a model or an
        endpoint does raises here: it is told by ``reason``, ``problem`` and ``outcomes``.
        """
