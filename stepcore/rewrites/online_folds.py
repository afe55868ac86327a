"""Two passes over the same rows become one: a fold for the greatest value takes the sums that follow it along.

Side condition: an Accum takes the greatest value of each row (or of each row of its tiles), a Map puts that beside the
elements of the row once more, and an Accum over the same dimensions adds what is in proportion to ``exp(x - top)``
(:mod:`stepcore.rewrites.rescaled`); or the first one adds up the row, a Map may make its mean of that, and the last one
adds squares of what is left beside it (:mod:`stepcore.rewrites.deviations`). All of it in fp32, by functions of one
expression. The row comes twice from a Copy, or from two loads alike. What else reads the row, what the first fold
gives, or what the last one folds, gets them as before. Rows that hold -inf alone give zeros, where two passes for the
greatest value gave NaN. Comments behind lines that are not needed any more go with these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from stepcore.graph.typed import TypedNode
from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
from stepcore.records import Record
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.functions import WrittenFunction, number_names, written_function
from stepcore.rewrites.one_pass import FoundPasses, PassReads, one_pass_edits, shown
from stepcore.rewrites.passes import TwoPasses
from stepcore.rewrites.subject import HOW, RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.text.span import Span
from stepcore.types import STuple, components, dtype_of, element_shape

_NO_PASSES: Final = (
    "no Map in front of it takes the exponential of rows below their greatest value, or what is left of rows beside "
    "their mean, found by an Accum over the same rows, in fp32 and by functions of one expression"
)
_UNWRITTEN: Final = (
    "its sums do not follow exp(x - top) in proportion and are no squares of x - mean, or the lines of both passes are "
    "not written so that one can go"
)
_KEPT: Final = ("fn", "b")  # parameters of the fold for the greatest value that the other one has, too


class OnlineFold(ExplainedRewrite):
    """Fold a greatest value or a mean, and sums that follow it, in one pass over the rows."""

    name: str = "online-fold"
    summary: str = "a greatest value or a mean, and the sums that follow it, are folded in one pass"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each fold of what a Map makes of rows and of a value that another fold of these finds."""
        for total in subject.alone("Accum"):
            reads = _reads(subject, total)
            found_any = False
            for at in range(0 if reads is None else len(reads.streams)):
                found = None if reads is None else _found(subject, total, reads, at)
                edits = None if found is None else one_pass_edits(subject, found)
                if found is not None and edits is None:
                    yield RewriteRefusal(self.name, _UNWRITTEN, total.op_span)
                found_any |= found is not None
                if found is not None and edits is not None:
                    rows = "rows are read once" if found.is_last else "one pass fewer"
                    names = [each.name for each in (found.functions.first, found.functions.total)]
                    yield RewriteSite(
                        self.name, f"{' and '.join(names)} are one fold, {rows}", tuple(edits), ((HOW, rows),)
                    )

            if reads is not None and not found_any and _follows_a_map(subject, reads):
                yield RewriteRefusal(self.name, _NO_PASSES, total.op_span)


def _follows_a_map(subject: RewriteSubject, reads: PassReads) -> bool:
    """Whether something that is folded was made by a Map of two streams, as exponentials below a value are."""
    made = (_maker(subject, stream, "Map")[0] for stream in reads.streams)
    return any(each is not None and len(each.inputs) > 1 for each in made)


def _reads(subject: RewriteSubject, node: TypedNode) -> PassReads | None:
    call = subject.call(node)
    if call is None or len(call.items) != len(node.inputs):
        return None
    streams: list[int] = []
    places: list[Span] = []
    via: list[TypedNode] = []
    for stream, place in zip(node.inputs, call.items, strict=True):
        made = subject.producer(stream)
        inner = None
        if made is not None and made.op_name == "Zip" and subject.is_alone(made):
            inner = _reads(subject, made)
        if made is None or inner is None:
            streams.append(stream)
            places.append(place)
        else:
            streams += inner.streams
            places += inner.places
            via += [made, *inner.via]
    if any(isinstance(subject.graph.streams[stream].type.element, STuple) for stream in streams):
        return None
    return PassReads(tuple(streams), tuple(places), tuple(via))


