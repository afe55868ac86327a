"""Equal values among which ``topk`` or ``argmax`` chooses: why a program that is right may take others. Loads torch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import torch
from torch.fx import Graph

from stepagents.torchfn.checks import make_checks
from stepagents.torchfn.layer import GraphReference
from stepagents.traced.graph import line_of, opname, size_argument
from stepcore.records import Record

if TYPE_CHECKING:
    from torch import Tensor
    from torch.fx import Node

    from stepagents.traced.graph import TracedFunction


class _Pick(Record):
    """A node that takes the ``count`` greatest of ``scores`` along ``dim``, or the least."""

    node: Node
    scores: Node
    dim: int
    count: int
    is_greatest: bool


def tied_choice(traced: TracedFunction, seed: int) -> str:
    """Return which choice of the function meets equal values on random data, as a sentence; empty where none does.

    Raises:
        Refused: the function runs on no data.
    """
    picks = list(_picks(traced))
    if not picks:
        return ""
    reference = _scores(traced, picks)
    found = [0] * len(picks)
    of = [0] * len(picks)
    for data in make_checks(traced, seed).data:
        scores = reference.at(data.sizes)(*(data.tensors[item.name] for item in traced.inputs))
        for place, (pick, values) in enumerate(zip(picks, scores, strict=True)):
            ties = _ties(pick, values)
            found[place] += int(ties.sum())
            of[place] += ties.numel()
    for pick, count, total in zip(picks, found, of, strict=True):
        if count:
            line = line_of(pick.node)
            where = "" if line is None else f"line {line[1]}: "
            return (
                f"{where}{opname(pick.node)} chooses among equal values in {count} of {total} rows of random data, and "
                "which of them it takes is not defined: a program may take others; break ties in the function, for "
                "example by adding a small number for each place"
            )
    return ""


def _picks(traced: TracedFunction) -> Iterator[_Pick]:
    for node in traced.graph.graph.nodes:
        given: Any = node.args
        if opname(node) == "topk":
            dim = given[2] if len(given) > 2 else -1
            largest = given[3] if len(given) > 3 else node.kwargs.get("largest", True)
            number = size_argument(node, (1,)).constant
            if number is not None:
                yield _Pick(node, given[0], dim, number, bool(largest))
        elif opname(node) in ("argmax", "argmin") and len(given) > 1 and given[1] is not None:
            yield _Pick(node, given[0], given[1], 1, opname(node) == "argmax")


def _scores(traced: TracedFunction, picks: list[_Pick]) -> GraphReference:
    """Return what computes the values that are chosen among."""
    graph = Graph()
    copies: dict[Node, Node] = {}
    graph.graph_copy(traced.graph.graph, copies)
    graph.output(tuple(copies[pick.scores] for pick in picks))
    return GraphReference(graph, traced.dims)


def _ties(pick: _Pick, values: Tensor) -> Tensor:
    """Return for each row whether the last value that is chosen is that of one which is not."""
    size = values.shape[pick.dim]
    if size <= pick.count:
        return torch.zeros(1, dtype=torch.bool)
    ordered = torch.sort(values, pick.dim, descending=pick.is_greatest).values
    return ordered.select(pick.dim, pick.count - 1) == ordered.select(pick.dim, pick.count)
