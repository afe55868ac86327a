"""A program whose streams have some of their dimensions in their elements: what these carry, what nodes become.

An element need not carry a dimension along which it is the same: what was repeated along a row stands once beside the
row, and functions spread it.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from stepcore.fn.decl import FnDecl
from stepcore.fn.source import is_calculated, statements_of
from stepcore.graph.typed import TypedGraph, TypedNode
from stepcore.rewrites.subject import RewriteSubject
from stepcore.rewrites.wide.functions import WideFunction, widened
from stepcore.rewrites.wide.ranks import WideRanks, buffer_rank
from stepcore.rewrites.wide.values import NUMBER, Carried, NotWide, WideValue
from stepcore.sizes.dim import Dim
from stepcore.types import Buffer, Element, Multihot, Scalar, Single, STuple, Tile, components, element_shape


class NodeNotWide(NotWide):
    """An operator that cannot take whole rows, while others around it may."""

    def __init__(self, node: TypedNode, reason: str) -> None:
        super().__init__(reason)
        self.node = node


@dataclass(frozen=True)
class WideStreams:
    """What elements carry, by stream and component, and the functions of the nodes that apply some.

    ``left`` says why an operator keeps single elements, an empty text where none has to.
    """

    graph: TypedGraph
    ranks: WideRanks
    left: str = ""
    carried: dict[int, tuple[Carried, ...]] = field(default_factory=dict)
    functions: dict[int, WideFunction] = field(default_factory=dict)

    def element(self, stream: int) -> Element:
        """Return the element type of a stream as it is made now."""
        given = self.graph.streams[stream].type
        parts = [
            wide_element(each, given.shape, carried)
            for each, carried in zip(components(given.element), self.carried[stream], strict=True)
        ]
        return STuple(parts) if isinstance(given.element, STuple) else parts[0]


def wide_element(element: Single, shape: Sequence[Dim], carried: Carried) -> Single:
    """Return an element that carries dimensions of a stream of ``shape``, behind its own, innermost first.

    Raises:
        NotWide: it is a tuple, or something else that no buffer holds.
    """
    sizes = tuple(size for size, has in zip(shape, carried, strict=False) if has)
    match element:
        case _ if not sizes:
            return element
        case Buffer(element=inner, shape=own):
            return Buffer(inner, own + sizes)
        case Scalar() | Multihot() | Tile():
            return Buffer(element, sizes)
    raise NotWide(f"{element} cannot lie in a buffer")


def wide_streams(subject: RewriteSubject, ranks: WideRanks, left: str) -> WideStreams:
    """Return what elements carry where so many dimensions lie in them; ``left`` is why an operator takes none.

    Raises:
        NodeNotWide: an operator cannot take or give such elements.
        NotWide: an end of the program cannot.
    """
    graph = subject.graph
    found = WideStreams(graph, ranks, left)
    known = _known(subject)
    for stream in graph.inputs:
        found.carried[stream] = _full(graph, stream, ranks.made[stream])
    for node in graph.nodes:
        try:
            _through(found, node, known)
        except NodeNotWide:
            raise
        except NotWide as error:
            raise NodeNotWide(node, str(error)) from None
    for stream in graph.returns:
        if ranks.made[stream] and not all(all(each) for each in found.carried[stream]):
            raise NotWide(
                "what is returned is the same along a row, and no operator writes it out inside of an element"
            )
        if ranks.made[stream] != ranks.read[stream]:
            _need_convertible(found, stream)
    return found


def _full(graph: TypedGraph, stream: int, rank: int) -> tuple[Carried, ...]:
    return tuple((True,) * rank for _ in components(graph.streams[stream].type.element))


def _through(found: WideStreams, node: TypedNode, known: Mapping[str, WideValue]) -> None:
    """Note what the results of a node carry, and what its function becomes."""
    graph, ranks = found.graph, found.ranks
    given = []
    for stream in node.inputs:
        if ranks.made[stream] != ranks.read[stream]:
            _need_convertible(found, stream)
        is_same = ranks.made[stream] == ranks.read[stream]
        given.append(found.carried[stream] if is_same else _full(graph, stream, ranks.read[stream]))
    before, made = ranks.read[node.inputs[0]] if node.inputs else 0, [ranks.made[stream] for stream in node.outputs]
    is_wide = any(ranks.read[stream] for stream in node.inputs) or any(made)
    if not is_wide:
        results = [_full(graph, stream, 0) for stream in node.outputs]
    elif node.op_name in ("Map", "Accum"):
        results = [_applied(found, node, [each for parts in given for each in parts], known)]
    elif node.op_name == "Zip":
        results = [tuple(each for parts in given for each in parts)]
    elif node.op_name in ("Copy", "Identity"):
        results = [given[0] for _ in node.outputs]
    else:
        results = [tuple(_shaped(graph, node, each, before, made[0], ranks) for each in given[0])]
    found.carried.update(zip(node.outputs, results, strict=True))


def _need_convertible(found: WideStreams, stream: int) -> None:
    """Refuse a stream that Bufferize cannot put together, or Streamify cannot take apart."""
    given = found.graph.streams[stream].type.element
    if found.ranks.made[stream] and not isinstance(given, Scalar):
        raise NotWide(f"whole rows of {given} cannot be taken apart again")
    if isinstance(given, STuple):
        raise NotWide(f"rows of {given} cannot be put together")
    if not all(all(each) for each in found.carried[stream]):
        raise NotWide("what is the same along a row cannot be taken apart into its numbers")


def _shaped(graph: TypedGraph, node: TypedNode, carried: Carried, before: int, after: int, ranks: WideRanks) -> Carried:
    """Return what a component carries behind an operator that only changes shapes."""
    op: Any = node.op
    match node.op_name:
        case "Repeat" | "RepeatRef":
            return (False, *carried) if after else carried
        case "Streamify":
            repeats = len(node.inputs) > 1 and ranks.read[node.inputs[1]] > 0
            return (True,) * buffer_rank(graph, node) + (False,) * repeats + carried
        case "Bufferize":
            if not all(carried[: op.a]):
                raise NotWide(f"{node.written} would hold what is the same along a row")
            return carried[op.a :]
        case "Promote":
            return (*carried[: op.b], False, *carried[op.b :]) if after > before else carried
        case "Flatten":
            return _flattened(graph, node, carried) if after < before else carried
    raise NotWide(f"nobody knows what {node.written} does with whole rows")


def _flattened(graph: TypedGraph, node: TypedNode, carried: Carried) -> Carried:
    """Return what is carried of dimensions that become one: only where at most one of them is no single number."""
    op: Any = node.op
    low, high = min(op.L) - 1, max(op.L)
    shape = graph.streams[node.inputs[0]].type.shape
    merged = range(low, high + 1)
    has = [place for place in merged if carried[place]]
    if has and any(shape[place] != Dim.of(1) for place in merged if place != has[0]):
        raise NotWide(f"{node.written} makes one dimension of several that lie in an element")
    return (*carried[:low], bool(has), *carried[high + 1 :])


def _applied(
    found: WideStreams, node: TypedNode, carried: Sequence[Carried], known: Mapping[str, WideValue]
) -> tuple[Carried, ...]:
    fn = getattr(node.op, "fn", None)
    if not isinstance(fn, FnDecl):
        raise NotWide("its function cannot be read")
    inputs = [
        WideValue(len(element_shape(element)), each)
        for element, each in zip(components(fn.input), carried, strict=True)
    ]
    folded = int(getattr(node.op, "b", 0)) if node.op_name == "Accum" else 0
    found.functions[node.index] = made = widened(fn, inputs, known, folded)
    return made.made


def _known(subject: RewriteSubject) -> dict[str, WideValue]:
    """Return the numbers and weights that element functions read by name."""
    spec = subject.checked.spec
    names = [name for symbol in spec.scope.symbols for name in (symbol, f"{symbol}_value")]
    found = dict.fromkeys(names, NUMBER)
    for statement in statements_of(spec.scope.prelude):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_calculated(value, found, (int, float)):
                found[name] = NUMBER
    return found | {port.name: WideValue(len(port.type.shape), ()) for port in spec.parameters}
