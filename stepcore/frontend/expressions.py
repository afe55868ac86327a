"""Expressions of the program language, evaluated on symbolic streams (see :mod:`stepcore.frontend.elaborate`)."""

from __future__ import annotations

import ast
import builtins
import operator
from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from stepcore.findings.diagnostics import Edit, Fix
from stepcore.findings.near import nearest
from stepcore.fn.decl import FnDecl
from stepcore.frontend import advice, calls, functions
from stepcore.frontend.application import apply_operator
from stepcore.frontend.bounds import MAX_BITS, bounded
from stepcore.frontend.sequences import (
    MAX_ITEMS,
    compared,
    count_of,
    equal,
    fits,
    hashed,
    is_comparable,
    is_plain,
    items_of,
    looked_through,
    rounds,
)
from stepcore.frontend.state import Abandon
from stepcore.frontend.values import (
    GENERATOR,
    UNKNOWN,
    Alternatives,
    ContextSizes,
    DictView,
    EvaluationContext,
    FnClass,
    Helper,
    LoopValue,
    Method,
    ModuleRef,
    OnePass,
    OperatorRef,
    OperatorValue,
    ProgramBuiltin,
    Scope,
    Seen,
    StreamRef,
    TensorValue,
    TypeMaker,
    UnknownSequence,
    Value,
    describe,
    is_stream,
    is_unknown,
)
from stepcore.ops import miscalls
from stepcore.records import make
from stepcore.sizes.dim import Dim, DimError
from stepcore.text.span import Span
from stepcore.text.wording import clipped

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

MAX_TEXT = 10_000
MAX_KEYS = 8  # of a dictionary in a message
MAX_SHOWN = 40  # characters of each

BUILTINS = frozenset(
    {"zip", "range", "enumerate", "len", "list", "tuple", "reversed", "min", "max", "int", "print", "sum", "abs"}
)


KEYS = (str, int, float, Dim)  # what the keys of dictionaries are

# How the nodes are written whose class names differ from that.
_WORDS = {
    ast.ImportFrom: "import", ast.ClassDef: "class", ast.Delete: "del", ast.AsyncFunctionDef: "async",
    ast.AsyncFor: "async", ast.AsyncWith: "async", ast.YieldFrom: "yield", ast.SetComp: "set", ast.DictComp: "dict",
    ast.TryStar: "try",
}  # fmt: skip


def word_of(node: ast.AST) -> str:
    """Return the word with which people write a statement or expression."""
    return _WORDS.get(type(node), type(node).__name__.lower())


def refuse(el: Elaboration, node: ast.expr) -> Value:
    """Report an expression that programs may not use; scripts may, and what becomes of streams in it is followed."""
    if el.prints:
        return _of_python(el, node)
    what = word_of(node)
    el.report("STEP220", node, f"`{what}` is not part of the program language", "write it with lists and calls")
    el.graph.complete = False
    el.suppress_unused = True
    return UNKNOWN


def _of_python(el: Elaboration, node: ast.expr) -> Value:
    """Return the value of an expression that only scripts use: of comprehensions, and of what others are made of."""
    el.suppress_unused = True
    match node:
        case ast.DictComp():
            pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node.value)
            pairs = _comprehension(el, ast.copy_location(ast.ListComp(pair, node.generators), node))
            if isinstance(pairs, list) and all(isinstance(key, str | int | Dim) for key, _ in pairs):
                return dict(pairs)
            el.gives_away([pairs] if isinstance(pairs, list) else None)
        case ast.SetComp():
            el.gives_away([_comprehension(el, ast.copy_location(ast.ListComp(node.elt, node.generators), node))])
        case _:
            parts = [part for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr)]
            el.gives_away([el.evaluate(part) for part in parts])
    return UNKNOWN


def _constant(el: Elaboration, node: ast.Constant) -> Value:
    value = node.value
    if value is ...:
        return UNKNOWN
    if isinstance(value, bytes | complex):
        what = "bytes" if isinstance(value, bytes) else "a complex number"
        el.report("STEP220", node, f"{what} is not part of the program language", "write numbers and texts")
        el.graph.complete = False
        return UNKNOWN
    return bounded(el, node, value) if type(value) is int else value


