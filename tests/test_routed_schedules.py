"""Mixtures of experts from plain functions: recognized by what is computed, right, dynamic tiles where they help."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from stepagents.schedules.deliver import checked_sizes, delivered
from stepagents.schedules.parts import NoSchedule
from stepagents.schedules.programs import Tiled
from stepagents.schedules.routed.costs import MixtureCosts
from stepagents.schedules.routed.mixture import mixture_of
from stepagents.schedules.routed.plan import MixturePlan, MixturePoint, plan_of, scored_at_once
from stepagents.schedules.routed.search import RoutedOptions, RoutedSearch, in_order, routed_schedules
from stepagents.schedules.routed.trace import routes_of, routing_trace, rows_of_experts
from stepagents.schedules.routed.writer import written
from stepagents.schedules.search import ScheduleOptions
from stepagents.torchfn.dims import completed, partly
from stepagents.torchfn.target import Target, find_target
from stepagents.torchfn.trace import trace
from stepagents.traced.graph import TracedFunction
from stepcore.cycles.bounds import COMPUTE
from stepcore.cycles.timed import time_program
from stepcore.timing.hardware import PRESETS
from test_torchfn_synth import job

SOURCE = """\
import torch
import torch.nn.functional as nnf


def first(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F]
    index = torch.topk(x @ wr, 1, dim=-1)[1]
    route = torch.zeros(x.shape[0], 4).scatter(1, index, 1.0)
    return torch.einsum("te,edf,td->tf", route, w, x)


def contracted(x, wr, gate, up, down):  # stepsmith: x[T, D], wr[D, E], gate[E, D, F], up[E, D, F], down[E, F, D]
    weight, index = torch.topk(torch.softmax(x @ wr, -1), 2, dim=-1)
    route = torch.zeros(x.shape[0], wr.shape[1]).scatter(1, index, weight / weight.sum(-1, keepdim=True))
    h = nnf.silu(torch.einsum("td,edf->etf", x, gate)) * torch.einsum("td,edf->etf", x, up)
    return torch.einsum("te,etd->td", route, torch.einsum("etf,efd->etd", h, down))


def batched(x, logits, outs, h, tile):  # stepsmith: x[T, D], logits[T, E], outs[E, D, F], h[E, D, F], tile[E, F, D]
    values, index = logits.topk(2)
    route = torch.zeros_like(logits).scatter_(1, index, torch.softmax(values, -1))
    rows = x.expand(outs.shape[0], -1, -1)
    hidden = nnf.silu(torch.bmm(rows, outs)) * torch.bmm(rows, h)
    return (route.T[:, :, None] * torch.bmm(hidden, tile)).sum(0)


def looped(x, wr, w1, b1, w2, b2):  # stepsmith: x[T, D], wr[D, 3], w1[3, D, F], b1[3, F], w2[3, F, D], b2[3, D]
    weight, index = torch.topk(torch.softmax(x @ wr, -1), 2, dim=-1)
    y = torch.zeros_like(x)
    for e in range(3):
        share = torch.where(index == e, weight, 0.0).sum(-1, keepdim=True)
        y = y + share * (nnf.gelu(x @ w1[e] + b1[e]) @ w2[e] + b2[e])
    return y


def one_hot(x, wr, w1, w2):  # stepsmith: x[T, D], wr[D, 4], w1[4, D, F], w2[4, F, D]
    weight, index = torch.topk(x @ wr, 2, dim=-1)
    route = (nnf.one_hot(index, 4) * torch.softmax(weight, -1)[:, :, None]).sum(1)
    return ((torch.relu(x @ w1) @ w2) * route.T.unsqueeze(-1)).sum(0)


def gated(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F]
    scores = torch.sigmoid(x @ wr)
    mask = (scores.argmax(-1, keepdim=True) == torch.arange(4)).float()
    return ((scores * mask)[:, :, None] * torch.einsum("td,edf->tef", x, w)).sum(1)


