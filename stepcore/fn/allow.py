"""The allow-list of the closed function language: every name that a body may call or read.

What stands in no table here does not exist for a body. Those of torch follow from its operator schemas
(``torch_table``); the simulator binds the names (``stepcore.sim.fnvec.names``) and a test calls each of them.
"""

from __future__ import annotations

from collections.abc import Set
from itertools import chain
from typing import Final

from stepcore.findings.near import nearest
from stepcore.fn import placement, torch_table


def names(text: str) -> frozenset[str]:
    """Return the names of a table written as one text."""
    return frozenset(text.split())


# Element by element, with broadcasting; spelled alike as torch.NAME(x) and x.NAME().
POINTWISE: Final = names(
    """abs absolute acos acosh add addcdiv addcmul arccos arccosh arcsin arcsinh arctan arctan2 arctanh asin asinh
    atan atan2 atanh bitwise_and bitwise_not bitwise_or bitwise_xor ceil clamp clamp_max clamp_min clip copysign cos
    cosh deg2rad digamma div divide eq erf erfc erfinv exp exp2 expm1 fix float_power floor floor_divide fmax fmin
    fmod frac ge greater greater_equal gt heaviside hypot isclose isfinite isinf isnan ldexp le lerp less less_equal
    lgamma log log10 log1p log2 logaddexp logaddexp2 logical_and logical_not logical_or logical_xor logit lt maximum
    minimum mul multiply nan_to_num ne neg negative not_equal positive pow rad2deg reciprocal relu remainder round
    rsqrt sigmoid sign signbit sin sinc sinh sqrt square sub subtract tan tanh true_divide trunc xlogy"""
)
_REDUCTIONS: Final = names(
    """all amax amin aminmax any argmax argmin argsort count_nonzero cummax cummin cumprod cumsum kthvalue log_softmax
    logcumsumexp logsumexp max mean median min mode nanmean nansum norm prod softmax sort std sum topk var"""
)
_VIEWS: Final = names(
    """broadcast_to chunk diag diag_embed diagonal diff flatten flip moveaxis movedim narrow permute
    repeat_interleave reshape roll select split squeeze swapaxes swapdims t tensor_split tile transpose tril
    triu unbind unflatten unsqueeze"""
)
_PRODUCTS: Final = names("addbmm addmm addmv addr baddbmm bmm dot inner kron matmul mm mv outer trace")
_INDEXED: Final = names(
    """gather index_add index_copy index_fill index_select masked_fill masked_select scatter scatter_add
    scatter_reduce take take_along_dim where"""
)
CREATION: Final = names(
    "arange empty empty_like eye full full_like linspace logspace ones ones_like scalar_tensor tensor zeros zeros_like"
)
# Operations whose results are no larger than their operands broadcast together, or that the simulator bounds itself.
FAMILIAR: Final = (
    POINTWISE
    | _REDUCTIONS
    | _VIEWS
    | _PRODUCTS
    | _INDEXED
    | CREATION
    | names(
        """as_tensor atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors bucketize cat cdist celu clone
        chain_matmul column_stack concat concatenate contiguous cosine_similarity cross cross_entropy dim double dstack
        einsum elu embedding equal expand expand_as float gelu glu group_norm hardshrink hardsigmoid hardswish hardtanh
        hstack int is_floating_point is_tensor item l1_loss layer_norm leaky_relu linear logsigmoid long meshgrid mish
        mse_loss new_empty new_full new_ones new_zeros nll_loss normal normalize numel one_hot pad pairwise_distance
        prelu rand randint randn randperm ravel relu6 repeat reshape_as rms_norm row_stack searchsorted selu silu size
        smooth_l1_loss softmin softplus softshrink softsign stack tanhshrink tensordot threshold to tolist tril_indices
        triu_indices type_as view view_as vstack"""
    )
)


def _of(space: str) -> frozenset[str]:
    """Return what the table admits in a namespace, functions that draw included."""
    return names(torch_table.PURE.get(space, "")) | names(torch_table.RANDOM.get(space, ""))


# What torch's own schemas admit: see scripts/torch_schemas.
TORCH_FUNCTIONS: Final = _of("torch") | names("finfo iinfo")  # these two have no schema: they tell a dtype's limits
FUNCTIONAL: Final = _of("torch.nn.functional")
# Legal in ``global`` only, where the seed fixes what they draw: element functions are pure.
DRAWING: Final[dict[str, frozenset[str]]] = {space: names(text) for space, text in torch_table.RANDOM.items()}
RANDOM: Final = DRAWING["torch"]
# Known by name only, so that a finding can say why they do not exist: they give complex numbers.
COMPLEX: Final[dict[str, frozenset[str]]] = {space: names(text) for space, text in torch_table.COMPLEX.items()}
RANDOM_MODULES: Final = DRAWING["torch.nn"]
MATH: Final = names(
    """acos asin atan atan2 ceil comb copysign cos cosh degrees exp expm1 fabs factorial floor fmod gcd hypot isfinite
    isinf isnan isqrt lcm log log10 log1p log2 pow prod radians sin sinh sqrt tan tanh trunc"""
)
MATH_CONSTANTS: Final = names("e inf nan pi tau")

