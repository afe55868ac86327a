"""What a user's file does to Python's own names ends with it."""

from __future__ import annotations

import builtins

import pytest

from stepcore.sim.worker.imports import import_module

IMPORT, LENGTH = builtins.__import__, builtins.len


@pytest.mark.parametrize(
    "text", ["builtins.__import__ = lambda *a, **k: 1 / 0", "del builtins.len", "builtins.more = builtins.len = 1"]
)
def test_builtins_are_as_before(text: str) -> None:
    import_module("a.py", f"import builtins\n{text}\n")
    assert builtins.__import__ is IMPORT
    assert builtins.len is LENGTH
    assert not hasattr(builtins, "more")
