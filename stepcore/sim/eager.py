"""Operators in scripts: they run at once, and a user's own Python function is called element by element.

On long streams it is vectorized through its source instead (:mod:`stepcore.sim.pysource`), where that means the same.

Everything but the calls of element functions is the simulator's: an operator's semantics run against the same runtime.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any

import torch
from torch import Tensor

from stepcore.findings.diagnostics import StepError
from stepcore.findings.errors import SimError
from stepcore.fn.decl import FnScope
from stepcore.graph.ir import Graph
from stepcore.graph.typed import TypedGraph
from stepcore.ops.base import Operator
from stepcore.ops.memory import AffineRead, OffChipTensor
from stepcore.sim.data import TensorData
from stepcore.sim.dtypes import torch_dtype
from stepcore.sim.fnvec import CompiledFn, FnEnv, FnRuntimeError
from stepcore.sim.inferring import FLOATING
from stepcore.sim.pysource import compiled
from stepcore.sim.ragged import RaggedData, StreamData
from stepcore.sim.runtime import RuntimeImpl
from stepcore.sim.unit import FnUnit
from stepcore.surface.functions import Fn
from stepcore.surface.stream import Stream, bind, size_values
from stepcore.text.wording import counted, what_is
from stepcore.types import Shape, Single, StreamType, components, dtype_of, element_shape

# Up to so many positions a function is called once for each: prints and debuggers work as everywhere in Python.
CALLS = 256


def eager_run(
    op: Operator, inputs: Sequence[Stream], types: Sequence[StreamType], bindings: Mapping[str, int]
) -> list[list[Tensor]]:
    """Return the tensors of each output of ``op``, one per component; ``types`` are the outputs' types.

    Raises:
        StepError: unusable data or a failure while running. What a user's own function raises goes through, with a
            note that names the function.
    """
    given = [_data_of(stream) for stream in inputs]
    runtime: Any = EagerRuntime(bindings)
    try:
        results = op.run(runtime, given)
        return [list(result.dense()) for result in results]  # type: ignore[attr-defined]
    except SimError as error:
        raise StepError(error.code, error.message) from error


def run_loops(graph: Graph, outside: Sequence[Stream], made: Sequence[Stream]) -> None:
    """Run operators that go round together, and give the streams ``made`` their values; ``outside`` are the inputs.

    Raises:
        StepError: as :func:`eager_run`.
    """
    from stepcore.sim.loops import evaluate_looped

    bindings = {name: value for stream in (*outside, *made) for name, value in size_values(stream.ctx).items()}
    runtime = EagerRuntime(bindings)
    try:
        found = evaluate_looped(TypedGraph(graph), runtime, [_data_of(stream) for stream in outside])
        for stream, data in zip(made, found[len(outside) :], strict=True):
            stream._data = list(data.dense())
    except SimError as error:
        raise StepError(error.code, error.message) from error


def _data_of(stream: Stream) -> StreamData:
    values: list[Any] = stream.values()
    first = values[0]
    if isinstance(first, Tensor):
        return TensorData(tuple(map(int, reversed(first.shape[: stream.rank + 1]))), stream.dtype, values)
    inner = first.values.shape[: stream.rank + 2 - len(first.levels)]
    packed = TensorData(tuple(map(int, reversed(inner))), stream.dtype, [nested.values for nested in values])
    return RaggedData(packed, first.levels)


class EagerRuntime(RuntimeImpl):
    """The simulator's runtime, with Python functions in place of compiled ones."""

    def __init__(self, bindings: Mapping[str, int]) -> None:
        super().__init__(FnEnv(FnScope(), bindings, {}, FLOATING.get()), bindings)
        self._python: dict[int, FnUnit] = {}

    def load(self, memory: OffChipTensor, tile: Shape, places: AffineRead) -> TensorData:
        """Read the tensor that a script gave as memory."""
        return self._held(memory).load(memory, tile, places)

    def store(self, memory: OffChipTensor, base: int, data: StreamData) -> None:
        """Write the tensor that a script gave as memory, in place."""
        held = self._held(memory)
        held.store(memory, base, data)
        _keep(held, memory)

    def load_at(self, memory: OffChipTensor, tile: Shape, addresses: StreamData) -> StreamData:
        """Read the tensor that a script gave as memory."""
        return self._held(memory).load_at(memory, tile, addresses)

    def store_at(self, memory: OffChipTensor, addresses: StreamData, data: StreamData) -> StreamData:
        """Write the tensor that a script gave as memory, in place."""
        held = self._held(memory)
        flags = held.store_at(memory, addresses, data)
        _keep(held, memory)
        return flags

    def _held(self, memory: OffChipTensor) -> RuntimeImpl:
        tensor = getattr(memory, "tensor", None)
        if tensor is None:
            raise StepError("STEP204", f"{memory.name} holds no tensor here")
        return RuntimeImpl(self._env, self._bindings, {memory.name: tensor})

    def unit(self, fn: Any) -> FnUnit:
        """Return ``fn`` ready to be called."""
        if not isinstance(fn, Fn):
            return super().unit(fn)
        if id(fn) not in self._python:
            self._python[id(fn)] = FnUnit(fn, PythonFn(fn, self._bindings), self._bindings)  # type: ignore[arg-type]
        return self._python[id(fn)]


