"""The edits that put one fold in the place of two: its functions, where it stands, and what nobody reads any more."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from stepcore.check.rewriting import FreshNames
from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.records import Record
from stepcore.rewrites.calls import WrittenCall, with_parameters
from stepcore.rewrites.deviations import deviations
from stepcore.rewrites.functions import declared
from stepcore.rewrites.passes import OneFold, PassNames, TwoPasses
from stepcore.rewrites.rescaled import rescaled
from stepcore.rewrites.statements import bound_lines, is_movable, lines_before, read_of
from stepcore.rewrites.subject import RewriteSubject
from stepcore.text.span import Span


class PassReads(Record):
    """What a node reads, component by component, and where that is written; ``via`` are the Zips between."""

    streams: tuple[int, ...]
    places: tuple[Span, ...]
    via: tuple[TypedNode, ...]


class FoundPasses(Record):
    """Two folds of the same rows. ``between`` makes of the rows, and of what ``first`` gives, what ``total`` folds.

    ``given_copy`` and ``made_copy`` are the Copies by which others read what ``first`` gives and what ``total`` folds.
    ``rows`` is how the rows are written, ``row_nodes`` what gives them twice and goes; ``row_copy`` a Copy of them that
    others read as well.
    """

    functions: TwoPasses
    first: TypedNode
    total: TypedNode
    total_reads: PassReads
    between: tuple[TypedNode, ...]
    rows: str
    row_nodes: tuple[TypedNode, ...]
    row_copy: TypedNode | None
    given_copy: TypedNode | None
    made_copy: TypedNode | None
    at: int

    @property
    def is_last(self) -> bool:
        """Whether nothing else reads what is folded last."""
        return self.made_copy is None


def one_pass_edits(subject: RewriteSubject, found: FoundPasses) -> list[Edit] | None:
    """Return the edits that put one fold in place of both; None where they cannot be made."""
    first, total = (subject.call(node) for node in (found.first, found.total))
    names = FreshNames(subject.text)
    made = _functions(found.functions, names)
    if first is None or total is None or made is None or first.argument is None:
        return None
    rows = found.rows if found.is_last else shown(subject, first.argument)
    items = [shown(subject, place) for place in found.total_reads.places]
    items[found.at] = rows
    given = f"({', '.join(items)})" if len(items) > 1 else items[0]
    head = with_parameters(subject.text, total, {"fn": made.fold.name})
    folded = f"{head}.apply({given})"
    is_alone = found.is_last and found.given_copy is None  # nobody else needs what the first fold gives
    if "\n" in folded or not (is_alone or len(items) == 1) or not is_movable(subject, rows):
        return None
    functions = [made.fold, made.rest]
    module, edits = subject.module, list[Edit]()
    source, replaced = folded, [total.whole]
    if not is_alone:
        functions.append(made.first)
        one, source = names.make("folded", 2)
        line = lines_before(subject, first.whole, [f"{one}, {source} = {module}Copy().apply({folded})"])
        if line is None:
            return None
        edits += [line, Edit(first.whole, f"{module}Map(fn={made.first.name}).apply({one})")]
        replaced.append(first.whole)
    edits.append(Edit(total.whole, f"{module}Map(fn={made.rest.name}).apply({source})"))
    declaration = declared(subject, functions)
    gone = _gone(subject, found, replaced, keeps_first=not is_alone)
    return None if declaration is None or gone is None else [declaration, *edits, *gone]


def _functions(passes: TwoPasses, names: FreshNames) -> OneFold | None:
    """Return the functions of the first kind of fold that these two passes can be."""
    first, total = passes.first.name, passes.total.name
    given = PassNames(names.one(f"{first}_{total}"), names.one(f"{first}_of_both"), names.one(f"{total}_of_both"))
    return rescaled(passes, given) or deviations(passes, given)


def _gone(
    subject: RewriteSubject, found: FoundPasses, replaced: Sequence[Span], *, keeps_first: bool
) -> list[Edit] | None:
    """Return the edits that drop what nobody reads any more."""
    if not found.is_last and found.made_copy is not None:
        dropped = [*found.total_reads.via]
        taken = _without(subject, found.made_copy, {found.total_reads.streams[found.at]})
        edits = _dropped(subject, dropped, replaced, [found.total])
        return None if taken is None or edits is None else [*taken, *edits]
    nodes = [*found.between, *found.row_nodes]
    shared = [each for each in (found.given_copy, found.row_copy) if each is not None]
    taken = []
    for copied in shared:
        branches = {stream for stream in copied.outputs if _is_read_by(subject, stream, nodes)}
        without = _without(subject, copied, branches)
        if not branches or without is None:
            return None
        taken += without
    if not keeps_first:
        nodes.append(found.first)
    edits = _dropped(subject, nodes, replaced, [found.total, found.first])
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


def _without(subject: RewriteSubject, copied: TypedNode, gone: Collection[int]) -> list[Edit] | None:
    """Return the edits that take streams from a Copy, or the Copy away where one is left."""
    call = subject.call(copied)
    lines = None if call is None else bound_lines(subject, call.whole)
    if call is None or lines is None or call.argument is None or len(lines.names) != len(copied.outputs):
        return None
    names = [name for name, stream in zip(lines.names, copied.outputs, strict=True) if stream not in gone]
    if len(names) > 1:
        return _fewer(call, lines.targets, names)
    given = shown(subject, call.argument)
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


def shown(subject: RewriteSubject, place: Span) -> str:
    """Return what the file has at a place."""
    return subject.text[place.start : place.end]
