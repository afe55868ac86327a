"""The job ``function`` of the agents' worker: from the text of a Python file to verified programs. Loads torch.

Progress tells ``candidates`` and ``stage``: ``sizes``, ``trace``, ``check``, ``schedule`` and ``verify`` (tiles),
``lower``, ``search``, ``write``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from time import perf_counter, process_time
from typing import Final

import torch

from stepagents.jobs.composing import compose
from stepagents.jobs.delivering import Delivering
from stepagents.jobs.sizes import folder_of, unsettled
from stepagents.jobs.tiled import TiledOrder, chip_of, instead_of_tiles, tiled_result
from stepagents.lower.layouts import ConstantTooLarge
from stepagents.lower.search import Lowering, LoweringOptions, lower
from stepagents.schedules.routed.mixture import is_mixture
from stepagents.shapes.dtypes import retyped
from stepagents.shapes.particular import chosen
from stepagents.shapes.proposal import SizesProposal, check, propose
from stepagents.torchfn.checks import Checks, make_checks
from stepagents.torchfn.delivery.network import network_sizes, network_text
from stepagents.torchfn.dims import Description, completed, partly
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.informed import informed
from stepagents.torchfn.network import Known, lower_network, network_costs
from stepagents.torchfn.partition import MOST_FOLDS, folds
from stepagents.torchfn.proof import network_proof
from stepagents.torchfn.refusals import NO_FUNCTION, NO_TRACE, Refused, refuse
from stepagents.torchfn.target import Target, find_target
from stepagents.torchfn.trace import has_loops, trace
from stepagents.traced.graph import TracedFunction
from stepcore.conversion.to_python import ConvertError
from stepcore.jobdata.choices import SUFFIXES
from stepcore.jobdata.writing import FunctionRequest, FunctionResult, WritingProgress
from stepcore.jobs import Context
from stepcore.jobs.proposers import AUTO, LOWER

_SEED: Final = 42
_LEAST_FOLDS: Final = 2  # of a function that may be a network of layers
_MOST_FURTHER: Final = 12  # sizes whose traces a contradiction adds


def function(request: FunctionRequest, context: Context) -> FunctionResult:
    """Return what came of a function.

    Raises:
        JobError: the function cannot be taken; ``detail`` holds all findings.
    """
    try:
        job = _Job(request, context)
        try:
            found = job.run()
        except Refused as error:
            raise error.beside(job.note) from error
    except Refused as error:
        raise error.as_job_error(request.text) from error
    notes = (*filter(None, [job.note]), *found.notes)
    return replace(found, notes=notes, peak_bytes=_peak_bytes(), cpu_seconds=process_time())


def _peak_bytes() -> int | None:
    try:
        import resource
    except ImportError:  # another system
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


class _Deep(Exception):
    """A function of many folds, which is no single program; ``written`` traces it with loops written out."""

    def __init__(self, traced: TracedFunction, written: Callable[[], TracedFunction]) -> None:
        super().__init__(traced.name)
        self.traced = traced
        self.written = written


class _OverTiles(Exception):
    """A function that has a program over tiles: ``result`` is what came of it."""

    def __init__(self, result: FunctionResult) -> None:
        super().__init__(result.name)
        self.result = result


class _Job(Delivering):
    def __init__(self, request: FunctionRequest, context: Context) -> None:
        start = perf_counter()
        if not request.trusted:
            what = "taking a function runs its file, and this workspace is not trusted"
            raise refuse(NO_FUNCTION, what, request.path, advice="trust the workspace first")
        target: Target = find_target(request.path, request.text, request.selector)
        guard = Guard(request.path, target.line, request.call_seconds, lambda: context.cancelled)
        super().__init__(request, target, guard, start)
        self._context = context
        self._seed = _SEED if request.seed is None else request.seed
        torch.set_num_threads(1)
        self._choice = chosen(self._target, request.inputs, request.dims, self._guard)
        self._told = self._choice.told
        self.note = self._choice.note

    def run(self) -> FunctionResult:
        """Trace, lower, verify, write."""
        description = self._description()
        if self._request.emit == "tiled":
            return self._tiled(description)
        try:
            description, traced, found = self._typed(description)
        except _Deep as deep:
            return self._deep(deep)
        except _OverTiles as tiled:
            return tiled.result
        if not found.candidates and traced.bound.keys() == traced.dims.keys() and traced.dims:
            # What symbols stand in the way of may be possible at the sizes that the user gave.
            fixed, other = self._at_fixed_sizes(description, traced, rolled=has_loops(traced))
            if other.candidates:
                traced, found = fixed, other
        if not found.candidates and self._has_layers(traced):
            whole = self._network(traced)
            if whole.solved:
                return whole
        traced = replace(traced, verified=tuple(self._checked_at), seed=self._seed)
        question, self._remark = compose(traced, found, self._request, self._context)
        self._tell("write", len(found.candidates))
        return replace(self._result(traced, found), task=question)

    def _tiled(self, description: Description) -> FunctionResult:
        """Return what came of the schedules; those of a model or a search are not asked for."""
        self._tell("trace")
        traced = trace(self._target, description, self._guard)
        traced = informed(traced, self._checks(traced))
        return self._over_tiles(traced)

    def _over_tiles(self, traced: TracedFunction) -> FunctionResult:
        """Return the program over tiles of a traced function, or why there is none."""
        chip = chip_of(self._request, self._folder)
        order = TiledOrder(traced, self._target, self._folder, self._tell, self._seed, chip)
        with self._guard.quiet():
            found = tiled_result(order)
        inferred = None if self._inferred is None else self._inferred.record()
        return replace(found, seconds=perf_counter() - self._start, inferred=inferred)

    def _description(self) -> Description:
        """Describe the arguments; what nothing tells is inferred, and taken if it is more than a guess."""
        if not self._told.can_be_inferred:
            return completed(self._target, self._told)
        self._tell("sizes")
        proposal = self._proposal()
        if proposal.is_settled:
            return self._accepted(proposal)
        examples = self._by_examples()
        if examples is None:
            raise unsettled(self._target, self._told.loosened, proposal)
        return examples

    def _by_examples(self) -> Description | None:
        """Return the sizes of ``get_inputs()`` that the function's text contradicts, None where it fails at them."""
        partial = self._choice.examples
        description = None if partial is None else completed(self._target, partial)
        if description is None or check(self._target, description, self._guard) is not None:
            return None
        self._inferred, self.note = None, self._choice.note_of_examples
        return description

    def _failing(self, description: Description) -> Description | None:
        """Return :meth:`_by_examples` where the function does not run at ``description``."""
        if self._choice.examples is None or check(self._target, description, self._guard) is None:
            return None
        return self._by_examples()

    def _typed(self, description: Description) -> tuple[Description, TracedFunction, Lowering]:
        """Trace and lower; element types that nobody wrote are those with which the function runs."""
        try:
            return description, *self._traced(description)
        except Refused:
            other = (
                retyped(self._target, description, self._guard)
                or self._failing(description)
                or self._loosened()
                or self._without_examples(description)
            )
            if other is None:
                raise
            return other, *self._traced(other)

    def _without_examples(self, description: Description) -> Description | None:
        """Return sizes that run where those of ``get_inputs()`` do not: it may be meant for another function.

        None where nothing else tells any.
        """
        target, told = self._target, self._told
        if not told.needs_examples or target.variadic or check(target, description, self._guard) is None:
            return None
        self._told = partly(target, self._request.inputs, self._request.dims, with_examples=False)
        try:
            found = self._told_or_inferred()
        except Refused:
            found = None
        if found is None or check(target, found, self._guard) is not None:
            self._told, self._inferred = told, None
            return None
        self.note = f"get_inputs() was not used for {target.qualifier}, which does not run with it"
        return found

    def _told_or_inferred(self) -> Description | None:
        if not self._told.can_be_inferred:
            return completed(self._target, self._told)
        proposal = self._proposal()
        return self._accepted(proposal) if proposal.is_settled else None

    def _loosened(self) -> Description | None:
        """Return sizes that run where those do not that a comment in passing tells, None where there are none."""
        if self._inferred is not None or not self._told.loose or not self._told.loosened.can_be_inferred:
            return None
        proposal = self._proposal()
        return self._accepted(proposal) if proposal.is_settled else None

    def _proposal(self) -> SizesProposal:
        return propose(self._target, self._told.loosened, self._guard, folder_of(self._request))

    def _accepted(self, proposal: SizesProposal) -> Description:
        self._inferred = proposal
        return completed(self._target, self._told.loosened, proposal.described)

    def _traced(self, description: Description) -> tuple[TracedFunction, Lowering]:
        """Trace and lower; what no Scan can be made of is written out round by round."""
        traced, found = self._rolled(description)
        if found.candidates or not has_loops(traced):
            return traced, found
        reason = next((item.reason for item in found.unsupported), "") or next(iter(found.rejected), "")
        note = f"the loop over time is written out round by round: {reason or 'no program with a Scan is right'}"
        try:
            written, other = self._rolled(description, rolled=False)
        except _Deep as deep:  # its rounds are layers then
            traced = replace(deep.traced, notes=(*deep.traced.notes, note))
            raise _Deep(traced, deep.written) from None
        return replace(written, notes=(*written.notes, note)), other

    def _rolled(self, description: Description, *, rolled: bool = True) -> tuple[TracedFunction, Lowering]:
        """Trace and lower; where runs contradict the sizes that the trace found, those runs are traced, too."""
        further: list[Mapping[str, int]] = []
        while True:
            self._tell("trace")
            traced = trace(self._target, description, self._guard, further=further, rolled=rolled)
            if folds(traced) > MOST_FOLDS and self._takes_networks():
                if self._request.emit == "auto" and is_mixture(traced):  # experts are no layers, however many folds
                    self._tiles_first(informed(traced, self._checks(traced)))
                written = partial(trace, self._target, description, self._guard, further=further, rolled=False)
                raise _Deep(traced, written)
            checks = self._checks(traced)
            new = [sizes for sizes in checks.differing if sizes not in further]
            if not new or len(further) >= _MOST_FURTHER:
                break
            further += new
        if checks.differing and traced.bound.keys() == traced.dims.keys():
            return self._at_fixed_sizes(description, traced, rolled=rolled)
        traced = informed(traced, checks)
        found = self._lowered(traced, checks)
        if checks.differing and not found.unsupported:
            what = "the sizes of its results follow no rule that we know"
            advice = "say its sizes as numbers, by --input or in the comment"
            raise refuse(NO_TRACE, what, traced.path, traced.line, advice=advice)
        edges = [*checks.edges, *found.edges]
        if edges:
            self._checked_at = [sizes for sizes in self._checked_at if sizes not in edges]
            traced = replace(traced, notes=(*traced.notes, _edge_note(edges, self._checked_at)))
        return traced, found

    def _tiles_first(self, traced: TracedFunction) -> None:
        """Look for a program over tiles before any other, and note why there is none.

        Raises:
            _OverTiles: there is one.
        """
        tiled = self._over_tiles(traced)
        if tiled.solved:
            raise _OverTiles(tiled)
        self._instead = instead_of_tiles(tiled)

    def _takes_networks(self) -> bool:
        """Whether the order is one for the lowering: others write one program for one task."""
        return (self._request.proposer or AUTO) in (AUTO, LOWER) and not self._request.impls

    def _has_layers(self, traced: TracedFunction) -> bool:
        return self._takes_networks() and folds(traced) >= _LEAST_FOLDS

    def _deep(self, deep: _Deep) -> FunctionResult:
        """Return what came of a network: a loop over time is one layer of it, else its rounds are written out."""
        known: Known = {}
        found = self._network(deep.traced, known)
        if found.solved or not has_loops(deep.traced):
            return found
        written = deep.written()
        note = f"a loop over time is written out round by round: {found.reason}"
        return self._network(replace(written, notes=(*written.notes, note)), known)

    def _network(self, traced: TracedFunction, known: Known | None = None) -> FunctionResult:
        """Return what came of a function as a composition of layers; ``known`` are layers that were lowered."""
        traced = replace(traced, seed=self._seed)
        if self._request.emit == "task":
            reason = (
                "a task file holds one program, and this is a network of several layers; write it as a Python file "
                "(without --emit task), of which `stepsmith convert FILE::LAYER` makes a task for each layer"
            )
            return replace(self._result(traced, Lowering()), reason=reason)
        with self._guard.quiet():
            network = lower_network(traced, self._tell_layer, known)
        empty = Lowering(unsupported=network.unsupported, rejected=network.rejected)
        found = replace(self._result(traced, empty), candidates=network.tried)
        if not network.is_whole:
            return found
        try:
            text = network_text(traced, self._target, network, self._folder)
        except (ConstantTooLarge, ConvertError) as error:  # also what the gate refuses
            return replace(found, reason=str(error))
        with self._guard.quiet():
            file = self._folder / f"{traced.name}{SUFFIXES[self._request.emit]}"
            proved = network_proof(text, file, self._target, lambda: self._tell_layer(len(network.programs), 0))
        found = replace(found, seconds=perf_counter() - self._start)
        if proved.fault:
            return replace(found, reason=proved.fault)
        return replace(
            found,
            solved=True,
            programs=(network_costs(network, text),),
            reason="",
            checked_at=(network_sizes(traced, network),),
            notes=(*traced.notes, *network.defects, *filter(None, [proved.note])),
        )

    def _tell_layer(self, done: int, count: int) -> None:
        """Tell of a further layer: the time of a job counts anew for each."""
        self._context.check()
        self._context.progress(WritingProgress(stage="lower", candidates=done, part=True, layers=count))

    def _at_fixed_sizes(
        self, description: Description, traced: TracedFunction, *, rolled: bool
    ) -> tuple[TracedFunction, Lowering]:
        fixed = trace(self._target, description, self._guard, symbolic=False, rolled=rolled)
        checks = self._checks(fixed)
        note = "the program is for these sizes only: " + ", ".join(f"{k}={v}" for k, v in traced.bound.items())
        fixed = informed(replace(fixed, notes=(*fixed.notes, note)), checks)
        return fixed, self._lowered(fixed, checks)

    def _checks(self, traced: TracedFunction) -> Checks:
        self._tell("check")
        with self._guard.quiet():
            return make_checks(traced, self._seed)

    def _lowered(self, traced: TracedFunction, checks: Checks) -> Lowering:
        """Lower to single numbers, where the order is not one for tiles first, or the function has none.

        Raises:
            _OverTiles: it has, and the order is.
        """
        if self._request.emit == "auto" and self._takes_networks() and not self._instead:
            self._tiles_first(traced)
        with self._guard.quiet():
            self._tell("lower")
            self._checked_at = [dict(data.sizes) for data in checks.data]
            try:
                options = LoweringOptions(wanted=self._request.solutions)
                found = lower(traced, checks.data, options, lambda tried: self._tell("lower", tried))
                self._checked_at = [dict(data.sizes) for data in found.data]
                return found
            except (ArithmeticError, AssertionError, LookupError, MemoryError, RuntimeError, ValueError) as error:
                if isinstance(error, MemoryError) or "allocate memory" in str(error):
                    return Lowering(rejected=["to verify it takes more memory than a job may use; give smaller sizes"])
                what = f"the lowering failed, a defect of Stepsmith: {type(error).__name__}: {error}"
                return Lowering(rejected=[what])

    def _tell(self, stage: str, candidates: int = 0) -> None:
        self._context.check()
        self._context.progress(WritingProgress(stage=stage, candidates=candidates))


def _edge_note(edges: Sequence[Mapping[str, int]], passed: Sequence[Mapping[str, int]]) -> str:
    """Say which sizes must not be 1: those that were in ``edges`` and are not where the program ``passed``."""
    known = {name for sizes in passed for name, size in sizes.items() if size == 1}
    found = [name for name in edges[0] if any(sizes[name] == 1 for sizes in edges) and name not in known]
    shown = " and ".join(found) or ", ".join(f"{name}={size}" for name, size in edges[0].items())
    return f"the program is for {shown} of at least 2: with 1 the function does something else"
