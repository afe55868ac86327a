"""Everything that the allow-list admits is bound, runs or fails cleanly, on a stream as on an element."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import torch_calls
from sim_tasks import Bed, function, task_text
from stepcore.fn import allow
from stepcore.fn.check import check_block, check_fn
from stepcore.fn.decl import FnDecl, FnScope
from stepcore.fn.placement import COMPLEX
from stepcore.sim.fnvec import CompiledFn, FnEnv, FnRuntimeError, evaluate_block
from stepcore.sim.fnvec.names import Namespace, aten_overload, method, namespace_member
from stepcore.text.span import Span
from stepcore.types import Buffer, Scalar
from torch_calls import SCOPE, SPACES, Outcome, block, environment, evaluated, spelled, survey


def test_every_admitted_name_is_bound() -> None:
    for space in (*SPACES, "math"):
        functions, constants, modules = allow.NAMESPACES[space]
        for name in sorted(functions | constants | modules):
            found = namespace_member(Namespace(space), name)
            assert (found is None) == (name == "newaxis"), (space, name)  # None is what it stands for
    for name, overloads in allow.ATEN.items():
        for overload in overloads:
            assert callable(aten_overload(name, overload).plain), (name, overload)
    for name in allow.TENSOR_METHODS - allow.RANDOM_METHODS:
        assert method(name) is not None, name


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    """A third of all names, called in a process of their own; ``make soak`` takes all (soak.torch_names)."""
    return survey([name for name, _pattern in spelled()][::3])


def test_every_call_runs_or_fails_with_a_finding_and_changes_nothing(outcomes: list[Outcome]) -> None:
    """No call ends the process, takes memory beyond the bounds, or is refused as no part of what check passes.

    Those that run are compared with what they give on a stream.
    """
    assert [failure for outcome in outcomes for failure in outcome.failures] == []
    assert len(outcomes) > 400
    assert sum(outcome.ran > 0 for outcome in outcomes) > 0.6 * len(outcomes)
    assert sum(outcome.compared for outcome in outcomes) > 200


def test_the_end_of_a_worker_is_told_and_the_next_name_is_called(monkeypatch: pytest.MonkeyPatch) -> None:
    workers = iter([(['{"name": "a"}', "> b(1)", "> b(2)"], -11), (["> c(1)", '{"name": "c", "ran": 1}'], 0)])
    asked: list[list[str]] = []

    def work(names: list[str]) -> tuple[list[str], int]:
        asked.append(list(names))
        return next(workers)

    monkeypatch.setattr(torch_calls, "_work", work)
    found = survey(["a", "b", "c"])
    assert found == [Outcome("a"), Outcome("b", failures=["b(2): ends the process (-11)"]), Outcome("c", ran=1)]
    assert asked == [["a", "b", "c"], ["c"]]


@pytest.mark.parametrize("asked", ["torch.float32", "x.dtype", "torch.get_default_dtype()"])
def test_the_limits_of_a_type_are_those_of_its_text_at_any_precision(asked: str) -> None:
    text = f"torch.finfo({'' if 'default' in asked else asked}).eps + torch.iinfo(torch.int32).max"
    values = {torch.ones(1, dtype=dtype): FnEnv(SCOPE, {}, dtype=dtype) for dtype in (torch.float32, torch.float64)}
    found = [evaluate_block(block(text), env, {"x": x}) for x, env in values.items()]
    assert found == [torch.finfo(torch.float32).eps + 2**31 - 1] * 2


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("torch.fft.rfft(x)", "torch.fft.rfft"),
        ("torch.fft.fft(x, 10 ** 9)", "torch.fft.fft"),
        ("torch.polar(x, x)", "torch.polar"),
        ("torch.complex(x, x)", "torch.complex"),
        ("torch.view_as_complex(x)", "torch.view_as_complex"),
        ("torch.linalg.eigvals(x)", "torch.linalg.eigvals"),
        ("torch.stft(x, 2, return_complex=True)", "torch.stft"),
        ("x.stft(2)", ".stft()"),
    ],
)
def test_what_gives_complex_numbers_is_refused_by_check_and_run_alike(text: str, shown: str) -> None:
    (finding,) = check_block(block(f"x = torch.eye(3)\n{text}"), SCOPE, "reference")
    value = evaluated(text)
    assert isinstance(value, FnRuntimeError)
    for code, message in ((finding.code, finding.message), (value.code, value.message)):
        assert code == "STEP304"
        assert message.startswith(f"{shown} gives complex numbers; {COMPLEX}")


# What references said could not be written -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "reference",
    [
        "torch.cov(x)",
        "torch.nn.functional.huber_loss(x, x * 2)",
        "torch.flipud(x)",
        "torch.nn.functional.adaptive_avg_pool1d(x, 2)",
        "torch.nn.functional.interpolate(x[None], 5)",
        "torch.linalg.cholesky(x @ x.T)",
        "torch.nn.functional.dropout(x, 0.5, training=False)",
        "torch.fft.fftshift(x)",
        "torch.special.i0(x)",
        "x.diff()",
        "torch.linalg.det(x) * x",
        "sorted([3.0, 1.0], key=lambda n: -n)[0] * x",
        "max([1, 2, 3], key=lambda n: -n) * x",
    ],
)
def test_references_use_all_of_pure_torch(reference: str) -> None:
    assert check_block(block(f"x = torch.eye(3)\n{reference}"), SCOPE, "reference") == []
    assert isinstance(evaluated(reference), Tensor)


def test_a_task_with_such_a_reference_is_verified() -> None:
    reference = "torch.flipud(torch.nn.functional.adaptive_avg_pool1d(input_data['E0'], 1))[:, 0].flip(0)"
    total = function("fn_sum", "state[0] + input[0]", init=0)
    bed = Bed(task_text(reference, total, function("fn_mean", "input[0] / M_value")))
    program = "E1 = step.Accum(fn=fn_sum, b=1).apply(E0)\nE2 = step.Map(fn=fn_mean).apply(E1)\nreturn E2\n"
    assert bed.verify(program).accepted


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("n = [3, 1, 2]\nn.sort()\nreturn [input[0] * n[0] + n[2]]\n", 1.0),
        ("n = [3, 1, 2]\nn.sort(reverse=True)\nreturn [input[0] * n[2] + n[0]]\n", 1.0),
        ("n = sorted([3, 1, 2], key=lambda k: -k)\nreturn [input[0] * n[2] + n[0]]\n", 1.0),
        ("n = sorted((2, 1), reverse=True)\nreturn [input[0] + n[0] + 1]\n", 1.0),
        ("n = sorted([input[0].sum(), 3.0], key=lambda s: float(s))\nreturn [input[0] + n[1]]\n", 1.0),
    ],
)
def test_sorting_is_as_check_and_python_have_it(body: str, expected: float) -> None:
    given = Buffer(Scalar("fp32"), [4])
    decl = FnDecl("fn_x", "X", given, given, block(body, "input"), span=Span(0, 1))
    assert check_fn(decl, SCOPE) == []
    for batch in (0, 1):
        data = torch.zeros(*(2,)[:batch], 4)
        (result,) = CompiledFn(decl, environment()).call(([data],), batch)
        assert float(result.flatten()[0]) == 3.0 * expected


@pytest.mark.parametrize(
    "text",
    [
        "torch.vander(v, 10 ** 10)",
        "torch.vander(v, 10 ** 6)",
        "torch.hann_window(10 ** 12)",
        "torch.fft.fftfreq(10 ** 10)",
        "torch.nn.functional.interpolate(image, (100000, 100000))",
        "torch.nn.functional.interpolate(image, scale_factor=30000.0)",
        "torch.combinations(torch.arange(2000), 8)",
        "torch.cartesian_prod(torch.arange(3000), torch.arange(3000))",
        "torch.bincount(torch.tensor([10 ** 9]))",
        "torch.histc(v, 10 ** 10)",
        "torch.range(0, 10 ** 10)",
        "torch.fft.irfft(v, 10 ** 9)",
        "torch.diag_embed(image, 10 ** 6)",
        "torch.diag(v, 10 ** 6)",
        "torch.diagflat(x, 10 ** 9)",
        "torch.mvlgamma(image, 10 ** 6)",
        "torch.tensor_split(image, 10 ** 6)",
        "image.tensor_split(10 ** 6)",
        "torch.ops.aten.diag_embed.default(image, 10 ** 6)",
        "torch.ops.aten.tensor_split.sections(image, 10 ** 6)",
        "torch.ops.aten.full.default([10 ** 10], 0.0)",
        "torch.ops.aten.zeros.default([100000, 100000])",
        "torch.ops.aten.repeat.default(x, [10000, 10000])",
        "torch.nn.functional.pdist(torch.zeros(40000, 2))",
        "torch.nn.functional.fold(torch.ones(1, 4, 1), 40000, 2, stride=40000)",
        "torch.nn.Upsample(scale_factor=20000)(image)",
        "torch.nn.ZeroPad2d(20000)(image)",
    ],
)
def test_what_would_be_too_large_is_refused_before_it_is_made(text: str) -> None:
    value = evaluated(text)
    assert isinstance(value, FnRuntimeError) and value.code in ("STEP406", "STEP404"), value


def test_a_module_with_too_many_weights_is_refused() -> None:
    with pytest.raises(FnRuntimeError) as caught:
        FnEnv(FnScope(block("c = torch.nn.Conv2d(10 ** 5, 10 ** 5, 3)\n")), {})
    assert caught.value.code == "STEP406"


@pytest.mark.parametrize(
    "text", ["x.to('meta')", "torch.zeros(2, device='meta')", "x.to(device='cuda')", "x.to(1)", "x.cpu(10 ** 2)"]
)
def test_tensors_stay_on_the_processor(text: str) -> None:
    assert [d.code for d in check_block(block(f"x = torch.eye(2)\n{text}"), SCOPE, "reference")] == ["STEP304"]
    value = evaluated(text.replace("'meta'", "'me' + 'ta'"))
    assert isinstance(value, FnRuntimeError) and value.code == "STEP304"


ABSENT = """torch.load torch.save torch.from_file torch.hub torch.compile torch.jit torch.utils torch.ops.load_library
    torch.seed torch.manual_seed torch.set_num_threads torch.vmap torch.from_numpy torch.frombuffer torch.as_strided
    torch.nn.Module torch.nn.Dropout torch.nn.functional.dropout_ torch.fft.os torch.linalg.LinAlgError
    torch.special.legendre_polynomial_p torch.istft
    torch.ops.aten.from_file torch.ops.aten.set_ torch.ops.aten.resize torch.ops.aten.as_strided"""


@pytest.mark.parametrize("name", ABSENT.split())
def test_what_has_no_pure_schema_does_not_exist(name: str) -> None:
    assert [d.code for d in check_block(block(name), SCOPE, "reference")] == ["STEP304"]
    value = evaluated(name)
    assert isinstance(value, FnRuntimeError) and value.code == "STEP304"


@pytest.mark.parametrize(
    ("body", "is_right"),
    [
        ("x = input[0]\nreturn [x.sort().values]", True),
        ("x = input[0].t()\nreturn [x.sort(dim=0, descending=True)[0]]", True),
        ("return [input[0].sort(-1)[0]]", True),
        ("def f(x):\n    return x.sort(stable=True)[0]\nreturn [f(input[0])]", True),
        ("input.sort()\nreturn [input[0]]", False),
        ("input.sort(reverse=True)\nreturn [input[0]]", False),
        ("def f(x):\n    x.sort()\n    return x[0]\nreturn [f(input)]", False),
        ("def f(x):\n    x.sort(key=len)\n    return x[0]\nreturn [f(input)]", False),
    ],
)
def test_a_tensor_that_is_sorted_stays_and_a_list_changes(body: str, is_right: bool) -> None:
    given = Buffer(Scalar("fp32"), [4, 4])
    decl = FnDecl("fn_x", "X", given, given, block(body, "input"), span=Span(0, 1))
    assert [found.code for found in check_fn(decl, SCOPE)] == ([] if is_right else ["STEP310"])
