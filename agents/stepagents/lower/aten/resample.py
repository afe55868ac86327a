"""Resampling: every result is a weighted sum of places, and the weights are functions of two positions.

What has no streaming form raises ``CannotLower``.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepagents.lower import views
from stepagents.lower.affine import Index
from stepagents.lower.aten.calls import Call, CannotLower, Results, handles, no_form_of, number, size_text
from stepagents.lower.aten.folds import unary
from stepagents.lower.values import Fold, Pointwise, Shape, Value, largest, sums
from stepcore.sizes.dim import Dim, product


def _positions(wide: Shape, out: int, inner: int) -> tuple[Value, Value]:
    """Return the place in the result and the place in the input, as values of ``wide``."""
    return tuple(views.placed(views.arange(wide[dim]), wide, [dim]) for dim in (out, inner))  # type: ignore[return-value]


def _spread(value: Value, out: Shape, dims: Sequence[int]) -> tuple[Shape, Value]:
    """Return the shape with the input's ``dims`` behind the result's, and the input in it."""
    wide = (*out, *(value.shape[dim] for dim in dims))
    places = [len(out) + dims.index(dim) if dim in dims else dim for dim in range(len(out))]
    return wide, views.placed(value, wide, places)


def _scale(call: Call, place: int, size: Dim, wanted: Dim, *, corners: bool) -> str:
    """Return how many input places one result place takes; a factor that the call gives goes before sizes."""
    if corners:
        return f"({size_text(size)} - 1) / max({size_text(wanted)} - 1, 1)"
    names = [name for name, _ in call.parameters if name.startswith("scales")]
    given = call.raw(names[place]) if names else None
    return number(1 / given) if given is not None else f"{size_text(size)} / {size_text(wanted)}"


@handles("upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d")
def nearest(call: Call) -> Results:
    """The element below each place; a view where the factor is whole."""
    value, shape = call.tensor(call.parameters[0][0]), call.shape
    dims = list(range(2, len(shape)))
    factors = [divmod(call.sizes.of(shape[dim]), call.sizes.of(value.shape[dim])) for dim in dims]
    if all(rest == 0 for _, rest in factors):

        def remap(index: Index) -> Index:
            lead = len(index) - len(factors)
            places = (call.sizes.divided(index[lead + i], Dim.of(f))[0] for i, (f, _) in enumerate(factors))
            return (*index[:lead], *places)

        return views.view(value, shape, remap)
    wide, elements = _spread(value, shape, dims)
    tests: list[Value] = []
    for place, dim in enumerate(dims):
        out, inner = _positions(wide, dim, len(shape) + place)
        size, wanted = value.shape[dim], shape[dim]
        template = f"(torch.div({{0}} * {size_text(size)}, {size_text(wanted)}, rounding_mode='floor') == {{1}})"
        tests.append(Pointwise(template, (out, inner), "bool", "nearest"))
    text = " & ".join(f"{{{i}}}" for i in range(len(tests)))
    chosen = Pointwise(f"torch.where({text}, {{{len(tests)}}}, 0.0)", (*tests, elements), value.dtype, "pick")
    return Fold(sums(value.dtype), (chosen,), len(dims))


@handles("upsample_linear1d", "upsample_bilinear2d", "upsample_trilinear3d")
def linear(call: Call) -> Results:
    """Hats around each place, one per dimension, multiplied."""
    value, shape = call.tensor(call.parameters[0][0]), call.shape
    corners = bool(call.raw("align_corners"))
    dims = list(range(2, len(shape)))
    wide, product_ = _spread(value, shape, dims)
    for place, dim in enumerate(dims):
        out, inner = _positions(wide, dim, len(shape) + place)
        size, wanted = value.shape[dim], shape[dim]
        scale = _scale(call, place, size, wanted, corners=corners)
        source = f"{{0}} * ({scale})" if corners else f"({{0}} + 0.5) * ({scale}) - 0.5"
        text = f"torch.clamp(1 - torch.abs(torch.clamp({source}, 0, {size_text(size)} - 1) - {{1}}), min=0)"
        hat = Pointwise(text, (out, inner), value.dtype, "hat")
        product_ = Pointwise("({0} * {1})", (product_, hat), value.dtype, "multiply")
    return Fold(sums(value.dtype), (product_,), len(dims))


@handles("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d", "adaptive_avg_pool2d",
         "adaptive_avg_pool3d", "adaptive_max_pool1d", "adaptive_max_pool2d", "adaptive_max_pool3d")  # fmt: skip
def adaptive_pool(call: Call) -> Results:
    """Windows where they divide the input evenly; else sums over all places that each window covers."""
    value, shape = call.tensor("self"), call.shape
    count = len(call.raw("output_size"))
    lead = len(value.shape) - count
    is_max = "max" in call.name
    if is_max and any(user.args[1:] == (1,) and user.users for user in call.node.users):
        raise CannotLower("the places of the maxima are used", "use only the maxima")
    pairs = list(zip(value.shape[lead:], shape[lead:], strict=True))
    if any(call.sizes.of(size) % call.sizes.of(wanted) for size, wanted in pairs):
        if is_max:
            raise no_form_of("windows of different sizes", "choose a size that divides the input")
        return _covering_mean(value, shape, list(range(lead, len(shape))))
    kernel = [size // wanted for size, wanted in pairs]
    rank = len(value.shape)

    def window(index: Index) -> Index:
        return (*index[:lead], *(index[lead + d] * kernel[d] + index[rank + d] for d in range(count)))

    windows = views.view(value, (*shape, *kernel), window)
    if is_max:
        found = Fold(largest(value.dtype), (windows,), count)
        return found, found
    return unary(f"({{0}} / {size_text(product(kernel))})", Fold(sums(value.dtype), (windows,), count), "mean")


def _covering_mean(value: Value, shape: Shape, dims: Sequence[int]) -> Value:
    wide, product_ = _spread(value, shape, dims)
    for place, dim in enumerate(dims):
        out, inner = _positions(wide, dim, len(shape) + place)
        size, wanted = size_text(value.shape[dim]), size_text(shape[dim])
        start = f"torch.div({{0}} * {size}, {wanted}, rounding_mode='floor')"
        stop = f"torch.div(({{0}} + 1) * {size} + {wanted} - 1, {wanted}, rounding_mode='floor')"
        text = f"torch.where(({{1}} >= {start}) & ({{1}} < {stop}), 1.0 / ({stop} - {start}), 0.0)"
        share = Pointwise(text, (out, inner), value.dtype, "share")
        product_ = Pointwise("({0} * {1})", (product_, share), value.dtype, "multiply")
    return Fold(sums(value.dtype), (product_,), len(dims))
