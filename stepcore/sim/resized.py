"""A specification whose sizes are bound to other numbers than those of its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import torch

from stepcore.findings.errors import SimError
from stepcore.graph.ir import ProgramSpec
from stepcore.records import Record
from stepcore.sim.draw import seeded
from stepcore.sim.fnvec import FnEnv, FnRuntimeError
from stepcore.sim.world import World
from stepcore.types import tensor_shapes


class SizedTask(Record):
    """A specification whose sizes are bound: ``spec`` with them as its defaults, ``bindings`` all of them."""

    spec: ProgramSpec
    bindings: dict[str, int]

    def world(self, seed: int) -> World:
        """Return the task in fp64 on data of ``seed``, with its references computed.

        Raises:
            SimError: data cannot be drawn, or the reference fails at these sizes.
        """
        world = World(self.spec, self.bindings, seed, None, torch.float64)
        world.references()
        return world


def resized(spec: ProgramSpec, dims: Mapping[str, int]) -> SizedTask:
    """Bind sizes to ``dims``; those that ``global`` computes from them are computed again.

    Raises:
        SimError: ``global`` fails at these sizes.
    """
    fixed = dict(spec.fixed)
    wanted = {**dict(spec.defaults), **{name: size for name, size in dims.items() if name not in fixed}}
    try:
        with seeded(0), torch.inference_mode():
            found = FnEnv(spec.scope, {**wanted, **fixed}).bindings
    except FnRuntimeError as error:
        raise SimError(error.code, error.message, span=error.span) from None
    fixed = {name: found[name] for name in fixed}
    return SizedTask(replace(spec, fixed=tuple(fixed.items()), defaults=tuple(wanted.items())), {**wanted, **fixed})


def has_declared_shapes(spec: ProgramSpec, bindings: Mapping[str, int], world: World) -> bool:
    """Return whether the references of ``world`` have the shapes that ``spec`` declares at these sizes.

    Raises:
        SimError: the reference fails there.
    """
    for port, column in zip(spec.outputs or (), world.references(), strict=True):
        for shape, tensor in zip(tensor_shapes(port.type), column, strict=True):
            if any(size.is_open for size in shape):  # only a run knows it
                continue
            if tuple(size.bind(bindings) for size in shape) != tuple(tensor.shape):
                return False
    return True
