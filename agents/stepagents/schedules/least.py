"""The least cycles in which all elements of a function's tensors move: a bound without any search. No torch.

Each input and each result moves once, at the memory's peak, as in `stepcore.cycles.bounds`.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.indices import VIEWS
from stepagents.schedules.tile_ops import FILLED, POINTWISE, PRODUCTS, REDUCED, SOFTMAX
from stepagents.traced.graph import FIXED, opname
from stepcore.cycles.bounds import cycles_of_traffic
from stepcore.types import DTYPE_BYTES

if TYPE_CHECKING:
    from torch.fx import Node

    from stepagents.traced.graph import TracedFunction
    from stepcore.timing.hardware import Hardware

_OF_ALL: Final = PRODUCTS | POINTWISE | (VIEWS - {"select"}) | FILLED | SOFTMAX.keys() | REDUCED.keys()


def least_cycles(traced: TracedFunction, chip: Hardware) -> int:
    """Return the fewest cycles of a program that computes every element of ``traced``, at its sizes; 0: not known.

    It is known where each operation needs all elements of its operands: none picks some of them.
    """
    nodes: list[Node] = [node for node in traced.graph.graph.nodes if node.op == "call_function"]
    if not all(opname(node) in _OF_ALL or node.meta.get(FIXED) is not None for node in nodes):
        return 0
    read: set[str] = {given.name for node in nodes for given in _given(node)}
    tensors = [(each.dtype, each.dims) for each in traced.inputs if each.name in read]
    tensors += [(each.dtype, each.dims) for each in traced.outputs]
    bound = {**traced.dims, **traced.bound}
    needed = sum(DTYPE_BYTES[dtype] * prod(size.bind(bound) for size in dims) for dtype, dims in tensors)
    return cycles_of_traffic(needed, chip.memory)


def _given(node: Node) -> Any:
    return node.all_input_nodes
