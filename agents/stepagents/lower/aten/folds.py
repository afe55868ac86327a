"""Reductions, softmax, norms, running results."""

from __future__ import annotations

from collections.abc import Sequence

from stepagents.lower import views
from stepagents.lower.aten.calls import Call, Results, handles, size_text
from stepagents.lower.values import (
    ALL,
    ANY,
    Choice,
    Component,
    Fold,
    Pointwise,
    Rule,
    Running,
    Shape,
    Value,
    best_place,
    largest,
    moments,
    online_softmax,
    products,
    sums,
)
from stepcore.sizes.dim import Dim, product


def folded(call: Call, value: Value, dims: Sequence[int], rule: Rule) -> Fold:
    """Return the fold of ``dims``, whose shape lacks them."""
    return Fold(rule, (views.last(value, dims),), len(dims))


def kept(call: Call, value: Value, dims: Sequence[int], keep: bool | None) -> Value:
    """Return a folded ``value`` with sizes of 1 in place of ``dims`` where ``keep`` says so."""
    return views.unsqueeze(value, sorted(dims)) if keep and dims else value


def unary(template: str, value: Value, label: str, dtype: str = "") -> Value:
    """Return an elementwise function of one value."""
    return Pointwise(template, (value,), dtype or value.dtype, label)


def as_type(value: Value, dtype: str) -> Value:
    """Return ``value`` converted for a fold in another type."""
    names = {"fp32": "float", "int64": "long", "bool": "bool", "fp16": "half", "bf16": "bfloat16", "int32": "int"}
    return value if value.dtype == dtype else unary(f"{{0}}.{names[dtype]}()", value, "convert", dtype)


def count_text(shape: Shape, dims: Sequence[int]) -> str:
    """Return the number of folded elements as text."""
    return size_text(product(shape[dim] for dim in dims))


@handles("sum", "prod", "mean")
def add_up(call: Call) -> Results:
    """Sums, products and means."""
    value = as_type(call.tensor("self"), call.dtype)
    dims = call.dims("dim", len(value.shape)) if _has(call, "dim") else list(range(len(value.shape)))
    if not dims:
        return value
    found: Value = folded(call, value, dims, products(call.dtype) if call.name == "prod" else sums(call.dtype))
    if call.name == "mean":
        found = unary(f"({{0}} / {count_text(value.shape, dims)})", found, "mean")
    return kept(call, found, dims, _keep(call))


def _has(call: Call, name: str) -> bool:
    return any(name == known for known, _ in call.parameters)


def _keep(call: Call) -> bool:
    return bool(call.raw("keepdim")) if _has(call, "keepdim") else False


def maximum(call: Call, value: Value, dims: Sequence[int], sign: str) -> Value:
    """Return the largest, or with ``sign`` ``-`` the smallest elements."""
    if value.dtype == "bool":
        return folded(call, value, dims, ALL if sign else ANY)
    if value.dtype.startswith("int"):  # no whole number is minus infinity
        best = "torch.minimum" if sign else "torch.maximum"
        results = (f"torch.where(s1, {best}(s0, x0), x0)", "s1 | (x0 == x0)")
        return Component(folded(call, value, dims, Rule("best", ("0", "0"), (value.dtype, "bool"), results)), 0)
    if not sign:
        return folded(call, value, dims, largest(value.dtype))
    return unary("(-{0})", folded(call, unary("(-{0})", value, "negate"), dims, largest(value.dtype)), "negate")


@handles("amax", "amin")
def extremes(call: Call) -> Results:
    """Largest and smallest over dimensions."""
    value = call.tensor("self")
    dims = call.dims("dim", len(value.shape))
    return kept(call, maximum(call, value, dims, "-" if call.name == "amin" else ""), dims, _keep(call))


@handles("max", "min")
def extreme_and_place(call: Call) -> Results:
    """Largest or smallest, along a dimension with its place."""
    value, sign = call.tensor("self"), "-" if call.name == "min" else ""
    if not _has(call, "dim"):
        return maximum(call, value, range(len(value.shape)), sign)
    dims = call.dims("dim", len(value.shape))
    if 1 not in call.read_results():  # no place to carry along
        top = kept(call, maximum(call, value, dims, sign), dims, _keep(call))
        return top, top
    return tuple(kept(call, found, dims, _keep(call)) for found in _best(call, value, dims, sign))


