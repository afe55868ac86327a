"""A task file as a tree with roles: its keys, items, types, sizes and blocks of code, each with its exact place."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from stepcore.frontend.typetext import parse_size, parse_type
from stepcore.frontend.yaml.compose import compose
from stepcore.frontend.yaml.embedding import embed
from stepcore.frontend.yaml.mending import mended
from stepcore.frontend.yaml.nodes import ListNode, MapNode, Node, ScalarNode
from stepcore.frontend.yaml.tasks import TASK_SCHEMA
from stepcore.ide.names.base import NameSpace
from stepcore.records import Record
from stepcore.text.span import Embedded, Span

_LISTS: Final = {"inputs": "input", "parameters": "parameter", "fns": "fn", "outputs": "output"}
_TYPES: Final = frozenset({"dtype", "input_dtype", "output_dtype"})
_WORD: Final = re.compile(r"[^\W\d]\w*")


class Entry(Record):
    """A key with its value. ``owner`` is ``task``, ``size``, ``input``, ``parameter``, ``fn`` or ``output``."""

    owner: str
    key: str
    key_span: Span
    value: Node
    item: int = -1

    @property
    def text(self) -> str:
        """The value as a text; empty where it is none."""
        return self.value.value if isinstance(self.value, ScalarNode) else ""

    @property
    def span(self) -> Span:
        """Key and value."""
        return self.key_span.cover(self.value.span)


class TaskEntry(Record):
    """One input, parameter, function or output: its keys by name, and the number in its list."""

    owner: str
    number: int
    fields: dict[str, Entry]
    span: Span

    @property
    def label(self) -> str:
        """The key that holds the name under which code knows it."""
        return "func_name" if self.owner == "fn" else "name"


class TaskCode(Record):
    """A block of code: ``space`` tells whose names it sees, ``arguments`` are bound on entry, ``item`` owns it."""

    code: Embedded
    space: NameSpace
    arguments: tuple[str, ...] = ()
    item: int = -1


@dataclass(slots=True)
class TaskTree:
    """What stands where in a task file; all of it in the order of the text."""

    entries: list[Entry] = field(default_factory=list)
    items: list[TaskEntry] = field(default_factory=list)
    codes: list[TaskCode] = field(default_factory=list)
    sizes: list[tuple[str, Span]] = field(default_factory=list)  # symbols in types and shapes
    types: list[tuple[str, Span]] = field(default_factory=list)  # fp32, Buffer and their like
    names: list[tuple[TaskEntry, str, Span]] = field(default_factory=list)  # the declared names
    memories: list[tuple[str, Span]] = field(default_factory=list)  # parameters whose content is an output

    def of(self, owner: str) -> list[TaskEntry]:
        """Return all inputs, parameters, functions or outputs."""
        return [item for item in self.items if item.owner == owner]

    def entry(self, key: str) -> Entry | None:
        """Return an entry of the top level."""
        return next((item for item in self.entries if item.owner == "task" and item.key == key), None)


@lru_cache(maxsize=16)
def task_tree(text: str) -> TaskTree:
    """Read a task file. Never raises; results are shared: do not change them."""
    reader = _Reader(text)
    document = compose(text)
    if document.problems:
        document = mended(text, TASK_SCHEMA.known) or document
    root = document.root
    if isinstance(root, MapNode):
        reader.task(root)
    reader.tree.entries.sort(key=lambda entry: entry.key_span)
    # An alias stands for what was read at its anchor already.
    reader.tree.sizes = sorted(set(reader.tree.sizes), key=lambda size: size[1])
    reader.tree.types = sorted(set(reader.tree.types), key=lambda word: word[1])
    return reader.tree


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = TaskTree()

    def task(self, root: MapNode) -> None:
        for key, value in root.pairs:
            if not isinstance(key, ScalarNode):
                continue
            self.tree.entries.append(Entry("task", key.value, key.span, value))
            if key.value in ("impl", "global"):
                self._code(value, NameSpace.IMPL if key.value == "impl" else NameSpace.GLOBAL)
            elif key.value == "sizes" and isinstance(value, MapNode):
                for name, drawn in value.pairs:
                    self._size(name)
                    self._drawn(drawn)
            elif key.value in _LISTS and isinstance(value, ListNode):
                for number, item in enumerate(value.items):
                    if isinstance(item, MapNode):
                        self._item(_LISTS[key.value], number, item)

    def _drawn(self, node: Node) -> None:
        for key, value in node.pairs if isinstance(node, MapNode) else ():
            if isinstance(key, ScalarNode):
                self.tree.entries.append(Entry("size", key.value, key.span, value))

    def _item(self, owner: str, number: int, node: MapNode) -> None:
        fields: dict[str, Entry] = {}
        for key, value, is_own in _pairs(node):
            entry = Entry(owner, key.value, key.span, value, number)
            fields.setdefault(key.value, entry)
            if is_own:
                self.tree.entries.append(entry)
        item = TaskEntry(owner, number, fields, node.span)
        self.tree.items.append(item)
        for entry in fields.values():
            if entry.key in _TYPES:
                self._type(entry.value)
            elif entry.key == "dims" and isinstance(entry.value, ListNode):
                for size in entry.value.items:
                    self._size(size)
            elif entry.key == item.label:
                self.tree.names += [(item, *named) for named in self._name(entry.value)]
            elif owner == "output" and entry.key == "memory":
                self.tree.memories += self._name(entry.value)
            elif owner == "fn" and entry.key == "apply":
                has_state = "init" in fields and not _is_null(fields["init"].value)
                self._code(entry.value, NameSpace.LOCAL, ("state", "input") if has_state else ("input",), number)
            elif owner == "output" and entry.key == "data_transform" and isinstance(entry.value, ListNode):
                for block in entry.value.items:
                    self._code(block, NameSpace.REFERENCES, item=number)

    def _name(self, node: Node) -> Iterator[tuple[str, Span]]:
        if isinstance(node, ScalarNode) and node.value.isidentifier():
            code = embed(self.text, node)
            if code.verbatim:
                yield node.value, code.span_to_outer(Span(0, len(node.value)))

    def _code(self, node: Node, space: NameSpace, arguments: tuple[str, ...] = (), item: int = -1) -> None:
        if not isinstance(node, ScalarNode) or _is_null(node):
            return
        code = embed(self.text, node)
        if code.verbatim and not any(other.code.outer == code.outer for other in self.tree.codes):
            self.tree.codes.append(TaskCode(code, space, arguments, item))

    def _type(self, node: Node) -> None:
        for part in node.items if isinstance(node, ListNode) else [node]:
            if isinstance(part, ScalarNode) and not _is_null(part):
                code = embed(self.text, part)
                if code.verbatim:
                    symbols = parse_type(part.value).symbols
                    self._sizes(code, symbols)
                    taken = {span for _, span in symbols}
                    words = (match for match in _WORD.finditer(part.value) if Span(*match.span()) not in taken)
                    self.tree.types += [(match[0], code.span_to_outer(Span(*match.span()))) for match in words]

    def _size(self, node: Node) -> None:
        if isinstance(node, ScalarNode) and not _is_null(node):
            code = embed(self.text, node)
            if code.verbatim:
                self._sizes(code, parse_size(node.value).symbols)

    def _sizes(self, code: Embedded, symbols: tuple[tuple[str, Span], ...]) -> None:
        self.tree.sizes += [(name, code.span_to_outer(span)) for name, span in symbols]


def _is_null(node: Node) -> bool:
    return isinstance(node, ScalarNode) and node.is_null


def _pairs(node: MapNode) -> Iterator[tuple[ScalarNode, Node, bool]]:
    """Yield keys and values, those of merged mappings (``<<: *base``) last, and whether they stand here."""
    for key, value in node.pairs:
        if isinstance(key, ScalarNode) and key.value != "<<":
            yield key, value, True
    for key, value in node.pairs:
        if isinstance(key, ScalarNode) and key.value == "<<":
            for base in value.items if isinstance(value, ListNode) else [value]:
                if isinstance(base, MapNode):
                    yield from ((name, item, False) for name, item, _ in _pairs(base))