def single(x, wr, w):  # stepsmith: x[1, D], wr[D, 4], w[4, D, F]
    weight, index = torch.topk(x @ wr, 2, dim=-1)
    route = torch.zeros(1, 4).scatter(1, index, torch.softmax(weight, -1))
    return torch.einsum("te,edf,td->tf", route, w, x)


def shared_expert(x, wr, w, v):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F], v[D, F]
    weight, index = torch.topk(torch.softmax(x @ wr, -1), 2, dim=-1)
    route = torch.zeros(x.shape[0], 4).scatter(1, index, weight)
    return torch.einsum("te,edf,td->tf", route, w, x) + x @ v


# stepsmith: x[T, D], wr[D, 4], gate[4, D, F], up[4, D, F], down[4, F, D], sg[D, H], su[D, H], sd[H, D]
def shared_hidden(x, wr, gate, up, down, sg, su, sd):
    weight, index = torch.topk(torch.softmax(x @ wr, -1), 2, dim=-1)
    route = torch.zeros(x.shape[0], 4).scatter(1, index, weight / weight.sum(-1, keepdim=True))
    h = nnf.silu(torch.einsum("td,edf->etf", x, gate)) * torch.einsum("td,edf->etf", x, up)
    shared = (nnf.silu(x @ sg) * (x @ su)) @ sd
    return x + shared + torch.einsum("te,etd->td", route, torch.einsum("etf,efd->etd", h, down))


# stepsmith: x[T, D], wr[D, 4], w[4, D, D], s1[D, H], c1[H], s2[H, D], c2[D], v[D, D]
def shared_twice(x, wr, w, s1, c1, s2, c2, v):
    index = torch.topk(x @ wr, 2)[1]
    y = nnf.gelu(x @ s1 + c1) @ s2 + c2
    for e in range(4):
        y = y + (index == e).any(-1, keepdim=True) * (x @ w[e])
    return y + torch.relu(x @ v)


def shared_by_gate(x, wr, w, v, g):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F], v[D, F], g[D, 1]
    route = torch.zeros(x.shape[0], 4).scatter(1, torch.topk(x @ wr, 2)[1], 1.0)
    return torch.einsum("te,edf,td->tf", route, w, x) + torch.sigmoid(x @ g) * (x @ v)


# stepsmith: x[T, D], wr[D, 4], gate[4, D, F], down[4, F, D], sg[D, H], sd[H, D], g[1, D], v[D, D]
def gated_twice(x, wr, gate, down, sg, sd, g, v):
    weight, index = torch.topk(torch.softmax(x @ wr, -1), 2, dim=-1)
    route = torch.zeros(x.shape[0], 4).scatter(1, index, weight)
    h = torch.relu(torch.einsum("td,edf->etf", x, gate))
    routed = torch.einsum("te,etd->td", route, torch.einsum("etf,efd->etd", h, down))
    shared = nnf.silu(x @ sg) @ sd
    return x + routed + torch.sigmoid(nnf.linear(x, g)) * (0.5 * shared + x @ v) / (1 + weight.sum(-1, keepdim=True))


def by_columns(x, wr, w, v, g):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F], v[D, F], g[D, F]
    route = torch.zeros(x.shape[0], 4).scatter(1, torch.topk(x @ wr, 2)[1], 1.0)
    return torch.einsum("te,edf,td->tf", route, w, x) + torch.sigmoid(x @ g).cumsum(-1) * (x @ v)


def masked_softmax(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F]
    scores = x @ wr
    chosen = torch.zeros_like(scores).scatter(1, torch.topk(scores, 2, dim=-1)[1], 1.0)
    route = torch.softmax(scores.masked_fill(chosen == 0, float("-inf")), -1)
    return torch.einsum("te,edf,td->tf", route, w, x)


def masked_by_flags(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F]
    scores = x @ wr
    index = torch.topk(scores, 2, dim=-1)[1]
    flags = (index[:, :, None] == torch.arange(4)).any(1)
    route = torch.softmax(torch.where(flags, scores / 2, -1e30), -1)
    return torch.einsum("te,edf,td->tf", route, w, x)


