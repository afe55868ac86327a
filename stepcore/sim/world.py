"""One task in one floating-point type: sizes bound, data drawn, functions compiled, references computed."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from torch import Tensor

from stepcore.findings.errors import SimError
from stepcore.graph.ir import OutputPort, Port, ProgramSpec
from stepcore.records import Record
from stepcore.sim.data import TensorData
from stepcore.sim.draw import draw, is_whole, seeded, whole_limits
from stepcore.sim.fnvec import FnEnv, FnRuntimeError, block_names, evaluate_block
from stepcore.sim.fnvec.machine import pointer
from stepcore.sim.fnvec.shared import MANY, unfolded
from stepcore.sim.fnvec.watch import MemoryWatch
from stepcore.sim.lengths import apart
from stepcore.sim.nested import Nested, packed
from stepcore.sim.ragged import RaggedData, StreamData
from stepcore.sim.runtime import RuntimeImpl
from stepcore.sim.sources import Sources
from stepcore.text.raised import told
from stepcore.text.wording import counted, what_is
from stepcore.types import STuple, components

if TYPE_CHECKING:
    from stepcore.sim.conditions import Noting

Reference: TypeAlias = Callable[..., Any]


class World:
    """What all runs of one task share. Data is drawn in the published order: ``global``, inputs, parameters.

    ``inputs`` are in the order of the specification; ``references`` hold one tensor per component and output, or None
    where nothing says what is expected. Torch's own generator is left as it was. ``given`` are tensors to take instead
    of drawing them, by the names of :attr:`drawn`.

    Raises:
        SimError: STEP404 ``global`` fails, STEP408 the reference fails, STEP907 unknown ``data_gen``.
    """

    def __init__(
        self,
        spec: ProgramSpec,
        bindings: Mapping[str, int],
        seed: int,
        reference: Reference | None,
        dtype: torch.dtype,
        given: Mapping[str, Sequence[Tensor]] | None = None,
    ) -> None:
        self.spec = spec
        self.dtype = dtype
        self.bindings = bindings
        with seeded(seed), torch.inference_mode():
            try:
                self.env = FnEnv(spec.scope, bindings, None, dtype)
            except FnRuntimeError as error:
                raise SimError(error.code, error.message, span=error.span) from None
            if spec.drawn:
                self._draw_sizes()
                bindings = self.bindings
            self._sources = Sources(spec, bindings, dtype, given)
            drawn = self._sources.streams
            known = given or {}
            self.parameters = {
                port.name: (known.get(port.name) or draw(port, bindings, dtype))[0] for port in spec.parameters
            }
            self.env.add_tensors(self.parameters)
        self.runtime = RuntimeImpl(self.env, self.bindings, self.parameters)
        self.inputs: list[Any] = [
            _data(port, tensors, self.bindings) for port, tensors in zip(spec.inputs, drawn, strict=True)
        ]
        self._reference = reference
        self._references: list[list[Tensor]] | None = None
        self._watch: MemoryWatch | None = None

    def _draw_sizes(self) -> None:
        from stepcore.sim.open_sizes import drawn_sizes  # most programs have static sizes

        self.bindings = drawn_sizes(self.spec, self.bindings)
        self.env = self.env.with_sizes(self.bindings)

    def watch(self) -> None:
        """Remember what programs read, before the first of them runs."""
        if self._watch is None:
            drawn = [tensor for data in self.inputs for tensor in data.components]
            tensors = [*drawn, *self.env.tensors()]
            self._watch = MemoryWatch(tensors)
            self.env.watched.update(pointer(tensor) for tensor in tensors)

    def intact(self) -> bool:
        """Return whether inputs, weights and what ``global`` made are as they were drawn."""
        return self._watch is None or (self._watch.intact() and self.runtime.intact())

    @property
    def drawn(self) -> dict[str, list[Tensor]]:
        """What was drawn: per input (or tensor that several inputs read) and parameter one tensor per component."""
        return {**self._sources.drawn, **{name: [tensor] for name, tensor in self.parameters.items()}}

    @property
    def ports(self) -> dict[str, Port]:
        """How each of :attr:`drawn` was drawn."""
        return {**self._sources.ports, **{port.name: port for port in self.spec.parameters}}

    def varied(self, data: Mapping[str, Sequence[Tensor]]) -> World:
        """Return the same task on other ``data``, given for each name of :attr:`drawn`; nothing is drawn anew."""
        other = copy.copy(self)
        with torch.inference_mode():
            other._sources = Sources(self.spec, self.bindings, self.dtype, data)
            other.parameters = {name: data[name][0] for name in self.parameters}
            other.env = self.env.astype(self.dtype)
            other.env.add_tensors(other.parameters)
        other.runtime = RuntimeImpl(other.env, self.bindings, other.parameters)
        streams = zip(self.spec.inputs, other._sources.streams, strict=True)
        other.inputs = [_data(port, tensors, self.bindings) for port, tensors in streams]
        other._references = None
        other._watch = None
        return other

    def beside(self, data: Mapping[str, Sequence[Tensor]]) -> World:
        """As :meth:`varied`, with the same parameters: functions that are compiled for these stay so."""
        other = copy.copy(self)
        with torch.inference_mode():
            other._sources = Sources(self.spec, self.bindings, self.dtype, data)
        streams = zip(self.spec.inputs, other._sources.streams, strict=True)
        other.inputs = [_data(port, tensors, self.bindings) for port, tensors in streams]
        other._references = None
        other._watch = None
        return other

    @property
    def has_reference(self) -> bool:
        """Whether there is something to compare with."""
        return self._reference is not None or any(port.transforms for port in self.spec.outputs or ())

    @property
    def limits(self) -> tuple[int, int] | None:
        """The least and the greatest whole number that inputs and parameters hold; None where they hold none."""
        found = [
            whole_limits(port)
            for port in self.ports.values()
            if port.data_gen is None and any(is_whole(item) for item in components(port.type.element))
        ]
        return (min(low for low, _ in found), max(high for _, high in found)) if found else None

    @property
    def python(self) -> bool:
        """Whether the reference is a function of the user's own Python."""
        return self._reference is not None

    def references(self, noting: Noting | None = None) -> list[list[Tensor]]:
        """Return the expected tensors, one list of components per output; computed once.

        ``noting`` sees how they are computed, where they are.
        """
        if self._references is None:
            with self.noted(noting), noting or nullcontext():
                self._references = self.compute_references()
        return self._references

    @contextmanager
    def noted(self, noting: Noting | None) -> Iterator[None]:
        """Let ``noting`` know where in the text is what runs inside."""
        notes = self.env.notes
        notes.now = noting
        try:
            yield
        finally:
            notes.now = None
            if noting is not None:
                noting.at = None

    def reference_data(self) -> ReferenceData:
        """Return copies of the data for one run of the reference: what it gives shares no memory with the program's."""
        with torch.inference_mode():
            weights = {name: _copied(value) for name, value in self.parameters.items()}
            streams = self._named_inputs()
            if self._reference is not None:
                return ReferenceData([_copied(item) for item in self._sources.arguments(streams)], weights)
            # References read the inputs too, which element functions must not.
            named = {name: _copied(value) for name, value in self._sources.named(streams).items()}
            return ReferenceData([], {**weights, **named})

    def compute_references(self, data: ReferenceData | None = None) -> list[list[Tensor]]:
        """Compute the expected tensors, again at every call, on ``data`` (of :meth:`reference_data`)."""
        data = data or self.reference_data()
        with torch.inference_mode():
            if self._reference is not None:
                return self._call(self._reference, data)
            return self._evaluate(self.spec.outputs or (), data)

    def _evaluate(self, outputs: Sequence[OutputPort], data: ReferenceData) -> list[list[Tensor]]:
        env = self.env.astype(self.dtype)
        env.add_tensors(data.named)
        # All blocks of a file share one scope, in order.
        names = block_names(block for port in outputs for block in port.transforms)
        results: list[list[Tensor]] = []
        for port in outputs:
            column: list[Any] = []
            for block in port.transforms:
                try:
                    value = evaluate_block(block, env, names)
                except FnRuntimeError as error:
                    text = f"the reference of {port.name} failed: {error.message}"
                    raise SimError("STEP408", text, span=error.span) from None
                if _depth(port):
                    value = _result(port, value)
                if not isinstance(value, Tensor | Nested):
                    text = f"the reference of {port.name} gives {what_is(value)}, not a tensor"
                    raise SimError("STEP408", text, span=block.source.outer)
                # A view of what ``global`` made would follow it.
                if isinstance(value, Tensor) and pointer(value) in self.env.protected():
                    value = value.clone()
                column.append(value)
            results.append(column)
        return self._sources.laid_out(results)

    def _named_inputs(self) -> dict[str, Any]:
        ports = zip(self.spec.inputs, self.inputs, strict=True)
        return {port.name: _value(port, data) for port, data in ports}

    def _call(self, reference: Reference, data: ReferenceData) -> list[list[Tensor]]:
        before = torch.get_default_dtype()
        # A reference may make tensors of its own.
        torch.set_default_dtype(self.dtype if self.dtype.is_floating_point else before)
        try:
            value = reference(*data.given, **data.named)
        except SimError:  # a wrapper around the user's function has said what happened, and where
            raise
        except Exception as error:
            raise SimError("STEP408", f"the reference failed: {told(error)}") from error
        finally:
            torch.set_default_dtype(before)
        if self.spec.outputs is not None and any(_depth(port) for port in self.spec.outputs):
            return self._nested(value, self.spec.outputs)
        return self._sources.laid_out(self._grouped(tensors_of(value)))

    def _nested(self, value: Any, outputs: Sequence[OutputPort]) -> list[list[Tensor]]:
        """Return a result of which some outputs are nested lists."""
        counts = [len(components(port.type.element)) for port in outputs]
        single = sum(counts) == 1
        given = iter([value] if single or not isinstance(value, list | tuple) else value)
        parts = list(given)
        if len(parts) != sum(counts):
            found, wanted = counted(len(parts), "result"), counted(sum(counts), "component")
            raise SimError("STEP408", f"the reference returned {found}, but the outputs have {wanted}")
        rest = iter(parts)
        return [[_result(port, next(rest)) for _ in range(count)] for port, count in zip(outputs, counts, strict=True)]

    def _grouped(self, tensors: list[Tensor]) -> list[list[Tensor]]:
        if self.spec.outputs is None:
            return [tensors]
        counts = [len(p.type.element.items) if isinstance(p.type.element, STuple) else 1 for p in self.spec.outputs]
        if sum(counts) != len(tensors):
            found, wanted = counted(len(tensors), "tensor"), counted(sum(counts), "component")
            text = f"the reference returned {found}, but the outputs have {wanted}"
            raise SimError("STEP408", text)
        rest = iter(tensors)
        return [[next(rest) for _ in range(count)] for count in counts]


