"""Matrix products, convolution and pooling: folds of elementwise products of windows.

What has no streaming form raises ``CannotLower``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import gcd

from stepagents.lower import views
from stepagents.lower.affine import Affine, Index
from stepagents.lower.aten.calls import Call, CannotLower, Results, handles, literal, no_form_of, size_text
from stepagents.lower.aten.folds import as_type, folded, unary
from stepagents.lower.values import Choice, Fold, Literal, Padded, Pointwise, Shape, Stuffed, Value, largest, sums
from stepcore.records import Record
from stepcore.sizes.dim import Dim, product


def sum_of_products(left: Value, right: Value, dims: int, dtype: str) -> Value:
    """Return the sum over the last ``dims`` dimensions of an elementwise product."""
    return Fold(sums(dtype), (Pointwise("({0} * {1})", (left, right), dtype, "multiply"),), dims)


@handles("mm", "bmm", "matmul", "dot", "mv", "vdot")
def matrix_product(call: Call) -> Results:
    """Products of matrices, vectors and batches of them."""
    return product_of(call, call.tensor(call.parameters[0][0]), call.tensor(call.parameters[1][0]))


def product_of(call: Call, left: Value, right: Value) -> Value:
    """Return ``left @ right``."""
    dtype = left.dtype
    inner = left.shape[-1]
    lead = max(len(left.shape), len(right.shape)) - 2
    if len(left.shape) == 1 or len(right.shape) == 1:
        rows = left.shape[:-1]
        columns = right.shape[1:] if len(right.shape) > 1 else ()
        if len(left.shape) > 2 or len(right.shape) > 2:
            raise no_form_of("a product of a batch of matrices with a vector", "use torch.einsum")
        shape = (*rows, *columns, inner)
        at = len(shape) - 1
        mine = views.placed(left, shape, [*range(len(rows)), at])
        return sum_of_products(mine, views.placed(right, shape, [at, *range(len(rows), at)]), 1, dtype)
    batch = left.shape[:-2] if len(left.shape) >= len(right.shape) else right.shape[:-2]
    shape = (*batch, left.shape[-2], right.shape[-1], inner)
    own = [views.broadcast(v, (*batch, *v.shape[-2:])) for v in (left, right)]
    places = list(range(lead))
    mine = views.placed(own[0], shape, [*places, lead, lead + 2])
    return sum_of_products(mine, views.placed(own[1], shape, [*places, lead + 2, lead + 1]), 1, dtype)


@handles("addmm", "baddbmm", "addmv", "addbmm")
def add_product(call: Call) -> Results:
    """A product and something added to it."""
    names = [name for name, _ in call.parameters]
    found = product_of(call, call.tensor(names[1]), call.tensor(names[2]))
    if call.name == "addbmm":
        raise no_form_of("addbmm", "use bmm and sum")
    alpha, beta = call.scalar("alpha"), call.scalar("beta")
    left = "{1}" if alpha in ("1", "1.0") else f"{alpha} * {{1}}"
    right = "{0}" if beta in ("1", "1.0") else f"{beta} * {{0}}"
    return call.pointwise(f"({left} + {right})", call.tensor("self"), found, label="add")


@handles("linear")
def linear(call: Call) -> Results:
    """A product with a transposed weight, and a bias."""
    value, weight, bias = call.tensor("input"), call.tensor("weight"), call.optional("bias")
    shape = (*value.shape[:-1], weight.shape[0], weight.shape[1])
    rank = len(shape)
    mine = views.placed(value, shape, [*range(rank - 2), rank - 1])
    found = sum_of_products(mine, views.placed(weight, shape, [rank - 2, rank - 1]), 1, value.dtype)
    return found if bias is None else call.pointwise("({0} + {1})", found, bias, label="add")


@handles("_cdist_forward")
def cdist(call: Call) -> Results:
    """Distances between all pairs of rows."""
    left, right, order = call.tensor("x1"), call.tensor("x2"), call.raw("p")
    shape = (*call.shape, left.shape[-1])
    rank = len(shape)
    lead = list(range(rank - 3))
    own = [views.broadcast(v, (*call.shape[:-2], *v.shape[-2:])) for v in (left, right)]
    mine = views.placed(own[0], shape, [*lead, rank - 3, rank - 1])
    theirs = views.placed(own[1], shape, [*lead, rank - 2, rank - 1])
    if order == 2:
        square = Pointwise("torch.square({0} - {1})", (mine, theirs), call.dtype, "square")
        return unary("torch.sqrt({0})", Fold(sums(call.dtype), (square,), 1), "sqrt")
    if order == float("inf") or order <= 0:
        raise no_form_of(f"distances of order {order}")
    power = Pointwise(f"torch.pow(torch.abs({{0}} - {{1}}), {order})", (mine, theirs), call.dtype, "power")
    return unary(f"torch.pow({{0}}, {1 / order!r})", Fold(sums(call.dtype), (power,), 1), "root")


# --- convolution ---------------------------------------------------------------------------------------------------


@handles("convolution", "conv1d", "conv2d", "conv3d")
def convolution(call: Call) -> Results:
    """Dense, grouped, depthwise and transposed convolution in any number of dimensions."""
    value, weight, bias = call.tensor("input"), call.tensor("weight"), call.optional("bias")
    count = len(weight.shape) - 2
    transposed = bool(call.raw("transposed")) if any(n == "transposed" for n, _ in call.parameters) else False
    if isinstance(call.raw("padding"), str):
        raise no_form_of("padding given by name")
    batched = len(value.shape) == count + 2
    if not batched:
        value = views.unsqueeze(value, [0])
    shape = call.shape if batched else (Dim.of(1), *call.shape)
    found = _transposed(call, value, weight, shape) if transposed else _dense(call, value, weight, shape)
    if bias is not None:
        args = (found, views.placed(bias, shape, [1]))
        found = Pointwise("({0} + {1})", args, found.dtype, "add")
    return found if batched else views.squeeze(found, [0])


def _dense(call: Call, value: Value, weight: Value, out: Shape) -> Value:
    count, groups = len(weight.shape) - 2, call.raw("groups")
    stride, padding, dilation = (call.integers(name, count) for name in ("stride", "padding", "dilation"))
    inner, kernel = weight.shape[1], weight.shape[2:]
    padded = padded_places(value, padding, "0")
    shape = (*out, inner, *kernel)
    rank = 2 + count

    def window(index: Index) -> Index:
        channel = _group(call, index[1], weight.shape[0], groups) * inner + index[rank]
        places = [index[2 + d] * stride[d] + index[rank + 1 + d] * dilation[d] for d in range(count)]
        return (index[0], channel, *places)

    mine = views.view(padded, shape, window)
    theirs = views.placed(weight, shape, [1, *range(rank, rank + 1 + count)])
    return sum_of_products(mine, theirs, 1 + count, value.dtype)


def _group(call: Call, channel: Affine, channels: Dim, groups: int) -> Affine:
    """Return the group of an output channel."""
    return Affine() if groups == 1 else call.sizes.divided(channel, channels // groups)[0]


def padded_places(value: Value, padding: Sequence[int], fill: str, ends: Sequence[int] = ()) -> Value:
    """Return ``value`` with ``padding`` on both sides of the last dimensions; ``ends`` is more of it at the end."""
    if not any(padding) and not any(ends):
        return value
    lead = len(value.shape) - len(padding)
    more = ends or [0] * len(padding)
    sizes = [size + 2 * each + end for size, each, end in zip(value.shape[lead:], padding, more, strict=True)]
    low = (*views.zeros(lead), *(Dim.of(each) for each in padding))
    return Padded(value, (*value.shape[:lead], *sizes), low, fill)


def _transposed(call: Call, value: Value, weight: Value, out: Shape) -> Value:
    """By phases, which read no zero between two elements; where an intermediate result cannot be split into phases, by
    zeros between the elements of an input, or over all places.
    """
    count = len(weight.shape) - 2
    stuffed = _by_stuffing(call, value, weight, out)
    others = (_by_phases(call, value, weight, out), _over_all(call, value, weight, out))
    is_dense = all(each == 1 for each in call.integers("stride", count))
    return Choice((stuffed, *others) if is_dense else (others[0], stuffed, others[1]))


def _channels(call: Call, weight: Value) -> tuple[Dim, Dim]:
    """Input and output channels of one group."""
    return weight.shape[0] // call.raw("groups"), weight.shape[1]


def _transposed_reads(call: Call, weight: Value, index: Index, rank: int) -> tuple[Affine, Affine]:
    """Return the channel of the input, and that of the weight's second dimension."""
    inner, outer = _channels(call, weight)
    if call.raw("groups") == 1:
        return index[rank], index[1]
    group, within = call.sizes.divided(index[1], outer)
    return group * inner + index[rank], within


