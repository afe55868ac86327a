"""Derives ``stepcore/fn/torch_table.py`` from the installed torch: what bodies may call, and under what terms.

``python scripts/torch_schemas.py`` rewrites the table, ``--check`` says whether it is what this torch gives. Checking
programs never imports torch, so the table is text. The evidence, in this order:

1. Operators of torch have schemas. One that writes into an argument (``alias_info.is_write``) is not admitted, except
   as a method ``NAME_`` with a pure form ``NAME``; one with the tag ``nondeterministic_seeded`` is random.
2. Schemas of some operators do not say that running statistics are updated, and Python wrappers have none. There the
   *parameters* say it (:data:`_WRITES`, :data:`_DRAWS`): the call is harmless only with certain literal values.
3. Python wrappers and modules run once on small tensors (``_examples``) while every operator below them is watched. A
   wrapper without an example, or one that changes what it got, is not admitted.
4. Every function that is left runs on small real tensors: one that gave complex numbers each time is named apart, and
   not admitted, because values of bodies are real.
5. What may give a view of an argument is named apart: an alias in the schema of any overload, or, since operators
   that are composed of others have none there, a result in the memory of an argument in any call on small tensors.
6. :data:`_REFUSED` and the ``_REVIEWED`` tables hold what no schema can tell, with the reason.
"""

from __future__ import annotations

import argparse
import inspect
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

ROOT: Final = Path(__file__).resolve().parent.parent
TABLE: Final = ROOT / "stepcore" / "fn" / "torch_table.py"

# Operators that are pure by their schema and still do not exist for a body -> why.
_REFUSED: Final[dict[str, str]] = {
    r"_.*": "private",
    r"from_file": "reads a file",
    r"(cudnn|miopen|mkldnn|mps|xnnpack|nnpack|fbgemm|quantized|sspaddmm|sparse|spmm|ccol|crow|hspmm)(_.*)?|is_vulkan.*":
        "belongs to one backend, or to layouts and number formats that streams do not have",
    r".*(sparse|mkldnn|quantiz|per_tensor|per_channel|fake_quant|nested|qint|padded_tensor|_cudnn|dlpack).*|q_.*|int_repr":
        "belongs to layouts and number formats that streams do not have",
    r"coalesce|is_coalesced|indices|values|col_indices|row_indices|dense_dim|smm|to_dense|fused_.*|row_indices_copy":
        "belongs to layouts and number formats that streams do not have",
    r"cuda|pin_memory|is_pinned|record_stream|to_here|is_leaf|output_nr|get_device|get_gradients|confirmed_by_owner":
        "moves tensors to devices, or tells of autograd and devices",
    r"requires_grad.*|retain_grad|retains_grad|backward|.*_backward.*|.*_jvp|grad|is_inference|data|detach_copy":
        "belongs to autograd",
    r"names|align_.*|rename.*|refine_names|unnamed": "named tensors",
    r"set|set_.*|resize.*|as_strided.*|unsafe_.*|storage.*|is_set_to|alias.*|lift.*|data_ptr|is_same_size|swap":
        "shows or changes how tensors lie in memory, which is the simulator's own choice",
    r"empty_(strided|permuted).*|new_empty_strided.*|empty_quantized|nonzero_static_out": "memory that nobody wrote",
    r"sym_.*|.*_symint|numel_.*|copy_sparse.*|split_copy_out|.*_out": "a spelling for compilers",
    r"choose_qparams.*|.*nnpack.*|obj|manual_seed|seed|initial_seed|save|load|warn|format|len|str|print|Int.*|Float.*|Bool.*":
        "no operation on tensors",
    r"batch_norm_(gather|update|stats|elemt).*|embedding_renorm|convolution_overrideable|conv_depthwise3d":
        "a part of another operator, or of its kernel",
    r"gru|lstm|rnn_relu|rnn_tanh": "takes flat lists of weights; torch.nn has cells",
    r"is_autocast.*|get_autocast.*|is_grad_enabled|is_distributed|has_torch_function|qscheme|is_nonzero":
        "no operation on tensors",
    r"(ccol|crow|col|row)?_?(indices|values)_copy|Complex.*|Scalar.*|dict|count|sorted|is_(strides|non_overlapping).*":
        "no operation on tensors",
    r"(linalg_)?(lu_solve|lu_unpack|ldl_solve|ldl_factor.*|householder_product)|orgqr|ormqr|geqrf|native_.*|histogramdd":
        "trusts pivots and sizes of other operators, and may end the process where they do not fit",
    r"lstm_cell|gru_cell|rnn_(relu|tanh)_cell|embedding_bag|norm_except_dim|affine_grid_generator|grid_sampler.*":
        "trusts its arguments; torch.nn has a form that looks at them",
    r"view_as_real(_copy)?|istft|imag": "takes complex numbers, which no value of a body is",
    r".*_polynomial_.*": "computes for as long as its second argument says, whatever the size of its tensors",
    r"segment_reduce|nuclear_norm|frobenius_norm|hash_tensor": "no settled interface",
}  # fmt: skip
# Parameters by which a call writes into an argument -> the value under which it does not.
_WRITES: Final[dict[str, object]] = {"inplace": False, "max_norm": None}
# Parameters by which a call draws random numbers -> the value under which it does not. One of them is enough.
_DRAWS: Final[dict[str, object]] = {"training": False, "train": False, "dropout_p": 0.0, "dropout": 0.0}
_STATISTICS: Final = ("running_mean", "running_var")
_WHEN_UPDATED: Final = ("training", "use_input_stats")

