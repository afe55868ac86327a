"""Pieces of YAML texts: blocks and items, found by their first lines, and blocks of the usual form read at once."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from stepcore.findings.diagnostics import Edit
from stepcore.frontend.yaml.blocks import read_block
from stepcore.frontend.yaml.nodes import ListNode, MapNode, Node, ScalarNode
from stepcore.frontend.yaml.shifts import Shifts
from stepcore.text.span import Span

TOP_KEY: Final = re.compile(r"^(?:[^\W\d][\w-]*|'[\w-]+'|\"[\w-]+\")[ \t]*:(?=[\s]|$)", re.MULTILINE)
_ITEM: Final = re.compile(r"^([ \t]*)-(?=[ \t\r\n])", re.MULTILINE)
_NOTHING: Final = re.compile(r"(?:\s|#[^\n]*)*")
_RETURN: Final = re.compile(r"\r(?=\n)")


def usual_form(text: str) -> MapNode | None:
    """Read a block of the usual form, with line ends of either kind."""
    if "\r\n" not in text:
        return read_block(text)
    shifts = Shifts(Edit(Span(found.start(), found.start() + 1), "") for found in _RETURN.finditer(text))
    node = read_block(shifts.applied(text))
    if node is None:
        return None
    placed = shifts.node(node)
    assert isinstance(placed, MapNode)
    return placed


def moved(node: Node, by: int) -> Node:
    """Return a copy of ``node`` that stands ``by`` characters further on."""
    start, end = node.span
    span = Span(start + by, end + by)
    if isinstance(node, ScalarNode):
        return ScalarNode(node.value, node.style, span)
    if isinstance(node, ListNode):
        return ListNode([moved(item, by) for item in node.items], span, node.flow, node.weight)
    return MapNode([(moved(key, by), moved(value, by)) for key, value in node.pairs], span, node.flow, node.weight)


def blocks_of(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the top-level keys with what stands under them."""
    starts = [match.start() for match in TOP_KEY.finditer(text, start, end)]
    yield from pairwise((*starts, end))


def items_of(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the items of a block list: the lines that begin with ``-`` at the first one's indentation."""
    nothing = _NOTHING.match(text, start, end)
    at = start if nothing is None else text.rfind("\n", 0, nothing.end()) + 1
    first = _ITEM.match(text, at, end)
    if first is None:
        return  # the block is no list: a dash in it begins something else
    starts = [match.start() for match in _ITEM.finditer(text, start, end) if match[1] == first[1]]
    yield from pairwise((*starts, end))
