"""Sizes far from those of a run, at which a function may treat a size in another way: its text compares with a number.

``input[0][:1000]`` cuts nothing while ``K`` is 9, ``len(input[0]) % 7 < 5`` goes one way at 9 and at 10, and a table of
``torch.arange(50)`` ends at 50. So a right program is tried where a size is about such a number, of its functions or of
the references: what is wrong there is told, as in :mod:`stepcore.sim.doubted`, and rejects nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import islice
from math import prod
from typing import Final

from stepcore.fn.decl import CodeBlock
from stepcore.fn.source import statements_of
from stepcore.records import Record
from stepcore.text.span import Embedded

_TRIED: Final = 12  # sizes for each program; most have none
_FARTHEST: Final = 4096
_LARGEST: Final = 1 << 22  # numbers in a tensor of all sizes
_NEAR: Final = 16  # up to here all sizes are moved at once
_REMAINDERS: Final = 13  # up to here all of a divisor are tried
_LENGTHS: Final = frozenset({"len"})
_SIZES: Final = frozenset({"shape", "size", "numel"})
_COUNTING: Final = frozenset({"arange", "range"})
_BOUNDING: Final = frozenset({"min", "max"})


class _Met(Record):
    """Whole numbers of a text: ``limits`` that cut or that sizes are compared with, ``divisors`` of sizes.

    ``ends`` are those of slices and ranges, which matter only to a size beyond them.
    """

    ends: frozenset[int] = frozenset()
    limits: frozenset[int] = frozenset()
    divisors: frozenset[int] = frozenset()


def far_sizes(texts: Iterable[str], sizes: Mapping[str, int]) -> list[dict[str, int]]:
    """Return other numbers for some of ``sizes``, those that can be changed, at which ``texts`` may differ.

    There are a dozen at most. None of them makes more than some millions of numbers where all sizes meet.
    """
    found = [each for each in map(_met, texts) if each is not _NOTHING]
    if not found or not sizes:
        return []
    made = dict.fromkeys(tuple(other.items()) for met in found for other in _tries(met, sizes))
    fitting = ({**sizes, **dict(each)} for each in made)
    return list(islice((other for other in fitting if prod(other.values()) <= _LARGEST), _TRIED))


def _tries(met: _Met, sizes: Mapping[str, int]) -> Iterator[dict[str, int]]:
    most = max(sizes.values())
    for number in sorted(met.ends):
        if min(sizes.values()) < number:
            yield from _moved(sizes, number + 1, lambda size, end=number: size <= end)  # type: ignore[misc]
    for number in sorted(met.limits):
        for size in (number + 1, number, number - 1):
            if size > 0:
                yield from _moved(sizes, size, lambda now, other=size: now != other)  # type: ignore[misc]
    for divisor in sorted(met.divisors):
        steps: Iterable[int] = range(1, divisor)
        if divisor > _REMAINDERS:
            steps = (divisor - most % divisor, divisor - most % divisor - 1, divisor // 2, 1)
        for step in steps:
            yield {name: size + step for name, size in sizes.items()}


def _moved(sizes: Mapping[str, int], size: int, is_moved: Callable[[int], bool]) -> Iterator[dict[str, int]]:
    """Yield all that are to be moved with ``size``, at once where that is small, else one after the other."""
    names = [name for name, now in sizes.items() if is_moved(now)]
    if size <= _NEAR:
        yield dict.fromkeys(names, size)
    else:
        yield from ({name: size} for name in names)


_NOTHING: Final = _Met()


@lru_cache(maxsize=1024)
def _met(text: str) -> _Met:
    """Return the numbers of a body that cut, bound, are compared with sizes, or divide them."""
    ends: set[int] = set()
    limits: set[int] = set()
    divisors: set[int] = set()
    body = statements_of(CodeBlock(Embedded.whole(text)))
    reads = any(map(_is_size, body))
    for statement in body:
        for node in ast.walk(statement):
            match node:
                case ast.Slice(lower=lower, upper=upper):
                    ends |= _whole(lower, upper)
                case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args) if name in _COUNTING:
                    ends |= _whole(*args)
                case ast.Call(func=ast.Name(id=name), args=args) if name in _BOUNDING and any(map(_is_size, args)):
                    limits |= _whole(*args)
                case ast.Compare(left=left, comparators=others) if reads:  # a name may stand for a size, or an index
                    limits |= _whole(left, *others)
                case ast.Dict(keys=keys) if reads:
                    limits |= _whole(*keys)
                case ast.BinOp(left=left, op=ast.Mod() | ast.FloorDiv(), right=right) if _is_size(left):
                    divisors |= _whole(right) - {2}  # a parity is tried already
    if not (ends or limits or divisors):
        return _NOTHING
    return _Met(frozenset(ends), frozenset(limits), frozenset(divisors))


def _whole(*nodes: ast.expr | None) -> set[int]:
    """Return the whole numbers from 2 on that are written out, also as items of lists, without their signs."""
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            found |= _whole(*node.elts)
        inner = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(inner, ast.Constant) and type(inner.value) is int and 1 < inner.value <= _FARTHEST:
            found.add(inner.value)
    return found


def _is_size(node: ast.AST) -> bool:
    """Whether an expression or statement reads the number of a size."""
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Name(id=name)) if name in _LENGTHS:
                return True
            case ast.Attribute(attr=name) if name in _SIZES:
                return True
            case ast.Name(id=name) if name.endswith("_value"):
                return True
    return False