# Methods and functions that torch binds without a schema, and what they are.
_REVIEWED_METHODS: Final[dict[str, str]] = {
    "bfloat16 bool byte char double float half int long short": "conversions, as .to(dtype)",
    "ndimension nelement tolist type unique": "reads a tensor",
    "new_tensor": "makes a tensor",
}
_REVIEWED_FUNCTIONS: Final[dict[str, str]] = {"is_tensor": "reads nothing", "as_tensor": "makes a tensor"}
_REVIEWED_INPLACE: Final[dict[str, str]] = {"fill_diagonal_": "has no pure form; its schema writes into self alone"}
_REVIEWED_MODULES: Final[dict[str, str]] = {"Identity": "ignores all arguments of its constructor"}
# Operators of torch.ops.aten, as traced functions hold them. Many others there are parts of kernels that trust their
# arguments, and some end the process when those do not fit.
_OPERATORS: Final = """
    abs absolute acos acosh adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
    adaptive_max_pool2d adaptive_max_pool3d add addbmm addcdiv addcmul addmm addmv addr all amax amin aminmax any
    arange arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort asin asinh atan atan2 atanh
    avg_pool1d avg_pool2d avg_pool3d baddbmm bitwise_and bitwise_not bitwise_or bitwise_xor bmm broadcast_to cat
    ceil celu chunk clamp clamp_max clamp_min clip clone constant_pad_nd convolution copysign cos cosh count_nonzero
    cummax cummin cumprod cumsum deg2rad diag diag_embed diagonal diff digamma div divide dot elu embedding eq erf
    erfc erfinv exp exp2 expand expm1 fix flatten flip float_power floor floor_divide fmax fmin fmod frac full
    full_like gather ge gelu glu greater greater_equal gt hardshrink hardsigmoid hardswish hardtanh heaviside hypot
    index index_add index_copy index_fill index_select inner isclose isfinite isinf isnan kron kthvalue layer_norm
    ldexp le leaky_relu lerp less less_equal lgamma linalg_vector_norm linear log log10 log1p log2
    log_sigmoid_forward log_softmax logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor
    logit logsumexp lt masked_fill masked_select matmul max max_pool2d_with_indices max_pool3d_with_indices maximum
    mean median min minimum mish mm mode moveaxis movedim mul multiply mv nan_to_num nanmean nansum narrow
    native_group_norm native_layer_norm ne neg negative nll_loss_forward norm not_equal one_hot ones ones_like outer
    permute pixel_shuffle pixel_unshuffle positive pow prod rad2deg reciprocal reflection_pad1d reflection_pad2d
    reflection_pad3d relu remainder repeat repeat_interleave replication_pad1d replication_pad2d replication_pad3d
    reshape roll round rsqrt scatter scatter_add scatter_reduce select selu sigmoid sign signbit silu sin sinc sinh
    slice softmax softplus softshrink sort split split_with_sizes sqrt square squeeze stack std sub subtract sum
    swapaxes swapdims t take take_along_dim tan tanh tensor_split threshold tile topk trace transpose tril triu
    true_divide trunc unbind unflatten unfold unsqueeze upsample_bilinear2d upsample_linear1d upsample_nearest1d
    upsample_nearest2d upsample_nearest3d upsample_trilinear3d var view where xlogy zeros zeros_like
"""
_REVIEWED_OPERATORS: Final = frozenset(_OPERATORS.split())
# Overloads of them that are not -> why.
_REFUSED_OVERLOADS: Final = {"view.dtype": "ends the process where a number is no dtype"}
# Uninitialized memory that was legal before there was a table: bodies fill it.
_FILLED: Final = frozenset({"empty", "empty_like", "new_empty"})
# Found under another name than that of the schema.
_SCHEMA_OF: Final = {"logsigmoid": "log_sigmoid"}
_ARGUMENT_TYPES: Final = re.compile(
    r"(Optional\[)?(List\[)?(Optional\[)?"
    r"(Tensor|int|float|bool|str|number|Scalar|SymInt|Device|complex|Layout|MemoryFormat|ScalarType|Generator)\b"
)

_ON_SHAPES: Final = ("aten::can_cast", "aten::promote_types", "aten::result_type")
_schemas: dict[str, list[Any]] = {}


def schemas(name: str) -> list[Any]:
    """Return the schemas of ``aten::name``, all overloads."""
    if not _schemas:
        for schema in torch._C._jit_get_all_schemas():
            _schemas.setdefault(schema.name, []).append(schema)
    # Operators on texts and lists of numbers alone belong to TorchScript.
    return [schema for schema in _schemas.get(f"aten::{name}", []) if _on_tensors(schema)]


def _on_tensors(schema: Any) -> bool:
    kinds = [str(part.type) for part in (*schema.arguments, *schema.returns)]
    return any("Tensor" in kind for kind in kinds) or schema.name in _ON_SHAPES


def refused(name: str) -> str:
    """Return why an operator is not admitted whatever its schema says, or an empty text."""
    if name in _FILLED:
        return ""
    return next((why for pattern, why in _REFUSED.items() if re.fullmatch(pattern, name)), "")


def writes(schema: Any) -> bool:
    """Return whether an operator writes into an argument."""
    return any(is_written(part) for part in (*schema.arguments, *schema.returns))


def is_written(part: Any) -> bool:
    """Return whether an argument or result is marked as written."""
    return part.alias_info is not None and part.alias_info.is_write


def tags(name: str, overload: str) -> list[Any]:
    """Return the tags of an overload."""
    packet = getattr(torch.ops.aten, name, None)
    found = getattr(packet, overload or "default", None)
    return [] if found is None else found.tags


