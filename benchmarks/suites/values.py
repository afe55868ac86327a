"""Values of the published programs of generation 2 at their sizes, beside what PyTorch takes for the reference."""

from __future__ import annotations

import gc
import importlib.util
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from time import thread_time
from typing import Any, Final

import torch
from torch import Tensor

from benchmarks.decoding import decode_text, lengths_trace
from benchmarks.harness import ROOT, BenchReport, checked_text
from benchmarks.mixtures import MIXTRAL_CHOSEN, QWEN_CHOSEN, MixtureSizes, mixtral, mixture_text, qwen
from stepagents.schedules.routed.trace import routing_trace
from stepcore.sim.functional import Session
from stepcore.surface.program import Program

LIMIT: Final = 20  # times the reference
_AGAIN: Final = 2
_COLUMNS: Final = 128  # of a head
_OFF: Final = 0.02  # of the norm of a result: bf16 has 8 bits
_MEMORY: Final = 1 << 40  # bytes; what there is decides


@dataclass(frozen=True, slots=True)
class ValuedProgram:
    """A program and its data; ``routed`` computes what the reference does from the rows alone that an expert gets."""

    name: str
    text: str
    data: Mapping[str, Tensor]
    routed: Callable[..., Tensor] | None = None


@dataclass(frozen=True, slots=True)
class Measured:
    """Seconds of the first run, of a further one, of the reference, and of the leanest code for the same; how far the
    values are off, of their norm.
    """

    first: float
    run: float
    reference: float
    routed: float
    off: float


def run() -> BenchReport:
    """Measure on one thread; all times are of the processor."""
    title = "Values of the programs at these sizes, beside their PyTorch references"
    columns = ("program", "first run, s", "run, s", "reference, s", "over it", "routed in PyTorch, s", "over it")
    report = BenchReport("generation2-values", title, columns)
    torch.set_num_threads(1)
    worst = least = 0.0
    for make in CASES:
        case = make()
        found = measured(case)
        over, lean = found.run / found.reference, found.run / found.routed if case.routed else 0.0
        shown = [f"{found.routed:.3f}", f"{lean:.1f}"] if case.routed else ["", ""]
        report.rows.append(
            [case.name, f"{found.first:.3f}", f"{found.run:.3f}", f"{found.reference:.3f}", f"{over:.1f}", *shown]
        )
        report.figures[case.name] = asdict(found)
        worst, least = max(worst, over), max(least, lean)
        del case
        gc.collect()
    report.goal("simulating, over the PyTorch reference: the slowest", worst, LIMIT, "x")
    report.goal("over PyTorch code that computes what is routed alone", least, LIMIT, "x")
    return report


def measured(case: ValuedProgram, again: int = _AGAIN) -> Measured:
    """Run a program and its reference on the same data, each so often again.

    Raises:
        SystemExit: their values differ.
    """
    checked, reference = checked_text(case.text, "program.py"), _program(case.text).reference
    assert reference is not None, "a program of ours has one"
    given = {name: [tensor] for name, tensor in case.data.items()}
    session = Session(checked.spec, limit=_MEMORY, examine=False, given=lambda _dtype: given)
    first, ran = _seconds(lambda: session.run(checked.typed))
    times = [_seconds(lambda: session.run(checked.typed))[0] for _ in range(again)]
    weights = {port.name for port in checked.spec.parameters}
    inputs = [tensor for name, tensor in case.data.items() if name not in weights]
    named = {name: tensor for name, tensor in case.data.items() if name in weights}
    found, expected = ran.outputs[0][0].double(), reference(*inputs, **named).double()
    off = float((found - expected).norm() / expected.norm())
    if not off < _OFF:
        raise SystemExit(f"{case.name}: the values are {off:.3g} off")
    functions = (reference, case.routed or reference)
    own, routed = (fmean(_seconds(partial(f, *inputs, **named))[0] for _ in range(again)) for f in functions)
    return Measured(first, fmean(times), own, routed, off)


def _seconds(function: Callable[[], Any]) -> tuple[float, Any]:
    start = thread_time()
    with torch.inference_mode():
        result = function()
    return thread_time() - start, result


