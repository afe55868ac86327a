"""Programs over tiles for traced functions: right by the judge and by the slow interpreter, readable, and fast."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest
import torch
from ruamel.yaml import YAML

from oracle.streams import dense
from oracle.tasks import OracleTask, run_streams
from stepagents.cli.synth_function import FunctionOptions, run_functions
from stepagents.schedules import search
from stepagents.schedules.deliver import delivered
from stepagents.schedules.forms import Scheduled, store, unit_of
from stepagents.schedules.parts import WHOLE, Labels
from stepagents.schedules.programs import Tiled
from stepagents.schedules.search import ScheduleOptions, schedules
from stepagents.schedules.sizes import divisors
from stepagents.schedules.space import Schedule, ScheduleForm, SizedFunction
from stepagents.schedules.tile_ops import TileBody
from stepagents.schedules.writer import Loops, Writer, tuple_text
from stepagents.torchfn.checks import make_checks
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.informed import informed
from stepagents.torchfn.target import Target, find_target
from stepagents.torchfn.trace import trace
from stepagents.traced.graph import TracedFunction
from stepcore.cycles.bounds import COMPUTE, bound_of
from stepcore.cycles.timed import time_program
from stepcore.graph.ir import ProgramSpec
from stepcore.printing.task import task_to_yaml
from stepcore.sim.functional import Session
from stepcore.sizes.dim import Dim
from stepcore.timing.hardware import PRESETS
from stepcore.types import Scalar
from test_torchfn_synth import job

SOURCE = """\
import torch
import torch.nn.functional as F


def product(a, b):  # stepsmith: a[M, K], b[K, N]
    return a @ b


def linear(x, w, b):  # stepsmith: x[M, K], w[N, K], b[N]
    return F.relu(F.linear(x, w, b))


def batched(a, b):  # stepsmith: a[B, M, K], b[B, K, N]
    return torch.tanh(a @ b)


def swiglu(x, wg, wu, wd):  # stepsmith: x[M, K], wg[K, N], wu[K, N], wd[N, K]
    return (F.silu(x @ wg) * (x @ wu)) @ wd


def attention(q, k, v):  # stepsmith: q[M, K], k[N, K], v[N, K]
    return torch.softmax(q @ k.T / q.shape[-1] ** 0.5, -1) @ v


def causal(q, k, v):  # stepsmith: q[M, K], k[M, K], v[M, K]
    future = torch.tril(torch.ones(q.shape[0], q.shape[0])) == 0
    return torch.softmax((q @ k.T).masked_fill(future, float("-inf")), -1) @ v


def heads(q, k, v):  # stepsmith: q[B, M, K], k[B, M, K], v[B, M, K]
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)


def normed(x, g, w):  # stepsmith: x[M, K], g[K], w[K, N]
    scale = torch.rsqrt((x * x).mean(-1, keepdim=True) + 1e-6)
    return (x * scale * g) @ w


def softmax(x):  # stepsmith: x[M, N]
    return torch.softmax(x, -1)


def layer_norm(x, w, b):  # stepsmith: x[M, N], w[N], b[N]
    return F.layer_norm(x, (x.shape[-1],), w, b)


def rotary(x, cos, sin):  # stepsmith: x[M, B, 2*K], cos[M, 2*K], sin[M, 2*K]
    a, b = x.chunk(2, -1)
    return x * cos[:, None] + torch.cat((-b, a), -1) * sin[:, None]


def gelu(x, b):  # stepsmith: x[M, N], b[N]
    return F.gelu(x + b)


def crossed(x, t):  # stepsmith: x[M, N], t[M] int64
    return F.cross_entropy(x, t)


def distance(x, y):  # stepsmith: x[B, M, N], y[B, M, N]
    return ((x - y) ** 2).mean() + x.sum()


def row_sums(x, w):  # stepsmith: x[M, N], w[M]
    return (x * x).sum(-1) * w


def largest(x):  # stepsmith: x[N]
    return torch.tanh(x.amax())


def gated(x, g):  # stepsmith: x[M, N], g[M, N]
    h = torch.zeros_like(x[0])
    out = torch.empty_like(x)
    for t in range(x.shape[0]):
        a = torch.sigmoid(g[t])
        h = a * h + (1 - a) * x[t]
        out[t] = h
    return F.silu(out) * x


def leaky(x, decay):  # stepsmith: x[M, N], decay[N]
    h, c, out = torch.zeros(x.shape[1]), torch.ones(x.shape[1]), []
    for t in range(x.shape[0]):
        h = decay * h + torch.exp(-x[t] * x[t])
        c = c * 0.5 + h
        out.append(torch.tanh(c) + x[t])
    return torch.stack(out)


