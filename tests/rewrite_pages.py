"""The programs of the page of rewrites, and programs as rewrites get them."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Final

from stepcore.check import check_text
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import time_program
from stepcore.rewrites import RewriteSubject, subject_of
from stepcore.timing.hardware import PRESETS, Hardware

PAGE: Final = (Path(__file__).parents[1] / "docs" / "rewrites.md").read_text(encoding="utf-8")
SECTIONS: Final = re.findall(
    r"^## (\S+)\n.*?```python before\n(.*?)```.*?```python after\n(.*?)```", PAGE, re.DOTALL | re.M
)
CHIPS: Final = [PRESETS[name] for name in ("paper", "validation")]


def subject(text: str, path: str = "page.py", chip: Hardware = CHIPS[0]) -> RewriteSubject:
    """The one program of a file, timed where it can be."""
    (program,) = check_text(text, path, with_fixes=False).programs
    found = subject_of(text, path, program.name)
    assert found is not None, program.diagnostics
    try:
        return replace(found, timed=time_program(found.checked, chip, budget=200_000))
    except NotTimed:
        return found
