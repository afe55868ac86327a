"""Types and sizes as task files write them: ``fp32``, ``Buffer(fp32, [K, D])``, ``Multihot(fp32, E)``, ``N*K//4``.

Results are plain and cached by text; their spans count from the start of that text. Parsing never fails: what
cannot be read is a :class:`TypeProblem` with the smallest span that shows it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final, TypeVar

from stepcore.findings.near import nearest
from stepcore.records import Record
from stepcore.sizes.dim import ANY, LARGEST_SIZE, OPEN, SIZE_RULE, Dim, DimError, is_name, is_size
from stepcore.text.span import Span
from stepcore.text.wording import whole
from stepcore.types import (
    DTYPE_ALIASES,
    DTYPE_BYTES,
    TILE_RULE,
    Buffer,
    Multihot,
    Scalar,
    Shape,
    Single,
    Tile,
)

_MAX_LENGTH: Final = 1000  # code points of one type
_MAX_NESTING: Final = 50
_MAX_DIGITS: Final = 100  # more do not make a size any better, and Python refuses to read thousands
_MAX_TERMS: Final = 500  # a product of sums grows exponentially when multiplied out
_TOKEN: Final = re.compile(r"\s*(?:(?P<name>[^\W\d]\w*)|(?P<number>\d+)|(?P<mark>//|[^\s\w]))")
_DIVISION: Final = "; sizes are whole numbers: divide with //"
_FORMS: Final = ("Buffer", "Multihot", "Tile")
_EXAMPLES: Final = {"Buffer": "Buffer(fp32, [K])", "Multihot": "Multihot(fp32, E)", "Tile": "Tile(fp32, [4, 4])"}
_LIBRARIES: Final = frozenset({"torch", "step", "np", "numpy", "jnp"})
_WIDEST: Final = "not part of STeP; fp32 is the widest that streams have"
# What others call our types, in lower case.
_FOREIGN: Final = {
    **dict.fromkeys(("fp64", "float64", "double"), _WIDEST),
    **dict.fromkeys(("tensor", "array", "vector", "matrix"), "called Buffer here: write Buffer(fp32, [K])"),
    **dict.fromkeys(("onehot", "selector", "mask"), "called Multihot here: write Multihot(fp32, E)"),
}
T = TypeVar("T")


class TypeProblem(Record):
    """Why a text is no type: a diagnostic code (STEP217, STEP222 or STEP226), where, and what to do."""

    code: str
    span: Span
    message: str
    meant: str = ""  # what certainly has to stand there instead


class ParsedType(Record):
    """An element type, or None with exactly one problem. ``symbols`` are the sizes that it names, in order."""

    element: Single | None
    problem: TypeProblem | None
    symbols: tuple[tuple[str, Span], ...]


class ParsedSize(Record):
    """A size, or None with exactly one problem."""

    size: Dim | None
    problem: TypeProblem | None
    symbols: tuple[tuple[str, Span], ...]


@lru_cache(maxsize=4096)
def parse_type(text: str) -> ParsedType:
    """Read one element type that is no tuple."""
    parser = _Parser(text)
    try:
        element = parser.whole(parser.of_known_kinds)
    except _Unreadable as error:
        return ParsedType(None, error.problem, tuple(parser.symbols))
    return ParsedType(element, None, tuple(parser.symbols))


@lru_cache(maxsize=4096)
def parse_size(text: str) -> ParsedSize:
    """Read one size of a shape: a symbol, a positive integer, or an expression of them."""
    parser = _Parser(text)
    try:
        size = parser.whole(parser.size)
    except _Unreadable as error:
        return ParsedSize(None, error.problem, tuple(parser.symbols))
    return ParsedSize(size, None, tuple(parser.symbols))


def missing_mark(text: str, where: Span, *, is_size: bool) -> tuple[int, str] | None:
    """Return the one mark with which ``text`` is a type (or one size, or two), and its offset; None where none does.

    ``where`` is the span of its problem; the mark is missing there, or behind what stands before.
    """
    before = len(text[: where.start].rstrip())
    if is_size:
        halves = text[:before], text[where.start :]
        is_two = where.start > before and all(parse_size(half).problem is None for half in halves)
        return (before, ",") if is_two else None
    for mark in ",[]()":
        for at in dict.fromkeys((before, where.start) if mark in ",])" else (where.start, before)):
            if parse_type(text[:at] + mark + text[at:]).problem is None:
                return at, mark
    return None


class _Unreadable(Exception):
    def __init__(self, code: str, span: Span, message: str, meant: str = "") -> None:
        super().__init__(message)
        self.problem = TypeProblem(code, span, message, meant)


class _Token(Record):
    kind: str  # name, number, mark or end
    text: str
    span: Span


class _Parser:
    """Recursive descent over the few tokens of one type; the first problem ends it."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._next = 0
        self._depth = 0
        self.symbols: list[tuple[str, Span]] = []

    def whole(self, read: Callable[[], T]) -> T:
        """Read all of the text with ``read``."""
        result = read()
        token = self._peek()
        if token.kind != "end":
            raise _unreadable(token, f"{token.text!r} does not belong in a type or a size{self._hint(token)}")
        return result

    def _hint(self, token: _Token) -> str:
        """Return the way out for a token that does not belong into a size."""
        before = self._tokens[self._next - 1].text if self._next else ""
        match token.text:
            case "/":
                return _DIVISION
            case ".":
                return "; sizes are whole numbers"
            case "^":
                return f"; a power is written out: {before}*{before}"
        return "; is a comma missing before it?" if token.kind in ("name", "number") else ""

    def element(self) -> Single:
        token = self._take()
        if token.text in _LIBRARIES and self._peek().text == ".":
            first = token
            self._take()
            token = self._take()
            ours = _ours(token.text)
            text = f"types are written without {first.text}.: write {ours or 'them like fp32'}"
            raise _Unreadable("STEP222", self._since(first), text, ours)
        if token.kind == "mark" and token.text == "[":
            raise _unreadable(token, "a tuple of types is written as a YAML list, each type an item of its own")
        if token.kind != "name":
            raise _unreadable(token, f"expected a type such as fp32 or Buffer(fp32, [K]), found {_found(token)}")
        if token.text in _FORMS:
            return self._form(token)
        return _scalar(token)

    def of_known_kinds(self) -> Single:
        """Read an element type whose sizes are of kinds that elements may have."""
        found = self.element()
        if any(name[0] in OPEN for name, _ in self.symbols):
            from stepcore.open_types.rules import fault_in  # most types have static sizes

            fault = fault_in(found)
            if fault:
                where = next(span for name, span in self.symbols if name == fault.name)
                raise _Unreadable("STEP226", where, fault.message)
        return found

    def size(self) -> Dim:
        start = self._peek().span
        size = self._sum()
        value = size.constant
        if value is not None:
            span = Span(start.start, self._tokens[self._next - 1].span.end)
            _check_value(value, span)
        return size

    def _form(self, name: _Token) -> Single:
        self._expect("(", f"after {name.text}")
        self._enter(name)
        scalar = self._inner(name.text)
        if self._peek().text == ")":
            what = "length" if name.text == "Multihot" else "sizes"
            raise _unreadable(self._peek(), f"{name.text}({scalar}) has no {what}; write {_EXAMPLES[name.text]}")
        self._expect(",", f"between the arguments of {name.text}")
        element = self._finish(name.text, scalar)
        self._depth -= 1
        self._expect(")", f"at the end of {name.text}")
        return element

    def _finish(self, form: str, inner: Scalar | Multihot | Tile) -> Single:
        if form == "Buffer":
            return Buffer(inner, self._shape(form))
        if form == "Multihot" and self._peek().text == "[":
            raise _unreadable(self._peek(), f"the length of a selector is one size, no list; write {_EXAMPLES[form]}")
        assert isinstance(inner, Scalar)  # _inner admits others in buffers only
        return Multihot(inner, self.size()) if form == "Multihot" else self._tile(inner)

    def _tile(self, scalar: Scalar) -> Tile:
        start = self._peek()
        sizes = self._shape("Tile")
        if len(sizes) != 2:
            raise _Unreadable("STEP222", self._since(start), TILE_RULE)
        return Tile(scalar, sizes)

    def _inner(self, form: str) -> Scalar | Multihot | Tile:
        token = self._peek()
        element = self.element()
        if isinstance(element, Scalar) or (form == "Buffer" and isinstance(element, Multihot | Tile)):
            return element
        what = "scalars, selectors or tiles; write all sizes in one list" if form == "Buffer" else "scalars only"
        raise _Unreadable("STEP222", self._since(token), f"a {form} holds {what}")

    def _shape(self, form: str) -> Shape:
        token = self._peek()
        self._expect("[", f"before the sizes of {form}")
        sizes: list[Dim] = []
        while self._peek().text != "]":
            if sizes:
                self._expect(",", "between two sizes")
            sizes.append(self.size())
        self._take()
        if not sizes:
            raise _Unreadable("STEP222", self._since(token), f"a {form} needs at least one size")
        return tuple(sizes)

    def _sum(self) -> Dim:
        total = self._term()
        while self._peek().text in {"+", "-"}:
            sign = self._take()
            right = self._term()
            total = total + right if sign.text == "+" else total - right
            self._limit(total, sign)
        return total

    def _term(self) -> Dim:
        result = self._factor()
        while self._peek().text in {"*", "//"}:
            operation = self._take()
            if self._peek().text == "*":
                raise _unreadable(self._peek(), f"sizes have no powers; write {result}*{result}")
            right = self._factor()
            if len(result.terms) * len(right.terms) > _MAX_TERMS:
                raise _unreadable(operation, "this size is too long when multiplied out")
            try:
                result = result * right if operation.text == "*" else result // right
            except DimError as error:
                raise _Unreadable("STEP217", operation.span, str(error)) from None
        return result

    def _factor(self) -> Dim:
        token = self._take()
        match token.kind, token.text:
            case "name", "true" | "false" | "True" | "False" as written:
                raise _unreadable(token, f"{written} is a truth value, and a size is a symbol or an integer")
            case "name", name:
                if not is_name(name) or name == ANY:
                    raise _unreadable(token, f"{name!r} cannot name a size")
                self.symbols.append((name, token.span))
                return Dim.symbol(name)
            case "mark", "?" | "~":
                return self._open(token)
            case "number", digits:
                number = int(digits[:_MAX_DIGITS])
                if number > LARGEST_SIZE:
                    _check_value(number, token.span)
                return Dim.of(number)
            case "mark", "-":
                self._enter(token)
                value = -self._factor()
                self._depth -= 1
                return value
            case "mark", "(":
                self._enter(token)
                value = self._sum()
                self._depth -= 1
                self._expect(")", "at the end of the parenthesis")
                return value
        raise _unreadable(token, f"expected a size such as K, 4 or N*K, found {_found(token)}")

    def _open(self, mark: _Token) -> Dim:
        """Read the name behind the mark of a dynamic or ragged size."""
        name = self._peek()
        if name.kind != "name" or not is_name(name.text) or name.span.start != mark.span.end:
            raise _unreadable(mark, f"behind {mark.text} stands the name of a size: {mark.text}L")
        self._take()
        self.symbols.append((mark.text + name.text, Span(mark.span.start, name.span.end)))
        return Dim.symbol(mark.text + name.text)

    def _limit(self, size: Dim, token: _Token) -> None:
        if len(size.terms) > _MAX_TERMS:
            raise _unreadable(token, "this size has too many terms")

    def _enter(self, token: _Token) -> None:
        self._depth += 1
        if self._depth > _MAX_NESTING:
            raise _unreadable(token, f"nested deeper than {_MAX_NESTING}")

    def _peek(self) -> _Token:
        return self._tokens[self._next]

    def _take(self) -> _Token:
        token = self._tokens[self._next]
        self._next = min(self._next + 1, len(self._tokens) - 1)
        return token

    def _expect(self, mark: str, where: str) -> None:
        token = self._peek()
        if token.text != mark:
            hint = _DIVISION if token.text == "/" else ""
            form = next((form for form in _FORMS if form in where), "")
            example = f"; write {_EXAMPLES[form]}" if form and not hint else ""
            raise _unreadable(token, f"expected {mark!r} {where}, found {_found(token)}{hint}{example}")
        self._take()

    def _since(self, first: _Token) -> Span:
        return Span(first.span.start, self._tokens[self._next - 1].span.end)