def usable(schema: Any) -> bool:
    """Return whether all arguments are of kinds that a body can hold, and none names a file."""
    return all(
        _ARGUMENT_TYPES.match(str(argument.type)) and argument.name not in ("filename", "storage", "stream")
        for argument in schema.arguments
    )


def pure_schemas(name: str) -> list[Any]:
    """Return the overloads that write nowhere."""
    return [schema for schema in schemas(name) if not writes(schema) and usable(schema)]


def is_random(name: str) -> bool:
    """Return whether an operator draws random numbers."""
    return any(torch.Tag.nondeterministic_seeded in tags(name, schema.overload_name) for schema in pure_schemas(name))


# Terms ------------------------------------------------------------------------------------------------------------

Parameter = tuple[str, int, object]  # name, position (-1: keyword only), default (... where there is none)


def terms(parameters: list[Parameter]) -> tuple[list[str], list[str]]:
    """Return the terms under which a call writes nowhere, and those under which it draws nothing.

    A term reads ``inplace@1:False=False`` (name, position, harmless value, default). Terms of one text separated by
    ``,`` hold together, ``|`` separates alternatives; each text of a list has to hold.
    """
    known = {name: (position, default) for name, position, default in parameters}

    def term(name: str, harmless: object) -> str:
        position, default = known[name]
        return f"{name}@{position}:{harmless!r}={'' if default is ... else repr(default)}"

    writing = [term(name, harmless) for name, harmless in _WRITES.items() if name in known]
    if all(name in known for name in _STATISTICS):
        none = ",".join(term(name, None) for name in _STATISTICS)
        frozen = [term(name, False) for name in _WHEN_UPDATED if name in known]
        writing.append("|".join([*frozen, none]))
    if "track_running_stats" in known:
        writing.append(term("track_running_stats", False))
    # What keeps statistics draws nothing.
    draws = {} if set(_STATISTICS) <= set(known) else _DRAWS
    drawing = [term(name, value) for name, value in draws.items() if name in known]
    return writing, ["|".join(drawing)] if drawing else []


def schema_parameters(schema: Any) -> list[Parameter]:
    """Return the parameters of an operator."""
    found: list[Parameter] = []
    for position, argument in enumerate(schema.arguments):
        default = argument.default_value if argument.has_default_value() else ...
        found.append((argument.name, -1 if argument.kwarg_only else position, default))
    return found


def python_parameters(function: Callable[..., Any]) -> list[Parameter]:
    """Return the parameters of a Python function or of a module's constructor."""
    found: list[Parameter] = []
    for variant in _variants(function):
        for position, parameter in enumerate(inspect.signature(variant).parameters.values()):
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                continue
            default = ... if parameter.default is parameter.empty else parameter.default
            found.append((parameter.name, -1 if parameter.kind == parameter.KEYWORD_ONLY else position, default))
    return list(dict.fromkeys(found))


