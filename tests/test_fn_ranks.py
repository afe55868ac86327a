"""Ranks, dimensions and sizes that functions of torch ask for: check and run agree on calls of these."""

from __future__ import annotations

import pytest

from stepcore.check import ImplChecker
from stepcore.check.files import task_faults
from stepcore.findings.diagnostics import Severity
from stepcore.frontend.yaml.tasks import read_task
from stepcore.sim.functional import Session
from stepcore.text.span import Embedded

TASK = """\
inputs:
- {{name: E0, dtype: "Buffer(fp32, [{dims}])", dims: [M], data_gen: torch.randn}}
fns:
- name: own
  func_name: own
  input_dtype: "Buffer(fp32, [{dims}])"
  output_dtype: fp32
  apply: |
    x = input[0]
    y = {call}
    return [torch.as_tensor(y).float().sum() * 0 + x.sum()]
outputs:
- name: S0
  dtype: fp32
  dims: [M]
  data_transform:
  - |
    input_data['E0'].sum((1, 2))
"""
REFUSED = [
    "torch.linalg.norm(x, 5.5, 3)",
    "torch.linalg.norm(x, dim=2)",
    "torch.linalg.vector_norm(x, dim=5)",
    "torch.linalg.vector_norm(x, 2, 2)",
    "torch.linalg.matrix_norm(x[0])",
    "torch.linalg.matrix_norm(x, 'foo')",
    "torch.linalg.norm(x, 'foo')",
    "torch.linalg.inv(x)",
    "torch.linalg.det(x)",
    "torch.linalg.cholesky(x)",
    "torch.linalg.eigvalsh(x)",
    "torch.linalg.matrix_power(x, 2)",
    "torch.linalg.matrix_power(x[:, :3], 2.5)",
    "torch.linalg.cross(x, x)",
    "torch.linalg.cross(x, x, dim=1)",
    "torch.linalg.inv()",
    "torch.linalg.norm(x, foo=1)",
    "torch.linalg.svdvals(x[0])",
    "torch.linalg.matrix_rank(x[0])",
    "torch.linalg.slogdet(x)[1]",
    "torch.linalg.pinv(x[0])",
    "torch.linalg.vander(x, 4, 5)",
    "torch.linalg.householder_product(x, x)",
    "torch.nn.functional.conv1d(x, x)",
    "torch.nn.functional.conv1d(x[None], x)",
    "torch.nn.functional.pad(x, (1, 1, 1))",
    "torch.nn.functional.pad(x, (1, 1, 1, 1, 1, 1))",
    "torch.nn.functional.pad(x, (1, 1), mode='foo')",
    "torch.cdist(x, x[:, :3])",
    "torch.cdist(x[0], x)",
    "torch.addmm(x, x, x)",
    "torch.addmm(x[0], x, x[0])",
    "torch.addbmm(x, x, x)",
    "torch.baddbmm(x, x, x)",
    "x.unflatten(1, (3, 2))",
    "x.unflatten(2, (2, 2))",
    "x.unflatten(1, (-1, 3))",
    "x.unflatten(1, (-1, -1))",
    "x.movedim(0, 2)",
    "x.movedim((0, 1), (0, 0))",
    "x.movedim((0, 1), (1,))",
    "torch.nn.functional.glu(x[:, :3])",
    "x.rot90(1, (0, 2))",
    "x.diff(dim=2)",
    "x.gather(1, x)",
    "x.take_along_dim(torch.tensor([[0]]), 2)",
    "x.repeat(2)",
]
TAKEN = [
    "torch.cross(x, x)",
    "torch.linalg.norm(x)",
    "torch.linalg.norm(x, 2)",
    "torch.linalg.norm(x, 'fro')",
    "torch.linalg.norm(x, ord='nuc', dim=(0, 1))",
    "torch.linalg.norm(x, ord=2, dim=-1)",
    "torch.linalg.norm(x, 1, -2, True)",
    "torch.linalg.norm(x, float('inf'), 1)",
    "torch.linalg.norm(x, dim=(-1, -2), keepdim=True)",
    "torch.linalg.norm(x, None, 0)",
    "torch.linalg.norm(x[0], 3)",
    "torch.linalg.norm(x[0], dim=0)",
    "torch.linalg.norm(x[0, 0])",
    "torch.linalg.norm(x, dim=[0])",
    "torch.linalg.norm(x, dtype=torch.float64)",
    "torch.linalg.vector_norm(x)",
    "torch.linalg.vector_norm(x, 2, (0, 1))",
    "torch.linalg.vector_norm(x, ord=2.5, dim=(0, 1), keepdim=True)",
    "torch.linalg.vector_norm(x, dim=-1)",
    "torch.linalg.vector_norm(x[0, 0])",
    "torch.linalg.vector_norm(x=x, ord=1)",
    "torch.linalg.vector_norm(x, 2, None)",
    "torch.linalg.vector_norm(x, float('inf'))",
    "torch.linalg.matrix_norm(x)",
    "torch.linalg.matrix_norm(x, 'nuc')",
    "torch.linalg.matrix_norm(x, 1, (-2, -1))",
    "torch.linalg.matrix_norm(x[None], dim=(1, 2), keepdim=True)",
    "torch.linalg.matrix_norm(x, ord=-2)",
    "torch.linalg.inv(x @ x.T + torch.eye(3))",
    "torch.linalg.inv((x @ x.T + torch.eye(3))[None])",
    "torch.linalg.inv(A=x @ x.T + torch.eye(3))",
    "torch.linalg.det(x @ x.T + torch.eye(3))",
    "torch.linalg.det(x[:, :3])",
    "torch.linalg.det(x[:3, 1:])",
    "torch.linalg.det(x.T @ x)",
    "torch.linalg.cholesky(x @ x.T + torch.eye(3))",
    "torch.linalg.cholesky(x @ x.T + torch.eye(3), upper=True)",
    "torch.linalg.cholesky_ex(x @ x.T + torch.eye(3))[0]",
    "torch.linalg.inv_ex(x @ x.T + torch.eye(3)).inverse",
    "torch.linalg.eigh(x @ x.T + torch.eye(3))[0]",
    "torch.linalg.eigh(x @ x.T + torch.eye(3)).eigenvalues",
    "torch.linalg.eigh(x @ x.T + torch.eye(3), 'U')[1]",
    "torch.linalg.eigvalsh(x @ x.T + torch.eye(3), UPLO='L')",
    "torch.linalg.matrix_power(x @ x.T + torch.eye(3), 3)",
    "torch.linalg.matrix_power(x @ x.T + torch.eye(3), -1)",
    "torch.linalg.matrix_exp(x @ x.T + torch.eye(3))",
    "torch.linalg.slogdet(x @ x.T + torch.eye(3))[1]",
    "torch.linalg.slogdet(x @ x.T + torch.eye(3)).logabsdet",
    "torch.linalg.solve(x @ x.T + torch.eye(3), x)",
    "torch.linalg.solve(x @ x.T + torch.eye(3), x[:, 0])",
    "torch.linalg.solve(x @ x.T + torch.eye(3), x.T, left=False)",
    "torch.linalg.solve_triangular(x @ x.T + torch.eye(3), x, upper=True)",
    "torch.linalg.cross(x[:, :3], x[:, :3])",
    "torch.linalg.cross(x, x, dim=0)",
    "torch.linalg.cross(x, x[:, :1], dim=0)",
    "torch.linalg.cross(x[:, :3], x[:1, :3])",
    "torch.linalg.diagonal(x)",
    "torch.linalg.diagonal(x, offset=1)",
    "torch.linalg.diagonal(x[None], dim1=0, dim2=2)",
    "torch.linalg.multi_dot([x, x.T])",
    "torch.linalg.multi_dot((x, x.T, x))",
    "torch.linalg.multi_dot([x[0], x.T])",
    "torch.linalg.vecdot(x, x)",
    "torch.linalg.vecdot(x, x, dim=0)",
    "torch.linalg.vecdot(x, x[0])",
    "torch.linalg.qr(x)[1]",
    "torch.linalg.qr(x, 'r')[1]",
    "torch.linalg.qr(x, mode='complete').Q",
    "torch.linalg.svd(x)[1]",
    "torch.linalg.svd(x, full_matrices=False).S",
    "torch.linalg.svd(x, False)[0]",
    "torch.linalg.svdvals(x)",
    "torch.linalg.matrix_rank(x)",
    "torch.linalg.matrix_rank(x, tol=0.1)",
    "torch.linalg.matrix_rank(x, atol=0.1, rtol=0.01)",
    "torch.linalg.matrix_rank(x @ x.T + torch.eye(3), hermitian=True)",
    "torch.linalg.pinv(x)",
    "torch.linalg.pinv(x, rtol=0.1)",
    "torch.linalg.pinv(x, hermitian=False)",
    "torch.linalg.cond(x)",
    "torch.linalg.cond(x @ x.T + torch.eye(3), 'fro')",
    "torch.linalg.cond(x @ x.T + torch.eye(3), p=1)",
    "torch.linalg.lstsq(x, x).solution",
    "torch.linalg.lu(x @ x.T + torch.eye(3))[1]",
    "torch.linalg.lu(x)[2]",
    "torch.linalg.lu_factor(x @ x.T + torch.eye(3))[0]",
    "torch.linalg.vander(x[0], N=3)",
    "torch.linalg.vander(x[0])",
    "torch.linalg.matmul(x, x.T)",
    "torch.linalg.tensorsolve(torch.eye(6).reshape(6, 2, 3), torch.ones(6))",
    "torch.linalg.tensorinv(torch.eye(6).reshape(6, 2, 3), ind=1)",
    "x.unflatten(1, (2, 2))",
    "x.unflatten(-1, (2, -1))",
    "x.unflatten(0, (3,))",
    "x.unflatten(dim=1, sizes=(4, 1))",
    "x.unflatten(1, [1, 2, 2])",
    "x.unflatten(1, (-1,))",
    "torch.unflatten(x, 1, (2, 2))",
    "x.movedim(0, 1)",
    "x.movedim(-1, 0)",
    "x.movedim((0, 1), (1, 0))",
    "x.movedim([0], [-1])",
    "x.movedim(source=0, destination=1)",
    "torch.moveaxis(x, 0, -1)",
    "x.rot90()",
    "x.rot90(1, (0, 1))",
    "x.rot90(2, [-1, -2])",
    "torch.rot90(x, k=1, dims=(1, 0))",
    "x.diff()",
    "x.diff(1, 0)",
    "x.diff(dim=-2)",
    "torch.diff(x, n=2, dim=1)",
    "torch.diff(x, prepend=x[:, :1])",
    "x.take_along_dim(torch.zeros(3, 1, dtype=torch.int64), 1)",
    "x.take_along_dim(torch.zeros(3, 4).long(), dim=-1)",
    "x.take_along_dim(torch.zeros(5).long())",
    "x.gather(1, torch.zeros(3, 2).long())",
    "x.gather(dim=0, index=torch.zeros(1, 4, dtype=torch.int64))",
    "x.gather(1, x.argsort(1))",
    "x.gather(-1, x.topk(2).indices)",
    "x.index_select(0, torch.tensor([0, 2]))",
    "x.index_select(1, torch.arange(2))",
    "x.repeat(2, 1)",
    "x.repeat(2, 1, 3)",
    "x.repeat((1, 2))",
    "x.repeat([2, 2, 2])",
    "x[0].repeat(3)",
    "x.sum().repeat(3)",
    "x.repeat(*[2, 2])",
    "x.repeat(repeats=(2, 2))",
    "x.repeat_interleave(2)",
    "torch.addmm(x, torch.ones(3, 3), x)",
    "torch.addmm(x[0], torch.ones(3, 3), x)",
    "torch.addmm(torch.tensor(0.0), x, x.T)",
    "torch.addmm(x, torch.ones(3, 3), x, beta=2, alpha=0.5)",
    "torch.addmm(input=x, mat1=torch.ones(3, 3), mat2=x)",
    "x.addmm(torch.ones(3, 3), x)",
    "torch.addmv(x[:, 0], x, x[0])",
    "x[:, 0].addmv(x, x[0])",
    "torch.addbmm(torch.ones(3, 3), x[None], x.T[None])",
    "torch.baddbmm(torch.ones(3, 3), x[None], x.T[None])",
    "torch.addr(torch.ones(3, 4), x[:, 0], x[0])",
    "torch.cdist(x, x)",
    "torch.cdist(x[None], x[:2][None], p=1.0)",
    "torch.cdist(x, x[:1], 2.0)",
    "torch.cdist(x1=x, x2=x)",
    "torch.cross(x[:, :3], x[:, :3], dim=1)",
    "torch.nn.functional.pad(x, (1, 1))",
    "torch.nn.functional.pad(x, [0, 1, 2, 0], value=3.0)",
    "torch.nn.functional.pad(x, (1, 1), 'constant', 2)",
    "torch.nn.functional.pad(x, (1, 1), mode='reflect')",
    "torch.nn.functional.pad(x[None], (1, 1, 1, 1), mode='replicate')",
    "torch.nn.functional.pad(x, (1, 1), mode='circular')",
    "torch.nn.functional.pad(x, (-1, 0))",
    "torch.nn.functional.pad(x, ())",
    "torch.nn.functional.pad(input=x, pad=(1, 2))",
    "torch.nn.functional.pad(x, pad=[1, 2, 0, 0])",
    "torch.nn.functional.glu(x)",
    "torch.nn.functional.glu(x, dim=1)",
    "torch.nn.functional.glu(x[:2], 0)",
    "torch.nn.functional.conv1d(x, torch.ones(2, 3, 2))",
    "torch.nn.functional.conv1d(x[None], torch.ones(2, 3, 2), stride=2, padding=1)",
    "torch.nn.functional.conv1d(x, torch.ones(3, 1, 2), groups=3)",
    "torch.nn.functional.conv1d(x, torch.ones(2, 3, 2), torch.ones(2), (1,), (1,), (2,))",
    "torch.nn.functional.conv1d(x, torch.ones(2, 3, 3), padding='same')",
    "torch.nn.functional.conv2d(x[None], torch.ones(1, 1, 2, 2))",
    "torch.nn.functional.conv2d(x[None, None], torch.ones(1, 1, 2, 2), stride=(1, 2), padding=1)",
    "torch.nn.functional.avg_pool2d(x[None], 2)",
    "torch.nn.functional.avg_pool2d(x[None], (2,))",
    "torch.nn.functional.avg_pool2d(x[None], (2, 2), (1, 1))",
    "torch.nn.functional.max_pool1d(x, 2, padding=1)",
    "torch.nn.functional.unfold(x[None, None], (2, 2))",
    "torch.nn.functional.unfold(x[None], 2)",
    "torch.nn.functional.fold(torch.ones(1, 4, 6), (3, 4), (2, 2))",
    "list(x)[2]",
    "tuple(x)[-3]",
    "x.unbind(0)[2]",
]


