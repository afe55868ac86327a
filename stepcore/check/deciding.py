"""Whether the number of a size decides something in a program, or only becomes a size of it.

``step.Repeat(n=2 * M_value)`` is one program at all sizes; an index, a length, a comparison or a rank that is computed
from such a number may make another one of it. What is not known to be harmless decides.
"""

from __future__ import annotations

import ast
from typing import Final

from stepcore.frontend.elaborate import Elaborator
from stepcore.ops.calling import ParamKind
from stepcore.ops.dialect import Dialect

_SIZES: Final = (ParamKind.SIZE, ParamKind.OFFSET, ParamKind.TILE, ParamKind.SIZES, ParamKind.OFFSETS)
_PLAIN: Final = (ast.BinOp, ast.Constant, ast.Name, ast.expr_context, ast.operator)


def numbers_decide(el: Elaborator) -> bool:
    """Return whether the number of a size may decide what the program is, apart from the tests of its arms."""
    carriers = {"ctx", *(f"{size}_value" for size in el.bindings)}
    count = 0
    while len(carriers) > count:  # names that are assigned from others, in whatever order they stand
        count = len(carriers)
        if _decides(el, carriers):
            return True
    return False


def _decides(el: Elaborator, carriers: set[str]) -> bool:
    """Return whether some name of ``carriers`` is used as more than a size; names that get one are added to them."""
    rest: list[ast.AST] = [*el.roots]
    while rest:
        node = rest.pop()
        match node:
            case ast.Name(id=name) if name in carriers:
                return True
            case ast.FunctionDef() if id(node) in el.element_functions:
                rest += node.decorator_list
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_amount(value):
                if _names(value) & carriers or any(map(_is_table, ast.walk(value))):
                    carriers.add(name)
            case ast.Attribute() if _is_table(node):
                return True
            case ast.Name() | ast.Constant():
                pass
            case ast.Attribute(value=value):
                rest.append(value)
            case ast.Call(func=func, args=args, keywords=keywords):
                rest += (func, *args)
                rest += [given.value for given in keywords if not _is_size(node, given, el.dialect)]
            case ast.If() | ast.IfExp() if _is_plain_test(node.test):
                rest += [part for part in ast.iter_child_nodes(node) if part is not node.test]
            case _:
                rest += ast.iter_child_nodes(node)
    return False


def _is_size(call: ast.Call, given: ast.keyword, dialect: Dialect) -> bool:
    """Whether an argument gives an operator one or several of its sizes."""
    value = given.value
    if not all(map(_is_amount, value.elts if isinstance(value, ast.List | ast.Tuple) else (value,))):
        return False
    name = getattr(call.func, "attr", None) or getattr(call.func, "id", None)
    operator = dialect.by_name.get(name or "")
    if operator is None or given.arg == operator.outputs.counted_by:  # how many streams there are makes a program
        return False
    return any(param.name == given.arg and param.kind in _SIZES for param in operator.calling.params)


def _is_plain_test(test: ast.expr) -> bool:
    """Whether a test compares plain numbers, so that the arms that it may take are all that it decides."""
    return isinstance(test, ast.Compare) and all(map(_is_amount, (test.left, *test.comparators)))


def _is_amount(node: ast.expr) -> bool:
    """Whether an expression is nothing but arithmetic of names, numbers, and sizes that ``ctx`` holds."""
    return all(isinstance(part, _PLAIN) or _is_table(part) or _is_of_table(part) for part in ast.walk(node))


def _is_of_table(node: ast.AST) -> bool:
    return isinstance(node, ast.Subscript) and _is_table(node.value)


def _is_table(node: ast.AST) -> bool:
    """Whether something holds numbers by their sizes: ``ctx`` of a task, or that of a stream."""
    return getattr(node, "attr", None) == "ctx" or getattr(node, "id", None) == "ctx"


def _names(node: ast.expr) -> set[str]:
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
