"""What shape inference knows of names: constants, members of modules, what a ``global`` block binds."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from stepcore.fn import allow
from stepcore.fn.decl import CodeBlock
from stepcore.fn.prelude import assigned_names
from stepcore.fn.shapes.rules import CASTS
from stepcore.fn.shapes.values import Callee, GlobalFunction, Number
from stepcore.fn.source import BodySyntaxError, dotted, statements
from stepcore.sizes.dim import Dim

MODULES: Final = "torch.nn"


def prelude_values(prelude: CodeBlock | None, names: Mapping[str, Any], modules: Mapping[str, str]) -> dict[str, Any]:
    """Return what is known of the names that a ``global`` block binds; None hides an outer meaning.

    What makes a module of ``torch.nn`` is left as it is written.
    """
    if prelude is None:
        return {}
    try:
        body = statements(prelude)
    except BodySyntaxError:
        return {}
    values: dict[str, Any] = dict.fromkeys(assigned_names(body))
    stored = Counter(
        node.id for node in ast.walk(ast.Module(list(body), [])) if isinstance(node, ast.Name) and _is_store(node)
    )
    defined = Counter(node.name for node in body if isinstance(node, ast.FunctionDef))
    sizes = {*_bound_sizes(body)}
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if stored[name] == 1:
                # A name bound twice may hold either value; a size is better known by its symbol than by its number.
                is_number = name.endswith("_value") and name.removesuffix("_value") in sizes
                values[name] = names.get(name) if is_number else _bound(value, modules)
                if isinstance(value, ast.Lambda):
                    values[name] = GlobalFunction(value, name)
            case ast.FunctionDef(name=name, decorator_list=[]) if not stored[name] and defined[name] == 1:
                values[name] = GlobalFunction(statement, name)
    return {name: value for name, value in values.items() if name not in modules}


def _bound_sizes(body: Iterable[ast.stmt]) -> Iterator[str]:
    """Yield the sizes that a block binds by ``ctx[E] = ...``: only of these is ``E_value`` the number there."""
    for statement in body:
        match statement:
            case ast.Assign(targets=[ast.Subscript(value=ast.Name(id="ctx"), slice=ast.Name(id=name))]):
                yield name


def _is_store(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


def _bound(value: ast.expr, modules: Mapping[str, str]) -> Any:
    match value:
        case ast.Constant(value=constant):
            return constant_value(constant)
        case ast.Attribute():
            path = dotted(value)
            return member(modules[path[0]], path[1:]) if path is not None and path[0] in modules else None
        case ast.Call(func=ast.Attribute() as function):
            path = dotted(function)
            callee = member(modules[path[0]], path[1:]) if path is not None and path[0] in modules else None
            return value if isinstance(callee, Callee) and callee.space == MODULES else None
    return None


def constant_value(value: object) -> Any:
    """Return a literal as shape inference sees it."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return Dim.of(value)
    if isinstance(value, float):
        return Number()
    return value if isinstance(value, str) else None


def member(module: str, path: tuple[str, ...]) -> Any:
    """Return what ``module.path`` stands for."""
    name = path[-1]
    if module == "math":
        return Number() if name in allow.MATH_CONSTANTS else None
    if path[:2] == ("ops", "aten") and len(path) == 4:
        return Callee(path[2])
    if len(path) == 1 and name in CASTS and module == "torch":
        return CASTS[name]
    if len(path) == 1 and name in allow.TORCH_CONSTANTS:
        return Number()
    return Callee(name, space=".".join((module, *path[:-1])))
