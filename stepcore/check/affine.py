"""The affine checker: every stream is consumed at most once.

It counts consumptions of values, as elaboration recorded them. Two consumptions in different arms of one
branch exclude each other; each consumption is given the lowest *slot* that no compatible earlier one has, so the
number of slots is the number of streams that are needed, and of ``Copy`` operators plus one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from stepcore.findings import budget
from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Related, Severity
from stepcore.fn.prelude import assigned_names
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.syntax import node_span
from stepcore.frontend.values import EvaluationContext, Path, Use, find_stream
from stepcore.graph.ir import GraphStream
from stepcore.text.span import Embedded, Span

MAX_RELATED = 20
_FEW = 8


@dataclass(frozen=True, slots=True)
class Overuse:
    """A stream that is consumed too often: its uses in program order, and the slot of each."""

    stream: int
    uses: list[Use]
    slots: list[int]

    @property
    def needed(self) -> int:
        """How many streams are needed in place of the one."""
        return max(self.slots) + 1


def exclude(first: Path, second: Path) -> bool:
    """Return whether two paths lie in different arms of one branch."""
    arms = dict(first)
    return any(arms.get(branch, arm) != arm for branch, arm in second)


def assign_slots(uses: list[Use]) -> list[int]:
    """Return for each use the lowest slot that no earlier compatible use has."""
    if len(uses) == 1:  # nearly all streams
        return [0]
    slots: list[int] = []
    taken: dict[Path, set[int]] = {}  # by the path of the uses that took them
    lowest: dict[Path, int] = {}  # slots are only ever taken, so the search goes on where it ended
    for use in uses:
        if len(taken) > _FEW:  # paths are compared with each other
            budget.spend(len(taken) * (1 + len(use.path)))
        busy = set().union(*(own for path, own in taken.items() if not exclude(path, use.path)))
        slot = next(slot for slot in count(lowest.get(use.path, 0)) if slot not in busy)
        lowest[use.path] = slot  # pragma: no mutate: beginning at 0 again finds the same slot, only later
        taken.setdefault(use.path, set()).add(slot)
        slots.append(slot)
    return slots


def is_repeated(use: Use, home: EvaluationContext) -> bool:
    """Return whether the use stands in a loop of unknown length that its stream was made outside of."""
    context: EvaluationContext | None = use.context
    while context is not None and not context.endless:  # mostly there is no such loop
        context = context.parent
    if context is None:
        return False
    outside = set(map(id, home.chain()))
    return any(context.endless and id(context) not in outside for context in use.context.chain())


def by_stream(el: Elaborator) -> list[list[Use]]:
    """Return the uses of each stream in program order."""
    found: list[list[Use]] = [[] for _ in el.graph.streams]
    for use in el.uses:
        found[use.stream].append(use)
    return found


def overuses(uses: list[list[Use]]) -> Iterator[Overuse]:
    """Yield the streams that are consumed too often, in the order of their making."""
    for stream, own in enumerate(uses):
        if len(own) > 1:  # few
            slots = assign_slots(own)
            if any(slots):
                yield Overuse(stream, own, slots)


def use_span(use: Use) -> Span:
    """Return where a use stands in the file."""
    return node_span(use.context.code, use.expr)


def common_context(uses: list[Use]) -> EvaluationContext:
    """Return the innermost context that holds all uses."""
    first, *others = (use.context.chain() for use in uses)
    levels = zip(first, *others, strict=False)
    shared: list[EvaluationContext] = [context for context, *rest in levels if all(other is context for other in rest)]
    return shared[-1]


def _seen_from(level: EvaluationContext, use: Use) -> Span:
    """Return where somebody who reads ``level`` sees a use: in the call of the helper that is given the stream."""
    chain = use.context.chain()
    for context in chain[len(level.chain()) :]:
        for expr, value in context.arguments:
            if find_stream(value, use.stream) is not None:
                assert context.parent is not None  # only a call has arguments
                return node_span(context.parent.code, expr)
    return use_span(use)


def overuse_diagnostic(el: Elaborator, over: Overuse) -> Diagnostic:
    """Return the finding for one stream: at the second consumption, the others related."""
    name = el.graph.streams[over.stream].name or "this stream"
    level = common_context(over.uses)
    second = next(use for use, slot in zip(over.uses, over.slots, strict=True) if slot > 0)
    first, where = _seen_from(level, over.uses[0]), _seen_from(level, second)
    related = [Related(first, f"{name} is consumed here first")]
    others = [use for use in over.uses if use is not second and not exclude(use.path, second.path)]
    related += [Related(_seen_from(level, use), "and here") for use in others]
    related.append(Related(use_span(second), "here the helper consumes it"))
    # Of several at one place the first counts, and what the finding itself marks needs no second mark.
    unique = {item.span: item for item in reversed(related) if item.span != where}
    times = "twice" if over.needed == 2 else f"{over.needed} times"
    # In a loop, or in a list that holds a stream twice, all consumptions stand at one place.
    here = "" if unique else " here: once in each round" if _in_rounds(level, over) else " here"
    copies = "a Copy" if over.needed == 2 else f"{over.needed - 1} Copy operators"
    text = f"{name} is consumed {times}{here}, but a stream is drained by its first consumer; insert {copies}"
    return Diagnostic("STEP101", where, text, related=tuple(unique.values())[::-1][:MAX_RELATED])


def _in_rounds(level: EvaluationContext, over: Overuse) -> bool:
    depth = len(level.chain())
    below = [chain[depth] for use in over.uses if len(chain := use.context.chain()) > depth]
    return bool(below) and all(context.group is not None for context in below)


def repeated_diagnostic(el: Elaborator, use: Use) -> Diagnostic:
    """Return the finding for a stream consumed in a loop of unknown length."""
    name = el.graph.streams[use.stream].name or "this stream"
    way_out = "loop over a list of known length, or make the stream inside"
    loop, symbol = _range_of_size(use.context)
    if symbol and isinstance(loop, ast.For) and _passes_on(loop, use.expr):
        text = f"the length of this loop is not known, because {symbol} is a size; write range({symbol}_value)"
        return Diagnostic("STEP102", use_span(use), text)
    if symbol:
        way_out = f"write range({symbol}_value) and copy {name} for each round, or make the stream inside"
    text = f"{name} is made outside this loop, whose length is not known, and consumed in every round; {way_out}"
    return Diagnostic("STEP102", use_span(use), text)


def _passes_on(loop: ast.For, read: ast.expr) -> bool:
    """Whether a round reads what the round before assigned to the same name, as in ``x = op.apply(x)``."""
    return isinstance(read, ast.Name) and read.id in assigned_names(loop.body)


def _range_of_size(context: EvaluationContext | None) -> tuple[ast.AST | None, str]:
    """Return the innermost endless loop and ``M`` where it is one over ``range(M)``, else an empty text."""
    while context is not None and not context.endless:
        context = context.parent
    match context.node if context is not None else None:
        case ast.For(iter=over) | ast.comprehension(iter=over):
            match over:
                case ast.Call(func=ast.Name(id="range"), args=[ast.Name(id=name)]) if name.isupper():
                    return context.node if context is not None else None, name
    return None, ""


def unused_diagnostics(el: Elaborator, uses: list[list[Use]]) -> Iterator[Diagnostic]:
    """Yield a hint for each stream that nobody consumes (legal: streams are affine, not linear)."""
    # After another finding a stream may be unused only because of it.
    if el.suppress_unused or el.diagnostics:
        return
    for stream, own in zip(el.graph.streams, uses, strict=True):
        if not own and not _may_stay_unread(el, stream):
            made_by = el.graph.nodes[stream.producer].written if stream.producer is not None else ""
            name = stream.name or (made_by and f"the result of {made_by}")
            # One of two results cannot be removed: without a second consumer there is nothing to copy.
            text = f"{name} is never consumed; remove {'the Copy' if made_by == 'Copy' else 'it'}, or return it"
            yield Diagnostic("STEP103", stream.span, text, Severity.HINT, unnecessary=True)


def published_diagnostics(el: Elaborator) -> Iterator[Diagnostic]:
    """Yield a hint for each name of the published frontend, with the name that the operator has here."""
    for node in el.graph.nodes:
        if not node.alias or node.op is None or node.alias not in node.op.published:
            continue
        as_written = node.op_span.end - node.op_span.start == len(el.operator(node.alias))  # not imported as another
        span = Span(node.op_span.end - len(node.alias), node.op_span.end) if as_written else node.op_span
        fix = Fix(f"Write {node.op_name}", (Edit(span, node.op_name),)) if as_written else None
        text = f"{node.alias} is the published name of {node.op_name}; write {node.op_name}"
        yield Diagnostic("STEP231", span, text, Severity.HINT, fix=fix)


def _may_stay_unread(el: Elaborator, stream: GraphStream) -> bool:
    node = None if stream.producer is None else el.graph.nodes[stream.producer]
    if node is None or node.op is None or node.outputs[-1] != stream.index:
        return False
    return node.op.ends_unread or node.op.fills


def paper_violations(body: list[ast.stmt], code: Embedded) -> list[Diagnostic]:
    """Return the findings of the published, narrower rule, which counts names.

    A name counts each time it stands as an argument of ``.apply(...)`` or inside a tuple there; the variable of
    ``for x in NAME`` or ``for x, y in zip(NAME, ...)`` counts for the list it runs over. Lists, indexing, stars
    and keywords are not looked into.
    """
    found: dict[str, list[ast.Name]] = {}
    for statement in body:
        _count(statement, {}, found)
    diagnostics = []
    for name, uses in found.items():
        if len(uses) > 1:
            times = "twice" if len(uses) == 2 else f"{len(uses)} times"
            copies = "a Copy" if len(uses) == 2 else f"{len(uses) - 1} Copy operators"
            text = f"{name} is counted {times} as an argument of .apply; insert {copies}"
            related = (Related(node_span(code, uses[0]), f"{name} is counted here first"),)
            diagnostics.append(Diagnostic("STEP104", node_span(code, uses[1]), text, related=related))
    return diagnostics


def paper_count(body: list[ast.stmt]) -> int:
    """Return the number of missing copies under the published rule."""
    found: dict[str, list[ast.Name]] = {}
    for statement in body:
        _count(statement, {}, found)
    return sum(len(uses) - 1 for uses in found.values())


def _count(node: ast.AST, stands_for: dict[str, str], found: dict[str, list[ast.Name]]) -> None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "apply":
        for arg in node.args:
            _count_argument(arg, stands_for, found)
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        stands_for = dict(stands_for)
        for generator in node.generators:
            stands_for.update(_loop_names(generator.target, generator.iter))
    elif isinstance(node, ast.For):
        stands_for = {**stands_for, **_loop_names(node.target, node.iter)}
    for child in ast.iter_child_nodes(node):
        _count(child, stands_for, found)


def _count_argument(arg: ast.expr, stands_for: dict[str, str], found: dict[str, list[ast.Name]]) -> None:
    if isinstance(arg, ast.Name):
        found.setdefault(stands_for.get(arg.id, arg.id), []).append(arg)
    elif isinstance(arg, ast.Tuple):
        for item in arg.elts:
            _count_argument(item, stands_for, found)


def _loop_names(target: ast.expr, over: ast.expr) -> dict[str, str]:
    if isinstance(target, ast.Name) and isinstance(over, ast.Name):
        return {target.id: over.id}
    is_zip = isinstance(over, ast.Call) and isinstance(over.func, ast.Name) and over.func.id == "zip"
    if is_zip and isinstance(target, ast.Tuple):
        pairs = zip(target.elts, over.args, strict=False)  # type: ignore[attr-defined]
        return {t.id: a.id for t, a in pairs if isinstance(t, ast.Name) and isinstance(a, ast.Name)}
    return {}
