"""Loads every module of batching rules into the table of the tracer."""

from __future__ import annotations

from stepcore.sim.fnvec import (
    rules_index,
    rules_join,
    rules_matrix,
    rules_pointwise,
    rules_reduce,
    rules_view,
)

MODULES = (rules_index, rules_join, rules_matrix, rules_pointwise, rules_reduce, rules_view)


def load() -> int:
    """Return how many modules of rules are loaded; importing this module has registered them."""
    return len(MODULES)
