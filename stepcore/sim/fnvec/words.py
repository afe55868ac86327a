"""What torch and Python say of an operation that fails, in words for people, with the expression that failed."""

from __future__ import annotations

import ast
import re
from typing import Final

from stepcore.text.wording import clipped

_SHOWN: Final = 60  # characters of an expression
_LONGEST: Final = 300  # of a reason
# Patterns of torch's and Python's words -> ours.
_PLAIN: Final = tuple(
    (re.compile(pattern), ours)
    for pattern, ours in (
        (
            r"a Tensor with (\d+) elements cannot be converted to Scalar",
            r"a tensor of \1 numbers is no single number; leave .item() out, or index one of them",
        ),
        (
            r"argument '\w+' \(position (\d+)\) must be Tensor, not list",
            r"argument \1 is a list where a tensor is needed; the components of input are input[0] and so on",
        ),
        (
            r"argument '\w+' \(position (\d+)\) must be tuple of Tensors, not Tensor",
            r"argument \1 is a tensor where a list of tensors is needed; put them in [ ]",
        ),
        (
            r"received an invalid combination of arguments - got (\(.*\baxes=.*\)), but expected.*",
            r"takes no such arguments: \1; write dim for axes",
        ),
        (
            r"received an invalid combination of arguments - got (\(.*\)), but expected.*",
            r"takes no such arguments: \1",
        ),
        (r"missing \d+ required positional arguments?: \"(\w+)\"", r"lacks the argument \1"),
        (r"unsupported operand type\(s\) for (\S+?):? '(\w+)' and '(\w+)'", r"\2 \1 \3 cannot be computed"),
        (
            r"The size of tensor a \((\d+)\) must match the size of tensor b \((\d+)\) at non-singleton dimension "
            r"(\d+)",
            r"sizes \1 and \2 meet in dimension \3, and neither is 1",
        ),
        (r"mat1 and mat2 shapes cannot be multiplied \((\w+) and (\w+)\)", r"a matrix of \1 cannot multiply one of \2"),
        (r"list index out of range", "the list has no item at this index"),
        (r"invalid literal for int\(\) with base 10: (.*)", r"\1 is no integer"),
    )
)


def failure(error: BaseException, node: ast.AST) -> str:
    """Return why the expression ``node`` fails: what was written, and the reason on one line."""
    words = plain(str(error)) or type(error).__name__
    return f"`{_shown(node)}` fails: {words}"


def plain(text: str) -> str:
    """Return what torch or Python says of a failure in words for people, on one line."""
    words = " ".join(text.split("\n", maxsplit=1)[0].split())
    for pattern, ours in _PLAIN:
        words = pattern.sub(ours, words)
    return clipped(words, _LONGEST)


def _shown(node: ast.AST) -> str:
    try:
        return clipped(ast.unparse(node), _SHOWN)
    except (RecursionError, ValueError):  # nested as deeply as the parser allows
        return "this expression"
