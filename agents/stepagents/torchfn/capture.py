"""One trace of a function at concrete sizes: ``torch.export``, decomposed to core ATen. Loads torch."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

import torch
import torch._dynamo.guards  # PyTorch looks for it while it traces, and must not import it in the middle of that
import torch.fx.traceback as fx_traceback
from torch import Tensor, nn
from torch._decomp import core_aten_decompositions
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.export.graph_signature import InputKind
from torch.func import functionalize
from torch.fx import Graph, GraphModule, Interpreter
from torch.fx.experimental.proxy_tensor import make_fx
from torch.overrides import TorchFunctionMode

from stepagents.torchfn.blame import is_leak
from stepagents.torchfn.guards import Guard
from stepagents.torchfn.masked import MaskedTensors, whole
from stepagents.torchfn.recurrent import LAYERS
from stepagents.torchfn.refusals import NO_TRACE, Refused, refuse
from stepagents.torchfn.rolling.loops import roll
from stepagents.torchfn.stand_ins import StandIns
from stepagents.torchfn.subject import TORCH_DTYPES, TracedSubject
from stepcore.jobs import importing
from stepcore.records import Record

_LINE: Final = "stepsmith_line"
_PREFIX: Final = "owner."
_Result = TypeVar("_Result")
_PATIENCE: Final = 6.0  # tracing takes longer than the function, and the function has run before


class Placeholder(Record):
    """One placeholder: what it is (``user``, ``weight``, ``constant``), and the attribute or argument it comes from."""

    node: str
    kind: str
    origin: str
    value: Tensor | None


class Capture(Record):
    """The graph at ``sizes`` (symbol -> size), its placeholders and results, and what it would overwrite.

    ``mutated`` are the user's arguments that the function changes in place, with the lines where;
    ``statistics`` the buffers of the module that it would update.
    """

    graph: GraphModule
    sizes: Mapping[str, int]
    placeholders: tuple[Placeholder, ...]
    results: tuple[str, ...]
    mutated: tuple[tuple[str, int | None], ...]
    statistics: tuple[str, ...]


# Methods that change the shape of an argument in place: export goes on for minutes, and fails in words of its own.
_HAS_RESULT: Final = frozenset({"t_", "transpose_", "squeeze_", "unsqueeze_", "swapaxes_", "swapdims_"})
_RESHAPING: Final = _HAS_RESULT | {"resize_", "resize_as_", "set_", "as_strided_"}


class _Lines(TorchFunctionMode):
    """Notes for every operation the line of the user's file that calls it."""

    def __init__(self, guard: Guard, given: Sequence[Tensor]) -> None:
        super().__init__()
        self._guard = guard
        self._given = given  # the user's arguments

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        line = self._guard.user_line(sys._getframe(1))
        name = getattr(func, "__name__", "")
        if name in _RESHAPING and any(args[0] is tensor for tensor in self._given if args):
            advice = (
                f"write .{name[:-1]}(...) and go on with its result" if name in _HAS_RESULT else "make a new tensor"
            )
            what = f".{name}(...) changes the shape of an argument in place"
            raise refuse(NO_TRACE, what, self._guard.shown, line or self._guard.line, advice=advice)
        if line is None:
            return func(*args, **(kwargs or {}))
        with fx_traceback.annotate({_LINE: line}):
            return func(*args, **(kwargs or {}))


class _Wrapper(nn.Module):
    """The function as a module, as ``torch.export`` wants it."""

    def __init__(self, subject: TracedSubject, guard: Guard) -> None:
        super().__init__()
        self.owner = subject.module
        self._subject = subject
        self._guard = guard
        self.training = subject.module is None or subject.module.training

    def forward(self, *tensors: Tensor) -> Any:
        with _Lines(self._guard, tensors), MaskedTensors():
            return whole(self._subject.call(*tensors))


def _fakes(subject: TracedSubject, sizes: Mapping[str, int]) -> list[Tensor]:
    """Return tensors of the right shapes and dtypes without data; to be called inside a mode of fake tensors."""
    return [
        torch.empty([size.bind(sizes) for size in item.dims or ()], dtype=TORCH_DTYPES[item.dtype])
        for item in subject.tensors
    ]


def probe(subject: TracedSubject, sizes: Mapping[str, int], guard: Guard) -> list[tuple[int, ...]]:
    """Run the function on shapes alone and return the shapes of its results: fast, and says whether sizes are possible.

    Raises:
        Refused: the function cannot run at these sizes.
    """

    def shapes(one: TracedSubject, fakes: Sequence[Tensor]) -> list[tuple[int, ...]]:
        with StandIns(), MaskedTensors():
            return [tuple(item.shape) for item in flat(whole(one.call(*fakes))) if isinstance(item, Tensor)]

    return _on_shapes(subject, sizes, guard, shapes)