def masked_scatter(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F]
    values, index = torch.topk(x @ wr, 2, dim=-1)
    kept = torch.full((x.shape[0], 4), float("-inf")).scatter(1, index, values)
    return torch.einsum("te,edf,td->tf", torch.softmax(kept, -1), w, x)


def masked_little(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F]
    scores = x @ wr
    chosen = torch.zeros_like(scores).scatter(1, torch.topk(scores, 2, dim=-1)[1], 1.0)
    route = torch.softmax(scores.masked_fill(chosen == 0, -1.0), -1)
    return torch.einsum("te,edf,td->tf", route, w, x)


def gate(x):  # stepsmith: x[T, E]
    values, places = x.topk(2, dim=-1)
    return torch.zeros_like(x).scatter(-1, places, torch.softmax(values, -1))


def residual(x, wr, w, g):  # stepsmith: x[T, D], wr[D, 4], w[4, D, D], g[D]
    route = torch.zeros(x.shape[0], 4).scatter(1, torch.topk(x @ wr, 2)[1], 1.0)
    return (x - 1) * g / 2 + torch.einsum("te,edf,td->tf", route, w, x) + 0.5


def batches(x, wr, w1, w2):  # stepsmith: x[B, T, D], wr[D, 4], w1[4, D, F], w2[4, F, D]
    flat = x.reshape(-1, x.shape[-1])
    weight, index = torch.topk(torch.softmax(flat @ wr, -1), 2, dim=-1)
    y = torch.zeros_like(flat)
    for e in range(4):
        y = y + (weight * (index == e)).sum(-1, keepdim=True) * (nnf.silu(flat @ w1[e]) @ w2[e])
    return x + y.reshape(x.shape)


def leading(x, wr, w1, w2):  # stepsmith: x[1, T, D], wr[D, 4], w1[4, D, F], w2[4, F, D]
    weight, index = torch.topk(torch.softmax(x @ wr, -1), 2, dim=-1)
    y = torch.zeros_like(x)
    for e in range(4):
        y = y + (weight * (index == e)).sum(-1, keepdim=True) * (nnf.silu(x @ w1[e]) @ w2[e])
    return y


def looked_up(x, wr, w1, w3, w2):  # stepsmith: x[T, D], wr[D, 4], w1[4, D, F], w3[4, D, F], w2[4, F, D]
    weight, best = torch.topk(torch.softmax(x @ wr, -1), 2, dim=-1)
    h = nnf.silu(torch.einsum("td,tkdf->tkf", x, w1[best])) * torch.einsum("td,tkdf->tkf", x, w3[best])
    return x + (weight[..., None] * torch.einsum("tkf,tkfd->tkd", h, w2[best])).sum(1)


def contracted_places(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F]
    weight, best = torch.topk(x @ wr, 2, dim=-1)
    return torch.einsum("tk,tkf->tf", weight, torch.einsum("td,tkdf->tkf", x, w[best]))


def looked_up_once(x, wr, w1, b1, w2, b2):  # stepsmith: x[T, D], wr[D, 4], w1[4, D, F], b1[4, F], w2[4, F, D], b2[4, D]
    best = (x @ wr).argmax(-1)
    h = torch.relu(torch.bmm(x[:, None], w1[best]) + b1[best][:, None])
    return torch.bmm(h, w2[best])[:, 0] + b2[best]


def other_rows(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, D]
    best = (x @ wr).argmax(-1)
    return torch.bmm(x[:, None], w[best.flip(0)])[:, 0]


def beside(x, wr, w, ws):  # stepsmith: x[T, D], wr[D, 4], w[4, D, D], ws[D, D]
    route = torch.zeros(x.shape[0], 4).scatter(1, torch.topk(x @ wr, 2)[1], 1.0)
    return x @ ws + torch.einsum("te,edf,td->tf", route, w, x)


def missing(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F]
    index = torch.topk(x @ wr, 2)[1]
    return sum((index == e).any(-1, keepdim=True) * (x @ w[e]) for e in range(3))