class ReferenceData(Record):
    """What a reference gets: ``given`` by position, ``named`` by keyword or as entries of ``input_data``."""

    given: list[Any]
    named: dict[str, Any]


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        storage = value.untyped_storage()
        if value.numel() * value.element_size() <= storage.nbytes():
            return value.clone()
        # Windows that overlap stay views of one memory.
        whole: Any = torch.empty(0, dtype=value.dtype)
        memory: Any = storage
        return whole.set_(memory.clone(), value.storage_offset(), value.shape, value.stride())
    return [_copied(item) for item in value] if isinstance(value, list | tuple) else value


def _depth(port: OutputPort) -> int:
    """Return how deep the lists of an output are; 0 where it is a tensor."""
    if not any(size.is_ragged for size in port.type.shape):
        return 0
    from stepcore.sim.open_sizes import nested_depth  # most programs have static sizes

    return nested_depth(port.type.shape)


def _result(port: OutputPort, value: Any) -> Any:
    """Return one result of a reference: a tensor, or nested lists in packed form.

    Raises:
        SimError: STEP408 for what is neither.
    """
    depth = _depth(port)
    if not depth:
        (tensor,) = tensors_of(value)
        return tensor
    found = packed(value, depth)
    if isinstance(found, str):
        raise SimError("STEP408", f"the reference of {port.name} gives no nested lists of tensors: {found}")
    return found


