"""The fix of an affine finding: the edits that insert the missing ``Copy`` operators.

The uses of one stream are followed up to the innermost *level* (a function body, a loop round) that holds them all.
There each use is one *claim*: a direct one, a call of a helper that takes the stream, or a loop whose rounds all take
it. Copies are made before the first statement with a claim, and each claim gets its own: an argument is replaced
by a name, a loop runs over a list of copies besides its items. Claims with several uses inside are solved inside.
Every fix that does more than to name copies is tried out by its caller before it is offered.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections.abc import Iterator
from itertools import count, islice

from stepcore.check.affine import Overuse, common_context, exclude
from stepcore.check.rewriting import (
    FreshNames,
    NoFix,
    Replay,
    base_name,
    enclosed,
    is_pure,
    only_applies,
    operator_text,
    stem,
    text_before,
)
from stepcore.findings.diagnostics import Edit, Fix
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.syntax import node_span
from stepcore.frontend.values import EvaluationContext, Path, Use, Value, find_stream
from stepcore.records import Record
from stepcore.text.span import Embedded, Span

__all__ = ["CopyFix", "ExpressionPlace", "FreshNames", "NoFix", "first_statement", "literal", "text_at"]


class Claim:
    """Uses that one expression of a level stands for; those of a loop or call have its context as ``child``."""

    def __init__(self, uses: list[Use], child: EvaluationContext | None = None) -> None:
        self.uses = uses
        self.child = child
        self.slots: list[int] = []

    @property
    def is_loop(self) -> bool:
        """True for a loop whose rounds consume the stream."""
        return self.child is not None and self.child.kind in ("loop", "comprehension")


class ExpressionPlace(Record):
    """An expression in the text, with the structure it evaluates to and where the stream lies in it."""

    code: Embedded
    expr: ast.expr
    steps: tuple[int, ...]
    whole: Value


class CopyFix:
    """Builds the fix of one overuse."""

    def __init__(self, el: Elaborator, over: Overuse, names: FreshNames) -> None:
        self.el = el
        self.over = over
        self._names = names
        self._made: dict[int, list[list[str]]] = {}  # fresh names by the text of the level that got them
        self.edits: list[Edit] = []
        self.is_direct = True
        self._replaced: dict[tuple[int, Span], tuple[ExpressionPlace, dict[tuple[int, ...], str]]] = {}

    def build(self) -> Fix:
        """Return the fix, or raise :class:`NoFix`."""
        self._solve(common_context(self.over.uses), self.over.uses, None)
        for place, names in self._replaced.values():
            self.edits.append(Edit(node_span(place.code, place.expr), literal(place, names)))
            self.is_direct = self.is_direct and is_pure(place.expr)
        if not all(use.context.code.verbatim for use in self.over.uses):
            raise NoFix
        copies = self.over.needed - 1
        name = self.el.graph.streams[self.over.stream].name or "the stream"
        title = f"Insert Copy for {name}" if copies == 1 else f"Insert {copies} Copy operators for {name}"
        return Fix(title, _joined(self.edits))

    def _solve(self, level: EvaluationContext, uses: list[Use], source: str | None) -> None:
        """Give every use below ``level`` a stream of its own; ``source`` names the one to begin with."""
        claims = _claims(level, uses)
        needed = _assign(claims)
        # A helper or a loop round serves other streams too, which may be named by other expressions.
        self.is_direct = self.is_direct and level.kind == "root"
        fresh = Replay(self._names, self._made.setdefault(id(level.body or level.node), []))
        names: list[str] = [] if source is None else [source] * needed
        if needed > 1:
            origin = source or text_at(self._origin(level, claims[0]))
            names = fresh.make(base_name(origin), needed)
            self._insert(level, claims, list(_chain(operator_text(self.el, "Copy"), origin, names, fresh)))
        for claim in claims:
            self._give(level, claim, [names[slot] for slot in claim.slots] if names else [], fresh)

    def _give(self, level: EvaluationContext, claim: Claim, names: list[str], fresh: FreshNames) -> None:
        if claim.child is None:
            use = claim.uses[0]
            if names:
                self._replace(ExpressionPlace(level.code, use.expr, use.steps, use.whole), names[0])
            return
        if claim.is_loop:
            self._give_rounds(claim.child, claim.uses, names, fresh)
            return
        if names:
            self._replace(self._argument(level, claim.child), names[0])
        self._solve(common_context(claim.uses), claim.uses, None)

    def _give_rounds(self, loop: EvaluationContext, uses: list[Use], names: list[str], fresh: FreshNames) -> None:
        source = next(iter(names), None)
        if len(names) > 1:
            source = fresh.one(stem(names))
            self._widen(loop, source, names)
        rounds: dict[int, tuple[EvaluationContext, list[Use]]] = {}
        for use in uses:
            context = _below(loop.parent, use.context)
            rounds.setdefault(id(context), (context, []))[1].append(use)
        for context, own in rounds.values():
            self._solve(context, own, source)

    def _widen(self, loop: EvaluationContext, variable: str, names: list[str]) -> None:
        """Let the loop run over its items and the copies side by side."""
        node = loop.node
        assert isinstance(node, ast.For | ast.comprehension)  # only these tell how many rounds there are
        target, over = node_span(loop.code, node.target), node_span(loop.code, node.iter)
        self.edits.append(Edit(target, f"{enclosed(loop.code, node.target)}, {variable}"))
        self.edits.append(Edit(Span(over.start, over.start), "zip("))
        self.edits.append(Edit(Span(over.end, over.end), f", [{', '.join(names)}])"))

    def _replace(self, place: ExpressionPlace, name: str) -> None:
        key = (id(place.code), node_span(place.code, place.expr))
        _, names = self._replaced.setdefault(key, (place, {}))
        if names.setdefault(place.steps, name) != name:
            raise NoFix  # one text, two meanings (a loop whose rounds differ)

    def _origin(self, level: EvaluationContext, claim: Claim) -> ExpressionPlace:
        """Return an expression at ``level`` that stands for the stream before it is copied."""
        if claim.child is None:
            use = claim.uses[0]
            return ExpressionPlace(level.code, use.expr, use.steps, use.whole)
        if claim.child.kind == "call":
            return self._argument(level, claim.child)
        inner = _below(claim.child.parent, claim.uses[0].context)
        own = [use for use in claim.uses if _is_below(inner, use.context)]
        return self._origin(inner, _claims(inner, own)[0])

    def _argument(self, level: EvaluationContext, call: EvaluationContext) -> ExpressionPlace:
        for expr, value in call.arguments:
            steps = find_stream(value, self.over.stream)
            if steps is not None:
                return ExpressionPlace(level.code, expr, steps, value)
        raise NoFix

    def _insert(self, level: EvaluationContext, claims: list[Claim], copies: list[tuple[str, str]]) -> None:
        """Make the copies: a statement before the first claim, or a clause of the comprehension."""
        if level.kind == "comprehension":
            assert isinstance(level.node, ast.comprehension)
            end = node_span(level.code, (level.node.ifs or [level.node.iter])[-1]).end
            clauses = "".join(f" for {left} in [{right}]" for left, right in copies)
            self.edits.append(Edit(Span(end, end), clauses))
            return
        statement = first_statement(level, [_anchor(claim) for claim in claims])
        self.is_direct = self.is_direct and only_applies(statement, self.el.dialect)
        before = text_before(level.code, statement)
        separator = "; " if before.strip() else f"{level.code.newline}{level.code.indent}{before}"
        start = node_span(level.code, statement).start
        text = "".join(f"{left} = {right}{separator}" for left, right in copies)
        self.edits.append(Edit(Span(start, start), text))


def _joined(edits: list[Edit]) -> tuple[Edit, ...]:
    """Return the edits without repetitions, in the order of the text; insertions at one place become one.

    They keep the order in which they were made: a loop is widened before a clause is added behind it.
    """
    texts: dict[Span, str] = {}
    for edit in dict.fromkeys(edits):
        texts[edit.span] = texts.get(edit.span, "") + edit.text
    return tuple(Edit(span, text) for span, text in sorted(texts.items()))


def _below(level: EvaluationContext | None, context: EvaluationContext) -> EvaluationContext:
    """Return the context directly below ``level`` on the way to ``context``."""
    while context.parent is not level:
        assert context.parent is not None
        context = context.parent
    return context


def _is_below(level: EvaluationContext, context: EvaluationContext) -> bool:
    return any(item is level for item in context.chain())


def _claims(level: EvaluationContext, uses: list[Use]) -> list[Claim]:
    claims: list[Claim] = []
    by_key: dict[int, Claim] = {}
    for use in uses:
        if use.context is level:
            claims.append(Claim([use]))
            continue
        child = _below(level, use.context)
        key = id(child.group) if child.group is not None else id(child)
        if key in by_key:
            by_key[key].uses.append(use)
        else:
            by_key[key] = Claim([use], child)
            claims.append(by_key[key])
    return claims


def _assign(claims: list[Claim]) -> int:
    """Give each claim the lowest slots that no compatible earlier claim has; return how many are needed."""
    taken: dict[tuple[Path, ...], set[int]] = {}  # by the paths of the claims that took them
    lowest: dict[tuple[Path, ...], int] = {}  # slots are only ever taken, so the search goes on where it ended
    for claim in claims:
        paths = tuple(dict.fromkeys(use.path for use in claim.uses))
        rivals = [own for other, own in taken.items() if not all(exclude(a, b) for a in other for b in paths)]
        busy = set().union(*rivals)
        free = (slot for slot in count(lowest.get(paths, 0)) if slot not in busy)
        claim.slots = list(islice(free, _rounds(claim)))
        lowest[paths] = claim.slots[-1]
        taken.setdefault(paths, set()).update(claim.slots)
    return max(slot for claim in claims for slot in claim.slots) + 1


def _rounds(claim: Claim) -> int:
    """Return how many streams a claim needs: one, or as many as a loop has rounds that all consume the stream."""
    if not claim.is_loop:
        return 1
    assert claim.child is not None
    used = {id(_below(claim.child.parent, use.context)) for use in claim.uses}
    if len(used) == 1:
        return 1
    if claim.child.total != len(used):  # a round that takes none would waste a copy
        raise NoFix
    return len(used)


def _anchor(claim: Claim) -> ast.AST:
    """Return a node of the level's text that stands where the claim does."""
    if claim.child is None:
        return claim.uses[0].expr
    node = claim.child.node
    assert node is not None
    return node.iter if isinstance(node, ast.comprehension) else node


