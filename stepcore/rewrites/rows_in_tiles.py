"""What becomes of rows between the Retile that joins them to tiles and the RetileStreamify that takes these apart.

The work in between is *row by row* where it does the same whichever rows a tile has, and however many: then rows that a
stream routes may be tiles of a fixed size, filled up, or one tile of all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from stepcore.graph.typed import TypedNode
from stepcore.records import Record
from stepcore.rewrites.functions import written_function
from stepcore.rewrites.row_wise import is_row_wise
from stepcore.rewrites.subject import RewriteSubject
from stepcore.types import Buffer, Element, Scalar, Shape, STuple, Tile

_PASSING: Final = ("Copy", "Identity", "Repeat")
_FOLDS: Final = ("Accum", "Scan")


class RowByRow(Record):
    """The node that takes tiles apart again; by name the functions that are given rows, and which inputs have some."""

    end: TypedNode
    functions: dict[str, tuple[bool, ...]]


def row_by_row(subject: RewriteSubject, joined: TypedNode) -> RowByRow | str:
    """Return what is done to the tiles that a Retile makes of single rows; else why that is not row by row."""
    (made,) = joined.outputs
    length = subject.graph.streams[made].type.shape
    rows, beside = {made}, set[int]()  # streams of tiles that have rows; what is read from memory for each of them
    functions: dict[str, tuple[bool, ...]] = {}
    ends: list[TypedNode] = []
    for node in subject.graph.nodes[joined.index + 1 :]:
        if not rows.union(beside).intersection(node.inputs):
            continue
        has_rows = [stream in rows for stream in node.inputs]
        if any(stream not in rows and stream not in beside for stream in node.inputs):
            return f"{node.written} reads the tiles with a stream that does not come from them"
        if _is_end(subject, node, has_rows, length):
            ends.append(node)
            continue
        fault = _fault(subject, node, has_rows, functions)
        if fault is not None:
            return fault
        (rows if any(has_rows) and node.op_name != "LinearOffChipLoad" else beside).update(node.outputs)
    if rows.union(beside) & {*subject.graph.returns}:
        return "tiles are returned as they are"
    if len(ends) != 1:
        return "the tiles are not taken apart into rows by one RetileStreamify"
    unread = [stream for stream in rows | beside if stream not in subject.consumers]
    return "a stream of the tiles is not read" if unread else RowByRow(ends[0], functions)


def _is_end(subject: RewriteSubject, node: TypedNode, has_rows: Sequence[bool], length: Shape) -> bool:
    """Whether a node takes tiles apart into rows, of which there are as many as were joined."""
    if node.op_name != "RetileStreamify" or not all(has_rows) or getattr(node.op, "axis", None) != 0:
        return False
    return subject.graph.streams[node.inputs[0]].type.shape == length


def _fault(
    subject: RewriteSubject, node: TypedNode, has_rows: Sequence[bool], functions: dict[str, tuple[bool, ...]]
) -> str | None:
    """Return why a node does not keep rows apart; functions that do are noted."""
    op, rank = node.op, subject.graph.streams[node.inputs[0]].type.rank
    if node.op_name in _PASSING or node.op_name == "LinearOffChipLoad":
        return None
    if not any(has_rows):
        if node.op_name in ("Map", *_FOLDS) or (node.op_name == "Flatten" and rank == 1):
            return None
        if node.op_name == "Retile" and rank > 0:
            return None
    elif node.op_name == "Retile" and getattr(op, "axis", None) == 1:
        return None
    elif node.op_name in ("Map", *_FOLDS):
        return _function_fault(subject, node, has_rows, functions)
    return f"whether {node.written} keeps rows apart is not known"


def _function_fault(
    subject: RewriteSubject, node: TypedNode, has_rows: Sequence[bool], functions: dict[str, tuple[bool, ...]]
) -> str | None:
    name = getattr(getattr(node.op, "fn", None), "func_name", "")
    function = written_function(subject, name)
    elements = [subject.graph.streams[stream].type.element for stream in node.inputs]
    if function is None or any(isinstance(each, STuple) for each in elements):
        return f"what {name} computes of each row cannot be read off the file"
    flat = [is_flat(element) for element in elements]
    wanted = tuple(has_rows)
    if functions.get(name, wanted) != wanted:
        return f"{name} is given rows in different places"
    if not is_row_wise(function, wanted, flat):
        return f"{name} may mix the rows of a tile, or count them"
    functions[name] = wanted
    return None


def is_flat(element: Element) -> bool:
    """Whether an element is spread over rows where it stands beside them."""
    match element:
        case Tile(shape=(rows, _)):
            return rows == 1
        case Buffer(shape=shape):
            return len(shape) < 2
    return isinstance(element, Scalar)
