"""How a Python file begins: imports, sizes and types, which many texts share, as the parts of a document do."""

from __future__ import annotations

import ast
from functools import lru_cache
from typing import Final, NamedTuple

from stepcore.frontend.syntax import parse_suite
from stepcore.frontend.values import ModuleRef, OperatorRef, ProgramBuiltin, Seen, TypeMaker, Unknown, Value
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded
from stepcore.types import Buffer, Multihot, Scalar, STuple, Tile

MOST_BLOCKS: Final = 64
MOST_STEPS: Final = 5_000  # of the budget; a beginning that takes more is read where it stands
_DECLARING: Final = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign)
# What no program can change, and what knows nothing of the text that it stands in.
_LASTING: Final = frozenset(
    (
        ModuleRef,
        OperatorRef,
        ProgramBuiltin,
        TypeMaker,
        Unknown,
        Dim,
        Scalar,
        Buffer,
        Multihot,
        Tile,
        STuple,
        int,
        float,
    )
) | {str, bool, type(None)}


class Beginning(NamedTuple):
    """What reading the first ``blocks`` of a text came to, without a finding.

    ``words`` are all names in them; a name of another program among them may stand for it. ``steps`` and ``looks`` are
    what it took of the budget.
    """

    blocks: int
    names: dict[str, Value]
    words: frozenset[str]
    seen: list[Seen]
    statements: list[tuple[ast.stmt, Embedded]]
    imports: list[tuple[ast.Import | ast.ImportFrom, Embedded]]
    modules: dict[str, str]
    op_module: str
    loose: frozenset[str]
    steps: int
    looks: int


@lru_cache(maxsize=1024)
def declares(text: str) -> bool:
    """Return whether a block holds imports, assignments and texts alone, so that it may be part of a beginning."""
    suite = parse_suite(text)
    return not suite.faults and all(isinstance(item, _DECLARING) or _is_text(item) for item in suite.body)


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def lasts(value: Value) -> bool:
    """Return whether a value may be shared by texts: nothing changes it, and it holds no part of a text."""
    return all(map(lasts, value)) if type(value) is tuple else type(value) in _LASTING


def words_of(statements: list[tuple[ast.stmt, Embedded]]) -> frozenset[str]:
    """Return the names that statements read or bind."""
    found: set[str] = set()
    for statement, _ in statements:
        for node in ast.walk(statement):
            if isinstance(node, ast.Name):
                found.add(node.id)
            elif isinstance(node, ast.alias):
                found.add(node.asname or node.name.partition(".")[0])
    return frozenset(found)
