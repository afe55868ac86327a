"""How the host lays PyTorch tensors out for streams: the key ``layout`` of inputs and outputs.

An input's layout names a tensor with its sizes (outermost first) and says which of its elements the stream holds::

    x[m, k]: read [i1, i0]
    image[c, h, w]: stuff [1, 2, 2]; pad [(0, 0), (1, 1), (1, 1)] with 0; read [i0, i1 + i3, i2 + i4]

``i0, i1, ...`` count along the dimensions of the stream's tensor, outermost first (stream sizes, then those of the
buffer). ``stuff`` puts zeros between neighbours (2: one), ``pad`` adds elements before and after; every place that is
read is an affine expression. Without ``read`` the stream is the tensor. Streams that name the same tensor read the same
data; ``arange`` and ``ones`` name tensors that nobody has to provide, and so does a clause ``values [1, 0, ...]``.

An output's layout says how the host puts the result together: ``permute [1, 0]; merge [1, 1]`` permutes the dimensions
of the stream's tensor and then merges neighbours, so many for each dimension of the result. ``take [2*M - 1, N]`` keeps
so many of each dimension of that; what is left out holds zeros.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from typing import Final

from stepcore.records import Record
from stepcore.sizes.dim import Dim, DimError
from stepcore.sizes.expressions import dim_of

_HEAD: Final = re.compile(r"\s*([A-Za-z_]\w*)\s*\[([^\]]*)\]\s*(?::(.*))?", re.DOTALL)
_CLAUSE: Final = re.compile(
    r"\s*(values|stuff|pad|read|permute|merge|take)\s*(\[.*?\])\s*(?:with\s+(\S+)\s*)?", re.DOTALL
)
_NAME: Final = re.compile(r"\w+")
_COUNTER: Final = re.compile(r"i(\d+)")
GENERATED: Final = ("arange", "ones")


class ReadPlace(Record):
    """Where one dimension of the tensor is read: ``offset`` plus counters times factors."""

    offset: Dim
    factors: tuple[tuple[int, Dim], ...]

    def text(self) -> str:
        """Return the place as an affine expression of counters."""
        pieces = [_term_text(counter, factor) for counter, factor in self.factors]
        if self.offset != 0 or not pieces:
            pieces.append(str(self.offset))
        return " + ".join(pieces).replace("+ -", "- ")


class InputLayout(Record):
    """A stream as an affine read of the tensor ``source``; ``places`` is None where the stream is the tensor itself."""

    source: str
    sizes: tuple[Dim, ...]
    steps: tuple[int, ...]
    padding: tuple[tuple[Dim, Dim], ...]
    fill: float
    places: tuple[ReadPlace, ...] | None
    values: tuple[float, ...] | None = None

    @property
    def is_generated(self) -> bool:
        """True for a tensor that nobody has to provide."""
        return self.source in GENERATED or self.values is not None

    def symbols(self) -> frozenset[str]:
        """Return the symbols of all sizes that it names."""
        places = self.places or ()
        sizes = [*self.sizes, *(end for ends in self.padding for end in ends), *(place.offset for place in places)]
        sizes += [factor for place in places for _, factor in place.factors]
        return frozenset().union(*(size.symbols() for size in sizes))

    def text(self) -> str:
        """Return the layout in the words of task files: :func:`input_layout` reads it as an equal one."""
        clauses: list[str] = []
        if self.values is not None:
            clauses.append(f"values [{', '.join(map(_number_text, self.values))}]")
        if any(step > 1 for step in self.steps):
            clauses.append(f"stuff [{_listed(self.steps)}]")
        if any(end != 0 for ends in self.padding for end in ends):
            ends = ", ".join(f"({before}, {after})" for before, after in self.padding)
            clauses.append(f"pad [{ends}] with {_number_text(self.fill)}")
        if self.places is not None:
            clauses.append(f"read [{', '.join(place.text() for place in self.places)}]")
        head = f"{self.source}[{_listed(self.sizes)}]"
        return f"{head}: {'; '.join(clauses)}" if clauses else head


class OutputLayout(Record):
    """How a result comes from the tensor of its stream: a permutation, then neighbours merged, then a part taken.

    Of each dimension the first ``sizes`` belong to the result, all where it is None.
    """

    order: tuple[int, ...]
    groups: tuple[int, ...]
    sizes: tuple[Dim, ...] | None = None

    @property
    def is_identity(self) -> bool:
        """Whether the stream's tensor is the result as it is."""
        plain = self.order == tuple(range(len(self.order))) and self.groups == (1,) * len(self.order)
        return plain and self.sizes is None

    def text(self) -> str:
        """Return the layout in the words of task files: :func:`output_layout` reads it as an equal one."""
        whole = f"permute [{_listed(self.order)}]; merge [{_listed(self.groups)}]"
        return whole if self.sizes is None else f"{whole}; take [{_listed(self.sizes)}]"


class LayoutError(ValueError):
    """A layout that cannot be read, or does not fit."""


