"""A benchmark run as data, and as the JSON file in which it is saved."""

from __future__ import annotations

import json
from dataclasses import asdict, field
from pathlib import Path
from typing import Any, Final

from stepagents.sampling import Order, Sampled
from stepagents.validated import Amount, Count, read_json
from stepcore.records import Record
from stepcore.text.files import Unusable, read_file
from stepcore.text.wording import as_text, one_line
from stepcore.version import VERSION

FORMAT: Final = "stepsmith-bench"
FORMAT_VERSION: Final = 1


class UnusableRun(Exception):
    """A file that holds no benchmark run; the message names it and says why."""


class Attempt(Record):
    """One task with one seed. ``candidates`` are what the search tried, or the answers of a model that were judged."""

    task: str
    path: str
    seed: int
    solved: bool
    candidates: Count
    accepted: Count
    input_tokens: Count
    output_tokens: Count
    cost: Amount
    seconds: Amount
    impl: str = ""
    reason: str = ""
    outcomes: dict[str, Count] = field(default_factory=dict)
    cost_known: bool = True

    @property
    def group(self) -> str:
        """The kind of task: its name up to the first underscore."""
        return self.task.split("_", 1)[0]

    @staticmethod
    def of(order: Order, sampled: Sampled) -> Attempt:
        """Return what came of an order."""
        return Attempt(
            task=as_text(order.task),
            path=as_text(order.path),
            seed=order.seed,
            solved=sampled.solved,
            candidates=sampled.answers,
            accepted=sampled.accepted,
            input_tokens=sampled.input_tokens,
            output_tokens=sampled.output_tokens,
            cost=sampled.cost,
            seconds=sampled.seconds,
            impl=sampled.solutions[0] if sampled.solved else "",
            reason="" if sampled.solved else sampled.reason,
            outcomes=dict(sampled.outcomes),
            cost_known=sampled.cost_known,
        )


class BenchRun(Record):
    """A benchmark run: attempts in the order in which they ended.

    ``proposer`` is ``search`` or the model. ``of_a_model`` tells what one sample is: an answer of a model, or a whole
    search with a seed of its own. ``settings`` are the options that it ran with, ``created`` is in ISO 8601.
    """

    label: str
    proposer: str
    of_a_model: bool
    created: str
    attempts: list[Attempt]
    settings: dict[str, Any] = field(default_factory=dict)
    interrupted: bool = False
    version: str = VERSION

    def as_json(self) -> dict[str, Any]:
        """Return the saved form."""
        return {"format": FORMAT, "format_version": FORMAT_VERSION, **asdict(self)}


def load_run(path: Path) -> BenchRun:
    """Read a saved run.

    Raises:
        UnusableRun: the file cannot be read, or holds something else.
    """
    try:
        text = read_file(path, large=True).text
        data = json.loads(text)
    except Unusable as error:
        raise UnusableRun(f"{one_line(path)}: {error.message}") from error
    except (ValueError, RecursionError) as error:
        raise UnusableRun(f"{one_line(path)}: the file is no JSON: {error}") from error
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        raise UnusableRun(f"{one_line(path)}: the file is no run that `stepsmith bench --save` wrote")
    if data.get("format_version") != FORMAT_VERSION:
        raise UnusableRun(
            f"{one_line(path)}: its format is {data.get('format_version')}, this Stepsmith reads {FORMAT_VERSION}"
        )
    try:
        return read_json(BenchRun, text)
    except ValueError as error:
        raise UnusableRun(f"{one_line(path)}: the run is incomplete or damaged: {error}") from error