def _best(call: Call, value: Value, dims: Sequence[int], sign: str) -> tuple[Value, Value]:
    if value.dtype.startswith("int") or value.dtype == "bool":
        value = as_type(value, "fp32")
    turned = unary("(-{0})", value, "negate") if sign else value
    fold = folded(call, turned, dims, best_place(value.dtype))
    top: Value = Component(fold, 0)
    return (unary("(-{0})", top, "negate") if sign else top), Component(fold, 1)


@handles("argmax", "argmin")
def argmax(call: Call) -> Results:
    """The place of the largest or smallest."""
    value = call.tensor("self")
    dims = list(range(len(value.shape))) if call.raw("dim") is None else call.dims("dim", len(value.shape))
    return kept(call, _best(call, value, dims, "-" if call.name == "argmin" else "")[1], dims, _keep(call))


@handles("any", "all")
def any_all(call: Call) -> Results:
    """Whether some or all are true."""
    value = as_type(call.tensor("self"), "bool")
    dims = call.dims("dim", len(value.shape)) if _has(call, "dim") else list(range(len(value.shape)))
    return kept(call, folded(call, value, dims, ANY if call.name == "any" else ALL), dims, _keep(call))


@handles("var", "std", "var_mean", "std_mean")
def variance(call: Call) -> Results:
    """Variance by Welford's update, with the mean where asked for."""
    value = call.tensor("self")
    dims = call.dims("dim", len(value.shape))
    mean, squares = _moments(call, value, dims)
    correction = call.scalar("correction") if call.raw("correction") is not None else "1"
    template = f"({{0}} / ({count_text(value.shape, dims)} - {correction}))"
    found = unary(template, squares, "variance")
    if call.name.startswith("std"):
        found = unary("torch.sqrt({0})", found, "sqrt")
    results = tuple(kept(call, each, dims, _keep(call)) for each in (found, mean))
    return results if call.name.endswith("mean") else results[0]


def _moments(call: Call, value: Value, dims: Sequence[int]) -> tuple[Value, Value]:
    """Return mean and sum of squared deviations."""
    fold = folded(call, value, dims, moments(value.dtype))
    return Component(fold, 1), Component(fold, 2)


@handles("linalg_vector_norm", "norm")
def norm(call: Call) -> Results:
    """Vector norms of any order."""
    value = call.tensor("self" if _has(call, "self") else "x")
    order = call.raw("ord") if _has(call, "ord") else call.raw("p")
    order = 2 if order is None else order
    dims = call.dims("dim", len(value.shape)) if _has(call, "dim") else list(range(len(value.shape)))
    size = unary("torch.abs({0})", value, "abs")
    if order in (float("inf"), float("-inf")):
        found = maximum(call, size, dims, "" if order > 0 else "-")
    elif order == 2:
        found = unary(
            "torch.sqrt({0})",
            folded(call, unary("torch.square({0})", value, "square"), dims, sums(value.dtype)),
            "sqrt",
        )
    elif order == 1:
        found = folded(call, size, dims, sums(value.dtype))
    elif order == 0:
        found = folded(call, unary("({0} != 0).float()", value, "nonzero"), dims, sums(value.dtype))
    else:
        powers = folded(call, unary(f"torch.pow({{0}}, {order})", size, "power"), dims, sums(value.dtype))
        found = unary(f"torch.pow({{0}}, {1 / order!r})", powers, "root")
    return kept(call, found, dims, _keep(call))


def softmax_parts(call: Call, value: Value, dims: Sequence[int]) -> tuple[Value, Value]:
    """Return maximum and denominator over ``dims``, in the shape of ``value``."""
    fold = folded(call, value, dims, online_softmax(value.dtype, infinite=call.world.infinite))
    back = [views.unsqueeze(Component(fold, place), sorted(dims)) for place in (0, 1)]
    return views.broadcast(back[0], value.shape), views.broadcast(back[1], value.shape)