def _by_stuffing(call: Call, value: Value, weight: Value, out: Shape) -> Value:
    count = len(weight.shape) - 2
    stride, padding, dilation = (call.integers(name, count) for name in ("stride", "padding", "dilation"))
    kernel = [call.sizes.of(size) for size in weight.shape[2:]]
    reach = [dilation[d] * (kernel[d] - 1) for d in range(count)]
    stuffed = Stuffed(value, (1, 1, *stride)) if any(each > 1 for each in stride) else value
    low = [reach[d] - padding[d] for d in range(count)]
    cut = [max(0, -each) for each in low]
    padded = padded_places(stuffed, [max(0, each) for each in low], "0", call.integers("output_padding", count))
    shape = (*out, _channels(call, weight)[0], *weight.shape[2:])
    rank = 2 + count

    def window(index: Index) -> Index:
        channel, _ = _transposed_reads(call, weight, index, rank)
        places = [index[2 + d] + cut[d] + index[rank + 1 + d] * -dilation[d] + reach[d] for d in range(count)]
        return (index[0], channel, *places)

    def taps(index: Index) -> Index:
        channel, within = _transposed_reads(call, weight, index, rank)
        return (channel, within, *index[rank + 1 :])

    mine, theirs = views.view(padded, shape, window), views.view(weight, shape, taps)
    return sum_of_products(mine, theirs, 1 + count, value.dtype)


