"""Write the operators of the registry into ``docs/language.md``; ``--check`` only says whether that would change it."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from stepcore.ide.docs import operator_text
from stepcore.ops import GENERATION_1

PAGE: Final = Path(__file__).resolve().parent.parent / "docs" / "language.md"
BEGIN: Final = "<!-- operators: written by scripts/language.py from the registry -->\n"
END: Final = "<!-- operators: end -->\n"


def operators() -> str:
    """Return a section for each operator, in the order of the registry."""
    return (
        "".join(f"\n### {operator.__name__}\n\n{operator_text(operator)}\n" for operator in GENERATION_1.operators)
        + "\n"
    )


def written(page: str) -> str:
    """Return the text of the page with the operators of today; ValueError where the marks are missing."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"{PAGE.name} lacks the lines between which the operators stand")
    return before + begin + operators() + end + after


def main() -> int:
    """Write, or compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 where the page is out of date")
    checks = parser.parse_args().check
    page = PAGE.read_text(encoding="utf-8")
    new = written(page)
    if new == page:
        return 0
    if checks:
        print(f"{PAGE.name} is out of date: run python scripts/language.py", file=sys.stderr)
        return 1
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