def unsummed(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F]
    index = torch.topk(x @ wr, 2)[1]
    return sum((index[:, 0, None] == e) * (x @ w[e]) for e in range(4))


def shuffled(x, wr, w):  # stepsmith: x[T, D], wr[D, 4], w[4, D, F]
    index = torch.topk(x @ wr, 2)[1]
    return sum((index == e).any(-1, keepdim=True) * (x @ w[3 - e]) for e in range(4))


def half(x, wr, w):  # stepsmith: x[T, D], wr[D, E], w[E, D, F]
    weight, index = torch.topk(x @ wr, wr.shape[1] // 2)
    route = torch.zeros_like(x @ wr).scatter(1, index, weight)
    return torch.einsum("te,edf,td->tf", route, w, x)


def largest(x):  # stepsmith: x[T, D]
    return torch.topk(x, 2)[0]


class Experts(torch.nn.Module):
    def __init__(self, width=16, hidden=32, experts=4, chosen=2):
        super().__init__()
        self.router = torch.nn.Linear(width, experts)
        self.chosen = chosen
        self.up = torch.nn.ModuleList(torch.nn.Linear(width, hidden) for _ in range(experts))
        self.down = torch.nn.ModuleList(torch.nn.Linear(hidden, width) for _ in range(experts))

    def forward(self, x):
        top, index = torch.topk(torch.softmax(self.router(x), dim=-1), self.chosen, dim=-1)
        top = top / top.sum(dim=-1, keepdim=True)
        out = torch.zeros_like(x)
        for number, (up, down) in enumerate(zip(self.up, self.down)):
            out += (top * (index == number)).sum(-1, keepdim=True) * down(nnf.silu(up(x)))
        return out


def get_inputs():
    return [torch.randn(8, 16)]


def get_init_inputs():
    return []
"""
SIZES = {"B": 2, "T": 16, "D": 8, "E": 4, "F": 24, "H": 16}
PAPER = PRESETS["paper"]
SPELLINGS = (
    "first",
    "contracted",
    "batched",
    "looped",
    "one_hot",
    "gated",
    "Experts",
    "single",
    "residual",
    "batches",
    "leading",
    "looked_up",
    "contracted_places",
    "looked_up_once",
    "shared_expert",
    "shared_hidden",
    "shared_twice",
    "beside",
    "masked_softmax",
    "masked_by_flags",
    "masked_scatter",
)
GATED = ("shared_by_gate", "gated_twice")  # shared experts of which each row takes a share that is computed of it


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "mixtures.py"
    path.write_text(SOURCE, encoding="utf-8")
    return path


def traced(path: Path, name: str, sizes: dict[str, int]) -> tuple[Target, TracedFunction]:
    target = find_target(str(path), path.read_text(encoding="utf-8"), name)
    line = re.search(rf"(#.*\n)?(def|class) {name}\(.*", SOURCE)[0]  # type: ignore[index]
    asked = {symbol: size for symbol, size in sizes.items() if f"{symbol}," in line or f"{symbol}]" in line}
    return target, trace(target, completed(target, partly(target, [], asked)))


def planned(path: Path, name: str, sizes: dict[str, int]) -> tuple[TracedFunction, MixturePlan]:
    _, function = traced(path, name, sizes)
    plan = plan_of(function, {**function.dims, **function.bound})
    assert plan is not None
    return function, plan


@pytest.mark.parametrize(
    ("name", "rows"),
    [*((name, 0) for name in (*SPELLINGS, *GATED)), ("first", 4), ("looped", 4), ("Experts", 3), ("shared_hidden", 4)],
)
def test_each_spelling_is_right(source: Path, name: str, rows: int) -> None:
    target, function = traced(source, name, SIZES)
    plan = plan_of(function, {**function.dims, **function.bound})
    assert plan is not None
    program = written(function, plan, MixturePoint(8, rows), PAPER, [8] * plan.count)
    assert ("step.Reshape(" in program.impl) == bool(rows)
    file = delivered(function, target, program, source.parent, ".step.py")
    assert not file.fault and file.is_whole and not file.note


@pytest.mark.parametrize(("name", "rows", "shared"), [("contracted", 0, 1), ("looped", 4, 1), ("one_hot", 4, 2)])
@pytest.mark.parametrize(
    "sizes",
    [("expert", "steps", "region", "TF"), ("member", "total", "read_0", "sent")],
    ids=["indices", "streams"],
)
def test_sizes_may_be_called_what_streams_and_indices_are(
    source: Path, name: str, rows: int, shared: int, sizes: tuple[str, ...]
) -> None:
    point = MixturePoint(8, rows, shared)
    assert written_as(source, name, point, sizes).costs == written_as(source, name, point, tuple("TDFE")).costs


def written_as(source: Path, name: str, point: MixturePoint, sizes: tuple[str, ...]) -> Tiled:
    """Return the program of a function whose sizes T, D, F and E have other names, which is right."""
    names = dict(zip("TDFE", sizes, strict=True))
    head, line, rest = re.split(rf"(def {name}\(.*)", source.read_text(encoding="utf-8"), maxsplit=1)
    about = re.sub(r"\b[TDFE]\b", lambda found: names[found[0]], line)
    path = source.with_name(f"{'_'.join(sizes)}.py")
    path.write_text(f"{head}{about}{rest}", encoding="utf-8")
    target = find_target(str(path), path.read_text(encoding="utf-8"), name)
    asked = {names[symbol]: SIZES[symbol] for symbol in "TDFE" if re.search(rf"\b{symbol}\b", line)}
    function = trace(target, completed(target, partly(target, [], asked)))
    plan = plan_of(function, {**function.dims, **function.bound})
    assert plan is not None
    program = written(function, plan, point, PAPER, [8] * plan.count)
    file = delivered(function, target, program, path.parent, ".step.py")
    assert not file.fault and file.is_whole and not file.note
    return program


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("half", "a k that follows a size has the number of another size here; write it as a number"),
        ("by_columns", "cumsum has no form over rows of an expert yet"),
        ("missing", "its experts are not the 4 that rows choose among, each once"),
        ("unsummed", "it is not added up over the experts of a row"),
        ("shuffled", "the tensors of its experts lie in another order"),
    ],
)
def test_what_is_another_computation_is_told(source: Path, name: str, reason: str) -> None:
    _, function = traced(source, name, SIZES)
    with pytest.raises(NoSchedule, match=reason):
        plan_of(function, {**function.dims, **function.bound})


def test_what_chooses_no_experts_is_no_mixture(source: Path) -> None:
    assert mixture_of(traced(source, "largest", {"T": 16, "D": 8})[1]) is None
    assert mixture_of(traced(source, "other_rows", SIZES)[1]) is None


def test_dynamic_tiles_are_found_where_they_are_better(source: Path) -> None:
    function, plan = planned(source, "batched", {"T": 64, "D": 64, "E": 4, "F": 128})
    trace = routing_trace(64, 4, 2, skew=1.0, seed=0)
    search = RoutedSearch(function, plan, RoutedOptions(PAPER, trace=trace))
    best = {way: group[0] for way, group in search.best().items()}
    assert in_order(list(best.values()))[0].point.rows == 0
    assert best["static"].cycles >= best["dynamic"].cycles * 0.99
    # with tiles that take about as much memory, weights are read again for every tile
    narrow = RoutedSearch(function, plan, RoutedOptions(PAPER, trace=trace, rows=(8,))).best()["static"][0]
    assert narrow.cycles > 1.25 * best["dynamic"].cycles
    # a chip that does not hold all rows of an expert gets static tiles
    most = (best["dynamic"].on_chip or 0) - 1
    little = RoutedSearch(function, plan, RoutedOptions(PAPER, capacity=most, trace=trace)).best()
    assert all(each.on_chip and each.on_chip <= most for group in little.values() for each in group)


def test_cycles_are_those_of_its_routes(source: Path) -> None:
    function, plan = planned(source, "batched", {"T": 32, "D": 32, "E": 4, "F": 64})
    drawn = routing_trace(32, 4, 2, skew=1.0, seed=0)
    for group in RoutedSearch(function, plan, RoutedOptions(PAPER)).best().values():
        (each,) = group
        graph, rows = each.program.checked.typed, each.point.rows
        timed = time_program(each.program.checked, PAPER, routes=routes_of(graph, drawn, 4, rows))
        assert timed.cycles == each.cycles == each.program.cycles
        # an expert without rows is not read
        alone = time_program(each.program.checked, PAPER, routes=routes_of(graph, [(0, 1)] * 32, 4, rows))
        assert alone.off_chip_bytes < timed.off_chip_bytes
    lowering = routed_schedules(function, ScheduleOptions(PAPER, wanted=2))
    assert lowering is not None and len(lowering.programs) == 2
    assert "cycles of the best tiles with drawn routes" in lowering.programs[0].schedule


def test_experts_that_share_a_region_are_right(source: Path) -> None:
    target, function = traced(source, "batched", SIZES)
    plan = plan_of(function, {**function.dims, **function.bound})
    assert plan is not None and plan.is_stacked
    program = written(function, plan, MixturePoint(8, 4, 2), PAPER, [8] * 4)
    assert program.impl.count("step.EagerMerge()") == 1 and "for region in range(2):" in program.impl
    file = delivered(function, target, program, source.parent, ".step.py")
    assert not file.fault and file.is_whole
    assert not planned(source, "looped", SIZES)[1].is_stacked  # something is added behind the last product
    assert not planned(source, "Experts", SIZES)[1].is_stacked


def test_many_experts_fit_a_chip_by_sharing_regions(source: Path) -> None:
    function, plan = planned(source, "batched", {"T": 32, "D": 64, "E": 16, "F": 64})
    best = RoutedSearch(function, plan, RoutedOptions(PAPER, capacity=200_000)).best()
    assert set(best) == {"static in shared regions"}
    (each,) = best["static in shared regions"]
    assert each.point.shared > 1 and each.on_chip is not None and each.on_chip <= 200_000


def test_slices_are_run_only_where_what_tiles_read_again_fits(source: Path) -> None:
    function, plan = planned(source, "batched", {"T": 64, "D": 2048, "E": 128, "F": 768})
    sizes = checked_sizes(written(function, plan, MixturePoint(16, 4, 16), PAPER, [4] * 128))
    assert {each["D"] for each in sizes} == {24} and {each["T"] for each in sizes} == {16, 64}


def test_the_example_has_the_figures_of_its_page() -> None:
    folder = Path(__file__).parents[1] / "examples" / "demo"
    path, page = folder / "torch_mixture.py", (folder / "torch_mixture.md").read_text()
    target = find_target(str(path), path.read_text(), "layer")
    function = trace(target, completed(target, partly(target, [], {"T": 64, "D": 256, "F": 512, "E": 8})))
    plan = plan_of(function, {**function.dims, **function.bound})
    assert plan is not None and plan.residual is not None
    drawn = routing_trace(64, 8, 2, skew=1.0, seed=0)
    search = RoutedSearch(function, plan, RoutedOptions(PAPER, trace=drawn, rows=(0,), shared=()))
    (dynamic,) = search.best()["dynamic"]
    assert f"| {dynamic.cycles:,} | {dynamic.on_chip:,} |" in page
    most = dynamic.on_chip or 0
    close = RoutedSearch(function, plan, RoutedOptions(PAPER, most, drawn, (4, 8, 16), ())).best()["static"][0]
    assert f"{close.point.rows} rows, as many bytes as dynamic ones | {close.cycles:,} | {close.on_chip:,} |" in page
    assert f"{close.cycles / dynamic.cycles:.2f} times fewer" in page


def test_rows_of_experts_are_those_of_the_trace() -> None:
    assert rows_of_experts([(0, 2), (2, 3), (1, 2)], 4) == [1, 1, 3, 1]


def test_it_works_for_a_user(source: Path) -> None:
    found = job(source, "contracted", emit="tiled", dims={"T": 4, "D": 64, "F": 64, "E": 16})
    (program, *_) = found["programs"]
    assert "step.Partition(N=16" in program["text"] and "step.Reassemble()" in program["text"]
    assert any("cycles of the best tiles" in note for note in found["notes"])
    # a loop over experts has as many folds as a network of layers; of few, small ones every row may be computed
    programs = job(source, "looped", emit="auto", dims={"T": 16, "D": 8, "F": 16})["programs"]
    assert any("step.Partition(N=3" in each["text"] for each in programs)
    told = job(source, "shuffled", emit="tiled", dims={"T": 16, "D": 8, "F": 16})
    assert told["solved"] and told["programs"][0]["layout"].startswith("arrays")


@pytest.mark.parametrize("name", [*SPELLINGS, *GATED])
def test_the_closed_form_of_memory_is_what_the_exact_engine_counts(source: Path, name: str) -> None:
    function, plan = planned(source, name, SIZES)
    rows = plan.rows.bind(plan.bound)
    drawn = routing_trace(rows, plan.count, plan.mixture.choice.count, skew=1.0, seed=0)
    held = rows_of_experts(drawn, plan.count)
    shared = [MixturePoint(8, 4, 2), MixturePoint(4, 3, plan.count)] if plan.is_stacked else []
    for point in (MixturePoint(8), MixturePoint(4, 3), *shared):
        program = written(function, plan, point, PAPER, held)
        timed = time_program(
            program.checked, PAPER, routes=routes_of(program.checked.typed, drawn, plan.count, point.rows)
        )
        assert program.estimated_bytes == timed.on_chip


def test_scores_are_computed_as_fast_as_makes_the_whole_faster(source: Path) -> None:
    """No expert begins before all rows have their scores; where they are little work, little compute is taken away."""
    _, plan = planned(source, "contracted", {"T": 64, "D": 64, "E": 8, "F": 4096})
    costs = MixtureCosts(plan, MixturePoint(8), PAPER, [16] * 8)
    units, share = costs.costs.units, costs.costs.speeds()
    assert costs.speeds[0] >= 4 * share[0]
    assert all(mine >= 0.9 * other for mine, other in zip(costs.speeds[1:], share[1:], strict=True))
    assert sum(unit.units * speed for unit, speed in zip(units, costs.speeds, strict=True)) <= COMPUTE
    # nothing is taken away where the scores wait for what they read, however fast they are computed
    _, plan = planned(source, "contracted", {"T": 64, "D": 16, "E": 8, "F": 256})
    costs = MixtureCosts(plan, MixturePoint(8), PAPER, [16] * 8)
    assert costs.speeds == costs.costs.speeds()


@pytest.mark.parametrize(
    ("sizes", "scored", "out"),
    [
        ({"D": 128, "F": 64}, 8, 8),
        ({"D": 32, "F": 64}, 2, 8),  # a piece of a row is a whole burst
        ({"D": 128, "F": 8192}, 4, 2),  # what takes a five-hundredth of the cycles needs no more lanes
        ({"D": 128, "F": 65536}, 1, 1),
    ],
)
def test_what_no_expert_works_beside_is_spread_over_lanes(
    source: Path, sizes: dict[str, int], scored: int, out: int
) -> None:
    function, plan = planned(source, "contracted", {"T": 64, "E": 8, **sizes})
    costs = MixtureCosts(plan, MixturePoint(8), PAPER, [16] * 8)
    assert (costs.scorer_lanes, costs.result_lanes) == (scored, out)
    text = written(function, plan, MixturePoint(8), PAPER, [16] * 8).impl
    assert (f"for lane in range({scored}):" in text) == (scored > 1)
    assert (f"step.Parallelize(N={out}, " in text) == (out > 1)


@pytest.mark.parametrize("name", ["contracted", "looped", "shared_by_gate", "residual"])
def test_what_is_scored_in_lanes_is_right(source: Path, name: str) -> None:
    target, function = traced(source, name, {**SIZES, "D": 64})
    plan = plan_of(function, {**function.dims, **function.bound})
    assert plan is not None
    rows = [8] * plan.count
    assert MixtureCosts(plan, MixturePoint(8), PAPER, rows).scorer_lanes == 4
    program = written(function, plan, MixturePoint(8), PAPER, rows)
    assert "D//4" in program.impl and "(D)" not in program.impl
    drawn = routing_trace(plan.rows.bind(plan.bound), plan.count, plan.mixture.choice.count, skew=1.0, seed=0)
    timed = time_program(program.checked, PAPER, routes=routes_of(program.checked.typed, drawn, plan.count, 0))
    held = written(function, plan, MixturePoint(8), PAPER, rows_of_experts(drawn, plan.count)).estimated_bytes
    assert timed.cycles is not None and held == timed.on_chip
    file = delivered(function, target, program, source.parent, ".step.py")
    assert not file.fault and file.is_whole and not file.note


def test_ports_may_ask_for_all_of_the_memory(source: Path) -> None:
    """How many bursts a port should ask for, only the exact engine knows: both ways are timed, the better is taken."""
    function, plan = planned(source, "contracted", {"T": 64, "D": 64, "E": 8, "F": 256})
    search = RoutedSearch(function, plan, RoutedOptions(PAPER, rows=(0,)))
    (best,) = search.best()["dynamic"]
    for dispatch in (None, 16):
        point = MixturePoint(
            best.point.columns, dispatch=dispatch or MixtureCosts(plan, best.point, PAPER, [16] * 8).dispatch
        )
        program = written(function, plan, point, PAPER, rows_of_experts(search.trace, 8))
        routes = routes_of(program.checked.typed, search.trace, 8, 0)
        assert best.cycles <= (time_program(program.checked, PAPER, routes=routes).cycles or 0)


@pytest.mark.parametrize(
    ("experts", "rows", "at_once"), [(8, 64, 16), (32, 64, 32), (128, 96, 32), (128, 512, 128), (8, 20, 4)]
)
def test_as_many_rows_are_scored_at_a_time_as_a_router_has_columns(
    source: Path, experts: int, rows: int, at_once: int
) -> None:
    _, plan = planned(source, "contracted", {"T": rows, "D": 16, "E": experts, "F": 16})
    assert scored_at_once(plan) == at_once
    costs = MixtureCosts(plan, MixturePoint(8), PAPER, [1] * experts).costs
    assert costs.units[0].calls == rows // at_once
    assert costs.units[0].reads == (4 * at_once * 16, 4 * experts * 16)


@pytest.mark.parametrize("name", ["by_columns", "masked_little"])
def test_what_is_not_routed_is_computed_for_all_experts_and_told(source: Path, name: str) -> None:
    found = job(source, name, emit="tiled", dims={"T": 8, "D": 12, "F": 8})
    assert found["solved"] and found["programs"][0]["layout"].startswith("arrays")
    (note,) = (each for each in found["notes"] if each.startswith("every row is computed for every expert: "))
    assert "experts cannot be routed: " in note


def test_beside_an_expert_of_all_rows_the_fewest_cycles_decide(source: Path) -> None:
    found = job(source, "shared_expert", emit="tiled", dims={"T": 64, "D": 64, "F": 64})
    dense = found["programs"][0]
    assert found["solved"] and dense["layout"].startswith("arrays")
    (note,) = (each for each in found["notes"] if each.startswith("every row is computed for every expert: "))
    told = [int(each.replace(",", "")) for each in re.findall(r"[\d,]+\d", note)]
    assert told[0] == dense["cycles"] < told[1]


def test_a_gate_without_experts_is_not_told_of_them(source: Path) -> None:
    found = job(source, "gate", emit="tiled", dims={"T": 8, "E": 8})
    assert found["solved"] and not any("expert" in each for each in found["notes"])
