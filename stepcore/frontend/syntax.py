"""Text to syntax trees, for text that may be half-typed.

A suite that does not parse is parsed again with its broken lines repaired or taken out
(:mod:`stepcore.frontend.repairs`), so that one half-typed line does not hide the rest.
Python files are parsed block by block (one top-level statement each), and trees are cached by text.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain

from stepcore.findings.diagnostics import Diagnostic, Edit, Fix
from stepcore.fn.source import FENCE, node_span, syntax_column, syntax_words
from stepcore.frontend.lost_signs import LOST, meant_targets
from stepcore.frontend.repairs import Repairs, in_place
from stepcore.system.unwarned import unwarned
from stepcore.text.remembered import remembered, remembered_text
from stepcore.text.span import Embedded, SourceFile, Span

__all__ = ["Block", "Suite", "SyntaxFault", "fault_diagnostics", "node_span", "parse_blocks", "parse_suite", "unmarked"]

_MAX_REPAIRS = 20
_SHALLOW = 50  # characters of a line that cannot be nested too deeply
_MAX_MERGES = 100
_MAX_ALL_MERGES = 2000  # in one file, so that a broken file takes no longer than a large one
_NO_BLOCK = r"(?!\f?(?:[^\S\f]|[#)\]}]|(?:else|elif|except|finally)\b))"
_FIRST_BLOCK = re.compile(_NO_BLOCK)
_LATER_BLOCK = re.compile(rf"\n{_NO_BLOCK}")  # with ``^`` in its place each character would be looked at
_LATER_BLOCK_OF_ANY = re.compile(rf"[\r\n]{_NO_BLOCK}")  # where carriage returns may end lines by themselves
# What CPython says when a block goes on behind the place where it was cut.
_TRIPLE = "unterminated triple-quoted"
_QUOTES = ('"""', "'''")
_CONTINUED = ("\\\n", "\\\r\n", "\\\r")  # a backslash at the end of a line, which the next one continues
_DEFINITION = re.compile(r"(?:def|class|import|from|async|return|with|try|while)\b|@")


@dataclass(frozen=True, slots=True)
class SyntaxFault:
    """A place that does not parse: zero-based line, column in code points, and CPython's words."""

    line: int
    column: int
    message: str


@dataclass(frozen=True, slots=True)
class Suite:
    """A parsed suite. ``faults`` tell which lines were taken out; the tree lacks them."""

    body: list[ast.stmt]
    faults: tuple[SyntaxFault, ...]


@remembered_text
def parse_suite(text: str) -> Suite:
    """Parse ``text``, leaving out lines that do not parse. Never raises; trees are shared: do not change them."""
    module, fault = _parse(text)
    if module is not None:  # as nearly always
        return Suite(module.body, ())
    faults: list[SyntaxFault] = []
    repairs = Repairs(_split_lines(text))
    for _ in range(_MAX_REPAIRS):
        repaired = "".join(repairs.lines)
        module, fault = _parse(repaired)
        if module is not None:
            if repairs.moved:
                module = in_place(copy.deepcopy(module), repairs.moved)  # that of the repaired text is shared
            return Suite(module.body, tuple(faults))
        assert fault is not None
        if not faults or fault.line != faults[-1].line:
            faults.append(_told(fault, repairs))
        if not repairs.repair(fault.line, fault.message):
            break
    return Suite([], tuple(faults[:1]))


def _told(fault: SyntaxFault, repairs: Repairs) -> SyntaxFault:
    """Return a fault where it stands; one that says that a ``=`` was lost, where that is what CPython cannot read."""
    line = repairs.lines[fault.line].rstrip("\r\n") if fault.line < len(repairs.lines) else ""
    moved = repairs.moved.get(fault.line + 1, 0)
    meant = meant_targets(line)
    if meant is not None and meant.at >= 0:
        return SyntaxFault(fault.line, meant.at + moved, LOST)
    return replace(fault, column=fault.column + moved) if moved else fault


def _split_lines(text: str) -> list[str]:
    source = SourceFile("", text)
    return [source.line_text(line) for line in range(len(source.line_starts))]


@remembered_text
def _parse(text: str) -> tuple[ast.Module | None, SyntaxFault | None]:
    try:
        with unwarned():
            return ast.parse(text), None
    except SyntaxError as error:
        return None, SyntaxFault(max((error.lineno or 1) - 1, 0), syntax_column(error), syntax_words(error))
    except ValueError as error:  # null bytes
        return None, SyntaxFault(0, 0, str(error))
    except (RecursionError, MemoryError):
        return None, SyntaxFault(_deep_line(text), 0, "nested too deeply")


def _deep_line(text: str) -> int:
    """Return the line (from 0) that alone is nested too deeply to be parsed; the first where none is."""
    for number, line in enumerate(_split_lines(text)):
        if len(line) > _SHALLOW:
            try:
                with unwarned():
                    ast.parse(line.strip())
            except (RecursionError, MemoryError):
                return number
            except (SyntaxError, ValueError):
                continue
    return 0


@dataclass(frozen=True, slots=True)
class Block:
    """One top-level statement (or several that could not be told apart) of a Python file."""

    code: Embedded
    suite: Suite


def unmarked(text: str) -> str:
    """Return ``text`` with a form feed, which Python skips there, in place of a byte order mark at its start.

    Positions stay as they are, in code points and UTF-16 units.
    """
    return "\f" + text[1:] if text.startswith("\ufeff") else text


def marked_as(before: str, text: str) -> str:
    """Return ``text``, which was made of ``before`` without its byte order mark (:func:`unmarked`), with it again."""
    if not before.startswith("\ufeff") or text.startswith("\ufeff"):
        return text
    return "\ufeff" + text.removeprefix("\f")


