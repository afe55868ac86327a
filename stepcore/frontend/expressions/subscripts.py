"""Items and slices, read and stored."""

from __future__ import annotations

import ast
from itertools import islice
from typing import TYPE_CHECKING

from stepcore.frontend import calls
from stepcore.frontend.expressions.literals import KEYS, MAX_KEYS, MAX_SHOWN
from stepcore.frontend.values import UNKNOWN, ContextSizes, TypeMaker, UnknownSequence, Value, describe, is_stream
from stepcore.sizes.dim import Dim
from stepcore.text.wording import clipped

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


def evaluate_subscript(el: Elaboration, node: ast.Subscript) -> Value:
    """Return an item or slice of a list, tuple, range, dictionary or type; others are reported."""
    if type(node.slice) is not ast.Constant:
        el.hidden += 1
    owner = el.evaluate(node.value)
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
    index = el.integer(place)
    if index is None:
        if place is not UNKNOWN and not (isinstance(place, Dim) and not el.is_task):
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
        value = None if part is None else el.integer(el.evaluate(part))
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
    index = el.integer(key)
    if isinstance(owner, list) and index is not None and -len(owner) <= index < len(owner):
        owner[index] = value
    elif owner is not UNKNOWN and key is not UNKNOWN:
        text = f"{el.what(target.value, owner)}, and {el.text(target)} cannot be assigned to"
        el.report("STEP224", target, text, "assign to a new name" if is_stream(owner) else "use a list and its index")
