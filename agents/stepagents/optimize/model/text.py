"""A program that a model wrote, put in the place of the one in a file. All else in the file stays as it is.

The file is a user's, and its reference is run. So the answer may only be a body in the closed language of programs,
with the names that the file gives to it; it is read, checked, timed and verified like any candidate, never executed.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from typing import Final

from stepagents.extract import extract
from stepagents.optimize.pairs import MODEL
from stepcore.findings.diagnostics import Edit, apply_edits
from stepcore.fn.source import node_span
from stepcore.frontend import closed
from stepcore.frontend.expressions import BUILTINS
from stepcore.frontend.values import UNKNOWN, ModuleRef, Scope
from stepcore.gate.rewriting import ConvertError, parse_code
from stepcore.gate.suite import is_plain, shape
from stepcore.rewrites import RewriteSite, RewriteSubject
from stepcore.text.span import Embedded, Span

_MOST: Final = 50_000  # characters of a program
_MOST_NODES: Final = 20_000  # of its syntax tree
_SENTENCE: Final = 160


class NotAdmitted(Exception):
    """An answer that is no program for this place; the message says why."""


class NoProgram(NotAdmitted):
    """An answer without a program."""


def admitted(subject: RewriteSubject, answer: str, plan: str) -> RewriteSite:
    """Return the site that puts the program of an answer in the place of the old one.

    Raises:
        NoProgram: there is none.
        NotAdmitted: it is not in the closed language.
    """
    found = extract(answer)
    if found is None:
        raise NoProgram("the answer holds no program")
    body = found.text.strip("\n")
    if len(body) > _MOST:
        raise NotAdmitted(f"the program is longer than {_MOST:,} characters")
    place, old = _place(subject)
    new = _parsed(body)
    _require_closed(subject, old, new, body)
    indent = _indent(subject.text, place.start)
    written = "\n".join(f"{indent}{line}".rstrip() for line in body.split("\n"))[len(indent) :]
    _require_same_around(subject, place, written, new)
    sentence = f"rewritten by a model: {' '.join(plan.split())[:_SENTENCE]}"
    return RewriteSite(MODEL, sentence, (Edit(place, written),))


def _parsed(body: str) -> Sequence[ast.stmt]:
    try:
        if not is_plain(body):
            raise NotAdmitted("the program holds characters or strings that do not stay on their line")
        found = parse_code(body)
    except (ConvertError, RecursionError, MemoryError) as error:
        raise NotAdmitted(f"the program does not parse: {str(error)[:200]}") from None
    if sum(1 for statement in found for _ in ast.walk(statement)) > _MOST_NODES:
        raise NotAdmitted(f"the program has more than {_MOST_NODES:,} parts")
    return found


def _function(tree: ast.Module, name: str) -> ast.FunctionDef | None:
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
    return found[0] if len(found) == 1 else None


def _place(subject: RewriteSubject) -> tuple[Span, Sequence[ast.stmt]]:
    """Return where the body of the program stands in the file, its documentation left out, and its statements."""
    code, tree = subject.code, subject.tree
    if code is None or tree is None:
        raise NotAdmitted("the text around the program does not parse")
    body: Sequence[ast.stmt] = tree.body
    if subject.result.task is None:
        function = _function(tree, subject.name)
        if function is None:
            raise NotAdmitted("the program is no function of its own name in the file")
        body = function.body
    if body and isinstance(body[0], ast.Expr) and isinstance(body[0].value, ast.Constant):
        body = body[1:]
    if not body:
        raise NotAdmitted("the program is empty")
    return Span(node_span(code, body[0]).start, node_span(code, body[-1]).end), body


def _indent(text: str, start: int) -> str:
    indent = text[text.rfind("\n", 0, start) + 1 : start]
    if indent.strip():
        raise NotAdmitted("the program does not begin on a line of its own")
    return indent


def _names(nodes: Sequence[ast.AST], context: type[ast.expr_context]) -> Iterator[str]:
    for node in nodes:
        for part in ast.walk(node):
            if isinstance(part, ast.Name) and isinstance(part.ctx, context):
                yield part.id


def _require_closed(subject: RewriteSubject, old: Sequence[ast.stmt], new: Sequence[ast.stmt], body: str) -> None:
    """Refuse what is not in the language of programs, and names that the old program has no use for."""
    module = subject.module.removesuffix(".")
    if not module:
        raise NotAdmitted("a file that calls operators without the module's name is not rewritten as a whole")
    spec = subject.checked.spec
    ports = [port.name for port in (*spec.inputs, *spec.parameters)]
    given = {*_names(old, ast.Load), *(fn.func_name for fn in spec.fns), *ports, *spec.scope.symbols}
    known = given | {*_names(new, ast.Store)} | BUILTINS | {module}
    unknown = sorted({*_names(new, ast.Load)} - known)
    if unknown:
        raise NotAdmitted(f"{unknown[0][:60]} is not known in the program")
    scope = Scope({**dict.fromkeys(given - {module} - BUILTINS, UNKNOWN), module: ModuleRef("stepcore")})
    found = closed.outside(new, Embedded.whole(body), scope, spec.scope, strict=True)
    if found:
        raise NotAdmitted(f"{found[0].code} {found[0].message}")


def _require_same_around(subject: RewriteSubject, place: Span, written: str, new: Sequence[ast.stmt]) -> None:
    """Refuse a text whose other parts are not what they were: the body has to stay inside of its function."""
    if subject.result.task is not None:
        return  # data; that its declarations are the same is checked for every candidate
    text = apply_edits(subject.text, [Edit(place, written)])
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise NotAdmitted("the program does not parse where it has to stand") from None
    before = subject.tree
    function, old = _function(tree, subject.name), None if before is None else _function(before, subject.name)
    if before is None or function is None or old is None:
        raise NotAdmitted("the program does not stay in its function")
    body, count = function.body, len(old.body) - len(_place(subject)[1])
    same = shape(body[count:]) == shape(new)
    function.body = [*body[:count], *old.body[count:]]
    if not same or shape(tree.body) != shape(before.body):
        raise NotAdmitted("the program does not stay in its function")
