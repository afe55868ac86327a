"""What ``global`` computes from the numbers of sizes, written where a run of other sizes computes it anew.

At the top of a Python file ``half = M_value // 2`` is a number of the file, which no run changes; in a task it is
computed at the sizes of the run. So a reference and a program that read it compute it themselves.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Mapping
from itertools import chain

from stepcore.fn.allow import DRAWING
from stepcore.frontend.changes import Changes
from stepcore.gate.rewriting import bound_names, parse_code

_DRAWING = frozenset(chain.from_iterable(DRAWING.values()))


def computed_once(prelude: str) -> dict[str, str]:
    """Return, by name and in order, the statements of ``prelude`` that alone make a name, and draw nothing.

    What is drawn would be drawn anew, and be another number than the one that element functions see.
    """
    statements = [(node, ast.get_source_segment(prelude, node) or "") for node in parse_code(prelude)]
    changes = Changes(statements)
    made = [(changes.made(node), node, source) for node, source in statements]
    found: dict[str, str] = {}
    for names, node, source in made:
        (name,) = names if len(names) == 1 else ("",)
        is_alone = sum(name in others for others, _, _ in made) == 1
        if name and is_alone and isinstance(node, ast.Assign | ast.AnnAssign | ast.FunctionDef) and not _draws(node):
            found[name] = source
    return found


def _draws(node: ast.AST) -> bool:
    names = (getattr(each, "attr", None) or getattr(each, "id", None) for each in ast.walk(node))
    return any(name in _DRAWING for name in names)


def followed(
    read: Iterable[str], sizes: Mapping[str, Callable[[], str | None]], computed: Mapping[str, str]
) -> list[str]:
    """Return the statements that give the names ``read`` what they are at the sizes of a run, in order.

    ``sizes`` gives for ``M_value`` and its kin where the number is found (None: nowhere), ``computed`` the statement
    for each name that is computed. What depends on no size is left to the module.
    """
    lines: dict[str, str] = {}
    asked: set[str] = set()

    def follows(name: str) -> bool:
        """Whether a name is something else in a run of other sizes; a statement says so then."""
        if name in asked:
            return name in lines
        asked.add(name)
        place = sizes[name]() if name in sizes else None
        if place is not None:
            lines[name] = f"{name} = {place}"
        elif name in computed:
            inner = [follows(each) for each in sorted(bound_names(computed[name]).loaded - {name})]
            if any(inner):
                lines[name] = computed[name]
        return name in lines

    for name in sorted(read):
        follows(name)
    placed = [name for name in sizes if name in lines and lines[name] != computed.get(name)]
    return [lines[name] for name in (*placed, *(each for each in computed if each in lines and each not in placed))]
