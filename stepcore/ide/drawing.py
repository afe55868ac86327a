"""Proposals for what a run draws: keys and values of ``sizes=`` in Python files."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from stepcore.ide.cursor import Cursor
from stepcore.ide.model import Kind
from stepcore.ide.names.document import names_of
from stepcore.ide.proposals import FITS, CompletionProposal
from stepcore.sizes.dim import DYNAMIC, OPEN, RAGGED

MOST: Final = 8  # of a size that is proposed
KINDS: Final = {
    DYNAMIC: "dynamic: one value in a run",
    RAGGED: "ragged: a value for each position of the dimensions outside",
}


def proposals(cursor: Cursor, snippets: bool) -> Iterator[CompletionProposal]:
    """Yield what may stand at the cursor in ``sizes={...}``: a size of the inputs that is not there yet, or a value."""
    node, outer = cursor.nodes[0], cursor.nodes[1]
    if isinstance(outer, ast.keyword):
        text = ", ".join(f'"{name}": (0, {MOST})' for name in _sizes(cursor))
        yield CompletionProposal(f"{{{text}}}", Kind.VALUE, FITS, "each size drawn between these")
    elif isinstance(outer, ast.Dict) and node in outer.values:
        key = outer.keys[next(place for place, value in enumerate(outer.values) if value is node)]
        name = key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else DYNAMIC
        for text, what in _values(name or DYNAMIC):
            yield CompletionProposal(text, Kind.VALUE, FITS, what)
    elif isinstance(outer, ast.Dict | ast.Set):
        keys = outer.keys if isinstance(outer, ast.Dict) else outer.elts
        given = [key.value for key in keys if isinstance(key, ast.Constant)]
        for name in _sizes(cursor):
            if name not in given:
                text = f'"{name}": (0, ${{1:{MOST}}})' if snippets else f'"{name}": (0, {MOST})'
                yield CompletionProposal(f'"{name}"', Kind.SIZE, FITS, KINDS[name[0]], "", text, snippets)


def _values(name: str) -> Sequence[tuple[str, str]]:
    several = f"[{MOST}]" if name[0] == DYNAMIC else f"[{MOST // 2}, 0, {MOST}]"
    return (f"(0, {MOST})", "drawn between these"), (several, "all values, the outermost position slowest")


def _sizes(cursor: Cursor) -> list[str]:
    """Return the sizes that only a run knows of the inputs of the program; of the file, while it has no inputs yet."""
    from stepcore.open_types.drawn import named_sizes  # few programs have some

    function, module = cursor.enclosing(ast.FunctionDef), cursor.unit.result.module
    name = function.name if isinstance(function, ast.FunctionDef) else ""
    programs = [] if module is None else [each for each in module.programs if each.node.name == name]
    found = [size for each in programs for size in named_sizes((port, kind) for port, kind, _ in each.inputs if kind)]
    if not found:
        items = (item for part in names_of(cursor.analysis).parts for item in part.table.names if item.is_marked_size)
        found = [item.name for item in items if item.name[0] in OPEN]
    return list(dict.fromkeys(found))
