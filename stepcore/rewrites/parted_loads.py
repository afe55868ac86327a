"""Loads whose tiles are parts of larger ones, or that are made again for each part: one more counter."""

from __future__ import annotations

from stepcore.findings.diagnostics import Edit
from stepcore.graph.typed import TypedNode
from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
from stepcore.printing.code_lines import factor
from stepcore.printing.python import size_text
from stepcore.records import Record
from stepcore.rewrites.calls import WrittenCall, with_parameters, written_list
from stepcore.rewrites.subject import RewriteSubject
from stepcore.rewrites.tile_parts import NotInParts
from stepcore.sizes.dim import Dim, exact_quotient, product
from stepcore.types import as_shape

_NONE, _ONE = Dim.of(0), Dim.of(1)


class _Counters(Record):
    """The counters of a load, innermost first: sizes and strides, and how these are written."""

    sizes: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    size_texts: tuple[str, ...]
    stride_texts: tuple[str, ...]


def parted_load(subject: RewriteSubject, node: TypedNode, level: int, parts: int, rows: int) -> Edit:
    """Return the edit by which a load gives tiles of ``rows`` rows, ``parts`` for each one that it gave.

    Raises:
        NotInParts: it is not written out, or tiles of its read do not lie below each other in a way that is known.
    """
    op, call = _written(subject, node)
    tile = written_list(call, "tile")
    if tile is None or len(tile) != 2:
        raise NotInParts("its tile is not written out as rows and columns")
    row = op.memory.sizes[0] // as_shape(op.tile)[1]  # tiles from one to that below it
    counters = _counters(op, call)
    strides = list(counters.stride_texts)
    for place, (size, stride) in enumerate(zip(counters.sizes, counters.strides, strict=True)):
        if stride == _NONE or (row != _ONE and stride == _ONE and _is_within(size, row)):
            continue  # the same tiles again, or all those of one row, beside each other
        if not _is_multiple(stride, row):
            raise NotInParts("it reads tiles at places of which it is not known how they lie below each other")
        strides[place] = times(strides[place], parts)
    if sum(row != _ONE and stride == _ONE for stride in counters.strides) > 1:
        raise NotInParts("it reads tiles at places of which it is not known how they lie below each other")
    values = _with_counter(counters.size_texts, tuple(strides), level, (str(parts), size_text(row)))
    values["tile"] = f"[{rows}, {tile[1]}]"
    base = Dim.of(op.base)
    if base != _NONE:
        if not _is_multiple(base, row) or "base" not in call.keywords:
            raise NotInParts("it begins at a tile of which it is not known where it lies")
        values["base"] = times(_shown(subject, call, "base"), parts)
    return _changed(subject, call, values | deeper(subject, call, parts))


def repeated_load(subject: RewriteSubject, node: TypedNode, level: int, parts: int) -> Edit:
    """Return the edit by which a load gives what is inside of a level ``parts`` times.

    Raises:
        NotInParts: it is not written out.
    """
    op, call = _written(subject, node)
    counters = _counters(op, call)
    values = _with_counter(counters.size_texts, counters.stride_texts, level, (str(parts), "0"))
    return _changed(subject, call, values)


def deeper(subject: RewriteSubject, call: WrittenCall, parts: int) -> dict[str, str]:
    """Return the depth of an operator in parts, where it is written: as many bytes as before."""
    return {"depth": times(_shown(subject, call, "depth"), parts)} if "depth" in call.keywords else {}


def times(text: str, parts: int) -> str:
    """Return an expression so many times."""
    return str(int(text) * parts) if text.removeprefix("-").isdecimal() else f"{parts} * {factor(text)}"


def _written(subject: RewriteSubject, node: TypedNode) -> tuple[LinearOffChipLoad, WrittenCall]:
    call = subject.call(node)
    if call is None or not isinstance(node.op, LinearOffChipLoad):
        raise NotInParts("it is not written as step.LinearOffChipLoad(...).apply(...)")
    return node.op, call


def _counters(op: LinearOffChipLoad, call: WrittenCall) -> _Counters:
    if op.shape is None and op.stride is None:
        rows, columns = as_shape(op.tile)
        inner, outer, *rest = op.memory.sizes
        sizes = (inner // columns, outer // rows, *rest)
        strides = tuple(product(sizes[:place]) for place in range(len(sizes)))
        return _Counters(sizes, strides, tuple(map(size_text, sizes)), tuple(map(size_text, strides)))
    shape, stride = written_list(call, "shape"), written_list(call, "stride")
    if op.shape is None or op.stride is None or shape is None or stride is None:
        raise NotInParts("its shape and stride are not written out as lists")
    return _Counters(as_shape(op.shape), as_shape(op.stride), tuple(shape), tuple(stride))


def _with_counter(
    sizes: tuple[str, ...], strides: tuple[str, ...], level: int, counter: tuple[str, str]
) -> dict[str, str]:
    listed = [*zip(sizes, strides, strict=True)]
    listed.insert(level, counter)
    names = ("shape", "stride")
    return {name: f"[{', '.join(items)}]" for name, items in zip(names, zip(*listed, strict=True), strict=True)}


def _is_within(size: Dim, row: Dim) -> bool:
    """Whether so many tiles beside each other are no more than a row has."""
    numbers = size.constant, row.constant
    return size == row or (numbers[0] is not None and numbers[1] is not None and numbers[0] <= numbers[1])


def _is_multiple(size: Dim, of: Dim) -> bool:
    whole, numbers = exact_quotient(size, of), (size.constant, of.constant)
    if numbers[0] is not None and numbers[1]:
        return numbers[0] % numbers[1] == 0
    return whole is not None and whole.is_integral


def _shown(subject: RewriteSubject, call: WrittenCall, name: str) -> str:
    place = call.keywords[name]
    return subject.text[place.start : place.end]


def _changed(subject: RewriteSubject, call: WrittenCall, values: dict[str, str]) -> Edit:
    return Edit(call.head, with_parameters(subject.text, call, values))
