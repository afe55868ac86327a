"""The pieces of a program as one Python file, certified."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from stepcore.gate.certificate import certify
from stepcore.gate.refusal import Refusal, refusal
from stepcore.gate.suite import printed, shape
from stepcore.graph.ir import ProgramSpec
from stepcore.printing.python import OwnReference, PythonParts, module_text, network_text


def module(spec: ProgramSpec, parts: PythonParts) -> str:
    """Return the file of one program. The pieces of ``parts`` are printed already (:func:`stepcore.gate.printed`).

    Raises:
        Refusal: the file would hold something that Stepsmith does not write, or other code than the pieces.
    """
    _require_printed(parts)
    text = module_text(spec, parts)
    tree = _parsed(text)
    _compare(tree, _decorated(tree), parts)
    certify(text, parts.own)
    return text


def network(programs: Sequence[tuple[ProgramSpec, PythonParts]], composition: str, own: OwnReference) -> str:
    """Return the file of several programs and their composition, each piece compared, the whole certified.

    Raises:
        Refusal: as :func:`module`.
    """
    for _, parts in programs:
        _require_printed(parts)
    text = network_text(programs, composition, own)
    tree = _parsed(text)
    defined = _decorated(tree)
    for _, parts in programs:
        _compare(tree, defined, parts)
    certify(text, own)
    return text


def _require_printed(parts: PythonParts) -> None:
    for piece in (parts.body, parts.prelude, parts.reference or "", *parts.values, *parts.fns.values()):
        if printed(piece) != piece:
            raise Refusal("a piece of this file was not printed by the gate")


def _parsed(text: str) -> ast.Module:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Refusal(f"the file would not parse: {error}", getattr(error, "lineno", None) or 1) from error


def _decorated(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    """Return the functions with decorators, nested ones too, by their names."""
    found = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return {node.name: node for node in found if node.decorator_list}


def _compare(tree: ast.Module, defined: Mapping[str, ast.FunctionDef], parts: PythonParts) -> None:
    """Refuse a file whose layout changed the meaning of a piece; ``defined`` are its functions with decorators."""
    for name, text in parts.fns.items():
        _same(defined[name], defined[name].body, text)
    program = defined[parts.name]
    nested = {node for node in program.body if isinstance(node, ast.FunctionDef) and node.name in parts.nested}
    _same(program, [node for node in program.body if node not in nested], parts.body)
    if parts.reference is not None:
        name = f"{parts.name}_reference"
        reference = next(n for n in tree.body if isinstance(n, ast.FunctionDef) and n.name == name)
        _same(reference, reference.body, parts.reference)


def _same(node: ast.FunctionDef, body: list[ast.stmt], text: str) -> None:
    if shape(body) != shape(ast.parse(text).body):
        raise refusal(node, f"the layout of this file would change {node.name}; write strings of several lines in one")
