"""What a run of the mutation tester says: a table for people, JSON for comparing runs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from .pool import Outcome, Verdict


def share(verdicts: list[Verdict]) -> float:
    """Percentage of mutants that the tests noticed; 100 when there are none."""
    return 100.0 * sum(verdict.outcome.dead for verdict in verdicts) / len(verdicts) if verdicts else 100.0


def by_file(verdicts: Iterable[Verdict]) -> dict[str, list[Verdict]]:
    """Verdicts of each file, in the order of its lines."""
    files: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in sorted(verdicts, key=lambda verdict: (verdict.mutant.path, verdict.mutant.line)):
        files[verdict.mutant.path].append(verdict)
    return dict(files)


def row(verdicts: list[Verdict]) -> tuple[int, int, float]:
    """Mutants, killed, survived in percent."""
    return len(verdicts), sum(verdict.outcome.dead for verdict in verdicts), 100.0 - share(verdicts)


def table(verdicts: list[Verdict]) -> str:
    """One row for each file and one for all, then the survivors."""
    files = by_file(verdicts)
    width = max([len("file"), *map(len, files)])
    lines = [f"{'file':<{width}}  mutants  killed  survived"]
    for name, part in [*files.items(), ("all", verdicts)]:
        mutants, killed, survived = row(part)
        lines.append(f"{name:<{width}}  {mutants:7}  {killed:6}  {survived:7.1f}%")
    for part in files.values():
        for verdict in part:
            if not verdict.outcome.dead:
                note = "  (no test reaches it)" if verdict.outcome is Outcome.UNREACHED else ""
                lines.append(f"{verdict.mutant}{note}")
    return "\n".join(lines)


def as_json(verdicts: list[Verdict], **facts: Any) -> dict[str, Any]:
    """The result as plain data; ``facts`` say how it was made."""
    files = {}
    for name, part in by_file(verdicts).items():
        mutants, killed, survived = row(part)
        files[name] = {
            "mutants": mutants,
            "killed": killed,
            "timeouts": sum(verdict.outcome is Outcome.TIMEOUT for verdict in part),
            "survived_percent": round(survived, 2),
            "survivors": [
                {
                    "line": verdict.mutant.line,
                    "kind": verdict.mutant.kind,
                    "before": verdict.mutant.before,
                    "after": verdict.mutant.after,
                    "reached": verdict.outcome is not Outcome.UNREACHED,
                }
                for verdict in part
                if not verdict.outcome.dead
            ],
        }
    mutants, killed, _ = row(verdicts)
    return {**facts, "mutants": mutants, "killed": killed, "killed_percent": round(share(verdicts), 2), "files": files}
