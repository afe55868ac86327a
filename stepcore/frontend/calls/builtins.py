"""Python's own functions, and methods of lists."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from stepcore.fn.decl import FnDecl
from stepcore.frontend import sequences
from stepcore.frontend.bounds import bounded
from stepcore.frontend.numbers import note_size, number_of, report_size
from stepcore.frontend.values import (
    UNKNOWN,
    Alternatives,
    DictView,
    Method,
    OnePass,
    StreamRef,
    UnknownSequence,
    Value,
    describe,
    is_stream,
    is_unknown,
)
from stepcore.sizes.dim import Dim, DimError
from stepcore.text.wording import few

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


def _range(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
    wrong = next((value for value in args if not isinstance(value, int | Dim) and not is_unknown(value)), None)
    if wrong is not None:
        el.report("STEP224", node, f"{el.text(node)}: {describe(wrong)} is no integer", "write range(3)")
        return UNKNOWN
    bounds = [value for value in args if isinstance(value, int)]
    if len(bounds) < len(args):
        for place, value in enumerate(args):
            if isinstance(value, Dim):
                note_size(el, _given(node, place), value, "range")
        return UnknownSequence(UNKNOWN)
    if not 1 <= len(bounds) <= 3 or (len(bounds) == 3 and bounds[2] == 0):
        el.report("STEP224", node, "range takes a stop, or start, stop and step", "write range(3)")
        return UNKNOWN
    span = range(*bounds)
    # len() of a huge range overflows, so look whether an item exists beyond the limit.
    if span[sequences.MAX_ITEMS :]:
        el.report("STEP221", node, "this range is too long to be unrolled", f"at most {sequences.MAX_ITEMS} items")
        return UNKNOWN
    return span


def _given(node: ast.Call, place: int) -> ast.expr:
    """Return the argument at ``place`` where each has an expression of its own, else the call."""
    is_plain = place < len(node.args) and not any(isinstance(argument, ast.Starred) for argument in node.args)
    return node.args[place] if is_plain else node


def _zip(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
    columns = [sequences.rounds(el, _given(node, place), value) for place, value in enumerate(args)]
    if any(column is None for column in columns):
        return UNKNOWN
    known = [column for column in columns if isinstance(column, Iterator)]
    if len(known) < len(columns):
        return UnknownSequence(
            tuple(c.item if isinstance(c, UnknownSequence) else next(c, UNKNOWN) for c in columns if c is not None)
        )
    counts = {sequences.count_of(value) for value in args}
    if len(counts) > 1 and any(item.arg == "strict" and el.evaluate(item.value) is not False for item in node.keywords):
        el.report("STEP224", node, "zip(..., strict=True) is given lists of other lengths", "leave strict out")
        return UNKNOWN
    return sequences.one_pass(el, node, "zip", zip(*known, strict=False), min(counts, default=0), 1 + len(args), args)


def _enumerate(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
    items = sequences.rounds(el, _given(node, 0), args[0]) if args else None
    start = number_of(el, _start(node), args[1], "enumerate") if len(args) > 1 else 0
    if items is None or start is None:
        return UNKNOWN
    if isinstance(items, UnknownSequence):
        return UnknownSequence((UNKNOWN, items.item))
    count = sequences.count_of(args[0])
    return sequences.one_pass(el, node, "enumerate", enumerate(items, start), count, 2, args[:1])


def _start(node: ast.Call) -> ast.expr:
    """Return the expression of the number that ``enumerate`` begins with."""
    return next((keyword.value for keyword in node.keywords if keyword.arg == "start"), _given(node, 1))


def _reversed(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
    value: Value = args[0] if args else UNKNOWN
    if isinstance(value, UnknownSequence):
        return value
    look: Any = value.look() if isinstance(value, DictView) else value
    if isinstance(value, list | tuple | dict | range | DictView):
        return sequences.one_pass(el, node, "reversed", reversed(look), len(look), 1, [])
    if value is not UNKNOWN:
        text = f"{el.what(_given(node, 0), value)} and cannot be reversed"
        el.report("STEP224", node, text, "only lists and tuples can; make one with list(...)")
        el.graph.complete = False
    return UNKNOWN


def _len(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
    if len(args) == 1 and isinstance(args[0], list | tuple | dict | str | range):
        return len(args[0])
    if len(args) == 1 and isinstance(args[0], DictView):
        return len(args[0].owner)
    if len(args) == 1 and args[0] is not UNKNOWN and not isinstance(args[0], UnknownSequence):
        way_out = "write its size by name, such as M" if is_stream(args[0]) else "len is for lists and tuples"
        el.report("STEP224", node, f"{el.what(_given(node, 0), args[0])} and has no length", way_out)
    return UNKNOWN


def _sequence(make: Callable[[list[Value]], Value]) -> Callable[[Elaboration, ast.Call, list[Value]], Value]:
    def build(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
        if not args:
            return make([])
        items = sequences.iterate(el, _given(node, 0), args[0])
        return items if isinstance(items, UnknownSequence) else UNKNOWN if items is None else make(items)

    return build


_NO_NUMBERS = (StreamRef, Alternatives, str, FnDecl, list, tuple, dict, range, OnePass, DictView)


_SEQUENCES = (list, tuple, range, OnePass, DictView)


def _numeric(compute: Callable[..., int], *, of: str) -> Callable[[Elaboration, ast.Call, list[Value]], Value]:
    """Return the call of a function of one number, of a sequence, or of any of both."""

    def build(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
        values: list[Value] = args
        if of != "a number" and len(args) == 1 and isinstance(args[0], _SEQUENCES):
            taken = sequences.iterate(el, _given(node, 0), args[0])
            values = taken if isinstance(taken, list) else []
        elif of != "a number" and len(args) == 1 and isinstance(args[0], int | float | Dim):
            text = f"{el.text(node)}: {el.text(node.args[0]) if node.args else 'this'} is one number"
            el.report("STEP224", node, text, f"{el.text(node.func)} takes a list of numbers")
            return UNKNOWN
        el.charge(len(values))
        if compute is sum and any(isinstance(value, Dim) for value in values):
            return _sum_of_sizes(el, node, values)
        written = _written(node, len(values))
        numbers = [
            number_of(el, part, value, node.func.id if isinstance(node.func, ast.Name) else "this")
            for part, value in zip(written, values, strict=True)
        ]
        if None in numbers or not numbers:
            wrong = [value for value in values if isinstance(value, _NO_NUMBERS)]
            if wrong or not numbers:
                text = f"{el.text(node)}: {describe(wrong[0]) if wrong else 'nothing'} is no number"
                way_out = (
                    "fold elements with step.Accum(fn=..., b=...)" if wrong and is_stream(wrong[0]) else "pass integers"
                )
                el.report("STEP224", node, text, way_out)
                el.graph.complete = False
            return UNKNOWN
        return bounded(el, node, compute(numbers))

    return build


def _written(node: ast.Call, count: int) -> list[ast.expr]:
    """Return the expressions of so many values that a call takes, one by one or in a list; else the call for each."""
    given = node.args[0].elts if len(node.args) == 1 and isinstance(node.args[0], ast.List | ast.Tuple) else node.args
    are_plain = len(given) == count and not any(isinstance(part, ast.Starred) for part in given)
    return list(given) if are_plain else [node] * count


def _sum_of_sizes(el: Elaboration, node: ast.Call, values: list[Value]) -> Value:
    """Return a sum in which there are sizes: a size, as Python gives it."""
    total: Dim | int = 0
    for value in values:
        if not isinstance(value, Dim) and el.integer(value) is None:
            return UNKNOWN
        try:
            total = total + value
        except DimError as error:
            el.report("STEP224", node, f"{el.text(node)} cannot be computed: {error}", "add fewer sizes")
            return UNKNOWN
        el.charge(len(total.terms) if isinstance(total, Dim) else 1)
    return bounded(el, node, total)


def call_print(el: Elaboration, node: ast.Call, args: list[Value]) -> Value:
    """Report a ``print``: a program says nothing while it is made."""
    el.report("STEP220", node, "a program cannot print", "remove the call, or use `stepsmith simulate` to see values")
    return None


_LIST_CALLS = {
    "append": "append(ITEM), with one item", "extend": "extend([...])", "insert": "insert(POSITION, ITEM)",
    "pop": "pop(), or pop(POSITION) of an item that is there", "index": "index(ITEM), with one item",
    "remove": "remove(ITEM), with one item", "count": "count(ITEM), with one item",
}  # fmt: skip

_BUILTINS: dict[str, Callable[[Any, ast.Call, list[Value]], Value]] = {
    "range": _range,
    "zip": _zip,
    "enumerate": _enumerate,
    "len": _len,
    "list": _sequence(list),
    "tuple": _sequence(tuple),
    "reversed": _reversed,
    "min": _numeric(min, of="numbers"),
    "max": _numeric(max, of="numbers"),
    "sum": _numeric(sum, of="a list"),
    "int": _numeric(lambda numbers: numbers[0], of="a number"),
    "abs": _numeric(lambda numbers: abs(numbers[0]), of="a number"),
    "print": call_print,
}

# How many arguments they take at least and at most, as far as they do not say so themselves, and which by name.
_TAKEN: Final[dict[str, tuple[int, int]]] = {
    "len": (1, 1), "list": (0, 1), "tuple": (0, 1), "reversed": (1, 1), "enumerate": (1, 2), "sum": (1, 1),
    "int": (1, 1), "abs": (1, 1),
}  # fmt: skip
_NAMED: Final = {"zip": ("strict",), "enumerate": ("start",)}


def call_builtin(el: Elaboration, name: str, node: ast.Call, args: list[Value]) -> Value:
    """Return what a function of Python gives; a call that Python would refuse is reported."""
    least, most = _TAKEN.get(name, (0, len(args)))
    named = _NAMED.get(name, ())
    other = next((keyword for keyword in node.keywords if keyword.arg not in named), None)
    if other is not None and name != "print":
        text = f"{name} takes no {other.arg}" if other.arg else f"{name} takes no **"
        el.report("STEP224", other, text, "leave the name out" if other.arg else "write its arguments out")
        return UNKNOWN
    if not least <= len(args) <= most:
        wanted = f"{few(least, 'argument')}" if least == most else f"{least} to {few(most, 'argument')}"
        el.report("STEP224", node, f"{name} takes {wanted}, found {len(args)}", "write those that it takes")
        return UNKNOWN
    return _BUILTINS[name](el, node, args)


def _looked_for(el: Elaboration, method: str, owner: list[Value], node: ast.Call, item: Value) -> Value:
    """Return what a method gives that compares the items of a list with one: until it is found, or all."""
    if is_unknown(item):
        return UNKNOWN
    places: list[int] = []
    for place, other in enumerate(owner):
        sequences.compared(el, other, item)
        if is_unknown(other):
            return UNKNOWN
        if not (sequences.is_comparable(el, other) and sequences.is_comparable(el, item)):
            text = f"{el.text(node)} compares {describe(other)} with {describe(item)}"
            el.report("STEP224", node, text, "look for numbers, sizes, texts and streams, or write the position itself")
            el.graph.complete = False
            return UNKNOWN
        if sequences.equal(el, other, item):
            places.append(place)
            if method != "count":
                break
    if method == "count":
        return len(places)
    if not places:
        el.report("STEP224", node, f"{el.text(node)}: the list has no such item", "look for one that is there")
        el.graph.complete = False
        return UNKNOWN
    if method == "index":
        return places[0]
    del owner[places[0]]
    return None


def call_method(el: Elaboration, method: Method, node: ast.Call, args: list[Value]) -> Value:
    """Return what a method of a list or dictionary gives; a call that it cannot take is reported."""
    owner = method.owner
    if node.keywords:
        text = f"{method.name} takes no names of arguments"
        el.report("STEP224", node.keywords[0], text, "leave the name out")
        return UNKNOWN
    if isinstance(owner, dict):
        return DictView(owner, method.name)  # type: ignore[arg-type]  # one of the three, as an attribute of dictionaries
    more = len(args[0]) if method.name == "extend" and args and isinstance(args[0], list | tuple) else 1
    if not sequences.fits(el, node, len(owner) + more):
        return UNKNOWN
    el.charge(len(owner) if method.name in ("copy", "insert", "reverse") else more)
    match method.name, args:
        case "append", [item]:
            owner.append(item)
            return None
        case "extend", [list() | tuple() as items]:
            owner.extend(items)
            return None
        case "insert", [int() as position, item]:
            owner.insert(max(-len(owner), min(position, len(owner))), item)  # Python's own insert overflows
            return None
        case "pop", [] | [int()] if owner and -len(owner) <= (args[0] if args else -1) < len(owner):
            return owner.pop(*args)
        case "reverse", []:
            owner.reverse()
            return None
        case "copy", []:
            return list(owner)
        case "clear", []:
            owner.clear()
            return None
        case (("remove" | "count" | "index"), [item]):
            return _looked_for(el, method.name, owner, node, item)
    return _no_such_call(el, method.name, node, args)


def _no_such_call(el: Elaboration, method: str, node: ast.Call, args: list[Value]) -> Value:
    if method in ("insert", "pop") and args and isinstance(args[0], Dim):
        report_size(el, _given(node, 0), args[0], "a position")
    elif UNKNOWN not in args:
        how = _LIST_CALLS.get(method, f"{method}()")
        el.report("STEP224", node, f"{el.text(node)} is no call of a list's {method}", f"write {how}")
    return UNKNOWN
