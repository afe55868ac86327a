"""Draws calls of functions that ask much of sizes: convolutions, windows, losses, attention, matrices, transforms.

Calls by schemas alone (``drawn_calls``) hardly ever fit these. So each family here draws tensors that fit each other,
options that its function takes, in the places or by the names that it takes them; then a few are spoilt in one place: a
size, a dimension, an element type, a number for a tensor, a size of 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

import drawn_losses
import drawn_planes
import drawn_products
from drawn_arguments import Draw
from drawn_calls import Drawn, Known

CALLS = 8  # of a seed
FAMILIES = (*drawn_planes.FAMILIES, *drawn_losses.FAMILIES, *drawn_products.FAMILIES)


def drawn(seed: int) -> Iterator[Drawn]:
    """Draw a few calls, each over tensors of its own, and compare."""
    for place in range(CALLS):
        draw = Draw(Random(f"{seed} {place}"))
        text = draw.call(draw.random.choice(FAMILIES))
        yield Known(draw.random, draw.tensors).compared(f"y = {text}", is_asked=True)
