"""Tokens without an element, between those that have one."""

from __future__ import annotations

from collections.abc import Sequence


def gaps(elements: Sequence[bool]) -> list[int]:
    """Return how many bare stops stand before each element, and behind the last."""
    found = [0]
    for is_element in elements:
        if is_element:
            found.append(0)
        else:
            found[-1] += 1
    return found
