"""Writes the table, or compares it (``--check``)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from scripts.torch_schemas.text import derive

ROOT: Final = Path(__file__).resolve().parents[2]
TABLE: Final = ROOT / "stepcore" / "fn" / "torch_table.py"


def main() -> int:
    """Write the table, or compare it (``--check``)."""
    parser = argparse.ArgumentParser(description="derive what element functions may call from torch's schemas")
    parser.add_argument("--check", action="store_true", help="only say whether the table is up to date")
    wanted = parser.parse_args()
    text = derive()
    if wanted.check:
        same = TABLE.read_text(encoding="utf-8") == text
        print(
            "the table is what this torch gives"
            if same
            else f"{TABLE.name} differs: run python -m scripts.torch_schemas"
        )
        return 0 if same else 1
    TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
