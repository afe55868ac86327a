"""Random programs of tiles and memory off chip, as tasks whose outputs have the types that the generator expects."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from random import Random

MAX_VALUES = 2000


@dataclass(frozen=True)
class Tiled:
    """A stream of tiles, or of buffers of them where ``buffer`` is not empty; sizes are innermost first."""

    name: str
    shape: tuple[int, ...]
    tile: tuple[int, int]
    buffer: tuple[int, ...] = ()

    @property
    def dtype(self) -> str:
        """The element type of a task file."""
        tile = f"Tile(fp32, [{self.tile[0]}, {self.tile[1]}])"
        return f"Buffer({tile}, {list(self.buffer)})" if self.buffer else tile

    @property
    def values(self) -> int:
        """How many numbers it carries."""
        return prod(self.shape) * prod(self.tile) * prod(self.buffer)


def tiled_task(rng: Random, steps: int = 8) -> str:
    """Return a task of about so many operators."""
    maker = _Maker(rng)
    for _ in range(rng.choice((1, 2))):
        maker.load()
    for _ in range(steps):
        rng.choice(_STEPS)(maker)
    return maker.text()


class _Maker:
    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.live: list[Tiled] = []
        self.lines: list[str] = []
        self.parameters: list[str] = []
        self.inputs: list[str] = []
        self.fns: list[str] = []
        self.outputs = ""
        self.count = 0

    # -- pieces ---------------------------------------------------------------------------------------------

    def _add(
        self, call: str, of: str, shape: tuple[int, ...], tile: tuple[int, int], buffer: tuple[int, ...] = ()
    ) -> None:
        made = Tiled(f"A{self.count}", shape, tile, buffer)
        self.count += 1
        self.lines.append(f"{made.name} = step.{call}.apply({of})")
        self.live.append(made)

    def _fn(self, source: str, target: tuple[int, int], body: str, init: str = "") -> str:
        name = f"f{len(self.fns)}"
        head = f"- func_name: {name}\n  input_dtype: {source}\n  output_dtype: Tile(fp32, {list(target)})\n{init}"
        self.fns.append(f"{head}  apply: |-\n    {body}\n")
        return name

    def _take(self, rank: int = 0, *, buffers: bool = False) -> Tiled | None:
        found = [s for s in self.live if len(s.shape) > rank and bool(s.buffer) is buffers]
        if not found:
            return None
        chosen = self.rng.choice(found)
        self.live.remove(chosen)
        return chosen

    def _read(self, count: int) -> tuple[tuple[int, ...], str]:
        """Return an affine read of ``count`` places: its shape, and the parameters."""
        rng = self.rng
        shape = tuple(rng.choice((1, 2, 3)) for _ in range(rng.choice((1, 1, 2, 3))))
        stride = [rng.choice((0, 1, 1, -1, 2)) for _ in shape]
        while True:
            low = sum(min((size - 1) * step, 0) for size, step in zip(shape, stride, strict=True))
            high = sum(max((size - 1) * step, 0) for size, step in zip(shape, stride, strict=True))
            if high - low < count:
                base = -low + rng.randrange(count - (high - low))
                return shape, f"shape={list(shape)}, stride={stride}, base={base}"
            stride = [0 if step and rng.randrange(2) else step for step in stride]

    # -- operators ------------------------------------------------------------------------------------------

    def load(self) -> None:
        """A parameter of its own, once or for each element of a stream."""
        rng = self.rng
        rows, columns = rng.choice((1, 2, 3)), rng.choice((1, 2, 3))
        grid = [rng.choice((1, 2, 3)), rng.choice((1, 2)), *([2] if rng.randrange(4) == 0 else [])]
        name = f"P{len(self.parameters)}"
        dims = [grid[0] * columns, grid[1] * rows, *grid[2:]]
        self.parameters.append(f"- {{name: {name}, dtype: fp32, dims: {dims}, data_gen: torch.randn}}\n")
        shape, more = tuple(grid), ""
        if rng.randrange(3):
            shape, read = self._read(prod(grid))
            more = f", {read}"
        ref = self._take() if rng.randrange(3) == 0 else None
        around = () if ref is None else ref.shape
        if prod(around) * prod(shape) * rows * columns > MAX_VALUES:
            shape, more = (1,), ", shape=[1]"
        call = f"LinearOffChipLoad(tensor={name}, tile=[{rows}, {columns}]{more})"
        self._add(call, "" if ref is None else ref.name, shape + around, (rows, columns))

    def _addresses(self, shape: tuple[int, ...], count: int) -> str:
        """Return an input that names tiles below ``count``."""
        name, dtype = f"I{len(self.inputs)}", self.rng.choice(("int64", '"Tile(int64, [1, 1])"'))
        entry = f"{{name: {name}, dtype: {dtype}, dims: {list(shape)}, min: 0, max: {count - 1}}}"
        self.inputs.append(f"- {entry}\n")
        return name

    def gather(self) -> None:
        """A parameter of its own at addresses that are drawn."""
        rng = self.rng
        rows, columns, grid = rng.choice((1, 2)), rng.choice((1, 3)), (rng.choice((1, 2, 3)), rng.choice((1, 2)))
        name = f"P{len(self.parameters)}"
        dims = [grid[0] * columns, grid[1] * rows]
        self.parameters.append(f"- {{name: {name}, dtype: fp32, dims: {dims}, data_gen: torch.randn}}\n")
        shape = tuple(rng.choice((1, 2, 3)) for _ in range(rng.choice((1, 2))))
        addresses = self._addresses(shape, prod(grid))
        self._add(f"RandomOffChipLoad(tensor={name}, tile=[{rows}, {columns}])", addresses, shape, (rows, columns))

    def scatter(self) -> None:
        """A stream of tiles into a parameter of its own, at addresses that are drawn; perhaps read back after that."""
        data, rng = self._take() if len(self.live) > 1 else None, self.rng  # something has to be returned
        if data is None:
            return
        rows, columns = data.tile
        name, count = f"P{len(self.parameters)}", rng.choice((1, 2, 4))
        dims, flags = [columns * count, rows], f"A{self.count}"
        text = f"- {{name: {name}, dtype: fp32, dims: {dims}, data_gen: torch.randn, written: true}}\n"
        self.parameters.append(text)
        self.outputs += f"- {{name: S{name}, dtype: fp32, dims: {dims}, memory: {name}}}\n"
        addresses = self._addresses((prod(data.shape),), count)
        self.count += 1
        self.lines.append(f"{flags} = step.RandomOffChipStore(tensor={name}).apply(({addresses}, {data.name}))")
        if rng.randrange(2):  # the last flag comes when all is written
            name_of_fn = f"f{len(self.fns)}"
            head = f"- func_name: {name_of_fn}\n  input_dtype: bool\n  output_dtype: bool\n  init: [1]\n"
            self.fns.append(f"{head}  apply: |-\n    return [input[0]]\n")
            last = f"step.Accum(fn={name_of_fn}, b=1).apply(step.Promote(b=1).apply({flags}))"
            self._add(f"LinearOffChipLoad(tensor={name}, tile=[{rows}, {columns}])", last, (count, 1, 1), data.tile)

    def expand(self) -> None:
        """A stream along the innermost dimensions of another, or of itself."""
        ref, rng = self._take(), self.rng
        if ref is None:
            return
        b = rng.randrange(1, len(ref.shape) + 1)
        source = [s for s in self.live if s.shape == ref.shape[b:] and not s.buffer]
        if not source or ref.values * 8 > MAX_VALUES:
            self.live.append(ref)
            return
        data = source[0]
        self.live.remove(data)
        wide = data.name
        for _ in range(b):
            wide = f"step.Promote(b=0).apply({wide})"
        self._add(f"Expand(b={b})", f"({wide}, {ref.name})", ref.shape, data.tile)

    def unfold(self) -> None:
        """A function that makes a list of each tile."""
        data, rng = self._take(), self.rng
        if data is None:
            return
        if data.values * 4 > MAX_VALUES:
            self.live.append(data)
            return
        sizes = rng.choice(((2,), (1, 2), (2, 2)))
        body = f"return [torch.stack([input[0] * k for k in range({prod(sizes)})]).reshape"
        shape = (*reversed(sizes), *data.tile)
        fn = f"f{len(self.fns)}"
        dtype = f'"Buffer({data.dtype}, {list(sizes)})"'
        head = f"- func_name: {fn}\n  input_dtype: {data.dtype}\n  output_dtype: {dtype}\n"
        self.fns.append(f"{head}  apply: |-\n    {body}{shape}]\n")
        joined = (*sizes[:-1], sizes[-1] * data.shape[0], *data.shape[1:])
        self._add(f"FlatMap(fn={fn})", data.name, joined, data.tile)

    def retile(self) -> None:
        """Tiles together."""
        data, axis = self._take(1), self.rng.randrange(2)
        if data is not None:
            rows, columns = data.tile
            count = data.shape[0]
            tile = (rows, columns * count) if axis else (rows * count, columns)
            self._add(f"Retile(axis={axis})", data.name, data.shape[1:], tile)

    def apart(self) -> None:
        """Rows or columns."""
        data, axis = self._take(), self.rng.randrange(2)
        if data is not None:
            tile = (data.tile[0], 1) if axis else (1, data.tile[1])
            shape = (data.shape[0] * data.tile[axis], *data.shape[1:])
            self._add(f"RetileStreamify(axis={axis})", data.name, shape, tile)

    def bufferize(self) -> None:
        """Tiles into buffers."""
        data = self._take(1)
        if data is not None:
            a = self.rng.randrange(1, len(data.shape))
            self._add(f"Bufferize(a={a})", data.name, data.shape[a:], data.tile, data.shape[:a])

    def streamify(self) -> None:
        """Buffers read out, in order or not, once or for each element of a reference."""
        data = self._take(buffers=True)
        if data is None:
            return
        sizes, params, around, of = data.buffer, "", data.shape, data.name
        if self.rng.randrange(2):
            sizes, read = self._read(prod(sizes))
            params = read.rpartition(", base=")[0]
            if "-1" in params or read.rpartition("=")[2] != "0":  # a buffer is read from its beginning
                sizes, params = (1, 2), "shape=[1, 2], stride=[1, 0]"
        refs = [s for s in self.live if len(s.shape) > len(around) and s.shape[-len(around) :] == around]
        if refs:
            around, of = refs[0].shape, f"({data.name}, {refs[0].name})"
            self.live.remove(refs[0])
        self._add(f"Streamify({params})", of, sizes + around, data.tile)

    def product(self) -> None:
        """A product of matrices with a transposed one, in a Map or in a fold of both streams."""
        first = self._take()
        if first is None:
            return
        pairs = [s for s in self.live if (s.shape, s.tile[1], s.buffer) == (first.shape, first.tile[1], ())]
        other = self.rng.choice(pairs) if pairs else None
        if other is None:
            first, other = self._copied(first)
        else:
            self.live.remove(other)
        target, source = (first.tile[0], other.tile[0]), f'["{first.dtype}", "{other.dtype}"]'
        of = f"({first.name}, {other.name})"
        if len(first.shape) > 1 and self.rng.randrange(2):
            fn = self._fn(source, target, "return [state[0] + input[0] @ input[1].T]", "  init: [0]\n")
            op = self.rng.choice(("Accum", "Scan"))
            self._add(f"{op}(fn={fn}, b=1)", of, first.shape[1:] if op == "Accum" else first.shape, target)
        else:
            fn = self._fn(source, target, "return [input[0] @ input[1].T]")
            self._add(f"Map(fn={fn})", of, first.shape, target)

    def _copied(self, data: Tiled) -> tuple[Tiled, Tiled]:
        one, other = (Tiled(f"A{self.count + n}", data.shape, data.tile) for n in range(2))
        self.count += 2
        self.lines.append(f"{one.name}, {other.name} = step.Copy().apply({data.name})")
        return one, other

    def normalise(self) -> None:
        """A body with reductions that keep their dimension."""
        data = self._take()
        if data is not None:
            body = "return [input[0] - torch.amax(input[0], 1, keepdim=True) + torch.sum(input[0], 0, keepdim=True)]"
            self._add(f"Map(fn={self._fn(data.dtype, data.tile, body)})", data.name, data.shape, data.tile)

    def shape(self) -> None:
        """Promote, Flatten or Repeat."""
        data, rng = self._take(buffers=bool(self.rng.randrange(2))), self.rng
        if data is None:
            return
        shape = data.shape
        match rng.randrange(3):
            case 0:
                b = rng.randrange(len(shape) + 1)
                self._add(f"Promote(b={b})", data.name, (*shape[:b], 1, *shape[b:]), data.tile, data.buffer)
            case 1 if len(shape) > 1:
                self._add("Flatten(L=[1])", data.name, (shape[0] * shape[1], *shape[2:]), data.tile, data.buffer)
            case _ if data.values * 2 <= MAX_VALUES:
                self._add("Repeat(n=2)", data.name, (2, *shape), data.tile, data.buffer)
            case _:
                self.live.append(data)

    # -- the task -------------------------------------------------------------------------------------------

    def text(self) -> str:
        """Return the task; a stream of tiles may end in memory."""
        outputs = self.outputs
        stored = self._take() if len(self.live) > 1 and self.rng.randrange(2) else None
        if stored is not None:
            rows, columns = stored.tile
            dims = [columns * 2, rows * prod(stored.shape)]
            base = self.rng.randrange(prod(stored.shape) + 1)
            self.parameters.append(f"- {{name: Y, dtype: fp32, dims: {dims}, data_gen: torch.randn, written: true}}\n")
            self.lines.append(f"step.LinearOffChipStore(tensor=Y, base={base}).apply({stored.name})")
            outputs += f"- {{name: SY, dtype: fp32, dims: {dims}, memory: Y}}\n"
        for end in self.live:
            outputs += f'- {{name: S{end.name}, dtype: "{end.dtype}", dims: {list(end.shape)}}}\n'
        lines = "\n".join(f"  {line}" for line in [*self.lines, f"return {', '.join(s.name for s in self.live)}"])
        fns = "fns:\n" + "".join(self.fns) if self.fns else ""
        parameters = "".join(self.parameters)
        inputs = "".join(["\n", *self.inputs]) if self.inputs else " []\n"
        return f"test_name: tiled\ninputs:{inputs}parameters:\n{parameters}{fns}outputs:\n{outputs}impl: |-\n{lines}\n"


_STEPS = (
    _Maker.load, _Maker.gather, _Maker.scatter, _Maker.expand, _Maker.expand, _Maker.unfold, _Maker.retile,
    _Maker.apart, _Maker.bufferize, _Maker.streamify, _Maker.streamify, _Maker.product, _Maker.product,
    _Maker.normalise, _Maker.shape,
)  # fmt: skip