def _tokens(text: str) -> list[_Token]:
    tokens: list[_Token] = []
    kept = text[:_MAX_LENGTH].rstrip()
    position = 0
    while match := _TOKEN.match(kept, position):
        kind = match.lastgroup or ""
        tokens.append(_Token(kind, match[kind], Span(*match.span(kind))))
        position = match.end()
    if len(text) > _MAX_LENGTH:
        tokens.append(_Token("mark", "...", Span(_MAX_LENGTH, len(text))))
    tokens.append(_Token("end", "", Span(len(kept), len(kept))))
    return tokens


def _scalar(token: _Token) -> Scalar:
    known = (*DTYPE_BYTES, *DTYPE_ALIASES)
    if token.text in known:
        return Scalar(token.text)
    if token.text.lower() in _FOREIGN:
        raise _unreadable(token, f"the type {token.text} is {_FOREIGN[token.text.lower()]}")
    near = nearest(token.text, (*known, *_FORMS), closed=True)
    advice = f"; did you mean {near[0]}?" if near else f"; known: {', '.join((*DTYPE_BYTES, *_FORMS))}"
    raise _Unreadable("STEP222", token.span, f"unknown type {token.text}{advice}", near[0] if near else "")


def _ours(name: str) -> str:
    """Return a type of ours for the name that a library gives it, or an empty text."""
    if name in DTYPE_BYTES or name in _FORMS:
        return name
    return DTYPE_ALIASES.get(name, "")


def _check_value(value: int, span: Span) -> None:
    if not is_size(value):
        raise _Unreadable("STEP217", span, f"this size is {whole(value)}; {SIZE_RULE}")


def _unreadable(token: _Token, message: str) -> _Unreadable:
    return _Unreadable("STEP222", token.span, message)


def _found(token: _Token) -> str:
    return "the end" if token.kind == "end" else repr(token.text)
