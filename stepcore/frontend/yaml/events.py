"""The only module that knows ruamel.yaml: its event parser behind a cursor that speaks in spans of the whole text."""

from __future__ import annotations

import re
from typing import Any, Final

from ruamel.yaml.docinfo import DocInfo
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import (
    AliasEvent,
    CollectionEndEvent,
    DocumentEndEvent,
    DocumentStartEvent,
    ScalarEvent,
    SequenceStartEvent,
    StreamEndEvent,
)
from ruamel.yaml.parser import Parser
from ruamel.yaml.reader import Reader, ReaderError
from ruamel.yaml.scanner import Scanner

from stepcore.findings.diagnostics import Edit, Fix
from stepcore.frontend.yaml.nodes import (
    LONGEST_TYPE,
    QUOTE_TYPES,
    ComposeError,
    ScalarNode,
    Steps,
    closing_parenthesis,
    quote_fix,
)
from stepcore.text.span import Span
from stepcore.text.wording import clipped

# Besides its own errors ruamel.yaml lets these escape on odd input, such as the escape "\UFFFFFFFF".
_PARSER_FAILURES: Final = (
    YAMLError, ValueError, IndexError, KeyError, AttributeError, AssertionError, TypeError, OverflowError
)  # fmt: skip
_TOKEN: Final = 12  # steps
_PIECE: Final = 60
_TABS: Final = re.compile(r"[\t ]+")
_AFTER: Final = {"-": "dash", ":": "colon"}
_UNQUOTED_TYPE: Final = re.compile(r"(?<!['\"\w])(?:Buffer|Multihot)\(")
# Part of ruamel.yaml's words -> ours. Order matters: the first match counts.
_MESSAGES: Final = (
    (
        "mapping values are not allowed",
        "a second ': ' on this line; quote the value, or put the key on a line of its own",
    ),
    ("sequence entries are not allowed", "a list starts on a line of its own"),
    ("expected <block end>, but found '<block", "this line's indentation fits nothing above it"),
    ("expected <block end>", "this text does not belong here; is its indentation, or a quote, wrong?"),
    ("could not find expected ':'", "a key needs a colon after it"),
    (
        "indentation indicators",
        "only + or - and a digit may follow | or > on its line; the text begins on the next line",
    ),
    ("unknown escape", "no such escape inside double quotes; write \\\\ for a backslash, or use single quotes"),
    ("more indented follow up", "the first line of a block must not be indented more than the following ones"),
    ("cannot start any token", "a value cannot begin with this character; put it in quotes"),
    ("but found 'stream end'", "the file ends where a value or a closing bracket is missing"),
    ("expected the node content", "a value is missing here"),
    ("expected alphabetic or numeric", "this character begins something else in YAML; put the value in quotes"),
)


class _Resolver:
    """What the scanner asks of a resolver: the version of the language."""

    processing_version = (1, 2)
    version = None


class _Mark:
    """A place in the text: all that scanner and parser ask of their marks."""

    __slots__ = ("column", "index", "line")

    def __init__(self, index: int, line: int, column: int) -> None:
        self.index = index
        self.line = line
        self.column = column


class _EventParser(Reader, Scanner, Parser):
    """ruamel.yaml's parser for a text in memory.

    The overridden methods do what the inherited ones do; they are the ones that take most of the time there, because
    they serve streams, comments and exchangeable parts that are not needed here.
    """

    processing_version = (1, 2)
    comment_handling = None
    resolver: Any = _Resolver()
    reader: Any = None
    scanner: Any = None

    def __init__(self, text: str, steps: Steps) -> None:
        self.steps = steps
        self.tags: dict[str, str] = {}
        self.doc_infos = [DocInfo()]
        self.reader = self.scanner = self
        Reader.__init__(self, text, loader=self)
        Scanner.__init__(self, loader=self)
        Parser.__init__(self, loader=self)

    def peek(self, index: int = 0) -> str:
        return self.buffer[self.pointer + index]

    def forward(self, length: int = 1) -> None:
        self.steps.spend(length)
        start = self.pointer
        self.pointer = end = start + length
        self.index += length
        passed = self.buffer[start:end]
        if "\n" not in passed and "\r" not in passed and "\ufeff" not in passed:
            self.column += length
            return
        for offset, character in enumerate(passed, start + 1):
            if character == "\n" or (character == "\r" and self.buffer[offset] != "\n"):
                self.line += 1
                self.column = 0
            elif character != "\ufeff":
                self.column += 1

    def get_mark(self) -> _Mark:
        return _Mark(self.index, self.line, self.column)

    def need_more_tokens(self) -> bool:
        if self.done:
            return False
        if not self.tokens:
            return True
        if not self.possible_simple_keys:
            return False
        self.stale_possible_simple_keys()
        return bool(self.next_possible_simple_key() == self.tokens_taken)

    def check_token(self, *choices: Any) -> bool:
        while self.need_more_tokens():
            self.steps.spend(_TOKEN)
            self.fetch_more_tokens()
        return bool(self.tokens) and (not choices or isinstance(self.tokens[0], choices))


