"""When the statements of a file run: as it is read, or, those of functions, when something that runs names one."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from itertools import chain

from stepcore.records import Record

_ACTS = (ast.Call, ast.NamedExpr, ast.Await)


class RunningPart(Record):
    """A part of a file: the names that it binds, all names in it, and whether it is functions, which run later."""

    bound: Iterable[str]
    names: Iterable[str]
    runs_later: bool


def runs_later(statement: ast.stmt) -> bool:
    """Return whether a statement only defines a function: no decorator gets it, and its defaults call nothing."""
    if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef) or statement.decorator_list:
        return False
    args = statement.args
    defaults = (node for node in (*args.defaults, *args.kw_defaults) if node is not None)
    return not any(isinstance(node, _ACTS) for node in chain.from_iterable(map(ast.walk, defaults)))


def running(parts: Sequence[RunningPart]) -> list[int]:
    """Return the numbers of the parts that may run as a file is read, in order.

    A function that nothing which runs names, itself or through others, runs in no module: whatever is in it, the
    module's values stay what they are.
    """
    found = {number for number, part in enumerate(parts) if not part.runs_later}
    if len(found) == len(parts):
        return [*range(len(parts))]
    functions: dict[str, list[int]] = {}
    for number, part in enumerate(parts):
        if part.runs_later:
            for name in part.bound:
                functions.setdefault(name, []).append(number)
    pending = [*found]
    while pending:
        for name in parts[pending.pop()].names:
            more = functions.pop(name, ())
            pending += (number for number in more if number not in found)
            found.update(more)
    return sorted(found)