class _Phases(Record):
    """One dimension of a transposed convolution as affine reads of its input and its taps.

    Place ``y`` of the result gets the products of input ``j`` and tap ``k`` with ``y + padding = stride*j +
    dilation*k``. Let ``share`` be the common divisor of stride and dilation. A place is ``stride*coarse + share*phase +
    rest``: for one ``rest`` alone there are taps, ``k = turn*(phase + start) + step*t``, and then ``j = coarse -
    back*(phase + start) - jump*t``; ``turn`` is the inverse of the dilation modulo the stride, both divided by
    ``share``.
    """

    stride: int
    share: int
    rest: int
    start: int
    turn: int
    step: int
    back: int
    jump: int
    first: int  # the least t of any phase
    count: int  # of the values of t

    @staticmethod
    def of(stride: int, padding: int, dilation: int, kernel: int) -> _Phases:
        """Choose the inverse with which the fewest taps are looked at."""
        share = gcd(stride, dilation)
        step, jump, rest = stride // share, dilation // share, -padding % share
        start = (rest + padding) // share
        least = pow(jump, -1, step) if step > 1 else 0

        def with_turn(turn: int) -> _Phases:
            at = [turn * (phase + start) for phase in range(step)]
            first = min(-(each // step) for each in at)
            last = max((kernel - 1 - each) // step for each in at)
            back = (jump * turn - 1) // step
            return _Phases(stride, share, rest, start, turn, step, back, jump, first, last - first + 1)

        turns = (least, *(least + step * more for more in (-1, 1, -2)))
        return min(map(with_turn, turns), key=lambda each: each.count)

    def parts(self, call: Call, index: Affine) -> tuple[Affine, Affine, Affine]:
        """Return coarse place, phase and rest of a place of the result."""
        coarse, within = call.sizes.divided(index, Dim.of(self.stride), grows=True)
        if self.share == self.stride:
            return coarse, Affine(), within
        return coarse, *call.sizes.divided(within, Dim.of(self.share), grows=True)

    def place(self, coarse: Affine, phase: Affine, number: Affine) -> Affine:
        """Return the place of the input for the tap ``number``, counted from 0."""
        return coarse - (phase + self.start) * self.back - (number + self.first) * self.jump

    def tap(self, phase: Affine, rest: Affine, number: Affine, kernel: int) -> Affine:
        """Return the tap; a place outside of the kernel where there is none."""
        found = (phase + self.start) * self.turn + (number + self.first) * self.step
        return found + (rest - self.rest) * (self.beyond + kernel)

    @property
    def beyond(self) -> int:
        """How far in front of the kernel, and behind it, taps are looked for at most."""
        turns = abs(self.turn) * (self.start + self.step)
        return turns + self.step * (abs(self.first) + self.count)


def _by_phases(call: Call, value: Value, weight: Value, out: Shape) -> Value:
    """Split each output place into a coarse one and a phase: each phase uses its own taps, and no others."""
    count = len(weight.shape) - 2
    stride, padding, dilation = (call.integers(name, count) for name in ("stride", "padding", "dilation"))
    kernel = [call.sizes.of(size) for size in weight.shape[2:]]
    dims = [_Phases.of(stride[d], padding[d], dilation[d], kernel[d]) for d in range(count)]
    shape = (*out, _channels(call, weight)[0], *(Dim.of(each.count) for each in dims))
    rank = 2 + count
    reach = [abs(each.back) * (each.start + each.step) + each.jump * (abs(each.first) + each.count) for each in dims]
    padded = padded_places(value, reach, "0", call.integers("output_padding", count))
    around = [(each.beyond + kernel[d]) * (each.share + 1) for d, each in enumerate(dims)]
    wide = padded_places(weight, around, "0")

    def window(index: Index) -> Index:
        channel, _ = _transposed_reads(call, weight, index, rank)
        places = []
        for d, each in enumerate(dims):
            coarse, phase, _ = each.parts(call, index[2 + d])
            places.append(each.place(coarse, phase, index[rank + 1 + d]) + reach[d])
        return (index[0], channel, *places)

    def weights(index: Index) -> Index:
        channel, within = _transposed_reads(call, weight, index, rank)
        places = []
        for d, each in enumerate(dims):
            _, phase, rest = each.parts(call, index[2 + d])
            places.append(each.tap(phase, rest, index[rank + 1 + d], kernel[d]) + around[d])
        return (channel, within, *places)

    mine, theirs = views.view(padded, shape, window), views.view(wide, shape, weights)
    return sum_of_products(mine, theirs, 1 + count, value.dtype)


def _over_all(call: Call, value: Value, weight: Value, out: Shape) -> Value:
    """Every output place sums over all input places; taps that do not exist are zeros."""
    count = len(weight.shape) - 2
    stride, padding, dilation = (call.integers(name, count) for name in ("stride", "padding", "dilation"))
    if any(each > 1 for each in dilation):
        weight = Stuffed(weight, (1, 1, *dilation))
    shape = (*out, _channels(call, weight)[0], *value.shape[2:])
    rank = 2 + count
    before = [size * stride[d] for d, size in enumerate(value.shape[2:])]
    low = (*views.zeros(2), *before)
    sizes = [b + o + p + k for b, o, p, k in zip(before, out[2:], padding, weight.shape[2:], strict=True)]
    wide = Padded(weight, (*weight.shape[:2], *sizes), low, "0")

    def all_places(index: Index) -> Index:
        channel, _ = _transposed_reads(call, weight, index, rank)
        return (index[0], channel, *index[rank + 1 :])

    def weights(index: Index) -> Index:
        channel, within = _transposed_reads(call, weight, index, rank)
        places = [index[2 + d] + padding[d] - index[rank + 1 + d] * stride[d] + before[d] for d in range(count)]
        return (channel, within, *places)

    return sum_of_products(
        views.view(value, shape, all_places), views.view(wide, shape, weights), 1 + count, value.dtype
    )


# --- pooling -------------------------------------------------------------------------------------------------------


def _windows(value: Value, out: Shape, kernel: Sequence[Dim], stride: Sequence[int], dilation: Sequence[int]) -> Value:
    count = len(kernel)
    rank = len(value.shape)
    lead = rank - count

    def window(index: Index) -> Index:
        places = [index[lead + d] * stride[d] + index[rank + d] * dilation[d] for d in range(count)]
        return (*index[:lead], *places)

    return views.view(value, (*out, *kernel), window)


@handles("max_pool1d", "max_pool2d", "max_pool3d", "max_pool2d_with_indices", "max_pool3d_with_indices",
         "max_pool1d_with_indices")  # fmt: skip
def max_pool(call: Call) -> Results:
    """The largest of each window; padding is minus infinity."""
    value, count = call.tensor("self"), int(call.name[8])
    kernel = call.integers("kernel_size", count)
    stride = call.integers("stride", count) or kernel
    padding, dilation = (call.integers(name, count) for name in ("padding", "dilation"))
    indices = [user for user in call.node.users if user.args[1:] == (1,)] if call.name.endswith("indices") else []
    if any(user.users for user in indices):
        raise CannotLower("the places of the maxima are used", "use only the maxima")
    ends = [each * stride[d] for d, each in enumerate([1] * count)] if call.raw("ceil_mode") else []
    padded = padded_places(value, padding, "-torch.inf", ends)
    windows = _windows(padded, call.shape, [Dim.of(each) for each in kernel], stride, dilation)
    found = Fold(largest(value.dtype), (windows,), count)
    return (found, found) if call.name.endswith("indices") else found


@handles("avg_pool1d", "avg_pool2d", "avg_pool3d")
def avg_pool(call: Call) -> Results:
    """The mean of each window."""
    value, count = call.tensor("self"), int(call.name[8])
    kernel = call.integers("kernel_size", count)
    stride, padding = call.integers("stride", count) or kernel, call.integers("padding", count)
    ends = list(stride) if call.raw("ceil_mode") else []
    sizes = [Dim.of(each) for each in kernel]
    ones = [1] * count
    total = Fold(
        sums(value.dtype), (_windows(padded_places(value, padding, "0", ends), call.shape, sizes, stride, ones),), count
    )
    divisor = call.raw("divisor_override") if any(n == "divisor_override" for n, _ in call.parameters) else None
    inside = call.raw("count_include_pad")
    if divisor is not None or (not ends and (inside or not any(padding))):
        size = divisor if divisor is not None else size_text(product(sizes))
        return unary(f"({{0}} / {size})", total, "mean")
    lead = len(value.shape) - count
    area = (
        *value.shape[:lead],
        *(s + (2 * p if inside else 0) for s, p in zip(value.shape[lead:], padding, strict=True)),
    )
    marks = padded_places(
        Literal(area, value.dtype, "1.0"), [0] * count if inside else padding, "0.0", [s * 2 for s in stride]
    )
    covered = Fold(sums(value.dtype), (_windows(marks, call.shape, sizes, stride, ones),), count)
    return Pointwise("({0} / {1})", (total, covered), value.dtype, "mean")


__all__ = ["as_type", "folded", "literal", "product_of", "sum_of_products"]