def _variants(function: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """Yield the functions between which a wrapper of ``boolean_dispatch`` chooses, or the function itself."""
    inner = [cell.cell_contents for cell in getattr(function, "__closure__", None) or () if _filled(cell)]
    choices = [value for value in inner if inspect.isfunction(value)]
    if not choices:
        yield function
    for choice in choices:
        yield from _variants(choice) if _takes_anything(choice) else [choice]


def _takes_anything(function: Callable[..., Any]) -> bool:
    """Return whether a signature does not say which keywords there are."""
    if getattr(function, "__init__", None) is torch.nn.Module.__init__:
        return False  # a module without arguments
    return any(p.kind == p.VAR_KEYWORD for p in inspect.signature(function).parameters.values())


def _filled(cell: Any) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


# Evidence of a run ------------------------------------------------------------------------------------------------


class Witness(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Watches the operators below a Python wrapper: whether one draws, and whether one writes into ``given``."""

    def __init__(self, given: list[Tensor]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._given = {tensor.untyped_storage().data_ptr() for tensor in given if tensor.numel()}
        self.draws = False
        self.writes = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.draws |= torch.Tag.nondeterministic_seeded in func.tags
        for argument, value in zip(func._schema.arguments, args, strict=False):
            if is_written(argument) and isinstance(value, Tensor):
                self.writes |= value.untyped_storage().data_ptr() in self._given
        return func(*args, **(kwargs or {}))


def watched(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[bool, bool] | None:
    """Return whether a call draws and whether it writes into its arguments or state; None where it fails."""
    given = [value for value in (*args, *kwargs.values()) if isinstance(value, Tensor)]
    if isinstance(function, torch.nn.Module):
        given += [*function.parameters(), *function.buffers()]
    before = [(tensor.clone(), tensor._version) for tensor in given]
    witness = Witness(given)
    try:
        with torch.no_grad(), warnings.catch_warnings(), witness:
            warnings.simplefilter("ignore")
            function(*args, **kwargs)
    except (RuntimeError, TypeError, ValueError, AssertionError, NotImplementedError, ImportError, IndexError):
        return None
    changed = any(t._version != v or not torch.equal(t, c) for t, (c, v) in zip(given, before, strict=True))
    return witness.draws, witness.writes or changed


X: Final = torch.linspace(-1.0, 1.0, 12).reshape(3, 4)
_POSITIVE: Final = X.abs() + 0.5
_LABELS: Final = torch.tensor([0, 1, 3])
_IMAGE: Final = torch.linspace(0.0, 1.0, 128).reshape(1, 2, 8, 8)
_VOLUME: Final = torch.linspace(0.0, 1.0, 1024).reshape(1, 2, 8, 8, 8)
_SIGNAL: Final = torch.linspace(0.0, 1.0, 16).reshape(1, 2, 8)
_SQUARE: Final = torch.eye(3) * 2 + 0.1
_SIGNS: Final = torch.tensor([1.0, -1.0, 1.0])


def _pooled(dims: int) -> tuple[Tensor, Tensor]:
    data = (_SIGNAL, _IMAGE, _VOLUME)[dims - 1]
    pool: Any = getattr(torch.nn.functional, f"max_pool{dims}d")
    found: tuple[Tensor, Tensor] = pool(data, 2, return_indices=True)
    return found


def _examples() -> dict[str, list[tuple[Any, ...]]]:
    """Return arguments with which the Python wrappers of torch run; names are those of torch and nn.functional."""
    loss = [(X, X * 0.5)]
    data = {"1d": _SIGNAL, "2d": _IMAGE, "3d": _VOLUME}
    found: dict[str, list[tuple[Any, ...]]] = {
        "atleast_1d": [(X,)], "atleast_2d": [(X,)], "atleast_3d": [(X,)], "block_diag": [(X, X)],
        "broadcast_shapes": [((1, 3), (4, 1))], "broadcast_tensors": [(X, X[0])], "cartesian_prod": [(X[0], X[1])],
        "cdist": [(X, X)], "chain_matmul": [(X, X.t())], "einsum": [("ij,kj->ik", X, X)], "lu": [(_SQUARE,)],
        "meshgrid": [(X[0], X[1])], "norm": [(X,)], "split": [(X, 2)],
        "stft": [(X.reshape(12), 4, None, None, None, True, "reflect", False, True, True)],
        "tensordot": [(X, X.t(), 1)], "unique": [(X,)], "unique_consecutive": [(X,)],
        "unravel_index": [(_LABELS, (3, 4))], "pca_lowrank": [(X, 2)], "svd_lowrank": [(X, 2)],
        "affine_grid": [(torch.zeros(1, 2, 3), [1, 2, 4, 4], False)],
        "batch_norm": [(X, torch.zeros(4), torch.ones(4)), (X, None, None, None, None, True)],
        "instance_norm": [(_SIGNAL,), (_SIGNAL, torch.zeros(2), torch.ones(2), None, None, False)],
        "binary_cross_entropy": [(_POSITIVE / 2, _POSITIVE / 2)], "binary_cross_entropy_with_logits": loss,
        "cosine_embedding_loss": [(X, X, _SIGNS)], "cross_entropy": [(X, _LABELS)],
        "ctc_loss": [(torch.zeros(5, 1, 4).log_softmax(2), torch.tensor([[1, 2]]), (5,), (2,))],
        "embedding": [(_LABELS, torch.ones(4, 4))], "embedding_bag": [(_LABELS[None], torch.ones(4, 4))],
        "fold": [(torch.ones(1, 8, 9), (4, 4), (2, 2))], "unfold": [(_IMAGE, (2, 2))],
        "gaussian_nll_loss": [(X, X, _POSITIVE)], "grid_sample": [(_IMAGE, torch.zeros(1, 2, 2, 2))],
        "group_norm": [(_IMAGE, 2)], "layer_norm": [(X, (4,))], "rms_norm": [(X, (4,))],
        "hinge_embedding_loss": [(X, X.sign())], "interpolate": [(_IMAGE, None, 2), (_SIGNAL, 5)],
        "local_response_norm": [(_IMAGE, 2)], "margin_ranking_loss": [(X[0], X[1], X[2].sign())],
        "multi_margin_loss": [(X, _LABELS)], "multilabel_margin_loss": [(X, torch.tensor([[0, 1, -1, 0]] * 3))],
        "multilabel_soft_margin_loss": [(X, _POSITIVE.round().clamp(0, 1))], "nll_loss": [(X, _LABELS)],
        "pad": [(X, (1, 1)), (_IMAGE, (1, 1, 1, 1), "reflect")], "poisson_nll_loss": loss,
        "soft_margin_loss": [(X, X.sign())], "triplet_margin_loss": [(X, X + 1, X - 1)],
        "triplet_margin_with_distance_loss": [(X, X + 1, X - 1)], "glu": [(X,)], "threshold": [(X, 0.1, 0.0)],
        "upsample": [(_IMAGE, None, 2)], "upsample_bilinear": [(_IMAGE, None, 2)],
        "upsample_nearest": [(_IMAGE, None, 2)], "dropout": [(X, 0.5, False)], "alpha_dropout": [(X, 0.5, False)],
        "feature_alpha_dropout": [(_IMAGE, 0.5, False)], "dropout1d": [(_SIGNAL, 0.5, False)],
        "dropout2d": [(_IMAGE, 0.5, False)], "dropout3d": [(_VOLUME, 0.5, False)], "rrelu": [(X,)],
        "gumbel_softmax": [(X,)], "log_softmax": [(X, 1)], "softmax": [(X, 1)], "softmin": [(X, 1)],
        "fractional_max_pool2d": [(_IMAGE, 2, 3)], "fractional_max_pool3d": [(_VOLUME, 2, 3)],
    }  # fmt: skip
    for name in ("huber_loss", "kl_div", "l1_loss", "mse_loss", "smooth_l1_loss"):
        found[name] = loss
    for dims, tensor in data.items():
        found |= {f"adaptive_avg_pool{dims}": [(tensor, 2)], f"adaptive_max_pool{dims}": [(tensor, 2)]}
        found |= {f"max_pool{dims}": [(tensor, 2)], f"lp_pool{dims}": [(tensor, 2.0, 2)]}
        found[f"max_unpool{dims}"] = [(*_pooled(int(dims[0])), 2)]
    return found


_ONE: Final = [(X,)]
# Arguments of real numbers with which nearly all operators that can give complex numbers run.
_REAL: Final[list[tuple[Any, ...]]] = [(X,), (X[0],), (_SQUARE,), (X, X), (X, X.t()), (torch.ones(3, 2),), (8,), (X, 2)]


_DTYPES: Final = (
    torch.float64, torch.float16, torch.bfloat16, torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8,
    torch.bool,
)  # fmt: skip
# Arguments with which a function that need not copy may hand back a view: one operand, the size that is there already.
_VIEWING: Final[list[tuple[Any, ...]]] = [
    (X, 0), (X, 1), (X, 2), (X, -1), (X, 1.0), (X, 0, 1), (X, 4, 3), (X, 3, 4), (X, 0, 0, 1), (X, 0, 1, 1),
    (X, 0, 2, 1),
    *((X.to(kind),) for kind in _DTYPES), (X, (3, 4)), (X, (0, 1)), (X, 1, (2, 2)), (X, [2, 2]), (X, [1.0, 1.0]),
    (X, X.shape), (X, torch.float32), ([X],),
    ([X, X],), ("ij->ij", X), ("ij->ji", X), ("ii->i", _SQUARE), ("i->i", X[0]), (X[:1], 0), (X[0], (4,)),
    (_LABELS,), (_LABELS, _LABELS), (_IMAGE, 0), (_IMAGE, 1), (_IMAGE, 2, 2), (_IMAGE, None, 1), (_SQUARE, 0),
    (_SQUARE, 1), (torch.ones(()),), (X, 0.5, False), (_IMAGE, 0.5, False), (_SIGNAL, 0.5, False),
    (_VOLUME, 0.5, False), (X, (0, 0)), (X, (0, 0, 0, 0)),
]  # fmt: skip


def gives_complex(function: Callable[..., Any], examples: list[tuple[Any, ...]]) -> bool:
    """Return whether each call of a function on real numbers that ran gave complex ones."""
    kinds: list[bool] = []
    for args in (*examples, *_REAL):
        try:
            with torch.no_grad(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                result = function(*args)
        except (RuntimeError, TypeError, ValueError, AssertionError, NotImplementedError, ImportError, LookupError,
                AttributeError):  # fmt: skip
            continue
        parts = result if isinstance(result, tuple | list) else (result,)
        kinds.append(any(isinstance(part, Tensor) and part.is_complex() for part in parts))
    return bool(kinds) and all(kinds)


def may_alias(name: str, function: Callable[..., Any], examples: Iterable[tuple[Any, ...]]) -> bool:
    """Return whether what a function gives may lie in the memory of an argument; ``name`` is that of its operator."""
    if any(part.alias_info is not None for schema in pure_schemas(name) for part in schema.returns):
        return True
    if pure_schemas(name) and not inspect.isfunction(function) and not _is_composed(name):
        return False
    return any(_shares(function, args) for args in examples)


def _is_composed(name: str) -> bool:
    """Return whether an overload of an operator is made of others, whose aliases its schema does not tell."""
    if not _composed:
        found = torch._C._dispatch_get_registrations_for_dispatch_key("CompositeImplicitAutograd")
        _composed.update(operator.removeprefix("aten::").partition(".")[0] for operator in found)
    return name in _composed


_composed: set[str] = set()


def _shares(function: Callable[..., Any], args: tuple[Any, ...]) -> bool:
    """Return whether a call gives memory of its arguments; False where it fails, or writes (and is not admitted)."""
    own = _copied(args)
    given = [tensor for tensor in _all_tensors(own) if tensor.numel()]
    memory = {tensor.untyped_storage().data_ptr() for tensor in given}
    try:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = function(*own)
    except (RuntimeError, TypeError, ValueError, AssertionError, NotImplementedError, ImportError, LookupError,
            AttributeError, ArithmeticError):  # fmt: skip
        return False
    if any(tensor._version for tensor in given):
        return False
    return any(tensor.untyped_storage().data_ptr() in memory for tensor in _all_tensors(result))


def _copied(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.clone()
    return type(value)(_copied(item) for item in value) if type(value) in (list, tuple) else value


def _all_tensors(value: Any) -> Iterator[Tensor]:
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _all_tensors(item)


def _calls(examples: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return calls in which functions that may give a view of an argument do: most do where nothing is to be done."""
    others = [*_REAL, *_VIEWING]
    return [*examples, *others, *((args[0], *args) for args in examples if args and isinstance(args[0], Tensor))]


def admitted_python(name: str, function: Callable[..., Any], examples: list[tuple[Any, ...]]) -> str | None:
    """Return ``pure`` or ``random`` for a Python wrapper, None where a run shows that it writes, or nothing."""
    if any(_takes_anything(variant) for variant in _variants(function)):
        return None
    outcomes = [watched(function, args, {}) for args in examples]
    if not outcomes or any(outcome is None or outcome[1] for outcome in outcomes):
        return None
    draws = any(outcome is not None and outcome[0] for outcome in outcomes)
    # What draws in its example has parameters that keep it from drawing, or is random.
    return "random" if draws and not terms(python_parameters(function))[1] else "pure"


# Modules ----------------------------------------------------------------------------------------------------------


def _module_examples() -> dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]]:
    """Return for each module of torch.nn arguments of its constructor and of a call."""
    one: tuple[Any, ...] = (X,)
    pair: tuple[Any, ...] = (X, X * 0.5)
    found: dict[str, tuple[tuple[Any, ...], tuple[Any, ...]]] = {
        "Bilinear": ((4, 4, 2), (X, X)), "CosineSimilarity": ((), pair), "PairwiseDistance": ((), pair),
        "Embedding": ((4, 3), (_LABELS,)), "EmbeddingBag": ((4, 3), (_LABELS[None],)), "Flatten": ((), one),
        "Fold": (((4, 4), (2, 2)), (torch.ones(1, 8, 9),)), "Unfold": (((2, 2),), (_IMAGE,)), "GLU": ((), one),
        "GroupNorm": ((2, 2), (_IMAGE,)), "Identity": ((), one), "LayerNorm": ((4,), one), "RMSNorm": ((4,), one),
        "Linear": ((4, 3), one), "Sequential": ((torch.nn.ReLU(), torch.nn.Tanh()), one),
        "Softmax": ((1,), one), "Softmin": ((1,), one), "LogSoftmax": ((1,), one), "Softmax2d": ((), (_IMAGE,)),
        "Threshold": ((0.1, 0.0), one), "Unflatten": ((1, (2, 2)), one), "PReLU": ((), one),
        "ChannelShuffle": ((2,), (_IMAGE,)), "PixelShuffle": ((2,), (torch.ones(1, 4, 2, 2),)),
        "PixelUnshuffle": ((2,), (_IMAGE,)), "LocalResponseNorm": ((2,), (_IMAGE,)), "CrossMapLRN2d": ((2,), (_IMAGE,)),
        "Upsample": ((None, 2), (_IMAGE,)), "UpsamplingBilinear2d": ((None, 2), (_IMAGE,)),
        "UpsamplingNearest2d": ((None, 2), (_IMAGE,)), "ZeroPad1d": ((1,), (_SIGNAL,)),
        "CrossEntropyLoss": ((), (X, _LABELS)), "NLLLoss": ((), (X, _LABELS)), "BCELoss": ((), (_POSITIVE / 2,) * 2),
        "CosineEmbeddingLoss": ((), (X, X, _SIGNS)), "CTCLoss": ((), _examples()["ctc_loss"][0]),
        "GaussianNLLLoss": ((), (X, X, _POSITIVE)), "HingeEmbeddingLoss": ((), (X, X.sign())),
        "MarginRankingLoss": ((), (X[0], X[1], X[2].sign())), "MultiMarginLoss": ((), (X, _LABELS)),
        "MultiLabelMarginLoss": ((), (X, torch.tensor([[0, 1, -1, 0]] * 3))), "SoftMarginLoss": ((), (X, X.sign())),
        "MultiLabelSoftMarginLoss": ((), (X, _POSITIVE.round().clamp(0, 1))),
        "TripletMarginLoss": ((), (X, X + 1, X - 1)), "TripletMarginWithDistanceLoss": ((), (X, X + 1, X - 1)),
        "RNN": ((4, 3), (X,)), "GRU": ((4, 3), (X,)), "LSTM": ((4, 3), (X,)), "RNNCell": ((4, 3), (X,)),
        "GRUCell": ((4, 3), (X,)), "LSTMCell": ((4, 3), (X,)), "MultiheadAttention": ((4, 2), (X, X, X)),
        "BatchNorm1d": ((4, 1e-5, 0.1, True, False), one),
    }  # fmt: skip
    for name in (
        "BCEWithLogitsLoss", "HuberLoss", "KLDivLoss", "L1Loss", "MSELoss", "PoissonNLLLoss", "SmoothL1Loss",
    ):  # fmt: skip
        found[name] = ((), pair)
    for dims, data in (("1d", _SIGNAL), ("2d", _IMAGE), ("3d", _VOLUME)):
        found |= {f"{kind}Pool{dims}": ((2,), (data,)) for kind in ("Avg", "Max", "AdaptiveAvg", "AdaptiveMax")}
        found |= {f"{kind}Pad{dims}": ((1,), (data,)) for kind in ("Reflection", "Replication", "Zero", "Circular")}
        found |= {f"ConstantPad{dims}": ((1, 0.0), (data,)), f"LPPool{dims}": ((2.0, 2), (data,))}
        found |= {f"{kind}{dims}": ((2, 3, 2), (data,)) for kind in ("Conv", "ConvTranspose")}
        found |= {f"InstanceNorm{dims}": ((2,), (data,)), f"MaxUnpool{dims}": ((2,), _pooled(int(dims[0])))}
        if dims != "1d":
            found[f"BatchNorm{dims}"] = ((2, 1e-5, 0.1, True, False), (data,))
    return found


