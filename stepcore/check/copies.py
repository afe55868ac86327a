"""The fix of an affine finding: the edits that insert the missing ``Copy`` operators.

The uses of one stream are followed up to the innermost *level* (a function body, a loop round) that holds them all.
There each use is one *claim*: a direct one, a call of a helper that takes the stream, or a loop whose rounds all take
it. Copies are made before the first statement with a claim, and each claim gets its own: an argument is replaced
by a name, a loop runs over a list of copies besides its items. Claims with several uses inside are solved inside.
Every fix that is more than direct claims is tried out by its caller before it is offered.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from stepcore.check.affine import Overuse, assign_slots, common_context, exclude
from stepcore.diagnostics import Edit, Fix
from stepcore.frontend.elaborate import Elaborator
from stepcore.frontend.syntax import node_span
from stepcore.frontend.values import Context, Use, Value, find_stream
from stepcore.span import Embedded, Span

_IDENTIFIER = re.compile(r"[^\W\d]\w*")


class NoFix(Exception):
    """No edit can be offered for this finding."""


class FreshNames:
    """Names that nothing in a text uses yet; shared by all fixes of one check so that they can be combined."""

    def __init__(self, text: str) -> None:
        self._taken = set(_IDENTIFIER.findall(text))

    def make(self, base: str, count: int) -> list[str]:
        """Return ``count`` names that begin with ``base`` and a number."""
        found: list[str] = []
        number = 0
        while len(found) < count:
            number += 1
            name = f"{base}_{number}"
            if name not in self._taken:
                self._taken.add(name)
                found.append(name)
        return found


@dataclass(slots=True)
class Claim:
    """Uses that one expression of a level stands for. ``rounds`` holds the contexts of a loop's rounds."""

    uses: list[Use]
    child: Context | None = None  # None: a direct use
    slots: list[int] = field(default_factory=list)

    @property
    def is_loop(self) -> bool:
        """True for a loop whose rounds consume the stream."""
        return self.child is not None and self.child.kind in ("loop", "comprehension")


