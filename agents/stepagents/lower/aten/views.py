"""Operations that only look at their input in another way.

What has no streaming form raises ``CannotLower``.
"""

from __future__ import annotations

from stepagents.lower import views
from stepagents.lower.affine import Affine, Index
from stepagents.lower.aten.calls import Call, Results, handles, literal, no_form_of
from stepagents.lower.values import Literal, Pointwise, Value
from stepagents.traced.graph import opname
from stepcore.sizes.dim import Dim


@handles("view", "_unsafe_view", "reshape", "flatten", "view_as", "unflatten")
def reshape(call: Call) -> Results:
    """Row-major order, other sizes."""
    stacked = _stacked(call)
    return views.reshape(call.tensor("self"), call.shape, call.sizes) if stacked is None else stacked


def _stacked(call: Call) -> Value | None:
    """Return tensors side by side along a new dimension, which PyTorch writes as a concatenation and a reshape."""
    node = call.raw("self")
    if opname(node) != "cat":
        return None
    pieces = Call(node, call.values, call.world)
    values, before = pieces.tensors("tensors"), pieces.shape
    dim = pieces.raw("dim") % len(before)
    size = values[0].shape[dim : dim + 1]
    wanted = (*before[:dim], Dim.of(len(values)), *size, *before[dim + 1 :])
    if call.shape != wanted or any(value.shape != values[0].shape for value in values):
        return None
    return views.concatenate([views.unsqueeze(value, [dim]) for value in values], dim, call.shape)


@handles("copy")
def copy(call: Call) -> Results:
    """Another tensor's numbers."""
    value = views.broadcast(call.tensor("src"), call.shape)
    if value.dtype != call.dtype:
        raise no_form_of("a copy that changes the element type", "convert with .to(...) first")
    return value


@handles("expand", "expand_as", "broadcast_to")
def expand(call: Call) -> Results:
    """Repeat along dimensions of size 1."""
    return views.broadcast(call.tensor("self"), call.shape)


@handles("permute")
def permute(call: Call) -> Results:
    """Other order of dimensions."""
    return views.permute(call.tensor("self"), call.integers("dims"))


@handles("t", "transpose")
def transpose(call: Call) -> Results:
    """Two dimensions exchanged."""
    value = call.tensor("self")
    order = list(range(len(value.shape)))
    first, second = (0, len(order) - 1) if call.name == "t" else (call.raw("dim0"), call.raw("dim1"))
    if order:
        order[first], order[second] = order[second], order[first]
    return views.permute(value, order)


@handles("unsqueeze")
def unsqueeze(call: Call) -> Results:
    """A dimension of size 1 more."""
    return views.unsqueeze(call.tensor("self"), [call.raw("dim")])


@handles("squeeze")
def squeeze(call: Call) -> Results:
    """Dimensions of size 1 less."""
    value = call.tensor("self")
    given = any(name == "dim" for name, _ in call.parameters)
    dims = call.dims("dim", len(value.shape)) if given else range(len(value.shape))
    return views.squeeze(value, list(dims))


@handles("slice")
def slice_(call: Call) -> Results:
    """Every ``step``-th element from ``start`` on."""
    value, dim = call.tensor("self"), call.raw("dim") % len(call.shape)
    return views.along(value, dim, call.shape[dim], _start(call, value.shape[dim], "start"), call.size("step"))


def _start(call: Call, size: Dim, name: str) -> Dim:
    if call.raw(name) is None:
        return Dim.of(0)
    start, whole = call.size(name), call.sizes.of(size)
    place = call.sizes.of(start)
    if place < 0:
        return size + start if place >= -whole else Dim.of(0)
    return start


@handles("select")
def select(call: Call) -> Results:
    """One slice."""
    value = call.tensor("self")
    dim = call.raw("dim") % len(value.shape)
    return views.select(value, dim, _start(call, value.shape[dim], "index"))


@handles("narrow")
def narrow(call: Call) -> Results:
    """A range of a dimension."""
    value = call.tensor("self")
    dim = call.raw("dim") % len(value.shape)
    return views.along(value, dim, call.shape[dim], _start(call, value.shape[dim], "start"))


