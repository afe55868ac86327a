"""What a model answered, with the verdicts, as Markdown that people read.

A model's text stands in a fence that nothing in it can close, and is never interpreted. What steers a terminal or an
editor (escape sequences, marks that turn the direction of writing, foreign line ends) is replaced.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from stepagents.sampling import Sampled
from stepagents.spending import spending, standing
from stepcore.records import Record
from stepcore.reports.text import clean
from stepcore.text.wording import one_line

if TYPE_CHECKING:
    from stepagents.llm.ledger import StoredAnswer

MOST_SHOWN: Final = 20_000  # characters of an answer
_MOST_MESSAGE: Final = 4_000  # of what the judge says
_MOST_NAME: Final = 200
_MARKS: Final = re.compile(r"([\\`*\[\]<>#&])")  # of code, emphasis, links, HTML; others are read as source, too


class Answered(Record):
    """One request and what came of it.

    ``sampled`` is how its task stands, this answer included; ``number`` counts the answers to the task from 1, and
    ``role`` says what was asked for: an answer, a correction, a program made affine. ``stored`` is None where no
    answer came. ``outcome`` is the stage of the judge or the name of a fault, ``message`` says more, ``impl`` is the
    program as it was judged.
    """

    sampled: Sampled
    number: int
    role: str
    outcome: str
    message: str = ""
    stored: StoredAnswer | None = None
    impl: str = ""


Heard: TypeAlias = Callable[[Answered], None]


def opening(sampled: Sampled) -> str:
    """Return the beginning of a document: whose answers to what."""
    return (
        f"# Answers of {_plain(sampled.proposer)} to {_plain(sampled.task)}\n\n"
        "What the model wrote stands here as it came. It was read by a closed language, and never run as Python.\n\n"
    )


def closing(sampled: Sampled) -> str:
    """Return the end of a document: what all answers took, and why there is no program where there is none."""
    reason = (sampled.problem or sampled.reason)[:_MOST_MESSAGE]
    lines = ["## In all", "", f"{_plain(standing([sampled]))}.", *(["", f"{_plain(reason)}."] if reason else [])]
    return "\n".join(lines) + "\n"


def section(answered: Answered) -> str:
    """Return the part of a document that shows one answer."""
    stored = answered.stored
    lines = [f"## {answered.number}. {_plain(answered.role)}: {_plain(answered.outcome)}", ""]
    if stored is not None:
        facts = [_plain(stored.model)] if stored.model else []
        if stored.temperature is not None:
            facts.append(f"temperature {stored.temperature:g}")
        tokens = f"{stored.input_tokens:,} + {stored.output_tokens:,}"
        told = spending(stored.input_tokens + stored.output_tokens, stored.cost, is_counted=stored.counted)
        facts += [f"{told} (prompt and answer: {tokens})", f"{stored.seconds:.1f} s"]
        lines += ["; ".join(facts), ""]
    if answered.message.strip():
        lines += ["Verdict:", "", *_fenced(answered.message, _MOST_MESSAGE), ""]
    if stored is not None:
        lines += ["Answer:", "", *_fenced(stored.text, MOST_SHOWN), ""]
        if answered.impl.strip() and answered.impl.strip() not in stored.text:
            lines += ["The program in it, as it was judged:", "", *_fenced(answered.impl, MOST_SHOWN), ""]
    return "\n".join(lines)


def became(proposals: Sequence[tuple[str, str]]) -> str:
    """Return the part of a document that says of each proposal what became of it."""
    return (
        "\n".join(["## What became of them", "", *(f"- {_plain(what)}: {_plain(how)}" for what, how in proposals)])
        + "\n"
    )


def line(answered: Answered) -> str:
    """Return one line that says what became of an answer."""
    first = next((text for text in answered.message.split("\n") if text.strip()), "")
    text = f"{answered.role} {answered.number}: {answered.outcome}{f': {first.strip()}' if first else ''}"
    return one_line(text[:_MOST_NAME])


def fence_mark(text: str) -> str:
    """Return the mark of a fence around ``text``: longer than any run of it inside."""
    return "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))


def _fenced(text: str, most: int) -> Sequence[str]:
    """Return ``text`` in a fence that is longer than any run of its mark, cut where it is long."""
    shown = clean(text[:most].replace("\r\n", "\n").replace("\r", "\n")).rstrip("\n")
    mark = fence_mark(shown)
    cut = [f"({len(text) - most:,} more characters)"] if len(text) > most else []
    return [f"{mark}text", shown, mark, *cut]


def _plain(text: str) -> str:
    """Return a foreign name on one line, with what Markdown would interpret escaped."""
    return _MARKS.sub(r"\\\1", one_line(text))