def _found(subject: RewriteSubject, total: TypedNode, reads: PassReads, at: int) -> FoundPasses | None:
    """Return the passes where ``total`` folds, as its component ``at``, what follows a value of the rows."""
    shifted, made_copy = _maker(subject, reads.streams[at], "Map")
    inner = None if shifted is None else _reads(subject, shifted)
    if shifted is None or inner is None or len(inner.streams) != 2:
        return None
    for of, by in ((0, 1), (1, 0)):
        chain, spread = _before(subject, inner.streams[by], ("Repeat", "RepeatRef"))
        given = _first_fold(subject, spread)
        if given is None or not _folds_alike(given.first, total, len(chain)):
            continue
        rows = _rows(subject, given.first, inner.streams[of])
        functions = _functions(subject, given, (shifted, total), (of, by, at))
        if rows is None or functions is None or not _is_fp32(subject, (given.first, total), inner.streams[of]):
            continue
        between = (shifted, *inner.via, *chain, *reads.via, *rows.again, *given.gone)
        row_nodes, row_copy, text = rows.twice, None, rows.text
        if rows.copied is not None and _is_shared(subject, rows.copied, (given.first, *between)):
            row_nodes, row_copy, text = (), rows.copied, rows.first
        return FoundPasses(
            functions, given.first, total, reads, between, text, row_nodes, row_copy, given.copied, made_copy, at
        )
    return None


class _FirstFold(Record):
    """A fold whose value stands beside the rows: ``center`` is the Map that makes that of it, where there is one.

    ``copied`` is the last Copy on the way that others read as well, ``gone`` are the nodes behind that.
    """

    first: TypedNode
    center: TypedNode | None
    copied: TypedNode | None
    gone: tuple[TypedNode, ...]


def _first_fold(subject: RewriteSubject, stream: int) -> _FirstFold | None:
    """Return the fold that makes a stream, itself or through a Map of its value alone."""
    first, copied = _maker(subject, stream, "Accum")
    if first is not None:
        return _FirstFold(first, None, copied, ())
    center, copied = _maker(subject, stream, "Map")
    if center is None or len(center.inputs) != 1:
        return None
    first, earlier = _maker(subject, center.inputs[0], "Accum")
    if first is None:
        return None
    return _FirstFold(first, center, copied or earlier, () if copied is not None else (center,))


def _is_shared(subject: RewriteSubject, copied: TypedNode, readers: Sequence[TypedNode]) -> bool:
    """Whether others than ``readers`` read a Copy, or what it gives is returned."""
    known = {node.index for node in readers}
    found = (subject.consumers.get(stream) for stream in copied.outputs)
    return any(each is None or each.index not in known for each in found)


def _maker(subject: RewriteSubject, stream: int, name: str) -> tuple[TypedNode | None, TypedNode | None]:
    """Return the operator ``name`` that makes a stream, and the Copy behind it where there is one."""
    made = subject.producer(stream)
    copied = made if made is not None and made.op_name == "Copy" else None
    if copied is not None:
        made = subject.producer(copied.inputs[0])
    is_usable = all(each is None or subject.is_alone(each) for each in (made, copied))
    return (made, copied) if made is not None and made.op_name == name and is_usable else (None, None)


def _before(subject: RewriteSubject, stream: int, names: Sequence[str]) -> tuple[list[TypedNode], int]:
    """Return the operators ``names`` in front of a stream, the last one first, and what the first of these reads."""
    nodes: list[TypedNode] = []
    made = subject.producer(stream)
    while made is not None and made.op_name in names and subject.is_alone(made):
        nodes.append(made)
        stream = made.inputs[0]
        made = subject.producer(stream)
    return nodes, stream