def _program(text: str) -> Program:
    """Import a text of ours and return its program."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "measured.py"
        path.write_text(text, encoding="utf-8")
        spec = importlib.util.spec_from_file_location("measured", path)
        assert spec is not None and spec.loader is not None, "a Python file"
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    (program,) = (value for value in vars(module).values() if isinstance(value, Program))
    return program


# -- programs ----------------------------------------------------------------------------------------------------


def _drawn(*shape: int, dtype: torch.dtype, scale: float = 1.0) -> Tensor:
    return torch.empty(shape, dtype=dtype).normal_(0, scale, generator=torch.Generator().manual_seed(sum(shape)))


def _experts(count: int, *shape: int) -> Tensor:
    """Return weights of experts, which differ by a factor: to draw them all would take as long as all else."""
    factors = torch.linspace(0.5, 1, count, dtype=torch.bfloat16)
    return _drawn(*shape, dtype=torch.bfloat16, scale=shape[0] ** -0.5) * factors[:, None, None]


def _routed(x: Tensor, route: Tensor, wg: Tensor, wu: Tensor, wd: Tensor) -> Tensor:
    """The mixture as a network computes it: each expert gets its rows."""
    result = torch.zeros_like(x[:, 0])
    for expert in range(len(wg)):
        which = route[:, expert].nonzero().flatten()
        rows = x[which, 0]
        inner = torch.nn.functional.silu(rows @ wg[expert].T) * (rows @ wu[expert].T)
        result.index_add_(0, which, inner @ wd[expert])
    return result.unsqueeze(1)


def _mixture(name: str, sizes: MixtureSizes, chosen: int, tile: int, shared: int = 1) -> ValuedProgram:
    trace = routing_trace(sizes.batch, sizes.experts, chosen, skew=0.0, seed=0)
    route = torch.zeros(sizes.batch, sizes.experts, dtype=torch.bfloat16)
    for row, experts in enumerate(trace):
        route[row, list(experts)] = 1
    data = {
        "x": _drawn(sizes.batch, sizes.hidden, dtype=torch.bfloat16).unsqueeze(1), "route": route,
        "wg": _experts(sizes.experts, sizes.hidden, sizes.inner).mT.contiguous(),
        "wu": _experts(sizes.experts, sizes.hidden, sizes.inner).mT.contiguous(),
        "wd": _experts(sizes.experts, sizes.inner, sizes.hidden),
    }  # fmt: skip
    return ValuedProgram(name, mixture_text(sizes, tile, shared), data, _routed)


def _decoder(batch: int) -> ValuedProgram:
    lengths = torch.tensor(lengths_trace(batch, mean=16, spread=1.0, seed=0))
    total = int(lengths.sum())
    cache = (total * 64, _COLUMNS)
    data = {
        "q": _drawn(batch, 8, _COLUMNS, dtype=torch.float32), "first": lengths.cumsum(0) - lengths, "n": lengths,
        "k": _drawn(*cache, dtype=torch.float32, scale=_COLUMNS**-0.5), "v": _drawn(*cache, dtype=torch.float32),
    }  # fmt: skip
    return ValuedProgram(f"decoder, {batch} requests", decode_text("free", batch, _COLUMNS, total), data)


def _dense() -> ValuedProgram:
    text = (ROOT / "examples" / "swiglu_tiles.py").read_text(encoding="utf-8")
    rows, hidden, inner = 64, 4096, 14336
    old = "dims={B: 64, D: 256, F: 512}"
    if text.count(old) != 1:
        raise ValueError(f"the example has no {old!r}")
    up, down = (hidden, inner), (inner, hidden)
    data = {
        "x": _drawn(rows, hidden, dtype=torch.float32),
        "wg": _drawn(*up, dtype=torch.float32, scale=hidden**-0.5),
        "wu": _drawn(*up, dtype=torch.float32, scale=hidden**-0.5),
        "wd": _drawn(*down, dtype=torch.float32, scale=inner**-0.5),
    }
    return ValuedProgram(
        "dense layer, 64 rows", text.replace(old, f"dims={{B: {rows}, D: {hidden}, F: {inner}}}"), data
    )


CASES: Final[Sequence[Callable[[], ValuedProgram]]] = (
    _dense,
    lambda: _mixture("Mixtral-like, 64 rows, tiles of 16", mixtral(64), MIXTRAL_CHOSEN, 16),
    lambda: _mixture("Mixtral-like, 64 rows, dynamic tiles", mixtral(64), MIXTRAL_CHOSEN, 0),
    lambda: _mixture("Mixtral-like, 1,024 rows, dynamic tiles", mixtral(1024), MIXTRAL_CHOSEN, 0),
    lambda: _mixture("Qwen-like, 64 rows, 4 experts of a region", qwen(64), QWEN_CHOSEN, 16, 4),
    lambda: _decoder(16),
    lambda: _decoder(64),
)
