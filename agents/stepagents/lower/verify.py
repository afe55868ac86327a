"""The proof of a candidate: the user's tensors, laid out, through the simulator, against the user's own function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from stepagents.lower.host import InputLayout, OutOfReach, OutputLayout
from stepagents.traced.data import CheckData
from stepcore.check.programs import Checked
from stepcore.findings.errors import SimError
from stepcore.findings.verdict import Verdict
from stepcore.graph.ir import ProgramSpec
from stepcore.sim.data import TensorData
from stepcore.sim.draw import torch_dtype
from stepcore.sim.functional import Session
from stepcore.sim.world import World
from stepcore.sizes.dim import Dim
from stepcore.types import tensor_shapes


def verify(
    checked: Checked,
    inputs: Sequence[InputLayout],
    outputs: Sequence[OutputLayout],
    data: CheckData,
    limit: int = 4 << 30,
) -> Verdict:
    """Run a checked program on ``data`` as the host lays it out, and compare with the function's results.

    Raises:
        SimError: the inputs alone exceed ``limit``, a layout does not fit the sizes (STEP907), or the function itself
            fails on the data.
    """
    return _LaidOut(checked.spec, inputs, outputs, data, limit).verify(checked)


class _LaidOut(Session):
    """A session whose inputs are layouts of the user's tensors."""

    def __init__(
        self,
        spec: ProgramSpec,
        inputs: Sequence[InputLayout],
        outputs: Sequence[OutputLayout],
        data: CheckData,
        limit: int,
    ) -> None:
        self._inputs = inputs
        self._outputs = outputs
        self._data = data
        # What a verdict is worth is seen once for all programs: in the file that is delivered.
        super().__init__(spec, dict(data.sizes), 0, self._expected, limit=limit, examine=False)
        self._lay_out(self.world)

    def precise(self) -> World:
        """Return the same data in fp64."""
        if self._precise is None:
            self._lay_out(super().precise())
        return super().precise()

    def _tensors(self, dtype: torch.dtype) -> dict[str, Tensor]:
        """The data of a run in ``dtype``: fp64 stands in for every floating-point type, fp32 for itself alone."""
        wide = dtype == torch.float64
        kept = self._data.tensors.items()
        return {
            name: t.to(dtype) if t.is_floating_point() and (wide or t.dtype == torch.float32) else t for name, t in kept
        }

    def _expected(self, *streams: Tensor, **_parameters: Tensor) -> list[Tensor]:
        # The type that runs is that of torch's default while the reference is called.
        tensors = self._tensors(torch.get_default_dtype())
        try:
            results = self._data.results(tensors)
        except Exception as error:
            raise SimError("STEP408", f"the function failed: {type(error).__name__}: {error}") from error
        laid: list[Tensor] = []
        for layout, port, result in zip(self._outputs, self.spec.outputs or (), results, strict=True):
            (shape,) = tensor_shapes(port.type)
            laid.append(layout.laid_out(result, tuple(size.bind(self.bindings) for size in shape)))
        return laid

    def _lay_out(self, world: World) -> None:
        tensors = self._tensors(world.dtype)
        for number, (port, layout) in enumerate(zip(self.spec.inputs, self._inputs, strict=True)):
            try:
                tensor = layout.read(_source(layout, tensors, world.dtype, self.bindings), self.bindings)
            except OutOfReach as error:
                raise SimError("STEP907", f"the layout of {port.name} cannot be used: {error}") from error
            sizes = tuple(size.bind(self.bindings) for size in port.type.shape)
            world.inputs[number] = TensorData(sizes, port.type.element, [tensor])


def _source(
    layout: InputLayout, tensors: Mapping[str, Tensor], floating: torch.dtype, sizes: Mapping[str, int]
) -> Tensor:
    if layout.kind == "input":
        return tensors[layout.source]
    shape = [Dim.of(dim.size).bind(sizes) for dim in layout.dims]
    dtype = torch_dtype(layout.dtype, floating)
    return torch.arange(shape[0]).to(dtype) if layout.kind == "arange" else torch.ones(shape, dtype=dtype)
