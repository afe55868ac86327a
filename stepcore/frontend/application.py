"""Application of operators: ``step.Op(params).apply(input)`` adds a node and consumes its streams."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from stepcore.findings.diagnostics import Edit, Fix
from stepcore.frontend.state import MAX_NESTING
from stepcore.frontend.values import (
    UNKNOWN,
    Alternatives,
    OnePass,
    OperatorRef,
    OperatorValue,
    StreamRef,
    TensorValue,
    UnknownSequence,
    Use,
    Value,
    is_stream,
    is_unknown,
)
from stepcore.graph.ir import Node
from stepcore.ops import miscalls
from stepcore.ops.calling import NOTHING, One, ParamKind
from stepcore.records import make
from stepcore.text.span import Span

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

# More branches than any selector has; keeps Partition(N=10**9) from filling memory.
MAX_BRANCHES = 1024


class ArgumentLeaf(NamedTuple):  # a tuple, because checking makes one for every argument
    """One value inside an argument: ``expr`` evaluates to it, or to ``whole``, which holds it at ``steps``."""

    expr: ast.expr
    steps: tuple[int, ...]
    value: Value
    whole: Value = None


def leaves(el: Elaboration, expr: ast.expr, value: Value) -> Iterable[ArgumentLeaf]:
    """Give what an argument consists of, in order, each with the smallest expression that yields it."""
    if not isinstance(value, (list, tuple)):
        return (make(ArgumentLeaf, (expr, (), value, None)),)  # as most are
    return _several(el, expr, value)


def _several(el: Elaboration, expr: ast.expr, value: list[Value] | tuple[Value, ...]) -> Iterator[ArgumentLeaf]:
    elements = expr.elts if isinstance(expr, (ast.Tuple, ast.List)) else ()
    if len(elements) == len(value) and ast.Starred not in map(type, elements):
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


def _inside(
    el: Elaboration, expr: ast.expr, whole: Value, value: Value, steps: tuple[int, ...]
) -> Iterator[ArgumentLeaf]:
    if not isinstance(value, list | tuple):
        yield ArgumentLeaf(expr, steps, value, whole)
        return
    el.charge(1)  # empty lists have no leaves that would count
    for position, item in enumerate(value):
        yield from _inside(el, expr, whole, item, (*steps, position))


def consume(el: Elaboration, leaf: ArgumentLeaf, node: int | None, expected: str) -> list[int]:
    """Record the consumption of a leaf and return its stream (nothing when it is none)."""
    value = leaf.value
    el.step(leaf.expr)  # tuples of tuples may hold more streams than anybody can count
    if isinstance(value, StreamRef):
        _use(el, leaf, value, el.path, node)
        return [value.index]
    if isinstance(value, Alternatives):
        for path, stream in value.options:
            _use(el, leaf, stream, (*el.path, *(arm for arm in path if arm not in el.path)), node)
        el.gives_away([value])
        el.graph.complete = False  # which one it is, only a run can tell
        return [value.options[0][1].index]
    el.gives_away(None)
    el.graph.complete = False
    if isinstance(value, UnknownSequence) and isinstance(value.item, StreamRef | Alternatives):
        consume(el, ArgumentLeaf(leaf.expr, leaf.steps, value.item), node, expected)
        return []
    if ParamKind.MEMORY.accepts(value):
        way_out = f"element functions read it by its name, and LinearOffChipLoad(tensor={value}, ...) by tiles"
        el.report("STEP205", leaf.expr, f"{expected}, and {value} is a parameter", way_out)
        return []
    is_told = isinstance(value, OperatorValue) and value.op is None
    is_told |= isinstance(value, OnePass) and value.is_generator and not el.takes_generators  # where it was made
    if value is UNKNOWN or is_told or isinstance(value, UnknownSequence | TensorValue):
        el.suppress_unused = True
        return []
    mistake = miscalls.no_stream(expected, leaf.expr, value, el)
    el.tell(mistake, leaf.expr, el.replacing(leaf.expr, mistake.meant) if mistake.meant else None)
    return []


def _use(
    el: Elaboration, leaf: ArgumentLeaf, stream: StreamRef, path: tuple[tuple[int, int], ...], node: int | None
) -> None:
    el.uses.append(Use(stream.index, leaf.expr, leaf.steps, el.frame.context, path, node, leaf.whole))


def apply_operator(el: Elaboration, owner: OperatorRef | OperatorValue, call: ast.Call) -> Value:
    """Add the node of ``owner.apply(...)`` and return its output streams."""
    if isinstance(owner, OperatorValue):
        made, ref = owner, owner.ref
    else:
        made, ref = OperatorValue(owner, None, {}, {}, el.span(call.func)), owner
        el.tell(miscalls.without_parameters(ref.name, None if ref.cls is None else ref.cls.calling, el), call.func)
    argument, value = _argument(el, call, owner, ref)
    graph, op = el.graph, made.op
    name = ref.cls.__name__ if ref.cls is not None else ref.name
    alias = ref.name if ref.name != name else ""
    node = Node(
        len(graph.nodes), name, None, (), (), el.span(call), made.span, made.param_spans, (), made.params, alias
    )  # fmt: skip
    graph.nodes.append(node)
    # Elaboration may stop between here and there: what has an operator has its inputs, too.
    if _inputs(el, node, ref, argument, value):
        node.op = op
    if node.op is None:
        graph.complete = False
    return _outputs(el, node, ref, node.params)


def _argument(
    el: Elaboration, call: ast.Call, owner: OperatorRef | OperatorValue, ref: OperatorRef
) -> tuple[ast.expr | None, Value]:
    """Return what ``.apply(...)`` gets, with its value; several arguments are taken as the tuple they should be.

    Where it gets nothing, the value is ``()`` if the operator takes none.
    """
    if len(call.args) == 1 and not call.keywords:
        return call.args[0], el.evaluate(call.args[0])  # as nearly all do
    el.hidden += 1
    given = [*call.args, *(k.value for k in call.keywords if k.arg == "input")]
    others = [keyword for keyword in call.keywords if keyword.arg not in ("input", "name")]
    values = [(node, el.evaluate(node)) for node in given]
    named = [(keyword, el.evaluate(keyword.value)) for keyword in others]
    for keyword in call.keywords:
        if keyword.arg == "name":
            _name(el, keyword.value)
    is_free = ref.cls is not None and NOTHING in ref.cls.inputs.ways
    if named and not _misplaced(el, call, owner, ref, named) and not given:
        return None, UNKNOWN
    if not values:
        if not others and not is_free and ref.cls is not None:  # of an unknown one that was said
            el.tell(miscalls.no_input(ref.name), call)
        return None, () if is_free else UNKNOWN
    has_name = any(keyword.arg == "name" for keyword in call.keywords)
    if len(values) == 1 or (len(values) == 2 and not has_name and isinstance(values[1][1], str)):
        return values[0]
    node = ast.copy_location(ast.Tuple(given, ast.Load()), given[0])
    node.end_lineno, node.end_col_offset = given[-1].end_lineno, given[-1].end_col_offset
    value = tuple(value for _, value in values)
    if ref.cls is None or ref.cls.inputs.fits(value, is_stream):  # otherwise that is said, and this with it
        el.tell(miscalls.several_arguments(ref.name, node, el), given[1], _in_a_tuple(el, call, ref))
    return node, value


def _name(el: Elaboration, node: ast.expr) -> None:
    """Report what is given as ``name=`` and is no text: nothing looks at it, but Python computes it."""
    value = el.evaluate(node)
    if value is not None and not isinstance(value, str) and not is_unknown(value):
        el.gives_away([value])
        el.report("STEP224", node, f"{el.what(node, value)}, and a name is a text", "write a text, or leave name= out")


def _misplaced(
    el: Elaboration,
    call: ast.Call,
    owner: OperatorRef | OperatorValue,
    ref: OperatorRef,
    named: list[tuple[ast.keyword, Value]],
) -> bool:
    """Report keywords that ``.apply`` does not take, once; True where they are the operator's parameters."""
    keywords = [keyword for keyword, _ in named]
    where = el.span(keywords[0]).cover(el.span(keywords[-1]))
    mistake = miscalls.wrong_keywords(ref.name, None if ref.cls is None else ref.cls.calling, call, named, el)
    fix = None
    if mistake.meant and len(call.keywords) == len(named):
        fix = el.replacing(where, mistake.meant, "Leave the names out")
    is_misplaced = {keyword.arg for keyword in keywords} <= (ref.cls.calling.by_name.keys() if ref.cls else set())
    if is_misplaced and isinstance(owner, OperatorValue):
        el.retract("STEP203", owner.span)  # that it lacks them is the same mistake
    el.tell(mistake, where, fix)
    return is_misplaced