_ACTIVATIONS: Final = """CELU ELU GELU Hardshrink Hardsigmoid Hardswish Hardtanh LeakyReLU LogSigmoid Mish ReLU ReLU6
    SELU SiLU Sigmoid Softplus Softshrink Softsign Tanh Tanhshrink"""


def modules() -> Iterator[tuple[str, str]]:
    """Yield the admitted modules and whether their constructors draw."""
    examples = _module_examples() | dict.fromkeys(_ACTIVATIONS.split(), ((), (X,)))
    for name, (init, call) in examples.items():
        make = getattr(torch.nn, name, None)
        if make is None or (_takes_anything(make) and name not in _REVIEWED_MODULES):
            continue
        made: list[torch.nn.Module] = []
        built = watched(lambda *args, make=make, made=made: made.append(make(*args)), init, {})
        ran = watched(made[0], call, {}) if built is not None else None
        # Drawing while it is called is not seeded: such a module has no place here.
        if built is not None and ran is not None and not any((*ran, built[1])):
            yield name, "random" if built[0] else "pure"


def viewing_modules(admitted: Iterable[str]) -> Iterator[str]:
    """Yield the modules that may give a view of their argument."""
    examples = _module_examples() | dict.fromkeys(_ACTIVATIONS.split(), ((), (X,)))
    inits = {"PixelShuffle": (1,), "PixelUnshuffle": (1,), "ChannelShuffle": (1,), "Flatten": (1,)}
    for name in admitted:
        init, call = examples[name]
        makers = [getattr(torch.nn, name)(*init)]
        makers += [getattr(torch.nn, name)(*inits[name])] if name in inits else []
        if name == "Sequential" or any(_shares(made, call) or _shares(made, (_IMAGE,)) for made in makers):
            yield name


