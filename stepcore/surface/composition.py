"""Compositions: programs that run one after the other, joined by tensors in off-chip memory.

A stream is consumed at most once and ends with its program; what several programs read, or one much later, is a tensor:
``h = layer.apply(x, weights["layer.weight"])`` runs a program on tensors as its layouts say.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

from stepcore.findings.diagnostics import StepError
from stepcore.surface.stream import no_sizes, size_values
from stepcore.text.wording import what_is

if TYPE_CHECKING:
    from torch import Tensor

    from stepcore.sizes.dim import Dim


class Composition:
    """A function of tensors that applies programs: call it on tensors, or let ``stepsmith verify`` judge it.

    ``reference`` is a function of the same arguments; ``weights`` a PyTorch module, or a mapping from names to tensors,
    that the last argument stands for where there is one. ``dims`` binds sizes for a verification; ``fault`` is what is
    wrong with these, raised by whoever uses the composition and not where it is made: the programs of its file can be
    used in any case.
    """

    def __init__(
        self,
        body: Callable[..., Any],
        *,
        reference: Callable[..., Any] | None,
        weights: object,
        dims: Mapping[str, int],
        name: str | None,
    ) -> None:
        update_wrapper(self, body)
        self.__wrapped__ = body
        self.name = name or body.__name__
        self.reference = reference
        self.weights = weights
        self.dims = dict(dims)
        self.fault = no_sizes(dims, f"the composition {self.name}")
        if problem := _no_weights(weights):
            self.fault = StepError("STEP204", f"weights= of the composition {self.name} is {problem}")

    def tensors(self) -> dict[str, Tensor]:
        """Return the weights by name; empty where there are none. A weight that a module holds twice has both names."""
        if self.weights is None:
            return {}
        if isinstance(self.weights, Mapping):
            return dict(self.weights)
        module: Any = self.weights
        both = {"remove_duplicate": False}
        return {**dict(module.named_parameters(**both)), **dict(module.named_buffers(**both))}

    def __call__(self, *tensors: Tensor) -> Any:
        """Run all programs on ``tensors``; the weights are those that the composition was made with.

        Raises:
            StepError: the composition itself or one of its programs has a mistake.
        """
        if self.fault is not None:
            raise self.fault
        weights = () if self.weights is None else (self.tensors(),)
        return self.__wrapped__(*tensors, *weights)

    def __repr__(self) -> str:
        return f"<step composition {self.name}>"


def _no_weights(weights: object) -> str:
    """Return what ``weights`` is instead of a module or a mapping of tensors, and the way out; empty for those."""
    if weights is None:
        return ""
    if isinstance(weights, Mapping):
        return _no_tensors(weights)
    if isinstance(weights, type):
        return f"{what_is(weights)}; make the module first: weights={weights.__name__}()"
    if callable(getattr(weights, "named_parameters", None)):
        return ""
    return f"{what_is(weights)}; write a PyTorch module, or a mapping from names to tensors"


def _no_tensors(weights: Mapping[object, object]) -> str:
    for name, tensor in weights.items():
        if not isinstance(name, str):
            return f"a mapping with {what_is(name)} as a name; write names as texts"
        torch = sys.modules.get("torch")  # whoever has a tensor has imported it
        if torch is None or not isinstance(tensor, torch.Tensor):
            return f"a mapping with {what_is(tensor)} for {name!r}; write a tensor"
    return ""


def composition(
    *,
    reference: Callable[..., Any] | None = None,
    weights: object = None,
    dims: Mapping[Dim, int] | Mapping[str, int] | None = None,
    name: str | None = None,
) -> Callable[[Callable[..., Any]], Composition]:
    """Declare a composition of programs. See :class:`Composition` for the arguments."""

    def decorate(body: Callable[..., Any]) -> Composition:
        return Composition(body, reference=reference, weights=weights, dims=size_values(dims or {}), name=name)

    return decorate
