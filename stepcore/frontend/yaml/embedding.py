"""The texts in a YAML file: where each line of a scalar stands, and where pairs of mappings begin and end."""

from __future__ import annotations

import re
from typing import Final

from stepcore.frontend.syntax import parse_suite
from stepcore.frontend.yaml.nodes import MapNode, Node, ScalarNode
from stepcore.text.span import Embedded, Span

_LINE: Final = re.compile(r"[^\r\n]*")
_BREAK: Final = re.compile(r"\r\n|\r|\n")
_FLOW_REST: Final = re.compile(r":?[ ]*,[ ]*")
_LONGEST: Final = 10_000  # characters of a folded text that are parsed to see what was meant


def embed(text: str, node: ScalarNode) -> Embedded:
    """Return the scalar's value with the place of each of its lines in ``text``."""
    start, end = node.span.start, node.span.end
    if node.style == "|":
        return _embed_block(text, node)
    inset = 1 if node.style else 0
    if node.style != ">" and text[start + inset : end - inset] == node.value and "\n" not in node.value:
        return Embedded(node.value, (start + inset,), node.span)
    return Embedded(node.value, (), node.span, verbatim=False)


def _embed_block(text: str, node: ScalarNode) -> Embedded:
    """Find the lines of a literal block; every value line is the end of its line in the file."""
    value_lines = node.value.split("\n")
    header = _BREAK.search(text, node.span.start)
    position = header.end() if header else len(text)
    offsets: list[int] = []
    indent: str | None = None
    last = node.span.start
    for number, value in enumerate(value_lines):
        match = _LINE.match(text, position)
        assert match is not None  # the pattern matches the empty text
        raw = match[0]
        is_tail = number == len(value_lines) - 1 and not value
        if not is_tail and not raw.endswith(value):
            return Embedded(node.value, (), node.span, verbatim=False)
        if value.strip() and indent is None:
            indent = raw[: len(raw) - len(value)]
        offsets.append(match.end() - len(value) if not is_tail else position)
        last = match.end() if value else last
        line_end = _BREAK.match(text, match.end())
        position = line_end.end() if line_end else match.end()
    outer = Span(node.span.start, max(last, node.span.start + 1))
    newline = header[0] if header else ""
    return Embedded(node.value, tuple(offsets), outer, indent="  " if indent is None else indent, line_end=newline)


def unfolded(text: str, node: ScalarNode) -> Embedded | None:
    """Return the lines of code that YAML took for one, because no ``|`` stands before them; None where one is meant.

    That is so where the lines are Python, and what YAML makes of them is none.
    """
    start, end = node.span
    if node.style or end - start > _LONGEST or _BREAK.search(text, start, end) is None:
        return None
    first = text.rfind("\n", 0, start) + 1
    margin = text[first:start]
    if margin.strip() or not parse_suite(node.value).faults:
        return None
    offsets: list[int] = []
    lines: list[str] = []
    at = first
    for line in text[first:end].split("\n"):
        if line.strip() and not line.startswith(margin):
            return None
        offsets.append(at + min(len(margin), len(line)))
        lines.append(line[len(margin) :])
        at += len(line) + 1
    code = "\n".join(lines)
    return None if parse_suite(code).faults else Embedded(code, tuple(offsets), node.span, indent=margin)


def pair_span(text: str, node: MapNode, key: Node, value: Node) -> Span | None:
    """Return what has to be removed so that a mapping loses a pair; None where other things share its lines."""
    end = max(key.span.end, value.span.end)
    if node.flow:
        after = _FLOW_REST.match(text, end)
        if after:
            return Span(key.span.start, after.end())
        before = len(text[: key.span.start].rstrip())
        return Span(before - 1, end) if text[before - 1 : before] == "," else None
    start = text.rfind("\n", 0, key.span.start) + 1
    if text[start : key.span.start].strip():
        return None  # the pair begins an item
    if text[end - 1 : end] == "\n" or not text[text.rfind("\n", 0, end) + 1 : end].strip():
        return Span(start, text.rfind("\n", 0, end) + 1)  # a block ends where the next line begins
    line = text.find("\n", end)
    return Span(start, len(text) if line < 0 else line + 1)