def _name(el: Elaboration, node: ast.Name) -> Value:
    """Return what a name is that no scope holds."""
    try:
        value = el.frame.scope.find(node.id)  # where anything may be lost, a scope knows more
        el.seen.append(make(Seen, (node, el.frame.code, value, False)))
        return value
    except KeyError:
        pass
    if node.id in BUILTINS:
        return ProgramBuiltin(node.id)
    el.graph.complete = False
    if hasattr(builtins, node.id):
        text = f"{node.id} of Python is not part of the program language"
        el.report("STEP220", node, text, "programs call operators, helper functions, and range, len, zip and the like")
        return UNKNOWN
    _unknown(el, node)
    # One mistake, one message: from here on the name is known to be unknown.
    el.frame.scope.names[node.id] = UNKNOWN
    return UNKNOWN


def _unknown(el: Elaboration, node: ast.Name) -> None:
    name = node.id
    if name in el.dialect.by_name and el.op_module:
        full = el.operator(name)
        el.report("STEP202", node, f"the name {name} is not known", f"write {full}", fix=el.replacing(node, full))
    elif name == "input_data" and el.is_task:
        el.report("STEP202", node, "a program does not see input_data", "its streams have the names of the inputs")
    else:
        el.unknown_name("STEP202", "the name", name, el.frame.scope.visible(), el.span(node), _declared(el, name))


def _declared(el: Elaboration, name: str) -> str:
    """Return how a name comes to be known; one in capitals is likely a size."""
    if not name.isupper() or any(letter.isdigit() for letter in name):
        return "assign it before"
    if el.is_task:
        return f'assign it before, or make a size of it in global: {name} = Symbol("{name}")'
    return f"assign it before, or import it as a size: from stepcore.dims import {name}"


def _tuple(el: Elaboration, node: ast.Tuple) -> Value:
    items = items_of(el, node.elts)
    return tuple(items) if items is not None else UNKNOWN


def _list(el: Elaboration, node: ast.List) -> Value:
    items = items_of(el, node.elts)
    return items if items is not None else UNKNOWN


def _dict(el: Elaboration, node: ast.Dict) -> Value:
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


def _attribute(el: Elaboration, node: ast.Attribute) -> Value:
    name = node.value
    if type(name) is ast.Name and name.id in advice.LIBRARIES and _is_unknown_here(el, name.id):
        path = f"{name.id}.{node.attr}"
        el.report("STEP202", node, f"{path} works on tensors, and a program has streams", advice.of_library(node.attr))
        el.graph.complete = False
        return UNKNOWN
    owner = el.evaluate(name)
    if type(owner) is ModuleRef:  # as in each line
        is_ours = owner.name == "stepcore"
        member = calls.step_member(el, node.attr, node) if is_ours else calls.module_member(el, owner, node)
        el.seen.append(make(Seen, (node, el.frame.code, member, False)))
        return member
    return _member(el, node, owner)


def _member(el: Elaboration, node: ast.Attribute, owner: Value) -> Value:
    if owner is UNKNOWN:
        return UNKNOWN
    if isinstance(owner, ModuleRef):
        member = calls.module_member(el, owner, node)
        el.seen.append(make(Seen, (node, el.frame.code, member, False)))
        return member
    if node.attr == "apply" and isinstance(owner, (OperatorRef, OperatorValue)):
        return Method(owner, "apply")
    if node.attr == "close" and isinstance(owner, LoopValue):
        return Method(owner, "close")
    if isinstance(owner, TensorValue):
        from stepcore.frontend import tensors  # only scripts have any

        return tensors.member(owner, node.attr)
    if is_unknown(owner):
        return UNKNOWN
    if isinstance(owner, TypeMaker) and owner.name == "Stream" and node.attr == "of":
        return Method(owner, "of")
    if isinstance(owner, list) and node.attr in calls.LIST_METHODS:
        return Method(owner, node.attr)
    if isinstance(owner, dict) and node.attr in ("values", "items", "keys"):
        return Method(owner, node.attr)
    if isinstance(owner, tuple) and node.attr in getattr(owner, "_fields", ()):  # outputs that have names
        return getattr(owner, node.attr)
    name_span = Span(el.span(node).end - len(node.attr), el.span(node).end)
    text = f"{el.what(node.value, owner)} and has no attribute {node.attr}"
    if isinstance(owner, OperatorRef | OperatorValue):
        text = f"{el.text(node.value)} has no attribute {node.attr}"
    near = nearest(node.attr, _attributes(owner))
    fix = Fix(f"Change to {near[0]}", (Edit(name_span, near[0]),)) if near else None
    way_out = f"did you mean {near[0]}?" if near else _attribute_hint(el, node, owner)
    el.report("STEP224", name_span, text, way_out, fix=fix)
    el.graph.complete = False
    return UNKNOWN


