"""Proposals where types, sizes and references are declared: at module level, in decorators and annotations."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from stepcore.fn.decl import FnDecl
from stepcore.frontend.functions import ELEMENTS
from stepcore.frontend.values import Helper, ModuleRef, TypeMaker, Value, ready_made
from stepcore.ide import drawing, members
from stepcore.ide.cursor import Cursor
from stepcore.ide.cut import last_name
from stepcore.ide.model import Kind
from stepcore.ide.proposals import DECORATORS, FITS, FREE, REST, TYPE_ARGUMENTS, CompletionProposal
from stepcore.sizes.dim import DEFAULT_SIZES, Dim
from stepcore.types import Multihot, Scalar, Tile

Named = Sequence[tuple[str, Value]]
_INITS: Final = ("[0]", "[1]", "[-1]", '["-inf"]')
# Which argument of which maker is a shape or size; all the others are types, or texts.
_NUMBERS: Final = (Scalar,)
_SIZES_AT: Final = {"Buffer": 1, "Multihot": 1, "Tile": 1}


def declared(cursor: Cursor, visible: Named, snippets: bool) -> Iterator[CompletionProposal]:
    """Yield what a name at module level may be, what fits its place first."""
    names = list(_names(visible))
    wanted = wanted_at(cursor)
    if wanted == "decorator":
        yield from members.decorators(snippets, f"{module_name(visible)}.")
    elif wanted == "annotation":
        yield from _annotations(visible, snippets)
    elif wanted == "marker":
        prefix = module_name(visible)
        yield from (CompletionProposal(f"{prefix}.{name}", Kind.TYPE, FITS) for name in ("Stream", "Param"))
    elif wanted == "type":
        yield from element_types(cursor, visible, snippets)
    elif wanted == "size":
        yield from (item._replace(rank=FITS) for item, value in names if isinstance(value, int | Dim))
    elif wanted == "binding":
        yield from _bindings(cursor, visible, snippets)
    elif wanted == "drawn":
        yield from drawing.proposals(cursor, snippets)
        return
    elif wanted == "reference":
        yield from (item._replace(rank=FITS) for item, value in names if isinstance(value, Helper))
    elif wanted == "init":
        yield from (CompletionProposal(text, Kind.VALUE, FITS) for text in _INITS)
    yield from (item for item, _ in names)


def element_types(cursor: Cursor, visible: Named, snippets: bool) -> Iterator[CompletionProposal]:
    """Yield the types that have a name, and how others are written."""
    fitting = _fitting(cursor)
    yield from (item._replace(rank=FITS) for item, value in _names(visible) if isinstance(value, fitting))
    module = module_name(visible)
    yield from members.types(snippets, FREE, f"{module}.", module, of_numbers=fitting == _NUMBERS)


def members_at(cursor: Cursor, visible: Named, snippets: bool) -> Iterator[CompletionProposal]:
    """Yield what may stand behind ``step.`` outside of programs: types come before operators."""
    wanted = wanted_at(cursor)
    if wanted == "decorator":
        yield from members.decorators(snippets)
        return
    if wanted in ("annotation", "marker"):
        yield from (CompletionProposal(name, Kind.TYPE, FITS) for name in ("Stream", "Param"))
    module = module_name(visible)
    if wanted == "type" and _fitting(cursor) == _NUMBERS:
        yield from members.types(snippets, FITS, module=module, of_numbers=True)
        return
    yield from members.types(snippets, FITS, module=module)
    yield from members.markers()
    yield from members.operators(cursor.analysis.dialect, snippets, members.Known(), REST)


def wanted_at(cursor: Cursor) -> str:
    """Return what stands at the cursor: its nearest place that says so."""
    inner = cursor.nodes[0]
    keyword: ast.keyword | None = None
    for node in cursor.nodes[1:]:
        match node:
            case ast.keyword():
                keyword = node
            case ast.Call() if inner is not node.func:
                return _of_call(cursor, node, inner, keyword)
            case ast.Subscript() if inner is node.slice and last_name(node.value) == "Annotated":
                return _of_annotation(cursor, node)
            case ast.FunctionDef() if inner in node.decorator_list:
                return "decorator"
            case ast.arg():
                return "annotation"
            case ast.FunctionDef() if inner is node.returns:
                return "annotation"
        inner = node
    return ""


def _of_call(cursor: Cursor, call: ast.Call, inner: ast.AST, keyword: ast.keyword | None) -> str:
    if ready_made(cursor.value(call.func)):
        return "type"
    maker = maker_of(cursor, call)
    if maker == "fn" and keyword is not None:
        return {"input": "type", "output": "type", "init": "init"}.get(keyword.arg or "", "")
    if maker in ("program", "composition") and keyword is not None:
        return {"reference": "reference", "dims": "binding", "sizes": "drawn"}.get(keyword.arg or "", "")
    if maker in TYPE_ARGUMENTS:
        at = next((place for place, item in enumerate(call.args) if item is inner), 0)
        return "size" if at == _SIZES_AT.get(maker) else "" if maker in ("Scalar", "Symbol") else "type"
    return ""


def maker_of(cursor: Cursor, call: ast.Call) -> str:
    """Return the name of what a call makes: ``fn``, ``program``, ``Buffer`` ...; empty where it is nothing of ours."""
    value = cursor.value(call.func)
    if isinstance(value, TypeMaker):
        return value.name
    name = last_name(call)
    is_ours = name in DECORATORS or (name in TYPE_ARGUMENTS and isinstance(call.func, ast.Attribute))
    return name if is_ours else ""


def _fitting(cursor: Cursor) -> tuple[type, ...]:
    """Return which types fit here: buffers hold numbers, selectors or tiles, and these hold numbers."""
    call = cursor.enclosing(ast.Call)
    maker = maker_of(cursor, call) if isinstance(call, ast.Call) else ""
    return {"Buffer": (Scalar, Multihot, Tile), "Multihot": _NUMBERS, "Tile": _NUMBERS}.get(maker, ELEMENTS)


def _of_annotation(cursor: Cursor, node: ast.Subscript) -> str:
    if not isinstance(node.slice, ast.Tuple):
        return "marker"
    at = next((place for place, item in enumerate(node.slice.elts) if item in cursor.nodes), 0)
    return ("marker", "type", "size")[min(at, 2)]


def module_name(visible: Named) -> str:
    """Return the name of stepcore in the file."""
    return next((name for name, value in visible if isinstance(value, ModuleRef) and value.name == "stepcore"), "step")


def _annotations(visible: Named, snippets: bool) -> Iterator[CompletionProposal]:
    step = module_name(visible)
    for marker, of in (("Stream", "a stream"), ("Param", "a weight")):
        label = f"Annotated[{step}.{marker}, ...]"
        text = f"Annotated[{step}.{marker}, ${{1:{step}.f32}}, ($2,)]" if snippets else f"Annotated[{step}.{marker}, "
        yield CompletionProposal(label, Kind.TYPE, FITS, f"type of {of}", "", text, snippets)


def _bindings(cursor: Cursor, visible: Named, snippets: bool) -> Iterator[CompletionProposal]:
    """Yield sizes with numbers for ``dims={...}``, those that are not bound there already."""
    mapping = cursor.enclosing(ast.Dict)
    keys = mapping.keys if isinstance(mapping, ast.Dict) else []
    bound = {node.id for node in keys if isinstance(node, ast.Name)}
    for name, value in visible:
        if isinstance(value, Dim) and name not in bound:
            number = DEFAULT_SIZES.get(name, 8)
            text = f"{name}: ${{1:{number}}}" if snippets else f"{name}: {number}"
            yield CompletionProposal(name, Kind.SIZE, FITS, f"{name}: {number}", "", text, snippets)


def _names(visible: Named) -> Iterator[tuple[CompletionProposal, Value]]:
    for label, value in visible:
        kind = _KINDS.get(type(value), Kind.VARIABLE)
        kind = Kind.TYPE if isinstance(value, ELEMENTS) else Kind.SIZE if isinstance(value, int | Dim) else kind
        detail = str(value) if kind in (Kind.TYPE, Kind.SIZE) else ""
        yield CompletionProposal(label, kind, FREE if kind is not Kind.VARIABLE else REST, detail), value


_KINDS: Final = {FnDecl: Kind.FUNCTION, Helper: Kind.HELPER, ModuleRef: Kind.MODULE}
