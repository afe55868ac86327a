"""What check passes a run does not refuse: functions whose operands no operation takes, beside those that it takes."""

from __future__ import annotations

from pathlib import Path

import pytest

from job_records import candidates

FILE = """
import torch, stepcore as step
from typing import Annotated
from stepcore.dims import M, N

@step.fn(input={dtype}, output=step.f32)
def own(input):
    x = input[0]
{body}

def reference(E0):
    return torch.zeros(5, 7)

@step.program(reference=reference)
def same(E0: Annotated[step.Stream, {dtype}, (M, N)]) -> Annotated[step.Stream, step.f32, (M, N)]:
    return step.Map(fn=own).apply(E0)
"""
SCALAR, BUFFER, WHOLE = "step.f32", "step.Buffer(step.f32, [4])", "step.i32"


def verdicts(tmp_path: Path, dtype: str, body: str) -> tuple[bool, bool]:
    """Return whether check passes a function, and whether a run of it ends with values."""
    lines = body.split("\n") if "return" in body else [f"return [{body}]"]
    text = FILE.format(dtype=dtype, body="\n".join(f"    {line}" for line in lines))
    file = tmp_path / "own.py"
    file.write_text(text, encoding="utf-8")
    (candidate,) = candidates({"path": str(file), "text": text})
    passed = not candidate.faults and all(each.severity.name != "ERROR" for each in candidate.checked.diagnostics)
    found = candidate.session.decided(candidate.checked).functional  # whatever check says
    return passed, found.ok or found.code in ("STEP401", "STEP402", "STEP403")