def _is_unknown_here(el: Elaboration, name: str) -> bool:
    try:
        el.frame.scope.find(name)
    except KeyError:
        return True
    return False


def _attributes(owner: Value) -> Sequence[str]:
    if isinstance(owner, LoopValue):
        return ("apply", "close")
    if isinstance(owner, OperatorRef | OperatorValue):
        return ("apply",)
    if isinstance(owner, list):
        return sorted(calls.LIST_METHODS)
    return ("values", "items", "keys") if isinstance(owner, dict) else getattr(owner, "_fields", ())


def _attribute_hint(el: Elaboration, node: ast.Attribute, owner: Value) -> str:
    text = el.text(node.value)
    if is_stream(owner):
        operator = next(iter(el.dialect.in_any_case(node.attr)), "")
        if operator or node.attr == "apply":
            return f"operators are applied to streams: {el.operator(operator or 'OPERATOR')}(...).apply({text})"
        return advice.instead(node.attr) or "streams are only passed to operators"
    if isinstance(owner, LoopValue):
        return f"a loop has {text}.apply() and {text}.close(STREAM)"
    if isinstance(owner, OperatorRef | OperatorValue):
        return "an operator has .apply(...) alone"
    if isinstance(owner, FnDecl):
        operator = "Accum(fn={}, b=...)" if owner.has_state else "Map(fn={})"
        return f"an operator applies it: {el.operator(operator.format(text))}.apply(...)"
    if isinstance(owner, list):
        return f"a list has {', '.join(sorted(calls.LIST_METHODS))}"
    if isinstance(owner, functions.ELEMENTS):
        return "types describe elements, and operators such as Bufferize make them"
    if isinstance(owner, Dim):
        return "a size is only written into parameters and shapes"
    return "leave it out"


def _subscript(el: Elaboration, node: ast.Subscript) -> Value:
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


_ARITHMETIC: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}


_SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.MatMult: "@", ast.BitOr: "|", ast.BitAnd: "&", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>",
}  # fmt: skip


def _binary(el: Elaboration, node: ast.BinOp) -> Value:
    return binary(el, node, el.evaluate(node.left), node.op, el.evaluate(node.right))


def binary(el: Elaboration, node: ast.AST, left: Value, op: ast.operator, right: Value) -> Value:
    """Return ``left op right`` on numbers, sizes, lists and tuples."""
    if left is UNKNOWN or right is UNKNOWN:
        return UNKNOWN
    if isinstance(left, TensorValue) or isinstance(right, TensorValue):
        from stepcore.frontend import tensors  # only scripts have any

        return tensors.combined(left, right)
    sequences = (list, tuple)
    if isinstance(op, ast.Add):
        if isinstance(left, list) and isinstance(right, list):
            return _joined(el, node, left, right)
        if isinstance(left, tuple) and isinstance(right, tuple):
            return _joined(el, node, left, right)
    if isinstance(op, ast.Mult):
        for sequence, times in ((left, right), (right, left)):
            if isinstance(sequence, sequences) and isinstance(times, int):
                return _repeat(el, node, sequence, times)
    compute = _ARITHMETIC.get(type(op))
    if compute is not None and _is_number(left) and _is_number(right):
        return _compute(el, node, compute, left, op, right)
    el.report(
        "STEP224", node, *_not_combined(el, node, left, op, right), fix=_whole_division(el, node, left, op, right)
    )
    el.graph.complete = False
    return UNKNOWN


def _not_combined(el: Elaboration, node: ast.AST, left: Value, op: ast.operator, right: Value) -> tuple[str, str]:
    """Return why two operands do not go together, and what does instead."""
    sign = _SIGNS[type(op)]
    parts = _operands(node)
    shown = [el.text(part) for part in parts]
    whole_text = f"{shown[0]} {sign} {shown[1]}"
    streams = [text for text, value in zip(shown, (left, right), strict=True) if is_stream(value)]
    if streams:
        what = "streams" if len(streams) == 2 else "a stream"
        return f"{whole_text} computes with {what}", advice.of_arithmetic(op, streams, el.operator)
    if isinstance(op, ast.Div) and _is_number(left) and _is_number(right):
        return f"{whole_text} may leave a remainder, and sizes and counts are whole numbers", "divide with //"
    values = (left, right)
    kinds = " and ".join(el.what(part, value) for part, value in zip(parts, values, strict=True))
    return f"{whole_text} cannot be computed: {kinds}", "use numbers and sizes, two lists, or two tuples"