@handles("split", "split_with_sizes", "chunk", "tensor_split")
def split(call: Call) -> Results:
    """Neighbouring ranges of a dimension."""
    value = call.tensor("self")
    dim = call.raw("dim") % len(value.shape)
    start = Dim.of(0)
    pieces: list[Value] = []
    for shape in call.shapes():
        pieces.append(views.along(value, dim, shape[dim], start))
        start = start + shape[dim]
    return tuple(pieces)


@handles("unbind")
def unbind(call: Call) -> Results:
    """All slices of a dimension."""
    value = call.tensor("self")
    return tuple(views.select(value, call.raw("dim"), place) for place in range(len(call.shapes())))


@handles("cat")
def cat(call: Call) -> Results:
    """Tensors one after the other."""
    values = [value for value in call.tensors("tensors") if value.shape != (Dim.of(0),)]
    return views.concatenate(values, call.raw("dim"), call.shape)


@handles("stack")
def stack(call: Call) -> Results:
    """Tensors side by side along a new dimension."""
    dim = call.raw("dim") % len(call.shape)
    return views.concatenate([views.unsqueeze(value, [dim]) for value in call.tensors("tensors")], dim, call.shape)


@handles("flip")
def flip(call: Call) -> Results:
    """Dimensions read backwards."""
    value = call.tensor("self")
    for dim in call.dims("dims", len(value.shape)):
        value = views.along(value, dim, value.shape[dim], value.shape[dim] - 1, -1)
    return value


@handles("roll")
def roll(call: Call) -> Results:
    """Two pieces of a dimension exchanged."""
    value = call.tensor("self")
    shifts, dims = call.integers("shifts"), call.integers("dims")
    if not dims:
        raise no_form_of("a roll over all elements at once", "roll along a dimension")
    for shift, dim in zip(shifts, dims, strict=True):
        size = value.shape[dim]
        cut = Dim.of(shift % call.sizes.of(size)) if shift < 0 and size.constant is not None else Dim.of(shift)
        if call.sizes.of(cut) < 0:
            cut = size + shift
        if call.sizes.of(cut) in (0, call.sizes.of(size)):
            continue
        parts = [views.along(value, dim, cut, size - cut), views.along(value, dim, size - cut)]
        value = views.concatenate(parts, dim, value.shape)
    return value


@handles("repeat", "tile")
def repeat(call: Call) -> Results:
    """The whole tensor several times along each dimension."""
    value = call.tensor("self")
    value = views.unsqueeze(value, range(len(call.shape) - len(value.shape)))
    own = value.shape

    def remap(index: Index) -> Index:
        return tuple(
            part if size == wanted else Affine() if size == 1 else call.sizes.divided(part, size)[1]
            for part, size, wanted in zip(index, own, call.shape, strict=True)
        )

    return views.view(value, call.shape, remap)


