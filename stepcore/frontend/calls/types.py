"""Types and sizes that programs make."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from stepcore.frontend.calls.arguments import arguments_of
from stepcore.frontend.calls.members import DECORATORS, MAX_NAME, TYPE_MAKERS
from stepcore.frontend.values import UNKNOWN, ModuleRef, TypeMaker, Value, describe, is_stream, is_unknown
from stepcore.sizes.dim import MARKS, SIZE_RULE, Dim, is_name, is_size
from stepcore.text.wording import whole
from stepcore.types import MAX_COMPONENTS, TILE_RULE, Buffer, Element, Multihot, Scalar, STuple, Tile

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

# What types may be made of, and values whose own text says in a message what they are.
_PLAIN: Final = (Dim, int, float, str, Scalar, Buffer, Multihot, Tile, STuple, range, type(None))


def _parts_are_usable(el: Elaboration, maker: TypeMaker, node: ast.Call, parts: list[Value]) -> bool:
    """Return whether no part of a type's arguments is a stream, and each number a size; report it otherwise."""
    el.charge(len(parts))
    others = [part for part in parts if type(part) is not Dim and type(part) is not Scalar]
    if any(map(is_unknown, others)):
        return False
    if len(parts) > MAX_COMPONENTS:
        el.report("STEP222", node, f"this type has {len(parts)} parts", f"at most {MAX_COMPONENTS} are possible")
        return False
    wrong = next((size for size in others if isinstance(size, int) and not is_size(size)), None)
    if wrong is not None:
        el.report("STEP217", node, f"a size of this type is {whole(wrong)}", SIZE_RULE)
        return False
    if any(map(is_stream, others)):
        text = f"{el.text(node)} would be a type, and a stream is none"
        zipped = f"step.Zip().apply({el.text(node.args[0])})" if maker.name == "STuple" and node.args else ""
        el.report(
            "STEP222", node, text, f"write {zipped}" if zipped else "write types: step.f32, step.Buffer(step.f32, [K])"
        )
        return False
    strange = next((part for part in others if not isinstance(part, _PLAIN)), None)
    if strange is not None:
        what, way_out = describe(strange), "write a size: a symbol of stepcore.dims, or an integer"
        if isinstance(strange, ModuleRef) and "." in strange.name and is_name(word := strange.name.rpartition(".")[2]):
            way_out = f"other modules are not read: from stepcore.dims import {word}, or {word} = step.Symbol({word!r})"
        el.report("STEP222", node, f"{el.text(node)} takes sizes and types, and not {what}", way_out)
        return False
    return True


def make_type(el: Elaboration, maker: TypeMaker, node: ast.Call) -> Value:
    """Return the element type or symbol that ``step.Buffer(...)`` and the like make."""
    args = arguments_of(el, node, keep_lambdas=True)
    if args is None:
        el.suppress_unused = True
        return UNKNOWN
    parts = [part for arg in args for part in (arg if isinstance(arg, (list, tuple)) else (arg,))]
    if not _parts_are_usable(el, maker, node, parts):
        return UNKNOWN
    try:
        made = _made(el, maker, args)
    except (ValueError, TypeError, AttributeError) as error:
        el.report(
            "STEP222", node, f"{el.text(node)} is not a type: {error}", "`stepsmith explain element-types` lists them"
        )
        return UNKNOWN
    if made is not None:
        return made if isinstance(made, Dim) else _of_known_kinds(el, node, parts, made)
    if maker.name == "Stream":
        return no_new_stream(el, node)
    if maker.name in DECORATORS:
        text = f"{el.text(node.func)} makes {DECORATORS[maker.name]} of a def, and stands above it"
        el.report("STEP222", node, text, f"write @{el.text(node)} in a line of its own, and a def below")
        return UNKNOWN
    how = {
        "Scalar": 'step.Scalar("float")',
        "Symbol": 'step.Symbol("M")',
        "dyn": 'step.dyn("L")',
        "ragged": 'step.ragged("L")',
        "any_size": 'step.any_size("R")',
        "Multihot": "step.Multihot(step.f32, E)",
        "Buffer": "step.Buffer(step.f32, [K, D])",
        "Tile": 'step.Tile("float", [16, 16])',
        "STuple": "step.STuple((a, b))",
    }.get(maker.name)
    text = f"{el.text(node)} is no type"
    el.report("STEP222", node, text, f"write it like {how}" if how else "remove it")
    return UNKNOWN


def no_new_stream(el: Elaboration, node: ast.Call) -> Value:
    """Report a stream that a program makes by a call."""
    way_out = "declare it in inputs of the task" if el.is_task else "make it an argument of the program"
    el.report("STEP222", node, "a program makes no streams but by operators", way_out)
    return UNKNOWN


def _made(el: Elaboration, maker: TypeMaker, args: list[Value]) -> Element | Dim | None:
    """Return the type or the size that a maker makes of its arguments; None where they are not its own."""
    match maker.name, args:
        case "Scalar", [str() as dtype]:
            return Scalar(dtype)
        case (("Symbol" | "dyn" | "ragged" | "any_size"), [str() as name]) if is_name(name):
            if len(name) > MAX_NAME:
                raise ValueError(f"the name of a size has at most {MAX_NAME} characters")
            return Dim.symbol(MARKS.get(maker.name, "") + name)
        case "Multihot", [Scalar() as scalar, (int() | Dim()) as length]:
            return Multihot(scalar, length)
        case "Buffer", [(Scalar() | Multihot() | Tile()) as element, (list() | tuple()) as sizes]:
            return Buffer(element, el.dialect.sizes(sizes))
        case "Tile", [(str() | Scalar()) as dtype, (list() | tuple()) as sizes]:
            return _tile_type(dtype, sizes)
        case "STuple", [(list() | tuple()) as items]:
            return _tuple_type(items)
    return None


def _of_known_kinds(el: Elaboration, node: ast.Call, parts: list[Value], made: Element) -> Value:
    """Return a type, if its sizes are of kinds that it may have; report it otherwise."""
    if not [part for part in parts if type(part) is Dim and part.is_open]:
        return made
    from stepcore.open_types.rules import fault_in  # most types have static sizes

    fault = fault_in(made)
    if fault is None:
        return made
    el.report("STEP226", node, fault.message)
    return UNKNOWN


def _tile_type(dtype: str | Scalar, sizes: list[Value] | tuple[Value, ...]) -> Tile:
    if len(sizes) != 2:
        raise ValueError(TILE_RULE)
    return Tile(dtype, sizes)


def _tuple_type(items: list[Value] | tuple[Value, ...]) -> STuple:
    if not items or not all(isinstance(item, Scalar | Multihot | Buffer | Tile) for item in items):
        raise ValueError("a tuple holds scalars, buffers, selectors and tiles")
    if len(items) > MAX_COMPONENTS:
        raise ValueError(f"a tuple has at most {MAX_COMPONENTS} components")
    return STuple(items)


def annotated(el: Elaboration, maker: TypeMaker, node: ast.Subscript) -> Value:
    """Return the parts of ``Annotated[...]`` or ``tuple[...]`` as a tuple headed by the maker."""
    if maker.name in TYPE_MAKERS:
        text = f"step.{maker.name} is called, and {el.text(node)} indexes it"
        el.report("STEP222", node, text, f"write step.{maker.name}(...) with parentheses")
        return UNKNOWN
    parts = el.evaluate(node.slice)
    return (maker, *parts) if isinstance(parts, tuple) else (maker, parts)
