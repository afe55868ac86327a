"""A traced graph in layers: each folds once, takes along what is elementwise, and reads tensors that earlier ones made.

Views are no layer: whoever reads a tensor through a view reads it through a layout of the host, so a view stands in
each layer that needs it, and what depends on no input does, too. Layers are in an order in which they can run.
"""

from __future__ import annotations

import operator
from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from stepagents.traced.graph import FIXED, TracedFunction, needed, opname

if TYPE_CHECKING:
    from torch.fx import Node

_VIEWS: Final = frozenset({
    "view", "_unsafe_view", "reshape", "flatten", "view_as", "unflatten", "expand", "expand_as", "broadcast_to",
    "permute", "t", "transpose", "unsqueeze", "squeeze", "slice", "select", "narrow", "split", "split_with_sizes",
    "chunk", "tensor_split", "unbind", "unfold", "diagonal", "pixel_shuffle", "pixel_unshuffle", "channel_shuffle",
    "constant_pad_nd", "pad", "repeat", "tile", "clone", "alias", "detach", "lift_fresh_copy", "contiguous", "lift",
})  # fmt: skip
MOST_FOLDS: Final = 8  # of a function that is tried as one program first
_MOST_ELEMENTWISE: Final = 48  # operations that one layer takes along


@dataclass(slots=True)
class Layer:
    """Nodes of a graph that become one program: ``inputs`` are made outside, ``outputs`` are read outside."""

    nodes: list[Node] = field(default_factory=list)
    inputs: list[Node] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)


def layers_of(traced: TracedFunction, alone: Container[Node] = ()) -> list[Layer]:
    """Return the layers of ``traced`` in an order in which they can run; each operation in ``alone`` is one."""
    return _Partition(traced, alone).layers()


def folds(traced: TracedFunction) -> int:
    """Return how many operations of ``traced`` are neither elementwise nor views."""
    return count_folds(needed(traced.graph.graph), traced.graph.graph.nodes)


def count_folds(counted: Container[Node], nodes: Iterable[Node]) -> int:
    """Return how many of ``nodes`` in ``counted`` are folds; a loop over time with all of its round is one."""
    found = list(nodes)
    rounds = rounds_of(found)
    return sum(node in counted and (is_fold(node) if node not in rounds else rounds[node] is node) for node in found)


def rounds_of(nodes: Iterable[Node]) -> dict[Node, Node]:
    """Return the operations of the rounds of loops over time, each with the end of its loop, the ends included.

    ``nodes`` are in the order of the graph; a round stands before its own end and behind those of others.
    """
    found: dict[Node, Node] = {}
    waiting: list[Node] = []
    for node in nodes:
        if opname(node) == "loop_end":
            found.update(dict.fromkeys([*waiting, node], node))
            waiting = []
        elif opname(node) in ("loop_state", "loop_item") or any(each in waiting for each in node.all_input_nodes):
            waiting.append(node)
    return found


