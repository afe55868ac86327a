"""Text to syntax trees, for text that may be half-typed.

A suite that does not parse is parsed again with its broken lines taken out, so that one half-typed line does
not hide the rest. A taken-out line that assigns keeps its targets, the head of a definition its name, with the value
``...`` (unknown); an import keeps the names that can be read.
Python files are parsed block by block (one top-level statement each), and trees are cached by text.
"""

from __future__ import annotations

import ast
import keyword
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

from stepcore.findings.diagnostics import Diagnostic, Edit, Fix
from stepcore.fn.source import FENCE, node_span, syntax_column, syntax_words
from stepcore.text.span import Embedded, SourceFile, Span

__all__ = ["Block", "Suite", "SyntaxFault", "fault_diagnostics", "node_span", "parse_blocks", "parse_suite", "unmarked"]

_MAX_REPAIRS = 20
_SHALLOW = 50  # characters of a line that cannot be nested too deeply
_MAX_MERGES = 100
_MAX_ALL_MERGES = 2000  # in one file, so that a broken file takes no longer than a large one
# Names need a comma between them here: where it may be missing, matching takes exponential time.
_HEAD = re.compile(r"(\s*)(?:async\s+)?(?:def|class)\s+([^\W\d]\w*)")
_TARGETS = re.compile(r"(\s*)([^\W\d]\w*(?:\s*,\s*[^\W\d]\w*)*\s*,?\s*)=(?!=)")
_IMPORT = re.compile(r"\s*from\s+[.\w]+\s+import\b")
_IMPORTED = re.compile(r"([^\W\d]\w*)(?:\s+as\s+([^\W\d]\w*))?")
_WORDS_ONLY = re.compile(r"[\s()\\\w]*")
_NO_BLOCK = r"(?!\f?(?:[^\S\f]|[#)\]}]|(?:else|elif|except|finally)\b))"
_FIRST_BLOCK = re.compile(_NO_BLOCK)
_LATER_BLOCK = re.compile(rf"\n{_NO_BLOCK}")  # with ``^`` in its place each character would be looked at
# What CPython says when a block goes on behind the place where it was cut.
_TRIPLE = "unterminated triple-quoted"
_QUOTES = ('"""', "'''")
_CONTINUED = ("\\\n", "\\\r\n")  # a backslash at the end of a line, which the next one continues
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


@lru_cache(maxsize=2048)
def parse_suite(text: str) -> Suite:
    """Parse ``text``, leaving out lines that do not parse. Never raises; trees are shared: do not change them."""
    module, fault = _parse(text)
    if module is not None:  # as nearly always
        return Suite(module.body, ())
    faults: list[SyntaxFault] = []
    lines = _split_lines(text)
    for _ in range(_MAX_REPAIRS):
        module, fault = _parse("".join(lines))
        if module is not None:
            return Suite(module.body, tuple(faults))
        assert fault is not None
        if not faults or fault.line != faults[-1].line:
            faults.append(fault)
        if not _take_out(lines, fault.line):
            break
    return Suite([], tuple(faults[:1]))


def _split_lines(text: str) -> list[str]:
    source = SourceFile("", text)
    return [source.line_text(line) for line in range(len(source.line_starts))]


@lru_cache(maxsize=4096)
def _parse(text: str) -> tuple[ast.Module | None, SyntaxFault | None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
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
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", SyntaxWarning)
                    ast.parse(line.strip())
            except (RecursionError, MemoryError):
                return number
            except (SyntaxError, ValueError):
                continue
    return 0


def _take_out(lines: list[str], at: int) -> bool:
    """Empty the broken line, or the nearest one before it that still says something."""
    at = min(at, len(lines) - 1)
    while at >= 0 and _is_taken_out(lines[at]):
        at -= 1
    if at < 0:
        return False
    line = lines[at]
    content = line.rstrip("\r\n")
    end = line[len(content) :]
    indent = content[: len(content) - len(content.lstrip())]
    targets = _TARGETS.match(content) or _HEAD.match(content)
    rest = f"{indent}{targets.group(2).strip()} = ..." if targets else _imported(content)
    lines[at] = (f"{indent}..." if rest in (None, content) else rest) + end
    return True


def _imported(content: str) -> str | None:
    """Return a broken import with the names that can be read, each where it stands; None where there are none."""
    head = _IMPORT.match(content)
    if head is None:
        return None
    line, at = head.group(), head.end()
    for part in content[at:].partition("#")[0].split(","):
        for name in _IMPORTED.finditer(part) if _WORDS_ONLY.fullmatch(part) else ():
            if not any(map(keyword.iskeyword, filter(None, name.groups()))):
                comma = "," if len(line) > head.end() else ""
                line = (line + comma).ljust(at + name.start()) + name.group()
        at += len(part) + 1
    return line if len(line) > head.end() else None


def _is_taken_out(line: str) -> bool:
    stripped = line.strip()
    return not stripped or stripped == "..." or stripped.endswith("= ...") or stripped.startswith("#")


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
    found = (match.start() + 1 for match in _LATER_BLOCK.finditer(text, first))
    for start in chain((first,) if _FIRST_BLOCK.match(text, first) else (), found):
        if start < len(text):
            if not decorated:
                is_first = False
                yield start
            decorated = text[start] == "@"
    if is_first:
        yield first
    yield len(text)


@lru_cache(maxsize=1024)
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
