"""Loops in programs: ``loop.apply()`` and ``loop.close(y)``, each once, in the body that makes the loop."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stepcore.findings.diagnostics import Related
from stepcore.frontend.application import apply_operator, consume, leaves
from stepcore.frontend.values import UNKNOWN, LoopValue, Path, StreamRef, Value, is_stream
from stepcore.graph.ir import Node
from stepcore.graph.loops import FeedbackEnd
from stepcore.ops import misloops
from stepcore.text.span import Span

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


def call(el: Elaboration, loop: LoopValue, method: str, node: ast.Call) -> Value:
    """Return the value of a call of one of the two methods of a loop."""
    assert isinstance(node.func, ast.Attribute), "it is a method"
    name = el.text(node.func.value)
    if loop.body is not el.frame:
        text = f"{name} is a loop of another body, and a loop is applied and closed in the one that makes it"
        el.report("STEP229", node.func, text, "make, apply and close it in one function")
        loop.ended.append((el.path, el.span(node)))  # that it is not closed at home is the same mistake
        el.graph.complete, el.suppress_unused = False, True
        return UNKNOWN
    return _apply(el, loop, name, node) if method == "apply" else _close(el, loop, name, node)


def _apply(el: Elaboration, loop: LoopValue, name: str, node: ast.Call) -> Value:
    again, found = loop.stream >= 0, apply_operator(el, loop, node)
    if again:
        el.tell(misloops.applied_twice(name, el.operator("Copy")), node.func)
        el.graph.complete, el.suppress_unused = False, True
        return UNKNOWN
    if isinstance(found, StreamRef):
        loop.stream = found.index
    if loop.early is not None and not _excludes(loop.early[0], el.path):
        _, closing, where = loop.early
        el.tell(misloops.from_elsewhere(el.graph.streams[closing.index].name), where)
    return found


def _close(el: Elaboration, loop: LoopValue, name: str, node: ast.Call) -> None:
    given = [*node.args, *(each.value for each in node.keywords if each.arg == "input")]
    others = [each for each in node.keywords if each.arg != "input"]
    if len(given) != 1 or others:
        for argument in (*given, *(each.value for each in others)):
            el.evaluate(argument)
        what = f"{len(given)} streams" if len(given) > 1 else "no stream" if not given else f"{others[0].arg}="
        el.tell(misloops.closed_by(name, f"found {what}"), node)
        return _leave(el, loop, node)
    (argument,) = given
    value = el.evaluate(argument)
    graph = el.graph
    made = Node(len(graph.nodes), FeedbackEnd.__name__, None, (), (), el.span(node), el.span(node.func))
    made.alias = f"{name}.close"
    graph.nodes.append(made)
    for leaf in leaves(el, argument, value):
        found = consume(el, leaf, made.index, f"{name}.close takes one stream")
        made.inputs += tuple(found)
        made.input_spans += (el.span(leaf.expr),) * len(found)
    if len(made.inputs) > 1 or (made.inputs and not is_stream(value)):
        el.tell(misloops.closed_by(name, f"and {el.what(argument, value)}"), argument)
    elif made.inputs and loop.stream >= 0:
        made.op = FeedbackEnd.made({"source": loop.stream})
    elif type(value) is StreamRef:  # if it is applied further down, this does not come from it
        loop.early = (el.path, value, el.span(argument))
    if made.op is None:
        graph.complete = False
    before = next((span for path, span in loop.ended if not _excludes(path, el.path)), None)
    if before is not None:
        related = (Related(before, f"{name} is closed here first"),)
        twice = misloops.closed_twice(name, el.operator("EagerMerge"))
        el.report(twice.code, node, twice.text, twice.way_out, related)
    if loop.ended or el.path:  # which of several it is, only a run can tell
        graph.complete = False
    loop.ended.append((el.path, el.span(node)))
    return None


def _leave(el: Elaboration, loop: LoopValue, node: ast.Call) -> None:
    loop.ended.append((el.path, el.span(node)))
    el.graph.complete = False


def _excludes(one: Path, other: Path) -> bool:
    """Return whether two places stand in different arms of a branch."""
    arms = dict(one)
    return any(arms.get(branch, arm) != arm for branch, arm in other)


def finish(el: Elaboration) -> None:
    """Report the loops that are not applied and closed: what is left out may have done it."""
    for loop in el.loops:
        if el.suppress_unused or loop.op is None or (loop.stream >= 0 and loop.ended):
            continue
        el.graph.complete = False
        where: Span = loop.span
        if loop.ended:
            el.tell(misloops.unread(), where)
        elif loop.stream >= 0:
            text = "this loop is never closed, so nothing comes back by it"
            el.report("STEP229", where, text, "end it with loop.close(STREAM) in the same body")
        else:
            text = "this loop is neither applied nor closed"
            way_out = "its stream is loop.apply(), and loop.close(STREAM) says what comes back; or remove it"
            el.report("STEP229", where, text, way_out)