def _folds_alike(first: TypedNode, total: TypedNode, spread: int) -> bool:
    folded = [getattr(node.op, "b", 0) for node in (first, total)]
    return folded == [spread, spread] and {*first.params} <= {*_KEPT, "depth"}


class _Rows(Record):
    """Rows that come twice: ``text`` is how they are written, ``first`` how the first fold reads them.

    ``twice`` gives them twice, ``copied`` is the Copy among that, and ``again`` stands in front of the second reader.
    """

    text: str
    first: str
    twice: tuple[TypedNode, ...]
    copied: TypedNode | None
    again: tuple[TypedNode, ...]


def _rows(subject: RewriteSubject, first: TypedNode, again: int) -> _Rows | None:
    """Return the rows that a first fold reads; None where those of the stream ``again`` are others."""
    if len(first.inputs) != 1:
        return None
    passed, one_stream = _before(subject, first.inputs[0], ("Identity",))
    held, other_stream = _before(subject, again, ("Identity", "Streamify", "Bufferize"))
    if not _gives_all(held) or subject.graph.streams[again].type != subject.graph.streams[other_stream].type:
        return None
    one, other = (subject.producer(stream) for stream in (one_stream, other_stream))
    call = subject.call(first)
    if one is None or other is None or call is None or call.argument is None:
        return None
    place = shown(subject, call.argument)
    if one is other and one.op_name == "Copy" and subject.is_alone(one):
        copied = subject.call(one)
        if copied is None or copied.argument is None:
            return None
        return _Rows(shown(subject, copied.argument), place, (*passed, one), one, tuple(held))
    is_written = any(each.written for each in subject.checked.spec.parameters)
    if not isinstance(one.op, LinearOffChipLoad) or one.op != other.op or is_written or one.inputs or other.inputs:
        return None
    return _Rows(place, place, (other,), None, tuple(held)) if subject.is_alone(other) else None


def _gives_all(held: Sequence[TypedNode]) -> bool:
    """Whether operators, the last one first, give again what they hold: each buffer is read as it was filled."""
    names = [node.op_name for node in held if node.op_name != "Identity"]
    reads = [node for node in held if node.op_name == "Streamify"]
    return names == ["Streamify", "Bufferize"] * len(reads) and all(
        len(node.inputs) == 1 and getattr(node.op, "shape", None) is None for node in reads
    )


def _functions(
    subject: RewriteSubject, given: _FirstFold, nodes: tuple[TypedNode, TypedNode], places: tuple[int, int, int]
) -> TwoPasses | None:
    written = [_function(subject, node) for node in (given.first, *nodes)]
    first, shifted, total = written
    center = None if given.center is None else _function(subject, given.center)
    if first is None or shifted is None or total is None or (given.center is not None and center is None):
        return None
    streams = (*given.first.inputs, *(given.first if given.center is None else given.center).outputs)
    types = [subject.graph.streams[stream].type.element for stream in streams]
    if any(isinstance(each, STuple) for each in types) or len(types) != 2:
        return None
    shapes = [element_shape(part) for each in types for part in components(each)]
    if len(total.inputs) <= places[2] or len(shifted.inputs) != 2:
        return None
    return TwoPasses(first, center, shifted, total, *places, shapes[0], shapes[1], number_names(subject))


def _function(subject: RewriteSubject, node: TypedNode) -> WrittenFunction | None:
    call = subject.call(node)
    given = None if call is None else call.keywords.get("fn")
    return None if given is None else written_function(subject, shown(subject, given))


def _is_fp32(subject: RewriteSubject, folds: Sequence[TypedNode], rows: int) -> bool:
    """Whether all that is folded has fp32: sums that are scaled again and again lose too much in fewer bits."""
    streams = [rows, *(stream for fold in folds for stream in fold.outputs)]
    parts = [part for stream in streams for part in components(subject.graph.streams[stream].type.element)]
    return {dtype_of(part) for part in parts} == {"fp32"}
