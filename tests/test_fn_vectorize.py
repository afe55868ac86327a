"""Bodies on a whole batch at once give what the same text gives, executed by Python for each position by itself."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch

from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.sim.fnvec import CompiledFn, EvaluationLimits, FnEnv, FnRuntimeError, LazyProduct, evaluate_block
from stepcore.sizes.dim import Dim
from stepcore.text.span import Embedded
from stepcore.types import Buffer, Element, Scalar, STuple

SIZES = {"M": 5, "N": 3, "K": 4, "D": 6}
PRELUDE = """
gelu = torch.nn.GELU()
soft = torch.nn.Softmax(dim=-1)
norm = torch.nn.LayerNorm(6)
lin = torch.nn.Linear(6, 4)
net = torch.nn.Sequential(torch.nn.Linear(6, 6), torch.nn.ReLU())
depth = 3
E_value = 3
ctx[E] = E_value
table = [0, 2, 1]
def scaled(x, factor=2.0):
    return x * factor
def clipped(x):
    if x.sum() > 0:
        return x * 2
    return x - 1
half = lambda x: x / 2
"""


@dataclass(frozen=True)
class Case:
    """A body, the shapes of its input components and of what it returns, and whether it runs on a tape."""

    body: str
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    vectorized: bool = True
    dtype: torch.dtype = torch.float32
    marks: Any = field(default=(), compare=False)


V, W2, S, MAT, MAT2 = (6,), (4,), (), (4, 6), (6, 4)


def one(body: str, inputs: Sequence[tuple[int, ...]], output: tuple[int, ...], **more: Any) -> Case:
    """A case with one output whose body is an expression."""
    text = body if "return" in body else f"return [{body}]"
    return Case(textwrap.dedent(text).strip() + "\n", tuple(inputs), (output,), **more)


CASES = [
    # pointwise
    one("input[0] + input[1]", [V, V], V),
    one("input[0] * input[1]", [V, S], V),
    one("input[1] - input[0]", [V, S], V),
    one("input[0] * input[1]", [MAT, V], MAT),
    one("input[1] / (input[0].abs() + 1.0)", [MAT, S], MAT),
    one("input[0] * input_data['g']", [V], V),
    one("input[0] * input_data['g']", [S], V),
    one("2.0 ** input[0]", [V], V),
    one("input[0] ** 2 + 3", [V], V),
    one("-input[0] % 0.7", [V], V),
    one("input[0] // 0.3", [V], V),
    one("torch.exp(input[0]).clamp(0.5, 2.0)", [V], V),
    one("torch.clamp(input[0], min=input[1])", [V, S], V),
    one("torch.maximum(input[0], input[1])", [V, S], V),
    one("torch.max(input[0], input[1])", [V, V], V),
    one("torch.where(input[0] > input[1], input[0], input[1])", [V, S], V),
    one("torch.where(input[0] > 0, 1.0, 0.0)", [V], V),
    one("torch.lerp(input[0], input[1], 0.3)", [V, V], V),
    one("torch.add(input[0], input[1], alpha=2)", [V, S], V),
    one("input[0].masked_fill(input[0] > 0, 0.0)", [V], V),
    one("torch.nn.functional.gelu(input[0])", [V], V),
    one("torch.nn.functional.silu(input[0]) * torch.sigmoid(input[0])", [V], V),
    one("torch.nn.functional.leaky_relu(input[0], negative_slope=0.1)", [V], V),
    one("gelu(input[0])", [S], S),
    one("soft(input[0])", [MAT], MAT),
    one("norm(input[0])", [MAT], MAT),
    one("lin(input[0])", [V], W2),
    one("net(input[0])", [V], V),
    one("scaled(input[0], factor=3.0) + half(input[0])", [V], V),
    one("(input[0] > 0).float()", [V], V),
    one("(input[0] > 0).to(input[0].dtype)", [V], V),
    one("((input[0] > 0) & (input[1] > 0)).float()", [V, V], V),
    one("(~(input[0] > 0)).float()", [V], V),
    one("torch.atan2(input[0], input[1])", [V, V], V),
    one("torch.nan_to_num(input[0] / 0.0, posinf=1.0, neginf=-1.0)", [V], V),
    one("torch.ops.aten.add.Tensor(input[0], input[1])", [V, V], V),
    one("torch.ops.aten.relu.default(input[0])", [V], V),
    one("torch.ops.aten.mm.default(input[0], input[1])", [MAT, MAT2], (4, 4)),
    one("input[0].mul(input[1]).sub(1).neg()", [V, S], V),
    one("torch.addcmul(input[0], input[1], input[2], value=0.5)", [V, V, S], V),
    # reductions
    one("input[0].sum()", [V], S),
    one("input[0].sum()", [MAT], S),
    one("input[0].sum()", [S], S),
    one("input[0].sum(0)", [MAT], V),
    one("input[0].sum(dim=-1)", [MAT], W2),
    one("input[0].sum(dim=1, keepdim=True)", [MAT], (4, 1)),
    one("input[0].sum((0, 1))", [MAT], S),
    one("torch.sum(input[0] * input[1])", [V, V], S),
    one("torch.sum(input[0] * input[1], dim=-1)", [MAT, V], W2),
    one("(input[0] * input_data['g']).sum()", [V], S),
    one("input[0].mean() + input[0].var() + input[0].std(unbiased=False)", [V], S),
    one("input[0].prod()", [MAT], S),
    one("input[0].amax(dim=0)", [MAT], V),
    one("input[0].max()", [MAT], S),
    one("input[0].max(dim=1).values", [MAT], W2),
    one("input[0].min(1)[0]", [MAT], W2),
    one("input[0].argmax().float()", [MAT], S),
    one("torch.argmin(input[0], dim=0).float()", [MAT], V),
    one("torch.logsumexp(input[0], dim=-1)", [MAT], W2),
    one("torch.norm(input[0])", [MAT], S),
    one("input[0].norm(dim=-1)", [MAT], W2),
    one("torch.linalg.norm(input[0])", [V], S),
    one("torch.linalg.vector_norm(input[0], dim=0)", [MAT], V),
    one("(input[0] > 0).all().float() + (input[0] > 0).any().float()", [V], S),
    one("input[0].median()", [V], S),
    one("torch.count_nonzero(input[0] > 0).float()", [MAT], S),
    # along one dimension
    one("torch.softmax(input[0], dim=-1)", [V], V),
    one("torch.softmax(input[0], 0)", [MAT], MAT),
    one("torch.nn.functional.softmax(input[0], dim=1)", [MAT], MAT),
    one("torch.nn.functional.log_softmax(input[0], -1)", [V], V),
    one("input[0].cumsum(0)", [MAT], MAT),
    one("torch.sort(input[0], descending=True).values", [V], V),
    one("input[0].sort(dim=0)[0]", [MAT], MAT),
    one("input[0].argsort(dim=-1).float()", [MAT], MAT),
    one("torch.topk(input[0], 2).values", [V], (2,)),
    one("torch.topk(input[0], depth, dim=0)[0]", [MAT], (3, 6)),
    one("input[0].topk(2, largest=False).indices.float()", [V], (2,)),
    one("torch.nn.functional.normalize(input[0], dim=0)", [V], V),
    one("torch.nn.functional.layer_norm(input[0], (6,), input_data['g'], None, 1e-5)", [MAT], MAT),
    one("torch.nn.functional.cosine_similarity(input[0], input[1], dim=0)", [V, V], S),
    one("torch.cummax(input[0], 0).values", [V], V),
    # views
    one("input[0].T", [MAT], MAT2),
    one("input[0].mT.contiguous()", [MAT], MAT2),
    one("torch.transpose(input[0], 0, 1)", [MAT], MAT2),
    one("input[0].permute(1, 0)", [MAT], MAT2),
    one("input[0].unsqueeze(0)", [V], (1, 6)),
    one("input[0].unsqueeze(-1) * input[1]", [V, W2], (6, 4)),
    one("input[0][:, None] + input[0][None, :]", [V], (6, 6)),
    one("input[0].reshape(2, 3).sum(0)", [V], (3,)),
    one("input[0].view(-1)", [MAT], (24,)),
    one("input[0].flatten()", [MAT], (24,)),
    one("input[0].unsqueeze(0).squeeze(0)", [V], V),
    one("input[0].expand(4, 6)", [V], MAT),
    one("input[0].repeat(2)", [V], (12,)),
    one("input[0].repeat(2, 1)", [V], (2, 6)),
    one("input[0].repeat_interleave(2)", [V], (12,)),
    one("torch.flip(input[0], [0])", [V], V),
    one("torch.roll(input[0], 1, 0)", [MAT], MAT),
    one("torch.roll(input[0], 2)", [MAT], MAT),
    one("torch.tril(input[0])", [MAT], MAT),
    one("torch.diagonal(input[0])", [MAT], W2),
    one("torch.diag(input[0])", [W2], (4, 4)),
    one("torch.nn.functional.pad(input[0], (1, 2))", [V], (9,)),
    one("input[0].movedim(0, 1)", [MAT], MAT2),
    one("torch.diff(input[0])", [V], (5,)),
    # indexing
    one("input[0][0]", [V], S),
    one("input[0][-1]", [MAT], V),
    one("input[0][1:4]", [V], (3,)),
    one("input[0][::2] * input[0][1::2]", [V], (3,)),
    one("input[0][..., 0]", [MAT], W2),
    one("input[0][1:3, :-1]", [MAT], (2, 5)),
    one("input[0][:, [0, 2, 1]]", [MAT], (4, 3)),
    one("input[0][table]", [MAT], (3, 6)),
    one("input[0][torch.tensor([3, 0])]", [MAT], (2, 6)),
    one("input[0][input[0].argmax()]", [V], S),
    one("input[0][input[1].argmax()]", [MAT, W2], V),
    one("input[0][:, input[1].argmin()]", [MAT, V], W2),
    one("input[0][torch.topk(input[1], 2).indices]", [MAT, W2], (2, 6)),
    one("input_data['w'][input[0].argmax()]", [V], V),
    one("input_data['w'][:, input[0].argsort()]", [V], (6, 6)),
    one("torch.gather(input[0], 0, input[0].argsort())", [V], V),
    one("input[0].gather(1, input[1].argsort(dim=1))", [MAT, MAT], MAT),
    one("torch.index_select(input[0], 0, torch.tensor([1, 1, 3]))", [MAT], (3, 6)),
    one("torch.index_select(input[0], 1, torch.topk(input[1], 2).indices)", [MAT, V], (4, 2)),
    one("torch.take_along_dim(input[0], input[0].argsort(1), 1)", [MAT], MAT),
    # joining
    one("torch.stack([input[0], input[1]])", [V, V], (2, 6)),
    one("torch.stack([input[0], input[1]], dim=-1).flatten()", [V, V], (12,)),
    one("torch.stack([input[0].sum(), input[1]])", [V, S], (2,)),
    one("torch.cat([-input[0][3:], input[0][:3]])", [V], V),
    one("torch.cat([input[0], input_data['w'][:2]], dim=0)", [MAT], (6, 6)),
    one("torch.cat((input[0], input[1]), dim=1)", [MAT, MAT], (4, 12)),
    one("torch.hstack([input[0], input[1]])", [V, W2], (10,)),
    one("a, b = input[0].chunk(2)\nreturn [torch.cat([b, a])]", [V], V),
    one("a, b, c = torch.split(input[0], 2)\nreturn [a + b * c]", [V], (2,)),
    one("sum(row * i for i, row in enumerate(input[0]))", [MAT], V),
    one("torch.stack([row.max() for row in input[0].unbind(0)])", [MAT], W2),
    one("torch.tensor([1.0, 2.0, 3.0])[:2] * input[0][:2]", [V], (2,)),
    # products of matrices
    one("torch.dot(input[0], input[1])", [V, V], S),
    one("input[0] @ input[1]", [V, V], S),
    one("input[0] @ input_data['w']", [V], V),
    one("input_data['w'] @ input[0]", [V], V),
    one("torch.matmul(input[0], input[1])", [V, MAT2], W2),
    one("torch.mv(input[0], input[1])", [MAT, V], W2),
    one("input[0] @ input[1]", [MAT, MAT2], (4, 4)),
    one("input[0] @ input_data['w']", [MAT], MAT),
    one("input_data['w'] @ input[0]", [MAT2], MAT2),
    one("torch.outer(input[0], input[1])", [V, W2], (6, 4)),
    one("torch.einsum('i,j->ij', input[0], input[1])", [V, W2], (6, 4)),
    one("torch.einsum('ij,jk->k', input[0], input[1])", [MAT, MAT2], W2),
    one("torch.einsum('ij,j->i', input_data['w'], input[0])", [V], V),
    one("torch.nn.functional.linear(input[0], input_data['w'], input_data['g'])", [V], V),
    one("torch.addmm(input[2], input[0], input[1])", [MAT, MAT2, W2], (4, 4)),
    one("torch.trace(input[0] @ input[0].T)", [MAT], S),
    one("torch.linalg.vecdot(input[0], input[1])", [MAT, MAT], W2),
    one("torch.nn.functional.scaled_dot_product_attention(input[0], input[1], input[1])", [MAT, MAT], MAT),
    one("torch.softmax(input[0] @ input[1].T / 6 ** 0.5, dim=-1) @ input[1]", [MAT, MAT], MAT),
    # creation
    one("torch.zeros_like(input[0]) + input[0].new_ones(6)", [V], V),
    one("torch.arange(6, dtype=input[0].dtype) * input[0]", [S], V),
    one("torch.full_like(input[0], 3.0) * input[0]", [V], V),
    one("torch.full((6,), 2.0)", [S], V),
    one("torch.eye(4) * input[0]", [S], (4, 4)),
    one("torch.nn.functional.one_hot(input[0].argmax(), 6).float()", [V], V),
    one("torch.nn.functional.one_hot(torch.topk(input[0], 2).indices, E_value * 2).sum(0).to(torch.float32)", [V], V),
    one("torch.zeros(6).scatter(0, torch.topk(input[0], 2).indices, 1.0)", [V], V),
    one(
        "torch.zeros_like(input[0]).scatter(0, input[0].topk(2).indices, torch.softmax(input[0].topk(2).values, 0))",
        [V],
        V,
    ),
    one("torch.zeros(6).scatter_add(0, input[0].argsort(), input[0])", [V], V),
    one("torch.zeros(4, 6).index_add(0, torch.tensor([0, 2]), input[0][:2])", [MAT], MAT),
    one("input_data[f'w{len(table) - 3}'] + input[0]", [V], V),
    # in place on tensors of the body
    one("x = torch.zeros_like(input[0])\nx.scatter_(0, input[0].topk(2).indices, 1.0)\nreturn [x]", [V], V),
    one("x = torch.zeros(6)\nx[2] = input[0].sum()\nx[3:5] = input[0][:2]\nreturn [x]", [V], V),
    one("x = input[0].clone()\nx += 1\nx *= input[1]\nreturn [x]", [V, S], V),
    one("x = input[0] * 2\nv = x[1:3]\nv += 5\nx.mul_(0.5)\nreturn [x]", [V], V),
    one("x = torch.ones(4, 6)\nx[:, 2] += input[0]\nx.T[0] = 7\nreturn [x]", [W2], MAT),
    one("x = torch.zeros(3)\ny = input[0][:3] + x\nx += 1\nreturn [y + x]", [V], (3,)),
    one("x = input[0].clone()\nx[x > 0] = 0.0\nreturn [x]", [V], V),
    one("x = torch.zeros(6)\nx[input[0].argmax()] = 1.0\nreturn [x]", [V], V),
    one("x = torch.zeros(4, 6)\nx[torch.topk(input[0], 2).indices] = input[1]\nreturn [x]", [W2, V], MAT),
    one("x = torch.arange(6.0)\nx *= 2\nx[0] = 5\nreturn [x * input[0]]", [S], V),
    one("x = input[0] + 0\nx.fill_(2.0)\nx[0] = input[1]\nreturn [x]", [V, S], V),
    one("x = input[0].clone()\nx.add_(input[1]).relu_()\nreturn [x]", [V, V], V),
    one("out = torch.empty(6)\nfor i in range(6):\n    out[i] = input[0][i] * i\nreturn [out]", [V], V),
    # conditions on data
    one("torch.ones_like(input[0]) if input[0] > 0.5 else torch.zeros_like(input[0])", [S], S),
    one("input[0] if input[1] > 0 else -input[0]", [V, S], V),
    one("return [input[0]] if input[0].sum() > 0 else [input[0] * 0]", [V], V),
    one("if input[1] > 0:\n    y = input[0] * 2\nelse:\n    y = input[0] - 1\nreturn [y]", [V, S], V),
    one("if input[1] > 0:\n    return [input[0]]\nreturn [input[0] + 1]", [V, S], V),
    one("y = input[0]\nif input[1] > 0:\n    t = y * 3\n    y = t + 1\nreturn [y]", [V, S], V),
    one(
        "x, s = input\nif s > 0.5:\n    return [x]\nelif s > -0.5:\n    y = x * 2\nelse:\n    y = -x\nreturn [y + 1]",
        [V, S],
        V,
    ),
    one("x = torch.zeros(6)\nif input[1] > 0:\n    x[0] = 1.0\nelse:\n    x += input[0]\nreturn [x]", [V, S], V),
    one("input[0] if input[1] > 0 and input[0].sum() > 0 else -input[0]", [V, S], V),
    one("input[0] if not input[1] > 0 or 0 < input[0].sum() < 2 else -input[0]", [V, S], V),
    one("clipped(input[0])", [V], V),
    one("max(input[0], input[1]) - min(input[0], input[1])", [S, S], S),
    one("input[0] * (1.0 if input[1] > 0 else -1.0)", [V, S], V),
    one("input[0].log() if input[0] > 0 else input[0]", [S], S),
    one("input[0] / input[1] if input[1] != 0 else input[0]", [S, S], S),
    # control that depends on nothing
    one("x = input[0]\nfor i in range(depth):\n    if i == 1:\n        continue\n    x = x + i\nreturn [x]", [V], V),
    one("x = input[0]\nfor w in [1.0, 2.0, 3.0]:\n    if w > 2:\n        break\n    x = x * w\nreturn [x]", [V], V),
    one("parts = []\nfor i in range(2):\n    parts.append(input[0][i])\nreturn [torch.stack(parts)]", [V], (2,)),
    one("f = lambda a, b=2: a * b\nreturn [f(input[0]) + f(input[0], b=1)]", [V], V),
    one(
        "y = 1\nf = lambda: y\nr = f()\nif input[0].sum() > 0:\n  y = 2\n  r = f()\nreturn [input[0] * r * f()]", [V], V
    ),
    one(
        "f = lambda: y\nif input[0].sum() > 0:\n  y = 2\n  return [input[0] * f()]\ny = 3\nreturn [input[0] * f()]",
        [V],
        V,
    ),
    one("xs = [input[0], input[0] * 1]\nreturn [input[0] * xs.index(xs[1])]", [S], S, vectorized=False),
    one("xs = [input[0], input[0] * 1]\nreturn [input[0] * xs.count(xs[1])]", [S], S, vectorized=False),
    one("c = 1.0 in [input[0] * 0 + 1]\nreturn [input[0] * (2 if c else 3)]", [S], S, vectorized=False),
    one("xs = [input[0], input[0] * 2]\nxs.remove(xs[0] * 2)\nreturn [xs[0]]", [S], S, vectorized=False),
    one("xs = [3, 1, 2]\nys = xs\nys.remove(1)\nreturn [input[0] * xs[1]]", [V], V),
    one("xs = [3, 1]\nys = xs\nys.clear()\nreturn [input[0] * len(xs)]", [V], V),
    one("def g(a):\n    return a + 1, a - 1\nu, v = g(input[0])\nreturn [u * v]", [V], V),
    # A tensor of another dtype, and no question for the one that it has, which all positions share.
    one("return [input[0].type(torch.int32) + 0.5]", [V], V),
    one("return [input[0].type(torch.float32).type_as(input[0])]", [V], V),
    one("v, i = input[0].sort(descending=True)\nreturn [v + i]", [V], V),
    one("return [input[0].sort()[0]]", [V], V),
    one("x, *rest = input\nreturn [x + rest[0] * rest[1]]", [V, V, S], V),
    one("d = {'a': input[0]}\nreturn [d['a'] + d['a'].shape[0]]", [V], V),
    one("(y := input[0] * 2) + y", [V], V),
    one("input[0].view(*[2, 3]).sum(0)", [V], (3,)),
    one("input[0] * math.sqrt(D_value) + ctx[D]", [V], V),
    one("input[0] * torch.pi + math.inf * 0.0 if False else input[0]", [V], V),
    # windows
    one("torch.nn.functional.unfold(input[0].reshape(1, 2, 4, 3), (2, 3), padding=(1, 0))", [(8, 3)], (1, 12, 5)),
    one("torch.nn.functional.unfold(input[0], 2, stride=2)", [(2, 4, 6)], (8, 6)),
    one("torch.nn.functional.fold(input[0], (4, 3), 2)", [(8, 6)], (2, 4, 3)),
    one("torch.nn.functional.fold(input[0].reshape(2, 4, 6), (4, 3), 2)", [(8, 6)], (2, 1, 4, 3)),
    one("torch.nn.functional.max_pool2d(input[0], 2, padding=1)", [(3, 4, 6)], (3, 3, 4)),
    one("torch.nn.functional.max_pool2d(input[0].reshape(3, 1, 4, 6), (2, 3))", [(3, 4, 6)], (3, 1, 2, 2)),
    one("torch.nn.functional.avg_pool1d(input[0], 3, 2, 1, count_include_pad=False)", [(2, 7)], (2, 4)),
    one("torch.nn.functional.adaptive_avg_pool2d(input[0], 2)", [(3, 4, 6)], (3, 2, 2)),
    one("torch.nn.functional.conv1d(input[0], torch.ones(3, 2, 2), stride=2)", [(2, 6)], (3, 3)),
    one("torch.nn.functional.conv2d(input[0][None], torch.ones(1, 2, 2, 2))", [(2, 4, 6)], (1, 1, 3, 5)),
    one(
        "return [torch.nn.functional.max_pool1d(input[0], 2, return_indices=True)[0]]",
        [(2, 6)],
        (2, 3),
        vectorized=False,
    ),
    one("torch.nn.functional.conv1d(input[0], input[1])", [(2, 6), (3, 2, 2)], (3, 5), vectorized=False),
    one("input[0].unfold(1, 2, 2)", [(2, 6)], (2, 3, 2), vectorized=False),
    # no batched form: position by position
    one("torch.tensor(float(input[0]) * 2)", [S], S, vectorized=False),
    one("input[0] * input[0].max().item()", [V], V, vectorized=False),
    one(
        "x = input[0]\nfor _ in range(int(input[1].abs() * 3)):\n    x = x + 1\nreturn [x]", [V, S], V, vectorized=False
    ),
    one("input[0][input[0] > 0].sum()", [V], S, vectorized=False),
    one("torch.nn.functional.mse_loss(input[0], input[1])", [V, V], S, vectorized=False),
    one("input[0] if bool((input[0] > 0).all()) else input[0] * 2", [V], V, vectorized=False),
    one("torch.linalg.inv(input[0] @ input[0].T + torch.eye(4))", [MAT], (4, 4), vectorized=False),
    one("math.exp(input[0]) * torch.ones(())", [S], S, vectorized=False),
    # several components
    Case("return [input[1], input[0]]\n", (V, S), (S, V)),
    Case("v, i = input[0].topk(2)\nreturn [v, i.float()]\n", (V,), ((2,), (2,))),
    Case("return [input[0], torch.ones(3)]\n", (V,), (V, (3,))),
    Case("return [input[0], -input[0]] if input[0].sum() > 0 else [input[0] * 2, input[0]]\n", (V,), (V, V)),
]

LEADS = [
    ((3, 4), (3, 4), (3, 4)),
    ((3, 4), (3, 1), (1, 4)),
    ((1, 4), (3, 1), (3, 4)),
    ((3, 1), (3, 1), (3, 1)),
    ((1, 1), (3, 4), (1, 1)),
]


def element(shape: tuple[int, ...]) -> Element:
    return Buffer(Scalar("fp32"), [Dim.of(n) for n in reversed(shape)]) if shape else Scalar("fp32")


def elements(shapes: Sequence[tuple[int, ...]]) -> Element:
    items = [element(shape) for shape in shapes]
    return items[0] if len(items) == 1 else STuple(items)  # type: ignore[arg-type]


def block(text: str, *arguments: str) -> CodeBlock:
    return CodeBlock(Embedded.whole(text), arguments)


def environment(dtype: torch.dtype = torch.float32, **more: Any) -> FnEnv:
    torch.manual_seed(1)
    modules = (("torch", "torch"), ("math", "math"))
    scope = FnScope(prelude=block(PRELUDE), parameters=("w", "w0", "g"), modules=modules)
    env = FnEnv(scope, SIZES, **more)
    env.add_tensors({"w": torch.randn(6, 6), "w0": torch.randn(6), "g": torch.randn(6)})
    return env if dtype == torch.float32 else env.astype(dtype)


def function(
    body: str, inputs: Sequence[tuple[int, ...]], outputs: Sequence[tuple[int, ...]], init: Any = None
) -> FnDecl:
    arguments = ("input",) if init is None else ("state", "input")
    return FnDecl("fn_x", "X", elements(inputs), elements(outputs), block(body, *arguments), init)


def by_python(env: FnEnv, decl: FnDecl) -> Any:
    """The body as a Python function; only texts of this file ever come here."""

    names: dict[str, Any] = {"torch": torch, "math": math, "input_data": env.input_data}
    names |= {f"{n}_value": v for n, v in env.bindings.items()} | {n: n for n in env.bindings}
    names |= {k: v for k, v in env.globals.items() if isinstance(v, torch.nn.Module)}
    names["ctx"] = dict(env.bindings)
    helpers = "\n".join(line for line in PRELUDE.splitlines() if "torch.nn" not in line and not line.startswith("ctx"))
    exec(helpers, names)
    exec(f"def body({', '.join(decl.body.arguments)}):\n" + textwrap.indent(decl.body.source.text, "    "), names)
    return names["body"]


def literal(env: FnEnv, decl: FnDecl, groups: Sequence[Sequence[torch.Tensor]], batch: int) -> list[torch.Tensor]:
    """Apply the body at every position of the broadcast batch."""
    run = by_python(env, decl)
    shapes = [t.shape[:batch] for group in groups for t in group]
    lead = tuple(max(sizes) for sizes in zip(*shapes, strict=True))
    results = []
    for position in itertools.product(*map(range, lead)):
        picked = [
            [t[tuple(0 if t.shape[i] == 1 else p for i, p in enumerate(position))] for t in group] for group in groups
        ]
        results.append(run(*picked))
    return [torch.stack(list(c)).reshape((*lead, *c[0].shape)) for c in zip(*results, strict=True)]


def same(found: torch.Tensor, expected: torch.Tensor, batch: int) -> None:
    assert found.dim() == expected.dim()
    lead = found.shape[:batch]
    assert all(a in (1, b) for a, b in zip(lead, expected.shape, strict=False))
    torch.testing.assert_close(found.expand(expected.shape), expected, equal_nan=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.body.strip().replace("\n", "; ")[:60])
def test_body_on_a_batch_equals_python_per_position(case: Case) -> None:
    env = environment()
    decl = function(case.body, case.inputs, case.outputs)
    compiled = CompiledFn(decl, env)
    for index, leads in enumerate(LEADS):
        torch.manual_seed(10 + index)
        args = [torch.randn(*lead, *shape) for lead, shape in zip(leads, case.inputs, strict=False)]
        before = [a.clone() for a in args]
        with torch.inference_mode():
            first = compiled.call((args,), 2)  # records
            again = compiled.call((args,), 2)  # replays
        expected = literal(env, decl, (args,), 2)
        for a, b, c in zip(first, again, expected, strict=True):
            same(a, c, 2)
            same(b, c, 2)
        for a, b in zip(args, before, strict=True):
            assert torch.equal(a, b), "arguments must not change"
    assert compiled.vectorized == {2: case.vectorized}


@pytest.mark.parametrize("case", CASES[::3], ids=lambda case: case.body.strip().replace("\n", "; ")[:60])
def test_body_without_batch_with_other_counts_and_in_double_precision(case: Case) -> None:
    env = environment(torch.float64)
    decl = function(case.body, case.inputs, case.outputs)
    compiled = CompiledFn(decl, env)
    for batch in (0, 1, 3):
        lead = (2, 3, 2)[:batch]
        args = [torch.randn((*lead, *shape), dtype=torch.float64) for shape in case.inputs]
        torch.set_default_dtype(torch.float64)
        try:
            if "torch.float32" in case.body or ".float()" in case.body or "float(" in case.body:
                continue  # explicit fp32 follows the environment, which Python by itself does not do
            expected = literal(env, decl, (args,), batch)
        finally:
            torch.set_default_dtype(torch.float32)
        for found, wanted in zip(compiled.call((args,), batch), expected, strict=True):
            same(found, wanted, batch)


def test_explicit_fp32_follows_the_precision_of_the_environment() -> None:
    decl = function("return [(input[0] > 0).float() * torch.ones(6, dtype=torch.float32)]\n", [V], [V])
    x = torch.randn(3, 6, dtype=torch.float64)
    (found,) = CompiledFn(decl, environment(torch.float64)).call(([x],), 1)
    assert found.dtype == torch.float64
    assert torch.equal(found, (x > 0).double())


def test_compressed_dimensions_stay_compressed() -> None:
    decl = function("return [torch.softmax(input[0] @ input_data['w'], -1), input[1] * 2]\n", [V, S], [V, S])
    first, second = CompiledFn(decl, environment()).call(([torch.randn(7, 1, 6), torch.randn(1, 4)],), 2)
    assert (first.shape, second.shape) == ((7, 1, 6), (1, 4))


def test_an_empty_batch_gives_empty_results() -> None:
    decl = function("return [input[0] @ input_data['w'], input[0].sum()]\n", [V], [V, S])
    compiled = CompiledFn(decl, environment())
    first, second = compiled.call(([torch.randn(0, 3, 6)],), 2)
    assert (first.shape, second.shape) == ((0, 3, 6), (0, 3))
    (after, _) = compiled.call(([torch.randn(2, 3, 6)],), 2)
    assert after.shape == (2, 3, 6)
    assert compiled.call(([torch.randn(0, 3, 6)],), 2)[0].shape == (0, 3, 6)


@pytest.mark.parametrize(
    ("body", "inputs"),
    [
        ("return [torch.dot(input[0], input[1])]\n", [(64,), (64,)]),
        ("return [(input[0] * input[1]).sum()]\n", [(64,), (64,)]),
        ("return [torch.einsum('i,i->', input[0], input[1])]\n", [(64,), (64,)]),
        ("return [(input[0] @ input[1]).sum()]\n", [(64,), (64, 4)]),
    ],
)
def test_large_products_are_contracted_without_building_them(body: str, inputs: list[tuple[int, ...]]) -> None:
    decl = function(body, inputs, [S])
    compiled = CompiledFn(decl, environment())
    a, b = torch.randn(200, 1, *inputs[0]), torch.randn(1, 300, *inputs[1])
    compiled.call(([a, b],), 2)
    with torch.profiler.profile(profile_memory=True) as profile:
        (found,) = compiled.call(([a, b],), 2)
    largest = max(abs(event.self_cpu_memory_usage) for event in profile.key_averages())
    assert largest < 200 * 300 * 4 * 16  # the product itself takes 64 numbers a position
    right = b if len(inputs[1]) == 1 else b.sum(-1)
    torch.testing.assert_close(found, torch.einsum("nik,jmk->nm", a, right), rtol=1e-4, atol=1e-3)


# Folds ----------------------------------------------------------------------------------------------------------

REDUCTIONS = [
    ("return [state[0] + input[0]]\n", [V], [V], (0.0,), ("sum",)),
    ("return [input[0] + state[0]]\n", [V], [V], (-1.0,), ("sum",)),
    ("return [state[0] + input[0] * input[1]]\n", [V, S], [V], (0.0,), ("sum",)),
    ("return [state[0] + torch.outer(input[0], input[1])]\n", [V, W2], [(6, 4)], (0.0,), ("sum",)),
    ("return [torch.add(state[0], input[0] @ input_data['w'])]\n", [V], [V], (1.0,), ("sum",)),
    ("return [state[0] + torch.dot(input[0], input[1])]\n", [V, V], [S], (0.0,), ("sum",)),
    ("return [state[0] - input[0] ** 2]\n", [S], [S], (0.0,), ("difference",)),
    ("return [torch.maximum(state[0], input[0])]\n", [V], [V], (-math.inf,), ("max",)),
    ("return [state[0].maximum(input[0]), state[1] + 1.0 * input[0]]\n", [S], [S, S], (-math.inf, 0.0), ("max", "sum")),
    ("return [torch.min(state[0], input[0])]\n", [V], [V], (1.0,), ("min",)),
    ("return [state[0] * input[0]]\n", [S], [S], (1.0,), ("prod",)),
    ("a = input[0] * 2\nreturn [state[0] + a.exp()]\n", [V], [V], (0.0,), ("sum",)),
    ("return [state[0] + input[0]]\n", [S], [V], (0.0,), ("sum",)),
]
NOT_REDUCTIONS = [
    ("return [state[0] * 0.5 + input[0]]\n", [S], [S]),
    ("return [state[0] + input[0] * state[0]]\n", [S], [S]),
    ("return [input[0]]\n", [S], [S]),
    ("return [input[0] - state[0]]\n", [S], [S]),
    ("return [state[0] + input[0] if input[0] > 0 else state[0]]\n", [S], [S]),
    ("return [torch.add(state[0], input[0], alpha=2)]\n", [S], [S]),
    ("return [state[1] + input[0], state[0] + input[0]]\n", [S], [S, S]),
    ("return [state[0] + float(input[0])]\n", [S], [S]),
    ("return [state[0] + 1.0]\n", [S], [S]),
]


@pytest.mark.parametrize(("body", "inputs", "outputs", "init", "kinds"), REDUCTIONS)
@pytest.mark.parametrize("leads", [((3, 4), (3, 4)), ((3, 1), (1, 4)), ((1, 4), (3, 4)), ((3, 1), (3, 1))])
def test_reductions_fold_like_python(
    body: str, inputs: Any, outputs: Any, init: Any, kinds: tuple[str, ...], leads: Any
) -> None:
    env = environment()
    decl = function(body, inputs, outputs, init)
    compiled = CompiledFn(decl, env)
    reduction = compiled.reduction
    assert reduction is not None
    assert reduction.kinds == kinds
    args = [torch.randn(*lead, *shape) for lead, shape in zip(leads, inputs, strict=False)]
    found = compiled.reduce_call(args, 2, [1], [4])
    run = by_python(env, decl)
    for position in range(3):
        state = [t.clone() for t in compiled.init()]
        for step in range(4):
            state = run(state, [t[min(position, t.shape[0] - 1), min(step, t.shape[1] - 1)] for t in args])
        for component, expected in zip(found, state, strict=True):
            row = component[min(position, component.shape[0] - 1)]
            torch.testing.assert_close(row, expected, rtol=1e-4, atol=1e-5)
    each = reduction.pre(args, 2)
    assert [t.shape[2:] for t in each] == [torch.Size(shape) for shape in outputs]


@pytest.mark.parametrize(("body", "inputs", "outputs"), NOT_REDUCTIONS)
def test_what_is_no_reduction_is_not_taken_for_one(body: str, inputs: Any, outputs: Any) -> None:
    assert CompiledFn(function(body, inputs, outputs, (0.0,) * len(outputs)), environment()).reduction is None


def test_folding_nothing_gives_init() -> None:
    decl = function("return [torch.maximum(state[0], input[0])]\n", [V], [V], (-math.inf,))
    (found,) = CompiledFn(decl, environment()).reduce_call([torch.randn(3, 0, 6)], 2, [1], [0])
    assert torch.equal(found.expand(3, 6), torch.full((3, 6), -math.inf))


def test_a_large_fold_of_outer_products_is_one_matrix_product() -> None:
    decl = function("return [state[0] + torch.outer(input[0], input[1])]\n", [(64,), (64,)], [(64, 64)], (0.0,))
    compiled = CompiledFn(decl, environment())
    a, b = torch.randn(3, 500, 64), torch.randn(3, 500, 64)
    compiled.reduce_call([a, b], 2, [1], [500])
    with torch.profiler.profile(profile_memory=True) as profile:
        (found,) = compiled.reduce_call([a, b], 2, [1], [500])
    assert max(abs(e.self_cpu_memory_usage) for e in profile.key_averages()) < 3 * 500 * 64 * 64
    torch.testing.assert_close(found, torch.einsum("bki,bkj->bij", a, b), rtol=1e-4, atol=1e-3)


def test_lazy_products_sum_without_being_built() -> None:
    env = environment()
    product = CompiledFn(function("return [input[0] * input[1]]\n", [S, V], [V]), env)
    total = CompiledFn(function("return [state[0] + input[0]]\n", [V], [V], (0.0,)), env)
    a, b = torch.randn(40, 1, 50), torch.randn(1, 30, 50, 6)
    (lazy,) = product.lazy(([a, b],), 3)
    assert isinstance(lazy, LazyProduct)
    assert lazy.shape == (40, 30, 50, 6)
    expected = a.unsqueeze(-1) * b
    torch.testing.assert_close(lazy.sum([2]), expected.sum(2), rtol=1e-4, atol=1e-4)
    (folded,) = total.reduce_call([lazy], 3, [2], [50])
    torch.testing.assert_close(folded, expected.sum(2), rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(lazy.materialize(), expected)


# Errors ---------------------------------------------------------------------------------------------------------

FAILURES = [
    ("return [input[0] @ input[0][:3]]\n", "STEP404", "input[0] @ input[0][:3]"),
    ("return [input[0].sum()]\n", "STEP306", "return [input[0].sum()]"),
    ("return [(input[0] > 0)]\n", "STEP306", "return [(input[0] > 0)]"),
    ("return [input[0], input[0]]\n", "STEP305", "return [input[0], input[0]]"),
    ("return input[0]\n", "STEP305", "return input[0]"),
    ("return [0.5]\n", "STEP306", "return [0.5]"),
    ("x = input[0]\n", "STEP307", ""),
    ("return [input[3]]\n", "STEP308", "input[3]"),
    ("return [input[0] * undefined]\n", "STEP303", "undefined"),
    ("return [input_data['Q']]\n", "STEP303", "input_data['Q']"),
    ("input[0].add_(1)\nreturn [input[0]]\n", "STEP310", "input[0].add_(1)"),
    ("x = input[0]\nx += 1\nreturn [x]\n", "STEP310", "x += 1"),
    ("input_data['w'][0] = 1.0\nreturn [input[0]]\n", "STEP310", "input_data['w'][0]"),
    ("input.append(1)\nreturn [input[0]]\n", "STEP310", "input.append(1)"),
    ("input[0] = input[0] * 2\nreturn [input[0]]\n", "STEP310", "input[0]"),
    ("ctx[D] = 3\nreturn [input[0]]\n", "STEP310", "ctx[D]"),
    ("return [torch.rand(6)]\n", "STEP304", "torch.rand(6)"),
    ("return [input[0][input[0].argmax() + 9] * input[0]]\n", "STEP404", "input[0][input[0].argmax() + 9]"),
    ("return [input[0]\n", "STEP301", ""),
]
SECURITY = [
    ("import os\nreturn [input[0]]\n", "STEP302"),
    ("from os import system\nreturn [input[0]]\n", "STEP302"),
    ("x = __import__('os')\nreturn [input[0]]\n", "STEP302"),
    ("open('/etc/passwd')\nreturn [input[0]]\n", "STEP302"),
    ("eval('1')\nreturn [input[0]]\n", "STEP302"),
    ("exec('1')\nreturn [input[0]]\n", "STEP302"),
    ("x = input[0].__class__\nreturn [input[0]]\n", "STEP302"),
    ("x = ().__class__.__bases__\nreturn [input[0]]\n", "STEP302"),
    ("x = getattr(input[0], 'numpy')\nreturn [input[0]]\n", "STEP302"),
    ("x = f'{input[0].__class__}'\nreturn [input[0]]\n", "STEP302"),
    ("x = '{0.__class__}'.format(input[0])\nreturn [input[0]]\n", "STEP304"),
    ("x = torch.load('x')\nreturn [input[0]]\n", "STEP304"),
    ("x = torch.save(input[0], 'x')\nreturn [input[0]]\n", "STEP304"),
    ("x = torch.hub.load('a', 'b')\nreturn [input[0]]\n", "STEP304"),
    ("x = torch.ops.load_library('x')\nreturn [input[0]]\n", "STEP304"),
    ("x = torch.ops.aten.from_file.default('x')\nreturn [input[0]]\n", "STEP304"),
    ("x = input[0].numpy()\nreturn [input[0]]\n", "STEP304"),
    ("x = input[0].apply_(lambda v: v)\nreturn [input[0]]\n", "STEP304"),
    ("x = torch.utils\nreturn [input[0]]\n", "STEP304"),
    ("x = torch.sys\nreturn [input[0]]\n", "STEP304"),
    ("class A: pass\nreturn [input[0]]\n", "STEP302"),
    ("with open('x') as f: pass\nreturn [input[0]]\n", "STEP302"),
    ("try:\n    pass\nexcept: pass\nreturn [input[0]]\n", "STEP302"),
    ("while True: pass\nreturn [input[0]]\n", "STEP302"),
    ("global x\nreturn [input[0]]\n", "STEP302"),
    ("input[0].data = 1\nreturn [input[0]]\n", "STEP302"),
    ("x = torch.zeros(3, **{})\nreturn [input[0]]\n", "STEP302"),
    ("x = torch.add(input[0], 1, out=input[0])\nreturn [input[0]]\n", "STEP304"),
    ("x = globals()\nreturn [input[0]]\n", "STEP302"),
    ("x = torch.from_numpy\nreturn [input[0]]\n", "STEP304"),
    ("print(1)\nreturn [input[0]]\n", "STEP302"),
]
LIMITS = [
    ("x = torch.zeros(10 ** 12)\nreturn [input[0]]\n", "STEP406"),
    ("x = torch.ones(100000, 100000)\nreturn [input[0]]\n", "STEP406"),
    ("x = torch.arange(10 ** 11)\nreturn [input[0]]\n", "STEP406"),
    ("x = input[0].repeat(10 ** 9)\nreturn [input[0]]\n", "STEP406"),
    ("x = input[0].expand(10 ** 9, 6).contiguous()\nreturn [input[0]]\n", "STEP406"),
    ("x = torch.zeros(100000)\ny = x[:, None] * x\nreturn [input[0]]\n", "STEP406"),
    ("x = torch.outer(torch.zeros(90000), torch.zeros(90000))\nreturn [input[0]]\n", "STEP406"),
    ("x = [i for i in range(10 ** 12)]\nreturn [input[0]]\n", "STEP405"),
    ("x = [j for i in range(10 ** 5) for j in range(10 ** 5)]\nreturn [input[0]]\n", "STEP405"),
    ("for i in range(10 ** 6):\n    for j in range(10 ** 6):\n        pass\nreturn [input[0]]\n", "STEP405"),
    ("x = 10 ** (10 ** 9)\nreturn [input[0]]\n", "STEP406"),
    ("x = 1 << 10 ** 10\nreturn [input[0]]\n", "STEP406"),
    ("x = [0] * 10 ** 10\nreturn [input[0]]\n", "STEP405"),
    ("x = 'a' * 10 ** 10\nreturn [input[0]]\n", "STEP405"),
    ("x = f'{1:>1000000000}'\nreturn [input[0]]\n", "STEP302"),
    ("def f(x):\n    return f(x)\nreturn [f(input[0])]\n", "STEP405"),
    ("f = lambda g: g(g)\nreturn [f(f)]\n", "STEP405"),
]


@pytest.mark.parametrize(("body", "code", "place"), FAILURES)
@pytest.mark.parametrize("batch", [0, 2])
def test_failures_have_a_code_and_a_place(body: str, code: str, place: str, batch: int) -> None:
    with pytest.raises(FnRuntimeError) as caught:
        CompiledFn(function(body, [V], [V]), environment()).call(([torch.rand(*(2, 3)[:batch], 6)],), batch)
    assert caught.value.code == code
    assert "\n" not in caught.value.message
    if place:
        assert body[caught.value.span.start : caught.value.span.end] == place


@pytest.mark.parametrize(("body", "code"), SECURITY)
@pytest.mark.parametrize("batch", [0, 1])
def test_what_is_forbidden_does_not_run(body: str, code: str, batch: int) -> None:
    with pytest.raises(FnRuntimeError) as caught:
        CompiledFn(function(body, [V], [V]), environment()).call(([torch.randn(*(2,)[:batch], 6)],), batch)
    assert caught.value.code == code
    assert caught.value.span.end > caught.value.span.start


@pytest.mark.parametrize(("body", "code"), LIMITS)
def test_limits_stop_what_would_hang_or_fill_the_memory(body: str, code: str) -> None:
    env = environment(limits=EvaluationLimits(steps=20_000))
    with pytest.raises(FnRuntimeError) as caught:
        CompiledFn(function(body, [V], [V]), env).call(([torch.randn(2, 6)],), 1)
    assert caught.value.code == code


def test_a_wrong_element_shape_is_refused() -> None:
    compiled = CompiledFn(function("return [input[0] + 1]\n", [V], [V]), environment())
    for _ in range(2):
        with pytest.raises(FnRuntimeError, match="declared"):
            compiled.call(([torch.randn(2, 7)],), 1)
        compiled.call(([torch.randn(2, 6)],), 1)


def test_a_failure_in_a_branch_that_is_not_taken_is_none() -> None:
    body = "return [input[0][9] * input[0]] if input[1] > 100 else [input[0]]\n"
    x = torch.randn(3, 6)
    (found,) = CompiledFn(function(body, [V, S], [V]), environment()).call(([x, torch.randn(3)],), 1)
    assert torch.equal(found, x)


# Environment ------------------------------------------------------------------------------------------------------


def test_prelude_binds_sizes_and_draws_with_the_callers_seed() -> None:
    prelude = "E_value = 3\nctx[E] = E_value\nH = Symbol('H')\nctx[H] = D_value // 2\nnoise = torch.randn(4)\n"
    torch.manual_seed(42)
    env = FnEnv(FnScope(prelude=block(prelude)), SIZES)
    torch.manual_seed(42)
    assert torch.equal(env.globals["noise"], torch.randn(4))
    assert (env.bindings["E"], env.bindings["H"], env.globals["H_value"]) == (3, 3, 3)
    assert env.size(Dim.symbol("H") * 2) == 6
    assert env.astype(torch.float64).globals["noise"].dtype == torch.float64
    assert env.globals["noise"].dtype == torch.float32


@pytest.mark.parametrize(
    "prelude", ["x = torch.load('a')\n", "import os\n", "ctx[E] = 'a'\n", "x = 1 / 0\n", "x = (\n"]
)
def test_a_failing_prelude_has_a_place(prelude: str) -> None:
    with pytest.raises(FnRuntimeError) as caught:
        FnEnv(FnScope(prelude=block(prelude)), SIZES)
    assert caught.value.span.end <= len(prelude)


def test_reference_blocks_share_a_scope_and_the_last_line_is_the_value() -> None:
    env = environment()
    x = torch.randn(2, 6)
    env.add_tensors({"E0": x})
    names: dict[str, Any] = {}
    assert torch.equal(evaluate_block(block("a = input_data['E0'] * 2\nb = a + 1\n"), env, names), x * 2 + 1)
    assert torch.equal(evaluate_block(block("b - a\n"), env, names), (x * 2 + 1) - x * 2)
    assert torch.equal(evaluate_block(block("first, second = a[0], a[1]\n"), env, names)[1], x[1] * 2)
    with pytest.raises(FnRuntimeError):
        evaluate_block(block("input_data['E0'] += 1\n"), env, names)
    with pytest.raises(FnRuntimeError):
        evaluate_block(block("pass\n"), env, names)


def test_new_weights_are_seen_by_functions_that_ran_before() -> None:
    env = environment()
    compiled = CompiledFn(function("return [input[0] * input_data['g']]\n", [V], [V]), env)
    x = torch.randn(2, 6)
    compiled.call(([x],), 1)
    env.add_tensors({"g": torch.ones(6) * 3})
    torch.testing.assert_close(compiled.call(([x],), 1)[0], x * 3)


def test_init_comes_from_constants_or_from_its_body() -> None:
    env = environment()
    assert torch.equal(
        CompiledFn(function("return [state[0]]\n", [V], [V], (-math.inf,)), env).init()[0], torch.full((6,), -math.inf)
    )
    body = block("return [torch.zeros(6) - 1]\n", "self")
    decl = FnDecl(
        "f", "F", element(V), element(V), block("return [state[0] + input[0]]\n", "state", "input"), None, body
    )
    assert torch.equal(CompiledFn(decl, env).init()[0], torch.full((6,), -1.0))
    assert CompiledFn(decl, env).reduction is not None


def test_parameters_may_be_read_by_their_bare_name() -> None:
    scope = FnScope(parameters=("W",), bare_parameters=True)
    env = FnEnv(scope, SIZES, {"W": torch.ones(6, 6)})
    (found,) = CompiledFn(function("return [input[0] @ W]\n", [V], [V]), env).call(([torch.ones(2, 6)],), 1)
    assert torch.equal(found, torch.full((2, 6), 6.0))