def convolved(x, w, b):  # stepsmith: x[B, K, M, N], w[2*K, K, 3, 3], b[2*K]
    return F.relu(F.conv2d(x, w, b, stride=2, padding=1)) * 2


def convolved_rows(x, w):  # stepsmith: x[B, K, N], w[M, K, 5]
    return F.conv1d(torch.tanh(x), w, padding=3, dilation=2)


def depthwise(x, w):  # stepsmith: x[B, K, M, N], w[K, 1, 3, 3]
    return F.conv2d(x, w, padding=1, groups=x.shape[1]) + x


def grouped(x, w, b):  # stepsmith: x[1, 2*K, M, N], w[2*K, K, 1, 3], b[2*K]
    return F.conv2d(F.silu(x), w, b, stride=(1, 2), groups=2)


def in_columns(x, y):  # stepsmith: x[M, N], y[M, N]
    return torch.softmax(F.elu(x, 0.5), 0) + torch.cumsum(y, 0).flip(0)


def of_rows(x, y):  # stepsmith: x[M, N], y[M, N]
    unit = x / torch.linalg.vector_norm(x, dim=1, keepdim=True)
    spread = F.leaky_relu(y, 0.1).var(-1, keepdim=True, unbiased=False) - y.min(-1, keepdim=True).values
    return F.gelu(unit, approximate="tanh") + spread * torch.tanh(x).prod(1, keepdim=True)


def planes(x):  # stepsmith: x[B, K, M, N]
    return F.adaptive_avg_pool2d(x, 1)


def halves(x):  # stepsmith: x[M, 2*K]
    a, b = x.chunk(2, -1)
    return a * F.gelu(b)


def one_number(x):  # stepsmith: x[M, N]
    return torch.cumsum(x, 0)[-1, -1]


def sorted_rows(x):  # stepsmith: x[M, N]
    return torch.sort(x * 2, -1).values


def layers(x, w, b, v):  # stepsmith: x[B, M, K], w[N, K], b[N], v[K, N]
    return x + F.linear(F.gelu(F.linear(F.layer_norm(x, (x.shape[-1],)), w, b)), v)


def contracted(x, y):  # stepsmith: x[B, M, K], y[K, N]
    return torch.einsum("bij,jk->bik", x, y)


def bilinear(x, w, y):  # stepsmith: x[M, K], w[K, N], y[M, N]
    return torch.einsum("mk,kn,mn->m", x, w, y)


def normed_channels(x, m, v, g, b):  # stepsmith: x[B, K, M, N], m[K], v[K], g[K], b[K]
    return F.relu(F.batch_norm(x, m, v.abs(), g, b))


def normed_rows(x, m, v):  # stepsmith: x[B, M, N], m[M], v[M]
    return F.batch_norm(x, m, v.abs()) + F.instance_norm(x)


def normed_planes(x, s):  # stepsmith: x[B, K, M, N], s[B, K]
    return F.instance_norm(x) * s[:, :, None, None]


def placed(x, p, w):  # stepsmith: x[B, M, K], p[M, K], w[N, K]
    return F.linear(x + p, w)


def peaks(x):  # stepsmith: x[B, K, M, N]
    return x.amax((2, 3))


def sorted_planes(x, w):  # stepsmith: x[B, K, M, N], w[2*K, K, 3, 3]
    return torch.sort(F.conv2d(x, w, padding=1)).values
