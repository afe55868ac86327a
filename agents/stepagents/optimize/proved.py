"""The front of a search once it was verified: what is shown of it, and why the rest is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from stepagents.optimize.candidates import FasterText, Goal
from stepagents.optimize.outcome import Ended
from stepagents.optimize.proof import Judges, TextVerdict
from stepagents.optimize.search import Search
from stepagents.optimize.smaller import least_change

POINTS: Final = 16  # of a front that are verified and shown


@dataclass
class ProvedFront:
    """``right`` are the programs that may be shown, the fewest cycles first; ``refused`` says why others are not.

    ``wrong`` are rewrites of programs that are not right. ``ended`` says why verification ended early, if it did; of
    ``unknown`` programs nobody knows then whether they are right.
    """

    right: list[FasterText] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)
    wrong: set[str] = field(default_factory=set)
    unknown: int = 0
    ended: Ended = ""

    def take(self, candidate: FasterText, verdict: TextVerdict) -> None:
        """Note what is known of a candidate."""
        if verdict.accepted:
            self.right.append(candidate)
        elif verdict.ended:
            self.unknown, self.ended = self.unknown + 1, verdict.ended
        else:
            self.wrong |= {step.rewrite for step in candidate.steps}
            steps = "; ".join(step.sentence for step in candidate.steps)
            self.refused.append(f"{candidate.figures.cycles:,} cycles, not verified ({steps}): {verdict.reason}")


def proved_front(
    search: Search, judges: Judges, tell: Callable[[str], None], tidied: Callable[[str], str]
) -> ProvedFront:
    """Verify the front of a search, the best first, until so many of its points are right.

    Where a point is wrong, what it had beaten may come back: the program as it is was right from the beginning. What
    ``tidied`` leaves of a text is what is verified and shown: nothing that runs goes, so it costs what was measured.
    """
    found = ProvedFront()
    waiting = list(search.archive.front)  # the fewest cycles first, and the fewest bytes last
    if search.target.goal is Goal.MEMORY:
        waiting.reverse()
    if waiting and (small := _with_least_change(search, judges, waiting[0], tidied)) is not None:
        found.right.append(small)
        waiting.pop(0)
    while waiting and len(found.right) < POINTS:
        missing = POINTS - len(found.right)
        several, waiting = waiting[:missing], waiting[missing:]
        several = [each if each is search.old else replace(each, text=tidied(each.text)) for each in several]
        tell(f"verifying {len(several)} programs")
        proofs = judges.prove([each.text for each in several if each is not search.old])
        for candidate in several:
            found.take(candidate, TextVerdict(True) if candidate is search.old else next(proofs))
        if found.ended:
            found.unknown += len(waiting)
            break
    old = search.old
    if old is not None and not any(each.figures.cycles <= old.figures.cycles for each in found.right):
        found.right.append(old)
    found.right.sort(key=lambda each: each.cost)
    return found


def _with_least_change(
    search: Search, judges: Judges, best: FasterText, tidied: Callable[[str], str]
) -> FasterText | None:
    """Return the best program with fewer changed lines, which costs the same and was verified; None where it has none.

    Lines that cost nothing may be what makes it right, so what is wrong without them stays as it was found.
    """
    if best is search.old:
        return None
    text = tidied(best.text)

    def is_as_good(other: str) -> bool:
        return not (judges.is_stopped() or judges.is_late()) and search.cost_of(other) == best.figures

    small = least_change(search.first.text, text, is_as_good)
    if small == text or not next(judges.prove([small])).accepted:
        return None
    return replace(best, text=small)
