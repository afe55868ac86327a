"""The front of what was found: programs that nothing else beats in both cycles and bytes on chip."""

from __future__ import annotations

from stepagents.optimize.candidates import FasterText


class Archive:
    """Keeps what no other candidate beats; of equal ones the first."""

    def __init__(self) -> None:
        self._held: list[FasterText] = []

    def add(self, candidate: FasterText) -> bool:
        """Take a candidate, and give up those that it beats; return whether it is kept."""
        figures = candidate.figures
        for held in self._held:
            if candidate.cost == held.cost or held.figures.is_better_than(figures):
                return False
        self._held = [held for held in self._held if not figures.is_better_than(held.figures)]
        self._held.append(candidate)
        return True

    @property
    def front(self) -> tuple[FasterText, ...]:
        """What is kept, the fastest first."""
        return tuple(sorted(self._held, key=lambda held: held.cost))
