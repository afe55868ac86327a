"""What is wrong with the inputs of ``.apply(...)``: told by example of what was written."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from stepcore.findings.diagnostics import Fix
from stepcore.fn.decl import FnDecl
from stepcore.frontend.state import MAX_WRITTEN
from stepcore.frontend.values import (
    OperatorRef,
    OperatorValue,
    StreamRef,
    Value,
    describe,
    is_stream,
)
from stepcore.ops.base import InputKind
from stepcore.text.wording import few

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

# The second stream of what takes two.
_SECOND: Final = {"Partition": "SELECTOR", "RepeatRef": "REF"}


def complaint(el: Elaboration, ref: OperatorRef, argument: ast.expr, value: Value) -> tuple[str, str]:
    """Return why the inputs of an operator do not have its structure, and how they are written."""
    assert ref.cls is not None
    text, way_out = _shown(el, argument), _way_out(el, ref, argument, value)
    what = "one stream" if is_stream(value) else describe(value)
    if not is_stream(value) and not all(map(is_stream, value)):
        what = f"a {'list' if isinstance(value, list) else 'tuple'} that holds another one"
        if ref.cls.inputs is InputKind.BRANCHES_AND_SELECTOR:
            what = describe(value)
    elif not is_stream(value) and (maker := _common_maker(el, value)):
        streams = "both streams" if len(value) == 2 else f"all {few(len(value), 'stream')}"
        return f"{text} holds {streams} of {maker}, and {ref.name} takes {ref.cls.inputs.value}", way_out
    return f"{text} is {what}, and {ref.name} takes {ref.cls.inputs.value}", way_out


def _shown(el: Elaboration, argument: ast.expr) -> str:
    text = el.text(argument)
    is_bare = isinstance(argument, ast.Tuple) and not text.startswith("(")  # several arguments, taken as a tuple
    return f"({text})" if is_bare else text


def _common_maker(el: Elaboration, value: Value) -> str:
    """Return ``Copy`` or ``Partition`` where its result as a whole was passed on."""
    producers = {el.graph.streams[item.index].producer if isinstance(item, StreamRef) else None for item in value}
    if len(value) < 2 or len(producers) != 1 or None in producers:
        return ""
    return el.maker_of(value[0])


def _way_out(el: Elaboration, ref: OperatorRef, argument: ast.expr, value: Value) -> str:
    text = el.text(argument)
    parts = _parts(el, argument)
    count = 1 if is_stream(value) else len(value)
    flat = is_stream(value) or all(map(is_stream, value))
    assert ref.cls is not None
    match ref.cls.inputs:
        case InputKind.ONE | InputKind.ONE_OR_TUPLE if flat and count == 1:
            return (
                f"write .apply({parts[0]})" if parts else f"write {text}[0], or remove the comma where {text} is made"
            )
        case InputKind.ONE if flat and not is_stream(value) and _common_maker(el, value):
            return f"give each a name, and pass one: {text}[0]"
        case InputKind.ONE:
            return (
                f"zip them first: .apply({el.operator('Zip')}().apply({_shown(el, argument)}))"
                if count == 2
                else ("Zip several streams into one first")
            )
        case InputKind.ONE_OR_TUPLE:
            return "write all streams into one tuple" if count else "pass a stream"
        case InputKind.PAIR:
            return _way_to_two(el, ref, text, parts, count, flat)
    return _way_to_branches(text, parts, value, count, flat)


def _way_to_two(el: Elaboration, ref: OperatorRef, text: str, parts: list[str], count: int, flat: bool) -> str:
    second = _SECOND.get(ref.name, "OTHER")
    if flat and count == 1:
        return f"write .apply(({parts[0] if parts else text}, {second}))"
    if ref.name == "Zip":
        if flat and parts:
            inner = f"{el.operator('Zip')}().apply(({parts[0]}, {parts[1]}))"
            return f"zip two, and the result with the next: .apply(({inner}, {', '.join(parts[2:])}))"
        return "zip two of them first, and the result with the other"
    return f"write .apply((DATA, {second}))"


def _way_to_branches(text: str, parts: list[str], value: Value, count: int, flat: bool) -> str:
    if isinstance(value, list) or count < 2:
        branches = text if isinstance(value, list) else f"[{text}]"
        return f"write .apply(({branches}, SELECTOR))"
    if flat and parts:
        return f"write .apply(([{', '.join(parts[:-1])}], {parts[-1]}))"
    return "write .apply(([A, B], SELECTOR))"


def _parts(el: Elaboration, argument: ast.expr, length: int = 40) -> list[str]:
    """Return the texts of the items of a tuple or list that is written out; none of any other expression."""
    if not isinstance(argument, ast.Tuple | ast.List) or any(isinstance(item, ast.Starred) for item in argument.elts):
        return []
    return [el.text(item, length) for item in argument.elts]


def fix(el: Elaboration, ref: OperatorRef, argument: ast.expr) -> Fix | None:
    """Return the fix where what is meant is certain: a tuple of one, or branches outside of a list of their own."""
    assert ref.cls is not None
    parts = _parts(el, argument, MAX_WRITTEN)
    if not isinstance(argument, ast.Tuple | ast.List) or not parts:
        return None
    if len(parts) == 1 and ref.cls.inputs in (InputKind.ONE, InputKind.ONE_OR_TUPLE):
        return el.replacing(argument, parts[0], "Pass the stream itself")
    is_flat = not any(isinstance(item, ast.Tuple | ast.List) for item in argument.elts)
    is_written = isinstance(argument, ast.Tuple) and el.text(argument).startswith("(")
    if is_written and is_flat and len(parts) > 2 and ref.cls.inputs is InputKind.BRANCHES_AND_SELECTOR:
        return el.replacing(argument, f"([{', '.join(parts[:-1])}], {parts[-1]})", "Put the branches in a list")
    return None


def instead_of_stream(el: Elaboration, node: ast.expr, value: Value) -> tuple[str, Fix | None]:
    """Return the way out where something else stands for a stream, and the fix where that is certain."""
    text = el.text(node)
    match value:
        case str() if value in el.frame.scope.visible() and is_stream(el.frame.scope.find(value)):
            return f"write {value} without quotes", el.replacing(node, value)
        case OperatorValue() | OperatorRef():
            return f"apply it: {text}.apply(...)", None
        case FnDecl():
            operator = f"Accum(fn={text}, b=...)" if value.has_state else f"Map(fn={text})"
            return f"an operator applies it: {el.operator(operator)}.apply(...)", None
        case None if not isinstance(node, ast.Constant):
            return "what it comes from returns nothing", None
        case dict():
            return "write the streams in a tuple, in order", None
    return "pass a stream", None
