"""Writing into one place of a tensor: PyTorch's decomposition of it, as one operation while loops are looked for."""

from __future__ import annotations

from typing import Any, Final

import torch
from torch.fx import Graph, Node

_ATEN: Final[Any] = torch.ops.aten


class Scatters:
    """Puts ``select_scatter`` in the place of what it was decomposed to; :meth:`undo` decomposes what is left."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._made: dict[Node, dict[str, Any]] = {}
        for node in list(graph.nodes):
            found = _parts(node)
            if found is not None:
                args, old = found
                with graph.inserting_before(node):
                    scatter = graph.call_function(_ATEN.select_scatter.default, args)
                scatter.meta = dict(node.meta)
                node.replace_all_uses_with(scatter)
                self._made[scatter] = {name: each.meta["val"] for name, each in old.items()}
                for each in old.values():
                    if not each.users:
                        graph.erase_node(each)

    def undo(self) -> None:
        """Write those that are still there as PyTorch does."""
        for scatter in [node for node in self._graph.nodes if node in self._made]:
            values = self._made[scatter]
            tensor, source, dim, place = scatter.args
            sizes = list(values["places"].shape)
            with self._graph.inserting_before(scatter):
                counter = self._call("counter", _ATEN.arange.start_step, (0, sizes[dim]), scatter)
                places = self._call("places", _ATEN.view.default, (counter, sizes), scatter)
                test = self._call("test", _ATEN.eq.Scalar, (places, place), scatter)
                lifted = self._call("lifted", _ATEN.unsqueeze.default, (source, dim), scatter)
                shape = list(scatter.meta["val"].shape)
                spread = self._call("spread", _ATEN.expand.default, (lifted, shape), scatter)
                chosen = self._call("chosen", _ATEN.where.self, (test, spread, tensor), scatter)
            scatter.replace_all_uses_with(chosen)
            self._graph.erase_node(scatter)

    def _call(self, name: str, target: Any, args: tuple[Any, ...], scatter: Node) -> Node:
        node = self._graph.call_function(target, args)
        node.meta = {**scatter.meta, "val": self._made[scatter].get(name, scatter.meta["val"])}
        return node


def _parts(node: Node) -> tuple[tuple[Node, Node, int, int], dict[str, Node]] | None:
    """Return (tensor, source, dimension, place) where ``node`` is ``where(place == here, source, tensor)``.

    The second value are the nodes of that, each before what it reads.
    """
    if node.target is not _ATEN.where.self or not all(isinstance(arg, Node) for arg in node.args):
        return None
    test, spread, tensor = node.args
    places = _input(test, _ATEN.eq.Scalar)
    lifted = _input(spread, _ATEN.expand.default)
    counter = _input(places, _ATEN.view.default)
    source = _input(lifted, _ATEN.unsqueeze.default)
    if counter is None or source is None or counter.target is not _ATEN.arange.start_step:
        return None
    assert isinstance(test, Node) and isinstance(spread, Node) and isinstance(tensor, Node)
    assert places is not None and lifted is not None
    dim, place, value = lifted.args[1], test.args[1], tensor.meta["val"]
    if not isinstance(dim, int) or not isinstance(place, int) or spread.meta["val"].shape != value.shape:
        return None
    dim %= value.dim()
    if list(places.meta["val"].shape) != [size if at == dim else 1 for at, size in enumerate(value.shape)]:
        return None
    old = {"chosen": node, "test": test, "places": places, "counter": counter, "spread": spread, "lifted": lifted}
    if source.target is _ATEN.copy.default and isinstance(source.args[1], Node):
        given, kept = source.args[1].meta["val"], source.meta["val"]
        if (given.shape, given.dtype) == (kept.shape, kept.dtype):
            old["copied"], source = source, source.args[1]
    return (tensor, source, dim, place), old


def _input(node: Any, target: Any) -> Node | None:
    """Return the first argument of ``node`` if that is a call of ``target``."""
    found = node.args[0] if isinstance(node, Node) and node.target is target else None
    return found if isinstance(found, Node) else None
