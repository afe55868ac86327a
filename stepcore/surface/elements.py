"""Element types as scripts write them."""

from __future__ import annotations

from stepcore.findings.diagnostics import StepError
from stepcore.text.wording import what_is
from stepcore.types import Buffer, Element, Multihot, Scalar, STuple, Tile, components


def as_element(dtype: object) -> Element:
    """Return ``dtype`` as an element type; a list or tuple is a tuple of types, a text a scalar.

    Raises:
        StepError: STEP222 for anything else.
    """
    match dtype:
        case Scalar() | Multihot() | Buffer() | Tile() | STuple():
            return dtype
        case list() | tuple():
            return STuple(item for part in dtype for item in components(as_element(part)))
        case str():
            try:
                return Scalar(dtype)
            except ValueError as error:
                raise StepError("STEP222", str(error)) from error
        case _:
            from stepcore.frontend.advice import scalar_for

            named = scalar_for(str(getattr(dtype, "__name__", dtype)).rpartition(".")[2])
            way_out = f"; write step.{named}" if named else ""
            raise StepError("STEP222", f"expected an element type such as step.f32, found {what_is(dtype)}{way_out}")