@handles("_softmax", "softmax", "_log_softmax", "log_softmax", "_safe_softmax")
def softmax(call: Call) -> Results:
    """In one pass for maximum and denominator."""
    value = as_type(call.tensor("self"), call.dtype)
    top, total = softmax_parts(call, value, [call.raw("dim") % len(value.shape)])
    if "log" in call.name:
        return call.pointwise("({0} - {1} - torch.log({2}))", value, top, total, label="log_softmax")
    return call.pointwise("(torch.exp({0} - {1}) / {2})", value, top, total, label="softmax")


@handles("logsumexp")
def logsumexp(call: Call) -> Results:
    """The logarithm of the denominator of softmax."""
    value = call.tensor("self")
    dims = call.dims("dim", len(value.shape))
    fold = folded(call, value, dims, online_softmax(value.dtype, infinite=call.world.infinite))
    found = Pointwise("({0} + torch.log({1}))", (Component(fold, 0), Component(fold, 1)), call.dtype, "logsumexp")
    return kept(call, found, dims, _keep(call))


@handles("native_layer_norm", "layer_norm")
def layer_norm(call: Call) -> Results:
    """Mean and variance of the last dimensions."""
    value = call.tensor("input")
    dims = list(range(len(value.shape) - len(call.raw("normalized_shape")), len(value.shape)))
    found = normalized(call, value, dims, call.optional("weight"), call.optional("bias"), call.scalar("eps"))
    return found if call.name == "layer_norm" else (found, *_unused(call, value))


def normalized(
    call: Call, value: Value, dims: Sequence[int], weight: Value | None, bias: Value | None, eps: str
) -> Value:
    """Return ``value`` with mean 0 and variance 1 over ``dims``, scaled and shifted."""
    mean, squares = _moments(call, value, dims)
    back = [views.broadcast(views.unsqueeze(part, sorted(dims)), value.shape) for part in (mean, squares)]
    text = f"({{0}} - {{1}}) * torch.rsqrt({{2}} / {count_text(value.shape, dims)} + {eps})"
    return _scaled(value, back, text, weight, bias)


def _scaled(value: Value, parts: Sequence[Value], text: str, weight: Value | None, bias: Value | None) -> Value:
    args = [value, *parts]
    for extra, sign in ((weight, "*"), (bias, "+")):
        if extra is not None:
            args.append(views.broadcast(extra, value.shape))
            text = f"{text} {sign} {{{len(args) - 1}}}"
    return Pointwise(f"({text})", tuple(args), value.dtype, "normalize")


def _unused(call: Call, value: Value) -> tuple[Value, ...]:
    """Stand-ins for statistics that nobody reads in a forward pass."""
    return (value, value)