@dataclass(frozen=True, slots=True)
class Place:
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
        self.names = names
        self.edits: list[Edit] = []
        self.is_direct = True
        self._replaced: dict[tuple[int, Span], tuple[Place, dict[tuple[int, ...], str]]] = {}

    def build(self) -> Fix:
        """Return the fix, or raise :class:`NoFix`."""
        self._solve(common_context(self.over.uses), self.over.uses, None)
        for place, names in self._replaced.values():
            self.edits.append(Edit(node_span(place.code, place.expr), _literal(place, names)))
        if not all(use.context.code.verbatim for use in self.over.uses):
            raise NoFix
        count = self.over.needed - 1
        name = self.el.graph.streams[self.over.stream].name or "the stream"
        title = f"Insert Copy for {name}" if count == 1 else f"Insert {count} Copy operators for {name}"
        return Fix(title, _joined(self.edits))

    def _solve(self, level: Context, uses: list[Use], source: str | None) -> None:
        """Give every use below ``level`` a stream of its own; ``source`` names the one to begin with."""
        claims = _claims(level, uses)
        needed = _assign(claims)
        # A helper or a loop round serves other streams too, which may be named by other expressions.
        self.is_direct = self.is_direct and level.kind == "root"
        names: list[str] = [] if source is None else [source] * needed
        if needed > 1:
            origin = source or _text(self._origin(level, claims[0]))
            names = self.names.make(_base(origin), needed)
            self._insert(level, claims, origin, names)
        for claim in claims:
            self._give(level, claim, [names[slot] for slot in claim.slots] if names else [])

    def _give(self, level: Context, claim: Claim, names: list[str]) -> None:
        if claim.child is None:
            use = claim.uses[0]
            if names:
                self._replace(Place(level.code, use.expr, use.steps, use.whole), names[0])
            return
        self.is_direct = False
        if claim.is_loop:
            self._give_rounds(claim, names)
            return
        if names:
            self._replace(self._argument(level, claim.child), names[0])
        if max(assign_slots(claim.uses)) > 0:
            self._solve(common_context(claim.uses), claim.uses, None)

    def _give_rounds(self, claim: Claim, names: list[str]) -> None:
        assert claim.child is not None
        rounds: dict[int, list[Use]] = {}
        contexts: dict[int, Context] = {}
        for use in claim.uses:
            context = _below(claim.child.parent, use.context)
            contexts[id(context)] = context
            rounds.setdefault(id(context), []).append(use)
        if len(names) <= 1:
            for key, uses in rounds.items():
                self._solve(contexts[key], uses, names[0] if names else None)
            return
        variable = self.names.make(_base(names[0].rpartition("_")[0]), 1)[0]
        self._widen(claim.child, variable, names)
        outer_names = self.names
        for key, uses in rounds.items():
            # Rounds share their text, so they must be given the same names.
            self.names = _Replay(outer_names, contexts[key].node)
            self._solve(contexts[key], uses, variable)
        self.names = outer_names

    def _widen(self, loop: Context, variable: str, names: list[str]) -> None:
        """Let the loop run over its items and the copies side by side."""
        node = loop.node
        if not isinstance(node, ast.For | ast.comprehension):
            raise NoFix
        target, over = node_span(loop.code, node.target), node_span(loop.code, node.iter)
        target_text = _source(loop.code, node.target)
        if isinstance(node.target, ast.Tuple) and not target_text.startswith("("):
            target_text = f"({target_text})"
        self.edits.append(Edit(target, f"{target_text}, {variable}"))
        self.edits.append(Edit(Span(over.start, over.start), "zip("))
        self.edits.append(Edit(Span(over.end, over.end), f", [{', '.join(names)}])"))

    def _replace(self, place: Place, name: str) -> None:
        key = (id(place.code), node_span(place.code, place.expr))
        _, names = self._replaced.setdefault(key, (place, {}))
        if names.setdefault(place.steps, name) != name:
            raise NoFix  # one text, two meanings (a loop whose rounds differ)

    def _origin(self, level: Context, claim: Claim) -> Place:
        """Return an expression at ``level`` that stands for the stream before it is copied."""
        if claim.child is None:
            use = claim.uses[0]
            return Place(level.code, use.expr, use.steps, use.whole)
        if claim.child.kind == "call":
            return self._argument(level, claim.child)
        inner = _below(claim.child.parent, claim.uses[0].context)
        own = [use for use in claim.uses if _is_below(inner, use.context)]
        return self._origin(inner, _claims(inner, own)[0])

    def _argument(self, level: Context, call: Context) -> Place:
        for expr, value in call.arguments:
            steps = find_stream(value, self.over.stream)
            if steps is not None:
                return Place(level.code, expr, steps, value)
        raise NoFix

    def _insert(self, level: Context, claims: list[Claim], origin: str, names: list[str]) -> None:
        """Make the copies: a statement before the first claim, or a clause of the comprehension."""
        copies = list(_chain(self.el.op_module, origin, names, self.names))
        if level.kind == "comprehension":
            assert isinstance(level.node, ast.comprehension)
            end = node_span(level.code, (level.node.ifs or [level.node.iter])[-1]).end
            clauses = "".join(f" for {left} in [{right}]" for left, right in copies)
            self.edits.append(Edit(Span(end, end), clauses))
            self.is_direct = False
            return
        statement = _first_statement(level.body, [_anchor(claim) for claim in claims])
        if statement is None:
            raise NoFix
        span = node_span(level.code, statement)
        lines = [f"{left} = {right}" for left, right in copies]
        inner_line = level.code.inner.line_text(statement.lineno - 1)
        before = inner_line.encode()[: statement.col_offset].decode()
        if before.strip():  # behind a colon or a semicolon
            self.edits.append(Edit(Span(span.start, span.start), "".join(f"{line}; " for line in lines)))
            return
        newline = level.code.newline
        indent = _outer_indent(level.code, statement)
        self.edits.append(Edit(Span(span.start, span.start), "".join(f"{line}{newline}{indent}" for line in lines)))


def _joined(edits: list[Edit]) -> tuple[Edit, ...]:
    """Return the edits without repetitions, in the order of the text; insertions at one place become one.

    They keep the order in which they were made: a loop is widened before a clause is added behind it.
    """
    texts: dict[Span, str] = {}
    for edit in dict.fromkeys(edits):
        is_insertion = edit.span.start == edit.span.end
        texts[edit.span] = (texts.get(edit.span, "") if is_insertion else "") + edit.text
    return tuple(Edit(span, text) for span, text in sorted(texts.items()))


class _Replay(FreshNames):
    """Gives the rounds of one loop the same fresh names."""

    def __init__(self, names: FreshNames, loop: object) -> None:
        self._names = names
        self._store: dict[object, list[list[str]]] = names.__dict__.setdefault("_replays", {})
        self._made = self._store.setdefault(loop, [])
        self._at = 0

    def make(self, base: str, count: int) -> list[str]:
        if self._at == len(self._made):
            self._made.append(self._names.make(base, count))
        self._at += 1
        names: list[str] = self._made[self._at - 1]
        return names


def _below(level: Context | None, context: Context) -> Context:
    """Return the context directly below ``level`` on the way to ``context``."""
    while context.parent is not level:
        assert context.parent is not None
        context = context.parent
    return context


