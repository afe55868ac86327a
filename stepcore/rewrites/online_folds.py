"""Two passes over the same rows become one: a fold for the greatest value takes the sums that follow it along.

Side condition: an Accum takes the greatest value of each row (or of each row of its tiles), a Map puts that beside the
elements of the row once more, and an Accum over the same dimensions adds what is in proportion to ``exp(x - top)``
(:mod:`stepcore.rewrites.rescaled`); all of it in fp32, by functions of one expression. The row comes twice from a Copy,
or from two loads alike. What else reads the greatest value or the exponentials gets them as before. Rows that hold
-inf alone give zeros, where two passes gave NaN. Comments behind lines that are not needed any more go with these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from stepcore.check.rewriting import FreshNames
from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
from stepcore.records import Record
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import WrittenCall, with_parameters
from stepcore.rewrites.functions import WrittenFunction, declared, written_function
from stepcore.rewrites.rescaled import TwoPasses, picked, rescaled
from stepcore.rewrites.statements import bound_lines, is_movable, lines_before, read_of
from stepcore.rewrites.subject import HOW, RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.text.span import Span
from stepcore.types import STuple, components, dtype_of, element_shape

_NO_PASSES: Final = (
    "no Map in front of it takes the exponential of rows below their greatest value, found by an Accum over the same "
    "rows, in fp32 and by functions of one expression"
)
_UNWRITTEN: Final = (
    "its sums do not follow exp(x - top) in proportion, or the lines of both passes are not written so that one can go"
)
_KEPT: Final = ("fn", "b")  # parameters of the fold for the greatest value that the other one has, too


class OnlineFold(ExplainedRewrite):
    """Fold a greatest value, and sums that follow it, in one pass over the rows."""

    name: str = "online-fold"
    summary: str = "a greatest value and the sums that follow it are folded in one pass"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each fold of exponentials below a greatest value that another fold of the same rows finds."""
        for total in subject.alone("Accum"):
            reads = _reads(subject, total)
            found_any = False
            for at in range(0 if reads is None else len(reads.streams)):
                found = None if reads is None else _found(subject, total, reads, at)
                edits = None if found is None else _edits(subject, found)
                if found is not None and edits is None:
                    yield RewriteRefusal(self.name, _UNWRITTEN, total.op_span)
                found_any |= found is not None
                if found is not None and edits is not None:
                    rows = "rows are read once" if found.is_last else "one pass fewer"
                    names = [each.name for each in (found.functions.top, found.functions.total)]
                    yield RewriteSite(
                        self.name, f"{' and '.join(names)} are one fold, {rows}", tuple(edits), ((HOW, rows),)
                    )

            if reads is not None and not found_any and _follows_a_map(subject, reads):
                yield RewriteRefusal(self.name, _NO_PASSES, total.op_span)


def _follows_a_map(subject: RewriteSubject, reads: _Reads) -> bool:
    """Whether something that is folded was made by a Map of two streams, as exponentials below a value are."""
    made = (_maker(subject, stream, "Map")[0] for stream in reads.streams)
    return any(each is not None and len(each.inputs) > 1 for each in made)


class _Reads(Record):
    """What a node reads, component by component, and where that is written; ``via`` are the Zips between."""

    streams: tuple[int, ...]
    places: tuple[Span, ...]
    via: tuple[TypedNode, ...]


class _Passes(Record):
    """Two folds of the same rows. ``between`` makes of the rows, and of ``top``, what ``total`` folds.

    ``copies`` are the Copies of rows, greatest values and exponentials, where there are any; ``loads`` the second load
    in place of the first one. ``is_last``: nothing else reads the exponentials.
    """

    functions: TwoPasses
    top: TypedNode
    total: TypedNode
    total_reads: _Reads
    between: tuple[TypedNode, ...]
    rows: str
    row_nodes: tuple[TypedNode, ...]
    top_copy: TypedNode | None
    made_copy: TypedNode | None
    at: int

    @property
    def is_last(self) -> bool:
        """Whether nothing else reads the exponentials."""
        return self.made_copy is None


def _reads(subject: RewriteSubject, node: TypedNode) -> _Reads | None:
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
    return _Reads(tuple(streams), tuple(places), tuple(via))


def _found(subject: RewriteSubject, total: TypedNode, reads: _Reads, at: int) -> _Passes | None:
    """Return the passes where ``total`` folds, as its component ``at``, what follows a greatest value."""
    shifted, made_copy = _maker(subject, reads.streams[at], "Map")
    inner = None if shifted is None else _reads(subject, shifted)
    if shifted is None or inner is None or len(inner.streams) != 2:
        return None
    for of, by in ((0, 1), (1, 0)):
        chain, spread = _before(subject, inner.streams[by], ("Repeat", "RepeatRef"))
        top, top_copy = _maker(subject, spread, "Accum")
        if top is None or not _folds_alike(top, total, len(chain)):
            continue
        rows = _rows(subject, top, inner.streams[of])
        functions = _functions(subject, (top, shifted, total), (of, by, at))
        if rows is None or functions is None or not _is_fp32(subject, (top, total), inner.streams[of]):
            continue
        text, first, second = rows
        between = (shifted, *inner.via, *chain, *reads.via, *second)
        return _Passes(functions, top, total, reads, between, text, first, top_copy, made_copy, at)
    return None


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


