"""What the checks of a function found out about its data. Loads no torch by itself."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from stepagents.traced.graph import TracedFunction

if TYPE_CHECKING:
    from stepagents.torchfn.checks import Checks


def informed(traced: TracedFunction, checks: Checks) -> TracedFunction:
    """Return the function with what its checks found out about the data that it takes."""
    inputs = tuple(
        replace(item, data_gen=checks.draws[item.name], below=checks.below.get(item.name)) for item in traced.inputs
    )
    kinds = {"torch.rand": "from 0 to 1"}
    notes = tuple(
        f"{name} was {kinds.get(draw, 'ones')} in all checks: for other numbers the function gives NaN"
        for name, draw in checks.narrowed.items()
    )
    return replace(traced, inputs=inputs, notes=(*traced.notes, *notes))
