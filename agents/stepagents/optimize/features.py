"""What holds a timed program up, and what a rewrite changes, in words that fit other programs.

Kinds of units and parameters are words of the language, sizes are ratios: nothing of a user's text is in them.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import log2
from typing import Final

from stepagents.experience.optimizations import Bottleneck, Change, Rules
from stepagents.optimize.candidates import OptimizeTarget
from stepcore.costs.metrics import compulsory_traffic
from stepcore.cycles.bounds import bound_of
from stepcore.cycles.timed import Timed
from stepcore.ops import GENERATION_1
from stepcore.rewrites import HOW, RewriteSite
from stepcore.rewrites.bandwidths import compute_used

_END: Final = "input or output"
_MOST: Final = 64
_BUSY: Final = 2  # a unit that is busy in less than one cycle in so many is no bottleneck: all wait for each other
_LARGEST: Final = 12  # characters of a number that is kept
_WORDS: Final = 8
_NUMBERS: Final = ("counter", "count", "levels")  # of parameters of rewrites that are none of an operator
_OPERATORS: Final = frozenset(operator.__name__ for operator in GENERATION_1.operators)
_PARAMETERS: Final = frozenset(
    param.name for operator in GENERATION_1.operators for param in operator.calling.params
) | {*_NUMBERS}


def bottleneck_of(timed: Timed, target: OptimizeTarget) -> Bottleneck:
    """Return what holds a timed program up on a chip."""
    off_chip, compulsory = timed.off_chip_bytes, compulsory_traffic(timed.spec, timed.graph, timed.spec.bindings())
    reuse = _power(off_chip, compulsory.value or 0)
    kept = timed.on_chip or 0
    room = _power(target.capacity, kept) if target.capacity else _MOST
    spare = _power(target.compute, compute_used(timed))
    if timed.cycles is None or not timed.timing.units:
        waiting = [timed.program.units[each.unit] for each in timed.ring]
        node = next((each for each in waiting if each >= 0), -1)
        return Bottleneck("stopped", _kind(timed, node), _around(timed, node), 0, reuse, room, spare, 0)
    bound = bound_of(timed, target.compute)
    busiest = timed.busiest
    unit, node = timed.timing.units[busiest], timed.program.units[busiest]
    cycles = max(timed.cycles, 1)
    return Bottleneck(
        _rules(timed, node, unit.worked, unit.memory),
        _kind(timed, node),
        _around(timed, node),
        _power(unit.worked + unit.memory, cycles),
        reuse,
        room,
        spare,
        0 if bound is None else _power(cycles, bound.cycles),
    )


def _rules(timed: Timed, node: int, worked: int, memory: int) -> Rules:
    if (worked + memory) * _BUSY < (timed.cycles or 0):
        return "waiting"
    if memory > worked or node < 0:
        return "memory"
    terms = timed.program.terms.get(node)
    if terms is None or terms.compute >= max(terms.given, terms.out):
        return "compute"
    return "on-chip reads" if terms.given >= terms.out else "on-chip writes"


def _kind(timed: Timed, node: int) -> str:
    return _END if node < 0 else timed.graph.nodes[node].op_name


def _around(timed: Timed, index: int) -> tuple[str, ...]:
    """Return the kinds of units in front of a node and behind it, each once, in the order of the alphabet."""
    if index < 0:
        return ()
    graph = timed.graph
    node = graph.nodes[index]
    made_by = (graph.streams[stream].producer for stream in node.inputs)
    before = {f"< {_END if each is None else graph.nodes[each].op_name}" for each in made_by}
    after = {f"> {each.op_name}" for each in graph.nodes if {*each.inputs} & {*node.outputs}}
    if {*node.outputs} & {*graph.returns}:
        after.add(f"> {_END}")
    return tuple(sorted(before | after))[:16]


def _power(one: int, other: int) -> int:
    """Return the ratio of two amounts as a power of two, rounded; 0 where one of them is none."""
    return round(max(min(log2(one / other), _MOST), -_MOST)) if one > 0 and other > 0 else 0


def change_of(site: RewriteSite) -> Change:
    """Return what a site does, by the parameters that the language names."""
    return Change(site.rewrite, tuple(sorted({*_parameters(site)}))[:_WORDS])


def _parameters(site: RewriteSite) -> Iterator[str]:
    for name, value in site.params:
        if name == HOW:
            yield value
        elif name in _PARAMETERS and value.isdecimal() and len(value) <= _LARGEST:
            yield f"{name}={value}"
        elif value in _OPERATORS:
            yield value


def segment(before: str, after: str) -> tuple[str, str]:
    """Return the lines of a text that changed, and what they became, without those that both begin or end with."""
    old, new = before.splitlines(), after.splitlines()
    shortest = min(len(old), len(new))
    first = next((at for at in range(shortest) if old[at] != new[at]), shortest)
    last = next((at for at in range(shortest - first) if old[-1 - at] != new[-1 - at]), shortest - first)
    return "\n".join(old[first : len(old) - last]), "\n".join(new[first : len(new) - last])