def _data(port: Port, tensors: list[Tensor], bindings: Mapping[str, int]) -> StreamData:
    if any(size.is_ragged for size in port.type.shape):
        from stepcore.sim.open_sizes import levels_of  # most programs have static sizes

        packed_sizes, outer = apart(levels_of(port.type.shape, bindings))
        return RaggedData(TensorData(packed_sizes, port.type.element, tensors), outer)
    sizes = tuple(size.bind(bindings) for size in port.type.shape)
    return TensorData(sizes, port.type.element, tensors)


def _value(port: Port, data: StreamData) -> Any:
    """What ``input_data`` holds for an input: its tensor or nested lists, or for a tuple the list of its components."""
    if isinstance(data, RaggedData):
        lists = [part.lists() for part in data.dense()]
        return lists if isinstance(port.type.element, STuple) else lists[0]
    return list(data.components) if isinstance(port.type.element, STuple) else data.components[0]


def tensors_of(value: Any) -> list[Tensor]:
    """The tensors of a reference's result; nested tuples and lists, and the values of mappings, are laid flat.

    None among them is no result: PyTorch's own layers return it for what was not asked for.

    Raises:
        SimError: STEP408 for what is no tensor that can be compared.
    """
    if isinstance(value, Tensor):
        if value.device.type != "cpu" or value.layout is not torch.strided or value.is_nested:
            kind = "nested" if value.is_nested else str(value.layout).removeprefix("torch.")
            text = f"the reference returned a tensor that cannot be compared ({kind}, on the device {value.device})"
            raise SimError("STEP408", f"{text}; return a dense one on the CPU")
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        if unfolded(value) > MANY:
            raise SimError("STEP408", f"the reference returned lists with more than {MANY:,} items")
        return [tensor for part in value if part is not None for tensor in tensors_of(part)]
    raise SimError("STEP408", f"the reference returned {what_is(value)} where tensors are needed{_way_out(value)}")


def _way_out(value: object) -> str:
    return "; end it with return and its results" if value is None else "; return tensors"
