"""Comparisons, and what is true before a run."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from stepcore.frontend.numbers import number_of, report_size
from stepcore.frontend.sequences import compared, equal, hashed, is_comparable, is_plain, looked_through
from stepcore.frontend.values import (
    UNKNOWN,
    Alternatives,
    DictView,
    StreamRef,
    UnknownSequence,
    Value,
    is_stream,
    is_unknown,
)
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def evaluate_compare(el: Elaboration, node: ast.Compare) -> Value:
    """Return the truth of a chain of comparisons; unknown when one of them cannot be decided before a run."""
    left_node, left = node.left, el.evaluate(node.left)
    told: set[ast.expr] = set()  # sizes that were reported: both of their comparisons need a number
    result: Value = True
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = el.evaluate(right_node)
        if not isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) and (is_stream(left) or is_stream(right)):
            return _elements_compared(el, node)
        el.note_gap(right_node, left, right)
        if isinstance(left, Dim) or isinstance(right, Dim):
            outcome = _compare_sizes(el, (left_node, left), op, (right_node, right), told)
        else:
            outcome = _compare_two(el, left, op, right)
        if outcome is False:
            return False
        if outcome is None:
            result = UNKNOWN
        left_node, left = right_node, right
    return result


def _elements_compared(el: Elaboration, node: ast.Compare) -> Value:
    text = f"{el.text(node)} looks at the elements of a stream"
    way_out = "compare in an element function; step.Partition(N=...) routes elements by a selector"
    el.report("STEP224", node, text, way_out)
    el.graph.complete = False
    return UNKNOWN


def _compare_two(el: Elaboration, left: Value, op: ast.cmpop, right: Value) -> bool | None:
    if isinstance(op, ast.Is | ast.IsNot):
        same = _is_same(left, right)
        return None if same is None else same == isinstance(op, ast.Is)
    if isinstance(op, ast.In | ast.NotIn):
        return _is_in(el, left, op, right)
    compared(el, left, right)
    compare = _COMPARISONS.get(type(op))
    a, b = el.integer(left), el.integer(right)
    if compare is not None and a is not None and b is not None:
        return compare(a, b)
    if compare is None or not (is_plain(el, left) and is_plain(el, right)):
        return None
    try:
        return compare(left, right)
    except TypeError:
        return None


def _compare_sizes(
    el: Elaboration, left: tuple[ast.expr, Value], op: ast.cmpop, right: tuple[ast.expr, Value], told: set[ast.expr]
) -> bool | None:
    """Return what a comparison with a size gives: Python compares symbols, so there has to be a number instead."""
    if isinstance(op, ast.In | ast.NotIn):
        return _is_in_sizes(el, left, op, right)
    compare = _COMPARISONS.get(type(op))
    if compare is None or left[1] is UNKNOWN or right[1] is UNKNOWN:
        return None if compare is not None else _compare_two(el, left[1], op, right[1])
    if el.prints and isinstance(op, ast.Eq | ast.NotEq):  # a script is Python's own, and may ask which size it is
        return (
            compare(left[1], right[1]) if isinstance(left[1], Dim | int) and isinstance(right[1], Dim | int) else None
        )
    numbers: list[Value] = []
    for node, value in (left, right):
        if isinstance(value, Dim) and node not in told:
            told.add(node)
            report_size(el, node, value, "a comparison")
        numbers.append(el.bound(value) if isinstance(value, Dim) else value)
    return compare(*numbers) if all(isinstance(number, int | float) for number in numbers) else None


def _is_in_sizes(
    el: Elaboration, left: tuple[ast.expr, Value], op: ast.cmpop, right: tuple[ast.expr, Value]
) -> bool | None:
    """Return whether a size is among others, as Python tells sizes apart; among numbers is none."""
    size, among = left[1], right[1]
    if isinstance(size, Dim) and isinstance(among, list | tuple | range):
        el.charge(len(among))
        if any(isinstance(item, int | float) for item in among):
            report_size(el, left[0], size, "a comparison")
    return _is_in(el, size, op, among)


def _is_same(left: Value, right: Value) -> bool | None:
    """Return what ``is`` says; of numbers, texts and tuples that is Python's affair, and None."""
    if left is UNKNOWN or right is UNKNOWN:
        return None
    if any(value is None or isinstance(value, bool) for value in (left, right)):
        return left is right
    if is_stream(left) and is_stream(right):
        return bool(left == right)
    return left is right if isinstance(left, list | dict) or isinstance(right, list | dict) else None


def _is_in(el: Elaboration, left: Value, op: ast.cmpop, right: Value) -> bool | None:
    items = looked_through(el, right)
    if items is None:
        return None
    if isinstance(right, dict | DictView):
        hashed(el, left)  # Python hashes all of it
    for item in items:
        compared(el, left, item)
    if not is_comparable(el, left) or not all(is_comparable(el, item) for item in items):
        return None
    return any(equal(el, left, item) for item in items) == isinstance(op, ast.In)


def evaluate_bool(el: Elaboration, node: ast.BoolOp) -> Value:
    """Return the operand that decides ``and`` or ``or``, as Python does."""
    stops_at = isinstance(node.op, ast.Or)
    value: Value = not stops_at
    for part in node.values[:-1]:
        value = el.evaluate(part)
        decided = decide(el, part, value)
        if decided is None:
            return UNKNOWN
        if decided is stops_at:
            return value
    return el.evaluate(node.values[-1])


def condition(el: Elaboration, node: ast.expr) -> bool | None:
    """Return the truth of ``node``, or None when it cannot be decided before a run; a stream has none."""
    return decide(el, node, el.evaluate(node))


def decide(el: Elaboration, node: ast.expr, value: Value) -> bool | None:
    """Return the truth of a value that stands for a condition, or None; a stream is reported."""
    if is_stream(value):
        way_out = "test its elements in an element function; step.Partition(N=...) routes them by a selector"
        el.report("STEP224", node, f"{el.text(node)} is a stream, and no condition", way_out)
        el.graph.complete = False
    el.note_gap(node, value, 0)
    return _truth_of_size(el, node, value) if isinstance(value, Dim) else truth(value)


def _truth_of_size(el: Elaboration, node: ast.expr, size: Dim) -> bool | None:
    if el.prints and size.constant is None:
        return True  # of a script, which is Python's own: to it a symbol is true
    number = number_of(el, node, size, "a condition")
    return None if number is None else bool(number)


_WITH_TRUTH = (bool, int, float, str, list, tuple, dict, range, type(None))  # every other value is true


def truth(value: Value) -> bool | None:
    """Return the truth of a condition that is no size, or None when it cannot be decided before a run."""
    if is_unknown(value) or isinstance(value, StreamRef | Alternatives | UnknownSequence):
        return None
    if isinstance(value, DictView):
        return bool(value.owner)
    return bool(value) if isinstance(value, _WITH_TRUTH) else True


def evaluate_conditional(el: Elaboration, node: ast.IfExp) -> Value:
    """Return the arm that is taken, or both joined when the condition cannot be decided."""
    decided = condition(el, node.test)
    if decided is not None:
        el.take(node.test, decided)
        return el.evaluate(node.body if decided else node.orelse)
    branch, outer = el.new_branch(), el.path
    el.path = (*outer, (branch, 0))
    first = el.evaluate(node.body)
    el.path = (*outer, (branch, 1))
    second = el.evaluate(node.orelse)
    el.path = outer
    return el.join(branch, first, second)
