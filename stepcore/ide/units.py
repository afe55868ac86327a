"""The parts of a document that are checked by themselves, and what checking each came to."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from stepcore.check.files import CheckResult
from stepcore.check.programs import Checked
from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Related
from stepcore.frontend.python import ModuleFacts
from stepcore.frontend.values import Seen
from stepcore.text.span import Span

T = TypeVar("T")


class Piece(NamedTuple):  # a tuple, because each text of a document has hundreds
    """``length`` code points that stand at ``inner`` in a unit's text and at ``outer`` in the document."""

    inner: int
    outer: int
    length: int


@dataclass(slots=True)
class Checking:
    """The result of checking one unit's text; shared by all states of the document in which the text is the same."""

    text: str
    result: CheckResult
    facts: ModuleFacts
    fingerprint: str
    unknown: frozenset[str] = frozenset()  # names that were not found
    others: ModuleFacts = field(default_factory=ModuleFacts)  # what it was checked with
    cost: int = 0  # steps of the document's budget
    memo: dict[str, Any] = field(
        default_factory=dict, repr=False, compare=False
    )  # of features, in the unit's positions


class DocumentUnit:
    """A part of a document that is checked by itself. ``focus`` is the part that no other unit has.

    ``blocks`` make up its text: where each begins in the document, and its text. Spans in ``result`` count in the
    unit's own text; :meth:`to_document` and :meth:`from_document` translate.
    """

    def __init__(self, checking: Checking, blocks: Sequence[tuple[int, str]], focus: Span) -> None:
        self.checking = checking
        self.focus = focus
        self._blocks = blocks

    @cached_property
    def pieces(self) -> tuple[Piece, ...]:
        """Where each block stands; made when somebody asks, because an edit leaves most units alone."""
        pieces: list[Piece] = []
        inner = 0
        for start, part in self._blocks:
            pieces.append(Piece(inner, start, len(part)))
            inner += len(part)
        return tuple(pieces)

    @property
    def result(self) -> CheckResult:
        """What the checker found, in the unit's own positions."""
        return self.checking.result

    @property
    def fingerprint(self) -> str:
        """Changes when anything changes that the unit's results depend on, but not when it only moves."""
        return self.checking.fingerprint

    @property
    def checked(self) -> Checked | None:
        """The unit's program, if it has one; of a script, which is one unit, the whole of it."""
        return self.result.programs[-1] if self.result.programs else self.result.script

    @property
    def seen(self) -> Iterator[Seen]:
        """All names that elaboration met, those outside of the program first."""
        if self.result.module is not None:
            yield from self.result.module.seen
        for program in self.result.programs:
            yield from program.seen

    def to_document(self, span: Span) -> Span | None:
        """Return where a span of the unit's text stands in the document; None where it is cut in two."""
        for piece in self.pieces:
            offset = span.start - piece.inner
            is_inside = 0 <= offset < piece.length or (offset == piece.length and piece is self.pieces[-1])
            if is_inside and span.end - piece.inner <= piece.length:
                return Span(piece.outer + offset, piece.outer + span.end - piece.inner)
        return None

    def from_document(self, offset: int) -> int | None:
        """Return the offset in the unit's text of a place in the document; None where the unit lacks it."""
        for piece in self.pieces:
            if 0 <= offset - piece.outer <= piece.length:
                return piece.inner + offset - piece.outer
        return None

    def moved(self, found: Diagnostic) -> Diagnostic | None:
        """Return a finding in positions of the document."""
        span = self.to_document(found.span)
        if span is None:
            return None
        places = ((self.to_document(item.span), item.message) for item in found.related)
        related = tuple(Related(place, message) for place, message in places if place is not None)
        return replace(found, span=span, related=related, fix=self.moved_fix(found.fix))

    def moved_fix(self, fix: Fix | None) -> Fix | None:
        """Return a fix in positions of the document; None where an edit would leave it."""
        if fix is None:
            return None
        edits: list[Edit] = []
        for edit in fix.edits:
            span = self.to_document(edit.span)
            if span is None:
                return None
            edits.append(Edit(span, edit.text))
        return Fix(fix.title, tuple(edits))


def units_of_whole(checking: Checking, extents: Iterable[Span]) -> list[DocumentUnit]:
    """Return a unit for each part of a document that was checked as one text; what it found all of them have."""
    text, result, module = checking.text, checking.result, checking.result.module
    units: list[DocumentUnit] = []
    for extent in extents:
        own = replace(result, programs=_within(extent, result.programs, lambda program: program.span.start))
        if module is not None:
            declared = _within(extent, module.programs, lambda program: program.spec.span.start)
            own.module = replace(module, programs=declared)
        part = replace(checking, result=own, memo={}, fingerprint=digest(f"{extent.start}\0{text}"))
        units.append(DocumentUnit(part, ((0, text),), extent))
    return units


def _within(extent: Span, items: list[T], start: Callable[[T], int]) -> list[T]:
    """Return the items, in the order of their starts, that start in an extent."""
    return items[bisect_left(items, extent.start, key=start) : bisect_left(items, extent.end, key=start)]


def digest(text: str) -> str:
    """Return a short mark of a text, which no other has."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
