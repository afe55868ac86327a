"""Sizes of tiles and numbers of lanes that divide a dimension."""

from __future__ import annotations

from math import isqrt


def divisors(size: int, least: int, most: int) -> list[int]:
    """Return divisors of ``size`` within bounds, at most one between two powers of 2: that power, else the largest.

    Where none lies within, the largest below is the only one.
    """
    whole = [each for low in range(1, isqrt(size) + 1) if size % low == 0 for each in (low, size // low)]
    best: dict[int, int] = {}
    for each in sorted(set(whole)):
        bits = each.bit_length()
        if each == size or best.get(bits) != 1 << (bits - 1):
            best[bits] = each
    found = sorted({*best.values(), size})
    return [each for each in found if min(least, size) <= each <= most] or [each for each in found if each <= most][-1:]
