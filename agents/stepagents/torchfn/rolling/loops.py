"""Loops over time in a traced graph: rounds that stand there one after the other become one. Loads torch.

A trace writes every round of a Python loop out. Here a row of equal rounds, each reading the slice of a tensor that is
next and what the round before made, becomes one round between the marks of :mod:`loop_ops`; so the graph does not
grow with the number of rounds, and traces at other sizes are versions of one graph. What is no such row stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import torch
from torch.fx import Graph, Node

from stepagents.torchfn.loop_ops import MARKS
from stepagents.torchfn.rolling.graph import Rewriting
from stepagents.torchfn.rolling.rows import PLACES, NoLoop, RoundRow, generalised, sign, token
from stepagents.torchfn.rolling.scatter import Scatters

LEAST_ROUNDS: Final = 4
_MOST_LOOPS: Final = 64
_MOST_NODES: Final = 20_000
_LONGEST: Final = 1_000  # nodes of one round
_MOST_ROTATIONS: Final = 64


def roll(graph: Graph) -> bool:
    """Replace rows of rounds in ``graph`` by one round each, in place; return whether there was any."""
    if sum(node.op == "call_function" for node in graph.nodes) > _MOST_NODES:
        return False
    scatters = Scatters(graph)
    for node in reversed(graph.nodes):
        if node.target in PLACES and not node.users:  # what is left of writing in place
            graph.erase_node(node)
    found = False
    for _ in range(_MOST_LOOPS):
        row = _best(graph)
        if row is None:
            break
        Rewriting(graph, row).rewrite()
        found = True
    scatters.undo()
    if found:
        graph.eliminate_dead_code()
    return found


def _best(graph: Graph) -> RoundRow | None:
    """Return the largest row of rounds, None where there is none."""
    nodes = [node for node in graph.nodes if node.op == "call_function"]
    numbers: dict[tuple[Any, ...], int] = {}
    tokens = torch.tensor([numbers.setdefault(token(node), len(numbers)) for node in nodes])
    best: RoundRow | None = None
    for start, period, count in _repeats(tokens):
        if best is not None and best.score[0] >= count:
            continue
        for shift in range(min(period, _MOST_ROTATIONS)):
            found = _row(nodes[start + shift : start + count], period)
            if found is not None and (best is None or found.score > best.score):
                best = found
    return best


def _repeats(tokens: torch.Tensor) -> Iterator[tuple[int, int, int]]:
    """Yield (start, period, length) of what is repeated often enough, short periods first."""
    size = len(tokens)
    for period in range(1, min(size // LEAST_ROUNDS, _LONGEST) + 1):
        equal = torch.cat((torch.tensor([False]), tokens[:-period] == tokens[period:], torch.tensor([False])))
        edges = (equal[1:] != equal[:-1]).nonzero().flatten().tolist()
        for start, end in zip(edges[::2], edges[1::2], strict=True):
            if end - start >= (LEAST_ROUNDS - 1) * period:
                yield start, period, end - start + period


def _row(nodes: Sequence[Node], period: int) -> RoundRow | None:
    """Return the longest row of rounds of ``period`` nodes that are versions of one, beginning with ``nodes[0]``."""
    rounds = [list(nodes[at : at + period]) for at in range(0, len(nodes) - period + 1, period)]
    if len(rounds) < LEAST_ROUNDS or any(node.target in MARKS for node in rounds[0]):
        return None
    where = {node: (number, offset) for number, each in enumerate(rounds) for offset, node in enumerate(each)}
    best: RoundRow | None = None
    for start, end in _groups(rounds, where):
        for first in (max(start - 1, 0), start, start + 1):  # with what two rounds before left, the first one differs
            if end - first < LEAST_ROUNDS or (best is not None and best.score[0] >= (end - first) * period):
                continue
            try:
                generalised(rounds[first : first + LEAST_ROUNDS])  # most are none already in their first few rounds
                best = generalised(rounds[first:end])
                break
            except NoLoop:
                continue
    return best


def _groups(rounds: list[list[Node]], where: dict[Node, tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the rows of rounds, each of which differs from the one before in the same way."""
    signs = [sign(rounds, number, where) for number in range(1, len(rounds))]
    found: list[tuple[int, int]] = []
    start = 0
    for number in range(1, len(signs) + 1):
        if number == len(signs) or signs[number] != signs[start]:
            found.append((start, number + 1))
            start = number
    return sorted(found, key=lambda pair: pair[0] - pair[1])
