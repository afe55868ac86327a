"""What a watch of memory sees, and that large parameters are looked at once per run, whatever reads them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor

from stepcore.check import check_text
from stepcore.findings.errors import SimError
from stepcore.fn.check import forget
from stepcore.fn.walk import calls
from stepcore.sim.fnvec import machine, watch
from stepcore.sim.fnvec.watch import MemoryWatch
from stepcore.sim.functional import Session

LANES, ROWS, COLUMNS = 4, 256, 512  # of fp32: 512 KB for each lane, and tiles that are no views


def program(expression: str) -> str:
    """A program that reads a large parameter in lanes, each through ``expression`` of a tile."""
    return f"""\
from typing import Annotated

import torch

import stepcore as step
from stepcore.dims import M

T = step.Tile("fp32", [{ROWS}, 64])


@step.fn(input=T, output=T)
def each(input):
    return [{expression}]


@step.program(dims={{M: {LANES}}})
def read(
    *, w: Annotated[step.Param, step.f32, ({COLUMNS}, {ROWS}, M)]
) -> tuple[{", ".join(["Annotated[step.Stream, T, (8,)]"] * LANES)}]:
    return tuple(
        step.Map(fn=each).apply(
            step.LinearOffChipLoad(tensor=w, tile=[{ROWS}, 64], base=8 * i, shape=[8], stride=[1]).apply()
        )
        for i in range({LANES})
    )
"""


def session_of(expression: str) -> tuple[Session, Any]:
    result = check_text(program(expression), "watched.py")
    assert result.diagnostics == []
    (checked,) = result.programs
    return Session(checked.spec, examine=False), checked.typed


@pytest.fixture
def digested(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what was digested, in bytes."""
    sizes: list[int] = []
    digest = watch._digest

    def counting(raw: Tensor) -> bytes:
        sizes.append(raw.numel())
        return digest(raw)

    monkeypatch.setattr(watch, "_digest", counting)
    return sizes


@pytest.fixture
def gap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let a function write, as an operator would whose schema does not tell the truth."""
    monkeypatch.setattr(machine, "breach", lambda *_args, **_kwargs: None)
    monkeypatch.setattr(calls, "breach", lambda *_args, **_kwargs: None)
    forget()
    yield
    forget()


def test_lanes_that_read_a_parameter_do_not_digest_all_of_it_each(digested: list[int]) -> None:
    session, graph = session_of("input[0] * 2")
    found = session.run(graph).outputs
    whole = 4 * LANES * ROWS * COLUMNS
    # The parameter and what is cut of it, before and after the run; each lane its own part at most.
    assert digested.count(whole) == 4
    assert sum(digested) <= 6 * whole
    (data,) = session.world.parameters.values()
    tiles = data.view(LANES, ROWS, 8, 64).transpose(1, 2)
    assert all(torch.equal(column[0], tile * 2) for column, tile in zip(found, tiles, strict=True))


@pytest.mark.usefixtures("gap")
def test_a_function_that_writes_to_a_tile_of_a_large_parameter_is_found_at_its_call() -> None:
    session, graph = session_of("torch.nn.functional.threshold(input[0], 1e9, 0.0, True)")
    spoiled = session.world
    with pytest.raises(SimError) as caught:
        session.run(graph)
    assert caught.value.code == "STEP310"
    assert "each changes its data in place" in str(caught.value.__context__)
    assert session.world is not spoiled


@pytest.mark.parametrize("lane", range(LANES))
def test_what_is_cut_of_a_parameter_is_looked_at_after_a_run(lane: int, monkeypatch: pytest.MonkeyPatch) -> None:
    session, graph = session_of("input[0] * 2")
    right = [column[0].clone() for column in session.run(graph).outputs]
    (cut,) = session.world.runtime._memory._cut.values()
    compute = session.evaluated

    def spoiling(*args: Any) -> Any:
        results = compute(*args)
        with torch.inference_mode():
            cut[8 * lane, -1, -1] += 1
        return results

    with monkeypatch.context() as patch:
        patch.setattr(session, "evaluated", spoiling)
        with pytest.raises(SimError) as caught:
            session.run(graph)
    assert caught.value.code == "STEP310"
    assert all(torch.equal(a[0], b) for a, b in zip(session.run(graph).outputs, right, strict=True))


def test_the_data_of_other_runs_are_watched_by_themselves() -> None:
    session, graph = session_of("input[0] * 2")
    session.run(graph)
    world = session.world.varied({name: [part + 1 for part in data] for name, data in session.world.drawn.items()})
    assert not world.env.watched
    world.watch()
    with torch.inference_mode():
        world.parameters["w"][0, 0, 0] += 1
    assert not world.intact()
    assert session.world.intact()


SIZE = 1 << 17  # numbers of fp32: more than is copied
VIEWS = {
    "a stretch": (lambda t: t[100:200], 100, 200),
    "columns": (lambda t: t.view(-1, 128)[3:9, 5:7], 3 * 128 + 5, 8 * 128 + 7),
    "transposed": (lambda t: t.view(-1, 128)[3:9, 5:7].T, 3 * 128 + 5, 8 * 128 + 7),
    "expanded": (lambda t: t[7:8].expand(1000), 7, 8),
    "windows": (lambda t: t[50:60].unfold(0, 4, 1), 50, 60),
    "one number": (lambda t: t[9], 9, 10),
}


@pytest.mark.parametrize(("view", "first", "last"), VIEWS.values(), ids=VIEWS)
def test_of_watched_memory_a_view_is_looked_at_from_end_to_end(view: Any, first: int, last: int) -> None:
    data = torch.zeros(SIZE)
    address = {data.untyped_storage().data_ptr()}
    for place, seen in ((first, True), (last - 1, True), (first - 1, False), (last, False)):
        part, whole = MemoryWatch([view(data)], address), MemoryWatch([view(data)])
        data[place] += 1
        assert part.intact() is not seen
        assert not whole.intact()  # nobody else holds it


def test_several_views_of_watched_memory_are_looked_at_together() -> None:
    data = torch.zeros(SIZE)
    seen = MemoryWatch([data[10:20], data[:0], data[40:50]], {data.untyped_storage().data_ptr()})
    assert seen.intact()
    data[30] = 1
    assert not seen.intact()


def test_of_small_memory_all_is_looked_at_and_put_back() -> None:
    data = torch.zeros(64)
    seen = MemoryWatch([data[:2]], {data.untyped_storage().data_ptr()})
    data[63] = 1
    assert not seen.intact()
    seen.restore()
    assert float(data.abs().max()) == 0
