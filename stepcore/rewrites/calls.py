"""Applications as they are written: ``step.Op(...).apply(...)``, and where the parts of this stand in the file."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from stepcore.check.rewriting import inner_span
from stepcore.findings.diagnostics import Edit, apply_edits
from stepcore.graph.typed import TypedNode
from stepcore.records import Record
from stepcore.text.span import Embedded, Span

_LONGEST = 20_000  # characters of an application that is rewritten


class WrittenCall(Record):
    """``head`` is ``step.Op(...)``, ``whole`` the application of it, ``argument`` what it is applied to.

    ``argument`` is None where nothing stands there. ``items`` are the places of the parts of a tuple or list that is
    written out, else of the argument alone. ``keywords`` are the places of the parameters' values by name, ``syntax``
    their expressions.
    """

    head: Span
    whole: Span
    argument: Span | None
    items: tuple[Span, ...]
    keywords: dict[str, Span]
    syntax: dict[str, ast.expr]


def written_call(text: str, node: TypedNode) -> WrittenCall | None:
    """Return how a node is written in ``text``; None where its head or its argument stands somewhere else."""
    start = node.span.start - 1
    shown = text[node.span.start : node.span.end]
    if len(shown) > _LONGEST:
        return None
    code = Embedded.whole(f"({shown})")  # its lines may be set in less than the first one
    try:
        outer = ast.parse(code.text, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None

    def place(part: ast.expr | ast.keyword) -> Span:
        span = inner_span(code, part)
        return Span(start + span.start, start + span.end)

    match outer:
        case ast.Call(func=ast.Attribute(value=ast.Call() as head, attr="apply"), args=args, keywords=[]):
            pass
        case _:
            return None
    if head.args or len(args) > 1 or any(isinstance(item, ast.Starred) for item in args):
        return None
    if place(head.func) != node.op_span or any(keyword.arg is None for keyword in head.keywords):
        return None
    argument = args[0] if args else None
    items = argument.elts if isinstance(argument, ast.Tuple | ast.List) else [] if argument is None else [argument]
    return WrittenCall(
        place(head),
        place(outer),
        None if argument is None else place(argument),
        tuple(map(place, items)),
        {str(keyword.arg): place(keyword.value) for keyword in head.keywords},
        {str(keyword.arg): keyword.value for keyword in head.keywords},
    )


def is_assigned(text: str, whole: Span, argument: Span) -> bool:
    """Whether an application is all that a name is bound to, and reads a name: without it an alias would be left."""
    line = text[text.rfind("\n", 0, whole.start) + 1 : whole.start].strip()
    return line.endswith("=") and text[argument.start : argument.end].isidentifier()


def written_list(call: WrittenCall, name: str) -> list[str] | None:
    """Return the items of a list that is written out as a parameter, as they are written."""
    value = call.syntax.get(name)
    if not isinstance(value, ast.List | ast.Tuple) or any(isinstance(item, ast.Starred) for item in value.elts):
        return None
    return [ast.unparse(item) for item in value.elts]


def with_parameters(text: str, call: WrittenCall, values: Mapping[str, str]) -> str:
    """Return the head of an application with other values of parameters, of which it gives at least one."""
    start = call.head.start
    edits = [
        Edit(Span(place.start - start, place.end - start), values[name])
        for name, place in call.keywords.items() if name in values
    ]  # fmt: skip
    head = apply_edits(text[start : call.head.end], edits)
    added = "".join(f", {name}={value}" for name, value in values.items() if name not in call.keywords)
    return f"{head[:-1].rstrip().removesuffix(',')}{added})" if added else head


def around(span: Span, before: str, after: str) -> tuple[Edit, Edit]:
    """Return the edits that put text before and behind what stands at ``span``."""
    return Edit(Span(span.start, span.start), before), Edit(Span(span.end, span.end), after)


def applied_to(span: Span, head: str) -> tuple[Edit, Edit]:
    """Return the edits that apply ``head`` to what stands at ``span``."""
    return around(span, f"{head}.apply(", ")")
