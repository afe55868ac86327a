"""Experience as text, one JSON object a line: export, and import that believes nothing.

A line holds ``stepsmith`` (the version of this format), the fields of :class:`~stepagents.sampling.Experience`, and
``earned`` in seconds since 1970. What is read is checked in any case, and run by the judge unless the user says no.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Annotated, Final, TypeAlias

from annotated_types import Gt, Le, Predicate

from stepagents.experience.database import HoldsSecret
from stepagents.experience.identity import UnusableProgram, checked_program, without_impl
from stepagents.experience.lines import RefusedLine, need_object
from stepagents.experience.store import Store, StoredExperience
from stepagents.validated import Amount, Moment, no_longer, read_json
from stepcore.jobdata.writing import Experience
from stepcore.records import Record

FORMAT: Final = 1
MAX_LINE: Final = 5_000_000  # characters
_MOST_NAME: Final = 1_000  # characters of a task's or proposer's name

# Gets experiences whose programs pass the checks; yields for each "" if it is right, else why not.
Verifier = Callable[[Sequence[Experience]], Iterable[str]]


@dataclass(slots=True)
class Imported:
    """What an import did: new experiences, those that were known, and per line why one was refused."""

    added: int = 0
    known: int = 0
    refused: list[tuple[int, str]] = field(default_factory=list)

    def reasons(self) -> Counter[str]:
        """Return how often each kind of reason occurred."""
        return Counter(why.split(":", 1)[0] for _, why in self.refused)


def export_lines(stored: Iterable[StoredExperience]) -> Iterator[str]:
    """Yield one line for each experience, without its end. Paths and workspaces of this machine stay here."""
    for item in stored:
        # In ASCII: what is printed steers no terminal, fits any encoding, and has no line ends within a line.
        yield json.dumps({"stepsmith": FORMAT, **asdict(item.experience), "earned": item.earned})


def import_lines(store: Store, lines: Iterable[str], verify: Verifier | None) -> Imported:
    """Add what the lines hold to the store; without ``verify`` programs are only checked, not run.

    Raises:
        StoreError: the store cannot be used.
    """
    done = Imported()
    read: list[tuple[int, Experience, float]] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                read.append((number, *_read(line)))
            except RefusedLine as error:
                done.refused.append((number, str(error)))
    found = iter(verify([experience for _, experience, _ in read])) if verify is not None else iter([""] * len(read))
    for (number, experience, earned), why in zip(read, found, strict=True):
        if why:
            done.refused.append((number, f"not verified: {why}"))
        else:
            _add(store, number, experience, earned, done)
    done.refused.sort()
    return done


def _add(store: Store, number: int, experience: Experience, earned: float, done: Imported) -> None:
    try:
        if store.add(experience, earned=earned):
            done.added += 1
        else:
            done.known += 1
    except UnusableProgram as error:
        done.refused.append((number, f"wrong program: {error}"))
    except HoldsSecret as error:
        done.refused.append((number, f"credential: {error}"))


# Text that can be stored and shown: some of it, and no NUL.
_SHOWN: Final = Predicate(lambda text: bool(text.strip()) and "\0" not in text)
_Words: TypeAlias = Annotated[str, _SHOWN]
_Name: TypeAlias = Annotated[str, no_longer(_MOST_NAME), _SHOWN]


class _Row(Record):
    """One line of an export; ``earned`` is in seconds since 1970."""

    task: _Name
    task_text: _Words
    impl: _Words
    proposer: _Name
    success_rate: Annotated[float, Gt(0), Le(1)]
    tokens: Amount
    cost: Amount
    seconds: Amount
    earned: Moment


def _read(line: str) -> tuple[Experience, float]:
    """Return the experience of a line and when it was earned.

    Raises:
        RefusedLine: it holds none, or its program does not pass the checks.
    """
    need_object(line, "stepsmith", FORMAT, "experience", MAX_LINE)
    try:
        row = read_json(_Row, line)
    except ValueError as error:
        raise RefusedLine(f"wrong value: {error}") from None
    experience = Experience(
        row.task, row.task_text, row.impl, row.proposer, row.success_rate, int(row.tokens), row.cost, row.seconds
    )
    text = without_impl(experience.task_text, experience.task)
    try:
        checked_program(text, experience.task, experience.impl)
    except UnusableProgram as error:
        raise RefusedLine(f"wrong program: {error}") from None
    return experience, row.earned
