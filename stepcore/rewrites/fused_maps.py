"""A Map and the Map or fold behind it become one: its function does what both did.

Side condition: the second reads the first one's result alone; both functions stand at the level of the file, or under
``fns`` of a task, in plain statements of one line each, of which the first one's last alone returns, and no name means
something else in the other.
Fewer units share the compute of the chip, and what lay in the FIFO between them is gone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from stepcore.check.rewriting import FreshNames, inner_span
from stepcore.findings.diagnostics import Edit, apply_edits
from stepcore.graph.typed import TypedNode
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import is_assigned
from stepcore.rewrites.functions import NewFunction, WrittenFunction, declared, written_function
from stepcore.rewrites.subject import RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.text.span import Embedded, Span

_SECOND: Final = ("Map", "Accum", "Scan")


class FuseMaps(ExplainedRewrite):
    """Join a Map, Accum or Scan with the Map in front of it."""

    name: str = "fuse-maps"
    summary: str = "a Map and the Map, Accum or Scan behind it become one"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each unit of one stream that reads a Map."""
        for first, second in subject.pairs("Map", *_SECOND):
            yield from self._of(subject, first, second)

    def _of(self, subject: RewriteSubject, first: TypedNode, second: TypedNode) -> Iterator[RewritePlace]:
        one, other = subject.call(first), subject.call(second)
        if one is None or other is None or other.argument is None:
            return
        if {*one.keywords} != {"fn"} or not {*other.keywords} <= {"fn", "b"}:
            what = "one of the two has parameters beside its function, of which nobody knows what they are for both"
            yield RewriteRefusal(self.name, what, second.op_span)
            return
        if is_assigned(subject.text, other.whole, other.argument):
            what = "one name would stand for another: write it into the operator that reads it"
            yield RewriteRefusal(self.name, what, second.op_span)
            return
        names = [subject.text[call.keywords["fn"].start : call.keywords["fn"].end] for call in (one, other)]
        made = _function(subject, names)
        if made is None:
            what = (
                f"{names[0]} and {names[1]} are not both statements of one line, the last of which returns, "
                "with names of their own"
            )
            yield RewriteRefusal(self.name, what, second.op_span)
            return
        name, declaration = made
        fn = other.keywords["fn"]
        edits = (
            declaration,
            Edit(one.head, f"{subject.text[other.head.start : fn.start]}{name}{subject.text[fn.end : other.head.end]}"),
            Edit(Span(other.whole.start, other.argument.start), ""),
            Edit(Span(other.argument.end, other.whole.end), ""),
        )
        yield RewriteSite(
            self.name, f"{names[0]} and {names[1]} are one function", edits, (("functions", ",".join(names)),)
        )


def _function(subject: RewriteSubject, names: list[str]) -> tuple[str, Edit] | None:
    """Return the name of the joined function, and the edit that declares it; None where it cannot be written."""
    one, other = (written_function(subject, name) for name in names)
    if one is None or other is None:
        return None
    returned = _returned(one)
    if returned is None or not _can_join(one, other):
        return None
    fresh = FreshNames(subject.text)
    name, between = fresh.one(f"{names[0]}_{names[1]}"), fresh.one("between")
    lines = [*map(one.shown, one.body[:-1]), f"{between} = {one.shown(returned)}"]
    *state, argument = other.arguments
    lines += [_renamed(other.shown(statement), argument, between) for statement in other.body]
    made = NewFunction(name, (*state, one.arguments[0]), one.inputs, other.output, tuple(lines), other.init)
    edit = declared(subject, [made])
    return None if edit is None else (name, edit)


def _returned(function: WrittenFunction) -> ast.expr | None:
    """Return what a function returns where its last statement alone does that."""
    *before, last = function.body
    if any(isinstance(statement, ast.Return) for statement in before) or not isinstance(last, ast.Return):
        return None
    return last.value


def _can_join(one: WrittenFunction, other: WrittenFunction) -> bool:
    if len(one.arguments) != 1 or len(other.arguments) not in (1, 2):
        return False
    for statement in (*one.body, *other.body):
        if not isinstance(statement, ast.Assign | ast.Return) or statement.lineno != statement.end_lineno:
            return False
    bound, others_bound = (_names(function, ast.Store) for function in (one, other))
    *state, argument = other.arguments
    read = _names(other) - {argument}
    apart = not {one.arguments[0], *bound} & {*state, *read}
    return apart and argument not in others_bound and not {*state} & _names(one)


def _names(function: WrittenFunction, context: type[ast.expr_context] = ast.expr_context) -> set[str]:
    nodes = (node for statement in function.body for node in ast.walk(statement))
    return {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, context)}


def _renamed(line: str, name: str, new: str) -> str:
    """Return a line with a name replaced wherever it is read."""
    code = Embedded.whole(line)
    nodes = (node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name) and node.id == name)
    return apply_edits(line, [Edit(inner_span(code, node), new) for node in nodes])
