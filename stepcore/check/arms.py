"""What a check finds at other sizes than those that are bound: see :mod:`stepcore.check.sizes` for which are tried."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import Final, Protocol, TypeAlias

from stepcore.check.sizes import (
    MAX_TRIED,
    Followed,
    Variants,
    candidates,
    is_about_sizes,
    is_reached,
    operators,
    other_sizes,
    steps_of,
    untaken,
)
from stepcore.findings import budget
from stepcore.findings.budget import Budget
from stepcore.findings.codes import Part, Phase, about
from stepcore.findings.diagnostics import Diagnostic, Severity
from stepcore.frontend.elaborate import Elaborator

_LEFT: Final = 100_000  # steps of the budget, which are left for what comes after this program


class CheckedBody(Protocol):
    """What was found in one program, and on which sizes that depends."""

    diagnostics: list[Diagnostic]
    affine_count: int
    followed: Followed | None


# Whether what the file computes from sizes are sizes there, too.
Exists: TypeAlias = Callable[[Mapping[str, int]], bool]
# Elaborates the program with some of its sizes bound otherwise.
Follow: TypeAlias = Callable[[Mapping[str, int]], Elaborator]
# Checks it there, with fixes that are tried out.
Check: TypeAlias = Callable[[Mapping[str, int]], tuple[CheckedBody, Elaborator]]


class OtherSizes:
    """Adds to a checked program what is wrong with it at other sizes; its graph stays that of the bound ones."""

    def __init__(
        self,
        checked: CheckedBody,
        el: Elaborator,
        changeable: Mapping[str, int],
        computed: Set[str],
        exists: Exists,
        follow: Follow,
        check: Check,
    ) -> None:
        self._checked = checked
        self._changeable, self._computed = changeable, computed
        self._exists, self._follow, self._check = exists, follow, check
        self._met = [el]
        self._graphs = {steps_of(el.graph)}
        self._known = {(item.code, item.span) for item in checked.diagnostics}

    def look(self, *, numbers: bool) -> None:
        """Check arms that were not taken, and with ``numbers`` what comes out where a number decides otherwise."""
        with budget.sparing(_LEFT) as own:
            self._arms(own)
            if numbers:
                self._numbers(own)
        found = self._checked.diagnostics
        if len(self._met) > 1:  # what one of them does not consume another may
            found[:] = [item for item in found if not _is_unused(item)]

    def _arms(self, own: Budget | None) -> None:
        likely = other_sizes(self._met[0], self._changeable, self._computed)
        for sizes in filter(self._exists, likely):
            if not untaken(self._met) or _is_over(own):
                return
            # Whether the new sizes lead anywhere shows an elaboration alone; the fixes are worked out where they do.
            tried = self._follow(sizes)
            likely.met(sizes, tried.gaps)
            if not tried.arms <= {arm for other in self._met for arm in other.arms}:
                self._add(sizes, own)

    def _numbers(self, own: Budget | None) -> None:
        first, followed = self._met[0], self._checked.followed
        assert followed is not None, "a number decides"
        variants = Variants(operators(first.graph), steps_of(first.graph))
        tries = candidates(followed, MAX_TRIED)
        for sizes in filter(self._exists, tries):
            if variants.are_enough or _is_over(own):
                return
            there = self._follow(sizes)
            tries.met(sizes, there.gaps)
            graph = there.graph
            if variants.takes(operators(graph), steps_of(graph)) and self._add(sizes, own):
                return

    def _add(self, sizes: Mapping[str, int], own: Budget | None) -> bool:
        """Add what is found at these sizes and was not found before; return whether there is something."""
        other, tried = self._check(sizes)
        if own is not None and own.is_spent:
            return False  # it was not followed to its end
        at = ", ".join(f"{name}={size}" for name, size in sizes.items() if size != self._changeable[name])
        steps = steps_of(tried.graph)
        is_other = steps not in self._graphs and not any(map(is_about_sizes, other.diagnostics))
        news: list[Diagnostic] = []
        for item in other.diagnostics:
            if (item.code, item.span) in self._known:
                continue
            first, line_break, rest = item.message.partition("\n")
            message = f"{first} (at {at}){line_break}{rest}"
            if self._is_of_arm(item):
                news.append(replace(item, message=message))
            elif is_other and item.severity is Severity.ERROR:  # of text that is another program here
                news.append(replace(item, message=message, fix=None))  # which would not hold where it was right
        self._known |= {(item.code, item.span) for item in news}
        found = self._checked.diagnostics
        found[:] = [item for item in found if not any(_says_more(new, item) for new in news)]
        found += news
        self._checked.affine_count += sum(about(item.code).part is Part.AFFINE for item in news)
        self._met.append(tried)
        self._graphs.add(steps)
        return bool(news)

    def _is_of_arm(self, item: Diagnostic) -> bool:
        """Return whether a finding is about an arm that was not taken before, or about consumption wherever it is."""
        if about(item.code).part is Part.AFFINE:
            return True
        if _is_unused(item) or is_about_sizes(item):
            return False
        return not any(is_reached(el, item.span) for el in self._met)


def _says_more(new: Diagnostic, item: Diagnostic) -> bool:
    """Return whether ``new`` tells what is told around it as well, of text that nothing had followed before."""
    return new.code == item.code and new.span != item.span and item.span.cover(new.span) == item.span


def _is_over(own: Budget | None) -> bool:
    return own is not None and (own.is_spent or own.left <= 0)


def _is_unused(item: Diagnostic) -> bool:
    """Return whether a finding says that a stream is consumed too seldom, as against too often."""
    info = about(item.code)
    return info.phase is Phase.AFFINE and info.part is None
