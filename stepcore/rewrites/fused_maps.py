"""A Map and the Map or fold behind it become one: its function does what both did.

Side condition: the second reads the first one's result alone; both functions stand at the level of the file, in plain
statements of one line each, of which the first one's last alone returns, and no name means something else in the other.
Fewer units share the compute of the chip, and what lay in the FIFO between them is gone.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from stepcore.check.rewriting import FreshNames, inner_span
from stepcore.findings.diagnostics import Edit, apply_edits
from stepcore.graph.typed import TypedNode
from stepcore.records import Record
from stepcore.rewrites.calls import is_assigned
from stepcore.rewrites.statements import before_program, function_keyword, functions_of
from stepcore.rewrites.subject import RewriteSite, RewriteSubject
from stepcore.text.span import Embedded, Span

_SECOND: Final = ("Map", "Accum", "Scan")


class FuseMaps(Record):
    """Join a Map, Accum or Scan with the Map in front of it."""

    name: str = "fuse-maps"
    summary: str = "a Map and the Map, Accum or Scan behind it become one"
    timed: bool = False

    def sites(self, subject: RewriteSubject) -> Iterator[RewriteSite]:
        """Yield each unit of one stream that reads a Map, in Python files."""
        if subject.result.module is None:
            return
        for nodes in subject.heads.values():
            node = nodes[0]
            if len(nodes) == 1 and node.op_name in _SECOND and len(node.inputs) == 1:
                first = subject.producer(node.inputs[0])
                if first is not None and first.op_name == "Map" and len(subject.heads[first.op_span]) == 1:
                    yield from self._of(subject, first, node)

    def _of(self, subject: RewriteSubject, first: TypedNode, second: TypedNode) -> Iterator[RewriteSite]:
        one, other = subject.call(first), subject.call(second)
        if one is None or other is None or other.argument is None:
            return
        if {*one.keywords} != {"fn"} or not {*other.keywords} <= {"fn", "b"}:
            return
        if is_assigned(subject.text, other.whole, other.argument):
            return
        names = [subject.text[call.keywords["fn"].start : call.keywords["fn"].end] for call in (one, other)]
        made = _function(subject, names)
        if made is None:
            return
        name, declared = made
        fn = other.keywords["fn"]
        edits = (
            declared,
            Edit(one.head, f"{subject.text[other.head.start : fn.start]}{name}{subject.text[fn.end : other.head.end]}"),
            Edit(Span(other.whole.start, other.argument.start), ""),
            Edit(Span(other.argument.end, other.whole.end), ""),
        )
        yield RewriteSite(
            self.name, f"{names[0]} and {names[1]} are one function", edits, (("functions", ",".join(names)),)
        )


def _function(subject: RewriteSubject, names: list[str]) -> tuple[str, Edit] | None:
    """Return the name of the joined function, and the edit that declares it; None where it cannot be written."""
    code, functions = subject.code, functions_of(subject.tree)
    if code is None or not all(name in functions for name in names):
        return None
    one, other = (functions[name] for name in names)
    given, made, init = (
        function_keyword(one, "input"), function_keyword(other, "output"), function_keyword(other, "init"),
    )  # fmt: skip
    if given is None or made is None or not _can_join(one, other):
        return None
    fresh = FreshNames(subject.text)
    name, between = fresh.one(f"{names[0]}_{names[1]}"), fresh.one("between")
    last = one.body[-1]
    assert isinstance(last, ast.Return), "as was seen"
    assert last.value is not None, "as was seen"

    def shown(node: ast.expr | ast.stmt) -> str:
        return code.inner.slice(inner_span(code, node))

    lines = [*map(shown, one.body[:-1]), f"{between} = {shown(last.value)}"]
    *state, argument = (each.arg for each in other.args.args)
    lines += [_renamed(shown(statement), argument, between) for statement in other.body]
    begins = "" if init is None else f", init={shown(init)}"
    decorator = f"@{subject.module}fn(input={shown(given)}, output={shown(made)}{begins})"
    head = f"def {name}({', '.join([*state, one.args.args[0].arg])}):"
    declared = before_program(subject, [decorator, head, *(f"    {line}" for line in lines)])
    return None if declared is None else (name, declared)


def _can_join(one: ast.FunctionDef, other: ast.FunctionDef) -> bool:
    for function in (one, other):
        arguments = function.args
        if (
            len(arguments.args) != 1 + (function is other and len(arguments.args) == 2)
            or arguments.vararg
            or arguments.kwarg
            or arguments.kwonlyargs
            or arguments.posonlyargs
        ):
            return False
        for statement in function.body:
            if not isinstance(statement, ast.Assign | ast.Return) or statement.lineno != statement.end_lineno:
                return False
    returns = [isinstance(statement, ast.Return) for statement in one.body]
    if returns != [False] * (len(returns) - 1) + [True] or one.body[-1].value is None:  # type: ignore[attr-defined]
        return False
    bound = [
        {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        for function in (one, other)
    ]
    *state, argument = (each.arg for each in other.args.args)
    read = _names(other) - {argument}
    own = one.args.args[0].arg
    apart = not {own, *bound[0]} & {*state, *read}
    return apart and argument not in bound[1] and not {*state} & _names(one)


def _names(function: ast.FunctionDef) -> set[str]:
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name)}


def _renamed(line: str, name: str, new: str) -> str:
    """Return a line with a name replaced wherever it is read."""
    code = Embedded.whole(line)
    nodes = (node for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name) and node.id == name)
    return apply_edits(line, [Edit(inner_span(code, node), new) for node in nodes])
