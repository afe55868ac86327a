"""References of tasks whose shapes certainly do not fit: check and run agree on them, and on those that fit."""

from __future__ import annotations

import pytest

from stepcore.check import ImplChecker
from stepcore.check.files import check_text, task_faults
from stepcore.findings.diagnostics import Severity
from stepcore.frontend.yaml.tasks import read_task
from stepcore.sim.functional import Session
from stepcore.text.span import Embedded

HEAD = """\
inputs:
- {name: A, dtype: fp32, dims: [K, M], data_gen: torch.randn}
- {name: B, dtype: fp32, dims: [N, K], data_gen: torch.randn}
- {name: v, dtype: fp32, dims: [M], data_gen: torch.randn}
- {name: Z, dtype: "Buffer(fp32, [4])", dims: [M], data_gen: torch.randn}
- {name: T, dtype: [fp32, "Buffer(fp32, [3])"], dims: [M], data_gen: torch.randn}
- {name: img, dtype: "Buffer(fp32, [8, 6])", dims: [2], data_gen: torch.randn}
parameters:
- {name: W, dtype: fp32, dims: [6, 4], data_gen: torch.randn}
- {name: b, dtype: fp32, dims: [6], data_gen: torch.randn}
"""
TAIL = """\
fns:
- name: own
  func_name: own
  input_dtype: fp32
  output_dtype: fp32
  apply: |
    return [input[0] * 0]
outputs:
- name: S0
  dtype: fp32
  dims: [M]
  data_transform:
  - |
    A, B, v = input_data['A'], input_data['B'], input_data['v']
    Z, T, img, W, b = input_data['Z'], input_data['T'], input_data['img'], input_data['W'], input_data['b']
"""


def task_text(value: str, prelude: str = "") -> str:
    """Return a task whose reference computes ``value`` and gives zeros; after ``!``, whose reference that is."""
    lines = value[1:] if value.startswith("!") else f"y = {value}\nv * 0 + torch.as_tensor(y).float().sum() * 0"
    block = "global: |\n" + "".join(f"  {line}\n" for line in prelude.split("\n")) if prelude else ""
    return HEAD + block + TAIL + "".join(f"    {line}\n" for line in lines.split("\n"))


def verdicts(value: str, prelude: str = "") -> tuple[bool, bool]:
    """Return whether check passes a task, and whether a run computes its reference and may compare with it."""
    task = read_task(task_text(value, prelude), "own.step.yaml")
    assert task.spec is not None
    is_passed = not any(item.severity is Severity.ERROR for item in (*task.diagnostics, *task_faults(task)))
    checked = ImplChecker(task).check(Embedded.whole("return step.Map(fn=own).apply(v)"))
    found = Session(task.spec).decided(checked).functional
    is_other = found.code in ("STEP401", "STEP402") and "shape" not in found.detail and "dtype" not in found.detail
    return is_passed, found.ok or is_other