def _contains(code: Embedded, statement: ast.stmt, node: ast.AST) -> bool:
    span = node_span(code, statement)
    return span.cover(node_span(code, node)) == span


def first_statement(level: EvaluationContext, nodes: list[ast.AST]) -> ast.stmt:
    """Return the first statement with one of ``nodes`` in the innermost block that holds them all."""
    found = _first_of(level.body, level.code, nodes)
    if found is None:
        raise NoFix  # a lambda has no statements
    return found


def _first_of(body: list[ast.stmt], code: Embedded, nodes: list[ast.AST]) -> ast.stmt | None:
    starts = [node_span(code, statement).start for statement in body]
    places = [bisect_right(starts, node_span(code, node).start) - 1 for node in nodes]
    if any(at < 0 or not _contains(code, body[at], node) for at, node in zip(places, nodes, strict=True)):
        return None
    first = body[min(places)]
    if isinstance(first, ast.If):
        for block in (first.body, first.orelse):
            inner = _first_of(block, code, nodes)
            # Nothing can stand before `elif`, which begins where the `if` does.
            if inner is not None and inner.col_offset != first.col_offset:
                return inner
    return first


def _chain(operator: str, origin: str, names: list[str], fresh: FreshNames) -> Iterator[tuple[str, str]]:
    """Yield ``(targets, value)`` of the copies that turn ``origin`` into ``names``."""
    rest = origin
    *heads, last = names
    for position, name in enumerate(heads, 2):
        following = last if position == len(names) else fresh.one(f"{stem(names)}_rest")
        yield f"{name}, {following}", f"{operator}().apply({rest})"
        rest = following


def text_at(place: ExpressionPlace) -> str:
    """Return the text of the stream at a place, which is to be evaluated somewhat earlier than it stands there."""
    if not is_pure(place.expr):
        raise NoFix
    return _item(place, place.steps)


def _item(place: ExpressionPlace, steps: tuple[int, ...]) -> str:
    return enclosed(place.code, place.expr) + "".join(f"[{step}]" for step in steps)


def literal(place: ExpressionPlace, names: dict[tuple[int, ...], str]) -> str:
    """Return the text that replaces an expression: a name, or its structure with some leaves renamed."""
    if () in names:
        return names[()]
    if not is_pure(place.expr):
        raise NoFix

    def build(value: Value, steps: tuple[int, ...]) -> str:
        if steps in names:
            return names[steps]
        if not any(known[: len(steps)] == steps for known in names):
            return _item(place, steps)
        items = [build(item, (*steps, position)) for position, item in enumerate(value)]
        if isinstance(value, list):
            return f"[{', '.join(items)}]"
        return f"({', '.join(items)}{',' if len(items) == 1 else ''})"

    return build(place.whole, ())
