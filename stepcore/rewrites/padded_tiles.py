"""One tile of all rows that there are becomes tiles of a fixed size, the last of which is filled up: the way back.

Side condition: a Retile joins all rows of a list to one tile, what is computed of it keeps rows apart, and a
RetileStreamify takes it apart again. Tiles of so many rows then go on as soon as they are full, and less lies on chip;
weights are read for each of them. Rows that are ready wait in a FIFO for all of them, so nothing stops behind it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from stepcore.check.rewriting import FreshNames
from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.records import Record
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import around
from stepcore.rewrites.functions import NewFunction, declared
from stepcore.rewrites.rows_in_tiles import row_by_row
from stepcore.rewrites.statements import bound_lines, is_movable, lines_before
from stepcore.rewrites.subject import RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.sizes.dim import Dim, DimError
from stepcore.sizes.kinds import bound
from stepcore.text.span import Span
from stepcore.types import Tile

_ROWS: Final = (8, 16, 32, 64)


class PaddedTiles(ExplainedRewrite):
    """Fill rows up to tiles of a fixed size, where all of them were joined to one tile."""

    name: str = "padded-tiles"
    summary: str = "tiles of a fixed size that are filled up, instead of one tile of all rows"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each Retile of all rows of a list, with some numbers of rows."""
        for head, nodes in subject.heads.items():
            if nodes[0].op_name != "Retile":
                continue
            found = [_whole(subject, node) for node in nodes]
            if None in found:
                continue
            faults = [each for each in found if isinstance(each, str)]
            wholes = [each for each in found if isinstance(each, _Whole)]
            if faults:
                yield RewriteRefusal(self.name, faults[0], head)
                continue
            most = max(_number(subject, each.most) for each in wholes)
            sizes = [size for size in _ROWS if size < most]
            for size in sizes:
                site = self._of(subject, wholes, size)
                yield RewriteRefusal(self.name, site, head) if isinstance(site, str) else site
            if not sizes:
                yield RewriteRefusal(self.name, f"there are no more than {most} rows", head)

    def _of(self, subject: RewriteSubject, wholes: list[_Whole], size: int) -> RewriteSite | str:
        first = wholes[0]
        calls = [subject.call(node) for node in (first.promote, first.end)]
        promote, end = calls
        if promote is None or end is None or promote.argument is None:
            return "an operator is not written as step.Name(...).apply(...)"
        text, module, names = subject.text, subject.module, FreshNames(subject.text)
        rows = text[promote.argument.start : promote.argument.end]
        if len({each.most for each in wholes}) > 1 or not is_movable(subject, rows):
            return "how many rows there are at most differs, or other names could stand for them by then"
        data, padding, flags, real = (names.one(base) for base in ("data", "padding", "flags", "is_real"))
        filled = f"({first.most} + {size - 1}) // {size} * {size}"
        given = f"{data}, {padding} = {module}Reshape(S={size}, L=[0], pad=0).apply({rows})"
        flag = f"{flags} = {module}Map(fn={real}, depth={filled}).apply({module}Flatten(L=[1]).apply({padding}))"
        is_inside = end.whole.start <= promote.whole.start and promote.whole.end <= end.whole.end
        edits = [
            declared(subject, [_real(subject, real)]),
            lines_before(subject, promote.whole, [given, *([flag] if is_inside else [])]),
            None if is_inside else lines_before(subject, end.whole, [flag]),
            Edit(promote.whole, data),
            *_kept(subject, end.whole, f"{module}Partition(N=1, depth={first.most}).apply((", f", {flags}))"),
        ]
        written = [each for each in edits if each is not None]
        if len(written) < len(edits) - is_inside:
            return "there is no room for lines before it"
        sentence = f"rows are filled up to tiles of {size}, instead of one tile of all of them"
        return RewriteSite(self.name, sentence, tuple(written), (("rows", str(size)),))


def _kept(subject: RewriteSubject, rows: Span, before: str, behind: str) -> tuple[Edit, ...]:
    """Return the edits by which the rows at a place go into a Partition, whose one branch stands for them then."""
    bound_there = bound_lines(subject, rows)
    if bound_there is None or len(bound_there.names) > 1:
        return around(rows, before, f"{behind}[0]")
    return (Edit(bound_there.targets, f"[{bound_there.names[0]}]"), *around(rows, before, behind))


class _Whole(Record):
    """The nodes that join all rows to one tile and take it apart; ``most`` is how many rows there are at most."""

    promote: TypedNode
    end: TypedNode
    most: Dim


def _whole(subject: RewriteSubject, retile: TypedNode) -> _Whole | str | None:
    """Return what belongs to a Retile of all rows; why it cannot be filled up, or None where it joins other tiles."""
    promote = subject.producer(retile.inputs[0])
    if getattr(retile.op, "axis", None) != 0 or promote is None or promote.op_name != "Promote":
        return None
    given = subject.graph.streams[promote.inputs[0]].type
    if getattr(promote.op, "b", None) != 1 or given.rank or not isinstance(given.element, Tile):
        return None
    if given.element.shape[0] != 1 or subject.graph.has_loops:
        return "what is joined are not single rows of one list"
    work = row_by_row(subject, retile)
    if isinstance(work, str):
        return work
    return _Whole(promote, work.end, bound(given.shape[0]))


def _number(subject: RewriteSubject, most: Dim) -> int:
    try:
        return most.bind(subject.checked.spec.bindings())
    except DimError:
        return 0


def _real(subject: RewriteSubject, name: str) -> NewFunction:
    """Return the function ``name`` that says of each row whether it is no filling."""
    given, made = "bool", '"Multihot(bool, 1)"'
    if subject.result.task is None:
        given = f'{subject.module}Scalar("bool")'
        made = f"{subject.module}Multihot({given}, 1)"
    return NewFunction(name, ("input",), (given,), made, ("return [torch.logical_not(input[0]).reshape(1)]",))
