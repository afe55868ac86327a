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
    (WHOLE, "torch.relu(x)"),
    (WHOLE, "torch.where(x > 1, x, 0)"),
    (WHOLE, "torch.nn.functional.one_hot(x, 10).float().sum()"),
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
    (WHOLE, "torch.where(x > 1, x, 0).float()"),
    (WHOLE, "(x & 1).float() + torch.relu(x).float()"),
]


@pytest.mark.parametrize(("dtype", "body"), REFUSED)
def test_what_no_run_takes_is_found_by_check(tmp_path: Path, dtype: str, body: str) -> None:
    assert verdicts(tmp_path, dtype, body) == (False, False)


@pytest.mark.parametrize(("dtype", "body"), RIGHT)
def test_what_a_run_takes_is_passed(tmp_path: Path, dtype: str, body: str) -> None:
    assert verdicts(tmp_path, dtype, body) == (True, True)
