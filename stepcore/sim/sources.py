"""The tensors that streams are read from: drawn once each, however many streams read them, and laid out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from stepcore.findings.errors import SimError
from stepcore.graph.ir import OutputPort, Port, ProgramSpec, whole_port
from stepcore.graph.layouts import InputLayout, LayoutError, OutputLayout
from stepcore.sim.draw import draw
from stepcore.sim.dtypes import torch_dtype
from stepcore.sim.layout import generated, laid_out, read
from stepcore.sizes.dim import DimError
from stepcore.types import tensor_shapes


class Sources:
    """Draws the inputs of a program. A port without a layout is a tensor of its own.

    ``streams`` holds per input one tensor for each component. ``drawn`` holds what was drawn, by the name of the input
    or of the tensor that several read, and ``ports`` how; ``given`` are tensors to take instead of drawing.

    Raises:
        SimError: STEP907 for a layout that cannot be read or does not fit its stream.
    """

    def __init__(
        self,
        spec: ProgramSpec,
        bindings: Mapping[str, int],
        dtype: torch.dtype,
        given: Mapping[str, Sequence[Tensor]] | None = None,
    ) -> None:
        self._bindings = bindings
        self._given = given or {}
        self.ports: dict[str, Port] = {}
        self.drawn: dict[str, list[Tensor]] = {}
        self._outputs: Sequence[OutputPort] = spec.outputs or ()
        self._tensors: dict[str, Tensor] = {}
        self._order: list[str] = []
        self.streams = [self._stream(port, dtype) for port in spec.inputs]

    def _stream(self, port: Port, dtype: torch.dtype) -> list[Tensor]:
        layout = port.layout
        if layout is None:
            self._order.append(port.name)
            drawn = self._drawn(port.name, port, dtype)
            if len(drawn) == 1 and not any(size.is_ragged for size in port.type.shape):
                self._tensors[port.name] = drawn[0]
            return drawn
        try:
            source = self._source(whole_port(port, layout), layout, dtype)
            return [read(layout, source, self._shape(port), self._bindings)]
        except (DimError, LayoutError, RuntimeError) as error:
            raise SimError("STEP907", f"the layout of {port.name} cannot be used: {error}") from error

    def _drawn(self, name: str, port: Port, dtype: torch.dtype) -> list[Tensor]:
        self.ports[name] = port
        self.drawn[name] = list(self._given[name]) if name in self._given else draw(port, self._bindings, dtype)
        return self.drawn[name]

    def _shape(self, port: Port | OutputPort) -> list[int]:
        return [size.bind(self._bindings) for size in tensor_shapes(port.type)[0]]

    def _source(self, port: Port, layout: InputLayout, dtype: torch.dtype) -> Tensor:
        if layout.is_generated:
            shape = [size.bind(self._bindings) for size in layout.sizes]
            return generated(layout, shape, torch_dtype(str(port.type.element), dtype))
        known = self._tensors.get(layout.source)
        if known is None:
            self._order.append(layout.source)
            (known,) = self._drawn(layout.source, port, dtype)
            self._tensors[layout.source] = known
        return known

    def arguments(self, streams: Mapping[str, Any]) -> Iterable[Any]:
        """Return what a reference gets: the tensors, in the order in which the inputs name them first."""
        return [self._tensors.get(name, streams.get(name)) for name in self._order]

    def named(self, streams: Mapping[str, Any]) -> dict[str, Any]:
        """Return what ``input_data`` holds in references: the tensors by name, and the streams under other names."""
        return {**streams, **self._tensors}

    def laid_out(self, results: list[list[Tensor]]) -> list[list[Tensor]]:
        """Return results of a reference as the tensors of their streams."""
        if not any(port.layout for port in self._outputs):
            return results
        return [
            self._stream_of(port, port.layout, column) if port.layout else column
            for port, column in zip(self._outputs, results, strict=True)
        ]

    def _stream_of(self, port: OutputPort, layout: OutputLayout, column: list[Tensor]) -> list[Tensor]:
        try:
            return [laid_out(layout, column[0], self._shape(port), self._bindings)]
        except (DimError, IndexError, LayoutError, RuntimeError) as error:
            raise SimError("STEP907", f"the layout of {port.name} cannot be used: {error}") from error
