"""Functions of the kind that people lower, with shapes, and a table of what comes of them.

``python tests/lower_cases.py [NAME ...] [--show]`` traces, lowers, checks and verifies; tests use the same list.
"""
# ruff: noqa: PLW0108, PLC3002  each function is one expression, written as a user might

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lower_trace import data_of, trace
from stepagents.lower.search import Lowering, VerifiedProgram, lower


def r(*shape: int) -> Tensor:
    return torch.randn(*shape)


Case = tuple[str, Callable[[], Any], Callable[[], tuple[Tensor, ...]]]
CASES: list[Case] = []


def case(name: str, function: Any, *shapes: Any, positive: bool = False) -> None:
    def inputs() -> tuple[Tensor, ...]:
        torch.manual_seed(0)
        return tuple((s() if callable(s) else (torch.rand(s) + 0.1 if positive else torch.randn(s))) for s in shapes)

    CASES.append((name, function, inputs))


def fn(function: Callable[..., Any]) -> Callable[[], Any]:
    return lambda: function


def mod(make: Callable[[], nn.Module]) -> Callable[[], Any]:
    def build() -> nn.Module:
        torch.manual_seed(1)
        return make().eval()

    return build


def seq(*makers: Callable[[], nn.Module]) -> Callable[[], Any]:
    return mod(lambda: nn.Sequential(*(make() for make in makers)))


# --- single operations
_ACTIVATIONS = """relu sigmoid tanh gelu silu elu selu softplus softsign hardtanh hardswish hardsigmoid leaky_relu mish
    logsigmoid relu6 celu hardshrink softshrink tanhshrink"""
for _name in _ACTIVATIONS.split():
    case(f"act_{_name}", fn(getattr(F, _name)), (6, 10))
