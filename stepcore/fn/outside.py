"""What bodies read from outside: parameters by their names."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Sequence
from typing import Final
from weakref import WeakKeyDictionary

from stepcore.fn.decl import CodeBlock
from stepcore.fn.prelude import assigned_names
from stepcore.fn.source import statements_of

# What a body reads from outside, by its first statement: it is asked again and again while programs are compared, and
# what is known of a body ends with its tree.
_OUTSIDE: Final[WeakKeyDictionary[ast.stmt, frozenset[str]]] = WeakKeyDictionary()


def names_read(body: CodeBlock, names: Collection[str]) -> list[str]:
    """Return those of ``names`` that a body reads from outside, as names or as texts (``input_data['W']``).

    A name that the body binds is its own from the beginning (:mod:`stepcore.fn.early`), whatever it is outside.
    """
    parsed = statements_of(body) if names else ()
    if not parsed:
        return []
    read = _OUTSIDE.get(parsed[0])
    if read is None:
        read = _OUTSIDE[parsed[0]] = frozenset(_free(parsed))
    return [name for name in names if name in read and name not in body.arguments]


def _free(body: Sequence[ast.stmt]) -> set[str]:
    """Return the names that statements read and do not bind, and all texts."""
    return {*_read(body)} - assigned_names([*body]) | _texts(body)


def _texts(nodes: Iterable[ast.AST]) -> set[str]:
    found = (each for node in nodes for each in ast.walk(node))
    return {node.value for node in found if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _read(nodes: Iterable[ast.AST]) -> set[str]:
    """Return the names that are read in ``nodes``, without those that functions and comprehensions inside bind."""
    found: set[str] = set()
    for node in nodes:
        match node:
            case ast.Name(id=name):
                found.add(name)
            case ast.FunctionDef(args=arguments, body=body):
                found |= _free(body) - _names_of(arguments)
            case ast.Lambda(args=arguments, body=value):
                found |= _read([value]) - _names_of(arguments)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                targets = [generator.target for generator in node.generators]
                own = {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}
                outer = node.generators[0].iter  # it is evaluated outside
                found |= _read([outer]) | (_read(ast.iter_child_nodes(node)) - own)
            case _:
                found |= _read(ast.iter_child_nodes(node))
    return found


def _names_of(arguments: ast.arguments) -> set[str]:
    return {argument.arg for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