"""
FAMILIES = (
    "product", "linear", "batched", "swiglu", "attention", "causal", "heads",
    "normed", "softmax", "layer_norm", "rotary", "gelu", "crossed", "distance", "row_sums", "largest", "gated", "leaky",
    "in_columns", "of_rows", "planes", "halves", "convolved", "convolved_rows", "depthwise", "grouped",
    "layers", "contracted", "bilinear", "normed_channels", "normed_rows", "normed_planes", "placed", "peaks",
)  # fmt: skip
PAPER = PRESETS["paper"]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "functions.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def traced(path: Path, name: str, sizes: dict[str, int]) -> tuple[Target, TracedFunction]:
    target = find_target(str(path), path.read_text(encoding="utf-8"), name)
    asked = {
        symbol: size for symbol, size in sizes.items() if symbol in target.text.split(f"def {name}(")[1].split("\n")[0]
    }
    found = trace(target, completed(target, partly(target, [], asked)))
    has_numbers = any(item.dtype == "int64" for item in found.inputs)
    return target, informed(found, make_checks(found, 1)) if has_numbers else found


def best(found: TracedFunction) -> Tiled:
    (program,) = schedules(found, ScheduleOptions(PAPER)).programs
    return program


@pytest.mark.parametrize("name", FAMILIES)
def test_random_sizes_of_each_family_are_right(source: Path, name: str) -> None:
    random = Random(name)
    sizes = {symbol: random.choice([4, 8, 12, 16, 24, 32]) for symbol in "MKN"} | {"B": random.choice([2, 3, 4])}
    target, function = traced(source, name, sizes)
    program = best(function)
    file = delivered(function, target, program, source.parent, ".step.py")
    assert not file.fault and file.is_whole
    wanted = [tensor for stream in run_streams(oracle_task(program))[1] for tensor in dense(stream)]
    found = Session(drawn(program)).run(program.checked.typed).outputs
    for (tensor,), expected in zip(found, wanted, strict=True):
        # Sums of some hundred products, which the two add up in other orders.
        torch.testing.assert_close(tensor, expected, rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize(
    "name", ["product", "batched", "softmax", "leaky", "convolved", "row_sums", "contracted", "placed"]
)
def test_sizes_may_be_called_what_indices_of_lanes_are(source: Path, tmp_path: Path, name: str) -> None:
    given = {"M": 64, "K": 32, "N": 16, "B": 4}
    usual = best(traced(source, name, given)[1])
    head, line, rest = re.split(rf"(def {name}\(.*)", SOURCE, maxsplit=1)
    names = dict(zip("MKNB", "ijhg", strict=True))
    about = re.sub(r"\b[MKNB]\b", lambda found: names[found[0]], line)
    path = tmp_path / "named.py"
    path.write_text(f"{head}{about}{rest}", encoding="utf-8")
    target = find_target(str(path), path.read_text(encoding="utf-8"), name)
    asked = {names[symbol]: size for symbol, size in given.items() if re.search(rf"\b{symbol}\b", line)}
    function = trace(target, completed(target, partly(target, [], asked)))
    program = best(function)
    assert (program.schedule, program.cycles) == (usual.schedule, usual.cycles)
    file = delivered(function, target, program, tmp_path, ".step.py")
    assert not file.fault and file.is_whole


def oracle_task(program: Tiled) -> OracleTask:
    task = YAML(typ="safe", pure=True).load(task_to_yaml(drawn(program), program.impl, {}))
    sizes = dict(program.spec.defaults)
    task["global"] = "".join(f'{name} = Symbol("{name}")\nctx[{name}] = {size}\n' for name, size in sizes.items())
    return OracleTask("tiled", task)


def drawn(program: Tiled) -> ProgramSpec:
    real = Scalar("fp32")
    ports = tuple(
        replace(port, data_gen="torch.randn") if port.type.element == real else port for port in program.spec.parameters
    )
    return replace(program.spec, parameters=ports)


@pytest.mark.parametrize(
    ("name", "sizes", "most"),
    [
        ("product", {"M": 256, "K": 256, "N": 256}, 1.5),
        ("softmax", {"M": 512, "N": 512}, 1.3),
        ("attention", {"M": 256, "K": 64, "N": 256}, 2.5),
        ("swiglu", {"M": 64, "K": 256, "N": 512}, 1.5),
        ("crossed", {"M": 64, "N": 4096}, 1.5),
        ("gated", {"M": 128, "N": 512}, 1.8),
        ("convolved_rows", {"B": 16, "K": 64, "N": 256, "M": 64}, 2.0),
    ],
)
def test_the_best_schedule_is_near_the_bound(source: Path, name: str, sizes: dict[str, int], most: float) -> None:
    _, function = traced(source, name, sizes)
    program = best(function)
    timed = time_program(program.checked, PAPER)
    bound = bound_of(timed)
    assert bound is not None and bound.ratio is not None and bound.ratio < most
    assert timed.cycles == program.cycles
    units = zip(program.costs.units, program.costs.speeds(), strict=True)
    assert sum(unit.units * speed for unit, speed in units if unit.flops) <= COMPUTE


def test_the_file_is_for_reading(source: Path) -> None:
    found = job(source, "linear", emit="tiled", dims={"M": 64, "K": 32, "N": 64})
    text = found["programs"][0]["text"]
    line = SOURCE.splitlines().index("    return F.relu(F.linear(x, w, b))") + 1
    assert f"# line {line}: return F.relu(F.linear(x, w, b))\n" in text
    assert "TM, TN" in text and "for i in range(" in text
    assert any("a multiple of" in note for note in found["notes"])


def test_what_has_no_tiles_is_told_with_the_way_out(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("sorted_rows", "one_number", "sorted_planes")
    code = run_functions([f"{source}::{name}" for name in names], FunctionOptions(emit="tiled", dims={}))
    shown = capsys.readouterr().out
    assert code == 1
    line = SOURCE.splitlines().index("    return torch.sort(x * 2, -1).values") + 1
    assert f"functions.py:{line}: getitem: a result of sort has no form over tiles yet; --emit scalar writes" in shown
    assert "its result is one number, and no total of a tensor" in shown
    assert "sort beside a convolution has no form over tiles yet" in shown


def test_tiles_come_first_and_what_has_none_says_why(source: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = job(source, "softmax", emit="auto", dims={"M": 32, "N": 32})
    assert {program["form"] for program in found["programs"]} == {"tiled"}
    other = job(source, "sorted_rows", emit="auto", dims={"M": 4, "N": 8})
    line = SOURCE.splitlines().index("    return torch.sort(x * 2, -1).values") + 1
    reason = f"line {line}: a result of sort has no form over tiles yet"
    why = f"a program of single numbers, as there is none over tiles: {reason}"
    assert other["solved"] and {program.get("form", "scalar") for program in other["programs"]} == {"scalar"}
    assert why in other["notes"]
    assert run_functions([f"{source}::sorted_rows"], FunctionOptions(emit="auto", dims={"M": 4, "N": 8})) == 0
    assert f"note: {why}" in capsys.readouterr().err


def test_sizes_that_nobody_gave_make_no_tensor_too_large(source: Path) -> None:
    for name, most in (("softmax", 256), ("convolved", 32)):
        found = job(source, name, emit="tiled")
        assert found["solved"], found["reason"]
        assert max(found["programs"][0]["sizes"].values()) == most
        assert any(note.startswith("nobody gave sizes: ") for note in found["notes"])


@pytest.mark.parametrize(
    ("size", "expected"),
    [(1000, [25, 50, 125, 250, 500]), (1024, [16, 32, 64, 128, 256, 512]), (1009, [1]), (37, [37])],
)
def test_tiles_divide_any_size(size: int, expected: list[int]) -> None:
    assert divisors(size, 16, 512) == expected


def test_the_last_lane_of_a_prime_number_of_rows_has_fewer(source: Path) -> None:
    for name, sizes in (("softmax", {"M": 331, "N": 257}), ("layer_norm", {"M": 499, "N": 257})):
        target, function = traced(source, name, sizes)
        program = best(function)
        assert f"min(m, {sizes['M']} - i * m)" in program.impl
        assert program.multiples["M"] == program.least["M"] == sizes["M"]
        file = delivered(function, target, program, source.parent, ".step.py")
        assert not file.fault and file.is_whole
    found = job(source, "softmax", emit="tiled", dims={"M": 331, "N": 257})
    assert "the program holds for M = 331" in found["notes"]


class WholeMatrix(ScheduleForm):
    """A form of a test: the whole result in one call."""

    name = "whole"
    alone = True

    def takes(self, function: SizedFunction) -> bool:
        return len(function.dims) == 2

    def points(self, _function: SizedFunction) -> Iterator[Schedule]:
        yield Schedule(self.name, {}, ())

    def labels(self, _function: SizedFunction, _sizes: Mapping[str, Dim]) -> Labels:
        return (WHOLE, WHOLE)

    def loops(self, _function: SizedFunction, _labels: Labels) -> Loops:
        return ()

    def write(self, writer: Writer, plan: Scheduled) -> None:
        body = TileBody(writer.blocks)
        result = body.of(plan.result)
        streams = [writer.load(part, plan.outer, ()).text() for part in body.inputs]
        call = writer.mapped(
            "whole", body, plan.result, result, unit_of(writer, (), (), body, body.inputs, plan.result)
        )
        store(writer, plan, f"{call}.apply({tuple_text(streams)})", ())


def test_a_form_is_one_class(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, function = traced(source, "softmax", {"M": 8, "N": 16})
    monkeypatch.setattr(search, "FORMS", {"whole": WholeMatrix()})
    (program,) = schedules(function, ScheduleOptions(PAPER)).programs
    assert program.schedule == "whole: tiles of whole rows; 1 lanes" and program.cycles
    file = delivered(function, target, program, source.parent, ".step.py")
    assert not file.fault and file.verified