def _operands(node: ast.AST) -> tuple[ast.AST, ast.AST]:
    if isinstance(node, ast.AugAssign):
        return node.target, node.value
    assert isinstance(node, ast.BinOp)
    return node.left, node.right


def _whole_division(el: Elaboration, node: ast.AST, left: Value, op: ast.operator, right: Value) -> Fix | None:
    if not (isinstance(node, ast.BinOp) and isinstance(op, ast.Div) and _is_number(left) and _is_number(right)):
        return None
    shown = el.text(node.left, MAX_TEXT), el.text(node.right, MAX_TEXT)
    return el.replacing(node, f"{shown[0]} // {shown[1]}")


def _joined(el: Elaboration, node: ast.AST, left: Any, right: Any) -> Value:
    if not fits(el, node, len(left) + len(right)):
        return UNKNOWN
    el.charge(len(left) + len(right))
    return left + right


def _is_number(value: Value) -> bool:
    return isinstance(value, int | float | Dim)


def _compute(
    el: Elaboration, node: ast.AST, compute: Callable[[Any, Any], Any], left: Value, op: ast.operator, right: Value
) -> Value:
    if isinstance(op, ast.Pow) and _is_large_power(left, right):
        if isinstance(right, Dim):
            el.report("STEP224", node, f"the exponent {right} is a size", "an exponent is an integer")
        else:
            el.report("STEP221", node, "this power is too large", "write a smaller number")
        return UNKNOWN
    if isinstance(op, ast.Mod | ast.Pow) and (isinstance(left, Dim) or isinstance(right, Dim)):
        text = f"{el.text(node)} is no expression of sizes"
        way_out = "sizes are added, subtracted, multiplied, and divided with //"
        if right == 2 and isinstance(op, ast.Pow):
            way_out = f"write {left} * {left}"
        el.report("STEP224", node, text, way_out)
        return UNKNOWN
    if {type(left), type(right)} == {Dim, float}:
        text = f"{el.text(node)} mixes a size with a fraction, and sizes are whole numbers"
        el.report("STEP224", node, text, "multiply by integers, and divide with //")
        return UNKNOWN
    if isinstance(left, Dim) and isinstance(right, Dim):
        el.charge(len(left.terms) * len(right.terms))
    try:
        value = compute(left, right)
    except ZeroDivisionError:
        el.report("STEP224", node, f"{el.text(node)} divides by zero", "change the divisor")
        return UNKNOWN
    except (DimError, OverflowError, TypeError) as error:
        reason = str(error) if isinstance(error, DimError) else "the number is too large"
        el.report("STEP224", node, f"{el.text(node)} cannot be computed: {reason}", "change the expression")
        return UNKNOWN
    if isinstance(value, complex):
        el.report("STEP224", node, f"{el.text(node)} is no real number", "change the expression")
        return UNKNOWN
    return bounded(el, node, value)


def _is_large_power(left: Value, right: Value) -> bool:
    if isinstance(right, Dim) or abs(right) > MAX_BITS:
        return True
    return isinstance(left, int) and left.bit_length() * abs(right) > 4 * MAX_BITS


def _repeat(el: Elaboration, node: ast.AST, sequence: Any, times: int) -> Value:
    if not fits(el, node, len(sequence) * max(times, 0)):
        return UNKNOWN
    el.charge(len(sequence) * max(times, 0))
    return sequence * times


def _unary(el: Elaboration, node: ast.UnaryOp) -> Value:
    value = el.evaluate(node.operand)
    if isinstance(node.op, ast.Not):
        decided = _decided(el, node.operand, value)
        return UNKNOWN if decided is None else not decided
    if isinstance(node.op, ast.USub | ast.UAdd) and _is_number(value):
        return -value if isinstance(node.op, ast.USub) else value
    if value is not UNKNOWN:
        sign = {ast.USub: "-", ast.UAdd: "+"}.get(type(node.op), "~")
        text = f"{el.what(node.operand, value)}, and {sign} takes numbers and sizes"
        way_out = advice.of_arithmetic(node.op, [el.text(node.operand)], el.operator) if is_stream(value) else ""
        el.report("STEP224", node, text, way_out or "leave it out")
        el.graph.complete = False
    return UNKNOWN


