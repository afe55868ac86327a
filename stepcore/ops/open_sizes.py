"""Rules about sizes that only a run knows: which of them an operator takes."""

from __future__ import annotations

from stepcore.ops.base import RuleError, RuleSubject
from stepcore.sizes.dim import Dim


def need_static(operator: str, size: Dim, what: str, index: int = 0, way_out: str = "") -> None:
    """Raise STEP226 where only a run knows ``size``, that of ``what`` of the input at ``index``."""
    if size.is_open:
        _refuse(operator, size, f"{what} of a static size", index, way_out)


def need_not_ragged(operator: str, size: Dim, what: str, index: int = 0, way_out: str = "") -> None:
    """Raise STEP226 where ``size``, that of ``what`` of the input at ``index``, has a value for each position."""
    if size.is_ragged:
        _refuse(operator, size, f"{what} of one size", index, way_out)


def _refuse(operator: str, size: Dim, wanted: str, index: int, way_out: str) -> None:
    from stepcore.sizes.kinds import origin_of

    text = f"{operator} needs {wanted}, not {origin_of(size)}"
    raise RuleError("STEP226", f"{text}; {way_out}" if way_out else text, RuleSubject.input(index))
