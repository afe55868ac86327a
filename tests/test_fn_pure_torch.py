"""Everything that the allow-list admits is bound, runs or fails cleanly, on a stream as on an element."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from sim_tasks import Bed, function, task_text
from stepcore.codes import CODES
from stepcore.fn import allow
from stepcore.fn.check import check_block, check_fn
from stepcore.fn.decl import CodeBlock, FnDecl, FnScope
from stepcore.fn.placement import COMPLEX
from stepcore.sim.fnvec import CompiledFn, FnEnv, FnRuntimeError, Limits, evaluate_block
from stepcore.sim.fnvec.names import Namespace, aten_overload, method, namespace_member
from stepcore.sim.fnvec.watch import Watch
from stepcore.span import Embedded, Span
from stepcore.types import Buffer, Scalar

SPACES = sorted(space for space in allow.NAMESPACES if space.startswith("torch") and space != "torch.ops")
SCOPE = FnScope()
VALUES: dict[str, Any] = {
    "x": torch.linspace(0.1, 0.9, 9).reshape(3, 3) + torch.eye(3),
    "v": torch.linspace(-0.9, 0.9, 4),
    "i": torch.tensor([0, 2, 1]),
    "b": torch.tensor([True, False, True]),
    "image": torch.linspace(0.0, 1.0, 72).reshape(1, 2, 6, 6),
}
ARGUMENTS = (
    "x", "x, x", "v", "v, v", "x, 1", "x, x, x", "x, 0, i", "x, 0, i, x", "i", "image, 2", "image, (2, 2)", "3",
    "(2, 3)", "[x, x]", "x, 0, 1", "x, [3]", "x, None, None, True",
)  # fmt: skip


def block(text: str, *arguments: str) -> CodeBlock:
    return CodeBlock(Embedded.whole(text), arguments)


def environment(**more: Any) -> FnEnv:
    return FnEnv(SCOPE, {"D": 4, "K": 3}, limits=Limits(numel=1 << 20), **more)


ENVIRONMENT = environment()
UNTOUCHED = Watch(VALUES.values())


def spelled() -> Iterator[tuple[str, str]]:
    """Yield each admitted function, with the text that calls it: ``{}`` stands for the arguments."""
    for space in SPACES:
        if space != "torch.nn":
            for name in sorted(allow.NAMESPACES[space][0] - allow.DRAWING.get(space, frozenset())):
                yield f"{space}.{name}", f"{space}.{name}({{}})"
    for name, overloads in sorted(allow.ATEN.items()):
        for overload in overloads:
            yield f"torch.ops.aten.{name}.{overload}", f"torch.ops.aten.{name}.{overload}({{}})"
    for name in sorted(allow.TENSOR_METHODS - allow.RANDOM_METHODS):
        yield f"Tensor.{name}", name


def call_text(name: str, pattern: str, arguments: str) -> str:
    if not name.startswith("Tensor."):
        return pattern.format(arguments)
    first, _, rest = arguments.partition(", ")
    own = f"{first}.clone()" if allow.is_inplace(pattern) else first
    return f"{own}.{pattern}({rest})" if first in VALUES else ""


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


def evaluated(text: str) -> Any:
    """Return the value of an expression, or the finding."""
    with torch.inference_mode():
        try:
            result = evaluate_block(block(text), ENVIRONMENT, dict(VALUES))
        except FnRuntimeError as error:
            assert error.code in CODES and error.code != "STEP911", (text, error.code)
            assert error.message and "\n" not in error.message, text
            result = error
    assert UNTOUCHED.intact(), f"{text} changes its arguments"
    return result


@pytest.fixture(scope="module")
def results() -> dict[str, dict[str, Any]]:
    """Each function with the calls of it that run, and what they give."""
    found: dict[str, dict[str, Any]] = {}
    for name, pattern in spelled():
        ran = found.setdefault(name, {})
        for arguments in ARGUMENTS:
            text = call_text(name, pattern, arguments)
            if text:
                value = evaluated(text)
                if not isinstance(value, FnRuntimeError):
                    ran[text] = value
    return found


def test_every_call_runs_or_fails_with_a_finding_and_changes_nothing(results: dict[str, dict[str, Any]]) -> None:
    ran = [name for name, calls in results.items() if calls]
    assert len(results) > 1200
    assert len(ran) > 0.6 * len(results)


def test_what_check_passes_the_run_does_not_refuse(results: dict[str, dict[str, Any]]) -> None:
    """A call of an admitted name never ends with "not part of the language" (STEP302 to STEP304)."""
    for name, pattern in spelled():
        text = call_text(name, pattern, "x")
        if not text or check_block(block(f"x = torch.eye(3)\n{text}"), SCOPE, "reference"):
            continue
        value = evaluated(text)
        code = value.code if isinstance(value, FnRuntimeError) else ""
        assert code not in ("STEP302", "STEP303", "STEP304") or value.message == COMPLEX, (text, value)
    assert results


def test_each_call_is_the_same_on_a_stream_as_on_an_element(results: dict[str, dict[str, Any]]) -> None:
    """Batching rules are keyed by name: a name that came with the schemas must not meet the rule of another one."""
    compared = 0
    for calls in results.values():
        for text, value in calls.items():
            if not isinstance(value, Tensor) or value.dtype != torch.float32 or value.numel() > 100:
                continue
            argument = next((name for name in ("x", "v") if f"({name}" in text or f"{name}." in text), None)
            if argument is None or not bool(value.isfinite().all()) or "empty" in text:
                continue
            compared += compare_on_a_stream(text, argument, value)
            break
    assert compared > 300


def compare_on_a_stream(text: str, argument: str, value: Tensor) -> int:
    given = Buffer(Scalar("fp32"), VALUES[argument].shape[::-1])
    result = Buffer(Scalar("fp32"), value.shape[::-1]) if value.dim() else Scalar("fp32")
    head = "".join(f"{name} = torch.tensor({item.tolist()})\n" for name, item in VALUES.items() if name in ("i", "b"))
    body = f"{argument} = input[0]\n{head}return [{text}]\n"
    if any(f"{other}," in text or f"{other})" in text for other in ("image", "v" if argument == "x" else "x")):
        return 0
    decl = FnDecl("fn_x", "X", given, result, block(body, "input"), span=Span(0, 1))
    stream = torch.stack([VALUES[argument], VALUES[argument] * 0.9, VALUES[argument] * 1.1])
    with torch.inference_mode():
        try:
            (batched,) = CompiledFn(decl, environment()).call(([stream],), 1)
            single = [CompiledFn(decl, environment()).call(([element],), 0)[0] for element in stream]
        except FnRuntimeError as error:
            assert error.code != "STEP911", (text, error)
            return 0
    torch.testing.assert_close(batched.expand(3, *batched.shape[1:]), torch.stack(single), equal_nan=True)
    return 1


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
        "torch.fft.fft(v, 10 ** 9)",
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


@pytest.mark.parametrize("text", ["x.to('meta')", "torch.zeros(2, device='meta')", "x.to(device='cuda')"])
def test_tensors_stay_on_the_processor(text: str) -> None:
    assert [d.code for d in check_block(block(f"x = torch.eye(2)\n{text}"), SCOPE, "reference")] == ["STEP304"]
    value = evaluated(text.replace("'meta'", "'me' + 'ta'"))
    assert isinstance(value, FnRuntimeError) and value.code == "STEP304"


ABSENT = """torch.load torch.save torch.from_file torch.hub torch.compile torch.jit torch.utils torch.ops.load_library
    torch.seed torch.manual_seed torch.set_num_threads torch.vmap torch.from_numpy torch.frombuffer torch.as_strided
    torch.nn.Module torch.nn.Dropout torch.nn.functional.dropout_ torch.fft.os torch.linalg.LinAlgError
    torch.ops.aten.from_file torch.ops.aten.set_ torch.ops.aten.resize torch.ops.aten.as_strided"""


@pytest.mark.parametrize("name", ABSENT.split())
def test_what_has_no_pure_schema_does_not_exist(name: str) -> None:
    assert [d.code for d in check_block(block(name), SCOPE, "reference")] == ["STEP304"]
    value = evaluated(name)
    assert isinstance(value, FnRuntimeError) and value.code == "STEP304"
