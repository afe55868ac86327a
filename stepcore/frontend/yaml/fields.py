"""Reading nodes as what a schema expects: mappings with known keys, texts, integers, sizes, types, code.

Every reader returns None after it reported the one thing that is wrong.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from stepcore.findings.diagnostics import Diagnostic, Edit, Fix, Related
from stepcore.findings.near import nearest
from stepcore.frontend.typetext import ParsedSize, ParsedType, missing_mark, parse_size, parse_type
from stepcore.frontend.yaml.embedding import embed, pair_span, unfolded
from stepcore.frontend.yaml.nodes import (
    QUOTE_TYPES,
    ListNode,
    MapNode,
    Node,
    ScalarNode,
    closing_parenthesis,
    quote_fix,
)
from stepcore.ops import GENERATION_1
from stepcore.ops.dialect import Dialect
from stepcore.sizes.dim import ANY, OPEN, Dim, is_name
from stepcore.text.span import Embedded, SourceFile, Span
from stepcore.types import Element, Shape, Single, STuple

RESERVED: Final = frozenset({"step", "torch", "input_data", "ctx"})
_INTEGER: Final = re.compile(r"[-+]?\d{1,18}")
# What people write from memory -> the key of the format.
_SYNONYMS: Final = {
    "shape": "dims", "sizes": "dims", "type": "dtype", "generator": "data_gen", "reference": "data_transform",
    "functions": "fns", "weights": "parameters", "program": "impl", "implementation": "impl", "code": "impl",
    "solution": "impl", "answer": "impl", "body": "apply",
}  # fmt: skip
# What a missing key may look like.
_EXAMPLES: Final = {
    "name": "name: E0", "func_name": "func_name: fn_scale", "dtype": "dtype: fp32", "dims": "dims: [M, N]",
    "apply": "apply: return [input[0] * 2]", "input_dtype": "input_dtype: fp32", "output_dtype": "output_dtype: fp32",
    "inputs": "inputs: [{name: E0, dtype: fp32, dims: [M, N]}]",
    "outputs": "outputs: [{name: S0, dtype: fp32, dims: [N]}]",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Schema:
    """The keys of one kind of mapping; ``what`` names it in messages."""

    what: str
    required: tuple[str, ...]
    optional: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        """All keys."""
        return (*self.required, *self.optional)


@dataclass(slots=True)
class Fields:
    """Reads the nodes of one file; collects findings and the symbols that types and dims use."""

    source: SourceFile
    diagnostics: list[Diagnostic] = field(default_factory=list)
    symbols: dict[str, Span] = field(default_factory=dict)
    open: dict[str, Span] = field(default_factory=dict)  # dynamic and ragged sizes, where they stand first
    takes_any: bool = False  # whether ``_R`` is any size here: in the types of functions
    dialect: Dialect = GENERATION_1

    def report(
        self, code: str, span: Span, message: str, *, related: tuple[Related, ...] = (), fix: Fix | None = None
    ) -> None:
        """Add one finding."""
        self.diagnostics.append(Diagnostic(code, span, message, related=related, fix=fix))

    def mapping(self, node: Node, schema: Schema) -> dict[str, Node] | None:
        """Read a mapping; duplicates, unknown and missing keys are reported and the rest is returned."""
        if not isinstance(node, MapNode):
            self.wrong_kind(
                node, f"{schema.what} has to be a mapping with the keys {_listing(schema.required or schema.known)}"
            )
            return None
        found: dict[str, Node] = {}
        keys: dict[str, Node] = {}
        strange: list[tuple[Node, Node]] = []
        split_type: Node | None = None
        for key, value in _merged(node):
            if split_type is not None and key.span.start > split_type.span.start:
                split_type = None if _text(key).endswith(")") else split_type
                continue  # the rest of a type that YAML split at its comma: reported where the type begins
            name = _text(key)
            if name in keys:
                found[name] = self._twice(node, (keys[name], found[name]), (key, value))
            elif name in schema.known:
                keys[name] = key
                found[name] = value
            else:
                strange.append((key, value))
            if node.flow and _is_open(value):
                split_type = value
        meant = self._unknown_keys(strange, found, schema)
        missing = [name for name in schema.required if name not in found and name not in meant]
        if missing:
            self.report("STEP906", _head(node), f"{schema.what} lacks {_listing(missing)}{_example(missing)}")
        return found

    def _twice(self, node: MapNode, first: tuple[Node, Node], second: tuple[Node, Node]) -> Node:
        """Report a key that is given twice, and return the value that counts: the first that says something."""
        is_empty = _is_empty(first[1]) and not _is_empty(second[1])
        kept, spare = (second, first) if is_empty else (first, second)
        name, text = _text(first[0]), self.source.text
        says = "the one with a value counts" if is_empty else "the first one counts"
        is_same = _pair_text(text, first) == _pair_text(text, second)
        removal = pair_span(text, node, *spare) if is_same or _is_empty(spare[1]) else None
        fix = Fix(f"Remove the {'first' if is_empty else 'second'} {name}", (Edit(removal, ""),)) if removal else None
        related = (Related(kept[0].span, f"{name} is given here, too" if is_empty else f"{name} is given here first"),)
        self.report("STEP904", spare[0].span, f"{name} is given twice; {says}", related=related, fix=fix)
        return kept[1]

    def _unknown_keys(self, strange: list[tuple[Node, Node]], found: dict[str, Node], schema: Schema) -> set[str]:
        """Report unknown keys, and read what stands under them as the keys that are meant, so that nothing is missing.

        Returns the known keys that they stand for.
        """
        missing = [name for name in schema.known if name not in found]
        meant: set[str] = set()
        for key, value in strange:
            near = _meant(_text(key), missing) or _meant(_text(key), schema.known)
            if near in missing and near not in meant:
                found[near] = value
            meant.add(near)
            self._unknown_key(key, near, schema)
        return meant

    def items(self, node: Node, what: str) -> list[Node]:
        """Read a list."""
        if isinstance(node, ListNode):
            return node.items
        self.wrong_kind(node, f"{what} has to be a list, each item after a dash")
        return []

    def text(self, node: Node, what: str) -> str | None:
        """Read a scalar that is not empty."""
        if isinstance(node, ScalarNode) and not node.is_null:
            return node.value
        self.wrong_kind(node, f"{what} has to be a text")
        return None

    def name(self, node: Node, what: str) -> str | None:
        """Read a Python identifier."""
        value = self.text(node, what)
        if value is None:
            return None
        if not is_name(value):
            belongs = " that does not begin with __" if value.startswith("__") else ""
            self.report("STEP907", node.span, f"{what} has to be an identifier{belongs}, not {_short(value)}")
            return None
        if value in RESERVED:
            self.report("STEP907", node.span, f"{value} has a meaning of its own in programs; choose another name")
            return None
        return value

    def flag(self, node: Node | None, what: str) -> bool:
        """Read an optional ``true`` or ``false``."""
        value = node.value if isinstance(node, ScalarNode) and not node.is_null else ""
        if node is not None and value not in ("true", "false"):
            self.wrong_kind(node, f"{what} has to be true or false")
        return value == "true"

    def integer(self, node: Node, what: str) -> int | None:
        """Read a plain integer."""
        if isinstance(node, ScalarNode) and not node.style and _INTEGER.fullmatch(node.value):
            return int(node.value)
        self.wrong_kind(node, f"{what} has to be an integer")
        return None

    def code(self, node: Node, what: str) -> Embedded | None:
        """Read a block of Python text."""
        if isinstance(node, ScalarNode) and not node.is_null:
            lines = unfolded(self.source.text, node)
            if lines is None:
                return embed(self.source.text, node)
            at = len(self.source.text[: node.span.start].rstrip())
            fix = Fix("Insert |", (Edit(Span(at, at), " |"),))
            self.report("STEP907", Span(at - 1, at), f"{what} has several lines: they are kept only behind |", fix=fix)
            return lines
        self.wrong_kind(node, f"{what} has to be a block of text after |")
        return None

    def shape(self, node: Node, what: str, *, minimum: int) -> Shape | None:
        """Read a list of at least ``minimum`` sizes, in the order of the dialect; return them innermost first."""
        if not isinstance(node, ListNode):
            order = self.dialect.order.value
            self.wrong_kind(node, f"{what} has to be a list of sizes in square brackets, {order}, such as [M, N]")
            return None
        if len(node.items) < minimum:
            self.report("STEP907", node.span, f"{what} needs at least one size; a stream of one element has [1]")
            return None
        sizes = [self._size(item) for item in node.items]
        known = tuple(size for size in sizes if size is not None)
        return self.dialect.sizes(known) if len(known) == len(sizes) else None

    def element(self, node: Node, what: str) -> Element | None:
        """Read an element type; a list is a tuple."""
        if isinstance(node, ListNode):
            return self._tuple(node, what)
        return self._single(node, what)

    def wrong_kind(self, node: Node, message: str) -> None:
        """Report STEP907 on the head of ``node``."""
        self.report("STEP907", _head(node), f"{message}, not {_kind(node)}")

    def _unknown_key(self, key: Node, near: str, schema: Schema) -> None:
        fix = Fix(f"Rename to {near}", (Edit(key.span, near),)) if near else None
        advice = f"did you mean {near}?" if near else f"known: {_listing(schema.known)}"
        self.report("STEP905", key.span, f"unknown key {_short(_text(key))} of {schema.what}; {advice}", fix=fix)

    def _size(self, node: Node) -> Dim | None:
        if not isinstance(node, ScalarNode) or node.is_null:
            self.wrong_kind(node, "a size has to be a symbol, an integer or an expression of them")
            return None
        parsed = parse_size(node.value)
        return parsed.size if self._note(parsed, node) else None

    def _tuple(self, node: ListNode, what: str) -> STuple | None:
        if not node.items:
            self.report("STEP222", node.span, f"{what} is an empty tuple; name at least one type")
            return None
        types: list[Single] = []
        for item in node.items:
            single = self._single(item, what)
            if single is None:
                return None
            types.append(single)
        return STuple(types)

    def _single(self, node: Node, what: str) -> Single | None:
        if not isinstance(node, ScalarNode) or node.is_null:
            self.report("STEP222", _head(node), f"{what} has to be a type such as fp32, not {_kind(node)}")
            return None
        if _is_open(node) and (end := closing_parenthesis(self.source.text, node.span.start)) is not None:
            self._unquoted(node, end)
            return None
        parsed = parse_type(node.value)
        return self.dialect.element(parsed.element) if self._note(parsed, node) else None

    def _unquoted(self, node: ScalarNode, end: int) -> None:
        """A type without quotes inside { } or [ ]: YAML ends it at its first comma."""
        span = Span(node.span.start, end)
        self.report("STEP222", span, QUOTE_TYPES, fix=quote_fix(span))

    def _note(self, parsed: ParsedType | ParsedSize, node: ScalarNode) -> bool:
        """Report what is wrong and keep the names of sizes; return whether what was read can stand here."""
        problem = parsed.problem
        if problem is None and not [name for name, _ in parsed.symbols if name not in self.symbols]:
            return True  # only the first place of a name is kept
        at = embed(self.source.text, node)
        if problem is not None:
            span = at.span_to_outer(problem.span)
            fix = None
            if problem.meant and at.verbatim:
                fix = Fix(f"Change to {problem.meant}", (Edit(span, problem.meant),))
            elif at.verbatim and (
                missing := missing_mark(node.value, problem.span, is_size=isinstance(parsed, ParsedSize))
            ):
                where = at.to_outer(missing[0])
                fix = Fix(f"Insert {missing[1]}", (Edit(Span(where, where), missing[1]),))
            self.report(problem.code, span, problem.message, fix=fix)
        for name, span in parsed.symbols:
            if name[0] in OPEN:
                self.open.setdefault(name, at.span_to_outer(span))
            elif name[0] != ANY:
                self.symbols.setdefault(name, at.span_to_outer(span))
            elif not self.takes_any:
                text = f"{name} is any size, which only the types of functions have; name it {name[1:]} or ?{name[1:]}"
                self.report("STEP226", at.span_to_outer(span), text)
                return False
        return problem is None


def _meant(name: str, known: Sequence[str]) -> str:
    """Return the known key that is nearest to ``name`` or to what others call it, or an empty text."""
    words = {word: word for word in known} | {word: key for word, key in _SYNONYMS.items() if key in known}
    near = nearest(name, words, closed=True)
    return words[near[0]] if near else ""


def _example(missing: list[str]) -> str:
    return f"; for example {_EXAMPLES[missing[0]]}" if len(missing) == 1 and missing[0] in _EXAMPLES else ""


def _merged(node: MapNode) -> list[tuple[Node, Node]]:
    """Return the pairs of a mapping with those of its merge keys (``<<: *base``) that it does not give itself."""
    if all(_text(key) != "<<" for key, _ in node.pairs):
        return node.pairs
    own = [(key, value) for key, value in node.pairs if _text(key) != "<<"]
    given = {_text(key) for key, _ in own}
    for key, value in node.pairs:
        if _text(key) != "<<":
            continue
        for base in value.items if isinstance(value, ListNode) else [value]:
            pairs = _merged(base) if isinstance(base, MapNode) else []
            fresh = [pair for pair in pairs if _text(pair[0]) not in given]
            given.update(_text(name) for name, _ in fresh)
            own += fresh
    return own


def _pair_text(text: str, pair: tuple[Node, Node]) -> str:
    return text[pair[0].span.start : pair[1].span.end].rstrip()


def _is_empty(node: Node) -> bool:
    return isinstance(node, ScalarNode) and not node.value.strip()


def _is_open(node: Node) -> bool:
    """True for a plain scalar with an unclosed parenthesis: a type that YAML split at its comma."""
    return isinstance(node, ScalarNode) and not node.style and node.value.count("(") > node.value.count(")")


def _head(node: Node) -> Span:
    """Return the part of a node to underline: all of a scalar or flow collection, the first key or item else."""
    if isinstance(node, MapNode) and not node.flow and node.pairs:
        return node.pairs[0][0].span
    if isinstance(node, ListNode) and not node.flow:
        return Span(node.span.start, node.span.start + 1)
    return node.span


def _text(node: Node) -> str:
    return node.value if isinstance(node, ScalarNode) else ""


def _kind(node: Node) -> str:
    if isinstance(node, MapNode):
        return "a mapping"
    if isinstance(node, ListNode):
        return "a list"
    return "nothing" if node.is_null else _short(node.value)


def _short(value: str) -> str:
    line = value.split("\n", 1)[0]
    return repr(line if len(line) <= 40 else line[:39] + "…")


def _listing(names: tuple[str, ...] | list[str]) -> str:
    return ", ".join(names)
