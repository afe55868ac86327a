"""What an element costs in each function, in FLOPs: the common table, and for which functions a chip may say otherwise.

A chip's price counts for each element: of the result of what works element by element, of the operand of a reduction
(a sort counts as one) and of what no table knows. Products count ``2mkn`` whatever anybody says, views and new tensors
nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from stepcore.findings.near import nearest
from stepcore.fn import allow
from stepcore.fn.shapes.rules import RULES
from stepcore.fn.shapes.windows import CONVOLUTIONS, WINDOWS, WORKING
from stepcore.text.wording import clipped

PRICES: Final[Mapping[str, int]] = {
    **dict.fromkeys(
        allow.names("exp exp2 expm1 log log2 log10 log1p sqrt rsqrt tanh erf erfc pow float_power sin cos tan"), 4
    ),
    "sigmoid": 7,
    **dict.fromkeys(allow.names("silu gelu softmax log_softmax softmin mish softplus logsigmoid"), 8),
    **dict.fromkeys(allow.names("flip roll tril triu clone contiguous detach"), 0),
}
COUNTED: Final = allow.names("topk sort cummax cummin outer") | WORKING  # have a rule for their shape, and work to do
_PRODUCTS: Final = allow.names("matmul mm mv bmm dot linear") | CONVOLUTIONS
_RULED: Final = frozenset(RULES) | frozenset(WINDOWS)
_FREE: Final = _RULED - COUNTED - _PRODUCTS
_KNOWN: Final = allow.TORCH_FUNCTIONS | allow.FUNCTIONAL | allow.TENSOR_METHODS
PRICED: Final = frozenset(name for name in _KNOWN if name not in _RULED and not allow.is_inplace(name)) | COUNTED


def no_price(name: str) -> str:
    """Return why a chip cannot say what an element of a function costs; an empty text where it can."""
    if name in PRICED:
        return ""
    shown = clipped(name, 40)
    if allow.is_inplace(name) and name.rstrip("_") in PRICED:
        return f"flops.{shown} has no effect: {shown} costs what {name.rstrip('_')} does; write flops.{name[:-1]}"
    if name in _PRODUCTS:
        return f"flops.{shown} has no effect: a product of (m, k) and (k, n) counts 2*m*k*n"
    if name in _FREE or allow.is_inplace(name):
        return f"flops.{shown} has no effect: views, casts and new tensors count nothing; remove it"
    near = nearest(name[:80], PRICES, closed=True) or nearest(name[:80], sorted(PRICED), closed=True)
    advice = f"did you mean flops.{near[0]}?" if near else "names are those in programs, such as silu"
    return f"{shown} is no name of a function of torch that programs may use; {advice}"
