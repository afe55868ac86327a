"""Sequences of programs: taking them apart, and how long they may grow."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from stepcore.frontend.state import Abandon
from stepcore.frontend.values import (
    UNKNOWN,
    DictView,
    OnePass,
    StreamRef,
    UnknownSequence,
    Value,
    describe,
    is_stream,
)
from stepcore.sizes.dim import Dim

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

# range(10**9) must not be unrolled.
MAX_ITEMS: Final = 4096
_DEEPEST: Final = 200  # values inside each other that are compared; Python ends at about 1,000
_DEEPEST_ITERATORS: Final = 32  # inside each other; Python has no limit, and its stack ends


def items_of(el: Elaboration, nodes: list[ast.expr]) -> list[Value] | None:
    """Return the values of the items of a list, a tuple or a call; None where a starred one cannot be taken apart."""
    items: list[Value] = []
    for node in nodes:
        if not isinstance(node, ast.Starred):
            items.append(el.evaluate(node))
            continue
        el.hidden += 1
        spread = iterate(el, node.value, el.evaluate(node.value))
        if spread is None or isinstance(spread, UnknownSequence):
            return None
        if not fits(el, node, len(items) + len(spread)):
            return None
        items.extend(spread)
    return items


def iterate(
    el: Elaboration, node: ast.AST, value: Value, *, quiet: bool = False
) -> list[Value] | UnknownSequence | None:
    """Return all items of ``value`` at once, an UnknownSequence, or None with a finding when it has none."""
    found = rounds(el, node, value, quiet=quiet)
    return found if found is None or isinstance(found, UnknownSequence) else list(found)


def rounds(
    el: Elaboration, node: ast.AST, value: Value, *, quiet: bool = False
) -> Iterator[Value] | UnknownSequence | None:
    """Return the items of ``value`` one after the other, as :func:`iterate` does.

    A list is looked at in each round, as Python does: what the body of a loop adds to it is a further round.
    """
    if isinstance(value, list | tuple | dict | range):
        return _taken(el, node, iter(value), 1)
    if isinstance(value, DictView):
        return _taken(el, node, iter(value.look()), 1)
    if isinstance(value, OnePass):
        return _taken(el, node, value.items, value.width)
    if isinstance(value, UnknownSequence):
        return value
    if value is UNKNOWN or quiet:
        return None
    text = f"{describe(value)} cannot be taken apart"
    if isinstance(node, ast.expr) and not isinstance(node, ast.Call):
        text = f"{el.what(node, value)} and cannot be taken apart"
    way_out = (
        "an element function gets its elements, and step.Map applies it"
        if is_stream(value)
        else "only lists and tuples can"
    )
    el.report("STEP224", node, text, way_out)
    el.graph.complete = False
    return None


def _taken(el: Elaboration, node: ast.AST, items: Iterator[Value], width: int) -> Iterator[Value]:
    while True:
        try:
            item = next(items)
        except StopIteration:
            return
        except RuntimeError:  # Python's own word for a dictionary that got another size
            el.report("STEP224", node, "this dictionary changes while it is gone through", "go through list(...) of it")
            raise Abandon from None
        el.charge(width)
        yield item


def count_of(value: Value) -> int:
    """Return how many items something has that can be gone through, as of now."""
    if isinstance(value, OnePass):
        return value.count
    return len(value.owner if isinstance(value, DictView) else value)


def one_pass(
    el: Elaboration, node: ast.AST, maker: str, items: Iterator[Value], count: int, width: int, around: list[Value]
) -> Value:
    """Return the iterator that ``maker`` gives over ``around``; too many inside each other are reported."""
    depth = 1 + max((each.depth for each in around if isinstance(each, OnePass)), default=0)
    if depth > _DEEPEST_ITERATORS:
        el.report("STEP221", node, "iterators are nested too deeply", "go through a list(...) of the inner one")
        return UNKNOWN
    return OnePass(maker, items, count, width, depth)


def fits(el: Elaboration, node: ast.AST, count: int) -> bool:
    """Return whether a sequence may have ``count`` items; report it otherwise."""
    if count <= MAX_ITEMS:
        return True
    # Another number in each round of a loop would be another message.
    el.report("STEP221", node, "this list grows too long", f"at most {MAX_ITEMS} items")
    return False


def equal(el: Elaboration, first: Value, second: Value) -> bool:
    """Return whether two values are equal, as Python compares them.

    Each comparison counts: lists that hold each other twice, level by level, have more parts than can be compared.
    """
    el.charge(1)
    if first is second:
        return True
    if isinstance(first, list | tuple):
        if type(first) is not type(second) or len(first) != len(second):
            return False
        return all(equal(el, one, other) for one, other in zip(first, second, strict=True))
    if isinstance(first, dict):
        if not isinstance(second, dict) or first.keys() != second.keys():
            return False
        return all(equal(el, value, second[key]) for key, value in first.items())
    if isinstance(first, Dim) or isinstance(second, Dim):
        return isinstance(second, Dim | int) and isinstance(first, Dim | int) and first == second
    return not isinstance(second, list | tuple | dict) and bool(first == second)


_PLAIN: Final = (bool, int, float, str, range, type(None))
_COMPARABLE: Final = (*_PLAIN, StreamRef, Dim)


def is_plain(el: Elaboration, value: Value) -> bool:
    """Return whether a value is one of Python's through and through, so that Python's comparison is the one meant."""
    return _consists_of(el, value, _PLAIN, 0)


def is_comparable(el: Elaboration, value: Value) -> bool:
    """Return whether Python's ``==`` means for a value what :func:`equal` does: streams and sizes are compared, too."""
    return _consists_of(el, value, _COMPARABLE, 0)


def _consists_of(el: Elaboration, value: Value, kinds: tuple[type, ...], depth: int) -> bool:
    if isinstance(value, list | tuple | dict):
        _enter(el, len(value), depth)
        items = value.values() if isinstance(value, dict) else value
        return all(_consists_of(el, item, kinds, depth + 1) for item in items)
    return isinstance(value, kinds)


def looked_through(el: Elaboration, value: Value) -> Any:
    """Return the list, tuple, dictionary, range or view whose items ``in`` looks through; None for anything else."""
    if isinstance(value, DictView):
        value = value.look()
    elif not isinstance(value, list | tuple | dict | range):
        return None
    el.charge(len(value))
    return value


def compared(el: Elaboration, first: Value, second: Value, depth: int = 0) -> None:
    """Count what Python takes to compare two values, whichever of their parts turn out to be equal."""
    if first is second or not isinstance(first, list | tuple | dict):
        return
    if type(first) is not type(second) or len(first) != len(second):
        return
    _enter(el, len(first), depth)
    if isinstance(first, dict):
        for key, item in first.items():
            if key in second:
                compared(el, item, second[key], depth + 1)
        return
    for one, other in zip(first, second, strict=True):
        compared(el, one, other, depth + 1)


def hashed(el: Elaboration, value: Value, depth: int = 0) -> None:
    """Count what Python takes to look a value up in a dictionary: each part of a tuple, as often as it stands there."""
    if isinstance(value, tuple):
        _enter(el, len(value), depth)
        for item in value:
            hashed(el, item, depth + 1)


def _enter(el: Elaboration, items: int, depth: int) -> None:
    el.charge(1 + items)
    if depth > _DEEPEST:
        el.report("STEP221", el.at, "these values are nested too deeply to be compared", "compare what they hold")
        raise Abandon
