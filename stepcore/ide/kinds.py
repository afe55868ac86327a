"""What a document is for us, by its name and, where that does not tell, by what it holds."""

from __future__ import annotations

import re
from typing import Final, Literal

from stepcore.frontend.python import may_be_ours
from stepcore.graph.task import IMPL_SUFFIX, TASK_SUFFIXES

Kind = Literal["python", "task", "impl", "none"]
_PYTHON_SUFFIXES: Final = (".py", ".pyi", ".ipynb")
_NAMED_TASKS: Final = (".step.yaml", ".step.yml")  # tasks by their name, whatever they hold
_KEYS: Final = "(impl|inputs|outputs|fns|parameters|test_name)"
_AT_THE_MARGIN: Final = re.compile(rf"^[\"']?{_KEYS}[\"']?\s*:", re.MULTILINE)
_IN_BRACES: Final = re.compile(rf"[{{,]\s*[\"']?{_KEYS}[\"']?\s*:")
_BRACE: Final = re.compile(r"\ufeff?(?:\s++|#[^\n]*+|---(?=\s))*+\{")


def kind_of(path: str, text: str) -> Kind:
    """Return what a document is for us; ``none`` means that it is not ours."""
    if path.endswith(_PYTHON_SUFFIXES):
        return "python" if may_be_ours(text) else "none"
    if path.endswith(IMPL_SUFFIX):
        return "impl"
    if path.endswith(_NAMED_TASKS):
        return "task"
    if path.endswith(TASK_SUFFIXES):
        return "task" if looks_like_task(text) else "none"
    return "none"


def looks_like_task(text: str) -> bool:
    """Return whether a YAML text has at least two of a task's keys at its left margin; other YAML is left alone.

    In JSON, and in other text in braces, they may stand anywhere.
    """
    keys = _IN_BRACES if _BRACE.match(text) else _AT_THE_MARGIN
    return len({match.group(1) for match in keys.finditer(text)}) >= 2