def _folds_alike(top: TypedNode, total: TypedNode, spread: int) -> bool:
    folded = [getattr(node.op, "b", 0) for node in (top, total)]
    return folded == [spread, spread] and {*top.params} <= {*_KEPT, "depth"}


def _rows(
    subject: RewriteSubject, top: TypedNode, again: int
) -> tuple[str, tuple[TypedNode, ...], tuple[TypedNode, ...]] | None:
    """Return how the rows are written, what gives them twice, and what stands between that and their second reader.

    None where ``top`` folds others than those of the stream ``again``.
    """
    if len(top.inputs) != 1:
        return None
    shown, first = _before(subject, top.inputs[0], ("Identity",))
    held, second = _before(subject, again, ("Identity", "Streamify", "Bufferize"))
    if not _gives_all(held) or subject.graph.streams[again].type != subject.graph.streams[second].type:
        return None
    makers = [subject.producer(stream) for stream in (first, second)]
    call = subject.call(top)
    one, other = makers
    if one is None or other is None or call is None or call.argument is None:
        return None
    place = call.argument
    if one is other and one.op_name == "Copy" and subject.is_alone(one):
        copied = subject.call(one)
        if copied is None or copied.argument is None:
            return None
        return _shown(subject, copied.argument), (*shown, one), tuple(held)
    is_written = any(each.written for each in subject.checked.spec.parameters)
    if not isinstance(one.op, LinearOffChipLoad) or one.op != other.op or is_written or one.inputs or other.inputs:
        return None
    return (_shown(subject, place), (other,), tuple(held)) if subject.is_alone(other) else None


def _gives_all(held: Sequence[TypedNode]) -> bool:
    """Whether operators, the last one first, give again what they hold: each buffer is read as it was filled."""
    names = [node.op_name for node in held if node.op_name != "Identity"]
    reads = [node for node in held if node.op_name == "Streamify"]
    return names == ["Streamify", "Bufferize"] * len(reads) and all(
        len(node.inputs) == 1 and getattr(node.op, "shape", None) is None for node in reads
    )


def _shown(subject: RewriteSubject, place: Span) -> str:
    return subject.text[place.start : place.end]


def _functions(
    subject: RewriteSubject, nodes: tuple[TypedNode, TypedNode, TypedNode], places: tuple[int, int, int]
) -> TwoPasses | None:
    written: list[WrittenFunction] = []
    for node in nodes:
        call = subject.call(node)
        given = None if call is None else call.keywords.get("fn")
        function = None if given is None else written_function(subject, _shown(subject, given))
        if function is None:
            return None
        written.append(function)
    top, shifted, total = written
    types = [subject.graph.streams[stream].type.element for stream in (*nodes[0].inputs, *nodes[0].outputs)]
    if any(isinstance(each, STuple) for each in types) or len(types) != 2:
        return None
    shapes = [element_shape(part) for each in types for part in components(each)]
    if len(total.inputs) <= places[2] or len(shifted.inputs) != 2:
        return None
    return TwoPasses(top, shifted, total, *places, shapes[0], shapes[1])


def _is_fp32(subject: RewriteSubject, folds: Sequence[TypedNode], rows: int) -> bool:
    """Whether all that is folded has fp32: sums that are scaled again and again lose too much in fewer bits."""
    streams = [rows, *(stream for fold in folds for stream in fold.outputs)]
    parts = [part for stream in streams for part in components(subject.graph.streams[stream].type.element)]
    return {dtype_of(part) for part in parts} == {"fp32"}


# Edits ------------------------------------------------------------------------------------------------------------


