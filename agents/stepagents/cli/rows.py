"""Results as the commands show them: a line of text, or the documented JSON object; and what they mean as exit code."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from stepagents.sampling import Sampled
from stepagents.spending import spent_on
from stepcore.cli.terminal import EXIT_CLEAN, EXIT_FINDINGS, EXIT_UNUSABLE
from stepcore.reports.text import clean
from stepcore.system.scarce import reason_of
from stepcore.text.wording import one_line

NOTHING_TRIED: Final = (
    "no task could be tried: mend what is told above, of which `stepsmith check` tells all, and give the command again"
)


def row_json(sampled: Sampled) -> dict[str, Any]:
    """Return a result as the documented JSON object; ``tokens`` are those of prompts and answers together.

    ``cost`` is null where no price is known.
    """
    return {
        "task": sampled.task,
        "path": sampled.path,
        "solved": sampled.solved,
        "impl": sampled.solutions[0] if sampled.solved else "",
        "proposer": sampled.proposer,
        "candidates": sampled.answers,
        "seconds": round(sampled.seconds, 6),
        "tokens": sampled.input_tokens + sampled.output_tokens,
        "cost": sampled.cost if sampled.cost_known else None,
        "solutions": sampled.solutions,
        "accepted": sampled.accepted,
        "outcomes": dict(sampled.outcomes),
        "reason": sampled.problem or sampled.reason,
        "note": sampled.note,
    }


def row_text(sampled: Sampled, *, with_impl: bool) -> str:
    """Return a result as text: one line, and below it the program (if wanted) or the reason."""
    state = "solved" if sampled.solved else "not solved"
    facts = [f"{sampled.answers:,} candidates", f"{sampled.seconds:.2f} s"]
    if sampled.input_tokens + sampled.output_tokens:
        facts.append(spent_on([sampled]))
    lines = [f"{state}  {one_line(sampled.task)}  ({', '.join(facts)})"]
    if sampled.solved and with_impl:
        lines += [f"  {line}" for line in clean(sampled.solutions[0]).split("\n")]
    elif not sampled.solved:
        lines += [f"  {line}" for line in clean(sampled.reason).split("\n")]
    if sampled.note:
        lines.append(f"  note: {one_line(sampled.note)}")
    return "\n".join(lines)


def unwritten(place: Path, error: OSError) -> str:
    """Say why a program is in no file, so that whoever waited or paid for it looks for it in the output."""
    return f"{one_line(place)}: STEP901 {reason_of(error)}; its program is shown instead"


def exit_code(results: Sequence[Sampled]) -> int:
    """Return 2 if a file could not be used, 1 if a task is unsolved, else 0."""
    if any(sampled.problem for sampled in results):
        return EXIT_UNUSABLE
    return EXIT_CLEAN if all(sampled.solved for sampled in results) else EXIT_FINDINGS
