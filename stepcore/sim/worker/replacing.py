"""Where a user's code replaces a function of PyTorch: nothing is raised there, so no frame tells the line."""

from __future__ import annotations

import dis
from collections.abc import Collection, Iterable, Iterator
from types import CodeType, FunctionType
from typing import Any, Final

_SETS: Final = frozenset({"STORE_ATTR", "DELETE_ATTR"})
_BY_NAME: Final = frozenset({"setattr", "delattr"})


def line_replacing(names: Iterable[str], codes: Iterable[CodeType], path: str) -> int | None:
    """Return the first line of ``path`` that sets or deletes an attribute of one of ``names`` (``torch.add``).

    ``codes`` are those of the user's modules and functions, with what is defined inside them. None where no line does
    so by the name: a loop over names may, or a module beside it.
    """
    wanted = {name.rpartition(".")[2] for name in names}
    lines = [line for code in codes for line in _lines(code, wanted, path)]
    return min(lines, default=None)


def codes_beside(function: Any) -> list[CodeType]:
    """Return the code of a function and of all functions of its module; none for what is no plain function."""
    if type(function) is not FunctionType:
        return []
    beside = [value.__code__ for value in function.__globals__.values() if type(value) is FunctionType]
    return [function.__code__, *beside]


def _lines(code: CodeType, wanted: Collection[str], path: str) -> Iterator[int]:
    if code.co_filename == path:
        by_name = not _BY_NAME.isdisjoint(code.co_names)
        for each in dis.get_instructions(code):
            line = each.positions.lineno if each.positions is not None else None
            is_name = type(each.argval) is str and each.argval in wanted
            if line is not None and is_name and (each.opname in _SETS or (by_name and each.opname == "LOAD_CONST")):
                yield line
    for inner in code.co_consts:
        if type(inner) is CodeType:
            yield from _lines(inner, wanted, path)
