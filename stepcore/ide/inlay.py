"""Inlay hints: element type and shape behind each name that a stream is assigned to."""

from __future__ import annotations

import re
from typing import Final

from stepcore.frontend.values import Value
from stepcore.graph.ir import GraphStream
from stepcore.ide.analysis import Analysis, DocumentUnit
from stepcore.ide.hover_text import data_text, open_sizes_text
from stepcore.ide.meaning import Seeing, seeing, streams_in
from stepcore.ide.model import InlayHint
from stepcore.text.span import Span
from stepcore.text.wording import short_words

_BRANCH: Final = re.compile(r", \d+\)")
_MAX_ITEMS: Final = 3  # of a list that a hint spells out


def inlay_hints(analysis: Analysis, span: Span) -> list[InlayHint]:
    """Return the hints in a region, in order: one for each name that gets a stream; none where its type is unknown."""
    found: dict[int, InlayHint] = {}
    for unit in analysis.units:
        for inner, label, tooltip in _hints(unit):
            outer = unit.to_document(inner)
            if outer is not None and span.start <= outer.end <= span.end:
                found.setdefault(outer.end, InlayHint(outer.end, label, tooltip))
    return [found[offset] for offset in sorted(found)]


def _hints(unit: DocumentUnit) -> list[tuple[Span, str, str]]:
    """Return name, label and tooltip of all hints of a unit, in its own positions, worked out once per text."""
    found = unit.checking.memo.get("hints")
    if found is None:
        here = seeing(unit)
        values = ((span, [item.value for item in items if item.is_store]) for span, items in here.by_span.items())
        hints = (_hint(here, span, stored) for span, stored in values if stored)
        found = unit.checking.memo["hints"] = [hint for hint in hints if hint is not None]
    assert isinstance(found, list)
    return found


def _hint(here: Seeing, span: Span, values: list[Value]) -> tuple[Span, str, str] | None:
    """Return the hint of one name; in a loop it has a value in each round."""
    labels: dict[str, list[GraphStream]] = {}
    for value in values:
        streams = _streams(here, value)
        if not streams or any(stream.type is None for stream in streams):
            return None
        labels.setdefault(_label(here, value, streams), streams)
    label, streams = next(iter(labels.items()))
    text = f": {label}{' ...' if len(labels) > 1 else ''}"
    return span, short_words(text), short_words(_tooltip(here, streams))


def _streams(here: Seeing, value: Value) -> list[GraphStream]:
    checked = here.checked
    return [] if checked is None else [checked.graph.streams[index] for _, index in streams_in(value)]


def _label(here: Seeing, value: Value, streams: list[GraphStream]) -> str:
    types = [here.type_text(stream.type) for stream in streams]
    if not isinstance(value, list | tuple):
        return " or ".join(dict.fromkeys(types))
    alike = {_BRANCH.sub(", i)", text) for text in types}
    if len(alike) == 1:  # #(E1, 0), #(E1, 1) ... are the sizes of the branches
        return f"{len(types)} × {types[0] if len(set(types)) == 1 else alike.pop()}"
    return f"({', '.join(types[:_MAX_ITEMS])}{', ...' if len(types) > _MAX_ITEMS else ''})"


def _tooltip(here: Seeing, streams: list[GraphStream]) -> str:
    """Return the data of a stream, and what its sizes are that only a run can tell."""
    lines: list[str] = []
    for stream in streams[:_MAX_ITEMS]:
        assert stream.type is not None
        lines.append(data_text(here, stream.type))
        lines += open_sizes_text(stream.type)
    return "\n\n".join(dict.fromkeys(lines))