def _keep(held: RuntimeImpl, memory: OffChipTensor) -> None:
    """Write what a store left into the tensor that a script gave."""
    memory.tensor.copy_(held.content(memory.name))  # type: ignore[attr-defined]


class PythonFn:
    """A user's function with the interface of a compiled one: it takes and returns tensors with stream axes first."""

    reduction = None

    def __init__(self, fn: Fn, bindings: Mapping[str, int]) -> None:
        self._fn = fn
        self._apply = fn.bound()
        self._bindings = bindings
        self._tried = False
        self._compiled: CompiledFn | None = None
        self._items = components(fn.output)
        self._shapes = [_bound(item, bindings, fn) for item in self._items]
        self._dtypes = [torch_dtype(dtype_of(item), FLOATING.get()) for item in self._items]

    def init(self) -> list[Tensor]:
        """Return the initial state, one tensor per component in the shape of one position.

        Raises:
            StepError: STEP309 where ``getInit`` fills a component with several numbers.
        """
        constants = self._fn.constants
        if constants is not None:
            return [
                torch.full(shape, value, dtype=dtype)
                for shape, value, dtype in zip(self._shapes, constants, self._dtypes, strict=True)
            ]
        what = f"getInit of {self._fn.func_name}"
        found = self._checked(self._fn.bound_init()(), what)
        if not all(_is_constant(tensor) for tensor in found):
            text = f"{what} must fill each component with one number, such as torch.zeros(...), and holds several"
            raise StepError("STEP309", text)
        return found

    def stages(self, _batch: int) -> None:
        """A Python function is called position by position: what it reads of its state is not known."""

    def call(self, arguments: tuple[Sequence[Tensor], ...], batch: int) -> list[Tensor]:
        """Return the results on tensors with ``batch`` stream axes, some of length 1 where values repeat."""
        extents = _extents([tensor for group in arguments for tensor in group], batch)
        if prod(extents) > CALLS:
            at_once = self._vectorized(arguments, batch)
            if at_once is not None:
                return at_once
        what = f"the result of {self._fn.func_name}"
        results = [self._checked(self._one(arguments, position), what) for position in _positions(extents)]
        if not results:
            pairs = zip(self._shapes, self._dtypes, strict=True)
            return [torch.empty((*extents, *shape), dtype=dtype) for shape, dtype in pairs]
        return [
            torch.stack(column).reshape(*extents, *shape)
            for column, shape in zip(zip(*results, strict=True), self._shapes, strict=True)
        ]

    def _vectorized(self, arguments: tuple[Sequence[Tensor], ...], batch: int) -> list[Tensor] | None:
        """Compute all positions at once through the function's source; None where that is not possible."""
        if not self._tried:
            self._tried, self._compiled = True, compiled(self._fn, self._bindings, FLOATING.get())
        if self._compiled is None:
            return None
        try:
            return list(self._compiled.call(arguments, batch))
        except FnRuntimeError:
            # Outside of the closed language, or simply wrong: calling the function tells in Python's own words.
            self._compiled = None
            return None

    def _one(self, arguments: tuple[Sequence[Tensor], ...], position: tuple[int, ...]) -> object:
        groups = [[_at(tensor, position) for tensor in group] for group in arguments]
        try:
            return self._apply(*groups)
        except Exception as error:
            error.add_note(f"in the element function {self._fn.func_name}, at stream position {list(position)}")
            raise

    def _checked(self, found: object, what: str) -> list[Tensor]:
        """Raise STEP305 or STEP306 unless ``found`` has exactly the declared components."""
        if not isinstance(found, (list, tuple)) or len(found) != len(self._items):
            count = len(found) if isinstance(found, (list, tuple)) else what_is(found)
            raise StepError("STEP305", f"{what} must be a list of {counted(len(self._items), 'tensor')}, found {count}")
        for shape, dtype, tensor in zip(self._shapes, self._dtypes, found, strict=True):
            if not isinstance(tensor, Tensor):
                raise StepError("STEP306", f"{what} must hold tensors, found {what_is(tensor)}")
            if tuple(tensor.shape) != shape or tensor.dtype != dtype:
                text = f"{what} must have the shape {shape} and {dtype}, found {tuple(tensor.shape)} and {tensor.dtype}"
                raise StepError("STEP306", text)
        return list(found)


def _is_constant(tensor: Tensor) -> bool:
    return tensor.numel() <= 1 or bool((tensor == tensor.reshape(-1)[0]).all())


def _bound(item: Single, bindings: Mapping[str, int], fn: Fn) -> tuple[int, ...]:
    return tuple(bind(size, bindings, f"the output of {fn.func_name}") for size in element_shape(item))


def _extents(tensors: Iterable[Tensor], batch: int) -> tuple[int, ...]:
    columns = zip(*(tensor.shape[:batch] for tensor in tensors), strict=True)
    return tuple(next((extent for extent in column if extent != 1), 1) for column in columns)


def _positions(extents: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    return product(*map(range, extents)) if prod(extents) else iter(())


def _at(tensor: Tensor, position: tuple[int, ...]) -> Tensor:
    for index in position:
        tensor = tensor.select(0, index if tensor.shape[0] != 1 else 0)
    return tensor
