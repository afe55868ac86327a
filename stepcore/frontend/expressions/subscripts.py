"""Items and slices, read and stored."""

from __future__ import annotations

import ast
from itertools import islice
from typing import TYPE_CHECKING, Final

from stepcore.frontend import calls
from stepcore.frontend.expressions.attributes import member_of
from stepcore.frontend.expressions.literals import KEYS, MAX_KEYS, MAX_SHOWN
from stepcore.frontend.numbers import number_of
from stepcore.frontend.values import (
    UNKNOWN,
    ContextSizes,
    StreamRef,
    TypeMaker,
    UnknownSequence,
    Value,
    describe,
    is_stream,
)
from stepcore.sizes.dim import Dim
from stepcore.text.wording import clipped

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

_INDEX: Final = "an index"


def evaluate_subscript(el: Elaboration, node: ast.Subscript) -> Value:
    """Return an item or slice of a list, tuple, range, dictionary or type; others are reported."""
    if type(node.slice) is not ast.Constant:
        el.hidden += 1
    if type(node.value) is ast.Attribute and node.value.attr == "ctx" and not el.prints:
        return _size_in_run(el, node, node.value)
    owner = el.evaluate(node.value)
    return _item(el, node, owner)


def _size_in_run(el: Elaboration, node: ast.Subscript, table: ast.Attribute) -> Value:
    """Return how large a size is in a run, as each input of a program says: ``E0.ctx[M]``.

    A stream that an operator made may not know it yet in Python, nor a size by its text or by what it is made of.
    """
    owner = el.evaluate(table.value)
    if not isinstance(owner, StreamRef) or owner.index not in el.graph.inputs:
        return _item(el, node, member_of(el, table, owner))
    key = el.evaluate(node.slice)
    number = el.bound(key) if isinstance(key, Dim) and key.is_symbol else None
    if number is None and key is not UNKNOWN:
        text = f"{el.text(table)} holds the sizes of a run by their symbols, and {el.what(node.slice, key)}"
        known = next((str(size) for size in el.bindings), "M")
        el.report("STEP224", node, text, f"write one that is bound, such as {el.text(table)}[{known}]")
    return UNKNOWN if number is None else number


def _item(el: Elaboration, node: ast.Subscript, owner: Value) -> Value:
    if isinstance(owner, UnknownSequence):
        return owner.item
    if isinstance(owner, TypeMaker):
        return calls.annotated(el, owner, node)
    if owner is UNKNOWN:
        if not isinstance(node.slice, ast.Slice):
            el.evaluate(node.slice)
        return UNKNOWN
    if isinstance(owner, dict):
        return _dict_item(el, node, owner)
    if not isinstance(owner, list | tuple | range):
        el.report("STEP224", node, *_not_indexed(el, node, owner))
        el.graph.complete = False
        return UNKNOWN
    if isinstance(node.slice, ast.Slice):
        return _slice(el, node.slice, owner)
    place = el.evaluate(node.slice)
    index = number_of(el, node.slice, place, _INDEX)
    if index is None:
        if place is not UNKNOWN and not isinstance(place, Dim):
            text = f"{el.what(node.value, owner)}, and {el.what(node.slice, place)}"
            el.report("STEP224", node, text, "an index is an integer")
        return UNKNOWN
    if not -len(owner) <= index < len(owner):
        shown = el.text(node.value)
        last = "it has no items" if not owner else f"its one item is {shown}[0]"
        if len(owner) > 1:
            last = f"its items are {shown}[0] to {shown}[{len(owner) - 1}]"
        el.report("STEP224", node, f"{el.what(node.value, owner)}, and there is none at {index}", last)
        el.graph.complete = False
        return UNKNOWN
    return owner[index]


def _not_indexed(el: Elaboration, node: ast.Subscript, owner: Value) -> tuple[str, str]:
    """Return why ``owner`` has no items, and what does instead."""
    text = f"{el.what(node.value, owner)} and cannot be indexed"
    if not is_stream(owner):
        return text, "only lists, tuples and dictionaries can"
    maker = el.maker_of(owner)
    text = f"{el.text(node.value)} is one stream{f', the result of {maker},' if maker else ''} and cannot be indexed"
    if maker == "Zip":
        return text, "the components of its tuples are input[0], input[1] in an element function"
    return text, "operators take whole streams, and element functions see the elements"


def _dict_item(el: Elaboration, node: ast.Subscript, owner: dict[Value, Value]) -> Value:
    key = el.evaluate(node.slice)
    if isinstance(key, KEYS) and key in owner:
        return owner[key]
    if isinstance(key, Dim) and el.bound(key) in owner:
        return owner[number_of(el, node.slice, key, "this key")]
    if isinstance(owner, ContextSizes) and isinstance(key, str):
        symbol = next((name for name in owner if str(name) == key), None)
        if symbol is not None:
            text = f"ctx holds sizes by their symbols, and {key!r} is a text"
            fix = el.replacing(node.slice, key)
            el.report("STEP224", node, text, f"write ctx[{key}], or {key}_value", fix=fix)
            return owner[symbol]
    if key is not UNKNOWN:
        known = ", ".join(clipped(repr(name), MAX_SHOWN) for name in islice(owner, MAX_KEYS))
        more = ", …" if len(owner) > MAX_KEYS else ""
        el.report("STEP224", node, f"{el.text(node.value)} has no item {describe(key)}", f"known: {known}{more}")
    return UNKNOWN


def _slice(el: Elaboration, node: ast.Slice, owner: list[Value] | tuple[Value, ...] | range) -> Value:
    parts: list[int | None] = []
    for part in (node.lower, node.upper, node.step):
        value = None if part is None else number_of(el, part, el.evaluate(part), "a slice")
        if part is not None and value is None:
            return UNKNOWN
        parts.append(value)
    if parts[2] == 0:
        el.report("STEP224", node, "a slice cannot step by 0", "leave the step out")
        return UNKNOWN
    found = owner[slice(*parts)]
    el.charge(len(found))
    return found


def store_item(el: Elaboration, target: ast.Subscript, value: Value) -> None:
    """Assign to ``xs[i]`` or ``d[key]``."""
    owner = el.evaluate(target.value)
    if isinstance(target.slice, ast.Slice):
        text = f"{el.text(target)} is a slice, and programs assign to names and items"
        el.report("STEP220", target, text, "make a new list: xs = [*xs[:1], ...]")
        return
    key = el.evaluate(target.slice)
    if isinstance(owner, ContextSizes):
        el.report("STEP220", target, "a program cannot bind sizes", "write ctx[M] = ... into global")
        return
    if isinstance(owner, dict) and isinstance(key, KEYS):
        owner[key] = value
        return
    index = number_of(el, target.slice, key, _INDEX) if isinstance(owner, list) else None
    if isinstance(owner, list) and index is not None and -len(owner) <= index < len(owner):
        owner[index] = value
    elif owner is not UNKNOWN and key is not UNKNOWN and not (isinstance(owner, list) and isinstance(key, Dim)):
        text = f"{el.what(target.value, owner)}, and {el.text(target)} cannot be assigned to"
        el.report("STEP224", target, text, "assign to a new name" if is_stream(owner) else "use a list and its index")