# The table --------------------------------------------------------------------------------------------------------


class Table:
    """What is admitted, by namespace."""

    def __init__(self) -> None:
        self.pure: dict[str, set[str]] = {}
        self.random: dict[str, set[str]] = {}
        self.writing: dict[str, list[str]] = {}
        self.drawing: dict[str, list[str]] = {}
        self.complex: dict[str, set[str]] = {}
        self.viewing: dict[str, set[str]] = {}
        self.viewing_one: set[str] = set()

    def find_views(self, owners: dict[str, Any], prefixes: dict[str, str]) -> None:
        """Take note of what may give a view; ``owners`` are as below, ``prefixes`` those of the names of operators."""
        examples = _examples()
        for space, owner in owners.items():
            for name in self.pure[space]:
                operator = _SCHEMA_OF.get(name, prefixes.get(space, "") + name)
                if may_alias(operator, getattr(owner, name), _calls(examples.get(name, []))):
                    self.viewing.setdefault(space, set()).add(name)
                    several = [args for args in examples.get(name, []) if len(list(_all_tensors(args))) > 1]
                    if several and not any(_shares(getattr(owner, name), args) for args in several):
                        self.viewing_one.add(name)

    def part_complex(self, owners: dict[str, Any], examples: dict[str, list[tuple[Any, ...]]]) -> None:
        """Take out what gives complex numbers; ``owners`` are the modules and classes behind the namespaces."""
        for space, owner in owners.items():
            found = {n for n in self.pure[space] if gives_complex(getattr(owner, n), examples.get(n, []))}
            self.pure[space] -= found
            if found:
                self.complex[space] = found

    def add(self, space: str, name: str, kind: str, parameters: Iterable[list[Parameter]]) -> None:
        """Admit ``space.name``, ``pure`` or ``random``, under the terms that its parameters give."""
        writing: list[str] = []
        drawing: list[str] = []
        for variant in parameters:
            write, draw = terms(variant)
            writing += write
            drawing += draw
        if writing:
            self.writing[f"{space}.{name}"] = list(dict.fromkeys(writing))
        if drawing and (kind == "random" or space in ("torch.nn.functional", "torch.nn")):
            # Without drawing it is as pure as any other.
            self.drawing[f"{space}.{name}"] = list(dict.fromkeys(drawing))
            kind = "pure" if space != "torch.nn" else kind
        (self.pure if kind == "pure" else self.random).setdefault(space, set()).add(name)


