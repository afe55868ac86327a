"""Rewrites: each has a page with a program before and after, and keeps what random programs compute."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import torch

from oracle import Stream, dense
from programs import count, generate, impl_text, task_text
from programs.deviating import deviating_module
from programs.folded import folded_module
from programs.laned import MEETING, busy_task, laned_task
from programs.online import OnlineModule, online_module
from programs.running import PATH, assert_same_values, run_library, run_oracle
from programs.tiled import tiled_task
from rewrite_pages import CHIPS, PAIRS, SECTIONS, oracle_values, same_in_a_task, subject
from stepcore.check import check_text
from stepcore.conversion.to_task import python_to_task
from stepcore.cycles.bounds import COMPUTE
from stepcore.rewrites import REWRITES, applied, subject_of
from stepcore.rewrites.folds import JoinFolds, SplitFold
from stepcore.rewrites.fused_maps import FuseMaps
from stepcore.rewrites.interchanged import Interchange
from stepcore.rewrites.lane_counts import LaneCounts
from stepcore.rewrites.lanes import Lanes
from stepcore.rewrites.loaded_again import LoadAgain
from stepcore.rewrites.on_chip_copies import KeepOnChip
from stepcore.rewrites.online_folds import OnlineFold
from stepcore.rewrites.split_maps import SplitMap
from stepcore.rewrites.tile_sizes import TileSizes
from stepcore.sim.functional import Session
from stepcore.sim.nested import values_of
from stepcore.timing.hardware import PRESETS


def test_every_rewrite_has_its_page() -> None:
    assert sorted(name for name, _, _ in SECTIONS) == sorted(rewrite.name for rewrite in REWRITES)
    assert len({rewrite.summary for rewrite in REWRITES}) == len(REWRITES)


@pytest.mark.parametrize(("name", "before", "after"), PAIRS, ids=[f"{n}{name}" for n, (name, *_) in enumerate(PAIRS)])
def test_the_page_tells_what_a_rewrite_does(name: str, before: str, after: str) -> None:
    (rewrite,) = [rewrite for rewrite in REWRITES if rewrite.name == name]
    olds = [subject(before, chip=chip) for chip in CHIPS]
    made = [applied(old, site) for old in olds for site in rewrite.sites(old)]
    assert after in [each.text for each in made if each is not None]


def mends(text: str, path: str) -> int:
    """Apply each rewrite everywhere in a task; the oracle finds the same results. Gives how many sites there were."""
    old, tried = subject(text, path), 0
    wanted = run_oracle(text)
    for rewrite in REWRITES:
        for site in rewrite.sites(old):
            new = applied(old, site)
            if new is None:
                continue
            tried += 1
            assert site.sentence
            found = run_oracle(new.text)
            assert found.returned == wanted.returned
            last = [dense(stream) for stream in found.used[-found.returned :]] if found.returned else []
            try:
                assert_same_values(last, wanted.used[-wanted.returned :] if wanted.returned else [])
            except AssertionError as error:
                error.add_note(f"{rewrite.name}: {site.sentence}\n{new.text}")
                raise
    return tried


@pytest.mark.parametrize("first", range(0, count(60), 15))
def test_random_programs_compute_the_same(first: int) -> None:
    tried = 0
    for seed in range(first, first + 15):
        program = generate(Random(seed), 8)
        tried += mends(task_text(program, impl_text(program)), PATH)
    assert tried


@pytest.mark.parametrize("first", range(0, count(60), 15))
def test_random_programs_of_tiles_compute_the_same(first: int) -> None:
    tried = 0
    for seed in range(first, first + 15):
        text = tiled_task(Random(seed))
        tried += mends(text, PATH)
    assert tried


def test_more_lanes_say_that_their_units_compute_less() -> None:
    """With `bw=` in four of the lines that changed the step said only how many lanes there are."""
    path = Path(__file__).parents[1] / "examples" / "decode_attention.py"
    old = subject_of(path.read_text(encoding="utf-8"), str(path), "decode")
    timed = None if old is None else old.timed_on(PRESETS["default"], COMPUTE, 20_000_000)
    assert timed is not None
    more, fewer = (site.sentence for site in LaneCounts().sites(timed))
    less = ", and bw= of 4 operators no higher than what they read and write lets them use"
    assert (more, fewer) == (f"8 lanes, not 4 (line 65){less}", "2 lanes, not 4 (line 65)")


def test_random_lanes_compute_the_same_in_other_numbers() -> None:
    offered = 0
    for seed in range(count(60)):
        text = laned_task(Random(seed))
        is_offered = any(True for _ in LaneCounts().sites(subject(text, PATH)))
        assert not (is_offered and MEETING in text), text
        offered += is_offered
        mends(text, PATH)
    assert offered > 20


def test_busy_units_compute_the_same_in_lanes() -> None:
    kinds: dict[str, int] = {}
    for seed in range(count(40)):
        text = busy_task(Random(seed))
        old = subject(text, PATH)
        made = [applied(old, site) for site in Lanes().sites(old)]
        assert None not in made, text
        for each in made:
            kinds["all"] = kinds.get("all", 0) + 1
            for word in ("Reshape", "Accum", "Scan", "lanes_2"):
                kinds[word] = kinds.get(word, 0) + (each is not None and word in each.text.split("impl:")[1])
        mends(text, PATH)
    assert min(kinds.values()) > 3, kinds


def test_lanes_of_cut_chunks_follow_tiles_of_other_sizes() -> None:
    tiles = Path(__file__).parents[1] / "benchmarks" / "tiles" / "mlp_tiles.py"
    text = tiles.read_text(encoding="utf-8").replace("TM, TF = 16, 32", "TM, TF = 32, 8")
    old = subject(text)
    made = [applied(old, site) for site in Lanes().sites(old)]
    cut = [each for each in made if each is not None and "step.Reshape(S=n, " in each.text]
    assert cut
    for each in cut:
        sizes = list(TileSizes().sites(each))
        assert [site for site in sizes if "TF" in site.sentence]
        assert None not in [applied(each, site) for site in sizes]


def test_random_folds_compute_the_same_in_parts_and_together() -> None:
    tried = dict.fromkeys(("split-fold", "join-folds"), 0)
    in_tasks = 0
    for seed in range(count(80)):
        text, may_split = folded_module(Random(seed))
        old = subject(text)
        wanted = oracle_values(text)
        for rewrite in (SplitFold(), JoinFolds()):
            for site in rewrite.sites(old):
                new = applied(old, site)
                assert new is not None, text
                assert may_split, text
                assert len(new.text.splitlines()) <= len(text.splitlines()) + 14
                assert_same_values([dense(stream) for stream in oracle_values(new.text)], wanted)
                tried[rewrite.name] += 1
            in_tasks += same_in_a_task(rewrite, text, wanted) if tried[rewrite.name] < 20 else 0
    assert min(tried.values()) > 8, tried
    assert in_tasks > 16


@pytest.mark.parametrize(
    ("made", "readers"),
    [(online_module, ("greatest",)), (deviating_module, ("mean", "sums", "rows"))],
    ids=["greatest values", "means"],
)
def test_random_rows_that_are_folded_twice_are_folded_once(
    made: Callable[[Random], OnlineModule], readers: tuple[str, ...]
) -> None:
    tried = dict.fromkeys(("none", *readers, "exponentials", "Param", "Bufferize", "RepeatRef", "in a task"), 0)
    refused: dict[str, int] = {}
    for seed in range(count(120)):
        module = made(Random(seed))
        old = subject(module.text)
        sites = list(OnlineFold().sites(old))
        if module.refused:
            assert not sites, module.text
            refused[module.refused] = refused.get(module.refused, 0) + 1
            continue
        (site,) = sites
        new = applied(old, site)
        assert new is not None, module.text
        assert len(new.graph.nodes) < len(old.graph.nodes) + (4 if module.reader == "exponentials" else 2), new.text
        wanted = oracle_values(module.text)
        assert_same_values([dense(stream) for stream in oracle_values(new.text)], wanted)
        assert not list(OnlineFold().sites(new)), new.text
        tried[module.reader] += 1
        for word in ("Param", "Bufferize", "RepeatRef"):
            tried[word] += word in module.text
        if seed % 4 == 0:
            tried["in a task"] += online_in_a_task(module.text, wanted)
    assert min(tried.values()) > 3, tried
    assert len(refused) == 2
    assert min(refused.values()) > 3, refused


def online_in_a_task(text: str, wanted: list[Stream]) -> int:
    """Fold once in the same program as a task."""
    module = check_text(text, "page.py", with_fixes=False).module
    assert module is not None
    old = subject(python_to_task(module, module.programs[0]), PATH)
    (site,) = OnlineFold().sites(old)
    new = applied(old, site)
    assert new is not None, old.text
    run = run_oracle(new.text)
    assert_same_values([dense(stream) for stream in run.used[-run.returned :]], wanted)
    return 1


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('fp32"|step.f32', 'fp16"|step.f16'),  # scaled again and again, sums would lose too much
        ("stride=[1, n]).apply()\n    v", "stride=[1, 0]).apply()\n    v"),  # other rows
        (
            "    top = step",
            "    first = step.Identity().apply(first)\n    top = step",
        ),  # where it is moved, it is another
        ("amax(1, keepdim=True)", "amin(1, keepdim=True)"),  # exponents could grow
        ("input[0] @ input[1]]", "torch.tanh(input[0]) @ input[1]]"),  # not in proportion
    ],
)
def test_two_folds_stay_two(old: str, new: str) -> None:
    (text,) = [before for name, before, _ in SECTIONS if name == "online-fold"]
    assert list(OnlineFold().sites(subject(text)))
    for one, other in zip(old.split("|"), new.split("|"), strict=True):
        assert one in text
        text = text.replace(one, other)
    assert not list(OnlineFold().sites(subject(text)))


@pytest.mark.parametrize("masked", [0, 1, 3])
def test_scores_that_are_masked_are_folded_once(masked: int) -> None:
    (text,) = [before for name, before, _ in SECTIONS if name == "online-fold"]
    old = subject(text)
    (site,) = OnlineFold().sites(old)
    new = applied(old, site)
    assert new is not None
    scores = torch.randn(64, 1024, dtype=torch.float64)
    scores[:, : 64 * masked] = -torch.inf  # the first tiles of each row
    data = {"scores": [scores], "values": [torch.randn(1024, 16, dtype=torch.float64)]}
    found = []
    for each in (old, new):
        session = Session(each.checked.spec, dtype=torch.float64, given=lambda _dtype: data)
        streams = session.run(each.checked.typed, keep=True).streams
        made = streams[each.checked.typed.returns[0]]
        assert made is not None
        found.append(values_of(made.dense()[0]))
    assert found[0].isfinite().all()
    torch.testing.assert_close(found[1], found[0], rtol=1e-12, atol=1e-12)


def test_deviations_from_a_large_mean_keep_their_digits() -> None:
    (text,) = [before for name, before, _ in PAIRS if name == "online-fold" and "mean" in before]
    old = subject(text)
    (site,) = OnlineFold().sites(old)
    new = applied(old, site)
    assert new is not None
    rows = torch.randn(64, 1024, dtype=torch.float64) + 1000.0
    rows = rows.to(torch.float32).to(torch.float64)
    wanted = rows.var(1, correction=0) * 1024
    session = Session(new.checked.spec, dtype=torch.float32, given=lambda _dtype: {"x": [rows.to(torch.float32)]})
    made = session.run(new.checked.typed, keep=True).streams[new.checked.typed.returns[0]]
    assert made is not None
    found = values_of(made.dense()[0]).reshape(-1).to(torch.float64)
    torch.testing.assert_close(found, wanted, rtol=3e-5, atol=0)
    squares = (rows.to(torch.float32) ** 2).sum(1) - rows.to(torch.float32).sum(1) ** 2 / 1024
    assert (squares.to(torch.float64) / wanted - 1).abs().max() > 1e-3  # what sums of squares would have lost


def test_tiles_kept_on_chip_are_loaded_again_as_before() -> None:
    tried = 0
    for seed in range(count(120)):
        old = subject(tiled_task(Random(seed)), PATH)
        for site in KeepOnChip().sites(old):
            kept = applied(old, site)
            assert kept is not None
            wanted = run_oracle(kept.text)
            for back in LoadAgain().sites(kept):
                new = applied(kept, back)
                assert new is not None, kept.text
                found = run_oracle(new.text)
                values = [dense(stream) for stream in found.used[-found.returned :]]
                assert_same_values(values, wanted.used[-wanted.returned :])
                assert "Bufferize(a=" not in new.text or len(new.graph.nodes) == len(kept.graph.nodes) - 2
                tried += 1
    assert tried > 8


def mapped_module(rng: Random) -> str:
    """A Python file with a Map of two loads with three counters."""
    sizes = [rng.choice((2, 3)), rng.choice((1, 2, 4)), rng.choice((1, 2))]
    strides = [rng.choice(([1, 0, 2], [0, 1, 0], [2, 0, 0], [1, 3, 0])) for _ in range(2)]
    lines = ["from typing import Annotated", "", "import torch", "", "import stepcore as step", ""]
    lines += ['T = step.Tile("fp32", [2, 3])', "", "", "@step.fn(input=(T, T), output=T)", "def both(input):"]
    lines += ["    return [input[0] - torch.tanh(input[1])]", "", ""]
    parameters = ", ".join(f"{name}: Annotated[step.Param, step.f32, (12, 64)]" for name in "xy")
    lines += ['@step.program(data={"x": "torch.randn", "y": "torch.randn"})']
    lines += [f"def mapped(*, {parameters}) -> Annotated[step.Stream, T, {tuple(sizes)}]:"]
    loads = [
        f"step.LinearOffChipLoad(tensor={name}, tile=[2, 3], shape={sizes}, stride={stride}).apply()"
        for name, stride in zip("xy", strides, strict=True)
    ]
    return "\n".join([*lines, f"    return step.Map(fn=both).apply(({loads[0]}, {loads[1]}))", ""])


def test_random_loops_compute_the_same_interchanged() -> None:
    kinds = dict.fromkeys(("in order again", "inside of the fold", "of a Map"), 0)
    for seed in range(count(120)):
        rng = Random(seed)
        text, may_join = folded_module(rng) if seed % 3 else (mapped_module(rng), True)
        old = subject(text)
        wanted = oracle_values(text)
        for site in Interchange().sites(old):
            new = applied(old, site)
            assert new is not None, text
            assert_same_values([dense(stream) for stream in oracle_values(new.text)], wanted)
            is_ordered = "Streamify" in new.text
            assert is_ordered or may_join
            kinds["of a Map" if seed % 3 == 0 else "in order again" if is_ordered else "inside of the fold"] += 1
    assert min(kinds.values()) > count(8), kinds


def split_module(rng: Random) -> str:
    """A Python file with a Map of one or two inputs, of which some are repeated or shaped before."""
    parts = ("input[0]", "torch.tanh(input[0])", "(input[0] * input[0] - 0.5)", "torch.exp(-input[0])")
    count = rng.choice((1, 2, 2))
    own = [rng.choice(parts).replace("[0]", f"[{number}]") for number in range(count)]
    whole = rng.choice(("{0} * {1}", "torch.maximum({0}, {1} + 1.0)", "{1} - torch.sqrt(torch.abs({0}))"))
    if count == 1:
        whole = rng.choice(("torch.sigmoid({0})", "{0} * {0}", "2.0 - {0}"))
    elif rng.randrange(4) == 0:
        whole = f"({whole}) + input[0]"
    given = [
        rng.choice(("step.Repeat(n=N).apply({})", "step.Repeat(n=N).apply(step.Identity().apply({}))")) for _ in own
    ]
    streams = [text.format(f"x{number}") for number, text in enumerate(given)]
    kind = "step.f32" if count == 1 else "(step.f32, step.f32)"
    inputs = ", ".join(f"x{number}: Annotated[step.Stream, step.f32, (M,)]" for number in range(count))
    argument = streams[0] if count == 1 else f"({', '.join(streams)})"
    data = ", ".join(f'"x{number}": "torch.randn"' for number in range(count))
    lines = ["from typing import Annotated", "", "import torch", "", "import stepcore as step", ""]
    lines += ["from stepcore.dims import M, N", "", f"@step.fn(input={kind}, output=step.f32)", "def f(input):"]
    lines += [f"    return [{whole.format(*own)}]", "", f"@step.program(dims={{M: 3, N: 4}}, data={{{data}}})"]
    lines += [f"def split({inputs}) -> Annotated[step.Stream, step.f32, (N, M)]:"]
    return "\n".join([*lines, f"    return step.Map(fn=f).apply({argument})", ""])


def test_random_maps_compute_the_same_in_two_units() -> None:
    tried = in_tasks = 0
    for seed in range(count(60)):
        text = split_module(Random(seed))
        old = subject(text)
        wanted = oracle_values(text)
        for site in SplitMap().sites(old):
            new = applied(old, site)
            assert new is not None, text
            assert len(new.graph.nodes) == len(old.graph.nodes) + 1
            assert_same_values([dense(stream) for stream in oracle_values(new.text)], wanted)
            tried += 1
        in_tasks += same_in_a_task(SplitMap(), text, wanted)
    assert tried == in_tasks > 20


def cut_module(rng: Random) -> tuple[str, set[tuple[str, int, int]]]:
    """A Python file with a product in tiles, and the sizes that may be others: name, what it is, the next ones."""
    rows, inner = rng.choice((2, 3, 4, 6)), rng.choice((5, 10, 15))
    m, k = rows * rng.choice((2, 3, 5)), inner * rng.choice((1, 2, 3, 4, 6, 6))
    names = {rows: rng.choice(("", "R")), inner: rng.choice(("", "C"))}
    r, c = (names[value] or str(value) for value in (rows, inner))
    trap = rng.choice(("", "", "", "", "count", "factor", "reference", "named"))
    count = str(k // inner) if trap == "count" else f"K // {c}"
    lines = ["from typing import Annotated", "", "import torch", "", "import stepcore as step"]
    lines += ["from stepcore.dims import K, M", ""]
    lines += [f"{name} = {value}" for value, name in names.items() if name]
    lines += [f"OTHER = {rows}"] * (trap == "named")
    lines += [
        f'A, B, Y = step.Tile("fp32", [{r}, {c}]), step.Tile("fp32", [{c}, 7]), step.Tile("fp32", [{r}, 7])',
        "",
        "",
    ]
    lines += ["@step.fn(input=(A, B), output=Y, init=[0])", "def product(state, input):"]
    lines += [f"    return [state[0] + input[0] @ input[1] * {rows} / {inner}]", "", ""]
    lines += ["def reference(a, b):", "    extra = " + (f"torch.arange({r})" if trap == "reference" else "0")]
    lines += [f"    return ((a @ b) + extra.sum()).reshape(-1, {r}, 7)", "", ""]
    data = '{"a": "torch.randn", "b": "torch.randn"}'
    parameters = "a: Annotated[step.Param, step.f32, (K, M)], b: Annotated[step.Param, step.f32, (7, K)]"
    lines += [f"@step.program(reference=reference, dims={{M: {m}, K: {k}}}, data={data})"]
    lines += [f"def multiply(*, {parameters}) -> Annotated[step.Stream, Y, (M // {r},)]:"]
    lines += [f"    n = M // {r}" + (f" + 0 * {rows}" if trap == "factor" else "")]
    load = "step.LinearOffChipLoad(tensor={}, tile=[{}], shape=[{}, n], stride=[1, {}]).apply()"
    lines += [f"    rows = {load.format('a', f'{r}, {c}', count, f'K // {c}')}"]
    lines += [f"    columns = {load.format('b', f'{c}, 7', count, '0')}"]
    lines += ["    return step.Accum(fn=product, b=1).apply((rows, columns))", ""]
    free = {*names} if trap != "count" else {rows} if count == "1" else set()  # one tile of another size is less
    if trap in ("factor", "reference", "named"):
        free -= {rows} if trap == "reference" or not names[rows] else set()
    wanted = {
        (names[value], value, other)
        for value, whole in ((rows, m), (inner, k)) if value in free
        for other in _next_sizes(value, whole)
    }  # fmt: skip
    return "\n".join(lines), wanted


def _next_sizes(value: int, whole: int) -> list[int]:
    """The least divisor that is twice as large or more, and the largest that is half as large or less."""
    sizes = [each for each in range(1, whole + 1) if whole % each == 0]
    return [*[each for each in sizes if each >= 2 * value][:1], *[each for each in sizes if 2 * each <= value][-1:]]


def test_random_tiles_compute_the_same_in_other_sizes() -> None:
    kinds = dict.fromkeys(("a name", "a number", "odd"), 0)
    for seed in range(count(80)):
        text, wanted = cut_module(Random(seed))
        old = subject(text)
        values = [part.reshape(-1) for stream in oracle_values(text) for part in dense(stream)]
        found = set()
        for site in TileSizes().sites(old):
            (name, size), _how = site.params
            new = applied(old, site)
            if new is None:
                continue
            by_name = not name.isdecimal()
            before = int(re.search(rf"{name} = (\d+)", text)[1]) if by_name else int(name)  # type: ignore[index]
            found.add((name if by_name else "", before, int(size)))
            made = [part.reshape(-1) for stream in oracle_values(new.text) for part in dense(stream)]
            torch.testing.assert_close(made, values, rtol=1e-9, atol=1e-9)
            kinds["a name" if by_name else "a number"] += 1
            kinds["odd"] += int(size) not in (2 * before, before // 2)
        assert found == wanted, text
    assert min(kinds.values()) > count(8), kinds


def test_parts_of_a_fold_stay_whole_in_tiles_of_other_sizes() -> None:
    kinds = dict.fromkeys(("other sizes", "left as they are"), 0)
    for seed in range(count(120)):
        text, _ = cut_module(Random(seed))
        old = subject(text)
        for part in SplitFold().sites(old):
            split = applied(old, part)
            assert split is not None
            values = [each.reshape(-1) for stream in oracle_values(text) for each in dense(stream)]
            for site in TileSizes().sites(split):
                new = applied(split, site)
                kinds["left as they are" if new is None else "other sizes"] += 1
                if new is not None:
                    made = [each.reshape(-1) for stream in oracle_values(new.text) for each in dense(stream)]
                    torch.testing.assert_close(made, values, rtol=1e-9, atol=1e-9)
    assert min(kinds.values()) > 3, kinds


BODIES = [
    ("input", ["return [input[0] * 2.0]"]),
    ("x", ["value = x[0] + 1.0", "return [value * value]"]),
    ("input", ["value = input[0]", "between = value - 0.5", "return [torch.tanh(between)]"]),
    ("value", ["return [value[0] - torch.sqrt(torch.abs(value[0]))]"]),
    ("input", ["x = input[0]", "x = x * x", "return [x + input[0]]"]),
    ("x", ["return [x[0] if x[0] > 0.2 else x[0] - 1.0]"]),
]


FOLDS = [
    ("state, input", ["return [state[0] + input[0]]"]),
    ("total, x", ["x2 = x[0] * 2", "value = total[0] / 2 + x2", "return [value + x[0]]"]),
]


def chain(rng: Random) -> str:
    """A Python file with Maps of functions of all kinds, one inside of the other or one behind the other.

    At the end of some stands a Scan, or an Accum of the only list.
    """
    lines = ["from typing import Annotated", "", "import torch", "", "import stepcore as step", ""]
    lines += ["from stepcore.dims import N", ""]
    calls = "x"
    body: list[str] = []
    length = rng.choice((2, 3, 4))
    last = rng.choice(("", "Scan", "Accum"))
    for number in range(length):
        folds = last if number == length - 1 else ""
        argument, statements = rng.choice(FOLDS if folds else BODIES)
        init = ", init=[0]" if folds else ""
        lines += [f"@step.fn(input=step.f32, output=step.f32{init})", f"def f{number}({argument}):"]
        lines += [*(f"    {line}" for line in statements), ""]
        unit = f"step.{folds}(fn=f{number}, b=1)" if folds else f"step.Map(fn=f{number})"
        calls = f"{unit}.apply({calls})"
        if rng.randrange(3) == 0:
            body.append(f"    E{number} = {calls}")
            calls = f"E{number}"
    lines += ['@step.program(dims={N: 7}, data={"x": "torch.randn"})']
    made = "(1,)" if last == "Accum" else "(N, 1)"
    lines += [f"def chain(x: Annotated[step.Stream, step.f32, (N, 1)]) -> Annotated[step.Stream, step.f32, {made}]:"]
    return "\n".join([*lines, *body, f"    return {calls}", ""])


def test_random_chains_of_maps_compute_the_same_when_they_are_fused() -> None:
    fused = in_tasks = 0
    for seed in range(count(60)):
        text = chain(Random(seed))
        old = subject(text)
        (wanted,) = run_library(old.checked)[-1]
        in_tasks += same_in_a_task(FuseMaps(), text, oracle_values(text))
        for site in FuseMaps().sites(old):
            new = applied(old, site)
            assert new is not None, site
            (found,) = run_library(new.checked)[-1]
            torch.testing.assert_close(found, wanted, rtol=1e-12, atol=1e-12)
            assert len(new.graph.nodes) == len(old.graph.nodes) - 1
            fused += 1
    assert fused > 30
    assert in_tasks > 30
