"""The operators of tiles and of memory off chip, one tile after the other.

A parameter is a tensor `(..., R, C)`. Every broken rule raises `OracleError`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .base import Operator, pair, single
from .elements import Scalar, Tile
from .shaping import affine_places
from .streams import Item, OracleError, Stream, require


def _cuts(tensor: torch.Tensor, rows: int, columns: int) -> list[torch.Tensor]:
    """Views of all tiles, row by row of the grid."""
    height, width = tensor.shape[-2:]
    require(height % rows == 0 and width % columns == 0, f"{rows} x {columns} does not divide {height} x {width}")
    tiles = []
    for matrix in tensor.view(-1, height, width):
        for top in range(0, height, rows):
            for left in range(0, width, columns):
                tiles.append(matrix[top : top + rows, left : left + columns])
    return tiles


def _scalar(tensor: torch.Tensor) -> Scalar:
    """The element type of a tensor in memory."""
    return Scalar({torch.int64: "int64", torch.int32: "int32", torch.bool: "bool"}.get(tensor.dtype, "fp32"))


@dataclass(frozen=True, kw_only=True)
class LinearOffChipLoad(Operator):
    """Tiles of a tensor at the places of an affine read, once, or for each element of a reference."""

    tensor: torch.Tensor
    tile: Sequence[int]
    shape: Sequence[int] | None = None
    stride: Sequence[int] | None = None
    base: int = 0

    def run(self, inputs: Any) -> Stream:
        """Nothing, or `ref` -> `shape + ref.shape` of tiles."""
        rows, columns = self.tile
        tiles = _cuts(self.tensor, rows, columns)
        *outer, height, width = self.tensor.shape
        sizes = (width // columns, height // rows, *reversed(outer)) if self.shape is None else tuple(self.shape)
        places = affine_places(sizes, self.stride, self.base)
        require(all(0 <= place < len(tiles) for place in places), "a read leaves the memory")
        around = () if inputs == () else single(inputs).sizes
        times = 1 if inputs == () else len(single(inputs).items)
        items: list[Item] = [(tiles[place],) for _ in range(times) for place in places]
        return Stream(sizes + around, Tile(_scalar(self.tensor), (rows, columns)), items)


@dataclass(frozen=True, kw_only=True)
class LinearOffChipStore(Operator):
    """Element `k` becomes tile `base + k` of a tensor, in place."""

    tensor: torch.Tensor
    base: int = 0

    def run(self, inputs: Any) -> None:
        """Tiles -> nothing."""
        stream, (rows, columns) = single(inputs), _sizes(single(inputs))
        tiles = _cuts(self.tensor, rows, columns)
        require(0 <= self.base <= len(tiles) - len(stream.items), "a store leaves the memory")
        for place, (tile,) in enumerate(stream.items, self.base):
            tiles[place].copy_(tile)


@dataclass(frozen=True, kw_only=True)
class RandomOffChipLoad(Operator):
    """The tiles of a tensor at the places that a stream names."""

    tensor: torch.Tensor
    tile: Sequence[int]

    def run(self, inputs: Any) -> Stream:
        """Addresses -> their shape of tiles, as memory is now."""
        rows, columns = self.tile
        tiles, stream = _cuts(self.tensor, rows, columns), single(inputs)
        items: list[Item] = [(tiles[_address(item, len(tiles))].clone(),) for item in stream.items]
        return Stream(stream.sizes, Tile(_scalar(self.tensor), (rows, columns)), items)


@dataclass(frozen=True, kw_only=True)
class RandomOffChipStore(Operator):
    """Each tile becomes that of a tensor which its address names, in place."""

    tensor: torch.Tensor

    def run(self, inputs: Any) -> Stream:
        """`(addresses, tiles)` -> a true flag for each address."""
        first, second = pair(inputs)
        addresses, stream = single(first), single(second)
        require(len(addresses.items) == len(stream.items), "there is a tile for each address")
        tiles = _cuts(self.tensor, *_sizes(stream))
        for item, (tile,) in zip(addresses.items, stream.items, strict=True):
            tiles[_address(item, len(tiles))].copy_(tile)
        return Stream(addresses.sizes, Scalar("bool"), [(torch.tensor(True),) for _ in addresses.items])


def _address(item: Item, count: int) -> int:
    (tensor,) = item
    number = int(tensor.item())
    require(0 <= number < count, f"the address {number} is outside of the memory")
    return number


@dataclass(frozen=True, kw_only=True)
class Retile(Operator):
    """The innermost tiles below each other (`axis` 0) or beside each other, as one."""

    axis: int

    def run(self, inputs: Any) -> Stream:
        """`shape` of `[r, c]` -> `shape[1:]` of larger tiles."""
        stream = single(inputs)
        require(stream.rank >= 1 and self.axis in (0, 1), "one dimension has to stay")
        empty = torch.zeros([0 if axis == self.axis else size for axis, size in enumerate(_sizes(stream))])
        items: list[Item] = [
            (torch.cat([empty, *(tile for (tile,) in chunk)], self.axis),) for chunk in stream.chunks(1)
        ]
        sizes = list(_sizes(stream))
        sizes[self.axis] *= stream.size(0)
        return Stream(stream.sizes[1:], Tile(Scalar(), sizes), items)


@dataclass(frozen=True, kw_only=True)
class RetileStreamify(Operator):
    """Rows (`axis` 0) or columns of each tile, one after the other."""

    axis: int

    def run(self, inputs: Any) -> Stream:
        """`shape` of `[r, c]` -> a longer innermost dimension of single rows or columns."""
        stream = single(inputs)
        sizes = list(_sizes(stream))
        count, sizes[self.axis] = sizes[self.axis], 1
        items: list[Item] = [(part,) for (tile,) in stream.items for part in self._parts(tile)]
        first = stream.sizes[0]
        longer = first * count if isinstance(first, int) else tuple(length * count for length in first)
        return Stream((longer, *stream.sizes[1:]), Tile(Scalar(), sizes), items)

    def _parts(self, tile: torch.Tensor) -> Iterator[torch.Tensor]:
        for number in range(tile.shape[self.axis]):
            yield tile.narrow(self.axis, number, 1)


def _sizes(stream: Stream) -> tuple[int, int]:
    if not isinstance(stream.element, Tile):
        raise OracleError(f"this operator takes tiles, not {stream.element}")
    return stream.element.sizes