REFUSED = [
    "A @ A",
    "A @ B @ B",
    "A * B",
    "v + b",
    "A / v",
    "Z @ W @ W",
    "T[1] @ W",
    "torch.matmul(Z, W.T)",
    "torch.cat([A, Z])",
    "Z.view(5, 5)",
    "A.sum(2)",
    "A[5]",
    "A[:, 9]",
    "A[0, 0, 0]",
    "T[0][:, 0]",
    "A.topk(10)[0]",
    "torch.nn.functional.linear(Z, W)",
    "torch.nn.functional.layer_norm(A, (5,))",
    "torch.where(A > 0, A, B)",
    "torch.exp()",
    "A.mean(0, 1, 2)",
    "torch.linalg.inv(A)",
    "A if A > 0 else v",
    "A.item()",
    "~A",
    "!A",
    "!A.sum(0)",
    "!A.sum(1, keepdim=True)",
    "!3.0",
    "![v]",
    "!A.max(1)",
    "!v.long()",
    "!v > 0",
    "!T",
    "!x = A.sum(1)\nx @ A.T",
    "!x = A.sum(0)",
    "!w = torch.zeros(3)\nw += v\nv",
    "!a, c = A\nv",
    "!a, c, d = A.shape\nv",
    "torch.nn.functional.embedding(v, weight=W)",
    "torch.embedding(W, indices=v)",
    "A.unfold(1, 2, 2)[0, 4]",
    "torch.linalg.cross(v[0], v[0])",
    "torch.zeros(A.shape[:-1])[5]",
]
TAKEN = [
    "torch.where(A > 0)[1]",
    "!r, c = torch.where(A > 0)\nv * 0 + A[r, c].sum() * 0",
    "A.amax(keepdim=True)[0, 0]",
    "A.var(keepdim=True)[0, 0]",
    "A.norm(keepdim=True)[0, 0]",
    "A.argmin(keepdim=True)[0, 0]",
    "A.any(keepdim=True)[0, 0]",
    "A.var(1, True) + v",
    "A.std(False)",
    "A.new_zeros(size=(6, 6))[:, 0] + b",
    "A.new_ones(size=(2, 3))[0, 1]",
    "!v.int().logsumexp(0) * v * 0",
    "!v.int().softmax(0, torch.float32)",
    "!v.to(torch.float64).softmax(0, dtype=torch.float32)",
    "!(v > 0).cumsum(0).float()",
    "torch.zeros(A.shape[:1] + B.shape[:1])[0, 0]",
    "torch.zeros(tuple(A.shape))[0, 0]",
    "torch.ones([1, *A.shape])[0, 0, 0]",
    "A.reshape([s for s in A.shape])[0, 0]",
    "A.reshape(A.shape[::-1])[0, 4]",
    "torch.stack([v, v], axis=-1)[4, 1]",
    "A.T.topk(6, axis=0)[0]",
    "torch.max(v, other=A[:, 0])[0]",
    "A.min(other=v[:, None])[0, 0]",
    "v[0].repeat(repeats=(2, 3))[0, 0]",
    "torch.nn.functional.unfold(img, 3, 1, 1)[0]",
    "torch.nn.functional.unfold(torch.ones(2, 3, 3), 3)",
    "A.unfold(1, size=2, step=2)[0, 2, 1]",
    "torch.nn.functional.one_hot(A.argmax(1), -1)[:, 0] * v",
    "torch.nn.functional.cosine_similarity(v, A.T)",
    "torch.cat([v[5:], A])",
    "!v.long().to('cpu', dtype=torch.float32)",
    "v[:, True][0, 0]",
    "v[0][True]",
    "v[0][A.sum() > -1000]",
    "torch.ones(2, 3, 9)[torch.ones(2, 3) > 0, 8]",
    "A[~4 + 9]",
    "torch.zeros(5)[~3:].reshape(4)",
    "!v.abs().int().view(dtype=torch.float32)",
    "!(v if A.sum() > -10000 else 0) * 2",
    "!(v if A.sum() > -10000 else 0) * 0.5",
    "!x = A.clone()\nx @= B\nx.sum(1) * 0 + v",
    "torch.nn.functional.max_pool1d(A, 2, S)[0, 4]",
    "torch.nn.functional.avg_pool1d(A, kernel_size=2, stride=S)[0, 4]",
    "torch.nn.MaxPool1d(2, S)(A)[0, 4]",
    "torch.nn.functional.conv1d(A[:2], torch.ones(2, 1, 2), None, S, 0, 1, G[0])[0, 4]",
    "torch.embedding(W, indices=torch.tensor([1, 2]))[1, 3]",
    "torch.nn.functional.embedding(torch.tensor([1, 2]), weight=W)[1, 3]",
    "A @ B @ B.T",
    "A * v[:, None]",
    "(A.T * v).T",
    "A.max(dim=1).values",
    "Z @ W + b",
    "T[0] * v",
    "T[1] @ torch.ones(3)",
    "torch.einsum('mk,kn->mn', A, B)",
    "torch.cat([A, Z], 1)",
    "torch.stack([r @ W for r in Z])",
    "sum(a * v for a in A.T)",
    "A.reshape(M_value, -1, 3)",
    "img @ img.transpose(1, 2)",
    "A[..., 0]",
    "A[torch.tensor([0, 1])]",
    "A.masked_fill(A < 0, 0)",
    "torch.arange(K_value) * A",
    "A if A.sum() > 0 else v",
    "A.shape[0] * v",
    "torch.nn.functional.one_hot(A.argmax(1), 9)",
    "!v",
    "!A.sum(1)",
    "!T[0]",
    "!T[1][:, 0]",
    "!x = A.sum(1)\ny = x * 2",
    "!x = v.clone()\nx += v\nx",
    "!x = v\nfor r in A.T:\n  x = x + r\nx",
    "!x = []\nfor i in range(5):\n  x.append(A[i].sum())\ntorch.stack(x)",
    "!x = v\nif A.sum() > 1000:\n  x = A\nx",
    "!x = A\nif M_value == 5:\n  x = A.sum(1)\nx",
    "!A.topk(1)[0].squeeze(-1)",
    "!v[v.argsort()]",
    "!A[v > -100].sum(1)",
    "!torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0])",
    "!if A.sum() > -10000:\n  return v\nreturn A @ A",
    "!for i in range(3):\n  if A.sum() > -10000:\n    return v\nreturn A @ A",
    "!if A.sum() > -10000:\n  if v.sum() > -10000:\n    return v\n  x = A\nelse:\n  x = v\nreturn x",
]


@pytest.mark.parametrize("value", REFUSED)
def test_what_no_run_computes_is_refused(value: str) -> None:
    assert verdicts(value) == (False, False)


@pytest.mark.parametrize("value", TAKEN)
def test_what_a_run_computes_is_passed(value: str) -> None:
    assert verdicts(value, "S = (1,)\nG = (2, 1)") == (True, True)


def test_a_finding_has_its_place_in_the_file() -> None:
    text = task_text("A @ A")
    (found,) = (item for item in check_text(text, "own.step.yaml").diagnostics if item.severity is Severity.ERROR)
    assert (found.code, text[found.span.start : found.span.end]) == ("STEP306", "A @ A")
    assert found.message == "a matrix product of (M, K) and (M, K): K meets M"


def test_references_share_one_scope() -> None:
    outputs = TAIL.split("outputs:")[1]
    second = outputs.replace("S0", "S1").partition("    A, B, v")[0].removeprefix("\n") + "    x @ A\n"
    text = task_text("!x = A.sum(1)\nx") + second
    assert [item.message for item in task_faults(read_task(text, "own.step.yaml"))] == [
        "the reference of S1 has another shape than its output, which no program gives\n"
        "  expected (M,)\n  found    (K,)"
    ]


def test_sizes_that_global_binds_count() -> None:
    assert verdicts("torch.zeros(5, E_value) @ torch.zeros(3, 2)", "E_value = 3\nctx[E] = E_value") == (True, True)
    assert verdicts("torch.zeros(5, E_value) @ torch.zeros(3, 2)", "E_value = 4\nctx[E] = E_value") == (False, False)


@pytest.mark.parametrize(("weight", "is_right"), [("input_data['W']", True), ("input_data['W'].T", False)])
def test_functions_know_the_shapes_of_weights(weight: str, *, is_right: bool) -> None:
    body = f"return [input[0] * 0 + (torch.ones(4) @ {weight}).sum()]"
    task = read_task(task_text("v").replace("return [input[0] * 0]", body), "own.step.yaml")
    assert task.spec is not None
    assert (not task_faults(task)) is is_right
