"""How large a single number of a program may become."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Final

from stepcore.frontend.values import UNKNOWN, Value

if TYPE_CHECKING:
    from stepcore.frontend.elaboration import Elaboration

MAX_BITS: Final = 4096


def bounded(el: Elaboration, node: ast.AST, value: Value) -> Value:
    """Return a number that was computed; a whole one of too many bits is reported, and unknown from here on."""
    if isinstance(value, int):
        el.charge(value.bit_length() >> 6)
        if value.bit_length() > MAX_BITS:
            el.report("STEP221", node, "this number is too large", "write a smaller number")
            return UNKNOWN
    return value