_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


def _compare(el: Elaboration, node: ast.Compare) -> Value:
    left = el.evaluate(node.left)
    result: Value = True
    for op, right_node in zip(node.ops, node.comparators, strict=True):
        right = el.evaluate(right_node)
        if not isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) and (is_stream(left) or is_stream(right)):
            return _elements_compared(el, node)
        el.note_gap(right_node, left, right)
        outcome = _compare_two(el, left, op, right)
        if outcome is False:
            return False
        if outcome is None:
            result = UNKNOWN
        left = right
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


def _bool(el: Elaboration, node: ast.BoolOp) -> Value:
    stops_at = isinstance(node.op, ast.Or)
    value: Value = not stops_at
    for part in node.values[:-1]:
        value = el.evaluate(part)
        decided = _decided(el, part, value)
        if decided is None:
            return UNKNOWN
        if decided is stops_at:
            return value
    return el.evaluate(node.values[-1])


def condition(el: Elaboration, node: ast.expr) -> bool | None:
    """Return the truth of ``node``, or None when it cannot be decided before a run; a stream has none."""
    return _decided(el, node, el.evaluate(node))


def _decided(el: Elaboration, node: ast.expr, value: Value) -> bool | None:
    if is_stream(value):
        way_out = "test its elements in an element function; step.Partition(N=...) routes them by a selector"
        el.report("STEP224", node, f"{el.text(node)} is a stream, and no condition", way_out)
        el.graph.complete = False
    el.note_gap(node, value, 0)
    return truth(el, value)


_WITH_TRUTH = (bool, int, float, str, list, tuple, dict, range, type(None))  # every other value is true


def truth(el: Elaboration, value: Value) -> bool | None:
    """Return the truth of a condition, or None when it cannot be decided before a run."""
    if isinstance(value, Dim):
        number = el.integer(value)
        return None if number is None else bool(number)
    if is_unknown(value) or isinstance(value, StreamRef | Alternatives | UnknownSequence):
        return None
    if isinstance(value, DictView):
        return bool(value.owner)
    return bool(value) if isinstance(value, _WITH_TRUTH) else True


def _conditional(el: Elaboration, node: ast.IfExp) -> Value:
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


def _walrus(el: Elaboration, node: ast.NamedExpr) -> Value:
    value = el.evaluate(node.value)
    frame = el.frame
    inner, frame.scope = frame.scope, frame.scope.function
    try:
        el.bind(node.target, value)
    finally:
        frame.scope = inner
    return value


def _lambda(el: Elaboration, node: ast.Lambda) -> Value:
    text = "a `lambda` without a name is not part of the program language"
    el.report("STEP220", node, text, "name it as a helper: helper = lambda ...: ..., or use def")
    el.graph.complete = False
    return named_lambda(el, node)


def named_lambda(el: Elaboration, node: ast.Lambda) -> Helper:
    """Return the helper function that ``name = lambda ...`` makes."""
    return calls.helper(el, node)


def _formatted(el: Elaboration, node: ast.JoinedStr) -> Value:
    pieces: list[str] = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            pieces.append(str(part.value))
        elif isinstance(part, ast.FormattedValue):
            value = el.evaluate(part.value)
            if isinstance(value, list | tuple | dict | range | OnePass | DictView):
                text = f"{el.what(part.value, value)}, and is not written into a text"
                el.report("STEP224", part.value, text, "write numbers, sizes and texts")
            if not isinstance(value, int | str | Dim):
                return UNKNOWN
            pieces.append(str(value))
            el.charge(len(pieces[-1]) >> 4)
    text = "".join(pieces)
    if len(text) > MAX_TEXT:
        el.report("STEP221", node, "this text is too long", f"at most {MAX_TEXT} characters")
        return UNKNOWN
    return text


def _starred(el: Elaboration, node: ast.Starred) -> Value:
    el.report("STEP220", node, "a star is not possible here", "use it inside a list, a tuple or a call")
    return UNKNOWN


