"""Whether a run keeps what comments promise of its values."""

from __future__ import annotations

import torch
from torch import Tensor

from stepagents.shapes.keeping import Broken, Keeping
from stepagents.shapes.promised import Promises


def broken(tensor: Tensor, *sizes: str, doubted: frozenset[int] = frozenset(), **known: int) -> Broken | None:
    """Return what a result breaks of which a docstring in line 3 gives the sizes."""
    promises = Promises("f", 1, 9, results=[sizes], result_line=3)
    return next(Keeping(promises, "f.py", known, doubted).ended(tensor), None)


def test_a_value_has_the_rank_and_the_sizes_that_are_written() -> None:
    value = torch.zeros(5, 7)
    assert broken(value, "B", "T", B=5) is None
    wrong = broken(value, "B", "T", "C")
    assert wrong is not None
    assert (wrong.line, wrong.rank) == (3, 3)
    wrong = broken(value, "B", "T", B=11)
    assert wrong is not None
    assert (wrong.rank, wrong.wanted) == (None, (11, 7))
    assert broken(value, "B", "T", "C", doubted=frozenset({3})) is None


def test_names_that_are_new_stand_for_what_they_meet() -> None:
    assert broken(torch.zeros(5, 5), "N", "N") is None
    wrong = broken(torch.zeros(5, 7), "N", "N")
    assert wrong is not None
    assert wrong.wanted == (5, 5)
    assert broken(torch.zeros(8, 2), "4*N", "N") is None
    assert broken(torch.zeros(9, 2), "4*N", "N") is not None


def test_any_number_of_dimensions_and_those_that_are_broadcast_are_kept() -> None:
    assert broken(torch.zeros(2, 3, 5), "...", "D", D=5) is None
    assert broken(torch.zeros(2, 3, 5), "...", "D", D=7) is not None
    assert broken(torch.zeros(1, 5), "B", "D", B=11, D=5) is None
