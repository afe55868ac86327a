"""The blocks of ordinary task files, read without a YAML parser.

That takes a tenth of the time of ruamel.yaml's parser, and spares its import. What is read here is a part of YAML 1.2
(chapters 7 and 8): mappings with simple keys, lists, plain and quoted scalars on one line, literal texts, and flow
collections of these. Of everything else, and of whatever is broken, nothing is said here: the parser reads it. The
nodes are those that the parser's events give, spans included.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from stepcore.frontend.yaml.nodes import MAX_NODES, ListNode, MapNode, Node, ScalarNode
from stepcore.text.span import Span

_MAX_DEPTH: Final = 20  # of collections in each other
_ODD: Final = re.compile(r"[^\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
_FIRST: Final = r"[^\s\-?:,\[\]{}#&*!|>'\"%@`]"  # of a plain scalar
_SKIPPED: Final = re.compile(r"(?: *(?:#[^\n]*)?\n)* *(?:#[^\n]*\Z)?")  # from the start of a line to the next token
_KEY: Final = re.compile(r"(\w[\w.-]{0,99}):(?: +|(?=\n)|\Z)")
_FLOW_KEY: Final = re.compile(r"(\w[\w.-]{0,99}): +")
_DASH: Final = re.compile(r"- +(?=[^ \n#])")
_END: Final = re.compile(r"(?: +#[^\n]*| *)(?:\n|\Z)")  # of a line behind a value
_NESTED: Final = re.compile(r"(?:#[^\n]*)?(?:\n|\Z)")  # of a line behind a key without a value
_PLAIN: Final = re.compile(rf"(?:{_FIRST}|-(?=[^ \n]))(?:[^ :\n]| +(?![ #\n])|:(?=[^ \n]))*+(?!:)")
_FLOW_PLAIN: Final = re.compile(rf"(?:{_FIRST}|-(?=\w))(?:[^ \n,:?\[\]{{}}#]| +(?=[^ \n,:?\[\]{{}}#]))*")
_QUOTED: Final = re.compile(r"\"([^\"\\\n]*)\"|'((?:[^'\n]|'')*+)'")
_FLOW_SPACE: Final = re.compile(r"[ \n]*")
_HEADER: Final = re.compile(r"\|([+-]?)(?: +#[^\n]*| *)\n(\n*)( *)(?=[^ \n])")


class _LeftToParserError(Exception):
    """Something that the parser has to look at."""


def read_block(text: str) -> MapNode | None:
    """Return the mapping at the left margin of ``text``; None where that is left to the parser."""
    if _ODD.search(text) or text.endswith(" "):
        return None
    block = _Block(text)
    try:
        node = block.mapping(0, 0)
    except _LeftToParserError:
        return None
    return node if node.pairs and block.at == len(text) else None


class _Block:
    """A cursor: ``at`` is the next token, ``column`` where it stands on its line (-1: the text ends)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = self.column = 0
        self.left = MAX_NODES  # values in brackets and braces: of all others a line has one
        self._to_token(0)

    def _to_token(self, line: int) -> None:
        """Go on at the first token from the start of a line."""
        text = self.text
        self.at = at = _SKIPPED.match(text, line).end()  # type: ignore[union-attr]  # it matches nothing, too
        self.column = at - text.rfind("\n", 0, at) - 1 if at < len(text) else -1

    def mapping(self, column: int, depth: int) -> MapNode:
        """Read the pairs whose keys stand in ``column``, the first of them at the cursor."""
        text, start, pairs, weight = self.text, self.at, list[tuple[Node, Node]](), 1
        while self.column == column:
            found = _KEY.match(text, self.at)
            if found is None:
                raise _LeftToParserError
            key = ScalarNode(found[1], "", Span(self.at, found.end(1)))
            value = self._of_key(key, found.end(), column, depth)
            weight += 1 + value.weight
            pairs.append((key, value))
        return MapNode(pairs, Span(start, self.at), False, weight)

    def _of_key(self, key: ScalarNode, at: int, column: int, depth: int) -> Node:
        rest = _NESTED.match(self.text, at)
        if rest is None:
            return self._value(at, column, depth)
        self._to_token(rest.end())
        is_list = self.text.startswith("- ", self.at)
        if self.column > column:
            inner = self.column
            node = (self._sequence if is_list else self.mapping)(inner, self._deeper(depth))
            if self.column > column:
                raise _LeftToParserError
            return node
        if is_list and self.column == column:
            return self._sequence(column, self._deeper(depth))
        return ScalarNode("", "", key.span)  # nothing is written: findings about it go to the key

    def _sequence(self, column: int, depth: int) -> ListNode:
        """Read the items whose dashes stand in ``column``, the first of them at the cursor."""
        text, start, items, weight = self.text, self.at, list[Node](), 1
        while self.column == column and (dash := _DASH.match(text, self.at)) is not None:
            at = dash.end()
            inner = column + at - self.at
            if _KEY.match(text, at) is not None:
                self.at, self.column = at, inner
                item: Node = self.mapping(inner, self._deeper(depth))
            elif _DASH.match(text, at) is not None:
                self.at, self.column = at, inner
                item = self._sequence(inner, self._deeper(depth))
            else:
                item = self._value(at, column, depth)
            if self.column > column:
                raise _LeftToParserError
            items.append(item)
            weight += item.weight
        if not items:
            raise _LeftToParserError
        return ListNode(items, Span(start, self.at), False, weight)

    def _value(self, at: int, column: int, depth: int) -> Node:
        """Read what begins at ``at`` in a line of a collection in ``column``, and the end of its last line."""
        first = self.text[at]
        if first == "|":
            node, line = self._literal(at, column)
        else:
            if first in "[{":
                node, at = self._flow(at, depth)
            elif first in "'\"":
                node, at = self._quoted(at)
            else:
                node, at = self._scalar(_PLAIN, at)
            end = _END.match(self.text, at)
            if end is None:
                raise _LeftToParserError
            line = end.end()
        self._to_token(line)
        if self.column > column:  # the value goes on, or something does not belong here
            raise _LeftToParserError
        return node

    def _scalar(self, form: re.Pattern[str], at: int) -> tuple[Node, int]:
        found = form.match(self.text, at)
        if found is None:
            raise _LeftToParserError
        return ScalarNode(found[0], "", Span(at, found.end())), found.end()

    def _quoted(self, at: int) -> tuple[Node, int]:
        found = _QUOTED.match(self.text, at)
        if found is None:
            raise _LeftToParserError
        value = found[1] if found[2] is None else found[2].replace("''", "'")
        return ScalarNode(value, self.text[at], Span(at, found.end())), found.end()

    def _literal(self, at: int, column: int) -> tuple[Node, int]:
        """Read a literal text: return it, and the start of the line behind it."""
        header = _HEADER.match(self.text, at)
        if header is None or len(header[3]) <= column:
            raise _LeftToParserError
        indent = len(header[3])
        end = _lines(indent).match(self.text, header.start(3)).end()  # type: ignore[union-attr]  # its first line
        lines = [line[indent:] for line in self.text[header.start(3) : end].split("\n")]
        value = "\n".join(lines)
        if header[1] != "+":
            bare = value.rstrip("\n")
            value = bare if header[1] or bare == value else bare + "\n"
        return ScalarNode(header[2] + value, "|", Span(at, end)), end

    def _flow(self, at: int, depth: int) -> tuple[Node, int]:
        """Read a value within brackets or braces, or such a collection: return it, and where it ends."""
        self.left -= 1
        if self.left < 0:
            raise _LeftToParserError
        first = self.text[at : at + 1]
        if first == "[":
            return self._flow_list(at, self._deeper(depth))
        if first == "{":
            return self._flow_map(at, self._deeper(depth))
        return self._quoted(at) if first in {"'", '"'} else self._scalar(_FLOW_PLAIN, at)

    def _flow_list(self, at: int, depth: int) -> tuple[Node, int]:
        start, items, weight = at, list[Node](), 1
        at = self._skip(at + 1)
        if self.text.startswith("]", at):
            return ListNode(items, Span(start, at + 1), True), at + 1
        while True:
            item, at = self._flow(at, depth)
            items.append(item)
            weight += item.weight
            at, is_last = self._behind(at, "]")
            if is_last:
                return ListNode(items, Span(start, at), True, weight), at

    def _flow_map(self, at: int, depth: int) -> tuple[Node, int]:
        start, pairs, weight = at, list[tuple[Node, Node]](), 1
        at = self._skip(at + 1)
        while True:
            found = _FLOW_KEY.match(self.text, at)
            if found is None:
                raise _LeftToParserError
            key = ScalarNode(found[1], "", Span(at, found.end(1)))
            value, at = self._flow(found.end(), depth)
            pairs.append((key, value))
            weight += 1 + value.weight
            at, is_last = self._behind(at, "}")
            if is_last:
                return MapNode(pairs, Span(start, at), True, weight), at

    def _behind(self, at: int, closing: str) -> tuple[int, bool]:
        """Step over what stands behind an item: return where the next one begins, or the end behind the last."""
        at = self._skip(at)
        if self.text.startswith(closing, at):
            return at + 1, True
        if not self.text.startswith(",", at):
            raise _LeftToParserError
        return self._skip(at + 1), False

    def _skip(self, at: int) -> int:
        return _FLOW_SPACE.match(self.text, at).end()  # type: ignore[union-attr]  # it matches nothing, too

    def _deeper(self, depth: int) -> int:
        if depth == _MAX_DEPTH:
            raise _LeftToParserError
        return depth + 1


@lru_cache(maxsize=16)
def _lines(indent: int) -> re.Pattern[str]:
    """Return what the lines of a literal text match: indented, or blank."""
    return re.compile(rf"(?: {{{indent}}}[^\n]*(?:\n|\Z)| {{0,{indent}}}\n)*")
