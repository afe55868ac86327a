"""Application of operators: ``step.Op(params).apply(input)`` adds a node and consumes its streams."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stepcore.findings.diagnostics import Edit, Fix
from stepcore.frontend import structure
from stepcore.frontend.state import MAX_NESTING, MAX_WRITTEN
from stepcore.frontend.values import (
    UNKNOWN,
    Alternatives,
    OperatorRef,
    OperatorValue,
    StreamRef,
    UnknownSequence,
    Use,
    Value,
    is_stream,
)
from stepcore.graph.ir import Node
from stepcore.ops.base import InputKind, OutputKind
from stepcore.text.span import Span
from stepcore.text.wording import clipped

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

# More branches than any selector has; keeps Partition(N=10**9) from filling memory.
MAX_BRANCHES = 1024


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value inside an argument: ``expr`` evaluates to it, or to ``whole``, which holds it at ``steps``."""

    expr: ast.expr
    steps: tuple[int, ...]
    value: Value
    whole: Value = None


def leaves(el: Elaboration, expr: ast.expr, value: Value) -> Iterator[Leaf]:
    """Yield what an argument consists of, in order, each with the smallest expression that yields it."""
    if not isinstance(value, list | tuple):
        yield Leaf(expr, (), value)
        return
    elements = expr.elts if isinstance(expr, ast.Tuple | ast.List) else []
    if len(elements) == len(value) and not any(isinstance(element, ast.Starred) for element in elements):
        for element, item in zip(elements, value, strict=True):
            yield from leaves(el, element, item)
    else:
        frozen = _freeze(el, expr, value, {}, MAX_NESTING)  # the list may change after this use
        yield from _inside(el, expr, frozen, frozen, ())


def _freeze(el: Elaboration, expr: ast.expr, value: Value, done: dict[int, Value], depth: int) -> Value:
    """Return a copy of nested lists; ``done`` keeps shared ones shared, so that the copy is no larger."""
    if not isinstance(value, list | tuple):
        return value
    if not depth:
        el.report("STEP221", expr, "these lists are nested too deeply", f"at most {MAX_NESTING} inside each other")
        return UNKNOWN
    if id(value) not in done:
        el.charge(len(value))
        items = [_freeze(el, expr, item, done, depth - 1) for item in value]
        done[id(value)] = items if isinstance(value, list) else tuple(items)
    return done[id(value)]


def _inside(el: Elaboration, expr: ast.expr, whole: Value, value: Value, steps: tuple[int, ...]) -> Iterator[Leaf]:
    if not isinstance(value, list | tuple):
        yield Leaf(expr, steps, value, whole)
        return
    el.charge(1)  # empty lists have no leaves that would count
    for position, item in enumerate(value):
        yield from _inside(el, expr, whole, item, (*steps, position))


def consume(el: Elaboration, leaf: Leaf, node: int | None, expected: str) -> list[int]:
    """Record the consumption of a leaf and return its stream (nothing when it is none)."""
    value = leaf.value
    el.step(leaf.expr)  # tuples of tuples may hold more streams than anybody can count
    if isinstance(value, StreamRef):
        _use(el, leaf, value, el.path, node)
        return [value.index]
    if isinstance(value, Alternatives):
        for path, stream in value.options:
            _use(el, leaf, stream, (*el.path, *(arm for arm in path if arm not in el.path)), node)
        el.graph.complete = False  # which one it is, only a run can tell
        return [value.options[0][1].index]
    el.graph.complete = False
    if isinstance(value, UnknownSequence) and isinstance(value.item, StreamRef | Alternatives):
        consume(el, Leaf(leaf.expr, leaf.steps, value.item), node, expected)
        return []
    if value is UNKNOWN and isinstance(leaf.expr, ast.Name) and leaf.expr.id in el.weights:
        text = f"{expected}, and {leaf.expr.id} is a parameter"
        el.report("STEP205", leaf.expr, text, f"element functions read it by its name, {leaf.expr.id}")
        return []
    is_told = isinstance(value, OperatorValue) and value.op is None
    if value is UNKNOWN or is_told or isinstance(value, UnknownSequence):
        el.suppress_unused = True
        return []
    text = f"{expected}, and {el.what(leaf.expr, value)}"
    way_out, fix = structure.instead_of_stream(el, leaf.expr, value)
    el.report("STEP205", leaf.expr, text, way_out, fix=fix)
    return []


