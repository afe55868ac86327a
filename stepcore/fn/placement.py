"""Where the values of a body live and what they are made of: real numbers in dense tensors on the CPU.

Programs are compared on the CPU, so nothing may move a tensor elsewhere: on "meta" it has no values, and other devices
and layouts have other rules. What a call says about it in the text is found here; :mod:`stepcore.sim.fnvec.guard` looks
at the values themselves.
"""

from __future__ import annotations

import ast
import re
from typing import Final

CPU: Final = re.compile(r"cpu(:0)?")
ELSEWHERE: Final = "tensors live on the CPU here; remove {}"
COMPLEX: Final = "complex numbers are not part of the function language; compute real and imaginary parts apart"
PERCENT: Final = "% formatting is not part of the function language; use an f-string"
_KEYWORDS: Final = {
    "layout": "tensors are dense here; remove layout=",
    "pin_memory": "memory is not pinned here; remove pin_memory=",
    "names": "dimensions have no names here; remove names=",
    "requires_grad": "nothing is trained here; remove requires_grad=",
}
_DEVICE_FIRST: Final = ("to", "cpu", "cuda")


def misplaced(node: ast.Call) -> tuple[ast.expr, str] | None:
    """Return the argument of a call that asks for another device, layout or kind of memory, and what to say of it."""
    for keyword in node.keywords:
        if keyword.arg == "device" and (name := _text(keyword.value)) is not None and not CPU.fullmatch(name):
            return keyword.value, ELSEWHERE.format(f"device={name!r}")
        if keyword.arg == "device" and _is_number(keyword.value):
            return keyword.value, ELSEWHERE.format(f"device={ast.unparse(keyword.value)[:40]}")
        # Defaults that are spelled out are fine.
        if keyword.arg in _KEYWORDS and not _is_off(keyword.value):
            return keyword.value, _KEYWORDS[keyword.arg]
    function = node.func
    if isinstance(function, ast.Attribute) and function.attr in _DEVICE_FIRST:
        for argument in node.args[:1]:
            name = _text(argument)
            if name is not None and not CPU.fullmatch(name):
                return argument, ELSEWHERE.format(f".{function.attr}({name!r})")
            if _is_number(argument):  # the number of a device with CUDA, as torch reads it
                return argument, ELSEWHERE.format(f".{function.attr}({ast.unparse(argument)[:40]})")
    if isinstance(function, ast.Attribute) and function.attr == "type" and node.args:
        name = _text(node.args[0])
        if name is not None:
            return node.args[0], f"write .to(torch.float32) or another dtype of torch instead of .type({name!r})"
    return None


def _text(node: ast.expr) -> str | None:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _is_number(node: ast.expr) -> bool:
    """Return whether an expression is a whole number, or arithmetic on some."""
    match node:
        case ast.Constant(value=value):
            return type(value) is int
        case ast.UnaryOp(op=ast.USub() | ast.UAdd(), operand=operand):
            return _is_number(operand)
        case ast.BinOp(left=left, right=right):
            return _is_number(left) and _is_number(right)
    return False


def _is_off(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and (node.value is None or node.value is False)