case("gelu_tanh", fn(lambda x: 0.5 * x * (1 + torch.tanh(0.79788456 * (x + 0.044715 * x**3)))), (6, 10))
case("softmax", fn(lambda x: torch.softmax(x, 1)), (6, 10))
case("log_softmax", fn(lambda x: torch.log_softmax(x, 1)), (6, 10))
case("softmax_dim1of3", fn(lambda x: torch.softmax(x, 1)), (3, 6, 5))
case("mm", fn(lambda a, b: a @ b), (6, 9), (9, 7))
case("mm_ta", fn(lambda a, b: a.T @ b), (9, 6), (9, 7))
case("mm_tb", fn(lambda a, b: a @ b.T), (6, 9), (7, 9))
case("mm_tab", fn(lambda a, b: a.T @ b.T), (9, 6), (7, 9))
case("bmm", fn(torch.bmm), (3, 6, 9), (3, 9, 7))
case("mv", fn(lambda a, b: a @ b), (6, 9), (9, 1))
case("matmul3d", fn(lambda a, b: a @ b), (3, 6, 9), (9, 7))
case("matmul4d", fn(lambda a, b: torch.einsum("bijl,lk->bijk", a, b)), (2, 3, 4, 5), (5, 6))
case("scalar_mm", fn(lambda a: a * 3.14), (6, 9))
case("diag_mm", fn(lambda a, b: torch.diag(a) @ b), (6,), (6, 7))
case("triu_mm", fn(lambda a, b: torch.triu(a @ b)), (6, 6), (6, 6))
case("tril_mm", fn(lambda a, b: torch.tril(a @ b)), (6, 6), (6, 6))
case("sum1", fn(lambda x: x.sum(1, keepdim=True)), (4, 6, 5))
case("mean1", fn(lambda x: x.mean(1)), (4, 6, 5))
case("max1", fn(lambda x: x.max(1)[0]), (4, 6, 5))
case("min1", fn(lambda x: x.min(1)[0]), (4, 6, 5))
case("prod1", fn(lambda x: x.prod(1)), (4, 6, 5))
case("argmax1", fn(lambda x: x.argmax(1)), (4, 6, 5))
case("argmin1", fn(lambda x: x.argmin(1)), (4, 6, 5))
case("sum_all", fn(lambda x: x.sum()), (4, 6))
case("mean_all", fn(lambda x: x.mean()), (4, 6))
case("var", fn(lambda x: x.var(-1)), (4, 6))
case("std_dims", fn(lambda x: x.std((1, 2))), (4, 6, 5))
case("norm_fro", fn(lambda x: x / torch.norm(x, p="fro")), (4, 6, 5))
case("l1norm", fn(lambda x: x / torch.mean(torch.abs(x), dim=1, keepdim=True)), (4, 6))
case("l2norm", fn(lambda x: x / torch.norm(x, p=2, dim=1, keepdim=True)), (4, 6))
case("logsumexp", fn(lambda x: torch.logsumexp(x, 1)), (4, 6))
case("batchnorm", mod(lambda: nn.BatchNorm2d(4)), (2, 4, 5, 6))
case("batchnorm_train", lambda: nn.BatchNorm2d(4, track_running_stats=False).train(), (2, 4, 5, 6))
case("instancenorm", mod(lambda: nn.InstanceNorm2d(4)), (2, 4, 5, 6))
case("groupnorm", mod(lambda: nn.GroupNorm(2, 4)), (2, 4, 5, 6))
case("layernorm", mod(lambda: nn.LayerNorm((4, 5, 6))), (2, 4, 5, 6))
case("layernorm1", mod(lambda: nn.LayerNorm(6)), (2, 4, 6))
case("rmsnorm", fn(lambda x: x / torch.sqrt(torch.mean(x**2, dim=1, keepdim=True) + 1e-5)), (2, 4, 5, 6))
case("maxpool1d", mod(lambda: nn.MaxPool1d(3, 2, 1)), (2, 4, 12))
case("maxpool2d", mod(lambda: nn.MaxPool2d(2)), (2, 4, 8, 8))
case("maxpool2d_dil", mod(lambda: nn.MaxPool2d(2, 2, 1, 2)), (2, 4, 9, 9))
case("maxpool3d", mod(lambda: nn.MaxPool3d(2, 2)), (2, 3, 4, 6, 4))
case("avgpool1d", mod(lambda: nn.AvgPool1d(3, 1, 1)), (2, 4, 12))
case("avgpool2d", mod(lambda: nn.AvgPool2d(3)), (2, 4, 9, 9))
case("avgpool3d", mod(lambda: nn.AvgPool3d(2, 2, 1)), (2, 3, 4, 6, 4))
case("avgpool2d_nopad", mod(lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False)), (2, 4, 9, 9))
case("avgpool2d_ceil", mod(lambda: nn.AvgPool2d(3, 2, 1, ceil_mode=True)), (2, 4, 8, 8))
case("adaptiveavg", mod(lambda: nn.AdaptiveAvgPool2d(2)), (2, 4, 8, 8))
case("adaptiveavg1", mod(lambda: nn.AdaptiveAvgPool2d(1)), (2, 4, 8, 8))
case("conv1d", mod(lambda: nn.Conv1d(3, 5, 3)), (2, 3, 12))
case("conv1d_dil", mod(lambda: nn.Conv1d(3, 5, 3, stride=2, dilation=2, padding=1)), (2, 3, 14))
case("conv2d", mod(lambda: nn.Conv2d(3, 5, 3, padding=1)), (2, 3, 8, 7))
case("conv2d_asym", mod(lambda: nn.Conv2d(3, 5, (3, 5), stride=(2, 1), padding=(1, 2), bias=False)), (2, 3, 8, 7))
case("conv2d_group", mod(lambda: nn.Conv2d(4, 6, 3, groups=2)), (2, 4, 6, 6))
case("conv2d_dw", mod(lambda: nn.Conv2d(4, 4, 3, groups=4)), (2, 4, 6, 6))
case("conv2d_pw", mod(lambda: nn.Conv2d(4, 6, 1)), (2, 4, 6, 6))
case("conv2d_dwsep", seq(lambda: nn.Conv2d(4, 4, 3, groups=4, padding=1), lambda: nn.Conv2d(4, 6, 1)), (2, 4, 6, 6))
case("conv3d", mod(lambda: nn.Conv3d(2, 3, 3)), (1, 2, 5, 6, 5))
case("convt1d", mod(lambda: nn.ConvTranspose1d(3, 5, 3)), (2, 3, 7))
case("convt1d_s", mod(lambda: nn.ConvTranspose1d(3, 5, 3, stride=2, padding=1, dilation=2)), (2, 3, 7))
case("convt2d", mod(lambda: nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1, output_padding=1)), (2, 3, 5, 4))
case("convt2d_g", mod(lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, groups=2)), (1, 4, 5, 4))
case("convt3d", mod(lambda: nn.ConvTranspose3d(2, 3, 3, stride=2)), (1, 2, 3, 4, 3))
case("cumsum", fn(lambda x: torch.cumsum(x, 1)), (4, 9))
case("cumsum0", fn(lambda x: torch.cumsum(x, 0)), (4, 9))
case("cumsum_rev", fn(lambda x: torch.cumsum(x.flip(1), 1).flip(1)), (4, 9))
case(
    "cumsum_excl",
    fn(lambda x: torch.cumsum(torch.cat((torch.zeros_like(x.select(1, 0).unsqueeze(1)), x), dim=1)[:-1], dim=1)),
    (4, 9),
)
case("cumprod", fn(lambda x: torch.cumprod(x, 1)), (4, 9))
case("masked_cumsum", fn(lambda x, m: torch.cumsum(x * m, 1)), (4, 9), lambda: torch.rand(4, 9) > 0.5)
case("mse", fn(F.mse_loss), (4, 9), (4, 9))
case("cross_entropy", fn(F.cross_entropy), (6, 5), lambda: torch.randint(0, 5, (6,)))
case("huber", fn(F.smooth_l1_loss), (4, 9), (4, 9))
case("kl_div", fn(lambda p, t: F.kl_div(torch.log(p), t, reduction="batchmean")), (4, 9), (4, 9), positive=True)
case("triplet", fn(lambda a, p, n: F.triplet_margin_loss(a, p, n)), (4, 9), (4, 9), (4, 9))
case("hinge", fn(lambda p, t: torch.mean(torch.clamp(1 - p * t, min=0))), (9,), (9,))
case("cosine_loss", fn(lambda p, t: torch.mean(1 - F.cosine_similarity(p, t, dim=1))), (4, 9), (4, 9))
case("bce", fn(lambda p, t: F.binary_cross_entropy_with_logits(p, t)), (4, 9), (4, 9))
case("nll", fn(lambda x, t: F.nll_loss(torch.log_softmax(x, 1), t)), (6, 5), lambda: torch.randint(0, 5, (6,)))
case("attention", fn(lambda q, k, v: F.scaled_dot_product_attention(q, k, v)), (2, 2, 5, 4), (2, 2, 6, 4), (2, 2, 6, 4))
case(
    "attention_causal",
    fn(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True)),
    (2, 5, 4),
    (2, 5, 4),
    (2, 5, 4),
)
case("onehot", fn(lambda i: F.one_hot(i, 7)), lambda: torch.randint(0, 7, (5,)))
case("gather", fn(lambda x, i: torch.gather(x, 1, i)), (5, 7), lambda: torch.randint(0, 7, (5, 3)))
case("embedding", mod(lambda: nn.Embedding(11, 6)), lambda: torch.randint(0, 11, (4, 3)))
case("index_select", fn(lambda x, i: torch.index_select(x, 0, i)), (5, 7), lambda: torch.tensor([3, 1, 0]))
case("adv_index", fn(lambda x, i: x[i]), (5, 7), lambda: torch.tensor([3, 1, 0]))
case("topk", fn(lambda x: torch.topk(x, 3, dim=1)), (5, 7))
case("sort", fn(lambda x: torch.sort(x, dim=1)), (5, 7))
case("scatter", fn(lambda x, i, s: x.scatter(1, i, s)), (5, 7), lambda: torch.randperm(7)[:3].repeat(5, 1), (5, 3))
case("scatter_add", fn(lambda x, i, s: x.scatter_add(1, i, s)), (5, 7), lambda: torch.randint(0, 7, (5, 3)), (5, 3))
case("cat", fn(lambda a, b: torch.cat([a, b], 1)), (4, 5), (4, 3))
case("stack", fn(lambda a, b: torch.stack([a, b], 1)), (4, 5), (4, 5))
case("chunk", fn(lambda x: torch.mul(*x.chunk(2, -1))), (4, 6))
case("slice", fn(lambda x: x[:, 1:-1:2] * 2), (4, 9))
case("transpose", fn(lambda x: x.transpose(0, 1).contiguous()), (4, 9))
case("reshape", fn(lambda x: x.reshape(6, 10)), (4, 15))
case("permute_reshape", fn(lambda x: x.permute(0, 2, 1).reshape(4, 15)), (4, 5, 3))
case("flip", fn(lambda x: x.flip(1)), (4, 9))
case("roll", fn(lambda x: torch.roll(x, 2, 1)), (4, 9))
case("repeat", fn(lambda x: x.repeat(2, 3)), (4, 5))
case("pixel_shuffle", fn(lambda x: F.pixel_shuffle(x, 2)), (2, 8, 3, 4))
case("upsample", fn(lambda x: F.interpolate(x, scale_factor=2, mode="nearest")), (2, 3, 4, 5))
case("reflect_pad", fn(lambda x: F.pad(x, (1, 2), mode="reflect")), (2, 3, 7))
case("replicate_pad", fn(lambda x: F.pad(x, (1, 2), mode="replicate")), (2, 3, 7))
case("outer", fn(torch.outer), (5,), (6,))
case("einsum_t", fn(lambda a, b: torch.einsum("bik,bjk->bij", a, b)), (2, 4, 5), (2, 3, 5))
case("where", fn(lambda a, b: torch.where(a > 0, a, b)), (4, 5), (4, 5))
case("clamp", fn(lambda a: a.clamp(-0.5, 0.5)), (4, 5))
case("any", fn(lambda a: (a > 1).any(1)), (4, 5))
case("glu", fn(lambda a: F.glu(a, 1)), (4, 6))
case("cdist", fn(lambda a, b: ((a[:, None] - b[None]) ** 2).sum(-1).sqrt()), (4, 6), (5, 6))
case("bilinear_up", fn(lambda x: F.interpolate(x, scale_factor=2, mode="bilinear")), (1, 2, 4, 4))