def verdicts(call: str, dims: str = "4, 3") -> tuple[bool, bool]:
    """Return whether check passes a function that calls something with x, and whether a run does."""
    task = read_task(TASK.format(call=call, dims=dims), "own.step.yaml")
    assert task.spec is not None
    is_passed = not any(item.severity is Severity.ERROR for item in task_faults(task))
    checked = ImplChecker(task).check(Embedded.whole("return step.Map(fn=own).apply(E0)"))
    return is_passed, Session(task.spec).decided(checked).functional.ok


@pytest.mark.parametrize("call", REFUSED)
def test_what_no_run_takes_is_refused(call: str) -> None:
    assert verdicts(call) == (False, False)


@pytest.mark.parametrize("call", TAKEN)
def test_what_a_run_takes_is_passed(call: str) -> None:
    assert verdicts(call) == (True, True)


# The same with sizes that are symbols, innermost first: K is 9 and D is 16.
SYMBOLS = [
    ("torch.linalg.inv(x[:, :9])", "K, K", True),
    ("torch.linalg.inv(x)", "K, D", False),
    ("torch.linalg.det(x @ x.T)", "K, D", True),
    ("x.unflatten(1, (3, 3))", "K, D", True),
    ("x.unflatten(1, (4, -1))", "K, D", False),
    ("x.unflatten(0, (4, -1))", "K, D", True),
    ("torch.cdist(x, x)", "K, D", True),
    ("torch.cdist(x, x.T)", "K, D", False),
    ("torch.addmm(x, x @ x.T, x)", "K, D", True),
    ("torch.addmm(x, x, x)", "K, D", False),
    ("torch.nn.functional.glu(x, 0)", "K, D", True),
    ("torch.nn.functional.glu(x)", "K, D", False),
    ("torch.linalg.cross(x[:3], x[3:6], dim=0)", "K, D", True),
    ("torch.linalg.cross(x, x)", "K, D", False),
]


@pytest.mark.parametrize(("call", "dims", "is_right"), SYMBOLS)
def test_symbols_count_with_the_sizes_that_a_run_binds(call: str, dims: str, *, is_right: bool) -> None:
    assert verdicts(call, dims) == (is_right, is_right)