def _use(el: Elaboration, leaf: Leaf, stream: StreamRef, path: tuple[tuple[int, int], ...], node: int | None) -> None:
    el.uses.append(Use(stream.index, leaf.expr, leaf.steps, el.frame.context, path, node, leaf.whole))


def apply_operator(el: Elaboration, owner: OperatorRef | OperatorValue, call: ast.Call) -> Value:
    """Add the node of ``owner.apply(...)`` and return its output streams."""
    made = owner if isinstance(owner, OperatorValue) else None
    ref = owner.ref if isinstance(owner, OperatorValue) else owner
    if made is None:
        how = ", ".join(f"{param.name}=..." for param in (ref.cls.params if ref.cls else ()))
        way_out = f"write {el.operator(ref.name)}({how}).apply(...)"
        el.report("STEP203", call.func, f"{ref.name} is applied without its parameters", way_out)
    argument, value = _argument(el, call, owner, ref)
    graph = el.graph
    index = len(graph.nodes)
    op = params = param_spans = None
    if made is not None:
        op, params, param_spans = made.op, made.params, made.param_spans
    op_span = made.span if made is not None else el.span(call.func)
    name = ref.cls.__name__ if ref.cls is not None else ref.name
    alias = ref.name if ref.name != name else ""
    node = Node(index, name, op, (), (), el.span(call), op_span, param_spans or {}, (), params or {}, alias)
    graph.nodes.append(node)
    known = _inputs(el, node, ref, argument, value)
    if not known or op is None:
        graph.complete = False
        node.op = op if known else None
    return _outputs(el, node, ref, node.params)


def _argument(
    el: Elaboration, call: ast.Call, owner: OperatorRef | OperatorValue, ref: OperatorRef
) -> tuple[ast.expr | None, Value]:
    """Return what ``.apply(...)`` gets, with its value; several arguments are taken as the tuple they should be."""
    if len(call.args) == 1 and not call.keywords:
        return call.args[0], el.evaluate(call.args[0])  # as nearly all do
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "input")]
    others = [keyword for keyword in call.keywords if keyword.arg not in ("input", "name")]
    has_name = any(keyword.arg == "name" for keyword in call.keywords)
    values = [(node, el.evaluate(node)) for node in given]
    named = [(keyword, el.evaluate(keyword.value)) for keyword in others]
    if others and not _misplaced(el, call, owner, ref, named) and not given:
        return None, UNKNOWN
    if not values:
        if not others:
            el.report("STEP205", call, f"{ref.name} is applied to nothing", "pass its input to .apply(...)")
        return None, UNKNOWN
    if len(values) == 1 or (len(values) == 2 and not has_name and isinstance(values[1][1], str)):
        return values[0]
    node = ast.copy_location(ast.Tuple(given, ast.Load()), given[0])
    node.end_lineno, node.end_col_offset = given[-1].end_lineno, given[-1].end_col_offset
    value = tuple(value for _, value in values)
    if ref.cls is None or _has_structure(ref.cls.inputs, value):  # otherwise that is said, and this with it
        fix = _in_a_tuple(el, call, ref)
        message = f"{ref.name}.apply takes its streams as one argument"
        el.report("STEP205", given[1], message, f"write .apply(({el.text(node)}))", fix=fix)
    return node, value


def _misplaced(
    el: Elaboration,
    call: ast.Call,
    owner: OperatorRef | OperatorValue,
    ref: OperatorRef,
    named: list[tuple[ast.keyword, Value]],
) -> bool:
    """Report keywords that ``.apply`` does not take, once; True where they are the operator's parameters."""
    params = {param.name for param in (ref.cls.params if ref.cls else ())}
    keywords = [keyword for keyword, _ in named]
    names = ", ".join(keyword.arg or "**" for keyword in keywords)
    where = el.span(keywords[0]).cover(el.span(keywords[-1]))
    if {keyword.arg for keyword in keywords} <= params:
        parameters = ", ".join(el.text(keyword, MAX_WRITTEN) for keyword in keywords)
        text = f"{names} {'belongs' if len(keywords) == 1 else 'belong'} to {ref.name}, not to its .apply"
        given = ", ".join(el.text(argument) for argument in call.args) or "..."
        if isinstance(owner, OperatorValue):
            el.retract("STEP203", owner.span)  # that it lacks them is the same mistake
        el.report("STEP205", where, text, f"write {el.operator(ref.name)}({clipped(parameters, 80)}).apply({given})")
        return True
    streams = [keyword.value for keyword, value in named if is_stream(value)]
    if len(streams) == len(named) and not call.args:
        shown = ", ".join(el.text(stream) for stream in streams)
        shown = f"({shown})" if len(streams) > 1 else shown
        fix = el.replacing(where, shown, "Leave the names out") if len(call.keywords) == len(named) else None
        text = f"the inputs of {ref.name} have no names, and these are called {names}"
        el.report("STEP205", where, text, f"write .apply({shown})", fix=fix)
    else:
        el.report("STEP205", where, f"{ref.name}.apply takes no {names}", "it takes the streams, and name=...")
    return False