class _Counted(TorchFunctionMode):
    """Counts the operations that are called."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.count += 1
        return func(*args, **(kwargs or {}))


def calls(subject: TracedSubject, sizes: Mapping[str, int], guard: Guard) -> int:
    """Run the function on shapes alone and return how many operations it calls: more at larger sizes in a loop.

    Raises:
        Refused: the function cannot run at these sizes.
    """

    def count(one: TracedSubject, fakes: Sequence[Tensor]) -> int:
        counted = _Counted()
        with counted, MaskedTensors():
            one.call(*fakes)
        return counted.count

    return _on_shapes(subject, sizes, guard, count)


def _on_shapes(
    subject: TracedSubject,
    sizes: Mapping[str, int],
    guard: Guard,
    use: Callable[[TracedSubject, Sequence[Tensor]], _Result],
) -> _Result:
    """Return what ``use`` makes of the subject and of arguments that are shapes alone."""
    shown = ", ".join(f"{name}={size}" for name, size in sizes.items())

    def run(one: TracedSubject) -> _Result:
        with guard.watch(shown), torch.no_grad(), FakeTensorMode(allow_non_fake_inputs=True):
            return use(one, _fakes(one, sizes))

    return _fresh(subject, run)


def _fresh(subject: TracedSubject, run: Callable[[TracedSubject], _Result]) -> _Result:
    """Return what ``run`` makes of the subject as it was loaded, imported anew where the file keeps tensors itself."""
    try:
        return run(subject.fresh())
    except Refused as error:
        if not is_leak(error):
            raise
        return run(subject.reloaded())


def flat(found: Any) -> Iterable[Any]:
    """Yield the results of a function one by one, out of tuples, lists, dictionaries and dataclass-like outputs."""
    return torch.utils._pytree.tree_leaves(found)


def capture(subject: TracedSubject, sizes: Mapping[str, int], guard: Guard, *, rolled: bool = True) -> Capture:
    """Trace the function at ``sizes``; ``rolled`` writes loops over time as one round.

    Raises:
        Refused: it cannot be traced; the finding has the user's line.
    """
    _warm_up()
    return _fresh(subject, lambda one: _capture(one, sizes, guard, rolled))


def _capture(subject: TracedSubject, sizes: Mapping[str, int], guard: Guard, rolled: bool) -> Capture:
    shown = ", ".join(f"{name}={size}" for name, size in sizes.items())
    with (
        guard.watch(shown, _PATIENCE),
        torch.no_grad(),
        warnings.catch_warnings(),
        fx_traceback.preserve_node_meta(),
    ):
        warnings.simplefilter("ignore")
        wrapper = _Wrapper(subject, guard)
        with FakeTensorMode(allow_non_fake_inputs=True):
            fakes = tuple(_fakes(subject, sizes))
        program = torch.export.export(wrapper, fakes, strict=False)
        graph = _decomposed(program.graph_module, rolled=rolled)
        _without_copies(graph.graph)
    if rolled:
        roll(graph.graph)
    return _captured(subject, program, graph, sizes)


@cache
def _warm_up() -> None:
    """Let PyTorch import what it needs for its first trace: that is no time of the user's function."""
    with importing(), torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _decomposed(torch.export.export(nn.Identity(), (torch.zeros(2),), strict=False).graph_module)


def _decomposed(module: GraphModule, *, rolled: bool = True) -> GraphModule:
    """Return an exported graph in core ATen operations, without updates in place.

    The same as ``ExportedProgram.run_decompositions``, which spends most of its time on collecting what it could
    decompose.
    """
    fakes = [node.meta["val"] for node in module.graph.nodes if node.op == "placeholder"]
    mode = next(item.fake_mode for item in fakes if isinstance(item, FakeTensor))

    def run(*tensors: Tensor) -> Any:
        return _Calls(module, rolled).run(*tensors)

    with mode:
        found: GraphModule = make_fx(functionalize(run), decomposition_table=_decompositions())(*fakes)
    # Some decompositions update what they made themselves.
    return _decomposed(found, rolled=rolled) if any(map(_updates, found.graph.nodes)) else found


def _without_copies(graph: Graph) -> None:
    """Take what a whole tensor is overwritten by for that tensor, where it has its shape and type."""
    for node in list(graph.nodes):
        if node.target is torch.ops.aten.copy.default and node.args[1].op == "call_function":
            before, after = (node.args[place].meta["val"] for place in (0, 1))
            if before.shape == after.shape and before.dtype == after.dtype:
                node.replace_all_uses_with(node.args[1])
                graph.erase_node(node)


def _updates(node: Any) -> bool:
    """Whether a node changes something in place, other than an argument at the end."""
    schema = getattr(node.target, "_schema", None)
    if schema is None or not schema.is_mutable:
        return False
    return node.target is not torch.ops.aten.copy_.default or node.args[0].op != "placeholder"


class _Calls(Interpreter):
    """Runs a graph with what is better taken by its definition.

    For attention PyTorch would choose a kernel, which no table of ours knows; circular padding it would write piece by
    piece into memory.
    """

    def __init__(self, module: GraphModule, rolled: bool) -> None:
        super().__init__(module)
        self._rolled = rolled

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        if target is torch.ops.aten.scaled_dot_product_attention.default:
            return _attention(*args, **kwargs)
        if target is torch.ops.aten.pad.default and "circular" in args and min(args[1]) >= 0:
            return _circular(args[0], args[1])
        if target in LAYERS:
            return LAYERS[target](self._rolled, *args, **kwargs)
        return super().call_function(target, args, kwargs)


