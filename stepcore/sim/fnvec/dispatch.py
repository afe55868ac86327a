"""What watches the operations of torch one by one, and the tensors that these take and give."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from stepcore.sim.fnvec.shared import leaves


class UncompiledMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Meets each operation that runs while it is active, and leaves torch's compiler alone."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Say that nothing is wrapped for the compiler: wrapping would import it, which takes two seconds."""
        return False


def tensors_in(value: Any) -> Iterator[Tensor]:
    """Yield the tensors in lists, tuples and the values of dictionaries; those of a list in several places once."""
    return (leaf for leaf in leaves((value,), mappings=True) if isinstance(leaf, Tensor))
