"""Tiles are cut into parts of fewer rows, or single rows, where work is row by row: less lies on chip.

Side condition: a load that counts its tiles gives them, functions that meet them keep rows apart
(:mod:`stepcore.rewrites.row_wise`), and where tiles are wanted whole their parts follow each other
(:mod:`stepcore.rewrites.tile_parts`). Retile joins the parts there, so what is around stays as it is. Tiles that meet
each part, such as weights, are loaded for each of them, or repeated where they are not loaded.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from stepcore.check.rewriting import FreshNames
from stepcore.findings.diagnostics import Edit
from stepcore.fn.decl import FnDecl
from stepcore.graph.typed import TypedNode
from stepcore.ops.linear_off_chip_load import LinearOffChipLoad
from stepcore.printing.python import element_text
from stepcore.printing.task import type_text
from stepcore.rewrites.base import ExplainedRewrite
from stepcore.rewrites.calls import WrittenCall, around, with_parameters
from stepcore.rewrites.functions import NewFunction, declared
from stepcore.rewrites.parted_loads import deeper, parted_load, repeated_load
from stepcore.rewrites.statements import name_lines
from stepcore.rewrites.subject import HOW, RewritePlace, RewriteRefusal, RewriteSite, RewriteSubject
from stepcore.rewrites.tile_parts import NotInParts, PartedFunction, TileParts, is_split
from stepcore.text.span import Span
from stepcore.types import Tile

_SMALLER: Final = (2, 4)  # parts of a tile, besides single rows


class Untile(ExplainedRewrite):
    """Cut tiles that are loaded into parts of fewer rows."""

    name: str = "untile"
    summary: str = "tiles are cut into parts of fewer rows, or single rows, and joined where they are wanted whole"
    timed: bool = False

    def places(self, subject: RewriteSubject) -> Iterator[RewritePlace]:
        """Yield each load of tiles, with some numbers of rows."""
        for head, nodes in subject.heads.items():
            node = nodes[0]
            if not isinstance(node.op, LinearOffChipLoad):
                continue
            tile = subject.graph.streams[node.outputs[0]].type.element
            rows = tile.shape[0].constant if isinstance(tile, Tile) else None
            if rows is None or rows < 2:
                what = (
                    "its tiles are single rows" if rows == 1 else "how many rows its tiles have is no number but a size"
                )
                yield RewriteRefusal(self.name, what, head)
                continue
            if subject.graph.has_loops or not is_split(subject, node):
                what = "its text gives several loads, its tensor is written, or the program has a loop"
                yield RewriteRefusal(self.name, what, head)
                continue
            seen: set[tuple[Edit, ...]] = set()
            for size in sorted({1, *(_part(rows, parts) for parts in _SMALLER)}, reverse=True):
                for repeats in (False, True):
                    site = self._of(subject, node, node.op, size, repeats=repeats)
                    if isinstance(site, str):
                        if not seen:
                            yield RewriteRefusal(self.name, site, head)
                    elif site.edits not in seen:
                        yield site
                    seen.add(() if isinstance(site, str) else site.edits)

    def _of(
        self, subject: RewriteSubject, node: TypedNode, op: LinearOffChipLoad, size: int, *, repeats: bool
    ) -> RewriteSite | str:
        """Return the site at which most is done to parts; why there is none."""
        found: dict[tuple[Edit, ...], TileParts] = {}
        reason = ""
        levels = len(subject.graph.streams[node.outputs[0]].type.shape)
        for level in range(1 if repeats else levels + 1):
            try:
                parts = TileParts(subject, node, level, repeats=repeats)
                found.setdefault(_PartTexts(subject, parts, size).edits(), parts)
            except NotInParts as error:
                reason = reason or str(error)
        if not found:
            return reason
        edits = max(found, key=lambda each: len(found[each].inside) + len(found[each].stored))
        name, rows = op.memory.name, "single rows" if size == 1 else f"tiles of {size} rows"
        sentence = f"tiles of {name} with {found[edits].rows} rows are cut into {rows}"
        beside, how = "", "single rows" if size == 1 else "tiles of fewer rows"
        if found[edits].repeated:
            beside = ", and what meets them is repeated"
        elif found[edits].again:
            beside = ", and what meets them is loaded again"
        params = (("tensor", name), ("rows", str(size)), ("beside", "repeated" if repeats else "loaded"))
        return RewriteSite(self.name, sentence + beside, edits, (*params, (HOW, how + beside)))


def _part(rows: int, parts: int) -> int:
    """Return how many rows a part has where a tile has ``rows`` and gives so many parts, or the next more that fit."""
    return max(size for size in range(1, rows) if rows % size == 0 and (size * parts <= rows or size == 1))


class _PartTexts:
    """The edits by which a program's tiles become parts of ``rows`` rows."""

    def __init__(self, subject: RewriteSubject, parts: TileParts, rows: int) -> None:
        self._subject, self._parts = subject, parts
        self._rows, self._count = rows, parts.rows // rows
        self._names = FreshNames(subject.text)
        self._lines = name_lines(subject)
        self._named: dict[tuple[str, str], str] = {}  # of types of parts, by the name of the whole tiles' and by text

    def edits(self) -> tuple[Edit, ...]:
        """Return all edits.

        Raises:
            NotInParts: something is not written in a form that can be changed.
        """
        subject, parts, nodes = self._subject, self._parts, self._subject.graph.nodes
        edits, names = self._functions()
        for index, level in parts.loads.items():
            edits.append(parted_load(subject, nodes[index], level, self._count, self._rows))
        for index, level in parts.again.items():
            edits.append(repeated_load(subject, nodes[index], level, self._count))
        for node in parts.inside:
            edits += self._inside(node, names.get(node.index))
        for node in parts.joined:
            edits += self._joined(node)
        for node in nodes:
            edits += self._ends(node)
        for stream, place in zip(subject.graph.returns, subject.checked.graph.return_spans, strict=False):
            if stream in parts.ends:
                edits += around(place, *self._join(stream))
        return tuple(dict.fromkeys(edits))

    def _call(self, node: TypedNode) -> WrittenCall:
        call = self._subject.call(node)
        if call is None or len(call.items) != len(node.inputs):
            raise NotInParts(f"what {node.written} reads is not written out")
        return call

    def _ends(self, node: TypedNode) -> Iterator[Edit]:
        """Yield the edits that join parts in front of a node, and repeat what meets each part."""
        wanted = [stream in self._parts.ends or stream in self._parts.repeated for stream in node.inputs]
        if not any(wanted):
            return
        for stream, item in zip(node.inputs, self._call(node).items, strict=True):
            if stream in self._parts.ends:
                yield from around(item, *self._join(stream))
            elif stream in self._parts.repeated:
                yield from around(item, f"{self._subject.module}Repeat(n={self._count}).apply(", ")")

    def _join(self, stream: int) -> tuple[str, str]:
        """Return what stands before and behind a stream of parts where tiles are wanted whole."""
        module, level = self._subject.module, self._parts.levels[stream]
        before, behind = f"{module}Retile(axis=0).apply(", ")"
        if level:  # all dimensions inside of the parts are 1
            flat = f"{module}Flatten(L=[{', '.join(map(str, range(1, level + 1)))}]).apply("
            outer = f"{module}Promote(b=0).apply(" * level
            return f"{outer}{before}{flat}", f"{behind}){')' * level}"
        return before, behind

    def _inside(self, node: TypedNode, function: str | None) -> Iterator[Edit]:
        """Yield the edit of a node that takes parts and gives some."""
        op: Any = node.op
        call, level = self._call(node), self._level(node)
        values = deeper(self._subject, call, self._count)
        if function is not None:
            values["fn"] = function
        if node.op_name == "Promote" and op.b >= level:
            values["b"] = str(op.b + 1)
        if node.op_name == "Flatten" and min(op.L) > level:
            values["L"] = f"[{', '.join(str(each + 1) for each in op.L)}]"
        if any(name not in call.keywords for name in values):
            raise NotInParts(f"{node.written} does not write its parameters by name")
        if values:
            yield Edit(call.head, with_parameters(self._subject.text, call, values))

    def _joined(self, node: TypedNode) -> Iterator[Edit]:
        """Yield the edits of a node that joins tiles or takes them apart, which the parts of a tile follow."""
        call, module = self._call(node), self._subject.module
        place = call.whole if node.op_name == "RetileStreamify" else call.items[0]
        yield from around(place, f"{module}Flatten(L=[1]).apply(", ")")

    def _level(self, node: TypedNode) -> int:
        levels = self._parts.levels
        return levels[next(stream for stream in node.inputs if stream in levels)]

    # Functions ----------------------------------------------------------------------------------------------------

    def _functions(self) -> tuple[list[Edit], dict[int, str]]:
        """Return the edits that write functions over parts, and the names by node of those that are new."""
        by_name: dict[str, dict[object, list[TypedNode]]] = {}
        for node in self._subject.graph.nodes:
            fn = getattr(node.op, "fn", None)
            if isinstance(fn, FnDecl):
                by_name.setdefault(fn.func_name, {}).setdefault(self._kind(node), []).append(node)
        new, edits = list[NewFunction](), list[Edit]()
        given: dict[int, str] = {}
        for kinds in by_name.values():
            for kind, nodes in kinds.items():
                if kind is None:
                    continue
                whole: FnDecl = nodes[0].op.fn  # type: ignore[attr-defined]
                if len(kinds) == 1 and self._subject.owns(whole):
                    edits += self._changed(whole, nodes[0])
                    continue
                new.append(self._new(whole, nodes[0], self._names.one(f"{whole.func_name}_parts")))
                given |= {node.index: new[-1].name for node in nodes}
        if new:
            edit = declared(self._subject, new)
            if edit is None:
                raise NotInParts("there is no room for a new function")
            edits.append(edit)
        return [*edits, *self._new_names()], given

    def _kind(self, node: TypedNode) -> object:
        """Return what a function becomes at a node, None where it stays as it is."""
        parted = self._parts.functions.get(node.index)
        return None if parted is None else self._types(node, parted)

    def _types(self, node: TypedNode, parted: PartedFunction) -> tuple[tuple[str, ...], str]:
        """Return the types of a function over parts, those of other inputs as they are written."""
        function = parted.function
        given = zip(function.inputs, node.inputs, parted.has_rows, strict=True)
        inputs = tuple(self._type(stream, text) if has else text for text, stream, has in given)
        return inputs, self._type(node.outputs[0], function.output)

    def _type(self, stream: int, written: str) -> str:
        """Return how the type of parts is written, in a file where that of the whole tiles has a name by one, too."""
        tile = self._subject.graph.streams[stream].type.element
        if not isinstance(tile, Tile):
            raise NotInParts("its elements are no tiles")
        part = Tile(tile.scalar, [self._rows, tile.shape[1]])
        if self._subject.result.task is not None:
            return type_text(part)
        text = element_text(part).replace("step.", self._subject.module)
        if written not in self._lines:
            return text
        if (written, text) not in self._named:
            self._named[written, text] = self._names.one(f"{written}_part")
        return self._named[written, text]

    def _new_names(self) -> Iterator[Edit]:
        """Yield the edits that give names to types of parts, behind those of the whole tiles."""
        by_place: dict[int, list[str]] = {}
        for (written, text), name in self._named.items():
            by_place.setdefault(self._lines[written], []).append(f"{name} = {text}\n")
        for place, lines in by_place.items():
            yield Edit(Span(place, place), "".join(lines))

    def _changed(self, fn: FnDecl, node: TypedNode) -> Iterator[Edit]:
        inputs, output = self._types(node, self._parts.functions[node.index])
        is_task = self._subject.result.task is not None
        listed = ", ".join(inputs)
        if len(inputs) > 1:
            listed = f"[{listed}]" if is_task else f"({listed})"
        for place, text in ((fn.input_span, listed), (fn.output_span, output)):
            is_plain = is_task and self._subject.text[place.start] not in "\"'["
            yield Edit(place, text.strip('"') if is_plain else text)

    def _new(self, fn: FnDecl, node: TypedNode, name: str) -> NewFunction:
        parted = self._parts.functions[node.index]
        inputs, output = self._types(node, parted)
        lines = tuple(fn.body.source.text.rstrip().splitlines())
        return NewFunction(name, parted.function.arguments, inputs, output, lines, parted.function.init)