@handles("native_group_norm")
def group_norm(call: Call) -> Results:
    """Mean and variance of each group of channels."""
    value, groups = call.tensor("input"), Dim.of(call.raw("group"))
    batch, channels, *places = value.shape
    split = views.reshape(value, (batch, groups, channels // groups, *places), call.sizes)
    inner = list(range(2, len(split.shape)))
    mean, squares = _moments(call, split, inner)
    wide = [views.broadcast(views.unsqueeze(part, inner), split.shape) for part in (mean, squares)]
    parts = [views.reshape(part, value.shape, call.sizes) for part in wide]
    text = f"({{0}} - {{1}}) * torch.rsqrt({{2}} / {count_text(split.shape, inner)} + {call.scalar('eps')})"
    weight, bias = (_per_channel(call.optional(name), value) for name in ("weight", "bias"))
    return (_scaled(value, parts, text, weight, bias), *_unused(call, value))


def _per_channel(extra: Value | None, value: Value) -> Value | None:
    return None if extra is None else views.placed(extra, value.shape, [1])


@handles("_native_batch_norm_legit_no_training", "_native_batch_norm_legit", "native_batch_norm", "batch_norm",
         "_native_batch_norm_legit_functional", "_batch_norm_no_update", "cudnn_batch_norm")  # fmt: skip
def batch_norm(call: Call) -> Results:
    """By the running statistics, or in training mode by those of the batch."""
    value, eps = call.tensor("input"), call.scalar("eps")
    weight, bias = (_per_channel(call.optional(name), value) for name in ("weight", "bias"))
    training = bool(call.raw("training")) if _has(call, "training") else "no_training" not in call.name
    if training:
        dims = [dim for dim in range(len(value.shape)) if dim != 1]
        found = normalized(call, value, dims, weight, bias, eps)
    else:
        stats = [views.placed(call.tensor(name), value.shape, [1]) for name in ("running_mean", "running_var")]
        found = _scaled(value, stats, f"({{0}} - {{1}}) * torch.rsqrt({{2}} + {eps})", weight, bias)
    return found if call.name == "batch_norm" else (found, *_unused(call, value), value, value)


@handles("rms_norm", "_fused_rms_norm")
def rms_norm(call: Call) -> Results:
    """The root of the mean square of the last dimensions."""
    value = call.tensor("input")
    dims = list(range(len(value.shape) - len(call.raw("normalized_shape")), len(value.shape)))
    total = folded(call, unary("torch.square({0})", value, "square"), dims, sums(value.dtype))
    back = views.broadcast(views.unsqueeze(total, dims), value.shape)
    eps = call.scalar("eps") if call.raw("eps") is not None else "torch.finfo(torch.float32).eps"
    if call.raw("eps") is None:
        eps = "1.1920928955078125e-07"
    text = f"{{0}} * torch.rsqrt({{1}} / {count_text(value.shape, dims)} + {eps})"
    found = _scaled(value, [back], text, call.optional("weight"), None)
    return found if call.name == "rms_norm" else (found, value)


def _up_to(value: Value, rule: Rule) -> Value:
    """Return a running result as one fold per element, for whoever reads it in another order than it runs."""
    rank = len(value.shape)
    wide = (*value.shape, value.shape[-1])
    here = views.placed(views.arange(value.shape[-1]), wide, [rank - 1])
    there = views.placed(views.arange(value.shape[-1]), wide, [rank])
    elements = views.placed(value, wide, [*range(rank - 1), rank])
    template = f"torch.where({{0}} <= {{1}}, {{2}}, {rule.init[0]}{'.0' if value.dtype.startswith('fp') else ''})"
    return Fold(rule, (Pointwise(template, (there, here, elements), value.dtype, "up_to"),), 1)


@handles("cumsum", "cumprod", "logcumsumexp", "cummax", "cummin")
def cumulative(call: Call) -> Results:
    """A scan along one dimension."""
    value = as_type(call.tensor("self"), call.dtype)
    if not value.shape:
        return value
    dim = call.raw("dim") % len(value.shape)
    moved = views.last(value, [dim])
    order = [place for place in range(len(value.shape)) if place != dim] + [dim]
    back = [order.index(place) for place in range(len(order))]

    def restored(found: Value) -> Value:
        return views.permute(found, back)

    match call.name:
        case "cumsum" | "cumprod":
            rule = sums(call.dtype) if call.name == "cumsum" else products(call.dtype)
            return restored(Choice((Running(rule, moved), _up_to(moved, rule))))
        case "logcumsumexp":
            run = Running(online_softmax(call.dtype, infinite=call.world.infinite), moved)
            parts = (Component(run, 0), Component(run, 1))
            return restored(Pointwise("({0} + torch.log({1}))", parts, call.dtype, "logsumexp"))
    if 1 not in call.read_results() and call.dtype.startswith("fp"):
        turned = unary("(-{0})", moved, "negate") if call.name == "cummin" else moved
        most: Value = Running(largest(call.dtype), turned)
        most = restored(unary("(-{0})", most, "negate") if call.name == "cummin" else most)
        return most, most
    lines = ("here = s2 + 1", "better = x0 >= s0")
    results = ("torch.where(better, x0, s0)", "torch.where(better, here, s1)", "here")
    latest = Rule("running_maximum", ("-inf", "0", "-1"), (call.dtype, "int64", "int64"), results, lines)
    sign = call.name == "cummin"
    run = Running(latest, unary("(-{0})", moved, "negate") if sign else moved)
    top: Value = Component(run, 0)
    return restored(unary("(-{0})", top, "negate") if sign else top), restored(Component(run, 1))
