"""One task in one floating-point type: sizes bound, data drawn, functions compiled, references computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor

from stepcore.ir import OutputPort, Port, ProgramSpec
from stepcore.sim.data import TensorData
from stepcore.sim.draw import draw
from stepcore.sim.errors import SimError
from stepcore.sim.fnvec import FnEnv, FnRuntimeError, evaluate_block
from stepcore.sim.runtime import RuntimeImpl
from stepcore.sim.sources import Sources
from stepcore.types import STuple
from stepcore.wording import counted

Reference: TypeAlias = Callable[..., Any]


class World:
    """What all runs of one task share. Data is drawn in the published order: ``global``, inputs, parameters.

    ``inputs`` are in the order of the specification; ``references`` hold one tensor per component and output, or None
    where nothing says what is expected. Torch's own generator is left as it was.

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
    ) -> None:
        self.spec = spec
        self.dtype = dtype
        with torch.random.fork_rng(devices=[]), torch.inference_mode():
            torch.manual_seed(seed)
            try:
                self.env = FnEnv(spec.scope, bindings, None, dtype)
            except FnRuntimeError as error:
                raise SimError(error.code, error.message, span=error.span) from None
            self._sources = Sources(spec, bindings, dtype)
            drawn = self._sources.streams
            self.parameters = {port.name: draw(port, bindings, dtype)[0] for port in spec.parameters}
            self.env.add_tensors(self.parameters)
        self.runtime = RuntimeImpl(self.env, bindings)
        self.inputs = [_data(port, tensors, bindings) for port, tensors in zip(spec.inputs, drawn, strict=True)]
        self._reference = reference
        self._references: list[list[Tensor]] | None = None

    @property
    def has_reference(self) -> bool:
        """Whether there is something to compare with."""
        return self._reference is not None or any(port.transforms for port in self.spec.outputs or ())

    def references(self) -> list[list[Tensor]]:
        """Return the expected tensors, one list of components per output; computed once."""
        if self._references is None:
            self._references = self.compute_references()
        return self._references

    def compute_references(self) -> list[list[Tensor]]:
        """Compute the expected tensors, again at every call."""
        with torch.inference_mode():
            if self._reference is not None:
                return self._call(self._reference)
            return self._evaluate(self.spec.outputs or ())

    def _evaluate(self, outputs: Sequence[OutputPort]) -> list[list[Tensor]]:
        # References read the inputs too, which element functions must not.
        env = self.env.astype(self.dtype)
        env.add_tensors(self._sources.named(self._named_inputs()))
        # All blocks of a file share one scope, in order.
        names: dict[str, Any] = {}
        results: list[list[Tensor]] = []
        for port in outputs:
            column: list[Tensor] = []
            for block in port.transforms:
                try:
                    value = evaluate_block(block, env, names)
                except FnRuntimeError as error:
                    text = f"the reference of {port.name} failed: {error.message}"
                    raise SimError("STEP408", text, span=error.span) from None
                if not isinstance(value, Tensor):
                    text = f"the reference of {port.name} gives {type(value).__name__}, not a tensor"
                    raise SimError("STEP408", text, span=block.source.outer)
                column.append(value)
            results.append(column)
        return self._sources.laid_out(results)

    def _named_inputs(self) -> dict[str, Any]:
        ports = zip(self.spec.inputs, self.inputs, strict=True)
        return {port.name: _value(port, data) for port, data in ports}

    def _call(self, reference: Reference) -> list[list[Tensor]]:
        given = self._sources.arguments(self._named_inputs())
        # Copies: a reference that changes its arguments must not change the program's data.
        arguments = [item.clone() if isinstance(item, Tensor) else item for item in given]
        before = torch.get_default_dtype()
        # A reference may make tensors of its own.
        torch.set_default_dtype(self.dtype if self.dtype.is_floating_point else before)
        try:
            value = reference(*arguments, **self.parameters)
        except SimError:  # a wrapper around the user's function has said what happened, and where
            raise
        except Exception as error:
            raise SimError("STEP408", f"the reference failed: {type(error).__name__}: {error}") from error
        finally:
            torch.set_default_dtype(before)
        return self._sources.laid_out(self._grouped(_tensors(value)))

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


def _data(port: Port, tensors: list[Tensor], bindings: Mapping[str, int]) -> TensorData:
    sizes = tuple(size.bind(bindings) for size in port.type.shape)
    return TensorData(sizes, port.type.element, tensors)


def _value(port: Port, data: TensorData) -> Any:
    """What ``input_data`` holds for an input: its tensor, or for a tuple the list of its components."""
    return list(data.components) if isinstance(port.type.element, STuple) else data.components[0]


def _tensors(value: Any) -> list[Tensor]:
    """The tensors of a reference's result; nested tuples and lists, and the values of mappings, are laid flat."""
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for part in value for tensor in _tensors(part)]
    raise SimError("STEP408", f"the reference returned {type(value).__name__} where tensors are needed")
