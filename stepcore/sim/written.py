"""Where a condition stands that is being carried out, and which numbers the text around it holds."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, Final

import torch

from stepcore.fn.decl import CodeBlock
from stepcore.fn.source import statements_of
from stepcore.records import Record
from stepcore.text.span import Embedded, Span

LONGEST: Final = 60  # characters of a condition that a note shows
LARGEST: Final = 1e30  # of numbers that are drawn
_TORCH: Final = str(Path(torch.__file__).parent)
_OURS: Final = str(Path(__file__).parents[1])


class ConditionPlace(Record):
    """Where a condition stands: ``span`` in the text of the declarations, or line and column of a Python file."""

    text: str
    span: Span | None = None
    line: int = 0
    column: int = 0


@lru_cache(maxsize=256)
def written_numbers(text: str) -> tuple[float, ...]:
    """Return the numbers that the text of a body holds, each once, in their order; with either sign."""
    return _bounds(numbers_in(text))


def numbers_in(text: str) -> list[Any]:
    """Return the constants that the text of a body holds, whatever they are."""
    tree = statements_of(CodeBlock(Embedded.whole(text)))
    return [node.value for statement in tree for node in ast.walk(statement) if isinstance(node, ast.Constant)]


def python_numbers() -> tuple[float, ...]:
    """Return the numbers in the function of the user's Python that is running, and global ones that it names."""
    frame = _python_frame()
    if frame is None:
        return ()
    names = frame.f_globals
    return _bounds([*frame.f_code.co_consts, *(names.get(name) for name in frame.f_code.co_names)])


def python_place() -> ConditionPlace | None:
    """Return the expression of the user's Python that is running, None where it is none of the user's."""
    frame = _python_frame()
    if frame is None:
        return None
    positions = list(frame.f_code.co_positions())
    line, end, column, end_column = positions[frame.f_lasti // 2]
    text = _written(frame.f_code.co_filename, line, end, column, end_column)
    return ConditionPlace(text or f"in line {frame.f_lineno}", None, line or frame.f_lineno, (column or 0) + 1)


def _bounds(values: Iterable[Any]) -> tuple[float, ...]:
    found = [float(each) for each in values if type(each) in (int, float) and abs(each) <= LARGEST]
    return tuple(dict.fromkeys(number for each in found for number in (each, -each)))


def _python_frame() -> FrameType | None:
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "__torch_dispatch__":
        frame = frame.f_back
    frame = None if frame is None else frame.f_back
    while frame is not None and frame.f_code.co_filename.startswith(_TORCH):
        frame = frame.f_back
    return None if frame is None or frame.f_code.co_filename.startswith(_OURS) else frame


def _written(file: str, line: int | None, end: int | None, column: int | None, end_column: int | None) -> str:
    """Return what stands at a place of a file; empty where nobody can tell."""
    import linecache

    if line is None or end != line or column is None or end_column is None:
        return ""
    text = linecache.getline(file, line).encode()[column:end_column].decode(errors="replace")
    return " ".join(text.split())[:LONGEST]
