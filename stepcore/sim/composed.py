"""The verdict on a composition: its programs one after the other against the reference of the whole.

Each program was judged by itself on random data; here it runs on what the programs before it gave. Weights are those of
the composition, each number changed by up to a fifth (and zeros to small numbers), so that two weights which the
module made equal are told apart, while a deep network still gives numbers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from time import perf_counter
from typing import Any, Final

import torch
from torch import Tensor

from stepcore.check.compositions import TensorType
from stepcore.check.programs import Checked
from stepcore.findings.diagnostics import Diagnostic
from stepcore.findings.errors import SimError
from stepcore.findings.verdict import NOTHING_WRONG, Comparison, FunctionalPart, Verdict
from stepcore.frontend.composed import Applied, Composed, Given, Weight
from stepcore.graph.ir import Port, reference_ports
from stepcore.jobdata.programs import ShapeRow
from stepcore.records import Record
from stepcore.sim.compare import compare
from stepcore.sim.draw import draw, seeded
from stepcore.sim.functional import Session
from stepcore.sim.hosting import sizes_of
from stepcore.sim.world import tensors_of
from stepcore.sizes.dim import DEFAULT_SIZES, DimError
from stepcore.text.raised import told
from stepcore.text.wording import counted
from stepcore.types import tensor_shapes

_SPREAD: Final = 0.2  # of a weight's numbers around their own values
_SMALL: Final = 0.1  # what zeros become at most


class AppliedProgram(Record):
    """A program of the file that a composition may apply; ``faults`` keep it from being run.

    ``at`` returns the same program at other sizes.
    """

    checked: Checked
    session: Session
    faults: Sequence[Diagnostic]
    at: Callable[[Mapping[str, int]], AppliedProgram]


class Problem(Record):
    """What keeps a composition from being run, with the code of the finding."""

    code: str
    text: str


def refused(problem: Problem, since: float) -> Verdict:
    """Return the verdict on a composition that was not run."""
    known = replace(NOTHING_WRONG, shape=ShapeRow(False, problem.text), blocked=problem.code)
    return known.unrun(detail="not run: the composition has errors", since=since)


class ComposedRun:
    """One composition with its programs by name, its weights and its reference; ``ports`` type its arguments."""

    def __init__(
        self,
        text: Composed,
        ports: Mapping[str, TensorType],
        parts: Mapping[str, AppliedProgram],
        weights: Mapping[str, Tensor],
        reference: Callable[..., Any] | None,
        dims: Mapping[str, int],
        *,
        weighted: bool,
        seed: int = 42,
    ) -> None:
        self._text = text
        self._ports = ports
        self._parts = parts
        self._resized: dict[tuple[str, tuple[tuple[str, int], ...]], AppliedProgram] = {}
        self._weights = weights
        self._reference = reference
        self._sizes = {**DEFAULT_SIZES, **dims}
        self._weighted = weighted
        self._seed = seed

    def verify(self) -> Verdict:
        """Judge the composition. Never raises for what it does."""
        start = perf_counter()
        problem = self._problem()
        if problem is not None:
            return refused(problem, start)
        try:
            functional = self._judged()
        except SimError as error:
            functional = error.judged()
        return NOTHING_WRONG.ran(functional, start)

    def _problem(self) -> Problem | None:
        """Return what keeps it from running, found without a run; its own text was checked before."""
        for call in self._text.calls:
            part = self._parts.get(call.program)
            if part is None:
                return Problem("STEP202", f"line {call.line}: {call.program} is no program of this file")
            if part.faults or not part.checked.runnable:
                return Problem("STEP220", f"line {call.line}: the program {call.program} has errors")
        given = ((call.line, each) for call in self._text.calls for each in call.given)
        for line, each in (*given, *((self._text.line, each) for each in self._text.results)):
            if isinstance(each, Weight) and each.name not in self._weights:
                return Problem("STEP202", f"line {line}: there is no weight {each.name}")
        return None

    def _judged(self) -> FunctionalPart:
        if self._reference is None:
            raise SimError("STEP411", "there is no reference to compare with; give the composition one with reference=")
        first = self._compared(precise=False)
        return first.judged(None if first.mismatch is None else self._compared(precise=True))

    def _compared(self, *, precise: bool) -> Comparison:
        dtype = torch.float64 if precise else torch.float32
        with seeded(self._seed), torch.inference_mode():
            arguments = [self._drawn(name, dtype) for name in self._text.arguments]
            weights = self._changed(dtype)
            expected = self._expected(arguments, weights, dtype)
            found = self._run(dict(zip(self._text.arguments, arguments, strict=True)), weights, precise=precise)
        if len(found) != len(expected):
            text = f"the reference returned {counted(len(expected), 'tensor')}, the composition {len(found)}"
            raise SimError("STEP408", text)
        return compare([[each] for each in found], [[each] for each in expected])

    def _changed(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """Return the weights near their own values; one that has two names stays one tensor."""
        found: dict[int, Tensor] = {}
        for name, tensor in self._weights.items():
            if id(tensor) not in found:
                found[id(tensor)] = _near(name, tensor, dtype)
        return {name: found[id(tensor)] for name, tensor in self._weights.items()}

    def _drawn(self, name: str, dtype: torch.dtype) -> Tensor:
        first = next(port for call in self._text.calls for port, each in self._read(call) if each == name)
        outer = self._ports[name].shape[: len(first.type.shape)]  # what else there is belongs to its elements
        port = replace(first, type=replace(first.type, shape=tuple(reversed(outer))))
        try:
            (tensor,) = draw(port, self._sizes, dtype)
        except DimError as error:
            raise SimError("STEP225", f"the shape of {name} has a size without a value: {error}") from error
        return tensor

    def _read(self, call: Applied) -> list[tuple[Port, Given]]:
        ports = reference_ports(self._parts[call.program].checked.spec)
        return list(zip(ports, call.given, strict=True))

    def _expected(self, arguments: Sequence[Tensor], weights: Mapping[str, Tensor], dtype: torch.dtype) -> list[Tensor]:
        assert self._reference is not None
        given: list[Any] = [tensor.clone() for tensor in arguments]
        if self._weighted:
            # PyTorch takes a weight with two names by one of them.
            first = {id(tensor): name for name, tensor in [*weights.items()][::-1]}
            given.append({name: weights[name].clone() for name in weights if first[id(weights[name])] == name})
        before = torch.get_default_dtype()
        torch.set_default_dtype(dtype)
        try:
            found = self._reference(*given)
        except SimError:
            raise
        except Exception as error:
            raise SimError("STEP408", f"the reference failed: {told(error)}") from error
        finally:
            torch.set_default_dtype(before)
        return tensors_of(found)

    def _run(self, tensors: dict[str, Tensor], weights: Mapping[str, Tensor], *, precise: bool) -> list[Tensor]:
        left = Counter(each for call in self._text.calls for each in call.given)
        left.update(self._text.results)
        for call in self._text.calls:
            given = [weights[each.name] if isinstance(each, Weight) else tensors[each] for each in call.given]
            try:
                results = self._applied(call, given, precise=precise)
            except SimError as error:
                text = f"line {call.line}: {call.program}: {error.message}"
                raise SimError(error.code, text) from error
            left.subtract(call.given)
            for each in call.given:
                if isinstance(each, str) and left[each] == 0:
                    tensors.pop(each, None)  # nobody reads it any more
            tensors.update(zip(call.targets, results, strict=True))
        return [weights[each.name] if isinstance(each, Weight) else tensors[each] for each in self._text.results]

    def _applied(self, call: Applied, given: Sequence[Tensor], *, precise: bool) -> list[Tensor]:
        """Run the program of one line on tensors, at their sizes."""
        part = self._parts[call.program]
        ports = [port for port, _ in self._read(call)]
        part = self._at(call.program, part, sizes_of(ports, given))
        for port, tensor in zip(ports, given, strict=True):
            wanted = tuple(size.bind(part.session.bindings) for size in tensor_shapes(port.type)[0])
            if tuple(tensor.shape) != wanted:
                found = tuple(tensor.shape)
                raise SimError("STEP402", f"it reads {port.name} of the shape {wanted}, and is given {found}")
        data = {port.name: [tensor] for port, tensor in zip(ports, given, strict=True)}
        return part.session.results(part.checked.typed, data, precise=precise)

    def _at(self, name: str, part: AppliedProgram, sizes: Mapping[str, int]) -> AppliedProgram:
        bound = part.session.bindings
        others = tuple(sorted((key, size) for key, size in sizes.items() if bound.get(key) != size))
        if not others:
            return part
        if (name, others) not in self._resized:
            self._resized[name, others] = part.at(dict(others))
        return self._resized[name, others]


def _near(name: str, tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a weight's numbers, each changed by up to a fifth; drawn in fp32, so that fp64 sees the same ones."""
    value = tensor.detach()
    if not value.is_floating_point():
        return value.clone()
    value = value.float()
    changed = value * (1 + _SPREAD * (2 * torch.rand(value.shape, dtype=torch.float32) - 1))
    if not name.endswith("var"):  # what may not be negative is never near 0
        zeros = _SMALL * (2 * torch.rand(value.shape, dtype=torch.float32) - 1)
        changed = torch.where(value == 0, zeros, changed)
    wide = tensor.dtype == torch.float32 or dtype == torch.float64
    return changed.to(dtype if wide else tensor.dtype)
