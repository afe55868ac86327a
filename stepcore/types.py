"""Element types and stream types. All sizes are written innermost first, as everywhere in generation 1.

A stream of shape ``[x0, ..., xR]`` (rank R) whose element is ``Buffer(T, [s0, ..., sB])`` holds one tensor of
shape ``(xR, ..., x0, sB, ..., s0)``: stream sizes reversed, then buffer sizes reversed, then the length
of a selector, or rows and columns of a tile: a tile is the one thing that is written outermost first.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from stepcore.sizes.dim import ANY, Dim, Facts, product

# Spelling in task files -> size of one value in bytes.
DTYPE_BYTES: Final[dict[str, int]] = {
    "fp32": 4, "fp16": 2, "bf16": 2, "int32": 4, "int64": 8, "bool": 1,
}  # fmt: skip
# Spellings that are read besides those above; the published Python form writes "float".
DTYPE_ALIASES: Final[dict[str, str]] = {
    "float": "fp32", "float32": "fp32", "f32": "fp32", "half": "fp16", "float16": "fp16",
    "bfloat16": "bf16", "int": "int32", "long": "int64",
}  # fmt: skip

# Bounds of what operators may build up; published programs have ranks to 6 and tuples of 3.
MAX_RANK: Final = 64
MAX_COMPONENTS: Final = 1024

TILE_RULE: Final = "a tile has two sizes, rows and columns: [16, 64]"

MEMORY_RULE: Final = "a parameter has static sizes: it lies in memory before a run begins"

Shape: TypeAlias = tuple[Dim, ...]


def as_shape(sizes: Iterable[Dim | int]) -> Shape:
    """Return ``sizes`` as a shape."""
    return tuple([size if type(size) is Dim else Dim.of(size) for size in sizes])  # each type asks


@dataclass(frozen=True, slots=True)
class Scalar:
    """One number. ``dtype`` is a key of :data:`DTYPE_BYTES` or one of its aliases."""

    dtype: str = "fp32"

    def __post_init__(self) -> None:
        dtype = DTYPE_ALIASES.get(self.dtype, self.dtype)
        if dtype not in DTYPE_BYTES:
            raise ValueError(f"the element type {self.dtype!r} is not known; known are {', '.join(DTYPE_BYTES)}")
        object.__setattr__(self, "dtype", dtype)

    def __str__(self) -> str:
        return self.dtype


@dataclass(frozen=True, slots=True, init=False)
class Multihot:
    """A selector over ``length`` branches: entries 0 or 1 of the scalar's dtype."""

    scalar: Scalar
    length: Dim

    def __init__(self, scalar: Scalar, length: Dim | int) -> None:
        object.__setattr__(self, "scalar", scalar)
        object.__setattr__(self, "length", Dim.of(length))

    def __str__(self) -> str:
        return f"Multihot({self.scalar}, {self.length})"


@dataclass(frozen=True, slots=True, init=False)
class Tile:
    """A matrix of ``shape`` (rows, columns), the element of generation 2."""

    scalar: Scalar
    shape: Shape

    def __init__(self, dtype: Scalar | str, shape: Sequence[Dim | int]) -> None:
        object.__setattr__(self, "scalar", Scalar(dtype) if isinstance(dtype, str) else dtype)
        object.__setattr__(self, "shape", as_shape(shape))

    def __str__(self) -> str:
        return f"Tile({self.scalar}, {shape_text(self.shape)})"


@dataclass(frozen=True, slots=True, init=False)
class Buffer:
    """An on-chip tensor of ``element`` (scalar, selector or tile) with sizes ``shape``, innermost first."""

    element: Scalar | Multihot | Tile
    shape: Shape

    def __init__(self, element: Scalar | Multihot | Tile, shape: Sequence[Dim | int]) -> None:
        object.__setattr__(self, "element", element)
        object.__setattr__(self, "shape", as_shape(shape))

    def __str__(self) -> str:
        return f"Buffer({self.element}, {shape_text(self.shape)})"


@dataclass(frozen=True, slots=True, init=False)
class STuple:
    """A tuple of element types; a tuple of one is not its component."""

    items: tuple[Single, ...]

    def __init__(self, items: Iterable[Single]) -> None:
        object.__setattr__(self, "items", tuple(items))

    def __str__(self) -> str:
        return f"[{', '.join(map(str, self.items))}]"


Single: TypeAlias = Scalar | Multihot | Buffer | Tile
Element: TypeAlias = Single | STuple


@dataclass(frozen=True, slots=True)
class StreamType:
    """Element type and shape of a stream; the rank is derived, never stored."""

    element: Element
    shape: Shape

    @property
    def rank(self) -> int:
        """Number of dimensions minus one."""
        return len(self.shape) - 1

    @property
    def is_open(self) -> bool:
        """Whether a size of the shape or of the element is one that only a run knows."""
        return any(size.is_open for shape in tensor_shapes(self) for size in shape)

    def __str__(self) -> str:
        return f"{shape_text(self.shape)} of {self.element}"


def element_text(element: Element, names: Mapping[Element, str]) -> str:
    """Return an element type as its user calls it: by its name, or by those of its components, where there are some."""
    if names and element in names:  # a type that is looked for is hashed, and most files have no names for types
        return names[element]
    if isinstance(element, STuple):
        return f"[{', '.join(element_text(item, names) for item in element.items)}]"
    return str(element)


