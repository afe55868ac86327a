"""Reads and writes at places that the data give: comparisons with all places, folded.

What has no streaming form raises ``CannotLower``.
"""

from __future__ import annotations

from collections.abc import Sequence

from stepagents.lower import views
from stepagents.lower.aten.calls import Call, CannotLower, Results, handles, literal, no_form_of, size_text
from stepagents.lower.aten.folds import unary
from stepagents.lower.values import Component, Fold, Pointwise, Rule, Shape, Source, Value, sums
from stepcore.sizes.dim import Dim, product


def _zero(dtype: str) -> str:
    return "False" if dtype == "bool" else "0" if dtype.startswith("int") else "0.0"


def picked(place: Value, count: Dim, elements: Value, shape: Shape) -> Value:
    """Return the element whose place along the last dimension (of ``count``) of ``elements`` is ``place``.

    ``place`` has ``shape``; ``elements`` has ``shape`` and one dimension more. The others count as zeros and are added
    up.
    """
    wide = (*shape, count)
    rank = len(shape)
    places = views.placed(views.arange(count), wide, [rank])
    wanted = views.placed(place, wide, range(rank))
    template = f"torch.where({{0}} == {{1}}, {{2}}, {_zero(elements.dtype)})"
    chosen = Pointwise(template, (wanted, places, elements), elements.dtype, "pick")
    return Fold(sums(elements.dtype), (chosen,), 1)


def _wrapped(call: Call, index: Value, size: Dim) -> Value:
    """Count places below zero from the end."""
    return Pointwise(f"torch.where({{0}} < 0, {{0}} + {size_text(size)}, {{0}})", (index,), index.dtype, "place")


@handles("embedding")
def embedding(call: Call) -> Results:
    """A row of a table for each place."""
    table, index = call.tensor("weight"), call.tensor("indices")
    rank = len(index.shape)
    shape = (*index.shape, table.shape[1])
    elements = views.placed(table, (*shape, table.shape[0]), [rank + 1, rank])
    return picked(views.placed(index, shape, range(rank)), table.shape[0], elements, shape)


@handles("gather")
def gather(call: Call) -> Results:
    """Elements at places along one dimension."""
    value, index = call.tensor("self"), call.tensor("index")
    rank = len(index.shape)
    if not rank:
        raise no_form_of("a gather without dimensions")
    dim = call.raw("dim") % rank
    elements = views.placed(value, (*index.shape, value.shape[dim]), [rank if d == dim else d for d in range(rank)])
    return picked(index, value.shape[dim], elements, index.shape)


@handles("index_select")
def index_select(call: Call) -> Results:
    """Slices at places along one dimension."""
    value, index = call.tensor("self"), call.tensor("index")
    return _selected(value, [index], [call.raw("dim") % len(value.shape)], call)


@handles("index", "_unsafe_index")
def advanced(call: Call) -> Results:
    """Indexing by tensors of integers."""
    value = call.tensor("self")
    given = list(call.raw("indices"))
    tensors = {place: call.values[node] for place, node in enumerate(given) if node is not None}
    indices = [index for index in tensors.values() if isinstance(index, Value)]
    if any(index.dtype == "bool" for index in indices):
        raise CannotLower(
            "a boolean mask selects elements: the number of results depends on the data", "use torch.where"
        )
    return _selected(value, indices, list(tensors), call)


def _selected(value: Value, indices: Sequence[Value], dims: list[int], call: Call) -> Value:
    """Return ``value`` read at ``indices`` along ``dims``, as advanced indexing orders its results."""
    if dims != list(range(dims[0], dims[0] + len(dims))):
        raise no_form_of("indices at dimensions that are no neighbours")
    rank = max(len(index.shape) for index in indices)
    shape = call.shape
    at = dims[0]
    wide = (*shape, *(value.shape[dim] for dim in dims))
    own = [*range(at), *range(len(shape), len(wide)), *range(at + rank, len(shape))]
    elements = views.placed(value, wide, own)
    args: list[Value] = []
    tests: list[str] = []
    for number, index in enumerate(indices):
        wide_index = views.broadcast(index, shape[at : at + rank])
        args.append(views.placed(_wrapped(call, wide_index, value.shape[dims[number]]), wide, range(at, at + rank)))
        args.append(views.placed(views.arange(value.shape[dims[number]]), wide, [len(shape) + number]))
        tests.append(f"({{{2 * number}}} == {{{2 * number + 1}}})")
    template = f"torch.where({' & '.join(tests)}, {{{len(args)}}}, {_zero(value.dtype)})"
    return Fold(sums(value.dtype), (Pointwise(template, (*args, elements), value.dtype, "pick"),), len(dims))


