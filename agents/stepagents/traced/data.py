"""What a program is verified on: tensors, and what the user's function gives for them. No torch on import."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from stepcore.records import Record

if TYPE_CHECKING:
    from torch import Tensor

Results: TypeAlias = "Callable[[Mapping[str, Tensor]], Sequence[Tensor]]"


class CheckData(Record):
    """The tensors of one check: by the name of the traced input, and what the function gives for them.

    ``results`` computes the function's results for tensors of the same names, in their dtype; ``sizes`` binds the
    symbols.
    """

    tensors: Mapping[str, Tensor]
    results: Results
    sizes: Mapping[str, int]
