"""Elements that a mask picks: written back they are a choice, counted they are refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from stepagents.schedules.deliver import delivered
from stepagents.schedules.search import ScheduleOptions, schedules
from stepagents.torchfn import masked
from stepagents.torchfn.refusals import Refused
from stepcore.timing.hardware import PRESETS
from test_schedules import traced

RIGHT = {
    "added": "z = y.clone()\n    z[c] += x[c]\n    return z",
    "scaled": "z = x * 2\n    z[c] *= 3\n    return z",
    "set_to": "z = x.clone()\n    z[c] = 0.0\n    return z",
    "set_to_a_number": "z = x * 1\n    z[c] = x.sum() * 0.25\n    return z",
    "rows": "z = y.clone()\n    z[r] -= 0.5 * x[r]\n    return z",
    "compared": "z = y.clone()\n    z[x > 0] += 1\n    return z",
    "both_sides": "z = y.clone()\n    z[c] = 1 / (2 + torch.abs(x[c])) - y[c].sigmoid()\n    return z",
    "activated": "z = torch.zeros_like(x)\n    z[c] = torch.nn.functional.silu(input=x[c]) + y[c]\n    return z",
    "chosen": "z = y * 1\n    z[c] = torch.where(x[c] > 0, x[c], 0.5)\n    return z",
    "kept": "z = y.clone()\n    old = z[c]\n    z.add_(1)\n    z[c] = -old\n    return z",
    "products": "z = x * 1\n    z[r] += torch.relu(torch.nn.functional.linear(x[r], y.T @ y)) @ x.T @ x\n    return z",
    "columns": "z = y.clone()\n    z[r] = x[r] @ (x.T @ y)[:, :1] * x[r]\n    return z",
    "two_masks": "z = y.clone()\n    z[c] += x[c]\n    z[r] = 2 ** z[r]\n    return z",
}
REFUSED = {
    "added_up": "return x[c].sum()",
    "counted": "return x[c].shape[0] * x",
    "measured": "return x * len(x[c])",
    "of_another": "z = y.clone()\n    z[c] = y[x > 0]\n    return z",
    "mixed": "z = y.clone()\n    z[c] += x[x > 0]\n    return z",
    "with_a_row": "z = y.clone()\n    z[r] += x[0]\n    return z",
    "of_numbers": "z = y.clone()\n    z[c] = x[c] @ y[0]\n    return z",
    "with_each_other": "z = y.clone()\n    z[r] = x[r].T @ x[r]\n    return z",
    "from_the_right": "return x + y[:, :1] @ x[r]",
    "with_a_vector": "z = y.clone()\n    z[r] = x[r] @ y[0]\n    return z",
    "returned": "return x[c] + 1",
    "one_of_them": "return x + x[c][0]",
    "by_name": "z = y.clone()\n    z[c] = torch.add(x[c], other=y[c])\n    return z",
    "whether": "return x * 2 if x[c] else x",
}
HEAD = "import torch\n\n\ndef {name}(x, y, c, r):  # stepsmith: x[M, K], y[M, K], c[M, K] bool, r[M] bool\n    {body}\n"


@pytest.fixture
def write(tmp_path: Path) -> Path:
    return tmp_path / "functions.py"


@pytest.mark.parametrize("name", [*RIGHT])
def test_what_is_written_back_is_a_choice(write: Path, name: str) -> None:
    write.write_text(HEAD.format(name=name, body=RIGHT[name]), encoding="utf-8")
    target, function = traced(write, name, {"M": 8, "K": 6})
    program, *_ = schedules(function, ScheduleOptions(PRESETS["paper"])).programs
    file = delivered(function, target, program, write.parent, ".step.py")
    assert not file.fault and file.is_whole


EXPERTS = """\
import torch
import torch.nn.functional as F


def experts(x, router, up, down):  # stepsmith: x[M, 8], router[3, 8], up[3, 12, 8], down[3, 8, 12]
    weight, index = torch.topk(torch.softmax(x @ router.T, -1), 2)
    y = torch.zeros_like(x)
    for e in range(3):
        rows = (index == e).any(-1)
        share = (weight * (index == e)).sum(-1, keepdim=True)
        y[rows] += F.linear(F.silu(F.linear(x[rows], up[e])), down[e]) * share[rows]
    return y
"""


def test_a_loop_over_experts_has_tiles(write: Path) -> None:
    write.write_text(EXPERTS, encoding="utf-8")
    target, function = traced(write, "experts", {"M": 16})
    program, *_ = schedules(function, ScheduleOptions(PRESETS["paper"])).programs
    file = delivered(function, target, program, write.parent, ".step.py")
    assert not file.fault and file.is_whole


@pytest.mark.parametrize("name", [*REFUSED])
def test_what_needs_their_number_is_refused(write: Path, name: str) -> None:
    write.write_text(HEAD.format(name=name, body=REFUSED[name]), encoding="utf-8")
    with pytest.raises(Refused) as caught:
        traced(write, name, {"M": 8, "K": 6})
    (finding,) = caught.value.findings
    assert finding.code == "STEP603"
    assert "depends on the values of a tensor" in finding.message and "torch.where" in finding.advice


def test_masks_with_values_pick_as_ever(write: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    constants = "WEIGHTS = torch.arange(4.0)\nKEEP = torch.tensor([True, False, True, False])\nOWN = WEIGHTS[KEEP]\n"
    for body in ("return x[:, :2] * OWN", "return x[:, 0] * 2 + WEIGHTS[KEEP].sum()"):
        text = HEAD.format(name="held", body=body).replace("import torch\n", f"import torch\n\n{constants}", 1)
        write.write_text(text, encoding="utf-8")
        with monkeypatch.context() as without:
            without.setattr(masked, "_is_mask", lambda _tensor, _index: False)
            usual = _outcome(write)
        assert _outcome(write) == usual


def _outcome(path: Path) -> str:
    """Return the graph of a function, or why there is none."""
    try:
        _, function = traced(path, "held", {"M": 8, "K": 6})
    except Refused as error:
        return str(error.findings)
    return str(function.graph.graph)
