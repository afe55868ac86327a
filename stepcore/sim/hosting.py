"""A program of a script applied to tensors: laid out, run as Python, put together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from stepcore.findings.diagnostics import StepError
from stepcore.findings.errors import SimError
from stepcore.graph.ir import Port, reference_ports
from stepcore.sim.layout import put_together
from stepcore.sim.selftest import Runnable, program_spec
from stepcore.sim.sources import Sources
from stepcore.surface.stream import Stream
from stepcore.text.wording import counted
from stepcore.types import tensor_shapes


def apply_program(program: Runnable, tensors: Sequence[Tensor]) -> Any:
    """Run ``program`` on ``tensors``, see :meth:`stepcore.surface.program.Program.apply`.

    Raises:
        StepError: STEP205 for another number of tensors, STEP207 for other shapes, or a mistake in the program.
    """
    spec = program_spec(program)
    ports = reference_ports(spec)
    if len(ports) != len(tensors):
        names = ", ".join(port.name for port in ports)
        what = f"{program.name} reads {counted(len(ports), 'tensor')} ({names}), found {len(tensors)}"
        raise StepError("STEP205", what)
    bindings = {**spec.bindings(), **sizes_of(ports, tensors)}
    for port, tensor in zip(ports, tensors, strict=True):
        check_shape(port, tensor, bindings, program.name)
    given = {port.name: [tensor] for port, tensor in zip(ports, tensors, strict=True)}
    try:
        laid = Sources(spec, bindings, torch.get_default_dtype(), given).streams
    except SimError as error:
        raise StepError(error.code, error.message) from error
    streams: list[Stream] = []
    for port, data in zip(spec.inputs, laid, strict=True):
        stream = Stream(port.name, port.type.element, port.type.rank, port.type.shape)
        stream.ctx, stream.data = dict(bindings), [item.contiguous() for item in data]
        streams.append(stream)
    returned = program(*streams)
    outputs = list(returned) if isinstance(returned, tuple) else [returned]
    layouts = [None] * len(outputs) if spec.outputs is None else [port.layout for port in spec.outputs]
    results = [
        put_together(layout, stream.data[0], bindings) if layout else stream.data[0]
        for stream, layout in zip(outputs, layouts, strict=True)
    ]
    return results[0] if len(results) == 1 else tuple(results)


def sizes_of(ports: Sequence[Port], tensors: Sequence[Tensor]) -> dict[str, int]:
    """Return the symbols that stand alone in the shapes of ``ports``, with the sizes of ``tensors``.

    The first tensor with a symbol decides it, and its last dimension that is called so.
    """
    found: dict[str, int] = {}
    for port, tensor in zip(ports, tensors, strict=True):
        (shape,) = tensor_shapes(port.type)
        own = {str(size): number for size, number in zip(shape, tensor.shape, strict=False) if size.is_symbol}
        found = {**own, **found}
    return found


def check_shape(port: Port, tensor: Tensor, bindings: Mapping[str, int], reader: str) -> None:
    """Compare the shape of a tensor with what ``reader`` declares for it.

    Raises:
        StepError: STEP207, they differ.
    """
    (shape,) = tensor_shapes(port.type)
    wanted = tuple(size.bind(bindings) for size in shape)
    if tuple(tensor.shape) != wanted:
        raise StepError("STEP207", f"{reader} reads {port.name} of the shape {wanted}, found {tuple(tensor.shape)}")
