"""Sizes at which a program has to be run again, because there it may be another program.

The graph of a program is that of the sizes that were bound. Where elaboration looked at such a number (a condition, the
length of a loop, an index, a count), being right at these sizes says nothing about others: ``fn_twice if M_value == 5
else fn_zero``. So the text is elaborated at other sizes, and some of those are named where another program came out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Final, TypeAlias

from stepcore.check.programs import Checked
from stepcore.check.sizes import Variants, candidates, is_about_sizes, operators
from stepcore.findings import budget
from stepcore.findings.budget import Budget
from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.printing.task import canonical_key

_TRIED: Final = 40
# Steps that all elaborations may take together; an honest program takes some hundreds each.
_BUDGET: Final = 2_000_000

# Checks the same text with its sizes bound to these; None where the task has no meaning there.
At: TypeAlias = Callable[[Mapping[str, int]], Checked | None]


def elsewhere(first: Checked, at: At) -> list[tuple[dict[str, int], Checked]]:
    """Return sizes at which ``first`` is another program, with what it is there; none for most programs.

    Sizes are given for what ``--dims`` can change, nearest to the numbers of the program first. What cannot be followed
    there to its end (STEP221, STEP912) is left out.
    """
    followed = first.followed
    if followed is None:
        return []
    variants = Variants(_signature(first), _key(first), followed.arms)
    tries = candidates(followed, _TRIED)
    found: list[tuple[dict[str, int], Checked]] = []
    with budget.using(Budget(_BUDGET)) as own:
        for sizes in tries:
            if variants.are_enough or own.is_spent:
                break
            checked = at(sizes)
            there = checked.followed if checked is not None else None
            if there is not None:
                tries.met(sizes, there.gaps)
            if checked is None or any(map(is_about_sizes, _errors(checked))):
                continue
            if variants.takes(_signature(checked), _key(checked), frozenset() if there is None else there.arms):
                found.append((sizes, checked))
    return found


def _errors(checked: Checked) -> list[Diagnostic]:
    return [item for item in checked.diagnostics if item.severity is Severity.ERROR]


def _signature(checked: Checked) -> Hashable:
    """Return what two programs share that differ in numbers only."""
    arms = checked.followed.arms if checked.followed is not None else frozenset()
    codes = tuple(sorted(item.code for item in _errors(checked)))
    return arms, codes, operators(checked.graph)


def _key(checked: Checked) -> str:
    return canonical_key(checked.graph) if checked.runnable else ""