def _comprehension(el: Elaboration, node: ast.ListComp | ast.GeneratorExp) -> Value:
    frame = el.frame
    outer_scope, outer_context = frame.scope, frame.context
    frame.scope = Scope({}, outer_scope, is_comprehension=True)
    results: list[Value] = []
    try:
        exact = _rounds(el, node, node.generators, results)
    finally:
        frame.scope, frame.context = outer_scope, outer_context
    first, *inner = node.generators
    if inner or first.ifs or first.is_async or not results:
        el.hidden += 1
    if not exact:
        return UnknownSequence(results[0] if results else UNKNOWN)
    if isinstance(node, ast.GeneratorExp):
        return OnePass(GENERATOR, iter(results), len(results))
    return results


def _rounds(
    el: Elaboration, node: ast.ListComp | ast.GeneratorExp, generators: list[ast.comprehension], results: list[Value]
) -> bool:
    """Run the generators from the first on; False when the number of results is not known."""
    if not generators:
        if len(results) >= MAX_ITEMS:
            el.report("STEP221", node, "this list grows too long", f"at most {MAX_ITEMS} items")
            raise Abandon
        results.append(el.evaluate(node.elt))
        return True
    generator = generators[0]
    outer = el.frame.context
    value = el.evaluate(generator.iter)
    items = rounds(el, generator.iter, value) or UnknownSequence(UNKNOWN)
    endless = isinstance(items, UnknownSequence) and el.is_open(items)
    total = 1 if isinstance(items, UnknownSequence) else count_of(value)
    group, exact = object(), not isinstance(items, UnknownSequence)
    for index, item in enumerate([items.item] if isinstance(items, UnknownSequence) else items):
        el.step(node)
        el.frame.context = EvaluationContext(
            "comprehension",
            el.frame.code,
            outer,
            generator,
            [],
            group,
            index,
            total,
            endless,
            depth=outer.depth + 1,
        )
        el.bind(generator.target, item)
        kept: list[bool | None] = []
        for test in generator.ifs:
            if False in kept:  # as Python does: it evaluates no further test
                break
            kept.append(condition(el, test))
            if kept[-1] is not None:
                el.take(test, kept[-1])
        if False not in kept:
            exact = _rounds(el, node, generators[1:], results) and exact and None not in kept
        el.frame.context = outer
    return exact


def function_definition(el: Elaboration, node: ast.FunctionDef) -> FnDecl | FnClass | None:
    """Return what ``def`` inside a program makes besides a helper: an element function by ``@step.fn``."""
    return calls.decorated_function(el, node)


def _call(el: Elaboration, node: ast.Call) -> Value:
    if len(node.keywords) > 1 and (again := _repeated(node.keywords)) is not None:
        el.tell(miscalls.repeated_parameter(again.arg or ""), again)
        el.graph.complete = False
        el.suppress_unused = True
        return UNKNOWN
    func = node.func
    if type(func) is ast.Attribute:
        el.step(func)
        if func.attr == "apply" and type(func.value) is ast.Call:  # as in each line
            owner = el.evaluate(func.value)
            if isinstance(owner, (OperatorRef, OperatorValue)):
                return apply_operator(el, owner, node)
            return calls.call(el, _member(el, func, owner), node)
        callee = _attribute(el, func)
    else:
        callee = el.evaluate(func)
    if type(callee) is Method and isinstance(callee.owner, (OperatorRef, OperatorValue)):
        if isinstance(callee.owner, LoopValue):
            from stepcore.frontend import loops  # few programs have some

            el.hidden += 1
            return loops.call(el, callee.owner, callee.name, node)
        return apply_operator(el, callee.owner, node)
    return calls.call(el, callee, node)


def _repeated(keywords: Sequence[ast.keyword]) -> ast.keyword | None:
    """Return the keyword that stood before in a call; Python refuses a file with one only when it runs it."""
    names: set[str] = set()
    for keyword in keywords:
        if keyword.arg in names:
            return keyword
        if keyword.arg is not None:
            names.add(keyword.arg)
    return None


HANDLERS: dict[type[ast.expr], Callable[[Elaboration, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Dict: _dict,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _bool,
    ast.IfExp: _conditional,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
    ast.JoinedStr: _formatted,
    ast.Starred: _starred,
    ast.ListComp: _comprehension,
    ast.GeneratorExp: _comprehension,
}
