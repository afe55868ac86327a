"""Convolutions over tiles, as products: windows of an image become columns on chip, and the weights multiply them.

An image is read plane by plane (one channel, all its rows), by several loads at once, and joined to one tile. Each lane
has a run of channels of the result, in blocks: its unit makes the columns, multiplies, and computes what the function
does behind the convolution. The weights are a matrix in memory, a row for each channel of the result, which is how
their tensor lies there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Final

from stepagents.schedules.costs import LoadCost, UnitCost
from stepagents.schedules.forms import Scheduled, bracketed, store, unit_of
from stepagents.schedules.parts import WHOLE, Blocks, Labels, NoSchedule, TilePart, shape_of
from stepagents.schedules.sizes import divisors
from stepagents.schedules.space import MOST_LANES, Schedule, ScheduleForm, SizedFunction
from stepagents.schedules.tile_ops import ELEMENTWISE, TileBody
from stepagents.schedules.writer import Family, Lanes, Loops, MemoryView, ProgramLane, Writer, lane_count, tuple_text
from stepagents.traced.graph import opname, size_argument, size_text
from stepcore.records import Record
from stepcore.sizes.dim import Dim, product
from stepcore.types import Buffer, Tile

if TYPE_CHECKING:
    from torch.fx import Node

_BEFORE: Final = 2  # dimensions in front of those that windows run over: images, channels
_MOST_PORTS: Final = 16
_MOST_CHANNELS: Final = 64  # of a block of the result
_ELEMENTWISE: Final = frozenset({*ELEMENTWISE, "clamp", "clone", "alias", "detach"})


class Convolution(Record):
    """A convolution of one or two dimensions, with a number for each in ``kernel`` and those behind it.

    ``group`` is how many channels of the result belong to each group of channels, None where it is one group.
    """

    node: Node
    image: Node
    weight: Node
    bias: Node | None
    kernel: tuple[int, ...]
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]
    group: Dim | None

    @property
    def taps(self) -> Dim:
        """How many numbers a window has."""
        return shape_of(self.weight)[1] * prod(self.kernel)

    @property
    def is_flat(self) -> bool:
        """Whether windows run over one dimension."""
        return len(self.kernel) == 1


def is_convolution(node: Node) -> bool:
    """Whether a node is a convolution."""
    return opname(node) == "convolution"


def convolution_of(node: Node) -> Convolution:
    """Return what a node convolves.

    Raises:
        NoSchedule: its kind of convolution has no form here.
    """
    given: Any = node.args
    image, weight, bias, stride, padding, dilation, transposed, *_ = given
    groups = size_argument(node, (8,))
    channels = shape_of(image)[1]
    kernel = tuple(size.constant for size in shape_of(weight)[_BEFORE:] if size.constant is not None)
    if transposed:
        raise NoSchedule("transposed convolutions have no form over tiles yet", node)
    if len(kernel) > 2 or len(shape_of(image)) != len(kernel) + _BEFORE:
        raise NoSchedule(
            "windows of more than two dimensions, or of sizes that are no numbers, have no form over tiles yet", node
        )
    if weight.op != "placeholder" or (bias is not None and bias.op != "placeholder"):
        raise NoSchedule("weights of a convolution that are computed cannot be tiled: pass them", node)
    if groups != 1 and channels != shape_of(weight)[0]:
        raise NoSchedule("a group has more channels of the result than of the image, or fewer", node)
    each = Dim.of(1) if channels == groups else channels // groups
    window = (kernel, tuple(stride), tuple(padding), tuple(dilation))
    return Convolution(node, image, weight, bias, *window, None if groups == 1 else each)


class PlaneBlocks(Blocks):
    """Blocks of whole channels: the rows of their planes below each other; ``matrix`` are weights, a row a channel."""

    def __init__(self, blocks: Blocks, matrix: Node) -> None:
        super().__init__(blocks.sizes, blocks.bound)
        self._matrix = matrix

    def dims(self, node: Node) -> tuple[Dim, ...]:
        """Return the sizes of a tensor as its memory has them."""
        dims = shape_of(node)
        return (dims[0], product(dims[1:])) if node is self._matrix else dims

    def tile(self, part: TilePart) -> tuple[Dim, Dim]:
        """Return the rows and columns of a part's tile."""
        dims = self.dims(part.node)
        if len(dims) <= _BEFORE:
            return super().tile(part)
        return product((self.sizes.get(part.labels[1], dims[1]), *dims[_BEFORE:-1])), dims[-1]