class _Partition:
    def __init__(self, traced: TracedFunction, alone: Container[Node]) -> None:
        self._alone = alone
        self._constants = {item.name for item in traced.inputs if item.kind == "constant"}
        wanted = needed(traced.graph.graph)
        self._nodes = [node for node in traced.graph.graph.nodes if node in wanted]
        self._place = {node: place for place, node in enumerate(self._nodes)}
        names = {node.name: node for node in self._nodes}
        self._results = [names[output.node] for output in traced.outputs]
        self._rounds = rounds_of(self._nodes)
        self._owner: dict[Node, int] = {}
        self._taken: list[int] = []  # elementwise operations of each layer

    def layers(self) -> list[Layer]:
        waiting: list[Node] = []
        for node in self._nodes:
            if not self._is_computed(node):
                continue
            if node in self._rounds:  # a loop is one layer, behind all that its rounds read
                waiting.append(node)
                if self._rounds[node] is node:
                    self._owner.update(dict.fromkeys(waiting, self._new_for(*waiting)))
                    waiting = []
            else:
                self._owner[node] = self._layer_for(node)
        for node in self._results:  # a view that is a result belongs to what it is a view of
            if node not in self._owner and node.op == "call_function":
                found = self._latest(node)
                self._owner[node] = found if found is not None else self._new_for(node)
        members: list[list[Node]] = [[] for _ in self._taken]
        for node, number in self._owner.items():
            members[number].append(node)
        found_layers = [self._closed(nodes, number) for number, nodes in enumerate(members)]
        read = {node for layer in found_layers for node in layer.inputs} | set(self._results)
        for number, layer in enumerate(found_layers):
            layer.outputs = [node for node in layer.nodes if self._owner.get(node) == number and node in read]
        return found_layers

    def _is_computed(self, node: Node) -> bool:
        return node.op == "call_function" and not self._is_constant(node) and not _is_view(node)

    def _is_constant(self, node: Node) -> bool:
        return FIXED in node.meta or node.name in self._constants

    def _layer_for(self, node: Node) -> int:
        """Return the layer that takes ``node`` along: that of what it reads, else a new one."""
        if node.target is operator.getitem:
            return self._owner[node.all_input_nodes[0]]
        latest = None if is_fold(node) or node in self._alone else self._latest(node)
        if latest is None or self._taken[latest] >= _MOST_ELEMENTWISE:
            return self._new_for(node)
        self._taken[latest] += 1
        return latest

    def _new_for(self, *nodes: Node) -> int:
        """Return a new layer; one for operations that are to be alone takes nothing along."""
        self._taken.append(_MOST_ELEMENTWISE if any(node in self._alone for node in nodes) else 0)
        return len(self._taken) - 1

    def _latest(self, node: Node) -> int | None:
        """Return the last layer that ``node`` reads, through views."""
        return max((self._owner[each] for each in self._sources(node) if each in self._owner), default=None)

    def _sources(self, node: Node) -> Iterator[Node]:
        """Yield what is read by ``node`` through views: computed nodes and placeholders."""
        stack = list(node.all_input_nodes)
        while stack:
            each = stack.pop()
            if each in self._owner or each.op == "placeholder":
                yield each
            elif not self._is_constant(each):
                stack += each.all_input_nodes

    def _closed(self, members: list[Node], number: int) -> Layer:
        """Return the layer of ``members`` with the views and constants that they need."""
        inside: set[Node] = set()
        inputs: dict[Node, None] = {}
        stack = members[::-1]
        while stack:
            node = stack.pop()
            if node in inside:
                continue
            inside.add(node)
            for each in node.all_input_nodes:
                if self._owner.get(each) == number:
                    stack.append(each)
                elif each in self._owner or (each.op == "placeholder" and not self._is_constant(each)):
                    inputs[each] = None
                else:
                    stack.append(each)
        order = self._place.__getitem__
        return Layer(sorted(inside, key=order), self._in_order(sorted(inside, key=order), inputs))

    @staticmethod
    def _in_order(nodes: list[Node], inputs: dict[Node, None]) -> list[Node]:
        """Return the inputs in the order in which the operations read them."""
        read = [each for node in nodes for each in node.all_input_nodes if each in inputs]
        return list(dict.fromkeys(read))


def _is_view(node: Node) -> bool:
    if node.target is operator.getitem:
        return _is_view(node.all_input_nodes[0])
    return opname(node) in _VIEWS


def is_fold(node: Node) -> bool:
    """Whether an operation is neither elementwise nor a view, and begins a layer."""
    if node.op != "call_function" or node.target is operator.getitem or FIXED in node.meta or _is_view(node):
        return False
    import torch

    target: Any = node.target
    if getattr(target, "namespace", "") == "stepsmith":  # the mark of a loop over time, which is one fold by its body
        return False
    return torch.Tag.pointwise not in getattr(target, "tags", ()) and opname(node) != "_to_copy"
