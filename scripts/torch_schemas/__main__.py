"""Writes the tables, or compares them (``--check``)."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Final

from scripts.torch_schemas.forwards import forwards
from scripts.torch_schemas.signatures import signatures
from scripts.torch_schemas.text import derive

ROOT: Final = Path(__file__).resolve().parents[2]
TABLE: Final = ROOT / "stepcore" / "fn" / "torch_table.py"
SIGNATURES: Final = TABLE.with_name("torch_signatures.py")
FORWARDS: Final = TABLE.with_name("forwards.py")


def main() -> int:
    """Write the tables, or compare them (``--check``)."""
    parser = argparse.ArgumentParser(description="derive what element functions may call from torch's schemas")
    parser.add_argument("--check", action="store_true", help="only say whether the tables are up to date")
    wanted = parser.parse_args()
    differs = False
    for table, made in ((TABLE, derive), (SIGNATURES, signatures), (FORWARDS, forwards)):
        text = made()
        if not wanted.check:
            table.write_text(text, encoding="utf-8")
        elif not table.exists() or table.read_text(encoding="utf-8") != text:
            print(f"{table.name} differs: run python -m scripts.torch_schemas")
            differs = True
    if wanted.check and not differs:
        print("the tables are what this torch gives")
    return int(differs)


if __name__ == "__main__":
    sys.exit(main())
