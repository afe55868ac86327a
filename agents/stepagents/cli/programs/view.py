"""How ``stepsmith optimize`` shows what it does and what came of it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import unified_diff

from stepagents.cli.programs.answered import AnsweredTask
from stepagents.cli.programs.orders import TargetWish
from stepagents.optimize.candidates import FasterText
from stepagents.optimize.outcome import Optimized, brought
from stepcore.cli.terminal import complain, waiting
from stepcore.records import Record
from stepcore.reports.text import clean
from stepcore.text.wording import counted, one_line, times_text


@contextmanager
def watching(name: str) -> Iterator[Callable[[str], None]]:
    """Show on a terminal what a search has found so far; gives the function that is told."""
    with waiting(f"optimizing {name}") as update:
        yield lambda text: update(f"optimizing {name}: {one_line(text)}")


class ChangedFile(Record):
    """What the best program changes: the file at ``path`` from one text to another."""

    path: str
    before: str
    after: str


def changed_file(outcome: Optimized, answer: AnsweredTask | None) -> ChangedFile | None:
    """Return what the best program changes, None where nothing; ``answer`` is where a task's program stands."""
    if not outcome.is_faster or outcome.best is None:
        return None
    made = outcome.best.text
    if answer is None:
        return ChangedFile(outcome.path, outcome.text, made)
    return ChangedFile(answer.file.path, answer.file.text, answer.written(made))


def show(outcome: Optimized, wish: TargetWish, changed: ChangedFile | None) -> None:
    """Print what came of one program: before and after, the front, the steps, and the difference in ``changed``.

    Where nothing helped, it says which call tells why.
    """
    name = f"{one_line(outcome.path)}::{one_line(outcome.program)}"
    if outcome.best is None:
        show_problem(outcome)
        return
    print("\n".join(map(one_line, _summary(name, outcome, outcome.best, wish))))
    _refused(outcome)
    if changed is not None:
        print()
        sys.stdout.writelines(f"{clean(line)}\n" for line in _diff(changed))
    print(flush=True)


def show_problem(outcome: Optimized) -> None:
    """Tell why a program has no verified result, and what is wrong with what was found, where nothing else does."""
    if outcome.best is None:
        complain(f"{one_line(outcome.path)}::{one_line(outcome.program)}: {outcome.problem}")
    _refused(outcome)


def _summary(name: str, outcome: Optimized, best: FasterText, wish: TargetWish) -> list[str]:
    figures, old = best.figures, outcome.old
    before = "stopped" if old is None else f"{old.cycles:,}"
    times = (
        "" if old is None or old.cycles == figures.cycles else f", {times_text(old.cycles / max(figures.cycles, 1))}"
    )
    ratio = "" if outcome.ratio is None else f", {times_text(outcome.ratio)} of the bound ({outcome.bound_by})"
    lines = [f"{name} on {outcome.hw}, cycles: {before} -> {figures.cycles:,}{times}{ratio}"]
    if not best.steps:
        lines.append(f"  {nothing_text(outcome, wish)}")
    for number, step in enumerate(best.steps, start=1):
        lines.append(f"  {number}. {step.sentence}: {brought(step)}")
    lines.append(f"  {'cycles':>12}  {'on chip':>12}  {'off chip':>12}  verified: all")
    for point in outcome.front:
        what = point.steps[-1].sentence if point.steps else "as it was"
        each = point.figures
        mark = "<- best" if point is best else ""
        lines.append(f"  {each.cycles:>12,}  {each.on_chip:>12,}  {each.off_chip:>12,}  {what} {mark}".rstrip())
    reason = _early(outcome)
    ended = f", {reason}; the same call goes on" if reason else ""
    lines.append(f"  {counted(outcome.tried, 'candidate')} in {outcome.seconds:.1f} s{ended}")
    return lines


def nothing_text(outcome: Optimized, wish: TargetWish) -> str:
    """Return what is said of a program that nothing made better: why it ended early, else the call that tells why."""
    if early := _early(outcome):
        so_far = "no rewrite that was tried so far makes it better" if outcome.tried else "nothing was tried yet"
        return f"{so_far}: {early}"
    said = "no rewrite that was tried makes it better" if outcome.tried else "nothing was tried"
    which = "the others do" if outcome.tried else "each rewrite does"
    return f"{said}: `{wish.explaining(outcome.path, outcome.program)}` tells why {which} not apply"


def _early(outcome: Optimized) -> str:
    return "interrupted" if outcome.interrupted else "its time was over" if outcome.ended == "time" else ""


def _refused(outcome: Optimized) -> None:
    for reason in outcome.refused:
        complain(f"{one_line(outcome.program)}: {reason}")


def _diff(changed: ChangedFile) -> Iterator[str]:
    path = one_line(changed.path)
    lines = unified_diff(changed.before.splitlines(), changed.after.splitlines(), path, path, lineterm="", n=1)
    return iter(lines)
