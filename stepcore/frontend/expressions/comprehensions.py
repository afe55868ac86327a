"""Comprehensions, and the values of each of their rounds."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from stepcore.fn.prelude import comprehension_names
from stepcore.frontend.expressions.conditions import condition
from stepcore.frontend.sequences import MAX_ITEMS, count_of, rounds
from stepcore.frontend.state import Abandon
from stepcore.frontend.values import GENERATOR, UNKNOWN, EvaluationContext, OnePass, Scope, UnknownSequence, Value

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration


def evaluate_starred(el: Elaboration, node: ast.Starred) -> Value:
    """Report a star outside lists, tuples and calls, which take theirs apart themselves."""
    el.report("STEP220", node, "a star is not possible here", "use it inside a list, a tuple or a call")
    return UNKNOWN


def evaluate_comprehension(el: Elaboration, node: ast.ListComp | ast.GeneratorExp) -> Value:
    """Return the list of a comprehension or what a generator yields, each round in a scope of its own."""
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
    if len(generators) > 1:  # what the first goes over is evaluated outside, and all that follows inside
        el.frame.scope.own |= comprehension_names(generators)
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