def element_count(shape: Sequence[Dim]) -> Dim:
    """Return how many elements a stream has (``||s||`` of the language page, "Metrics")."""
    return merged_size(shape, outermost=True)


def merged_size(sizes: Sequence[Dim], *, outermost: bool) -> Dim:
    """Return the size of neighbouring dimensions that become one; ``outermost``: the outermost one is among them."""
    if not any(size.is_open for size in sizes):
        return product(sizes)
    from stepcore.sizes.kinds import merged  # most streams have static sizes

    return merged(sizes, outermost=outermost)


def shape_text(shape: Iterable[Dim]) -> str:
    """Return ``[M, N]``."""
    return f"[{', '.join(map(str, shape))}]"


def components(element: Element) -> tuple[Single, ...]:
    """Return the components of a tuple, or the single element as a tuple of one."""
    return element.items if isinstance(element, STuple) else (element,)


def join(elements: Iterable[Element]) -> STuple:
    """Return the flat tuple of all components, as ``Zip`` builds it."""
    return STuple(item for element in elements for item in components(element))


def element_shape(element: Single) -> Shape:
    """Return the tensor shape of one stream position, outermost first: buffer sizes reversed, then the selector."""
    match element:
        case Scalar():
            return ()
        case Multihot():
            return (element.length,)
        case Buffer():
            return (*reversed(element.shape), *element_shape(element.element))
        case Tile():
            return element.shape


def element_sizes(element: Element) -> Iterator[Dim]:
    """Yield the sizes that stand in an element type."""
    match element:
        case Multihot():
            yield element.length
        case Buffer():
            yield from element.shape
            yield from element_sizes(element.element)
        case Tile():
            yield from element.shape
        case STuple():
            for item in element.items:
                yield from element_sizes(item)


def any_size_in(stream: StreamType) -> str:
    """Return the name of an any size that stands in a type, an empty text where there is none."""
    for size in (*stream.shape, *element_sizes(stream.element)):
        for monomial, _ in size.terms:
            for atom, _power in monomial:
                if atom[0] == ANY:
                    return atom
    return ""


def takes_any(element: Element) -> bool:
    """Return whether a type of a function has any sizes."""
    return any(name[0] == ANY for size in element_sizes(element) for name in size.symbols())


def tensor_shapes(stream: StreamType) -> tuple[Shape, ...]:
    """Return the tensor shape of each tuple component of a whole stream, outermost first."""
    outer = tuple(reversed(stream.shape))
    return tuple((*outer, *element_shape(item)) for item in components(stream.element))


def dtype_of(element: Single) -> str:
    """Return the dtype of one component, a key of :data:`DTYPE_BYTES`."""
    match element:
        case Scalar():
            return element.dtype
        case Buffer():
            return dtype_of(element.element)
        case Multihot() | Tile():
            return element.scalar.dtype


def element_values(element: Single) -> Dim:
    """Return how many numbers one component of one stream position holds."""
    return product(element_shape(element))


def element_bytes(element: Element) -> Dim:
    """Return the size of one stream position in bytes (``|T|`` of the language page ("Metrics"))."""
    total = Dim.of(0)
    for item in components(element):
        total = total + element_values(item) * DTYPE_BYTES[dtype_of(item)]
    return total


def too_large(stream: StreamType) -> str:
    """Return what about a type is beyond all bounds, for a message; an empty text where nothing is."""
    element = stream.element
    rank = len(element.shape) if isinstance(element, Buffer) else 0
    if len(stream.shape) <= MAX_RANK and rank <= MAX_RANK and not isinstance(element, STuple):
        return ""  # most streams
    parts = components(element)
    if len(parts) > MAX_COMPONENTS:
        return f"a tuple of {len(parts)} components; at most {MAX_COMPONENTS} are possible"
    ranks = [len(stream.shape), *(len(item.shape) for item in parts if isinstance(item, Buffer))]
    return f"{max(ranks)} dimensions; at most {MAX_RANK} are possible" if max(ranks) > MAX_RANK else ""


def same_shape(left: Sequence[Dim], right: Sequence[Dim], facts: Facts) -> bool:
    """Return whether two shapes are equal, size by size, under the asserted divisibility."""
    return len(left) == len(right) and all(facts.equal(a, b) for a, b in zip(left, right, strict=True))


def same_element(left: Element, right: Element, facts: Facts) -> bool:
    """Return whether two element types are structurally equal; sizes compare as expressions."""
    if left == right:
        return True
    match left, right:
        case Multihot(), Multihot():
            return left.scalar == right.scalar and facts.equal(left.length, right.length)
        case Buffer(), Buffer():
            return same_element(left.element, right.element, facts) and same_shape(left.shape, right.shape, facts)
        case Tile(), Tile():
            return left.scalar == right.scalar and same_shape(left.shape, right.shape, facts)
        case STuple(), STuple():
            pairs = zip(left.items, right.items, strict=False)
            return len(left.items) == len(right.items) and all(same_element(a, b, facts) for a, b in pairs)
        case _:
            return False
