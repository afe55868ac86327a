"""Sizes that a script takes for what they are not: a list, a function, an object with methods of its own."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from stepcore.sizes.dim import Dim


def misused_size(
    node: ast.AST, symbol: Callable[[ast.Name], str | None], ours: Collection[str]
) -> tuple[str, str] | None:
    """Return what no run gets past in ``node`` and a way out, None where there is no such thing.

    ``symbol`` gives the symbol that a name stands for; ``ours`` are names of sizes of ``stepcore.dims``, whose
    attributes are known. Those of sympy's symbols are sympy's.
    """
    match node:
        case ast.Attribute(value=ast.Name() as name, attr=attr) if name.id in ours:
            wrong = not hasattr(Dim, attr) and symbol(name) is not None
            text = f"{name.id} is a size of stepcore.dims, and they have no .{attr}"
            return (text, f'sizes with the methods of sympy are made so: sympy.Symbol("{name.id}")') if wrong else None
        case ast.Subscript(value=ast.Name() as name):
            does = "cannot be indexed"
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name() as name]):
            does = "has no length"
        case ast.Call(func=ast.Name() as name):
            does = "cannot be called"
        case _:
            return None
    way_out = f"its number is a stream's ctx[{name.id}]"
    return (f"{name.id} is a size and {does}", way_out) if symbol(name) is not None else None
