"""What Python's compiler refuses although its parser takes it: ``break`` outside of a loop, an argument twice ...

Nothing is run, and the code that is made is thrown away. What is printed from such a text could not even be imported.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Final

from stepcore.fn.source import syntax_words
from stepcore.system.unwarned import unwarned

_NO_ARGUMENTS: Final = ast.arguments([], [], None, [], [], None, [])


def refused(body: Sequence[ast.stmt]) -> tuple[ast.AST, str] | None:
    """Return what the compiler says against the body of a function and where; None where it says nothing."""
    function = ast.FunctionDef("program", _NO_ARGUMENTS, [*body], [], lineno=1, col_offset=0)
    try:
        with unwarned():  # of ``is`` with a literal, say: no concern of ours
            compile(ast.Module([function], []), "program", "exec", dont_inherit=True)
    except SyntaxError as error:
        return _at(error.lineno, body), syntax_words(error)
    except (RecursionError, MemoryError):
        return body[0], "nested too deeply"
    return None


def _at(line: int | None, body: Sequence[ast.stmt]) -> ast.AST:
    """Return the outermost part of a body that begins in a line."""
    nodes = (node for statement in body for node in ast.walk(statement))
    return next((node for node in nodes if getattr(node, "lineno", None) == line), body[0])
