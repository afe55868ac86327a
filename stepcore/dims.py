"""Symbols for sizes: ``from stepcore.dims import K, M, N`` gives the symbols of those names."""

from __future__ import annotations

from stepcore.sizes.dim import Dim

M = Dim.symbol("M")
N = Dim.symbol("N")
K = Dim.symbol("K")
D = Dim.symbol("D")
E = Dim.symbol("E")


def __getattr__(name: str) -> Dim:
    """Make any identifier importable as a symbol."""
    if name.startswith("_"):
        raise AttributeError(name)
    return Dim.symbol(name)
