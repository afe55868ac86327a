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

    def tell(outcome: Outcome) -> None:
        if not outcome.holds and outcome.input.name not in known:
            print(outcome, flush=True)

    outcomes = run(chosen, tell)
    healed = [outcome.input.name for outcome in outcomes if outcome.holds and outcome.input.name in known]
    for name in healed:
        print(f"holds although it is pending: {name}")
    wrong = len(healed) + sum(not outcome.holds and outcome.input.name not in known for outcome in outcomes)
    print(f"{len(chosen)} inputs, {wrong} not as they should be, {sum(i.name in known for i in chosen)} pending")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
