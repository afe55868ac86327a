"""Tuples, lists and dictionaries."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stepcore.frontend.sequences import items_of
from stepcore.frontend.values import UNKNOWN, Value, is_unknown
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


MAX_KEYS = 8  # of a dictionary in a message
MAX_SHOWN = 40  # characters of each


KEYS = (str, int, float, Dim)  # what the keys of dictionaries are


def evaluate_tuple(el: Elaboration, node: ast.Tuple) -> Value:
    """Return a tuple, its stars taken apart."""
    items = items_of(el, node.elts)
    return tuple(items) if items is not None else UNKNOWN


def evaluate_list(el: Elaboration, node: ast.List) -> Value:
    """Return a list, its stars taken apart."""
    items = items_of(el, node.elts)
    return items if items is not None else UNKNOWN


def evaluate_dict(el: Elaboration, node: ast.Dict) -> Value:
    """Return a dictionary; what is no key is reported."""
    found: dict[Value, Value] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            spread = el.evaluate(value)
            if not isinstance(spread, dict):
                _report_spread(el, value, spread)
                return UNKNOWN
            el.charge(len(spread))
            found.update(spread)
            continue
        name = el.evaluate(key)
        item = el.evaluate(value)
        if isinstance(name, KEYS):
            found[name] = item
        elif not is_unknown(name):
            el.report("STEP224", key, f"{el.what(key, name)}, and no key", "a key is a number, a size or a text")
    return found


def _report_spread(el: Elaboration, node: ast.expr, value: Value) -> None:
    if value is not UNKNOWN:
        el.report("STEP224", node, f"{el.what(node, value)} and no dictionary", "only those are taken apart by **")
        el.graph.complete = False