@handles("constant_pad_nd", "pad")
def constant_pad(call: Call) -> Results:
    """Numbers around a tensor; negative amounts cut."""
    value, shape = call.tensor("self"), call.shape
    amounts = call.raw("pad")
    low = list(views.zeros(len(shape)))
    for pair in range(len(amounts) // 2):
        low[len(shape) - 1 - pair] = call.size("pad", 2 * pair)
    fill = call.scalar("value") if call.raw("value") is not None else "0"
    if value.dtype == "bool":
        fill = "True" if fill in ("1", "1.0", "True") else "False"
    if isinstance(value, Literal) and literal(value) == fill:
        return Literal(shape, value.dtype, value.text)
    return views.pad(value, shape, low, fill)


@handles("reflection_pad1d", "reflection_pad2d", "reflection_pad3d", "replication_pad1d", "replication_pad2d",
         "replication_pad3d")  # fmt: skip
def mirror_pad(call: Call) -> Results:
    """Neighbours of the edge, mirrored or repeated: three pieces along each dimension."""
    value, amounts = call.tensor("self"), call.raw("padding")
    rank, mirrored = len(call.shape), call.name.startswith("reflection")
    for pair in range(len(amounts) // 2):
        dim = rank - 1 - pair
        before, after = call.size("padding", 2 * pair), call.size("padding", 2 * pair + 1)
        size, step = value.shape[dim], -1 if mirrored else 0
        pieces = []
        if call.sizes.of(before):
            pieces.append(views.along(value, dim, before, before if mirrored else 0, step))
        pieces.append(value)
        if call.sizes.of(after):
            pieces.append(views.along(value, dim, after, size - 2 if mirrored else size - 1, step))
        shape = (*value.shape[:dim], size + before + after, *value.shape[dim + 1 :])
        value = views.concatenate(pieces, dim, shape)
    return value


@handles("unfold")
def unfold(call: Call) -> Results:
    """Windows of a dimension, along a new last one."""
    value, step = call.tensor("self"), call.raw("step")
    dim = call.raw("dimension") % len(value.shape)

    def remap(index: Index) -> Index:
        return (*index[:dim], index[dim] * step + index[-1], *index[dim + 1 : -1])

    return views.view(value, call.shape, remap)


@handles("diagonal")
def diagonal(call: Call) -> Results:
    """A diagonal, along a new last dimension."""
    value, offset = call.tensor("self"), call.raw("offset")
    rank = len(value.shape)
    first, second = call.raw("dim1") % rank, call.raw("dim2") % rank

    def remap(index: Index) -> Index:
        rest = iter(index[:-1])
        places = {first: index[-1] + max(-offset, 0), second: index[-1] + max(offset, 0)}
        return tuple(places[dim] if dim in places else next(rest) for dim in range(rank))

    return views.view(value, call.shape, remap)


@handles("pixel_shuffle", "pixel_unshuffle", "channel_shuffle")
def pixel_shuffle(call: Call) -> Results:
    """Channels to places, or places to channels."""
    value = call.tensor("self")
    *lead, channels, height, width = value.shape
    axes = list(range(len(lead)))
    at = len(lead)
    if call.name == "channel_shuffle":
        groups = Dim.of(call.raw("groups"))
        split = views.reshape(value, (*lead, groups, channels // groups, height, width), call.sizes)
        return views.reshape(views.permute(split, [*axes, at + 1, at, at + 2, at + 3]), call.shape, call.sizes)
    if call.name == "pixel_shuffle":
        factor = Dim.of(call.raw("upscale_factor"))
        split = views.reshape(value, (*lead, channels // (factor * factor), factor, factor, height, width), call.sizes)
        moved = views.permute(split, [*axes, at, at + 3, at + 1, at + 4, at + 2])
    else:
        factor = Dim.of(call.raw("downscale_factor"))
        split = views.reshape(value, (*lead, channels, height // factor, factor, width // factor, factor), call.sizes)
        moved = views.permute(split, [*axes, at, at + 2, at + 4, at + 1, at + 3])
    return views.reshape(moved, call.shape, call.sizes)


@handles("tril", "triu")
def triangle(call: Call) -> Results:
    """Zeros above or below a diagonal."""
    value, rank = call.tensor("self"), len(call.shape)
    rows = views.placed(views.arange(call.shape[-2]), call.shape, [rank - 2])
    columns = views.placed(views.arange(call.shape[-1]), call.shape, [rank - 1])
    sign = "<=" if call.name == "tril" else ">="
    zero = "False" if call.dtype == "bool" else "0" if call.dtype.startswith("int") else "0.0"
    template = f"torch.where({{1}} - {{2}} {sign} {call.raw('diagonal')}, {{0}}, {zero})"
    return Pointwise(template, (value, columns, rows), call.dtype, call.name)


@handles("arange")
def arange(call: Call) -> Results:
    """Equally spaced numbers."""
    start = call.scalar("start") if call.given("start") else "0"
    step = call.scalar("step") if call.given("step") else "1"
    found: Value = views.arange(call.shape[0], call.dtype if call.dtype != "bool" else "int64")
    if step not in ("1", "1.0"):
        found = Pointwise(f"({{0}} * {step})", (found,), call.dtype, "spaced")
    if start not in ("0", "0.0"):
        found = Pointwise(f"({{0}} + {start})", (found,), call.dtype, "shifted")
    return found