class Events:
    """A cursor over the events of ``text[start:end]``.

    Every method raises :class:`ComposeError` on bad YAML, and :class:`SpentError` where ``steps`` are at their end.
    """

    def __init__(self, text: str, start: int, end: int, steps: Steps) -> None:
        steps.spend(_PIECE)
        self._text = text
        self._base = start
        self._event: Any = None
        try:
            self._parser = _EventParser(text[start:end], steps)
        except _PARSER_FAILURES as error:
            raise self._error(error) from None
        self._advance()

    @property
    def span(self) -> Span:
        """Where the current event stands."""
        return Span(self._base + self._event.start_mark.index, self._base + self._event.end_mark.index)

    @property
    def is_alias(self) -> bool:
        """True at an alias."""
        return isinstance(self._event, AliasEvent)

    @property
    def is_scalar(self) -> bool:
        """True at a scalar."""
        return isinstance(self._event, ScalarEvent)

    @property
    def at_end(self) -> bool:
        """True at the end of the innermost open collection."""
        return isinstance(self._event, CollectionEndEvent)

    @property
    def anchor(self) -> str | None:
        """The anchor of the current value."""
        anchor = self._event.anchor
        return None if anchor is None else str(anchor)

    def next_document(self) -> bool:
        """Step into the first document; False for an empty text."""
        self._advance()
        if not isinstance(self._event, DocumentStartEvent):
            return False
        self._advance()
        return True

    def second_document(self) -> Span | None:
        """After the root: return where another document begins, or None."""
        if isinstance(self._event, DocumentEndEvent):
            self._advance()
        return None if isinstance(self._event, StreamEndEvent) else self.span

    def take_scalar(self) -> ScalarNode:
        """Return the scalar and step over it."""
        event = self._event
        node = ScalarNode(event.value, event.style or "", self.span)
        self._advance()
        return node

    def take_alias(self) -> tuple[str, Span]:
        """Return the anchor's name and where the alias stands, and step over it."""
        name, span = str(self._event.anchor), self.span
        self._advance()
        return name, span

    def take_start(self) -> tuple[int, bool, bool]:
        """Enter a collection: return its start, whether it is in flow style, and whether it is a list."""
        event, start = self._event, self.span.start
        self._advance()
        return start, bool(event.flow_style), isinstance(event, SequenceStartEvent)

    def take_end(self) -> int:
        """Leave a collection: return the offset after it."""
        end = self.span.end
        self._advance()
        return end

    def _advance(self) -> None:
        try:
            self._event = self._parser.get_event()
        except _PARSER_FAILURES as error:
            raise self._error(error) from None

    def _error(self, error: Exception) -> ComposeError:
        if isinstance(error, ReaderError):
            at = self._base + error.position
            return ComposeError(
                Span(at, at + 1), f"the character U+{error.character:04X} must not stand in a YAML file"
            )
        if not isinstance(error, MarkedYAMLError):
            at = self._base + self._parser.reader.index
            return ComposeError(self._one(at), "this is not YAML that can be read")
        return self._marked(error)

    def _marked(self, error: MarkedYAMLError) -> ComposeError:
        """Point at the opening bracket or quote of what is never closed, else at where the parser stopped."""
        problem = str(error.problem or "")
        context = str(error.context or "")
        mark, opening = error.problem_mark or error.context_mark, error.context_mark
        at = self._base + (mark.index if mark is not None else 0)
        if opening is not None and "scanning a quoted scalar" in context:
            return ComposeError(self._one(self._base + opening.index), "this quote is never closed")
        if opening is not None and "scanning a simple key" in context:  # the parser stopped behind its line
            start = self._base + opening.index
            key = self._text[start : max(at, start + 1)].partition("\n")[0].rstrip()
            return ComposeError(Span(start, start + max(len(key), 1)), _explain(problem))
        if opening is not None and "while parsing a flow" in context and "expected ',' or" in problem:
            start = self._base + opening.index
            unquoted = self._unquoted_type(start, at)
            if unquoted is not None:
                return ComposeError(unquoted, QUOTE_TYPES, quote_fix(unquoted))
            if self._text.count("\n", start, at):
                return ComposeError(self._one(start), f"this {self._text[start]} is not closed on its line")
            return ComposeError(self._one(at), f"a comma or the closing bracket is missing here: {_plain(problem)}")
        keyless = self._keyless(at) if "mapping values are not allowed" in problem else None
        if keyless is not None:
            return keyless
        tab = self._tab(at)
        return self._tab_error(tab) if tab is not None else ComposeError(self._one(at), _explain(problem))

    def _keyless(self, at: int) -> ComposeError | None:
        """Return the error of the line above ``at`` whose key has no colon, so that YAML took both lines for one."""
        start = self._text.rfind("\n", 0, at) + 1
        before = self._text.rfind("\n", 0, max(start - 1, 0)) + 1
        line = self._text[before : max(start - 1, 0)].rstrip()
        key, _, value = line.partition(" ")
        if not key.isidentifier() or ":" in line or not value.strip():
            return None
        return ComposeError(
            Span(before, before + len(key)), f"a key needs a colon after it: {key}: {clipped(value.strip(), 40)}"
        )

    def _unquoted_type(self, start: int, at: int) -> Span | None:
        """Return the type between an opening bracket and the error at ``at`` that YAML split at its comma."""
        for match in _UNQUOTED_TYPE.finditer(self._text, max(start, at - LONGEST_TYPE), at):
            end = closing_parenthesis(self._text, match.start())
            if end is not None and end > at:
                return Span(match.start(), end)
        return None

    def _tab(self, at: int) -> int | None:
        """Return the tab that an error at ``at`` is about: the one there, or the first one that indents the line."""
        line_start = self._text.rfind("\n", 0, at) + 1
        if not self._text[line_start:at].strip():
            first = self._text.find("\t", line_start, at + 1)
            return first if first >= 0 else None
        return at if self._text[at : at + 1] == "\t" else None

    def _tab_error(self, at: int) -> ComposeError:
        end = at + len(_TABS.match(self._text, at)[0])  # type: ignore[index]  # it matches the tab at least
        before = self._text[self._text.rfind("\n", 0, at) + 1 : at].strip()
        if not before:
            return ComposeError(Span(at, end), "a tab cannot indent YAML; use spaces")
        is_last = not self._text[end : end + 1].strip()
        where = "at the end of this line" if is_last else f"after this {_AFTER.get(before[-1], 'text')}"
        is_spare = is_last or self._text[at - 1] == " "
        way_out, new = ("remove it", "") if is_spare else ("use a space", " ")
        title = "Remove the tab" if is_spare else "Replace the tab with a space"
        fix = Fix(title, (Edit(Span(at, end), new),))
        return ComposeError(Span(at, end), f"a tab cannot stand {where} in YAML; {way_out}", fix)

    def _one(self, at: int) -> Span:
        at = min(at, max(len(self._text) - 1, 0))
        return Span(at, min(at + 1, len(self._text)))


def _explain(problem: str) -> str:
    for found, message in _MESSAGES:
        if found in problem:
            return message
    return f"this is not YAML: {_plain(problem)}"


def _plain(problem: str) -> str:
    return problem.replace("<", "").replace(">", "").strip()
