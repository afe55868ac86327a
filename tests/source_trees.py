"""Trees of sources for tests that look for a few words: parsing all modules takes seconds, searching texts does not."""

from __future__ import annotations

import ast
import re
from typing import Final
from unicodedata import normalize

_EXECUTING: Final = frozenset({"exec", "eval", "compile", "__import__"})


def tree_with(text: str, words: str) -> ast.Module:
    """Parse a source in which an expression for names occurs; any other is taken as empty.

    Python takes letters of other widths and styles for those that they stand for, so they are searched as those.
    """
    return ast.parse(text if re.search(words, normalize("NFKC", text)) else "")


def executed(text: str) -> set[str]:
    """Return what of the functions that execute text is called by its name."""
    tree = tree_with(text, rf"(?<![\w.])({'|'.join(_EXECUTING)})\b")
    calls = (node.func for node in ast.walk(tree) if isinstance(node, ast.Call))
    return {called.id for called in calls if isinstance(called, ast.Name)} & _EXECUTING
