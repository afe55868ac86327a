"""Nothing is warned of inside, and afterwards everything is as it was."""

from __future__ import annotations

import warnings

import pytest
import torch

from sim_tasks import Bed, function, task_text
from stepcore.system.unwarned import unwarned


def _warn() -> None:
    warnings.warn("told once", UserWarning, stacklevel=1)


def test_nothing_is_told_inside_and_nothing_forgotten_outside() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("default")  # each place once
        with unwarned():
            _warn()
        _warn()
        with unwarned():
            _warn()
        _warn()
    assert len(told) == 1


def test_filters_are_put_back_also_where_something_fails() -> None:
    before = list(warnings.filters)
    with pytest.raises(KeyError), unwarned():
        warnings.simplefilter("error")
        raise KeyError
    assert list(warnings.filters) == before
    with unwarned(), unwarned():
        _warn()
    with pytest.raises(UserWarning, match="told once"), warnings.catch_warnings():
        warnings.simplefilter("error")
        _warn()


def test_what_torch_warns_of_in_a_run_is_not_told() -> None:
    """Its results are judged; ``torch.var`` of one number is warned of, and NaN."""
    text = task_text(
        "input_data['E0'] * 1", function("fn_one", "input[0] + torch.var(torch.ones(1)).nan_to_num(0.0)"), dims="[M, N]"
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="degrees of freedom"):
            torch.var(torch.ones(1))
        assert Bed(text).verify("return step.Map(fn=fn_one).apply(E0)").accepted