class WindowsForm(ScheduleForm):
    """Convolutions of one image at a time, in lanes of images and of channels of the result."""

    name = "convolution"
    alone = True

    def takes(self, function: SizedFunction) -> bool:
        """Whether it convolves."""
        return any(map(is_convolution, function.behind))

    def points(self, function: SizedFunction) -> Iterator[Schedule]:
        """Yield blocks of channels, in lanes of images, of channels, and of an image's loads."""
        found = convolution_of(next(filter(is_convolution, function.behind)))
        images, channels = function.sizes(shape_of(found.node)[:_BEFORE])
        read = function.size(shape_of(found.image)[1])
        one_port = found.is_flat or found.group is not None
        for own in divisors(images, 1, MOST_LANES):
            for across in divisors(channels, 1, MOST_LANES // own):
                for block in divisors(channels // across, 1, _MOST_CHANNELS):
                    for ports in [1] if one_port else divisors(read, 1, max(_MOST_PORTS // own, 1)):
                        lanes = ProgramLane("b", own), ProgramLane("c", across), ProgramLane("f", ports)
                        yield Schedule(self.name, {"c": block}, lanes)

    def labels(self, function: SizedFunction, _sizes: Mapping[str, Dim]) -> Labels:
        """Return the labels of images one by one, runs of channels, whole planes."""
        return ("b", "c", *(WHOLE,) * (len(function.dims) - _BEFORE))

    def loops(self, function: SizedFunction, _labels: Labels) -> Loops:
        """Return loops over channels, then images."""
        return [("c", function.dims[1]), ("b", function.dims[0])]

    def write(self, writer: Writer, plan: Scheduled) -> None:
        """Write a convolution with what is computed element by element before and behind it.

        Raises:
            NoSchedule: see :meth:`stepagents.schedules.rows.RowsForm.write`.
        """
        nodes = _elementwise(plan.result.node)
        found = next((convolution_of(node) for node in nodes if is_convolution(node)), None)
        if found is None:
            raise NoSchedule(
                "the result is no convolution with operations on single elements around it", plan.result.node
            )
        if sum(map(is_convolution, (*nodes, *_elementwise(found.image)))) > 1:
            raise NoSchedule("two convolutions cannot be one loop nest over tiles", plan.result.node)
        writer.blocks = PlaneBlocks(writer.blocks, found.weight)
        name = found.weight.name
        kernel = ", ".join(map(str, found.kernel))
        writer.views[name] = MemoryView(writer.blocks.dims(found.weight), f".unflatten(1, (-1, {kernel}))")
        _Form(writer, plan, found).write()


def _elementwise(node: Node) -> list[Node]:
    """Return a node and those behind it, up to convolutions.

    Raises:
        NoSchedule: one of them is not elementwise, or broadcasts.
    """
    found, stack = [node], [node]
    while stack:
        node = stack.pop()
        if node.op == "placeholder" or is_convolution(node):
            continue
        if opname(node) not in _ELEMENTWISE:
            whole = node if opname(node) else node.all_input_nodes[0]  # one of several results has no name of its own
            raise NoSchedule(f"{opname(whole)} beside a convolution has no form over tiles yet", node)
        for other in node.all_input_nodes:
            if shape_of(other) != shape_of(node) and shape_of(other):
                raise NoSchedule("a broadcast beside a convolution has no form over tiles yet", node)
            if other not in found:
                found.append(other)
                stack.append(other)
    return found


class _Form:
    """One convolution of one program."""

    def __init__(self, writer: Writer, plan: Scheduled, found: Convolution) -> None:
        self._writer, self._plan, self._found = writer, plan, found
        self._images, self._channels = shape_of(found.node)[:_BEFORE]
        self._loops: Loops = (("c", self._channels), ("b", self._images))
        self._lanes = writer.live("b", "c")

    @property
    def _read(self) -> TilePart:
        """What a call reads of the image: all channels, or those of the groups that its channels are in."""
        image, labels = self._found.image, self._plan.result.labels
        return TilePart(image, labels if self._found.group is not None else ("b", WHOLE, *labels[_BEFORE:]))

    def write(self) -> None:
        """Write loads, products and stores."""
        writer, found, result = self._writer, self._found, self._plan.result
        for label, size in self._loops:
            writer.loop(label, size)
        image = self._image()
        body = TileBody(writer.blocks)
        place = body.reading(self._read)
        beside = [TilePart(found.weight, ("c", WHOLE))]
        beside += [] if found.bias is None else [TilePart(found.bias, ("c",))]
        for part in beside:
            body.reading(part)
        streams = [image.text(), *(writer.load(part, self._loops, self._lanes).text() for part in beside)]
        body.know(TilePart(found.node, result.labels), body.keep(self._product(body, place), "product"))
        value = body.of(result)
        streams += [self._planes(part).text() for part in body.inputs[len(streams) :]]
        self._store(body, value, streams)

    # -- what is read --------------------------------------------------------------------------------

    def _image(self) -> Family:
        """Write the image: all of it for each block of channels of the result, or the channels of its groups."""
        writer, found = self._writer, self._found
        grouped = found.group is not None
        loops, own = (self._loops, self._lanes) if grouped else (self._loops[1:], writer.live("b"))
        part = self._read
        body = TileBody(writer.blocks)
        value = body.of(part)
        streams = [self._planes(each) if grouped else self._whole(each, own) for each in body.inputs]
        text = tuple_text([each.text() for each in streams])
        if body.lines or value != "input[0]":
            writer.said(found.image)
            unit = unit_of(writer, loops, own, body, (), None)
            text = f"{writer.mapped('before', body, part, value, unit)}.apply({text})"
        elif grouped:
            return streams[0]
        if grouped:
            return writer.shared(text, "image", own, ())
        count = writer.loop("c", self._channels)
        writer.costs.kept += lane_count(own) * writer.bytes_of(part)
        return writer.shared(f"step.Repeat(n={count}).apply({text})", "image", own, writer.live("c"))

    def _whole(self, part: TilePart, own: Lanes) -> Family:
        """Write whole images, read by several loads at once and joined."""
        writer = self._writer
        if self._found.is_flat:
            return writer.load(part, self._loops[1:], own)
        name = f"{part.node.name}_planes"
        ports = writer.live("f")
        count = lane_count(ports)
        share = _share(shape_of(part.node)[1], count, writer)
        pieces = writer.shared(self._load(part, share, self._loops[1:], (*own, *ports)), name, (*own, *ports), ())
        if not ports:
            return pieces
        rows, columns = writer.blocks.tile(part)
        tile = Tile("fp32", (product((share, *shape_of(part.node)[_BEFORE:-1])), columns))
        unit = UnitCost(lane_count(own), writer.rounds_of(self._loops[1:]), 0)
        whole, body = Tile("fp32", (rows, columns)), "return [torch.cat(input, 0)]"
        call = writer.function("joined", [tile] * count, whole, body, unit).format("")
        index = "".join(f"[{lane.index}]" for lane in own)
        return writer.shared(f"step.Map({call}).apply(tuple({pieces.name}{index}))", "whole", own, ())

    def _planes(self, part: TilePart) -> Family:
        """Write the channels of lanes, block by block."""
        if self._found.is_flat:
            return self._writer.load(part, self._loops, self._lanes)
        text = self._load(part, self._writer.blocks.sizes["c"], self._loops, self._lanes)
        return self._writer.shared(text, f"{part.node.name}_planes", self._lanes, ())

    def _load(self, part: TilePart, channels: Dim, loops: Loops, lanes: Lanes) -> str:
        """Return the load of ``channels`` planes at a time, joined to one tile."""
        writer = self._writer
        dims = shape_of(part.node)
        count = self._block if loops is self._loops else bracketed(str(channels))
        steps = {"c": count, "b": str(dims[1])}
        base = " + ".join(_times(lane.index, *self._run(lane, count, bracketed(str(dims[1])))) for lane in lanes)
        arguments = [
            f"tensor={part.node.name}", f"tile=[{dims[-2]}, {dims[-1]}]",
            f"shape=[{', '.join([count, *(writer.loop(*loop) for loop in loops)])}]",
            f"stride=[{', '.join(['1', *(steps[label] for label, _ in loops)])}]",
            *([f"base={base}"] if base else []), "dispatch=@",
        ]  # fmt: skip
        number = channels.bind(writer.blocks.bound)
        height, width = (size.bind(writer.blocks.bound) for size in dims[-2:])
        ports = lane_count(lanes)
        bursts = height * -(-4 * width // writer.burst)
        writer.costs.loads.append(LoadCost(ports, writer.rounds_of(loops) * number, bursts))
        writer.costs.kept += ports * number * height * width * 4
        return f"step.Retile(axis=0).apply(step.LinearOffChipLoad({', '.join(arguments)}).apply())"

    @property
    def _block(self) -> str:
        """The name of how many channels a block has."""
        return self._writer.names["c"]

    def _run(self, lane: ProgramLane, count: str, channels: str) -> tuple[str, ...]:
        """Return the factors of how many planes further a lane begins."""
        if lane.label == "f":
            return (count,)
        rounds = self._writer.loop(lane.label, dict(self._loops)[lane.label])
        return (rounds, count if lane.label == "c" else channels)

    # -- products and stores -------------------------------------------------------------------------

    def _product(self, body: TileBody, image: str) -> str:
        """Return the text of the product of windows and weights, as planes below each other."""
        found = self._found
        dims, places = shape_of(found.image), shape_of(found.node)
        height = "1" if found.is_flat else size_text(dims[-2])
        given = (("dilation", found.dilation, 1), ("padding", found.padding, 0), ("stride", found.stride, 1))
        options = "".join(
            f", {name}={self._pair(values, plain)}"
            for name, values, plain in given
            if any(each != plain for each in values)
        )
        planes = body.keep(f"{image}.reshape(-1, {height}, {size_text(dims[-1])})", "planes")
        windows = f"torch.nn.functional.unfold({planes}, {self._pair(found.kernel, 1)}{options})"
        taps, count = size_text(found.taps), " * ".join(f"({size_text(size)})" for size in places[_BEFORE:])
        body.flops += 2 * body.blocks.numbers(self._plan.result)[0] * body.blocks.numbers(self._plan.result)[1]
        body.flops *= found.taps.bind(body.blocks.bound)
        if found.group is None:
            windows = body.keep(windows, "windows")
            text = f"({windows}.T @ input[1].T).T"
        else:
            windows = body.keep(f"{windows}.reshape(-1, {taps}, {count})", "windows")
            if body.blocks.sizes["c"].bind(body.blocks.bound) % found.group.bind(body.blocks.bound):
                raise NoSchedule("a block of its channels holds no whole groups", found.node)
            weights = body.keep(f"input[1].reshape(-1, {size_text(found.group)}, {taps})", "weights")
            text = f"({windows}.transpose(1, 2) @ {weights}.transpose(1, 2)).transpose(1, 2).reshape(-1, {count})"
        if found.bias is not None:
            text = f"({text} + input[2].reshape(-1, 1))"
        return text if found.is_flat else f"{text}.reshape(-1, {size_text(places[-1])})"

    def _pair(self, values: tuple[int, ...], first: int) -> str:
        return f"({first}, {values[0]})" if self._found.is_flat else f"({values[0]}, {values[1]})"

    def _store(self, body: TileBody, value: str, streams: list[str]) -> None:
        writer, result = self._writer, self._plan.result
        dims = shape_of(result.node)
        unit = unit_of(writer, self._loops, self._lanes, body, body.inputs[1:2], result)
        for node in (self._found.node, result.node):
            writer.said(node)
        if self._found.is_flat:
            call = writer.mapped("convolve", body, result, value, unit)
            store(writer, self._plan, f"{call}.apply({tuple_text(streams)})", self._lanes)
            return
        plane = Buffer(Tile("fp32", (dims[-2], dims[-1])), (writer.blocks.sizes["c"],))
        value = f"{value}.reshape(-1, {size_text(dims[-2])}, {size_text(dims[-1])})"
        types = [writer.element(part) for part in body.inputs]
        call = writer.function("convolve", types, plane, body.returning(value), unit).format("")
        self._store_planes(f"step.FlatMap({call}).apply({tuple_text(streams)})")

    def _store_planes(self, text: str) -> None:
        """Write the stores of all lanes: each lane's planes lie one behind the other.

        Raises:
            NoSchedule: they do not.
        """
        writer, result = self._writer, self._plan.result
        if writer.rounds(*self._loops[1]) > 1 and any(lane.label == "c" for lane in self._lanes):
            raise NoSchedule("a store cannot follow the tiles of a lane: they do not lie one behind the other")
        base = " + ".join(
            _times(lane.index, *self._run(lane, self._block, bracketed(str(self._channels)))) for lane in self._lanes
        )
        for depth, lane in enumerate(self._lanes):
            writer.lines.append(f"{'    ' * depth}for {lane.index} in range({lane.count}):")
        margin = "    " * len(self._lanes)
        place = f", base={base}" if base else ""
        writer.lines += [
            f"{margin}tile = {text}",
            f"{margin}step.LinearOffChipStore(tensor={self._plan.memory}{place}, dispatch=@).apply(tile)",
        ]
        block = writer.blocks.sizes["c"].bind(writer.blocks.bound)
        rows, columns = writer.blocks.numbers(result)
        calls = writer.rounds_of(self._loops) * block
        bursts = rows // block * -(-4 * columns // writer.burst)
        writer.costs.stores.append(LoadCost(lane_count(self._lanes), calls, bursts))


def _share(size: Dim, count: int, writer: Writer) -> Dim:
    """Return a size divided by a number.

    Raises:
        NoSchedule: that leaves a remainder.
    """
    number = size.bind(writer.blocks.bound)
    if number % count:
        raise NoSchedule(f"{count} does not divide {size} = {number}")
    writer.divide(size, count)
    return Dim.of(size.constant // count) if size.constant is not None else size // count


def _times(*factors: str) -> str:
    return " * ".join(each for each in factors if each != "1") or "1"