def _decompositions() -> dict[Any, Any]:
    """Return how operations become core ATen; what PyTorch takes apart by itself need not stand here."""
    if not _TABLE:
        # The public table holds those 500 as well, and takes a tenth of a second to be made.
        _TABLE.update(getattr(torch._decomp, "_core_aten_decompositions_post_autograd", core_aten_decompositions)())
        _TABLE[torch.ops.aten.native_batch_norm.default] = _batch_norm
    return _TABLE


_TABLE: Final[dict[Any, Any]] = {}


def _batch_norm(
    tensor: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    mean: Tensor | None,
    variance: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
) -> Any:
    """Batch normalization without an update of the running statistics, which is no result."""
    if training or mean is None or variance is None:
        return torch.ops.aten._native_batch_norm_legit.no_stats(tensor, weight, bias, True, momentum, eps)
    return torch.ops.aten._native_batch_norm_legit_no_training(tensor, weight, bias, mean, variance, momentum, eps)


def _circular(tensor: Tensor, padding: Sequence[int]) -> Tensor:
    """Continue a tensor at each end with its other end; ``padding`` is (before, after), the last dimension first."""
    for number, (before, after) in enumerate(zip(padding[::2], padding[1::2], strict=True)):
        dim = tensor.dim() - 1 - number
        size = tensor.shape[dim]
        pieces = [tensor.narrow(dim, size - before, before), tensor, tensor.narrow(dim, 0, after)]
        pieces = [piece for piece in pieces if piece.shape[dim]]
        tensor = torch.cat(pieces, dim) if len(pieces) > 1 else tensor
    return tensor


def _attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """Scaled dot-product attention in terms of products and a softmax, by its definition."""
    if enable_gqa:
        groups = query.shape[-3] // key.shape[-3]
        key, value = key.repeat_interleave(groups, -3), value.repeat_interleave(groups, -3)
    factor = 1.0 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = query @ key.transpose(-2, -1) * factor
    if is_causal:
        allowed = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
        scores = torch.where(allowed, scores, -math.inf)
    if attn_mask is not None:
        scores = torch.where(attn_mask, scores, -math.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    # A row that its mask leaves nothing of is 0, as in PyTorch, and not NaN.
    weights = torch.softmax(scores, -1) if attn_mask is None else torch.ops.aten._safe_softmax.default(scores, -1)
    return (torch.dropout(weights, dropout_p, True) if dropout_p else weights) @ value


def _captured(subject: TracedSubject, program: Any, module: GraphModule, sizes: Mapping[str, int]) -> Capture:
    nodes = [node for node in module.graph.nodes if node.op == "placeholder"]
    users = iter(item.name for item in subject.tensors)
    placeholders: list[Placeholder] = []
    for node, spec in zip(nodes, program.graph_signature.input_specs, strict=True):
        if spec.kind is InputKind.USER_INPUT:
            placeholders.append(Placeholder(node.name, "user", next(users), None))
            continue
        kind = "weight" if spec.kind is not InputKind.CONSTANT_TENSOR else "constant"
        value = program.constants.get(spec.target, program.state_dict.get(spec.target))
        placeholders.append(Placeholder(node.name, kind, spec.target.removeprefix(_PREFIX), value))
    by_node = {item.node: item for item in placeholders}
    mutated = tuple(
        (by_node[name].origin, line)
        for name, line in _take_updates(module)
        if name in by_node and by_node[name].kind == "user"
    )
    results = next(iter(reversed(module.graph.nodes))).args[0]
    names = tuple(getattr(item, "name", "") for item in flat(results))
    return Capture(module, sizes, tuple(placeholders), names, mutated, _statistics(program))


def _take_updates(module: GraphModule) -> list[tuple[str, int | None]]:
    """Remove what writes results back into arguments; returns the placeholders and the lines."""
    updates = [node for node in module.graph.nodes if node.target is torch.ops.aten.copy_.default]
    found = [(node.args[0].name, line_in(node) or line_in(node.args[1])) for node in updates]
    for node in updates:
        if not node.users:
            module.graph.erase_node(node)
    return found


def _statistics(program: Any) -> tuple[str, ...]:
    """Return the running statistics that batch normalization in training mode updates."""
    targets = program.graph_signature.inputs_to_buffers
    found = [
        node.args[3].name
        for node in program.graph.nodes
        if node.target is torch.ops.aten.batch_norm.default and node.args[5] and node.args[3] is not None
    ]
    return tuple(targets[name].removeprefix(_PREFIX) for name in found if name in targets)


def line_in(node: Any) -> int | None:
    """Return the line of the user's file that was noted for a node."""
    found: int | None = (node.meta.get("custom") or {}).get(_LINE)
    return found
