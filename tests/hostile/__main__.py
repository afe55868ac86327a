"""``python -m hostile [PATTERN...]``: run the inputs whose names fit, and say what does not hold."""

from __future__ import annotations

import sys
from fnmatch import fnmatch

from .corpus import load, pending
from .runner import Outcome, run


def main() -> int:
    """Run and print; 1 when an input that is not pending does not hold, or a pending one does."""
    patterns = sys.argv[1:] or ["*"]
    chosen = [item for item in load() if any(fnmatch(item.name, pattern) for pattern in patterns)]
    known = pending()
    wrong = 0

    def tell(outcome: Outcome) -> None:
        nonlocal wrong
        held_back = outcome.input.name in known
        if outcome.holds == held_back:
            wrong += 1
            print(f"holds although it is pending: {outcome.input.name}" if outcome.holds else str(outcome), flush=True)

    run(chosen, tell)
    print(f"{len(chosen)} inputs, {wrong} not as they should be, {sum(i.name in known for i in chosen)} pending")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