def input_layout(text: str) -> InputLayout:
    """Read the layout of an input.

    Raises:
        LayoutError: it cannot be read; the message says why.
    """
    head = _HEAD.fullmatch(text)
    if head is None:
        raise _unreadable(text, "write the sizes of the tensor and what is read, such as `x[N, M]: read [i1, i0]`")
    sizes = tuple(_affine(item, text)[0] for item in _items(head[2]))
    clauses = _clauses(head[3] or "", text)
    rank = len(sizes)
    steps = _integers(clauses["stuff"][0], text) if "stuff" in clauses else (1,) * rank
    zero = Dim.of(0)
    padding: tuple[tuple[Dim, Dim], ...] = ((zero, zero),) * rank
    fill = 0.0
    if "pad" in clauses:
        padding = tuple(_ends(item, text) for item in _items(clauses["pad"][0]))
        fill = _number(clauses["pad"][1] or "0", text)
    places = None
    if "read" in clauses:
        places = tuple(ReadPlace(*_affine(item, text)) for item in _items(clauses["read"][0]))
    if any(len(found) != rank for found in (steps, padding, places or sizes)):
        raise _unreadable(text, f"{head[1]} has {rank} dimensions, and every clause needs as many items")
    values = tuple(_number(item, text) for item in _items(clauses["values"][0])) if "values" in clauses else None
    return InputLayout(head[1], sizes, steps, padding, fill, places, values)


def output_layout(text: str) -> OutputLayout:
    """Read the layout of an output.

    Raises:
        LayoutError: it cannot be read; the message says why.
    """
    clauses = _clauses(text, text)
    if clauses.keys() - {"take"} != {"permute", "merge"}:
        raise _unreadable(text, "write permute [1, 0]; merge [1, 1]")
    order, groups = _integers(clauses["permute"][0], text), _integers(clauses["merge"][0], text)
    if sorted(order) != list(range(len(order))) or sum(groups) > len(order):
        raise _unreadable(text, "permute names each dimension once, and merge counts them")
    sizes = None
    if "take" in clauses:
        found = [_affine(item, text) for item in _items(clauses["take"][0])]
        if len(found) != len(groups) or any(factors for _, factors in found):
            raise _unreadable(text, "take names the size of each dimension of the result")
        sizes = tuple(size for size, _ in found)
    return OutputLayout(order, groups, sizes)


def _clauses(body: str, text: str) -> dict[str, tuple[str, str | None]]:
    found: dict[str, tuple[str, str | None]] = {}
    for part in filter(str.strip, body.split(";")):
        clause = _CLAUSE.fullmatch(part)
        if clause is None:
            raise _unreadable(text, f"{part.strip()!r} is no clause")
        found[clause[1]] = (clause[2][1:-1], clause[3])
    return found


def _items(text: str) -> list[str]:
    """Split at commas outside of parentheses."""
    items, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth == 0:
            items.append("")
        else:
            items[-1] += sign
    return [item.strip() for item in items if item.strip()]


def _integers(clause: str, text: str) -> tuple[int, ...]:
    items = _items(clause)
    if not all(item.isdecimal() for item in items):
        raise _unreadable(text, f"[{clause}] holds more than integers")
    return tuple(map(int, items))


def _ends(item: str, text: str) -> tuple[Dim, Dim]:
    ends = _items(item[1:-1]) if item.startswith("(") and item.endswith(")") else []
    if len(ends) != 2:
        raise _unreadable(text, f"{item!r} is no pair such as (1, 1)")
    return _affine(ends[0], text)[0], _affine(ends[1], text)[0]


def _affine(item: str, text: str) -> tuple[Dim, tuple[tuple[int, Dim], ...]]:
    """Return the constant part of an expression and the factors of its counters."""
    try:
        whole = dim_of(ast.parse(item, mode="eval").body, signed=True)
        written = (match for name in _NAME.findall(item) if (match := _COUNTER.fullmatch(name)))
        counters = dict.fromkeys(int(match[1]) for match in written)
        offset = _at(whole, None)
        factors = tuple((counter, _at(whole, counter) - offset) for counter in counters)
        if whole != sum((factor * Dim.symbol(f"i{counter}") for counter, factor in factors), offset):
            raise ValueError("counters are multiplied or divided")
        return offset, factors
    except (SyntaxError, ValueError, DimError):
        raise _unreadable(text, f"{item!r} is no affine expression") from None


def _at(whole: Dim, one: int | None) -> Dim:
    """Return the value where the counter ``one`` is 1 and all others are 0."""

    def value(name: str) -> Dim | None:
        counter = _COUNTER.fullmatch(name)
        return None if counter is None else Dim.of(1 if int(counter[1]) == one else 0)

    return whole.substitute(value)


def _number(text: str, whole: str) -> float:
    try:
        return float({"True": "1", "False": "0"}.get(text, text))
    except ValueError:
        raise _unreadable(whole, f"{text!r} is no number") from None


def _term_text(counter: int, factor: Dim) -> str:
    text = str(factor)
    if factor == 1:
        return f"i{counter}"
    return f"{text}*i{counter}" if text.isidentifier() or text.lstrip("-").isdecimal() else f"({text})*i{counter}"


def _number_text(number: float) -> str:
    return f"{number:.9g}"


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(str, items))


def _unreadable(text: str, why: str) -> LayoutError:
    return LayoutError(f"the layout {text.strip()!r} cannot be read: {why}")