def _edits(subject: RewriteSubject, found: _Passes) -> list[Edit] | None:
    """Return the edits that put one fold in place of both; None where they cannot be made."""
    calls = [subject.call(node) for node in (found.top, found.total)]
    top, total = calls
    names = FreshNames(subject.text)
    fold = rescaled(found.functions, names.one(f"{found.functions.top.name}_{found.functions.total.name}"))
    if top is None or total is None or fold is None or top.argument is None:
        return None
    rows = found.rows if found.is_last else _shown(subject, top.argument)
    items = [_shown(subject, place) for place in found.total_reads.places]
    items[found.at] = rows
    given = f"({', '.join(items)})" if len(items) > 1 else items[0]
    head = with_parameters(subject.text, total, {"fn": fold.name})
    folded = f"{head}.apply({given})"
    is_alone = found.is_last and found.top_copy is None  # nobody else needs the greatest value
    if "\n" in folded or not (is_alone or len(items) == 1) or not is_movable(subject, rows):
        return None
    rest = picked(fold, names.one(f"{found.functions.total.name}_of_both"), range(1, len(fold.output)))
    functions = [fold, rest]
    module, edits = subject.module, list[Edit]()
    source, replaced = folded, [total.whole]
    if not is_alone:
        functions.append(picked(fold, names.one(f"{found.functions.top.name}_of_both"), range(1)))
        one, source = names.make("folded", 2)
        line = lines_before(subject, top.whole, [f"{one}, {source} = {module}Copy().apply({folded})"])
        if line is None:
            return None
        edits += [line, Edit(top.whole, f"{module}Map(fn={functions[-1].name}).apply({one})")]
        replaced.append(top.whole)
    edits.append(Edit(total.whole, f"{module}Map(fn={rest.name}).apply({source})"))
    declaration = declared(subject, functions)
    gone = _gone(subject, found, replaced, keeps_top=not is_alone)
    return None if declaration is None or gone is None else [declaration, *edits, *gone]


def _gone(subject: RewriteSubject, found: _Passes, replaced: Sequence[Span], *, keeps_top: bool) -> list[Edit] | None:
    """Return the edits that drop what nobody reads any more."""
    if not found.is_last and found.made_copy is not None:
        dropped = [*found.total_reads.via]
        taken = _without(subject, found.made_copy, found.total_reads.streams[found.at])
        edits = _dropped(subject, dropped, replaced, [found.total])
        return None if taken is None or edits is None else [*taken, *edits]
    nodes = [*found.between, *found.row_nodes]
    readers = [found.total, found.top]
    taken = []
    if not keeps_top:
        nodes.append(found.top)
    elif found.top_copy is not None:
        branch = next((stream for stream in found.top_copy.outputs if _is_read_by(subject, stream, nodes)), None)
        without = None if branch is None else _without(subject, found.top_copy, branch)
        if without is None:
            return None
        taken = without
    edits = _dropped(subject, nodes, replaced, readers)
    return None if edits is None else [*taken, *edits]


def _is_read_by(subject: RewriteSubject, stream: int, nodes: Sequence[TypedNode]) -> bool:
    return any(stream in node.inputs for node in nodes)


def _dropped(
    subject: RewriteSubject, nodes: Sequence[TypedNode], replaced: Sequence[Span], readers: Sequence[TypedNode]
) -> list[Edit] | None:
    """Return the edits that drop nodes, which stand in lines of their own or in what is dropped or replaced.

    None where anything but these and ``readers`` reads what one of them makes.
    """
    inside = {node.index for node in (*nodes, *readers)}
    made = {stream for node in nodes for stream in node.outputs}
    outside = (node for node in subject.graph.nodes if node.index not in inside)
    if made & {*subject.graph.returns} or any(made & {*node.inputs} for node in outside):
        return None
    calls = [subject.call(node) for node in nodes]
    known = [call for call in calls if call is not None]
    spans = [*replaced, *(call.whole for call in known)]
    edits: dict[Span, Edit] = {}
    for call in known:
        if any(span != call.whole and span.start <= call.whole.start and call.whole.end <= span.end for span in spans):
            continue
        lines = bound_lines(subject, call.whole)
        if lines is None or any(read_of(subject, name) is None for name in lines.names):
            return None
        edits[lines.lines] = Edit(lines.lines, "")
    return None if len(known) < len(nodes) else list(edits.values())


def _without(subject: RewriteSubject, copied: TypedNode, stream: int) -> list[Edit] | None:
    """Return the edits that take one of its streams from a Copy, or the Copy away where one is left."""
    call = subject.call(copied)
    lines = None if call is None else bound_lines(subject, call.whole)
    if call is None or lines is None or call.argument is None or len(lines.names) != len(copied.outputs):
        return None
    names = list(lines.names)
    names.pop(copied.outputs.index(stream))
    if len(names) > 1:
        return _fewer(call, lines.targets, names)
    given = _shown(subject, call.argument)
    if not given.isidentifier():
        around = (
            Edit(Span(call.whole.start, call.argument.start), ""),
            Edit(Span(call.argument.end, call.whole.end), ""),
        )
        return [Edit(lines.targets, names[0]), *around]
    place = read_of(subject, names[0])
    if place is None or not is_movable(subject, given):
        return None
    return [Edit(lines.lines, ""), Edit(place, given)]


def _fewer(call: WrittenCall, targets: Span, names: Sequence[str]) -> list[Edit] | None:
    """Return the edits that write a Copy with one stream less."""
    count = call.keywords.get("n")
    return None if count is None else [Edit(targets, ", ".join(names)), Edit(count, str(len(names)))]
