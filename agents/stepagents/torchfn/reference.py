"""The user's own function as what programs are compared with. Loads torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from stepagents.torchfn.capture import flat
from stepagents.torchfn.subject import SEED, Subject


class Reference:
    """Calls the function: ``reference(*tensors, **weights)`` returns a tuple of tensors.

    ``weights`` replace parameters and buffers of the module, by the names of the traced inputs; what is left out
    keeps the module's value. The module itself is never changed: what it updates are copies.
    """

    def __init__(self, subject: Subject, origins: Mapping[str, str]) -> None:
        self._subject = subject
        self._origins = dict(origins)
        self._wrapper = _Owner(subject)

    def __call__(self, *tensors: Tensor, **weights: Tensor) -> tuple[Tensor, ...]:
        """Run the function with a fixed seed and without gradients; its arguments are copied."""
        module = self._subject.module
        values = {f"owner.{name}": tensor.clone() for name, tensor in (module.named_buffers() if module else ())}
        values |= {f"owner.{self._origins[name]}": tensor for name, tensor in weights.items()}
        with torch.no_grad():
            torch.manual_seed(SEED)
            copies = tuple(tensor.clone() for tensor in tensors)
            found = torch.func.functional_call(self._wrapper, values, copies)
        return tuple(item for item in flat(found) if isinstance(item, Tensor))


class _Owner(nn.Module):
    def __init__(self, subject: Subject) -> None:
        super().__init__()
        self.owner = subject.module
        self._subject = subject
        if subject.module is not None:
            self.training = subject.module.training

    def forward(self, *tensors: Tensor) -> Any:
        return self._subject.call(*tensors)