REFUSED = [
    (SCALAR, "max(x, 0)"),
    (SCALAR, "min(0.0, x)"),
    (SCALAR, "max(x, 0) * 2"),
    (SCALAR, "x + None"),
    (SCALAR, "x + 'a'"),
    (SCALAR, "x * (1,)"),
    (SCALAR, "x & 1"),
    (SCALAR, "~x"),
    (SCALAR, "x.item()"),
    (SCALAR, "any([x > 0])"),
    (SCALAR, "x * len(x)"),
    (SCALAR, "x.expand(3).max(0)"),
    (SCALAR, "x * max([])"),
    (SCALAR, "torch.stack([])"),
    (SCALAR, "torch.cat(())"),
    (SCALAR, "torch.where(x > 0, 1, 0)"),
    (SCALAR, "torch.where(x, x, 0)"),
    (SCALAR, "torch.where(True, x, 0)"),
    (SCALAR, "torch.clamp(x)"),
    (SCALAR, "torch.maximum(x, 0)"),
    (SCALAR, "torch.div(x, 2, rounding_mode='up')"),
    (SCALAR, "torch.einsum('ij,j->', x.expand(3), x.expand(2))"),
    (SCALAR, "torch.einsum('i,i->', x.expand(3))"),
    (SCALAR, "None"),
    (SCALAR, "x if x > 0 else 0.0"),
    (SCALAR, "y = x if x > 0 else 0\nreturn [y]"),
    (BUFFER, "x.item()"),
    (BUFFER, "x[0.5]"),
    (BUFFER, "x['a']"),
    (BUFFER, "x[::-1].sum()"),
    (BUFFER, "x.unbind(1)[0][0]"),
    (BUFFER, "x.split(2, dim=1)[1].sum()"),
    (BUFFER, "x.gather(1, torch.tensor([0, 2])).sum()"),
    (BUFFER, "x.cumsum()[-1]"),
    (BUFFER, "torch.logsumexp(x)"),
    (BUFFER, "torch.mm(x, x)"),
    (BUFFER, "torch.bmm(x, x)"),
    (BUFFER, "torch.mv(x, x)"),
    (BUFFER, "torch.nn.functional.normalize(x).sum()"),
    (BUFFER, "torch.nn.functional.cosine_similarity(x, x)"),
    (BUFFER, "torch.topk(x, 2)[2].sum()"),
    (BUFFER, "torch.sort(x, 1)[0][0]"),
    (BUFFER, "torch.median(x, 0)"),
    (BUFFER, "torch.kthvalue(x, 2)"),
    (BUFFER, "torch.aminmax(x)"),
    (BUFFER, "torch.stack(x).sum()"),
    (BUFFER, "a, b = x\nreturn [a]"),
    (BUFFER, "a, b = x.shape\nreturn [x.sum() / a]"),
    (BUFFER, "return [x.sum() * x.shape[1]]"),
    (BUFFER, "y = x.clone()\ny[4] = 5\nreturn [y.sum()]"),
    (BUFFER, "y = torch.zeros(1)\ny += x\nreturn [y.sum()]"),
    (BUFFER, "if x > 0:\n    return [x.sum()]\nreturn [x.mean()]"),
    (BUFFER, "x.sum() if x > 0 else x[0]"),
    (BUFFER, "(x.masked_fill(x > 9, torch.finfo(x.dtype).min) @ x[:3]).sum()"),
    (BUFFER, "x[torch.finfo(x.dtype).max]"),
    (SCALAR, "torch.finfo(x.dtype).min"),
    (WHOLE, "torch.relu(x)"),
    (WHOLE, "torch.where(x > 1, x, 0)"),
    (WHOLE, "torch.nn.functional.one_hot(x, 10).float().sum()"),
]
F = "torch.nn.functional."
# Calls that no signature of torch takes: the number of arguments, keywords, kinds; and sizes that do not fit.
MISUSED = [
    (SCALAR, f"{F}gelu(x, 'tanh')"),
    (SCALAR, f"{F}gelu(x, approximate='foo')"),
    (SCALAR, f"{F}gelu()"),
    (SCALAR, f"{F}relu(x, False, 3)"),
    (SCALAR, f"{F}leaky_relu(x, 'a')"),
    (SCALAR, f"{F}softplus(x, 1, 2, 3)"),
    (SCALAR, f"{F}threshold(x, 1)"),
    (SCALAR, "torch.exp(x, x)"),
    (SCALAR, "x.exp(1)"),
    (SCALAR, "torch.tanh(x, dim=0)"),
    (SCALAR, "torch.add(x)"),
    (SCALAR, "torch.add(x, 1, beta=2)"),
    (SCALAR, "torch.sqrt(inputs=x)"),
    (SCALAR, "torch.clamp(x, minimum=0)"),
    (SCALAR, "torch.where(x > 0, x)"),
    (SCALAR, "x.where(x, x)"),
    (SCALAR, "torch.eq(0, x) * 1.0"),
    (SCALAR, f"{F}mse_loss(x, x, reduction='batchmean')"),
    (SCALAR, "torch.mul('a', x)"),
    (SCALAR, "torch.round(x, 2)"),
    (SCALAR, "x.rsqrt(eps=1e-6)"),
    (SCALAR, "torch.div(x, 2, 'floor')"),
    (SCALAR, "torch.ones_like(x, 1)"),
    (SCALAR, "torch.nn.Softplus(1, 2, 3)(x)"),
    (BUFFER, "x.sum('a')"),
    (BUFFER, "x.sum(0.5)"),
    (BUFFER, "x.mean(0, 1, 2)"),
    (BUFFER, "torch.softmax(x)[0]"),
    (BUFFER, f"{F}softmax(x, dim='a')[0]"),
    (BUFFER, "torch.topk(x)[0][0]"),
    (BUFFER, "x.sort(reverse=True)[0][0]"),
    (BUFFER, "torch.cat([x, 1])[0]"),
    (BUFFER, "x.argmax(0, 1, 2).float()"),
    (BUFFER, f"{F}layer_norm(x, (5,))[0]"),
    (BUFFER, f"{F}layer_norm(x, 4)[0]"),
    (BUFFER, f"{F}layer_norm(x, (2, 2))[0]"),
    (BUFFER, f"{F}layer_norm(x, (4,), x[:3])[0]"),
    (BUFFER, f"{F}layer_norm(x, (4,), x, x[:3])[0]"),
    (BUFFER, f"{F}rms_norm(x, (5,))[0]"),
    (BUFFER, "x.split(2)[2][0]"),
    (BUFFER, "x.split(0)[0][0]"),
    (BUFFER, "x.split([1, 2])[0][0]"),
    (BUFFER, "x.chunk(2)[2][0]"),
    (BUFFER, "x.chunk(0)[0][0]"),
    (BUFFER, "x.unbind()[4]"),
    (BUFFER, "a, b = x.split(1)\nreturn [a[0]]"),
    (BUFFER, "a, b, c = x.chunk(2)\nreturn [a[0]]"),
    (BUFFER, "x.size()[2] * x[0]"),
    (BUFFER, "x.view(-1, 3)[0, 0]"),
    (BUFFER, "x.permute(1, 0)[0]"),
    (BUFFER, "x.flip(1)[0]"),
    (BUFFER, "x.roll(1, 1)[0]"),
    (BUFFER, "x.expand(2, 3)[0, 0]"),
    (BUFFER, "x.narrow(0, 2, 3)[0]"),
    (BUFFER, "x.select(0, 4)"),
    (BUFFER, "x.unfold(0, 5, 1)[0, 0]"),
    (BUFFER, "torch.triu(x)[0]"),
    (BUFFER, "x.masked_fill(x, 0)[0]"),
    (BUFFER, "x.masked_fill(x > 0, x)[0]"),
    (BUFFER, f"{F}linear(x, x[:3])"),
]
CALLED = [
    (SCALAR, f"{F}gelu(x, approximate='tanh')"),
    (SCALAR, f"{F}gelu(input=x)"),
    (SCALAR, "torch.add(x, 1, alpha=2)"),
    (SCALAR, "torch.add(x, 1, 2)"),
    (SCALAR, "torch.pow(2, x) + torch.pow(x, 2.0)"),
    (SCALAR, "torch.round(x, decimals=2)"),
    (SCALAR, "torch.clamp(x, max=torch.tensor(1.0))"),
    (SCALAR, "x.to(dtype=torch.float64).to(torch.float32)"),
    (SCALAR, "x.view(1).expand(2, 1).reshape(2)[0] + x.reshape((1,))[0]"),
    (SCALAR, "x * torch.zeros(2, 3).sum() + torch.ones((2,)).sum() + torch.zeros(size=(1,))[0]"),
    (SCALAR, "x + torch.zeros(10 ** 2, 3 ** 0)[0, 0]"),
    (SCALAR, "torch.nn.GELU('tanh')(x) + torch.nn.ReLU()(x)"),
    (BUFFER, "x.sum(axis=0, keepdims=True)[0]"),
    (BUFFER, "x.sum(dim=(0,)) + torch.sum(x, 0) + x.sum([0], True)[0]"),
    (BUFFER, "x.flip(0)[0] + x.flip([0])[0] + torch.flip(x, dims=(0,))[0] + x.roll(1)[0] + x.roll(1, 0)[0]"),
    (BUFFER, f"{F}layer_norm(x, x.shape)[0] + {F}layer_norm(x, [4], x, x, 1e-6)[0] + {F}rms_norm(x, (4,))[0]"),
    (BUFFER, "a, b = x.split(2)\nreturn [a[1] + b[1]]"),
    (BUFFER, "a, b = x.split([1, 3])\nreturn [a[0] + b[2]]"),
    (BUFFER, "a, b = x.chunk(3)\nreturn [a[1] + b[1]]"),
    (BUFFER, "torch.stack(x.unbind())[0] + x.unbind(0)[-4]"),
    (BUFFER, "x.repeat(2, 1)[0, 0] + x.repeat((2,))[0] + x.tile(2)[0] + x.expand(3, -1)[0, 0]"),
    (BUFFER, "x.narrow(0, 1, 3)[0] + x.narrow(0, -1, 1)[0] + x.select(0, -4) + x.unfold(0, 2, 1)[2, 1]"),
    (BUFFER, "x.view(2, -1).permute(1, 0)[0, 0] + x.view(2, 2).permute((1, 0)).tril()[0, 0]"),
    (BUFFER, f"{F}linear(x, x) + {F}softmax(x, 0)[0] + {F}softmax(x, dim=-1, dtype=torch.float32)[0]"),
    (BUFFER, "x.masked_fill(x > 0, 0)[0] + x.masked_fill(mask=x > 0, value=x[0])[0]"),
    (SCALAR, "torch.mul(2, x) + torch.div(1.0, x) + torch.multiply(input=0.5, other=x) + torch.floor_divide(7, x)"),
    (SCALAR, "torch.div(1, x, rounding_mode='floor') + torch.true_divide(1, x) + torch.mul(True, x)"),
    (SCALAR, "torch.where(condition=x > 0, input=x, other=0.0) + torch.where(x > 0, other=0.0, input=x)"),
    (SCALAR, "torch.where(other=1.0, input=x, condition=x > 0) + torch.where(x > 0, self=1.0, other=x)"),
    (SCALAR, "x.where(x > 0, 0.0) + x.where(condition=x > 0, other=x) + x.where(x > 0, other=x)"),
    (SCALAR, "x.polygamma(1) + x.polygamma(n=1) + torch.polygamma(n=1, input=x) + torch.pow(self=2, exponent=x)"),
    (SCALAR, "x + torch.zeros(2, requires_grad=False)[0] + torch.ones_like(x, requires_grad=False)"),
    (SCALAR, "x + torch.zeros(int(x * 0) + 2)[0] + torch.eye(2 * torch.tensor(2).item() - 1)[0, 0]"),
    (BUFFER, "x[:0].split(1)[0].sum() + x[:0].split(0)[0].sum() + x[:0].chunk(3)[2].sum() + x[0]"),
    (BUFFER, "x[torch.tensor(1).item() + 1]"),
    (BUFFER, "torch.searchsorted(sorted_sequence=x, input=x).sum() * 1.0"),
    (BUFFER, f"{F}normalize(x.view(2, 2), dim=(0, 1))[0, 0] + {F}normalize(x.view(2, 2), 2.0, [0, 1])[0, 0]"),
    (BUFFER, f"{F}interpolate(x.view(1, 2, 2), size=(4,))[0, 0, 0] + {F}interpolate(x.view(1, 2, 2), [3])[0, 0, 0]"),
    (BUFFER, f"{F}kl_div(x, x, reduction='batchmean') + torch.nn.KLDivLoss(reduction='batchmean')(x, x)"),
    (BUFFER, f"{F}mse_loss(x, x, reduction='none')[0] + {F}pad(x, (1, 1), value=2.0)[0]"),
]
RIGHT = [
    (SCALAR, "x * range(5).index(3)"),
    (SCALAR, "x * range(5).count(3)"),
    (SCALAR, "x * max(x, 0)"),
    (SCALAR, "max(x, -x)"),
    (SCALAR, "torch.as_tensor(x if x > 0 else 0.0).to(x.dtype)"),
    (SCALAR, "torch.tensor(x.item())"),
    (SCALAR, "(~(x > 0)).to(x.dtype)"),
    (SCALAR, "torch.where(x > 0, 1.0, 0.0).to(x.dtype)"),
    (SCALAR, "torch.where((x > 0) & (x < 1), x, 0)"),
    (BUFFER, "y = []\nfor v in x:\n    y.append(v)\nreturn [torch.stack(y).sum()]"),
    (BUFFER, "y = []\nfor v in x:\n    y.append(v)\nreturn [max(y)]"),
    (BUFFER, "y = [0]\ny[0] = x.sum()\nreturn y"),
    (BUFFER, "y = [0]\nfor v in x:\n    y[0] = v\nreturn y"),
    (BUFFER, "y = [x]\ny.append(x)\nreturn [torch.einsum('i,i->', y)]"),
    (BUFFER, "y = [0]\ny.append(x)\nreturn [torch.cat(y[1:])[0]]"),
    (BUFFER, "y = x.sum()\ny += x[0]\nreturn [y]"),
    (BUFFER, "m, s = torch.var_mean(x)\nreturn [m + s]"),
    (BUFFER, "x.median(0).values + torch.aminmax(x).max + x.median()"),
    (BUFFER, "x[int(x.argmax())] + x[torch.arange(4)].sum()"),
    (BUFFER, "torch.einsum('i,j->', x, x.expand(3, 4)[0])"),
    (BUFFER, "torch.zeros(x.shape).add(x).sum() * x.shape[-1]"),
    (BUFFER, "torch.addcmul(x.half(), x, x).sum()"),
    (BUFFER, "torch.addcdiv(x.half(), x, x).sum()"),
    (SCALAR, "torch.lerp(x.half(), x.half(), x)"),
    (BUFFER, "x.double().to('cpu', torch.float32).sum() + x.double().to('cpu', dtype=torch.float32)[0]"),
    (BUFFER, "x.half().view(dtype=torch.int16).sum().float()"),
    (SCALAR, "torch.max(x.half(), other=x)"),
    (SCALAR, "torch.where(x > 5, torch.finfo(x.dtype).min, x).clamp(max=torch.finfo(torch.float32).max)"),
    (BUFFER, "x.masked_fill(x > 9, torch.finfo(x.dtype).min).softmax(0)[0] + torch.finfo(torch.float16).eps"),
    (WHOLE, "x.clamp(max=torch.iinfo(x.dtype).max // 2).float() * (torch.iinfo(torch.int8).bits / 8)"),
    (WHOLE, "torch.where(x > 1, x, 0).float()"),
    (WHOLE, "(x & 1).float() + torch.relu(x).float()"),
]


@pytest.mark.parametrize(("dtype", "body"), [*REFUSED, *MISUSED])
def test_what_no_run_takes_is_found_by_check(tmp_path: Path, dtype: str, body: str) -> None:
    assert verdicts(tmp_path, dtype, body) == (False, False)


@pytest.mark.parametrize(("dtype", "body"), [*RIGHT, *CALLED])
def test_what_a_run_takes_is_passed(tmp_path: Path, dtype: str, body: str) -> None:
    assert verdicts(tmp_path, dtype, body) == (True, True)