def _spaces() -> list[tuple[str, Any, str]]:
    return [
        ("torch", torch, ""),
        ("torch.nn.functional", torch.nn.functional, ""),
        ("torch.linalg", torch.linalg, "linalg_"),
        ("torch.special", torch.special, "special_"),
        ("torch.fft", torch.fft, "fft_"),
    ]


def functions(table: Table) -> None:
    """Admit the functions of torch and of its modules."""
    examples = _examples()
    reviewed = set(_REVIEWED_FUNCTIONS)
    for space, module, prefix in _spaces():
        for name in dir(module):
            value = getattr(module, name)
            if name.startswith("_") or not callable(value) or inspect.isclass(value):
                continue
            if inspect.isfunction(value) or type(value).__name__ == "function":
                kind = admitted_python(name, value, examples.get(name, _ONE)) if _is_own(value) else None
                if name in reviewed:
                    kind = "pure"
                if kind is not None and not refused(name):
                    table.add(space, name, kind, [python_parameters(value)])
                continue
            operator = _SCHEMA_OF.get(name, prefix + name)
            found = pure_schemas(operator)
            if found and not refused(name) and not name.endswith("_"):
                kind = "random" if is_random(operator) else "pure"
                table.add(space, name, kind, [schema_parameters(schema) for schema in found])
            elif name in reviewed:
                table.add(space, name, "pure", [])


def _is_own(function: Any) -> bool:
    """Return whether a Python function is one of torch's wrappers over operators."""
    return getattr(function, "__module__", "") in ("torch.functional", "torch.nn.functional", "torch._jit_internal",
        "torch._lowrank", "torch._VF", "torch._tensor")  # fmt: skip


def methods(table: Table) -> set[str]:
    """Admit the methods of tensors; returns those that work in place."""
    inplace: set[str] = set()
    reviewed = {name for text in _REVIEWED_METHODS for name in text.split()}
    examples = _examples() | {"unflatten": [(X, 1, (2, 2))]}
    for name in dir(Tensor):
        value = inspect.getattr_static(Tensor, name)
        if name.startswith("_") or not callable(getattr(Tensor, name)) or isinstance(value, property):
            continue
        base = name.removesuffix("_")
        if name in reviewed:
            table.add("torch.Tensor", name, "pure", [])
        elif inspect.isfunction(value):
            kind = admitted_python(name, value, examples.get(name, _ONE))
            if kind is not None and not refused(name) and pure_schemas(name):
                table.add("torch.Tensor", name, kind, [python_parameters(value)])
        elif name.endswith("_"):
            paired = name in _REVIEWED_INPLACE or bool(pure_schemas(base))
            if _changes_self_only(name) and paired and not refused(base) and not is_random(base):
                inplace.add(name)
        elif pure_schemas(name) and not refused(name):
            kind = "random" if is_random(name) else "pure"
            table.add("torch.Tensor", name, kind, [schema_parameters(schema) for schema in pure_schemas(name)])
    return inplace


