"""The programs of the page of rewrites, programs as rewrites get them, and what the oracle finds of these."""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import ndiff
from pathlib import Path
from typing import Final

from oracle import Stream, dense
from programs.running import PATH, assert_same_values, run_oracle
from stepcore.check import check_text
from stepcore.conversion.to_task import python_to_task
from stepcore.cycles.program_network import NotTimed
from stepcore.cycles.timed import time_program
from stepcore.rewrites import Rewrite, RewriteSubject, applied, subject_of
from stepcore.timing.hardware import PRESETS, Hardware

PAGE: Final = (Path(__file__).parents[1] / "docs" / "rewrites.md").read_text(encoding="utf-8")
_PAIR: Final = r"```python before\n(.*?)```.*?```python after\n(.*?)```"
PAIRS: Final = [  # of a rewrite's name and a program before and after; some rewrites have two
    (section.partition("\n")[0], *pair)
    for section in PAGE.split("\n## ")[1:]
    for pair in re.findall(_PAIR, section, re.DOTALL)
]
SECTIONS: Final = [pair for place, pair in enumerate(PAIRS) if pair[0] not in {name for name, *_ in PAIRS[:place]}]
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


def as_task(text: str) -> RewriteSubject:
    """The one program of a Python file as a task."""
    return subject(_task_text(text), PATH)


def _task_text(text: str) -> str:
    module = check_text(text, "page.py", with_fixes=False).module
    assert module is not None
    return python_to_task(module, module.programs[0])


def oracle_values(text: str) -> list[Stream]:
    """What the oracle finds of a Python file's program, as a task."""
    return _returned(_task_text(text))


def returned(changed: RewriteSubject) -> list[Stream]:
    """What the oracle finds of a Python file or a task."""
    return oracle_values(changed.text) if changed.result.task is None else _returned(changed.text)


def _returned(task: str) -> list[Stream]:
    run = run_oracle(task)
    return run.used[-run.returned :]


def same_in_a_task(rewrite: Rewrite, text: str, wanted: list[Stream], changed: int = 4) -> int:
    """Apply a rewrite to a Python file's program as a task; gives how many sites there were, each a small diff."""
    task = _task_text(text).replace("impl:", "# the answer\nimpl:")
    old = subject(task, PATH)
    sites = list(rewrite.sites(old))
    for site in sites:
        new = applied(old, site)
        assert new is not None, task
        assert_same_values([dense(stream) for stream in returned(new)], wanted)
        kept = [line for line in ndiff(task.splitlines(), new.text.splitlines()) if line.startswith("  ")]
        assert len(kept) >= len(task.splitlines()) - changed, new.text
        assert new.text.index("# the answer") > new.text.index(new.checked.spec.fns[-1].func_name)
    return len(sites)
