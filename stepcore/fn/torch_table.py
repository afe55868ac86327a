"""What the schemas of torch admit. Written by ``scripts/torch_schemas``: do not edit."""

from typing import Final

VERSION: Final = "2.13.0"
# namespace -> functions that write nowhere and draw nothing, then those that draw.
PURE: Final = {
    "torch": (
        "abs absolute acos acosh adaptive_avg_pool1d adaptive_max_pool1d add addbmm addcdiv addcmul addmm addmv addr "
        "adjoint all allclose alpha_dropout amax amin aminmax angle any arange arccos arccosh arcsin arcsinh arctan "
        "arctan2 arctanh argmax argmin argsort argwhere as_tensor asin asinh atan atan2 atanh atleast_1d atleast_2d "
        "atleast_3d avg_pool1d baddbmm bartlett_window batch_norm bilinear binary_cross_entropy_with_logits bincount "
        "bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift bitwise_xor blackman_window "
        "block_diag bmm broadcast_shapes broadcast_tensors broadcast_to bucketize can_cast cartesian_prod cat cdist "
        "ceil celu chain_matmul channel_shuffle cholesky cholesky_inverse cholesky_solve chunk clamp clamp_max "
        "clamp_min clip clone column_stack combinations concat concatenate conj conj_physical constant_pad_nd conv1d "
        "conv2d conv3d conv_tbc conv_transpose1d conv_transpose2d conv_transpose3d convolution copysign corrcoef cos "
        "cosh cosine_embedding_loss cosine_similarity count_nonzero cov cross ctc_loss cummax cummin cumprod cumsum "
        "cumulative_trapezoid deg2rad det detach diag diag_embed diagflat diagonal diagonal_copy diagonal_scatter "
        "diff digamma dist div divide dot dropout dsplit dstack einsum embedding empty empty_like eq equal erf erfc "
        "erfinv exp exp2 expand_copy expm1 eye feature_alpha_dropout feature_dropout fill fix flatten flip fliplr "
        "flipud float_power floor floor_divide fmax fmin fmod frac frexp full full_like gather gcd ge ger gradient "
        "greater greater_equal group_norm gt hamming_window hann_window hardshrink heaviside hinge_embedding_loss "
        "histc histogram hsplit hstack hypot i0 igamma igammac index_add index_copy index_fill index_put index_reduce "
        "index_select inner instance_norm inverse is_complex is_conj is_floating_point is_neg is_signed is_tensor "
        "isclose isfinite isin isinf isnan isneginf isposinf isreal kaiser_window kl_div kron kthvalue layer_norm lcm "
        "ldexp le lerp less less_equal lgamma linspace log log10 log1p log2 log_softmax logaddexp logaddexp2 "
        "logcumsumexp logdet logical_and logical_not logical_or logical_xor logit logspace logsumexp lt lu "
        "margin_ranking_loss masked_fill masked_scatter masked_select matmul matrix_exp matrix_power max max_pool1d "
        "max_pool1d_with_indices max_pool2d max_pool3d maximum mean median meshgrid min minimum mm mode moveaxis "
        "movedim msort mul multiply mv mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow narrow_copy ne "
        "neg negative nextafter nonzero nonzero_static norm not_equal numel ones ones_like outer pairwise_distance "
        "pdist permute permute_copy pinverse pixel_shuffle pixel_unshuffle poisson_nll_loss polygamma positive pow "
        "prelu prod promote_types put qr quantile rad2deg range ravel real reciprocal relu remainder renorm "
        "repeat_interleave reshape resolve_conj resolve_neg result_type rms_norm roll rot90 round row_stack rrelu "
        "rsqrt rsub scalar_tensor scatter scatter_add scatter_reduce searchsorted select select_copy select_scatter "
        "selu sgn sigmoid sign signbit sin sinc sinh slice_copy slice_inverse slice_scatter slogdet softmax sort "
        "split split_copy split_with_sizes split_with_sizes_copy sqrt square squeeze squeeze_copy stack std std_mean "
        "sub subtract sum svd swapaxes swapdims t t_copy take take_along_dim tan tanh tensor tensor_split tensordot "
        "threshold tile topk trace transpose transpose_copy trapezoid trapz triangular_solve tril tril_indices "
        "triplet_margin_loss triu triu_indices true_divide trunc unbind unbind_copy unflatten unfold_copy unique "
        "unique_consecutive unravel_index unsqueeze unsqueeze_copy vander var var_mean vdot view_copy vsplit vstack "
        "where xlogy zeros zeros_like"
    ),
    "torch.Tensor": (
        "abs absolute acos acosh add addbmm addcdiv addcmul addmm addmv addr adjoint all allclose amax amin aminmax "
        "angle any arccos arccosh arcsin arcsinh arctan arctan2 arctanh argmax argmin argsort argwhere asin asinh "
        "atan atan2 atanh baddbmm bfloat16 bincount bitwise_and bitwise_left_shift bitwise_not bitwise_or "
        "bitwise_right_shift bitwise_xor bmm bool broadcast_to byte ceil char cholesky cholesky_inverse "
        "cholesky_solve chunk clamp clamp_max clamp_min clip clone conj conj_physical contiguous copysign corrcoef "
        "cos cosh count_nonzero cov cpu cross cummax cummin cumprod cumsum deg2rad det detach diag diag_embed "
        "diagflat diagonal diagonal_scatter diff digamma dim dist div divide dot double dsplit element_size eq equal "
        "erf erfc erfinv exp exp2 expand expand_as expm1 fix flatten flip fliplr flipud float float_power floor "
        "floor_divide fmax fmin fmod frac frexp gather gcd ge ger greater greater_equal gt half hardshrink heaviside "
        "histc histogram hsplit hypot i0 igamma igammac index_add index_copy index_fill index_put index_reduce "
        "index_select inner int inverse is_complex is_conj is_contiguous is_floating_point is_neg is_signed isclose "
        "isfinite isinf isnan isneginf isposinf isreal item kron kthvalue lcm ldexp le lerp less less_equal lgamma "
        "log log10 log1p log2 log_softmax logaddexp logaddexp2 logcumsumexp logdet logical_and logical_not logical_or "
        "logical_xor logit logsumexp long lt masked_fill masked_scatter masked_select matmul matrix_exp matrix_power "
        "max maximum mean median min minimum mm mode moveaxis movedim msort mul multiply mv mvlgamma nan_to_num "
        "nanmean nanmedian nanquantile nansum narrow narrow_copy ndimension ne neg negative nelement new_empty "
        "new_full new_ones new_tensor new_zeros nextafter nonzero nonzero_static norm not_equal numel outer permute "
        "pinverse polygamma positive pow prelu prod put qr quantile rad2deg ravel reciprocal relu remainder renorm "
        "repeat repeat_interleave reshape reshape_as resolve_conj resolve_neg roll rot90 round rsqrt scatter "
        "scatter_add scatter_reduce select select_scatter sgn short sigmoid sign signbit sin sinc sinh size "
        "slice_inverse slice_scatter slogdet softmax sort split split_with_sizes sqrt square squeeze std stride sub "
        "subtract sum sum_to_size svd swapaxes swapdims t take take_along_dim tan tanh tensor_split tile to tolist "
        "topk trace transpose triangular_solve tril triu true_divide trunc type type_as unbind unflatten unfold "
        "unique unique_consecutive unsqueeze var vdot view view_as vsplit where xlogy"
    ),
    "torch.fft": "fftfreq fftshift hfft hfft2 hfftn ifftshift irfft irfft2 irfftn rfftfreq",
    "torch.linalg": (
        "cholesky cholesky_ex cond cross det diagonal eigh eigvalsh inv inv_ex lstsq lu lu_factor lu_factor_ex matmul "
        "matrix_exp matrix_norm matrix_power matrix_rank multi_dot norm pinv qr slogdet solve solve_ex "
        "solve_triangular svd svdvals tensorinv tensorsolve vander vecdot vector_norm"
    ),
    "torch.nn": (
        "AdaptiveAvgPool1d AdaptiveAvgPool2d AdaptiveAvgPool3d AdaptiveMaxPool1d AdaptiveMaxPool2d AdaptiveMaxPool3d "
        "AvgPool1d AvgPool2d AvgPool3d BCELoss BCEWithLogitsLoss BatchNorm1d BatchNorm2d BatchNorm3d CELU CTCLoss "
        "ChannelShuffle CircularPad1d CircularPad2d CircularPad3d ConstantPad1d ConstantPad2d ConstantPad3d "
        "CosineEmbeddingLoss CosineSimilarity CrossEntropyLoss CrossMapLRN2d ELU Flatten Fold GELU GLU "
        "GaussianNLLLoss GroupNorm Hardshrink Hardsigmoid Hardswish Hardtanh HingeEmbeddingLoss HuberLoss Identity "
        "InstanceNorm1d InstanceNorm2d InstanceNorm3d KLDivLoss L1Loss LPPool1d LPPool2d LPPool3d LayerNorm LeakyReLU "
        "LocalResponseNorm LogSigmoid LogSoftmax MSELoss MarginRankingLoss MaxPool1d MaxPool2d MaxPool3d MaxUnpool1d "
        "MaxUnpool2d MaxUnpool3d Mish MultiLabelMarginLoss MultiLabelSoftMarginLoss MultiMarginLoss NLLLoss PReLU "
        "PairwiseDistance PixelShuffle PixelUnshuffle PoissonNLLLoss RMSNorm ReLU ReLU6 ReflectionPad1d "
        "ReflectionPad2d ReflectionPad3d ReplicationPad1d ReplicationPad2d ReplicationPad3d SELU Sequential SiLU "
        "Sigmoid SmoothL1Loss SoftMarginLoss Softmax Softmax2d Softmin Softplus Softshrink Softsign Tanh Tanhshrink "
        "Threshold TripletMarginLoss TripletMarginWithDistanceLoss Unflatten Unfold Upsample UpsamplingBilinear2d "
        "UpsamplingNearest2d ZeroPad1d ZeroPad2d ZeroPad3d"
    ),
    "torch.nn.functional": (
        "adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d adaptive_max_pool2d "
        "adaptive_max_pool3d affine_grid alpha_dropout avg_pool1d avg_pool2d avg_pool3d batch_norm bilinear "
        "binary_cross_entropy binary_cross_entropy_with_logits celu channel_shuffle conv1d conv2d conv3d conv_tbc "
        "conv_transpose1d conv_transpose2d conv_transpose3d cosine_embedding_loss cosine_similarity cross_entropy "
        "ctc_loss dropout dropout1d dropout2d dropout3d elu embedding feature_alpha_dropout fold gaussian_nll_loss "
        "gelu glu grid_sample group_norm hardshrink hardsigmoid hardswish hardtanh hinge_embedding_loss huber_loss "
        "instance_norm interpolate kl_div l1_loss layer_norm leaky_relu linear local_response_norm log_softmax "
        "logsigmoid lp_pool1d lp_pool2d lp_pool3d margin_ranking_loss max_pool1d max_pool2d max_pool3d max_unpool1d "
        "max_unpool2d max_unpool3d mish mse_loss multi_margin_loss multilabel_margin_loss multilabel_soft_margin_loss "
        "nll_loss normalize one_hot pad pairwise_distance pdist pixel_shuffle pixel_unshuffle poisson_nll_loss prelu "
        "relu relu6 rms_norm rrelu scaled_dot_product_attention selu sigmoid silu smooth_l1_loss soft_margin_loss "
        "softmax softmin softplus softshrink softsign tanh tanhshrink threshold triplet_margin_loss "
        "triplet_margin_with_distance_loss unfold upsample upsample_bilinear upsample_nearest"
    ),
    "torch.special": (
        "airy_ai bessel_j0 bessel_j1 bessel_y0 bessel_y1 digamma entr erf erfc erfcx erfinv exp2 expit expm1 gammainc "
        "gammaincc gammaln i0 i0e i1 i1e log1p log_ndtr log_softmax logit logsumexp modified_bessel_i0 "
        "modified_bessel_i1 modified_bessel_k0 modified_bessel_k1 multigammaln ndtr ndtri polygamma psi round "
        "scaled_modified_bessel_k0 scaled_modified_bessel_k1 sinc softmax spherical_bessel_j0 xlog1py xlogy zeta"
    ),
}
RANDOM: Final = {
    "torch": (
        "bernoulli binomial multinomial normal pca_lowrank poisson rand rand_like randint randint_like randn "
        "randn_like randperm svd_lowrank"
    ),
    "torch.Tensor": "bernoulli multinomial",
    "torch.nn": (
        "Bilinear Conv1d Conv2d Conv3d ConvTranspose1d ConvTranspose2d ConvTranspose3d Embedding EmbeddingBag GRUCell "
        "LSTMCell Linear MultiheadAttention RNNCell"
    ),
    "torch.nn.functional": "fractional_max_pool2d fractional_max_pool3d gumbel_softmax",
}
# Those that are as pure, and give complex numbers.
COMPLEX: Final = {
    "torch": "complex polar stft view_as_complex view_as_complex_copy",
    "torch.Tensor": "chalf stft",
    "torch.fft": "fft fft2 fftn ifft ifft2 ifftn ihfft ihfft2 ihfftn rfft rfft2 rfftn",
    "torch.linalg": "eig eigvals",
}
# Those whose result may lie in the memory of an argument.
VIEWS: Final = {
    "torch": (
        "adjoint alpha_dropout as_tensor atleast_1d atleast_2d atleast_3d broadcast_tensors broadcast_to "
        "cartesian_prod chunk conj conj_physical detach diagonal dropout dsplit einsum feature_alpha_dropout "
        "feature_dropout flatten hsplit meshgrid moveaxis movedim narrow permute positive ravel real reshape "
        "resolve_conj resolve_neg select slice_inverse split split_with_sizes squeeze swapaxes swapdims t "
        "tensor_split transpose unbind unflatten unsqueeze vsplit"
    ),
    "torch.Tensor": (
        "adjoint bfloat16 bool broadcast_to byte char chunk conj conj_physical contiguous cpu detach diagonal double "
        "dsplit expand expand_as flatten float half hsplit int long moveaxis movedim narrow permute positive ravel "
        "reshape reshape_as resolve_conj resolve_neg select short slice_inverse split split_with_sizes squeeze "
        "sum_to_size swapaxes swapdims t tensor_split to transpose type type_as unbind unflatten unfold unsqueeze "
        "view view_as vsplit"
    ),
    "torch.linalg": "diagonal",
    "torch.nn": "Flatten Identity Sequential Unflatten",
    "torch.nn.functional": "alpha_dropout dropout dropout1d dropout2d dropout3d feature_alpha_dropout unfold",
    "torch.ops.aten": (
        "broadcast_to chunk diagonal expand flatten moveaxis movedim narrow permute positive reshape select slice "
        "split split_with_sizes squeeze swapaxes swapdims t tensor_split transpose unbind unflatten unfold unsqueeze "
        "view"
    ),
}
# ... but of no argument where there are several operands.
VIEWS_OF_ONE: Final = "cartesian_prod einsum"
# Methods that change their tensor and nothing else.
INPLACE: Final = (
    "abs_ absolute_ acos_ acosh_ add_ addbmm_ addcdiv_ addcmul_ addmm_ addmv_ addr_ arccos_ arccosh_ arcsin_ arcsinh_ "
    "arctan2_ arctan_ arctanh_ asin_ asinh_ atan2_ atan_ atanh_ baddbmm_ bitwise_and_ bitwise_left_shift_ "
    "bitwise_not_ bitwise_or_ bitwise_right_shift_ bitwise_xor_ ceil_ clamp_ clamp_max_ clamp_min_ clip_ "
    "conj_physical_ copy_ copysign_ cos_ cosh_ cumprod_ cumsum_ deg2rad_ digamma_ div_ divide_ eq_ erf_ erfc_ erfinv_ "
    "exp2_ exp_ expm1_ fill_ fill_diagonal_ fix_ float_power_ floor_ floor_divide_ fmod_ frac_ gcd_ ge_ greater_ "
    "greater_equal_ gt_ heaviside_ hypot_ i0_ igamma_ igammac_ index_add_ index_copy_ index_fill_ index_put_ "
    "index_reduce_ lcm_ ldexp_ le_ lerp_ less_ less_equal_ lgamma_ log10_ log1p_ log2_ log_ logical_and_ logical_not_ "
    "logical_or_ logical_xor_ logit_ lt_ masked_fill_ masked_scatter_ mul_ multiply_ mvlgamma_ nan_to_num_ ne_ neg_ "
    "negative_ nextafter_ not_equal_ polygamma_ pow_ put_ rad2deg_ reciprocal_ relu_ remainder_ renorm_ round_ rsqrt_ "
    "scatter_ scatter_add_ scatter_reduce_ sgn_ sigmoid_ sign_ sin_ sinc_ sinh_ sqrt_ square_ sub_ subtract_ tan_ "
    "tanh_ tril_ triu_ true_divide_ trunc_ xlogy_ zero_"
)
# Terms under which a call writes nowhere: NAME@POSITION:HARMLESS=DEFAULT, see stepcore/fn/terms.py.
WRITES_UNLESS: Final = {
    "torch.batch_norm": "training@5:False=|running_mean@3:None=,running_var@4:None=",
    "torch.instance_norm": "use_input_stats@5:False=|running_mean@3:None=,running_var@4:None=",
    "torch.nn.BatchNorm1d": "track_running_stats@4:False=True",
    "torch.nn.BatchNorm2d": "track_running_stats@4:False=True",
    "torch.nn.BatchNorm3d": "track_running_stats@4:False=True",
    "torch.nn.CELU": "inplace@1:False=False",
    "torch.nn.ELU": "inplace@1:False=False",
    "torch.nn.Embedding": "max_norm@3:None=None",
    "torch.nn.EmbeddingBag": "max_norm@2:None=None",
    "torch.nn.Hardsigmoid": "inplace@0:False=False",
    "torch.nn.Hardswish": "inplace@0:False=False",
    "torch.nn.Hardtanh": "inplace@2:False=False",
    "torch.nn.InstanceNorm1d": "track_running_stats@4:False=False",
    "torch.nn.InstanceNorm2d": "track_running_stats@4:False=False",
    "torch.nn.InstanceNorm3d": "track_running_stats@4:False=False",
    "torch.nn.LeakyReLU": "inplace@1:False=False",
    "torch.nn.Mish": "inplace@0:False=False",
    "torch.nn.ReLU": "inplace@0:False=False",
    "torch.nn.ReLU6": "inplace@0:False=False",
    "torch.nn.SELU": "inplace@0:False=False",
    "torch.nn.SiLU": "inplace@0:False=False",
    "torch.nn.Threshold": "inplace@2:False=False",
    "torch.nn.functional.alpha_dropout": "inplace@3:False=False",
    "torch.nn.functional.batch_norm": "training@5:False=False|running_mean@1:None=,running_var@2:None=",
    "torch.nn.functional.celu": "inplace@2:False=False",
    "torch.nn.functional.dropout": "inplace@3:False=False",
    "torch.nn.functional.dropout1d": "inplace@3:False=False",
    "torch.nn.functional.dropout2d": "inplace@3:False=False",
    "torch.nn.functional.dropout3d": "inplace@3:False=False",
    "torch.nn.functional.elu": "inplace@2:False=False",
    "torch.nn.functional.embedding": "max_norm@3:None=None",
    "torch.nn.functional.feature_alpha_dropout": "inplace@3:False=False",
    "torch.nn.functional.hardsigmoid": "inplace@1:False=False",
    "torch.nn.functional.hardswish": "inplace@1:False=False",
    "torch.nn.functional.hardtanh": "inplace@3:False=False",
    "torch.nn.functional.instance_norm": (
        "use_input_stats@5:False=True|running_mean@1:None=None,running_var@2:None=None"
    ),
    "torch.nn.functional.leaky_relu": "inplace@2:False=False",
    "torch.nn.functional.mish": "inplace@1:False=False",
    "torch.nn.functional.relu": "inplace@1:False=False",
    "torch.nn.functional.relu6": "inplace@1:False=False",
    "torch.nn.functional.rrelu": "inplace@4:False=False",
    "torch.nn.functional.selu": "inplace@1:False=False",
    "torch.nn.functional.silu": "inplace@1:False=False",
    "torch.nn.functional.threshold": "inplace@3:False=False",
}
# ... and draws nothing.
DRAWS_UNLESS: Final = {
    "torch.alpha_dropout": "train@2:False=",
    "torch.dropout": "train@2:False=",
    "torch.feature_alpha_dropout": "train@2:False=",
    "torch.feature_dropout": "train@2:False=",
    "torch.nn.MultiheadAttention": "dropout@2:0.0=0.0",
    "torch.nn.functional.alpha_dropout": "training@2:False=False",
    "torch.nn.functional.dropout": "training@2:False=True",
    "torch.nn.functional.dropout1d": "training@2:False=True",
    "torch.nn.functional.dropout2d": "training@2:False=True",
    "torch.nn.functional.dropout3d": "training@2:False=True",
    "torch.nn.functional.feature_alpha_dropout": "training@2:False=False",
    "torch.nn.functional.rrelu": "training@3:False=False",
    "torch.nn.functional.scaled_dot_product_attention": "dropout_p@4:0.0=0.0",
    "torch.rrelu": "training@3:False=False",
}
# NAME:OVERLOADS of torch.ops.aten.
ATEN: Final = (
    "abs:default absolute:default acos:default acosh:default adaptive_avg_pool1d:default adaptive_avg_pool2d:default "
    "adaptive_avg_pool3d:default adaptive_max_pool1d:default adaptive_max_pool2d:default adaptive_max_pool3d:default "
    "add:Scalar,Tensor addbmm:default addcdiv:default addcmul:default addmm:default,dtype addmv:default addr:default "
    "all:default,dim,dims amax:default amin:default aminmax:default any:default,dim,dims "
    "arange:default,start,start_step arccos:default arccosh:default arcsin:default arcsinh:default arctan:default "
    "arctan2:default arctanh:default argmax:default argmin:default argsort:default,stable asin:default asinh:default "
    "atan:default atan2:default atanh:default avg_pool1d:default avg_pool2d:default avg_pool3d:default "
    "baddbmm:default,dtype bitwise_and:Scalar,Scalar_Tensor,Tensor bitwise_not:default "
    "bitwise_or:Scalar,Scalar_Tensor,Tensor bitwise_xor:Scalar,Scalar_Tensor,Tensor bmm:default,dtype "
    "broadcast_to:default cat:default ceil:default celu:default chunk:default clamp:Tensor,default "
    "clamp_max:Tensor,default clamp_min:Tensor,default clip:Tensor,default clone:default constant_pad_nd:default "
    "convolution:default copysign:Scalar,Tensor cos:default cosh:default count_nonzero:default,dim_IntList "
    "cummax:default cummin:default cumprod:default cumsum:default deg2rad:default diag:default diag_embed:default "
    "diagonal:default diff:default digamma:default div:Scalar,Scalar_mode,Tensor,Tensor_mode "
    "divide:Scalar,Scalar_mode,Tensor,Tensor_mode dot:default elu:default embedding:default "
    "eq:Scalar,Tensor,Tensor_list erf:default erfc:default erfinv:default exp:default exp2:default expand:default "
    "expm1:default fix:default flatten:using_ints flip:default float_power:Scalar,Tensor_Scalar,Tensor_Tensor "
    "floor:default floor_divide:Scalar,default fmax:default fmin:default fmod:Scalar,Tensor frac:default full:default "
    "full_like:default gather:default ge:Scalar,Tensor gelu:default glu:default greater:Scalar,Tensor "
    "greater_equal:Scalar,Tensor gt:Scalar,Tensor hardshrink:default hardsigmoid:default hardswish:default "
    "hardtanh:default heaviside:default hypot:default index:Tensor,Tensor_hacked_twin,list_Tensor index_add:default "
    "index_copy:default index_fill:int_Scalar,int_Tensor index_select:default inner:default isclose:default "
    "isfinite:default isinf:default isnan:default kron:default kthvalue:default layer_norm:default ldexp:Tensor "
    "le:Scalar,Tensor leaky_relu:default lerp:Scalar,Tensor less:Scalar,Tensor less_equal:Scalar,Tensor "
    "lgamma:default linalg_vector_norm:default linear:default log:default log10:default log1p:default log2:default "
    "log_sigmoid_forward:default log_softmax:int logaddexp:default logaddexp2:default logcumsumexp:default "
    "logical_and:default logical_not:default logical_or:default logical_xor:default logit:default logsumexp:default "
    "lt:Scalar,Tensor masked_fill:Scalar,Tensor masked_select:default matmul:default max:default,dim,other "
    "max_pool2d_with_indices:default max_pool3d_with_indices:default maximum:default mean:default,dim "
    "median:default,dim min:default,dim,other minimum:default mish:default mm:default,dtype mode:default "
    "moveaxis:int,intlist movedim:int,intlist mul:Scalar,Tensor multiply:Scalar,Tensor mv:default nan_to_num:default "
    "nanmean:default nansum:default narrow:Tensor,default native_group_norm:default native_layer_norm:default "
    "ne:Scalar,Tensor,Tensor_list neg:default negative:default nll_loss_forward:default "
    "norm:Scalar,ScalarOpt_dim,ScalarOpt_dim_dtype,ScalarOpt_dtype not_equal:Scalar,Tensor one_hot:default "
    "ones:default ones_like:default outer:default permute:default pixel_shuffle:default pixel_unshuffle:default "
    "positive:default pow:Scalar,Tensor_Scalar,Tensor_Tensor prod:default,dim_int rad2deg:default reciprocal:default "
    "reflection_pad1d:default reflection_pad2d:default reflection_pad3d:default relu:default "
    "remainder:Scalar,Scalar_Tensor,Tensor repeat:default repeat_interleave:Tensor,self_Tensor,self_int "
    "replication_pad1d:default replication_pad2d:default replication_pad3d:default reshape:default roll:default "
    "round:decimals,default rsqrt:default scatter:reduce,src,value,value_reduce scatter_add:default "
    "scatter_reduce:two select:int selu:default sigmoid:default sign:default signbit:default silu:default sin:default "
    "sinc:default sinh:default slice:Tensor softmax:int softplus:default softshrink:default sort:default,stable "
    "split:Tensor,default,sizes split_with_sizes:default sqrt:default square:default squeeze:default,dim,dims "
    "stack:default std:correction,default,dim sub:Scalar,Tensor subtract:Scalar,Tensor sum:default,dim_IntList "
    "swapaxes:default swapdims:default t:default take:default take_along_dim:default tan:default tanh:default "
    "tensor_split:indices,sections,tensor_indices_or_sections threshold:default tile:default topk:default "
    "trace:default transpose:int tril:default triu:default true_divide:Scalar,Tensor trunc:default unbind:int "
    "unflatten:int unfold:default unsqueeze:default upsample_bilinear2d:default,vec upsample_linear1d:default,vec "
    "upsample_nearest1d:default,vec upsample_nearest2d:default,vec upsample_nearest3d:default,vec "
    "upsample_trilinear3d:default,vec var:correction,default,dim view:default "
    "where:Scalar,ScalarOther,ScalarSelf,default,self xlogy:Scalar_Other,Scalar_Self,Tensor zeros:default "
    "zeros_like:default"
)
