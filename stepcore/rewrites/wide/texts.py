"""How a file writes streams and functions whose elements hold whole rows: types of ends and functions, bodies."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Final

from stepcore.check.rewriting import FreshNames, inner_span
from stepcore.findings.diagnostics import Edit
from stepcore.fn.decl import FnDecl
from stepcore.graph.typed import TypedNode
from stepcore.printing.code_lines import constant_text
from stepcore.printing.python import element_text
from stepcore.printing.task import type_text
from stepcore.rewrites.functions import NewFunction, declared
from stepcore.rewrites.statements import functions_of
from stepcore.rewrites.subject import RewriteSubject
from stepcore.rewrites.wide.functions import WideFunction
from stepcore.rewrites.wide.streams import WideStreams, wide_element
from stepcore.rewrites.wide.values import Carried, NotWide
from stepcore.text.span import Embedded, Span
from stepcore.types import Element, Shape, Single, STuple, components, shape_text

_DIMS: Final = re.compile(r"\bdims:\s*(\[[^\]\n]*\])")
_DTYPE: Final = re.compile(r"""\bdtype:\s*("[^"\n]*"|'[^'\n]*'|\w+(?:\([^\n{}]*\))?)""")


class WideTexts:
    """The texts of one program; sizes and types are written as the program writes them."""

    def __init__(self, subject: RewriteSubject, streams: WideStreams) -> None:
        self._subject, self._streams = subject, streams
        self._names = FreshNames(subject.text)
        self._is_task = subject.result.task is not None

    def type_of(self, element: Single) -> str:
        """Return the text of an element type."""
        if self._is_task:
            return type_text(element)
        return element_text(element).replace("step.", self._subject.module)

    # Ends ---------------------------------------------------------------------------------------------------------

    def ends(self) -> list[Edit]:
        """Return the edits of the declared types of inputs and results that hold whole rows.

        Raises:
            NotWide: one of them is written in a form that cannot be changed.
        """
        spec, graph, made = self._subject.checked.spec, self._subject.graph, self._streams.ranks.made
        edits: list[Edit] = []
        for stream, port in zip(graph.inputs, spec.inputs, strict=True):
            if made[stream]:
                edits += self._end(port.name, port.span, stream, port.type.shape, is_input=True)
        returned = spec.returned
        if returned is not None and len(returned) == len(graph.returns):
            for stream, output in zip(graph.returns, returned, strict=True):
                if made[stream] and made[stream] == self._streams.ranks.read[stream]:
                    edits += self._end(output.name, output.span, stream, output.type.shape, is_input=False)
        return edits

    def _end(self, name: str, place: Span, stream: int, shape: Shape, *, is_input: bool) -> list[Edit]:
        rank = self._streams.ranks.made[stream]
        element = self._streams.element(stream)
        if self._is_task:
            return self._task_end(name, place, element, shape[rank:])
        annotation = self._annotation(name) if is_input else place
        if annotation is None:
            raise NotWide(f"the type of {name} is not written where it is declared")
        code = Embedded.whole(f"({self._subject.text[annotation.start : annotation.end]})")
        try:
            written = ast.parse(code.text, mode="eval").body
        except (SyntaxError, ValueError):
            written = None
        match written:
            case ast.Subscript(slice=ast.Tuple(elts=[_, held, ast.Tuple(elts=sizes) as listed])) if len(sizes) == len(
                shape
            ):
                pass
            case _:
                raise NotWide(f"the type of {name or 'a result'} is not written as an element and its sizes")
        shown = [code.inner.slice(inner_span(code, size)) for size in sizes]
        outer = shown[rank:]
        text = f"({', '.join(outer)}{',' if len(outer) == 1 else ''})"
        first, last = inner_span(code, held), inner_span(code, listed)
        start = annotation.start - 1
        return [
            Edit(Span(start + first.start, start + first.end), self._element(element)),
            Edit(Span(start + last.start, start + last.end), text),
        ]

    def _element(self, element: Element) -> str:
        if isinstance(element, STuple):
            return f"{self._subject.module}STuple(({', '.join(map(self.type_of, element.items))}))"
        return self.type_of(element)

    def _annotation(self, name: str) -> Span | None:
        program, code = functions_of(self._subject.tree).get(self._subject.name), self._subject.code
        arguments = [] if program is None else [*program.args.args, *program.args.kwonlyargs]
        found = [each.annotation for each in arguments if each.arg == name and each.annotation is not None]
        if code is None or len(found) != 1:
            return None
        return code.span_to_outer(inner_span(code, found[0]))

    def _task_end(self, name: str, place: Span, element: Element, shape: Shape) -> list[Edit]:
        """Return the edits of an entry of ``inputs`` or ``outputs``, which gives its name first."""
        text = self._subject.text
        end = text.find("name:", place.end)
        end = len(text) if end < 0 else end
        found = [pattern.search(text, place.end, end) for pattern in (_DTYPE, _DIMS)]
        if isinstance(element, STuple) or None in found:
            raise NotWide(f"the type of {name} is not written as dtype and dims behind its name")
        edits = []
        for match, new in zip(found, (type_text(element), shape_text(shape)), strict=True):
            if match is not None:
                edits.append(Edit(Span(*match.span(1)), new))
        return edits

    # Functions ----------------------------------------------------------------------------------------------------

    def functions(self, nodes: Sequence[TypedNode]) -> tuple[list[Edit], dict[int, str]]:
        """Return the edits that write the functions of ``nodes``, and the new names of those that got another one.

        Raises:
            NotWide: there is no room for a new one, or it computes its init.
        """
        made = self._streams.functions
        by_function: dict[str, list[TypedNode]] = {}
        for node in nodes:
            fn = getattr(node.op, "fn", None)
            if isinstance(fn, FnDecl):
                by_function.setdefault(fn.func_name, []).append(node)
        edits: list[Edit] = []
        names: dict[int, str] = {}
        new: list[NewFunction] = []
        for users in by_function.values():
            kinds: dict[object, list[TypedNode]] = {}
            for node in users:
                kinds.setdefault(self._kind(node), []).append(node)
            for kind, group in kinds.items():
                if kind is None:
                    continue
                function, fn = made[group[0].index], group[0].op.fn  # type: ignore[attr-defined]
                is_readable = fn.body.source.verbatim or not function.pieces
                if len(kinds) == 1 and not function.is_fold and is_readable and self._subject.owns(fn):
                    edits += self._changed(fn, function, group[0])
                    continue
                written = self._written(fn, function, group[0])
                new.append(written)
                names |= {node.index: written.name for node in group}
        if new:
            edit = declared(self._subject, new)
            if edit is None:
                raise NotWide("there is no room for a new function")
            edits.append(edit)
        return edits, names

    def _kind(self, node: TypedNode) -> object:
        """Return what a function becomes at a node, None where it stays as it is."""
        function = self._streams.functions.get(node.index)
        if function is None:
            return None
        inputs, output = self._types(node, function)
        fn = node.op.fn  # type: ignore[attr-defined]
        is_same = (inputs, output) == (components(fn.input), components(fn.output)) and not function.pieces
        if is_same and function.has_state == function.is_fold:
            return None
        return inputs, output, function.body

    def _types(self, node: TypedNode, function: WideFunction) -> tuple[tuple[Single, ...], tuple[Single, ...]]:
        """Return the components that a function takes and gives now."""
        graph, ranks = self._subject.graph, self._streams.ranks
        fn = node.op.fn  # type: ignore[attr-defined]
        shape = graph.streams[node.inputs[0]].type.shape
        carried = [each for stream in node.inputs for each in self._given(stream, ranks.read[stream])]
        given = components(fn.input)
        inputs = tuple(wide_element(each, shape, has) for each, has in zip(given, carried, strict=True))
        result = graph.streams[node.outputs[0]].type.shape
        made = zip(components(fn.output), function.made, strict=True)
        return inputs, tuple(wide_element(each, result, has) for each, has in made)

    def _given(self, stream: int, rank: int) -> tuple[Carried, ...]:
        carried = self._streams.carried[stream]
        return carried if self._streams.ranks.made[stream] == rank else tuple((True,) * rank for _ in carried)

    def _changed(self, fn: FnDecl, function: WideFunction, node: TypedNode) -> list[Edit]:
        """Return the edits of a function where it stands: its types, and what has to be written otherwise in it."""
        inputs, output = self._types(node, function)
        edits = []
        for place, before, after in ((fn.input_span, fn.input, inputs), (fn.output_span, fn.output, output)):
            if components(before) != after:
                edits.append(Edit(place, self._listed(before, after, place)))
        code = fn.body.source
        return edits + [Edit(code.span_to_outer(Span(start, end)), new) for start, end, new in function.pieces]

    def _listed(self, before: Element, after: Sequence[Single], place: Span) -> str:
        """Return several types, those that stay as they are written."""
        shown = self._parts(place, len(after))
        kept = zip(components(before), after, shown, strict=True)
        texts = [text if one == other and text else self.type_of(other) for one, other, text in kept]
        if not isinstance(before, STuple):
            return texts[0]
        return f"[{', '.join(texts)}]" if self._is_task else f"({', '.join(texts)})"

    def _parts(self, place: Span, count: int) -> list[str]:
        """Return the texts of a tuple's components where it is written out in Python, else nothing for each."""
        code = Embedded.whole(f"({self._subject.text[place.start : place.end]})")
        try:
            written = None if self._is_task else ast.parse(code.text, mode="eval").body
        except (SyntaxError, ValueError):
            written = None
        match written:
            case ast.Tuple(elts=parts) if len(parts) == count:
                return [code.inner.slice(inner_span(code, part)) for part in parts]
            case ast.Name() | ast.Attribute() | ast.Call() if count == 1:
                return [self._subject.text[place.start : place.end]]
        return [""] * count

    def _written(self, fn: FnDecl, function: WideFunction, node: TypedNode) -> NewFunction:
        inputs, output = self._types(node, function)
        arguments = fn.body.arguments if function.has_state else fn.body.arguments[-1:]
        init = None
        if function.has_state:
            if fn.init is None:
                raise NotWide(f"{fn.func_name} computes its init")
            init = f"[{', '.join(map(constant_text, fn.init))}]"
        return NewFunction(
            self._names.one(f"{fn.func_name}_rows"), arguments, tuple(map(self.type_of, inputs)),
            tuple(map(self.type_of, output)), tuple(function.body.rstrip().splitlines()), init,
        )  # fmt: skip
