"""Experience as text, one JSON object a line: export, and import that believes nothing.

A line holds ``stepsmith`` (the version of this format), the fields of :class:`~stepagents.sampling.Experience`, and
``earned`` in seconds since 1970. What is read is checked in any case, and run by the judge unless the user says no.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from math import isfinite
from typing import Any, Final

from stepagents.experience.database import HoldsSecret
from stepagents.experience.identity import UnusableProgram, checked_program, without_impl
from stepagents.experience.store import Store, Stored
from stepagents.sampling import Experience

FORMAT: Final = 1
MAX_LINE: Final = 5_000_000  # characters
_TEXTS: Final = ("task", "task_text", "impl", "proposer")
_NUMBERS: Final = ("success_rate", "tokens", "cost", "seconds")

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


class _Refused(ValueError):
    """A line that is no experience."""


def export_lines(stored: Iterable[Stored]) -> Iterator[str]:
    """Yield one line for each experience, without its end. Paths and workspaces of this machine stay here."""
    for item in stored:
        yield json.dumps({"stepsmith": FORMAT, **asdict(item.experience), "earned": item.earned}, ensure_ascii=False)


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
            except _Refused as error:
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


def _read(line: str) -> tuple[Experience, float]:
    """Return the experience of a line and when it was earned.

    Raises:
        _Refused: it holds none, or its program does not pass the checks.
    """
    if len(line) > MAX_LINE:
        raise _Refused(f"too long: over {MAX_LINE:,} characters")
    try:
        values = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise _Refused(f"no JSON: {error}") from None
    if not isinstance(values, dict) or "stepsmith" not in values:
        raise _Refused("no experience: an object with the key `stepsmith` is needed")
    if values["stepsmith"] != FORMAT:
        raise _Refused(f"unknown format: {values['stepsmith']!r}, this Stepsmith reads {FORMAT}")
    task, task_text, impl, proposer = (_text(values, name) for name in _TEXTS)
    experience = Experience(task, task_text, impl, proposer, **_numbers(values))
    earned = _number(values, "earned")
    text = without_impl(experience.task_text, experience.task)
    try:
        checked_program(text, experience.task, experience.impl)
    except UnusableProgram as error:
        raise _Refused(f"wrong program: {error}") from None
    return experience, earned


def _numbers(values: dict[str, Any]) -> dict[str, Any]:
    found = {name: _number(values, name) for name in _NUMBERS}
    if not 0 < found["success_rate"] <= 1:
        raise _Refused("wrong value: success_rate is over 0 and at most 1")
    return {**found, "tokens": int(found["tokens"])}


def _text(values: dict[str, Any], name: str) -> str:
    value = values.get(name)
    if not isinstance(value, str) or not value.strip() or not _is_storable(value):
        raise _Refused(f"wrong value: {name} has to be text")
    return value


def _is_storable(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can spell
        return False
    return "\0" not in value


def _number(values: dict[str, Any], name: str) -> float:
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value) or not 0 <= value < 1e15:
        raise _Refused(f"wrong value: {name} has to be a number, not negative")
    return float(value)
