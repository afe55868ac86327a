"""Names that stand for a module: ``import torch.nn.functional as F``, ``F = torch.nn.functional``, ``import math``.

Such a statement is interpreted, never executed: it says that a name means one module out of :data:`ALIASED`. It stands
at the outermost level of a block, and a name that stands for a module stands for nothing else there.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from stepcore.fn import allow
from stepcore.fn.decl import CodeBlock, FnScope
from stepcore.fn.source import BodySyntaxError, dotted, statements

# The modules that a name may stand for; each is a key of stepcore.fn.allow.NAMESPACES.
ALIASED: Final = frozenset({"torch", "torch.nn", "torch.nn.functional", "torch.linalg", "torch.special", "math"})
_STANDING: Final = frozenset({"input_data", "ctx", "Symbol", "step"})


def bound_modules(statement: ast.stmt, modules: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Return the names that a statement makes stand for modules, each with its module; none for any other statement.

    ``modules`` are the names that stand for modules already. A statement that binds anything else, too, is none.
    """
    match statement:
        case ast.Import(names=aliases):
            # Without a name of its own, the import of a module inside torch binds torch.
            found = [(each.asname or each.name.partition(".")[0], each.name, bool(each.asname)) for each in aliases]
            if all(full in ALIASED for _, full, _ in found):
                return tuple((name, full if named else name) for name, full, named in found)
        case ast.ImportFrom(module=str(home), names=aliases, level=0):
            pairs = tuple((each.asname or each.name, f"{home}.{each.name}") for each in aliases)
            if all(full in ALIASED for _, full in pairs):
                return pairs
        case ast.Assign(targets=[ast.Name(id=name)], value=(ast.Name() | ast.Attribute()) as value):
            full = module_of(value, modules)
            if full is not None and full in ALIASED:
                return ((name, full),)
    return ()


def module_of(node: ast.expr, modules: Mapping[str, str]) -> str | None:
    """Return the module of the function language that an expression names, None where it names none."""
    path = dotted(node)
    if path is None or path[0] not in modules:
        return None
    full = ".".join((modules[path[0]], *path[1:]))
    return full if full in allow.NAMESPACES else None


def why_not(name: str, module: str) -> str:
    """Return why a name cannot stand for a module, wherever it is used, or an empty text."""
    if name == module:
        return ""
    if name.startswith("__") or name in _STANDING | allow.BUILTINS | allow.FORBIDDEN_BUILTINS:
        return f"{name} has a meaning of its own and cannot stand for {module}; choose another name"
    if name in sys.stdlib_module_names or name == "torch":
        return f"{name} is the name of another module and cannot stand for {module}; choose another name"
    return ""


def aliases(body: Iterable[ast.stmt], modules: Mapping[str, str]) -> dict[str, str]:
    """Return the names that statements of one level make stand for modules, each with the first of its modules."""
    known, found = dict(modules), dict[str, str]()
    for statement in body:
        for name, module in bound_modules(statement, known):
            if not why_not(name, module):
                known[name] = found[name] = found.get(name, module)
    return found


def with_aliases(scope: FnScope, block: CodeBlock | None) -> FnScope:
    """Return a scope in which the names of modules of ``block`` are known, too."""
    if block is None:
        return scope
    try:
        found = aliases(statements(block), dict(scope.modules))
    except BodySyntaxError:
        return scope  # reported where the block is checked
    return replace(scope, modules=tuple((dict(scope.modules) | found).items())) if found else scope
