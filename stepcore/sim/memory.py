"""Memory off chip in a run: parameters that are read tile by tile, and what stores write.

A tile is stored before what depends on its acknowledgement, and nothing else orders memory. So a place that is stored
is read only after all stores to it, and stored again only after those before; anything else is a finding.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

import torch
from torch import Tensor

from stepcore.findings.errors import SimError
from stepcore.ops.memory import AffineRead
from stepcore.ops.tiles import need_inside, sizes_of_grid
from stepcore.sim.data import TensorData
from stepcore.sim.fnvec.machine import pointer
from stepcore.sim.fnvec.watch import MemoryWatch, is_small
from stepcore.sim.ordering import StoreOrder, Waited, unordered
from stepcore.types import Scalar, Tile


class OffChipMemory:
    """The parameters of one program by name, as they were given; :meth:`begin` forgets what a run read and wrote.

    What is cut of large parameters stays for later runs, so it is added to ``watched`` where parameters are.
    """

    def __init__(self, parameters: Mapping[str, Tensor], watched: set[int]) -> None:
        self._given = parameters
        self._watched = watched
        self._watches: list[MemoryWatch] = []
        self._cut: dict[tuple[str, tuple[int, int]], Tensor] = {}
        self._stored: dict[str, Tensor] = {}
        self._marks: dict[str, Tensor] = {}  # of each parameter that is stored: the last tile that wrote each number
        self._reads: list[tuple[str, tuple[int, int], AffineRead | Tensor, Waited]] = []
        self.order = StoreOrder()

    def begin(self) -> None:
        """Begin a run."""
        if not (self._reads or self._stored or self.order.here):
            return  # the run before touched no memory, as most do not
        self._stored.clear()
        self._marks.clear()
        self._reads.clear()
        self.order = StoreOrder()

    def content(self, name: str) -> Tensor:
        """Return what a parameter holds after a run."""
        return self._stored.get(name, self._given[name])

    def need_order(self) -> None:
        """Look at all reads of a run, when it is over: a store may come after what it should have been before.

        Raises:
            SimError: STEP417 where something was read that the run has stored, and not before.
        """
        for name, tile, places, waited in self._reads if self._stored else ():
            if name in self._marks and unordered(_places(_grid(self._marks[name], name, tile), places), waited):
                raise SimError("STEP417", f"{name} is read where the same run stores it, and nothing orders the two")

    def load(self, name: str, tile: tuple[int, int], element: Tile, places: AffineRead) -> TensorData:
        """Return the tiles at ``places``, which are there; each way to cut a parameter is cut once.

        Raises:
            RuleError: STEP227 where rows or columns do not divide those of the parameter.
        """
        # With each element of a reference it reads the same, so with the first one all of it.
        first = {store: numbers[:1] for store, numbers in self._reference().items() if len(numbers)}
        tiles = self._tiles(name, tile, places, first)
        return TensorData((len(tiles),), element, [tiles]).read_dims(1, places)

    def _reference(self) -> Waited:
        return self.order.here[0] if self.order.here else {}

    def load_at(self, name: str, tile: tuple[int, int], element: Tile, addresses: TensorData) -> TensorData:
        """Return the tiles at ``addresses``; a repeated address is looked up once.

        Raises:
            RuleError: STEP227 as :meth:`load`.
            SimError: STEP413 for an address outside of the parameter.
        """
        places, flat = _numbers(addresses), _numbers(addresses).expand(addresses.sizes[::-1]).reshape(-1)
        _need_addresses(places, prod(_grid(self._given[name], name, tile).shape[:-2]), name)
        tiles = self._tiles(name, tile, flat, self.order.elements(len(flat)))
        return TensorData(addresses.sizes, element, [tiles[places]])

    def _tiles(self, name: str, tile: tuple[int, int], places: AffineRead | Tensor, waited: Waited) -> Tensor:
        """Return all tiles of a parameter, of which those at ``places`` are read after what was ``waited`` for."""
        self._reads.append((name, tile, places, waited))
        if waited and name in self._stored:
            return _grid(self._stored[name], name, tile).clone().reshape(-1, *tile)
        if (name, tile) not in self._cut:
            self._cut[name, tile] = _grid(self._given[name], name, tile).reshape(-1, *tile)
            self._watch(name, self._cut[name, tile])
        return self._cut[name, tile]

    def _watch(self, name: str, cut: Tensor) -> None:
        # A cut may be a view of its parameter; a small one is watched by each call that gets it.
        if pointer(self._given[name]) in self._watched and pointer(cut) not in self._watched and not is_small(cut):
            self._watches.append(MemoryWatch([cut]))
            self._watched.add(pointer(cut))

    def intact(self) -> bool:
        """Return whether what is cut of watched parameters is as it was cut."""
        return not self._watches or all(watch.intact() for watch in self._watches)

    def store(self, name: str, base: int, data: TensorData) -> None:
        """Write tiles to the places from ``base`` on.

        Raises:
            RuleError: STEP227 as :meth:`load`, STEP228 where there are fewer places.
            SimError: STEP417 where one of them was stored already, and not before.
        """
        (tiles,) = data.dense()
        tile, count = (tiles.shape[-2], tiles.shape[-1]), prod(data.sizes)
        places = prod(_grid(self._given[name], name, tile).shape[:-2])
        need_inside("LinearOffChipStore", base, base + count - 1, places, f"the grid of {name}")
        self._write(name, torch.arange(base, base + count), tiles.reshape(count, *tile))

    def store_at(self, name: str, addresses: TensorData, data: TensorData) -> TensorData:
        """Write tiles to ``addresses``, of two for one address the later; return a flag for each.

        Raises:
            RuleError: STEP227 as :meth:`load`.
            SimError: STEP413 for an address outside of the parameter, STEP417 where one was stored already, and not
                before.
        """
        (tiles,) = data.dense()
        tile, count = (tiles.shape[-2], tiles.shape[-1]), prod(data.sizes)
        (flat,) = addresses.dense()
        flat = flat.reshape(-1)
        places = prod(_grid(self._given[name], name, tile).shape[:-2])
        _need_addresses(_numbers(addresses), places, name)
        self._write(name, flat.long(), tiles.reshape(count, *tile))
        return TensorData(addresses.sizes, Scalar("bool"), [torch.ones((1,) * len(addresses.sizes), dtype=torch.bool)])

    def _write(self, name: str, at: Tensor, tiles: Tensor) -> None:
        """Write ``tiles`` to the places ``at``; of two for one place the later stays."""
        tile, count = (tiles.shape[-2], tiles.shape[-1]), len(at)
        if name not in self._stored:
            self._stored[name] = self._given[name].clone()
            self._marks[name] = torch.zeros(self._given[name].shape, dtype=torch.int64)
        grid, marks = _grid(self._stored[name], name, tile), _grid(self._marks[name], name, tile)
        if unordered(_places(marks, at), self.order.elements(count)):
            raise SimError("STEP417", f"{name} is stored twice at a place, and nothing orders the two")
        last = torch.full((prod(grid.shape[:-2]),), -1).scatter_reduce_(0, at, torch.arange(count), "amax")
        written = (last >= 0).nonzero().flatten()
        places, kept = torch.unravel_index(written, grid.shape[:-2]), last[written]
        marks[places] = (self.order.last + 1 + kept).reshape(-1, 1, 1).expand(-1, *tile)
        grid[places] = tiles[kept].to(grid.dtype)
        self.order.last += count


def _grid(tensor: Tensor, name: str, tile: tuple[int, int]) -> Tensor:
    """Return a view of a parameter as a grid of tiles, outermost first: ``(..., R//r, C//c, r, c)``."""
    rows, columns = tile
    *outer, height, width = tensor.shape
    sizes_of_grid(name, tuple(reversed(tensor.shape)), tile)
    return tensor.view(*outer, height // rows, rows, width // columns, columns).transpose(-3, -2)


def _places(grid: Tensor, places: AffineRead | Tensor) -> Tensor:
    """Return what stands at places of a grid of marks: for each tile that is read a row, all of one read as one."""
    marks = grid.flatten(-2).flatten(0, -2)
    if isinstance(places, Tensor):
        return marks[places]
    return TensorData((len(marks),), Tile("int64", (1, 1)), [marks]).read_dims(1, places).components[0].reshape(1, -1)


def _numbers(addresses: TensorData) -> Tensor:
    """Return addresses as numbers, of which some stand for many; those of tiles of one number, too."""
    (tensor,) = addresses.components
    return tensor.reshape(tensor.shape[: len(addresses.sizes)]) if tensor.dim() > len(addresses.sizes) else tensor


def _need_addresses(places: Tensor, count: int, name: str) -> None:
    """Raise STEP413 unless each of ``places`` is one of ``count``."""
    outside = (places < 0) | (places >= count)
    if bool(outside.any()):
        first = outside.nonzero()[0].tolist()
        has = f"0 to {count - 1}" if count > 1 else "0 alone"
        text = (
            f"address {int(places[tuple(first)])}, at position {first[::-1]}, is no tile of {name}, which has {has}; "
            "of an input min and max say which are drawn"
        )
        raise SimError("STEP413", text)
