"""Ways to look at a value: every change of layout is a map of indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from stepagents.lower.affine import Affine, BoundSizes, Index, NotAffine
from stepagents.lower.values import ANY, Choice, Fold, Literal, Padded, Pointwise, Shape, Source, Value, View, sums
from stepcore.sizes.dim import Dim, product


def zeros(count: int) -> tuple[Dim, ...]:
    """Return ``count`` sizes of 0."""
    return (Dim.of(0),) * count


def view(base: Value, shape: Sequence[Dim], remap: Callable[[Index], Index]) -> Value:
    """Return a view; a literal stays one."""
    if isinstance(base, Literal):
        return Literal(tuple(shape), base.dtype, base.text)
    return View(base, tuple(shape), remap)


def broadcast(value: Value, shape: Sequence[Dim]) -> Value:
    """Return ``value`` expanded to ``shape`` by the rules of broadcasting."""
    if tuple(shape) == value.shape:
        return value
    own, skipped = value.shape, len(shape) - len(value.shape)
    repeats = [size == 1 and shape[skipped + place] != 1 for place, size in enumerate(own)]

    def remap(index: Index) -> Index:
        return tuple(Affine() if repeated else index[skipped + place] for place, repeated in enumerate(repeats))

    return view(value, shape, remap)


def permute(value: Value, order: Sequence[int]) -> Value:
    """Return ``value`` with dimension ``order[i]`` as dimension ``i``."""
    rank = len(value.shape)
    places = [place % rank for place in order]

    def remap(index: Index) -> Index:
        found = [Affine()] * rank
        for place, part in zip(places, index, strict=True):
            found[place] = part
        return tuple(found)

    return view(value, [value.shape[place] for place in places], remap)


def last(value: Value, dims: Sequence[int]) -> Value:
    """Return ``value`` with ``dims`` moved to the end, in ascending order."""
    chosen = sorted(dims)
    order = [place for place in range(len(value.shape)) if place not in chosen] + chosen
    return value if order == list(range(len(order))) else permute(value, order)


def unsqueeze(value: Value, dims: Sequence[int]) -> Value:
    """Return ``value`` with dimensions of size 1 at ``dims``, places in the result."""
    rank = len(value.shape) + len(dims)
    new = {place % rank for place in dims}
    rest = iter(value.shape)
    shape = [Dim.of(1) if place in new else next(rest) for place in range(rank)]
    return view(value, shape, lambda index: tuple(part for place, part in enumerate(index) if place not in new))


def squeeze(value: Value, dims: Sequence[int]) -> Value:
    """Return ``value`` without ``dims``, all of size 1."""
    rank = len(value.shape)
    gone = {place % rank for place in dims if value.shape[place % rank] == 1}
    shape = [size for place, size in enumerate(value.shape) if place not in gone]

    def remap(index: Index) -> Index:
        rest = iter(index)
        return tuple(Affine() if place in gone else next(rest) for place in range(rank))

    return view(value, shape, remap)


def along(value: Value, dim: int, size: Dim, start: Affine | Dim | int = 0, step: Dim | int = 1) -> Value:
    """Return ``size`` elements of dimension ``dim``, from ``start`` by ``step`` (negative: backwards)."""
    dim %= len(value.shape)
    shape = (*value.shape[:dim], size, *value.shape[dim + 1 :])

    def remap(index: Index) -> Index:
        return (*index[:dim], index[dim] * step + start, *index[dim + 1 :])

    return view(value, shape, remap)


def select(value: Value, dim: int, place: Dim | int) -> Value:
    """Return the slice at ``place`` of ``dim``."""
    dim %= len(value.shape)
    shape = (*value.shape[:dim], *value.shape[dim + 1 :])
    return view(value, shape, lambda index: (*index[:dim], Affine.of(place), *index[dim:]))


def pad(value: Value, shape: Sequence[Dim], low: Sequence[Dim], fill: str) -> Value:
    """Return ``value`` with ``low`` elements of ``fill`` before it and, up to ``shape``, after it."""
    if tuple(shape) == value.shape and all(size == 0 for size in low):
        return value
    return Padded(value, tuple(shape), tuple(low), fill)


def concatenate(values: Sequence[Value], dim: int, shape: Shape) -> Value:
    """Return ``values`` one after the other along ``dim``: each with zeros around it, added up."""
    rank, dtype = len(shape), values[0].dtype
    dim %= rank
    start = Dim.of(0)
    pieces: list[Value] = []
    for value in values:
        low = (*zeros(dim), start, *zeros(rank - dim - 1))
        pieces.append(pad(value, shape, low, "False" if dtype == "bool" else "0"))
        start = start + value.shape[dim]
    template = "(" + (" | " if dtype == "bool" else " + ").join(f"{{{i}}}" for i in range(len(pieces))) + ")"
    return pieces[0] if len(pieces) == 1 else Pointwise(template, tuple(pieces), dtype, "concat")


def arange(size: Dim, dtype: str = "int64") -> Source:
    """Return 0, 1, 2, ..."""
    return Source((size,), dtype, "position", "arange")


def placed(value: Value, shape: Sequence[Dim], dims: Sequence[int]) -> Value:
    """Return ``value`` as a value of ``shape`` whose dimensions ``dims`` are its own; the others repeat it."""
    return view(value, shape, lambda index: tuple(index[place] for place in dims))


def reshape(value: Value, shape: Sequence[Dim], sizes: BoundSizes) -> Value:
    """Return the elements of ``value`` in row-major order as ``shape``."""
    if tuple(shape) == value.shape:
        return value
    own = value.shape
    groups = _groups([sizes.of(size) for size in own], [sizes.of(size) for size in shape])
    wanted = tuple(shape)

    def remap(index: Index) -> Index:
        found = [Affine()] * len(own)
        for mine, theirs in groups:
            places = [place for place in mine if own[place] != 1]
            given = [place for place in theirs if wanted[place] != 1]
            if len(places) == 1 and len(given) == 1:
                found[places[0]] = index[given[0]]
                continue
            rest = Affine()
            for number, place in enumerate(given):
                rest = rest + index[place] * product(wanted[later] for later in given[number + 1 :])
            for place in reversed(places[1:]):
                rest, found[place] = sizes.divided(rest, own[place])
            if places:
                found[places[0]] = rest
        return tuple(found)

    straight = view(value, shape, remap)
    if isinstance(straight, Literal):
        return straight
    return Choice((straight, _picked(value, wanted, groups)))


def _picked(value: Value, shape: Shape, groups: list[tuple[list[int], list[int]]]) -> Value:
    """Return a reshape as a fold over all places of the input: for indices that no affine read follows."""
    own = value.shape
    mixed = [(a, b) for a, b in groups if not (len(a) == 1 and len(b) == 1)]
    inner = [place for mine, _ in mixed for place in mine]
    wide = (*shape, *(own[place] for place in inner))
    at = {place: len(shape) + number for number, place in enumerate(inner)}
    at |= {a[0]: b[0] for a, b in groups if len(a) == 1 and len(b) == 1}
    args: list[Value] = [view(value, wide, lambda index: tuple(index[at[place]] for place in range(len(own))))]
    tests: list[str] = []
    for mine, theirs in mixed:
        pair = (_counter(wide, [at[place] for place in mine]), _counter(wide, theirs))
        tests.append(f"({{{len(args)}}} == {{{len(args) + 1}}})")
        args += pair
    zero = "False" if value.dtype == "bool" else "0" if value.dtype.startswith("int") else "0.0"
    chosen = Pointwise(f"torch.where({' & '.join(tests)}, {{0}}, {zero})", tuple(args), value.dtype, "pick")
    rule = ANY if value.dtype == "bool" else sums(value.dtype)
    return Fold(rule, (chosen,), len(inner)) if inner else chosen


def _counter(wide: Shape, places: Sequence[int]) -> Value:
    """Return the row-major number of the place in the dimensions ``places``."""

    def remap(index: Index) -> Index:
        total = Affine()
        for number, place in enumerate(places):
            total = total + index[place] * product(wide[later] for later in places[number + 1 :])
        return (total,)

    return view(arange(product(wide[place] for place in places)), wide, remap)


def _groups(own: list[int], wanted: list[int]) -> list[tuple[list[int], list[int]]]:
    """Return which dimensions of one shape make up which of the other."""
    groups: list[tuple[list[int], list[int]]] = []
    mine = theirs = 0
    while mine < len(own) or theirs < len(wanted):
        left: list[int] = []
        right: list[int] = []
        a = b = 1
        while a != b or not (left or right):
            if (a <= b and mine < len(own)) or theirs == len(wanted):
                if mine == len(own):
                    raise NotAffine("Stepsmith has no streaming form of a reshape between shapes of different size")
                a, left, mine = a * own[mine], [*left, mine], mine + 1
            else:
                b, right, theirs = b * wanted[theirs], [*right, theirs], theirs + 1
        groups.append((left, right))
    return groups