def _is_below(level: Context, context: Context) -> bool:
    return any(item is level for item in context.chain())


def _claims(level: Context, uses: list[Use]) -> list[Claim]:
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
    for position, claim in enumerate(claims):
        taken = {
            slot
            for other in claims[:position]
            for slot in other.slots
            if not all(exclude(a.path, b.path) for a in other.uses for b in claim.uses)
        }
        count = _rounds(claim)
        claim.slots = [slot for slot in range(len(taken) + count + max(taken, default=0)) if slot not in taken][:count]
    return max(slot for claim in claims for slot in claim.slots) + 1


def _rounds(claim: Claim) -> int:
    if not claim.is_loop or claim.child is None:
        return 1
    used = {id(_below(claim.child.parent, use.context)) for use in claim.uses}
    if len(used) == 1:
        return 1
    if claim.child.total != len(used) or claim.child.endless:  # a round that takes none would waste a copy
        raise NoFix
    return len(used)


def _anchor(claim: Claim) -> ast.AST:
    """Return a node of the level's text that stands where the claim does."""
    if claim.child is None:
        return claim.uses[0].expr
    node = claim.child.node
    assert node is not None
    return node.iter if isinstance(node, ast.comprehension) else node


def _contains(statement: ast.stmt, node: ast.AST) -> bool:
    start = (statement.lineno, statement.col_offset)
    end = (statement.end_lineno or 0, statement.end_col_offset or 0)
    at = (node.lineno, node.col_offset)  # type: ignore[attr-defined]
    return start <= at < end


def _first_statement(body: list[ast.stmt], nodes: list[ast.AST]) -> ast.stmt | None:
    """Return the first statement with one of ``nodes`` in the innermost block that holds them all."""
    holders = [next((s for s in body if _contains(s, node)), None) for node in nodes]
    known = [statement for statement in holders if statement is not None]
    if len(known) < len(holders):
        return None
    first = min(known, key=body.index)
    if all(statement is first for statement in known) and isinstance(first, ast.If):
        for block in (first.body, first.orelse):
            inner = _first_statement(block, nodes) if block else None
            if inner is not None:
                return inner
    return first


def _chain(module: str, origin: str, names: list[str], fresh: FreshNames) -> Iterator[tuple[str, str]]:
    """Yield ``(targets, value)`` of the copies that turn ``origin`` into ``names``."""
    rest = origin
    for position, name in enumerate(names[:-1]):
        last = position == len(names) - 2
        following = names[-1] if last else fresh.make(f"{_base(names[0].rpartition('_')[0])}_rest", 1)[0]
        copy = f"{module}.Copy()" if module else "Copy()"
        yield f"{name}, {following}", f"{copy}.apply({rest})"
        rest = following


def _source(code: Embedded, node: ast.expr) -> str:
    inner = code.inner
    start = inner.offset_from_utf8(node.lineno - 1, node.col_offset)
    end = inner.offset_from_utf8((node.end_lineno or 1) - 1, node.end_col_offset or 0)
    return code.text[start:end]


def _is_pure(node: ast.expr) -> bool:
    match node:
        case ast.Name() | ast.Constant():
            return True
        case ast.Subscript():
            return _is_pure(node.value) and _is_pure(node.slice)
        case ast.UnaryOp():
            return _is_pure(node.operand)
        case ast.Tuple() | ast.List():
            return all(_is_pure(item) for item in node.elts)
        case ast.Starred():
            return _is_pure(node.value)
        case _:
            return False


def _text(place: Place) -> str:
    if not _is_pure(place.expr):
        raise NoFix
    return _item(place, place.steps)


def _item(place: Place, steps: tuple[int, ...]) -> str:
    text = _source(place.code, place.expr)
    if steps and not isinstance(place.expr, ast.Name | ast.Subscript):
        text = text if text.startswith(("(", "[")) else f"({text})"
    return text + "".join(f"[{step}]" for step in steps)


def _literal(place: Place, names: dict[tuple[int, ...], str]) -> str:
    """Return the text that replaces an expression: a name, or its structure with some leaves renamed."""
    if () in names:
        return names[()]
    if not _is_pure(place.expr):
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


def _base(text: str) -> str:
    """Return a readable beginning for fresh names."""
    base = re.sub(r"\W+", "_", text).strip("_")
    return base if base.isidentifier() else "S"


def _outer_indent(code: Embedded, statement: ast.stmt) -> str:
    inner = code.inner.line_text(statement.lineno - 1)
    return code.indent + inner.encode()[: statement.col_offset].decode()
