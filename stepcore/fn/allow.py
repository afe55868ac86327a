"""The allow-list of the closed function language: every name that a body may call or read, spelled out.

What stands in no table here does not exist for a body. The tables hold names only; the simulator binds them to
torch (``stepcore.sim.fnvec.names``) and a test proves that each of them exists there.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Final

from stepcore.fn import torch_table
from stepcore.near import nearest


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
_BOTH: Final = POINTWISE | _REDUCTIONS | _VIEWS | _PRODUCTS | _INDEXED | names("clone numel equal allclose")

CREATION: Final = names(
    "arange empty empty_like eye full full_like linspace logspace ones ones_like scalar_tensor tensor zeros zeros_like"
)
# Legal in ``global`` only, where the seed fixes what they draw: element functions are pure.
RANDOM: Final = names("bernoulli multinomial normal rand rand_like randint randint_like randn randn_like randperm")

TORCH_FUNCTIONS: Final = (
    _BOTH
    | CREATION
    | RANDOM
    | names(
        """as_tensor atleast_1d atleast_2d atleast_3d block_diag broadcast_tensors bucketize cat cdist celu
        chain_matmul column_stack concat concatenate cosine_similarity cross cumulative_trapezoid dstack einsum hstack
        is_floating_point is_tensor layer_norm meshgrid nonzero prelu ravel result_type rms_norm rot90 row_stack
        searchsorted selu stack std_mean tensordot trapezoid tril_indices triu_indices unique var_mean vdot vstack"""
    )
)
FUNCTIONAL: Final = names(
    """avg_pool1d avg_pool2d batch_norm celu conv1d conv2d cosine_similarity cross_entropy elu embedding gelu glu
    group_norm hardshrink hardsigmoid hardswish hardtanh l1_loss layer_norm leaky_relu linear log_softmax logsigmoid
    max_pool1d max_pool2d mish mse_loss nll_loss normalize one_hot pad pairwise_distance prelu relu relu6 rms_norm
    scaled_dot_product_attention selu sigmoid silu smooth_l1_loss softmax softmin softplus softshrink softsign tanh
    tanhshrink threshold unfold"""
)
LINALG: Final = names("cross det diagonal inv matmul matrix_norm multi_dot norm solve vecdot vector_norm")
SPECIAL: Final = names("erf erfc expit exp2 expm1 log1p logit log_softmax logsumexp sinc softmax xlogy")
MATH: Final = names(
    """acos asin atan atan2 ceil comb copysign cos cosh degrees exp expm1 fabs factorial floor fmod gcd hypot isfinite
    isinf isnan isqrt lcm log log10 log1p log2 pow prod radians sin sinh sqrt tan tanh trunc"""
)
MATH_CONSTANTS: Final = names("e inf nan pi tau")

DTYPES: Final = names(
    "float32 float float64 double float16 half bfloat16 int8 uint8 int16 short int32 int int64 long bool"
)
TORCH_CONSTANTS: Final = DTYPES | names("pi e inf nan newaxis")

# Helper objects of ``global``: those without weights, and those whose weights the seed fixes (``RANDOM_MODULES``).
MODULES: Final = names(
    """CELU CosineSimilarity ELU Embedding Flatten GELU GLU GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh
    Identity LayerNorm LeakyReLU Linear LogSigmoid LogSoftmax Mish PReLU ReLU ReLU6 RMSNorm SELU Sequential SiLU
    Sigmoid Softmax Softmin Softplus Softshrink Softsign Tanh Tanhshrink Threshold Unflatten"""
)
RANDOM_MODULES: Final = names("Embedding Linear")

# Methods that tensors have besides the functions above.
_METHODS_ONLY: Final = names(
    """bernoulli bfloat16 bool byte contiguous cpu cross det detach dim double element_size expand expand_as float half
    int inverse is_contiguous is_floating_point item logdet long masked_scatter multinomial ndimension nelement
    new_empty new_full new_ones new_tensor new_zeros nonzero ravel repeat reshape_as rot90 short size stride
    sum_to_size to tolist type type_as unfold unique view view_as"""
)
# Those whose schema writes into the tensor itself and nowhere else.
_INPLACE: Final = names(torch_table.INPLACE)
TENSOR_METHODS: Final = _BOTH | _METHODS_ONLY | _INPLACE
RANDOM_METHODS: Final = names("bernoulli multinomial")
TENSOR_ATTRIBUTES: Final = names("T mT H mH shape dtype ndim device real is_cuda itemsize nbytes")
# Fields of what topk, sort, max(dim), aminmax... return.
RESULT_FIELDS: Final = names("values indices min max")
# Attributes of helper objects.
MODULE_ATTRIBUTES: Final = names("weight bias in_features out_features eps normalized_shape")
CONTAINER_METHODS: Final = names("append extend insert pop reverse copy index count keys values items get")
DTYPE_ATTRIBUTES: Final = names("is_floating_point itemsize")

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
    "torch": (TORCH_FUNCTIONS, TORCH_CONSTANTS, names("nn linalg special ops")),
    "torch.nn": (MODULES, frozenset(), names("functional")),
    "torch.nn.functional": (FUNCTIONAL, frozenset(), frozenset()),
    "torch.linalg": (LINALG, frozenset(), frozenset()),
    "torch.special": (SPECIAL, frozenset(), frozenset()),
    "torch.ops": (frozenset(), frozenset(), names("aten")),
    "math": (MATH, MATH_CONSTANTS, frozenset()),
}

# torch.ops.aten.NAME.default: the names for which the core library has a function of the same meaning.
ATEN: Final = (
    POINTWISE
    | _PRODUCTS
    | _REDUCTIONS
    | _VIEWS
    | _INDEXED
    | names("arange cat clone expand full full_like linear ones ones_like repeat stack view zeros zeros_like")
    | names("celu elu gelu glu hardsigmoid hardswish hardtanh layer_norm leaky_relu mish one_hot selu silu softplus")
    # What traced functions hold besides: references of tasks that are made from such functions use them.
    | names(
        """adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d
        adaptive_max_pool3d avg_pool1d avg_pool2d avg_pool3d constant_pad_nd convolution embedding hardshrink index
        linalg_vector_norm log_sigmoid_forward max_pool2d_with_indices max_pool3d_with_indices native_group_norm
        native_layer_norm nll_loss_forward pixel_shuffle pixel_unshuffle reflection_pad1d reflection_pad2d
        reflection_pad3d replication_pad1d replication_pad2d replication_pad3d slice softshrink split_with_sizes
        threshold unfold upsample_bilinear2d upsample_linear1d upsample_nearest1d upsample_nearest2d
        upsample_nearest3d upsample_trilinear3d"""
    )
)
ATEN_OVERLOADS: Final = names(
    """default correction dim dim_IntList dim_int dims int no_stats self src start start_step value vec Scalar
    Scalar_Tensor Tensor Tensor_Scalar Tensor_Tensor"""
)


def is_inplace(method: str) -> bool:
    """Return whether the tensor method of this name changes its tensor."""
    return method in _INPLACE


def suggestion(name: str, known: Set[str]) -> str:
    """Return ``"; did you mean 'x'?"`` for the nearest known name, or an empty text."""
    near = nearest(name, sorted(known), cutoff=0.7)
    return f"; did you mean '{near[0]}'?" if near else ""
