"""What proposers find: distinct programs for one task, and how it went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from stepcore.check.programs import ImplChecker
from stepcore.costs.metrics import Metrics, measure
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.task import TaskFile
from stepcore.graph.typed import TypedGraph
from stepcore.jobdata.writing import Solution
from stepcore.printing.task import canonical_key
from stepcore.records import Record
from stepcore.text.span import Embedded
from stepcore.types import tensor_shapes


class Proposed(Record):
    """How a proposer fared: why nothing was found, how many programs it tried, what the verdict is not worth.

    ``details`` are further facts for whoever knows this proposer; they come with the job's result.
    """

    reason: str = ""
    tried: int = 0
    note: str = ""
    details: dict[str, Any] = field(default_factory=dict)


class Programs:
    """Distinct programs for one task; equal ones count once."""

    def __init__(self, task: TaskFile) -> None:
        self._checker = ImplChecker(task)
        self._found: dict[str, tuple[str, TypedGraph]] = {}

    def __len__(self) -> int:
        return len(self._found)

    def add(self, impl: str) -> None:
        """Take a program that was verified."""
        graph = self._checker.check(Embedded.whole(impl)).typed
        self._found.setdefault(canonical_key(graph), (impl, graph))

    @property
    def impls(self) -> list[str]:
        """The programs, in the order in which they were found."""
        return [impl for impl, _ in self._found.values()]

    def described(self) -> list[Solution]:
        """Return all, each with its costs, the cheapest first."""
        found = [_described(self._checker.spec, impl, graph) for impl, graph in self._found.values()]
        return sorted(found, key=lambda item: (item.operators, item.on_chip_bytes or 0))


def solution(impl: str, operators: int, costs: Metrics, sizes: Mapping[str, int], **more: Any) -> Solution:
    """Return a program with what it costs at ``sizes``, and what ``more`` is to be said of it."""
    return Solution(
        impl=impl,
        operators=operators,
        on_chip_bytes=costs.on_chip.value,
        off_chip_bytes=costs.off_chip.value,
        streaming_degree=costs.streaming_degree,
        compulsory_bytes=costs.compulsory.value,
        traffic_ratio=costs.traffic_ratio,
        sizes=dict(sizes),
        **more,
    )


def _sizes(spec: ProgramSpec) -> dict[str, int]:
    """Return the sizes that the ports of a task name, and that its costs are counted at."""
    types = [port.type for port in (*spec.inputs, *spec.parameters)] + [port.type for port in spec.outputs or ()]
    named = {name for each in types for shape in tensor_shapes(each) for size in shape for name in size.symbols()}
    return {name: size for name, size in spec.bindings().items() if name in named}


def _described(spec: ProgramSpec, impl: str, graph: TypedGraph) -> Solution:
    """Return a program with what it costs at the task's own sizes; None for what those do not decide."""
    return solution(impl, len(graph.nodes), measure(spec, graph), _sizes(spec))