def parse_blocks(source: SourceFile) -> Iterator[Block]:
    """Split a file into top-level blocks and parse each; a broken block leaves the others alone."""
    for start, text in split_blocks(source.text):
        yield block_at(start, text)


def block_at(start: int, text: str) -> Block:
    """Parse a block that begins at ``start`` of its file."""
    return Block(_embed(start, text), parse_suite(text))


def placed(start: int, texts: Iterable[str]) -> Iterator[tuple[int, str]]:
    """Yield where blocks that follow each other in a file begin, from ``start`` on, and their texts."""
    for text in texts:
        yield start, text
        start += len(text)


def split_blocks(text: str, first: int = 0) -> Iterator[tuple[int, str]]:
    """Yield where each top-level block of a file begins, and its text; the next one begins where it ends.

    ``first`` is where a block begins, those before it are left out. Who stops early spares the search for the others.
    """
    starts = _Starts(text, first)
    at = 0
    budget = _MAX_ALL_MERGES
    while starts.has(at + 1):
        end, tried = _block_end(text, starts, at, min(budget, _MAX_MERGES))
        budget -= tried
        yield starts.found[at], text[starts.found[at] : starts.found[end]]
        at = end


class _Starts:
    """Where blocks of a text may begin, and where it ends; looked for as far as somebody asks."""

    def __init__(self, text: str, first: int) -> None:
        self.found: list[int] = []
        self._more = _block_starts(text, first)

    def has(self, index: int) -> bool:
        """Return whether there are more than ``index`` places; then they are in ``found``."""
        while len(self.found) <= index:
            start = next(self._more, None)
            if start is None:
                return False
            self.found.append(start)
        return True


def _block_end(text: str, starts: _Starts, at: int, merges: int) -> tuple[int, int]:
    """Return the index of the start behind block ``at``: further when text at column 0 belongs to it.

    At most ``merges`` longer blocks are tried; the second result is how many were.
    """
    found = starts.found
    end = at + 1
    tried = 0
    _, fault = _parse(text[found[at] : found[end]])
    while fault is not None and end < at + merges and starts.has(end + 1):
        added = text[found[end] : found[end + 1]]
        continued = text.endswith(_CONTINUED, found[at], found[end])  # a comment's backslash leaves no fault
        if not continued and not _goes_on(text[found[at]], fault, added):
            break
        end += 1
        if _TRIPLE in fault.message and not any(quotes in added for quotes in _QUOTES):
            continue  # the string cannot end here; parsing again would only say so
        tried += 1
        _, fault = _parse(text[found[at] : found[end]])
    return end if fault is None else at + 1, tried


def _goes_on(first: str, fault: SyntaxFault, added: str) -> bool:
    """Return whether a block that begins with ``first`` and does not parse may go on with the text ``added``.

    A bracket that is open cannot hold a definition or an import: it was forgotten, and the next block stands alone.
    """
    if _TRIPLE in fault.message:
        return True
    return (first == "@" or "was never closed" in fault.message) and not _DEFINITION.match(added)


def _block_starts(text: str, first: int) -> Iterator[int]:
    is_first = True
    decorated = False
    later = _LATER_BLOCK_OF_ANY if "\r" in text else _LATER_BLOCK
    found = (match.start() + 1 for match in later.finditer(text, first))
    for start in chain((first,) if _FIRST_BLOCK.match(text, first) else (), found):
        if start < len(text):
            if not decorated:
                is_first = False
                yield start
            decorated = text[start] == "@"
    if is_first:
        yield first
    yield len(text)


@remembered
def _embed(start: int, text: str) -> Embedded:
    """Place a block in its file; kept, because an edit leaves most blocks of a unit where they are."""
    inner = SourceFile("", text)
    embedded = Embedded(text, tuple([start + offset for offset in inner.line_starts]), Span(start, start + len(text)))
    embedded.__dict__["inner"] = inner  # which it would make again
    return embedded


def fault_diagnostics(suite: Suite, code: Embedded, diagnostic_code: str) -> list[Diagnostic]:
    """Return one finding per fault, positioned in the outer file."""
    found: list[Diagnostic] = []
    fences = [fault for fault in suite.faults if fault.message == FENCE]
    for fault in suite.faults:
        if fault in fences[1:]:
            continue
        start = code.inner.offset(fault.line, fault.column)
        line_end = (
            code.inner.offset(fault.line, len(code.inner.line_text(fault.line).rstrip("\r\n")))
            if (fault.line < len(code.inner.line_starts))
            else len(code.text)
        )
        start = min(start, line_end)
        span = code.span_to_outer(Span(start, max(min(start + 1, line_end), start)))
        fix = _without_lines(code, [fence.line for fence in fences]) if fault in fences else None
        if fault.message == LOST and code.verbatim:
            fix = Fix("Assign with =", (Edit(Span(span.start, span.start), "= "),))
        found.append(Diagnostic(diagnostic_code, span, f"this line cannot be read: {fault.message}", fix=fix))
    return found


def _without_lines(code: Embedded, lines: list[int]) -> Fix | None:
    if not code.verbatim:
        return None
    spans = (code.span_to_outer(Span(code.inner.line_starts[line], _next_line(code, line))) for line in lines)
    return Fix("Remove the marks", tuple(Edit(span, "") for span in spans))


def _next_line(code: Embedded, line: int) -> int:
    starts = code.inner.line_starts
    return starts[line + 1] if line + 1 < len(starts) else len(code.text)
