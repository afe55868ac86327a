"""What no schema of torch can tell, with the reason."""

from __future__ import annotations

import re
from typing import Final

# Operators that are pure by their schema and still do not exist for a body -> why.
REFUSED: Final[dict[str, str]] = {
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
WRITES: Final[dict[str, object]] = {"inplace": False, "max_norm": None}
# Parameters by which a call draws random numbers -> the value under which it does not. One of them is enough.
DRAWS: Final[dict[str, object]] = {"training": False, "train": False, "dropout_p": 0.0, "dropout": 0.0}
STATISTICS: Final = ("running_mean", "running_var")
WHEN_UPDATED: Final = ("training", "use_input_stats")

# Methods and functions that torch binds without a schema, and what they are.
REVIEWED_METHODS: Final[dict[str, str]] = {
    "bfloat16 bool byte char double float half int long short": "conversions, as .to(dtype)",
    "ndimension nelement tolist type unique": "reads a tensor",
    "new_tensor": "makes a tensor",
}
REVIEWED_FUNCTIONS: Final[dict[str, str]] = {"is_tensor": "reads nothing", "as_tensor": "makes a tensor"}
REVIEWED_INPLACE: Final[dict[str, str]] = {"fill_diagonal_": "has no pure form; its schema writes into self alone"}
REVIEWED_MODULES: Final[dict[str, str]] = {"Identity": "ignores all arguments of its constructor"}
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
REVIEWED_OPERATORS: Final = frozenset(_OPERATORS.split())
# Overloads of them that are not -> why.
REFUSED_OVERLOADS: Final = {"view.dtype": "ends the process where a number is no dtype"}
# Uninitialized memory that was legal before there was a table: bodies fill it.
FILLED: Final = frozenset({"empty", "empty_like", "new_empty"})
# Found under another name than that of the schema.
SCHEMA_OF: Final = {"logsigmoid": "log_sigmoid"}
ARGUMENT_TYPES: Final = re.compile(
    r"(Optional\[)?(List\[)?(Optional\[)?"
    r"(Tensor|int|float|bool|str|number|Scalar|SymInt|Device|complex|Layout|MemoryFormat|ScalarType|Generator)\b"
)

ON_SHAPES: Final = ("aten::can_cast", "aten::promote_types", "aten::result_type")