@handles("scatter", "scatter_add", "scatter_reduce")
def scatter(call: Call) -> Results:
    """Writes at places along one dimension: every element asks who wrote it."""
    value, index = call.tensor("self"), call.tensor("index")
    rank = len(value.shape)
    dim = call.raw("dim") % rank
    if any(
        call.sizes.of(a) != call.sizes.of(b)
        for d, (a, b) in enumerate(zip(index.shape, value.shape, strict=True))
        if d != dim
    ):
        raise no_form_of("a scatter into a part of the other dimensions", "slice the target first")
    source = call.optional("src") if any(name == "src" for name, _ in call.parameters) else call.optional("value")
    if source is None:
        raise no_form_of("a scatter without a source")
    wide = (*value.shape, index.shape[dim])
    back = [rank if d == dim else d for d in range(rank)]
    asked = views.placed(index, wide, back)
    places = views.placed(views.arange(value.shape[dim]), wide, [dim])
    hit = Pointwise("({0} == {1})", (asked, places), "bool", "hit")
    wrote = views.broadcast(source, wide) if literal(source) is not None else views.placed(source, wide, back)
    if call.name == "scatter" and call.raw("reduce") is None:
        zero = _zero(value.dtype)
        rule = Rule("last_written", ("0", "0"), ("bool", value.dtype), ("s0 | x0", "torch.where(x0, x1, s1)"))
        wrote = Pointwise(f"torch.where({{0}}, {{1}}, {zero})", (hit, wrote), value.dtype, "pick")
        fold = Fold(rule, (hit, wrote), 1)
        args = (Component(fold, 0), Component(fold, 1), value)
        return Pointwise("torch.where({0}, {1}, {2})", args, value.dtype, "scatter")
    if call.name == "scatter_reduce" and (call.raw("reduce") != "sum" or not call.raw("include_self")):
        raise no_form_of(f"scatter_reduce with {call.raw('reduce')}", "use sum")
    chosen = Pointwise(f"torch.where({{0}}, {{1}}, {_zero(value.dtype)})", (hit, wrote), value.dtype, "pick")
    return Pointwise("({0} + {1})", (value, Fold(sums(value.dtype), (chosen,), 1)), value.dtype, "add")


def _numbers(value: Value, dim: int, *, down: bool) -> Value:
    """Return for each element how many stand before it in order, equal ones in their own order."""
    rank, size = len(value.shape), value.shape[dim]
    wide = (*value.shape, size)
    other = views.placed(value, wide, [rank if d == dim else d for d in range(rank)])
    own = views.placed(value, wide, range(rank))
    mine = views.placed(views.arange(size), wide, [dim])
    theirs = views.placed(views.arange(size), wide, [rank])
    before = f"(({{0}} {'>' if down else '<'} {{1}}) | (({{0}} == {{1}}) & ({{3}} < {{2}})))"
    earlier = Pointwise(f"{before}.long()", (other, own, mine, theirs), "int64", "before")
    return Fold(sums("int64"), (earlier,), 1)


def _ordered(value: Value, dim: int, count: Dim, start: Dim, *, down: bool) -> tuple[Value, Value]:
    """Return ``count`` elements in order along ``dim``, from number ``start`` on, and their places."""
    rank, size = len(value.shape), value.shape[dim]
    shape = (*value.shape[:dim], count, *value.shape[dim + 1 :])
    across = (*shape, size)
    back = [rank if d == dim else d for d in range(rank)]
    numbers = views.placed(_numbers(value, dim, down=down), across, back)
    wanted = views.placed(views.along(views.arange(size), 0, count, start), across, [dim])
    hit = Pointwise("({0} == {1})", (numbers, wanted), "bool", "wanted")
    places = views.placed(views.arange(size), across, [rank])
    results: list[Value] = []
    for dtype, element in ((value.dtype, views.placed(value, across, back)), ("int64", places)):
        chosen = Pointwise(f"torch.where({{0}}, {{1}}, {_zero(dtype)})", (hit, element), dtype, "pick")
        results.append(Fold(sums(dtype), (chosen,), 1))
    return results[0], results[1]


