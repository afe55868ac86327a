"""The compositions of a Python file, ready to be verified."""

from __future__ import annotations

import ast
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from stepcore.frontend.composed import NotComposed, composed
from stepcore.jobs import JobError
from stepcore.sim.composed import ComposedRun, Part
from stepcore.sim.verdict import AffinePart, FunctionalPart, ShapePart, Verdict
from stepcore.sim.worker_import import guarded_reference
from stepcore.sim.worker_tasks import Candidate, imported_module
from stepcore.surface_composition import Composition
from stepcore.surface_program import Program


@dataclass(frozen=True, slots=True)
class Judged:
    """A composition, its verdict, and the programs that it applies, by their names."""

    name: str
    verdict: Verdict
    programs: frozenset[str] = frozenset()


def holds_composition(payload: Mapping[str, Any]) -> bool:
    """Whether a file may hold compositions: cheap, and never wrongly false."""
    return str(payload["path"]).endswith(".py") and "composition" in payload["text"]


def batched(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of a job that imports its file once for programs and compositions."""
    return {**payload, "batch": payload.get("batch") or secrets.token_hex(8)}


def judged_compositions(payload: Mapping[str, Any], candidates: Sequence[Candidate]) -> list[Judged]:
    """Verify all compositions of a Python file, or the one that ``program`` names.

    Raises:
        JobError: the file cannot be imported.
    """
    module = imported_module(payload)
    tree = ast.parse(payload["text"])
    nodes = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    names = {name: value.name for name, value in vars(module).items() if isinstance(value, Program)}
    by_name = {each.name: Part(each.checked, each.session, each.faults) for each in candidates}
    parts = {name: by_name[title] for name, title in names.items() if title in by_name}
    file = payload.get("file", payload["path"])
    found: list[Judged] = []
    for value in vars(module).values():
        if not isinstance(value, Composition) or payload.get("program") not in (None, value.name):
            continue
        node = nodes.get(value.__wrapped__.__name__)
        start = perf_counter()
        try:
            if node is None:
                raise NotComposed("a composition is a function at the top level of its file", 1)
            text = composed(node, weighted=value.weights is not None)
        except NotComposed as error:
            part = FunctionalPart(False, "not run: the composition has errors", code="STEP220")
            shape = ShapePart(False, f"line {error.line}: {error}")
            found.append(Judged(value.name, Verdict(shape, part, AffinePart(True), perf_counter() - start)))
            continue
        try:
            weights = value.tensors()
        except Exception as error:
            raise JobError("STEP408", f"the weights of {value.name} cannot be read: {error}") from error
        reference = None if value.reference is None else guarded_reference(value.reference, file)
        dims = {**value.dims, **(payload.get("dims") or {})}
        seed = payload.get("seed", 42)
        run = ComposedRun(text, parts, weights, reference, dims, weighted=value.weights is not None, seed=seed)
        applied = frozenset(names[call.program] for call in text.calls if call.program in names)
        found.append(Judged(value.name, run.verify(), applied))
    return found
