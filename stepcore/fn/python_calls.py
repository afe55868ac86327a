"""How Python's own functions are called: the arguments that a body may give them are those that Python takes.

What they do with tensors where Python refuses to is refused as well: a converted file is run by Python.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, Final

from stepcore.records import Record
from stepcore.text.wording import counted

_MANY: Final = 1 << 30


class PythonSignature(Record):
    """A function takes ``least`` to ``most`` arguments, those of ``only`` by name alone, with ``any_name`` any name.

    ``places`` are the names of positional arguments in their order, by which they may be given, too; None stands for
    those that have no name.
    """

    least: int
    most: int
    places: tuple[str | None, ...] = ()
    only: frozenset[str] = frozenset()
    any_name: bool = False


_ONE: Final = PythonSignature(1, 1)
_AT_MOST_ONE: Final = PythonSignature(0, 1)
_EXTREME: Final = PythonSignature(1, _MANY, only=frozenset({"key", "default"}))
# From the documentation of Python 3.11, "Built-in Functions".
SIGNATURES: Final = {
    **dict.fromkeys(("abs", "all", "any", "len", "reversed"), _ONE),
    **dict.fromkeys(("bool", "float", "list", "tuple"), _AT_MOST_ONE),
    **dict.fromkeys(("max", "min"), _EXTREME),
    "dict": PythonSignature(0, 1, any_name=True),
    "divmod": PythonSignature(2, 2),
    "enumerate": PythonSignature(1, 2, ("iterable", "start")),
    "int": PythonSignature(0, 2, (None, "base")),
    "pow": PythonSignature(2, 3, ("base", "exp", "mod")),
    "range": PythonSignature(1, 3),
    "round": PythonSignature(1, 2, ("number", "ndigits")),
    "slice": PythonSignature(1, 3),
    "sorted": PythonSignature(1, 1, only=frozenset({"key", "reverse"})),
    "str": PythonSignature(0, 3, ("object", "encoding", "errors")),
    "sum": PythonSignature(1, 2, (None, "start")),
    "zip": PythonSignature(0, _MANY, only=frozenset({"strict"})),
}
# What Python does not do with a tensor, and what does it.
NOT_OF_TENSORS: Final = {
    "round": "write torch.round(x)",
    "divmod": "write x // y and x % y",
}


def wrong_call(name: str, count: int, named: Sequence[str]) -> str:
    """Return why Python's function ``name`` takes no such call, or an empty text.

    ``count`` is the number of positional arguments, ``named`` are the names of the others.
    """
    signature = SIGNATURES.get(name)
    if signature is None:
        return ""
    taken = signature.places[:count]
    for each in named:
        if each in taken:
            return f"{name}() is given {each} twice; give it once"
        if each not in signature.places and each not in signature.only and not signature.any_name:
            return f"{name}() takes no argument {each}; remove it"
    given = count + sum(each in signature.places for each in named)
    if given < signature.least or count < signature.places.count(None):
        return f"{name}() takes at least {counted(signature.least, 'argument')}; give it what is missing"
    if name == "pow" and given == 3:
        return "pow() takes two arguments here; write a ** b % c"
    if given > signature.most:
        return f"{name}() takes at most {counted(signature.most, 'argument')}; remove the others"
    if name in ("max", "min") and "default" in named and count > 1:
        return f"{name}() of several arguments takes no default; remove it"
    return ""


def placed(name: str, args: Sequence[Any], named: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return the arguments of a call that :func:`wrong_call` finds right, those that have a place in their order."""
    places = SIGNATURES[name].places[len(args) :] if named and name in SIGNATURES else ()
    given = [each for each in places if each is not None and each in named]
    if not given or tuple(given) != places[: len(given)]:
        return args, named
    rest = {key: value for key, value in named.items() if key not in given}
    return [*args, *(named[each] for each in given)], rest


def bits_to_round(number: Any, digits: Any) -> int:
    """Return how many bits the power of ten has at least that Python makes for ``round(number, digits)``.

    It makes ``10 ** -digits`` for a whole number, whatever is left of that: 0 for others, and for digits from 0 on.
    """
    is_made = isinstance(number, int) and isinstance(digits, int) and digits < 0
    return -digits * 3 if is_made else 0


def of_a_tensor(name: str) -> str:
    """Return why Python's function ``name`` takes no tensor."""
    return f"{name}() of a tensor is nothing in Python; {NOT_OF_TENSORS[name]}"


def wrong_node(node: ast.Call, name: str) -> str:
    """Return what is wrong with a call of Python's function ``name`` as it is written, as far as the text tells."""
    named = [keyword.arg for keyword in node.keywords]
    if None in named or any(isinstance(argument, ast.Starred) for argument in node.args):
        return ""
    return wrong_call(name, len(node.args), [each for each in named if each is not None])
