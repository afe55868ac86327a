"""The user's own function as what programs are compared with. Loads torch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_map_only

from stepagents.torchfn.blame import is_leak
from stepagents.torchfn.capture import flat
from stepagents.torchfn.subject import SEED, TracedSubject
from stepcore.sim.torch_settings import settings_kept


class FunctionReference:
    """Calls the function: ``reference(*tensors, **weights)`` returns a tuple of tensors.

    ``weights`` replace parameters and buffers of the module, by the names of the traced inputs; what is left out
    keeps the module's value. Each call sees the module as it was loaded. Where torch's default dtype is fp64, all
    floating-point state of the module is fp64: the program that it decides about runs in fp64, too.
    """

    def __init__(self, subject: TracedSubject, origins: Mapping[str, str]) -> None:
        self._subject = subject
        self._origins = dict(origins)

    def __call__(self, *tensors: Tensor, **weights: Tensor) -> tuple[Tensor, ...]:
        """Run the function with a fixed seed and without gradients; its arguments are copied."""
        given = {self._origins[name]: tensor for name, tensor in weights.items()}
        try:
            return self._called(self._subject.fresh(), tensors, given)
        except Exception as error:
            if not is_leak(error):
                raise
            return self._called(self._subject.reloaded(), tensors, given)

    def _called(
        self, subject: TracedSubject, tensors: tuple[Tensor, ...], weights: Mapping[str, Tensor]
    ) -> tuple[Tensor, ...]:
        wrapper = _Owner(subject)
        values = {f"owner.{name}": _wide(tensor) for name, tensor in _state(subject.module)}
        values |= {f"owner.{name}": tensor for name, tensor in weights.items()}
        if subject.module is not None:
            _widen(subject.module)
        with settings_kept(), torch.no_grad():
            torch.manual_seed(SEED)
            found = torch.func.functional_call(wrapper, values, tuple(tensor.clone() for tensor in tensors))
        return tuple(item for item in flat(found) if isinstance(item, Tensor))


def _state(module: nn.Module | None) -> Iterator[tuple[str, Tensor]]:
    """Yield what a call could change or a run in fp64 needs in another dtype: buffers, and in fp64 parameters."""
    if module is not None:
        yield from ((name, tensor.clone()) for name, tensor in module.named_buffers())
        if _is_wide():
            yield from module.named_parameters()


def _is_wide() -> bool:
    return torch.get_default_dtype() == torch.float64


def _wide(tensor: Tensor) -> Tensor:
    return tensor.detach().double() if _is_wide() and tensor.is_floating_point() else tensor


def _widen(module: nn.Module) -> None:
    """Convert the tensors that are plain attributes of ``module`` or its parts, in lists and dictionaries, too."""
    if not _is_wide():
        return
    for part in module.modules():
        for name, value in vars(part).items():
            if not name.startswith("_"):
                setattr(part, name, tree_map_only(Tensor, _wide, value))


class _Owner(nn.Module):
    def __init__(self, subject: TracedSubject) -> None:
        super().__init__()
        self.owner = subject.module
        self._subject = subject
        if subject.module is not None:
            self.training = subject.module.training

    def forward(self, *tensors: Tensor) -> Any:
        return self._subject.call(*tensors)
