"""Text to nodes. A text is split at its column-0 keys: such blocks are independent.

Of a text that YAML takes, each block is composed by itself and remembered, so that an edit costs its own block. Of a
broken text, a block that is a list loses only its broken items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from stepcore.findings.diagnostics import Diagnostic
from stepcore.frontend.yaml.blocks import read_block
from stepcore.frontend.yaml.nodes import (
    MAX_NODES,
    ComposeError,
    Document,
    ListNode,
    LostAnchor,
    MapNode,
    Node,
    ScalarNode,
    TooMuch,
)
from stepcore.text.span import Span

if TYPE_CHECKING:
    from stepcore.frontend.yaml.events import Events

MAX_NESTING: Final = 100
MAX_EXPANDED: Final = 100_000  # nodes that all aliases of a file together stand for
_TOP_KEY: Final = re.compile(r"^(?:[^\W\d][\w-]*|'[\w-]+'|\"[\w-]+\")[ \t]*:(?=[\s]|$)", re.MULTILINE)
_ITEM: Final = re.compile(r"^([ \t]*)-(?=[ \t\r\n])", re.MULTILINE)
_TABBED_KEY: Final = re.compile(r"^ *\t[ \t]*[^\W\d][\w-]*[ \t]*:[ \t]*$", re.MULTILINE)
_NOTHING: Final = re.compile(r"(?:\s|#[^\n]*)*")
# Marks between documents, and line breaks that only YAML takes for such.
_BEYOND_BLOCKS: Final = re.compile(r"^(?:---|\.\.\.|%)|\r(?!\n)|[\x85\u2028\u2029\ufeff]", re.MULTILINE)
_BEGINNINGS: Final = ("---", "...", "%")  # of such marks; to look for these and what follows is faster, and tells most
_MARKS: Final = (*(f"\n{each}" for each in _BEGINNINGS), "\r", "\x85", "\u2028", "\u2029", "\ufeff")
_MAX_REMEMBERED: Final = 1 << 16  # characters of a block


@lru_cache(maxsize=8)  # an editor asks several times about one text
def compose(text: str) -> Document:
    """Compose the first document of ``text``. Never raises; errors are STEP903, one for each top-level block.

    The document is shared: do not change it.
    """
    return _from_blocks(text) or _Composing(text).run()


def _from_blocks(text: str) -> Document | None:
    """Compose ``text`` block by block; None where that may not give what composing it as a whole gives."""
    starts = _top_keys(text)
    if not starts or _is_beyond_blocks(text):
        return None
    pairs: list[tuple[Node, Node]] = []
    weight, first = 1, starts[0]
    for start, end in pairwise((0, *starts[1:], len(text))):  # what stands before the first key belongs to it
        try:
            block = (_remembered if end - start <= _MAX_REMEMBERED else _independent)(text[start:end])
        except TooMuch as error:
            return _unread(error, start)
        if block is None:
            return None
        weight += block.weight - 1
        if weight > MAX_NODES:
            return _unread(_too_many(Span(block.span.start, block.span.start + 1)), start)
        first = min(first, start + block.span.start)
        pairs += [(_moved(key, start), _moved(value, start)) for key, value in block.pairs]
    return Document(MapNode(pairs, Span(first, len(text)), flow=False, weight=weight))


def _too_many(span: Span) -> TooMuch:
    return TooMuch(span, f"this file holds more than {MAX_NODES:,} values, and is not read; split it")


def _unread(error: TooMuch, start: int) -> Document:
    """Return the document of a text of which nothing is read; ``error`` counts from ``start``."""
    first, last = error.span
    return Document(problems=[Diagnostic("STEP903", Span(first + start, last + start), error.message)])


def _top_keys(text: str) -> list[int]:
    """Return where the keys at the left margin stand; only lines that are not indented are matched."""
    found: list[int] = []
    at = 0
    while at < len(text):
        if text[at] not in " \n\t#" and _TOP_KEY.match(text, at):
            found.append(at)
        at = text.find("\n", at) + 1 or len(text)
    return found


def _is_beyond_blocks(text: str) -> bool:
    may_be = text.startswith(_BEGINNINGS) or any(map(text.__contains__, _MARKS))
    return may_be and _BEYOND_BLOCKS.search(text) is not None


def _independent(text: str) -> MapNode | None:
    """Compose one block; None where it is broken, or holds anchors or aliases."""
    node = read_block(text)
    return _parsed(text) if node is None else node


def _parsed(text: str) -> MapNode | None:
    """Compose one block of any form by the parser.

    Raises:
        TooMuch: it holds too many values.
    """
    composing = _Composing(text)
    try:
        node = composing.piece(0, len(text))
    except TooMuch:
        raise  # to read the whole text would end here, too
    except ComposeError:
        return None
    return node if isinstance(node, MapNode) and composing.is_untied else None


_remembered: Final = lru_cache(maxsize=64)(_independent)


def _moved(node: Node, by: int) -> Node:
    """Return a copy of ``node`` that stands ``by`` characters further on."""
    start, end = node.span
    span = Span(start + by, end + by)
    if isinstance(node, ScalarNode):
        return ScalarNode(node.value, node.style, span)
    if isinstance(node, ListNode):
        return ListNode([_moved(item, by) for item in node.items], span, node.flow, node.weight)
    return MapNode([(_moved(key, by), _moved(value, by)) for key, value in node.pairs], span, node.flow, node.weight)


class _Composing:
    """One run over one text; anchors are shared by the pieces that it may be split into."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._anchors: dict[str, Node] = {}
        self._open: set[str] = set()  # anchors of what is being composed: it must not hold itself
        self._lost: set[str] = set()  # anchors of what could not be composed
        self._expanded = 0
        self._nodes = 0
        self._document = Document()

    def run(self) -> Document:
        document = self._document
        try:
            document.root = self.piece(0, len(self._text))
        except TooMuch as error:
            self._report(error)
        except ComposeError as error:
            try:
                self._recover(error)
            except TooMuch as bomb:
                self._report(bomb)
        return document

    @property
    def is_untied(self) -> bool:
        """True where nothing was named for later use, and nothing is to be said about what follows."""
        return not self._anchors and not self._document.problems

    def _recover(self, error: ComposeError) -> None:
        blocks = list(_split(_TOP_KEY, self._text, 0, len(self._text)))
        if not blocks:
            self._report(error)
            return
        self._anchors.clear()
        self._lost.clear()
        self._expanded = 0
        pairs: list[tuple[Node, Node]] = []
        for start, end in blocks:
            pairs += self._block(start, end)
        if not self._document.problems:  # no block is broken by itself: something between or before them is
            self._report(error)
        self._document.root = MapNode(pairs, Span(blocks[0][0], len(self._text)), flow=False)

    def _block(self, start: int, end: int) -> list[tuple[Node, Node]]:
        """Compose one top-level block; of a broken list keep the items that can be read."""
        try:
            node = self.piece(start, end)
            return node.pairs if isinstance(node, MapNode) else []
        except TooMuch:
            raise
        except ComposeError as error:
            if not error.follows:
                self._report(error)
        colon = self._text.index(":", start)
        key = ScalarNode(
            self._text[start:colon].strip(" \t'\""), "", Span(start, start + len(self._text[start:colon].rstrip()))
        )
        self._document.broken.add(key.value)
        below = _TABBED_KEY.search(self._text, colon + 1, end)  # what follows belongs to a key that is lost
        items = list(_items(self._text, colon + 1, end if below is None else below.start()))
        if not items:
            return []
        kept = [node for first, last in items if (node := self._item(first, last)) is not None]
        if not kept:
            return []
        return [(key, ListNode(kept, Span(items[0][0], end), flow=False))]

    def _item(self, start: int, end: int) -> Node | None:
        try:
            node = self.piece(start, end)
        except TooMuch:
            raise
        except ComposeError:
            return None  # the block's own error was reported, and this is where it comes from
        return node.items[0] if isinstance(node, ListNode) and node.items else None

    def _report(self, error: ComposeError) -> None:
        self._document.problems.append(Diagnostic("STEP903", error.span, error.message, fix=error.fix))

    def piece(self, start: int, end: int) -> Node | None:
        """Compose the first document of ``text[start:end]``; raises :class:`ComposeError`."""
        from stepcore.frontend.yaml.events import Events  # loads ruamel.yaml, which Python files do not need

        events = Events(self._text, start, end)
        if not events.next_document():
            return None
        self._open.clear()
        node = self._root(events)
        second = events.second_document()
        if second is not None:
            message = "a task file holds one YAML document; what follows this line is not read"
            self._report(ComposeError(second, message))
        return node

    def _root(self, events: Events) -> Node:
        try:
            return self._node(events, 0)
        except ComposeError:
            self._lost |= self._open
            raise

    def _node(self, events: Events, depth: int) -> Node:
        if depth > MAX_NESTING:
            raise ComposeError(events.span, f"nested deeper than {MAX_NESTING}: this is no task file")
        if events.is_alias:
            return self._alias(events)
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise _too_many(events.span)
        anchor = events.anchor
        if anchor is not None:
            self._open.add(anchor)
        node = self._fresh(events, depth)
        if anchor is not None:
            self._open.discard(anchor)
            self._lost.discard(anchor)
            self._anchors[anchor] = node
        return node

    def _fresh(self, events: Events, depth: int) -> Node:
        if events.is_scalar:
            return events.take_scalar()
        start, flow, is_list = events.take_start()
        items: list[Node] = []
        weight = 1
        while not events.at_end:
            item = self._node(events, depth + 1)
            items.append(item)
            weight += item.weight
        span = Span(start, events.take_end())
        if is_list:
            return ListNode(items, span, flow, weight)
        pairs = list(zip(items[::2], items[1::2], strict=True))
        for key, value in pairs:
            if isinstance(value, ScalarNode) and value.span.start == value.span.end:
                value.span = key.span  # nothing is written: findings about it go to the key
        return MapNode(pairs, span, flow, weight)

    def _alias(self, events: Events) -> Node:
        name, span = events.take_alias()
        if name in self._open:
            raise ComposeError(span, f"the anchor &{name} holds itself; write its content out")
        if name in self._lost or (name not in self._anchors and self._lost_before(name, span)):
            raise LostAnchor(span, f"the anchor &{name} could not be read")
        if name not in self._anchors:
            raise ComposeError(span, f"no anchor &{name} stands before this alias; write the content out")
        node = self._anchors[name]
        self._expanded += node.weight
        if self._expanded > MAX_EXPANDED:
            text = f"the aliases of this file stand for more than {MAX_EXPANDED:,} values; write the content out"
            raise TooMuch(span, text)
        return node

    def _lost_before(self, name: str, span: Span) -> bool:
        """Return whether an anchor stands in the part of a broken block that was not reached."""
        if not self._document.broken:
            return False
        return re.search(rf"&{re.escape(name)}(?!\w)", self._text[: span.start]) is not None


def _split(mark: re.Pattern[str], text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    starts = [match.start() for match in mark.finditer(text, start, end)]
    yield from pairwise((*starts, end))


def _items(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of the items of a block list: the lines that begin with ``-`` at the first one's indentation."""
    nothing = _NOTHING.match(text, start, end)
    at = start if nothing is None else text.rfind("\n", 0, nothing.end()) + 1
    first = _ITEM.match(text, at, end)
    if first is None:
        return  # the block is no list: a dash in it begins something else
    starts = [match.start() for match in _ITEM.finditer(text, start, end) if match[1] == first[1]]
    yield from pairwise((*starts, end))