DTYPES: Final = names(
    "float32 float float64 double float16 half bfloat16 int8 uint8 int16 short int32 int int64 long bool"
)
TORCH_CONSTANTS: Final = DTYPES | names("pi e inf nan newaxis")

# Helper objects of ``global``: those without weights, and those whose weights the seed fixes.
MODULES: Final = _of("torch.nn")

# Those whose schema writes into the tensor itself and nowhere else.
_INPLACE: Final = names(torch_table.INPLACE)
TENSOR_METHODS: Final = _of("torch.Tensor") | _INPLACE | names("dim")
RANDOM_METHODS: Final = DRAWING["torch.Tensor"]
TENSOR_ATTRIBUTES: Final = names("T mT H mH shape dtype ndim device real is_cuda itemsize nbytes")
# Fields of what topk, sort, max(dim), aminmax, linalg.svd... return.
RESULT_FIELDS: Final = names(
    """values indices min max mantissa exponent hist bin_edges sign logabsdet eigenvalues eigenvectors P L U Q R S V Vh
    LU pivots info inverse result solution residuals rank singular_values cloned_coefficient"""
)
# Attributes of helper objects.
MODULE_ATTRIBUTES: Final = names("weight bias in_features out_features eps normalized_shape")
CONTAINER_METHODS: Final = names(
    "append extend insert pop reverse sort clear remove copy index count keys values items get"
)
# Those that change what they are called at.
CONTAINER_CHANGES: Final = names("append extend insert pop reverse sort clear remove")
DTYPE_ATTRIBUTES: Final = names("is_floating_point itemsize")
# Those of ``torch.finfo(dtype)`` and ``torch.iinfo(dtype)``: numbers.
LIMITS: Final = names("max min eps tiny smallest_normal resolution bits")

BUILTINS: Final = names(
    """abs all any bool dict divmod enumerate float int len list max min pow range reversed round slice sorted str sum
    tuple zip"""
)
# Names that people try; refused as forbidden, not as unknown.
FORBIDDEN_BUILTINS: Final = names(
    """breakpoint bytearray bytes callable classmethod compile delattr dir eval exec exit getattr globals hasattr hash
    help id isinstance issubclass iter locals memoryview next object open print property quit setattr staticmethod
    super type vars"""
)

# Symbols that every file may use without declaring them.
PREDECLARED_SYMBOLS: Final = ("M", "N", "K", "D", "E")

# dotted module -> (functions, constants, modules inside)
NAMESPACES: Final[dict[str, tuple[frozenset[str], frozenset[str], frozenset[str]]]] = {
    "torch": (TORCH_FUNCTIONS, TORCH_CONSTANTS, names("nn linalg special fft ops")),
    "torch.nn": (MODULES, frozenset(), names("functional")),
    "torch.nn.functional": (FUNCTIONAL, frozenset(), frozenset()),
    "torch.linalg": (_of("torch.linalg"), frozenset(), frozenset()),
    "torch.special": (_of("torch.special"), frozenset(), frozenset()),
    "torch.fft": (_of("torch.fft"), frozenset(), frozenset()),
    "torch.ops": (frozenset(), frozenset(), names("aten")),
    "math": (MATH, MATH_CONSTANTS, frozenset()),
}

# torch.ops.aten.NAME.OVERLOAD: the overloads that write nowhere and draw nothing.
ATEN: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(overloads.split(","))
    for name, _, overloads in (item.partition(":") for item in torch_table.ATEN.split())
}


def is_inplace(method: str) -> bool:
    """Return whether the tensor method of this name changes its tensor."""
    return method in _INPLACE


def why_not(space: str, name: str) -> str:
    """Return why a function of torch that exists does not exist for a body, or an empty text.

    ``space`` is a key of :data:`NAMESPACES`, or ``torch.Tensor`` for methods.
    """
    if name not in COMPLEX.get(space, ()):
        return ""
    shown = f".{name}()" if space == "torch.Tensor" else f"{space}.{name}"
    return f"{shown} gives complex numbers; {placement.COMPLEX}"


def suggestion(name: str, *known: Set[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, or an empty text."""
    near = nearest(name, chain.from_iterable(known), cutoff=0.75)
    return f"; did you mean '{near[0]}'?" if near else ""
