"""Whether a file may keep something between calls of its functions, outside of what it returns. No torch here.

A tensor of a trace that a later call finds is not merely wrong there: PyTorch may crash on it. So the question is
answered from the text, and where the answer is not a clear no, the file is imported anew for each call.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Final

_PLAIN: Final = (ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp, ast.BinOp, ast.Compare, ast.Subscript, ast.Lambda)
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)


def may_keep(tree: ast.Module, path: str) -> bool:
    """Return whether the file ``path`` with the syntax ``tree`` has a place for what outlives a call.

    Such places are containers and objects at module or class level, defaults of arguments that are containers,
    ``global``, caching decorators, attributes of functions, and modules beside the file, which are not looked into.
    """
    functions = {node.name for node in ast.walk(tree) if isinstance(node, _FUNCTIONS)}
    bodies: list[ast.Module | ast.ClassDef] = [tree]
    bodies += [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    statements = [statement for body in bodies for statement in body.body]
    if any(isinstance(each, ast.Assign | ast.AnnAssign) and not _is_plain(each.value) for each in statements):
        return True
    folder = Path(path).absolute().parent
    return any(_is_place(node, functions, folder) for node in ast.walk(tree))


def _is_place(node: ast.AST, functions: set[str], folder: Path) -> bool:
    match node:
        case ast.Global():
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            defaults = [*node.args.defaults, *(each for each in node.args.kw_defaults if each is not None)]
            return any("cache" in ast.unparse(each) for each in node.decorator_list) or not all(
                map(_is_plain, defaults)
            )
        case ast.Attribute(value=ast.Name(id=name), ctx=ast.Store()):
            return name in functions
        case ast.Import():
            return any(_is_beside(alias.name, folder) for alias in node.names)
        case ast.ImportFrom():
            return node.level > 0 or _is_beside(node.module or "", folder)
    return False


def _is_beside(name: str, folder: Path) -> bool:
    first = name.partition(".")[0]
    return (folder / f"{first}.py").exists() or (folder / first).is_dir()


def _is_plain(value: ast.expr | None) -> bool:
    """Whether a value holds nothing that a call could change: numbers, texts, other names, tuples of such."""
    if isinstance(value, ast.Tuple):
        return all(map(_is_plain, value.elts))
    return value is None or isinstance(value, _PLAIN)