def _in_a_tuple(el: Elaboration, call: ast.Call, ref: OperatorRef) -> Fix | None:
    """Return the edit that makes one tuple of all arguments, where that is what the operator takes."""
    if ref.cls is None or call.keywords or any(isinstance(argument, ast.Starred) for argument in call.args):
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
        return isinstance(value, tuple)  # there is none to take
    if type(value) is StreamRef and ref.cls is not None and ref.cls.inputs.takes_one:  # as most are
        el.step(argument)
        el.uses.append(Use(value.index, argument, (), el.frame.context, el.path, node.index, None))
        node.inputs, node.input_spans = (value.index,), (el.span(argument),)
        return True
    indices: list[int] = []
    spans: list[Span] = []
    complete, expected = True, f"{ref.name} takes streams"
    for leaf in leaves(el, argument, value):
        found = consume(el, leaf, node.index, expected)
        indices += found
        spans += [el.span(leaf.expr)] * len(found)
        complete = complete and bool(found)
    node.inputs, node.input_spans = tuple(indices), tuple(spans)
    if not complete or ref.cls is None:
        return False
    if ref.cls.inputs.fits(value, is_stream):
        return True
    mistake = miscalls.wrong_structure(ref.name, ref.cls.calling, argument, value, el)
    title = "Pass the stream itself" if is_stream(value) or len(value) < 2 else "Put the branches in a list"
    el.tell(mistake, argument, el.replacing(argument, mistake.meant, title) if mistake.meant else None)
    return False


def _outputs(el: Elaboration, node: Node, ref: OperatorRef, params: dict[str, Any]) -> Value:
    if ref.cls is None:
        return UNKNOWN
    outputs, number = ref.cls.outputs.of(params), 0
    if type(outputs.structure) is One:  # as of most
        only = el.new_stream("", node.span, node.index, 0)
        node.outputs = (only.index,)
        return only
    if by := outputs.counted_by:
        count = el.integer(params.get(by, ref.cls.calling.defaults.get(by)))
        if count is None or count < 1:
            el.suppress_unused = True
            if node.op is None or count is not None:  # a finding says why, or the operator's rule does
                return UNKNOWN
            return UnknownSequence(el.new_stream("", node.span, node.index, 0))
        if count > MAX_BRANCHES:
            span = node.param_spans.get(by, node.op_span)
            el.report("STEP221", span, f"{count} branches are too many", f"at most {MAX_BRANCHES}")
            node.op, el.graph.complete, el.suppress_unused = None, False, True  # nobody makes a list of their types
            return UNKNOWN
        number = count
    refs = [el.new_stream("", node.span, node.index, slot) for slot in range(outputs.count(number))]
    node.outputs = tuple([ref.index for ref in refs])
    return outputs.shape(refs)
