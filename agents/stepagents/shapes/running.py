"""One run of a function on shapes alone, and what it fails on: operation, its tensors, and whose sizes these are.

The user's code runs in the worker, watched as everywhere (:mod:`stepagents.torchfn.guards`). Loads torch.
"""

from __future__ import annotations

import ast
import sys
from functools import cached_property
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode

from stepagents.shapes.asserted import reached, statements, wanted_equal
from stepagents.shapes.keeping import Keeping
from stepagents.shapes.outcome import RunFailure, TensorOperand, TriedRun
from stepagents.shapes.promised import promises_of
from stepagents.shapes.state import State
from stepagents.shapes.watching import OperationWatch
from stepagents.torchfn.dims import Described
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.masked import MaskedTensors, whole
from stepagents.torchfn.refusals import Refused
from stepagents.torchfn.subject import TORCH_DTYPES, TracedSubject
from stepagents.torchfn.usage import kept_states
from stepcore.text.raised import words
from stepcore.text.wording import class_name


class SubjectRunner:
    """Runs one subject at many states; ``runs`` counts.

    ``peers`` are arguments that mostly have as many dimensions as what they meet, ``parameters`` those that have no
    more.
    """

    def __init__(
        self,
        subject: TracedSubject,
        guard: Guard,
        peers: frozenset[str] = frozenset(),
        parameters: frozenset[str] = frozenset(),
    ) -> None:
        self._subject = subject
        self._peers = peers
        self._parameters = parameters
        self._guard = guard
        self._kept = kept_states(subject.target)
        self._promises = promises_of(subject.target)
        self.runs = 0
        self._tree = subject.target.tree
        self._lines: dict[int, list[ast.AST]] = {}

    def run(self, state: State, *, variables: bool = False) -> TriedRun:
        """Run the function on the shapes of ``state``.

        Raises:
            Refused: it cannot be run at any sizes (its time is over, it starts programs).
        """
        self.runs += 1
        arguments = self._described(state)
        shapes = state.bound()
        named = {name: size for name, size in state.numbers.items() if "'" not in name}
        keeping = Keeping(self._promises, self._guard.path, named, state.doubted)
        watch = OperationWatch(self._guard, state, self._peers, self._parameters, keeping)
        recorder = _Recorder(self._guard.path) if variables else None
        try:
            one = self._subject.with_arguments(arguments).fresh()
            with self._guard.watch(), torch.no_grad(), FakeTensorMode(allow_non_fake_inputs=True):
                tensors = []
                for item in arguments:
                    if item.is_tensor:
                        tensor = torch.empty(shapes[item.name], dtype=TORCH_DTYPES[item.dtype])
                        watch.give(item.name, tensor)
                        tensors.append(tensor)
                with watch, MaskedTensors():
                    try:
                        if recorder is not None:
                            sys.setprofile(recorder)
                        outputs = whole(one.call(*tensors))
                    finally:
                        if recorder is not None:
                            sys.setprofile(None)
        except Refused as error:
            if error.is_final:
                raise
            return TriedRun(self._failed(watch, error), watch.usual.natural)
        watch.count += 1
        broken = next(keeping.ended(outputs), None)
        changed = self._changed(state, outputs, watch) if broken is None else watch.promise(broken)
        if changed is not None:
            return TriedRun(changed, watch.usual.natural)
        found = recorder.found if recorder is not None else {}
        return TriedRun(
            None,
            watch.usual.natural,
            found,
            watch.parts,
            watch.selected,
            watch.read,
            dict(watch.kernels),
            watch.letters,
        )

    def _changed(self, state: State, outputs: Any, watch: OperationWatch) -> RunFailure | None:
        """Return the failure of a function that returns a state in another shape than it took it in."""
        for name, place in self._kept.items():
            items = outputs if isinstance(outputs, (list, tuple)) else [outputs]
            output = items[place] if -1 <= place < len(items) else None
            if not isinstance(output, Tensor) or name not in state.dims or name in state.tolerant:
                continue
            taken = state.bound()[name]
            if len(taken) == output.dim() and taken != tuple(output.shape):
                operands = (TensorOperand(taken, frozenset({name}), True), watch.operand(output))
                return RunFailure(
                    message=f"{name} is returned in another shape", operands=operands, progress=watch.count + 1,
                    is_unusual=True, line=self._subject.target.line,
                )  # fmt: skip
        return None

    def _described(self, state: State) -> list[Described]:
        found = []
        for item in self._subject.arguments:
            if item.name in state.dims:
                found.append(Described(item.name, state.dims[item.name], state.dtypes.get(item.name, "fp32")))
            elif item.name in state.values:
                found.append(Described(item.name, value=state.values[item.name]))
            else:
                found.append(item)
        return found

    def _failed(self, watch: OperationWatch, refused: Refused) -> RunFailure:
        error = refused.__cause__
        cause = refused if error is None else error
        found = watch.last
        message = words(cause)
        frame, line = _place(error.__traceback__ if error is not None else None, self._guard.path)
        if found is None or (found.message not in message and message not in found.message):
            operands = watch.looked or watch.operands
            found = RunFailure("", message, class_name(cause), operands=tuple(operands), progress=watch.count + 1)
            found.cut = watch.cut
        found.kernels = watch.kernels
        found.refused = refused
        if found.promised:
            return found
        found.line = line
        found.written = self._written(line, frame)
        nodes = self._statements
        found.asserted = reached(nodes, frame, line, message) if found.name else wanted_equal(nodes, frame, line)
        return found

    def _written(self, line: int, frame: FrameType | None) -> list[int]:
        """Return the integers of a line: what stands there, and values of the variables that are named there."""
        found: list[int] = []
        values = {**frame.f_globals, **frame.f_locals} if frame is not None else {}
        for node in self._nodes(line):
            if isinstance(node, ast.Constant) and type(node.value) is int:
                found.append(node.value)
            elif isinstance(node, ast.Name) and type(values.get(node.id)) is int:
                found.append(values[node.id])
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
                value = getattr(values.get("self"), node.attr, None)
                if type(value) is int:
                    found.append(value)
        return list(dict.fromkeys(found))

    @cached_property
    def _statements(self) -> list[ast.AST]:
        return statements(self._tree)

    def _nodes(self, line: int) -> list[ast.AST]:
        if not self._lines:
            for node in ast.walk(self._tree):
                number = getattr(node, "lineno", None)
                if number is not None:
                    self._lines.setdefault(number, []).append(node)
        return self._lines.get(line, [])


class _Recorder:
    """Notes the whole numbers among the variables of the functions of a file when they return."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.found: dict[str, int] = {}

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        if event == "return" and frame.f_code.co_filename == self._path:
            own = {name: value for name, value in frame.f_locals.items() if type(value) is int}
            self.found = {**self.found, **own}  # the function itself returns last


def _place(traceback: TracebackType | None, path: str) -> tuple[FrameType | None, int]:
    """Return the innermost frame of a file, and its line."""
    frame, line = None, 0
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == path:
            frame, line = traceback.tb_frame, traceback.tb_lineno
        traceback = traceback.tb_next
    return frame, line
