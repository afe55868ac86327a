"""What modules of torch.nn compute. Written by ``scripts/torch_schemas``: do not edit.

A function of the constructor's parameters gives a function of what the module is called with.
"""

from typing import Final

VERSION: Final = "2.13.0"
FORWARDS: Final = {
    "AdaptiveAvgPool1d": (
        "lambda output_size: lambda input: torch.nn.functional.adaptive_avg_pool1d(input, output_size)"
    ),
    "AdaptiveAvgPool2d": (
        "lambda output_size: lambda input: torch.nn.functional.adaptive_avg_pool2d(input, output_size)"
    ),
    "AdaptiveAvgPool3d": (
        "lambda output_size: lambda input: torch.nn.functional.adaptive_avg_pool3d(input, output_size)"
    ),
    "AdaptiveMaxPool1d": (
        "lambda output_size, return_indices=False: lambda input: torch.nn.functional.adaptive_max_pool1d(input, "
        "output_size, return_indices)"
    ),
    "AdaptiveMaxPool2d": (
        "lambda output_size, return_indices=False: lambda input: torch.nn.functional.adaptive_max_pool2d(input, "
        "output_size, return_indices)"
    ),
    "AdaptiveMaxPool3d": (
        "lambda output_size, return_indices=False: lambda input: torch.nn.functional.adaptive_max_pool3d(input, "
        "output_size, return_indices)"
    ),
    "AvgPool1d": (
        "lambda kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True: lambda input: "
        "torch.nn.functional.avg_pool1d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)"
    ),
    "AvgPool2d": (
        "lambda kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "
        "divisor_override=None: lambda input: torch.nn.functional.avg_pool2d(input, kernel_size, stride, padding, "
        "ceil_mode, count_include_pad, divisor_override)"
    ),
    "AvgPool3d": (
        "lambda kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "
        "divisor_override=None: lambda input: torch.nn.functional.avg_pool3d(input, kernel_size, stride, padding, "
        "ceil_mode, count_include_pad, divisor_override)"
    ),
    "BCELoss": (
        "lambda weight=None, size_average=None, reduce=None, reduction='mean': lambda input, target: "
        "torch.nn.functional.binary_cross_entropy(input, target, weight=weight, reduction=reduction)"
    ),
    "BCEWithLogitsLoss": (
        "lambda weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None: lambda input, "
        "target: torch.nn.functional.binary_cross_entropy_with_logits(input, target, weight, "
        "pos_weight=pos_weight, reduction=reduction)"
    ),
    "Bilinear": (
        "lambda in1_features, in2_features, out_features, bias=True, device=None, dtype=None: lambda input1, "
        "input2: torch.nn.functional.bilinear(input1, input2, torch.empty(out_features, in1_features, "
        "in2_features), torch.empty(out_features))"
    ),
    "CELU": ("lambda alpha=1.0, inplace=False: lambda input: torch.nn.functional.celu(input, alpha, inplace)"),
    "CTCLoss": (
        "lambda blank=0, reduction='mean', zero_infinity=False: lambda log_probs, targets, input_lengths, "
        "target_lengths: torch.nn.functional.ctc_loss(log_probs, targets, input_lengths, target_lengths, blank, "
        "reduction, zero_infinity)"
    ),
    "ChannelShuffle": ("lambda groups: lambda input: torch.nn.functional.channel_shuffle(input, groups)"),
    "ConstantPad1d": (
        "lambda padding, value: lambda input: torch.nn.functional.pad(input, padding, 'constant', value)"
    ),
    "ConstantPad2d": (
        "lambda padding, value: lambda input: torch.nn.functional.pad(input, padding, 'constant', value)"
    ),
    "ConstantPad3d": (
        "lambda padding, value: lambda input: torch.nn.functional.pad(input, padding, 'constant', value)"
    ),
    "CosineEmbeddingLoss": (
        "lambda margin=0.0, size_average=None, reduce=None, reduction='mean': lambda input1, input2, target: "
        "torch.nn.functional.cosine_embedding_loss(input1, input2, target, margin=margin, reduction=reduction)"
    ),
    "CosineSimilarity": (
        "lambda dim=1, eps=1e-08: lambda x1, x2: torch.nn.functional.cosine_similarity(x1, x2, dim, eps)"
    ),
    "CrossEntropyLoss": (
        "lambda weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', "
        "label_smoothing=0.0: lambda input, target: torch.nn.functional.cross_entropy(input, target, "
        "weight=weight, ignore_index=ignore_index, reduction=reduction, label_smoothing=label_smoothing)"
    ),
    "ELU": ("lambda alpha=1.0, inplace=False: lambda input: torch.nn.functional.elu(input, alpha, inplace)"),
    "Embedding": (
        "lambda num_embeddings, embedding_dim, padding_idx=None, max_norm=None, norm_type=2.0, "
        "scale_grad_by_freq=False, sparse=False, _weight=None, _freeze=False, device=None, dtype=None: lambda "
        "input: torch.nn.functional.embedding(input, torch.empty(num_embeddings, embedding_dim), padding_idx, "
        "max_norm, norm_type, scale_grad_by_freq, sparse)"
    ),
    "EmbeddingBag": (
        "lambda num_embeddings, embedding_dim, max_norm=None, norm_type=2.0, scale_grad_by_freq=False, "
        "mode='mean', sparse=False, _weight=None, include_last_offset=False, padding_idx=None, device=None, "
        "dtype=None: lambda input, offsets=None, per_sample_weights=None: torch.nn.functional.embedding_bag(input,"
        " torch.empty(num_embeddings, embedding_dim), offsets, max_norm, norm_type, scale_grad_by_freq, mode, "
        "sparse, per_sample_weights, include_last_offset, padding_idx)"
    ),
    "Flatten": ("lambda start_dim=1, end_dim=-1: lambda input: input.flatten(start_dim, end_dim)"),
    "Fold": (
        "lambda output_size, kernel_size, dilation=1, padding=0, stride=1: lambda input: "
        "torch.nn.functional.fold(input, output_size, kernel_size, dilation, padding, stride)"
    ),
    "GELU": ("lambda approximate='none': lambda input: torch.nn.functional.gelu(input, approximate=approximate)"),
    "GLU": ("lambda dim=-1: lambda input: torch.nn.functional.glu(input, dim)"),
    "GaussianNLLLoss": (
        "lambda *, full=False, eps=1e-06, reduction='mean': lambda input, target, var: "
        "torch.nn.functional.gaussian_nll_loss(input, target, var, full=full, eps=eps, reduction=reduction)"
    ),
    "GroupNorm": (
        "lambda num_groups, num_channels, eps=1e-05, affine=True, device=None, dtype=None, *, bias=True: lambda "
        "input: torch.nn.functional.group_norm(input, num_groups, ..., ..., eps)"
    ),
    "Hardshrink": ("lambda lambd=0.5: lambda input: torch.nn.functional.hardshrink(input, lambd)"),
    "Hardsigmoid": ("lambda inplace=False: lambda input: torch.nn.functional.hardsigmoid(input, inplace)"),
    "Hardswish": ("lambda inplace=False: lambda input: torch.nn.functional.hardswish(input, inplace)"),
    "Hardtanh": (
        "lambda min_val=-1.0, max_val=1.0, inplace=False, min_value=None, max_value=None: lambda input: "
        "torch.nn.functional.hardtanh(input, min_val, max_val, inplace)"
    ),
    "HingeEmbeddingLoss": (
        "lambda margin=1.0, size_average=None, reduce=None, reduction='mean': lambda input, target: "
        "torch.nn.functional.hinge_embedding_loss(input, target, margin=margin, reduction=reduction)"
    ),
    "HuberLoss": (
        "lambda reduction='mean', delta=1.0: lambda input, target: torch.nn.functional.huber_loss(input, target, "
        "reduction=reduction, delta=delta)"
    ),
    "Identity": ("lambda: lambda input: input"),
    "KLDivLoss": (
        "lambda size_average=None, reduce=None, reduction='mean', log_target=False: lambda input, target: "
        "torch.nn.functional.kl_div(input, target, reduction=reduction, log_target=log_target)"
    ),
    "L1Loss": (
        "lambda size_average=None, reduce=None, reduction='mean': lambda input, target: "
        "torch.nn.functional.l1_loss(input, target, reduction=reduction)"
    ),
    "LayerNorm": (
        "lambda normalized_shape, eps=1e-05, elementwise_affine=True, bias=True, device=None, dtype=None: lambda "
        "input: torch.nn.functional.layer_norm(input, normalized_shape, torch.empty(normalized_shape), "
        "torch.empty(normalized_shape), eps)"
    ),
    "LeakyReLU": (
        "lambda negative_slope=0.01, inplace=False: lambda input: torch.nn.functional.leaky_relu(input, "
        "negative_slope, inplace)"
    ),
    "Linear": (
        "lambda in_features, out_features, bias=True, device=None, dtype=None: lambda input: "
        "torch.nn.functional.linear(input, torch.empty(out_features, in_features), torch.empty(out_features))"
    ),
    "LocalResponseNorm": (
        "lambda size, alpha=0.0001, beta=0.75, k=1.0: lambda input: torch.nn.functional.local_response_norm(input,"
        " size, alpha, beta, k)"
    ),
    "LogSigmoid": ("lambda: lambda input: torch.nn.functional.logsigmoid(input)"),
    "LogSoftmax": ("lambda dim=None: lambda input: torch.nn.functional.log_softmax(input, dim, _stacklevel=5)"),
    "MSELoss": (
        "lambda size_average=None, reduce=None, reduction='mean': lambda input, target: "
        "torch.nn.functional.mse_loss(input, target, reduction=reduction)"
    ),
    "MarginRankingLoss": (
        "lambda margin=0.0, size_average=None, reduce=None, reduction='mean': lambda input1, input2, target: "
        "torch.nn.functional.margin_ranking_loss(input1, input2, target, margin=margin, reduction=reduction)"
    ),
    "MaxPool1d": (
        "lambda kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False: lambda "
        "input: torch.nn.functional.max_pool1d(input, kernel_size, stride, padding, dilation, ceil_mode=ceil_mode,"
        " return_indices=return_indices)"
    ),
    "MaxPool2d": (
        "lambda kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False: lambda "
        "input: torch.nn.functional.max_pool2d(input, kernel_size, stride, padding, dilation, ceil_mode=ceil_mode,"
        " return_indices=return_indices)"
    ),
    "MaxPool3d": (
        "lambda kernel_size, stride=None, padding=0, dilation=1, return_indices=False, ceil_mode=False: lambda "
        "input: torch.nn.functional.max_pool3d(input, kernel_size, stride, padding, dilation, ceil_mode=ceil_mode,"
        " return_indices=return_indices)"
    ),
    "MaxUnpool1d": (
        "lambda kernel_size, stride=None, padding=0: lambda input, indices, output_size=None: "
        "torch.nn.functional.max_unpool1d(input, indices, kernel_size, stride, padding, output_size)"
    ),
    "MaxUnpool2d": (
        "lambda kernel_size, stride=None, padding=0: lambda input, indices, output_size=None: "
        "torch.nn.functional.max_unpool2d(input, indices, kernel_size, stride, padding, output_size)"
    ),
    "MaxUnpool3d": (
        "lambda kernel_size, stride=None, padding=0: lambda input, indices, output_size=None: "
        "torch.nn.functional.max_unpool3d(input, indices, kernel_size, stride, padding, output_size)"
    ),
    "Mish": ("lambda inplace=False: lambda input: torch.nn.functional.mish(input, inplace=inplace)"),
    "MultiLabelMarginLoss": (
        "lambda size_average=None, reduce=None, reduction='mean': lambda input, target: "
        "torch.nn.functional.multilabel_margin_loss(input, target, reduction=reduction)"
    ),
    "MultiLabelSoftMarginLoss": (
        "lambda weight=None, size_average=None, reduce=None, reduction='mean': lambda input, target: "
        "torch.nn.functional.multilabel_soft_margin_loss(input, target, weight=weight, reduction=reduction)"
    ),
    "MultiMarginLoss": (
        "lambda p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction='mean': lambda input, "
        "target: torch.nn.functional.multi_margin_loss(input, target, p=p, margin=margin, weight=weight, "
        "reduction=reduction)"
    ),
    "NLLLoss": (
        "lambda weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean': lambda input, "
        "target: torch.nn.functional.nll_loss(input, target, weight=weight, ignore_index=ignore_index, "
        "reduction=reduction)"
    ),
    "PReLU": (
        "lambda num_parameters=1, init=0.25, device=None, dtype=None: lambda input: "
        "torch.nn.functional.prelu(input, ...)"
    ),
    "PairwiseDistance": (
        "lambda p=2.0, eps=1e-06, keepdim=False: lambda x1, x2: torch.nn.functional.pairwise_distance(x1, x2, 2.0,"
        " eps, keepdim)"
    ),
    "PixelShuffle": ("lambda upscale_factor: lambda input: torch.nn.functional.pixel_shuffle(input, upscale_factor)"),
    "PixelUnshuffle": (
        "lambda downscale_factor: lambda input: torch.nn.functional.pixel_unshuffle(input, downscale_factor)"
    ),
    "RMSNorm": (
        "lambda normalized_shape, eps=None, elementwise_affine=True, device=None, dtype=None: lambda x: "
        "torch.nn.functional.rms_norm(x, normalized_shape, torch.empty(normalized_shape), eps)"
    ),
    "ReLU": ("lambda inplace=False: lambda input: torch.nn.functional.relu(input, inplace=inplace)"),
    "ReLU6": ("lambda inplace=False: lambda input: torch.nn.functional.hardtanh(input, 0.0, 6.0, inplace)"),
    "ReflectionPad1d": ("lambda padding: lambda input: torch.nn.functional.pad(input, padding, 'reflect')"),
    "ReflectionPad2d": ("lambda padding: lambda input: torch.nn.functional.pad(input, padding, 'reflect')"),
    "ReflectionPad3d": ("lambda padding: lambda input: torch.nn.functional.pad(input, padding, 'reflect')"),
    "ReplicationPad1d": ("lambda padding: lambda input: torch.nn.functional.pad(input, padding, 'replicate')"),
    "ReplicationPad2d": ("lambda padding: lambda input: torch.nn.functional.pad(input, padding, 'replicate')"),
    "ReplicationPad3d": ("lambda padding: lambda input: torch.nn.functional.pad(input, padding, 'replicate')"),
    "SELU": ("lambda inplace=False: lambda input: torch.nn.functional.selu(input, inplace)"),
    "SiLU": ("lambda inplace=False: lambda input: torch.nn.functional.silu(input, inplace=inplace)"),
    "Sigmoid": ("lambda: lambda input: torch.sigmoid(input)"),
    "SmoothL1Loss": (
        "lambda size_average=None, reduce=None, reduction='mean', beta=1.0: lambda input, target: "
        "torch.nn.functional.smooth_l1_loss(input, target, reduction=reduction, beta=beta)"
    ),
    "SoftMarginLoss": (
        "lambda size_average=None, reduce=None, reduction='mean': lambda input, target: "
        "torch.nn.functional.soft_margin_loss(input, target, reduction=reduction)"
    ),
    "Softmax": ("lambda dim=None: lambda input: torch.nn.functional.softmax(input, dim, _stacklevel=5)"),
    "Softmin": ("lambda dim=None: lambda input: torch.nn.functional.softmin(input, dim, _stacklevel=5)"),
    "Softplus": ("lambda beta=1.0, threshold=20.0: lambda input: torch.nn.functional.softplus(input, beta, threshold)"),
    "Softshrink": ("lambda lambd=0.5: lambda input: torch.nn.functional.softshrink(input, lambd)"),
    "Softsign": ("lambda: lambda input: torch.nn.functional.softsign(input)"),
    "Tanh": ("lambda: lambda input: torch.tanh(input)"),
    "Tanhshrink": ("lambda: lambda input: torch.nn.functional.tanhshrink(input)"),
    "Threshold": (
        "lambda threshold, value, inplace=False: lambda input: torch.nn.functional.threshold(input, threshold, "
        "value, inplace)"
    ),
    "TripletMarginLoss": (
        "lambda margin=1.0, p=2.0, eps=1e-06, swap=False, size_average=None, reduce=None, reduction='mean': lambda"
        " anchor, positive, negative: torch.nn.functional.triplet_margin_loss(anchor, positive, negative, "
        "margin=margin, p=p, eps=eps, swap=swap, reduction=reduction)"
    ),
    "TripletMarginWithDistanceLoss": (
        "lambda *, distance_function=None, margin=1.0, swap=False, reduction='mean': lambda anchor, positive, "
        "negative: torch.nn.functional.triplet_margin_with_distance_loss(anchor, positive, negative, "
        "distance_function=distance_function, margin=margin, swap=swap, reduction=reduction)"
    ),
    "Unflatten": ("lambda dim, unflattened_size: lambda input: input.unflatten(dim, unflattened_size)"),
    "Unfold": (
        "lambda kernel_size, dilation=1, padding=0, stride=1: lambda input: torch.nn.functional.unfold(input, "
        "kernel_size, dilation, padding, stride)"
    ),
    "Upsample": (
        "lambda size=None, scale_factor=None, mode='nearest', align_corners=None, recompute_scale_factor=None: "
        "lambda input: torch.nn.functional.interpolate(input, size, scale_factor, mode, align_corners, "
        "recompute_scale_factor=recompute_scale_factor)"
    ),
    "UpsamplingBilinear2d": (
        "lambda size=None, scale_factor=None: lambda input: torch.nn.functional.interpolate(input, size, "
        "scale_factor, ..., ..., recompute_scale_factor=...)"
    ),
    "UpsamplingNearest2d": (
        "lambda size=None, scale_factor=None: lambda input: torch.nn.functional.interpolate(input, size, "
        "scale_factor, ..., ..., recompute_scale_factor=...)"
    ),
    "ZeroPad1d": ("lambda padding: lambda input: torch.nn.functional.pad(input, padding, 'constant', 0.0)"),
    "ZeroPad2d": ("lambda padding: lambda input: torch.nn.functional.pad(input, padding, 'constant', 0.0)"),
    "ZeroPad3d": ("lambda padding: lambda input: torch.nn.functional.pad(input, padding, 'constant', 0.0)"),
}
# Parameters of which a number stands for a list of it.
LISTS: Final = {
    "AvgPool1d": ("kernel_size",),
    "Conv1d": ("kernel_size",),
    "ConvTranspose1d": ("kernel_size",),
    "LayerNorm": ("normalized_shape",),
    "MaxUnpool1d": ("kernel_size",),
    "RMSNorm": ("normalized_shape",),
}
