"""Tiles of a fixed size, the last of which is filled up, become one tile of all rows that there are.

Side condition: rows are filled up to tiles by a Reshape with ``pad``, what is computed of the tiles keeps rows apart,
and a Partition drops the rows of filling behind it. Weights are then read once and not for each tile, nothing is
computed of filling; the tile waits until the last of its rows is there, and needs room for all of them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from stepcore.check.rewriting import FreshNames
from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.records import Record
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import WrittenCall, with_parameters
from stepcore.rewrites.functions import written_function
from stepcore.rewrites.open_rows import with_open_rows
from stepcore.rewrites.rows_in_tiles import RowByRow, row_by_row
from stepcore.rewrites.statements import BoundLines, bound_lines, is_movable, times_read, unpacked_one
from stepcore.rewrites.subject import RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.types import Tile

_SHAPING: Final = ("reshape", "view", "unsqueeze", "to", "float")


class DynamicTiles(ExplainedRewrite):
    """Join all rows of a stream to one tile, where they were filled up to tiles of a fixed size."""

    name: str = "dynamic-tiles"
    summary: str = "one tile of all rows that there are, instead of tiles that are filled up"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each Reshape that fills rows up to tiles."""
        for head, nodes in subject.heads.items():
            if nodes[0].op_name != "Reshape" or getattr(nodes[0].op, "pad", None) is None:
                continue
            found = [_filled(subject, node) for node in nodes]
            faults = [each for each in found if isinstance(each, str)]
            filled = [each for each in found if isinstance(each, _Filled)]
            site = faults[0] if faults else self._of(subject, filled)
            yield RewriteRefusal(self.name, site, head) if isinstance(site, str) else site

    def _of(self, subject: RewriteSubject, filled: list[_Filled]) -> RewriteSite | str:
        first = filled[0]
        edits = _edits(subject, first)
        functions = {name: places for each in filled for name, places in each.work.functions.items()}
        opened = with_open_rows(subject, functions, FreshNames(subject.text))
        if isinstance(edits, str) or isinstance(opened, str):
            return edits if isinstance(edits, str) else str(opened)
        rows = getattr(first.reshape.op, "S", "")
        sentence = f"all rows that there are form one tile, instead of tiles of {rows} that are filled up"
        return RewriteSite(self.name, sentence, (*edits, *opened), (("rows", str(rows)),))


class _Filled(Record):
    """The nodes by which rows become tiles and rows again: all but what is done to the tiles, which ``work`` tells."""

    reshape: TypedNode
    retile: TypedNode
    work: RowByRow
    flags: TypedNode
    flatten: TypedNode
    kept: TypedNode


def _filled(subject: RewriteSubject, node: TypedNode) -> _Filled | str:
    """Return what belongs to a Reshape that fills rows up; else why that is not what it does."""
    given = subject.graph.streams[node.inputs[0]].type
    if subject.graph.has_loops or given.rank or not isinstance(given.element, Tile) or given.element.shape[0] != 1:
        return "what is filled up are not single rows of one list"
    data, padding = (subject.consumers.get(stream) for stream in node.outputs)
    if data is None or data.op_name != "Retile" or getattr(data.op, "axis", None) != 0:
        return "the rows are not joined to tiles by Retile(axis=0)"
    work = row_by_row(subject, data)
    if isinstance(work, str):
        return work
    flags = None if padding is None or padding.op_name != "Flatten" else subject.consumers.get(padding.outputs[0])
    kept = subject.consumers.get(work.end.outputs[0])
    if padding is None or flags is None or flags.op_name != "Map" or not _is_real(subject, flags):
        return "the padding does not say, through Flatten and a Map, which rows are no filling"
    is_dropped = kept is not None and kept.op_name == "Partition" and getattr(kept.op, "N", 0) == 1
    if kept is None or not is_dropped or kept.inputs != (*work.end.outputs, *flags.outputs):
        return "the rows of filling are not dropped by a Partition of one branch"
    return _Filled(node, data, work, flags, padding, kept)


def _is_real(subject: RewriteSubject, node: TypedNode) -> bool:
    """Whether a Map says of each row that it is no filling."""
    name = getattr(getattr(node.op, "fn", None), "func_name", "")
    function = written_function(subject, name)
    part = None if function is None else function.returned
    if function is None or part is None or len(function.arguments) != 1:
        return False
    while True:
        match part:
            case ast.Call(func=ast.Attribute(value=inner, attr=shaped)) if shaped in _SHAPING:
                part = inner
            case _:
                break
    own = f"{function.arguments[0]}[0]"
    forms = (f"torch.logical_not({own})", f"~{own}", f"{own}.logical_not()", f"{own} == False")
    return ast.unparse(part) in forms


def _edits(subject: RewriteSubject, filled: _Filled) -> list[Edit] | str:
    """Return the edits of the program, without the types of functions; else what is not written as it must be."""
    nodes = (filled.reshape, filled.retile, filled.flags, filled.kept, filled.flatten, filled.work.end)
    calls = [call for node in nodes if (call := subject.call(node)) is not None]
    if len(calls) < len(nodes):
        return "an operator is not written as step.Name(...).apply(...)"
    reshape, retile, flags, kept, flatten, last = calls
    first = bound_lines(subject, reshape.whole)
    if first is None or len(first.names) != 2 or reshape.argument is None or retile.argument is None:
        return "the Reshape is not bound to two names on a line of its own"
    text = subject.text
    data, padding = first.names
    rows = text[reshape.argument.start : reshape.argument.end]
    joined = text[retile.argument.start : retile.argument.end]
    if joined != data or times_read(subject, data) != 1 or not is_movable(subject, rows):
        return f"{data} is read otherwise than by the Retile, or other names could stand for its rows by then"
    dropped = _flag_lines(subject, flags, flatten, kept, padding)
    single = unpacked_one(subject, kept.whole)
    if dropped is None or len(kept.items) != 2 or single is None:
        return "what says which rows are filling is written in another way than Stepsmith can take out"
    edits = [Edit(first.lines, ""), Edit(retile.argument, f"{subject.module}Promote(b=1).apply({rows})")]
    edits += [Edit(each.lines, "") for each in dropped]
    end = text[kept.items[0].start : kept.items[0].end]
    if "depth" in kept.keywords:  # as many rows wait behind the tiles as before
        depth = kept.keywords["depth"]
        end = f"{subject.module}Identity(depth={text[depth.start : depth.end]}).apply({end})"
        if "depth" not in last.keywords and last.whole == kept.items[0] and last.argument is not None:
            head = with_parameters(text, last, {"depth": text[depth.start : depth.end]})
            end = f"{head}.apply({text[last.argument.start : last.argument.end]})"
    return [*edits, Edit(single.place, f"{single.name} = {end}" if single.name else end)]


def _flag_lines(
    subject: RewriteSubject, flags: WrittenCall, flatten: WrittenCall, kept: WrittenCall, padding: str
) -> list[BoundLines] | None:
    """Return the lines that make flags of the padding, as far as the Partition does not hold them."""
    text = subject.text
    if flatten.argument is None or text[flatten.argument.start : flatten.argument.end] != padding:
        return None
    if times_read(subject, padding) != 1 or len(kept.items) != 2:
        return None
    lines: list[BoundLines] = []
    for maker, reader in ((flags, kept.items[1]), (flatten, flags.argument)):
        if reader is None:
            return None
        if maker.whole == reader:
            continue
        found, name = bound_lines(subject, maker.whole), text[reader.start : reader.end]
        if found is None or found.names != (name,) or times_read(subject, name) != 1:
            return None
        lines.append(found)
    return lines
