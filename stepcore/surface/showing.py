"""How a stream of a script looks: one line of text, and HTML for notebooks (a table, a sparkline, the dataflow)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Final

from stepcore.sizes.dim import Dim, DimError
from stepcore.surface.origins import Origin
from stepcore.text.wording import counted, one_line
from stepcore.types import StreamType, shape_text

if TYPE_CHECKING:
    from torch import Tensor

FIRST: Final = 6  # values that are shown of each component
_SAMPLES: Final = 120  # of a sparkline
_WIDE, _HIGH = 240, 40  # of a sparkline, in pixels
_DRAWN: Final = 40  # streams in a picture of the dataflow
_BOX, _ROW, _GAP = 200, 40, 36  # width and height of a box and the space between columns, in pixels
_STYLE: Final = "font-family:monospace;font-size:12px;color:inherit"


def line(name: str, type_: StreamType, sizes: dict[str, int], data: Sequence[Tensor] | None) -> str:
    """Return ``Stream E0: [M, N] = [5, 7] of fp32: 0.1, 0.2, ... (35 values)``."""
    what = f"Stream {one_line(name)}: " if name else "Stream "
    text = f"{what}{_typed(type_, sizes if data is not None else {})}"
    if data is None:
        return f"{text}, without data"
    parts = [f"{_first(tensor)} ({counted(tensor.numel(), 'value')})" for tensor in data]
    return f"{text}: {'; '.join(parts)}"


def html(name: str, type_: StreamType, sizes: dict[str, int], data: Sequence[Tensor] | None, origin: Origin) -> str:
    """Return a table with the type and the first values, a sparkline for each component, and the dataflow as SVG."""
    typed = _typed(type_, sizes if data is not None else {})
    rows = [("stream", escape(one_line(name)) or "&mdash;"), ("type", escape(typed))]
    if data is None:
        rows.append(("data", "none"))
    for number, tensor in enumerate(data or ()):
        label = "values" if len(data or ()) == 1 else f"component {number}"
        rows.append((label, f"{escape(_first(tensor))} ({counted(tensor.numel(), 'value')})<br>{_sparkline(tensor)}"))
    if origin.operator is not None:
        rows.append(("made by", _dataflow(origin)))
    body = "".join(
        f'<tr><th style="text-align:left">{key}</th><td style="text-align:left">{value}</td></tr>'
        for key, value in rows
    )
    return f'<table style="{_STYLE}">{body}</table>'


def _typed(type_: StreamType, sizes: dict[str, int]) -> str:
    shape = shape_text(type_.shape)
    try:
        bound = shape_text(Dim.of(size.bind(sizes)) for size in type_.shape) if sizes else shape
    except DimError:
        bound = shape
    return f"{shape}{'' if bound == shape else f' = {bound}'} of {type_.element}"


def _first(tensor: Tensor) -> str:
    if not tensor.numel():
        return "no values"
    values = _picked(tensor, range(min(FIRST, tensor.numel())))
    more = ", ..." if tensor.numel() > FIRST else ""
    return f"{', '.join(f'{value:.4g}' for value in values)}{more}"


def _picked(tensor: Tensor, positions: Iterable[int]) -> list[float]:
    """Return values in the order of the stream; one by one, because a view may stand for far more than is stored."""
    found = []
    for position in positions:
        index, rest = [], position
        for size in reversed(tensor.shape):
            rest, inner = divmod(rest, size)
            index.append(inner)
        found.append(float(tensor[tuple(reversed(index))].item()))
    return found


def _sparkline(tensor: Tensor) -> str:
    """Return the values, evenly picked where they are many, as a line; infinite ones and NaN are gaps."""
    count = min(tensor.numel(), _SAMPLES)
    if count < 2:
        return ""
    values = _picked(tensor, (position * (tensor.numel() - 1) // (count - 1) for position in range(count)))
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return ""
    low, high = min(finite), max(finite)
    runs: list[list[str]] = [[]]
    for number, value in enumerate(values):
        if not math.isfinite(value):
            runs.append([])
            continue
        x = number * (_WIDE - 4) / (count - 1) + 2
        y = _HIGH / 2 if high == low else (_HIGH - 4) * (high - value) / (high - low) + 2
        runs[-1].append(f"{x:.1f},{y:.1f}")
    lines = "".join(f'<polyline points="{" ".join(run)}" fill="none" stroke="currentColor"/>' for run in runs if run)
    title = f"<title>{low:.4g} to {high:.4g}</title>"
    return f'<svg width="{_WIDE}" height="{_HIGH}" role="img">{title}{lines}</svg> {low:.4g} to {high:.4g}'


def _dataflow(last: Origin) -> str:
    """Return the operators before a stream, inputs to the left; the nearest ones where they are many."""
    chosen: dict[int, Origin] = {}
    pending = [last]
    for origin in pending:  # grows while it is gone through: nearest first
        if id(origin) not in chosen and len(chosen) < _DRAWN:
            chosen[id(origin)] = origin
            pending.extend(origin.inputs)
    depths = {key: origin.depth for key, origin in chosen.items()}
    for origin in chosen.values():
        for given in origin.inputs:
            if (
                given.operator is None and id(given) in chosen
            ):  # next to what consumes it, so that no wire crosses a box
                depths[id(given)] = max(depths[id(given)], origin.depth - 1)
    columns = sorted(set(depths.values()))
    rows: dict[int, int] = {}
    places: dict[int, tuple[int, int]] = {}
    for key in sorted(chosen, key=depths.__getitem__):
        column = columns.index(depths[key])
        row = rows.get(column, 0)
        rows[column] = row + 1
        places[key] = column * (_BOX + _GAP) + 2, row * (_ROW + 12) + 2
    wires = [
        _wire(places[id(given)], places[key])
        for key, origin in chosen.items() for given in origin.inputs if id(given) in places
    ]  # fmt: skip
    boxes = [_box(origin, *places[key]) for key, origin in chosen.items()]
    width, height = len(columns) * (_BOX + _GAP), max(rows.values()) * (_ROW + 12) + 4
    cut = any(id(given) not in chosen for origin in chosen.values() for given in origin.inputs)
    note = "<br>earlier operators are not shown" if cut or last.depth > len(chosen) else ""
    return f'<svg width="{width}" height="{height}" role="img">{"".join(wires + boxes)}</svg>{note}'


def _wire(start: tuple[int, int], end: tuple[int, int]) -> str:
    x1, y1, x2, y2 = start[0] + _BOX, start[1] + _ROW // 2, end[0], end[1] + _ROW // 2
    bend = (x2 - x1) // 2
    way = f"M{x1},{y1} C{x1 + bend},{y1} {x2 - bend},{y2} {x2},{y2}"
    return f'<path d="{way}" fill="none" stroke="currentColor" opacity="0.6"/>'


def _box(origin: Origin, x: int, y: int) -> str:
    made_by = "input" if origin.operator is None else origin.operator.text()
    title = one_line(": ".join(filter(None, (origin.label, made_by))))
    type_ = str(origin.type)
    texts = "".join(
        f'<text x="{x + 6}" y="{y + below}" fill="currentColor" style="{_STYLE}">{escape(_short(text))}</text>'
        for below, text in ((16, title), (32, type_))
    )
    whole = escape(f"{title}\n{type_}")
    frame = f'<rect x="{x}" y="{y}" width="{_BOX}" height="{_ROW}" rx="4" fill="none" stroke="currentColor"/>'
    return f"<g><title>{whole}</title>{frame}{texts}</g>"


def _short(text: str) -> str:
    most = (_BOX - 12) // 7  # characters of this font that a box holds
    return text if len(text) <= most else f"{text[: most - 1]}…"