@handles("topk", "sort")
def sort(call: Call) -> Results:
    """Each element counts those before it; each place of the result takes the element with its number."""
    value = call.tensor("self")
    dim = call.raw("dim") % len(value.shape)
    down = bool(call.raw("largest")) if call.name == "topk" else bool(call.raw("descending"))
    return _ordered(value, dim, call.shapes()[0][dim], Dim.of(0), down=down)


@handles("kthvalue", "median")
def kth(call: Call) -> Results:
    """The element with one number in ascending order."""
    value = call.tensor("self")
    if not any(name == "dim" for name, _ in call.parameters):
        value = views.reshape(value, [product(value.shape)], call.sizes)
    rank = len(value.shape)
    given = call.raw("dim")
    dim = (0 if given is None else given) % rank
    place = call.size("k") - 1 if call.name == "kthvalue" else (value.shape[dim] - 1) // 2
    found = [views.squeeze(each, [dim]) for each in _ordered(value, dim, Dim.of(1), place, down=False)]
    if given is None:
        return found[0]
    return tuple(views.unsqueeze(each, [dim]) if call.raw("keepdim") else each for each in found)


@handles("slice_scatter", "select_scatter")
def slice_scatter(call: Call) -> Results:
    """A tensor with a range of one dimension replaced."""
    value, source = call.tensor("self"), call.tensor("src")
    rank = len(value.shape)
    dim = call.raw("dim") % rank
    name = "start" if call.name == "slice_scatter" else "index"
    start = call.size(name) if call.raw(name) is not None else Dim.of(0)
    if call.sizes.of(start) < 0:
        start = value.shape[dim] + start
    if call.name == "select_scatter":
        source = views.unsqueeze(source, [dim])
    elif call.raw("step") not in (None, 1):
        raise no_form_of("writing to every other element")
    low = (*views.zeros(dim), start, *views.zeros(rank - dim - 1))
    inside = views.pad(_all_true(source.shape), value.shape, low, "False")
    patch = views.pad(source, value.shape, low, _zero(value.dtype))
    return Pointwise("torch.where({0}, {1}, {2})", (inside, patch, value), value.dtype, "write")


def _all_true(shape: Shape) -> Value:
    return Source(shape, "bool", "inside", "ones")


@handles("nll_loss_forward", "nll_loss2d_forward", "nll_loss")
def nll_loss(call: Call) -> Results:
    """Minus the logarithm of the probability of each target, added up or averaged."""
    value, target = call.tensor("self"), call.tensor("target")
    weight, reduction = call.optional("weight"), call.raw("reduction")
    rank = len(value.shape)
    dim = 0 if rank == 1 else 1
    shape = target.shape
    order = [d for d in range(rank) if d != dim] + [dim]
    picked_value = picked(target, value.shape[dim], views.permute(value, order), shape)
    ignored = call.raw("ignore_index")
    if weight is None:
        scale: Value = Pointwise(f"({{0}} != {ignored}).float()", (target,), value.dtype, "counts")
    else:
        table = views.placed(weight, (*shape, weight.shape[0]), [len(shape)])
        scale = picked(target, weight.shape[0], table, shape)
    each = Pointwise("(-{0} * {1})", (picked_value, scale), value.dtype, "loss")
    if reduction == 0:
        return each, views.broadcast(unary("{0}", scale, ""), shape)
    count = len(shape)
    loss: Value = Fold(sums(value.dtype), (each,), count) if count else each
    total: Value = Fold(sums(value.dtype), (scale,), count) if count else scale
    if reduction == 1:
        loss = Pointwise("({0} / {1})", (loss, total), value.dtype, "mean")
    return loss, total
