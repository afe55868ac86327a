"""A run as text for a terminal."""

from __future__ import annotations

from stepagents.report.runs import BenchRun
from stepagents.report.summary import Totals, by_group, pass_table, seeds
from stepcore.text.wording import one_line


def run_text(run: BenchRun) -> str:
    """Return the solve table by group, pass@k, and the tasks that were not solved by every seed."""
    number = len(seeds(run))
    lines = [f"{one_line(run.label)}: {one_line(run.proposer)}, {number} {'seed' if number == 1 else 'seeds'}"]
    lines.append(f"{'group':<14}{'solved':>8}{'tasks':>7}{'share':>8}{'interval':>12}{'candidates':>12}"
                 f"{'tokens':>11}{'seconds':>9}")  # fmt: skip
    lines += [_group(part) for part in by_group(run)]
    lines.append("")
    lines.append("pass@k (unbiased, Chen et al. 2021; 95 % Wilson intervals over tasks)")
    for row in pass_table(run):
        rest = f"  ({row.tasks} tasks have {row.k} samples)" if row.tasks < len({a.path for a in run.attempts}) else ""
        lines.append(f"  k={row.k:<6} {row.value:>7.1%}  {_interval(row.low, row.high):>12}{rest}")
    missed = [attempt for attempt in run.attempts if not attempt.solved]
    for attempt in sorted(missed, key=lambda item: (item.task, item.seed)):
        seed = f", seed {attempt.seed}" if number > 1 else ""
        lines.append(f"not solved: {one_line(attempt.task)}{seed} ({one_line(attempt.reason)})")
    return "\n".join(lines)


def _group(part: Totals) -> str:
    tokens = part.input_tokens + part.output_tokens
    return (
        f"{one_line(part.name):<14}{part.solved:>8.4g}{part.tasks:>7}{part.share:>8.1%}"
        f"{_interval(part.low, part.high):>12}{part.candidates:>12,.0f}{tokens:>11,.0f}{part.seconds:>9.2f}"
    )


def _interval(low: float, high: float) -> str:
    return f"{100 * low:.0f}..{100 * high:.0f} %"