def _in_a_tuple(el: Elaboration, call: ast.Call, ref: OperatorRef) -> Fix | None:
    """Return the edit that makes one tuple of all arguments, where that is what the operator takes."""
    if ref.cls is None or call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    if ref.cls.inputs is InputKind.ONE or (ref.cls.inputs is not InputKind.ONE_OR_TUPLE and len(call.args) != 2):
        return None
    # What stands in brackets of its own is longer than its node says: go by the brackets of the call.
    written = ast.get_source_segment(el.frame.code.text, call) or ""
    if not written.startswith("(", len(ast.get_source_segment(el.frame.code.text, call.func) or "")):
        return None
    first, last = el.span(call.func).end + 1, el.span(call).end - 1
    return Fix("Put the streams in a tuple", (Edit(Span(first, first), "("), Edit(Span(last, last), ")")))


def _inputs(el: Elaboration, node: Node, ref: OperatorRef, argument: ast.expr | None, value: Value) -> bool:
    """Consume the inputs into ``node``; False when their structure is not what the operator takes."""
    if argument is None:
        return False
    indices: list[int] = []
    spans: list[Span] = []
    complete = True
    for leaf in leaves(el, argument, value):
        found = consume(el, leaf, node.index, f"{ref.name} takes streams")
        indices.extend(found)
        spans.extend(el.span(leaf.expr) for _ in found)
        complete = complete and bool(found)
    node.inputs, node.input_spans = tuple(indices), tuple(spans)
    if not complete or ref.cls is None:
        return False
    if _has_structure(ref.cls.inputs, value):
        return True
    el.report("STEP205", argument, *structure.complaint(el, ref, argument, value), fix=structure.fix(el, ref, argument))
    return False


def _has_structure(kind: InputKind, value: Value) -> bool:
    one = is_stream(value)
    match kind:
        case InputKind.ONE:
            return one
        case InputKind.ONE_OR_TUPLE:
            return one or (_all_streams(value) and len(value) >= 2)
        case InputKind.PAIR:
            return not one and _all_streams(value) and len(value) == 2
        case InputKind.BRANCHES_AND_SELECTOR:
            if one or len(value) != 2 or not isinstance(value[0], list | tuple):
                return False
            return _all_streams(value[0]) and is_stream(value[1])


def _all_streams(value: Value) -> bool:
    return bool(value) and all(map(is_stream, value))


def _outputs(el: Elaboration, node: Node, ref: OperatorRef, params: dict[str, Any]) -> Value:
    if ref.cls is None:
        return UNKNOWN
    kind = ref.cls.outputs
    if kind is OutputKind.LIST:
        count = el.integer(params.get("N"))
        if count is None or count < 1:
            el.suppress_unused = True
            if node.op is None:  # a finding says why
                return UNKNOWN
            return UnknownSequence(el.new_stream("", node.span, node.index, 0))
        if count > MAX_BRANCHES:
            span = node.param_spans.get("N", node.op_span)
            el.report("STEP221", span, f"{count} branches are too many", f"at most {MAX_BRANCHES}")
            return UNKNOWN
    else:
        count = 1 if kind is OutputKind.ONE else 2
    refs = [el.new_stream("", node.span, node.index, slot) for slot in range(count)]
    node.outputs = tuple(ref.index for ref in refs)
    if kind is OutputKind.ONE:
        return refs[0]
    return tuple(refs) if kind is OutputKind.PAIR else refs