# --- fused chains
def rope(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    rate = 10000.0 ** (-torch.arange(0, half) / half)
    angle = torch.outer(torch.arange(x.shape[-2]), rate)
    a, b = x.chunk(2, -1)
    return torch.cat([a * angle.cos() - b * angle.sin(), a * angle.sin() + b * angle.cos()], -1)


class Mha(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(c, dim=2)
        q, k, v = (y.view(b, t, 2, c // 2).transpose(1, 2) for y in (q, k, v))
        att = (q @ k.transpose(-2, -1)) / 2.0
        mask = torch.tril(torch.ones(t, t)).view(1, 1, t, t)
        att = att.masked_fill(mask == 0, float("-inf")).softmax(-1)
        found: Tensor = self.out((att @ v).transpose(1, 2).reshape(b, t, c))
        return found


class Moe(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(6, 4)
        self.w = nn.Parameter(torch.randn(4, 6, 5))

    def forward(self, x: Tensor) -> Tensor:
        p = self.gate(x).softmax(-1)
        top, where = p.topk(2, -1)
        weights = torch.zeros_like(p).scatter(-1, where, top)
        return torch.einsum("be,bd,edf->bf", weights, x, self.w)


case("rope", fn(rope), (2, 5, 8))
case("mha", mod(Mha), (2, 5, 8))
case("moe", mod(Moe), (3, 6))
case("swiglu", fn(lambda x, w, v: F.silu(x @ w) * (x @ v)), (5, 6), (6, 7), (6, 7))
case("mlp", seq(lambda: nn.Linear(6, 8), nn.ReLU, lambda: nn.Linear(8, 5)), (4, 6))
case("mlp3", seq(lambda: nn.Linear(6, 8), nn.ReLU, lambda: nn.Linear(8, 9), nn.ReLU, lambda: nn.Linear(9, 5)), (4, 6))
case("conv_relu_bias", mod(lambda: ConvRelu()), (2, 3, 8, 8))
case("conv_bn_relu", seq(lambda: nn.Conv2d(3, 4, 3), lambda: nn.BatchNorm2d(4), nn.ReLU), (2, 3, 6, 6))
case(
    "conv_bn_train",
    lambda: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4, track_running_stats=False)).train(),
    (2, 3, 6, 6),
)
case("conv_relu_pool", seq(lambda: nn.Conv2d(3, 4, 3, padding=1), nn.ReLU, lambda: nn.MaxPool2d(2)), (2, 3, 8, 8))
case("conv_gn_tanh", seq(lambda: nn.Conv2d(3, 4, 3), lambda: nn.GroupNorm(2, 4), nn.Tanh), (2, 3, 6, 6))
case("conv_in_div", fn(lambda x, w: F.instance_norm(F.conv2d(x, w)) / 2.0), (2, 3, 6, 6), (4, 3, 3, 3))
case(
    "conv_softmax_pool",
    seq(lambda: nn.Conv3d(2, 3, 3), lambda: nn.Softmax(1), lambda: nn.MaxPool3d(2)),
    (1, 2, 6, 6, 6),
)
case(
    "conv_conv",
    seq(lambda: nn.Conv2d(3, 4, 3, padding=1), nn.ReLU, lambda: nn.Conv2d(4, 5, 3, padding=1)),
    (1, 3, 6, 6),
)
case(
    "conv_min_tanh",
    fn(lambda x, w: torch.tanh(torch.tanh(torch.min(F.conv2d(x, w), dim=1, keepdim=True)[0]))),
    (2, 3, 6, 6),
    (4, 3, 3, 3),
)
case(
    "convt_bn_pool",
    seq(
        lambda: nn.ConvTranspose2d(3, 4, 3, stride=2, padding=1),
        lambda: nn.BatchNorm2d(4),
        lambda: nn.AdaptiveAvgPool2d(1),
    ),
    (1, 3, 4, 4),
)
case(
    "convt_gelu_gn",
    seq(lambda: nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1), nn.GELU, lambda: nn.GroupNorm(2, 4)),
    (1, 3, 4, 4),
)
case(
    "relu_convt",
    seq(lambda: nn.Conv2d(3, 3, 1), nn.ReLU, lambda: nn.ConvTranspose2d(3, 4, 4, stride=2, padding=1)),
    (1, 3, 4, 4),
)
case(
    "conv_hsw_mean",
    fn(lambda x, w: F.softmax(F.hardswish(F.conv3d(x, w)).mean((2, 3, 4)), 1)),
    (1, 2, 5, 5, 5),
    (3, 2, 3, 3, 3),
)
case(
    "conv_lse",
    fn(lambda x, w: torch.relu(torch.logsumexp(F.max_pool2d(F.conv2d(x, w, padding=1), 2), dim=1, keepdim=True))),
    (1, 3, 8, 8),
    (4, 3, 3, 3),
)
case("gemm_scale_bn", seq(lambda: nn.Linear(6, 5), lambda: nn.BatchNorm1d(5)), (4, 6))
case("gemm_gn_hardtanh", seq(lambda: nn.Linear(6, 8), lambda: nn.GroupNorm(2, 8), nn.Hardtanh), (4, 6))
case(
    "gemm_max_sub_gelu",
    fn(lambda x, w: F.gelu((lambda y: y - y.mean(1, keepdim=True))(torch.max(x @ w, 1, keepdim=True).values))),
    (4, 6),
    (6, 5),
)
case("gemm_lse_leaky", fn(lambda x, w: F.gelu(F.leaky_relu(torch.logsumexp(x @ w, 1, keepdim=True)))), (4, 6), (6, 5))
case("gemm_softmax", fn(lambda x, w, b: torch.softmax(F.linear(x, w, b) * 2, -1)), (4, 6), (5, 6), (5,))
case("gemm_sigmoid_sum_lse", fn(lambda x, w: torch.logsumexp(torch.sigmoid(x @ w).sum(1), 0)), (4, 6), (6, 5))
case("gemm_pool", fn(lambda x, w: F.max_pool1d((x @ w).unsqueeze(1), 2).squeeze(1).sum(1) * 0.5), (4, 6), (6, 8))
case(
    "bmm_in_sum_res",
    fn(lambda x, w, y: (F.instance_norm((x @ w)[:, None, None]).squeeze(1).squeeze(1) + y) * y),
    (4, 6),
    (6, 5),
    (4, 5),
)
case("layernorm_linear", seq(lambda: nn.LayerNorm(6), lambda: nn.Linear(6, 5)), (4, 6))
case("linear_layernorm", seq(lambda: nn.Linear(6, 5), lambda: nn.LayerNorm(5)), (4, 6))
case("residual", fn(lambda x, w: x + torch.relu(x @ w)), (4, 6), (6, 6))
case(
    "lenet",
    mod(
        lambda: nn.Sequential(
            nn.Conv2d(1, 3, 5),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(3, 4, 3),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.Linear(16, 10),
        )
    ),
    (1, 1, 16, 16),
)
case("rnn_cell", fn(lambda x, h, w, u: torch.tanh(torch.cat((x, h), 1) @ w) @ u), (4, 3), (4, 5), (8, 5), (5, 2))
case("squeeze_excite", mod(lambda: SE()), (2, 4, 5, 5))
case("basic_block", mod(lambda: Block()), (1, 3, 6, 6))


# --- more fused chains, in the manner of operator collections
case("ct3d_sum_ln_pool_gelu", mod(lambda: CtLn()), (1, 2, 3, 4, 4))
case(
    "conv3d_gn_mean",
    fn(lambda x, w: F.group_norm(F.conv3d(x, w), 2).mean(dim=[1, 2, 3, 4])),
    (2, 2, 5, 5, 5),
    (4, 2, 3, 3, 3),
)
case(
    "gemm_sig_scale_res",
    fn(lambda x, w, b: (lambda y: torch.sigmoid(y) * 2.0 + y)(F.linear(x, w, b))),
    (4, 6),
    (5, 6),
    (5,),
)
case(
    "gemm_swish_div_clamp",
    fn(lambda x, w, b: torch.clamp(torch.tanh(torch.clamp(F.silu(F.linear(x, w, b)) / 2, -1, 1)), -1, 1)),
    (4, 6),
    (5, 6),
    (5,),
)
case(
    "ct_lse_hsw_clamp_max",
    fn(
        lambda x, w, b: torch.max(
            torch.clamp(F.hardswish(torch.logsumexp(F.conv_transpose3d(x, w, padding=1), 1, keepdim=True)) - b, -1, 1),
            1,
        )[0]
    ),
    (1, 2, 4, 4, 4),
    (2, 3, 3, 3, 3),
    (3, 1, 1, 1),
)
case(
    "ct_mean_add_softmax",
    fn(
        lambda x, w, b: (
            torch.tanh(torch.softmax(F.conv_transpose3d(x, w, stride=2, padding=1).mean(1, keepdim=True) + b, 1)) * 2
        )
    ),
    (1, 2, 3, 3, 3),
    (2, 3, 3, 3, 3),
    (1, 1, 1, 1, 1),
)
case(
    "conv_avgpool_sig_sum",
    fn(lambda x, w, b: torch.sigmoid(F.avg_pool2d(F.conv2d(x, w, b), 2)).sum(dim=[1, 2, 3])),
    (2, 3, 8, 8),
    (4, 3, 3, 3),
    (4,),
)
case(
    "ct_gap_bias_lse_sum",
    fn(
        lambda x, w, b: (
            torch.logsumexp(torch.mean(F.conv_transpose2d(x, w), (2, 3), keepdim=True) + b, 1, keepdim=True).sum((2, 3))
            * 10
        )
    ),
    (2, 3, 5, 5),
    (3, 4, 3, 3),
    (4, 1, 1),
)
case(
    "conv_sub_tanh_sub_pool",
    fn(lambda x, w: F.avg_pool2d(torch.tanh(F.conv2d(x, w) - 0.5) - 0.2, 2)),
    (2, 3, 8, 8),
    (4, 3, 3, 3),
)
case("conv_gn_scale_pool_clamp", mod(lambda: GnScale()), (2, 3, 8, 8))
case("matmul_drop_mean_softmax", seq(lambda: nn.Linear(6, 5), lambda: nn.Dropout(0.2), lambda: nn.Softmax(1)), (4, 6))
case(
    "ct_softmax_bias_sig",
    fn(
        lambda x, w, b: torch.sigmoid(
            (torch.softmax(F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1), 1) + b) * 2
        )
    ),
    (1, 3, 4, 4),
    (3, 4, 4, 4),
    (4, 1, 1),
)
case("conv_mish_mish", fn(lambda x, w: F.mish(F.mish(F.conv2d(x, w) - 0.5) - 0.2)), (2, 3, 6, 6), (4, 3, 3, 3))
case(
    "conv_scale_min", fn(lambda x, w: torch.min(F.conv2d(x, w) * 2, dim=1, keepdim=True)[0]), (2, 3, 6, 6), (4, 3, 3, 3)
)
case(
    "ct_add_hsw",
    fn(
        lambda x, a, w: (lambda y: y * F.hardswish(y))(
            F.conv_transpose3d(x, w, stride=2, padding=1, output_padding=1) + a
        )
    ),
    (1, 2, 3, 3, 3),
    (1, 3, 6, 6, 6),
    (2, 3, 3, 3, 3),
)
case(
    "conv_relu_lrelu_gelu_sig_bias",
    fn(lambda x, w, b: torch.sigmoid(F.gelu(F.leaky_relu(F.relu(F.conv3d(x, w)), 0.01))) + b),
    (1, 2, 5, 5, 5),
    (3, 2, 3, 3, 3),
    (3, 1, 1, 1),
)
case(
    "ct_max_max_sum",
    fn(
        lambda x, w: torch.sum(
            F.max_pool3d(F.max_pool3d(F.conv_transpose3d(x, w, stride=2, padding=2), 2), 3), 1, keepdim=True
        )
    ),
    (1, 2, 6, 6, 6),
    (2, 3, 5, 5, 5),
)
case(
    "conv_max_lse_relu",
    fn(lambda x, w: F.relu(torch.logsumexp(F.max_pool3d(F.conv3d(x, w, padding=1), 2), 1, keepdim=True))),
    (1, 2, 6, 6, 6),
    (3, 2, 3, 3, 3),
)
case("ct_sub_bn_mean", lambda: CtBn().train(), (2, 2, 3, 4, 4))
case(
    "conv_div_max_gap_sum",
    fn(lambda x, w, b: torch.sum(F.adaptive_avg_pool3d(F.max_pool3d(F.conv3d(x, w) / 2, 2), 1) + b, 1)),
    (1, 2, 6, 6, 6),
    (3, 2, 3, 3, 3),
    (3, 1, 1, 1),
)
case(
    "gemm_gn_min_bias",
    fn(lambda x, w, b, c: torch.min(F.group_norm(F.linear(x, w, b), 2), 1, keepdim=True)[0] + c),
    (4, 6),
    (8, 6),
    (8,),
    (1, 8, 1, 1),
)
case(
    "gemm_gn_swish_mul_swish",
    fn(
        lambda x, w, b, c: (lambda z: z * torch.sigmoid(z))(
            (lambda y: y * torch.sigmoid(y))(F.group_norm(F.linear(x, w, b), 4)) * c
        )
    ),
    (4, 6),
    (8, 6),
    (8,),
    (8,),
)
case(
    "matmul_mish_bn_in_train",
    lambda: nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.GELU(), nn.ReLU()).train(),
    (4, 6),
)
case(
    "conv_tanh_scale_bias_max",
    fn(lambda x, w, b: F.max_pool2d(torch.tanh(F.conv2d(x, w)) * 2 + b, 2)),
    (2, 3, 8, 8),
    (4, 3, 3, 3),
    (4, 1, 1),
)
case(
    "ct_clamp_min_div",
    fn(lambda x, w: torch.clamp(F.conv_transpose3d(x, w, stride=2, padding=1), min=-1.0) / 2),
    (1, 2, 3, 3, 3),
    (2, 3, 3, 3, 3),
)
case(
    "conv_gelu_gap",
    fn(lambda x, w: F.adaptive_avg_pool2d(F.gelu(F.conv2d(x, w)), 1).squeeze(-1).squeeze(-1)),
    (2, 3, 6, 6),
    (4, 3, 3, 3),
)
case(
    "conv3d_hsw_gn_mean",
    fn(lambda x, w: torch.mean(F.group_norm(F.hardswish(F.conv3d(x, w)), 2), dim=[2, 3, 4])),
    (1, 2, 4, 4, 4),
    (4, 2, 3, 3, 3),
)
case(
    "gemm_scale_hardtanh_gelu",
    fn(lambda x, w, b: F.gelu(F.hardtanh(F.linear(x, w, b) * 0.5, -2, 2))),
    (4, 6),
    (5, 6),
    (5,),
)
case(
    "conv_in_scale_clamp_max",
    fn(lambda x, w, m: torch.max(torch.clamp(F.instance_norm(F.conv3d(x, w) * m), -1, 1) * m, 1)[0]),
    (1, 2, 4, 4, 4),
    (3, 2, 3, 3, 3),
    (3, 1, 1, 1),
)
case(
    "ct_pool_clamp_softmax",
    fn(
        lambda x, w, s: (lambda y: torch.softmax(y.view(1, 3, -1), 2).view(y.shape) * s)(
            torch.clamp(F.conv_transpose3d(F.avg_pool3d(x, 2), w, stride=2, padding=1, output_padding=1), 0, 1)
        )
    ),
    (1, 2, 4, 4, 4),
    (2, 3, 3, 3, 3),
    (1, 3, 1, 1, 1),
)
case(
    "ct_scale_bn_gap",
    lambda: nn.Sequential(nn.ConvTranspose3d(2, 3, 3), nn.BatchNorm3d(3), nn.AdaptiveAvgPool3d(1)).train(),
    (2, 2, 3, 3, 3),
)
case("bn_eval_chain", seq(lambda: nn.Conv2d(3, 4, 3), lambda: nn.Mish(), lambda: nn.BatchNorm2d(4)), (2, 3, 6, 6))
case("conv_act_bn", mod(lambda: ActBn()), (2, 3, 6, 6))
case("inception", mod(lambda: Inception()), (1, 3, 6, 6))
case("dense_cat", mod(lambda: DenseCat()), (1, 3, 5, 5))
case(
    "mingpt_gelu",
    fn(lambda x: 0.5 * x * (1.0 + torch.tanh((2.0 / 3.14159) ** 0.5 * (x + 0.044715 * torch.pow(x, 3.0))))),
    (4, 6),
)
case("vit_patch", mod(lambda: Patch()), (1, 3, 8, 8))
case(
    "gqa",
    fn(lambda q, k, v: torch.softmax(torch.einsum("bgrsd,bgtd->bgrst", q, k), -1) @ v[:, :, None]),
    (1, 2, 2, 3, 4),
    (1, 2, 5, 4),
    (1, 2, 5, 4),
)
case(
    "linear_attention",
    fn(lambda q, k, v: torch.einsum("bsd,bde->bse", F.elu(q) + 1, torch.einsum("btd,bte->bde", F.elu(k) + 1, v))),
    (2, 5, 4),
    (2, 5, 4),
    (2, 5, 3),
)
case("int_add", fn(lambda a, b: a + b * 2), lambda: torch.randint(0, 9, (4, 5)), lambda: torch.randint(0, 9, (4, 5)))
case("int_sum", fn(lambda a: a.sum(1)), lambda: torch.randint(0, 9, (4, 5)))
case("int_max", fn(lambda a: a.max()), lambda: torch.randint(0, 9, (4, 5)))
case("bool_and", fn(lambda a, b: (a > 0) & (b > 0)), (4, 5), (4, 5))
case("masked_mean", fn(lambda x, m: (x * m).sum(1) / m.sum(1).clamp(min=1)), (4, 5), lambda: torch.rand(4, 5) > 0.4)
case("zeros_out", fn(lambda x: torch.zeros_like(x)), (4, 5))
case("const_out", fn(lambda x: torch.arange(5.0)), (4, 5))
case("identity", fn(lambda x: x), (4, 5))
case("two_out", fn(lambda x: (x.sum(1), x * 2)), (4, 5))
case("same_twice", fn(lambda x: (lambda y: (y, y))(x * 2)), (4, 5))
case("x_plus_x", fn(lambda x: x + x.flip(0)), (4, 5))
case("scalar_in", fn(lambda x, s: x * s), (4, 5), ())
case("inplace", fn(lambda x: x.clone().add_(1).relu_()), (4, 5))
case("setitem", fn(lambda x: (lambda y: (y.__setitem__((slice(None), 0), 0.0), y)[1])(x.clone())), (4, 5))
case("expand_sum", fn(lambda x: x[:, None].expand(4, 3, 5).sum((0, 1))), (4, 5))
case("nested_norm", fn(lambda x: F.layer_norm(F.layer_norm(x, (5,)), (5,))), (4, 5))
case(
    "log_softmax_nll_ignore",
    fn(lambda x, t: F.cross_entropy(x, t, ignore_index=2, label_smoothing=0.1)),
    (6, 5),
    lambda: torch.randint(0, 5, (6,)),
)
case("kthvalue", fn(lambda x: torch.kthvalue(x, 2, dim=1)[0]), (4, 5))
case("median", fn(lambda x: torch.median(x, dim=1)[0]), (4, 5))
case("cross", fn(lambda a, b: torch.linalg.cross(a, b)), (4, 3), (4, 3))
case("fft", fn(lambda a: torch.fft.fft(a).real), (4, 8))
case("inverse", fn(lambda a: torch.linalg.inv(a)), (3, 3))
case("half", fn(lambda a: torch.relu(a) * 2), lambda: torch.randn(3, 4).half())
case("bf16_mm", fn(lambda a, b: a @ b), lambda: torch.randn(3, 4).bfloat16(), lambda: torch.randn(4, 5).bfloat16())
case("unfold_view", fn(lambda x: x.unfold(1, 3, 2).sum(-1)), (2, 9))
case("im2col", fn(lambda x: F.unfold(x, 3)), (1, 2, 5, 5))
case("softmax2d_all", fn(lambda x: torch.softmax(x.flatten(1), 1).view(x.shape)), (2, 3, 4))
case("cumsum_mid", fn(lambda x: torch.cumsum(x, 1) * 2), (2, 5, 3))
case("lse_cumsum", fn(lambda x: torch.logcumsumexp(x, 1)), (2, 5))
case("cummax", fn(lambda x: torch.cummax(x, 1)[0]), (2, 5))
case("var_then_use", fn(lambda x: (x - x.mean(0)) / (x.std(0) + 1e-5)), (6, 5))
case("dist", fn(lambda a, b: torch.cdist(a, b)), (4, 5), (3, 5))
case("kron", fn(torch.kron), (2, 3), (3, 2))
case("trace", fn(torch.trace), (4, 4))
case("tensordot", fn(lambda a, b: torch.tensordot(a, b, dims=([1], [0]))), (2, 3, 4), (3, 5))
case("lerp", fn(lambda a, b: torch.lerp(a, b, 0.3)), (2, 3), (2, 3))
case("bincount_like", fn(lambda i: (i[:, None] == torch.arange(6)).sum(0)), lambda: torch.randint(0, 6, (9,)))


