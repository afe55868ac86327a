"""Application of operators: ``step.Op(params).apply(input)`` adds a node and consumes its streams."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from stepcore.diagnostics import Edit, Fix
from stepcore.frontend.state import MAX_NESTING
from stepcore.frontend.values import (
    UNKNOWN,
    Alternatives,
    OperatorRef,
    OperatorValue,
    StreamRef,
    UnknownSequence,
    Use,
    Value,
    describe,
)
from stepcore.ir import Node
from stepcore.ops.base import InputKind, OutputKind
from stepcore.span import Span

if TYPE_CHECKING:
    from stepcore.frontend.elaborate import Elaborator

# More branches than any selector has; keeps Partition(N=10**9) from filling memory.
MAX_BRANCHES = 1024


@dataclass(frozen=True, slots=True)
class Leaf:
    """One value inside an argument: ``expr`` evaluates to it, or to ``whole``, which holds it at ``steps``."""

    expr: ast.expr
    steps: tuple[int, ...]
    value: Value
    whole: Value = None


def leaves(el: Elaborator, expr: ast.expr, value: Value) -> Iterator[Leaf]:
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


def _freeze(el: Elaborator, expr: ast.expr, value: Value, done: dict[int, Value], depth: int) -> Value:
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


def _inside(el: Elaborator, expr: ast.expr, whole: Value, value: Value, steps: tuple[int, ...]) -> Iterator[Leaf]:
    if not isinstance(value, list | tuple):
        yield Leaf(expr, steps, value, whole)
        return
    el.charge(1)  # empty lists have no leaves that would count
    for position, item in enumerate(value):
        yield from _inside(el, expr, whole, item, (*steps, position))


def consume(el: Elaborator, leaf: Leaf, node: int | None, expected: str) -> list[int]:
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
    if value is UNKNOWN or isinstance(value, UnknownSequence):
        el.suppress_unused = True
        return []
    el.report("STEP205", leaf.expr, f"{expected}, and this is {describe(value)}", "pass a stream")
    return []


def _use(el: Elaborator, leaf: Leaf, stream: StreamRef, path: tuple[tuple[int, int], ...], node: int | None) -> None:
    el.uses.append(Use(stream.index, leaf.expr, leaf.steps, el.frame.context, path, node, leaf.whole))


def apply_operator(el: Elaborator, owner: OperatorRef | OperatorValue, call: ast.Call) -> Value:
    """Add the node of ``owner.apply(...)`` and return its output streams."""
    made = owner if isinstance(owner, OperatorValue) else None
    ref = owner.ref if isinstance(owner, OperatorValue) else owner
    if made is None:
        how = ", ".join(f"{param.name}=..." for param in (ref.cls.params if ref.cls else ()))
        way_out = f"write {ref.name}({how}).apply(...)"
        el.report("STEP203", call.func, f"{ref.name} is applied without its parameters", way_out)
    argument, value = _argument(el, call, ref)
    graph = el.graph
    index = len(graph.nodes)
    op = params = param_spans = None
    if made is not None:
        op, params, param_spans = made.op, made.params, made.param_spans
    op_span = made.span if made is not None else el.span(call.func)
    node = Node(index, ref.name, op, (), (), el.span(call), op_span, param_spans or {}, (), params or {})
    graph.nodes.append(node)
    known = _inputs(el, node, ref, argument, value)
    if not known or op is None:
        graph.complete = False
        node.op = op if known else None
    return _outputs(el, node, ref, node.params)


def _argument(el: Elaborator, call: ast.Call, ref: OperatorRef) -> tuple[ast.expr | None, Value]:
    name = ref.name
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "input")]
    for keyword in call.keywords:
        if keyword.arg not in ("input", "name"):
            el.report("STEP205", keyword, "`.apply` takes the streams, and a name", "pass the streams in one tuple")
    for extra in given[2:] if any(k.arg == "name" for k in call.keywords) is False else given[1:]:
        el.evaluate(extra)
    if not given:
        el.report("STEP205", call, f"{name} is applied to nothing", "pass its input to .apply(...)")
        return None, UNKNOWN
    values = [(node, el.evaluate(node)) for node in given[:2]]
    if len(values) == 2 and not isinstance(values[1][1], str):
        takes_several = ref.cls is None or ref.cls.inputs is not InputKind.ONE
        way_out = "put them in a tuple" if takes_several else "Zip several streams into one first"
        fix = _in_a_tuple(el, call, ref)
        el.report("STEP205", given[1], f"{name}.apply takes its streams as one argument", way_out, fix=fix)
        node = ast.copy_location(ast.Tuple(given, ast.Load()), call)
        return node, tuple(value for _, value in values)
    return values[0]


def _in_a_tuple(el: Elaborator, call: ast.Call, ref: OperatorRef) -> Fix | None:
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


def _inputs(el: Elaborator, node: Node, ref: OperatorRef, argument: ast.expr | None, value: Value) -> bool:
    """Consume the inputs into ``node``; False when their structure is not what the operator takes."""
    if argument is None:
        return False
    indices: list[int] = []
    spans: list[Span] = []
    complete = True
    for leaf in leaves(el, argument, value):
        found = consume(el, leaf, node.index, f"{ref.name} consumes streams")
        indices.extend(found)
        spans.extend(el.span(leaf.expr) for _ in found)
        complete = complete and bool(found)
    node.inputs, node.input_spans = tuple(indices), tuple(spans)
    if not complete or ref.cls is None:
        return False
    problem = _structure_problem(ref.cls.inputs, value)
    if problem:
        found_text = "one stream" if isinstance(value, StreamRef) else f"{describe(value)} of {len(value)}"
        el.report("STEP205", argument, f"{ref.name} takes {ref.cls.inputs.value}, and this is {found_text}", problem)
    return not problem


def _structure_problem(kind: InputKind, value: Value) -> str:
    """Return a way out when ``value`` does not have the structure of ``kind``, else an empty text."""
    is_stream = isinstance(value, StreamRef | Alternatives)
    match kind:
        case InputKind.ONE:
            return "" if is_stream else "Zip several streams into one first"
        case InputKind.ONE_OR_TUPLE:
            ok = is_stream or (_all_streams(value) and len(value) >= 2)
            return "" if ok else "pass a stream, or a tuple of at least two"
        case InputKind.PAIR:
            return "" if not is_stream and _all_streams(value) and len(value) == 2 else "write .apply((A, B))"
        case InputKind.BRANCHES_AND_SELECTOR:
            ok = not is_stream and len(value) == 2 and not isinstance(value[0], StreamRef | Alternatives)
            ok = ok and _all_streams(value[0]) and isinstance(value[1], StreamRef | Alternatives)
            return "" if ok else "write .apply(([A, B], SELECTOR))"


def _all_streams(value: Value) -> bool:
    return bool(value) and all(isinstance(item, StreamRef | Alternatives) for item in value)


def _outputs(el: Elaborator, node: Node, ref: OperatorRef, params: dict[str, Any]) -> Value:
    if ref.cls is None:
        return UNKNOWN
    kind = ref.cls.outputs
    if kind is OutputKind.LIST:
        count = el.integer(params.get("N"))
        if count is None or count < 1:
            el.suppress_unused = True
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
