"""The result of the job ``function``: files of programs that were found, notes on them, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from stepagents.lower.layouts import ConstantTooLarge
from stepagents.lower.normalise import Unlowered
from stepagents.lower.search import Lowering, VerifiedProgram
from stepagents.proposers.programs import solution
from stepagents.shapes.proposal import SizesProposal
from stepagents.torchfn.delivery.program import file_sizes, python_text, task_text
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.proof import proof
from stepagents.torchfn.refusals import NO_LOWERING
from stepagents.torchfn.target import Target
from stepagents.traced.graph import TracedFunction
from stepcore.conversion.to_python import ConvertError
from stepcore.jobdata.choices import SUFFIXES
from stepcore.jobdata.failures import Finding
from stepcore.jobdata.writing import FunctionRequest, FunctionResult, Solution
from stepcore.jobs.proposers import AUTO


class Delivering:
    """What a job that began at ``start`` says of its programs: each becomes a file, which is verified as it stands."""

    def __init__(self, request: FunctionRequest, target: Target, guard: Guard, start: float) -> None:
        self._request = request
        self._target = target
        self._guard = guard
        self._start = start
        self._folder = Path(request.folder or Path(request.path).absolute().parent)
        self._remark = ""
        self._instead = ""  # why there is no program over tiles, where one was looked for
        self._inferred: SizesProposal | None = None
        self._checked_at: list[dict[str, int]] = []

    def _result(self, traced: TracedFunction, found: Lowering) -> FunctionResult:
        unsupported = tuple(self._finding(item) for item in found.unsupported)
        programs: list[Solution] = []
        reasons = list(found.rejected)
        notes: list[str] = []
        for candidate in found.candidates:
            try:
                program = self._program(traced, candidate)
            except (ConstantTooLarge, ConvertError) as error:  # also what the gate refuses
                reasons.append(str(error))
                continue
            with self._guard.quiet():
                file = self._folder / f"{traced.name}{SUFFIXES[self._request.emit]}"
                proved = proof(program.text or "", file, self._target)
            if proved.fault:
                reasons.append(proved.fault)
            else:
                programs.append(program)
                notes.append(proved.note)
        traced = replace(traced, notes=(*traced.notes, *_size_notes(traced, found.candidates[:1])))
        if unsupported:
            reasons = [f"line {item.line}: {item.operation}: {item.text}" for item in unsupported]
        if self._remark:  # first where somebody else was asked for
            asked = (self._request.proposer or AUTO) != AUTO
            reasons = [self._remark, *reasons] if asked else [*reasons, self._remark]
        reasons = list(dict.fromkeys(reasons))
        if self._inferred is not None:
            traced = replace(traced, notes=(f"sizes: {self._inferred.sources}", *traced.notes))
        notes.append(self._instead)
        return FunctionResult(
            name=traced.name,
            path=self._target.path,
            line=self._target.line,
            solved=bool(programs),
            programs=tuple(programs),
            unsupported=unsupported,
            notes=(*traced.notes, *dict.fromkeys(filter(None, [*notes, self._remark]))) if programs else (),
            sizes={**traced.dims, **traced.bound},
            inferred=None if self._inferred is None else self._inferred.record(),
            fixed=dict(traced.fixed),
            reason="" if programs else "; ".join(reasons[:3]) or "no program was found",
            candidates=found.tried,
            checked_at=tuple(self._checked_at),
            seconds=perf_counter() - self._start,
            task="",
            peak_bytes=None,
            cpu_seconds=0.0,
        )

    def _finding(self, item: Unlowered) -> Finding:
        line = item.line[1] if item.line is not None else self._target.line
        found = Finding(NO_LOWERING, item.reason, self._target.path, line, 1, item.advice, item.operation)
        return found.at_code(self._target.text)

    def _program(self, traced: TracedFunction, candidate: VerifiedProgram) -> Solution:
        write = task_text if self._request.emit == "task" else python_text
        return solution(
            candidate.emitted.impl,
            candidate.operators,
            candidate.metrics,
            dict(candidate.emitted.spec.defaults),
            text=write(traced, self._target, candidate.emitted, self._folder),
            layout=candidate.layout,
            proposer=candidate.proposer,
        )


def _size_notes(traced: TracedFunction, candidates: Sequence[VerifiedProgram]) -> list[str]:
    """Say so where a file has other sizes than those that the user gave."""
    notes: list[str] = []
    for candidate in candidates:
        sizes = file_sizes(traced, candidate.emitted.spec)
        if any(sizes[name] != size for name, size in traced.bound.items()):
            has = ", ".join(f"{name}={sizes[name]}" for name in traced.bound)
            asked = ", ".join(f"{name}={size}" for name, size in traced.bound.items())
            notes.append(f"the file verifies at {has}: at {asked} a run would take too long")
    return notes
