"""Random programs whose tiles may be cut into parts: loads in many orders, work that keeps rows apart or mixes them."""

from __future__ import annotations

from math import prod
from random import Random
from typing import Final, NamedTuple

_HEAD: Final = """\
from typing import Annotated

import torch

import stepcore as step

"""
_BODIES: Final = (
    "torch.relu(input[0]) * 2.0", "torch.softmax(input[0], -1)", "input[0] - torch.amax(input[0], 1, keepdim=True)",
    "input[0] * torch.sigmoid(input[0])",
)  # fmt: skip
_MIXING: Final = ("torch.cumsum(input[0], 0)", "input[0] - torch.sum(input[0], 0, keepdim=True)")
_LARGEST: Final = 3000


class _Tiles(NamedTuple):
    """A stream of tiles: its name, sizes of the stream, innermost first, and rows and columns."""

    name: str
    shape: tuple[int, ...]
    rows: int
    columns: int

    @property
    def text(self) -> str:
        return f'step.Tile("fp32", [{self.rows}, {self.columns}])'


def parted_module(rng: Random) -> str:
    """Return a Python file with a program of a few operators over tiles of two rows or more."""
    return _Maker(rng).text()


class _Maker:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.fns: list[str] = []
        self.inputs: list[str] = []
        self.parameters: list[str] = []
        self.types: dict[str, str] = {}
        self.rows, self.tiles = rng.choice((2, 3, 4, 6)), rng.choice((1, 2, 3))
        self.columns, self.across = rng.choice((1, 2, 3)), rng.choice((1, 1, 2, 3))
        self.known: dict[object, str] = {}
        self.order, self.around = "", rng.randrange(6) == 0
        self.shape: tuple[int, ...] = ()

    def text(self) -> str:
        """Return the whole file."""
        rng = self.rng
        now = self.loaded()
        for _ in range(rng.randrange(2, 7)):
            for way in rng.sample(_WAYS, len(_WAYS)):
                made = way(self, now)
                if made is not None and prod(made.shape) * made.rows * made.columns <= _LARGEST:
                    now = made
                    break
        returned = self.end(now)
        data = ", ".join(f'"{each.partition(":")[0]}": "torch.randn"' for each in (*self.inputs, *self.parameters))
        given = ", ".join([*self.inputs, *(["*", *self.parameters] if self.parameters else [])])
        names = "".join(f"{name} = {text}\n" for text, name in self.types.items())
        head = f"@step.program(data={{{data}}})\ndef work({given}) -> {returned}:\n"
        body = "".join(f"    {line}\n" for line in self.lines)
        return f"{_HEAD}{names}\n\n{''.join(self.fns)}{head}{body}"

    # -- pieces ---------------------------------------------------------------------------------------------

    def type_of(self, tiles: _Tiles) -> str:
        """Return a tile type, mostly by a name."""
        if self.rng.randrange(4) == 0:
            return tiles.text
        return self.types.setdefault(tiles.text, f"T{len(self.types)}")

    def add(self, call: str, of: str, shape: tuple[int, ...], like: _Tiles, columns: int = 0) -> _Tiles:
        """Write a line that names a new stream."""
        name = f"E{len(self.lines)}"
        self.lines.append(f"{name} = step.{call}.apply({of})")
        return _Tiles(name, shape, like.rows, columns or like.columns)

    def fn(self, given: tuple[str, ...], made: _Tiles, body: str, *, folds: bool = False) -> str:
        """Declare a function, or take one that is there."""
        known = (given, made.columns, body, folds)
        if known in self.known and self.rng.randrange(2):
            return self.known[known]
        types = f"({', '.join(given)})" if len(given) > 1 else given[0]
        init, state = (", init=[0]", "state, ") if folds else ("", "")
        name = f"f{len(self.fns)}"
        head = f"@step.fn(input={types}, output={self.type_of(made)}{init})"
        self.fns.append(f"{head}\ndef {name}({state}input):\n    return [{body}]\n\n\n")
        self.known[known] = name
        return name

    def parameter(self, columns: int, rows: int, *, written: bool = False) -> str:
        """Declare a parameter."""
        name = f"p{len(self.parameters)}"
        kind = "step.Param(written=True)" if written else "step.Param"
        self.parameters.append(f"{name}: Annotated[{kind}, step.f32, ({columns}, {rows})]")
        return name

    def loaded(self) -> _Tiles:
        """A parameter in tiles, in some order."""
        across, tiles, rng = self.across, self.tiles, self.rng
        depth = rng.choice(("", "", ", depth=3"))
        forms = (
            ("", (across, tiles)),
            (f", shape=[{across}, {tiles}], stride=[1, {across}]{depth}", (across, tiles)),
            (f", shape=[{tiles}, {across}], stride=[{across}, 1]{depth}", (tiles, across)),
            (f", shape=[{across}, 2, {tiles}], stride=[1, 0, {across}]", (across, 2, tiles)),
            (f", shape=[1, {across}, {tiles}], stride=[0, 1, {across}]", (1, across, tiles)),
            (f", shape=[{across}, {tiles}], stride=[1, -{across}], base={(tiles - 1) * across}", (across, tiles)),
        )
        self.order, self.shape = rng.choice(forms)
        self.shape += (2,) * self.around
        return self.another(f"E{len(self.lines)}")

    def another(self, name: str) -> _Tiles:
        """A parameter of the same size, read in the same order."""
        rows, columns = self.rows, self.columns
        parameter = self.parameter(columns * self.across, rows * self.tiles)
        call = f"step.LinearOffChipLoad(tensor={parameter}, tile=[{rows}, {columns}]{self.order})"
        reference = f"r{len(self.inputs)}" if self.around else ""
        self.inputs += [f"{reference}: Annotated[step.Stream, step.f32, (2,)]"] * self.around
        self.lines.append(f"{name} = {call}.apply({reference})")
        return _Tiles(name, self.shape, rows, columns)

    # -- operators ------------------------------------------------------------------------------------------

    def point(self, now: _Tiles) -> _Tiles:
        """A function of each row, or, rarely, one that mixes them."""
        body = self.rng.choice(_MIXING if self.rng.randrange(8) == 0 else _BODIES)
        return self.add(f"Map(fn={self.fn((self.type_of(now),), now, body)})", now.name, now.shape, now)

    def weighted(self, now: _Tiles) -> _Tiles:
        """A product with a matrix that is loaded where it is read, or computed before."""
        wide = self.rng.choice((1, 2, 3))
        matrix = _Tiles("", now.shape, now.columns, wide)
        tile, shape = f"[{now.columns}, {wide}]", list(now.shape)
        call = f"LinearOffChipLoad(tensor={self.parameter(wide, now.columns)}, tile={tile}, shape={shape}"
        weight = self.add(f"{call}, stride={[0] * len(shape)})", "", now.shape, matrix)
        if self.rng.randrange(3) == 0:
            fn = self.fn((self.type_of(matrix),), matrix, "input[0] / 2.0")
            weight = self.add(f"Map(fn={fn})", weight.name, now.shape, matrix)
        made = now._replace(columns=wide)
        given = (self.type_of(now), self.type_of(matrix))
        if len(now.shape) > 1 and self.rng.randrange(2):
            fn = self.fn(given, made, "state[0] + input[0] @ input[1]", folds=True)
            return self.add(f"Accum(fn={fn}, b=1)", f"({now.name}, {weight.name})", now.shape[1:], made)
        fn = self.fn(given, made, "input[0] @ input[1]")
        return self.add(f"Map(fn={fn})", f"({now.name}, {weight.name})", now.shape, made)

    def beside(self, now: _Tiles) -> _Tiles | None:
        """Tiles of another parameter of the same rows."""
        if (now.shape, now.rows, now.columns) != (self.shape, self.rows, self.columns):
            return None
        other = self.another(f"E{len(self.lines)}")
        kind = self.type_of(now)
        fn = self.fn((kind, kind), now, "input[0] + input[1]")
        return self.add(f"Map(fn={fn})", f"({other.name}, {now.name})", now.shape, now)

    def scaled(self, now: _Tiles) -> _Tiles:
        """A number for each tile, from an input."""
        name = f"s{len(self.inputs)}"
        sizes = "".join(f"{size}, " for size in now.shape)
        self.inputs.append(f"{name}: Annotated[step.Stream, step.f32, ({sizes})]")
        fn = self.fn((self.type_of(now), "step.f32"), now, "input[0] * input[1]")
        return self.add(f"Map(fn={fn})", f"({now.name}, {name})", now.shape, now)

    def folded(self, now: _Tiles) -> _Tiles | None:
        """Tiles of an innermost dimension together, or all sums on the way."""
        if len(now.shape) < 2:
            return None
        fn = self.fn((self.type_of(now),), now, "state[0] + input[0]", folds=True)
        if self.rng.randrange(3) == 0:
            return self.add(f"Scan(fn={fn}, b=1)", now.name, now.shape, now)
        b = self.rng.randrange(1, len(now.shape))
        return self.add(f"Accum(fn={fn}, b={b})", now.name, now.shape[b:], now)

    def twice(self, now: _Tiles) -> _Tiles:
        """Copies that meet again, one of which went through a function."""
        names = f"E{len(self.lines)}a", f"E{len(self.lines)}b"
        self.lines.append(f"{', '.join(names)} = step.Copy({self.rng.choice(('', 'depth=4'))}).apply({now.name})")
        one = self.point(now._replace(name=names[0]))
        kind = self.type_of(now)
        fn = self.fn((kind, kind), now, "input[0] * input[1]")
        return self.add(f"Map(fn={fn})", f"({names[1]}, {one.name})", now.shape, now)

    def shaped(self, now: _Tiles) -> _Tiles | None:
        """Other dimensions of the stream."""
        shape, rng = now.shape, self.rng
        way = rng.randrange(3)
        if way == 0:
            b = rng.randrange(len(shape) + 1)
            return self.add(f"Promote(b={b})", now.name, (*shape[:b], 1, *shape[b:]), now)
        if way == 1:
            return self.add("Repeat(n=2)", now.name, (2, *shape), now)
        if len(shape) < 2:
            return None
        at = rng.randrange(1, len(shape))
        return self.add(
            f"Flatten(L=[{at}])", now.name, (*shape[: at - 1], shape[at - 1] * shape[at], *shape[at + 1 :]), now
        )

    # -- ends -----------------------------------------------------------------------------------------------

    def end(self, now: _Tiles) -> str:
        """Return the type of what is returned, nothing where tiles are stored."""
        way = self.rng.randrange(6)
        if way == 0:
            across = now.shape[0] if self.rng.randrange(2) else 1
            rows = now.rows * prod(now.shape) // across
            name = self.parameter(now.columns * across, rows, written=True)
            self.lines.append(f"step.LinearOffChipStore(tensor={name}).apply({now.name})")
            return "None"
        axis = self.rng.randrange(2)
        if way == 1 and len(now.shape) > 1:
            size = now.shape[0]
            rows, columns = (now.rows, now.columns * size) if axis else (now.rows * size, now.columns)
            now = _Tiles(f"step.Retile(axis={axis}).apply({now.name})", now.shape[1:], rows, columns)
        elif way == 2:
            rows, columns = (now.rows, 1) if axis else (1, now.columns)
            size = now.columns if axis else now.rows
            made = (now.shape[0] * size, *now.shape[1:])
            now = _Tiles(f"step.RetileStreamify(axis={axis}).apply({now.name})", made, rows, columns)
        self.lines.append(f"return {now.name}")
        sizes = "".join(f"{size}, " for size in now.shape)
        return f"Annotated[step.Stream, {now.text}, ({sizes})]"


_WAYS: Final = (
    _Maker.point, _Maker.weighted, _Maker.beside, _Maker.scaled, _Maker.folded, _Maker.twice, _Maker.shaped,
)  # fmt: skip
