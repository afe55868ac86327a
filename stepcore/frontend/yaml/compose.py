"""Text to nodes. A text is split at its column-0 keys: such blocks are independent.

Of a text that YAML takes, each block is composed by itself and remembered, so that an edit costs its own block. Of a
broken text, a block that is a list loses only its broken items.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Final

from stepcore.findings.diagnostics import Diagnostic
from stepcore.frontend.yaml.nodes import (
    MAX_NODES,
    ComposeError,
    Document,
    ListNode,
    LostAnchor,
    MapNode,
    Node,
    ScalarNode,
    SpentError,
    Steps,
    TooMuch,
)
from stepcore.frontend.yaml.pieces import TOP_KEY, blocks_of, items_of, moved, usual_form
from stepcore.text.span import Span

if TYPE_CHECKING:
    from stepcore.frontend.yaml.events import Events

MAX_NESTING: Final = 100
MAX_STEPS: Final = 1_300_000  # of the parser, for a text of which nothing is known to be broken
MAX_RECOVERY: Final = 400_000  # of the parser, for the pieces of a broken text
_LARGE: Final = 1 << 16  # characters; a larger text is read in pieces at once where it is none of the usual form
MAX_EXPANDED: Final = 100_000  # nodes that all aliases of a file together stand for
_TABBED_KEY: Final = re.compile(r"^ *\t[ \t]*[^\W\d][\w-]*[ \t]*:[ \t]*$", re.MULTILINE)
_ANCHOR: Final = re.compile(r"&([^\s,\[\]{}]+)")
_HEAD: Final = "x:\n"  # makes a block of an item
# Marks between documents, and line breaks that only YAML takes for such.
_BEYOND_BLOCKS: Final = re.compile(r"^(?:---|\.\.\.|%)|\r(?!\n)|[\x85\u2028\u2029\ufeff]", re.MULTILINE)
_BEGINNINGS: Final = ("---", "...", "%")  # of such marks; to look for these and what follows is faster, and tells most
_MARKS: Final = (*(f"\n{each}" for each in _BEGINNINGS), "\r", "\x85", "\u2028", "\u2029", "\ufeff")
_BETWEEN: Final = re.compile(r"[,\n]")  # what stands between values
_MAX_REMEMBERED: Final = 1 << 16  # characters of a block


@lru_cache(maxsize=8)  # an editor asks several times about one text
def compose(text: str) -> Document:
    """Compose the first document of ``text``. Never raises; errors are STEP903, one for each top-level block.

    The document is shared: do not change it.
    """
    document = _from_blocks(text)
    return document if isinstance(document, Document) else _Composing(text, document).run()


def _from_blocks(text: str) -> Document | int:
    """Compose ``text`` block by block; where that may not give what composing it as a whole gives, return which is odd.

    That is the offset of the block; -1 where it is none of them.
    """
    starts = _top_keys(text)
    if not starts or _is_beyond_blocks(text):
        return -1
    pairs: list[tuple[Node, Node]] = []
    weight, first = 1, starts[0]
    for start, end in pairwise((0, *starts[1:], len(text))):  # what stands before the first key belongs to it
        try:
            block = (_remembered if end - start <= _MAX_REMEMBERED else _independent)(text[start:end])
        except TooMuch as error:
            return _unread(error, start)
        if block is None:
            return start or starts[0]
        weight += block.weight - 1
        if weight > MAX_NODES:
            return _unread(_too_many(Span(block.span.start, block.span.start + 1)), start)
        first = min(first, start + block.span.start)
        pairs += [(moved(key, start), moved(value, start)) for key, value in block.pairs]
    return Document(MapNode(pairs, Span(first, len(text)), flow=False, weight=weight))


def _too_many(span: Span) -> TooMuch:
    return TooMuch(span, f"this file holds more than {MAX_NODES:,} values, and is not read; split it")


def _beyond(text: str) -> Span | None:
    """Return where a text has more commas and ends of lines than a file may hold values; None where it has not."""
    found = next(islice(_BETWEEN.finditer(text), MAX_NODES, None), None)
    return None if found is None else Span(*found.span())


class _Spent(ComposeError):
    """The steps of the parser did not suffice."""


def _spent(span: Span) -> _Spent:
    message = "what stands here is not read to its end: is a bracket or a quote left open in it? If not, split the file"
    return _Spent(span, message)


def _unread(error: TooMuch, start: int) -> Document:
    """Return the document of a text of which nothing is read; ``error`` counts from ``start``."""
    first, last = error.span
    return Document(problems=[Diagnostic("STEP903", Span(first + start, last + start), error.message)])


def _top_keys(text: str) -> list[int]:
    """Return where the keys at the left margin stand; only lines that are not indented are matched."""
    found: list[int] = []
    at = 0
    while at < len(text):
        if text[at] not in " \n\t#" and TOP_KEY.match(text, at):
            found.append(at)
        at = text.find("\n", at) + 1 or len(text)
    return found


def _is_beyond_blocks(text: str) -> bool:
    may_be = text.startswith(_BEGINNINGS) or any(map(text.__contains__, _MARKS))
    return may_be and _BEYOND_BLOCKS.search(text) is not None


def _independent(text: str) -> MapNode | None:
    """Compose one block; None where it is broken, holds anchors or aliases, or is large and of another form."""
    node = usual_form(text)
    if node is None and len(text) <= _LARGE:
        return _parsed(text)
    return node


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
    except (ComposeError, SpentError):
        return None
    return node if isinstance(node, MapNode) and composing.is_untied else None


_remembered: Final = lru_cache(maxsize=64)(_independent)


class _Composing:
    """One run over one text; anchors are shared by the pieces that it may be split into."""

    def __init__(self, text: str, odd: int = -1) -> None:
        self._text = text
        self._odd = odd  # where a block begins that is known to be none of the usual form
        self._unread: list[Diagnostic] = []  # what the steps did not suffice for
        self._pieces = Document()  # what could be read where nothing was found to be broken
        self._steps = Steps(MAX_STEPS)
        self._first_anchors: dict[str, int] | None = None
        self._anchors: dict[str, Node] = {}
        self._open: set[str] = set()  # anchors of what is being composed: it must not hold itself
        self._lost: set[str] = set()  # anchors of what could not be composed
        self._expanded = 0
        self._nodes = 0
        self._document = Document()

    def run(self) -> Document:
        document = self._document
        is_in_pieces = len(self._text) > _LARGE and not _is_beyond_blocks(self._text)
        try:
            if not is_in_pieces or not self._recover(None):
                document.root = self.piece(0, len(self._text))
        except TooMuch as error:
            self._report(error)
        except SpentError:
            document.root, document.broken = self._pieces.root, self._pieces.broken
            beyond = _beyond(self._text)
            document.problems += self._unspent() if beyond is None else [_too_many(beyond).finding]
        except ComposeError as error:
            try:
                self._recover(error)
            except TooMuch as bomb:
                self._report(bomb)
        return document

    def _unspent(self) -> list[Diagnostic]:
        """Return what is said of a text for which the steps do not suffice."""
        return self._unread or [_spent(Span(0, 1)).finding]

    @property
    def is_untied(self) -> bool:
        """True where nothing was named for later use, and nothing is to be said about what follows."""
        return not self._anchors and not self._document.problems

    def _recover(self, error: ComposeError | None) -> bool:
        """Compose the blocks of a broken text by themselves; ``error`` is what is known of it.

        Returns whether something is broken: without ``error`` a text may be right as a whole.
        """
        blocks = list(blocks_of(self._text, 0, len(self._text)))
        if not blocks:
            if error is not None:
                self._report(error)
            return error is not None
        self._anchors.clear()
        self._lost.clear()
        self._expanded = 0
        self._steps = Steps(MAX_RECOVERY)
        pairs: list[tuple[Node, Node]] = []
        for start, end in blocks:
            pairs += self._block(start, end)
        root = MapNode(pairs, Span(blocks[0][0], len(self._text)), flow=False)
        if not self._document.problems:
            if error is None:
                self._pieces = Document(root, broken=set(self._document.broken))
                self._steps, self._nodes = Steps(MAX_STEPS), 0
                self._anchors.clear()
                self._document.broken.clear()
                return False
            self._report(error)  # no block is broken by itself: something between or before them is
        self._document.problems += self._unread
        self._document.root = root
        return True

    def _block(self, start: int, end: int) -> list[tuple[Node, Node]]:
        """Compose one top-level block; of a broken list keep the items that can be read."""
        is_large = end - start > _LARGE
        try:
            node = None if start == self._odd else self._usual(start, end)
            if node is None and not is_large:
                node = self.piece(start, end)
            if node is not None:
                return node.pairs if isinstance(node, MapNode) else []
        except SpentError:
            self._lose(start)
            return []
        except TooMuch:
            raise
        except ComposeError as error:
            if not error.follows:
                self._report(error)
        return self._broken(start, end, is_reported=not is_large)

    def _broken(self, start: int, end: int, *, is_reported: bool) -> list[tuple[Node, Node]]:
        """Return what can be read of a broken list; its first broken item is reported where nothing was."""
        key = self._lose(start)
        colon = self._text.index(":", start)
        below = _TABBED_KEY.search(self._text, colon + 1, end)  # what follows belongs to a key that is lost
        items = list(items_of(self._text, colon + 1, end if below is None else below.start()))
        kept: list[Node] = []
        for first, last in items:
            node, error = self._item(first, last)
            if node is not None:
                kept.append(node)
            elif isinstance(error, _Spent):
                self._unread = self._unread or [error.finding]
            elif error is not None and not is_reported:
                self._report(error)
                is_reported = True
        if not items and not is_reported:  # a large block that is no list
            self._whole(start, end)
        return [(key, ListNode(kept, Span(items[0][0], end), flow=False))] if kept else []

    def _whole(self, start: int, end: int) -> None:
        """Report why a block cannot be read, as far as steps allow to see it."""
        try:
            self.piece(start, end)
        except SpentError:
            self._unread.append(_spent(Span(start, self._text.index(":", start))).finding)
        except ComposeError as error:
            self._report(error)

    def _lose(self, start: int) -> ScalarNode:
        """Note that something of a block is lost; return its key."""
        colon = self._text.index(":", start)
        before = self._text[start:colon]
        key = ScalarNode(before.strip(" \t'\""), "", Span(start, start + len(before.rstrip())))
        self._document.broken.add(key.value)
        return key

    def _usual(self, start: int, end: int) -> Node | None:
        """Read a block of the usual form without the parser; None where it is of another, or broken."""
        node = usual_form(self._text[start:end])
        if node is None:
            return None
        self._nodes += node.weight
        if self._nodes > MAX_NODES:
            raise _too_many(Span(start, start + 1))
        return moved(node, start)

    def _item(self, start: int, end: int) -> tuple[Node | None, ComposeError | None]:
        """Compose one item of a list: return it, or why that cannot be."""
        block = usual_form(_HEAD + self._text[start:end])
        if block is not None and len(block.pairs) == 1:
            node: Node | None = moved(block.pairs[0][1], start - len(_HEAD))
            self._nodes += block.weight
            if self._nodes > MAX_NODES:
                raise _too_many(Span(start, start + 1))
        else:
            try:
                node = self.piece(start, end)
            except TooMuch:
                raise
            except SpentError:
                return None, _spent(Span(start, start + 1))
            except ComposeError as error:
                self._nodes += 1
                return None, error
        return (node.items[0] if isinstance(node, ListNode) and node.items else None), None

    def _report(self, error: ComposeError) -> None:
        self._document.problems.append(error.finding)

    def piece(self, start: int, end: int) -> Node | None:
        """Compose the first document of ``text[start:end]``; raises :class:`ComposeError`."""
        from stepcore.frontend.yaml.events import Events  # loads ruamel.yaml, which Python files do not need

        events = Events(self._text, start, end, self._steps)
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
        if self._first_anchors is None:
            self._first_anchors = {}
            for match in _ANCHOR.finditer(self._text):
                self._first_anchors.setdefault(match[1], match.start())
        return self._first_anchors.get(name, span.start) < span.start
