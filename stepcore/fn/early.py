"""Names that a body reads before it binds them: Python takes such a name for the body's own, whatever it is outside."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final, TypeAlias

_Naming: TypeAlias = ast.Name | ast.FunctionDef | ast.alias  # what has or binds a name

# Fields that Python evaluates in another order than they are declared.
_ORDER: Final[dict[type[ast.AST], tuple[str, ...]]] = {
    ast.Assign: ("value", "targets"),
    ast.AnnAssign: ("value", "target"),
    ast.NamedExpr: ("value", "target"),
    ast.For: ("iter", "target", "body", "orelse"),
}


def read_early(body: Sequence[ast.stmt], names: Collection[str]) -> Iterator[ast.Name]:
    """Yield where the first read of one of ``names``, which a body binds, stands before all that binds it.

    Functions inside are not looked into: they read a name when they are called.
    """
    left = set(names)
    for node, stores in _in_order(body):
        name = _name(node)
        if name in left:
            left.discard(name)
            if not stores and isinstance(node, ast.Name):
                yield node


def _name(node: _Naming) -> str:
    match node:
        case ast.Name(id=name) | ast.FunctionDef(name=name) | ast.alias(asname=str(name)):
            return name
        case _:
            return node.name.partition(".")[0]  # an import of a module inside another binds the outer one


def _in_order(nodes: Iterable[ast.AST]) -> Iterator[tuple[_Naming, bool]]:
    """Yield names as Python comes to them, and whether it binds them there; names of comprehensions stay inside."""
    for node in nodes:
        match node:
            case ast.Name():
                yield node, not isinstance(node.ctx, ast.Load)
            case ast.AugAssign(target=ast.Name() as target):
                yield target, False
                yield from _in_order([node.value])
            case ast.FunctionDef() | ast.alias():
                yield node, True
            case ast.Lambda():
                continue
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                yield from _of_comprehension(node)
            case _:
                fields = _ORDER.get(type(node), node._fields)
                yield from _in_order(each for field in fields for each in _nodes(getattr(node, field, None)))


def _of_comprehension(
    node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp,
) -> Iterator[tuple[_Naming, bool]]:
    parts = (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,)
    yield from _in_order([node.generators[0].iter])  # it is evaluated outside
    own = {
        name.id for generator in node.generators for name in ast.walk(generator.target) if isinstance(name, ast.Name)
    }
    inner = [each for generator in node.generators for each in (generator.iter, *generator.ifs)][1:]
    for name, stores in _in_order([*inner, *parts]):
        if not (isinstance(name, ast.Name) and name.id in own):
            yield name, stores


def _nodes(value: object) -> list[ast.AST]:
    items = value if isinstance(value, list) else [value]
    return [item for item in items if isinstance(item, ast.AST)]
