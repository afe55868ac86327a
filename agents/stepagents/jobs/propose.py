"""The job ``propose`` of the worker, made for editors: several verified programs for one task, each with its costs.

Payload: ``path`` and ``text`` of the task, ``proposer`` (``search``, the default, or ``model``: the job's owner is then
asked for answers, see :mod:`stepagents.llm.asking`), ``solutions`` (how many, at most), ``seconds`` for all of them,
``seed``, and for a model the options of :mod:`stepagents.jobs.write`, whose answers are told as there. Progress
tells ``text`` and ``candidates``.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any, Final

from stepagents.given import given_task
from stepagents.search.costs import CostModel
from stepcore.check.programs import ImplChecker
from stepcore.graph.ir import ProgramSpec
from stepcore.graph.task import TaskFile
from stepcore.graph.typed import TypedGraph
from stepcore.jobs import Context, JobCancelled
from stepcore.printing.task import canonical_key
from stepcore.text.span import Embedded
from stepcore.types import tensor_shapes

# Searches after the first get other costs, so that they are likely to find another program.
_NOISE: Final = 0.3
_AFTER_FIRST: Final = 0.25  # share of the time that looking for further programs may take
_EVERY: Final = 0.2  # seconds between two reports


def propose(payload: Any, context: Context) -> Any:
    """Return ``solutions`` (``impl``, ``operators``, ``on_chip_bytes``, ``off_chip_bytes``, ``streaming_degree``,
    ``compulsory_bytes``, ``traffic_ratio``).

    The solutions are distinct, the cheapest first; ``reason`` says why there are none, ``candidates`` how many were
    tried.

    Raises:
        JobError: the file holds no usable task.
        JobCancelled: cancelled before anything was found.
    """
    task = given_task(payload["path"], payload["text"])
    found = Programs(task)
    fill = _from_model if payload.get("proposer") == "model" else from_search
    reason, candidates = fill(task, payload, context, found)
    if context.cancelled and not found:
        raise JobCancelled
    return {"solutions": found.described(), "reason": reason, "candidates": candidates}


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

    def described(self) -> list[dict[str, Any]]:
        """Return all, each with its costs, the cheapest first."""
        found = [_described(self._checker.spec, impl, graph) for impl, graph in self._found.values()]
        return sorted(found, key=lambda item: (item["operators"], item["on_chip_bytes"] or 0))


def _from_model(_task: TaskFile, payload: Any, context: Context, found: Programs) -> tuple[str, int]:
    """Add what a model writes; return why there is nothing, and how many answers were judged."""
    from stepagents.jobs.write import write

    answer = write(payload, context)
    for impl in answer["solutions"][: payload.get("solutions", 3)]:
        found.add(impl)
    return answer["problem"] or answer["reason"], answer["answers"]


def from_search(
    task: TaskFile, payload: Any, context: Context, found: Programs, clock: Callable[[], float] = perf_counter
) -> tuple[str, int]:
    """Add what searches with several costs find; return why there is nothing, and how many candidates were tried.

    Of ``payload``: ``seconds`` of ``clock``, ``solutions``, ``seed``, and ``costs``, which experience taught.
    """
    from stepagents.search.options import Counters
    from stepagents.search.proposer import Options, synthesize, use_one_thread

    use_one_thread()
    budget, wanted, seed = payload.get("seconds", 60.0), payload.get("solutions", 3), payload.get("seed", 0)
    learned = CostModel.from_json(payload["costs"]) if payload.get("costs") else CostModel()
    start, told = clock(), perf_counter()
    tried, reason = 0, ""

    def progress(counters: Counters) -> bool:
        nonlocal told
        if perf_counter() - told > _EVERY:
            told = perf_counter()
            text = f"{tried + counters.candidates:,} candidates tried, {len(found)} found"
            context.progress({"stage": "search", "text": text, "candidates": tried + counters.candidates})
        return not context.cancelled

    for number in range(wanted):
        left = budget - (clock() - start)
        if number and (not found or left <= 0 or context.cancelled):
            break
        costs = learned if number == 0 else learned.disturbed(_NOISE, seed + number)
        seconds = left if number == 0 else min(left, _AFTER_FIRST * budget)
        options = Options(seconds=seconds, clock=clock, seed=seed + number, costs=costs, progress=progress)
        outcome = synthesize(task, options)
        tried += outcome.candidates
        if outcome.solved:
            found.add(outcome.impl)
        elif number == 0:
            reason = outcome.reason
    return reason, tried


def _sizes(spec: ProgramSpec) -> dict[str, int]:
    """Return the sizes that the ports of a task name, and that its costs are counted at."""
    types = [port.type for port in (*spec.inputs, *spec.parameters)] + [port.type for port in spec.outputs or ()]
    named = {name for each in types for shape in tensor_shapes(each) for size in shape for name in size.symbols()}
    return {name: size for name, size in spec.bindings().items() if name in named}


def _described(spec: ProgramSpec, impl: str, graph: TypedGraph) -> dict[str, Any]:
    """Return a program with what it costs at the task's own sizes; None for what those do not decide."""
    from stepcore.costs.metrics import measure

    costs = measure(spec, graph)
    return {
        "impl": impl,
        "operators": len(graph.nodes),
        "on_chip_bytes": costs.on_chip.value,
        "off_chip_bytes": costs.off_chip.value,
        "streaming_degree": costs.streaming_degree,
        "compulsory_bytes": costs.compulsory.value,
        "traffic_ratio": costs.traffic_ratio,
        "sizes": _sizes(spec),
    }