def _changes_self_only(name: str) -> bool:
    """Return whether the numbers of the first argument are all that an operator changes."""
    found = schemas(name)
    written = [[argument.name for argument in schema.arguments if is_written(argument)] for schema in found]
    viewing = any(torch.Tag.inplace_view in tags(name, schema.overload_name) for schema in found)
    drawing = any(torch.Tag.nondeterministic_seeded in tags(name, schema.overload_name) for schema in found)
    return bool(found) and all(names == ["self"] for names in written) and not viewing and not drawing


def operators(table: Table) -> dict[str, list[str]]:
    """Return the overloads of ``torch.ops.aten`` that are admitted."""
    found: dict[str, list[str]] = {}
    for full in sorted(_schemas):
        name = full.removeprefix("aten::")
        if full == name or name not in _REVIEWED_OPERATORS:
            continue
        pure = [schema for schema in pure_schemas(name) if hasattr(torch.ops.aten, name)]
        packet = getattr(torch.ops.aten, name, None)
        overloads = [s for s in pure if packet is not None and (s.overload_name or "default") in packet.overloads()]
        overloads = [s for s in overloads if torch.Tag.nondeterministic_seeded not in tags(name, s.overload_name)]
        overloads = [s for s in overloads if f"{name}.{s.overload_name}" not in _REFUSED_OVERLOADS]
        if overloads:
            found[name] = sorted({schema.overload_name or "default" for schema in overloads})
            write = [text for schema in overloads for text in terms(schema_parameters(schema))[0]]
            if write:
                table.writing[f"torch.ops.aten.{name}"] = list(dict.fromkeys(write))
    return found


def derive() -> str:
    """Return the text of the table for the installed torch."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = Table()
        functions(table)
        inplace = methods(table)
        owners = {space: module for space, module, _prefix in _spaces()} | {"torch.Tensor": Tensor}
        table.part_complex(owners, _examples())
        table.find_views(owners, {space: prefix for space, _module, prefix in _spaces()})
        for name, kind in modules():
            table.add("torch.nn", name, kind, [python_parameters(getattr(torch.nn, name))])
        table.viewing["torch.nn"] = set(viewing_modules(table.pure["torch.nn"]))
        aten = operators(table)
        viewing = {
            name for name in aten if may_alias(name, getattr(torch.ops.aten, name), _calls(_examples().get(name, [])))
        }
        table.viewing["torch.ops.aten"] = viewing
    lines = [
        '"""What the schemas of torch admit. Written by ``scripts/torch_schemas.py``: do not edit."""',
        "",
        "from typing import Final",
        "",
        f'VERSION: Final = "{torch.__version__.split("+")[0]}"',
        "# namespace -> functions that write nowhere and draw nothing, then those that draw.",
        "PURE: Final = {",
        *_spelled(table.pure),
        "}",
        "RANDOM: Final = {",
        *_spelled(table.random),
        "}",
        "# Those that are as pure, and give complex numbers.",
        "COMPLEX: Final = {",
        *_spelled(table.complex),
        "}",
        "# Those whose result may lie in the memory of an argument.",
        "VIEWS: Final = {",
        *_spelled(table.viewing),
        "}",
        "# ... but of no argument where there are several operands.",
        f"VIEWS_OF_ONE: Final = {_wrapped(sorted(table.viewing_one), 0)[0]}",
        "# Methods that change their tensor and nothing else.",
        "INPLACE: Final = (",
        *_wrapped(sorted(inplace), 1),
        ")",
        "# Terms under which a call writes nowhere: NAME@POSITION:HARMLESS=DEFAULT, see stepcore/fn/terms.py.",
        "WRITES_UNLESS: Final = {",
        *_told(table.writing),
        "}",
        "# ... and draws nothing.",
        "DRAWS_UNLESS: Final = {",
        *_told(table.drawing),
        "}",
        "# NAME:OVERLOADS of torch.ops.aten.",
        "ATEN: Final = (",
        *_wrapped([f"{name}:{','.join(overloads)}" for name, overloads in sorted(aten.items())], 1),
        ")",
    ]
    return "\n".join(lines) + "\n"


def _told(found: dict[str, list[str]]) -> Iterator[str]:
    for name, texts in sorted(found.items()):
        line = f'    "{name}": "{" ".join(texts)}",'
        if len(line) <= 120:
            yield line
        else:
            yield from (f'    "{name}": (', f'        "{" ".join(texts)}"', "    ),")


def _spelled(names: dict[str, set[str]]) -> Iterator[str]:
    for space, found in sorted(names.items()):
        lines = _wrapped(sorted(found), 2)
        if len(lines) == 1:
            yield f'    "{space}": {lines[0].strip()},'
            continue
        yield f'    "{space}": ('
        yield from lines
        yield "    ),"


def _wrapped(words: list[str], level: int) -> list[str]:
    indent = "    " * level
    lines = textwrap.wrap(" ".join(words), 116 - len(indent), break_long_words=False, break_on_hyphens=False)
    return [f'{indent}"{line}{" " if number < len(lines) - 1 else ""}"' for number, line in enumerate(lines)]


def main() -> int:
    """Write the table, or compare it (``--check``)."""
    parser = argparse.ArgumentParser(description="derive what element functions may call from torch's schemas")
    parser.add_argument("--check", action="store_true", help="only say whether the table is up to date")
    wanted = parser.parse_args()
    text = derive()
    if wanted.check:
        same = TABLE.read_text(encoding="utf-8") == text
        print("the table is what this torch gives" if same else f"{TABLE.name} differs: run scripts/torch_schemas.py")
        return 0 if same else 1
    TABLE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
