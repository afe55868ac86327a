"""What stands at the cursor of a half-typed line.

The word at the cursor is replaced by a name that nobody uses, the line is closed if it must be, and the result is
analyzed like any other text; the surrounding syntax tree then says what is wanted, and what the names around it
stand for is known as ever.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final, Literal, TypeAlias, cast

from stepcore.fn.nodes import parts_of
from stepcore.frontend.syntax import node_span, parse_blocks, parse_suite
from stepcore.frontend.values import UNKNOWN, Value
from stepcore.ide.analysis import Analysis, DocumentUnit, analyze
from stepcore.ide.cut import last_name
from stepcore.text.span import Embedded, SourceFile, Span

MARK: Final = "stepsmith_cursor__"
Place: TypeAlias = Literal["program", "function", "module"]
_MARKS: Final = (MARK, MARK + "=0", MARK + ": 0")  # a name, a keyword (names cannot stand behind one), a key
_HEADS: Final = ("def ", "async def ", "class ", "for ", "if ", "while ", "elif ", "with ")
_EMPTY: Final = re.compile(r"(?:(?<![=!<>:])=[ \t]*(?=[,)\]}])|(?<=[(\[])[ \t]*(?=,))")
_QUOTED: Final = re.compile(r"""(?P<quote>["'])[?~]?\w*\Z""")
_PAIRS: Final = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Cursor:
    """The syntax around the cursor. ``nodes`` lead from the marked node outwards; ``word`` is what is typed so far."""

    analysis: Analysis
    unit: DocumentUnit
    code: Embedded
    nodes: tuple[ast.AST, ...]
    word: Span
    typed: str
    place: Place

    @cached_property
    def _values(self) -> dict[Span, Value]:
        return {node_span(item.code, item.node): item.value for item in self.unit.seen}

    def span(self, node: ast.AST) -> Span:
        """Return where a node stands in the unit's text."""
        return node_span(self.code, node)

    def value(self, node: ast.AST) -> Value:
        """Return what an expression stands for, UNKNOWN if that is not known."""
        return self._values.get(self.span(node), UNKNOWN)

    def enclosing(self, *kinds: type[ast.AST]) -> ast.AST | None:
        """Return the innermost node of one of ``kinds`` around the cursor."""
        return next((node for node in self.nodes if isinstance(node, kinds)), None)


def word_at(text: str, offset: int) -> Span:
    """Return the span of the name that ends at or covers ``offset``; empty where there is none."""
    start = end = offset
    while start > 0 and (text[start - 1].isalnum() or text[start - 1] == "_"):
        start -= 1
    while end < len(text) and (text[end].isalnum() or text[end] == "_"):
        end += 1
    return Span(start, end)


def quoted_at(text: str, offset: int) -> Span | None:
    """Return the span of the name of a size in quotes, perhaps half-typed, that holds ``offset``: ``"?L"``."""
    start = text.rfind("\n", 0, offset) + 1
    before = _QUOTED.search(text[start:offset])
    if before is None:
        return None
    end = word_at(text, offset).end
    end += text[end : end + 1] == before["quote"]
    return Span(start + before.start(), end)


def cursor_at(
    analysis: Analysis, offset: int, task: tuple[str, str] | None = None, word: Span | None = None
) -> Cursor | None:
    """Return what is around ``offset``; None in comments, strings, and where nothing can be made of the text.

    ``word`` is what a proposal takes the place of, the name at ``offset`` unless given. The last one is remembered,
    because editors ask for proposals and for the signature at the same place.
    """
    known = analysis.memo.get("cursor")
    place = offset, task, word
    if known is None or known[0] != place:
        word = word or word_at(analysis.source.text, offset)
        known = analysis.memo["cursor"] = place, _look(analysis, offset, word, task)
    return cast("Cursor | None", known[1])


def _look(analysis: Analysis, offset: int, word: Span, task: tuple[str, str] | None) -> Cursor | None:
    text = analysis.source.text
    if _in_comment(text[text.rfind("\n", 0, word.start) + 1 : word.start]):
        return None
    for trial in _trials(text, word):
        if not _is_readable(analysis, word, trial):
            continue  # which is known sooner than what the whole document comes to
        state = analyze(
            trial,
            analysis.source.path,
            affine=analysis.affine,
            previous=analysis,
            task=task,
            draft=word.start,
            dialect=analysis.dialect,
        )
        unit = state.unit_at(word.start)
        found = None if unit is None else _marked(unit)
        if unit is not None and found is not None:
            code, nodes, place = found
            return Cursor(analysis, unit, code, nodes, word, text[word.start : offset], place)
    return None


def _is_readable(analysis: Analysis, word: Span, trial: str) -> bool:
    """Return whether the mark in a changed text is part of the syntax of its block; True if there are no blocks."""
    if analysis.cut is None or not analysis.blocks:
        return True
    start, text = analysis.blocks[analysis.cut.block_at(word.start)]
    block = trial[start : start + len(text) + len(trial) - len(analysis.source.text)]
    return _found(block, parse_suite(block).body) is not None


def _trials(text: str, word: Span) -> Iterator[str]:
    """Yield the text with the mark in place of the word, and what it may lack completed in one way after another."""
    before, after = text[: word.start], text[word.end :]
    line_end = min((at for at in (after.find("\n"), after.find("\r")) if at >= 0), default=len(after))
    rest, below = after[:line_end].rstrip(), after[line_end:]
    closed = closing(before)
    statement = _statement_lines(before)[0].lstrip()
    forms = [after, closed + below]
    if closed and not rest:
        forms.reverse()  # mostly nothing below closes what was just opened; where it does, this form cannot be parsed
    yield from (before + mark + form for form in forms for mark in _MARKS)
    for tail in _tails(statement):
        yield from (before + mark + end + tail + below for end in dict.fromkeys((rest, closed)) for mark in _MARKS)
    start = len(before) - len("\n".join(_statement_lines(before)))
    filled = before[:start] + _filled(before[start:])
    # What stands behind the cursor may be empty, too: a snippet is filled in from left to right.
    ends = dict.fromkeys((_filled(rest), closed))
    if filled == before:  # then some were tried above
        ends = dict.fromkeys(end for end in ends if end != closed and end + below != after)
    yield from (filled + mark + end + below for end in ends for mark in _MARKS)


def _tails(statement: str) -> tuple[str, ...]:
    """Return what a statement may need at its end: a body, or, for a decorator, the function that it is for."""
    if statement.startswith("@"):
        return (f"\ndef {MARK}function(): pass",)
    return (":", ": pass") if statement.startswith(_HEADS) else ()


def _filled(text: str) -> str:
    """Return a part of a statement with something in each place that a snippet has left empty."""
    return _EMPTY.sub(lambda match: match.group() + "...", text)


def _in_comment(line: str) -> bool:
    """Return whether a line has a comment; whatever marked form is tried there, it could not be read."""
    return "#" in line and any(character == "#" for character in _outside_quotes(line))


def _outside_quotes(line: str) -> Iterator[str]:
    """Yield the characters of a line that stand in no quotes."""
    quote = ""
    for character in line:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        else:
            yield character


def closing(text: str) -> str:
    """Return the brackets that are open at the end of the last paragraph of ``text``, closed in order."""
    stack: list[str] = []
    for line in _statement_lines(text):
        for character in _outside_quotes(line):
            if character == "#":
                break
            if character in _PAIRS:
                stack.append(_PAIRS[character])
            elif stack and character == stack[-1]:
                stack.pop()
    return "".join(reversed(stack))


def _statement_lines(text: str) -> list[str]:
    """Return the last lines of ``text``, from the nearest one before which no bracket can be open."""
    lines = text.split("\n")
    first = len(lines) - 1
    indent = _indent(lines[first])
    while first > 0 and (_indent(lines[first]) > indent or not _starts_statement(lines[first])):
        first -= 1
        indent = min(indent, _indent(lines[first])) if lines[first].strip() else indent
        if len(lines) - first > 40:
            break
    return lines[first:]


def _starts_statement(line: str) -> bool:
    """Return whether a line looks like the first of a statement: an assignment, a keyword, a definition."""
    words = line.split(None, 2)
    return bool(words) and (
        words[0] in ("return", "for", "if", "def", "class", "with", "elif", "while", "import", "from", "-")
        or words[0].startswith("@")
        or words[0].endswith(":")
        or (len(words) > 1 and (words[1] == "=" or words[0].endswith(",")))
    )


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _marked(unit: DocumentUnit) -> tuple[Embedded, tuple[ast.AST, ...], Place] | None:
    for code, body, place in _bodies(unit):
        nodes = _found(code.text, body)
        if nodes is not None:
            return code, nodes, _place(unit, nodes) if place == "module" else place
    return None


def _bodies(unit: DocumentUnit) -> Iterator[tuple[Embedded, list[ast.stmt], Place]]:
    task = unit.result.task
    if task is None:
        for block in parse_blocks(SourceFile("", unit.result.source.text)):
            yield block.code, block.suite.body, "module"
        return
    if task.impl is not None:
        yield task.impl.source, parse_suite(task.impl.source.text).body, "program"
    if task.spec is not None and task.impl_source is task.source:
        for decl in task.spec.fns:
            yield decl.body.source, parse_suite(decl.body.source.text).body, "function"


def _found(text: str, body: list[ast.stmt]) -> tuple[ast.AST, ...] | None:
    """Return the nodes from the marked one of a suite and its text out to its statement."""
    if MARK not in text:
        return None
    source = SourceFile("", text)
    lines = [source.line_col(found.start())[0] + 1 for found in re.finditer(MARK, text)]
    return next((nodes for nodes in (_path(statement, lines) for statement in body) if nodes is not None), None)


def _path(root: ast.AST, lines: list[int]) -> tuple[ast.AST, ...] | None:
    """Return the nodes from the marked one out to ``root``; the mark is in one of ``lines``."""
    if isinstance(root, ast.stmt) and not _holds_any(root, lines):
        return None  # as nearly all of a block
    if _is_marked(root):
        return (root,)
    for child in root.names if isinstance(root, ast.Import | ast.ImportFrom) else parts_of(root):
        found = None if child is None else _path(child, lines)
        if found is not None:
            return (*found, root)
    return None


def _holds_any(statement: ast.stmt, lines: list[int]) -> bool:
    """Return whether a statement, with its decorators, stands in one of ``lines``."""
    first = min([statement.lineno, *(node.lineno for node in getattr(statement, "decorator_list", ()))])
    return any(first <= line <= (statement.end_lineno or first) for line in lines)


def _is_marked(node: ast.AST) -> bool:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name) | ast.keyword(arg=name) | ast.alias(name=name):
            return name == MARK
    return False


def _place(unit: DocumentUnit, nodes: tuple[ast.AST, ...]) -> Place:
    """Return what kind of code of a Python file the node is in; decorators and annotations belong to the module."""
    for inner, outer in pairwise(nodes):
        if isinstance(outer, ast.FunctionDef) and inner in outer.body:
            names = {last_name(decorator) for decorator in outer.decorator_list}
            if outer.name == MARK + "function":
                return "module"
            if "program" in names:
                return "program"
            if "fn" in names or any(isinstance(node, ast.ClassDef) for node in nodes):
                return "function"
            return "program" if _is_called(unit, outer.name) else "function"
    return "module"


def _is_called(unit: DocumentUnit, helper: str) -> bool:
    """Return whether a program of the unit calls a plain function, so that streams may pass through it."""
    return any(
        isinstance(item.node, ast.Name) and item.node.id == helper
        for program in unit.result.programs
        for item in program.seen
    )