class CtLn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c = nn.ConvTranspose3d(2, 3, 3, stride=2, padding=1, output_padding=1)
        self.n, self.p = nn.LayerNorm(8), nn.AvgPool3d(2)
        self.s = nn.Parameter(torch.tensor(1.0))

    def forward(self, x: Tensor) -> Tensor:
        return F.gelu(self.p(self.n(self.c(x) + self.s)))


class GnScale(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c, self.n, self.s = nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4), nn.Parameter(torch.randn(4, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.clamp(F.max_pool2d(self.n(self.c(x)) * self.s, 2), 0.0, 1.0)


class CtBn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c, self.n = nn.ConvTranspose3d(2, 3, 3, stride=2, padding=1), nn.BatchNorm3d(3)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.n(self.c(x))
        return y - torch.mean(y, dim=(2, 3, 4), keepdim=True)


class ActBn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c, self.n = nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4)

    def forward(self, x: Tensor) -> Tensor:
        y = self.c(x)
        found: Tensor = self.n(torch.multiply(torch.tanh(F.softplus(y)), y))
        return found


class Inception(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(3, 2, 1), nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([self.a(x), self.b(x), self.c(F.max_pool2d(x, 3, 1, 1))], 1)


class DenseCat(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 2, 3, padding=1), nn.Conv2d(5, 2, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        x = torch.cat([x, torch.relu(self.a(x))], 1)
        return torch.cat([x, torch.relu(self.b(x))], 1)


class Patch(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.c, self.cls, self.pos = (
            nn.Conv2d(3, 6, 4, 4),
            nn.Parameter(torch.randn(1, 1, 6)),
            nn.Parameter(torch.randn(1, 5, 6)),
        )

    def forward(self, x: Tensor) -> Tensor:
        y = self.c(x).flatten(2).transpose(1, 2)
        return torch.cat([self.cls.expand(x.shape[0], -1, -1), y], 1) + self.pos


class ConvRelu(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.bias = nn.Parameter(torch.randn(4, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.conv(x)) + self.bias


class SE(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 2), nn.Linear(2, 4)

    def forward(self, x: Tensor) -> Tensor:
        y = torch.sigmoid(self.b(torch.relu(self.a(x.mean((2, 3))))))
        return x * y[:, :, None, None]


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 3, 3, padding=1), nn.Conv2d(3, 3, 3, padding=1)
        self.n, self.m = nn.BatchNorm2d(3), nn.BatchNorm2d(3)

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.m(self.b(torch.relu(self.n(self.a(x))))) + x)


def run(one: Case) -> Lowering:
    """Trace and lower one case."""
    name, make, inputs = one
    args = inputs()
    traced = trace(make(), args, name)
    return lower(traced, data=[data_of(traced, args)])


def row(name: str, found: Lowering, seconds: float) -> str:
    """Return a line of the table."""
    head = f"{name:30}{seconds:6.1f}s  "
    if not found.candidates:
        reasons = [f"{item.operation}: {item.reason}" for item in found.unsupported]
        return f"{head}NO  {'; '.join(reasons + found.rejected)[:200]}"
    best = found.candidates[0]
    costs, degree = best.metrics, best.metrics.streaming_degree or 0.0
    numbers = f"{best.operators:3} operators, degree {degree:.2f}, on-chip {costs.on_chip.value}"
    text = f"{head}ok  {numbers}, traffic {costs.off_chip.value}; {found.tried} plans; {best.layout}"
    return text + (f"  REJECTED {found.rejected[0][:150]}" if found.rejected else "")


def show(candidate: VerifiedProgram) -> None:
    """Print a program with what the host does around it."""
    print(candidate.task.source.text)
    for port, layout in zip(candidate.emitted.spec.inputs, candidate.emitted.inputs, strict=True):
        print("   ", port.name, "<-", layout.text())
    for result, together in zip(candidate.emitted.spec.outputs or (), candidate.emitted.outputs, strict=True):
        print("   ", result.name, "->", together.text())


def main(arguments: list[str]) -> None:
    """Print the table for the cases whose names hold one of ``arguments``, for all without any."""
    names = [argument for argument in arguments if not argument.startswith("--")]
    chosen = [one for one in CASES if not names or any(part in one[0] for part in names)]
    good = 0
    for one in chosen:
        start = time.perf_counter()
        found = run(one)
        print(row(one[0], found, time.perf_counter() - start), flush=True)
        good += bool(found.candidates)
        if "--show" in arguments and found.candidates:
            show(found.candidates[0])
    print(f"{good} of {len(chosen)}")


if __name__ == "__main__":
    main(sys.argv[1:])
