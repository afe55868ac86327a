"""Where new lines may stand, and which line goes: before the statement that holds a place, before the program."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from stepcore.check.rewriting import inner_span, text_before
from stepcore.findings.diagnostics import Edit
from stepcore.records import Record
from stepcore.rewrites.calls import written_list
from stepcore.rewrites.subject import RewriteSubject
from stepcore.sizes.dim import Dim
from stepcore.text.span import Span


def lines_before(subject: RewriteSubject, place: Span, lines: list[str]) -> Edit | None:
    """Return the edit that puts statements before the simple one that holds ``place``; None where there is no room."""
    code, tree = subject.code, subject.tree
    if code is None or tree is None:
        return None
    for statement in _simple(tree):
        span = code.span_to_outer(inner_span(code, statement))
        if span.start <= place.start and place.end <= span.end:
            margin = text_before(code, statement)
            if margin.strip():
                return None  # behind a semicolon or colon
            text = "".join(f"{line}{code.newline}{code.indent}{margin}" for line in lines)
            return Edit(Span(span.start, span.start), text)
    return None


def assigned_line(subject: RewriteSubject, value: Span) -> tuple[str, Span] | None:
    """Return the name that a statement binds to what stands at ``value``, and the lines of that statement.

    None where it does more than that, or shares its lines.
    """
    found = bound_lines(subject, value)
    if found is None or len(found.names) > 1:
        return None
    behind = subject.text[value.end : found.lines.end].removesuffix("\n")
    return None if behind.strip() else (found.names[0], found.lines)


class BoundLines(Record):
    """A statement that binds names to a value, and nothing else: its targets, and its lines with what is said there."""

    names: tuple[str, ...]
    targets: Span
    lines: Span


def bound_lines(subject: RewriteSubject, value: Span) -> BoundLines | None:
    """Return the statement that binds what stands at ``value`` to names alone; None where it shares its lines."""
    code, tree = subject.code, subject.tree
    if code is None or tree is None:
        return None
    for statement in _simple(tree):
        match statement:
            case ast.Assign(targets=[ast.Name() | ast.Tuple() as target], value=held):
                pass
            case _:
                continue
        if code.span_to_outer(inner_span(code, held)) != value or text_before(code, statement).strip():
            continue
        names = [each.id for each in _targets(target) if isinstance(each, ast.Name)]
        end = subject.text.find("\n", value.end)
        behind = subject.text[value.end : end].strip() if end >= 0 else "more"
        if len(names) < len(_targets(target)) or (behind and not behind.startswith("#")):
            return None
        start = subject.text.rfind("\n", 0, code.span_to_outer(inner_span(code, statement)).start) + 1
        return BoundLines(tuple(names), code.span_to_outer(inner_span(code, target)), Span(start, end + 1))
    return None


class UnpackedOne(Record):
    """Where a list of one is taken apart: the statement or expression, and the name that a statement binds."""

    place: Span
    name: str


def unpacked_one(subject: RewriteSubject, value: Span) -> UnpackedOne | None:
    """Return how the one item of the list at ``value`` is taken: ``[name] = ...``, ``(name,) = ...`` or ``...[0]``."""
    code, tree = subject.code, subject.tree
    if code is None or tree is None:
        return None
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.List(elts=[ast.Name(id=name)]) | ast.Tuple(elts=[ast.Name(id=name)])]):
                held: ast.expr = node.value
            case ast.Subscript(value=held, slice=ast.Constant(value=0)):
                name = ""
            case _:
                continue
        if code.span_to_outer(inner_span(code, held)) == value:
            return UnpackedOne(code.span_to_outer(inner_span(code, node)), name)
    return None


def _targets(target: ast.expr) -> list[ast.expr]:
    return target.elts if isinstance(target, ast.Tuple) else [target]


def before_program(subject: RewriteSubject, lines: list[str]) -> Edit | None:
    """Return the edit that puts a declaration at the level of a Python file before the program; None without room.

    Comments right above the program are about it, and stay there.
    """
    program, code = functions_of(subject.tree).get(subject.name), subject.code
    if code is None or program is None or not program.decorator_list:
        return None
    place = inner_span(code, program.decorator_list[0]).start - 1  # before the @
    while place and code.text.startswith("#", above := code.text.rfind("\n", 0, place - 1) + 1):
        place = above
    text = "".join(f"{line}{code.newline}" for line in lines)
    return Edit(Span(place, place), f"{text}{code.newline * 2}")


def functions_of(tree: ast.Module | None) -> dict[str, ast.FunctionDef]:
    """Return the functions at the level of a file by name."""
    return {} if tree is None else {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def name_lines(subject: RewriteSubject) -> dict[str, int]:
    """Return where the lines of statements end that bind names at the level of a Python file, once; none in a task."""
    code, tree = subject.code, subject.tree
    if code is None or tree is None or subject.result.task is not None:
        return {}
    found: dict[str, list[int]] = {}
    for statement in tree.body:
        if isinstance(statement, ast.Assign):
            end = subject.text.find("\n", code.span_to_outer(inner_span(code, statement)).end) + 1
            names = (part for target in statement.targets for part in ast.walk(target))
            for part in names:
                if isinstance(part, ast.Name) and end:
                    found.setdefault(part.id, []).append(end)
    return {name: ends[0] for name, ends in found.items() if len(ends) == 1}


def function_keyword(function: ast.FunctionDef, name: str) -> ast.expr | None:
    """Return what the declaration of an element function gives for a keyword; None where it is not one call alone."""
    match function.decorator_list:
        case [ast.Call(args=[], keywords=keywords)]:
            return next((keyword.value for keyword in keywords if keyword.arg == name), None)
    return None


def times_read(subject: RewriteSubject, name: str) -> int:
    """Return how often a name is read in the file."""
    nodes = () if subject.tree is None else ast.walk(subject.tree)
    return sum(isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) for node in nodes)


def read_of(subject: RewriteSubject, name: str) -> Span | None:
    """Return where the file reads a name; None where it does not do that exactly once."""
    nodes = () if subject.tree is None else ast.walk(subject.tree)
    found = [
        node for node in nodes if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load)
    ]
    if len(found) != 1 or subject.code is None:
        return None
    return subject.code.span_to_outer(inner_span(subject.code, found[0]))


def is_movable(subject: RewriteSubject, text: str) -> bool:
    """Whether an expression means the same in all lines of a body: no name in it is bound twice in the file."""
    names = {node.id for node in ast.walk(ast.parse(text.strip(), mode="eval")) if isinstance(node, ast.Name)}
    nodes = () if subject.tree is None else ast.walk(subject.tree)
    bound = [node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)]
    return all(bound.count(name) <= 1 for name in names)


def names_bound(subject: RewriteSubject) -> set[str]:
    """Return the names that mean something only inside of the program, a helper, a loop or a comprehension."""
    tree = subject.tree
    if tree is None:
        return set()
    is_body = subject.result.task is not None  # of the program: all of its names are bound inside
    inside: list[ast.AST] = [tree] if is_body else [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    if not is_body:
        inside += [node for node in ast.walk(tree) if isinstance(node, ast.comprehension)]
    parts = [part for node in inside for part in ast.walk(node)]
    names = {part.id for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return names | {part.arg for part in parts if isinstance(part, ast.arg)}


def size_text(subject: RewriteSubject, size: Dim) -> str:
    """Return how the program writes a size among the counters of its reads, which may name tiles; else its value."""
    for node in subject.graph.nodes:
        given = getattr(node.op, "shape", None)
        call = subject.call(node) if isinstance(given, list | tuple) and given else None
        written = None if call is None else written_list(call, "shape")
        for count, text in zip(given or (), written or (), strict=False):
            if Dim.of(count) == size:
                return text
    return str(size)


def _simple(tree: ast.Module) -> Iterator[ast.stmt]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.Return | ast.Expr):
            yield node
